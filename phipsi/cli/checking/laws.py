"""What must hold of our answers, whoever else is there: by other formulas, and by conservation.

Each law has two sides that are computed by different algorithms: sweeps over the bodies in
machine code, and the operators as explicit matrices, or the derivative of the energy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from phipsi import dynamics
from phipsi.cli.checking.comparison import ROUNDOFF, TOLERANCE, Comparison, compare, skipped
from phipsi.cli.failures import spoken
from phipsi.errors import PhipsiError
from phipsi.lowering.dense import as_matrix
from phipsi.model.configuration import integrate
from phipsi.model.model import Model
from phipsi.operators import D, H, I, K, S_q, phi, psi
from phipsi.simulate.labels import speed_labels, speed_names

FACTORED = 3  # states whose matrices are factored: these are explicit, and large
MOST_BODIES = 300  # whose matrices are multiplied out
STEP = 1e-30  # of derivatives along the imaginary axis
SINGULAR = 1e-13  # of the mass matrix with ones on its diagonal

States = dict[str, np.ndarray]
Law = Callable[[Model, States], Comparison]

ROOT = I + H @ phi @ K
INVERSE_ROOT = I - H @ psi @ K


def laws(model: Model, states: States) -> Iterator[Comparison]:
    """All laws, one after the other; one that cannot be looked at says why.

    Args:
        model: a tree.
        states: q, v, tau and vdot by name, a row per state.

    >>> import phipsi as pp
    >>> from phipsi.cli.tasks import states_of
    >>> arm = pp.examples.planar_arm(2)
    >>> any(found.differs for found in laws(arm, states_of(arm, 5)))
    False
    """
    for name, law in LAWS.items():
        if law is _inverse_factors and model.has_mimics:
            continue  # it is the inverse where every joint moves on its own
        if law in (_factors, _inverse_factors) and len(model.bodies) > MOST_BODIES:
            yield skipped(name, f"matrices are multiplied out for up to {MOST_BODIES} bodies")
            continue
        try:
            yield law(model, states)
        except PhipsiError as error:
            yield skipped(name, spoken(error))


def conditions(mass: np.ndarray) -> np.ndarray:
    """Of mass matrices with ones on their diagonals: what they make of roundoff."""
    return np.linalg.cond(_equilibrated(mass))


def allowed_of(mass: np.ndarray) -> np.ndarray:
    """What two right solutions with these mass matrices may be apart, one number per state."""
    with np.errstate(over="ignore"):
        return np.maximum(TOLERANCE, ROUNDOFF * conditions(mass))


def _round_trip(model: Model, states: States) -> Comparison:
    q, v, tau = (states[name] for name in ("q", "v", "tau"))
    vdot = dynamics.forward_dynamics(model, q, v, tau)
    back = dynamics.inverse_dynamics(model, q, v, vdot)
    moved = dynamics.mass_matrix(model, q) * vdot[:, None, :]
    scale = np.abs(moved).max(axis=(1, 2))
    return compare("forward, then inverse dynamics", tau, back, [speed_names(model)], scale=scale)


def _sum_of_parts(model: Model, states: States) -> Comparison:
    q, v, vdot = (states[name] for name in ("q", "v", "vdot"))
    moved = dynamics.mass_matrix(model, q) * vdot[:, None, :]
    bias = dynamics.bias_force(model, q, v)
    scale = np.maximum(np.abs(moved).max(axis=(1, 2)), np.abs(bias).max(axis=1))
    whole = dynamics.inverse_dynamics(model, q, v, vdot)
    names = [speed_names(model)]
    return compare("tau is Mass vdot + C", whole, moved.sum(axis=2) + bias, names, scale=scale)


def _definite(model: Model, states: States) -> Comparison:
    """Symmetric; and positive, but for a machine that has joints without mass."""
    name = "Mass symmetric and positive"
    mass = dynamics.mass_matrix(model, states["q"])
    found = compare(name, mass, np.swapaxes(mass, 1, 2), [speed_names(model)] * 2)
    if found.differs:
        return found
    values, vectors = np.linalg.eigh(_equilibrated(mass))
    state = int(np.argmin(values[:, 0]))
    joint = speed_labels(model)[int(np.argmax(np.abs(vectors[state, :, 0])))].joint
    least = float(values[state, 0])
    if least < -SINGULAR:
        return Comparison(name, -least, (joint,), state, SINGULAR, "it is not positive")
    if least < SINGULAR:
        return skipped(name, f"it is singular: nothing that joint {joint!r} moves has mass")
    return found


def _kinetic_energy(model: Model, states: States) -> Comparison:
    q, v = states["q"], states["v"]
    mass = dynamics.mass_matrix(model, q)
    half = 0.5 * np.einsum("si,sij,sj->s", v, mass, v)
    return compare("kinetic energy is v* Mass v / 2", dynamics.kinetic_energy(model, q, v), half)


def _power(model: Model, states: States) -> Comparison:
    """The rate of the energy is the power of the forces; its derivative is a complex step."""
    q, v, vdot = (states[name] for name in ("q", "v", "vdot"))
    later = integrate(model, q, 1j * STEP * v), v + 1j * STEP * vdot
    energy = dynamics.kinetic_energy(model, *later) + dynamics.potential_energy(model, later[0])
    powers = v * dynamics.inverse_dynamics(model, q, v, vdot)
    scale = np.abs(powers).max(axis=1)
    return compare("power is the rate of energy", powers.sum(1), energy.imag / STEP, scale=scale)


def _factors(model: Model, states: States) -> Comparison:
    """Mass = (1 + H phi K) D (1 + H phi K)* [003 Lemma 1], projected where joints follow."""
    q = states["q"][:FACTORED]
    factored = as_matrix(model, S_q.T @ ROOT @ D @ ROOT.T @ S_q, q)
    name = "innovations factors of Mass"
    return compare(name, dynamics.mass_matrix(model, q), factored, [speed_names(model)] * 2)


def _inverse_factors(model: Model, states: States) -> Comparison:
    """Mass^-1 = (1 - H psi K)* D^-1 (1 - H psi K) [003 Lemma 3]."""
    name = "innovations factors of Mass^-1"
    q = states["q"][:FACTORED]
    factored = as_matrix(model, INVERSE_ROOT.T @ D.inv @ INVERSE_ROOT, q)
    inverse = dynamics.mass_matrix_inverse(model, q)
    allowed = allowed_of(dynamics.mass_matrix(model, q))
    return compare(name, inverse, factored, [speed_names(model)] * 2, allowed=allowed)


LAWS: dict[str, Law] = {
    "forward, then inverse dynamics": _round_trip,
    "tau is Mass vdot + C": _sum_of_parts,
    "Mass symmetric and positive": _definite,
    "kinetic energy is v* Mass v / 2": _kinetic_energy,
    "power is the rate of energy": _power,
    "innovations factors of Mass": _factors,
    "innovations factors of Mass^-1": _inverse_factors,
}


def _equilibrated(mass: np.ndarray) -> np.ndarray:
    """With ones on the diagonal, whatever the units; zero rows stay."""
    diagonal = np.sqrt(np.abs(np.diagonal(mass, axis1=1, axis2=2)))
    diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
    return mass / (diagonal[:, :, None] * diagonal[:, None, :])
