"""LAS and LAZ files of all point formats, judged by laspy."""

from __future__ import annotations

import json
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
    header.add_extra_dim(laspy.ExtraBytesParams("height", "f4"))
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
