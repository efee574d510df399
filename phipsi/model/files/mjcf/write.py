"""An MJCF document as MuJoCo gets it: what motion needs, each element on a line of its own.

So a line in a message of MuJoCo is an element of ours, whose file and line are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from phipsi.errors import name_choices
from phipsi.model.files.account import Notes
from phipsi.model.files.mjcf.words import (
    DROPPED,
    DROPPED_ANYWHERE,
    IGNORED,
    KEPT,
    LIMITS,
    MOVING,
    PARTS_OF_BODIES,
    PASSED,
    REFUSED,
    WORDS,
)
from phipsi.model.files.xmlfile import Element
from phipsi.scalars import HUGE

_ODD = re.compile(r"[+-]?(nan|inf|0x)", re.IGNORECASE)  # how numbers begin that are none in XML


class Writer:
    """Writes documents; lines are counted over all of them.

    Args:
        notes: takes note of what is refused.

    Attributes:
        elements: of each line, from 1.
        lost: what was left out though it bears coordinates.
    """

    def __init__(self, notes: Notes):
        self._notes = notes
        self.elements: list[Element | None] = [None]
        self.lost: list[Element] = []

    def write(self, root: Element, added: Mapping[Element, Mapping[str, str]]) -> str:
        """A document's text.

        Args:
            root: its root element.
            added: attributes that elements get in place of what they say.

        Raises:
            ModelError: for a word that is not in the format, and for numbers that are none.
        """
        lines = [""] * (len(self.elements) - 1)
        stack: list[Element | str] = [root]
        while stack:
            element = stack.pop()
            if isinstance(element, str):
                lines.append(element)
                self.elements.append(None)
                continue
            attributes = "".join(
                f" {name}={quoteattr(value)}"
                for name, value in self._attributes(element, added.get(element, {}))
            )
            children = [] if element.tag == "model" else list(self._children(element, element))
            lines.append(f"<{element.tag}{attributes}{'>' if children else '/>'}")
            self.elements.append(element)
            if children:
                stack += [f"</{element.tag}>", *reversed(children)]
        return "\n".join(lines)

    def _attributes(self, element: Element, added: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        element.seen = set(element.attributes)
        if element.status is None:
            element.status = "used"
        dropped = (*DROPPED.get(element.tag, ()), *DROPPED_ANYWHERE)
        for name, value in element.attributes.items():
            if name in dropped or name in added:
                continue
            if name not in WORDS:
                _check_numbers(element, name, value)
            yield name, value
        yield from added.items()

    def _children(self, element: Element, around: Element) -> Iterator[Element]:
        """What of an element goes to MuJoCo; `around` is the element that an <include> is in."""
        tag = around.tag
        passed = PASSED.get(tag)  # None: MuJoCo knows what may be in it
        for child in element.children:
            if child.tag == "include":
                yield from self._children(child, around)
            elif child.tag in IGNORED.get(tag, {}):
                child.mark("ignored", IGNORED[tag][child.tag])
            elif child.tag in REFUSED.get(tag, {}):
                self._notes.refuse(child, f"{REFUSED[tag][child.tag]}; it is left out")
                if child.tag in MOVING:
                    self.lost.append(child)
            elif passed is None or child.tag in passed:
                if child.tag in KEPT.get(tag, {}):
                    child.mark("kept", KEPT[tag][child.tag] + _without(child))
                yield child
            else:
                if tag == "mujoco" and child.tag in PARTS_OF_BODIES:
                    raise child.error(
                        f"<{child.tag}> stands in <{tag}>, so this looks like a part for "
                        "<include>; load the file that includes it"
                    )
                known = (*passed, *IGNORED.get(tag, ()), *REFUSED.get(tag, ()))
                raise child.error(
                    f"<{child.tag}> is unknown in <{tag}>; {name_choices(child.tag, known)}"
                )


def _without(element: Element) -> str:
    """What a keyframe says beside coordinates and speeds."""
    dropped = [x for x in DROPPED.get(element.tag, ()) if x in element.attributes]
    return f" without its {', '.join(dropped)}" if element.tag == "key" and dropped else ""


def _check_numbers(element: Element, name: str, value: str) -> None:
    """ModelError for numbers that are not finite, or so large that nothing is."""
    for word in value.split():
        if _ODD.match(word):
            if name in LIMITS and word.lower().lstrip("+-") in ("inf", "infinity"):
                continue
        else:
            try:
                if -HUGE <= float(word) <= HUGE:
                    continue
            except ValueError:
                continue  # a word, or a mistake that MuJoCo explains
        raise element.error(
            f'<{element.tag} {name}="{_short(value)}">: expected finite numbers of sensible size'
        )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
