"""Drawings show what is there: blocks as in the dense matrix; and they can be read.

What a drawing shows is read back from its SVG, and held against the definition.
"""

from collections import Counter
from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from expressions import MARKET, points_on
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import MARKET as MACHINES
from machines import machines_with_states, random_machine
from svg_reading import SVG, frame, groups, rectangles, root_of, words_of

import phipsi as pp
from phipsi.algebra.spaces import SPACES
from phipsi.errors import InputError, LoweringError, SolveError
from phipsi.explain.drawings import Drawing, draw_blocks, draw_dataflow
from phipsi.explain.drawings.cells import Relation
from phipsi.explain.drawings.colours import tint
from phipsi.explain.drawings.picture import COLOURS, GROUND, VANISHED, WHOLE
from phipsi.explain.drawings.states import make_states
from phipsi.explain.drawings.structure import Structure
from phipsi.model.tree import Tree
from phipsi.operators import (
    B,
    C,
    D,
    E,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    S_q,
    T,
    V,
    f0,
    operator,
    phi,
    pose,
    psi,
    space,
    vector,
)

ARM, PUMA, SPACECRAFT = pp.examples.planar_arm(3), pp.examples.puma560(), pp.examples.spacecraft()
ZERO = 1e-11  # of the largest entry: below it a dense entry is rounding
FD, LAMBDA = Mass.inv @ (T - C), J @ Mass.inv @ J.T

# -- blocks: the definition ------------------------------------------------------------


def sizes_of(space_name, model, points):
    """The block sizes of a space, independent of the code that draws."""
    return {
        "body": [6] * len(model.bodies),
        "pose": [16] * len(model.bodies),
        "joint": [x.kind.nv for x in model.joints],
        "coordinate": [x.kind.nv for x in model.joints if x.mimic is None],
        "point": [6] * points,
        "base": [6],
        "scalar": [1],
    }[space_name]


def blocks_of(matrix, rows, columns):
    """Which blocks of a dense matrix are not zero."""
    there = np.abs(matrix) > ZERO * np.abs(matrix).max(initial=0.0)
    there = np.logical_or.reduceat(there, np.cumsum([0, *rows[:-1]]), axis=0)
    return np.logical_or.reduceat(there, np.cumsum([0, *columns[:-1]]), axis=1)


def read_blocks(group, rows, columns):
    """Of each block the colour that covers it, None where the paper is blank."""
    wide, high = frame(group)
    ys = np.cumsum([0, *rows]) * high / sum(rows)
    xs = np.cumsum([0, *columns]) * wide / sum(columns)
    found = np.full((len(rows), len(columns)), None, dtype=object)
    for x, y, width, height, color in rectangles(group):
        i = np.argmin(np.abs(ys - y))
        k, end = np.argmin(np.abs(xs - x)), np.argmin(np.abs(xs - x - width))
        assert abs(ys[i + 1] - y - height) < 0.05, "one row of blocks"
        found[i, k:end] = color
    return found


def picture(drawing):
    return [group for group, _ in groups(root_of(drawing))][1]


RELATIONS = {
    tint(color, share): relation.value
    for relation, color in COLOURS.items()
    for share in (GROUND, WHOLE)
    if relation is not Relation.PLAIN  # of vectors
}


@pytest.mark.parametrize("machine", ["puma560", "spacecraft", "mimics", "forest"])
@pytest.mark.parametrize(
    "expression",
    [
        H,
        phi,
        psi,
        M,
        K,
        Mass,
        Mass.inv,
        Omega,
        B,
        J,
        E,
        S_q,
        V,
        pose,
        C.T,
        phi @ M @ phi.T,
        Mass @ Mass,
    ],
    ids=str,
)
def test_blocks_drawn_are_those_of_the_dense_matrix(machine, expression):
    """Read back from the SVG; the state is another one than that which is drawn by default."""
    model = MACHINES[machine]()
    q = model.random(np.random.default_rng(5))
    points = points_on(model)
    v = np.random.default_rng(6).normal(size=model.nv)
    drawn = draw_blocks(expression, model, q, v, points=points)
    matrix = pp.as_matrix(model, expression, q, v, points=points)
    row_space, column_space = expression.target.name, expression.source.name
    rows, columns = (sizes_of(x, model, len(points)) for x in (row_space, column_space))
    matrix = np.reshape(matrix, (sum(rows), sum(columns)))
    shown = read_blocks(picture(drawn), rows, columns)
    nonzero = np.vectorize(lambda x: x is not None and x != VANISHED)(shown)
    assert np.array_equal(nonzero, blocks_of(matrix, rows, columns))
    assert f"{nonzero.sum()} of {nonzero.size} block" in drawn.title


@pytest.mark.parametrize(("machine", "first"), [("tree_one_dof", 0), ("mimics", 1)])
def test_structure_of_the_market_equals_that_of_dense_matrices(machine, first):
    """Every other expression on each machine."""
    model = MACHINES[machine]()
    points, compared = points_on(model), 0
    for expression in list(MARKET.values())[first::2]:
        structure = Structure(make_states(model, expression, None, None, points, {}, 3))
        nonzero = structure.nonzero(expression)
        names = expression.target.name, expression.source.name
        rows, columns = (sizes_of(x, model, len(points)) for x in names)
        expected = blocks_of(structure.matrix(expression), rows, columns)
        if np.abs(structure.matrix(expression)).max() < 1e-9:  # rounding
            assert not nonzero.any(), expression
        else:
            assert np.array_equal(nonzero, expected), expression
            compared += 1
        assert np.all(structure.allowed(expression) >= nonzero)
    assert compared > 200


@settings(max_examples=15)
@given(machines_with_states(max_bodies=12), st.sampled_from([phi, psi, Mass, Omega, K, H @ phi]))
def test_colours_say_where_a_block_carries(machine, expression):
    """Causal: the row's body is on the way from the column's to the base; and so on."""
    model, q, v = machine
    drawn = draw_blocks(expression, model, q, v)
    rows, columns = (sizes_of(x.name, model, 0) for x in (expression.target, expression.source))
    ways = [set(model.tree.path(k)) for k in range(len(model.bodies))]
    for (i, k), color in np.ndenumerate(read_blocks(picture(drawn), rows, columns)):
        if color in (None, VANISHED):
            continue
        expected = "across branches"
        if i in ways[k]:
            expected = "memoryless" if i == k else "causal"
        elif k in ways[i]:
            expected = "anticausal"
        assert RELATIONS[color] == expected


@settings(max_examples=10)
@given(machines_with_states(max_bodies=8, shapes=("tree", "star", "forest")))
def test_inverse_of_the_mass_matrix_meets_across_branches(machine):
    """Bodies that hang on one root feel each other; those of another root do not."""
    model, q, _ = machine
    sizes = sizes_of("joint", model, 0)
    structure = Structure(make_states(model, Mass.inv, q, None, None, {}, 3))
    root = [list(model.tree.path(k))[-1] for k in range(len(sizes))]
    allowed = structure.allowed(Mass.inv)
    assert np.array_equal(allowed, np.equal.outer(root, root))


def test_identities_cancel_though_the_tree_allows_blocks():
    """Lemma 5 of 003, phi K H psi + psi = phi, and Mass Mass^-1 = I: what is left is rounding."""
    for expression, count in ((phi @ K @ H @ psi + psi - phi, 0), (Mass @ Mass.inv, 6)):
        drawn = draw_blocks(expression, PUMA)
        space_of = sizes_of(expression.target.name, PUMA, 0)
        shown = Counter(read_blocks(picture(drawn), space_of, space_of).flat)
        assert shown[VANISHED] > 10
        assert sum(shown.values()) - shown[VANISHED] - shown[None] == count
        assert any("zero here, though the tree allows it" in x.text for x in words_of(drawn))


def test_small_far_blocks_are_numbers_and_not_rounding():
    """psi across 60 bodies is 1e-9 of what it is across one, and is drawn all the same."""
    model = pp.chain(60)
    structure = Structure(make_states(model, psi, None, None, None, {}, 3))
    norms = np.abs(structure.matrix(H @ psi @ K))
    smallest = norms[norms > 0].min() / norms.max()
    assert smallest < 1e-9
    assert np.array_equal(structure.nonzero(psi), np.triu(np.ones((60, 60), dtype=bool)))


def test_small_numbers_of_letters_are_numbers():
    """A mote on a rock, and what a user gives: nothing was added up, so nothing is rounding."""
    builder = pp.ModelBuilder("rock and mote")
    builder.add_body("rock", mass=1e3, inertia=(1e3, 1e3, 1e3))
    builder.add_body("mote", "rock", mass=1e-12, inertia=(1e-13, 1e-13, 1e-13))
    model, x = builder.build(), vector("x", "body")
    assert draw_blocks(M, model).title == "M of rock and mote: 2 of 4 blocks are nonzero"
    for least in (1e-20, 1e-200):
        drawn = draw_blocks(x, model, x=[least] * 6 + [1.0] * 6)
        assert drawn.title.endswith("2 of 2 blocks are nonzero")


def test_entries_are_darker_the_larger():
    matrix = [np.diag([1.0, 0.05, 1e-3, 1e-7, 0.0, 1.0])] * 2
    A = operator("A", "body", "body")
    drawn = draw_blocks(A, pp.examples.planar_arm(2), A=matrix)
    paths = [x for x in picture(drawn).findall(f"{SVG}path")]
    squares = {x.get("fill"): x.get("d").count("M") for x in paths}
    assert sorted(squares.values()) == [2, 2, 2, 4]  # of both bodies: decades -7, -3, -2, and 0
    lightness = {fill: int(fill[1:3], 16) for fill in squares}
    assert squares[min(lightness, key=lightness.get)] == 4


def test_blocks_have_true_proportions():
    """A joint of six speeds is six times as wide as one of one."""
    drawn = draw_blocks(Mass, SPACECRAFT)
    names = [x.text for x in words_of(drawn)]
    assert "root" in names
    widths = {width for _, _, width, _, color in rectangles(picture(drawn)) if color != VANISHED}
    assert len(widths) == 2
    assert max(widths) / min(widths) == pytest.approx(6, rel=1e-3)


def test_large_machines_have_few_elements():
    """Blocks of a kind side by side are one rectangle."""
    model = pp.chain(120)
    count = sum(1 for _ in root_of(draw_blocks(phi, model)).iter())
    assert count < 4 * 120


def test_points_and_own_spaces_are_drawn():
    tool, loop = PUMA.bodies[-1].name, space("loop", 2)
    points = [pp.point(tool), pp.point(tool, (0, 0, 1)), pp.point("link2")]
    names = {x.text for x in words_of(draw_blocks(LAMBDA, PUMA, points=points))}
    assert {f"{tool} 1", f"{tool} 2", "link2"} <= names
    mixed = draw_blocks(J(points[0]) + J(points[2]), PUMA)
    assert "point 0" in {x.text for x in words_of(mixed)}
    for named in (draw_blocks(J(points[0]), PUMA), draw_blocks(J, PUMA, points=points[0])):
        assert tool in {x.text for x in words_of(named)}
    drawn = draw_blocks(operator("A", "joint", loop) @ Mass.inv @ T @ vector("u", loop).T, PUMA)
    assert drawn.title.endswith("1 of 1 block is nonzero")


def test_what_is_not_given_is_random_but_the_same_each_time():
    A, u = operator("A", "joint", "joint"), vector("u", "joint")
    first, second = (draw_blocks(A.inv @ Mass @ u, PUMA) for _ in range(2))
    assert first.svg == second.svg
    blank = draw_blocks(A @ u, ARM, A=[np.eye(1), np.eye(1), np.zeros((1, 1))])
    assert "2 of 3 blocks" in blank.title


# -- factors ---------------------------------------------------------------------------


def test_mass_matrix_is_drawn_as_what_it_is_made_of():
    drawn = draw_blocks(Mass, PUMA, factors=True)
    pictures = [group for group, _ in groups(root_of(drawn))][1:]
    assert len(pictures) == 7
    names = [x.text for x in words_of(drawn) if x.color == "#1c2126"]
    assert names[:9] == ["ℳ", "=", "H", "φ", "M", "φ*", "H*", "+", "Jm"]
    body, joint = [6] * 6, [1] * 6
    for group, letter, rows, columns in zip(
        pictures,
        (Mass, H, phi, M, phi.T, H.T, Jm),
        (joint, joint, body, body, body, body, joint),
        (joint, body, body, body, body, joint, joint),
        strict=True,
    ):
        assert frame(group)[0] / frame(group)[1] == pytest.approx(
            sum(columns) / sum(rows), rel=1e-3
        )
        shown = read_blocks(group, rows, columns)
        q = PUMA.random(np.random.default_rng(0))
        expected = blocks_of(pp.as_matrix(PUMA, letter, q), rows, columns)
        there = np.vectorize(lambda x: x is not None and x != VANISHED)(shown)
        assert np.array_equal(there, expected)


def test_numbers_and_signs_stand_between_factors():
    drawn = draw_blocks(-2 * (phi @ M) - phi + 0.5 * M, ARM, factors=True)
    texts = [x.text for x in words_of(drawn) if x.color == "#1c2126"]
    assert texts[1:10] == ["=", "−", "2", "φ", "M", "−", "φ", "+", "0.5"]
    long = draw_blocks(phi @ M @ phi.T @ M @ phi @ M @ phi.T @ M @ phi @ M, PUMA, factors=True)
    assert float(root_of(long).get("width")) < 1200  # in lines


# -- how it looks ----------------------------------------------------------------------

WIDE_TREE = random_machine(3, 30)
DRAWINGS = {
    "blocks": lambda: draw_blocks(Mass.inv, SPACECRAFT),
    "blocks of a tree": lambda: draw_blocks(phi, WIDE_TREE),
    "blocks of a long expression": lambda: draw_blocks(
        MARKET["matrices: derivative of Mass"], PUMA
    ),
    "factors": lambda: draw_blocks(
        (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K), PUMA, factors=True
    ),
    "a vector": lambda: draw_blocks(V, PUMA),
    "a chain": lambda: draw_blocks(Mass, pp.chain(40)),
    "dataflow": lambda: draw_dataflow(FD),
    "dataflow of a tree": lambda: draw_dataflow(FD, WIDE_TREE),
    "dataflow with points": lambda: draw_dataflow(Mass.inv @ (T - J.T @ f0), SPACECRAFT),
    "six sweeps": lambda: draw_dataflow(
        MARKET["vectors of the papers: constrained accelerations"], SPACECRAFT
    ),
    "many columns": lambda: draw_dataflow(MARKET["matrices: derivative of Mass"]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_words_do_not_overlap_and_stay_on_the_paper(name):
    drawn = DRAWINGS[name]()
    root, words = root_of(drawn), words_of(drawn)
    wide, high = float(root.get("width")), float(root.get("height"))
    assert words and root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    for one, other in combinations(words, 2):
        assert not one.meets(other), (one.text, other.text)
    for x in words:
        assert min(x.x0, x.y0) >= 0 and x.x1 <= wide and x.y1 <= high, x


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_deterministic_and_told_to_who_cannot_see(name):
    drawn = DRAWINGS[name]()
    assert drawn == DRAWINGS[name]()
    root = root_of(drawn)
    assert root[0].tag == f"{SVG}title" and root[0].text == drawn.title == root.get("aria-label")
    assert root[1].tag == f"{SVG}desc" and len(root[1].text) > 10
    assert root.get("role") == "img"
    assert all(x.get("id") is None for x in root.iter())  # several drawings on one page


def test_names_of_machines_have_no_subscripts():
    """mems_1 is a name, and J_m is a letter."""
    builder = pp.ModelBuilder("mems_1")
    builder.add_body("plate_2", mass=1.0, inertia=np.eye(3))
    model = builder.build()
    for drawn in (
        draw_blocks(Jm, model),
        draw_blocks(Jm, model, factors=True),
        draw_dataflow(Jm @ T, model),
    ):
        low = {x.text for x in root_of(drawn).iter(f"{SVG}tspan") if x.get("font-size")}
        assert low == {"m"}
        assert any("mems_1" in x.text for x in words_of(drawn))


def test_text_is_read_as_an_expression():
    assert draw_blocks("inv(Mass)", PUMA).svg == draw_blocks(Mass.inv, PUMA).svg
    assert draw_dataflow("Mass^-1 (T - C)").svg == draw_dataflow(FD).svg


def test_names_of_bodies_may_have_any_letters(tmp_path):
    builder = pp.ModelBuilder('a < b & "c"\x01')
    builder.add_body('<&>"\x02', mass=1.0, inertia=np.eye(3))
    model = builder.build()
    for drawn in (draw_blocks(M, model), draw_dataflow(FD, model)):
        drawn.save(tmp_path / "a.svg")
        assert r"\x02" in (tmp_path / "a.svg").read_text(encoding="utf-8")
        assert root_of(drawn) is not None


def test_a_drawing_is_saved_and_shown_by_notebooks(tmp_path):
    drawn = draw_blocks(phi, ARM)
    drawn.save(tmp_path / "phi.svg")
    assert (tmp_path / "phi.svg").read_text(encoding="utf-8") == drawn.svg == drawn._repr_svg_()
    assert repr(drawn).startswith("<Drawing 'φ of planar arm of 3: 6 of 9 blocks are nonzero', ")
    assert isinstance(drawn, Drawing)


# -- what cannot be drawn --------------------------------------------------------------

LONG = pp.chain(201)
BIG = operator("F", "joint", space("big", 30000))
DEEP = reduce(lambda inner, x: phi @ (inner + x), [vector("x", "body")] * 400)


FIXED = pp.ModelBuilder("nothing moves").build()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: draw_blocks(["phi"], PUMA),
            InputError,
            "expected an expression, or its text, got list",
        ),
        (lambda: draw_blocks("phi +", PUMA), InputError, "at column 6"),
        (lambda: draw_dataflow(DEEP), LoweringError, "nested too deeply"),
        (
            lambda: draw_blocks(BIG @ BIG.T, ARM),
            InputError,
            "'big' has 30000 rows, .* most 3200",
        ),
        (lambda: draw_blocks(J, ARM, points=["tip"] * 534), InputError, "has 3204 rows"),
        (lambda: draw_blocks(J(*["tip"] * 534), ARM), InputError, "has 3204 rows"),
        (
            lambda: draw_dataflow(3.0),
            InputError,
            "draw_dataflow: expected an expression, or its text, got float",
        ),
        (lambda: draw_blocks(2 * I, PUMA), InputError, "the space of `2 . I` is open"),
        (lambda: draw_dataflow(I), InputError, "the space of `I` is open"),
        (lambda: draw_blocks(phi, "puma560"), InputError, "expected a Model, got str"),
        (lambda: draw_dataflow(phi, "puma560"), InputError, "expected a Model, got str"),
        (lambda: draw_blocks(J, PUMA), InputError, r"pass points=\[pp.point"),
        (lambda: draw_blocks(J, PUMA, points=["hand"]), InputError, "no frame 'hand'"),
        (lambda: draw_blocks(phi, LONG), InputError, "201 bodies, and a drawing at most 200"),
        (lambda: draw_dataflow(FD, LONG), InputError, "without a machine, a chain of any length"),
        (lambda: draw_blocks(phi, FIXED), InputError, "no moving bodies"),
        (lambda: draw_dataflow(FD, FIXED), InputError, "no moving bodies"),
        (lambda: draw_blocks(phi, ARM, [0.0, 0.0]), InputError, "q has shape"),
        (
            lambda: draw_blocks(phi, ARM, np.zeros((4, 3))),
            InputError,
            "one state is drawn, not a b",
        ),
        (lambda: draw_blocks(Mass, ARM, T=[1.0] * 3), InputError, "no free symbol 'T'"),
        (lambda: draw_blocks((M - M).inv, ARM), SolveError, "singular"),
        (lambda: draw_dataflow((phi + psi.T).inv), LoweringError, "in O"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_deep_expressions_are_drawn_as_blocks():
    """phi (x + phi (x + ...)), 400 times; it has no O(N) algorithm, but it has numbers."""
    assert draw_blocks(DEEP, ARM).title.endswith("3 of 3 blocks are nonzero")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("phi.png", "unknown suffix '.png'; valid names: '.svg'"),
        ("nowhere/phi.svg", "cannot be written: there is no directory"),
    ],
)
def test_a_drawing_that_cannot_be_saved_leaves_nothing(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        draw_blocks(phi, ARM).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_every_space_of_the_algebra_has_a_picture():
    """So that a space which is added is drawn, or this fails."""
    names = set()
    for expression in (phi, Mass, J, E, S_q, pose, T.T @ T):
        draw_blocks(expression, PUMA, points=[pp.point("link6")])
        names |= {expression.source.name, expression.target.name}
    assert names == set(SPACES)


def test_tree_of_one_body_is_laid_out():
    from phipsi.explain.drawings.tree_layout import lay_out

    layout = lay_out(Tree((-1,)), 300.0, 100.0)
    assert layout.places == ((64.0, 0.0),) and layout.height == 0.0
    star = lay_out(Tree((-1, *[0] * 80)), 300.0, 100.0)
    ys = [y for _, y in star.places[1:]]
    assert min(np.diff(ys)) >= 5.0 and star.places[0][1] == pytest.approx(np.mean(ys))
