"""Runs benchmark jobs of the Python package, one a line of stdin: `bench_serve.py POINTS STREAMLINES`.

A line is `JOB VARIANT ARGUMENT…`; the answer is `NANOSECONDS VERTICES`. Variants: `open` times opening and reading, `warm`
reads from a store that was opened before. Jobs: `points-box`, `lines-box` with `LO HI` (three numbers, comma separated),
`object` with an id, `points-all`, `lines-all`; `points-write` and `lines-write` with the folder that the store is written to;
`points-pyramid` with the folder that the store of bins is copied to before two levels are added; `points-validate` and
`lines-validate`.
"""

import json
import shutil
import sys
import time
import warnings
from functools import cache
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np
import zarr_vectors as zv


def ask(store, job, arguments):
    """Reads; returns the number of vertices."""
    if job in ("points-box", "lines-box"):
        low, high = (np.array([float(c) for c in corner.split(",")]) for corner in arguments)
        return store.select(bbox=(low, high)).read()
    if job == "object":
        return store.select(objects=[int(arguments[0])]).read()
    return store.select().read()


@cache
def raw(store: str) -> dict:
    """The input of a store, read once."""
    stem = store.removesuffix(".zarrvectors")
    positions = np.fromfile(f"{stem}.positions.raw", "f4")
    if Path(stem).name == "streamlines":
        return {"polylines": list(positions.reshape(10_000, 100, 3))}
    attributes = {"intensity": np.fromfile(f"{stem}.intensity.raw", "f4"), "label": np.fromfile(f"{stem}.label.raw", "u2")}
    return {"positions": positions.reshape(-1, 3), "vertex_attributes": attributes}


def write(store: str, target: str) -> tuple[int, int]:
    """Writes a store again; returns nanoseconds and the number of vertices."""
    from zarr_vectors.types.points import write_points
    from zarr_vectors.types.polylines import write_polylines

    given = raw(store)
    shutil.rmtree(target, ignore_errors=True)
    start = time.perf_counter_ns()
    if "positions" in given:
        write_points(target, **given, chunk_shape=(10.0,) * 3, bin_shape=(5.0,) * 3, compressor="zstd")
    else:
        write_polylines(target, **given, chunk_shape=(10.0,) * 3, compressor="zstd")
    return time.perf_counter_ns() - start, 1_000_000


def levels(store: str, target: str) -> tuple[int, int]:
    """Adds two coarse levels to a copy of a store; returns nanoseconds and the vertices of the coarsest."""
    from zarr_vectors.multiresolution.coarsen import build_pyramid

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(store, target)
    start = time.perf_counter_ns()
    build_pyramid(target, factors=[(2.0, 1.0), (2.0, 1.0)], cross_level_storage="explicit", cross_level_depth=1)
    taken = time.perf_counter_ns() - start
    return taken, json.loads(Path(target, "2", "zarr.json").read_text())["attributes"]["zarr_vectors_level"]["vertex_count"]


def check(store: str) -> tuple[int, int]:
    """Validates a store at level 5; returns nanoseconds and the vertices that the store has."""
    from zarr_vectors.validate import validate

    start = time.perf_counter_ns()
    result = validate(store, level=5)
    taken = time.perf_counter_ns() - start
    if not result.ok:
        raise SystemExit(f"{store}: the package finds errors")
    return taken, json.loads(Path(store, "0", "zarr.json").read_text())["attributes"]["zarr_vectors_level"]["vertex_count"]


def main() -> None:
    paths = {"points": sys.argv[1], "lines": sys.argv[2], "object": sys.argv[2]}
    opened = {name: zv.open(path) for name, path in paths.items()}
    print("ready", zv.__version__, flush=True)
    for line in sys.stdin:
        job, variant, *arguments = line.split()
        name = job.split("-")[0]
        if job == "points-pyramid":
            print(*levels(str(Path(sys.argv[1]).with_name("binned.zarrvectors")), arguments[0]), flush=True)
            continue
        if job.endswith("-validate"):
            print(*check(paths[name]), flush=True)
            continue
        if job.endswith("-write"):
            print(*write(paths[name], arguments[0]), flush=True)
            continue
        start = time.perf_counter_ns()
        store = zv.open(paths[name]) if variant == "open" else opened[name]
        result = ask(store, job, arguments)
        taken = time.perf_counter_ns() - start
        print(taken, result.vertex_count, flush=True)


if __name__ == "__main__":
    main()
