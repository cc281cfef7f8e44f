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
    """Opens a store at a path or URL: `s3://`, `gs://`, `az://`, `https://`. See `Options` for what may be said beside it."""
    return Store(url, options)


class Store:
    """An open store: a snapshot of its documents. It pickles as its address and options; what was unpickled is opened by its first use."""

    def __init__(self, url: str | os.PathLike[str], options: Mapping[str, Any] | None = None, *, _open: bool = True) -> None:
        self._url = address(url)
        self._options = dict(options or {})
        self._place = absolute(self._url)
        self._opened = _zvf.open(self._url, access(self._options)) if _open else None
        self._info: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # What is unpickled is not opened: an exception then would end workers of multiprocessing.Pool, which starts others, forever.
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
        """What the store gets wrong without being unreadable, as far as it was read."""
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
        """Lowest and highest corner that the store states."""
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
        """A question, which is asked when its rows are. All conditions combine with *and*.

        `bbox` is the lowest and the highest corner, both inside, in world coordinates, or ranges of some axes: `{"x": (0, 10), "y": (5, None)}`, also as
        text, `"x=0:10,y=5:"`; `where` a condition on attributes, axes, objects and their groups, such as `"radius > 200 and x < 10 and length() > 40"`
        or `"group.weight > 2"`; `objects` ids, also a `range` or a text such as `"0-9,12"`, of which an id that no object has is an error unless `ignore_missing`; `groups` numbers or names. `select="objects"` brings whole objects of
        which any vertex fits, `"chunks"` whole chunks. `columns` are `position`, names of attributes, `attributes` for all of them,
        and on request `object_id`, `object_ids`, `chunk`, `row` and `fragment`.

        `sphere`, `near`, `polygon` (with `plane`) and `region` are other parts of space, and `touching`, `inside`, `starting` and `ending` select whole
        objects by how they lie to them: see `Place`.
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
        """All rows as a dataset of pyarrow, which DuckDB, Polars and DataFusion take as a table; of a question, with the terms of `query`."""
        return self.query(**terms).dataset()

    def scan_polars(self, **terms: Any) -> pl.LazyFrame:
        """All rows as a lazy frame of Polars, which does not need pyarrow; of a question, with the terms of `query`."""
        return self.query(**terms).scan_polars()

    async def aquery(self, **terms: Any) -> Answer:
        """The whole answer to a question, whose terms are those of `query`, for asyncio: another thread waits meanwhile."""
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
        """Whole objects by their ids, in that order, as flat arrays and offsets. `columns` are names of vertex attributes; without `links`
        those are not read."""
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

        `where` is a condition on objects, such as `"count() > 100 and object_id < 9"`; `sort` names columns, the least value first, after a minus sign the greatest:
        `["-vertices", "name"]`. Missing values come last, equal ones in the order of ids. Objects that are sorted fit the memory budget of the store.
        """
        keys = [sort] if isinstance(sort, str) else list(sort)
        return Table(self._store.objects(level, own_level_only, where, keys, limit))

    def __repr__(self) -> str:
        if self._opened is None:
            return f"<zvf.Store {self._url}, not open>"
        return f"<zvf.Store {self._url}: {self.kind}, levels {', '.join(map(str, self._store.levels))}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: facts, and a small picture."""
        from ._html import page

        return page(self)


def opened(url: str | os.PathLike[str] | Store, terms: dict[str, Any]) -> Store:
    """A store, or the one at an address, with those of `Options` that are among the terms of a question; they are taken out of these."""
    options = {name: terms.pop(name) for name in list(terms) if name in OPTIONS}
    if not isinstance(url, Store):
        return Store(url, options)
    if options:
        raise _zvf.MisuseError(f"found {', '.join(options)} beside an open store, expected a path or URL")
    return url


class Query:
    """A question to a store, which pickles. Nothing is read before its rows are asked for."""

    __slots__ = ("_asked", "store")

    def __init__(self, store: Store, asked: Mapping[str, Any]) -> None:
        self.store = store
        """The store that is asked."""
        self._asked = dict(asked)

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments of `Store.query`, as they were understood."""
        terms = {name: value for name, value in self._asked.items() if name != "place"}
        return {**terms, **dict(self._asked["place"])}

    def replace(self, **terms: Any) -> Query:
        """The same question with other terms, which are those of `Store.query`."""
        return self.store.query(**{**self.terms, **terms})

    def _elsewhere(self) -> dict[str, Any]:
        """The same question for a process in another working directory."""
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
        """The link table, read again on each access: its numbers count rows of the vertex table."""
        return Scan(self, 1)

    @property
    def objects(self) -> Scan:
        """The object table, read again on each access."""
        return Scan(self, 2)

    def read(self, *, links: bool = True, progress: Progress | None = None) -> Answer:
        """All tables in memory, read in one pass; without `links` the other two, in less time. `progress` is called with the number of vertices
        read so far; `True` shows a bar of tqdm."""
        answer = self._start((True, links, True))
        with _progress.shown(progress, so_far=True) as begin:
            tables = answer.collect(None if begin is None else begin("query", "vertices"))
        return Answer(tables, answer.summary() or {})

    async def aread(self, *, links: bool = True, progress: Progress | None = None) -> Answer:
        """As `read`, for asyncio: another thread waits meanwhile."""
        from asyncio import to_thread

        return await to_thread(self.read, links=links, progress=progress)

    def dataset(self) -> Dataset:
        """The vertices as a flat table for SQL, by pyarrow, which has to be installed: axes as float64, attributes, `object_id`, `chunk_x`…

        DuckDB, Polars (`scan_pyarrow_dataset`) and DataFusion (`register_dataset`) hand their conditions and columns to it.
        """
        from ._dataset import Dataset

        return Dataset(self)

    def scan_polars(self) -> pl.LazyFrame:
        """The same flat table as a lazy frame of Polars, which has to be installed: conditions and columns reach the store."""
        from ._polars import scan

        return scan(self)

    def plan(self) -> list[dict[str, Any]]:
        """What the query would read, a dictionary for each level: chunks, cells of each array, steps of requests, and about how many
        vertices and decoded bytes. Only documents are read.
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

        `columns` are names of axes and vertex attributes, `object.NAME` of attributes of objects, `count()` for their numbers of vertices; default: all.
        Quantiles are those of `numpy.quantile`, exact unless `rank_error` says by how many places their ranks may be wrong; `std` is that of a sample.
        `bins` is the largest number of bins of a histogram, at least 4; 0: none.
        """
        wanted = {
            "columns": None if columns is None else list(_names(columns)),
            "by": by,
            "bins": bins,
            "quantiles": [float(one) for one in quantiles],
        }
        sections: list[dict[str, Any]] = json.loads(self.store._store.stats(self._asked, wanted))
        for column in (column for section in sections for column in section["columns"]):
            # JSON has texts for NaN and the infinities.
            for name in ("min", "max", "sum", "mean", "std"):
                if isinstance(column.get(name), str):
                    column[name] = float(column[name])
            if "quantiles" in column:
                column["quantiles"] = [[probability, float(value)] for probability, value in column["quantiles"]]
        return sections

    def measure(self, means: Sequence[str] = ()) -> Table:
        """A row for each object with a vertex in the query: `object_id`, `points`, bounds, and by kind `length`, `tortuosity`, `branches`, `tips`, `strahler`,
        `faces`, `surface`, `volume`; and the means of these vertex attributes."""
        return Table(self.store._store.measure(self._asked, list(_names(means))))

    def save_measures(
        self, names: Sequence[str] | Mapping[str, str] | str, means: Sequence[str] = (), **options: Unpack[WriteOptions]
    ) -> dict[str, Any]:
        """Writes measures of the objects of the query as attributes of these objects, in one edit: columns of `measure` by name, or a mapping of such names to
        names of attributes. An attribute that is there is replaced if it has the type of the measure and its unit or none. An object that lacks a measure
        has no value then; objects outside of the query keep theirs. Returns what the edit did, with `objects`, the number of objects that were measured.
        """
        from ._write import edit

        if isinstance(names, str):
            names = [names]
        columns = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]
        with edit(self.store._place, **{**self.store._options, **options}) as change:
            store = Store(self.store._place, self.store._options)
            objects = change._edit.set_measures(store._store, self._asked, columns, list(_names(means)))
        return {**(change.result or {}), "objects": objects, "attributes": [name for _, name in columns]}

    def tail(self, rows: int = 10) -> Table:
        """The last rows of the vertex table. They fit the memory budget of the store; only the last pieces of the query are read."""
        return Table(self.store._store.tail(self._asked, _count("rows", rows)))

    def sample_rows(self, rows: int, seed: int = 0) -> Table:
        """Rows of the vertex table drawn at random, each with the same probability, in the order of the query; the same seed draws the same rows from the same
        store. The query is read once; the rows fit the memory budget of the store."""
        return Table(self.store._store.sample_rows(self._asked, _count("rows", rows), _count("seed", seed)))

    def splits(self, *, count: int | None = None, rows: int | None = None, bytes: int | None = None) -> list[Split]:
        """The query cut into pieces that any process can read, by their number or by about how many rows or decoded bytes each has.

        Each row of the answer is in exactly one of them. Without a size they have 64 MiB.
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
        """The vertices batch by batch: memory is that of a few batches, however large the answer is."""
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
"""Terms that need not be said."""


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise _zvf.MisuseError(f"columns: found the text {columns!r}, expected a list of names")
    return tuple(columns)


def _count(name: str, given: Any) -> int:
    """A whole number that is not negative."""
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
