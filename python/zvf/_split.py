"""Splits: pieces of a query that any process can read."""

from __future__ import annotations

from collections import OrderedDict
from json import dumps
from threading import Lock
from typing import TYPE_CHECKING, Any

from . import _zvf
from ._options import document
from ._store import Store
from ._table import TABLES, Answer, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from ._options import Options
    from ._store import Query

BYTES = 64 << 20
"""Decoded bytes of a split by default."""

KEPT = 4
"""Number of stores that stay open in a process for later splits."""

_open: OrderedDict[str, Store] = OrderedDict()
_lock = Lock()


class Split:
    """One piece of a query: each row of the answer is in exactly one piece. It can be pickled, and converted to JSON: see `Query.splits`.

    Queries in chunk order are cut by chunk; such a piece has only the vertex table, since objects and links may extend over several pieces. Queries
    for whole objects are cut by id; such a piece has its objects with their vertices, and, for lines, polylines, streamlines and skeletons, their
    links.
    """

    __slots__ = ("_document", "_options", "_text")

    def __init__(self, text: str, **options: Unpack[Options]) -> None:
        """Takes the JSON of `to_json`, and the options that access the store."""
        self._document = document(text)
        missing = [name for name in ("url", "number", "count", "rows", "bytes", "documents") if name not in self._document]
        if missing:
            raise _zvf.MisuseError(f"found no split: it lacks {', '.join(missing)}")
        self._text = text
        self._options: Mapping[str, Any] = options

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._text, dict(self._options)))

    def to_json(self) -> str:
        """The piece as JSON, without the options that access the store, and so without credentials."""
        return self._text

    @property
    def url(self) -> str:
        """Address of the store."""
        return str(self._document["url"])

    @property
    def number(self) -> int:
        """The number of the piece, from 0."""
        return int(self._document["number"])

    @property
    def count(self) -> int:
        """The number of pieces."""
        return int(self._document["count"])

    @property
    def rows(self) -> int:
        """Approximate number of rows of the vertex table, computed from documents: all rows of the chunks or objects, without conditions."""
        return int(self._document["rows"])

    @property
    def nbytes(self) -> int:
        """Approximate decoded bytes of these rows, from documents."""
        return int(self._document["bytes"])

    def _start(self, columns: Sequence[str] | None) -> _zvf.Answer:
        return self._store()._store.run_split(self._text, None if columns is None else list(columns))

    def read(self, columns: Sequence[str] | None = None) -> Answer:
        """Reads the rows into memory, with the columns of the query or with other ones.

        Fails if the store has changed since the query was cut.
        """
        answer = self._start(columns)
        tables = answer.collect()
        return Answer(tables, answer.summary() or {})

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Table]]:
        """The rows batch by batch, with the names of their tables, as `Query.batches`."""
        answer = self._start(columns)
        try:
            while (step := answer.next()) is not None:
                yield TABLES[step[0]], Table(step[1])
        finally:
            answer.close()

    def __iter__(self) -> Iterator[Table]:
        """The vertices batch by batch."""
        return (table for name, table in self.batches() if name == "vertices")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The vertices as an Arrow stream."""
        return self.read().vertices.__arrow_c_stream__(requested_schema)

    def _store(self) -> Store:
        """The store, which stays open for the next piece of the same snapshot.

        Readers check at the end whether the store changed (`verify`), so that an old snapshot is detected; without this check, every piece opens the
        store again.
        """
        if not self._options.get("verify", True):
            return Store(self.url, self._options)
        key = dumps([self.url, self._document["documents"], repr(sorted(self._options.items()))])
        with _lock:
            store = _open.get(key)
            if store is not None:
                _open.move_to_end(key)
                return store
        store = Store(self.url, self._options)
        with _lock:
            _open[key] = store
            while len(_open) > KEPT:
                _open.popitem(last=False)
        return store

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Split):
            return NotImplemented
        return self._text == other._text and self._options == other._options

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<zvf.Split {self.number} of {self.count} of {self.url}: about {self.rows} rows>"


def _restored(text: str, options: Mapping[str, Any]) -> Split:
    return Split(text, **options)


def cut(query: Query, count: int | None, rows: int | None, nbytes: int | None) -> list[Split]:
    """Cuts a query into `count` pieces, or into pieces of about `rows` rows or `nbytes` decoded bytes."""
    given = {"count": count, "rows": rows, "bytes": nbytes}
    sizes = {name: size for name, size in given.items() if size is not None} or {"bytes": BYTES}
    if len(sizes) > 1:
        raise _zvf.MisuseError(f"splits: found {' and '.join(sizes)}, expected one of count, rows and bytes")
    [(by, size)] = sizes.items()
    if size < 1:
        raise _zvf.MisuseError(f"splits: found {by}={size}, expected at least 1")
    store = query.store
    texts = store._store.splits(query._elsewhere(), by, size)
    where = store._place
    if where != store.url:
        texts = [dumps({**document(text), "url": where}) for text in texts]
    return [_restored(text, store._options) for text in texts]


def asks(text: str) -> dict[str, Any]:
    """The query of a piece: the members, in JSON, that differ from the defaults."""
    query: dict[str, Any] = document(text)["query"]
    return query


def asking(text: str, query: Mapping[str, Any]) -> str:
    """The JSON of a piece with another query of the same chunks or objects."""
    return dumps({**document(text), "query": dict(query)})


def read_split(
    split: Split | str | Mapping[str, Any], columns: Sequence[str] | None = None, **options: Unpack[Options]
) -> Answer:
    """Reads the rows of a piece into memory. The piece is a `Split` or its JSON, as text or loaded; the options access the store."""
    if not isinstance(split, Split):
        split = Split(split if isinstance(split, str) else dumps(dict(split)), **options)
    elif options:
        split = Split(split.to_json(), **{**split._options, **options})
    return split.read(columns)
