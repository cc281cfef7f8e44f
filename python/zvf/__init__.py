"""Zarr Vectors: points, lines, streamlines, graphs, skeletons and meshes as Arrow tables and NumPy arrays.

>>> import zvf
>>> store = zvf.open("tracts.zarrvectors")           # a path or a URL: s3://, gs://, az://, https://
>>> box = ((92, 82, 80), (101, 92, 92))
>>> answer = store.query(bbox=box, select="objects").read()
>>> answer.vertices.to_numpy()["position"].shape
(1919, 3)

`Store.query` and `Store.get` read a store; `write` and `Writer` make new stores, and `edit` changes one. `import_`, `append`, `export`, `plot`,
`validate`, `repair`, `pyramid`, `vacuum`, `copy`, `split`, `merge`, `resample`, `simplify`, `doctor`, `migrate` and `rechunk` do the same as the
commands of the program `zvf`, which is installed with the package. `run` runs job files.
"""

from __future__ import annotations

import sys as _sys

from ._accelerate import accelerate
from ._jobs import (
    Finding,
    Report,
    append,
    copy,
    create,
    diff,
    doctor,
    export,
    group_ends,
    import_,
    merge,
    migrate,
    plot,
    pyramid,
    rechunk,
    remove_pyramid,
    repair,
    resample,
    run,
    sample,
    schema,
    simplify,
    split,
    vacuum,
    validate,
    volume_convert,
    volume_info,
    volume_slice,
)
from ._parts import Parts
from ._split import Split, read_split
from ._store import Level, Query, Store, open
from ._table import Answer, ObjectArrays, Scan, Table
from ._write import Edit, Writer, edit, write
from ._zvf import (
    BugError,
    BusyError,
    Error,
    IoError,
    LimitError,
    MalformedError,
    MisuseError,
    __version__,
)

__all__ = [
    "Answer",
    "BugError",
    "BusyError",
    "Edit",
    "Error",
    "Finding",
    "IoError",
    "Level",
    "LimitError",
    "MalformedError",
    "MisuseError",
    "ObjectArrays",
    "Parts",
    "Query",
    "Report",
    "Scan",
    "Split",
    "Store",
    "Table",
    "Writer",
    "__version__",
    "accelerate",
    "append",
    "copy",
    "create",
    "diff",
    "doctor",
    "edit",
    "export",
    "group_ends",
    "import_",
    "merge",
    "migrate",
    "open",
    "plot",
    "pyramid",
    "read_split",
    "rechunk",
    "remove_pyramid",
    "repair",
    "resample",
    "run",
    "sample",
    "schema",
    "simplify",
    "split",
    "vacuum",
    "validate",
    "volume_convert",
    "volume_info",
    "volume_slice",
    "write",
]

if "IPython" in _sys.modules:
    # Only in IPython and Jupyter, since it takes longer than the rest of the import.
    from ._signatures import state_options as _state_options

    _state_options(globals())
