"""Machine code, unrolled and rolled, against Pinocchio on real robots; how that of one is built."""

import numpy as np
import pytest
from peers import pinocchio_bridge
from peers.projected import BIAS, FORWARD, INVERSE, MASS
from peers.robots import FOLDER, read
from peers.test_dynamics_pinocchio import check
from test_kernel import FRAME, frames, on_linux, on_x86, task_of, undefined_symbols

import phipsi as pp
from phipsi.backends import llvm
from phipsi.backends.kernel import PART, write_kernel
from phipsi.backends.llvm import Target
from phipsi.backends.partition import Partition
from phipsi.operators import C, Mass, T

UR5 = "ur_description/urdf/ur5_robot.urdf"
PANDA = "panda_description/urdf/panda.urdf"  # its fingers follow each other
SOLO = "solo_description/robots/solo12.urdf"
G1 = "g1_description/urdf/g1_29dof_rev_1_0.urdf"
TALOS = "talos_data/robots/talos_full_v2.urdf"  # its grippers have joints that follow
ROBOTS = [(UR5, "fixed"), (UR5, "free"), (PANDA, "fixed"), (SOLO, "free"), (G1, "free")]
ROMEO = "romeo_description/urdf/romeo.urdf"
BATCH = 11  # a whole tile of eight states, and a remainder


def named(entry):
    return f"{entry[0].split('/')[-1][:-5]}-{entry[1]}"


def situation(file, base):
    """(model, peer, q, v, a vector of the size of the speeds), with a batch."""
    model, peer = read(file, base)
    rng = np.random.default_rng(23)
    q = np.array([model.random(rng) for _ in range(BATCH)])
    return model, peer, q, *rng.normal(size=(2, BATCH, model.nv))


def by_state(theirs, *arrays):
    """What Pinocchio says, one state after the other."""
    return np.array([theirs(*x) for x in zip(*arrays, strict=True)])


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("robot", [*ROBOTS, (TALOS, "free")], ids=named)
def test_dynamics_of_real_robots(robot, unroll):
    """Forward and inverse dynamics, bias, mass matrix and its inverse, of a batch and alone."""
    model, peer, q, v, x = situation(*robot)
    expressions = [FORWARD, INVERSE, BIAS, MASS]
    if robot[0] != TALOS:  # whose dense inverse takes long to compile
        expressions.append(MASS.inv)
    function = pp.compile(model, expressions, backend="llvm", unroll=unroll)
    given = {"q": q, "v": v, "force": x, "vdot": x}
    results = function(**given)
    assert function.info().path == ("unrolled" if unroll else "rolled")
    masses = by_state(peer.mass_matrix, q)
    right = {
        "forward dynamics": by_state(peer.forward_dynamics, q, v, x),
        "inverse dynamics": by_state(peer.inverse_dynamics, q, v, x),
        "bias": by_state(peer.bias, q, v),
        "mass matrix": masses,
        "its inverse": np.linalg.inv(masses),
    }
    for (name, theirs), ours in zip(right.items(), results, strict=False):
        check(name, ours, theirs)
    for i in (0, 7, BATCH - 1):
        alone = function(**{name: value[i] for name, value in given.items()})
        assert all(np.array_equal(one, ours[i]) for one, ours in zip(alone, results, strict=True))


@pytest.mark.parametrize("robot", [*ROBOTS, (TALOS, "fixed")], ids=named)
def test_functions_of_dynamics_on_real_robots(robot):
    """As a user calls them: for a batch and for single states, the first time and later."""
    model, peer, q, v, x = situation(*robot)
    asked = {
        "forward_dynamics": ((q, v, x), peer.forward_dynamics),
        "inverse_dynamics": ((q, v, x), peer.inverse_dynamics),
        "bias_force": ((q, v), peer.bias),
        "gravity_force": ((q,), peer.gravity),
        "mass_matrix": ((q,), peer.mass_matrix),
    }
    for name, (arrays, theirs) in asked.items():
        function, right = getattr(pp, name), by_state(theirs, *arrays)
        for _ in range(2):
            check(name, function(model, *arrays, backend="llvm"), right)
            for i in (0, BATCH - 1):
                alone = function(model, *(x[i] for x in arrays), backend="llvm")
                check(f"{name}, alone", alone, right[i])


@pytest.mark.parametrize("unroll", [None, False], ids=["unrolled", "rolled"])
@pytest.mark.parametrize(
    ("mimic", "complaint"),
    [
        ("enforce", "it hardly resists the motion of joint 'RHand'"),
        ("independent", "the articulated inertia D of joint '"),
    ],
)
def test_a_robot_with_massless_bodies_is_refused_in_one_direction_only(mimic, complaint, unroll):
    """24 bodies of Romeo weigh nothing: forces have no answer, motions have."""
    model = pp.load(FOLDER / ROMEO, mimic=mimic)
    rng = np.random.default_rng(1)
    q = np.array([model.random(rng) for _ in range(BATCH)])
    v, x = rng.normal(size=(2, BATCH, model.nv))
    complaints = set()
    for how in ({"backend": "numpy"}, {"backend": "llvm", "unroll": unroll}):
        function = pp.compile(model, FORWARD, **how)
        for given in ((q, v, x), (q[0], v[0], x[0]), (q, v, x)):
            with pytest.raises(pp.SolveError) as caught:
                function(*given)
            complaints.add(str(caught.value))
    assert len(complaints) == 1 and complaint in complaints.pop()
    peer = pinocchio_bridge.from_urdf(model, FOLDER / ROMEO)
    force = pp.compile(model, INVERSE, backend="llvm", unroll=unroll)(q, v, x)
    check("inverse dynamics", force, by_state(peer.inverse_dynamics, q, v, x))


# -- how code of a large robot is built ------------------------------------------------------


@pytest.fixture(scope="module", params=[Mass.inv @ (T - C), Mass.inv], ids=str)
def task(request):
    """Forward dynamics, and the inverse mass matrix, of Talos with all its 50 speeds."""
    return task_of(pp.load(FOLDER / TALOS, base="free", mimic="independent"), request.param)


def test_parts_of_a_large_robot_are_bounded(task):
    parts = Partition(task, PART).parts
    assert len(parts) > 10
    assert all(len(part) <= PART for part in parts)


@on_x86
def test_no_function_of_a_large_robot_takes_much_of_the_stack(task):
    kernel = write_kernel(task, 8)
    found = frames(llvm.assembly(kernel.text, Target.host()))
    assert len(found) > kernel.parts
    assert max(found.values()) <= FRAME


@on_linux
def test_code_of_a_large_robot_calls_nobody_else(task):
    file = llvm.compile_object(write_kernel(task, 2).text, Target.host())
    assert undefined_symbols(file) == set()
