"""The dataflow that is drawn is that of the program: passed along the tree, kept between sweeps."""

import re

import pytest
from expressions import MARKET
from svg_reading import SVG, root_of, words_of

import phipsi as pp
from phipsi.compile import make_readable
from phipsi.errors import LoweringError
from phipsi.explain.drawings import draw_dataflow
from phipsi.explain.drawings.colours import ANTICAUSAL, CAUSAL, KEPT
from phipsi.explain.drawings.flow import flow_of
from phipsi.explain.drawings.labels import Labels
from phipsi.explain.levels.layout import in_letters
from phipsi.lowering.program import Life, lifetimes
from phipsi.operators import C, H, J, Jm, M, Mass, T, V, beta, beta_dot, f, f0, phi

PUMA, SPACECRAFT = pp.examples.puma560(), pp.examples.spacecraft()
FD, ID, LAMBDA = Mass.inv @ (T - C), H @ f + Jm @ beta_dot, J @ Mass.inv @ J.T


UNREAD = ("vectors: cancels", "matrices: blockdiag of E_phi")  # zero, whatever is given


def check_flow(program):
    """Passed and kept as `lifetimes` says; what is both is in both."""
    flow, life = flow_of(program), lifetimes(program.loops)
    kept = {slot for slots in flow.kept.values() for slot in slots}
    passed = {slot for sweep in flow.sweeps for slot in sweep.passed}
    assert kept == {slot for slot, x in life.items() if x is Life.KEPT}
    assert passed - kept == {slot for slot, x in life.items() if x is Life.PASSED}
    return passed, kept


@pytest.mark.parametrize("expression", [FD, ID, LAMBDA, Mass, Mass.inv, phi, V], ids=str)
@pytest.mark.parametrize("model", [None, PUMA, SPACECRAFT], ids=["any", "puma", "spacecraft"])
def test_what_is_drawn_as_passed_and_kept_is_so_in_the_program(expression, model):
    program = make_readable([expression])
    passed, kept = check_flow(program)
    labels, words = Labels(program), words_of(draw_dataflow(expression, model))
    green = {part for x in words if x.color == KEPT for part in listed(x.text)}
    assert green == {flat(x) for x in labels.listed(kept)}
    on_edges = [x for x in words if x.color in (CAUSAL, ANTICAUSAL)]
    shown = {part for x in on_edges for part in listed(x.text)} - {"tip to base", "base to tip"}
    sent = {flat(x).replace("\u00a0", " ") for x in labels.handed(passed)}
    together = " ".join(x.text for x in on_edges).replace("\u00a0", " ")
    assert all(x in together for x in sent)
    assert all(any(part in x for x in sent) for part in shown)  # long ones take several lines


def listed(text):
    """The labels of a list on paper."""
    plain = re.sub(r"^(for \d+: |columns )", "", text.replace("\u00a0", " "))
    return [x for x in (part.strip() for part in plain.split(",")) if x]


def flat(label):
    return label.replace("_", "")


def test_flow_of_the_market_is_that_of_the_programs():
    drawn = 0
    for expression in MARKET.values():
        try:
            program = make_readable([expression])
        except LoweringError:
            continue
        check_flow(program)
        drawn += 1
    assert drawn > 450


def test_forward_dynamics_has_three_sweeps_of_known_flow():
    """As the papers have it: velocities out, articulated inertias in, accelerations out."""
    words = words_of(draw_dataflow(FD))
    directions = [x.text for x in words if x.text in ("tip to base", "base to tip")]
    assert directions == ["base to tip", "tip to base", "base to tip"]
    texts = [x.text.replace("\u00a0", " ") for x in words]
    assert any("φ P⁺ φ*" in x for x in texts)
    assert "G, ν" in texts and "q, β, gravity" in texts and "T" in texts
    assert texts.count("result") == 1


def test_edges_say_what_is_sent_and_not_what_becomes_of_it():
    """z(k) is the sum of phi(k,c) [z(c) + G(c) eps(c)]: a child sends its term, not z."""
    told = [x.text.replace("\u00a0", " ") for x in words_of(draw_dataflow(FD)) if x.color == CAUSAL]
    sent = {flat(part) for text in told for part in listed(text)}
    assert sent == {"tip to base", "φ f", "φ P⁺ φ*", "φ [z + G ε]"}


def test_everything_that_a_function_takes_enters_some_sweep():
    """And nothing else does: q, v, free letters and points, as `inputs` has them."""
    for name, expression in MARKET.items():
        try:
            function = pp.compile(PUMA, expression, backend="numpy")
        except LoweringError:
            continue
        program = make_readable([expression])
        flow, labels = flow_of(program), Labels(program)
        entering = {x for sweep in flow.sweeps for x in labels.entering(sweep.enters)}
        free = set() if name in UNREAD else {in_letters(x.name) for x in program.free}
        assert entering - {"q", "β", "gravity"} == free, name
        assert ("β" in entering) == ("v" in function.varying), name
        assert any(x.at_points for x in flow.sweeps) == ("points" in function.inputs), name


def test_points_are_drawn_as_entering():
    for expression in (LAMBDA, J @ beta, Mass.inv @ (T - J.T @ f0)):
        texts = [x.text for x in words_of(draw_dataflow(expression, SPACECRAFT))]
        assert any("points" in listed(x) for x in texts)
    fixed = draw_dataflow(J(pp.point("left tip")) @ beta, SPACECRAFT)
    assert not any("points" in x.text for x in words_of(fixed))


def test_dataflow_shows_every_body_and_edge():
    drawn = draw_dataflow(V, SPACECRAFT)
    bodies = [x.find(f"{SVG}title") for x in root_of(drawn).iter(f"{SVG}circle")]
    names = [x.text for x in bodies if x is not None]
    assert names == [x.name for x in SPACECRAFT.bodies]
    edges = root_of(drawn).iter(f"{SVG}polygon")
    assert sum(1 for _ in edges) >= len(names)


def test_numbers_of_the_whole_machine_are_made_once():
    texts = [x.text for x in words_of(draw_dataflow(0.5 * V.T @ M @ V))]
    assert "once" in texts and "body k" in texts


def test_labels_are_formulas_where_there_is_no_name():
    """The user's own operator, transposed and kept, is not taken for a letter of the papers."""
    words = words_of(draw_dataflow(MARKET["inverses: own propagator in the middle"]))
    green = {part for x in words if x.color == KEPT for part in listed(x.text)}
    assert "A*" in green
    edges = [x.text for x in words_of(draw_dataflow(MARKET["vectors of the papers: FD4"]))]
    assert any("ε" in x for x in edges)
