"""A layout in the making, joint by joint; and how joints are matched by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phipsi.errors import InputError, name_choices
from phipsi.model.joints import Free
from phipsi.model.model import Joint, Model
from phipsi.model.peers.layout import Entry, Layout, Quaternion, Turned


class Draft:
    """Collects what each joint's numbers are at a peer.

    Args:
        peer: the name of the package.
        nq: how many coordinates the machine has there.
        nv: how many speeds.
        model: ours.
    """

    def __init__(self, peer: str, nq: int, nv: int, model: Model):
        self._peer, self._nq, self._nv, self._model = peer, nq, nv, model
        self._coordinates: list[Entry] = []
        self._angles: list[Entry] = []
        self._speeds: list[Entry] = []
        self._turned: list[Turned] = []

    def arrange(
        self,
        joint: Joint,
        q: int,
        v: int,
        coordinates: Sequence[int] | None = None,
        speeds: Sequence[int] | None = None,
        shift: float = 0.0,
    ) -> None:
        """Numbers of a joint that are the same there, perhaps in another order.

        Args:
            joint: ours.
            q: where its coordinates begin there.
            v: where its speeds begin there.
            coordinates: which of the joint's own each of those is; in our order if None.
            speeds: likewise.
            shift: what its coordinates are there where ours are zero.
        """
        order_q = range(joint.kind.nq) if coordinates is None else coordinates
        order_v = range(joint.kind.nv) if speeds is None else speeds
        self._coordinates += [_entry(joint, q + k, i, shift) for k, i in enumerate(order_q)]
        self._speeds += [_speed(joint, v + k, i) for k, i in enumerate(order_v)]

    def add_angle(self, joint: Joint, q: int) -> None:
        """The first coordinate of a joint, as `[cos, sin]` there, the cosine at q."""
        self._angles.append(_entry(joint, q, 0))

    def turn(self, joint: Joint, v: int) -> None:
        """A free joint's linear velocity is in axes of the world there, beginning at v."""
        self._turned.append(Turned(v, joint.q.start, joint.v.start, joint.v.start + 3))

    def finish(self) -> Layout:
        """The layout."""
        return Layout(
            self._peer,
            self._nq,
            self._nv,
            self._model.nq,
            self._model.nv,
            tuple(self._coordinates),
            tuple(self._angles),
            tuple(self._speeds),
            tuple(self._turned),
            tuple(
                Quaternion(joint.name, joint.q.start + joint.kind.quaternion.start)
                for joint in self._model.leaders
                if joint.kind.quaternion is not None
            ),
        )


def _entry(joint: Joint, theirs: int, i: int, shift: float = 0.0) -> Entry:
    """A coordinate of a joint; that of one that follows is made of its leader's."""
    if joint.mimic is None:
        return Entry(theirs, joint.q.start + i, offset=shift)
    ratio, offset = joint.mimic.ratio, joint.mimic.offset + shift
    return Entry(theirs, joint.q.start, ratio, offset, True)


def _speed(joint: Joint, theirs: int, i: int) -> Entry:
    if joint.mimic is None:
        return Entry(theirs, joint.v.start + i)
    return Entry(theirs, joint.v.start, joint.mimic.ratio, 0.0, True)


def match_names(
    model: Model, peer: str, theirs: Mapping[str, int], free: Sequence[str]
) -> dict[str, int]:
    """The number that each of our joints has at the peer, by name.

    A free joint that is the only one without a counterpart on either side is matched
    whatever it is called.

    Args:
        model: ours.
        peer: the name of the package.
        theirs: the numbers of its joints, by name.
        free: the names of those that are free.

    Raises:
        InputError: a joint that only one of the two has.
    """
    found = {joint.name: theirs[joint.name] for joint in model.joints if joint.name in theirs}
    missing = [joint for joint in model.joints if joint.name not in found]
    others = [name for name in theirs if name not in found]
    if len(missing) == len(others) == 1 and others[0] in free and _is_free(missing[0]):
        return {**found, missing[0].name: theirs[others[0]]}
    if missing and not others and all(map(_is_free, missing)):
        raise InputError(
            f"the {peer} model has no joint {missing[0].name!r}, on which {model.name!r} floats; "
            'load it with base="fixed", or give that model a free joint'
        )
    if missing:
        name = missing[0].name
        raise InputError(
            f"the {peer} model has no joint {name!r} of {model.name!r}; "
            f"{name_choices(name, others or theirs)}"
        )
    if others and set(others) <= set(free):
        raise InputError(
            f"{model.name!r} has no joint {others[0]!r}, on which the {peer} model floats; "
            'load it with base="free"'
        )
    if others:
        names = [joint.name for joint in model.joints]
        raise InputError(
            f"{model.name!r} has no joint {others[0]!r} of the {peer} model; "
            f"{name_choices(others[0], names)}"
        )
    return found


def _is_free(joint: Joint) -> bool:
    return isinstance(joint.kind, Free)
