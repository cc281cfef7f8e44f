"""Writes new stores, and changes existing ones."""

from __future__ import annotations

import os
from operator import index
from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _zvf
from ._options import address, document, writing
from ._table import Table, _Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self, TypeGuard, Unpack

    from numpy.typing import ArrayLike

    from ._options import WriteOptions
    from ._store import Box

Kind = Literal["point_cloud", "line", "polyline", "streamline", "graph", "skeleton", "mesh"]

BATCH = 1 << 18
"""Vertices of arrays that are passed to the writer at a time."""

WANTED = 10_000
"""Intended mean number of vertices in a chunk, if the caller gives no size."""


class Writer:
    """Writes one new store from batches. The store does not exist before `finish`.

    As a context manager it finishes at the end of the block, or discards everything if the block raises. `objects` and `groups` are given to the
    constructor. Vertices and links are given to `push`; the columns of its first call define the attributes of the store.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        kind: Kind,
        chunk_shape: Sequence[float],
        objects: object | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        bin_shape: Sequence[float] | None = None,
        shard_shape: Sequence[int] | Literal["auto", "none"] = "auto",
        axes: Sequence[str] | None = None,
        unit: str | None = None,
        bounds: Box | None = None,
        codec: str | None = None,
        version: Literal["0.9.2", "0.8.1"] = "0.9.2",
        explicit_links: bool = False,
        directed_links: bool = False,
        **options: Unpack[WriteOptions],
    ) -> None:
        self._url = address(url)
        self._writing = writing(options)
        self._wanted = {
            "kind": kind,
            "chunk_shape": [float(size) for size in chunk_shape],
            "bin_shape": bin_shape,
            "shard_shape": shard_shape,
            "axes": axes,
            "unit": unit,
            "bounds": bounds,
            "codec": codec,
            "version": version,
            "explicit_links": explicit_links,
            "directed_links": directed_links,
        }
        self._objects = None if objects is None else _table(objects)
        self._groups = {} if groups is None else groups
        self._link_schema: _zvf.Table | None = None
        self._writer: _zvf.Writer | None = None
        self.result: dict[str, Any] | None = None
        """After `finish`: counts of what the store holds."""

    def push(self, vertices: object, links: object | None = None) -> int:
        """Adds vertices and links. Links refer to the numbers of all vertices pushed so far, including these. Returns the number of vertices so far.

        Both are data frames, Arrow tables or streams, or mappings of names to arrays. Vertices have a column `position` (lists of fixed size) or a column
        for each axis by its name, such as `x`, `y` and `z`, and, if the kind has objects, `object_id` (int64); links have `vertices` (lists of fixed size, uint64). Every other column is an attribute. A skeleton must be in
        one call as a whole, with its links, and is held in memory; other streams are read batch by batch. If a stream fails after some of its rows
        were taken, the writer ends, and no store is written.
        """
        rows = _zvf.Stream.of(_source(vertices))
        ends = None if links is None else _links(links)
        if self._writer is None:
            schema = ends if ends is not None else self._link_schema
            writer = _zvf.Writer.create(
                self._url, self._wanted, self._writing, rows.schema(), schema, self._objects
            )
            try:
                if self._objects is not None:
                    writer.push_objects(self._objects)
                if self._groups:
                    groups = [(name, _arrays.ids_of(ids)) for name, ids in self._groups.items()]
                    writer.set_groups(groups)
            except BaseException:
                # A later call begins again.
                writer.abandon()
                raise
            self._writer = writer
        return self._writer.push(rows, ends)

    def finish(self) -> dict[str, Any]:
        """Completes the store, which is written completely or not at all. Returns counts."""
        if self._writer is None:
            raise _zvf.MisuseError(f"{self._url}: found no vertices, expected some before the store is finished")
        result = document(self._writer.finish())
        self.result = result
        return result

    def abandon(self) -> None:
        """Discards all data that was pushed."""
        if self._writer is not None:
            self._writer.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abandon()
        elif self.result is None:
            self.finish()


def write(
    url: str | os.PathLike[str],
    *,
    kind: Kind,
    positions: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    object_ids: ArrayLike | None = None,
    attributes: Mapping[str, ArrayLike] | None = None,
    vertices: object | None = None,
    links: object | None = None,
    link_attributes: Mapping[str, ArrayLike] | None = None,
    objects: object | None = None,
    groups: Mapping[str, ArrayLike] | None = None,
    chunk_shape: Sequence[float] | None = None,
    bin_shape: Sequence[float] | None = None,
    shard_shape: Sequence[int] | Literal["auto", "none"] = "auto",
    axes: Sequence[str] | None = None,
    unit: str | None = None,
    bounds: Box | None = None,
    codec: str | None = None,
    version: Literal["0.9.2", "0.8.1"] = "0.9.2",
    explicit_links: bool = False,
    directed_links: bool = False,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Writes a new store, and returns counts of what it holds.

    Either from arrays: `positions` of shape `(vertices, axes)`, `attributes` by name, and the objects of the vertices. Objects are given as
    `object_ids` with one id for each vertex, or as `offsets` (object `i` has the rows from `offsets[i]` up to, not including, `offsets[i + 1]`) with
    one id for each object in `object_ids`, by default 0, 1, 2… Or from `vertices`: a data frame, or any Arrow table or stream, with a column `position`
    or a column for each axis by its name, such as `x`, `y` and `z`; other columns are attributes. A stream is read once, batch by batch.

    `links` are row numbers of shape `(links, ends)` with `link_attributes`, or an Arrow table with a column `vertices`; `objects` a mapping of
    arrays or an Arrow table with a column `object_id`; `groups` the ids of each group by its name.

    `axes` are names, each optionally with a type: `"t:space"`. By default `t`, `time` and `frame` are axes of time, to which `unit` does not apply,
    and all others axes of space. Axes of time come first.

    By default, chunks are cubes of about 10,000 vertices; for a stream, and for a query, `chunk_shape` must be given.
    """
    if (positions is None) == (vertices is None):
        raise _zvf.MisuseError("expected either positions or vertices")
    beside = {"offsets": offsets, "object_ids": object_ids, "attributes": attributes}
    given = [name for name, value in beside.items() if value is not None]
    if vertices is not None and given:
        raise _zvf.MisuseError(f"{given[0]}: found it beside vertices, expected columns of vertices")
    if link_attributes is not None and (links is None or hasattr(links, "__arrow_c_stream__")):
        found = "no links" if links is None else "a table of links"
        raise _zvf.MisuseError(f"link_attributes: found {found}, expected links as an array of row numbers; attributes of a table are its columns")
    if links is not None and not hasattr(links, "__arrow_c_stream__"):
        links = {"vertices": links, **(link_attributes or {})}
    batches: Iterator[tuple[object, object | None]]
    # The writer must know the columns of links from its first batch.
    ends = None if links is None else _links(links)
    if vertices is not None:
        if chunk_shape is None:
            vertices = _whole_table(vertices)
            chunk_shape = _chosen(_positions(vertices, axes))
        batches = iter([(vertices, ends)])
    else:
        arrays, owners, empty = _checked(positions, attributes, offsets, object_ids)
        if empty:
            objects = _with_empty(objects, empty)
        if chunk_shape is None:
            chunk_shape = _chosen(arrays["position"])
        if kind == "skeleton" and (links is None or _is_mapping(links)):
            batches = _whole_skeletons(arrays, owners, links)
        else:
            batches = _batches(arrays, owners, ends, None if kind == "skeleton" else BATCH)
    writer = Writer(
        url,
        kind=kind,
        chunk_shape=chunk_shape,
        objects=objects,
        groups=groups,
        bin_shape=bin_shape,
        shard_shape=shard_shape,
        axes=axes,
        unit=unit,
        bounds=bounds,
        codec=codec,
        version=version,
        explicit_links=explicit_links,
        directed_links=directed_links,
        **options,
    )
    with writer:
        writer._link_schema = ends
        for batch, own in batches:
            writer.push(batch, own)
    assert writer.result is not None
    return writer.result


def _whole_table(vertices: object) -> _zvf.Table:
    """Rows that are in memory already."""
    if not (isinstance(vertices, Table) or _is_mapping(vertices) or hasattr(vertices, "shape") or hasattr(vertices, "num_rows")):
        raise _zvf.MisuseError("chunk_shape: found none, expected the size of a chunk on each axis: a stream is read once")
    return _table(vertices)


def _positions(vertices: _zvf.Table, axes: Sequence[str] | None) -> Any:
    """The positions of a table, whose axes may be columns."""
    import numpy as np

    if "position" in vertices.column_names:
        return _arrays.to_numpy(vertices, ["position"])["position"]
    names = ["x", "y", "z"] if axes is None else [name.split(":")[0] for name in axes]
    found = [name for name in names if name in vertices.column_names]
    if len(found) < 2 or (axes is not None and found != names):
        raise _zvf.MisuseError(f"vertices: found the columns {', '.join(vertices.column_names)}, expected position, or {', '.join(names)}")
    columns = _arrays.to_numpy(vertices, found)
    return np.stack([np.asarray(columns[name], dtype=np.float64) for name in found], axis=1)


def _checked(
    positions: Any, attributes: Mapping[str, ArrayLike] | None, offsets: Any, object_ids: Any
) -> tuple[dict[str, Any], Any, list[int]]:
    """The arrays of vertices, a function that returns the ids of a range of rows, and the ids of objects without vertices."""
    import numpy as np

    places = _arrays.array_of("positions", positions)
    if places.ndim != 2:
        raise _zvf.MisuseError(f"positions: found shape {places.shape}, expected (vertices, axes)")
    arrays = {"position": places}
    for name, values in (attributes or {}).items():
        if name in ("position", "object_id"):
            raise _zvf.MisuseError(f"attributes: found {name!r}, expected another name: this one is reserved")
        array = _arrays.array_of(name, values)
        if array.shape[:1] != places.shape[:1]:
            raise _zvf.MisuseError(f"{name}: found {array.shape[:1]} rows, expected {len(places)}, as positions have")
        arrays[name] = array
    if offsets is None:
        if object_ids is None:
            return arrays, None, []
        ids = _whole("object_ids", object_ids)
        if ids.shape != (len(places),):
            raise _zvf.MisuseError(f"object_ids: found shape {ids.shape}, expected ({len(places)},), one id for each vertex")
        return arrays, lambda start, end: ids[start:end], []
    starts = _whole("offsets", offsets)
    count = len(starts) - 1
    if count < 0 or starts[0] != 0 or starts[-1] != len(places) or (np.diff(starts) < 0).any():
        raise _zvf.MisuseError(f"offsets: expected numbers that do not decrease, from 0 to the number of vertices, {len(places)}")
    ids = np.arange(count) if object_ids is None else _whole("object_ids", object_ids)
    if ids.shape != (count,):
        raise _zvf.MisuseError(f"object_ids: found shape {ids.shape}, expected ({count},), one id for each object of offsets")
    found, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise _zvf.MisuseError(f"object_ids: found {found[counts > 1][0]} twice, expected a unique id for each object")

    def owners(start: int, end: int) -> Any:
        # Empty objects share their offset with the next one, which is the owner.
        return ids[np.searchsorted(starts, np.arange(start, end), side="right") - 1]

    return arrays, owners, ids[np.diff(starts) == 0].tolist()


def _with_empty(objects: object | None, empty: list[int]) -> object:
    """The table of objects, with rows for objects without vertices, which nothing else in the store refers to."""
    if objects is None:
        return {"object_id": empty}
    table = _table(objects)
    named = set(Table(table)["object_id"].tolist()) if "object_id" in table.column_names else set()
    missing = [one for one in empty if one not in named]
    if missing:
        raise _zvf.MisuseError(f"objects: found no row for {missing[0]}, which has no vertices, expected a row for each object without vertices")
    return table


def _whole(name: str, values: Any) -> Any:
    import numpy as np

    array = _arrays.whole_numbers(name, values)
    if array.ndim != 1:
        raise _zvf.MisuseError(f"{name}: found {array.dtype.name} of shape {array.shape}, expected whole numbers in one dimension")
    return array.astype(np.int64)


def _batches(arrays: dict[str, Any], owners: Any, links: object | None, size: int | None) -> Iterator[tuple[dict[str, Any], object | None]]:
    """The rows in batches of a size, or in one; at least one batch, so that an empty store has columns. Links refer to rows of all batches, so they
    are in the last one."""
    count = len(arrays["position"])
    cuts = [0, *range(size or max(count, 1), count, size or 1), count]
    for start, end in zip(cuts[:-1], cuts[1:], strict=True):
        yield _rows(arrays, owners, start, end), links if end == count else None


def _whole_skeletons(arrays: dict[str, Any], owners: Any, links: Mapping[str, Any] | None) -> Iterator[tuple[dict[str, Any], object | None]]:
    """Batches of whole skeletons with their links. If the rows of a skeleton are not consecutive, all rows are one batch."""
    import numpy as np

    count = len(arrays["position"])
    ids = np.zeros(count, dtype=np.int64) if owners is None else owners(0, count)
    ends = np.append(np.flatnonzero(ids[1:] != ids[:-1]) + 1, count) if count else np.array([0])
    if len(np.unique(ids)) < len(ends):
        ends = np.array([count])
    # A batch ends with the skeleton that makes it full.
    cuts = [0]
    while cuts[-1] < count or len(cuts) == 1:
        full = int(np.searchsorted(ends, cuts[-1] + BATCH))
        cuts.append(int(ends[min(full, len(ends) - 1)]))
    columns = {name: _arrays.array_of(name, values) for name, values in (links or {}).items()}
    order, places = np.zeros(0, dtype=np.int64), [0] * len(cuts)
    if columns:
        first = columns["vertices"][:, 0]
        order = np.argsort(first, kind="stable")
        # Links whose ends are not rows are in the last batch, and the writer refuses them.
        places = [*np.searchsorted(first[order], cuts[:-1]).tolist(), len(order)]
    for number, (start, end) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        own = None
        if columns:
            rows = order[places[number] : places[number + 1]]
            own = {name: values[rows] for name, values in columns.items()}
        yield _rows(arrays, owners, start, end), own


def _rows(arrays: dict[str, Any], owners: Any, start: int, end: int) -> dict[str, Any]:
    batch = {name: values[start:end] for name, values in arrays.items()}
    if owners is not None:
        batch["object_id"] = owners(start, end)
    return batch


def _chosen(positions: Any) -> list[float]:
    """The size of cubic chunks, from a sample. Of ten sizes in each power of ten, it is the one with a mean number of vertices in a chunk nearest to
    `WANTED`."""
    import numpy as np

    count, axes = positions.shape
    if count == 0 or positions.dtype.kind not in "iuf":
        return [1.0] * axes
    sample = np.asarray(positions[:: max(1, count // 65_536)], dtype=np.float64)
    sample = sample[np.isfinite(sample).all(axis=1)]
    span = float(np.ptp(sample, axis=0).max()) if len(sample) else 0.0
    if not 0.0 < span < np.inf:
        return [1.0] * axes
    low = sample.min(axis=0)
    best = (np.inf, 1.0)
    # From a single chunk down to sizes for which the sample is too small.
    for step in range(60):
        size = 10.0 ** (np.ceil(10 * np.log10(span * 1.001)) / 10 - step / 10)
        chunks = len(np.unique(np.floor((sample - low) / size), axis=0))
        best = min(best, (abs(np.log(count / chunks / WANTED)), float(f"{size:.2g}")))
        if count / chunks < WANTED / 2 or len(sample) / chunks < 8:
            break
    return [best[1]] * axes


def _is_mapping(given: object) -> TypeGuard[Mapping[str, Any]]:
    return hasattr(given, "keys") and hasattr(given, "__getitem__") and not hasattr(given, "__arrow_c_stream__")


def _source(given: object) -> Any:
    """Rows as an object with an Arrow stream."""
    if isinstance(given, _Source):
        return given.read()._table if isinstance(given, Table) else given
    if _is_mapping(given):
        return _arrays.from_numpy(given)
    if hasattr(given, "reset_index") and hasattr(given, "index"):
        # pandas would export row numbers as a column, but not a named index of equally spaced values.
        unnamed = [number for number, name in enumerate(given.index.names) if name is None]
        frame: Any = given.reset_index(level=unnamed, drop=True) if unnamed else given
        named = [name for name in frame.index.names if name is not None]
        twice = [name for name in named if name in frame.columns]
        if twice:
            raise _zvf.MisuseError(f"{twice[0]}: found an index and a column of this name, expected one of them")
        if named:
            columns = list(frame.columns)
            frame = frame.reset_index()[[*columns, *named]] if frame.columns.is_unique else frame.reset_index()
        return frame
    return given


def _held(given: object) -> Any:
    """Rows in memory. The rows of a query are read here, so that its own errors are raised instead of errors of a stream."""
    from ._store import Query

    if isinstance(given, Query):
        given = given.vertices
    return given.read()._table if isinstance(given, _Source) else _source(given)


def _table(given: object) -> _zvf.Table:
    """Rows in memory."""
    found = _held(given)
    return found if isinstance(found, _zvf.Table) else _zvf.Table.of_stream(found)


def _links(given: object) -> _zvf.Table:
    """Links in memory; row numbers of arrays as uint64."""
    if _is_mapping(given):
        import numpy as np

        ends = _arrays.array_of("links", given["vertices"])
        if isinstance(ends, np.ma.MaskedArray):
            raise _zvf.MisuseError("links: found ends without a value, expected row numbers")
        if ends.ndim != 2 or (ends.size > 0 and (ends.dtype.kind not in "iu" or ends.min() < 0)):
            raise _zvf.MisuseError(
                f"links: found {ends.dtype.name} of shape {ends.shape}, expected row numbers of shape (links, ends), none below 0"
            )
        return _arrays.from_numpy({**given, "vertices": ends.astype(np.uint64)})
    return _table(given)


def _group(group: str | int) -> str:
    """The group by name or number; a text is always a name."""
    if isinstance(group, str):
        return f"name:{group}"
    try:
        return f"number:{index(group)}"
    except TypeError as error:
        raise _zvf.MisuseError(f"group: found {group!r}, expected a name or a whole number") from error


def _fill(name: str, value: object) -> str:
    """A fill value as text."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or isinstance(value, bytes):
        raise _zvf.MisuseError(f"fill of {name}: found {value!r}, expected a value: a number, a boolean, a text or a time")
    return str(value)


def _same_place(one: str, other: str) -> bool:
    """Whether two addresses may name the same store. Addresses of different services are not compared."""
    if "://" in one or "://" in other:
        return one.partition("://")[0] != other.partition("://")[0] or one.rstrip("/") == other.rstrip("/")
    return os.path.realpath(one) == os.path.realpath(other)


class Edit:
    """A change of an existing store, which is applied completely or not at all."""

    def __init__(self, url: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
        self._url = address(url)
        self._edit = _zvf.Edit.begin(self._url, writing(options))
        self.result: dict[str, Any] | None = None
        """After the commit: by how much the numbers of vertices and links grew, and how many objects and chunks changed."""
        self.notes: list[str] = []
        """Notes about data of the tables that the store cannot hold, and about data that the tables lack."""

    def append(self, vertices: object, links: object | None = None, *, fill: Mapping[str, object] | None = None) -> None:
        """Appends vertices in the types of the store: an Arrow table or stream, or a mapping of arrays, as for `Writer.push`.

        `fill` gives values for attributes that the tables lack. Integer attributes need one, either here or recorded by `set_attribute`.
        """
        for name, value in (fill or {}).items():
            self._edit.set_fill(name, _fill(name, value))
        ends = None if links is None else _links(links)
        self.notes += self._edit.append(_held(vertices), ends)

    def set_attribute(
        self,
        name: str,
        table: object | None = None,
        *,
        on: Literal["vertices", "objects", "links"] = "vertices",
        key: str | Sequence[str] | None = None,
        by_order: bool = False,
        by_object_order: bool = False,
        ignore_missing: bool = False,
        type: str | None = None,
        fill: object | None = None,
        new: bool = False,
    ) -> None:
        """Sets values of an attribute of vertices, objects or links: the column `name` of any Arrow table, data frame or mapping of arrays.

        Each row is matched by `key` (attributes whose values are unique in the store), by columns (`chunk` and `row`, or `vertex` and `object_id` of
        vertices, `object_id` of objects, `vertices` of links), by positions (`position`, or a column for each axis), `by_order`, which is the order
        of a query of the whole store, or, for vertices, `by_object_order`: object after object, and along each, as in arrays beside a tractogram. A
        table that fits none of these is refused. `ignore_missing` leaves out rows that are not in the store; `new` creates missing objects. `type`,
        such as "float32" or "text", adds the attribute. `fill` is the value of everything without a row, also of later appends. Without a table, only
        the fill is recorded; a new attribute then has it everywhere. `notes` lists what has no row, and what was left out.
        """
        setting = {
            "name": name,
            "on": on,
            "key": [key] if isinstance(key, str) else list(key or ()),
            "by_order": by_order,
            "by_object_order": by_object_order,
            "ignore_missing": ignore_missing,
            "dtype": type,
            "fill": None if fill is None else _fill(name, fill),
            "new": new,
        }
        self.notes += self._edit.set_attribute(setting, None if table is None else _held(table))

    def put_objects(self, objects: object, *, new: bool = False) -> None:
        """Sets attributes of objects: a table or mapping with `object_id`; `new` creates missing objects, without vertices."""
        self._edit.put_objects(_held(objects), new)

    def delete(self, ids: ArrayLike | range | str, *, ignore_missing: bool = False) -> None:
        """Deletes objects by their ids: also a `range`, or a text such as `"0-9,12"`. `ignore_missing` leaves out ids that no object has."""
        self._edit.delete(_arrays.selected_ids(ids), ignore_missing)

    def add_to_group(self, group: str | int, ids: ArrayLike | range | str) -> None:
        """Adds objects to a group by its name or number; a name that does not exist creates a group."""
        self._edit.change_group(_group(group), _arrays.selected_ids(ids), True)

    def remove_from_group(self, group: str | int, ids: ArrayLike | range | str) -> None:
        """Removes objects from a group, given by its name or number."""
        self._edit.change_group(_group(group), _arrays.selected_ids(ids), False)

    def rename_group(self, group: str | int, name: str) -> None:
        """Gives a group another name."""
        self._edit.rename_group(_group(group), name)

    def delete_group(self, group: str | int) -> None:
        """Deletes a group, but not its objects; the numbers of later groups decrease by 1."""
        self._edit.rename_group(_group(group), None)

    def delete_points(self, rows: _Source) -> None:
        """Deletes points of a store without objects: rows of a query of level 0 with the columns `chunk` and `row`, in the state of the store in
        which the change began."""
        other = rows._store_url()
        if other is not None and not _same_place(other, self._url):
            raise _zvf.MisuseError(f"{self._url}: rows by chunk, row: found rows of {other}, expected those of the store that is changed")
        table = rows.read()
        level = table.metadata.get("zvf.level", "0")
        if level != "0":
            raise _zvf.MisuseError(
                f"{self._url}: rows by chunk, row: found rows of level {level}, expected those of level 0, which edits change: query the points there"
            )
        found = table.to_numpy(["chunk", "row"])
        self._edit.delete_points(list(zip(found["chunk"].tolist(), found["row"].tolist(), strict=True)))

    def commit(self) -> dict[str, Any]:
        """Applies the change."""
        result = document(self._edit.commit())
        self.result = result
        return result

    def abandon(self) -> None:
        """Discards the change."""
        self._edit.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abandon()
        elif self.result is None:
            self.commit()


def edit(url: str | os.PathLike[str], **options: Unpack[WriteOptions]) -> Edit:
    """Changes a store. All changes of the block are applied together at its end, or none if the block raises.

    >>> with zvf.edit("tracts.zarrvectors") as change:
    ...     change.delete([17, 42])
    """
    return Edit(url, options)
