"""Meshes and skeletons: Neuroglancer's precomputed format by cloud-volume, and stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from peers import OURS, Bar, Peer

import zvf

Made = tuple[list[Peer], list[Bar], Callable[[str, Any], Any]]
Arrays = dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


def sets(scale: float) -> list[tuple[str, Callable[[], Made]]]:
    """The two datasets."""
    meshes, trees = max(1, int(2_000 * scale)), max(1, int(5_000 * scale))
    return [
        (f"{meshes:,} meshes of 642 vertices", lambda: peers("mesh", balls(meshes))),
        (f"{trees:,} skeletons of 500 vertices", lambda: peers("skeleton", forest(trees))),
    ]


def balls(count: int) -> Arrays:
    """Balls with bumps, each a closed mesh: an octahedron divided three times."""
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(3):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, place = np.unique(edges, axis=0, return_inverse=True)
        middle = (len(corners) + place).reshape(-1, 3)
        corners = np.concatenate([corners, corners[unique].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle.T
        faces = np.concatenate([np.column_stack(one) for one in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    rng = np.random.default_rng(9)
    made = {}
    for number in range(1, count + 1):
        size = rng.uniform(200, 900) * (1 + 0.2 * np.sin(corners @ rng.normal(0, 4, 3)))
        places = corners * size[:, None] + rng.uniform(1000, 39_000, 3)
        made[number] = places.astype(np.float32), faces
    return made


def forest(count: int) -> Arrays:
    """Trees that grow at random, each vertex from one before it; links are a child and its parent."""
    rng = np.random.default_rng(11)
    made = {}
    for number in range(1, count + 1):
        parents = np.arange(-1, 499)
        forks = rng.choice(np.arange(2, 500), 20, replace=False)
        parents[forks] = (forks * rng.random(20)).astype(int)
        steps = rng.normal(0, 20, (500, 3))
        places = np.empty((500, 3))
        places[0] = rng.uniform(5000, 35_000, 3)
        for at in range(1, 500):
            places[at] = places[parents[at]] + steps[at]
        made[number] = places.astype(np.float32), np.column_stack([np.arange(1, 500), parents[1:]])
    return made


def check(_: str, answer: Arrays) -> Any:
    """Of each object its links as the positions of their ends, in an order that does not depend on the numbers of vertices."""
    found = []
    for number in sorted(answer):
        places, links = answer[number]
        ends = np.asarray(places, dtype=np.float64)[np.asarray(links, dtype=np.int64)]
        # The ends of a link in some order, then the links.
        rows = np.sort(ends.view([("x", "f8"), ("y", "f8"), ("z", "f8")])[..., 0], axis=1).view("f8")
        found += [np.array([number]), rows[np.lexsort(rows.T[::-1])]]
    return found


def jobs(made: Arrays, read: Callable[[list[int]], Arrays]) -> dict[str, Callable[[], Any]]:
    everything = sorted(made)
    chosen = np.random.default_rng(3).choice(everything, min(200, len(everything)), replace=False).tolist()
    return {
        "full read": lambda: read(everything),
        "one object": lambda: read(chosen[:1]),
        "200 objects": lambda: read(chosen),
    }


def peers(kind: str, made: Arrays) -> Made:
    counts = [len(places) for places, _ in made.values()]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = np.concatenate([one for one, _ in made.values()])
    links = np.concatenate([one + start for (_, one), start in zip(made.values(), offsets[:-1], strict=True)])
    ids = np.array(list(made))

    def write_ours(path: Path) -> None:
        zvf.write(path, kind=kind, positions=places, offsets=offsets, object_ids=ids, links=links, durable=False)  # type: ignore[arg-type]

    def open_ours(path: Path) -> Mapping[str, Callable[[], Any]]:
        store = zvf.open(path)

        def read(wanted: list[int]) -> Arrays:
            found = store.get(wanted, columns=[])
            starts = found.offsets
            owner = np.searchsorted(starts, found.links[:, 0].astype(np.int64), side="right") - 1
            order = np.argsort(owner, kind="stable")
            cuts = np.searchsorted(owner[order], np.arange(len(found) + 1))
            ends = found.links.astype(np.int64)[order]
            return {
                int(number): (found[at], ends[cuts[at] : cuts[at + 1]] - starts[at]) for at, number in enumerate(found.ids.tolist())
            }

        return jobs(made, read)

    return [Peer(OURS, write_ours, open_ours), *precomputed(kind, made)], [], check


def precomputed(kind: str, made: Arrays) -> list[Peer]:
    """The peer, where its package is installed."""
    try:
        from cloudvolume import CloudVolume, Mesh, Skeleton

        from cloud import segmentation
    except ImportError as error:
        print(f"  no cloud-volume: {error}")
        return []
    terms = {"progress": False, "cache": False, "parallel": 1}

    def write(path: Path) -> None:
        volume = segmentation(f"file://{path}", size=[40_000] * 3, parallel=1)
        volume.commit_info()
        if kind == "mesh":
            volume.mesh.meta.commit_info()
            volume.mesh.put([Mesh(places, faces.astype(np.uint32), segid=number) for number, (places, faces) in made.items()])
        else:
            volume.skeleton.meta.commit_info()
            volume.skeleton.upload(
                [Skeleton(places, edges.astype(np.uint32), segid=number) for number, (places, edges) in made.items()]
            )

    def open_volume(path: Path) -> Mapping[str, Callable[[], Any]]:
        volume = CloudVolume(f"file://{path}", **terms)

        def read(wanted: list[int]) -> Arrays:
            if kind == "mesh":
                found = volume.mesh.get(wanted, remove_duplicate_vertices=False, fuse=False)
                return {int(number): (one.vertices, one.faces) for number, one in found.items()}
            skeletons = volume.skeleton.get(wanted)
            several = skeletons if isinstance(skeletons, list) else [skeletons]
            return {int(one.id): (one.vertices, one.edges) for one in several}

        return jobs(made, read)

    return [Peer("cloud-volume", write, open_volume)]
