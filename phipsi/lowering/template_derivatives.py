"""Derivatives of templates, as templates: rolled code times a direction, or times a weight.

Rolled code is a row of visits. Each reads numbers x from memory, then sets others
or adds to them: y = f(x). Memory is doubled, every number of it has a partner,
`SHIFT` further on; and each visit has a derivative of its own:

    forward    the partner is a tangent:   dy = f_x dx       visits in the same order
    reverse    the partner is an adjoint:  x' += f_x* y'     visits in the opposite order

In reverse the visit computes f once more, from numbers that it finds in memory as
they were: so nothing may have taken their places, and layouts share none. A number
that is set is set once. Adding is linear, and what was added to is read later only.

Columns of matrices walk in memory, from body to body, so their vectors would be
overwritten. In reverse each has a place for every body that it passes; its adjoint has
one, and walks the other way. What pairs of columns look at belongs to one body, and is
computed again there:

    lists   vectors that are paired, these times Y; adjoints of pairs, of the products,
            of the columns that pass. What entries need of the body has an adjoint that
            they add to: a number of the record
    body    the adjoints of what the body computes, those among them

A derivative is a row of visits again, with derivatives of its own: the partners of all its
numbers, partners among them, are further on. Arguments have directions as partners, results
have weights. A configuration varies
along its tangents, joint by joint: dq of q exp(dq), as `integrate` moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from phipsi.graph.derive import forward, reverse
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.memory import is_fixed
from phipsi.lowering.templates import (
    WORK,
    Address,
    Dense,
    Operand,
    Region,
    Store,
    Template,
    Whole,
    moves,
)
from phipsi.model.joints import JointKind
from phipsi.scalars import Scalar

CONFIGURATION = "q"
SYSTEMS_ONCE = "systems of the whole machine are differentiated once, not again"
SHIFT: Operand = ("shift",)  # from a number in the workspace to its partner
OF_COORDINATES: tuple[Operand, ...] = (("q",),)
OF_SPEEDS: tuple[Operand, ...] = (("v",),)


class NotRolledError(Exception):
    """What has no rolled code; the message says why."""


@dataclass(frozen=True)
class Product:
    """A product with the Jacobian J of a program: `J t`, or `J* w` in reverse.

    Args:
        is_reverse: which.
        by: the arguments that vary.
        vectors: arguments too, the direction of each that varies, or the weight of each result.
        configurations: the arguments among `by` that vary along the tangents of joints.
    """

    is_reverse: bool
    by: tuple[str, ...]
    vectors: tuple[str, ...]
    configurations: tuple[str, ...] = (CONFIGURATION,)


@dataclass(frozen=True)
class Partners:
    """Which partners numbers have at bodies of one form, or for a whole machine.

    Args:
        product: what is computed.
        kind: of the joint; None for a whole machine.
        told: places in records of what only checks read, see `cancellation`: they have none.
        level: 1 for the derivative of a program, 2 for that of a derivative, and so on.
    """

    product: Product
    kind: JointKind | None
    told: range
    level: int = 1

    def tangents(self, graph: Graph, loads: Iterable[Node]) -> dict[Node, Scalar]:
        """Of each load that varies, its tangent."""
        named = dict(zip(self.product.by, self.product.vectors, strict=False))
        found: dict[Node, Scalar] = {}
        for load in loads:
            address: Address = load.data[1]
            what, *name = address.area
            if what == "in" and name[0] not in named:
                continue
            if what == "in" and name[0] in self.product.configurations:
                found |= self._rates(graph, name[0], named[name[0]])
            elif what == "in":
                found[load] = _load(graph, replace(address, area=("in", named[name[0]])))
            elif what == "work" and not self.is_told(address):
                found[load] = _load(graph, self.shifted(address))
        return found

    def _rates(self, graph: Graph, name: str, direction: str) -> dict[Node, Scalar]:
        """How the coordinates of the body's joint change."""
        assert self.kind is not None, "no joint has these coordinates"
        dq = [_load(graph, Address(("in", direction), OF_SPEEDS, i)) for i in range(self.kind.nv)]
        q = self.coordinates(graph, name)
        return dict(zip(q, joint_rate(self.kind, graph, q, dq), strict=True))

    def coordinates(self, graph: Graph, name: str) -> list[Node]:
        """The coordinates of the body's joint in a configuration."""
        assert self.kind is not None, "no joint has these coordinates"
        area = ("in", name)
        return [_load(graph, Address(area, OF_COORDINATES, i)) for i in range(self.kind.nq)]

    def adjoint(self, graph: Graph, address: Address) -> Node:
        """Of what a store has written: its own, or the weight of a result."""
        if address.area[0] == "out":
            weight = self.product.vectors[address.area[1]]
            return _load(graph, replace(address, area=("in", weight)))
        return _load(graph, self.adjoint_of(address))

    def shifted(self, address: Address) -> Address:
        """The partner's."""
        return replace(address, operands=(*address.operands, shift_of(self.level)))

    def adjoint_of(self, address: Address) -> Address:
        """The partner's, in reverse: that of a column walks with it."""
        return (
            address.moved("column", "adjoint") if address.has("column") else self.shifted(address)
        )

    def is_told(self, address: Address) -> bool:
        """Whether only checks read a number."""
        of_record = address.operands in ((("own",),), (("parent",),))
        return address.area == WORK and of_record and address.offset in self.told


def _load(graph: Graph, address: Address) -> Node:
    return graph.input(("load", address))


def shift_of(level: int) -> Operand:
    """The operand that leads to a partner."""
    return SHIFT if level == 1 else ("shift", level)


def _loads_of(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """What must be read from memory to compute nodes."""
    return [x for x in graph.live(nodes) if x.op == "input" and x.data[0] == "load"]


# -- along a direction -----------------------------------------------------------------------


def forward_template(template: Template, partners: Partners) -> Template:
    """The template, and beside each number that it keeps its tangent; of results, tangents."""
    graph = template.graph
    every = list(chain.from_iterable((x.value for x in y.stores) for y in template.regions))
    tangents = partners.tangents(graph, _loads_of(graph, every))
    regions = []
    for region in template.regions:
        stores = [x for x in region.stores if x.address.area == WORK]
        slopes = forward(graph, [x.value for x in region.stores], tangents)
        for store, slope in zip(region.stores, slopes, strict=True):
            if partners.is_told(store.address) or (store.adds and slope is graph.zero):
                continue
            is_kept = store.address.area == WORK
            address = partners.shifted(store.address) if is_kept else store.address
            stores.append(Store(address, slope, store.adds))
        regions.append(Region(region.over, stores, region.checks))
    return Template(graph, [x for x in regions if x.stores or x.checks])


def forward_dense(step: Dense, partners: Partners) -> list[Dense]:
    """A system or a product of the whole machine, and its tangent.

    Of `x = A^-1 b` it is `dx = A^-1 (db - dA x)`, of `X = A^-1` `dX = -X dA X`, of
    `C += A B` `dC += dA B + A dB`.
    """
    _check_first(partners)
    A, b, x = step.operands
    if step.routine == "dense_multiply":
        value = [] if isinstance(x.of, int) else [step]
        slopes = [(A.partner, b, x.partner), (A, b.partner, x.partner)]
        return [*value, *(Dense(step.routine, operands) for operands in slopes)]
    if step.routine == "dense_inverse":
        return [step, Dense("dense_sandwich", (x, A.partner, x.partner))]
    residual = Dense("dense_residual", (A.partner, x, x.partner, b.partner))
    return [step, residual, Dense(step.routine, (A, x.partner, x.partner))]


def _check_first(partners: Partners) -> None:
    """NotRolledError but for the derivative of a program."""
    if partners.level > 1:
        raise NotRolledError(SYSTEMS_ONCE)


# -- in reverse ------------------------------------------------------------------------------


def without_results(template: Template) -> Template:
    """What is kept, for the way back: columns at every body, pairs only if they are read again."""

    def kept(region: Region) -> Region:
        stores = [x for x in region.stores if x.address.area == WORK]
        moved = [replace(x, address=x.address.moved("column", "pushed")) for x in stores]
        return Region(region.over, moved, region.checks)

    regions = list(map(kept, template.regions))
    pairs = {_number(x) for x in regions if x.stores and _is_over(x, "pairs", "mirrored")}
    for region in regions:
        if _is_over(region, "left", "right") and _number(region) not in pairs:
            region.stores.clear()
        if not pairs:
            region.stores = [x for x in region.stores if not x.address.has("paired")]
    return Template(template.graph, [x for x in regions if x.stores or x.checks])


def _is_over(region: Region, *lists: str) -> bool:
    return region.over is not None and region.over[0] in lists


def _number(region: Region) -> int:
    """Of the statement on pairs that a region belongs to."""
    assert region.over is not None
    return region.over[1]


def reverse_template(
    template: Template, partners: Partners, record: int = 0
) -> tuple[list[Template], int]:
    """Adds to the adjoints of what the template reads, from those of what it writes.

    Args:
        template: of a visit.
        partners: of its numbers.
        record: how many numbers the record of the body has so far.

    Returns:
        templates to be run one after the other at the body, and how many numbers its record has
        now.

    Raises:
        NotRolledError: if numbers are no longer there.
    """
    graph = template.graph
    if partners.level > 1 and any(x.over is not None for x in template.regions):
        raise NotRolledError("columns of a matrix are differentiated in reverse once, not again")
    entries = Entries(graph, partners, record)
    outer = [x for x in template.regions if x.over is None]
    passing = [x for x in template.regions if _is_over(x, "columns")]
    by_pair: dict[int, list[Region]] = {}
    for region in template.regions:
        if region.over is not None and not _is_over(region, "columns"):
            by_pair.setdefault(_number(region), []).append(region)
    regions: list[Region] = []
    if by_pair:
        regions += [_only_paired(x) for x in (*outer, *passing)]
    for several in reversed(by_pair.values()):
        products = [x for x in several if _is_over(x, "left", "right")]
        pairs = [x for x in several if x not in products]
        regions += [Region(x.over, list(x.stores)) for x in products]
        regions += [entries.turned(x) for x in (*pairs, *products)]
    regions += [entries.turned(x) for x in passing]
    lists = Template(graph, [x for x in regions if x.stores])
    stores = [x for y in outer for x in y.stores]
    back = _turned(graph, stores, partners, entries.places)
    body = Template(graph, [Region(None, back)] if back else [])
    return [x for x in (lists, body) if x.regions], record + len(entries.places)


def _only_paired(region: Region) -> Region:
    """The vectors that pairs look at, once more."""
    return Region(region.over, [x for x in region.stores if x.address.has("paired")])


class Entries:
    """The way back through lists, entry by entry.

    Args:
        graph: of the template.
        partners: of its numbers.
        record: where numbers of the body's record are free.

    Attributes:
        places: of what entries need of the body, where its adjoint is summed up.
    """

    def __init__(self, graph: Graph, partners: Partners, record: int):
        self.graph, self.partners, self.record = graph, partners, record
        self.places: dict[Node, Address] = {}
        self._fixed: dict[Node, bool] = {}

    def turned(self, region: Region) -> Region:
        """Adjoints of what an entry reads, from those of what it writes."""
        values = [x.value for x in region.stores]
        needed = self._of_body(values)
        outside = {x: self._place(x) for x in needed}
        stores = _turned(self.graph, region.stores, self.partners, {}, outside)
        return Region(region.over, stores)

    def _of_body(self, values: Sequence[Node]) -> list[Node]:
        """What entries need of the body: the last numbers that do not depend on the entry."""
        moving: dict[Node, bool] = {}
        found: dict[Node, None] = {}
        for node in self.graph.live(values):
            is_input = node.op == "input"
            moving[node] = moves(node) if is_input else any(moving[x] for x in node.args)
            if moving[node]:
                found |= {x: None for x in node.args if not moving[x]}
        found |= {x: None for x in values if not moving[x]}
        return [x for x in found if x.op != "constant" and not is_fixed(x, self._fixed)]

    def _place(self, node: Node) -> Address:
        if node not in self.places:
            self.places[node] = Address(WORK, (("own",),), self.record + len(self.places))
        return self.places[node]


def _turned(
    graph: Graph,
    written: Sequence[Store],
    partners: Partners,
    summed: Mapping[Node, Address],
    outside: Mapping[Node, Address] | None = None,
) -> list[Store]:
    """What a region does on the way back.

    Args:
        graph: of the template.
        written: what it stores on the way there.
        partners: of its numbers.
        summed: numbers of the body that entries of lists need, and where their adjoints are.
        outside: in a list, the numbers of the body that its entries need; none in the body.
    """
    product = partners.product
    written = [x for x in written if not partners.is_told(x.address)]
    values = [*(x.value for x in written), *summed]
    adjoints = [partners.adjoint(graph, x.address) for x in written]
    adjoints += [_load(graph, partners.shifted(x)) for x in summed.values()]
    bound = {} if outside is None else outside
    loads = [
        x
        for x in _loads_of(graph, values)
        if _varies(x, product.by) and (outside is None or moves(x))
    ]
    slopes = reverse(graph, values, adjoints, [*loads, *bound])
    replaced = {x.address for x in written if not x.adds}
    stores: list[Store] = []
    by_coordinate: dict[str, dict[Node, Node]] = {}
    for load, slope in zip(loads, slopes, strict=False):
        address: Address = load.data[1]
        what, *name = address.area
        if partners.is_told(address) or (slope is graph.zero and address not in replaced):
            continue
        if what == "work":
            stores.append(Store(partners.adjoint_of(address), slope, adds=address not in replaced))
        elif name[0] in product.configurations:
            by_coordinate.setdefault(name[0], {})[load] = slope
        else:
            result = replace(address, area=("out", product.by.index(name[0])))
            stores.append(Store(result, slope, adds=True))
    for place, slope in zip(bound.values(), slopes[len(loads) :], strict=True):
        if slope is not graph.zero:
            stores.append(Store(partners.shifted(place), slope, adds=True))
    for configuration, of_load in by_coordinate.items():
        stores += _along_tangents(graph, partners, configuration, of_load)
    is_lost = replaced - {x for x in replaced if x.has("column")}  # columns are kept at every body
    if any(x.data[1] in is_lost for x in _loads_of(graph, [x.value for x in stores])):
        raise NotRolledError("a number of the whole machine is replaced by a function of itself")
    # What belongs to one body is done with: the next one begins with zeros.
    passed = [x.address for x in written if x.address.has("paired", "scratch")]
    return [*stores, *(Store(partners.shifted(x), graph.zero) for x in dict.fromkeys(passed))]


def _varies(load: Node, by: Sequence[str]) -> bool:
    what, *name = load.data[1].area
    return what == "work" or (what == "in" and name[0] in by)


def _along_tangents(
    graph: Graph, partners: Partners, name: str, slopes: dict[Node, Node]
) -> list[Store]:
    """The derivatives by dq from those by q: `q' = A(q) dq`, so `A* slopes`."""
    q = partners.coordinates(graph, name)
    kind = partners.kind
    assert kind is not None
    dq = [graph.input(("along", i)) for i in range(kind.nv)]
    rates = [graph.node(x) for x in joint_rate(kind, graph, q, dq)]
    found = reverse(graph, rates, [slopes.get(x, graph.zero) for x in q], dq)
    area = ("out", partners.product.by.index(name))
    return [Store(Address(area, OF_SPEEDS, i), x, adds=True) for i, x in enumerate(found)]


def reverse_dense(step: Dense, partners: Partners) -> list[Dense]:
    """The adjoints of a system or a product of the whole machine, written with a prime.

    Of `x = A^-1 b` they are `y = A*^-1 x'`, added to b', and `-y x*`, added to A'; of `X = A^-1`
    `-X* X' X*`, added to A'; of `C += A B` `C' B*`, added to A', and `A* C'`, added to B'.
    """
    _check_first(partners)
    A, b, x = step.operands
    if step.routine == "dense_inverse":
        return [Dense("dense_adjoint_inverse", (x, x.partner, A.partner))]
    if step.routine == "dense_multiply":
        weight = Whole(x.of, is_partner=True)
        return [
            Dense("dense_multiply_right", (weight, b, A.partner)),
            Dense("dense_multiply_left", (A, weight, b.partner)),
        ]
    return [Dense("dense_adjoint_solve", (A, x.partner, b.partner, x, A.partner))]


# -- configurations --------------------------------------------------------------------------


def joint_rate(
    kind: JointKind, graph: Graph, q: Sequence[Scalar], dq: Sequence[Scalar]
) -> Sequence[Scalar]:
    """How the coordinates of a joint change along dq: d/dt integrate(q, t dq) at 0."""
    if type(kind).integrate is JointKind.integrate:  # coordinates and speeds are one
        return dq
    own = Graph()
    start = [own.input(("q", i)) for i in range(kind.nq)]
    step = [own.input(("u", i)) for i in range(kind.nv)]
    along = [own.input(("dq", i)) for i in range(kind.nv)]
    moved = [own.node(x) for x in kind.integrate(start, step)]
    slopes = forward(own, moved, dict(zip(step, along, strict=True)))
    given: dict[tuple[str, int], Scalar] = {}
    for name, values in (("q", q), ("u", [0.0] * kind.nv), ("dq", dq)):
        given |= {(name, i): x for i, x in enumerate(values)}
    return graph.graft(slopes, given)
