"""Letters of the user's: blocks that a function tells, and names for formulas.

The oracles are matrices that NumPy puts together, and machines whose bodies have the mass
that a letter adds.
"""

import pickle
import zlib

import machines
import numpy as np
import pytest
from symbols import assert_close, free_names

import phipsi as pp
from phipsi import joints
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.rewriting.opening import letters_in
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.identity import of_blocks, of_expressions
from phipsi.backends.tables import Table
from phipsi.compile import make_program
from phipsi.lowering.machine import Machine
from phipsi.operators import (
    C,
    E,
    H,
    I,
    J,
    Jm,
    M,
    Mass,
    R,
    S,
    T,
    V,
    a,
    b,
    beta,
    blockdiag,
    cross,
    define,
    gravity,
    letter,
    operator,
    phi,
    psi,
    scalar,
    vector,
)
from phipsi.scalars import cos, sin


def numbers_of(body, *shape):
    """Random numbers that belong to a body."""
    return np.random.default_rng(zlib.crc32(body.name.encode())).normal(size=shape)


def water(body, joint):
    """Added mass of a body in water, positive definite and of no symmetry of its own."""
    R = numbers_of(body, 6, 6)
    return R @ R.T


@letter("M_d", "body", "body", positive=True)
def M_d(body, joint):
    """Decorated."""
    return 1.0 + len(body.name)


def swelling(body, joint, q):
    """A symmetric block that depends on the joint."""
    c, size = cos(0.3 * q[0]), 0.05 + 0.1 * (zlib.crc32(body.name.encode()) % 13)
    off = 0.1 * sin(q[-1])
    return [
        [2.0 + i + size * c * c if i == j else off * (i + j == 3) for j in range(6)]
        for i in range(6)
    ]


M_a = letter("M_a", "body", "body", water, positive=True)
M_q = letter("M_q", "body", "body", swelling, symmetric=True, varies=True)
D_j = letter("D_j", "joint", "joint", lambda body, joint: 0.5 + len(body.name), positive=True)
G_o = letter("G_o", "body", "body", lambda body, joint: numbers_of(body, 6, 6) + 3 * np.eye(6))
L_o = letter("L_o", "body", "joint", lambda body, joint: numbers_of(body, joint.kind.nv, 6))
N_o = letter(
    "N_o", "body", "body", lambda body, joint: water(body, joint) - 9 * np.eye(6), symmetric=True
)
w_o = letter("w_o", "scalar", "body", lambda body, joint: numbers_of(body, 6))
t_q = letter(
    "t_q", "scalar", "joint", lambda body, joint, q: [sin(q[0])] * joint.kind.nv, varies=True
)
LETTERS = (M_a, M_d, M_q, D_j, G_o, L_o, N_o, w_o, t_q)

x, y, h = vector("x", "body"), vector("y", "joint"), scalar("h")
Mass_w = define("Mass_w", H @ phi @ (M + M_a) @ phi.T @ H.T + Jm)

EXPRESSIONS = [
    *LETTERS,
    *(G_o.T, L_o.T, w_o.T @ M_a @ w_o, w_o @ w_o.T, G_o.T @ x, L_o.T @ y, M_a.T @ x, M_a.inv @ x),
    *(phi @ G_o @ phi @ x, phi @ M_a @ phi @ x, H @ phi @ w_o + t_q, cross[w_o] @ M_a @ x),
    *(Mass_w, Mass_w.inv, Mass_w.inv @ y, J @ Mass_w.inv @ J.T, J @ Mass_w.inv, (M + M_a).inv @ x),
    *((Mass + 0.1 * D_j).inv @ y, (Mass + h * D_j).inv @ y, D_j.sqrt @ y, G_o.inv @ phi.T @ x),
    *((H @ phi @ N_o @ phi.T @ H.T + 90 * D_j).inv @ y, blockdiag(phi @ (M + M_a) @ phi.T)),
    (L_o @ phi @ M_a @ phi.T @ L_o.T + D_j).inv,
    (H @ phi @ (M + M_q + M_d) @ phi.T @ H.T + Jm).inv @ (T - C - t_q),
    *(H @ phi @ (M + M_q) @ phi.T @ H.T, M_a @ G_o @ M_q @ phi.T @ H.T, S[M_a @ V] @ w_o),
]
IN_CODE = [
    Mass_w.inv @ (T - C),
    (H @ phi @ (M + M_q + M_d) @ phi.T @ H.T + Jm).inv @ (y - t_q),
    (Mass + h * D_j).inv @ y,
    J @ Mass_w.inv @ J.T,
    phi @ G_o @ (x + w_o) + L_o.T @ y,
    M_q,
]


def machine(mimics, bodies=6):
    kinds = machines.ONE_DOF_KINDS if mimics or bodies < 6 else machines.ALL_KINDS
    how = {"shape": "tree", "mimics": mimics, "rotors": "reflected"}
    return machines.random_machine(4, bodies, kinds, **how)


def points_on(model):
    return [pp.point(model.bodies[k].name, (0.1, 0.2, 0.3)) for k in (-1, 1)]


def values_for(model, rng, batch=()):
    joints = sum(joint.kind.nv for joint in model.joints)
    sizes = {"x": 6 * len(model.bodies), "y": joints, "T": joints}
    values = {name: rng.normal(size=(*batch, n)) for name, n in sizes.items()}
    return values | {"h": rng.uniform(0.1, 1.0, batch)}


def called(function, q, v, points, values):
    given = {name: values[name] for name in function.inputs if name in values}
    more = {"points": points} if "points" in function.inputs else {}
    return function(q, v, **given, **more)


# -- what a letter means ---------------------------------------------------------------------


def test_a_letter_is_the_diagonal_of_its_blocks_in_link_and_in_world_axes():
    model = machine(mimics=False)
    q = model.random(np.random.default_rng(0))
    R = pp.body_poses(model, q)[:, :3, :3]
    for k, (body, joint) in enumerate(zip(model.bodies, model.joints, strict=True)):
        own, turn = slice(6 * k, 6 * k + 6), np.kron(np.eye(2), R[k])
        rows = joint.rows
        pairs = [
            (M_a, own, own, water(body, joint), turn @ water(body, joint) @ turn.T),
            (L_o, rows, own, L_o.blocks(body, joint), L_o.blocks(body, joint) @ turn.T),
            (M_q, own, own, (A := np.array(swelling(body, joint, q[joint.q]))), turn @ A @ turn.T),
            (D_j, rows, rows, *[(0.5 + len(body.name)) * np.eye(joint.kind.nv)] * 2),
        ]
        for one, row, column, link, world in pairs:
            for axes, block in (("link", link), ("world", world)):
                matrix = pp.as_matrix(model, one, q, axes=axes)
                assert_close(matrix[row, column], block)
                matrix[row, column] = 0.0
                assert not matrix[row].any()
        assert_close(pp.as_matrix(model, w_o, q)[own], numbers_of(body, 6))


@pytest.mark.parametrize("mimics", [False, True], ids=["plain", "mimics"])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_lowered_equals_dense(expression, mimics):
    model, rng = machine(mimics), np.random.default_rng(1)
    q, v, values = model.random(rng), rng.normal(size=model.nv), values_for(model, rng)
    given = {name: values[name] for name in free_names(expression)}
    expected = pp.as_matrix(model, expression, q, v, points=points_on(model), **given)
    assert_close(called(pp.compile(model, expression), q, v, points_on(model), values), expected)


@pytest.mark.parametrize("how", [{"unroll": True}, {"unroll": False}], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("mimics", [False, True], ids=["plain", "mimics"])
def test_machine_code_equals_dense_on_batches(how, mimics):
    model, rng = machine(mimics, bodies=4), np.random.default_rng(2)
    q = np.array([model.random(rng) for _ in range(3)])
    v, values = rng.normal(size=(3, model.nv)), values_for(model, rng, (3,))
    function = pp.compile(model, IN_CODE, backend="llvm", lanes=2, **how)
    found = called(function, q, v, points_on(model), values)
    for result, expression in zip(found, IN_CODE, strict=True):
        given = {name: values[name] for name in free_names(expression)}
        expected = pp.as_matrix(model, expression, q, v, points=points_on(model), **given)
        assert_close(result, expected)


def test_added_mass_is_inverted_by_one_filter_and_one_smoother():
    assert pp.compile(pp.chain(7), Mass_w.inv @ T).program.sweeps == 2


# -- physics -------------------------------------------------------------------------------


def arm_with(mass, spin):
    """Three bodies in space, each with so much more mass at its centre, and rotational inertia."""
    builder = pp.ModelBuilder("arm", gravity=(0.0, -1.0, -9.0))
    parent = "world"
    for k, axis in enumerate(np.eye(3)):
        R = np.random.default_rng(k).normal(size=(3, 3))
        builder.add_body(
            f"link{k}",
            parent=parent,
            joint=joints.Revolute(axis),
            position=(0.1, 0.5, -0.2),
            mass=1.0 + k + mass,
            com=(0.2, 0.1 * k, 0.3),
            inertia=np.eye(3) * (2.0 + spin) + 0.1 * R @ R.T,
        )
        parent = f"link{k}"
    return builder.build()


def test_isotropic_added_mass_is_a_heavier_machine():
    """Mass_w and C_w of the light machine are Mass and C of the heavy one."""
    light, heavy = arm_with(0.0, 0.0), arm_with(0.7, 0.2)
    pairs = {body.name: body for body in heavy.bodies}

    def added(body, joint):
        return pairs[body.name].inertia.matrix - body.inertia.matrix

    A = letter("A_i", "body", "body", added, positive=True)
    C_w = H @ phi @ ((M + A) @ phi.T @ (a + E @ gravity) + b + S[V] @ A @ V)
    rng = np.random.default_rng(3)
    q, v, force = rng.normal(size=(3, 3))
    motion = pp.compile(light, (H @ phi @ (M + A) @ phi.T @ H.T + Jm).inv @ (T - C_w))
    assert_close(motion(q, v, force), pp.forward_dynamics(heavy, q, v, force))


def test_joint_damping_of_an_implicit_step_is_a_dense_solve():
    model, rng = machine(mimics=False), np.random.default_rng(4)
    q, force = model.random(rng), rng.normal(size=model.nv)
    sizes = [
        (0.5 + len(body.name), joint.kind.nv)
        for body, joint in zip(model.bodies, model.joints, strict=True)
    ]
    D = np.diag(np.concatenate([np.full(n, size) for size, n in sizes]))
    expected = np.linalg.solve(pp.mass_matrix(model, q) + 0.02 * D, force)
    assert_close(pp.compile(model, (Mass + 0.02 * D_j).inv @ T)(q, None, force), expected)


# -- rolled code, caches ---------------------------------------------------------------------


def test_rolled_code_has_numbers_of_letters_in_its_table_not_in_its_code():
    model = pp.chain(9)
    forms = []
    for expression in (
        Mass.inv @ T,
        Mass_w.inv @ T,
        (Mass_w + H @ phi @ M_q @ phi.T @ H.T).inv @ T,
    ):
        program = make_program((expression,))
        forms.append(len(Table(program, Machine(model, program.shifted), {}, [1]).forms))
    assert forms[0] == forms[1] == forms[2]


def test_functions_that_differ_deep_inside_are_told_apart_in_rolled_code():
    """Of one body sin of sin of ... and, in its innermost step, of cos."""

    def deep(body, joint, q):
        x = sin(q[0]) if body.name.endswith("1") else cos(q[0])
        for _ in range(40):
            x = sin(x)
        return [[1.0 + x]]

    model = pp.chain(4)
    expression = letter("N_d", "joint", "joint", deep, varies=True) @ T
    q = np.array([0.3, 0.4, 0.5, 0.6])
    found = pp.compile(model, expression, backend="llvm", unroll=False)(q, None, np.ones(4))
    assert_close(found, pp.as_matrix(model, expression, q, T=np.ones(4)))
    assert len(set(found.round(6))) == 4


def test_a_function_is_asked_once_for_each_body_of_a_machine():
    asked = []

    def blocks(body, joint):
        asked.append(body.name)
        return 1.0

    model, one = pp.chain(3), letter("One", "joint", "joint", blocks)
    for expression in (one @ T, one @ T + T):
        pp.compile(model, expression)(model.neutral(), None, np.ones(3))
    pp.as_matrix(model, one, model.neutral())
    assert asked == [body.name for body in model.bodies]


def test_letters_of_one_name_are_told_apart_by_their_blocks():
    """In the cache on disk: by what they are on a machine, since functions have no content."""
    model = pp.chain(2)

    def told(function, **how):
        one = letter("N_c", "joint", "joint", function, **how) @ T
        return of_expressions((one,)), digest(of_blocks((one,), model))

    two, three = told(lambda body, joint: 2.0), told(lambda body, joint: 3.0)
    assert None not in (*two, *three)
    assert two[0] == three[0]
    assert two[1] != three[1]
    assert two == told(lambda body, joint: np.array([[1.0 + 1.0]]))
    sine, cosine = (
        told(lambda body, joint, q, f=f: [[f(2.0 * q[0])]], varies=True) for f in (sin, cos)
    )
    assert sine[1] != cosine[1]
    assert two[0] != told(lambda body, joint: 2.0, symmetric=True)[0]


def test_a_function_found_on_disk_is_that_of_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    found = []
    for size in (2.0, 3.0, 2.0):
        one = letter("N_c", "joint", "joint", lambda body, joint, size=size: size)
        function = pp.compile(pp.chain(2), one @ T, backend="llvm")
        found.append(function([0.0, 0.0], None, [1.0, 1.0])[0])
    assert found == [2.0, 3.0, 2.0]


def test_letters_are_pickled_by_name_or_refused():
    for one in (M_a, M_d, Mass_w, M_a @ x + M_d @ x):
        assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(M_d)) is M_d
    with pytest.raises(pickle.PicklingError, match="cannot pickle the letter D_j"):
        pickle.dumps(D_j)


def test_letters_are_equal_if_their_functions_are():
    assert letter("M_a", "body", "body", water, positive=True) == M_a
    assert letter("M_a", "body", "body", water) != M_a
    assert letter("M_a", "body", "body", lambda body, joint: 1.0, positive=True) != M_a
    assert M_a.symmetric
    assert (
        M_a.record.mechanics
        == "Added mass of a body in water, positive definite and of no symmetry of its own."
    )
    assert isinstance(M_d, MachineLetter)
    assert not D_j.record.mechanics


@pytest.mark.parametrize(
    "name", ["unit", "carried", "loaded", "composite", "P_plus", "axis", "M", "D", "psi", "Mass"]
)
def test_names_that_letters_have_already_are_free(name):
    model, rng = pp.chain(3), np.random.default_rng(5)
    blocks = rng.normal(size=(3, 6, 6))
    free = operator(name, "body", "body")
    told = letter(name, "body", "body", lambda body, joint: blocks[model.index(joint.name)])
    q = model.random(rng)
    for one, given in ((free, {name: list(blocks)}), (told, {})):
        expression = H @ phi @ (one.T @ one + one) @ phi.T @ H.T
        expected = pp.as_matrix(model, expression, q, **given)
        assert_close(pp.compile(model, expression)(q, **given), expected)
    v = vector(name, "body")
    given = {name: rng.normal(size=18)}
    assert_close(
        pp.compile(model, H @ phi @ v)(q, **given), pp.as_matrix(model, H @ phi @ v, q, **given)
    )


ALIKE = {
    "free": lambda name: operator(name, "body", "body"),
    "told": lambda name: letter(name, "body", "body", water, positive=True),
    "defined": lambda name: define(name, 2.0 * M + R),
}


@pytest.mark.parametrize("name", ["M", "P", "V", "phi", "Mass"])
@pytest.mark.parametrize("kind", ALIKE)
def test_a_letter_with_the_name_of_another_costs_and_computes_what_it_does_by_any_name(kind, name):
    model, rng = pp.chain(3), np.random.default_rng(7)
    q, v = model.random(rng), rng.normal(size=3)
    blocks = [x @ x.T for x in rng.normal(size=(3, 6, 6))]
    values, programs = [], []
    for called in (name, "A_own"):
        own, given = ALIKE[kind](called), {called: blocks} if kind == "free" else {}
        outputs = H @ phi @ own @ phi.T @ H.T, psi @ own @ V, (M + own) @ V
        if kind != "free":
            outputs += ((H @ phi @ (M + own) @ phi.T @ H.T).inv @ beta,)
        function = pp.compile(model, outputs, backend="numpy")
        found = function(q, v, **given)
        for expression, value in zip(outputs, found, strict=True):
            assert_close(value, pp.as_matrix(model, expression, q, v, **given))
        values.append(found)
        programs.append(function.info().flops)
    for one, other in zip(*values, strict=True):
        assert_close(one, other)
    assert programs[0] == programs[1]


def test_a_letter_with_the_name_of_another_is_itself_in_text_derivations_and_explanations():
    for kind in ALIKE.values():
        own = kind("Mass")
        expression = phi @ own @ phi.T
        assert own != Mass
        assert own.unicode() == "Mass"
        assert own.latex() == r"\mathrm{Mass}"
        for text in (str(expression), expression.unicode(), expression.latex()):
            assert pp.parse(text, symbols=[own]) == expression
        assert "mass matrix" not in str(pp.explain(expression @ V).level(2))
    nature = str(pp.explain(operator("phi", "body", "body") @ a).level(3))
    assert "locked joints" not in nature
    rotors = pp.derive(operator("Jm", "joint", "joint") @ Mass.inv @ T)
    assert rotors.check(pp.chain(3)).ok


def test_a_definition_is_written_out_for_its_own_letter_alone():
    """By the same steps as under any other name, and without the source of the other letter."""
    own = define("Mass", H @ phi @ (2.0 * M + R) @ phi.T @ H.T)
    found = pp.derive(own.inv @ Mass @ T, without="definition of Mass")
    assert [(x.name, x.source) for x in found.steps][:1] == [("definition of Mass", "")]
    assert Mass in letters_in(found.result) and own not in letters_in(found.result)
    assert found.check(pp.chain(3)).ok
    assert pp.derive(define("phi", M @ M) @ phi @ V, to=M @ M @ phi @ V).steps[0].after == (
        M @ M @ phi @ V
    )


# -- define ----------------------------------------------------------------------------------


def test_a_defined_letter_is_its_formula():
    model = pp.chain(3)
    q = model.random(np.random.default_rng(6))
    assert Mass_w.definition == H @ phi @ (M + M_a) @ phi.T @ H.T + Jm
    assert str(Mass_w.inv @ T) == "Mass_w.inv @ T"
    hand = pp.as_matrix(model, H @ phi, q) @ pp.as_matrix(model, M + M_a, q)
    expected = hand @ pp.as_matrix(model, H @ phi, q).T + pp.as_matrix(model, Jm, q)
    assert_close(pp.as_matrix(model, Mass_w, q), expected)
    doubled = define("doubled", 2 * Mass_w @ y)
    assert_close(pp.compile(model, doubled)(q, y=np.ones(3)), 2 * expected @ np.ones(3))


def test_a_definition_may_be_text():
    A = operator("A", "joint", "joint")
    assert define("W", "A Mass", symbols=[A]).definition == A @ Mass
    assert define("Lambda", "Λ", notation="003").definition == (J @ Mass.inv @ J.T).inv


# -- refusals --------------------------------------------------------------------------------


def nothing(body, joint):
    return 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: letter("2x", "body", "body", nothing), "a symbol needs a name that is an ident"),
        (lambda: letter("Z", "body", "body", 3.0), "the letter Z needs a function of a body and"),
        (lambda: letter("Z", "body", "bodies", nothing), "no space 'bodies'; did you mean 'body'"),
        (lambda: define("Z", 3.0), "the letter Z: expected an expression, or its text, got float"),
        (lambda: define("Z", 2 * I), r"the letter Z: the space of `2 \* I` is open; compose it"),
    ],
)
def test_what_is_no_letter_is_refused(make, message):
    with pytest.raises(pp.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("source", "target"),
    [("point", "point"), ("base", "base"), ("scalar", "scalar"), ("body", "pose")],
)
def test_a_letter_whose_blocks_no_body_has_is_refused(source, target):
    with pytest.raises(
        pp.SpaceError, match=r"cannot make the letter Z from .*: a body has no such"
    ):
        letter("Z", source, target, nothing)


def test_what_maps_to_another_space_is_not_symmetric():
    with pytest.raises(pp.SpaceError, match="Z cannot be symmetric: it maps body space to joint"):
        letter("Z", "body", "joint", nothing, positive=True)


def at_body(what):
    return f"the function of the letter Z at body 'link1' {what}"


@pytest.mark.parametrize(
    ("function", "how", "message"),
    [
        (lambda body, joint: {}[body.name], {}, at_body("failed: KeyError: 'link1'")),
        (lambda body: 1.0, {}, at_body(r"failed: TypeError: .* takes 1 positional argument")),
        (
            lambda *_: "text",
            {},
            at_body("returned 'text'; expected 6 rows of 6 numbers or a number"),
        ),
        (lambda *_: np.ones(6), {}, at_body(r"returned the shape \(6,\); expected 6 rows of 6")),
        (lambda *_: np.nan, {}, at_body("returned nan; expected finite numbers")),
        (
            lambda *_: np.triu(np.ones((6, 6))),
            {"symmetric": True},
            at_body("returned a block that is not symmetric, as Z was said to be"),
        ),
        (
            lambda *_: -1.0,
            {"positive": True},
            at_body("returned a block with a negative eigenvalue; Z was said to be positive"),
        ),
        (lambda *_: 1.0, {"varies": True}, at_body("returned 1.0; expected 6 rows of 6 numbers")),
        (
            lambda *_: [[1.0]],
            {"varies": True},
            at_body(r"returned \[\[1.0\]\]; expected 6 rows of 6"),
        ),
    ],
)
def test_a_block_that_does_not_fit_is_refused_with_its_owner(function, how, message):
    model, one = pp.chain(2), letter("Z", "body", "body", function, **how)
    for evaluate in (pp.as_matrix, lambda model, one, q: pp.compile(model, one)(q)):
        with pytest.raises(pp.InputError, match=message):
            evaluate(model, one, model.neutral())


def test_a_vector_and_a_joint_are_named_in_refusals():
    model = pp.chain(2)
    for one, message in (
        (letter("Z", "scalar", "body", lambda *_: [1.0]), r"\(1,\); expected 6 numbers"),
        (letter("Z", "joint", "joint", lambda *_: np.ones(3)), r"at joint '.*' returned the shape"),
        (letter("Z", "body", "joint", lambda *_: 1.0), r"expected 1 rows of 6 numbers"),
    ):
        with pytest.raises(pp.InputError, match=message):
            pp.as_matrix(model, one, model.neutral())


def test_two_letters_of_one_name_in_one_expression_are_refused():
    model = pp.chain(2)
    other = letter("M_a", "body", "body", nothing)
    free = operator("M_a", "body", "body")
    formula = define("M_a", 2 * M)
    for second, what in (
        (other, "a letter of the machine that maps body space to body space; rename one"),
        (free, "a block-diagonal map of body space to body space"),
        (formula, r"what stands for `2 \* M`"),
    ):
        with pytest.raises(pp.InputError, match=rf"two symbols are called 'M_a': .*{what}"):
            pp.compile(model, M_a + second)
