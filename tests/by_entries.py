"""Functions that other packages differentiate, and what their derivatives must be.

The references are central differences of compiled functions, by the entries of the
arguments, at q with its quaternions divided by their lengths: no derivative of ours
takes part.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from machines import free, planar, random_machine, revolute, spherical

import phipsi as pp
from phipsi.operators import C, H, Jm, M, Mass, T, V, beta, phi

FORWARD = Mass.inv @ (T - C)
KINETIC = 0.5 * (V.T @ M @ V + beta.T @ Jm @ beta)
STEP = 1e-5


class Case(NamedTuple):
    """An expression, or a tuple of several, on the machine that a function makes."""

    make: Callable
    expression: Any

    @property
    def model(self):
        return _model(self.make)

    @property
    def compiled(self):
        return pp.compile(self.model, self.expression, backend="llvm")

    @property
    def names(self):
        return self.compiled.varying

    def arguments(self, *batch, seed=0):
        """Random arguments, one array (*batch, n) each; quaternions have length one."""
        rng, model = np.random.default_rng(seed), self.model
        count = int(np.prod(batch))
        q = np.array([model.random(rng) for _ in range(count)]).reshape(*batch, model.nq)
        rest = [rng.normal(size=(*batch, model.nv)) for _ in self.names[1:]]
        return [q, *rest]

    def values(self, *arguments):
        """The results by the compiled function, a list, at q made fit."""
        q = unit(self.model, arguments[0])
        named = dict(zip(self.names, (q, *arguments[1:]), strict=True))
        results = self.compiled(**named)
        return list(results) if isinstance(results, tuple) else [results]

    def slopes(self, arguments, place):
        """Of each result its derivatives (*result, n) by the entries of one argument."""
        columns = []
        for step in STEP * np.eye(arguments[place].size):
            ends = []
            for sign in (1, -1):
                moved = list(arguments)
                moved[place] = arguments[place] + sign * step
                ends.append(self.values(*moved))
            columns.append([(x - y) / (2 * STEP) for x, y in zip(*ends, strict=True)])
        return [np.stack(rows, axis=-1) for rows in zip(*columns, strict=True)]


@cache
def _model(make):
    return make()


def unit(model, q):
    """q with its quaternions divided by their lengths, joint by joint."""
    q = np.array(q, float)
    for joint in model.leaders:
        if joint.kind.quaternion is not None:
            x = q[..., joint.q][..., joint.kind.quaternion]
            x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return q


def planar_arm():
    return pp.examples.planar_arm(2)


def floating():
    """Every kind of joint whose coordinates are no vector space, on a free base."""
    return random_machine(5, 3, [spherical, planar, revolute], "chain", base="free")


def flying():
    """A free body with an arm."""
    return random_machine(6, 2, [free, revolute], "chain")


CASES = {
    "arm": Case(planar_arm, FORWARD),
    "puma": Case(pp.examples.puma560, C),
    "floating": Case(floating, FORWARD),
    "energy": Case(floating, KINETIC),
    "matrix": Case(floating, Mass),
    "several": Case(flying, (KINETIC, H @ phi @ M @ V, Mass)),
}


def feather():
    """Its joint moves nothing, in any state."""
    builder = pp.ModelBuilder("feather", strict=False)
    builder.add_body("body", joint=pp.joints.Revolute(), mass=0.0)
    return builder.build()


def gimbal():
    """Nothing resists the first joint where the second is at a right angle."""
    builder = pp.ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    return builder.build()


def close(found, expected, tolerance):
    """Whether numbers agree to a part of the largest of them."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    return bool(np.abs(found - expected).max() <= tolerance * max(1.0, np.abs(expected).max()))
