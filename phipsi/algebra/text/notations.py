"""A notation for each paper: what its letters mean where another paper means something else.

    parse(text, notation="002")        reads Λ as J Mass^-1 J*
    expression.latex(notation="001")   writes phi_tilde as Φ

Each meaning is a formula in the letters of `phipsi.operators`, with its source. Letters
that all papers share stand in no table here. What a notation writes it reads back to the
same expression, also where the user has a letter of that name: the letters of the user come
before those of a paper, so that the paper's is then written by its name or its formula here.

The papers count bodies from the tip, 1, to the base; a machine counts from 0, parents first.
So body k of a paper is the k-th from the end of the machine, -k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from typing import NamedTuple

from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.elements import ELEMENTS, read_element
from phipsi.algebra.node import Bracket, Inverse, Node, Product, Root, Symbol, Transpose, compose
from phipsi.algebra.text.spelling import spell
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
# X(0) is what the paper calls X at the tip; X(k) whose blocks it calls so.
TIP = {"V(0)": Meaning("B' V", "[001 (9)], [003 sec. 2], [004-I (2.27)]", is_written=False)}
COMPLIANCE = {"Omega_psi": Meaning("Omega", "ours: the paper means something else by Ω")}
NOTATIONS: dict[str, dict[str, Meaning]] = {
    "000": {
        **RATES,
        **COMPLIANCE,
        # The print has [omega; 0]; of joints that slide, the sum in (2.17) has their part too.
        "Omega": Meaning("(I - S')^-1 H' beta", "[000 (2.17), (2.18)]"),
        "Omega_tilde_s": Meaning("cross[S' (I - S')^-1 H' beta]", "[000 (2.17)]"),
        "Omega_tilde_delta": Meaning("cross[H' beta]", "[000 (2.17)]"),
    },
    "001": {
        **RATES,
        **TIP,
        "Phi": Meaning("phi_tilde", "[001 (28)]"),
        "Psi": Meaning("psi E_phi", "[001 (41)]"),
        "r": Meaning("R", "[001 (29)]"),
        "T'": Meaning("T - (C + J' f0)", "[001 (26)]"),
        "T_hat": Meaning("C + J' f0", "[001 (27)]"),
    },
    "002": {
        "Lambda": Meaning("J Mass^-1 J'", "[002 (2.17), (3.10)]"),
        "T_hat": Meaning("T - C", "[002 (2.15)]"),
        "V_tilde": Meaning("B' V", "[002 (2.14)]"),
        "U_g": Meaning("U", "ours: the paper means something else by U"),
    },
    "003": {
        **RATES,
        **TIP,
        **COMPLIANCE,
        "Lambda": Meaning("(J Mass^-1 J')^-1", "[003 (19), (26)]"),
        "Omega": Meaning("Y", "[003 (20)], the blocks Omega(k)"),
        "Omega(0)": Meaning("J Mass^-1 J'", "[003 (20)]", is_written=False),
        "T'": Meaning("T - (C + J' f0)", "[003 (14)]"),
    },
    "004-I": {
        **RATES,
        **TIP,
        "Phi": Meaning("phi S", "[004-I (4.9)]"),
        "Psi": Meaning("psi S", "[004-I (4.10)]"),
        "L": Meaning("Delta_phi G", "[004-I (4.4), (4.8)]: S L = K"),
        "r": Meaning("R", "[004-I (a.44)]"),
        "T'": Meaning("T - (C + J' f0)", "[004-I (4.17)]"),
        "T_hat": Meaning("C + J' f0", "[004-I (3.23)]"),
    },
    "004-II": {
        **RATES,
        **TIP,
        **COMPLIANCE,
        "Phi": Meaning("phi S", "[004-I (4.9)]"),
        "Psi": Meaning("psi S", "[004-I (4.10)]"),
        "L": Meaning("Delta_phi G", "[004-I (4.4), (4.8)]: S L = K"),
        "Lambda": Meaning("J Mass^-1 J'", "[004-II (6.8)], Lambda(0)"),
        "Lambda(k)": Meaning("Y", "[004-II (6.9), (6.10)]", is_written=False),
        "T'": Meaning("T - C", "[004-II (6.11a)]"),
    },
}

# Letters of a paper that have no operator here, and what to do.
MISSING = {
    "000": {"Y": "Y of (5.54) is a triple product, no operator; write Upsilon for Y of 002"},
    "002": {
        "U": "U of (2.17) is what the closures ask for, a vector that depends on them: pass yours "
        "by symbols=[...]. Potential energy is U_g here",
        "f_tilde": "f with a tilde is the force of the closures (2.17), your own vector; the cross "
        "product is cross[f]",
        "alpha_tilde": "alpha with a tilde is an acceleration of points (3.8), J beta_dot; the "
        "cross product is cross[alpha]",
    },
    "004-II": {
        "Omega": "Ω of (3.3) is a sum over arms and their object, which is no machine here yet; "
        "the compliance of 002 is Omega_psi"
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
    """An expression in which a paper's letters stand for what they mean, to be written.

    In the notation of phipsi too, a letter is not written as one of the user's is.
    """
    name = checked_notation(name)
    parts = list(_parts(node))
    letters = (x for x in parts if isinstance(x, Symbol) and _is_own(x))
    own = {spelled for letter in letters for spelled in _spellings(letter)}
    if name is None and not own and not any(map(_is_raised_element, parts)):
        return node
    return _Writer(name, own).rewrite(node)


class _Writer:
    """Rewrites expressions for one notation.

    Args:
        notation: of a paper; None for that of phipsi.
        own: how the user's letters in the expression are spelled; they are not written otherwise.

    Attributes:
        letters: those of the paper that are written, with what they mean, the longest first:
            psi E_phi before what is part of it.
        taken: names that mean something else to a reader than the letters of phipsi.
    """

    def __init__(self, notation: str | None, own: set[str]):
        self.notation, self.own = notation, own
        self.letters: list[tuple[str, Node]] = []
        self.taken = set(own)
        if notation is not None:
            table = NOTATIONS[notation]
            found = [(x, meanings(notation)[x]) for x in table if table[x].is_written]
            free = [pair for pair in found if pair[0].removesuffix("'") not in own]
            self.letters = sorted(free, key=lambda pair: -len(pair[1].factors))
            self.taken |= table.keys() | MISSING.get(notation, {}).keys()

    def rewrite(self, node: Node) -> Node:
        """An expression, part by part from the inside; no depth is too deep."""
        done: dict[Node, Node] = {}
        stack = [node]
        while stack:
            part = stack[-1]
            if part in done:
                stack.pop()
            elif (letter := self._letter_for(part)) is not None:
                done[part] = letter
            elif waiting := [x for x in self._needed(part) if x not in done]:
                stack.extend(waiting)
            else:
                done[part] = self._rewritten(part, done)
        return done[node]

    def _letter_for(self, node: Node) -> Node | None:
        """The paper's letter that means an expression, or the inverse of one that does."""
        for key, meaning in self.letters:
            if node == meaning:
                return _written(key, meaning)
            if isinstance(meaning, Inverse) and node == meaning.children[0]:
                return Inverse(_written(key, meaning))
        return None

    def _needed(self, node: Node) -> list[Node]:
        """What is rewritten before a node is."""
        if isinstance(node, Symbol):
            if self._is_by_formula(node):
                assert node.definition is not None
                return [node.definition]
            return [x for x in _inertia(node) if isinstance(x, Node)]
        if isinstance(node, Product):
            return [x.node for x in self._runs(node.factors) if not x.is_done]
        if _is_raised_element(node):
            return self._needed(_without_star(node.children[0])[0])
        return list(node.children)

    def _rewritten(self, node: Node, done: dict[Node, Node]) -> Node:
        if isinstance(node, Symbol):
            return self._symbol(node, done)
        if isinstance(node, Product):
            factors = self._factors(node, done)
            return reduce(compose, factors if self.notation is None else _counted_from_tip(factors))
        if _is_raised_element(node):
            product, is_starred = _without_star(node.children[0])
            words = reduce(compose, map(_in_words, self._factors(product, done)))
            return node.rebuild((words.T if is_starred else words,))
        if isinstance(node, Bracket) and node.name == "cross":
            name = _spelling(node.children[0])
            is_other = name and (f"{name}_tilde" in self.taken or f"{name}_tilde" in PAPERS.letters)
            return Bracket("cross[]" if is_other else "cross", done[node.children[0]])
        return node.rebuild(tuple(done[x] for x in node.children)) if node.children else node

    def _factors(self, product: Node, done: dict[Node, Node]) -> tuple[Node, ...]:
        """The factors of a product, rewritten."""
        runs = self._runs(product.factors)
        factors = [x.node if x.is_done else done[x.node] for x in runs]
        return tuple(x for factor in factors for x in factor.factors)

    def _runs(self, factors: tuple[Node, ...]) -> list[_Run]:
        """Factors, of which some, side by side, are one letter of the paper."""
        for key, meaning in self.letters:
            inside = meaning.children[0] if isinstance(meaning, Inverse) else meaning
            run = inside.factors
            for i in range(len(factors) - len(run) + 1):
                if len(run) < 2 or factors[i : i + len(run)] != run:
                    continue
                symbol = _written(key, meaning)
                letter = symbol if inside is meaning else Inverse(symbol)
                before, behind = self._runs(factors[:i]), self._runs(factors[i + len(run) :])
                return [*before, _Run(letter, True), *behind]
        return [_Run(factor, False) for factor in factors]

    def _symbol(self, letter: Symbol, done: dict[Node, Node]) -> Node:
        """A letter as it is; by its name or definition where its look means something else."""
        if self._is_by_formula(letter):
            assert letter.definition is not None
            return done[letter.definition]
        what = letter.name, letter.source, letter.target, letter.causality
        if inertia := _inertia(letter):
            parts = tuple(done[x] if isinstance(x, Node) else x for x in inertia)
            return Symbol(*what, (_Inertia(parts),), record=letter.record)
        if self._is_taken(letter) and letter.name not in self.own:
            raise InputError(
                f"notation: {letter.name} means something else in {self.notation}, and the name "
                "by which it is written there is one of your letters; rename yours"
            )
        if letter.record.alphabet is PAPERS and letter.record.look in self.taken:
            return Symbol(*what, letter.arguments)
        is_pick_off = letter.record.of == "joint" and letter.record.alphabet is PAPERS
        if self.notation is not None and is_pick_off:
            return _numbered_by_machine(letter)
        return letter

    def _is_taken(self, letter: Symbol) -> bool:
        """Whether a reader would take a letter of phipsi for another, however it is written."""
        names = {letter.name, letter.record.look or letter.name}
        return names <= self.taken and letter.record.alphabet is PAPERS

    def _is_by_formula(self, letter: Symbol) -> bool:
        is_defined = letter.definition is not None and not _inertia(letter)
        return is_defined and self._is_taken(letter)


class _Run(NamedTuple):
    """A factor, or a letter of the paper that stands for several and is written as it is."""

    node: Node
    is_done: bool


@dataclass(frozen=True)
class _Inertia:
    """What stands in the brackets of an articulated letter, to be written."""

    in_brackets: tuple[Node | int, ...]


class _MachineNumber(int):
    """The number of a joint in the machine, which no paper prints: behind a letter, not above."""


def _written(key: str, meaning: Node) -> Symbol:
    """The paper's letter, to be written."""
    assert meaning.source is not None and meaning.target is not None, "no identity alone"
    return Symbol(key, meaning.source, meaning.target, meaning.causality)


def _numbered_by_machine(letter: Symbol) -> Symbol:
    """HH(2), with the number behind it: above it, a paper counts from the tip."""
    if not letter.arguments or type(letter.arguments[0]) is not int:
        return letter
    joint, *speed = letter.arguments
    arguments = _MachineNumber(joint), *speed
    what = letter.name, letter.source, letter.target, letter.causality, arguments
    return Symbol(*what, record=letter.record)


def _counted_from_tip(factors: tuple[Node, ...]) -> tuple[Node, ...]:
    """Factors in which elements count bodies as papers do: at(-2) phi at(-1) is phi(2, 1)."""
    counted, i = list(factors), 0
    while i < len(factors):
        found = read_element(factors, i, from_tip=True)
        places = range(i, i + found.length, 2) if found else ()
        for place in places:
            counted[place] = _counted(factors[place])
        if found is None:
            counted[i] = _in_words(factors[i])
        i += found.length if found else 1
    return tuple(counted)


def _counted(selection: Node) -> Node:
    """at(-2) as at(2), to be written as part of an element."""
    assert isinstance(selection, Symbol)
    (place,) = selection.arguments
    place = -place if isinstance(place, int) else place
    what = selection.name, selection.source, selection.target, selection.causality, (place,)
    return Symbol(*what, record=selection.record)


def _in_words(letter: Node) -> Node:
    """at(2) that is part of no element of a paper, so that it stays what it is."""
    if not isinstance(letter, Symbol) or letter.record.alphabet is not ELEMENTS:
        return letter
    what = letter.name, letter.source, letter.target, letter.causality, letter.arguments
    return Symbol(*what)


# -- whose letters these are ---------------------------------------------------------------------


def _parts(node: Node) -> Iterator[Node]:
    """All that is written of an expression, each part once."""
    seen, stack = set(), [node]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        stack.extend(part.children)
        if isinstance(part, Symbol):
            stack.extend(x for x in _inertia(part) if isinstance(x, Node))
        yield part


def _is_own(letter: Symbol) -> bool:
    """Whether a letter is the user's, or of a later layer."""
    return letter.record.alphabet not in (PAPERS, ELEMENTS)


def _without_star(node: Node) -> tuple[Node, bool]:
    """What a star is of, and whether there is one."""
    return (node.children[0], True) if isinstance(node, Transpose) else (node, False)


def _is_raised_element(node: Node) -> bool:
    """Whether a node is (at(k) D at(k))^-1, and not the inverse of a block, D(k)^-1."""
    if not isinstance(node, (Inverse, Root)):
        return False
    factors = _without_star(node.children[0])[0].factors
    found = (read_element(factors, 0, from_tip) for from_tip in (False, True))
    return any(x is not None and x.length == len(factors) for x in found)


def _spellings(letter: Symbol) -> Iterator[str]:
    yield from (letter.name, spell(letter.name).text)
    if letter.record.look:
        yield letter.record.look


def _spelling(node: Node) -> str:
    """How a letter is spelled where it is written; nothing for what is no letter."""
    if not isinstance(node, Symbol):
        return ""
    return node.record.look or spell(node.name).text


def _inertia(letter: Symbol) -> tuple[Node | int, ...]:
    """What an articulated letter of another inertia has in brackets; nothing for other letters."""
    family = letter.arguments[0] if letter.arguments else None
    return getattr(family, "in_brackets", None) or ()
