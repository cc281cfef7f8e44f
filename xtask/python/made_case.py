"""What a made store is made from, the questions asked of it, and its archive. Knows nothing of how a store lies on disk."""

import io
import json
import tarfile
import gzip
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from made_bytes import fragments
from made_nodes import Nodes, key

STAMP = (2026, 1, 1, 0, 0, 0)


class Case:
    """One made store: its files, its input (`truth`) and its questions."""

    def __init__(self, name: str, kind: str, seed: int):
        self.name, self.kind = name, kind
        self.rng = np.random.default_rng(seed)
        self.nodes = Nodes()
        self.positions = np.zeros((0, 3), "f4")
        self.truth: dict[str, np.ndarray] = {}
        self.objects: dict[int, list[int]] = {}
        self.groups: dict[int, list[int]] = {}
        self.queries: list[dict] = []
        self.more: dict = {}

    # -- input

    def scatter(self, n: int, low, high, dtype="f4") -> np.ndarray:
        """Random positions; every axis has a few on multiples of 10, the chunk borders of most cases."""
        found = self.rng.uniform(low, high, (n, len(low)))
        border = self.rng.random(found.shape) < 0.05
        return np.where(border, np.round(found / 10) * 10, found).astype(dtype)

    def walks(self, lengths, low, high, step: float, dims: int = 3) -> np.ndarray:
        """Random walks, one after another, inside a box."""
        found = []
        for n in lengths:
            start = self.rng.uniform(low, high, dims)
            found.append(np.clip(start + np.cumsum(self.rng.normal(0, step, (n, dims)), 0), low, np.nextafter(high, low)))
        return np.concatenate(found).astype("f4")

    def attribute(self, name: str, values) -> np.ndarray:
        self.truth[f"attr_{name}"] = values = np.asarray(values)
        return values

    # -- questions

    def ask(self, level: int, rows, *, own: bool = False, boxes: int = 4) -> None:
        """Asks boxes of a level whose complete content (or, with `own`, its own) is `rows`."""
        rows = np.asarray(rows, "i8")
        f8 = self.positions.astype("f8")
        here = f8[rows]
        low, high = here.min(0), here.max(0)
        corners = [(low, high), (high + 1.0, high + 2.0)]
        for _ in range(boxes):
            corners.append(tuple(np.sort(self.rng.uniform(low - 1, high + 1, (2, f8.shape[1])), 0)))
        corners.append(tuple(np.sort(here[self.rng.integers(0, len(rows), 2)], 0)))
        middle = np.sort(self.rng.uniform(low, high, (2, f8.shape[1])), 0)
        middle[1, 0] = middle[0, 0] = here[0, 0]
        corners.append(tuple(middle))
        for a, b in corners:
            inside = rows[((here >= a) & (here <= b)).all(1)]
            query = {"level": level, "bbox": [a.tolist(), b.tolist()], "rows": np.sort(inside).tolist()}
            if own:
                query["own_level_only"] = True
            self.queries.append(query)

    # -- archive

    def document(self) -> dict:
        found = {"kind": self.kind, "package": "made", "queries": self.queries}
        if self.objects:
            found["objects"] = {str(k): [int(r) for r in rows] for k, rows in self.objects.items()}
        if self.groups:
            found["groups"] = {str(k): [int(m) for m in members] for k, members in self.groups.items()}
        return {**found, **self.more}

    def files(self) -> dict[str, bytes]:
        """Every file of the archive, relative to the case's folder."""
        found = {f"store.zarrvectors/{name}": data for name, data in self.nodes.files.items()}
        found["case.json"] = json.dumps(self.document()).encode()
        found["truth.npz"] = arrays({"positions": self.positions, **self.truth})
        return found

    def write(self, path: Path) -> int:
        """Writes the archive; the same content gives the same bytes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as archive:
            for name, data in sorted(self.files().items()):
                entry = tarfile.TarInfo(f"{self.name}/{name}")
                entry.size, entry.mode = len(data), 0o644
                archive.addfile(entry, io.BytesIO(data))
        path.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=0))
        return path.stat().st_size


def arrays(found: dict[str, np.ndarray]) -> bytes:
    """An `npz` file without a clock in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in sorted(found.items()):
            member = io.BytesIO()
            np.save(member, np.ascontiguousarray(values))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", STAMP), member.getvalue(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


class Cells:
    """Rows of one level cut into chunks and fragments: where each input row went."""

    def __init__(self):
        self.rows: dict[tuple, list[int]] = defaultdict(list)
        self.fragments: dict[tuple, list] = defaultdict(list)
        self.place: dict[int, tuple[tuple, int]] = {}

    def add(self, chunk, rows) -> tuple[tuple, int]:
        """Appends rows to a chunk as one more range; returns (chunk, fragment)."""
        chunk = tuple(int(c) for c in chunk)
        held = self.rows[chunk]
        self.fragments[chunk].append((len(held), len(rows)))
        for row in rows:
            self.place[int(row)] = (chunk, len(held))
            held.append(int(row))
        return chunk, len(self.fragments[chunk]) - 1

    def vertices(self, positions) -> dict[tuple, bytes]:
        return self.column(positions)

    def column(self, values) -> dict[tuple, bytes]:
        """The raw rows of a column, chunk by chunk."""
        values = np.asarray(values)
        return {chunk: values[rows].astype(values.dtype.newbyteorder("<")).tobytes() for chunk, rows in self.rows.items()}

    def index(self) -> dict[tuple, bytes]:
        return {chunk: fragments(items) for chunk, items in self.fragments.items()}

    def split(self, links) -> tuple[dict[tuple, list[int]], list[int]]:
        """Numbers of the links inside each chunk, and of those that cross."""
        inside, across = defaultdict(list), []
        for number, ends in enumerate(links):
            chunks = {self.place[int(row)][0] for row in ends}
            if len(chunks) == 1:
                inside[chunks.pop()].append(number)
            else:
                across.append(number)
        return inside, across

    def local(self, ends) -> list[int]:
        return [self.place[int(row)][1] for row in ends]

    def record(self, ends) -> list[tuple[tuple, int]]:
        return [self.place[int(row)] for row in ends]


def chunks_of(positions, shape, prefix=None) -> list[tuple]:
    """The chunk of every row; with a leading component where the level is chunked by an attribute."""
    found = np.floor(positions.astype("f8") / np.asarray(shape, "f8")).astype("i8")
    if prefix is not None:
        found = np.column_stack([prefix, found])
    return [tuple(int(c) for c in row) for row in found]


def by_chunk(cells: Cells, chunks, rows) -> dict[tuple, int]:
    """One fragment a chunk."""
    held = defaultdict(list)
    for row in rows:
        held[chunks[row]].append(row)
    return {chunk: cells.add(chunk, held[chunk])[1] for chunk in sorted(held)}


def by_object(cells: Cells, chunks, objects: dict) -> dict[int, list]:
    """One fragment for each object in each chunk, ascending id; manifests with ascending chunks. Sets the objects' order."""
    manifests: dict[int, list] = {}
    for number in sorted(objects):
        held = defaultdict(list)
        for row in objects[number]:
            held[chunks[row]].append(row)
        manifests[number] = [cells.add(chunk, held[chunk]) for chunk in sorted(held)]
        objects[number] = [row for chunk in sorted(held) for row in held[chunk]]
    return manifests


def by_path(cells: Cells, chunks, objects: dict) -> dict[int, list]:
    """Lines cut where the chunk changes: each piece is a fragment."""
    manifests: dict[int, list] = {}
    for number, rows in objects.items():
        pieces: list[list[int]] = []
        for row in rows:
            if pieces and chunks[pieces[-1][-1]] == chunks[row]:
                pieces[-1].append(row)
            else:
                pieces.append([row])
        manifests[number] = [cells.add(chunks[piece[0]], piece) for piece in pieces]
    return manifests


def by_bin(cells: Cells, positions, chunk, size) -> None:
    """Every bin of every occupied chunk is a fragment, empty ones too, in C order."""
    bins = np.floor(positions.astype("f8") / np.asarray(size)).astype("i8")
    per = np.round(np.asarray(chunk) / np.asarray(size)).astype("i8")
    home, local = bins // per, bins % per
    held = defaultdict(list)
    for row in range(len(positions)):
        held[tuple(home[row].tolist()), int(np.ravel_multi_index(local[row], per))].append(row)
    for occupied in sorted({c for c, _ in held}):
        for number in range(int(per.prod())):
            cells.add(occupied, held.get((occupied, number), []))


def segments(objects: dict) -> list[list[int]]:
    """Consecutive pairs of rows of every line."""
    return [[a, b] for rows in objects.values() for a, b in zip(rows, rows[1:])]


__all__ = ["Case", "Cells", "by_bin", "by_chunk", "by_object", "by_path", "chunks_of", "key", "segments"]
