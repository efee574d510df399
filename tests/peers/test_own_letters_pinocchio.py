"""A letter that adds mass to bodies, beside Pinocchio with these masses among its inertias."""

import numpy as np
import pinocchio as pin
from symbols import assert_close

import phipsi as pp
from phipsi.operators import E, H, Jm, M, S, T, V, a, b, gravity, letter, phi

SWAP = [3, 4, 5, 0, 1, 2]  # angular part first


def test_a_robot_with_added_inertia_moves_as_pinocchio_says():
    bare = pin.buildSampleModelManipulator()
    loaded, rng = bare.copy(), np.random.default_rng(0)
    for i in range(1, loaded.njoints):
        loaded.inertias[i] = bare.inertias[i] + pin.Inertia.Random()
    model = pp.from_pinocchio(bare)

    def added(body, joint):
        i = bare.getJointId(joint.name)
        more = loaded.inertias[i].matrix() - bare.inertias[i].matrix()
        return more[np.ix_(SWAP, SWAP)]

    A = letter("A_p", "body", "body", added, positive=True)
    mass = H @ phi @ (M + A) @ phi.T @ H.T + Jm
    bias = H @ phi @ ((M + A) @ phi.T @ (a + E @ gravity) + b + S[V] @ A @ V)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, bare.nv))
    assert model.nq == bare.nv  # six turning joints, in the same order
    expected = pin.aba(loaded, loaded.createData(), q, v, tau)
    assert_close(pp.compile(model, mass.inv @ (T - bias))(q, v, tau), expected)
