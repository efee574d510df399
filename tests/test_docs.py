"""The documentation runs: every code block of every page, and every row of the symbol table."""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import phipsi.operators
from phipsi.algebra.node import Node
from phipsi.algebra.spaces import SCALAR, SPACES, Space

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

FENCE = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)
NUMBER = re.compile(r"([+-]?\d+\.\d*(?:e[+-]?\d+)?)")


class Checker(doctest.OutputChecker):
    """As doctest, but numbers with a point may differ by one in the last digit shown."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        shown, found = ("".join(text.split()) for text in (want, got))
        wanted, numbers = NUMBER.split(shown), NUMBER.split(found)
        if wanted[::2] != numbers[::2]:  # what stands between the numbers
            return False
        pairs = zip(wanted[1::2], numbers[1::2], strict=True)
        return all(abs(float(x) - float(y)) <= 1.01 * last_digit(x) for x, y in pairs)


def last_digit(number: str) -> float:
    """What one unit of the last digit is worth, as 0.01 in 3.14."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def code_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """(line before it, text) of each python block of a page."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start(1)), match.group(1)


def run_block(page: Path, line: int, text: str, names: dict) -> None:
    """Run one block in the page's names; `>>>` examples must print what the page shows."""
    if ">>>" not in text:
        exec(compile("\n" * line + text, str(page), "exec"), names)
        return
    examples = doctest.DocTestParser().get_examples(text)
    test = doctest.DocTest(examples, names, page.name, str(page), line, text)
    test.globs = names  # not a copy: later blocks of the page go on with them
    complaints: list[str] = []
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    runner.run(test, out=complaints.append, clear_globs=False)
    assert not runner.failures, "".join(complaints)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_the_page_runs_and_prints_what_is_shown(as_for_users, page, tmp_path, monkeypatch):
    """All blocks of a page in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for line, text in code_blocks(page):
        run_block(page, line, text, names)


def test_a_wrong_output_or_a_broken_block_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n")
    (_, good), (line, wrong) = code_blocks(page)
    names: dict = {}
    run_block(page, 1, good, names)
    with pytest.raises(AssertionError, match=r"Expected:\s+2\s+Got:\s+1"):
        run_block(page, line, wrong, names)
    with pytest.raises(AssertionError, match=r"Got:\s+3.14"):
        run_block(page, 1, ">>> 3.14\n3.17\n", names)
    run_block(page, 1, ">>> [-0.0, 3.1416]\n[0., 3.142]\n", names)
    with pytest.raises(ZeroDivisionError):
        run_block(page, 1, "1 / 0\n", names)


# -- the symbol table ------------------------------------------------------------------


def notation_parts() -> tuple[str, str]:
    """docs/notation.md up to the table of spaces, and from the table of operators on."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    spaces, title, rest = text.partition("\n## Operators\n")
    assert title
    return spaces, rest


def rows_by_name(text: str) -> dict[str, list[str]]:
    """The first row of each name in code type.

    A letter's first row says what it is: `letter` | meaning | formula | maps | block | causality.
    """
    rows: dict[str, list[str]] = {}
    for match in ROW.finditer(text):
        cells = [cell.strip() for cell in match.group(1).split("|")]
        name = re.match(r"`([A-Za-z_0-9]+)", cells[0])
        if name:
            rows.setdefault(name.group(1), cells)
    return rows


def letters() -> dict[str, Node]:
    """Every operator of `phipsi.operators` with spaces of its own."""
    values = {name: getattr(phipsi.operators, name) for name in phipsi.operators.__all__}
    return {name: x for name, x in values.items() if isinstance(x, Node) and x.source is not None}


def maps(node: Node) -> str:
    """What the table says about the spaces of a letter."""

    def short(space: Space | None) -> str:
        assert space is not None
        return space.name

    if node.source is SCALAR:
        return short(node.target)
    return f"{short(node.source)} -> {short(node.target)}"


def test_notation_has_a_row_for_every_public_letter():
    assert set(phipsi.operators.__all__) - set(rows_by_name(notation_parts()[1])) == set()


@pytest.mark.parametrize("name", letters())
def test_notation_states_the_spaces_and_causality_of_the_code(name):
    cells, node = rows_by_name(notation_parts()[1])[name], letters()[name]
    assert cells[3] == maps(node)
    if node.source is not SCALAR:
        assert cells[5] == node.causality.value


def test_notation_lists_every_space():
    assert set(SPACES) - set(rows_by_name(notation_parts()[0])) == set()
