"""The documentation runs: every code block of every page, and every row of the symbol table."""

import re
import sys
from pathlib import Path

import pytest

import phipsi.operators
from phipsi.algebra.node import Node
from phipsi.algebra.spaces import SCALAR, SPACES, Space

ROOT = Path(__file__).parent.parent
ELSEWHERE = ("tour.md", "lagrange.md")  # test_tour.py and test_lagrange.py run these
DOCS = [x for x in sorted((ROOT / "docs").glob("*.md")) if x.name not in ELSEWHERE]
PAGES = [ROOT / "README.md", *DOCS]
ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)

sys.path.append(str(ROOT / "docs"))
from _generate import Block, blocks, generate, is_generated, run  # noqa: E402


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_the_page_runs_and_prints_what_is_shown(as_for_users, page, tmp_path, monkeypatch):
    """All blocks of a page in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for _, block in blocks(page.read_text(encoding="utf-8"), str(page)):
        run(block, names)


def python(code: str, *words: str) -> Block:
    return Block("page.md", 1, "python", words, code)


def test_a_wrong_output_or_a_broken_block_is_found():
    page = "```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n"
    (_, good), (_, wrong) = blocks(page, "page.md")
    names: dict = {}
    run(good, names)
    with pytest.raises(AssertionError, match=r"Expected:\s+2\s+Got:\s+1"):
        run(wrong, names)
    with pytest.raises(AssertionError, match=r"Got:\s+3.14"):
        run(python(">>> 3.14\n3.17\n"), names)
    run(python(">>> [-0.0, 3.1416]\n[0., 3.142]\n"), names)
    with pytest.raises(ZeroDivisionError):
        run(python("1 / 0\n"), names)


# -- pages that are generated ----------------------------------------------------------


class Drawn:
    def _repr_svg_(self) -> str:
        return "<svg></svg>"


class Table:
    def _repr_markdown_(self) -> str:
        return "| a |\n|---|\n| b |"


TEXT = "{code-block} text\n:class: shown\n\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print('one'); print('two')\n", f"```{TEXT}one\ntwo\n```\n"),
        ("print('one')\n1 + 1\n", f"```{TEXT}one\n```\n\n```{TEXT}2\n```\n"),
        ("'text'\n", f"```{TEXT}'text'\n```\n"),
        ("print('```')\n", f"````{TEXT}```\n````\n"),
        ("Drawn()\n", "```{raw} html\n<div class='drawing'><svg></svg></div>\n```\n"),
        ("Table()\n", "| a |\n|---|\n| b |\n"),
    ],
)
def test_what_a_block_shows_follows_it_as_in_a_notebook(code, shown):
    assert run(python(code, "run"), {"Drawn": Drawn, "Table": Table}) == shown


def test_a_page_is_generated_by_its_own_code():
    page = (
        "# Title\n\n```python\nx = 20\n```\n\n```python run\n2 * x\n```\n\n"
        "```python run alone\nprint(x)\n```\n\n```python run page\nprint('- one')\n```\n\n"
        "```sh\nrm everything\n```\n"
    )
    plain = page.replace(" run", "").replace(" page", "").replace(" alone", "")
    assert is_generated(page, "page.md") and not is_generated(plain, "page.md")
    assert generate(page, "page.md") == (
        "# Title\n\n```python\nx = 20\n```\n\n```python\n2 * x\n```\n\n"
        f"```{TEXT}40\n```\n\n\n```{TEXT}20\n```\n\n\n- one\n\n\n```sh\nrm everything\n```\n"
    )
    assert generate("```python\n1 / 0\n```\n", "page.md") == "```python\n1 / 0\n```\n"


def test_commands_of_a_page_print_what_they_would_in_a_shell():
    shown = generate("```sh run\nphipsi --version  # which\n\nphipsi inf\n```\n", "page.md")
    version = re.escape(phipsi.__version__)
    assert re.search(rf"^:class: shown\n\n{version}\nerror: .*inf.*\n```$", shown, re.MULTILINE)
    with pytest.raises(ValueError, match=r"page.md:1: expected phipsi ..., got `ls`"):
        generate("```sh run\nls\n```\n", "page.md")


def test_a_block_that_shows_nothing_is_refused_and_so_is_an_unknown_word():
    with pytest.raises(ValueError, match=r"page.md:1: the block is to show something"):
        generate("```python run\nx = 1\n```\n", "page.md")
    with pytest.raises(ValueError, match=r"page.md:1: .*'rum'.* expected some of .*'run'"):
        generate("```python rum\nx\n```\n", "page.md")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python Run\n1\n```\n", r"page.md:1: .*'Run'.* expected some of .*'run'"),
        ("```python run,alone\n1\n```\n", r"page.md:1: .*'run,alone'.* expected some of"),
        ("text\n\n```Python\n1\n```\n", r"page.md:3: 'Python' is no language .*'python'"),
        ("```py\n1\n```\n", r"page.md:1: 'py' is no language"),
        ("- one\n\n  ```python\n  1\n  ```\n", r"page.md:3: a block that is indented"),
        ("> ```python run\n> 1\n> ```\n", r"page.md:1: a block that is indented"),
        ("~~~python\n1\n~~~\n", r"page.md:1: .* begin with ```"),
        ("````{note}\n```python\n1\n```\n````\n", r"page.md:2: a block within another"),
        ("```python\n1\n", r"page.md:1: the block is never closed"),
    ],
)
def test_a_block_that_would_neither_run_nor_fail_is_refused(page, message):
    with pytest.raises(ValueError, match=message):
        list(blocks(page, "page.md"))


def test_a_block_that_shows_how_pages_are_written_does_not_run():
    page = "````text\n```python rum\n1 / 0\n```\n````\n\n```{toctree}\na\n```\n\n```\nplain\n```\n"
    assert list(blocks(page, "page.md")) == [] and generate(page, "page.md") == page


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
