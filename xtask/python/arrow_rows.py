"""Arrow files as arrays, for the checks of browsers and of imports."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.ipc


def arrow(path):
    """The table of an Arrow IPC file."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def rows(column):
    """A column as an array of rows."""
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1)
    return column.to_numpy(zero_copy_only=False).reshape(-1, 1)
