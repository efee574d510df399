"""The whole path in a second: build a machine, type an equation, get its numbers, be refused."""

import numpy as np
import pytest

import phipsi as pp
from phipsi.operators import C, D, H, I, Jm, K, M, T, beta, phi, psi


def test_tiny():
    """A cart with a pendulum, against its textbook equations of motion.

    (m + M) x'' + m l (cos t t'' - sin t t'^2) = F,   m l^2 t'' + m l (cos t x'' + g sin t) = N
    """
    cart, bob, length, g = 3.0, 2.0, 0.5, 9.81
    builder = pp.ModelBuilder("cart with a pendulum")
    builder.add_body("cart", joint=pp.joints.Prismatic((1, 0, 0)), mass=cart)
    swing = pp.joints.Revolute((0, -1, 0))
    builder.add_body("bob", "cart", swing, mass=bob, com=(0, 0, -length))
    model = builder.build()

    Mass = H @ phi @ M @ phi.T @ H.T + Jm
    Mass_inv = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
    (x, t), (_, speed), (F, N) = q, v, forces = [0.3, 0.7], [1.1, -1.7], [2.0, 0.4]
    sin, cos = np.sin(t), np.cos(t)
    mass = np.array([[cart + bob, bob * length * cos], [bob * length * cos, bob * length**2]])
    bias = bob * length * np.array([-sin * speed**2, g * sin])

    np.testing.assert_allclose(pp.as_matrix(model, Mass, q), mass, rtol=1e-12)
    np.testing.assert_allclose(pp.as_matrix(model, C, q, v), bias, rtol=1e-12)
    np.testing.assert_allclose(
        pp.as_matrix(model, Mass_inv @ (T - C), q, v, T=forces),
        np.linalg.solve(mass, [F, N] - bias),
        rtol=1e-12,
    )

    # a step in time, a batch of states, and back
    moved = pp.integrate(model, np.tile(q, (5, 1)), 0.1 * np.array(v))
    assert moved.shape == (5, 2)
    np.testing.assert_allclose(pp.difference(model, [x, t], moved), np.tile(v, (5, 1)) * 0.1)
    energy = pp.as_matrix(model, 0.5 * beta.T @ Mass @ beta, moved, v)
    assert energy.shape == (5,)

    # and what does not make sense is refused
    with pytest.raises(pp.SpaceError, match=r"Did you mean H\.T\?"):
        M @ H
    with pytest.raises(pp.InputError, match="q has shape"):
        pp.as_matrix(model, Mass, [0.0])
    with pytest.raises(pp.ModelError, match="body 'stone': mass is -1 kg"):
        builder.add_body("stone", mass=-1.0)
