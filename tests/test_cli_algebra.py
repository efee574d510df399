"""`phipsi derive` and `phipsi explain`: what they print, write and refuse."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from commands import GRIPPER, call, run

import phipsi as pp
from phipsi.algebra.parse import parse
from phipsi.cli.derive import written
from phipsi.cli.paper import paper
from phipsi.explain.deriving.check import Check, Residual
from phipsi.explain.deriving.derivation import Derivation
from phipsi.explain.deriving.derive import derive
from phipsi.operators import D, H, I, K, Mass, V, phi, psi

INVERSE = "inv(H phi M phi' H' + Jm)"
MANY_STEPS = "B' phi' H' inv(Mass) J' f0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "drawer").mkdir()
    return tmp_path


# -- derive ----------------------------------------------------------------------------


def test_expressions_are_read_and_shown_in_the_notation_of_a_paper(capsys):
    code, out, _ = call(capsys, "derive", "Φ r", "--notation", "001", "--bound", 1)
    assert code == 0 and out.lstrip().startswith("Φ r")
    code, out, _ = call(capsys, "explain", "Λ", "--notation", "002", "--level", 1)
    assert "J @ Mass.inv @ J.T" in out
    code, _, err = call(capsys, "explain", "Λ", "--notation", "2")
    assert code != 0 and "notation: unknown '2'" in err


def test_derivation_has_every_step_with_identity_source_and_costs(capsys):
    code, out, err = call(capsys, "derive", INVERSE)
    assert (code, err) == (0, "")
    found = derive(INVERSE)
    steps = re.findall(r"^= (.+)\n      (.+)$", out, re.MULTILINE)
    assert steps == [(step.after.unicode(), step.reason) for step in found]
    assert "003 Lemma 1" in steps[0][1]
    assert re.search(rf"^cost before +{re.escape(str(found.before))}$", out, re.MULTILINE)
    assert re.search(rf"^cost after +{re.escape(str(found.after))}$", out, re.MULTILINE)
    result = re.search(r"^result +(.+)$", out, re.MULTILINE)
    assert parse(result[1]) == (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)


def test_nothing_cheaper_and_a_bound_are_told(capsys):
    code, out, _ = call(capsys, "derive", "M")
    assert code == 0 and "nothing cheaper was found" in out and "\n= " not in out
    code, out, _ = call(capsys, "derive", "inv(Mass) (T - C)", "--bound", 1)
    assert code == 0 and "ended at its bound" in out


def test_a_machine_is_derived_for(capsys):
    """Another form than that of no machine in particular."""
    line = ("derive", "inv(Mass) (T - C)", "--bound", 30, "--json")
    told = json.loads(call(capsys, *line, "--model", "spacecraft").out)
    expected = derive("inv(Mass) (T - C)", model=pp.examples.spacecraft(), bound=30)
    assert told["result"] == str(expected.result)
    assert told["result"] != json.loads(call(capsys, *line).out)["result"]


def test_a_path_of_bodies_is_assumed(capsys):
    words = ("derive", "phi(0,1) phi(1,2)", "--to", "phi(0,2)")
    assert call(capsys, *words, "--bound", 8).code == 1
    code, out, _ = call(capsys, *words, "--assume", "bodies 0, 1, 2 on one path", "--check")
    assert code == 0 and "holds for" in out and "bodies 0, 1, 2 on one path" in out


def test_every_step_is_checked_on_random_machines_and_on_the_users(capsys, folder):
    gripper = pp.load(folder / "gripper.urdf", mimic="independent")
    named = ("--model", "gripper.urdf", "--mimic", "independent")
    for words, model in (((), None), (named, gripper)):
        code, out, _ = call(capsys, "derive", INVERSE, "--check", *words)
        residuals = re.findall(r"^ +\d+ +(\S+)  ", out, re.MULTILINE)
        assert code == 0 and len(residuals) == len(derive(INVERSE, model=model)) > 1
        assert max(map(float, residuals)) < 1e-9


def test_a_step_that_fails_is_an_exit_code(capsys, monkeypatch):
    wrong = Check((Residual(1, "Lemma 0", "arm", 0.5), Residual(2, "Lemma 9", "arm", np.inf)))
    monkeypatch.setattr(Derivation, "check", lambda *_, **__: wrong)
    code, out, _ = call(capsys, "derive", INVERSE, "--check")
    assert code == 1 and re.search(r"5.0e-01  Lemma 0 +FAILS", out)
    code, out, _ = call(capsys, "derive", INVERSE, "--check", "--json")
    told = json.loads(out)["check"]
    assert code == 1 and not told["ok"]
    assert [x["value"] for x in told["residuals"]] == [0.5, None]


def test_goal_that_is_not_reached_is_an_exit_code(capsys):
    code, out, _ = call(capsys, "derive", "phi M phi'", "--to", "R + phi_tilde R + R phi_tilde'")
    assert code == 0 and "Identity 1" in out
    code, out, _ = call(capsys, "derive", "phi M phi'", "--to", "M", "--bound", 5)
    assert code == 1 and "was not reached" in out


def test_identities_are_asked_for_and_barred(capsys):
    with_it = call(capsys, "derive", "inv(Mass)", "--using", "Lemma 3").out
    assert "Lemma 3" in with_it
    without = call(capsys, "derive", "inv(Mass)", "--without", "Lemma 2").out
    assert "Lemma 2  [" not in without
    assumed = call(capsys, "derive", "psi P psi'", "--assume", "serial chains")
    assert assumed.code == 0


def test_derivation_as_json(capsys):
    code, out, err = call(capsys, "derive", INVERSE, "--json")
    told = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert parse(told["result"]) == derive(INVERSE).result
    assert told["steps"][-1]["after"] == told["result"]
    assert told["before"]["full_inverses"] == 1 and told["after"]["full_inverses"] == 0
    assert told["exhausted"] and told["check"] is None and told["missing"] is None


def test_derivation_is_written_as_a_whole_document(capsys, folder):
    code, out, _ = call(capsys, "derive", INVERSE, "--latex", "mass.tex")
    text = (folder / "mass.tex").read_text()
    assert code == 0 and out.endswith("wrote mass.tex: the derivation, for LaTeX\n")
    assert text == paper(derive(INVERSE))
    opened, closed = (re.findall(rf"\\{word}{{(\S+?)}}", text) for word in ("begin", "end"))
    assert opened == ["document", "align*"] and closed == opened[::-1]
    assert text.index(r"\usepackage{amsmath") < text.index(r"\begin{document}")
    assert call(capsys, "derive", INVERSE, "--latex", "mass.tex", "--json").out.count("\n") == 1


def test_formulas_of_the_document_are_read_by_another_program():
    """matplotlib's, which knows the mathematics of LaTeX and none of its environments."""
    pytest.importorskip("matplotlib")
    from matplotlib.mathtext import MathTextParser

    reader, found = MathTextParser("path"), derive(MANY_STEPS)
    body = re.search(r"\\begin{align\*}\n(.+)\n\\end{align\*}", paper(found), re.DOTALL)[1]
    lines = [re.sub(r"&& \\text{.*}$", "", line) for line in body.split(" \\\\\n")]
    assert len(lines) == 1 + len(found)
    for line in lines:
        reader.parse(f"${line.partition('&')[2].strip()}$")


def test_paper_is_as_large_as_the_derivation():
    def size(derivation):
        found = re.search(r"paperwidth=([\d.]+)mm,paperheight=([\d.]+)mm", paper(derivation))
        return [float(x) for x in found.groups()]

    short, long = derive("M"), derive(MANY_STEPS)
    assert size(short) == [210.0, 100.0]
    assert size(long) > size(derive(INVERSE)) > size(short)
    assert size(replace(long, steps=long.steps * 2))[1] > size(long)[1]


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "ℳ⁻¹"), ("ascii", "Mass.inv")])
def test_letters_are_those_that_the_terminal_has(monkeypatch, encoding, text):
    class Stream:
        pass

    stream = Stream()
    stream.encoding = encoding
    monkeypatch.setattr("sys.stdout", stream)
    assert written(Mass.inv) == text


@pytest.mark.parametrize("command", ["derive", "explain"])
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("Lambda f0",), "write it out, or pass --notation 002"),
        (("T' + C",), "the bias-free torques T' of a paper need --notation 001."),
        (("Phi V", "--notation", "004"), '--notation: 004 has two parts; pass "004-I" or "004-II"'),
        (("dq",), "no letter 'dq'; joint speeds are beta"),
        (("H + " * 3000,), "at most 10000 are read"),
    ],
)
def test_hints_are_spelled_as_options(capsys, command, words, hint):
    code, _, err = call(capsys, command, *words)
    assert code == 1 and hint in " ".join(err.split()) and "symbols=" not in err


# -- explain ---------------------------------------------------------------------------


def test_explanation_has_seven_levels_and_one_alone(capsys):
    code, out, err = call(capsys, "explain", "inv(Mass) (T - C)")
    assert (code, err) == (0, "")
    assert [x for x in range(1, 9) if f"Level {x}: " in out] == [1, 2, 3, 4, 5, 6, 7]
    alone = call(capsys, "explain", "inv(Mass) (T - C)", "--level", 4).out
    assert alone.startswith("Level 4: ") and alone.count("Level ") == 1
    assert "P(k) = sum_c phi(k,c) P+(c) phi*(k,c) + M(k)" in alone


def test_explanation_of_a_machine_has_numbers_at_rest_or_at_a_random_state(capsys, folder):
    def numbers(*words):
        return json.loads(call(capsys, "explain", "inv(Mass) (T - C)", "--json", *words).out)

    assert numbers()["numbers"] is None
    rest = numbers("--model", "gripper.urdf", "--mimic", "independent")["numbers"]
    assert "'gripper' at q" in rest
    machine = ("--model", "planar_arm")
    first, again, other = (numbers(*machine, "--seed", x)["numbers"] for x in (1, 1, 2))
    assert first == again != other


def test_numbers_at_a_seed_are_those_of_forward_dynamics(capsys):
    arm, rng = pp.examples.planar_arm(2), np.random.default_rng(3)
    q, v, torque = arm.random(rng), rng.normal(size=2), rng.normal(size=2)
    words = ("--model", "planar_arm", "--seed", 3, "--json")
    shown = json.loads(call(capsys, "explain", "inv(Mass) (T - C)", *words).out)["numbers"]
    found = [float(x) for x in re.findall(r"(-?\d+\.?\d*)", shown.split("beta_dot")[1])[1:4:2]]
    assert np.allclose(found, pp.forward_dynamics(arm, q, v, torque), rtol=1e-3)


def test_points_are_named(capsys):
    words = ("explain", "J inv(Mass) J' f0", "--model", "spacecraft", "--seed", 0)
    assert call(capsys, *words, "--at", "left tip").code == 0
    assert call(capsys, *words, "--at", "left tip", "--at", "right tip").code == 0
    lost = call(capsys, *words, "--at", "left tap")
    assert lost.code == 1 and "left tip" in lost.err


@pytest.mark.parametrize("text", ["B f0", "inv(Mass) J' f0", "J inv(Mass) J'", "f0", "T f0' c"])
@pytest.mark.parametrize("seed", [(), ("--seed", 1)], ids=["at rest", "seed"])
def test_points_that_are_not_named_are_asked_for_in_words_of_the_command(capsys, text, seed):
    """The explanation is there; only its numbers are not."""
    code, out, err = call(capsys, "explain", text, "--model", "puma560", *seed)
    assert (code, err) == (0, "") and "Level 7: " in out
    assert out.rstrip().endswith("for numbers, name points by --at") and "=..." not in out
    told = json.loads(call(capsys, "explain", text, "--model", "puma560", *seed, "--json").out)
    assert told["numbers"] == "for numbers, name points by --at"


def test_points_of_a_letter_need_no_other_names(capsys):
    """J('link6')* f0 has one point, and so f0 six numbers."""
    words = ("--model", "puma560", "--seed", 2, "--json")
    told = json.loads(call(capsys, "explain", "J('link6')' f0", *words).out)
    arm, rng = pp.examples.puma560(), np.random.default_rng(2)
    q, _, force = arm.random(rng), rng.normal(size=6), rng.normal(size=6)
    expected = pp.as_matrix(arm, pp.parse("J('link6')' f0"), q, f0=force)
    assert f"{expected[0]:.4g}"[:5] in told["numbers"]


def test_level_alone_is_so_for_programs(capsys):
    told = json.loads(call(capsys, "explain", "inv(Mass) T", "--level", 4, "--json").out)
    assert [x["number"] for x in told["levels"]] == [4]
    assert told["levels"][0]["text"].startswith("sweep 1")


def test_what_cannot_be_drawn_is_explained_all_the_same(capsys, folder):
    code, out, err = call(capsys, "explain", "inv(phi + psi')", "--svg", "a.svg")
    assert code == 1 and "Level 3: " in out and "cannot invert `phi + psi.T`" in err
    assert not (folder / "a.svg").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("J", "error: B, J, X and c stand for points: name them by --at\n"),
        ("f0", "error: the expression maps point space: name points by --at\n"),
    ],
)
def test_points_to_draw_are_asked_for_too(capsys, folder, text, message):
    words = ("--model", "puma560", "--svg", "a.svg", "--draw", "blocks")
    code, _, err = call(capsys, "explain", text, *words)
    assert (code, err) == (1, message) and not (folder / "a.svg").exists()


def test_view_of_estimation_speaks_of_innovations(capsys):
    mechanics, estimation = (
        call(capsys, "explain", "inv(Mass) T", "--view", view).out
        for view in ("mechanics", "estimation")
    )
    assert "innovation" in estimation and "innovation" not in mechanics


def test_explanation_as_json(capsys):
    told = json.loads(call(capsys, "explain", "inv(Mass) T", "--json").out)
    assert parse(told["expression"]) == parse("inv(Mass) T")
    assert [x["number"] for x in told["levels"]] == [1, 2, 3, 4, 5, 6, 7]
    names = {x["name"]: x for x in told["quantities"]}
    assert names["eps"]["formula"] == "eps(k) = T(k) - H(k) z(k)"
    assert names["nu"]["meaning"] and names["nu"]["unit"]
    assert "sweeps" in told["cost"]


@pytest.mark.parametrize("draw", ["dataflow", "blocks"])
def test_drawings_are_written(capsys, folder, draw):
    words = ("explain", "phi V", "--model", "spacecraft", "--svg", "a.svg", "--draw", draw)
    code, out, _ = call(capsys, *words)
    assert code == 0 and "\nwrote a.svg: " in out
    assert ET.parse(folder / "a.svg").getroot().tag.endswith("svg")


def test_sweeps_of_any_machine_are_drawn_without_one(capsys, folder):
    code, out, _ = call(capsys, "explain", "phi V", "--svg", "a.svg", "--json")
    assert code == 0 and out.count("\n") == 1
    assert (folder / "a.svg").stat().st_size > 1_000


# -- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["derive", "explain"])
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("inv(H phi", "this ( is never closed", 4),
        ("H phy M", "no letter 'phy'; did you mean 'phi'?", 3),
        ("phi M H", "cannot compose M @ H in `phi @ M @ H`", 7),
    ],
)
def test_expression_that_cannot_be_read_is_pointed_at(capsys, command, text, line, column):
    code, out, err = call(capsys, command, text)
    first, place, typed, carets = err.splitlines()
    assert (code, out) == (1, "")
    assert first.startswith("error: ") and line in first and "symbols=" not in first
    assert place == f"  at column {column}:" and typed.strip() == text
    assert carets.index("^") - typed.index(text) == column - 1


# Words of the command, and what the one line on standard error says.
WRONG = {
    "open space": (["derive", "I"], "the space of `I` is open"),
    "no text": (["derive", ""], "the text is empty"),
    "unknown identity": (["derive", "M", "--using", "Lema 3"], "did you mean 'Lemma 3'"),
    "unknown condition": (["derive", "M", "--assume", "serial"], "no condition 'serial'"),
    "no bound": (["derive", "M", "--bound", "0"], "expected a whole number above 0, got 0"),
    "no LaTeX": (["derive", "M", "--latex", "a.txt"], "unknown suffix '.txt'"),
    "no folder": (["derive", "M", "--latex", "no/a.tex"], "there is no directory 'no'"),
    "condition that is not met": (
        ["derive", "M", "--model", "spacecraft", "--assume", "serial chains"],
        "does not meet 'serial chains'",
    ),
    "base without model": (["derive", "M", "--base", "free"], "are for a file of --model"),
    "no machine": (["derive", "M", "--check", "--model", "pumma560"], "did you mean 'puma560'"),
    "no such point": (
        ["derive", "J('tool') inv(Mass)", "--check", "--model", "puma560"],
        "has no frame 'tool'",
    ),
    "open, to explain": (["explain", "I"], "the space of `I` is open"),
    "no level": (["explain", "phi", "--level", "8"], "no level 8; there are 1 (the expression)"),
    "no drawing": (["explain", "phi", "--svg", "a.png"], "unknown suffix '.png'"),
    "a folder": (["explain", "phi", "--svg", "drawer.svg"], "it is a directory"),
    "blocks of none": (["explain", "phi", "--svg", "a.svg", "--draw", "blocks"], "add --model"),
    "blocks to nowhere": (
        ["explain", "phi", "--model", "puma560", "--draw", "blocks"],
        "add --svg FILE",
    ),
    "seed of none": (["explain", "phi", "--seed", "1"], "--seed is about a machine; add --model"),
    "point of none": (["explain", "J", "--at", "tool"], "--at is about a machine; add --model"),
    "reading of none": (["explain", "phi", "--strict"], "are for a file of --model"),
    "negative seed": (
        ["explain", "phi", "--model", "puma560", "--seed", "-1"],
        "--seed is -1; expected a whole number",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_mistake_is_answered_in_one_line_and_leaves_nothing(capsys, folder, words, message):
    (folder / "drawer.svg").mkdir()
    before = sorted(folder.rglob("*"))
    ended = call(capsys, *words)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ") and ended.err.count("\n") == 1
    assert message in ended.err
    assert sorted(folder.rglob("*")) == before


def test_machine_that_is_missing_is_asked_for_by_its_option(capsys, monkeypatch):
    def refuse(*_, **__):
        raise pp.SolveError(
            "no random machine on which `x` can be evaluated; pass a model. It is 0"
        )

    monkeypatch.setattr(Derivation, "check", refuse)
    code, _, err = call(capsys, "derive", INVERSE, "--check")
    assert code == 1 and "can be evaluated; name one by --model. It is 0" in err


def test_commands_run_as_users_type_them(folder):
    """In a shell, quotation marks hold an expression with ' and * together."""
    ended = run(folder, "derive", "(H phi M phi* H* + Jm)^-1", "--check")
    assert ended.code == 0 and "largest residuals" in ended.out


def test_greek_letters_and_a_leading_minus_are_read(capsys):
    assert phi.unicode() in call(capsys, "derive", "φ").out
    told = [json.loads(call(capsys, x, "-phi V", "--json").out) for x in ("derive", "explain")]
    assert [parse(x["expression"]) for x in told] == [-(phi @ V)] * 2
    assert call(capsys, "derive", "--check").code == 2


def test_explain_tells_how_to_see_what_is_compiled_and_shows_it(capsys):
    """The library says rewrite=True; at the command line that is an option."""
    words = "explain", "(I + H phi K) D (I + H phi K)* beta_dot + C", "--model", "puma560"
    typed = call(capsys, *words, "--level", 1).out
    assert "which --rewrite explains" in " ".join(typed.split())
    compiled = call(capsys, *words, "--level", 1, "--rewrite").out
    assert compiled.startswith("Level 1: the expression\nExplained as compile runs it")


def test_a_condition_that_is_missing_is_named_by_its_option(capsys):
    out = call(capsys, "derive", "phi(0,1) phi(1,2)", "--to", "phi(0,2)").out
    said = " ".join(out.split())
    assert '--assume: "bodies 0, 1, 2 on one path"' in said and "assume=" not in said
