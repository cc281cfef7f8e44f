"""Seeds of the fuzz targets of stores before 0.9: worked examples of the 0.7 and 0.8 pages, after the parameter bytes that
crates/zvf-fuzz/src/older.rs describes. Sections in brackets."""

import itertools
import struct


def i64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def i32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def i16(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}h", *numbers)


def f32(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def cell(*rows: tuple) -> bytes:
    """Records with their permutation codes, a group each (0.8, 9.4)."""
    size = 8 * len(rows[0])
    return i64(len(rows), *range(0, size * len(rows), size)) + b"".join(i64(*row) for row in rows)


def manifest(*blocks: tuple) -> bytes:
    """Blocks of mode 0 (0.7, 10.1)."""
    return struct.pack("<I", len(blocks)) + b"".join(i64(*chunk) + b"\0" + i64(fragment) for chunk, fragment in blocks)


def zstd(data: bytes) -> bytes:
    """A frame of one raw block."""
    head = b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)])
    return head + (len(data) << 3 | 1).to_bytes(3, "little") + data


def blobs(add) -> None:
    rows = f32(1.0, 2.0, 3.0, 4.0)
    add("blobs", bytes([0, 255, 0]) + rows)
    add("blobs", bytes([0, 0, 0]))
    add("blobs", bytes([1, 64, 0]) + zstd(rows * 4))
    add("blobs", bytes([2, 255, 8]) + rows)
    add("blobs", bytes([18, 255, 8]) + rows + i64(8)[::-1] + i64(8)[::-1])
    add("blobs", bytes([11, 32, 16]) + zstd(rows * 2))
    add("blobs", bytes([4, 0, 8]) + b'{"shape":[8],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8]}},'
        b'"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,"codecs":[{"name":"bytes"}],'
        b'"attributes":{"shard_index":{"0.0":[0,8]}},"zarr_format":3,"node_type":"array","storage_transformers":[]}')


def padded(add) -> None:
    rows = f32(1.0, 2.0, 3.0, 4.0, 0.0, 0.0)
    fragments = bytes.fromhex("4746565a010000000200000002000000") + i64(3, 0, 1, 1, 2) + bytes(4)
    add("padded", bytes([0, 3, 0]) + rows)
    add("padded", bytes([0, 3, 0]) + bytes(24) + rows)
    add("padded", bytes([7, 3, 2]) + rows + rows + i16(*range(12)) + fragments)
    add("padded", bytes([13, 2, 1]) + rows[:16] + rows[:16] + bytes(8) + i32(0, 1, -1, -1, 1, 0, -1, -1))
    add("padded", bytes([2, 3, 0]) + rows + rows + fragments)


def links(add) -> None:
    # The graph of 20.5 with two numbers a chunk, and its values.
    records = i64(0, 0, 2, 1, 0, 0, 1, 0, 1, 0, 0, 0)
    add("flat_records", bytes([2, 2, 2, 0]) + records)
    add("flat_records", bytes([2, 2, 255, 4]) + i16(3, 5) + records)
    add("flat_records", bytes([3, 2, 1, 12]) + i16(*range(6)) + i64(0, 0, 0, 1, 0, 1, -1, 2, 3))
    add("flat_records", bytes([2, 2, 0, 0]) + b"\0\1" + i64(5, 2) + b"\1\0" + i64(7, 3))
    add("flat_records", bytes([2, 3, 2, 0]) + i64(0, 0, 0, 2, 1, 0, 0, 0))
    # Cells of 19.1 to 19.5.
    values = f32(0.3, 0.5)
    near, far = bytes([0, 0, 1, 0]), bytes([0, 255, 255, 2])
    add("cross_cells", bytes([2, 0]) + near + cell((0, 2, 0), (1, 0, 1), (1, 9, 5)))
    add("cross_cells", bytes([2, 1]) + bytes([1, 0, 0, 0]) + cell((0, 1, 0), (0, 5, 9)))
    add("cross_cells", bytes([2, 2]) + far + cell((1, 3, 0)))
    add("cross_cells", bytes([2, 4]) + near + cell((0, 2, 0)))
    add("cross_cells", bytes([2, 16]) + near + cell((0, int.from_bytes(values[:4], "little"), 0)))
    add("cross_cells", bytes([2, 32]) + near + cell((0, 2, 0), (1, 0, 1)))
    add("cross_cells", bytes([3, 0]) + bytes([0, 0, 1, 0, 1, 1]) + cell((0, 1, 0, 0), (4, 1, 0, 0)))
    add("cross_cells", bytes([4, 3]) + bytes([0, 0, 0, 0, 1, 0, 1, 0]) + cell((14, 1, 3, 0, 1)))
    add("cross_cells", bytes([1, 0]) + bytes([0, 0]) + cell((0, 4)))
    add("cross_cells", bytes([2, 8]) + b"data" + i64(0, 0, 2, 1, 0, 0))
    add("cross_cells", bytes([1, 8]) + b"k2" + i64(0))


def tables(add) -> None:
    two = [manifest(((0, 0), 0), ((1, 0), 0)), manifest(), manifest(((0, 0), 1))]
    ends = list(itertools.accumulate(map(len, two)))
    add("split_manifests", bytes([3, 24]) + i64(0, *ends[:2]) + b"".join(two))
    add("split_manifests", bytes([3, 32]) + i64(0, *ends) + b"".join(two))
    add("split_manifests", bytes([1, 8]) + i64(0) + struct.pack("<I", 2) + i64(0, 0) + b"\1" + i64(2, 3) + i64(1, 0) + b"\2" + struct.pack("<I", 1) + i64(7))
    add("split_manifests", bytes([0, 0]))
    spans, blocks = i64(1, 2, 0, 0, 0, 1), i64(0, 0, 0, 1, 0, 1, 0, 0, 2)
    add("dense_manifests", bytes([3, 3, 3, 3]) + spans + blocks)
    add("dense_manifests", bytes([2, 3, 3, 1]) + spans + blocks)
    add("dense_manifests", bytes([3, 3, 3, 2]) + spans + bytes(16) + blocks + bytes(24))
    add("dense_manifests", bytes([1, 1, 1, 4]))
    add("masked_table", bytes([3, 2, 0, 3, 3]) + b"\1\0\1" + f32(1, 2, 0, 0, 5, 6))
    add("masked_table", bytes([3, 1, 2, 7, 3]) + b"\0\0\1" + b"\0\0\xfb")
    add("masked_table", bytes([2, 1, 1, 4, 0]) + struct.pack("<2d", 0.5, -1.0))
    add("masked_table", bytes([1, 1, 5, 4, 0]) + "abc".encode("utf-32-le"))
    add("masked_table", bytes([2, 1, 3, 6, 0]) + b"\1\0\2\0")
    # 20.8, with and without the last end.
    add("split_groups", bytes([3, 24]) + i64(0, 16, 16) + i64(0, 2, 1))
    add("split_groups", bytes([3, 32]) + i64(0, 16, 16, 24) + i64(0, 2, 1))
    add("split_groups", bytes([2, 255]) + i64(5, -7, 9, 1 << 40))
    add("split_groups", bytes([1, 8]) + i64(0) + i64(0))


def older(add) -> None:
    """Hands each seed to `add(target, data)`."""
    for part in (blobs, padded, links, tables):
        part(add)
