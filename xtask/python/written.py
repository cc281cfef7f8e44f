"""Has random input written by the program `write_raw` and reads the stores with the released Python package.

    written.py WRITE_RAW ZVF FOLDER [--seed N] [--stores N] [--quick] [--only KIND]

The other direction of `conformance.py`: the truth is the input, the writer is ours, the reader is the package, whose
validator must report no error at level 5; ours no warning either. Before that the minimal store of the format notes (appendix A) is written by both, and
must be the same: cells byte for byte, documents as JSON. Defects of the package's readers are stepped around, each with its number in the
format notes:

* T1: boxes of point clouds with bins are asked only where points have no objects (others get no bins from our writer).
* T2: skeletons are read whole, not by box.
* T3: objects are asked for by their ids; whole reads of lines and polylines ask for ids 0, 1, 2 ...
* T32: stores of one axis are not tried.
* Records of `duplicate` families come once a copy: they are compared as a set.

A store that differs stays in FOLDER with its input. Ends with 1 when anything differs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np

import inputs
from checks import Board, try_kinds
from reading import findings

KINDS = ["points", "points with objects", "lines", "polylines", "streamlines", "graph", "skeleton", "mesh"]
POSITIONS = ["f4"] * 5 + ["f8"] * 3 + ["f2", "i4", "i2", "i8"]
ATTRIBUTES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
# Those behind the first line are codecs that the writer has by way of zarrs.
CODECS = ["auto", "auto", "none", "zstd", "blosc", "gzip:5", '["zstd", "crc32c"]'] + [
    json.dumps(codecs)
    for codecs in (
        [{"name": "zstd", "configuration": {"level": 3, "checksum": True}}],
        [{"name": "numcodecs.zlib", "configuration": {"level": 5}}],
        [{"name": "numcodecs.bz2", "configuration": {"level": 9}}, {"name": "numcodecs.fletcher32"}],
        [{"name": "blosc", "configuration": {"typesize": 8, "cname": "lz4", "clevel": 9, "shuffle": "shuffle", "blocksize": 0}}],
    )
]


class Job:
    """One store: its input, and the files that the program is given."""

    def __init__(self, rng, folder: Path, kind: str, fragments: bool = True):
        self.rng, self.folder, self.kind = rng, folder, kind
        folder.mkdir(parents=True)
        self.dims = int(rng.choice([2, 3, 3, 4]))
        self.chunk, self.low, self.high = inputs.layout(rng, self.dims)
        self.job: dict = {"out": "store.zarrvectors", "chunk_shape": list(self.chunk)}
        self.job["compression"] = str(rng.choice(CODECS))
        if rng.random() < 0.4:
            self.job["shard_shape"] = [int(n) for n in rng.integers(1, 4, self.dims)]
        if rng.random() < 0.5:
            self.job["batch"] = int(rng.integers(1, 400))
        if rng.random() < 0.5:
            self.job["budget"] = int(rng.choice([0, 10_000]))
        self.ids: np.ndarray | None = None
        self.links = np.zeros((0, 2), "i8")
        self.attributes: dict[str, np.ndarray] = {}
        self.object_attributes: dict[str, np.ndarray] = {}
        self.link_attributes: dict[str, np.ndarray] = {}
        self.groups: list[list[int]] | None = None
        self.key: np.ndarray | None = None
        self.run: np.ndarray | None = None
        self.make()
        self.cut(fragments)
        self.positions_out()
        self.columns()
        (folder / "job.json").write_text(json.dumps(self.job))

    # --- input ---

    def scatter(self, n: int) -> np.ndarray:
        return inputs.scatter(self.rng, n, self.low, self.high, self.chunk, self.rng.choice(POSITIONS))

    def make(self) -> None:
        rng, kind = self.rng, self.kind
        if kind == "points":
            self.job["kind"] = "point_cloud"
            self.positions = self.scatter(int(rng.integers(1, 900)))
            if rng.random() < 0.6:
                self.job["bin_shape"] = [float(c / k) for c, k in zip(self.chunk, rng.choice([1, 2, 4], self.dims))]
        elif kind == "points with objects":
            self.job["kind"] = "point_cloud"
            self.positions = self.scatter(int(rng.integers(1, 900)))
            self.ids = rng.choice(inputs.ids(rng, int(rng.integers(1, 12))), len(self.positions)).astype("i8")
        elif kind in ("lines", "polylines", "streamlines"):
            self.job["kind"] = kind.removesuffix("s")
            count = int(rng.integers(1, 60))
            if kind == "lines" and rng.random() < 0.3:
                # From 512 objects on, manifests are in shards where cells are.
                count = int(rng.integers(512, 1500))
                self.job["shard_shape"] = [2] * self.dims
            sizes = np.full(count, 2) if kind == "lines" else rng.integers(1, 60, count)
            steps = rng.normal(scale=np.asarray(self.chunk) * 0.3, size=(int(sizes.sum()), self.dims))
            starts = np.cumsum(sizes) - sizes
            steps[starts] = rng.uniform(self.low, self.high, (count, self.dims))
            for start, size in zip(starts, sizes):
                steps[start : start + size] = np.cumsum(steps[start : start + size], axis=0)
            self.positions = inputs.store_as(steps, rng.choice(["f4", "f8"]))
            # The package reads whole lines by ids 0, 1, 2 ... (T3); other ids are asked for by name.
            numbers = rng.choice(10 * count, count, replace=False) if rng.random() < 0.5 else np.arange(count)
            self.ids = np.repeat(numbers.astype("i8"), sizes)
        elif kind in ("graph", "mesh"):
            self.job["kind"] = kind
            n = int(rng.integers(4, 400))
            self.positions = self.scatter(n)
            self.ids = rng.integers(0, 4, n).astype("i8")
            width = 2 if kind == "graph" else int(rng.choice([3, 4]))
            self.links = rng.integers(0, n, (int(rng.integers(1, 900)), width))
            directed = bool(rng.random() < 0.3)
            store = "duplicate" if not directed and rng.random() < 0.3 else "canonical"
            self.job["links"] = {"width": width, "directed": directed, "store": store, "explicit": True}
        else:
            self.job["kind"] = "skeleton"
            n = int(rng.integers(2, 400))
            self.positions = self.scatter(n)
            self.job.pop("batch", None)
            trees = int(rng.integers(1, 5))
            tree = np.sort(rng.integers(0, trees, n))
            self.ids = (tree * 3 - 2).astype("i8")
            edges = []
            for number in np.unique(tree):
                nodes = rng.permutation(np.flatnonzero(tree == number))
                for at in range(1, len(nodes)):
                    back = 1 if rng.random() < 0.7 else int(rng.integers(1, at + 1))
                    edges.append((nodes[at], nodes[at - back]))
            rng.shuffle(edges)
            if rng.random() < 0.4:
                # Objects of several trees: the package writes none, and reads them as the format says.
                edges = [edge for edge in edges if rng.random() < 0.9]
            self.links = np.array(edges, "i8").reshape(-1, 2)
            self.job["links"] = {"width": 2, "explicit": bool(rng.random() < 0.3), "store": "canonical"}
        n = len(self.positions)
        # Which row of the input each row of a store is: everything is compared by it.
        self.attributes["id"] = np.arange(n, dtype="i4")
        for name, code in zip("ab", rng.choice(ATTRIBUTES, 2)):
            self.attributes[name] = inputs.numbers(rng, code, n)
        if kind.startswith("points"):
            # Widths of other kinds are read wrongly by the package whatever is written (T8).
            self.attributes["wide"] = inputs.numbers(rng, "f4", (n, 3))
            words = np.array(["axon", "größe", "z", None], object)
            self.attributes["word"] = words[rng.integers(0, 4 if rng.random() < 0.5 else 3, n)]
        if self.ids is not None:
            numbers = np.unique(self.ids)
            self.object_attributes = {
                "size": inputs.numbers(rng, str(rng.choice(["f4", "f8", "i4", "u2"])), len(numbers)),
                "pair": inputs.numbers(rng, "f8", (len(numbers), 2)),
            }
            if kind in ("points with objects", "polylines", "streamlines"):
                self.groups = [[int(k) for k in numbers[rng.random(len(numbers)) < 0.4]] for _ in range(3)]
        if rng.random() < 0.4:
            self.beside()
        if self.job.get("links", {}).get("explicit"):
            self.link_attributes["w"] = np.arange(len(self.links), dtype="i4")

    def cut(self, fragments: bool) -> None:
        """Chunks that are cut by an attribute; fragments that are cut by values, and owners of fragments, where they may be."""
        rng, n = self.rng, len(self.positions)
        if "bin_shape" in self.job:
            return
        if rng.random() < 0.4:
            if rng.random() < 0.5:
                self.key = rng.integers(-2, 3, n).astype("i2")
            else:
                self.key = np.array(["axon", "größe", "z"], object)[rng.integers(0, 3, n)]
            if "shard_shape" in self.job:
                self.job["shard_shape"].insert(0, int(rng.integers(1, 3)))
        if not fragments:
            return
        if rng.random() < 0.4:
            self.run = (np.arange(n) // 4 % 3).astype("u2")
        self.job["fragment_owners"] = self.ids is not None and bool(rng.random() < 0.4)

    def beside(self) -> None:
        """What stores hold beside their levels."""
        rng = self.rng
        sizes = {"plane": 4, "line": 6, "sphere": 4, "cone": 7}
        objects = []
        for name in rng.choice(list(sizes), int(rng.integers(0, 6))):
            row = {"type": str(name), "coefficients": rng.normal(size=sizes[name]).tolist()}
            objects.append(row | ({"name": f"größe {len(objects)}"} if rng.random() < 0.5 else {}))
        self.job["parametric"] = {
            "types": [{"id": 7, "name": "cone", "coefficients": list("abcdefg")}],
            "objects": objects,
            "weights": rng.random(len(objects)).tolist(),
            "groups": [[int(k) for k in np.flatnonzero(rng.random(len(objects)) < 0.5)] for _ in range(2)],
        }
        self.job["headers"] = {"trk": {"dim": [1, 2, 3], "name": "größe"}, "swc": {}}
        self.job["user_metadata"] = {"lab": {"mouse": 7, "tags": ["a", None]}}

    # --- files ---

    def file(self, name: str, values: np.ndarray) -> dict:
        (self.folder / f"{name}.raw").write_bytes(np.ascontiguousarray(values).tobytes())
        return {"file": f"{name}.raw", "dtype": str(values.dtype)}

    def positions_out(self) -> None:
        self.job["positions"] = self.file("positions", self.positions)
        if self.ids is not None:
            self.job["ids"] = self.file("ids", self.ids)
        if "links" in self.job:
            self.job["links"] |= self.file("links", self.links.astype("i8"))

    def columns(self) -> None:
        def column(scope: str, name: str, values: np.ndarray) -> dict:
            if values.dtype.kind == "O":
                return {"name": name, "texts": values.tolist()}
            channels = 1 if values.ndim == 1 else values.shape[1]
            return {"name": name, "channels": channels} | self.file(f"{scope}-{name}", values)

        self.job["attributes"] = [column("vertex", k, v) for k, v in self.attributes.items()]
        if self.key is not None:
            self.job["chunk_by"] = column("key", "gene", self.key)
        if self.run is not None:
            self.job["fragment_attributes"] = [column("fragment", "run", self.run)]
        self.job["link_attributes"] = [column("link", k, v) for k, v in self.link_attributes.items()]
        self.job["object_attributes"] = [column("object", k, v) for k, v in self.object_attributes.items()]
        if self.ids is not None:
            self.job["object_ids"] = self.file("object-ids", np.unique(self.ids))
        if self.groups is not None:
            self.job["groups"] = self.groups

    @property
    def store(self) -> str:
        return str(self.folder / "store.zarrvectors")


class Reader:
    """Asks everything of one store and counts what differs."""

    def __init__(self, job: Job, board: Board, zvf: str):
        self.job, self.board, self.zvf = job, board, zvf

    def note(self, what: str, compared: int, wrong: int, example: str = "") -> None:
        self.board.count(self.job.kind, what, compared, wrong, f"{self.job.folder.name}: {example}")

    def run(self) -> None:
        self.validator()
        kind = self.job.kind
        if kind.startswith("points"):
            self.points()
        elif kind == "lines":
            self.lines()
        elif kind in ("polylines", "streamlines"):
            self.polylines()
        else:
            self.graph()
        self.tables()
        if self.job.key is not None and not kind.startswith(("lines", "polylines", "streamlines")):
            self.keys()
        if self.job.run is not None or self.job.job.get("fragment_owners"):
            self.fragments()
        if "parametric" in self.job.job:
            self.beside()

    def beside(self) -> None:
        from zarr_vectors import open_store
        from zarr_vectors.headers.registry import HeaderRegistry
        from zarr_vectors.types.parametric import read_parametric_objects

        job = self.job.job
        registry = HeaderRegistry(self.job.store)
        found = {name: registry.get(name) for name in registry.available_formats}
        self.note("headers", 1, int(found != job["headers"]), str(found))
        root = open_store(self.job.store)
        found = root.attrs.to_dict().get("user_metadata")
        self.note("user metadata", 1, int(found != job["user_metadata"]), str(found))
        truth = job["parametric"]
        found = read_parametric_objects(self.job.store)
        expected = [
            {"type": one["type"], "coefficients": one["coefficients"], "name": one.get("name", f"{one['type']}_{at}")}
            for at, one in enumerate(truth["objects"])
        ]
        shown = [
            {"type": one["type"], "coefficients": np.asarray(one["coefficients"]).tolist(), "name": one["name"]} for one in found
        ]
        self.note("parametric objects", max(1, len(expected)), int(shown != expected), f"{found[:2]}, expected {expected[:2]}")

    def validator(self) -> None:
        from zarr_vectors.validate import validate

        result = validate(self.job.store, level=5)
        self.note("validator", 1, int(bool(result.errors)), str(result.errors[:3]))
        found = findings(self.zvf, self.job.store)
        self.note("our validator", 1, int(bool(found)), str(found[:3]))

    def same(self, what: str, found, truth) -> None:
        """Two arrays, bit for bit but for NaN."""
        found, truth = np.asarray(found), np.asarray(truth)
        if found.shape != truth.shape:
            self.note(what, max(1, truth.size), max(1, truth.size), f"shape {found.shape}, expected {truth.shape}")
            return
        wrong = found != truth
        if truth.dtype.kind == "f":
            wrong &= ~(np.isnan(found.astype("f8")) & np.isnan(truth.astype("f8")))
        self.note(what, max(1, truth.size), int(wrong.sum()), f"{found[wrong][:3]}, expected {truth[wrong][:3]}")

    def rows(self, what: str, found: dict, expected: np.ndarray) -> None:
        """A point result against rows of the input, in any order."""
        # Where no chunk meets a box there are no columns.
        rows = np.asarray(found["vertex_attributes"].get("id", [])).astype("i8")
        self.same(what, np.sort(rows), np.sort(expected))
        if len(rows) and len(rows) == len(found["positions"]):
            self.same("positions", found["positions"], self.job.positions[rows])
            for name, truth in self.job.attributes.items():
                values = np.asarray(found["vertex_attributes"][name])
                if truth.dtype.kind == "O":
                    texts = [None if v is None or v != v or v == "" else str(v) for v in values.tolist()]
                    self.same("categories", np.array(texts, object), truth[rows])
                else:
                    self.same("attributes", values, truth[rows])

    def points(self) -> None:
        from zarr_vectors.types.points import read_points

        job, names = self.job, list(self.job.attributes)
        every = np.arange(len(job.positions))
        self.rows("rows", read_points(job.store, attribute_names=names), every)
        low, high = sorted_corners(job)
        inside = np.all((job.positions >= low) & (job.positions <= high), axis=1)
        found = read_points(job.store, bbox=(low, high), attribute_names=names)
        self.rows("boxes", found, every[inside])
        if job.ids is not None:
            wanted = np.unique(job.ids)[::2]
            found = read_points(job.store, object_ids=[int(k) for k in wanted], attribute_names=names)
            self.rows("objects", found, every[np.isin(job.ids, wanted)])
            for number, members in enumerate(job.groups or []):
                if members:
                    found = read_points(job.store, group_ids=[number], attribute_names=names)
                    self.rows("groups", found, every[np.isin(job.ids, members)])

    def keys(self) -> None:
        """The vertices of every value that chunks are cut by. Lines of any kind are read whole whatever is asked."""
        import zarr_vectors

        job = self.job
        level = zarr_vectors.open(job.store).level(0)
        for value in sorted(set(job.key.tolist())):
            found = np.asarray(level.read(where={"gene": value}).positions)
            truth = job.positions[job.key == value]
            # Narrowed reads of graphs have no attributes to tell rows by.
            self.same("values of keys", *(rows[np.lexsort(rows.T)] for rows in (found, truth)))

    def fragments(self) -> None:
        """Values of fragments beside those of their vertices."""
        import zarr
        from zarr_vectors import open_store
        from zarr_vectors.core.arrays import read_chunk_attributes, read_chunk_fragment_attributes

        job = self.job
        level = open_store(job.store)["0"]
        expected = {}
        if job.run is not None:
            expected["run"] = job.run
        if job.job.get("fragment_owners"):
            expected["object_id"] = job.ids
        for key in zarr.open_array(f"{job.store}/0/vertices", mode="r").attrs["nonempty_chunks"]:
            chunk = tuple(int(part) for part in key.split("."))
            parts = [np.asarray(part).reshape(-1) for part in read_chunk_attributes(level, "id", chunk)]
            for name, truth in expected.items():
                values = np.asarray(read_chunk_fragment_attributes(level, name, chunk)).reshape(-1)
                self.same("fragments", len(values), len(parts))
                for value, part in zip(values, parts):
                    self.same("values of fragments", np.unique(truth[part]), [value])

    def lines(self) -> None:
        from zarr_vectors.types.lines import read_lines

        job = self.job
        wanted = [int(k) for k in np.unique(job.ids)]
        found = read_lines(job.store, object_ids=wanted)
        order = np.argsort(job.ids[::2], kind="stable")
        self.same("objects", found["endpoints"], job.positions.reshape(-1, 2, job.dims)[order])

    def polylines(self) -> None:
        from zarr_vectors.types.polylines import read_polylines

        job = self.job
        wanted = [int(k) for k in np.unique(job.ids)]
        found = read_polylines(job.store, object_ids=wanted)
        self.same("ids", found["object_ids"], wanted)
        for number, parts in zip(wanted, found["polylines"]):
            self.same("objects", np.concatenate(list(parts)) if isinstance(parts, list) else parts, job.positions[job.ids == number])
        for number, members in enumerate(job.groups or []):
            if members:
                found = read_polylines(job.store, group_ids=[number])
                self.same("groups", sorted(found["object_ids"]), sorted(members))

    def graph(self) -> None:
        from zarr_vectors.types.graphs import read_graph
        from zarr_vectors.types.meshes import read_mesh

        import zarr_vectors

        job = self.job
        if job.kind == "mesh":
            found = read_mesh(job.store)
            positions, links = np.asarray(found["vertices"]), np.asarray(found["faces"])
        else:
            found = read_graph(job.store)
            positions, links = np.asarray(found["positions"]), np.asarray(found["edges"])
        result = zarr_vectors.open(job.store).level(0).read(attributes=["id", "a", "b"])
        rows = np.asarray(result.attributes["id"]).astype("i8")
        self.same("rows", np.sort(rows), np.arange(len(job.positions)))
        self.same("positions", positions, job.positions[rows])
        for name in ["a", "b"]:
            self.same("attributes", result.attributes[name], job.attributes[name][rows])
        links = rows[links.reshape(-1, job.links.shape[1]).astype("i8")]
        found, truth = Counter(map(tuple, links.tolist())), Counter(map(tuple, job.links.tolist()))
        if job.job["links"].get("store") == "duplicate":
            found, truth = Counter(set(found)), Counter(set(truth))
        difference = Counter(found)
        difference.subtract(truth)
        example = next((f"{k} {n:+}" for k, n in difference.items() if n), "")
        self.note("links", max(1, len(job.links)), sum(abs(n) for n in difference.values()), example)

    def tables(self) -> None:
        """Attributes of objects and links."""
        import zarr
        import zarr_vectors

        job = self.job
        if job.ids is None:
            return
        objects = zarr_vectors.open(job.store).level(0).objects
        self.same("ids", sorted(int(k) for k in objects.ids()), sorted(set(job.ids.tolist())))
        for name, truth in job.object_attributes.items():
            array = zarr.open_array(f"{job.store}/0/object_attributes/{name}", mode="r")
            self.same("object attributes", array[:], truth)
        if job.link_attributes:
            self.link_attributes()

    def link_attributes(self) -> None:
        """Every record beside its number: endpoints are those of the input's link of that number."""
        from zarr_vectors import open_store
        from zarr_vectors.core.arrays import read_chunk_attributes, read_link_arrays, read_link_attributes

        job = self.job
        level = open_store(job.store)["0"]
        numbers = np.asarray(read_link_attributes(level, "w")).reshape(-1)
        chunks, rows = read_link_arrays(level)
        ids: dict[tuple, np.ndarray] = {}
        found = []
        for record_chunks, record_rows in zip(chunks.tolist(), rows.tolist()):
            ends = []
            for chunk, row in zip(map(tuple, record_chunks), record_rows):
                if chunk not in ids:
                    ids[chunk] = np.concatenate([np.asarray(part).reshape(-1) for part in read_chunk_attributes(level, "id", chunk)])
                ends.append(int(ids[chunk][row]))
            found.append(ends)
        self.same("link attributes", np.array(found, "i8").reshape(-1, job.links.shape[1]), job.links[numbers])
        self.same("link numbers", np.unique(numbers), np.arange(len(job.links)))
        if job.job["links"]["store"] == "canonical":
            self.same("link numbers", len(numbers), len(job.links))


def minimal(program: str, folder: Path, board: Board) -> None:
    """The same five points by both writers."""
    from zarr_vectors.types.points import write_points

    folder.mkdir(parents=True)
    positions = np.array([[1, 2, 3], [4, 5, 6], [11, 2, 3], [1, 12, 3], [0.5, 0.25, 0.125]], "f4")
    (folder / "positions.raw").write_bytes(positions.tobytes())
    job = {"kind": "point_cloud", "out": "ours/minimal.zv", "chunk_shape": [10.0] * 3, "compression": "none"}
    job["positions"] = {"file": "positions.raw", "dtype": "float32"}
    (folder / "job.json").write_text(json.dumps(job))
    subprocess.run([program, folder / "job.json"], check=True, capture_output=True, text=True)
    write_points(str(folder / "theirs" / "minimal.zv"), positions, chunk_shape=(10.0,) * 3, compressor=None)

    def files(which: str) -> dict:
        base = folder / which / "minimal.zv"
        found = {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}
        return {name: json.loads(text) if name.endswith(".json") else text for name, text in found.items()}

    ours, theirs = files("ours"), files("theirs")
    different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    board.count("points", "minimal store", len(ours.keys() | theirs.keys()), len(different), f"{folder}: {different}")
    if not different:
        shutil.rmtree(folder)


def sorted_corners(job: Job) -> tuple[np.ndarray, np.ndarray]:
    """A random box, in numbers that the positions' type holds."""
    corners = np.sort(job.rng.uniform(job.low, job.high, (2, job.dims)), axis=0)
    corners = np.round(corners) if job.positions.dtype.kind == "i" else corners.astype(job.positions.dtype)
    return corners[0].astype("f8"), corners[1].astype("f8")


def one(options, number: int, kind: str, folder: Path, board: Board) -> None:
    job = Job(np.random.default_rng([options.seed, number]), folder, kind)
    subprocess.run([options.program, folder / "job.json"], check=True, capture_output=True, text=True)
    Reader(job, board, options.zvf).run()


if __name__ == "__main__":
    first = lambda options, folder, board: minimal(options.program, folder, board)
    sys.exit(try_kinds(KINDS, ["program", "zvf"], one, seed=20260202, stores=32, quick=2, first=first))
