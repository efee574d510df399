"""MJCF files made whole: <include> and <model> opened, in bounds.

Everything that MuJoCo will see is read here first, by our own XML parser. An
<include> becomes the elements of its file, and a <model> holds the root of
its file. What <replicate> and <attach> will multiply is counted before it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from phipsi.model.files.mjcf.files import MOST_FILES, Files
from phipsi.model.files.mjcf.words import IGNORED
from phipsi.model.files.xmlfile import Element, parse_xml

DOCUMENTS = (".xml", ".mjcf")
DEEPEST = 400  # elements in each other: MuJoCo's own parser allows 500
_TOO_DEEP = f"more than {DEEPEST} elements are in each other here; nest fewer"
MOST_PARTS = 20_000  # elements, with every copy counted: MuJoCo's time grows with the square
FINEST = 200  # first parameter of a built-in mesh: it may have the square of that as vertices
MOST_PRODUCT = 50_000  # of its first three parameters: likewise


@dataclass(eq=False)
class Document:
    """An MJCF file with its includes, and the models that it can attach.

    Args:
        root: its <mujoco>.
        folder: of the file.
        models: by the <model> elements, their documents.
    """

    root: Element
    folder: str
    models: dict[Element, Document] = field(default_factory=dict)


def assemble(root: Element, files: Files) -> list[Document]:
    """The document of a file, and those it attaches, each after those that attach it.

    Raises:
        ModelError: for files that include or attach themselves, and too many.
    """
    return _Assembly(files).run(root)


def children(element: Element, tag: str) -> Iterator[Element]:
    """The children of that tag, those of included files among them."""
    for child in element.children:
        if child.tag == "include":
            yield from children(child, tag)
        elif child.tag == tag:
            yield child


class _Assembly:
    def __init__(self, files: Files):
        self._files = files
        self._opened = 0
        self._documents: dict[str, Document] = {}  # by their paths

    def run(self, root: Element) -> list[Document]:
        main = Document(root, self._files.folder)
        self._complete(main, [os.path.abspath(root.file)])
        return [main, *self._documents.values()]

    def _complete(self, document: Document, around: list[str]) -> None:
        """Open what a document includes and attaches; `around` are the files that lead to it."""
        included = {around[-1]}
        stack = [(document.root, 1)]
        while stack:
            element, depth = stack.pop()
            if depth > DEEPEST:
                raise element.error(_TOO_DEEP)
            if element.tag == "include":
                self._include(element, document, included)
                depth -= 1
            if element.tag == "model":
                self._attach(element, document, around)
                continue
            stack += [(child, depth + 1) for child in reversed(element.children)]

    def _include(self, element: Element, document: Document, included: set[str]) -> None:
        path = self._path(element, document)
        if path in included:
            raise element.error(
                f"{element.text('file')!r} is included a second time; a file is included once"
            )
        included.add(path)
        element.mark("used")
        element.children = self._open(element, path).children

    def _attach(self, element: Element, document: Document, around: list[str]) -> None:
        path = self._path(element, document)
        element.children = []
        if path in around:
            raise element.error(f"{element.text('file')!r} is a model of itself; attach another")
        if path not in self._documents:
            root = self._open(element, path)
            if root.tag != "mujoco":
                raise root.error(f"the root element is <{root.tag}>; expected <mujoco>")
            root.status = "used"
            element.children = [root]
            made = Document(root, os.path.dirname(path))
            self._complete(made, [*around, path])
            self._documents[path] = made
        document.models[element] = self._documents[path]

    def _path(self, element: Element, document: Document) -> str:
        name = element.text("file")
        if not name.lower().endswith(DOCUMENTS):
            raise element.error(
                f"<{element.tag}> names the file {name!r}; expected one that ends in "
                f"{' or '.join(DOCUMENTS)}"
            )
        near = os.path.dirname(os.path.abspath(element.file))
        return self._files.find(element, name, (document.folder, near))

    def _open(self, element: Element, path: str) -> Element:
        self._opened += 1
        if self._opened > MOST_FILES:
            raise element.error(f"more than {MOST_FILES} files; put them into fewer")
        return parse_xml(path, self._files.read(path))


# -- how much it becomes ---------------------------------------------------------------


def check_growth(documents: list[Document]) -> None:
    """ModelError for a machine that replicas and attachments make too large, or endless."""
    known: dict[Element, _Size] = {}
    for document in reversed(documents):  # those that are attached first
        _Growth(document, known).measure(document.root)


_Size = tuple[int, int]  # elements, and how many of them are in each other


class _Growth:
    """Counts elements with every copy.

    Args:
        document: whose elements are counted.
        known: sizes that are known, those of other documents' roots among them.
    """

    def __init__(self, document: Document, known: dict[Element, _Size]):
        self._known = known
        self._open: set[Element] = set()
        self._named: dict[tuple[str, str], Element] = {}
        self._models: dict[str, Element] = {}
        for element in _everything(document.root):
            if element.tag in ("body", "frame") and "name" in element.attributes:
                self._named.setdefault((element.tag, element.attributes["name"]), element)
        for element, other in document.models.items():
            own = other.root.attributes.get("model", "")
            self._models[element.attributes.get("name", own)] = other.root

    def measure(self, element: Element) -> _Size:
        """How many elements this one becomes, and how deep."""
        if element in self._known:
            return self._known[element]
        if element in self._open:
            raise element.error(f"{element.label} is attached to itself, without end")
        self._open.add(element)
        total, height = 1, 0
        for part in self._parts(element):
            if len(self._open) > DEEPEST:
                raise element.error(_TOO_DEEP)
            more, deep = self.measure(part)
            total, height = total + more, max(height, deep)
        total *= _copies(element)
        if height >= DEEPEST:
            raise element.error(_TOO_DEEP)
        if total > MOST_PARTS:
            raise element.error(
                f"{element.label} becomes more than {MOST_PARTS:,} elements, which is too much for "
                "MuJoCo; make fewer"
            )
        self._open.remove(element)
        self._known[element] = total, height + 1
        return self._known[element]

    def _parts(self, element: Element) -> list[Element]:
        """What an element is made of: what it attaches, or what is in it."""
        if element.tag == "attach":
            target = self._target(element)
            return [] if target is None else [target]
        if element.tag == "mujoco":
            return [x for x in element.children if x.tag not in IGNORED["mujoco"]]
        return [] if element.tag == "model" else element.children

    def _target(self, attach: Element) -> Element | None:
        """What an <attach> copies; None if it names nothing that there is."""
        model = attach.attributes.get("model")
        if model is not None:  # all of it is more than any part
            return self._models.get(model)
        for kind in ("body", "frame"):
            if kind in attach.attributes:
                return self._named.get((kind, attach.attributes[kind]))
        return None


def _copies(element: Element) -> int:
    """How often an element is made, by its numbers."""
    if element.tag == "replicate":
        count = element.number("count")
        if not 0 <= count <= MOST_PARTS or count != int(count):
            raise element.error(
                f'<replicate count="{count:g}">: expected a whole number from 0 to {MOST_PARTS:,}'
            )
        if count == 0:
            element.mark("ignored", "nothing is made of it")
        return max(1, int(count))  # MuJoCo reads what is in it once, anyway
    if element.tag == "mesh" and "builtin" in element.attributes:
        sizes = [1.0]
        for x in element.attributes.get("params", "").split()[:3]:
            with suppress(ValueError):  # MuJoCo will say so
                sizes.append(max(1.0, abs(float(x))))
        if max(sizes[:2]) > FINEST or math.prod(sizes) > MOST_PRODUCT:
            raise element.error(f"{element.label} is too fine; give it smaller params")
    return 1


def _everything(root: Element) -> list[Element]:
    found, stack = [], [root]
    while stack:
        element = stack.pop()
        found.append(element)
        if element.tag != "model":
            stack += element.children
    return found
