"""How a store is reached and written: the keyword arguments that most functions take."""

from __future__ import annotations

import os
from numbers import Number
from typing import TYPE_CHECKING, Any, TypedDict

from . import _zvf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Progress = Callable[[int], object] | bool
    """A function, or True for a bar of tqdm."""


class Options(TypedDict, total=False):
    """How a store is reached."""

    anonymous: bool
    """Send no credentials: for public buckets."""
    concurrency: int
    """Requests in flight at once."""
    retries: int
    """How often a failed request is sent again where the failure may pass."""
    timeout: float
    """Seconds that one request may take with all its retries."""
    verify: bool
    """Look at the end whether the store changed meanwhile. Default true."""
    memory_budget: int
    """Bytes of decoded data in memory at once."""
    storage_options: Mapping[str, str | float | bool] | object
    """Options of the backend, such as `region` or `aws_access_key_id`; or a store of obstore with the same bucket, whose configuration
    they are taken from."""
    trace_io: str | os.PathLike[str]
    """A file to which a line of JSON is appended for each request of a store that `open` returns, as `--trace-io` of the program writes them. Other functions refuse it."""


class JobOptions(Options, total=False):
    """How a store is reached and written by a job."""

    durable: bool
    """Wait for the disk, so that a loss of power leaves the store as it was or complete. Default true."""


class WriteOptions(Options, total=False):
    """How a store is written."""

    clear_leftovers: bool
    """Remove what an interrupted writer left."""
    durable: bool
    """Wait for the disk, so that a loss of power leaves the store as it was or complete. Default true."""


def address(url: str | os.PathLike[str]) -> str:
    """A path or URL as text."""
    return os.fspath(url)


def absolute(url: str) -> str:
    """The same address for a process in another working directory."""
    return url if "://" in url else os.path.join(os.getcwd(), url)


def access(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the extension asks for of `Options`."""
    known = set(WriteOptions.__annotations__)
    for name in options:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}, expected one of {', '.join(sorted(known))}")
    return {
        "anonymous": options.get("anonymous", False),
        "concurrency": options.get("concurrency"),
        "retries": options.get("retries"),
        "timeout": options.get("timeout"),
        "verify": options.get("verify", True),
        "memory_budget": options.get("memory_budget"),
        "storage": _storage(options.get("storage_options", {})),
        "trace_io": options.get("trace_io"),
    }


def _storage(given: Any) -> list[tuple[str, str]]:
    """Options of the backend, where a store of obstore is given those that it was made with.

    The store itself belongs to another extension, whose requests cannot be sent from here. Its retries are not taken over: every
    request is retried as `retries` and `timeout` say.
    """
    if hasattr(given, "items"):
        return [(str(name), _option(name, value)) for name, value in given.items()]
    if not type(given).__module__.startswith("obstore."):
        raise _zvf.MisuseError(f"storage_options: found {type(given).__name__}, expected a mapping or a store of obstore")
    if getattr(given, "credential_provider", None) is not None:
        raise _zvf.MisuseError("storage_options: found a store with a credential provider, expected credentials in its configuration")
    found = {**(getattr(given, "config", None) or {}), **(getattr(given, "client_options", None) or {})}
    # The address names them.
    for name in ("bucket", "container_name"):
        found.pop(name, None)
    wrong = [name for name, value in found.items() if not isinstance(value, str)]
    if wrong:
        raise _zvf.MisuseError(f"storage_options: found a store with {', '.join(wrong)}, expected options that are texts")
    return list(found.items())


def _option(name: str, value: Any) -> str:
    """An option of a backend as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | Number):
        raise _zvf.MisuseError(f"storage_options: found {value!r} for {name}, expected a text or a number")
    return str(value)


def writing(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the extension asks for of `WriteOptions`."""
    return {
        "access": access(options),
        "clear_leftovers": options.get("clear_leftovers", False),
        "durable": options.get("durable", True),
    }


def document(text: str) -> dict[str, Any]:
    """A document of the extension."""
    from json import loads

    found: dict[str, Any] = loads(text)
    return found
