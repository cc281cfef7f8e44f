"""Arrays of python-blosc2 and caterva, read by us, and ours, read by them: caterva_conformance.py PROGRAM FOLDER [--seed N] [--arrays N].

Every array is compared whole and by random strided slices with what NumPy holds. Partial reads of arrays with delta are
compared with NumPy only: the libraries get them wrong.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import blosc2
import caterva
import numpy as np

from outcome import compared

# What is being compared, for messages.
NOW = [""]
# How many items were compared.
CHECKED = [0]
DTYPES = ["|u1", "<i2", "<f4", ">f4", "<i8", "<f8", "<c16", "|S5", "<U3", "<M8[ns]", "|b1", "|S300"]
RECORD = [("a", "<i4"), ("b", "<f8")]


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise AssertionError(f"ours: {answer['error']}")
        return answer


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def content(rng, shape, dtype):
    """Items that compress here and there, with stretches of zeros."""
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if dtype.kind == "U":
        return np.array(np.array(["", "a", "xyz", "ö"])[rng.integers(0, 4, shape)], dtype=dtype)
    if dtype.kind == "b":
        return np.array(rng.integers(0, 2, shape), dtype=dtype)
    raw = np.repeat(rng.integers(0, 256, n // 3 + 1, dtype=np.uint8), 3)[:n]
    raw[: n // 4] = 0
    a = raw.tobytes()
    if dtype.kind == "S":
        # NumPy drops zero bytes at the end of texts when it compares; bytes are compared here.
        return np.frombuffer(a, dtype=dtype).reshape(shape)
    return np.frombuffer(a, dtype=dtype).reshape(shape)


def shapes(rng, rank):
    most = {0: 1, 1: 400, 2: 40, 3: 15, 4: 8}.get(rank, 4)
    shape = [int(rng.integers(1, most + 1)) for _ in range(rank)]
    chunk = [int(rng.integers(1, n + 2)) for n in shape]
    block = [int(rng.integers(1, n + 1)) for n in chunk]
    return shape, chunk, block


def slices(rng, shape):
    axes = []
    for n in shape:
        a, b = sorted(int(i) for i in rng.integers(0, n + 1, 2))
        axes.append([a, b, int(rng.integers(1, 4))])
    return axes


def check_ours(ours, rng, path, wanted, out, dtype_text):
    found = ours.ask(do="open", path=str(path))
    assert found["shape"] == list(wanted.shape), (found, wanted.shape)
    assert found["dtype"] == dtype_text, (found["dtype"], dtype_text)
    for threads in (1, 2):
        ours.ask(do="read", threads=threads, out=str(out))
        assert out.read_bytes() == wanted.tobytes(), "whole array"
        CHECKED[0] += wanted.size
        for _ in range(4):
            axes = slices(rng, wanted.shape)
            ours.ask(do="read", threads=threads, axes=axes, out=str(out))
            key = (*(slice(*a) for a in axes), Ellipsis)
            assert out.read_bytes() == wanted[key].tobytes(), axes
            CHECKED[0] += wanted[key].size


def by_blosc2(rng, ours, folder, out, number):
    rank = int(rng.integers(0, 6))
    shape, chunk, block = shapes(rng, rank)
    dtype = np.dtype(RECORD) if rng.random() < 0.1 else np.dtype(DTYPES[rng.integers(len(DTYPES))])
    a = content(rng, shape, dtype)
    codec = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB, blosc2.Codec.ZSTD][rng.integers(5)]
    filters = [
        [blosc2.Filter.NOFILTER],
        [blosc2.Filter.SHUFFLE],
        [blosc2.Filter.BITSHUFFLE],
        [blosc2.Filter.DELTA],
        [blosc2.Filter.DELTA, blosc2.Filter.SHUFFLE],
        [blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA],
    ][rng.integers(6)]
    path = folder / f"p{number}.b2nd"
    NOW[0] = kind = f"blosc2 {shape} {chunk} {block} {dtype} {codec} {filters}"
    try:
        cparams = {
            "codec": codec,
            "clevel": int(rng.integers(0, 10)),
            "filters": filters,
            "filters_meta": [0] * len(filters),
            "nthreads": int(rng.integers(1, 3)),
            "use_dict": bool(codec == blosc2.Codec.ZSTD and rng.random() < 0.3),
            "splitmode": list(blosc2.SplitMode)[rng.integers(len(list(blosc2.SplitMode)))],
        }
        arguments = {"chunks": chunk, "blocks": block, "urlpath": str(path), "mode": "w", "cparams": cparams}
        special = rng.random()
        contiguous = bool(rng.random() < 0.7)
        if rank and special < 0.2:
            if special < 0.1 and dtype.kind in "iufc":
                value = np.frombuffer(rng.bytes(dtype.itemsize), dtype=dtype)[0]
                a = np.full(shape, value, dtype=dtype)
                b = blosc2.full(shape, value, dtype=dtype, contiguous=contiguous, **arguments)
            else:
                a = np.zeros(shape, dtype=dtype)
                b = blosc2.zeros(shape, dtype=dtype, contiguous=contiguous, **arguments)
        else:
            b = blosc2.asarray(a, contiguous=contiguous, **arguments)
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        return kind, f"the library: {type(error).__name__}"
    text = b.dtype.str if b.dtype.fields is None else str(b.dtype.descr)
    del b
    NOW[0] = kind
    check_ours(ours, rng, path, a, out, text)
    return kind, None


def by_caterva(rng, ours, folder, out, number):
    rank = int(rng.integers(1, 5))
    shape, chunk, block = shapes(rng, rank)
    item = int([1, 2, 4, 8, 12][rng.integers(5)])
    a = content(rng, shape, np.dtype(f"|V{item}"))
    path = folder / f"c{number}.cat"
    codec = [caterva.Codec.BLOSCLZ, caterva.Codec.LZ4, caterva.Codec.LZ4HC, caterva.Codec.ZLIB, caterva.Codec.ZSTD][rng.integers(5)]
    filters = [[caterva.Filter.NOFILTER], [caterva.Filter.SHUFFLE], [caterva.Filter.BITSHUFFLE], [caterva.Filter.DELTA]][rng.integers(4)]
    kind = f"caterva {shape} {chunk} {block} {item} {codec} {filters}"
    contiguous = bool(rng.random() < 0.7)
    NOW[0] = kind
    caterva.from_buffer(
        a.tobytes(), shape, item, chunks=chunk, blocks=block, urlpath=str(path), contiguous=contiguous,
        codec=codec, clevel=int(rng.integers(0, 10)), filters=filters, nthreads=1,
    )
    check_ours(ours, rng, path, a, out, "")
    return kind, None


def by_us(rng, ours, folder, out, number):
    rank = int(rng.integers(0, 6))
    shape, chunk, block = shapes(rng, rank)
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    # caterva has items of up to 255 bytes, and dies of a file with others.
    old = rank > 0 and dtype.itemsize < 256 and rng.random() < 0.4
    a = content(rng, shape, dtype)
    if rng.random() < 0.1:
        a = np.zeros(shape, dtype=dtype)
    elif rng.random() < 0.1:
        a = np.full(shape, a.reshape(-1)[-1], dtype=dtype)
    codec = ["none", "blosclz", "lz4", "zlib", "zstd"][rng.integers(5)]
    last = ["none", "shuffle", "bitshuffle"][rng.integers(3)]
    first = "delta" if rng.random() < 0.2 else None
    if first:
        # Even a read of a whole array is made of partial ones where blocks lie outside of it.
        block = chunk
    path = folder / f"o{number}.b2nd"
    out.write_bytes(a.tobytes())
    unit = list(b"\xa6kelvin")
    kind = f"ours {'caterva' if old else 'b2nd'} {shape} {chunk} {block} {dtype} {codec} {first} {last}"
    NOW[0] = kind
    ours.ask(
        do="write", path=str(path), shape=shape, chunk=chunk, block=block, item=dtype.itemsize, codec=codec,
        first=first, last=last, dtype=dtype.str, kind="caterva" if old else "b2nd", vlmeta={"unit": unit},
        **{"in": str(out)},
    )
    if old:
        b = caterva.open(str(path))
        assert tuple(b.shape) == tuple(shape) and tuple(b.chunks) == tuple(chunk) and tuple(b.blocks) == tuple(block)
        assert b.to_buffer() == a.tobytes(), "whole array"
        if first is None:
            for _ in range(3):
                axes = slices(rng, shape)
                if all(lo < hi for lo, hi, _ in axes):
                    key = tuple(slice(lo, hi) for lo, hi, _ in axes)
                    assert bytes(np.asarray(b[key]).tobytes()) == a[key].tobytes(), key
    else:
        b = blosc2.open(str(path), mode="r")
        assert b.shape == tuple(shape) and b.chunks == tuple(chunk) and b.blocks == tuple(block), (b.shape, b.chunks, b.blocks)
        assert b.dtype == dtype, b.dtype
        assert b.schunk.vlmeta["unit"] == "kelvin"
        assert np.asarray(b[...]).tobytes() == a.tobytes(), "whole array"
        if first is None and rank:
            for _ in range(3):
                axes = slices(rng, shape)
                key = tuple(slice(lo, hi) for lo, hi, _ in axes)
                assert np.asarray(b[key]).tobytes() == a[key].tobytes(), key
    check_ours(ours, rng, path, a, out, "" if old else dtype.str)
    return kind, None


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    seed, arrays = option("--seed", 1), option("--arrays", 120)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ours, out = Ours(program), folder / "items.bin"
    bad, refused = 0, {}
    for number in range(arrays):
        for make in (by_blosc2, by_caterva, by_us):
            rng = np.random.default_rng([seed, number, len(make.__name__)])
            try:
                kind, library = make(rng, ours, folder, out, number)
                if library:
                    refused[library] = refused.get(library, 0) + 1
            except Exception as error:  # noqa: BLE001
                bad += 1
                print(f"{number}: {NOW[0]}: {type(error).__name__}: {error}")
    print(f"not compared: {refused or 'none'}")
    tried = 3 * arrays - sum(refused.values())
    return compared(f"blosc2 {blosc2.__version__}, caterva {caterva.__version__}", tried, CHECKED[0], bad)


if __name__ == "__main__":
    sys.exit(main())
