from pathlib import Path

import zvf

zvf.plot("tracts.zarrvectors", "tracts.png", view="x-z", size=[320, 240])
print(Path("tracts.png").stat().st_size)
