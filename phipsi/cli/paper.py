"""A derivation as a document of LaTeX, on paper as large as its longest line."""

from __future__ import annotations

from phipsi.explain.deriving.derivation import Derivation

LETTER, LINE, MARGIN = 2.2, 9.0, 15.0  # mm: a letter's width, a line's height
NARROWEST, LOWEST = 210.0, 100.0

DOCUMENT = r"""\documentclass{article}
\usepackage[paperwidth=%(width)gmm,paperheight=%(height)gmm,margin=%(margin)gmm]{geometry}
\usepackage{amsmath,amssymb}
\pagestyle{empty}
\begin{document}
%(body)s
\end{document}
"""


def paper(derivation: Derivation) -> str:
    """A whole document; `pdflatex` makes a page of it, and needs amsmath and amssymb.

    >>> import phipsi as pp
    >>> print(paper(pp.derive("Mass inv(Mass)")).splitlines()[0])
    \\documentclass{article}
    """
    formulas = max(len(step.after.unicode()) for step in derivation) if derivation.steps else 0
    formulas = max(formulas, len(derivation.expression.unicode()))
    reasons = max((len(step.reason) for step in derivation), default=0)
    size = {
        "width": max(NARROWEST, LETTER * (formulas + reasons) + 4 * MARGIN),
        "height": max(LOWEST, LINE * (len(derivation) + 1) + 4 * MARGIN),
        "margin": MARGIN,
        "body": derivation.latex(),
    }
    return DOCUMENT % size
