"""Templates become code: written, compiled and loaded, whatever is looped over.

A template is what is done at one form of body, or at one kind of joint. Its code is made once, and
runs for every machine that has such; a table of rows tells it where the numbers are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phipsi.backends import dense
from phipsi.backends.disk.identity import Parts
from phipsi.backends.disk.records import kept
from phipsi.backends.llvm import (
    Code,
    Target,
    compile_module,
    compile_object,
    compiling,
)
from phipsi.backends.parallel.subtrees import is_separable, write_segments
from phipsi.backends.rolled import RowFormat, TemplateWriter, write_module, write_walk
from phipsi.backends.tables import Codes
from phipsi.backends.write import Width
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.templates import Template


@dataclass(frozen=True)
class Piece:
    """The code of one template.

    Args:
        graph, parameters: what of a row depends on the body alone.
        format: of its rows.
        operations: what is done in one row, and for each entry of each list.
        codes: addresses, for lanes and for one lane.
        keep: what owns the code.
        is_separable: whether subtrees do not need each other in it.
    """

    graph: Graph
    parameters: list[Node]
    format: RowFormat
    operations: list[Counter[str]]
    codes: Codes
    keep: tuple[Code, ...]
    is_separable: bool


@dataclass(frozen=True)
class Draft:
    """A piece whose code is not yet loaded.

    Args:
        name: of its function.
        graph, parameters, format, operations, is_separable: as of the piece.
    """

    graph: Graph
    parameters: list[Node]
    format: RowFormat
    operations: list[Counter[str]]
    name: str
    is_separable: bool


@dataclass(frozen=True)
class Pieces:
    """What belongs to one form of body, or is done once before one loop.

    Args:
        by_pass: of each pass those that run one after the other at a body; or those before it.
        record: how many numbers the record of such a body takes.
    """

    by_pass: Sequence[Any]
    record: int = 0

    def templates(self) -> Iterator[Template]:
        """In order."""
        for x in self.by_pass:
            for y in x if isinstance(x, list) else (x,):
                if isinstance(y, Template):
                    yield y

    def replaced(self, function: Callable[[Any], Any], kind: type) -> Pieces:
        """The same with others in place of what is of a kind, in order."""

        def made(x: Any) -> Any:
            if isinstance(x, list):
                return [made(y) for y in x]
            return function(x) if isinstance(x, kind) else x

        return Pieces([made(x) for x in self.by_pass], self.record)


@dataclass(frozen=True)
class Written:
    """Templates as text.

    Args:
        texts: modules of LLVM IR, by lanes.
        pieces: as of the templates, without code.
    """

    texts: dict[int, str]
    pieces: list[Pieces]


@dataclass(frozen=True)
class Drawn:
    """Templates that are compiled and not yet loaded, as they are kept on disk.

    Args:
        objects: the object files, by lanes.
        pieces: as of the templates, their code by name.
    """

    objects: dict[int, bytes]
    pieces: list[Pieces]


@dataclass(frozen=True)
class Looped:
    """Rolled code on a machine.

    Args:
        rows: the table.
        work: numbers of one lane in the workspace.
        kernels: addresses, for lanes and for one lane.
        operations: what is done in one state.
        stored: numbers kept between loops, of all bodies.
        keep: what owns the code.
    """

    rows: np.ndarray
    work: int
    kernels: Codes
    operations: Counter[str]
    stored: int
    keep: tuple[Any, ...]


class Loops(ABC):
    """A computation on a machine, as loops over a table.

    Attributes:
        inputs: the names of the arguments, in order.
        target: what the code is made for.
    """

    inputs: tuple[str, ...]
    target: Target

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Whether there is code for all that the machine is made of."""

    @property
    @abstractmethod
    def key(self) -> Parts | None:
        """What the code that is missing depends on, beside phipsi; None if nobody can tell."""

    @abstractmethod
    def trace_templates(self) -> list[Pieces]:
        """What is done where the machine has something new, as graphs.

        Raises:
            NotRolledError: it cannot be done in loops; says why.
        """

    @abstractmethod
    def add_pieces(self, pieces: Sequence[Pieces]) -> None:
        """Take over the code of what was traced, for this machine and those to come."""

    @abstractmethod
    def make_table(self) -> Looped:
        """The rows of the machine; there is code for all of them."""


# -- the stages -------------------------------------------------------------------------------


def write_templates(
    templates: Sequence[Pieces], inputs: tuple[str, ...], target: Target
) -> Written:
    """Templates as LLVM IR: a module for lanes, and one for single states.

    Args:
        templates: what is done.
        inputs: the names of the arguments, in order.
        target: what the code is made for.
    """
    every = [x for several in templates for x in several.templates()]
    texts, writers = {}, []
    for lanes in {1, target.lanes} if every else ():
        width = Width(lanes, target.real)
        named = enumerate(every)
        writers = [TemplateWriter(x, inputs, f"template{i}", width) for i, x in named]
        texts[lanes] = write_module(writers)
    drafts = map(_draft, every, writers)  # the same for every width
    return Written(texts, [x.replaced(lambda _: next(drafts), Template) for x in templates])


def _draft(template: Template, writer: TemplateWriter) -> Draft:
    graph, parameters = template.graph.extract(writer.format.parameters)
    format_ = replace(writer.format, parameters=parameters)
    return Draft(
        graph, parameters, format_, writer.operations(), writer.name, is_separable(template)
    )


def compile_templates(written: Written, target: Target) -> Drawn:
    """The object files of templates; `find_templates` keeps them on disk."""
    texts = written.texts.items()
    objects = {lanes: compile_object(text, target, kept=False) for lanes, text in texts}
    return Drawn(objects, written.pieces)


def find_templates(loops: Loops, make: Callable[[], Drawn]) -> Drawn:
    """The code that loops are missing, found on disk or made."""
    return Drawn({}, []) if loops.is_known else kept("pieces", loops.key, make)


def load_templates(drawn: Drawn, target: Target) -> list[Pieces]:
    """Templates with their code in memory."""
    codes = {lanes: Code(x, target) for lanes, x in drawn.objects.items()}
    keep = tuple(codes.values())

    def loaded(x: Draft) -> Piece:
        addresses = codes[target.lanes].address(x.name), codes[1].address(x.name)
        return Piece(x.graph, x.parameters, x.format, x.operations, addresses, keep, x.is_separable)

    return [x.replaced(loaded, Draft) for x in drawn.pieces]


# -- from row to row ---------------------------------------------------------------------------


_walks: dict[Target, tuple[Code, Code]] = {}


def walk_code(target: Target) -> tuple[Code, Code]:
    """The kernels that go from row to row, for lanes and for one lane."""
    with compiling:
        if target not in _walks:
            texts = [
                write_walk(Width(n, target.real), code) + dense.source(n, target.real)
                for code, n in enumerate((target.lanes, 1))
            ]
            many, one = (
                compile_module(text + write_segments(code), target)
                for code, text in enumerate(texts)
            )
            _walks[target] = many, one
        return _walks[target]
