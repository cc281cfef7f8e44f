"""The functions with which `zvf.accelerate` replaces functions of the released package; arguments and results are the same."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _jobs
from ._accelerate import NotServedError
from ._released import (
    KINDS,
    among,
    around,
    attribute_columns,
    chunk_terms,
    corners,
    inside_of,
    level_of,
    member,
    members_of,
    opened,
    own_arrays,
    read,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._arrays import Array
    from ._released import Chunks
    from ._store import Store


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
    store = opened(store_path, backend, ("point_cloud",))
    object_ids = members_of(store, level, group_ids, object_ids)
    columns = ["position", *attribute_columns(attribute_names or ())]
    if object_ids is None:
        terms = {"level": level, **chunk_terms(store, level, chunks, bbox)}
        columns += ["chunk"] if chunks is not None else []
        found = read(store, {**terms, "columns": columns}, tiled=True).columns
        if chunks is not None:
            found = _kept(found, among(found["chunk"], chunks))
    else:
        if chunks is not None:
            raise NotServedError("objects restricted to chunks")
        terms = {"level": level, "objects": [int(one) for one in object_ids], "ignore_missing": True}
        found = read(store, {**terms, "columns": [*columns, "object_id"]}).columns
        if bbox is not None:
            found = _kept(found, inside_of(found["position"], bbox))
    answer: dict[str, Any] = {
        "positions": found["position"],
        "vertex_attributes": {name: found[name] for name in attribute_names or ()},
        "vertex_count": len(found["position"]),
    }
    if object_ids is not None:
        answer["object_ids"] = found["object_id"]
    return own_arrays(answer)


def _kept(columns: dict[str, Array], kept: Array) -> dict[str, Array]:
    """The rows that `kept` selects. Without any, the call is left to the released package, which then returns a different result."""
    if not kept.any():
        raise NotServedError("no rows")
    return {name: values[kept] for name, values in columns.items()}


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
    store = opened(store_path, backend, ("line",))
    terms: dict[str, Any] = {"level": level, "columns": ["position", "attributes", "object_id"], "select": "objects"}
    if object_ids is not None:
        terms.update(objects=[int(one) for one in object_ids], ignore_missing=True, select="vertices")
    elif bbox is not None:
        terms.update(bbox=corners(bbox))
    found = read(store, terms, objects=True)
    whole = np.diff(found.starts) >= 2
    # The first and the last vertex of each line.
    rows = np.stack([found.starts[:-1], found.starts[1:] - 1], axis=1)[whole]
    if bbox is not None:
        rows = rows[inside_of(found.columns["position"][rows], bbox).any(axis=1)]
    return {
        "endpoints": found.columns["position"][rows],
        "vertex_attributes": {name: values[rows.reshape(-1)] for name, values in without(found.columns).items()},
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
    """`zarr_vectors.types.polylines.read_polylines`; with `whole`, the vertices of a polyline are one array instead of one for each fragment."""
    if attribute_filter:
        raise NotServedError("a filter by attribute")
    store = opened(store_path, backend, ("polyline", "streamline"))
    object_ids = members_of(store, level, group_ids, object_ids)
    columns = ["position", "attributes", "object_id"]
    if bbox is not None or chunks is not None or not whole:
        columns += ["chunk", "fragment"]
    terms: dict[str, Any] = {"level": level, "columns": columns, "select": "objects"}
    box = None
    if bbox is not None:
        # The box is extended to all chunks that it touches, as in the released package.
        size = np.asarray(level_of(store, level).chunk_shape, dtype=np.float64)
        low, high = corners(bbox)
        if low.shape != size.shape or not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise NotServedError("a box that is infinite, or of another rank")
        box = np.floor(low / size), np.floor(high / size)
        terms.update(bbox=around(store, level, *box))
    if object_ids is not None:
        terms.pop("bbox", None)
        terms.update(objects=[int(one) for one in object_ids], ignore_missing=True, select="vertices")
    elif chunks is not None:
        terms.update(chunk_terms(store, level, chunks, terms.get("bbox")))
    found = read(store, terms, objects=True)
    attributes = without(found.columns)
    ids, starts = found.ids, found.starts
    # Copied, because the polylines are views of this array and the released package returns writable arrays.
    places = found.columns["position"].copy()
    if len(columns) == 3:
        lists = [[places[start:end]] for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True) if end > start]
        kept_ids = [one for one, count in zip(ids, np.diff(starts).tolist(), strict=True) if count]
        return own_arrays(_polylines(lists, kept_ids, attributes, places.shape[1], len(places)))
    keys = found.columns["chunk"]
    if keys.shape[1] != places.shape[1]:
        raise NotServedError("chunk coordinates of another rank than positions")
    cuts = _cuts(keys, found.columns["fragment"], starts)
    owner = np.searchsorted(starts, cuts[:-1], side="right") - 1
    kept: Any = np.ones(len(cuts) - 1, dtype=bool)
    if box is not None:
        kept = ((keys[cuts[:-1]] >= box[0]) & (keys[cuts[:-1]] <= box[1])).all(axis=1)
    if chunks is not None:
        # Every run of fragments in these chunks is a separate polyline.
        kept = kept & among(keys[cuts[:-1]], chunks)
        first = kept & ~np.concatenate([[False], kept[:-1] & (owner[1:] == owner[:-1])])
        piece = np.cumsum(first) - 1
    else:
        # Whole objects, if any of their fragments is inside.
        hit = np.zeros(len(ids), dtype=bool)
        hit[owner[kept]] = True
        kept = hit[owner]
        piece = owner
    rows = np.repeat(kept, np.diff(cuts))
    if not rows.any():
        raise NotServedError("no rows")
    pieces: dict[int, list[Array]] = {}
    owners: list[int] = []
    at = cuts.tolist()
    for run in np.flatnonzero(kept).tolist():
        number = int(piece[run])
        if number not in pieces:
            pieces[number] = []
            owners.append(ids[int(owner[run])])
        pieces[number].append(places[at[run] : at[run + 1]])
    if not rows.all():
        attributes = {name: values[rows] for name, values in attributes.items()}
    return own_arrays(_polylines(list(pieces.values()), owners, attributes, places.shape[1], int(rows.sum())))


def _cuts(keys: Array, fragments: Array, starts: Array) -> Array:
    """The first row of each run of rows of one fragment of one object; then the number of all rows."""
    cut = np.zeros(len(keys) + 1, dtype=bool)
    cut[1:-1] = (keys[1:] != keys[:-1]).any(axis=1) | (fragments[1:] != fragments[:-1])
    cut[starts] = True
    return np.flatnonzero(cut)


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
    """Vertices, and the links with both ends among these vertices."""
    terms = {"level": level, **chunk_terms(store, level, chunks, bbox)}
    columns = ["position", *attribute_columns(attributes), *(["chunk"] if chunks is not None else [])]
    found = read(store, {**terms, "columns": columns}, links=True, tiled=True)
    if chunks is None:
        return found.columns, found.links
    kept = among(found.columns["chunk"], chunks)
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
    """`zarr_vectors.types.graphs.read_graph`, and with `attributes` also the attributes of the vertices."""
    if attribute_filter or object_ids is not None:
        raise NotServedError("a filter by attribute" if attribute_filter else "objects of a graph")
    store = opened(store_path, backend, ("graph", "skeleton"))
    explicit = member(Path(store.url), "zarr_vectors", "links_convention") == "explicit"
    if store.kind == "graph" and not explicit:
        raise NotServedError("a graph whose rows imply links")
    found, edges = _linked(store, level, bbox, chunks, attributes)
    if edges is None:
        edges = np.zeros((0, 2), dtype=np.int64)
    if not explicit:
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
    answer: dict[str, Any] = {
        "positions": found["position"],
        "edges": edges,
        "node_count": len(found["position"]),
        "edge_count": len(edges),
    }
    if attributes:
        answer["vertex_attributes"] = {name: found[name] for name in attributes}
    return own_arrays(answer)


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
    """`zarr_vectors.types.meshes.read_mesh`, and with `attributes` also the attributes of the vertices."""
    if attribute_filter or object_ids is not None:
        raise NotServedError("a filter by attribute" if attribute_filter else "objects of a mesh")
    store = opened(store_path, backend, ("mesh",))
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
    return own_arrays(answer)


READERS: dict[str, Any] = {
    "from_points": points,
    "from_lines": lines,
    "from_polylines": lambda group, **terms: polylines(group, whole=True, **terms),
    "from_graph": graph,
    "from_mesh": mesh,
}
"""The function that reads a level, by the name of the adapter that makes the result of the released package."""


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
    store = opened(store_path, None, KINDS)
    handle = getattr(store_path, "_zarr", None)
    if handle is not None and (handle.read_only or store_path._node_cache is not None):
        raise NotServedError("a handle that is read-only, or caches documents")
    objects = level_of(store, 0).objects
    found = _jobs.pyramid(store.url, factors=[pair[0] for pair in pairs], method="reference", durable=False)
    if handle is not None:
        # The handle still has the earlier documents.
        store_path._zarr = import_module("zarr").open_group(handle.store, path=handle.path, mode="r+")
    return {
        "levels_created": len(pairs),
        "level_specs": [
            {
                "vertex_count": one["vertices"],
                # The released package counts a store without objects as one object.
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
