"""Voxels of volumes as regions, judged by nibabel and NumPy; convex hulls, by SciPy."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from scipy.spatial import Delaunay

import zvf

Bundled = Callable[[str], Path]


def nearest(affine: np.ndarray, places: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The labels of the voxels around places; 0 outside of the volume."""
    voxels = np.floor(nib.affines.apply_affine(np.linalg.inv(affine), places) + 0.5).astype(int)
    inside = ((voxels >= 0) & (voxels < labels.shape)).all(axis=1)
    found = np.zeros(len(places), dtype=labels.dtype)
    found[inside] = labels[tuple(voxels[inside].T)]
    return found


def test_masks_are_those_of_nibabel(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    table = store.query(columns=["position", "object_id"]).to_numpy()
    places, ids = table["position"].astype(np.float64), table["object_id"]
    random = np.random.default_rng(11)
    for number in range(4):
        shape = tuple(random.integers(4, 12, size=3))
        labels = random.integers(0, 5, size=shape).astype(np.uint8)
        # Rotated, sheared and mirrored, around the middle of the store.
        affine = np.eye(4)
        affine[:3, :3] = np.linalg.qr(random.normal(size=(3, 3)))[0] @ np.diag(random.uniform(5, 25, size=3)) + random.normal(size=(3, 3))
        affine[:3, 3] = places.mean(axis=0) - affine[:3, :3] @ (np.array(shape) / 2)
        affine = affine.astype(np.float32).astype(np.float64)
        image = nib.Nifti1Image(labels, affine)
        file = tmp_path / f"{number}.nii.gz"
        nib.save(image, file)
        found = nearest(affine, places, labels)
        for wanted in (None, 3, [1, 4]):
            inside = found != 0 if wanted is None else np.isin(found, wanted)
            for mask in (file, (file, affine), (labels, affine), (labels, affine[:3])):
                query = store.query(mask=mask, labels=wanted, columns=["position"])
                assert query.read().summary["vertices"] == int(inside.sum())
                assert pickle.loads(pickle.dumps(query)) == query
        first, second = (set(ids[found == label]) for label in (1, 2))
        a, b = (f"mask(@`{file}`, {label})" for label in (1, 2))
        for passing, expected in ((f"{a} and {b}", first & second), ([a, b], first & second), (f"{a} and not {b}", first - second)):
            assert set(store.query(passing=passing).read().objects["object_id"].tolist()) == expected


def test_a_question_finds_its_files_from_another_directory(bundled: Bundled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = zvf.open(bundled("streamlines"))
    places = store.query(columns=["position"]).to_numpy()["position"].astype(np.float64)
    affine = np.diag([10.0, 10.0, 10.0, 1.0])
    affine[:3, 3] = places.mean(axis=0) - 20
    nib.save(nib.Nifti1Image(np.ones((4, 4, 4), dtype=np.uint8), affine), tmp_path / "roi.nii")
    low, high = places.min(axis=0), places.mean(axis=0)
    corners = [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    (tmp_path / "roi.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners))
    outline = {"type": "Polygon", "coordinates": [[[x, y] for x, y, _ in (corners[0], corners[2], corners[6], corners[4], corners[0])]]}
    (tmp_path / "roi.json").write_text(json.dumps(outline))
    monkeypatch.chdir(tmp_path)
    for terms in ({"mask": "roi.nii"}, {"hull": "roi.obj"}, {"polygon": "roi.json"}):
        query = store.query(columns=["position"], **terms)
        text, rows = pickle.dumps(query), query.read().summary["vertices"]
        splits = query.splits(rows=1 << 20)
        assert rows > 0
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir("/")
            assert pickle.loads(text).read().summary["vertices"] == rows
            assert sum(split.read().summary["vertices"] for split in splits) == rows


def turned(places: np.ndarray, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """A rotated affine around the middle of places, of numbers that float32 has."""
    affine = np.eye(4)
    affine[:3, :3] = np.linalg.qr(random.normal(size=(3, 3)))[0] @ np.diag(random.uniform(5, 25, size=3))
    affine[:3, 3] = places.mean(axis=0) - affine[:3, :3] @ (np.array(shape) / 2)
    return affine.astype(np.float32).astype(np.float64)


def test_masks_of_freesurfer_and_of_tet(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    places = store.query(columns=["position"]).to_numpy()["position"].astype(np.float64)
    random = np.random.default_rng(21)
    shape = (9, 7, 8)
    labels = random.integers(0, 5, size=shape).astype(np.uint8)
    # A file of FreeSurfer states its affine, one of TET states none.
    freesurfer, image, tet = (tmp_path / name for name in ("labels.mgz", "labels.nii", "labels.tet"))
    nib.save(nib.MGHImage(labels, turned(places, shape, random)), freesurfer)
    affine = nib.load(freesurfer).affine
    nib.save(nib.Nifti1Image(labels, affine), image)
    subprocess.run([sys.executable, "-P", "-m", "zvf", "volume", "convert", image, tet], check=True, capture_output=True)
    found = nearest(affine, places, labels)
    for wanted in (None, 3, [1, 4]):
        inside = int((found != 0 if wanted is None else np.isin(found, wanted)).sum())
        assert 0 < inside < len(places)
        for mask in (freesurfer, (freesurfer, affine), (tet, affine)):
            assert store.query(mask=mask, labels=wanted).read().summary["vertices"] == inside, mask


def test_masks_of_ome_zarr_are_placed_by_the_names_of_their_axes(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    places = store.query(columns=["position"]).to_numpy()["position"].astype(np.float64)
    random = np.random.default_rng(22)
    shape = {"z": 5, "y": 9, "x": 7}
    low, high = places.min(axis=0), places.max(axis=0)
    scale = {name: float((high - low)["xyz".index(name)] / count) for name, count in shape.items()}
    start = {name: float(low["xyz".index(name)] + scale[name] * 0.7) for name in shape}
    labels = random.integers(0, 4, size=tuple(shape.values())).astype(np.uint8)
    image = tmp_path / "labels.ome.zarr"
    (image / "0" / "c" / "0" / "0").mkdir(parents=True)
    transformations = [{"type": kind, kind: list(numbers.values())} for kind, numbers in (("scale", scale), ("translation", start))]
    level = {"path": "0", "coordinateTransformations": transformations}
    axes = [{"name": name, "type": "space"} for name in shape]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [level]}]}
    (image / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}}))
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": labels.shape,
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": labels.shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
    }
    (image / "0" / "zarr.json").write_text(json.dumps(array))
    (image / "0" / "c" / "0" / "0" / "0").write_bytes(labels.tobytes())
    # The centre of element i is at start + scale * i, on the axis of the same name.
    at = {name: np.floor((places[:, "xyz".index(name)] - start[name]) / scale[name] + 0.5).astype(int) for name in shape}
    inside = np.all([(at[name] >= 0) & (at[name] < count) for name, count in shape.items()], axis=0)
    found = np.where(inside, labels[tuple(np.where(inside, at[name], 0) for name in shape)], 0)
    for wanted in (None, 2, [1, 3]):
        expected = int((found != 0 if wanted is None else np.isin(found, wanted)).sum())
        assert 0 < expected < len(places)
        assert store.query(mask=image, labels=wanted).read().summary["vertices"] == expected


def test_masks_meet_tractograms_in_scanner_millimetres_whatever_is_stored(real: Path, tmp_path: Path) -> None:
    lines = nib.streamlines.load(real / "tracks300.trk").streamlines
    places = lines.get_data().astype(np.float64)
    random = np.random.default_rng(23)
    shape = (8, 9, 7)
    labels = random.integers(0, 4, size=shape).astype(np.uint8)
    mask = tmp_path / "labels.nii.gz"
    affine = turned(places, shape, random)
    nib.save(nib.Nifti1Image(labels, affine), mask)
    found = nearest(affine, places, labels)
    # Without points so near to a border of voxels that the float32 of another frame decides.
    voxels = nib.affines.apply_affine(np.linalg.inv(affine), places) + 0.5
    unsure = int((np.abs(voxels - np.round(voxels)).min(axis=1) < 1e-4).sum())
    assert unsure < len(places) // 500
    for space in ("rasmm", "voxelmm"):
        url = tmp_path / f"{space}.zarrvectors"
        zvf.import_(url, real / "tracks300.trk", space=space)
        for wanted in (None, 2, [1, 3]):
            expected = int((found != 0 if wanted is None else np.isin(found, wanted)).sum())
            assert 100 < expected < len(places)
            assert abs(zvf.open(url).query(mask=mask, labels=wanted).read().summary["vertices"] - expected) <= unsure


def test_hulls_are_those_of_scipy(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    places = store.query(columns=["position"]).to_numpy()["position"].astype(np.float64)
    random = np.random.default_rng(12)
    for _ in range(6):
        points = random.uniform(places.min(axis=0), places.max(axis=0), size=(int(random.integers(4, 40)), 3))
        inside = Delaunay(points).find_simplex(places) >= 0
        assert store.query(hull=points).read().summary["vertices"] == int(inside.sum())


def test_labels_are_numbers_or_a_text_and_masked_elements_belong_to_none(tmp_path: Path) -> None:
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    zvf.write(tmp_path / "s", kind="point_cloud", positions=places, attributes={"n": np.arange(27)}, chunk_shape=[2.0] * 3)
    labels = np.arange(27, dtype=np.uint16).reshape(3, 3, 3)
    nib.save(nib.Nifti1Image(labels, np.eye(4)), tmp_path / "labels.nii")
    store = zvf.open(tmp_path / "s")

    def found(mask: Any, labels: Any) -> list[int]:
        return sorted(store.query(mask=mask, labels=labels).to_numpy()["n"].tolist())

    for mask in ((labels, np.eye(4)), tmp_path / "labels.nii"):
        assert found(mask, "12") == found(mask, np.int64(12)) == found(mask, [12]) == [12]
        assert found(mask, "3, 9-11") == found(mask, "3 9-11") == found(mask, "3,,9-11") == found(mask, np.array([3, 9, 10, 11])) == [3, 9, 10, 11]
        # Of a range, labels without a voxel are left out.
        assert found(mask, "25-2000,-9-0") == [0, 25, 26]
        with pytest.raises(zvf.MisuseError, match="no element is 27-2000"):
            found(mask, "3,27-2000")
        query = store.query(mask=mask, labels=5)
        if isinstance(mask, tuple):
            with pytest.raises(zvf.MisuseError, match="array of another query"):
                query.replace(labels=6)
        else:
            assert query.replace(labels=6).to_numpy()["n"].tolist() == [6]
    halves = (labels / 2).astype(np.float32)
    assert found((halves, np.eye(4)), "3-5") == [6, 8, 10]
    assert found((labels > 20, np.eye(4)), "1-300") == list(range(21, 27))
    far = labels.astype(np.uint64) + np.uint64(2**60)
    assert found((far, np.eye(4)), 2**60 + 7) == [7]
    masked = (np.ma.MaskedArray(labels, mask=labels > 5), np.eye(4))
    assert found(masked, None) == [1, 2, 3, 4, 5]
    with pytest.raises(zvf.MisuseError, match="no element is 6"):
        found(masked, 6)


def test_what_is_no_mask_is_refused(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    zeros, ones = np.zeros((2, 2, 2)), np.ones((2, 2, 2))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mask": (zeros, np.eye(4))}, "no element"),
        ({"mask": (np.full((2, 2, 2), np.nan), np.eye(4))}, "no element"),
        ({"mask": (ones, np.eye(4)), "labels": 7}, "no element is 7"),
        ({"mask": (ones, np.eye(4)), "labels": [2.7]}, "labels: found"),
        ({"mask": (ones, np.eye(4)), "labels": {1: 2}}, "labels: found"),
        ({"mask": (ones, np.eye(4)), "labels": b"1"}, "labels: found"),
        ({"mask": (ones, np.eye(4)), "labels": "1,x"}, "labels: found"),
        ({"mask": (ones, np.eye(4)), "labels": "1,5-3"}, "labels: found"),
        ({"mask": (ones.astype(str), np.eye(4))}, "expected numbers"),
        ({"mask": tmp_path / "none.nii", "labels": [2**63]}, "labels: found 9223372036854775808"),
        ({"mask": (ones, np.eye(3))}, "affine"),
        ({"mask": (np.ones((2, 2)), np.eye(3))}, "array of 2 axes"),
        ({"mask": (ones, None)}, "expected an array and its affine"),
        ({"labels": 7}, "without a mask"),
        ({"hull": np.zeros((5, 3))}, "one point, repeated"),
        ({"passing": "sphere(1)"}, "passing|sphere"),
    ]
    for terms, words in cases:
        with pytest.raises(zvf.MisuseError, match=words):
            store.query(**terms).read()
    with pytest.raises(zvf.Error, match="none.nii"):
        store.query(mask=tmp_path / "none.nii").read()
