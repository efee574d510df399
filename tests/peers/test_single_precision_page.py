"""The table of docs/accuracy.md on single precision, measured again on a robot."""

from pathlib import Path

import pytest

from benchmarks.digits import QUESTIONS, errors
from benchmarks.robots import Robot

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"


def table():
    """Of each function its row, by robots; shares of states, which have a %, are no errors."""
    text = PAGE.read_text(encoding="utf-8").split("<!-- single: ")[1].split("<!-- end single")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    errors_of = [row for row in rows if not row[1].endswith("%")]
    return {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in errors_of}


def test_every_function_has_a_row():
    assert list(table()) == [x.name for x in QUESTIONS]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda x: x.name)
def test_errors_are_within_a_factor_of_three_of_the_page(question):
    """Of roundoff, which differs from processor to processor."""
    robot = Robot("ur5", 1000)
    found = errors(robot.model, question, robot.states).max()
    written = table()[question.name][robot.title]
    assert written / 3 < found < 3 * written
