"""Numbers of a machine that are arguments: masses, inertias, placements, gravity.

A parameter has a name: a body or joint, a dot, a quantity; or `gravity`, or
`moments` for all bodies at once. What is not named stays as in the model, its
mass centre c and its inertia J_c about the mass centre among them. With m, h, J
mass, first moment and inertia about the link frame, a body has

    named                     m    h      J
    mass                      m    m c    J_c - m c~ c~
    first_moment              .    h      J_c - h~ h~ / m
    mass, first_moment        m    h      J_c - h~ h~ / m
    inertia                   .    .      J
    mass, inertia             m    m c    J
    first_moment, inertia     .    h      J
    all three, or moments     m    h      J

a dot being the number of the model. Dynamics are linear in m, h and J.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from phipsi import spatial
from phipsi.errors import InputError, name_choices
from phipsi.graph.graph import Graph
from phipsi.lowering import rigid
from phipsi.lowering.quantities import (
    GRAVITY,
    MEANING,
    MOMENTS,
    OF_BODIES,
    TEN,
    Parameter,
    Shape,
    checked_names,
    find,
    rivals,
)
from phipsi.lowering.rigid import Moments
from phipsi.model.configuration import check_array, columns
from phipsi.model.inertia import Inertia
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

Values = Mapping[str, Sequence[Scalar]]  # of each parameter its entries, row by row

NOTHING = 1e-30  # kg, or kg m^2: less than nothing by so much is negative
ROTATION = 1e-6  # how far R R* may be from I, as quaternions from length one


class _Given(NamedTuple):
    """A value as scalars, and what to call it in messages."""

    name: str
    entries: Sequence[Scalar]


class Condition(NamedTuple):
    """What values must meet: `value < bound`.

    Args:
        name: of the parameter.
        value, bound: what must be less than what.
        shown: the number to show if it is not; None for none.
        text: what is wrong then, as the end of a sentence.
    """

    name: str
    value: Scalar
    bound: float
    shown: Scalar | None
    text: str


@dataclass(frozen=True)
class Changes:
    """Scalars in place of the numbers of a machine.

    Args:
        inertias: of bodies, in their link frames.
        rotors: reflected inertias at joints.
        positions: of joint frames in the parents' link frames.
        rotations: likewise; a joint that has one has a position too.
        gravity: None if it stays.
    """

    inertias: dict[int, Inertia | Moments] = field(default_factory=dict)
    rotors: dict[int, Scalar] = field(default_factory=dict)
    positions: dict[int, Vector] = field(default_factory=dict)
    rotations: dict[int, Matrix] = field(default_factory=dict)
    gravity: Vector | None = None


UNCHANGED = Changes()


class Parameters:
    """The parameters of a machine, by name.

    Args:
        model: the machine.
        names: of the parameters.

    Raises:
        InputError: for a name that stands for nothing, or two that exclude each other.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> parameters = Parameters(arm, ["link2.mass", "gravity"])
    >>> parameters.shapes
    {'link2.mass': (), 'gravity': (3,)}
    >>> parameters.nominal()["gravity"]
    array([ 0.  ,  0.  , -9.81])
    """

    def __init__(self, model: Model, names: Sequence[str] = ()):
        self.model = model
        self._found: dict[str, Parameter] = {}
        taken: dict[tuple[str, int], str] = {}
        for name in checked_names(names):
            one = find(model, name)
            self._check_others(one, taken)
            self._found[name] = one
        for (quantity, k), name in taken.items():
            alone = quantity == "first_moment" and ("mass", k) not in taken
            if alone and ("inertia", k) not in taken and model.bodies[k].inertia.mass == 0.0:
                raise InputError(
                    f"{name!r}: body {model.bodies[k].name!r} has no mass, so nothing says where "
                    f"its mass centre is; make its mass and inertia parameters too"
                )

    def _check_others(self, one: Parameter, taken: dict[tuple[str, int], str]) -> None:
        """InputError if another parameter has the same numbers."""
        bodies = range(len(self.model.bodies)) if one.is_whole else (one.k,)
        for k in bodies:
            others = [x for x in rivals(one.quantity) if (x, k) in taken]
            if others:
                other = taken[others[0], k]
                if other == one.name:
                    raise InputError(f"parameters: {one.name!r} is named twice")
                raise InputError(
                    f"parameters: {other!r} and {one.name!r} are the same numbers; name one of them"
                )
            taken[one.quantity, k] = one.name

    @property
    def names(self) -> tuple[str, ...]:
        """As the user wrote them, in order."""
        return tuple(self._found)

    @property
    def shapes(self) -> dict[str, Shape]:
        """Of their values, by name."""
        return {name: one.shape for name, one in self._found.items()}

    @property
    def move_frames(self) -> bool:
        """Whether some of them are numbers of bodies or joints, not gravity alone."""
        return any(one.quantity != GRAVITY for one in self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def nominal(self) -> dict[str, np.ndarray]:
        """The numbers that the model itself has."""
        return {name: self._nominal(one) for name, one in self._found.items()}

    def _nominal(self, one: Parameter) -> np.ndarray:
        model = self.model
        if one.quantity == GRAVITY:
            return np.array(model.gravity)
        if one.is_whole:
            return np.array([rigid.of_body(body.inertia) for body in model.bodies])
        ten = np.array(rigid.of_body(model.bodies[one.k].inertia))
        joint = model.joints[one.k]
        return {
            "mass": ten[0],
            "first_moment": ten[1:4],
            "inertia": ten[4:],
            MOMENTS: ten,
            "position": np.array(joint.placement.position),
            "placement": joint.placement.matrix,
            "rotor_inertia": np.array(joint.rotor_inertia),
        }[one.quantity]

    # -- values ------------------------------------------------------------------------------

    def checked(self, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Values as arrays (*batch, *shape), or InputError: all of them, and no others."""
        for name in given:
            if name not in self._found:
                raise InputError(f"no parameter {name!r}; {name_choices(name, self._found)}")
        arrays: dict[str, np.ndarray] = {}
        for name, one in self._found.items():
            if name not in given:
                meaning = MEANING[one.quantity]
                raise InputError(f"the parameter {name!r} ({meaning}) needs a value")
            arrays[name] = check_array(name, given[name], one.shape, MEANING[one.quantity])
        for condition in self.conditions(self.entries(arrays)):
            _check(condition)
        return arrays

    def entries(self, arrays: Mapping[str, np.ndarray]) -> dict[str, list[Scalar]]:
        """The entries of each array as scalars: floats, or arrays over the batch."""
        found = {}
        for name, one in self._found.items():
            x, n = arrays[name], prod(one.shape)
            batch = x.shape[: x.ndim - len(one.shape)]
            found[name] = columns(x.reshape(*batch, n), slice(0, n))
        return found

    @property
    def bodies(self) -> set[int]:
        """The bodies that have numbers which are arguments, their joints included."""
        found = {one.k for one in self._found.values() if one.k != WORLD}
        every = any(one.is_whole for one in self._found.values())
        return set(range(len(self.model.bodies))) if every else found

    def inputs(self, graph: Graph) -> dict[str, list[Scalar]]:
        """Inputs of a graph in place of numbers: entry i of a name has the key (name, i)."""
        return {
            name: [graph.input((name, i)) for i in range(prod(shape))]
            for name, shape in self.shapes.items()
        }

    def conditions(self, values: Values, k: int | None = None) -> Iterator[Condition]:
        """What values must meet beside being finite: all of them, or those of one body."""
        owners = self._by_owner(values)
        for owner, given in owners.items() if k is None else [(k, owners.get(k, {}))]:
            if owner != WORLD:
                yield from _conditions(given)

    def changes(self, values: Values) -> Changes:
        """Scalars where the machine has numbers."""
        changes = Changes()
        for k, given in self._by_owner(values).items():
            x = {quantity: one.entries for quantity, one in given.items()}
            if k == WORLD:
                changes = replace(changes, gravity=tuple(x[GRAVITY]))
                continue
            if not x.keys().isdisjoint(OF_BODIES):
                changes.inertias[k] = _inertia(self.model.bodies[k].inertia, x)
            if "rotor_inertia" in x:
                changes.rotors[k] = self.model.joints[k].gear_ratio ** 2 * x["rotor_inertia"][0]
            if "position" in x:
                changes.positions[k] = tuple(x["position"])
            if "placement" in x:
                rows = [x["placement"][i : i + 4] for i in (0, 4, 8)]
                changes.positions[k] = tuple(row[3] for row in rows)
                changes.rotations[k] = tuple(tuple(row[:3]) for row in rows)
        return changes

    def _by_owner(self, values: Values) -> dict[int, dict[str, _Given]]:
        """Of each body with its joint, and of the world, what is given, by quantity."""
        owners: dict[int, dict[str, _Given]] = {}
        for name, one in self._found.items():
            x = values[name]
            if one.is_whole:
                for k in range(len(self.model.bodies)):
                    part = _Given(f"{name}[{k}]", x[TEN * k : TEN * (k + 1)])
                    owners.setdefault(k, {})[MOMENTS] = part
            else:
                owners.setdefault(one.k, {})[one.quantity] = _Given(name, x)
        return owners


# -- values --------------------------------------------------------------------------------


def _inertia(body: Inertia, given: Mapping[str, Sequence[Scalar]]) -> Inertia | Moments:
    """A body of which some numbers are given: the table above."""
    if MOMENTS in given:
        return Moments(tuple(given[MOMENTS]))
    m = given["mass"][0] if "mass" in given else body.mass
    h = given.get("first_moment")
    if "inertia" in given:
        h = spatial.scale(m, body.com) if h is None else h
        return Moments((m, *h, *given["inertia"]))
    com: Any = body.com if h is None else tuple(spatial.scale(1.0 / m, h))
    return Inertia(m, com, body.rotational)


def _conditions(given: Mapping[str, _Given]) -> Iterator[Condition]:
    """What the numbers of a body and its joint must meet."""
    if "mass" in given:
        name, (mass,) = given["mass"]
        divides = "first_moment" in given and "inertia" not in given
        yield _is_positive(name, mass) if divides else _is_not_negative(name, mass)
    if MOMENTS in given:
        name, moments = given[MOMENTS]
        yield _is_not_negative(f"the mass of {name}", moments[0])
    if "rotor_inertia" in given:
        name, (rotor,) = given["rotor_inertia"]
        yield _is_not_negative(name, rotor)
    if "placement" in given:
        yield from _is_placement(*given["placement"])


def _is_not_negative(name: str, x: Scalar) -> Condition:
    return Condition(name, -x, NOTHING, x, "it must not be negative")


def _is_positive(name: str, m: Scalar) -> Condition:
    text = (
        "it must be positive, since the mass centre is at first_moment / mass; "
        "make the inertia a parameter too where bodies may lose all mass"
    )
    return Condition(name, -m, -NOTHING, m, text)


def _is_placement(name: str, x: Sequence[Scalar]) -> Iterator[Condition]:
    """R R* = I, det R = 1, and 0 0 0 1 below."""
    R = [x[i : i + 3] for i in (0, 4, 8)]
    text = "is no placement: its upper left 3 x 3 must be a rotation, R R* = I and det R = 1"
    for i in range(3):
        for j in range(i, 3):
            error = abs(spatial.dot(R[i], R[j]) - float(i == j))
            yield Condition(name, error, ROTATION, None, text)
    yield Condition(name, -spatial.dot(spatial.cross(R[0], R[1]), R[2]), 0.0, None, text)
    below = "is no placement: its last row must be 0 0 0 1"
    for i, a in enumerate(x[12:]):
        yield Condition(name, abs(a - float(i == 3)), ROTATION, None, below)


def _check(condition: Condition) -> None:
    """InputError for the first of a batch that does not meet a condition."""
    fails = np.asarray(~(np.real(np.asarray(condition.value)) < condition.bound))
    if not fails.any():
        return
    where = [int(i) for i in np.argwhere(fails)[0]]
    place = f" at {where} of the batch" if where else ""
    if condition.shown is None:
        raise InputError(f"{condition.name}{place} {condition.text}")
    number = np.asarray(condition.shown)[tuple(where)]
    raise InputError(f"{condition.name} is {number:g}{place}; {condition.text}")
