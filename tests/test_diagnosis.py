"""How a diagnosis reads, that its measures are those of dense matrices, and what is refused."""

import json

import numpy as np
import pytest
from machines import MARKET, random_state
from numpy.testing import assert_allclose
from planted import Q, planted
from reference_dynamics import ExactMachine, relative_error

import phipsi as pp
from phipsi import joints
from phipsi.explain.diagnosing import conditioning
from phipsi.explain.diagnosing.bodies import bodies_of, by_the_book, by_the_program
from phipsi.explain.diagnosing.diagnose import diagnose
from phipsi.explain.diagnosing.diagnosis import Diagnosis, Finding
from phipsi.explain.diagnosing.laws import Machine
from phipsi.operators import D, G, P, R

SEVERAL = ("tree_of_every_kind", "reflected_rotors", "massless_intermediates")

# -- measures against dense matrices ---------------------------------------------------------


@pytest.mark.parametrize("name", SEVERAL)
def test_blocks_of_bodies_are_those_of_the_dense_operators(name):
    model = MARKET[name]()
    q, _ = random_state(model, np.random.default_rng(1))
    pieces = bodies_of(model, q)
    dense = {letter: pp.as_matrix(model, letter, q) for letter in (P, D, G, R)}
    for found in (by_the_program(pieces, q, "numpy"), by_the_book(pieces)):
        for k, joint in enumerate(model.joints):
            body, own = slice(6 * k, 6 * k + 6), joint.rows
            scale = np.abs(dense[R][body, body]).max()
            assert_allclose(pieces.R[k], dense[R][body, body], atol=1e-12 * scale)
            assert_allclose(found.P[k], dense[P][body, body], atol=1e-11 * scale)
            assert_allclose(found.D[k], dense[D][own, own], atol=1e-11 * scale)
            assert_allclose(found.G[k], dense[G][body, own], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["puma560", "tree_of_every_kind", "mimics", "reflected_rotors"])
def test_extreme_eigenvalues_are_those_of_the_dense_matrix(name):
    model = MARKET[name]()
    check_extremes(model, random_state(model, np.random.default_rng(1))[0])


def test_extreme_eigenvalues_of_a_long_chain():
    """Many more speeds than vectors that are pushed: 80 beside 12."""
    check_extremes(pp.chain(80), pp.chain(80).random(np.random.default_rng(1)))


def check_extremes(model, q):
    pieces = bodies_of(model, q)
    machine = Machine(pieces, by_the_book(pieces), q, np.zeros(model.nv), "numpy")
    most, least, motion = conditioning.extremes(machine, np.random.default_rng(0))
    s = machine.coordinates
    values, vectors = np.linalg.eigh(pp.mass_matrix(model, q) / np.outer(s, s))
    assert_allclose([most, least], [values[-1], values[0]], rtol=0.02)
    assert abs(motion @ vectors[:, 0]) > 0.9


def test_predicted_loss_of_digits_bounds_the_error_of_forward_dynamics():
    """Axes of a wrist that nearly meet in a line, little inertia around them: fifty digits tell."""
    builder = pp.ModelBuilder("wrist")
    light = {"mass": 1e-3, "inertia": (1e-7,) * 3}
    builder.add_body("arm", mass=5.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_body("yaw", "arm", joints.Revolute((0, 0, 1)), position=(1, 0, 0), **light)
    builder.add_body("pitch", "yaw", joints.Revolute((0, 1, 0)), **light)
    builder.add_body("roll", "pitch", joints.Revolute((1, 0, 0)), mass=1.0, com=(0, 0, 0.1),
                     inertia=(1e-3,) * 3)  # fmt: skip
    model, rng = builder.build(), np.random.default_rng(0)
    q, v, tau = np.array([0.1, 0.2, np.pi / 2 - 1e-3, 0.4]), np.zeros(4), rng.normal(size=4)
    found = diagnose(model, q)
    exact = ExactMachine(model).forward_dynamics(q, v, tau)
    error = relative_error(pp.forward_dynamics(model, q, v, tau), exact)
    assert found["conditioning"].digits > 5.0
    assert error < 10.0 * 2.0**-53 * 10.0 ** found["conditioning"].digits


# -- how it reads ----------------------------------------------------------------------------


def test_diagnosis_is_a_sequence_of_findings():
    found = diagnose(planted(), Q)
    assert isinstance(found, Diagnosis) and all(isinstance(each, Finding) for each in found)
    assert len(found) == 17 and found[0] is found["own inertias"]
    assert [each.measure for each in found[1:3]] == ["loads", "joint maps"]
    with pytest.raises(pp.InputError, match="no measure 'pivot'; did you mean 'pivots'"):
        found["pivot"]


def test_table_has_a_row_for_each_measure_and_a_sentence_for_each_fault():
    found = diagnose(planted(b2={"mass": 1e-12, "inertia": (1e-13,) * 3}), Q)
    text = str(found)
    first, header, *rows = text.splitlines()
    assert first == "planted: of 17 measures digits lost: 1; see loads, body 'b2'"
    assert header.split() == ["measure", "worst", "at", "value", "verdict", "formula"]
    assert sum("fine" in row for row in rows) == 16
    assert sum(row.startswith("- loads: digits lost: 13 of 16; body 'b2'") for row in rows) == 1
    assert max(map(len, text.splitlines())) <= 100
    assert repr(found) == f"<Diagnosis {first}>"


def test_summary_of_a_healthy_machine_tells_the_worst():
    found = diagnose(planted(), Q)
    assert found.summary == (
        "planted: all 17 measures are fine, 1 of 16 digits lost at most, by conditioning"
    )
    assert found.worst.measure == "conditioning"


def test_page_escapes_names():
    found = diagnose(planted(), Q)
    named = [Finding("m", "a < b", "wrong", None, None, "body", "<b>", 0.0, "it is <bad>")]
    assert "<script" not in found._repr_html_() and "<ul>" not in found._repr_html_()
    page = Diagnosis("x & y", named)._repr_html_()
    assert "x &amp; y" in page and "body &#x27;&lt;b&gt;&#x27;" in page and "&lt;bad&gt;" in page


def test_dictionary_is_json():
    told = diagnose(planted(b4={"mass": 0.0, "com": (0, 0, 0), "inertia": (0, 0, 0)}), Q).as_dict()
    again = json.loads(json.dumps(told, allow_nan=False))
    assert again == told
    assert (told["machine"], told["ok"], told["worst"]) == ("planted", False, "pivots")
    assert {"measure", "verdict", "value", "name", "meaning"} <= set(told["findings"][0])


def test_same_seed_same_diagnosis():
    first, second, other = (diagnose(planted(), Q, seed=seed) for seed in (1, 1, 2))
    assert first.as_dict() == second.as_dict() != other.as_dict()


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "arm"}, "expected a Model, got str"),
        ({"q": [0.0]}, r"q has shape \(1,\)"),
        ({"q": np.zeros((2, 5))}, r"q has shape \(2, 5\); one state is diagnosed at a time"),
        ({"q": [np.nan] * 5}, "expected finite numbers"),
        ({"q": Q + 0j}, "q: expected real numbers"),
        ({"v": [0.0]}, r"v has shape \(1,\)"),
        ({"v": np.zeros((2, 5))}, r"v has shape \(2, 5\); one state"),
        ({"v": [np.inf] * 5}, "expected finite numbers"),
        ({"v": Q + 0j}, "v: expected real numbers"),
        ({"seed": -1}, "seed is -1; expected a whole number"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"seed": True}, "seed is True"),
        ({"backend": "fortran"}, "backend: unknown 'fortran'"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    with pytest.raises(pp.InputError, match=message):
        diagnose(**{"model": planted(), "q": Q, **changes})


def test_machine_that_does_not_move_is_refused():
    builder = pp.ModelBuilder("rock")
    builder.add_body("rock", joint=joints.Fixed(), mass=1.0)
    with pytest.raises(pp.InputError, match="nothing moves in 'rock'"):
        diagnose(builder.build())


def test_loops_are_refused():
    builder = pp.ModelBuilder("gate")
    builder.add_body("leaf", mass=1.0, com=(0.5, 0, 0))
    builder.add_closure("latch", "leaf", "world", joints.Spherical(), position=(1, 0, 0))
    with pytest.raises(pp.ModelError, match="diagnose: 'gate' has loops"):
        diagnose(builder.build())
