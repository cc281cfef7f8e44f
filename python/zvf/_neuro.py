"""Conversions to tractograms of dipy and neurons of navis, which are imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _zvf
from ._convert import in_xyz, tractogram

if TYPE_CHECKING:
    from ._table import ObjectArrays


def stateful_tractogram(objects: ObjectArrays, reference: Any) -> Any:
    """dipy's `StatefulTractogram` in RAS+ millimetres, where the origin is the centre of a voxel."""
    stateful = import_module("dipy.io.stateful_tractogram")
    if reference is None:
        reference = _grid(objects.frame)
    lines = tractogram(objects).to_world()
    return stateful.StatefulTractogram(
        lines.streamlines,
        reference,
        stateful.Space.RASMM,
        origin=stateful.Origin.NIFTI,
        data_per_point=dict(lines.data_per_point),
        data_per_streamline=dict(lines.data_per_streamline),
    )


def _grid(frame: dict[str, Any] | None) -> Any:
    """The grid of the image that a tractogram belongs to, for dipy: affine, dimensions, voxel sizes and voxel order."""
    import numpy as np

    members = ("voxel_to_rasmm", "dimensions", "voxel_sizes", "voxel_order")
    missing = [name for name in members if frame is None or frame.get(name) is None]
    if frame is None or missing:
        raise _zvf.MisuseError(
            f"reference: the store states no {', '.join(missing)} of the image; expected a file, image or header of nibabel"
        )
    affine, dimensions, sizes, order = (frame[name] for name in members)
    return np.array(affine, dtype=np.float64), np.array(dimensions, dtype=np.int16), np.array(sizes, dtype=np.float32), order


def neurons(objects: ObjectArrays) -> Any:
    """A `NeuronList` of navis: a `TreeNeuron` for each skeleton, a `MeshNeuron` for each mesh, with the ids of the objects."""
    import numpy as np

    navis = import_module("navis")
    kind = objects.kind
    if kind not in ("skeleton", "mesh") or objects.links is None:
        raise _zvf.MisuseError(f"found a store of kind {kind}, expected skeletons or meshes")
    if objects.positions.shape[1] != 3:
        raise _zvf.MisuseError(f"found {objects.positions.shape[1]} axes, expected 3")
    links = objects.links.astype(np.int64)
    # The links of each object, one object after another.
    owner = np.searchsorted(objects.offsets, links[:, 0], side="right") - 1
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(len(objects) + 1))
    units = objects.units
    positions = in_xyz(objects.positions, objects.axes)
    found = []
    for at, name in enumerate(objects.ids.tolist()):
        start, end = int(objects.offsets[at]), int(objects.offsets[at + 1])
        own = links[order[cuts[at] : cuts[at + 1]]] - start
        if ((own < 0) | (own >= end - start)).any():
            raise _zvf.MisuseError(f"object {name}: found links to other objects, expected links among its own vertices")
        if kind == "mesh":
            if own.shape[1] != 3:
                raise _zvf.MisuseError(f"found faces of {own.shape[1]} vertices, expected triangles")
            one = navis.MeshNeuron((positions[start:end], own), id=name, units=units)
        else:
            radius = objects.attributes.get("radius")
            radii = None if radius is None else radius[start:end]
            one = navis.TreeNeuron(_nodes(positions[start:end], own, radii, name), id=name, units=units)
        found.append(one)
    return navis.NeuronList(found)


def _nodes(positions: Any, links: Any, radius: Any, name: int) -> Any:
    """The node table of a tree, from links of a child and its parent."""
    import numpy as np

    pandas = import_module("pandas")
    parents = np.full(len(positions), -1, dtype=np.int64)
    if len(np.unique(links[:, 0])) != len(links):
        raise _zvf.MisuseError(f"object {name}: found a vertex with two parents, expected a tree")
    parents[links[:, 0]] = links[:, 1]
    columns = {"node_id": np.arange(len(positions)), "parent_id": parents}
    columns.update(zip("xyz", positions.T, strict=True))
    if radius is not None:
        columns["radius"] = radius
    return pandas.DataFrame(columns)
