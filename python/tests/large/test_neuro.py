"""Tractograms of dipy and neurons of navis, judged by what those packages read from the files that the stores were made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import navis
import numpy as np
import pytest
import trimesh
from dipy.io.stateful_tractogram import Origin, Space
from dipy.io.streamline import load_tractogram

import zvf

Bundled = Callable[[str], Path]


@pytest.mark.parametrize("space", ["rasmm", "voxelmm"])
def test_tractograms_of_dipy(real: Path, tmp_path: Path, space: str) -> None:
    theirs = load_tractogram(str(real / "tracks300.trk"), "same", bbox_valid_check=False)
    url = tmp_path / "store.zarrvectors"
    zvf.import_(url, real / "tracks300.trk", space=space)
    ours = zvf.open(url).get(range(300)).to_dipy()
    assert (ours.space, ours.origin) == (Space.RASMM, Origin.NIFTI)
    np.testing.assert_allclose(ours.affine, theirs.affine)
    np.testing.assert_array_equal(ours.dimensions, theirs.dimensions)
    for line, one in zip(ours.streamlines, theirs.streamlines, strict=True):
        np.testing.assert_allclose(line, one, atol=1e-4)
    ours.to_vox()
    theirs.to_vox()
    np.testing.assert_allclose(ours.streamlines[7], theirs.streamlines[7], atol=1e-4)


def test_a_store_without_a_grid_needs_a_reference(bundled: Bundled, real: Path) -> None:
    found = zvf.open(bundled("real_tractogram")).get([4, 0])
    with pytest.raises(zvf.MisuseError, match="reference"):
        found.to_dipy()
    theirs = load_tractogram(str(real / "tracks300.trk"), "same", bbox_valid_check=False)
    ours = found.to_dipy(str(real / "tracks300.trk"))
    # Every second line of the file is in the store.
    np.testing.assert_allclose(ours.streamlines[0], theirs.streamlines[8], atol=1e-4)
    np.testing.assert_array_equal(ours.data_per_streamline["length"][:, 0], [len(theirs.streamlines[8]), len(theirs.streamlines[0])])


def test_trees_of_navis(real: Path, tmp_path: Path) -> None:
    theirs = navis.read_swc(real / "1734350788.swc")
    url = tmp_path / "neuron.zarrvectors"
    zvf.import_(url, real / "1734350788.swc", unit="nanometer")
    found = zvf.open(url).get([1734350788]).to_navis()
    assert isinstance(found, navis.NeuronList) and len(found) == 1
    ours = found[0]
    assert isinstance(ours, navis.TreeNeuron)
    assert (ours.n_nodes, ours.n_branches, ours.n_leafs, ours.n_trees) == (
        theirs.n_nodes,
        theirs.n_branches,
        theirs.n_leafs,
        theirs.n_trees,
    )
    assert ours.cable_length == pytest.approx(theirs.cable_length, rel=1e-5)
    assert ours.nodes.radius.sum() == pytest.approx(theirs.nodes.radius.sum(), rel=1e-5)
    assert str(ours.units) == "1 nanometer"


def test_meshes_of_navis(bundled: Bundled) -> None:
    truth = np.load(bundled("real_mesh").parent / "truth.npz")
    theirs = trimesh.Trimesh(truth["positions"], truth["faces"], process=False)
    (ours,) = zvf.open(bundled("real_mesh")).get([0]).to_navis()
    assert isinstance(ours, navis.MeshNeuron)
    assert ours.n_faces == len(theirs.faces)
    assert ours.trimesh.area == pytest.approx(theirs.area, rel=1e-5)
    assert ours.volume == pytest.approx(theirs.volume, rel=1e-4)


def test_several_neurons_keep_their_ids(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    places = rng.uniform(0, 100, (9, 3)).astype(np.float32)
    # A path of four, and a fork of five.
    links = np.array([[1, 0], [2, 1], [3, 2], [5, 4], [6, 5], [7, 5], [8, 7]])
    url = tmp_path / "two.zarrvectors"
    zvf.write(
        url,
        kind="skeleton",
        positions=places,
        offsets=[0, 4, 9],
        object_ids=[70, 20],
        links=links,
        attributes={"radius": np.ones(9, dtype=np.float32)},
        chunk_shape=[30.0] * 3,
    )
    found = zvf.open(url).get([20, 70]).to_navis()
    assert found.id.tolist() == [20, 70]
    assert [one.n_nodes for one in found] == [5, 4]
    assert [one.n_branches for one in found] == [1, 0]
    lengths = np.linalg.norm(places[links[:, 0]] - places[links[:, 1]], axis=1)
    assert [one.cable_length for one in found] == pytest.approx([lengths[3:].sum(), lengths[:3].sum()], rel=1e-5)
    with pytest.raises(zvf.MisuseError):
        zvf.open(url).query().read().to_trimesh()
