"""Attributes with the names of columns that a query has itself."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import zvf
import zvf.dask

NAMES = ["row", "fragment", "chunk", "object_ids", "attributes", "x", "chunk_x", "v"]


@pytest.fixture(params=["uint64", "float32"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> zvf.Store:
    url = tmp_path / "s.zv"
    attributes = {name: (100 * number + np.arange(4)).astype(request.param) for number, name in enumerate(NAMES)}
    positions = np.arange(12.0).reshape(4, 3) * 5
    zvf.write(url, kind="polyline", positions=positions, offsets=[0, 4], attributes=attributes, chunk_shape=[20] * 3)
    return zvf.open(url)


def flat(name: str) -> str:
    """The name in the flat table, which has axes and chunks itself."""
    return f"attribute:{name}" if name in ("x", "chunk_x", "chunk") else name


@pytest.mark.parametrize("name", NAMES)
def test_flat_tables_have_the_attribute(store: zvf.Store, name: str) -> None:
    wanted = [100 * NAMES.index(name) + row for row in range(4)]
    dataset = store.dataset()
    column = flat(name)
    assert sorted(dataset.to_table(columns=[column])[column].to_pylist()) == wanted
    found = duckdb.sql(f'select "{column}" as found, x from dataset').fetchall()
    assert sorted(one for one, _ in found) == wanted
    frame = zvf.dask.read(store)
    assert sorted(frame[[column]].compute()[column].tolist()) == wanted
    assert sorted(frame.compute()[column].tolist()) == wanted
    assert store.get([0], columns=[name]).attributes[name].tolist() == wanted


def test_names_that_begin_as_those_of_the_table(tmp_path: Path) -> None:
    url = tmp_path / "s.zv"
    zvf.write(url, kind="point_cloud", positions=np.arange(6.0).reshape(2, 3), attributes={"attribute:row": [7, 8]}, chunk_shape=[20] * 3)
    store = zvf.open(url)
    assert store.dataset().to_table(columns=["attribute:row"]).to_pydict() == {"attribute:row": [7, 8]}
    assert zvf.dask.read(store)[["attribute:row"]].compute()["attribute:row"].tolist() == [7, 8]


def test_an_axis_and_an_attribute_of_one_name(tmp_path: Path) -> None:
    for number, name in enumerate(("x", "attribute:x")):
        url = tmp_path / f"{number}.zv"
        zvf.write(url, kind="point_cloud", positions=np.arange(6.0).reshape(2, 3), attributes={name: [7, 8]}, chunk_shape=[20] * 3)
        store = zvf.open(url)
        assert store.dataset().to_table(columns=["attribute:x", "x"]).to_pydict() == {"attribute:x": [7, 8], "x": [0.0, 3.0]}
        assert zvf.dask.read(store)[["attribute:x"]].compute()["attribute:x"].tolist() == [7, 8]
        assert store.query(columns=[f"attribute:{name}"]).dataset().to_table().to_pydict() == {name: [7, 8]}


def test_columns_of_a_query_stay_what_they_are(store: zvf.Store) -> None:
    dataset = store.query(columns=["position", "row", "attribute:row"]).dataset()
    found = dataset.to_table().to_pydict()
    assert sorted(found["row"]) == [0, 0, 0, 0] and sorted(found["attribute:row"]) == [0, 1, 2, 3]


def test_dask_writes_columns_that_begin_as_chunks(tmp_path: Path) -> None:
    url = tmp_path / "s.zv"
    positions = np.arange(6.0).reshape(2, 3)
    zvf.write(url, kind="point_cloud", positions=positions, attributes={"chunk_size": [7, 8]}, chunk_shape=[20] * 3)
    frame = zvf.dask.read(url)
    zvf.dask.write(frame, tmp_path / "t.zv", chunk_shape=[20] * 3, bounds=([0] * 3, [10] * 3))
    found = zvf.open(tmp_path / "t.zv").query().to_numpy()
    assert sorted(found) == ["chunk_size", "position"] and sorted(found["chunk_size"]) == [7, 8]


def test_missing_moments_are_null(tmp_path: Path) -> None:
    import pyarrow.parquet

    days = pa.array([1, None, 3], pa.date32())
    spans = pa.array([None, 5, 6], pa.duration("s"))
    axes = {axis: pa.array([0.0, 1.0, 2.0]) for axis in "xyz"}
    pa.parquet.write_table(pa.table({**axes, "day": days, "span": spans}), tmp_path / "t.parquet")
    zvf.import_(tmp_path / "t.zv", tmp_path / "t.parquet")
    dataset = zvf.open(tmp_path / "t.zv").dataset()
    assert duckdb.sql("select count(day), min(day), count(span), min(span) from dataset").fetchall() == [(2, 1, 2, 5)]
    assert zvf.dask.read(tmp_path / "t.zv").compute()["day"].isna().sum() == 1
