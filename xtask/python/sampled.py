"""Samples an FA-like volume along a real tractogram with `zvf sample`, and computes the same with NumPy.

    sampled.py ZVF FOLDER TRK

The volume is made here over the bounds of the tractogram and written by zarr-python; `zvf volume convert` makes the other two forms of it. The
three samples must be the same to the bit, and equal to the trilinear interpolation below to float32 rounding; nearest labels must be equal. The
package reads the attributes back from the store. Ends with 1 when anything differs.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np
import zarr

from outcome import compared
from reading import run


def trilinear(volume: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """Values between the centres of elements, axis after axis; NaN outside."""
    last = np.array(volume.shape) - 1
    inside = np.all((voxels >= 0) & (voxels <= last), axis=1)
    at = np.where(inside[:, None], voxels, 0.0)
    low = np.minimum(np.floor(at).astype(int), np.maximum(last - 1, 0))
    high = np.minimum(low + 1, last)
    share = at - low
    total = np.zeros(len(voxels))
    for corner in range(8):
        weight, index = np.ones(len(voxels)), []
        for axis in range(3):
            up = corner >> axis & 1
            weight = weight * (share[:, axis] if up else 1 - share[:, axis])
            index.append((high if up else low)[:, axis])
        total += weight * volume[tuple(index)]
    return np.where(inside, total, np.nan)


def column(program: str, store: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions and one attribute, in the order of a query."""
    text = run(program, "query", store, "--format", "csv", "--columns", f"position,{name}")
    table = np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1, dtype=np.float64)
    return table[:, :3], table[:, 3]


def main() -> int:
    program, folder, tracks = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store = folder / "tracts.zarrvectors"
    run(program, "import", tracks, store)
    text = run(program, "query", store, "--format", "csv", "--columns", "position")
    positions = np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1, dtype=np.float64)

    # Anisotropic voxels, turned and shifted, over most of the tractogram: some vertices lie outside.
    low, high = positions.min(axis=0), positions.max(axis=0)
    spacing = np.array([1.7, 2.0, 2.3])
    angle = 0.2
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag(spacing)
    centre = (low + high) / 2
    shape = np.ceil((high - low) / spacing).astype(int) + 1
    affine[:3, 3] = centre - affine[:3, :3] @ ((shape - 1) / 2)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in shape], indexing="ij"))
    noise = np.random.default_rng(5).random(tuple(shape))
    fa = np.clip(np.exp(-2 * (grid**2).sum(axis=0)) * 0.8 + 0.2 * noise, 0, 1).astype(np.float32)
    labels = (fa * 40).astype(np.uint16)
    # Numbers are handed over as text with all digits.
    numbers = ",".join(repr(float(one)) for one in affine[:3].ravel())

    voxels = (np.linalg.inv(affine) @ np.c_[positions, np.ones(len(positions))].T).T[:, :3]
    wanted = trilinear(fa.astype(np.float64), voxels)
    nearest = np.floor(voxels + 0.5).astype(int)
    held = np.all((nearest >= 0) & (nearest < shape), axis=1)
    wanted_labels = np.where(held, labels[tuple(np.where(held[:, None], nearest, 0).T)], 0)

    for name, array in [("fa", fa), ("labels", labels)]:
        made = zarr.create_array(folder / f"{name}.zarr", shape=array.shape, chunks=(16, 20, 12), dtype=array.dtype)
        made[...] = array
        run(program, "volume", "convert", folder / f"{name}.zarr", folder / f"{name}.tet")
        run(program, "volume", "convert", folder / f"{name}.tet", folder / f"{name}.b2nd", "--block-shape", "8,10,6")

    wrong, first = 0, {}
    for form in ("zarr", "tet", "b2nd"):
        run(program, "sample", store, "--volume", folder / f"fa.{form}", "--as", f"fa_{form}", "--affine", numbers)
        run(
            program, "sample", store, "--volume", folder / f"labels.{form}", "--as", f"label_{form}",
            "--affine", numbers, "--order", "nearest",
        )
        for name, truth in [("fa", wanted), ("label", wanted_labels)]:
            at, found = column(program, store, f"{name}_{form}")
            assert np.array_equal(at, positions)
            same = np.array_equal(found, first.setdefault(name, found), equal_nan=True)
            if name == "fa":
                # A place on the border may be inside by rounding for one of the two.
                border = np.any(np.abs(voxels - np.round(voxels)) < 1e-5, axis=1)
                close = np.isclose(found, truth, rtol=0, atol=2e-6, equal_nan=True) | border
            else:
                border = np.any(np.abs(voxels + 0.5 - np.round(voxels + 0.5)) < 1e-5, axis=1)
                close = (found == truth) | border
            differ = int((~close).sum()) + (not same)
            wrong += differ
            outside = int(np.isnan(found).sum()) if name == "fa" else int((~held).sum())
            print(f"{name} from {form}: {len(found)} vertices, {outside} outside, {differ} differ")
    assert 0 < np.isnan(wanted).sum() < len(wanted) / 2

    report = subprocess.run([program, "validate", store, "--level", "5", "-q"], capture_output=True, text=True)
    print(f"zvf validate --level 5: exit {report.returncode}")
    wrong += report.returncode
    from zarr_vectors.validate import validate

    errors = [str(one) for one in getattr(validate(str(store), level=5), "errors", [])]
    print(f"validator of the package: {len(errors)} errors", *errors[:3], sep="\n  " if errors else "")
    wrong += len(errors)
    if not wrong:
        shutil.rmtree(folder)
    return compared(f"NumPy {np.__version__}", 6, 6 * len(positions), wrong)


if __name__ == "__main__":
    raise SystemExit(main())
