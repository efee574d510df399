"""Machines of the market at a state: which ones the papers are tested on, and with what forces.

The tests of 002 and 004 take a machine by its name, `@on(*ALL)`; those of 001
and 003 by the fixtures of `conftest.py`.
"""

import numpy as np
import pytest
from classical import joint_forces
from equations import block, random_state
from machines import MARKET

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import D, E_phi, H, I, P

SERIAL = ("serial_revolute", "serial_revolute_prismatic", "serial_multidof")
TREES = ("tree_one_dof", "tree_of_every_kind", "forest", "free_base_tree", "spacecraft")
ROTORS = ("reflected_rotors", "puma560")
ALL = (*SERIAL, *TREES, *ROTORS)

AXES = pytest.mark.parametrize("axes", ["link", "world"])


def on(*names):
    """Run the test on these machines of the market."""
    return pytest.mark.parametrize("machine", names)


def state(machine, seed=0):
    """A machine of the market with q, v and accelerations."""
    model = MARKET[machine]()
    q, v = random_state(model, seed)
    return model, q, v, np.random.default_rng(seed + 1).normal(size=model.nv)


def applied_forces(model, q, v, acceleration, tip_forces=()):
    """T that gives these accelerations: 3-vector mechanics with gravity, and the rotors."""
    motors = [joint.reflected_inertia * acceleration[joint.rows] for joint in model.joints]
    return joint_forces(model, q, v, acceleration, tip_forces=tip_forces) + np.concatenate(motors)


def points_on(model, seed=2):
    """Points on several bodies: two on the last, one on the root, one on the body between."""
    names = [model.bodies[k].name for k in (-1, -1, 0, len(model.bodies) // 2)]
    places = np.random.default_rng(seed).normal(size=(len(names), 3))
    return [pp.point(name, place) for name, place in zip(names, places, strict=True)]


def psi_by_products(model, q, axes="link"):
    """psi(i,k) by {(i, k): 6 x 6}, for i inboard of or at k: products along each path.

    Made of the blocks psi(p,k) = phi(p,k) (I - P H* D^-1 H)(k) alone.
    """
    step = pp.as_matrix(model, E_phi, q, axes=axes)
    free = pp.as_matrix(model, I - P @ H.T @ D.inv @ H, q, axes=axes)
    psi = {
        k: block(model, step, p, k) @ block(model, free, k, k)
        for k, p in enumerate(model.tree.parent)
        if p != WORLD
    }
    result = {}
    for k in range(len(model.bodies)):
        product, outer = np.eye(6), k
        result[k, k] = product
        for i in model.tree.path(model.tree.parent[k]):
            product = psi[outer] @ product
            result[i, k], outer = product, i
    return result
