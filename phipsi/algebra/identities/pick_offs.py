"""The pick-off operators of 000: what one joint's motion does to the bodies outboard of it.

`HH`, `HH_s`, `HH_delta` and `Gamma_delta` stand bare here, for any joint and any of
its speeds; `of_joint` puts them in. Derivatives are not equations between
expressions: where a paper gives two forms of one, the two are equated.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators import (
    HH,
    Gamma_delta,
    H,
    HH_delta,
    HH_s,
    I,
    Jm,
    K,
    M,
    P,
    R,
    S,
    blockdiag,
    phi,
    phi_tilde,
)
from phipsi.algebra.walk import walk

OF_A_JOINT = (HH, HH_s, HH_delta, Gamma_delta)

HALF = H @ phi @ HH_delta @ phi @ M @ phi.T @ H.T  # half of (4.43)
BY_P = (I + phi @ K @ H) @ P @ phi.T @ H.T


def of_joint(equation: Equation, *joint_and_speed: Hashable) -> Equation:
    """An equation of pick-off operators for one joint, and one of its speeds.

    >>> from phipsi.algebra.identities import identity
    >>> print(of_joint(identity("(2.14) of 000"), "elbow_joint"))
    HH('elbow_joint') = HH_s('elbow_joint') + HH_delta('elbow_joint')
    """
    left, right = (put_joint(side, joint_and_speed) for side in (equation.left, equation.right))
    return replace(equation, left=left, right=right)


def takes_a_joint(equation: Equation) -> bool:
    """Whether an equation holds for any joint, which `of_joint` puts in."""
    return lacks_a_joint(equation.left) or lacks_a_joint(equation.right)


def lacks_a_joint(node: Node) -> bool:
    """Whether a pick-off operator in an expression is of no joint yet."""
    letters = set(walk(node))
    return any(letter in letters for letter in OF_A_JOINT)


def put_joint(node: Node, joint_and_speed: tuple) -> Node:
    """An expression with its bare pick-off operators of one joint, and one of its speeds."""
    if isinstance(node, Symbol):
        return node(*joint_and_speed) if node in OF_A_JOINT else node
    if not node.children:
        return node
    return node.rebuild(tuple(put_joint(child, joint_and_speed) for child in node.children))


def _skew(letter: Symbol) -> Equation:
    return Equation(
        f"{letter} is skew",
        letter.T,
        -letter,
        "[000 after (2.14)]",
        (Condition.TURNING,),
        meaning="a turn keeps lengths; a slide is no turn",
        derived=letter is not HH_delta,
    )


OPERATORS = [
    Equation(
        "(2.14) of 000",
        HH,
        HH_s + HH_delta,
        "[000 (2.14)]",
        meaning="at the joint's own body, and strictly outboard of it",
    ),
    Equation(
        "pick-offs and the shift",
        HH @ S,
        S @ HH_s,
        "[000 proof of Lemma 3.4]",
        meaning="a body is outboard of a joint if its parent is, or is the joint's own body",
    ),
    Equation(
        "(2.14) of 000, shifted",
        HH_s,
        S.T @ HH @ S,
        "[000 (2.14)]",
        (Condition.SERIAL,),
        meaning="strictly outboard: the parent's",
        derived=True,
    ),
    Equation(
        "(2.14) of 000, shifted on trees",
        HH_s,
        blockdiag(S.T @ HH @ S),
        "[000 (2.14), on trees]",
        meaning="the same where a body carries several",
    ),
    _skew(HH),
    _skew(HH_s),
    _skew(HH_delta),
    Equation(
        "pick-offs of constant maps",
        Gamma_delta,
        0 * Gamma_delta,
        "[000 sec. 1; 001 (13)]",
        (Condition.CONSTANT_MAPS,),
        meaning="axes that are fixed in the body do not change by the joint's own motion",
    ),
]

SENSITIVITIES = [
    Equation(
        "(3.37) of 000",
        phi @ HH @ phi_tilde - phi_tilde @ HH_s @ phi,
        phi @ HH_delta @ phi - phi @ HH + HH_s @ phi,
        "[000 (3.34), (3.37)]",
        meaning="two forms of the sensitivity of phi to a joint that turns, in world axes",
        derived=True,
    ),
    Equation(
        "Lemma 5.2 of 000",
        HALF + HALF.T,
        H
        @ (
            phi @ (HH_delta @ R + R @ HH_delta.T) @ phi.T
            + phi @ HH_delta @ phi_tilde @ R
            + R @ phi_tilde.T @ HH_delta.T @ phi.T
        )
        @ H.T,
        "[000 Lemma 4.2 (4.43), Lemma 5.2 (5.51)]",
        meaning="two forms of the sensitivity of the mass matrix to a joint of one freedom",
        printed="- M phi* HH for + M phi* HH*, - R HH for + R HH*: right only for a rotary joint",
        derived=True,
    ),
    Equation(
        "sensitivity by articulated inertias",
        HALF,
        H @ phi @ HH_delta @ BY_P,
        "[000 Lemma 4.2 (4.43), Lemma 4.3]",
        (Condition.NO_ROTORS,),
        meaning="half of the sensitivity of the mass matrix",
        derived=True,
    ),
    Equation(
        "sensitivity by articulated inertias with rotors",
        HALF,
        H @ phi @ HH_delta @ (BY_P + phi @ K @ Jm),
        "[000 Lemma 4.3, with rotors]",
        meaning="the same where joints have rotors",
        derived=True,
    ),
]

EQUATIONS = [*OPERATORS, *SENSITIVITIES]
