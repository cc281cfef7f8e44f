"""Geometry of pyvista, judged by trimesh and by the arrays that the stores were made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import pyvista
import trimesh

import zvf

Bundled = Callable[[str], Path]


def test_meshes(bundled: Bundled) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    theirs = trimesh.Trimesh(truth["positions"], truth["faces"], process=False)
    surface = zvf.open(bundled("mesh")).query().read().to_pyvista()
    assert isinstance(surface, pyvista.PolyData)
    assert surface.n_faces_strict == len(theirs.faces)
    assert surface.area == pytest.approx(theirs.area, rel=1e-5)
    assert surface.is_manifold == theirs.is_watertight


def test_lines(bundled: Bundled) -> None:
    truth = np.load(bundled("graph").parent / "truth.npz")
    ends = truth["positions"][truth["edges"]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    lines = zvf.open(bundled("graph")).query().read().to_pyvista()
    assert lines.n_lines == len(truth["edges"])
    sizes = lines.compute_cell_sizes()["Length"]
    # Values of links stay with their link.
    by_weight = np.argsort(lines.cell_data["weight"])
    np.testing.assert_allclose(sizes[by_weight], lengths[np.argsort(truth["link_weight"])], rtol=1e-4)


def test_points(bundled: Bundled) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    cloud = zvf.open(bundled("real_synapses")).query().read().to_pyvista()
    ours = np.column_stack([cloud.points, cloud.point_data["confidence"]])
    theirs = np.column_stack([truth["positions"], truth["attr_confidence"]])
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
