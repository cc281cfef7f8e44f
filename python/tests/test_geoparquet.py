"""Files with a column of points, written by other programs: GeoParquet and GeoArrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import zvf

shapely = pytest.importorskip("shapely", reason="shapely is not installed")

PLACES = np.random.default_rng(7).uniform(-100, 100, (500, 3))


def geoparquet(path: Path, points: Any, crs: Any = None, **wkb: Any) -> Path:
    """A file as GeoPandas writes it."""
    geometry = pa.array(list(shapely.to_wkb(points, **wkb)), pa.binary())
    columns: dict[str, Any] = {"encoding": "WKB", "geometry_types": []}
    if crs != "absent":
        columns["crs"] = crs
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": columns}}
    table = pa.table({"size": np.arange(len(geometry)), "geometry": geometry})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def rows(url: Path, places: np.ndarray) -> None:
    """The store has these positions, each with its number as `size`."""
    found = zvf.open(url).query().read().vertices
    np.testing.assert_array_equal(found["position"][np.argsort(found["size"])], places)


@pytest.mark.parametrize(
    ("dims", "flavor", "byte_order", "crs", "stated"),
    [
        (2, "iso", 1, {"id": {"authority": "EPSG", "code": 25832}}, "EPSG:25832"),
        (3, "iso", 0, None, None),
        (3, "extended", 1, "absent", "OGC:CRS84"),
    ],
)
def test_points_are_positions(tmp_path: Path, dims: int, flavor: str, byte_order: int, crs: Any, stated: str | None) -> None:
    places = PLACES[:, :dims]
    file = geoparquet(tmp_path / "p.parquet", shapely.points(places), crs, flavor=flavor, byte_order=byte_order)
    url = tmp_path / "p.zv"
    zvf.import_(url, file)
    rows(url, places)
    assert json.loads((url / "zarr.json").read_text())["attributes"]["zarr_vectors"].get("crs") == stated
    # Values for the vertices at the points; more points.
    table = pq.read_table(file).append_column("more", pa.array(np.arange(500) * 2))
    pq.write_table(table, file)
    zvf.run({"job": "edit-set-attribute", "store": str(url), "name": "more", "type": "int64", "from": str(file)})
    found = zvf.open(url).query().read().vertices
    np.testing.assert_array_equal(found["more"], found["size"] * 2)
    zvf.append(url, file)
    assert zvf.open(url).query().read().vertices.num_rows == 1000


def test_a_system_without_a_code_is_noted(tmp_path: Path) -> None:
    file = geoparquet(tmp_path / "p.parquet", shapely.points(PLACES), {"type": "EngineeringCRS", "name": "the quarry"})
    assert 'system "the quarry" is left out' in " ".join(zvf.import_(tmp_path / "p.zv", file)["notes"])
    assert not any("quarry" in note for note in zvf.import_(tmp_path / "q.zv", file, crs="EPSG:25832")["notes"])


@pytest.mark.parametrize("kind", ["wkb", "struct"])
def test_points_of_geoarrow_are_positions(tmp_path: Path, kind: str) -> None:
    if kind == "wkb":
        column = pa.array(list(shapely.to_wkb(shapely.points(PLACES), flavor="iso")), pa.large_binary())
        metadata = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": '{"crs": "EPSG:4979"}'}
    else:
        column = pa.StructArray.from_arrays([pa.array(axis) for axis in PLACES.T], ["x", "y", "z"])
        metadata = {"ARROW:extension:name": "geoarrow.point"}
    schema = pa.schema([pa.field("size", pa.int64()), pa.field("place", column.type, metadata=metadata)])
    with pa.ipc.new_file(tmp_path / "p.arrow", schema) as file:
        file.write_table(pa.table([pa.array(np.arange(500)), column], schema=schema))
    zvf.import_(tmp_path / "p.zv", tmp_path / "p.arrow")
    rows(tmp_path / "p.zv", PLACES)


def test_a_measure_is_no_coordinate(tmp_path: Path) -> None:
    column = pa.StructArray.from_arrays([pa.array(axis) for axis in PLACES.T], ["x", "y", "m"])
    schema = pa.schema([pa.field("place", column.type, metadata={"ARROW:extension:name": "geoarrow.point"})])
    with pa.ipc.new_file(tmp_path / "p.arrow", schema) as file:
        file.write_table(pa.table([column], schema=schema))
    with pytest.raises(zvf.Error, match="place"):
        zvf.import_(tmp_path / "p.zv", tmp_path / "p.arrow")


def test_other_geometry_is_refused(tmp_path: Path) -> None:
    point = shapely.Point(1, 2)
    for shape, told in [
        (shapely.LineString([(0, 0), (1, 1)]), "found a line in row 1, expected points"),
        (shapely.box(0, 0, 1, 1), "found a polygon in row 1"),
        (shapely.Point(1, 2, 3), "found a point of 3 numbers in row 1, expected 2"),
        (None, "found in row 1"),
    ]:
        file = geoparquet(tmp_path / "p.parquet", np.array([point, shape], dtype=object))
        with pytest.raises(zvf.Error, match=told):
            zvf.import_(tmp_path / "p.zv", file)
    # The same rows without the missing point.
    assert zvf.import_(tmp_path / "p.zv", file, nulls="drop-row")["vertices"] == 1
