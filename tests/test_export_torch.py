"""PyTorch functions against compiled ones, and their derivatives against central differences."""

import sys

import numpy as np
import pytest
import torch
from by_entries import CASES, FORWARD, STEP, close, feather, gimbal, planar_arm
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, vmap

import phipsi as pp
from phipsi.operators import J, Mass

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(scope="module")
def exported():
    """Of each case its PyTorch function, exported once."""
    made = {}

    def export(case):
        if case not in made:
            made[case] = pp.export(case.model, case.expression, to="torch")
        return made[case]

    return export


def tensors(arrays, **options):
    return [torch.tensor(x, **options) for x in arrays]


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


# -- values ------------------------------------------------------------------------------------


@every_case
def test_values_are_those_of_the_compiled_function(exported, case):
    """For one state and for batches that broadcast."""
    several = case.arguments(3)
    one, mixed = [x[0] for x in several], [several[0][:, None], *(x[:2] for x in several[1:])]
    for arguments in (one, several, mixed):
        found = as_list(exported(case)(*tensors(arguments)))
        for result, value in zip(found, case.values(*arguments), strict=True):
            assert result.dtype == torch.float64
            assert close(result, value, 1e-12)


def test_vmap_over_any_argument_and_axis_is_a_batch(exported):
    case = CASES["floating"]
    q, v, force = case.arguments(4)
    f, (Q, V, F) = exported(case), tensors((q, v, force))
    (expected,) = case.values(q, v[0], force)
    assert close(vmap(f, (0, None, 0))(Q, V[0], F), expected, 1e-12)
    assert close(vmap(f, (1, None, 1), out_dims=1)(Q.T, V[0], F.T), expected.T, 1e-12)
    (grid,) = case.values(q[:, None], v[0], force)
    assert close(vmap(vmap(f, (None, None, 0)), (0, None, None))(Q, V[0], F), grid, 1e-12)
    results = vmap(exported(CASES["several"]))(*tensors(CASES["several"].arguments(4)))
    assert [x.shape[0] for x in results] == [4, 4, 4]


def test_arguments_by_name_and_the_name_of_the_function():
    case = CASES["arm"]
    q, v, force = tensors(case.arguments())
    f = pp.export(case.model, FORWARD, to="torch", name="fall")
    assert f.__name__ == "fall" and "q, v, T" in f.__doc__
    assert torch.equal(f(q, T=force, v=v), f(q, v, force))


def test_floats_are_rounded_results_of_doubles(exported):
    """Arguments are floats; all between them and the results is double."""
    case = CASES["arm"]
    arguments = [x.astype(np.float32) for x in case.arguments(5)]
    expected = case.compiled(*(x.astype(float) for x in arguments)).astype(np.float32)
    q, v, force = tensors(arguments)
    found = exported(case)(q.requires_grad_(), v, force)
    assert found.dtype == torch.float32
    assert np.array_equal(found.detach(), expected)
    found.sum().backward()
    assert q.grad.dtype == torch.float32
    assert exported(case)(q.double(), v, force).dtype == torch.float64


def test_where_a_state_has_no_value_its_row_alone_is_not_finite(exported):
    case = CASES["floating"]
    q, v, force = tensors(case.arguments(3))
    q[1, :4] = 0.0
    v[2, 0] = torch.nan
    finite = torch.isfinite(exported(case)(q, v, force)).all(dim=-1)
    assert finite.tolist() == [True, False, False]
    swing, zero = pp.export(gimbal(), FORWARD, to="torch"), torch.zeros(2).double()
    upright = torch.tensor([[0.0, 0.3], [0.0, np.pi / 2]], dtype=torch.float64)
    found = swing(upright, zero, zero + 1.0).abs().amax(dim=-1)
    assert found[0] < 100.0 and not found[1] < 1e12


# -- derivatives -------------------------------------------------------------------------------


@every_case
def test_jacobians_both_ways_are_central_differences(exported, case):
    f, arguments = exported(case), case.arguments()
    places = tuple(range(len(arguments)))
    forwards, backwards = (x(f, places)(*tensors(arguments)) for x in (jacfwd, jacrev))
    several = isinstance(case.expression, tuple)
    for i in places:
        expected = case.slopes(arguments, i)
        for found in (forwards, backwards):
            by = [x[i] for x in found] if several else [found[i]]
            for slope, value in zip(by, expected, strict=True):
                assert close(slope, value, 1e-7)


@pytest.mark.parametrize("name", ["arm", "energy", "several"])
def test_gradients_of_first_and_second_order_pass_the_checks_of_torch(exported, name):
    """Forwards and backwards, with one argument broadcast over the batch of the others."""
    case = CASES[name]
    q, v, *rest = tensors(case.arguments(2))
    arguments = [x.requires_grad_() for x in (q, v[0].clone(), *rest)]
    assert gradcheck(exported(case), arguments, check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(
        exported(case), arguments, check_fwd_over_rev=True, check_rev_over_rev=True, fast_mode=True
    )


def test_along_the_manifold_they_are_those_of_the_compiled_function(exported):
    """Where q moves as `integrate` moves it, J q' is what `Function.jvp` gives along dq."""
    case = CASES["floating"]
    q, *rest = case.arguments()
    dq = np.random.default_rng(1).normal(size=case.model.nv)
    ends = [pp.integrate(case.model, q, sign * STEP * dq) for sign in (1, -1)]
    rate = torch.tensor((ends[0] - ends[1]) / (2 * STEP))
    fixed = tensors(rest)
    _, found = torch.func.jvp(lambda q: exported(case)(q, *fixed), (torch.tensor(q),), (rate,))
    assert close(found, case.compiled.jvp(q, *rest, dq=dq), 1e-8)
    Q = torch.tensor(q, requires_grad=True)
    exported(case)(Q, *fixed).sum().backward()
    assert abs(Q.grad[:4] @ Q[:4]) < 1e-12 * Q.grad.abs().max()  # it stays on the sphere


def test_hessians_in_all_ways_are_central_differences_of_gradients(exported):
    case = CASES["energy"]
    q, v = tensors(case.arguments())

    def loss(q):
        return torch.sin(exported(case)(q, v))

    slope, steps = grad(loss), STEP * torch.eye(len(q), dtype=torch.float64)
    expected = torch.stack([(slope(q + x) - slope(q - x)) / (2 * STEP) for x in steps])
    for way in (
        hessian,
        *(lambda f, a=a, b=b: a(b(f)) for a in (jacfwd, jacrev) for b in (jacrev, jacfwd)),
    ):
        found = way(loss)(q)
        assert close(found, expected, 1e-7)
        assert close(found, found.T, 1e-11)
    assert close(vmap(hessian(loss))(torch.stack([q, -q]))[0], expected, 1e-7)


def test_gradients_sum_over_what_was_broadcast(exported):
    case = CASES["puma"]
    q, v = case.arguments(3)
    Q, one = torch.tensor(q, requires_grad=True), torch.tensor(v[0], requires_grad=True)
    exported(case)(Q, one).sum().backward()
    by_q, by_v = case.compiled.vjp(q, v[0], np.ones(6))
    assert close(Q.grad, by_q, 1e-12)
    assert close(one.grad, by_v.sum(axis=0), 1e-12)


def test_a_layer_before_it_learns_what_the_machine_does(exported):
    """Torques of a linear controller are found that hold an arm still: those of gravity."""
    case = CASES["arm"]
    torch.manual_seed(0)
    controller = torch.nn.Linear(2, 2, dtype=torch.float64)
    q, v = torch.tensor([0.3, 0.4], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    descent = torch.optim.LBFGS(controller.parameters(), max_iter=50)

    def loss():
        descent.zero_grad()
        value = exported(case)(q, v, controller(q)).square().sum()
        value.backward()
        return value

    descent.step(loss)
    expected = pp.gravity_force(case.model, q.numpy())
    assert close(controller(q).detach(), expected, 1e-5)


def test_positions_of_points_are_arguments():
    arm = planar_arm()
    body = arm.bodies[-1].name
    place = np.array([0.5, 0.1, 0.0])
    f = pp.export(arm, J, to="torch", points=[pp.point(body)])
    q = np.array([0.3, 0.7])
    compiled = pp.compile(arm, J, backend="llvm")
    assert close(f(*tensors((q, place))), compiled(q, points=[pp.point(body, place)]), 1e-12)
    found = jacrev(f, 1)(*tensors((q, place)))
    for i, step in enumerate(STEP * np.eye(3)):
        ends = [compiled(q, points=[pp.point(body, place + s * step)]) for s in (1, -1)]
        assert close(found[..., i], (ends[0] - ends[1]) / (2 * STEP), 1e-8)


# -- what is refused -----------------------------------------------------------------------------


def test_wrong_arguments_are_named(exported):
    f, x = exported(CASES["arm"]), torch.zeros(2)
    for arguments, named, message in [
        ((x, x), {}, "needs T"),
        ((x, x, x, x), {}, "4 arguments for .*; expected q, v, T"),
        ((x, x), {"T": x, "q": x}, "q is given twice"),
        ((x, x, x), {"Tau": x}, "no argument 'Tau'; .*'T'"),
        ((torch.zeros(3), x, x), {}, r"q has shape \(3,\); expected \(\*batch, 2\) .* 'planar arm"),
        ((torch.zeros(3, 2), torch.zeros(4, 2), x), {}, r"do not broadcast: q \(3,\), v \(4,\)"),
        ((x, x.int(), x), {}, "v: expected a tensor of real numbers, got torch.int32"),
        ((x, x + 1j, x), {}, "v: expected a tensor of real numbers, got torch.complex64"),
        (([0.0, 0.0], x, x), {}, "q: expected a tensor, got list"),
        ((x, x, x.to("meta")), {}, r"T is on the device meta; .* CPU: pass T.cpu\(\)"),
    ]:
        with pytest.raises(pp.InputError, match=message):
            f(*arguments, **named)


def test_an_expression_without_any_value_is_refused():
    with pytest.raises(pp.SolveError, match="no value in any state of 'feather'"):
        pp.export(feather(), FORWARD, to="torch")


def test_without_torch_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(pp.BackendError, match=r"needs torch: pip install 'phipsi\[torch\]'"):
        pp.export(planar_arm(), Mass, to="torch")
