"""Jobs on whole stores and files, as the commands of the program `zvf` do them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _region, _zvf
from ._options import access, address, document, writing
from ._store import _box
from ._table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike

    from ._options import Options, Progress, WriteOptions
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


def validate(
    url: Path,
    *,
    depth: int = 3,
    levels: Sequence[int] | None = None,
    most: int = 1000,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Report:
    """Says whether a store can be trusted: structure (1), documents (2), cells (3), meaning (4), levels among each other (5).

    `most` findings of each check are returned; all are counted. `progress` is called with the number of cells that were looked at.
    """
    return Report(document(_zvf.validate(address(url), depth, levels, most, access(options), progress)))


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


def pyramid(
    url: Path,
    *,
    factors: Sequence[float] = (),
    until: int | None = None,
    sparsity: float | None = None,
    method: Literal["density", "reference"] | None = None,
    bin_shape: Sequence[float] | None = None,
    seed: int = 0,
    existing: Literal["refuse", "keep", "replace"] = "refuse",
    progress: Progress | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Adds coarse levels: one for each factor, or without factors as many as the data ask for.

    `progress` is called with numbers of vertices that were coarsened.
    """
    coarse = {
        "factors": list(factors),
        "until": until,
        "sparsity": sparsity,
        "method": method,
        "bin_shape": bin_shape,
        "seed": seed,
        "existing": existing,
    }
    return document(_zvf.pyramid(address(url), coarse, writing(options), progress))


def remove_pyramid(url: Path, **options: Unpack[WriteOptions]) -> dict[str, Any]:
    """Removes all coarse levels."""
    return document(_zvf.remove_pyramid(address(url), writing(options)))


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


def migrate(
    source: Path,
    url: Path,
    *,
    version: Version = "0.9.2",
    codec: str | None = None,
    shard_shape: Sequence[int] | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two."""
    copying = {
        "version": version,
        "chunk_shape": None,
        "bin_shape": None,
        "shard_shape": shard_shape,
        "codec": codec,
        "strict": strict,
    }
    return _copied(source, url, copying, progress, options)


def rechunk(
    source: Path,
    url: Path,
    *,
    chunk_shape: Sequence[float] | None = None,
    bin_shape: Sequence[float] | None = None,
    shard_shape: Sequence[int] | None = None,
    codec: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Unpack[WriteOptions],
) -> dict[str, Any]:
    """Copies a store into chunks, bins or shards of another shape, and compares the two."""
    if chunk_shape is None and bin_shape is None and shard_shape is None and codec is None:
        raise _zvf.MisuseError("expected one of chunk_shape, bin_shape, shard_shape and codec, found none")
    copying = {
        "version": "0.9.2",
        "chunk_shape": chunk_shape,
        "bin_shape": bin_shape,
        "shard_shape": shard_shape,
        "codec": codec,
        "strict": strict,
    }
    return _copied(source, url, copying, progress, options)


def _copied(
    source: Path, url: Path, copying: dict[str, Any], progress: Progress | None, options: WriteOptions
) -> dict[str, Any]:
    how = writing(options)
    return document(_zvf.copy(address(source), address(url), copying, how, how["access"], progress))
