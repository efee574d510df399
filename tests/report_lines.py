"""What a report must have, told by the file's text alone."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from phipsi.model.report import Remark, Report

MARKUP = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<([^\s/>!?]+)", re.DOTALL)


def elements_of(text: str) -> Iterator[tuple[int, ET.Element, ET.Element | None]]:
    """Each element of a document in its order: the line it begins in, itself, the one around it.

    The lines are those of the text `<tag`, looked for outside of comments.
    """
    starts = [found for found in MARKUP.finditer(text) if found[1]]
    root = ET.fromstring(text)
    around = {child: parent for parent in root.iter() for child in parent}
    for found, element in zip(starts, root.iter(), strict=True):
        assert found[1].rpartition(":")[2] == element.tag.rpartition("}")[2].rpartition(":")[2]
        yield text.count("\n", 0, found.start()) + 1, element, around.get(element)


def own_lines(report: Report) -> list[Remark]:
    """The lines that say of an element what became of it, not what else there is to say."""
    return [
        line for line in report if line.element and line[_head(line) :].startswith(line.element)
    ]


def _head(line: Remark) -> int:
    return len(f"{line.file}:{line.line}: ")


def assert_every_element_is_told(text: str, report: Report) -> list[tuple[ET.Element, Remark]]:
    """One line for each element, in the file's order, with the line it begins in."""
    expected, told = list(elements_of(text)), own_lines(report)
    assert len(told) == len(expected)
    for (number, element, _), line in zip(expected, told, strict=True):
        assert line.line == number
        tag = element.tag.rpartition("}")[2]
        assert re.match(rf"<([\w.-]+:)?{re.escape(tag.rpartition(':')[2])}\b", line.element)
    status = {element: line.status for (_, element, _), line in zip(expected, told, strict=True)}
    for _, element, parent in expected:
        if parent is not None and status[parent] in ("ignored", "refused"):
            assert status[element] == status[parent]  # nothing is read in what is left out
    assert sum(report.counts.values()) == len(report)
    return [(element, line) for (_, element, _), line in zip(expected, told, strict=True)]
