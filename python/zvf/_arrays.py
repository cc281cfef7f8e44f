"""Between Arrow tables and NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike

    Array = np.ndarray[Any, np.dtype[Any]]

NUMBERS = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)


def to_numpy(table: _zvf.Table, columns: Sequence[str] | None = None) -> dict[str, Array]:
    """The columns of a table, by name. Numbers of a table of one batch are views, which cannot be written to."""
    if columns is not None:
        table = table.select(list(columns))
    return {parts["name"]: _array(parts) for parts in table.columns()}


def _array(parts: dict[str, Any]) -> Array:
    import numpy as np

    missing = None
    if "missing" in parts:
        missing = np.frombuffer(parts["missing"], dtype=np.bool_)
    if "texts" in parts:
        texts = np.empty(len(parts["texts"]) + 1, dtype=object)
        texts[:-1] = parts["texts"]
        # Code -1 is no text: the None at the end.
        return texts[np.frombuffer(parts["codes"], dtype=np.int64)] if "codes" in parts else texts[:-1]
    values: Array = np.frombuffer(parts["data"], dtype=parts["dtype"])
    if "offsets" in parts:
        offsets = np.frombuffer(parts["offsets"], dtype=np.int64)
        lists = np.empty(len(offsets) - 1, dtype=object)
        lists[:] = np.split(values, offsets[1:-1]) if len(lists) else []
        return lists
    if "width" in parts:
        values = values.reshape(-1, parts["width"])
    if missing is None:
        return values
    if values.dtype.kind == "f":
        values = values.copy()
        values[missing] = np.nan
        return values
    # Whole numbers and truth values have no NaN.
    if values.ndim > 1:
        missing = np.repeat(missing[:, None], values.shape[1], axis=1)
    return np.ma.MaskedArray(values, mask=missing)


def from_numpy(columns: Mapping[str, ArrayLike], rows: int | None = None) -> _zvf.Table:
    """A table of arrays: one dimension is a column of numbers or texts, two are a column of lists of fixed size."""
    import numpy as np

    given: list[tuple[str, object, str, int | None]] = []
    for name, values in columns.items():
        array = np.asarray(values)
        if array.ndim not in (1, 2):
            raise _zvf.MisuseError(f"{name}: found {array.ndim} dimensions, expected 1 or 2")
        if rows is None:
            rows = array.shape[0]
        if array.dtype.kind in "OUST":
            if array.ndim != 1:
                raise _zvf.MisuseError(f"{name}: found texts in {array.ndim} dimensions, expected 1")
            texts = [None if text is None else str(text) for text in array.tolist()]
            given.append((name, texts, "text", None))
            continue
        dtype = array.dtype.name
        if dtype not in NUMBERS:
            raise _zvf.MisuseError(f"{name}: found values of {dtype}, expected numbers, truth values or texts")
        # The extension reads numbers of this machine, one after another.
        # Arrays that were unpickled may lie at any address.
        flat = np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"]).reshape(-1)
        if dtype == "bool":
            flat = flat.view(np.uint8)
        elif dtype == "float16":
            flat = flat.view(np.uint16)
        given.append((name, flat, dtype, array.shape[1] if array.ndim == 2 else None))
    return _zvf.table_of_columns(given, rows or 0)


def selected_ids(ids: ArrayLike | range | str) -> list[int] | str:
    """Object ids of a selection: a list, or a text of ids and ranges, which a long `range` becomes too."""
    if isinstance(ids, str):
        return ids
    if isinstance(ids, range) and ids.step == 1 and ids:
        return f"{ids[0]}-{ids[-1]}"
    return ids_of(ids)


def ids_of(ids: ArrayLike) -> list[int]:
    """Object ids as the extension takes them."""
    import numpy as np

    array = np.asarray(ids)
    if array.size == 0:
        return []
    if array.ndim > 1 or array.dtype.kind not in "iu":
        raise _zvf.MisuseError(f"ids: found {array.dtype.name} of shape {array.shape}, expected whole numbers in one dimension")
    found: list[int] = np.atleast_1d(array).tolist()
    return found
