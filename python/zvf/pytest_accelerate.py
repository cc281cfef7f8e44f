"""A pytest plugin that runs tests of `zarr-vectors` with `zvf.accelerate()`, and counts the calls that it served.

Use it by `-p zvf.pytest_accelerate`. `--zvf-counts FILE` writes the counts as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._accelerate import accelerate

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option `--zvf-counts`."""
    parser.addoption("--zvf-counts", metavar="FILE", default=None, help="write the calls that zvf served as JSON")


def pytest_configure() -> None:
    """Replaces the functions before tests import them."""
    accelerate()


def pytest_unconfigure() -> None:
    """Restores the functions."""
    accelerate.undo()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the counts of calls."""
    stats = accelerate.stats()
    terminalreporter.section("calls served by zvf")
    for name, calls in stats.items():
        terminalreporter.write_line(f"{name:<16}{calls.served:>7} served{sum(calls.left.values()):>7} left to zarr-vectors")
        for reason, count in sorted(calls.left.items()):
            terminalreporter.write_line(f"{'':<16}{count:>7} {reason}")
    file = config.getoption("--zvf-counts")
    if file is not None:
        import json
        from pathlib import Path

        Path(file).write_text(json.dumps({name: calls._asdict() for name, calls in stats.items()}, indent=1))
