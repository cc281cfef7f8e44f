"""What `zvf.accelerate` puts in the place of functions of the released package: their arguments, and their answers.

A function raises `NotServedError` for what it leaves to the released package. That includes answers without rows, whose number types
and missing members there depend on where the rows were lost.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _arrays, _jobs
from ._accelerate import NotServedError
from ._store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._arrays import Array

    Chunks = Sequence[tuple[int, ...]] | None

KINDS = ("point_cloud", "line", "polyline", "streamline", "graph", "skeleton", "mesh")

COLUMNS = frozenset(("position", "object_id", "object_ids", "chunk", "row", "fragment", "vertices", "start", "length"))
"""Columns that an attribute of the same name would be confused with."""


def _opened(source: Any, backend: str | None, kinds: Sequence[str]) -> Store:
    """The store behind what the released package takes: a path, or a handle of a root on this machine's disk."""
    import os

    if backend not in (None, "local") or (backend is None and os.environ.get("ZARR_VECTORS_BACKEND", "local") != "local"):
        raise NotServedError("another backend")
    if isinstance(source, str) and "://" in source:
        raise NotServedError("a URL")
    path = source if isinstance(source, (str, Path)) else _folder(source)
    store = Store(path)
    if store.kind not in kinds:
        raise NotServedError("a store of another kind")
    return store


def _folder(source: Any) -> Path:
    """The folder of a group of the released package that has nothing of its own in memory."""
    group = getattr(source, "_zarr", None)
    if group is None or type(group.store) is not import_module("zarr.storage").LocalStore:
        raise NotServedError("a store that is not a folder")
    for held in ("_pending_writes", "_prefetch_cache", "_offline"):
        if getattr(source, held, None) is not None:
            raise NotServedError("a handle with cells in memory")
    folder: Path = group.store.root / group.path
    return folder


class _Rows(NamedTuple):
    """Rows of an answer, and where objects start where whole objects were asked for."""

    columns: dict[str, Array]
    links: Array | None
    ids: list[int]
    starts: Array


def _read(store: Store, terms: dict[str, Any], *, links: bool = False, objects: bool = False, tiled: bool = False) -> _Rows:
    """The rows of a query. With `tiled` only where the fragments of a chunk hold its rows in their order, each once: the released package
    puts one fragment behind another."""
    if tiled:
        checked = ["fragment"] if _claims_tiles(store, terms["level"]) else ["fragment", "chunk"]
        terms = {**terms, "columns": [*terms["columns"], *(name for name in checked if name not in terms["columns"])]}
    answer = store.query(**terms)._start((True, links, objects))
    vertices, ends, owners = answer.collect()
    if vertices is None or vertices.num_rows == 0:
        raise NotServedError("no rows")
    columns = _arrays.to_numpy(vertices)
    if tiled:
        _check_fragments(columns)
    for name, values in columns.items():
        if values.dtype.kind not in "biuf" or isinstance(values, np.ma.MaskedArray):
            raise NotServedError("values that are texts, lists or missing" if name not in COLUMNS else "rows of no object")
    ids: list[int] = []
    starts = np.zeros(1, dtype=np.int64)
    if objects and owners is not None:
        table = _arrays.to_numpy(owners, ["object_id", "start", "length"])
        ids = table["object_id"].tolist()
        starts = np.append(table["start"], len(columns["position"])).astype(np.int64)
    return _Rows(columns, None if ends is None else _arrays.to_numpy(ends, ["vertices"])["vertices"].astype(np.int64), ids, starts)


def _member(folder: Path, document: str, name: str) -> Any:
    """A member of the document of a root or of a level."""
    from json import loads

    return loads((folder / "zarr.json").read_text())["attributes"].get(document, {}).get(name)


def _claims_tiles(store: Store, level: int) -> bool:
    """Whether the document of a level says that its fragments tile their chunks."""
    return _member(Path(store.url) / str(level), "zarr_vectors_level", "fragments_tile") is True


def _check_fragments(columns: dict[str, Array]) -> None:
    fragments = columns["fragment"]
    if isinstance(fragments, np.ma.MaskedArray):
        raise NotServedError("rows outside of fragments")
    if "chunk" in columns:
        falls = fragments[1:] < fragments[:-1]
        if (falls & (columns["chunk"][1:] == columns["chunk"][:-1]).all(axis=1)).any():
            raise NotServedError("fragments in another order than their rows")


def _attributes(names: Sequence[str] | None) -> list[str]:
    """Columns of the attributes that were named; those of all of them for None."""
    if names is None:
        return ["attributes"]
    if COLUMNS.intersection(names):
        raise NotServedError("an attribute with the name of a column")
    return list(names)


def _without(columns: dict[str, Array]) -> dict[str, Array]:
    return {name: values for name, values in columns.items() if name not in COLUMNS}


def _level(store: Store, level: int) -> Any:
    for one in store.levels:
        if one.number == level:
            return one
    raise NotServedError("no such level")


def _corners(bbox: Any) -> tuple[Array, Array]:
    low, high = (np.asarray(corner, dtype=np.float64) for corner in bbox)
    if low.ndim != 1 or low.shape != high.shape or np.isnan(low).any() or np.isnan(high).any():
        raise NotServedError("a box that is none")
    return low, high


def _inside(places: Array, bbox: Any) -> Any:
    low, high = _corners(bbox)
    found: Any = ((places >= low) & (places <= high)).all(axis=-1)
    return found


def _around(store: Store, level: int, low: Array, high: Array) -> tuple[Array, Array]:
    """A box that holds all vertices of the chunks from `low` to `high`, both inside: a little larger, since placement rounds."""
    size = np.asarray(_level(store, level).chunk_shape, dtype=np.float64)
    if size.shape != low.shape:
        raise NotServedError("chunks of another grid")
    return (low - 1e-3) * size, (high + 1 + 1e-3) * size


def _chunk_terms(store: Store, level: int, chunks: Chunks, bbox: Any) -> dict[str, Any]:
    """The box that holds the rows of some chunks, or of a box, or of both."""
    box = None if bbox is None else _corners(bbox)
    if chunks is not None:
        wanted = np.asarray([tuple(chunk) for chunk in chunks])
        if wanted.ndim != 2 or wanted.dtype.kind not in "iu":
            raise NotServedError("no chunks")
        held = _around(store, level, wanted.min(axis=0), wanted.max(axis=0))
        box = held if box is None else (np.maximum(box[0], held[0]), np.minimum(box[1], held[1]))
        if (box[0] > box[1]).any():
            raise NotServedError("no rows")
    return {} if box is None else {"bbox": box}


def _among(keys: Array, chunks: Sequence[tuple[int, ...]]) -> Array:
    """Which rows of keys are among some chunks."""
    found, place = np.unique(keys, axis=0, return_inverse=True)
    wanted = {tuple(int(part) for part in chunk) for chunk in chunks}
    kept: Any = np.array([tuple(key) in wanted for key in found.tolist()], dtype=bool)
    rows: Array = kept[place.reshape(-1)]
    return rows


def points(
    store_path: Any,
    *,
    level: int = 0,
    bbox: Any = None,
    object_ids: Sequence[int] | None = None,
    group_ids: Sequence[int] | None = None,
    chunks: Chunks = None,
    attribute_names: Sequence[str] | None = None,
    attribute_filter: Any = None,
    backend: str | None = None,
) -> dict[str, Any]:
    """`zarr_vectors.types.points.read_points`."""
    if attribute_filter:
        raise NotServedError("a filter by attribute")
    store = _opened(store_path, backend, ("point_cloud",))
    object_ids = _members(store, level, group_ids, object_ids)
    columns = ["position", *_attributes(attribute_names or ())]
    if object_ids is None:
        terms = {"level": level, **_chunk_terms(store, level, chunks, bbox)}
        columns += ["chunk"] if chunks is not None else []
        found = _read(store, {**terms, "columns": columns}, tiled=True).columns
        if chunks is not None:
            kept = _among(found["chunk"], chunks)
            found = {name: values[kept] for name, values in found.items()}
    else:
        if chunks is not None:
            raise NotServedError("objects in some chunks")
        terms = {"level": level, "objects": [int(one) for one in object_ids], "ignore_missing": True}
        found = _read(store, {**terms, "columns": [*columns, "object_id"]}).columns
        if bbox is not None:
            kept = _inside(found["position"], bbox)
            found = {name: values[kept] for name, values in found.items()}
    answer: dict[str, Any] = {
        "positions": found["position"],
        "vertex_attributes": {name: found[name] for name in attribute_names or ()},
        "vertex_count": len(found["position"]),
    }
    if object_ids is not None:
        answer["object_ids"] = found["object_id"]
    return _own(answer)


def _members(
    store: Store, level: int, groups: Sequence[int] | None, ids: Sequence[int] | None
) -> Sequence[int] | None:
    """The ids of the members of some groups, among those that were asked for."""
    if groups is None:
        return ids
    query = store.query(level=level, groups=[int(group) for group in groups], columns=["object_id"])
    members = set(query.objects.read()["object_id"].tolist())
    return sorted(members if ids is None else members.intersection(int(one) for one in ids))


def _own(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with arrays that can be written to, as the released package gives them."""
    for name, value in answer.items():
        if isinstance(value, dict):
            _own(value)
        elif isinstance(value, np.ndarray) and not value.flags.writeable:
            answer[name] = value.copy()
    return answer


def lines(
    store_path: Any,
    *,
    level: int = 0,
    object_ids: Sequence[int] | None = None,
    bbox: Any = None,
    attribute_filter: Any = None,
    backend: str | None = None,
) -> dict[str, Any]:
    """`zarr_vectors.types.lines.read_lines`."""
    if attribute_filter:
        raise NotServedError("a filter by attribute")
    store = _opened(store_path, backend, ("line",))
    terms: dict[str, Any] = {"level": level, "columns": ["position", "attributes", "object_id"], "select": "objects"}
    if object_ids is not None:
        terms.update(objects=[int(one) for one in object_ids], ignore_missing=True, select="vertices")
    elif bbox is not None:
        terms.update(bbox=_corners(bbox))
    found = _read(store, terms, objects=True)
    whole = np.diff(found.starts) >= 2
    # First and last vertex of each line, one after the other.
    rows = np.stack([found.starts[:-1], found.starts[1:] - 1], axis=1)[whole]
    if bbox is not None:
        rows = rows[_inside(found.columns["position"][rows], bbox).any(axis=1)]
    return {
        "endpoints": found.columns["position"][rows],
        "vertex_attributes": {name: values[rows.reshape(-1)] for name, values in _without(found.columns).items()},
        "line_count": len(rows),
    }


def polylines(
    store_path: Any,
    *,
    level: int = 0,
    object_ids: Sequence[int] | None = None,
    group_ids: Sequence[int] | None = None,
    bbox: Any = None,
    chunks: Chunks = None,
    attribute_filter: Any = None,
    backend: str | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """`zarr_vectors.types.polylines.read_polylines`; with `whole` the vertices of a polyline are one array, not one a fragment."""
    if attribute_filter:
        raise NotServedError("a filter by attribute")
    store = _opened(store_path, backend, ("polyline", "streamline"))
    object_ids = _members(store, level, group_ids, object_ids)
    columns = ["position", "attributes", "object_id"]
    if bbox is not None or chunks is not None or not whole:
        columns += ["chunk", "fragment"]
    terms: dict[str, Any] = {"level": level, "columns": columns, "select": "objects"}
    box = None
    if bbox is not None:
        # A box stands for all chunks that it touches.
        size = np.asarray(_level(store, level).chunk_shape, dtype=np.float64)
        low, high = _corners(bbox)
        if low.shape != size.shape or not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise NotServedError("a box that is none")
        box = np.floor(low / size), np.floor(high / size)
        terms.update(bbox=_around(store, level, *box))
    if object_ids is not None:
        terms.pop("bbox", None)
        terms.update(objects=[int(one) for one in object_ids], ignore_missing=True, select="vertices")
    elif chunks is not None:
        terms.update(_chunk_terms(store, level, chunks, terms.get("bbox")))
    found = _read(store, terms, objects=True)
    attributes = _without(found.columns)
    ids, starts = found.ids, found.starts
    # Polylines are parts of this array, which can be written to there.
    places = found.columns["position"].copy()
    if len(columns) == 3:
        lists = [[places[start:end]] for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True) if end > start]
        kept_ids = [one for one, count in zip(ids, np.diff(starts).tolist(), strict=True) if count]
        return _own(_polylines(lists, kept_ids, attributes, places.shape[1], len(places)))
    keys = found.columns["chunk"]
    if keys.shape[1] != places.shape[1]:
        raise NotServedError("chunks of another grid")
    # Runs of rows of one fragment of one object.
    cut = np.zeros(len(places) + 1, dtype=bool)
    cut[1:-1] = (keys[1:] != keys[:-1]).any(axis=1) | (found.columns["fragment"][1:] != found.columns["fragment"][:-1])
    cut[starts] = True
    cuts = np.flatnonzero(cut)
    owner = np.searchsorted(starts, cuts[:-1], side="right") - 1
    inside: Any = np.ones(len(cuts) - 1, dtype=bool)
    if box is not None:
        inside = ((keys[cuts[:-1]] >= box[0]) & (keys[cuts[:-1]] <= box[1])).all(axis=1)
    if chunks is not None:
        # Every run of fragments of these chunks is a polyline of its own.
        inside = inside & _among(keys[cuts[:-1]], chunks)
        first = inside & ~np.concatenate([[False], inside[:-1] & (owner[1:] == owner[:-1])])
        piece = np.cumsum(first) - 1
    else:
        # Whole objects of which any fragment is inside.
        hit = np.zeros(len(ids), dtype=bool)
        hit[owner[inside]] = True
        inside = hit[owner]
        piece = owner
    pieces: dict[int, list[Array]] = {}
    owners: list[int] = []
    at = cuts.tolist()
    for run in np.flatnonzero(inside).tolist():
        number = int(piece[run])
        if number not in pieces:
            pieces[number] = []
            owners.append(ids[int(owner[run])])
        pieces[number].append(places[at[run] : at[run + 1]])
    rows = np.repeat(inside, np.diff(cuts))
    if not rows.any():
        raise NotServedError("no rows")
    if not rows.all():
        attributes = {name: values[rows] for name, values in attributes.items()}
    return _own(_polylines(list(pieces.values()), owners, attributes, places.shape[1], int(rows.sum())))


def _polylines(lists: list[list[Array]], ids: list[int], attributes: dict[str, Array], ndim: int, count: int) -> dict[str, Any]:
    return {
        "polylines": lists,
        "object_ids": ids,
        "vertex_attributes": attributes,
        "ndim": ndim,
        "polyline_count": len(lists),
        "vertex_count": count,
    }


def _linked(store: Store, level: int, bbox: Any, chunks: Chunks, attributes: Sequence[str]) -> tuple[dict[str, Array], Array | None]:
    """Vertices, and the links that have both ends among them."""
    terms = {"level": level, **_chunk_terms(store, level, chunks, bbox)}
    columns = ["position", *_attributes(attributes), *(["chunk"] if chunks is not None else [])]
    found = _read(store, {**terms, "columns": columns}, links=True, tiled=True)
    if chunks is None:
        return found.columns, found.links
    kept = _among(found.columns["chunk"], chunks)
    ends = found.links
    if ends is not None:
        numbers = np.cumsum(kept) - 1
        ends = numbers[ends[kept[ends].all(axis=1)]]
    return {name: values[kept] for name, values in found.columns.items()}, ends


def graph(
    store_path: Any,
    *,
    level: int = 0,
    object_ids: Sequence[int] | None = None,
    bbox: Any = None,
    chunks: Chunks = None,
    attribute_filter: Any = None,
    backend: str | None = None,
    attributes: Sequence[str] = (),
) -> dict[str, Any]:
    """`zarr_vectors.types.graphs.read_graph`, and with `attributes` those of the vertices."""
    if attribute_filter or object_ids is not None:
        raise NotServedError("a filter by attribute" if attribute_filter else "objects of a graph")
    store = _opened(store_path, backend, ("graph", "skeleton"))
    if store.kind == "graph" and _member(Path(store.url), "zarr_vectors", "links_convention") != "explicit":
        raise NotServedError("a graph whose rows imply links")
    found, edges = _linked(store, level, bbox, chunks, attributes)
    if edges is None:
        edges = np.zeros((0, 2), dtype=np.int64)
    if store.kind == "skeleton":
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
    answer: dict[str, Any] = {
        "positions": found["position"],
        "edges": edges,
        "node_count": len(found["position"]),
        "edge_count": len(edges),
    }
    if attributes:
        answer["vertex_attributes"] = {name: found[name] for name in attributes}
    return _own(answer)


def mesh(
    store_path: Any,
    *,
    level: int = 0,
    bbox: Any = None,
    object_ids: Sequence[int] | None = None,
    chunks: Chunks = None,
    attribute_filter: Any = None,
    backend: str | None = None,
    attributes: Sequence[str] = (),
) -> dict[str, Any]:
    """`zarr_vectors.types.meshes.read_mesh`, and with `attributes` those of the vertices."""
    if attribute_filter or object_ids is not None:
        raise NotServedError("a filter by attribute" if attribute_filter else "objects of a mesh")
    store = _opened(store_path, backend, ("mesh",))
    found, faces = _linked(store, level, bbox, chunks, attributes)
    if faces is None:
        faces = np.zeros((0, 3), dtype=np.int64)
    answer: dict[str, Any] = {
        "vertices": found["position"],
        "faces": faces,
        "vertex_count": len(found["position"]),
        "face_count": len(faces),
    }
    if attributes:
        answer["vertex_attributes"] = {name: found[name] for name in attributes}
    return _own(answer)


READERS: dict[str, Any] = {
    "from_points": points,
    "from_lines": lines,
    "from_polylines": lambda group, **terms: polylines(group, whole=True, **terms),
    "from_graph": graph,
    "from_mesh": mesh,
}
"""What serves a level, by the name of the adapter that makes its result."""


def level(self: Any, selection: Any) -> Any:
    """`zarr_vectors.api.level.Level._execute`."""
    narrows = import_module("zarr_vectors.api.level")._narrows
    result_of = import_module("zarr_vectors.api.result")
    self._check_supported(selection)
    _, supports, adapter = self._reader()
    kwargs = self._reader_kwargs(selection, supports)
    linked = adapter in ("from_graph", "from_mesh")
    if linked and not narrows(selection):
        kwargs["attributes"] = self._wanted_attributes(selection)
    raw = READERS[adapter](self._dataset._group, **kwargs)
    result = getattr(result_of.ReadResult, adapter)(raw, kind=self.kind)
    if linked and "vertex_attributes" in raw:
        result = replace(result, attributes=result_of.Attributes(raw["vertex_attributes"]), attributes_read=True)
    if not linked:
        result = self._gather_attributes(result, selection)
    return self._post_filter(result, selection)


def pyramid(
    store_path: Any,
    *,
    factors: Sequence[tuple[float, float]],
    chunk_scale_factors: Any = None,
    sparsity_strategy: str = "random",
    sparsity_seed: int | None = None,
    cross_level_depth: int = 1,
    cross_level_storage: str = "explicit",
    method: str = "per_object",
    options: Any = None,
) -> dict[str, Any]:
    """`zarr_vectors.multiresolution.coarsen.build_pyramid`."""
    pairs = [tuple(map(float, pair)) for pair in factors]
    if method != "per_object" or options or cross_level_depth != 1 or cross_level_storage != "explicit":
        raise NotServedError("another method, or other links between levels")
    if not pairs or any(len(pair) != 2 or pair[0] <= 1 or pair[1] != 1 for pair in pairs):
        raise NotServedError("levels with fewer objects, or as many vertices")
    if any(scale != 1 for scale in chunk_scale_factors or ()):
        raise NotServedError("larger chunks")
    store = _opened(store_path, None, KINDS)
    handle = getattr(store_path, "_zarr", None)
    if handle is not None and (handle.read_only or store_path._node_cache is not None):
        raise NotServedError("a handle that does not write, or remembers documents")
    objects = _level(store, 0).objects
    found = _jobs.pyramid(store.url, factors=[pair[0] for pair in pairs], method="reference", durable=False)
    if handle is not None:
        # The handle holds the documents as they were.
        store_path._zarr = import_module("zarr").open_group(handle.store, path=handle.path, mode="r+")
    return {
        "levels_created": len(pairs),
        "level_specs": [
            {
                "vertex_count": one["vertices"],
                # A store without objects is one object there.
                "object_count": one["objects"] or 1,
                "objects_kept": one["objects"] or 1,
                "source_objects": objects or 1,
                "method": method,
                "preserves_object_ids": True,
                "shared_fragments": True,
            }
            for one in found["levels"]
        ],
        "method": method,
        "cross_level_depth": cross_level_depth,
        "cross_level_storage": cross_level_storage,
    }
