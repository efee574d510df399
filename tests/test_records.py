"""Programs and functions found on disk: the same numbers, and nothing is made again."""

import dataclasses
import os
import subprocess
import sys

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from symbols import A, k, x

import phipsi as pp
from phipsi import joints
from phipsi.backends import looped
from phipsi.backends.disk import records
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.identity import of_expressions, of_machine
from phipsi.operators import C, J, Mass, T, phi, psi, vector
from phipsi.simulate.control import PD, Feedback, Law
from phipsi.simulate.forces import Forces
from phipsi.simulate.methods import method_of
from phipsi.simulate.stepping import StepJob

FALL, w = Mass.inv @ (T - C), vector("w", "point")

START = """
import sys
import numpy as np
import phipsi as pp
from phipsi.backends import job, llvm, looped, machine_code
from phipsi import compile as _
from phipsi.simulate import stepping
from phipsi.operators import C, J, Mass, T, U

def forbidden(*arguments, **named):
    raise AssertionError("made again")

if sys.argv[1] == "warm":
    sys.modules["phipsi.compile"].lower_expressions = forbidden
    job.trace = forbidden
    llvm._parsed = forbidden
    looped.Visit = forbidden
    stepping._Recorder = forbidden
FALL = Mass.inv @ (T - C)
arm = pp.examples.puma560()
q, v, tau = np.random.default_rng(1).normal(size=(3, 11, 6))
functions = [
    pp.compile(arm, FALL),
    pp.compile(arm, [Mass, U]),
    pp.compile(arm, FALL, dtype=np.float32),
    pp.compile(arm, FALL, unroll=False),
    pp.compile(arm, Mass @ T + C, unroll=False),
    pp.compile(arm, FALL, parameters=["link3.mass"]),
    pp.compile(arm, FALL).jvp,
    pp.compile(arm, J),
]
arguments = [(q, v, tau), (q,), (q, v, tau), (q, v, tau), (q, v, tau), (q, v, tau, 3.0),
             (q, v, tau, v, v, v), (q,)]
for function, given in zip(functions, arguments):
    named = {"points": ["link6"]} if "points" in function.inputs else {}
    results = function(*given, **named)
    for result in results if isinstance(results, tuple) else (results,):
        print(np.asarray(result, float).tobytes().hex())
for law, integrator in ((None, "midpoint"), (pp.control.PD(5.0, 1.0, gravity=True), "rk4")):
    motion = pp.rollout(arm, q, 0.1 * v, law, 1e-3, 3, integrator=integrator)
    print(motion.q.tobytes().hex(), motion.v.tobytes().hex())
"""


def run(folder, how):
    environment = {**os.environ, "PHIPSI_CACHE": str(folder), "PHIPSI_BACKEND": "llvm"}
    command = [sys.executable, "-c", START, how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_second_process_makes_nothing_again(tmp_path):
    """Unrolled and rolled, in both precisions, with parameters and points, derivatives, steps."""
    cold = run(tmp_path, "cold")
    kinds = {name.split("-")[0] for name in os.listdir(tmp_path) if name.endswith(".phipsi")}
    assert {"function", "program", "pieces", "object"} <= kinds
    assert run(tmp_path, "warm") == cold


def test_what_has_no_key_is_made_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: b"known")
    keys = [None, (1,), None, (1,), (2,), (1,)]
    found = [records.kept("number", key, lambda n=n: n) for n, key in enumerate(keys)]
    assert found == [0, 1, 2, 1, 4, 1]


def test_nothing_is_kept_where_nobody_knows_the_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: None)
    assert [records.kept("number", (1,), lambda n=n: n) for n in (1, 2)] == [1, 2]
    assert not any(tmp_path.iterdir())


def test_errors_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: b"known")

    def fail():
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            records.kept("number", (1,), fail)
    assert records.kept("number", (1,), lambda: "some") == "some"
    assert records.kept("number", (1,), fail) == "some"


def test_a_record_that_cannot_be_read_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: b"known")
    records.kept("number", (1,), lambda: 1)
    monkeypatch.setattr(records, "decode", lambda payload: 1 / 0)
    assert records.kept("number", (1,), lambda: 2) == 2


# -- what makes two things the same ------------------------------------------------------------

DIFFERENT = [
    FALL,
    Mass.inv @ (C - T),
    Mass,
    Mass.inv,
    phi,
    psi,
    phi.T,
    2 * phi,
    2.5 * phi,
    k * phi,
    A @ phi,
    A.T @ phi,
    phi @ x,
    J(pp.point("tool")),
    J(pp.point("tool", (0, 0, 0.1))),
    J(pp.point("hand")),
    J,
]


def test_expressions_are_told_apart():
    digests = [of_expressions((x,)) for x in DIFFERENT]
    assert None not in digests and len(set(digests)) == len(DIFFERENT)
    assert of_expressions((phi, psi)) != of_expressions((psi, phi))
    assert of_expressions((Mass.inv @ (T - C),)) == of_expressions((FALL,))


def changed(model):
    """Machines that differ in one number or name."""
    yield dataclasses.replace(model, gravity=(0.0, 0.0, -9.8))
    yield dataclasses.replace(model, base_inertia=model.bodies[0].inertia)
    for i, body in enumerate(model.bodies):
        inertia = body.inertia
        others = [
            dataclasses.replace(inertia, mass=np.nextafter(inertia.mass, 9e9).item()),
            dataclasses.replace(inertia, com=(*inertia.com[:2], inertia.com[2] + 1e-9)),
            dataclasses.replace(inertia, rotational=((9.0, 0.0, 0.0),) * 3),
        ]
        for other in others:
            bodies = list(model.bodies)
            bodies[i] = dataclasses.replace(body, inertia=other)
            yield dataclasses.replace(model, bodies=tuple(bodies))
    for i, joint in enumerate(model.joints):
        moved = dataclasses.replace(joint.placement, position=(9.0, 9.0, 9.0))
        kind = joints.Helical((0.0, 0.0, 1.0), 0.3)
        for change in (
            {"placement": moved},
            {"rotor_inertia": joint.rotor_inertia + 1e-9},
            {"gear_ratio": joint.gear_ratio + 1.0},
            {"name": joint.name + "x"},
            {"kind": kind},
        ):
            several = list(model.joints)
            several[i] = dataclasses.replace(joint, **change)
            yield dataclasses.replace(model, joints=tuple(several))


def test_machines_are_told_apart_by_every_number():
    model = machines.MARKET["mimics"]()
    digests = [of_machine(x) for x in (model, *changed(model))]
    assert None not in digests and len(set(digests)) == len(digests)


@settings(max_examples=20, deadline=None)
@given(machines.machines(max_bodies=4))
def test_equal_machines_are_the_same(model):
    again = dataclasses.replace(model, name="another", report=("a remark",))
    assert of_machine(model) == of_machine(again)


def swing(law=None, integrator="rk4", losses=True, limits=True, kind=None, **numbers):
    """What the record of a machine's steps is found by."""
    effort = numbers.pop("effort", 5.0)
    builder = pp.ModelBuilder("link")
    how = {"damping": 0.1, "friction": 0.2, "stiffness": 3.0, "rest": 0.4, **numbers}
    limit = pp.Limits(effort=effort)
    kind = kind or joints.Revolute()
    builder.add_body("link", joint=kind, mass=1.0, com=(1, 0, 0), limits=limit, **how)
    model = builder.build()
    return StepJob(model, method_of(integrator, model), Forces(model, law, losses, limits)).key


def test_steps_are_told_apart_by_every_number_that_is_in_their_code():
    different = [
        swing(),
        swing(PD(1.0, 1.0)),
        swing(PD(1.0, 1.0, gravity=True)),
        swing(Law(T, T=[1.0])),
        swing(Law(2 * T, T=[1.0])),
        swing(Law(T, T=Feedback(1.0))),
        *(swing(Law(J(pp.point("link", (x, 0, 0))).T @ w, w=np.ones(6))) for x in (0.1, 0.2)),
        swing(integrator="midpoint"),
        swing(losses=False),
        swing(limits=False),
        *(swing(**{name: 1.5}) for name in ("damping", "friction", "stiffness", "rest", "effort")),
    ]
    assert None not in different
    assert len(set(map(digest, different))) == len(different)
    assert digest(swing()) == digest(swing())
    assert digest(swing(PD(1.0, 1.0))) == digest(swing(PD(2.0, 3.0, [0.1]))), "numbers of a law"


def test_steps_of_what_nobody_can_tell_have_no_record():
    class Mine(PD):
        pass

    assert swing(kind=joints.Custom(joints.Revolute().transform, 1)) is None
    assert swing(Mine(1.0, 1.0)) is None


def test_joints_of_functions_cannot_be_told():
    assert of_machine(machines.random_machine(3, 3, [machines.custom])) is None


def with_joint(kind):
    builder = pp.ModelBuilder("one")
    builder.add_body("a", joint=kind, mass=1.0, com=(0.5, 0, 0), inertia=np.eye(3))
    return builder.build()


def screw(pitch):
    """A class of the user's, of the same name and text whatever it does."""

    @dataclasses.dataclass(frozen=True)
    class Screw(joints.JointKind):
        nq, nv = 1, 1

        def transform(self, q):
            R, _ = joints.Revolute().transform(q)
            return R, [0.0, 0.0, pitch * q[0]]

        def motion_map(self, q):
            return [[0.0], [0.0], [1.0], [0.0], [0.0], [pitch]]

    return Screw()


def called_alike(pitch):
    """A function of the user's whose text is not its address."""

    class Pose:
        def __call__(self, q):
            return screw(pitch).transform(q)

        def __repr__(self):
            return "Pose()"

    return joints.Custom(Pose(), 1)


@pytest.mark.parametrize("kind", [screw, called_alike])
@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
def test_joints_of_the_users_are_not_taken_for_others_of_their_name(
    tmp_path, monkeypatch, kind, unroll
):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: b"known")
    for pitch in (1.0, 3.0):
        looped._programs.clear()
        model = with_joint(kind(pitch))
        assert of_machine(model) is None
        found = pp.compile(model, Mass, unroll=unroll, backend="llvm")([0.3])
        assert np.allclose(found, 1.25 + pitch**2)
