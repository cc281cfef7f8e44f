"""Distributed writes: several processes write parts of one store, and one commit joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _zvf
from ._options import absolute, address, document, writing
from ._write import _is_mapping, _links, _source, _table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike

    from ._options import WriteOptions
    from ._store import Box
    from ._write import Kind


class Parts:
    """A distributed write of one store. All processes describe it alike, one begins and commits it, and any of them write parts. It can be pickled.

    All vertices of a chunk (or of a shard, if the store has shards) are in one part, and links join vertices of the same part. An object may have
    vertices in several parts, except in lines, polylines, streamlines and skeletons, whose vertices have an order.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        like: object,
        kind: Kind,
        chunk_shape: Sequence[float],
        bounds: Box,
        objects: object | None = None,
        bin_shape: Sequence[float] | None = None,
        shard_shape: Sequence[int] | None = None,
        axes: Sequence[str] | None = None,
        unit: str | None = None,
        codec: str | None = None,
        version: Literal["0.9.2"] = "0.9.2",
        explicit_links: bool = False,
        directed_links: bool = False,
        **options: Unpack[WriteOptions],
    ) -> None:
        """Describes the store. `like` is a table or mapping with the columns of the vertices, or a pair of it and one with the columns of the links;
        `objects` has the columns of the objects. Their rows are ignored. `bounds` are the corners of a box that must contain all parts.
        """
        self._url = address(url)
        self._place = absolute(self._url)
        self._writing = writing(options)
        self._wanted = {
            "kind": kind,
            "chunk_shape": [float(size) for size in chunk_shape],
            "bin_shape": bin_shape,
            "shard_shape": shard_shape,
            "axes": axes,
            "unit": unit,
            "bounds": tuple([float(end) for end in corner] for corner in bounds),
            "codec": codec,
            "version": version,
            "explicit_links": explicit_links,
            "directed_links": directed_links,
        }
        vertices, links = like if isinstance(like, tuple) else (like, None)
        self._vertices = Columns.of(vertices)
        self._link_columns = None if links is None else Columns.of_links(links)
        self._object_columns = None if objects is None else Columns.of(objects)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_url": self._place}

    @property
    def url(self) -> str:
        """The address."""
        return self._url

    def _described(self) -> _zvf.Parts:
        links = None if self._link_columns is None else self._link_columns.table()
        objects = None if self._object_columns is None else self._object_columns.table()
        return _zvf.Parts.describe(self._url, self._wanted, self._writing, self._vertices.table(), links, objects)

    def begin(self, parts: Sequence[str] | int | None = None) -> bool:
        """Begins the write: until the commit, nothing else may be written at the address. Returns whether the same write was begun before.

        `parts` are the names of the expected parts, or their number (20 means "0" to "19"). Other names are then refused, and the commit fails while
        one of the parts is missing.
        """
        names = [str(number) for number in range(parts)] if isinstance(parts, int) else parts
        return self._described().begin(None if names is None else [str(name) for name in names])

    def write(self, name: str, vertices: object, links: object | None = None, objects: object | None = None, *, redo: bool = False) -> int:
        """Writes a part under a unique name, and returns its number of vertices.

        To repeat an interrupted part, write it again under the same name. A part that is finished is not written again, so that a repeated call
        counts once; the call fails if the number of vertices differs, but values are not compared. With `redo`, the part is replaced. Fails if a line
        does not have two vertices, or if the vertices of a chain (a polyline or streamline) are not consecutive. If two programs write the same part
        at the same time, one fails, unless both wrote the same.
        """
        rows = _table(_source(vertices))
        ends = None if links is None else _links(links)
        expected = None if self._link_columns is None else self._link_columns.table()
        writer, finished = self._described().writer(name, expected, redo)
        if writer is None:
            if finished != rows.num_rows:
                raise _zvf.MisuseError(
                    f"part {name}: found {rows.num_rows} vertices, expected {finished}, with which it was finished before; nothing was written; redo=True replaces it"
                )
            return finished
        try:
            if objects is not None:
                writer.push_objects(_table(objects))
            count = writer.push(rows, ends)
            writer.finish()
        finally:
            writer.abandon()
        return count

    def status(self) -> dict[str, Any] | None:
        """Lists the parts: waiting, begun (by whom and since when), or finished (with counts). `None` if the write was not begun, or is committed."""
        found = self._described().status()
        return None if found is None else document(found)

    def discard(self) -> list[str]:
        """Removes all parts, and returns the names of the finished ones."""
        return self._described().discard()

    def commit(self, groups: Mapping[str, ArrayLike] | None = None, *, allow_missing: bool = False) -> dict[str, Any]:
        """Joins the parts to the store, which exists from then on. Returns counts and the names of the parts.

        Fails if a declared or begun part is not finished, unless `allow_missing` is given: then the root of the store names the missing parts. If a
        part was begun with `redo` and not finished, the store has its earlier data, and the member `begun_again` of the result names it. After an
        error about the contents of parts or groups, parts can still be added, and replaced with `redo`.
        """
        members = [(name, _arrays.ids_of(ids)) for name, ids in (groups or {}).items()]
        return document(self._described().commit(members, allow_missing))

    def __repr__(self) -> str:
        return f"<zvf.Parts of {self._url}>"


def _without_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays without rows. They are copies, because the memory of unpickled arrays may be unaligned."""
    return {name: _arrays.array_of(name, values)[:0].copy() for name, values in given.items()}


class Columns:
    """The columns of a table without rows: its whole schema, with units and descriptions. It can be pickled."""

    __slots__ = ("_schema",)

    def __init__(self, table: _zvf.Table) -> None:
        self._schema = table.schema_bytes()

    @classmethod
    def of(cls, given: object) -> Columns:
        """The columns of a table, a stream or a mapping of arrays."""
        if isinstance(given, Columns):
            return given
        if _is_mapping(given):
            given = _without_rows(given)
        return cls(_zvf.Stream.of(_source(given)).schema())

    @classmethod
    def of_links(cls, given: object) -> Columns:
        """The columns of links: of a table, a stream or a mapping."""
        if _is_mapping(given):
            return cls(_links(_without_rows(given)))
        return cls.of(given)

    def table(self) -> _zvf.Table:
        """An empty table with these columns."""
        return _zvf.Table.of_schema_bytes(self._schema)
