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
    """How often a request is sent again after a failure that may be temporary."""
    timeout: float
    """Seconds that one request may take with all its retries."""
    verify: bool
    """Check at the end whether the store changed meanwhile. Default true."""
    memory_budget: int
    """Bytes of decoded data in memory at once."""
    storage_options: Mapping[str, str | float | bool] | object
    """Options of the backend, such as `region` or `aws_access_key_id`; or an obstore store of the same bucket, from whose configuration
    they are taken."""
    trace_io: str | os.PathLike[str]
    """A file to which each request of a store from `open` appends a line of JSON, as `--trace-io` of the program does. Other functions refuse this option."""


class JobOptions(Options, total=False):
    """How a store is reached and written by a job."""

    durable: bool
    """Wait for the disk, so that a loss of power leaves the store as it was or complete. Default true."""


class WriteOptions(Options, total=False):
    """How a store is written."""

    clear_leftovers: bool
    """Remove the files that an interrupted writer left."""
    durable: bool
    """Wait for the disk, so that a loss of power leaves the store as it was or complete. Default true."""


def address(url: str | os.PathLike[str]) -> str:
    """A path or URL as text."""
    return os.fspath(url)


def absolute(url: str) -> str:
    """The same address for a process in another working directory."""
    return url if "://" in url else os.path.join(os.getcwd(), url)


def access(options: Mapping[str, Any]) -> dict[str, Any]:
    """The members of `Options`, as the extension takes them."""
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
    """Options of the backend; of a store of obstore, the options with which it was made.

    The store belongs to another extension, so this package cannot send requests through it. Its retry options are ignored: `retries` and `timeout`
    apply.
    """
    if hasattr(given, "items"):
        return [(str(name), _option(name, value)) for name, value in given.items()]
    if not type(given).__module__.startswith("obstore."):
        raise _zvf.MisuseError(f"storage_options: found {type(given).__name__}, expected a mapping or a store of obstore")
    if getattr(given, "credential_provider", None) is not None:
        raise _zvf.MisuseError("storage_options: found a store with a credential provider, expected credentials in its configuration")
    found = {**(getattr(given, "config", None) or {}), **(getattr(given, "client_options", None) or {})}
    # These are part of the address.
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
    """The members of `WriteOptions`, as the extension takes them."""
    return {
        "access": access(options),
        "clear_leftovers": options.get("clear_leftovers", False),
        "durable": options.get("durable", True),
    }


def document(text: str) -> dict[str, Any]:
    """Parses a JSON document of the extension."""
    from json import loads

    found: dict[str, Any] = loads(text)
    return found
