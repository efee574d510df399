"""The living definition: every expression as an explicit matrix.

Slow and plain on purpose: a letter with a formula is its formula, a primitive
letter states its matrix in its record (`algebra.operators`), and the rest is matrix arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, singledispatchmethod

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family, family_of
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
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, SCALAR, Causality, Space
from phipsi.algebra.walk import made_of, walk
from phipsi.errors import InputError, LoweringError, SolveError, name_choices
from phipsi.lowering.inputs import Inputs, in_blocks
from phipsi.lowering.own import own_matrix
from phipsi.lowering.riccati import articulated_of
from phipsi.lowering.state import MachineState
from phipsi.lowering.structure import has_cancelled
from phipsi.lowering.watch import inverse_or_none
from phipsi.model.model import Model, Point

BlockFunction = Callable[..., np.ndarray]  # of a matrix, its name, and what stands beside

AXES = ("link", "world")
LARGEST = 8e9  # bytes of all matrices; beyond it nobody means dense ones


def as_matrix(
    model: Model,
    expression: Node | str,
    q: ArrayLike,
    v: ArrayLike | None = None,
    axes: str = "link",
    points: Sequence[Point] | None = None,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
    **values: ArrayLike | Sequence[ArrayLike],
) -> np.ndarray:
    """An operator or vector expression as an explicit matrix or vector.

    The meaning that every algorithm is tested against; for teaching, tests and
    small machines. Its cost grows with the cube of the number of bodies. Operators are those
    of the tree: closures and couplings of the machine are not in them.

    Args:
        model: the machine.
        expression: of the letters of `phipsi.operators`, or as text for `pp.parse`.
        q: (*batch, nq); complex numbers pass, for derivatives by a complex step.
        v: (*batch, nv), needed where speeds appear.
        axes: "link" for the link frames; "world" for the inertial axes in which
            [000] states its operators, `A_world = X A X*`, `X = diag(R_k, R_k)`.
            Accelerations differ by more: A in link axes, the papers'
            `alpha = A + [0; omega x v]` in world axes.
        points: what the bare letters B, J, X and c stand for; or write `B(pp.point(...))`.
        symbols: your own letters in a text, as for `pp.parse`.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.
        values: of the free symbols by name: T, beta_dot, f0, the user's own, in
            the axes asked for. T and beta_dot have the rows of joint space: nv, and
            those of mimic joints. A block-diagonal operator takes one block per
            body or joint, each (*batch, rows, columns); one of a space of the user's own
            takes a matrix.

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
    if not isinstance(model, Model):
        raise InputError(f"as_matrix: expected a Model, got {type(model).__name__}")
    expression = as_expression("as_matrix", expression, symbols, notation, alphabet=alphabet)
    if not isinstance(axes, str) or axes not in AXES:
        hint = "" if isinstance(axes, str) else "; values go by name, as T=..."
        raise InputError(f"axes: unknown {axes!r}; {name_choices(str(axes), AXES)}{hint}")
    inputs = Inputs(model, expression, q, v, points, values)
    _check_size(expression, inputs)
    result = DenseMachine(inputs, axes).matrix(expression)
    result = np.array(np.broadcast_to(result, (*inputs.batch, *result.shape[-2:])))
    if expression.source is not SCALAR:
        return result
    return result[..., 0, 0] if expression.target is SCALAR else result[..., 0]


class DenseMachine(MachineState):
    """A machine at a state: the matrix of each expression, made once."""

    def __init__(self, inputs: Inputs, axes: str):
        super().__init__(inputs, axes)
        self._matrices: dict[Node, np.ndarray] = {}

    def matrix(self, node: Node) -> np.ndarray:
        """The matrix of an expression; what it is made of first, without recursion."""
        stack = [node]
        while stack:
            parts = [part for part in made_of(stack[-1]) if part not in self._matrices]
            stack.extend(parts)
            if not parts:
                last = stack.pop()
                if last not in self._matrices:
                    self._matrices[last] = self._evaluate(last)
        return self._matrices[node]

    @singledispatchmethod
    def _evaluate(self, node: Node) -> np.ndarray:
        raise AssertionError(f"no dense meaning for {type(node).__name__}")

    @_evaluate.register
    def _(self, node: Symbol) -> np.ndarray:
        if node.free:
            given = self.inputs.given[node]
            if not in_blocks(node):
                return given[0]
            return self.diagonal(node.target, node.source, given)
        if isinstance(node, MachineLetter):
            return own_matrix(self, node)
        if node.definition is not None:
            return self.matrix(node.definition)
        if node.arguments and isinstance(node.arguments[0], Family):
            formula = node.arguments[0].formula(node)
            if formula is None:
                return articulated_of(self, node.arguments[0])[0]
            return self.matrix(formula)
        return self._letter(node)

    def _letter(self, symbol: Symbol) -> np.ndarray:
        """A primitive letter, in the axes asked for: in world axes A_world = X A X*."""
        steps, arguments = symbol.record.steps, symbol.arguments
        if steps.dense is None:
            raise LoweringError(
                f"{symbol} has no matrix: its record does not tell `dense=`; pp.compile may lower "
                "it"
            )
        link: np.ndarray = steps.dense(self, *arguments)
        if self.axes == "link" or not steps.turned:
            return link
        left, right = (self.turn(space, arguments) for space in (symbol.target, symbol.source))
        return left @ link @ right.mT

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
        """From the right; A.inv @ x by solving with A, which keeps more digits than A.inv."""
        result = self.matrix(node.children[-1])
        for factor in reversed(node.children[:-1]):
            matrix = self.matrix(factor)
            _check_point_counts(node, {matrix.shape[-1], result.shape[-2]})
            if isinstance(factor, Inverse):
                result = np.linalg.solve(self.matrix(factor.children[0]), result)
            else:
                result = matrix @ result
        return result

    @_evaluate.register
    def _(self, node: Scaled) -> np.ndarray:
        operand = self.matrix(node.children[-1])
        if isinstance(node.factor, Node):
            return self.matrix(node.factor) * operand
        return float(node.factor) * operand

    @_evaluate.register
    def _(self, node: Transpose) -> np.ndarray:
        return self.matrix(node.children[0]).mT

    @_evaluate.register
    def _(self, node: Diagonal) -> np.ndarray:
        return self._by_block(node.children[0], lambda block, _: block)

    @_evaluate.register
    def _(self, node: Inverse) -> np.ndarray:
        operand = node.children[0]
        is_pivot = isinstance(operand, Symbol) and operand.record is op.D.record
        if is_pivot or not _has_blocks(operand) or not has_cancelled(operand):
            return self._by_block_or_whole(operand, _inverse)
        bound = self._magnitude(operand)
        return self._by_block(operand, _inverse, bound)

    @_evaluate.register
    def _(self, node: Root) -> np.ndarray:
        return self._by_block_or_whole(node.children[0], _cholesky)

    @_evaluate.register
    def _(self, node: Bracket) -> np.ndarray:
        x = self.matrix(node.children[0])
        result = self.zeros(BODY, BODY)
        for k in self.slices(BODY):
            result[..., k, k] = self.block_of(node.opened.block, x[..., k, :])
        return result

    def _by_block_or_whole(self, operand: Node, function: BlockFunction) -> np.ndarray:
        """A function of a square operator, block by block where it is memoryless.

        Point space is taken whole: several points may be on one body.
        """
        if _has_blocks(operand):
            return self._by_block(operand, function)
        try:
            return function(self.matrix(operand), f"`{operand}`")
        except SolveError as error:
            raise SolveError(f"{error}{self._name_freest(operand)}") from None

    def _name_freest(self, operand: Node) -> str:
        """The joint that a singular operator hardly resists, as a clause."""
        if operand.target not in (JOINT, COORDINATES):
            return ""
        matrix = self.matrix(operand).reshape(-1, *self.matrix(operand).shape[-2:])
        _, sizes, rows = np.linalg.svd(matrix.real)
        worst = np.argmin(sizes[:, -1] / np.where(sizes[:, 0] > 0.0, sizes[:, 0], 1.0))
        entry = int(np.argmax(np.abs(rows[worst, -1])))
        places = ((joint, joint.rows) for joint in self.model.joints)
        if operand.target is COORDINATES:
            places = ((joint, joint.v) for joint in self.model.leaders)
        name = next(joint.name for joint, at in places if at.start <= entry < at.stop)
        return f": it hardly resists the motion of joint {name!r}"

    def _magnitude(self, node: Node) -> np.ndarray:
        """How large the entries of an operator may have been before they cancelled.

        Of sums and products by their parts, of articulated letters by the bound of P.
        """
        match node:
            case Sum() | Product():
                parts = map(self._magnitude, node.children)
                return reduce(np.add if isinstance(node, Sum) else np.matmul, parts)
            case Scaled() if not isinstance(node.factor, Node):
                return abs(float(node.factor)) * self._magnitude(node.children[-1])
            case Transpose():
                return self._magnitude(node.children[0]).mT
            case Symbol() if node.record is op.P.record:
                _, bound = articulated_of(self, family_of(node))
                roots = np.sqrt(np.diagonal(bound, axis1=-2, axis2=-1).real)
                return roots[..., :, None] * roots[..., None, :]
            case Symbol() if node.record.articulated:
                formula = family_of(node).formula(node)
                if formula is not None:
                    return self._magnitude(formula)
        return np.abs(self.matrix(node))

    def _by_block(self, operand: Node, function: BlockFunction, *beside: np.ndarray) -> np.ndarray:
        """function(block, its name) on each diagonal block, zero elsewhere.

        Args:
            operand: what has the blocks.
            function: of a block, its name, and the same block of what stands beside.
            beside: matrices.
        """
        source, target = operand.source, operand.target
        assert source is not None and target is not None
        matrix = self.matrix(operand)
        result = np.zeros_like(matrix)
        places = zip(self.slices(target), self.slices(source), strict=True)
        for name, (row, column) in zip(self._block_names(target), places, strict=True):
            block = matrix[..., row, column]
            others = [x[..., row, column] for x in beside]
            named = f"`{operand}` at {target.name} {name!r}"
            result[..., row, column] = function(block, named, *others)
        return result

    def _block_names(self, space: Space) -> Sequence[str | int]:
        if space is BODY:
            return [body.name for body in self.model.bodies]
        if space is JOINT:
            return [joint.name for joint in self.model.joints]
        return range(len(self.sizes(space)))


def _has_blocks(operand: Node) -> bool:
    """Whether an operator is evaluated block by block."""
    return operand.causality is Causality.MEMORYLESS and operand.target in (BODY, JOINT)


def _inverse(matrix: np.ndarray, what: str, bound: np.ndarray | None = None) -> np.ndarray:
    """A^-1; SolveError where hardly a digit of it would be right, beside what A was made of."""
    result = inverse_or_none(matrix, bound)
    if result is None:
        raise SolveError(f"{what} is singular at this configuration")
    return result


def _cholesky(matrix: np.ndarray, what: str) -> np.ndarray:
    """L with A = L L*; without complex conjugates, so that complex steps pass."""
    if np.any(np.abs(matrix - matrix.mT) > 1e-9 * np.abs(matrix).max(initial=0.0)):
        raise SolveError(f"{what} has no square root: it is not symmetric")
    L = np.zeros_like(matrix)
    for j in range(matrix.shape[-1]):
        column = matrix[..., j:, j] - np.sum(L[..., j:, :j] * L[..., j : j + 1, :j], axis=-1)
        if not np.all(column[..., 0].real > 0.0):
            raise SolveError(f"{what} has no square root: it is not positive definite")
        L[..., j:, j] = column / np.sqrt(column[..., :1])
    return L


def _check_point_counts(node: Node, shapes: set) -> None:
    """Spaces fit by type; only point space can differ in size."""
    if len(shapes) > 1:
        raise InputError(f"`{node}` mixes letters at different numbers of points")


def _check_size(expression: Node, inputs: Inputs) -> None:
    """Refuse what would fill the memory, before it does."""
    n, nodes = len(inputs.model.bodies), sum(1 for _ in walk(expression))
    one = 8.0 * sum(inputs.sizes(BODY)) ** 2 * float(np.prod(inputs.batch, initial=1.0))
    if one * nodes > LARGEST:
        raise InputError(
            f"as_matrix: {n} bodies and batch {inputs.batch} ask for up to {nodes} matrices of "
            f"{one / 1e9:.3g} GB each; use a smaller machine or batch"
        )
