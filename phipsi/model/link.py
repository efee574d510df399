"""A link: one body with its joint, as the user gave it, and what is checked of it alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

from phipsi.errors import ModelError
from phipsi.masks import refuse_masked
from phipsi.model.geometry import Shape, Visual
from phipsi.model.inertia import Inertia, Placement, number
from phipsi.model.joints import Fixed, JointKind
from phipsi.model.model import UNLIMITED, Limits
from phipsi.scalars import HUGE


@dataclass(frozen=True, slots=True)
class Link:
    """A body, the joint that carries it, and the name of its parent."""

    name: str
    parent: str
    joint_name: str
    kind: JointKind
    placement: Placement
    inertia: Inertia
    limits: Limits
    damping: float
    friction: float
    rotor_inertia: float
    gear_ratio: float
    mimic: tuple[str, float, float] | None
    stiffness: float = 0.0
    rest: tuple[float, ...] = ()


class Dependence(NamedTuple):
    """A coupling, its joints by name."""

    joint: str
    leader: str | None
    coefficients: tuple[float, ...]
    centre: float


def check_carrier(what: str, name: str) -> str:
    """The name of a body, or of the world."""
    if not isinstance(name, str):
        raise ModelError(f"{what} is {name!r}; expected a body's name, or 'world'")
    return name


def check_kind(kind: JointKind) -> None:
    """A joint kind that is possible."""
    if not isinstance(kind, JointKind):
        raise ModelError(
            f"joint is {kind!r}; expected a kind of phipsi.joints, as joints.Revolute((0, 0, 1))"
        )
    if type(kind).__module__ != JointKind.__module__:
        parents = [x for x in type(kind).__mro__[1:] if x.__module__ == JointKind.__module__]
        if parents != [JointKind]:
            raise ModelError(
                f"joint is a {type(kind).__name__}, derived from {parents[0].__name__}, of which "
                "everything is known without asking; derive from joints.JointKind, or give the "
                "motion to joints.Custom"
            )
    problem = kind.problem()
    if problem:
        raise ModelError(problem)


def check_limits(limits: Limits) -> Limits:
    """Limits in numbers, the lower one not above the upper."""
    if limits is UNLIMITED:
        return limits
    if not isinstance(limits, Limits) or not all(
        (type(x) is float or isinstance(x, Real)) and not math.isnan(x)
        for x in (limits.lower, limits.upper, limits.velocity, limits.effort)
    ):
        raise ModelError(
            f"limits is {limits!r}; expected pp.Limits(lower=-1.0, upper=1.0) of numbers"
        )
    if limits.lower > limits.upper:
        raise ModelError(
            f"the limits of the joint are [{limits.lower}, {limits.upper}]; "
            "lower must not exceed upper"
        )
    return limits


def odd_limits(limits: Limits) -> list[str]:
    """What no joint can have for a limit: each as a clause."""
    if limits is UNLIMITED:
        return []
    sizes = {"velocity": limits.velocity, "effort": limits.effort}
    return [f"its {name} limit is {x:g}, below 0" for name, x in sizes.items() if x < 0.0]


def odd_losses(link: Link) -> list[str]:
    """Losses that would feed energy in: each as a clause."""
    losses = {"damping": link.damping, "friction": link.friction}
    return [f"its joint has the {name} {x:g}, below 0" for name, x in losses.items() if x < 0.0]


def check_motor(link: Link) -> None:
    """A motor needs a gear, an inertia of its own, and a joint that moves."""
    if link.rotor_inertia < 0.0:
        raise ModelError(f"rotor_inertia is {link.rotor_inertia:g}; it must not be negative")
    if link.gear_ratio == 0.0:
        raise ModelError("gear_ratio is 0; give the motor turns per joint turn")
    if link.gear_ratio * link.gear_ratio * link.rotor_inertia > HUGE:
        raise ModelError(
            f"rotor_inertia is {link.rotor_inertia:g} and gear_ratio {link.gear_ratio:g}, so that "
            f"the joint feels more than {HUGE:g} kg m^2"
        )
    if link.rotor_inertia and isinstance(link.kind, Fixed):
        raise ModelError(
            f"joint {link.joint_name!r} is Fixed and has a rotor_inertia; "
            "a motor needs a joint that moves"
        )


def check_spring(link: Link) -> None:
    """A spring pulls back, towards coordinates that the joint has."""
    if link.stiffness < 0.0:
        raise ModelError(f"stiffness is {link.stiffness:g}; it must not be negative")
    if len(link.rest) not in (0, link.kind.nq):
        raise ModelError(
            f"rest has {len(link.rest)} numbers; joint {link.joint_name!r} is "
            f"{type(link.kind).__name__} and has {link.kind.nq} coordinates"
        )


def check_rest(rest: Any) -> tuple[float, ...]:
    """The coordinates in which a spring is at rest; one number for a joint of one."""
    if rest is None:
        return ()
    refuse_masked("rest", rest, ModelError)
    values = [rest] if isinstance(rest, Real) else rest
    try:
        return tuple(number("rest", x, "rad or m") for x in values)
    except TypeError:
        raise ModelError(f"rest is {rest!r}; expected the joint's coordinates") from None


def check_mimic(
    joint_name: str, kind: JointKind, mimic: tuple[str, float, float]
) -> tuple[str, float, float]:
    """(source, ratio, offset), of a joint that can follow another."""
    try:
        source, ratio, offset = mimic
        if isinstance(mimic, str) or not isinstance(source, str):
            raise TypeError
    except (TypeError, ValueError):
        raise ModelError(f"mimic is {mimic!r}; expected (joint name, ratio, offset)") from None
    if not can_mimic(kind):
        raise ModelError(
            f"joint {joint_name!r} is {type(kind).__name__}; "
            "only a joint with one coordinate can follow another"
        )
    return (
        source,
        number("mimic ratio", ratio, "rad or m per rad or m of the joint it follows"),
        number("mimic offset", offset, "rad or m"),
    )


def can_mimic(kind: JointKind) -> bool:
    """Whether a joint can follow, and lead: it has one coordinate."""
    return (kind.nq, kind.nv) == (1, 1)


def check_coupling(
    joint: str, leader: str | None, coefficients: Sequence[float], centre: float
) -> Dependence:
    """An equation between two joints, by name."""
    for end in (joint, leader):
        if not isinstance(end, str) and (end is not None or joint is None):
            raise ModelError(f"it ties {joint!r} to {leader!r}; expected the names of joints")
    if joint == leader:
        raise ModelError(f"joint {joint!r} cannot follow itself; name another leader, or None")
    refuse_masked("coefficients", coefficients, ModelError)
    try:
        unit = "rad or m, by powers of such"
        numbers = tuple(number("a coefficient", x, unit) for x in coefficients)
    except TypeError:
        raise ModelError(f"coefficients is {coefficients!r}; expected numbers") from None
    if not numbers:
        raise ModelError("it has no coefficients; give at least the constant")
    return Dependence(joint, leader, numbers, number("centre", centre, "rad or m"))


def check_values(what: str, values: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """Numbers of joints, by name."""
    try:
        return {
            name: tuple(number(f"{what} of {name!r}", x, "SI units") for x in of_joint)
            for name, of_joint in values.items()
        }
    except (TypeError, AttributeError):
        raise ModelError(
            f"{what} is {values!r}; expected the numbers of each joint, as {{'elbow': [0.5]}}"
        ) from None


def check_visuals(visuals: Iterable[Visual | Shape]) -> list[Visual]:
    """What a body looks like; a shape alone sits at the body's frame."""
    try:
        looks = [Visual(each) if isinstance(each, Shape) else each for each in visuals]
    except TypeError:
        looks = [None]  # type: ignore[list-item]
    if not all(isinstance(each, Visual) for each in looks):
        raise ModelError(
            f"visuals is {visuals!r}; expected a list of shapes, as [geometry.Box((1, 1, 1))], "
            "or of geometry.Visual.of(shape, position)"
        )
    return looks
