"""[003] Rodriguez, Jain and Kreutz-Delgado, a spatial operator algebra for manipulators.

One test per printed result. The paper states them for serial arms of revolute
joints; they hold on any tree and forest, with joints of any kind and free
bases, and with rotor inertia where `Mass` and `D` carry Jm. Where that is not
so, the test says it. theta_dot is beta, theta_ddot is beta_dot. Gravity enters
as the base's acceleration: where the paper has a, here stands a + E gravity,
`a_g`. `Closed` is the closed chain of section 5.3, with its dense solution.
"""

from dataclasses import dataclass

import numpy as np
from equations import time_derivative
from recursions import State, equations_of_motion, state_of

import phipsi as pp
from phipsi.operators import H, I, J, K, beta, psi

W = I - H @ psi @ K  # the whitening filter of Lemma 2


@dataclass(frozen=True, eq=False)
class Closed:
    """Two serial arms whose tips are one point c, and which move together there."""

    one: State
    two: State


def arms_that_meet(first, second):
    """The tip of the second arm is put where the first one's is; speeds that keep it there."""
    one, two = state_of(first), state_of(second)
    body = len(two.model.bodies) - 1
    R, O = two.poses[body]
    points = (pp.point(two.model.bodies[body].name, R.T @ (tip_position(one) - O)),)
    two = State(two.model, two.q, two.v, two.beta_dot, two.T, points, two.f0)

    J1, J2 = equations_of_motion(one)[2], equations_of_motion(two)[2]
    v = null_space(np.hstack([J1, -J2])) @ np.ones(one.model.nv + two.model.nv - 6)
    return Closed(one.but(v=v[: one.model.nv]), two.but(v=v[one.model.nv :]))


def tip_position(s):
    """Where the first tip is: O(k) + l, l of phi(k,0) = [[1, l~], [0, 1]]."""
    k, step = s.tips[0]
    return s.poses[k][1] + np.array([step[2, 4], step[0, 5], step[1, 3]])


def null_space(A):
    """An orthonormal basis of what A, of full rank, maps to zero."""
    return np.linalg.svd(A)[2][len(A) :].T


def J_dot_beta(s):
    """J_dot theta_dot, by a complex step along the motion."""
    return time_derivative(s.model, J @ beta, s.q, s.v, axes="world", points=s.points)


def accelerations_of_both(closed):
    """theta_ddot of both arms and f(0), from the equations of motion and the constraint at once."""
    one, two = closed.one, closed.two
    (M1, C1, J1), (M2, C2, J2) = equations_of_motion(one), equations_of_motion(two)
    n1, n2 = len(M1), len(M2)
    system = np.block(
        [
            [M1, np.zeros((n1, n2)), -J1.T],
            [np.zeros((n2, n1)), M2, J2.T],
            [J1, -J2, np.zeros((6, 6))],
        ]
    )
    right = np.concatenate([one.T - C1, two.T - C2, J_dot_beta(two) - J_dot_beta(one)])
    solved = np.linalg.solve(system, right)
    return solved[:n1], solved[n1 : n1 + n2], solved[n1 + n2 :]
