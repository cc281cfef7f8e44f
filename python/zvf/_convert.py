"""Conversions to objects of other packages, which are imported only when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._table import Answer, ObjectArrays


def in_xyz(positions: Any, axes: Sequence[str]) -> Any:
    """Positions for packages whose coordinates have no names: in the order x, y, z if the axes of the store have these names, else unchanged."""
    order = [axes.index(name) for name in "xyz"] if sorted(axes) == ["x", "y", "z"] else [0, 1, 2]
    return positions if order == [0, 1, 2] else positions[:, order]


def array_sequence(objects: ObjectArrays) -> Any:
    """nibabel's `ArraySequence` that shares the memory of the positions, or of a copy in the order x, y, z."""
    import numpy as np

    sequence = _nibabel().ArraySequence()
    sequence._data = in_xyz(objects.positions, objects.axes)
    sequence._offsets = objects.offsets[:-1]
    sequence._lengths = np.diff(objects.offsets)
    return sequence


def tractogram(objects: ObjectArrays) -> Any:
    """nibabel's `Tractogram` with attributes of vertices and numbers of objects, and the affine from positions to RAS+ millimetres."""
    lines = array_sequence(objects)
    of_points = {}
    for name, values in objects.attributes.items():
        if values.dtype.kind in "biuf":
            sequence = array_sequence(objects)
            sequence._data = values if values.ndim == 2 else values[:, None]
            of_points[name] = sequence
    of_lines = {name: values for name, values in objects.object_attributes.items() if values.dtype.kind in "biuf"}
    return _nibabel().Tractogram(
        lines, data_per_streamline=of_lines, data_per_point=of_points, affine_to_rasmm=_to_rasmm(objects.frame)
    )


def _nibabel() -> Any:
    import nibabel.streamlines

    return nibabel.streamlines


def _to_rasmm(frame: dict[str, Any] | None) -> Any:
    """The affine from the frame of a store to the frame of the scanner. A store that states no frame is assumed to be in scanner millimetres."""
    import numpy as np

    space = "rasmm" if frame is None else frame.get("space")
    if space == "rasmm":
        return np.eye(4)
    if space == "voxelmm" and frame is not None and frame.get("voxelmm_to_rasmm") is not None:
        return np.array(frame["voxelmm_to_rasmm"], dtype=np.float64)
    raise _zvf.MisuseError(f"frame: found positions in {space}, expected rasmm, or voxelmm with its affine")


def _ends(answer: Answer, width: int) -> Any:
    import numpy as np

    ends = answer.links["vertices"]
    if ends.shape[1] != width:
        raise _zvf.MisuseError(f"found links of {ends.shape[1]} vertices, expected {width}")
    return ends.astype(np.int64)


def networkx(answer: Answer) -> Any:
    """An undirected graph of networkx: nodes are row numbers, with the columns as attributes; columns of links are attributes of edges.

    Returns a `MultiGraph` if several links have the same two ends, since a `Graph` would keep only one of them."""
    import networkx  # type: ignore[import-untyped]
    import numpy as np

    ends = _ends(answer, 2)
    parallel = len(np.unique(np.sort(ends, axis=1), axis=0)) < len(ends)
    links = {name: values.tolist() for name, values in answer.links.to_numpy().items() if name != "vertices"}
    vertices = {name: values.tolist() for name, values in answer.vertices.to_numpy().items()}
    graph = networkx.MultiGraph() if parallel else networkx.Graph()
    # add_node and add_edge take attributes as keywords, but not those with the name of a parameter, such as key.
    graph.add_nodes_from((row, {name: values[row] for name, values in vertices.items()}) for row in range(len(answer.vertices)))
    graph.add_edges_from(
        (start, end, {name: values[at] for name, values in links.items()}) for at, (start, end) in enumerate(ends.tolist())
    )
    return graph


def scipy(answer: Answer, weight: str | None) -> Any:
    """A sparse matrix of SciPy: row and column are the ends of a link in their stored order, and the value is 1 or an attribute of the link."""
    import numpy as np
    from scipy.sparse import coo_array  # type: ignore[import-untyped]

    ends = _ends(answer, 2)
    values = np.ones(len(ends)) if weight is None else answer.links[weight]
    count = len(answer.vertices)
    return coo_array((values, (ends[:, 0], ends[:, 1])), shape=(count, count))


def trimesh(answer: Answer) -> Any:
    """A mesh of trimesh, with the vertices in the same order; numeric vertex attributes are its `vertex_attributes`."""
    import trimesh

    vertices = answer.vertices.to_numpy()
    positions = in_xyz(vertices.pop("position"), answer.axes)
    mesh = trimesh.Trimesh(vertices=positions, faces=_ends(answer, 3), process=False)
    mesh.vertex_attributes.update({name: values for name, values in vertices.items() if values.dtype.kind in "biuf"})
    return mesh
