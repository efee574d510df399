"""Expressions: immutable, hashed, typed by the spaces they map between.

    Node
    |-- Symbol       a letter of the papers, or the user's own
    |-- Identity     I, of whatever space its neighbours ask for
    |-- Sum          A + B          |-- Transpose    A.T
    |-- Product      A @ B          |-- Inverse      A.inv
    |-- Scaled       2 * A          |-- Root         D.sqrt, the Cholesky factor
    `-- Bracket      S[x], Q[x]     `-- Diagonal     blockdiag(A)

Nothing here knows a machine or a number. Every node knows its `source` and
`target` space and its `causality`; what does not fit raises a SpaceError that
quotes the whole expression. A vector is a node whose source is the scalars.
Expressions stay as they were typed: only A.T.T, A.inv.inv, products with I,
factors of factors, and nested sums and products fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Real
from typing import Any, Self

from phipsi.algebra.spaces import BODY, SCALAR, Causality, Space
from phipsi.errors import SpaceError


class Node:
    """An operator or vector expression.

    `source` and `target` are None for an identity whose space is still open.
    `causality` says in which direction blocks are carried along the tree.
    """

    source: Space | None
    target: Space | None
    causality: Causality
    children: tuple[Node, ...]
    _fields: tuple  # what tells this node from others of its class
    _hash: int

    __array_ufunc__ = None  # an array on the left hands the operation to us

    def _settle(
        self,
        fields: tuple,
        source: Space | None,
        target: Space | None,
        causality: Causality,
        children: Sequence[Node] = (),
    ) -> None:
        """Set what every node knows; called once, by each class's `__init__`."""
        self.__dict__.update(
            _fields=fields,
            _hash=hash((type(self), fields)),
            source=source,
            target=target,
            causality=causality,
            children=tuple(children),
        )

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        """The same function of other children."""
        assert not children, "a leaf has no children"
        return self

    def at(self, space: Space) -> Node:
        """This expression with every open identity taken on the given space."""
        if self.source is not None:
            return self
        return self.rebuild(tuple(child.at(space) for child in self.children))

    @property
    def is_vector(self) -> bool:
        """Whether this is a vector: a map from the scalars."""
        return self.source is SCALAR and self.target is not SCALAR

    @property
    def is_square(self) -> bool:
        """Whether this maps a space to itself."""
        return self.source is self.target

    # -- what the user types -----------------------------------------------------------

    @property
    def T(self) -> Node:
        """The transpose, the papers' star."""
        return Transpose(self)

    @property
    def inv(self) -> Node:
        """The inverse."""
        return Inverse(self)

    @property
    def sqrt(self) -> Node:
        """The Cholesky factor: `A = A.sqrt @ A.sqrt.T`, lower triangular in each block."""
        return Root(self)

    def __matmul__(self, other: object) -> Node:
        return compose(self, _operand(other, f"{self} @ ..."))

    def __rmatmul__(self, other: object) -> Node:
        return compose(_operand(other, f"... @ {self}"), self)

    def __add__(self, other: object) -> Node:
        if isinstance(other, Real) and other == 0:  # sum([...]) starts from 0
            return self
        return add(self, _operand(other, f"{self} + ..."))

    def __sub__(self, other: object) -> Node:
        return add(self, -_operand(other, f"{self} - ..."))

    def __rsub__(self, other: object) -> Node:
        return -self + other

    def __neg__(self) -> Node:
        return scale(-1, self)

    def __mul__(self, other: object) -> Node:
        return scale(other, self)

    def __truediv__(self, other: object) -> Node:
        if not isinstance(other, Real):
            raise SpaceError(f"cannot divide `{self}` by {other!r}; multiply by its .inv instead")
        if other == 0:
            raise SpaceError(f"cannot divide `{self}` by zero")
        return scale(1 / float(other), self)

    __radd__ = __add__
    __rmul__ = __mul__

    # -- identity and looks ------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an expression is immutable: cannot set {name!r} of `{self}`")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        assert isinstance(other, Node)
        return self._hash == other._hash and self._fields == other._fields

    def __reduce__(self) -> tuple:
        return type(self), self._fields

    def __repr__(self) -> str:
        return str(self)


class Symbol(Node):
    """A letter: an operator or a vector, by name.

    A `definition` says what the letter stands for in terms of others. A `free`
    symbol has no meaning of its own: its value is given at evaluation.
    """

    def __init__(
        self,
        name: str,
        source: Space,
        target: Space,
        causality: Causality = Causality.MEMORYLESS,
        arguments: tuple = (),
        definition: Node | None = None,
        free: bool = False,
    ):
        fields = (name, source, target, causality, arguments, definition, free)
        self._settle(fields, source, target, causality)

    name = property(lambda self: self._fields[0])
    arguments = property(lambda self: self._fields[4])
    definition = property(lambda self: self._fields[5])
    free = property(lambda self: self._fields[6])

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(map(repr, self.arguments))})"


class Identity(Node):
    """I. Its space stays open until a neighbour decides it."""

    def __init__(self, space: Space | None = None):
        self._settle((space,), space, space, Causality.MEMORYLESS)

    def at(self, space: Space) -> Node:
        return Identity(space) if self.source is None else self

    def __str__(self) -> str:
        return "I"


class Sum(Node):
    """A + B + ..., all between the same spaces. Made by `add`."""

    def __init__(self, *terms: Node):
        causality = reduce(Causality.__or__, (term.causality for term in terms))
        self._settle(terms, terms[0].source, terms[0].target, causality, terms)

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return reduce(add, children)

    def __str__(self) -> str:
        text = str(self.children[0])
        for term in self.children[1:]:
            negative = isinstance(term, Scaled) and isinstance(term.factor, Real)
            if negative and term.factor < 0:  # type: ignore[attr-defined]
                text += f" - {_inside(-term, Scaled)}"
            else:
                text += f" + {term}"
        return text


class Product(Node):
    """A @ B @ ...: the last acts first. Made by `compose`."""

    def __init__(self, *factors: Node):
        causality = reduce(Causality.__or__, (factor.causality for factor in factors))
        self._settle(factors, factors[-1].source, factors[0].target, causality, factors)

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return reduce(compose, children)

    def __str__(self) -> str:
        return " @ ".join(_inside(factor, Product) for factor in self.children)


class Scaled(Node):
    """factor * operand; the factor is a number or a scalar expression. Made by `scale`."""

    factor: Real | Node = property(lambda self: self._fields[0])  # type: ignore[assignment]

    def __init__(self, factor: Any, operand: Node):
        children = (factor, operand) if isinstance(factor, Node) else (operand,)
        self._settle((factor, operand), operand.source, operand.target, operand.causality, children)

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return scale(children[0] if len(children) == 2 else self.factor, children[-1])

    def __str__(self) -> str:
        operand = _inside(self.children[-1], Scaled)
        if isinstance(self.factor, Node):
            return f"{_inside(self.factor, Scaled)} * {operand}"
        return f"-{operand}" if self.factor == -1 else f"{self.factor} * {operand}"


class _Function(Node):
    """A function of one operator, written behind it."""

    suffix = ""

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return type(self)(*children)

    def __str__(self) -> str:
        return f"{_inside(self.children[0], _Function)}.{self.suffix}"


class Transpose(_Function):
    """A.T, the papers' A*; A.T.T is A and I.T is I."""

    suffix = "T"

    def __new__(cls, operand: Node) -> Node | Self:  # type: ignore[misc]
        return _undo(cls, operand)

    def __init__(self, operand: Node):
        self._settle((operand,), operand.target, operand.source, operand.causality.T, (operand,))


class Inverse(_Function):
    """A.inv; A.inv.inv is A and I.inv is I."""

    suffix = "inv"

    def __new__(cls, operand: Node) -> Node | Self:  # type: ignore[misc]
        if not operand.is_square:
            raise SpaceError(
                f"cannot invert `{operand}`\n  {_maps(operand)}; "
                "only what maps a space to itself has an inverse"
            )
        return _undo(cls, operand)

    def __init__(self, operand: Node):
        self._settle((operand,), operand.source, operand.target, operand.causality, (operand,))


class Root(_Function):
    """A.sqrt, the lower Cholesky factor of a memoryless symmetric operator."""

    suffix = "sqrt"

    def __init__(self, operand: Node):
        if not operand.is_square or operand.causality is not Causality.MEMORYLESS:
            raise SpaceError(
                f"cannot take the square root of `{operand}`\n  {_maps(operand)} and is "
                f"{operand.causality.value}; sqrt is for memoryless operators such as D"
            )
        self._settle((operand,), operand.source, operand.target, operand.causality, (operand,))


class Bracket(Node):
    """A memoryless operator made of a body vector, block by block: S[x], Q[x], cross[x]."""

    name = property(lambda self: self._fields[0])

    def __init__(self, name: str, vector: Node):
        if not (isinstance(vector, Node) and vector.is_vector and vector.target is BODY):
            raise SpaceError(
                f"cannot take {name}[{vector}]\n  {name}[.] takes a vector of {BODY}, such as V"
            )
        self._settle((name, vector), BODY, BODY, Causality.MEMORYLESS, (vector,))

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return Bracket(self.name, children[0])

    def __str__(self) -> str:
        return f"{self.name}[{self.children[0]}]"


class Diagonal(Node):
    """blockdiag(A): the memoryless part of A, the blocks off the diagonal dropped."""

    def __init__(self, operand: Node):
        if operand.is_vector:
            raise SpaceError(f"cannot take blockdiag({operand})\n  {operand} is a vector")
        memoryless = Causality.MEMORYLESS
        self._settle((operand,), operand.source, operand.target, memoryless, (operand,))

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return Diagonal(children[0])

    def __str__(self) -> str:
        return f"blockdiag({self.children[0]})"


# -- the three ways to combine ---------------------------------------------------------


def compose(left: Node, right: Node) -> Node:
    """left @ right, or a SpaceError that says what would fit."""
    if left.source is None and right.target is not None:
        left = left.at(right.target)
    if right.target is None and left.source is not None:
        right = right.at(left.source)
    if left.source is not right.target:
        raise SpaceError(_misfit(left, right))
    if isinstance(left, Identity):
        return right
    if isinstance(right, Identity):
        return left
    return Product(*_parts(left, Product), *_parts(right, Product))


def add(left: Node, right: Node) -> Node:
    """left + right, or a SpaceError that shows both sides."""
    if left.source is None and right.is_square and right.source is not None:
        left = left.at(right.source)
    if right.source is None and left.is_square and left.source is not None:
        right = right.at(left.source)
    if (left.source, left.target) != (right.source, right.target):
        raise SpaceError(
            f"cannot add `{left}` and `{right}` in `{left} + {right}`\n"
            f"  {_maps(left)}; {_maps(right)}"
        )
    return Sum(*_parts(left, Sum), *_parts(right, Sum))


def scale(factor: object, operand: Node) -> Node:
    """factor * operand for a number or a scalar expression."""
    if isinstance(factor, Node):
        if not (factor.source is SCALAR and factor.target is SCALAR):
            if operand.source is SCALAR and operand.target is SCALAR:
                return scale(operand, factor)
            raise SpaceError(
                f"cannot multiply `{factor}` and `{operand}` by *\n"
                f"  * is for scalars; did you mean `{factor} @ {operand}`?"
            )
        return Scaled(factor, operand)
    if not isinstance(factor, Real) or isinstance(factor, bool):
        raise SpaceError(f"cannot multiply `{operand}` by {factor!r}; expected a number")
    if isinstance(operand, Scaled) and isinstance(operand.factor, Real):
        factor, operand = factor * operand.factor, operand.children[-1]  # type: ignore[operator]
    return operand if factor == 1 else Scaled(factor, operand)


def _operand(other: object, expression: str) -> Node:
    """The other side of an operation, or a SpaceError if it is no expression."""
    if isinstance(other, Node):
        return other
    if isinstance(other, Real):
        raise SpaceError(f"a number has no space in `{expression}`; write {other} * I")
    raise SpaceError(
        f"{type(other).__name__} is no operator or vector in `{expression}`; name it with "
        "operators.vector(...) or operators.operator(...) and pass its value at evaluation"
    )


def _parts(node: Node, kind: type) -> tuple[Node, ...]:
    """A product's factors or a sum's terms; else the node alone."""
    return node.children if isinstance(node, kind) else (node,)


def _undo(kind: type, operand: Node) -> Any:
    """f(f(A)) = A and f(I) = I: hand back what is there, or a new node to fill."""
    if type(operand) is kind:
        return operand.children[0]
    return operand if isinstance(operand, Identity) else object.__new__(kind)


# -- how expressions look --------------------------------------------------------------

_BINDING: dict[type, int] = {Sum: 0, Scaled: 1, Product: 2, _Function: 3}


def _inside(node: Node, parent: type) -> str:
    """A child's text, in parentheses where the parent binds tighter."""
    own = _BINDING.get(type(node), 3)
    return f"({node})" if own < _BINDING[parent] else str(node)


def _maps(node: Node) -> str:
    """What a node maps between, as a clause."""
    if node.source is None:
        return f"`{node}` maps a space that is still open to itself"
    if node.is_vector:
        return f"`{node}` is a vector of {node.target}"
    return f"`{node}` maps {node.source} to {node.target}"


def _misfit(left: Node, right: Node) -> str:
    """The message for spaces that do not meet, with the transpose that would."""
    inner, outer = _parts(left, Product)[-1], _parts(right, Product)[0]
    whole = f"{_inside(left, Product)} @ {_inside(right, Product)}"
    starts = "is a vector" if inner.is_vector else f"starts from {inner.source}"
    a, b = _inside(inner, Product), _inside(outer, Product)
    text = f"cannot compose {a} @ {b} in `{whole}`\n"
    text += f"  {_maps(outer).replace('`', '')}; {a} {starts}."
    if outer.source is inner.source and not outer.is_vector:
        return f"{text} Did you mean {_inside(outer, _Function)}.T?"
    if inner.target is outer.target and (inner is left or inner.is_square):
        return f"{text} Did you mean {_inside(inner, _Function)}.T?"
    return text
