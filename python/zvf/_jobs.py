"""Jobs on whole stores and files, as the commands of the program `zvf` do them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _progress, _region, _sample, _zvf
from ._options import Options, document, writing
from ._store import _box
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike

    from ._job_options import (
        AppendOptions,
        CopyOptions,
        CreateOptions,
        DiffOptions,
        DoctorOptions,
        ExportOptions,
        ImportOptions,
        MergeOptions,
        MigrateOptions,
        PlotOptions,
        PyramidOptions,
        RechunkOptions,
        RepairOptions,
        ResampleOptions,
        SampleOptions,
        SimplifyOptions,
        SplitOptions,
        VacuumOptions,
        ValidateOptions,
    )
    from ._options import JobOptions, Progress, WriteOptions
    from ._region import Place
    from ._write import Kind

Path = str | os.PathLike[str]


def import_(
    url: Path,
    *files: Path,
    ids: Literal["kept", "new", "file"] | None = None,
    progress: Progress | None = None,
    **options: Unpack[ImportOptions],
) -> dict[str, Any]:
    """Makes a new store at `url` from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, LAS, LAZ, OBJ, PLY, STL, TRK, TCK or TRX.

    The options are those of `zvf import`: `schema("import")` has their documentation and defaults. `rename`, `attribute_types` and `axis_types` are
    mappings from names of columns or axes. `ids="new"` is `new_ids=True`, `ids="file"` is `id_from_file=True`, and one number as `scale` is that of all
    axes of space.

    `zvf append` maps positions of files that it adds as `unit`, `scale` and `affine` do here. `progress` is called with numbers of vertices that were read; `True` shows a bar of tqdm.
    """
    return _run("import", _of_files(url, files, ids, options), progress)


def append(
    url: Path,
    *files: Path,
    ids: Literal["kept", "new", "file"] | None = None,
    **options: Unpack[AppendOptions],
) -> dict[str, Any]:
    """Adds objects or points to a store from files of any format that `import_` reads, directories that `zvf query -o DIR` wrote, or other stores.

    Files and stores may be URLs: a URL is taken as a file if its ending is that of a known format or `format` is given, else as a store. All of it at once, or nothing. The options are those of `zvf append`: `schema("append")` has their documentation and defaults; `ids`, `scale` and mappings
    are as in `import_`. The report has the ids that objects got.
    """
    return _run("append", _of_files(url, files, ids, options), None)


def _with_ids(members: dict[str, Any], ids: str | None) -> dict[str, Any]:
    """The members of a job with the rule for ids of objects that a word stands for."""
    rules = {"new": "new_ids", "file": "id_from_file"}
    if ids in rules:
        members[rules[ids]] = True
    elif ids not in (None, "kept"):
        raise _zvf.MisuseError(f"ids: found {ids!r}, expected kept, new or file")
    return members


def _of_files(url: Path, files: Sequence[Path], ids: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a job that reads files."""
    members = _with_ids({"files": files, "store": url, **options}, ids)
    if isinstance(members.get("scale"), int | float):
        members["scale"] = [members["scale"]]
    return members


def export(
    url: Path,
    file: Path,
    *,
    place: Place | None = None,
    links: Path | None = None,
    **options: Unpack[ExportOptions],
) -> dict[str, Any]:
    """Writes a selection of a store as a file of another format, by its ending; `links` names a second table for edges, or with `faces=True` for faces.

    The options are those of `zvf export`: `schema("export")` has their documentation and defaults. `bbox` and `objects` are as in `Store.query`; `place`
    has terms of `Store.query` such as `{"sphere": (1, 2, 3, 4), "inside": True}`. A name such as `"{id}.swc"` makes a file for each object.

    The file is there as a whole or not at all.
    """
    members = _selected(options, place)
    faces = members.get("faces")
    if faces is True and links is None:
        raise _zvf.MisuseError("faces: found True without links, expected links=FILE, the table of faces, or faces=FILE")
    if isinstance(faces, bool):
        members["faces"] = links if faces else None
    if not faces:
        members["edges"] = links if links is not None else members.get("edges")
    return _run("export", {"store": url, "file": file, **members}, None)


def plot(url: Path | Sequence[Path], output: Path, *, place: Place | None = None, **options: Unpack[PlotOptions]) -> dict[str, Any]:
    """Draws a store, or several ones in one picture, as a PNG or SVG file by the ending of `output`, and returns the camera and what was drawn.

    The options are those of `zvf plot`: `schema("plot")` has their documentation and defaults. `color` is a list: one for all stores, or one for each; `bbox`,
    `objects` and `place` are as in `export`.
    """
    stores = [url] if isinstance(url, str | os.PathLike) else list(url)
    return _run("plot", {"stores": stores, "output": output, **_selected(options, place)}, None)


def _selected(options: Mapping[str, Any], place: Place | None) -> dict[str, Any]:
    """The members of a job that reads a selection."""
    members = dict(options)
    if members.get("bbox") is not None:
        bbox = _box(members["bbox"])
        members["bbox"] = bbox if isinstance(bbox, str) else ":".join(",".join(map(repr, corner)) for corner in bbox)
    if members.get("objects") is not None:
        members["objects"] = _arrays.selected_ids(members["objects"])
    return {**members, **_region.job_members(place or {})}


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
        columns = [(name, [getattr(one, name) for one in self.findings], "text", None, None, None) for name in names]
        return Table(_zvf.table_of_columns(columns, len(self.findings)))


Job = dict[str, Any]


def run(
    job: Job | Sequence[Job] | Path, *, progress: Progress | None = None, **options: Unpack[Options]
) -> dict[str, Any] | list[dict[str, Any]]:
    """Runs a job, a list of them, or a file with either, as `zvf run` does: `{"job": "pyramid", "store": "a.zv", "factors": [2]}`.

    The members of jobs are in `schema()`; `zvf COMMAND --print-job` prints the job that a command is. Returns the report of the job, or the list of
    reports: what the program prints with `--json`, but without `requests`, `rounds` and `bytes` of a query, which only the program counts. A failure
    ends a list; findings of a validation do not. Relative paths are relative to the working directory.

    `progress` is called with numbers of vertices or cells that were done; `True` shows a bar of tqdm.
    """
    if isinstance(job, str | os.PathLike):
        with open(job, encoding="utf-8") as file:
            text = file.read()
    else:
        text = _json(job)
    with _progress.shown(progress) as begin:
        found: dict[str, Any] | list[dict[str, Any]] = json.loads(_zvf.run_jobs(text, writing(options), begin))
    return found


def schema(job: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a job such as `"pyramid"`: its options with their documentation and defaults. Without a name, of any job or list of them."""
    return document(_zvf.schema(job))


def _json(job: object) -> str:
    """A job as JSON, which has no infinite numbers: they are the texts that jobs take."""
    try:
        return json.dumps(job, default=_plain, allow_nan=False)
    except ValueError:
        words = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}
        return json.dumps(json.loads(json.dumps(job, default=_plain), parse_constant=words.__getitem__))


def _plain(value: Any) -> Any:
    """Paths, mappings, arrays of NumPy and other sequences, as JSON has them."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _run(job: str, members: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Runs one job; members that are None are as by default, and those of `Options` are no part of it."""
    common = {name: value for name, value in members.items() if name in Options.__annotations__ or name == "durable"}
    options = {name: value for name, value in members.items() if name not in common and value is not None}
    text = _json({"job": job, **options})
    with _progress.shown(progress) as begin:
        return document(_zvf.run_jobs(text, writing(common), begin))


def validate(url: Path, *, progress: Progress | None = None, **options: Unpack[ValidateOptions]) -> Report:
    """Checks a store for errors, to a `depth`: structure (1), documents (2), cells (3), meaning (4), levels among each other (5).

    `progress` is called with numbers of cells that were looked at; `True` shows a bar of tqdm.
    """
    return Report(_run("validate", {"store": url, **options}, progress))


def diff(first: Path, second: Path, *, progress: Progress | None = None, **options: Unpack[DiffOptions]) -> dict[str, Any]:
    """Compares the contents of two stores, however these are stored: `same`, the first `limit` of the `differences`, and their `total`.

    `progress` is called with numbers of vertices that were read; `True` shows a bar of tqdm.
    """
    return _run("diff", {"first": first, "second": second, **options}, progress)


def vacuum(url: Path, **options: Unpack[VacuumOptions]) -> dict[str, Any]:
    """Removes the rows of deleted objects, and files that no reader uses. No other writer may run meanwhile."""
    return _run("vacuum", {"store": url, **options}, None)


def repair(url: Path, *, progress: Progress | None = None, **options: Unpack[RepairOptions]) -> dict[str, Any]:
    """Says which documents would be made right from the cells, and with `apply` does it. Documents as they were are kept in `backup`, and `undo` puts them back."""
    return _run("repair", {"store": url, **options}, progress)


def pyramid(url: Path, *, progress: Progress | None = None, **options: Unpack[PyramidOptions]) -> dict[str, Any]:
    """Adds coarse levels, one for each of `factors`, or without factors as many as the data ask for; adds to, replaces, refreshes or removes those
    that are there.

    `progress` is called with numbers of vertices that were coarsened; `True` shows a bar of tqdm.
    """
    return _run("pyramid", {"store": url, **options}, progress)


def remove_pyramid(url: Path, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Removes all coarse levels: `pyramid(url, remove=True)`."""
    return _run("pyramid", {"store": url, "remove": True, **options}, None)


def copy(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[CopyOptions]) -> dict[str, Any]:
    """Copies a store byte for byte to another place; `read_back` compares what is there. The same call continues an interrupted copy.

    `progress` is called with numbers of bytes that were copied; `True` shows a bar of tqdm.
    """
    return _run("copy", {"source": source, "target": url, **options}, progress)


def doctor(url: Path, **options: Unpack[DoctorOptions]) -> dict[str, Any]:
    """Measures what would make a store smaller or faster: a list `advice` with `before`, `after` and the command for it. Nothing is changed."""
    return _run("doctor", {"store": url, **options}, None)


def sample(
    url: Path, volume: Path, name: str, *, progress: Progress | None = None, **options: Unpack[SampleOptions]
) -> dict[str, Any]:
    """Keeps the value of a volume at every vertex as the vertex attribute `name`, and returns counts.

    `volume` is a TET file, a Caterva or b2nd frame, a Zarr array, an OME-Zarr image, a NIfTI or a FreeSurfer (`.mgz`) file. `affine` maps element indices to the axes of the store: an
    array of shape `(n, n + 1)` or `(n + 1, n + 1)`, or a file with numbers, or a NIfTI image; without it an image says where it is. `order` is
    `"linear"` between centres of voxels, or `"nearest"`; by default linear for floats and nearest for integers, which may be labels; `outside` the value of vertices outside; `index` picks an element of axes
    that are not in space. The attribute is there as a whole or not at all. `progress` is called with numbers of vertices; `True` shows a bar of tqdm.
    """
    members = {"store": url, "volume": volume, "name": name, **options}
    if options.get("affine") is not None:
        members["affine"] = _sample._numbers(options["affine"])
    outside = options.get("outside")
    if outside is not None and not isinstance(outside, str) and not math.isfinite(outside):
        members["outside"] = repr(float(outside))
    return _run("sample", members, progress)


def group_ends(
    url: Path,
    name: str,
    labels: Path,
    *,
    affine: ArrayLike | Path | None = None,
    mean: Sequence[str] = (),
    matrix: Path | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    **options: Unpack[JobOptions],
) -> dict[str, Any]:
    """Makes groups `name/a-b` of lines or streamlines by the labels `a <= b` of a volume at their ends, and returns counts.

    `labels` and `affine` are the volume and the affine of `sample`. Label 0 is background, and so is everything outside of the volume: lines with such an end are in no group. `matrix` is a file (`.csv`,
    `.ndjson`, `.arrow`, `.parquet`) with a row for each pair: `label_a`, `label_b`, `count`, `mean_length`, and `mean_NAME` for each vertex attribute of `mean`. `replace` deletes
    groups `name/..` that are there, which are an error else. `progress` is called with numbers of lines; `True` shows a bar of tqdm.
    """
    members = {"store": url, "group": name, "ends": labels, "matrix": matrix, "mean": list(mean), "replace": replace, **options}
    if affine is not None:
        members["affine"] = _sample._numbers(affine)
    return _run("group", members, progress)


def split(
    url: Path,
    folder: Path,
    *,
    attribute: str | None = None,
    count: int | None = None,
    place: Place | None = None,
    **options: Unpack[SplitOptions],
) -> dict[str, Any]:
    """Writes a store into `folder` for each group, for each value of an attribute, for each of `count` parts, or for each region in `named`.

    The options are those of `zvf split`: `schema("split")` has their documentation and defaults; `bbox`, `objects` and `place` are as in `export`. `named` has
    regions by the names of their parts: `{"left": "box(x=:0)"}`. A part that is there already is left as it is.
    """
    ways = {
        "attribute": None if attribute is None else ["attribute", attribute],
        "count": None if count is None else ["count", count],
        "named": ["region"] if options.get("named") else None,
    }
    given = [name for name, by in ways.items() if by]
    if len(given) > 1:
        raise _zvf.MisuseError(f"found {given[0]} and {given[1]}, expected one of them, or none for groups")
    by = ways[given[0]] if given else ["group"]
    return _run("split", {"store": url, "folder": folder, "by": by, **_selected(options, place)}, None)


def create(url: Path, kind: Kind, chunk_shape: Sequence[float] | ArrayLike, bounds: str, **options: Unpack[CreateOptions]) -> dict[str, Any]:
    """Makes a new store without any vertex, in which `append` and `edit` put some. `bounds` are two corners, such as `"0,0,0:90,90,9"`; an attribute is `"NAME:TYPE"`."""
    return _run("create", {"store": url, "kind": kind, "chunk_shape": chunk_shape, "bounds": bounds, **options}, None)


def merge(
    sources: Sequence[Path],
    url: Path,
    *,
    ids: Literal["kept", "new", "file"] | None = None,
    **options: Unpack[MergeOptions],
) -> dict[str, Any]:
    """Makes one new store of several of the same kind, with attributes and groups united and positions in the units of the first.

    Objects keep their ids, unless `ids="new"` numbers them from 0, or `id_offset=N` adds N times the place of the store.
    """
    return _run("merge", _with_ids({"sources": sources, "target": url, **options}, ids), None)


def resample(source: Path, url: Path, **options: Unpack[ResampleOptions]) -> dict[str, Any]:
    """Makes a new store with other points along the same polylines, streamlines or skeletons: `points` of each line at equal arc length, or one each `step` units.

    Ends are kept exactly, of skeletons (`step` alone) also branching points. Floats of vertices are interpolated, other values are those of the nearest vertex.
    """
    return _run("resample", {"source": source, "target": url, **options}, None)


def simplify(source: Path, url: Path, tolerance: float, **options: Unpack[SimplifyOptions]) -> dict[str, Any]:
    """Makes a new store with fewer vertices of polylines, streamlines or skeletons: those that are left out are at most `tolerance` from the new line."""
    return _run("simplify", {"source": source, "target": url, "tolerance": tolerance, **options}, None)


def migrate(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[MigrateOptions]) -> dict[str, Any]:
    """Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two.

    `progress` is called with numbers of vertices that were copied; `True` shows a bar of tqdm.
    """
    return _run("migrate", {"source": source, "target": url, **options}, progress)


def rechunk(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[RechunkOptions]) -> dict[str, Any]:
    """Copies a store into chunks, bins or shards of another shape, and compares the two.

    `progress` is called with numbers of vertices that were copied; `True` shows a bar of tqdm.
    """
    return _run("rechunk", {"source": source, "target": url, **options}, progress)
