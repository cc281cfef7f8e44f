"""Values of tables that find their vertices, objects and links, judged by pandas' merge.

A case is a kind of store, a source of the table, a way in which its rows find theirs, and what is odd about them: rows that are left out, come
twice, are not in the store or lack a part of their key. Where pandas finds one row of the table for what the store has, that is the value;
tables of which the documentation says that they are refused have to be, and change nothing. `ZVF_TEST_SEED` draws other cases, and
`ZVF_TESTS=whole` ten times as many.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

import zvf

KINDS = ["point_cloud", "polyline", "graph", "mesh"]
SEED = int(os.environ.get("ZVF_TEST_SEED", "0"))
CASES = 125 * (10 if os.environ.get("ZVF_TESTS") == "whole" else 1)
"""Of each kind."""

STORES = 5
"""Stores of each kind, each for as many cases."""

ODD = ["all", "fewer", "fewer", "extra", "ignored", "again", "other", "hole", "ambiguous", "against"]
"""What is odd about the rows of a table."""


def from_csv(table: pd.DataFrame) -> Any:
    return pd.read_csv(io.StringIO(flat(table).to_csv(index=False)))


def from_csv_by_arrow(table: pd.DataFrame) -> Any:
    return pyarrow.csv.read_csv(io.BytesIO(flat(table).to_csv(index=False).encode()))


def from_ndjson(table: pd.DataFrame) -> Any:
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    text = "".join(json.dumps(row, default=lambda one: one.tolist()) + "\n" for row in rows)
    return pyarrow.json.read_json(io.BytesIO(text.encode()))


def from_parquet(table: pd.DataFrame) -> Any:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), file, row_group_size=7)
    return pyarrow.parquet.read_table(file)


def from_arrow(table: pd.DataFrame) -> Any:
    return pa.Table.from_pandas(table, preserve_index=False).to_reader(max_chunksize=5)


def from_polars(table: pd.DataFrame) -> Any:
    return pl.DataFrame(pa.Table.from_pandas(table, preserve_index=False))


def from_pandas(table: pd.DataFrame) -> Any:
    # An index of its own, which says nothing.
    return table.set_index(np.arange(len(table)) + 5)


SOURCES: list[Callable[[pd.DataFrame], Any]] = [
    from_csv,
    from_csv_by_arrow,
    from_ndjson,
    from_parquet,
    from_arrow,
    from_polars,
    from_pandas,
]


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """Lists as a column for each value."""
    columns = {}
    for name in table.columns:
        if len(table) and isinstance(table[name].iloc[0], np.ndarray):
            values = np.stack(table[name].to_numpy())
            columns.update({f"{name}_{at}": values[:, at] for at in range(values.shape[1])})
        else:
            columns[name] = table[name]
    return pd.DataFrame(columns)


def unique_pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A text and a number that are unique together, and neither alone."""
    texts = rng.choice(np.array(["a", "b", "größe", "c d"], dtype=object), count)
    return texts, pd.Series(texts).groupby(texts).cumcount().to_numpy().astype("i2")


class Made:
    """A store, and what it holds: vertices, objects and links as frames in the order of a query, with the values of `v`, `k` and `t`."""

    def __init__(self, url: Path, kind: str, rng: np.random.Generator) -> None:
        self.url, self.kind, self.rng = url, kind, rng
        count = int(rng.integers(24, 60))
        grid = rng.integers(0, 12, (count, 3))
        type_ = rng.choice(["f4", "f8", "i4"])
        # Points may share their place.
        positions = grid.astype("i4") if type_ == "i4" else (grid * [1.1, 0.7, 3.3] - 3.3).astype(type_)
        texts, numbers = unique_pairs(rng, count)
        ids = (rng.permutation(count * 9)[:count] - 40).astype("i8") * int(rng.choice([1, 2**50]))
        attributes = {
            "id": ids,
            "tag": np.array([f"t{one}" for one in ids], dtype=object),
            "real": (rng.permutation(count) / 7).astype(rng.choice(["f4", "f8"])),
            "grp": texts,
            "num": numbers,
            "pair": np.stack([numbers, rng.permutation(count)], axis=1).astype("i4"),
            "v": rng.normal(size=count),
            "k": rng.integers(-9, 9, count).astype("i4"),
            "t": rng.choice(np.array(["x", "y", "zz"], dtype=object), count),
        }
        given: dict[str, Any] = {"positions": positions, "attributes": attributes}
        if kind != "point_cloud":
            given["object_ids"] = np.sort(rng.choice([3, -7, 12, 900, 2**40], count))
            known = np.unique(given["object_ids"])
            texts, numbers = unique_pairs(rng, len(known))
            names = np.array([f"o{one}" for one in known], dtype=object)
            extra = {"v": rng.normal(size=len(known)), "k": np.arange(len(known), dtype="i4"), "t": names[::-1].copy()}
            n = rng.permutation(len(known)).astype("u1")
            given["objects"] = {"object_id": known, "name": names, "n": n, "grp": texts, "num": numbers, **extra}
        if kind in ("graph", "mesh"):
            links = self.links_of(given["object_ids"], 2 if kind == "graph" else 3)
            given["links"] = links
            many = len(links)
            given["link_attributes"] = {
                "w": rng.permutation(many).astype("i4"),
                "a": (np.arange(many) // 6).astype("u1"),
                "b": (np.arange(many) % 6).astype("i8") - 3,
                "v": rng.normal(size=many),
                "k": rng.integers(-9, 9, many).astype("i4"),
            }
        zvf.write(url, kind=kind, chunk_shape=[5.0] * 3, **given)  # type: ignore[arg-type]
        self.read()
        # What was written, by id.
        order = np.argsort(ids)
        mine = self.vertices.sort_values("id")
        for name, values in {**attributes, "x": positions[:, 0], "z": positions[:, 2]}.items():
            np.testing.assert_array_equal(np.stack(mine[name].to_numpy()), values[order], err_msg=name)

    def links_of(self, owners: np.ndarray, width: int) -> np.ndarray:
        found: list[np.ndarray] = []
        for one in np.unique(owners):
            mine = np.flatnonzero(owners == one)
            if len(mine) > width:
                found += [self.rng.choice(mine, width, replace=False) for _ in mine]
                if width == 3:
                    # A face with two sides.
                    found.append(found[-1][[0, 2, 1]])
        links = pd.DataFrame(np.array(found))
        same = links.apply(tuple, axis=1) if width == 3 else links.apply(lambda row: tuple(sorted(row)), axis=1)
        return links[~same.duplicated()].to_numpy()

    def read(self) -> None:
        store = zvf.open(self.url)
        owned = self.kind != "point_cloud"
        answer = store.query(columns=["position", "attributes", "chunk", "row", *(["object_id"] if owned else [])]).read()
        rows = answer.vertices.to_pandas()
        for at, name in enumerate("xyz"):
            rows[name] = [place[at] for place in rows["position"]]
        self.type = np.stack(rows["position"].to_numpy()).dtype
        self.vertices = rows.assign(vertex=np.arange(len(rows)))
        if owned:
            self.objects = answer.objects.to_pandas()
        if self.kind in ("graph", "mesh"):
            self.links = answer.links.to_pandas()

    def again(self, on: str) -> pd.DataFrame:
        """What vertices, objects or links hold now: the columns whose values are set are read again."""
        query = zvf.open(self.url).query(columns=["v", "k", "t"])
        now = {"vertices": query.vertices, "objects": query.objects, "links": query.links}[on].to_pandas()
        frame = self.frame(on)
        for name in set(frame) & {"v", "k", "t"}:
            frame[name] = now[name]
        return frame

    def frame(self, on: str) -> pd.DataFrame:
        return {"vertices": self.vertices, "objects": getattr(self, "objects", None), "links": getattr(self, "links", None)}[on]


WAYS: dict[str, tuple[str, list[str], list[str]]] = {
    # Of what the values are, the columns of the table, the key.
    "key": ("vertices", ["id"], ["id"]),
    "key text": ("vertices", ["tag"], ["tag"]),
    "key float": ("vertices", ["real"], ["real"]),
    "keys": ("vertices", ["grp", "num"], ["grp", "num"]),
    "key list": ("vertices", ["pair"], ["pair"]),
    "chunk, row": ("vertices", ["chunk", "row"], []),
    "vertex": ("vertices", ["vertex"], []),
    "axes": ("vertices", ["x", "y", "z"], []),
    "position": ("vertices", ["position"], []),
    "order": ("vertices", [], []),
    "axes of objects": ("vertices", ["object_id", "z", "y", "x"], []),
    "key and object": ("vertices", ["object_id", "id"], ["id", "object_id"]),
    "object_id": ("objects", ["object_id"], []),
    "object text": ("objects", ["name"], ["name"]),
    "object number": ("objects", ["n"], ["n"]),
    "object keys": ("objects", ["num", "grp"], ["grp", "num"]),
    "object order": ("objects", [], []),
    "ends": ("links", ["vertices"], []),
    "link key": ("links", ["w"], ["w"]),
    "link keys": ("links", ["a", "b"], ["a", "b"]),
    "link order": ("links", [], []),
}


def ways(kind: str) -> list[str]:
    wanted = {"point_cloud": {"vertices"}, "polyline": {"vertices", "objects"}}.get(kind, {"vertices", "objects", "links"})
    return [
        way
        for way, (on, columns, _) in WAYS.items()
        if on in wanted and (kind != "point_cloud" or "object_id" not in columns)
    ]


def hashable(frame: pd.DataFrame, columns: list[str], type_: np.dtype) -> pd.DataFrame:
    """The columns as pandas can merge them: lists as tuples, positions in the type of the store."""
    found = {}
    for name in columns:
        values = frame[name]
        if name in ("x", "y", "z"):
            found[name] = values.astype("f8").astype(type_).astype("f8") + 0.0
        elif len(values) and isinstance(values.iloc[0], np.ndarray):
            cast = type_ if name == "position" else np.dtype("f8")
            found[name] = [tuple((one.astype("f8").astype(cast).astype("f8") + 0.0).tolist()) for one in values]
        else:
            found[name] = values
    return pd.DataFrame(found, index=frame.index)


class Refused(Exception):
    """A table that has to be refused."""


def merged(rows: pd.DataFrame, table: pd.DataFrame, way: str, type_: np.dtype, *, ignore: bool, value: str) -> pd.Series:
    """For each row of the store the row of the table, or NaN.

    Raises Refused where the documentation says so.
    """
    on, columns, key = WAYS[way]
    if not columns:
        if len(table) != len(rows):
            raise Refused("another number of rows")
        return pd.Series(np.arange(len(rows)), rows.index, dtype="f8")
    if table[columns].isna().any(axis=None):
        raise Refused("a part of a key is missing")
    left, right = hashable(rows, columns, type_), hashable(table, columns, type_)
    if way == "ends":
        # In any order only where no link has that order.
        exact = set(left["vertices"])
        names = {tuple(sorted(ends)): ends for ends in left["vertices"]}
        right["vertices"] = [ends if ends in exact else names.get(tuple(sorted(ends)), ends) for ends in right["vertices"]]
    again = right.duplicated(columns, keep=False)
    if again.any():
        values = table[again].assign(**{f"{name} key": right[name] for name in columns})
        different = values.groupby([f"{name} key" for name in columns])[value].nunique(dropna=False) > 1
        # Also where rows that are not in the store are left out.
        if key or way == "ends" or different.any():
            raise Refused("rows for the same")
    right = right.assign(place=np.arange(len(table))).drop_duplicates(columns)
    found = pd.merge(left.reset_index(names="at"), right, on=columns, how="outer", indicator=True)
    if (found["_merge"] == "right_only").any() and not ignore:
        raise Refused("rows that the store does not have")
    both = found[found["_merge"] == "both"]
    if key and both["place"].duplicated().any():
        raise Refused("a key of several")
    return both.set_index("at")["place"].reindex(rows.index)


def stray(rows: pd.DataFrame, columns: list[str], rng: np.random.Generator) -> dict[str, Any]:
    """A row that is not in the store."""
    row = rows[columns].iloc[int(rng.integers(0, len(rows)))].to_dict()
    name = columns[int(rng.integers(0, len(columns)))]
    if name in ("row", "vertex") or name == "chunk":
        row[name] = row[name] + 100_000
    elif name == "vertices":
        # Ends of no link: one vertex alone.
        row[name] = np.full_like(row[name], row[name][0])
    elif isinstance(row[name], str):
        row[name] = "nothing"
    elif isinstance(row[name], np.ndarray):
        row[name] = row[name] + row[name].dtype.type(5000)
    else:
        row[name] = row[name] + (0.013 if isinstance(row[name], (float, np.floating)) else 70)
    return row


def permuted(some: pd.DataFrame, links: pd.DataFrame, rng: np.random.Generator) -> list[np.ndarray]:
    """Ends of some links in another order, where that names no other link."""
    count = pd.Series([tuple(sorted(ends)) for ends in links["vertices"]]).value_counts()
    return [rng.permutation(ends) if count[tuple(sorted(ends))] == 1 else ends for ends in some["vertices"]]


def draw(made: Made, way: str, odd: str) -> tuple[pd.DataFrame, str, dict[str, Any]]:
    """A table, the attribute whose values it has, and options."""
    rng = made.rng
    on, columns, key = WAYS[way]
    rows = made.frame(on)
    options: dict[str, Any] = {"on": on}
    if key:
        options["key"] = key[0] if len(key) == 1 else key
    if not columns:
        options["by_order"] = True
    if odd == "ignored" or (odd in ("again", "other") and way == "ends" and rng.random() < 0.5):
        options["ignore_missing"] = True
    if odd == "ambiguous" and way == "keys":
        # Neither of two columns is a key alone.
        options["key"] = "grp"
    some = rows
    if columns and odd != "all":
        some = rows.sample(int(rng.integers(1, len(rows) + 1)), random_state=rng)
    elif columns:
        some = rows.sample(frac=1, random_state=rng)
    elif odd in ("fewer", "extra"):
        some = rows.iloc[int(rng.integers(1, len(rows))) :] if odd == "fewer" and len(rows) > 1 else pd.concat([rows, rows.iloc[:1]])
    table = some[columns].reset_index(drop=True)
    if way == "ends":
        table["vertices"] = permuted(some, rows, rng)
    if odd in ("extra", "ignored") and columns:
        more = pd.DataFrame([stray(rows, columns, rng)])
        for name in columns:
            if not isinstance(more[name].iloc[0], (str, np.ndarray)):
                more[name] = more[name].astype(np.result_type(more[name].to_numpy(), table[name].to_numpy()))
        table = pd.concat([table, more], ignore_index=True).sample(frac=1, random_state=rng).reset_index(drop=True)
    name = str(rng.choice(["v", "k", "t"] if on != "links" else ["v", "k"]))
    if name == "v":
        table[name] = rng.normal(size=len(table)).round(5)
    elif name == "k":
        table[name] = rng.integers(-1000, 1000, len(table))
    else:
        table[name] = rng.choice(np.array(["x", "new", "größer", "a b"], dtype=object), len(table))
    if odd in ("again", "other") and columns:
        again = table.iloc[[int(rng.integers(0, len(table)))]].copy()
        if odd == "other":
            again[name] = "another" if name == "t" else 2 * again[name] + 1
        table = pd.concat([table, again], ignore_index=True)
    if odd == "hole" and columns and (singles := [one for one in columns if not isinstance(table[one].iloc[0], np.ndarray)]):
        one = singles[int(rng.integers(0, len(singles)))]
        table[one] = table[one].astype(object if isinstance(table[one].iloc[0], str) else "Int64" if table[one].dtype.kind in "iu" else "f8")
        table.loc[int(rng.integers(0, len(table))), one] = None
    if odd == "against" and way in ("chunk, row", "vertex"):
        # Positions beside an address: those of other vertices.
        table["position"] = [place + place.dtype.type(1) for place in some["position"]]
    elif rng.random() < 0.3:
        table["other"] = 7
    return table, name, options


def same(found: pd.Series, expected: pd.Series) -> bool:
    if found.dtype == object or expected.dtype == object or pd.api.types.is_string_dtype(found):
        return found.astype(object).where(found.notna(), None).tolist() == expected.astype(object).where(expected.notna(), None).tolist()
    return bool(np.array_equal(found.to_numpy("f8"), expected.to_numpy("f8"), equal_nan=True))


# Of an id that no store has.
@pytest.mark.filterwarnings("ignore:You are merging on int and float columns")
@pytest.mark.parametrize("store", range(STORES))
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_a_merge(tmp_path: Path, kind: str, store: int) -> None:
    rng = np.random.default_rng([SEED, KINDS.index(kind), store])
    made = Made(tmp_path / "s.zarrvectors", kind, rng)
    cases = [(way, source, odd) for way in ways(kind) for source in SOURCES for odd in ODD]
    refused = done = 0
    for number in rng.permutation(len(cases))[: CASES // STORES]:
        way, source, odd = cases[number]
        case = f"seed {SEED}, {kind}, store {store}: {way}, {source.__name__}, {odd}"
        table, name, options = draw(made, way, odd)
        rows = made.frame(options["on"])
        try:
            if odd == "ambiguous" and way == "keys" and table["grp"].duplicated().any():
                raise Refused("rows for the same")
            if odd == "ambiguous" and way == "keys":
                if (rows["grp"].isin(table["grp"]) & rows["grp"].duplicated(keep=False)).any():
                    raise Refused("a key of several")
            if "position" in table and way in ("chunk, row", "vertex"):
                raise Refused("columns that contradict each other")
            places = merged(rows, table, way, made.type, ignore=options.get("ignore_missing", False), value=name)
            has = places.notna()
            values = table[name].to_numpy()[places[has].astype("i8")]
            expected = rows[name].astype(object)
            expected[has] = values
        except Refused as why:
            expected, reason = None, str(why)
        try:
            with zvf.edit(made.url) as change:
                change.set_attribute(name, source(table), **options)
        except zvf.MisuseError as error:
            assert expected is None, f"{case}: {error}"
            refused += 1
        except zvf.Error as error:
            assert expected is None, f"{case}: {error!r}"
            refused += 1
        else:
            assert expected is not None, f"{case}: expected to be refused: {reason}; {change.notes}"
            done += 1
            lacking = len(rows) - int(has.sum())
            if options["on"] != "links":
                assert any("have no row" in note for note in change.notes) == (lacking > 0), f"{case}: {change.notes}"
        before = rows.copy()
        found = made.again(options["on"])
        for column in ("v", "k", *(("t",) if "t" in found else ())):
            truth = expected if expected is not None and column == name else before[column]
            assert same(found[column], truth), f"{case}: {column}: found {found[column].tolist()}, expected {truth.tolist()}"
    assert refused > 0
    assert done > 0
    assert zvf.validate(made.url, depth=5).ok


def test_categories_of_numbers_are_numbers(tmp_path: Path) -> None:
    """Pandas hands out categories of numbers and moments as dictionaries; only those of texts were taken."""
    url = tmp_path / "s.zarrvectors"
    places = np.array([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]])
    zvf.write(url, kind="point_cloud", positions=places, attributes={"k": np.array([10, 20, 30])}, chunk_shape=[5.0] * 3)
    table = pd.DataFrame({"k": pd.Categorical([30, 10, 20]), "v": pd.Categorical([2.5, 0.5, 2.5])})
    with zvf.edit(url) as change:
        change.set_attribute("v", table, key="k", type="float64")
    found = zvf.open(url).query(columns=["k", "v"]).read().vertices
    assert dict(zip(found["k"].tolist(), found["v"].tolist(), strict=True)) == {10: 0.5, 20: 2.5, 30: 2.5}
