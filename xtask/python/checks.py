"""What is compared, and how. Every check takes the input as the truth and asks the program."""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import traceback
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

import pyramid
from inputs import Input
from outcome import compared
from reading import Refused, Tables, Zvf, values


class Board:
    """Counts of compared and different values by kind and property, and the first few differences."""

    def __init__(self):
        self.compared: dict[tuple[str, str], int] = defaultdict(int)
        self.wrong: dict[tuple[str, str], int] = defaultdict(int)
        self.examples: list[str] = []

    def count(self, kind: str, what: str, compared: int, wrong: int, example: str = "") -> None:
        self.compared[kind, what] += compared
        self.wrong[kind, what] += wrong
        if wrong and len(self.examples) < 400:
            self.examples.append(f"{kind}: {what}: {wrong} of {compared} differ: {example}")

    def add(self, other: "Board") -> None:
        for key, value in other.compared.items():
            self.compared[key] += value
        for key, value in other.wrong.items():
            self.wrong[key] += value
        self.examples += other.examples


def summary(examples: list[str]) -> list[str]:
    """The first few examples of each kind and property."""
    shown: dict[str, list[str]] = {}
    for example in examples:
        found = shown.setdefault(":".join(example.split(":")[:2]), [])
        if len(found) < 3:
            found.append(example)
    return [example for found in shown.values() for example in found]


def table(board: Board) -> list[str]:
    kinds = list(dict.fromkeys(kind for kind, _ in board.compared))
    whats = list(dict.fromkeys(what for _, what in board.compared))
    lines = ["| compared | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    for what in whats:
        cells = []
        for kind in kinds:
            compared, wrong = board.compared.get((kind, what), 0), board.wrong.get((kind, what), 0)
            cells.append("" if not compared else f"{compared:,}" if not wrong else f"**{wrong:,} of {compared:,} differ**")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return lines


def conclude(package: str, board: Board, broken: list[str], cases: int, seed: int) -> int:
    """Prints differences, the table and the sum of a run; the exit code."""
    wrong = sum(board.wrong.values())
    for line in summary(board.examples) + broken[:5]:
        print(line)
    print()
    print("\n".join(table(board)))
    print(f"\nseed {seed}; {len(broken)} cases could not be tried")
    return compared(package, cases, sum(board.compared.values()), wrong + len(broken))


def try_kinds(kinds: list[str], programs: list[str], each, *, seed: int, stores: int, quick: int = 1, first=None) -> int:
    """A script that makes random stores of several kinds, in turn, and compares each; its exit code.

    Arguments: the programs, the folder, and `--seed N`, `--stores N`, `--quick` (so many stores of each kind), `--only KIND`, `--half 1|2` (every
    second store). `each` gets them all, a number, the kind, a folder that stays where something differs, and the board; `first` the arguments and the board.
    """
    parser = argparse.ArgumentParser()
    for program in programs:
        parser.add_argument(program)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--stores", type=int, default=stores)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=kinds)
    parser.add_argument("--half", type=int, choices=(1, 2))
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    kinds = [kind for kind in kinds if options.only in (None, kind)]
    count = min(options.stores, quick * len(kinds)) if options.quick else options.stores
    board, broken = Board(), []

    def attempt(folder: Path, what) -> None:
        found = Board()
        try:
            what(found)
        except subprocess.CalledProcessError as error:
            broken.append(f"{folder}: {error.cmd}: {error.stderr}")
        except Exception:
            broken.append(f"{folder}: {traceback.format_exc()}")
        else:
            if not any(found.wrong.values()):
                shutil.rmtree(folder, ignore_errors=True)
        board.add(found)

    if first:
        folder = options.folder / "first"
        attempt(folder, lambda found: first(options, folder, found))
    numbers = range(count) if options.half is None else range(options.half - 1, count, 2)
    for number in numbers:
        kind = kinds[number % len(kinds)]
        folder = options.folder / f"{number:04}-{kind.replace(' ', '-')}"
        attempt(folder, lambda found: each(options, number, kind, folder, found))
    return conclude("zarr-vectors 0.9.2", board, broken, len(numbers), options.seed)


def plain(value):
    """An input value in the form `reading.values` gives."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, (np.complexfloating, complex)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, np.datetime64):
        return int(value.astype("i8"))
    if isinstance(value, np.bytes_):
        return bytes(value)
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def same(a, b) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return a == b


class Checker:
    """All checks of one store. `rounding` is the relative error of means that the writer may have made."""

    def __init__(self, zvf: Zvf, store, kind: str, item: Input, board: Board, rng, *, rounding: float = 4e-7):
        self.rounding = rounding
        self.zvf, self.store, self.kind, self.item, self.board, self.rng = zvf, str(store), kind, item, board, rng
        self.world = item.world
        self.f8 = self.world.astype("f8")

    # -- bookkeeping

    def note(self, what: str, compared: int, wrong: int, example: str = "") -> None:
        self.board.count(self.kind, what, compared, wrong, f"{example} [{self.store} {', '.join(self.item.notes)}]")

    def ask(self, what: str, *arguments) -> Tables | None:
        """Runs a command that must succeed; a refusal is a difference."""
        try:
            return self.zvf.tables(*arguments)
        except Refused as error:
            self.note(what, 1, 1, f"{error} for {' '.join(map(str, arguments))}")
            return None

    # -- rows

    def rows(self, tables: Tables) -> np.ndarray:
        """Input row of every returned vertex."""
        if not len(tables.vertices):
            return np.zeros(0, "i8")
        if "id" in tables.vertices.column_names:
            return tables.vertices["id"].to_numpy().astype("i8")
        # Without numbers rows are told by their position; equal ones are taken in turn.
        places = defaultdict(list)
        for row, position in enumerate(self.world):
            places[position.tobytes()].append(row)
        found = []
        for position in tables.positions.astype(self.world.dtype):
            known = places.get(position.tobytes())
            found.append(known[0] if known else -1)
            if known:
                known.append(known.pop(0))
        return np.array(found, "i8")

    def check_rows(self, what: str, tables: Tables, expected, *, ordered: bool = False) -> np.ndarray:
        """The returned rows are exactly the expected ones, with their positions, bit by bit."""
        found = self.rows(tables)
        expected = np.asarray(expected, "i8")
        if ordered:
            right = len(found) == len(expected) and bool((found == expected).all())
            wrong = 0 if right else max(1, int((found[: len(expected)] != expected[: len(found)]).sum()))
        else:
            difference = Counter(found.tolist())
            difference.subtract(expected.tolist())
            wrong = sum(abs(n) for n in difference.values())
        self.note(what, max(1, len(expected)), wrong, f"expected {len(expected)} rows, found {len(found)}")
        if len(found):
            truth = self.world[found]
            positions = tables.positions
            if positions.dtype.newbyteorder("=") != truth.dtype.newbyteorder("="):
                self.note("positions", len(found), len(found), f"expected {truth.dtype}, found {positions.dtype}")
            else:
                different = int((positions != truth).any(1).sum())
                self.note("positions", len(found), different, "positions differ")
        return found

    def check_attributes(self, tables: Tables, found: np.ndarray) -> None:
        for name, truth in self.item.attributes.items():
            if name not in tables.vertices.column_names:
                self.note("attributes", 1, 1, f"no column {name}")
                continue
            column = values(tables.vertices, name)
            wrong = [(k, v) for k, v in zip(found, column) if not same(plain(truth[k]), v)]
            self.note("attributes", len(found), len(wrong), f"{name} {truth.dtype}: {self.show(truth, wrong)}")
        unknown = set(tables.vertices.column_names) - set(self.item.attributes) - {"position", "object_id"}
        self.note("attributes", 1, len(unknown), f"columns nobody wrote: {unknown}")

    @staticmethod
    def show(truth, wrong) -> str:
        return f"row {wrong[0][0]}: expected {plain(truth[wrong[0][0]])!r}, found {wrong[0][1]!r}" if wrong else ""

    # -- links

    def check_links(self, tables: Tables, found: np.ndarray, expected: np.ndarray | None, what: str = "links") -> None:
        """The links as tuples of input rows, in the application's endpoint order, with their attributes."""
        if expected is None:
            self.note(what, 1, int(tables.links is not None and len(tables.links) > 0), "links where none exist")
            return
        if tables.links is None:
            self.note(what, 1, int(len(expected) > 0), "no links table")
            return
        places = tables.link_rows
        if len(places) and int(places.max()) >= len(found):
            self.note(what, len(places), len(places), "a link names a row outside of the result")
            return
        links = found[places.astype("i8")] if len(places) else self.item.links[:0]
        truth = self.item.links[expected] if expected.ndim == 1 else expected
        difference = Counter(map(tuple, links.tolist()))
        difference.subtract(map(tuple, truth.tolist()))
        example = next((f"{k} {n:+}" for k, n in difference.items() if n), "")
        self.note(what, max(1, len(truth)), sum(abs(n) for n in difference.values()), example)
        self.check_link_attributes(tables, links)

    def check_link_attributes(self, tables: Tables, links: np.ndarray) -> None:
        for name, truth in self.item.link_attributes.items():
            if tables.links is None or name not in tables.links.column_names:
                kept = self.item.links_lost is None or len(Counter(map(tuple, links.tolist())) - Counter(map(tuple, self.item.links[self.item.links_lost].tolist())))
                missing = len(links) > 0 and not self.item.links_partly_implied and bool(kept)
                self.note("link attributes", 1, int(missing), f"no column {name}")
                continue
            # Duplicate records may come in any order among themselves.
            wanted: dict[tuple, list] = defaultdict(list)
            for link, value in zip(self.item.links.tolist(), truth):
                wanted[tuple(link)].append(plain(value))
            wrong, lost = 0, Counter()
            if self.item.links_lost is not None:
                lost.update(map(tuple, self.item.links[self.item.links_lost].tolist()))
            for link, value in zip(map(tuple, links.tolist()), values(tables.links, name)):
                if value is None and self.item.links_partly_implied:
                    continue
                if value is None and lost[link]:
                    continue
                match = next((k for k, v in enumerate(wanted[link]) if same(v, value)), None)
                if match is None:
                    wrong += 1
                else:
                    wanted[link].pop(match)
            self.note("link attributes", len(links), wrong, name)

    def expected_links(self, rows: np.ndarray) -> np.ndarray | None:
        """Numbers of the input links whose endpoints are all among `rows`."""
        if self.item.links is None:
            return None
        kept = np.zeros(len(self.world), bool)
        kept[rows] = True
        return np.flatnonzero(kept[self.item.links].all(1)) if len(self.item.links) else np.zeros(0, "i8")

    # -- objects

    def check_objects(self, tables: Tables, found: np.ndarray) -> None:
        """The objects table of a result that is not grouped: who is in it, with how many vertices."""
        item = self.item
        if item.objects is None:
            self.note("objects", 1, int(tables.objects is not None), "an objects table without objects")
            return
        if tables.objects is None:
            self.note("objects", 1, 1, "no objects table")
            return
        owner = item.owner()
        wanted = Counter(owner[found].tolist())
        ids = tables.objects["object_id"].to_pylist()
        counts = dict(zip(ids, tables.objects["vertices"].to_pylist()))
        self.note("objects", len(wanted), sum(counts.get(k) != n for k, n in wanted.items()) + len(set(counts) - set(wanted)))
        self.check_object_attributes(tables.objects, ids)

    def check_object_attributes(self, table, ids: list[int]) -> None:
        slot = {k: n for n, k in enumerate(self.item.ids())}
        for name, truth in self.item.object_attributes.items():
            if name not in table.column_names:
                self.note("object attributes", 1, 1, f"no column {name}")
                continue
            wrong = 0
            for number, value in zip(ids, values(table, name)):
                wanted = plain(truth[slot[number]])
                absent = isinstance(wanted, float) and math.isnan(wanted) and value is None
                wrong += not (absent or same(wanted, value))
            self.note("object attributes", len(ids), wrong, f"{name} {truth.dtype}")

    def check_groups(self, tables: Tables) -> None:
        """Groups by their members in the answer; one that has members, but none of these, is left out."""
        if not self.item.groups:
            return
        answered = set() if tables.objects is None else set(values(tables.objects, "object_id"))
        # A number below the largest one that no group was given is an empty group.
        given = [self.item.groups.get(number, []) for number in range(max(self.item.groups) + 1)]
        wanted = sorted(sorted(answered.intersection(some)) for some in given if not some or answered.intersection(some))
        found = [] if tables.groups is None else [sorted(some) for some in tables.groups["object_ids"].to_pylist()]
        self.note("members of groups", sum(map(len, wanted)) + 1, int(sorted(found) != wanted), f"{found}, expected {wanted}")

    # -- the questions

    def whole(self) -> None:
        tables = self.ask("whole", "query", self.store, "--columns", self.columns())
        if tables is None:
            return
        found = self.check_rows("whole", tables, np.arange(len(self.world)))
        self.check_attributes(tables, found)
        self.check_links(tables, found, self.expected_links(found))
        self.check_objects(tables, found)
        self.check_groups(tables)
        if self.item.objects is not None and "object_id" in tables.vertices.column_names:
            wrong = int((np.array(tables.vertices["object_id"].to_pylist()) != self.item.owner()[found]).sum()) if len(found) else 0
            self.note("owners", len(found), wrong, "object_id of vertices")

    def columns(self) -> str:
        names = ["position", *self.item.attributes]
        return ",".join([*names, "object_id"])

    def boxes(self, count: int) -> None:
        self.inverted_box()
        for what, low, high in self.draw_boxes(count):
            rows = self.inside(low, high)
            box = ["--bbox", f"{numbers(low)}:{numbers(high)}"]
            tables = self.ask(what, "query", self.store, *box)
            if tables is not None:
                found = self.check_rows(what, tables, rows)
                self.check_attributes(tables, found)
                self.check_links(tables, found, self.expected_links(rows))
                self.check_objects(tables, found)
            self.box_of_objects(box, rows)
            # Taking an offset off a corner rounds, so a chunk that only touches the box may come along.
            if self.item.offset is None or what == "box":
                self.box_of_chunks(box, low, high)

    def draw_boxes(self, count: int):
        rng, dims = self.rng, self.item.dims
        low, high = (self.f8.min(0), self.f8.max(0)) if len(self.f8) else (np.zeros(dims), np.full(dims, 20.0))
        chunk = np.asarray(self.item.chunk)
        shift = self.item.offset if self.item.offset is not None else 0.0
        for _ in range(count):
            a, b = np.sort(rng.uniform(low - 0.1 * chunk, high + 0.1 * chunk, (2, dims)), 0)
            yield "box", a, b
        a = np.floor(rng.uniform(low, high) / chunk) * chunk
        yield "box on borders", a + shift, a + shift + chunk * rng.integers(0, 3, dims)
        if len(self.f8):
            # Corners on two vertices: both ends are inclusive.
            a, b = np.sort(self.f8[rng.integers(0, len(self.f8), 2)], 0)
            yield "box on vertices", a, b
        a, b = np.sort(rng.uniform(low, high, (2, dims)), 0)
        a[rng.random(dims) < 0.5], b[rng.random(dims) < 0.5] = -np.inf, np.inf
        yield "infinite box", a, b

    def inverted_box(self) -> None:
        """A lower corner above the upper one is a mistake, not an empty answer."""
        low, high = np.zeros(self.item.dims), np.ones(self.item.dims)
        low[self.rng.integers(self.item.dims)] = 2.0
        try:
            self.zvf.tables("query", self.store, "--bbox", f"{numbers(low)}:{numbers(high)}")
            refused = False
        except Refused as error:
            refused = "exit code 2" in str(error)
        self.note("inverted box", 1, int(not refused), "answered")

    def inside(self, low, high) -> np.ndarray:
        return np.flatnonzero(((self.f8 >= low) & (self.f8 <= high)).all(1))

    def box_of_objects(self, box, rows) -> None:
        if not self.item.objects:
            return
        tables = self.ask("whole objects in a box", "query", self.store, *box, "--select", "objects")
        if tables is None:
            return
        owner = self.item.owner()
        wanted = [k for k in self.item.ids() if k in set(owner[rows].tolist())]
        self.check_grouped("whole objects in a box", tables, wanted)

    def box_of_chunks(self, box, low, high) -> None:
        if self.kind == "points, odd cells" or self.item.bins is not None and not self.bins_agree():
            return
        tables = self.ask("whole chunks", "query", self.store, *box, "--select", "chunks")
        if tables is None:
            return
        shift = self.item.offset if self.item.offset is not None else 0.0
        chunk = np.asarray(self.item.chunk)
        cell = np.floor(self.item.positions.astype("f8") / chunk)
        a, b = np.floor((low - shift) / chunk), np.floor((high - shift) / chunk)
        rows = np.flatnonzero(((cell >= a) & (cell <= b)).all(1))
        self.check_rows("whole chunks", tables, rows)

    def bins_agree(self) -> bool:
        chunk, size = np.asarray(self.item.chunk), np.asarray(self.item.bins)
        per = np.round(chunk / size)
        f8 = self.item.positions.astype("f8")
        return bool((np.floor(np.floor(f8 / size) / per) == np.floor(f8 / chunk)).all())

    def check_grouped(self, what: str, tables: Tables, wanted: list[int], *, links: bool = True) -> None:
        """Whole objects, in the order asked, each with its rows; order inside where the kind has one."""
        item = self.item
        if tables.objects is None or "start" not in tables.objects.column_names:
            self.note(what, len(wanted), max(1, len(wanted)), "the result is not grouped by object")
            return
        start, length = (tables.objects[name].to_pylist() for name in ("start", "length"))
        ids = tables.objects["object_id"].to_pylist()
        self.note(what, len(wanted), 0 if ids == wanted else 1, f"objects {ids[:6]}, asked for {wanted[:6]}")
        if ids != wanted:
            return
        found = self.check_rows(what, tables, np.concatenate([item.objects[k] for k in wanted] or [np.zeros(0, "i8")]))
        for number, a, n in zip(wanted, start, length):
            rows = found[a : a + n]
            truth = item.objects[number]
            right = (rows.tolist() == truth.tolist()) if item.ordered else sorted(rows.tolist()) == sorted(truth.tolist())
            self.note("object order" if item.ordered else what, len(truth), 0 if right else max(1, len(truth)), f"object {number}")
        self.check_attributes(tables, found)
        self.check_object_attributes(tables.objects, ids)
        if links:
            self.check_links(tables, found, self.expected_links(found), "links of objects")

    def objects(self) -> None:
        item = self.item
        if not item.objects:
            return
        ids = item.ids()
        some = [int(k) for k in self.rng.permutation(np.array(ids, "i8"))[:8]]
        tables = self.ask("get", "get", self.store, *some)
        if tables is not None:
            self.check_grouped("get", tables, some)
        twice = [some[0], some[-1], some[0]]
        tables = self.ask("get", "query", self.store, "--objects", ",".join(map(str, twice)))
        if tables is not None:
            self.check_grouped("get", tables, twice, links=False)
        stranger = next(k for k in (314159, -314159, 271828) if k not in item.objects)
        try:
            self.zvf.run("get", self.store, stranger)
            self.note("unknown ids", 1, 1, "an unknown id was no error")
        except Refused as error:
            self.note("unknown ids", 1, int(error.code != 2), str(error))
        tables = self.ask("unknown ids", "get", self.store, stranger, some[0], "--ignore-missing")
        if tables is not None:
            self.check_grouped("unknown ids", tables, [some[0]])
        self.listing(ids)
        self.objects_and_box(some)
        self.objects_limited(some)
        self.objects_of_filter()

    def listing(self, ids: list[int]) -> None:
        try:
            table = self.zvf.file("arrow", "objects", self.store)
        except Refused as error:
            self.note("objects listing", 1, 1, str(error))
            return
        from reading import read

        table = read(table)
        found = dict(zip(table["object_id"].to_pylist(), table["vertices"].to_pylist()))
        wrong = sum(found.get(k) != len(self.item.objects[k]) for k in ids) + len(set(found) - set(ids))
        self.note("objects listing", len(ids), wrong, f"{len(found)} objects")
        self.check_object_attributes(table, table["object_id"].to_pylist())

    def objects_and_box(self, some: list[int]) -> None:
        """Selections combine with AND."""
        if not len(self.f8):
            return
        low, high = np.sort(self.f8[self.rng.integers(0, len(self.f8), 2)], 0)
        rows = self.inside(low, high)
        rows = rows[np.isin(self.item.owner()[rows], some)]
        tables = self.ask(
            "objects and a box", "query", self.store, "--objects", ",".join(map(str, some)), "--bbox", f"{numbers(low)}:{numbers(high)}"
        )
        if tables is not None:
            self.check_rows("objects and a box", tables, rows)

    def objects_limited(self, some: list[int]) -> None:
        """A limit never cuts an object: whole ones, in the order asked, as long as they fit."""
        some = [k for k in some if len(self.item.objects[k])]
        sizes = np.cumsum([len(self.item.objects[k]) for k in some])
        limit = int(sizes[-1] * self.rng.uniform(0.3, 1.0)) if some else 0
        if limit == 0:
            return
        fit = int((sizes <= limit).sum())
        wanted = ["--objects", ",".join(map(str, some)), "--select", "objects", "--limit", limit]
        tables = self.ask("objects and a limit", "query", self.store, *wanted)
        if tables is not None:
            self.check_grouped("objects and a limit", tables, some[:fit])
            truncated = tables.summary.get("truncated")
            self.note("objects and a limit", 1, int(truncated != (fit < len(some))), f"truncated is {truncated}, {fit} of {len(some)} fit in {limit}")

    def objects_of_filter(self) -> None:
        """Whole objects with at least one vertex that satisfies a condition."""
        if not len(self.world) or "id" not in self.item.attributes:
            return
        few = np.sort(self.rng.integers(0, len(self.world), 3))
        expression = " or ".join(f"id == {k}" for k in few)
        tables = self.ask("whole objects by where", "query", self.store, "--where", expression, "--select", "objects")
        if tables is not None:
            self.check_grouped("whole objects by where", tables, sorted(set(self.item.owner()[few].tolist())))

    def groups(self) -> None:
        if not self.item.groups:
            return
        for group, members in self.item.groups.items():
            tables = self.ask("groups", "query", self.store, "--groups", group)
            if tables is None:
                continue
            wanted = sorted({k for k in members if k in self.item.objects})
            self.check_grouped("groups", tables, wanted)

    def filters(self) -> None:
        for expression, mask in self.draw_filters():
            tables = self.ask("where", "query", self.store, "--where", expression)
            if tables is not None:
                self.check_rows("where", tables, np.flatnonzero(mask))

    def draw_filters(self):
        item, rng = self.item, self.rng
        names = [n for n, a in item.attributes.items() if a.ndim == 1 and a.dtype.kind in "iuf" and a.dtype.itemsize > 1 and (a == a).all()]
        if not len(self.world):
            return
        for name in names[:3]:
            a = item.attributes[name]
            pivot = a[int(rng.integers(0, len(a)))]
            yield f"{name} >= {plain(pivot)}", a >= pivot
            yield f"{name} < {plain(pivot)} or id == 0", (a < pivot) | (item.attributes["id"] == 0)
            yield f"{name} != {plain(pivot)} and id > 3", (a != pivot) & (item.attributes["id"] > 3)
        if "label" in item.attributes:
            a = item.attributes["label"]
            yield "label == 'axon'", np.array([v == "axon" for v in a])
            yield "label != 'axon'", np.array([v is not None and v != "axon" for v in a])
        if "gene" in item.attributes:
            a = item.attributes["gene"]
            value = f"'{a[0]}'" if a.dtype == object else str(a[0])
            yield f"gene == {value}", a == a[0]
            yield f"gene != {value} and id > 5", (a != a[0]) & (item.attributes["id"] > 5)

    def limits(self) -> None:
        """The first rows of the same result, and the word that something was left out."""
        if not len(self.world):
            return
        everything = self.ask("limit", "query", self.store)
        for n in {1, len(self.world) // 2, len(self.world), len(self.world) + 1}:
            if n == 0 or everything is None:
                continue
            tables = self.ask("limit", "query", self.store, "--limit", n)
            if tables is not None:
                self.check_rows("limit", tables, self.rows(everything)[:n], ordered=True)
                truncated = tables.summary.get("truncated")
                self.note("limit", 1, int(truncated != (n < len(self.world))), f"truncated is {truncated} at {n} of {len(self.world)}")

    def formats(self) -> None:
        """The same rows in every output format."""
        everything = self.ask("formats", "query", self.store)
        if everything is None or not len(self.world):
            return
        positions = everything.positions
        try:
            found = np.load(self.zvf.file("npy", "query", self.store))
            self.note("formats", len(positions), int((found != positions).any(1).sum()) if found.shape == positions.shape else len(positions), "npy")
            lines = self.zvf.file("csv", "query", self.store).read_text().splitlines()
            self.note("formats", 1, int(len(lines) != 1 + len(positions)), f"csv of {len(lines)} lines")
            lines = self.zvf.file("ndjson", "query", self.store).read_text().splitlines()
            self.note("formats", 1, int(len(lines) != len(positions)), f"ndjson of {len(lines)} lines")
        except Refused as error:
            self.note("formats", 1, 1, str(error))

    # -- coarse levels

    def levels(self, levels: list[pyramid.Level], storage: str, depth: int) -> None:
        places: list[dict[tuple, int]] = []
        for number, level in enumerate(levels):
            tables = self.ask("levels", "query", self.store, "--level", number, "--columns", "position,chunk,row" + (",id" if number == 0 and "id" in self.item.attributes else ""))
            if tables is None:
                return
            rows = self.rows(tables) if number == 0 else self.match(tables.positions, level)
            if number:
                self.note("levels", len(level.positions), int((rows < 0).sum()) + abs(len(rows) - len(level.positions)), f"level {number}")
                self.level_objects(number, level)
                self.level_box(number, tables.positions)
                self.level_groups(number, level)
            chunk = values(tables.vertices, "chunk")
            places.append({(tuple(c) if not isinstance(c, str) else c, r): int(k) for c, r, k in zip(chunk, values(tables.vertices, "row"), rows)})
        if storage == "none":
            return
        for fine in range(len(levels)):
            for steps in range(1, len(levels) - fine):
                if steps > 1 and depth != -1 and steps > depth:
                    continue
                up = pyramid.ancestors(levels, fine, steps)
                truth = [(k, int(v)) for k, v in enumerate(up) if v >= 0]
                self.cross(fine, steps, places[fine], places[fine + steps], truth)
                if storage == "explicit":
                    self.cross(fine + steps, -steps, places[fine + steps], places[fine], [(b, a) for a, b in truth])

    def match(self, positions: np.ndarray, level: pyramid.Level) -> np.ndarray:
        """Expected row of each returned coarse vertex: its mean, up to the last bits."""
        if not len(positions) or not len(level.positions):
            return np.full(len(positions), -1)
        shift = self.item.offset if self.item.offset is not None else 0.0
        truth = level.positions.astype("f8") + shift
        exact = {row.tobytes(): k for k, row in enumerate(truth)}
        found = np.array([exact.get(row.tobytes(), -1) for row in positions.astype("f8")])
        for k in np.flatnonzero(found < 0):
            distance = np.abs(truth - positions[k]).max(1)
            best = int(distance.argmin())
            if distance[best] <= self.rounding * max(1e-30, np.abs(truth[best]).max()):
                found[k] = best
        return found

    def level_objects(self, number: int, level: pyramid.Level) -> None:
        if not level.objects:
            return
        some = sorted(level.objects)[:20]
        tables = self.ask("levels", "get", self.store, *some, "--level", number)
        if tables is None:
            return
        rows = self.match(tables.positions, level)
        wrong = 0
        for name, a, n in zip(some, tables.objects["start"].to_pylist(), tables.objects["length"].to_pylist()):
            wrong += rows[a : a + n].tolist() != level.objects[name].tolist()
        self.note("levels", len(some), wrong, f"objects of level {number}")

    def level_box(self, number: int, positions: np.ndarray) -> None:
        """A box of a coarse level: of the vertices just found right, those inside."""
        if not len(positions):
            return
        f8 = positions.astype("f8")
        low, high = np.sort(self.rng.uniform(f8.min(0), f8.max(0), (2, self.item.dims)), 0)
        inside = positions[((f8 >= low) & (f8 <= high)).all(1)]
        tables = self.ask("levels", "query", self.store, "--level", number, "--bbox", f"{numbers(low)}:{numbers(high)}")
        if tables is not None:
            found = Counter(row.tobytes() for row in tables.positions)
            found.subtract(row.tobytes() for row in inside)
            self.note("levels", max(1, len(inside)), sum(abs(n) for n in found.values()), f"box of level {number}")

    def level_groups(self, number: int, level: pyramid.Level) -> None:
        """Groups are kept at level 0 only; coarse levels keep the ids (T21)."""
        if not self.item.groups or not level.objects:
            return
        group, members = next(iter(self.item.groups.items()))
        wanted = sorted({k for k in members if k in level.objects})
        tables = self.ask("levels", "query", self.store, "--level", number, "--groups", group)
        if tables is not None:
            rows = self.match(tables.positions, level).tolist()
            truth = [row for k in wanted for row in level.objects[k].tolist()]
            self.note("levels", max(1, len(truth)), int(rows != truth), f"group {group} of level {number}")

    def cross(self, level: int, delta: int, here: dict, there: dict, truth: list[tuple[int, int]]) -> None:
        """Cross-level links against the parents that the input implies."""
        what = "cross-level links"
        try:
            found = self.zvf.json("links", self.store, "--level", level, "--delta", f"{delta:+}")
        except Refused as error:
            self.note(what, max(1, len(truth)), len(truth), f"level {level} delta {delta:+}: {error}")
            return
        pairs = Counter()
        for (a, b) in records(found):
            pairs[here.get(a, -1), there.get(b, -1)] += 1
        pairs.subtract(truth)
        self.note(what, len(truth), sum(abs(n) for n in pairs.values()), f"level {level} delta {delta:+}")


def records(document) -> list[tuple]:
    """Endpoint pairs `((chunk, row), (chunk, row))` of the document that `zvf links --json` prints."""
    found = []
    for record in document["links"]:
        ends = record["endpoints"] if isinstance(record, dict) else record
        found.append(tuple((tuple(end["chunk"]), end["row"]) for end in ends))
    return found


def numbers(corner) -> str:
    return ",".join(repr(float(c)) if np.isfinite(c) else ("inf" if c > 0 else "-inf") for c in corner)
