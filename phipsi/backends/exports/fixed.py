"""A computation with numbers in place of some entries of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from phipsi.backends.job import Changed, Computation, Shape
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.trace import Trace

Key = tuple[str, int]  # an argument, and which entry of it


@dataclass(frozen=True)
class Fixed(Changed):
    """What is left of a computation once some numbers are known.

    Args:
        base: the computation.
        numbers: of each entry that is known, by (argument, entry).
    """

    base: Computation
    numbers: Mapping[Key, float]

    @property
    def key(self) -> None:
        """None: it is compiled by others."""

    @cached_property
    def places(self) -> dict[Key, Key | float]:
        """Of every entry of the base its place here, or its number."""
        places: dict[Key, Key | float] = {}
        for name, shape in self.base.inputs.items():
            entry = 0
            for e in range(prod(shape)):
                known = self.numbers.get((name, e))
                places[name, e] = (name, entry) if known is None else known
                entry += known is None
        return places

    @cached_property
    def inputs(self) -> Mapping[str, Shape]:
        inputs = dict(self.base.inputs)
        for name in {name for name, _ in self.numbers}:
            left = [x for (argument, _), x in self.places.items() if argument == name]
            inputs[name] = (sum(isinstance(x, tuple) for x in left),)
        return {name: shape for name, shape in inputs.items() if 0 not in shape}

    def traced(self, limit: int | None = None) -> Trace:
        known, graph = self.base.traced(limit), Graph(limit)
        inputs = {
            key: graph.input(x) if isinstance(x, tuple) else x for key, x in self.places.items()
        }
        flat = [x for entries in known.outputs for x in entries]
        copies = iter(graph.graft([*flat, *known.checks], inputs))
        outputs = tuple(tuple(next(copies) for _ in entries) for entries in known.outputs)
        checks = [x if isinstance(x, Node) else graph.false for x in copies if x is not True]
        return Trace(graph, outputs, tuple(dict.fromkeys(checks)))
