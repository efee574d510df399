"""Equations as they are typed: `parse("inv(H phi M phi' H')")`. See `text.parser`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from phipsi.algebra.node import Node, Symbol
from phipsi.errors import InputError, SpaceError

Symbols = Mapping[str, Node] | Iterable[Symbol]  # the user's own letters, for texts


def parse(
    text: str,
    symbols: Symbols = (),
    notation: str | None = None,
    *,
    alphabet: str | None = None,
) -> Node:
    r"""The expression that a text says, in the notation of the papers, of Python or of LaTeX.

    Greek letters may be letters or words. The adjoint is `'`, `*` or `.T`, the inverse
    `^-1`, `.inv` or `inv(...)`, the square root `^1/2`, `.sqrt` or `sqrt(...)`; operators
    side by side are multiplied. What `str`, `unicode` and `latex` give is read back to the
    same expression. Nothing of the text is run.

    Args:
        text: an expression, on one line or several.
        symbols: your own letters: a list of symbols, or expressions by name. They come before
            letters of the papers that have the same name.
        notation: of one paper: "000", "001", "002", "003", "004-I" or "004-II"; letters that
            papers use differently, as Lambda, Phi, Psi, L and T', are then read as it means them.
        alphabet: whose letters are known besides those of the papers, and before them; see
            `phipsi.algebra.alphabet`.

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
    from phipsi.algebra.text.names import Names  # a language of its own, and rarely spoken
    from phipsi.algebra.text.parser import Parser

    if isinstance(text, str):
        _refuse_daggers(text)
    names = Names(symbols, alphabet, notation)
    try:
        return Parser(text, names).whole()
    except SpaceError as error:
        message = str(error)
        for pattern, hint in HINTS:
            is_read = notation is not None and "notation=" in hint  # as the hint advises
            if re.search(pattern, text) and not is_read:
                raise SpaceError(f"{message}\n  {hint}") from None
        for pattern, letter, hint in MISFITS:
            if letter not in names.own and re.search(pattern, message):
                raise SpaceError(f"{message}\n  {hint}") from None
        raise


_MASS = "M is the inertia of each body; the mass matrix is Mass, its inverse Mass^-1."
# What somebody meant where operators do not fit, by what stands in the text.
HINTS = [
    (r"\btau\b(?!_bar)|τ(?!̄)", "Joint forces are T here; tau is G H."),
    (
        r"(?<![A-Za-z_{])M\s*(?:\^\s*\{?\s*[-−]|⁻¹|\.inv|\^\(-)|inv\(\s*M\s*\)",
        _MASS,
    ),
    (
        r"(?<![A-Za-z_])T\s*(?:['′]|\^\s*\{?\s*(?:['′]|\\prime))",
        "T' is the adjoint of T; the bias-free torques T' of a paper need notation=\"001\".",
    ),
]
# The same, by what the error says; unless the letter is the user's.
MISFITS = [
    (r"^cannot compose M(?:\.inv)? @ .*\n.* a vector of joint space", "M", _MASS),
    (r"\n  `M` maps body space.*; `.*` maps joint space to joint space", "M", _MASS),
    (r"\n  `.*` maps joint space to joint space; `M` maps body space", "M", _MASS),
    (
        r"^cannot compose C @ (?:beta|beta_dot) in",
        "C",
        "C is the whole bias, a vector: Coriolis, gyroscopic and gravity forces; C(q, v) v of "
        "textbooks is part of it.",
    ),
]


def _refuse_daggers(text: str) -> None:
    """A dagger is the adjoint in some books and the pseudo-inverse in others."""
    from phipsi.algebra.text.place import failure

    found = re.search(r"†|\\dagger(?![A-Za-z])", text)
    if found:
        advice = "the adjoint is ', the pseudo-inverse of J is J' (J J')^-1"
        raise failure(f"a dagger has two meanings: {advice}", text, found.span())


def as_expression(
    where: str,
    given: Any,
    symbols: Symbols = (),
    notation: str | None = None,
    is_open: bool = False,
    alphabet: str | None = None,
) -> Node:
    """What a user passes for an expression: itself, or what a text says.

    Every function that takes an expression reads it here.

    Args:
        where: the function or argument, as errors name it.
        given: an expression, or its text.
        symbols: for `parse`, where it is a text.
        notation: likewise.
        is_open: whether an identity may be left whose space no neighbour decides.
        alphabet: likewise for `parse`.

    Raises:
        InputError: what is no expression, or one whose space is open.
        SpaceError: a text whose operators do not fit together.

    >>> as_expression("compile", "H phi")
    H @ phi
    """
    is_text = isinstance(given, str)
    node = parse(given, symbols, notation, alphabet=alphabet) if is_text else given
    if not isinstance(node, Node):
        kind = type(given).__name__
        raise InputError(f"{where}: expected an expression, or its text, got {kind}")
    if node.source is None and not is_open:
        raise InputError(f"{where}: the space of `{node}` is open; compose it with an operator")
    return node
