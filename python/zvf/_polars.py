"""The flat table as a Polars source, without pyarrow. Polars passes the selected columns and the condition to the store."""

from __future__ import annotations

from io import StringIO
from json import dumps, loads
from typing import TYPE_CHECKING, Any

import polars as pl

from ._prune import Bounds, Chunks, as_buffer
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._store import Query

EXACT = 1 << 53
"""Largest integer up to which float64 represents all integers."""


def scan(query: Query) -> pl.LazyFrame:
    """The rows of a query as a lazy frame."""
    from polars.io.plugins import register_io_source

    flat = query.store._store.flat(query._asked)
    schema = pl.DataFrame(Table(flat.schema())).schema
    known: list[Chunks] = []

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if with_columns is None else with_columns
        needed = set(wanted) if predicate is None else {*wanted, *predicate.meta.root_names()}
        left = None
        # A limit counts rows before the condition is applied, so no chunks can be left out.
        if predicate is not None and n_rows is None and flat.by_chunk():
            if not known:
                known.append(Chunks(flat))
            left = known[0].left(_Predicate(predicate))
        answer = flat.scan([name for name in schema if name in needed], as_buffer(left))
        try:
            while (n_rows is None or n_rows > 0) and (step := answer.next()) is not None:
                frame = pl.DataFrame(Table(step[1]))
                if n_rows is not None:
                    frame = frame.head(n_rows)
                    n_rows -= frame.height
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame.select(wanted)
        finally:
            answer.close()

    return register_io_source(read, schema=schema, is_pure=True)


Outcomes = tuple[bool, bool, bool]
"""Whether a condition may be true, may be false, and may be null for a row."""

UNKNOWN: Outcomes = (True, True, True)


class _Predicate:
    """A condition of Polars, evaluated for blocks by its expression tree. Unknown expressions may have any result."""

    def __init__(self, predicate: pl.Expr) -> None:
        self._names = set(predicate.meta.root_names())
        try:
            self._tree = loads(predicate.meta.serialize(format="json"))
        except Exception:
            # For example, Python functions: their results are unknown.
            self._tree = None
        self._literals: dict[str, Any] = {}

    def names(self, known: Sequence[str]) -> bool:
        return self._tree is not None and not self._names.isdisjoint(known)

    def may_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        return [self._outcomes(self._tree, block)[0] for block in blocks]

    def must_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        return [self._outcomes(self._tree, block)[1:] == (False, False) for block in blocks]

    def _outcomes(self, node: Any, block: Bounds) -> Outcomes:
        match node:
            case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
                return _both(self._outcomes(left, block), self._outcomes(right, block))
            case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
                return _not(_both(_not(self._outcomes(left, block)), _not(self._outcomes(right, block))))
            case {"BinaryExpr": {"left": {"Column": str(name)}, "op": str(op), "right": {"Literal": _} as literal}}:
                return self._compared(name, op, literal, block)
            case {"BinaryExpr": {"left": {"Literal": _} as literal, "op": str(op), "right": {"Column": str(name)}}}:
                return self._compared(name, FLIPPED.get(op, ""), literal, block)
            case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
                return _not(self._outcomes(inner, block))
            case {"Function": {"input": [{"Column": str(name)}], "function": {"Boolean": "IsNull"}}} if name in block:
                return (block[name][2], True, False)
            case {"Function": {"input": [{"Column": str(name)}], "function": {"Boolean": "IsNotNull"}}} if name in block:
                return (True, block[name][2], False)
            case {
                "Function": {
                    "input": [{"Column": str(name)}, {"Literal": _} as low, {"Literal": _} as high],
                    "function": {"Boolean": {"IsBetween": {"closed": closed}}},
                }
            }:
                above = "GtEq" if closed in ("Both", "Left") else "Gt"
                below = "LtEq" if closed in ("Both", "Right") else "Lt"
                return _both(self._compared(name, above, low, block), self._compared(name, below, high, block))
            case {"Function": {"input": [{"Column": str(name)}, {"Literal": _} as literal], "function": {"Boolean": {"IsIn": _}}}}:
                return self._listed(name, literal, block)
            case _:
                return UNKNOWN

    def _values(self, literal: Any) -> list[Any] | None:
        """The value or list of values of a literal; None if they are unknown."""
        key = dumps(literal)
        if key not in self._literals:
            self._literals[key] = None
            try:
                found = pl.select(pl.Expr.deserialize(StringIO(key), format="json")).to_series()
            except Exception:
                # For example, NaN and infinities, which JSON lacks.
                return None
            if isinstance(found.dtype, pl.List):
                found = found.explode()
            self._literals[key] = found.to_list()
        values: list[Any] | None = self._literals[key]
        return values

    def _compared(self, name: str, op: str, literal: Any, block: Bounds) -> Outcomes:
        values = self._values(literal)
        if name not in block or values is None or len(values) != 1:
            return UNKNOWN
        low, high, nulls = block[name]
        [value] = values
        if value is None and op in COMPARISONS:
            return (False, False, True)
        if not _comparable(low, high, value):
            return UNKNOWN
        match op:
            case "Gt":
                return (high > value, low <= value, nulls)
            case "GtEq":
                return (high >= value, low < value, nulls)
            case "Lt":
                return (low < value, high >= value, nulls)
            case "LtEq":
                return (low <= value, high > value, nulls)
            case "Eq":
                return (low <= value <= high, not low == value == high, nulls)
            case "NotEq":
                return (not low == value == high, low <= value <= high, nulls)
            case _:
                return UNKNOWN

    def _listed(self, name: str, literal: Any, block: Bounds) -> Outcomes:
        values = self._values(literal)
        if name not in block or values is None:
            return UNKNOWN
        low, high, nulls = block[name]
        some = [value for value in values if value is not None]
        if not all(_comparable(low, high, value) for value in some):
            return UNKNOWN
        # If the list contains null, null may match, and the result for other values may be null.
        gap = len(some) < len(values)
        return (any(low <= value <= high for value in some) or (gap and nulls), True, gap or nulls)


COMPARISONS = ("Gt", "GtEq", "Lt", "LtEq", "Eq", "NotEq")

FLIPPED = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq", "NotEq": "NotEq"}


def _both(one: Outcomes, other: Outcomes) -> Outcomes:
    return (one[0] and other[0], one[1] or other[1], one[2] or other[2])


def _not(one: Outcomes) -> Outcomes:
    return (one[1], one[0], one[2])


def _comparable(low: Any, high: Any, value: Any) -> bool:
    """Whether Python compares these values like Polars: texts with texts, and numbers that float64 represents exactly."""
    if isinstance(low, str):
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return False
    # Integers that float64 does not represent are rounded, but not in every comparison.
    return all(isinstance(one, float) or abs(one) <= EXACT for one in (low, high, value))
