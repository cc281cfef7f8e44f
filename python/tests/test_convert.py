"""Objects of other packages, judged by what those packages say of the arrays that a store was made from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import networkx
import nibabel
import numpy as np
import pytest
import trimesh

import zvf

Bundled = Callable[[str], Path]
DOCS = Path(__file__).parents[2] / "docs" / "python.md"


def test_tractograms_of_nibabel(bundled: Bundled, real: Path, tmp_path: Path) -> None:
    theirs = nibabel.streamlines.load(real / "tracks300.trk").streamlines[::2]
    found = zvf.open(bundled("real_tractogram")).get(range(150))
    lines = found.to_nibabel()
    assert len(lines) == 150
    assert np.shares_memory(lines[3], found.positions)
    for ours, line in zip(lines, theirs, strict=True):
        np.testing.assert_array_equal(ours, line)
    # nibabel can save it, and what it saves has the same lines.
    file = tmp_path / "out.tck"
    nibabel.streamlines.save(found.to_tractogram(), file)
    for ours, line in zip(nibabel.streamlines.load(file).streamlines, theirs, strict=True):
        np.testing.assert_allclose(ours, line, atol=1e-5)
    lengths = found.to_tractogram().data_per_streamline["length"]
    np.testing.assert_array_equal(lengths[:, 0], found.object_attributes["length"])


def test_tractograms_are_in_the_space_that_the_store_states(real: Path, tmp_path: Path) -> None:
    theirs = nibabel.streamlines.load(real / "tracks300.trk").streamlines
    for space in ("rasmm", "voxelmm"):
        url = tmp_path / f"{space}.zarrvectors"
        zvf.import_(url, real / "tracks300.trk", space=space)
        found = zvf.open(url).get(range(300))
        if space == "voxelmm":
            # Half a voxel of 1 mm away: the corner of the first voxel, not its centre.
            np.testing.assert_allclose(found[5] - 0.5, theirs[5], atol=1e-5)
        lines = found.to_tractogram().to_world().streamlines
        np.testing.assert_allclose(lines.get_data(), theirs.get_data(), atol=1e-5)


def test_tractograms_keep_values_of_points(bundled: Bundled) -> None:
    found = zvf.open(bundled("streamlines")).get([2, 0])
    values = found.to_tractogram().data_per_point["fa"]
    np.testing.assert_array_equal(values[1][:, 0], zvf.open(bundled("streamlines")).get([0]).attributes["fa"])


def test_links_can_be_left_out(bundled: Bundled) -> None:
    truth = np.load(bundled("skeleton").parent / "truth.npz")
    store = zvf.open(bundled("skeleton"))
    assert store.get([0]).links is not None
    found = store.get([0], links=False)
    assert found.links is None and len(found.positions) == len(truth["positions"])
    answer = store.query().read(links=False)
    assert list(answer.tables) == ["vertices", "objects"]
    with pytest.raises(zvf.MisuseError):
        answer.to_networkx()


def test_graphs_of_networkx_and_scipy(bundled: Bundled) -> None:
    truth = np.load(bundled("graph").parent / "truth.npz")
    theirs = networkx.Graph()
    theirs.add_nodes_from(range(len(truth["positions"])))
    theirs.add_edges_from(truth["edges"].tolist())
    answer = zvf.open(bundled("graph")).query().read()
    ours = answer.to_networkx()

    def parts(graph: networkx.Graph) -> list[int]:
        return sorted(len(part) for part in networkx.connected_components(graph))

    assert parts(ours) == parts(theirs)
    places = truth["positions"]
    weights = {frozenset(map(tuple, places[ends].tolist())): weight for ends, weight in zip(truth["edges"], truth["link_weight"], strict=True)}
    for start, end, data in ours.edges(data=True):
        key = frozenset((tuple(ours.nodes[start]["position"]), tuple(ours.nodes[end]["position"])))
        assert data["weight"] == weights[key]
    matrix = answer.to_scipy("weight")
    assert matrix.shape == (len(places),) * 2
    assert matrix.sum() == pytest.approx(truth["link_weight"].sum(), rel=1e-5)
    with pytest.raises(zvf.MisuseError):
        answer.to_trimesh()


def test_parallel_links_make_a_multigraph(tmp_path: Path) -> None:
    places = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]], "f4")
    rest = {"kind": "graph", "chunk_shape": [9.0] * 3, "positions": places, "attributes": {"node_for_adding": [5, 6, 7]}}
    edges = {0: [[0, 1], [1, 2], [2, 2]], 1: [[0, 1], [1, 0], [2, 2], [0, 1]]}
    for parallel, links in edges.items():
        url = str(tmp_path / f"{parallel}.zarrvectors")
        zvf.write(url, links=links, link_attributes={"key": list(range(len(links)))}, **rest)
        answer = zvf.open(url).query().read()
        graph = answer.to_networkx()
        assert graph.is_multigraph() == bool(parallel) and not graph.is_directed()
        assert graph.number_of_edges() == len(links) == answer.to_scipy().nnz
        assert sorted(data["key"] for *_, data in graph.edges(data=True)) == list(range(len(links)))
        assert sorted(data["node_for_adding"] for _, data in graph.nodes(data=True)) == [5, 6, 7]


def test_meshes_of_trimesh(bundled: Bundled) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    theirs = trimesh.Trimesh(truth["positions"], truth["faces"], process=False)
    ours = zvf.open(bundled("mesh")).query().read().to_trimesh()
    assert ours.is_watertight == theirs.is_watertight
    assert ours.area == pytest.approx(theirs.area)
    assert ours.euler_number == theirs.euler_number


def test_a_skeleton_is_a_tree(bundled: Bundled) -> None:
    graph = zvf.open(bundled("real_skeleton")).query().read().to_networkx()
    assert networkx.is_tree(graph)


def test_the_examples_of_the_page(bundled: Bundled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 5
    os.symlink(bundled("real_tractogram"), tmp_path / "tracts.zarrvectors", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_coordinates_of_other_packages_are_x_y_and_z(tmp_path: Path) -> None:
    """Theirs have no names; of a store with axes z, y and x they were these."""
    places = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]], dtype=np.float32)
    turned = {"positions": places[:, ::-1], "axes": ["z", "y", "x"], "chunk_shape": [20.0] * 3}
    lines, mesh = tmp_path / "lines.zarrvectors", tmp_path / "mesh.zarrvectors"
    zvf.write(lines, kind="streamline", offsets=[0, 3], **turned)
    zvf.write(mesh, kind="mesh", offsets=[0, 3], links=[[0, 1, 2]], **turned)
    found = zvf.open(lines).get([0])
    np.testing.assert_array_equal(found.to_nibabel()[0], places)
    np.testing.assert_array_equal(found.to_tractogram().streamlines[0], places)
    np.testing.assert_array_equal(found.positions, places[:, ::-1])
    np.testing.assert_array_equal(zvf.open(mesh).query().read().to_trimesh().vertices, places)
