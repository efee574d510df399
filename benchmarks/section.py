"""A part of a run that has its own table, and its own bars."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .bar import Bar
from .plan import Plan


@dataclass(frozen=True)
class Section:
    """What is measured, and how it is shown.

    Args:
        name: on the command line.
        title: on the page.
        text: what the table has, and how it was measured.
        measure: does so, and gives what it finds one by one.
        line: one of them as a line, for who watches.
        table: of all of them.
        bars: all that are set, measured or not.
    """

    name: str
    title: str
    text: str
    measure: Callable[[Plan], Iterator[Any]]
    line: Callable[[Any], str]
    table: Callable[[Sequence[Any]], str]
    bars: Callable[[Sequence[Any]], Iterator[Bar]]


def found_of(found: Sequence[Any], robot: str, task: str) -> Any:
    """Of a robot and a task; None if it was not measured."""
    return next((x for x in found if (x.robot, x.task) == (robot, task)), None)
