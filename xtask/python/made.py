"""Stores that no package at hand writes, made from seeds after the format pages: `made.py TESTDATA [write]`.

The encoders and writers beside this file (`made_*.py`) share nothing with the programs that the stores test. Without `write`
every store is made again and compared with its archive: names, documents and decoded arrays. Zarr-Python reads every array,
so a node that is not Zarr fails here.
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import made_cells_kinds
import made_new
import made_old
import made_old_kinds
import made_padded
import made_refused
from made_case import Case

GENERATIONS = [made_old.MAKERS, made_old_kinds.MAKERS, made_cells_kinds.MAKERS, made_padded.MAKERS, made_new.MAKERS, made_refused.MAKERS]


def cases() -> list[tuple[str, Case]]:
    """Every made case with its folder."""
    return [(folder, maker()) for table in GENERATIONS for folder, makers in table.items() for maker in makers]


def unpack(archive: Path, name: str) -> dict[str, bytes]:
    with tarfile.open(archive) as source:
        members = [m for m in source.getmembers() if m.isfile()]
        return {m.name.removeprefix(f"{name}/"): source.extractfile(m).read() for m in members}


def differences(old: dict[str, bytes], new: dict[str, bytes]) -> list[str]:
    """What two archives hold that is not the same when decoded."""
    wrong = [f"{name}: only in one" for name in sorted(old.keys() ^ new.keys())]
    changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    arrays = set()
    for name in changed:
        if name.endswith(".json"):
            if json.loads(old[name]) != json.loads(new[name]):
                wrong.append(f"{name}: documents differ")
        elif name == "truth.npz":
            with np.load(io.BytesIO(old[name])) as a, np.load(io.BytesIO(new[name])) as b:
                if set(a) != set(b) or any(a[k].tobytes() != b[k].tobytes() for k in a):
                    wrong.append(f"{name}: input differs")
        else:
            arrays.add(name.split("/c/")[0])
    for path in sorted(arrays):
        a, b = (decoded(files, path) for files in (old, new))
        if a != b:
            wrong.append(f"{path}: cells differ")
    return wrong


def decoded(files: dict[str, bytes], path: str) -> list[bytes]:
    """An array's elements as Zarr-Python decodes them."""
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            if name.startswith(f"{path}/"):
                target = Path(folder, name.removeprefix(f"{path}/"))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        values = zarr.open_array(folder, mode="r", zarr_format=3)[...]
    return [bytes(v) for v in values.ravel()] if values.dtype == object else [values.tobytes()]


def main() -> int:
    testdata, write = Path(sys.argv[1]) / "zvf", sys.argv[2:] == ["write"]
    failed, total = False, 0
    for folder, case in cases():
        archive = testdata / folder / f"{case.name}.tar.gz"
        if write:
            size = case.write(archive)
            total += size
            print(f"  {folder + '/' + case.name:<32} {size:>8,} bytes, {len(case.nodes.files)} files")
            continue
        new = case.files()
        wrong = differences(unpack(archive, case.name), new)
        stores = [name.removesuffix("/zarr.json") for name, data in new.items() if name.endswith("/zarr.json") and b'"node_type":"array"' in data]
        elements = sum(len(value) for path in stores for value in decoded(new, path))
        print(f"  {folder + '/' + case.name:<32} {len(stores):>5} arrays, {elements:>8,} bytes {'DIFFER' if wrong else 'as committed'}")
        for text in wrong:
            print(f"  {'':<32} {text}")
        failed |= bool(wrong)
    if write:
        print(f"  {total:,} bytes in all")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
