"""Parts of stores and stores of several, by pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import zvf

if TYPE_CHECKING:
    from pathlib import Path

pd = pytest.importorskip("pandas")


def frame(count: int, seed: int) -> pd.DataFrame:
    """Points of objects with attributes."""
    random = np.random.default_rng(seed)
    ids = np.sort(random.integers(0, 12, count)) + 100 * seed
    places = random.random((count, 3)).astype(np.float32) * 90
    kinds = np.array(["axon", "soma", "dendrite"])[random.integers(0, 3, count)]
    data = {"object_id": ids, "x": places[:, 0], "y": places[:, 1], "z": places[:, 2], "kind": kinds}
    return pd.DataFrame({**data, "n": random.integers(0, 50 * 10**seed, count)})


def stored(data: pd.DataFrame, folder: Path, name: str, kind: str = "polyline") -> Path:
    """The frame as a store."""
    table, url = folder / f"{name}.csv", folder / f"{name}.zarrvectors"
    data.to_csv(table, index=False)
    zvf.import_(url, table, kind=kind, object_column="object_id" if "object_id" in data else None)
    return url


def read(url: Path, folder: Path) -> pd.DataFrame:
    """All rows of a store."""
    table = folder / "all.csv"
    zvf.export(url, table)
    return pd.read_csv(table)


def rows(data: pd.DataFrame) -> list[tuple[object, ...]]:
    """Rows in an order of their own, for comparison."""
    columns = sorted(data.columns)
    # A text file has the shortest digits of a float32, which pandas reads as another float64.
    ordered = data[columns].astype(dict.fromkeys("xyz", "float32"))
    ordered = ordered.astype({name: "float64" for name in columns if name != "kind"})
    return sorted(ordered.itertuples(index=False, name=None))


def test_merged_stores_are_concatenated_frames(tmp_path: Path) -> None:
    frames = [frame(400, seed) for seed in (1, 2, 3)]
    urls = [stored(data, tmp_path, f"s{number}") for number, data in enumerate(frames)]
    made = zvf.merge(urls, tmp_path / "all.zarrvectors")
    assert ([one["vertices"] for one in made["stores"]], made["vertices"]) == ([400] * 3, 1200)
    assert rows(read(tmp_path / "all.zarrvectors", tmp_path)) == rows(pd.concat(frames))
    zvf.merge(urls, tmp_path / "apart.zarrvectors", id_offset=1000)
    apart = [data.assign(object_id=data["object_id"] + 1000 * at) for at, data in enumerate(frames)]
    assert rows(read(tmp_path / "apart.zarrvectors", tmp_path)) == rows(pd.concat(apart))
    with pytest.raises(zvf.MisuseError):
        zvf.merge([urls[0], stored(frames[0], tmp_path, "same")], tmp_path / "no.zarrvectors")
    assert not (tmp_path / "no.zarrvectors").exists()


def test_parts_are_the_groups_of_a_frame(tmp_path: Path) -> None:
    data = frame(500, 1).drop(columns="object_id")
    url = stored(data, tmp_path, "points", kind="point_cloud")
    made = zvf.split(url, tmp_path / "parts", attribute="kind")
    groups = dict(iter(data.groupby("kind")))
    assert [part["of"] for part in made["parts"]] == sorted(groups)
    for part in made["parts"]:
        assert rows(read(part["file"], tmp_path)) == rows(groups[part["of"]])
    lines = stored(frame(500, 2), tmp_path, "lines")
    made = zvf.split(lines, tmp_path / "thirds", count=3)
    found = pd.concat([read(part["file"], tmp_path) for part in made["parts"]])
    assert rows(found) == rows(frame(500, 2))
    assert all(part["skipped"] for part in zvf.split(lines, tmp_path / "thirds", count=3)["parts"])


def test_resampled_lines_are_those_of_numpy(tmp_path: Path) -> None:
    data = frame(600, 2)
    url = stored(data, tmp_path, "lines")
    made = zvf.resample(url, tmp_path / "even.zarrvectors", points=9)
    assert made["vertices"] == 9 * data["object_id"].nunique()
    assert made["points"] == 9
    even = read(tmp_path / "even.zarrvectors", tmp_path)
    for number, old in data.groupby("object_id"):
        points = old[["x", "y", "z"]].to_numpy(np.float64)
        ways = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        at = np.linspace(0, ways[-1], 9)
        wanted = np.stack([np.interp(at, ways, points[:, axis]) for axis in range(3)], axis=1)
        new = even[even["object_id"] == number]
        np.testing.assert_allclose(np.sort(new[["x", "y", "z"]].to_numpy(), axis=0), np.sort(wanted, axis=0), atol=1e-4)
        nearest = np.abs(ways[None] - at[:, None]).argmin(1)
        assert sorted(new["n"]) == sorted(old["n"].to_numpy()[nearest])
    step = zvf.resample(url, tmp_path / "step.zarrvectors", step=2.5)
    assert step["length"] <= step["length_before"] == pytest.approx(made["length_before"])
    for wrong in ({}, {"points": 3, "step": 1.0}, {"points": 1}, {"step": -1.0}):
        with pytest.raises(zvf.MisuseError):
            zvf.resample(url, tmp_path / "no.zarrvectors", **wrong)
    assert not (tmp_path / "no.zarrvectors").exists()


def test_simplified_lines_have_vertices_of_the_source(tmp_path: Path) -> None:
    data = frame(600, 2)
    url = stored(data, tmp_path, "lines")
    made = zvf.simplify(url, tmp_path / "few.zarrvectors", 20.0)
    few = read(tmp_path / "few.zarrvectors", tmp_path)
    assert 2 * data["object_id"].nunique() <= made["vertices"] == len(few) < len(data)
    assert set(rows(few)) <= set(rows(data))
    with pytest.raises(zvf.MisuseError):
        zvf.simplify(url, tmp_path / "no.zarrvectors", -1.0)
