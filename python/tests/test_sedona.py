"""SQL with geometry: SedonaDB against shapely on the rows as they were written, and which cells it reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import zvf

sedonadb = pytest.importorskip("sedonadb", reason="SedonaDB is not installed")
shapely = pytest.importorskip("shapely", reason="shapely is not installed")

import zvf.sedona  # noqa: E402

Bundled = Callable[[str], Path]
PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
ROWS = 4000


def connect() -> Any:
    with warnings.catch_warnings():
        # Libraries for projections and images are not there.
        warnings.simplefilter("ignore")
        return sedonadb.connect()


def ask(connection: Any, query: str) -> list[tuple[Any, ...]]:
    table = pa.table(connection.sql(query)).to_pydict()
    return list(zip(*table.values(), strict=True))


class Trace:
    """The cells that were read since the last time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> set[str]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.path.write_text("")
        return {key for line in lines if "/c/" in (key := json.loads(line)["key"])}


@dataclass
class Points:
    """Points with their numbers, as they were written."""

    path: Path
    trace: Trace
    places: np.ndarray
    n: np.ndarray
    ids: np.ndarray

    def register(self, **terms: Any) -> Any:
        connection = connect()
        zvf.sedona.register(connection, self.path, "v", trace_io=self.trace.path, **terms)
        return connection


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Points:
    folder = tmp_path_factory.mktemp("sedona")
    rng = np.random.default_rng(43)
    places = rng.uniform(-30, 30, (ROWS, 3)).astype("f4")
    # Corners of chunks: on borders of boxes, and at round distances.
    places[:400] = rng.choice(np.array([-20, -10, 0.0, 10, 20], "f4"), (400, 3))
    n, ids = rng.integers(-4, 5, ROWS).astype("i4"), rng.integers(0, 40, ROWS)
    path = folder / "points.zarrvectors"
    zvf.write(path, kind="point_cloud", positions=places, attributes={"n": n}, object_ids=ids, chunk_shape=[10] * 3)
    return Points(path, Trace(folder / "trace"), places.astype("f8"), n, ids)


def shapes(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[Any], np.ndarray]]]:
    """Random conditions on geometries, each as SQL and as shapely computes it."""
    while True:
        low = rng.choice([rng.uniform(-32, 30, 2), rng.integers(-4, 4, 2) * 10.0])
        high = low + rng.choice([rng.uniform(0, 25, 2), rng.integers(0, 3, 2) * 10.0 + 1e-3])
        box = shapely.box(*low, *high)
        ring = shapely.MultiPoint(rng.integers(-30, 31, (6, 2)).astype(float)).convex_hull
        hole = shapely.Point(ring.centroid).buffer(rng.uniform(0.1, 5), quad_segs=4)
        center, distance = shapely.Point(low), float(rng.choice([10.0, rng.uniform(0.1, 20)]))
        literal = lambda shape: f"ST_GeomFromText('{shapely.to_wkt(shape, rounding_precision=-1)}')"  # noqa: E731
        yield f"ST_Intersects(geometry, {literal(box)})", lambda rows, box=box: shapely.intersects(rows, box)
        yield f"ST_Intersects({literal(ring)}, geometry)", lambda rows, ring=ring: shapely.intersects(rows, ring)
        if ring.geom_type == "Polygon":
            cut = ring.difference(hole)
            yield f"ST_Within(geometry, {literal(cut)})", lambda rows, cut=cut: shapely.within(rows, cut)
        yield f"ST_DWithin(geometry, {literal(center)}, {distance!r})", lambda rows, center=center, distance=distance: shapely.dwithin(rows, center, distance)
        yield (
            f"ST_Distance(geometry, {literal(center)}) < {distance!r}",
            lambda rows, center=center, distance=distance: shapely.distance(rows, center) < distance,
        )


@pytest.mark.parametrize("seed", range(10))
def test_fifty_random_conditions_are_what_shapely_says(points: Points, seed: int) -> None:
    connection = points.register(count=2)
    rows, random = shapely.points(points.places[:, :2]), shapes(np.random.default_rng([43, seed]))
    some = 0
    for _ in range(50):
        condition, test = next(random)
        true = test(rows)
        [(count, total)] = ask(connection, f"SELECT count(*), sum(n) FROM v WHERE {condition}")
        assert (count, total or 0) == (true.sum(), points.n[true].sum()), condition
        some += true.any()
    assert some > 25


def test_other_conditions_leave_nothing_out(points: Points) -> None:
    connection = points.register(count=2)
    rows, box = shapely.points(points.places[:, :2]), shapely.box(0, 0, 10, 10)
    inside = shapely.intersects(rows, box)
    condition = "ST_Intersects(geometry, ST_GeomFromText('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))'))"
    for more, true in [
        (f"NOT {condition}", ~inside),
        (f"{condition} OR n > 3", inside | (points.n > 3)),
        (f"{condition} AND n > 0 AND object_id < 20", inside & (points.n > 0) & (points.ids < 20)),
        ("ST_Intersects(geometry, ST_GeomFromText('POLYGON EMPTY'))", np.zeros(ROWS, bool)),
        ("x BETWEEN -5 AND 5", np.abs(points.places[:, 0]) <= 5),
    ]:
        assert ask(connection, f"SELECT count(*) FROM v WHERE {more}") == [(true.sum(),)], more
    joined = ask(
        connection,
        "WITH r AS (SELECT 1 AS id, ST_GeomFromText('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))') AS g) "
        "SELECT r.id, count(*), avg(z) FROM r JOIN v ON ST_Intersects(r.g, v.geometry) GROUP BY r.id",
    )
    assert joined == [(1, inside.sum(), pytest.approx(points.places[inside, 2].mean()))]


def test_the_table_has_all_columns(points: Points) -> None:
    connection = points.register(count=4)
    rows = ask(connection, "SELECT ST_AsBinary(geometry), x, y, z, n, object_id, chunk_x FROM v")
    assert len(rows) == ROWS
    read = shapely.get_coordinates(shapely.from_wkb([row[0] for row in rows]), include_z=True)
    found = np.column_stack([np.array([row[1:] for row in rows]), read])
    chunks = np.floor(points.places[:, 0] / 10)
    expected = np.column_stack([points.places, points.n, points.ids, chunks, points.places])
    sort = lambda table: table[np.lexsort(table.T)]  # noqa: E731
    np.testing.assert_array_equal(sort(found), sort(expected))
    # Of a question: its rows, and its columns.
    part = points.register(bbox={"z": (0, 10)}, where="n > 1", columns=["position", "n"])
    true = (points.places[:, 2] >= 0) & (points.places[:, 2] <= 10) & (points.n > 1)
    assert ask(part, "SELECT count(*), sum(n) FROM v") == [(true.sum(), points.n[true].sum())]
    assert pa.table(part.sql("SELECT * FROM v LIMIT 0")).column_names == ["geometry", "x", "y", "z", "n"]
    assert ask(points.register(objects=[3, 5]), "SELECT count(*) FROM v") == [(np.isin(points.ids, [3, 5]).sum(),)]


def test_cells_that_are_read(points: Points) -> None:
    store = zvf.open(points.path)
    chunks = np.array(store.dataset().chunks())
    connection = points.register(count=3)

    def cells(query: str) -> int:
        points.trace.read()
        ask(connection, query)
        return len({key for key in points.trace.read() if "/vertices/c/" in key})

    assert cells("SELECT count(*) FROM v") == 0
    assert cells("SELECT avg(z) FROM v") == len(chunks)
    box = "POLYGON((1 -19, 9 -19, 9 -1, 1 -1, 1 -19))"
    meeting = int(((chunks[:, 0] == 0) & np.isin(chunks[:, 1], [-2, -1])).sum())
    assert cells(f"SELECT avg(z) FROM v WHERE ST_Intersects(geometry, ST_GeomFromText('{box}'))") == meeting
    assert cells("SELECT count(*) FROM v WHERE ST_DWithin(geometry, ST_Point(5, 5), 3)") == int(((chunks[:, 0] == 0) & (chunks[:, 1] == 0)).sum())
    assert cells("SELECT count(*) FROM v WHERE ST_Intersects(geometry, ST_Point(500, 5))") == 0
    # SedonaDB hands no comparison over.
    assert cells("SELECT count(*) FROM v WHERE x > 25") == len(chunks)
    connection = points.register(where="x > 25")
    assert cells("SELECT count(*) FROM v") == int((chunks[:, 0] == 2).sum())
    # Whole objects have vertices outside of the box.
    connection = points.register(bbox={"x": (25, None)}, touching=True)
    inside = np.isin(points.ids, points.ids[points.places[:, 0] >= 25]) & (points.places[:, 0] < -25)
    assert ask(connection, "SELECT count(*) FROM v WHERE ST_Intersects(geometry, ST_GeomFromText('POLYGON((-40 -40, -25.0001 -40, -25.0001 40, -40 40, -40 -40))'))") == [
        (int((inside & (points.places[:, 0] <= -25.0001)).sum()),)
    ]


@dataclass
class Lines:
    """Lines, as they were written."""

    path: Path
    lines: list[np.ndarray]
    longest: float


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    path = tmp_path_factory.mktemp("sedona") / "lines.zarrvectors"
    rng = np.random.default_rng(44)
    counts = np.concatenate([[1, 2], rng.integers(2, 20, 198)])
    given = [np.cumsum(np.vstack([rng.uniform(-30, 30, (1, 3)), rng.normal(0, 4, (count - 1, 3))]), axis=0).astype("f4") for count in counts]
    longest = max(np.sqrt((np.diff(line.astype("f8"), axis=0) ** 2).sum(axis=1)).max(initial=0) for line in given)
    ids = np.arange(200) * 3 - 60
    objects = {"object_id": ids, "weight": np.arange(200) / 7, "name": [f"l{number % 5}" for number in range(200)]}
    offsets = np.concatenate([[0], np.cumsum(counts)])
    zvf.write(path, kind="polyline", positions=np.vstack(given), offsets=offsets, object_ids=ids, objects=objects, chunk_shape=[10] * 3)
    return Lines(path, given, float(longest))


def test_lines_are_those_of_shapely(lines: Lines) -> None:
    rows = np.array([shapely.LineString(line) if len(line) > 1 else shapely.Point(line[0]) for line in lines.lines])
    flat = shapely.force_2d(rows)
    plain, promised = connect(), connect()
    zvf.sedona.register(plain, lines.path, "v", count=2)
    zvf.sedona.register(promised, lines.path, "v", count=2, longest=lines.longest)
    assert ask(plain, "SELECT count(*), count(DISTINCT name), sum(weight) FROM v") == [(200, 5, pytest.approx(sum(range(200)) / 7))]
    found = dict(ask(plain, "SELECT object_id, ST_AsBinary(geometry) FROM v"))
    assert [shapely.from_wkb(found[number * 3 - 60]) for number in range(200)] == rows.tolist()
    random, crossing = shapes(np.random.default_rng(45)), 0
    for _ in range(8):
        condition, test = next(random)
        true = test(flat)
        expected = [(true.sum(), pytest.approx((np.arange(200) / 7)[true].sum()))]
        for connection in (plain, promised):
            [(count, total)] = ask(connection, f"SELECT count(*), sum(weight) FROM v WHERE {condition}")
            assert [(count, total or 0)] == expected, condition
        crossing += true.any()
    assert crossing > 3


def test_lines_without_a_vertex_in_the_box(tmp_path: Path) -> None:
    path, trace = tmp_path / "lines.zarrvectors", Trace(tmp_path / "trace")
    places = np.array([[5, 5, 5], [5, 35, 5], [95, 5, 5], [95, 9, 5]], "f4")
    zvf.write(path, kind="polyline", positions=places, offsets=[0, 2, 4], object_ids=[1, 2], chunk_shape=[10] * 3)
    condition = "ST_Intersects(geometry, ST_GeomFromText('POLYGON((0 19, 9 19, 9 21, 0 21, 0 19))'))"
    connection = connect()
    zvf.sedona.register(connection, path, "v", longest=30, trace_io=trace.path)
    trace.read()
    assert ask(connection, "SELECT count(*) FROM v") == [(2,)]
    assert not trace.read()
    assert ask(connection, "SELECT sum(object_id) FROM v") == [(3,)]
    trace.read()
    assert ask(connection, f"SELECT object_id FROM v WHERE {condition}") == [(1,)]
    assert not any("/vertices/c/9/" in key for key in trace.read())
    zvf.sedona.register(connection, path, "v", longest=29)
    with pytest.raises(Exception, match="longest: found a link of length 30"):
        ask(connection, f"SELECT object_id FROM v WHERE ST_Intersects(geometry, ST_Point(5, 5))")
    for wrong in (-1.0, float("nan")):
        with pytest.raises(zvf.MisuseError, match="longest"):
            zvf.sedona.register(connection, path, "v", longest=wrong)


def test_faces_and_trees(bundled: Bundled) -> None:
    truth = np.load(bundled("mesh").parent / "truth.npz")
    places, faces = truth["positions"].astype("f8"), truth["faces"]
    polygons = shapely.polygons(places[faces])
    edges = np.sqrt(((places[faces] - places[np.roll(faces, 1, axis=1)]) ** 2).sum(axis=2)).max()
    connection = connect()
    flat = shapely.force_2d(polygons)
    low, high = np.quantile(places[:, :2], [0.3, 0.6], axis=0)
    box = shapely.box(*low, *high)
    for terms in ({}, {"longest": float(edges)}):
        zvf.sedona.register(connection, bundled("mesh"), "v", **terms)
        assert ask(connection, "SELECT count(*), sum(ST_Area(geometry)) FROM v") == [(len(faces), pytest.approx(shapely.area(flat).sum()))]
        found = ask(connection, f"SELECT ST_AsBinary(geometry) FROM v WHERE ST_Intersects(geometry, ST_GeomFromText('{box.wkt}'))")
        wanted = sorted(shapely.normalize(polygons[shapely.intersects(flat, box)]).tolist(), key=str)
        assert sorted(shapely.normalize(shapely.from_wkb([row[0] for row in found])).tolist(), key=str) == wanted
    for name in ("skeleton", "graph"):
        answer = zvf.open(bundled(name)).query(select="objects").read()
        owner, ends = answer.vertices["object_id"] if "object_id" in answer.vertices.column_names else None, answer.links["vertices"]
        steps = answer.vertices["position"].astype("f8")[ends][:, :, :2]
        starts = answer.objects["start"]
        of = np.searchsorted(starts, ends, side="right")
        own = of[:, 0] == of[:, 1]
        assert owner is None or own.any()
        lengths = np.sqrt(((steps[own, 0] - steps[own, 1]) ** 2).sum(axis=1))
        zvf.sedona.register(connection, bundled(name), "v", count=2)
        assert ask(connection, "SELECT count(*), sum(ST_Length(geometry)) FROM v") == [(len(starts), pytest.approx(lengths.sum()))], name


def test_what_does_not_fit_is_refused(points: Points, lines: Lines, tmp_path: Path) -> None:
    connection = connect()
    store = zvf.open(points.path)
    for words, terms in [
        ("faces", {"geometry": "faces"}),
        ("lines", {"geometry": "lines"}),
        ("geometry", {"geometry": "volumes"}),
        ("longest", {"longest": 3.0}),
        ("select", {"select": "objects"}),
        ("limit", {"limit": 3}),
        ("retries", {"retries": 3}),
        ("nothing", {"where": "nothing > 3"}),
    ]:
        with pytest.raises(zvf.Error, match=words):
            zvf.sedona.register(connection, store, "v", **terms)
    with pytest.raises(zvf.MisuseError, match="columns"):
        zvf.sedona.register(connection, lines.path, "v", columns=["position"])
    four = tmp_path / "four.zarrvectors"
    zvf.write(four, kind="point_cloud", positions=np.ones((2, 4)), axes=["x", "y", "z", "w"], chunk_shape=[5.0] * 4)
    with pytest.raises(zvf.MisuseError, match="two or three axes of space, found 4 axes"):
        zvf.sedona.register(connection, four, "v")


def program(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "zvf", *map(str, arguments), "-q"], check=True)


def geo_of(file: Path) -> bytes | None:
    # A schema of pyarrow has not all that a file has.
    found: bytes | None = pa.parquet.ParquetFile(file).metadata.metadata.get(b"geo")
    return found


def test_geoparquet_is_read_by_others(points: Points, tmp_path: Path) -> None:
    table, store = tmp_path / "points.csv", tmp_path / "points.zarrvectors"
    table.write_text("\n".join(["x,y,z,n", *(f"{x!r},{y!r},{z!r},{n}" for (x, y, z), n in zip(points.places.tolist(), points.n.tolist(), strict=True))]))
    program("import", table, store, "--crs", "EPSG:25832+7837", "--chunk-shape", "10,10,10")
    file = tmp_path / "points.parquet"
    program("query", store, "--columns", "geometry,x,n", "-o", file)
    geo = json.loads(geo_of(file))
    low, high = points.places.min(axis=0), points.places.max(axis=0)
    column = {"encoding": "WKB", "geometry_types": ["Point Z"], "crs": "EPSG:25832", "bbox": [*low, *high]}
    assert geo == {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    rows = pa.parquet.read_table(file)
    assert rows.column_names == ["geometry", "x", "n"]
    found = np.column_stack([shapely.get_coordinates(shapely.from_wkb(rows["geometry"].to_pylist()), include_z=True), rows["n"].to_numpy()])
    expected = np.column_stack([points.places, points.n])
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    connection = connect()
    connection.read.parquet(str(file)).to_view("v")
    srid = "ST_SetSRID(ST_GeomFromText('POLYGON((0 0, 9 0, 9 9, 0 9, 0 0))'), 25832)"
    inside = ((points.places[:, :2] >= 0) & (points.places[:, :2] <= 9)).all(axis=1)
    query = f"SELECT count(*), max(ST_SRID(geometry)), sum(ST_Z(geometry)) FROM v WHERE ST_Intersects(geometry, {srid})"
    assert ask(connection, query) == [(inside.sum(), 25832, pytest.approx(points.places[inside, 2].sum()))]
    # The table of the store has that system, another one, or none.
    for crs, literal in (("store", srid), ("EPSG:25832", srid), (None, srid.removeprefix("ST_SetSRID(").removesuffix(", 25832)"))):
        zvf.sedona.register(connection, store, "v", crs=crs)
        assert ask(connection, f"SELECT count(*) FROM v WHERE ST_Intersects(geometry, {literal})") == [(inside.sum(),)]
    # Without the column it is a plain table; other tables have it, too.
    program("query", store, "--columns", "x,y,n", "-o", file)
    assert geo_of(file) is None
    points_of = zvf.open(store).query(columns=["geometry"], where="n > 3").vertices
    assert len(shapely.from_wkb(pa.table(points_of)["geometry"].to_pylist())) == (points.n > 3).sum()


def test_the_examples_and_the_table_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(block, names)
    trace = Trace(tmp_path / "trace")
    store = zvf.open("cells.zarrvectors", trace_io=trace.path)

    def engines(terms: dict[str, Any]) -> list[Callable[[str], object]]:
        dataset, frame = store.dataset(**terms), store.scan_polars(**terms)
        context, connection, sedona = datafusion.SessionContext(), duckdb.connect(), connect()
        context.register_dataset("cells", dataset)
        connection.register("cells", dataset)
        zvf.sedona.register(sedona, store, "cells", **terms)
        return [
            lambda query: connection.sql(query).fetchall(),
            lambda query: pl.SQLContext(cells=frame).execute(query).collect(),
            lambda query: context.sql(query).to_pydict(),
            lambda query: ask(sedona, query),
        ]

    rows = re.findall(r"^\| `(select [^`]*)`(?:, `([^`]*)`)? \| (.*) \|$", text, flags=re.MULTILINE)
    assert len(rows) >= 6
    measured, expected = [], []
    for query, terms, stated in rows:
        found = []
        for run in engines(eval(f"dict({terms})")):
            trace.read()
            try:
                run(query)
                found.append(str(len(trace.read())))
            except Exception:
                found.append("–")
        measured.append(found)
        expected.append(stated.split(" | "))
    assert measured == expected
