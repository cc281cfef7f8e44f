"""Makes random stores with the Python package and compares what `zvf` reads with what went in.

    conformance.py ZVF FOLDER [--seed N] [--stores N] [--quick] [--only KIND]

The release that is installed beside this script decides what is made: 0.2.0 writes format 0.7, 0.9.2 writes 0.9.

Prints a table of compared and different values; ends with 1 when anything differs. A store that differs stays in FOLDER
with its input beside it (input.npz, input.json).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np

import pyramid
from checks import Board, Checker, conclude
from reading import Zvf, findings

RELEASE = version("zarr-vectors")
if RELEASE == "0.2.0":
    import writers_02 as writers
else:
    import writers

# Kinds and number types that get a pyramid now and then; the package's own coarsening fails on the other types.
WITH_LEVELS = ["points", "lines", "polylines", "graph", "skeleton", "mesh"]
# Release 0.2.0 reads the finest level as float32 whatever it is.
LEVEL_TYPES = ["float32"] if RELEASE == "0.2.0" else ["float32", "float64", "int32", "int64"]

# The older release sums positions in float32 when it takes means.
ROUNDING = 2e-5 if RELEASE == "0.2.0" else 4e-7


def gets_levels(rng, kind: str, item) -> bool:
    native = str(item.positions.dtype) in LEVEL_TYPES and "gene" not in item.attributes
    return kind in WITH_LEVELS and native and rng.random() < 0.6


def build_levels(rng, store: Path, item, *, seed: int):
    """Adds one or two coarse levels with the package and computes the same levels from the input."""
    from zarr_vectors.multiresolution.coarsen import build_pyramid

    root = json.loads((store / "zarr.json").read_text())["attributes"]["zarr_vectors"]
    levels = [pyramid.base(item, root.get("base_bin_shape"))]
    steps = int(rng.integers(1, 3))
    scales = [int(rng.choice([1, 1, 2])) for _ in range(steps)]
    # The package wants bins that divide chunks wherever it makes chunks larger.
    steps_of = [2.0, 4.0] if max(scales) > 1 or RELEASE == "0.2.0" else [1.5, 2.0, 4.0]
    factors = [(float(rng.choice(steps_of)), float(rng.choice([1.0, 1.0, 2.0]))) for _ in range(steps)]
    storage = str(rng.choice(["explicit", "explicit", "implicit", "none"]))
    depth = int(rng.choice([1, -1]))
    build_pyramid(
        str(store), factors=factors, chunk_scale_factors=scales, sparsity_seed=seed, cross_level_depth=depth, cross_level_storage=storage
    )
    done = 1.0
    for (factor, sparsity), scale in zip(factors, scales):
        levels.append(pyramid.coarsen(levels[-1], factor / done, sparsity, scale, seed))
        # Factors of the older release are relative to level 0.
        done = factor if RELEASE == "0.2.0" else 1.0
    item.notes.append(f"{steps} coarse levels, {storage}")
    if item.positions.dtype != np.float32:
        # The package takes every level for float32 when it links levels: such links are missing or at random.
        storage = "none"
    return levels, storage, depth


def keep_input(store: Path, item) -> None:
    """Writes the input beside its store, for whoever looks into a difference."""
    arrays = {"positions": item.positions}
    for scope in ("attributes", "link_attributes", "object_attributes"):
        for name, values in getattr(item, scope).items():
            arrays[f"{scope}_{name}"] = values.astype(str) if values.dtype == object else values
    if item.links is not None:
        arrays["links"] = item.links
    np.savez(store.with_suffix(".npz"), **arrays)
    document = {
        "kind": item.kind,
        "notes": item.notes,
        "objects": {str(k): rows.tolist() for k, rows in (item.objects or {}).items()},
        "groups": item.groups,
        "chunk": item.chunk,
        "offset": None if item.offset is None else item.offset.tolist(),
    }
    store.with_suffix(".json").write_text(json.dumps(document))


def one(job) -> tuple[Board, str | None]:
    """Makes one store and asks everything of it."""
    program, folder, seed, kind, number, quick = job
    rng = np.random.default_rng([seed, number])
    store = Path(folder) / f"{number:04}-{kind.replace(', ', '-').replace(' ', '-')}.zarrvectors"
    board, zvf = Board(), Zvf(program)
    try:
        item = writers.MAKERS[kind](rng, store)
        levels = None
        if gets_levels(rng, kind, item):
            levels = build_levels(rng, store, item, seed=number)
        writers.afterwards(rng, store, item)
        keep_input(store, item)
        ask(Checker(zvf, store, kind, item, board, rng, rounding=ROUNDING), quick, levels)
        validated(program, store, kind, item, levels, board)
    except Exception:
        return board, f"{store}: {traceback.format_exc()}"
    finally:
        zvf.close()
    if not any(board.wrong.values()):
        shutil.rmtree(store)
        for ending in (".npz", ".json"):
            store.with_suffix(ending).unlink()
    return board, None


def ask(checker: Checker, quick: bool, levels) -> None:
    checker.whole()
    checker.boxes(1 if quick else 3)
    checker.objects()
    checker.groups()
    if "id" in checker.item.attributes:
        checker.filters()
    checker.limits()
    if checker.rng.random() < 0.3:
        checker.formats()
    if levels:
        checker.levels(*levels)


def validated(program: str, store: Path, kind: str, item, levels, board: Board) -> None:
    """Has the store validated: nothing may be found but what is wrong with it."""
    found = findings(program, store)
    titles = {one.split(" at ")[0] for one in found}
    unknown = set().union(*(item.groups or {}).values()) - set(item.ids())
    wanted = {"group-member"} if unknown else set()
    # The package cuts cells by bins or by another chunk shape than it states; whether a vertex shows it is chance.
    allowed = {"vertex-chunk"} if any("T12" in one or "T13" in one for one in item.notes) else set()
    # Zarr stores no chunk of nothing but the fill value, as of an attribute that no object has a value of.
    allowed.add("chunk-stored")
    if any("bins do not divide" in one for one in item.notes):
        wanted.add("bins-divide-chunk")
    if levels and item.positions.dtype != np.float32:
        # It takes every level for float32 when it links levels, finds no partners, and states the capability all the same.
        allowed.add("cross-capability")
    wrong = (titles - wanted - allowed) | (wanted - titles)
    board.count(kind, "validates", 1, int(bool(wrong)), f"{store.name}: {sorted(wrong)}: {found[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--stores", type=int, default=48 if RELEASE == "0.2.0" else 72)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    kinds = [kind for kind in writers.MAKERS if options.only in (None, kind)]
    if not kinds:
        print(f"zarr-vectors {RELEASE}: no kind {options.only}")
        return 0
    count = min(options.stores, 2 * len(kinds)) if options.quick else options.stores
    jobs = [(options.program, str(options.folder), options.seed, kinds[k % len(kinds)], k, options.quick) for k in range(count)]
    board, broken = Board(), []
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for done, (part, failure) in enumerate(pool.imap_unordered(one, jobs), 1):
            board.add(part)
            if failure:
                broken.append(failure)
            if sys.stderr.isatty():
                print(f"\r{done} of {count} stores", end="", file=sys.stderr, flush=True)
    return conclude(f"zarr-vectors {RELEASE}", board, broken, count, options.seed)


if __name__ == "__main__":
    sys.exit(main())
