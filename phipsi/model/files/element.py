"""Elements of XML files: plain, with their line, and whether anybody read them.

An element that a reader asks for is thereby used, and so is an attribute;
`account` then tells of every part of the file what became of it, and nothing
that nobody asked for is lost in silence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from phipsi.errors import ModelError
from phipsi.model.report import Place, Status, label_of, shorten
from phipsi.scalars import HUGE

EXPAND = "expand the file first: xacro robot.xacro > robot.urdf"


class Element:
    """One element: its tag, attributes, text and children, where it stands, what became of it."""

    __slots__ = (
        *("attributes", "children", "file", "line", "tag"),
        *("_later", "_text", "reason", "seen", "status"),
    )

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int):
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.file = file
        self.line = line
        self.status: Status | None = None  # as a reader has it; else as the element around it
        self.reason = ""
        self.seen: set[str] | None = None  # the attributes that were read
        self._text: list[str] | None = None

    def put_off(
        self,
        make: Callable[[Element, int, int], list[Element]],
        data: bytes,
        begin: int,
        end: int,
    ) -> None:
        """Have its children made when somebody asks for them, of what stands there in the data."""
        self._later = make, data, begin, end
        del self.children

    def mentions(self, words: re.Pattern[bytes]) -> bool:
        """Whether it has words in it, as far as one can tell and makes no children for it."""
        try:
            _, data, begin, end = self._later
        except AttributeError:  # nothing was put off
            return True
        return words.search(data, begin, end) is not None

    def __getattr__(self, name: str) -> list[Element]:
        """The children that were put off: they have no value yet."""
        if name != "children":
            raise AttributeError(name)
        make, _, begin, end = self._later
        self.children = make(self, begin, end)
        return self.children

    @property
    def content(self) -> str:
        """The text directly in it."""
        return "".join(self._text or ())

    def write(self, text: str) -> None:
        """Add to its text."""
        if self._text is None:
            self._text = []
        self._text.append(text)

    @property
    def place(self) -> Place:
        """File and line."""
        return self.file, self.line

    @property
    def label(self) -> str:
        """`<joint 'elbow'>`."""
        return label_of(self.tag, self.attributes.get("name"))

    def error(self, message: str) -> ModelError:
        """The ModelError to raise about this element."""
        return ModelError(f"{self.file}:{self.line}: {message}")

    # -- what became of it

    def mark(self, status: Status, reason: str = "") -> None:
        """What became of this element, and of all in it that says nothing else of itself."""
        self.status, self.reason = status, reason

    def ignore(self, reasons: dict[str, str]) -> None:
        """Of children that nobody needs, by their tag: why."""
        for child in self.children:
            if child.tag in reasons:
                child.mark("ignored", reasons[child.tag])

    # -- children

    def all(self, *tags: str) -> Iterator[Element]:
        """The children of these tags, in file order."""
        for child in self.children:
            if child.tag in tags:
                if child.status is None:
                    child.status = "used"
                yield child

    def find(self, tag: str) -> Element | None:
        """The one child of that tag, or None; ModelError if there are several."""
        found: Element | None = None
        for child in self.children:
            if child.tag == tag:
                if found is not None:
                    raise child.error(
                        f"a second <{tag}> in <{self.tag}>, the first is in line {found.line}; "
                        "keep one of them"
                    )
                found = child
        if found is not None and found.status is None:
            found.status = "used"
        return found

    def parts(self, tags: frozenset[str]) -> dict[str, Element]:
        """The children of these tags, each by its tag; ModelError if there are several of one."""
        found: dict[str, Element] = {}
        for child in self.children:
            tag = child.tag
            if tag in tags:
                if tag in found:
                    self.find(tag)
                found[tag] = child
                if child.status is None:
                    child.status = "used"
        return found

    def need(self, tag: str) -> Element:
        """The one child of that tag; ModelError if there is none."""
        child = self.find(tag)
        if child is None:
            raise self.error(f"<{self.tag}> has no <{tag}>; add one")
        return child

    # -- attributes

    def get(self, attribute: str) -> str | None:
        """An attribute, or None."""
        seen = self.seen
        if seen is None:
            self.seen = {attribute}
        else:
            seen.add(attribute)
        return self.attributes.get(attribute)

    def look(self, *attributes: str) -> None:
        """Attributes that are known, and say nothing that is needed."""
        self.seen = (self.seen or set()).union(attributes)

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.get(attribute)
        if value is None or not value.strip():
            raise self.error(f'<{self.tag}> needs a {attribute}="..."')
        return value

    def number(self, attribute: str, default: float | None = None, finite: bool = True) -> float:
        """An attribute that is one number; with `default` it may be missing."""
        text = self.get(attribute)
        if text is None:
            if default is not None:
                return default
        else:
            try:
                value = float(text)
            except ValueError:
                pass
            else:
                if -HUGE <= value <= HUGE and text.isascii() and "_" not in text:
                    return value
        return self._checked(attribute, text, 1, finite)[0]

    def each(self, *attributes: str) -> list[float]:
        """Attributes that are one number each."""
        return [self.number(name) for name in attributes]

    def numbers(
        self,
        attribute: str,
        count: int,
        default: tuple[float, ...] | None = None,
        finite: bool = True,
    ) -> tuple[float, ...]:
        """An attribute that is `count` numbers; with `default` it may be missing."""
        value = self.get(attribute)
        if value is None and default is not None:
            return default
        return self._checked(attribute, value, count, finite)

    # -- text between tags

    def word(self) -> str:
        """The text in the element, which must not be empty."""
        value = self.content.strip()
        if not value:
            raise self.error(f"<{self.tag}> is empty; write <{self.tag}>...</{self.tag}>")
        return value

    def values(self, count: int, finite: bool = True) -> tuple[float, ...]:
        """The text in the element, which must be `count` numbers."""
        return self._checked("", self.word(), count, finite)

    def value(self, finite: bool = True) -> float:
        """The text in the element, which must be one number."""
        return self.values(1, finite)[0]

    def _checked(
        self, attribute: str, text: str | None, count: int, finite: bool
    ) -> tuple[float, ...]:
        """The numbers of an attribute, or of the content, for which no attribute is named.

        They are written as XML Schema has them: in ASCII, and 1_000 is Python's alone.
        """
        try:
            values = tuple(map(float, (text or "").split()))
        except ValueError:
            values = ()
        if text is None or len(values) != count or not text.isascii() or "_" in text:
            text = self.text(attribute) if attribute else self.word()
            numbers = "one number" if count == 1 else f"{count} numbers, as in 0 0 1"
            hint = f"; it is for xacro: {EXPAND}" if "${" in text or "$(" in text else ""
            raise self.error(f"{self._shown(attribute, text)}: expected {numbers}{hint}")
        largest = HUGE if finite else math.inf
        for x in values:
            if not -largest <= x <= largest:
                shown = self._shown(attribute, text)
                raise self.error(f"{shown}: expected finite numbers of sensible size")
        return values

    def _shown(self, attribute: str, text: str) -> str:
        """`<axis xyz="0 0 1">`, or `<pose>0 0 1</pose>`."""
        text = shorten(text)
        if attribute:
            return f'<{self.tag} {attribute}="{text}">'
        return f"<{self.tag}>{text}</{self.tag}>"
