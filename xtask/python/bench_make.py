"""Writes the two benchmark stores with the Python package: `bench_make.py FOLDER`. Seeded, so every run has the same."""

import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np

# Chunks along an axis, and their size in world units.
CHUNKS, SIDE = 10, 10.0


def raw(folder: Path, name: str, positions: np.ndarray, **attributes: np.ndarray) -> None:
    """What goes into a store, for the jobs that write one: little-endian numbers, row after row."""
    positions.tofile(folder / f"{name}.positions.raw")
    for attribute, values in attributes.items():
        values.tofile(folder / f"{name}.{attribute}.raw")


def points(folder: Path) -> None:
    """1 000 000 points in 1 000 chunks, two attributes, zstd."""
    from zarr_vectors.types.points import write_points

    rng = np.random.default_rng(1)
    positions = rng.uniform(0, CHUNKS * SIDE, (1_000_000, 3)).astype("f4")
    positions = np.minimum(positions, np.nextafter(np.float32(CHUNKS * SIDE), np.float32(0)))
    attributes = {
        "intensity": rng.random(len(positions)).astype("f4"),
        "label": rng.integers(0, 50, len(positions)).astype("u2"),
    }
    raw(folder, "points", positions, **attributes)
    write_points(str(folder / "points.zarrvectors"), positions, chunk_shape=(SIDE,) * 3, vertex_attributes=attributes, compressor="zstd")
    # For coarse levels: about eight points a bin.
    write_points(str(folder / "binned.zarrvectors"), positions, chunk_shape=(SIDE,) * 3, bin_shape=(SIDE / 5,) * 3, compressor="zstd")


def streamlines(folder: Path) -> None:
    """10 000 streamlines of 100 vertices: smooth walks that cross a handful of chunks each, zstd."""
    from zarr_vectors.types.polylines import write_polylines

    rng = np.random.default_rng(2)
    count, length, size = 10_000, 100, CHUNKS * SIDE
    turns = np.cumsum(rng.normal(size=(count, length, 3)) * 0.15, 1) + rng.normal(size=(count, 1, 3))
    steps = turns / np.linalg.norm(turns, axis=2, keepdims=True) * 0.5
    walks = rng.uniform(0, size, (count, 1, 3)) + np.cumsum(steps, 1)
    # Reflected at the walls, so that every line stays inside.
    walks = size - np.abs((walks % (2 * size)) - size)
    walks = np.clip(walks, 0, np.nextafter(size, 0)).astype("f4")
    raw(folder, "streamlines", walks)
    write_polylines(str(folder / "streamlines.zarrvectors"), list(walks), chunk_shape=(SIDE,) * 3, compressor="zstd")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    points(target)
    streamlines(target)
