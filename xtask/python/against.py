"""Runs the same jobs with two builds of the program in turn, and compares time, memory and what they made.

    against.py OLD NEW FOLDER [--rounds N] [--only NAME] [--small] [--bar PERCENT]

Each job is a command of the program, run as a process of its own, old and new alternating; which of the two begins changes with every
round. What a job changes is copied anew before, outside of the time. For each it prints the medians, the median of the ratios of
the rounds, their quartiles, the CPU time and the most memory resident. Stores that both wrote are compared byte by byte.

Ends with 1 where the median ratio of a job is above the bar (5 %).
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEASURED = Path(__file__).with_name("measured.py")


def points(folder, rng, count):
    """A cloud in clusters, with two attributes, as a Parquet table."""
    centres = rng.uniform(0, 1000, (60, 3))
    where = centres[rng.integers(0, 60, count)] + rng.normal(size=(count, 3)) * 40
    where = np.clip(where, 0, 999).astype(np.float32)
    table = {axis: where[:, at] for at, axis in enumerate("xyz")}
    table["mass"] = rng.normal(size=count).astype(np.float32)
    table["label"] = rng.integers(0, 12, count).astype(np.int32)
    pq.write_table(pa.table(table), folder / "points.parquet", compression="zstd")


def lines(folder, rng, count, steps):
    """Streamlines as TRX has them."""
    starts = rng.uniform(-60, 60, (count, 1, 3))
    ways = np.cumsum(rng.normal(rng.normal(size=(count, 1, 3)) * 0.5, 0.3, (count, steps, 3)), axis=1)
    rows = (starts + ways).astype(np.float32).reshape(-1, 3)
    header = {"DIMENSIONS": [100, 100, 100], "VOXEL_TO_RASMM": np.eye(4).tolist(), "NB_VERTICES": len(rows), "NB_STREAMLINES": count}
    with zipfile.ZipFile(folder / "lines.trx", "w", zipfile.ZIP_STORED) as out:
        out.writestr("header.json", json.dumps(header))
        out.writestr("positions.3.float32", rows.tobytes())
        out.writestr("offsets.uint64", (np.arange(count + 1, dtype=np.uint64) * steps).tobytes())


def neurons(folder, rng, count, nodes):
    """Skeletons as SWC files."""
    (folder / "swc").mkdir()
    for cell in range(count):
        parents = np.array([-1] + [max(0, at - 1 - (rng.integers(0, 9) == 0) * int(rng.integers(0, 30))) for at in range(1, nodes)])
        where = np.zeros((nodes, 3))
        where[0] = rng.uniform(0, 400, 3)
        steps = rng.normal(size=(nodes, 3))
        for at in range(1, nodes):
            where[at] = where[parents[at]] + steps[at]
        rows = (f"{at + 1} 3 {x:.3f} {y:.3f} {z:.3f} 0.5 {parent + 1 if parent >= 0 else -1}" for at, ((x, y, z), parent) in enumerate(zip(where, parents)))
        (folder / "swc" / f"{cell}.swc").write_text("\n".join(rows) + "\n")


class Bench:
    def __init__(self, arguments):
        self.programs = {"old": Path(arguments.old).resolve(), "new": Path(arguments.new).resolve()}
        self.folder = Path(arguments.folder).resolve()
        self.rounds = arguments.rounds
        self.only = arguments.only
        self.bar = 1 + arguments.bar / 100
        self.places = 0
        self.slower = []
        self.differ = []

    def run(self, which, command):
        command = [self.programs[which], *command]
        out = subprocess.run([sys.executable, MEASURED, *command], capture_output=True, text=True, cwd=self.folder, check=True)
        code, wall, cpu, peak, said = json.loads(out.stdout)
        if code:
            sys.exit(f"{which}: {' '.join(map(str, command))}: {code}\n{said}")
        return wall, cpu, peak / 1024

    def job(self, name, command, makes=None, changes=None, rounds=None):
        """`{}` in the command is the store that it makes, or the copy of `changes` that it changes."""
        if self.only and self.only not in name:
            return
        found, made = {"old": [], "new": []}, {}
        for number in range(-1, rounds or self.rounds):
            order = ["old", "new"] if number % 2 else ["new", "old"]
            for which in order:
                # A place of its own: ext4 does not give the inodes of removed files again at once, and looks long for others.
                self.places += 1
                made[which] = f"{self.places}/{makes or 'changed'}"
                place = made[which]
                (self.folder / place).parent.mkdir()
                if changes:
                    shutil.copytree(self.folder / changes, self.folder / place)
                os.sync()
                measured = self.run(which, [part.replace("{}", place) for part in command])
                # The first round brings files and programs to memory.
                if number >= 0:
                    found[which].append(measured)
        if makes or changes:
            self.compare(name, *(self.folder / made[which] for which in found))
        self.tell(name, found)

    def tell(self, name, found):
        old, new = (np.array(found[which]) for which in ("old", "new"))
        ratios = new[:, 0] / old[:, 0]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        if middle > self.bar:
            self.slower.append(f"{name} {middle:.2f}")
        old, new = np.median(old, axis=0), np.median(new, axis=0)
        print(
            f"| {name} | {old[0] * 1e3:.0f} | {new[0] * 1e3:.0f} | {middle:.2f} ({low:.2f} to {high:.2f}) | "
            f"{new[1] / old[1]:.2f} | {old[2]:.0f} | {new[2]:.0f} |",
            flush=True,
        )

    def compare(self, name, old, new):
        """Notes files that are not the same in what both programs made."""
        if old.is_file():
            if not filecmp.cmp(old, new, shallow=False):
                self.differ.append(f"{name}: {old.name}")
            return
        files = [{path.relative_to(top) for path in top.rglob("*") if path.is_file()} for top in (old, new)]
        same = files[0] & files[1]
        other = [path for path in sorted(same) if not filecmp.cmp(old / path, new / path, shallow=False)]
        other += sorted(files[0] ^ files[1])
        if other:
            self.differ.append(f"{name}: {len(other)} of {len(files[0] | files[1])} files, {other[0]} first")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--bar", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    folder = bench.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(arguments.seed)
    share = 100 if arguments.small else 1
    points(folder, rng, 5_000_000 // share)
    lines(folder, rng, 20_000 // share, 100)
    neurons(folder, rng, 400 // share, 500)
    (folder / "more.csv").write_text("object_id,x,y,z\n" + "".join(f"{900000 + at // 20},{at % 60},{at % 41},{at % 23}\n" for at in range(4000)))

    print("| job | old, ms | new, ms | ratio (quartiles) | CPU | old, MB | new, MB |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    cloud = ["--chunk-shape", "130,130,130", "--kind", "point_cloud"]
    tracts = ["--chunk-shape", "30,30,30"]
    bench.job("import of points from Parquet", ["import", "points.parquet", "{}", *cloud, "-q"], makes="points.zv", rounds=5)
    bench.job("import of streamlines from TRX", ["import", "lines.trx", "{}", *tracts, "-q"], makes="lines.zv", rounds=5)
    bench.job("import of skeletons from SWC", ["import", *(f"swc/{at}.swc" for at in range(400 // share)), "{}", "--chunk-shape", "100,100,100", "-q"], makes="cells.zv")
    for name, command in (("points", ["points.parquet", *cloud]), ("lines", ["lines.trx", *tracts])):
        if not (folder / f"{name}.zv").exists():
            bench.run("new", ["import", command[0], f"{name}.zv", *command[1:], "-q"])
    bench.run("new", ["import", *(f"swc/{at}.swc" for at in range(400 // share)), "cells.zv", "--chunk-shape", "100,100,100", "-q"])
    bench.run("new", ["migrate", "lines.zv", "lines81.zv", "--to", "0.8.1", "-q"])

    bench.job("info, points", ["info", "points.zv"], rounds=2 * bench.rounds)
    bench.job("scan of all points to Arrow", ["query", "points.zv", "-o", "{}", "-q"], makes="all.arrow")
    bench.job("box of 0.8 % of the points", ["query", "points.zv", "--bbox", "400,400,400:600,600,600", "-o", "{}", "-q"], makes="box.arrow", rounds=2 * bench.rounds)
    bench.job("one streamline by id", ["get", "lines.zv", "77", "-o", "{}", "-q"], makes="one.arrow", rounds=2 * bench.rounds)
    bench.job("scan of all streamlines to Arrow", ["query", "lines.zv", "-o", "{}", "-q"], makes="lines.arrow")
    bench.job("whole streamlines of a box", ["query", "lines.zv", "--bbox", "0,0,0:10,10,10", "--select", "objects", "-o", "{}", "-q"], makes="whole.arrow")
    bench.job("export to TRX", ["export", "lines.zv", "{}", "-q"], makes="out.trx")
    bench.job("validate, streamlines, level 5", ["validate", "lines.zv", "--level", "5", "-q"])
    bench.job("coarse levels of points", ["pyramid", "{}", "--factors", "2,2", "-q"], changes="points.zv", rounds=3)
    bench.job("coarse levels of streamlines", ["pyramid", "{}", "--factors", "2,2", "-q"], changes="lines.zv", rounds=3)
    bench.job("coarse levels of skeletons", ["pyramid", "{}", "--factors", "2,2", "-q"], changes="cells.zv", rounds=3)
    bench.job("append 200 objects", ["edit", "{}", "append", "more.csv", "-q"], changes="lines.zv")
    bench.job("delete two objects", ["edit", "{}", "delete", "5", "9000" if share == 1 else "90", "-q"], changes="lines.zv")
    bench.job("rechunk streamlines", ["rechunk", "lines.zv", "{}", "--chunk-shape", "45,45,45", "-q"], makes="rechunked.zv", rounds=3)
    bench.job("migrate streamlines from 0.8.1", ["migrate", "lines81.zv", "{}", "--to", "0.9.2", "-q"], makes="migrated.zv", rounds=3)
    bench.job("rechunk skeletons", ["rechunk", "cells.zv", "{}", "--chunk-shape", "150,150,150", "-q"], makes="cells2.zv", rounds=3)

    for line in bench.differ:
        print(f"not the same bytes: {line}")
    for line in bench.slower:
        print(f"slower: {line}")
    sys.exit(1 if bench.slower else 0)


if __name__ == "__main__":
    main()
