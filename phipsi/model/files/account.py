"""What became of every element of a file: used, merged, kept, ignored or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from phipsi.errors import ModelError
from phipsi.model.files.xmlfile import Element
from phipsi.model.report import Remark, Report, Status

READ: tuple[Status, ...] = ("used", "merged", "kept")  # what somebody looked into
UNKNOWN = "unknown and ignored"

Reasons = Mapping[str, Mapping[str, str]]


class Notes:
    """Collects what a reader has to say about a file, beside what its elements tell.

    Args:
        strict: raise what is refused, instead of noting it.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.lines: list[Remark] = []

    def note(self, element: Element, message: str, status: Status = "used") -> None:
        """Something to know about the file."""
        self.lines.append(Remark(status, message, element.place, element.label, notable=True))

    def refuse(self, element: Element, message: str) -> None:
        """An element that the machine is without; ModelError when strict."""
        if self.strict:
            raise element.error(f"{message}; strict=False leaves it out")
        element.mark("refused", message)


def account(
    root: Element,
    notes: Iterable[Remark],
    reasons: Reasons | None = None,
    settle: Callable[[], None] | None = None,
) -> Report:
    """The report of a file: a line for each element, and the notes, in the file's order.

    An element says itself what became of it, or it is as the element around
    it; within one that was read, what nobody asked for is unknown, unless
    there is a reason why nobody did. So is an attribute that nobody asked for.

    Args:
        root: the file's root element.
        notes: what else there is to say.
        reasons: why elements that the format knows are not asked for, by the tag of the
            element around them and their own; attributes as `@name`.
        settle: marks elements whose fate is only told when somebody wants to know.
    """
    lines = tuple(notes)  # the elements are looked at later

    def make() -> Iterable[Remark]:
        if settle is not None:
            settle()
        everything = [*_of_elements(root, reasons or {}), *lines]
        files = {line.file: k for k, line in reversed([*enumerate(everything)])}  # as they come
        return sorted(everything, key=lambda line: (files[line.file], line.line))

    return Report(make)


def _of_elements(root: Element, reasons: Reasons) -> Iterator[Remark]:
    """A line for each element, parents first, and for each attribute that is unknown."""
    stack: list[tuple[Element, Element | None, Status]] = [(root, None, "used")]
    while stack:
        element, parent, around = stack.pop()
        why = reasons.get(parent.tag, {}).get(element.tag, "") if parent else ""
        status, reason, notable = _fate(element, around, why)
        label = element.label
        if notable and parent is not None:
            text = f"{label} is {reason} in {parent.label}" if reason == UNKNOWN else ""
            text = text or f"{label}: {status}: {reason}"
        else:
            text = f"{label}: {status}" + (f", {reason}" if reason else "")
        yield Remark(status, text, element.place, label, notable)
        if status in READ:
            known, seen = reasons.get(element.tag, {}), element.seen or ()
            for name in element.attributes:
                if name not in seen and f"@{name}" not in known and not _is_plain(name):
                    text = f"the attribute {name!r} of {label} is {UNKNOWN}"
                    yield Remark("ignored", text, element.place, label, notable=True)
        stack += [(child, element, status) for child in reversed(element.children)]


def _is_plain(attribute: str) -> bool:
    """Whether an attribute is known whatever it stands in: a name, a namespace."""
    return attribute == "name" or attribute.startswith("xmlns")


def _fate(element: Element, around: Status, why: str) -> tuple[Status, str, bool]:
    """What became of an element: its status, why, and whether one should read of it."""
    if around not in READ:
        return around, "as what it is in", False
    if element.status is None:
        return "ignored", why or UNKNOWN, not why
    if element.status == "used":
        return around, element.reason, False
    return element.status, element.reason, element.status == "refused"


def refuse_macros(*elements: Element) -> None:
    """ModelError for macros in these elements, which somebody else must expand."""
    for element in elements:
        for child in element.children:
            if child.tag.startswith("xacro:"):
                raise child.error(
                    f"<{child.tag}> is a xacro macro; expand the file first: "
                    "xacro robot.xacro > robot.urdf"
                )


def message_of(error: ModelError, element: Element) -> str:
    """The text of an error in an element, without the file that it begins with, and its line."""
    text, start = str(error), f"{element.file}:"
    if not text.startswith(start):
        return text
    line, _, text = text[len(start) :].partition(": ")
    return text if int(line) == element.line else f"line {line}: {text}"
