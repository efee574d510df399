"""Derivatives of templates, as templates: rolled code times a direction, or times a weight.

Rolled code is a row of visits. Each reads numbers x from memory, then sets others
or adds to them: y = f(x). Memory is doubled, every number of it has a partner,
`SHIFT` further on; and each visit has a derivative of its own:

    forward    the partner is a tangent:   dy = f_x dx       visits in the same order
    reverse    the partner is an adjoint:  x' += f_x* y'     visits in the opposite order

In reverse the visit computes f once more, from numbers that it finds in memory as
they were: so nothing may have taken their places, and layouts share none. A number
that is set is set once. Adding is linear, and what was added to is read later only.

Arguments have directions as partners, results have weights. A configuration varies
along its tangents, joint by joint: dq of q exp(dq), as `integrate` moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from phipsi.graph.derive import forward, reverse
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.templates import WORK, Address, Dense, Operand, Region, Store, Template
from phipsi.model.joints import JointKind
from phipsi.scalars import Scalar

CONFIGURATION = "q"
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
    """

    product: Product
    kind: JointKind | None
    told: range

    def tangents(self, graph: Graph, loads: Iterable[Node]) -> dict[Node, Scalar]:
        """Of each load that varies, its tangent."""
        named = dict(zip(self.product.by, self.product.vectors, strict=False))
        found: dict[Node, Scalar] = {}
        for load in loads:
            address: Address = load.data[1]
            what, *name = address.area
            if what == "in" and name[0] in self.product.configurations:
                found |= self._rates(graph, name[0], named[name[0]])
            elif what == "in" and name[0] in named:
                found[load] = _load(graph, replace(address, area=("in", named[name[0]])))
            elif what == "work" and not self.is_told(address):
                found[load] = _load(graph, shifted(address))
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
        return _load(graph, shifted(address))

    def is_told(self, address: Address) -> bool:
        """Whether only checks read a number."""
        of_record = address.operands in ((("own",),), (("parent",),))
        return address.area == WORK and of_record and address.offset in self.told


def _load(graph: Graph, address: Address) -> Node:
    return graph.input(("load", address))


def shifted(address: Address) -> Address:
    """The partner's."""
    return replace(address, operands=(*address.operands, SHIFT))


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
            address = shifted(store.address) if is_kept else store.address
            stores.append(Store(address, slope, store.adds))
        regions.append(Region(region.over, stores, region.checks))
    return Template(graph, [x for x in regions if x.stores or x.checks])


def forward_dense(step: Dense) -> list[Dense]:
    """A system or a product of the whole machine, and its tangent.

    Of `x = A^-1 b` it is `dx = A^-1 (db - dA x)`, of `X = A^-1` `dX = -X dA X`, of
    `C += A B` `dC += dA B + A dB`.
    """
    A, b, x = step.operands
    if step.routine == "dense_multiply":
        value = [] if isinstance(x.of, int) else [step]
        slopes = [(A.partner, b, x.partner), (A, b.partner, x.partner)]
        return [*value, *(Dense(step.routine, operands) for operands in slopes)]
    if step.routine == "dense_inverse":
        return [step, Dense("dense_sandwich", (x, A.partner, x.partner))]
    residual = Dense("dense_residual", (A.partner, x, x.partner, b.partner))
    return [step, residual, Dense(step.routine, (A, x.partner, x.partner))]


# -- in reverse ------------------------------------------------------------------------------


def without_results(template: Template) -> Template:
    """What is kept, for the way back."""
    regions = [
        Region(x.over, [y for y in x.stores if y.address.area == WORK], x.checks)
        for x in template.regions
    ]
    return Template(template.graph, [x for x in regions if x.stores or x.checks])


def reverse_template(template: Template, partners: Partners) -> Template:
    """Adds to the adjoints of what the template reads, from those of what it writes.

    Raises:
        NotRolledError: if numbers are no longer there.
    """
    graph, product = template.graph, partners.product
    if any(x.over is not None for x in template.regions):
        raise NotRolledError(
            "the columns of a matrix pass by in its loops, and are not kept for the way back"
        )
    written = [x for y in template.regions for x in y.stores if not partners.is_told(x.address)]
    values = [x.value for x in written]
    adjoints = [partners.adjoint(graph, x.address) for x in written]
    loads = [x for x in _loads_of(graph, values) if _varies(x, product.by)]
    slopes = reverse(graph, values, adjoints, loads)
    replaced = {x.address for x in written if not x.adds}
    stores: list[Store] = []
    by_coordinate: dict[str, dict[Node, Node]] = {}
    for load, slope in zip(loads, slopes, strict=True):
        address: Address = load.data[1]
        what, *name = address.area
        if slope is graph.zero or partners.is_told(address):
            continue
        if what == "work":
            stores.append(Store(shifted(address), slope, adds=address not in replaced))
        elif name[0] in product.configurations:
            by_coordinate.setdefault(name[0], {})[load] = slope
        else:
            result = replace(address, area=("out", product.by.index(name[0])))
            stores.append(Store(result, slope, adds=True))
    for configuration, of_load in by_coordinate.items():
        stores += _along_tangents(graph, partners, configuration, of_load)
    if any(x.data[1] in replaced for x in _loads_of(graph, [x.value for x in stores])):
        raise NotRolledError("a number of the whole machine is replaced by a function of itself")
    return Template(graph, [Region(None, stores)] if stores else [])


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


def reverse_dense(step: Dense) -> Dense:
    """The adjoints of a system of the whole machine, written with a prime.

    Of `x = A^-1 b` they are `y = A*^-1 x'`, added to b', and `-y x*`, added to A'.

    Raises:
        NotRolledError: for what only matrices have.
    """
    if step.routine not in ("dense_solve", "dense_solve_positive"):
        raise NotRolledError("it inverts or multiplies matrices of the whole machine")
    A, b, x = step.operands
    return Dense("dense_adjoint_solve", (A, x.partner, b.partner, x, A.partner))


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
