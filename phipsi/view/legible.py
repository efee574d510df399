"""Text of others as text: names and messages of files, for pages and terminals."""

from __future__ import annotations

import html
from collections.abc import Iterable

LONGEST = 500  # characters of a name or a line
STRANGE = "\N{REPLACEMENT CHARACTER}"


def legible(text: str) -> str:
    """A name or a line as it can be shown anywhere: it steers no terminal, and can be encoded.

    Control characters, halves of characters and marks that turn the direction of
    writing are replaced; what is very long is cut.

    >>> legible("arm\\x1b[2J\\nof \\ud800 crane")
    'arm�[2J of � crane'
    """
    line = " ".join(text[: 2 * LONGEST].split())
    if len(line) > LONGEST or len(text) > 2 * LONGEST:
        line = f"{line[: LONGEST - 4]} ..."
    return "".join(sign if sign.isprintable() else STRANGE for sign in line)


def as_html(lines: Iterable[str]) -> str:
    """Lines as HTML that shows them as they are, whatever signs they have.

    >>> as_html(["<b>", "![](a.png)"])
    '<pre style="white-space: pre-wrap; overflow-wrap: anywhere">&lt;b&gt;\\n![](a.png)</pre>'
    """
    text = html.escape("\n".join(map(legible, lines)))
    return f'<pre style="white-space: pre-wrap; overflow-wrap: anywhere">{text}</pre>'
