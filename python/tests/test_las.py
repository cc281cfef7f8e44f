"""LAS and LAZ files of all point formats, judged by laspy."""

from __future__ import annotations

import datetime
import json
import uuid
from pathlib import Path

import laspy
import numpy as np
import pytest
from laspy.vlrs.vlr import VLR

import zvf

LOST = {"wavepacket_index", "wavepacket_offset", "wavepacket_size", "return_point_wave_location", "x_t", "y_t", "z_t"}


def made(path: Path, number: int, points: int = 700) -> laspy.LasData:
    """A file with random values in all fields; intensity is the number of a point."""
    rng = np.random.default_rng(number)
    version = "1.4" if number >= 6 else ("1.3" if number >= 4 else "1.2")
    header = laspy.LasHeader(point_format=number, version=version)
    header.scales = [0.01, 0.001, 0.25]
    header.offsets = [400000, -5.5, 0]
    header.file_source_id = 70 + number
    header.uuid = uuid.UUID(int=int(rng.integers(1, 2**62)) << 64 | number)
    header.system_identifier = "scanner 7"
    header.generating_software = "a program"
    header.creation_date = datetime.date(2024, 2, 29)
    header.add_extra_dim(laspy.ExtraBytesParams("height", "f4", description="above the ground"))
    header.add_extra_dim(laspy.ExtraBytesParams("pair", "2i2"))
    header.add_extra_dim(laspy.ExtraBytesParams("scaled", "u2", scales=np.array([0.5]), offsets=np.array([3.0])))
    header.vlrs.append(VLR("LASF_Projection", 2112, "", b'PROJCS["a test"]\0'))
    header.global_encoding.wkt = True
    las = laspy.LasData(header)
    las.points = laspy.ScaleAwarePointRecord.zeros(points, header=header)
    for name in las.points.array.dtype.names:
        column = las.points.array[name]
        if column.dtype.kind == "f":
            column[:] = rng.normal(0, 100, column.shape)
        elif name in ("X", "Y", "Z"):
            column[:] = rng.integers(-(2**17), 2**17, column.shape)
        else:
            info = np.iinfo(column.dtype)
            column[:] = rng.integers(info.min, info.max, column.shape, dtype=column.dtype, endpoint=True)
    las.intensity = np.arange(points)
    las.write(path)
    return las


@pytest.mark.parametrize("number", range(11))
@pytest.mark.parametrize("ending", ["las", "laz"])
def test_fields_are_those_of_laspy(tmp_path: Path, number: int, ending: str) -> None:
    path = tmp_path / f"points.{ending}"
    made(path, number)
    theirs = laspy.read(path)
    store = tmp_path / "points.zarrvectors"
    zvf.import_(store, path)
    found = zvf.open(store).query().to_numpy()
    order = np.argsort(found["intensity"])
    np.testing.assert_array_equal(found["position"][order], theirs.xyz)
    assert found["position"].dtype == np.float64
    for name in theirs.point_format.dimension_names:
        if name in ("X", "Y", "Z") or name in LOST:
            continue
        np.testing.assert_array_equal(found[name][order], np.asarray(theirs[name]), err_msg=name)
    root = json.loads((store / "zarr.json").read_text())
    assert root["attributes"]["zarr_vectors"]["crs"] == 'PROJCS["a test"]'


@pytest.mark.parametrize("number", range(11))
@pytest.mark.parametrize("ending", ["las", "laz"])
def test_exports_are_what_laspy_wrote(tmp_path: Path, number: int, ending: str) -> None:
    path, out = tmp_path / "points.laz", tmp_path / f"out.{ending}"
    made(path, number)
    theirs = laspy.read(path)
    store = tmp_path / "points.zarrvectors"
    zvf.import_(store, path)
    done = zvf.export(store, out)
    assert done["vertices"] == len(theirs.points)
    assert ("waveforms are not kept" in done["notes"]) == (number in (4, 5, 9, 10))
    ours = laspy.read(out)
    assert ours.header.are_points_compressed == (ending == "laz")
    same(ours, theirs)
    for name in ("height", "pair"):
        assert ours[name].dtype == theirs[name].dtype
    assert ours.point_format.dimension_by_name("height").description == "above the ground"
    mine, other = (las.point_format.dimension_by_name("scaled") for las in (ours, theirs))
    assert (mine.dtype, mine.scales, mine.offsets) == (other.dtype, other.scales, other.offsets)
    for member in ("file_source_id", "uuid", "system_identifier", "generating_software", "creation_date"):
        assert getattr(ours.header, member) == getattr(theirs.header, member), member
    assert ours.point_format.dimension_by_name("pair").num_elements == 2


def same(ours: laspy.LasData, theirs: laspy.LasData) -> None:
    """Compares points by intensity, which is the number of a point, and what headers state."""
    assert ours.header.version == theirs.header.version
    assert ours.point_format.id == theirs.point_format.id
    for name in ("scales", "offsets", "mins", "maxs", "number_of_points_by_return"):
        np.testing.assert_array_equal(getattr(ours.header, name), getattr(theirs.header, name), err_msg=name)
    assert ours.header.point_count == theirs.header.point_count
    assert ours.header.global_encoding.gps_time_type == theirs.header.global_encoding.gps_time_type
    assert ours.header.global_encoding.wkt
    assert [vlr.string for vlr in ours.header.vlrs.get("WktCoordinateSystemVlr")] == ['PROJCS["a test"]']
    assert list(ours.point_format.dimension_names) == list(theirs.point_format.dimension_names)
    order = np.argsort(np.asarray(ours.intensity))
    for name in theirs.point_format.dimension_names:
        if name not in LOST:
            np.testing.assert_array_equal(np.asarray(ours[name])[order], np.asarray(theirs[name]), err_msg=name)
        else:
            assert not np.asarray(ours[name]).any()


def test_exports_of_several_chunks_and_of_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    count = 120_000
    position = rng.integers(-(10**8), 10**8, (count, 3)) / 1000
    label = rng.integers(-(2**62), 2**62, count)
    np.savez(tmp_path / "points.npz", positions=position, label=label, classification=rng.integers(0, 256, count, dtype="u1"))
    zvf.import_(tmp_path / "table.zarrvectors", tmp_path / "points.npz")
    table = zvf.open(tmp_path / "table.zarrvectors").query().to_numpy()
    for ending in ("las", "laz"):
        out = tmp_path / f"out.{ending}"
        zvf.export(tmp_path / "table.zarrvectors", out)
        las = laspy.read(out)
        assert (las.point_format.id, str(las.header.version), las.header.point_count) == (6, "1.4", count)
        np.testing.assert_array_equal(las.header.scales, [0.001] * 3)
        ours, theirs = np.argsort(las["label"]), np.argsort(table["label"])
        np.testing.assert_array_equal(las["label"][ours], table["label"][theirs])
        np.testing.assert_allclose(las.xyz[ours], table["position"][theirs], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(las.classification[ours], table["classification"][theirs])
        np.testing.assert_array_equal(las.return_number, np.ones(count))
        np.testing.assert_allclose(las.header.mins, position.min(axis=0), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(las.header.number_of_points_by_return, [count] + [0] * 14)


def test_values_beyond_a_field_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "points.npz", positions=np.eye(3), classification=np.array([1, 300, 2]))
    zvf.import_(tmp_path / "table.zarrvectors", tmp_path / "points.npz")
    with pytest.raises(zvf.MisuseError, match="classification: found 300 in row"):
        zvf.export(tmp_path / "table.zarrvectors", tmp_path / "out.laz")
    assert not (tmp_path / "out.laz").exists()
    zvf.export(tmp_path / "table.zarrvectors", tmp_path / "out.laz", attributes=[])
    assert len(laspy.read(tmp_path / "out.laz").points) == 3


def test_several_chunks_of_points_and_files_are_one_store(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.laz" for number in range(2)]
    files = []
    for number, path in enumerate(paths):
        header = laspy.LasHeader(point_format=7, version="1.4")
        header.scales = [0.001] * 3
        las = laspy.LasData(header)
        las.points = laspy.ScaleAwarePointRecord.zeros(120_000, header=header)
        las.X, las.Y, las.Z = np.random.default_rng(number).integers(0, 10**6, (3, 120_000))
        las.write(path)
        files.append(laspy.read(path))
    zvf.import_(tmp_path / "area.zarrvectors", *paths, exclude=["user_data"])
    found = zvf.open(tmp_path / "area.zarrvectors").query().to_numpy()
    wanted = np.concatenate([las.xyz for las in files])
    ours = found["position"]
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], wanted[np.lexsort(wanted.T)])
    assert "user_data" not in found


def test_parts_of_copc_are_those_of_laspy(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "testdata" / "las" / "octree.copc.laz"
    rng = np.random.default_rng(43)
    for number in range(30):
        # laspy rounds corners to whole steps of coordinates: these are.
        low = np.array([1000, -50, 10]) + rng.integers(0, 8, 3) / 2
        high = low + rng.integers(0, 6, 3) / 2
        resolution = rng.choice([0.4, 0.5, 0.9, 1, 1.7, 2, 5])
        with laspy.CopcReader.open(path) as reader:
            theirs = reader.query(bounds=laspy.Bounds(mins=low, maxs=high), resolution=resolution)
        bbox = ":".join(",".join(repr(float(at)) for at in corner) for corner in (low, high))
        store = tmp_path / f"{number}.zarrvectors"
        if not len(theirs):
            with pytest.raises(zvf.Error, match="no vertex"):
                zvf.import_(store, path, bbox=bbox, resolution=resolution)
            continue
        zvf.import_(store, path, bbox=bbox, resolution=resolution)
        found = zvf.open(store).query().to_numpy()
        assert sorted(found["intensity"]) == sorted(theirs.intensity)
