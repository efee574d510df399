"""Beyond [000]: how articulated inertias and Mass^-1 change along one joint.

In link axes, any joint, any tree, with or without rotor inertia. With HH = S[s],
P_plus = tau_bar P(i) and Gamma = D_ia H*(i):

    X = HH P_plus + P_plus HH* - (tau_bar P Gamma G* + G Gamma* P tau_bar*)
    dP(p(i)) = phi X phi*; further in dP(p(k)) = psi(p,k) dP(k) psi*(p,k)
"""

import numpy as np
import pytest
from equations import TOLERANCE, assemble, block, diagonal, directions, random_state, value
from paper_000 import ANY, MACHINES, sensitivities, sensitivity_mismatch

from phipsi.model.tree import WORLD
from phipsi.operators import (
    D,
    E_phi,
    E_psi,
    G,
    Gamma_delta,
    H,
    HH_delta,
    I,
    K,
    Mass,
    P,
    Y,
    psi,
    tau_bar,
)

# Where every joint is free nothing is felt through it: P does not change, and 0 = 0 shows nothing.
FELT = tuple(name for name in ANY if name != "star_of_free_bodies")


class Articulated:
    """The blocks of a machine at q, and the changes of P, D and G along (i, a)."""

    def __init__(self, model, q):
        self.model, self.q = model, q
        self.H_star = self._own(H.T, "body", "joint")
        self.P, self.tau_bar = self._own(P), self._own(tau_bar)
        self.D, self.G = self._own(D, "joint", "joint"), self._own(G, "body", "joint")
        self.phi, self.psi = (value(model, step, q) for step in (E_phi, E_psi))

    def changes_of_P(self, i, a):
        """{k: dP(k)} for the bodies k strictly inboard of i."""
        HH, Gamma = self._pick_off(i, a), self._Gamma(i, a)
        P_plus = self.tau_bar[i] @ self.P[i]
        W = P_plus @ Gamma @ self.G[i].T
        X = HH @ P_plus + P_plus @ HH.T - W - W.T
        changes, k, step = {}, i, self.phi
        while (p := self.model.tree.parent[k]) != WORLD:
            moved = block(self.model, step, p, k)
            X = moved @ X @ moved.T
            changes[p], k, step = X, p, self.psi
        return changes

    def changes_of_D(self, i, a):
        """{k: dD(k)} for i and the bodies inboard of it."""
        Gamma, H_star = self._Gamma(i, a), self.H_star
        half = Gamma.T @ self.P[i] @ H_star[i]
        return {i: half + half.T} | {
            k: H_star[k].T @ dP @ H_star[k] for k, dP in self.changes_of_P(i, a).items()
        }

    def changes_of_G(self, i, a):
        """{k: dG(k)} for i and the bodies inboard of it."""
        Gamma, D_inv = self._Gamma(i, a), [np.linalg.inv(x) for x in self.D]
        own = self.tau_bar[i] @ self.P[i] @ Gamma @ D_inv[i] - self.G[i] @ Gamma.T @ self.G[i]
        return {i: own} | {
            k: self.tau_bar[k] @ dP @ self.H_star[k] @ D_inv[k]
            for k, dP in self.changes_of_P(i, a).items()
        }

    def _own(self, letter, rows="body", columns="body"):
        matrix = value(self.model, letter, self.q)
        bodies = range(len(self.model.bodies))
        return [block(self.model, matrix, k, k, rows, columns) for k in bodies]

    def _pick_off(self, i, a):
        return block(self.model, value(self.model, HH_delta(i, a), self.q), i, i)

    def _Gamma(self, i, a):
        matrix = value(self.model, Gamma_delta(i, a), self.q)
        return block(self.model, matrix, i, i, "body", "joint")


@pytest.mark.parametrize("name", FELT)
def test_sensitivity_of_articulated_inertia(name):
    """dP(p(i)) = phi X phi*, dP(p(k)) = psi dP(k) psi*, 0 elsewhere."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    at = Articulated(model, q)

    def formula(i, a):
        return diagonal(model, at.changes_of_P(i, a).get)

    assert sensitivity_mismatch(model, q, P, formula, axes="link") < TOLERANCE


@pytest.mark.parametrize("name", FELT)
def test_sensitivity_of_D(name):
    """dD = H dP H* inboard of i; at i, dD = Gamma* P H* + H P Gamma."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    at = Articulated(model, q)

    def formula(i, a):
        changes = at.changes_of_D(i, a)
        return assemble(model, lambda j, k: changes.get(k) if j == k else None, "joint", "joint")

    assert sensitivity_mismatch(model, q, D, formula, axes="link") < TOLERANCE


@pytest.mark.parametrize("name", FELT)
def test_sensitivity_of_G(name):
    """dG = tau_bar dP H* D^-1 inboard of i; at i, dG = tau_bar P Gamma D^-1 - G Gamma* G."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    at = Articulated(model, q)

    def formula(i, a):
        changes = at.changes_of_G(i, a)
        return assemble(model, lambda j, k: changes.get(k) if j == k else None, "body", "joint")

    assert sensitivity_mismatch(model, q, G, formula, axes="link") < TOLERANCE


@pytest.mark.parametrize("name", FELT)
def test_sensitivity_of_the_inverse_mass_matrix(name):
    """D_ia [(I - H psi K)* D^-1 (I - H psi K)] = -Mass^-1 (D_ia Mass) Mass^-1.

    Its rank is at most 12 where Gamma = 0.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    inverse = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
    mass, changes = value(model, Mass, q), sensitivities(model, q, Mass, axes="link")
    solved = -np.linalg.solve(mass, np.swapaxes(np.linalg.solve(mass, changes), -1, -2))
    order = {direction: n for n, direction in enumerate(directions(model))}
    along = [x for x in order if np.linalg.norm(changes[order[x]]) > TOLERANCE]

    def formula(i, a):
        return solved[order[i, a]]

    assert sensitivity_mismatch(model, q, inverse, formula, along, axes="link") < TOLERANCE
    for i, a in along:
        if not value(model, Gamma_delta(i, a), q).any():
            assert np.linalg.matrix_rank(solved[order[i, a]], rtol=1e-12) <= 12


@pytest.mark.parametrize("name", FELT)
def test_sensitivity_of_log_det_of_the_mass_matrix(name):
    """D_ia log det Mass = tr(D(i)^-1 dD(i)) + tr(Y(p(i)) dP(p(i))).

    Left: tr(Mass^-1 D_ia Mass).
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    at, Y_ = Articulated(model, q), value(model, Y, q)
    changes = sensitivities(model, q, Mass, axes="link")
    left = np.trace(np.linalg.solve(value(model, Mass, q), changes), axis1=-2, axis2=-1)
    right = []
    for i, a in directions(model):
        gradient = np.trace(np.linalg.solve(at.D[i], at.changes_of_D(i, a)[i]))
        p = model.tree.parent[i]
        if p != WORLD:
            gradient += np.trace(block(model, Y_, p, p) @ at.changes_of_P(i, a)[p])
        right.append(gradient)
    assert np.linalg.norm(left) > 1e-3
    assert np.linalg.norm(left - right) < TOLERANCE * np.linalg.norm(left)
