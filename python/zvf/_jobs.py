"""Jobs on whole stores and files, as the commands of the program `zvf` do them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _region, _zvf
from ._options import Options, access, address, document, writing
from ._store import _box
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike

    from ._options import Progress, WriteOptions
    from ._region import Place
    from ._store import Box
    from ._write import Kind

Path = str | os.PathLike[str]
Version = Literal["0.9.2", "0.8.1"]


def import_(
    url: Path,
    *files: Path,
    kind: Kind | None = None,
    format: str | None = None,
    position: Sequence[str] | None = None,
    object_column: str | None = None,
    ids: str | None = None,
    id_offset: int | None = None,
    attributes: Sequence[str] | None = None,
    edges: Path | None = None,
    faces: Path | None = None,
    link_columns: Sequence[str] | None = None,
    node_id: str | None = None,
    links_by_row: bool = False,
    exclude: Sequence[str] = (),
    nulls: Literal["keep", "error", "drop-row"] | int = "keep",
    delimiter: str | None = None,
    decimal: Literal[".", ","] = ".",
    columns_in: Sequence[str] | None = None,
    na: Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    attribute_types: Mapping[str, str] | None = None,
    unit: str | None = None,
    crs: str | None = None,
    axis_types: Mapping[str, Literal["space", "time", "channel"]] | None = None,
    scale: float | Sequence[float] | None = None,
    affine: Path | None = None,
    space: Literal["rasmm", "voxelmm", "file"] | None = None,
    chunk_shape: Sequence[float] | None = None,
    bin_shape: Sequence[float] | None = None,
    shard_shape: Sequence[int] | None = None,
    codec: str | None = None,
    version: Version = "0.9.2",
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Makes a new store at `url` from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, LAS, LAZ, OBJ, PLY, STL, TRK, TCK or TRX.

    Objects of several files stay apart: ids that two of them have are an error, unless `ids="new"` gives all objects new ids, `ids="file"` makes
    each file one object by the number in its name, or `id_offset=N` adds N times the place of the file.
    `position` and `object_column` name columns of tables, `attributes` the columns that are kept (default: all others), `edges` or `faces`
    a table of links beside a table of vertices, which name its rows, from 0, or values of its column `node_id`; where a column `id`, `node_id`
    or `index` does not count the rows, `node_id` or `links_by_row` has to be given.

    `nulls` says what becomes of missing values. Of tables of text, `na` are the words for missing values, `columns_in` the names of the columns
    of a file without a header line, `attribute_types` types of columns (`"text"`, `"int64"`, ...) and `decimal` the decimal point. `rename` gives
    columns other names, which all other arguments use.

    `unit` is that of all axes of space (`"um"`; `"8nm"` multiplies positions by 8); `"um,t=second"`
    gives an axis of time one of its own. Axes named `t`, `time` or `frame` are of type time unless `axis_types` says otherwise. `scale` and
    the file of an `affine` map positions; `zvf append` does the same with files that it adds. `crs` names the coordinate reference system of the positions
    (`"EPSG:25832"` or WKT), which LAS files state themselves.
    """
    reading = {
        "kind": kind,
        "format": format,
        "position": position,
        "object_column": object_column,
        "ids": ids,
        "id_offset": id_offset,
        "attributes": attributes,
        "edges": edges,
        "faces": faces,
        "columns": {
            "exclude": list(exclude),
            "nulls": str(nulls),
            "delimiter": delimiter,
            "decimal": decimal,
            "columns_in": columns_in,
            "na": na,
            "rename": list((rename or {}).items()),
            "attribute_types": list((attribute_types or {}).items()),
            "link_columns": link_columns,
            "node_id": node_id,
            "links_by_row": links_by_row,
        },
        "unit": unit,
        "crs": crs,
        "axis_types": list((axis_types or {}).items()),
        "scale": [float(scale)] if isinstance(scale, int | float) else scale,
        "affine": affine,
        "space": space,
        "chunk_shape": chunk_shape,
        "bin_shape": bin_shape,
        "shard_shape": shard_shape,
        "codec": codec,
        "version": version,
    }
    return document(_zvf.import_files(address(url), list(files), reading, writing(options)))


def export(
    url: Path,
    file: Path,
    *,
    level: int = 0,
    bbox: Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None = None,
    where: str | None = None,
    objects: ArrayLike | range | str | None = None,
    place: Place | None = None,
    select: Literal["vertices", "objects"] | None = None,
    attributes: Sequence[str] | None = None,
    links: Path | None = None,
    faces: bool = False,
    keep_frame: bool = False,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Writes a selection of a store as a file of another format, by its ending; `links` names a second table for edges, or with `faces` for faces.

    `bbox` and `objects` are as in `Store.query`; `place` has terms of `Store.query` such as `{"sphere": (1, 2, 3, 4), "inside": True}`.

    The file is there as a whole or not at all.
    """
    selection = {
        "level": level,
        "bbox": None if bbox is None else _box(bbox),
        "place": _region.members(place or {}),
        "where": where,
        "objects": None if objects is None else _arrays.selected_ids(objects),
        "select": select,
        "attributes": attributes,
        "links": links,
        "faces": faces,
        "keep_frame": keep_frame,
    }
    return document(_zvf.export(address(url), file, selection, access(options)))


class Finding(NamedTuple):
    """One place where a rule of the format is broken."""

    code: str
    severity: str
    title: str
    place: str
    found: str
    expected: str
    hint: str


class Report:
    """What a look at a store found."""

    __slots__ = ("document", "errors", "findings", "notes", "warnings")

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        """All of it, as `zvf validate --json` prints it."""
        self.findings = tuple(
            Finding(
                code=one["code"],
                severity=one["severity"],
                title=one["title"],
                place=one["path"],
                found=one["found"],
                expected=one["expected"],
                hint=one["hint"],
            )
            for one in document["findings"]
        )
        """The findings, as many of each check as were asked for."""
        self.errors: int = document["errors"]
        self.warnings: int = document["warnings"]
        self.notes: int = document["notes"]

    def __repr__(self) -> str:
        return f"<zvf.Report: {self.errors} errors, {self.warnings} warnings, {self.notes} notes>"

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return self.errors == 0

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def table(self) -> Table:
        """The findings as a table of texts: `code`, `severity`, `title`, `place`, `found`, `expected`, `hint`."""
        names = Finding._fields
        columns = [(name, [getattr(one, name) for one in self.findings], "text", None) for name in names]
        return Table(_zvf.table_of_columns(columns, len(self.findings)))


Job = dict[str, Any]


def run(
    job: Job | Sequence[Job] | Path, *, progress: Progress | None = None, **options: Unpack[Options]
) -> dict[str, Any] | list[dict[str, Any]]:
    """Runs a job, a list of them, or a file with either, as `zvf run` does: `{"job": "pyramid", "store": "a.zv", "factors": [2]}`.

    The members of jobs are in `schema()`; `zvf COMMAND --print-job` prints the job that a command is. Returns the report of the job, or the list of
    reports. A failure ends a list; findings of a validation do not. Relative paths are relative to the working directory.

    `progress` is called with numbers of vertices or cells that were done.
    """
    if isinstance(job, str | os.PathLike):
        with open(job, encoding="utf-8") as file:
            text = file.read()
    else:
        text = json.dumps(job, default=_plain)
    found: dict[str, Any] | list[dict[str, Any]] = json.loads(_zvf.run_jobs(text, writing(options), progress))
    return found


def schema(job: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a job such as `"pyramid"`: its options with their documentation and defaults. Without a name, of any job or list of them."""
    return document(_zvf.schema(job))


def _plain(value: Any) -> Any:
    """Paths, arrays of NumPy and other sequences, as JSON has them."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _run(job: str, members: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Runs one job; members that are None are as by default, and those of `Options` are no part of it."""
    common = {name: value for name, value in members.items() if name in Options.__annotations__ or name == "durable"}
    options = {name: value for name, value in members.items() if name not in common and value is not None}
    text = json.dumps({"job": job, **options}, default=_plain)
    return document(_zvf.run_jobs(text, writing(common), progress))


class JobOptions(Options, total=False):
    """How a store is reached and written by a job."""

    durable: bool
    """Wait for the disk, so that a loss of power leaves the store as it was or complete. Default true."""


class ValidateOptions(Options, total=False):
    """The options of the job `validate`: `schema("validate")` has their documentation and defaults."""

    depth: int
    quick: int
    seed: int
    levels: Sequence[int]
    arrays: Sequence[str]
    coverage: bool
    profile: Literal["viewer"]
    most: int
    resume: Path


class PyramidOptions(JobOptions, total=False):
    """The options of the job `pyramid`: `schema("pyramid")` has their documentation and defaults."""

    factors: Sequence[float]
    add: bool
    replace: bool
    refresh: bool
    remove: bool
    bin_shape: Sequence[float] | None
    sparsity: Sequence[float]
    method: Literal["density", "reference"] | None
    seed: int
    until: int | None
    chunk_scale: Sequence[int | Sequence[int]]
    cross_links: Literal["none", "implicit", "explicit"]
    cross_depth: int
    clear_leftovers: bool


class MigrateOptions(JobOptions, total=False):
    """The options of the job `migrate`: `schema("migrate")` has their documentation and defaults."""

    version: Version
    codec: str | Sequence[str | Mapping[str, Any]] | None
    shard_shape: Sequence[int] | Literal["auto", "none"] | None
    strict: bool
    clear_leftovers: bool
    journal: Path


class RechunkOptions(JobOptions, total=False):
    """The options of the job `rechunk`: `schema("rechunk")` has their documentation and defaults."""

    chunk_shape: Sequence[float] | None
    bin_shape: Sequence[float] | None
    codec: str | Sequence[str | Mapping[str, Any]] | None
    shard_shape: Sequence[int] | Literal["auto", "none"] | None
    strict: bool
    clear_leftovers: bool
    journal: Path


def validate(url: Path, *, progress: Progress | None = None, **options: Unpack[ValidateOptions]) -> Report:
    """Looks whether a store can be trusted, to a `depth`: structure (1), documents (2), cells (3), meaning (4), levels among each other (5).

    `progress` is called with numbers of cells that were looked at.
    """
    return Report(_run("validate", {"store": url, **options}, progress))


def vacuum(url: Path, **options: Unpack[JobOptions]) -> dict[str, Any]:
    """Drops the rows of deleted objects, and removes what no reader asks for. No other writer may run meanwhile."""
    return _run("vacuum", {"store": url, **options}, None)


def repair(
    url: Path,
    *,
    apply: bool = False,
    accept_loss: bool = False,
    backup: str | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Says which documents would be made right from the cells, and with `apply` does it. Documents as they were are kept in `backup`."""
    return document(_zvf.repair(address(url), apply, accept_loss, backup, writing(options)))


def pyramid(url: Path, *, progress: Progress | None = None, **options: Unpack[PyramidOptions]) -> dict[str, Any]:
    """Adds coarse levels, one for each of `factors`, or without factors as many as the data ask for; adds to, replaces, refreshes or removes those
    that are there.

    `progress` is called with numbers of vertices that were coarsened.
    """
    return _run("pyramid", {"store": url, **options}, progress)


def remove_pyramid(url: Path, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Removes all coarse levels: `pyramid(url, remove=True)`."""
    return _run("pyramid", {"store": url, "remove": True, **options}, None)


def copy(
    source: Path,
    url: Path,
    *,
    read_back: bool = False,
    progress: Progress | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Copies a store byte for byte to another place; `read_back` compares what is there. The same call continues an interrupted copy.

    `progress` is called with numbers of bytes that were copied.
    """
    how = writing(options)
    return document(_zvf.copy_verbatim(address(source), address(url), read_back, how, how["access"], progress))


def doctor(url: Path, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Measures what would make a store smaller or faster: a list `advice` with `before`, `after` and the command for it. Nothing is changed."""
    return document(_zvf.doctor(address(url), writing(options)))


def split(
    url: Path,
    folder: Path,
    *,
    attribute: str | None = None,
    count: int | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Writes a store into `folder` for each group, for each value of an attribute, or for each of `count` parts.

    A part that is there already is left as it is.
    """
    how = writing(options)
    return document(_zvf.split(address(url), folder, attribute, count, how, how["access"]))


def merge(
    sources: Sequence[Path],
    url: Path,
    *,
    ids: Literal["new"] | None = None,
    id_offset: int | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Makes one new store of several of the same kind, with attributes and groups united and positions in the units of the first.

    Objects keep their ids, unless `ids="new"` numbers them from 0, or `id_offset=N` adds N times the place of the store.
    """
    how = writing(options)
    urls = [address(source) for source in sources]
    return document(_zvf.merge(urls, address(url), ids == "new", id_offset, how, how["access"]))


def resample(
    source: Path,
    url: Path,
    *,
    points: int | None = None,
    step: float | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Makes a new store with other points along the same polylines, streamlines or skeletons: `points` of each line at equal arc length, or one each `step` units.

    Ends are kept exactly, of skeletons (`step` alone) also branching points. Floats of vertices are interpolated, other values are those of the nearest vertex.
    """
    how = writing(options)
    return document(_zvf.resample(address(source), address(url), points, step, None, how, how["access"]))


def simplify(source: Path, url: Path, tolerance: float, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Makes a new store with fewer vertices of polylines, streamlines or skeletons: those that are left out are at most `tolerance` from the new line."""
    how = writing(options)
    return document(_zvf.resample(address(source), address(url), None, None, tolerance, how, how["access"]))


def migrate(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[MigrateOptions]) -> dict[str, Any]:
    """Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two.

    `progress` is called with numbers of vertices that were copied.
    """
    return _run("migrate", {"source": source, "target": url, **options}, progress)


def rechunk(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[RechunkOptions]) -> dict[str, Any]:
    """Copies a store into chunks, bins or shards of another shape, and compares the two.

    `progress` is called with numbers of vertices that were copied.
    """
    return _run("rechunk", {"source": source, "target": url, **options}, progress)
