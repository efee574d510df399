"""The living definition: every expression as an explicit matrix.

Slow and plain on purpose: a letter with a formula is its formula, a primitive
letter has its blocks in `letters.py`, and the rest is matrix arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce, singledispatchmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi import spatial
from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
)
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR, Causality, Space
from phipsi.errors import InputError, SolveError, name_choices
from phipsi.lowering.letters import LETTERS, Kinematics, star
from phipsi.model.configuration import check_array, check_configuration, check_speeds
from phipsi.model.model import Model, Point
from phipsi.scalars import Scalar

AXES = ("link", "world")
LARGEST = 4e9  # bytes of one body-space matrix; beyond it nobody means a dense one
BRACKETS = {
    "S": spatial.cross_force,
    "Q": spatial.cross_adjoint,
    "cross": spatial.cross_motion,
}


def as_matrix(
    model: Model,
    expression: Node,
    q: ArrayLike,
    v: ArrayLike | None = None,
    axes: str = "link",
    points: Sequence[Point] | None = None,
    **values: ArrayLike | Sequence[ArrayLike],
) -> np.ndarray:
    """An operator or vector expression as an explicit matrix or vector.

    The meaning that every algorithm is tested against; for teaching, tests and
    small machines. Its cost grows with the cube of the number of bodies.

    Args:
        model: the machine.
        expression: of the letters of `phipsi.operators`.
        q: (*batch, nq); complex numbers pass, for derivatives by a complex step.
        v: (*batch, nv), needed where speeds appear.
        axes: "link" for the link frames; "world" for the inertial axes in which
            [000] states its operators, `A_world = X A X*`, `X = diag(R_k, R_k)`.
            Accelerations differ by more: A in link axes, the papers'
            `alpha = A + [0; omega x v]` in world axes.
        points: what the bare letters B and J stand for; or write `B(pp.point(...))`.
        values: of the free symbols by name: T, beta_dot, f0, the user's own. A
            block-diagonal operator takes one block per body or joint.

    Returns:
        (*batch, rows, columns), or (*batch, rows) for a vector, (*batch,) for a scalar.

    Raises:
        InputError: wrong shapes, NaN, unknown or missing names.
        SolveError: a singular inverse; names the joint whose D vanishes.

    >>> import phipsi as pp
    >>> from phipsi.operators import H, phi, M
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.as_matrix(arm, H @ phi @ M @ phi.T @ H.T, [0.0, 0.0]).round(4)
    array([[2.6679, 0.834 ],
           [0.834 , 0.334 ]])
    """
    if not isinstance(expression, Node):
        raise InputError(f"as_matrix: expected an expression, got {type(expression).__name__}")
    if expression.source is None:
        raise InputError(
            f"as_matrix: the space of `{expression}` is open; compose it with an operator"
        )
    machine = DenseMachine(model, q, v, axes)
    machine.accept(expression, points, values)
    result = machine.matrix(expression)
    result = np.array(np.broadcast_to(result, (*machine.batch, *result.shape[-2:])))
    if expression.source is not SCALAR:
        return result
    return result[..., 0, 0] if expression.target is SCALAR else result[..., 0]


class DenseMachine:
    """A machine at a state: the matrix of each expression, made once.

    Matrices are `(*batch, rows, columns)`; a vector is one column.
    """

    def __init__(self, model: Model, q: ArrayLike, v: ArrayLike | None, axes: str):
        if axes not in AXES:
            raise InputError(f"axes: unknown {axes!r}; {name_choices(str(axes), AXES)}")
        self.model, self.axes = model, axes
        self.q = check_configuration(model, "q", q)
        self.v = None if v is None else check_speeds(model, "v", v)
        state = [self.q] if self.v is None else [self.q, self.v]
        self.dtype = np.result_type(*state)
        self.batch = _broadcast({name: x.shape[:-1] for name, x in zip("qv", state, strict=False)})
        self._points: tuple[Point, ...] | None = None
        self._given: dict[Node, np.ndarray] = {}
        self._matrices: dict[Node, np.ndarray] = {}

    # -- what the user passes ----------------------------------------------------------

    def accept(
        self, expression: Node, points: Sequence[Point] | None, values: Mapping[str, Any]
    ) -> None:
        """Take points and values, checked against what the expression asks for."""
        letters = {node for node in walk(expression) if isinstance(node, Symbol)}
        self._points = _the_points(letters, points)
        free = {letter.name: letter for letter in letters if letter.free}
        for name in values:
            if name not in free:
                raise InputError(
                    f"`{expression}` has no free symbol {name!r}; {name_choices(name, free)}"
                )
        for name, letter in free.items():
            if name not in values:
                raise InputError(
                    f"`{expression}` needs a value for {name}, a "
                    f"{'vector' if letter.is_vector else 'map'} of {letter.target}: "
                    f"pass {name}=..."
                )
            self._given[letter] = self._checked_value(letter, values[name])
        batches = {str(node): x.shape[:-2] for node, x in self._given.items()}
        self.batch = _broadcast({"q and v": self.batch, **batches})
        self.dtype = np.result_type(self.dtype, *self._given.values())
        size = 8.0 * sum(self.sizes(BODY)) ** 2 * float(np.prod(self.batch, initial=1.0))
        if size > LARGEST:
            raise InputError(
                f"as_matrix: {len(self.model.bodies)} bodies and batch {self.batch} ask for "
                f"matrices of {size / 1e9:.3g} GB; use a smaller machine or batch"
            )

    def _checked_value(self, letter: Symbol, value: Any) -> np.ndarray:
        """A free symbol's value as a matrix; a block-diagonal operator comes by blocks."""
        name, rows = letter.name, self.sizes(letter.target)
        if letter.source is SCALAR and letter.target is SCALAR:
            return check_array(name, value, (), "a number", self.model)[..., None, None]
        if letter.source is SCALAR:
            size = f"the size of {letter.target}"
            return check_array(name, value, (sum(rows),), size, self.model)[..., None]
        columns = self.sizes(letter.source)
        try:
            given = list(value)
        except TypeError:
            given = []
        if len(given) != len(rows) or len(rows) != len(columns):
            raise InputError(
                f"{name}: expected {len(rows)} blocks, one for each block of {letter.target} "
                f"of {self.model.name!r}, got {len(given) or type(value).__name__}"
            )
        result = self.zeros(letter.target, letter.source)
        places = zip(self.slices(letter.target), self.slices(letter.source), strict=True)
        for k, (row, column) in enumerate(places):
            shape = (rows[k], columns[k])
            block = check_array(f"{name}[{k}]", given[k], shape, "the block", self.model)
            if np.iscomplexobj(block):
                result = result.astype(complex)
            result[..., row, column] = block
        return result

    def points_of(self, arguments: Sequence[Point]) -> Sequence[Point]:
        """The points of a letter: its own, or those passed."""
        if arguments:
            return arguments
        assert self._points is not None
        return self._points

    # -- expressions -------------------------------------------------------------------

    def matrix(self, node: Node) -> np.ndarray:
        """The matrix of an expression."""
        if node not in self._matrices:
            self._matrices[node] = self._evaluate(node)
        return self._matrices[node]

    @singledispatchmethod
    def _evaluate(self, node: Node) -> np.ndarray:
        raise AssertionError(f"no dense meaning for {type(node).__name__}")

    @_evaluate.register
    def _(self, node: Symbol) -> np.ndarray:
        if node.free:
            return self._given[node]
        if node.definition is not None:
            return self.matrix(node.definition)
        return LETTERS[node.name](self, *node.arguments)

    @_evaluate.register
    def _(self, node: Identity) -> np.ndarray:
        assert node.source is not None
        return np.eye(sum(self.sizes(node.source)))

    @_evaluate.register
    def _(self, node: Sum) -> np.ndarray:
        terms = [self.matrix(term) for term in node.children]
        _check_point_counts(node, {term.shape[-2:] for term in terms})
        return reduce(np.add, terms)

    @_evaluate.register
    def _(self, node: Product) -> np.ndarray:
        factors = [self.matrix(factor) for factor in node.children]
        for left, right in zip(factors[:-1], factors[1:], strict=True):
            _check_point_counts(node, {left.shape[-1], right.shape[-2]})
        return reduce(np.matmul, factors)

    @_evaluate.register
    def _(self, node: Scaled) -> np.ndarray:
        factor = self.matrix(node.factor) if isinstance(node.factor, Node) else node.factor
        return factor * self.matrix(node.children[-1])

    @_evaluate.register
    def _(self, node: Transpose) -> np.ndarray:
        return star(self.matrix(node.children[0]))

    @_evaluate.register
    def _(self, node: Diagonal) -> np.ndarray:
        operand = node.children[0]
        return self._by_block(operand, self.matrix(operand), lambda block, _: block)

    @_evaluate.register
    def _(self, node: Inverse) -> np.ndarray:
        operand = node.children[0]
        matrix = self.matrix(operand)
        if operand.causality is Causality.MEMORYLESS:
            return self._by_block(operand, matrix, _inverse)
        return _inverse(matrix, f"`{operand}`")

    @_evaluate.register
    def _(self, node: Root) -> np.ndarray:
        operand = node.children[0]
        return self._by_block(operand, self.matrix(operand), _cholesky)

    @_evaluate.register
    def _(self, node: Bracket) -> np.ndarray:
        x = self.matrix(node.children[0])
        result = self.zeros(BODY, BODY)
        for k in self.slices(BODY):
            z = [x[..., i, 0] for i in range(k.start, k.stop)]
            result[..., k, k] = self.array(BRACKETS[node.name](z))
        return result

    def _by_block(self, operand: Node, matrix: np.ndarray, function) -> np.ndarray:
        """function(block, its name) on each diagonal block, zero elsewhere."""
        assert operand.source is not None and operand.target is not None
        if operand.target not in (BODY, JOINT) or operand.source not in (BODY, JOINT):
            return function(matrix, f"`{operand}`")
        names = self.model.joints if operand.target is JOINT else self.model.bodies
        result = np.zeros_like(matrix)
        places = zip(names, self.slices(operand.target), self.slices(operand.source), strict=True)
        for named, row, column in places:
            where = f"`{operand}` at {operand.target.name} {named.name!r}"
            result[..., row, column] = function(matrix[..., row, column], where)
        return result

    @cached_property
    def kinematics(self) -> Kinematics:
        """The pieces of each body at this configuration."""
        return Kinematics(self)

    # -- spaces and arrays -------------------------------------------------------------

    def sizes(self, space: Space) -> list[int]:
        """The block sizes of a space; they belong to the machine."""
        return self._sizes[space] if space in self._sizes else [6] * len(self.points_of(()))

    def slices(self, space: Space) -> list[slice]:
        """Where each block of a space stands."""
        stops = np.cumsum([0, *self.sizes(space)]).tolist()
        return [slice(i, j) for i, j in zip(stops[:-1], stops[1:], strict=True)]

    @cached_property
    def _sizes(self) -> dict[Space, list[int]]:
        return {
            BODY: [body.size for body in self.model.bodies],
            JOINT: [joint.kind.nv for joint in self.model.joints],
            BASE: [6],
            COORDINATES: [self.model.nv],
            SCALAR: [1],
        }

    def zeros(self, target: Space, source: Space) -> np.ndarray:
        """The zero operator from `source` to `target`."""
        shape = sum(self.sizes(target)), sum(self.sizes(source))
        return np.zeros((*self.batch, *shape), self.dtype)

    def array(self, rows: Sequence[Sequence[Scalar]]) -> np.ndarray:
        """A matrix of scalars, each an array over the batch, as one array."""
        result = np.zeros((*self.batch, len(rows), len(rows[0])), self.dtype)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                result[..., i, j] = x
        return result


def walk(node: Node) -> Iterator[Node]:
    """Every expression inside one, definitions included, each once."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(node.children)
        if isinstance(node, Symbol) and node.definition is not None:
            stack.append(node.definition)


def _inverse(matrix: np.ndarray, what: str) -> np.ndarray:
    try:
        result = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise SolveError(f"{what} is singular at this configuration") from None
    if not np.isfinite(result).all():
        raise SolveError(f"{what} is singular at this configuration")
    return result


def _cholesky(matrix: np.ndarray, what: str) -> np.ndarray:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise SolveError(f"{what} has no square root: it is not positive definite") from None


def _the_points(
    letters: set[Symbol], points: Sequence[Point] | None
) -> tuple[Point, ...] | None:
    """The points that stand for point space, checked."""
    at_points = [x for x in letters if POINTS in (x.source, x.target) and not x.free]
    if points is None and any(not x.arguments for x in at_points):
        raise InputError(
            "B and J stand for points: pass points=[pp.point(...), ...] or write B(pp.point(...))"
        )
    if points is not None and not list(points):
        raise InputError("points: the list is empty; pass points=[pp.point(...), ...]")
    lists = {x.arguments for x in at_points if x.arguments}
    if points is not None:
        lists.add(tuple(points))
    for one in (x for group in lists for x in group):
        if not isinstance(one, Point):
            raise InputError(f"points: expected pp.point(body_or_frame, position), got {one!r}")
    return lists.pop() if len(lists) == 1 else None


def _broadcast(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise InputError(f"the batches do not broadcast: {shapes}") from None


def _check_point_counts(node: Node, shapes: set) -> None:
    """Spaces fit by type; only point space can differ in size."""
    if len(shapes) > 1:
        raise InputError(f"`{node}` mixes letters at different numbers of points")
