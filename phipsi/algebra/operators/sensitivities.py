"""Sensitivities: of joint i, and of its speed a where it has several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phipsi import spatial
from phipsi.algebra.alphabet import FORCE, MOTION
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators.machine import I
from phipsi.algebra.operators.papers import letter
from phipsi.algebra.operators.propagation import S
from phipsi.algebra.spaces import BODY, JOINT

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix

# -- pick-offs: S[h], h the axis H*(i) e_a turned outward [000 (2.12), (2.13)] ------------


def _dense(bodies: Callable[[int, int], range]) -> Callable[..., Matrix]:
    """S[H*(i) e_a] at the diagonal blocks of some bodies, each in its own axes.

    Args:
        bodies: which, of i and of the first body behind those outboard of it.
    """

    def matrix(m: DenseMachine, *joint_and_axis: Any) -> Matrix:
        i, axis = m.joint_axis(*joint_and_axis)
        turn, h = m.kinematics.turn, m.kinematics.H_star[i][..., axis : axis + 1]
        block, result = m.block_of(spatial.cross_force, h), m.zeros(BODY, BODY)
        for k in bodies(i, m.model.tree.end[i]):
            to_own, own = turn[k].mT @ turn[i], m.slices(BODY)[k]
            result[..., own, own] = to_own @ block @ to_own.mT
        return result

    return matrix


def _statements(h: Callable[[Node], Node]) -> dict[str, Any]:
    """The steps of S[h]; `h` is made of the vector that has the axis at body i, else zeros."""

    def pick_off(low: MatrixLowering, letter: Symbol) -> Node:
        return S[low.settle(h(low.axis(letter)))]

    def apply(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
        operator = pick_off(low, letter)
        return low.vector((low.settle(operator.T) if star else operator) @ rest)

    def block(low: MatrixLowering, letter: Symbol) -> Slot:
        return low.block(pick_off(low, letter))

    return {"applied": apply, "block": block}


HH = letter(
    "HH",  # HH(i) at i and outboard of it
    BODY,
    BODY,
    dense=_dense(range),
    **_statements(lambda axis: (I - S.T).inv @ axis),
    of="joint",
    look="bb:H",
    flops=18,
    mechanics="pick-off: how the motion of joint i turns what is at i and outboard",
    estimation="change of the transition with joint i, at i and outboard",
    formula="S[h], h = H*(i) e_a turned outward",
    where="at (k, k), k at i or outboard",
    cited="[000 (2.13)]",
)
HH_s = letter(
    "HH_s",  # HH(i) strictly outboard of i
    BODY,
    BODY,
    dense=_dense(lambda i, end: range(i + 1, end)),
    **_statements(lambda axis: (I - S.T).inv @ axis - axis),
    of="joint",
    look="bb:H_s",
    flops=18,
    mechanics="pick-off, strictly outboard of joint i",
    estimation="change of the transition with joint i, strictly outboard",
    formula="HH - HH_delta",
    where="at (k, k), k outboard of i",
    cited="[000 (2.12)]",
)
HH_delta = letter(
    "HH_delta",  # HH(i) at i
    BODY,
    BODY,
    dense=_dense(lambda i, end: range(i, i + 1)),
    **_statements(lambda axis: axis),
    of="joint",
    carries=(FORCE, FORCE),
    look="bb:H_delta",
    flops=18,
    mechanics="pick-off at joint i alone",
    estimation="change of the transition with joint i, at i",
    formula="S[H*(i) e_a]",
    where="at (i, i)",
    cited="[000 (2.13)]",
)

# -- the joint map along its own coordinates ----------------------------------------------


def _dense_Gamma_delta(m: DenseMachine, *joint_and_axis: Any) -> Matrix:
    """Gamma(i,a) = D_{ia} H*(i) at i."""
    i, axis = m.joint_axis(*joint_and_axis)
    result, parts = m.zeros(BODY, JOINT), m.kinematics.Gamma[i]
    if parts:
        result[..., m.slices(BODY)[i], m.slices(JOINT)[i]] = parts[axis]
    return result


def _block_Gamma_delta(low: MatrixLowering, letter: Symbol) -> Slot:
    return low.emit("map_derivative", (low.coordinates(),), letter, letter.arguments)


Gamma_delta = letter(
    "Gamma_delta",  # D_{ia} H* at i
    JOINT,
    BODY,
    dense=_dense_Gamma_delta,
    block=_block_Gamma_delta,
    of="joint",
    carries=(MOTION, None),
    flops=12,
    unit=(0, 0),
    mechanics="change of joint i's map along its own speed a",
    estimation="change of the measurement map of joint i",
    formula="D_{ia} H*(i)",
    where="at (i, i)",
)
