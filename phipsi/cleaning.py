"""Names and texts of files and users, cleaned for where they go.

A name may be anything: the letters that turn a terminal around, a formula of a spreadsheet, a
script. Whatever is shown or written to be read by others goes through one of these functions, and
is then seen, not obeyed. Names themselves stay as they are, also in errors: what prints them cleans
them. Two things no name may have, as no file holds them: `refuse_unwritable`.

    visible, visible_lines, quoted    terminals, logs, and whatever is text
    brief                             labels, titles, and lists: what is very long is cut
    for_html                          HTML, XML, SVG: between tags and in attributes
    for_markdown, as_code, fenced     Markdown: words, code within a line, blocks of code
    for_latex, from_latex             LaTeX: text, and back
    for_csv                           cells of tables that spreadsheets open
    for_netcdf                        names of dimensions, variables and attributes
"""

from __future__ import annotations

import html
import re
from unicodedata import category

# What moves the cursor, turns lines around, or begins new ones: controls, formats, separators,
# halves of letters.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# What takes no room and is in none of these categories, and what XML has no place for.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""One line of plain text: what acts or is not seen as Python writes it.

    >>> print(visible("a\x1b[31mb\nc\u202ed"))
    a\x1b[31mb\nc\u202ed
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_seen, text))


def visible_lines(text: str) -> str:
    r"""The same of a text of several lines.

    >>> print(visible_lines("a\nb\rc"))
    a
    b\rc
    """
    return "\n".join(map(visible, text.split("\n")))


def quoted(value: object) -> str:
    r"""A name in quotes as Python reads it, or another value; nothing of it is hidden.

    >>> print(quoted("a\ufe0f'"))
    "a\ufe0f'"
    """
    return visible(repr(value))


def brief(text: str, longest: int = 500) -> str:
    r"""One line of plain text of so many signs at most.

    >>> brief("arm\nof a crane"), brief("arm of a crane", 10)
    ('arm\\nof a crane', 'arm of ...')
    """
    line = visible(text[: longest + 1])
    return line if len(line) <= longest else f"{line[: longest - 4]} ..."


def for_html(text: str) -> str:
    """Text between tags, or in an attribute in quotes, of HTML, XML and SVG.

    >>> for_html("<b>&'")
    '&lt;b&gt;&amp;&#x27;'
    """
    return html.escape(visible_lines(text))


# -- Markdown ------------------------------------------------------------------------------

# Emphasis, code, links, cells, formulas; links without brackets; what begins a heading or a list.
_SIGNS = re.compile(r"[\\`*_\[\]|~$@]|:(?=//)|(?<=www)\.|^\s*[-#+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")


def for_markdown(text: str) -> str:
    r"""Words of Markdown, in one line: no emphasis, no links, no tags, no cells of a table.

    >>> print(for_markdown("**a** <b>"))
    \*\*a\*\* &lt;b&gt;
    """
    return html.escape(_SIGNS.sub(lambda sign: f"\\{sign[0].strip()}", visible(text)), quote=False)


def as_code(text: str) -> str:
    """Code within a line of Markdown, also in a cell of a table.

    >>> as_code("psi @ K"), as_code("J('`')")
    ('`psi @ K`', "`` J('`') ``")
    """
    text = visible(text).replace("|", r"\|")
    mark = "`" * (_longest_run(text) + 1)
    room = " " if "`" in text else ""
    return f"{mark}{room}{text}{room}{mark}"


def fenced(text: str) -> str:
    """A block of text in Markdown, nothing of it obeyed.

    >>> print(fenced("a"))
    ```text
    a
    ```
    """
    text = visible_lines(text)
    mark = "`" * max(3, _longest_run(text) + 1)
    return f"{mark}text\n{text}\n{mark}"


def _longest_run(text: str) -> int:
    """How many backticks follow each other at most."""
    return max(map(len, re.findall("`+", text)), default=0)


# -- LaTeX ---------------------------------------------------------------------------------

_LATEX = {sign: f"\\{sign}" for sign in "_%#&${}"}
_LATEX |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # pages that show formulas are HTML before they are LaTeX
    ">": r"\textgreater{}",
}
_FROM_LATEX = {written: sign for sign, written in _LATEX.items()}
_UNSEEN_IN_LATEX = r"{\textbackslash}"  # looks like a backslash, and is none of the text
_WRITTEN = re.compile(
    "|".join(map(re.escape, _FROM_LATEX))
    + "|"
    + re.escape(_UNSEEN_IN_LATEX)
    + "(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])"
)


def for_latex(text: str) -> str:
    r"""Text of LaTeX, outside of formulas or in \text.

    >>> print(for_latex("joint_1 {left}"))
    joint\_1 \{left\}
    """
    return "".join(_LATEX.get(sign) or _seen(sign, _UNSEEN_IN_LATEX) for sign in text)


def from_latex(text: str) -> str:
    r"""What `for_latex` has written.

    >>> from_latex(for_latex("joint_1 {left} \x1b"))
    'joint_1 {left} \x1b'
    """
    return _WRITTEN.sub(lambda found: _FROM_LATEX.get(found[0]) or _sign_of(found[1]), text)


def _sign_of(code: str) -> str:
    """The sign that Python writes as a backslash and this."""
    return f"\\{code}".encode().decode("unicode_escape")


# -- files ---------------------------------------------------------------------------------


def for_csv(text: str) -> str:
    """The text of a cell that no spreadsheet takes for a formula: then an apostrophe is before it.

    Quotation marks and commas are the writer's matter.

    >>> for_csv("elbow"), for_csv("=1+1"), for_csv("-1.5e-3")
    ('elbow', "'=1+1", '-1.5e-3')
    """
    text = visible(text)
    acts = text.lstrip(" ")[:1] in {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}
    return f"'{text}" if acts and not _NUMBER.fullmatch(text) else text


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def for_netcdf(name: str) -> str:
    """The name of a dimension, a variable or an attribute: no slash, and none of the format's own.

    >>> for_netcdf("arm/elbow "), for_netcdf("-x"), for_netcdf("CLASS")
    ('arm_elbow', '_-x', '_CLASS')
    """
    name = visible(name).replace("/", "_").strip() or "_"
    begins = name[0].isalnum() or name[0] == "_"
    return name if begins and name not in NETCDFS_OWN else f"_{name}"


NETCDFS_OWN = frozenset(
    {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    | {"_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_nc3_strict"}
)


# -- where names come in -------------------------------------------------------------------


def refuse_unwritable(what: str, name: str, error: type[Exception]) -> None:
    r"""The error for a name that no file holds: it has NUL, or half a letter (a surrogate).

    >>> refuse_unwritable("body", "a\0b", ValueError)
    Traceback (most recent call last):
        ...
    ValueError: body: the name 'a\x00b' has the sign '\x00', which no file holds; give another
    """
    if is_unwritable(name):
        sign = next(filter(is_unwritable, name))
        raise error(
            f"{what}: the name {name!r} has the sign {sign!r}, which no file holds; give another"
        )


def is_unwritable(text: str) -> bool:
    """Whether some sign of a text is NUL, or half a letter."""
    if "\0" in text:
        return True
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def _seen(sign: str, backslash: str = "\\") -> str:
    if sign.isascii() and sign.isprintable():
        return sign
    if category(sign) not in _ACTING and not _UNSEEN.match(sign):
        return sign
    return backslash + sign.encode("unicode_escape").decode("ascii")[1:]
