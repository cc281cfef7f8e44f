"""The same jobs by zvf and by what a user would pick instead, in one process, warm, in turn.

Every answer is compared with the first one before anything is timed: a peer with another answer is shown, but not compared with. Times are
medians of rounds, in which the peers take turns; a peer that takes longer than a limit is timed once.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

OURS = "zvf"
# The same with the codec that Zarr tools use by default.
ZSTD = "zvf, zstd"
RELEASED = "zarr-vectors"

# A job that takes longer is timed once, in seconds.
LONG = 20.0


class Peer(NamedTuple):
    """One program or package with its own files."""

    name: str
    write: Callable[[Path], None]
    """Writes all data to an address that does not exist."""
    open: Callable[[Path], Mapping[str, Callable[[], Any]]]
    """The jobs on what was written, by their names. What they share is opened here."""


class Bar(NamedTuple):
    """How fast ours has to be beside a peer: its time by ours is at least this."""

    job: str
    peer: str
    ratio: float


class Result:
    """Seconds of each job of each peer, and what else was measured."""

    def __init__(self) -> None:
        self.times: dict[str, dict[str, list[float]]] = {}
        self.memory: dict[str, dict[str, float]] = {}
        self.wrong: set[tuple[str, str]] = set()

    def median(self, job: str, peer: str) -> float | None:
        found = self.times.get(job, {}).get(peer)
        return statistics.median(found) if found else None


def size(path: Path) -> tuple[int, int]:
    """Bytes and files."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files), len(files)


def peak(job: Callable[[], Any]) -> float:
    """Megabytes by which the memory of the process grew at most while a job ran. Linux alone counts that."""
    gc.collect()
    try:
        # Sets the highest amount of memory to what is used now.
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    before = resident("VmRSS")
    answer = job()
    most = resident("VmHWM")
    del answer
    return max(0.0, (most - before) / 1024)


def resident(name: str) -> int:
    """A line of the status of this process, in kilobytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def timed(job: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    answer = job()
    took = time.perf_counter() - start
    del answer
    return took


def same(found: Any, expected: Any) -> bool:
    """Whether two answers hold the same: arrays, or lists of them, which the jobs have sorted."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(same(a, b) for a, b in zip(found, expected, strict=True))
    found, expected = np.asarray(found), np.asarray(expected)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-6)


def compare(peers: list[Peer], folder: Path, rounds: int, check: Callable[[str, Any], Any]) -> Result:
    """Writes with each peer, compares the answers, and times the jobs."""
    result = Result()
    jobs: dict[str, Mapping[str, Callable[[], Any]]] = {}
    for peer in peers:
        path = folder / peer.name.replace(" ", "-")
        clear(path)
        result.times.setdefault("write", {})[peer.name] = [timed(lambda: peer.write(path))]
        result.memory.setdefault("size: MB", {})[peer.name] = size(path)[0] / 1e6
        result.memory.setdefault("files", {})[peer.name] = size(path)[1]
        jobs[peer.name] = peer.open(path)
        print(f"  wrote {peer.name}", flush=True)
    names = list(jobs[peers[0].name])
    for job in names:
        expected = check(job, jobs[peers[0].name][job]())
        for peer in peers[1:]:
            if job in jobs[peer.name] and not same(check(job, jobs[peer.name][job]()), expected):
                result.wrong.add((job, peer.name))
        print(f"  compared {job}", flush=True)
    for number in range(rounds):
        # Every peer comes first as often as the others.
        turn = peers[number % len(peers) :] + peers[: number % len(peers)]
        for job in names:
            for peer in turn:
                times = result.times.setdefault(job, {}).setdefault(peer.name, [])
                if job in jobs[peer.name] and not (times and times[0] > LONG):
                    times.append(timed(jobs[peer.name][job]))
        # What was written first had the time of the machine's caches on its side: it is done again in other orders.
        for peer in turn:
            times = result.times["write"][peer.name]
            if number + 1 < rounds and times[0] <= LONG:
                path = folder / f"{peer.name.replace(' ', '-')}-again"
                clear(path)
                times.append(timed(lambda: peer.write(path)))
                clear(path)
    for job in names:
        for peer in peers:
            if job in jobs[peer.name]:
                result.memory.setdefault(f"{job}: MB", {})[peer.name] = peak(jobs[peer.name][job])
    return result


def clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"


def report(title: str, peers: list[Peer], result: Result, bars: list[Bar]) -> int:
    """Prints the tables, and returns how many bars are missed."""
    print(f"\n{title}\n")
    names = [peer.name for peer in peers]
    line = "| {:<26} | " + " | ".join("{:>18}" for _ in names) + " |"
    print(line.format("median", *names))
    print("|" + "---|" * (len(names) + 1))
    for job in result.times:
        ours = result.median(job, OURS)
        cells = []
        for name in names:
            took = result.median(job, name)
            note = " (other rows)" if (job, name) in result.wrong else ""
            ratio = f" {took / ours:.1f}x" if took is not None and ours and name != OURS and not note else ""
            cells.append(seconds(took) + ratio + note)
        print(line.format(job, *cells))
    for what, found in result.memory.items():
        digits = 1 if what == "size: MB" else 0
        print(line.format(what, *(f"{found[name]:,.{digits}f}" if name in found else "-" for name in names)))
    missed = 0
    wanted = list(bars)
    if RELEASED in names:
        wanted += [Bar(job, RELEASED, 20.0) for job in result.times if job != "write"]
    print()
    for bar in wanted:
        theirs = result.median(bar.job, bar.peer)
        if theirs is None:
            continue
        if (bar.job, bar.peer) in result.wrong:
            print(f"  -    {bar.job}: {bar.peer} gives other rows")
            continue
        for name in (OURS, ZSTD):
            ours = result.median(bar.job, name)
            if ours is None:
                continue
            passed = theirs / ours >= bar.ratio
            missed += not passed and name == OURS
            print(f"  {'pass' if passed else 'MISS'} {bar.job}: {name} {theirs / ours:.2f} times as fast as {bar.peer}, expected {bar.ratio:g}")
    return missed


def main() -> None:
    import peers_lines
    import peers_points
    import peers_precomputed
    import peers_transcripts

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the data")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=("points", "lines", "precomputed", "transcripts"))
    parser.add_argument("--without", action="append", default=[], metavar="PEER")
    terms = parser.parse_args()
    print(f"{os.cpu_count()} processors, {terms.rounds} rounds, scale {terms.scale:g}")
    sets: list[tuple[str, Callable[[], tuple[list[Peer], list[Bar], Callable[[str, Any], Any]]]]] = []
    if terms.only in (None, "points"):
        count = int(5_000_000 * terms.scale)
        sets.append((f"{count:,} points", lambda: peers_points.peers(count)))
    if terms.only in (None, "lines"):
        for all_of_them in (20_000, 200_000):
            lines = int(all_of_them * terms.scale)
            sets.append((f"{lines:,} streamlines of 100 points", lambda lines=lines: peers_lines.peers(lines)))
    if terms.only in (None, "precomputed"):
        sets += peers_precomputed.sets(terms.scale)
    if terms.only in (None, "transcripts"):
        # As many as in scverse/spatialdata#1207.
        transcripts = int(42_638_083 * terms.scale)
        sets.append((f"{transcripts:,} transcripts", lambda: peers_transcripts.peers(transcripts, terms.folder / "files")))
    missed = 0
    for title, make in sets:
        print(f"\n{title}", flush=True)
        made, bars, check = make()
        made = [peer for peer in made if peer.name not in terms.without]
        folder = terms.folder / "".join(one if one.isalnum() else "-" for one in title)
        clear(folder)
        folder.mkdir(parents=True)
        missed += report(title, made, compare(made, folder, terms.rounds, check), bars)
        shutil.rmtree(folder)
    clear(terms.folder / "files")
    print(f"\n{missed} bars missed")


if __name__ == "__main__":
    # The other files of this program import this one.
    sys.modules["peers"] = sys.modules[__name__]
    main()
