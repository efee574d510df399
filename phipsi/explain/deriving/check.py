"""Derivations held against dense matrices, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import matmul

import numpy as np

from phipsi.algebra.identities.pick_offs import lacks_a_joint, of_joint, put_joint
from phipsi.algebra.node import Node, Product, Scaled, Sum, Symbol, Transpose
from phipsi.cleaning import visible
from phipsi.errors import InputError, PhipsiError, SolveError
from phipsi.explain.deriving.derivation import Derivation
from phipsi.explain.deriving.trials import Trial, axes_of, random_trial
from phipsi.lowering.conditions import unmet
from phipsi.model.model import Model

TOLERANCE = 1e-9  # relative: what is left of sixteen digits after a few ill-conditioned inverses
VANISHED = 1e-13  # of the numbers on the way: where less is left, it is their roundoff
ATTEMPTS = 10  # random machines, for each that is asked for


@dataclass(frozen=True)
class Residual:
    """How far both sides of a step are apart on one machine, relative to their size."""

    step: int  # from 1
    name: str
    machine: str
    value: float

    @property
    def ok(self) -> bool:
        """Whether it is roundoff."""
        return self.value < TOLERANCE


@dataclass(frozen=True)
class Check:
    """The residuals of a derivation: of every step, and of its ends, on every machine.

    Args:
        residuals: one for each step and machine; those of both ends have step 0.
        missing: what was asked for and not reached; empty if nothing.
    """

    residuals: tuple[Residual, ...]
    missing: str = ""

    @property
    def ok(self) -> bool:
        """Whether what was asked for was reached, and every step holds."""
        return not self.missing and all(x.ok for x in self.residuals)

    @property
    def worst(self) -> Residual | None:
        """The largest residual; None where there were no steps to check."""
        return max(self.residuals, key=lambda x: x.value, default=None)

    def of_step(self, step: int) -> float:
        """The largest residual of one step, on all machines; NaN if some is."""
        return float(np.max([x.value for x in self.residuals if x.step == step]))

    def __iter__(self) -> Iterator[Residual]:
        return iter(self.residuals)

    def __str__(self) -> str:
        if not self.residuals:
            return f"{self.missing} was not reached" if self.missing else "no steps to check"
        machines = len({x.machine for x in self.residuals})
        lines = [f"largest residuals on {machines} machine{'s' * (machines != 1)}:"]
        for step, name in dict.fromkeys((x.step, x.name) for x in self.residuals):
            value = self.of_step(step)
            mark = "" if value < TOLERANCE else "   FAILS"
            lines.append(f"  {step or '':>3}  {value:8.1e}  {visible(name)}{mark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def check(derivation: Derivation, model: Model | None, machines: int, seed: int) -> Check:
    """Every step of a derivation on a machine, or on random ones; see `Derivation.check`."""
    if model is not None and not isinstance(model, Model):
        raise InputError(f"check: expected a Model, got {type(model).__name__}")
    for name, number, least in (("machines", machines, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise InputError(f"{name}: expected a whole number from {least} on, got {number!r}")
    if model is None:
        residuals = _on_random_machines(derivation, machines, seed)
        return Check(tuple(residuals), derivation.missing)
    broken = unmet(model, derivation.conditions)
    if broken:
        raise InputError(
            f"check: the derivation holds for {', '.join(map(str, derivation.conditions))}; "
            f"{model.name!r} is not such a machine"
        )
    placed = _at_a_joint(derivation, model, seed)
    trial = Trial(model, _expressions(placed), seed, axes_of(derivation.conditions))
    return Check(tuple(_on_some_points(placed, trial)), derivation.missing)


def _expressions(derivation: Derivation) -> tuple[Node, ...]:
    """Everything that is evaluated: the ends, both sides of each step, the identities."""
    found = [derivation.expression, derivation.result]
    for step in derivation.steps:
        found += [step.before, step.after]
        if step.identity is not None:
            found += [step.identity.left, step.identity.right]
    return tuple(found)


def _at_a_joint(derivation: Derivation, model: Model, seed: int) -> Derivation:
    """A derivation about any joint, about one of a machine: its bare pick-offs have none yet."""
    if not any(map(lacks_a_joint, _expressions(derivation))):
        return derivation
    rng = np.random.default_rng(seed)
    moving = [k for k, joint in enumerate(model.joints) if joint.kind.nv]
    inner = [k for k in moving if model.tree.children[k]] or moving  # it carries another body
    if not inner:
        raise InputError(f"check: {model.name!r} has no joint that moves, for the pick-offs")
    k = int(rng.choice(inner))
    place = k, int(rng.integers(model.joints[k].kind.nv))
    steps = (
        replace(
            step,
            before=put_joint(step.before, place),
            after=put_joint(step.after, place),
            identity=None if step.identity is None else of_joint(step.identity, *place),
        )
        for step in derivation.steps
    )
    ends = (put_joint(x, place) for x in (derivation.expression, derivation.result))
    expression, result = ends
    return replace(derivation, expression=expression, result=result, steps=tuple(steps))


def _on_random_machines(derivation: Derivation, machines: int, seed: int) -> list[Residual]:
    found: list[Residual] = []
    expressions, done, last = _expressions(derivation), 0, None
    large = False
    for attempt in range(seed, seed + ATTEMPTS * machines):
        try:
            large = large or (attempt - seed >= machines and not done)  # small ones will not do
            trial = random_trial(expressions, derivation.conditions, attempt, large)
            placed = _at_a_joint(derivation, trial.model, attempt)
            trial = replace(trial, expressions=_expressions(placed))
            found += _on_some_points(placed, trial)
        except PhipsiError as error:  # singular there, or a joint of too few speeds
            last = error
            continue
        done += 1
        if done == machines:
            return found
    raise SolveError(
        f"no random machine on which `{derivation.expression}` can be evaluated; pass a model. "
        f"The last one: {last}"
    )


def _on_some_points(derivation: Derivation, trial: Trial) -> list[Residual]:
    try:
        return _residuals(derivation, trial)
    except SolveError:  # two points may be more than its joints can move
        return _residuals(derivation, replace(trial, bare=1))


def _residuals(derivation: Derivation, trial: Trial) -> list[Residual]:
    """Of every step, of the identity that it uses taken by itself, and of both ends."""
    compare, machine = _Comparison(trial), trial.model.name
    found: list[Residual] = []
    for place, step in enumerate(derivation.steps, 1):
        apart = compare(step.before, step.after)
        if step.identity is not None:
            apart = float(np.max([apart, compare(step.identity.left, step.identity.right)]))
        found.append(Residual(place, step.name, machine, apart))
    if found:
        ends = compare(derivation.expression, derivation.result)
        found.append(Residual(0, "the result, beside the expression", machine, ends))
    return found


class _Comparison:
    """How far two expressions are apart on a machine, relative to what they are made of."""

    def __init__(self, trial: Trial):
        self._trial = trial
        self._values: dict[Node, np.ndarray] = {}

    def __call__(self, one: Node, other: Node) -> float:
        """Only terms that differ are compared: a large one beside them would hide a mistake.

        Where both sides are apart and vanish but for roundoff, that is relative to the numbers
        that were multiplied and added on the way.
        """
        left, right = Counter(one.terms), Counter(other.terms)
        differing = [*(left - right).elements(), *(right - left).elements()]
        if not differing:
            return 0.0
        signs = [1] * sum((left - right).values()) + [-1] * sum((right - left).values())
        values = [self._value(x) for x in differing]
        apart = float(np.linalg.norm(sum(s * x for s, x in zip(signs, values, strict=True))))
        size = max(float(np.linalg.norm(x)) for x in values)
        if size == 0.0:
            return 0.0
        if apart < TOLERANCE * size:
            return apart / size
        made_of = max(map(self._made_of, differing))
        if size <= VANISHED * made_of:
            size = made_of
        return apart / size

    def _value(self, node: Node) -> np.ndarray:
        if node not in self._values:
            self._values[node] = self._trial.value(node)
        return self._values[node]

    def _made_of(self, node: Node) -> float:
        """How large numbers can become on the way to the value of an expression."""
        parts = [self._made_of(x) for x in node.children]
        match node:
            case Sum():
                return sum(parts)
            case Product():
                return self._made_of_product(node.children, parts)
            case Scaled():
                own = 1.0 if isinstance(node.factor, Node) else abs(node.factor)
                return own * float(np.prod(parts))
            case Transpose():
                return parts[0]
            case Symbol() if node.free:  # by itself it does not tell how many points it is at
                return self._trial.size_of(node)
        return self._norm(node)

    def _made_of_product(self, factors: Sequence[Node], parts: Sequence[float]) -> float:
        """The largest of |A_1 .. A_k-1| |A_k| |A_k+1 .. A_n|: what the roundoff of A_k becomes.

        The product of all norms would be out of all proportion where factors are many.
        """
        found = []
        for k, own in enumerate(parts):
            try:
                beside = [x for x in (factors[:k], factors[k + 1 :]) if x]
                sides = [self._norm(reduce(matmul, x)) for x in beside]
            except PhipsiError:  # a side that by itself does not tell how many points it is at
                sides = [*parts[:k], *parts[k + 1 :]]
            found.append(own * float(np.prod(sides)))
        return max(found)

    def _norm(self, node: Node) -> float:
        return float(np.linalg.norm(self._value(node)))
