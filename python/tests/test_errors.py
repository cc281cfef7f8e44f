"""Errors: the class says what to do about one, and nothing ends the process."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zvf

Bundled = Callable[[str], Path]


def test_the_hierarchy() -> None:
    for one in (zvf.IoError, zvf.MalformedError, zvf.MisuseError, zvf.LimitError, zvf.BugError):
        assert issubclass(one, zvf.Error)
    assert issubclass(zvf.Error, Exception)


def parts(error: zvf.Error) -> dict[str, str | None]:
    return {"place": error.place, "found": error.found, "expected": error.expected, "hint": error.hint}


def test_errors_have_parts(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("graph"))
    calls: list[tuple[Callable[[], Any], tuple[str | None, ...]]] = [
        (lambda: zvf.run({"job": "pyramid", "store": "a.zv", "factors": [2, "x"]}), ("factors[1]", '"x"', "a number", None)),
        (lambda: store.query(level=-1), ("level", "-1", "a whole number that is not negative", None)),
        (lambda: zvf.import_("a.zv", "a.csv", ids="old"), ("ids", "'old'", "kept, new or file", None)),  # type: ignore[arg-type]
    ]
    for call, wanted in calls:
        with pytest.raises(zvf.MisuseError) as caught:
            call()
        assert tuple(parts(caught.value).values()) == wanted
    with pytest.raises(zvf.IoError) as missing:
        zvf.open(tmp_path / "nowhere")
    assert (missing.value.place or "").startswith(str(tmp_path / "nowhere"))


def test_parts_are_of_any_message() -> None:
    text = "key k: found 2 rows (4, 5), expected rows of the store (ignore_missing leaves out all others)"
    wanted = {"place": "key k", "found": "2 rows (4, 5)", "expected": "rows of the store", "hint": "ignore_missing leaves out all others"}
    for kind in (zvf.Error, zvf.IoError, zvf.BusyError, zvf.MalformedError, zvf.MisuseError, zvf.LimitError, zvf.BugError):
        error = pickle.loads(pickle.dumps(kind(text)))
        assert type(error) is kind and parts(error) == wanted
        assert set(parts(kind()).values()) == {None}
    assert zvf.Error("a\udcff: found 1").found == "1"
    with pytest.raises(AttributeError):
        zvf.Error().hint = "x"  # type: ignore[misc]
    assert all(vars(zvf.Error)[name].__doc__ for name in wanted)


def test_parts_are_those_of_the_program(bundled: Bundled, tmp_path: Path) -> None:
    url = str(bundled("graph"))
    jobs = [
        {"job": "validate", "store": url, "depth": 9},
        {"job": "validate", "store": str(tmp_path / "nowhere")},
        {"job": "query", "store": url, "where": "nothing > 1", "output": str(tmp_path / "a.csv")},
        {"job": "pyramid", "store": url, "wrong": 1},
    ]
    for job in jobs:
        with pytest.raises(zvf.Error) as caught:
            zvf.run(job)
        line = [sys.executable, "-m", "zvf", "run", "-", "--json"]
        ended = subprocess.run(line, input=json.dumps(job), capture_output=True, text=True, check=False)
        facts = json.loads(ended.stdout)["error"]
        assert facts == {"class": facts["class"], "message": str(caught.value), **parts(caught.value)}
        assert type(caught.value).__name__.lower() == f"{facts['class']}error"


CALLS: list[tuple[type[zvf.Error], str, Callable[[zvf.Store], Any]]] = [
    (zvf.MisuseError, "level 9", lambda store: store.query(level=9).read()),
    (zvf.MisuseError, "nothing", lambda store: store.query(where="nothing > 1").read()),
    (zvf.MisuseError, "found|axes|box|length", lambda store: store.query(where="length >").read()),
    (zvf.MisuseError, "-5", lambda store: store.get([-5])),
    (zvf.MisuseError, "corners", lambda store: store.query(bbox=((1, 2), (3,))).read()),
    (zvf.MisuseError, "bbox", lambda store: store.query(bbox=3)),
    (zvf.MisuseError, "found|axes|box|length", lambda store: store.query(bbox=((0, 0), (1, 1))).read()),
    (zvf.MisuseError, "groups", lambda store: store.query(groups="none").read()),
    (zvf.MisuseError, "nothing", lambda store: store.query(columns=["nothing"]).read()),
    (zvf.MisuseError, "list of names", lambda store: store.query(columns="position")),
    (zvf.MisuseError, "at least one", lambda store: store.query(columns=[]).read()),
    (zvf.MisuseError, "batch_rows", lambda store: store.query(batch_rows=0).read()),
    (zvf.MisuseError, "select", lambda store: store.query(select="points").read()),  # type: ignore[arg-type]
    (zvf.MisuseError, "whole numbers", lambda store: store.get([0.5])),
    (zvf.MisuseError, "column", lambda store: store.query().read().vertices["nothing"]),
    (zvf.MisuseError, "concurrency", lambda store: zvf.open(store.url, concurrency=0)),
    (zvf.MisuseError, "timeout", lambda store: zvf.open(store.url, timeout=float("nan"))),
    (zvf.MisuseError, "depth", lambda store: zvf.validate(store.url, depth=9)),
    (zvf.MisuseError, "__arrow_c_stream__", lambda store: zvf.Table(3)),
    (zvf.IoError, "nowhere", lambda store: zvf.open("nowhere")),
    (zvf.Error, "s3", lambda store: zvf.open("s3:")),
    (zvf.Error, ".", lambda store: zvf.open("")),
]


@pytest.mark.parametrize(("error", "message", "call"), CALLS)
def test_calls_that_cannot_be(bundled: Bundled, error: type[zvf.Error], message: str, call: Callable[[zvf.Store], Any]) -> None:
    store = zvf.open(bundled("real_tractogram"))
    with pytest.raises(error, match=message):
        call(store)
    # The store is as good as before.
    assert len(store.get([1])) == 1


def test_options_that_cannot_be(bundled: Bundled) -> None:
    with pytest.raises(TypeError, match="retrys"):
        zvf.open(bundled("graph"), retrys=3)  # type: ignore[call-arg]
    for wrong in ({"level": -1}, {"level": "a"}, {"limit": 1.5}, {"where": 3}, {"groups": -1}, {"batch_rows": -1}):
        with pytest.raises(zvf.MisuseError, match=next(iter(wrong))):
            zvf.open(bundled("graph")).query(**wrong).read()  # type: ignore[arg-type]


def test_a_kind_without_links_has_none(bundled: Bundled) -> None:
    store = zvf.open(bundled("points_bins"))
    with pytest.raises(zvf.MisuseError, match="links"):
        store.query().links.read()
    with pytest.raises(zvf.MisuseError, match="objects"):
        store.query().read().objects


def test_damaged_cells_are_malformed(bundled: Bundled, tmp_path: Path) -> None:
    url = tmp_path / "damaged.zarrvectors"
    shutil.copytree(bundled("points_2d_f8"), url)
    cells = sorted(path for path in (url / "0" / "vertices" / "c").rglob("*") if path.is_file())
    cells[0].write_bytes(cells[0].read_bytes()[:-3])
    with pytest.raises(zvf.MalformedError, match="vertices"):
        zvf.open(url).query().read()
    with pytest.raises(zvf.MalformedError):
        for _ in zvf.open(url).query():
            pass
    assert not zvf.validate(url, depth=3).ok
    (url / "zarr.json").write_text("{")
    with pytest.raises(zvf.MalformedError):
        zvf.open(url)


def test_a_failed_stream_says_why(bundled: Bundled, tmp_path: Path) -> None:
    import pyarrow as pa

    url = tmp_path / "damaged.zarrvectors"
    shutil.copytree(bundled("points_2d_f8"), url)
    scan = zvf.open(url).query().vertices
    cells = [path for path in (url / "0" / "vertices" / "c").rglob("*") if path.is_file()]
    for cell in cells:
        cell.write_bytes(b"nonsense")
    # The exception is the consumer's own, with our message.
    with pytest.raises(Exception, match="vertices"):
        pa.table(scan)

    def broken() -> Any:
        yield pa.record_batch({"position": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(6)), 3)})
        raise ZeroDivisionError("no more")

    schema = pa.schema({"position": pa.list_(pa.float64(), 3)})
    reader = pa.RecordBatchReader.from_batches(schema, broken())
    with pytest.raises(zvf.MisuseError, match="stream failed"):
        zvf.write(tmp_path / "new.zarrvectors", kind="point_cloud", vertices=reader, chunk_shape=[1.0] * 3)
    assert not (tmp_path / "new.zarrvectors").exists()


def test_a_stream_is_taken_once(bundled: Bundled) -> None:
    capsule = zvf.open(bundled("graph")).query().vertices.__arrow_c_stream__()

    class Holder:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return capsule

    class Wrong:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return 3

    assert len(zvf.Table(Holder())) == 400
    with pytest.raises(zvf.MisuseError, match="not read yet"):
        zvf.Table(Holder())
    with pytest.raises(zvf.MisuseError):
        zvf.Table(Wrong())
