"""Private frames: another view of the same machine, sparse by construction."""

import math
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from machines import ALL_KINDS, MARKET, ONE_DOF_KINDS, random_inertia, random_machine, random_state

import phipsi as pp
from phipsi import joints, spatial
from phipsi.lowering import blocks, transforms
from phipsi.lowering.counting import counting
from phipsi.lowering.frames import REACH, private_frames
from phipsi.lowering.transforms import Factor, Shift, XScrew, ZScrew
from phipsi.model.configuration import joint_coordinates, joint_speeds
from phipsi.model.joints import JointKind
from phipsi.operators import E, E_phi, H, M, R

each_machine = pytest.mark.parametrize("name", MARKET)
both_ways = pytest.mark.parametrize("shifted", [False, True], ids=["turned", "shifted"])
UNIT = [[float(i == j) for j in range(6)] for i in range(6)]


def matrix(rows, batch=()):
    """Rows of scalars of any kind as (*batch, rows, columns)."""
    stacked = [np.stack([np.broadcast_to(x, batch) for x in row], axis=-1) for row in rows]
    return np.stack(stacked, axis=-2).astype(complex if np.iscomplexobj(stacked) else float)


def matrix_of(function, batch=()):
    """The matrix of a linear map of 6-vectors."""
    return np.swapaxes(matrix([function(x) for x in UNIT], batch), -1, -2)


def to_link(links, k):
    """Forces of body k, private to link frame; of the world the identity."""
    return np.eye(6) if k == -1 else matrix_of(links[k].to_link_force)


def random_states(model, count=3):
    states = [random_state(model, np.random.default_rng(i)) for i in range(count)]
    return np.stack([q for q, _ in states]), np.stack([v for _, v in states])


def body_rows(k):
    return slice(6 * k, 6 * k + 6)


# -- the same machine ------------------------------------------------------------------


@each_machine
@both_ways
def test_factors_are_phi_between_link_frames(name, shifted):
    model = MARKET[name]()
    links = private_frames(model, shifted)
    q, _ = random_states(model)
    inner, outer = pp.as_matrix(model, E_phi, q), pp.as_matrix(model, E.T, q)
    for k, link in enumerate(links):
        p = link.parent
        rows = slice(0, 6) if p == -1 else body_rows(p)
        expected = (outer if p == -1 else inner)[..., rows, body_rows(k)]
        coordinates = joint_coordinates(model.joints[k], q)
        factors = link.factors(link.transform(coordinates))
        phi = matrix_of(lambda f, factors=factors: transforms.inward(factors, f), (3,))
        seen = to_link(links, p) @ phi @ matrix_of(link.from_link_force)
        np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@each_machine
@both_ways
def test_floats_and_batches_give_the_same_transform(name, shifted):
    model = MARKET[name]()
    q, v = random_states(model)
    for joint, link in zip(model.joints, private_frames(model, shifted), strict=True):
        together = matrix([link.transform(joint_coordinates(joint, q))], (3,))
        rates = link.map_rate(joint_coordinates(joint, q), joint_speeds(joint, v))
        for i in range(3):
            own = joint_coordinates(joint, q[i])
            assert all(type(x) is float for x in link.transform(own))
            np.testing.assert_allclose(together[i, 0], link.transform(own), rtol=0, atol=1e-14)
            rate = link.map_rate(own, joint_speeds(joint, v[i]))
            assert (rate is None) == (rates is None)
            if rate is not None:
                np.testing.assert_allclose(matrix(rates, (3,))[i], matrix(rate), atol=1e-14)


@each_machine
@both_ways
def test_joint_map_is_H_in_link_frames(name, shifted):
    model = MARKET[name]()
    q, _ = random_states(model)
    dense = pp.as_matrix(model, H.T, q)
    for k, link in enumerate(private_frames(model, shifted)):
        joint = model.joints[k]
        H_star = link.joint_map(link.transform(joint_coordinates(joint, q)))
        seen = matrix_of(link.to_link_motion) @ matrix(H_star, (3,))
        expected = dense[..., body_rows(k), joint.rows]
        np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@each_machine
@both_ways
def test_map_rate_is_the_derivative_along_the_motion(name, shifted):
    """By a step into the complex plane, along each direction and along all at once."""
    model = MARKET[name]()
    q, v = random_state(model, np.random.default_rng(0))
    for joint, link in zip(model.joints, private_frames(model, shifted), strict=True):
        coordinates, beta = joint_coordinates(joint, q), joint_speeds(joint, v)

        def rate(direction, joint=joint, link=link, coordinates=coordinates):
            moved = joint.kind.integrate(coordinates, [1e-30j * x for x in direction])
            return matrix(link.joint_map(link.transform(moved))).imag / 1e-30

        found = link.map_rate(coordinates, beta)
        along = [link.map_derivative(coordinates, a) for a in range(link.nv)]
        if found is None:
            assert along == [None] * link.nv
            assert not rate(beta).any()
            continue
        np.testing.assert_allclose(matrix(found), rate(beta), atol=1e-13)
        for a, Gamma in enumerate(along):
            step = [float(a == b) for b in range(link.nv)]
            np.testing.assert_allclose(matrix(Gamma), rate(step), atol=1e-13)


@each_machine
@both_ways
def test_inertia_is_M_in_link_frames(name, shifted):
    model = MARKET[name]()
    dense = pp.as_matrix(model, M, model.neutral())
    links = private_frames(model, shifted)
    for k, link in enumerate(links):
        X, expected = to_link(links, k), dense[body_rows(k), body_rows(k)]
        size = max(np.abs(expected).max(), 1e-300)
        np.testing.assert_allclose(
            X @ link.inertia.matrix @ X.T / size, expected / size, atol=1e-13
        )


@each_machine
@both_ways
def test_link_and_private_frames_are_inverse_and_keep_power(name, shifted):
    f, V = np.random.default_rng(0).normal(size=(2, 6))
    for link in private_frames(MARKET[name](), shifted):
        np.testing.assert_allclose(link.from_link_force(link.to_link_force(f)), f, atol=1e-14)
        np.testing.assert_allclose(link.from_link_motion(link.to_link_motion(V)), V, atol=1e-14)
        power = np.dot(link.to_link_force(f), link.to_link_motion(V))
        np.testing.assert_allclose(power, f @ V, atol=1e-13)


@each_machine
@both_ways
def test_points_and_pose_of_the_link_frame_agree(name, shifted):
    x = np.array([0.3, -0.7, 0.2])
    force_at_x = [*np.cross(x, x[::-1]), *x[::-1]]  # in link axes; no moment about x itself
    for link in private_frames(MARKET[name](), shifted):
        axes, origin = link.link_pose()
        np.testing.assert_allclose(link.place(x), origin + np.array(axes) @ x, atol=1e-15)
        f = link.from_link_force(force_at_x)
        np.testing.assert_allclose(np.cross(link.place(x), f[3:]), f[:3], atol=1e-14)


# -- structure -------------------------------------------------------------------------


def seated(kind, **options):
    """The link of one joint on a revolute arm, in general position."""
    rng = np.random.default_rng(1)
    builder = pp.ModelBuilder("arm")
    place = {"position": (0.5, 0.1, 0.2), "rotation": spatial.rotation_from_rpy((0.3, 0.4, 0.5))}
    builder.add_body("arm", joint=joints.Revolute((0.0, 0.6, 0.8)), **place, **random_inertia(rng))
    builder.add_body("hand", "arm", kind, **place, **random_inertia(rng), **options)
    return builder.build()


def structure(rows):
    """The rows with a number for everything that is not structural."""
    return [[x if type(x) is int else "x" for x in row] for row in rows]


AXIS = (0.6, 0.0, 0.8)
UNIT_COLUMNS = {
    "revolute": (joints.Revolute(AXIS), [2]),
    "continuous": (joints.Continuous(AXIS), [2]),
    "prismatic": (joints.Prismatic(AXIS), [5]),
    "cylindrical": (joints.Cylindrical(AXIS), [2, 5]),
    "planar": (joints.Planar(AXIS), [2, 3, 4]),
    "spherical": (joints.Spherical(), [0, 1, 2]),
    "free": (joints.Free(), [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("name", UNIT_COLUMNS)
@both_ways
def test_constant_joint_maps_are_structural_unit_columns(name, shifted):
    kind, columns = UNIT_COLUMNS[name]
    link = private_frames(seated(kind), shifted)[1]
    expected = [[int(i == j) for j in columns] for i in range(6)]
    assert structure(link.joint_map(link.transform(kind.neutral()))) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (joints.Helical(AXIS, pitch=0), [[0], [0], [1], [0], [0], ["x"]]),
        (joints.Universal(AXIS, (0.0, 1.0, 0.0)), [["x", 0], ["x", 0], ["x", 1], *[[0, 0]] * 3]),
        (
            joints.SphericalEuler("zyx"),
            [["x", "x", 0], ["x", "x", 0], ["x", 0, 1], *[[0, 0, 0]] * 3],
        ),
    ],
    ids=["helical", "universal", "euler"],
)
@both_ways
def test_other_joint_maps_are_numbers_where_the_kind_leaves_them_open(kind, expected, shifted):
    link = private_frames(seated(kind), shifted)[1]
    H_star = link.joint_map(link.transform([0.3, 0.4, 0.5][: kind.nq]))
    assert structure(H_star) == expected


def test_ints_of_a_users_pose_are_numbers_not_structure():
    def slider(q):
        return [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2 * q[0], 0, 3]

    model = seated(joints.Custom(slider, 1))
    link = private_frames(model, True)[1]
    X = link.transform([0.5])
    assert [type(x) for x in X] == [float] * (9 + 3 + 6)


class Ramp(JointKind):
    """A kind that this package does not know."""

    nq, nv = 1, 1

    def transform(self, q):
        return spatial.IDENTITY3, [q[0], 0.0, 0.5 * q[0]]

    def motion_map(self, q):
        return [[0.0], [0.0], [0.0], [1.0], [0.0], [0.5]]


@both_ways
def test_unknown_kind_is_used_by_its_transform_and_map(shifted):
    model = seated(Ramp())
    links = private_frames(model, shifted)
    X = links[1].transform([0.7])
    phi = matrix_of(lambda f: transforms.inward(links[1].factors(X), f))
    seen = to_link(links, 0) @ phi @ matrix_of(links[1].from_link_force)
    expected = pp.as_matrix(model, E_phi, [0.2, 0.7])[0:6, 6:12]
    np.testing.assert_allclose(seen, expected, atol=1e-15)
    assert matrix(links[1].joint_map(X)).tolist() == Ramp().motion_map([0.7])
    assert links[1].map_rate([0.7], [1.0]) is None
    assert links[1].map_derivative([0.7], 0) is None


def test_rotor_is_a_number_only_where_there_is_one():
    without, with_one = (
        private_frames(seated(joints.Revolute(AXIS), rotor_inertia=0.1 * x, gear_ratio=3.0), True)[
            1
        ]
        for x in (0.0, 1.0)
    )
    assert blocks.is_zero(without.rotor)
    assert with_one.rotor == pytest.approx(0.9)
    assert without.variant != with_one.variant


def numbers_of(thing):
    """Every number that a link holds."""
    if is_dataclass(thing) and not isinstance(thing, JointKind):
        for field in fields(thing):
            yield from numbers_of(getattr(thing, field.name))
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            yield from numbers_of(part)
    elif not isinstance(thing, JointKind):
        yield thing


@each_machine
@both_ways
def test_constants_are_plain_floats(name, shifted):
    for link in private_frames(MARKET[name](), shifted):
        types = {type(x) for x in numbers_of(link)}
        assert types <= {float, int, bool}  # bool: a form, no number
        assert all(x in (0, 1) for f in link.front for x in numbers_of(f) if type(x) is int)
        assert all(type(x) is float for x in numbers_of(link.inertia))


@each_machine
@both_ways
def test_links_of_one_variant_run_the_same_operations(name, shifted):
    model = MARKET[name]()
    costs = {}
    for link in private_frames(model, shifted):
        with counting() as tally:
            q, beta = ([tally.number() for _ in range(n)] for n in (link.nq, link.nv))
            X = link.transform(q)
            factors, H_star = link.factors(X), link.joint_map(X)
            rate = link.map_rate(q, beta)
            W = blocks.mirrored(6, lambda i, j, tally=tally: tally.number())
            transforms.congruence(factors, W)
            V = transforms.outward(factors, [tally.number() for _ in range(6)])
            link.to_link_motion(V)
        kinds_of_factors = [type(factor) for factor in factors]
        what = tally, len(X), kinds_of_factors, structure(H_star), rate and structure(rate)
        assert costs.setdefault(link.variant, what) == what
    assert costs


# -- frames chosen for sparsity --------------------------------------------------------


def factor_names(link):
    X = link.transform([0.1] * link.nq)
    return [type(factor).__name__ for factor in link.factors(X)]


def test_chain_of_axes_is_a_chain_of_denavit_hartenberg_pairs():
    model = random_machine(1, 7, ONE_DOF_KINDS, "chain")
    root, *others = private_frames(model, True)
    assert factor_names(root) == ["ZScrew", "XScrew", "ZScrew"]
    assert [factor_names(link) for link in others] == [["XScrew", "ZScrew"]] * 6
    root, *others = private_frames(model, False)
    assert factor_names(root) == ["Shift", "ZScrew", "XScrew", "ZScrew"]
    assert [factor_names(link) for link in others] == [["Shift", "XScrew", "ZScrew"]] * 6


def test_further_children_take_one_more_screw():
    links = private_frames(random_machine(4, 4, ONE_DOF_KINDS, "star"), True)
    assert factor_names(links[1]) == ["XScrew", "ZScrew"]
    assert factor_names(links[2]) == factor_names(links[3]) == ["ZScrew", "XScrew", "ZScrew"]


def test_turned_frames_keep_the_origin_by_structure():
    for kind in ALL_KINDS:
        for link in private_frames(random_machine(3, 6, [kind]), False):
            assert link.is_link_frame or link.frame.position == (0, 0, 0)
            assert link.is_link_frame or all(type(x) is int for x in link.frame.position)


def test_numbers_that_happen_to_vanish_are_not_structural():
    """One code for all bodies: no slide, no offset, but they might have been there."""
    for link in private_frames(pp.chain(20), True):
        assert type(link.d) is float
        assert all(type(x) is float for factor in link.front for x in numbers_of(factor))


def test_link_frames_that_are_sparse_already_stay():
    """pp.chain has links along x, and axes along y and z in turn."""
    links = private_frames(pp.chain(10), True)
    assert [link.is_link_frame for link in links] == [k % 2 == 1 for k in range(10)]
    assert all(link.theta == 0.0 for link in links)


def test_exact_right_and_straight_angles_stay_exact():
    for link in private_frames(pp.examples.planar_arm(3), True)[1:]:
        screw = link.front[-1]
        assert (screw.c, screw.s, link.theta) == (1.0, 0.0, 0.0)
    for link in private_frames(pp.chain(10), True)[1:]:
        assert (link.front[-1].c, abs(link.front[-1].s)) == (0.0, 1.0)


def test_rounded_right_angle_of_a_file_is_left_as_it_is():
    angle = 1.57079632679  # as files write it
    builder = pp.ModelBuilder("elbow")
    builder.add_body("a", joint=joints.Revolute((0, 0, 1)), mass=1.0)
    bent = spatial.rotation_from_rpy((angle, 0.0, 0.0))
    builder.add_body("b", "a", joints.Revolute((0, 0, 1)), rotation=bent, mass=1.0)
    screw = private_frames(builder.build(), True)[1].front[-1]
    assert screw.c == pytest.approx(math.cos(angle), rel=1e-4)
    assert screw.c != 0.0


# -- conditioning ----------------------------------------------------------------------


def bent_chain(angle, n=12):
    """Links of half a metre whose axes differ by a small angle, turned anyhow about them."""
    rng = np.random.default_rng(7)
    builder = pp.ModelBuilder(f"chain bent by {angle}")
    for k in range(n):
        tilt = spatial.rotation((1.0, 0.0, 0.0), angle)
        rotation = spatial.compose(spatial.rotation((0.0, 0.0, 1.0), rng.uniform(-3, 3)), tilt)
        direction = rng.normal(size=3)
        builder.add_body(
            f"body{k}",
            "world" if k == 0 else f"body{k - 1}",
            joints.Revolute((0.0, 0.0, 1.0)),
            position=0.5 * direction / np.linalg.norm(direction),
            rotation=rotation,
            **random_inertia(rng),
        )
    return builder.build()


ANGLES = [1.0, 0.1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-14, 0.0, math.pi - 1e-7, math.pi]


@pytest.mark.parametrize("angle", ANGLES)
def test_no_origin_slides_far_however_parallel_the_axes(angle):
    model = bent_chain(angle)
    for link in private_frames(model, True):
        assert math.hypot(*link.frame.position) <= REACH * 0.5 * (1 + 1e-12)
        for factor in link.factors(link.transform([0.1])):
            assert math.hypot(*factor.position()) <= 2 * (REACH + 1) * 0.5


@pytest.mark.parametrize("angle", ANGLES)
@both_ways
def test_inertia_carried_through_private_frames_loses_no_digits(angle, shifted):
    """The composite inertia at the base of a chain, against the one in link frames."""
    model = bent_chain(angle)
    q = model.random(np.random.default_rng(0))
    links = private_frames(model, shifted)
    W = np.zeros((6, 6))
    for link, x in zip(reversed(links[1:]), reversed(q[1:].tolist()), strict=True):
        W = transforms.congruence(link.factors(link.transform([x])), W + link.inertia.matrix)
        W = matrix(W)
    X = to_link(links, 0)
    seen = X @ (W + links[0].inertia.matrix) @ X.T
    expected = pp.as_matrix(model, R, q)[:6, :6]
    np.testing.assert_allclose(seen, expected, rtol=0, atol=2e-14 * np.abs(expected).max())


def test_nearly_parallel_axes_take_a_translation_instead():
    assert [factor_names(link)[0] for link in private_frames(bent_chain(1e-6), True)[1:]] == [
        "Shift"
    ] * 11
    assert [factor_names(link)[0] for link in private_frames(bent_chain(1.0), True)[1:]] == [
        "XScrew"
    ] * 11


def test_exactly_parallel_axes_need_no_slide():
    for angle, c in ((0.0, 1.0), (math.pi, -1.0)):
        for link in private_frames(bent_chain(angle), True)[1:]:
            assert link.frame.position == (0.0, 0.0, 0.0)
            (screw,) = link.front
            assert (screw.c, screw.s) == (c, 0.0)
            assert type(screw) is XScrew


def coaxial(n, kind):
    builder = pp.ModelBuilder("telescope")
    for k in range(n):
        parent = "world" if k == 0 else f"body{k - 1}"
        builder.add_body(f"body{k}", parent, kind, position=(0.0, 0.0, 1.0), mass=1.0)
    return builder.build()


@pytest.mark.parametrize("kind", [joints.Revolute(Z := (0, 0, 1)), joints.Prismatic(Z)])
def test_coaxial_joints_keep_their_origins_apart(kind):
    links = private_frames(coaxial(50, kind), True)
    assert all(link.is_link_frame and link.d == 1.0 for link in links)


# -- size ------------------------------------------------------------------------------


@both_ways
def test_ten_thousand_bodies_share_a_few_variants(shifted):
    links = private_frames(pp.chain(10_000), shifted)
    assert len(links) == 10_000
    assert len({link.variant for link in links}) <= 3
    assert all(isinstance(factor, Factor) for link in links for factor in link.front)


def test_factors_of_a_root_start_from_the_world_frame():
    """A revolute root anywhere: place it, turn its axis, turn about it."""
    link = private_frames(MARKET["serial_revolute"](), False)[0]
    shift, _, _, turn = link.factors(link.transform([0.0]))
    placement = MARKET["serial_revolute"]().joints[0].placement
    assert type(shift) is Shift
    np.testing.assert_allclose(shift.l, placement.position, atol=1e-15)
    assert type(turn) is ZScrew
    assert blocks.is_zero(turn.d)
