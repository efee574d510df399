"""Pages whose code runs when they are built, and is followed by what it shows.

    ```python              runs; `>>>` examples must print what the page says
    ```python run          runs, and what it prints and its last value follow it
    ```python run alone    the same, and the code itself is left out
    ```python run page     the same, and what is printed is part of the page: Markdown
    ```sh run              commands `phipsi ...`, followed by what they print

Blocks of a page share one namespace and run in order, in an empty folder. A value
is shown as it would be in a notebook: as a drawing, as Markdown, else as text. A
block that is to show something and does not, an example that prints something
else, or a block of which it is not clear whether it runs, ends the build. The tests
run the same blocks by the same functions.

GitHub shows such a page without what is generated, the code in its colours.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

RUN, ALONE, PAGE = "run", "alone", "page"
WORDS = (RUN, ALONE, PAGE)
LANGUAGES = ("python", "sh")
OTHERS = ("", "text")  # shown as they stand; directives of Sphinx, {name}, are left to it
FENCE = re.compile(
    r"^(?P<before>[ \t>*+-]*)(?P<fence>`{3,}|~{3,})(?P<words>[^`\n]*)$", re.MULTILINE
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NUMBER = re.compile(r"([+-]?\d+\.\d*(?:e[+-]?\d+)?)")


@dataclass(frozen=True)
class Block:
    """A block of code on a page.

    Args:
        page: the name of its file, for tracebacks.
        line: how many lines of the page stand before its code.
        language: "python" or "sh".
        words: what follows the language.
        code: its lines.
    """

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    code: str

    @property
    def shows(self) -> bool:
        """Whether what it shows follows it."""
        return RUN in self.words

    @property
    def runs(self) -> bool:
        """Whether it runs at all; of commands, only those that show something do."""
        return self.language == "python" or self.shows


def blocks(text: str, page: str) -> Iterator[tuple[slice, Block]]:
    """The blocks of a page that run, and where they stand in its text.

    ValueError for one that looks as if it ran, and does not.
    """
    end = 0
    while found := FENCE.search(text, end):
        line = 1 + text.count("\n", 0, found.start())
        close = re.compile(rf"^[ \t>]*{found['fence']}{found['fence'][0]}*[ \t]*$", re.MULTILINE)
        closed = close.search(text, found.end())
        if closed is None:
            raise ValueError(f"{page}:{line}: the block is never closed")
        code, end = text[found.end() + 1 : closed.start()], closed.end()
        language, *words = found["words"].split() or [""]
        _check(found, language, words, code, f"{page}:{line}")
        block = Block(page, line, language, tuple(words), code)
        if block.runs:
            yield slice(found.start(), end), block


def _check(found: re.Match, language: str, words: Sequence[str], code: str, where: str) -> None:
    """ValueError for a block of which it is not clear whether it runs."""
    if language.startswith("{"):
        inner = FENCE.search(code)
        if inner:
            page, _, line = where.rpartition(":")
            at = int(line) + 1 + code.count("\n", 0, inner.start())
            raise ValueError(f"{page}:{at}: a block within another, {language}, would not run")
        return
    if language not in (*LANGUAGES, *OTHERS):
        raise ValueError(
            f"{where}: {language!r} is no language of pages; expected some of {LANGUAGES + OTHERS}"
        )
    if language in OTHERS:
        return
    if found["before"]:
        raise ValueError(f"{where}: a block that is indented, or in a list, would not run")
    if found["fence"] != "```":
        raise ValueError(f"{where}: {found['fence']}; blocks of {language} begin with ```")
    if set(words) - set(WORDS):
        raise ValueError(f"{where}: {words} after a language; expected some of {WORDS}")


def generate(text: str, page: str) -> str:
    """The text of a page with what its blocks show."""
    if not is_generated(text, page):
        return text
    names: dict[str, Any] = {"__name__": "__main__"}
    made, end = [], 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for place, block in blocks(text, page):
            shown = run(block, names)
            if block.shows:
                code = f"```{block.language}\n{block.code}```\n\n"
                hidden = ALONE in block.words or PAGE in block.words
                made += [text[end : place.start], "" if hidden else code, shown]
                end = place.stop
    return "".join([*made, text[end:]])


def is_generated(text: str, page: str) -> bool:
    """Whether something on a page is to be shown by its code."""
    return any(block.shows for _, block in blocks(text, page))


# -- one block -------------------------------------------------------------------------


def run(block: Block, names: dict[str, Any]) -> str:
    """Run a block in the names of its page; what it shows, in Markdown, if it is to show it."""
    if ">>>" in block.code and block.language == "python":
        _examine(block, names)
        return ""
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        if block.language == "sh":
            _command(block, printed)
        else:
            value = _execute(block, names)
    text = [printed.getvalue()] if PAGE in block.words else _text(printed.getvalue())
    shown = "\n".join([*text, *_as_in_a_notebook(value)])
    if block.shows and not shown:
        raise ValueError(f"{block.page}:{block.line}: the block is to show something, and does not")
    return shown


def _execute(block: Block, names: dict[str, Any]) -> Any:
    """Run the code; the value of its last line, if that is an expression."""
    tree = ast.parse("\n" * block.line + block.code, block.page)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, block.page, "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), block.page, "eval"), names)


def _examine(block: Block, names: dict[str, Any]) -> None:
    """Run `>>>` examples; they must print what the page says."""
    examples = doctest.DocTestParser().get_examples(block.code)
    test = doctest.DocTest(examples, names, block.page, block.page, block.line, block.code)
    test.globs = names  # not a copy: later blocks of the page go on with them
    complaints: list[str] = []
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    runner.run(test, out=complaints.append, clear_globs=False)
    assert not runner.failures, "".join(complaints)


def _command(block: Block, printed: io.StringIO) -> None:
    """Run the lines of a block as a shell would, and print what each prints."""
    from phipsi.cli import main

    for line in block.code.splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program == "phipsi":
            with redirect_stderr(printed):
                main(words)
        elif program:
            raise ValueError(f"{block.page}:{block.line}: expected phipsi ..., got `{line}`")


def _as_in_a_notebook(value: Any) -> Iterator[str]:
    """A value, in Markdown."""
    if hasattr(value, "_repr_svg_"):
        yield f"```{{raw}} html\n<div class='drawing'>{value._repr_svg_()}</div>\n```\n"
    elif hasattr(value, "_repr_markdown_"):
        yield f"{value._repr_markdown_()}\n"
    elif value is not None:
        yield from _text(repr(value))


def _text(printed: str) -> Iterator[str]:
    """What was printed, as it stands."""
    if printed.strip():
        fence = "````" if "```" in printed else "```"
        yield f"{fence}{{code-block}} text\n:class: shown\n\n{printed.rstrip()}\n{fence}\n"


class Checker(doctest.OutputChecker):
    """As doctest, but numbers with a point may differ by one in the last digit shown."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether an example printed what the page says."""
        if super().check_output(want, got, optionflags):
            return True
        shown, found = ("".join(text.split()) for text in (want, got))
        wanted, numbers = NUMBER.split(shown), NUMBER.split(found)
        if wanted[::2] != numbers[::2]:  # what stands between the numbers
            return False
        pairs = zip(wanted[1::2], numbers[1::2], strict=True)
        return all(abs(float(x) - float(y)) <= 1.01 * _last_digit(x) for x, y in pairs)


def _last_digit(number: str) -> float:
    """What one unit of the last digit is worth, as 0.01 in 3.14."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


# -- Sphinx ----------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    """Generate pages as Sphinx reads them, and read those anew whenever phipsi may have changed."""

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = generate(source[0], f"{name}.md")

    def outdated(app: Any, env: Any, added: set, changed: set, removed: set) -> list[str]:
        texts = {name: env.doc2path(name).read_text("utf-8") for name in env.found_docs}
        return [name for name, text in texts.items() if is_generated(text, f"{name}.md")]

    app.connect("source-read", read)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
