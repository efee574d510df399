"""Fixtures that the tests of [001] and [003] share: every machine at a state, and some of them."""

import pytest

pytest.register_assert_rewrite("paper_000", "paper_002")  # these hold checks of several tests

from cases import ROTORS  # noqa: E402
from machines import MARKET  # noqa: E402
from recursions import EVERY, WITHOUT_ROTORS, state_of  # noqa: E402


def more_than_two_in_a_row(name):
    return max(MARKET[name]().tree.depth) > 2


@pytest.fixture(params=EVERY)
def s(request):
    """Every machine."""
    return state_of(request.param)


@pytest.fixture(params=WITHOUT_ROTORS)
def rotorless(request):
    """Every machine without rotor inertia."""
    return state_of(request.param)


@pytest.fixture(params=ROTORS)
def geared(request):
    """Machines with rotor inertia: a serial arm and a tree."""
    return state_of(request.param)


@pytest.fixture(params=["free_base_tree", "spacecraft"])
def floating(request):
    """Machines on a free base: with gravity, and without."""
    return state_of(request.param)


@pytest.fixture(params=filter(more_than_two_in_a_row, EVERY))
def deep(request):
    """Machines of more than two bodies in a row."""
    return state_of(request.param)


@pytest.fixture(params=filter(more_than_two_in_a_row, WITHOUT_ROTORS))
def deep_rotorless(request):
    """Machines without rotor inertia of more than two bodies in a row."""
    return state_of(request.param)
