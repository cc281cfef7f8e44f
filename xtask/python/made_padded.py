"""Stores of padded chunk arrays, after the page "Chunk arrays": one numeric array a family, first axes the chunk grid."""

import numpy as np

from made_bytes import i64, manifest
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


MAKERS = {"padded": [points, points_bare]}
