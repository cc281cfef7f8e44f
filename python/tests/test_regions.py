"""Regions, judged by NumPy."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zvf

Bundled = Callable[[str], Path]


def rows_of(query: zvf.Query) -> np.ndarray:
    found = query.to_numpy()["position"]
    return found[np.lexsort(found.T[::-1])]


def sorted_rows(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(rows.T[::-1])]


def winding(ring: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How often a ring turns around points, none of which lies on it: the sum of the angles of its edges."""
    total = np.zeros(len(points))
    for a, b in zip(ring[:-1], ring[1:], strict=True):
        (ax, ay), (bx, by) = (a - points).T, (b - points).T
        total += np.arctan2(ax * by - ay * bx, ax * bx + ay * by)
    return np.rint(total / (2 * np.pi)).astype(int)


def test_spheres_and_slabs_are_those_of_numpy(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    every = store.query(columns=["position"]).to_numpy()["position"]
    places = every.astype(np.float64)
    random = np.random.default_rng(7)
    for _ in range(20):
        center = places[random.integers(len(places))] + random.normal(scale=5, size=3)
        radius = float(random.uniform(1, 60))
        ball = ((places - center) ** 2).sum(axis=1) <= radius * radius
        found = rows_of(store.query(sphere=(*center, radius), columns=["position"]))
        np.testing.assert_array_equal(found, sorted_rows(every[ball]))
        axis = int(random.integers(3))
        slab = np.abs(places[:, axis] - center[axis]) <= radius
        near = ("xyz"[axis], float(center[axis]), radius)
        found = rows_of(store.query(near=near, columns=["position"]))
        np.testing.assert_array_equal(found, sorted_rows(every[slab]))
        text = f"not sphere({','.join(map(repr, map(float, center)))},{radius!r})"
        found = rows_of(store.query(region=text, near=near, columns=["position"]))
        np.testing.assert_array_equal(found, sorted_rows(every[slab & ~ball]))


def test_boxes_of_some_axes_are_those_of_numpy(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    every = store.query(columns=["position"]).to_numpy()["position"]
    low, middle = (float(np.quantile(every[:, axis], 0.4)) for axis in (0, 2))
    inside = (every[:, 0] >= low) & (every[:, 2] <= middle)
    assert 0 < inside.sum() < len(every)
    boxes = ({"x": (low, None), "z": (None, middle)}, f"x={low!r}:,z=:{middle!r}", f"z=-inf:{middle!r},x={low!r}:inf")
    for bbox in boxes:
        query = store.query(bbox=bbox, columns=["position"])
        np.testing.assert_array_equal(rows_of(query), sorted_rows(every[inside]))
        np.testing.assert_array_equal(rows_of(pickle.loads(pickle.dumps(query.replace(level=0)))), sorted_rows(every[inside]))
        written = zvf.export(store.url, tmp_path / "part.csv", bbox=bbox, select="objects")
        corners = ((low, -np.inf, -np.inf), (np.inf, np.inf, middle))
        assert written["vertices"] == store.query(bbox=corners, select="objects").vertices.read().num_rows
    ids = store.query().read().objects["object_id"]
    part = sorted(ids.tolist())[2:5]
    wanted = store.query(objects=part).to_numpy()["position"]
    for objects in (f"{part[0]}-{part[-1]}", range(part[0], part[-1] + 1)):
        if part == list(range(part[0], part[-1] + 1)):
            np.testing.assert_array_equal(store.query(objects=objects).to_numpy()["position"], wanted)
    long = store.query(objects=range(part[0], 10**18), ignore_missing=True).read().objects["object_id"]
    assert long.tolist() == sorted(one for one in ids.tolist() if one >= part[0])
    for bbox, message in (({"w": (0, 1)}, "no axis .w.: there are x, y, z"), ({"x": 1}, "lower and upper end"), ({}, "ranges of axes"), ("x=2:1", "not above")):
        with pytest.raises(zvf.MisuseError, match=message):
            store.query(bbox=bbox).read()
    with pytest.raises(zvf.MisuseError, match="ids that the store has"):
        store.query(objects="0-1000000000000000000").read()


def test_polygons_are_those_of_winding_numbers(bundled: Bundled, tmp_path: Path) -> None:
    store = zvf.open(bundled("streamlines"))
    every = store.query(columns=["position"]).to_numpy()["position"]
    places = every.astype(np.float64)
    random = np.random.default_rng(8)
    for number in range(12):
        middle = places[random.integers(len(places))][[0, 2]]
        angles = np.sort(random.uniform(0, 2 * np.pi, size=int(random.integers(3, 40))))
        lengths = random.uniform(1, 90, size=len(angles))
        ring = middle + np.stack([np.cos(angles), np.sin(angles)], axis=1) * lengths[:, None]
        ring = np.concatenate([ring, ring[:1]])
        inside = winding(ring, places[:, [0, 2]]) % 2 == 1
        shape = {"type": "Polygon", "coordinates": [ring.tolist()]}
        text = "POLYGON ((" + ", ".join(f"{x!r} {y!r}" for x, y in ring.tolist()) + "))"
        file = tmp_path / f"{number}.geojson"
        file.write_text(json.dumps({"type": "Feature", "geometry": shape}))
        for polygon in (shape, json.dumps(shape), text, file, str(file)):
            found = rows_of(store.query(polygon=polygon, plane="xz", columns=["position"]))
            np.testing.assert_array_equal(found, sorted_rows(every[inside]))


def test_objects_lie_as_their_vertices_do(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    lines = store.get(np.arange(len(store.query().read().objects)), ignore_missing=True)
    inside = {int(id): np.abs(line[:, 0].astype(np.float64) - 70) <= 50 for id, line in zip(lines.ids, lines, strict=True)}
    relations: list[tuple[str, Callable[[np.ndarray], bool]]] = [
        ("touching", lambda rows: bool(rows.any())),
        ("inside", lambda rows: bool(rows.all())),
        ("starting", lambda rows: bool(rows[0])),
        ("ending", lambda rows: bool(rows[-1])),
    ]
    for name, holds in relations:
        terms: dict[str, Any] = {name: True}
        query = store.query(near=("x", 70, 50), **terms)
        answer = query.read()
        expected = [id for id, rows in inside.items() if holds(rows)]
        assert answer.objects["object_id"].tolist() == expected
        assert pickle.loads(pickle.dumps(query)) == query
        assert query.replace(limit=1).terms["limit"] == 1
        assert query.terms[name] == "true"


def test_the_inside_of_a_mesh_is_a_region(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    corners = np.array([[x, y, z] for x in (20, 120) for y in (20, 120) for z in (20, 120)])
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    found = rows_of(store.query(mesh=(corners, faces), columns=["position"]))
    np.testing.assert_array_equal(found, rows_of(store.query(bbox=((20,) * 3, (120,) * 3), columns=["position"])))
    with pytest.raises(zvf.MisuseError, match="3 open edges"):
        store.query(mesh=(corners, faces[1:])).read()


def test_an_export_takes_regions(bundled: Bundled, tmp_path: Path) -> None:
    done = zvf.export(bundled("streamlines"), tmp_path / "part.tck", place={"near": ("x", 70, 50), "touching": True})
    assert done["objects"] == len(zvf.open(bundled("streamlines")).query(near="x=70,50", touching=True).read().objects)


def test_what_is_no_region_is_refused(bundled: Bundled) -> None:
    store = zvf.open(bundled("streamlines"))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"sphere": (1, 2, 3, -4)}, "sphere: found the radius -4"),
        ({"sphere": (1, 2, "x")}, "sphere: found"),
        ({"sphere": 3}, "sphere: found 3"),
        ({"near": ("t", 0, 1)}, "near: no axis"),
        ({"near": ("x", 0)}, "near: found"),
        ({"polygon": "POLYGON ((0 0, 1 1))"}, "polygon, at byte 0"),
        ({"region": "cube(1)"}, "region, at byte 0"),
        ({"plane": "xy"}, "plane: found a plane, but no"),
        ({"inside": True}, "inside: found neither"),
        ({"near": "x=0,1", "inside": True, "ending": True}, "ending: found inside as well"),
    ]
    for terms, words in cases:
        with pytest.raises(zvf.MisuseError, match=words):
            store.query(**terms).read()
    with pytest.raises(TypeError, match="found the term 'cube'"):
        store.query(cube=1)  # type: ignore[call-arg]
