"""Memory: that of a scan does not grow with the store, and calls leave nothing. The bounds are generous."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import zvf

Bundled = Callable[[str], Path]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

HEAD = """
import gc, sys, zvf

def memory(name="VmRSS"):
    for line in open("/proc/self/status"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024

store = zvf.open(sys.argv[1], memory_budget=8_000_000)
"""

LEAKS = """
def ask():
    store.query(bbox=((90, 80, 70), (110, 120, 90)), select="objects").read().vertices.to_numpy()
    store.get([3, 4, 5]).positions.sum()
    zvf.open(sys.argv[1]).info
    for batch in store.query(batch_rows=500):
        break
    store.query().vertices.__arrow_c_stream__()

for _ in range(50):
    ask()
gc.collect()
before = memory()
for _ in range(200):
    ask()
gc.collect()
print(memory() - before)
"""

SCAN = """
before = memory()
rows = 0
for batch in store.query():
    rows += batch.num_rows
print(memory("VmHWM") - before, rows)
"""


def run(code: str, url: Path) -> list[int]:
    done = subprocess.run([sys.executable, "-c", HEAD + code, str(url)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_two_hundred_queries_leave_nothing(bundled: Bundled) -> None:
    [grown] = run(LEAKS, bundled("real_tractogram"))
    print(f"memory after 200 rounds of queries: {grown / 1e6:+.1f} MB")
    assert grown < 16e6


def test_a_scan_takes_a_few_batches(tmp_path: Path) -> None:
    url = tmp_path / "points.zarrvectors"
    count = 3_000_000
    rng = np.random.default_rng(3)
    positions = rng.uniform(0, 100, (count, 3)).astype(np.float32)
    attributes = {name: rng.integers(0, 9, count).astype(np.float64) for name in "abcdefgh"}
    zvf.write(url, kind="point_cloud", positions=positions, attributes=attributes, chunk_shape=[10.0] * 3, shard_shape=[5] * 3)
    whole = count * (3 * 4 + 8 * 8)
    peak, rows = run(SCAN, url)
    print(f"peak of a scan of {whole / 1e6:.0f} MB: {peak / 1e6:.1f} MB")
    assert rows == count
    assert peak < whole / 2
