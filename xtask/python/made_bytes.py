"""Encoders of the format's blobs, after the format pages: fragment index, manifest, ragged blob, link records.

Written for the made stores only; shares nothing with the programs that are tested with them.
"""

import struct

import numpy as np


def i64(*values) -> bytes:
    """Any number of integers or arrays of them, one after another."""
    return b"".join(np.asarray(v, "<i8").tobytes() for v in values)


def fragments(items) -> bytes:
    """A fragment index: a tuple is a range (start, count), a list is an explicit list of rows. Nothing is promoted."""
    items = list(items)
    ranges = [item for item in items if isinstance(item, tuple)]
    lists = [item for item in items if not isinstance(item, tuple)]
    out = struct.pack("<IHHII", 0x5A564647, 1, 0, len(items), len(ranges))
    if not items:
        return out
    bits = bytearray(8 * -(-len(items) // 64))
    for k, item in enumerate(items):
        if isinstance(item, tuple):
            bits[k // 8] |= 1 << (k % 8)
    out += bytes(bits) + b"".join(struct.pack("<qq", *item) for item in ranges)
    ends = np.cumsum([0, *map(len, lists)])
    return out + ends.astype("<u4").tobytes() + b"".join(i64(rows) for rows in lists)


def manifest(blocks) -> bytes:
    """The manifest of one object: (chunk, fragment) with a number (mode 0), a range (mode 1) or a list (mode 2)."""
    out = struct.pack("<I", len(blocks))
    for chunk, which in blocks:
        out += i64(*chunk)
        if isinstance(which, range):
            out += struct.pack("<Bqq", 1, which.start, len(which))
        elif isinstance(which, list):
            out += struct.pack("<BI", 2, len(which)) + i64(which)
        else:
            out += struct.pack("<Bq", 0, which)
    return out


def ragged(groups) -> bytes:
    """A self-describing ragged blob of byte groups."""
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    return i64(len(groups), starts) + b"".join(groups)


def vlen(elements) -> bytes:
    """A chunk of the vlen-bytes codec."""
    return struct.pack("<I", len(elements)) + b"".join(struct.pack("<I", len(e)) + e for e in elements)


def lehmer(order) -> int:
    """Lexicographic rank of a permutation, `order[i]` being the input position of stored endpoint i."""
    free, code = sorted(order), 0
    for k, position in enumerate(order):
        place = free.index(position)
        code = code * (len(order) - k) + place
        free.pop(place)
    return code


def canonical(ends) -> list[int]:
    """Input positions sorted by (chunk, row), stable."""
    return sorted(range(len(ends)), key=lambda k: (tuple(ends[k][0]), ends[k][1]))


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum of a shard's index."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
