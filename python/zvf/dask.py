"""Reads stores as Dask dataframes, and writes stores by Dask workers. Needs dask, pandas and pyarrow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
from dask.base import compute
from dask.delayed import delayed

from . import _zvf
from ._arrays import EXACT, array_of, with_unit
from ._parts import Columns, Parts
from ._split import Split, cut
from ._store import Store, opened
from ._write import _source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from ._write import Kind

__all__ = ["read", "write"]

NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""Types with missing values, so that all partitions have the same types."""


def read(
    url: str | os.PathLike[str] | Store,
    *,
    columns: Sequence[str] | None = None,
    count: int | None = None,
    rows: int | None = None,
    bytes: int | None = None,
    **terms: Any,
) -> dd.DataFrame:
    """The vertices of a store, or of a query, as a Dask dataframe with one partition for each split.

    The columns are those of `Store.dataset`; workers read only the ones that are used. `terms` are those of `Store.query`, such as `bbox` and
    `where`, and options of `zvf.open`. By default a partition has about 64 MiB of decoded data; `count`, `rows` and `bytes` select other sizes.
    """
    store = opened(url, terms)
    query = store.query(**terms)
    schema: pa.Schema = pa.schema(store._store.flat(query._asked).schema())
    names = schema.names if columns is None else list(columns)
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise _zvf.MisuseError(f"columns: found {', '.join(missing)}, expected some of {', '.join(schema.names)}")
    schema = pa.schema([schema.field(name) for name in names])
    splits = cut(query, count, rows, bytes)
    meta = _frame(schema.empty_table())
    frame: dd.DataFrame = dd.from_map(_Read(schema), splits, meta=meta, enforce_metadata=False, label="zvf")  # type: ignore[no-untyped-call]
    return frame


class _Read:
    """Reads one partition, with the columns that Dask requests."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def __call__(self, split: Split, columns: Sequence[str] | None = None) -> pd.DataFrame:
        names = self._schema.names if columns is None else list(columns)
        answer = split._store()._store.flat_split(split.to_json(), names)
        table = answer.collect()[0]
        wanted = pa.schema([self._schema.field(name) for name in names])
        return _frame(pa.table(table).cast(wanted))


def _frame(table: pa.Table) -> pd.DataFrame:
    def mapped(kind: pa.DataType) -> Any:
        # Dask converts columns of objects to texts, also columns of lists.
        return pd.ArrowDtype(kind) if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind) else NULLABLE.get(kind)

    return table.to_pandas(types_mapper=mapped)


def write(
    parts: dd.DataFrame | Iterable[Any],
    url: str | os.PathLike[str],
    *,
    kind: Kind = "point_cloud",
    chunk_shape: Sequence[float],
    bounds: tuple[Sequence[float], Sequence[float]],
    position: Sequence[str] = ("x", "y", "z"),
    columns: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    groups: Mapping[str, ArrayLike] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Writes one store by Dask workers, completely or not at all. Returns counts of its contents.

    Either from a dataframe of points: `position` names its columns of coordinates, and `columns` those that become attributes. By default these are
    all others except the columns `chunk_AXIS` of `read`; `object_id` is the object of a point. `units` are the units of numeric columns, which a
    dataframe cannot state (`{"t": "milliseconds since 1970-01-01T00:00:00"}`). The rows are shuffled first, so that all rows of a chunk are in one
    part. Or from a list of parts, delayed or not: each is a mapping of arrays or an Arrow table of vertices, or a pair of vertices and links. No two
    parts may have vertices in the same chunk, or share an object whose vertices have an order.

    A part that failed, or whose worker was lost, is written again. `bounds` are the bounds of all points; `options` are those of `zvf.begin`.
    """
    if isinstance(parts, dd.DataFrame):
        if kind != "point_cloud":
            raise _zvf.MisuseError(f"kind: found {kind!r}, expected \"point_cloud\", or a list of parts instead of a dataframe")
        like: Any = _stated(_vertices(parts._meta, position, columns), units)
        given = _moved(parts, chunk_shape, options.get("shard_shape"), bounds, position, columns)
    elif units is not None:
        raise _zvf.MisuseError("units: found units beside a list of parts, expected Arrow tables as parts, whose fields have their units (zvf.unit)")
    elif columns is not None or tuple(position) != ("x", "y", "z"):
        raise _zvf.MisuseError("position, columns: found them beside a list of parts, expected a dataframe")
    else:
        given = [delayed(part) for part in parts]
        if not given:
            raise _zvf.MisuseError("found no parts, expected at least one")
        like = delayed(_like)(given[0]).compute()
    store = Parts(url, like=like, kind=kind, chunk_shape=chunk_shape, bounds=bounds, **options)
    names = [f"{number:06}" for number in range(len(given))]
    # Parts that an earlier call finished may have other values.
    again = store.begin(names)
    done = [delayed(_written)(store, name, part, units, again) for name, part in zip(names, given, strict=True)]
    compute(*done)  # type: ignore[no-untyped-call]
    return store.commit(groups)


def _like(part: Any) -> Any:
    """The columns of a part, without rows."""
    vertices, links = part if isinstance(part, tuple) else (part, None)
    return (Columns.of(vertices), None if links is None else Columns.of_links(links))


def _written(store: Parts, name: str, part: Any, units: Mapping[str, str] | None, again: bool) -> int:
    vertices, links = part if isinstance(part, tuple) else (part, None)
    return store.write(name, _stated(vertices, units), links, redo=again)


def _moved(
    frame: dd.DataFrame, chunk_shape: Sequence[float], shard_shape: Sequence[int] | None, bounds: Any, position: Sequence[str], columns: Any
) -> list[Any]:
    """Shuffles a dataframe into parts, so that each chunk, or each shard, is in one of them."""
    import numpy as np

    steps = np.asarray(chunk_shape, dtype="f8")
    low = np.floor(np.asarray(bounds[0], dtype="f8") / steps).astype("i8")
    shards = np.ones(len(steps), dtype="i8") if shard_shape is None else np.asarray(shard_shape, dtype="i8")
    count = frame.npartitions

    def place(part: pd.DataFrame) -> pd.DataFrame:
        chunks = np.floor(part[list(position)].to_numpy(dtype="f8") / steps).astype("i8")
        cells = ((chunks - low) // shards).astype("u8")
        # Neighbouring chunks are in different parts, so that parts have about the same size.
        mixed = np.zeros(len(cells), dtype="u8")
        for axis in range(cells.shape[1]):
            mixed = (mixed ^ cells[:, axis]) * np.uint64(0x9E37_79B9_7F4A_7C15)
            mixed ^= mixed >> np.uint64(29)
        return part.assign(__part=(mixed % np.uint64(count)).astype("i8"))

    meta = frame._meta.assign(__part=np.zeros(0, dtype="i8"))
    placed = frame.map_partitions(place, meta=meta)  # type: ignore[no-untyped-call]
    # The peer-to-peer shuffle of Dask does not support lists of fixed size.
    lists = any(isinstance(kind, pd.ArrowDtype) and pa.types.is_nested(kind.pyarrow_dtype) for kind in meta.dtypes)
    split = placed.shuffle("__part", npartitions=count, shuffle_method="tasks" if lists else None)
    return [delayed(_vertices)(part, position, columns) for part in split.to_delayed()]


def _vertices(frame: pd.DataFrame, position: Sequence[str], columns: Sequence[str] | None) -> dict[str, Any]:
    """A part of a dataframe as arrays."""
    import numpy as np

    # A named index is a column, as in `zvf.write`.
    frame = _source(frame)
    kinds = {frame[name].dtype for name in position}
    # All axes get one type. `read` returns float64 for any type of a store, whose usual type is float32.
    kind = kinds.pop() if len(kinds) == 1 else np.dtype("f8")
    for name in position:
        if kind.kind == "f" and frame[name].dtype.kind in "iu" and (frame[name].abs() > EXACT).any():
            raise _zvf.MisuseError(f"{name}: found whole numbers beside columns of floats, expected those of at most 2**53, or whole numbers on each axis")
    made: dict[str, Any] = {"position": np.ascontiguousarray(frame[list(position)].to_numpy(dtype=kind))}
    chunks = {f"chunk_{name}" for name in position}
    chosen = [name for name in frame.columns if str(name) not in chunks] if columns is None else list(columns)
    for name in chosen:
        if name not in position and name != "__part":
            values = frame[name]
            if values.isna().any() and values.dtype.kind in "iub":
                raise _zvf.MisuseError(f"{name}: found rows without a value, expected one in each")
            if str(name) in made:
                raise _zvf.MisuseError(f"{name}: found two columns of this name, expected unique names")
            made[str(name)] = values
    return made


def _stated(part: Any, units: Mapping[str, str] | None) -> Any:
    """A part of a dataframe with the units of its columns, which arrays would lose between workers."""
    if not units:
        return part
    unknown = [name for name in units if name == "position" or name not in part]
    if unknown:
        names = ", ".join(name for name in part if name != "position")
        raise _zvf.MisuseError(f"units: found {', '.join(unknown)}, expected some of {names}")
    stated = {name: array_of(name, part[name]) for name in units}
    for name, values in stated.items():
        if values.dtype.kind not in "iuf":
            raise _zvf.MisuseError(f"units: found {name}, a column of {values.dtype}, expected columns of numbers")
    return {**part, **{name: with_unit(values, units[name]) for name, values in stated.items()}}
