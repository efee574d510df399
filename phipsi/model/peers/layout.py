"""Layout: which of another package's numbers is which of ours.

Its speeds are ours by a matrix, `v_peer = T(q) v`. Apart from the order, T is the
identity, with a row for each joint that follows another; and where its speeds are in
the axes of the world and ours in those of the body, as at the free joints of MuJoCo,
it turns them. So, with what turns,

    vdot_peer = T vdot + T_dot v,    tau = T* tau_peer,    Mass = T* Mass_peer T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phipsi.errors import InputError
from phipsi.model.configuration import broadcast, check_array, check_quaternion
from phipsi.model.model import More

_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])  # of the axes x, y, z

Result = Any  # an array, or a tuple of arrays where several were given


class Entry(NamedTuple):
    """One number of the peer: `ratio` times one of ours, plus `offset`."""

    theirs: int
    ours: int
    ratio: float = 1.0
    offset: float = 0.0
    follows: bool = False  # it is that of a joint that has none of its own here


class Turned(NamedTuple):
    """A free joint whose velocity the peer has in axes of the world: where its numbers begin."""

    theirs_v: int  # its linear velocity there
    quaternion: int  # ours
    omega: int
    linear: int


class Quaternion(NamedTuple):
    """Four of our coordinates that have the length one: whose they are, and where they begin."""

    joint: str
    start: int


class _Entries:
    """Entries as columns, to be copied at once."""

    def __init__(self, entries: Sequence[Entry]):
        own = [each for each in entries if not each.follows]
        self.theirs, self.ours, self.ratio, self.offset, _ = _columns(entries)
        self.own_theirs, self.own_ours, _, self.own_offset, _ = _columns(own)
        self.followers = tuple(each for each in entries if each.follows)
        self._are_plain = not self.followers and not self.own_offset.any()

    def out(self, x: np.ndarray) -> np.ndarray:
        """Our numbers, each where it belongs among theirs."""
        found = x[..., self.ours]
        return found if self._are_plain else self.ratio * found + self.offset

    def back(self, x: np.ndarray) -> np.ndarray:
        """Their numbers, those that are ours, each as it is here."""
        found = x[..., self.own_theirs]
        return found if self._are_plain else found - self.own_offset


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Which numbers of a peer's model are which of ours, joint by joint.

    `pp.from_pinocchio` and `pp.from_mujoco` leave one in `model.layouts`;
    `model.to_pinocchio` and the like use it.

    Args:
        peer: the name of the package.
        nq: how many coordinates the model has there.
        nv: how many speeds.
        own_nq: how many coordinates it has here.
        own_nv: how many speeds.
        coordinates: which of ours each of its coordinates is.
        angles: those that are `[cos, sin]` of ours: where the cosine is.
        speeds: which of ours each of its speeds is.
        turned: free joints whose velocity it has in axes of the world.
        quaternions: those of ours. Theirs may have any length.

    >>> import mujoco, phipsi as pp
    >>> text = '<body> <freejoint/> <geom size="1"/> </body>'
    >>> text = f"<mujoco> <worldbody> {text} </worldbody> </mujoco>"
    >>> ball = pp.from_mujoco(mujoco.MjModel.from_xml_string(text))
    >>> layout = ball.layouts["mujoco"]
    >>> layout
    <Layout of MuJoCo: nq = 7 here, 7 there, nv = 6 here, 6 there>
    >>> q, v = layout.from_peer([1, 2, 3, 1, 0, 0, 0], [4, 5, 6, 7, 8, 9])
    >>> q, v
    (array([0., 0., 0., 1., 1., 2., 3.]), array([7., 8., 9., 4., 5., 6.]))
    >>> layout.rate(q, v)  # omega x velocity: of what moves on while it turns
    array([ 3., -6.,  3.,  0.,  0.,  0.])
    """

    peer: str
    nq: int
    nv: int
    own_nq: int
    own_nv: int
    coordinates: tuple[Entry, ...] = ()
    angles: tuple[Entry, ...] = ()
    speeds: tuple[Entry, ...] = ()
    turned: tuple[Turned, ...] = ()
    quaternions: tuple[Quaternion, ...] = ()

    @cached_property
    def _coordinates(self) -> _Entries:
        return _Entries(self.coordinates)

    @cached_property
    def _angles(self) -> _Entries:
        return _Entries(self.angles)

    @cached_property
    def _speeds(self) -> _Entries:
        return _Entries(self.speeds)

    def __repr__(self) -> str:
        return (
            f"<Layout of {self.peer}: nq = {self.own_nq} here, {self.nq} there, "
            f"nv = {self.own_nv} here, {self.nv} there>"
        )

    # -- states

    def to_peer(self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None) -> Result:
        """Our numbers as the peer has them.

        Args:
            q: (*batch, nq).
            v: speeds, (*batch, nv).
            vdot: their rates; these need v too.
            tau: forces; those on joints that follow are zero, and those that lead bear all.

        Returns:
            What was given, in this order: one array, or a tuple of them, all of one batch.
        """
        given = self._ours({"q": q, **_present(v, vdot, tau)})
        q = given["q"]
        found = [self._q_to_peer(q)]
        if "v" in given:
            found.append(self._turn(q, self._v_to_peer(given["v"])))
        if "vdot" in given:
            rate = self._rate(q, given["v"])
            found.append(self._turn(q, self._v_to_peer(given["vdot"])) + rate)
        if "tau" in given:
            found.append(self._turn(q, self._tau_to_peer(given["tau"])))
        return found[0] if len(found) == 1 else tuple(found)

    def from_peer(
        self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None
    ) -> Result:
        """The peer's numbers as we have them.

        Args:
            q: its configuration, (*batch, nq); quaternions are brought to the length one.
                What it has for a joint that follows another here is not looked at.
            v: its speeds, (*batch, nv).
            vdot: their rates; these need v too.
            tau: its forces; what acts on a joint that follows is felt by the one that leads.

        Returns:
            What was given, in this order: one array, or a tuple of them, all of one batch.
        """
        where = f"in {self.peer}"
        given = _arrays({"q": q, **_present(v, vdot, tau)}, self.nq, self.nv, where)
        q = self._q_from_peer(given["q"])
        found = [q]
        if "v" in given:
            found.append(self._v_from_peer(self._turn(q, given["v"], back=True)))
        if "vdot" in given:
            bare = given["vdot"] - self._rate(q, found[1])
            found.append(self._v_from_peer(self._turn(q, bare, back=True)))
        if "tau" in given:
            found.append(self._tau_from_peer(self._turn(q, given["tau"], back=True)))
        return found[0] if len(found) == 1 else tuple(found)

    # -- the map between speeds

    def speed_map(self, q: ArrayLike) -> np.ndarray:
        """T of `v_peer = T(q) v`, (*batch, nv there, nv here), q being ours.

        So that `T.T @ Mass_peer @ T` is our mass matrix.
        """
        q = self._ours({"q": q})["q"]
        T = np.zeros((*q.shape[:-1], self.own_nv, self.nv), q.dtype)
        for theirs, ours, ratio, _, _ in self.speeds:
            T[..., ours, theirs] = ratio
        return np.swapaxes(self._turn(q[..., None, :], T), -1, -2)

    def rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """T_dot v, (*batch, nv there), of our q and v: what vdot_peer has beside `T vdot`.

        For a velocity in axes of the world, `R (omega x v)`.
        """
        given = self._ours({"q": q, "v": v})
        return self._rate(given["q"], given["v"])

    def _rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found = np.zeros((*v.shape[:-1], self.nv), np.result_type(q, v))
        for joint in self.turned:
            omega, linear = _three(v, joint.omega), _three(v, joint.linear)
            found[..., joint.theirs_v : joint.theirs_v + 3] = _cross(omega, linear)
        return self._turn(q, found)

    # -- one kind of number at a time

    def _q_to_peer(self, q: np.ndarray) -> np.ndarray:
        found = np.zeros((*q.shape[:-1], self.nq), q.dtype)
        found[..., self._coordinates.theirs] = self._coordinates.out(q)
        if self.angles:
            angle = self._angles.out(q)
            found[..., self._angles.theirs] = np.cos(angle)
            found[..., self._angles.theirs + 1] = np.sin(angle)
        return found

    def _q_from_peer(self, q: np.ndarray) -> np.ndarray:
        found = np.zeros((*q.shape[:-1], self.own_nq), q.dtype)
        found[..., self._coordinates.own_ours] = self._coordinates.back(q)
        if self.angles:
            cosine = self._angles.own_theirs
            found[..., self._angles.own_ours] = np.arctan2(q[..., cosine + 1], q[..., cosine])
        for joint, start in self.quaternions:
            own = found[..., start : start + 4]
            length = np.sqrt(np.sum(own * own, axis=-1, keepdims=True))
            if not length.all():
                raise InputError(
                    f"q: the quaternion of joint {joint!r} has length zero, and tells no attitude"
                )
            own /= length
        return found

    def _v_to_peer(self, v: np.ndarray) -> np.ndarray:
        found = np.zeros((*v.shape[:-1], self.nv), v.dtype)
        found[..., self._speeds.theirs] = self._speeds.out(v)
        return found

    def _v_from_peer(self, v: np.ndarray) -> np.ndarray:
        found = np.zeros((*v.shape[:-1], self.own_nv), v.dtype)
        found[..., self._speeds.own_ours] = v[..., self._speeds.own_theirs]
        return found

    def _tau_to_peer(self, tau: np.ndarray) -> np.ndarray:
        found = np.zeros((*tau.shape[:-1], self.nv), tau.dtype)
        found[..., self._speeds.own_theirs] = tau[..., self._speeds.own_ours]
        return found

    def _tau_from_peer(self, tau: np.ndarray) -> np.ndarray:
        found = self._v_from_peer(tau)
        for theirs, ours, ratio, _, _ in self._speeds.followers:
            found[..., ours] += ratio * tau[..., theirs]
        return found

    def _turn(self, q: np.ndarray, x: np.ndarray, back: bool = False) -> np.ndarray:
        """Peer's speeds or forces from body axes to those of the world, or back; q is ours."""
        if not self.turned:
            return x
        x = x.astype(np.result_type(q, x))  # a copy
        for joint in self.turned:
            quaternion = q[..., joint.quaternion : joint.quaternion + 4]
            place = slice(joint.theirs_v, joint.theirs_v + 3)
            x[..., place] = _rotate(quaternion, x[..., place], -1.0 if back else 1.0)
        return x

    def _ours(self, given: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Numbers of ours as arrays of one batch, with quaternions of length one."""
        found = _arrays(given, self.own_nq, self.own_nv, "here")
        for joint, start in self.quaternions:
            check_quaternion("q", joint, found["q"][..., start : start + 4])
        return found


def _present(v: More, vdot: More, tau: More) -> dict[str, ArrayLike]:
    """What is given beside q, by name."""
    if vdot is not None and v is None:
        raise InputError("vdot needs v too: in turning axes, accelerations depend on it")
    given = {"v": v, "vdot": vdot, "tau": tau}
    return {name: value for name, value in given.items() if value is not None}


def _arrays(given: Mapping[str, ArrayLike], nq: int, nv: int, where: str) -> dict[str, np.ndarray]:
    """What the user passes, checked, and broadcast to one batch."""
    sizes = {name: ("nq", nq) if name == "q" else ("nv", nv) for name in given}
    found = {
        name: check_array(name, given[name], (size,), f"{letter} being {size} {where}")
        for name, (letter, size) in sizes.items()
    }
    batch = broadcast({name: x.shape[:-1] for name, x in found.items()})
    return {name: np.broadcast_to(x, (*batch, x.shape[-1])) for name, x in found.items()}


def _columns(entries: Sequence[Entry]) -> tuple[np.ndarray, ...]:
    """The fields of entries, an array each."""
    types: Sequence[type] = (np.intp, np.intp, float, float, bool)
    fields = zip(*entries, strict=True) if entries else [()] * 5
    return tuple(np.array(field, type_) for field, type_ in zip(fields, types, strict=True))


def _three(x: np.ndarray, start: int) -> np.ndarray:
    return x[..., start : start + 3]


def _cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x cross y along the last axis; of small arrays, in a quarter of the time of np.cross."""
    return x[..., _NEXT] * y[..., _AFTER] - x[..., _AFTER] * y[..., _NEXT]


def _rotate(quaternion: np.ndarray, x: np.ndarray, sign: float) -> np.ndarray:
    """R x, or R* x if the sign is -1, by the unit quaternion x, y, z, w of R."""
    u, w = sign * quaternion[..., :3], quaternion[..., 3:]
    twice = 2.0 * _cross(u, x)
    return x + w * twice + _cross(u, twice)
