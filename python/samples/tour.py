"""A short tour of the package, which `mypy --strict` reads and the tests run: one store is written, asked, changed and checked."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import zvf


def main(folder: Path) -> int:
    """Returns how many objects are left at the end."""
    url = folder / "paths.zarrvectors"

    # Three paths of 4, 3 and 5 points, in micrometres, with a radius at each point and a name for each path.
    rng = np.random.default_rng(7)
    positions = rng.uniform(0.0, 100.0, (12, 3))
    counts = zvf.write(
        url,
        kind="polyline",
        positions=positions,
        offsets=[0, 4, 7, 12],
        object_ids=[10, 20, 30],
        attributes={"radius": np.linspace(0.5, 2.5, 12)},
        objects={"object_id": [10, 20, 30], "name": ["a", "b", "c"]},
        groups={"left": [10, 20], "right": [30]},
        unit="micrometer",
        chunk_shape=[50.0, 50.0, 50.0],
    )
    print(counts)

    store = zvf.open(url)
    print(store, store.levels[0].vertices, store.bounds)

    # Whole paths through a box, in memory: vertices, links, objects.
    answer = store.query(bbox=((0, 0, 0), (60, 60, 60)), select="objects").read()
    for name, table in answer.tables.items():
        print(name, table.num_rows, table.column_types)

    # The same, batch by batch.
    rows = 0
    for batch in store.query(where="radius > 1", columns=["position", "radius"]):
        rows += batch.num_rows
        assert batch["radius"].min() > 1
    print(rows, "points are thicker than 1")

    # By id, as flat arrays and offsets.
    paths = store.get([30, 10])
    for number, path in zip(paths.ids.tolist(), paths, strict=True):
        print(number, path.shape, paths.attributes["radius"].dtype)

    with zvf.edit(url) as change:
        change.delete([20])
    print(change.result)

    report = zvf.validate(url, depth=5)
    for finding in report:
        print(finding.code, finding.place, finding.found)
    assert report.ok

    try:
        zvf.open(url).get([20])
    except zvf.MisuseError as error:
        print(error)
    return len(zvf.open(url).query().objects.read())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
