"""NIfTI and MGH files as volumes, judged by nibabel and SciPy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import zvf

Bundled = Callable[[str], Path]

TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16"]


def program(*words: object) -> str:
    line = [sys.executable, "-P", "-m", "zvf", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_elements_and_affines_are_those_of_nibabel(tmp_path: Path) -> None:
    rng = np.random.default_rng(43)
    turn = np.array([[0.0, -2, 0.1, 5], [3, 0.2, 0, -7], [0, 0.3, 1.5, 11], [0, 0, 0, 1]])
    number = 0
    for kind, pair, orders in [
        (nibabel.Nifti1Image, nibabel.Nifti1Header, "<>"),
        (nibabel.Nifti2Image, nibabel.Nifti2Header, "<>"),
        (nibabel.MGHImage, None, ">"),
    ]:
        types = TYPES if pair else ["u1", "i4", "f4", "i2"]
        for order in orders:
            for name in types:
                shape = [(4, 3, 5), (4, 3, 2, 3), (1, 6, 2)][number % 3]
                values = rng.integers(0, 100, shape).astype(order + name)
                if pair:
                    header = pair(endianness=order)
                    header.set_data_dtype(values.dtype)
                    image = kind(values, turn, header)
                    image.header.set_xyzt_units(*[("mm", "sec"), ("micron", "msec"), ("unknown", "unknown")][number % 3])
                    form = number % 4
                    image.set_sform(turn, code=[2, 0, 1, 0][form])
                    image.set_qform(turn, code=[1, 1, 0, 0][form], strip_shears=True)
                    if name[0] != "c" and number % 5 == 1:
                        image.header.set_slope_inter(0.25, -3)
                    file = tmp_path / f"{number}.nii{['', '.gz'][number % 2]}"
                else:
                    image = kind(values, turn)
                    file = tmp_path / f"{number}.{['mgh', 'mgz'][number % 2]}"
                nibabel.save(image, file)
                theirs = nibabel.load(file)
                wanted = np.asarray(theirs.dataobj)
                program("volume", "slice", file, "-o", tmp_path / "all.npy", "--quiet")
                found = np.load(tmp_path / "all.npy")
                assert found.shape == theirs.shape
                np.testing.assert_array_equal(found, wanted, err_msg=f"{file} {values.dtype}")
                program("volume", "slice", file, "--range", "::2,1,-2:", "-o", tmp_path / "part.npy", "--quiet")
                np.testing.assert_array_equal(np.load(tmp_path / "part.npy"), wanted[::2, 1, -2:])
                info = json.loads(program("volume", "info", file, "--json"))["datasets"][0]
                np.testing.assert_allclose(info["affine"], theirs.affine, atol=1e-6)
                number += 1


def test_sizes_that_are_not_positive_are_those_of_nibabel(tmp_path: Path) -> None:
    for number, sizes in enumerate([(1, 0, 0, 0), (1, 2, 3, 0), (1, -2, 3, 4)]):
        image = nibabel.Nifti1Image(np.arange(24, dtype=np.uint8).reshape(4, 3, 2), None)
        content = bytearray(image.to_bytes())
        content[76:92] = np.array(sizes, dtype="<f4").tobytes()
        file = tmp_path / f"{number}.nii"
        file.write_bytes(content)
        info = json.loads(program("volume", "info", file, "--json"))["datasets"][0]
        np.testing.assert_allclose(info["affine"], nibabel.load(file).affine, atol=1e-6)


@pytest.mark.parametrize("channels", [3, 4])
def test_colours_are_the_last_axis(tmp_path: Path, channels: int) -> None:
    rng = np.random.default_rng(channels)
    values = rng.integers(0, 255, (3, 4, 2, channels)).astype(np.uint8)
    dtype = np.dtype([(letter, "u1") for letter in "RGBA"[:channels]])
    image = nibabel.Nifti1Image(np.ascontiguousarray(values).view(dtype)[..., 0], np.eye(4))
    nibabel.save(image, tmp_path / "rgb.nii.gz")
    program("volume", "slice", tmp_path / "rgb.nii.gz", "-o", tmp_path / "all.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "all.npy"), values)


def test_samples_are_those_of_scipy_at_the_places_of_nibabel(bundled: Bundled, tmp_path: Path) -> None:
    store = tmp_path / "tracts.zarrvectors"
    shutil.copytree(bundled("streamlines"), store)
    rng = np.random.default_rng(12)
    affine = np.array([[0.0, -6, 0.5, 150], [5, 0, 0, -4], [0, 0.2, 3, 0.5], [0, 0, 0, 1]])
    values = rng.normal(0, 1, (30, 28, 40)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(values, affine), tmp_path / "fa.nii.gz")
    labels = rng.integers(0, 9, (30, 28, 40)).astype(np.int16)
    nibabel.save(nibabel.Nifti2Image(labels, affine), tmp_path / "labels.nii")
    zvf.sample(store, tmp_path / "fa.nii.gz", "fa2")
    zvf.sample(store, tmp_path / "labels.nii", "label", outside=-1)
    found = zvf.open(store).query().to_numpy()
    stated = nibabel.load(tmp_path / "fa.nii.gz").affine
    places = nibabel.affines.apply_affine(np.linalg.inv(stated), found["position"].astype(np.float64)).T
    top = np.array(values.shape)[:, None] - 1
    inside = ((places >= 0) & (places <= top)).all(axis=0)
    assert inside.any()
    expected = map_coordinates(values.astype(np.float64), places[:, inside], order=1)
    np.testing.assert_allclose(found["fa2"][inside], expected, atol=1e-4)
    voxels = np.floor(places + 0.5).astype(int)
    held = ((voxels >= 0) & (voxels <= top)).all(axis=0)
    np.testing.assert_array_equal(found["label"][held], labels[tuple(voxels[:, held])])
    assert (found["label"][~held] == -1).all()


def test_affines_of_images_map_x_y_and_z(tmp_path: Path) -> None:
    """They were applied to the axes in their order, so that z, y and x of a store were mapped as x, y and z."""
    affine = np.diag([2.0, 3, 4, 1])
    affine[:3, 3] = [100, 200, 300]
    image, table = tmp_path / "i.nii.gz", tmp_path / "p.csv"
    nibabel.save(nibabel.Nifti1Image(np.zeros((2, 2, 2), dtype=np.uint8), affine), image)
    table.write_text("t,x,y,z\n0,1,1,1\n0,2,3,5\n")
    for axes in ("xyz", "zyx", "tzyx"):
        store = tmp_path / f"{axes}.zarrvectors"
        zvf.import_(store, table, position=list(axes), affine=image)
        places = zvf.open(store).query().read().vertices["position"]
        found = {axis: sorted(places[:, at].tolist()) for at, axis in enumerate(axes) if axis != "t"}
        assert found == {"x": [102.0, 104.0], "y": [203.0, 209.0], "z": [304.0, 320.0]}, axes


def test_stated_affines_of_images_lead_to_x_y_and_z(tmp_path: Path) -> None:
    """As those of the volume itself do; they led to the axes of the store in their order."""
    affine = np.diag([2.0, 3, 4, 1])
    affine[:3, 3] = [100, 200, 300]
    labels = np.zeros((9, 9, 9), dtype=np.uint8)
    labels[1, 2, 3] = 7
    volume, image, table = tmp_path / "v.nii.gz", tmp_path / "i.nii.gz", tmp_path / "p.csv"
    nibabel.save(nibabel.Nifti1Image(labels, np.eye(4)), volume)
    nibabel.save(nibabel.Nifti1Image(labels, affine), image)
    table.write_text("x,y,z\n102,206,312\n")
    for axes in ("xyz", "zyx"):
        store = tmp_path / f"{axes}.zarrvectors"
        zvf.import_(store, table, position=list(axes))
        zvf.sample(store, volume, "label", affine=str(image))
        assert zvf.open(store).query().read().vertices["label"].tolist() == [7], axes


def test_volumes_are_described_cut_and_converted(tmp_path: Path) -> None:
    values = np.arange(6 * 5 * 4, dtype="<i4").reshape(6, 5, 4)
    turn = np.diag([2.0, 2, 3, 1])
    image, frame, part = tmp_path / "v.nii", tmp_path / "v.b2nd", tmp_path / "part.npy"
    nibabel.save(nibabel.Nifti1Image(values, turn), image)
    (one,) = zvf.volume_info(image)["datasets"]
    assert (one["shape"], one["dtype"], one["form"]) == ([6, 5, 4], "<i4", "nifti")
    assert np.array_equal(one["affine"], turn)
    steps: list[int] = []
    done = zvf.volume_convert(image, frame, chunk_shape=[3, 5, 4], progress=steps.append)
    assert (done["form"], done["elements"], bool(done["lost"])) == ("caterva", 120, True)
    assert sum(steps) == 2
    done = zvf.volume_slice(frame, part, range="1:5:2, ::2, -1")
    assert (done["shape"], done["bytes"]) == ([2, 3], 24)
    assert np.array_equal(np.load(part), values[1:5:2, ::2, -1])
    with pytest.raises(zvf.MisuseError, match="exists already"):
        zvf.volume_convert(image, frame)
    assert zvf.run({"job": "volume-convert", "volume": str(image), "output": str(frame), "overwrite": True})["form"] == "caterva"
