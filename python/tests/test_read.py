"""Answers, judged by the truth that lies beside each bundled store, by the file it was made from, and by other packages."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import logging
import pickle
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import nibabel
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import zvf

Bundled = Callable[[str], Path]
NAMES = ["real_tractogram", "streamlines", "graph", "mesh", "points_ids", "points_bins", "points_2d_f8", "real_skeleton"]


def sorted_rows(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(rows.T[::-1])]


def test_the_version_is_that_of_the_distribution() -> None:
    assert zvf.__version__ == importlib.metadata.version("zvf")


def test_first_query_of_the_tractogram_is_what_nibabel_reads(bundled: Bundled, real: Path) -> None:
    store = zvf.open(bundled("real_tractogram"))
    # Every other streamline of the file.
    lines = nibabel.streamlines.load(real / "tracks300.trk").streamlines[::2]
    assert store.kind == "streamline"
    found = store.get(np.arange(150))
    assert found.ids.tolist() == list(range(150))
    assert found.offsets.tolist() == [0, *np.cumsum([len(line) for line in lines]).tolist()]
    for ours, theirs in zip(found, lines, strict=True):
        np.testing.assert_array_equal(ours, theirs)

    low, high = np.array([92, 82, 80]), np.array([101, 92, 92])
    inside = [number for number, line in enumerate(lines) if ((line >= low) & (line <= high)).all(axis=1).any()]
    answer = store.query(bbox=(low, high), select="objects").read()
    assert answer.objects["object_id"].tolist() == inside
    assert len(answer.vertices) == sum(len(lines[number]) for number in inside) == answer.summary["vertices"]


@pytest.mark.parametrize("name", NAMES)
def test_boxes_have_the_rows_of_the_truth(bundled: Bundled, name: str) -> None:
    folder = bundled(name).parent
    truth = np.load(folder / "truth.npz")["positions"]
    case = json.loads((folder / "case.json").read_text())
    store = zvf.open(bundled(name))
    asked = [one for one in case["queries"] if one["level"] == 0 and "bbox" in one]
    assert asked
    for one in asked:
        found = store.query(bbox=one["bbox"], columns=["position"]).to_numpy()["position"]
        assert found.dtype == truth.dtype
        np.testing.assert_array_equal(sorted_rows(found), sorted_rows(truth[one["rows"]]))


def test_a_plan_names_the_cells_that_are_then_read(bundled: Bundled) -> None:
    query = zvf.open(bundled("streamlines")).query(bbox=((0, 0, 0), (150, 150, 150)))
    (level,) = query.plan()
    summary = query.read().summary
    assert level["chunks"] == summary["chunks_read"]
    assert sum(level["cells"].values()) == summary["cells_read"]
    assert level["by_object"] is False


def test_attributes_belong_to_their_positions(bundled: Bundled) -> None:
    truth = np.load(bundled("points_ids").parent / "truth.npz")
    found = zvf.open(bundled("points_ids")).query().to_numpy()
    order, theirs = np.lexsort(found["position"].T), np.lexsort(truth["positions"].T)
    for name in ("intensity", "count"):
        np.testing.assert_array_equal(found[name][order], truth[f"attr_{name}"][theirs])
        assert found[name].dtype == truth[f"attr_{name}"].dtype
    objects = zvf.open(bundled("points_ids")).query().read().objects
    assert objects["object_id"].tolist() == truth["object_ids"].tolist()
    np.testing.assert_array_equal(objects["score"], truth["object_score"])


@pytest.mark.parametrize(("name", "member"), [("graph", "edges"), ("mesh", "faces")])
def test_links_join_the_right_places(bundled: Bundled, name: str, member: str) -> None:
    truth = np.load(bundled(name).parent / "truth.npz")
    answer = zvf.open(bundled(name)).query().read()

    def places(positions: np.ndarray, links: np.ndarray) -> list[list[tuple[float, ...]]]:
        return sorted(sorted(map(tuple, corners)) for corners in positions[links].tolist())

    ours = places(answer.vertices["position"], answer.links["vertices"])
    assert ours == places(truth["positions"], truth[member])


@pytest.mark.parametrize("name", NAMES)
def test_other_packages_take_streams(bundled: Bundled, name: str) -> None:
    store = zvf.open(bundled(name))
    truth = np.load(bundled(name).parent / "truth.npz")["positions"]
    scan = store.query(columns=["position"]).vertices
    theirs = pa.table(scan)
    flat = theirs["position"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(sorted_rows(flat.reshape(truth.shape)), sorted_rows(truth))
    assert pl.DataFrame(scan).height == len(truth)
    assert duckdb.sql("select count(*) from scan").fetchall() == [(len(truth),)]
    # A scan can be taken again, and a table, too.
    assert pa.table(scan).num_rows == pa.table(scan.read()).num_rows == len(truth)


def test_sql_over_a_scan_agrees_with_numpy(bundled: Bundled) -> None:
    truth = np.load(bundled("points_ids").parent / "truth.npz")
    scan = zvf.open(bundled("points_ids")).query(columns=["intensity", "count"]).vertices
    found = duckdb.sql("select count, sum(intensity::double) from scan group by count order by count").fetchall()
    for count, total in found:
        wanted = truth["attr_intensity"][truth["attr_count"] == count].astype(np.float64).sum()
        assert total == pytest.approx(wanted)
    assert len(found) == len(np.unique(truth["attr_count"]))


def test_filters_and_columns(bundled: Bundled) -> None:
    truth = np.load(bundled("points_ids").parent / "truth.npz")
    store = zvf.open(bundled("points_ids"))
    found = store.query(where="intensity > 0.5 and count < 100", columns=["count"]).to_numpy()
    wanted = truth["attr_count"][(truth["attr_intensity"] > 0.5) & (truth["attr_count"] < 100)]
    assert list(found) == ["count"]
    assert sorted(found["count"].tolist()) == sorted(wanted.tolist())
    rows = store.query(columns=["object_id", "chunk", "row", "object_ids"], limit=20).read().vertices
    assert len(rows) == 20
    assert rows["chunk"].shape == (20, 3)
    assert [one.tolist() for one in rows["object_ids"]] == [[owner] for owner in rows["object_id"].tolist()]


def test_batches_are_the_table(bundled: Bundled) -> None:
    query = zvf.open(bundled("streamlines")).query(batch_rows=100)
    whole = query.vertices.read()
    parts = list(query)
    assert len(parts) > 50
    assert all(0 < len(part) <= 100 for part in parts)
    np.testing.assert_array_equal(np.concatenate([part["position"] for part in parts]), whole["position"])
    rows = {"vertices": 0, "links": 0, "objects": 0}
    for name, batch in query.batches():
        rows[name] += len(batch)
    answer = query.read()
    assert rows == {name: len(table) for name, table in answer.tables.items()}
    # Ended early, a query lets go of what it holds.
    for part in query:
        assert len(part) == 100
        break


def test_numbers_of_one_batch_are_views(bundled: Bundled) -> None:
    table = zvf.open(bundled("real_tractogram")).query(objects=[7]).vertices.read()
    assert sum(1 for _ in table) == 1
    position = table["position"]
    assert not position.flags.owndata
    assert not position.flags.writeable
    assert table["position"].__array_interface__["data"] == position.__array_interface__["data"]
    # The array keeps the rows alive.
    copy = position.copy()
    del table
    gc.collect()
    np.testing.assert_array_equal(position, copy)


def test_frames(bundled: Bundled) -> None:
    store = zvf.open(bundled("points_ids"))
    query = store.query(columns=["intensity", "count", "object_id"])
    arrays = query.to_numpy()
    for frame in (query.to_pandas(), query.to_polars()):
        assert list(frame.columns) == ["intensity", "count", "object_id"]
        for name, values in arrays.items():
            np.testing.assert_array_equal(frame[name].to_numpy(), values)


def test_get_repeats_and_orders(bundled: Bundled) -> None:
    store = zvf.open(bundled("real_tractogram"))
    one, other = store.get([7])[0], store.get([42])[0]
    found = store.get([42, 7, 42])
    assert [len(line) for line in found] == [len(other), len(one), len(other)]
    np.testing.assert_array_equal(found.positions, np.concatenate([other, one, other]))
    np.testing.assert_array_equal(found[-1], other)
    lengths = np.load(bundled("real_tractogram").parent / "truth.npz")["object_length"]
    np.testing.assert_array_equal(found.object_attributes["length"], lengths[[42, 7, 42]])
    assert len(store.get([])) == 0
    assert len(store.get([7, 10**6], ignore_missing=True)) == 1
    with pytest.raises(IndexError):
        found[3]


def test_info_and_pictures(bundled: Bundled) -> None:
    store = zvf.open(bundled("real_tractogram"))
    truth = np.load(bundled("real_tractogram").parent / "truth.npz")
    assert [level.number for level in store.levels] == [0, 1]
    assert (store.levels[0].vertices, store.levels[0].objects) == (len(truth["positions"]), len(truth["object_ids"]))
    assert store.axes == ("x", "y", "z")
    np.testing.assert_allclose(store.bounds[0], truth["positions"].min(axis=0), atol=1e-4)
    assert "streamline" in repr(store)
    page = store._repr_html_()
    assert "7,236 vertices" in page
    assert page.count("h1") > 1000


@pytest.mark.parametrize("name", NAMES)
def test_every_store_has_a_page(bundled: Bundled, name: str) -> None:
    assert "<svg" in zvf.open(bundled(name))._repr_html_()


def test_a_store_that_is_gone_is_an_error_of_its_use_and_no_hanging_pool(
    bundled: Bundled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "gone"
    shutil.copytree(bundled("points_ids"), place)
    monkeypatch.chdir(tmp_path)
    store = zvf.open("gone")
    query = store.query(limit=3)
    parts = zvf.Parts("parts", like={"position": np.zeros((1, 3))}, kind="point_cloud", chunk_shape=[1] * 3, bounds=([0] * 3, [1] * 3))
    texts = [pickle.dumps(one) for one in (store, query, query.dataset(), store.query().splits(rows=10)[0])]
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(parts)).url == str(tmp_path / "parts")
    again = pickle.loads(texts[1])
    assert again == query
    assert again.read().summary == query.read().summary
    assert pickle.loads(texts[2]).to_table() == query.dataset().to_table()
    shutil.rmtree(place)
    # An exception while a worker unpickles ends it, and `multiprocessing.Pool` starts the next one, forever.
    for text in texts:
        pickle.loads(text)
    with pytest.raises(zvf.IoError, match="gone"):
        pickle.loads(texts[0]).levels  # noqa: B018
    with pytest.raises(zvf.IoError, match="gone"):
        pickle.loads(texts[2]).to_table()


def test_stores_and_queries_pickle(bundled: Bundled) -> None:
    store = zvf.open(bundled("real_tractogram"), concurrency=3)
    query = store.query(objects=[5, 6], columns=["position"])
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert again.store.info == store.info
    np.testing.assert_array_equal(again.to_numpy()["position"], query.to_numpy()["position"])
    assert query.replace(objects=[5]) != query
    assert len(pickle.dumps(query)) < 4096


def test_several_threads_share_a_store(bundled: Bundled) -> None:
    from concurrent.futures import ThreadPoolExecutor

    store = zvf.open(bundled("streamlines"))
    ids = [store.get([number]).positions for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: store.get([number]).positions, range(24)))
    for ours, theirs in zip(found, ids, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_progress_counts_the_vertices_as_they_come(bundled: Bundled) -> None:
    told: list[int] = []
    answer = zvf.open(bundled("real_tractogram")).query(batch_rows=500).read(progress=told.append)
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == len(answer.vertices)


def test_asyncio_reads_several_at_once(bundled: Bundled) -> None:
    import asyncio

    store = zvf.open(bundled("real_tractogram"))

    async def both() -> list[zvf.Answer]:
        return list(await asyncio.gather(*(store.query(objects=[number]).aread() for number in (3, 4))))

    for number, answer in zip((3, 4), asyncio.run(both()), strict=True):
        np.testing.assert_array_equal(answer.vertices["position"], store.get([number])[0])


def test_two_threads_do_not_share_one_query(bundled: Bundled) -> None:
    """A batch that another thread waits for must not look like the end."""
    from concurrent.futures import ThreadPoolExecutor

    answer = zvf.open(bundled("streamlines")).query(batch_rows=10)._start((True, False, False))

    def take(_: int) -> tuple[int, int]:
        rows, refused = 0, 0
        while True:
            try:
                step = answer.next()
            except zvf.MisuseError:
                refused += 1
                continue
            if step is None:
                return rows, refused
            rows += step[1].num_rows

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(take, range(4)))
    assert sum(rows for rows, _ in found) == len(np.load(bundled("streamlines").parent / "truth.npz")["positions"])


def test_nothing_heavy_is_imported() -> None:
    import subprocess

    code = "import sys, zvf; print([name for name in ('numpy', 'pandas', 'polars', 'pyarrow') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def web(bundled: Bundled) -> Iterator[str]:
    """The address of a graph on a web server that cannot list."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *values: object) -> None:
            pass

    root = bundled("graph")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root.parent)))
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/{root.name}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_links_that_cannot_be_found_are_logged_once(web: str, caplog: pytest.LogCaptureFixture) -> None:
    store = zvf.open(web)
    with caplog.at_level(logging.WARNING, logger="zvf"):
        for _ in range(2):
            store.query().links.read()
    for says in ["only link arrays that join neighbouring chunks", "60 of 155 links are found"]:
        said = [record.getMessage() for record in caplog.records if says in record.getMessage()]
        assert len(said) == 1, caplog.text
        assert said[0].startswith(web)
