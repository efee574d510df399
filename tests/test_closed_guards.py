"""Machines with loops: what is still right is answered, what would be wrong is refused.

The machine is a four-bar in the plane of x and z: a crank, a coupler on it, and a rocker, the
coupler pinned to the end of the rocker. Its tree has three freedoms, the machine one.
"""

import inspect
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import phipsi as pp
from phipsi.dynamics.inverse import GRAVITY
from phipsi.dynamics.mass import MASS, MASS_INVERSE
from phipsi.operators import C, D, H, M, Mass, T, phi

HINGE = pp.joints.Revolute((0, -1, 0))  # lifts x towards z
G = 9.81
CRANK, COUPLER, ROCKER, GROUND = 0.5, 1.3, 0.9, 1.1  # lengths, m
MASSES = (1.0, 2.0, 1.5)
STILL = np.zeros(3)


def four_bar(
    lengths: tuple[float, ...] = (CRANK, COUPLER, ROCKER, GROUND), pinned: bool = True
) -> pp.Model:
    """Bars of even mass. q: the crank's angle, the coupler's against it, the rocker's."""
    crank, coupler, rocker, ground = lengths
    builder = pp.ModelBuilder("four-bar")
    for name, parent, place, length, mass in (
        ("crank", "world", 0.0, crank, MASSES[0]),
        ("coupler", "crank", crank, coupler, MASSES[1]),
        ("rocker", "world", ground, rocker, MASSES[2]),
    ):
        moment = mass * length**2 / 12
        inertia = {"mass": mass, "com": (length / 2, 0, 0), "inertia": (0, moment, moment)}
        builder.add_body(name, parent, HINGE, joint_name=f"{name} hinge", **inertia,
                         position=(place, 0, 0))  # fmt: skip
    builder.add_frame("end", "rocker", (rocker, 0, 0))
    if pinned:
        builder.add_closure("pin", "coupler", "end", HINGE, position=(coupler, 0, 0))
    return builder.build()


def coupled() -> pp.Model:
    """Two arms, the second turned by a cam on the first: y = 0.2 + 0.5 x + 0.3 x^2."""
    builder = pp.ModelBuilder("cam")
    for name, mass in (("first", 1.0), ("second", 2.0)):
        inertia = {"mass": mass, "com": (0.5, 0, 0), "inertia": (0, 0.1, 0.1)}
        builder.add_body(name, joint=HINGE, joint_name=name, **inertia)
    builder.add_coupling("profile", "second", "first", (0.2, 0.5, 0.3))
    return builder.build()


def angles(crank: float, lengths=(CRANK, COUPLER, ROCKER, GROUND)) -> np.ndarray:
    """The configuration of the four-bar at an angle of the crank: two circles that meet."""
    a, b, c, ground = lengths
    tip = a * np.array([math.cos(crank), math.sin(crank)])
    reach = np.array([ground, 0.0]) - tip
    distance = math.hypot(*reach)
    turn = math.acos((distance**2 + b**2 - c**2) / (2 * distance * b))
    coupler = math.atan2(reach[1], reach[0]) + turn
    end = tip + b * np.array([math.cos(coupler), math.sin(coupler)])
    rocker = math.atan2(end[1], end[0] - ground)
    return np.array([crank, coupler - crank, rocker])


def central(function, x: float, step: float = 1e-4):
    """The derivative by four points: its error is of the order of step^4."""
    near = (function(x + step) - function(x - step)) / (2 * step)
    far = (function(x + 2 * step) - function(x - 2 * step)) / (4 * step)
    return (4 * near - far) / 3


def one_freedom(model: pp.Model, curve, x: float, speed: float, tau: np.ndarray) -> float:
    """The acceleration of a machine on a curve q(x): Lagrange's equation of one coordinate.

    d/dt (m x') - m_x x'^2 / 2 = tau . q_x - U_x, m = q_x* Mass q_x. No Jacobian of a point
    and no force of a loop is in it.
    """

    def inertia(x: float) -> float:
        along = central(curve, x)
        return along @ pp.mass_matrix(model, curve(x)) @ along

    force = tau @ central(curve, x)
    force -= central(lambda x: float(pp.potential_energy(model, curve(x))), x)
    return (force - 0.5 * central(inertia, x, 1e-3) * speed**2) / inertia(x)


# -- what is refused -------------------------------------------------------------------

REFUSED = {
    **{
        f"forward_dynamics {method}": lambda model, q, n, method=method: pp.forward_dynamics(
            model, q, 0 * n, n, method=method
        )
        for method in ("FD1", "FD2", "FD3", "FD4", "cholesky")
    },
    "forward_dynamics with wrenches": lambda model, q, n: pp.forward_dynamics(
        model, q, 0 * n, n, {model.bodies[0].name: np.ones(6)}
    ),
    "forward_dynamics on a moved base": lambda model, q, n: pp.forward_dynamics(
        model, q, 0 * n, n, base_velocity=np.ones(6)
    ),
    "forward_dynamics_delayed": lambda model, q, n: pp.forward_dynamics_delayed(
        model, q, 0 * n, n, np.zeros((len(model.bodies), 6))
    ),
    "accelerations": lambda model, q, n: pp.accelerations(model, q, 0 * n, n),
    "mass_matrix_inverse": lambda model, q, n: pp.mass_matrix_inverse(model, q),
    "sample_velocity": lambda model, q, n: pp.sample_velocity(model, q),
    "sample_force": lambda model, q, n: pp.sample_force(model, q),
    "diagnose": lambda model, q, n: pp.diagnose(model, q),
    "operational_compliance": lambda model, q, n: pp.operational_compliance(
        model, q, model.bodies[0].name
    ),
    "operational_inertia": lambda model, q, n: pp.operational_inertia(
        model, q, model.bodies[0].name
    ),
    "simulate": lambda model, q, n: pp.simulate(model, q, duration=0.01),
    "simulate by a law": lambda model, q, n: pp.simulate(
        model, q, duration=0.01, control=pp.control.PD(1.0, 1.0, q)
    ),
    "simulate by a function": lambda model, q, n: pp.simulate(
        model, q, duration=0.01, control=lambda t, q, v: n
    ),
    "simulate dopri": lambda model, q, n: pp.simulate(model, q, duration=0.01, integrator="dopri"),
    "rollout": lambda model, q, n: pp.rollout(model, q, None, n, dt=1e-3, steps=3),
    "rollout by a law": lambda model, q, n: pp.rollout(
        model, q, None, pp.control.PD(1.0, 1.0, q), dt=1e-3, steps=3
    ),
    "forward_dynamics ahead": lambda model, q, n: pp.warmup(model, pp.forward_dynamics),
}
MACHINES = {"four-bar": four_bar(), "cam": coupled()}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_wrong_is_refused_with_loops_and_computed_without(machine, name):
    ones = np.ones(machine.nv)
    for _ in range(2):  # also when something has been compiled
        with pytest.raises(pp.ModelError) as caught:
            REFUSED[name](machine, machine.neutral(), ones)
        message = str(caught.value)
        loop = "closures 'pin'" if machine.closures else "couplings 'profile'"
        assert message.startswith(f"{name.split()[0]}: {machine.name!r} has loops ({loop})")
        assert "tree = model.opened()" in message
        pp.mass_matrix(machine, machine.neutral())
    tree = machine.opened()
    if name == "operational_inertia":  # a point of one freedom has none
        with pytest.raises(pp.SolveError):
            REFUSED[name](tree, tree.neutral(), ones)
    else:
        REFUSED[name](tree, tree.neutral(), ones)


def test_refusal_tells_what_the_equations_of_the_loops_are_made_of():
    said = []
    for model in MACHINES.values():
        with pytest.raises(pp.ModelError) as caught:
            pp.mass_matrix_inverse(model, model.neutral())
        said.append(str(caught.value))
    closed, cam = said
    assert "pp.jacobian_dot_v between its anchors" in closed
    assert "coupling" not in closed
    assert "a row of the derivatives of its equation" in cam
    assert "anchors" not in cam


def test_refusal_names_a_few_of_many_loops():
    builder = pp.ModelBuilder("net")
    builder.add_body("knot", joint=pp.joints.Free(), mass=1.0, inertia=(1, 1, 1))
    for i in range(9):
        builder.add_closure(f"string {i}", "world", "knot", pp.joints.Spherical())
    net = builder.build()
    with pytest.raises(pp.ModelError, match=r"closures 'string 0', .*'string 5', \.\.\.\)"):
        pp.mass_matrix_inverse(net, net.neutral())


def test_warmup_of_all_leaves_out_what_a_machine_with_loops_does_not_have():
    machine = four_bar()
    pp.warmup(machine, points=["end"])
    made = {str(x) for one in machine.functions.values() for x in getattr(one, "expressions", ())}
    assert {str(MASS), str(GRAVITY)} <= made and str(MASS_INVERSE) not in made


# -- what is right ---------------------------------------------------------------------

RIGHT = {
    "body_poses": lambda model, q, v, w: pp.body_poses(model, q),
    "body_velocities": lambda model, q, v, w: pp.body_velocities(model, q, v),
    "kinetic_energy": lambda model, q, v, w: pp.kinetic_energy(model, q, v),
    "potential_energy": lambda model, q, v, w: pp.potential_energy(model, q),
    "momentum": lambda model, q, v, w: pp.momentum(model, q, v),
    "jacobian": lambda model, q, v, w: pp.jacobian(model, q, ["coupler", "end"]),
    "jacobian_dot_v": lambda model, q, v, w: pp.jacobian_dot_v(model, q, v, "end"),
    "mass_matrix": lambda model, q, v, w: pp.mass_matrix(model, q),
    "bias_force": lambda model, q, v, w: pp.bias_force(model, q, v),
    "gravity_force": lambda model, q, v, w: pp.gravity_force(model, q),
    "inverse_dynamics": lambda model, q, v, w: pp.inverse_dynamics(model, q, v, w),
    "integrate": lambda model, q, v, w: pp.integrate(model, q, v),
    "difference": lambda model, q, v, w: pp.difference(model, q, v),
    "compile": lambda model, q, v, w: pp.compile(model, H @ phi @ M @ phi.T @ H.T)(q),
    "compile an inverse": lambda model, q, v, w: pp.compile(model, Mass.inv @ (T - C))(q, v, w),
    "as_matrix": lambda model, q, v, w: pp.as_matrix(model, H @ phi @ M @ phi.T @ H.T, q),
    "as_matrix of an inverse": lambda model, q, v, w: pp.as_matrix(model, Mass.inv, q),
    "export": lambda model, q, v, w: np.array(
        pp.export(model, D, to="sympy", simplify=False).subs({f"q{i}": x for i, x in enumerate(q)}),
        dtype=float,
    ),
}
# What takes a machine and computes no motion of it: who looks at loops there.
ELSEWHERE = {
    "Function": "what compile returns",
    "Trajectory": "states that someone has; what it derives of them is right",
    "check_letter": "operators are those of the tree, as compile's",
    "derive": "operators are those of the tree, as compile's",
    "draw_blocks": "operators are those of the tree, as compile's",
    "draw_dataflow": "programs are those of the tree, as compile's",
    "explain": "operators are those of the tree, as compile's",
    "save_urdf": "test_save_urdf.py: URDF has no loops",
    "view": "test_view_drawing.py, test_view.py: loops are drawn",
    "warmup": "below, and `forward_dynamics ahead` above",
}


def test_every_function_that_takes_a_machine_is_looked_at():
    """So that none that is added passes unseen."""
    taking = set()
    for name in pp.__all__:
        if callable(member := getattr(pp, name)):
            try:
                parameters = inspect.signature(member).parameters.values()
            except ValueError:  # an exception
                continue
            if any(re.search(r"\bModel\b", str(x.annotation)) for x in parameters):
                taking.add(name)
    refused, right = ({name.split()[0] for name in group} for group in (REFUSED, RIGHT))
    assert len(taking) > 20
    assert taking == refused | right | set(ELSEWHERE)
    assert not refused & right and not set(ELSEWHERE) & (refused | right)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_that_of_the_same_bars_unpinned(name):
    q, v, w = np.random.default_rng(3).normal(size=(3, 3))
    closed = RIGHT[name](four_bar(), q, v, w)
    np.testing.assert_array_equal(closed, RIGHT[name](four_bar(pinned=False), q, v, w))


def test_inverse_dynamics_of_a_loop_makes_its_motion():
    """On the curve of the loop the power of these forces is the rate of the energy."""
    model, x, speed, rate = four_bar(), 0.7, 1.3, -0.4

    def state(t: float) -> tuple[np.ndarray, np.ndarray]:
        crank, now = x + speed * t + 0.5 * rate * t * t, speed + rate * t
        return angles(crank), now * central(angles, crank)

    def energy(t: float) -> float:
        q, v = state(t)
        return float(pp.kinetic_energy(model, q, v) + pp.potential_energy(model, q))

    q, v = state(0.0)
    vdot = central(lambda t: state(t)[1], 0.0, 1e-3)
    power = pp.inverse_dynamics(model, q, v, vdot) @ v
    assert power == pytest.approx(central(energy, 0.0, 1e-3), rel=1e-7)


# -- the way to go on ------------------------------------------------------------------


def equations(model: pp.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and A_dot v as the refusal says: of pins in a plane, and of couplings."""
    tree, rows, rates = model.opened(), [], []
    for closure in model.closures:
        ends = [
            pp.point(model.bodies[anchor.body].name, anchor.placement.position)
            for anchor in (closure.first, closure.second)
        ]
        (of_first, of_second) = pp.jacobian(tree, q, ends).reshape(2, 6, -1)
        first, second = pp.jacobian_dot_v(tree, q, v, ends).reshape(2, 6)
        held = [0, 2, 3, 4, 5]  # all but the turning about y
        rows.append((of_second - of_first)[held])
        rates.append((second - first)[held])
    for coupling in model.couplings:
        curve = np.polynomial.Polynomial(coupling.coefficients)
        x, speed = (y[model.joints[coupling.leader].v][0] for y in (q - coupling.centre, v))
        row = np.zeros((1, model.nv))
        row[0, model.joints[coupling.leader].v] = curve.deriv()(x)
        row[0, model.joints[coupling.joint].v] = -1.0
        rows.append(row)
        rates.append([curve.deriv(2)(x) * speed**2])
    return np.concatenate(rows), np.concatenate(rates)


def solve(
    model: pp.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """vdot and the forces of the loops, the least where they are not unique."""
    tree, (A, rate) = model.opened(), equations(model, q, v)
    mass, bias = pp.mass_matrix(tree, q), pp.bias_force(tree, q, v)
    matrix = np.block([[mass, -A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.lstsq(matrix, np.concatenate([tau - bias, -rate]), rcond=1e-12)[0]
    return x[: model.nv], x[model.nv :]


@pytest.mark.parametrize("crank", [0.3, 1.1, 2.0])
def test_way_to_go_on_gives_the_equation_of_one_freedom(crank):
    model, tau = four_bar(), np.array([1.0, -2.0, 0.5])
    q, along = angles(crank), central(angles, crank)
    vdot, _ = solve(model, q, 1.7 * along, tau)
    assert vdot[0] == pytest.approx(one_freedom(model, angles, crank, 1.7, tau), rel=1e-6)


@pytest.mark.parametrize("speed", [0.0, 2.5])
def test_way_to_go_on_gives_the_parallelogram_of_the_textbook(speed):
    """The coupler does not turn: (I_crank + I_rocker + m l^2) x'' = tau - g cos(x) sum m s."""
    sides, x = (0.6, 1.1, 0.6, 1.1), 0.8
    length = sides[0]
    turning = (MASSES[0] + MASSES[2]) * length**2 / 3 + MASSES[1] * length**2
    weight = G * math.cos(x) * length * (MASSES[0] / 2 + MASSES[2] / 2 + MASSES[1])
    expected = (3.0 - weight) / turning
    q, v, tau = np.array([x, -x, x]), speed * np.array([1.0, -1.0, 1.0]), np.array([3.0, 0, 0])
    vdot, _ = solve(four_bar(sides), q, v, tau)
    assert_allclose(vdot, expected * np.array([1.0, -1.0, 1.0]), rtol=1e-10)


def test_way_to_go_on_gives_the_cam_of_one_freedom():
    model, tau = coupled(), np.array([0.5, -1.0])

    def curve(x: float) -> np.ndarray:
        return np.array([x, 0.2 + 0.5 * x + 0.3 * x * x])

    x, speed = 0.4, -1.2
    vdot, _ = solve(model, curve(x), speed * central(curve, x), tau)
    assert vdot[0] == pytest.approx(one_freedom(model, curve, x, speed, tau), rel=1e-6)


def test_forces_of_the_loops_as_wrenches_on_the_tree_give_the_same_motion():
    """The forces found, put on both ends of the pin, are all that the tree lacks."""
    model, tau = four_bar(), np.array([1.0, 0.0, 0.0])
    q, v = angles(0.9), 0.8 * central(angles, 0.9)
    vdot, force = solve(model, q, v, tau)
    wrench = np.zeros(6)
    wrench[[0, 2, 3, 4, 5]] = force
    ends = {pp.point("coupler", (COUPLER, 0, 0)): -wrench, "end": wrench}
    assert_allclose(pp.forward_dynamics(model.opened(), q, v, tau, ends), vdot, rtol=1e-9)
    assert np.linalg.norm(vdot - pp.forward_dynamics(model.opened(), q, v, tau)) > 1.0


def test_compliance_of_the_loop_follows_from_that_of_its_tree():
    """C_pp - C_pe D* (D C_ee D*)^+ D C_ep; of one freedom it is J q_x q_x* J* / m."""
    model, q, along = four_bar(), angles(1.1), central(angles, 1.1)
    point = pp.point("coupler", (0.4, 0, 0.2))
    ends = [pp.point("coupler", (COUPLER, 0, 0)), "end"]
    C = pp.operational_compliance(model.opened(), q, [point, *ends])
    held = np.eye(6)[[0, 2, 3, 4, 5]]
    D = np.hstack([-held, held])
    C_pe, C_ee = C[:6, 6:], C[6:, 6:]
    found = C[:6, :6] - C_pe @ D.T @ np.linalg.pinv(D @ C_ee @ D.T, rcond=1e-10) @ D @ C_pe.T
    moved = pp.jacobian(model, q, point) @ along
    inertia = along @ pp.mass_matrix(model, q) @ along
    assert_allclose(found, np.outer(moved, moved) / inertia, atol=1e-7)


def test_way_to_go_on_keeps_energy_and_loop_over_time():
    """Runge and Kutta on the solution: the coupler's end stays on the rocker's."""
    model = four_bar()
    q, v, h = angles(0.9), np.zeros(3), 5e-3

    def rate(q, v):
        return v, solve(model, q, v, STILL)[0]

    def energy(q, v):
        return float(pp.kinetic_energy(model, q, v) + pp.potential_energy(model, q))

    start = energy(q, v)
    for _ in range(60):
        k1 = rate(q, v)
        k2 = rate(q + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
        k3 = rate(q + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
        k4 = rate(q + h * k3[0], v + h * k3[1])
        q, v = (
            x + h / 6 * (a + 2 * b + 2 * c + d)
            for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True)
        )
    assert pp.kinetic_energy(model, q, v) > 5.0  # it has moved
    assert energy(q, v) == pytest.approx(start, abs=5e-5)
    assert_allclose(q, angles(q[0]), atol=1e-6)
