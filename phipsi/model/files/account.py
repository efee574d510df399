"""What became of every element of a file: used, merged, kept, ignored or refused."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from phipsi.errors import ModelError
from phipsi.model.files.element import EXPAND
from phipsi.model.files.xmlfile import Element
from phipsi.model.report import Remark, Report, Status

HINT = "; strict=False leaves it out"
READ: tuple[Status, ...] = ("used", "merged", "kept")  # what somebody looked into
UNKNOWN = "unknown"
_NAME = frozenset({"name"})

# Why what a format knows is not asked for: by the tag of the element around it, or by the tag and
# the one around that, `transmission/joint`; then by its own tag. Attributes are written `@name`.
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
            raise element.error(f"{message}{HINT}")
        element.mark("refused", message)

    def refuse_error(self, element: Element, error: ModelError) -> None:
        """An element that the machine is without for an error in it, which is raised when strict.

        The error keeps its own place, which may be further inside, and the hint that it has.
        """
        text = str(error)
        if not self.strict:
            element.mark("refused", message_of(error, element))
        elif text.endswith(HINT):
            raise error
        elif text.startswith(f"{element.file}:"):
            raise ModelError(f"{text}{HINT}") from None
        else:
            raise element.error(f"{text}{HINT}") from None


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
        reasons: why elements and attributes that the format knows are not asked for.
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


def refuse_unknown(root: Element, motion: Container[str], reasons: Reasons | None = None) -> None:
    """ModelError for what nobody asked for where it could concern motion.

    For a strict reader, once it has read everything; elsewhere what is unknown is a remark.

    Args:
        root: the file's root element.
        motion: the elements that tell how the machine moves, by their tag and that of the element
            around them, `joint/limit`.
        reasons: as those of `account`.
    """
    for each in _fates(root, reasons or {}):
        for what, where in each.unknown:
            if (each.path if each.status in READ else each.around) in motion:
                raise each.element.error(
                    f"{what} is unknown{where}, where it may concern motion; mend it, or have it "
                    "ignored by strict=False"
                )


class _Fate(NamedTuple):
    """What became of an element."""

    element: Element
    path: str  # its tag, after that of the element around it
    around: str  # the path of that element
    status: Status
    reason: str
    notable: bool
    unknown: list[tuple[str, str]]  # the element itself or attributes of it, and where they are


def _of_elements(root: Element, reasons: Reasons) -> Iterator[Remark]:
    """A line for each element, parents first, and for each attribute that is unknown."""
    for element, _, _, status, reason, notable, unknown in _fates(root, reasons):
        label, place = element.label, element.place
        if reason != UNKNOWN:
            text = f"{label}: {status}"
            if reason:
                text += f": {reason}" if notable else f", {reason}"
            yield Remark(status, text, place, label, notable)
        for what, where in unknown:
            text = f"{what} is unknown and ignored{where}"
            yield Remark("ignored", text, place, label, notable=True)


def _fates(root: Element, reasons: Reasons) -> Iterator[_Fate]:
    """What became of each element, parents first."""
    stack: list[tuple[Element, Element, str, Status]] = [(root, root, "", "used")]
    while stack:
        element, parent, around, outer = stack.pop()
        path = f"{parent.tag}/{element.tag}"
        why = _known(reasons, around).get(element.tag, "")
        status, reason, notable = _fate(element, outer, why)
        unknown = []
        if reason == UNKNOWN:
            unknown.append((element.label, f" in {parent.label}"))
        elif status in READ and not (element.attributes.keys() <= (element.seen or _NAME)):
            known, seen = _known(reasons, path), element.seen or ()
            unknown += [
                (f"the attribute {name!r} of {element.label}", "")
                for name in element.attributes
                if name not in seen and f"@{name}" not in known and not _is_plain(name)
            ]
        yield _Fate(element, path, around, status, reason, notable, unknown)
        stack += [(child, element, path, status) for child in reversed(element.children)]


def _known(reasons: Reasons, path: str) -> Mapping[str, str]:
    """What is known within an element of that path."""
    return reasons.get(path) or reasons.get(path.rpartition("/")[2], {})


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
                raise child.error(f"<{child.tag}> is a xacro macro; {EXPAND}")


def message_of(error: ModelError, element: Element) -> str:
    """The text of an error in an element, without the file that it begins with, and its line."""
    text, start = str(error), f"{element.file}:"
    if not text.startswith(start):
        return text
    line, _, text = text[len(start) :].partition(": ")
    return text if int(line) == element.line else f"line {line}: {text}"
