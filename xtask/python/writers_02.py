"""Stores of format 0.7, written by the released package zarr-vectors 0.2.0 from random input.

What that release writes wrongly is left out, by name (sections of the 0.7 format notes):

* 12.5: rows of links are counted before rows are regrouped by object. Graphs and skeletons get objects that follow one
  another in the input, in the order of their ids.
* 9.5: attributes of links across chunks are not written; they must come back as null, all others with their value.
* 12.3, 12.4: records of lines and polylines carry row 0 at both ends; the manifest tells.
* 12.6: each object of a mesh lists whole chunks; meshes have one object here (the made store `0.7/quads` has two).
* 12.5: skeletons of several trees are one tree an object, numbered root first after the first one.
* 17.1: rechunking drops attributes and lists whole chunks for each object: rechunked by object, where that is the same.
* 17.2, 17.4: re-binning leaves attributes in the old order, appending leaves them short: neither is done.
* Lines take vertex attributes and do not write them; their rows are told by position.
* 10: object ids are dense. 8.2: only points hold text.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import inputs
from inputs import Input
from writers import bins, chunk_number, depth_first, tree


def attributes(rng, n: int, *, categories: bool) -> dict[str, np.ndarray]:
    """Attributes of the types that the release names as NumPy does."""
    found = inputs.attributes(rng, n, categories=categories, texts=False)
    return {name: a for name, a in found.items() if a.dtype.kind in "iufbO"}


def object_attributes(rng, n: int) -> dict[str, np.ndarray]:
    return {name: a for name, a in inputs.object_attributes(rng, n).items() if a.dtype.kind != "U"}


def group_members(rng, known: list[int]) -> dict[int, list[int]]:
    """Groups; gaps between their numbers are empty groups in this layout."""
    found = inputs.groups(rng, known)
    return {g: found.get(g, []) for g in range(max(found) + 1)}


def apart(rng, positions: np.ndarray) -> np.ndarray:
    """Moves rows until no two are at one place, for stores whose rows have no number."""
    while True:
        _, first = np.unique(positions, axis=0, return_index=True)
        twice = np.setdiff1d(np.arange(len(positions)), first)
        if not len(twice):
            return positions
        positions[twice] += rng.random((len(twice), positions.shape[1])).astype(positions.dtype)


def position_dtype(rng) -> str:
    return str(rng.choice(["f4", "f4", "f4", "f8"]))


def points(rng, path: Path) -> Input:
    from zarr_vectors.types.points import write_points

    dims = int(rng.choice([2, 3, 3, 4]))
    chunk, low, high = inputs.layout(rng, dims)
    n = int(rng.integers(1, 500))
    dtype, options = position_dtype(rng), {}
    item = Input("point_cloud", inputs.scatter(rng, n, low, high, chunk, dtype), chunk, notes=[f"{dims}-D {dtype}"])
    item.attributes = attributes(rng, n, categories=True)
    given = dict(item.attributes)
    if rng.random() < 0.25:
        values, name = chunk_number(rng, n, item.notes)
        given[name], options["chunk_by_attribute"] = values, name
        item.attributes[name] = values.astype(object) if values.dtype.kind == "U" else values
        item.objects = {k: np.array([k]) for k in range(n)}
    elif rng.random() < 0.6:
        count = int(rng.integers(1, min(12, n + 1)))
        owner = rng.permutation(np.concatenate([np.arange(count), rng.integers(0, count, n - count)]))
        item.objects = {k: np.flatnonzero(owner == k) for k in range(count)}
        item.object_attributes = object_attributes(rng, count)
        options |= {"object_ids": owner, "object_attributes": dict(item.object_attributes) or None}
        item.notes.append("ids")
        if rng.random() < 0.7:
            options["groups"] = item.groups = group_members(rng, item.ids())
    bin_shape = bins(rng, chunk)
    if bin_shape:
        item.notes.append("bins")
        options["bin_shape"] = item.bins = bin_shape
    write_points(str(path), item.positions, chunk_shape=chunk, dtype=dtype, vertex_attributes=given, **options)
    if item.objects is not None:
        # Objects lie in cells of the chunk shape, whatever the bins.
        item.bins = None
    return item


def lines(rng, path: Path) -> Input:
    from zarr_vectors.types.lines import write_lines

    dims = int(rng.choice([2, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    n, dtype = int(rng.integers(1, 150)), position_dtype(rng)
    first = inputs.scatter(rng, n, low, high, chunk, "f8")
    second = np.clip(first + rng.normal(size=first.shape) * np.asarray(chunk) * 0.6, low, high)
    ends = inputs.store_as(np.stack([first, second], 1), dtype)
    ends = apart(rng, ends.reshape(-1, dims)).reshape(-1, 2, dims)
    item = Input("line", ends.reshape(-1, dims), chunk, ordered=True, notes=[f"{dims}-D {dtype}"])
    item.objects = {k: np.array([2 * k, 2 * k + 1]) for k in range(n)}
    item.links = np.arange(2 * n).reshape(n, 2)
    item.object_attributes = object_attributes(rng, n)
    write_lines(str(path), ends, chunk_shape=chunk, dtype=dtype, object_attributes=dict(item.object_attributes) or None)
    return item


def polylines(rng, path: Path) -> Input:
    from zarr_vectors.types.polylines import write_polylines

    kind, dims = str(rng.choice(["polyline", "streamline"])), int(rng.choice([2, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    dtype, parts, options = position_dtype(rng), [], {}
    for _ in range(int(rng.integers(1, 30))):
        length = int(rng.choice([1, 2, 5, 20, 60], p=[0.1, 0.1, 0.2, 0.4, 0.2]))
        walk = rng.uniform(low, high) + np.cumsum(rng.normal(size=(length, dims)) * np.asarray(chunk) * 0.25, 0)
        parts.append(inputs.store_as(np.clip(walk, low, high), dtype))
    cuts = np.cumsum([len(p) for p in parts])[:-1]
    positions = np.concatenate(parts)
    item = Input(kind, positions, chunk, ordered=True, notes=[f"{dims}-D {dtype}"])
    item.objects = dict(enumerate(np.split(np.arange(len(positions)), cuts)))
    item.links = np.concatenate([np.stack([rows[:-1], rows[1:]], 1) for rows in item.objects.values()])
    item.attributes = attributes(rng, len(positions), categories=False)
    item.object_attributes = object_attributes(rng, len(parts))
    given = {name: np.split(a, cuts) for name, a in item.attributes.items()}
    if rng.random() < 0.25:
        values, name = chunk_number(rng, len(positions), item.notes)
        runs = np.repeat(rng.integers(0, 3, len(positions) // 7 + 1), 7)[: len(positions)]
        values = np.unique(values)[runs % len(np.unique(values))]
        given[name], options["chunk_by_attribute"] = np.split(values, cuts), name
        item.attributes[name] = values.astype(object) if values.dtype.kind == "U" else values
    if rng.random() < 0.5:
        options["groups"] = item.groups = group_members(rng, item.ids())
    write_polylines(
        str(path), parts, chunk_shape=chunk, dtype=dtype, geometry_type=kind, bin_shape=bins(rng, chunk), vertex_attributes=given,
        object_attributes=dict(item.object_attributes) or None, **options,
    )
    return item


def crossing(item: Input) -> np.ndarray:
    """Which links have endpoints in several chunks."""
    cell = np.floor(item.positions.astype("f8") / np.asarray(item.chunk))[item.links]
    return (cell != cell[:, :1]).any((1, 2))


def graph(rng, path: Path) -> Input:
    from zarr_vectors.types.graphs import write_graph

    dims = int(rng.choice([2, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    n, dtype = int(rng.integers(2, 250)), position_dtype(rng)
    positions = inputs.scatter(rng, n, low, high, chunk, dtype)
    order = np.argsort(positions[:, 0], kind="stable")
    m = int(rng.integers(1, 2 * n))
    at = rng.integers(0, n, m)
    edges = np.stack([order[at], order[np.clip(at + rng.integers(-3, 4, m), 0, n - 1)]], 1).astype("i8")
    item = Input("graph", positions, chunk, links=edges, notes=[f"{dims}-D {dtype}"])
    item.attributes = attributes(rng, n, categories=False)
    if rng.random() < 0.7:
        item.link_attributes["weight"] = rng.normal(size=m).astype(rng.choice(["f4", "f8"]))
        item.links_lost = crossing(item)
    count = int(rng.integers(1, min(6, n + 1)))
    owner = np.sort(np.concatenate([np.arange(count), rng.integers(0, count, n - count)]))
    item.objects = {k: np.flatnonzero(owner == k) for k in range(count)}
    item.object_attributes = object_attributes(rng, count)
    write_graph(
        str(path), positions, edges, chunk_shape=chunk, dtype=dtype, object_ids=owner, vertex_attributes=dict(item.attributes),
        link_attributes=dict(item.link_attributes) or None, object_attributes=dict(item.object_attributes) or None,
    )
    return item


def skeleton(rng, path: Path) -> Input:
    from zarr_vectors.types.graphs import write_graph

    dims = int(rng.choice([2, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    dtype, parts, edges, owner, start = position_dtype(rng), [], [], [], 0
    for name in range(int(rng.integers(1, 5))):
        place, links = tree(rng, int(rng.integers(2, 100)), low, high, chunk, root_first=start > 0)
        parts.append(place)
        edges.append(links + start)
        owner.append(np.full(len(place), name))
        start += len(place)
    positions, owner = inputs.store_as(np.concatenate(parts), dtype), np.concatenate(owner)
    item = Input("skeleton", positions, chunk, links=np.concatenate(edges).astype("i8"), notes=[f"{dims}-D {dtype}"])
    item.walk = depth_first(len(positions), item.links)
    item.objects = {int(k): np.flatnonzero(owner == k) for k in np.unique(owner)}
    item.attributes = attributes(rng, len(positions), categories=False)
    item.object_attributes = object_attributes(rng, len(item.objects))
    write_graph(
        str(path), positions, item.links, kind="skeleton", chunk_shape=chunk, dtype=dtype, object_ids=owner,
        vertex_attributes=dict(item.attributes), object_attributes=dict(item.object_attributes) or None,
    )
    return item


def mesh(rng, path: Path) -> Input:
    from zarr_vectors.types.meshes import write_mesh

    chunk, low, high = inputs.layout(rng, 3, cells=4)
    dtype, width = position_dtype(rng), int(rng.choice([3, 3, 4]))
    rows, columns = int(rng.integers(2, 14)), int(rng.integers(2, 14))
    u, v = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
    sheet = np.stack([u, v, np.sin(3 * u) * v], -1).reshape(-1, 3)
    positions = inputs.store_as(low + (high - low) * (0.9 * sheet + 0.1 * rng.random(sheet.shape)), dtype)
    at = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([at, at + 1, at + columns + 1, at + columns], 1)
    cells = quads if width == 4 else np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    turn = rng.integers(0, width, len(cells))
    faces = np.stack([cells[np.arange(len(cells)), (turn + k) % width] for k in range(width)], 1)
    item = Input("mesh", positions, chunk, links=rng.permutation(faces).astype("i8"), notes=[f"3-D {dtype}"])
    item.objects = {0: np.arange(len(positions))}
    item.attributes = attributes(rng, len(positions), categories=False)
    write_mesh(str(path), positions, item.links, chunk_shape=chunk, dtype=dtype, vertex_attributes=dict(item.attributes))
    return item


def rechunked(rng, path: Path) -> Input:
    """A level chunked by object number or by an object attribute; vertex attributes are lost on the way (17.1)."""
    from zarr_vectors.rechunk import RechunkSpec, rechunk, rechunk_by_attribute
    from zarr_vectors.types.points import write_points

    chunk, low, high = inputs.layout(rng, 3, cells=4)
    count = int(rng.integers(1, 7))
    n = int(rng.integers(count, 250))
    owner = rng.permutation(np.concatenate([np.arange(count), rng.integers(0, count, n - count)]))
    item = Input("point_cloud", apart(rng, inputs.scatter(rng, n, low, high, chunk, "f4")), chunk)
    item.objects = {k: np.flatnonzero(owner == k) for k in range(count)}
    source = path.with_suffix(".source")
    label = np.arange(count, dtype="i4") * 10
    write_points(str(source), item.positions, chunk_shape=chunk, object_ids=owner, object_attributes={"label": label})
    if rng.random() < 0.5:
        rechunk(str(source), RechunkSpec(by="object_id"), output=str(path))
        item.notes.append("rechunked by object")
    else:
        rechunk_by_attribute(str(source), "label", output=str(path))
        item.attributes["label"] = label[owner].astype("i8")
        item.notes.append("rechunked by attribute")
    import shutil

    shutil.rmtree(source)
    return item


def empty(rng, path: Path) -> Input:
    from zarr_vectors.core.store import create_store

    create_store(str(path), chunk_shape=(10.0,) * 3, bounds=([0.0] * 3, [20.0] * 3), ndim=3, geometry_types=["point_cloud"])
    return Input("point_cloud", np.zeros((0, 3), "f4"), (10.0,) * 3, notes=["empty"])


def afterwards(rng, path: Path, item: Input) -> None:
    """What people do to a finished store: pack its chunks; add parametric objects and another geometry."""
    from zarr_vectors.composite import add_geometry
    from zarr_vectors.sharding.io import shard_store
    from zarr_vectors.sharding.layout import ShardLayout
    from zarr_vectors.types.parametric import write_parametric_objects

    if not len(item.positions):
        return
    if item.dims == 3 and item.kind == "point_cloud" and rng.random() < 0.2:
        add_geometry(str(path), "graph", positions=item.positions[:2].astype("f4"), edges=np.array([[0, 1]]))
        write_parametric_objects(str(path), [{"type": "plane", "coefficients": [1.0, 0.0, 0.0, -5.0]}])
        item.notes.append("composite, parametric")
    if rng.random() < 0.4:
        layout = [ShardLayout.OCTREE, ShardLayout.SNAKE, ShardLayout.INDEX_TABLE][int(rng.integers(0, 3))]
        shard_store(str(path), layout, int(rng.choice([1, 4, 64])))
        item.notes.append(f"packed {layout.value}")


MAKERS = {
    "points": points,
    "lines": lines,
    "polylines": polylines,
    "graph": graph,
    "skeleton": skeleton,
    "mesh": mesh,
    "rechunked": rechunked,
    "empty": empty,
}
