"""Geometry of Open3D, judged by trimesh and by the arrays that the stores were made from. It needs the system's libusb-1.0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import open3d
import pytest
import trimesh

import zvf

Bundled = Callable[[str], Path]


def test_meshes(bundled: Bundled) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    theirs = trimesh.Trimesh(truth["positions"], truth["faces"], process=False)
    triangles = zvf.open(bundled("mesh")).query().read().to_open3d()
    assert isinstance(triangles, open3d.geometry.TriangleMesh)
    assert triangles.get_surface_area() == pytest.approx(theirs.area, rel=1e-5)
    assert triangles.is_watertight() == theirs.is_watertight


def test_lines(bundled: Bundled) -> None:
    truth = np.load(bundled("graph").parent / "truth.npz")
    ends = truth["positions"][truth["edges"]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    lines = zvf.open(bundled("graph")).query().read().to_open3d()
    assert isinstance(lines, open3d.geometry.LineSet)
    corners = np.asarray(lines.points)[np.asarray(lines.lines)]
    found = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    np.testing.assert_allclose(np.sort(found), np.sort(lengths), rtol=1e-5)


def test_points(bundled: Bundled) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    points = zvf.open(bundled("real_synapses")).query().read().to_open3d()
    assert isinstance(points, open3d.geometry.PointCloud)
    np.testing.assert_allclose(points.get_center(), truth["positions"].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(points.get_max_bound(), truth["positions"].max(axis=0))
