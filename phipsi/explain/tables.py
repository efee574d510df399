"""Tables of what the algebra knows, as Markdown: the identities, and the papers' errata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from phipsi.algebra.errata import Erratum, errata
from phipsi.algebra.identities import TOPICS, Equation
from phipsi.cleaning import as_code, for_markdown


def _as_code(equation: Equation) -> str:
    return as_code(str(equation))


def identities_table(
    equations: Iterable[Equation], show: Callable[[Equation], str] = _as_code
) -> str:
    """Equations as a Markdown table: name, equation, where it holds, source.

    Args:
        equations: those of `identities(...)`, or some of them.
        show: an equation as Markdown; as it is typed, unless told.

    Returns:
        Markdown.

    >>> from phipsi.algebra.identities import identity
    >>> print(identities_table([identity("Lemma 5")]))
    | name | equation | holds for | source |
    |---|---|---|---|
    | Lemma 5 | `psi.inv = phi.inv + K @ H` | every tree | 003 Lemma 5 |
    """
    rows = []
    for one in equations:
        name, where, source = map(for_markdown, (one.name, _holds_for(one), one.source.strip("[]")))
        rows.append((name, show(one), where, source))
    return _table(("name", "equation", "holds for", "source"), rows)


def identities_by_topic(show: Callable[[Equation], str] = _as_code) -> str:
    """All identities of the papers as Markdown: a heading and a table for each topic.

    Args:
        show: an equation as Markdown; as it is typed, unless told.

    Returns:
        Markdown, its headings of the third level.

    >>> identities_by_topic().splitlines()[0]
    '### What the letters stand for'
    """
    return "\n\n".join(
        f"### {title[0].upper()}{title[1:]}\n\n{identities_table(topic.EQUATIONS, show)}"
        for title, topic in TOPICS.items()
    )


def errata_table(paper: str | None = None) -> str:
    """Where the print of a paper is wrong, as a Markdown table; of all papers with their number.

    Args:
        paper: "000", "001", "002", "003", "004-I" or "004-II".

    Returns:
        Markdown.

    >>> print(errata_table("003").splitlines()[3])  # doctest: +NORMALIZE_WHITESPACE
    | section 6, diagonalized torques | `eps = D^-1/2 (I - H phi K) T`
    | `eps = D^-1/2 (I - H psi K) T` |
    """
    head = ("where", "printed", "correct")
    if paper is None:
        return _table(("paper", *head), [(one.paper, *_row(one)) for one in errata()])
    return _table(head, [_row(one) for one in errata(paper)])


def _row(erratum: Erratum) -> tuple[str, str, str]:
    return erratum.where, erratum.printed, erratum.correct


def _holds_for(equation: Equation) -> str:
    return ", ".join(map(str, equation.conditions)) or "every tree"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    text = ["| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines]
    text.insert(1, "|" + "---|" * len(head))
    return "\n".join(text)
