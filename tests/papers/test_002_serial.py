"""[002] sections 2 and 2.1: one body, and serial chains.

How [002] is read, and what it is held against, is in `paper_002.py`.
"""

import numpy as np
from cases import AXES, SERIAL, TREES, on, state
from classical import joint_forces, motions, phi_of
from equations import (
    MARGIN,
    TOLERANCE,
    assemble,
    diagonal,
    directions,
    is_serial,
    mismatch,
    phi_by_products,
    relative_difference,
    tangent,
    value,
)
from paper_002 import (
    block_phi,
    classical_motion,
    nilpotent_series_holds,
    operator_equations_of_motion_hold,
    stacked_equations_hold,
)

from phipsi.operators import E_phi, H, M, a, b, phi

# -- section 2: one body ---------------------------------------------------------------


@on(*SERIAL, *TREES)
@AXES
def test_spatial_inertia_moves_by_phi(machine, axes):
    """Sec. 2: M(O) = phi(p) M(C) phi*(p) = [[J(O), m p~], [-m p~, m I]]. Any body."""
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)

    def at_origin(k):
        inertia = model.bodies[k].inertia
        R_k = moving[k].R if axes == "world" else np.eye(3)
        M_C = np.kron(np.diag([0.0, 1.0]), inertia.mass * np.eye(3))
        M_C[:3, :3] = R_k @ inertia.rotational @ R_k.T
        p = phi_of(R_k @ inertia.com)
        return p @ M_C @ p.T

    assert mismatch(model, M, diagonal(model, at_origin), q, axes=axes) < TOLERANCE


# -- section 2.1: serial chains --------------------------------------------------------


@on(*SERIAL)
def test_2_1_newton_euler_recursions_of_a_serial_chain(machine):
    """(2.1): V, alpha base to tip; f(k) = phi(k,k-1) f(k-1) + M alpha + b, T = H f.

    Printed as phi(k+1,k) f(k-1), which carries the force by the wrong lever.
    Serial chains, world axes (in which a lever is all that phi holds), no gravity.
    """
    model, q, v, acceleration = state(machine)
    moving = motions(model, q, v)
    at = {name: value(model, x, q, v, "world") for name, x in (("H", H), ("M", M), ("a", a))}
    bias = value(model, b, q, v, "world").reshape(-1, 6)
    rows = [joint.rows for joint in model.joints]
    own = [slice(6 * k, 6 * k + 6) for k in range(len(rows))]

    def lever(k):
        """phi(k+1,k) of the paper: from body k to its parent, the world for a root."""
        inboard = moving[k - 1].p if k > 0 else np.zeros(3)
        return phi_of(moving[k].p - inboard)

    velocity, alpha = [], []
    for k, row in enumerate(rows):
        H_star = at["H"][row, own[k]].T
        V_k, alpha_k = H_star @ v[row], H_star @ acceleration[row] + at["a"][own[k]]
        if k > 0:
            V_k, alpha_k = V_k + lever(k).T @ velocity[-1], alpha_k + lever(k).T @ alpha[-1]
        velocity.append(V_k)
        alpha.append(alpha_k)

    def forces(carry):
        f, T_ = np.zeros(6), {}
        for k in reversed(range(len(rows))):
            if k + 1 < len(rows):
                f = carry(k) @ f
            f = f + at["M"][own[k], own[k]] @ alpha[k] + bias[k]
            T_[k] = at["H"][rows[k], own[k]] @ f
        return np.concatenate([T_[k] for k in range(len(rows))])

    V_true, alpha_true, _ = classical_motion(model, q, v, acceleration, "world")
    T_true = joint_forces(model, q, v, acceleration, gravity=False)
    assert relative_difference(velocity, V_true) < TOLERANCE
    assert relative_difference(alpha, alpha_true) < TOLERANCE
    assert relative_difference(forces(lambda k: lever(k + 1)), T_true) < TOLERANCE
    assert relative_difference(forces(lever), T_true) > MARGIN  # as printed


@on(*SERIAL)
@AXES
def test_2_2_stacked_newton_euler_equations(machine, axes):
    """(2.2): V = E_phi* V + H* beta and so on. Serial chains; no gravity."""
    stacked_equations_hold(machine, axes)


@on(*SERIAL)
@AXES
def test_2_3_block_matrices_of_a_serial_chain(machine, axes):
    """(2.3): E_phi has phi(k+1,k) one block off the diagonal, H and M are block diagonal.

    H(k) is read off unit speeds: column a of H*(k) is the velocity of body k
    when only speed a of its own joint moves. Serial chains.
    """
    model, q, v, _ = state(machine)
    assert is_serial(model)
    moving = motions(model, q, v)
    expected = assemble(
        model, lambda i, k: block_phi(model, moving, k, axes) if i == k - 1 else None
    )
    assert mismatch(model, E_phi, expected, q, axes=axes) < TOLERANCE

    H_star = np.zeros((6 * len(model.bodies), model.nv))
    for i, s in directions(model):
        unit = tangent(model, i, s)
        own = motions(model, q, unit)[i]
        column = own.V if axes == "world" else own.turn.T @ own.V
        H_star[6 * i : 6 * i + 6, model.joints[i].rows.start + s] = column
    assert mismatch(model, H, H_star.T, q, axes=axes) < TOLERANCE


@on(*SERIAL)
@AXES
def test_2_4_phi_is_the_nilpotent_series_of_E_phi(machine, axes):
    """(2.4): E_phi^n = 0, phi = (I - E_phi)^-1 = I + E_phi + ... with blocks
    phi(i,j) = phi(i,i-1) ... phi(j+1,j). Serial chains."""
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_phi, phi, phi_by_products(model, q, axes), q, axes)


@on(*SERIAL)
@AXES
def test_2_5_operator_equations_of_motion_of_a_serial_chain(machine, axes):
    """(2.5): V = phi* H* beta, alpha = phi*(H* beta_dot + a), f = phi (M alpha + b),
    T = H f = Mass beta_dot + C. Serial chains; no gravity, no rotors.

    The witness: wrenches from the momentum rates of the outboard bodies; each
    column of Mass is the T of one unit acceleration at rest.
    """
    operator_equations_of_motion_hold(machine, axes)
