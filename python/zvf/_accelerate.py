"""Replaces the hot functions of the released package `zarr-vectors` by faster ones of this package."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    Function = Callable[..., Any]

VERSION = "0.9.2"
"""The release whose functions are replaced; other releases may have other functions."""


class NotServedError(Exception):
    """A call that is left to the released package; the text is the reason."""


class Point(NamedTuple):
    """A function of the released package that is replaced."""

    name: str
    module: str
    owner: str | None
    attribute: str
    replacement: str
    """Name of a function of `zvf._accelerated`, with the same arguments."""
    is_async: bool = False


POINTS = (
    Point("read_points", "zarr_vectors.types.points", None, "read_points", "points"),
    Point("read_lines", "zarr_vectors.types.lines", None, "read_lines", "lines"),
    Point("read_polylines", "zarr_vectors.types.polylines", None, "read_polylines", "polylines"),
    Point("read_graph", "zarr_vectors.types.graphs", None, "read_graph", "graph"),
    Point("read_mesh", "zarr_vectors.types.meshes", None, "read_mesh", "mesh"),
    Point("Level.read", "zarr_vectors.api.level", "Level", "_execute", "level"),
    Point("Level.aread", "zarr_vectors.api.level", "Level", "_aexecute", "level", True),
    Point("build_pyramid", "zarr_vectors.multiresolution.coarsen", None, "build_pyramid", "pyramid"),
)


class Served(NamedTuple):
    """Calls of one replaced function."""

    served: int
    """Answered by this package."""
    left: dict[str, int]
    """Left to the released package, by the reason."""


class _Calls:
    """Counts of one replaced function."""

    def __init__(self) -> None:
        self.served = 0
        self.left: dict[str, int] = {}

    def leave(self, reason: str) -> None:
        self.left[reason] = self.left.get(reason, 0) + 1


class Accelerate:
    """Replaces the hot functions of the installed `zarr-vectors` by those of this package: `zvf.accelerate()`.

    This package serves calls for stores on the local disk: `read_points`, `read_lines`, `read_polylines`, `read_graph`, `read_mesh`, `Level.read`,
    `Level.aread`, and `build_pyramid`, with the method of the released package. All other calls, such as those with other backends or attribute
    filters, are left to the released package. So are calls that fail here, so that the errors of the released package are raised; with `strict=True`
    such a call raises `zvf.MisuseError` instead.

    Modules that imported these functions before keep the original ones.

    >>> with zvf.accelerate():
    ...     zarr_vectors.open("tracts.zarrvectors").level(0).read()
    """

    def __init__(self) -> None:
        self._strict = False
        self._replaced: list[tuple[Any, str, Function, Function]] = []
        self._calls: dict[str, _Calls] = {point.name: _Calls() for point in POINTS}

    def __call__(self, strict: bool = False) -> Self:
        """Replaces the functions, or only sets `strict` if they are replaced already. `undo`, or the end of the block as a context manager, restores
        them."""
        self._strict = strict
        if self._replaced:
            return self
        from importlib import import_module

        released = import_module("zarr_vectors")
        if released.__version__ != VERSION:
            raise _zvf.MisuseError(f"zarr-vectors: found version {released.__version__}, expected {VERSION}")
        for point in POINTS:
            module = import_module(point.module)
            holder = module if point.owner is None else getattr(module, point.owner)
            original = getattr(holder, point.attribute)
            self._put(holder, original, self._wrapped(point, original))
        return self

    @property
    def active(self) -> bool:
        """Whether the functions are replaced."""
        return bool(self._replaced)

    def stats(self) -> dict[str, Served]:
        """Calls of each replaced function since the import or `reset`."""
        return {name: Served(calls.served, dict(calls.left)) for name, calls in self._calls.items()}

    def reset(self) -> None:
        """Sets all counts to 0."""
        for calls in self._calls.values():
            calls.served = 0
            calls.left.clear()

    def undo(self) -> None:
        """Restores the functions of the released package."""
        for holder, name, original, replacement in reversed(self._replaced):
            if vars(holder).get(name) is replacement:
                setattr(holder, name, original)
        self._replaced.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def _put(self, holder: Any, original: Function, replacement: Function) -> None:
        """Replaces a function in all modules of the released package that refer to it."""
        import sys

        holders = [module for name, module in sys.modules.items() if name.split(".")[0] == "zarr_vectors"]
        for one in (holder, *(module for module in holders if module is not holder)):
            for name, value in list(vars(one).items()):
                if value is original:
                    setattr(one, name, replacement)
                    self._replaced.append((one, name, original, replacement))

    def _wrapped(self, point: Point, original: Function) -> Function:
        calls = self._calls[point.name]

        def serve(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
            from . import _accelerated

            # Other code may still hold this function after `undo`.
            if not self._replaced:
                return False, None
            try:
                found = getattr(_accelerated, point.replacement)(*args, **kwargs)
            except _zvf.BugError:
                raise
            except NotServedError as error:
                reason = str(error)
            except _zvf.Error as error:
                # Levels may have been written, or another program of zvf is writing them.
                if point.replacement == "pyramid" and not isinstance(error, _zvf.MisuseError):
                    raise
                reason = f"raises {type(error).__name__}"
            else:
                calls.served += 1
                return True, found
            calls.leave(reason)
            if self._strict:
                raise _zvf.MisuseError(f"{point.name}: found a call that is left to zarr-vectors: {reason}")
            return False, None

        if point.is_async:

            @wraps(original)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                from asyncio import to_thread

                served, found = await to_thread(serve, args, kwargs)
                return found if served else await original(*args, **kwargs)

            return waiting

        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            served, found = serve(args, kwargs)
            return found if served else original(*args, **kwargs)

        return replacement


accelerate = Accelerate()
"""Replaces the hot functions of the installed `zarr-vectors` by those of this package."""
