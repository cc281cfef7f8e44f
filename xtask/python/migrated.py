"""Has every bundled store copied by `zvf migrate` and `zvf rechunk`, and the copies judged by the released Python package.

    migrated.py ZVF FOLDER [--only PART]

The package's validator must report no error at level 5. What the answers are is compared by the tests of `zvf-query`; here
another program decides whether the copies are stores of 0.9.2. Ends with 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from zarr_vectors.validate import validate

from outcome import compared
from reading import findings

# What copies of these stores cannot be right in: values of links between chunks that the package never wrote, and links
# of lines between chunks that nobody wrote (their manifests tell the order).
ODD = {
    ("0.7/graph", "link-attribute-there"),
    ("0.8/graph", "link-attribute-there"),
    ("0.9.4/additive_streamlines", "chain-link"),
    ("0.9.4/dense_rows", "chain-link"),
    ("padded/streamlines", "chain-link"),
}

STORES = Path(__file__).resolve().parents[2] / "testdata" / "zvf"


def copies(zvf: str, old: Path) -> list[tuple[str, list[str]]]:
    """The copies of a store: what was asked for, and the arguments that follow the two addresses."""
    info = subprocess.run([zvf, "info", str(old), "--json"], capture_output=True, text=True, check=True)
    shape = json.loads(info.stdout)["chunk_shape"]
    # Chunks of coarser levels hold whole bins.
    wider = ",".join(str(4 * size) for size in shape)
    shards = ",".join("2" for _ in shape)
    return [
        ("migrate", ["--to", "0.9.2"]),
        ("rechunk", ["--chunk-shape", wider, "--shard-shape", shards]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zvf")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="stores whose name has this part")
    arguments, _ = parser.parse_known_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    done = wrong = 0
    for archive in sorted(STORES.glob("*/*.tar.gz")):
        generation, name = archive.parent.name, archive.name.removesuffix(".tar.gz")
        if generation == "refused" or (arguments.only and arguments.only not in f"{generation}/{name}"):
            continue
        home = arguments.folder / f"{generation}-{name}"
        home.mkdir(parents=True)
        before = wrong
        with tarfile.open(archive) as tar:
            tar.extractall(home, filter="data")
        old = next(home.rglob("store.zarrvectors"))
        for command, flags in copies(arguments.zvf, old):
            new = home / f"{command}.zarrvectors"
            ran = subprocess.run(
                [arguments.zvf, command, str(old), str(new), *flags, "--quiet"], capture_output=True, text=True
            )
            if ran.returncode:
                errors = [ran.stderr.strip()]
            else:
                ours = [one for one in findings(arguments.zvf, new) if (f"{generation}/{name}", one.split(" ")[0]) not in ODD]
                errors = [str(one) for one in validate(str(new), level=5).errors] + ours
            done += 1
            if errors:
                wrong += 1
                print(f"{generation}/{name}, {command}: {len(errors)} errors, such as {errors[0]}")
        if wrong == before:
            shutil.rmtree(home)
    return compared("zarr-vectors 0.9.2", done, 2 * done, wrong)


if __name__ == "__main__":
    sys.exit(main())
