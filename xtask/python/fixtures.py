"""Writes the bundled stores again with the Python package and compares: `fixtures.py TESTDATA FOLDER`.

Every archive carries its input (truth.npz, case.json), and the root document says how it was written, so a store can be made
again from its own archive, the real ones too. Compared are decoded cells and parsed documents, never compressed bytes: those
depend on the release of the compressor. What the archive does not hold (a seed, an attribute without truth) is named and left
out.
"""

import json
import shutil
import sys
import tarfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np


class Case:
    """One unpacked archive."""

    def __init__(self, archive: Path, folder: Path):
        self.name = archive.name.removesuffix(".tar.gz")
        with tarfile.open(archive) as source:
            source.extractall(folder, filter="data")
        self.store = folder / self.name / "store.zarrvectors"
        self.again = folder / self.name / "again" / "store.zarrvectors"
        self.case = json.loads((folder / self.name / "case.json").read_text())
        with np.load(folder / self.name / "truth.npz") as truth:
            self.truth = dict(truth)
        self.root = attributes(self.store)
        self.meta = self.root["zarr_vectors"]
        self.objects = {int(k): rows for k, rows in (self.case.get("objects") or {}).items()}

    def scope(self, prefix: str) -> dict | None:
        found = {k.removeprefix(prefix): v for k, v in self.truth.items() if k.startswith(prefix) and k != "object_ids"}
        return found or None

    def storage(self) -> dict:
        """How the cells were stored: codec and shards, from the vertices array."""
        array = json.loads((self.store / "0" / "vertices" / "zarr.json").read_text())
        codecs, options = array["codecs"], {"dtype": array["attributes"]["dtype"]}
        if codecs[0]["name"] == "sharding_indexed":
            options["shard_shape"] = tuple(array["chunk_grid"]["configuration"]["chunk_shape"])
            codecs = codecs[0]["configuration"]["codecs"]
        options["compressor"] = codecs[1]["name"] if len(codecs) > 1 else None
        options["chunk_shape"] = tuple(self.meta["chunk_shape"])
        options["bounds"] = tuple(self.meta["bounds"])
        if "base_bin_shape" in self.meta:
            options["bin_shape"] = tuple(self.meta["base_bin_shape"])
        return options

    def object_ids(self) -> np.ndarray | None:
        if not self.objects:
            return None
        found = np.zeros(len(self.truth["positions"]), "i8")
        for number, rows in self.objects.items():
            found[rows] = number
        return found


def attributes(group: Path) -> dict:
    return json.loads((group / "zarr.json").read_text())["attributes"]


def write(case: Case) -> None:
    """Writes level 0 of a case again."""
    from zarr_vectors.types import graphs, lines, meshes, points, polylines

    kind, truth, options = case.case["kind"], case.truth, case.storage()
    positions, vertex = truth["positions"], case.scope("attr_")
    groups = {int(k): members for k, members in (case.case.get("groups") or {}).items()} or None
    path = str(case.again)
    if kind == "point_cloud":
        points.write_points(
            path, positions, vertex_attributes=vertex, object_ids=case.object_ids(), object_attributes=case.scope("object_"),
            groups=groups, **options,
        )
    elif kind == "line":
        lines.write_lines(path, positions.reshape(-1, 2, positions.shape[1]), **options)
    elif kind in ("polyline", "streamline"):
        rows = [case.objects[k] for k in sorted(case.objects)]
        split = {name: [values[r] for r in rows] for name, values in (vertex or {}).items()} or None
        polylines.write_polylines(
            path, [positions[r] for r in rows], geometry_type=kind, vertex_attributes=split,
            object_attributes=case.scope("object_"), groups=groups, **options,
        )
    elif kind in ("graph", "skeleton"):
        graphs.write_graph(
            path, positions, truth["edges"], kind=kind, vertex_attributes=vertex, link_attributes=case.scope("link_"),
            object_ids=case.object_ids(), **options,
        )
    else:
        meshes.write_mesh(path, positions, truth["faces"], vertex_attributes=vertex, object_ids=case.object_ids(), **options)


def write_levels(case: Case) -> list[str]:
    """Adds the coarse levels whose making the documents describe in full; returns the others."""
    from zarr_vectors.multiresolution.coarsen import build_pyramid

    factors, left, last = [], [], 1.0
    scales = {d["path"]: d["coordinateTransformations"][0]["scale"][0] for d in case.root["multiscales"][0]["datasets"]}
    for number in range(1, len(scales)):
        level = attributes(case.store / str(number))["zarr_vectors_level"]
        if level["object_sparsity"] != 1.0 or left:
            left.append(f"level {number}: the seed of its sparsity is not recorded")
            continue
        factors.append((scales[str(number)] / last, 1.0))
        last = scales[str(number)]
    if factors:
        depth, storage = case.meta["cross_level_depth"], case.meta["cross_level_storage"]
        build_pyramid(str(case.again), factors=factors, cross_level_depth=depth, cross_level_storage=storage)
    return left


def compare(case: Case, left: list[str]) -> tuple[int, list[str]]:
    """Decoded elements and documents of every array that was written again."""
    import zarr

    theirs, ours = zarr.open_group(case.store, mode="r"), zarr.open_group(case.again, mode="r")
    compared, wrong = 0, []
    made = {name for name, _ in ours.members(max_depth=None)}
    unmade = sorted(
        name for name, node in theirs.members(max_depth=None) if name not in made and isinstance(node, zarr.Array) and not skipped(name, left)
    )
    for name, node in sorted(ours.members(max_depth=None)):
        if not isinstance(node, zarr.Array):
            continue
        if skipped(name, left):
            continue
        if name not in theirs:
            wrong.append(f"{name}: only in the new store")
            continue
        for key in ("shape", "codecs", "attributes", "chunk_grid", "data_type"):
            a, b = (json.loads((store / name / "zarr.json").read_text())[key] for store in (case.store, case.again))
            if a != b:
                wrong.append(f"{name}: {key}: committed {str(a)[:80]}, new {str(b)[:80]}")
        a, b = theirs[name][...], node[...]
        compared += a.size
        if a.shape != b.shape or not equal(a, b):
            wrong.append(f"{name}: cells differ")
    left += [f"{name}: no truth in the archive" for name in unmade]
    return compared, wrong


def skipped(name: str, left: list[str]) -> bool:
    """Whether an array belongs to a level that could not be made again, or points to one."""
    levels = [text.split(":")[0].removeprefix("level ") for text in left if text.startswith("level ")]
    top = name.split("/")[0]
    return top in levels or any("/links/+" in name and int(top) + int(name.split("/")[2]) >= int(level) for level in levels)


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype == object:
        return all(bytes(x) == bytes(y) for x, y in zip(a.ravel(), b.ravel()))
    return a.tobytes() == b.tobytes()


def main() -> int:
    testdata, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    failed = False
    for archive in sorted((testdata / "zvf" / "0.9").glob("*.tar.gz")):
        case = Case(archive, folder)
        write(case)
        left = write_levels(case)
        compared, wrong = compare(case, left)
        print(f"  {case.name:<20} {compared:>8,} elements {'as committed' if not wrong else 'DIFFER'}")
        for text in left:
            print(f"  {'':<20} not made again: {text}")
        for text in wrong:
            print(f"  {'':<20} {text}")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
