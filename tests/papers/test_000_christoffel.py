"""[000] section 5.3: the Christoffel symbols of one-dof joints, and those of any joint.

Symbols are arrays [i, j, k] = C_i(j,k) over all speeds. The witness is (5.53)
with the derivatives of Mass by complex steps.
"""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    block,
    phi_by_products,
    random_state,
    relative_difference,
    value,
)
from paper_000 import (
    ALL_REVOLUTE,
    MACHINES,
    ONE_DOF,
    Inertial,
    above,
    adjoint_cross,
    at_least,
    coriolis_force,
    force_cross,
    joint_maps,
    on_one_path,
    sensitivities,
    symbols_5_53,
)

from phipsi.operators import Mass, R

RATES_OF_COORDINATES = (*ONE_DOF, "tree_of_rates")
QUASI_VELOCITIES = ("tree_rotational", "serial_multidof", "spacecraft", "star_of_free_bodies")


def triples(model, condition):
    """All i, j, k of a machine of one-dof joints that meet a condition."""
    n = range(model.nv)
    found = [(i, j, k) for i in n for j in n for k in n if condition(i, j, k)]
    assert found, "no such i, j, k: nothing is tested"
    return found


def order(model):
    """(>, >=) of the paper on this machine."""
    return (lambda i, k: above(model, i, k)), (lambda i, k: at_least(model, i, k))


# -- definition and symmetries ---------------------------------------------------------


@pytest.mark.parametrize("name", RATES_OF_COORDINATES)
def test_christoffel_5_53_gives_the_coriolis_forces(name):
    """(5.53): C(i) = theta_dot* C_i theta_dot is the bias without gravity.

    Where the speeds are the rates of the coordinates: one-dof, cylindrical,
    universal, Euler and custom joints, any tree, rotor inertia.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    forces = np.einsum("ijk,j,k->i", symbols_5_53(model, q), v, v)
    assert relative_difference(forces, coriolis_force(model, q, v)) < TOLERANCE


@pytest.mark.parametrize("name", QUASI_VELOCITIES)
def test_christoffel_5_53_fails_for_quasi_velocities(name):
    """(5.53) leaves out the brackets of planar, spherical and free joints' speeds."""
    model = MACHINES[name]()
    q, v = random_state(model)
    forces = np.einsum("ijk,j,k->i", symbols_5_53(model, q), v, v)
    assert relative_difference(forces, coriolis_force(model, q, v)) > 0.1


@pytest.mark.parametrize("name", ONE_DOF)
def test_christoffel_symmetry_1(name):
    """Sec. 5.3: C_i(j,k) = C_i(k,j) for all i, j, k. One-dof joints, any tree.

    So C_i is the one symmetric matrix of the quadratic form theta_dot* C_i theta_dot:
    C_i(j,k) = 1/4 [C(e_j + e_k) - C(e_j - e_k)](i), by the operators' bias without gravity.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    e, symbols = np.eye(model.nv), symbols_5_53(model, q)
    plus, minus = (coriolis_force(model, q, e[:, None] + sign * e[None, :]) for sign in (1.0, -1.0))
    polarized = np.einsum("jki->ijk", 0.25 * (plus - minus))
    assert relative_difference(symbols, polarized) < TOLERANCE
    assert relative_difference(symbols, np.swapaxes(symbols, 1, 2)) < TOLERANCE


@pytest.mark.parametrize("name", ONE_DOF)
def test_christoffel_symmetry_2(name):
    """Sec. 5.3: C_i(j,k) = -C_k(j,i) for j >= k, i. One-dof joints, any tree.

    Not so where j is outboard of one of them.
    """
    model = MACHINES[name]()
    symbols = symbols_5_53(model, random_state(model)[0])
    _, ge = order(model)
    found = {
        inboard: triples(model, lambda i, j, k, x=inboard: (ge(j, k) and ge(j, i)) == x)
        for inboard in (True, False)
    }
    difference = {
        inboard: relative_difference(
            [symbols[i, j, k] for i, j, k in some], [-symbols[k, j, i] for i, j, k in some]
        )
        for inboard, some in found.items()
    }
    assert difference[True] < TOLERANCE
    assert difference[False] > 0.1


@pytest.mark.parametrize("name", ONE_DOF)
def test_christoffel_symmetry_3(name):
    """Sec. 5.3: C_i(j,i) = C_i(i,j) = 0 for j >= i. One-dof joints, any tree; not for j < i."""
    model = MACHINES[name]()
    symbols = symbols_5_53(model, random_state(model)[0])
    gt, ge = order(model)
    size = np.linalg.norm(symbols)
    pairs = triples(model, lambda i, j, k: i == k and ge(j, i))
    assert np.linalg.norm([symbols[i, j, i] for i, j, _ in pairs]) < TOLERANCE * size
    assert np.linalg.norm([symbols[i, i, j] for i, j, _ in pairs]) < TOLERANCE * size
    others = triples(model, lambda i, j, k: i == k and gt(i, j))
    assert np.linalg.norm([symbols[i, j, i] for i, j, _ in others]) > 1e-2 * size


@pytest.mark.parametrize("name", ["serial_revolute_prismatic", "tree_revolute"])
def test_christoffel_symbols_depend_on_outboard_joints_only(name):
    """Sec. 5.3: C_i(j,k) is a function of theta(1) ... theta(m-1), m = max(i,j,k).

    Moving joint m and all inboard of it changes no symbol; moving the others does.
    One-dof joints, any tree: i, j, k on one path, m the most inboard.
    """
    model = MACHINES[name]()
    (q, _), (other, _) = random_state(model, 0), random_state(model, 1)
    symbols = symbols_5_53(model, q)
    size, outer_change = np.linalg.norm(symbols), 0.0
    for m in range(model.nv):
        at = tuple(np.array(triples(model, lambda *x, m=m: _first(model, x) == m)).T)
        inner, outer = q.copy(), q.copy()
        inboard, outboard = list(model.tree.path(m)), range(m + 1, model.tree.end[m])
        inner[inboard], outer[outboard] = other[inboard], other[outboard]
        assert np.linalg.norm((symbols_5_53(model, inner) - symbols)[at]) < TOLERANCE * size
        outer_change += np.linalg.norm((symbols_5_53(model, outer) - symbols)[at])
    assert outer_change > 0.1 * size


def _first(model, bodies):
    """The most inboard of some bodies; None if they do not lie on one path."""
    return min(bodies, key=lambda k: model.tree.depth[k]) if on_one_path(model, *bodies) else None


# -- Lemma 5.4 -------------------------------------------------------------------------


class Composite:
    """H(k), phi(i,k), R(k) and HH(i) in world axes, for machines of one-dof joints."""

    def __init__(self, model, q):
        self.gt, self.ge = order(model)
        self.phi = phi_by_products(model, q, axes="world")
        self.H = [h[:, 0] for h in joint_maps(model, q)]
        R_ = value(model, R, q, axes="world")
        self.R = [block(model, R_, k, k) for k in range(len(model.bodies))]
        self.HH = [force_cross(h) for h in self.H]

    def bracket(self, k, printed):
        """[HH(k) R(k) - R(k) HH(k)] as printed, with + R(k) HH*(k) as corrected."""
        other = -self.R[k] @ self.HH[k] if printed else self.R[k] @ self.HH[k].T
        return self.HH[k] @ self.R[k] + other

    def half(self, j, k, i, printed):
        """H(j) [phi(j,k) [HH R - R HH](k) phi*(i,k) delta_{i>k}
        + phi(j,k) HH(k) phi(k,i) R(i) delta_{i<=k}] H*(i), for j > k."""
        inner = np.zeros((6, 6))
        if self.gt(i, k):
            inner += self.phi[j, k] @ self.bracket(k, printed) @ self.phi[i, k].T
        if self.ge(k, i):
            inner += self.phi[j, k] @ self.HH[k] @ self.phi[k, i] @ self.R[i]
        return self.H[j] @ inner @ self.H[i]

    def change(self, i, j, k, printed):
        """D_i Mass(j,k) by Lemma 5.3, for any i, j, k."""
        if self.gt(j, i):
            return self.half(j, i, k, printed)
        return self.half(k, i, j, printed) if self.gt(k, i) else 0.0


def lemma_5_4_mismatch(model, q, printed):
    """How far Lemma 5.4 is from (5.53), over all j > k, i."""
    at, symbols = Composite(model, q), symbols_5_53(model, q)
    found = triples(model, lambda i, j, k: at.gt(j, k) and at.gt(j, i))
    left = [symbols[t] for t in found]
    right = [0.5 * (at.half(j, k, i, printed) - at.half(j, i, k, printed)) for i, j, k in found]
    return relative_difference(left, right)


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_lemma_5_4_christoffel_symbols_by_composite_inertias(name):
    """Lemma 5.4: for j > k, i, C_i(j,k) = 1/2 [X(j,k,i) - X(j,i,k)] with X(j,k,i) = H(j)
    [phi(j,k) [HH R - R HH](k) phi*(i,k) delta_{i>k} + phi(j,k) HH(k) phi(k,i) R(i) delta_{i<=k}]
    H*(i). Revolute joints, any tree."""
    model = MACHINES[name]()
    assert lemma_5_4_mismatch(model, random_state(model)[0], printed=True) < TOLERANCE


@pytest.mark.parametrize("name", ["serial_revolute_prismatic", "tree_one_dof"])
def test_lemma_5_4_needs_a_star_for_prismatic_joints(name):
    """Lemma 5.4 with + R HH* for - R HH holds for one-dof joints; as printed it fails there."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert lemma_5_4_mismatch(model, q, printed=True) > 0.1
    assert lemma_5_4_mismatch(model, q, printed=False) < TOLERANCE


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_lemma_5_4_proof_for_all_i_j_k(name):
    """Proof of Lemma 5.4: 2 C_i(j,k) by the elements (5.52), for all i, j, k.

    And for j > k > i: 2 C_i(j,k) = H(j) phi(j,k) HH(k) phi(k,i) R(i) H*(i)
    - H(k) phi(k,i) [HH R - R HH](i) phi*(j,i) H*(j). Revolute joints, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    at, symbols = Composite(model, q), symbols_5_53(model, q)
    found = triples(model, lambda i, j, k: True)
    right = [
        at.change(k, j, i, True) + at.change(j, k, i, True) - at.change(i, k, j, True)
        for i, j, k in found
    ]
    assert relative_difference(2 * symbols.ravel(), right) < TOLERANCE

    ordered = triples(model, lambda i, j, k: at.gt(j, k) and at.gt(k, i))
    right = [
        at.H[j] @ at.phi[j, k] @ at.HH[k] @ at.phi[k, i] @ at.R[i] @ at.H[i]
        - at.H[k] @ at.phi[k, i] @ at.bracket(i, True) @ at.phi[j, i].T @ at.H[j]
        for i, j, k in ordered
    ]
    assert relative_difference([2 * symbols[t] for t in ordered], right) < TOLERANCE


# -- Lemma 5.5 -------------------------------------------------------------------------


def Y_5_54(model, q):
    """(5.54): Y(a,b,c) = 1/2 H_I(a) [-Q[R_I H_I*] + HH_I R_I + R_I HH_I*](c) H_I*(b)."""
    at = Inertial(model, q)
    h = [x[:, 0] for x in at.H_star]
    inner = [
        -adjoint_cross(R_c @ h[c]) + at.HH(c) @ R_c + R_c @ at.HH(c).T for c, R_c in enumerate(at.R)
    ]
    return lambda a, b, c: 0.5 * h[a] @ inner[c] @ h[b]


# (5.55): case by case, the condition and the value.
TABLE = {
    "j > k > i": (lambda gt, ge, i, j, k: gt(j, k) and gt(k, i), lambda Y, i, j, k: -Y(k, j, i)),
    "j >= k = i": (lambda gt, ge, i, j, k: ge(j, k) and k == i, lambda Y, i, j, k: Y(i, j, i)),
    "j > i > k": (lambda gt, ge, i, j, k: gt(j, i) and gt(i, k), lambda Y, i, j, k: Y(i, j, k)),
    "j = i > k": (lambda gt, ge, i, j, k: j == i and gt(i, k), lambda Y, i, j, k: Y(i, i, k)),
    "i > j > k": (lambda gt, ge, i, j, k: gt(i, j) and gt(j, k), lambda Y, i, j, k: Y(i, j, k)),
    "i > k > j": (lambda gt, ge, i, j, k: gt(i, k) and gt(k, j), lambda Y, i, j, k: Y(i, k, j)),
}
OMITTED = {
    "i > j = k": (lambda gt, ge, i, j, k: gt(i, j) and j == k, lambda Y, i, j, k: Y(i, j, j)),
    "j = k > i": (lambda gt, ge, i, j, k: j == k and gt(k, i), lambda Y, i, j, k: -Y(j, j, i)),
}


def by_table(model, q, cases):
    """All symbols by the cases of a table and C_i(j,k) = C_i(k,j); 0 where none applies."""
    gt, ge = order(model)
    Y, symbols = Y_5_54(model, q), np.zeros((model.nv,) * 3)
    for holds, symbol in cases.values():
        for i, j, k in triples(model, lambda i, j, k, holds=holds: holds(gt, ge, i, j, k)):
            symbols[i, j, k] = symbols[i, k, j] = symbol(Y, i, j, k)
    return symbols


@pytest.mark.parametrize("name", ONE_DOF)
@pytest.mark.parametrize("case", [*TABLE, *OMITTED])
def test_lemma_5_5_christoffel_symbols_case_by_case(case, name):
    """Lemma 5.5, (5.54), (5.55): each printed case, and the two that are left out:
    C_i(j,k) = Y(i,j,j) for i > j = k, -Y(j,j,i) for j = k > i. One-dof joints, any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    gt, ge = order(model)
    Y, symbols = Y_5_54(model, q), symbols_5_53(model, q)
    holds, symbol = (TABLE | OMITTED)[case]
    found = triples(model, lambda i, j, k: holds(gt, ge, i, j, k))
    left, right = [symbols[t] for t in found], [symbol(Y, *t) for t in found]
    assert relative_difference(left, right, scale=np.linalg.norm(symbols)) < TOLERANCE
    if case == "j >= k = i":
        assert np.linalg.norm(right) < TOLERANCE * np.linalg.norm(symbols)


@pytest.mark.parametrize("name", ONE_DOF)
def test_lemma_5_5_table_omits_two_cases(name):
    """(5.55) as printed, 0 where no case applies, is not the whole: with i > j = k and
    j = k > i it is. One-dof joints, any tree; 0 unless i, j, k lie on one path."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    symbols = symbols_5_53(model, q)
    assert relative_difference(by_table(model, q, TABLE), symbols) > 0.1
    assert relative_difference(by_table(model, q, TABLE | OMITTED), symbols) < TOLERANCE


@pytest.mark.parametrize("name", ONE_DOF)
def test_lemma_5_5_in_one_rule(name):
    """Both tables in one: with `in` and `out` the more inboard and outboard of j and k,
    C_i(j,k) = Y(i,in,out) for i > out, 0 for i = out, -Y(out,in,i) for i < out,
    0 unless i, j, k lie on one path. One-dof joints, any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    gt, ge = order(model)
    Y = Y_5_54(model, q)

    def symbol(i, j, k):
        if not on_one_path(model, i, j, k):
            return 0.0
        inner, outer = (j, k) if ge(j, k) else (k, j)
        if i == outer:
            return 0.0
        return Y(i, inner, outer) if gt(i, outer) else -Y(outer, inner, i)

    rule = [symbol(*t) for t in np.ndindex((model.nv,) * 3)]
    assert relative_difference(rule, symbols_5_53(model, q).ravel()) < TOLERANCE


@pytest.mark.parametrize("name", ONE_DOF)
def test_christoffel_symmetry_4(name):
    """Sec. 5.3: D_i Mass(k,j) = C_j(i,k) + C_k(j,i) for all i, j, k. One-dof joints, any tree.

    With the symbols of Lemma 5.5, the two cases that it omits added.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    symbols = by_table(model, q, TABLE | OMITTED)
    right = np.einsum("jik->ikj", symbols) + np.einsum("kji->ikj", symbols)
    assert relative_difference(sensitivities(model, q, Mass), right) < TOLERANCE
