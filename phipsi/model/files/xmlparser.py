"""From the bytes of an XML document to its elements.

Read by the standard library's expat. Document type declarations are refused,
so no entity is ever declared or expanded, and nothing recurses: depth and
size of a file cost time and memory, never the stack; and both are bounded.

Most of a robot's file is looks and settings that nobody may ever ask for. They
are checked with the rest of the document, and made into elements when somebody
does: from the bytes in which they stand.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from xml.parsers import expat

from phipsi.errors import ModelError
from phipsi.model.files.element import Element

# By root element, the tags whose children are put off.
PUT_OFF = {"robot": frozenset({"visual", "collision", "gazebo"})}
# Beside those, the tags whose text is read; that of others is white space, and takes time.
TEXTUAL = {
    "robot": frozenset({"mechanicalReduction", "mechanical_reduction", "type", "plugin"}),
}
NONE: frozenset[str] = frozenset()

MOST_ELEMENTS = 1_000_000  # of a file: the largest machines known have a fiftieth of it

CUT_OFF = frozenset(  # what the parser complains of where a document ends too early
    expat.errors.codes[text]
    for text in (
        *(expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN),
        *(expat.errors.XML_ERROR_PARTIAL_CHAR, expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION),
    )
)
ENCODING = re.compile(rb"encoding\s*=\s*['\"]([^'\"]*)")


class _NestedError(Exception):
    """What was put off has an element of its own tag in it."""


def parse_xml(file: str, data: bytes) -> Element:
    """The root element of a document.

    Args:
        file: what it is called in messages.
        data: what stands in it.
    """
    if not data.strip():
        raise ModelError(f"{file}:1: the file is empty; expected an XML document")
    try:
        return _parse(file, data, 0, PUT_OFF if _is_utf8(data) else {})
    except _NestedError:
        return _parse(file, data, 0, {})


def _parse(
    file: str, data: bytes, lines_before: int, put_off: Mapping[str, frozenset[str]]
) -> Element:
    """The root element of some bytes, which so many lines come before."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    document = Element("", {}, file, 1)
    opened = [document]
    push, pop = opened.append, opened.pop
    textual = later = NONE  # tags, of this root
    waiting, begin = document, 0  # for the end of an element that is put off, and where it begins
    count = 0  # of elements, those that are put off too

    def start_root(tag: str, attributes: dict[str, str]) -> None:
        nonlocal textual, later
        if tag in put_off:
            textual, later = TEXTUAL[tag], put_off[tag]
        else:
            parser.CharacterDataHandler = write
        parser.StartElementHandler = start
        start(tag, attributes)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal waiting, begin, count
        count += 1
        if count > MOST_ELEMENTS:
            refuse_more()
        element = Element(tag, attributes, file, parser.CurrentLineNumber + lines_before)
        opened[-1].children.append(element)
        push(element)
        if tag in later:
            waiting, begin = element, parser.CurrentByteIndex
            parser.StartElementHandler = None
            parser.EndElementHandler = end_waiting
        elif tag in textual:
            parser.CharacterDataHandler = write

    def end(tag: str) -> None:
        pop()
        if tag in textual:
            parser.CharacterDataHandler = None

    def end_waiting(tag: str) -> None:
        nonlocal count
        if tag != waiting.tag:
            count += 1
            if count > MOST_ELEMENTS:
                refuse_more()
            return
        here, opening = parser.CurrentByteIndex, b"<" + tag.encode()
        if here != begin:
            # One of its own tag within may be what ends here, and may begin here, if it is empty.
            last = here + len(opening)
            if not data.startswith(opening, begin) or data.find(opening, begin + 1, last) >= 0:
                raise _NestedError
            waiting.put_off(inside, data, begin, here)
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        pop()

    def inside(element: Element, begin: int, here: int) -> list[Element]:
        """The children of an element that begins and ends there."""
        stop = data.index(b">", here) + 1
        return _parse(file, data[begin:stop], element.line - 1, {}).children

    def write(text: str) -> None:
        if not text.isspace():
            opened[-1].write(text)

    def refuse_more() -> None:
        raise ModelError(
            f"{file}:{parser.CurrentLineNumber + lines_before}: more than {MOST_ELEMENTS:,} "
            "elements, which no machine needs; check the path"
        )

    def refuse_doctype(*_: object) -> None:
        raise ModelError(
            f"{file}:{parser.CurrentLineNumber}: a document type declaration (<!DOCTYPE>) is "
            "refused, because it can declare entities; remove it and write out what it declares"
        )

    parser.StartElementHandler = start_root
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        root = document.children[0].tag if document.children else ""
        raise ModelError(f"{file}:{error.lineno}: {_complaint(error, data, root)}") from None
    except (LookupError, ValueError) as error:
        raise ModelError(
            f"{file}:1: the declared encoding cannot be read ({error}); save the file as UTF-8"
        ) from None
    finally:  # the parser and its handlers hold each other
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = parser.StartDoctypeDeclHandler = None
    return document.children[0]


def _is_utf8(data: bytes) -> bool:
    """Whether the bytes of a document are those of its text, as its first line tells."""
    if b"\0" in data[:4]:
        return False
    declared = ENCODING.search(data, 0, max(data.find(b"?>"), 0))
    return declared is None or declared[1].lower() in (b"utf-8", b"us-ascii")


def _complaint(error: expat.ExpatError, data: bytes, root: str) -> str:
    """What is wrong with bytes that are no document: of another kind, cut off, or broken."""
    start = data.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n\0")
    if not start.startswith((b"<", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        kind = "binary" if b"\0" in data else "JSON" if start.startswith((b"{", b"[")) else "no XML"
        also = "" if kind == "no XML" else ", no XML"
        return f"this is {kind}{also}; expected a URDF, SDF or MJCF file, whose text begins with <"
    if error.code in CUT_OFF:
        ending = f"</{root}> is closed" if root else "its first element is complete"
        return f"the file ends before {ending}; is it cut off?"
    where = f"(column {error.offset + 1}){_encoding_hint(data)}"
    return f"broken XML: {expat.ErrorString(error.code)} {where}"


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
