"""Affines in the form that jobs take."""

from __future__ import annotations

import os
from typing import Any

from . import _zvf
from ._options import address


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
