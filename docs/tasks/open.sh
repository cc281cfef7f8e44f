zvf info tracts.zarrvectors | grep -E '^(version|kind) '
