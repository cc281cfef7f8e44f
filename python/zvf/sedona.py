"""Stores as tables of SedonaDB, with a geometry column. Needs sedonadb and pyarrow."""

from __future__ import annotations

import os
from json import dumps, loads
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from sedonadb.datasource import ExternalFormatSpec  # type: ignore[import-untyped]

from . import _zvf
from ._dataset import Stream
from ._split import asking, asks, cut
from ._store import _range, opened
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sedonadb.context import SedonaContext  # type: ignore[import-untyped]
    from sedonadb.dataframe import DataFrame  # type: ignore[import-untyped]

    from ._arrays import Array
    from ._store import Query, Store

__all__ = ["register"]

Geometry = Literal["points", "lines", "faces"]

GEOMETRY = "geometry"
"""The column of geometries, here and in answers of the extension."""

KINDS: dict[str, Geometry] = {"point_cloud": "points", "mesh": "faces"}
"""The default geometry of a kind; lines for all other kinds."""

POINT, LINE, POLYGON, LINES = 1, 2, 3, 5
"""Kinds of well-known binary; with a third coordinate 1000 more."""

WHOLE = ("touching", "inside", "starting", "ending", "passing")
"""Members of a query that select whole objects by their place."""

TESTS = ("bbox", "region", "where", "groups", "ignore_missing", *WHOLE)
"""Members of a piece that leave out rows, so that counts in documents are too large."""


def register(
    connection: SedonaContext,
    url: str | os.PathLike[str] | Store,
    name: str,
    *,
    geometry: Geometry | None = None,
    crs: str | None = "store",
    longest: float | None = None,
    count: int | None = None,
    rows: int | None = None,
    bytes: int | None = None,
    **terms: Any,
) -> DataFrame:
    """Registers a store, or a query of it, as the table `name` of a SedonaDB connection, and returns it as a dataframe.

    `geometry` defines the rows. With `"points"` a row is a vertex, with the columns of `Store.dataset`. With `"lines"` a row is an object with its
    attributes: the line through its vertices, or, for skeletons and graphs, all its links. With `"faces"` a row is a face of a mesh, a polygon, with
    its attributes and its object. The default depends on the kind of the store. The column `geometry` has the coordinates x, y and, with three axes
    of space, z.

    If a query has a spatial condition on `geometry` with constants (`ST_Intersects`, `ST_Within`, `ST_DWithin`, `ST_Distance(..) < d`, ..), only the
    chunks that intersect the box around the constants are read. For lines and faces this needs `longest`, an upper bound for the length of links or
    edges, since these may cross a box that contains no vertex. SedonaDB passes on no other conditions: give conditions on z and on attributes as
    `terms`. These are the terms of `Store.query`, such as `bbox` and `where`, and options of `zvf.open`.

    Points and lines are cut into partitions as by `Query.splits`, by `count`, `rows` or `bytes`. `crs` is the coordinate reference system: `"store"`
    for the one of the store, None for none, or a text such as `"EPSG:28992"`.
    """
    store = opened(url, terms)
    if "select" in terms or "limit" in terms:
        raise _zvf.MisuseError("select, limit: found one of them, expected none: `geometry` defines the rows, and LIMIT in SQL their number")
    geometry = geometry or KINDS.get(store.kind, "lines")
    sizes = (count, rows, bytes)
    table: _Source
    match geometry:
        case "points":
            if longest is not None:
                raise _zvf.MisuseError("longest: found it for points, expected it only for lines and faces")
            table = _Points(store.query(**terms), *sizes)
        case "lines":
            table = _Lines(_plain(store.query(**{**terms, "select": "objects"}), store.kind != "point_cloud", geometry), longest, *sizes)
        case "faces":
            if sizes != (None, None, None):
                raise _zvf.MisuseError("count, rows, bytes: found one of them for faces, expected none: faces join vertices of different splits, so they are one partition")
            table = _Faces(_plain(store.query(**terms), store.kind == "mesh", geometry), longest)
        case other:
            raise _zvf.MisuseError(f"geometry: found {other!r}, expected \"points\", \"lines\" or \"faces\"")
    # SedonaDB does not open these addresses; they are numbers of partitions.
    addresses = [f"file:///zvf/{number}" for number in range(table.parts)]
    frame: DataFrame = connection.read(addresses, format=_Format(table, crs))
    frame.to_view(name, overwrite=True)
    return frame


def _plain(query: Query, fits: bool, geometry: Geometry) -> Query:
    """The query with only points as columns, from which the geometries are made."""
    if not fits:
        raise _zvf.MisuseError(f"geometry: found {geometry!r} for a store of kind {query.store.kind}, which has none")
    if query.terms["columns"] is not None:
        raise _zvf.MisuseError(f"columns: found some for {geometry}, expected none: they are columns of vertices")
    return query.replace(columns=[GEOMETRY])


class _Source(Protocol):
    """A table: its columns with the geometry, and the rows of each partition."""

    schema: pa.Schema
    parts: int

    def count(self, part: int) -> int | None:
        """The number of rows of a partition from documents; None if it is unknown."""

    def read(self, part: int, names: Sequence[str], box: _Box | None) -> pa.RecordBatchReader:
        """Reads columns of a partition. Rows whose geometries do not intersect the box may be left out."""


class _Format(ExternalFormatSpec):  # type: ignore[misc]
    """The table for SedonaDB: a file format, in which each file is a partition."""

    list_single_object = True

    def __init__(self, table: _Source, crs: str | None) -> None:
        self._table = table
        schema = table.schema
        at = schema.get_field_index(GEOMETRY)
        field = schema.field(at)
        self._axes: list[str | None] = loads(field.metadata[b"zvf.coordinates"])
        metadata = {b"ARROW:extension:name": b"geoarrow.wkb", b"ARROW:extension:metadata": field.metadata[b"ARROW:extension:metadata"]}
        if crs != "store":
            metadata[b"ARROW:extension:metadata"] = dumps({} if crs is None else {"crs": crs}).encode()
        self._schema: pa.Schema = schema.set(at, field.with_metadata(metadata))

    def with_options(self, options: Any) -> _Format:
        if options:
            raise _zvf.MisuseError(f"options: found {', '.join(options)}, expected none: give them to zvf.sedona.register")
        return self

    def infer_schema(self, src: Any) -> pa.Schema:
        return self._schema

    def open_reader(self, args: Any) -> pa.RecordBatchReader:
        part = int(args.src.to_url().rsplit("/", 1)[1])
        schema = self._schema
        if args.file_projection is not None:
            schema = pa.schema([schema.field(at) for at in args.file_projection])
        if len(schema) == 0 and args.filter is None and (rows := self._table.count(part)) is not None:
            empty = pa.Array.from_buffers(pa.struct([]), rows, [None])
            return pa.RecordBatchReader.from_batches(schema, [pa.RecordBatch.from_struct_array(empty)])
        box = None if args.filter is None else self._box(args.filter.bounding_box(GEOMETRY))
        return self._table.read(part, schema.names, box).cast(schema)

    def _box(self, found: tuple[float, float, float, float] | None) -> _Box | None:
        """The box of a condition; None if it excludes nothing, or may wrap around (such as at longitude 180)."""
        x, y = self._axes[:2]
        if found is None or x is None or y is None or not (found[0] <= found[2] and found[1] <= found[3]):
            return None
        return _Box((x, y), found)


class _Box:
    """Ranges of two axes."""

    def __init__(self, axes: tuple[str, str], corners: tuple[float, float, float, float]) -> None:
        self._axes = axes
        self._corners = corners

    def text(self, more: float = 0.0) -> str:
        """The box, enlarged by a distance, as a region of a query."""
        ranges = []
        for axis, low, high in zip(self._axes, self._corners[:2], self._corners[2:], strict=True):
            # SedonaDB rounds when it compares distances, and so does this addition to a corner.
            around = more + 8 * float(np.finfo(float).eps) * (max(abs(low), abs(high)) + more)
            ranges.append(_range(axis, (low - around, high + around)))
        return f"box({','.join(ranges)})"


class _Points:
    """A row for each vertex: the flat table of the query, after the geometry."""

    def __init__(self, query: Query, count: int | None, rows: int | None, nbytes: int | None) -> None:
        self._store = query.store
        flat: pa.Schema = pa.schema(self._store._store.flat(query._asked).schema())
        if GEOMETRY in flat.names:
            raise _zvf.MisuseError("found an attribute named geometry, which is the name of the column of points: select other attributes with `columns`")
        self._texts = [split.to_json() for split in cut(query, count, rows, nbytes)]
        self.parts = len(self._texts)
        vertices, _, _ = _schemas(query.replace(columns=[GEOMETRY]))
        self.schema = pa.schema([vertices.field(GEOMETRY), *flat])
        asked = asks(self._texts[0])
        level = next(level for level in self._store.info["levels"] if level["level"] == query.terms["level"])
        # Documents state the number of rows of a level, but not of the chunks of a part.
        plain = "objects" not in asked and not any(name in asked for name in TESTS)
        whole = level["refinement"] != "add" or "own_level_only" in asked
        self._rows: int | None = level["vertices"] if plain and whole and level["vertices"] > 0 else None

    def count(self, part: int) -> int | None:
        return self._rows if part == 0 or self._rows is None else 0

    def read(self, part: int, names: Sequence[str], box: _Box | None) -> pa.RecordBatchReader:
        text = self._texts[part]
        asked = asks(text)
        # If whole objects or chunks are selected, a row outside of the box may belong to one with a row inside.
        if box is not None and asked.get("select", "vertices") == "vertices" and not any(name in asked for name in WHOLE):
            text = asking(text, {**asked, "region": _both(asked.get("region"), box.text())})
        return pa.RecordBatchReader.from_stream(Stream(self._store._store.flat_split(text, list(names))))


class _Lines:
    """A row for each object: its attributes, and the line through its vertices, or all its links."""

    def __init__(self, query: Query, longest: float | None, count: int | None, rows: int | None, nbytes: int | None) -> None:
        self._store = query.store
        self._longest = _length(longest)
        self._texts = [split.to_json() for split in cut(query, count, rows, nbytes)]
        self.parts = len(self._texts)
        vertices, _, objects = _schemas(query)
        self.schema = pa.schema([vertices.field(GEOMETRY), *_attributes(objects)])
        self._by_links = self._store.kind in ("graph", "skeleton")

    def count(self, part: int) -> int | None:
        asked = asks(self._texts[part])
        if any(name in asked for name in TESTS):
            return None
        # An id, or a range of existing ids such as "3-5".
        ends = [(item, item) if isinstance(item, int) else _ends(item) for item in asked["objects"]]
        return sum(last - first + 1 for first, last in ends)

    def read(self, part: int, names: Sequence[str], box: _Box | None) -> pa.RecordBatchReader:
        asked = asks(self._texts[part])
        asked["tables"] = ["vertices", "links", "objects"] if self._by_links else ["vertices", "objects"]
        if GEOMETRY not in names:
            asked["tables"] = ["objects"]
        if box is not None and self._longest is not None:
            asked["passing"] = _both(asked.get("passing"), f"touching({box.text(self._longest)})")
        vertices, links, objects = self._store._store.run_split(asking(self._texts[part], asked), None).collect()
        found = _plain_table(objects)
        if GEOMETRY not in names:
            return found.select(list(names)).to_reader()
        places, known = _coordinates(vertices)
        start, length = (found[name].to_numpy().astype(np.int64) for name in ("start", "length"))
        ends = _links(links) if self._by_links else _chains(start, length)
        if box is not None and self._longest is not None:
            _check(places, ends, self._longest)
        made = _of_links(places, start, length, ends) if self._by_links else _through(places, start, length)
        valid = np.concatenate(([0], np.cumsum(~known)))
        column = _binary(*made, valid[start + length] == valid[start])
        return _with(found, column, self.schema, names)


class _Faces:
    """A row for each face: its attributes, the object of its first vertex, and the polygon around it."""

    parts = 1

    def __init__(self, query: Query, longest: float | None) -> None:
        self._longest = _length(longest)
        level = next(level for level in query.store.info["levels"] if level["level"] == query.terms["level"])
        self._owned = level["objects"] is not None
        self._query = query.replace(columns=[GEOMETRY, "object_id"]) if self._owned else query
        vertices, links, _ = _schemas(self._query)
        owner = [vertices.field("object_id")] if self._owned else []
        self.schema = pa.schema([vertices.field(GEOMETRY), *owner, *_attributes(links)])
        # Edges between any two vertices of a face.
        self._edges = max(1, links.field("vertices").type.list_size // 2)

    def count(self, part: int) -> int | None:
        return None

    def read(self, part: int, names: Sequence[str], box: _Box | None) -> pa.RecordBatchReader:
        query, terms, longest = self._query, self._query.terms, None
        if box is not None and self._longest is not None and not any(terms.get(name) for name in WHOLE):
            # All vertices of a triangle that intersects the box are at most the length of an edge away from it, and half way around larger faces.
            longest = self._longest
            query = query.replace(region=_both(terms.get("region"), box.text(longest * self._edges)))
        vertices, links, _ = query._start((True, True, False)).collect()
        found, ends = _plain_table(links), _links(links)
        if self._owned:
            owners = pa.table(Table(vertices))["object_id"].combine_chunks()
            found = found.append_column("object_id", owners.take(pa.array(ends[:, 0])))
        places, known = _coordinates(vertices)
        if longest is not None:
            _check(places, np.stack([np.roll(ends, 1, axis=1), ends], axis=2).reshape(-1, 2), longest)
        column = _binary(*_around(places, ends), np.asarray(known[ends].all(axis=1)))
        return _with(found, column, self.schema, names)


def _both(one: str | None, other: str) -> str:
    return other if one is None else f"({one}) and {other}"


def _ends(text: str) -> tuple[int, int]:
    """The ends of a range of ids, which may be negative."""
    first, last = text[1:].split("-", 1)
    return int(text[0] + first), int(last)


def _length(longest: float | None) -> float | None:
    if longest is None:
        return None
    if not 0 <= longest < float("inf"):
        raise _zvf.MisuseError(f"longest: found {longest}, expected a length in units of the store")
    return float(longest)


def _schemas(query: Query) -> tuple[pa.Schema, pa.Schema, pa.Schema]:
    """The columns of vertices, links and objects; none for a table that the answer lacks."""
    answer = query.replace(limit=1)._start((True, True, True))
    empty = [answer.empty(table) for table in range(3)]
    answer.close()
    vertices, links, objects = (pa.schema([]) if table is None else pa.schema(Table(table)) for table in empty)
    return vertices, links, objects


def _attributes(schema: pa.Schema) -> list[pa.Field]:
    """The columns of a table without those that state the place of a row, with dictionaries replaced by texts."""
    return [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
        if field.name != "vertices" and (field.metadata or {}).get(b"zvf.column") != b"place"
    ]


def _plain_table(table: _zvf.Table | None) -> pa.Table:
    if table is None:
        raise _zvf.BugError("an answer without a requested table; this is a defect of zvf, please report it")
    found = pa.table(Table(table))
    for at, field in enumerate(found.schema):
        if pa.types.is_dictionary(field.type):
            found = found.set_column(at, field.with_type(field.type.value_type), found.column(at).cast(field.type.value_type))
    return found


def _with(found: pa.Table, geometry: pa.Array, schema: pa.Schema, names: Sequence[str]) -> pa.RecordBatchReader:
    table = found.append_column(schema.field(GEOMETRY), geometry)
    return table.select(list(names)).to_reader(max_chunksize=65_536)


def _coordinates(vertices: _zvf.Table | None) -> tuple[Array, Array]:
    """The coordinates of the points of a table, and which of them are not null."""
    table = _plain_table(vertices)
    width = 5 + 8 * len(loads(table.field(GEOMETRY).metadata[b"zvf.coordinates"]))
    rows = np.empty((len(table), width), dtype=np.uint8)
    known: Array = np.ones(len(table), dtype=bool)
    at = 0
    for points in table[GEOMETRY].chunks:
        _, offsets, data = points.buffers()
        first, last = (int(np.frombuffer(offsets, np.int32)[place]) for place in (points.offset, points.offset + len(points)))
        # Null points also have the bytes of a point.
        rows[at : at + len(points)] = np.frombuffer(data, np.uint8)[first:last].reshape(len(points), width)
        known[at : at + len(points)] = np.asarray(points.is_valid())
        at += len(points)
    places: Array = np.ascontiguousarray(rows[:, 5:]).view("<f8")
    return places, known


def _links(links: _zvf.Table | None) -> Array:
    """The ends of links, as rows of the vertex table."""
    ends = _plain_table(links)["vertices"].combine_chunks()
    found: Array = ends.flatten().to_numpy().astype(np.int64).reshape(len(ends), ends.type.list_size)
    return found


def _chains(start: Array, length: Array) -> Array:
    """The links of lines: each vertex of an object and the next one."""
    rows = np.arange(int(length.sum()))
    last = (start + length - 1)[length > 0]
    first = np.delete(rows, last)
    found: Array = np.stack([first, first + 1], axis=1)
    return found


def _check(places: Array, ends: Array, longest: float) -> None:
    """Compares `longest` with the lengths of the links that were read."""
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt(((places[ends[:, 0]] - places[ends[:, 1]]) ** 2).sum(axis=1))
    if (found := float(np.nanmax(lengths, initial=0))) > longest * (1 + 1e-12):
        raise _zvf.MisuseError(f"longest: found a link of length {found}, expected at most {longest}")


Geometries = tuple["Array", "Array", "Array", "Array"]
"""Heads of geometries in nine bytes each, and how many of these each geometry uses; the bytes after the heads, and their number for each geometry."""


def _heads(kinds: Array, counts: Array) -> Array:
    heads: Array = np.zeros(len(kinds), dtype=[("order", "u1"), ("kind", "<u4"), ("count", "<u4")])
    heads["order"], heads["kind"], heads["count"] = 1, kinds, counts
    return heads.view(np.uint8).reshape(len(kinds), 9)


def _code(kind: int, places: Array) -> int:
    return kind + 1000 if places.shape[1] == 3 else kind


def _through(places: Array, start: Array, length: Array) -> Geometries:
    """The line through the vertices of each object, which are consecutive rows; a single vertex is a point."""
    if not np.array_equal(np.cumsum(length) - length, start):
        raise _zvf.BugError("the rows of objects of an answer are not consecutive; this is a defect of zvf, please report it")
    single = length == 1
    kinds = np.where(single, _code(POINT, places), _code(LINE, places))
    return _heads(kinds, length), np.where(single, 5, 9), places.reshape(-1).view(np.uint8), length * places.shape[1] * 8


def _of_links(places: Array, start: Array, length: Array, ends: Array) -> Geometries:
    """The lines along the links of each object. Links between objects belong to none."""
    owner = np.searchsorted(start, ends, side="right") - 1
    ends, owner = (kept[owner[:, 0] == owner[:, 1]] for kept in (ends, owner[:, 0]))
    order = np.argsort(owner, kind="stable")
    lines = np.zeros(len(ends), dtype=[("head", "u1", (9,)), ("ends", "<f8", (2, places.shape[1]))])
    lines["head"] = _heads(np.full(len(ends), _code(LINE, places)), np.full(len(ends), 2))
    lines["ends"] = places[ends[order]]
    counts = np.bincount(owner, minlength=len(length))
    heads = _heads(np.full(len(length), _code(LINES, places)), counts)
    return heads, np.full(len(length), 9), lines.view(np.uint8), counts * lines.itemsize


def _around(places: Array, ends: Array) -> Geometries:
    """The polygon around each face."""
    ring = np.concatenate([ends, ends[:, :1]], axis=1)
    faces = np.zeros(len(ends), dtype=[("count", "<u4"), ("ring", "<f8", (ring.shape[1], places.shape[1]))])
    faces["count"], faces["ring"] = ring.shape[1], places[ring]
    heads = _heads(np.full(len(ends), _code(POLYGON, places)), np.ones(len(ends)))
    return heads, np.full(len(ends), 9), faces.view(np.uint8), np.full(len(ends), faces.itemsize)


def _binary(heads: Array, head: Array, body: Array, sizes: Array, known: Array) -> pa.Array:
    """The geometries as a column; unknown ones are null."""
    offsets = np.concatenate(([0], np.cumsum(head + sizes)))
    if offsets[-1] > np.iinfo(np.int32).max:
        raise _zvf.LimitError(f"found {offsets[-1]} bytes of geometry in one partition, expected at most {np.iinfo(np.int32).max}: request more partitions (`count`)")
    data = np.empty(offsets[-1], dtype=np.uint8)
    used = np.arange(9) < head[:, None]
    places = (offsets[:-1, None] + np.arange(9))[used]
    data[places] = heads[used]
    rest = np.ones(len(data), dtype=bool)
    rest[places] = False
    data[rest] = body
    bits = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(head), [bits, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)])
