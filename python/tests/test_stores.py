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
    assert made["vertices"] == [400, 400, 400]
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
