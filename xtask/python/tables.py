"""Writes testdata/tables: small Parquet files of known values, by PyArrow. Needs `pip install pyarrow`.

Usage: tables.py FOLDER
"""

import sys
from pathlib import Path

import pyarrow as pa
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
    pq.write_table(edges(), folder / "edges.parquet", compression="none")


if __name__ == "__main__":
    main()
