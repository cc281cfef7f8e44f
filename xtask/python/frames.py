"""The same streamlines as TRK, TCK and TRX, through stores, judged by nibabel and SciPy.

    frames.py ZVF FOLDER

Streamlines are made here, with an oblique affine of anisotropic voxels far from the origin, in several voxel orders. nibabel writes TRK and TCK;
TRX is written by its layout: raw arrays beside a header, in an archive. Then, with `zvf`:

- every file is imported and exported as each of the three formats; nibabel (of TRX NumPy) reads what came out, which has to be the scanner
  millimetres (RASMM) that nibabel reads from the TRK, within the rounding of float32;
- a box over the stores of the three files has the same vertices;
- `sample` of a volume, with the affine of the NIfTI image that nibabel writes, is SciPy's `map_coordinates` of order 1, on every store;
- a store of TrackVis millimetres, with and without a statement of its frame as earlier builds wrote it, exports and samples the same;
- affines of NIfTI headers map tables of points as nibabel's `apply_affine` does.

Ends with 1 when anything differs.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import sys
import warnings
import zipfile
from pathlib import Path

warnings.simplefilter("ignore")

import nibabel
import numpy as np
import scipy
import zarr
from nibabel.affines import apply_affine
from nibabel.streamlines import Tractogram, load, save
from scipy.ndimage import map_coordinates
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from outcome import compared
from reading import run

SIZES = np.array([2.0, 1.5, 3.0])
SHAPE = np.array([60, 76, 40])
FORMATS = ("trk", "tck", "trx")
checks = {"compared": 0, "wrong": 0}


def check(what: str, good: bool) -> None:
    checks["compared"] += 1
    if not good:
        checks["wrong"] += 1
        print(f"DIFFERS: {what}")


def oblique(order: str) -> np.ndarray:
    """An affine whose voxel axes are those of `order`, turned by up to 35 degrees, with an origin as that of MNI images."""
    turn = Rotation.from_euler("xyz", [12, -20, 15], degrees=True).as_matrix()
    axes = np.zeros((3, 3))
    for column, letter in enumerate(order):
        for row, pair in enumerate(("LR", "PA", "IS")):
            if letter in pair:
                axes[row, column] = 1 if letter == pair[1] else -1
    affine = np.eye(4)
    affine[:3, :3] = turn @ axes @ np.diag(SIZES)
    affine[:3, 3] = [-2.5, -17.25, 18.125] - affine[:3, :3] @ ((SHAPE - 1) / 2) + [0.5, -0.25, 1.0]
    return affine.astype(np.float32).astype(np.float64)


def streamlines(affine: np.ndarray) -> list[np.ndarray]:
    """Curves inside of the image, in scanner millimetres."""
    rng = np.random.default_rng(11)
    lines = []
    for count in rng.integers(20, 60, size=60):
        start = rng.uniform(0.2, 0.8, size=3) * SHAPE
        steps = rng.normal(size=3) * 0.3 + np.cumsum(rng.normal(size=(count, 3)) * 0.08, axis=0)
        voxels = np.clip(start + np.cumsum(steps, axis=0), 0.5, SHAPE - 1.5)
        lines.append(apply_affine(affine, voxels).astype(np.float32))
    return lines


def write_trx(path: Path, lines: list[np.ndarray], affine: np.ndarray) -> None:
    points = np.concatenate(lines).astype("<f4")
    offsets = np.cumsum([0] + [len(line) for line in lines]).astype("<u8")
    header = {
        "DIMENSIONS": SHAPE.tolist(),
        "VOXEL_TO_RASMM": affine.tolist(),
        "NB_VERTICES": len(points),
        "NB_STREAMLINES": len(lines),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("positions.3.float32", points.tobytes())
        archive.writestr("offsets.uint64", offsets.tobytes())


def read(path: Path) -> list[np.ndarray]:
    """Scanner millimetres of a file."""
    if path.suffix != ".trx":
        return [np.asarray(line, dtype=np.float64) for line in load(path).streamlines]
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name.startswith("positions.3.")]
        points = np.frombuffer(archive.read(names[0]), dtype=f"<f{int(names[0][-2:]) // 8}").reshape(-1, 3)
        offsets = np.frombuffer(archive.read("offsets.uint64"), dtype="<u8").astype(int)
    check(f"{path.name}: counts", (header["NB_VERTICES"], header["NB_STREAMLINES"]) == (len(points), len(offsets) - 1))
    return [points[a:b].astype(np.float64) for a, b in zip(offsets[:-1], offsets[1:])]


def equal(found: list[np.ndarray], wanted: list[np.ndarray], slack: float) -> bool:
    if [len(one) for one in found] != [len(one) for one in wanted]:
        return False
    return bool(np.abs(np.concatenate(found) - np.concatenate(wanted)).max() <= slack)


def table(program: str, store: Path, *more) -> np.ndarray:
    text = run(program, "query", store, "--format", "csv", *more)
    return np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1, dtype=np.float64, ndmin=2)


def between(values: np.ndarray, share: float) -> float:
    """A number near a quantile, in the middle of the widest gap there."""
    values = np.sort(values)[int(share * len(values)):][:50]
    at = np.diff(values).argmax()
    return float(values[at] + values[at + 1]) / 2


def same_rows(found: np.ndarray, wanted: np.ndarray, slack: float) -> bool:
    """Whether rows are the same in any order: each has its own partner within `slack`."""
    if found.shape != wanted.shape:
        return False
    distance, partner = cKDTree(wanted).query(found)
    return len(np.unique(partner)) == len(wanted) and bool(distance.max(initial=0) <= slack * 2)


def strip(store: Path) -> None:
    """The header as imports of earlier builds wrote it."""
    path = store / "headers/trk/zarr.json"
    document = json.loads(path.read_text())
    for name in ("space", "voxelmm_to_rasmm", "rasmm_to_voxelmm"):
        del document["attributes"][name]
    path.write_text(json.dumps(document))


def one_order(program: str, folder: Path, order: str, stated: bytes | None) -> None:
    """All paths for the voxels of one affine; `stated` replaces the voxel order in the header of TRK."""
    affine = oblique(order)
    lines = streamlines(affine)
    header = {"voxel_to_rasmm": affine, "voxel_sizes": SIZES, "dimensions": SHAPE, "voxel_order": order}
    trk, tck, trx = (folder / f"made.{kind}" for kind in FORMATS)
    save(Tractogram(lines, affine_to_rasmm=np.eye(4)), str(trk), header=header)
    if stated is not None:
        raw = bytearray(trk.read_bytes())
        raw[948:952] = stated.ljust(4, b"\0")
        trk.write_bytes(raw)
        # Where nibabel has the points of such a file is where all have to be.
        lines = [np.asarray(line, dtype=np.float32) for line in load(trk).streamlines]
    save(Tractogram(lines, affine_to_rasmm=np.eye(4)), str(tck))
    write_trx(trx, lines, affine)
    wanted = read(trk)
    # nibabel rounds its map, and computes with float32: sums of numbers of up to a few hundred.
    slack = 4 * np.spacing(np.float32(np.abs(np.concatenate(wanted)).max() * 2))
    check(f"{order}: nibabel reads the same of TCK", equal(read(tck), wanted, slack))

    image = nibabel.Nifti1Image(np.random.default_rng(3).random(tuple(SHAPE), dtype=np.float32), affine)
    nifti = folder / "volume.nii.gz"
    nibabel.save(image, nifti)
    made = zarr.create_array(folder / "volume.zarr", shape=image.shape, chunks=(16, 20, 12), dtype="float32")
    made[...] = np.asarray(image.dataobj)
    stores = {kind: folder / f"{kind}.zarrvectors" for kind in FORMATS}
    for kind, store in stores.items():
        run(program, "import", folder / f"made.{kind}", store, "-q")
    for name, space in [("filed", "file"), ("older", "file")]:
        stores[name] = folder / f"{name}.zarrvectors"
        run(program, "import", trk, stores[name], "-q", "--space", space)
    strip(stores["older"])
    stores["voxels"] = folder / "voxels.zarrvectors"
    run(program, "import", trx, stores["voxels"], "-q", "--space", "voxelmm")

    for name, store in stores.items():
        for kind in FORMATS:
            out = folder / f"{name}.{kind}"
            run(program, "export", store, out, "-q")
            check(f"{order}: {name} as {kind}", equal(read(out), wanted, slack))
        frame = json.loads(run(program, "info", store, "--json", "-q"))["frame"]
        stays = name in FORMATS
        check(f"{order}: info of {name}", frame["space"] == ("rasmm" if stays else "voxelmm"))
        if name != "tck":
            check(f"{order}: affine of {name}", np.allclose(frame["voxel_to_rasmm"], affine, rtol=0, atol=1e-12))
    # The points of the file itself.
    raw = trk.read_bytes()
    for name in ("filed", "older"):
        check(f"{order}: {name} as trk, byte for byte", (folder / f"{name}.trk").read_bytes()[1000:] == raw[1000:])
    again, first = (np.frombuffer(one, dtype="<f4").astype(np.float64) for one in
                    ((folder / "trk.trk").read_bytes()[1000:], raw[1000:]))
    back = np.abs(again - first).max()
    check(f"{order}: TRK comes back", back <= slack)

    # A box whose sides are far from every vertex, and what is in it by NumPy.
    points = np.concatenate(wanted)
    owners = np.repeat(np.arange(len(wanted)), [len(line) for line in wanted])
    low, high = (np.array([between(axis, share) for axis in points.T]) for share in (0.3, 0.8))
    box = ",".join(map(repr, low.tolist())) + ":" + ",".join(map(repr, high.tolist()))
    inside = np.all((points >= low) & (points <= high), axis=1)
    truth = np.c_[points, owners][inside]
    for kind in FORMATS:
        found = table(program, stores[kind], "--bbox", box, "--columns", "position,object_id")
        check(f"{order}: rows in a box of {kind}", len(truth) > 20 and same_rows(found, truth, slack))

    for name, store in stores.items():
        run(program, "sample", store, "--volume", folder / "volume.zarr", "--as", "value", "--affine", nifti, "-q")
        found = table(program, store, "--objects", ",".join(map(str, range(len(wanted)))), "--columns", "value")[:, 0]
        voxels = apply_affine(np.linalg.inv(image.affine), points)
        truth = map_coordinates(made[...].astype(np.float64), voxels.T, order=1)
        # A point is known to `slack`, and the volume changes by less than 1 from voxel to voxel on each axis.
        near = np.abs(found - truth) <= 3 * slack / SIZES.min() + 1e-6
        check(f"{order}: sample of {name}", found.shape == truth.shape and bool(near.all()))
    stated = "as it is" if stated is None else repr(stated.decode())
    print(f"{order}, order in the header {stated}: {len(wanted)} streamlines, {len(points)} points, TRK and back {back:.1e}")


def tables(program: str, folder: Path) -> None:
    """Points in voxels, by the headers of images."""
    points = np.random.default_rng(8).uniform(-5, 90, size=(200, 3))
    np.savetxt(folder / "points.csv", points, delimiter=",", header="x,y,z", comments="", fmt="%.17g")
    affine = oblique("LAS")
    for name, klass, form in [("sform", nibabel.Nifti1Image, "s"), ("qform", nibabel.Nifti1Image, "q"),
                              ("none", nibabel.Nifti1Image, ""), ("second", nibabel.Nifti2Image, "sq")]:
        image = klass(np.zeros(tuple(SHAPE), dtype=np.uint8), None)
        image.header.set_zooms(SIZES)
        if "q" in form:
            image.header.set_qform(affine, 1)
        if "s" in form:
            image.header.set_sform(affine, 2)
        for ending in (".nii", ".nii.gz"):
            path = folder / f"{name}{ending}"
            nibabel.save(image, path)
            store = folder / f"{name}{ending.replace('.', '_')}.zarrvectors"
            run(program, "import", folder / "points.csv", store, "-q", "--affine", path)
            wanted = apply_affine(nibabel.load(path).affine, points)
            found = table(program, store, "--columns", "position")
            check(f"points by {path.name}", same_rows(found, wanted, 1e-9))
            info = json.loads(run(program, "info", store, "--json", "-q"))["applied_affine"]["csv"]
            check(f"affine of {path.name}", np.allclose(info, nibabel.load(path).affine, rtol=1e-12, atol=1e-9))


def old_versions(program: str, folder: Path) -> None:
    """Headers without an affine or an order, and of the other byte order."""
    affine = oblique("LAS")
    lines = streamlines(affine)
    path = folder / "old.trk"
    header = {"voxel_to_rasmm": affine, "voxel_sizes": SIZES, "dimensions": SHAPE, "voxel_order": "LAS"}
    save(Tractogram(lines, affine_to_rasmm=np.eye(4)), str(path), header=header)
    raw = path.read_bytes()
    for name, at, patch in [("version 1", 992, struct.pack("<i", 1)), ("a zero affine", 440, bytes(64)),
                            ("no order", 948, bytes(4))]:
        changed = bytearray(raw)
        changed[at:at + len(patch)] = patch
        path.write_bytes(changed)
        store, out = folder / "old.zarrvectors", folder / "old.tck"
        shutil.rmtree(store, ignore_errors=True)
        run(program, "import", path, store, "-q")
        run(program, "export", store, out, "-q")
        wanted = read(path)
        slack = 4 * np.spacing(np.float32(np.abs(np.concatenate(wanted)).max() * 2))
        check(f"TRK with {name}", equal(read(out), wanted, slack))


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    for order, stated in [("LAS", None), ("RAS", None), ("PIR", None), ("LAS", b"LPS")]:
        place = folder / (order + (stated or b"").decode())
        place.mkdir(parents=True)
        one_order(program, place, order, stated)
    tables(program, folder)
    old_versions(program, folder)
    if not checks["wrong"]:
        shutil.rmtree(folder)
    return compared(f"nibabel {nibabel.__version__}, SciPy {scipy.__version__}", checks["compared"], checks["compared"], checks["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
