"""Jobs on whole stores and files, and the program."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import PIL.Image
import pytest

import zvf
from zvf import _options, _zvf

Bundled = Callable[[str], Path]
SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def tracts(tmp_path: Path, real: Path) -> Path:
    """A store of 300 streamlines."""
    url = tmp_path / "tracts.zarrvectors"
    done = zvf.import_(url, real / "tracks300.trk", chunk_shape=[10, 10, 10])
    assert (done["kind"], done["objects"]) == ("streamline", 300)
    return url


def same_lines(url: Path, file: Path) -> None:
    lines = nibabel.streamlines.load(file).streamlines
    found = zvf.open(url).get(range(len(lines)))
    assert found.offsets[1:].tolist() == np.cumsum([len(line) for line in lines]).tolist()
    np.testing.assert_allclose(found.positions, np.concatenate(list(lines)), atol=1e-4)


def test_imports_and_exports(tracts: Path, tmp_path: Path, real: Path) -> None:
    same_lines(tracts, real / "tracks300.trk")
    for ending in ("trk", "tck"):
        file = tmp_path / f"out.{ending}"
        done = zvf.export(tracts, file)
        assert (done["objects"], done["file"]) == (300, str(file))
        same_lines(tracts, file)
    zvf.export(tracts, tmp_path / "some.trk", objects=[3, 5])
    assert len(nibabel.streamlines.load(tmp_path / "some.trk").streamlines) == 2
    with pytest.raises(zvf.MisuseError):
        zvf.export(tracts, tmp_path / "out.unknown")
    with pytest.raises(zvf.MisuseError, match="outside"):
        zvf.export(tracts, tracts / "0" / "out.trk")
    with pytest.raises(zvf.Error):
        zvf.export(tracts, tmp_path / "no folder" / "out.trk")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.tck", "out.trk", "some.trk", "tracts.zarrvectors"]


def test_exports_views_for_neuroglancer(tracts: Path, tmp_path: Path) -> None:
    done = zvf.export(tracts, tmp_path / "views", format="precomputed", shards=3)
    assert (done["format"], done["folder"], done["views"]) == ("precomputed", str(tmp_path / "views"), ["lines", "skeletons"])
    info = json.loads((tmp_path / "views" / "skeletons" / "info").read_text())
    assert (info["@type"], info["sharding"]["shard_bits"]) == ("neuroglancer_skeletons", 3)
    files = [path for path in (tmp_path / "views").rglob("*") if path.is_file()]
    assert done["files"] == len(files)
    # The same job as a document.
    job = {"job": "export", "store": str(tracts), "file": str(tmp_path / "again"), "format": "precomputed", "shards": 3}
    again = zvf.run(job)
    assert (again["files"], again["bytes"]) == (done["files"], done["bytes"])
    with pytest.raises(zvf.MisuseError, match="the views have the whole store"):
        zvf.export(tracts, tmp_path / "some", format="precomputed", objects=[3])
    with pytest.raises(zvf.MisuseError, match="format"):
        zvf.export(tracts, tmp_path / "some.trk", shards=3)


def test_levels_copies_and_checks(tracts: Path, tmp_path: Path, real: Path) -> None:
    seen: list[int] = []
    made = zvf.pyramid(tracts, factors=[4.0, 2.0], progress=seen.append)
    assert [level["level"] for level in made["levels"]] == [1, 2]
    assert [level.vertices for level in zvf.open(tracts).levels][1:] == [level["vertices"] for level in made["levels"]]
    assert seen
    with pytest.raises(zvf.MisuseError):
        zvf.pyramid(tracts, factors=[4.0])
    coarse, old = tmp_path / "coarse.zarrvectors", tmp_path / "old.zarrvectors"
    assert zvf.rechunk(tracts, coarse, chunk_shape=[40, 40, 40])["verified"]["vertices"] > 0
    assert zvf.open(coarse).info["chunk_shape"] == [40, 40, 40]
    assert zvf.migrate(coarse, old, version="0.8.1")["to"] == "0.8.1"
    assert zvf.open(old).info["version"] == "0.8.1"
    for url in (tracts, coarse, old):
        same_lines(url, real / "tracks300.trk")
        report = zvf.validate(url, depth=5, progress=seen.append)
        assert report.ok, list(report)
    assert zvf.remove_pyramid(tracts)["levels_before"] == 2
    assert len(zvf.open(tracts).levels) == 1
    with pytest.raises(zvf.MisuseError):
        zvf.rechunk(tracts, tmp_path / "same.zarrvectors")
    # What a job does not record is refused, not left out.
    for begins in (zvf.vacuum, zvf.edit, zvf.validate):
        with pytest.raises(zvf.MisuseError, match="trace_io: found it for a job"):
            begins(tracts, trace_io=tmp_path / "requests.ndjson")


def test_a_picture_is_a_file(tmp_path: Path) -> None:
    stores = []
    for name, place in [("left", [2.0, 4.0, 0.0]), ("right", [7.0, 1.0, 0.0])]:
        stores.append(tmp_path / f"{name}.zv")
        zvf.write(stores[-1], kind="point_cloud", positions=np.array([place], dtype=np.float32), chunk_shape=[10, 10, 10])
    camera = {"center": [5, 2.5, 0], "units_per_pixel": 0.1, "size": [100, 50], "view": "xy"}
    style = {"color": ["red", "blue"], "background": "white", "bare": True, "point_size": 9, "fading": 0}
    file = tmp_path / "points.png"
    done = zvf.plot(stores, file, **camera, **style)
    assert (done["file"], done["size"]) == (str(file), [100, 50])
    assert [layer["vertices"] for layer in done["layers"]] == [1, 1]
    with PIL.Image.open(file) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape == (50, 100, 3)
    redder = pixels[..., 0] - pixels[..., 2]
    # x = 2 and 7 are 20 and 70 pixels from the left, y = 4 and 1 are 10 and 40 from the top; the middle of pixel N is N + 0.5.
    for found, place in [(redder > 50, (10, 20)), (redder < -50, (40, 70))]:
        np.testing.assert_allclose(np.argwhere(found).mean(axis=0) + 0.5, place, atol=0.6)
    zvf.plot(stores[0], tmp_path / "points.svg", bare=True)
    assert (tmp_path / "points.svg").read_text().startswith("<svg ")
    with pytest.raises(zvf.MisuseError, match="color: found 2 for 1 stores"):
        zvf.plot(stores[0], file, color=["red", "blue"])


def test_keywords_are_the_options_of_jobs(tracts: Path) -> None:
    from zvf import _job_options
    from zvf._options import JobOptions

    for job, of in zvf.schema()["$defs"].items():
        name = "".join(word.title() for word in job.split("-")) + "Options"
        # No argument of Python can be named `from`.
        members = set(of["properties"]) - set(of["required"]) - {"from"}
        assert set(getattr(_job_options, name).__annotations__) - set(JobOptions.__annotations__) == members, job
        function = getattr(zvf, "import_" if job == "import" else job, None)
        if function is not None:
            assert inspect.signature(function).parameters["options"].annotation == f"Unpack[{name}]", job
    given = {"job", "store"}
    with pytest.raises(zvf.MisuseError, match="job: found .inspect., expected one of"):
        zvf.schema("inspect")
    # Every keyword reaches the job: its default, stated, changes nothing, and a wrong value is refused by its name.
    default = zvf.validate(tracts).document
    for member, of in zvf.schema("validate")["properties"].items():
        if member not in given:
            assert zvf.validate(tracts, **{member: of["default"]}).document == default
            with pytest.raises(zvf.MisuseError, match=f"^{member}: found"):
                zvf.validate(tracts, **{member: {}})  # type: ignore[arg-type]


def test_files_go_in_with_all_options(tmp_path: Path) -> None:
    table, url = tmp_path / "a.csv", tmp_path / "a.zarrvectors"
    table.write_text("x;y;n;gene;raw\n1,5;2;3;a;9\n4;5;;b;9\n8;8;7;a;9\n")
    seen: list[int] = []
    done = zvf.import_(
        url,
        table,
        decimal=",",
        nulls=-1,
        rename={"n": "count"},
        attribute_types={"count": "int64"},
        exclude=("raw",),
        scale=2,
        chunk_by="gene",
        chunk_shape=np.array([4.0, 4.0]),
        journal=tmp_path / "journal",
        progress=seen.append,
    )
    assert (done["vertices"], done["chunk_by"], done["files"], sum(seen)) == (3, "gene", [str(table)], 3)
    assert {one["name"]: one["type"] for one in done["vertex_attributes"]} == {"count": "int64"}
    found = zvf.open(url).query().read().vertices.to_numpy()
    assert sorted(found["count"].tolist()) == [-1, 3, 7]
    assert sorted(found["position"][:, 0].tolist()) == [3.0, 8.0, 16.0]
    assert zvf.open(url).info["chunk_shape"] == [4, 4]

    # Files that are added are mapped as the first ones were; what they lack has a value.
    table.write_text("x;y;gene\n0,5;1;c\n")
    done = zvf.append(url, table, decimal=",", fill={"count": 12})
    assert (done["vertices"], done["objects"], done["ids"]) == (1, 0, [])
    found = zvf.open(url).query(where="count == 12").read().vertices.to_numpy()
    assert found["position"].tolist() == [[1.0, 2.0]]
    for wrong in (zvf.append, zvf.import_):
        with pytest.raises(zvf.MisuseError, match="^ids: found .old., expected kept, new or file"):
            wrong(url, table, ids="old")  # type: ignore[operator]
        with pytest.raises(zvf.MisuseError, match="^files: found an empty list"):
            wrong(url)  # type: ignore[operator]


def test_parts_of_files_are_one_store(tmp_path: Path) -> None:
    url, alike = tmp_path / "a.zarrvectors", {"chunk_shape": [5.0, 5.0], "bounds": "0,0:9,9"}
    files = {"left": "x,y,object_id\n1,2,1\n4,3,2\n", "right": "x,y,object_id\n6,2,1\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    first = tmp_path / "left.csv"
    assert not zvf.import_(url, first, begin=True, parts=list(files), **alike)["begun_before"]
    for name in files:
        done = zvf.import_(url, tmp_path / f"{name}.csv", part=name, id_offset=10 if name == "right" else None, **alike)
        assert done["written"], name
    assert zvf.import_(url, first, commit=True, **alike)["parts"] == list(files)
    assert zvf.open(url).query(columns=["object_id"]).read().vertices.to_numpy()["object_id"].tolist() == [1, 2, 11]
    with pytest.raises(zvf.MisuseError, match="^part: found no .bounds."):
        zvf.import_(url, first, part="left")


def test_wrong_jobs_have_the_errors_of_the_program() -> None:
    wrong = Path(__file__).parents[2] / "crates" / "zvf-jobs" / "tests" / "wrong.json"
    for job, text in json.loads(wrong.read_text()):
        expected = text.replace("{jobs}", ", ".join(zvf.schema()["$defs"]))
        with pytest.raises(zvf.MisuseError) as raised:
            zvf.run(job) if not isinstance(job, str) else _zvf.run_jobs(json.dumps(job), _options.writing({}), None)
        assert str(raised.value) == expected, job


def test_jobs_take_infinite_corners(tracts: Path, tmp_path: Path) -> None:
    job = {"job": "query", "store": tracts, "output": tmp_path / "all.csv", "bbox": [[float("-inf")] * 3, np.full(3, np.inf)]}
    zvf.run(job)
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + zvf.open(tracts).query().read().vertices.num_rows


def test_the_report_of_a_query_is_that_of_the_program(tracts: Path, tmp_path: Path) -> None:
    job = {"job": "query", "store": str(tracts), "bbox": [[0, 0, 0], [40, 40, 40]]}
    file = tmp_path / "job.json"
    file.write_text(json.dumps([job, job]))
    line = [sys.executable, "-P", "-m", "zvf", "run", str(file), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=True)
    theirs, ours = json.loads(done.stdout), zvf.run(file)
    for report in [*theirs, *ours]:
        # Chunks of the same shard may be read by one request or by two.
        assert report.pop("requests") > 0
        assert report.pop("bytes") > 0
        assert report["rounds"] > 0
    assert ours == theirs


def test_jobs_run_from_a_file(tracts: Path, tmp_path: Path) -> None:
    coarse = tmp_path / "coarse.zarrvectors"
    jobs = [
        {"job": "rechunk", "source": tracts, "target": coarse, "chunk_shape": np.array([40.0] * 3)},
        {"job": "pyramid", "store": coarse, "factors": (4, 2), "seed": 3},
        {"job": "validate", "store": str(coarse), "depth": 5},
        {"job": "vacuum", "store": coarse},
    ]
    seen: list[int] = []
    reports = zvf.run(jobs, progress=seen.append)
    assert isinstance(reports, list)
    assert [report["store"] for report in reports] == [str(coarse)] * 4
    assert (reports[1]["seed"], reports[2]["ok"]) == (3, True)
    assert seen
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"job": "pyramid", "store": str(coarse), "remove": True}))
    removed = zvf.run(file)
    assert isinstance(removed, dict)
    assert removed["levels_before"] == 2
    assert zvf.vacuum(coarse)["store"] == str(coarse)


def test_a_copy_has_the_same_files(tracts: Path, tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    seen: list[int] = []
    made = zvf.copy(tracts, tmp_path / "copy.zarrvectors", read_back=True, progress=seen.append)
    there = files(tracts)
    assert files(tmp_path / "copy.zarrvectors") == there
    assert (made["files"], made["bytes"]) == (len(there), sum(map(len, there.values())))
    assert (made["skipped"], made["verified"], sum(seen)) == (0, True, made["bytes"])
    with pytest.raises(zvf.MisuseError, match="already"):
        zvf.copy(tracts, tmp_path / "copy.zarrvectors")


def test_an_empty_store_takes_rows(tmp_path: Path) -> None:
    url, table = tmp_path / "a.zarrvectors", tmp_path / "a.csv"
    made = zvf.create(url, "point_cloud", np.array([4.0, 4.0]), "0,0:9,9", attributes=["n:int64"], axes=["y", "x"])
    assert (made["kind"], made["axes"], made["vertex_attributes"]) == ("point_cloud", ["y", "x"], ["n"])
    table.write_text("y,x,n\n1,2,3\n")
    assert zvf.append(url, table)["vertices"] == 1
    assert zvf.open(url).query().read().vertices.to_numpy()["n"].tolist() == [3]


def test_damage_is_found_and_repaired(tracts: Path) -> None:
    document = tracts / "0" / "zarr.json"
    text = json.loads(document.read_text())
    true = text["attributes"]["zarr_vectors_level"]["vertex_count"]
    # A larger number could be the only sign of a loss.
    text["attributes"]["zarr_vectors_level"]["vertex_count"] = true - 1
    document.write_text(json.dumps(text))
    report = zvf.validate(tracts, depth=4)
    assert any(str(true) in one.found + one.expected for one in report)
    table = report.table.to_numpy()
    assert table["code"].tolist() == [one.code for one in report]
    assert set(table["severity"].tolist()) <= {"error", "warning", "note"}
    planned = zvf.repair(tracts)
    assert not planned["applied"]
    assert planned["changes"]
    done = zvf.repair(tracts, apply=True)
    assert done["applied"]
    assert json.loads(document.read_text())["attributes"]["zarr_vectors_level"]["vertex_count"] == true
    assert len(zvf.validate(tracts, depth=4)) == 0
    assert zvf.repair(tracts, undo=done["backup"])["documents"] == len(done["documents"])
    assert json.loads(document.read_text())["attributes"]["zarr_vectors_level"]["vertex_count"] == true - 1
    with pytest.raises(zvf.MisuseError, match="^force: found no .undo."):
        zvf.repair(tracts, force=True)
    assert zvf.doctor(tracts)["store"] == str(tracts)


def test_bars_of_tqdm(tracts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told() -> str:
        return capsys.readouterr().err

    zvf.copy(tracts, tmp_path / "copy.zarrvectors", progress=True)
    bar = told()
    assert "copy: 100%" in bar and "B/s" in bar
    jobs = [{"job": "pyramid", "store": tracts, "factors": [4]}, {"job": "vacuum", "store": tracts}, {"job": "validate", "store": tracts}]
    zvf.run(jobs, progress=True)
    bars = told()
    assert "pyramid: " in bars and " vertices coarsened/s" in bars and "validate: " in bars and " cells/s" in bars
    assert "vacuum" not in bars, "it counts nothing"
    answer = zvf.open(tracts).query().read(progress=True)
    assert f"query: {len(answer.vertices) / 1000:.1f}k vertices" in told()
    zvf.open(tracts).query().read(progress=False)
    with pytest.raises(zvf.IoError):
        zvf.validate(tmp_path / "nowhere", progress=True)
    assert not told()


def test_bars_need_tqdm(tracts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(zvf.MisuseError, match="pip install tqdm") as caught:
        zvf.validate(tracts, progress=True)
    assert (caught.value.place, caught.value.found) == ("progress", "True")
    with pytest.raises(zvf.MisuseError, match="^progress: found 3"):
        zvf.open(tracts).query().read(progress=3)  # type: ignore[arg-type]


class _Enough(Exception):
    pass


def test_an_exception_of_a_callback_ends_the_work(tracts: Path, tmp_path: Path) -> None:
    calls: list[int] = []

    def fails(done: int) -> None:
        calls.append(done)
        raise _Enough

    with pytest.raises(_Enough):
        zvf.validate(tracts, depth=3, progress=fails)
    with pytest.raises(_Enough):
        zvf.open(tracts).query().read(progress=fails)
    with pytest.raises(_Enough):
        zvf.rechunk(tracts, tmp_path / "other", chunk_shape=[30.0] * 3, progress=fails)
    assert len(calls) == 3, "it is not called again"
    # The store can be changed: nothing of the work is left.
    zvf.pyramid(tracts, factors=[4.0])
    assert zvf.validate(tracts).ok


def test_a_callback_may_not_call_back(tracts: Path) -> None:
    errors: list[BaseException] = []

    def calls(_: int) -> None:
        try:
            zvf.open(tracts)
        except zvf.MisuseError as error:
            errors.append(error)

    zvf.pyramid(tracts, factors=[4.0], progress=calls)
    # The call either came from a thread of the runtime, and was refused, or from another one, and worked.
    assert all("callback" in str(error) for error in errors)


@pytest.mark.parametrize("command", [[sys.executable, "-m", "zvf"], [str(Path(sys.executable).with_name("zvf"))]])
def test_the_program(tracts: Path, command: list[str]) -> None:
    def zvf_says(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *words], capture_output=True, text=True, check=False)

    said = zvf_says("get", str(tracts), "7", "--format", "csv", "--columns", "position")
    assert (said.returncode, said.stderr) == (0, "")
    assert len(said.stdout.splitlines()) == 1 + len(zvf.open(tracts).get([7]).positions)
    assert "validate" in zvf_says("--help").stdout
    assert zvf_says("--version").stdout.startswith("zvf ")
    assert [zvf_says("info", "nowhere").returncode, zvf_says("nonsense").returncode] == [3, 2]
    assert "nowhere" in zvf_says("info", "nowhere").stderr


def test_the_sample(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(SAMPLES / "tour.py"), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no object 20" in done.stdout


ENDLESS = """
import sys, threading, time, zvf
store = zvf.open(sys.argv[1])
print("ready", flush=True)
try:
    while True:
        for batch in store.query(batch_rows=50):
            pass
        store.query().read()
        zvf.validate(sys.argv[1], depth=5)
except KeyboardInterrupt:
    # What was interrupted can be asked again.
    print("interrupted", len(store.get([1])), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_a_call(tracts: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(tracts)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted 1\n"
        assert child.wait(20) == 0


SLOW = """
import signal, sys, threading, time, zvf
# A server that takes connections and never answers.
import socket
server = socket.create_server(("127.0.0.1", 0))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
start = time.monotonic()
try:
    zvf.open(f"http://127.0.0.1:{server.getsockname()[1]}/store.zarrvectors")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 5)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_a_request_that_hangs() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "interrupted True\n", done.stderr


FORKED = """
import os, sys, zvf
store = zvf.open(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        store.query().read()
    except zvf.MisuseError as error:
        os._exit(7 if "spawn" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_told_so(tracts: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED, str(tracts)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7\n"


def test_archives_keep_names_and_units_of_axes(tmp_path: Path) -> None:
    positions = np.arange(12.0).reshape(3, 4)
    names, units = ["t", "z", "y", "x"], ["second", "micrometer", "micrometer", ""]
    np.savez(tmp_path / "a.npz", positions=positions, axes=names, units=units, v=np.arange(3))
    zvf.import_(tmp_path / "a.zarrvectors", tmp_path / "a.npz")
    axes = zvf.open(tmp_path / "a.zarrvectors").info["axes"]
    assert [(axis["name"], axis["type"], axis["unit"] or "") for axis in axes] == list(
        zip(names, ["time", "space", "space", "space"], units, strict=True)
    )
    zvf.export(tmp_path / "a.zarrvectors", tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as found:
        assert sorted(found.files) == ["axes", "positions", "units", "v"]
        assert (found["axes"].tolist(), found["units"].tolist()) == (names, units)
        np.testing.assert_array_equal(found["positions"][np.argsort(found["v"])], positions)


def test_faces_need_a_file(tmp_path: Path) -> None:
    url = tmp_path / "mesh.zv"
    zvf.write(url, kind="mesh", positions=np.eye(3), links=[[0, 1, 2]], chunk_shape=[9] * 3)
    with pytest.raises(zvf.MisuseError, match="expected links=FILE"):
        zvf.export(url, tmp_path / "m.csv", faces=True)
    zvf.export(url, tmp_path / "m.csv", links=tmp_path / "f.csv", faces=True)
    assert (tmp_path / "f.csv").exists()
