"""Units of attributes and moments in tables that are written: what is expected is computed from the numbers that go in."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import zvf

POINTS = np.arange(12.0).reshape(4, 3)
PLACES = pa.FixedSizeListArray.from_arrays(pa.array(POINTS.ravel()), 3)


def in_unit(values: pa.Array, unit: str | None, shift: float = 0.0) -> pa.Table:
    """Points with an attribute `v` in a unit."""
    places = pa.FixedSizeListArray.from_arrays(pa.array(POINTS.ravel() + shift), 3)
    stated = None if unit is None else {"zvf.unit": unit}
    fields = [pa.field("position", places.type), pa.field("v", values.type, metadata=stated)]
    return pa.table([places, values], schema=pa.schema(fields))


def made(path: Path, table: Any, **more: Any) -> str:
    url = str(path)
    zvf.write(url, kind="point_cloud", vertices=table, chunk_shape=[100.0] * 3, **more)
    return url


def read(url: str, name: str = "v") -> list[Any]:
    return pa.table(zvf.open(url).query(columns=[name]).read().vertices)[name].to_pylist()


def test_values_in_another_unit_are_refused(tmp_path: Path) -> None:
    lengths = pa.array([1.0, 2.0, 3.0, 4.0])
    url = made(tmp_path / "a.zv", in_unit(lengths, "um"))
    other = in_unit(lengths, "nm", 50.0)
    told = "found the unit nm, expected um as in the store"
    with pytest.raises(zvf.MisuseError, match=told), zvf.edit(url) as edit:
        edit.append(other)
    with pytest.raises(zvf.MisuseError, match=told), zvf.edit(url) as edit:
        edit.set_attribute("v", in_unit(lengths, "nm"))
    with pytest.raises(zvf.MisuseError, match=told), zvf.edit(url) as edit:
        edit.set_attribute("v", other, by_order=True)
    with (
        pytest.raises(zvf.MisuseError, match=told),
        zvf.Writer(str(tmp_path / "w.zv"), kind="point_cloud", chunk_shape=[100.0] * 3) as writer,
    ):
        writer.push(in_unit(lengths, "um"))
        writer.push(other)
    assert read(url) == [1.0, 2.0, 3.0, 4.0]
    with zvf.edit(url) as edit:
        edit.set_attribute("v", in_unit(pa.array([5.0, 6.0, 7.0, 8.0]), "micrometer"))
        edit.append(in_unit(lengths, None, 50.0))
    assert sorted(read(url)) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def test_columns_that_are_not_used_may_have_other_units(tmp_path: Path) -> None:
    first = in_unit(pa.array([1.0, 2.0, 3.0, 4.0]), "um")
    url = made(tmp_path / "a.zv", first.append_column("w", pa.array([1, 2, 3, 4])))
    other = in_unit(pa.array([0.0, 0.0, 0.0, 0.0]), "nm").append_column("w", pa.array([5, 6, 7, 8]))
    with zvf.edit(url) as edit:
        edit.set_attribute("w", other)
    assert (read(url, "w"), read(url)) == ([5, 6, 7, 8], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(zvf.MisuseError, match="unit nm"), zvf.edit(url) as edit:
        edit.set_attribute("w", other, key="v")


def test_positions_in_columns_state_the_axes_of_the_store(tmp_path: Path) -> None:
    url = str(tmp_path / "a.zv")
    attributes = {"v": np.arange(4)}
    zvf.write(url, kind="point_cloud", positions=POINTS, attributes=attributes, chunk_shape=[100.0] * 3, unit="micrometer")
    columns = {name: POINTS[:, at] for at, name in enumerate("xyz")} | {"v": np.arange(4) + 70}
    stated = {"zvf.axes": '[{"name":"x","unit":"nanometer"},{"name":"y","unit":"nanometer"},{"name":"z","unit":"nanometer"}]'}
    with pytest.raises(zvf.MisuseError, match="columns x, y, z"), zvf.edit(url) as edit:
        edit.set_attribute("v", pa.table(columns, metadata=stated))
    with zvf.edit(url) as edit:
        edit.set_attribute("v", pa.table(columns))
    assert read(url) == [70, 71, 72, 73]


def test_positions_of_other_axes_and_units_are_converted(tmp_path: Path) -> None:
    micro = {"positions": POINTS, "attributes": {"v": np.arange(4)}, "unit": "micrometer"}
    url = str(tmp_path / "a.zv")
    zvf.write(url, kind="point_cloud", chunk_shape=[100.0] * 3, **micro)
    turned = str(tmp_path / "b.zv")
    zvf.write(
        turned,
        kind="point_cloud",
        positions=POINTS[:, ::-1] * 1000,
        attributes={"v": np.arange(4) + 70},
        chunk_shape=[100_000.0] * 3,
        axes=["z", "y", "x"],
        unit="nanometer",
    )
    table = pa.table(zvf.open(turned).query().read().vertices)
    # The rows are found by their positions.
    with zvf.edit(url) as edit:
        edit.set_attribute("v", table)
    assert read(url) == [70, 71, 72, 73]
    with zvf.Writer(str(tmp_path / "c.zv"), kind="point_cloud", chunk_shape=[100.0] * 3) as writer:
        writer.push(pa.table(zvf.open(url).query().read().vertices))
        writer.push(table)
    places = np.array(read(str(tmp_path / "c.zv"), "position"))
    np.testing.assert_allclose(places[np.lexsort(places.T)], np.repeat(POINTS, 2, axis=0))


MOMENTS = [datetime(2020, 1, 1), None, datetime(2021, 2, 3, 4, 5, 6), datetime(1969, 12, 31)]
DATES = [date(2020, 1, 1), None, date(1950, 6, 7), date(2100, 1, 1)]
SPANS = [timedelta(seconds=1), timedelta(days=-3), None, timedelta(0)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.timestamp("s"), MOMENTS),
        (pa.timestamp("us"), MOMENTS),
        (pa.timestamp("ns"), MOMENTS),
        (pa.timestamp("us", "Europe/Berlin"), MOMENTS),
        (pa.date32(), DATES),
        (pa.duration("ms"), SPANS),
    ],
    ids=str,
)
def test_moments_of_tables_are_written(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array(values, kind)
    table = pa.table({"position": PLACES, "t": column, "k": pa.array([0, 1, 2, 3])})
    url = made(tmp_path / "a.zv", table)
    file = tmp_path / "t.parquet"

    def written() -> pa.ChunkedArray:
        zvf.export(url, file)
        found = pq.read_table(file)
        return found.take(pc.sort_indices(found["k"]))["t"]

    assert written().to_pylist() == column.to_pylist()
    # The same moments in another unit, as another library has them.
    back = column.take(pa.array([3, 2, 1, 0]))
    if pa.types.is_timestamp(kind) and kind.unit != "s":
        back = back.cast(pa.timestamp("ns", kind.tz))
    with zvf.edit(url) as edit:
        edit.set_attribute("t", pa.table({"k": pa.array([0, 1, 2, 3]), "t": back}), key="k")
    assert written().to_pylist() == column.to_pylist()[::-1]
    more = pa.table({"position": PLACES, "t": column, "k": pa.array([4, 5, 6, 7])})
    with zvf.edit(url) as edit:
        edit.append(more)
    assert written().to_pylist() == column.to_pylist()[::-1] + column.to_pylist()


def test_moments_of_numpy_and_pandas_are_written(tmp_path: Path) -> None:
    times = np.array(["2020-01-01", "NaT", "2021-02-03T04:05:06", "1969-12-31"], dtype="datetime64[us]")
    days = times.astype("datetime64[D]")
    url = str(tmp_path / "a.zv")
    zvf.write(
        url,
        kind="point_cloud",
        positions=POINTS,
        attributes={
            "numpy": times,
            "days": days,
            "pandas": pd.Series(times),
            "masked": np.ma.MaskedArray(times, mask=[True, False, False, False]),
            "spans": times - np.datetime64("2020-01-01"),
        },
        chunk_shape=[100.0] * 3,
    )
    missing = np.iinfo(np.int64).min
    assert read(url, "numpy") == times.view(np.int64).tolist()
    assert read(url, "days") == days.view(np.int64).tolist()
    assert read(url, "pandas") == times.view(np.int64).tolist()
    assert read(url, "masked") == [missing, *times.view(np.int64)[1:].tolist()]
    assert read(url, "spans") == (times - np.datetime64("2020-01-01")).view(np.int64).tolist()
    frame = pd.DataFrame({"numpy": pd.Series(times[::-1]).astype("datetime64[ns]")})
    with zvf.edit(url) as edit:
        edit.set_attribute("numpy", frame, by_order=True)
    assert read(url, "numpy") == times[::-1].view(np.int64).tolist()
    with pytest.raises(zvf.MisuseError, match="represents exactly"), zvf.edit(url) as edit:
        edit.set_attribute("days", pd.DataFrame({"days": times}), by_order=True)
    with pytest.raises(zvf.MisuseError, match=r"datetime64\[h\]"):
        zvf.write(
            str(tmp_path / "h.zv"),
            kind="point_cloud",
            positions=POINTS,
            attributes={"h": times.astype("datetime64[h]")},
            chunk_shape=[100.0] * 3,
        )


def test_ids_of_other_integer_types_are_taken(tmp_path: Path) -> None:
    for kind in ["int8", "int32", "uint32", "uint64"]:
        ids = pa.array([5, 5, 9, 9], getattr(pa, kind)())
        url = str(tmp_path / f"{kind}.zv")
        table = pa.table({"position": PLACES, "object_id": ids})
        zvf.write(url, kind="streamline", vertices=table, chunk_shape=[100.0] * 3)
        assert sorted(zvf.open(url).objects().to_numpy()["object_id"].tolist()) == [5, 9]
    table = pa.table({"position": PLACES, "object_id": pa.array([2**63] * 4, pa.uint64())})
    with pytest.raises(zvf.MisuseError, match="without loss"):
        zvf.write(str(tmp_path / "wide.zv"), kind="streamline", vertices=table, chunk_shape=[100.0] * 3)


def test_a_store_in_parts_states_what_its_table_states(tmp_path: Path) -> None:
    axes = '[{"name": "u", "type": "space", "unit": "um"}, {"name": "v", "type": "space", "unit": "um"}, {"name": "w", "type": "space", "unit": "nm"}]'
    stated = {"zvf.unit": "mm", "zvf.description": "deep"}
    fields = [
        pa.field("position", PLACES.type),
        pa.field("q", pa.float32(), metadata=stated),
        pa.field("t", pa.time64("us")),
        pa.field("d", pa.timestamp("ms")),
        pa.field("c", pa.list_(pa.int16(), 2), metadata={"zvf.channel_names": '["a", "b"]'}),
    ]
    columns = [[1, 2, 3, 4], [5, 6, 7, 8], [1, None, 3, 4], [[1, 2]] * 4]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields[1:], strict=True)]
    table = pa.table([PLACES, *arrays], schema=pa.schema(fields, metadata={"zvf.axes": axes}))
    made(tmp_path / "whole.zv", table)
    terms: dict[str, Any] = {"kind": "point_cloud", "chunk_shape": [100.0] * 3, "bounds": ([0.0] * 3, [100.0] * 3)}
    parts = pickle.loads(pickle.dumps(zvf.Parts(tmp_path / "parts.zv", like=table.schema.empty_table(), **terms)))
    parts.begin()
    parts.write("all", table)
    parts.commit()
    whole, joint = zvf.open(tmp_path / "whole.zv"), zvf.open(tmp_path / "parts.zv")
    assert [axis["unit"] for axis in joint.info["axes"]] == ["um", "um", "nm"]
    assert joint.info["axes"] == whole.info["axes"]
    said = [[(a["path"], a["unit"], a["description"], a["dtype"], a["width"]) for a in one.info["levels"][0]["arrays"]] for one in (whole, joint)]
    assert said[0] == said[1]
    assert pa.table(joint.query().vertices).equals(pa.table(whole.query().vertices), check_metadata=True)


def test_lists_of_moments_are_written(tmp_path: Path) -> None:
    times = pa.array([[1, 2], [3, 4], [5, 6], [7, 8]], pa.list_(pa.timestamp("s"), 2))
    zvf.write(tmp_path / "a.zv", kind="point_cloud", positions=POINTS, attributes={"v": times}, chunk_shape=[100.0] * 3)
    store = zvf.open(tmp_path / "a.zv")
    assert store.query().to_numpy()["v"].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert {a["unit"] for a in store.info["levels"][0]["arrays"] if a["path"].endswith("/v")} == {"seconds since 1970-01-01T00:00:00"}


@pytest.mark.parametrize(
    ("values", "unit", "wanted"),
    [
        (pa.array([1, 2, None, 4], pa.time64("us")), "microseconds since midnight", [1, 2, -(1 << 63), 4]),
        (pl.Series([1, 2, 3, 4], dtype=pl.Time), "nanoseconds since midnight", [1, 2, 3, 4]),
        (pa.array([[1, 2]] * 4, pa.list_(pa.time32("s"), 2)), "seconds since midnight", [[1, 2]] * 4),
    ],
)
def test_times_of_day_of_other_packages_keep_their_unit(tmp_path: Path, values: Any, unit: str, wanted: list[Any]) -> None:
    url = tmp_path / "a.zv"
    zvf.write(url, kind="point_cloud", positions=POINTS, attributes={"v": values}, chunk_shape=[100.0] * 3)
    terms: dict[str, Any] = {"kind": "point_cloud", "chunk_shape": [100.0] * 3, "bounds": ([0.0] * 3, [100.0] * 3)}
    columns = {"position": POINTS, "v": values}
    parts = pickle.loads(pickle.dumps(zvf.Parts(tmp_path / "parts.zv", like=columns, **terms)))
    parts.begin()
    parts.write("all", columns)
    parts.commit()
    for store in (zvf.open(url), zvf.open(tmp_path / "parts.zv")):
        assert {a["unit"] for a in store.info["levels"][0]["arrays"] if a["path"].endswith("/v")} == {unit}
        assert store.query().to_numpy()["v"].tolist() == wanted
