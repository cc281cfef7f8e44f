"""Imports four large datasets, makes coarse levels of them with `zvf pyramid STORE`, and compares each level with what went in.

    levels.py ZVF FOLDER [--small] [--only NAME] [--seed N] [--memory-budget MIB]

Datasets: bundles of smooth streamlines, points in clusters, a bumpy sphere of triangles, branching trees. For level 0 and each coarse
level it prints vertices, objects and files, how alike it looks, and for the commands how long they took and the most memory
that they had resident. A level looks like the data as far as the density maps of both correlate: on each of three planes, a
histogram of points, or of points set along lines and on faces, evenly by length and area. The map of level 0 is that of the input,
not of what the store says.

Ends with 1 where a level is not 2 to 32 times smaller than the finer one, a map correlates less than 0.9, more memory was resident
than twice the budget and 64 MB, or (without --small) levels have more files than level 0 or the pyramid took longer than five imports.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

BUDGET = 256
MEASURED = Path(__file__).with_name("measured.py")


def smooth(rng, count, steps, size):
    """Bundles: lines that follow one of a few curves, each beside it by its own offset."""
    bundles = 40
    t = np.linspace(0, 1, steps)
    starts, ends, bends = (rng.uniform(-size, size, (bundles, 1, 3)) for _ in range(3))
    curve = (1 - t)[None, :, None] ** 2 * starts + (2 * t * (1 - t))[None, :, None] * bends + (t**2)[None, :, None] * ends
    bundle = rng.choice(bundles, count, p=rng.dirichlet(np.full(bundles, 2.0)))
    offset = rng.normal(0, size * 0.02, (count, 1, 3))
    twist = rng.normal(0, size * 0.01, (count, 1, 3)) * np.sin(2 * np.pi * t)[None, :, None]
    return (curve[bundle] + offset + twist).astype(np.float32)


def streamlines(rng, small, folder):
    count, steps = (600, 60) if small else (200_000, 100)
    lines = smooth(rng, count, steps, 80)
    path = folder / "lines.tck"
    rows = np.full((count, steps + 1, 3), np.nan, np.float32)
    rows[:, :steps] = lines
    head = f"mrtrix tracks\ndatatype: Float32LE\ncount: {count}\nfile: . "
    offset = len(head) + 16
    head = f"{head}{offset}\nEND\n".encode()
    with open(path, "wb") as out:
        out.write(head.ljust(offset, b"\n"))
        out.write(rows.tobytes())
        out.write(np.full(3, np.inf, np.float32).tobytes())
    return [path], lines[:, :-1].reshape(-1, 3), lines[:, 1:].reshape(-1, 3)


def clusters(rng, small, folder):
    count = 40_000 if small else 10_000_000
    centres = rng.uniform(0, 1000, (60, 3))
    spread = rng.uniform(5, 60, 60)
    which = rng.choice(60, count, p=rng.dirichlet(np.full(60, 2.0)))
    points = (centres[which] + rng.normal(size=(count, 3)) * spread[which, None]).astype(np.float32)
    path = folder / "points.npy"
    np.save(path, points)
    return [path], points, None


def sphere(rng, small, folder):
    rows, columns = (90, 180) if small else (1000, 1000)
    theta = np.linspace(0.02, np.pi - 0.02, rows)[:, None]
    phi = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None, :]
    radius = 100 + 6 * np.sin(7 * theta) * np.cos(9 * phi) + 3 * np.sin(23 * phi) * np.sin(17 * theta)
    xyz = np.stack([radius * np.sin(theta) * np.cos(phi), radius * np.sin(theta) * np.sin(phi), radius * np.cos(theta) + 0 * phi], -1)
    xyz = xyz.reshape(-1, 3).astype(np.float32)
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns)[None, :]).ravel()
    b = (np.arange(rows - 1)[:, None] * columns + (np.arange(columns)[None, :] + 1) % columns).ravel()
    faces = np.concatenate([np.stack([a, b, b + columns], 1), np.stack([a, b + columns, a + columns], 1)])
    path = folder / "sphere.obj"
    with open(path, "w") as out:
        np.savetxt(out, xyz, "v %.4f %.4f %.4f")
        np.savetxt(out, faces + 1, "f %d %d %d")
    return [path], xyz, faces


def trees(rng, small, folder):
    """Each a trunk with branches that branch, as an SWC file."""
    count, nodes = (30, 1200) if small else (1000, 5000)
    path = folder / "trees"
    path.mkdir()
    starts, ends = [], []
    for tree in range(count):
        root = rng.uniform(-400, 400, 3)
        length, xyz, parent = 60, [root], [-1]
        tips = [(0, rng.normal(size=3))]
        while len(xyz) < nodes:
            at, way = tips.pop(0)
            way = way / np.linalg.norm(way)
            for _ in range(min(length, nodes - len(xyz))):
                way = way + rng.normal(0, 0.08, 3)
                way = way / np.linalg.norm(way)
                xyz.append(xyz[at] + way)
                parent.append(at)
                at = len(xyz) - 1
            tips += [(at, way + rng.normal(0, 0.7, 3)) for _ in range(2)]
        xyz, parent = np.array(xyz).astype(np.float32), np.array(parent)
        rows = np.column_stack([np.arange(len(xyz)) + 1, np.full(len(xyz), 3), xyz, np.ones(len(xyz)), np.where(parent < 0, -1, parent + 1)])
        np.savetxt(path / f"{tree}.swc", rows, "%d %d %.4f %.4f %.4f %g %d")
        starts.append(xyz[1:])
        ends.append(xyz[parent[1:]])
    return sorted(path.iterdir()), np.concatenate(starts), np.concatenate(ends)


DATA = {"streamlines": streamlines, "points": clusters, "mesh": sphere, "skeletons": trees}


def maps(points, box, cells):
    """Histograms on three planes."""
    low, high = box
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        yield np.histogram2d(points[:, a], points[:, b], cells, [[low[a], high[a]], [low[b], high[b]]])[0].ravel()


def along(starts, ends, step):
    """Points along segments, evenly by length."""
    lengths = np.linalg.norm(ends - starts, axis=1)
    edges = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(step / 2, edges[-1], step)
    which = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(lengths) - 1)
    part = (places - edges[which]) / np.maximum(lengths[which], 1e-12)
    return starts[which] + part[:, None] * (ends[which] - starts[which])


def on_faces(xyz, faces, many):
    """Points on triangles, evenly by area."""
    corners = xyz[faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(3)
    which = rng.choice(len(faces), many, p=areas / areas.sum())
    u, v = rng.uniform(size=(2, many, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    a, b, c = (corners[which, i] for i in range(3))
    return a + u * (b - a) + v * (c - a)


def drawn(name, a, b):
    if name == "points":
        return a
    if name == "mesh":
        return on_faces(a, b, 1_000_000)
    total = np.linalg.norm(b - a, axis=1).sum()
    return along(a.astype(np.float64), b.astype(np.float64), total / 2_000_000)


def level(zvf, store, name, number, folder):
    """What a level draws: by the answer of the program."""
    import pyarrow as pa

    out = folder / "level"
    shutil.rmtree(out, ignore_errors=True)
    run([zvf, "query", store, "--level", number, "-o", out, "--quiet"])

    def table(what):
        with pa.memory_map(str(out / f"{what}.arrow")) as source:
            return pa.ipc.open_file(source).read_all()

    def matrix(column):
        column = column.combine_chunks()
        return np.asarray(column.flatten()).reshape(len(column), -1)

    vertices = table("vertices")
    xyz = matrix(vertices["position"])
    if name == "points":
        return xyz, None
    links = matrix(table("links")["vertices"])
    if name == "mesh":
        return xyz, links
    return xyz[links[:, 0]], xyz[links[:, 1]]


def run(command):
    """Seconds, and the most bytes resident."""
    done = subprocess.run([sys.executable, MEASURED, *map(str, command)], stdout=subprocess.PIPE, check=True)
    code, seconds, _, peak, said = json.loads(done.stdout)
    if code != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {code}\n{said}")
    return seconds, peak * 1024


def files(folder):
    return sum(len(names) for _, _, names in os.walk(folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zvf", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", choices=DATA)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory-budget", type=int, default=BUDGET)
    args = parser.parse_args()
    wrong, cells = [], 32 if args.small else 128
    print("| data | level | vertices | objects | files | alike | import | pyramid | ratio | peak import | peak pyramid |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, make in DATA.items():
        if args.only not in (None, name):
            continue
        folder = args.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        paths, a, b = make(np.random.default_rng(args.seed), args.small, folder)
        store, budget = folder / "store.zv", ["--memory-budget", f"{args.memory_budget}MiB", "--quiet"]
        took, resident = run([args.zvf, "import", *paths, store, *budget])
        until = ["--levels-until", "2500"] if args.small else []
        took_levels, resident_levels = run([args.zvf, "pyramid", store, *until, *budget])
        info = json.loads(subprocess.check_output([args.zvf, "info", store, "--json", "--count"]))
        whole = drawn(name, a, b)
        box = whole.min(axis=0), whole.max(axis=0)
        wanted = list(maps(whole, box, cells))
        before, first, later = None, files(store / "0"), 0
        for number, one in enumerate(info["levels"]):
            many = files(store / str(number))
            row = [name, number, f"{one['vertices']:,}", one.get("objects", ""), f"{many:,}"]
            if number == 0:
                ratio = took_levels / took
                row += ["", f"{took:.1f} s", f"{took_levels:.1f} s", f"{ratio:.1f}", f"{resident / 1e6:.0f} MB", f"{resident_levels / 1e6:.0f} MB"]
                if not args.small and ratio > 5:
                    wrong.append(f"{name}: the pyramid took {ratio:.1f} imports")
                if resident_levels > 2 * args.memory_budget * 2**20 + 64e6:
                    wrong.append(f"{name}: {resident_levels / 1e6:.0f} MB resident")
            else:
                later += many
                found = maps(drawn(name, *level(args.zvf, store, name, number, folder)), box, cells)
                alike = min(np.corrcoef(x, y)[0, 1] for x, y in zip(wanted, found))
                row += [f"{alike:.3f}"]
                fewer = before / max(one["vertices"], 1)
                if alike < 0.9:
                    wrong.append(f"{name}, level {number}: maps correlate {alike:.3f}")
                if not 2 <= fewer <= 32:
                    wrong.append(f"{name}, level {number}: {fewer:.1f} times smaller")
            before = one["vertices"]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
        if len(info["levels"]) < (2 if args.small else 3):
            wrong.append(f"{name}: {len(info['levels'])} levels")
        # Of a small store most files are documents.
        if not args.small and later >= first:
            wrong.append(f"{name}: {later} files of levels, {first} of level 0")
        shutil.rmtree(folder)
    for one in wrong:
        print(one)
    sys.exit(1 if wrong else 0)


main()
