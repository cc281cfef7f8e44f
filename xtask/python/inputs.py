"""Seeded random input: what goes into a store, kept in the form it is later compared with.

Nothing in this file knows how a store lies on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Numbers of the types that stores hold. The codes are NumPy's.
NUMBERS = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8"]

# Big-endian ones. The package joins the fragments of a cell in native order under a big-endian label, so a cell of
# several fragments is garbled; they are written only where every cell has one fragment.
BIG_ENDIAN = [">f4", ">f8", ">i4", ">u2"]

# Ids that are legal and awkward: negative, sparse, huge.
AWKWARD_IDS = [0, 1, 2, 3, 5, 17, 77, 999, 4096, 65536, 10**9, -1, -2, -4, -(2**40), 2**31, 2**53 + 1, 2**62, -(2**62), 2**63 - 1]


@dataclass
class Input:
    """Everything a store was made from.

    `positions` are what the store holds, in its number type; `offset` is added on reading. `objects` maps an id to its
    rows; the order of these rows is part of the truth when `ordered`. `links` are rows of `positions`, endpoints in the
    application's order. `attributes` may hold `None` where a value is missing (categories only).
    """

    kind: str
    positions: np.ndarray
    chunk: tuple[float, ...]
    objects: dict[int, np.ndarray] | None = None
    ordered: bool = False
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    links: np.ndarray | None = None
    link_attributes: dict[str, np.ndarray] = field(default_factory=dict)
    object_attributes: dict[str, np.ndarray] = field(default_factory=dict)
    groups: dict[int, list[int]] | None = None
    offset: np.ndarray | None = None
    # Vertices are placed by whole bins of this size where that differs from placing them by chunk.
    bins: tuple[float, ...] | None = None
    # Rank of each row in the order of writing, where that is not the input's (skeletons are walked depth first).
    walk: np.ndarray | None = None
    # Implied links lose their attribute values in the writing release.
    links_partly_implied: bool = False
    # Links whose attribute values the writing release does not store.
    links_lost: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def world(self) -> np.ndarray:
        """Positions as a reader must return them: offset added, number type kept."""
        if self.offset is None:
            return self.positions
        return (self.positions.astype("f8") + self.offset).astype(self.positions.dtype)

    @property
    def dims(self) -> int:
        return self.positions.shape[1]

    def ids(self) -> list[int]:
        return sorted(self.objects or {})

    def owner(self) -> np.ndarray | None:
        """Object id of every row."""
        if self.objects is None:
            return None
        owner = np.zeros(len(self.positions), "i8")
        for number, rows in self.objects.items():
            owner[rows] = number
        return owner


def layout(rng, dims: int, *, cells: int = 5) -> tuple[tuple[float, ...], np.ndarray, np.ndarray]:
    """A chunk shape and the box that data fills, about `cells` chunks along an axis, often below zero."""
    chunk = rng.choice([4.0, 8.0, 10.0, 12.5, 25.0, 100.0], dims)
    if rng.random() < 0.5:
        chunk[:] = chunk[0]
    span = rng.uniform(1.2, max(1.5, cells if dims < 4 else cells * 0.6), dims)
    low = np.where(rng.random(dims) < 0.6, -span * rng.random(dims), rng.integers(0, 3, dims))
    return tuple(float(c) for c in chunk), low * chunk, (low + span) * chunk


def scatter(rng, n: int, low, high, chunk, dtype) -> np.ndarray:
    """Random positions in a box; some lie exactly on chunk borders."""
    low, high = np.asarray(low), np.asarray(high)
    found = rng.uniform(low, high, (n, len(low)))
    border = rng.random(found.shape) < 0.04
    snapped = np.round(found / chunk) * chunk
    inside = (snapped >= low) & (snapped <= high)
    found = np.where(border & inside, snapped, found)
    return store_as(found, dtype)


def store_as(values: np.ndarray, dtype) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        values = np.round(values)
    return np.ascontiguousarray(values.astype(dtype))


def position_dtype(rng, *, big_endian: bool = False) -> str:
    if big_endian:
        return str(rng.choice([">f4", ">f8", "f4"]))
    return str(rng.choice(["f4"] * 6 + ["f8"] * 3 + ["f2", "i4", "i2", "i8"]))


def numbers(rng, code: str, shape) -> np.ndarray:
    """Random numbers of a type, away from the values that mean absence."""
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    span = np.iinfo(dtype)
    low, high = (max(span.min, -(2**62)) + 1, min(span.max, 2**62) - 1)
    return rng.integers(low, high, shape, dtype=np.int64).astype(dtype)


def words(rng, n: int, *, missing: bool) -> np.ndarray:
    """Category names, some of them missing, some outside ASCII."""
    names = np.array(["axon", "dendrite", "soma", "Größe", "x", "神経", ""][: int(rng.integers(2, 8))], object)
    found = names[rng.integers(0, len(names), n)]
    if missing:
        found[rng.random(n) < 0.2] = None
    return found


def attributes(rng, n: int, *, categories: bool, texts: bool, big_endian: bool = False) -> dict[str, np.ndarray]:
    """A few vertex attributes. `id` numbers the rows, so that rows can be matched after a reader reordered them."""
    found: dict[str, np.ndarray] = {"id": np.arange(n).astype(rng.choice(["i4", "i8", "u4", "f8"]))}
    for k in range(int(rng.integers(0, 4))):
        code = str(rng.choice(BIG_ENDIAN if big_endian else NUMBERS))
        found[f"a{k}"] = numbers(rng, code, n)
        if np.dtype(code).kind == "f" and rng.random() < 0.3:
            found[f"a{k}"][rng.random(n) < 0.1] = np.nan
    if rng.random() < 0.5:
        found["channels"] = numbers(rng, str(rng.choice(["f4", "u1", "i2"])), (n, int(rng.integers(2, 5))))
    if categories and rng.random() < 0.6:
        found["label"] = words(rng, n, missing=bool(rng.random() < 0.5))
    if texts and rng.random() < 0.4:
        found["text"] = words(rng, n, missing=False).astype("U9")
    if rng.random() < 0.2:
        found["time"] = rng.integers(0, 10**15, n).astype("datetime64[ns]")
    if rng.random() < 0.2:
        found["level"] = rng.integers(0, 5, n).astype("i2")
    return found


def object_attributes(rng, n: int) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    if rng.random() < 0.7:
        found["score"] = rng.normal(size=n).astype(rng.choice(["f4", "f8"]))
        found["score"][rng.random(n) < 0.1] = np.nan
    if rng.random() < 0.4:
        found["count"] = rng.integers(1, 100, n).astype(rng.choice(["i2", "u4", "i8"]))
    if rng.random() < 0.3:
        found["vector"] = rng.normal(size=(n, 3)).astype("f4")
    if rng.random() < 0.3:
        found["name"] = np.array([f"object {k}" for k in range(n)], "U12")
    return found


def ids(rng, n: int) -> np.ndarray:
    """Distinct object ids: dense, or awkward."""
    if rng.random() < 0.3:
        return np.arange(n, dtype="i8")
    pool = np.array(AWKWARD_IDS, dtype="i8")
    if n > len(pool):
        pool = np.unique(np.concatenate([pool, rng.integers(-(2**60), 2**60, 2 * n)]))
    return rng.choice(pool, n, replace=False)


def groups(rng, known: list[int]) -> dict[int, list[int]]:
    """Group number to members; one group may be empty, one may name an object that is not there."""
    found = {}
    for g in range(int(rng.integers(1, 4))):
        size = int(rng.integers(0, min(6, len(known)) + 1))
        found[g] = [int(k) for k in rng.choice(known, size, replace=False)] if size else []
    if rng.random() < 0.3:
        found[0] = [*found[0], 123456789012]
    if rng.random() < 0.3:
        found[max(found) + 2] = [int(known[0])]
    return found
