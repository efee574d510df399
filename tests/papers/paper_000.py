"""Machines for the tests of [000], and its letters built without the operators.

The paper numbers from tip to base. `i > k` of the paper reads 'i strictly
inboard of k' here, on trees too; where neither is inboard of the other, both
`i >= k` and `i < k` are false.
"""

import functools

import numpy as np
from classical import inertia_at_origin, motions, phi_of, tilde
from equations import STEP, directions, relative_difference, tangent, value
from machines import (
    ALL_KINDS,
    MARKET,
    cam,
    custom,
    cylindrical,
    helical,
    planar,
    prismatic,
    random_inertia,
    random_machine,
    random_placement,
    revolute,
    rocker,
    spherical,
    spherical_euler,
    universal,
)

import phipsi as pp
from phipsi import joints
from phipsi.operators import C, Mass

# -- machines --------------------------------------------------------------------------


def tree_revolute():
    return random_machine(21, 8, [revolute], "tree")


def tree_rotational():
    """Joints that only turn, with one to three speeds each."""
    return random_machine(24, 7, [revolute, universal, spherical, spherical_euler], "tree")


def tree_multidof():
    return random_machine(23, 8, [cylindrical, universal, planar, spherical, revolute], "tree")


def tree_of_rates():
    """Joints whose speeds are the rates of their coordinates, with one to three each."""
    kinds = [revolute, prismatic, helical, cylindrical, universal, spherical_euler, custom]
    return random_machine(27, 9, kinds, "tree")


def chains():
    """A forest of two chains of mixed joints: several roots, no branch."""
    rng = np.random.default_rng(24)
    builder = pp.ModelBuilder("chains", gravity=(0.3, -1.0, -9.81))
    kinds = {"a": revolute, "b": prismatic, "c": universal, "d": spherical, "e": revolute}
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b"), ("d", "world"), ("e", "d")):
        where, mass = random_placement(rng), random_inertia(rng)
        builder.add_body(name, parent, kinds[name](rng), **where, **mass)
    return builder.build()


def forest_multidof():
    """A forest with branches; revolute, universal, spherical and prismatic joints."""
    return random_machine(84, 9, [revolute, prismatic, spherical, universal], "forest")


def one_of_each_kind():
    """A tree with one joint of each kind, a custom one of one and one of two speeds."""
    rng = np.random.default_rng(25)
    builder = pp.ModelBuilder("one of each kind", gravity=(0.3, -1.0, -9.81))
    kinds = [*(kind for kind in ALL_KINDS if kind is not custom), cam_joint, rocker_joint]
    for k, kind in enumerate(kinds):
        parent = "world" if k == 0 else f"body{rng.integers(max(0, k - 4), k)}"
        where, mass = random_placement(rng), random_inertia(rng)
        builder.add_body(f"body{k}", parent, kind(rng), **where, **mass)
    return builder.build()


def cam_joint(rng):
    return joints.Custom(cam, 1)


def rocker_joint(rng):
    return joints.Custom(rocker, 2)


def rotors_multidof():
    """A tree of all kinds of joints, rotor inertia on some."""
    return random_machine(26, 9, ALL_KINDS, "tree", rotors="reflected")


MACHINES = MARKET | {
    make.__name__: functools.cache(make)
    for make in (
        tree_revolute,
        tree_rotational,
        tree_multidof,
        tree_of_rates,
        chains,
        forest_multidof,
        one_of_each_kind,
        rotors_multidof,
    )
}

ALL_REVOLUTE = ("serial_revolute", "tree_revolute")
ALL_TURNING = (*ALL_REVOLUTE, "tree_rotational")
ONE_DOF = (*ALL_REVOLUTE, "serial_revolute_prismatic", "tree_one_dof", "reflected_rotors")
SOME_REVOLUTE = (*ONE_DOF, "branching_tree", "chains", "forest_multidof", "spacecraft")
ANY = (
    *SOME_REVOLUTE,
    *("serial_multidof", "tree_rotational", "tree_multidof", "one_of_each_kind"),
    *("free_base_tree", "star_of_free_bodies", "rotors_multidof"),
)
UNBRANCHED = ("serial_revolute", "serial_multidof", "chains")
BRANCHED = ("tree_revolute", "tree_multidof")


def of_kinds(model, *kinds):
    """The directions (i, a) of the joints of these kinds."""
    return [(i, a) for i, a in directions(model) if isinstance(model.joints[i].kind, kinds)]


def revolutes(model):
    """The directions of the revolute joints."""
    return of_kinds(model, joints.Revolute)


# -- the paper's conditions ------------------------------------------------------------


def at_least(model, i, k):
    """i >= k of the paper: i is inboard of k, or k itself."""
    return model.tree.is_inboard(i, k)


def above(model, i, k):
    """i > k of the paper: i is strictly inboard of k."""
    return i != k and model.tree.is_inboard(i, k)


def on_one_path(model, *bodies):
    """Whether all bodies lie on one path to the base."""
    return all(at_least(model, i, k) or at_least(model, k, i) for i in bodies for k in bodies)


# -- the paper's letters in world axes, from poses and their rates alone ---------------


def force_cross(z):
    """S[z] = [[x~, y~], [0, x~]] [000 (2.7)]."""
    x, y = tilde(z[:3]), tilde(z[3:])
    return np.block([[x, y], [np.zeros((3, 3)), x]])


def adjoint_cross(z):
    """Q[z] = [[x~, y~], [y~, 0]] [000 (2.8)]."""
    x, y = tilde(z[:3]), tilde(z[3:])
    return np.block([[x, y], [y, np.zeros((3, 3))]])


def turning(omega):
    """Omega~(k) = [[omega~, 0], [0, omega~]] [000 (2.16)]."""
    return np.kron(np.eye(2), tilde(omega))


def jacobians(model, q):
    """For each body the 6 x nv matrix that gives [omega_k; v_k] in world axes."""
    return _jacobians(model, tuple(q))


@functools.cache
def _jacobians(model, q):
    columns = [motions(model, np.array(q), tangent(model, i, a)) for i, a in directions(model)]
    return [np.array([moving[k].V for moving in columns]).T for k in range(len(model.bodies))]


def joint_maps(model, q):
    """H*(k) of each body in world axes: the columns of its own joint in its Jacobian."""
    return [J[:, joint.v] for J, joint in zip(jacobians(model, q), model.joints, strict=True)]


def inertias(model, q):
    """M(k) in world axes at O_k: [[J, m p~], [-m p~, m I]] [000 sec. 1.1]."""
    moving = motions(model, q, np.zeros(model.nv))
    pairs = zip(model.bodies, moving, strict=True)
    return [inertia_at_origin(body.inertia, motion.R) for body, motion in pairs]


def phi_from_inertial(model, q):
    """phi(I, k) = [[1, l~(I,k)], [0, 1]], I being the world's frame [000 sec. 5.2]."""
    return [phi_of(moving.p) for moving in motions(model, q, np.zeros(model.nv))]


class Inertial:
    """What [000 sec. 5.2] refers to the inertial frame I, the world's: H_I*, HH_I, R_I."""

    def __init__(self, model, q):
        to_inertial = phi_from_inertial(model, q)
        pairs = zip(to_inertial, joint_maps(model, q), strict=True)
        self.H_star = [np.linalg.inv(phi).T @ h for phi, h in pairs]  # (5.47)
        own = [phi @ M @ phi.T for phi, M in zip(to_inertial, inertias(model, q), strict=True)]
        self.R = [sum(own[k : model.tree.end[k]]) for k in range(len(own))]  # (5.50), corrected

    def HH(self, i, a=0):
        """HH_I(i) = S[H_I*(i) e_a] (5.48)."""
        return force_cross(self.H_star[i][:, a])


def rates(model, letter, v):
    """sum_i letter(i) theta_dot(i), an expression; over all speeds of all joints [000 (2.16)]."""
    return sum(float(v[n]) * letter(i, a) for n, (i, a) in enumerate(directions(model)))


# -- sensitivities ---------------------------------------------------------------------


def sensitivities(model, q, expression, along=None, axes="world"):
    """D_{ia} of an expression for all given directions, stacked, by complex steps."""
    along = directions(model) if along is None else along
    steps = 1j * STEP * np.array([tangent(model, i, a) for i, a in along])
    return value(model, expression, pp.integrate(model, q, steps), axes=axes).imag / STEP


def sensitivity_mismatch(model, q, expression, formula, along=None, axes="world"):
    """How far D_{ia} of an expression is from formula(i, a), over all given directions."""
    along = directions(model) if along is None else along
    left = sensitivities(model, q, expression, along, axes)
    right = np.stack([value(model, formula(i, a), q, axes=axes) for i, a in along])
    assert max(np.linalg.norm(left), np.linalg.norm(right)) > 1e-3, "0 = 0 tests nothing"
    return relative_difference(left, right)


def symbols_5_53(model, q):
    """(5.53): C_i(j,k) = 1/2 [D_k Mass(i,j) + D_j Mass(i,k) - D_i Mass(j,k)]."""
    d = sensitivities(model, q, Mass, axes="link")  # [i, j, k] = D_i Mass(j, k)
    return 0.5 * (np.einsum("kij->ijk", d) + np.einsum("jik->ijk", d) - d)


def coriolis_force(model, q, v):
    """The bias without gravity, by the operators: C(q, v) - C(q, 0)."""
    return value(model, C, q, v) - value(model, C, q, np.zeros(model.nv))
