"""Parts of space other than boxes, as terms of a query."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Place(TypedDict, total=False):
    """Where rows and whole objects lie, beside `bbox`. The parts combine with *and*; boundaries are inside."""

    sphere: Sequence[float]
    """The coordinates of the centre, then the radius."""
    near: tuple[str, float, float] | str
    """An axis, a coordinate on it, and the largest distance from there."""
    polygon: str | os.PathLike[str] | Mapping[str, Any] | Any
    """The prism over polygons: well-known text, GeoJSON as a text or mapping, a geometry of shapely, or a file."""
    plane: str | tuple[str, str]
    """The axes of `polygon`, which may be followed by ranges of others: `"xz"`, `"lon,lat"`, `"xy,z=0:10"`. Without it `x` and `y`, else the first two."""
    mesh: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike]
    """The inside of a closed mesh: a file (`.obj`, `.ply`, `.stl`), or the positions and the triangles, such as those of trimesh."""
    region: str
    """Such as `"sphere(1,2,3,4) and not near(x=0,1)"`, with the forms of `zvf query --region`."""
    touching: bool
    """Whole objects with at least one vertex inside."""
    inside: bool
    """Whole objects with every vertex inside."""
    starting: bool
    """Whole objects with their first vertex inside."""
    ending: bool
    """Whole objects with their last vertex inside."""


NAMES = tuple(Place.__annotations__)


def members(place: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The members of a query for these terms, as texts."""
    found: list[tuple[str, str]] = []
    for name, value in place.items():
        if name not in NAMES:
            raise TypeError(f"found the term {name!r}, expected bbox, where, objects, groups, {', '.join(NAMES)} or another one of Store.query")
        if value is None or value is False:
            continue
        found.append((name, _text(name, value)))
    return tuple(found)


def _text(name: str, value: Any) -> str:
    try:
        match name:
            case "sphere" if not isinstance(value, str):
                return ",".join(repr(float(number)) for number in value)
            case "near" if not isinstance(value, str):
                axis, at, distance = value
                return f"`{axis}`={float(at)!r},{float(distance)!r}"
            case "polygon":
                return _polygon(value)
            case "mesh":
                return _mesh(value)
            case "plane" if not isinstance(value, str):
                first, second = value
                return f"`{first}`,`{second}`"
            case "touching" | "inside" | "starting" | "ending":
                return "true" if value else "false"
    except (TypeError, ValueError) as error:
        raise _zvf.MisuseError(f"{name}: found {value!r}: {error}") from None
    return str(value)


def _polygon(value: Any) -> str:
    interface = value if isinstance(value, Mapping) else getattr(value, "__geo_interface__", None)
    return os.fspath(value) if interface is None else json.dumps(interface)


def _mesh(value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    import numpy as np

    vertices, triangles = value
    places = np.asarray(vertices, dtype=np.float64).reshape(-1, 3).tolist()
    corners = np.asarray(triangles, dtype=np.int64).reshape(-1, 3).tolist()
    rows = (", ".join(" ".join(map(repr, row)) for row in table) for table in (places, corners))
    return f"mesh({'; '.join(rows)})"
