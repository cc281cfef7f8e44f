"""Has the released Python package and us build the same levels on two copies of a store, and compares them vertex for vertex.

    pyramids.py ZVF FOLDER [--seed N] [--stores N] [--quick] [--only KIND]

Every store is written by the package from random input, copied, and given levels twice: by the package's `build_pyramid` and by
`zvf pyramid --method reference`, with the same seed. Compared are the decoded cells of every array of the new levels and of
the links to them, ids, manifests, object attributes, and the documents of root and levels as JSON. Then the package's validator
looks at our copy at level 5, and its reader reads our levels. A second copy of ours, by `--method density`, is only validated and read.

Stores are those that the package coarsens rightly: float32, chunks cut by space (see docs/traps.md for what it does to others). Links of
level 0 that the package puts into other grids (its trap T6) are compared by chunk.

A store that differs stays in FOLDER. Ends with 1 when anything differs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np

import writers
from checks import Board, try_kinds
from reading import findings

KINDS = ["points", "lines", "polylines", "graph", "skeleton", "mesh"]


def fitting(rng, kind: str, path: Path):
    """A store of the package that the package can coarsen."""
    while True:
        shutil.rmtree(path, ignore_errors=True)
        item = writers.MAKERS[kind](rng, path)
        if item.positions.dtype == np.float32 and "gene" not in item.attributes:
            return item


def document(path: Path) -> dict:
    return json.loads(path.read_text())


def cells(path: Path) -> dict[str, bytes]:
    """The decoded cells of an array by the text of their chunk."""
    import zarr

    attributes = document(path / "zarr.json")["attributes"]
    every = zarr.open_array(str(path), mode="r")[:]
    origin = attributes.get("chunk_grid_origin", [0] * every.ndim)
    keys = attributes["nonempty_chunks"]
    return {key: every[tuple(int(part) - at for part, at in zip(key.split("."), origin))] for key in keys}


def nodes(folder: Path) -> dict[str, dict]:
    """Documents of all nodes below a folder."""
    if not folder.is_dir():
        return {}
    return {str(path.parent.relative_to(folder)): document(path) for path in folder.rglob("zarr.json")}


class Comparer:
    def __init__(self, kind: str, theirs: Path, ours: Path, board: Board, notes: str):
        self.kind, self.theirs, self.ours, self.board, self.notes = kind, theirs, ours, board, notes

    def note(self, what: str, compared: int, wrong: int, example: str = "") -> None:
        self.board.count(self.kind, what, compared, wrong, f"{example} [{self.ours} {self.notes}]")

    def same(self, what: str, ours, theirs, where: str = "") -> None:
        self.note(what, 1, int(ours != theirs), f"{where}: ours {str(ours)[:300]}, theirs {str(theirs)[:300]}")

    def cells(self, what: str, path: str) -> None:
        ours, theirs = cells(self.ours / path), cells(self.theirs / path)
        wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
        example = ""
        if wrong:
            key = min(wrong)
            example = f"{path} at {key}: ours {ours.get(key, b'')[:96].hex()}, theirs {theirs.get(key, b'')[:96].hex()}"
        self.note(what, max(1, len(theirs)), len(wrong), example)

    def typed(self, path: str) -> None:
        import zarr

        ours, theirs = (zarr.open_array(f"{store}/{path}", mode="r")[:] for store in (self.ours, self.theirs))
        equal = ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if ours.dtype.kind in "UOS":
            equal = equal and bool((ours == theirs).all())
        else:
            equal = equal and ours.tobytes() == theirs.tobytes() or (
                equal and ours.dtype.kind in "fc" and bool(((ours == theirs) | (np.isnan(ours) & np.isnan(theirs))).all())
            )
        self.note("object attributes", max(1, len(theirs)), int(not equal), f"{path}: ours {ours[:8]}, theirs {theirs[:8]}")

    def index(self, level: str) -> None:
        import zarr

        for name in ("object_ids", "manifests"):
            ours, theirs = (zarr.open_array(f"{s}/{level}/object_index/{name}", mode="r")[:] for s in (self.ours, self.theirs))
            pairs = list(zip(ours.tolist(), theirs.tolist()))
            wrong = [at for at, (a, b) in enumerate(pairs) if a != b]
            example = f"{level} {name} {len(ours)} and {len(theirs)} rows, row {wrong[:1]}"
            self.note(name.replace("_", " "), max(1, len(theirs)), len(wrong) + abs(len(ours) - len(theirs)), example)

    def run(self, levels: int) -> None:
        ours, theirs = document(self.ours / "zarr.json"), document(self.theirs / "zarr.json")
        for part in ("zarr_vectors", "multiscales"):
            self.same("root documents", ours["attributes"][part], theirs["attributes"][part], part)
        # The name is that of the folder.
        for one in (ours, theirs):
            one["attributes"]["ome"].pop("name")
        self.same("root documents", ours["attributes"]["ome"], theirs["attributes"]["ome"], "ome")
        names = {str(n) for n in range(levels + 1)}
        self.same("levels", {p.name for p in self.ours.iterdir() if p.name.isdigit()}, names)
        for level in sorted(names):
            ours, theirs = nodes(self.ours / level), nodes(self.theirs / level)
            if level != "0":
                # By this member of ours the level is made anew after edits.
                ours["."]["attributes"]["zarr_vectors_level"].pop("coarsening")
                self.same("level documents", ours["."], theirs["."], level)
                wanted = [path for path in theirs if path != "."]
            else:
                wanted = [path for path in theirs if path.startswith("links/+")]
            listed = {path for path in ours if path != "." and (level != "0" or path.startswith("links/+"))}
            self.same("arrays", sorted(listed), sorted(wanted), level)
            for path in sorted(set(wanted) & listed):
                here = f"{level}/{path}"
                if path == "object_index":
                    self.same("object index", ours[path]["attributes"], theirs[path]["attributes"], here)
                    self.index(level)
                elif path.startswith("object_attributes/"):
                    self.typed(here)
                elif path in ("vertices", "vertex_fragments"):
                    self.cells(path.replace("_", " "), here)
                elif path.startswith("links/") and path.count("/") == 2:
                    self.cells("links between levels", here)
                    for name in ("offsets", "has_perm", "link_width", "level_delta", "dtype"):
                        self.same("link documents", ours[path]["attributes"].get(name), theirs[path]["attributes"].get(name), f"{here} {name}")
                elif path.startswith("links/") and path.count("/") == 1:
                    self.same("link documents", ours[path]["attributes"], theirs[path]["attributes"], here)

    def read(self, store: Path, levels: int, what: str, counts: list[int] | None = None) -> None:
        """The package's validator and reader on a store of ours: so many vertices a level, or what it reads of its own."""
        import zarr_vectors
        from zarr_vectors.validate import validate

        result = validate(str(store), level=5)
        errors = [str(one) for one in result.errors]
        self.note(f"validator at level 5, {what}", 1, len(errors), "; ".join(errors[:3]))
        opened = zarr_vectors.open(str(store))
        for level in range(1, levels + 1):
            read = opened.level(level).read().positions
            if counts is None:
                truth = zarr_vectors.open(str(self.theirs)).level(level).read().positions
                self.note(f"vertices read, {what}", max(1, len(truth)), int(not np.array_equal(read, truth)), f"level {level}")
            else:
                self.note(f"vertices read, {what}", 1, int(len(read) != counts[level - 1]), f"level {level}: {len(read)}")

    def validated(self, program: str, store: Path, before: set[str], what: str) -> None:
        """Our validator at level 5 finds nothing that it did not find before there were levels, but that sparsity left a level empty."""
        found = [one for one in findings(program, store) if one not in before and not one.startswith("level-has-chunks ")]
        self.note(f"our validator at level 5, {what}", 1, len(found), "; ".join(found[:3]))

    def boxes(self, store: Path, levels: int, rng) -> None:
        """Boxes over thinned points without objects: the package takes their fragments for bins, which they are here (its trap T1)."""
        import zarr_vectors

        for level in range(1, levels + 1):
            if (store / str(level) / "object_index").exists():
                return
            opened = zarr_vectors.open(str(store)).level(level)
            every = opened.read().positions
            corners = every[rng.integers(0, len(every), 2)]
            low, high = corners.min(0), corners.max(0)
            inside = every[np.all((every >= low) & (every <= high), axis=1)]
            found = opened.read(bbox=(low, high)).positions
            same = len(found) == len(inside) and np.array_equal(np.unique(found, axis=0), np.unique(inside, axis=0))
            self.note("boxes read, density", max(1, len(inside)), int(not same), f"level {level}: {len(found)} of {len(inside)}")


def one(options, number: int, kind: str, folder: Path, board: Board) -> None:
    """Tries one store."""
    from zarr_vectors.multiresolution.coarsen import build_pyramid

    program, rng = options.program, np.random.default_rng([options.seed, number])
    folder.mkdir(parents=True)
    theirs, ours, dense = (folder / name / "store.zarrvectors" for name in ("theirs", "ours", "density"))
    item = fitting(rng, kind, theirs)
    # What the package's own level 0 breaks is not ours.
    before = set(findings(program, theirs))
    shutil.copytree(theirs, ours)
    shutil.copytree(theirs, dense)
    steps = int(rng.integers(1, 4))
    scales = [int(rng.choice([1, 1, 2])) for _ in range(steps)]
    # The package wants bins that divide chunks wherever it makes chunks larger.
    of = [2.0, 4.0] if max(scales) > 1 else [1.5, 2.0, 4.0]
    factors = [(float(rng.choice(of)), float(rng.choice([1.0, 1.0, 2.0, 3.0]))) for _ in range(steps)]
    storage = str(rng.choice(["explicit", "explicit", "implicit", "none"]))
    depth = int(rng.choice([1, 2, -1]))
    build_pyramid(
        str(theirs), factors=factors, chunk_scale_factors=scales, sparsity_seed=number, cross_level_depth=depth, cross_level_storage=storage
    )
    given = ["--factors", ",".join(str(f) for f, _ in factors), "--sparsity", ",".join(str(g) for _, g in factors)]
    command = [program, "pyramid", str(ours), *given, "--chunk-scale", ",".join(map(str, scales)), "--json"]
    command += ["--method", "reference", "--seed", str(number), "--cross-links", storage, "--cross-depth", str(depth)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    item.notes.append(f"{factors}, chunks {scales}, {storage} {depth}")
    comparer = Comparer(kind, theirs, ours, board, ", ".join(item.notes))
    comparer.run(steps)
    comparer.read(ours, steps, "reference")
    comparer.validated(program, ours, before, "reference")
    command = [program, "pyramid", str(dense), *given, "--seed", str(number), "--json"]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    comparer.read(dense, steps, "density", [level["vertices"] for level in done["levels"]])
    comparer.validated(program, dense, before, "density")
    if kind == "points":
        comparer.boxes(dense, steps, rng)


if __name__ == "__main__":
    sys.exit(try_kinds(KINDS, ["program"], one, seed=20260301, stores=20))
