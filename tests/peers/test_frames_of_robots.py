"""Private frames of real robots: no body is too compact for how far its origin slides."""

from unittest.mock import patch

import pytest
from machines import MARKET
from peers.robots import FILES, FOLDER, REFUSED

import phipsi as pp
from phipsi.lowering import slides
from phipsi.lowering.frames import private_frames

MACHINES = {file: lambda file=file: pp.load(FOLDER / file) for file in FILES if file not in REFUSED}
MACHINES |= MARKET | {f"chain of {n}": lambda n=n: pp.chain(n) for n in (2, 30)}
MACHINES["puma560"], MACHINES["spacecraft"] = pp.examples.puma560, pp.examples.spacecraft


@pytest.mark.parametrize("name", MACHINES)
def test_origins_slide_as_if_there_were_no_bound_on_moments(name):
    model = MACHINES[name]()
    bounded = private_frames(model, True)
    with patch.object(slides, "GROWTH", 1e300):
        assert private_frames(model, True) == bounded
