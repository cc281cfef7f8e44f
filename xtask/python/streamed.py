"""Skeletons written chunk by chunk, the way a cluster of workers does it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import inputs
from inputs import Input


def write(rng, path: Path, tree) -> Input:
    from zarr_vectors.core.arrays import create_object_attributes_array, write_object_attributes, write_object_index
    from zarr_vectors.types import skeletons

    dims = 3
    chunk, low, high = inputs.layout(rng, dims, cells=3)
    parts, edges, of_row, start = [], [], [], 0
    for segment in sorted(int(k) for k in rng.integers(1, 2**50, int(rng.integers(1, 5)))):
        place, links = tree(rng, int(rng.integers(1, 80)), low, high, chunk)
        parts.append(place)
        edges.append(links + start)
        of_row.append(np.full(len(place), segment))
        start += len(place)
    # Quarters are exact in float32 and stay exact when the offset is added.
    positions = (np.round(np.concatenate(parts) * 4) / 4).astype("f4")
    segments, links = np.concatenate(of_row), np.concatenate(edges).astype("i8")
    n = len(positions)
    item = Input("skeleton", positions, chunk, links=links, notes=["3-D f4", "streamed"])
    item.attributes = {"id": np.arange(n, dtype="i4"), "radius": rng.random(n).astype("f4")}
    if rng.random() < 0.5:
        item.offset = np.round(rng.uniform(-500, 500, dims))
        item.notes.append("offset")

    cell = np.floor(positions.astype("f8") / np.asarray(chunk)).astype("i8")
    bounds = (positions.min(0).tolist(), positions.max(0).tolist())
    root, level = skeletons.init_skeleton_store(
        path, chunk_shape=chunk, bounds=bounds, ndim=dims, attribute_dtypes={"id": "int32", "radius": "float32"},
        coordinate_offset=None if item.offset is None else item.offset.tolist(),
        compressor=None if rng.random() < 0.5 else "zstd",
    )
    parent = np.full(n, -1, "i8")
    parent[links[:, 0]] = links[:, 1]
    manifests: dict[int, list] = {}
    anchors: dict[int, tuple] = {}
    names = sorted(set(segments.tolist()))
    for coordinate in sorted(set(map(tuple, cell.tolist()))):
        here = np.flatnonzero((cell == coordinate).all(1))
        records, found = skeletons.write_skeleton_chunk(level, coordinate, _pieces(here, segments, parent, item))
        anchors.update(found)
        for segment, where, fragment in records:
            manifests.setdefault(names.index(segment), []).append((where, fragment))
    far = [k for k in range(n) if parent[k] >= 0 and (cell[k] != cell[parent[k]]).any()]
    skeletons.write_skeleton_cross_chunk_links(level, [(anchors[int(parent[k])], anchors[k]) for k in far], ndim=dims)
    write_object_index(level, manifests, sid_ndim=dims)
    item.object_attributes["segment_id"] = np.array(names, "u8")
    create_object_attributes_array(level, "segment_id")
    write_object_attributes(level, "segment_id", item.object_attributes["segment_id"])
    skeletons.finalize_skeleton_store(root)
    item.objects = {k: np.flatnonzero(segments == name) for k, name in enumerate(names)}
    return item


def _pieces(here, segments, parent, item) -> list[dict]:
    """The connected pieces of each skeleton inside one chunk."""
    local = {int(row): k for k, row in enumerate(here)}
    top = {}
    for row in here:
        up = int(row)
        while int(parent[up]) in local:
            up = int(parent[up])
        top[int(row)] = up
    pieces = []
    for root in sorted(set(top.values())):
        rows = [int(row) for row in here if top[int(row)] == root]
        index = {row: k for k, row in enumerate(rows)}
        inner = [(index[row], index[int(parent[row])]) for row in rows if int(parent[row]) in index]
        pieces.append({
            "segment_id": int(segments[root]),
            "positions": item.positions[rows],
            "edges": np.array(inner, "i8").reshape(-1, 2),
            "attributes": {name: values[rows] for name, values in item.attributes.items()},
            "anchors": {row: index[row] for row in rows},
        })
    return pieces
