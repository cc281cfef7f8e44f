"""Values of volumes at vertices, judged by `map_coordinates` of SciPy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import zvf

Bundled = Callable[[str], Path]


def volume(folder: Path, values: np.ndarray) -> Path:
    """A Zarr array of one chunk, written by hand."""
    folder.mkdir()
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(values.shape),
        "data_type": values.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(values.shape)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    (folder / "zarr.json").write_text(json.dumps(document))
    chunk = folder / "c" / "0" / "0"
    chunk.mkdir(parents=True)
    (chunk / "0").write_bytes(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return folder


def test_values_are_those_of_scipy(bundled: Bundled, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    store = tmp_path / "tracts.zarrvectors"
    shutil.copytree(bundled("streamlines"), store)
    image = rng.normal(0, 1, (30, 25, 40)).astype(np.float32)
    labels = rng.integers(0, 90, (30, 25, 40)).astype(np.uint16)
    # Element (i, j, k) is at 5 i - 4, 6 j + 1, 3 k.
    affine = np.array([[5.0, 0, 0, -4], [0, 6, 0, 1], [0, 0, 3, 0], [0, 0, 0, 1]])
    done = zvf.sample(store, volume(tmp_path / "image.zarr", image), "fa2", affine=affine)
    zvf.sample(store, volume(tmp_path / "labels.zarr", labels), "label", affine=affine[:3], order="nearest", outside=999)
    found = zvf.open(store).query().to_numpy()
    assert done["vertices"] == len(found["fa2"])
    places = (found["position"].astype(np.float64).T - affine[:3, 3:]) / np.diag(affine)[:3, None]
    top = np.array(image.shape)[:, None] - 1
    inside = ((places >= 0) & (places <= top)).all(axis=0)
    expected = map_coordinates(image.astype(np.float64), places[:, inside], order=1)
    np.testing.assert_allclose(found["fa2"][inside], expected, atol=1e-5)
    assert np.isnan(found["fa2"][~inside]).all() and done["outside"] == (~inside).sum()
    voxels = np.floor(places + 0.5).astype(int)
    held = ((voxels >= 0) & (voxels <= top)).all(axis=0)
    np.testing.assert_array_equal(found["label"][held], labels[tuple(voxels[:, held])])
    assert (found["label"][~held] == 999).all()


def test_errors_have_their_classes(bundled: Bundled, tmp_path: Path) -> None:
    store = tmp_path / "points.zarrvectors"
    shutil.copytree(bundled("points_bins"), store)
    image = volume(tmp_path / "image.zarr", np.zeros((4, 4, 4), dtype=np.float32))
    with pytest.raises(zvf.IoError):
        zvf.sample(store, tmp_path / "none.zarr", "v")
    with pytest.raises(zvf.MisuseError, match="shape"):
        zvf.sample(store, image, "v", affine=np.ones((3, 3)))
    with pytest.raises(zvf.MisuseError, match="no objects to measure"):
        zvf.group_ends(store, "net", image)
    with pytest.raises(zvf.MisuseError, match="^order: found"):
        zvf.sample(store, image, "v", order="cubic")  # type: ignore[arg-type]
    zvf.sample(store, image, "v", outside=float("nan"))
    with pytest.raises(zvf.MisuseError):
        zvf.sample(store, image, "v")
    assert zvf.sample(store, image, "v", replace=True)["attribute"] == "v"


def test_groups_are_those_of_the_labels_at_both_ends(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 4, (6, 5, 7)).astype(np.int16)
    affine = np.array([[4.0, 0, 0, 2], [0, 4, 0, 2], [0, 0, 4, 2], [0, 0, 0, 1]])
    tracks = {int(number): rng.random((rng.integers(2, 9), 3)) * [26, 22, 30] for number in range(10, 300)}
    table, store = tmp_path / "t.csv", tmp_path / "t.zarrvectors"
    rows = [f"{number},{','.join(map(repr, map(float, point)))}" for number, points in tracks.items() for point in points]
    table.write_text("\n".join(["id,x,y,z", *rows]))
    zvf.import_(store, table, kind="streamline", object_column="id")
    done = zvf.group_ends(store, "net", volume(tmp_path / "labels.zarr", labels), affine=affine, matrix=tmp_path / "m.csv")
    expected: dict[tuple[int, int], list[int]] = {}
    for number, points in tracks.items():
        voxels = np.floor((points[[0, -1]] - 2) / 4 + 0.5).astype(int)
        inside = ((voxels >= 0) & (voxels < labels.shape)).all(axis=1)
        ends = sorted(int(labels[tuple(voxel)]) if held else 0 for voxel, held in zip(voxels, inside, strict=True))
        if ends[0] != 0:
            expected.setdefault((ends[0], ends[1]), []).append(number)
    assert done["groups"] == len(expected) and done["grouped"] == sum(map(len, expected.values()))
    matrix = np.genfromtxt(tmp_path / "m.csv", delimiter=",", names=True)
    found = zip(matrix["label_a"], matrix["label_b"], matrix["count"], matrix["mean_length"], strict=True)
    for (a, b, count, length), (pair, ids) in zip(found, sorted(expected.items()), strict=True):
        assert (a, b, count) == (*pair, len(ids))
        lengths = [np.linalg.norm(np.diff(tracks[number], axis=0), axis=1).sum() for number in ids]
        assert length == pytest.approx(np.mean(lengths), rel=1e-5)
        members = zvf.open(store).query(groups=[f"net/{pair[0]}-{pair[1]}"]).read()
        assert members.objects["object_id"].tolist() == ids
    with pytest.raises(zvf.MisuseError, match="--replace"):
        zvf.group_ends(store, "net", tmp_path / "labels.zarr", affine=affine)
    assert zvf.group_ends(store, "net", tmp_path / "labels.zarr", affine=affine, replace=True)["groups_replaced"] == len(expected)
