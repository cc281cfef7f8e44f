"""Stores of format 0.9.4: dense manifests, additive levels, required capabilities. One grid of byte strings a family."""

import numpy as np

from made_bytes import manifest
from made_case import Case, Cells, by_chunk, by_object, by_path, chunks_of, key
from made_old import CHUNK, objects_truth, root as older_root


def root(case: Case, version: str, **options) -> None:
    older_root(case, version, **options)


def level(case: Case, number: int, count: int, **more) -> None:
    meta = {
        "level": number,
        "object_sparsity": 1.0,
        "vertex_count": count,
        "coarsening_method": "manual" if number else "none",
        "parent_level": number - 1 if number else None,
        "arrays_present": ["vertices"],
    }
    case.nodes.group(str(number), {"zarr_vectors_level": meta | more})


def grid(case: Case, path: str, blobs: dict, attributes: dict, *, extent, codec="none", shards=None) -> None:
    """One chunk-grid array whose grid spans the chunks `extent` = (first, last)."""
    low, high = (np.asarray(corner) for corner in extent)
    meta = {"nonempty_chunks": sorted(map(key, blobs)), **attributes}
    if low.any():
        meta["chunk_grid_origin"] = low.tolist()
    elements = {tuple(int(c) for c in np.asarray(chunk) - low): blob for chunk, blob in blobs.items()}
    case.nodes.grid(path, (high - low + 1).tolist(), elements, codec=codec, attributes=meta, shards=shards)


def span(cells: Cells) -> tuple:
    chunks = np.array([list(chunk) for chunk in cells.rows])
    return chunks.min(0), chunks.max(0)


def cut(case: Case, number: int, cells: Cells, *, attributes=(), extent=None, **options) -> None:
    """Vertices, fragment indexes and vertex attributes of one level."""
    extent = extent or span(cells)
    meta = {"zv_array": "vertices", "dtype": case.positions.dtype.name, "encoding": "raw"}
    grid(case, f"{number}/vertices", cells.vertices(case.positions), meta, extent=extent, **options)
    meta = {"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}
    grid(case, f"{number}/vertex_fragments", cells.index(), meta, extent=extent, **options)
    for name in attributes:
        case.nodes.group(f"{number}/vertex_attributes")
        values = case.truth[f"attr_{name}"]
        meta = {"zv_array": "attribute", "name": name, "dtype": values.dtype.name, "row_shape": list(values.shape[1:])}
        grid(case, f"{number}/vertex_attributes/{name}", cells.column(values), meta, extent=extent, **options)


def dense(case: Case, at: str, ids, manifests: list, *, bucket=16384, residue=(), hole=0, shards=None, word=True, table=True) -> None:
    """`dense_manifests_v1`: spans and blocks. `residue` are manifests past the commit; `hole` blocks belong to nobody."""
    rank = len(case.positions[0])
    blocks, spans = [[-1] * (rank + 1)] * hole, []
    for pieces in [*manifests, *residue]:
        expanded = [(chunk, f) for chunk, which in pieces for f in ([which] if isinstance(which, int) else which)]
        spans.append([len(blocks) if pieces else 0, len(expanded)])
        blocks += [[*chunk, f] for chunk, f in expanded]
    meta = {
        "zv_array": "object_index",
        "num_objects": len(manifests),
        "num_present": sum(bool(pieces) for pieces in manifests),
        "sid_ndim": rank,
    }
    if word:
        meta["layout"] = "dense_manifests_v1"
    case.nodes.group(f"{at}/object_index", meta)
    case.nodes.array(f"{at}/object_index/manifest_spans", np.array(spans, "i8"), chunks=(bucket, 2), shards=shards)
    found = np.array(blocks, "i8").reshape(-1, rank + 1)
    case.nodes.array(f"{at}/object_index/manifest_blocks", found, chunks=(bucket, rank + 1), shards=shards)
    if table:
        case.nodes.array(f"{at}/object_index/object_ids", np.asarray(ids, "i8"))


def rows_index(case: Case, at: str, ids, manifests: list) -> None:
    """`vlen_manifests_v2`: a manifest a row and the table of ids."""
    meta = {
        "zv_array": "object_index",
        "num_objects": len(manifests),
        "num_present": sum(bool(pieces) for pieces in manifests),
        "sid_ndim": len(case.positions[0]),
        "layout": "vlen_manifests_v2",
    }
    case.nodes.group(f"{at}/object_index", meta)
    blobs = {(k,): manifest(pieces) for k, pieces in enumerate(manifests)}
    case.nodes.grid(f"{at}/object_index/manifests", [len(manifests)], blobs, codec="zstd", chunks=[len(manifests)])
    case.nodes.array(f"{at}/object_index/object_ids", np.asarray(ids, "i8"))


def object_attribute(case: Case, at: str, name: str, values) -> None:
    values = np.asarray(values)
    meta = {"zv_array": "object_attribute", "name": name, "dtype": values.dtype.name, "shape": list(values.shape), "fill_sentinel_meaning": "absent"}
    fill = np.nan if values.dtype.kind == "f" else np.iinfo(values.dtype).min
    case.nodes.group(f"{at}/object_attributes")
    case.nodes.array(f"{at}/object_attributes/{name}", values, fill=fill, attributes=meta)


def owned(case: Case, n: int, ids, low, high) -> None:
    """Random points of random owners."""
    case.positions = case.scatter(n, low, high)
    owner = case.rng.choice(ids, n)
    case.objects = {int(k): np.flatnonzero(owner == k).tolist() for k in ids}


# -- the stores


def dense_points() -> Case:
    """Dense manifests with sparse and negative ids, residue past the commit, blocks nobody owns, several chunks of blocks."""
    case = Case("dense_points", "point_cloud", 941)
    ids = [-7, 3, 12, 400, 2**40]
    owned(case, 140, ids, [-15, 0, 0], [24, 19, 15])
    case.attribute("mass", case.rng.random(140).astype("f4"))
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.9.4", convention="implicit_sequential", format_capabilities=["dense_manifests"], manifest_layout="dense")
    level(case, 0, 140)
    cut(case, 0, cells, attributes=["mass"], codec="zstd")
    # Rows in an order of their own; the row of id 12 is never read past the commit.
    order = [400, -7, 12, 2**40, 3]
    dense(case, "0", order, [manifests[k] for k in order], bucket=8, hole=5, residue=[[((0, 0, 0), 99)], []])
    score = case.rng.random(5).astype("f4")
    object_attribute(case, "0", "score", score)
    objects_truth(case, order, score=score)
    case.ask(0, range(140))
    return case


def dense_rows() -> Case:
    """Dense manifests without ids (rows are ids), an empty one, one span of zeros; no word for the layout; sharded arrays."""
    case = Case("dense_rows", "streamline", 942)
    lengths = [12, 18, 9, 25]
    case.positions = case.walks(lengths, 0.0, 30.0, 3.0)
    ends = np.cumsum([0, *lengths])
    case.objects = {n: list(range(ends[k], ends[k + 1])) for k, n in enumerate([0, 1, 3, 4])}
    cells = Cells()
    manifests = by_path(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.9.4", convention="implicit_sequential", manifest_layout="dense")
    level(case, 0, sum(lengths), fragments_tile=True)
    cut(case, 0, cells)
    dense(case, "0", None, [manifests.get(k, []) for k in range(5)], bucket=4, shards=(4, 1), word=False, table=False)
    case.ask(0, range(sum(lengths)))
    return case


def additive_points() -> Case:
    """Three levels, each holding only what the next lacks; an attribute that only level 0 has."""
    case = Case("additive_points", "point_cloud", 943)
    case.positions = case.scatter(150, [-12, -12, 0], [21, 21, 9])
    case.attribute("mass", case.rng.random(150).astype("f4"))
    parts = {0: range(0, 90), 1: range(90, 130), 2: range(130, 150)}
    root(
        case, "0.9.4", convention="implicit_sequential", levels=[CHUNK, CHUNK], required_capabilities=["additive_levels"],
        cross_level_depth=0, cross_level_storage="none",
    )
    fine = case.rng.integers(1, 99, 150).astype("i2")
    for number, rows in parts.items():
        cells = Cells()
        by_chunk(cells, chunks_of(case.positions, CHUNK), rows)
        level(case, number, len(rows), refinement="add" if number < 2 else "replace")
        cut(case, number, cells, attributes=["mass"])
        if number == 0:
            meta = {"zv_array": "attribute", "name": "fine", "dtype": "int16", "row_shape": []}
            grid(case, "0/vertex_attributes/fine", cells.column(fine), meta, extent=span(cells))
        case.ask(number, [row for k, part in parts.items() if k >= number for row in part], boxes=2)
        case.ask(number, rows, own=True, boxes=1)
    case.more["nulls"] = {"fine": {str(row): int(fine[row]) for row in parts[0]}}
    return case


MAKERS = {"0.9.4": [dense_points, dense_rows, additive_points]}
