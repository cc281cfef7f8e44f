"""Geometry of pyvista and Open3D, judged by trimesh and by the arrays that the stores were made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import open3d
import pytest
import pyvista
import trimesh

import zvf

Bundled = Callable[[str], Path]


def test_meshes(bundled: Bundled) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    theirs = trimesh.Trimesh(truth["positions"], truth["faces"], process=False)
    answer = zvf.open(bundled("mesh")).query().read()
    surface = answer.to_pyvista()
    assert isinstance(surface, pyvista.PolyData)
    assert surface.n_faces_strict == len(theirs.faces)
    assert surface.area == pytest.approx(theirs.area, rel=1e-5)
    assert surface.is_manifold == theirs.is_watertight
    triangles = answer.to_open3d()
    assert triangles.get_surface_area() == pytest.approx(theirs.area, rel=1e-5)
    assert triangles.is_watertight() == theirs.is_watertight


def test_lines(bundled: Bundled) -> None:
    truth = np.load(bundled("graph").parent / "truth.npz")
    ends = truth["positions"][truth["edges"]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    answer = zvf.open(bundled("graph")).query().read()
    lines = answer.to_pyvista()
    assert lines.n_lines == len(truth["edges"])
    assert lines.length == pytest.approx(np.linalg.norm(np.ptp(truth["positions"], axis=0)), rel=1e-5)
    sizes = lines.compute_cell_sizes()["Length"]
    np.testing.assert_allclose(np.sort(sizes), np.sort(lengths), rtol=1e-4)
    # Values of links stay with their link.
    by_weight = np.argsort(lines.cell_data["weight"])
    np.testing.assert_allclose(sizes[by_weight], lengths[np.argsort(truth["link_weight"])], rtol=1e-4)
    found = answer.to_open3d()
    assert isinstance(found, open3d.geometry.LineSet)
    corners = np.asarray(found.points)[np.asarray(found.lines)]
    np.testing.assert_allclose(np.sort(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)), np.sort(lengths), rtol=1e-5)


def test_points(bundled: Bundled) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    answer = zvf.open(bundled("real_synapses")).query().read()
    cloud = answer.to_pyvista()
    np.testing.assert_allclose(cloud.points.mean(axis=0), truth["positions"].mean(axis=0), rtol=1e-5)
    order, theirs = np.lexsort(cloud.points.T), np.lexsort(truth["positions"].T)
    np.testing.assert_array_equal(
        np.sort(cloud.point_data["confidence"][order]), np.sort(truth["attr_confidence"][theirs])
    )
    points = answer.to_open3d()
    np.testing.assert_allclose(points.get_center(), truth["positions"].mean(axis=0), rtol=1e-5)
