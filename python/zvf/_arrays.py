"""Conversions between Arrow tables and NumPy arrays."""

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


UNIT = "zvf.unit"
"""Key in the metadata of a NumPy type: the unit of integers that are times of day or timestamps with a time zone, for which NumPy has no type."""


def to_numpy(table: _zvf.Table, columns: Sequence[str] | None = None, *, times: bool = False) -> dict[str, Array]:
    """The columns of a table, by name. Numbers of a table of one batch are read-only views. With `times`, dates, timestamps and durations are arrays
    of `datetime64` and `timedelta64`, otherwise of integers."""
    if columns is not None:
        table = table.select(list(columns))
    return {parts["name"]: _array(parts, times=times) for parts in table.columns()}


def _array(parts: dict[str, Any], *, times: bool) -> Array:
    import numpy as np

    missing = None
    if "missing" in parts:
        missing = np.frombuffer(parts["missing"], dtype=np.bool_)
    if "texts" in parts:
        texts = np.empty(len(parts["texts"]) + 1, dtype=object)
        texts[:-1] = parts["texts"]
        # Code -1 means a missing text: it selects the None at the end.
        return texts[np.frombuffer(parts["codes"], dtype=np.int64)] if "codes" in parts else texts[:-1]
    values: Array = np.frombuffer(parts["data"], dtype=parts["dtype"])
    if "times" in parts and times:
        values = values.view(parts["times"])
    if "unit" in parts and times:
        # The number that marks a missing value is among the values.
        values, missing = with_unit(values, parts["unit"]), None
    if "offsets" in parts:
        offsets = np.frombuffer(parts["offsets"], dtype=np.int64)
        lists = np.empty(len(offsets) - 1, dtype=object)
        lists[:] = np.split(values, offsets[1:-1]) if len(lists) else []
        return lists
    if "width" in parts:
        values = values.reshape(-1, parts["width"])
    if missing is None:
        return values
    if values.dtype.kind in "fmM":
        values = values.copy()
        values[missing] = np.nan if values.dtype.kind == "f" else np.array("NaT", dtype=values.dtype)
        return values
    # Integers and booleans have no NaN.
    if values.ndim > 1:
        missing = np.repeat(missing[:, None], values.shape[1], axis=1)
    return np.ma.MaskedArray(values, mask=missing)


def from_numpy(columns: Mapping[str, ArrayLike], rows: int | None = None) -> _zvf.Table:
    """A table from arrays: an array of one dimension becomes a column of numbers or texts, and one of two dimensions a column of lists of fixed size.
    """
    import numpy as np

    given: list[tuple[str, object, str, int | None, object | None, str | None]] = []
    for name, values in columns.items():
        array = array_of(name, values)
        if array.ndim not in (1, 2):
            raise _zvf.MisuseError(f"{name}: found {array.ndim} dimensions, expected 1 or 2")
        if rows is None:
            rows = array.shape[0]
        if array.dtype.kind == "O":
            if array.ndim != 1:
                raise _zvf.MisuseError(f"{name}: found texts in {array.ndim} dimensions, expected 1")
            given.append((name, array.tolist(), "text", None, None, None))
            continue
        dtype = array.dtype.name
        stated = array.dtype.metadata
        unit = None if stated is None else stated.get(UNIT)
        moments = array.dtype.kind in "Mm"
        if dtype not in NUMBERS and not moments:
            raise _zvf.MisuseError(f"{name}: found values of {dtype}, expected numbers, booleans, texts, or times in units of D, s, ms, us or ns")
        missing = None
        if isinstance(array, np.ma.MaskedArray) and moments:
            array = array.filled(array.dtype.type("NaT"))
        elif isinstance(array, np.ma.MaskedArray):
            missing = np.ma.getmaskarray(array).reshape(-1).view(np.uint8)
            array = array.data
        # The extension reads contiguous numbers in native byte order.
        # The memory of unpickled arrays may be unaligned.
        flat = np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"]).reshape(-1)
        if moments:
            flat = flat.view(np.int64)
        elif dtype == "bool":
            flat = flat.view(np.uint8)
        elif dtype == "float16":
            flat = flat.view(np.uint16)
        given.append((name, flat, dtype, array.shape[1] if array.ndim == 2 else None, missing, unit))
    return _zvf.table_of_columns(given, rows or 0)


def array_of(name: str, values: Any) -> Array:
    """Numbers or booleans as an array, masked where values are missing; texts as an array of objects, with None for missing ones."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return _without(array_of(name, values.data), mask) if mask.any() else array_of(name, values.data)
    if hasattr(values, "isna") and hasattr(values, "dtype"):
        return _of_pandas(name, values)
    if hasattr(values, "null_count") and (hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")):
        return _of_arrow(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        # For example, rows of different lengths.
        raise _zvf.MisuseError(f"{name}: {error}") from error
    if not hasattr(values, "dtype") and array.dtype.kind in "Uf":
        # NumPy converts numbers beside texts to texts, drops trailing zero characters of texts, and rounds large integers to floats, also uint64 beside int64.
        objects = np.empty(array.shape, dtype=object)
        # A pandas DataFrame would first convert its columns to one type.
        objects[...] = values.to_numpy(dtype=object) if hasattr(values, "iloc") else np.asarray(values, dtype=object)
        whole = (int, np.integer)
        all_whole = array.size > 0 and all(isinstance(one, whole) for one in objects.flat)
        if array.dtype.kind == "U" or all_whole or any(isinstance(one, whole) and abs(int(one)) > EXACT for one in objects.flat):
            array = objects
    if array.dtype.kind == "O":
        return _of_objects(name, array)
    if array.dtype.kind == "S":
        try:
            return _of_objects(name, np.array([text.decode() for text in array.flat], dtype=object).reshape(array.shape))
        except UnicodeDecodeError as error:
            raise _zvf.MisuseError(f"{name}: found bytes that are not UTF-8, expected texts") from error
    if array.dtype.kind in "UT":
        return _of_objects(name, array.astype(object))
    return array


EXACT = 1 << 53
"""Largest integer up to which float64 represents all integers."""


def with_unit(numbers: Array, unit: str) -> Array:
    """Integers with their unit in the metadata of the type. The lowest number marks a missing value."""
    import numpy as np

    return numbers.view(np.dtype(numbers.dtype, metadata={UNIT: unit}))


def _without(array: Array, mask: Array) -> Array:
    """The array, with missing values where the mask is true."""
    import numpy as np

    if array.dtype.kind in "fO":
        array = array.copy()
        array[mask] = None if array.dtype.kind == "O" else np.nan
        return array
    return np.ma.MaskedArray(array, mask=mask | np.ma.getmaskarray(array))


def _of_pandas(name: str, values: Any) -> Array:
    """A pandas column; its types have their own values for missing ones."""
    import numpy as np

    missing = np.asarray(values.isna())
    dtype = values.dtype
    if hasattr(dtype, "categories"):
        codes = np.asarray(getattr(values, "cat", values).codes)
        words = array_of(name, dtype.categories)
        if len(words) == 0:
            return np.full(len(codes), None, dtype=object)
        return _without(words[np.where(missing, 0, codes)], missing) if missing.any() else words[codes]
    if hasattr(dtype, "tz"):
        word = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[dtype.unit]
        zone = str(dtype.tz).removeprefix("UTC")
        moments = np.asarray(getattr(values, "dt", values).tz_convert(None).to_numpy())
        return with_unit(moments.view(np.int64), f"{word} since 1970-01-01T00:00:00Z{f' in {zone}' if zone else ''}")
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa  # type: ignore[import-untyped]

        kind = dtype.pyarrow_dtype
        # pandas does not convert string views with missing values.
        if pa.types.is_temporal(kind) or pa.types.is_nested(kind) or pa.types.is_string_view(kind):
            return _of_arrow(name, pa.array(values))
    if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value"):
        # A sparse column is expanded to all values.
        return array_of(name, np.asarray(values))
    kind = getattr(dtype, "numpy_dtype", dtype)
    if getattr(kind, "kind", "O") not in "biuf":
        return array_of(name, values.to_numpy() if isinstance(dtype, np.dtype) else values.to_numpy(dtype=object))
    if not missing.any():
        return np.asarray(values.to_numpy(dtype=kind))
    if isinstance(dtype, np.dtype):
        return np.asarray(values.to_numpy())
    return _without(np.asarray(values.to_numpy(dtype=kind, na_value=kind.type(0))), missing)


def _of_arrow(name: str, values: Any) -> Array:
    """A column of pyarrow or Polars."""
    if hasattr(values, "to_frame"):
        table = _zvf.Table.of_stream(values.rename(name).to_frame())
    else:
        import pyarrow as pa

        # The table below loses what the type states beside its values.
        order = getattr(values.type, "permutation", None)
        if order is not None and list(order) != sorted(order):
            found, expected = f"tensors whose dimensions are in the order {list(order)}", "tensors without a permutation"
            raise _zvf.MisuseError(f"{name}: found {found}, expected {expected}")
        table = _zvf.Table.of_stream(pa.table([values], names=[name]))
    (parts,) = table.columns()
    return array_of(name, _array(parts, times=True))


def _of_objects(name: str, array: Array) -> Array:
    """An array of Python objects: texts, booleans or numbers, of which some may be missing."""
    import numpy as np

    missing = np.fromiter((_is_missing(one) for one in array.flat), dtype=bool, count=array.size)
    known = [one for one, gone in zip(array.flat, missing, strict=True) if not gone]
    if all(isinstance(one, str) for one in known):
        texts = np.full(array.size, None, dtype=object)
        texts[~missing] = [str(one) for one in known]
        return texts.reshape(array.shape)
    made: Array
    if all(isinstance(one, (bool, np.bool_)) for one in known):
        made = np.zeros(array.size, dtype=bool)
    elif all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in known):
        # NumPy scalars of two types would be compared as floats.
        known = [int(one) for one in known]
        low, high = min(known), max(known)
        if low < -(1 << 63) or high >= (1 << (64 if low >= 0 else 63)):
            raise _zvf.MisuseError(f"{name}: found whole numbers from {low} to {high}, expected numbers that all fit into int64, or all into uint64")
        made = np.zeros(array.size, dtype=np.int64 if high < 1 << 63 else np.uint64)
    elif all(isinstance(one, (int, float, np.integer, np.floating)) and not isinstance(one, bool) for one in known):
        wide = [one for one in known if isinstance(one, (int, np.integer)) and abs(int(one)) > EXACT]
        if wide:
            raise _zvf.MisuseError(f"{name}: found {wide[0]} beside floats, expected whole numbers alone, or of at most 2**53")
        made = np.zeros(array.size, dtype=np.float64)
    else:
        kinds = sorted({type(one).__name__ for one in known})
        raise _zvf.MisuseError(f"{name}: found values of {', '.join(kinds)}, expected numbers, booleans or texts")
    made[~missing] = np.array(known, dtype=made.dtype)
    made = made.reshape(array.shape)
    return _without(made, missing.reshape(array.shape)) if missing.any() else made


def _is_missing(one: object) -> bool:
    """Whether a value is None, NaN, or the missing value of pandas."""
    if one is None or type(one).__name__ in ("NAType", "NaTType"):
        return True
    is_float = isinstance(one, float) or getattr(getattr(one, "dtype", None), "kind", "") == "f"
    return is_float and getattr(one, "shape", ()) == () and bool(one != one)


def whole_numbers(name: str, values: Any) -> Array:
    """Integers in one dimension; an empty array may have any shape."""
    import numpy as np

    array = array_of(name, values)
    if array.ndim > 1 or (array.size > 0 and array.dtype.kind not in "iu"):
        raise _zvf.MisuseError(f"{name}: found {array.dtype.name} of shape {array.shape}, expected whole numbers in one dimension")
    if isinstance(array, np.ma.MaskedArray):
        raise _zvf.MisuseError(f"{name}: found rows without a value, expected a whole number in each")
    if array.dtype == np.uint64 and array.size > 0 and array.max() > np.iinfo(np.int64).max:
        raise _zvf.MisuseError(f"{name}: found {array.max()}, expected at most {np.iinfo(np.int64).max}")
    return array


def selected_ids(ids: ArrayLike | range | str) -> list[int] | str:
    """Object ids of a selection: a list, or a text of ids and ranges. A long `range` becomes a text, too."""
    if isinstance(ids, str):
        return ids
    if isinstance(ids, range) and ids.step == 1 and ids:
        return f"{ids[0]}-{ids[-1]}"
    return ids_of(ids)


def ids_of(ids: ArrayLike) -> list[int]:
    """Object ids as the extension takes them."""
    import numpy as np

    array = whole_numbers("ids", ids)
    found: list[int] = np.atleast_1d(array).tolist() if array.size > 0 else []
    return found
