"""Transcripts of a Xenium section, as many as in scverse/spatialdata#1207: Parquet in the order of the instrument, and a store imported from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import sedonadb
from peers import OURS, Bar, Peer, clear

import zvf
import zvf.sedona

WIDTH, HEIGHT = 7525.0, 5470.0
"""Micrometres."""
FIELD = 420.0
"""The side of a field of view: the instrument writes one after another."""
PARTS = 8
GENES = 541
BOX = ((3000.0, 2000.0), (3125.0, 2125.0))
"""A box of 16,749 of 42,638,083 transcripts; that of the thread has 24,699."""
CORNERS = ((2990, 2010), (3080, 1990), (3140, 2060), (3060, 2080), (3120, 2140), (3000, 2130))
"""A polygon of six corners that is not convex, about as large."""
POLYGON = f"POLYGON(({', '.join(f'{x} {y}' for x, y in (*CORNERS, CORNERS[0]))}))"
IDS = "transcript_id"


def parts(count: int) -> Iterator[pyarrow.Table]:
    """Cells of 8 micrometres with 250 transcripts each, field after field, in parts of one row of fields or several."""
    rng = np.random.default_rng(1207)
    cells = max(1, count // 250)
    x, y = rng.uniform(0, WIDTH, cells), rng.uniform(0, HEIGHT, cells)
    order = np.lexsort((x // FIELD, y // FIELD))
    x, y = x[order], y[order]
    genes = pyarrow.array([f"GENE{number:03}" for number in range(GENES)])
    bounds = np.linspace(0, count, PARTS + 1).astype(int)
    for start, end in zip(bounds[:-1], bounds[1:], strict=True):
        cell = np.sort(rng.integers(cells * start // count, max(cells * start // count + 1, cells * end // count), end - start))
        near = rng.normal(0, 4, (end - start, 2))
        gene = (GENES * rng.random(end - start) ** 2).astype(np.int16)
        yield pyarrow.table(
            {
                IDS: np.arange(start, end, dtype=np.uint64),
                "cell_id": cell.astype(np.int32),
                "overlaps_nucleus": (np.hypot(*near.T) < 3).astype(np.uint8),
                "feature_name": pyarrow.DictionaryArray.from_arrays(pyarrow.array(gene), genes),
                "x": (x[cell] + near[:, 0]).clip(0, WIDTH).astype(np.float32),
                "y": (y[cell] + near[:, 1]).clip(0, HEIGHT).astype(np.float32),
                "z": rng.uniform(10, 25, end - start).astype(np.float32),
                "qv": rng.gamma(8, 4, end - start).clip(0, 40).astype(np.float32),
            }
        )


def check(_: str, answer: Any) -> Any:
    """All columns, in the order of the transcripts' numbers."""
    order = np.argsort(answer[IDS], kind="stable")
    genes = np.asarray(answer["feature_name"]).astype(str)[order]
    numbers = [np.asarray(answer[name])[order].astype(np.float64) for name in (IDS, "cell_id", "x", "y", "z", "qv")]
    return [*numbers, np.array([int(gene.removeprefix("GENE")) for gene in genes])]


def columns(table: pyarrow.Table) -> dict[str, Any]:
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names if name != "geometry"}


def peers(count: int, folder: Path) -> tuple[list[Peer], list[Bar], Callable[[str, Any], Any]]:
    files = folder / "transcripts"
    clear(files)
    files.mkdir(parents=True)
    for number, table in enumerate(parts(count)):
        pyarrow.parquet.write_table(table, files / f"part.{number}.parquet", compression="zstd")
    (left, low), (right, high) = BOX

    def already(path: Path) -> None:
        """The files of the instrument are what there is."""
        path.mkdir()
        for file in files.iterdir():
            (path / file.name).hardlink_to(file)

    def import_(path: Path) -> None:
        zvf.import_(path, *map(str, sorted(files.iterdir())), durable=False)

    def open_ours(path: Path) -> Mapping[str, Callable[[], Any]]:
        def read(**terms: Any) -> dict[str, Any]:
            return columns(pyarrow.table(zvf.open(path).query(columns=["x", "y", "z", "attributes"], **terms)))

        box = {"x": (left, right), "y": (low, high)}
        return {"open, box": lambda: read(bbox=box), "open, polygon": lambda: read(polygon=POLYGON)}

    def sedona(connection: Any) -> Mapping[str, Callable[[], Any]]:
        def read(area: str) -> dict[str, Any]:
            found = connection.sql(f"select * from transcripts where ST_Intersects(geometry, ST_GeomFromText('{area}'))")
            return columns(pyarrow.table(found))

        corners = f"POLYGON(({left} {low}, {right} {low}, {right} {high}, {left} {high}, {left} {low}))"
        return {"open, box": lambda: read(corners), "open, polygon": lambda: read(POLYGON)}

    def open_sedona(path: Path) -> Mapping[str, Callable[[], Any]]:
        connection = sedonadb.connect()
        zvf.sedona.register(connection, path, "transcripts")
        return sedona(connection)

    def open_sedona_parquet(path: Path) -> Mapping[str, Callable[[], Any]]:
        connection = sedonadb.connect()
        frame = connection.read_parquet([str(file) for file in sorted(path.iterdir())])
        frame.to_view("files", overwrite=True)
        connection.sql("select *, ST_Point(x, y) as geometry from files").to_view("transcripts", overwrite=True)
        return sedona(connection)

    def open_duckdb(path: Path) -> Mapping[str, Callable[[], Any]]:
        where = f"x between {left} and {right} and y between {low} and {high}"
        return {"open, box": lambda: duckdb.connect().sql(f"select * from read_parquet('{path}/*.parquet') where {where}").fetchnumpy()}

    def open_polars(path: Path) -> Mapping[str, Callable[[], Any]]:
        inside = polars.col("x").is_between(left, right) & polars.col("y").is_between(low, high)
        return {"open, box": lambda: columns(polars.scan_parquet(path).filter(inside).collect().to_arrow())}

    def open_spatialdata(path: Path) -> Mapping[str, Callable[[], Any]]:
        import dask.dataframe
        import shapely
        import spatialdata
        from spatialdata.models import PointsModel

        def points() -> Any:
            frame = dask.dataframe.read_parquet(path)
            return PointsModel.parse(frame, coordinates={"x": "x", "y": "y", "z": "z"}, feature_key="feature_name")

        def box() -> dict[str, Any]:
            found = spatialdata.bounding_box_query(
                points(), axes=("x", "y"), min_coordinate=[left, low], max_coordinate=[right, high], target_coordinate_system="global"
            ).compute()
            return {name: found[name].to_numpy() for name in found.columns}

        def polygon() -> dict[str, Any]:
            found = spatialdata.polygon_query(points(), shapely.from_wkt(POLYGON), target_coordinate_system="global").compute()
            return {name: found[name].to_numpy() for name in found.columns}

        return {"open, box": box, "open, polygon": polygon}

    warnings.filterwarnings("ignore", module="sedonadb")
    made = [
        Peer(OURS, import_, open_ours),
        Peer("SedonaDB of zvf", import_, open_sedona),
        Peer("DuckDB Parquet", already, open_duckdb),
        Peer("Polars Parquet", already, open_polars),
        Peer("SedonaDB Parquet", already, open_sedona_parquet),
    ]
    try:
        import spatialdata  # noqa: F401
    except ImportError:
        print("  spatialdata is not installed, and not compared")
    else:
        made.append(Peer("spatialdata", already, open_spatialdata))
    bars = [Bar("open, box", "DuckDB Parquet", 2.0), Bar("open, polygon", "SedonaDB Parquet", 2.0)]
    return made, bars, check
