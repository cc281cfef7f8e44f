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
    # A requeued task does no harm, whichever it is. Parts come in any order, as tasks end.
    again = program(tiles[0], store, "--begin", *OPTIONS)
    assert again.returncode == 0 and "begun before" in again.stdout
    for number in (2, 0, 3):
        assert program(tiles[number], store, "--part", f"tile-{number}", *OPTIONS).returncode == 0
    again = program(tiles[3], store, "--part", "tile-3", *OPTIONS)
    assert again.returncode == 0 and "finished before" in again.stdout
    other = program(tiles[1], store, "--part", "tile-3", *OPTIONS)
    assert other.returncode == 2 and "another input" in other.stderr and "--redo" in other.stderr
    same = program(tiles[3], store, "--part", "other", *OPTIONS)
    assert same.returncode == 2 and "both have vertices" in same.stderr
    found = program(tiles[1], store, "--part", "tile-1", "--json", *OPTIONS)
    assert json.loads(found.stdout) == {
        "store": str(store),
        "step": "part tile-1",
        "written": True,
        "vertices": 300,
        "chunks": 1,
        "objects": 0,
        "notes": [],
    }
    listed = json.loads(program(store, "--status", "--json").stdout)
    assert (listed["state"], listed["finished"], listed["begun"], listed["waiting"]) == ("begun", 4, 0, 0)
    assert [part["name"] for part in listed["parts"]] == ["tile-0", "tile-1", "tile-2", "tile-3"]
    assert all(part["finished"]["vertices"] == 300 for part in listed["parts"])
    with pytest.raises(zvf.Error):
        zvf.open(store)
    done = program(tiles[0], store, "--commit", *OPTIONS)
    assert done.returncode == 0 and "committed, 1" in done.stdout and "200 vertices, 4 chunks" in done.stdout, done.stdout + done.stderr
    ids = np.sort(zvf.open(store).query(columns=["id"]).to_numpy()["id"])
    assert ids.tolist() == sorted(row + 1000 * number for number in range(4) for row in range(300))
    assert zvf.validate(store, depth=5).ok


def test_declared_parts_must_come(tmp_path: Path, tiles: list[Path]) -> None:
    store = tmp_path / "all.zarrvectors"
    assert program(tiles[0], store, "--begin", "--parts", "4", *OPTIONS).returncode == 0
    for number in (0, 2, 3):
        assert program(tiles[number], store, "--part", number, *OPTIONS).returncode == 0
    other = program(tiles[1], store, "--part", "4", *OPTIONS)
    assert other.returncode == 2 and "0, 1, 2, 3" in other.stderr
    refused = program(tiles[0], store, "--commit", *OPTIONS)
    assert refused.returncode == 2 and "not begun: 1" in refused.stderr and "--allow-missing" in refused.stderr
    for words in (["--begin", "--clear-leftovers"], ["--clear-leftovers"]):
        cleared = program(tiles[0], store, *words, *(OPTIONS if "--begin" in words else []))
        assert cleared.returncode == 2 and "0, 2, 3" in cleared.stderr and "--discard-parts" in cleared.stderr
    done = program(tiles[0], store, "--commit", "--allow-missing", "--json", *OPTIONS)
    found = json.loads(done.stdout)
    assert (found["vertices"], found["parts"], found["absent"]) == (900, ["0", "2", "3"], ["1"])
    assert json.loads((store / "zarr.json").read_text())["attributes"]["zvf_absent_parts"] == ["1"]
    assert zvf.validate(store, depth=5).ok


def test_steps_that_cannot_be_are_told(tmp_path: Path, tiles: list[Path]) -> None:
    store = tmp_path / "all.zarrvectors"
    for words, text in [
        (["--begin"], "found no --bounds"),
        (["--part", "a", "--commit", *OPTIONS], "found --commit as well"),
        (["--bounds", "0,0,0:1,1,1"], "found none of --begin"),
        (["--part", "a", *OPTIONS], "no store was begun"),
        (["--begin", "--chunk-shape", "10,10,10", "--bounds", "0,0:9,9"], "found 2 axes, expected 3"),
        (["--begin", "--chunk-shape", "10,10,10", "--bounds", "9,9,9:0,0,0"], "--bounds"),
    ]:
        found = program(tiles[0], store, *words)
        assert found.returncode == 2 and text in found.stderr, found.stderr
    assert program(tiles[0], store, "--begin", *OPTIONS).returncode == 0
    # Another description than that which was begun.
    other = program(tiles[0], store, "--part", "a", "--chunk-shape", "5,5,5", "--bounds", "0,0,0:99,9,9")
    assert other.returncode == 2 and "parts with other options" in other.stderr
    none = program(tiles[0], store, "--commit", *OPTIONS)
    assert none.returncode != 0 and "parts" in none.stderr
