"""SVG read back: what a drawing shows, from its text alone."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from phipsi.explain.drawings.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Words:
    """A line of text and the room that it takes at most."""

    text: str
    color: str
    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other):
        apart = self.x1 <= other.x0 or other.x1 <= self.x0
        return not (apart or self.y1 <= other.y0 or other.y1 <= self.y0)


def root_of(drawing):
    return ET.fromstring(drawing.svg)


def words_of(drawing):
    """Every text that is not turned, where it stands."""
    root = root_of(drawing)
    found = []
    for group, (dx, dy) in groups(root):
        for text in group.findall(f"{SVG}text"):
            words, size = "".join(text.itertext()), float(text.get("font-size"))
            wide, x = text_width(words, size), float(text.get("x")) + dx
            y = float(text.get("y")) + dy
            x -= {"end": wide, "middle": wide / 2}.get(text.get("text-anchor"), 0.0)
            box = x, y - 0.78 * size, x + wide, y + 0.22 * size
            found.append(Words(words, text.get("fill"), *box))
    return found


def groups(root):
    """The drawing and what is moved in it; names of columns, which are turned, are left out."""
    yield root, (0.0, 0.0)
    for group in root.iter(f"{SVG}g"):
        moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", group.get("transform"))
        if moved:
            yield group, (float(moved[1]), float(moved[2]))


def rectangles(group):
    """(x, y, width, height, colour) of the filled rectangles of a group."""
    for rect in group.findall(f"{SVG}rect"):
        if rect.get("fill") not in ("none", "#ffffff"):
            numbers = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            yield *numbers, rect.get("fill")


def frame(group):
    """Width and height of a picture."""
    rect = group.find(f"{SVG}rect")
    return float(rect.get("width")), float(rect.get("height"))
