"""Streamlines: TRX, TRK, TCK and stores."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lance
import nibabel
import numpy as np
import pyarrow
from nibabel.streamlines import ArraySequence, Tractogram
from peers import OURS, RELEASED, ZSTD, Bar, Peer
from trx import trx_file_memmap
from zarr_vectors.types.polylines import read_polylines, write_polylines

import zvf

POINTS = 100
SIDE = 200.0
# Coordinates are multiples of this, so that the shift by half a voxel in TRK files is exact.
STEP = 1 / 256


def tracts(count: int) -> np.ndarray[Any, Any]:
    """Smooth lines in bundles, of shape (lines, points, 3)."""
    rng = np.random.default_rng(5)
    bundles = max(1, count // 500)
    starts = rng.uniform(30, SIDE - 30, (bundles, 3))
    courses = rng.normal(0, 1, (bundles, 3))
    which = rng.integers(0, bundles, count)
    steps = courses[which][:, None, :] + 0.15 * np.cumsum(rng.normal(0, 1, (count, POINTS, 3)), axis=1)
    steps /= np.linalg.norm(steps, axis=2, keepdims=True)
    lines = starts[which][:, None, :] + rng.normal(0, 4, (count, 1, 3)) + np.cumsum(0.8 * steps, axis=1)
    # Turned back at the walls.
    lines = SIDE - np.abs(SIDE - np.abs(lines)) % SIDE
    return (np.round(lines / STEP) * STEP).astype(np.float32)


def box_of(lines: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A cube of 1 % of the volume around the point in the middle of the first line."""
    half = SIDE * 0.01 ** (1 / 3) / 2
    middle = lines[0, POINTS // 2].astype(np.float64)
    return middle - half, middle + half


def check(_: str, answer: tuple[list[int], Any]) -> Any:
    """Objects in the order of their ids."""
    ids, lines = answer
    order = np.argsort(ids, kind="stable").tolist()
    return [np.asarray(sorted(ids)), *(np.asarray(lines[at]) for at in order)]


def jobs(
    count: int, box: Any, whole: Callable[[], Any], inside: Callable[[Any], Any], some: Callable[[list[int]], Any]
) -> dict[str, Callable[[], Any]]:
    chosen = np.random.default_rng(3).choice(count, min(200, count), replace=False).tolist()
    return {
        "full read": whole,
        "objects of a 1 % box": lambda: inside(box),
        "one object": lambda: some(chosen[:1]),
        "200 objects": lambda: some(chosen),
    }


def in_memory(sequence: Any, box: Any) -> tuple[list[int], Any]:
    """The lines of a sequence of which any point is inside."""
    data = sequence._data
    rows = np.flatnonzero(((data >= box[0]) & (data <= box[1])).all(axis=1))
    ids = np.unique(np.searchsorted(sequence._offsets, rows, side="right") - 1)
    return ids.tolist(), [np.asarray(sequence[at]) for at in ids.tolist()]


def peers(count: int) -> tuple[list[Peer], list[Bar], Callable[[str, Any], Any]]:
    lines = tracts(count)
    box = box_of(lines)
    flat = lines.reshape(-1, 3)
    offsets = np.arange(count + 1) * POINTS
    sequence = ArraySequence()
    sequence._data, sequence._offsets, sequence._lengths = flat, offsets[:-1], np.full(count, POINTS)

    def write_trx(path: Path) -> None:
        # One file, nothing compressed, so that it can be mapped.
        header = {"DIMENSIONS": [int(SIDE)] * 3, "VOXEL_TO_RASMM": np.eye(4).tolist(), "NB_VERTICES": len(flat), "NB_STREAMLINES": count}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
            file.writestr("header.json", json.dumps(header))
            file.writestr("positions.3.float32", flat.tobytes())
            file.writestr("offsets.uint64", offsets.astype(np.uint64).tobytes())

    def open_trx(path: Path) -> Mapping[str, Callable[[], Any]]:
        # Mapped, not read; the jobs hold it.
        opened = trx_file_memmap.load(str(path))

        def some(ids: list[int]) -> Any:
            return ids, [np.array(opened.streamlines[at]) for at in ids]

        def whole() -> Any:
            mapped = opened.streamlines
            return list(range(len(mapped))), Lines(np.array(mapped._data), mapped._offsets)

        return jobs(count, box, whole, lambda box: in_memory(opened.streamlines, box), some)

    def file_of(ending: str) -> Peer:
        def write(path: Path) -> None:
            made = Tractogram(sequence, affine_to_rasmm=np.eye(4))
            kind = nibabel.streamlines.TrkFile if ending == "trk" else nibabel.streamlines.TckFile
            with open(path, "wb") as file:
                kind(made).save(file)

        def open_file(path: Path) -> Mapping[str, Callable[[], Any]]:
            kind = nibabel.streamlines.TrkFile if ending == "trk" else nibabel.streamlines.TckFile

            def load() -> Any:
                with open(path, "rb") as file:
                    return kind.load(file).streamlines

            def whole() -> Any:
                found = load()
                return list(range(len(found))), found

            def some(ids: list[int]) -> Any:
                found = load()
                return ids, [np.asarray(found[at]) for at in ids]

            return jobs(count, box, whole, lambda box: in_memory(load(), box), some)

        return Peer(f"nibabel {ending.upper()}", write, open_file)

    def write_lance(path: Path) -> None:
        # A row a streamline, as lists of points.
        points = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(flat.reshape(-1)), 3)
        lance.write_dataset(pyarrow.table({"points": pyarrow.LargeListArray.from_arrays(offsets, points)}), str(path))

    def open_lance(path: Path) -> Mapping[str, Callable[[], Any]]:
        opened = lance.dataset(str(path))

        def lines_of(table: Any) -> Lines:
            lists = table["points"].combine_chunks()
            starts = lists.offsets.to_numpy()
            values = lists.values.values.to_numpy().reshape(-1, 3)
            return Lines(values[starts[0] : starts[-1]], starts[:-1] - starts[0])

        def whole() -> Any:
            found = lines_of(opened.to_table())
            return list(range(count)), found

        def inside(box: Any) -> Any:
            found = lines_of(opened.to_table())
            rows = np.flatnonzero(((found.data >= box[0]) & (found.data <= box[1])).all(axis=1))
            ids = np.unique(np.searchsorted(found.starts, rows, side="right") - 1).tolist()
            return ids, [found[at] for at in ids]

        return jobs(count, box, whole, inside, lambda ids: (ids, lines_of(opened.take(ids))))

    def write_released(path: Path) -> None:
        write_polylines(str(path), list(lines), chunk_shape=(20.0,) * 3)

    def open_released(path: Path) -> Mapping[str, Callable[[], Any]]:
        def read(**terms: Any) -> Any:
            found = read_polylines(str(path), **terms)
            return found["object_ids"], [np.concatenate(parts) for parts in found["polylines"]]

        return jobs(count, box, read, lambda box: read(bbox=box), lambda ids: read(object_ids=ids))

    def write_ours(path: Path, codec: str | None = None) -> None:
        zvf.write(path, kind="streamline", positions=flat, offsets=offsets, codec=codec, durable=False)

    def open_ours(path: Path) -> Mapping[str, Callable[[], Any]]:
        store = zvf.open(path)

        def read(**terms: Any) -> Any:
            found = store.query(select="objects", columns=["position"], **terms).read(links=False)
            objects = found.objects.to_numpy(["object_id", "start"])
            return objects["object_id"].tolist(), Lines(found.vertices["position"], objects["start"].astype(np.int64))

        def some(ids: list[int]) -> Any:
            return ids, list(store.get(ids, columns=[], links=False))

        return jobs(count, box, read, lambda box: read(bbox=box), some)

    made = [
        Peer(OURS, write_ours, open_ours),
        Peer(ZSTD, lambda path: write_ours(path, "zstd"), open_ours),
        Peer("trx-python TRX", write_trx, open_trx),
        Peer("Lance", write_lance, open_lance),
        file_of("trk"),
        file_of("tck"),
        Peer(RELEASED, write_released, open_released),
    ]
    bars = [
        Bar("objects of a 1 % box", "trx-python TRX", 5.0),
        # At most three times as long.
        Bar("one object", "trx-python TRX", 1 / 3),
    ]
    return made, bars, check


class Lines:
    """Lines on one array."""

    def __init__(self, data: Any, starts: Any) -> None:
        self.data = data
        self.starts = np.append(starts, len(data)).astype(np.int64)

    def __getitem__(self, at: int) -> Any:
        return self.data[self.starts[at] : self.starts[at + 1]]
