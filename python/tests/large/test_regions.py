"""Polygons, judged by shapely."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

import zvf

Bundled = Callable[[str], Path]


def shapes(random: np.random.Generator, low: np.ndarray, high: np.ndarray) -> BaseGeometry:
    """Discs of a few corners, with holes and in several parts."""
    def disc(most: float) -> BaseGeometry:
        center = random.uniform(low, high)
        return shapely.Point(center).buffer(random.uniform(0.01, most), quad_segs=int(random.integers(1, 9)))

    size = float((high - low).max())
    shape: BaseGeometry = disc(size / 2)
    for _ in range(int(random.integers(0, 3))):
        shape = shape.union(disc(size / 3))
    for _ in range(int(random.integers(0, 3))):
        shape = shape.difference(disc(size / 6))
    return shape


def test_polygons_are_those_of_shapely(bundled: Bundled) -> None:
    random = np.random.default_rng(9)
    for name in ("streamlines", "points_ids", "points_2d_f8"):
        store = zvf.open(bundled(name))
        every = store.query(columns=["position"]).to_numpy()["position"]
        places = every[:, :2].astype(np.float64)
        low, high = places.min(axis=0), places.max(axis=0)
        for _ in range(60):
            shape = shapes(random, low, high)
            inside = shapely.covers(shape, shapely.points(places))
            for polygon in (shape, shape.wkt if shape.is_empty else shapely.to_wkt(shape, rounding_precision=-1)):
                found = store.query(polygon=polygon, plane=store.axes[:2], columns=["position"]).to_numpy()["position"]
                np.testing.assert_array_equal(
                    found[np.lexsort(found.T[::-1])], every[inside][np.lexsort(every[inside].T[::-1])]
                )


def test_vertices_and_edges_are_inside_as_shapely_covers_them(tmp_path: Path) -> None:
    random = np.random.default_rng(10)
    points = random.integers(0, 8, size=(600, 2)).astype(np.float32)
    zvf.write(tmp_path / "grid.zarrvectors", kind="point_cloud", positions=points, chunk_shape=(3, 3))
    store = zvf.open(tmp_path / "grid.zarrvectors")
    for _ in range(60):
        shape = shapely.MultiPoint(random.integers(0, 8, size=(5, 2)).astype(float)).convex_hull
        if shape.geom_type != "Polygon":
            continue
        inside = shapely.covers(shape, shapely.points(points.astype(np.float64)))
        assert store.query(polygon=shape, plane=store.axes).read().summary["vertices"] == int(inside.sum())
