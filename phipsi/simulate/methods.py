"""The integrators by name, and the state that each of them steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phipsi.errors import InputError, name_choices
from phipsi.model.model import Model
from phipsi.simulate import integrators
from phipsi.simulate.integrators import Dialogue, Flow

FIXED = ("rk4", "euler", "midpoint")  # those whose steps have one length
NAMES = (*FIXED, "dopri")


@dataclass(frozen=True)
class Method:
    """An integrator and the state that it steps.

    Args:
        name: of the integrator.
        dialogue: its step: a function of a flow, and by name of state and step.
        state: names and sizes of what is fed back; q and v come first.
        given: names and sizes of what else it takes.
        iterated: parts of the state that are found by iteration.
        implicit: whether it solves for losses and springs.
        of_losses, of_springs: what it takes to do so, of each speed.
    """

    name: str
    dialogue: Callable[..., Dialogue]
    state: dict[str, int]
    given: dict[str, int]
    iterated: tuple[str, ...] = ()
    implicit: bool = False
    of_losses: tuple[str, ...] = ()
    of_springs: tuple[str, ...] = ()

    def takes(self, resisted: bool, sprung: bool) -> tuple[str, ...]:
        """What it takes for a machine that has losses, and springs."""
        return (*(self.of_losses if resisted else ()), *(self.of_springs if sprung else ()))


def method_of(name: str, model: Model) -> Method:
    """An integrator for a machine, or InputError."""
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"integrator: unknown {name!r}; {name_choices(str(name), NAMES)}")
    state, step = {"q": model.nq, "v": model.nv}, {"h": 1}
    if name == "midpoint":
        found = {"energy": 1, "a": model.nv}
        return Method(
            name, integrators.midpoint, {**state, **found}, step, ("a",), True, ("mobility",)
        )
    if name == "dopri":
        stages = len(integrators.DOPRI.stages)
        report = {"report": 2 * (1 + stages) * model.nv}
        return Method(name, _reporting, {**state, **report}, step)
    if name == "euler":
        return Method(name, integrators.euler, state, step, implicit=True, of_springs=("mobility",))
    return Method(name, integrators.rk4, state, step)


def _reporting(flow: Flow, q: Any, v: Any, report: Any, h: Any) -> Dialogue:
    """A step whose report on errors and stages is part of the state, but not of the next step."""
    return integrators.dopri(flow, q, v, h)
