"""Explicit signatures for IPython and Jupyter, whose completion and help ignore the typed dictionary of `**options: Unpack[..]`."""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from types import FunctionType
from typing import TYPE_CHECKING, Any

from . import _job_options, _options, _region

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN = {**vars(_job_options), **vars(_options), **vars(_region)}


def state_options(scope: Mapping[str, Any]) -> None:
    """Gives every function of a scope, and of the classes of this package in it, a signature with the members of its typed dictionary."""
    for value in list(scope.values()):
        if isinstance(value, FunctionType):
            options = str(value.__annotations__.get(_rest(value), ""))
            if options.startswith("Unpack["):
                value.__signature__ = _expanded(value, KNOWN[options.removeprefix("Unpack[").removesuffix("]")])  # type: ignore[attr-defined]
        elif isinstance(value, type) and value.__module__.startswith("zvf."):
            state_options(vars(value))


def _rest(function: FunctionType) -> str:
    """The name of the parameter `**name`, or an empty text."""
    code = function.__code__
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return ""
    others = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    return code.co_varnames[others]


def _expanded(function: FunctionType, options: Any) -> Signature:
    signature = inspect.signature(function)
    *stated, _ = signature.parameters.values()
    members = [
        # `...` stands for the default, as in a stub.
        Parameter(name, Parameter.KEYWORD_ONLY, default=..., annotation=given.__forward_arg__)
        for name, given in options.__annotations__.items()
    ]
    # Options that are about access to the store come last.
    members.sort(key=lambda member: member.name in _options.JobOptions.__annotations__)
    return signature.replace(parameters=[*stated, *members])
