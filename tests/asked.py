"""Every function of `phipsi.dynamics` with arguments that suit a machine, by name."""

import machines
import numpy as np

import phipsi as pp
from phipsi import dynamics

POINTS = {"jacobian", "jacobian_dot_v", "operational_compliance", "operational_inertia"}
SPEEDS = {
    *("accelerations", "bias_force", "body_velocities", "forward_dynamics", "inverse_dynamics"),
    *("forward_dynamics_delayed", "jacobian_dot_v", "kinetic_energy", "momentum"),
}
FORCES = {"accelerations", "forward_dynamics", "forward_dynamics_delayed"}
LOADED = {*FORCES, "inverse_dynamics"}
MOVED = {*LOADED, "bias_force"}  # by a base with velocity and acceleration
NAMES = sorted({*dynamics.__all__} - {"warmup", "integrate", "difference"})


def function(name):
    return getattr(pp, name)


def arguments(name, model, batch=(), seed=0):
    """What the function needs, random, each array with the same batch."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch))
    states = [machines.random_state(model, rng) for _ in range(count)]
    q, v = (
        (np.array([x[i] for x in states]).reshape(*batch, -1) for i in (0, 1))
        if count
        else (
            np.zeros((*batch, model.nq)),
            np.zeros((*batch, model.nv)),
        )
    )
    given = {"q": q}
    if name in SPEEDS:
        given["v"] = v
    if name in FORCES:
        given["tau"] = rng.normal(size=(*batch, model.nv))
    if name == "inverse_dynamics":
        given["vdot"] = rng.normal(size=(*batch, model.nv))
    if name == "forward_dynamics_delayed":
        given["velocities"] = rng.normal(size=(*batch, len(model.bodies), 6))
    if name in POINTS:
        given["points"] = [model.bodies[-1].name, model.bodies[0].name]
    return given


def options(name, model, batch=(), seed=1):
    """What may act on the machine beside: wrenches at points, a moved base."""
    rng = np.random.default_rng(seed)
    given = {}
    if name in LOADED:
        names = model.bodies[-1].name, model.bodies[0].name
        given["external"] = {place: rng.normal(size=(*batch, 6)) for place in names}
    if name in MOVED | {"body_velocities"}:
        given["base_velocity"] = rng.normal(size=(*batch, 6))
    if name in MOVED:
        given["base_acceleration"] = rng.normal(size=(*batch, 6))
    return given
