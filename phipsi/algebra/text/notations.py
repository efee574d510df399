"""A notation for each paper: what its letters mean where another paper means something else.

    parse(text, notation="002")        reads Λ as J Mass^-1 J*
    expression.latex(notation="001")   writes phi_tilde as Φ

Each meaning is a formula in the letters of `phipsi.operators`, with its source. Letters
that all papers share stand in no table here. What a notation writes it reads back to the
same expression; a letter by which the paper means something else is written by its formula.
The letters of the user come before those of a paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce

from phipsi.algebra.node import Inverse, Node, Product, Symbol, compose
from phipsi.errors import InputError, name_choices


@dataclass(frozen=True)
class Meaning:
    """What a paper's letter means.

    Args:
        formula: in the letters of `phipsi.operators`.
        source: where the paper defines it.
        is_written: whether expressions are written with it, or only read.
    """

    formula: str
    source: str
    is_written: bool = True


RATES = {  # of all papers but 002
    "theta_dot": Meaning("beta", "[001 (7)], [003 sec. 2], [004-I (2.24)]"),
    "theta_ddot": Meaning("beta_dot", "[001 (8)], [003 (6)], [004-I (2.25)]"),
}
NOTATIONS: dict[str, dict[str, Meaning]] = {
    "000": dict(RATES),
    "001": {
        **RATES,
        "Phi": Meaning("phi_tilde", "[001 (28)]"),
        "Psi": Meaning("psi E_phi", "[001 (41)]"),
        "r": Meaning("R", "[001 (29)]"),
        "T'": Meaning("T - (C + J' f0)", "[001 (26)]"),
        "T_hat": Meaning("C + J' f0", "[001 (27)]"),
    },
    "002": {
        "Lambda": Meaning("J Mass^-1 J'", "[002 (2.17), (3.10)]"),
        "T_hat": Meaning("T - C", "[002 (2.15)]"),
    },
    "003": {
        **RATES,
        "Lambda": Meaning("(J Mass^-1 J')^-1", "[003 (19), (26)]"),
        "Omega": Meaning("Y", "[003 (20)], the blocks Omega(k)"),
        "T'": Meaning("T - (C + J' f0)", "[003 (14)]"),
    },
    "004-I": {
        **RATES,
        "Phi": Meaning("phi S", "[004-I (4.9)]"),
        "Psi": Meaning("psi S", "[004-I (4.10)]"),
        "L": Meaning("Delta_phi G", "[004-I (4.4), (4.8)]: S L = K"),
        "r": Meaning("R", "[004-I (a.44)]"),
        "T'": Meaning("T - (C + J' f0)", "[004-I (4.17)]"),
    },
    "004-II": {
        **RATES,
        "Phi": Meaning("phi S", "[004-I (4.9)]"),
        "Psi": Meaning("psi S", "[004-I (4.10)]"),
        "L": Meaning("Delta_phi G", "[004-I (4.4), (4.8)]: S L = K"),
        "Lambda": Meaning("J Mass^-1 J'", "[004-II (6.8)], Lambda(0)"),
        "T'": Meaning("T - C", "[004-II (6.11a)]"),
    },
}

# Letters of a paper that have no operator here, and what to do.
MISSING = {
    "000": {"Y": "Y of (5.54) is a triple product, no operator; write Upsilon for Y of 002"},
    "004-II": {
        "Omega": "Ω of (3.3) is a sum over arms and their object, which is no machine here yet"
    },
}


def checked_notation(name: str | None) -> str | None:
    """The name of a notation; None for that of `phipsi.operators`, which is "default" too."""
    if name is None or name == "default":
        return None
    if name == "004":
        raise InputError('notation: 004 has two parts; pass "004-I" or "004-II"')
    if not isinstance(name, str) or name not in NOTATIONS:
        choices = name_choices(str(name), ["default", *NOTATIONS])
        raise InputError(f"notation: unknown {name!r}; {choices}")
    return name


@cache
def meanings(name: str) -> dict[str, Node]:
    """The letters of a notation, as expressions."""
    from phipsi.algebra.parse import parse

    return {key: parse(value.formula) for key, value in NOTATIONS[name].items()}


# -- expressions in the letters of a paper -----------------------------------------------------


def in_letters_of(node: Node, name: str | None) -> Node:
    """An expression in which a paper's letters stand for what they mean, to be written."""
    name = checked_notation(name)
    if name is None:
        return node
    table = {key: meanings(name)[key] for key, x in NOTATIONS[name].items() if x.is_written}
    # The longest first: psi E_phi before what is part of it.
    ordered = sorted(table.items(), key=lambda pair: -len(pair[1].factors))
    return _replaced(node, ordered, name)


Letters = list[tuple[str, Node]]


def _replaced(node: Node, letters: Letters, name: str) -> Node:
    for key, meaning in letters:
        if node == meaning:
            return _letter(key, meaning)
        if isinstance(meaning, Inverse) and node == meaning.children[0]:
            return Inverse(_letter(key, meaning))
    if isinstance(node, Symbol):
        return _symbol(node, letters, name)
    if isinstance(node, Product):
        return _product(node.factors, letters, name)
    if not node.children:
        return node
    return node.rebuild(tuple(_replaced(x, letters, name) for x in node.children))


def _letter(key: str, meaning: Node) -> Node:
    """The paper's letter, to be written."""
    assert meaning.source is not None and meaning.target is not None, "no identity alone"
    return Symbol(key, meaning.source, meaning.target)


def _product(factors: tuple[Node, ...], letters: Letters, name: str) -> Node:
    """A product, some of whose factors, side by side, are one letter of the paper."""
    for key, meaning in letters:
        inside = meaning.children[0] if isinstance(meaning, Inverse) else meaning
        run = inside.factors
        for i in range(len(factors) - len(run) + 1):
            if len(run) < 2 or factors[i : i + len(run)] != run:
                continue
            letter = _letter(key, meaning)
            letter = Inverse(letter) if inside is not meaning else letter
            before, behind = factors[:i], factors[i + len(run) :]
            parts = [*([_product(before, letters, name)] if before else []), letter]
            return reduce(compose, [*parts, *([_product(behind, letters, name)] if behind else [])])
    return reduce(compose, (_replaced(x, letters, name) for x in factors))


def _symbol(letter: Symbol, letters: Letters, name: str) -> Node:
    """A letter as it is; by its definition where the paper means something else by it."""
    written = letter.record.look or letter.name
    is_taken = written in NOTATIONS[name] or written in MISSING.get(name, ())
    if not is_taken or letter.record.alphabet is None:
        return letter
    assert letter.definition is not None, "another letter of the table stands for it"
    return _replaced(letter.definition, letters, name)
