"""Statistics and measures against NumPy, pandas and trimesh."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import trimesh

import zvf

ROWS = 70_000
Bundled = Callable[[str], Path]
QUANTILES = (0.0, 0.013, 0.25, 0.5, 0.9, 1.0)


def by_name(section: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {column["column"]: column for column in section["columns"]}


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> tuple[zvf.Store, pd.DataFrame]:
    """Points in many chunks, with numbers that lose digits in sums that are not compensated."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(50, 20, (ROWS, 3)), columns=list("xyz"))
    frame["far"] = rng.normal(1e9, 1e-3, ROWS)
    frame["gaps"] = np.where(rng.random(ROWS) < 0.3, np.nan, rng.gamma(2, 3, ROWS)).astype("f4")
    frame["large"] = rng.integers(2**60, 2**62, ROWS)
    frame["unsigned"] = rng.integers(0, 2**64, ROWS, dtype="u8")
    frame["small"] = rng.integers(-3, 4, ROWS).astype("i1")
    frame["word"] = np.array(["axon", "soma", "ä", "none"], object)[rng.integers(0, 4, ROWS)]
    path = tmp_path_factory.mktemp("stats") / "points.zarrvectors"
    attributes = {name: frame[name].to_numpy() for name in frame.columns[3:]}
    zvf.write(path, kind="point_cloud", positions=frame[list("xyz")].to_numpy(), attributes=attributes, chunk_shape=[40] * 3)
    return zvf.open(path), frame


def check(column: dict[str, Any], values: pd.Series) -> None:
    present = values.dropna()
    assert column["count"] == len(present)
    assert column["nan"] == len(values) - len(present)
    assert (column["min"], column["max"]) == (present.min(), present.max())
    if present.dtype.kind in "iu":
        assert column["sum"] == sum(int(value) for value in present)
    wide = present.astype("f8")
    np.testing.assert_allclose(column["mean"], wide.mean(), rtol=1e-14)
    np.testing.assert_allclose(column["std"], np.std(wide.to_numpy().astype(np.longdouble), ddof=1), rtol=1e-12)
    ranked = np.sort(wide.to_numpy())
    for probability, value in column["quantiles"]:
        if column["rank_error"] == 0:
            assert value == np.quantile(wide, probability)
        else:
            rank, error = probability * (len(ranked) - 1), column["rank_error"] + 1
            low, high = max(0, int(rank) - error), min(len(ranked) - 1, int(rank) + 1 + error)
            assert ranked[low] <= value <= ranked[high]
    assert column["rank_error"] < max(1, len(ranked) // 100)
    histogram = column["histogram"]
    assert len(histogram["counts"]) <= 20
    assert sum(histogram["counts"]) == len(present)
    if abs(wide).max() < 2**53:
        # The last bin of NumPy has its upper edge, which no number is.
        np.testing.assert_array_equal(histogram["counts"], np.histogram(wide, histogram["edges"])[0])


def test_the_whole(points: tuple[zvf.Store, pd.DataFrame]) -> None:
    store, frame = points
    (section,) = store.query().stats(bins=20, quantiles=QUANTILES)
    assert section["vertices"] == ROWS
    columns = by_name(section)
    assert set(columns) == set(frame.columns)
    for name in frame.columns.drop("word"):
        check(columns[name], frame[name])
    counts = frame["word"].value_counts()
    assert dict(map(tuple, columns["word"]["categories"])) == counts.to_dict()
    assert columns["word"]["distinct"] == 4


def test_a_part_with_exact_quantiles(points: tuple[zvf.Store, pd.DataFrame]) -> None:
    store, frame = points
    part = frame[(frame[["x", "y", "z"]] >= 20).all(axis=1) & (frame[["x", "y", "z"]] <= 60).all(axis=1) & (frame["small"] > 0)]
    query = store.query(bbox=((20, 20, 20), (60, 60, 60)), where="small > 0")
    (section,) = query.stats(["y", "gaps", "large"], bins=20, quantiles=QUANTILES)
    columns = by_name(section)
    assert list(columns) == ["y", "gaps", "large"]
    for name, column in columns.items():
        assert column["rank_error"] == 0
        check(column, part[name])


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[zvf.Store, pd.DataFrame]:
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 60, 300)
    ids = np.repeat(np.arange(300) * 7, counts)
    frame = pd.DataFrame(np.cumsum(rng.normal(0, 2, (len(ids), 3)), axis=0), columns=list("xyz"))
    frame["fa"] = np.where(rng.random(len(ids)) < 0.1, np.nan, rng.random(len(ids)))
    frame["object_id"] = ids
    path = tmp_path_factory.mktemp("stats") / "lines.zarrvectors"
    zvf.write(
        path,
        kind="streamline",
        positions=frame[list("xyz")].to_numpy(),
        object_ids=ids,
        attributes={"fa": frame["fa"].to_numpy()},
        groups={"early": [id for id in range(0, 700, 7)], "late": [id for id in range(350, 2100, 7)]},
        chunk_shape=[25] * 3,
    )
    return zvf.open(path), frame


def test_by_object_and_by_group(lines: tuple[zvf.Store, pd.DataFrame]) -> None:
    store, frame = lines
    sections = store.query().stats(["x", "fa"], by="object")
    assert [section["object_id"] for section in sections] == list(frame["object_id"].unique())
    truth = frame.groupby("object_id")
    for section in sections:
        rows = truth.get_group(section["object_id"])
        assert section["vertices"] == len(rows)
        for name, column in by_name(section).items():
            values = rows[name].dropna()
            assert column["count"] == len(values)
            if len(values):
                np.testing.assert_allclose([column["min"], column["max"], column["mean"]], [values.min(), values.max(), values.mean()])
                assert [value for _, value in column["quantiles"]] == list(np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)))
            if len(values) > 1:
                np.testing.assert_allclose(column["std"], values.std(), atol=1e-12)
    groups = {"early": frame["object_id"] < 700, "late": frame["object_id"] >= 350}
    for section in store.query().stats(["x", "fa"], by="group"):
        rows = frame[groups.pop(section["group"])]
        assert section["vertices"] == len(rows)
        for name, column in by_name(section).items():
            np.testing.assert_allclose([column["mean"], column["std"]], [rows[name].mean(), rows[name].std()])
    assert not groups


def test_lengths_and_bounds_of_lines(lines: tuple[zvf.Store, pd.DataFrame]) -> None:
    store, frame = lines
    table = store.query().measure(["fa"]).to_numpy()
    assert list(table["object_id"]) == list(frame["object_id"].unique())
    for at, (_, rows) in enumerate(frame.groupby("object_id")):
        positions = rows[list("xyz")].to_numpy()
        length = np.linalg.norm(np.diff(positions, axis=0), axis=1).sum()
        assert table["points"][at] == len(rows)
        np.testing.assert_allclose(table["length"][at], length)
        if len(rows) > 1:
            np.testing.assert_allclose(table["tortuosity"][at], length / np.linalg.norm(positions[-1] - positions[0]))
        bounds = [[table[f"{end}_{axis}"][at] for axis in "xyz"] for end in ("min", "max")]
        np.testing.assert_array_equal(bounds, [positions.min(axis=0), positions.max(axis=0)])
        np.testing.assert_allclose(table["mean_fa"][at], rows["fa"].mean())
    some = store.query(bbox=((-5, -5, -5), (5, 5, 5))).measure().to_numpy()
    inside = (frame[list("xyz")].abs() <= 5).all(axis=1)
    assert set(some["object_id"]) == set(frame["object_id"][inside])


def test_surface_and_volume_of_meshes(tmp_path: Path) -> None:
    shapes = [trimesh.creation.icosphere(3, 5.0), trimesh.creation.torus(10, 3), trimesh.creation.box((1, 2, 3))]
    shapes.append(trimesh.Trimesh(shapes[0].vertices, shapes[0].faces[:-1]))
    starts = np.cumsum([0] + [len(shape.vertices) for shape in shapes])
    zvf.write(
        tmp_path / "meshes.zarrvectors",
        kind="mesh",
        positions=np.concatenate([shape.vertices for shape in shapes]),
        object_ids=np.repeat(np.arange(len(shapes)), np.diff(starts)),
        links=np.concatenate([shape.faces + start for shape, start in zip(shapes, starts, strict=False)]),
        chunk_shape=[6] * 3,
    )
    table = zvf.open(tmp_path / "meshes.zarrvectors").query().measure().to_numpy()
    np.testing.assert_array_equal(table["faces"], [len(shape.faces) for shape in shapes])
    np.testing.assert_allclose(table["surface"], [shape.area for shape in shapes])
    np.testing.assert_allclose(list(table["volume"][:3]), [shape.volume for shape in shapes[:3]])
    assert table["volume"][3] is None or np.isnan(table["volume"][3]) or np.ma.is_masked(table["volume"][3])


def test_branches_of_a_neuron(bundled: Bundled) -> None:
    """Tips, branch points and Strahler order, computed anew from the links."""
    store = zvf.open(bundled("real_skeleton"))
    table = store.query().measure().to_numpy()
    for at, id in enumerate(table["object_id"]):
        answer = store.query(objects=[id]).read()
        links = answer.links.to_numpy()["vertices"]
        positions = answer.vertices.to_numpy()["position"].astype("f8")
        degrees = np.bincount(links.ravel().astype(int), minlength=len(positions))
        assert (table["branches"][at], table["tips"][at]) == ((degrees > 2).sum(), (degrees == 1).sum())
        np.testing.assert_allclose(table["length"][at], np.linalg.norm(positions[links[:, 0]] - positions[links[:, 1]], axis=1).sum())
        children: dict[int, list[int]] = {}
        for child, parent in links:
            children.setdefault(int(parent), []).append(int(child))
        roots = set(range(len(positions))) - {int(child) for child, _ in links}
        orders: dict[int, int] = {}
        for root in roots:
            path = [root]
            for vertex in path:
                path.extend(children.get(vertex, ()))
            for vertex in reversed(path):
                below = sorted((orders[child] for child in children.get(vertex, ())), reverse=True)
                orders[vertex] = 1 if not below else below[0] + (len(below) > 1 and below[0] == below[1])
        assert table["strahler"][at] == max(orders[root] for root in roots)


def test_measures_are_saved_as_attributes_of_objects(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 40, 25)
    lengths[3] = 1
    positions = rng.normal(0, 20, (lengths.sum(), 3))
    path = tmp_path / "lines.zarrvectors"
    ids = np.repeat(np.arange(25), lengths)
    weights = rng.random(len(positions)).astype("f4")
    attributes = {"weight": weights}
    zvf.write(path, kind="streamline", positions=positions, object_ids=ids, attributes=attributes, chunk_shape=[50] * 3)
    lines = [positions[ids == one] for one in range(25)]
    length = np.array([np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in lines])
    done = zvf.open(path).query().save_measures({"length": "length", "points": "n", "mean_weight": "w"}, means=["weight"])
    assert (done["objects"], done["attributes"]) == (25, ["length", "n", "w"])
    found = zvf.open(path).query().read().objects.to_pandas()
    np.testing.assert_allclose(found["length"], length, rtol=1e-12)
    np.testing.assert_array_equal(found["n"], lengths)
    means = [weights[ids == one].astype("f8").mean() for one in range(25)]
    np.testing.assert_allclose(found["w"], means, rtol=1e-12)
    # The ends of one vertex have no distance.
    zvf.open(path).query(objects=range(4)).save_measures("tortuosity")
    bent = zvf.open(path).query().read().objects.to_pandas()["tortuosity"]
    assert bent[3:].isna().all()
    ends = np.array([np.linalg.norm(line[-1] - line[0]) for line in lines[:3]])
    wanted = np.divide(length[:3], ends, out=np.full(3, np.nan), where=ends > 0)
    np.testing.assert_allclose(bent[:3], wanted, rtol=1e-12)
    with pytest.raises(zvf.MisuseError, match="float64"):
        zvf.open(path).query().save_measures({"points": "length"})
    with pytest.raises(zvf.MisuseError, match="did you mean"):
        zvf.open(path).query().save_measures("lenght")
    assert zvf.validate(path, depth=5).ok


def test_last_rows_and_drawn_rows(points: tuple[zvf.Store, pd.DataFrame]) -> None:
    store, _ = points
    query = store.query(columns=["chunk", "row", "large"], where="x > 40")
    every = query.vertices.to_pandas()
    last = query.tail(1000).to_pandas()
    for name in ("row", "large"):
        np.testing.assert_array_equal(last[name], every[name][-1000:])
    drawn = query.sample_rows(2000, seed=3).to_pandas()
    assert len(drawn) == 2000
    places = pd.Index(every["large"]).get_indexer(drawn["large"])
    assert (places >= 0).all() and (np.diff(places) > 0).all()
    # A quarter of the drawn rows is in each quarter of the table, within six deviations.
    counts = np.histogram(places, bins=4, range=(0, len(every)))[0]
    assert (abs(counts - 500) < 6 * np.sqrt(2000 * 0.25 * 0.75)).all(), counts
    again = query.sample_rows(2000, seed=3).to_pandas()
    np.testing.assert_array_equal(drawn["large"], again["large"])
    assert not np.array_equal(drawn["large"], query.sample_rows(2000, seed=4).to_pandas()["large"])


def test_objects_are_listed_in_order(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    frame = store.objects().to_pandas()
    assert len(frame) == store.levels[0].objects
    ordered = frame.sort_values(["vertices", "object_id"], ascending=[False, True])
    found = store.objects(sort="-vertices").to_pandas()
    assert found["object_id"].tolist() == ordered["object_id"].tolist()
    middle = int(frame["vertices"].median())
    some = store.objects(where=f"count() > {middle}", sort=["vertices", "-object_id"], limit=3).to_pandas()
    wanted = frame[frame["vertices"] > middle].sort_values(["vertices", "object_id"], ascending=[True, False])
    assert some["object_id"].tolist() == wanted["object_id"].tolist()[:3]
    with pytest.raises(zvf.MisuseError, match="sort: found .vertexes. .did you mean .vertices"):
        store.objects(sort=["vertexes"])
    # The same by a job, in a file.
    job = {"job": "objects", "store": store.url, "sort": ["-vertices"], "limit": 4, "output": str(tmp_path / "largest.csv")}
    report = zvf.run(job)
    assert isinstance(report, dict) and report["truncated"] and report["total"] == len(frame)
    assert pd.read_csv(tmp_path / "largest.csv")["object_id"].tolist() == ordered["object_id"].tolist()[:4]
    assert zvf.diff(store.url, store.url)["same"]


def test_values_that_are_missing_in_a_chunk_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "lost.zarrvectors"
    positions = np.array([[1, 1, 1], [2, 2, 2], [25, 1, 1], [26, 1, 1]], "f4")
    attributes = {"v": np.array([1, 5, 7, 9], "i4")}
    zvf.write(path, kind="polyline", positions=positions, offsets=[0, 2, 4], attributes=attributes, chunk_shape=[20] * 3)
    document = path / "0/vertex_attributes/v/zarr.json"
    found = json.loads(document.read_text())
    found["attributes"]["nonempty_chunks"] = ["0.0.0"]
    document.write_text(json.dumps(found))
    calls: list[Callable[[], object]] = [
        lambda: zvf.open(path).query().stats(),
        lambda: zvf.open(path).query().measure(means=["v"]),
        lambda: zvf.export(path, tmp_path / "out.parquet"),
    ]
    for call in calls:
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="zvf"):
            call()
        assert "attribute v: no cell for 1 chunks" in caplog.text
