"""`pp.diagnose`: is this number right? Errors of a machine found by physical intuition.

Every step of these algorithms has a physical meaning [001 abstract], so a wrong number shows:
an inertia that is negative, a body that feels lighter than it is, a motion that does not ask
for the forces that made it. Each measure looks at one such thing at every body or joint, and
names the worst.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from phipsi.dynamics.loops import check_open
from phipsi.errors import InputError, SolveError
from phipsi.explain.diagnosing import inertias, joints
from phipsi.explain.diagnosing.bodies import bodies_of, by_the_book, by_the_program
from phipsi.explain.diagnosing.conditioning import conditioning, volume
from phipsi.explain.diagnosing.diagnosis import Diagnosis, Finding
from phipsi.explain.diagnosing.laws import FACTORS, Machine, factor_laws, laws
from phipsi.explain.diagnosing.newton import newton_laws
from phipsi.explain.diagnosing.verdicts import refused, unknown
from phipsi.function.checks import check_backend
from phipsi.model.configuration import check_configuration, check_speeds
from phipsi.model.model import Model


def diagnose(
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    seed: int = 0,
    backend: str | None = None,
) -> Diagnosis:
    """Whether the numbers of a machine can be trusted at a state, and if not, which body is why.

    Looked at, in O(N):

    - own inertias: M >= 0, of moments that a body can have, beside its shapes;
    - loads: how little of what a body carries is its own;
    - joint maps: whether the speeds of each joint are independent (gimbal lock);
    - pivots: D = H P H* + Jm > 0, and how much of what it was made of has cancelled;
    - articulated inertias: symmetric, M <= P <= R;
    - gains: the Joseph form, tau_bar P = tau_bar P tau_bar* + G Jm G*;
    - Riccati steps: P(k) = M(k) + sum phi (tau_bar P) phi*, body by body;
    - Mass = (I + H phi K) D (I + H phi K)* and its factors undone, by random vectors;
    - Newton's law: accelerations of bodies, what joints hold of weights, and what a motion
      asks of them, beside the rates of momentum; no Coriolis term is in these;
    - Mass Mass^-1 = I, ID(FD(tau)) = tau and the kinetic energy, by random vectors;
    - conditioning: extreme eigenvalues of the mass matrix with ones on its diagonal; up to
      300 speeds also det Mass = prod det D.

    P, D and G are those of the program that runs: `backend="llvm"` diagnoses machine code.
    Where nothing resists a joint no program gives numbers; then they are computed by the book.

    Args:
        model: the machine.
        q: one configuration, (nq,); None for the neutral one.
        v: speeds, (nv,), of the motions and the energy; None for random ones.
        seed: of the random vectors.
        backend: that of `pp.compile`.

    Returns:
        The findings: print it, or ask `.ok`, `.worst`, `["pivots"]`, `.as_dict()`.

    Raises:
        InputError: for arguments of wrong shape, type or value; a machine without joints.
        ModelError: the machine has loops; says how to go on.

    >>> import phipsi as pp
    >>> arm = pp.examples.puma560()
    >>> found = pp.diagnose(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> found.ok, found["Riccati steps"].verdict
    (True, 'fine')
    >>> builder = pp.ModelBuilder("bad arm", strict=False)
    >>> builder.add_body("upper", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    >>> builder.add_body("fore", "upper", position=(1, 0, 0), mass=1.0, inertia=(0, 0, -0.2))
    >>> print(pp.diagnose(builder.build())["pivots"])
    pivots: wrong; the inertia felt through joint 'fore_joint' is negative: pushed one way, ...
    """
    check_open(model, "diagnose")
    q, v, rng = _state(model, q, v, seed)
    return Diagnosis(model.name, list(_findings(model, q, v, rng, check_backend(backend))))


def _findings(
    model: Model, q: np.ndarray, v: np.ndarray, rng: np.random.Generator, backend: str
) -> Iterator[Finding]:
    """One after the other, in the order in which one thing follows from another."""
    bodies = bodies_of(model, q)
    yield inertias.weights(bodies)
    yield inertias.loads(bodies)
    yield joints.maps(bodies)
    try:
        found, reason = by_the_program(bodies, q, backend), ""
    except SolveError as error:
        found, reason = by_the_book(bodies), str(error)
    yield joints.pivots(bodies, found)
    yield inertias.felt(bodies, found)
    yield joints.gains(bodies, found)
    yield joints.steps(bodies, found)
    if reason and not model.has_mimics:
        yield refused("factors of Mass", FACTORS, reason)
        return
    if not found.is_finite:
        yield refused("factors of Mass", FACTORS, "some P, D or G is no number")
        return
    machine = Machine(bodies, found, q, v, backend)
    if reason:  # the mass matrix in the independent coordinates may still have an inverse
        yield unknown("factors of Mass", FACTORS, reason)
    else:
        yield from factor_laws(machine, rng)
    yield from newton_laws(machine, bodies, rng)
    try:
        yield from laws(machine, rng)
        finding, condition = conditioning(machine, rng)
    except SolveError as error:
        yield refused("Mass and its inverse", "Mass Mass^-1 = I", str(error))
        return
    yield finding
    dense = volume(machine, condition)
    if dense is not None:
        yield dense


def _state(
    model: Model, q: ArrayLike | None, v: ArrayLike | None, seed: int
) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """One state, checked."""
    if not model.nv:
        raise InputError(f"diagnose: nothing moves in {model.name!r}")
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed is {seed!r}; expected a whole number, zero or more")
    rng = np.random.default_rng(seed)
    at = model.neutral() if q is None else check_configuration(model, "q", q)
    speeds = rng.normal(size=model.nv) if v is None else check_speeds(model, "v", v)
    for name, x in (("q", at), ("v", speeds)):
        if x.ndim != 1:
            raise InputError(f"{name} has shape {x.shape}; one state is diagnosed at a time")
        if np.iscomplexobj(x):
            raise InputError(f"{name}: expected real numbers, got complex ones")
    return at, speeds, rng
