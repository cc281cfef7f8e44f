import subprocess
import sys
from pathlib import Path

# The package contains the program.
line = "plot tracts.zarrvectors --view x-z --size 320x240 -o tracts.png --quiet"
subprocess.run([sys.executable, "-m", "zvf", *line.split()], check=True)
print(Path("tracts.png").stat().st_size)
