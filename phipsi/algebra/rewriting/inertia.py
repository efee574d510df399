"""Articulated letters of another inertia, as they are typed: `psi[M + M_a]`, `D[M, Jm + N]`."""

from __future__ import annotations

from phipsi.algebra import operators as op
from phipsi.algebra.families import MASS, Family
from phipsi.algebra.node import Node, Scaled, Symbol
from phipsi.algebra.rewriting.normal import are_equal, tidied
from phipsi.algebra.spaces import BODY, JOINT, Causality
from phipsi.errors import SpaceError


def of_inertia(letter: Symbol, *given: Node | int) -> Symbol:
    """P, D, G, tau_bar, K or psi of H phi W phi* H* + N.

    Args:
        letter: of the mass operator.
        given: W, and N where it is not Jm; 0 for none.
    """
    W, N = (*given, op.Jm)[:2] if given else (None, None)
    if isinstance(N, (int, float)) and N == 0:
        N = Scaled(0, op.Jm)
    if len(given) > 2 or not isinstance(W, Node) or not isinstance(N, Node):
        raise SpaceError(f"{letter}[...]: expected an inertia W, or W and a term N in joint space")
    for name, part, space in (("W", W.at(BODY), BODY), ("N", N.at(JOINT), JOINT)):
        is_one = part.source is part.target is space and part.causality is Causality.MEMORYLESS
        if not is_one or not are_equal(part, part.T):
            raise SpaceError(
                f"cannot take {letter}[{', '.join(map(str, given))}]\n  {name} is `{part}`; "
                f"expected a block-diagonal operator of {space} that is its own star, such as "
                f"{'M' if space is BODY else 'Jm'}"
            )
    is_zero = isinstance(N, Scaled) and N.factor == 0
    family = Family(op.H, op.E_phi, tidied(W.at(BODY)), None if is_zero else tidied(N.at(JOINT)))
    if letter.record in (op.K.record, op.psi.record):
        return getattr(family, letter.name) if family != MASS else letter
    return family.letter(letter)
