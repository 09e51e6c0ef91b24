"""Calls of methods that made the nodes of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whimbrel.expr import Keys


@dataclass(frozen=True, eq=False)
class InputStream:
    """A stream that a call has used, as a place in the plan.

    Rewriting a plan keeps places, so that a query with other sources has the same text.

    Parameters
    ----------
    path : tuple of int
        Numbers of inputs, from the node that the call has made to the one that it used.
    steps : tuple
        Operators along the path, without that of the stream itself.
    keys : Keys
        Keys by which the stream was grouped.
    """

    path: tuple[int, ...]
    steps: tuple[Any, ...]
    keys: Keys = ()


@dataclass(frozen=True, eq=False)
class MethodCall:
    """A method of a stream and its arguments.

    Parameters
    ----------
    name : str
    inputs : tuple of InputStream
        The stream itself, then other streams in the order of the arguments.
    arguments : tuple
        Positional arguments after the streams.
    options : mapping of str to value
    keys_after : Keys
        Keys by which the result is grouped.
    """

    name: str
    inputs: tuple[InputStream, ...]
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    keys_after: Keys = ()
