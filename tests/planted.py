"""A chain of five bodies, b0 to b4, b4 the tip, and errors that are planted in it."""

import numpy as np
from machines import random_axis, random_inertia, random_placement

import phipsi as pp
from phipsi import joints
from phipsi.lowering.steps import STEPS

Q = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def planted(**changes):
    """The chain, with other arguments of `add_body` for some bodies."""
    rng = np.random.default_rng(3)
    builder, parent = pp.ModelBuilder("planted", strict=False), "world"
    for k in range(5):
        body = {**random_placement(rng), "joint": joints.Revolute(random_axis(rng))}
        body |= random_inertia(rng) | changes.get(f"b{k}", {})
        builder.add_body(f"b{k}", parent, **body)
        parent = f"b{k}"
    return builder.build()


def planted_euler():
    """b2 hangs on three Euler angles; their second is q[3]."""
    return planted(b2={"joint": joints.SphericalEuler("zyx")})


def odd(found):
    """{measure: name} of all that is not fine."""
    return {each.measure: each.name for each in found if each.status != "fine"}


def plant(monkeypatch, step, at, wrong):
    """Let a step of the program go wrong at one body; `wrong` takes its result."""
    right = STEPS[step]

    def run(seat, *arguments):
        result = right(seat, *arguments)
        return wrong(result) if seat.k == at else result

    monkeypatch.setitem(STEPS, step, run)
