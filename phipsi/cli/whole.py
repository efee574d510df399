"""Whole numbers on the command line: one with a fraction is refused, not rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def read_whole(type_: Any, tokens: Sequence[Token]) -> int:
    """The number that was typed; ValueError if it is no whole one."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number.") from None


Whole = Annotated[int, Parameter(converter=read_whole)]
