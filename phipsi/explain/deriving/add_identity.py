"""`add_identity`: an equation of the user's own, tried on machines before anything uses it."""

from __future__ import annotations

from collections.abc import Sequence

from phipsi.algebra.identities.equation import (
    Equation,
    Requirements,
    keep_identity,
    read_identity,
)
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.parse import Symbols
from phipsi.algebra.rewriting.price import price
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError, SolveError
from phipsi.explain.deriving.check import Residual
from phipsi.explain.deriving.derivation import Derivation, Step

MACHINES = 2  # on which an equation is tried


def add_identity(
    name: str,
    left: Node | str,
    right: Node | str,
    source: str = "",
    conditions: Requirements = (),
    meaning: str = "",
    variables: Sequence[Symbol] = (),
    *,
    check: bool = True,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Equation:
    """Make an equation known, for `derive` and `compile`; one of yours of that name gives way.

    Both sides are evaluated on two random machines that meet the conditions, and an equation that
    is false there is refused. One that has no value there is believed: that of free letters that
    are no variables, whose values nobody has yet, or of functions that know your machines alone.
    `pp.derive(left, to=right, using=name).check(model)` tries it on a machine of yours.

    Args:
        name: how it is called; not the name of an equation of the papers.
        left: one side.
        right: the other, of the same spaces.
        source: where it comes from.
        conditions: where it holds, such as "serial chains"; without any, on every tree.
        meaning: what it says, in a sentence.
        variables: letters of it, made by `operator`, `vector` or `scalar`, that stand for
            anything of the kind.
        check: whether it is tried so; `compile` uses one that was not as it stands.
        symbols: your own letters in texts, as for `pp.parse`; variables need not be in it.
        notation: of the paper in which texts are read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.

    Returns:
        The equation.

    Raises:
        InputError: for what is no equation, and for one that is false.

    >>> import phipsi as pp
    >>> from phipsi.operators import operator
    >>> A = operator("A", "body", "body")
    >>> print(pp.add_identity("swap", "phi E_phi A", "E_phi phi A", variables=[A]))
    phi @ E_phi @ A = E_phi @ phi @ A
    >>> pp.forget_identity("swap")
    """
    equation = read_identity(
        name,
        left,
        right,
        source,
        conditions,
        meaning,
        variables,
        symbols=symbols,
        notation=notation,
        alphabet=alphabet,
    )
    if check:
        _refuse_if_false(equation)
    keep_identity(equation)
    return equation


def _refuse_if_false(equation: Equation) -> None:
    worst = _find_largest_residual(equation)
    if worst is None or worst.ok:
        return
    raise InputError(
        f"{equation.name}: `{equation}` is false: on a {worst.machine} the sides differ by "
        f"{worst.value:.2g} of their size. Say where it holds by conditions=, or pass check=False."
    )


def _find_largest_residual(equation: Equation) -> Residual | None:
    """How far both sides are apart on random machines; None where they have no values."""
    letters = letters_of((equation.left, equation.right))
    if any(x.free and x not in equation.variables for x in letters):
        return None
    ends = equation.left, equation.right
    step = Step(*ends, equation.name, equation)
    costs = price(equation.left), price(equation.right)
    claim = Derivation(*ends, (step,), *costs, looked_at=0, exhausted=True)
    try:
        return claim.check(machines=MACHINES).worst
    except SolveError:  # singular wherever it was tried, or a function that knows other machines
        return None
