"""Rolled code of moves: `integrate` and `difference` of machines of any size, joint by joint.

The template of a joint kind is traced once; a row of a table for each joint tells where its
numbers are in q and v. A joint reads and writes nothing but its own, so a product with the
Jacobian is one template of each kind as well, and one walk along the table, forward or in reverse.
Joints that move by addition are taken together, `STRETCH` coordinates to a row.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phipsi.backends import tables
from phipsi.backends.disk.identity import Parts, is_ours
from phipsi.backends.llvm import Target, llvm_version
from phipsi.backends.moves import ARGUMENTS, INTEGRATE, Move, move_joint
from phipsi.backends.pieces import Looped, Loops, Piece, Pieces, walk_code
from phipsi.backends.rolled import HEAD
from phipsi.graph.graph import Graph
from phipsi.lowering.template_derivatives import (
    OF_COORDINATES,
    OF_SPEEDS,
    Partners,
    Product,
    forward_template,
    reverse_template,
)
from phipsi.lowering.templates import Address, Region, Store, Template
from phipsi.lowering.trace import Checks
from phipsi.model.joints import JointKind
from phipsi.model.model import Model
from phipsi.spatial import Matrix, Vector

STRETCH = 16  # coordinates in one row, where they move by addition
KINDS = 256  # of joints, moves and products, whose code is kept for machines to come


@dataclass(frozen=True)
class Stretch(JointKind):
    """Coordinates side by side, of one joint or several, that move by addition."""

    count: int

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Of coordinates, and of speeds."""
        return self.count

    nv = nq

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        """Of several joints there is none."""
        raise AssertionError("a stretch of coordinates is no joint")

    def motion_map(self, q: Vector) -> Matrix:
        """Of several joints there is none."""
        raise AssertionError("a stretch of coordinates is no joint")


Places = dict[JointKind, list[tuple[int, int]]]  # of each kind, where its joints start in q and v

_known: OrderedDict[tuple, Piece] = OrderedDict()  # of a move, its products, and a kind


class MoveLoops(Loops):
    """A move of a machine, or the product with its Jacobian, as one walk along a table.

    Args:
        move: which, of which machine.
        products: with its Jacobian, with the Jacobian of that, and so on.
        inputs: the names of the arguments, in order.
        counts: how many numbers each result has.
        target: what the code is made for.
    """

    def __init__(
        self,
        move: Move,
        products: tuple[Product, ...],
        inputs: tuple[str, ...],
        counts: Sequence[int],
        target: Target,
    ):
        self.name, self.products, self.counts = move.name, products, counts
        self.inputs, self.target = inputs, target
        self.places = places_of(move.model)
        self._keys = {x: (move.name, products, inputs, target, x) for x in self.places}
        self._new = [x for x, key in self._keys.items() if key not in _known]

    @property
    def is_known(self) -> bool:
        """Whether kinds of joints were all met before."""
        return not self._new

    @property
    def key(self) -> Parts | None:
        """The move, the kinds and the processor; None for joints of the user's own."""
        if not all(isinstance(x, Stretch) or is_ours(x) for x in self._new):
            return None
        x = self.target
        processor = (x.cpu, x.features, x.lanes, x.real)
        about = (self.name, repr(self.products), self.inputs)
        return about, [repr(x) for x in self._new], processor, llvm_version()

    def trace_templates(self) -> list[Pieces]:
        """What kinds of joints do that were not met before."""
        return [
            Pieces([_on_the_way(move_template(self.name, x, self.target.real), x, self.products)])
            for x in self._new
        ]

    def add_pieces(self, pieces: Sequence[Pieces]) -> None:
        """Keep them for machines to come; what was needed longest ago goes."""
        for kind, several in zip(self._new, pieces, strict=True):
            (_known[self._keys[kind]],) = several.by_pass
        self._pieces = {kind: _known[key] for kind, key in self._keys.items()}
        for key in self._keys.values():
            _known.move_to_end(key)
        while len(_known) > max(KINDS, len(self._keys)):
            _known.popitem(last=False)

    def make_table(self) -> Looped:
        """A row for each joint."""
        walk = walk_code(self.target)
        rows: list[np.ndarray] = []
        if any(x.is_reverse for x in self.products):
            zero = (walk[0].address("zero"), walk[1].address("zero"))
            rows += [tables.zero_row(zero, i, 0, count) for i, count in enumerate(self.counts)]
        operations: Counter[str] = Counter()
        for kind, starts in self.places.items():
            piece = self._pieces[kind]
            rows.append(_rows(piece, np.array(starts, np.int64)).reshape(-1))
            (of_one,) = piece.operations
            operations.update({op: len(starts) * n for op, n in of_one.items()})
        whole = np.concatenate([np.array([8 * sum(map(len, rows))], np.int64), *rows])
        kernels = (walk[0].address("kernel"), walk[1].address("kernel"))
        return Looped(whole, 0, kernels, operations, 0, (*self._pieces.values(), *walk))


def places_of(model: Model) -> Places:
    """The joints of a machine by their kinds; what moves by addition in stretches.

    >>> import phipsi as pp
    >>> {kind.nq: starts for kind, starts in places_of(pp.chain(18)).items()}
    {16: [(0, 0)], 1: [(16, 16), (17, 17)]}
    """
    found: Places = {}
    for q, v, count in _stretches(model):
        at = 0
        while at < count:
            n = STRETCH if count - at >= STRETCH else 1
            found.setdefault(Stretch(n), []).append((q + at, v + at))
            at += n
    for joint in model.leaders:
        if not _is_straight(joint.kind) and joint.kind.nq:
            found.setdefault(joint.kind, []).append((joint.q.start, joint.v.start))
    return found


def _stretches(model: Model) -> Iterator[tuple[int, int, int]]:
    """Where coordinates that move by addition start in q and in v, and how many follow."""
    q, v, count = 0, 0, 0
    for joint in model.leaders:
        if not _is_straight(joint.kind):
            continue
        if (joint.q.start, joint.v.start) != (q + count, v + count):
            yield q, v, count
            q, v, count = joint.q.start, joint.v.start, 0
        count += joint.kind.nv
    yield q, v, count


def _is_straight(kind: JointKind) -> bool:
    """Whether a joint moves by addition, there and back."""
    own = type(kind)
    is_plain = own.integrate is JointKind.integrate and own.difference is JointKind.difference
    return is_plain and kind.quaternion is None


def _rows(piece: Piece, starts: np.ndarray) -> np.ndarray:
    """The rows of the joints of one kind."""
    operands = piece.format.operands
    rows = np.zeros((len(starts), piece.format.fixed), np.int64)
    rows[:, 0], rows[:, 1] = piece.codes
    rows[:, 2] = 8 * piece.format.fixed
    places = {OF_COORDINATES[0]: 0, OF_SPEEDS[0]: 1}
    for i, operand in enumerate(operands, HEAD):
        rows[:, i] = starts[:, places[operand]]
    return rows


# -- templates -------------------------------------------------------------------------------


def move_template(name: str, kind: JointKind, real: str) -> Template:
    """What a move does at a joint of a kind: loads from its arguments, stores to the result.

    Args:
        name: which move.
        kind: of the joint.
        real: what the code will compute with, "double" or "float".
    """
    graph = Graph()
    of_second, of_result = (OF_SPEEDS, OF_COORDINATES)
    if name != INTEGRATE:
        of_second, of_result = of_result, of_second
    sizes = {OF_COORDINATES: kind.nq, OF_SPEEDS: kind.nv}
    first, second = (
        [graph.input(("load", Address(("in", x), where, i))) for i in range(sizes[where])]
        for x, where in zip(ARGUMENTS[name], (OF_COORDINATES, of_second), strict=True)
    )
    checks = Checks(graph, real)
    moved = move_joint(name, kind, first, second, checks)
    stores = [Store(Address(("out", 0), of_result, i), graph.node(x)) for i, x in enumerate(moved)]
    return Template(graph, [Region(None, stores, list(checks.found))])


def _on_the_way(template: Template, kind: JointKind, products: Sequence[Product]) -> Template:
    """The template, or that of products with its Jacobian; what it checks is checked."""
    graph, checks = template.graph, [x for y in template.regions for x in y.checks]
    for product in products:
        partners = Partners(product, kind, range(0))
        if product.is_reverse:
            made, _ = reverse_template(template, partners)
        else:
            made = [forward_template(template, partners)]
        stores = [x for y in made for region in y.regions for x in region.stores]
        template = Template(graph, [Region(None, stores, checks)])
    return template
