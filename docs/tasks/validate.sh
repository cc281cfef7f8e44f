zvf validate tracts.zarrvectors --level 5 > report.txt && echo valid
rm tracts.zarrvectors/0/object_index/manifests/c/*
zvf validate tracts.zarrvectors --level 5 > report.txt || echo damaged
