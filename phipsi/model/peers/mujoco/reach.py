"""Which joints the motors of a MuJoCo model move that are on none: tendons, sites, cranks."""

from __future__ import annotations

from typing import Any

CRANK, TENDON, SITE = 2, 3, 4  # how a motor acts: MuJoCo's transmissions
_JOINT, _PULLEY = 1, 2  # what a tendon is wrapped on: MuJoCo's objects
_GEOMS = (4, 5)  # a sphere, a cylinder


def reached_otherwise(mj: Any) -> dict[int, list[int]]:
    """Of each joint the actuators that move it, and are on something else.

    Args:
        mj: a `mujoco.MjModel`.
    """
    found: dict[int, list[int]] = {}
    for k, way in enumerate(mj.actuator_trntype.tolist()):
        for j in _reached(mj, k, way) if mj.actuator_gear[k].any() else ():
            found.setdefault(j, []).append(k)
    return found


def _reached(mj: Any, k: int, way: int) -> set[int]:
    """The joints that an actuator moves through a tendon, or sites."""
    first, second = mj.actuator_trnid[k].tolist()
    if way == TENDON:
        return _of_tendon(mj, first)
    if way == CRANK:
        return _between(mj, [mj.site_bodyid[first], mj.site_bodyid[second]])
    if way == SITE:
        return _between(mj, [mj.site_bodyid[first], mj.site_bodyid[second] if second >= 0 else 0])
    return set()


def _of_tendon(mj: Any, tendon: int) -> set[int]:
    """The joints that a tendon is made of, or leads over."""
    start = int(mj.tendon_adr[tendon])
    joints, bodies = set(), []
    for w in range(start, start + int(mj.tendon_num[tendon])):
        what, number = int(mj.wrap_type[w]), int(mj.wrap_objid[w])
        if what == _JOINT and mj.wrap_prm[w]:  # its coefficient
            joints.add(number)
        elif what not in (_JOINT, _PULLEY):
            bodies.append(mj.geom_bodyid[number] if what in _GEOMS else mj.site_bodyid[number])
    return joints | _between(mj, bodies)


def _between(mj: Any, bodies: list[Any]) -> set[int]:
    """The joints that move some of these bodies, and not all of them."""
    chains = [_chain(mj, int(body)) for body in bodies]
    if not chains:
        return set()
    return chains[0].union(*chains) - chains[0].intersection(*chains)


def _chain(mj: Any, body: int) -> set[int]:
    """The joints between a body and the world."""
    found: set[int] = set()
    while body:
        start = int(mj.body_jntadr[body])
        found.update(range(start, start + int(mj.body_jntnum[body])))
        body = int(mj.body_parentid[body])
    return found
