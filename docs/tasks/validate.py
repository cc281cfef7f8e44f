from pathlib import Path

import zvf

print("valid" if zvf.validate("tracts.zarrvectors", depth=5).ok else "damaged")
for cell in Path("tracts.zarrvectors/0/object_index/manifests/c").iterdir():
    cell.unlink()
print("valid" if zvf.validate("tracts.zarrvectors", depth=5).ok else "damaged")
