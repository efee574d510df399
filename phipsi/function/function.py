"""An expression on a machine as a function of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.errors import BackendError, InputError, SolveError
from phipsi.function.arrays import ArrayFunction
from phipsi.function.call import Bodies, Call, Lists, Options
from phipsi.function.info import Info
from phipsi.lowering.cost import cost_of
from phipsi.lowering.evaluate import evaluate
from phipsi.lowering.inputs import (
    SPATIAL,
    Inputs,
    check_apart,
    check_names,
    check_spaces,
    checked_points,
    in_blocks,
    joint_axis,
)
from phipsi.lowering.machine import Machine
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.program import Program
from phipsi.lowering.show import show
from phipsi.lowering.sides import check_point_counts, points_of
from phipsi.lowering.statements import find_careful
from phipsi.model.model import Model, Point

if TYPE_CHECKING:
    from phipsi.backends.job import Job


DOUBTS = 10  # calls in doubt that the interpreter decides, before code is made that does


class Function(ArrayFunction):
    """An expression on a machine, as a function of arrays. Made by `compile`.

    The first call compiles. Arguments broadcast over their leading axes, in any memory
    layout; `out=` takes an array, or a tuple of those for several outputs.

    Attributes:
        model: the machine.
        expressions: what it computes, one for each output.
        inputs: the names of its arguments, in order: q, v (None will do where no
            speeds appear), the free letters in order of first appearance, points
            where B, J, X, c or free letters of point space stand for points that are passed,
            parameters.
        outputs: the expressions as text.
        program: the loops over bodies that it runs.
        varying: the arguments that derivatives are by: all but points, and v where there are
            no speeds.
        backend: "llvm" or "numpy".
        dtype: of its numbers in machine code, and of its results.
    """

    def __init__(
        self,
        model: Model,
        expressions: tuple[Node, ...],
        several: bool,
        program: Program,
        options: Options,
        parameters: tuple[str, ...] = (),
    ):
        super().__init__(model, several, options)
        self.expressions, self.program = expressions, program
        self._letters = letters_of(expressions)
        own = [x.arguments for x in self._letters_at_points()]
        in_points = any(POINTS in (x.source, x.target) for x in (*self._letters, *expressions))
        self._passes_points = not all(own) if own else in_points
        if not self._passes_points:
            self._check_counts(())
        self._parameters = Parameters(model, parameters)
        check_apart(self._parameters, self._letters)
        free, points = [x.name for x in program.free], ["points"] if self._passes_points else []
        self.inputs = ("q", "v", *free, *points, *parameters)
        self.outputs = tuple(map(str, expressions))
        self._doubts = 0  # calls that machine code left to the interpreter
        self._is_doubt = False  # whether the last one was only in doubt
        self._has_speeds = any(x.record.of_speeds for x in self._letters)
        self._machine = Machine(model, program.shifted, self._parameters)
        arrays_only = not any(map(in_blocks, program.free))
        is_direct = arrays_only and not list(self._letters_at_points())
        order = ("q", *(["v"] if self._has_speeds else []), *free, *parameters)
        self.varying = order
        self._order = order if is_direct else ()
        self._skips = is_direct and not self._has_speeds and bool(free or parameters)
        self._block_shapes = {x.name: self._blocks(x) for x in program.free if in_blocks(x)}

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The numbers of the model that are arguments here, by their names.

        >>> import phipsi as pp
        >>> from phipsi.operators import Mass
        >>> arm = pp.examples.planar_arm(2)
        >>> pp.compile(arm, Mass, parameters=["gravity"]).parameters
        {'gravity': array([ 0.  ,  0.  , -9.81])}
        """
        return self._parameters.nominal()

    def info(self, points: Sequence[Point] | None = None) -> Info:
        """What the function costs on its machine: counted, not timed.

        Machine code is made if it is not there yet; constants folded into it are no flops.

        Args:
            points: where the function takes points, which; they decide the cost.

        >>> import phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> pp.compile(pp.chain(10), Mass.inv @ (T - C)).info().sweeps
        3
        """
        if self._passes_points and points is None:
            raise InputError(f"the cost of `{self._text}` depends on points: pass points")
        self._check_counts(points or ())
        located = {key: checked_points(x) for key, x in self._lists(points or ()).items()}
        code = self._compiled_at(located) if self.backend == "llvm" else None
        sweeps, bodies = self.program.sweeps, max(len(self.model.bodies), 1)
        if code is not None and code.stored is not None:
            stored = code.stored / bodies
        else:
            try:
                cost = cost_of(self.program, self.model, located)
            except ZeroDivisionError:
                raise SolveError(
                    f"`{self._text}` has no value in any state of {self.model.name!r}, and so no "
                    "cost; a call says why"
                ) from None
            stored = cost.stored_per_body
        if code is None:
            return Info(cost.flops, cost.operations.sincos, sweeps, stored)
        how = code.nodes, code.lanes, code.path, code.seconds
        return Info(code.flops, code.sincos, sweeps, stored, *how)

    def __reduce__(self) -> tuple:
        """What it is; machine code stays here."""
        what = self.model, self.expressions, self._several, self.program
        return Function, (*what, self.options, self._parameters.names)

    def __str__(self) -> str:
        """The loops over the bodies, as formulas."""
        return show(self.program)

    def __repr__(self) -> str:
        outputs = ", ".join(map(str, self.expressions))
        return f"<Function ({', '.join(self.inputs)}) -> {outputs} of {self.model.name!r}>"

    # -- arguments ---------------------------------------------------------------------------

    def _check_missing(self, values: Mapping[str, Any]) -> None:
        needed = {"v": self._has_speeds, "points": self._passes_points}
        for name, value in values.items():
            if value is None and needed.get(name, True):
                raise InputError(f"{name}: expected numbers, got None")
        if "q" not in values:
            raise InputError(f"`{self._text}` needs the configuration: pass q")
        for name in self._parameters.names:
            if name not in values:
                raise InputError(
                    f"`{self._text}` needs the parameter {name!r}; by place, arguments are "
                    f"{', '.join(self.inputs)}"
                )

    def _call(self, values: dict[str, Any]) -> Call:
        q, v, points = (values.pop(name, None) for name in ("q", "v", "points"))
        parameters = {name: values.pop(name) for name in self._parameters.names}
        inputs = Inputs(self.model, self.expressions, q, v, points, values, parameters)
        return Call(
            inputs.batch,
            np.issubdtype(inputs.dtype, np.complexfloating),
            self._lists(inputs.points),
            partial(self._packed, inputs),
            partial(evaluate, self.program, self._machine, inputs),
            partial(self._call_at, inputs),
        )

    def _call_at(self, inputs: Inputs, states: np.ndarray) -> Call:
        """A call of some states of a batch."""

        def taken(x: np.ndarray, core: int) -> np.ndarray:
            shape = x.shape[x.ndim - core :]
            return np.broadcast_to(x, (*inputs.batch, *shape)).reshape(-1, *shape)[states]

        values: dict[str, Any] = {"q": taken(inputs.q, 1)}
        if inputs.v is not None:
            values["v"] = taken(inputs.v, 1)
        for letter, parts in inputs.given.items():
            blocks = [taken(x, 2) for x in parts]
            if letter.is_scalar:
                values[letter.name] = blocks[0][..., 0, 0]
            elif letter.source is SCALAR:
                values[letter.name] = blocks[0][..., 0]
            else:
                values[letter.name] = blocks if in_blocks(letter) else blocks[0]
        if self._passes_points:
            values["points"] = inputs.points
        for name, shape in self._parameters.shapes.items():
            values[name] = taken(inputs.parameters[name], len(shape))
        return self._call(values)

    def _packed(self, inputs: Inputs) -> list[np.ndarray]:
        q = inputs.q
        if not self._has_speeds and inputs.v is not None:  # not needed, but its batch counts
            q = np.broadcast_to(q, (*inputs.batch, q.shape[-1]))
        arguments = [q, inputs.v] if self._has_speeds else [q]
        for letter in self.program.free:
            parts = inputs.given[letter]
            if letter.source is SCALAR:
                value = parts[0][..., 0, 0] if letter.is_scalar else parts[0][..., 0]
            elif not in_blocks(letter):
                value = parts[0]
            else:
                batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
                rows = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in parts]
                value = np.concatenate([x.reshape(*batch, -1) for x in rows], axis=-1)
            arguments.append(value)
        places = self._positions(inputs.points)
        return [*arguments, *([places] if places.size else []), *inputs.parameters.values()]

    def _positions(self, passed: Sequence[Any]) -> np.ndarray:
        """Of all points on their bodies, list by list, one after the other."""
        lists = map(checked_points, self._lists(passed).values())
        places = [self.model.locate(x)[1].position for several in lists for x in several]
        return np.array(places, float).reshape(-1)

    def _buffer(self, name: str, values: Mapping[str, Any]) -> Any:
        if name == "points":
            return self._positions(values.get("points", ())).astype(self.dtype)
        if name not in values:
            raise InputError(f"`{self._text}` reads {name}: pass an array to bind it to")
        if any(x.name == name and in_blocks(x) for x in self.program.free):
            raise BackendError(f"{name} is an operator, in blocks: only arrays can be bound")
        return values[name]

    @cached_property
    def _text(self) -> str:
        return ", ".join(self.outputs)

    def _letters_at_points(self) -> Iterator[Symbol]:
        """The letters that stand for points."""
        return (x for x in self._letters if POINTS in (x.source, x.target) and not x.free)

    def _check_counts(self, passed: Sequence[Point]) -> None:
        """InputError where letters meet that stand for different numbers of points."""
        for one in self.expressions:
            check_point_counts(one, lambda points: len(checked_points(points or passed)))

    def _lists(self, passed: Sequence[Any]) -> Lists:
        lists = {x.arguments: x.arguments or passed for x in self._letters_at_points()}
        return lists | ({(): passed} if self._passes_points else {})

    def _exact(self, call: Call) -> Sequence[np.ndarray]:
        """The results by the interpreter; if that is asked often, pivots are guarded in code.

        That takes longer than to hold them against numbers, but not as long as the interpreter.
        """
        self._is_doubt = self.program.has_doubts
        if self.options.real == "double" and not call.is_complex and self._is_doubt:
            self._doubts += 1
            if self._doubts >= DOUBTS:
                plain = not self.model.has_mimics
                self._run_from_now(find_careful(self.program, plain))
        return super()._exact(call)

    def _run_from_now(self, program: Program) -> None:
        """Compute the same by another program."""
        self.program = program
        self._forget_code()
        for made in ("jvp", "vjp"):
            vars(self).pop(made, None)

    def _tell_exact(self) -> None:
        if not self._is_doubt:  # else code decides such states soon
            super()._tell_exact()

    @cached_property
    def _in_double(self) -> Function:
        return self._with(replace(self.options, real="double", lanes=None))

    @property
    def unwatched(self) -> Function:
        return self._with(replace(self.options, is_watched=False))

    def _with(self, options: Options) -> Function:
        what = self.model, self.expressions, self._several, self.program
        return Function(*what, options, self._parameters.names)

    def values_of(self, entries: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Values of free letters as a call takes them.

        Args:
            entries: of each its numbers one after the other, (*batch, n), as in a graph.
        """
        bodies = self._bodies(self._lists(()))
        values: dict[str, Any] = {}
        for letter in self.program.free:
            x = entries[letter.name]
            if letter.source is SCALAR or not in_blocks(letter):
                values[letter.name] = x.reshape((*x.shape[:-1], *self._input_shape(letter, bodies)))
                continue
            lists = self.program.points_of(letter, bodies)
            ends = (self._machine.block_sizes(y, lists) for y in (letter.target, letter.source))
            shapes = list(zip(*ends, strict=True))
            parts = np.split(x, np.cumsum([n * m for n, m in shapes])[:-1], axis=-1)
            pairs = zip(parts, shapes, strict=True)
            values[letter.name] = [y.reshape(*x.shape[:-1], *shape) for y, shape in pairs]
        return values

    # -- what is compiled ----------------------------------------------------------------------

    def job(self) -> Job | None:
        """What is compiled, where points are written into the expression; None if it is empty."""
        return self._computation(self._bodies(self._lists(())))

    @property
    def positions(self) -> np.ndarray:
        """Of all points that are written into the expression, on their bodies: one vector."""
        return self._positions(())

    def _computation(self, bodies: Bodies) -> Job | None:
        from phipsi.backends.job import Job

        points = 3 * sum(map(len, bodies.values()))
        shapes: dict[str, tuple[int, ...]] = {"q": (self.model.nq,)}
        if self._has_speeds:
            shapes["v"] = (self.model.nv,)
        for letter in self.program.free:
            shapes[letter.name] = self._input_shape(letter, bodies)
        if points:
            shapes["points"] = (points,)
        shapes |= self._parameters.shapes
        outputs = tuple(self._output_shape(x, bodies) for x in self.expressions)
        if any(0 in shape for shape in (*shapes.values(), *outputs)):
            return None
        what = self.program, self._machine, bodies
        about = "phipsi", self._text, self.options.real
        watched = self.options.is_watched
        return Job(*what, shapes, outputs, *about, self.program.expressions, watched)

    def _input_shape(self, letter: Symbol, bodies: Bodies) -> tuple[int, ...]:
        lists = self.program.points_of(letter, bodies)
        rows, widths = (self._machine.block_sizes(x, lists) for x in (letter.target, letter.source))
        if letter.is_scalar:
            return ()
        if letter.source is SCALAR:
            return (sum(rows),)
        if not in_blocks(letter):
            return sum(rows), sum(widths)
        return (sum(n * m for n, m in zip(rows, widths, strict=True)),)

    def _blocks(self, letter: Symbol) -> tuple[int, ...] | None:
        """The shape of an array of all blocks of an operator; None if they are not alike."""
        if POINTS in (letter.target, letter.source):
            return None  # how many there are, the points tell
        rows, widths = (
            set(self._machine.block_sizes(x, {})) for x in (letter.target, letter.source)
        )
        if len(rows) != 1 or len(widths) != 1:
            return None
        return len(self._machine.block_sizes(letter.target, {})), *rows, *widths

    def _output_shape(self, expression: Node, bodies: Bodies) -> tuple[int, ...]:
        def size(target: bool) -> int:
            points = points_of(expression, target)
            if points is not None:
                return SPATIAL * len(bodies[points])
            space = expression.target if target else expression.source
            assert space is not None
            return sum(self._machine.block_sizes(space, bodies))

        if expression.source is not SCALAR:
            return size(True), size(False)
        return () if expression.target is SCALAR else (size(True),)


def check_letters(model: Model, letters: Sequence[Symbol]) -> None:
    """Points and joints that letters name must exist, and free letters have names of their own."""
    check_spaces(letters)
    check_names(letters)
    for letter in letters:
        if letter.record.of == "joint":
            joint_axis(model, *letter.arguments)
        elif POINTS in (letter.source, letter.target) and letter.arguments:
            for point in checked_points(letter.arguments):
                model.locate(point)
