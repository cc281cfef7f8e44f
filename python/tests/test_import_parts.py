"""`zvf import` in parts, as tasks of a job array would run it: together they make the store of one import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zvf

OPTIONS = ["--chunk-shape", "10,10,10", "--bounds", "0,0,0:99.9999,9.9999,9.9999"]


def program(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "zvf", "import", *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def tiles(tmp_path: Path) -> list[Path]:
    """Tables of points, each of other chunks."""
    rng = np.random.default_rng(9)
    made = []
    for number in range(4):
        places = np.round(rng.uniform((25 * number // 10 * 10, 0, 0), (25 * number // 10 * 10 + 9.9, 9.9, 9.9), (300, 3)), 3)
        lines = [f"{x},{y},{z},{row + 1000 * number}" for row, (x, y, z) in enumerate(places.tolist())]
        made.append(tmp_path / f"tile-{number}.csv")
        made[-1].write_text("\n".join(["x,y,z,id", *lines]))
    return made


def test_parts_are_one_store(tmp_path: Path, tiles: list[Path]) -> None:
    store = tmp_path / "all.zarrvectors"
    assert program(tiles[0], store, "--begin", *OPTIONS).returncode == 0
    # In any order, as tasks end; one of them twice is an error of that task, and changes nothing.
    for number in (2, 0, 3):
        assert program(tiles[number], store, "--part", f"tile-{number}", *OPTIONS).returncode == 0
    again = program(tiles[3], store, "--part", "tile-3", *OPTIONS)
    assert again.returncode == 2 and "finished before" in again.stderr
    same = program(tiles[3], store, "--part", "other", *OPTIONS)
    assert same.returncode == 2 and "both have vertices" in same.stderr
    found = program(tiles[1], store, "--part", "tile-1", "--json", *OPTIONS)
    assert json.loads(found.stdout) == {"store": str(store), "step": "part tile-1", "vertices": 300, "chunks": 1}
    with pytest.raises(zvf.Error):
        zvf.open(store)
    done = program(tiles[0], store, "--commit", *OPTIONS)
    assert done.returncode == 0 and "committed, 1" in done.stdout and "200 vertices, 4 chunks" in done.stdout, done.stdout + done.stderr
    ids = np.sort(zvf.open(store).query(columns=["id"]).to_numpy()["id"])
    assert ids.tolist() == sorted(row + 1000 * number for number in range(4) for row in range(300))
    assert zvf.validate(store, depth=5).ok


def test_steps_that_cannot_be_are_told(tmp_path: Path, tiles: list[Path]) -> None:
    store = tmp_path / "all.zarrvectors"
    for words, text in [
        (["--begin"], "--bounds"),
        (["--part", "a", "--commit", *OPTIONS], "--commit"),
        (["--bounds", "0,0,0:1,1,1"], "--begin"),
        (["--part", "a", *OPTIONS], "no store was begun"),
        (["--begin", "--chunk-shape", "10,10,10", "--bounds", "0,0:9,9"], "found 2 axes, expected 3"),
        (["--begin", "--chunk-shape", "10,10,10", "--bounds", "9,9,9:0,0,0"], "--bounds"),
    ]:
        found = program(tiles[0], store, *words)
        assert found.returncode == 2 and text in found.stderr, found.stderr
    assert program(tiles[0], store, "--begin", *OPTIONS).returncode == 0
    # Another description than that which was begun.
    other = program(tiles[0], store, "--part", "a", "--chunk-shape", "5,5,5", "--bounds", "0,0,0:99,9,9")
    assert other.returncode == 2 and "another specification" in other.stderr
    none = program(tiles[0], store, "--commit", *OPTIONS)
    assert none.returncode != 0 and "parts" in none.stderr
