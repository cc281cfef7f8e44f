"""Bundled stores and files, unpacked for the tests."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

TESTDATA = Path(__file__).parents[2] / "testdata"


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a bundled store of 0.9, by its name. Tests do not change it."""
    root = tmp_path_factory.mktemp("bundled")

    def unpack(name: str) -> Path:
        folder = root / name
        if not folder.exists():
            with tarfile.open(TESTDATA / "zvf" / "0.9" / f"{name}.tar.gz") as archive:
                archive.extractall(root, filter="data")
        found = [path for path in folder.iterdir() if (path / "zarr.json").exists()]
        assert len(found) == 1
        return found[0]

    return unpack


@pytest.fixture(scope="session")
def real() -> Path:
    """Files that real programs wrote."""
    return TESTDATA / "real"
