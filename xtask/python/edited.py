"""Has stores of random input edited by `zvf edit` and reads them with the released Python package.

    edited.py ZVF WRITE_RAW FOLDER [--seed N] [--stores N] [--quick] [--only KIND]

The stores are those of `written.py` but for fragments that follow values, which an edit refuses, and so is what is asked
of them afterwards; the truth is the input, changed here as `zvf` is told to change the store: objects are deleted, vertices and links come, vertices move, values of vertices, objects and links are set,
also the one that chunks are cut by, and some stores are vacuumed. The package's validator must report no error at level 5. At the end vertices and links are numbered anew,
since everything is compared by these numbers.

What our own program says about the order of vertices and links is only used to address them: if it were wrong, values would be found
beside the wrong vertices. A store that differs stays in FOLDER. Ends with 1 when anything differs.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np

import inputs
from checks import Board, try_kinds
from reading import run
from written import KINDS, Job, Reader

AXES = "xyzw"


def plain(value):
    """A value as JSON has it, and CSV nearly."""
    if value is None or isinstance(value, str):
        return value
    value = np.asarray(value).item()
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


class Editor:
    """Changes one store, and what it shall hold."""

    def __init__(self, program: str, job: Job):
        self.program, self.job, self.rng = program, job, job.rng
        self.deleted: set[int] = set()
        self.files = 0

    # --- the program ---

    def zvf(self, *arguments: str) -> str:
        return run(self.program, *arguments)

    def edit(self, *arguments: str) -> None:
        self.zvf("edit", self.job.store, *arguments)

    def table(self, columns: dict[str, np.ndarray]) -> Path:
        """A file with columns, now of this kind and now of that one."""
        self.files += 1
        rows = list(zip(*columns.values()))
        if self.rng.random() < 0.5:
            path = self.job.folder / f"edit-{self.files}.ndjson"
            lines = [
                {name: [plain(one) for one in value] if np.ndim(value) else plain(value) for name, value in zip(columns, row)}
                for row in rows
            ]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return path
        path = self.job.folder / f"edit-{self.files}.csv"
        names = [
            name if np.ndim(values) == 1 else f"{name}_{at}"
            for name, values in columns.items()
            for at in range(1 if np.ndim(values) == 1 else np.shape(values)[1])
        ]
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(names)
        for row in rows:
            flat = [one for value in row for one in (value if np.ndim(value) else [value])]
            texts = [plain(one) for one in flat]
            writer.writerow(["" if one is None else str(one).lower() if isinstance(one, bool) else one for one in texts])
        path.write_text(out.getvalue())
        return path

    def places(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        return {axis: positions[:, at] for at, axis in enumerate(AXES[: self.job.dims])}

    def order(self) -> np.ndarray:
        """The numbers of all vertices, in the order in which they are addressed."""
        text = self.zvf("query", self.job.store, "--columns", "id", "--format", "csv")
        return np.array(text.split()[1:], "i8")

    # --- edits ---

    def drop(self) -> None:
        job = self.job
        if job.ids is None:
            return
        alive = np.unique(job.ids)
        gone = self.rng.choice(alive, min(len(alive) - 1, int(self.rng.integers(1, 3))), replace=False)
        if not len(gone):
            return
        self.edit("delete", *gone)
        self.deleted |= set(gone.tolist())
        stay = ~np.isin(job.ids, gone)
        rank = np.cumsum(stay) - 1
        whole = stay[job.links].all(axis=1)
        job.links = rank[job.links[whole]]
        job.link_attributes = {name: values[whole] for name, values in job.link_attributes.items()}
        kept = ~np.isin(alive, gone)
        job.object_attributes = {name: values[kept] for name, values in job.object_attributes.items()}
        job.positions, job.ids = job.positions[stay], job.ids[stay]
        job.key = None if job.key is None else job.key[stay]
        job.attributes = {name: values[stay] for name, values in job.attributes.items()}

    def append(self) -> None:
        job, rng, kind = self.job, self.rng, self.job.kind
        n = int(rng.integers(2, 30)) // 2 * 2
        wide = 2.0 if rng.random() < 0.3 else 1.0
        middle, half = (job.low + job.high) / 2, (job.high - job.low) / 2 * wide
        positions = inputs.store_as(rng.uniform(middle - half, middle + half, (n, job.dims)), job.positions.dtype)
        links = np.zeros((0, job.links.shape[1]), "i8")
        ids = None
        if job.ids is not None:
            new = np.setdiff1d(900_001 + np.arange(2 * n), job.ids)[: n // 2]
            again = sorted(self.deleted)[:1]
            if kind == "lines":
                ids = np.repeat([*again, *new][: n // 2], 2)
            elif kind in ("graph", "mesh", "skeleton"):
                ids = np.full(n, [*again, *new][0])
            else:
                ids = np.sort(rng.choice([*again, *new[:2], *np.unique(job.ids)[:2]], n))
            ids = ids.astype("i8")
            if kind == "skeleton":
                links = np.array([(at, int(rng.integers(0, at))) for at in range(1, n)], "i8").reshape(-1, 2)
            elif kind in ("graph", "mesh"):
                links = rng.integers(0, n, (int(rng.integers(1, 40)), job.links.shape[1]))
            # An object that comes again is a new one: it is in no group.
            self.leave_groups(self.deleted & set(ids.tolist()))
            self.deleted -= set(ids.tolist())
        old = len(job.positions)
        columns = self.places(positions) | ({} if ids is None else {"object_id": ids})
        for name, values in job.attributes.items():
            known = values[rng.integers(0, old, n)]
            columns[name] = np.arange(old, old + n, dtype="i4") + 1_000_000 if name == "id" else known
        if job.key is not None:
            columns["gene"] = self.some_keys(n)
        arguments = ["append", self.table(columns)]
        if len(links):
            ends = {f"vertices_{at}": links[:, at] for at in range(links.shape[1])}
            numbers = {name: np.arange(len(links), dtype="i4") + 1_000_000 for name in job.link_attributes}
            arguments += ["--links", self.table(ends | numbers)]
            for name, values in numbers.items():
                job.link_attributes[name] = np.concatenate([job.link_attributes[name], values])
            job.links = np.concatenate([job.links, links + old])
        before = None if job.ids is None else np.unique(job.ids)
        self.edit(*arguments)
        job.positions = np.concatenate([job.positions, positions])
        if job.key is not None:
            job.key = np.concatenate([job.key, columns["gene"]])
        for name in job.attributes:
            job.attributes[name] = np.concatenate([job.attributes[name], columns[name]])
        if ids is not None:
            job.ids = np.concatenate([job.ids, ids])
            self.sizes(before)

    def sizes(self, before: np.ndarray) -> None:
        """Gives new objects their attributes."""
        job, after = self.job, np.unique(self.job.ids)
        new = np.setdiff1d(after, before)
        for name, values in job.object_attributes.items():
            full = np.zeros((len(after), *values.shape[1:]), values.dtype)
            full[np.isin(after, before)] = values
            given = self.rng.integers(1, 99, (len(new), *values.shape[1:])).astype(values.dtype)
            full[np.isin(after, new)] = given
            job.object_attributes[name] = full
            if len(new):
                self.edit("set-attribute", name, "--object", "--from", self.table({"object_id": new, name: given}))

    def move(self) -> None:
        job, rng, order = self.job, self.rng, self.order()
        rows = rng.choice(len(order), min(len(order), int(rng.integers(1, 6))), replace=False)
        inside = rng.uniform(job.low, job.high, (len(rows), job.dims))
        near = job.positions[order[rows]].astype("f8") + rng.choice([-1.0, 0.0, 1.0], (len(rows), job.dims))
        positions = inputs.store_as(np.where(rng.random((len(rows), 1)) < 0.5, inside, near), job.positions.dtype)
        self.edit("move", "--from", self.table({"vertex": rows} | self.places(positions)))
        job.positions[order[rows]] = positions

    def set_values(self) -> None:
        job, rng, order = self.job, self.rng, self.order()
        name = str(rng.choice([name for name in job.attributes if name != "id"]))
        rows = rng.choice(len(order), min(len(order), 5), replace=False)
        values = job.attributes[name][rng.integers(0, len(order), len(rows))]
        self.edit("set-attribute", name, "--from", self.table({"vertex": rows, name: values}))
        job.attributes[name][order[rows]] = values

    def some_keys(self, n: int) -> np.ndarray:
        """Values that chunks are cut by: those that are there, and new ones before and behind them."""
        if self.job.key.dtype.kind == "O":
            return np.array(["axon", "größe", "z", "a", "über"], object)[self.rng.integers(0, 5, n)]
        return self.rng.integers(-4, 6, n).astype("i2")

    def set_keys(self) -> None:
        job, rng = self.job, self.rng
        if job.key is None:
            return
        order = self.order()
        rows = rng.choice(len(order), min(len(order), 5), replace=False)
        values = self.some_keys(len(rows))
        self.edit("set-attribute", "gene", "--from", self.table({"vertex": rows, "gene": values}))
        job.key[order[rows]] = values

    # --- numbers ---

    def number(self) -> None:
        """Numbers vertices by their row in the input, which shrank and grew."""
        job = self.job
        row_of = {int(number): row for row, number in enumerate(job.attributes["id"])}
        rows = np.array([row_of[number] for number in self.order().tolist()], "i4")
        self.edit("set-attribute", "id", "--by-order", "--from", self.table({"id": rows}))
        job.attributes["id"] = np.arange(len(job.positions), dtype="i4")

    def number_links(self) -> None:
        """Numbers links; each is addressed by the number that it has."""
        job = self.job
        if "w" not in job.link_attributes or not len(job.links):
            return
        path = job.folder / "links.csv"
        path.unlink(missing_ok=True)
        self.zvf("links", job.store, "-o", path)
        with path.open() as file:
            listed = [int(row["w"]) for row in csv.DictReader(file)]
        place = {int(number): at for at, number in enumerate(job.link_attributes["w"])}
        numbers = np.array([place[n] for n in listed], "i4")
        self.edit("set-attribute", "w", "--link", "--by-order", "--from", self.table({"w": numbers}))
        job.link_attributes["w"] = np.arange(len(job.links), dtype="i4")

    def leave_groups(self, ids: set[int]) -> None:
        """Objects are in no group any more."""
        self.job.groups = self.job.groups and [[one for one in some if one not in ids] for some in self.job.groups]

    def run(self) -> None:
        steps = [self.drop, self.append, self.move, self.set_values, self.set_keys]
        for at in self.rng.permutation(len(steps)):
            steps[at]()
            self.number()
        self.number_links()
        if self.job.groups is not None or self.rng.random() < 0.5:
            # Groups lose deleted objects with the rows of these.
            self.zvf("vacuum", self.job.store)
            self.leave_groups(self.deleted)
            self.deleted.clear()


class EditedReader(Reader):
    """Rows are not in the order of ids; deleted objects are rows without vertices, which the package does not list."""

    def tables(self) -> None:
        import zarr
        import zarr_vectors

        job = self.job
        if job.ids is None:
            return
        alive = set(job.ids.tolist())
        objects = zarr_vectors.open(job.store).level(0).objects
        self.same("ids", sorted(int(k) for k in objects.ids()), sorted(alive))
        row_of = {int(one): row for row, one in enumerate(zarr.open_array(f"{job.store}/0/object_index/object_ids", mode="r")[:])}
        rows = [row_of[one] for one in sorted(alive)]
        for name, truth in job.object_attributes.items():
            array = zarr.open_array(f"{job.store}/0/object_attributes/{name}", mode="r")
            self.same("object attributes", array[:][rows], truth)
        if job.link_attributes and len(job.links):
            self.link_attributes()


def one(options, number: int, kind: str, folder: Path, board: Board) -> None:
    job = Job(np.random.default_rng([options.seed, number]), folder, kind, fragments=False)
    subprocess.run([options.writer, folder / "job.json"], check=True, capture_output=True, text=True)
    Editor(options.program, job).run()
    EditedReader(job, board, options.program).run()


if __name__ == "__main__":
    sys.exit(try_kinds(KINDS, ["program", "writer"], one, seed=20260303, stores=8))
