"""Points as an aeroplane's laser finds them: Parquet sorted along a Morton curve, LAZ, and stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import lance
import laspy
import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import vortex
import vortex.expr
from peers import OURS, RELEASED, ZSTD, Bar, Peer
from zarr_vectors.types.points import read_points, write_points

import zvf

# Coordinates are multiples of this: exact in 32-bit floats, and in LAZ with it as the scale.
STEP = 1 / 128
SIDE = 1000.0
NAMES = ("x", "y", "z", "intensity", "classification", "gps_time")
ROW_GROUP = 65_536


def cloud(count: int) -> dict[str, np.ndarray[Any, Any]]:
    """Ground with hills, trees and noise, in strips as it is flown."""
    rng = np.random.default_rng(20)
    x = rng.uniform(0, SIDE, count)
    y = rng.uniform(0, SIDE, count)
    ground = 20 + 8 * np.sin(x / 90) * np.cos(y / 70) + 3 * np.sin(x / 17 + y / 23)
    tree = (np.sin(x / 11) * np.sin(y / 13) > 0.6) & (rng.random(count) < 0.7)
    z = ground + rng.normal(0, 0.03, count) + np.where(tree, rng.uniform(0, 15, count), 0)
    # Strips of 100 m, flown one after another.
    order = np.lexsort((y, (x // 100).astype(int)))
    columns = {name: (np.round(values / STEP) * STEP).astype(np.float32)[order] for name, values in zip("xyz", (x, y, z), strict=True)}
    columns["intensity"] = rng.gamma(3, 900, count).clip(0, 65_535).astype(np.uint16)
    columns["classification"] = np.where(tree, 5, 2).astype(np.uint8)[order]
    columns["gps_time"] = np.arange(count) * 1e-5
    return columns


def morton(columns: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Places along a Morton curve, of 21 bits an axis."""
    key = np.zeros(len(columns["x"]), dtype=np.uint64)
    for at, name in enumerate("xyz"):
        values = columns[name].astype(np.float64)
        bits = ((values - values.min()) / SIDE * ((1 << 21) - 1)).astype(np.uint64)
        for shift, mask in (
            (32, 0x1F00000000FFFF),
            (16, 0x1F0000FF0000FF),
            (8, 0x100F00F00F00F00F),
            (4, 0x10C30C30C30C30C3),
            (2, 0x1249249249249249),
        ):
            bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
        key |= bits << np.uint64(at)
    return key


def boxes(share: float) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Five boxes over a share of the ground, as high as all points. Their sides lie in the middle between coordinates that points have, and are
    exact as 32-bit floats: DuckDB and Polars round the numbers of a query to the type of the column, and then find points outside."""
    rng = np.random.default_rng(7)
    side = round(SIDE * share**0.5 / STEP) * STEP
    corners = np.round(rng.uniform(0, SIDE - side, (5, 2)) / STEP) * STEP + STEP / 2
    return [((a, b, -1000.0), (a + side, b + side, 1000.0)) for a, b in corners.tolist()]


def jobs(read: Callable[[Any], dict[str, Any]]) -> dict[str, Callable[[], Any]]:
    """The jobs by a function that gives the columns in a box, or all of them for None."""
    return {
        "full read": lambda: [read(None)],
        "5 boxes of 1 %": lambda: [read(box) for box in boxes(0.01)],
        "5 boxes of 0.01 %": lambda: [read(box) for box in boxes(0.0001)],
    }


def arrays(table: pyarrow.Table) -> dict[str, Any]:
    """The columns of a table in memory."""
    return {name: table[name].to_numpy() for name in NAMES}


def check(_: str, answers: list[dict[str, Any]]) -> Any:
    """All columns of all answers, in the order of time, which tells points apart."""
    found = []
    for answer in answers:
        order = np.argsort(answer["gps_time"], kind="stable")
        found += [np.asarray(answer[name])[order].astype(np.float64) for name in NAMES]
    return found


def peers(count: int) -> tuple[list[Peer], list[Bar], Callable[[str, Any], Any]]:
    columns = cloud(count)
    places = np.column_stack([columns[name] for name in "xyz"])
    others = {name: columns[name] for name in NAMES[3:]}

    def table() -> pyarrow.Table:
        order = np.argsort(morton(columns), kind="stable")
        return pyarrow.table({name: columns[name][order] for name in NAMES})

    def write_parquet(path: Path) -> None:
        pyarrow.parquet.write_table(table(), path, compression="zstd", row_group_size=ROW_GROUP)

    def open_duckdb(path: Path) -> Mapping[str, Callable[[], Any]]:
        database = duckdb.connect()

        def read(box: Any) -> dict[str, Any]:
            where = ""
            if box is not None:
                tests = (f"{name} between {low!r} and {high!r}" for name, low, high in zip("xyz", *box, strict=True))
                where = " where " + " and ".join(tests)
            found: dict[str, Any] = database.sql(f"select * from read_parquet('{path}'){where}").fetchnumpy()
            return found

        return jobs(read)

    def open_polars(path: Path) -> Mapping[str, Callable[[], Any]]:
        def read(box: Any) -> dict[str, Any]:
            frame = polars.scan_parquet(path)
            if box is not None:
                frame = frame.filter(*(polars.col(name).is_between(low, high) for name, low, high in zip("xyz", *box, strict=True)))
            found = frame.collect()
            return {name: found[name].to_numpy() for name in NAMES}

        return jobs(read)

    def open_vortex(path: Path) -> Mapping[str, Callable[[], Any]]:
        opened = vortex.open(str(path))

        def read(box: Any) -> dict[str, Any]:
            tests = None
            if box is not None:
                for name, low, high in zip("xyz", *box, strict=True):
                    column = vortex.expr.column(name)
                    least, most = (vortex.expr.literal(vortex.float_(32), end) for end in (low, high))
                    for test in (column >= least, column <= most):
                        tests = test if tests is None else vortex.expr.and_(tests, test)
            return arrays(opened.to_arrow(expr=tests).read_all())

        return jobs(read)

    def open_lance(path: Path) -> Mapping[str, Callable[[], Any]]:
        opened = lance.dataset(str(path))

        def read(box: Any) -> dict[str, Any]:
            tests = None
            if box is not None:
                tests = " and ".join(f"{name} >= {low!r} and {name} <= {high!r}" for name, low, high in zip("xyz", *box, strict=True))
            return arrays(opened.to_table(filter=tests))

        return jobs(read)

    def write_laz(path: Path) -> None:
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.scales, header.offsets = [STEP] * 3, [0.0] * 3
        cloud = laspy.LasData(header)
        for name in NAMES:
            setattr(cloud, name, columns[name])
        with open(path, "wb") as file:
            cloud.write(file, do_compress=True, laz_backend=laspy.LazBackend.Lazrs)

    def open_laz(path: Path) -> Mapping[str, Callable[[], Any]]:
        def read(box: Any) -> dict[str, Any]:
            # LAZ without an index is read as a whole.
            found = laspy.read(path, laz_backend=laspy.LazBackend.LazrsParallel)
            inside: Any = slice(None)
            if box is not None:
                inside = np.ones(len(found), dtype=bool)
                for name, low, high in zip("xyz", *box, strict=True):
                    inside &= (np.asarray(found[name]) >= low) & (np.asarray(found[name]) <= high)
            return {name: np.asarray(found[name])[inside] for name in NAMES}

        return jobs(read)

    def write_released(path: Path) -> None:
        write_points(str(path), places, chunk_shape=(32.0, 32.0, 32.0), vertex_attributes=others)

    def open_released(path: Path) -> Mapping[str, Callable[[], Any]]:
        def read(box: Any) -> dict[str, Any]:
            found = read_points(str(path), bbox=box and tuple(map(np.asarray, box)), attribute_names=list(others))
            return {**dict(zip("xyz", found["positions"].T, strict=True)), **found["vertex_attributes"]}

        return jobs(read)

    def write_ours(path: Path, codec: str | None = None) -> None:
        zvf.write(path, kind="point_cloud", positions=places, attributes=others, codec=codec, durable=False)

    def open_ours(path: Path) -> Mapping[str, Callable[[], Any]]:
        store = zvf.open(path)

        def read(box: Any) -> dict[str, Any]:
            found = store.query(bbox=box).to_numpy()
            return {**dict(zip("xyz", found.pop("position").T, strict=True)), **found}

        return jobs(read)

    made = [
        Peer(OURS, write_ours, open_ours),
        Peer(ZSTD, lambda path: write_ours(path, "zstd"), open_ours),
        Peer("DuckDB Parquet", write_parquet, open_duckdb),
        Peer("Polars Parquet", write_parquet, open_polars),
        Peer("Vortex", lambda path: vortex.io.write(table(), str(path)), open_vortex),
        Peer("Lance", lambda path: lance.write_dataset(table(), str(path)), open_lance),
        Peer("laspy LAZ", write_laz, open_laz),
        Peer(RELEASED, write_released, open_released),
    ]
    bars = [
        Bar("5 boxes of 1 %", "DuckDB Parquet", 2.0),
        Bar("5 boxes of 0.01 %", "DuckDB Parquet", 4.0),
        Bar("full read", "DuckDB Parquet", 1.0),
    ]
    return made, bars, check
