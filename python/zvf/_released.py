"""Reads stores for the functions of `_accelerated`, from the arguments of the released package `zarr-vectors`.

Raises `NotServedError` for calls that are left to the released package. These include answers without rows, whose number types and members in the
released package depend on the step that removed the rows.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _arrays
from ._accelerate import NotServedError
from ._store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._arrays import Array

    Chunks = Sequence[tuple[int, ...]] | None

KINDS = ("point_cloud", "line", "polyline", "streamline", "graph", "skeleton", "mesh")

COLUMNS = frozenset(("position", "object_id", "object_ids", "chunk", "row", "fragment", "vertices", "start", "length"))
"""Names of columns that are not attributes; an attribute with one of these names cannot be told apart from the column."""


def opened(source: Any, backend: str | None, kinds: Sequence[str]) -> Store:
    """Opens the store that an argument of the released package names: a path, or a handle of a root on the local disk."""
    import os

    if backend not in (None, "local") or (backend is None and os.environ.get("ZARR_VECTORS_BACKEND", "local") != "local"):
        raise NotServedError("another backend")
    if isinstance(source, str) and "://" in source:
        raise NotServedError("a URL")
    path = source if isinstance(source, (str, Path)) else folder_of(source)
    store = Store(path)
    if store.kind not in kinds:
        raise NotServedError("a store of another kind")
    return store


def folder_of(source: Any) -> Path:
    """The folder of a group handle of the released package, if the handle has no cells in memory."""
    group = getattr(source, "_zarr", None)
    held_by = source if group is None else group.store
    if group is None or type(held_by) is not import_module("zarr.storage").LocalStore:
        raise NotServedError(f"no folder: a {type(held_by).__name__}")
    for held in ("_pending_writes", "_prefetch_cache", "_offline"):
        if getattr(source, held, None) is not None:
            raise NotServedError("a handle with cells in memory")
    folder: Path = group.store.root / group.path
    return folder


class Rows(NamedTuple):
    """Rows of an answer, and the first row of each object if whole objects were requested."""

    columns: dict[str, Array]
    links: Array | None
    ids: list[int]
    starts: Array


def read(store: Store, terms: dict[str, Any], *, links: bool = False, objects: bool = False, tiled: bool = False) -> Rows:
    """The rows of a query. With `tiled`, only if the fragments of each chunk hold its rows in stored order, each once, because the released package
    concatenates fragments."""
    if tiled:
        checked = ["fragment"] if claims_tiles(store, terms["level"]) else ["fragment", "chunk"]
        terms = {**terms, "columns": [*terms["columns"], *(name for name in checked if name not in terms["columns"])]}
    answer = store.query(**terms)._start((True, links, objects))
    vertices, ends, owners = answer.collect()
    if vertices is None or vertices.num_rows == 0:
        raise NotServedError("no rows")
    columns = _arrays.to_numpy(vertices)
    if tiled:
        check_fragments(columns)
    for name, values in columns.items():
        if values.dtype.kind not in "biuf" or isinstance(values, np.ma.MaskedArray):
            raise NotServedError("values that are texts, lists or missing" if name not in COLUMNS else "rows of no object")
    ids: list[int] = []
    starts = np.zeros(1, dtype=np.int64)
    if objects and owners is not None:
        table = _arrays.to_numpy(owners, ["object_id", "start", "length"])
        ids = table["object_id"].tolist()
        starts = np.append(table["start"], len(columns["position"])).astype(np.int64)
    return Rows(columns, None if ends is None else _arrays.to_numpy(ends, ["vertices"])["vertices"].astype(np.int64), ids, starts)


def member(folder: Path, document: str, name: str) -> Any:
    """A member of the document of a root or of a level."""
    from json import loads

    return loads((folder / "zarr.json").read_text())["attributes"].get(document, {}).get(name)


def claims_tiles(store: Store, level: int) -> bool:
    """Whether the document of a level states that fragments tile their chunks."""
    return member(Path(store.url) / str(level), "zarr_vectors_level", "fragments_tile") is True


def check_fragments(columns: dict[str, Array]) -> None:
    fragments = columns["fragment"]
    if isinstance(fragments, np.ma.MaskedArray):
        raise NotServedError("rows outside of fragments")
    if "chunk" in columns:
        falls = fragments[1:] < fragments[:-1]
        if (falls & (columns["chunk"][1:] == columns["chunk"][:-1]).all(axis=1)).any():
            raise NotServedError("fragments in another order than their rows")


def attribute_columns(names: Sequence[str] | None) -> list[str]:
    """The columns of the named attributes; for None, of all attributes."""
    if names is None:
        return ["attributes"]
    if COLUMNS.intersection(names):
        raise NotServedError("an attribute with the name of a column")
    return list(names)


def without(columns: dict[str, Array]) -> dict[str, Array]:
    return {name: values for name, values in columns.items() if name not in COLUMNS}


def level_of(store: Store, level: int) -> Any:
    for one in store.levels:
        if one.number == level:
            return one
    raise NotServedError("no such level")


def corners(bbox: Any) -> tuple[Array, Array]:
    low, high = (np.asarray(corner, dtype=np.float64) for corner in bbox)
    if low.ndim != 1 or low.shape != high.shape or np.isnan(low).any() or np.isnan(high).any():
        raise NotServedError("an invalid box")
    return low, high


def inside_of(places: Array, bbox: Any) -> Any:
    low, high = corners(bbox)
    found: Any = ((places >= low) & (places <= high)).all(axis=-1)
    return found


def around(store: Store, level: int, low: Array, high: Array) -> tuple[Array, Array]:
    """A box around all vertices of the chunks from `low` to `high`, inclusive. It is a little larger, because positions are rounded when vertices
    are assigned to chunks."""
    if member(Path(store.url), "zarr_vectors", "coordinate_offset"):
        raise NotServedError("a store with an offset of positions")
    size = np.asarray(level_of(store, level).chunk_shape, dtype=np.float64)
    if size.shape != low.shape:
        raise NotServedError("chunks of another grid")
    return (low - 1e-3) * size, (high + 1 + 1e-3) * size


def chunk_terms(store: Store, level: int, chunks: Chunks, bbox: Any) -> dict[str, Any]:
    """The terms of a query for the rows of some chunks, of a box, or of both."""
    box = None if bbox is None else corners(bbox)
    if chunks is not None:
        wanted = np.asarray([tuple(chunk) for chunk in chunks])
        if wanted.ndim != 2 or wanted.dtype.kind not in "iu":
            raise NotServedError("no chunks")
        held = around(store, level, wanted.min(axis=0), wanted.max(axis=0))
        box = held if box is None else (np.maximum(box[0], held[0]), np.minimum(box[1], held[1]))
        if (box[0] > box[1]).any():
            raise NotServedError("no rows")
    return {} if box is None else {"bbox": box}


def among(keys: Array, chunks: Sequence[tuple[int, ...]]) -> Array:
    """For each row of keys, whether it is one of some chunks."""
    found, place = np.unique(keys, axis=0, return_inverse=True)
    wanted = {tuple(int(part) for part in chunk) for chunk in chunks}
    kept: Any = np.array([tuple(key) in wanted for key in found.tolist()], dtype=bool)
    rows: Array = kept[place.reshape(-1)]
    return rows


def members_of(
    store: Store, level: int, groups: Sequence[int] | None, ids: Sequence[int] | None
) -> Sequence[int] | None:
    """The ids of the members of some groups, reduced to the requested ids."""
    if groups is None:
        return ids
    query = store.query(level=level, groups=[int(group) for group in groups], columns=["object_id"])
    members = set(query.objects.read()["object_id"].tolist())
    return sorted(members if ids is None else members.intersection(int(one) for one in ids))


def own_arrays(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with writable arrays, as in the released package."""
    for name, value in answer.items():
        if isinstance(value, dict):
            own_arrays(value)
        elif isinstance(value, np.ndarray) and not value.flags.writeable:
            answer[name] = value.copy()
    return answer
