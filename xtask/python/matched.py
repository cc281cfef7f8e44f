"""Values of tables that find their vertices, objects and links, beside pandas' merge.

    matched.py ZVF FOLDER [--seed N] [--cases N]

A case is a kind of store, a file format, and a way in which rows find theirs (a key, the columns of a query, positions, ends, the order). The
table is shuffled, and holds all or some of the rows; the attribute is new, or has values already. What the store holds afterwards is compared
with `pandas.merge` of the rows that were imported with the table, by an id that each row has. A store that differs stays in FOLDER. Ends with 1
when anything differs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from checks import Board, conclude

KINDS = ["point_cloud", "line", "polyline", "streamline", "graph", "skeleton", "mesh"]
FORMATS = ["csv", "tsv", "ndjson", "arrow", "feather", "parquet"]
VERTICES = ["id", "tag", "grp,num", "position", "chunk", "vertex", "order"]
OF_OBJECTS = ["object_id,vertex", "object_id,position", "object_id,id", "object", "object name", "object n", "object order"]
OF_LINKS = ["link key", "link ends", "link order"]


class Case:
    def __init__(self, program: str, folder: Path, rng, kind: str):
        self.program, self.folder, self.rng, self.kind = program, folder, rng, kind
        self.store = folder / "s.zv"

    def zvf(self, *arguments, fails: bool = False) -> str:
        ran = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if bool(ran.returncode) != fails:
            raise RuntimeError(f"zvf {' '.join(map(str, arguments))}: {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout

    def make(self) -> None:
        rng, n = self.rng, 2 * int(self.rng.integers(15, 60))
        places = rng.permutation(16**3)[:n]
        self.rows = pd.DataFrame(
            {
                "x": (places % 16) * 5.1 + 0.03,
                "y": (places // 16 % 16) * 4.7 - 3.3,
                "z": (places // 256) * 1.37,
                "id": rng.permutation(n * 10)[:n].astype("i8") - 50,
                "grp": rng.choice(["a", "b", "größe"], n),
                "object_id": np.sort(rng.choice([3, -7, 12, 900, 5], n)),
            }
        )
        if self.kind == "point_cloud":
            del self.rows["object_id"]
        if self.kind == "line":
            self.rows["object_id"] = np.repeat(rng.permutation(n * 3)[: n // 2], 2)
        # A text, and a number that is unique together with another text.
        self.rows["tag"] = [f"t{number}" for number in self.rows["id"]]
        self.rows["num"] = self.rows.groupby("grp").cumcount().astype("i4")
        self.rows.to_parquet(self.folder / "rows.parquet", index=False)
        words = ["--chunk-shape", "20,20,20", "-q"]
        if self.kind != "point_cloud":
            words += ["--object-column", "object_id"]
        if self.kind in ("line", "polyline", "streamline", "skeleton"):
            words += ["--kind", self.kind]
        if self.kind in ("graph", "skeleton", "mesh"):
            self.links = self.make_tree(n) if self.kind == "skeleton" else self.make_links(n)
            self.links.to_csv(self.folder / "links.csv", index=False)
            words += ["--faces" if self.kind == "mesh" else "--edges", self.folder / "links.csv", "--links-by-row"]
        self.zvf("import", self.folder / "rows.parquet", self.store, *words)
        if self.kind != "point_cloud":
            ids = self.rows["object_id"].unique()
            self.objects = pd.DataFrame({"object_id": ids, "name": [f"o{one}" for one in ids], "n": rng.permutation(len(ids))})
            for name, type_ in [("name", "text"), ("n", "int16")]:
                path = self.write(self.objects[["object_id", name]], "csv")
                self.zvf("edit", self.store, "set-attribute", name, "--object", "--type", type_, "--from", path)

    def make_tree(self, n: int) -> pd.DataFrame:
        """Each vertex but the first of its object has one before it as its parent."""
        of = self.rows["object_id"].to_numpy()
        child = np.flatnonzero(np.r_[False, of[1:] == of[:-1]])
        first = np.searchsorted(of, of[child])
        return pd.DataFrame({"child": child, "parent": self.rng.integers(first, child)})

    def make_links(self, n: int) -> pd.DataFrame:
        width = 2 if self.kind == "graph" else 3
        of = self.rows["object_id"].to_numpy()
        links = []
        for one in np.unique(of):
            mine = np.flatnonzero(of == one)
            if len(mine) < width + 1:
                continue
            for _ in range(len(mine)):
                links.append(self.rng.choice(mine, width, replace=False))
            if width == 3:
                # A face with two sides.
                links.append(links[-1][[0, 2, 1]])
        names = ["source", "target"] if self.kind == "graph" else ["a", "b", "c"]
        links = pd.DataFrame(np.array(links), columns=names).drop_duplicates(ignore_index=True)
        if width == 2:
            key = pd.DataFrame(np.sort(links.to_numpy(), axis=1)).duplicated()
            links = links[~key.to_numpy()].reset_index(drop=True)
        links["w"] = self.rng.permutation(len(links)).astype("i4")
        return links

    def write(self, table: pd.DataFrame, format: str) -> Path:
        path = self.folder / f"t.{format}"
        if format in ("csv", "tsv"):
            table.to_csv(path, index=False, sep="\t" if format == "tsv" else ",")
        elif format == "ndjson":
            # to_json writes some numbers such that others are read.
            rows = table.astype(object).where(table.notna(), None).to_dict("records")
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif format == "parquet":
            table.to_parquet(path, index=False)
        else:
            table.to_feather(path)
        return path

    def read(self, *names: str) -> pd.DataFrame:
        path = self.folder / "out.csv"
        path.unlink(missing_ok=True)
        self.zvf("query", self.store, "--columns", ",".join(names), "-o", path, "-q")
        return pd.read_csv(path, keep_default_na=True)

    def listed(self, what: str) -> pd.DataFrame:
        path = self.folder / "out.csv"
        path.unlink(missing_ok=True)
        self.zvf(what, self.store, "-o", path, "-q")
        return pd.read_csv(path)

    def source(self, way: str) -> tuple[pd.DataFrame, list[str], list[str], str]:
        """Rows with their own id, the columns of the table that find them, options, and the id."""
        if way.startswith("object") and "," not in way:
            rows = self.listed("objects")[["object_id", "name", "n"]]
            on = {"object": ["object_id"], "object name": ["name"], "object n": ["n"], "object order": []}[way]
            options = ["--object"] + (["--key", on[0]] if way in ("object name", "object n") else [])
            return rows, on, options + (["--by-order"] if way == "object order" else []), "object_id"
        if way.startswith("link"):
            rows = self.listed("links")
            ends = [name for name in rows.columns if name.startswith(("chunks_", "rows_"))]
            on = {"link key": ["w"], "link ends": ends, "link order": []}[way]
            options = {"link key": ["--key", "w"], "link ends": [], "link order": ["--by-order"]}[way]
            return rows, on, ["--link", *options], "w"
        rows = self.rows
        if way == "position":
            return rows, ["x", "y", "z"], [], "id"
        if way == "object_id,position":
            return rows, ["x", "y", "z", "object_id"], [], "id"
        if way == "chunk":
            rows = self.read("chunk", "row", "id")
            return rows, [name for name in rows.columns if name != "id"], [], "id"
        if way in ("vertex", "order"):
            rows = self.read("id")
            rows["vertex"] = np.arange(len(rows))
            return rows, ["vertex"] if way == "vertex" else [], ["--by-order"] if way == "order" else [], "id"
        if way == "object_id,vertex":
            parts = []
            for one in self.rows["object_id"].unique():
                got = self.folder / "got.csv"
                got.unlink(missing_ok=True)
                self.zvf("get", self.store, one, "--columns", "id", "-o", got, "-q")
                part = pd.read_csv(got)[["id"]]
                parts.append(part.assign(object_id=one, vertex=np.arange(len(part))))
            return pd.concat(parts, ignore_index=True), ["object_id", "vertex"], [], "id"
        return rows, way.split(","), ["--key", way], "id"

    def check(self, board: Board, way: str, format: str, new: bool) -> None:
        rng = self.rng
        rows, on, options, own = self.source(way)
        ordered = "--by-order" in options
        some = rows if ordered or rng.random() < 0.5 else rows.sample(int(rng.integers(1, len(rows) + 1)), random_state=rng)
        if not ordered:
            some = some.sample(frac=1, random_state=rng)
        table = some[on].assign(v=rng.normal(size=len(some)).round(3))
        if rng.random() < 0.3 and not ordered:
            table["other"] = 7
        scope = [word for word in options if word in ("--object", "--link")]
        before = pd.Series(np.nan, rows.index)
        words = ["--type", "float64"] if new else []
        if not new:
            start = rows[[own]].assign(v=np.arange(len(rows)) / 4)
            before = start["v"]
            key = [] if scope == ["--object"] else ["--key", own]
            path = self.write(start, "csv")
            self.zvf("edit", self.store, "set-attribute", "v", *scope, "--type", "float64", *key, "--from", path)
        path = self.write(table.reset_index(drop=True), format)
        self.zvf("edit", self.store, "set-attribute", "v", *words, *options, "--from", path)
        if ordered:
            expected = rows[[own]].assign(v=table["v"].to_numpy())
        else:
            merged = pd.merge(rows, table[on + ["v"]], on=on, how="left", validate="one_to_one")
            expected = rows[[own]].assign(v=merged["v"].where(merged["v"].notna(), before.to_numpy()))
        if scope == ["--object"]:
            found = self.listed("objects")[["object_id", "v"]]
        elif scope == ["--link"]:
            found = self.listed("links")[["w", "v"]]
        else:
            found = self.read("id", "v")
        both = pd.merge(expected, found, on=own, how="outer", suffixes=("", "_found"))
        wrong = ~((both["v"] == both["v_found"]) | (both["v"].isna() & both["v_found"].isna()))
        example = f"{format}, {self.folder}: {both[wrong].head(2).to_dict('records')}" if wrong.any() else ""
        board.count(self.kind, way, len(both), int(wrong.sum()), example)
        # A row that no store has is refused, and changes nothing.
        if on and way not in ("chunk", "vertex", "link ends"):
            stray = table.head(1).copy()
            first = on[0]
            stray[first] = "nothing" if stray[first].dtype.kind not in "iuf" else stray[first] + 12345
            path = self.write(stray.reset_index(drop=True), format)
            self.zvf("edit", self.store, "set-attribute", "v", *options, "--from", path, fails=True)
            board.count(self.kind, "refused", 1, 0)


def ways(kind: str) -> list[str]:
    return VERTICES + (OF_OBJECTS if kind != "point_cloud" else []) + (OF_LINKS if kind in ("graph", "mesh") else [])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=96)
    options = parser.parse_args()
    board, broken = Board(), []
    shutil.rmtree(options.folder, ignore_errors=True)
    all_ways = [(kind, way) for kind in KINDS for way in ways(kind)]
    every = [(way, format, new) for way in all_ways for format in FORMATS for new in (True, False)]
    order = np.random.default_rng(options.seed).permutation(len(every))
    cases = itertools.cycle(every[at] for at in order)
    for number, ((kind, way), format, new) in zip(range(options.cases), cases):
        folder = options.folder / str(number)
        folder.mkdir(parents=True)
        case = Case(options.program, folder, np.random.default_rng([options.seed, number]), kind)
        wrong = sum(board.wrong.values())
        try:
            case.make()
            case.check(board, way, format, new)
        except Exception as error:
            broken.append(f"{number}: {kind}, {way}, {format}, {'new' if new else 'there'}: {error!r}")
            continue
        if sum(board.wrong.values()) == wrong:
            shutil.rmtree(folder)
    return conclude(f"pandas {pd.__version__}", board, broken, options.cases, options.seed)


if __name__ == "__main__":
    sys.exit(main())
