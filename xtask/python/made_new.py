"""Stores of format 0.9.4: dense manifests, additive levels, required capabilities. One grid of byte strings a family."""

from functools import partial

import numpy as np

from made_bytes import canonical, fragments, i64, lehmer, manifest, ragged
from made_case import Case, Cells, by_chunk, by_object, by_path, chunks_of, key
from made_old import CHUNK, level as older_level, objects_truth, root


level = partial(older_level, method="manual")


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
    case.more["warnings"] = ["num_objects"]
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
    case.more["warnings"] = ["attribute fine"]
    case.more["nulls"] = {"fine": {str(row): int(fine[row]) for row in parts[0]}}
    return case


def additive_streamlines() -> Case:
    """Objects live at one level each; a level keeps an empty row for those that live higher up."""
    case = Case("additive_streamlines", "streamline", 944)
    lengths = [15, 22, 9, 18, 26]
    case.positions = case.walks(lengths, -14.0, 18.0, 2.5)
    ends = np.cumsum([0, *lengths])
    ids = [-3, 2, 5, 40, 41]
    every = {n: list(range(ends[k], ends[k + 1])) for k, n in enumerate(ids)}
    case.attribute("fa", case.rng.random(sum(lengths)).astype("f4"))
    case.objects = every
    score = case.rng.random(5).astype("f4")
    objects_truth(case, ids, score=score)
    root(
        case, "0.9.4", convention="implicit_sequential", levels=[CHUNK], required_capabilities=["additive_levels"], cross_level_depth=0,
        cross_level_storage="none",
    )
    for number, here in ((0, [-3, 5, 41]), (1, [2, 40])):
        cells = Cells()
        manifests = by_path(cells, chunks_of(case.positions, CHUNK), {n: every[n] for n in here})
        rows = [row for n in here for row in every[n]]
        level(case, number, len(rows), refinement="replace" if number else "add", preserves_object_ids=bool(number), inherited_num_objects=5)
        cut(case, number, cells, attributes=["fa"], codec="zstd")
        rows_index(case, str(number), ids, [manifests.get(n, []) for n in ids])
        object_attribute(case, str(number), "score", score)
        case.ask(number, [row for row in range(sum(lengths)) if number == 0 or row in set(rows)], boxes=2)
        case.ask(number, rows, own=True, boxes=2)
    case.more["own_objects"] = {"0": [-3, 5, 41], "1": [2, 40]}
    return case


def additive_graph() -> Case:
    """Links of a coarser level are numbered behind those of the finer one."""
    case = Case("additive_graph", "graph", 945)
    case.positions = case.scatter(60, [-14, 0, 0], [14, 14, 9])
    parts = {0: range(0, 40), 1: range(40, 60)}
    edges = [
        np.unique(np.sort(case.rng.integers(part.start, part.stop, (2 * len(part), 2)), 1), axis=0) for part in parts.values()
    ]
    case.truth["edges"] = np.concatenate([found[found[:, 0] != found[:, 1]] for found in edges]).astype("i8")
    case.truth["link_weight"] = case.rng.random(len(case.truth["edges"])).astype("f4")
    root(
        case, "0.9.3", convention="explicit", levels=[CHUNK], required_capabilities=["additive_levels"], cross_level_depth=0,
        cross_level_storage="none",
    )
    for number, rows in parts.items():
        cells = Cells()
        by_chunk(cells, chunks_of(case.positions, CHUNK), rows)
        level(case, number, len(rows), refinement="replace" if number else "add")
        cut(case, number, cells)
        mine = [k for k, ends in enumerate(case.truth["edges"]) if ends[0] in rows]
        links(case, number, cells, case.truth["edges"][mine], {"weight": case.truth["link_weight"][mine]})
        case.ask(number, range(rows.start, 60), boxes=2)
        case.ask(number, rows, own=True, boxes=1)
    return case


def links(case: Case, number: int, cells: Cells, ends, attributes: dict) -> None:
    """The family `links/0` of 0.9 (13): undirected, canonical, with attributes in the same cells."""
    extent = span(cells)
    records, values = {}, {}
    for k, pair in enumerate(ends):
        found = cells.record(pair)
        order = canonical(found) if found[0][0] != found[1][0] else [0, 1]
        source, other = found[order[0]][0], found[order[1]][0]
        step = tuple(int(b - a) for a, b in zip(source, other))
        row = [found[j][1] for j in order]
        records.setdefault(step, {}).setdefault(source, []).append([lehmer(order), *row] if any(step) else row)
        values.setdefault(step, {}).setdefault(source, []).append(k)
    rank = len(extent[0])
    meta = {"zv_array": "links_family", "level_delta": 0, "link_width": 2, "directed": False, "store": "canonical", "sid_ndim": rank}
    case.nodes.group(f"{number}/links")
    case.nodes.group(f"{number}/links/0", meta | {"num_links": len(ends), "num_physical_records": len(ends)})
    for name in attributes:
        case.nodes.group(f"{number}/link_attributes")
        case.nodes.group(f"{number}/link_attributes/{name}")
        meta = {"zv_array": "link_attribute_family", "name": name, "level_delta": 0, "num_links": len(ends)}
        case.nodes.group(f"{number}/link_attributes/{name}/0", meta)
    for step, cells_of in records.items():
        segment = ".".join(f"{c:+}" if c else "0" for c in step)
        meta = {"zv_array": "links", "dtype": "int64", "offsets": [list(step)], "has_perm": any(step), "link_width": 2, "level_delta": 0}
        blobs = {chunk: ragged([i64(rows)]) if any(step) else i64(rows) for chunk, rows in cells_of.items()}
        grid(case, f"{number}/links/0/{segment}", blobs, meta, extent=extent)
        if not any(step):
            index = {chunk: fragments([(0, len(rows))]) for chunk, rows in cells_of.items()}
            grid(case, f"{number}/link_fragments", index, {"zv_array": "link_fragments", "encoding": "fragment_index_v1"}, extent=extent)
        for name, column in attributes.items():
            meta = {
                "zv_array": "link_attribute", "name": name, "dtype": column.dtype.name, "offsets": [list(step)], "level_delta": 0,
                "row_shape": list(column.shape[1:]),
            }
            blobs = {chunk: column[numbers].tobytes() for chunk, numbers in values[step].items()}
            grid(case, f"{number}/link_attributes/{name}/0/{segment}", blobs, meta, extent=extent)


def newer() -> Case:
    """A version nobody knows, every node of a known form: read, with a warning."""
    case = Case("newer", "point_cloud", 946)
    owned(case, 40, [1, 2], [0, 0, 0], [19, 9, 9])
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.9.9", convention="implicit_sequential", format_capabilities=["something_new"])
    level(case, 0, 40)
    cut(case, 0, cells)
    rows_index(case, "0", [1, 2], [manifests[k] for k in (1, 2)])
    case.more["warnings"] = ["0.9.9"]
    case.ask(0, range(40))
    return case


MAKERS = {"0.9.4": [dense_points, dense_rows, additive_points, additive_streamlines, additive_graph, newer]}
