"""Converts vertices to points of spatialdata, which is imported only when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _zvf

if TYPE_CHECKING:
    from ._table import _Source


def points(vertices: _Source, axes: tuple[str, ...]) -> Any:
    """The vertices as a points element of spatialdata: a Dask DataFrame with a column for each axis and each attribute."""
    pandas = import_module("pandas")
    models = import_module("spatialdata.models")
    columns = vertices.to_numpy()
    places = columns.pop("position")
    if not set(axes) <= {"x", "y", "z"} or len(axes) < 2:
        raise _zvf.MisuseError(f"axes: found {', '.join(axes)}, expected x, y and z, or x and y")
    table = {name: places[:, at] for at, name in enumerate(axes)}
    for name, values in columns.items():
        if name in table or values.ndim != 1:
            raise _zvf.MisuseError(f"{name}: found an axis name or several values a row, expected another name, one value; leave it out by columns=")
        table[name] = values
    return models.PointsModel.parse(pandas.DataFrame(table), coordinates={name: name for name in axes})
