"""What has no value raises the same SolveError by machine code as by the interpreter."""

import numpy as np
import pytest
from expressions import SINGULAR, W, s
from test_lowering_market import arguments, situation

import phipsi as pp
from phipsi import joints
from phipsi.operators import C, D, Mass, T

PATHS = {"unrolled": True, "rolled": False}
LEAVES = {
    "revolute": joints.Revolute((0, 1, 0)),
    "prismatic": joints.Prismatic((1, 0, 0)),
    "universal": joints.Universal((1, 0, 0), (0, 1, 0)),
    "spherical": joints.Spherical(),
    "Euler": joints.SphericalEuler("xyz"),
    "cylindrical": joints.Cylindrical((0, 0, 1)),
    "planar": joints.Planar((0, 0, 1)),
    "free": joints.Free(),
}


def massless_finger(joint):
    builder = pp.ModelBuilder("massless finger", strict=False)
    solid = {"mass": 1.0, "com": (1, 0, 0), "inertia": np.eye(3)}
    builder.add_body("arm", "world", joints.Revolute((0, 1, 0)), **solid)
    builder.add_body("finger", "arm", joint, mass=0.0, position=(1, 0, 0))
    return builder.build()


def complaint(model, expression, given, **how):
    with pytest.raises(pp.SolveError) as caught:
        pp.compile(model, expression, **how)(**given)
    return str(caught.value)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("path", PATHS)
def test_a_body_without_mass_is_named(leaf, path):
    model = massless_finger(LEAVES[leaf])
    q = model.neutral() + (0.3 if leaf == "Euler" else 0.0)
    v = np.full(model.nv, 0.1)
    asked = [(Mass.inv @ (T - C), {"q": q, "v": v, "T": v}), (D.inv, {"q": q})]
    for expression, given in asked:
        by_hand = complaint(model, expression, given, backend="numpy")
        code = complaint(model, expression, given, backend="llvm", unroll=PATHS[path])
        assert code == by_hand
        assert "finger" in by_hand


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("path", PATHS)
def test_expressions_that_are_singular_on_every_machine_raise(name, path):
    machine, expression = "serial_revolute", SINGULAR[name]
    model, given = situation(machine)[0], arguments(machine, [expression])
    by_hand = complaint(model, expression, given, backend="numpy")
    code = complaint(model, expression, given, backend="llvm", unroll=PATHS[path])
    assert code == by_hand


@pytest.mark.parametrize("path", PATHS)
def test_a_root_of_the_whole_machine_is_watched_however_long_its_code(path):
    """Beyond `once.PIECE` nodes, where rolled code is cut."""
    model, rng = pp.chain(20), np.random.default_rng(3)
    A = rng.normal(size=(20, 20))
    given = {"q": model.neutral(), "s": rng.normal(size=20)}
    sound, indefinite = A @ A.T + np.eye(20), A + A.T
    code = pp.compile(model, W.sqrt @ s, backend="llvm", unroll=PATHS[path])
    expected = np.linalg.cholesky(sound) @ given["s"]
    np.testing.assert_allclose(code(**given, W=[sound]), expected, rtol=1e-12)
    by_hand = complaint(model, W.sqrt @ s, given | {"W": [indefinite]}, backend="numpy")
    with pytest.raises(pp.SolveError) as caught:
        code(**given, W=[indefinite])
    assert str(caught.value) == by_hand
