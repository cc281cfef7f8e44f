"""The reader of napari, found and called by npe2 as napari does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from npe2 import io_utils
from npe2._pytest_plugin import TestPluginManager as Plugins

import zvf

Bundled = Callable[[str], Path]


@pytest.fixture
def plugins(npe2pm: Plugins) -> Iterator[Plugins]:
    """npe2 with no other plugin than ours, as its own tests set it up."""
    with npe2pm.tmp_plugin(package="zvf"):
        yield npe2pm


def layer(plugins: Plugins, bundled: Bundled, name: str, tmp_path: Path) -> tuple[Any, dict[str, Any], str]:
    path = tmp_path / f"{name}.zarrvectors"
    os.symlink(bundled(name), path, target_is_directory=True)
    found, reader = io_utils._read([str(path)], stack=False, return_reader=True, _pm=plugins)
    assert reader.command == "zvf.read"
    assert len(found) == 1
    return found[0]


def rows(array: Any) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.asarray(array).reshape(len(array), -1).tolist()))


def test_points(plugins: Plugins, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    places, terms, kind = layer(plugins, bundled, "real_synapses", tmp_path)
    assert kind == "points"
    # napari counts axes from the slowest one.
    assert rows(places) == rows(truth["positions"][:, ::-1])
    assert terms["features"]["confidence"].sum() == pytest.approx(truth["attr_confidence"].sum())
    assert terms["size"] > 0


def test_lines_are_vectors(plugins: Plugins, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("skeleton").parent / "truth.npz")
    vectors, terms, kind = layer(plugins, bundled, "skeleton", tmp_path)
    assert kind == "vectors"
    ends = truth["positions"][:, ::-1][truth["edges"]]
    lengths = np.linalg.norm(np.asarray(vectors)[:, 1], axis=1)
    np.testing.assert_allclose(np.sort(lengths), np.sort(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)), rtol=1e-5)
    assert terms["metadata"]["level"] == 0


def test_meshes_are_surfaces(plugins: Plugins, bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    (places, faces), _, kind = layer(plugins, bundled, "mesh", tmp_path)
    assert kind == "surface"
    theirs = np.linalg.det(truth["positions"].astype(np.float64)[truth["faces"]])
    # Two axes exchanged: a mirror image.
    np.testing.assert_allclose(np.sort(np.linalg.det(places.astype(np.float64)[faces])), np.sort(-theirs), rtol=1e-4, atol=1e-3)


def test_the_level_fits_the_budget(
    plugins: Plugins, bundled: Bundled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZVF_NAPARI_VERTICES", "1000")
    _, terms, _ = layer(plugins, bundled, "real_synapses", tmp_path)
    # Level 0 has 2,705 vertices.
    assert terms["metadata"]["level"] == 1


def test_other_files_are_left_to_others(plugins: Plugins, tmp_path: Path) -> None:
    (tmp_path / "image.tif").write_bytes(b"II*\0")
    with pytest.raises(ValueError, match="No compatible readers"):
        io_utils._read([str(tmp_path / "image.tif")], stack=False, return_reader=True, _pm=plugins)


@pytest.mark.parametrize(
    ("axes", "order"), [("txyz", [0, 3, 2, 1]), ("txy", [0, 2, 1]), ("xy", [1, 0]), ("zyx", [0, 1, 2])]
)
def test_axes_before_x_stay_the_first_ones(tmp_path: Path, axes: str, order: list[int]) -> None:
    from zvf import _napari

    places = np.arange(2.0 * len(axes)).reshape(2, -1)
    url = tmp_path / "a.zarrvectors"
    zvf.write(url, kind="point_cloud", positions=places, axes=list(axes), chunk_shape=[100] * len(axes))
    assert rows(_napari.read(str(url))[0][0]) == rows(places[:, order])
