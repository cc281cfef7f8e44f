"""Runs the `zvf` program and takes its output apart. Knows the command line, nothing of the format."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa


class Refused(Exception):
    """The program ended with an error."""

    def __init__(self, code: int, message: str):
        super().__init__(f"exit code {code}: {message}")
        self.code = code


def findings(program: str | Path, store: str | Path) -> list[str]:
    """What `zvf validate` at level 5 says of a store, notes left out."""
    command = [str(program), "validate", str(store), "--level", "5", "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    # 1: there are findings.
    if done.returncode not in (0, 1):
        raise Refused(done.returncode, done.stderr.decode(errors="replace").strip())
    found = [one for one in json.loads(done.stdout)["findings"] if one["severity"] != "note"]
    return [f"{one['title']} at {one['path']}: {one['found']}, expected {one['expected']}" for one in found]


def run(*command, stdin: bytes | None = None) -> str:
    """What a program writes to stdout when it ends well."""
    done = subprocess.run([str(one) for one in command], capture_output=True, input=stdin)
    if done.returncode:
        raise Refused(done.returncode, f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


class Zvf:
    """One built program."""

    def __init__(self, program: str):
        self.program = program
        self.calls = 0
        self.folder = Path(tempfile.mkdtemp(prefix="zvf-conformance-"))

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *arguments) -> bytes:
        """Runs one command; returns its stdout."""
        self.calls += 1
        command = [self.program, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=False, timeout=300)
        if done.returncode:
            raise Refused(done.returncode, done.stderr.decode(errors="replace").strip())
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def tables(self, *arguments) -> "Tables":
        """Runs `query` or `get` into a directory."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        summary = self.json(*arguments, "-o", out)
        found = {path.stem: read(path) for path in out.glob("*.arrow")}
        return Tables(summary, **found)

    def file(self, ending: str, *arguments) -> Path:
        """Runs `query` or `get` into one file."""
        out = self.folder / f"out.{ending}"
        out.unlink(missing_ok=True)
        self.run(*arguments, "-o", out)
        return out


def read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all().combine_chunks()


class Tables:
    """The tables of a result; `links`, `objects` and `groups` are None where the store has none."""

    def __init__(
        self,
        summary,
        vertices: pa.Table,
        links: pa.Table | None = None,
        objects: pa.Table | None = None,
        groups: pa.Table | None = None,
    ):
        self.summary = summary
        self.vertices = vertices
        self.links = links
        self.objects = objects
        self.groups = groups

    @property
    def positions(self) -> np.ndarray:
        return matrix(self.vertices["position"])

    @property
    def link_rows(self) -> np.ndarray:
        return matrix(self.links["vertices"]) if self.links is not None else np.zeros((0, 2), "i8")


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """A column of fixed-size lists as `(rows, width)`."""
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    width = column.type.list_size
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)


def values(table: pa.Table, name: str) -> list:
    """A column as Python values, `None` where null."""
    column = table[name]
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    return column.to_pylist()
