"""Zarr nodes as a table of files: groups, plain arrays, blob groups, packed blobs, grids of byte strings, shards."""

import gzip
import itertools
import json
import struct

import numpy as np
from numcodecs import Blosc, Zstd

from made_bytes import crc32c, vlen

# The codec documents of the package, and two of anybody else's.
CODECS = {
    "none": [],
    "zstd": [{"name": "zstd", "configuration": {"level": 0, "checksum": False}}],
    "blosc": [
        {"name": "blosc", "configuration": {"typesize": 4, "cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0}}
    ],
    "gzip": [{"name": "gzip", "configuration": {"level": 5}}],
}

FIXED_TEXT = "fixed_length_utf32"


def compress(codec: str, data: bytes) -> bytes:
    if codec == "zstd":
        return Zstd(level=0).encode(data)
    if codec == "blosc":
        return Blosc(cname="zstd", clevel=5, shuffle=Blosc.BITSHUFFLE).encode(np.frombuffer(data, "<u4" if len(data) % 4 == 0 else "u1"))
    if codec == "gzip":
        return gzip.compress(data, 5, mtime=0)
    return data


def key(chunk) -> str:
    """A chunk's key: integers in decimal joined by dots."""
    return ".".join(str(int(c)) for c in chunk)


def document(shape, data_type, chunks, fill, codecs, attributes) -> bytes:
    return json.dumps(
        {
            "shape": [int(n) for n in shape],
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [int(n) for n in chunks]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill,
            "codecs": codecs,
            "attributes": attributes or {},
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        },
        separators=(",", ":"),
    ).encode()


class Nodes:
    """The files of one store."""

    def __init__(self):
        self.files: dict[str, bytes] = {}

    def group(self, path: str, attributes=None) -> None:
        text = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}, separators=(",", ":"))
        self.files[f"{path}/zarr.json".lstrip("/")] = text.encode()

    # -- one uint8 array a blob

    def blob(self, path: str, data: bytes, *, codec: str = "none", elide: bool = True, attributes=None) -> None:
        """A one-dimensional uint8 array of one chunk. A blob of zeros has no chunk when `elide`."""
        steps = [{"name": "bytes"}, *CODECS[codec]]
        self.files[f"{path}/zarr.json"] = document([len(data)], "uint8", [len(data) or 1], 0, steps, attributes)
        if data and (any(data) or not elide):
            self.files[f"{path}/c/0"] = compress(codec, data)

    def blobs(self, path: str, attributes, blobs: dict, *, codec="none", elide: bool = True, node: bool = True) -> None:
        """A group of blobs named by their chunk; `codec` is a name, or several taken in turn."""
        if node:
            self.group(path, attributes)
        turns = itertools.cycle([codec] if isinstance(codec, str) else codec)
        for chunk in sorted(blobs):
            self.blob(f"{path}/{key(chunk)}", blobs[chunk], codec=next(turns), elide=elide)

    def packed(self, path: str, attributes, blobs: dict, *, shards: dict, codec: str = "none", plain=()) -> None:
        """A group whose blobs lie in `__shard_` children: shard name to its chunks. `plain` chunks are children too."""
        self.group(path, attributes)
        for name, chunks in shards.items():
            index, data = {}, b""
            for text in sorted(map(key, chunks)):
                blob = blobs[tuple(map(int, text.split(".")))]
                index[text] = [len(data), len(blob)]
                data += blob
            self.blob(f"{path}/{name}", data, codec=codec, attributes={"shard_index": index})
        for chunk in plain:
            self.blob(f"{path}/{key(chunk)}", blobs[chunk], codec=codec)

    # -- plain arrays

    def array(self, path: str, data, *, chunks=None, codec: str = "zstd", fill=0, attributes=None, shards=None) -> None:
        """A numeric or text array. Chunks that are all fill are not stored; chunks at the edge are full size."""
        data = np.asarray(data)
        chunks = tuple(chunks or [max(1, n) for n in data.shape])
        blank = np.asarray("" if data.dtype.kind == "U" else fill).astype(data.dtype)
        steps = [bytes_codec(data.dtype), *CODECS[codec]]
        cells = {}
        for at in itertools.product(*(range(-(-n // c)) for n, c in zip(data.shape, chunks))):
            part = data[tuple(slice(a * c, (a + 1) * c) for a, c in zip(at, chunks))]
            same = (part == blank) | (np.isnan(part) & np.isnan(blank) if data.dtype.kind == "f" else False)
            if part.size and not same.all():
                full = np.full(chunks, blank)
                full[tuple(slice(0, n) for n in part.shape)] = part
                cells[at] = compress(codec, little(full).tobytes())
        outer, steps = self.store_cells(path, cells, data.shape, chunks, steps, shards)
        text = json_fill(blank)
        self.files[f"{path}/zarr.json"] = document(data.shape, type_name(data.dtype), outer, text, steps, attributes)

    def grid(self, path: str, shape, elements: dict, *, codec: str = "none", attributes=None, chunks=None, shards=None) -> None:
        """An array of byte strings; `elements` by index. Empty ones are not stored."""
        chunks = tuple(chunks or [1] * len(shape))
        steps = [{"name": "vlen-bytes", "configuration": {}}, *CODECS[codec]]
        cells = {}
        for at in {tuple(i // c for i, c in zip(index, chunks)) for index in elements}:
            inside = itertools.product(*(range(a * c, (a + 1) * c) for a, c in zip(at, chunks)))
            found = [elements.get(index, b"") for index in inside]
            if any(found):
                cells[at] = compress(codec, vlen(found))
        outer, steps = self.store_cells(path, cells, shape, chunks, steps, shards)
        self.files[f"{path}/zarr.json"] = document(shape, "variable_length_bytes", outer, "", steps, attributes)

    def store_cells(self, path, cells, shape, chunks, steps, shards):
        """Stores encoded chunks, in shards of `shards` chunks where asked; returns outer chunk shape and codecs."""
        if not shards:
            for at, data in cells.items():
                self.files[f"{path}/c/{'/'.join(map(str, at))}"] = data
            return chunks, steps
        by_shard: dict = {}
        for at, data in cells.items():
            by_shard.setdefault(tuple(a // s for a, s in zip(at, shards)), {})[tuple(a % s for a, s in zip(at, shards))] = data
        for shard, inner in by_shard.items():
            body, index = b"", b""
            for at in itertools.product(*(range(s) for s in shards)):
                data = inner.get(at)
                index += struct.pack("<QQ", len(body), len(data)) if data is not None else b"\xff" * 16
                body += data or b""
            self.files[f"{path}/c/{'/'.join(map(str, shard))}"] = body + index + struct.pack("<I", crc32c(index))
        config = {
            "chunk_shape": [int(c) for c in chunks],
            "codecs": steps,
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "index_location": "end",
        }
        return [c * s for c, s in zip(chunks, shards)], [{"name": "sharding_indexed", "configuration": config}]


def little(data: np.ndarray) -> np.ndarray:
    return data.astype(data.dtype.newbyteorder("<"))


def bytes_codec(dtype: np.dtype) -> dict:
    one = dtype.itemsize == 1
    return {"name": "bytes"} if one else {"name": "bytes", "configuration": {"endian": "little"}}


def type_name(dtype: np.dtype):
    if dtype.kind == "U":
        return {"name": FIXED_TEXT, "configuration": {"length_bytes": dtype.itemsize}}
    return dtype.name


def json_fill(value: np.ndarray):
    if value.dtype.kind == "f" and np.isnan(value):
        return "NaN"
    return value.item()
