"""Colours that mean something, told apart also by those who do not see red or green.

They are those of Okabe and Ito, "Color Universal Design" (2008). A test simulates
sight without cones for red, and for green, and compares what is left.
"""

INK = "#1c2126"  # letters and frames
FAINT = "#5b6570"  # what is said beside
PANEL = "#f6f7f9"  # behind what belongs together
GRID = "#c3c9d0"  # lines between blocks
KEPT = "#00785a"  # from one sweep to a later one: the bluish green, darkened for letters

CAUSAL = "#0072b2"  # tip to base
ANTICAUSAL = "#d55e00"  # base to tip
MEMORYLESS = "#2f3843"  # at a body itself
ACROSS = "#cc79a7"  # between branches: the reddish purple
CANCELLED = "#f0e442"  # what the tree allows, and is zero all the same: yellow
PLAIN = "#2f3843"  # of a vector, which has no direction


def tint(color: str, share: float) -> str:
    """A colour on white paper: `share` of it, the rest white.

    >>> tint("#000000", 0.5)
    '#808080'
    """
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + share * (x - 255)):02x}" for x in parts)
