"""The colours of drawings differ for every kind of sight, simulated.

Two kinds of cones instead of three: colours as Viénot, Brettel and Mollon simulate them ("Digital
video colourmaps for checking the legibility of displays by dichromats", 1999), compared in CIELAB,
where a difference of about 2.3 is just noticed.
"""

from itertools import combinations

import numpy as np
import pytest

from phipsi.explain.drawings import colours
from phipsi.explain.drawings.picture import COLOURS, SHADES, VANISHED, WHOLE

CONES = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
SIGHTS = {
    "all cones": np.eye(3),
    "none for red": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "none for green": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
BLOCKS = dict.fromkeys(COLOURS.values())  # plain ones are as dark as memoryless ones
SWEEPS = (colours.CAUSAL, colours.ANTICAUSAL, colours.KEPT, colours.INK)


def linear(color):
    """sRGB as amounts of light."""
    x = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def lab(color, sight):
    """CIELAB of a colour as some sight sees it."""
    light = np.linalg.inv(CONES) @ SIGHTS[sight] @ CONES @ linear(color)
    t = XYZ @ np.clip(light, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least_difference(several, sight):
    pairs = combinations([lab(color, sight) for color in several], 2)
    return min(np.linalg.norm(one - other) for one, other in pairs)


def test_simulated_sight_is_that_of_the_paper():
    """Red and green of one lightness are confused; black, white and blue beside yellow are not."""
    assert np.allclose(lab("#ffffff", "all cones"), [100, 0, 0], atol=0.1)
    for sight in ("none for red", "none for green"):
        assert np.allclose(lab("#ffffff", sight), [100, 0, 0], atol=2.0)
        assert np.allclose(lab("#000000", sight), 0.0)
        assert least_difference(["#0000ff", "#ffff00"], sight) > 100
    assert least_difference(["#ff0000", "#00a000"], "all cones") > 100
    assert least_difference(["#c03000", "#707000"], "none for green") < 15


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("share", [WHOLE, SHADES[-1]], ids=["blocks", "entries"])
def test_blocks_differ_by_far_more_than_is_just_noticed(sight, share):
    shown = [colours.tint(x, share) for x in BLOCKS]
    assert least_difference([*shown, VANISHED, "#ffffff"], sight) > 15


@pytest.mark.parametrize("sight", SIGHTS)
def test_lines_of_sweeps_differ_by_far_more_than_is_just_noticed(sight):
    assert least_difference(SWEEPS, sight) > 30
