"""Points of spatialdata, judged by the arrays that the store was made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import spatialdata

import zvf

Bundled = Callable[[str], Path]


def test_points(bundled: Bundled, tmp_path: Path) -> None:
    truth = np.load(bundled("real_synapses").parent / "truth.npz")
    points = zvf.open(bundled("real_synapses")).query().read().to_spatialdata()
    data = spatialdata.SpatialData(points={"synapses": points})
    # spatialdata takes them for its own: it writes them, and finds them in a box.
    data.write(tmp_path / "data.zarr")
    again = spatialdata.read_zarr(tmp_path / "data.zarr")["synapses"].compute()
    columns = np.column_stack([truth["positions"], truth["attr_confidence"]])
    ours = again[["x", "y", "z", "confidence"]].to_numpy()
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], columns[np.lexsort(columns.T)])
    low, high = [8000.0, 15000.0, 12000.0], [15000.0, 30000.0, 20000.0]
    box = spatialdata.bounding_box_query(
        points, axes=("x", "y", "z"), min_coordinate=low, max_coordinate=high, target_coordinate_system="global"
    )
    inside = ((truth["positions"] >= low) & (truth["positions"] <= high)).all(axis=1)
    assert len(box.compute()) == inside.sum() > 0
