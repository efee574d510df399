"""What is asked in single and in double precision, and how far the answers differ.

python -m benchmarks.digits            a table, printed
python -m benchmarks.digits --write    into docs/accuracy.md as well
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import phipsi as pp
from phipsi.algebra.node import Node
from phipsi.dynamics.inverse import bias
from phipsi.dynamics.points import JACOBIAN
from phipsi.function.results import alarmed
from phipsi.operators import pose

from .robots import Robot
from .tables import table
from .tasks import FORWARD, INVERSE, MASS, MASS_INVERSE, TERMS

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
MARKS = "<!-- single: written by benchmarks/digits.py -->", "<!-- end single -->"
ROBOTS = ("ur5", "panda", "solo12", "talos")
STATES = 1000


def beside_largest(error: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of each state, the largest error beside the largest entry."""
    error, right = (np.abs(x).reshape(len(x), -1).max(axis=1) for x in (error, right))
    return error / right


def beside_diagonal(error: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of each state, the largest error of an entry A_ij beside (A_ii A_jj)^1/2."""
    unit = np.sqrt(np.diagonal(right, axis1=1, axis2=2))
    return np.abs(error / unit[:, :, None] / unit[:, None, :]).max(axis=(1, 2))


@dataclass(frozen=True)
class Question:
    """What is asked in both precisions.

    Args:
        name: in the table.
        expression: what is compiled.
        arguments: names of the inputs, keys of a robot's states.
        measure: of an error, by state.
        at_tip: whether it is about a point, that at the frame of the last body.
    """

    name: str
    expression: Node
    arguments: tuple[str, ...]
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray] = beside_largest
    at_tip: bool = False


QUESTIONS = (
    *(Question(x.name, x.expression, x.arguments) for x in (FORWARD, INVERSE)),
    Question("bias force", bias(TERMS.a_g, TERMS.b), ("q", "v")),
    *(Question(x.name, x.expression, x.arguments, beside_diagonal) for x in (MASS, MASS_INVERSE)),
    Question("Jacobian", JACOBIAN, ("q",), at_tip=True),
    Question("poses", pose, ("q",)),
)


def in_single(states: dict[str, np.ndarray], names: Sequence[str]) -> list[np.ndarray]:
    """Some arguments, rounded to single precision."""
    return [states[name].astype(np.float32) for name in names]


def errors(model: pp.Model, question: Question, states: dict[str, np.ndarray]) -> np.ndarray:
    """Of each state the error of single precision, relative to the size of the result."""
    arguments: list[Any] = in_single(states, question.arguments)
    if "v" not in question.arguments:
        arguments.insert(1, None)
    if question.at_tip:
        arguments.append([pp.point(model.bodies[-1].name, (0.0, 0.0, 0.0))])
    make = partial(pp.compile, model, question.expression, backend="llvm")
    wide = [x.astype(float) if isinstance(x, np.ndarray) else x for x in arguments]
    found, right = make(dtype=np.float32)(*arguments), make()(*wide)
    assert found.dtype == np.float32
    return question.measure(found - right, right)


def left_to_double(model: pp.Model, states: dict[str, np.ndarray]) -> float:
    """The share of states that forward dynamics in single precision does not trust itself with."""
    function = pp.compile(model, FORWARD.expression, dtype=np.float32, backend="llvm")
    way = function._only_code("count").way(1)
    arguments = in_single(states, FORWARD.arguments)
    return len(alarmed(way, arguments)) / len(arguments[0])


def digit_table(robots: Sequence[str]) -> str:
    """The worst of all states, function by function."""
    machines = [Robot(name, STATES) for name in robots]
    rows = [
        [question.name, *(f"{errors(x.model, question, x.states).max():.0e}" for x in machines)]
        for question in QUESTIONS
    ]
    shares = [f"{left_to_double(x.model, x.states):.0%}" for x in machines]
    rows.append(["forward dynamics, states left to double", *shares])
    return table(("function", *(x.title for x in machines)), rows)


def write(text: str) -> None:
    """Put the table into the page, between its marks."""
    start, end = MARKS
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{start}\n{text}{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args()
    text = digit_table(ROBOTS)
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
