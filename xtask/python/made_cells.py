"""Writers of format 0.8: links across chunks in cells, flat arrays with fill values, native grids. Sections of the 0.8 page."""

from collections import defaultdict

import numpy as np

from made_bytes import canonical, fragments, i64, lehmer, ragged
from made_case import Case, Cells
from made_nodes import key


def placements(ends, *, directed: bool, store: str) -> list[list[int]]:
    """Where a record is stored (9.3): for each copy the input position of every stored endpoint."""
    if store == "duplicate":
        leads, found = set(), []
        for k in canonical(ends):
            if ends[k][0] not in leads:
                leads.add(ends[k][0])
                found.append([k, *(j for j in range(len(ends)) if j != k)])
        return found
    return [list(range(len(ends)))] if directed else [canonical(ends)]


def family(case: Case, at: str, delta: str, records, *, form="blobs", directed=None, store=None, attributes=None, codec="none", shards=2) -> None:
    """One family of cells; `attributes` are columns parallel to the records. Without `store` it is of 0.8.0 (9.5)."""
    rows, numbers = defaultdict(list), defaultdict(list)
    for number, ends in enumerate(records):
        for order in placements(ends, directed=bool(directed), store=store or "canonical"):
            cell = tuple(int(c) for k in order for c in ends[k][0])
            rows[cell].append(i64([lehmer(order), *(ends[k][1] for k in order)]))
            numbers[cell].append(number)
    width, rank = len(records[0]), len(records[0][0][0])
    meta = {"zv_array": "cross_chunk_links", "sid_ndim": rank, "level_delta": int(delta), "link_width": width, "num_links": len(records)}
    if store:
        meta |= {"num_physical_records": sum(map(len, rows.values())), "directed": bool(directed), "store": store}
    path = f"{at}/cross_chunk_links/{delta}"
    cells(case, path, meta, {cell: ragged(found) for cell, found in rows.items()}, form, codec, shards)
    for name, values in (attributes or {}).items():
        values = np.asarray(values)
        meta = {
            "zv_array": "cross_chunk_link_attribute",
            "name": name,
            "dtype": values.dtype.name,
            "level_delta": int(delta),
            "num_links": len(records),
            "row_shape": list(values.shape[1:]),
        }
        blobs = {cell: values[found].tobytes() for cell, found in numbers.items()}
        form = "blobs" if form == "packed" else form
        cells(case, f"{at}/cross_chunk_link_attributes/{name}/{delta}", meta, blobs, form, codec, shards)


def cells(case: Case, path: str, meta: dict, blobs: dict, form: str, codec: str, shards: int) -> None:
    """Blobs by cell as a group (3.1), a grid (3.4) or one packed array (9.8)."""
    if form == "blobs":
        case.nodes.blobs(path, meta, blobs, codec=codec)
    elif form == "grid":
        native(case, path, meta, blobs, shards=shards)
    else:
        keys = sorted(blobs, key=key)
        meta = {**meta, "layout": "packed_sharded", "cell_keys": [key(k) for k in keys]}
        case.nodes.grid(path, [len(keys)], {(n,): blobs[k] for n, k in enumerate(keys)}, codec="zstd", attributes=meta, shards=[16])


def native(case: Case, path: str, meta: dict, blobs: dict, *, shards: int = 2) -> None:
    """A grid from 0 with `shards` cells along every axis of a shard (3.4)."""
    shape = (np.max([list(chunk) for chunk in blobs], 0) + 1).tolist()
    meta = {"nonempty_chunks": sorted(key(chunk) for chunk, blob in blobs.items() if blob), **meta}
    case.nodes.grid(path, shape, blobs, codec="zstd", attributes=meta, shards=[min(shards, n) for n in shape] if shards else None)


def body(case: Case, cells_of: Cells, at: str, *, form="blobs", codec="none", dtype=None, attributes=(), shards=2) -> None:
    """Vertices, fragment indexes and vertex attributes; `dtype` is what the document says."""
    families = {
        "vertices": ({"zv_array": "vertices", "dtype": dtype or case.positions.dtype.name, "encoding": "raw"}, cells_of.column(case.positions)),
        "vertex_fragments": ({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}, cells_of.index()),
    }
    for name in attributes:
        values = case.truth[f"attr_{name}"]
        families[f"vertex_attributes/{name}"] = {"zv_array": "attribute", "name": name, "dtype": values.dtype.name}, cells_of.column(values)
    for path, (meta, blobs) in families.items():
        if form == "grid":
            native(case, f"{at}/{path}", meta, blobs, shards=shards)
        else:
            case.nodes.blobs(f"{at}/{path}", meta, blobs, codec=codec)


def links(case: Case, cells_of: Cells, at: str, ends, *, form="blobs", attributes=(), moved=0, shards=2, **options) -> None:
    """All links of delta 0: flat rows inside chunks, cells across. `moved` of those inside a chunk are cell records too."""
    ends = np.asarray(ends, "i8")
    inside, across = cells_of.split(ends)
    for chunk in sorted(inside)[:moved]:
        across += inside.pop(chunk)
    meta = {"zv_array": "links", "dtype": "int64", "link_width": ends.shape[1], "level_delta": 0}
    rows = {chunk: i64([cells_of.local(ends[n]) for n in found]) for chunk, found in inside.items()}
    index = {chunk: fragments([(0, len(found))]) for chunk, found in inside.items()}
    told = {"zv_array": "link_fragments", "encoding": "fragment_index_v1"}
    flat = [(f"{at}/links/0", meta, rows), (f"{at}/link_fragments", told, index)]
    for name in attributes:
        values = case.truth[f"link_{name}"]
        meta = {"zv_array": "link_attribute", "name": name, "dtype": values.dtype.name, "level_delta": 0}
        flat.append((f"{at}/link_attributes/{name}/0", meta, {chunk: values[found].tobytes() for chunk, found in inside.items()}))
    for path, meta, blobs in flat:
        if form == "grid":
            native(case, path, meta, blobs, shards=shards)
        else:
            case.nodes.blobs(path, meta, blobs)
    columns = {name: case.truth[f"link_{name}"][across] for name in attributes}
    family(case, at, "0", [cells_of.record(ends[n]) for n in across], form=form, attributes=columns, shards=shards, **options)


def sentinel(dtype: np.dtype):
    """The default mark of absence (10.2)."""
    if dtype.kind == "f":
        return np.nan
    if dtype.kind == "U":
        return ""
    return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def object_attribute(case: Case, at: str, name: str, values, absent=()) -> None:
    """A plain array; the rows `absent` hold the fill value (10.2)."""
    values = np.array(values)
    fill = sentinel(values.dtype)
    values[list(absent)] = fill
    meta = {
        "zv_array": "object_attribute",
        "name": name,
        "dtype": values.dtype.str.strip("<|") if values.dtype.kind == "U" else values.dtype.name,
        "shape": list(values.shape),
        "fill_sentinel_meaning": "absent",
    }
    case.nodes.array(f"{at}/object_attributes/{name}", values, fill=fill, attributes=meta)


def groups(case: Case, at: str, members: list, ranges=None) -> None:
    """A ragged array; a group of `ranges` has an empty element (10.3)."""
    ranges = ranges or {}
    elements = {(g,): b"" if g in ranges else i64(found) for g, found in enumerate(members)}
    meta = {"zv_array": "groups", "num_groups": len(members)}
    if ranges:
        meta["group_ranges"] = {str(g): list(ends) for g, ends in ranges.items()}
    case.nodes.grid(f"{at}/groups", [len(members)], elements, codec="zstd", chunks=[len(members)], attributes=meta)
    case.groups = {g: list(range(*ranges[g])) if g in ranges else list(found) for g, found in enumerate(members)}
