"""The options of jobs, made from their schema by a test of the crate `zvf-jobs`: `ZVF_BLESS=1 cargo test -p zvf-jobs --features volumes,plot python` writes this file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._options import JobOptions, Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from ._store import Box
    from ._write import Kind

Path: TypeAlias = str | os.PathLike[str]


class AppendOptions(JobOptions, total=False):
    """The options of the job `append`: Adds objects or points to a store, from files of any format that `zvf import` reads."""

    format: str | None
    """The format of the files, e.g. csv, ndjson, trk [default: by their endings]; needed where FILE is - (standard input)."""
    links: Path | None
    """Tables (.csv .tsv .ndjson .arrow .parquet): a second table with the links, a path or URL. Links name rows of the first table, counted from
    0, or values of its column `node_id`. Default: None."""
    delimiter: str | None
    """Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no comma; a tab in .tsv;
    the separator of the first line in .txt; blanks in .xyz]."""
    decimal: Literal[".", ","]
    """Tables of text: the decimal point of numbers, `.` or `,`. Default: "."."""
    columns_in: Sequence[str] | None
    """Tables of separated values: the names of the columns, of a file without a header line. Default: None."""
    na: Sequence[str] | None
    """Tables of text: the words for missing values, in every column; an empty field is always missing, and with `na` '' nothing else [default: NA,
    NaN and null, except in columns of texts]."""
    rename: Mapping[str, str]
    """Tables: another name for a column; all other options use the new one. Default: {}."""
    attribute_types: Mapping[str, str]
    """Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]."""
    node_id: str | None
    """Tables with links: the column of the vertex table by which links name vertices: whole numbers or texts without repeats [default: links name
    rows, from 0]."""
    links_by_row: bool
    """Tables with links: links name rows of the vertex table, counted from 0, even if it has a column id, node_id or index. Default: False."""
    link_columns: Sequence[str] | None
    """Tables with links: the columns of the links that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target; from, to;
    child, parent; a, b, c]."""
    object_column: str | None
    """Tables: the column with the object of a row, a whole number [default: object_id]."""
    position: Sequence[str] | None
    """Tables: the columns of a position, one for each axis [default: the names of the axes]."""
    new_ids: bool
    """Gives all objects new ids, counted from 0, or from the largest id of the store plus 1. Default: False."""
    id_offset: int | None
    """Adds N to the ids of one file, 2 N to those of the next, and so on. `import` and `merge` begin with the second file, `append` and --part
    with the first. Default: None."""
    id_from_file: bool
    """Each file is one object, by the only number in its name, such as 17 of sub-017.csv. Default: False."""
    unit: str | None
    """Units of the files, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=ms is the unit of an axis of time. Positions are converted to
    the units of the store [default: as the files state, else the map with which the store was made]."""
    affine: Path | None
    """Positions are mapped by the affine of FILE, a path or URL of an image (.nii, .nii.gz, .mgz) or of a text of 4x4 numbers; not for
    tractograms. Default: None."""
    scale: float | Sequence[float] | None
    """Positions are multiplied by S, before `affine`; one number for all axes of space; not for tractograms. Default: None."""
    space: Literal["rasmm", "voxelmm", "file"] | None
    """Tractograms: the frame in which positions are stored [default: the frame of the store]."""
    bbox: str | None
    """LAS and LAZ: only the points in this box, both ends included, in coordinates of the file: x,y,z of both corners, or ranges such as
    x=0:10,y=5:; only the chunks of a COPC file that meet it are read. Default: None."""
    resolution: float | None
    """COPC: only the points of the levels down to the first one with a spacing of at most R, in units of the file. Default: None."""
    fill: Mapping[str, str | float | bool]
    """Value of the attribute NAME for new vertices or objects without one in the files; repeatable. Default: {}."""


class ImportOptions(JobOptions, total=False):
    """The options of the job `import`: Makes a new store from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, LAS, LAZ, OBJ, PLY, STL, TRK, TCK or TRX."""

    kind: Kind | None
    """The geometry, e.g. point_cloud, polyline, streamline, graph, skeleton, mesh. Default: None."""
    position: Sequence[str] | None
    """Tables: the columns of a position, one for each axis [default: x,y and, if present, z]."""
    object_column: str | None
    """Tables: the column with the object of a row, a whole number [default: object_id, if present]."""
    new_ids: bool
    """Gives all objects new ids, counted from 0, or from the largest id of the store plus 1. Default: False."""
    id_offset: int | None
    """Adds N to the ids of one file, 2 N to those of the next, and so on. `import` and `merge` begin with the second file, `append` and `part`
    with the first. Default: None."""
    id_from_file: bool
    """Each file is one object, by the only number in its name, such as 17 of sub-017.csv. Default: False."""
    attributes: Sequence[str] | None
    """Tables: which of the other columns become attributes: all, none or names [default: all]."""
    exclude: Sequence[str]
    """Tables: columns that are ignored. Default: []."""
    nulls: Literal["keep", "error", "drop-row"] | int
    """Tables: the treatment of missing values: keep (whole numbers become float64 with NaN if float64 holds all of them, booleans become the texts
    true and false), error, drop-row, or a whole number that no row has. Missing floats become NaN, missing texts stay missing. Default: "keep"."""
    format: str | None
    """The format of the files, e.g. csv, parquet, arrow [default: by their endings]; needed where FILE is - (standard input)."""
    delimiter: str | None
    """Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no comma; a tab in .tsv;
    the separator of the first line in .txt; blanks in .xyz]."""
    decimal: Literal[".", ","]
    """Tables of text: the decimal point of numbers, `.` or `,`. Default: "."."""
    columns_in: Sequence[str] | None
    """Tables of separated values: the names of the columns, of a file without a header line. Default: None."""
    na: Sequence[str] | None
    """Tables of text: the words for missing values, in every column; an empty field is always missing, and with `na` '' nothing else [default: NA,
    NaN and null, except in columns of texts]."""
    rename: Mapping[str, str]
    """Tables: another name for a column; all other options use the new one. Default: {}."""
    attribute_types: Mapping[str, str]
    """Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]."""
    node_id: str | None
    """Tables with links: the column of the vertex table by which links name vertices: whole numbers or texts without repeats [default: links name
    rows, from 0]."""
    links_by_row: bool
    """Tables with links: links name rows of the vertex table, counted from 0, even if it has a column id, node_id or index. Default: False."""
    link_columns: Sequence[str] | None
    """Tables with links: the columns of the links that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target; from, to;
    child, parent; a, b, c]."""
    edges: Path | None
    """Tables: another table with edges, one row for each edge; path or URL. Default: None."""
    faces: Path | None
    """Tables: another table with faces, one row for each face of three or four corners; path or URL. Default: None."""
    unit: str | None
    """Unit of all axes of space, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=second is the unit of one axis, um,t=second both
    [default: as the format, the table or the image of `affine` states]."""
    crs: str | None
    """Coordinate reference system of the positions, e.g. EPSG:25832, or WKT [default: as LAS files state]."""
    axis_types: Mapping[str, str]
    """Types of axes: space, time or channel [default: time for t, time and frame, space for all others]."""
    space: Literal["rasmm", "voxelmm", "file"] | None
    """Tractograms: the frame in which positions are stored [default: rasmm]."""
    affine: Path | None
    """Positions are mapped by the affine of FILE, a path or URL of an image (.nii, .nii.gz, .mgz) or of a text of 4x4 numbers; not for
    tractograms. Default: None."""
    scale: float | Sequence[float] | None
    """Positions are multiplied by S, before `affine`; one number for all axes of space; not for tractograms. Default: None."""
    bbox: str | None
    """LAS and LAZ: only the points in this box, both ends included, in coordinates of the file: x,y,z of both corners, or ranges such as
    x=0:10,y=5:; only the chunks of a COPC file that meet it are read. Default: None."""
    resolution: float | None
    """COPC: only the points of the levels down to the first one with a spacing of at most R, in units of the file. Default: None."""
    chunk_shape: Sequence[float] | None
    """Size of a chunk on each axis [default: chosen from the data and printed]."""
    bin_shape: Sequence[float] | None
    """Size of a bin on each axis; the size of a chunk must be a multiple of it [default: chosen for points without objects]."""
    codec: str | Sequence[str | Mapping[str, Any]]
    """How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over
    shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON. Default: "auto"."""
    shard_shape: Sequence[int] | Literal["auto", "none"]
    """Chunks of a shard along each axis; auto: some hundred files if there are 2000 cells or more, and more files in stores of gigabytes; none:
    every chunk is a file of its own, so that an edit writes fewer bytes. Default: "auto"."""
    chunk_by: str | None
    """Also divides chunks by the value of a vertex attribute: booleans, whole numbers or texts. The value is part of the chunk keys; useful if
    queries ask for one of few values. Default: None."""
    version: Literal["0.9.2", "0.8.1"]
    """Version of the format. Default: "0.9.2"."""
    journal: Path | None
    """Keeps the data that was read in the journal FILE until the store is complete: after a crash, the same command resumes if the input files are
    the same. Default: None."""
    clear_leftovers: bool
    """Removes what an interrupted import left at STORE; a finished store or finished parts are never touched. Default: False."""
    begin: bool
    """Begins a store that several programs write: each writes a `part`, then one runs `commit`, all with the same options. The columns of FILE
    define the attributes of the store. Can be repeated. Default: False."""
    parts: Sequence[str] | None
    """With `begin`: the expected parts, as their number (20 is 0 to 19), names, or a file of names at a path or URL (@FILE), one a line. Other
    parts are refused, and so is `commit` while a part is missing. Default: None."""
    part: str | None
    """Writes the files as the part of that name; no other part may have the same chunks. Can be repeated after an interruption; a finished part is
    not written again. Default: None."""
    redo: bool
    """With `part`: replaces the part if it is already finished. Default: False."""
    commit: bool
    """Completes the store from its parts. Can be repeated after an interruption. Default: False."""
    allow_missing: bool
    """With `commit`: leaves out declared or begun parts that are not finished; the store lists them in its root, as `zvf_absent_parts`. If a part
    was begun again with `redo` and not finished, its earlier data is used. Default: False."""
    status: bool
    """Lists the parts of a store that was begun with `begin`: which are waiting, begun (by whom and when) or finished. STORE is the only path.
    Default: False."""
    discard_parts: bool
    """Removes all parts of a store that was begun with `begin`, also finished ones, and lists them. STORE is the only path. Default: False."""
    bounds: str | None
    """Lowest and highest corner of the positions of all parts. Default: None."""


class VacuumOptions(JobOptions, total=False):
    """The options of the job `vacuum`: Removes the rows of deleted objects, and files that no reader uses."""


class EditDeleteOptions(JobOptions, total=False):
    """The options of the job `edit-delete`: Deletes objects with their vertices and links (`zvf vacuum` drops their rows later), or points that
    belong to no object."""

    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Ids of objects, ranges such as 0-9, lists such as 0-9,12, or @FILE (a path or URL) of ids and ranges; put -- before an id that begins with a
    range of negative ids such as -9--5. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing: 0-1000000 then means all objects with ids in this range. Default: False."""
    where: str | None
    """Points that fulfil this condition, as in `zvf query `where``. Default: None."""
    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Points inside this box, both ends included: 0,0,0:9,9,9, or ranges of some axes such as x=0:10,y=5:. Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    select: Literal["objects"] | None
    """Stores with objects: deletes whole objects with at least one selected vertex. Default: None."""
    dry_run: bool
    """Prints what would be deleted, and changes nothing. Default: False."""


class EditAppendOptions(JobOptions, total=False):
    """The options of the job `edit-append`: Adds vertices: new objects, or more vertices of existing points, polylines and streamlines."""

    links: Path | None
    """A table of links, path or URL: a column for each end (a row of the table of vertices, counted from 0), then one for each link attribute.
    Default: None."""
    delimiter: str | None
    """Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no comma; a tab in .tsv;
    the separator of the first line in .txt; blanks in .xyz]."""
    decimal: Literal[".", ","]
    """Tables of text: the decimal point of numbers, `.` or `,`. Default: "."."""
    columns_in: Sequence[str] | None
    """Tables of separated values: the names of the columns, of a file without a header line. Default: None."""
    na: Sequence[str] | None
    """Tables of text: the words for missing values, in every column; an empty field is always missing, and with `na` '' nothing else [default: NA,
    NaN and null, except in columns of texts]."""
    rename: Mapping[str, str]
    """Tables: another name for a column; all other options use the new one. Default: {}."""
    attribute_types: Mapping[str, str]
    """Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]."""
    node_id: str | None
    """Tables with links: the column of the vertex table by which links name vertices: whole numbers or texts without repeats [default: links name
    rows, from 0]."""
    links_by_row: bool
    """Tables with links: links name rows of the vertex table, counted from 0, even if it has a column id, node_id or index. Default: False."""
    link_columns: Sequence[str] | None
    """Tables with links: the columns of the links that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target; from, to;
    child, parent; a, b, c]."""
    unit: str | None
    """Units of the files, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=ms is the unit of an axis of time. Positions are converted to
    the units of the store [default: as the files state, else the map with which the store was made]."""
    affine: Path | None
    """Positions are mapped by the affine of FILE, a path or URL of an image (.nii, .nii.gz, .mgz) or of a text of 4x4 numbers; not for
    tractograms. Default: None."""
    scale: float | Sequence[float] | None
    """Positions are multiplied by S, before `affine`; one number for all axes of space; not for tractograms. Default: None."""
    space: Literal["rasmm", "voxelmm", "file"] | None
    """Tractograms: the frame in which positions are stored [default: the frame of the store]."""
    fill: Mapping[str, str | float | bool]
    """Value of the attribute NAME for new vertices or objects without one in FILE; repeatable. Default: {}."""


class EditAddOwnersOptions(JobOptions, total=False):
    """The options of the job `edit-add-owners`: Stores the object of each fragment beside the fragments, so that a box query reads no manifests;
    new stores already have this."""


class EditMoveOptions(JobOptions, total=False):
    """The options of the job `edit-move`: Moves vertices to new positions."""

    delimiter: str | None
    """Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no comma; a tab in .tsv;
    the separator of the first line in .txt; blanks in .xyz]."""
    decimal: Literal[".", ","]
    """Tables of text: the decimal point of numbers, `.` or `,`. Default: "."."""
    columns_in: Sequence[str] | None
    """Tables of separated values: the names of the columns, of a file without a header line. Default: None."""
    na: Sequence[str] | None
    """Tables of text: the words for missing values, in every column; an empty field is always missing, and with `na` '' nothing else [default: NA,
    NaN and null, except in columns of texts]."""
    rename: Mapping[str, str]
    """Tables: another name for a column; all other options use the new one. Default: {}."""
    attribute_types: Mapping[str, str]
    """Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]."""
    key: Sequence[str]
    """Attributes that together identify a vertex (object, link); the table has columns with the same names. Default: []."""
    by_order: bool
    """One row for each vertex (object, link), in the order of `zvf query STORE` (`zvf objects`, `zvf links`). Default: False."""
    by_object_order: bool
    """One row for each vertex: object by object in the order of `zvf objects`, and along each object, as in files of values for a tractogram.
    Default: False."""
    ignore_missing: bool
    """Leaves out rows that are not in the store. Default: False."""


class EditSetAttributeOptions(JobOptions, total=False):
    """The options of the job `edit-set-attribute`: Replaces values of an attribute, or adds one."""

    expr: str | None
    """Computes the values in the arithmetic of conditions, e.g. `sqrt(vx * vx + vy * vy)`, `fa - object.mean_fa`, or `fa > 0.5`; with `object`
    from values of the object, such as `length() / count()`, with `link` from attributes of the link. Default: None."""
    delimiter: str | None
    """Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no comma; a tab in .tsv;
    the separator of the first line in .txt; blanks in .xyz]."""
    decimal: Literal[".", ","]
    """Tables of text: the decimal point of numbers, `.` or `,`. Default: "."."""
    columns_in: Sequence[str] | None
    """Tables of separated values: the names of the columns, of a file without a header line. Default: None."""
    na: Sequence[str] | None
    """Tables of text: the words for missing values, in every column; an empty field is always missing, and with `na` '' nothing else [default: NA,
    NaN and null, except in columns of texts]."""
    rename: Mapping[str, str]
    """Tables: another name for a column; all other options use the new one. Default: {}."""
    attribute_types: Mapping[str, str]
    """Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]."""
    key: Sequence[str]
    """Attributes that together identify a vertex (object, link); the table has columns with the same names. Default: []."""
    by_order: bool
    """One row for each vertex (object, link), in the order of `zvf query STORE` (`zvf objects`, `zvf links`). Default: False."""
    by_object_order: bool
    """One row for each vertex: object by object in the order of `zvf objects`, and along each object, as in files of values for a tractogram.
    Default: False."""
    ignore_missing: bool
    """Leaves out rows that are not in the store. Default: False."""
    object: bool
    """The attribute belongs to objects and not to vertices; a row names its object by `object_id`. Default: False."""
    link: bool
    """The attribute belongs to links and not to vertices; a row names its link by the ends. Default: False."""
    type: str | None
    """Adds the attribute, with this type: float32, int64, …, text, date, `datetime64[s]`, `timedelta64[ms]`, …. Default: None."""
    fill: str | float | bool | None
    """The value where the table has none; it is recorded, and later used for appended vertices, links and objects without a value. Default: None."""
    new_objects: bool
    """With `object`: creates objects that the store does not have, without vertices. Default: False."""


class EditGroupAddOptions(JobOptions, total=False):
    """The options of the job `edit-group-add`: Adds objects to a group, which is created if it does not exist."""

    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Ids of objects, ranges such as 3-9, @FILE, or names of objects; none makes an empty group. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""


class EditGroupRemoveOptions(JobOptions, total=False):
    """The options of the job `edit-group-remove`: Removes objects from a group."""

    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""


class EditGroupRenameOptions(JobOptions, total=False):
    """The options of the job `edit-group-rename`: Gives a group another name."""


class EditGroupDeleteOptions(JobOptions, total=False):
    """The options of the job `edit-group-delete`: Deletes a group, but not its objects; the numbers of later groups decrease by 1."""


class EditResumeOptions(JobOptions, total=False):
    """The options of the job `edit-resume`: Finishes an interrupted edit, or reverts it if it was not committed; the program that began it must
    have ended."""


class ValidateOptions(Options, total=False):
    """The options of the job `validate`: Checks a store for errors: structure, documents, cells, meaning, levels."""

    depth: int
    """The deepest level of checks. Default: 3."""
    quick: int | None
    """Reads a sample: CELLS chunks of each level, and CELLS cells of each array of links; reports what it left out. Default: None."""
    seed: int
    """Which cells `quick` reads. Default: 0."""
    levels: Sequence[int] | None
    """Reads the cells of these levels only. Default: None."""
    arrays: Sequence[str] | None
    """Reads the cells of these arrays only, given by their path below the level, or a prefix of it. Default: None."""
    coverage: bool
    """Checks that every vertex has a parent if there are links to a coarser level. Default: False."""
    profile: Literal["viewer"] | None
    """Further checks for one use of the store, from its documents. Default: None."""
    most: int
    """At most this many findings of each check are shown; all are counted. Default: 20."""
    resume: Path | None
    """Records the progress in FILE: after an interruption, the same command reads only the remaining cells. FILE is removed at the end, and
    started again if an option or a document of the store changed. Default: None."""


class PyramidOptions(JobOptions, total=False):
    """The options of the job `pyramid`: Adds coarse levels: thinned points, simplified lines, contracted graphs, decimated meshes."""

    factors: Sequence[float]
    """Factor by which bins grow from level to level, one number for each new level [default: levels that fit the data]."""
    add: bool
    """Adds further levels above the existing ones, by their method and with their links between levels. Default: False."""
    replace: bool
    """Replaces the existing coarse levels by new ones, in one change. Default: False."""
    refresh: bool
    """Rebuilds existing levels with the options they were made with, if edits left them out of date. Default: False."""
    remove: bool
    """Removes all coarse levels, and the links between levels. Default: False."""
    bin_shape: Sequence[float] | None
    """Bins of level 0, for a store that declares none: sizes that divide the chunk [default: sizes that fit the data; the whole chunk for the
    reference method]."""
    sparsity: Sequence[float]
    """Keeps one of G objects from level to level, drawn at random [default: 1, all objects]."""
    method: Literal["density", "reference"] | None
    """How levels are made [default: density]."""
    seed: int
    """Seed of the random choice: the same seed keeps the same objects. Default: 0."""
    until: int | None
    """Adds levels with the last factor until one has at most N vertices, or no fewer than the one before it; without `factors`: about how many
    vertices the last level has [default: 10000 without `factors`]."""
    chunk_scale: Sequence[int | Sequence[int]]
    """Growth of chunks from level to level: a number, or one for each axis as in 2x2x1 [default: so that they have about as many vertices as
    chunks of level 0; 1 for the reference method]."""
    cross_links: Literal["none", "implicit", "explicit"] | None
    """Links between every vertex and its representative: none, implicit (from the vertex only) or explicit (in both directions) [default: explicit
    for the reference method, none else]."""
    cross_depth: int
    """How many levels these links span; -1: all. Default: 1."""
    clear_leftovers: bool
    """Removes the files of an interrupted run, or finishes the run if it was committed. Default: False."""


class RechunkOptions(JobOptions, total=False):
    """The options of the job `rechunk`: Copies a store into chunks, bins or shards of another shape, and compares the two."""

    chunk_shape: Sequence[float] | None
    """Size of a chunk of level 0 on each axis. Chunks of coarse levels keep their ratio to it; on each level, a chunk must consist of whole bins.
    Default: None."""
    bin_shape: Sequence[float] | None
    """Size of a bin of level 0 on each axis; the size of a chunk must be a multiple of it. Default: None."""
    codec: str | Sequence[str | Mapping[str, Any]] | None
    """How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over
    shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON [default: the codec of SRC if this program can write it, else auto;
    auto if the codecs of SRC were chosen by auto]."""
    shard_shape: Sequence[int] | Literal["auto", "none"] | None
    """Chunks of a shard along each axis; `auto`: levels with many chunks are stored in as few files as edits allow; `none`: every chunk is a file
    of its own [default: as in SRC]."""
    strict: bool
    """Fails if anything cannot be carried over, instead of listing it. Default: False."""
    journal: Path | None
    """Records the progress in FILE until DST is complete: the same command continues after an interruption. Default: None."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at DST; a finished store is never touched. Default: False."""


class MigrateOptions(JobOptions, total=False):
    """The options of the job `migrate`: Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two."""

    version: Literal["0.9.2", "0.8.1"]
    """Version of the new store. Default: "0.9.2"."""
    codec: str | Sequence[str | Mapping[str, Any]] | None
    """How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over
    shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON [default: the codec of SRC if this program can write it, else auto;
    auto if the codecs of SRC were chosen by auto]."""
    shard_shape: Sequence[int] | Literal["auto", "none"] | None
    """Chunks of a shard along each axis; `auto`: levels with many chunks are stored in as few files as edits allow; `none`: every chunk is a file
    of its own [default: as in SRC]."""
    strict: bool
    """Fails if anything cannot be carried over, instead of listing it. Default: False."""
    journal: Path | None
    """Records the progress in FILE until DST is complete: the same command continues after an interruption. Default: None."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at DST; a finished store is never touched. Default: False."""


class CopyOptions(JobOptions, total=False):
    """The options of the job `copy`: Copies a store byte for byte, from any place to any other one."""

    read_back: bool
    """Reads every file of the copy back, and compares its checksum with that of SRC. Default: False."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at DST, instead of continuing or refusing; a finished store is never touched. Default: False."""


class MergeOptions(JobOptions, total=False):
    """The options of the job `merge`: Makes one new store of several of the same kind."""

    new_ids: bool
    """Gives all objects new ids, counted from 0, or from the largest id of the store plus 1. Default: False."""
    id_offset: int | None
    """Adds N to the ids of one file, 2 N to those of the next, and so on. `import` and `merge` begin with the second file, `append` and --part
    with the first. Default: None."""
    id_from_file: bool
    """Each file is one object, by the only number in its name, such as 17 of sub-017.csv. Default: False."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at OUT; a finished store is never touched. Default: False."""


class ResampleOptions(JobOptions, total=False):
    """The options of the job `resample`: Makes a new store with other points along the same lines: a fixed number for each line, or points at a
    fixed distance."""

    points: int | None
    """Points of each line, 2 or more. Default: None."""
    step: float | None
    """Arc length from each point to the next, in the units of the axes. Default: None."""
    journal: Path | None
    """Records the progress in FILE until DST is complete: the same command continues after an interruption. Default: None."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at DST; a finished store is never touched. Default: False."""


class SimplifyOptions(JobOptions, total=False):
    """The options of the job `simplify`: Makes a new store of lines or skeletons with fewer vertices, within a tolerance of the old lines."""

    journal: Path | None
    """Records the progress in FILE until DST is complete: the same command continues after an interruption. Default: None."""
    clear_leftovers: bool
    """Removes what an interrupted writer left at DST; a finished store is never touched. Default: False."""


class RepairOptions(Options, total=False):
    """The options of the job `repair`: Corrects the documents of a store that follow from its cells."""

    apply: bool
    """Makes the changes, and validates the store again. Default: False."""
    only: Sequence[str] | None
    """Repairs findings of these checks only, by code or name. Default: None."""
    depth: int
    """The deepest level of checks. Default: 5."""
    accept_loss: bool
    """Removes lost cells from their lists even if other arrays name their chunks, and lowers counts to the data that exists: the lost data is
    given up and reads as missing. Default: False."""
    backup: str | None
    """Folder for copies of the old documents [default: beside the store]."""
    undo: str | None
    """Restores the old documents from this folder. Default: None."""
    force: bool
    """Restores documents also if they changed after the repair. Default: False."""


class CreateOptions(JobOptions, total=False):
    """The options of the job `create`: Makes a new store without any vertex."""

    bin_shape: Sequence[float] | None
    """Size of a bin on each axis; the size of a chunk must be a multiple of it. Default: None."""
    axes: Sequence[str] | None
    """Names of the axes; t, time and frame are of type time [default: x,y,z,w, as many as the chunk has]."""
    unit: str | None
    """Unit of all axes of space, e.g. micrometer, um, nm; t=second sets the unit of one axis. Default: None."""
    dtype: str
    """Number type of positions. Default: "float32"."""
    with_objects: bool
    """Points: each may belong to an object (all other kinds have objects anyway). Default: False."""
    attributes: Sequence[str]
    """An attribute of vertices; may be given several times. Default: []."""
    object_attributes: Sequence[str]
    """An attribute of objects; may be given several times. Default: []."""
    link_width: int | None
    """Ends of a link: 3 for triangles, 4 for quads. Default: None."""
    codec: str | Sequence[str | Mapping[str, Any]]
    """How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over
    shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON. Default: "auto"."""
    shard_shape: Sequence[int] | Literal["auto", "none"] | None
    """Chunks of a shard along each axis; none: every chunk is a file of its own [default: none]."""
    version: Literal["0.9.2", "0.8.1"]
    """Version of the format. Default: "0.9.2"."""
    clear_leftovers: bool
    """Removes what an interrupted command left at STORE; a finished store is never touched. Default: False."""


class DoctorOptions(Options, total=False):
    """The options of the job `doctor`: Measures what would make a store smaller or faster, and names the commands for it."""


class SampleOptions(JobOptions, total=False):
    """The options of the job `sample`: Samples a dense volume at every vertex and stores the values as a vertex attribute."""

    affine: ArrayLike | Path | None
    """Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image. Default: None."""
    keep_frame: bool
    """Uses positions of a tractogram as they are stored, in any frame. Default: False."""
    order: Literal["nearest", "linear"] | None
    """How values between elements are computed [default: linear for floats, nearest for integers, which may be labels]."""
    outside: float | str | None
    """Value of vertices outside of the volume [default: NaN, or 0 for integers]."""
    index: Mapping[str | int, int] | None
    """Index along an axis that is not in space, such as a channel or a time; the axis by its name or number. Default: {}."""
    replace: bool
    """Replaces an attribute of that name. Default: False."""


class GroupOptions(JobOptions, total=False):
    """The options of the job `group`: Adds objects to a group, or groups lines by the labels of a volume at their ends."""

    add: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Ids of objects, ranges such as 3-9, @FILE, or names of objects. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    ends: str | None
    """File, folder or URL of a volume of labels; #NAME or #@N selects one of several datasets or levels. Default: None."""
    affine: str | None
    """Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image. Default: None."""
    mean: Sequence[str]
    """Adds the mean of these vertex attributes to the table. Default: []."""
    matrix: Path | None
    """Writes counts, lengths and means of each pair of labels, by the ending: .csv, .ndjson, .arrow or .parquet. Default: None."""
    replace: bool
    """Deletes existing groups NAME/.. first. Default: False."""


class VolumeInfoOptions(Options, total=False):
    """The options of the job `volume-info`: Shows the contents of a file or image: datasets, types, shapes, chunks, blocks, codecs, filters, axes."""


class VolumeSliceOptions(Options, total=False):
    """The options of the job `volume-slice`: Reads a box, with strides, into a NumPy file or as bare elements."""

    range: str
    """The range to read. Default: ""."""


class VolumeConvertOptions(Options, total=False):
    """The options of the job `volume-convert`: Writes a volume in another form: .tet, .b2nd or .zarr, by the ending of OUT."""

    chunk_shape: Sequence[int] | None
    """Extents of a tile or chunk. Default: None."""
    block_shape: Sequence[int] | None
    """Extents of a block, only for .b2nd. Default: None."""
    name: str | None
    """Name of the dataset, only for .tet. Default: None."""
    raw: bool
    """Does not compress. Default: False."""
    overwrite: bool
    """Replaces an existing file at OUT; if OUT ends in .zarr, also an existing folder. Default: False."""


class PlotOptions(Options, total=False):
    """The options of the job `plot`: Draws one or several stores as a picture: PNG or SVG."""

    format: Literal["png", "svg"] | None
    """Format of the picture, if the name of the output does not state it [default: png]."""
    bbox: Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: ArrayLike | range | str | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    select: Literal["vertices", "objects", "chunks"] | None
    """What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects for lines, polylines and
    streamlines, else vertices]."""
    level: str | int
    """Resolution level, 0 is the finest; auto: chosen by `vertices`. Default: "auto"."""
    vertices: int
    """`level` auto draws the finest level with at most N selected vertices, else the coarsest; on any level, more than N vertices with stored
    links are an error. Default: 10000000."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    color: Sequence[str]
    """What the colours show. Default: []."""
    colormap: str | None
    """Colours of numbers: viridis, magma, inferno, plasma, turbo, cividis, greys, blues, reds, rdbu, spectral or rainbow [default: viridis, for
    densities magma]."""
    range: Sequence[float] | str | None
    """The numbers at the ends of the colours [default: the smallest and the largest one drawn]."""
    view: str
    """Axes to the right and up, iso, or azimuth and elevation. Default: "xy"."""
    up: str | None
    """The axis that points up in iso and AZ,EL: x, y or z, with a minus sign if it points down [default: z]."""
    perspective: float | None
    """Draws near things larger; DEGREES is the angle of view, 30 unless given. Default: None."""
    center: Sequence[float] | None
    """The position in the middle of the picture; needs `units_per_pixel`. Default: None."""
    units_per_pixel: float | None
    """Width of a pixel at `center`, in units of the first store. Default: None."""
    size: Sequence[int] | str
    """Width and height in pixels. Default: "1200,900"."""
    background: str
    """The background: a colour, or transparent. Default: "black"."""
    point_size: float | None
    """Diameter of points in pixels [default: from 1 to 5, by their number]."""
    line_width: float | None
    """Width of lines in pixels [default: 1; for skeletons the attribute radius, in units of the store]."""
    radius: str | None
    """The vertex attribute that is the radius of lines, in units of the store. Default: None."""
    fading: float
    """How much the farthest things fade into the background, from 0 to 1. Default: 0.35."""
    bare: bool
    """The data alone, without axes, scale bar, colour bars and names. Default: False."""


class StatsOptions(Options, total=False):
    """The options of the job `stats`: Shows ranges, means, quantiles, counts and histograms of axes and attributes."""

    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    select: Literal["vertices", "objects", "chunks"] | None
    """Which rows count: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices]."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    columns: Sequence[str] | None
    """Axes and attributes, `NAME[1]` for one channel [default: all]; object.NAME is an attribute of objects, count() the number of vertices of an
    object."""
    by: Literal["object", "group"] | None
    """Statistics of each `object` or `group`. Default: None."""
    bins: int | None
    """Shows histograms of at most N bins, at least 4; 0: none [default with --json: 32]."""
    quantiles: Sequence[float] | None
    """Probabilities of the quantiles [default: 0.05,0.25,0.5,0.75,0.95]."""
    output: Path | None
    """Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet. Default: None."""


class MeasureOptions(Options, total=False):
    """The options of the job `measure`: Measures whole objects: length, branches, surface, volume, bounds, means of attributes."""

    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    mean: Sequence[str]
    """Adds the mean of these vertex attributes. Default: []."""
    attributes: Sequence[str]
    """Writes these measures as attributes of the objects, each under its own name or under the name ATTRIBUTE. Default: []."""
    limit: int | None
    """At most this many objects. Default: None."""
    output: Path | None
    """Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet. Default: None."""


class InfoOptions(Options, total=False):
    """The options of the job `info`: Shows the contents of a store: version, kind, axes, bounds, levels, arrays, codecs and layout."""

    count: bool
    """Counts vertices in the data instead of trusting the metadata. Default: False."""
    sizes: bool
    """Files and bytes of each level, and codec and ratio of each array; lists all files of the store. Default: False."""
    history: bool
    """The jobs that made and changed the store, oldest first, as far as zvf recorded them; of more than 100 jobs, the first and the newest.
    Default: False."""


class ObjectsOptions(Options, total=False):
    """The options of the job `objects`: Lists the objects of a level with their sizes and attributes."""

    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    where: str | None
    """A condition on objects, e.g. `count() > 100 and kind == 'axon'`; `zvf query --help` has all forms. Default: None."""
    sort: Sequence[str]
    """Sorts by these columns, ascending, or descending after a minus sign: `sort`=-vertices,name. Missing values come last; objects with equal
    values are ordered by id [default: the order of the store]."""
    limit: int | None
    """At most this many objects. Default: None."""
    output: Path | None
    """Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet. Default: None."""


class DiffOptions(Options, total=False):
    """The options of the job `diff`: Compares the contents of two stores: documents, vertices, objects, links and groups."""

    limit: int
    """Differences to print. Default: 10."""


class ExportOptions(Options, total=False):
    """The options of the job `export`: Writes a selection of a store as a file of another format, by its ending."""

    bbox: Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: ArrayLike | range | str | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    select: Literal["vertices", "objects", "chunks"] | None
    """What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects for lines, polylines and
    streamlines, else vertices]."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    split: str | None
    """Only piece I of the N pieces of the selection, I from 0: cut by object if the file has whole objects, else by chunk; with the @TAG that `zvf
    splits` lists, a store that was edited since is refused. Default: None."""
    limit: int | None
    """The first N vertices; whole objects are written only as long as they fit. Default: None."""
    attributes: str | int | Sequence[Any] | Mapping[str, Any]
    """Attributes of vertices to write: all, none, or names. Default: "all"."""
    keep_frame: bool
    """.trk, .tck, .trx: writes positions as they are stored, in any frame. Default: False."""
    edges: Path | None
    """Tables: another table for the edges of a graph or skeleton. Default: None."""
    faces: bool | Path | None
    """Tables: another table for the faces of a mesh. Default: None."""
    format: Literal["precomputed"] | None
    """Writes the views of the whole store for Neuroglancer instead, as files in the folder FILE. Default: None."""
    shards: Literal["auto", "none"] | int
    """With `format`: whether the objects of a view are combined into shards, a few large files. auto: shards if there would be more than 10000
    files; none: a file for each object; BITS: 2 to the power of BITS shards, BITS at most 20. Legacy meshes have no shards. Default: "auto"."""


class QueryOptions(Options, total=False):
    """The options of the job `query`: Selects vertices, links and objects by box, object, group or attribute."""

    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    select: Literal["vertices", "objects", "chunks"] | None
    """What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices; objects in files of
    lines, polylines and streamlines]."""
    split: str | None
    """Only piece I of the N pieces that `zvf splits --count N` lists, I from 0; with the @TAG that it lists, a store that was edited since is
    refused, so that all pieces are of one state. Default: None."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    limit: int | None
    """The first N vertices; `zvf query `select` objects` keeps whole objects while they fit. Default: None."""
    attributes: str | int | Sequence[Any] | Mapping[str, Any]
    """Attributes to read: all, none, or names (which also work if the storage cannot list). Default: "all"."""
    columns: Sequence[str]
    """Columns of the vertex table: position, chunk, row, fragment, object_id, object_ids, names of attributes or axes (x,y,z: a column each),
    geometry (points in well-known binary). Default: []."""
    output: Path | None
    """Where the result goes: a file of the format of its ending, or a directory if the name has no ending or ends with a slash. Default: None."""
    format: Literal["csv", "ndjson", "arrow", "npy", "parquet"] | None
    """Format of the vertex table, on stdout unless -o is given. Default: None."""


class HeadOptions(Options, total=False):
    """The options of the job `head`: Shows the first rows of a store or a selection."""

    rows: int
    """Number of rows. Default: 10."""
    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    columns: Sequence[str]
    """Columns: position, chunk, row, fragment, object_id, object_ids or attribute names. Default: []."""


class TailOptions(Options, total=False):
    """The options of the job `tail`: Shows the last rows of a store or a selection."""

    rows: int
    """Number of rows. Default: 10."""
    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    columns: Sequence[str]
    """Columns: position, chunk, row, fragment, object_id, object_ids or attribute names. Default: []."""


class SampleRowsOptions(Options, total=False):
    """The options of the job `sample-rows`: Draws rows of a store or a selection at random."""

    rows: int
    """Number of rows. Default: 10."""
    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    columns: Sequence[str]
    """Columns: position, chunk, row, fragment, object_id, object_ids or attribute names. Default: []."""
    seed: int
    """Number that decides which rows are drawn. Default: 0."""
    output: Path | None
    """Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet. Default: None."""


class LinksOptions(Options, total=False):
    """The options of the job `links`: Lists the stored records of a link family, endpoint by endpoint."""

    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    delta: str | int
    """Levels that the links span: 0 inside the level, +1 to the next coarser, -1 to the next finer. Default: "0"."""
    limit: int | None
    """At most this many records. Default: None."""
    output: Path | None
    """Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet. Default: None."""


class SplitOptions(JobOptions, total=False):
    """The options of the job `split`: Splits a store into stores or files: one for each group, attribute value or region, or parts of equal size."""

    named: Mapping[str, str]
    """With `by` region: the name and the region of a part, in the form of `region`, e.g. left='box(x=:0)'; repeatable, and parts may overlap.
    Default: {}."""
    format: str | None
    """Files of this format instead of stores, by its ending, e.g. swc, trk, csv. Default: None."""
    bbox: Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: ArrayLike | range | str | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    clear_leftovers: bool
    """Removes what an interrupted writer left of a part; a finished store is never touched. Default: False."""


class SplitsOptions(Options, total=False):
    """The options of the job `splits`: Cuts a query into pieces for several programs, each vertex in exactly one of them."""

    bbox: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:.
    Default: None."""
    sphere: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices at most R from a point: its coordinates in axis order, then R. Default: None."""
    near: str | None
    """Vertices at most DISTANCE from the plane where the coordinate of AXIS is V. Default: None."""
    polygon: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either. Default: None."""
    plane: str | None
    """The axes of `polygon`, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]."""
    mesh: Path | None
    """Vertices inside of the closed mesh of a file: .obj, .ply or .stl. Default: None."""
    hull: bool
    """With `mesh`: its convex hull, also of a mesh that is not closed. Default: False."""
    mask: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of `labels`. Any volume that `zvf sample` reads; #NAME or #@N
    selects one of several datasets or levels. Default: None."""
    labels: str | int | Sequence[Any] | Mapping[str, Any] | None
    """With `mask`: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur
    [default: all but 0]."""
    mask_affine: str | None
    """With `mask`: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image [default: as
    the volume states]."""
    region: str | None
    """Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms. Default: None."""
    passing: Sequence[str]
    """Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold.
    Default: []."""
    touching: bool
    """Whole objects with at least one vertex inside. Default: False."""
    inside: bool
    """Whole objects with every vertex inside. Default: False."""
    starting: bool
    """Whole objects with their first vertex inside. Default: False."""
    ending: bool
    """Whole objects with their last vertex inside. Default: False."""
    objects: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks,
    commas or line breaks. Default: None."""
    groups: str | int | Sequence[Any] | Mapping[str, Any] | None
    """Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one. Default: None."""
    where: str | None
    """A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms. Default: None."""
    ignore_missing: bool
    """Leaves out ids that the store does not have, instead of failing. Default: False."""
    select: Literal["vertices", "objects", "chunks"] | None
    """What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices]."""
    level: int
    """Resolution level; 0 is the finest. Default: 0."""
    own_level_only: bool
    """Reads only the own content of an additive level, without the coarser levels that complete it. Default: False."""
    attributes: str | int | Sequence[Any] | Mapping[str, Any]
    """Attributes to read: all, none, or names. Default: "all"."""
    count: int | None
    """Number of pieces. Default: None."""
    rows: int | None
    """Pieces with about this many rows. Default: None."""
    bytes: int | None
    """Pieces with about this many decoded bytes [default: 64 MiB]."""
