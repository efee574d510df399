"""Derivations held against dense matrices, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phipsi.algebra.node import Node
from phipsi.errors import InputError, PhipsiError, SolveError
from phipsi.explain.deriving.derivation import Derivation
from phipsi.explain.deriving.trials import Trial, axes_of, random_trial, unmet
from phipsi.model.model import Model

TOLERANCE = 1e-9  # relative: what is left of sixteen digits after a few ill-conditioned inverses
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
    """The residuals of a derivation: of every step, and of its ends, on every machine."""

    residuals: tuple[Residual, ...]

    @property
    def ok(self) -> bool:
        """Whether every step holds."""
        return all(x.ok for x in self.residuals)

    @property
    def worst(self) -> Residual | None:
        """The largest residual; None where there were no steps to check."""
        return max(self.residuals, key=lambda x: x.value, default=None)

    def of_step(self, step: int) -> float:
        """The largest residual of one step, on all machines."""
        return max(x.value for x in self.residuals if x.step == step)

    def __iter__(self) -> Iterator[Residual]:
        return iter(self.residuals)

    def __str__(self) -> str:
        if not self.residuals:
            return "no steps to check"
        machines = len({x.machine for x in self.residuals})
        lines = [f"largest residuals on {machines} machine{'s' * (machines != 1)}:"]
        for step, name in dict.fromkeys((x.step, x.name) for x in self.residuals):
            value = self.of_step(step)
            mark = "" if value < TOLERANCE else "   FAILS"
            lines.append(f"  {step or '':>3}  {value:8.1e}  {name}{mark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def check(derivation: Derivation, model: Model | None, machines: int, seed: int) -> Check:
    """Every step of a derivation on a machine, or on random ones; see `Derivation.check`."""
    if model is not None and not isinstance(model, Model):
        raise InputError(f"check: expected a Model, got {type(model).__name__}")
    if isinstance(machines, bool) or not isinstance(machines, int) or machines < 1:
        raise InputError(f"machines: expected a whole number above 0, got {machines!r}")
    conditions = derivation.conditions
    expressions = [derivation.expression, derivation.result]
    expressions += [x for step in derivation.steps for x in (step.before, step.after)]
    if model is None:
        found = _on_random_machines(derivation, expressions, machines, seed)
        return Check(tuple(found))
    broken = unmet(model, conditions)
    if broken:
        raise InputError(
            f"check: the derivation holds for {', '.join(map(str, conditions))}; "
            f"{model.name!r} is not such a machine"
        )
    trial = Trial(model, tuple(expressions), seed, axes_of(conditions))
    return Check(tuple(_residuals(derivation, trial)))


def _on_random_machines(
    derivation: Derivation, expressions: Sequence[Node], machines: int, seed: int
) -> list[Residual]:
    found: list[Residual] = []
    done, last = 0, None
    for attempt in range(seed, seed + ATTEMPTS * machines):
        try:
            trial = random_trial(expressions, derivation.conditions, attempt)
            found += _residuals(derivation, trial)
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


def _residuals(derivation: Derivation, trial: Trial) -> list[Residual]:
    values: dict[Node, np.ndarray] = {}

    def value(node: Node) -> np.ndarray:
        if node not in values:
            values[node] = trial.value(node)
        return values[node]

    def apart(one: Node, other: Node) -> float:
        """Relative to the largest term of either: of a sum that vanishes only roundoff is left."""
        parts = {*one.terms, *other.terms, one, other}
        size = max(float(np.linalg.norm(value(x))) for x in parts)
        return float(np.linalg.norm(value(one) - value(other))) / size if size else 0.0

    machine = trial.model.name
    found = [
        Residual(place, step.name, machine, apart(step.before, step.after))
        for place, step in enumerate(derivation.steps, 1)
    ]
    if found:
        ends = apart(derivation.expression, derivation.result)
        found.append(Residual(0, "the result, beside the expression", machine, ends))
    return found
