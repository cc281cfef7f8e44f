"""The reader of napari, found and called by npe2 as napari does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import npe2
import numpy as np
import pytest
from npe2 import io_utils

Bundled = Callable[[str], Path]


@pytest.fixture
def plugins() -> npe2.PluginManager:
    """npe2 with no other plugin than ours."""
    manager = npe2.PluginManager()
    manager.register(npe2.PluginManifest.from_distribution("zvf"))
    return manager


def layer(plugins: npe2.PluginManager, bundled: Bundled, name: str, tmp_path: Path) -> tuple[object, dict[str, object], str]:
    path = tmp_path / f"{name}.zarrvectors"
    os.symlink(bundled(name), path, target_is_directory=True)
    found, reader = io_utils._read([str(path)], stack=False, return_reader=True, _pm=plugins)
    assert reader.command == "zvf.read"
    assert len(found) == 1
    return found[0]


def rows(array: object) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.asarray(array).reshape(len(array), -1).tolist()))  # type: ignore[arg-type]


def test_points(plugins: npe2.PluginManager, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    places, terms, kind = layer(plugins, bundled, "real_synapses", tmp_path)
    assert kind == "points"
    # napari counts axes from the slowest one.
    assert rows(places) == rows(truth["positions"][:, ::-1])
    assert terms["features"]["confidence"].sum() == pytest.approx(truth["attr_confidence"].sum())
    assert terms["size"] > 0


def test_lines_are_vectors(plugins: npe2.PluginManager, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("skeleton").parent / "truth.npz")
    vectors, terms, kind = layer(plugins, bundled, "skeleton", tmp_path)
    assert kind == "vectors"
    ends = truth["positions"][:, ::-1][truth["edges"]]
    lengths = np.linalg.norm(np.asarray(vectors)[:, 1], axis=1)
    np.testing.assert_allclose(np.sort(lengths), np.sort(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)), rtol=1e-5)
    assert terms["metadata"]["level"] == 0


def test_meshes_are_surfaces(plugins: npe2.PluginManager, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    (places, faces), _, kind = layer(plugins, bundled, "mesh", tmp_path)
    assert kind == "surface"
    corners = truth["positions"][:, ::-1][truth["faces"]]
    assert rows(np.sort(places[faces].sum(axis=1), axis=1)) == pytest.approx(rows(np.sort(corners.sum(axis=1), axis=1)), rel=1e-4)


def test_the_level_fits_the_budget(
    plugins: npe2.PluginManager, bundled: Bundled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZVF_NAPARI_VERTICES", "1000")
    _, terms, _ = layer(plugins, bundled, "real_synapses", tmp_path)
    # Level 0 has 2,705 vertices.
    assert terms["metadata"]["level"] == 1


def test_other_files_are_left_to_others(plugins: npe2.PluginManager, tmp_path: Path) -> None:
    (tmp_path / "image.tif").write_bytes(b"II*\0")
    with pytest.raises(ValueError, match="No readers"):
        io_utils._read([str(tmp_path / "image.tif")], stack=False, return_reader=True, _pm=plugins)
