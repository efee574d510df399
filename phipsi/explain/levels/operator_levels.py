"""Levels 1 to 3: the expression, its operators, and what each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family
from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Inverse,
    Node,
    Root,
    Symbol,
    Transpose,
)
from phipsi.algebra.operators import blockdiag
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.spaces import BODY, JOINT, POINTS, POSE, SCALAR, Causality, Space
from phipsi.algebra.walk import letters_of
from phipsi.errors import PhipsiError
from phipsi.explain.levels.layout import paragraph, printed, table
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import is_internal, is_one_step

ONE_STEP = "at (p(k), k)"  # blocks of an operator that goes from each body to its parent
PATTERNS = {
    Causality.MEMORYLESS: "at (k, k)",
    Causality.CAUSAL: "at (i, k), i inboard of or at k",
    Causality.ANTICAUSAL: "at (i, k), i outboard of or at k",
    Causality.MIXED: "anywhere",
}


# -- level 1 -----------------------------------------------------------------------------------


def expression_level(expressions: Sequence[Node], plain: bool, told: str = "") -> str:
    """What was typed, what it maps, and what it becomes; first, what is told of its choice."""
    lines = [paragraph(told)] if told else []
    for node in expressions:
        lines += [str(node), f"    {printed(node)}"]
        lines.append(paragraph(f"    {_what(node)}", 4))
        ready = settled(node, plain)
        if ready is not None and printed(ready) != printed(node):
            lines.append(paragraph(f"    ready to run: {printed(ready)}", 8))
    return "\n".join(lines)


def _what(node: Node) -> str:
    if node.is_scalar:
        return "one number"
    if node.is_vector:
        return f"a vector of {node.target}: {_owners(node.target)}"
    if node.target is SCALAR:
        return f"a covector of {node.source}"
    way = WAYS[node.causality]
    return f"an operator from {node.source} to {node.target}, {node.causality.value}: {way}"


def _owners(space: Space | None) -> str:
    each = {BODY: "body", JOINT: "joint", POINTS: "point", POSE: "body"}
    return f"a block for each {each[space]}" if space in each else "one block"


def settled(node: Node, plain: bool) -> Node | None:
    """An expression as it is lowered; None if that is refused."""
    try:
        return settle(node, plain)
    except (PhipsiError, RecursionError):
        return None


def _family(letter: Symbol) -> Family | None:
    """The operator that P, D or G belongs to, where it is another one than the mass operator."""
    return next((x for x in letter.arguments if isinstance(x, Family)), None)


# -- level 2 -----------------------------------------------------------------------------------


def operators_level(expressions: Sequence[Node], plain: bool, view: str) -> str:
    """Every letter: what it maps, which blocks it has, its definition, what it means."""
    letters = _letters(expressions, plain)
    rows = []
    for letter in letters:
        text = _meaning(letter, view)
        maps = f"{letter.source.name} -> {letter.target.name}"
        if letter.source is SCALAR:
            maps = "a number" if letter.is_scalar else f"vector of {letter.target.name}"
        rows.append([printed(letter), maps, text])
        blocks = _blocks(letter)
        below = [_definition(letter), f"blocks {blocks}" if blocks else ""]
        if any(below):
            rows.append(["", "", "; ".join(x for x in below if x)])
    return table(rows)


def _letters(expressions: Sequence[Node], plain: bool) -> list[Symbol]:
    """The letters of expressions, as they are typed, as they are lowered, and what those need."""
    ready = [x for x in (settled(node, plain) for node in expressions) if x is not None]
    found = [*letters_of(expressions), *letters_of(ready)]
    for family in [_family(x) for x in found]:
        if family is not None:
            found += [family.letter(x) for x in (op.P, op.D, op.G)]
    return [x for x in dict.fromkeys(found) if not is_internal(x)]


def _own_meaning(letter: Symbol) -> str:
    """Of a letter that nobody said the meaning of."""
    if isinstance(letter, MachineLetter):
        return "your own, told by a function of the machine"
    return "your own, its value given"


def _meaning(letter: Symbol, view: str) -> str:
    """What a letter means."""
    if _family(letter) is not None and any(letter.record.elsewhere):
        return letter.record.elsewhere[view != "mechanics"]
    return letter.record.by(view) or _own_meaning(letter)


def _definition(letter: Symbol) -> str:
    if letter.definition is not None:
        return f"= {printed(letter.definition)}"
    family = _family(letter)
    if family is not None:
        return _definition_in(family, letter)
    return letter.record.formula


def _definition_in(family: Family, letter: Symbol) -> str:
    """Of P, D or G of another operator."""
    formula = family.formula(letter)
    if formula is not None:
        return f"= {printed(formula)}"
    passed = family.letter(op.tau_bar) @ family.letter(op.P)
    return f"= {printed(family.W + blockdiag(family.E @ passed @ family.E.T))}"


def _blocks(letter: Symbol) -> str:
    if letter.source is SCALAR:
        return ""
    return letter.record.where or (ONE_STEP if is_one_step(letter) else PATTERNS[letter.causality])


# -- level 3 -----------------------------------------------------------------------------------

WAYS = {
    Causality.MEMORYLESS: "acts at each place alone",
    Causality.CAUSAL: "a filter, from the tips to the base",
    Causality.ANTICAUSAL: "a smoother, from the base to the tips",
    Causality.MIXED: "both ways",
}


def nature_level(expressions: Sequence[Node], plain: bool, view: str) -> str:
    """What each operator is: memoryless, one step, a filter, a smoother."""
    rows: dict[str, list[str]] = {}
    for node in expressions:
        ready = settled(node, plain)
        for atom in _atoms(node if ready is None else ready):
            text = printed(atom)
            if text not in rows and not is_internal(atom):
                rows[text] = [text, *_nature(atom, view)]
    return table(list(rows.values()))


def _atoms(node: Node) -> Iterator[Node]:
    """The operators of an expression: letters with their stars, recursions, brackets."""
    if isinstance(node, Identity):
        return
    if isinstance(node, Transpose) and isinstance(node.children[0], (Symbol, Bracket)):
        yield node
        if isinstance(node.children[0], Bracket):
            yield from _atoms(node.children[0].children[0])
        return
    if isinstance(node, (Symbol, Bracket, Diagonal, Inverse, Root)):
        yield node
    if isinstance(node, Inverse) and isinstance(node.children[0], Symbol):
        return
    for child in node.children:
        yield from _atoms(child)


def _nature(atom: Node, view: str) -> list[str]:
    if atom.source is SCALAR or atom.target is SCALAR:
        what = "number" if atom.is_scalar else "vector"
        return [what, _source_of_vector(atom if isinstance(atom, Symbol) else None)]
    letter = atom.children[0] if isinstance(atom, Transpose) else atom
    if is_one_step(letter):
        to = "from each body to its parent" if atom is letter else "from each parent to its bodies"
        return [f"{atom.causality.value}, one step", to]
    way = WAYS[atom.causality]
    if isinstance(letter, Symbol) and letter.record is op.S_q.record:
        way = "between coordinates and joints: those that follow move with their leader"
    elif isinstance(letter, Symbol) and letter.free and atom.causality is Causality.MIXED:
        way = "as its value says"
    if isinstance(atom, Inverse) and atom.causality is not Causality.MEMORYLESS:
        way = {
            Causality.CAUSAL: "a recursion from the tips to the base",
            Causality.ANTICAUSAL: "a recursion from the base to the tips",
        }.get(atom.causality, "a small dense system")
    mark = "*" if letter is not atom else ""
    if isinstance(letter, Symbol) and atom.causality is not Causality.MEMORYLESS:
        way += f": {letter.record.act(mark, view)}" if letter.record.act(mark, view) else ""
    return [atom.causality.value, way]


def _source_of_vector(letter: Symbol | None) -> str:
    if letter is None:
        return "made of the others"
    if letter.free:
        return "given"
    return "of the machine and its state"
