"""Equations between operator expressions, as data.

An `Equation` says that two expressions mean the same, who found it, and where it
holds. Its letters are those of `phipsi.operators`; `variables` are letters that
stand for anything between the same spaces. Equations of the papers are in the
files beside this one; a user adds more by `pp.add_identity`.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.show import maps
from phipsi.algebra.walk import walk
from phipsi.cleaning import quoted, refuse_unwritable, visible
from phipsi.errors import InputError, SpaceError, name_choices


class Condition(Enum):
    """Where an equation holds; without any, on every tree."""

    NO_ROTORS = "no rotor inertia"
    SERIAL = "serial chains"  # no body carries two others; there may be several chains
    ONE_DOF = "joints of one freedom"
    TURNING = "joints that only turn"
    CONSTANT_MAPS = "joint maps that are constant in the axes of their bodies"
    LINK_AXES = "link axes"
    WORLD_AXES = "world axes"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, init=False)
class OnPath:
    """The condition that bodies follow one another on one path, from the base outward.

    There phi(i,k) phi(k,j) = phi(i,j) [001 (4)]; where k lies beside the path from i to j, the
    product is zero.

    Args:
        bodies: three or more, each another, the most inboard one first, as elements name them:
            by names of bodies or joints, or by numbers.

    >>> print(OnPath(0, 1, "hand"))
    bodies 0, 1, 'hand' on one path
    """

    bodies: tuple[str | int, ...]

    def __init__(self, *bodies: str | int):
        if len(bodies) < 3 or not all(map(_may_be_body, bodies)):
            raise InputError(
                f"OnPath: expected names or numbers of three bodies or more, got {bodies!r}"
            )
        if len(set(bodies)) < len(bodies):
            raise InputError(f"OnPath: expected each body once, got {bodies!r}")
        object.__setattr__(self, "bodies", bodies)

    def __str__(self) -> str:
        return f"bodies {', '.join(map(quoted, self.bodies))} on one path"


def _may_be_body(given: object) -> bool:
    """Whether it is a name that is not empty, or a number."""
    return bool(given.strip()) if isinstance(given, str) else type(given) is int


Requirement = Condition | OnPath  # what an equation may ask for
Requirements = Requirement | str | Iterable[Requirement | str]  # as users pass them
# A body in a text: in quotes, as it must be where its name has a comma or is a number; or plain.
_BODY = r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,'"\s][^,]*)"""
_PATH = re.compile(rf"bodies (?P<bodies>{_BODY}(?:,\s*{_BODY})*) on one path")


def read_requirement(given: Requirement | str) -> Requirement:
    """A condition from its text; InputError that lists the nearest ones.

    >>> read_requirement("serial chains")
    <Condition.SERIAL: 'serial chains'>
    >>> read_requirement("bodies 0, 1, hand on one path")
    OnPath(bodies=(0, 1, 'hand'))
    """
    if isinstance(given, (Condition, OnPath)):
        return given
    known = {x.value: x for x in Condition}
    if isinstance(given, str) and given in known:
        return known[given]
    path = _PATH.fullmatch(given) if isinstance(given, str) else None
    if path is None:
        choices = [*known, "bodies 0, 1, 2 on one path"]
        raise InputError(f"no condition {given!r}; {name_choices(str(given), choices)}")
    return OnPath(*map(_read_body, re.findall(_BODY, path["bodies"])))


def _read_body(text: str) -> str | int:
    name = text.strip()
    if name[0] not in "'\"":
        return int(name) if re.fullmatch(r"-?\d+", name) else name
    try:
        quoted: str = literal_eval(name)
    except (SyntaxError, ValueError):  # an escape that is none
        raise InputError(f"OnPath: cannot read the name {name}") from None
    return quoted


@dataclass(frozen=True)
class Equation:
    """left = right.

    Args:
        name: how it is called, and asked for: "Lemma 4".
        left: one side, or its text for `pp.parse`.
        right: the other, of the same spaces.
        source: where it is printed: "[003 Lemma 4]".
        conditions: where it holds.
        meaning: what it says, in a sentence.
        printed: how the source prints it, where the print is wrong.
        variables: letters of it that stand for anything between the same spaces: an operator
            for what `operator` makes there, block diagonal between bodies and joints.
        derived: whether it follows from other equations here, so that a search need not try it.
    """

    name: str
    left: Node
    right: Node
    source: str
    conditions: tuple[Requirement, ...] = ()
    meaning: str = ""
    printed: str = ""
    variables: tuple[Symbol, ...] = ()
    derived: bool = False

    def __post_init__(self) -> None:
        left, right = self.left, self.right
        if left.source is not right.source or left.target is not right.target:
            raise SpaceError(
                f"{self.name}: cannot equate `{left}` and `{right}`\n  {maps(left)}; {maps(right)}"
            )

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    def unicode(self) -> str:
        """As the papers write it, in plain text.

        >>> identity("Lemma 4").unicode()
        '(I − H ψ K) H φ = H ψ'
        """
        return f"{self.left.unicode()} = {self.right.unicode()}"

    def latex(self) -> str:
        r"""As the papers print it, in LaTeX.

        >>> print(identity("Lemma 5").latex())
        \psi^{-1} = \phi^{-1} + K H
        """
        return f"{self.left.latex()} = {self.right.latex()}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


class Equations(tuple[Equation, ...]):
    """Equations one after the other; their text has a line for each."""

    def __str__(self) -> str:
        return "\n".join(map(_line, self)) or "no identities"

    def __repr__(self) -> str:
        return str(self)


def _line(equation: Equation) -> str:
    conditions = f" for {', '.join(map(str, equation.conditions))}" if equation.conditions else ""
    source = f"  {equation.source}" if equation.source else ""
    return visible(f"{equation.name}: {equation}{conditions}{source}")


IDENTITIES: dict[str, Equation] = {}
_OWN: set[str] = set()  # names of those that the user added


def register(equations: Iterable[Equation]) -> None:
    """Take equations among those that are known, by their names."""
    for equation in equations:
        assert equation.name not in IDENTITIES, f"two equations {equation.name!r}"
        IDENTITIES[equation.name] = equation


def identity(name: str) -> Equation:
    """A known equation by its name; InputError that lists the nearest names.

    >>> identity("Lemma 4")  # doctest: +ELLIPSIS
    Equation(name='Lemma 4', left=(I - H @ psi @ K) @ H @ phi, right=H @ psi, ...
    >>> print(identity("Lemma 4"))
    (I - H @ psi @ K) @ H @ phi = H @ psi
    """
    if not isinstance(name, str) or name not in IDENTITIES:
        raise InputError(f"no identity {name!r}; {name_choices(str(name), IDENTITIES)}")
    return IDENTITIES[name]


def identities(
    paper: str | None = None, condition: Condition | None = None, derived: bool | None = None
) -> Equations:
    """The known equations, in the order of their topics; all of them, or some.

    Args:
        paper: only those that a source prints, such as "003" or "004-I".
        condition: only those that ask for it.
        derived: only those that follow from others, or only those that do not.

    >>> print(identities(paper="003", condition=Condition.NO_ROTORS)[0].name)
    Lemma 1 without rotors
    """
    if not (paper is None or isinstance(paper, str)):
        raise InputError(f"identities: expected a paper such as '003', got {paper!r}")
    if not (condition is None or isinstance(condition, Condition)):
        choices = ", ".join(one.name for one in Condition)
        raise InputError(
            f"identities: {condition!r} is no condition; expected one of pp.Condition: {choices}"
        )
    return Equations(
        equation
        for equation in IDENTITIES.values()
        if (paper is None or paper in papers_of(equation))
        and (condition is None or condition in equation.conditions)
        and (derived is None or derived is equation.derived)
    )


def papers_of(equation: Equation) -> tuple[str, ...]:
    """Which papers print it: the first word of each part of its source.

    >>> papers_of(identity("Lemma 5"))
    ('003',)
    """
    parts = equation.source.strip("[]").split(";")
    return tuple(dict.fromkeys(words[0] for part in parts if (words := part.split())))


def read_identity(
    name: str,
    left: Node | str,
    right: Node | str,
    source: str = "",
    conditions: Requirements = (),
    meaning: str = "",
    variables: Sequence[Symbol] = (),
    *,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Equation:
    """An equation of the user's own, of what `pp.add_identity` was passed; it is not known yet.

    >>> from phipsi.operators import operator
    >>> A = operator("A", "body", "body")
    >>> print(read_identity("swap", "phi E_phi A", "E_phi phi A", variables=[A]))
    phi @ E_phi @ A = E_phi @ phi @ A
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"add_identity: expected a name, got {name!r}")
    refuse_unwritable("add_identity", name, InputError)
    if name in IDENTITIES and name not in _OWN:
        raise InputError(
            f"add_identity: {name!r} is an equation of the papers, "
            f"{IDENTITIES[name]}; choose another name"
        )
    own = _own_letters(symbols, variables)
    left, right = (
        as_expression(name, x, own, notation, is_open=True, alphabet=alphabet)
        for x in (left, right)
    )
    for text, what in ((source, "source"), (meaning, "meaning")):
        if not isinstance(text, str):
            raise InputError(f"{name}: expected a text as {what}, got {type(text).__name__}")
        refuse_unwritable(f"add_identity: {what}", text, InputError)
    left, right = _settled(left, right)
    equation = Equation(
        name,
        left,
        right,
        source,
        read_requirements(name, conditions),
        meaning,
        variables=_variables(name, variables, left, right),
    )
    if left == right:
        raise InputError(f"{name}: both sides are `{left}`, which says nothing")
    return equation


def keep_identity(equation: Equation) -> None:
    """Make an equation of the user's own known; another one of that name gives way."""
    IDENTITIES[equation.name] = equation
    _OWN.add(equation.name)


def own_identities() -> tuple[Equation, ...]:
    """The equations that the user added, in the order of their names."""
    return tuple(IDENTITIES[name] for name in sorted(_OWN))


def forget_identity(name: str) -> None:
    """Take back an equation that was made known by `pp.add_identity`.

    Args:
        name: that of one of your own; those of the papers stay.

    >>> import phipsi as pp
    >>> from phipsi.operators import E_phi, phi
    >>> added = pp.add_identity("steps commute", phi @ E_phi, E_phi @ phi)
    >>> added in identities()
    True
    >>> forget_identity("steps commute")
    >>> added in identities()
    False
    """
    if not isinstance(name, str) or name not in _OWN:
        raise InputError(f"no identity of your own {name!r}; {name_choices(str(name), _OWN)}")
    _OWN.remove(name)
    del IDENTITIES[name]


def _own_letters(symbols: Symbols, variables: Sequence[Symbol]) -> dict[str, Node]:
    """The letters of a text: those that are passed, and the variables among them."""
    from phipsi.algebra.text.names import Names

    given = variables if isinstance(variables, Iterable) else ()
    return Names(symbols).own | {x.name: x for x in given if isinstance(x, Symbol)}


def _settled(left: Node, right: Node) -> tuple[Node, Node]:
    """Both sides, an open identity taken on the space of the other side."""
    if left.source is None and right.is_square and right.source is not None:
        left = left.at(right.source)
    if right.source is None and left.is_square and left.source is not None:
        right = right.at(left.source)
    return left, right


def read_requirements(name: str, given: Requirements) -> tuple[Requirement, ...]:
    """Conditions, each as it is or by its text; InputError that begins with a name."""
    several = (given,) if isinstance(given, (Condition, OnPath, str)) else given
    if not isinstance(several, Iterable):
        raise InputError(f"{name}: expected conditions, got {given!r}")
    try:
        return tuple(map(read_requirement, several))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _variables(
    name: str, variables: Sequence[Symbol], left: Node, right: Node
) -> tuple[Symbol, ...]:
    given = tuple(variables) if isinstance(variables, Iterable) else (variables,)
    for variable in given:
        if not (isinstance(variable, Symbol) and variable.free):
            raise InputError(
                f"{name}: {variable} cannot be a variable; make one by operator(...), "
                "vector(...) or scalar(...)"
            )
        for side in (left, right):
            if variable not in set(walk(side)):
                raise InputError(f"{name}: the variable {variable} is not in `{side}`")
    return given
