"""Finds the chunks that may satisfy a condition of an SQL engine. The condition is tested on blocks of chunks first; undecided blocks are halved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from . import _zvf

BUDGET = 4_000
"""Most blocks on which a condition is tested; chunks that are still undecided are read."""

Range = tuple[Any, Any, bool]
"""Lowest and highest value of a column, inclusive, and whether the column may also be null."""

Bounds = dict[str, Range]
"""The range of the values in a block, by column."""


class Condition(Protocol):
    """A condition of an SQL engine on rows."""

    def names(self, known: Sequence[str]) -> bool:
        """Whether the condition may refer to one of these columns."""

    def may_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        """For each block, whether one of its rows may satisfy the condition; true if unknown."""

    def must_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        """For each block, whether all of its rows satisfy the condition; false if unknown."""


class Chunks:
    """The chunks of a flat table, with the bounding boxes of their rows."""

    def __init__(self, flat: _zvf.Flat) -> None:
        from json import loads

        found = flat.boxes()
        self.coords: NDArray[np.int64] = np.frombuffer(found["chunks"], dtype=np.int64).reshape(-1, found["rank"])
        """Coordinates of the chunks, one row each."""
        self._low = np.frombuffer(found["low"], dtype=np.float64).reshape(-1, found["dims"])
        self._high = np.frombuffer(found["high"], dtype=np.float64).reshape(-1, found["dims"])
        kinds = flat.kinds()
        self._axes = [name for name, kind in kinds if kind == "axis"]
        self._parts = [name for name, kind in kinds if kind == "chunk"]
        columns = {name for name, kind in kinds if kind == "column"}
        self._key: tuple[str, Sequence[Any]] | None = None
        if found["key"] is not None:
            name, values = loads(found["key"])
            # Engines differ in comparisons of numbers, but not of texts.
            if name in columns and all(isinstance(value, str) for value in values):
                self._key = (name, values)

    def __len__(self) -> int:
        return len(self.coords)

    @property
    def columns(self) -> list[str]:
        """The columns whose conditions can exclude chunks."""
        return [*self._axes, *self._parts, *([] if self._key is None else [self._key[0]])]

    def left(self, condition: Condition) -> NDArray[np.int64] | None:
        """The coordinates of the chunks that may have rows of the answer; None means all chunks."""
        if len(self) == 0 or not condition.names(self.columns):
            return None
        kept: list[NDArray[np.intp]] = []
        blocks = self._blocks()
        asked = 0
        while blocks:
            asked += len(blocks)
            if asked > BUDGET:
                kept += blocks
                break
            may = condition.may_hold([self._bounds(block, True) for block in blocks])
            blocks = [block for block, hold in zip(blocks, may, strict=True) if hold]
            kept += [block for block in blocks if len(block) == 1]
            blocks = [block for block in blocks if len(block) > 1]
            must = condition.must_hold([self._bounds(block, False) for block in blocks])
            kept += [block for block, hold in zip(blocks, must, strict=True) if hold]
            blocks = [half for block, hold in zip(blocks, must, strict=True) if not hold for half in self._halves(block)]
        if sum(map(len, kept)) == len(self):
            return None
        places = np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.intp)
        found: NDArray[np.int64] = self.coords[places]
        return found

    def _blocks(self) -> list[NDArray[np.intp]]:
        """All chunks, as a block for each value of the key."""
        every = np.arange(len(self))
        if self._key is None:
            return [every]
        order = np.argsort(self.coords[:, 0], kind="stable")
        cuts = np.flatnonzero(np.diff(self.coords[order, 0])) + 1
        return np.split(every[order], cuts)

    def _bounds(self, block: NDArray[np.intp], nulls: bool) -> Bounds:
        known: Bounds = {}
        low, high = self._low[block].min(axis=0).tolist(), self._high[block].max(axis=0).tolist()
        for axis, name in enumerate(self._axes):
            # NaN becomes null, and may be in any chunk.
            known[name] = (low[axis], high[axis], nulls)
        first, last = self.coords[block].min(axis=0).tolist(), self.coords[block].max(axis=0).tolist()
        for part, name in enumerate(self._parts):
            known[name] = (first[part], last[part], False)
        if self._key is not None and first[0] == last[0] and 0 <= first[0] < len(self._key[1]):
            value = self._key[1][first[0]]
            known[self._key[0]] = (value, value, False)
        return known

    def _halves(self, block: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        coords = self.coords[block]
        # As floats, because the difference of two keys may exceed 63 bits.
        widest = int(np.argmax(coords.max(axis=0).astype(np.float64) - coords.min(axis=0)))
        middle = len(block) // 2
        order = np.argpartition(coords[:, widest], middle)
        return [block[order[:middle]], block[order[middle:]]]


def named(text: str, known: Sequence[str]) -> bool:
    """Whether a text may name one of these columns. May be true for texts that name none."""
    return any(name in text for name in known)


def as_buffer(coords: NDArray[np.int64] | None) -> Mapping[str, Any] | Any:
    """Coordinates as the extension takes them."""
    return None if coords is None else np.ascontiguousarray(coords).reshape(-1)
