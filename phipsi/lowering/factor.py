"""Sums of vector terms, factored from the left; causal operators, split at the diagonal.

psi @ x + psi @ y            psi @ (x + y), one sweep
tau_bar @ w + G @ T          w + G @ (T - H @ w)
I - H @ psi @ K              own part I, strict part -H @ psi @ E_phi @ G

A sum in front is multiplied out on the way, (A + B) x = A x + B x, so that terms meet that
belong together. In products of many sums that would have no end: there every factor is applied
to the vector on its right, one after the other (`opens=False`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from phipsi.algebra import operators as op
from phipsi.algebra.families import family_of
from phipsi.algebra.node import (
    Identity,
    Inverse,
    Node,
    Sum,
    Symbol,
    Transpose,
    add,
    compose,
    invert,
)
from phipsi.algebra.rewriting.normal import joined, number_and_factors, terms_of
from phipsi.algebra.rewriting.terms import Term
from phipsi.algebra.spaces import BODY, Causality
from phipsi.algebra.stars import starred
from phipsi.errors import LoweringError, SolveError
from phipsi.lowering.structure import is_memoryless, is_one_step, load_points, step_of

Place = tuple[int, ...]  # of a term, in the sums that were opened: terms keep their order


def factor_left(
    terms: Sequence[Node], walks: bool, opens: bool = True
) -> list[tuple[float, tuple[Node, ...]]]:
    """Terms with equal first factors merged: A x + A y = A (x + y); equal terms added.

    On columns that walk, tau_bar stays closed: what stands beside it is zero
    beyond the column's start, and the zeros of tau_bar w are worth more.

    Args:
        terms: of a sum, vectors.
        walks: whether they are columns that walk.
        opens: whether sums in front are multiplied out.
    """
    merged: dict[Node, list[tuple[float, Node | None]]] = {}
    for number, factors in open_sums(terms) if opens else map(number_and_factors, terms):
        if len(factors) == 1:
            merged.setdefault(factors[0], []).append((number, None))
        else:
            merged.setdefault(factors[0], []).append((number, joined(1, factors[1:])))
    if not walks:
        _open_free_joints(merged)
    result: list[tuple[float, tuple[Node, ...]]] = []
    for head, members in merged.items():
        alone = [number for number, rest in members if rest is None]
        if sum(alone) != 0:
            result.append((sum(alone), (head,)))
        rests = [(number, rest) for number, rest in members if rest is not None]
        if not rests:
            continue
        if len(rests) == 1:
            number, rest = rests[0]
            result.append((number, (head, *rest.factors)))
        else:
            sign = -1 if all(number < 0 for number, _ in rests) else 1
            total = reduce(add, (_scaled(sign * number, rest) for number, rest in rests))
            result.append((sign, (head, total)))
    if not result:  # everything cancelled: keep a zero of the right space
        number, factors = number_and_factors(terms[0])
        return [(0.0, factors)]
    result.sort(key=lambda term: term[0] != 1)  # a plus first: no negation
    return result


def open_sums(terms: Sequence[Node]) -> list[tuple[float, tuple[Node, ...]]]:
    """Terms as number and factors, a sum in front multiplied out: (A + B) x = A x + B x.

    Only what stands in front: behind a factor, sums stay closed. Equal ones are opened once, with
    the sum of their numbers: in (I + A + 2 (I + B)) x, three times x.
    """
    pending: list[tuple[Place, float, tuple[Node, ...]]] = [
        ((i,), *number_and_factors(x)) for i, x in enumerate(terms)
    ]
    done: list[tuple[Place, float, tuple[Node, ...]]] = []
    while pending:
        sums: dict[tuple[Node, ...], tuple[Place, float]] = {}
        for place, number, factors in pending:
            if isinstance(factors[0], Sum):
                first, total = sums.get(factors, (place, 0))
                sums[factors] = first, total + number
            else:
                done.append((place, number, factors))
        pending = []
        for (head, *rest), (place, number) in sums.items():
            for i, (own, inner) in enumerate(map(number_and_factors, head.children)):
                kept = inner[:-1] if rest and isinstance(inner[-1], Identity) else inner
                term = number_and_factors(joined(number * own, (*kept, *rest)))
                pending.append(((*place, i), *term))
    return [(number, factors) for _, number, factors in sorted(done, key=lambda x: x[0])]


def _open_free_joints(merged: dict[Node, list[tuple[float, Node | None]]]) -> None:
    """tau_bar w beside G T becomes w + G (T - L w), and tau_bar* y beside L* n likewise."""
    for head in list(merged):
        letter, star = (head.children[0], True) if isinstance(head, Transpose) else (head, False)
        if not isinstance(letter, Symbol) or letter.record is not op.tau_bar.record:
            continue
        family = family_of(letter)
        G, L = family.letter(op.G), family.L
        outer, inner = (starred(L), starred(G)) if star else (G, L)
        if outer not in merged:
            continue
        for number, rest in merged.pop(head):
            assert rest is not None
            for term in rest.terms:
                own, parts = number_and_factors(term)
                tail = joined(1, parts[1:]) if len(parts) > 1 else None
                merged.setdefault(parts[0], []).append((number * own, tail))
            merged[outer].append((-number, inner @ rest))


def _scaled(number: float, node: Node) -> Node:
    return number * node if number != 1 else node


def split_strict(operand: Node, typed: Node | None = None) -> tuple[Node, list[Node]]:
    """The block-diagonal part of a causal or anticausal operator, and the strict rest.

    A recursion in a term without a step is opened: phi = I + phi E_phi, and
    (A - N)^-1 = A^-1 + A^-1 N (A - N)^-1.
    """
    own: list[Node] = []
    strict: list[Node] = []
    pending = list(terms_of(operand))
    while pending:
        number, scalars, factors = pending.pop(0)
        factors = load_points(factors)
        bare = [x.children[0] if isinstance(x, Transpose) else x for x in factors]
        if any(map(is_one_step, bare)):
            strict.append(joined(number, factors, scalars))
        elif all(map(is_memoryless, factors)):
            own.append(joined(number, factors, scalars))
        else:
            opened = terms_of(_open_one(factors))
            pending[:0] = [Term(number * n, scalars + more, parts) for n, more, parts in opened]
    if not own:
        raise SolveError(f"`{typed or operand}` is singular on every machine: its diagonal is zero")
    return reduce(add, own), strict


def _open_one(factors: Sequence[Node]) -> Node:
    """A product with its first recursion written as its diagonal blocks and a strict rest."""
    for i, x in enumerate(factors):
        opened = _opened(x)
        if opened is not None:
            parts = [reduce(compose, (*factors[:i], y, *factors[i + 1 :])) for y in opened]
            return reduce(add, parts)
    raise LoweringError(
        f"cannot lower the inverse of `{joined(1, factors)}`: its own blocks are not clear; "
        "pp.as_matrix inverts it densely"
    )


def _opened(atom: Node) -> list[Node] | None:
    """The terms of a sum; a recursion A as its diagonal blocks, and the rest of it."""
    if isinstance(atom, Sum):
        return list(atom.terms)
    inward, outward = step_of(atom), step_of(starred(atom))
    if inward is not None:
        return [Identity(BODY), atom @ inward]
    if outward is not None:
        return [Identity(BODY), starred(outward) @ atom]
    if isinstance(atom, Inverse) and atom.causality is not Causality.MEMORYLESS:
        own, strict = split_strict(atom.children[0])
        first = invert(own)
        return [first, *(-(first @ term @ atom) for term in strict)]
    return None
