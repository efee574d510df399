"""Letters that a user adds: blocks that belong to the machine, and names for formulas.

    M_a = letter("M_a", "body", "body", added_mass, positive=True)
    Mass_w = define("Mass_w", H @ phi @ (M + M_a) @ phi.T @ H.T + Jm)

Such letters are as those of the papers in every way: their values need not be
passed, since the machine is asked for them. `operators` has the symbols whose
values are passed at evaluation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from importlib import import_module
from inspect import getdoc
from pickle import PicklingError
from typing import Any

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators import own_name
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, Causality, Space, as_space
from phipsi.errors import InputError, SpaceError

Blocks = Callable[..., Any]


class MachineLetter(Symbol):
    """A letter of the user's whose blocks a function tells, body by body. Made by `letter`.

    Attributes:
        blocks: of a body and its joint, and of the joint's coordinates where they vary.
        symmetric: whether each block is its own transpose.
        positive: whether each block is positive definite, or semidefinite.
        varies: whether blocks depend on the joint's own coordinates.
    """

    blocks: Blocks
    symmetric: bool
    positive: bool
    varies: bool

    def __init__(
        self,
        name: str,
        source: Space,
        target: Space,
        blocks: Blocks,
        symmetric: bool = False,
        positive: bool = False,
        varies: bool = False,
    ):
        fields = (name, source, target, blocks, symmetric, positive, varies)
        self._settle(fields, source, target, Causality.MEMORYLESS)
        self.__dict__.update(name=name, arguments=(), definition=None, free=False)
        self.__dict__.update(blocks=blocks, symmetric=symmetric, positive=positive, varies=varies)

    @property
    def meaning(self) -> str:
        """The first line of what the function says of itself."""
        return (getdoc(self.blocks) or "").partition("\n")[0]

    def __reduce__(self) -> Any:
        """By the name of the letter or of its function; a function without one stays here."""
        where, name = (getattr(self.blocks, x, "") for x in ("__module__", "__qualname__"))
        known = getattr(sys.modules.get(where), name, None)
        if known is self:  # the decorated function is the letter
            return _named, (where, name)
        if known is self.blocks:
            return MachineLetter, self._fields
        raise PicklingError(
            f"cannot pickle the letter {self.name}: {name or self.blocks!r} is no function of a "
            "module; define it by `def` at the top of one"
        )


def _named(module: str, name: str) -> Any:
    """What a module calls so."""
    return getattr(import_module(module), name)


def letter(
    name: str,
    source: Space | str,
    target: Space | str,
    blocks: Blocks | None = None,
    *,
    symmetric: bool = False,
    positive: bool = False,
    varies: bool = False,
) -> Any:
    """A block-diagonal operator, or a vector, whose blocks belong to the machine, as those of M do.

    `blocks(body, joint)` returns the block of a body, in its link frame, or of its joint: a
    matrix, or a number for that number times the identity; of a vector a list of numbers. It
    is asked once for each body of a machine. Where `varies`, `blocks(body, joint, q)` returns
    rows of scalars from the coordinates q of the joint, with the functions of `phipsi.scalars`
    where it needs sin or sqrt.

    Args:
        name: of the letter.
        source: "body" or "joint"; "scalar" for a vector.
        target: "body" or "joint".
        blocks: the function; without it, `letter` decorates one.
        symmetric: whether every block is its own transpose. Operators of the form
            `L phi W phi* L* + N` are inverted in O(N) where W and N are known to be.
        positive: whether blocks are symmetric and have no negative eigenvalue; then nothing
            has to be exchanged when they are factored.
        varies: whether blocks depend on q.

    Returns:
        The letter.

    Raises:
        InputError: a name that is taken, blocks that cannot be called.
        SpaceError: spaces that have no blocks opposite each other.

    >>> from phipsi.operators import Mass
    >>> D_j = letter("D_j", "joint", "joint", lambda body, joint: joint.damping, positive=True)
    >>> (Mass + 0.001 * D_j).inv
    (Mass + 0.001 * D_j).inv
    """
    if blocks is None:
        how = {"symmetric": symmetric, "positive": positive, "varies": varies}
        return lambda function: letter(name, source, target, function, **how)
    start, end = as_space(source), as_space(target)
    if end not in (BODY, JOINT) or start not in (BODY, JOINT, SCALAR):
        raise SpaceError(
            f"cannot make the letter {name} from {start} to {end}: a body has no such block\n"
            "  blocks of the machine map between bodies and joints; a vector of these maps from "
            "scalar space; see also operator(...), whose value is passed"
        )
    if (symmetric or positive) and start is not end:
        raise SpaceError(f"{name} cannot be symmetric: it maps {start} to {end}")
    if not callable(blocks) or not isinstance(blocks, Hashable):
        raise InputError(
            f"the letter {name} needs a function of a body and its joint, got {blocks!r}"
        )
    flags = symmetric or positive, positive, varies
    return MachineLetter(own_name(name), start, end, blocks, *map(bool, flags))


def define(name: str, formula: Node) -> Symbol:
    """A letter that stands for a formula, as Mass stands for H phi M phi* H* + Jm.

    Args:
        name: of the letter.
        formula: of letters; those with values to be passed keep asking for them.

    Returns:
        The letter; `letter.definition` is the formula.

    >>> from phipsi.operators import J, Mass
    >>> Lambda = define("Lambda", (J @ Mass.inv @ J.T).inv)
    >>> Lambda.definition
    (J @ Mass.inv @ J.T).inv
    """
    if not isinstance(formula, Node):
        raise InputError(f"the letter {name} needs an expression, got {type(formula).__name__}")
    if formula.source is None or formula.target is None:
        raise InputError(
            f"the letter {name}: the space of `{formula}` is open; compose it with an operator"
        )
    what = own_name(name), formula.source, formula.target, formula.causality
    return Symbol(*what, definition=formula)
