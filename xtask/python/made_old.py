"""Stores of format 0.6 and 0.7: every blob an array of its own. Section numbers are of the 0.7 page."""

from collections import defaultdict

import numpy as np

from made_bytes import i64, manifest, ragged
from made_case import Case, Cells, by_bin, by_chunk, by_object, by_path, chunks_of
from made_nodes import key
from made_bytes import fragments

CHUNK = (10.0, 10.0, 10.0)


def root(case: Case, version: str, *, chunk=CHUNK, kinds=None, convention=None, bins=None, levels=(), bounds=None, top=None, **more) -> None:
    """The root group. `levels` are bin shapes above level 0; `top` goes beside `zarr_vectors`."""
    base = list(bins or chunk)
    low, high = bounds or (case.positions.astype("f8").min(0).tolist(), case.positions.astype("f8").max(0).tolist())
    meta = {
        "zv_version": version,
        "format_capabilities": [],
        "chunk_shape": list(chunk),
        "bounds": [list(low), list(high)],
        "geometry_types": kinds or [case.kind],
    }
    if bins:
        meta["base_bin_shape"] = list(bins)
    if convention:
        meta |= {"links_convention": convention, "object_index_convention": "standard", "cross_chunk_strategy": "explicit_links"}
    sets = []
    for number, shape in enumerate([base, *levels]):
        scale = {"type": "scale", "scale": [round(a / b, 6) for a, b in zip(shape, base)]}
        half = {"type": "translation", "translation": [a / 2 for a in shape]}
        sets.append({"path": str(number), "coordinateTransformations": [scale, half]})
    axes = [{"name": name, "type": "space"} for name in "xyzw"[: len(chunk)]]
    scales = {"version": "0.4", "name": "default", "axes": axes, "datasets": sets, "metadata": {"format": "zarr_vectors"}}
    case.nodes.group("", {"zarr_vectors": meta | more, "multiscales": [scales], **(top or {})})


def level(case: Case, number: int, count: int, *, method: str = "per_object", **more) -> None:
    meta = {
        "level": number,
        "object_sparsity": 1.0,
        "vertex_count": count,
        "coarsening_method": method if number else "none",
        "parent_level": number - 1 if number else None,
        "arrays_present": ["vertices"],
    }
    case.nodes.group(str(number), {"zarr_vectors_level": meta | more})


def vertices(case: Case, cells: Cells, at: str, positions, *, codec="none", elide=True) -> None:
    """`vertices` and `vertex_fragments` (7, 8.1)."""
    meta = {"zv_array": "vertices", "dtype": positions.dtype.name, "encoding": "raw"}
    case.nodes.blobs(f"{at}/vertices", meta, cells.vertices(positions), codec=codec, elide=elide)
    meta = {"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}
    case.nodes.blobs(f"{at}/vertex_fragments", meta, cells.index(), codec=codec, elide=elide)


def attribute(case: Case, cells: Cells, at: str, name: str, *, codec="none", elide=True, **more) -> None:
    """One vertex attribute (8.2); without a group node for `vertex_attributes` (2.4)."""
    values = case.truth[f"attr_{name}"]
    meta = {"zv_array": "attribute", "name": name, "dtype": values.dtype.name, **more}
    case.nodes.blobs(f"{at}/vertex_attributes/{name}", meta, cells.column(values), codec=codec, elide=elide)


def links(case: Case, cells: Cells, at: str, ends, *, codec="none", attributes=()) -> None:
    """Links of delta 0 (9.1, 9.2, 9.4, 9.5), without group nodes above the families."""
    ends = np.asarray(ends, "i8")
    width, rank = ends.shape[1], len(next(iter(cells.rows)))
    inside, across = cells.split(ends)
    meta = {"zv_array": "links", "dtype": "int64", "link_width": width, "level_delta": 0}
    rows = {chunk: i64([cells.local(ends[n]) for n in numbers]) for chunk, numbers in inside.items()}
    case.nodes.blobs(f"{at}/links/0", meta, rows, codec=codec)
    index = {chunk: fragments([(0, len(numbers))]) for chunk, numbers in inside.items()}
    case.nodes.blobs(f"{at}/link_fragments", {}, index, codec=codec)
    cross(case, at, "0", [cells.record(ends[n]) for n in across], width, rank, codec=codec)
    for name in attributes:
        values = case.truth[f"link_{name}"]
        meta = {"zv_array": "link_attribute", "name": name, "dtype": values.dtype.name, "level_delta": 0}
        found = {chunk: values[numbers].tobytes() for chunk, numbers in inside.items()}
        case.nodes.blobs(f"{at}/link_attributes/{name}/0", meta, found, codec=codec)
        meta = {
            "zv_array": "cross_chunk_link_attribute",
            "name": name,
            "dtype": values.dtype.name,
            "level_delta": 0,
            "num_links": len(across),
            "shape": [len(across), *values.shape[1:]],
        }
        case.nodes.group(f"{at}/cross_chunk_link_attributes/{name}/0", meta)
        case.nodes.blob(f"{at}/cross_chunk_link_attributes/{name}/0/data", values[across].tobytes(), codec=codec)


def cross(case: Case, at: str, delta: str, records, width: int, rank: int, *, codec="none") -> None:
    """The flat blob of all records of a delta (9.4); without a record the placeholder that claims width 2."""
    where = f"{at}/cross_chunk_links/{delta}"
    meta = {"zv_array": "cross_chunk_links", "level_delta": int(delta), "link_width": width if records else 2}
    if records:
        meta |= {"num_links": len(records), "sid_ndim": rank}
    case.nodes.group(where, meta)
    if records:
        case.nodes.blob(f"{where}/data", b"".join(i64(*chunk, row) for ends in records for chunk, row in ends), codec=codec)


def vlen_index(case: Case, at: str, manifests: list, rank: int) -> None:
    """`object_index/manifests` (10.1). An entry is a list of blocks."""
    meta = {"zv_array": "object_index", "num_objects": len(manifests), "sid_ndim": rank, "layout": "vlen_manifests_v1"}
    case.nodes.group(f"{at}/object_index", meta)
    blobs = {(k,): manifest(blocks) for k, blocks in enumerate(manifests)}
    case.nodes.grid(f"{at}/object_index/manifests", [len(manifests)], blobs, codec="zstd", chunks=[len(manifests)])


def split_index(case: Case, at: str, manifests: list, rank: int, *, codec="none", closed: bool = False) -> None:
    """`object_index/data` and `offsets` (10.2): n byte offsets, n+1 when `closed`."""
    case.nodes.group(f"{at}/object_index", {"zv_array": "object_index", "num_objects": len(manifests), "sid_ndim": rank})
    blobs = [manifest(blocks) for blocks in manifests]
    starts = np.cumsum([0, *map(len, blobs)])
    case.nodes.blob(f"{at}/object_index/data", b"".join(blobs), codec=codec)
    case.nodes.blob(f"{at}/object_index/offsets", i64(starts if closed else starts[:-1]), codec=codec)


def object_attribute(case: Case, at: str, name: str, values, *, mask=None, codec="zstd") -> None:
    """`object_attributes/<name>` (10.3): rows in id order; a row of mask 0 is zeros."""
    values = np.asarray(values)
    meta = {
        "zv_array": "object_attribute",
        "name": name,
        "dtype": values.dtype.name,
        "num_channels": 1,
        "shape": list(values.shape),
        "has_present_mask": mask is not None,
    }
    case.nodes.group(f"{at}/object_attributes/{name}", meta)
    if mask is not None:
        values = np.where(np.asarray(mask).reshape(-1, *[1] * (values.ndim - 1)), values, 0).astype(values.dtype)
        case.nodes.blob(f"{at}/object_attributes/{name}/present_mask", np.asarray(mask, "u1").tobytes(), codec=codec)
    case.nodes.blob(f"{at}/object_attributes/{name}/data", values.tobytes(), codec=codec)


def groups(case: Case, at: str, members: dict, *, codec="zstd") -> None:
    """`groups` (10.4): byte offsets, one a group. Zeros have no chunk (2.3)."""
    count = max(members) + 1
    lists = [members.get(g, []) for g in range(count)]
    starts = np.cumsum([0, *(8 * len(found) for found in lists)])[:-1]
    case.nodes.group(f"{at}/groups", {"zv_array": "groups", "num_groups": count})
    case.nodes.blob(f"{at}/groups/data", i64(*lists), codec=codec)
    case.nodes.blob(f"{at}/groups/offsets", i64(starts), codec=codec)
    case.groups = {g: found for g, found in enumerate(lists)}


def group_attribute(case: Case, at: str, name: str, values) -> None:
    values = np.asarray(values)
    meta = {"zv_array": "groupings_attribute", "name": name, "dtype": values.dtype.name, "num_channels": 1, "shape": list(values.shape)}
    case.nodes.group(f"{at}/group_attributes/{name}", meta)
    case.nodes.blob(f"{at}/group_attributes/{name}/data", values.tobytes(), codec="zstd")


def objects_truth(case: Case, ids, **columns) -> None:
    case.truth["object_ids"] = np.asarray(ids, "i8")
    for name, values in columns.items():
        case.truth[f"object_{name}"] = np.asarray(values)


# -- the stores


def points_06() -> Case:
    """Points of dense objects, one id without vertices, legacy object index, negative keys, mixed codecs."""
    case = Case("points", "point_cloud", 601)
    case.positions = case.scatter(120, [-18, -9, 0], [19, 24, 12])
    case.attribute("mass", case.rng.normal(size=120).astype("f4"))
    case.attribute("count", case.rng.integers(0, 999, 120).astype("u2"))
    owner = case.rng.choice([0, 1, 3, 4], 120)
    case.objects = {k: np.flatnonzero(owner == k).tolist() for k in (0, 1, 3, 4)}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.6.1", convention="implicit_sequential")
    level(case, 0, 120)
    mixed = ["none", "zstd", "blosc", "gzip"]
    vertices(case, cells, "0", case.positions, codec=mixed)
    for name in ("mass", "count"):
        attribute(case, cells, "0", name, codec=mixed)
    split_index(case, "0", [manifests.get(k, []) for k in range(5)], 3)
    score = np.array([0.5, -1.25, 0, 7, 1e9], "f4")
    object_attribute(case, "0", "score", score)
    objects_truth(case, [0, 1, 3, 4], score=score[[0, 1, 3, 4]])
    groups(case, "0", {0: [1, 4], 1: [], 2: [0, 3, 1]})
    case.ask(0, range(120))
    return case


def streamlines_06() -> Case:
    """Streamlines with the legacy index; records across chunks whose rows are all zero (12.4)."""
    case = Case("streamlines", "streamline", 602)
    lengths = [30, 1, 22, 45]
    case.positions = case.walks(lengths, -20.0, 20.0, 2.5)
    ends = np.cumsum([0, *lengths])
    case.objects = {k: list(range(ends[k], ends[k + 1])) for k in range(4)}
    case.attribute("fa", case.rng.random(sum(lengths)).astype("f4"))
    cells = Cells()
    manifests = by_path(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.6.0", convention="implicit_sequential")
    level(case, 0, sum(lengths))
    vertices(case, cells, "0", case.positions)
    attribute(case, cells, "0", "fa", codec="zstd")
    cross(case, "0", "0", zero_records(manifests), 2, 3)
    split_index(case, "0", [manifests[k] for k in range(4)], 3, codec="gzip")
    case.ask(0, range(sum(lengths)))
    return case


def zero_records(manifests: dict) -> list:
    """The records that writers of lines leave: the right chunks, row 0 at both ends."""
    found = []
    for pieces in manifests.values():
        for (a, _), (b, _) in zip(pieces, pieces[1:]):
            if a != b:
                found.append([(a, 0), (b, 0)])
    return found


def packed_points() -> Case:
    """Packed chunks (2.6): one array packed without codec, one with, one flat; a plain child beside the shards; ten digits."""
    case = Case("packed_points", "point_cloud", 701)
    case.positions = case.scatter(200, [-25, -15, -5], [25, 15, 5])
    case.attribute("mass", case.rng.normal(size=200).astype("f8"))
    case.attribute("flat", case.rng.integers(-100, 100, 200).astype("i2"))
    cells = Cells()
    by_bin(cells, case.positions, CHUNK, (5.0, 10.0, 10.0))
    root(case, "0.7.0", convention="implicit_sequential", bins=(5.0, 10.0, 10.0), top={"shard_layout": "octree", "shard_size": 4})
    level(case, 0, 200)
    keys = sorted(cells.rows)
    names = ["__shard_000000", "__shard_000001", "__shard_000007", "__shard_2147483647"]
    shards = {name: keys[k::4] for k, name in enumerate(names)}
    meta = {"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}
    case.nodes.packed("0/vertices", meta, cells.vertices(case.positions), shards=shards)
    meta = {"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}
    part = {name: [chunk for chunk in chunks if chunk != keys[0]] for name, chunks in shards.items()}
    case.nodes.packed("0/vertex_fragments", meta, cells.index(), shards=part, codec="zstd", plain=keys[:1])
    meta = {"zv_array": "attribute", "name": "mass", "dtype": "float64"}
    case.nodes.packed("0/vertex_attributes/mass", meta, cells.column(case.truth["attr_mass"]), shards=shards, codec="gzip")
    attribute(case, cells, "0", "flat")
    case.ask(0, range(200))
    return case


def packed_overlap() -> Case:
    """A key that is both a child and in a shard: the child wins (2.6)."""
    case = Case("packed_overlap", "point_cloud", 702)
    case.positions = case.scatter(40, [0, 0], [30, 10])
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, (10.0, 10.0)), range(40))
    root(case, "0.7.0", chunk=(10.0, 10.0), convention="implicit_sequential", top={"shard_layout": "snake", "shard_size": 8})
    level(case, 0, 40)
    keys = sorted(cells.rows)
    good = cells.vertices(case.positions)
    stale = good | {keys[0]: b"\x7f" * len(good[keys[0]])}
    meta = {"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}
    case.nodes.packed("0/vertices", meta, stale, shards={"__shard_000000": keys})
    case.nodes.blob(f"0/vertices/{key(keys[0])}", good[keys[0]])
    meta = {"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}
    case.nodes.packed("0/vertex_fragments", meta, cells.index(), shards={"__shard_000000": keys})
    case.ask(0, range(40))
    return case


def zeros() -> Case:
    """Blobs of zeros without a chunk (2.3): vertices at the origin, an attribute, object attributes, a group of object 0."""
    case = Case("zeros", "point_cloud", 703)
    case.positions = np.concatenate([np.zeros((5, 3), "f4"), case.scatter(30, [10, 0, 0], [39, 9, 9])])
    case.attribute("mass", np.concatenate([np.zeros(5), case.rng.random(30)]).astype("f4"))
    case.attribute("nothing", np.zeros(35, "i4"))
    case.objects = {0: list(range(5)), 1: list(range(5, 35))}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 35)
    vertices(case, cells, "0", case.positions, codec="zstd")
    attribute(case, cells, "0", "mass", codec="zstd")
    attribute(case, cells, "0", "nothing", codec="zstd")
    vlen_index(case, "0", [manifests[0], manifests[1]], 3)
    object_attribute(case, "0", "nil", np.zeros(2, "f4"))
    objects_truth(case, [0, 1], nil=np.zeros(2, "f4"))
    groups(case, "0", {0: [0]})
    group_attribute(case, "0", "weight", np.zeros(1, "f4"))
    case.ask(0, range(35))
    return case


MAKERS = {"0.6": [points_06, streamlines_06], "0.7": [packed_points, packed_overlap, zeros]}


def links_of_equal_keys(case: Case, at: str, delta: str, pairs, here: Cells, there: Cells) -> list:
    """Writes the records between two levels whose ends lie in chunks of equal key; returns the others as (chunk, row) pairs."""
    same, other = defaultdict(list), []
    for a, b in pairs:
        (chunk_a, row_a), (chunk_b, row_b) = here.place[a], there.place[b]
        if chunk_a == chunk_b:
            same[chunk_a].append([row_a, row_b])
        else:
            other.append([(chunk_a, row_a), (chunk_b, row_b)])
    meta = {"zv_array": "links", "dtype": "int64", "link_width": 2, "level_delta": int(delta)}
    case.nodes.blobs(f"{at}/links/{delta}", meta, {chunk: ragged([i64(rows)]) for chunk, rows in same.items()}, codec="zstd")
    return other


def ask_between(case: Case, pairs, fine: int, coarse: int) -> None:
    """The truth of two levels and of the records between them."""
    case.more["cross_level"] = [
        {"level": 0, "delta": 1, "pairs": pairs},
        {"level": 1, "delta": -1, "pairs": [[b, a] for a, b in pairs]},
    ]
    case.ask(0, range(fine))
    case.ask(1, range(fine, fine + coarse))
