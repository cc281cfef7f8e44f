"""Groups by the labels of a volume at the ends of lines, and affines as the program takes them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from . import _zvf
from ._options import access, address, document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike

    from ._options import Options

CLASSES: dict[int, type[_zvf.Error]] = {
    2: _zvf.MisuseError,
    3: _zvf.IoError,
    4: _zvf.MalformedError,
    5: _zvf.LimitError,
    70: _zvf.BugError,
    75: _zvf.BusyError,
}
"""Errors by the exit code of the program."""


def group_ends(
    url: str | os.PathLike[str],
    name: str,
    labels: str | os.PathLike[str],
    *,
    affine: ArrayLike | str | os.PathLike[str] | None = None,
    mean: Sequence[str] = (),
    matrix: str | os.PathLike[str] | None = None,
    replace: bool = False,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Makes groups `name/a-b` of lines or streamlines by the labels `a <= b` of a volume at their ends, and returns counts.

    `labels` and `affine` are the volume and the affine of `sample`. Label 0 is background, and so is everything outside of the volume: lines with such an end are in no group. `matrix` is a file (`.csv`,
    `.ndjson`, `.arrow`, `.parquet`) with a row for each pair: `label_a`, `label_b`, `count`, `mean_length`, and `mean_NAME` for each vertex attribute of `mean`. `replace` deletes
    groups `name/..` that are there, which are an error else.

    The program `zvf` does it, in a process of its own. A command line can be read by others, so `storage_options` are not taken: credentials
    come from the environment.
    """
    line = ["group", address(url), name, "--ends", address(labels), "--json", "--quiet"]
    if affine is not None:
        line.append(f"--affine={_numbers(affine)}")
    if matrix is not None:
        line.append(f"--matrix={address(matrix)}")
    line += [f"--mean={one}" for one in mean]
    line += ["--replace"] if replace else []
    return document(_run([*line, *_flags(options)]))


def _numbers(affine: Any) -> str:
    import numpy as np

    if isinstance(affine, (str, os.PathLike)):
        return address(affine)
    rows = np.asarray(affine, dtype=np.float64)
    if rows.ndim == 2 and rows.shape[0] == rows.shape[1] and (rows[-1] == [*[0.0] * (len(rows) - 1), 1.0]).all():
        rows = rows[:-1]
    if rows.ndim != 2 or rows.shape[1] != rows.shape[0] + 1:
        raise _zvf.MisuseError(f"affine: found shape {rows.shape}, expected (n, n + 1), or (n + 1, n + 1) with a last row of 0 and 1")
    return ",".join(map(repr, rows.ravel().tolist()))


def _flags(options: Options) -> list[str]:
    """The options of a store, as the program takes them."""
    given = access(options)
    if given["storage"]:
        raise _zvf.MisuseError("storage_options: expected none: set the variables of the environment that the backend reads")
    flags = [flag for flag, wanted in (("--anonymous", given["anonymous"]), ("--no-verify", not given["verify"])) if wanted]
    for name in ("concurrency", "retries", "timeout", "memory_budget", "trace_io"):
        if given[name] is not None:
            flags.append(f"--{name.replace('_', '-')}={given[name]}")
    return flags


def _run(line: list[str]) -> str:
    """What the program prints.

    Raises the error of the class that its exit code names.
    """
    from subprocess import run

    # -P: a folder `zvf` where the process is has nothing to do with it.
    done = run([sys.executable, "-P", "-m", "zvf", *line], capture_output=True, text=True, encoding="utf-8", errors="replace")
    if done.returncode != 0:
        raise CLASSES.get(done.returncode, _zvf.Error)(done.stderr.strip().removeprefix("zvf: "))
    return done.stdout
