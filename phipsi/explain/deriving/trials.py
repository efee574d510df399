"""Where equations are tried: machines at a state, with a value for every free letter.

    trial = random_trial(expressions, conditions, seed)
    trial.value(expression)

A random machine meets the conditions that are asked for, and breaks those that are not, as far
as one machine can. Points and joints that the expressions name are on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phipsi import joints
from phipsi.algebra.identities import Condition, OnPath, Requirement
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS, POSE, SCALAR, Space
from phipsi.algebra.walk import letters_of, walk
from phipsi.errors import SolveError
from phipsi.lowering.conditions import unmet
from phipsi.lowering.dense import as_matrix
from phipsi.lowering.inputs import in_blocks
from phipsi.lowering.sides import points_beside
from phipsi.model.build import ModelBuilder
from phipsi.model.model import Model, Point, point

BODIES = 7  # of a random machine
SHAPES, SPREAD = 100, 1009  # trees that are drawn till bodies follow one another; their seeds
APART = 7  # bodies from one named frame to the next, where each has to move in all directions
Maker = Callable[[np.random.Generator], joints.JointKind]
SPATIAL, PLACE = 6, 16  # sizes of a point's block, and of a pose


@dataclass(frozen=True)
class Trial:
    """A machine at a state, and values of all free letters of some expressions.

    Args:
        model: the machine.
        expressions: whose letters get values.
        seed: of state, points and values.
        axes: in which expressions are evaluated.
        bare: how many points letters stand for that name none; as many as others name, if
            some do, for all of them are blocks of one space.
    """

    model: Model
    expressions: tuple[Node, ...]
    seed: int
    axes: str = "link"
    bare: int = 2

    @cached_property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q and v."""
        rng = np.random.default_rng(self.seed)
        return self.model.random(rng), rng.normal(size=self.model.nv)

    @cached_property
    def points(self) -> list[Point]:
        """For letters that name none: on the bodies that most joints carry."""
        rng = np.random.default_rng(self.seed + 1)
        depth = self.model.tree.depth
        far = sorted(range(len(depth)), key=lambda k: -depth[k])
        chosen = [far[i % len(far)] for i in range(self._number_of_points)]
        return [point(self.model.bodies[k].name, rng.normal(size=3)) for k in chosen]

    @cached_property
    def values(self) -> dict[str, Any]:
        """Of every free letter, by its name."""
        rng = np.random.default_rng(self.seed + 2)
        free = [x for x in letters_of(self.expressions) if x.free]
        return {x.name: self._random(rng, x) for x in free}

    def value(self, expression: Node) -> np.ndarray:
        """The dense meaning of an expression."""
        letters = letters_of([expression])
        given = {x.name: self.values[x.name] for x in letters if x.free}
        points = self.points if any(map(_is_at_point_space, walk(expression))) else None
        q, v = self.state
        return as_matrix(self.model, expression, q, v, axes=self.axes, points=points, **given)

    def size_of(self, letter: Symbol) -> float:
        """The norm of the value of a free letter."""
        value = self.values[letter.name]
        blocks = value if isinstance(value, list) else [value]
        return float(np.sqrt(sum(np.sum(np.square(block)) for block in blocks)))

    def _random(self, rng: np.random.Generator, letter: Symbol) -> Any:
        rows, columns = (self._sizes(x, letter) for x in (letter.target, letter.source))
        if letter.is_scalar:
            return rng.normal()
        if letter.is_vector:
            return rng.normal(size=sum(rows))
        if in_blocks(letter):
            return [rng.normal(size=shape) for shape in zip(rows, columns, strict=True)]
        return rng.normal(size=(sum(rows), sum(columns)))

    def _sizes(self, space: Space, letter: Symbol) -> list[int]:
        if space.size is not None:
            return [space.size]
        if space is POINTS:
            return [SPATIAL] * self._points_of(letter)
        return {
            BODY: [body.size for body in self.model.bodies],
            JOINT: [joint.kind.nv for joint in self.model.joints],
            COORDINATES: [self.model.nv],
            POSE: [PLACE] * len(self.model.bodies),
            SCALAR: [1],
        }.get(space, [SPATIAL])

    def _points_of(self, letter: Symbol) -> int:
        """How many points a free letter is at: as many as its neighbours name."""
        named = {len(x) for x in self._beside.get(letter, ()) if x}
        return max(named, default=self._number_of_points)

    @cached_property
    def _beside(self) -> dict[Symbol, set[tuple]]:
        return points_beside(self.expressions)

    @property
    def _number_of_points(self) -> int:
        named = (len(x.arguments) for x in letters_of(self.expressions) if _is_at_points(x))
        return next((n for n in named if n), self.bare)


def _is_at_points(letter: Symbol) -> bool:
    return not letter.free and _is_at_point_space(letter)


def _is_at_point_space(node: Node) -> bool:
    return POINTS in (node.source, node.target)


def axes_of(conditions: Collection[Requirement]) -> str:
    """The axes in which equations under these conditions are tried."""
    return "world" if Condition.WORLD_AXES in conditions else "link"


# -- random machines ---------------------------------------------------------------------


def random_trial(
    expressions: Sequence[Node], conditions: Collection[Requirement], seed: int, large: bool = False
) -> Trial:
    """A random machine that meets the conditions, at a random state.

    Raises:
        SolveError: where bodies that are to follow one another hardly ever do.
    """
    paths = [x for x in conditions if isinstance(x, OnPath)]
    seeds = range(seed, seed + SHAPES * SPREAD, SPREAD) if paths else (seed,)
    drawn = (random_machine(expressions, conditions, x, large) for x in seeds)
    machine = next((x for x in drawn if not unmet(x, paths)), None)
    if machine is None:
        raise SolveError(f"no random machine has {', '.join(map(str, paths))}")
    return Trial(machine, tuple(expressions), seed, axes_of(conditions))


def random_machine(
    expressions: Sequence[Node], conditions: Collection[Requirement], seed: int, large: bool = False
) -> Model:
    """A machine of joints of every kind that the conditions allow, a tree where they allow one.

    A large one has a limb of so many joints that every frame that is named can move in all
    directions, whatever the others do.
    """
    rng = np.random.default_rng(seed)
    names, hinges, most = _names(expressions)
    paths = [x.bodies for x in conditions if isinstance(x, OnPath)]
    builder = ModelBuilder(f"random machine {seed}", gravity=5.0 * rng.normal(size=3))
    kinds = [kind for kind in KINDS if not _offends(kind, conditions)]
    order = rng.permutation(max(BODIES, len(names), len(hinges), most))
    if large:
        order = _spread(len(names), rng.permutation(max(APART * len(names) + 1, len(hinges))))
    for path in paths:
        order = _outward(order, [hinges.index(x) for x in path if x in hinges])
    bodies = [names[k] if k < len(names) else f"body {k}" for k in order]
    for k, name in enumerate(bodies):
        nearest = k - 1 if large or Condition.SERIAL in conditions else max(0, k - 2)
        inboard = int(rng.integers(nearest, k)) if k else 0
        if large and k == len(bodies) - 1 and Condition.SERIAL not in conditions:
            inboard = 0
        hinge = hinges[order[k]] if order[k] < len(hinges) else f"joint {order[k]}"
        rotor = 0.0 if Condition.NO_ROTORS in conditions else rng.uniform(0.0, 0.2)
        builder.add_body(
            name,
            bodies[inboard] if k else "world",
            kinds[(k + seed) % len(kinds)](rng),
            joint_name=hinge,
            position=rng.uniform(-1.0, 1.0, 3),
            rotation=_rotation(rng),
            rotor_inertia=rotor,
            **_inertia(rng),
        )
    return builder.build()


def _spread(named: int, order: np.ndarray) -> np.ndarray:
    """An order of bodies in which those with a name, the first ones, stand far apart."""
    others = [k for k in order if k >= named]
    for k in range(named):
        others.insert(APART * (k + 1) - 1, k)
    return np.array(others)


def _outward(order: np.ndarray, path: Sequence[int]) -> np.ndarray:
    """An order of bodies in which those of a path come one after the other."""
    places = np.flatnonzero(np.isin(order, path))
    moved = order.copy()
    moved[places] = path
    return moved


def _names(expressions: Sequence[Node]) -> tuple[list[str], list[str], int]:
    """The frames and the joints that expressions name, and how many bodies their numbers need."""
    frames: list[str] = []
    hinges: list[str] = []
    most = 0
    for letter in letters_of(expressions):
        for x in letter.arguments:
            if isinstance(x, Point):
                frames.append(x.frame)
            elif isinstance(x, str):
                (frames if _is_at_points(letter) else hinges).append(x)
            elif letter.record.selects and isinstance(x, int):
                most = max(most, x + 1, -x)
    return list(dict.fromkeys(frames)), list(dict.fromkeys(hinges)), most


def _offends(kind: Maker, conditions: Collection[Requirement]) -> bool:
    """Whether a joint of this kind breaks a condition."""
    made = kind(np.random.default_rng(0))
    q = list(made.neutral())
    return (
        (Condition.ONE_DOF in conditions and made.nv > 1)
        or (Condition.TURNING in conditions and bool(np.any(np.array(made.motion_map(q))[3:])))
        or (Condition.CONSTANT_MAPS in conditions and bool(made.map_derivatives(q)))
    )


def _axis(rng: np.random.Generator) -> tuple[float, ...]:
    x = rng.normal(size=3)
    return tuple(x / np.linalg.norm(x))


KINDS: tuple[Maker, ...] = (
    lambda rng: joints.Revolute(_axis(rng)),
    lambda rng: joints.Universal(),
    lambda rng: joints.Prismatic(_axis(rng)),
    lambda rng: joints.Spherical(),
    lambda rng: joints.Helical(_axis(rng), 0.3),
    lambda rng: joints.Planar(_axis(rng)),
    lambda rng: joints.Cylindrical(_axis(rng)),
)


def _rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def _inertia(rng: np.random.Generator) -> dict[str, Any]:
    """A body as it may be: second moments of mass S, so that the inertia is tr(S) I - S."""
    root = rng.uniform(-0.4, 0.4, (3, 3))
    S = root @ root.T + 0.02 * np.eye(3)
    return {
        "mass": rng.uniform(0.5, 5.0),
        "com": rng.uniform(-0.4, 0.4, 3),
        "inertia": np.trace(S) * np.eye(3) - S,
    }
