"""Conditions against DuckDB, with missing values and NaN: some of 2,000 random ones, all of them with ZVF_TESTS=whole."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

import zvf

ROWS = 1500
AXES = ("x", "y", "z")
NUMBERS = (*AXES, "f", "i", "j")
WHOLE = ("i", "j")
TEXTS = ("axon", "soma", "ä", "it''s", "none")


class Both(NamedTuple):
    """A part of a condition: as it is asked, and as SQL that means it."""

    ours: str
    sql: str


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[zvf.Store, duckdb.DuckDBPyConnection]:
    rng = np.random.default_rng(7)
    positions = rng.integers(-40, 40, (ROWS, 3)) / 2
    attributes = {
        "f": np.where(rng.random(ROWS) < 0.2, np.nan, rng.integers(-8, 8, ROWS) / 4),
        "i": rng.integers(-5, 6, ROWS),
        "j": rng.integers(-2, 3, ROWS).astype("i4"),
        "t": np.array(["axon", "soma", "ä", "it's", None], object)[rng.integers(0, 5, ROWS)],
        "n": np.arange(ROWS),
    }
    path: Path = tmp_path_factory.mktemp("conditions") / "points.zarrvectors"
    zvf.write(path, kind="point_cloud", positions=positions, attributes=attributes, chunk_shape=[10] * 3)
    columns = {axis: positions[:, at] for at, axis in enumerate(AXES)}
    connection = duckdb.connect()
    # NaN stays NaN, and does not become null.
    table = pa.table({name: pa.array(values, from_pandas=False) for name, values in {**columns, **attributes}.items()})
    connection.register("truth", table)
    connection.execute("create table points as select * from truth")
    return zvf.open(path), connection


def number(draw: random.Random, depth: int) -> Both:
    kind = draw.randrange(8) if depth else draw.randrange(2)
    if kind == 0:
        name = draw.choice(NUMBERS)
        return Both(name, name)
    if kind == 1:
        if draw.random() < 0.5:
            value = draw.randint(-6, 6)
            return Both(str(value), f"({value})")
        value = draw.randint(-12, 12) / 4
        return Both(repr(value), f"({value!r}::double)")
    a, b = number(draw, depth - 1), number(draw, depth - 1)
    if kind == 2:
        return Both(f"-({a.ours})", f"(-{a.sql})")
    if kind == 3:
        sign = draw.choice("+-*")
        return Both(f"({a.ours} {sign} {b.ours})", f"({a.sql} {sign} {b.sql})")
    if kind == 4:
        return Both(f"({a.ours} / 4)", f"({a.sql}::double / 4::double)")
    if kind == 5:
        # A remainder by zero is missing.
        one, other = draw.choice(WHOLE), draw.choice(WHOLE)
        return Both(f"({one} % {other})", f"({one} % nullif({other}, 0))")
    if kind == 6:
        if draw.random() < 0.5:
            return Both(f"abs({a.ours})", f"abs({a.sql})")
        return Both(f"sqrt(abs({a.ours}))", f"sqrt(abs({a.sql})::double)")
    ours, sql = draw.choice((("min", "least"), ("max", "greatest")))
    value = f"""case when {a.sql} is null or {b.sql} is null then null
        when isnan({a.sql}::double) or isnan({b.sql}::double) then 'nan'::double
        else {sql}({a.sql}::double, {b.sql}::double) end"""
    return Both(f"{ours}({a.ours}, {b.ours})", f"({value})")


def compared(a: Both, op: str, b: Both) -> Both:
    sql = {"==": "=", "!=": "<>"}.get(op, op)
    # NaN is unequal to every number, and neither less nor more.
    nan = "true" if op == "!=" else "false"
    value = f"""case when {a.sql} is null or {b.sql} is null then null
        when isnan({a.sql}::double) or isnan({b.sql}::double) then {nan} else {a.sql} {sql} {b.sql} end"""
    return Both(f"{a.ours} {op} {b.ours}", f"({value})")


def condition(draw: random.Random, depth: int) -> Both:
    kind = draw.randrange(11) if depth else draw.randrange(7)
    negated = draw.random() < 0.3
    no = "not " if negated else ""
    wrap = (lambda sql: f"(not {sql})") if negated else (lambda sql: sql)
    op = draw.choice(("==", "!=", "<", "<=", ">", ">="))
    if kind <= 1:
        return compared(number(draw, 2), op, number(draw, 2))
    if kind == 2:
        # A name against a number: what leaves chunks out.
        one = Both(*[draw.choice(NUMBERS)] * 2)
        return compared(one, op, number(draw, 0)) if draw.random() < 0.7 else compared(number(draw, 0), op, one)
    if kind == 3:
        value, low, high = number(draw, 1), number(draw, 0), number(draw, 0)
        both = f"({compared(value, '>=', low).sql} and {compared(value, '<=', high).sql})"
        return Both(f"{value.ours} {no}between {low.ours} and {high.ours}", wrap(both))
    if kind == 4:
        value, items = number(draw, 1), [number(draw, 0) for _ in range(draw.randint(1, 3))]
        any_of = " or ".join(compared(value, "==", item).sql for item in items)
        return Both(f"{value.ours} {no}in ({', '.join(item.ours for item in items)})", wrap(f"({any_of})"))
    if kind == 5:
        value = number(draw, 2)
        if draw.random() < 0.5:
            return Both(f"{value.ours} is {no}null", wrap(f"({value.sql} is null)"))
        return Both(f"{value.ours} is {no}nan", wrap(f"(isnan({value.sql}::double))")) if "f" in value.ours else compared(value, op, value)
    if kind == 6:
        text = f"'{draw.choice(TEXTS)}'"
        pattern = f"'%{draw.choice('aox_')}%'"
        return draw.choice((
            Both(f"t {op} {text}", f"(t {'=' if op == '==' else op} {text})"),
            Both(f"t {no}in ({text}, 'axon')", wrap(f"(t in ({text}, 'axon'))")),
            Both(f"t {no}like {pattern}", wrap(f"(t like {pattern})")),
            Both(f"t is {no}null", wrap("(t is null)")),
        ))
    if kind == 7:
        part = condition(draw, depth - 1)
        return Both(f"not ({part.ours})", f"(not {part.sql})")
    parts = [condition(draw, depth - 1) for _ in range(draw.randint(2, 3))]
    word = draw.choice((" and ", " or "))
    return Both("(" + word.join(f"({part.ours})" for part in parts) + ")", "(" + word.join(part.sql for part in parts) + ")")


def conditions() -> list[Both]:
    draw = random.Random(20)
    return [condition(draw, 3) for _ in range(2000)]


def test_conditions_keep_what_duckdb_keeps(stored: tuple[zvf.Store, duckdb.DuckDBPyConnection]) -> None:
    store, connection = stored
    every = 1 if os.environ.get("ZVF_TESTS") == "whole" else 20
    some = 0
    for one in conditions()[::every]:
        expected = sorted(row for (row,) in connection.execute(f"select n from points where {one.sql}").fetchall())
        found = store.query(where=one.ours, columns=["n"]).to_numpy()["n"]
        assert sorted(found.tolist()) == expected, f"{one.ours}\n{one.sql}"
        some += 0 < len(expected) < ROWS
    assert some


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> tuple[zvf.Store, duckdb.DuckDBPyConnection]:
    """Lines in groups with attributes named as those of the points, and tables `objects`, `members` and `groups` with the same."""
    rng = np.random.default_rng(8)
    counts, count = rng.integers(1, 9, 200), 40
    members = {f"g{number}": sorted(rng.choice(190, rng.integers(0, 12), replace=False).tolist()) for number in range(count)}
    attributes = {
        **{axis: rng.integers(-40, 40, count) / 2 for axis in AXES},
        "f": np.where(rng.random(count) < 0.2, np.nan, rng.integers(-8, 8, count) / 4),
        "i": rng.integers(-5, 6, count),
        "j": rng.integers(-2, 3, count).astype("i4"),
        # Missing texts of groups are empty ones.
        "t": np.array(["axon", "soma", "ä", "it's", ""], object)[rng.integers(0, 5, count)],
    }
    folder: Path = tmp_path_factory.mktemp("groups")
    ids = np.repeat(np.arange(200), counts)
    chunks = {"kind": "streamline", "chunk_shape": [10] * 3}
    zvf.write(folder / "named.zarrvectors", positions=rng.normal(0, 9, (len(ids), 3)), object_ids=ids, groups=members, **chunks)
    # Attributes of groups come with tables.
    zvf.run({"job": "query", "store": str(folder / "named.zarrvectors"), "output": str(folder / "tables")})
    table = feather.read_table(folder / "tables" / "groups.arrow", memory_map=False)
    for name, values in attributes.items():
        table = table.append_column(name, pa.array(values, from_pandas=False))
    feather.write_feather(table, folder / "tables" / "groups.arrow", compression="uncompressed")
    zvf.write(folder / "lines.zarrvectors", positions=np.zeros((2, 3)), object_ids=[500, 500], **chunks)
    zvf.append(folder / "lines.zarrvectors", folder / "tables")
    connection = duckdb.connect()
    truth = {
        "objects": {"id": [*range(200), 500], "n": [*counts.tolist(), 2]},
        "members": {"g": np.repeat(np.arange(count), [len(ids) for ids in members.values()]), "id": [id for ids in members.values() for id in ids]},
        "groups": {"g": np.arange(count), **attributes},
    }
    for name, columns in truth.items():
        connection.register("truth", pa.table({column: pa.array(values, from_pandas=False) for column, values in columns.items()}))
        connection.execute(f"create table {name} as select * from truth")
        connection.unregister("truth")
    return zvf.open(folder / "lines.zarrvectors"), connection


def test_conditions_on_groups_select_the_members_that_duckdb_selects(grouped: tuple[zvf.Store, duckdb.DuckDBPyConnection]) -> None:
    store, connection = grouped
    draw = random.Random(21)

    def of_groups() -> Both:
        while True:
            one = condition(draw, 2)
            # Names, and no letters in texts.
            ours = re.sub(r"(?<![\w'%])([xyzfijt])(?![\w'%(])", r"group.\1", one.ours)
            if ours != one.ours:
                # What `and` joins is one part here, with its literals.
                return Both(f"not (not ({ours}))", one.sql)

    def members(sql: str) -> str:
        return f"(exists (select 1 from members join groups using (g) where members.id = objects.id and {sql}))"

    some, every = 0, 1 if os.environ.get("ZVF_TESTS") == "whole" else 10
    for number in range(0, 500, every):
        a, b, limit = of_groups(), of_groups(), draw.randint(0, 200)
        ours, sql = (
            (a.ours, members(a.sql)),
            (f"{a.ours} and object_id < {limit} and {b.ours}", f"({members(f'{a.sql} and {b.sql}')} and id < {limit})"),
            (f"{a.ours} or count() > 7", f"({members(a.sql)} or n > 7)"),
            (f"not ({a.ours} or object_id is null)", f"(not {members(a.sql)})"),
            (f"({a.ours} or object_id < {limit}) and {b.ours}", f"(({members(a.sql)} or id < {limit}) and {members(b.sql)})"),
        )[number // every % 5]
        expected = sorted(id for (id,) in connection.execute(f"select id from objects where {sql}").fetchall())
        assert sorted(store.objects(where=ours).to_numpy()["object_id"].tolist()) == expected, f"{ours}\n{sql}"
        some += 0 < len(expected) < 201
    assert some


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> tuple[zvf.Store, duckdb.DuckDBPyConnection]:
    """Lines with attributes, of which each has attributes of the same names, and a view with a row for each vertex of a line."""
    rng = np.random.default_rng(9)

    def attributes(count: int) -> dict[str, np.ndarray]:
        return {
            "f": np.where(rng.random(count) < 0.2, np.nan, rng.integers(-8, 8, count) / 4),
            "i": rng.integers(-5, 6, count),
            "j": rng.integers(-2, 3, count).astype("i4"),
            "t": np.array(["axon", "soma", "ä", "it's", ""], object)[rng.integers(0, 5, count)],
        }

    counts = rng.integers(1, 9, 200)
    ids, first = np.repeat(np.arange(200), counts), np.cumsum(counts) - counts
    positions = rng.integers(-40, 40, (len(ids), 3)) / 2
    of_vertices, of_objects = {**attributes(len(ids)), "n": np.arange(len(ids))}, attributes(200)
    path: Path = tmp_path_factory.mktemp("owned") / "lines.zarrvectors"
    objects = pa.table({"object_id": np.arange(200), **{name: pa.array(values, from_pandas=False) for name, values in of_objects.items()}})
    chunks = {"kind": "streamline", "chunk_shape": [10] * 3}
    zvf.write(path, positions=positions, object_ids=ids, attributes=of_vertices, objects=objects, **chunks)
    starts = {axis: positions[first, at] for at, axis in enumerate(AXES)}
    truth = {
        "v": {"id": ids, **{axis: positions[:, at] for at, axis in enumerate(AXES)}, **of_vertices},
        "o": {"id": np.arange(200), "c": counts, **starts, **of_objects},
    }
    connection = duckdb.connect()
    for name, columns in truth.items():
        connection.register("truth", pa.table({column: pa.array(values, from_pandas=False) for column, values in columns.items()}))
        connection.execute(f"create table {name} as select * from truth")
        connection.unregister("truth")
    return zvf.open(path), connection


def test_vertices_are_compared_with_their_objects_as_duckdb_joins_them(owned: tuple[zvf.Store, duckdb.DuckDBPyConnection]) -> None:
    store, connection = owned
    draw = random.Random(22)

    def mixed() -> Both:
        one = condition(draw, 2)
        own = {name for name in (*NUMBERS, "t") if draw.random() < 0.4}

        def named(text: str, name: Callable[[str], str]) -> str:
            # Names, and no letters in texts.
            return re.sub(r"(?<![\w'%])([xyzfijt])(?![\w'%(])", lambda found: name(found[1]), text)

        ours = named(one.ours, lambda name: name if name not in own else f"start.{name}" if name in AXES else f"object.{name}")
        return Both(ours, named(one.sql, lambda name: f"{'o' if name in own else 'v'}.{name}"))

    some, every = 0, 1 if os.environ.get("ZVF_TESTS") == "whole" else 10
    for number in range(0, 1000, every):
        a, b, limit = mixed(), mixed(), draw.randint(0, 8)
        ours, sql = (
            (a.ours, a.sql),
            (f"({a.ours}) or ({b.ours})", f"({a.sql} or {b.sql})"),
            (f"({a.ours}) and count() > {limit} and ({b.ours})", f"({a.sql} and o.c > {limit} and {b.sql})"),
            (f"not ({a.ours}) or count() > i + {limit}", f"((not {a.sql}) or o.c > v.i + {limit})"),
        )[number // every % 4]
        expected = sorted(n for (n,) in connection.execute(f"select v.n from v join o using (id) where {sql}").fetchall())
        found = store.query(where=ours, columns=["n"]).to_numpy()["n"]
        assert sorted(found.tolist()) == expected, f"{ours}\n{sql}"
        whole = store.query(where=ours, select="objects", columns=["object_id"]).to_numpy()["object_id"]
        hits = connection.execute(f"select distinct o.id from v join o using (id) where {sql}").fetchall()
        assert set(whole.tolist()) == {id for (id,) in hits}, f"{ours}\n{sql}"
        some += 0 < len(expected) < store.query().read().summary["vertices"]
    assert some


def test_axes_leave_chunks_out(stored: tuple[zvf.Store, duckdb.DuckDBPyConnection]) -> None:
    store, _ = stored
    all_of_them = store.query().read().summary["chunks_read"]
    assert store.query(where="x between 0 and 5 and y < -5").read().summary["chunks_read"] < all_of_them / 4


def test_errors_have_a_mark_under_the_place(stored: tuple[zvf.Store, duckdb.DuckDBPyConnection]) -> None:
    store, _ = stored
    with pytest.raises(zvf.MisuseError, match=r"where, at byte 4: .*\n  x > > 1\n      \^"):
        store.query(where="x > > 1").read()
    with pytest.raises(zvf.MisuseError, match=r'did you mean "f"\?'):
        store.query(where="ff > 1").read()
