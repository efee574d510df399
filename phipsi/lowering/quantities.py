"""The quantities of a machine that may be arguments, and their names.

A name is a body or joint, a dot and a quantity; or `gravity`, or `moments` for
all bodies at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from phipsi.errors import InputError, name_choices
from phipsi.model.model import Model
from phipsi.model.tree import WORLD

Shape = tuple[int, ...]

GRAVITY, MOMENTS = "gravity", "moments"
TEN = 10  # moments of a body: mass, first moment, inertia
OF_BODIES: dict[str, Shape] = {"mass": (), "first_moment": (3,), "inertia": (6,), MOMENTS: (TEN,)}
OF_JOINTS: dict[str, Shape] = {"position": (3,), "placement": (4, 4), "rotor_inertia": ()}
MEANING = {
    "mass": "of the body, kg",
    "first_moment": "mass times mass centre in the link frame, kg m",
    "inertia": "xx xy xz yy yz zz about the origin of the link frame, in its axes, kg m^2",
    MOMENTS: "mass, first moment, inertia: ten numbers",
    "position": "of the joint frame in the parent's link frame, m",
    "placement": "of the joint frame in the parent's link frame, homogeneous",
    "rotor_inertia": "of the motor about its own axis, kg m^2",
    GRAVITY: "acceleration of free fall in world axes, m/s^2",
}


class Parameter(NamedTuple):
    """A number, vector or matrix of a machine that is an argument.

    Args:
        name: as the user wrote it.
        quantity: which.
        k: of which body or joint; `WORLD` for gravity, and for the moments of all bodies.
        shape: of its value.
    """

    name: str
    quantity: str
    k: int
    shape: Shape

    @property
    def is_whole(self) -> bool:
        """Whether it holds the moments of all bodies."""
        return self.quantity == MOMENTS and self.k == WORLD


def checked_names(names: Any) -> tuple[str, ...]:
    """Names as a tuple, or InputError for what is no list of them."""
    try:
        several = tuple(names)
    except TypeError:
        several = (names,)
    if isinstance(names, str) or not all(isinstance(x, str) for x in several):
        raise InputError(
            f"parameters: expected a list of names, as ['link3.mass', 'gravity'], got {names!r}"
        )
    return several


def find(model: Model, name: str) -> Parameter:
    """What a name stands for, or InputError."""
    if name == GRAVITY:
        return Parameter(name, GRAVITY, WORLD, (3,))
    if name == MOMENTS:
        return Parameter(name, MOMENTS, WORLD, (len(model.bodies), TEN))
    owner, dot, quantity = name.rpartition(".")
    if not dot:
        raise InputError(
            f"parameter {name!r}: expected a body or joint and a quantity, as 'link3.mass', or "
            f"one of all; {name_choices(name, (GRAVITY, MOMENTS))}"
        )
    if quantity not in OF_BODIES and quantity not in OF_JOINTS:
        choices = name_choices(quantity, (*OF_BODIES, *OF_JOINTS))
        raise InputError(f"parameter {name!r}: unknown quantity {quantity!r}; {choices}")
    of_body = quantity in OF_BODIES
    bodies = {body.name: k for k, body in enumerate(model.bodies)}
    joints = {joint.name: k for k, joint in enumerate(model.joints)}
    owners = bodies if of_body else bodies | joints
    if owner not in owners:
        raise InputError(f"parameter {name!r}: {_missing(model, owner, quantity, owners, joints)}")
    return Parameter(name, quantity, owners[owner], (OF_BODIES if of_body else OF_JOINTS)[quantity])


def _missing(
    model: Model, owner: str, quantity: str, owners: dict[str, int], joints: dict[str, int]
) -> str:
    """Why a name has no such quantity, as the end of a sentence."""
    if owner in joints:
        body = model.bodies[joints[owner]].name
        return f"{owner!r} is the joint that carries {body!r}; write {f'{body}.{quantity}'!r}"
    frame = next((x for x in model.frames if x.name == owner), None)
    if frame is not None and frame.body == WORLD:
        return f"{owner!r} is welded to the world, and its numbers move nothing"
    if frame is not None:
        body = model.bodies[frame.body].name
        return f"{owner!r} is part of body {body!r}; write {f'{body}.{quantity}'!r}"
    what = "body" if quantity in OF_BODIES else "body or joint"
    return f"{model.name!r} has no {what} {owner!r}; {name_choices(owner, owners)}"


def rivals(quantity: str) -> tuple[str, ...]:
    """The quantities that hold the same numbers, itself among them."""
    if quantity == MOMENTS:
        return tuple(OF_BODIES)
    if quantity in OF_BODIES:
        return (quantity, MOMENTS)
    return ("position", "placement") if quantity in ("position", "placement") else (quantity,)
