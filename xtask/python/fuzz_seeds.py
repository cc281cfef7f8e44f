"""Seeds the fuzz corpora from the bundled stores: `fuzz_seeds.py TESTDATA`.

Takes small, distinct blobs of every family, puts the parameter bytes of their target in front (crates/zvf-fuzz says which)
and writes them to testdata/fuzz/<target>/seed-<hash>. Crashes found by a fuzzer lie beside them and are left alone.
"""

import gzip
import hashlib
import json
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import zarr

from fuzz_older import older

# Files a target gets, and the largest of them.
COUNT, SIZE = 14, 1500

TYPES = ["int64", "int32", "int16", "int8"]


class Corpora:
    def __init__(self, folder: Path):
        self.folder, self.sizes = folder, {}

    def add(self, target: str, data: bytes) -> None:
        known = self.sizes.setdefault(target, set())
        # One seed of every length is enough variety.
        if len(known) >= COUNT or len(data) > SIZE or len(data) in known:
            return
        known.add(len(data))
        self.keep(target, data)

    def keep(self, target: str, data: bytes) -> None:
        folder = self.folder / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


def arrays(store: Path, corpora: Corpora) -> None:
    for name, node in sorted(zarr.open_group(store, mode="r").members(max_depth=None)):
        document = (store / name / "zarr.json").read_bytes()
        corpora.add("document", document)
        if name.endswith("vertices"):
            corpora.add("array_document", document)
            cells(corpora, json.loads(document)["codecs"], sorted((store / name / "c").rglob("*")))
        if not isinstance(node, zarr.Array):
            continue
        parts, attributes = name.split("/"), dict(node.attrs)
        if node.dtype != object:
            continue
        blobs = [bytes(blob) for blob in node[...].ravel() if len(blob)]
        for blob in blobs[:40]:
            if parts[-1] in ("vertex_fragments", "link_fragments"):
                corpora.add("fragment_index", b"\0\xff\x7f" + blob)
                corpora.add("fragment_index", b"\1\xff\x7f" + blob[8:])
            elif parts[-1] == "manifests":
                corpora.add("manifest", bytes([json.loads((store / parts[0] / "object_index" / "zarr.json").read_text())["attributes"]["sid_ndim"]]) + blob)
            elif len(parts) > 2 and parts[1] == "links":
                link_cell(corpora, parts, attributes, blob)
        for path in sorted((store / name).glob("c/**/*"))[:3]:
            if path.is_file() and len(json.loads(document)["codecs"]) == 1:
                corpora.add("vlen", b"\xff" + path.read_bytes())


def cells(corpora: Corpora, codecs: list, paths: list[Path]) -> None:
    """Stored objects of an array: chains of codecs, shards."""
    names = [codec["name"] for codec in codecs]
    for path in [path for path in paths if path.is_file()][:8]:
        if names[0] == "sharding_indexed":
            corpora.add("shard", b"\3" + path.read_bytes())
            corpora.add("shard", b"\7" + path.read_bytes()[:-4])
        elif names[1:] in (["zstd"], ["blosc"]):
            chain = bytes([["zstd", "gzip", "blosc"].index(names[1])])
            corpora.add("codecs", chain + path.read_bytes())
            corpora.add("codec_ranges", chain + b"\x5a\x28" + path.read_bytes())
            corpora.add("shard", b"\2" + path.read_bytes())
        else:
            corpora.add("shard", b"\0" + path.read_bytes())


def made(corpora: Corpora) -> None:
    """What the bundled stores lack: gzip, crc32c, shards of a 2 x 2 x 2 grid."""
    import google_crc32c

    for size in (0, 3, 40, 400):
        plain = bytes(k * k % 251 for k in range(size))
        packed = gzip.compress(plain, mtime=0)
        check = lambda data: data + google_crc32c.value(data).to_bytes(4, "little")
        corpora.add("codec_ranges", b"\1\x5a\x28" + packed)
        corpora.add("codec_ranges", b"\3\x5a\x28" + check(plain))
        corpora.add("codecs", b"\1" + packed)
        corpora.add("codecs", b"\3" + check(plain))
        corpora.add("codecs", b"\4" + check(packed))
        cell = (1).to_bytes(4, "little") + size.to_bytes(4, "little") + plain
        places = [(2**64 - 1, 2**64 - 1)] * 8
        places[0] = places[5] = (0, len(cell))
        index = b"".join(a.to_bytes(8, "little") + b.to_bytes(8, "little") for a, b in places)
        corpora.add("shard", b"\5" + cell + index)
        corpora.add("shard", b"\1" + cell + check(index))


def link_cell(corpora: Corpora, parts: list[str], attributes: dict, blob: bytes) -> None:
    crosses = parts[2] != "0" or any(map(any, attributes["offsets"]))
    options = int(attributes["has_perm"]) | (2 if crosses else 0)
    corpora.add("link_cell", bytes([attributes["link_width"], TYPES.index(attributes["dtype"]), options]) + blob)
    if crosses:
        corpora.add("ragged", blob)
    rank = len(attributes["offsets"][0]) if attributes["offsets"] else 3
    corpora.add("keys", bytes([rank, attributes["link_width"]]) + parts[3].encode())


def main() -> None:
    testdata = Path(sys.argv[1])
    corpora = Corpora(testdata / "fuzz")
    for archive in sorted((testdata / "zvf" / "0.9").glob("*.tar.gz")):
        with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as source:
            source.extractall(folder, filter="data")
            store = Path(folder) / archive.name.removesuffix(".tar.gz") / "store.zarrvectors"
            corpora.add("document", (store / "zarr.json").read_bytes())
            arrays(store, corpora)
    made(corpora)
    older(corpora.keep)
    for key in ("0.0.0", "-1.0.12", "self", "+1", "-2", "0", "7"):
        corpora.add("keys", bytes([3, 2]) + key.encode())
    for name in ("float32", ">f4", "<U5", "|S3", "datetime64[ns]", "timedelta64[us]", "bool", "complex128", "object"):
        corpora.add("dtype", name.encode())
    for width in range(1, 9):
        corpora.add("lehmer", bytes([width]) + (width * 3 - 3).to_bytes(8, "little") + bytes(range(width)))


if __name__ == "__main__":
    main()
