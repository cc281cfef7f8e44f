"""Progress of calls: a function that is called with counts, or bars of tqdm."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._options import Progress

    Report = Callable[[int, int | None], object]
    """Called with the number of units that were done since the last call, and with their total if it is known."""
    Begin = Callable[[str, str], Report]
    """Called with the name of a job and the unit of its counts when the job begins."""


@contextmanager
def shown(progress: Progress | None, *, so_far: bool = False) -> Iterator[Begin | None]:
    """The callback of the extension for an argument `progress`. With `so_far`, the function of the caller gets the sum of all counts, otherwise each
    count."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bars = _Bars()
        try:
            yield bars.begin
        finally:
            bars.close()
    elif callable(progress):
        yield _calls(progress, so_far)
    else:
        raise _zvf.MisuseError(f"progress: found {progress!r}, expected a function, or True for a bar of tqdm")


def _calls(function: Callable[[int], object], so_far: bool) -> Begin:
    def begin(_job: str, _unit: str) -> Report:
        count = 0

        def report(done: int, _total: int | None) -> None:
            nonlocal count
            count = count + done if so_far else done
            function(count)

        return report

    return begin


class _Bars:
    """One bar for each job that counts something, from its first count to the beginning of the next job."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
        except ImportError:
            raise _zvf.MisuseError("progress: found True, expected a function, since tqdm is not installed (pip install tqdm)") from None
        self._tqdm: Any = tqdm
        self._bar: Any = None
        # Several threads of the extension call this.
        self._lock = Lock()

    def begin(self, job: str, unit: str) -> Report:
        self.close()
        scale = {"unit": "B", "unit_divisor": 1024} if unit == "bytes" else {"unit": f" {unit}"}

        def report(done: int, total: int | None) -> None:
            with self._lock:
                if self._bar is None:
                    self._bar = self._tqdm(desc=job, total=total, unit_scale=True, **scale)
                self._bar.update(done)

        return report

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
