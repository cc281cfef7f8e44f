"""Stores that must be refused, or refused in part, with what the message must name."""

import numpy as np

import made_new
import made_old
from made_bytes import i64, ragged
from made_case import Case, Cells, by_chunk, chunks_of
from made_old import CHUNK


def plain(name: str, seed: int) -> tuple[Case, Cells]:
    case = Case(name, "point_cloud", seed)
    case.positions = case.scatter(12, [0, 0, 0], [19, 9, 9])
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(12))
    return case, cells


def capability() -> Case:
    """A required capability that nobody knows."""
    case, cells = plain("capability", 981)
    made_new.root(case, "0.9.4", convention="implicit_sequential", required_capabilities=["fragment_index", "quantised_vertices"])
    made_new.level(case, 0, 12)
    made_new.cut(case, 0, cells)
    case.more["expect"] = ["quantised_vertices"]
    return case


def old(name: str, version: str, seed: int) -> Case:
    """A store of before 0.6: `vertex_group_offsets` instead of a fragment index."""
    case, cells = plain(name, seed)
    made_old.root(case, version, convention="implicit_sequential")
    made_old.level(case, 0, 12)
    meta = {"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}
    case.nodes.blobs("0/vertices", meta, cells.vertices(case.positions))
    offsets = {chunk: np.array([[0, -1]], "<i8").tobytes() for chunk in cells.rows}
    case.nodes.blobs("0/vertex_group_offsets", {"zv_array": "vertex_group_offsets", "dtype": "int64"}, offsets)
    case.more["expect"] = [version]
    return case


def version_05() -> Case:
    return old("version_05", "0.5.0", 982)


def group_offsets() -> Case:
    """Says 0.7.0, but has the arrays of before 0.6."""
    case = old("group_offsets", "0.7.0", 983)
    case.more["expect"] = ["vertex_group_offsets"]
    return case


def newer_unknown() -> Case:
    """A newer version whose vertices are a node of a form that no release has."""
    case, cells = plain("newer_unknown", 984)
    made_new.root(case, "0.11.0", convention="implicit_sequential")
    made_new.level(case, 0, 12)
    made_new.cut(case, 0, cells)
    case.nodes.files = {k: v for k, v in case.nodes.files.items() if not k.startswith("0/vertices/")}
    case.nodes.array("0/vertices", case.positions, attributes={"zv_array": "vertices_columnar"})
    case.more["expect"] = ["0.11.0", "0/vertices"]
    return case


def additive_end() -> Case:
    """An additive level without a coarser one."""
    case, cells = plain("additive_end", 985)
    made_new.root(case, "0.9.4", convention="implicit_sequential", required_capabilities=["additive_levels"])
    made_new.level(case, 0, 12, refinement="add")
    made_new.cut(case, 0, cells)
    case.more["expect"] = ["add"]
    return case


def dialect(name: str, seed: int) -> tuple[Case, Cells]:
    """A graph of 0.8.0 whose links across chunks are of a side dialect: everything else is read."""
    case = Case(name, "graph", seed)
    case.positions = np.array([[1, 1, 1], [5, 5, 5], [11, 1, 1], [15, 5, 5], [12, 3, 1]], "f4")
    case.truth["edges"] = np.array([[0, 1], [3, 2]], "i8")
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(5))
    made_old.root(case, "0.8.0", convention="explicit", format_capabilities=["partitioned_cross_chunk_links"])
    made_old.level(case, 0, 5)
    made_old.vertices(case, cells, "0", case.positions)
    made_old.links(case, cells, "0", case.truth["edges"])
    case.nodes.files = {k: v for k, v in case.nodes.files.items() if "cross_chunk_links" not in k}
    case.more |= {"refused": ["0/cross_chunk_links/0"], "warnings": ["0/cross_chunk_links/0"]}
    case.ask(0, range(5))
    return case, cells


RECORD = bytes([0, 1]) + np.array([1, 2], "<i8").tobytes()


def leaf() -> Case:
    """Nested leaves (9.9)."""
    case, _ = dialect("leaf_dialect", 986)
    meta = {"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 0, "link_width": 2, "layout": "partitioned_v1"}
    case.nodes.group("0/cross_chunk_links/0", meta)
    case.nodes.group("0/cross_chunk_links/0/0.0.0")
    case.nodes.group("0/cross_chunk_links/0/0.0.0/1.0.0")
    case.nodes.blob("0/cross_chunk_links/0/0.0.0/1.0.0/data", RECORD)
    case.more["expect"] = ["0/cross_chunk_links/0", "partitioned_v1"]
    return case


def k_dialect() -> Case:
    """One array for every number of distinct chunks, without a word for the layout (9.10)."""
    case, _ = dialect("k_dialect", 987)
    meta = {"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 0, "link_width": 2}
    case.nodes.group("0/cross_chunk_links/0", meta)
    meta = {"zv_array": "cross_chunk_links_k", "K": 2, "sid_ndim": 3, "level_delta": 0, "link_width": 2, "chunk_origin": [0, 0, 0]}
    elements = {(0, 0, 0, 1, 0, 0): RECORD}
    case.nodes.grid("0/cross_chunk_links/0/k2", [1, 1, 1, 2, 1, 1], elements, attributes=meta, shards=[1, 1, 1, 2, 1, 1])
    case.more["expect"] = ["0/cross_chunk_links/0", "k2"]
    return case


def two_forms() -> Case:
    """Cells and a flat `data` in one family: nobody can say which is meant (9.7)."""
    case, cells = dialect("two_forms", 988)
    meta = {"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 0, "link_width": 2, "num_links": 1}
    case.nodes.group("0/cross_chunk_links/0", meta)
    case.nodes.blob("0/cross_chunk_links/0/data", i64([0, 0, 0, 1, 1, 0, 0, 2]))
    case.nodes.blob("0/cross_chunk_links/0/0.0.0.1.0.0", ragged([i64([0, 1, 2])]))
    case.more["expect"] = ["0/cross_chunk_links/0"]
    return case


MAKERS = {"refused": [capability, version_05, group_offsets, newer_unknown, additive_end, leaf, k_dialect, two_forms]}
