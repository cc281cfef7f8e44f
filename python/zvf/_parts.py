"""Stores that several processes write: each its parts, and one commit."""

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
    """A store in parts: described alike by all processes, begun and committed by one, written by any. It pickles.

    A chunk (where cells lie in shards, a shard) is of one part; links join vertices of one part; an object may have vertices in several parts, but
    not where they have an order: lines, polylines, streamlines and skeletons.
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
        """Describes a store. `like` is a table or mapping with the columns of the vertices, or a pair with those of the links; `objects` one with
        the columns of the objects: rows do not matter. `bounds` are the corners that all parts keep to.
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
        """Marks the place: nothing else may be written there before the commit. Returns whether the same was begun before.

        `parts` are the names of the parts that must come, or their number (20 is "0" to "19"): no other name is taken, and the commit is an error while
        one of them is missing.
        """
        names = [str(number) for number in range(parts)] if isinstance(parts, int) else parts
        return self._described().begin(None if names is None else [str(name) for name in names])

    def write(self, name: str, vertices: object, links: object | None = None, objects: object | None = None, *, redo: bool = False) -> int:
        """Writes a part under a name of its own, and returns how many vertices it has.

        A part that was interrupted is written again by the same name; one that is finished is left as it is, so that what is repeated counts once:
        an error if it has another number of vertices; values are not compared.
        With `redo` it is replaced. An error if a line has not two vertices, or the vertices of an object that is a chain are not after each other. Of two programs that write one part at once, one fails, unless both wrote the same.
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
        """Lists the parts: waiting, begun by whom and since when, finished with counts. `None` where no store is begun, or it is committed."""
        found = self._described().status()
        return None if found is None else document(found)

    def discard(self) -> list[str]:
        """Removes all parts, and returns the names of those that were finished."""
        return self._described().discard()

    def commit(self, groups: Mapping[str, ArrayLike] | None = None, *, allow_missing: bool = False) -> dict[str, Any]:
        """Puts the parts together, and returns counts and the names of the parts: the store is there after that.

        An error, if a part was declared or begun and is not finished, unless `allow_missing` is given: then the root of the store names these. Of a
        part that was begun with `redo` and not finished, the store then has the earlier data, and `begun_again` of the answer names it. After an error
        about what the parts or groups hold, parts can be written, also again.
        """
        members = [(name, _arrays.ids_of(ids)) for name, ids in (groups or {}).items()]
        return document(self._described().commit(members, allow_missing))

    def __repr__(self) -> str:
        return f"<zvf.Parts of {self._url}>"


def _without_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays without rows, copied: the memory of one that was unpickled may lie at any address."""
    return {name: _arrays.array_of(name, values)[:0].copy() for name, values in given.items()}


class Columns:
    """The columns of a table, with their units, descriptions and what else its schema states, without rows. It pickles."""

    __slots__ = ("_schema",)

    def __init__(self, table: _zvf.Table) -> None:
        self._schema = table.schema_bytes()

    @classmethod
    def of(cls, given: object) -> Columns:
        """Those of a table, a stream or a mapping of arrays."""
        if isinstance(given, Columns):
            return given
        if _is_mapping(given):
            given = _without_rows(given)
        return cls(_zvf.Stream.of(_source(given)).schema())

    @classmethod
    def of_links(cls, given: object) -> Columns:
        """Those of a table, a stream or a mapping of links."""
        if _is_mapping(given):
            return cls(_links(_without_rows(given)))
        return cls.of(given)

    def table(self) -> _zvf.Table:
        """A table of these columns."""
        return _zvf.Table.of_schema_bytes(self._schema)
