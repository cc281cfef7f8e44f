"""Stores that several processes write: each its parts, and one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _zvf
from ._options import address, document, writing
from ._write import _links, _source, _table

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
    not where they have an order: lines, polylines, streamlines and skeletons. Texts cannot be attributes: their codes depend on all parts.
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
        self._vertices = empty(vertices)
        self._link_columns = None if links is None else empty(links)
        self._object_columns = None if objects is None else empty(objects)

    @property
    def url(self) -> str:
        """The address."""
        return self._url

    def _described(self) -> _zvf.Parts:
        links = None if self._link_columns is None else _links(self._link_columns)
        objects = None if self._object_columns is None else _table(self._object_columns)
        return _zvf.Parts.describe(self._url, self._wanted, self._writing, _table(self._vertices), links, objects)

    def begin(self) -> None:
        """Marks the place: nothing else may be written there before the commit."""
        self._described().begin()

    def write(self, name: str, vertices: object, links: object | None = None, objects: object | None = None) -> int:
        """Writes a part under a name of its own, and returns how many vertices it has.

        A part that was interrupted is written again by the same name, with the same chunks; one that is there already is left as it is, so that what is
        repeated counts once. A part without vertices is none.
        """
        rows = _table(_source(vertices))
        if rows.num_rows == 0:
            return 0
        ends = None if links is None else _links(links)
        expected = _links(self._link_columns) if self._link_columns is not None else None
        writer = self._described().writer(name, expected)
        try:
            if objects is not None:
                writer.push_objects(_table(objects))
            count = writer.push(rows, ends)
            try:
                writer.finish()
            except _zvf.Error as error:
                if f"part {name} was finished before" not in str(error):
                    raise
        finally:
            writer.abandon()
        return count

    def commit(self, groups: Mapping[str, ArrayLike] | None = None) -> dict[str, Any]:
        """Puts the parts together, and returns counts: the store is there after that. An error, if a part was begun and not finished."""
        members = [(name, _arrays.ids_of(ids)) for name, ids in (groups or {}).items()]
        return document(self._described().commit(members))

    def __repr__(self) -> str:
        return f"<zvf.Parts of {self._url}>"


def empty(given: object) -> dict[str, Any]:
    """The columns of a table or mapping as arrays without rows."""
    found = _arrays.to_numpy(_table(given), None)
    return {name: values[:0].copy() for name, values in found.items()}
