"""[002] appendix A: the recursions, and the decomposition of Omega on chains and trees.

How [002] is read, and what it is held against, is in `paper_002.py`.
"""

import numpy as np
import pytest
from cases import ALL, AXES, ROTORS, SERIAL, applied_forces, on, psi_by_products, state
from classical import motions
from equations import (
    MARGIN,
    TOLERANCE,
    assemble,
    block,
    diagonal,
    is_serial,
    mismatch,
    relative_difference,
    value,
)
from paper_002 import LOOPS, Loop, Recursion, articulated_by_elimination, omega_by_common_ancestors
from recursions import riccati, smooth

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    E_psi,
    G,
    H,
    J,
    K,
    Mass,
    Omega,
    T,
    Y,
    beta_dot,
    blockdiag,
    psi,
    psi_tilde,
    vector,
)

# -- appendix A: recursions ------------------------------------------------------------


@on(*ALL)
def test_A_1_recursion_for_articulated_inertia(machine):
    """(A.1): P(k) = sum psi P psi* + M; D, G, tau_bar, psi, K tip to base. Trees and forests.

    The printed psi P psi* needs D = H P H*: with rotor inertia it fails, and
    psi P phi* takes its place.
    """
    model, q, _, _ = state(machine)
    recursion, parent = Recursion(model, q), model.tree.parent
    loop = riccati(recursion, printed=machine not in ROTORS)
    expected = articulated_by_elimination(model, q, "link")
    assert relative_difference(diagonal(model, loop.P), expected) < TOLERANCE
    K_ = [step @ gain for step, gain in zip(recursion.phi, loop.G, strict=True)]
    for letter, at, rows, columns in (
        (D, lambda i, k: loop.D[k] if i == k else None, "joint", "joint"),
        (G, lambda i, k: loop.G[k] if i == k else None, "body", "joint"),
        (E_psi, lambda i, k: loop.psi[k] if i == parent[k] else None, "body", "body"),
        (K, lambda i, k: K_[k] if i == parent[k] else None, "body", "joint"),
    ):
        assert mismatch(model, letter, assemble(model, at, rows, columns), q) < TOLERANCE
    if machine in ROTORS:
        printed = riccati(recursion, printed=True)
        assert relative_difference(diagonal(model, printed.P), expected) > MARGIN


@on(*ALL)
def test_A_2_recursion_for_forward_dynamics(machine):
    """(A.2): z = sum psi z + K T_hat, eps = T_hat - H z, nu = D^-1 eps tip to base;
    alpha_f = psi* alpha_f + H* nu, beta_dot_f = nu - K* alpha_f base to tip.

    Printed eps = T - H z fails wherever there is a bias. Trees and forests.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    T_hat = value(model, T - C, q, v, T=T_)
    recursion = Recursion(model, q)
    loop = riccati(recursion)

    def accelerations(innovation):
        z, nu = {}, {}
        for k, children in recursion.inward:
            z[k] = np.zeros(6)
            for c in children:
                K_T = recursion.phi[c] @ loop.G[c] @ recursion.speeds(c, T_hat)
                z[k] = z[k] + loop.psi[c] @ z[c] + K_T
            eps = recursion.speeds(k, innovation) - recursion.H[k] @ z[k]
            nu[k] = np.linalg.solve(loop.D[k], eps)
        return smooth(recursion, loop, nu)

    beta_dot_f, alpha_f = accelerations(T_hat)
    assert relative_difference(beta_dot_f, acceleration) < TOLERANCE
    moving = motions(model, q, 0 * v, acceleration)
    assert relative_difference(alpha_f, [m.turn.T @ m.alpha for m in moving]) < TOLERANCE
    assert relative_difference(accelerations(T_)[0], acceleration) > MARGIN  # as printed


@on(*SERIAL)
@AXES
def test_A_3_upsilon_on_serial_chains(machine, axes):
    """(A.3): H* D^-1 H = Y - E_psi* Y E_psi with Y block diagonal. Serial chains."""
    model, q, _, _ = state(machine)
    right = Y - E_psi.T @ Y @ E_psi
    assert mismatch(model, H.T @ D.inv @ H, right, q, axes=axes) < TOLERANCE


@on("tree_one_dof", "tree_of_every_kind", "spacecraft", "reflected_rotors")
@AXES
def test_A_3_upsilon_on_trees_keeps_only_diagonal_blocks(machine, axes):
    """(A.3) on trees: H* D^-1 H = Y - blockdiag(E_psi* Y E_psi).

    E_psi* Y E_psi has a block for every pair of siblings, so no block-diagonal
    Y satisfies the printed equation.
    """
    model, q, _, _ = state(machine)
    left = H.T @ D.inv @ H
    corrected = Y - blockdiag(E_psi.T @ Y @ E_psi)
    assert mismatch(model, left, corrected, q, axes=axes) < TOLERANCE
    assert mismatch(model, left, Y - E_psi.T @ Y @ E_psi, q, axes=axes) > MARGIN
    siblings = value(model, E_psi.T @ Y @ E_psi - blockdiag(E_psi.T @ Y @ E_psi), q, axes=axes)
    parent = model.tree.parent
    for i in range(len(parent)):
        for k in range(len(parent)):
            if i == k or parent[i] != parent[k] or parent[i] == WORLD:
                assert not np.any(block(model, siblings, i, k))


@on(*ALL)
@AXES
def test_upsilon_is_the_block_diagonal_of_omega(machine, axes):
    """After (A.4): Y is the block diagonal of Omega = psi* H* D^-1 H psi. Any machine."""
    model, q, _, _ = state(machine)
    dense = psi.T @ H.T @ D.inv @ H @ psi
    assert mismatch(model, Y, blockdiag(dense), q, axes=axes) < TOLERANCE


@on(*SERIAL, "puma560")
@AXES
def test_lemma_5_decomposition_of_omega_on_serial_chains(machine, axes):
    """Lemma 5 (A.4): Omega = Y + psi~* Y + Y psi~. Serial chains only."""
    model, q, _, _ = state(machine)
    right = Y + psi_tilde.T @ Y + Y @ psi_tilde
    assert mismatch(model, Omega, right, q, axes=axes) < TOLERANCE


@on("tree_one_dof", "tree_of_every_kind", "free_base_tree", "spacecraft", "reflected_rotors")
@AXES
def test_lemma_5_on_trees_by_nearest_common_ancestors(machine, axes):
    """Lemma 5 on trees: Omega(i,j) = psi*(c,i) Y(c) psi(c,j), c the nearest common ancestor.

    The printed Y + psi~* Y + Y psi~ leaves the blocks of bodies on different
    limbs at zero. Trees.
    """
    model, q, _, _ = state(machine)
    printed = Y + psi_tilde.T @ Y + Y @ psi_tilde
    assert mismatch(model, Omega, printed, q, axes=axes) > MARGIN
    corrected = omega_by_common_ancestors(model, q, axes)
    assert mismatch(model, Omega, corrected, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_A_5_recursion_for_omega(machine, axes):
    """(A.5): Y(k) = psi* Y psi + H* D^-1 H base to tip; Omega(k,k) = Y(k),
    Omega(k,m) = Omega(k,m+1) psi(m+1,m) outward of k. Any machine.

    Corrected in two places: the step prints Y(k,m+1), which is zero beyond the
    first; and bodies on different limbs get the block of their nearest common
    ancestor instead of 0, so that 0 is right only between the trees of a forest.
    """
    model, q, _, _ = state(machine)
    tree, chain = model.tree, psi_by_products(model, q, axes)
    Y_ = pp.as_matrix(model, Y, q, axes=axes)

    def omega(inner, limbs):
        """Blocks by carrying `inner(k, p, Omega(k,p))` outward; `limbs` for unrelated bodies."""
        found = {}
        for k in range(len(tree)):
            found[k, k] = block(model, Y_, k, k)
            for m in range(k + 1, tree.end[k]):
                p = tree.parent[m]
                found[k, m] = inner(k, p, found[k, p]) @ chain[p, m]
                found[m, k] = found[k, m].T
        for i in range(len(tree)):
            for j in range(len(tree)):
                if not (tree.is_inboard(i, j) or tree.is_inboard(j, i)):
                    found[i, j] = limbs(i, j)
        return assemble(model, lambda i, j: found[i, j])

    def by_ancestor(i, j):
        c = tree.nearest_common_ancestor(i, j)
        return None if c == WORLD else chain[c, i].T @ block(model, Y_, c, c) @ chain[c, j]

    corrected = omega(lambda k, p, inner: inner, by_ancestor)
    assert mismatch(model, Omega, corrected, q, axes=axes) < TOLERANCE
    diagonal_only = omega(lambda k, p, inner: inner if k == p else 0 * inner, by_ancestor)
    assert mismatch(model, Omega, diagonal_only, q, axes=axes) > MARGIN
    zero_limbs = omega(lambda k, p, inner: inner, lambda i, j: None)
    if is_serial(model):
        assert mismatch(model, Omega, zero_limbs, q, axes=axes) < TOLERANCE
    else:
        assert mismatch(model, Omega, zero_limbs, q, axes=axes) > MARGIN


@on("tree_one_dof", "free_base_tree", "spacecraft")
def test_A_5_as_printed_gives_wrong_accelerations_of_a_loop(machine):
    """(A.5) as printed leaves out how two limbs load each other, so a loop that pins them
    together gets a wrong f~ and wrong accelerations. Trees with a loop between two limbs."""
    loop = Loop(machine)
    i, j = (loop.model.locate(point)[0] for point in loop.points)
    assert not loop.model.tree.is_inboard(i, j) and not loop.model.tree.is_inboard(j, i)
    printed = loop.dense(B.T @ (Y + psi_tilde.T @ Y + Y @ psi_tilde) @ B)
    corrected = (
        loop.dense(B).T @ omega_by_common_ancestors(loop.model, loop.q, "world") @ loop.dense(B)
    )
    alpha_f = loop.dense(J @ beta_dot, beta_dot=loop.free)

    def accelerations(Lambda):
        f_ = np.linalg.solve(loop.A @ Lambda @ loop.A.T, loop.A @ alpha_f - loop.U)
        return loop.free - loop.dense(Mass.inv @ J.T) @ loop.A.T @ f_

    assert relative_difference(accelerations(corrected), loop.beta_dot) < TOLERANCE
    assert relative_difference(accelerations(printed), loop.beta_dot) > MARGIN


@LOOPS
def test_A_6_recursion_for_the_correction_accelerations(machine):
    """(A.6): x = -B A* f~; z(k) = sum psi z + x(k), eps = H z, nu = D^-1 eps tip to base; then
    alpha = psi* alpha + H* nu, beta_dot_delta = nu - K* alpha base to tip.

    Printed z = psi z + K x, whose spaces do not meet (x is a body force, K
    takes joint forces), and eps = -H z, which turns the sign twice. Trees and
    forests with a loop; the witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    model = loop.model
    turns = [m.turn for m in motions(model, loop.q, loop.v)]
    x = -(loop.dense(B) @ loop.A.T @ loop.f).reshape(-1, 6)
    x = [turn.T @ part for turn, part in zip(turns, x, strict=True)]  # the recursion's link axes
    recursion = Recursion(model, loop.q)
    articulated = riccati(recursion)

    def correction(sign):
        z, nu = {}, {}
        for k, children in recursion.inward:
            z[k] = x[k] + sum((articulated.psi[c] @ z[c] for c in children), np.zeros(6))
            nu[k] = np.linalg.solve(articulated.D[k], sign * recursion.H[k] @ z[k])
        return smooth(recursion, articulated, nu)[0]

    assert relative_difference(correction(+1.0), loop.beta_dot - loop.free) < TOLERANCE
    assert relative_difference(correction(-1.0), loop.beta_dot - loop.free) > MARGIN
    with pytest.raises(pp.SpaceError):
        _ = psi @ K @ vector("x", "body")
