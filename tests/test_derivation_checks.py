"""Checks of derivations: mistakes that they see, roundoff that is none; and prices."""

import dataclasses

import numpy as np
import pytest
from derivations import CASES, A, W

import phipsi as pp
from phipsi.algebra.rewriting.price import price
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.compile import make_program
from phipsi.lowering.cost import cost_of
from phipsi.operators import (
    D,
    E_phi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    R,
    T,
    V,
    b,
    f0,
    operator,
    phi,
    psi,
    scalar,
    tau,
    tau_bar,
    vector,
)

ENDS = [(s, t) for s in (BODY, JOINT, SCALAR) for t in (BODY, JOINT, SCALAR)]
SOME = CASES["operational compliance"].expression


def test_a_wrong_identity_fails_its_check():
    """Planted: psi = phi. The step that uses it is named, those before it hold."""
    pp.add_identity("planted", H @ psi, H @ phi, check=False)
    try:
        found = pp.derive(SOME, using="planted")
        checked = found.check()
        assert not checked.ok
        assert {x.name for x in checked if not x.ok} == {
            "planted",
            "the result, beside the expression",
        }
        assert "FAILS" in str(checked)
    finally:
        pp.forget_identity("planted")


# -- what a check sees -------------------------------------------------------------------


def test_a_check_is_not_blinded_by_large_terms():
    """Planted: H psi = H phi, beside a term that is larger by twelve digits."""
    pp.add_identity("planted", H @ psi, H @ phi, check=False)
    try:
        x = vector("x", "body")
        found = pp.derive(1e12 * (Jm @ T) + H @ psi @ x, using="planted")
        assert not found.check().ok
    finally:
        pp.forget_identity("planted")


def test_a_check_sees_small_mistakes_in_long_products():
    """Planted: psi (1 + 1e-6) for psi, in a product of a dozen factors."""
    off = 1 + 1e-6
    pp.add_identity("planted", H @ psi @ M, off * (H @ psi @ M), check=False)
    try:
        x = vector("x", "body")
        long = phi @ M @ phi.T @ R @ phi @ M @ phi.T @ H.T @ H @ psi @ M @ phi.T @ x
        found = pp.derive(long, using="planted", bound=10)
        assert not found.missing
        failed = [y.value for y in found.check() if not y.ok]
        assert failed and all(1e-8 < y < 1e-4 for y in failed)
    finally:
        pp.forget_identity("planted")


def test_a_check_knows_that_nothing_is_left():
    """V* b = 0: the gyroscopic force has no power; roundoff is no mistake."""
    assert pp.derive(V.T @ (scalar("k") * b)).check().ok


@pytest.mark.parametrize(
    "options", [{"to": H @ phi}, {"using": "factors exchanged"}], ids=["to", "using"]
)
def test_a_check_fails_where_nothing_was_shown(options):
    """What was asked for and not reached is not true for want of steps."""
    checked = pp.derive(H @ psi, bound=5, **options).check()
    assert not checked.ok
    assert str(checked).endswith("was not reached")


def test_a_check_of_named_points_beside_bare_vectors():
    """(26) of 003 on a vector: it is of as many points as the compliances name."""
    inverse = CASES["effective inertia of two arms"].expression
    for force in (f0, vector("x", "point")):
        assert pp.derive(inverse @ force).check(machines=2).ok


def test_bad_checks_are_refused():
    found = pp.derive(SOME)
    with pytest.raises(pp.InputError, match="check: expected a Model, got str"):
        found.check("puma560")
    with pytest.raises(pp.InputError, match="machines: expected a whole number from 1 on, got 0"):
        found.check(machines=0)
    for seed in ("a", -5):
        with pytest.raises(pp.InputError, match="seed: expected a whole number from 0 on"):
            found.check(seed=seed)
    named = pp.derive(J(pp.point("gripper")) @ Mass.inv @ J(pp.point("gripper")).T)
    assert named.check().ok  # random machines have what is named
    with pytest.raises(pp.InputError, match="gripper"):
        named.check(pp.examples.puma560())


def test_a_machine_on_which_nothing_can_be_evaluated():
    """A (5 x 12) with two points: no inverse where all points are on one joint alone."""
    inverse = (A @ J @ Mass.inv @ J.T @ A.T).inv
    found = pp.derive(inverse)
    with pytest.raises(pp.SolveError):
        found.check(pp.examples.planar_arm(1))


# -- prices ------------------------------------------------------------------------------


def test_prices_are_near_to_what_the_compiler_counts():
    """Of joints that turn about z: what each letter adds to a program, per body, within 15%."""
    robot = _general_chain(20)
    known = (b, D.inv @ H @ b)

    def flops(*expressions):
        return cost_of(make_program(expressions), robot).flops / len(robot.bodies)

    for letter in (E_phi, phi, psi, tau_bar):
        added = flops(*known, H @ letter @ b) - flops(*known)
        assert abs(added - letter.record.flops) < 0.15 * added, letter
    for letter in (K, G):
        added = flops(*known, H @ letter @ H @ b) - flops(*known)
        assert abs(added - letter.record.flops) < 0.15 * added, letter
    articulated = flops(*known) - flops(b)
    assert abs(articulated - price(D.inv).flops) < 0.15 * articulated
    assert price(tau).flops >= price(G).flops


def _general_chain(n):
    rng = np.random.default_rng(0)
    builder = pp.ModelBuilder("chain")
    for k in range(n):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        builder.add_body(
            f"body{k}",
            f"body{k - 1}" if k else "world",
            position=rng.normal(size=3),
            rotation=Q * np.linalg.det(Q),
            mass=1.0,
            com=0.2 * rng.normal(size=3),
            inertia=[[0.3, 0.01, 0.02], [0.01, 0.25, 0.03], [0.02, 0.03, 0.2]],
            rotor_inertia=0.1,
        )
    return builder.build()


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Mass.inv, "1 full inverse, 2 sweeps"),
        ((I + H @ phi @ K).inv, "1 triangular inverse, 1 sweep"),
        (W.T @ D.inv @ W, "2 sweeps"),
        (M, "42 flops per body"),
    ],
)
def test_prices_say_what_they_count(expression, text):
    assert str(price(expression)).startswith(text)


def test_a_long_result_that_is_twice_too_large_is_found():
    """The numbers on the way to a long product are no measure of what it is."""
    stiff = operator("K_p", "point", "point")
    found = pp.derive("inv(Mass + J' K_p J) (T - C)", symbols=[stiff])
    wrong = dataclasses.replace(found, result=2.0 * found.result)
    arm = pp.examples.puma560()
    assert found.check(arm).ok and found.check().ok
    assert not wrong.check(arm).ok and not wrong.check().ok
