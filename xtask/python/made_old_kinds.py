"""More stores of format 0.7: kinds, levels and side containers. Section numbers are of the 0.7 page."""

from collections import defaultdict

import numpy as np

from made_bytes import i64
from made_case import Case, Cells, by_bin, by_chunk, by_object, by_path, chunks_of
from made_old import (
    CHUNK, ask_between, attribute, cross, level, links, links_of_equal_keys, object_attribute, objects_truth, root, vertices,
    vlen_index, zero_records,
)

VALUES = [2, 5, 9]


def chunked_points() -> Case:
    """An attribute-chunked level (6.4): keys have one component more; the attribute is only in the keys."""
    case = Case("chunked_points", "point_cloud", 711)
    case.positions = case.scatter(110, [-14, 0, 0], [14, 14, 9])
    kind = case.rng.integers(0, 3, 110)
    case.attribute("kind", np.array(VALUES, "i8")[kind])
    case.attribute("mass", case.rng.random(110).astype("f4"))
    case.objects = {k: list(range(k, 110, 3)) for k in range(3)}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK, kind), case.objects)
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 110, **chunked("kind"))
    vertices(case, cells, "0", case.positions)
    attribute(case, cells, "0", "mass")
    vlen_index(case, "0", [manifests[k] for k in range(3)], 4)
    case.ask(0, range(110))
    return case


def chunked(name: str) -> dict:
    return {"chunk_dims": [name, "x", "y", "z"], "chunk_attribute_name": name, "chunk_attribute_values": VALUES}


def chunked_streamlines() -> Case:
    """Lines cut where the value changes, also inside one cell; such a cut has a record like any other (6.4)."""
    case = Case("chunked_streamlines", "streamline", 712)
    lengths = [25, 18, 31]
    case.positions = case.walks(lengths, -12.0, 18.0, 2.0)
    ends = np.cumsum([0, *lengths])
    kind = np.repeat(case.rng.integers(0, 3, sum(lengths) // 5 + 1), 5)[: sum(lengths)]
    case.attribute("kind", np.array(VALUES, "i8")[kind])
    case.objects = {k: list(range(ends[k], ends[k + 1])) for k in range(3)}
    cells = Cells()
    manifests = by_path(cells, chunks_of(case.positions, CHUNK, kind), case.objects)
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, sum(lengths), **chunked("kind"))
    vertices(case, cells, "0", case.positions, codec="zstd")
    cross(case, "0", "0", zero_records(manifests), 2, 4)
    vlen_index(case, "0", [manifests[k] for k in range(3)], 4)
    case.ask(0, range(sum(lengths)))
    return case


def masks() -> Case:
    """Object attributes with a present mask: a row of mask 0 is absent, a real zero is not (10.3)."""
    case = Case("masks", "point_cloud", 713)
    case.positions = case.scatter(60, [0, 0, 0], [29, 9, 9])
    case.objects = {k: list(range(k, 60, 6)) for k in range(6)}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 60)
    vertices(case, cells, "0", case.positions)
    vlen_index(case, "0", [manifests[k] for k in range(6)], 3)
    count = np.array([0, 3, 0, 7, 0, -2], "i4")
    vector = case.rng.random((6, 3)).astype("f4")
    object_attribute(case, "0", "count", count, mask=[1, 1, 0, 1, 0, 1])
    object_attribute(case, "0", "vector", vector, mask=[0, 1, 1, 1, 1, 1])
    object_attribute(case, "0", "plain", count)
    object_attribute(case, "0", "gone", count, mask=[0] * 6)
    objects_truth(case, range(6), plain=count)
    case.more["masked"] = {
        "count": [0, 3, None, 7, None, -2],
        "vector": [None, *vector[1:].astype("f8").tolist()],
        "gone": [None] * 6,
    }
    case.ask(0, range(60))
    return case


def explicit() -> Case:
    """Explicit fragments and manifests of every mode (7, 10.1): an object's rows lie scattered in its chunk."""
    case = Case("explicit", "point_cloud", 714)
    case.positions = case.scatter(80, [0, -10, 0], [19, 9, 9])
    case.attribute("mass", case.rng.random(80).astype("f4"))
    chunks = chunks_of(case.positions, CHUNK)
    cells = Cells()
    by_chunk(cells, chunks, range(80))
    owner = case.rng.integers(0, 3, 80)
    pieces: dict[int, list] = {k: [] for k in range(3)}
    case.objects = {k: [] for k in range(3)}
    for chunk in sorted(cells.rows):
        rows, items = cells.rows[chunk], []
        # Object 0 has three fragments in a row (a range), 1 two apart (a list), 2 one.
        for number, parts in ((0, 3), (1, 1), (2, 1), (1, 1)):
            mine = [k for k, row in enumerate(rows) if owner[row] == number]
            split = len(mine) // 2
            if number == 1:
                mine = mine[:split] if len(items) < 4 else mine[split:]
            for part in np.array_split(case.rng.permutation(mine), parts):
                items.append([int(k) for k in part])
        cells.fragments[chunk] = items
        pieces[0].append((chunk, range(0, 3)))
        pieces[1].append((chunk, [5, 3]))
        pieces[2].append((chunk, 4))
        for number, order in ((0, [0, 1, 2]), (1, [5, 3]), (2, [4])):
            case.objects[number] += [rows[k] for f in order for k in items[f]]
    root(case, "0.7.0", convention="implicit_sequential")
    level(case, 0, 80)
    vertices(case, cells, "0", case.positions, codec="blosc")
    attribute(case, cells, "0", "mass", codec="blosc")
    vlen_index(case, "0", [pieces[k] for k in range(3)], 3)
    case.ask(0, range(80))
    return case


def graph() -> Case:
    """A graph with cross-chunk records and attributes of both kinds of links (9.2, 9.5), among negative keys."""
    case = Case("graph_attributes", "graph", 715)
    case.positions = case.scatter(60, [-15, -15, 0], [15, 15, 9])
    edges = np.unique(np.sort(case.rng.integers(0, 60, (90, 2)), 1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    case.truth["edges"] = case.rng.permuted(edges, axis=1).astype("i8")
    case.truth["link_weight"] = case.rng.random(len(edges)).astype("f4")
    case.truth["link_pair"] = case.rng.integers(-5, 5, (len(edges), 2)).astype("i2")
    case.objects = {0: list(range(60))}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.7.0", convention="explicit")
    level(case, 0, 60)
    vertices(case, cells, "0", case.positions)
    links(case, cells, "0", case.truth["edges"], attributes=["weight", "pair"])
    vlen_index(case, "0", [manifests[0]], 3)
    case.ask(0, range(60))
    return case


def forest() -> Case:
    """Two trees, each one object: the first row of a fragment has no implied parent (12.5)."""
    case = Case("forest", "skeleton", 716)
    case.positions = case.walks([24, 24], -15.0, 15.0, 2.5)
    parents = {}
    for start in (0, 24):
        for k in range(1, 24):
            parents[start + k] = start + (k - 1 if case.rng.random() < 0.7 else int(case.rng.integers(0, k)))
    order = [row for start in (0, 24) for row in depth_first(start, parents)]
    case.objects = {0: order[:24], 1: order[24:]}
    walked = {k: list(rows) for k, rows in case.objects.items()}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    edges = np.array([[c, parents[c]] for rows in walked.values() for c in rows if c in parents], "i8")
    case.truth["edges"] = edges
    # Stored are only rows whose parent is not the row before it.
    stored = [
        ends for ends in edges.tolist()
        if cells.place[ends[0]][0] != cells.place[ends[1]][0] or cells.place[ends[1]][1] != cells.place[ends[0]][1] - 1
    ]
    root(case, "0.7.0", convention="implicit_sequential_with_branches")
    level(case, 0, 48)
    vertices(case, cells, "0", case.positions)
    links(case, cells, "0", stored)
    vlen_index(case, "0", [manifests[0], manifests[1]], 3)
    case.ask(0, range(48))
    return case


def depth_first(start: int, parents: dict) -> list[int]:
    children = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    stack, found = [start], []
    while stack:
        row = stack.pop()
        found.append(row)
        stack += reversed(children[row])
    return found


def quads() -> Case:
    """Quads of two objects: each object lists the whole fragment of every chunk that it touches (12.6)."""
    case = Case("quads", "mesh", 717)
    side = 7
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side) * 3.5 - 9.0, np.arange(side) * 3.5 - 9.0, indexing="ij"))
    sheet = np.column_stack([x, y, case.rng.uniform(0, 9, side * side)])
    case.positions = np.concatenate([sheet, sheet + [0, 0, 3.0]]).astype("f4")
    corner = [a * side + b for a in range(side - 1) for b in range(side - 1)]
    faces = np.array([[c, c + side, c + side + 1, c + 1] for c in corner], "i8")
    faces = np.concatenate([faces, faces + side * side])
    turned = [np.roll(face, case.rng.integers(0, 4)) for face in faces]
    case.truth["faces"] = np.array(turned, "i8")
    case.attribute("normal", case.rng.normal(size=(2 * side * side, 3)).astype("f4"))
    chunks = chunks_of(case.positions, CHUNK)
    cells = Cells()
    by_chunk(cells, chunks, range(len(chunks)))
    touched = [sorted({chunks[row] for row in part}) for part in (range(side * side), range(side * side, 2 * side * side))]
    case.objects = {k: [row for chunk in found for row in cells.rows[chunk]] for k, found in enumerate(touched)}
    root(case, "0.7.0", convention="explicit")
    level(case, 0, len(chunks))
    vertices(case, cells, "0", case.positions)
    attribute(case, cells, "0", "normal")
    links(case, cells, "0", case.truth["faces"], codec="zstd")
    vlen_index(case, "0", [[(chunk, 0) for chunk in found] for found in touched], 3)
    case.ask(0, range(len(chunks)))
    return case


def inside_mesh() -> Case:
    """Triangles that never cross a chunk: the family of crossing faces is a placeholder of width 2 (9.4)."""
    case = Case("inside_mesh", "mesh", 718)
    corners = case.scatter(4, [1, 1, 1], [7, 7, 7])
    case.positions = np.concatenate([corners, corners + np.float32(10)])
    case.truth["faces"] = np.array([[0, 1, 2], [2, 1, 3], [5, 4, 6], [7, 5, 6]], "i8")
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(8))
    root(case, "0.7.0", convention="explicit")
    level(case, 0, 8)
    vertices(case, cells, "0", case.positions)
    links(case, cells, "0", case.truth["faces"])
    case.ask(0, range(8))
    return case


def pyramid() -> Case:
    """Two levels with chunks of different size and records between them, both ways, in both families (9.3, 9.4, 13)."""
    case = Case("pyramid", "point_cloud", 719)
    fine = case.scatter(100, [-19, 0, 0], [19, 19, 9])
    bins = np.floor(fine.astype("f8") / 10).astype("i8")
    names, parent = np.unique(bins, axis=0, return_inverse=True)
    parent = parent.ravel()
    means = np.array([fine[parent == k].mean(0) for k in range(len(names))], "f4")
    case.positions = np.concatenate([fine, means])
    lower, upper = Cells(), Cells()
    by_bin(lower, fine, CHUNK, (5.0, 5.0, 10.0))
    coarse = chunks_of(case.positions, (20.0, 10.0, 10.0))
    for k in range(len(names)):
        upper.add(coarse[100 + k], [100 + k])
    root(
        case, "0.7.0", convention="implicit_sequential", bins=(5.0, 5.0, 10.0), levels=[(10.0, 10.0, 10.0)], cross_level_depth=1,
        cross_level_storage="explicit",
    )
    case.nodes.files["zarr.json"] = case.nodes.files["zarr.json"].replace(
        b'"format_capabilities":[]', b'"format_capabilities":["shared_fragments","multiscale_links"]'
    )
    level(case, 0, 100)
    level(case, 1, len(names), chunk_shape=[20.0, 10.0, 10.0], shared_fragments=True)
    vertices(case, lower, "0", fine)
    vertices(case, upper, "1", case.positions, codec="zstd")
    pairs = [[row, 100 + int(parent[row])] for chunk in sorted(lower.rows) for row in lower.rows[chunk]]
    between(case, "0", "+1", pairs, lower, upper)
    between(case, "1", "-1", [[b, a] for a, b in pairs], upper, lower)
    ask_between(case, pairs, 100, len(names))
    return case


def between(case: Case, at: str, delta: str, pairs, here: Cells, there: Cells) -> None:
    """Records between two levels: those of equal key text in `links/<delta>`, the others in the flat blob."""
    case.nodes.group(f"{at}/links")
    other = links_of_equal_keys(case, at, delta, pairs, here, there)
    case.nodes.group(f"{at}/cross_chunk_links")
    cross(case, at, delta, other, 2, 3, codec="zstd")


def sides() -> Case:
    """Parametric objects, a composite geometry and a header beside ordinary points (11)."""
    case = Case("sides", "point_cloud", 720)
    case.positions = case.scatter(30, [0, 0, 0], [19, 9, 9])
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(30))
    root(case, "0.7.0", convention="implicit_sequential", kinds=["point_cloud", "mesh"])
    level(case, 0, 30)
    vertices(case, cells, "0", case.positions)
    types = {
        "0": {"name": "plane", "coefficients": ["A", "B", "C", "D"]},
        "1": {"name": "line", "coefficients": ["x0", "y0", "z0", "dx", "dy", "dz"]},
        "2": {"name": "sphere", "coefficients": ["cx", "cy", "cz", "r"]},
    }
    rows = np.full((3, 7), np.nan)
    rows[0, :5], rows[1, :5], rows[2] = [0, 1, 0, 0, -5], [2, 1, 2, 3, 0.5], [1, 0, 0, 0, 1, 0, 0]
    case.nodes.group("parametric", {"parametric_types": types})
    meta = {"zv_array": "parametric_objects", "num_objects": 3, "max_row_length": 7, "dtype": "float64"}
    case.nodes.group("parametric/objects", meta)
    case.nodes.blob("parametric/objects/data", rows.tobytes(), codec="zstd")
    case.nodes.group("parametric/names", {"zv_array": "parametric_names", "num_objects": 3})
    case.nodes.blob("parametric/names/data", b"p0\nsphere_1\nline_2", codec="zstd")
    case.nodes.group("parametric/groups", {"num_groups": 2})
    case.nodes.blob("parametric/groups/data", i64([0, 2, 1]), codec="zstd")
    case.nodes.blob("parametric/groups/offsets", i64([0, 16]), codec="zstd")
    mesh = case.scatter(12, [0, 0, 0], [19, 9, 9])
    held = defaultdict(list)
    for row, chunk in enumerate(chunks_of(mesh, CHUNK)):
        held[chunk].append(row)
    meta = {"dtype": "float32", "ndim": 3, "vertex_count": 12}
    case.nodes.blobs("0/vertices_mesh", meta, {chunk: mesh[found].tobytes() for chunk, found in held.items()}, codec="zstd")
    case.nodes.group("0/links_mesh", {"link_count": 4, "link_width": 3})
    case.nodes.blob("0/links_mesh/data", i64(case.rng.integers(0, 12, (4, 3))), codec="zstd")
    found = {"mesh": {"array": "vertices_mesh", "vertex_count": 12, "links_array": "links_mesh", "face_count": 4, "has_links": True}}
    case.nodes.group("0/geometry_index", found)
    case.nodes.group("headers/trk", {"voxel_size": [2.0, 2.0, 2.0], "nested": {"n_properties": 0}})
    case.more["sides"] = {"composite": ["mesh"], "parametric": 3, "headers": ["trk"]}
    case.ask(0, range(30))
    return case


MAKERS = {
    "0.7": [chunked_points, chunked_streamlines, masks, explicit, graph, forest, quads, inside_mesh, pyramid, sides],
}
