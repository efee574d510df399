"""A peer's answers beside ours, in our coordinates.

Its speeds are ours by `v_peer = T(q) v`; where a joint follows another here and moves on its own
there, T has a row for it. So both have the same mimic joints:

    Mass = T* Mass_peer T,    C = T* (C_peer + Mass_peer T_dot v),    tau = T* tau_peer
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from phipsi import dynamics
from phipsi.cli.checking.comparison import Comparison, compare, skipped
from phipsi.cli.checking.laws import States, allowed_of
from phipsi.cli.failures import spoken
from phipsi.errors import InputError, PhipsiError
from phipsi.model.inertia import MASSLESS, Inertia
from phipsi.model.model import Model
from phipsi.model.peers.layout import Layout
from phipsi.model.peers.match import match_layout
from phipsi.model.tree import WORLD, WORLD_NAME
from phipsi.simulate.labels import speed_names

UNKNOWN_HERE = 3  # names that are listed

T = TypeVar("T")
Mimics = dict[str, tuple[str, float, float]]  # by joint: the one it follows, ratio, offset


class UnreadError(Exception):
    """A peer cannot be compared; the text says why."""


class Peer(Protocol):
    """A machine as another package reads it: one state at a time, in its coordinates.

    Attributes:
        layout: which of its numbers is which of ours.
        notes: what it makes of the file otherwise than we do.
    """

    layout: Layout
    notes: list[str]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """(nv, nv)."""

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """(nv,)."""

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """(nv,)."""

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """The links that it knows, 4 x 4 in the world."""

    def inertias(self) -> dict[str, Inertia]:
        """What it takes the links to weigh, each in its own frame."""

    def mimics(self) -> Mimics:
        """The joints that it takes to follow others."""


def matched(model: Model, package: str, peer: Any) -> Layout:
    """Which of a peer's numbers is which of ours; UnreadError if it has other joints."""
    try:
        return match_layout(model, package, peer)
    except InputError as error:
        raise UnreadError(f"it reads another machine from this file: {spoken(error)}") from None


def asked(function: Callable[..., T], *arguments: Any) -> T:
    """What a peer answers. Its code is another's and may raise what it likes: UnreadError then."""
    try:
        return function(*arguments)
    except UnreadError:
        raise
    except Exception as error:
        raise UnreadError(f"it fails: {said(error)}") from None


def said(error: BaseException) -> str:
    """What an error of another package says, in a line; its kind, if it says nothing.

    Pinocchio says first where in its sources that is.

    >>> said(ValueError("no tree\\nsee above"))
    'no tree'
    >>> said(
    ...     ValueError(
    ...         "From file: joint.hxx\\nat line: 7\\nmessage:\\nno such joint\\nhint: add it\\n"
    ...     )
    ... )
    'no such joint; hint: add it'
    """
    first, found, message = str(error).partition("\nmessage:")
    lines = [line.strip() for line in (message if found else first).splitlines() if line.strip()]
    return "; ".join(lines if found else lines[:1]) or type(error).__name__


def beside(model: Model, states: States, peer: Peer) -> Iterator[Comparison]:
    """Every quantity that both know, one after the other.

    Args:
        model: ours, a tree.
        states: q, v, tau and vdot by name, a row per state.
        peer: theirs.
    """
    asked: dict[str, Callable[[Model, States, Peer], Comparison]] = {
        "inertias of bodies": _inertias,
        "poses of links": _poses,
        "mimic joints": _mimics,
        "mass matrix": _mass_matrix,
        "bias force": _bias_force,
        "inverse dynamics": _inverse_dynamics,
        "forward dynamics": _forward_dynamics,
    }
    for name, compared in asked.items():
        if compared is _mimics and not model.has_mimics:
            continue
        try:
            yield compared(model, states, peer)
        except (PhipsiError, UnreadError) as error:
            yield skipped(name, spoken(error))


# -- bodies ----------------------------------------------------------------------------


def _inertias(model: Model, states: States, peer: Peer) -> Comparison:
    """Of each body with what is welded to it, relative to its own largest entry."""
    theirs: dict[int, Inertia] = {}
    for name, inertia in asked(peer.inertias).items():
        frame = model.frame(name)
        whole = theirs.get(frame.body, MASSLESS)
        theirs[frame.body] = whole.plus(inertia.moved(frame.placement))
    bodies = sorted(theirs)
    if not bodies:
        raise UnreadError("there are no bodies to compare")
    names = [WORLD_NAME if k == WORLD else model.bodies[k].name for k in bodies]
    ours = [model.base_inertia if k == WORLD else model.bodies[k].inertia for k in bodies]
    pairs = [_relative(own.matrix, theirs[k].matrix) for k, own in zip(bodies, ours, strict=True)]
    first, second = (np.array(side)[None] for side in zip(*pairs, strict=True))
    found = compare("inertias of bodies", first, second, [names])
    return replace(found, state=None)  # they are the same in every state


def _relative(*matrices: np.ndarray) -> list[np.ndarray]:
    largest = max(np.abs(matrix).max() for matrix in matrices)
    return [matrix / (largest or 1.0) for matrix in matrices]


def _poses(model: Model, states: States, peer: Peer) -> Comparison:
    bodies = dynamics.body_poses(model, states["q"])
    there = [asked(peer.frames, q) for q in _coordinates(peer, states)]
    ours = {body.name: bodies[:, k] for k, body in enumerate(model.bodies)}
    for frame in model.frames:
        carrier = np.eye(4) if frame.body == WORLD else bodies[:, frame.body]
        ours[frame.name] = np.broadcast_to(carrier @ frame.placement.matrix, (len(there), 4, 4))
    names = [name for name in there[0] if name in ours]
    if not names:
        raise UnreadError("it has no link of a name that we know")
    missing = [name for name in there[0] if name not in ours and name != WORLD_NAME]
    if missing:
        told = ", ".join(missing[:UNKNOWN_HERE]) + (", ..." if missing[UNKNOWN_HERE:] else "")
        peer.notes.append(f"it has {len(missing)} links that are none here: {told}")
    theirs = np.array([[poses[name] for name in names] for poses in there])
    own = np.stack([ours[name] for name in names], axis=1)
    return compare("poses of links", own, theirs, [names])


def _mimics(model: Model, states: States, peer: Peer) -> Comparison:
    """Ratios and offsets as it reads them itself: the projection takes ours."""
    ours: Mimics = {}
    for joint in model.joints:
        if joint.mimic is not None:
            leader = model.joints[joint.mimic.source].name
            ours[joint.name] = leader, joint.mimic.ratio, joint.mimic.offset
    theirs = asked(peer.mimics)
    names = list(ours)
    pairs = [(_resolved(name, ours), _resolved(name, theirs)) for name in names]
    first, second = (
        np.array([[ratio, offset] for _, ratio, offset in side])
        for side in zip(*pairs, strict=True)
    )
    astray = [own[0] != other[0] for own, other in pairs]
    second[astray] = np.nan  # it follows another joint, or none
    return replace(compare("mimic joints", first[None], second[None], [names]), state=None)


def _resolved(name: str, mimics: Mimics) -> tuple[str, float, float]:
    """A joint by the one that leads it in the end: `q = ratio q_leader + offset`."""
    leader, ratio, offset = name, 1.0, 0.0
    for _ in mimics:
        if leader not in mimics:
            break
        leader, factor, shift = mimics[leader]
        ratio, offset = ratio * factor, ratio * shift + offset
    return leader, ratio, offset


# -- dynamics --------------------------------------------------------------------------


def _mass_matrix(model: Model, states: States, peer: Peer) -> Comparison:
    ours = dynamics.mass_matrix(model, states["q"])
    return compare("mass matrix", ours, _projected_mass(states, peer), [speed_names(model)] * 2)


def _bias_force(model: Model, states: States, peer: Peer) -> Comparison:
    ours = dynamics.bias_force(model, states["q"], states["v"])
    theirs = _forces(states, peer, rest=True)
    scale = _force_scale(model, states)
    return compare("bias force", ours, theirs, [speed_names(model)], scale=scale)


def _inverse_dynamics(model: Model, states: States, peer: Peer) -> Comparison:
    ours = dynamics.inverse_dynamics(model, states["q"], states["v"], states["vdot"])
    theirs, scale = _forces(states, peer), _force_scale(model, states)
    return compare("inverse dynamics", ours, theirs, [speed_names(model)], scale=scale)


def _forward_dynamics(model: Model, states: States, peer: Peer) -> Comparison:
    """By its own algorithm; where joints follow others, from its mass matrix and bias force."""
    q, v, tau = (states[name] for name in ("q", "v", "tau"))
    ours = dynamics.forward_dynamics(model, q, v, tau)
    mass = _projected_mass(states, peer)
    if peer.layout.nv != model.nv:
        theirs = np.linalg.solve(mass, (tau - _forces(states, peer, rest=True))[..., None])[..., 0]
    else:
        there = zip(*peer.layout.to_peer(q, v, tau=tau), strict=True)
        answers = np.array([asked(peer.forward_dynamics, *state) for state in there])
        if np.isnan(answers).any() and _is_massless(model):
            raise UnreadError("it answers NaN, as it does where a body at the end has no mass")
        back = np.linalg.inv(peer.layout.speed_map(q))
        theirs = np.einsum("sij,sj->si", back, answers - peer.layout.rate(q, v))
    allowed = allowed_of(dynamics.mass_matrix(model, q))
    return compare("forward dynamics", ours, theirs, [speed_names(model)], allowed=allowed)


def _force_scale(model: Model, states: States) -> np.ndarray:
    """What forces cancel, where they do: inertia times the square of speed, for each state."""
    mass = dynamics.mass_matrix(model, states["q"])
    return np.abs(mass).max(axis=(1, 2)) * np.square(states["v"]).max(axis=1)


def _is_massless(model: Model) -> bool:
    """Whether a body that carries nothing weighs nothing."""
    carriers = {body.parent for body in model.bodies}
    return any(x.inertia.vanishes for k, x in enumerate(model.bodies) if k not in carriers)


def _coordinates(peer: Peer, states: States) -> np.ndarray:
    q = peer.layout.to_peer(states["q"])
    assert isinstance(q, np.ndarray)
    return q


def _projected_mass(states: States, peer: Peer) -> np.ndarray:
    there = np.array([asked(peer.mass_matrix, q) for q in _coordinates(peer, states)])
    T = peer.layout.speed_map(states["q"])
    return np.swapaxes(T, 1, 2) @ there @ T


def _forces(states: States, peer: Peer, rest: bool = False) -> np.ndarray:
    """Inverse dynamics of the peer, or with `rest` that of no acceleration."""
    vdot = np.zeros_like(states["vdot"]) if rest else states["vdot"]
    there = zip(*peer.layout.to_peer(states["q"], states["v"], vdot), strict=True)
    forces = np.array([asked(peer.inverse_dynamics, *state) for state in there])
    return np.einsum("sij,si->sj", peer.layout.speed_map(states["q"]), forces)
