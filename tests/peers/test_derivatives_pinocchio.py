"""Products of Jacobians beside Pinocchio's analytical derivatives, on real robots."""

import numpy as np
import pinocchio as pin
import pytest
from peers.robots import read
from peers.test_dynamics_pinocchio import check
from peers.test_machine_code_pinocchio import SOLO, UR5, named

import phipsi as pp
from phipsi.operators import C, Mass, T

STATES = 5


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("robot", [(UR5, "fixed"), (SOLO, "free")], ids=named)
def test_products_with_the_jacobians_of_forward_and_inverse_dynamics(robot, unroll):
    model, peer = read(*robot)
    rng = np.random.default_rng(5)
    q = np.array([model.random(rng) for _ in range(STATES)])
    v, x, dq, dv, dx, w = rng.normal(size=(6, STATES, model.nv))
    fall = pp.compile(model, Mass.inv @ (T - C), backend="llvm", unroll=unroll)
    drive = pp.compile(model, Mass @ T + C, backend="llvm", unroll=unroll)
    S, data = peer.S, peer.model.createData()
    for function, by_peer in ((fall, forward), (drive, inverse)):
        expected, transposed = [], []
        for n in range(STATES):
            blocks = by_peer(peer, data, S, q[n], v[n], x[n])
            along = dq[n], dv[n], dx[n]
            expected.append(sum(A @ t for A, t in zip(blocks, along, strict=True)))
            transposed.append([A.T @ w[n] for A in blocks])
        check("J t", function.jvp(q, v, x, dq, dv, dx), np.array(expected))
        for i, found in enumerate(function.vjp(q, v, x, w)):
            check("J* w", found, np.array([rows[i] for rows in transposed]))
        path = "unrolled" if unroll else "rolled"
        assert function.jvp.info().path == function.vjp.info().path == path


def forward(peer, data, S, q, v, tau):
    """By q, v and the forces of the joints."""
    args = peer.q_to_pin(q), peer.v_to_pin(v), np.linalg.solve(S.T, tau)
    by_q, by_v, by_tau = pin.computeABADerivatives(peer.model, data, *args)
    inverse = np.linalg.inv(S)
    by_tau = np.triu(by_tau) + np.triu(by_tau, 1).T
    return inverse @ by_q @ S, inverse @ by_v @ S, inverse @ by_tau @ inverse.T


def inverse(peer, data, S, q, v, vdot):
    """By q, v and the accelerations."""
    args = peer.q_to_pin(q), peer.v_to_pin(v), peer.v_to_pin(vdot)
    by_q, by_v, mass = pin.computeRNEADerivatives(peer.model, data, *args)
    mass = np.triu(mass) + np.triu(mass, 1).T
    return S.T @ by_q @ S, S.T @ by_v @ S, S.T @ mass @ S
