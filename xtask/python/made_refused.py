"""Stores that must be refused, or refused in part, with what the message must name."""

import numpy as np

import made_new
import made_old
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


MAKERS = {"refused": [capability, version_05, group_offsets, newer_unknown]}
