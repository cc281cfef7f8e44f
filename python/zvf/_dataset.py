"""The flat table as a pyarrow dataset, which DuckDB, Polars, DataFusion and Dask read as a table."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.dataset as pads  # type: ignore[import-untyped]
from pyarrow.fs import LocalFileSystem  # type: ignore[import-untyped]

from . import _zvf
from ._prune import Bounds, Chunks, as_buffer, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._store import Query


class Dataset(pads.Dataset):  # type: ignore[misc]
    """The rows of a query as a flat table: axes as float64, attributes, `object_id`, and the chunk of each row.

    pyarrow applies filters exactly. Filters on axes, on chunks and on the attribute that divides chunks also limit which chunks are read. NaN is
    null, because engines differ in comparisons with NaN, but not with null. The dataset can be pickled, as its query and filter.
    """

    def __init__(self, query: Query, filter: pc.Expression | None = None, *, _open: bool = True) -> None:
        self._query = query
        self._filter = filter
        self._chunks: Chunks | None = None
        if _open:
            _ = self._schema

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(Dataset, _open=False), (self._query, self._filter))

    @cached_property
    def _flat(self) -> _zvf.Flat:
        return self._query.store._store.flat(self._query._asked)

    @cached_property
    def _schema(self) -> pa.Schema:
        return pa.schema(self._flat.schema())

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    @property
    def partition_expression(self) -> pc.Expression:
        """True for every row."""
        return pc.scalar(True)

    def chunks(self, filter: pc.Expression | None = None) -> list[tuple[int, ...]]:
        """The chunks that a scan with this filter reads. The box of the query, which may leave out more chunks, is not considered."""
        filter = self._joined(filter)
        left = None if filter is None else self._left(filter)
        coords = self._known().coords if left is None else left
        return [tuple(chunk) for chunk in coords.tolist()]

    def scanner(
        self, columns: Sequence[str] | dict[str, pc.Expression] | None = None, filter: pc.Expression | None = None, **options: Any
    ) -> pads.Scanner:
        """A scan of some columns and rows, which can be read once."""
        # These options apply only to files.
        for name in ("fragment_scan_options", "fragment_readahead", "batch_readahead", "cache_metadata", "schema"):
            options.pop(name, None)
        filter = self._joined(filter)
        names: list[str] = self._schema.names
        if columns is None:
            needed = names
        elif isinstance(columns, dict):
            expressions = [str(one) for one in columns.values()]
            whole = any("FieldPath" in one for one in expressions)
            needed = [name for name in names if whole or any(name in one for one in expressions)]
        else:
            needed = [name for name in names if name in columns]
        if filter is not None:
            text = str(filter)
            # A field that is referenced by number may be any column.
            needed = names if "FieldPath" in text else [name for name in names if name in needed or name in text]
        return pads.Scanner.from_batches(self._reader(needed, filter), columns=columns, filter=filter, **options)

    def _reader(self, columns: list[str], filter: pc.Expression | None) -> pa.RecordBatchReader:
        left = None if filter is None else self._left(filter)
        # Not a Python generator: threads of Arrow read ahead even while the interpreter shuts down, and must not wait for it.
        return pa.RecordBatchReader.from_stream(Stream(self._flat.scan(columns, as_buffer(left))))

    def _known(self) -> Chunks:
        if self._chunks is None:
            self._chunks = Chunks(self._flat)
        return self._chunks

    def _left(self, filter: pc.Expression) -> Any:
        return self._known().left(_Filter(filter, self._schema)) if self._flat.by_chunk() else None

    def _joined(self, filter: pc.Expression | None) -> pc.Expression | None:
        if filter is None or self._filter is None:
            return self._filter if filter is None else filter
        return self._filter & filter

    def filter(self, expression: pc.Expression) -> Dataset:
        """The rows that also satisfy this condition."""
        return Dataset(self._query, self._joined(expression))

    def to_table(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> pa.Table:
        """The rows in memory."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch."""
        batches: Iterator[pa.RecordBatch] = self.scanner(columns, filter, **options).to_batches()
        return batches

    def head(self, num_rows: int, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> pa.Table:
        """The first rows, in memory."""
        return self.scanner(columns, filter, **options).head(num_rows)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """The number of rows."""
        if filter is None and self._filter is None:
            return sum(batch.num_rows for batch in self._reader([], None))
        count: int = self.scanner([], filter, **options).count_rows()
        return count

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """Rows by their numbers, in memory."""
        return self.to_table(**options).take(indices)

    def sort_by(self, sorting: Any, **options: Any) -> pads.Dataset:
        """The rows in another order, in memory."""
        return pads.dataset(self.to_table(**options).sort_by(sorting))

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[_Fragment]:
        """The dataset as one fragment: engines that read fragment by fragment get it as a whole."""
        yield _Fragment(self, filter)

    def replace_schema(self, schema: pa.Schema) -> Dataset:
        """Always fails: the columns are those of the query."""
        raise NotImplementedError("the schema cannot be replaced: select columns in the query")

    def join(self, *arguments: Any, **options: Any) -> pads.Dataset:
        """The rows joined with those of another dataset, in memory."""
        return pads.dataset(self.to_table()).join(*arguments, **options)

    def join_asof(self, *arguments: Any, **options: Any) -> pads.Dataset:
        """The rows joined with the nearest rows of another dataset, in memory."""
        return pads.dataset(self.to_table()).join_asof(*arguments, **options)

    def __repr__(self) -> str:
        return f"<zvf.Dataset of {self._query!r}>"


class Stream:
    """An answer with the Arrow stream interface."""

    def __init__(self, answer: _zvf.Answer) -> None:
        self._answer = answer

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.stream(0)


class _Fragment:
    """A whole dataset as its only fragment."""

    def __init__(self, dataset: Dataset, filter: pc.Expression | None) -> None:
        self._dataset = dataset
        self._filter = filter

    @property
    def physical_schema(self) -> pa.Schema:
        return self._dataset.schema

    @property
    def partition_expression(self) -> pc.Expression:
        return pc.scalar(True)

    def scanner(self, schema: pa.Schema | None = None, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> pads.Scanner:
        # The filter given to the dataset only leaves out chunks; the filter given here also leaves out rows.
        return self._dataset.scanner(columns, filter, **options)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        return self._dataset.count_rows(filter, **options)


class _Filter:
    """A filter of pyarrow. Whether it may hold for a block is decided by pyarrow: the block is presented as a file with such values, which pyarrow
    reads or skips."""

    def __init__(self, filter: pc.Expression, schema: pa.Schema) -> None:
        self._filter = filter
        self._schema = schema
        self._format = pads.IpcFileFormat()
        self._system = LocalFileSystem()

    def names(self, known: Sequence[str]) -> bool:
        text = str(self._filter)
        return "FieldPath" in text or named(text, known)

    def may_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        return self._read(self._filter, blocks)

    def must_hold(self, blocks: Sequence[Bounds]) -> list[bool]:
        # The filter is neither false nor null for any row.
        fails = self._read(~self._filter, blocks)
        opens = self._read(self._filter.is_null(), blocks)
        return [not fail and not leave for fail, leave in zip(fails, opens, strict=True)]

    def _read(self, filter: pc.Expression, blocks: Sequence[Bounds]) -> list[bool]:
        if not blocks:
            return []
        make = self._format.make_fragment
        files = [make(str(number), self._system, partition_expression=self._known(block)) for number, block in enumerate(blocks)]
        dataset = pads.FileSystemDataset(files, self._schema, self._format, self._system)
        read = {int(file.path) for file in dataset.get_fragments(filter=filter)}
        return [number in read for number in range(len(blocks))]

    def _known(self, block: Bounds) -> pc.Expression:
        known = pc.scalar(True)
        for name, (low, high, nulls) in block.items():
            field = pc.field(name)
            kind = self._schema.field(name).type
            if low == high:
                parts = [field == pa.scalar(low, kind)]
            else:
                parts = [field >= pa.scalar(low, kind), field <= pa.scalar(high, kind)]
            for part in parts:
                known = known & (part | field.is_null() if nulls else part)
        return known
