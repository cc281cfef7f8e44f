"""Stores that are written, judged by the arrays that went in and by other packages."""

from __future__ import annotations

import datetime
import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import zvf

if TYPE_CHECKING:
    from collections.abc import Iterator

RNG = np.random.default_rng(20_261_123)
TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


def order(rows: np.ndarray) -> np.ndarray:
    return np.lexsort(rows.T)


def corners(positions: np.ndarray, links: np.ndarray) -> list[list[tuple[float, ...]]]:
    return sorted(sorted(map(tuple, one)) for one in positions[links].tolist())


def test_data_frames_with_a_column_for_each_axis_are_written(tmp_path: Path) -> None:
    rows = RNG.uniform(0, 100, (20_000, 3)).astype("f4")
    arrays = {"x": rows[:, 0], "y": rows[:, 1], "z": rows[:, 2], "size": np.arange(20_000)}
    wanted = zvf.write(tmp_path / "arrays.zv", kind="point_cloud", positions=rows, attributes={"size": arrays["size"]})
    frame = pl.DataFrame(arrays)
    for name, vertices in [("polars", frame), ("pandas", frame.to_pandas()), ("arrow", frame.to_arrow()), ("arrays", arrays)]:
        url = tmp_path / f"{name}.zv" if name != "arrays" else tmp_path / "mapping.zv"
        assert zvf.write(url, kind="point_cloud", vertices=vertices) == {**wanted, "store": str(url)}
        assert zvf.diff(tmp_path / "arrays.zv", url)["same"], name
    # A stream, batch by batch; axes of other names; ids of objects; numbers of different types.
    tall = frame.rename({"x": "a", "z": "c"}).with_columns(pl.col("y").cast(pl.Float64), object_id=pl.int_range(20_000) // 10)
    stream = pa.RecordBatchReader.from_batches(tall.to_arrow().schema, tall.to_arrow().to_batches(max_chunksize=7_000))
    url = tmp_path / "lines.zv"
    zvf.write(url, kind="polyline", vertices=stream, axes=["c", "y", "a"], chunk_shape=[20.0] * 3)
    line = zvf.open(url).get([7])[0]
    np.testing.assert_array_equal(line, rows[70:80, ::-1].astype("f8"))
    with zvf.Writer(tmp_path / "pushed.zv", kind="point_cloud", chunk_shape=[50.0] * 2) as writer:
        for start in (0, 10_000):
            writer.push(frame.select("x", "y")[start : start + 10_000])
    assert zvf.open(tmp_path / "pushed.zv").query().read().vertices.num_rows == 20_000
    with pytest.raises(zvf.MisuseError, match="found the columns x, size, expected position, or x, y, z"):
        zvf.write(tmp_path / "none.zv", kind="point_cloud", vertices=frame.select("x", "size"))
    with pytest.raises(zvf.MisuseError, match="a column for each of x, y, z"):
        zvf.write(tmp_path / "none.zv", kind="point_cloud", vertices=frame.select("x", "y"), chunk_shape=[9.0] * 3)
    with pytest.raises(zvf.MisuseError, match="a stream is read once"):
        zvf.write(tmp_path / "none.zv", kind="point_cloud", vertices=zvf.open(url).query().vertices)


@pytest.mark.parametrize("count", [0, 1, 300_000])
def test_points_of_every_number_type(tmp_path: Path, count: int) -> None:
    positions = RNG.uniform(-100, 100, (count, 3)).astype(np.float32)
    attributes: dict[str, Any] = {name: RNG.integers(0, 100, count).astype(name) for name in TYPES}
    attributes["flag"] = RNG.integers(0, 2, count).astype(bool)
    attributes["vector"] = RNG.normal(size=(count, 3))
    # A view of every other column, in the byte order of other machines.
    attributes["view"] = RNG.normal(size=(count, 4))[:, ::2].astype(">f8")
    attributes["word"] = np.array(["axon", "soma", "ä", None], dtype=object)[RNG.integers(0, 4, count)]
    url = tmp_path / "points.zarrvectors"
    counts = zvf.write(
        url,
        kind="point_cloud",
        positions=positions,
        attributes=attributes,
        unit="micrometer",
        # Without vertices nothing else says where the store is.
        bounds=((-100,) * 3, (100,) * 3),
    )
    assert counts["vertices"] == count
    store = zvf.open(url)
    assert [axis["unit"] for axis in store.info["axes"]] == ["micrometer"] * 3
    found = store.query().to_numpy()
    ours, theirs = order(found["position"]), order(positions)
    np.testing.assert_array_equal(found["position"][ours], positions[theirs])
    if count == 0:
        return
    for name, values in attributes.items():
        assert found[name].dtype == values.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(found[name][ours], values[theirs], err_msg=name)
    assert count < 10_000 or 4 <= counts["chunks"] <= 200
    assert zvf.validate(url, depth=5).ok


def test_polylines_keep_ids_order_and_attributes(tmp_path: Path) -> None:
    url = tmp_path / "lines.zarrvectors"
    # The second object has no vertices; ids do not rise.
    offsets, ids = [0, 400, 400, 1500, 2000], [50, -6, 9, 7]
    positions = np.cumsum(RNG.normal(size=(2000, 3)), axis=0)
    zvf.write(
        url,
        kind="polyline",
        positions=positions,
        offsets=offsets,
        object_ids=ids,
        attributes={"t": np.arange(2000)},
        objects={"object_id": ids, "name": ["a", "b", "c", "d"], "weight": [1.5, 2.5, 3.5, 4.5]},
        groups={"left": [50, 7], "right": [9]},
        chunk_shape=[20.0, 20.0, 20.0],
    )
    store = zvf.open(url)
    found = store.get(ids)
    np.testing.assert_array_equal(found.positions, positions)
    assert found.offsets.tolist() == offsets
    assert found.attributes["t"].tolist() == list(range(2000))
    assert found.object_attributes["name"].tolist() == ["a", "b", "c", "d"]
    assert found.object_attributes["weight"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert found.links is not None
    # Each vertex but the last of an object is joined to the next one.
    steps = [row for start, end in zip(offsets, offsets[1:], strict=False) for row in range(start, end - 1)]
    assert sorted(map(tuple, found.links.tolist())) == [(row, row + 1) for row in steps]
    assert sorted(store.query(groups="left").read().objects["object_id"].tolist()) == [7, 50]
    assert store.query(groups=[1]).read().objects["object_id"].tolist() == [9]
    assert store.levels[0].groups == ("left", "right")


@pytest.mark.parametrize("kind", ["polyline", "point_cloud", "graph"])
def test_objects_without_vertices_are_stored_without_a_table_of_objects(tmp_path: Path, kind: Any) -> None:
    url = tmp_path / "empty.zarrvectors"
    links = np.array([[0, 1], [1, 2]]) if kind == "graph" else None
    zvf.write(url, kind=kind, positions=RNG.uniform(0, 9, (3, 3)), offsets=[0, 0, 3, 3], object_ids=[5, 6, -7], links=links)
    found = zvf.open(url).objects().to_numpy()
    assert dict(zip(found["object_id"].tolist(), found["vertices"].tolist(), strict=True)) == {5: 0, 6: 3, -7: 0}
    assert zvf.validate(url, depth=5).ok


def test_graphs(tmp_path: Path) -> None:
    url = tmp_path / "graph.zarrvectors"
    positions = RNG.uniform(0, 50, (600_000, 2))
    edges = RNG.integers(0, len(positions), (20_000, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    weights = np.arange(len(edges), dtype=np.float32)
    zvf.write(
        url,
        kind="graph",
        positions=positions,
        object_ids=np.zeros(len(positions), dtype=np.int64),
        links=edges,
        link_attributes={"weight": weights},
        axes=["row", "column"],
        chunk_shape=[10.0, 10.0],
    )
    answer = zvf.open(url).query().read()
    assert zvf.open(url).axes == ("row", "column")
    found, links = answer.vertices["position"], answer.links.to_numpy()

    def weighed(places: np.ndarray, ends: np.ndarray, values: np.ndarray) -> set[tuple[Any, ...]]:
        pairs = zip(places[ends].tolist(), values.tolist(), strict=True)
        return {(*sorted(map(tuple, ends)), value) for ends, value in pairs}

    assert weighed(found, links["vertices"], links["weight"]) == weighed(positions, edges, weights)


def test_meshes(tmp_path: Path) -> None:
    import trimesh

    url = tmp_path / "mesh.zarrvectors"
    sphere = trimesh.creation.icosphere(subdivisions=4, radius=30.0)
    zvf.write(
        url,
        kind="mesh",
        positions=sphere.vertices,
        object_ids=np.full(len(sphere.vertices), 5),
        links=sphere.faces,
        chunk_shape=[10.0] * 3,
    )
    found = zvf.open(url).get([5])
    assert found.links is not None
    assert corners(found.positions, found.links) == corners(sphere.vertices, sphere.faces)
    again = trimesh.Trimesh(found.positions, found.links.astype(np.int64), process=False)
    assert again.is_watertight
    assert again.volume == pytest.approx(sphere.volume)


@pytest.mark.parametrize("apart", [False, True])
def test_skeletons_of_more_than_one_batch(tmp_path: Path, apart: bool) -> None:
    # Sizes so that batches of 2^18 rows end inside of skeletons, one of which is larger than a batch.
    sizes = [1, 200_000, 70_000, 2, 300_000, 5]
    owner = np.repeat(np.arange(len(sizes)) * 7 + 3, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    child = np.setdiff1d(np.arange(len(owner)), starts[:-1])
    # The parent is up to four nodes before, in the same skeleton.
    first = np.repeat(starts[:-1], sizes)[child]
    parent = np.maximum(child - RNG.integers(1, 5, len(child)), first)
    positions = RNG.uniform(0, 100, (len(owner), 3))
    kind = RNG.integers(0, 5, len(owner)).astype(np.uint8)
    if apart:
        mixed = RNG.permutation(len(owner))
        back = np.argsort(mixed)
        owner, positions, kind, child, parent = owner[mixed], positions[mixed], kind[mixed], back[child], back[parent]
    links = np.column_stack([child, parent])
    url = tmp_path / "neurons.zarrvectors"
    zvf.write(
        url, kind="skeleton", positions=positions, object_ids=owner, attributes={"kind": kind}, links=links, chunk_shape=(25.0,) * 3
    )
    found = zvf.open(url).get(np.unique(owner), columns=["kind"])
    assert np.diff(found.offsets).tolist() == sizes
    ours, theirs = order(found.positions), order(positions)
    np.testing.assert_array_equal(found.positions[ours], positions[theirs])
    np.testing.assert_array_equal(found.attributes["kind"][ours], kind[theirs])
    # Rows of either, in the order of their positions, which are all different.
    ranks = [np.argsort(one) for one in (ours, theirs)]
    joined = [np.sort(rank[rows.astype(np.int64)], axis=1) for rank, rows in zip(ranks, (found.links, links), strict=True)]
    np.testing.assert_array_equal(*(one[np.lexsort(one.T)] for one in joined))


def test_the_released_reader_and_zarr_take_chosen_codecs(tmp_path: Path) -> None:
    import zarr
    from zarr_vectors.types.points import read_points

    url = tmp_path / "points.zarrvectors"
    # Smooth, rounded, noise, and one value: data for which other codecs are chosen.
    positions = np.cumsum(RNG.normal(scale=0.01, size=(60_000, 3)), axis=0).astype(np.float32)
    attributes = {
        "rounded": np.round(positions[:, 0], 1),
        "noise": RNG.integers(0, 256, len(positions)).astype(np.uint8),
        "one": np.full(len(positions), 7, np.int64),
    }
    zvf.write(url, kind="point_cloud", positions=positions, attributes=attributes, chunk_shape=(100.0,) * 3)
    codecs = {}
    for name in ("vertices", *(f"vertex_attributes/{name}" for name in attributes)):
        *_, codec = json.loads((url / "0" / name / "zarr.json").read_text())["codecs"]
        codecs[name] = codec["name"]
        array = zarr.open_array(url / "0" / name, mode="r")
        cells = [bytes(cell) for cell in np.asarray(array[...]).reshape(-1)]
        stored = positions if name == "vertices" else attributes[name.split("/")[1]]
        assert sum(map(len, cells)) == stored.nbytes, name
    assert codecs["vertices"] == "blosc", codecs
    found = read_points(str(url), attribute_names=list(attributes))
    ours, theirs = order(found["positions"]), order(positions)
    np.testing.assert_array_equal(found["positions"][ours], positions[theirs])
    for name, values in attributes.items():
        np.testing.assert_array_equal(found["vertex_attributes"][name][ours], values[theirs], err_msg=name)
    assert zvf.validate(url, depth=5).ok


def test_the_released_reader_takes_blosc(tmp_path: Path) -> None:
    from zarr_vectors.types.points import read_points

    url = tmp_path / "points.zarrvectors"
    positions = RNG.normal(size=(5_000, 3)).astype(np.float32)
    attributes = {name: RNG.integers(0, 100, 5_000).astype(name) for name in ("uint8", "int16", "float32", "float64")}
    zvf.write(url, kind="point_cloud", positions=positions, attributes=attributes, chunk_shape=(1.0,) * 3, codec="blosc")
    for name, items in {"vertices": 4, "vertex_fragments": 8, **{f"vertex_attributes/{name}": np.dtype(name).itemsize for name in attributes}}.items():
        *_, codec = json.loads((url / "0" / name / "zarr.json").read_text())["codecs"]
        assert (codec["name"], codec["configuration"]["typesize"]) == ("blosc", items), name
    found = read_points(str(url), attribute_names=list(attributes))
    ours, theirs = order(found["positions"]), order(positions)
    np.testing.assert_array_equal(found["positions"][ours], positions[theirs])
    for name, values in attributes.items():
        np.testing.assert_array_equal(found["vertex_attributes"][name][ours], values[theirs], err_msg=name)
    assert zvf.validate(url, depth=5).ok


def test_a_store_of_many_chunks_has_few_files(tmp_path: Path) -> None:
    positions = np.stack(np.meshgrid(*[np.arange(11.0) + 0.5] * 3), axis=-1).reshape(-1, 3)
    files = {}
    for shards in ("auto", "none", [11, 11, 11]):
        url = tmp_path / f"{shards}.zarrvectors"
        zvf.write(url, kind="point_cloud", positions=positions, chunk_shape=[1.0] * 3, shard_shape=shards)
        read = zvf.open(url).query().to_numpy()["position"]
        assert sorted(map(tuple, read.tolist())) == sorted(map(tuple, positions.tolist()))
        files[str(shards)] = sum(path.is_file() for path in url.rglob("*"))
    zvf.write(tmp_path / "default.zarrvectors", kind="point_cloud", positions=positions, chunk_shape=[1.0] * 3)
    assert files["none"] > 2662
    assert files["auto"] < 300 and files["[11, 11, 11]"] < 20
    assert sum(path.is_file() for path in (tmp_path / "default.zarrvectors").rglob("*")) == files["auto"]


def test_streams_of_other_packages(tmp_path: Path) -> None:
    positions = RNG.uniform(0, 9, (5000, 3))
    table = pa.table(
        {
            "position": pa.FixedSizeListArray.from_arrays(pa.array(positions.reshape(-1)), 3),
            "number": pa.array(np.arange(5000)),
            "word": pa.array(["a", "b"] * 2500).dictionary_encode(),
            "hole": pa.array([None, 1.5] * 2500),
        }
    )
    sources = {
        "table": table,
        "reader": table.to_reader(max_chunksize=77),
        "polars": pl.DataFrame(table),
        "batch": table.to_batches()[0],
        "ours": zvf.Table(table),
    }
    for name, source in sources.items():
        url = tmp_path / f"{name}.zarrvectors"
        zvf.write(url, kind="point_cloud", vertices=source, chunk_shape=[3.0] * 3)
        found = zvf.open(url).query().to_numpy()
        by_number = np.argsort(found["number"])
        np.testing.assert_array_equal(found["position"][by_number], positions)
        assert found["word"][by_number].tolist() == ["a", "b"] * 2500
        np.testing.assert_array_equal(found["hole"][by_number], [np.nan, 1.5] * 2500)
    # A store is written from a query, as a stream.
    copy = tmp_path / "copy.zarrvectors"
    query = zvf.open(tmp_path / "table.zarrvectors").query(batch_rows=100)
    zvf.write(copy, kind="point_cloud", vertices=query.vertices, chunk_shape=[9.0] * 3)
    assert sorted(zvf.open(copy).query().to_numpy()["number"].tolist()) == list(range(5000))


def test_a_writer_takes_batches_and_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    url = tmp_path / "batches.zarrvectors"
    parts = [RNG.uniform(0, 10, (100, 3)) for _ in range(5)]
    with zvf.Writer(url, kind="graph", chunk_shape=[5.0] * 3) as writer:
        for number, part in enumerate(parts):
            # Each part is a chain, joined to the one before it.
            first = number * 100
            rows = np.arange(max(first, 1), first + 100)
            links = {"vertices": np.stack([rows - 1, rows], axis=1)}
            assert writer.push({"position": part, "object_id": np.zeros(100, dtype=np.int64)}, links) == first + 100
        assert not url.exists()
    assert writer.result is not None
    assert (writer.result["vertices"], writer.result["links"]) == (500, 499)
    answer = zvf.open(url).query().read()
    chain = np.stack([np.arange(499), np.arange(1, 500)], axis=1)
    assert corners(answer.vertices["position"], answer.links["vertices"]) == corners(np.concatenate(parts), chain)

    failed = tmp_path / "failed.zarrvectors"
    with pytest.raises(ZeroDivisionError), zvf.Writer(failed, kind="point_cloud", chunk_shape=[5.0] * 3) as writer:
        writer.push({"position": parts[0]})
        raise ZeroDivisionError
    assert not failed.exists()
    with pytest.raises(zvf.MisuseError, match="ended"):
        writer.push({"position": parts[0]})


def test_a_stream_that_fails_after_some_of_its_batches_ends_the_writer(tmp_path: Path) -> None:
    rows = RNG.uniform(0, 10, (40, 3))
    batches = pa.table({name: rows[:, axis] for axis, name in enumerate("xyz")}).to_batches(max_chunksize=10)

    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches[:3]
        raise ZeroDivisionError

    def stream() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(batches[0].schema, broken())

    url = tmp_path / "broken.zarrvectors"
    writer = zvf.Writer(url, kind="point_cloud", chunk_shape=[5.0] * 3)
    writer.push(batches[0])
    with pytest.raises(zvf.MisuseError, match="the Arrow stream failed"):
        writer.push(stream())
    # Rows of the first batches were taken: they must be neither twice in a store, nor alone.
    with pytest.raises(zvf.MisuseError, match="ended"):
        writer.push(batches[0])
    with pytest.raises(zvf.MisuseError, match="ended"):
        writer.finish()
    assert not url.exists()

    # A batch that is refused as a whole leaves the writer as it was.
    with zvf.Writer(url, kind="point_cloud", chunk_shape=[5.0] * 3) as writer:
        writer.push(batches[0])
        with pytest.raises(zvf.MisuseError):
            writer.push({"x": [1.0], "y": [1.0]})
        writer.push(batches[1])
    assert len(zvf.open(url).query().read().vertices) == 20


def test_texts_of_pandas_in_each_arrow_type_may_be_missing(tmp_path: Path) -> None:
    import pandas as pd

    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        words = pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(kind))
        url = tmp_path / f"{kind}.zarrvectors"
        zvf.write(url, kind="point_cloud", positions=np.zeros((3, 3)), attributes={"word": words}, chunk_shape=[5.0] * 3)
        assert zvf.open(url).query().to_numpy()["word"].tolist() == ["a", None, "b"], kind


def test_tensors_with_another_order_of_values_than_the_stored_one_are_refused(tmp_path: Path) -> None:
    stored = pa.FixedSizeListArray.from_arrays(pa.array(range(12), pa.int32()), 4)
    axis = pa.array([1.0, 2.0, 3.0])
    for order in ([1, 0], [0, 1], None):
        tensors = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2, 2], permutation=order), stored)
        for way, given in (
            ("table", {"vertices": pa.table({"x": axis, "y": axis, "z": axis, "m": tensors})}),
            ("arrays", {"positions": np.zeros((3, 3)), "attributes": {"m": tensors}}),
        ):
            url = tmp_path / f"{way}{order}.zarrvectors"
            if order == [1, 0]:
                with pytest.raises(zvf.MisuseError, match="dimensions are in the order"):
                    zvf.write(url, kind="point_cloud", **given)
                continue
            zvf.write(url, kind="point_cloud", **given)
            assert sorted(zvf.open(url).query().to_numpy()["m"].tolist()) == stored.to_pylist()


def test_edits(tmp_path: Path) -> None:
    url = tmp_path / "edited.zarrvectors"
    positions = RNG.uniform(0, 10, (40, 3)).astype(np.float32)
    zvf.write(
        url,
        kind="polyline",
        positions=positions,
        offsets=[0, 10, 20, 40],
        attributes={"r": np.arange(40.0)},
        objects={"object_id": [0, 1, 2], "w": [1.0, 2.0, 3.0]},
        chunk_shape=[5.0] * 3,
    )
    new = RNG.uniform(0, 10, (6, 3)).astype(np.float32)
    with zvf.edit(url) as change:
        change.delete([1])
        change.append({"position": new, "object_id": np.full(6, 77), "r": np.arange(6.0), "unknown": np.arange(6)})
        change.put_objects({"object_id": [77], "w": [9.0]})
    assert change.result is not None
    assert change.result["vertices"] == 6 - 10
    assert "unknown" in " ".join(change.notes)
    found = zvf.open(url).get([0, 2, 77])
    np.testing.assert_array_equal(found.positions, np.concatenate([positions[:10], positions[20:], new]))
    assert found.object_attributes["w"].tolist() == [1.0, 3.0, 9.0]

    # What raises changes nothing, and the store can be changed afterwards.
    with pytest.raises(zvf.MisuseError), zvf.edit(url) as change:
        change.delete([0])
        change.delete([1000])
    for ids in ("0-1", "0-1000000000000000000", range(10**18)):
        with pytest.raises(zvf.MisuseError, match="ignore_missing"), zvf.edit(url) as change:
            change.delete(ids)
    with pytest.raises(ZeroDivisionError), zvf.edit(url) as change:
        change.delete([0])
        raise ZeroDivisionError
    assert sorted(zvf.open(url).query().read().objects["object_id"].tolist()) == [0, 2, 77]
    with zvf.edit(url) as change:
        change.delete([0])
    assert zvf.validate(url, depth=5).ok
    with zvf.edit(url) as change:
        change.delete(range(-5, 10**18), ignore_missing=True)
    assert zvf.open(url).query().read().objects["object_id"].tolist() == []
    assert zvf.validate(url, depth=5).ok


def test_a_change_that_is_dropped_is_abandoned(tmp_path: Path) -> None:
    url = tmp_path / "dropped.zarrvectors"
    zvf.write(url, kind="point_cloud", positions=np.zeros((3, 3), "f4"), chunk_shape=[5.0] * 3)
    files = sorted(str(path) for path in url.rglob("*"))

    def drops() -> None:
        change = zvf.edit(url)
        change.append({"position": np.ones((1, 3), "f4")})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        drops()
    del caught
    gc.collect()
    assert sorted(str(path) for path in url.rglob("*")) == files
    with zvf.edit(url) as change:
        change.append({"position": np.full((1, 3), 2, "f4")})
    assert len(zvf.open(url).query().read().vertices) == 4


def test_floats_beyond_the_type_of_an_attribute_are_refused(tmp_path: Path) -> None:
    with zvf.Writer(tmp_path / "wide", kind="point_cloud", chunk_shape=[10.0] * 3) as writer:
        writer.push({"position": np.zeros((1, 3), "f4"), "a": np.float32([1])})
        with pytest.raises(zvf.MisuseError, match="a: found 1e300 in row 1, expected numbers that float32 can represent"):
            writer.push({"position": np.zeros((2, 3)), "a": np.array([0.5, 1e300])})
        writer.push({"position": np.zeros((2, 3)), "a": np.array([np.inf, 1e30])})
    assert zvf.open(tmp_path / "wide").query().to_numpy()["a"].tolist() == [1.0, np.inf, np.float32(1e30)]


def test_an_index_of_pandas_with_a_name_is_a_column(tmp_path: Path) -> None:
    import pandas as pd

    for keys in ([7, 8, 10], [7, 8, 9]):
        url = tmp_path / f"index{keys[-1]}"
        positions = pd.Series([[0.0, 0, 0]] * 3, dtype=pd.ArrowDtype(pa.list_(pa.float32(), 3)))
        frame = pd.DataFrame({"position": positions, "object_id": [1, 2, 3], "a": [1.0, 2.0, 3.0], "k": keys}).set_index("k")
        objects = pd.DataFrame({"object_id": [1, 2, 3], "w": [4.0, 5.0, 6.0]}).set_index("object_id")
        zvf.write(url, kind="point_cloud", vertices=frame, objects=objects, chunk_shape=[9.0] * 3)
        found = zvf.open(url).query().read()
        assert found.vertices["k"].tolist() == keys
        assert found.objects["w"].tolist() == [4.0, 5.0, 6.0]
    with pytest.raises(zvf.MisuseError, match="k: found an index and a column"):
        zvf.write(tmp_path / "twice", kind="point_cloud", vertices=frame.assign(k=0), chunk_shape=[9.0] * 3)


def test_times_of_other_packages_are_columns(tmp_path: Path) -> None:
    import pandas as pd

    days = [datetime.date(2024, 1, 1), None]
    moments = pd.Series(pd.to_datetime(["2024-01-01T12:00:00", None]))
    cases: list[tuple[object, str, list[int | None]]] = [
        (pa.array(days), "days", [19723, None]),
        (pl.Series(days), "days", [19723, None]),
        (pa.array([7, None], pa.duration("ms")), "milliseconds", [7, None]),
        (pa.array([1704110400, None], pa.timestamp("s", "Europe/Berlin")), "seconds since 1970-01-01T00:00:00Z in Europe/Berlin", [1704110400, None]),
        (
            moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo").astype("datetime64[s, Asia/Tokyo]"),
            "seconds since 1970-01-01T00:00:00Z in Asia/Tokyo",
            [1704110400, None],
        ),
        (moments.dt.tz_localize("UTC"), "microseconds since 1970-01-01T00:00:00Z", [1704110400_000_000, None]),
        (moments.astype(pd.ArrowDtype(pa.timestamp("s"))), "seconds", [1704110400, None]),
    ]
    for at, (values, unit, expected) in enumerate(cases):
        url = tmp_path / f"times{at}.zarrvectors"
        zvf.write(
            url,
            kind="polyline",
            positions=np.zeros((2, 3), "f4"),
            object_ids=[4, 5],
            attributes={"a": values},
            objects={"object_id": [4, 5], "b": values},
            chunk_shape=[9.0] * 3,
        )
        store = zvf.open(url)
        missing = -(1 << 63)
        assert store.query().to_numpy()["a"].tolist() == [missing if one is None else one for one in expected]
        metadata = pa.table(store.query().vertices).schema.field("a").metadata
        assert metadata[b"zvf.unit"].decode().startswith(unit)
        for table in (store.objects(), store.query().objects):
            assert table.to_numpy()["b"].tolist() == expected
    with zvf.edit(tmp_path / "times0.zarrvectors") as change:
        change.append({"position": np.zeros((1, 3), "f4"), "object_id": [9]}, fill={"a": "2024-01-02", "b": "2024-01-03"})
        change.set_attribute("c", type="date", fill="2024-01-04")
        change.set_attribute("b", {"object_id": [4], "b": np.array(["2024-01-05"], "M8[D]")}, on="objects", fill=np.datetime64("2024-01-06"))
    found = zvf.open(tmp_path / "times0.zarrvectors").query().read()
    assert 19724 in found.vertices["a"].tolist()
    assert set(found.vertices["c"].tolist()) == {19726}
    assert 19727 in found.objects["b"].tolist()


def test_values_beside_a_tractogram_go_along_its_streamlines(tmp_path: Path) -> None:
    url = tmp_path / "tracts.zarrvectors"
    lengths = [40, 3, 1, 25]
    positions = RNG.uniform(0, 30, (sum(lengths), 3)).astype(np.float32)
    ids = np.repeat([5, 9, 10, 70], lengths)
    place = np.arange(sum(lengths))
    zvf.write(url, kind="streamline", positions=positions, object_ids=ids, attributes={"place": place}, chunk_shape=[5.0] * 3)
    with zvf.edit(url) as change:
        change.set_attribute("fa", {"fa": place * 0.5}, by_object_order=True, type="float64")
    found = zvf.open(url).query().to_numpy()
    # Rows are in the order of chunks, not of the streamlines.
    assert (np.diff(found["place"]) < 0).any()
    np.testing.assert_array_equal(found["fa"], found["place"] * 0.5)
    for how, message in [
        ({"on": "objects", "by_object_order": True, "type": "float64"}, "order of objects, for objects"),
        ({"by_order": True, "by_object_order": True}, "the order and the order of objects"),
    ]:
        with pytest.raises(zvf.MisuseError, match=message), zvf.edit(url) as change:
            change.set_attribute("fa", {"fa": place * 0.5}, **how)
    with pytest.raises(zvf.MisuseError, match="expected 69"), zvf.edit(url) as change:
        change.set_attribute("fa", {"fa": place[1:] * 0.5}, by_object_order=True)


def test_values_of_a_table_find_their_vertices(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    url = tmp_path / "points.zarrvectors"
    count = 500
    positions = RNG.uniform(0, 30, (count, 3)).astype(np.float32)
    ids = RNG.permutation(count).astype(np.int64)
    zvf.write(url, kind="point_cloud", positions=positions, attributes={"id": ids}, chunk_shape=[5.0] * 3)
    order = RNG.permutation(count)
    wanted = ids * 3 + 1
    axes = {name: positions[order, at].astype(np.float64) for at, name in enumerate("xyz")}
    tables = [
        ({"id": ids[order], "v": wanted[order]}, {"key": "id"}),
        (pa.table({"id": ids[order], "v": wanted[order]}), {"key": ["id"]}),
        ({"position": positions[order], "v": wanted[order]}, {}),
        (pa.table({**axes, "v": wanted[order]}), {}),
    ]

    def values(name: str) -> dict[int, int]:
        found = zvf.open(url).query().to_numpy()
        return dict(zip(found["id"].tolist(), found[name].tolist(), strict=True))

    truth = dict(zip(ids.tolist(), wanted.tolist(), strict=True))
    for at, (table, how) in enumerate(tables):
        with zvf.edit(url) as change:
            change.set_attribute("v", table, type="int64" if at == 0 else None, **how)
        assert values("v") == truth
        with zvf.edit(url) as change:
            change.set_attribute("v", {"v": np.full(count, -1)}, by_order=True)
        assert set(values("v").values()) == {-1}
    rows = zvf.open(url).query(columns=["chunk", "row", "id"]).vertices
    found = rows.to_numpy()
    with zvf.edit(url) as change:
        change.set_attribute("v", {"chunk": found["chunk"], "row": found["row"], "v": found["id"] * 3 + 1})
        change.set_attribute("w", type="int8", fill=4)
    assert values("v") == truth
    assert set(values("w").values()) == {4}

    for table, how, message in [
        ({"v": wanted}, {}, "--by-order"),
        ({"v": wanted[1:]}, {"by_order": True}, "one for each vertex"),
        ({"position": positions[order], "v": wanted[order]}, {"by_order": True}, "other values"),
        ({"id": [-5], "v": [1]}, {"key": "id"}, "id -5"),
        ({"id": [5], "v": [1]}, {"on": "edges"}, "vertices"),
    ]:
        with pytest.raises(zvf.MisuseError, match=message), zvf.edit(url) as change:
            change.set_attribute("v", table, **how)
    with zvf.edit(url) as change:
        change.set_attribute("v", {"id": [-5, 7], "v": [1, 2]}, key="id", ignore_missing=True)
        # What is appended without a value of `w` has the recorded one.
        change.append({"position": np.ones((1, 3), np.float32), "id": [1000], "v": [0]})
    assert "1 row" in " ".join(change.notes)
    assert values("v")[7] == 2
    with zvf.edit(url) as change:
        change.append({"position": np.ones((1, 3), np.float32), "id": [1001]}, fill={"v": -4})
    assert values("v")[1001] == -4
    assert values("w")[1000] == 4


def test_objects_without_a_value_have_none(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    url = tmp_path / "lines.zarrvectors"
    positions = RNG.uniform(0, 10, (6, 3)).astype(np.float32)
    zvf.write(url, kind="polyline", positions=positions, offsets=[0, 3, 6], object_ids=[4, 9], chunk_shape=[5.0] * 3)

    def objects() -> list[dict[str, Any]]:
        return pa.table(zvf.open(url).query().read().objects).to_pylist()

    with zvf.edit(url) as change:
        change.set_attribute("n", {"object_id": [9], "n": [7]}, on="objects", type="int32")
    rows = objects()
    assert {row["object_id"]: row["n"] for row in rows} == {4: None, 9: 7}
    for new in ({}, {"new": False}):
        with pytest.raises(zvf.MisuseError, match="object 94"), zvf.edit(url) as change:
            change.put_objects({"object_id": [94], "n": [1]}, **new)
        with pytest.raises(zvf.MisuseError, match="object 94"), zvf.edit(url) as change:
            change.set_attribute("n", {"object_id": [94], "n": [1]}, on="objects", **new)
    with zvf.edit(url) as change:
        change.put_objects({"object_id": [94], "n": [1]}, new=True)
    rows = objects()
    assert {row["object_id"]: row["n"] for row in rows if row["object_id"] != 94} == {4: None, 9: 7}


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_skeletons_come_in_batches_of_any_size(tmp_path: Path, rows: int) -> None:
    url = tmp_path / "skeletons.zarrvectors"
    places = RNG.uniform(0, 9, (6, 3))
    position = pa.FixedSizeListArray.from_arrays(pa.array(places.reshape(-1)), 3)
    table = pa.table({"position": position, "object_id": pa.array([1, 1, 1, 2, 2, 2]), "name": pa.array(list("abcabc")).dictionary_encode()})
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))
    links = np.array([[1, 0], [2, 0], [4, 3], [5, 4]])
    zvf.write(url, kind="skeleton", vertices=stream, links=links, chunk_shape=[5.0] * 3)
    found = zvf.open(url).query(columns=["position", "name"]).read()
    ends = found.vertices["position"][found.links["vertices"].astype(np.int64)]
    assert sorted(sorted(map(tuple, pair)) for pair in ends.tolist()) == sorted(sorted(map(tuple, pair)) for pair in places[links].tolist())
    assert dict(zip(map(tuple, found.vertices["position"].tolist()), found.vertices["name"], strict=True)) == dict(
        zip(map(tuple, places.tolist()), "abcabc", strict=True)
    )


def test_edits_raise_the_errors_of_queries(tmp_path: Path) -> None:
    url = tmp_path / "points.zarrvectors"
    zvf.write(url, kind="point_cloud", positions=RNG.uniform(0, 10, (50, 3)), attributes={"v": np.arange(50)}, chunk_shape=[5.0] * 3)
    query = zvf.open(url).query(columns=["chunk", "row", "v"])
    places = zvf.open(url).query(columns=["position", "v"])
    with zvf.edit(url) as change:
        change.set_attribute("v", query)
        change.append(places)
    assert zvf.open(url).levels[0].vertices == 100
    for rows in (query, query.vertices):
        with pytest.raises(zvf.IoError, match="changed while the store was read"), zvf.edit(url) as change:
            change.set_attribute("v", rows)
    with pytest.raises(zvf.IoError, match="changed while the store was read"), zvf.edit(url) as change:
        change.append(places.vertices)


def test_points_are_deleted_by_a_query(tmp_path: Path) -> None:
    url = tmp_path / "points.zarrvectors"
    values = RNG.normal(size=1000)
    zvf.write(url, kind="point_cloud", positions=RNG.uniform(0, 10, (1000, 3)), attributes={"v": values}, chunk_shape=[5.0] * 3)
    with zvf.edit(url) as change:
        change.delete_points(zvf.open(url).query(where="v > 0", columns=["chunk", "row"]).vertices)
    assert sorted(zvf.open(url).query().to_numpy()["v"].tolist()) == sorted(values[values <= 0].tolist())


P = np.zeros((3, 3))
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "either positions or vertices"),
    ({"positions": P, "vertices": P}, "either positions or vertices"),
    ({"vertices": {"position": P}, "attributes": {"a": [1, 2, 3]}}, "attributes: found it beside vertices"),
    ({"vertices": {"position": P}, "object_ids": [1, 2, 3]}, "object_ids: found it beside vertices"),
    ({"positions": P, "kind": "graph", "link_attributes": {"w": [1.0]}}, "link_attributes: found no links"),
    (
        {"positions": P, "kind": "graph", "links": pa.table({"vertices": [[0, 1]]}), "link_attributes": {"w": [1.0]}},
        "link_attributes: found a table of links",
    ),
    ({"positions": P[:, 0]}, "shape"),
    ({"positions": P, "kind": "points"}, "expected one of"),
    ({"positions": P + np.nan}, "NaN"),
    ({"positions": P.astype(complex)}, "complex"),
    ({"positions": P, "chunk_shape": [0, 0, 0]}, "chunk_shape"),
    ({"positions": P, "chunk_shape": [1]}, "chunk_shape"),
    ({"positions": P, "attributes": {"position": P}}, "another name"),
    ({"positions": P, "attributes": {"a": [1, 2]}}, "rows"),
    ({"positions": P, "attributes": {"a": np.zeros((3, 2, 2))}}, "dimensions"),
    ({"positions": P, "attributes": {"a": [1j, 2, 3]}}, "complex"),
    ({"positions": P, "kind": "polyline", "offsets": [0, 2]}, "offsets"),
    ({"positions": P, "kind": "polyline", "offsets": [0, 2, 1, 3]}, "offsets"),
    ({"positions": P, "kind": "polyline", "offsets": []}, "offsets"),
    ({"positions": P, "kind": "polyline", "offsets": [0, 3], "object_ids": [1, 2]}, "object_ids"),
    ({"positions": P, "kind": "polyline", "offsets": [0, 1, 3], "object_ids": [5, 5]}, "object_ids: found 5 twice"),
    ({"positions": P, "kind": "polyline", "offsets": [0, 3, 3], "objects": {"object_id": [0]}}, "objects: found no row for 1"),
    ({"positions": P, "kind": "polyline", "object_ids": [0.5, 1, 2]}, "object_ids"),
    ({"positions": P, "kind": "polyline", "object_ids": np.array([2**63, 0, 0], dtype=np.uint64)}, "object_ids"),
    ({"positions": P, "kind": "graph", "links": [[0, 9]]}, "vertex 9"),
    ({"positions": P, "kind": "graph", "links": [[0, -1]]}, "none below 0"),
    ({"positions": P, "kind": "graph", "links": [0, 1]}, "links"),
    ({"positions": P, "kind": "polyline", "groups": {"g": [[1]]}, "offsets": [0, 3]}, "ids"),
    ({"vertices": 3, "chunk_shape": [1.0] * 3}, "__arrow_c_stream__"),
    ({"vertices": pa.table({"a": [1]}), "chunk_shape": [1.0] * 3}, "position"),
    ({"vertices": pa.table({"a": [1]})}, "expected position, or x, y, z"),
    ({"positions": P, "codec": "lzma"}, "codec"),
    ({"positions": P, "shard_shape": "few"}, "shard_shape"),
    ({"positions": P, "version": "0.7"}, "0.9.2"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
@pytest.mark.filterwarnings("error")
def test_what_cannot_be_is_said(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    url = tmp_path / "wrong.zarrvectors"
    with pytest.raises(zvf.Error, match=message):
        zvf.write(url, **{"kind": "point_cloud", **given})
    assert not url.exists()


def test_an_axis_called_t_is_one_of_time(tmp_path: Path) -> None:
    places = np.random.default_rng(3).uniform(0, 5, (20, 4))
    given: dict[str, Any] = {"kind": "point_cloud", "positions": places, "chunk_shape": [7.0] * 4}
    zvf.write(tmp_path / "s", **given, axes=["t", "x", "y", "z"], unit="um")
    axes = zvf.open(tmp_path / "s").info["axes"]
    assert [(axis["type"], axis["unit"]) for axis in axes] == [("time", None)] + [("space", "um")] * 3
    # A volume of three axes is in space.
    labels = np.arange(216).reshape(6, 6, 6) % 5
    found = zvf.open(tmp_path / "s").query(mask=(labels, np.eye(4))).read().summary["vertices"]
    assert found == np.count_nonzero(labels[tuple(np.floor(places[:, 1:] + 0.5).astype(int).T)])
    # The format has axes of time first.
    with pytest.raises(zvf.MisuseError, match="t of type time after x, y, z, expected .* as in t,x,y,z"):
        zvf.write(tmp_path / "other", **given, axes=["x", "y", "z", "t"])
    zvf.write(tmp_path / "space", **given, axes=["x", "y", "z", "t:space"])
    assert [axis["type"] for axis in zvf.open(tmp_path / "space").info["axes"]] == ["space"] * 4


def test_many_ids_are_divided_into_chunks(tmp_path: Path) -> None:
    """The released package and zarr-python read such a table of ids."""
    import zarr
    from zarr_vectors.types.polylines import read_polylines

    count = 140_000
    ids = np.arange(count) * 3 + 11
    positions = RNG.uniform(0, 60, (2 * count, 3)).astype(np.float32)
    url = tmp_path / "many.zarrvectors"
    zvf.write(url, kind="polyline", positions=positions, offsets=np.arange(count + 1) * 2, object_ids=ids, chunk_shape=(20.0,) * 3, durable=False)
    table = zarr.open_array(url / "0" / "object_index" / "object_ids", mode="r")
    assert table.chunks == (16_384,)
    np.testing.assert_array_equal(table[:], ids)
    found = zvf.open(url).get([int(ids[77_777]), int(ids[3])], columns=[])
    for line, number in zip(found, (77_777, 3), strict=True):
        np.testing.assert_array_equal(line, positions[2 * number : 2 * number + 2])
    released = read_polylines(str(url), object_ids=[int(ids[77_777])])
    np.testing.assert_array_equal(np.concatenate(released["polylines"][0]), positions[2 * 77_777 : 2 * 77_778])
