"""Stores of format 0.8.0 and 0.8.1. Section numbers are of the 0.8 page."""

import numpy as np

import made_old
from made_bytes import i64
from made_case import Case, Cells, by_bin, by_chunk, by_object, by_path, chunks_of
from made_cells import body, family, groups, links, object_attribute
from made_old import CHUNK, ask_between, level, links_of_equal_keys, objects_truth, root, vlen_index


def random_graph(name: str, seed: int, low, high, n: int = 50, m: int = 80) -> tuple[Case, Cells, dict]:
    """Random positions and edges with a scalar and a vector attribute; one object."""
    case = Case(name, "graph", seed)
    case.positions = case.scatter(n, low, high)
    pairs = np.unique(np.sort(case.rng.integers(0, n, (m, 2)), 1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    case.truth["edges"] = case.rng.permuted(case.rng.permutation(pairs), axis=1).astype("i8")
    case.truth["link_weight"] = case.rng.random(len(pairs)).astype("f4")
    case.truth["link_pair"] = case.rng.integers(-9, 9, (len(pairs), 2)).astype("i4")
    case.objects = {0: list(range(n))}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    case.ask(0, range(n))
    return case, cells, manifests


def graph_080() -> Case:
    """0.8.0: cells without `directed` and `store`, everything else as in 0.7: masks, data and offsets."""
    case, cells, manifests = random_graph("graph_080", 851, [-14, -14, 0], [14, 14, 9])
    root(case, "0.8.0", convention="explicit")
    level(case, 0, 50)
    body(case, cells, "0")
    links(case, cells, "0", case.truth["edges"], attributes=["weight", "pair"])
    made_old.split_index(case, "0", [manifests[0], []], 3)
    made_old.object_attribute(case, "0", "score", np.array([0.0, 4.0], "f4"), mask=[1, 0])
    objects_truth(case, [0], score=np.zeros(1, "f4"))
    made_old.groups(case, "0", {0: [0]})
    return case


def native_graph() -> Case:
    """Native sharding: rank 3 for chunks, rank 6 for cells (3.4)."""
    case, cells, manifests = random_graph("native_graph", 852, [0, 0, 0], [28, 19, 9])
    root(case, "0.8.1", convention="explicit")
    level(case, 0, 50)
    case.attribute("mass", case.rng.random(50).astype("f8"))
    body(case, cells, "0", form="grid", attributes=["mass"])
    links(case, cells, "0", case.truth["edges"], form="grid", attributes=["weight", "pair"], directed=False, store="canonical")
    vlen_index(case, "0", [manifests[0]], 3)
    return case


def triangles(name: str, seed: int, low: float, *, corners: int = 3, side: int = 6) -> tuple[Case, Cells]:
    """A bumpy sheet of triangles or quads, each face turned at random (its winding stays)."""
    case = Case(name, "mesh", seed)
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side) * 3.0 + low, np.arange(side) * 3.0 + low, indexing="ij"))
    case.positions = np.column_stack([x, y, case.rng.uniform(0, 14, side * side)]).astype("f4")
    found = []
    for a in range(side - 1):
        for b in range(side - 1):
            c = a * side + b
            ring = [c, c + side, c + side + 1, c + 1]
            found += [ring] if corners == 4 else [ring[:3], [ring[0], ring[2], ring[3]]]
    case.truth["faces"] = np.array([np.roll(face, case.rng.integers(0, corners)) for face in case.rng.permutation(found)], "i8")
    cells = Cells()
    by_chunk(cells, chunks_of(case.positions, CHUNK), range(side * side))
    case.ask(0, range(side * side))
    return case, cells


def native_mesh() -> Case:
    """Rank 9: triangles across chunks in a grid of nine axes (3.4, 17.10)."""
    case, cells = triangles("native_mesh", 853, 1.0)
    root(case, "0.8.1", convention="explicit")
    level(case, 0, len(case.positions))
    body(case, cells, "0", form="grid", shards=0)
    links(case, cells, "0", case.truth["faces"], form="grid", directed=False, store="canonical")
    return case


def packed_graph() -> Case:
    """The packed form for the cells, flat blobs for the rest (9.8)."""
    case, cells, manifests = random_graph("packed_graph", 854, [-14, -14, 0], [14, 14, 9])
    root(case, "0.8.1", convention="explicit")
    level(case, 0, 50)
    body(case, cells, "0", codec="zstd")
    links(case, cells, "0", case.truth["edges"], form="packed", attributes=["weight"], directed=False, store="canonical")
    del case.truth["link_pair"]
    vlen_index(case, "0", [manifests[0]], 3)
    return case


def directed_graph() -> Case:
    """A directed family: endpoints in input order, A>B and B>A in different cells; records inside one chunk are legal (9.3)."""
    case, cells, manifests = random_graph("directed_graph", 855, [-14, -14, 0], [14, 14, 9])
    both = np.concatenate([case.truth["edges"], case.truth["edges"][:20, ::-1]])
    case.truth["edges"] = both
    case.truth["link_weight"] = case.rng.random(len(both)).astype("f4")
    del case.truth["link_pair"]
    root(case, "0.8.1", convention="explicit")
    level(case, 0, 50)
    body(case, cells, "0")
    links(case, cells, "0", both, attributes=["weight"], directed=True, store="canonical", moved=3)
    vlen_index(case, "0", [manifests[0]], 3)
    return case


def duplicate_graph() -> Case:
    """Each record once for each of its chunks; counted and returned once (9.3)."""
    case, cells, manifests = random_graph("duplicate_graph", 856, [-14, -14, 0], [14, 14, 9])
    root(case, "0.8.1", convention="explicit")
    level(case, 0, 50)
    body(case, cells, "0")
    links(case, cells, "0", case.truth["edges"], attributes=["weight", "pair"], directed=False, store="duplicate")
    vlen_index(case, "0", [manifests[0]], 3)
    return case


def duplicate_mesh() -> Case:
    case, cells = triangles("duplicate_mesh", 857, -7.0)
    root(case, "0.8.1", convention="explicit")
    level(case, 0, len(case.positions))
    body(case, cells, "0")
    links(case, cells, "0", case.truth["faces"], directed=True, store="duplicate")
    return case


def quads() -> Case:
    """L = 4, where the wrong convention of the permutation scrambles faces (9.2)."""
    case, cells = triangles("quads", 858, -7.0, corners=4)
    root(case, "0.8.1", convention="explicit")
    level(case, 0, len(case.positions))
    body(case, cells, "0")
    links(case, cells, "0", case.truth["faces"], directed=False, store="canonical")
    return case


def sentinels() -> Case:
    """Object attributes of every type whose absent rows hold the fill value; one absent everywhere; group ranges (10.2, 10.3)."""
    case = Case("sentinels", "point_cloud", 859)
    case.positions = case.scatter(48, [0, 0, 0], [29, 9, 9])
    owner = np.array([0, 1, 3, 4])[np.arange(48) % 4]
    case.objects = {k: np.flatnonzero(owner == k).tolist() for k in (0, 1, 3, 4)}
    cells = Cells()
    manifests = by_object(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.8.1", convention="implicit_sequential")
    level(case, 0, 48)
    body(case, cells, "0", codec="zstd")
    vlen_index(case, "0", [manifests.get(k, []) for k in range(6)], 3)
    absent, told = [2, 5], {}
    kept = {}
    for name in ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]:
        values = (np.arange(6) * 7 + 1).astype(name)
        object_attribute(case, "0", f"a_{name}", values, absent)
        told[f"a_{name}"] = [None if k in absent else v for k, v in enumerate(values.tolist())]
        if name != "float16":
            kept[f"a_{name}"] = values[[0, 1, 3, 4]]
    words = np.array(["soma", "x", "", "axon", "Größe", ""])
    object_attribute(case, "0", "word", words, absent)
    kept["word"] = words[[0, 1, 3, 4]]
    vector = case.rng.random((6, 3)).astype("f4")
    vector[3, 1] = np.nan
    object_attribute(case, "0", "vector", vector, absent)
    kept["vector"] = vector[[0, 1, 3, 4]]
    object_attribute(case, "0", "gone", np.zeros(6, "f4"), range(6))
    told["gone"] = [None] * 6
    case.nodes.group("0/object_attributes/reserved")
    case.more["sentinels"] = told
    objects_truth(case, [0, 1, 3, 4], **kept)
    groups(case, "0", [[0, 4], [], [], [3]], {1: (3, 5)})
    case.ask(0, range(48))
    return case


def lies() -> Case:
    """float64 vertices whose document says float32 (8.1)."""
    case = Case("float64_as_float32", "point_cloud", 860)
    case.positions = case.scatter(70, [-9, 0, 0], [29, 9, 9], "f8")
    case.attribute("mass", case.rng.random(70).astype("f4"))
    cells = Cells()
    by_bin(cells, case.positions, CHUNK, (5.0, 10.0, 10.0))
    root(case, "0.8.1", convention="implicit_sequential", bins=(5.0, 10.0, 10.0))
    level(case, 0, 70)
    body(case, cells, "0", dtype="float32", attributes=["mass"])
    case.more["warnings"] = ["float64"]
    case.ask(0, range(70))
    return case


def overlap() -> Case:
    """Fragments that overlap, repeat rows and leave rows out of order; attributes go by row (7, 8.3)."""
    case = Case("overlap", "point_cloud", 861)
    case.positions = case.scatter(60, [0, 0, 0], [29, 9, 9])
    case.attribute("mass", case.rng.random(60).astype("f4"))
    chunks = chunks_of(case.positions, CHUNK)
    cells = Cells()
    by_chunk(cells, chunks, range(60))
    pieces: dict[int, list] = {0: [], 1: [], 2: []}
    case.objects = {0: [], 1: [], 2: []}
    owners = {}
    for chunk in sorted(cells.rows):
        rows = cells.rows[chunk]
        n = len(rows)
        items = [(0, n), (n // 3, n - n // 3), [n - 1, 0, 0, n // 2], (n // 2, 1)]
        cells.fragments[chunk] = items
        for number, mine in ((0, [0]), (1, [1, 3]), (2, [2])):
            pieces[number] += [(chunk, f) for f in mine]
            for f in mine:
                item = items[f]
                found = range(item[0], item[0] + item[1]) if isinstance(item, tuple) else item
                case.objects[number] += [rows[k] for k in found]
        owners[chunk] = i64([0, 1, 2, 1])
    root(case, "0.8.1", convention="implicit_sequential")
    level(case, 0, 60, shared_fragments=True)
    body(case, cells, "0", attributes=["mass"])
    meta = {"zv_array": "fragment_attribute", "name": "object_id", "dtype": "int64"}
    case.nodes.blobs("0/fragment_attributes/object_id", meta, owners)
    vlen_index(case, "0", [pieces[k] for k in range(3)], 3)
    case.ask(0, range(60))
    return case


def shared_nodes() -> Case:
    """Lines that share their end nodes: fragments of one chunk overlap by a row (7)."""
    case = Case("shared_nodes", "polyline", 862)
    case.positions = case.scatter(21, [0, 0, 0], [9, 9, 9])
    case.positions = np.minimum(case.positions, np.float32(9.5))
    cells = Cells()
    cells.add((0, 0, 0), range(21))
    cells.fragments[0, 0, 0] = [(0, 8), (7, 7), (13, 8), [20, 0]]
    case.objects = {0: list(range(0, 8)), 1: list(range(7, 14)), 2: list(range(13, 21)), 3: [20, 0]}
    root(case, "0.8.1", convention="implicit_sequential")
    level(case, 0, 21)
    body(case, cells, "0")
    vlen_index(case, "0", [[((0, 0, 0), k)] for k in range(4)], 3)
    case.ask(0, range(21))
    return case


def zero_lines() -> Case:
    """Lines whose records across chunks carry row 0 at both ends (12): the manifest tells, not the record."""
    case = Case("zero_lines", "line", 863)
    case.positions = case.scatter(40, [-14, 0, 0], [19, 9, 9])
    case.objects = {k: [2 * k, 2 * k + 1] for k in range(20)}
    cells = Cells()
    manifests = by_path(cells, chunks_of(case.positions, CHUNK), case.objects)
    root(case, "0.8.1", convention="implicit_sequential")
    level(case, 0, 40)
    body(case, cells, "0")
    family(case, "0", "0", made_old.zero_records(manifests), directed=False, store="canonical")
    vlen_index(case, "0", [manifests[k] for k in range(20)], 3)
    case.ask(0, range(40))
    return case


def pyramid() -> Case:
    """Records between levels in cells: sorted by chunk numbers of different grids, which the permutation undoes (9.3)."""
    case = Case("pyramid_cells", "point_cloud", 864)
    fine = case.scatter(80, [-19, 0, 0], [19, 19, 9])
    names, parent = np.unique(np.floor(fine.astype("f8") / 10).astype("i8"), axis=0, return_inverse=True)
    parent = parent.ravel()
    means = np.array([fine[parent == k].mean(0) for k in range(len(names))], "f4")
    case.positions = np.concatenate([fine, means])
    lower, upper = Cells(), Cells()
    by_chunk(lower, chunks_of(fine, CHUNK), range(80))
    coarse = chunks_of(case.positions, (20.0, 20.0, 10.0))
    for k in range(len(names)):
        upper.add(coarse[80 + k], [80 + k])
    root(case, "0.8.1", convention="implicit_sequential", levels=[CHUNK], cross_level_depth=1, cross_level_storage="explicit")
    level(case, 0, 80)
    level(case, 1, len(names), chunk_shape=[20.0, 20.0, 10.0], shared_fragments=True)
    body(case, lower, "0")
    body(case, upper, "1", codec="zstd")
    pairs = [[row, 80 + int(parent[row])] for chunk in sorted(lower.rows) for row in lower.rows[chunk]]
    between(case, "0", "+1", pairs, lower, upper)
    between(case, "1", "-1", [[b, a] for a, b in pairs], upper, lower)
    ask_between(case, pairs, 80, len(names))
    return case


def between(case: Case, at: str, delta: str, pairs, here: Cells, there: Cells) -> None:
    """Records between two levels: those of equal key text in `links/<delta>`, the others in cells."""
    other = links_of_equal_keys(case, at, delta, pairs, here, there)
    family(case, at, delta, other, directed=False, store="canonical", codec="zstd")


MAKERS = {
    "0.8": [
        graph_080, native_graph, native_mesh, packed_graph, directed_graph, duplicate_graph, duplicate_mesh, quads, sentinels, lies,
        overlap, shared_nodes, zero_lines, pyramid,
    ]
}
