"""Formulas of one body, as the papers print them: `sum_c phi(k,c) P+(c) phi*(k,c) + M(k)`.

    Formula
    |-- Atom      a letter at a place: H(k), phi(k,c), V(p)
    |-- Times     a product; phi(k,c) tau_bar(c) is psi(k,c)
    |-- Plus      a sum, what comes from other bodies first
    |-- Over      sum_c: over the children c of k, the points e on k, or all bodies
    |-- Around    S[V(k)]: a bracket
    `-- Number    2.5

k is the body where a loop stands, p its parent, c a child, e a point on it, j where a column
started. A formula knows its text, its star, its physical dimension, and whether its body vectors
are forces or motions. Formulas are multiplied and added as expressions of the algebra are, so that
what a step says is made of its own formula; see `spoken`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import opened
from phipsi.algebra.node import Identity, Node, Symbol
from phipsi.lowering.covariance import DUAL
from phipsi.lowering.program import Slot

SUM, PRODUCT, ATOM = 0, 1, 2  # how tightly a text holds together

Unit = tuple[int, int] | None  # (inertia, time): N m is (1, -2), rad/s (0, -1); None: unknown
Kinds = tuple[str | None, str | None]  # of target and source: "force", "motion"; None: unknown
UNKNOWN: Kinds = (None, None)


class Formula(ABC):
    """A formula of one body."""

    unit: Unit
    kinds: Kinds
    binding: int = ATOM

    @abstractmethod
    def text(self) -> str:
        """As the papers print it, in ASCII."""

    @abstractmethod
    def star(self) -> Formula:
        """The transpose."""

    @abstractmethod
    def atoms(self) -> Iterator[Atom]:
        """The letters in it."""

    @property
    def is_remote(self) -> bool:
        """Whether something of it comes from another body."""
        return any(atom.moves for atom in self.atoms())

    def inside(self, bound: int) -> str:
        """The text, in brackets where it holds together less tightly than its neighbours."""
        text = self.text()
        if self.binding >= bound:
            return text
        return f"[{text}]" if "(" in text else f"({text})"

    def __str__(self) -> str:
        return self.text()

    # -- as expressions are written ----------------------------------------------------------

    @property
    def T(self) -> Formula:
        """The transpose."""
        return self.star()

    @property
    def inv(self) -> Formula:
        """The inverse."""
        return inverse(self)

    @property
    def sqrt(self) -> Formula:
        """The Cholesky factor of a block, or the square root of a number."""
        return Around("sqrt", self, self.kinds)

    def __matmul__(self, other: Formula) -> Formula:
        return times(self, other)

    def __mul__(self, other: Formula) -> Formula:
        return times(self, other)

    def __rmul__(self, number: float) -> Formula:
        return times(Number(number), self)

    def __add__(self, other: Formula) -> Formula:
        return plus((1, self), (1, other))

    def __sub__(self, other: Formula) -> Formula:
        return plus((1, self), (-1, other))


@dataclass(frozen=True)
class Atom(Formula):
    """A letter at a place.

    Args:
        name: of the letter.
        place: "(k)", "(k,c)"; "" for what is one for the whole machine.
        unit, kinds: its dimension, and what its body vectors are; unstarred, uninverted.
        symmetric: whether it is its own star.
        moves: "in" for a step towards the base, "out" for one away from it, "" for none.
        is_number: whether it is one number of the whole machine.
        letter: of the algebra that it is; None for a quantity of its own.
        slot: where the program holds it, of a quantity.
    """

    name: str
    place: str = ""
    unit: Unit = None
    kinds: Kinds = UNKNOWN
    symmetric: bool = False
    moves: str = ""
    is_starred: bool = False
    is_inverse: bool = False
    is_number: bool = False
    letter: Node | None = None
    slot: Slot | None = None

    @property
    def marks(self) -> str:
        """Behind its name: ^-1 of an inverse, * of a star."""
        return ("^-1" if self.is_inverse else "") + ("*" if self.is_starred else "")

    def text(self) -> str:
        return f"{self.name}{self.marks}{self.place}"

    def at(self, space: object) -> Atom:
        """The identity of a space; of a body, it is the same."""
        return self

    def is_of(self, *letters: Symbol) -> bool:
        """Whether it is one of these letters, whatever its arguments, star or inverse."""
        own = self.letter
        return isinstance(own, Symbol) and any(own.record is x.record for x in letters)

    def star(self) -> Formula:
        if self.symmetric:
            return self
        target, source = (None if x is None else DUAL[x] for x in self.kinds)
        moves = {"in": "out", "out": "in"}.get(self.moves, "")
        return replace(self, is_starred=not self.is_starred, kinds=(source, target), moves=moves)

    def inverse(self) -> Atom:
        """The inverse."""
        unit = None if self.unit is None else (-self.unit[0], -self.unit[1])
        kinds = self.kinds[1], self.kinds[0]
        return replace(self, is_inverse=not self.is_inverse, unit=unit, kinds=kinds)

    def atoms(self) -> Iterator[Atom]:
        yield self


@dataclass(frozen=True)
class Number(Formula):
    """A number."""

    value: float

    kinds = UNKNOWN

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        return (0, 0) if self.value else None  # zero has the unit of whatever it stands for

    def text(self) -> str:
        return f"{self.value:g}"

    def star(self) -> Formula:
        return self

    def atoms(self) -> Iterator[Atom]:
        return iter(())


@dataclass(frozen=True)
class Times(Formula):
    """A product. Made by `times`."""

    factors: tuple[Formula, ...]

    binding = PRODUCT

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        total = (0, 0)
        for factor in self.factors:
            if factor.unit is None:
                return None
            total = total[0] + factor.unit[0], total[1] + factor.unit[1]
        return total

    @property
    def kinds(self) -> Kinds:  # type: ignore[override]
        parts = [x for x in self.factors if not (is_scalar(x) or is_multiple_of_identity(x))]
        return (parts[0].kinds[0], parts[-1].kinds[1]) if parts else UNKNOWN

    def text(self) -> str:
        parts = [x.inside(PRODUCT) for x in self.factors]
        for i, x in enumerate(self.factors[:-1]):
            if isinstance(x, Over):  # else it would reach to the end
                parts[i] = f"[{parts[i]}]"
        if len(parts) > 1:
            parts = [x.removesuffix(" I") if x.startswith("[j ") else x for x in parts]
        return " ".join(parts)

    def star(self) -> Formula:
        scalars = [x for x in self.factors if is_scalar(x)]
        others = [x.star() for x in reversed(self.factors) if not is_scalar(x)]
        return times(*scalars, *others)

    def atoms(self) -> Iterator[Atom]:
        for factor in self.factors:
            yield from factor.atoms()


@dataclass(frozen=True)
class Plus(Formula):
    """A sum of terms with signs. Made by `plus`."""

    terms: tuple[tuple[int, Formula], ...]

    binding = SUM

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        known = {x.unit for _, x in self.terms if x.unit is not None}
        return known.pop() if len(known) == 1 else None  # terms that do not fit have none

    @property
    def kinds(self) -> Kinds:  # type: ignore[override]
        sides = zip(*(x.kinds for _, x in self.terms), strict=True)
        target, source = (next((x for x in side if x is not None), None) for side in sides)
        return target, source

    def text(self) -> str:
        (sign, first), *others = self.terms
        text = f"-{first.inside(PRODUCT)}" if sign < 0 else first.inside(PRODUCT)
        for sign, term in others:
            text += f" {'-' if sign < 0 else '+'} {term.inside(PRODUCT)}"
        return text

    def star(self) -> Formula:
        return plus(*((sign, x.star()) for sign, x in self.terms))

    def atoms(self) -> Iterator[Atom]:
        for _, term in self.terms:
            yield from term.atoms()


@dataclass(frozen=True)
class Over(Formula):
    """sum_c x(c): over the children of k, the points on it, or all bodies.

    Args:
        index: "c", "e" or "k".
        body: what is summed.
    """

    index: str
    body: Formula

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        return self.body.unit

    @property
    def kinds(self) -> Kinds:  # type: ignore[override]
        return self.body.kinds

    binding = PRODUCT

    def inside(self, bound: int) -> str:
        return self.text()

    def text(self) -> str:
        return f"sum_{self.index} {self.body.inside(PRODUCT)}"

    def star(self) -> Formula:
        return Over(self.index, self.body.star())

    def atoms(self) -> Iterator[Atom]:
        return self.body.atoms()


FUNCTIONS = ("sqrt", "sqrt*", "blockdiag")  # of blocks


@dataclass(frozen=True)
class Around(Formula):
    """S[x], cross[x], Q[x]: an operator made of a vector; or a function of a block.

    Args:
        name: "S", "cross", "Q", or "sqrt", "inv".
        body: what stands inside.
        kinds: what the operator maps.
    """

    name: str
    body: Formula
    kinds: Kinds = UNKNOWN

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        own = self.body.unit
        if self.name == "inv":
            return None if own is None else (-own[0], -own[1])
        return None if self.name in FUNCTIONS else own

    def text(self) -> str:
        if self.name == "inv":
            return f"{self.body.inside(ATOM)}^-1"
        if self.name in ("sqrt", "sqrt*"):
            return f"{self.name}({self.body.text()})"
        if self.name == "blockdiag":
            return f"blockdiag({self.body.text()})"
        return f"{self.name}[{self.body.text()}]"

    def star(self) -> Formula:
        if self.name == "inv":
            return inverse(self.body.star())
        if self.name == "blockdiag":
            return replace(self, body=self.body.star())
        if self.name in ("sqrt", "sqrt*"):
            return replace(self, name="sqrt*" if self.name == "sqrt" else "sqrt")
        return plus((-1, bracket(opened(self.name).star, self.body)))

    def atoms(self) -> Iterator[Atom]:
        return self.body.atoms()


def bracket(name: str, x: Formula) -> Around:
    """S[x], cross[x] or Q[x]."""
    _, target, source = opened(name).carries
    return Around(name, x, (target, source))


ZERO = Number(0)
ONE = Number(1)


def is_scalar(x: Formula) -> bool:
    """Whether a factor is a number, or one number of the whole machine."""
    return isinstance(x, Number) or (isinstance(x, Atom) and x.is_number)


def is_multiple_of_identity(x: Formula) -> bool:
    """Whether a factor leaves a vector what it is, a force or a motion: I, 2 I, (I + I)^-1."""
    match x:
        case Atom():
            return isinstance(x.letter, Identity)
        case Times():
            return all(is_scalar(part) or is_multiple_of_identity(part) for part in x.factors)
        case Plus():
            return all(is_multiple_of_identity(term) for _, term in x.terms)
        case Around():
            return x.name == "inv" and is_multiple_of_identity(x.body)
    return False


def plus(*terms: tuple[int, Formula]) -> Formula:
    """A sum, flattened; what comes from other bodies first, zeros left out."""
    flat: list[tuple[int, Formula]] = []
    for sign, term in terms:
        if isinstance(term, Plus):
            flat += [(sign * own, x) for own, x in term.terms]
        elif term != ZERO:
            flat.append((sign, term))
    flat.sort(key=lambda x: (not (x[1].is_remote and x[0] > 0), not _is_quantity(x[1])))
    if not flat:
        return ZERO
    if len(flat) > 1 and flat[0][0] < 0:  # begin with a positive term, if there is one
        first = next((x for x in flat if x[0] > 0), flat[0])
        flat.remove(first)
        flat.insert(0, first)
    return flat[0][1] if len(flat) == 1 and flat[0][0] > 0 else Plus(tuple(flat))


def _is_quantity(x: Formula) -> bool:
    """Whether a term is one letter, and no constant of the machine."""
    return isinstance(x, Atom) and not x.symmetric


def times(*factors: Formula) -> Formula:
    """A product, flattened; numbers first, minus signs outside, phi tau_bar joined to psi."""
    sign, number = 1, 1.0
    flat: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Plus) and len(factor.terms) == 1:
            sign, factor = -sign, factor.terms[0][1]
        if isinstance(factor, Over) and not isinstance(factor.body, Plus) and not flat:
            flat.append(factor)
            continue
        parts = factor.factors if isinstance(factor, Times) else (factor,)
        for part in parts:
            if isinstance(part, Number):
                number *= part.value
            else:
                flat.append(part)
    if number == 0:
        return ZERO
    if number < 0:
        sign, number = -sign, -number
    others = [x for x in flat if not (isinstance(x, Atom) and isinstance(x.letter, Identity))]
    flat = _joined(others or flat[:1])
    if number != 1 or not flat:
        flat.insert(0, Number(number))
    product = flat[0] if len(flat) == 1 else Times(tuple(flat))
    return product if sign > 0 else Plus(((-1, product),))


def _joined(factors: list[Formula]) -> list[Formula]:
    """phi(k,c) tau_bar(c) as psi(k,c), tau_bar*(k) phi*(p,k) as psi*(p,k)."""
    for i in range(len(factors) - 1):
        left, right = factors[i : i + 2]
        if not (isinstance(left, Atom) and isinstance(right, Atom)):
            continue
        if left.is_starred != right.is_starred or left.is_inverse or right.is_inverse:
            continue
        step, across = (right, left) if left.is_starred else (left, right)
        if step.letter == op.E_phi and across.letter == op.tau_bar:
            psi = replace(step, name=across.name.replace("tau_bar", "psi"), letter=op.psi)
            return _joined([*factors[:i], psi, *factors[i + 2 :]])
    return factors


def inverse(x: Formula) -> Formula:
    """The inverse of a block, or of a number."""
    if isinstance(x, Atom):
        return x.inverse()
    return x.body if isinstance(x, Around) and x.name == "inv" else Around("inv", x, x.kinds[::-1])
