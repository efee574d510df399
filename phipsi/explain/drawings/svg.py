"""Elements of SVG as text: escaped, every number short, the same drawing the same text.

No element has an id and there is no style sheet: several drawings may stand on
one page, and none changes another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from phipsi.cleaning import for_html

FONT = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif"
# How wide letters are, of their size: bounds for the widest of these fonts.
NARROW, CAPITAL, WIDE, OTHER = 0.42, 0.76, 1.0, 0.64

Point = tuple[float, float]


def element(name: str, *children: str, **attributes: object) -> str:
    """An element; `stroke_width=2` becomes `stroke-width="2"`, None is left out.

    >>> element("rect", x=1.0, width=2.50001, stroke_width=3, fill=None)
    '<rect x="1" width="2.5" stroke-width="3"/>'
    """
    given = {key.replace("_", "-"): x for key, x in attributes.items() if x is not None}
    opening = "".join([name, *(f' {key}="{_shown(x)}"' for key, x in given.items())])
    return f"<{opening}>{''.join(children)}</{name}>" if children else f"<{opening}/>"


def _shown(value: object) -> str:
    return number(value) if isinstance(value, (int, float)) else for_html(str(value))


def number(x: float) -> str:
    """A number with at most two digits behind the point.

    >>> number(12.3456), number(7.0), number(-0.001)
    ('12.35', '7', '0')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def note(name: str, text: str) -> str:
    """A `title`, which browsers show under the pointer, or a `desc`: words for who cannot see.

    >>> note("title", "a < b")
    '<title>a &lt; b</title>'
    """
    return f"<{name}>{for_html(text)}</{name}>"


def rectangle(
    x: float, y: float, width: float, height: float, *children: str, **attributes: object
) -> str:
    """A rectangle by its upper left corner."""
    return element("rect", *children, x=x, y=y, width=width, height=height, **attributes)


def line(start: Point, end: Point, **attributes: object) -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def path(points: Sequence[Point], **attributes: object) -> str:
    """Straight pieces through points, not filled."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element("path", d=d, fill="none", **attributes)


def arrow(points: Sequence[Point], color: str, width: float = 1.6, head: float = 7.0) -> str:
    """A path that ends in a head."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    foot = (x1 - head * ux, y1 - head * uy)
    side = 0.45 * head
    corners = [
        (x1, y1),
        (foot[0] - side * uy, foot[1] + side * ux),
        (foot[0] + side * uy, foot[1] - side * ux),
    ]
    shown = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
    return path([*points[:-1], foot], stroke=color, stroke_width=width) + element(
        "polygon", points=shown, fill=color
    )


def text(x: float, y: float, words: str, size: float, color: str, **attributes: object) -> str:
    """A line of text whose middle is at height y."""
    content = for_html(words)
    return element(
        "text", content, x=x, y=y + 0.35 * size, font_size=size, fill=color, **attributes
    )


def formula(x: float, y: float, words: str, size: float, color: str, **attributes: object) -> str:
    """A line of letters whose middle is at height y; what follows an underscore stands lower.

    >>> formula(0, 0, "J_m", 10.0, "#000000").count("tspan")
    2
    """
    pieces = re.split(r"_(\w+)", words)
    low = {"font_size": 0.75 * size, "dy": 0.25 * size}
    content, down = "", False
    for number_of_piece, piece in enumerate(pieces):
        if number_of_piece % 2:
            lower = for_html(piece.replace("_", ","))
            content, down = content + element("tspan", lower, **low), True
        elif piece:
            up = element("tspan", for_html(piece), dy=-0.25 * size) if down else for_html(piece)
            content, down = content + up, False
    return element(
        "text", content, x=x, y=y + 0.35 * size, font_size=size, fill=color, **attributes
    )


def text_width(words: str, size: float) -> float:
    """At most how wide a line of text is, whichever of the fonts is there.

    >>> text_width("phi", 10.0), text_width("MM", 10.0)
    (17.0, 20.0)
    """
    return round(size * sum(map(_width, words)), 3)


def _width(letter: str) -> float:
    if letter in " .,:;'|!()[]ijlftr*-_\u00a0":
        return NARROW
    if letter in "mwMW@%" or ord(letter) > 0x2100:
        return WIDE
    return CAPITAL if letter.isupper() else OTHER


def shorten(words: str, width: float, size: float) -> str:
    """A text that fits: its middle left out, as much as has to be; two letters at each end stay.

    >>> shorten("left_shoulder_roll_joint", 60.0, 10.0)
    'left_…_joint'
    """
    if text_width(words, size) <= width:
        return words
    for fits in range(len(words) - 1, 3, -1):
        front = fits // 2
        shown = f"{words[:front]}…{words[len(words) - (fits - front) :]}"
        if text_width(shown, size) <= width:
            return shown
    return f"{words[:2]}…{words[-2:]}"


def document(
    width: float, height: float, title: str, description: str, parts: Iterable[str]
) -> str:
    """A whole drawing, on paper of its own: it can be read on any background.

    Args:
        width: in pixels.
        height: in pixels.
        title: what it shows, in a line.
        description: what is to be seen, for those who cannot.
        parts: the elements, the last on top.
    """
    paper = rectangle(
        0.5, 0.5, width - 1, height - 1, rx=6, fill="#ffffff", stroke="#d5d9de", stroke_width=1
    )
    return element(
        "svg",
        note("title", title),
        note("desc", description),
        paper,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        font_family=FONT,
        style="max-width: 100%; height: auto",
        role="img",
        aria_label=title,
    )
