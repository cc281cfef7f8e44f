"""Slices of a 512^3 array by python-blosc2 and by us, in the same run: caterva_bench.py PROGRAM FOLDER [--rounds N].

Both processes stay open; rounds alternate between them and the order changes from round to round. A time is taken inside
its process, from the call to the finished result, the result's memory included. Files are in the page cache.
"""

import statistics
import sys
import time
from pathlib import Path

import blosc2
import numpy as np

from caterva_conformance import Ours

N = 512
SLICES = [
    ("one aligned block", lambda r: [[32 * (r % 16), 32 * (r % 16) + 32, 1]] * 3),
    ("plane on axis 0", lambda r: [[200 + r, 201 + r, 1], [0, N, 1], [0, N, 1]]),
    ("plane on axis 1", lambda r: [[0, N, 1], [200 + r, 201 + r, 1], [0, N, 1]]),
    ("plane on axis 2", lambda r: [[0, N, 1], [0, N, 1], [200 + r, 201 + r, 1]]),
    ("full array", lambda r: [[0, N, 1]] * 3),
]


def field():
    """A smooth field with noise on a grid of 1/1024: 512 MiB that compress about threefold."""
    rng = np.random.default_rng(7)
    x = np.arange(N, dtype=np.float32)
    wave = np.cos(x / 53)[None, :, None] * np.sin(x / 29)[None, None, :]
    a = (np.sin(x / 37)[:, None, None] + wave).astype(np.float32)
    a += rng.standard_normal(a.shape, dtype=np.float32) * np.float32(0.003)
    return (np.round(a * 1024) / 1024).astype(np.float32)


def make(folder):
    data = None
    for name, codec in (("lz4", blosc2.Codec.LZ4), ("zstd", blosc2.Codec.ZSTD)):
        path = folder / f"field-{name}.b2nd"
        if not path.exists():
            data = field() if data is None else data
            blosc2.asarray(
                data,
                chunks=(128,) * 3,
                blocks=(32,) * 3,
                cparams={"codec": codec, "clevel": 5, "nthreads": 2},
                urlpath=str(path),
                mode="w",
            )


def time_python(array, axes):
    key = tuple(slice(*axis) for axis in axes)
    start = time.perf_counter()
    result = array[key]
    return time.perf_counter() - start, result


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 15
    folder.mkdir(parents=True, exist_ok=True)
    make(folder)
    ours = Ours(program)
    out = folder / "result.bin"
    print(f"python-blosc2 {blosc2.__version__}, {N}^3 f32, chunks 128^3, blocks 32^3; medians of {rounds} rounds, ms\n")
    print("| codec | read | threads | python-blosc2 | ours | python / ours | ours: 1 thread / 2 |")
    print("|---|---|---:|---:|---:|---:|---:|")
    slow = []
    for codec in ("lz4", "zstd"):
        path = str(folder / f"field-{codec}.b2nd")
        ours.ask(do="open", path=path)
        for what, axes in SLICES:
            one = None
            for threads in (1, 2):
                blosc2.set_nthreads(threads)
                array = blosc2.open(path, mode="r", dparams={"nthreads": threads})
                _, wanted = time_python(array, axes(0))
                ours.ask(do="read", axes=axes(0), threads=threads, out=str(out))
                if out.read_bytes() != wanted.tobytes():
                    raise SystemExit(f"{codec} {what}: other items")
                del wanted
                theirs, mine = [], []
                count = max(5, rounds // 3) if what == "full array" else 3 * rounds
                for r in range(count):
                    def python():
                        theirs.append(time_python(array, axes(r))[0])

                    def rust():
                        mine.append(ours.ask(do="read", axes=axes(r), threads=threads)["seconds"])

                    for step in (python, rust) if r % 2 else (rust, python):
                        step()
                a, b = statistics.median(theirs) * 1e3, statistics.median(mine) * 1e3
                gain = "" if one is None else f"{one / b:.2f}"
                one = b
                print(f"| {codec} | {what} | {threads} | {a:.3f} | {b:.3f} | {a / b:.2f} | {gain} |", flush=True)
                if a < b:
                    slow.append(f"{codec}, {what}, {threads} threads: {a / b:.2f}")
    out.unlink()
    if "--check" in sys.argv and slow:
        raise SystemExit("slower than python-blosc2: " + "; ".join(slow))


main()
