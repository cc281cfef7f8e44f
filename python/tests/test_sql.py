"""SQL: DuckDB, Polars and DataFusion against NumPy over the whole table, and which cells each of them reads."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import datafusion
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest

import zvf

Bundled = Callable[[str], Path]
ROWS = 3000
COLUMNS = ["x", "y", "z", "fa", "label", "n", "object_id", "chunk_x", "chunk_y", "chunk_z"]


@dataclass
class Truth:
    """The rows of a store, as they were before they were written; what is no number is masked."""

    path: Path
    trace: Path
    columns: dict[str, np.ma.MaskedArray]

    def read(self) -> set[str]:
        """Vertex cells that were read since the last time."""
        lines = self.trace.read_text().splitlines() if self.trace.exists() else []
        self.trace.write_text("")
        return {key for line in lines if "/vertices/c/" in (key := json.loads(line)["key"])}

    def open(self) -> zvf.Store:
        return zvf.open(self.path, trace_io=self.trace)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    folder = tmp_path_factory.mktemp("sql")
    rng = np.random.default_rng(20)
    positions = rng.uniform(-30, 30, (ROWS, 3)).astype("f4")
    # Corners of chunks, and zeros of both signs.
    positions[:200] = rng.choice(np.array([-20, -10, -0.0, 0.0, 10, 20], "f4"), (200, 3))
    fa = rng.normal(size=ROWS).astype("f4")
    fa[::5] = np.nan
    n = rng.integers(-4, 5, ROWS).astype("i4")
    label = np.array(["a", "b", "it's", "ü"], object)[rng.integers(0, 4, ROWS)]
    ids = rng.integers(0, 40, ROWS)
    path = folder / "points.zarrvectors"
    attributes = {"fa": fa, "n": n, "label": label}
    zvf.write(path, kind="point_cloud", positions=positions, attributes=attributes, object_ids=ids, chunk_shape=[10] * 3, codec="none")
    # No writer of ours takes positions that are no numbers, but there are such stores.
    chunks = np.floor(positions / np.float32(10)).astype("i8")
    for row in range(300, 330):
        patched = [np.nan, *positions[row, 1:]] if row % 2 else [np.nan] * 3
        replace(path, positions[row].tobytes(), np.array(patched, "f4").tobytes())
        positions[row] = patched
    masked = {axis: np.ma.masked_invalid(positions[:, at].astype("f8")) for at, axis in enumerate("xyz")}
    columns = {
        **masked,
        "fa": np.ma.masked_invalid(fa),
        "n": np.ma.array(n),
        "label": np.ma.array(label),
        "object_id": np.ma.array(ids),
        **{f"chunk_{axis}": np.ma.array(chunks[:, at]) for at, axis in enumerate("xyz")},
    }
    return Truth(path, folder / "trace", columns)


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Changes the only place where these bytes lie in a cell of vertices."""
    found = [cell for cell in (path / "0" / "vertices").rglob("*") if cell.is_file() and old in cell.read_bytes()]
    assert len(found) == 1
    content = found[0].read_bytes()
    assert content.count(old) == 1
    found[0].write_bytes(content.replace(old, new))


def engines(store: zvf.Store, **terms: object) -> dict[str, Callable[[str], list[tuple[object, ...]]]]:
    """Each engine as a function from a query of table `v` to rows."""
    dataset = store.dataset(**terms)

    def by_duckdb(query: str) -> list[tuple[object, ...]]:
        with duckdb.connect() as connection:
            connection.register("v", dataset)
            return connection.sql(query).fetchall()

    def by_polars_dataset(query: str) -> list[tuple[object, ...]]:
        return pl.SQLContext(v=pl.scan_pyarrow_dataset(dataset)).execute(query).collect().rows()

    frame = store.scan_polars(**terms)

    def by_polars(query: str) -> list[tuple[object, ...]]:
        return pl.SQLContext(v=frame).execute(query).collect().rows()

    def by_datafusion(query: str) -> list[tuple[object, ...]]:
        context = datafusion.SessionContext()
        context.register_dataset("v", dataset)
        return list(zip(*context.sql(query).to_pydict().values(), strict=True))

    return {"duckdb": by_duckdb, "polars dataset": by_polars_dataset, "polars": by_polars, "datafusion": by_datafusion}


def test_the_flat_table_is_what_was_written(truth: Truth) -> None:
    store = truth.open()
    dataset = store.dataset()
    assert dataset.schema.names == COLUMNS
    types = dict(zip(dataset.schema.names, dataset.schema.types, strict=True))
    assert {types[axis] for axis in "xyz"} == {pa.float64()}
    assert {types[f"chunk_{axis}"] for axis in "xyz"} == {pa.int64()}
    assert (types["fa"], types["n"], types["label"], types["object_id"]) == (pa.float32(), pa.int32(), pa.string(), pa.int64())

    def rows(columns: dict[str, list[object]]) -> list[tuple[object, ...]]:
        return sorted(zip(*(columns[name] for name in COLUMNS), strict=True), key=repr)

    expected = rows({name: values.tolist() for name, values in truth.columns.items()})
    assert rows(dataset.to_table().to_pydict()) == expected
    assert rows(store.scan_polars().collect().to_dict(as_series=False)) == expected
    assert dataset.count_rows() == ROWS
    assert pickle.loads(pickle.dumps(dataset)).count_rows() == ROWS
    assert dataset.head(7).num_rows == 7
    assert dataset.to_table(columns={"twice": pc.field("x") * 2}, filter=pc.field("n") == 3).num_rows == (truth.columns["n"] == 3).sum()
    assert dataset.filter(pc.field("n") == 3).to_table(filter=pc.field("x") > 0).num_rows == ((truth.columns["n"] == 3) & (truth.columns["x"] > 0)).sum()


@dataclass
class Test:
    """A condition as SQL, and what it is for each row: true, and known."""

    sql: str
    true: np.ndarray
    known: np.ndarray


Test.__test__ = False  # type: ignore[attr-defined]


def number(value: float) -> str:
    return f"{value!r}e0" if isinstance(value, float) else str(value)


def conditions(truth: Truth, rng: np.random.Generator, depth: int) -> Test:
    """A random condition."""
    if depth > 0 and rng.random() < 0.75:
        one = conditions(truth, rng, depth - 1)
        if rng.random() < 0.25:
            return Test(f"NOT ({one.sql})", one.known & ~one.true, one.known)
        other = conditions(truth, rng, depth - 1)
        fails = (one.known & ~one.true, other.known & ~other.true)
        if rng.random() < 0.5:
            true = one.true & other.true
            return Test(f"({one.sql}) AND ({other.sql})", true, true | fails[0] | fails[1])
        true = one.true | other.true
        return Test(f"({one.sql}) OR ({other.sql})", true, true | (fails[0] & fails[1]))
    name = str(rng.choice(COLUMNS, p=[0.15, 0.15, 0.1, 0.1, 0.05, 0.1, 0.05, 0.1, 0.1, 0.1]))
    values = truth.columns[name]
    known = ~np.ma.getmaskarray(values)
    data = values.data
    if rng.random() < 0.12:
        return Test(f"{name} IS NULL", ~known, np.ones(ROWS, bool)) if rng.random() < 0.5 else Test(f"{name} IS NOT NULL", known, np.ones(ROWS, bool))
    # Values that are there, and values between them.
    some = [data[row] for row in rng.choice(np.flatnonzero(known), 3)]
    if name == "label":
        texts = [f"'{text.replace(chr(39), chr(39) * 2)}'" for text in some]
        if rng.random() < 0.5:
            return Test(f"label = {texts[0]}", data == some[0], known)
        return Test(f"label IN ({', '.join(texts)})", np.isin(data, some), known)
    if values.dtype.kind == "f":
        # Numbers that float32 has, so that no engine rounds them.
        some = [float(value) if rng.random() < 0.5 else float(np.round(value * 2) / 2) for value in some]
    else:
        some = [int(value) for value in some]
    match rng.integers(0, 4):
        case 0:
            return Test(f"{name} IN ({', '.join(map(number, some))})", np.isin(data, some) & known, known)
        case 1:
            low, high = sorted(some[:2])
            with np.errstate(invalid="ignore"):
                return Test(f"{name} BETWEEN {number(low)} AND {number(high)}", (data >= low) & (data <= high) & known, known)
        case _:
            word, compare = list(COMPARISONS.items())[rng.integers(0, 6)]
            sides = f"{name} {word} {number(some[0])}"
            if rng.random() < 0.2:
                sides = f"{number(some[0])} {MIRRORED[word]} {name}"
            with np.errstate(invalid="ignore"):
                return Test(sides, compare(data, some[0]) & known, known)


COMPARISONS: dict[str, Callable[[np.ndarray, object], np.ndarray]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@pytest.mark.parametrize("seed", range(6))
def test_random_conditions_are_what_numpy_says_in_every_engine(truth: Truth, seed: int) -> None:
    rng = np.random.default_rng([20, seed])
    store = truth.open()
    ask = engines(store)
    for _ in range(5):
        test = conditions(truth, rng, 3)
        query = f"SELECT count(*) AS c, sum(n) AS s, sum(object_id) AS o FROM v WHERE {test.sql}"
        count = int(test.true.sum())
        expected = (count, int(truth.columns["n"][test.true].sum()), int(truth.columns["object_id"][test.true].sum()))
        for name, run in ask.items():
            if name == "polars dataset" and "NOT" in test.sql and " IN " in test.sql:
                # See test_polars_takes_null_for_not_in_a_list_of_pyarrow.
                continue
            [found] = run(query)
            # An empty sum is null or zero.
            assert tuple(int(value or 0) for value in found) == (expected if count else (0, 0, 0)), f"{name}: {test.sql}"


def test_polars_takes_null_for_not_in_a_list_of_pyarrow(truth: Truth) -> None:
    """A wrong answer of Polars on any dataset of pyarrow: `is_in` of pyarrow is false for null, and its negation true."""
    store = truth.open()
    query = "SELECT count(*) AS c FROM v WHERE NOT (x IN (10e0, 20e0))"
    known = int((~np.isin(truth.columns["x"].data, [10, 20]) & ~np.ma.getmaskarray(truth.columns["x"])).sum())
    missing = int(np.ma.getmaskarray(truth.columns["x"]).sum())
    wrong = pl.scan_pyarrow_dataset(pa.dataset.dataset(store.dataset().to_table()))
    assert pl.SQLContext(v=wrong).execute(query).collect().item() == known + missing
    for name, run in engines(store).items():
        assert run(query) == [(known + missing if name == "polars dataset" else known,)], name


def test_each_engine_reads_the_cells_that_it_needs(truth: Truth) -> None:
    store = truth.open()
    ask = engines(store)
    every = len(store.dataset().chunks())
    # What each engine hands over. DuckDB keeps ranges of floats to itself, since it orders NaN.
    ranges = ("polars dataset", "polars", "datafusion")
    cases: list[tuple[str, Callable[[np.ndarray], bool], tuple[str, ...]]] = [
        ("chunk_x = 1 AND chunk_y IN (0, 2)", lambda c: c[0] == 1 and c[1] in (0, 2), tuple(ask)),
        ("chunk_x >= 1 OR chunk_z < -1", lambda c: c[0] >= 1 or c[2] < -1, tuple(ask)),
        ("x > 21e0 AND x <= 24.5e0", lambda c: c[0] == 2, ranges),
        ("x < -21e0 OR y > 25e0", lambda c: c[0] == -3 or c[1] == 2, ranges),
        ("NOT (x < 21e0)", lambda c: c[0] == 2, ranges),
        ("z = 15.25e0", lambda c: c[2] == 1, tuple(ask)),
        ("x IN (15.5e0, -15.5e0)", lambda c: c[0] in (1, -2), ranges),
        ("x > 21e0 AND n = 3", lambda c: c[0] == 2, ranges),
        ("n = 3 OR x > 21e0", lambda c: True, tuple(ask)),
        ("x IS NULL", lambda c: True, tuple(ask)),
        ("x > 500e0", lambda c: False, ranges),
    ]
    chunks = np.array(store.dataset().chunks())
    for condition, wanted, names in cases:
        expected = sum(1 for chunk in chunks if wanted(chunk))
        for name, run in ask.items():
            truth.read()
            run(f"SELECT count(*) AS c FROM v WHERE {condition}")
            assert len(truth.read()) == (expected if name in names else every), f"{name}: {condition}"


def test_columns_and_limits_reach_the_store(truth: Truth) -> None:
    store = truth.open()
    frame = store.scan_polars()
    truth.trace.write_text("")
    assert frame.select("n").collect().columns == ["n"]
    keys = [json.loads(line)["key"] for line in truth.trace.read_text().splitlines()]
    assert any("vertex_attributes/n/c/" in key for key in keys)
    assert not any("vertex_attributes/fa/c/" in key or ("object_index" in key and "/c/" in key) for key in keys), keys
    assert frame.head(10).collect().height == 10
    assert frame.filter(pl.col("n") > 0).head(5).collect().height == 5


def filters() -> Iterator[tuple[pc.Expression, Callable[[dict[str, np.ma.MaskedArray]], np.ndarray]]]:
    x, n = pc.field("x"), pc.field("n")
    third = np.float32(1 / 3)
    yield x > pa.scalar(third, pa.float32()), lambda c: (c["x"] > float(third)).filled(False)
    yield x >= pa.scalar(10, pa.int32()), lambda c: (c["x"] >= 10).filled(False)
    yield x.cast("float32") >= 10.0, lambda c: (c["x"] >= 10).filled(False)
    yield (x + 1) > 5, lambda c: (c["x"] + 1 > 5).filled(False)
    yield x.is_null(), lambda c: np.ma.getmaskarray(c["x"])
    yield x.is_nan(), lambda c: np.zeros(ROWS, bool)
    yield ~x.is_nan(), lambda c: ~np.ma.getmaskarray(c["x"])
    yield x.isin(pa.array([10.0, None])), lambda c: (c["x"] == 10).filled(True)
    yield ~x.isin([10.0]), lambda c: (c["x"] != 10).filled(True)
    yield pc.field(0) < -10, lambda c: (c["x"] < -10).filled(False)
    yield pc.if_else(x > 0, n > 0, n < 0), lambda c: np.where(c["x"].filled(0) > 0, c["n"] > 0, c["n"] < 0) & ~np.ma.getmaskarray(c["x"])
    yield x > float("inf"), lambda c: np.zeros(ROWS, bool)
    yield x == -0.0, lambda c: (c["x"] == 0).filled(False)
    yield x > pa.scalar(None, pa.float64()), lambda c: np.zeros(ROWS, bool)


def test_filters_of_pyarrow_are_exact(truth: Truth) -> None:
    dataset = truth.open().dataset()
    for filter, expected in filters():
        assert dataset.to_table(columns=["n"], filter=filter).num_rows == expected(truth.columns).sum(), str(filter)
        assert dataset.count_rows(filter=filter) == expected(truth.columns).sum(), str(filter)


def test_predicates_of_polars_are_exact(truth: Truth) -> None:
    frame = truth.open().scan_polars()
    x, columns = pl.col("x"), truth.columns
    none, masked = np.zeros(ROWS, bool), np.ma.getmaskarray(columns["x"])
    cases: list[tuple[pl.Expr, np.ndarray]] = [
        (x.is_between(-10, 10, closed="none"), ((columns["x"] > -10) & (columns["x"] < 10)).filled(False)),
        (x.is_between(-10, 10, closed="left"), ((columns["x"] >= -10) & (columns["x"] < 10)).filled(False)),
        (x > pl.lit(1 / 3, dtype=pl.Float32), (columns["x"] > float(np.float32(1 / 3))).filled(False)),
        (x == float("nan"), none),
        (x < float("nan"), ~masked),
        (x < float("inf"), ~masked),
        (x.is_in([10.0, None]), (columns["x"] == 10).filled(False)),
        (~x.is_in([10.0]), (columns["x"] != 10).filled(False)),
        (x.eq_missing(None), masked),
        (x.ne_missing(10), (columns["x"] != 10).filled(True)),
        (x.is_nan(), none),
        ((x > 0) ^ (pl.col("y") > 0), ((columns["x"] > 0) ^ (columns["y"] > 0)).filled(False)),
        (x.map_batches(lambda values: values > 5, return_dtype=pl.Boolean), (columns["x"] > 5).filled(False)),
        (pl.lit(5) < x, (columns["x"] > 5).filled(False)),
        (pl.col("chunk_x") > 0.5, (columns["chunk_x"] > 0.5).filled(False)),
        (x > pl.col("y"), (columns["x"] > columns["y"]).filled(False)),
    ]
    for predicate, expected in cases:
        assert frame.filter(predicate).select(pl.len()).collect().item() == expected.sum(), str(predicate)


def test_a_limit_of_polars_counts_rows_before_the_condition(truth: Truth) -> None:
    frame = truth.open().scan_polars()
    whole = frame.collect()
    for predicate in (pl.col("x") > 10, pl.col("n") > 0, pl.col("chunk_x") == 1):
        for count in (0, 1, ROWS // 2, ROWS + 1):
            found = frame.head(count).filter(predicate).collect()
            assert found.equals(whole.head(count).filter(predicate)), f"{predicate} of {count}"
        assert frame.filter(predicate).head(7).collect().equals(whole.filter(predicate).head(7)), str(predicate)


def test_a_query_without_chunks_is_filtered_by_axes(truth: Truth) -> None:
    query = truth.open().query(columns=["position", "attribute:n"])
    expected = int((truth.columns["x"] > 10).filled(False).sum())
    assert query.dataset().count_rows(filter=pc.field("x") > 10) == expected
    assert query.scan_polars().filter(pl.col("x") > 10).collect().height == expected


def test_datafusion_takes_null_for_not_in_a_list_of_pyarrow(truth: Truth) -> None:
    """A wrong answer of DataFusion on any dataset of pyarrow, of lists of four values and more; as that of Polars."""
    store = truth.open()
    known = int((~np.isin(truth.columns["x"].data, [10, 20, 30, 40]) & ~np.ma.getmaskarray(truth.columns["x"])).sum())
    missing = int(np.ma.getmaskarray(truth.columns["x"]).sum())
    context = datafusion.SessionContext()
    context.register_dataset("v", store.dataset())
    context.register_dataset("w", pa.dataset.dataset(store.dataset().to_table()))
    for name in ("v", "w"):
        count = context.sql(f"SELECT count(*) AS c FROM {name} WHERE x NOT IN (10e0, 20e0, 30e0, 40e0)").to_pydict()["c"]
        assert count == [known + missing], name


def test_a_query_is_a_table_too(truth: Truth) -> None:
    store = truth.open()
    low, high = np.array([-5, -5, -5]), np.array([12, 12, 12])
    places = np.ma.stack([truth.columns[axis] for axis in "xyz"], axis=1)
    inside = ((places >= low) & (places <= high)).all(axis=1).filled(False) & (np.ma.getmaskarray(places).sum(axis=1) == 0)
    expected = inside & (truth.columns["n"] > 0) & (truth.columns["x"] > 3).filled(False)
    for name, run in engines(store, bbox=(low, high), where="n > 0").items():
        assert run("SELECT count(*) AS c FROM v WHERE x > 3") == [(int(expected.sum()),)], name
    some = store.dataset(objects=[3, 5], columns=["position", "object_id"])
    assert some.schema.names == ["x", "y", "z", "object_id"]
    assert some.count_rows(filter=pc.field("object_id") == 5) == (truth.columns["object_id"] == 5).sum()


@pytest.mark.parametrize("terms", [{"where": "object_id > 20"}, {"where": "count() > 70 and n > 0"}, {"passing": "box(x=0:20,y=0:20)"}])
def test_a_query_of_objects_is_filtered_by_axes(truth: Truth, terms: dict[str, str]) -> None:
    store = truth.open()
    whole = store.query(**terms).dataset().to_table()
    expected = [(int(pc.sum(pc.and_(pc.greater(whole["x"], 10), pc.equal(whole["chunk_y"], 1))).as_py()),)]
    assert whole.num_rows > 0
    for name, run in engines(store, **terms).items():
        assert run("SELECT count(*) AS c FROM v WHERE x > 10 AND chunk_y = 1") == expected, name


def test_the_attribute_that_splits_chunks_leaves_chunks_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    places, gene = rng.uniform(0, 40, (800, 3)), rng.choice(["Gad1", "Sst", "Vip"], 800)
    table = tmp_path / "cells.csv"
    lines = [f"{x:.3f},{y:.3f},{z:.3f},{name}" for (x, y, z), name in zip(places, gene, strict=True)]
    table.write_text("\n".join(["x,y,z,gene", *lines]))
    path, trace = tmp_path / "cells.zarrvectors", tmp_path / "trace"
    line = [sys.executable, "-m", "zvf", "import", str(table), str(path), "--chunk-shape", "20,20,20", "--chunk-by", "gene", "-q"]
    subprocess.run(line, check=True)
    store = zvf.open(path, trace_io=trace)
    truth = Truth(path, trace, {})
    assert "chunk_gene" in store.dataset().schema.names
    for name, run in engines(store).items():
        for condition, expected in [("gene = 'Sst'", gene == "Sst"), ("gene IN ('Vip', 'Gad1')", gene != "Sst"), ("NOT (gene = 'Vip')", gene != "Vip")]:
            truth.read()
            assert run(f"SELECT count(*) AS c FROM v WHERE {condition}") == [(int(expected.sum()),)], f"{name}: {condition}"
            if name != "polars":
                assert len(truth.read()) == 8 * len(set(gene[expected])), f"{name}: {condition}"


def test_channels_have_types_that_every_engine_compares(tmp_path: Path) -> None:
    url = tmp_path / "channels.zarrvectors"
    halves = np.array([[1, np.nan], [2, 3]], "f2")
    days = np.array([["2024-01-01", "NaT"], ["2024-01-02", "2024-01-03"]], "M8[D]")
    places = np.array([[0.0, 0.0], [1.0, 1.0]])
    zvf.write(url, kind="point_cloud", positions=places, attributes={"c": halves, "d": days}, chunk_shape=[9.0] * 2)
    cells = zvf.open(url).dataset()
    assert cells.schema.field("c").type == pa.list_(pa.float32(), 2)
    found = cells.to_table().sort_by("x").to_pydict()
    assert found["c"] == [[1, None], [2, 3]]
    assert found["d"] == [[19723, None], [19724, 19725]]
    assert duckdb.sql("select x from cells where c[1] > 1").fetchall() == [(1.0,)]
    assert zvf.open(url).scan_polars().sort("x").collect()["c"].to_list() == [[1, None], [2, 3]]


@pytest.mark.parametrize("name", ["points_2d_f8", "points_4d_sharded", "points_bins", "real_tractogram", "mesh", "real_synapses", "graph"])
def test_bundled_stores_are_tables(bundled: Bundled, name: str) -> None:
    store = zvf.open(bundled(name))
    positions = store.query(columns=["position"]).to_numpy()["position"].astype("f8")
    middle = float(np.median(positions[:, 0]))
    expected = [(int((positions[:, 0] > middle).sum()), positions[positions[:, 0] > middle, 0].max())]
    for engine, run in engines(store).items():
        axis = store.axes[0]
        assert run(f'SELECT count(*) AS c, max("{axis}") AS m FROM v WHERE "{axis}" > {middle!r}e0') == expected, engine


def test_the_source_of_polars_needs_no_pyarrow(truth: Truth) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import zvf, polars as pl\n"
        f"frame = zvf.open({str(truth.path)!r}).scan_polars()\n"
        "print(frame.filter(pl.col('x') > 0, pl.col('object_id').is_in([1, 2])).select(pl.len()).collect().item())"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    expected = (truth.columns["x"] > 0).filled(False) & np.isin(truth.columns["object_id"], [1, 2])
    assert int(found) == expected.sum()
