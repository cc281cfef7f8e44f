"""Files that pandas, polars, pyarrow, duckdb and NumPy write with their default settings, imported and read back.

Every file is imported by `zvf import`, read back by `zvf query -o x.arrow`, sorted by its column of row numbers, and compared with
the table that was written. Some are appended to their store, too. Prints a line a file; ends with 1 where any differs.

Usage: files.py ZVF FOLDER
"""

import datetime as dt
import decimal
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from outcome import compared
from reading import Refused, run

ROWS = 200
RANDOM = np.random.default_rng(20261121)
KINDS = ["ground", "roof", "tree"]


def numbers():
    """Columns that every program has."""
    row = np.arange(ROWS)
    return {
        "row": row.astype(np.int64),
        "x": RANDOM.normal(500, 40, ROWS),
        "y": RANDOM.normal(-20, 40, ROWS),
        "z": RANDOM.normal(3, 2, ROWS),
        "intensity": (row * 311 % 65536).astype(np.uint16),
        "returns": (row % 7).astype(np.uint8),
        "angle": (row % 181 - 90).astype(np.int8),
        "edge": row % 3 == 0,
    }


def words():
    return [None if row % 11 == 4 else KINDS[row % 3] for row in range(ROWS)]


def moments(unit="us"):
    start = np.datetime64("2024-02-28T23:59:58.123456", unit)
    return start + (np.arange(ROWS) * 37_123).astype(f"timedelta64[{unit}]")


def gaps(values, every=9):
    return [None if at % every == 5 else value for at, value in enumerate(values)]


def frame(**more):
    return pd.DataFrame({**numbers(), **more})


# --- what is expected of a store ---------------------------------------------------------------------------------------


def plain(value):
    """A value as it is compared: missing ones are None, NaN included."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else float(value)
    if isinstance(value, (np.bool_, bool)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    return value


def column(array):
    """An Arrow column as values; moments, dates, times and durations as their type and number."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_timestamp(kind):
        # Nanoseconds since 1970 as Python's whole numbers: nothing is rounded.
        step = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        zone = kind.tz and ("UTC" if kind.tz in ("UTC", "Etc/UTC", "Z") else kind.tz)
        return [None if v is None else ("moment", zone, v * step) for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_duration(kind):
        step = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        return [None if v is None else ("duration", v * step) for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return [None if v is None else str(v) for v in array.to_pylist()]
    return [plain(value) for value in array.to_pylist()]


def expected(table, kept):
    return {name: column(table[name]) for name in kept}


def read_back(zvf, store, out):
    run(zvf, "query", store, "--attributes", "all", "-o", out)
    with pa.ipc.open_file(out) as file:
        return file.read_all()


def compare(found, want, axes=("x", "y", "z")):
    """What differs, in words; nothing where the rows are the same."""
    if "row" not in found.column_names:
        return f"no column row: {found.column_names}"
    order = np.argsort(np.array(found["row"].to_pylist()))
    positions = [found["position"].to_pylist()[at] for at in order]
    for number, axis in enumerate(axes):
        if axis in want:
            got = [row[number] for row in positions]
            if got != want[axis]:
                return f"{axis}: {got[:3]} is not {want[axis][:3]}"
    for name, values in want.items():
        if name in axes:
            continue
        if name not in found.column_names:
            return f"no column {name}"
        got = column(found[name])
        got = [got[at] for at in order]
        if got != values:
            at = next(i for i, (a, b) in enumerate(zip(got, values)) if a != b) if len(got) == len(values) else -1
            return f"{name}, row {at}: {got[at]!r} ({found[name].type}) is not {values[at]!r}"
    return ""


# --- the files ---------------------------------------------------------------------------------------------------------


class Case:
    """A file, the table that went in, and the columns that are to come out."""

    def __init__(self, name, write, table, options=(), drop=(), append=False, rows=None, loose=()):
        self.name, self.write, self.options, self.append = name, write, list(options), append
        self.table = table
        kept = [one for one in table.column_names if one not in drop and one not in loose]
        self.want = expected(table, kept)
        # Columns whose text says less than the table did: compared as what the text says.
        for one, values in dict(loose).items():
            self.want[one] = values
        self.stdin = rows


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def cases():
    text = words()
    utc = pd.Series(moments()).dt.tz_localize("UTC")
    berlin = pd.Series(moments("ns")).dt.tz_localize("Europe/Berlin", ambiguous="NaT", nonexistent="NaT")
    dates = [dt.date(2024, 1, 1) + dt.timedelta(days=int(at)) for at in range(ROWS)]
    full = frame(gps_time=moments(), kind=text, flight=pd.array(gaps(range(ROWS)), dtype="Int32"),
                 cls=pd.Categorical(text, categories=KINDS))
    # What became of Int32 with gaps: float64; compared as numbers.
    out = []

    def add(*args, **options):
        out.append(Case(*args, **options))

    # pandas
    add("pandas-all.parquet", full.to_parquet, arrow(full), append=True)
    add("pandas-all.feather", full.to_feather, arrow(full), append=True)
    plain_frame = frame(kind=text)
    add("pandas-plain.parquet", plain_frame.to_parquet, arrow(plain_frame))
    for name, values in {
        "naive-s": moments("s"), "naive-ms": moments("ms"), "naive-us": moments("us"), "naive-ns": moments("ns"),
        "utc": utc, "berlin": berlin, "dates": dates, "delta": moments() - moments()[3],
        "nat": pd.Series(moments()).where(np.arange(ROWS) % 4 > 0),
    }.items():
        one = frame(t=values)
        add(f"pandas-{name}.parquet", one.to_parquet, arrow(one), append=name in ("naive-ns", "berlin", "delta"))
    ints = frame(a=pd.array(gaps(range(ROWS)), dtype="Int64"), b=pd.array(gaps(range(ROWS)), dtype="UInt8"))
    add("pandas-gaps.parquet", ints.to_parquet, arrow(ints), append=True)
    filled = arrow(ints)
    for at, name in enumerate(("a", "b")):
        filled = filled.set_column(filled.column_names.index(name), name, filled[name].fill_null(255))
    add("pandas-fill.parquet", ints.to_parquet, filled, options=["--nulls", "255"])
    whole = frame(a=pd.array(gaps(range(ROWS)), dtype="Int64"))
    add("pandas-dropped.parquet", whole.to_parquet, arrow(whole.dropna()), options=["--nulls", "drop-row"])
    truths = frame(flag=pd.array(gaps(np.arange(ROWS) % 2 == 0), dtype="boolean"))
    truth_texts = [None if v is None else str(v).lower() for v in gaps([bool(at % 2 == 0) for at in range(ROWS)])]
    add("pandas-boolean.parquet", truths.to_parquet, arrow(truths), loose={"flag": truth_texts}.items())
    nothing = frame(empty=[None] * ROWS)
    add("pandas-nothing.parquet", nothing.to_parquet, arrow(nothing))
    cents = frame(price=[decimal.Decimal(at * 7) / 100 for at in range(ROWS)])
    add("pandas-decimal.parquet", cents.to_parquet, arrow(cents))
    filtered = full[full.x > 480]
    add("pandas-filtered.parquet", filtered.to_parquet, arrow(filtered))
    add("pandas-sampled.feather", full.sample(99, random_state=3).reset_index(drop=True).to_feather,
        arrow(full.sample(99, random_state=3).sort_values("row")))
    named = full.set_index(pd.Index([f"p{at}" for at in range(ROWS)]))
    add("pandas-string-index.parquet", named.to_parquet, arrow(named))
    # An index of rows in order is no column of the file.
    indexed = full.sample(frac=1, random_state=5).set_index("row")
    add("pandas-named-index.parquet", indexed.to_parquet, arrow(full))
    lists = frame(path=[[1, 2], [3]] * (ROWS // 2), info=[{"a": 1}] * ROWS)
    add("pandas-lists-excluded.parquet", lists.to_parquet, arrow(lists), options=["--exclude", "path,info"],
        drop=("path", "info"))
    colors = frame(color=[[at % 256, 2, 3] for at in range(ROWS)])
    add("pandas-colors.parquet", colors.to_parquet, arrow(colors))
    for name, how in {"gzip": "gzip", "brotli": "brotli", "lz4": "lz4", "zstd": "zstd"}.items():
        add(f"pandas-{name}.parquet", lambda path, how=how: full.to_parquet(path, compression=how), arrow(full))
    csv = frame(t=moments(), kind=text)
    read = {"t": column(arrow(csv)["t"])}
    add("pandas-index.csv", csv.to_csv, arrow(csv), append=False)
    add("pandas.csv", lambda path: csv.to_csv(path, index=False), arrow(csv), append=True)
    add("pandas.csv.gz", lambda path: csv.to_csv(path, index=False), arrow(csv))
    add("pandas.tsv.gz", lambda path: csv.to_csv(path, index=False, sep="\t"), arrow(csv))
    add("pandas.txt", lambda path: csv.to_csv(path, index=False, sep="\t"), arrow(csv))
    zoned = frame(t=utc)
    add("pandas-utc.csv", lambda path: zoned.to_csv(path, index=False), arrow(zoned))
    days = frame(day=dates)
    add("pandas-dates.csv", lambda path: days.to_csv(path, index=False), arrow(days))
    assert read

    # polars
    base = pl.DataFrame({**numbers(), "kind": text, "t": moments(), "gap": gaps(range(ROWS))})
    rich = base.with_columns(
        pl.Series("cat", text, dtype=pl.Categorical),
        pl.Series("enum", text, dtype=pl.Enum(KINDS)),
        pl.Series("day", dates),
        pl.Series("clock", [dt.time(at % 24, at % 60, 5, at) for at in range(ROWS)]),
        pl.Series("lasted", [dt.timedelta(milliseconds=at) for at in range(ROWS)]),
    )
    add("polars.parquet", rich.write_parquet, rich.to_arrow(), append=True)
    add("polars.arrow", rich.write_ipc, rich.to_arrow(), append=True)
    add("polars.ipc", base.write_ipc, base.to_arrow())
    add("polars-stream.arrow", rich.write_ipc_stream, rich.to_arrow())
    add("polars-stream.arrows", base.write_ipc_stream, base.to_arrow())
    for how in ("lz4", "zstd"):
        add(f"polars-{how}.arrow", lambda path, how=how: rich.write_ipc(path, compression=how), rich.to_arrow())
    add("polars.csv", base.write_csv, base.to_arrow(), append=True)
    nested = base.with_columns(pl.Series("path", [[1], [2, 3]] * (ROWS // 2)), pl.struct("x", "y").alias("pair"))
    add("polars-nested.arrow", nested.write_ipc, nested.to_arrow(), options=["--exclude", "path,pair"],
        drop=("path", "pair"))
    add("polars-none.arrow", nested.write_ipc, base.select("row", "x", "y", "z").to_arrow(),
        options=["--attributes", "row"])

    # pyarrow
    table = pa.table({
        **numbers(), "kind": text, "t": pa.array(moments("ms")),
        "d32": pa.array(dates), "d64": pa.array(dates, pa.date64()),
        "view": pa.array(text, pa.string_view()), "large": pa.array(text, pa.large_string()),
        "coded": pa.array(text).dictionary_encode(), "time": pa.array([at for at in range(ROWS)], pa.time32("s")),
        "money": pa.array([decimal.Decimal(at) / 4 for at in range(ROWS)], pa.decimal128(12, 2)),
        "rgb": pa.array([[at % 256, 1, 2] for at in range(ROWS)], pa.list_(pa.uint8(), 3)),
        "nothing": pa.nulls(ROWS),
    })
    unseen = table.append_column("map", pa.array([[("k", 1)]] * ROWS, pa.map_(pa.string(), pa.int8())))
    add("pyarrow.feather", lambda path: pa.feather.write_feather(table, path), table)
    add("pyarrow.parquet", lambda path: pq.write_table(table.drop(["view"]), path), table.drop(["view"]), append=True)
    add("pyarrow-v2.parquet", lambda path: pq.write_table(table.drop(["view"]), path, data_page_version="2.0",
        version="2.6", use_dictionary=False, column_encoding={"intensity": "DELTA_BINARY_PACKED",
        "kind": "DELTA_BYTE_ARRAY", "large": "DELTA_LENGTH_BYTE_ARRAY", "x": "BYTE_STREAM_SPLIT"}),
        table.drop(["view"]))
    add("pyarrow-int96.parquet", lambda path: pq.write_table(table.select(["row", "x", "y", "z", "t"]), path,
        use_deprecated_int96_timestamps=True), table.select(["row", "x", "y", "z", "t"]))
    add("pyarrow-map.arrow", lambda path: pa.feather.write_feather(unseen, path), unseen,
        options=["--exclude", "map"], drop=("map",))
    simple = table.select(["row", "x", "y", "z", "kind", "t"])
    add("pyarrow.csv", lambda path: pa.csv.write_csv(simple, path), simple)
    add("pyarrow-stdin", lambda path: pa.csv.write_csv(simple, path), simple, options=["--format", "csv"], rows=True)

    # duckdb
    query = """select row, x, y, z, intensity, returns, angle, edge, kind,
        (row * 1.25)::decimal(9, 2) as price, timestamp '2024-03-01 10:00:00' + to_seconds(row) as t,
        timestamptz '2024-03-01 10:00:00+00' + to_seconds(row) as tz, date '2024-03-01' + row::int as day,
        (row * 3)::hugeint as huge, uuid '8f0d5a3c-6d8e-4a4e-9c0c-0d6f4f6e1b2a' as id, case when row % 5 = 0 then null
        else row::int end as gap from source order by row"""
    source = pa.table({**numbers(), "kind": text})

    def connected():
        connection = duckdb.connect()
        connection.execute("set timezone = 'UTC'")
        connection.register("source", source)
        return connection

    answer = connected().sql(query).to_arrow_table()
    id_text = ["8f0d5a3c-6d8e-4a4e-9c0c-0d6f4f6e1b2a"] * ROWS
    loose = {"id": id_text}.items()

    def copy(path, options):
        # Cases run on two threads, and a connection serves one.
        connected().execute(f"copy ({query}) to '{path}' ({options})")

    add("duckdb.parquet", lambda path: copy(path, "format parquet"), answer, loose=loose)
    add("duckdb-v2.parquet", lambda path: copy(path, "format parquet, parquet_version v2"), answer, loose=loose)
    add("duckdb.arrow", lambda path: pa.feather.write_feather(answer, path), answer, loose=loose)
    add("duckdb.csv", lambda path: copy(path, "format csv"), answer, loose=loose)

    # NumPy
    cloud = numbers()
    bare = pa.table({name: cloud[name] for name in ("row", "x", "y", "z")})
    points = pd.DataFrame(cloud)[["x", "y", "z"]].to_numpy()
    stacked = np.stack([cloud["x"], cloud["y"], cloud["z"]]).T
    add("numpy-fortran.npz", lambda path: np.savez(path, positions=stacked, row=cloud["row"]), bare)
    add("numpy-packed.npz", lambda path: np.savez_compressed(path, positions=points, row=cloud["row"]), bare)
    add("numpy-c.npz", lambda path: np.savez(path, positions=np.ascontiguousarray(points), row=cloud["row"]), bare)
    add("numpy-big-endian.npz", lambda path: np.savez(path, positions=points.astype(">f8"),
        row=cloud["row"].astype(">i4")), bare)
    add("numpy-fortran.npy", lambda path: np.save(path, points), bare)
    add("numpy-stacked.npy", lambda path: np.save(path, stacked), bare)
    add("numpy-f4.npy", lambda path: np.save(path, stacked.astype("f4")), bare.set_column(1, "x",
        pa.array(cloud["x"].astype("f4"))).set_column(2, "y", pa.array(cloud["y"].astype("f4"))).set_column(3, "z",
        pa.array(cloud["z"].astype("f4"))))
    return out


def positions_alone(found, want):
    """Arrays without a column of row numbers: the same positions, in any order."""
    got = sorted(map(tuple, found["position"].to_pylist()))
    return "" if got == sorted(zip(want["x"], want["y"], want["z"])) else "positions differ"


def check(zvf, folder, case):
    path = folder / case.name
    store = folder / f"{case.name}.zarrvectors"
    case.write(path)
    rows = len(case.want["row"])
    try:
        if case.stdin:
            run(zvf, "import", "-", store, *case.options, stdin=path.read_bytes())
        else:
            run(zvf, "import", path, store, *case.options)
        found = read_back(zvf, store, folder / f"{case.name}.read.arrow")
        same = positions_alone if case.name.endswith(".npy") else compare
        wrong = same(found, case.want)
        if not wrong and case.append:
            run(zvf, "edit", store, "append", path)
            found = read_back(zvf, store, folder / f"{case.name}.again.arrow")
            twice = {name: [v for v in values for _ in range(2)] for name, values in case.want.items()}
            wrong = compare(found, twice)
            wrong = wrong and f"appended: {wrong}"
        if not wrong:
            run(zvf, "validate", store)
    except Refused as error:
        wrong = str(error)
    return rows, len(case.want), wrong


def main():
    zvf, folder = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    all_cases = cases()
    # Programs write on this thread; only imports run side by side.
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda case: check(zvf, folder, case), all_cases))
    bad = 0
    print(f"{'file':34} rows columns ok")
    for case, (rows, columns, wrong) in zip(all_cases, done):
        bad += bool(wrong)
        mark = "append" if case.append else ""
        print(f"{case.name:34} {rows:4} {columns:7} {'no: ' + wrong if wrong else 'yes ' + mark}")
    assert len(all_cases) >= 40
    values = sum(rows * columns for rows, columns, _ in done)
    return compared("pandas, polars, DuckDB and NumPy", len(all_cases), values, bad)


if __name__ == "__main__":
    sys.exit(main())
