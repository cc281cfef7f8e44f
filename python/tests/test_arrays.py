"""Arrays that are written: what they mask or lack stays missing, and what no store holds is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import zvf

PLACES = np.arange(9.0).reshape(3, 3)


def stored(folder: Path, values: Any) -> list[Any]:
    url = folder / "s.zv"
    zvf.write(url, kind="point_cloud", positions=PLACES, attributes={"v": values}, chunk_shape=[100] * 3)
    found = zvf.open(url).query().to_numpy()["v"]
    return [None if one != one else one for one in found.tolist()]


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        np.array(["a", None, "b"], dtype=object),
        np.ma.MaskedArray(["a", "x", "b"], mask=[0, 1, 0]),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Categorical(["a", None, "b"]),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.chunked_array([["a", None], ["b"]]),
    ],
    ids=repr,
)
def test_texts_that_are_missing(tmp_path: Path, values: Any) -> None:
    assert stored(tmp_path, values) == ["a", None, "b"]


@pytest.mark.parametrize(
    "values",
    [
        [1.5, None, 2],
        np.ma.MaskedArray([1.5, 7, 2], mask=[0, 1, 0]),
        pd.Series([1.5, None, 2]),
        pd.Series([1.5, None, 2], dtype="Float64"),
        pd.Series([1.5, None, 2], dtype=object),
        pd.Series([1.5, None, 2], dtype=pd.ArrowDtype(pa.float64())),
        pl.Series([1.5, None, 2]),
        pa.array([1.5, None, 2]),
    ],
    ids=repr,
)
def test_floats_that_are_missing(tmp_path: Path, values: Any) -> None:
    assert stored(tmp_path, values) == [1.5, None, 2]


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 3],
        [True, None, False],
        np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([1, None, 3], dtype="category"),
        pl.Series([1, None, 3]),
        pl.Series([True, None, False]),
        pa.array([2**60 + 1, None, 3]),
        [np.int64(2**60 + 1), np.float64("nan"), np.int64(3)],
    ],
    ids=repr,
)
def test_whole_numbers_that_are_missing_are_refused(tmp_path: Path, values: Any) -> None:
    with pytest.raises(zvf.Error, match="without a value"):
        stored(tmp_path, values)
    with pytest.raises(zvf.Error, match="without a value"):
        zvf.write(tmp_path / "t.zv", kind="point_cloud", vertices=table(values), chunk_shape=[100] * 3)


def table(values: Any) -> pa.Table:
    """The same as an Arrow table, which is the rule."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if isinstance(values, pl.Series):
        values = values.to_arrow()
    if isinstance(values, pd.Series) and values.dtype == "category":
        values = values.astype("Int64")
    positions = pa.FixedSizeListArray.from_arrays(pa.array(PLACES.reshape(-1)), 3)
    return pa.table({"position": positions, "v": pa.array(values, from_pandas=True)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2**63 + 1, -1, 0], "all fit into int64"),
        ([2**53 + 1, 0.5, 0], "beside floats"),
        ([np.int64(2**53 + 1), np.float64(0.5), np.int64(0)], "beside floats"),
        (pd.DataFrame({"a": [2**53 + 1, 2, 3], "b": [0.5, 1, 2]}), "beside floats"),
        ([Decimal(1), Decimal(2), None], "Decimal"),
        ([1, "a", None], "int, str"),
        (np.array([[1, 2], [3], [4]], dtype=object), "list"),
        ([b"\xff", b"a", b"b"], "UTF-8"),
    ],
    ids=repr,
)
def test_values_that_no_store_holds(tmp_path: Path, values: Any, message: str) -> None:
    with pytest.raises(zvf.MisuseError, match=message):
        stored(tmp_path, values)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([b"ab", b"c", b"d"], ["ab", "c", "d"]),
        (["a\0", "b", ""], ["a\0", "b", ""]),
        (pd.Series([3, 4, 3], dtype="category"), [3, 4, 3]),
        (pd.Series([1, 2, 3], dtype="Int64"), [1, 2, 3]),
        ([True, False, True], [True, False, True]),
        (np.array([1, 2, 3], dtype=object), [1, 2, 3]),
        ([np.uint64(2**63 + 1), np.int64(3), np.int64(4)], [2**63 + 1, 3, 4]),
        ([np.uint64(1), np.int64(-3), np.int64(2**60 + 1)], [1, -3, 2**60 + 1]),
        (pd.arrays.SparseArray([0, 0, 1.5]), [0, 0, 1.5]),
        (pd.Series(pd.arrays.SparseArray([0, 0, 2**60 + 1])), [0, 0, 2**60 + 1]),
    ],
    ids=repr,
)
def test_values_that_are_kept(tmp_path: Path, values: Any, wanted: list[Any]) -> None:
    assert stored(tmp_path, values) == wanted


def test_objects_stay_missing_on_their_way_back(tmp_path: Path) -> None:
    lines: dict[str, Any] = {"kind": "polyline", "positions": np.arange(12.0).reshape(4, 3), "offsets": [0, 2, 4], "chunk_shape": [50] * 3}
    zvf.write(tmp_path / "a.zv", **lines, objects={"object_id": [0], "w": [5], "f": [5.5], "t": ["a"]})
    given = zvf.open(tmp_path / "a.zv").query().objects.to_numpy()
    assert (given["w"].tolist(), given["t"].tolist()) == ([5, None], ["a", None])
    with zvf.edit(tmp_path / "a.zv") as change:
        change.put_objects({"object_id": [1, 0], "w": np.ma.MaskedArray([7, 8], mask=[0, 1])})
    assert zvf.open(tmp_path / "a.zv").query().objects.to_numpy()["w"].tolist() == [None, 7]
    with zvf.edit(tmp_path / "a.zv") as change:
        change.put_objects({"object_id": [0, 1], "w": given["w"]})
    assert zvf.open(tmp_path / "a.zv").query().objects.to_numpy()["w"].tolist() == [5, None]
    zvf.write(tmp_path / "w.zv", **lines, objects={"object_id": given["object_id"], "w": given["w"]})
    assert zvf.open(tmp_path / "w.zv").query().objects.to_numpy()["w"].tolist() == [5, None]
    zvf.write(tmp_path / "b.zv", **lines, objects={name: given[name] for name in ("object_id", "f", "t")})
    with zvf.edit(tmp_path / "b.zv") as change:
        change.put_objects({"object_id": [0, 1], "f": np.ma.MaskedArray([7, 8.5], mask=[1, 0])})
    found = zvf.open(tmp_path / "b.zv").query().objects.to_numpy()
    assert found["t"].tolist() == ["a", None] and np.isnan(found["f"][0]) and found["f"][1] == 8.5


def test_ids_that_are_missing_are_refused(tmp_path: Path) -> None:
    masked = np.ma.MaskedArray([0, 1], mask=[0, 1])
    lines: dict[str, Any] = {"kind": "polyline", "positions": np.arange(12.0).reshape(4, 3), "offsets": [0, 2, 4], "chunk_shape": [50] * 3}
    with pytest.raises(zvf.MisuseError, match="without a value"):
        zvf.write(tmp_path / "a.zv", **lines, object_ids=masked)
    zvf.write(tmp_path / "a.zv", **lines)
    store = zvf.open(tmp_path / "a.zv")
    for ids in (masked, [2**63], pa.array([0, None])):
        with pytest.raises(zvf.MisuseError, match="ids"):
            store.get(ids)


def test_rows_of_a_frame_without_their_numbers(tmp_path: Path) -> None:
    lines: dict[str, Any] = {"kind": "polyline", "positions": np.arange(12.0).reshape(4, 3), "offsets": [0, 2, 4], "chunk_shape": [50] * 3}
    frame = pd.DataFrame({"object_id": [0, 1], "w": [5, 6]}, index=[5, 3])
    zvf.write(tmp_path / "a.zv", **lines, objects=frame)
    assert zvf.open(tmp_path / "a.zv").query().objects.to_numpy()["w"].tolist() == [5, 6]


def test_texts_name_groups(tmp_path: Path) -> None:
    lines: dict[str, Any] = {"kind": "polyline", "positions": np.arange(12.0).reshape(4, 3), "offsets": [0, 2, 4], "chunk_shape": [50] * 3}
    zvf.write(tmp_path / "a.zv", **lines, groups={"AF": [0]})
    with zvf.edit(tmp_path / "a.zv") as change:
        change.add_to_group("number:0", [1])
        change.add_to_group("name:x", [0])
    store = zvf.open(tmp_path / "a.zv")
    assert store.info["levels"][0]["groups"] == ["AF", "number:0", "name:x"]
    ids = {name: store.query(groups=name, select="objects").objects.to_numpy()["object_id"].tolist() for name in ("AF", "number:0", "name:x")}
    assert ids == {"AF": [0], "number:0": [1], "name:x": [0]}
    assert store.query(groups=np.int64(2), select="objects").objects.to_numpy()["object_id"].tolist() == [0]


def test_rows_of_a_block_are_those_of_the_store_before_it(tmp_path: Path) -> None:
    url = tmp_path / "a.zv"
    zvf.write(url, kind="point_cloud", positions=np.arange(30.0).reshape(10, 3), attributes={"v": np.arange(10)}, chunk_shape=[100] * 3)
    store = zvf.open(url)
    rows = {v: store.query(where=f"v = {v}", columns=["chunk", "row"]).vertices.read() for v in (1, 4, 6)}
    with zvf.edit(url) as change:
        change.delete_points(rows[1])
        change.delete_points(rows[4])
        change.set_attribute("v", pa.table(rows[6]).append_column("v", pa.array([66])))
    assert zvf.open(url).query().to_numpy()["v"].tolist() == [0, 2, 3, 5, 66, 7, 8, 9]


def test_rows_of_a_coarse_level_are_not_those_of_level_0(tmp_path: Path) -> None:
    url = tmp_path / "a.zv"
    places = np.random.default_rng(3).uniform(0, 100, (200, 3))
    zvf.write(url, kind="point_cloud", positions=places, attributes={"v": np.arange(200)}, chunk_shape=[100] * 3)
    zvf.pyramid(url, factors=[8.0])
    coarse = zvf.open(url).query(level=1, columns=["chunk", "row", "v"])
    told = "rows of level 1, expected those of level 0"
    with pytest.raises(zvf.MisuseError, match=told), zvf.edit(url) as change:
        change.delete_points(coarse.vertices)
    with pytest.raises(zvf.MisuseError, match=told), zvf.edit(url) as change:
        change.set_attribute("v", coarse.vertices)
    assert sorted(zvf.open(url).query().to_numpy()["v"].tolist()) == list(range(200))
    # Values are the same on each level.
    kept = set(zvf.open(url).query(level=1).to_numpy()["v"].tolist())
    with zvf.edit(url) as change:
        change.set_attribute("w", pa.table(coarse.vertices).append_column("w", pa.array([1] * len(kept))), key="v", type="int8", fill=0)
    found = zvf.open(url).query().to_numpy()
    assert set(found["v"][found["w"] == 1].tolist()) == kept


def test_tables_without_rows(tmp_path: Path) -> None:
    url = tmp_path / "a.zv"
    zvf.write(url, kind="graph", positions=PLACES, object_ids=[1, 1, 1], attributes={"v": [1, 2, 3]}, links=[[0, 1]], chunk_shape=[100] * 3)
    none: dict[str, Any] = {"position": PLACES[:0], "w": np.zeros(0, "f4")}
    with zvf.edit(url) as change:
        change.set_attribute("w", none, type="float32", fill=1.5)
        assert change.notes == ["3 of 3 vertices have no row in the table: they get 1.5"]
        change.append({"position": PLACES[:0], "object_id": np.zeros(0, int)})
    assert zvf.open(url).query().to_numpy()["w"].tolist() == [1.5] * 3
    with pytest.raises(zvf.MisuseError, match="expected 3"), zvf.edit(url) as change:
        change.set_attribute("v", {"v": np.zeros(0, int)}, by_order=True)
    with pytest.raises(zvf.MisuseError, match="vertex attribute q"), zvf.edit(url) as change:
        change.set_attribute("q", none)
    with pytest.raises(zvf.MisuseError, match="links"), zvf.edit(url) as change:
        change.append({"position": PLACES[:0], "object_id": np.zeros(0, int)}, links={"vertices": np.array([[0, 1]])})


def test_points_of_another_store_are_not_deleted(tmp_path: Path) -> None:
    for name in ("a.zv", "b.zv"):
        zvf.write(tmp_path / name, kind="point_cloud", positions=PLACES, chunk_shape=[100] * 3)
    rows = zvf.open(tmp_path / "b.zv").query(columns=["chunk", "row"], limit=1).vertices
    with pytest.raises(zvf.MisuseError, match=r"rows of .*b\.zv"), zvf.edit(tmp_path / "a.zv") as change:
        change.delete_points(rows)
    with zvf.edit(tmp_path / "." / "b.zv") as change:
        change.delete_points(rows)
    assert [zvf.open(tmp_path / name).levels[0].vertices for name in ("a.zv", "b.zv")] == [3, 2]


@pytest.mark.parametrize("fill", [None, pd.NA, pd.NaT, b"abc"])
def test_fills_have_a_value(tmp_path: Path, fill: Any) -> None:
    zvf.write(tmp_path / "a.zv", kind="point_cloud", positions=PLACES, attributes={"v": ["a", "b", "c"]}, chunk_shape=[100] * 3)
    with pytest.raises(zvf.MisuseError, match="fill of v"), zvf.edit(tmp_path / "a.zv") as change:
        change.append({"position": PLACES}, fill={"v": fill})


def test_groups_have_whole_numbers(tmp_path: Path) -> None:
    url = tmp_path / "a.zv"
    zvf.write(url, kind="polyline", positions=PLACES, offsets=[0, 3], groups={"AF": [0]}, chunk_shape=[100] * 3)
    with pytest.raises(zvf.MisuseError, match=r"found 0\.9"), zvf.edit(url) as change:
        change.delete_group(0.9)  # type: ignore[arg-type]
    with zvf.edit(url) as change:
        change.delete_group(np.int64(0))  # type: ignore[arg-type]
    assert not zvf.open(url).info["levels"][0]["groups"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([[1], [2, 3], [4]], "v: "),
        (np.array([[b"a", b"b"]] * 3), "v: found texts in 2 dimensions"),
        (pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()), "v: found Interval"),
        (pd.Series([True, None, False], dtype="bool[pyarrow]"), "v: found rows without a value"),
    ],
)
def test_what_no_store_holds_is_refused_by_its_name(tmp_path: Path, values: Any, told: str) -> None:
    with pytest.raises(zvf.Error, match=told):
        stored(tmp_path, values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([datetime.time(1, 2, 3), None, datetime.time(0)], pa.time64("us")), "[3723000000, -9223372036854775808, 0]"),
        (pa.array([[1.5, 2], [3, None], [5, 6]], pa.list_(pa.float32(), 2)), "[[1.5, 2.0], [3.0, nan], [5.0, 6.0]]"),
        (pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.uint8(), 2)), "[[1, 2], [3, 4], [5, 6]]"),
    ],
)
def test_columns_of_arrow_in_pandas_are_those_of_arrow(tmp_path: Path, values: pa.Array, expected: str) -> None:
    for name, given in [("arrow", values), ("pandas", pd.Series(values, dtype=pd.ArrowDtype(values.type)))]:
        folder = tmp_path / name
        folder.mkdir()
        assert repr(stored(folder, given)) == expected
