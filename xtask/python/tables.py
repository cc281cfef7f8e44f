"""Writes testdata/tables: small Parquet and Feather files of known values, by PyArrow and Polars. Needs `pip install pyarrow polars`.

Usage: tables.py FOLDER
"""

import decimal
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

ROWS = 40


def points():
    rows = range(ROWS)
    color = [[r, 2 * r, 255 - r] for r in rows]
    return pa.table(
        {
            "x": pa.array([r * 0.5 - 4 for r in rows], pa.float32()),
            "y": pa.array([float(r * 7 % 11) for r in rows], pa.float32()),
            "z": pa.array([r % 3 - 0.25 for r in rows], pa.float32()),
            "cell": pa.array([r // 8 - 2 for r in rows], pa.int64()),
            "kind": pa.array([["axon", None, "soma"][r % 3] for r in rows]),
            "flag": pa.array([r % 4 == 0 for r in rows]),
            "score": pa.array([None if r % 5 == 2 else r / 8 for r in rows]),
            "small": pa.array([3 * r - 50 for r in rows], pa.int16()),
            "color": pa.array(color, pa.list_(pa.uint8(), 3)),
        }
    )


def edges():
    rows = range(ROWS - 1)
    return pa.table(
        {
            "source": pa.array([r + 1 for r in rows], pa.uint32()),
            "target": pa.array([r // 2 for r in rows], pa.uint32()),
            "weight": pa.array([r / 16 for r in rows], pa.float32()),
        }
    )


def moments():
    """Columns of what is no plain number, each with gaps."""
    rows = range(ROWS)

    def gaps(values):
        return [None if r % 7 == 3 else values(r) for r in rows]

    # 2024-03-01T00:00:00 is 1709251200 seconds, and 19783 days, since 1970.
    return pa.table(
        {
            "x": pa.array([r * 0.5 for r in rows]),
            "y": pa.array([-r * 0.25 for r in rows]),
            "row": pa.array(rows, pa.int32()),
            "t": pa.array(gaps(lambda r: 1709251200_000_000 + r), pa.timestamp("us")),
            "zone": pa.array(gaps(lambda r: 1709251200_000 + r), pa.timestamp("ms", "Europe/Berlin")),
            "day": pa.array(gaps(lambda r: 19783 + r), pa.int32()).cast(pa.date32()),
            "clock": pa.array(gaps(lambda r: r * 60), pa.time32("s")),
            "lasted": pa.array(gaps(lambda r: r * 1000), pa.duration("ns")),
            "price": pa.array(gaps(lambda r: decimal.Decimal(r) / 4), pa.decimal128(9, 2)),
            "gap": pa.array(gaps(lambda r: r), pa.int16()),
            "flag": pa.array(gaps(lambda r: r % 2 == 0)),
            "nothing": pa.nulls(ROWS),
            "path": pa.array([[1.5] * (r % 3) for r in rows]),
        }
    )


def zones():
    """Moments with a time zone."""
    moments = [1709251200, 1709251201]
    return pa.table(
        {
            "x": pa.array([0.0, 1.0]),
            "y": pa.array([0.0, 2.0]),
            "s": pa.array(moments, pa.timestamp("s", "Europe/Berlin")),
            "utc": pa.array(moments, pa.timestamp("s", "UTC")),
            "local": pa.array(moments, pa.timestamp("s")),
        }
    )


def main():
    folder = Path(sys.argv[1])
    # As pyarrow writes by default: Snappy, dictionaries, pages of version 1.
    pq.write_table(points(), folder / "points.parquet", row_group_size=16)
    floats = ["x", "y", "z", "score"]
    others = ["cell", "kind", "flag", "small", "color"]
    pq.write_table(
        points(),
        folder / "split.parquet",
        compression="zstd",
        data_page_version="2.0",
        use_dictionary=others,
        use_byte_stream_split=floats,
        row_group_size=25,
    )
    pq.write_table(
        points(),
        folder / "plain.parquet",
        compression="gzip",
        use_dictionary=False,
        store_schema=False,
        data_page_size=64,
    )
    pq.write_table(
        points().select(["x", "y", "small"]),
        folder / "delta.parquet",
        use_dictionary=False,
        column_encoding={"small": "DELTA_BINARY_PACKED", "x": "PLAIN", "y": "PLAIN"},
    )
    pq.write_table(moments(), folder / "moments.parquet")
    # As pyarrow writes by default: buffers of LZ4.
    pyarrow.feather.write_feather(moments(), folder / "moments.feather")
    pq.write_table(edges(), folder / "edges.parquet", compression="none")
    # Parquet has no timestamps in seconds: they are stored in milliseconds, with their zone in the Arrow schema.
    pq.write_table(zones(), folder / "zones.parquet")
    wide = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 2.0], "small": [3, 4], "wide": pl.Series([1, 2], dtype=pl.Int128)})
    wide = wide.with_columns(t=pl.lit(1709251200).cast(pl.Datetime("ms")))
    wide.write_parquet(folder / "wide.parquet")
    wide.write_ipc(folder / "wide.arrow")


if __name__ == "__main__":
    main()
