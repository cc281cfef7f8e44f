"""Regions other than boxes, as terms of a query."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict

from . import _zvf
from ._options import absolute, address
from ._sample import _numbers as _affine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Place(TypedDict, total=False):
    """Regions in addition to `bbox`, and how whole objects are placed in them. All members combine with *and*; boundaries belong to a region."""

    sphere: Sequence[float]
    """The coordinates of the centre, then the radius."""
    near: tuple[str, float, float] | str
    """An axis, a coordinate on it, and the largest distance from there."""
    polygon: str | os.PathLike[str] | Mapping[str, Any] | Any
    """The prism over polygons: well-known text, GeoJSON as a text or mapping, a geometry of shapely, or a file."""
    plane: str | tuple[str, str]
    """The axes of `polygon`, and optionally ranges of other axes: `"xz"`, `"lon,lat"`, `"xy,z=0:10"`. Default: `x` and `y`, or else the first two axes."""
    mesh: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike]
    """The inside of a closed mesh: a file (`.obj`, `.ply`, `.stl`), or the positions and the triangles, such as those of trimesh."""
    hull: str | os.PathLike[str] | ArrayLike
    """The convex hull of points: their positions, or a mesh file, closed or not."""
    mask: str | os.PathLike[str] | tuple[ArrayLike | str | os.PathLike[str], ArrayLike | str | os.PathLike[str]]
    """The voxels of a volume with any value but 0 and NaN, or with one of `labels`: a file or URL that `zvf.sample` reads, which may be followed by an affine, or a NumPy
    array and its affine, such as `(image.get_fdata(), image.affine)` of nibabel. An affine maps indices of elements to the axes of the store: an array of shape
    `(n, n + 1)` or `(n + 1, n + 1)`, or a file. The voxel whose centre is nearest to a vertex counts, as in `zvf.sample(order="nearest")`."""
    labels: int | Sequence[int] | str
    """The values of the voxels of `mask` that belong to the region, also as a text such as `"12,1001-1035"`; a label or range that no voxel has is an error."""
    region: str
    """A region as text, such as `"sphere(1,2,3,4) and not near(x=0,1)"`, in the syntax of `zvf query --region`."""
    passing: str | Sequence[str]
    """A condition on objects by several regions, which may hold for different vertices, such as `"sphere(1,2,3,4) and ending(box(x=0:1)) and not mask(@labels.nii.gz, 12)"`: `touching(REGION)`,
    `inside(REGION)`, `starting(REGION)`, `ending(REGION)`; a shape alone means `touching`. In a list, all conditions must hold."""
    touching: bool
    """Whole objects with at least one vertex inside."""
    inside: bool
    """Whole objects with every vertex inside."""
    starting: bool
    """Whole objects with their first vertex inside."""
    ending: bool
    """Whole objects with their last vertex inside."""


_LABELS = re.compile(r"(-?\d+)(?:-(-?\d+))?")

NAMES = tuple(Place.__annotations__)


def members(place: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The members of a query for these terms, with values as texts."""
    found: list[tuple[str, str]] = []
    labels = place.get("labels")
    if labels is not None and place.get("mask") is None:
        raise _zvf.MisuseError("labels: found labels without a mask, expected both")
    for name, value in place.items():
        if name not in NAMES:
            raise TypeError(f"found the term {name!r}, expected bbox, where, objects, groups, {', '.join(NAMES)} or another one of Store.query")
        if value is None or value is False or name == "labels":
            continue
        if name == "mask":
            found.append((name, _mask(value, labels)))
            continue
        found.append((name, _text(name, value)))
    return tuple(found)


def absolute_members(place: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The same members for a process in another working directory. Files that are named in the texts of `region` and `passing` are not changed."""
    found = []
    for name, text in place:
        moved = text
        match name:
            case "mask":
                mask = json.loads(text)
                if "volume" in mask:
                    moved = json.dumps({**mask, "volume": absolute(mask["volume"])})
            case "mesh" | "hull" if not text.startswith(f"{name}("):
                moved = absolute(text)
            case "polygon" if os.path.isfile(text):
                moved = absolute(text)
        found.append((name, moved))
    return tuple(found)


def job_members(place: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a job for these terms."""
    found: dict[str, Any] = {}
    regions: list[str] = []
    for name, text in members(place):
        match name:
            case "touching" | "inside" | "starting" | "ending":
                found[name] = text == "true"
            case "passing":
                found[name] = [text]
            case "mask":
                mask = json.loads(text)
                if "volume" in mask:
                    labels = [first if first == last else f"{first}-{last}" for first, last in mask["labels"] or ()]
                    found |= {"mask": mask["volume"], "labels": labels or None, "mask_affine": mask["affine"]}
                else:
                    found["mask"] = mask
            case "region":
                regions.append(text)
            case "mesh" | "hull":
                is_file = not text.startswith(f"{name}(")
                quoted = text.replace("`", "``")
                regions.append(f"{name}(@`{quoted}`)" if is_file else text)
            case _:
                found[name] = text
    if regions:
        found["region"] = " and ".join(f"({region})" for region in regions)
    return found


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
            case "hull":
                return os.fspath(value) if isinstance(value, str | os.PathLike) else f"hull({_rows(value)})"
            case "passing" if not isinstance(value, str):
                return " and ".join(f"({part})" for part in value)
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
    corners = np.asarray(triangles, dtype=np.int64).reshape(-1, 3).tolist()
    return f"mesh({_rows(vertices)}; {', '.join(' '.join(map(repr, row)) for row in corners)})"


def _rows(points: Any) -> str:
    import numpy as np

    return ", ".join(" ".join(map(repr, row)) for row in np.asarray(points, dtype=np.float64).reshape(-1, 3).tolist())


def _mask(value: Any, labels: Any) -> str:
    """A mask as JSON: either the file of a volume, or the runs of an array."""
    try:
        wanted = _labels(labels)
        if isinstance(value, str) and value.startswith("{"):
            # A mask that was taken from another query is JSON already.
            known = json.loads(value)
            if wanted and "volume" not in known:
                raise ValueError("labels: found new labels for the array of another query, expected the array itself with new labels")
            return json.dumps({**known, "labels": wanted}) if wanted else value
        volume, affine = value if isinstance(value, tuple) else (value, None)
        numbers = None if affine is None else _affine(affine)
        if isinstance(volume, str | os.PathLike):
            return json.dumps({"volume": address(volume), "labels": wanted, "affine": numbers})
        if affine is None:
            raise ValueError("expected an array and its affine")
        return json.dumps({**_runs(volume, wanted), "affine": numbers})
    except (TypeError, ValueError) as error:
        raise _zvf.MisuseError(f"mask: {error}") from None


def _labels(labels: Any) -> list[tuple[int, int]]:
    """The first and the last label of each range; an empty list means all voxels except those of 0 and NaN."""
    if labels is None:
        return []
    found: list[tuple[int, int]] = []
    if isinstance(labels, str):
        for part in re.split(r"[,\s]+", labels.strip(", \t\n")):
            ends = _LABELS.fullmatch(part)
            first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, -1)
            if last < first:
                found.clear()
                break
            found.append((first, last))
    else:
        numbers: list[int] = []
        try:
            numbers = [index(labels)]
        except TypeError:
            with suppress(TypeError):
                numbers = [index(label) for label in labels]
        found = [(label, label) for label in numbers]
    if not found or isinstance(labels, bytes | bytearray | Mapping):
        raise ValueError(f"labels: found {labels!r}, expected a whole number, a list of them, or a text such as '12,1001-1035'")
    return found


def _runs(array: Any, labels: list[tuple[int, int]]) -> dict[str, list[int]]:
    """The elements of an array that belong to a mask, as runs of consecutive elements."""
    import numpy as np

    voxels, present = np.asarray(array), ~np.ma.getmaskarray(array)
    if voxels.dtype.kind not in "biuf":
        raise ValueError(f"found an array of {voxels.dtype}, expected numbers")
    if labels:
        # Integers are compared in their own type: as float64, large labels would equal their neighbours.
        if voxels.dtype.kind == "b":
            voxels = voxels.astype(np.uint8)
        elif voxels.dtype.kind == "f":
            voxels = voxels.astype(np.promote_types(voxels.dtype, np.float64))
        belongs = np.zeros(voxels.shape, dtype=bool)
        for first, last in labels:
            found = present & ((voxels == first) if first == last else (voxels >= first) & (voxels <= last))
            if first < last and voxels.dtype.kind == "f":
                found &= voxels == np.floor(voxels)
            if not found.any():
                raise ValueError(f"labels: no element is {first if first == last else f'{first}-{last}'}")
            belongs |= found
    else:
        belongs = (voxels != 0) & (voxels == voxels) & present
    padded = np.zeros(belongs.size + 2, dtype=np.int8)
    padded[1:-1] = belongs.ravel()
    edges = np.flatnonzero(np.diff(padded))
    starts, ends = edges[::2], edges[1::2]
    return {"shape": list(voxels.shape), "starts": starts.tolist(), "lengths": (ends - starts).tolist()}
