"""What the identities ask of a machine, and whether it can be asked to divide by zero.

An identity may hold on some machines alone (`Condition`). One that loses an inverse,
`Mass^-1 Mass = I`, holds where the inverse exists: where it does not, SolveError is due, and
the cancelled line would hide it. So it is used on machines whose pivots cannot vanish:

    D(k) >= H(k) M(k) H*(k) + Jm(k) > 0        since P >= M

whatever the state. A machine with a body without mass, or with a joint whose speeds may become
dependent, as at gimbal lock, or whose map it does not know in every state, computes its pivots,
and looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np

from phipsi import spatial
from phipsi.algebra.identities.equation import Condition, Equation, OnPath, Requirement
from phipsi.errors import InputError
from phipsi.model.joints import SphericalEuler, Universal
from phipsi.model.model import Body, Joint, Model

SMALL = 1e-9  # an inertia beside that of the whole machine: nearer to zero, pivots are looked at
HARMLESS = ("gravity", "position", "placement")  # parameters that leave every inertia as it is


@dataclass(frozen=True)
class Facts:
    """What is known of a machine before any state of it is.

    Args:
        conditions: of the identities, that it meets; paths among them that were asked for.
        regular: whether D has an inverse in every state.
        plain: whether no joint follows another.
    """

    conditions: frozenset[Requirement] = frozenset({Condition.LINK_AXES})
    regular: bool = False
    plain: bool = True


def facts_of(
    model: Model, parameters: Sequence[str] = (), equations: Iterable[Equation] = ()
) -> Facts:
    """What is known of a machine.

    Args:
        model: the machine.
        parameters: its numbers that are arguments.
        equations: that may ask for paths.
    """
    varying = {name.rpartition(".")[2] for name in parameters}
    paths = {x for one in equations for x in one.conditions if isinstance(x, OnPath)}
    met = set(find_met(model, {*Condition, *paths} - {Condition.WORLD_AXES}))
    if "rotor_inertia" in varying:
        met.discard(Condition.NO_ROTORS)
    regular = varying <= set(HARMLESS) and is_regular(model)
    return Facts(frozenset(met), regular, not model.has_mimics)


def unmet(model: Model, conditions: Iterable[Requirement]) -> list[Requirement]:
    """The conditions that a machine does not meet."""
    return [x for x in conditions if not meets(model, x)]


def find_met(model: Model, conditions: Iterable[Requirement]) -> Iterator[Requirement]:
    """The conditions that a machine meets; of bodies that it does not have, it meets none."""
    for condition in conditions:
        try:
            if meets(model, condition):
                yield condition
        except InputError:
            continue


def find_paths(model: Model, bodies: Iterable[str | int]) -> list[OnPath]:
    """Every three of some bodies that follow one another on a machine, from the base outward."""
    return [
        path
        for path in find_met(model, (OnPath(*three) for three in permutations(bodies, 3)))
        if isinstance(path, OnPath)
    ]


def meets(model: Model, condition: Requirement) -> bool:
    """Whether a machine meets a condition; of axes, it does.

    Raises:
        InputError: of a path whose bodies the machine does not have.
    """
    match condition:
        case OnPath():
            path = [_number_of(model, body) for body in condition.bodies]
            return all(model.tree.is_inboard(i, k) for i, k in pairwise(path))
        case Condition.NO_ROTORS:
            return not any(joint.reflected_inertia for joint in model.joints)
        case Condition.SERIAL:
            return all(len(children) <= 1 for children in model.tree.children)
        case Condition.ONE_DOF:
            return all(joint.kind.nv == 1 for joint in model.joints)
        case Condition.TURNING:
            return all(map(_only_turns, model.joints))
        case Condition.CONSTANT_MAPS:
            return all(map(_has_constant_map, model.joints))
    return True


def _number_of(model: Model, body: str | int) -> int:
    """A body's number from its name or its joint's, or from a number, which may be from the end."""
    if isinstance(body, str):
        return model.index(body)
    numbers = range(len(model.bodies))
    if not -len(numbers) <= body < len(numbers):
        raise InputError(f"{model.name!r} has no body {body}; it has {len(numbers)}")
    return numbers[body]


def _map_of(joint: Joint) -> list[list[float]]:
    return np.array(joint.kind.motion_map(joint.kind.neutral()), float).tolist()


def _only_turns(joint: Joint) -> bool:
    """Whether H* has no part along; of a map that varies anyhow, one state tells too little."""
    is_known = _has_constant_map(joint) or isinstance(joint.kind, (Universal, SphericalEuler))
    return is_known and not np.any(np.array(_map_of(joint))[3:])


def _has_constant_map(joint: Joint) -> bool:
    return not joint.kind.map_derivatives(joint.kind.neutral())


def is_regular(model: Model) -> bool:
    """Whether H M H* + Jm > 0 at every joint, in every state, by more than roundoff."""
    moving = [(b, j) for b, j in zip(model.bodies, model.joints, strict=True) if j.kind.nv]
    if not all(_has_constant_map(x) or isinstance(x.kind, Universal) for _, x in moving):
        return False
    size = _largest_inertia(model)
    if not all(_is_possible(body, size) for body in model.bodies):
        return False
    return all(_least_inertia(*both) > SMALL * size for both in moving)


def _is_possible(body: Body, size: float) -> bool:
    """Whether M(k) has no negative eigenvalue: then P(k) >= M(k), and D no smaller than by M."""
    own = body.inertia
    M = np.array(spatial.spatial_inertia(own.mass, own.com, own.rotational), float)
    return bool(np.linalg.eigvalsh(M)[0] >= -SMALL * size)


def _least_inertia(body: Body, joint: Joint) -> float:
    """The smallest eigenvalue of H M H* + Jm of a joint and its own body."""
    own = body.inertia
    M = np.array(spatial.spatial_inertia(own.mass, own.com, own.rotational), float)
    H_star = np.array(_map_of(joint))
    if isinstance(joint.kind, Universal):
        # H* turns with q[1], but the angle between its two axes stays: D is no smaller than this.
        moments, directions = (np.linalg.eigvalsh(x)[0] for x in (M[:3, :3], H_star.T @ H_star))
        return float(moments * directions + joint.reflected_inertia)
    D = H_star.T @ M @ H_star + joint.reflected_inertia * np.eye(joint.kind.nv)
    return float(np.linalg.eigvalsh(D)[0])


def _largest_inertia(model: Model) -> float:
    """Of all bodies together about a far end, the joints stretched out."""
    bodies = [body.inertia for body in model.bodies]
    reach = sum(float(np.linalg.norm(joint.placement.position)) for joint in model.joints)
    reach += max((float(np.linalg.norm(x.com)) for x in bodies), default=0.0)
    turning = sum(float(np.trace(np.array(x.rotational, float))) for x in bodies)
    return sum(x.mass for x in bodies) * max(reach**2, 1.0) + turning
