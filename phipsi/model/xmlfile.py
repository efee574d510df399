"""XML files as plain elements that know their line.

Read by the standard library's expat. Document type declarations are refused,
so no entity is ever declared or expanded, and nothing recurses: depth and
size of a file cost time and memory, never the stack.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from phipsi.errors import InputError, ModelError
from phipsi.scalars import HUGE


class Element:
    """One element: its tag, attributes and children, and where it stands."""

    __slots__ = ("attributes", "children", "file", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int):
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.file = file
        self.line = line

    @property
    def place(self) -> str:
        """`file:line`, as every message about this element begins."""
        return f"{self.file}:{self.line}"

    def error(self, message: str) -> ModelError:
        """The ModelError to raise about this element."""
        return ModelError(f"{self.place}: {message}")

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that tag, in file order."""
        return (child for child in self.children if child.tag == tag)

    def find(self, tag: str) -> Element | None:
        """The one child of that tag, or None; ModelError if there are several."""
        found = [child for child in self.children if child.tag == tag]
        if len(found) > 1:
            raise found[1].error(
                f"a second <{tag}> in <{self.tag}>, the first is in line {found[0].line}; "
                "keep one of them"
            )
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The one child of that tag; ModelError if there is none."""
        child = self.find(tag)
        if child is None:
            raise self.error(f"<{self.tag}> has no <{tag}>; add one")
        return child

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value.strip():
            raise self.error(f'<{self.tag}> needs a {attribute}="..."')
        return value

    def number(self, attribute: str, default: float | None = None, finite: bool = True) -> float:
        """An attribute that is one number; with `default` it may be missing."""
        if default is not None and attribute not in self.attributes:
            return default
        return self.numbers(attribute, 1, finite=finite)[0]

    def numbers(
        self,
        attribute: str,
        count: int,
        default: tuple[float, ...] | None = None,
        finite: bool = True,
    ) -> tuple[float, ...]:
        """An attribute that is `count` numbers; with `default` it may be missing."""
        if default is not None and attribute not in self.attributes:
            return default
        values = _to_floats(self.attributes.get(attribute, ""))
        if len(values) != count:
            what = f'<{self.tag} {attribute}="{_shorten(self.text(attribute))}">'
            numbers = "one number" if count == 1 else f"{count} numbers, as in 0 0 1"
            raise self.error(f"{what}: expected {numbers}")
        largest = HUGE if finite else math.inf
        for x in values:
            if not -largest <= x <= largest:
                what = f'<{self.tag} {attribute}="{_shorten(self.text(attribute))}">'
                raise self.error(f"{what}: expected finite numbers of sensible size")
        return values


class Report:
    """Collects what a file holds that is odd, each with its line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, element: Element, message: str) -> None:
        """Something to know about the file."""
        self.lines.append(f"{element.place}: {message}")

    def note_unknown(self, element: Element, known: set[str]) -> None:
        """Children that the format does not know; a macro is refused."""
        for child in element.children:
            if child.tag.startswith("xacro:"):
                raise child.error(
                    f"<{child.tag}> is a xacro macro; expand the file first: "
                    "xacro robot.xacro > robot.urdf"
                )
            if child.tag not in known:
                owner = f"<{element.tag}>"
                if "name" in element.attributes:
                    owner = f"{element.tag} {element.attributes['name']!r}"
                self.note(child, f"<{child.tag}> is unknown in {owner} and ignored")


def in_file_order(file: str, lines: Iterable[str]) -> tuple[str, ...]:
    """Texts that begin with `file:line:`, sorted by line."""
    return tuple(sorted(lines, key=lambda text: int(text[len(file) + 1 :].split(":", 1)[0])))


def read_xml(path: str | os.PathLike[str]) -> Element:
    """The root element of an XML file.

    Raises:
        InputError: `path` is no path.
        ModelError: the file cannot be read, or is not well-formed XML; the
            message has its line.
    """
    file = _file_name(path)
    data = _read(file)
    if not data.strip():
        raise ModelError(f"{file}:1: the file is empty; expected an XML document")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, file, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    def refuse_doctype(*_: object) -> None:
        raise ModelError(
            f"{file}:{parser.CurrentLineNumber}: a document type declaration (<!DOCTYPE>) is "
            "refused, because it can declare entities; remove it and write out what it declares"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ModelError(
            f"{file}:{error.lineno}: broken XML: {expat.ErrorString(error.code)} "
            f"(column {error.offset + 1}){_encoding_hint(data)}"
        ) from None
    except (LookupError, ValueError) as error:
        raise ModelError(
            f"{file}:1: the declared encoding cannot be read ({error}); save the file as UTF-8"
        ) from None
    return roots.pop()  # the handlers and the parser, which hold each other, hold no element then


def _file_name(path: str | os.PathLike[str]) -> str:
    try:
        file = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path is {path!r}; expected the path of a file") from None
    if "\0" in file or file.lstrip().startswith("<"):
        raise InputError(
            f"path is {_shorten(file)!r}; expected the path of a file, not its contents"
        )
    return file


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        raise ModelError(
            f"{file}: no such file (looked from {os.getcwd()!r}); check the path"
        ) from None
    except IsADirectoryError:
        raise ModelError(f"{file}: this is a directory; give the file in it") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror or error}") from None


def _encoding_hint(data: bytes) -> str:
    """What to add to the parser's message if the file's bytes are no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"; line {line} is not UTF-8 text, save the file as UTF-8"
    return ""


def _to_floats(text: str) -> tuple[float, ...]:
    """Numbers as XML Schema writes them, or none; Python's 1_000 and non-ASCII digits are none."""
    if "_" in text or not text.isascii():
        return ()
    try:
        return tuple(map(float, text.split()))
    except ValueError:
        return ()


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
