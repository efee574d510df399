"""Equations as they are typed: `parse("inv(H phi M phi' H')")`. See `text.parser`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.text.names import Names
from phipsi.algebra.text.parser import Parser


def parse(text: str, symbols: Mapping[str, Node] | Iterable[Symbol] = ()) -> Node:
    r"""The expression that a text says, in the notation of the papers, of Python or of LaTeX.

    Greek letters may be letters or words. The adjoint is `'`, `*` or `.T`, the inverse
    `^-1`, `.inv` or `inv(...)`, the square root `^1/2`, `.sqrt` or `sqrt(...)`; operators
    side by side are multiplied. What `str`, `unicode` and `latex` give is read back to the
    same expression. Nothing of the text is run.

    Args:
        text: an expression, on one line or several.
        symbols: your own letters: a list of symbols, or expressions by name.

    Returns:
        The expression.

    Raises:
        InputError: what is no expression; the message points at the column.
        SpaceError: operators that do not fit together; it points at the one that does not.

    >>> parse("inv(H phi M phi' H')")
    (H @ phi @ M @ phi.T @ H.T).inv
    >>> parse("(I − HψK)* D⁻¹") == parse(r"(I - H\psi K)^* D^{-1}")
    True
    >>> from phipsi.operators import operator
    >>> parse("phi A phi'", symbols=[operator("A", "body", "body")])
    phi @ A @ phi.T
    """
    return Parser(text, Names(symbols)).whole()
