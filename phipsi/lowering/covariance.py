"""Whether an expression lets the origins of frames move, and what its vectors are.

Body vectors are motions or forces. Under a change of a body's frame forces go
by X, motions by X^-*; an operator is covariant if it maps each to each
consistently, as phi (forces to forces) and M (motions to forces) do. Where
every wire of an expression can be told to carry the one or the other, its
value does not depend on the private frames; else only their rotation, which is
its own X^-*, is free. `phi @ phi.T`, which feeds motions to forces, is such
a case, and so are the shift S, which has no lever, and a root.

Each wire of body space is a variable, equal or dual to others: a union-find
with parity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from phipsi.algebra import alphabet
from phipsi.algebra.families import Family
from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
)
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.spaces import BODY

FORCE, MOTION = 0, 1
NAMES = {FORCE: alphabet.FORCE, MOTION: alphabet.MOTION}
KINDS = {name: kind for kind, name in NAMES.items()}
DUAL = {"force": "motion", "motion": "force"}


class NotCovariantError(Exception):
    """Some wire would have to carry motions and forces at once."""


@dataclass
class Wires:
    """Variables with parity: each is its root's kind, or the dual of it."""

    parent: list[int] = field(default_factory=lambda: [0])
    parity: list[int] = field(default_factory=lambda: [FORCE])  # variable 0 carries forces

    def new(self) -> int:
        """A wire of its own."""
        self.parent.append(len(self.parent))
        self.parity.append(0)
        return len(self.parent) - 1

    def find(self, x: int) -> tuple[int, int]:
        """The root of a wire, and whether it is the root's dual."""
        parity = 0
        while self.parent[x] != x:
            parity ^= self.parity[x]
            x = self.parent[x]
        return x, parity ^ (self.parity[x] if x == 0 else 0)

    def join(self, x: int, y: int, dual: int = 0) -> None:
        """x and y carry the same, or the dual of each other."""
        (a, p), (b, q) = self.find(x), self.find(y)
        if a == b:
            if p ^ q ^ dual:
                raise NotCovariantError
            return
        if a == 0:
            a, p, b, q = b, q, a, p
        self.parent[a], self.parity[a] = b, p ^ q ^ dual

    def fix(self, x: int, kind: int) -> None:
        """x carries forces, or motions."""
        self.join(x, 0, kind)

    def kind(self, x: int) -> str:
        """What a wire carries; where nothing says so its root carries forces."""
        _, parity = self.find(x)
        return NAMES[parity]


@dataclass(frozen=True)
class Kinds:
    """What the body vectors of some expressions are, by letter and by output.

    `letters` has (target, source) of each letter of the user's, `outputs` of each
    expression: "force" or "motion".
    """

    covariant: bool
    letters: dict[Symbol, tuple[str, str]]
    outputs: tuple[tuple[str, str], ...]


def infer_kinds(expressions: Sequence[Node]) -> Kinds:
    """The kinds of settled expressions; all forces, not covariant, where they clash."""
    wires = Wires()
    letters: dict[Node, tuple[int, int]] = {}
    try:
        ends = [_visit(x, wires, letters, {}) for x in expressions]
    except NotCovariantError:
        return Kinds(False, {}, tuple(("force", "force") for _ in expressions))
    named = {
        x: (wires.kind(t), wires.kind(s)) for x, (t, s) in letters.items() if isinstance(x, Symbol)
    }
    return Kinds(True, named, tuple((wires.kind(t), wires.kind(s)) for t, s in ends))


def _visit(
    node: Node,
    wires: Wires,
    letters: dict[Node, tuple[int, int]],
    memo: dict[Node, tuple[int, int]],
) -> tuple[int, int]:
    """(target, source) wires of an expression; wires of other spaces are never joined."""
    if isinstance(node, Identity):  # carries whatever is asked for, wherever it stands
        return _ends(node, wires, letters, memo)
    if node not in memo:
        memo[node] = _ends(node, wires, letters, memo)
    return memo[node]


def _ends(
    node: Node,
    wires: Wires,
    letters: dict[Node, tuple[int, int]],
    memo: dict[Node, tuple[int, int]],
) -> tuple[int, int]:
    def visit(child: Node) -> tuple[int, int]:
        return _visit(child, wires, letters, memo)

    def join(x: int, y: int, space: object, dual: int = 0) -> None:
        if space is BODY:
            wires.join(x, y, dual)

    match node:
        case Symbol():
            return _letter_ends(node, wires, letters, visit)
        case Identity():
            wire = wires.new()
            return wire, wire
        case Sum():
            target, source = visit(node.children[0])
            for child in node.children[1:]:
                t, s = visit(child)
                join(target, t, node.target)
                join(source, s, node.source)
            return target, source
        case Product():
            ends = [visit(child) for child in node.children]
            pairs = zip(ends, ends[1:], node.children, strict=False)
            for (_, source), (target, _), left in pairs:
                join(source, target, left.source)
            return ends[0][0], ends[-1][1]
        case Scaled():
            for child in node.children[:-1]:
                visit(child)
            return visit(node.children[-1])
        case Transpose():
            target, source = visit(node.children[0])
            t, s = wires.new(), wires.new()
            join(t, source, node.target, dual=1)
            join(s, target, node.source, dual=1)
            return t, s
        case Inverse():
            target, source = visit(node.children[0])
            return source, target
        case Diagonal():
            return visit(node.children[0])
        case Bracket():
            argument, target, source = (KINDS[x] for x in node.opened.carries)
            wires.fix(visit(node.children[0])[0], argument)
            t, s = wires.new(), wires.new()
            wires.fix(t, target)
            wires.fix(s, source)
            return t, s
        case Root():
            if node.target is BODY:
                raise NotCovariantError
            return visit(node.children[0])
    raise AssertionError(f"no kind of {type(node).__name__}")


def _letter_ends(
    node: Symbol,
    wires: Wires,
    letters: dict[Node, tuple[int, int]],
    visit: Callable[[Node], tuple[int, int]],
) -> tuple[int, int]:
    """The wires of a letter, made once for a user's own."""
    if node in letters:
        return letters[node]
    t, s = wires.new(), wires.new()
    if node.free or isinstance(node, MachineLetter):
        letters[node] = t, s
        if isinstance(node, MachineLetter) and node.symmetric and node.target is BODY:
            wires.join(t, s, dual=1)  # else its blocks would lose their symmetry
        for wire, kind in zip((t, s), node.record.carries or (), strict=False):
            if kind is not None:
                wires.fix(wire, KINDS[kind])
        return t, s
    if BODY not in (node.target, node.source):
        return t, s
    if node.record.carries is None:
        raise NotCovariantError
    for wire, kind in zip((t, s), node.record.carries, strict=True):
        if kind is not None:
            wires.fix(wire, KINDS[kind])
    for family in node.arguments:
        if isinstance(family, Family):
            wires.fix(visit(family.L)[1], FORCE)
            _fix(wires, visit(family.E), FORCE, FORCE)
            _fix(wires, visit(family.W), FORCE, MOTION)
            if family.N is not None:
                visit(family.N)
    return t, s


def _fix(wires: Wires, ends: tuple[int, int], target: int, source: int) -> None:
    wires.fix(ends[0], target)
    wires.fix(ends[1], source)
