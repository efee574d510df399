"""The code on the front page runs as it stands, and its numbers are right."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp
from phipsi.operators import C, Mass

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
EQUATIONS = next(block for block in BLOCKS if "phipsi.operators" in block)


@pytest.fixture(scope="module")
def page(as_for_users, tmp_path_factory):
    """(names, printed text) after all blocks ran, in order, as a reader would paste them."""
    names: dict = {}
    printed = io.StringIO()
    folder = tmp_path_factory.mktemp("reader")
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        for block in BLOCKS:
            exec(block, names)
    return {**names, "folder": folder}, printed.getvalue()


def numbers(text):
    return np.array([float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)])


def test_first_block_is_short_enough_to_paste():
    assert len([line for line in BLOCKS[0].splitlines() if line]) <= 6
    assert len(EQUATIONS.splitlines()) <= 12


def test_first_block_leaves_the_files_that_it_names(page):
    names, _ = page
    folder, named = names["folder"], re.findall(r"\w+\.(?:png|nc|html)", BLOCKS[0])
    assert sorted(file.name for file in folder.iterdir()) == sorted(set(named))
    assert names["run"].times[-1] == 2.0


def test_code_prints_the_mass_matrix_and_the_accelerations(page):
    """Matrix and accelerations as NumPy solves them, with the rotors of the Puma."""
    names, text = page
    robot, q, v = names["robot"], names["q"], names["v"]
    n = robot.nv
    mass, bias = pp.as_matrix(robot, Mass, q), pp.as_matrix(robot, C, q, v)
    shown = numbers(text)
    assert shown.size == n * n + n
    np.testing.assert_allclose(shown[: n * n].reshape(n, n), mass, atol=6e-4)
    np.testing.assert_allclose(shown[n * n :], np.linalg.solve(mass, -bias), atol=6e-4)


def test_page_shows_what_its_code_prints(page):
    """Up to the sign of zeros, which the processor's rounding decides."""
    _, text = page
    after = README.read_text().split(EQUATIONS, 1)[1].split("```\n")
    assert re.sub(r"-0\.(?!\d)", " 0.", after[2]) == re.sub(r"-0\.(?!\d)", " 0.", text)


def test_its_two_expressions_are_inverse_to_each_other(page):
    names, _ = page
    product = pp.as_matrix(names["robot"], names["Mass"] @ names["Mass_inv"], names["q"])
    np.testing.assert_allclose(product, np.eye(names["robot"].nv), atol=1e-12)


def test_accelerations_conserve_energy(page):
    """Power of gravity = rate of kinetic energy: vdot* Mass v + v* Mass_dot v / 2 = -v* gravity."""
    names, _ = page
    robot, q, v = names["robot"], names["q"], names["v"]
    rates = pp.as_matrix(robot, names["Mass_inv"] @ (names["T"] - C), q, v, T=np.zeros(robot.nv))
    step = 1e-30
    moved = pp.integrate(robot, q, 1j * step * v)
    mass = pp.as_matrix(robot, Mass, moved)
    gravity = pp.as_matrix(robot, C, q, np.zeros(robot.nv))
    rate = rates @ mass.real @ v + v @ (mass.imag / step) @ v / 2
    assert abs(rate + gravity @ v) < 1e-10 * abs(gravity @ v)


def test_commands_at_the_top_exist():
    """`make demo` and `make test`, as the page promises in its first block."""
    text = README.read_text()
    commands = re.findall(r"^make (\w+)", text.split("```")[1], re.MULTILINE)
    makefile = (README.parent / "Makefile").read_text()
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)


def test_pages_it_links_to_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert links
    for link in links:
        if "://" not in link:
            assert (README.parent / link).exists(), link
