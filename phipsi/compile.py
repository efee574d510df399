"""The spine: an expression becomes a program, a program a function of arrays.

settle      definitions unfolded, inverses found
lower       statements on bodies
schedule    loops over bodies
verify      is it a legal program?
backend     numbers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError, LoweringError, name_choices
from phipsi.lowering import matrices
from phipsi.lowering.cost import cost_of
from phipsi.lowering.covariance import infer_kinds
from phipsi.lowering.inputs import Inputs, by_name, checked_points
from phipsi.lowering.interpret import Run
from phipsi.lowering.letters import OF_A_JOINT, SPATIAL, joint_axis
from phipsi.lowering.machine import Located, Machine, Values
from phipsi.lowering.program import Output, Program
from phipsi.lowering.schedule import schedule
from phipsi.lowering.settle import settle
from phipsi.lowering.show import show
from phipsi.lowering.sides import points_of
from phipsi.lowering.verify import verify
from phipsi.lowering.watch import SINGULAR as SINGULAR  # for the rooms above
from phipsi.lowering.watch import Watch
from phipsi.lowering.watch import inverse_or_none as inverse_or_none
from phipsi.model.configuration import check_array as check_array  # for the rooms above
from phipsi.model.configuration import columns
from phipsi.model.model import Model
from phipsi.model.model import Point as Point  # for the rooms above

BACKENDS = ("numpy",)


def make_program(expressions: Sequence[Node], plain: bool = True) -> Program:
    """Expressions as one program, which shares what they share.

    It depends on no machine; `plain` is whether no joint of it follows another.
    """
    return _make_program(tuple(expressions), plain)


@lru_cache(maxsize=512)
def _make_program(expressions: tuple[Node, ...], plain: bool) -> Program:
    try:
        return _lower(expressions, plain)
    except RecursionError:
        raise LoweringError(
            "the expression is nested too deeply to be lowered; pp.as_matrix evaluates it densely"
        ) from None


def _lower(expressions: tuple[Node, ...], plain: bool) -> Program:
    memo: dict[Node, Node] = {}
    settled = [settle(x, plain, memo) for x in expressions]
    kinds = infer_kinds(settled)
    typed = {after: before for before, after in memo.items()}
    low = matrices.MatrixLowering(plain, kinds.letters, typed)
    for number, (node, ends) in enumerate(zip(settled, kinds.outputs, strict=True)):
        if node.source is SCALAR:
            matrices.emit_vector(low, number, node, ends)
        else:
            matrices.emit_matrix(low, number, node, ends)
    loops = schedule(low.finish())
    outputs = tuple(_output(x) for x in expressions)
    free = tuple(x for x in letters_of(expressions) if x.free)
    return verify(Program(loops, outputs, free, kinds.covariant))


def _output(expression: Node) -> Output:
    assert expression.target is not None and expression.source is not None, "checked before"
    return Output(expression.target, expression.source)


@dataclass(frozen=True)
class Info:
    """What one call of a function costs for one state.

    Args:
        flops: sums, products, quotients and square roots.
        sincos: sines and cosines.
        sweeps: loops over the bodies.
        stored_per_body: numbers kept between the loops.
    """

    flops: int
    sincos: int
    sweeps: int
    stored_per_body: float


class Function:
    """An expression on a machine, as a function of arrays. Made by `compile`.

    Attributes:
        model: the machine.
        expressions: what it computes, one for each output.
        inputs: the names of its arguments, in order: q, v (None will do where no
            speeds appear), the free letters in order of first appearance, points
            where B, J, X or c stand for points that are passed.
        program: the loops over bodies that it runs.
    """

    def __init__(self, model: Model, expressions: tuple[Node, ...], several: bool):
        self.model, self.expressions = model, expressions
        self._several = several
        _check_letters(model, expressions)
        self.program = make_program(expressions, plain=not model.has_mimics)
        self.inputs = _input_names(expressions, self.program)
        self._machine = Machine(model, self.program.shifted)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The value of the expression, or a tuple of those of several."""
        values = self._by_name(arguments, named)
        q, v, points = (values.pop(name, None) for name in ("q", "v", "points"))
        inputs = Inputs(self.model, self.expressions, q, v, points, values)
        results = self._run(inputs)
        return tuple(results) if self._several else results[0]

    def info(self, points: Sequence[Point] | None = None) -> Info:
        """What the function costs on its machine: counted, not timed.

        Args:
            points: where the function takes points, which; they decide the cost.

        >>> import phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> pp.compile(pp.chain(10), Mass.inv @ (T - C)).info().sweeps
        3
        """
        located = {}
        for letter in letters_of(self.expressions):
            if POINTS in (letter.source, letter.target) and not letter.free:
                passed = letter.arguments or points
                if passed is None:
                    raise InputError(f"the cost of `{self._text}` depends on points: pass points")
                located[letter.arguments] = checked_points(passed)
        cost = cost_of(self.program, self.model, located)
        return Info(cost.flops, cost.operations.sincos, cost.sweeps, cost.stored_per_body)

    def __str__(self) -> str:
        """The loops over the bodies, as formulas."""
        return show(self.program)

    def __repr__(self) -> str:
        outputs = ", ".join(map(str, self.expressions))
        return f"<Function ({', '.join(self.inputs)}) -> {outputs} of {self.model.name!r}>"

    def _by_name(self, arguments: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Arguments by their names, or InputError."""
        if len(arguments) > len(self.inputs):
            raise InputError(
                f"{len(arguments)} arguments for `{self._text}`; expected {', '.join(self.inputs)}"
            )
        values = dict(zip(self.inputs, arguments, strict=False))
        for name, value in named.items():
            if name in values:
                raise InputError(f"{name} is given twice, by place and by name")
            values[name] = value
        if values.get("q") is None:
            raise InputError(f"`{self._text}` needs the configuration: pass q")
        return values

    @property
    def _text(self) -> str:
        return ", ".join(map(str, self.expressions))

    def _run(self, inputs: Inputs) -> list[np.ndarray]:
        results, emits = [], []
        for expression in self.expressions:
            shape = [_size(inputs, expression, target) for target in (True, False)]
            array = np.zeros((*inputs.batch, *shape), inputs.dtype)
            results.append(array)
            is_covector = expression.target is SCALAR  # made as a column
            emits.append(_adder(np.swapaxes(array, -1, -2) if is_covector else array))
        with np.errstate(all="ignore"):
            Run(self.program, self._machine, _scalars(inputs), emits, Watch(self.model)).run()
        return [_squeezed(x, e) for x, e in zip(results, self.expressions, strict=True)]


def _check_letters(model: Model, expressions: Sequence[Node]) -> None:
    """Points and joints that letters name must exist, and free letters have names of their own."""
    letters = letters_of(expressions)
    by_name([x for x in letters if x.free])
    for letter in letters:
        if letter.name in OF_A_JOINT and not letter.free:
            joint_axis(model, *letter.arguments)
        elif POINTS in (letter.source, letter.target) and letter.arguments:
            for point in checked_points(letter.arguments):
                model.locate(point)


def _input_names(expressions: Sequence[Node], program: Program) -> tuple[str, ...]:
    letters = letters_of(expressions)
    at_points = [x for x in letters if POINTS in (x.source, x.target) and not x.free]
    passed = any(not x.arguments for x in at_points)
    free = [x.name for x in program.free]
    return ("q", "v", *free, *(["points"] if passed else []))


def _size(inputs: Inputs, expression: Node, target: bool) -> int:
    """Rows or columns of an expression; letters at points tell how many points there are."""
    points = points_of(expression, target)
    if points is not None:
        return SPATIAL * len(inputs.points_of(points))
    space = expression.target if target else expression.source
    assert space is not None
    return sum(inputs.sizes(space))


def _adder(array: np.ndarray) -> Any:
    def add(i: int, j: int, value: Any) -> None:
        array[..., i, j] += value

    return add


def _squeezed(result: np.ndarray, expression: Node) -> np.ndarray:
    if expression.source is not SCALAR:
        return result
    return result[..., 0, 0] if expression.target is SCALAR else result[..., 0]


def _scalars(inputs: Inputs) -> Values:
    """Arrays as lists of scalars: floats, or arrays over the batch."""

    def flat(x: np.ndarray) -> list:
        return columns(x, slice(0, x.shape[-1]))

    given: dict[Symbol, Any] = {}
    for letter, parts in inputs.given.items():
        if letter.source is SCALAR:
            given[letter] = flat(parts[0][..., 0])
        else:
            given[letter] = [[flat(x[..., i, :]) for i in range(x.shape[-2])] for x in parts]
    at_points = [x for x in inputs.letters if POINTS in (x.source, x.target)]
    keys = {x.arguments for x in at_points if not x.free}
    if inputs.points:
        keys.add(())
    points: dict[tuple, Located] = {}
    for key in keys:
        located = [inputs.model.locate(x) for x in inputs.points_of(key)]
        points[key] = [(k, [float(x) for x in place.position]) for k, place in located]
    v = None if inputs.v is None else flat(inputs.v)
    return Values(flat(inputs.q), v, given, points)


def compile(model: Model, expression: Node | Sequence[Node], backend: str = "numpy") -> Function:
    """An expression, or several that share what they share, as a function of arrays.

    The expression is lowered to loops over the bodies, O(N) for vectors and block
    diagonal operators, and O(1) per block for matrices.

    Args:
        model: the machine.
        expression: of the letters of `phipsi.operators`; or a sequence of expressions,
            whose function returns a tuple.
        backend: "numpy" runs the loops in Python, with the batch as arrays.

    Returns:
        A function of q, v, the free letters in order of first appearance, and points.

    Raises:
        LoweringError: if some expression has no O(N) algorithm here; says why.

    >>> import phipsi as pp
    >>> from phipsi.operators import C, Mass, T
    >>> arm = pp.examples.planar_arm(2)
    >>> acceleration = pp.compile(arm, Mass.inv @ (T - C))
    >>> acceleration.inputs
    ('q', 'v', 'T')
    >>> acceleration([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([-12.59,  16.76])
    """
    check_backend(backend)
    check_model(model)
    several = not isinstance(expression, Node)
    if several and not isinstance(expression, (list, tuple)):
        kind = type(expression).__name__
        raise InputError(f"compile: expected an expression, or a list of several, got {kind}")
    expressions: tuple[Node, ...] = (
        (expression,) if isinstance(expression, Node) else tuple(expression)
    )
    for one in expressions:
        if not isinstance(one, Node):
            raise InputError(f"compile: expected an expression, got {type(one).__name__}")
        if one.source is None:
            raise InputError(f"compile: the space of `{one}` is open; compose it with an operator")
    if not expressions:
        raise InputError("compile: expected an expression or several, got none")
    return _made(model, expressions, several)


def check_model(model: Model) -> None:
    """InputError for what is no machine."""
    if not isinstance(model, Model):
        raise InputError(f"model: expected a Model, got {type(model).__name__}")


def check_backend(backend: str) -> None:
    """InputError for a backend that does not exist."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise InputError(f"backend: unknown {backend!r}; {name_choices(str(backend), BACKENDS)}")


def _made(model: Model, expressions: tuple[Node, ...], several: bool) -> Function:
    """The function, made once for each model; it lives on the model and dies with it."""
    functions: dict = model.__dict__.setdefault("_functions", {})
    key = (expressions, several)
    if key not in functions:
        functions[key] = Function(model, expressions, several)
    return functions[key]
