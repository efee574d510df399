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

import math
from collections.abc import Sequence
from functools import reduce
from numbers import Integral, Real
from typing import Any

from phipsi.algebra import show
from phipsi.algebra.alphabet import PAPERS, UNKNOWN, Letter, Opened, opened
from phipsi.algebra.show import maps
from phipsi.algebra.spaces import BODY, SCALAR, Causality, Space, are_paired
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
    __iter__ = None  # or Python would take __getitem__ for a sequence

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
    def terms(self) -> tuple[Node, ...]:
        """The terms of a sum; else the expression alone."""
        return (self,)

    @property
    def factors(self) -> tuple[Node, ...]:
        """The factors of a product; else the expression alone."""
        return (self,)

    @property
    def is_vector(self) -> bool:
        """Whether this is a vector: a map from the scalars."""
        return self.source is SCALAR and self.target is not SCALAR

    @property
    def is_scalar(self) -> bool:
        """Whether this is one number."""
        return self.source is SCALAR and self.target is SCALAR

    @property
    def is_square(self) -> bool:
        """Whether this maps a space to itself."""
        return self.source is self.target

    # -- what the user types -----------------------------------------------------------

    @property
    def T(self) -> Node:
        """The transpose, the papers' star."""
        return transpose(self)

    @property
    def inv(self) -> Node:
        """The inverse."""
        return invert(self)

    @property
    def sqrt(self) -> Node:
        """The Cholesky factor: `A = A.sqrt @ A.sqrt.T`, lower triangular in each block."""
        return Root(self)

    def __matmul__(self, other: object) -> Node:
        return compose(self, _operand(other, "{} @ ...", self))

    def __rmatmul__(self, other: object) -> Node:
        return compose(_operand(other, "... @ {}", self), self)

    def __add__(self, other: object) -> Node:
        return self if _is_zero(other) else add(self, _operand(other, "{} + ...", self))

    def __radd__(self, other: object) -> Node:  # sum([...]) starts from 0
        return self if _is_zero(other) else add(_operand(other, "... + {}", self), self)

    def __sub__(self, other: object) -> Node:
        return self if _is_zero(other) else add(self, -_operand(other, "{} - ...", self))

    def __rsub__(self, other: object) -> Node:
        return -self if _is_zero(other) else add(_operand(other, "... - {}", self), -self)

    def __neg__(self) -> Node:
        return scale(-1, self)

    def __mul__(self, other: object) -> Node:
        return scale(self, other) if isinstance(other, Node) else scale(other, self)

    def __rmul__(self, other: object) -> Node:
        return scale(other, self)

    def __truediv__(self, other: object) -> Node:
        if not isinstance(other, Real):
            raise SpaceError(f"cannot divide `{self}` by {other!r}; multiply by its .inv instead")
        divisor = _number(other, self, "divide")
        if divisor == 0:
            raise SpaceError(f"cannot divide `{self}` by zero")
        return scale(1 / divisor, self)

    def __rtruediv__(self, other: object) -> Node:
        raise SpaceError(f"cannot divide {other!r} by `{self}`; multiply by its .inv instead")

    # -- what the user may try, and what to write instead ------------------------------

    def __call__(self, *arguments: Any) -> Node:
        raise SpaceError(show.no_function(self, arguments))

    def __getitem__(self, index: Any) -> Node:
        raise SpaceError(
            f"`{self}` has no entries until it is evaluated; index the array that a compiled "
            "function or as_matrix returns"
        )

    def __pow__(self, exponent: object) -> Node:
        raise SpaceError(show.no_power(self))

    # -- identity and looks ------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an expression is immutable: cannot set {name!r} of `{self}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an expression is immutable: cannot delete {name!r} of `{self}`")

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

    def __str__(self) -> str:
        from phipsi.algebra.text.python import in_python  # the ways to write stand on this file

        return in_python(self)

    def __repr__(self) -> str:
        return str(self)

    def unicode(self, notation: str | None = None) -> str:
        """This expression as the papers write it, in plain text; `parse` reads it.

        Args:
            notation: with the letters of one paper, as in `parse`.

        >>> from phipsi.operators import D, H, I, K, psi
        >>> ((I - H @ psi @ K).T @ D.inv).unicode()
        '(I − H ψ K)* D⁻¹'
        """
        from phipsi.algebra.text.notations import in_letters_of
        from phipsi.algebra.text.unicode import in_unicode

        return in_unicode(in_letters_of(self, notation))

    def latex(self, notation: str | None = None) -> str:
        r"""This expression as the papers print it, in LaTeX; `parse` reads it.

        Args:
            notation: with the letters of one paper, as in `parse`.

        >>> from phipsi.operators import H, phi
        >>> print((H @ phi.T).latex())
        H \phi^{*}
        """
        from phipsi.algebra.text.latex import in_latex
        from phipsi.algebra.text.notations import in_letters_of

        return in_latex(in_letters_of(self, notation))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


class Symbol(Node):
    """A letter: an operator or a vector, by name.

    A `definition` says what the letter stands for in terms of others. A `free`
    symbol has no meaning of its own: its value is given at evaluation. All else
    that is known of the letter stands in its `record`.
    """

    name: str
    source: Space
    target: Space
    arguments: tuple
    definition: Node | None
    free: bool
    record: Letter

    def __init__(
        self,
        name: str,
        source: Space,
        target: Space,
        causality: Causality = Causality.MEMORYLESS,
        arguments: tuple = (),
        definition: Node | None = None,
        free: bool = False,
        record: Letter = UNKNOWN,
    ):
        fields = (name, source, target, causality, arguments, definition, free, record)
        self._settle(fields, source, target, causality)
        self.__dict__.update(name=name, arguments=arguments, definition=definition, free=free)
        self.__dict__.update(record=record)


class Identity(Node):
    """I. Its space stays open until a neighbour decides it."""

    record = Letter(
        "I",
        PAPERS,
        also=("cal:I",),  # [001 (3)]
        mechanics="identity",
        estimation="identity",
    )

    def __init__(self, space: Space | None = None):
        self._settle((space,), space, space, Causality.MEMORYLESS)

    def at(self, space: Space) -> Node:
        return Identity(space) if self.source is None else self


class Sum(Node):
    """A + B + ..., all between the same spaces. Made by `add`."""

    def __init__(self, *terms: Node):
        causality = reduce(Causality.__or__, (term.causality for term in terms))
        self._settle(terms, terms[0].source, terms[0].target, causality, terms)

    @property
    def terms(self) -> tuple[Node, ...]:
        return self.children

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return reduce(add, children)


class Product(Node):
    """A @ B @ ...: the last acts first. Made by `compose`.

    An outer product x @ y.T fills every block, so it is mixed; a scalar x.T @ y
    is a single block, so it is memoryless.
    """

    def __init__(self, *factors: Node):
        source, target = factors[-1].source, factors[0].target
        if source is SCALAR and target is SCALAR:
            causality = Causality.MEMORYLESS
        elif SCALAR not in (source, target) and any(x.source is SCALAR for x in factors):
            causality = Causality.MIXED
        else:
            causality = reduce(Causality.__or__, (factor.causality for factor in factors))
        self._settle(factors, source, target, causality, factors)

    @property
    def factors(self) -> tuple[Node, ...]:
        return self.children

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return reduce(compose, children)


class Scaled(Node):
    """factor * operand; the factor is a number or a scalar expression. Made by `scale`."""

    factor: Node | int | float

    def __init__(self, factor: Node | int | float, operand: Node):
        children = (factor, operand) if isinstance(factor, Node) else (operand,)
        self._settle((factor, operand), operand.source, operand.target, operand.causality, children)
        self.__dict__.update(factor=factor)

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return scale(children[0] if len(children) == 2 else self.factor, children[-1])


class Function(Node):
    """A function of one operator, written behind it as an attribute."""

    suffix = ""

    def __init__(self, operand: Node):
        self._settle((operand,), operand.source, operand.target, operand.causality, (operand,))

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return getattr(children[0], self.suffix)


class Transpose(Function):
    """A.T, the papers' A*. Made by `transpose`."""

    suffix = "T"

    def __init__(self, operand: Node):
        self._settle((operand,), operand.target, operand.source, operand.causality.T, (operand,))


class Inverse(Function):
    """A.inv. Made by `invert`."""

    suffix = "inv"


class Root(Function):
    """A.sqrt, the lower Cholesky factor of a memoryless symmetric operator."""

    suffix = "sqrt"

    def __init__(self, operand: Node):
        if not operand.is_square or operand.causality is not Causality.MEMORYLESS:
            raise SpaceError(
                f"cannot take the square root of `{operand}`\n"
                f"  {maps(operand)} and is {operand.causality.value}; "
                "sqrt is for memoryless maps of a space to itself, such as D"
            )
        super().__init__(operand)


class Bracket(Node):
    """A memoryless operator made of a body vector, block by block: S[x], Q[x], cross[x]."""

    name: str

    def __init__(self, name: str, vector: Node):
        if not (isinstance(vector, Node) and vector.is_vector and vector.target is BODY):
            raise SpaceError(
                f"cannot take {name}[{vector}]\n  {name}[.] takes a vector of {BODY}, such as V"
            )
        self._settle((name, vector), BODY, BODY, Causality.MEMORYLESS, (vector,))
        self.__dict__.update(name=name)

    @property
    def opened(self) -> Opened:
        """What is known of its blocks."""
        return opened(self.name)

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return Bracket(self.name, children[0])


class Opener:
    """A name that only opens a bracket: Q[x], cross[x]. No expression by itself."""

    def __init__(self, name: str, formula: str, record: Letter):
        self.name = name
        self.record = record
        self.__doc__ = formula

    def __getitem__(self, vector: Node) -> Node:
        return Bracket(self.name, vector)

    def __call__(self, *arguments: object) -> Node:
        raise SpaceError(show.in_brackets(self.name, arguments))

    def __repr__(self) -> str:
        return f"{self.name}[.]"


class Diagonal(Node):
    """blockdiag(A): the memoryless part of A, the blocks off the diagonal dropped."""

    def __init__(self, operand: Node):
        if not are_paired(operand.source, operand.target):
            raise SpaceError(
                f"cannot take blockdiag({operand})\n  {maps(operand)}; only a map between "
                "bodies and joints, or of a space to itself, has blocks on a diagonal"
            )
        memoryless = Causality.MEMORYLESS
        self._settle((operand,), operand.source, operand.target, memoryless, (operand,))

    def rebuild(self, children: tuple[Node, ...]) -> Node:
        return Diagonal(children[0])


# -- the ways to combine ---------------------------------------------------------------


def compose(left: Node, right: Node) -> Node:
    """left @ right, or a SpaceError that says what would fit."""
    if left.source is None and right.target is not None:
        left = left.at(right.target)
    if right.target is None and left.source is not None:
        right = right.at(left.source)
    if left.source is not right.target:
        raise SpaceError(show.misfit(left, right, Product(*left.factors, *right.factors)))
    if isinstance(left, Identity):
        return right
    if isinstance(right, Identity):
        return left
    return Product(*left.factors, *right.factors)


def add(left: Node, right: Node) -> Node:
    """left + right, or a SpaceError that shows both sides."""
    if left.source is None and right.is_square and right.source is not None:
        left = left.at(right.source)
    if right.source is None and left.is_square and left.source is not None:
        right = right.at(left.source)
    whole = Sum(*left.terms, *right.terms)
    if left.source is not right.source or left.target is not right.target:
        raise SpaceError(show.no_sum(left, right, whole))
    return whole


def scale(factor: object, operand: Node) -> Node:
    """factor * operand for a number or a scalar expression."""
    if isinstance(factor, Node):
        if not factor.is_scalar and operand.is_scalar:
            factor, operand = operand, factor
        if not factor.is_scalar:
            raise SpaceError(show.no_scaling(factor, operand))
        return Scaled(factor, operand)
    number = _number(factor, operand)
    if isinstance(operand, Scaled) and not isinstance(operand.factor, Node):
        number, operand = _number(number * operand.factor, operand), operand.children[0]
    return operand if number == 1 else Scaled(number, operand)


def transpose(operand: Node) -> Node:
    """A.T; A.T.T is A and I.T is I."""
    if isinstance(operand, Transpose):
        return operand.children[0]
    return operand if isinstance(operand, Identity) else Transpose(operand)


def invert(operand: Node) -> Node:
    """A.inv; A.inv.inv is A and I.inv is I."""
    if not operand.is_square:
        raise SpaceError(
            f"cannot invert `{operand}`\n  {maps(operand)}; "
            "only what maps a space to itself has an inverse"
        )
    if isinstance(operand, Inverse):
        return operand.children[0]
    return operand if isinstance(operand, Identity) else Inverse(operand)


def _operand(other: object, form: str, node: Node) -> Node:
    """The other side of an operation, or a SpaceError if it is no expression."""
    if isinstance(other, Node):
        return other
    raise SpaceError(show.no_operand(other, form, node))


def _number(factor: object, operand: Node, verb: str = "multiply") -> int | float:
    """A finite number to multiply or divide by, or a SpaceError."""
    if not isinstance(factor, Real) or isinstance(factor, bool):
        raise SpaceError(f"cannot {verb} `{operand}` by {factor!r}; expected a real number")
    try:
        number = float(factor)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SpaceError(f"cannot {verb} `{operand}` by {factor}; expected a finite number")
    return int(factor) if isinstance(factor, Integral) else number


def _is_zero(other: object) -> bool:
    return isinstance(other, Real) and other == 0
