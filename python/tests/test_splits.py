"""Splits: together they are the answer, no row twice, wherever they are read."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import zvf

Bundled = Callable[[str], Path]
ARCHIVES = Path(__file__).parents[2] / "testdata" / "zvf"
# One store of each kind and container: plain and sharded grids, bins, chunks by an attribute, older versions, additive levels.
VERSIONS = ("0.6", "0.7", "0.8", "0.9", "0.9.4", "padded")
STORES = sorted(path.relative_to(ARCHIVES).as_posix() for version in VERSIONS for path in (ARCHIVES / version).glob("*.tar.gz"))


@contextmanager
def unpacked(name: str, folder: Path) -> Iterator[Path]:
    """A bundled store, whose many files are gone after the test."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with tarfile.open(ARCHIVES / name) as archive:
            archive.extractall(place, filter="data")
        roots = [path.parent for ending in ("zarr.json", ".zattrs", ".zgroup") for path in Path(place).glob(f"*/*/{ending}")]
        yield roots[0]


def rows_of(table: pa.Table) -> Counter[str]:
    """The rows, as their texts, with how often each is there; lists come apart."""
    arrays = zvf.Table(table).to_numpy()
    flat = [values.reshape(len(table), -1).astype(str) for values in arrays.values()]
    rows: list[list[str]] = np.concatenate(flat, axis=1).tolist()
    return Counter(map("\t".join, rows))


@pytest.mark.parametrize("name", STORES)
def test_union_of_splits_is_the_answer_without_a_row_twice(tmp_path: Path, name: str) -> None:
    with unpacked(name, tmp_path) as path:
        check_union(zvf.open(path))


def check_union(store: zvf.Store) -> None:
    query = store.query(columns=["position", "attributes", "chunk", "row"])
    whole = pa.table(query.vertices)
    expected = rows_of(whole)
    for sizes in ({"count": 3}, {"count": 64}, {"rows": 1000}, {"bytes": 65536}, {}):
        splits = query.splits(**sizes)
        assert [split.number for split in splits] == list(range(len(splits)))
        assert all(split.count == len(splits) for split in splits)
        parts = [pa.table(split.read().vertices) for split in splits]
        rows = [part for part in parts if part.num_rows]
        found = pa.concat_tables(rows, promote_options="permissive") if rows else whole.slice(0, 0)
        if found.num_rows:
            # Not in one order: levels of a chain follow one another in the answer.
            assert rows_of(found.select(whole.column_names)) == expected
        assert found.num_rows == whole.num_rows
        if "count" in sizes:
            assert len(splits) == sizes["count"]
    estimates = [split.rows for split in query.splits(count=5)]
    assert store.levels[0].vertices == 0 or sum(estimates) <= sum(level.vertices for level in store.levels)


@pytest.mark.parametrize("name", ["real_tractogram", "lines", "streamlines", "real_skeleton", "points_ids", "mesh", "graph"])
def test_whole_objects_are_cut_by_id(bundled: Bundled, name: str) -> None:
    store = zvf.open(bundled(name))
    query = store.query(select="objects")
    whole = query.read()
    splits = query.splits(count=4)
    answers = [split.read() for split in splits]
    ids = [answer.objects["object_id"] for answer in answers]
    assert np.concatenate(ids).tolist() == whole.objects["object_id"].tolist()
    tables = [pa.table(answer.vertices) for answer in answers]
    assert rows_of(pa.concat_tables(tables)) == rows_of(pa.table(whole.vertices))
    if store.kind in ("line", "polyline", "streamline", "skeleton"):
        assert sum(len(answer.links) for answer in answers) == len(whole.links)
    else:
        assert all("links" not in answer.tables for answer in answers)


def test_a_split_is_json_and_pickles_without_the_options(bundled: Bundled) -> None:
    store = zvf.open(bundled("points_ids"), storage_options={"secret": "word"})
    splits = store.query(bbox=((0, 0, 0), (50, 50, 50)), where="intensity > 0.25").splits(count=3)
    for split in splits:
        assert pickle.loads(pickle.dumps(split)) == split
        text = split.to_json()
        assert "word" not in text
        assert json.loads(text)["number"] == split.number
        expected = pa.table(split.read().vertices)
        for again in (zvf.Split(text), text, json.loads(text)):
            assert pa.table(zvf.read_split(again).vertices).equals(expected)
    with pytest.raises(zvf.MisuseError, match="found no split"):
        zvf.Split("{}")
    with pytest.raises(zvf.MisuseError):
        zvf.read_split({**json.loads(splits[0].to_json()), "query": {}})


def test_columns_of_a_split_can_be_others(bundled: Bundled) -> None:
    store = zvf.open(bundled("points_ids"))
    split = store.query().splits(count=2)[1]
    assert split.read(["object_id"]).vertices.column_names == ["object_id"]
    assert split.read(["position", "intensity"]).vertices.column_names == ["position", "intensity"]
    assert split.read().vertices.column_names == store.query().read().vertices.column_names[: len(split.read().vertices.column_names)]
    with pytest.raises(zvf.MisuseError):
        split.read(["nothing"])


def test_wrong_sizes_are_misuse(bundled: Bundled) -> None:
    store = zvf.open(bundled("points_ids"))
    for sizes in ({"count": 0}, {"rows": -1}, {"count": 1, "rows": 1}):
        with pytest.raises(zvf.MisuseError, match="splits"):
            store.query().splits(**sizes)
    with pytest.raises(zvf.MisuseError, match="limit"):
        store.query(limit=3).splits(count=2)


def test_a_split_of_a_store_that_changed_is_an_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "points.zarrvectors"
    ids = np.repeat(np.arange(10), 10)
    zvf.write(path, kind="point_cloud", positions=rng.random((100, 3)).astype("f4"), object_ids=ids, chunk_shape=[0.5] * 3)
    splits = zvf.open(path).query().splits(count=2)
    # The store stays open in this process for the second one.
    assert len(splits[0].read().vertices) > 0
    with zvf.edit(path) as change:
        change.delete([3])
    for split in splits:
        with pytest.raises(zvf.IoError, match="changed"):
            split.read()
        with pytest.raises(zvf.IoError, match="changed"):
            zvf.read_split(zvf.Split(split.to_json(), verify=False))
    again = zvf.open(path).query().splits(count=2)
    assert sum(len(split.read().vertices) for split in again) == 90


def count_rows(split: zvf.Split) -> tuple[int, int]:
    return os.getpid(), len(split.read().vertices)


def test_splits_are_read_in_other_processes(bundled: Bundled, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundled("real_tractogram")
    # A store that was opened by a name of this folder is found from another one.
    monkeypatch.chdir(path.parent)
    splits = zvf.open(path.name).query().splits(count=6)
    monkeypatch.chdir("/")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(count_rows, splits, chunksize=1)
    assert os.getpid() not in {process for process, _ in found}
    assert sum(rows for _, rows in found) == zvf.open(path).levels[0].vertices


def lines(path: Path) -> Iterator[dict[str, object]]:
    return map(json.loads, path.read_text().splitlines())


def test_every_cell_is_read_once_in_all(bundled: Bundled, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    store = zvf.open(bundled("points_bins"), trace_io=trace)
    splits = store.query(columns=["position"]).splits(count=7)
    trace.unlink()
    for split in splits:
        split.read()
    cells = Counter(line["key"] for line in lines(trace) if "/vertices/c/" in str(line["key"]))
    assert set(cells.values()) == {1}
    assert len(cells) == store.levels[0].chunks


def test_aquery_reads_beside_other_tasks(bundled: Bundled) -> None:
    import asyncio

    store = zvf.open(bundled("streamlines"))

    async def both() -> list[int]:
        answers = await asyncio.gather(store.aquery(objects=[1]), store.aquery(objects=[2], columns=["position"]))
        return [len(answer.objects) for answer in answers]

    assert asyncio.run(both()) == [1, 1]
