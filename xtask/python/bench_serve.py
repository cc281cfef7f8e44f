"""Runs benchmark jobs of the Python package, one a line of stdin: `bench_serve.py POINTS STREAMLINES`.

A line is `JOB VARIANT ARGUMENT…`; the answer is `NANOSECONDS VERTICES`. Variants: `open` times opening and reading, `warm`
reads from a store that was opened before. Jobs: `points-box`, `lines-box` with `LO HI` (three numbers, comma separated),
`object` with an id, `points-all`, `lines-all`.
"""

import sys
import time
import warnings

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


def main() -> None:
    paths = {"points": sys.argv[1], "lines": sys.argv[2], "object": sys.argv[2]}
    opened = {name: zv.open(path) for name, path in paths.items()}
    print("ready", zv.__version__, flush=True)
    for line in sys.stdin:
        job, variant, *arguments = line.split()
        name = job.split("-")[0]
        start = time.perf_counter_ns()
        store = zv.open(paths[name]) if variant == "open" else opened[name]
        result = ask(store, job, arguments)
        taken = time.perf_counter_ns() - start
        print(taken, result.vertex_count, flush=True)


if __name__ == "__main__":
    main()
