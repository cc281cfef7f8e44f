"""Jobs on whole stores and files: the commands of the program `zvf`."""

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
        VolumeConvertOptions,
        VolumeInfoOptions,
        VolumeSliceOptions,
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
    mappings from names of columns or axes. `ids="new"` is `new_ids=True`, `ids="file"` is `id_from_file=True`, and a single number as `scale` applies
    to all axes of space.

    Later, `zvf append` maps positions of added files by the `unit`, `scale` and `affine` given here. `progress` is called with the numbers of
    vertices read; `True` shows a bar of tqdm.
    """
    return _run("import", _of_files(url, files, ids, options), progress)


def append(
    url: Path,
    *files: Path,
    ids: Literal["kept", "new", "file"] | None = None,
    **options: Unpack[AppendOptions],
) -> dict[str, Any]:
    """Adds objects or points to a store from files of any format that `import_` reads, directories that `zvf query -o DIR` wrote, or other stores.

    Files and stores may be URLs: a URL is a file if it has the ending of a known format or `format` is given, and otherwise a store. Either
    everything is added or nothing. The options are those of `zvf append`: `schema("append")` has their documentation and defaults; `ids`, `scale` and
    mappings are as in `import_`. The report lists the ids of the new objects.
    """
    return _run("append", _of_files(url, files, ids, options), None)


def _with_ids(members: dict[str, Any], ids: str | None) -> dict[str, Any]:
    """The members of a job, with the word in `ids` replaced by the option for it."""
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

    The file is written completely or not at all.
    """
    members = _selected(options, place)
    faces = members.get("faces")
    if faces is True and links is None:
        raise _zvf.MisuseError("faces: found True without links, expected links=FILE, the table of faces, or faces=FILE")
    if isinstance(faces, bool):
        members["faces"] = links if faces else None
    if links is not None and members.get("edges") is not None:
        raise _zvf.MisuseError("links: found edges as well, expected one of the two")
    if links is not None and faces is not True:
        members["edges"] = links
    return _run("export", {"store": url, "file": file, **members}, None)


def plot(url: Path | Sequence[Path], output: Path, *, place: Place | None = None, **options: Unpack[PlotOptions]) -> dict[str, Any]:
    """Draws one or several stores in one picture, a PNG or SVG file by the ending of `output`. Returns the camera and what was drawn.

    The options are those of `zvf plot`: `schema("plot")` has their documentation and defaults. `color` is a list with one colour for all stores, or
    one for each; `bbox`, `objects` and `place` are as in `export`.
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
    found = _region.job_members(place or {})
    twice = [name for name in found if members.get(name) is not None]
    if twice:
        raise _zvf.MisuseError(f"{twice[0]}: found it as an option and from place, expected it once")
    return {**members, **found}


class Finding(NamedTuple):
    """One violation of a rule of the format."""

    code: str
    severity: str
    title: str
    place: str
    found: str
    expected: str
    hint: str


class Report:
    """The result of a validation."""

    __slots__ = ("document", "errors", "findings", "notes", "warnings")

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        """The whole report, as `zvf validate --json` prints it."""
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
        """The findings; of each check at most the requested number."""
        self.errors: int = document["errors"]
        self.warnings: int = document["warnings"]
        self.notes: int = document["notes"]

    def __repr__(self) -> str:
        return f"<zvf.Report: {self.errors} errors, {self.warnings} warnings, {self.notes} notes>"

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
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

    `schema()` describes the members of jobs; `zvf COMMAND --print-job` prints the job of a command. Returns the report of the job, or the list of
    reports. A report is what the program prints with `--json`, but without `requests`, `rounds` and `bytes` of a query, which only the program
    counts. The first job that fails ends a list; findings of a validation do not. Relative paths are relative to the working directory.

    `progress` is called with the numbers of vertices or cells done; `True` shows a bar of tqdm.
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
    """The JSON Schema of a job such as `"pyramid"`: its options with their documentation and defaults. Without a name: the schema of any job, or list
    of jobs."""
    return document(_zvf.schema(job))


def _json(job: object) -> str:
    """A job as JSON. Infinite numbers, which JSON lacks, become the texts that jobs accept."""
    try:
        return json.dumps(job, default=_plain, allow_nan=False)
    except ValueError:
        words = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}
        return json.dumps(json.loads(json.dumps(job, default=_plain), parse_constant=words.__getitem__))


def _plain(value: Any) -> Any:
    """Converts paths, mappings, NumPy arrays and other sequences to values of JSON."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _run(job: str, members: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Runs one job. Members that are None have their defaults, and members of `Options` are not part of the job."""
    common = {name: value for name, value in members.items() if name in Options.__annotations__ or name == "durable"}
    options = {name: value for name, value in members.items() if name not in common and value is not None}
    text = _json({"job": job, **options})
    with _progress.shown(progress) as begin:
        return document(_zvf.run_jobs(text, writing(common), begin))


def validate(url: Path, *, progress: Progress | None = None, **options: Unpack[ValidateOptions]) -> Report:
    """Checks a store for errors, up to a `depth`: structure (1), documents (2), cells (3), meaning (4), consistency of levels (5).

    `progress` is called with the numbers of cells checked; `True` shows a bar of tqdm.
    """
    return Report(_run("validate", {"store": url, **options}, progress))


def diff(first: Path, second: Path, *, progress: Progress | None = None, **options: Unpack[DiffOptions]) -> dict[str, Any]:
    """Compares the contents of two stores, regardless of how they are stored. Returns `same`, the first `limit` of the `differences`, and their
    `total`.

    `progress` is called with the numbers of vertices read; `True` shows a bar of tqdm.
    """
    return _run("diff", {"first": first, "second": second, **options}, progress)


def vacuum(url: Path, **options: Unpack[VacuumOptions]) -> dict[str, Any]:
    """Removes the rows of deleted objects, and files that no reader uses. No other writer may run at the same time."""
    return _run("vacuum", {"store": url, **options}, None)


def repair(url: Path, *, progress: Progress | None = None, **options: Unpack[RepairOptions]) -> dict[str, Any]:
    """Reports which documents can be corrected from the cells, and with `apply` corrects them. The previous documents are saved in `backup`; `undo`
    restores them."""
    return _run("repair", {"store": url, **options}, progress)


def pyramid(url: Path, *, progress: Progress | None = None, **options: Unpack[PyramidOptions]) -> dict[str, Any]:
    """Adds coarse levels: one for each of `factors`, or without factors a number that depends on the data. Extends, replaces, refreshes or removes
    existing levels.

    `progress` is called with the numbers of vertices coarsened; `True` shows a bar of tqdm.
    """
    return _run("pyramid", {"store": url, **options}, progress)


def remove_pyramid(url: Path, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Removes all coarse levels: `pyramid(url, remove=True)`."""
    return _run("pyramid", {"store": url, "remove": True, **options}, None)


def copy(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[CopyOptions]) -> dict[str, Any]:
    """Copies a store byte for byte to another place; `read_back` reads the copy and compares it. The same call continues an interrupted copy.

    `progress` is called with the numbers of bytes copied; `True` shows a bar of tqdm.
    """
    return _run("copy", {"source": source, "target": url, **options}, progress)


def doctor(url: Path, **options: Unpack[DoctorOptions]) -> dict[str, Any]:
    """Measures what would make a store smaller or faster: returns a list `advice` with `before`, `after` and the command for each. Nothing is
    changed."""
    return _run("doctor", {"store": url, **options}, None)


def sample(
    url: Path, volume: Path, name: str, *, progress: Progress | None = None, **options: Unpack[SampleOptions]
) -> dict[str, Any]:
    """Samples a volume at every vertex, stores the values as the vertex attribute `name`, and returns counts.

    `volume` is a TET file, a Caterva or b2nd frame, a Zarr array, an OME-Zarr image, a NIfTI or a FreeSurfer (`.mgz`) file. `affine` maps element
    indices to the axes of the store: an array of shape `(n, n + 1)` or `(n + 1, n + 1)`, or a file with numbers, or a NIfTI image; by default the
    image states it. `order` is `"linear"` (between centres of voxels) or `"nearest"`; by default linear for floats and nearest for integers, which
    may be labels. `outside` is the value of vertices outside of the volume. `index` selects an element of the axes that are not in space. The
    attribute is written completely or not at all. `progress` is called with numbers of vertices; `True` shows a bar of tqdm.
    """
    members = {"store": url, "volume": volume, "name": name, **options}
    if options.get("affine") is not None:
        members["affine"] = _sample._numbers(options["affine"])
    outside = options.get("outside")
    if outside is not None and not isinstance(outside, str) and not math.isfinite(outside):
        members["outside"] = repr(float(outside))
    return _run("sample", members, progress)


def volume_info(volume: Path, **options: Unpack[VolumeInfoOptions]) -> dict[str, Any]:
    """The volumes of a file, folder or URL: types, shapes, chunks, blocks, codecs, axes and the map of element indices, as `zvf volume info --json`
    prints them. `"FILE#NAME"` or `"FILE#@N"` selects one."""
    return _run("volume-info", {"volume": volume, **options}, None)


def volume_slice(
    volume: Path, output: Path, *, progress: Progress | None = None, **options: Unpack[VolumeSliceOptions]
) -> dict[str, Any]:
    """Writes a box of a volume to a file that `numpy.load` reads (`.npy`), or as bare elements (`.raw`), and returns counts.

    `range` is as in NumPy, such as `"0:10,5,::2"`; by default the whole volume is read. `progress` is called with numbers of bytes; `True` shows a bar
    of tqdm.
    """
    return _run("volume-slice", {"volume": volume, "output": output, **options}, progress)


def volume_convert(
    volume: Path, output: Path, *, progress: Progress | None = None, **options: Unpack[VolumeConvertOptions]
) -> dict[str, Any]:
    """Writes a volume in another container, by the ending of `output` (`.tet`, `.b2nd` or `.zarr`), and returns counts; `lost` of the report lists the
    properties that the container cannot hold. `progress` is called with numbers of chunks; `True` shows a bar of tqdm."""
    return _run("volume-convert", {"volume": volume, "output": output, **options}, progress)


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

    `labels` and `affine` are the volume and the affine of `sample`. Label 0 and everything outside of the volume is background: lines with an end
    there are in no group. `matrix` is a file (`.csv`, `.ndjson`, `.arrow`, `.parquet`) with a row for each pair: `label_a`, `label_b`, `count`,
    `mean_length`, and `mean_NAME` for each vertex attribute of `mean`. `replace` deletes existing groups `name/..`, which are otherwise an error.
    `progress` is called with numbers of lines; `True` shows a bar of tqdm.
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

    The options are those of `zvf split`: `schema("split")` has their documentation and defaults; `bbox`, `objects` and `place` are as in `export`.
    `named` has regions by the names of their parts: `{"left": "box(x=:0)"}`. A part that exists already is not written again.
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
    """Makes a new store without vertices, for `append` and `edit`. `bounds` are two corners, such as `"0,0,0:90,90,9"`; an attribute is
    `"NAME:TYPE"`."""
    return _run("create", {"store": url, "kind": kind, "chunk_shape": chunk_shape, "bounds": bounds, **options}, None)


def merge(
    sources: Sequence[Path],
    url: Path,
    *,
    ids: Literal["kept", "new", "file"] | None = None,
    **options: Unpack[MergeOptions],
) -> dict[str, Any]:
    """Merges several stores of the same kind into a new one, with all attributes and groups, and positions in the units of the first store.

    Objects keep their ids, unless `ids="new"` numbers them from 0, or `id_offset=N` adds N times the number of the store, from 0.
    """
    return _run("merge", _with_ids({"sources": sources, "target": url, **options}, ids), None)


def resample(source: Path, url: Path, **options: Unpack[ResampleOptions]) -> dict[str, Any]:
    """Makes a new store with other points along the same polylines, streamlines or skeletons: `points` for each line at equal arc length, or one
    every `step` units.

    Ends are kept exactly, and for skeletons (only with `step`) also branching points. Floats of vertices are interpolated; other values are copied
    from the nearest vertex.
    """
    return _run("resample", {"source": source, "target": url, **options}, None)


def simplify(source: Path, url: Path, tolerance: float, **options: Unpack[SimplifyOptions]) -> dict[str, Any]:
    """Makes a new store with fewer vertices of polylines, streamlines or skeletons: the removed ones are at most `tolerance` away from the new line.
    """
    return _run("simplify", {"source": source, "target": url, "tolerance": tolerance, **options}, None)


def migrate(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[MigrateOptions]) -> dict[str, Any]:
    """Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two.

    `progress` is called with the numbers of vertices copied; `True` shows a bar of tqdm.
    """
    return _run("migrate", {"source": source, "target": url, **options}, progress)


def rechunk(source: Path, url: Path, *, progress: Progress | None = None, **options: Unpack[RechunkOptions]) -> dict[str, Any]:
    """Copies a store into chunks, bins or shards of another shape, and compares the two.

    `progress` is called with the numbers of vertices copied; `True` shows a bar of tqdm.
    """
    return _run("rechunk", {"source": source, "target": url, **options}, progress)
