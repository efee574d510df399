"""Sphinx configuration of phipsi's documentation."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # _generate

project = "phipsi"
author = "the phipsi developers"
copyright = f"2026, {author}"
version = release = installed_version("phipsi")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "_generate"]
myst_enable_extensions = ["colon_fence"]  # no math: its fonts would come over the network
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text says what each argument is, with its shape and unit
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"phipsi {version}"
html_static_path = ["_static"]
html_css_files = ["generated.css"]

SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Example|Examples|Note):$")


def mark_up(text):
    """One line of plain text as reStructuredText: stars are stars, `code` is code."""
    pieces = re.split(r"(``.+?``|`[^`]+`)", text)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = f"``{piece.strip('`')}``"
        else:
            pieces[i] = re.sub(r"([\\*|`]|(?<=\w)_(?!\w))", r"\\\1", piece)
    return "".join(pieces)


def read_docstring(app, what, name, obj, options, lines):
    """Turn a docstring, which is plain text, into reStructuredText, in place.

    An indented block after an empty line is shown as it stands; `phi* H*`,
    `(*batch, n)` and `|x|` lose no sign. Sections (`Args:` ...) and `>>>` are
    left to napoleon and to Sphinx.
    """
    result, literal, section, doctest = [], False, False, False
    previous = ""
    for line in lines:
        indented = line.startswith("  ")
        if line.strip():
            section = bool(SECTION.match(line)) or (section and indented)
            if not previous.strip():
                doctest = line.lstrip().startswith(">>>")
                starts_block = indented and not (section or doctest or literal)
                if starts_block and not any(text.rstrip().endswith("::") for text in result[-2:]):
                    result += ["::", ""]
                literal = (literal and indented) or starts_block
        result.append(line if literal or doctest else mark_up(line))
        previous = line
    if what in ("property", "attribute"):
        result[:0] = ["..", ""]  # a comment, or napoleon takes what precedes a colon for a type
    lines[:] = result


def setup(app):
    """Read docstrings before napoleon does (its priority is 500)."""
    app.connect("autodoc-process-docstring", read_docstring, priority=400)
