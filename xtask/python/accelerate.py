"""The tests of the released package `zarr-vectors`, without and with `zvf.accelerate()`: the same ones have to pass.

Arguments: the folder to work in, and arguments of pytest. The tests are part of the package's source distribution, which is taken from
the package index and is no part of this project.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

NAME = "zarr_vectors-0.9.2"
DIGEST = "1cc92adf9233026e7748af6efdddba2d12a6f3cf668c74c63b3126cd9ddebcc4"

# Tests that pass without and fail with zvf, since they state an answer of the package that is known to be wrong: the trap of
# docs/traps.md for each.
WRONG: dict[str, str] = {}

# Each of the two runs takes a few minutes; a run that hangs is ended.
SECONDS = 3600


def tests(folder: Path) -> Path:
    """Downloads the source distribution, and unpacks everything but the package itself, which is installed."""
    made = folder / NAME
    archive = folder / f"{NAME}.tar.gz"
    if not archive.exists():
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*download, "--no-binary", "zarr-vectors", "--dest", folder, "zarr-vectors==0.9.2"], check=True)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != DIGEST:
        sys.exit(f"{archive}: found sha256 {found}, expected {DIGEST}")
    with tarfile.open(archive) as packed:
        members = [member for member in packed.getmembers() if not member.name.startswith(f"{NAME}/zarr_vectors/")]
        packed.extractall(folder, members, filter="data")
    return made


def start(source: Path, folder: Path, name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    """One run of the tests; what it prints goes to a file."""
    environment = {
        **os.environ,
        # Some tests wait in threads of zarr for threads of zarr: with as many as two cores give, they wait for ever.
        "ZARR_THREADING__MAX_WORKERS": "64",
    }
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *arguments]
    command += ["--basetemp", str(folder / f"temp-{name}"), "--junit-xml", str(folder / f"{name}.xml")]
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(command, cwd=source, env=environment, stdout=log, stderr=subprocess.STDOUT)


def outcomes(file: Path) -> dict[str, str]:
    """What became of each test."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        found[name] = "passed" if not kinds else "skipped" if kinds == {"skipped"} else "failed"
    return found


def check(folder: Path) -> None:
    """What the tests of the package cannot ask: that the functions are put back, and that `strict` refuses what is left."""
    import numpy as np
    import zarr_vectors
    import zvf
    from zarr_vectors.types import points

    released = points.read_points
    store = folder / "points.zarrvectors"
    shutil.rmtree(store, ignore_errors=True)
    places = np.random.default_rng(1).uniform(0, 10, (1000, 3)).astype(np.float32)
    points.write_points(str(store), places, chunk_shape=(5.0, 5.0, 5.0))
    box = (np.zeros(3), np.full(3, 4.0))
    theirs = points.read_points(str(store), bbox=box)["positions"]
    with zvf.accelerate() as accelerated:
        ours = points.read_points(str(store), bbox=box)["positions"]
        assert accelerated.stats()["read_points"].served == 1
        replaced = points.read_points
        accelerated(strict=True)
        try:
            points.read_points(str(store), chunks=[])
        except zvf.MisuseError:
            pass
        else:
            sys.exit("strict: found an answer of the released package, expected an error")
        assert zarr_vectors.open(str(store)).level(0).read().vertex_count == 1000
        assert accelerated.stats()["Level.read"].served == 1
    np.testing.assert_array_equal(ours, theirs)
    assert points.read_points is released and not zvf.accelerate.active
    np.testing.assert_array_equal(replaced(str(store), bbox=box)["positions"], theirs)
    assert zvf.accelerate.stats()["read_points"].served == 1


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    arguments = sys.argv[2:]
    source = tests(folder)
    check(folder)
    begin = time.monotonic()
    counts = folder / "counts.json"
    counts.unlink(missing_ok=True)
    plugin = ["-p", "zvf.pytest_accelerate", "--zvf-counts", str(counts)]
    runs = {
        "without": start(source, folder, "without", arguments),
        "with": start(source, folder, "with", [*plugin, *arguments]),
    }
    try:
        for name, run in runs.items():
            # 1: some tests failed.
            if run.wait(SECONDS) not in (0, 1):
                sys.exit(f"the run {name} ended with {run.returncode}: {folder / f'{name}.log'}")
    finally:
        for run in runs.values():
            run.kill()
    before, after = outcomes(folder / "without.xml"), outcomes(folder / "with.xml")
    for name, found in (("without", before), ("with", after)):
        parts = ", ".join(f"{list(found.values()).count(kind)} {kind}" for kind in ("passed", "failed", "skipped"))
        print(f"{name:<8} {len(found)} tests: {parts}")
    problems = []
    for name in sorted(before.keys() | after.keys()):
        kinds = before.get(name, "missing"), after.get(name, "missing")
        if kinds[0] == kinds[1]:
            if name in WRONG and not arguments:
                problems.append(f"{name}: {kinds[0]} both without and with, but is listed as {WRONG[name]}")
        elif kinds == ("passed", "failed") and name in WRONG:
            print(f"  {name}: fails with zvf, since it states a wrong answer: trap {WRONG[name]}")
        else:
            problems.append(f"{name}: {kinds[0]} without, {kinds[1]} with")
    print(f"{'calls':<16}{'served':>8}{'left':>8}")
    for name, calls in json.loads(counts.read_text()).items():
        print(f"{name:<16}{calls['served']:>8}{sum(calls['left'].values()):>8}")
        for reason, count in sorted(calls["left"].items()):
            print(f"{'':<16}{'':>8}{count:>8}  {reason}")
        if calls["served"] == 0 and not arguments:
            problems.append(f"{name}: no call was served")
    print(f"{time.monotonic() - begin:.0f} s")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
