"""Conversions to geometries of pyvista and Open3D, which are imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _zvf
from ._convert import in_xyz

if TYPE_CHECKING:
    from ._table import Answer


def _parts(answer: Answer) -> tuple[Any, dict[str, Any], Any]:
    """Positions of three coordinates, numeric vertex attributes, and the links or None."""
    vertices = answer.vertices.to_numpy()
    places = in_xyz(vertices.pop("position"), answer.axes)
    if places.shape[1] != 3:
        raise _zvf.MisuseError(f"found {places.shape[1]} axes, expected 3")
    numbers = {name: values for name, values in vertices.items() if values.dtype.kind in "biuf"}
    links = answer.links["vertices"].astype("int64") if "links" in answer.tables else None
    return places, numbers, links


def pyvista(answer: Answer) -> Any:
    """A `PolyData` of points, lines or faces, with numeric attributes of vertices as `point_data` and of links as `cell_data`."""
    import numpy as np

    module = import_module("pyvista")
    places, numbers, links = _parts(answer)
    if links is None or len(links) == 0:
        mesh = module.PolyData(places)
    else:
        cells = np.insert(links, 0, links.shape[1], axis=1).reshape(-1)
        mesh = module.PolyData(places, **{"lines" if links.shape[1] == 2 else "faces": cells})
        for name, values in answer.links.to_numpy().items():
            if name != "vertices" and values.dtype.kind in "biuf":
                mesh.cell_data[name] = _filled(values)
    for name, values in numbers.items():
        mesh.point_data[name] = _filled(values)
    return mesh


def _filled(values: Any) -> Any:
    """Values with NaN for missing ones, because arrays of VTK have no masks."""
    import numpy as np

    return np.ma.filled(values.astype("f8"), np.nan) if isinstance(values, np.ma.MaskedArray) else values


def open3d(answer: Answer) -> Any:
    """A `PointCloud` if there are no links, a `LineSet` for links of two ends, a `TriangleMesh` for triangles."""
    import numpy as np

    module = import_module("open3d")
    places, _, links = _parts(answer)
    points = module.utility.Vector3dVector(np.array(places, dtype=np.float64))
    if links is None:
        return module.geometry.PointCloud(points)
    if links.shape[1] == 2:
        return module.geometry.LineSet(points, module.utility.Vector2iVector(_small(links)))
    if links.shape[1] == 3:
        return module.geometry.TriangleMesh(points, module.utility.Vector3iVector(_small(links)))
    raise _zvf.MisuseError(f"found links of {links.shape[1]} vertices, expected 2 or 3")


def _small(links: Any) -> Any:
    """Row numbers as the 32-bit integers that Open3D requires."""
    import numpy as np

    if links.size and links.max() > np.iinfo(np.int32).max:
        raise _zvf.LimitError(f"found row {links.max()}, expected at most {np.iinfo(np.int32).max} for Open3D")
    return links.astype(np.int32)
