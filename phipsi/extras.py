"""Packages that come with an extra: imported on first use, asked for by name if missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from phipsi.errors import BackendError


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """A module of an optional package, or BackendError with the line that installs it.

    Args:
        module: its name, as after `import`.
        extra: the extra of phipsi that brings it.
        purpose: what it is needed for, as the subject of a sentence.

    >>> need("math", "plot", "a plot").pi
    3.141592653589793
    >>> need("no_such_module", "plot", "a plot")
    Traceback (most recent call last):
        ...
    phipsi.errors.BackendError: a plot needs no_such_module: pip install 'phipsi[plot]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or module
        raise BackendError(f"{purpose} needs {missing}: pip install 'phipsi[{extra}]'") from error
