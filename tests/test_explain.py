"""Explanations say what runs: exact recursions, meanings of everything, clear refusals."""

import re

import numpy as np
import pytest
from expressions import FAMILIES, MARKET, A
from machines import MARKET as MACHINES
from machines import random_state

import phipsi as pp
from phipsi.algebra.operators import LETTERS as ALGEBRA
from phipsi.compile import make_readable
from phipsi.explain.levels.explain import explain
from phipsi.explain.levels.meanings import ROLES, VIEWS
from phipsi.explain.levels.notation import Notation
from phipsi.explain.levels.spoken import SPELLED
from phipsi.explain.levels.sweeps import sweeps_of
from phipsi.lowering.steps import STEPS, guard
from phipsi.lowering.visitor import FORMULAS, SPECIAL_STEPS
from phipsi.operators import (
    C,
    D,
    E_phi,
    H,
    I,
    J,
    K,
    M,
    Mass,
    Omega,
    P,
    S_q,
    T,
    V,
    a,
    b,
    beta,
    beta_dot,
    f0,
    letter,
    operator,
    phi,
    psi,
    psi_tilde,
    scalar,
    space,
    vector,
)

FD = Mass.inv @ (T - C)
ID = Mass @ beta_dot + C
FD4 = (I - H @ psi @ K).T @ D.inv @ (T - H @ (psi @ (K @ T + b) + psi_tilde @ P @ a) - H @ P @ a)

KINEMATICS = """\
for k = base ... tips:
    V(k) = phi*(p,k) V(p) + H*(k) beta(k)
    a(k) = cross[V(k)] H*(k) beta(k) + H_dot*(k) beta(k)
"""
ARTICULATED = """\
    P(k) = sum_c phi(k,c) P+(c) phi*(k,c) + M(k)
    D(k) = H(k) P(k) H*(k) + Jm(k)
    G(k) = P(k) H*(k) D^-1(k)
    P+(k) = P(k) - G(k) H(k) P(k)
"""
SMOOTHER = """\
for k = base ... tips:
    alpha+(k) = phi*(p,k) alpha{n}(p)
    beta_dot(k) = nu(k) - G*(k) alpha+(k)
    alpha{n}(k) = alpha+(k) + H*(k) beta_dot(k)
    result(k) = beta_dot(k)"""
UPSILON = (
    "for k = tips ... base:\n"
    + ARTICULATED
    + """\
for k = base ... tips:
    Y(k) = psi*(p,k) Y(p) psi(p,k) + H*(k) D^-1(k) H(k)
for k = tips ... base:
"""
)
TEXTS = {  # written by hand, from [001 (35)-(46)], [004-I (4.15), FD1-FD4], MATH of the papers
    "V": (
        V,
        """\
for k = base ... tips:
    V(k) = phi*(p,k) V(p) + H*(k) beta(k)
    V(k) is the result""",
    ),
    "ID": (
        ID,
        KINEMATICS
        + """\
    alpha(k) = phi*(p,k) alpha(p) + a(k) + H*(k) beta_dot(k) + E(k) gravity
    w(k) = M(k) alpha(k) + S[V(k)] M(k) V(k)
for k = tips ... base:
    f(k) = sum_c phi(k,c) f(c) + w(k)
    T(k) = H(k) f(k) + Jm(k) beta_dot(k)
    result(k) = T(k)""",
    ),
    "FD": (
        FD,
        KINEMATICS
        + """\
    alpha_1(k) = phi*(p,k) alpha_1(p) + a(k) + E(k) gravity
    w(k) = M(k) alpha_1(k) + S[V(k)] M(k) V(k)
for k = tips ... base:
    f(k) = sum_c phi(k,c) f(c) + w(k)
    z(k) = sum_c phi(k,c) [z(c) + G(c) eps(c)]
    eps(k) = T(k) - H(k) [f(k) + z(k)]
"""
        + ARTICULATED
        + "    nu(k) = D^-1(k) eps(k)\n"
        + SMOOTHER.format(n="_2"),
    ),
    "FD4": (
        FD4,
        KINEMATICS
        + "    b(k) = S[V(k)] M(k) V(k)\nfor k = tips ... base:\n"
        + ARTICULATED
        + """\
    z(k) = sum_c phi(k,c) [z(c) + G(c) [T(c) - H(c) z(c)] + P+(c) a(c)] + b(k)
    eps(k) = T(k) - H(k) [z(k) + P(k) a(k)]
    nu(k) = D^-1(k) eps(k)
"""
        + SMOOTHER.format(n=""),
    ),
    "J Mass^-1 J*": (
        J @ Mass.inv @ J.T,
        UPSILON
        + """\
    x(k,j) = psi(k,c) x(c,j) + phi(k,j) [j on k], for each j at k or outboard, c the child towards j
    result(i,j) = x*(k,i) Y(k) x(k,j), for all i, j that meet first at k""",
    ),
    "Omega": (
        Omega,
        UPSILON
        + """\
    psi(k,j) = psi(k,c) psi(c,j) + [j = k] I, for each j at k or outboard, c the child towards j
    Omega(i,j) = psi*(k,i) Y(k) psi(k,j), for all i, j that meet first at k""",
    ),
    "Mass": (
        Mass,
        """\
for k = tips ... base:
    R(k) = sum_c phi(k,c) R(c) phi*(k,c) + M(k)
    Mass(k,k) += H(k) R(k) H*(k)
    x(k,j) = phi(k,c) [x(c,j) + R(c) H*(c) [j = c]], for each j at k or outboard, c the child \
towards j
    Mass(k,j) += H(k) x(k,j), and its star at (j,k), for each j at k or outboard
    Mass(k,k) += Jm(k)""",
    ),
    "J": (
        J,
        """\
for k = tips ... base:
    x(k,j) = phi(k,c) x(c,j) + phi(k,j) [j on k], for each j at k or outboard, c the child towards j
    J(j,k) = x*(k,j) H*(k), for each j at k or outboard""",
    ),
    "tip force": (
        Mass.inv @ J.T @ f0,
        """\
for k = tips ... base:
    f(k) = sum_c phi(k,c) f(c) + sum_e phi(k,e) f0(e)
    z(k) = sum_c phi(k,c) [z(c) + G(c) eps(c)]
    eps(k) = H(k) [f(k) - z(k)]
"""
        + ARTICULATED
        + "    nu(k) = D^-1(k) eps(k)\n"
        + SMOOTHER.format(n=""),
    ),
    "kinetic energy": (
        0.5 * V.T @ M @ V,
        """\
for k = base ... tips:
    V(k) = phi*(p,k) V(p) + H*(k) beta(k)
    energy = sum_k 0.5 V*(k) M(k) V(k)
once:
    result = energy""",
    ),
}


def recursions(expression, plain=True):
    notation = Notation(make_readable([expression], plain))
    return "\n".join(map(str, sweeps_of(notation, [expression])))


# -- the recursions -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_sweeps_read_as_in_the_papers(name):
    expression, text = TEXTS[name]
    assert recursions(expression) == text


def test_operator_forms_are_those_of_the_papers():
    forms = {x.name: str(x.expression) for x in explain(FD).parts}
    assert forms["z"] == "psi @ K @ (T - H @ f)"
    assert forms["eps"] == "T - H @ (f + z)"
    assert forms["alpha_2"] == "psi.T @ H.T @ nu"
    assert forms["f"] == "phi @ w"
    assert forms["P+"] == "tau_bar @ P"


def test_every_step_of_the_lowering_has_a_formula():
    """Where it is defined; only what is given, or is a body's alone, is spelled out."""
    assert set(STEPS) | SPECIAL_STEPS == set(FORMULAS)
    silent = {name for name, formula in FORMULAS.items() if not formula.text}
    guards = {name for name, step in STEPS.items() if step.__module__ == guard.__name__}
    assert silent - guards <= set(SPELLED)
    for name in set(FORMULAS) - silent:
        formula = FORMULAS[name]
        letters = set(re.findall(r"(?<!\.)\b[A-Za-z_]\w*", formula.text))
        own = {x.removeprefix("*") for x in formula.names}
        assert letters - own <= {*ALGEBRA, "blockdiag", "e", "letter", "SCALAR"}, name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_expression_reads_as_formulas(family):
    """No step by its own name, no numbered slot, every line at most once, every quantity told."""
    steps = {x for x in STEPS if "_" in x} | {"inward", "outward", "gain", "relieve"}
    for expression in FAMILIES[family].values():
        for plain in (True, False):
            try:
                program = make_readable([expression], plain)
            except pp.LoweringError:
                continue
            notation = Notation(program)
            text = "\n".join(map(str, sweeps_of(notation, [expression])))
            words = {x.split("(")[0] for x in text.replace("[", " ").split()}
            assert not words & steps, text
            names = [x.name for x in notation.quantities]
            assert len(set(names)) == len(names)
            lines = text.splitlines()
            for x in notation.quantities:
                if "block by block" not in x.line:
                    assert sum(line.strip().startswith(x.line) for line in lines) == 1, x.line
            assert not re.search(r"\b[a-zA-Z]+_\d\d", text), text  # no numbered slots


def test_quantities_are_defined_before_they_are_used():
    """In each loop, what is read at k was made there before, or in an earlier loop."""
    for expression, text in TEXTS.values():
        notation = Notation(make_readable([expression]))
        made = set()
        for at in range(len(notation.program.loops)):
            for x in notation.in_order(at):
                if hasattr(x, "formula"):
                    here = {y.name for y in x.formula.atoms() if y.place in ("(k)", "(k,j)")}
                    known = {y.name for y in notation.quantities}
                    assert here & known <= made, text
                    made.add(x.name)


# -- meanings -----------------------------------------------------------------------------------


def test_every_letter_has_a_meaning_in_both_views():
    for meaning in (*(x.record for x in ALGEBRA.values()), *ROLES.values()):
        assert meaning.mechanics
        assert meaning.estimation
        assert all(meaning.by(view) for view in VIEWS)


def test_every_quantity_has_a_meaning_in_both_views():
    for view in VIEWS:
        for expression, _ in TEXTS.values():
            assert all(x.meaning for x in explain(expression, view=view).parts)


def test_estimation_names_what_the_paper_names():
    """004-I section 4: state, innovation, Kalman gain, covariance."""
    told = {x.name: x.meaning for x in explain(FD, view="estimation").parts}
    assert told["z"].startswith("state at body k, predicted")
    assert told["eps"].startswith("innovation")
    assert told["nu"] == "normalized innovation"
    assert told["G"].startswith("Kalman gain")
    assert told["P"].startswith("covariance of the predicted state")
    assert told["D"] == "covariance of the innovation at joint k"
    mechanics = {x.name: x.meaning for x in explain(FD).parts}
    assert mechanics["P"].startswith("articulated inertia")


def test_units_are_those_of_mechanics():
    units = {x.name: x.unit for x in explain(FD).parts}
    assert units["V"] == "rad/s, m/s"
    assert units["alpha_1"] == units["alpha_2"] == "rad/s^2, m/s^2"
    assert units["f"] == units["z"] == "N m, N"
    assert units["P"] == "kg m^2, kg m, kg"
    assert units["nu"] == "rad/s^2 or m/s^2"
    assert explain(0.5 * V.T @ M @ V).parts[-1].unit == "J"
    assert explain(phi @ vector("x", "body")).parts[0].unit == ""


def test_filters_are_told_from_what_passes_locked_joints():
    x = vector("x", "body")
    assert "free joints" in explain(psi @ x).parts[-1].meaning
    assert "do not yield" in explain(phi @ x).parts[-1].meaning
    assert (
        str(explain((I - 0.5 * E_phi).inv @ x).parts[0].expression) == "(I - 0.5 * E_phi).inv @ x"
    )
    own_rotors = explain((H @ phi @ M @ phi.T @ H.T).inv @ T)
    z = next(part for part in own_rotors.parts if part.name == "z")
    assert str(z.expression) == "(I - E_phi @ (I - G_1 @ H)).inv @ E_phi @ G_1 @ T"


def test_letters_of_the_users_own_say_what_their_functions_say():
    @letter("Kd", "joint", "joint", positive=True)
    def damping(body, joint):
        """Damping of each joint."""
        return 0.1

    told = explain((Mass + damping).inv @ T)
    assert "Damping of each joint." in told.level(2).text
    assert "Jm(k) + Kd(k)" in told.level(4).text


def test_spaces_of_the_users_own_are_solved_as_one_system():
    loop = space("loop", 2)
    A, u = operator("A", "point", loop), vector("u", loop)
    told = explain((A @ J @ Mass.inv @ J.T @ A.T).inv @ u)
    assert "[x_1, x_2]^-1 u" in told.level(4).text
    assert told.parts[-1].meaning == "vector of loop space of size 2"
    assert "row 2 of result = " in explain(A @ J).level(4).text


def test_names_are_those_of_nothing_else():
    """The sum of two joint speeds is no longer beta."""
    y = vector("y", "joint")
    assert "beta_1(k) = beta(k) + y(k)" in explain(beta + y).level(4).text
    x_1 = vector("x_1", "body")
    scaled = explain(scalar("m") * x_1 + 2 * x_1)
    assert len({part.name for part in scaled.parts} | {"x_1"}) == len(scaled.parts) + 1


# -- levels -------------------------------------------------------------------------------------


def test_there_are_seven_levels():
    told = explain(FD)
    assert [x.number for x in told.levels] == [1, 2, 3, 4, 5, 6, 7]
    assert told.level(3) is told.levels[2]
    assert str(told.level(1)) == repr(told.level(1))
    for number in (0, 8, "4", True, None):
        with pytest.raises(pp.InputError, match=r"no level .*1 \(the expression\).*7 \(coordin"):
            told.level(number)


def test_levels_tell_what_operators_are():
    told = explain(FD)
    assert "ready to run: (I - G* E_phi* psi* H*) D^-1 (I - H psi E_phi G)" in told.level(1).text
    operators = " ".join(told.level(2).text.split())
    assert "= (I - E_psi)^-1; blocks at (i, k), i inboard of or at k" in operators
    natures = " ".join(told.level(3).text.split())
    assert "psi causal a filter, from the tips to the base: forces through free joints" in natures
    assert "psi* anticausal a smoother, from the base to the tips" in natures
    assert "E_phi causal, one step from each body to its parent" in natures
    assert "D^-1 memoryless" in natures


def test_links_and_joints_are_told_where_they_are_crossed():
    assert "psi(k,c) = phi(k,c) tau_bar(c)" in explain(psi @ vector("x", "body")).level(5).text
    assert "psi" not in explain(ID).level(5).text
    assert "tau_bar(k) = I - G(k) H(k)" in explain(FD).level(6).text
    assert "tau_bar" not in explain(ID).level(6).text
    alone = explain(M @ vector("x", "body"))
    assert "nothing goes from link to link" in alone.level(5).text
    assert "neither a link nor a joint" in alone.level(6).text
    assert "no coordinate transform" in alone.level(7).text
    assert "1 x Free" in explain(FD, pp.examples.spacecraft()).level(7).text
    cam = MACHINES["tree_of_every_kind"]()
    assert "as its own function says" in explain(FD, cam).level(7).text


def test_cost_is_that_of_the_function():
    robot = pp.examples.puma560()
    info = pp.compile(robot, FD, backend="numpy", rewrite=False).info()
    told = explain(FD, robot)
    assert f"sweeps: {info.sweeps}; on 'Puma 560': {info.flops} flops" in told.cost
    by_sweep = [int(x.split()[-2]) for x in told.level(4).text.splitlines() if x.endswith(" flops")]
    assert len(by_sweep) == info.sweeps
    assert sum(by_sweep) == info.flops
    assert "a chain of 10 revolute joints, the reference" in explain(FD).cost
    assert "one point" in explain(J).cost
    assert "depend on the machine" in explain(J("tool")).cost


def test_text_fits_a_terminal():
    told = explain((FD, J @ Mass.inv @ J.T), pp.examples.branching_tree())
    assert max(map(len, str(told).splitlines())) <= 100
    assert all(f"Level {n}: " in str(told) for n in range(1, 8))


def test_notebooks_show_greek_letters():
    told = explain(FD)
    assert "<details open>" in told._repr_html_()
    assert "φ*(p,k) V(p)" in told._repr_html_()
    assert "φ*(p,k) V(p)" in told._repr_markdown_()
    assert "alpha" not in told._repr_markdown_()
    assert "β̇(k) = ν(k) − G*(k) α⁺(k)" in told._repr_markdown_()
    assert repr(told) == "<Explanation of `Mass.inv @ (T - C)`, mechanics, 7 levels>"


def test_several_expressions_share_their_sweeps():
    told = explain([V, 0.5 * V.T @ M @ V])
    text = told.level(4).text
    assert text.count("V(k) = phi*") == 1
    assert "result 2 = energy" in text


def test_mimic_joints_are_projected():
    projected = (S_q.T @ Mass @ S_q).inv @ (S_q.T @ (T - C))
    model = MACHINES["mimics"]()
    text = explain(projected, model).level(4).text
    assert "S_q*" in text
    assert "A^-1" in text
    halves = recursions(S_q.T @ Mass, plain=False).splitlines()
    assert "    result(k,j) += S_q*(k) x_2(k,j), for each j at k or outboard" in halves
    assert "    result(j,k) += S_q*(j) x_2*(k,j), for each j at k or outboard" in halves


def test_an_expression_without_sweeps_keeps_its_upper_levels():
    told = explain((phi + psi.T).inv)
    assert "psi*" in told.level(3).text
    assert "cannot invert `phi + psi.T` in O(N)" in told.level(4).text
    assert told.level(7).text.startswith("no sweeps: ")
    assert told.values is None
    assert told.parts == ()
    with pytest.raises(pp.LoweringError, match="cannot invert"):
        explain((phi + psi.T).inv, pp.chain(2), inspect=True)
    assert "singular on every machine" in explain((0 * Mass).inv).level(4).text


# -- numbers and refusals -----------------------------------------------------------------------


def test_numbers_say_where_they_are_from():
    arm = pp.examples.planar_arm(2)
    told = explain(FD, arm, T=[0.0, 0.0])
    assert "q neutral (no q was passed), v = 0 (no v was passed)" in told.numbers
    assert told.values is None
    assert "-12.59" in told.numbers
    passed = explain(FD, arm, [0.1, 0.2], [0.3, 0.4], T=[0.0, 0.0])
    assert "q as passed, v as passed" in passed.numbers
    assert explain(FD, arm).numbers == "for numbers, pass T=..."
    assert explain(J @ FD, arm).numbers == "for numbers, pass T=..., points=..."


def test_large_machines_show_the_first_and_the_last():
    told = explain(V, pp.chain(40))
    assert "... 32 more" in told.numbers
    assert "... 37 more" in told.numbers


def test_what_is_wrong_is_refused():
    arm = pp.examples.planar_arm(2)
    refused = {
        "an expression, its text, or a list of several, got int": lambda: explain(3),
        "expected an expression or several, got none": lambda: explain([]),
        "expected an expression, or its text, got int": lambda: explain([V, 3]),
        "the space of `I` is open": lambda: explain(I),
        "view: unknown 'estimate'; did you mean 'estimation'": lambda: explain(V, view="estimate"),
        "view: unknown None": lambda: explain(V, view=None),
        "model: expected a Model, got str": lambda: explain(V, "ur5"),
        "inspect=True asks for numbers: pass the machine": lambda: explain(V, inspect=True),
        "q asks for numbers": lambda: explain(V, q=[0.0]),
        "T asks for numbers": lambda: explain(FD, T=[0.0]),
        "needs a value for T": lambda: explain(FD, arm, inspect=True),
        "needs a value for beta_dot": lambda: explain(FD + beta_dot, arm, T=[0.0, 0.0]),
        "has no free symbol 'tau'": lambda: explain(FD, arm, tau=[0.0, 0.0]),
        "T has shape (1,)": lambda: explain(FD, arm, T=[0.0]),
        "expected one state, got a batch of": lambda: explain(V, arm, np.zeros((3, 2))),
        "expected real numbers": lambda: explain(V, arm, np.array([1j, 0.0])),
        "stand for points": lambda: explain(J @ FD, arm, T=[0.0, 0.0]),
    }
    for message, ask in refused.items():
        with pytest.raises(pp.InputError) as error:
            ask()
        assert message in str(error.value)


def test_states_without_a_solution():
    """A massless tip: D vanishes there."""
    builder = pp.ModelBuilder("massless", strict=False)
    builder.add_body("tip", parent="world", joint=pp.joints.Revolute((0, 0, 1)))
    model = builder.build()
    assert "no numbers: " in explain(FD, model, T=[0.0]).numbers
    with pytest.raises(pp.SolveError):
        explain(FD, model, T=[0.0], inspect=True)


def test_the_market_is_explained():
    """One of each family, in full, with numbers where none are needed, without errors."""
    model = MACHINES["tree_one_dof"]()
    q, v = random_state(model, np.random.default_rng(1))
    for family, members in FAMILIES.items():
        expression = MARKET[f"{family}: {next(iter(members))}"]
        assert len(explain(expression, model, q, v).levels) == 7
    assert "your own, its value given" in explain(A).level(2).text
    assert "[j = c]" in explain(E_phi).level(4).text


# -- what is typed, and what runs ----------------------------------------------------------------


def test_the_first_line_says_which_expression_is_explained():
    """compile runs T for Mass^-1 Mass T; explain says so, or explains that."""
    arm, typed = pp.examples.planar_arm(2), Mass.inv @ Mass @ T
    assert pp.compile(arm, typed).program.expressions == (T,)
    first = explain(typed, arm).level(1).text.splitlines()[0]
    assert first == "Explained as typed; compile runs `T` instead, which rewrite=True explains."
    told = explain(typed, arm, rewrite=True)
    assert told.expressions == (T,)
    assert told.level(1).text.splitlines()[0] == (
        "Explained as compile runs it; typed was `Mass.inv @ Mass @ T`."
    )
    assert explain(T, arm, rewrite=True).level(1).text == explain(T, arm).level(1).text
    with pytest.raises(pp.InputError, match="rewrite: expected True or False, got 1"):
        explain(typed, arm, rewrite=1)
