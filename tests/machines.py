"""The market: machines that every test is parametrised over.

`MARKET` has the named ones, each a function without arguments; `machines(...)`
is the hypothesis strategy for random ones, `states(model)` for their q and v.
All are well-conditioned on purpose: solid ellipsoids of 0.1 to 10 kg, lengths
of about a metre, Euler angles away from gimbal lock.
"""

import functools
import itertools
import json
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import phipsi as pp
from phipsi import joints
from phipsi.scalars import arctan, cos, exp, less, sin, sqrt, where

REFERENCES = Path(__file__).parent / "references"


# -- joint kinds -----------------------------------------------------------------------


def random_axis(rng):
    """A unit vector, uniform on the sphere."""
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def random_rotation(rng):
    """A rotation matrix, uniform on SO(3)."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def cam(q):
    """A custom pose: turns about z while its origin runs on a circle about the joint."""
    c, s = cos(q[0]), sin(q[0])
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.2 * c, 0.2 * s, 0.1 * q[0]]


def rocker(q):
    """A custom pose of two coordinates that uses every function a scalar has."""
    a, b = q
    ca, sa, cb, sb = cos(a), sin(a), cos(b), sin(b)
    R = [[ca, -sa * cb, sa * sb], [sa, ca * cb, -ca * sb], [0.0, sb, cb]]
    bump = where(less(a, 0.0), a * a * a, exp(0.3 * a) - 1.0)
    return R, [0.3 * sqrt(1.0 + b * b), 0.2 * bump, 0.1 * arctan(a - b)]


def revolute(rng):
    return joints.Revolute(random_axis(rng))


def continuous(rng):
    return joints.Continuous(random_axis(rng))


def prismatic(rng):
    return joints.Prismatic(random_axis(rng))


def helical(rng):
    return joints.Helical(random_axis(rng), pitch=rng.uniform(-0.5, 0.5))


def cylindrical(rng):
    return joints.Cylindrical(random_axis(rng))


def universal(rng):
    first, second = random_axis(rng), random_axis(rng)
    while abs(first @ second) > 0.8:
        second = random_axis(rng)
    return joints.Universal(first, second)


def planar(rng):
    return joints.Planar(random_axis(rng))


def spherical(rng):
    return joints.Spherical()


EULER_SEQUENCES = [a + b + c for a, b, c in itertools.product("xyz", repeat=3) if a != b and b != c]


def spherical_euler(rng):
    return joints.SphericalEuler(str(rng.choice(EULER_SEQUENCES)))


def free(rng):
    return joints.Free()


def custom(rng):
    return joints.Custom(cam, 1) if rng.random() < 0.5 else joints.Custom(rocker, 2)


ONE_DOF_KINDS = [revolute, continuous, prismatic, helical]
ALL_KINDS = [
    *ONE_DOF_KINDS,
    *(cylindrical, universal, planar, spherical, spherical_euler, free, custom),
]
CONSTANT_MAP_KINDS = [
    kind for kind in ALL_KINDS if kind not in (universal, spherical_euler, custom)
]


# -- random machines -------------------------------------------------------------------


def random_inertia(rng):
    """Mass properties of a solid ellipsoid, turned and shifted, as `add_body` takes them."""
    mass = float(rng.uniform(0.1, 10.0))
    squares = rng.uniform(0.2, 0.6, 3) ** 2
    R = random_rotation(rng)
    inertia = R @ np.diag(mass / 5.0 * (squares.sum() - squares)) @ R.T
    return {"mass": mass, "com": rng.uniform(-0.5, 0.5, 3), "inertia": (inertia + inertia.T) / 2}


def random_placement(rng):
    """A joint frame about a metre away, turned anyhow."""
    return {
        "position": rng.uniform(0.3, 1.0) * random_axis(rng),
        "rotation": random_rotation(rng),
    }


SHAPES = {
    "chain": lambda k, rng: k - 1,
    "tree": lambda k, rng: int(rng.integers(0, k)) if k else -1,
    "star": lambda k, rng: 0 if k else -1,
    "forest": lambda k, rng: int(rng.integers(0, k)) if k and rng.random() < 0.7 else -1,
}


def random_machine(
    seed, n, kinds=ALL_KINDS, shape="tree", base="fixed", rotors=False, mimics=False
):
    """A machine of n random bodies, the same for the same arguments.

    Args:
        kinds: factories of joint kinds, drawn from for each body.
        shape: of `SHAPES`. base: "free" hangs every root on a free joint.
        rotors: "reflected" gives about half of the one-dof joints a rotor
            inertia, "bodies" a rotor as a body of its own on the parent
            (these come on top of n), True draws one or the other.
        mimics: whether some one-dof joints follow others.
    """
    rng = np.random.default_rng(seed)
    drawn = ", ".join(kind.__name__ for kind in kinds)
    name = f"random_machine({seed}, {n}, [{drawn}], {shape!r}, {base!r}, {rotors!r}, {mimics!r})"
    builder = pp.ModelBuilder(name, gravity=rng.uniform(-10.0, 10.0, 3))
    parents = [SHAPES[shape](k, rng) for k in range(n)]
    leaders = []
    for k, parent in enumerate(parents):
        kind = kinds[rng.integers(len(kinds))](rng)
        if parent == -1 and base == "free":
            kind = joints.Free()
        parent_name = "world" if parent == -1 else f"body{parent}"
        one_dof = (kind.nq, kind.nv) == (1, 1)
        motor, mimic, rotor = {}, None, False
        if one_dof and mimics and leaders and rng.random() < 0.3:
            source = leaders[rng.integers(len(leaders))]
            mimic = (source, float(rng.uniform(-2.0, 2.0)), float(rng.uniform(-1.0, 1.0)))
        elif one_dof:
            leaders.append(f"body{k}_joint")
        if one_dof and rotors and rng.random() < 0.5:
            rotor = rotors == "bodies" or (rotors is True and rng.random() < 0.5)
            if not rotor:
                motor = {"rotor_inertia": rng.uniform(0.0, 0.1), "gear_ratio": rng.uniform(-5, 5)}
        builder.add_body(
            f"body{k}",
            parent_name,
            kind,
            mimic=mimic,
            **random_placement(rng),
            **random_inertia(rng),
            **motor,
        )
        if rotor:
            add_random_rotor(builder, f"rotor{k}", f"body{k}_joint", parent_name, rng)
    return builder.build()


def add_random_rotor(builder, name, joint, on, rng):
    """The motor of a joint as a flywheel of its own."""
    axis = random_axis(rng)
    across, along = 0.002, 0.004
    builder.add_rotor(
        name,
        joint,
        on,
        axis=axis,
        gear_ratio=rng.uniform(2.0, 8.0) * rng.choice([-1.0, 1.0]),
        position=rng.uniform(-0.3, 0.3, 3),
        mass=0.5,
        inertia=across * np.eye(3) + (along - across) * np.outer(axis, axis),
    )


@st.composite
def machines(
    draw,
    kinds=ALL_KINDS,
    min_bodies=1,
    max_bodies=40,
    shapes=tuple(SHAPES),
    base=("fixed", "free"),
    rotors=(False, "reflected"),
    mimics=(False,),
):
    """Random machines of any tree shape; the options are those `random_machine` draws from.

    An option is one value or a tuple of them. The name of the model is the
    call that makes it again.
    """

    def choose(options):
        return draw(st.sampled_from(options)) if isinstance(options, tuple) else options

    return random_machine(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(min_bodies, max_bodies)),
        list(kinds),
        choose(shapes),
        choose(base),
        choose(rotors),
        choose(mimics),
    )


def random_state(model, rng):
    """q and v; Euler angles are kept away from gimbal lock."""
    q = model.random(rng)
    for joint in model.leaders:
        if isinstance(joint.kind, joints.SphericalEuler):
            first, _, third = joint.kind.sequence
            middle = np.pi / 2 if first == third else 0.0
            q[joint.q.start + 1] = middle + rng.uniform(-1.0, 1.0)
    return q, rng.uniform(-1.0, 1.0, model.nv)


def states(model):
    """Strategy for (q, v) of a model."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_state(model, np.random.default_rng(seed)))


@st.composite
def machines_with_states(draw, **options):
    """Strategy for (model, q, v); the options are those of `machines`."""
    model = draw(machines(**options))
    return model, *draw(states(model))


# -- named machines --------------------------------------------------------------------


def serial_revolute():
    return random_machine(1, 7, [revolute], "chain")


def serial_revolute_prismatic():
    return random_machine(2, 8, [revolute, prismatic], "chain")


def serial_constant_maps():
    """Several speeds a joint, each H* constant in its own axes."""
    return random_machine(3, 7, [spherical, cylindrical, planar], "chain")


def serial_multidof():
    return random_machine(20, 7, [universal, spherical, cylindrical, planar], "chain")


def tree_one_dof():
    return random_machine(4, 12, ONE_DOF_KINDS, "tree")


def tree_of_every_kind():
    """One limb per kind, each of two bodies of that kind in series, on a revolute torso."""
    rng = np.random.default_rng(5)
    builder = pp.ModelBuilder("tree of every kind", gravity=(1.0, -2.0, -9.0))
    torso = joints.Revolute((0.0, 0.6, 0.8))
    builder.add_body("torso", joint=torso, **random_placement(rng), **random_inertia(rng))
    kinds = [(kind.__name__, kind) for kind in ALL_KINDS if kind is not custom]
    kinds += [("cam", lambda rng: joints.Custom(cam, 1))]
    kinds += [("rocker", lambda rng: joints.Custom(rocker, 2))]
    for name, kind in kinds:
        for parent, body in (("torso", f"{name} 1"), (f"{name} 1", f"{name} 2")):
            builder.add_body(
                body, parent, kind(rng), **random_placement(rng), **random_inertia(rng)
            )
    return builder.build()


def forest():
    return random_machine(6, 11, [revolute, prismatic, spherical], "forest")


def free_base_tree():
    return random_machine(7, 10, ONE_DOF_KINDS, "tree", base="free")


def star_of_free_bodies():
    return random_machine(8, 5, [free], "star", base="free")


def massless_intermediates():
    """Wrists of massless bodies: three joints through one point, then a body with mass."""
    rng = np.random.default_rng(9)
    builder = pp.ModelBuilder("massless intermediates")
    parent = "world"
    for wrist in range(2):
        place = random_placement(rng)
        for axis in "zyx":
            name = f"{axis}{wrist}"
            kind = joints.Revolute({"x": joints.X, "y": joints.Y, "z": joints.Z}[axis])
            mass = random_inertia(rng) if axis == "x" else {}
            builder.add_body(name, parent, kind, **place, **mass)
            parent, place = name, {}
    return builder.build()


def reflected_rotors():
    return random_machine(10, 9, [revolute, prismatic], "tree", rotors="reflected")


def rotor_bodies():
    return random_machine(11, 6, [revolute, helical], "tree", rotors="bodies")


def mimics():
    return random_machine(12, 10, [revolute, prismatic, spherical], "tree", mimics=True)


def welded():
    """Fixed joints in the middle, at the tip and on the world; a frame on a welded body."""
    rng = np.random.default_rng(13)
    builder = pp.ModelBuilder("welded")
    for name, parent, kind in (
        ("stand", "world", joints.Fixed()),
        ("arm", "stand", revolute(rng)),
        ("bracket", "arm", joints.Fixed()),
        ("plate", "bracket", joints.Fixed()),
        ("hand", "plate", spherical(rng)),
        ("tool", "hand", joints.Fixed()),
    ):
        builder.add_body(name, parent, kind, **random_placement(rng), **random_inertia(rng))
    builder.add_frame("tip", "tool", **random_placement(rng))
    return builder.build()


def one_body():
    return random_machine(14, 1, [spherical_euler])


# The small cases of RBDL's own tests: unit masses, unit inertias, gravity along -y.


def small_cases():
    """The published numbers, from references/small_cases.json."""
    return json.loads((REFERENCES / "small_cases.json").read_text())


def _rbdl(name, *bodies):
    """Bodies as (name, parent, axis, position of the joint, com)."""
    builder = pp.ModelBuilder(f"rbdl {name}", gravity=(0.0, -9.81, 0.0))
    for body, parent, axis, position, com in bodies:
        mass = {"mass": 1.0, "com": com, "inertia": np.eye(3)} if com is not None else {}
        builder.add_body(body, parent, joints.Revolute(axis), position=position, **mass)
    return builder.build()


O, X, Y, Z = (0.0, 0.0, 0.0), joints.X, joints.Y, joints.Z


def rbdl_double_chain():
    return _rbdl("double chain", ("a", "world", Z, O, X), ("b", "a", Z, X, X))


def rbdl_triple_chain():
    bodies = ("a", "world", Z, O, X), ("b", "a", Z, X, X), ("c", "b", Z, X, X)
    return _rbdl("triple chain", *bodies)


def rbdl_double_chain_3d():
    return _rbdl("double chain 3D", ("a", "world", Z, O, X), ("b", "a", Y, X, Y))


def rbdl_tree_3d():
    return _rbdl(
        "tree 3D",
        ("a", "world", Z, O, X),
        ("b1", "a", Y, X, Y),
        ("c1", "b1", joints.X, Y, Z),
        ("b2", "a", Y, (-0.5, 0.0, 0.0), Y),
        ("c2", "b2", joints.X, (0.0, -0.5, 0.0), Z),
    )


def rbdl_zyx():
    """One body behind three joints with massless bodies between; q = [1, 0, 0]."""
    return _rbdl(
        "zyx",
        ("z", "world", Z, O, None),
        ("y", "z", Y, O, None),
        ("x", "y", joints.X, O, (0.0, 0.5, 0.0)),
    )


def rbdl_cases():
    """(model, q, qdd) at rest without torques, as published."""
    rbdl = small_cases()["rbdl"]
    return {
        "double_chain": (rbdl_double_chain(), [0.0] * 2, rbdl["double_chain"]["qdd"]),
        "triple_chain": (rbdl_triple_chain(), [0.0] * 3, rbdl["triple_chain"]),
        "double_chain_3D": (rbdl_double_chain_3d(), [0.0] * 2, rbdl["double_chain_3D"]["qdd"]),
        "tree_3D": (rbdl_tree_3d(), [0.0] * 5, rbdl["tree_3D"]["qdd"]),
        "zyx": (rbdl_zyx(), [1.0, 0.0, 0.0], rbdl["zyx_3dof_featherstone_spatial_v1"]["qdd"]),
    }


MARKET = {
    make.__name__: functools.cache(make)
    for make in (
        one_body,
        serial_revolute,
        serial_revolute_prismatic,
        serial_constant_maps,
        serial_multidof,
        tree_one_dof,
        tree_of_every_kind,
        forest,
        free_base_tree,
        star_of_free_bodies,
        massless_intermediates,
        reflected_rotors,
        rotor_bodies,
        mimics,
        welded,
        rbdl_double_chain,
        rbdl_triple_chain,
        rbdl_double_chain_3d,
        rbdl_tree_3d,
        rbdl_zyx,
        pp.examples.puma560,
        pp.examples.planar_arm,
        pp.examples.branching_tree,
        pp.examples.spacecraft,
    )
}
