"""Numbers of the machine as arguments of exported functions: the same results in every target."""

import numpy as np
import pytest
from c_code import needs_compiler, run_main

import phipsi as pp
from phipsi.operators import C, Mass, T, U

FALL = Mass.inv @ (T - C)
NAMES = ("link3.placement", "moments", "gravity", "link6.rotor_inertia")


@pytest.fixture(scope="module")
def case():
    """Arguments by place for the export of forward dynamics, and what is right."""
    robot = pp.examples.puma560()
    rng = np.random.default_rng(2)
    q, v, tau = rng.normal(size=(3, robot.nv))
    function = pp.compile(robot, FALL, parameters=NAMES, backend="numpy")
    nominal = function.parameters
    place = nominal["link3.placement"].copy()
    place[:3, 3] += 0.1
    numbers = [place, nominal["moments"] * 1.1, np.array([1.0, 2.0, -3.0]), np.array(0.3)]
    return robot, (q, v, tau, *numbers), function(q, v, tau, *numbers)


def check(found, right):
    found = np.asarray(found, float).reshape(right.shape)
    assert np.abs(found - right).max() <= 1e-12 * np.abs(right).max()


def test_casadi(case):
    robot, arguments, right = case
    check(pp.export(robot, FALL, to="casadi", parameters=NAMES)(*arguments), right)


def test_jax(case):
    import jax

    robot, arguments, right = case
    with jax.enable_x64(True):
        function = pp.export(robot, FALL, to="jax", parameters=NAMES)
        check(function(*arguments), right)
        slope = jax.jacrev(lambda g: function(*arguments[:5], g, arguments[6]))(arguments[5])
        up, down = (function(*arguments[:5], arguments[5] + s, arguments[6]) for s in (1.0, -1.0))
        check(slope @ np.ones(3), np.asarray(up - down) / 2)  # linear in gravity


def test_torch(case):
    import torch

    robot, arguments, right = case
    function = pp.export(robot, FALL, to="torch", parameters=NAMES)
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in arguments]
    result = function(*tensors)
    check(result.detach(), right)
    result.sum().backward()
    by_gravity = tensors[5].grad
    ahead, behind = (function(*tensors[:5], tensors[5] + s, tensors[6]) for s in (1.0, -1.0))
    check(by_gravity.sum(), np.array(float((ahead - behind).sum().detach()) / 2))


def test_sympy():
    arm = pp.examples.planar_arm(2)
    formula = pp.export(arm, U, to="sympy", parameters=["gravity"])[0, 0]
    right = pp.compile(arm, U, parameters=["gravity"], backend="numpy")
    values = {"q0": 0.3, "q1": 0.5, "gravity0": 1.0, "gravity1": 2.0, "gravity2": 3.0}
    found = float(formula.subs({x: values[str(x)] for x in formula.free_symbols}))
    check(found, np.asarray(right([0.3, 0.5], None, [1.0, 2.0, 3.0])))


@needs_compiler
@pytest.mark.parametrize("derived", [False, True])
def test_c_runs_its_own_test(tmp_path, derived):
    function = pp.compile(pp.examples.puma560(), FALL, parameters=["link3.placement", "moments"])
    (function.vjp if derived else function).export_c(tmp_path / "puma.h")
    assert run_main(tmp_path / "puma.h")[0] == 0
