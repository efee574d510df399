"""Cross products of spatial vectors: cross[x], S[x], Q[x], and how they are carried."""

from __future__ import annotations

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.operators import Delta_phi, E_phi, Q, S, cross, vector

x, y = vector("x", "body"), vector("y", "body")

PRODUCTS = [
    Equation(
        "cross product with itself",
        cross[x] @ x,
        0 * x,
        "[000 Lemma 2.2 (2.6)]",
        variables=(x,),
        meaning="a motion does not carry itself along",
    ),
    Equation(
        "cross product turned",
        cross[x] @ y,
        -cross[y] @ x,
        "[000 Lemma 2.2 (2.6)]",
        variables=(x, y),
        meaning="antisymmetric, though the matrix is not skew",
    ),
    Equation(
        "Lie bracket",
        cross[cross[x] @ y],
        cross[x] @ cross[y] - cross[y] @ cross[x],
        "[000 after (2.9)]",
        variables=(x, y),
        meaning="Jacobi's identity",
    ),
    Equation(
        "force cross product",
        S[x],
        -cross[x].T,
        "[000 (2.7)]",
        variables=(x,),
        meaning="forces are carried along as motions are, transposed",
    ),
    Equation(
        "Q is skew",
        Q[x].T,
        -Q[x],
        "[000 (2.8)]",
        variables=(x,),
    ),
    Equation(
        "factors exchanged",
        S[x] @ y,
        -Q[y] @ x,
        "[000 (2.9)]",
        variables=(x, y),
        meaning="Q is to S[x] what the minus is to the cross product",
    ),
    Equation(
        "factors exchanged, transposed",
        cross[x].T @ y,
        Q[y] @ x,
        "[000 (2.9)]",
        variables=(x, y),
        derived=True,
    ),
]

CARRIED = [
    Equation(
        "Lemma 2.3 of 000, line 1",
        Q[Delta_phi @ x],
        Delta_phi @ Q[x] @ Delta_phi.T,
        "[000 Lemma 2.3 (2.10)]",
        variables=(x,),
        meaning="Q[.] of a force that is carried",
    ),
    Equation(
        "Lemma 2.3 of 000, line 2",
        S[Delta_phi.T @ x],
        Delta_phi.inv @ S[x] @ Delta_phi,
        "[000 Lemma 2.3 (2.10)]",
        variables=(x,),
        meaning="S[.] of a motion that is carried",
    ),
    Equation(
        "Lemma 2.3 of 000, line 3",
        cross[Delta_phi.T @ x],
        Delta_phi.T @ cross[x] @ Delta_phi.inv.T,
        "[000 Lemma 2.3 (2.10)]",
        variables=(x,),
        meaning="the cross product of a motion that is carried",
        derived=True,
    ),
    Equation(
        "Lemma 2.3 of 000, line 4",
        cross[Delta_phi.T @ x] @ Delta_phi.T,
        Delta_phi.T @ cross[x],
        "[000 Lemma 2.3 (2.10)]",
        variables=(x,),
        derived=True,
    ),
    Equation(
        "Lemma 2.3 of 000 by steps, line 1",
        Q[E_phi @ x],
        E_phi @ Q[x] @ E_phi.T,
        "[000 Lemma 2.3 (2.10), with turns]",
        variables=(x,),
        meaning="the same for a step inward, axes turned with it",
    ),
    Equation(
        "Lemma 2.3 of 000 by steps, line 2",
        E_phi @ S[E_phi.T @ x],
        S[x] @ E_phi,
        "[000 Lemma 2.3 (2.10), with turns]",
        variables=(x,),
    ),
    Equation(
        "Lemma 2.3 of 000 by steps, line 4",
        cross[E_phi.T @ x] @ E_phi.T,
        E_phi.T @ cross[x],
        "[000 Lemma 2.3 (2.10), with turns]",
        variables=(x,),
        derived=True,
    ),
]

EQUATIONS = [*PRODUCTS, *CARRIED]
