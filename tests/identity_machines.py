"""Where equations of the algebra are proved: machines at a state, and what fills variables.

    case = CASES["chain"]()
    case.mismatch(identity("Lemma 4"), "link")

Dense matrices by `as_matrix` decide. A case knows which `Condition` it meets.
"""

import functools
from dataclasses import dataclass

import numpy as np
from machines import (
    ALL_KINDS,
    CONSTANT_MAP_KINDS,
    MARKET,
    cam,
    custom,
    cylindrical,
    planar,
    prismatic,
    random_inertia,
    random_machine,
    random_placement,
    random_state,
    revolute,
    rocker,
    spherical,
    spherical_euler,
    universal,
)

import phipsi as pp
from phipsi import joints
from phipsi.algebra.identities import Condition, closed
from phipsi.algebra.identities.pick_offs import of_joint, takes_a_joint
from phipsi.algebra.node import Bracket, Scaled
from phipsi.algebra.spaces import BODY, JOINT, POINTS, SCALAR
from phipsi.algebra.walk import letters_of, walk
from phipsi.operators import P, V, tau_bar

# An equation holds to roundoff: bodies of some kilograms and metres, at most a dozen of
# them, lose four of sixteen digits, and some more where a closed chain is solved. A wrong
# one fails in the first three digits.
TOLERANCE, MARGIN = 1e-10, 1e-3
AXES = ("link", "world")
CLOSING = (closed.A, closed.A_C)  # letters of equations that divide by what points can do


@dataclass(frozen=True, eq=False)
class Case:
    """A machine at a state, with points on it."""

    model: pp.Model
    q: np.ndarray
    v: np.ndarray
    seed: int = 5

    @functools.cached_property
    def points(self):
        """Two points on the last body, one on the root, one on the body between."""
        names = [self.model.bodies[k].name for k in (-1, -1, 0, len(self.model.bodies) // 2)]
        places = np.random.default_rng(self.seed).normal(size=(len(names), 3))
        return [pp.point(name, place) for name, place in zip(names, places, strict=True)]

    @functools.cached_property
    def tip(self):
        """A point on the body that most speeds move: it can be held in three directions."""
        tree, own = self.model.tree, self.model.joints
        freedoms = [sum(own[i].kind.nv for i in tree.path(k)) for k in range(len(tree))]
        return pp.point(self.model.bodies[int(np.argmax(freedoms))].name, (0.3, -0.2, 0.5))

    def meets(self, axes):
        """The conditions that this machine meets, in these axes."""
        met = {Condition.LINK_AXES if axes == "link" else Condition.WORLD_AXES}
        own = self.model.joints
        maps = [np.array(x.kind.motion_map(list(self.q[x.q])), float) for x in own]
        if not any(joint.reflected_inertia for joint in own):
            met.add(Condition.NO_ROTORS)
        if all(len(children) <= 1 for children in self.model.tree.children):
            met.add(Condition.SERIAL)
        if all(joint.kind.nv == 1 for joint in own):
            met.add(Condition.ONE_DOF)
        if not any(H_star[3:].any() for H_star in maps):
            met.add(Condition.TURNING)
        if not any(x.kind.map_derivatives(list(self.q[x.q])) for x in own):
            met.add(Condition.CONSTANT_MAPS)
        return met

    def lacks(self, equation, axes):
        """Which conditions of an equation this machine does not meet."""
        return set(equation.conditions) - self.meets(axes)

    def mismatch(self, equation, axes):
        """How far both sides are apart, relative to the largest term of either.

        A pick-off equation is taken for every joint and each of its speeds at once, and
        relative to the sides alone: nothing cancels there.
        """
        closes = any(letter in CLOSING for letter in _letters(equation))
        points = [self.tip] if closes else self.points
        if not takes_a_joint(equation):
            return _apart([self._sides(equation, axes, points, {}, self._terms(equation))])
        forms = []
        for joint_and_speed, unit in self._directions():
            of_one = of_joint(equation, *joint_and_speed)
            forms.append(self._sides(of_one, axes, points, {"e": unit}, []))
        return _apart(forms)

    @staticmethod
    def _terms(equation):
        """The terms of both sides, where they are sums.

        P too, where tau_bar stands: P - G H P cancels at a joint that is free in all directions.
        V V* too, beside its cross products: those of parallel vectors cancel, as at a first joint.
        """
        sums = [x for x in (equation.left, equation.right) if len(x.terms) > 1]
        terms = [term for side in sums for term in side.terms]
        letters = _letters(equation)
        is_inertia = (equation.left.source, equation.left.target) == (P.source, P.target)
        if is_inertia and {tau_bar, P} <= {*letters}:
            terms.append(P)
        if any(
            isinstance(x, Bracket) for side in (equation.left, equation.right) for x in walk(side)
        ):
            terms.append(V @ V.T)
        return terms

    def _sides(self, equation, axes, points, given, terms):
        """Left and right as matrices, and the norm of the largest of them and of some terms."""
        values = self._values(equation, len(points)) | given
        left, right = (
            self._value(x, axes, points, values) for x in (equation.left, equation.right)
        )
        parts = [self._value(x, axes, points, values) for x in terms]
        size = max(np.linalg.norm(x) for x in (left, right, *parts))
        if isinstance(equation.right, Scaled) and equation.right.factor == 0 and left.ndim == 1:
            norms = [self._value(x, axes, points, values) for x in equation.left.factors]
            size = np.prod([np.linalg.norm(x) for x in norms])
        return left, right, size

    def _value(self, side, axes, points, values):
        free = {x.name for x in letters_of([side]) if x.free}
        values = {name: x for name, x in values.items() if name in free}
        return pp.as_matrix(self.model, side, self.q, self.v, axes=axes, points=points, **values)

    def _values(self, equation, points):
        """Random values of all free letters, the same for both sides and for the same seed."""
        rng = np.random.default_rng(self.seed + 1)
        free = {x.name: x for x in _letters(equation) if x.free}
        return {name: self._random(rng, free[name], points) for name in sorted(free)}

    def _random(self, rng, letter, points):
        sizes = {
            BODY: [body.size for body in self.model.bodies],
            JOINT: [joint.kind.nv for joint in self.model.joints],
            POINTS: [6] * points,
            SCALAR: [1],
        }
        rows, columns = (sizes.get(x, [x.size]) for x in (letter.target, letter.source))
        if letter.source is SCALAR:
            return rng.normal(size=sum(rows))
        if letter.source.is_own and letter.target is letter.source:  # an inertia
            root = rng.normal(size=(rows[0], rows[0]))
            return [root @ root.T + np.eye(rows[0])]
        if letter.source.is_own or letter.target.is_own:
            return rng.normal(size=(sum(rows), sum(columns)))
        return [rng.normal(size=shape) for shape in zip(rows, columns, strict=True)]

    def _directions(self):
        """Every joint and each of its speeds, with the unit vector of that speed."""
        units = np.eye(self.model.joints[-1].rows.stop)
        for i, joint in enumerate(self.model.joints):
            for speed in range(joint.kind.nv):
                yield (i, speed), units[joint.rows.start + speed]


def _letters(equation):
    return letters_of([equation.left, equation.right])


def _apart(forms):
    left, right = (np.concatenate([np.ravel(form[side]) for form in forms]) for side in (0, 1))
    size = max(size for _, _, size in forms)
    return float(np.linalg.norm(left - right) / size) if size else 0.0


def case_of(model, seed=0):
    """A machine at a random state."""
    return Case(model, *random_state(model, np.random.default_rng(seed)))


def chains():
    """Two chains side by side, joints of several freedoms among them; no rotors."""
    rng = np.random.default_rng(24)
    builder = pp.ModelBuilder("chains", gravity=(0.3, -1.0, -9.81))
    kinds = {"a": revolute, "b": prismatic, "c": universal, "d": spherical, "e": planar}
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b"), ("d", "world"), ("e", "d")):
        where, mass = random_placement(rng), random_inertia(rng)
        builder.add_body(name, parent, kinds[name](rng), **where, **mass)
    return builder.build()


def every_kind():
    """A tree with one joint of each kind, a custom one of one and one of two speeds."""
    rng = np.random.default_rng(25)
    builder = pp.ModelBuilder("every kind", gravity=(0.3, -1.0, -9.81))
    kinds = [kind(rng) for kind in ALL_KINDS if kind is not custom]
    for k, kind in enumerate([*kinds, joints.Custom(cam, 1), joints.Custom(rocker, 2)]):
        parent = "world" if k == 0 else f"body{rng.integers(max(0, k - 3), k)}"
        builder.add_body(f"body{k}", parent, kind, **random_placement(rng), **random_inertia(rng))
    return builder.build()


MAKERS = {
    "chain": lambda: random_machine(1, 6, [revolute, prismatic], "chain"),
    "chains": chains,
    "chain with rotors": lambda: random_machine(
        33, 6, [revolute, prismatic], "chain", rotors="reflected"
    ),
    "tree of one-dof joints": lambda: random_machine(4, 6, [revolute, prismatic], "tree"),
    "constant maps": lambda: random_machine(32, 5, CONSTANT_MAP_KINDS, "tree"),
    "turning": lambda: random_machine(24, 5, [revolute, universal, spherical, spherical_euler]),
    "rotors": lambda: random_machine(
        10, 6, [revolute, prismatic, spherical, cylindrical], "tree", rotors="reflected"
    ),
    "mimics": lambda: random_machine(12, 6, [revolute, prismatic], "tree", mimics=True),
    "every kind": every_kind,
    "spacecraft": MARKET["spacecraft"],
}
CASES = {name: functools.cache(lambda make=make: case_of(make())) for name, make in MAKERS.items()}
