"""Functions compiled ahead of their first call."""

import machines
import pytest
from test_function import count_compilations

import phipsi as pp
from phipsi.errors import InputError

pytestmark = pytest.mark.usefixtures("as_for_users")


def test_nothing_is_compiled_after_it(monkeypatch):
    model = pp.examples.planar_arm(2)
    q, v = model.neutral() + 0.1, [0.1, 0.2]
    pp.warmup(model, points=["link2"])
    compiled = count_compilations(monkeypatch)
    pp.forward_dynamics(model, q, v, v)
    pp.inverse_dynamics(model, q, v, v)
    pp.accelerations(model, q, v, v)
    pp.bias_force(model, q, v)
    pp.gravity_force(model, q)
    pp.mass_matrix(model, q)
    pp.mass_matrix_inverse(model, q)
    pp.body_poses(model, q)
    pp.body_velocities(model, q, v)
    pp.kinetic_energy(model, q, v)
    pp.potential_energy(model, q)
    pp.momentum(model, q, v)
    pp.jacobian(model, q, ["link2"])
    pp.jacobian_dot_v(model, q, v, ["link2"])
    pp.operational_compliance(model, q, ["link2"])
    assert not compiled


def test_only_what_is_named(monkeypatch):
    compiled = count_compilations(monkeypatch)
    pp.warmup(pp.examples.planar_arm(2), pp.mass_matrix, pp.gravity_force)
    assert len(compiled) == 2


def test_machines_that_are_singular_at_first():
    model = machines.rbdl_zyx()  # at rest its hinges do not align; massless bodies resist nothing
    pp.warmup(model, pp.mass_matrix_inverse, pp.forward_dynamics)


def test_what_is_refused():
    model = pp.examples.planar_arm(2)
    with pytest.raises(InputError, match="model: expected a Model"):
        pp.warmup("ur5")
    with pytest.raises(InputError, match="difference is no such function"):
        pp.warmup(model, pp.difference)
    with pytest.raises(InputError, match="is no such function"):
        pp.warmup(model, [pp.mass_matrix])
    with pytest.raises(InputError, match="jacobian needs points"):
        pp.warmup(model, pp.jacobian)
