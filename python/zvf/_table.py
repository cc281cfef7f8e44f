"""Tables of answers, in memory or read on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from . import _arrays, _zvf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl

    from ._arrays import Array
    from ._store import Query, Store

TABLES = ("vertices", "links", "objects")


class _Source(ABC):
    """Rows that can be passed to other packages."""

    @abstractmethod
    def read(self) -> Table:
        """All rows, in memory."""

    @abstractmethod
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow stream, which pyarrow, Polars, DuckDB and others read."""

    def _store_url(self) -> str | None:
        """The address of the store of these rows, if it is known."""
        return None

    def to_numpy(self, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """The columns as arrays, by name.

        Numbers are read-only views without a copy if the table has one batch. Texts are arrays of objects, with None for missing ones. Missing floats
        are NaN, and other columns with missing values are masked arrays.
        """
        return _arrays.to_numpy(self.read()._table, columns)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame. Needs pandas and pyarrow."""
        import pyarrow  # type: ignore[import-untyped]

        frame: pd.DataFrame = pyarrow.table(self.read()).to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame. Needs Polars."""
        import polars

        return polars.DataFrame(self.read())


class Table(_Source):
    """Rows in memory: record batches of one schema."""

    __slots__ = ("_table",)

    def __init__(self, source: object) -> None:
        """Takes the rows of an Arrow table or stream of any package."""
        self._table = source if isinstance(source, _zvf.Table) else _zvf.Table.of_stream(source)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    @property
    def column_types(self) -> dict[str, str]:
        """Arrow types of the columns, by name."""
        return dict(zip(self._table.column_names, self._table.column_types, strict=True))

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the schema: `zvf.axes`, `zvf.units`, `zvf.kind`, `zvf.level`, `zvf.version`."""
        return self._table.metadata

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._table.num_rows

    @property
    def nbytes(self) -> int:
        """Bytes of the batches in memory."""
        return self._table.nbytes

    def __len__(self) -> int:
        return self._table.num_rows

    def __iter__(self) -> Iterator[Table]:
        """The batches, each as a table."""
        for at in range(self._table.num_batches):
            yield Table(self._table.batch(at))

    def __getitem__(self, column: str) -> Array:
        """One column as an array."""
        return _arrays.to_numpy(self._table, [column])[column]

    def select(self, columns: Sequence[str]) -> Table:
        """The same rows with these columns."""
        return Table(self._table.select(list(columns)))

    def slice(self, offset: int, length: int) -> Table:
        """At most `length` rows from row `offset` on, without a copy."""
        return Table(self._table.slice(offset, length))

    def read(self) -> Table:
        return self

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema as a capsule of Arrow."""
        return self._table.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Table cannot be pickled: pickle the Query, or convert the rows to pyarrow")

    def __repr__(self) -> str:
        names = ", ".join(f"{name}: {kind}" for name, kind in self.column_types.items())
        return f"<zvf.Table of {self.num_rows} rows: {names}>"


class Scan(_Source):
    """One table of a query, read again on each access. Its stream holds a few batches in memory."""

    __slots__ = ("_place", "_query")

    def __init__(self, query: Query, place: int) -> None:
        self._query = query
        self._place = place

    def _open(self) -> _zvf.Answer:
        wanted = (self._place == 0, self._place == 1, self._place == 2)
        answer = self._query._start(wanted)
        if answer.empty(self._place) is None:
            raise _zvf.MisuseError(
                f"{self._query.store.url}: the answer has no {TABLES[self._place]}: a store of kind {self._query.store.kind}, "
                f"level {self._query.terms['level']}, has none"
            )
        return answer

    def _store_url(self) -> str | None:
        return self._query.store.url

    def read(self) -> Table:
        """All rows, in memory."""
        table = self._open().collect()[self._place]
        assert table is not None
        return Table(table)

    def __iter__(self) -> Iterator[Table]:
        """The rows batch by batch, each as a table."""
        answer = self._open()
        try:
            while (step := answer.next()) is not None:
                yield Table(step[1])
        finally:
            answer.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._open().stream(self._place)

    def __repr__(self) -> str:
        return f"<zvf.Scan of {TABLES[self._place]} of {self._query!r}>"


class Answer:
    """A whole answer in memory: up to three tables. Links refer to row numbers of the vertices, and objects have the number of their vertices."""

    __slots__ = ("_tables", "summary")

    def __init__(self, tables: Sequence[_zvf.Table | None], summary: dict[str, Any]) -> None:
        self._tables = [None if table is None else Table(table) for table in tables]
        self.summary = summary
        """Counts, levels, chunks and cells read, `truncated`, `warnings`."""

    def _get(self, place: int) -> Table:
        table = self._tables[place]
        if table is None:
            raise _zvf.MisuseError(f"the answer has no {TABLES[place]}")
        return table

    @property
    def vertices(self) -> Table:
        """`position`, attributes, and other requested columns."""
        return self._get(0)

    @property
    def links(self) -> Table:
        """`vertices` (row numbers of the vertex table), and attributes."""
        return self._get(1)

    @property
    def objects(self) -> Table:
        """`object_id`, `start` and `length` or the number of `vertices`, and attributes."""
        return self._get(2)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables that the answer has, by name."""
        pairs = zip(TABLES, self._tables, strict=True)
        return {name: table for name, table in pairs if table is not None}

    def to_networkx(self) -> Any:
        """An undirected `networkx.Graph`: nodes are row numbers with their columns as attributes. A `networkx.MultiGraph` if several links have the
        same ends."""
        from ._convert import networkx

        return networkx(self)

    def to_scipy(self, weight: str | None = None) -> Any:
        """The links as a `scipy.sparse.coo_array`, with 1 or an attribute of the links as values."""
        from ._convert import scipy

        return scipy(self, weight)

    def to_trimesh(self) -> Any:
        """A `trimesh.Trimesh`, for meshes of triangles."""
        from ._convert import trimesh

        return trimesh(self)

    def to_pyvista(self) -> Any:
        """A `pyvista.PolyData`: points, lines or faces, with numeric attributes of vertices and links."""
        from ._scene import pyvista

        return pyvista(self)

    def to_open3d(self) -> Any:
        """A `PointCloud`, `LineSet` or `TriangleMesh` of Open3D, depending on the links."""
        from ._scene import open3d

        return open3d(self)

    def to_spatialdata(self) -> Any:
        """Points of spatialdata, in axes x, y and z: a DataFrame of Dask, for `SpatialData(points={...})`."""
        from ._spatialdata import points

        return points(self.vertices, tuple(self.axes))

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in the order of the positions."""
        from json import loads

        return [axis["name"] for axis in loads(self.vertices.metadata["zvf.axes"])]

    def __repr__(self) -> str:
        parts = ", ".join(f"{len(table)} {name}" for name, table in self.tables.items())
        return f"<zvf.Answer: {parts}>"


class ObjectArrays:
    """Whole objects as flat arrays: object `i` has the rows from `offsets[i]` up to, not including, `offsets[i + 1]`."""

    __slots__ = ("_store", "attributes", "ids", "links", "object_attributes", "offsets", "positions")

    def __init__(self, answer: Answer, store: Store, *, named: bool = False) -> None:
        import numpy as np

        self._store = store

        vertices = answer.vertices.to_numpy()
        objects = answer.objects.to_numpy()
        self.positions: Array = vertices.pop("position")
        """`(vertices, axes)`, world coordinates in the stored number type."""
        if not named:
            vertices.pop("object_id", None)
        self.attributes: dict[str, Array] = vertices
        """Attributes of the vertices, by name."""
        self.ids: Array = objects.pop("object_id")
        """Ids, in the requested order."""
        start: Array = objects.pop("start")
        length: Array = objects.pop("length")
        self.offsets: Array = np.zeros(len(start) + 1, dtype=np.int64)
        """First row of each object, and at the end the number of all rows."""
        np.cumsum(length, out=self.offsets[1:])
        # The table states where each object starts, which must agree with the sums of the lengths.
        if not np.array_equal(self.offsets[:-1], start):
            raise _zvf.BugError("the rows of objects of an answer are not consecutive; this is a defect of zvf, please report it")
        # A query names an attribute `attribute:NAME` if it has the name of a column of the query. Such columns are removed here, so the prefix is, too.
        self.object_attributes: dict[str, Array] = {name.removeprefix("attribute:"): values for name, values in objects.items()}
        """Attributes of the objects, by name."""
        self.links: Array | None = None
        """`(links, ends)`, row numbers; None for kinds without links, and if links were not requested."""
        if "links" in answer.tables:
            self.links = answer.links["vertices"]

    @property
    def frame(self) -> dict[str, Any] | None:
        """The frame of the positions of a tractogram; None if the store states none."""
        found: dict[str, Any] | None = self._store.info.get("frame")
        return found

    def to_nibabel(self) -> Any:
        """The positions as nibabel's `ArraySequence`, sharing their memory; a copy if the axes are not x, y and z in this order."""
        from ._convert import array_sequence

        return array_sequence(self)

    def to_tractogram(self) -> Any:
        """nibabel's `Tractogram` with numeric attributes of vertices and objects, and the affine from positions to RAS+ millimetres."""
        from ._convert import tractogram

        return tractogram(self)

    def to_dipy(self, reference: Any = None) -> Any:
        """dipy's `StatefulTractogram` in RAS+ millimetres, with numeric attributes of vertices and objects.

        `reference` is the image that the tractogram belongs to, in a form that dipy accepts: a file, an image, a header. By default it is the voxel
        grid that the store states, for example after an import from TRK files.
        """
        from ._neuro import stateful_tractogram

        return stateful_tractogram(self, reference)

    def to_navis(self) -> Any:
        """A `NeuronList` of navis: skeletons as `TreeNeuron`, with the attribute `radius`, meshes as `MeshNeuron`."""
        from ._neuro import neurons

        return neurons(self)

    @property
    def kind(self) -> str:
        """The kind of geometry, as `Store.kind`."""
        return self._store.kind

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in the order of the positions."""
        return [axis["name"] for axis in self._store.info["axes"]]

    @property
    def units(self) -> str | None:
        """The unit of the first three axes; None if they have no unit, or different ones."""
        found = {axis["unit"] for axis in self._store.info["axes"][:3]}
        unit: str | None = found.pop() if len(found) == 1 else None
        return unit

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: int) -> Array:
        """A view of the positions of one object, by its index in `ids`."""
        count = len(self)
        if not -count <= at < count:
            raise IndexError(f"found object {at}, expected one of {count}")
        at %= count
        found: Array = self.positions[self.offsets[at] : self.offsets[at + 1]]
        return found

    def __iter__(self) -> Iterator[Array]:
        return (self[at] for at in range(len(self)))

    def __repr__(self) -> str:
        return f"<zvf.ObjectArrays: {len(self)} objects, {len(self.positions)} vertices>"
