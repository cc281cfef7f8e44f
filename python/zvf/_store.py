"""Stores and queries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _progress, _region, _zvf
from ._options import absolute, access, address, document
from ._table import TABLES, Answer, ObjectArrays, Scan, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    from numpy.typing import ArrayLike

    from ._arrays import Array
    from ._dataset import Dataset
    from ._options import Options, Progress, WriteOptions
    from ._region import Place
    from ._split import Split

    Box = tuple[Sequence[float], Sequence[float]]

Select = Literal["vertices", "objects", "chunks"]

class Level(NamedTuple):
    """One level of a store: 0 is full resolution."""

    number: int
    vertices: int
    chunks: int
    objects: int | None
    chunk_shape: tuple[float, ...]
    vertex_attributes: tuple[str, ...]
    object_attributes: tuple[str, ...]
    groups: tuple[str, ...] | None


def open(url: str | os.PathLike[str], **options: Unpack[Options]) -> Store:
    """Opens a store at a path or URL: `s3://`, `gs://`, `az://`, `https://`. The other arguments are `Options`."""
    return Store(url, options)


class Store:
    """An open store: a snapshot of its documents. It can be pickled, as its address and options; an unpickled store is opened at its first use."""

    def __init__(self, url: str | os.PathLike[str], options: Mapping[str, Any] | None = None, *, _open: bool = True) -> None:
        self._url = address(url)
        self._options = dict(options or {})
        self._place = absolute(self._url)
        self._opened = _zvf.open(self._url, access(self._options)) if _open else None
        self._info: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling does not open the store: an exception there would end workers of multiprocessing.Pool, which would start new ones forever.
        return (partial(Store, _open=False), (self._place, self._options))

    @property
    def _store(self) -> _zvf.Store:
        if self._opened is None:
            self._opened = _zvf.open(self._url, access(self._options))
        return self._opened

    @property
    def url(self) -> str:
        """The address."""
        return self._url

    @property
    def kind(self) -> str:
        """The kind of geometry: `point_cloud`, `line`, `polyline`, `streamline`, `graph`, `skeleton` or `mesh`."""
        return self._store.kind

    @property
    def warnings(self) -> list[str]:
        """Defects of the store that do not prevent reading, as found so far."""
        return self._store.warnings

    @property
    def info(self) -> dict[str, Any]:
        """The contents of the store, as `zvf info --json` prints them: version, kind, axes with units, bounds, levels with arrays and counts."""
        if self._info is None:
            self._info = document(self._store.info())
        return self._info

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels, finest first."""
        return tuple(
            Level(
                number=level["level"],
                vertices=level["vertices"],
                chunks=level["chunks"],
                objects=level["objects"],
                chunk_shape=tuple(level["chunk_shape"]),
                vertex_attributes=tuple(level["vertex_attributes"]),
                object_attributes=tuple(level["object_attributes"]),
                groups=None if level["groups"] is None else tuple(level["groups"]),
            )
            for level in self.info["levels"]
        )

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis["name"] for axis in self.info["axes"])

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lowest and highest corner of the positions, as the store states them."""
        low, high = self.info["bounds"]
        return tuple(low), tuple(high)

    def query(
        self,
        *,
        bbox: Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None = None,
        where: str | None = None,
        objects: ArrayLike | range | str | None = None,
        groups: Sequence[int | str] | int | str | None = None,
        level: int = 0,
        select: Select = "vertices",
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        own_level_only: bool = False,
        ignore_missing: bool = False,
        batch_rows: int = 65_536,
        **place: Unpack[Place],
    ) -> Query:
        """A query, which runs when its rows are read. All conditions combine with *and*.

        `bbox` is the lowest and the highest corner, inclusive, in world coordinates, or ranges of some axes: `{"x": (0, 10), "y": (5, None)}`, also
        as text, `"x=0:10,y=5:"`. `where` is a condition on attributes, axes, objects and their groups, such as `"radius > 200 and x < 10 and length()
        > 40"` or `"group.weight > 2"`. `objects` are ids, also a `range` or a text such as `"0-9,12"`; an id that no object has is an error unless
        `ignore_missing` is set. `groups` are numbers or names. `select="objects"` returns whole objects with a matching vertex, and `"chunks"` whole
        chunks. `columns` are `position`, names of attributes, `attributes` for all of them, and on request `object_id`, `object_ids`, `chunk`, `row`
        and `fragment`.

        `sphere`, `near`, `polygon` (with `plane`), `region` and others are further regions, and `touching`, `inside`, `starting` and `ending` select
        whole objects by their place in these: see `Place`.
        """
        named: Any = groups
        if isinstance(groups, str) or not hasattr(groups, "__iter__"):
            named = [groups]
        if where is not None and not isinstance(where, str):
            raise _zvf.MisuseError(f"where: found {where!r}, expected a text")
        return Query(
            self,
            {
                "bbox": None if bbox is None else _box(bbox),
                "place": _region.members(place),
                "where": where,
                "objects": None if objects is None else _arrays.selected_ids(objects),
                "groups": None if groups is None else [one if isinstance(one, str) else _count("groups", one) for one in named],
                "level": _count("level", level),
                "select": select,
                "columns": None if columns is None else _names(columns),
                "limit": None if limit is None else _count("limit", limit),
                "own_level_only": own_level_only,
                "ignore_missing": ignore_missing,
                "batch_rows": _count("batch_rows", batch_rows),
            },
        )

    def dataset(self, **terms: Any) -> Dataset:
        """All rows, or those of a query with these terms of `query`, as a pyarrow dataset, which DuckDB, Polars and DataFusion read as a table."""
        return self.query(**terms).dataset()

    def scan_polars(self, **terms: Any) -> pl.LazyFrame:
        """All rows, or those of a query with these terms of `query`, as a lazy frame of Polars. Does not need pyarrow."""
        return self.query(**terms).scan_polars()

    async def aquery(self, **terms: Any) -> Answer:
        """The whole answer to a query with the terms of `query`, for asyncio: another thread waits for it."""
        return await self.query(**terms).aread()

    def get(
        self,
        ids: ArrayLike | range | str,
        *,
        level: int = 0,
        columns: Sequence[str] | None = None,
        links: bool = True,
        ignore_missing: bool = False,
    ) -> ObjectArrays:
        """Whole objects by their ids, in the given order, as flat arrays and offsets. `columns` are names of vertex attributes; links are read only
        with `links`."""
        named = None if columns is None else (f"attribute:{name}" for name in _names(columns) if name != "position")
        wanted = None if named is None else ("position", *named)
        query = self.query(objects=ids, level=level, columns=wanted, ignore_missing=ignore_missing)
        return ObjectArrays(query.read(links=links), self, named=columns is not None)

    def objects(
        self,
        *,
        where: str | None = None,
        sort: Sequence[str] | str = (),
        limit: int | None = None,
        level: int = 0,
        own_level_only: bool = False,
    ) -> Table:
        """The objects of a level, a row for each: `object_id`, `vertices`, `chunks`, `fragments`, and their attributes.

        `where` is a condition on objects, such as `"count() > 100 and object_id < 9"`; `sort` names columns to sort by, ascending, or descending
        after a minus sign: `["-vertices", "name"]`. Missing values come last, and equal ones are in the order of ids. Sorted objects must fit into
        the memory budget of the store.
        """
        keys = [sort] if isinstance(sort, str) else list(sort)
        level = _count("level", level)
        limit = None if limit is None else _count("limit", limit)
        return Table(self._store.objects(level, own_level_only, where, keys, limit))

    def __repr__(self) -> str:
        if self._opened is None:
            return f"<zvf.Store {self._url}, not open>"
        return f"<zvf.Store {self._url}: {self.kind}, levels {', '.join(map(str, self._store.levels))}>"

    def _repr_html_(self) -> str:
        """The HTML for notebooks: facts, and a small picture."""
        from ._html import page

        return page(self)


def opened(url: str | os.PathLike[str] | Store, terms: dict[str, Any]) -> Store:
    """The store itself, or the store at an address. Options are removed from the terms of the query and used to open it."""
    options = {name: terms.pop(name) for name in list(terms) if name in OPTIONS}
    if not isinstance(url, Store):
        return Store(url, options)
    if options:
        raise _zvf.MisuseError(f"found {', '.join(options)} beside an open store, expected a path or URL")
    return url


class Query:
    """A query of a store, which can be pickled. Nothing is read before its rows are requested."""

    __slots__ = ("_asked", "store")

    def __init__(self, store: Store, asked: Mapping[str, Any]) -> None:
        self.store = store
        """The store that is queried."""
        self._asked = dict(asked)

    @property
    def terms(self) -> dict[str, Any]:
        """The parsed arguments of `Store.query`."""
        terms = {name: value for name, value in self._asked.items() if name != "place"}
        return {**terms, **dict(self._asked["place"])}

    def replace(self, **terms: Any) -> Query:
        """The same query with some terms of `Store.query` replaced."""
        return self.store.query(**{**self.terms, **terms})

    def _elsewhere(self) -> dict[str, Any]:
        """The same query for a process in another working directory."""
        return {**self._asked, "place": _region.absolute_members(self._asked["place"])}

    def __reduce__(self) -> tuple[Any, ...]:
        return (Query, (self.store, self._elsewhere()))

    def _start(self, wanted: tuple[bool, bool, bool]) -> _zvf.Answer:
        return self.store._store.query(self._asked, wanted)

    @property
    def vertices(self) -> Scan:
        """The vertex table, read again on each access."""
        return Scan(self, 0)

    @property
    def links(self) -> Scan:
        """The link table, read again on each access: its numbers are rows of the vertex table."""
        return Scan(self, 1)

    @property
    def objects(self) -> Scan:
        """The object table, read again on each access."""
        return Scan(self, 2)

    def read(self, *, links: bool = True, progress: Progress | None = None) -> Answer:
        """Reads all tables into memory in one pass; with `links=False` only the vertices and objects, which is faster. `progress` is called with the
        number of vertices read so far; `True` shows a bar of tqdm."""
        answer = self._start((True, links, True))
        with _progress.shown(progress, so_far=True) as begin:
            tables = answer.collect(None if begin is None else begin("query", "vertices"))
        return Answer(tables, answer.summary() or {})

    async def aread(self, *, links: bool = True, progress: Progress | None = None) -> Answer:
        """As `read`, for asyncio: another thread waits for it."""
        from asyncio import to_thread

        return await to_thread(self.read, links=links, progress=progress)

    def dataset(self) -> Dataset:
        """The vertices as a flat table for SQL, a pyarrow dataset: axes as float64, attributes, `object_id`, `chunk_x`… Needs pyarrow.

        DuckDB, Polars (`scan_pyarrow_dataset`) and DataFusion (`register_dataset`) pass their conditions and columns to it.
        """
        from ._dataset import Dataset

        return Dataset(self)

    def scan_polars(self) -> pl.LazyFrame:
        """The same flat table as a lazy frame of Polars, which passes conditions and columns to the store. Needs Polars."""
        from ._polars import scan

        return scan(self)

    def plan(self) -> list[dict[str, Any]]:
        """The reads that the query would do, a dictionary for each level: chunks, cells of each array, steps of requests, and approximate numbers of
        vertices and decoded bytes. Reads only documents.
        """
        return list(json.loads(self.store._store.plan(self._asked)))

    def stats(
        self,
        columns: Sequence[str] | None = None,
        *,
        by: Literal["object", "group"] | None = None,
        bins: int = 32,
        quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
    ) -> list[dict[str, Any]]:
        """Statistics of the rows, in one pass and bounded memory: one dictionary, or one for each object or group, with a list `columns`.

        `columns` are names of axes and vertex attributes, `object.NAME` of attributes of objects, `count()` for their numbers of vertices; default:
        all. Quantiles are computed as by `numpy.quantile`. They are exact, unless `rank_error` states by how many places their ranks may be wrong.
        `std` is the sample standard deviation. `bins` is the largest number of bins of a histogram, at least 4; 0: none.
        """
        wanted = {
            "columns": None if columns is None else list(_names(columns)),
            "by": by,
            "bins": bins,
            "quantiles": [float(one) for one in quantiles],
        }
        sections: list[dict[str, Any]] = json.loads(self.store._store.stats(self._asked, wanted))
        for column in (column for section in sections for column in section["columns"]):
            # In JSON, NaN and the infinities are texts.
            for name in ("min", "max", "sum", "mean", "std"):
                if isinstance(column.get(name), str):
                    column[name] = float(column[name])
            if "quantiles" in column:
                column["quantiles"] = [[probability, float(value)] for probability, value in column["quantiles"]]
        return sections

    def measure(self, means: Sequence[str] = ()) -> Table:
        """A row for each object with a vertex in the query: `object_id`, `points`, bounds, depending on the kind `length`, `tortuosity`, `branches`,
        `tips`, `strahler`, `faces`, `surface`, `volume`, and the means of the given vertex attributes."""
        return Table(self.store._store.measure(self._asked, list(_names(means))))

    def save_measures(
        self, names: Sequence[str] | Mapping[str, str] | str, means: Sequence[str] = (), **options: Unpack[WriteOptions]
    ) -> dict[str, Any]:
        """Writes measures of the objects of the query as attributes of these objects, in one edit. The measures are columns of `measure`, as a list
        of names or as a mapping from these to names of attributes. An existing attribute is replaced if it has the type of the measure, and its unit
        or none. An object without a measure loses its value; objects outside of the query keep theirs. Returns the report of the edit, with the
        number of measured objects as `objects`.
        """
        from ._write import edit

        if isinstance(names, str):
            names = [names]
        columns = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]
        own = {name: value for name, value in self.store._options.items() if name != "trace_io"}
        with edit(self.store._place, **{**own, **options}) as change:
            store = Store(self.store._place, self.store._options)
            objects = change._edit.set_measures(store._store, self._asked, columns, list(_names(means)))
        return {**(change.result or {}), "objects": objects, "attributes": [name for _, name in columns]}

    def tail(self, rows: int = 10) -> Table:
        """The last rows of the vertex table. They must fit into the memory budget of the store. Only the last pieces of the query are read."""
        return Table(self.store._store.tail(self._asked, _count("rows", rows)))

    def sample_rows(self, rows: int, seed: int = 0) -> Table:
        """Rows of the vertex table drawn at random, each with the same probability, in the order of the query; the same seed draws the same rows from
        the same store. The query is read once. The rows must fit into the memory budget of the store."""
        return Table(self.store._store.sample_rows(self._asked, _count("rows", rows), _count("seed", seed)))

    def splits(self, *, count: int | None = None, rows: int | None = None, bytes: int | None = None) -> list[Split]:
        """Cuts the query into pieces that any process can read: a number of pieces, or pieces of about this many rows or decoded bytes.

        Each row of the answer is in exactly one piece. By default a piece has about 64 MiB.
        """
        from ._split import cut

        return cut(self, count, rows, bytes)

    def batches(self) -> Iterator[tuple[str, Table]]:
        """All tables batch by batch in one pass, with the names of the tables: vertices, then links, then objects."""
        answer = self._start((True, True, True))
        try:
            while (step := answer.next()) is not None:
                yield TABLES[step[0]], Table(step[1])
        finally:
            answer.close()

    def __iter__(self) -> Iterator[Table]:
        """The vertices batch by batch. Only a few batches are in memory, however large the answer is."""
        return iter(self.vertices)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The vertices as an Arrow stream."""
        return self.vertices.__arrow_c_stream__(requested_schema)

    def to_numpy(self, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """The columns of the vertices as arrays, by name."""
        return self.vertices.to_numpy(columns)

    def to_pandas(self) -> pd.DataFrame:
        """The vertices as a DataFrame of pandas."""
        return self.vertices.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The vertices as a DataFrame of Polars."""
        return self.vertices.to_polars()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Query):
            return NotImplemented
        own, its = self.store, other.store
        return (own._place, own._options, self._elsewhere()) == (its._place, its._options, other._elsewhere())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        terms = []
        for name, value in self._asked.items():
            if value != DEFAULTS.get(name):
                text = f"{len(value)} ids" if name == "objects" and len(value) > 8 else repr(value)
                terms.append(f", {name}={text}")
        return f"<zvf.Query of {self.store.url}{''.join(terms)}>"


OPTIONS = ("anonymous", "concurrency", "retries", "timeout", "verify", "memory_budget", "storage_options", "trace_io")
"""Members of `Options`."""

DEFAULTS = {"level": 0, "place": (), "select": "vertices", "own_level_only": False, "ignore_missing": False, "batch_rows": 65_536}
"""Terms with a default."""


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise _zvf.MisuseError(f"columns: found the text {columns!r}, expected a list of names")
    return tuple(columns)


def _count(name: str, given: Any) -> int:
    """Checks that an argument is an integer of 0 or more."""
    try:
        count = index(given)
    except TypeError:
        raise _zvf.MisuseError(f"{name}: found {given!r}, expected a whole number that is not negative") from None
    if not 0 <= count < 1 << 64:
        raise _zvf.MisuseError(f"{name}: found {count}, expected a whole number that is not negative")
    return count


def _box(bbox: Any) -> tuple[tuple[float, ...], tuple[float, ...]] | str:
    if isinstance(bbox, str):
        return bbox
    if isinstance(bbox, Mapping):
        if not bbox:
            raise _zvf.MisuseError("bbox: found {}, expected ranges of axes: {'x': (0, 10), 'y': (5, None)}")
        return ",".join(_range(axis, ends) for axis, ends in bbox.items())
    try:
        low, high = bbox
        return tuple(map(float, low)), tuple(map(float, high))
    except (TypeError, ValueError):
        raise _zvf.MisuseError(f"bbox: found {bbox!r}, expected the lowest and the highest corner: ((x, y, z), (x, y, z)), or ranges of axes: {{'x': (0, 10), 'y': (5, None)}}") from None


def _range(axis: Any, ends: Any) -> str:
    try:
        low, high = ("" if end is None else repr(float(end)) for end in ends)
    except (TypeError, ValueError):
        raise _zvf.MisuseError(f"bbox: found {axis!r}: {ends!r}, expected an axis with its lower and upper end, or None for no end") from None
    name = str(axis).replace("`", "``")
    return f"`{name}`={low}:{high}"
