"""Voxels of volumes as regions, judged by nibabel and NumPy; convex hulls, by SciPy."""

from __future__ import annotations

import pickle
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


def test_hulls_are_those_of_scipy(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    places = store.query(columns=["position"]).to_numpy()["position"].astype(np.float64)
    random = np.random.default_rng(12)
    for _ in range(6):
        points = random.uniform(places.min(axis=0), places.max(axis=0), size=(int(random.integers(4, 40)), 3))
        inside = Delaunay(points).find_simplex(places) >= 0
        assert store.query(hull=points).read().summary["vertices"] == int(inside.sum())


def test_what_is_no_mask_is_refused(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    zeros, ones = np.zeros((2, 2, 2)), np.ones((2, 2, 2))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mask": (zeros, np.eye(4))}, "no element"),
        ({"mask": (np.full((2, 2, 2), np.nan), np.eye(4))}, "no element"),
        ({"mask": (ones, np.eye(4)), "labels": 7}, "no element is 7"),
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
