"""Equality constraints of a MuJoCo model: loops, joints that follow, couplings.

MuJoCo holds them softly, by forces; here joints that follow have no coordinates of their
own, and the rest are equations beside the tree.
"""

from __future__ import annotations

import math
from typing import Any

from phipsi.model.build import ModelBuilder
from phipsi.model.joints import Fixed, Spherical
from phipsi.model.names import take
from phipsi.model.peers.mujoco.bodies import Mimics, placement
from phipsi.model.peers.mujoco.names import SITE, Names
from phipsi.model.peers.remarks import Remarks
from phipsi.spatial import ZERO3

CONNECT, WELD, JOINT = 0, 1, 2
TYPE_NAMES = {3: "tendon", 4: "flex", 5: "flexvert", 6: "flexstrain", 7: "distance"}


SAME = 1e-12  # of two numbers that are meant to be equal


class Ties:
    """What the equality constraints of a model become.

    Args:
        mj: a `mujoco.MjModel`.
        names: of its parts.
        mimic: "enforce" makes joints follow, "independent" frees them.
        remarks: takes note of what is left out.
    """

    def __init__(self, mj: Any, names: Names, mimic: str, remarks: Remarks):
        self._mj, self._names, self._mimic, self._remarks = mj, names, mimic, remarks
        self._mimics: dict[int, tuple[str, float, float]] = {}
        self._leaders: dict[int, int] = {}
        self._loops: list[tuple[str, int]] = []
        self._couplings: list[tuple[str, int]] = []
        taken = {mj.equality(k).name for k in range(mj.neq)}
        for k in range(mj.neq):
            name = mj.equality(k).name or take(f"equality{k}", taken)
            self._take(k, name)

    @property
    def mimics(self) -> Mimics:
        """The joints that follow: leader, ratio and offset of each."""
        return self._mimics

    def add_to(self, builder: ModelBuilder) -> None:
        """Add the loops and the couplings; its bodies must have been added."""
        for name, k in self._loops:
            self._add_loop(builder, name, k)
        for name, k in self._couplings:
            joint, leader, coefficients, centre = self._polynomial(k)
            of = None if leader is None else self._names.joints[leader]
            builder.add_coupling(name, self._names.joints[joint], of, coefficients, centre)

    def _take(self, k: int, name: str) -> None:
        """Decide what becomes of a constraint."""
        type_ = int(self._mj.eq_type[k])
        if not self._mj.eq_active0[k]:
            text = f"equality {name!r} is not active, and ignored"
            self._remarks.say("ignored", text, "equality", name, notable=True)
        elif type_ in (CONNECT, WELD):
            self._loops.append((name, k))
        elif type_ == JOINT:
            self._tie(k, name)
        else:
            text = f"equality {name!r} is of type {TYPE_NAMES.get(type_, type_)!r}, "
            self._remarks.refuse(f"{text}which is not enforced", "equality", name)

    def _tie(self, k: int, name: str) -> None:
        joint, leader, coefficients, centre = self._polynomial(k)
        if self._is_repeated(joint, leader, coefficients, centre):
            text = f"equality {name!r} says again how joint {self._names.joints[joint]!r} follows"
            self._remarks.say("ignored", text, "equality", name, notable=True)
        elif leader is None or len(coefficients) > 2 or not self._can_follow(joint, leader):
            self._couplings.append((name, k))
        elif self._mimic == "independent":
            own = self._names.joints[joint]
            text = f"joint {own!r} moves on its own; equality {name!r} is not enforced"
            self._remarks.say("ignored", text, "equality", name, notable=True)
        else:
            self._mimics[joint] = self._names.joints[leader], *_line(coefficients, centre)
            self._leaders[joint] = leader

    def _is_repeated(
        self, joint: int, leader: int | None, coefficients: list[float], centre: float
    ) -> bool:
        """Whether a joint follows by this very line already."""
        if joint not in self._mimics or self._leaders[joint] != leader or len(coefficients) != 2:
            return False
        known, found = self._mimics[joint][1:], _line(coefficients, centre)
        return all(math.isclose(x, y, abs_tol=SAME) for x, y in zip(known, found, strict=True))

    def _can_follow(self, joint: int, leader: int) -> bool:
        """Whether a joint has no leader yet, and would not be led by itself."""
        if joint in self._leaders:
            return False
        while leader != joint and leader in self._leaders:
            leader = self._leaders[leader]
        return leader != joint

    def _polynomial(self, k: int) -> tuple[int, int | None, list[float], float]:
        """Joint, leader, coefficients and centre: `q - q0 = sum a_k (q_leader - q0_leader)^k`."""
        mj = self._mj
        joint, leader = int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k])
        coefficients = mj.eq_data[k, :5].tolist()
        coefficients[0] += float(mj.qpos0[mj.jnt_qposadr[joint]])
        while len(coefficients) > 1 and coefficients[-1] == 0.0:
            coefficients.pop()
        if leader < 0 or len(coefficients) == 1:
            return joint, None, coefficients[:1], 0.0
        return joint, leader, coefficients, float(mj.qpos0[mj.jnt_qposadr[leader]])

    def _add_loop(self, builder: ModelBuilder, name: str, k: int) -> None:
        """A joint between two bodies, or two sites: a ball for `connect`, none for `weld`.

        `weld` holds body 2's anchor at a place on body 1, and its axes to it, unless
        the scale of its torque is zero.
        """
        mj, data = self._mj, self._mj.eq_data[k]
        is_weld = mj.eq_type[k] == WELD and data[10] != 0.0
        on_sites = mj.eq_objtype[k] == SITE
        called = self._names.sites if on_sites else self._names.bodies
        first, second = called[mj.eq_obj1id[k]], called[mj.eq_obj2id[k]]
        here = there = ZERO3
        turned = None
        if not on_sites and mj.eq_type[k] == WELD:
            place = placement(data[3:6], data[6:10])
            here, turned, there = place.position, place.rotation, (*data[0:3].tolist(),)
        elif not on_sites:
            here, there = (*data[0:3].tolist(),), (*data[3:6].tolist(),)
        builder.add_closure(
            name,
            first,
            second,
            Fixed() if is_weld else Spherical(),
            position=here,
            rotation=turned,
            second_position=there,
        )


def _line(coefficients: list[float], centre: float) -> tuple[float, float]:
    """Ratio and offset of `a + b (x - centre)`."""
    constant, ratio = coefficients
    return ratio, constant - ratio * centre
