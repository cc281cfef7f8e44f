"""Stores of padded chunk arrays, after the page "Chunk arrays": one numeric array a family, first axes the chunk grid."""

import numpy as np

from made_bytes import fragments, i64, manifest
from made_case import Case, Cells, by_chunk, by_object, by_path, chunks_of
from made_old import CHUNK, level, objects_truth, root


def padded(case: Case, path: str, cells: Cells, columns: dict, tail: tuple, dtype, fill, *, spare: int = 3, codec="blosc") -> None:
    """`(*grid, N_max, *tail)`: the rows of each chunk, padded with the fill value. The grid begins at chunk 0."""
    grid = np.max([list(chunk) for chunk in cells.rows], 0) + 1
    longest = max(map(len, columns.values()), default=0) + spare
    data = np.full((*grid, longest, *tail), fill, dtype)
    for chunk, rows in columns.items():
        data[chunk][: len(rows)] = rows
    chunks = (*[1] * len(grid), longest, *tail)
    case.nodes.array(path, data, chunks=chunks, fill=fill, codec=codec, attributes={"zv_array": path.split("/")[1]})


def vertices(case: Case, cells: Cells, *, index: str = "blobs", **options) -> None:
    """`0/vertices` and, unless `index` is empty, the fragment index as blobs or as a grid of byte strings."""
    rows = {chunk: case.positions[found] for chunk, found in cells.rows.items()}
    padded(case, "0/vertices", cells, rows, case.positions.shape[1:], "f4", 0.0, **options)
    meta = {"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}
    if index == "blobs":
        case.nodes.blobs("0/vertex_fragments", meta, cells.index())
    elif index == "grid":
        shape = np.max([list(chunk) for chunk in cells.rows], 0) + 1
        case.nodes.grid("0/vertex_fragments", shape, cells.index(), attributes=meta)


def attribute(case: Case, cells: Cells, name: str, *, where="attributes", fill=0, **options) -> None:
    values = case.truth[f"attr_{name}"]
    rows = {chunk: values[found] for chunk, found in cells.rows.items()}
    padded(case, f"0/{where}/{name}", cells, rows, values.shape[1:], values.dtype, fill, **options)


def links(case: Case, cells: Cells, ends) -> list[int]:
    """`0/links/0`, int32 with fill -1; returns the numbers of the links across chunks, which it cannot hold."""
    ends = np.asarray(ends)
    inside, across = cells.split(ends)
    rows = {chunk: np.array([cells.local(ends[n]) for n in numbers]) for chunk, numbers in inside.items()}
    padded(case, "0/links/0", cells, rows, ends.shape[1:], "i4", -1)
    return across


def index(case: Case, manifests: list, *, closed: bool) -> None:
    """`object_index/data` and `offsets`, opaque bytes."""
    blobs = [manifest(blocks) for blocks in manifests]
    starts = np.cumsum([0, *map(len, blobs)])
    case.nodes.group("0/object_index", {"zv_array": "object_index", "num_objects": len(manifests), "sid_ndim": 3})
    case.nodes.blob("0/object_index/data", b"".join(blobs))
    case.nodes.blob("0/object_index/offsets", i64(starts if closed else starts[:-1]))


def groupings(case: Case, members: dict) -> None:
    """`(n_groups, max)` padded with -1."""
    table = np.full((max(members) + 1, max(map(len, members.values()))), -1, "i8")
    for g, found in members.items():
        table[g, : len(found)] = found
    case.nodes.array("0/groupings", table, fill=-1)
    case.groups = members


# -- the stores


def points() -> Case:
    """Points with attributes of one and two columns; chunks that end in genuine zero rows; fragment index as blobs."""
    case = Case("points", "point_cloud", 801)
    first = case.scatter(150, [0, 0, 0], [38, 29, 18])
    # The last rows of chunk 0.0.0 are zero, and so are the last attribute rows of every chunk that has an odd first component.
    case.positions = np.concatenate([first, np.zeros((2, 3), "f4")])
    chunks = chunks_of(case.positions, CHUNK)
    cells = Cells()
    by_chunk(cells, chunks, range(152))
    mass = case.rng.random(152).astype("f4")
    for chunk, rows in cells.rows.items():
        if chunk[0] % 2:
            mass[rows[-2:]] = 0.0
    case.attribute("mass", mass)
    case.attribute("pair", case.rng.integers(-9, 9, (152, 2)).astype("i2"))
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 152)
    vertices(case, cells)
    attribute(case, cells, "mass")
    attribute(case, cells, "pair", codec="none")
    case.ask(0, range(152))
    return case


def points_bare() -> Case:
    """Points without a fragment index: rows end at the last one that is not fill. Attributes in `vertex_attributes`."""
    case = Case("points_bare", "point_cloud", 802)
    case.positions = case.scatter(90, [1, 1], [28, 38])
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, (10.0, 10.0)), range(90))
    case.attribute("mass", case.rng.random(90).astype("f8"))
    root(case, "0.7.0", chunk=(10.0, 10.0), convention="implicit_sequential")
    level(case, 0, 90)
    vertices(case, cells, index="", spare=0)
    attribute(case, cells, "mass", where="vertex_attributes", spare=0)
    case.ask(0, range(90))
    return case


def zeros() -> Case:
    """A chunk whose rows are all zero has no object; the fragment index says how many rows it has."""
    case = Case("zeros", "point_cloud", 803)
    case.positions = np.concatenate([np.zeros((4, 3), "f4"), case.scatter(40, [10, 0, 0], [29, 9, 9])])
    case.attribute("mass", np.concatenate([np.zeros(4), case.rng.random(40)]).astype("f4"))
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(44))
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 44)
    vertices(case, cells, index="grid")
    case.more["warnings"] = ["nonempty_chunks"]
    attribute(case, cells, "mass")
    case.ask(0, range(44))
    return case


def streamlines() -> Case:
    """Lines with objects, groups and object attributes; the order of rows and pieces is the manifest's."""
    case = Case("streamlines", "streamline", 804)
    lengths = [20, 14, 27, 9]
    case.positions = case.walks(lengths, 0.0, 28.0, 2.5)
    ends = np.cumsum([0, *lengths])
    case.objects = {k: list(range(ends[k], ends[k + 1])) for k in range(4)}
    case.attribute("fa", case.rng.random(sum(lengths)).astype("f4"))
    cells = Cells()
    manifests = by_path(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.6.0", convention="implicit_sequential")
    level(case, 0, sum(lengths))
    vertices(case, cells)
    attribute(case, cells, "fa")
    index(case, [manifests[k] for k in range(4)], closed=True)
    score = case.rng.random(4).astype("f4")
    case.nodes.array("0/object_attributes/score", score, fill=np.nan)
    objects_truth(case, range(4), score=score)
    groupings(case, {0: [2, 0], 1: [3], 2: []})
    case.ask(0, range(sum(lengths)))
    return case


def skeleton() -> Case:
    """Trees of two objects with every edge inside a chunk stored; fragments by object; n byte offsets."""
    case = Case("skeleton", "skeleton", 805)
    case.positions = np.minimum(case.scatter(36, [0, 0, 0], [9, 9, 9]), np.float32(9.5))
    case.positions[18:] += np.float32(10)
    parents = {k: int(case.rng.integers(18 * (k // 18), k)) for k in range(36) if k % 18}
    case.truth["edges"] = np.array(sorted(parents.items()), "i8")
    case.objects = {0: list(range(18)), 1: list(range(18, 36))}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.7.0", convention="explicit")
    level(case, 0, 36)
    vertices(case, cells, index="grid")
    case.more["warnings"] = ["nonempty_chunks"]
    links(case, cells, case.truth["edges"])
    index(case, [manifests[k] for k in range(2)], closed=False)
    case.ask(0, range(36))
    return case


def graph() -> Case:
    """Edges inside chunks, and a table of edges across them whose numbers nobody can read: listed, not interpreted."""
    case = Case("graph", "graph", 806)
    case.positions = case.scatter(50, [0, 0, 0], [19, 19, 9])
    edges = np.array([pair for pair in case.rng.integers(0, 50, (150, 2)).tolist() if pair[0] != pair[1]], "i8")
    edges = np.unique(edges, axis=0)
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(50))
    root(case, "0.8.0", convention="explicit")
    level(case, 0, 50)
    vertices(case, cells)
    across = links(case, cells, edges)
    kept = np.setdiff1d(np.arange(len(edges)), across)
    case.truth["edges"] = edges[kept]
    inside, _ = cells.split(edges)
    told = {"zv_array": "link_fragments", "encoding": "fragment_index_v1"}
    case.nodes.blobs("0/link_fragments", told, {chunk: fragments([(0, len(found))]) for chunk, found in inside.items()})
    case.nodes.array("0/cross_chunk_links", edges[across], fill=-1, attributes={"zv_array": "cross_chunk_links"})
    case.more |= {"warnings": ["cross_chunk_links"], "refused": ["0/cross_chunk_links"]}
    case.ask(0, range(50))
    return case


def mesh() -> Case:
    """Triangles, one sheet a chunk; rows of faces end at the first that is all -1. No fragment index, no objects."""
    case = Case("mesh", "mesh", 807)
    parts, faces = [], []
    for a in range(3):
        start = 12 * a
        parts.append(case.rng.uniform([10.0 * a + 0.5, 0.5, 0.5], [10.0 * a + 9.5, 9.5, 9.5], (12, 3)))
        faces += [(start + case.rng.permutation(12)[:3]).tolist() for _ in range(6 + 3 * a)]
    case.positions = np.concatenate(parts).astype("f4")
    case.truth["faces"] = np.array(faces, "i8")
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(36))
    root(case, "0.7.0", convention="explicit")
    level(case, 0, 36)
    vertices(case, cells, index="", codec="zstd")
    links(case, cells, case.truth["faces"])
    case.ask(0, range(36))
    return case


MAKERS = {"padded": [points, points_bare, zeros, streamlines, skeleton, graph, mesh]}
