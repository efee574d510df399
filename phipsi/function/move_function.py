"""Moves on the configuration manifold as functions of arrays: `integrate` and `difference`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from phipsi.backends.moves import ARGUMENTS, INTEGRATE, Move
from phipsi.errors import InputError
from phipsi.function.arrays import ArrayFunction
from phipsi.function.call import Bodies, Call, Lists, Options
from phipsi.function.info import Info
from phipsi.graph.graph import FLOPS, count_operations
from phipsi.model import configuration
from phipsi.model.configuration import broadcast, check_configuration, check_speeds
from phipsi.model.model import Model

# The functions that `compile` takes instead of an expression, each registered where it is defined,
# and which move each is.
MOVES: dict[Callable[..., np.ndarray], str] = {}


class MoveFunction(ArrayFunction):
    """`integrate(q, dq)` or `difference(q0, q1)` of a machine. Made by `compile`.

    It is called, bound and differentiated as a `Function` is. On larger machines its code
    loops over the joints.

    Args:
        model: the machine.
        move: which of the two.
        options: how it is compiled.
    """

    _skips = False
    _passes_points = False
    _block_shapes: Mapping[str, tuple[int, ...] | None] = {}

    def __init__(self, model: Model, move: str, options: Options):
        super().__init__(model, False, options)
        self.move = move
        self.inputs = self.varying = self._order = ARGUMENTS[move]
        self.outputs = (f"{move}({', '.join(self.inputs)})",)

    @property
    def _text(self) -> str:
        return self.outputs[0]

    def info(self) -> Info:
        """What it costs on its machine: counted, not timed."""
        code = self._compiled_at({}) if self.backend == "llvm" else None
        if code is not None:
            how = code.nodes, code.lanes, code.path, code.seconds
            return Info(code.flops, code.sincos, None, None, *how)
        found = Move(self.model, self.move).traced()
        counts = count_operations(found.graph.live(chain(*found.outputs)))
        flops = sum(n for op, n in counts.items() if op in FLOPS)
        return Info(flops, sum(counts.get(op, 0) for op in ("sin", "cos")), None, None)

    def __reduce__(self) -> tuple:
        return MoveFunction, (self.model, self.move, self.options)

    def __repr__(self) -> str:
        return f"<MoveFunction {self._text} of {self.model.name!r}>"

    # -- arguments -----------------------------------------------------------------------------

    def _check_missing(self, values: Mapping[str, Any]) -> None:
        for name in self.inputs:
            if values.get(name) is None:
                told = "expected numbers, got None" if name in values else "is missing"
                raise InputError(f"{name}: {told}; `{self._text}` needs both")

    def _call(self, values: dict[str, Any]) -> Call:
        first, second = self.inputs
        x = check_configuration(self.model, first, values[first])
        check = check_speeds if self.move == INTEGRATE else check_configuration
        return self._of(x, check(self.model, second, values[second]))

    def _of(self, x: np.ndarray, y: np.ndarray) -> Call:
        """A call with arrays that were looked at."""
        batch = broadcast(dict(zip(self.inputs, (x.shape[:-1], y.shape[:-1]), strict=True)))

        def at(states: np.ndarray) -> Call:
            rows = (np.broadcast_to(z, (*batch, z.shape[-1])) for z in (x, y))
            return self._of(*(z.reshape(-1, z.shape[-1])[states] for z in rows))

        by_arrays = partial(getattr(configuration, self.move), self.model, x, y)
        is_wide = np.result_type(x, y) != np.float64
        return Call(batch, is_wide, {}, lambda: [x, y], lambda: [by_arrays()], at)

    def _buffer(self, name: str, values: Mapping[str, Any]) -> Any:
        return values[name]

    def _lists(self, passed: Sequence[Any]) -> Lists:
        return {}

    def _positions(self, passed: Sequence[Any]) -> np.ndarray:
        return np.empty(0)

    # -- what is compiled ----------------------------------------------------------------------

    @cached_property
    def _in_double(self) -> MoveFunction:
        options = replace(self.options, real="double", lanes=None)
        return MoveFunction(self.model, self.move, options)

    def _computation(self, bodies: Bodies) -> Move | None:
        return Move(self.model, self.move, self.options.real) if self.model.nq else None
