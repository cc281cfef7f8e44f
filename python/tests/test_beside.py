"""The extension beside others in one process: what it asks of the dynamic linker, and imports in both orders."""

from __future__ import annotations

import importlib.metadata
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import zvf._zvf

OTHERS = {
    "pyarrow": "pyarrow",
    "polars": "polars",
    "duckdb": "duckdb",
    "sedonadb": "sedonadb",
    "vortex-data": "vortex",
    "pylance": "lance",
}

DT_FLAGS = 30
DF_STATIC_TLS = 16
PT_DYNAMIC = 2


def dynamic_flags(elf: bytes) -> int:
    """DT_FLAGS of a 64-bit little-endian ELF library, 0 if it has none."""
    assert elf[:6] == b"\x7fELF\x02\x01"
    (headers,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for header in range(headers, headers + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", elf, header)
        if kind != PT_DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", elf[offset : offset + length]):
            if tag == DT_FLAGS:
                return int(value)
    return 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads an ELF header")
def test_the_extension_takes_no_static_tls() -> None:
    extension = Path(zvf._zvf.__file__)
    assert dynamic_flags(extension.read_bytes()) & DF_STATIC_TLS == 0


@pytest.mark.skipif(sys.platform != "linux", reason="compiles an ELF library")
@pytest.mark.parametrize("model", ["initial-exec", "local-dynamic"])
def test_static_tls_is_seen(tmp_path: Path, model: str) -> None:
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("static __thread int value; int *place(void) { return &value; }")
    try:
        subprocess.run(["cc", "-shared", "-fPIC", f"-ftls-model={model}", source, "-o", library], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    assert bool(dynamic_flags(library.read_bytes()) & DF_STATIC_TLS) == (model == "initial-exec")


def run(code: str) -> None:
    """Runs code in a process of its own."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("first", ["zvf", "other"])
@pytest.mark.parametrize("package", OTHERS)
def test_imports_in_both_orders(package: str, first: str) -> None:
    importlib.metadata.version(package)  # an import by another name would show nothing
    both = ["zvf", OTHERS[package]]
    order = both if first == "zvf" else both[::-1]
    run(f"import {', '.join(order)}")


@pytest.mark.parametrize("first", ["zvf", "others"])
def test_imports_beside_all_others(first: str) -> None:
    order = ["zvf", *OTHERS.values()]
    if first == "others":
        order = order[1:] + order[:1]
    run(f"import {', '.join(order)}")
