"""Dask: several worker processes read and write one store, on disk or in a bucket, and one of them may be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

import zvf
import zvf.dask

TESTS = Path(__file__).parent
ROWS = 20_000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with dask.config.set({"distributed.worker.daemon": True, "dataframe.convert-string": False}):
        with LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
            # Functions of this module are found by the workers.
            client.run(sys.path.insert, 0, str(TESTS))
            yield client


@pytest.fixture(scope="module")
def points() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(12)
    positions = rng.uniform(0, 100, (ROWS, 3)).astype("f4")
    return {
        "position": positions,
        "mass": rng.normal(size=ROWS).astype("f8"),
        "label": rng.integers(0, 6, ROWS).astype("i4"),
        "object_id": rng.integers(0, 50, ROWS),
    }


@pytest.fixture(scope="module")
def store(points: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 1,000 chunks."""
    path = tmp_path_factory.mktemp("dask") / "points.zarrvectors"
    one_writer(path, points)
    assert zvf.open(path).levels[0].chunks == 1000
    return path


def one_writer(path: Path, points: dict[str, np.ndarray], chunk: float = 10) -> None:
    attributes = {name: points[name] for name in ("mass", "label")}
    zvf.write(
        path,
        kind="point_cloud",
        positions=points["position"],
        attributes=attributes,
        object_ids=points["object_id"],
        chunk_shape=[chunk] * 3,
        bounds=((0, 0, 0), (99.9999, 99.9999, 99.9999)),
        # As parts are written, which do not see each other's cells.
        shard_shape="none",
        codec="zstd",
    )


def test_count_sum_and_groups_are_those_of_one_process(client: Client, store: Path, points: dict[str, np.ndarray]) -> None:
    frame = zvf.dask.read(store, count=24)
    assert frame.npartitions == 24
    assert list(frame.columns) == ["x", "y", "z", "label", "mass", "object_id", "chunk_x", "chunk_y", "chunk_z"]
    assert len(frame) == ROWS
    alone = pd.DataFrame({"mass": points["mass"], "label": points["label"], "x": points["position"][:, 0].astype("f8")})
    assert frame["label"].sum().compute() == alone["label"].sum()
    np.testing.assert_allclose(frame["mass"].sum().compute(), alone["mass"].sum())
    found = frame[frame.x > 50].groupby("label").mass.agg(["count", "min", "max"]).compute().sort_index()
    expected = alone[alone.x > 50].groupby("label").mass.agg(["count", "min", "max"])
    assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert found.index.tolist() == expected.index.tolist()
    some = zvf.dask.read(store, bbox=((0, 0, 0), (30, 30, 30)), where="label == 2", columns=["mass", "x"], count=7)
    inside = (points["position"] <= 30).all(axis=1) & (points["label"] == 2)
    np.testing.assert_allclose(some["mass"].sum().compute(), points["mass"][inside].sum())


def test_questions_about_objects_are_frames(client: Client, store: Path, points: dict[str, np.ndarray]) -> None:
    ids = points["object_id"]
    low = np.unique(ids[points["position"][:, 0] < 0.5])
    assert 1 < len(low) < 50
    for terms, owners in (({"objects": [3, 5]}, [3, 5]), ({"where": "object_id < 7"}, range(7)), ({"bbox": {"x": (0, 0.4999)}, "touching": True}, low)):
        frame = zvf.dask.read(store, count=3, columns=["mass", "x"], **terms)
        np.testing.assert_allclose(frame["mass"].sum().compute(), points["mass"][np.isin(ids, list(owners))].sum())


def test_every_cell_is_read_once_and_columns_are_pushed_down(client: Client, store: Path, tmp_path: Path, points: dict[str, np.ndarray]) -> None:
    trace = tmp_path / "trace"
    frame = zvf.dask.read(store, count=30, trace_io=trace)
    trace.unlink()
    np.testing.assert_allclose(frame["mass"].sum().compute(), points["mass"].sum())
    keys = Counter(json.loads(line)["key"] for line in trace.read_text().splitlines())
    cells = {key: times for key, times in keys.items() if "/c/" in key}
    # The table of ids is one of the documents of a store, which every process reads.
    assert cells.pop("0/object_index/object_ids/c/0", 0) <= 3
    assert len([key for key in cells if "vertex_attributes/mass/" in key]) == 1000
    assert set(cells.values()) == {1}, {key: times for key, times in cells.items() if times > 1}
    assert not any("vertex_attributes/label/c/" in key for key in keys)


def test_a_worker_killed_midway_changes_nothing(client: Client, store: Path, tmp_path: Path, points: dict[str, np.ndarray]) -> None:
    frame = zvf.dask.read(store, count=40)
    killed = tmp_path / "killed"

    def once(part: pd.DataFrame) -> pd.DataFrame:
        try:
            os.close(os.open(killed, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return part
        os.kill(os.getpid(), signal.SIGKILL)
        return part

    total = frame.map_partitions(once, meta=frame._meta).mass.sum().compute()
    assert killed.exists()
    np.testing.assert_allclose(total, points["mass"].sum())


def test_a_changed_store_is_an_error(client: Client, points: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "changing.zarrvectors"
    one_writer(path, {name: values[:500] for name, values in points.items()})
    frame = zvf.dask.read(path, count=4)
    with zvf.edit(path) as change:
        change.delete([3])
    with pytest.raises(zvf.IoError, match="changed"):
        len(frame)


def slabs(points: dict[str, np.ndarray], count: int) -> list[dict[str, np.ndarray]]:
    """Parts along x, whose chunks are apart."""
    part = np.floor(points["position"][:, 0] / 10).astype(int) * count // 10
    return [{name: values[part == number] for name, values in points.items()} for number in range(count)]


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


BOUNDS = ((0, 0, 0), (99.9999, 99.9999, 99.9999))


class Dies:
    """A part that kills the worker which takes it the first time: its claim is there, its cells are not."""

    def __init__(self, store: zvf.Parts, name: str, vertices: dict[str, np.ndarray], mark: Path) -> None:
        self.store, self.name, self.vertices, self.mark = store, name, vertices, mark

    def write(self) -> int:
        if not self.mark.exists():
            code = (
                "import pickle, sys, os, signal, threading, time\n"
                "store, name, vertices, claims = pickle.load(sys.stdin.buffer)\n"
                "import glob\n"
                "def watch():\n"
                "    while not glob.glob(claims): pass\n"
                "    os.kill(os.getpid(), signal.SIGKILL)\n"
                "threading.Thread(target=watch, daemon=True).start()\n"
                "store.write(name, vertices)\n"
            )
            import pickle

            claims = f"{self.store.url}/zvf-unfinished/*/claims/{self.name}-*"
            given = pickle.dumps((self.store, self.name, self.vertices, claims))
            subprocess.run([sys.executable, "-c", code], input=given)
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.store.write(self.name, self.vertices)


def test_four_writers_one_killed_make_the_store_of_one(client: Client, store: Path, points: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / store.name
    parts = slabs(points, 4)
    joint = zvf.Parts(path, like=parts[0], kind="point_cloud", chunk_shape=[10] * 3, bounds=BOUNDS)
    joint.begin()
    with pytest.raises(zvf.Error):
        joint.commit()
    mark = tmp_path / "killed"
    dies = Dies(joint, "2", parts[2], mark)
    tasks = [client.submit(joint.write, str(number), part, pure=False) for number, part in enumerate(parts) if number != 2]
    tasks.append(client.submit(dies.write, pure=False))
    assert sum(client.gather(tasks)) == ROWS
    assert mark.exists()
    assert joint.commit()["vertices"] == ROWS
    assert files(path) == files(store)
    check_by_the_released_package(path, points)


def check_by_the_released_package(path: Path, points: dict[str, np.ndarray]) -> None:
    from zarr_vectors.types.points import read_points

    found = read_points(str(path), attribute_names=["mass"])
    order = np.lexsort(found["positions"].T)
    expected = np.lexsort(points["position"].T)
    np.testing.assert_array_equal(found["positions"][order], points["position"][expected])
    np.testing.assert_array_equal(np.ravel(found["vertex_attributes"]["mass"])[order], points["mass"][expected])


def test_a_dataframe_is_written_by_all_workers(client: Client, store: Path, points: dict[str, np.ndarray], tmp_path: Path) -> None:
    frame = zvf.dask.read(store, count=9).astype({"x": "f4", "y": "f4", "z": "f4"})
    path = tmp_path / store.name
    result = zvf.dask.write(frame, path, chunk_shape=[10] * 3, bounds=BOUNDS)
    assert (result["vertices"], result["chunks"]) == (ROWS, 1000)
    again = zvf.open(path).dataset().to_table().to_pandas()
    first = zvf.open(store).dataset().to_table().to_pandas()
    names = ["x", "y", "z", "label", "mass", "object_id"]
    pd.testing.assert_frame_equal(
        again[names].sort_values(names, ignore_index=True), first[names].sort_values(names, ignore_index=True), check_dtype=False
    )
    assert {finding.code for finding in zvf.validate(path).findings if finding.severity == "error"} == set()
    assert not (path / "zvf-unfinished").exists()


def test_a_list_of_parts_is_written(client: Client, store: Path, points: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / store.name
    zvf.dask.write([dask.delayed(part) for part in slabs(points, 5)], path, chunk_shape=[10] * 3, bounds=BOUNDS)
    assert files(path) == files(store)
    # Parts that meet in a chunk are told.
    half = {name: values[: ROWS // 2] for name, values in points.items()}
    with pytest.raises(zvf.Error, match="both have vertices in cell"):
        zvf.dask.write([half, half], tmp_path / "other", chunk_shape=[10] * 3, bounds=BOUNDS)
    with pytest.raises(zvf.MisuseError, match="no parts"):
        zvf.dask.write([], tmp_path / "none", chunk_shape=[10] * 3, bounds=BOUNDS)


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, str]]:
    """An S3 test server with a bucket, and the options that lead to it."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/data", method="PUT")).close()
    yield {"endpoint": endpoint, "access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
    server.stop()


def test_in_a_bucket_five_parts_make_the_store_of_one(
    client: Client, bucket: dict[str, str], points: dict[str, np.ndarray], tmp_path: Path
) -> None:
    alone = tmp_path / "points.zarrvectors"
    one_writer(alone, points, 20)
    url = f"s3://data/{alone.name}"
    parts = slabs(points, 5)
    joint = zvf.Parts(url, like=parts[0], kind="point_cloud", chunk_shape=[20] * 3, bounds=BOUNDS, storage_options=bucket)
    joint.begin()
    mark = tmp_path / "killed"

    def once(number: int, part: dict[str, np.ndarray]) -> int:
        if number == 2 and not mark.exists():
            mark.touch()
            # Some cells are in the bucket, and the worker is gone.
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return joint.write(str(number), part)

    tasks = [client.submit(once, number, part, pure=False) for number, part in enumerate(parts)]
    assert sum(client.gather(tasks)) == ROWS
    assert mark.exists()
    assert joint.commit()["vertices"] == ROWS
    held = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets["data"].keys
    written = {key.removeprefix(f"{alone.name}/"): held[key].value for key in held}
    assert written == files(alone)

    trace = tmp_path / "trace"
    frame = zvf.dask.read(url, count=30, trace_io=trace, storage_options=bucket)
    trace.unlink()
    found = frame.groupby("label").mass.agg(["count", "min", "max"]).compute().sort_index()
    expected = pd.DataFrame({name: points[name] for name in ("mass", "label")}).groupby("label").mass.agg(["count", "min", "max"])
    assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    asked = Counter(json.loads(line)["key"] for line in trace.read_text().splitlines())
    cells = {key: times for key, times in asked.items() if "vertex_attributes/mass/c/" in key}
    assert len(cells) == 125
    assert set(cells.values()) == {1}


def test_channels_stay_numbers_and_times_are_written_in_parts(client: Client, tmp_path: Path) -> None:
    values = np.array([[0.123456789012, 2], [3, 4]])
    columns = {"position": np.array([[0, 0, 0], [1, 1, 1]], "f4"), "c": values, "d": np.array([1, 2], "M8[s]")}
    parts = zvf.Parts(tmp_path / "parts", like=columns, kind="point_cloud", chunk_shape=[9] * 3, bounds=((0, 0, 0), (9, 9, 9)))
    parts.begin()
    parts.write("a", columns)
    parts.commit()
    frame = zvf.dask.read(tmp_path / "parts")
    assert [list(row) for row in frame["c"].compute()] == values.tolist()
    assert frame["d"].compute().astype("datetime64[s]").astype("int64").tolist() == [1, 2]
    zvf.dask.write(frame, tmp_path / "again", columns=["c"], chunk_shape=[9] * 3, bounds=((0, 0, 0), (9, 9, 9)))
    assert sorted(zvf.open(tmp_path / "again").query().to_numpy()["c"].tolist()) == values.tolist()


def test_columns_that_one_store_cannot_hold_are_refused(client: Client, tmp_path: Path) -> None:
    place = pd.DataFrame({"x": [1.5, 2], "y": [1.0, 2], "z": [1.0, 2]})
    terms: dict[str, Any] = {"chunk_shape": [9] * 3, "bounds": ((0, 0, 0), (9, 9, 9))}
    twice = place.assign(a=[1, 2], b=[3, 4]).rename(columns={"a": 1, "b": "1"})
    for frame, told in [(twice, "two columns"), (place.assign(y=[2**53 + 1, 1]), "whole numbers beside")]:
        with pytest.raises(zvf.MisuseError, match=told):
            zvf.dask.write(dd.from_pandas(frame, npartitions=1), tmp_path / "a.zv", **terms)


def test_an_index_with_a_name_is_an_attribute(client: Client, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, 2], "y": [1.0, 2], "z": [1.0, 2]}, index=pd.Index([10, 20], name="pid"))
    zvf.dask.write(dd.from_pandas(frame, npartitions=2), tmp_path / "a.zv", chunk_shape=[9] * 3, bounds=((0, 0, 0), (9, 9, 9)))
    assert sorted(zvf.open(tmp_path / "a.zv").query().to_numpy()["pid"].tolist()) == [10, 20]


def test_units_of_columns_are_stated(client: Client, tmp_path: Path) -> None:
    moments = np.array([0, 1_700_000_000_000, 5], dtype="M8[ms]")
    place = np.array([[1.0, 1, 1], [4, 4, 4], [8, 8, 8]])
    zvf.write(tmp_path / "t.zv", kind="point_cloud", positions=place, attributes={"t": moments, "w": np.arange(3.0)}, chunk_shape=[9] * 3)
    frame = zvf.dask.read(tmp_path / "t.zv", count=1)
    bounds = ((0, 0, 0), (9, 9, 9))
    units = {"t": "milliseconds since 1970-01-01T00:00:00", "w": "nanometer"}
    zvf.dask.write(frame, tmp_path / "u.zv", chunk_shape=[3] * 3, bounds=bounds, units=units)
    found = zvf.open(tmp_path / "u.zv").query(where="t > '2023-01-01'")
    assert found.to_numpy()["w"].tolist() == [1.0]
    schema = zvf.open(tmp_path / "u.zv").dataset().schema
    assert {name: schema.field(name).metadata[b"zvf.unit"].decode() for name in units} == units
    for wrong in ({"q": "nanometer"}, {"position": "nanometer"}):
        with pytest.raises(zvf.MisuseError, match="units: found"):
            zvf.dask.write(frame, tmp_path / "v.zv", chunk_shape=[3] * 3, bounds=bounds, units=wrong)
    with pytest.raises(zvf.MisuseError, match="Arrow tables"):
        zvf.dask.write([{"position": place}], tmp_path / "v.zv", chunk_shape=[3] * 3, bounds=bounds, units=units)
    assert not (tmp_path / "v.zv").exists()
