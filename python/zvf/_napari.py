"""A reader of napari: a store becomes a layer of points, vectors or a surface.

Registered in `napari.yaml`. The first axis of napari is the slowest, so the axes x, y, z of a store are reversed, after earlier axes such as time (t,
z, y, x).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._store import open

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._store import Level, Store

    Layer = tuple[Any, dict[str, Any], str]
    Reader = Callable[[str | Sequence[str]], list[Layer]]

BUDGET = 1_000_000
"""Most vertices that are shown: the finest level with at most this many is read, or else the coarsest. The environment variable
`ZVF_NAPARI_VERTICES` overrides the number."""


def get_reader(path: str | Sequence[str]) -> Reader | None:
    """The reader, or None if the path is not a store."""
    if not isinstance(path, str) or not path.rstrip("/").endswith((".zarrvectors", ".zv")):
        return None
    return read


def read(path: str | Sequence[str]) -> list[Layer]:
    """The layer of a store."""
    store = open(path if isinstance(path, str) else path[0])
    level = _level(store, int(os.environ.get("ZVF_NAPARI_VERTICES", BUDGET)))
    answer = store.query(level=level.number).read()
    vertices = answer.vertices.to_numpy()
    places = _reversed(store, vertices.pop("position"))
    links = answer.links["vertices"].astype("int64") if "links" in answer.tables else None
    numbers = {name: values for name, values in vertices.items() if values.dtype.kind in "biuf" and values.ndim == 1}
    terms = {
        "name": os.path.basename(path.rstrip("/")) if isinstance(path, str) else "store",
        "metadata": {"store": store.url, "level": level.number, "kind": store.kind},
    }
    if links is None or len(links) == 0:
        return [(places, {**terms, "features": numbers, "size": _size(store, level)}, "points")]
    import numpy as np

    if links.shape[1] > 2:
        # A face of more corners becomes triangles around its first one.
        fans = [links[:, [0, corner, corner + 1]] for corner in range(1, links.shape[1] - 1)]
        return [((places, np.concatenate(fans)), terms, "surface")]
    if links.shape[1] == 2:
        start, end = places[links[:, 0]], places[links[:, 1]]
        features = {name: values[links[:, 0]] for name, values in numbers.items()}
        return [(np.stack([start, end - start], axis=1), {**terms, "features": features}, "vectors")]
    return [(places, {**terms, "features": numbers, "size": _size(store, level)}, "points")]


def _level(store: Store, budget: int) -> Level:
    """The finest level with at most this many vertices, or else the coarsest."""
    levels = [level for level in store.levels if level.vertices > 0] or list(store.levels)
    small = [level for level in levels if level.vertices <= budget]
    return min(small, key=lambda level: level.number) if small else max(levels, key=lambda level: level.number)


def _reversed(store: Store, places: Any) -> Any:
    """Positions with the last axes x, y, z or x, y reversed; earlier axes, such as time, stay in front."""
    for tail in (("x", "y", "z"), ("x", "y")):
        front = len(store.axes) - len(tail)
        if store.axes[-len(tail) :] == tail:
            return places[:, [*range(front), *reversed(range(front, len(store.axes)))]]
    return places


def _size(store: Store, level: Level) -> float:
    """Size of a point: half of the distance between points that would fill the bounds evenly."""
    low, high = store.bounds
    volume = 1.0
    for a, b in zip(low, high, strict=True):
        volume *= max(b - a, 1e-9)
    return float(0.5 * (volume / max(level.vertices, 1)) ** (1 / len(low)))
