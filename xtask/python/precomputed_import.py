"""`zvf import` of Neuroglancer's precomputed formats, beside programs of others.

Usage: precomputed_import.py ZVF TESTDATA FOLDER

1. Datasets that cloud-volume and DracoPy make, sharded and not: the imported stores hold the values that cloud-volume reads.
2. Bundled stores, exported and imported again: vertices, attributes and links are those of the truth files of the bundle.
3. Bundled stores, exported as files and in shards: cloud-volume reads skeletons and meshes equal to `zvf get`, multi-resolution ones within
   a step of their coordinates; the neuroglancer package reads every point with its properties once.
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import DracoPy
import numpy as np
from arrow_rows import arrow, rows
from cloud import segmentation
from cloudvolume import CloudVolume, Skeleton
from cloudvolume.datasource.precomputed.mesh.multilod import MultiLevelPrecomputedMeshManifest
from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

# Two minishards in each of two shards, so that objects are in several files.
SHARDING = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 0,
    "hash": "murmurhash3_x86_128",
    "minishard_bits": 1,
    "shard_bits": 1,
    "minishard_index_encoding": "gzip",
    "data_encoding": "gzip",
}


def check(condition, what):
    if not condition:
        raise SystemExit(f"precomputed_import: {what}")


def run(*command):
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}")


class Imported:
    """A store made from a folder."""

    def __init__(self, zvf, folder):
        self.zvf, self.store = zvf, folder.with_name(folder.name + ".zarrvectors")
        run(zvf, "import", folder, self.store, "-q")
        run(zvf, "validate", self.store)

    def tables(self, *words):
        out = self.store.with_suffix(".tables")
        shutil.rmtree(out, ignore_errors=True)
        run(self.zvf, *words[:1], self.store, *words[1:], "-o", f"{out}/", "-q")
        return {file.stem: arrow(file) for file in out.iterdir()}

    def get(self, segment):
        """The vertices of an object, and its links by their rows."""
        found = self.tables("get", str(segment))
        links = found.get("links")
        return found["vertices"], None if links is None else rows(links["vertices"]).astype(np.int64)


def linked(links, *columns):
    """Links as the values of their ends, in no order, with how often each comes."""
    packed = [b"".join(parts) for parts in zip(*([row.tobytes() for row in np.ascontiguousarray(one)] for one in columns), strict=True)]
    return collections.Counter(tuple(sorted(packed[end] for end in link)) for link in links)


def volume(folder, resolution):
    made = segmentation(f"file://{folder}", resolution=resolution, size=[4096] * 3, parallel=1)
    made.commit_info()
    return made


def put_shards(folder, encoded):
    """Writes objects as shards, by cloud-volume."""
    specification = ShardingSpecification.from_dict(SHARDING)
    shards = specification.synthesize_shards(encoded)
    check(len(shards) == 2, f"{len(shards)} shards, expected 2")
    for name, data in shards.items():
        (folder / name).write_bytes(data)


def trees(rng, ids):
    """Random trees with branches; every link is a child and its parent."""
    made = {}
    for number in ids:
        count = int(rng.integers(2, 400))
        parents = (np.arange(1, count) * rng.random(count - 1)).astype(np.uint32)
        edges = np.column_stack([np.arange(1, count, dtype=np.uint32), parents])
        places = rng.uniform(0, 4000, (count, 3)).astype(np.float32)
        radii = rng.uniform(1, 50, count).astype(np.float32)
        types = rng.integers(0, 255, count).astype(np.uint8)
        made[number] = Skeleton(places, edges, radii=radii, vertex_types=types, segid=number)
    return made


def skeletons(zvf, folder, sharded):
    rng = np.random.default_rng(5)
    ids = [int(one) for one in np.unique(rng.integers(1, 2**62, 20))]
    made = trees(rng, ids)
    top = folder / f"skeletons-{'sharded' if sharded else 'files'}"
    cv = volume(top, [4, 4, 4])
    cv.skeleton.meta.info["transform"] = [2, 0, 0, 100, 0, 2, 0, 0, 0, 0, 2, -7]
    below = top / "skeletons"
    below.mkdir(exist_ok=True)
    if sharded:
        cv.skeleton.meta.info["sharding"] = SHARDING
        put_shards(below, {number: one.to_precomputed() for number, one in made.items()})
    else:
        for number, one in made.items():
            (below / str(number)).write_bytes(one.to_precomputed())
    cv.skeleton.meta.commit_info()
    cv = CloudVolume(f"file://{top}", progress=False, cache=False, parallel=1)
    store = Imported(zvf, below)
    attributes = [one["id"] for one in cv.skeleton.meta.info["vertex_attributes"]]
    check(attributes == ["radius", "vertex_types"], f"cloud-volume writes the attributes {attributes}")
    vertices = 0
    for number in ids:
        found = cv.skeleton.get(number)
        check(len(found.vertices) == len(made[number].vertices), f"cloud-volume lost vertices of {number}")
        table, links = store.get(number)
        # By the pages of the format positions and radii are "stored model" numbers, which the transform scales.
        stored = made[number]
        places = (stored.vertices.astype(np.float64) * 2 + [100, 0, -7]).astype("<f4")
        radii = (stored.radius.astype(np.float64) * 2).astype("<f4").reshape(-1, 1)
        kinds = stored.vertex_types.reshape(-1, 1)
        got = [rows(table["position"]), rows(table["radius"]), rows(table["vertex_types"])]
        check(linked(links, *got) == linked(stored.edges, places, radii, kinds), f"skeleton {number}: other links")
        check(np.allclose(np.sort(got[0], axis=0), np.sort(found.physical_space().vertices, axis=0)), f"skeleton {number}: other vertices")
        vertices += len(table)
    print(f"import     {top.name}: {len(ids)} equal, {vertices} vertices")


def ball(rng, bits):
    """A ball with bumps and open poles, its vertices quantized."""
    around, along = 24, 13
    angles = np.arange(around) * 2 * np.pi / around
    heights = np.linspace(0.1, np.pi - 0.1, along)
    size = 0.35 + 0.1 * rng.random((along, around))
    x = size * np.sin(heights)[:, None] * np.cos(angles)
    y = size * np.sin(heights)[:, None] * np.sin(angles)
    z = size * np.cos(heights)[:, None]
    places = np.stack([x, y, z], axis=-1).reshape(-1, 3) + 0.5
    faces = []
    for row in range(along - 1):
        for at in range(around):
            a, b = row * around + at, row * around + (at + 1) % around
            faces += [(a, b, a + around), (b, b + around, a + around)]
    return np.round(places * (2**bits - 1)).astype(np.uint32), np.array(faces, dtype=np.uint32)


def meshes(zvf, folder, bits, level, sharded):
    """Multi-resolution meshes of two fragments: the vertices of DracoPy's decoder, as cloud-volume places them."""
    rng = np.random.default_rng(bits + level)
    top = folder / f"meshes-{bits}-{level}-{'sharded' if sharded else 'files'}"
    cv = volume(top, [1, 1, 1])
    below = top / "mesh"
    below.mkdir(exist_ok=True)
    info = {
        "@type": "neuroglancer_multilod_draco",
        "vertex_quantization_bits": bits,
        "transform": [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0],
        "lod_scale_multiplier": 1,
    }
    encoded, manifests = {}, {}
    for number in range(1, 9):
        fragments = []
        for _ in range(2):
            places, faces = ball(rng, bits)
            fragments.append(
                DracoPy.encode(
                    places,
                    faces,
                    quantization_bits=bits,
                    compression_level=level,
                    quantization_range=2**bits - 1,
                    quantization_origin=np.zeros(3),
                    create_metadata=True,
                )
            )
        sizes = [len(one) for one in fragments]
        manifest = MultiLevelPrecomputedMeshManifest(
            segment_id=number,
            chunk_shape=[512, 256, 128],
            grid_origin=[10 * number, 0, -5],
            num_lods=1,
            lod_scales=[1],
            vertex_offsets=[[0, 0, 0]],
            num_fragments_per_lod=[2],
            fragment_positions=[np.array([[0, 0, 0], [1, 0, 0]])],
            fragment_offsets=sizes,
        ).to_binary()
        data = b"".join(fragments)
        encoded[number], manifests[number] = data + manifest, len(manifest)
        if not sharded:
            (below / str(number)).write_bytes(data)
            (below / f"{number}.index").write_bytes(manifest)
    if sharded:
        info["sharding"] = {**SHARDING, "data_encoding": "raw"}
        specification = ShardingSpecification.from_dict(info["sharding"])
        for name, data in specification.synthesize_shards(encoded, data_offset=manifests).items():
            (below / name).write_bytes(data)
    (below / "info").write_text(json.dumps(info))
    cv = CloudVolume(f"file://{top}", progress=False, cache=False, parallel=1)
    store, triangles = Imported(zvf, below), 0
    for number in encoded:
        found = cv.mesh.get(number, concat=True)
        found = found[number] if isinstance(found, dict) else found
        table, links = store.get(number)
        got = rows(table["position"]).astype(np.float64)
        # Corners of triangles in an order that the last bits do not change.
        ours, theirs = (
            np.sort(np.round(one[corners.astype(np.int64)], 2).reshape(-1, 9), axis=0)
            for one, corners in ((got, links), (np.asarray(found.vertices, dtype=np.float64), found.faces))
        )
        check(ours.shape == theirs.shape and np.allclose(ours, theirs, atol=0.02), f"{top.name} {number}: other triangles")
        triangles += len(links)
    print(f"import     {top.name}: {len(encoded)} equal, {triangles} triangles")


# Bundled stores, the views that are exported of them, and the columns of the truth that a view holds. None has a unit, so that a
# unit of them is drawn as a nanometre.
VIEWS = {
    "0.9/points_ids": {"points": ["attr_intensity", "attr_count"]},
    "0.9/points_4d_sharded": {"points": []},
    "0.9/real_synapses": {"points": ["attr_confidence", "attr_pre"]},
    "0.9/real_skeleton": {"skeletons": ["attr_radius"]},
    "0.9/skeleton": {"skeletons": ["attr_radius"]},
    "0.9/graph": {"skeletons": []},
    "0.9/lines": {"lines": [], "skeletons": []},
    "0.9/streamlines": {"lines": [], "skeletons": ["attr_fa"]},
    "0.9/real_mesh": {"meshes": []},
    "0.9/mesh": {"meshes": []},
}


def counted(*columns):
    """Rows of columns as bytes, with how often each comes."""
    columns = [np.ascontiguousarray(one) for one in columns]
    return collections.Counter(b"".join(row) for row in zip(*([row.tobytes() for row in one] for one in columns), strict=True))


def unpacked(testdata, folder, case):
    with tarfile.open(testdata / "zvf" / f"{case}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / case.split("/")[-1]


def round_trip(zvf, testdata, folder, case, shards):
    top = unpacked(testdata, folder / f"shards-{shards}", case)
    run(zvf, "export", top / "store.zarrvectors", top / "views", "--format", "precomputed", "--shards", shards)
    with np.load(top / "truth.npz") as file:
        truth = {name: file[name] for name in file}
    places = truth["positions"].astype("<f4")
    links = truth.get("edges", truth.get("faces"))
    for view, names in VIEWS[case].items():
        store = Imported(zvf, top / "views" / view)
        found = store.tables("query")
        wanted = [places, *(truth[name].reshape(len(places), -1) for name in names)]
        got = [rows(found["vertices"]["position"])]
        got += [rows(found["vertices"][name.removeprefix("attr_")]) for name in names]
        check(all(a.dtype == b.dtype for a, b in zip(got, wanted, strict=True)), f"{top.name} {view}: other types")
        check(counted(*got) == counted(*wanted), f"{top.name} {view}: other vertices")
        if links is not None:
            ends = rows(found["links"]["vertices"]).astype(np.int64)
            check(linked(ends, *got) == linked(links, *wanted), f"{top.name} {view}: other links")
        if case == "0.9/lines":
            ends = [rows(store.get(number)[0]["position"]) for number in rows(found["objects"]["object_id"])[:, 0]]
            # A skeleton is stored from its root, which either end may be.
            side = (lambda line: line) if view == "lines" else (lambda line: sorted(map(bytes, line)))
            kept, given = (collections.Counter(b"".join(map(bytes, side(one))) for one in lines) for lines in (ends, places.reshape(-1, 2, 3)))
            check(kept == given, f"{top.name} {view}: other lines")
        if "object_length" in truth:
            table = found["objects"]
            stored = zip(rows(table["object_id"])[:, 0], rows(table["length"])[:, 0], strict=True)
            expected = zip(truth["object_ids"].tolist(), truth["object_length"].tolist(), strict=True)
            check(dict(stored) == dict(expected), f"{top.name} {view}: other lengths")
        print(f"round trip {top.name} {view}, shards {shards}: {len(places)} vertices, {0 if links is None else len(links)} links, {len(names)} attributes")


def opened(views):
    """Exported views as cloud-volume opens segmentations."""
    return segmentation(f"precomputed://file://{views}", mesh="multilod", parallel=1)


class Exported:
    """A bundled store, and its views."""

    def __init__(self, zvf, store, folder, shards):
        self.zvf, self.store, self.views, self.shards = zvf, store, folder / f"views-{shards}", shards
        run(zvf, "export", store, self.views, "--format", "precomputed", "--shards", shards)

    def has_shards(self, view):
        found = list((self.views / view).glob("*.shard"))
        check(bool(found) == (self.shards != "none"), f"{self.views} {view}: {len(found)} shards")

    def segments(self, view):
        document = json.loads((self.views / view / "properties" / "info").read_text())
        return [int(one) for one in document["inline"]["ids"]]

    def rows(self, *words):
        out = self.views.with_suffix(".rows")
        shutil.rmtree(out, ignore_errors=True)
        run(self.zvf, *words[:1], self.store, *words[1:], "-o", f"{out}/", "-q")
        found = {file.stem: arrow(file) for file in out.iterdir()}
        links = rows(found["links"]["vertices"]).astype(np.int64) if "links" in found else None
        return found["vertices"], links


def exported_skeletons(zvf, store, folder, shards):
    exported = Exported(zvf, store, folder, shards)
    exported.has_shards("skeletons")
    cv, vertices = opened(exported.views), 0
    ids = exported.segments("skeletons")
    for segment in ids[:40]:
        table, links = exported.rows("get", str(segment))
        found = cv.skeleton.get(segment)
        wanted = rows(table["position"]).astype("<f4")
        check(np.array_equal(found.vertices, wanted), f"{store} {segment}: other vertices for cloud-volume")
        edges = {tuple(sorted(edge)) for edge in found.edges.tolist()}
        check(edges == {tuple(sorted(edge)) for edge in links.tolist()}, f"{store} {segment}: other edges for cloud-volume")
        vertices += len(wanted)
    print(f"export     {folder.name} skeletons, shards {shards}: {min(40, len(ids))} of {len(ids)} equal, {vertices} vertices")


def surface(places, faces):
    """Area of triangles, and the integral of their places and normals over it: what cutting does not change."""
    a, b, c = (places[faces[:, corner]].astype(np.float64) for corner in range(3))
    normals = np.cross(b - a, c - a) / 2
    return np.linalg.norm(normals, axis=1).sum(), np.einsum("ij,ik->jk", (a + b + c) / 3, normals)


def nearest(places, others):
    """The largest distance of a place to the nearest of others."""
    found = 0.0
    for start in range(0, len(places), 256):
        gaps = places[start : start + 256, None, :].astype(np.float64) - others[None, :, :]
        found = max(found, float(np.sqrt((gaps**2).sum(axis=2)).min(axis=1).max()))
    return found


def exported_meshes(zvf, store, folder, shards, levels):
    exported = Exported(zvf, store, folder, shards)
    exported.has_shards("multilod")
    cv = opened(exported.views)
    imported = Imported(zvf, exported.views / "multilod")
    for segment in exported.segments("multilod"):
        manifest = cv.mesh.get_manifest(segment)
        check(manifest.num_lods == levels, f"{store} {segment}: {manifest.num_lods} levels of detail, expected {levels}")
        for level in range(levels):
            table, faces = exported.rows("query", "--level", str(level))
            wanted = rows(table["position"]).astype(np.float64)
            found = cv.mesh.get(segment, lod=level, concat=True)
            found = found[segment] if isinstance(found, dict) else found
            places = np.asarray(found.vertices, dtype=np.float64)
            step = float(np.max(manifest.chunk_shape)) * 2**level / 65535
            used = wanted[np.unique(faces)]
            apart = nearest(used, places)
            check(apart <= step, f"{store} {segment} level {level}: a vertex is {apart} away, a step is {step}")
            (area, moment), (other, others) = surface(wanted, faces), surface(places, found.faces)
            check(abs(area - other) < 1e-3 * area, f"{store} {segment} level {level}: area {other}, expected {area}")
            size = np.abs(wanted).max() * area
            check(np.abs(moment - others).max() < 1e-3 * size, f"{store} {segment} level {level}: another surface")
            fragments = len(manifest.fragment_positions[level])
            print(f"export     {folder.name} meshes, shards {shards}: {segment} level {level}, {len(faces)} triangles, {fragments} fragments, {apart / step:.2f} steps apart")
            if level == 0:
                table, links = imported.get(segment)
                got = rows(table["position"]).astype(np.float64)
                ours, theirs = (
                    collections.Counter(tuple(sorted(map(tuple, np.round(one[corners], 1)))) for corners in list_of.astype(np.int64))
                    for one, list_of in ((got, links), (places, np.asarray(found.faces)))
                )
                # Within the last bits of float32, and a rounding to one decimal that they may change.
                different = (ours - theirs).total() + (theirs - ours).total()
                check(len(links) == len(found.faces) and different <= len(links) // 50, f"{store} {segment}: {different} triangles differ")


def exported_points(zvf, store, folder, shards):
    from neuroglancer.read_precomputed_annotations import AnnotationReader

    exported = Exported(zvf, store, folder, shards)
    exported.has_shards("points/by_id")
    table, _ = exported.rows("query")
    reader = AnnotationReader(f"file://{exported.views}/points/")
    found = list(reader.get_within_spatial_bounds())
    check(len(found) == table.num_rows, f"{store}: {len(found)} points, expected {table.num_rows}")
    check(len({one.id for one in found}) == len(found), f"{store}: an id comes twice")
    wanted = [rows(table["position"]).astype("<f4")]
    got = [np.array([one.point for one in found]).astype("<f4")]
    document = json.loads((exported.views / "points" / "info").read_text())
    for number, spec in enumerate(document["properties"]):
        if spec["id"] not in table.column_names or "enum_values" in spec:
            continue
        wanted.append(np.nan_to_num(rows(table[spec["id"]])).astype(spec["type"]))
        got.append(np.array([one.props[number] for one in found]).reshape(len(found), -1).astype(spec["type"]))
    check(counted(*got) == counted(*wanted), f"{store}: other points")
    for one in found[:: max(1, len(found) // 50)]:
        check(np.array_equal(reader.by_id[int(one.id)].point, one.point), f"{store}: another point by id")
    lists = 0
    for number, (relation, by_segment) in enumerate(reader.relationships.items()):
        for one in found[:: max(1, len(found) // 50)]:
            for segment in reader.by_id[int(one.id)].segments[number]:
                check(one.id in {other.id for other in by_segment[int(segment)]}, f"{store}: not by {relation}")
                lists += 1
    print(f"export     {folder.name} points, shards {shards}: {len(found)} read once, {len(wanted) - 1} properties, {len(reader.spatial)} levels, {lists} lists")


def exports(zvf, testdata, folder):
    for case in ("0.9/points_ids", "0.9/real_synapses", "0.9.4/additive_points"):
        top = unpacked(testdata, folder, case)
        for shards in ("none", "0", "3"):
            exported_points(zvf, top / "store.zarrvectors", top, shards)
    for case in ("0.9/real_skeleton", "0.9/graph", "0.9/streamlines", "0.9/real_tractogram"):
        top = unpacked(testdata, folder, case)
        for shards in ("none", "0", "3"):
            exported_skeletons(zvf, top / "store.zarrvectors", top, shards)
    for case, levels in (("0.9/mesh", 1), ("0.9/real_mesh", 1), ("0.9/real_mesh", 3)):
        top = unpacked(testdata, folder / f"levels-{levels}", case)
        if levels > 1:
            run(zvf, "pyramid", top / "store.zarrvectors", "--factors", "2,4")
        for shards in ("none", "2"):
            exported_meshes(zvf, top / "store.zarrvectors", top, shards, levels)


def main():
    zvf, testdata, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for sharded in (False, True):
        skeletons(zvf, folder, sharded)
    for bits, level, sharded in [(10, 1, False), (16, 5, False), (10, 7, True), (16, 10, True), (16, 0, True)]:
        meshes(zvf, folder, bits, level, sharded)
    testdata = pathlib.Path(testdata)
    for case in VIEWS:
        for shards in ("none", "0", "3"):
            round_trip(zvf, testdata, folder, case, shards)
    exports(zvf, testdata, folder / "exports")


main()
