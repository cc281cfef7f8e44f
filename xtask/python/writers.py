"""Stores of every kind, written by the released Python package from random input.

Defects of the package are worked around where they would falsify the input, each with its number in the
format notes (docs/formats.md):

* T8: widths of multi-channel attributes of graphs, meshes and polylines are stamped wrongly; the bytes are right, so
  such attributes are written and must be read with their full width.
* T9: an unnamed multi-column point attribute is dropped by the package's reader only; it is written here.
* T11: nothing is written twice into one level.
* T12, T13: cells placed by another rule than the metadata says; made on purpose by `points_misplaced`.
* T14: no attribute of type `object` except categories of points; texts are given one width for all polylines.
* Cells of several fragments of a big-endian type are garbled; see `inputs.BIG_ENDIAN`.
* Skeletons of several trees: only the first tree is walked, the others keep the input's order. A root in the middle of a
  fragment would silently get a parent, so every later tree is numbered root first.
* Coarsening fails on most number types; see `conformance.LEVEL_TYPES`.
* T25: positions are rounded to the stored type before they are handed over.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import inputs
from inputs import Input


def storage(rng, dims: int, note: list[str]) -> dict:
    """Codec and shard options of one store."""
    codec = rng.choice(["none", "zstd", "zstd", "blosc", "list"])
    options: dict = {"compressor": None if codec == "none" else str(codec)}
    if codec == "list":
        options["compressor"] = [
            {"name": "gzip", "configuration": {"level": 5}},
            {"name": "crc32c"},
        ]
    note.append(str(codec))
    if rng.random() < 0.35:
        shard = int(rng.integers(2, 4)) if rng.random() < 0.5 else tuple(int(k) for k in rng.integers(1, 4, dims))
        options["shard_shape"] = shard
        note.append(f"shards {shard}")
    return options


def unshard(options: dict, note: list[str]) -> None:
    """A shard shape counts one number an axis; keys of attribute-chunked levels have one more."""
    if isinstance(options.get("shard_shape"), tuple):
        del options["shard_shape"]
        note[:] = [text for text in note if "shards" not in text]


def bins(rng, chunk) -> tuple[float, ...] | None:
    """Bin sizes that divide the chunk exactly, or none."""
    if rng.random() < 0.5:
        return None
    return tuple(float(c / k) for c, k in zip(chunk, rng.choice([1, 2, 4], len(chunk))))


def chunk_number(rng, n: int, note: list[str]) -> tuple[np.ndarray, str]:
    """An attribute that becomes the first component of every chunk key."""
    if rng.random() < 0.5:
        note.append("chunked by text")
        return np.array(["g1", "g2", "tail"])[rng.integers(0, 3, n)], "gene"
    note.append("chunked by number")
    return rng.choice(np.array([3, 7, 20], "i4"), n), "gene"


def points(rng, path: Path) -> Input:
    from zarr_vectors.types.points import write_points

    dims = int(rng.choice([2, 3, 3, 4]))
    chunk, low, high = inputs.layout(rng, dims)
    n = int(rng.integers(1, 900))
    # Neither ids nor bins: one fragment a cell.
    plain = rng.random() < 0.25
    dtype = inputs.position_dtype(rng, big_endian=plain)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    positions = inputs.scatter(rng, n, low, high, chunk, dtype)
    attributes = inputs.attributes(rng, n, categories=True, texts=False, big_endian=plain)
    item = Input("point_cloud", positions, chunk, attributes=attributes, notes=note)
    given = dict(attributes)
    with_ids = not plain and rng.random() < 0.65
    if not plain and rng.random() < 0.2:
        values, name = chunk_number(rng, n, note)
        given[name] = values
        options["chunk_by_attribute"] = name
        unshard(options, note)
        item.attributes[name] = values.astype(object) if values.dtype.kind == "U" else values
        item.objects = {k: np.array([k]) for k in range(n)}
    if with_ids:
        names = inputs.ids(rng, int(rng.integers(1, 12)))
        of_row = rng.choice(names, n)
        options["object_ids"] = of_row
        item.objects = {int(k): np.flatnonzero(of_row == k) for k in np.unique(of_row)}
        item.object_attributes = inputs.object_attributes(rng, len(item.objects))
        options["object_attributes"] = dict(item.object_attributes) or None
        note.append("ids")
        if rng.random() < 0.6:
            item.groups = inputs.groups(rng, item.ids())
            options["groups"] = item.groups
    bin_shape = None if plain else bins(rng, chunk)
    if bin_shape:
        note.append("bins")
        options["bin_shape"] = bin_shape
        item.bins = bin_shape
    if rng.random() < 0.3:
        options["bounds"] = ((low - 1.5 * np.asarray(chunk)).tolist(), (high + np.asarray(chunk)).tolist())
    write_points(str(path), positions, chunk_shape=chunk, dtype=dtype, vertex_attributes=given, **options)
    return item


def points_misplaced(rng, path: Path) -> Input:
    """T12 and T13: cells lie where the metadata does not say."""
    from zarr_vectors.core.store import create_store
    from zarr_vectors.types.points import write_points

    n = int(rng.integers(50, 600))
    choice = int(rng.integers(0, 3))
    if choice == 0:
        # T12: the store says one chunk shape, the writer was given another one.
        chunk, note = (10.0, 10.0, 10.0), ["cells of another chunk shape (T12)"]
        positions = inputs.scatter(rng, n, [-20] * 3, [35] * 3, chunk, "f4")
        bounds = ([-25.0] * 3, [40.0] * 3)
        create_store(str(path), chunk_shape=chunk, bounds=bounds, ndim=3)
        item = Input("point_cloud", positions, chunk, notes=note)
        item.attributes = inputs.attributes(rng, n, categories=False, texts=False)
        write_points(str(path), positions, chunk_shape=(20.0,) * 3, bounds=bounds, vertex_attributes=dict(item.attributes))
        return item
    chunk, bin_shape, note = ((0.3,) * 3, (0.1,) * 3, ["bins round differently (T13)"])
    if choice == 2:
        chunk, bin_shape, note = ((10.0,) * 3, (3.0,) * 3, ["bins do not divide the chunk (T13)"])
    dtype = str(rng.choice(["f4", "f8"]))
    grid = np.round(rng.uniform(-2, 3, (n, 3)) * chunk[0] / bin_shape[0]) * bin_shape[0]
    positions = np.where(rng.random((n, 3)) < 0.3, grid, rng.uniform(-2, 3, (n, 3)) * chunk[0]).astype(dtype)
    item = Input("point_cloud", positions, chunk, bins=bin_shape, notes=note)
    item.attributes = inputs.attributes(rng, n, categories=False, texts=False)
    low, high = positions.min(0).astype("f8"), positions.max(0).astype("f8")
    bounds = ((low - np.asarray(chunk)).tolist(), (high + np.asarray(chunk)).tolist())
    write_points(
        str(path), positions, chunk_shape=chunk, bin_shape=bin_shape, dtype=dtype, bounds=bounds, vertex_attributes=dict(item.attributes)
    )
    return item


def lines(rng, path: Path) -> Input:
    from zarr_vectors.types.lines import write_lines

    dims = int(rng.choice([2, 3, 3, 4]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    n = int(rng.integers(1, 250))
    dtype = inputs.position_dtype(rng)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    first = inputs.scatter(rng, n, low, high, chunk, "f8")
    second = np.clip(first + rng.normal(size=first.shape) * np.asarray(chunk) * 0.6, low, high)
    ends = inputs.store_as(np.stack([first, second], 1), dtype)
    item = Input("line", ends.reshape(-1, dims), chunk, ordered=True, notes=note)
    item.objects = {k: np.array([2 * k, 2 * k + 1]) for k in range(n)}
    item.links = np.arange(2 * n).reshape(n, 2)
    item.attributes = inputs.attributes(rng, 2 * n, categories=False, texts=False)
    item.object_attributes = inputs.object_attributes(rng, n)
    given = dict(item.object_attributes)
    if rng.random() < 0.2:
        values, name = chunk_number(rng, n, note)
        given[name] = values
        item.object_attributes[name] = values
        item.attributes[name] = np.repeat(values, 2).astype(object) if values.dtype.kind == "U" else np.repeat(values, 2)
        options["chunk_by_attribute"] = name
        unshard(options, note)
    shaped = {name: a.reshape((n, 2) + a.shape[1:]) for name, a in item.attributes.items() if name != "gene"}
    write_lines(
        str(path), ends, chunk_shape=chunk, dtype=dtype, bin_shape=bins(rng, chunk),
        vertex_attributes=shaped, object_attributes=given or None, **options,
    )
    return item


def polylines(rng, path: Path) -> Input:
    from zarr_vectors.types.polylines import write_polylines

    kind = str(rng.choice(["polyline", "streamline"]))
    dims = int(rng.choice([2, 3, 3, 4]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    dtype = inputs.position_dtype(rng)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    parts = []
    for _ in range(int(rng.integers(1, 60))):
        length = int(rng.choice([0, 1, 2, 5, 20, 60], p=[0.04, 0.06, 0.1, 0.2, 0.4, 0.2]))
        steps = rng.normal(size=(length, dims)) * np.asarray(chunk) * 0.25
        walk = rng.uniform(low, high) + np.cumsum(steps, 0)
        parts.append(inputs.store_as(np.clip(walk, low, high).reshape(length, dims), dtype))
    if not any(map(len, parts)):
        parts[0] = inputs.store_as(np.asarray([low]), dtype)
    cuts = np.cumsum([len(p) for p in parts])[:-1]
    positions = np.concatenate(parts).astype(dtype)
    n = len(positions)
    item = Input(kind, positions, chunk, ordered=True, notes=note)
    item.objects = dict(enumerate(np.split(np.arange(n), cuts)))
    item.links = np.concatenate([np.stack([rows[:-1], rows[1:]], 1) for rows in item.objects.values()])
    item.attributes = inputs.attributes(rng, n, categories=False, texts=True)
    item.object_attributes = inputs.object_attributes(rng, len(parts))
    given = {name: np.split(a, cuts) for name, a in item.attributes.items()}
    if rng.random() < 0.2:
        values, name = chunk_number(rng, n, note)
        runs = np.repeat(rng.integers(0, 3, n // 7 + 1), 7)[:n]
        values = np.unique(values)[runs % len(np.unique(values))]
        given[name] = np.split(values, cuts)
        item.attributes[name] = values.astype(object) if values.dtype.kind == "U" else values
        options["chunk_by_attribute"] = name
        unshard(options, note)
    if rng.random() < 0.5:
        item.groups = inputs.groups(rng, item.ids())
        options["groups"] = item.groups
    write_polylines(
        str(path), parts, chunk_shape=chunk, dtype=dtype, geometry_type=kind, bin_shape=bins(rng, chunk),
        vertex_attributes=given, object_attributes=dict(item.object_attributes) or None, **options,
    )
    return item


def graph(rng, path: Path) -> Input:
    from zarr_vectors.types.graphs import write_graph

    dims = int(rng.choice([2, 3, 3, 4]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    n = int(rng.integers(2, 400))
    dtype = inputs.position_dtype(rng)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    positions = inputs.scatter(rng, n, low, high, chunk, dtype)
    # Near neighbours along the first axis, a few far ones, self loops and duplicates.
    order = np.argsort(positions[:, 0], kind="stable")
    m = int(rng.integers(0, 2 * n))
    at = rng.integers(0, n, m)
    edges = np.stack([order[at], order[np.clip(at + rng.integers(-3, 4, m), 0, n - 1)]], 1).astype("i8")
    if m > 4:
        edges[0, 1] = edges[0, 0]
        edges[1] = edges[2]
        edges[3] = edges[2][::-1]
    item = Input("graph", positions, chunk, links=edges, notes=note)
    item.attributes = inputs.attributes(rng, n, categories=False, texts=True)
    if m and rng.random() < 0.7:
        item.link_attributes["weight"] = rng.normal(size=m).astype(rng.choice(["f4", "f8"]))
        if rng.random() < 0.5:
            item.link_attributes["pair"] = rng.integers(0, 100, (m, 2)).astype("i2")
    of_row = np.zeros(n, "i8")
    if rng.random() < 0.7:
        of_row = rng.choice(inputs.ids(rng, int(rng.integers(1, 8))), n)
        options["object_ids"] = of_row
        note.append("ids")
    item.objects = {int(k): np.flatnonzero(of_row == k) for k in np.unique(of_row)}
    item.object_attributes = inputs.object_attributes(rng, len(item.objects))
    write_graph(
        str(path), positions, edges, chunk_shape=chunk, dtype=dtype, vertex_attributes=dict(item.attributes),
        link_attributes=dict(item.link_attributes) or None, object_attributes=dict(item.object_attributes) or None, **options,
    )
    return item


def tree(rng, n: int, low, high, chunk, *, root_first: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A random rooted tree in space: positions and (child, parent) edges, numbered anyhow but for the root."""
    parent = np.full(n, -1)
    place = np.empty((n, len(low)))
    place[0] = rng.uniform(low, high)
    for k in range(1, n):
        parent[k] = k - 1 if rng.random() < 0.8 else rng.integers(0, k)
        place[k] = np.clip(place[parent[k]] + rng.normal(size=len(low)) * np.asarray(chunk) * 0.2, low, high)
    name = np.append(0, 1 + rng.permutation(n - 1)) if root_first else rng.permutation(n)
    edges = np.stack([name[1:], name[parent[1:]]], 1) if n > 1 else np.zeros((0, 2), "i8")
    positions = np.empty_like(place)
    positions[name] = place
    return positions, rng.permutation(edges)


def depth_first(n: int, edges: np.ndarray) -> np.ndarray:
    """Rank of each node in the order the package writes a tree: preorder from the first root, the rest by number."""
    children: dict[int, list[int]] = {}
    for child, parent in edges.tolist():
        children.setdefault(parent, []).append(child)
    inner = set(edges[:, 0].tolist())
    order, seen, stack = [], set(), [next(k for k in range(n) if k not in inner)]
    while stack:
        node = stack.pop()
        order.append(node)
        seen.add(node)
        stack += children.get(node, [])[::-1]
    order += [k for k in range(n) if k not in seen]
    rank = np.empty(n, "i8")
    rank[order] = np.arange(n)
    return rank


def skeleton(rng, path: Path) -> Input:
    from zarr_vectors.types.graphs import write_graph

    dims = int(rng.choice([2, 3, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    dtype = inputs.position_dtype(rng)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    names = inputs.ids(rng, int(rng.integers(1, 6)))
    parts, edges, of_row, start = [], [], [], 0
    for name in names:
        place, links = tree(rng, int(rng.integers(1, 150)), low, high, chunk, root_first=start > 0)
        parts.append(place)
        edges.append(links + start)
        of_row.append(np.full(len(place), name))
        start += len(place)
    positions = inputs.store_as(np.concatenate(parts), dtype)
    item = Input("skeleton", positions, chunk, links=np.concatenate(edges).astype("i8"), notes=note)
    owner = np.concatenate(of_row)
    item.walk = depth_first(len(positions), item.links)
    item.objects = {int(k): np.flatnonzero(owner == k) for k in np.unique(owner)}
    item.attributes = inputs.attributes(rng, len(positions), categories=False, texts=True)
    item.object_attributes = inputs.object_attributes(rng, len(item.objects))
    if rng.random() < 0.5 and len(item.links):
        item.link_attributes["weight"] = rng.normal(size=len(item.links)).astype("f4")
        item.links_partly_implied = True
    write_graph(
        str(path), positions, item.links, kind="skeleton", chunk_shape=chunk, dtype=dtype, object_ids=owner,
        vertex_attributes=dict(item.attributes), link_attributes=dict(item.link_attributes) or None,
        object_attributes=dict(item.object_attributes) or None, **options,
    )
    return item


def skeleton_streamed(rng, path: Path) -> Input:
    """Chunk by chunk, as independent workers do it: links across chunks point from parent to child (T5)."""
    import streamed

    return streamed.write(rng, path, tree)


def mesh(rng, path: Path) -> Input:
    from zarr_vectors.types.meshes import write_mesh

    dims = int(rng.choice([2, 3, 3, 3]))
    chunk, low, high = inputs.layout(rng, dims, cells=4)
    dtype = inputs.position_dtype(rng)
    note = [f"{dims}-D {dtype}"]
    options = storage(rng, dims, note)
    width = int(rng.choice([3, 3, 4]))
    parts, faces, of_row, start = [], [], [], 0
    for name in inputs.ids(rng, int(rng.integers(1, 4))):
        rows, columns = int(rng.integers(2, 12)), int(rng.integers(2, 12))
        u, v = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
        sheet = np.stack([u, v, np.sin(3 * u) * v][:dims], -1).reshape(-1, dims)
        sheet = low + (high - low) * (0.9 * sheet + 0.1 * rng.random(sheet.shape))
        at = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
        quads = np.stack([at, at + 1, at + columns + 1, at + columns], 1)
        cells = quads if width == 4 else np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        turn = rng.integers(0, width, len(cells))
        faces.append(np.stack([cells[np.arange(len(cells)), (turn + k) % width] for k in range(width)], 1) + start)
        parts.append(sheet)
        of_row.append(np.full(len(sheet), name))
        start += len(sheet)
    positions = inputs.store_as(np.concatenate(parts), dtype)
    owner = np.concatenate(of_row)
    item = Input("mesh", positions, chunk, links=rng.permutation(np.concatenate(faces)).astype("i8"), notes=note)
    item.objects = {int(k): np.flatnonzero(owner == k) for k in np.unique(owner)}
    item.attributes = inputs.attributes(rng, len(positions), categories=False, texts=True)
    item.object_attributes = inputs.object_attributes(rng, len(item.objects))
    write_mesh(
        str(path), positions, item.links, chunk_shape=chunk, dtype=dtype, object_ids=owner,
        vertex_attributes=dict(item.attributes), object_attributes=dict(item.object_attributes) or None, **options,
    )
    return item


def empty(rng, path: Path) -> Input:
    """A level with its arrays and no cells."""
    from zarr_vectors.types.graphs import write_graph
    from zarr_vectors.types.points import write_points

    kind = str(rng.choice(["point_cloud", "graph"]))
    none = np.zeros((0, 3), "f4")
    box = ([0.0] * 3, [20.0] * 3)
    item = Input(kind, none, (10.0,) * 3, notes=["empty"])
    if kind == "graph":
        item.objects, item.links = {}, np.zeros((0, 2), "i8")
        write_graph(str(path), none, item.links, chunk_shape=item.chunk, bounds=box)
    else:
        write_points(str(path), none, chunk_shape=item.chunk, bounds=box)
    return item


def afterwards(rng, path: Path, item: Input) -> None:
    """What people do to a finished store: cut it into shards; an older object index where ids allow it."""
    from zarr_vectors.sharding import shard_store

    if "gene" not in item.attributes and not any("shard" in n for n in item.notes) and rng.random() < 0.15:
        shard_store(str(path), shard_shape=2)
        item.notes.append("sharded afterwards")
    dense = item.objects is not None and item.ids() == list(range(len(item.objects)))
    index = path / "0" / "object_index" / "zarr.json"
    if dense and index.exists() and rng.random() < 0.3:
        document = json.loads(index.read_text())
        document["attributes"]["layout"] = "vlen_manifests_v1"
        index.write_text(json.dumps(document))
        item.notes.append("object index v1")


MAKERS = {
    "points": points,
    "points, odd cells": points_misplaced,
    "lines": lines,
    "polylines": polylines,
    "graph": graph,
    "skeleton": skeleton,
    "skeleton, streamed": skeleton_streamed,
    "mesh": mesh,
    "empty": empty,
}
