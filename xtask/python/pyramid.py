"""Coarse levels computed from the input, after the format notes (pyramid algorithm), without the Python package.

A level is a set of vertices, the objects as lists of them, and for each finer level the vertex that stands for each of its
vertices. Positions of coarse vertices are means; a mean may differ from the stored one in its last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inputs import Input


@dataclass
class Level:
    """One level: positions as stored (no offset), object id to rows in order, chunk shape, bin shape."""

    positions: np.ndarray
    objects: dict[int, np.ndarray] | None
    chunk: np.ndarray
    bin: np.ndarray
    # Row here that stands for each row of the next finer level; -1 where none does.
    parents: np.ndarray | None = None


def base(item: Input, bin_shape) -> Level:
    objects = item.objects
    if objects is not None:
        objects = {k: in_store_order(item, rows) for k, rows in objects.items()}
    chunk = np.asarray(item.chunk, "f8")
    return Level(item.positions, objects, chunk, np.asarray(bin_shape or item.chunk, "f8"))


def in_store_order(item: Input, rows: np.ndarray) -> np.ndarray:
    """Rows of an object in manifest order: as they are where order matters, else chunk by chunk."""
    if item.ordered or not len(rows):
        return rows
    cell = np.floor(item.positions[rows].astype("f8") / np.asarray(item.chunk))
    rank = rows if item.walk is None else item.walk[rows]
    return rows[np.lexsort([rank, *cell.T[::-1]])]


def coarsen(fine: Level, factor: float, sparsity: float, scale, seed: int | None) -> Level:
    """The next coarser level of `fine`."""
    target = fine.bin * factor
    chunk = fine.chunk * np.asarray(scale)
    names = sorted(fine.objects) if fine.objects is not None else None
    if names is None:
        everything = np.lexsort(np.floor(fine.positions.astype("f8") / fine.chunk).T[::-1])
        walks, kept = [everything], [0]
    else:
        walks = [fine.objects[k] for k in names]
        kept = list(range(len(names)))
        if sparsity > 1 and len(names) > 1:
            count = max(1, round(len(names) * (1 / sparsity)))
            kept = sorted(np.random.default_rng(seed).choice(len(names), count, replace=False).tolist())
    gathered = np.concatenate([walks[k] for k in kept]).astype("i8")
    places = fine.positions.astype("f4")
    bins = np.floor(places.astype("f8") / target).astype("i8")
    order: dict[bytes, int] = {}
    for key in sorted({bins[row].astype("<i8").tobytes() for row in gathered}):
        order[key] = len(order)
    parents = np.array([order.get(row.astype("<i8").tobytes(), -1) for row in bins], "i8").reshape(-1)
    sums, counts = np.zeros((len(order), places.shape[1])), np.zeros(len(order))
    np.add.at(sums, parents[gathered], places[gathered].astype("f8"))
    np.add.at(counts, parents[gathered], 1)
    objects = None
    if names is not None:
        objects = {name: np.zeros(0, "i8") for name in names}
        for k in kept:
            walk = parents[walks[k]]
            objects[names[k]] = walk[np.append(True, walk[1:] != walk[:-1])] if len(walk) else walk
    return Level((sums / counts[:, None]).astype("f4"), objects, chunk, target, parents)


def ancestors(levels: list[Level], fine: int, steps: int) -> np.ndarray:
    """Row `steps` levels up that stands for each row of level `fine`; -1 where none does."""
    found = np.arange(len(levels[fine].positions))
    for level in levels[fine + 1 : fine + 1 + steps]:
        found = np.where(found >= 0, level.parents[found], -1)
    return found
