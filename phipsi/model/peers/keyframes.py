"""States that a peer's model names, in our coordinates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from phipsi.errors import InputError
from phipsi.model.model import Keyframe
from phipsi.model.peers.layout import Layout
from phipsi.model.peers.remarks import Remarks

FOLLOWED = 1e-6  # rad or m: a joint that is this near to where it should be is there


def keyframes_of(
    states: Iterable[tuple[str, np.ndarray, np.ndarray]], layout: Layout, remarks: Remarks
) -> dict[str, Keyframe]:
    """The keyframes; one that is no state is refused, by name.

    Args:
        states: of each the name, and the peer's q and v.
        layout: between its numbers and ours.
        remarks: told of those that are left out, or changed.
    """
    found = {}
    followers = [entry.theirs for entry in layout.coordinates if entry.follows]
    for name, q_peer, v_peer in states:
        try:
            q, v = layout.from_peer(q_peer, v_peer)
        except InputError as error:
            remarks.refuse(f"keyframe {name!r} is left out: {error}", "key", name)
            continue
        found[name] = Keyframe((*q.tolist(),), (*v.tolist(),))
        apart = layout.to_peer(q)[followers] - np.asarray(q_peer)[followers]
        if np.any(np.abs(apart) > FOLLOWED):
            text = f"keyframe {name!r} has joints elsewhere than they follow; here they follow"
            remarks.say("used", text, "key", name, notable=True)
    return found
