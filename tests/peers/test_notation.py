"""The Pinocchio column of docs/notation.md: each name there holds the numbers of our letter."""

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge

import phipsi as pp
from phipsi import joints
from phipsi.operators import (
    B,
    C,
    D,
    E,
    E_phi,
    G,
    H,
    H_dot,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    S,
    U,
    V,
    X,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    c,
    cross,
    f,
    gravity,
    phi,
    pose,
    tau_bar,
)
from phipsi.operators import T as T_

SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]
TOLERANCE = 1e-12


def branching_arm() -> pp.Model:
    """Joints of one, two and three speeds on a tree, with rotors; link frames as in Pinocchio."""
    builder = pp.ModelBuilder("branching arm")
    for name, parent, kind, position, motor in (
        ("a", "world", joints.Revolute((0, 0, 1)), (0, 0.1, 0.2), 1e-3),
        ("b", "a", joints.Universal((1, 0, 0), (0, 1, 0)), (0.5, 0, 0.1), 0.0),
        ("c", "b", joints.Prismatic((1, 1, 0)), (0.2, 0.1, 0.1), 2e-3),
        ("d", "a", joints.Spherical(), (-0.2, 0.1, 0.1), 0.0),
        ("e", "d", joints.Revolute((0, 1, 2)), (0.2, 0.3, 0.1), 0.0),
    ):
        builder.add_body(
            name,
            parent,
            kind,
            position=position,
            mass=1.5,
            com=(0.1, 0.2, 0.3),
            inertia=(0.3, 0.35, 0.4),
            rotor_inertia=motor,
            gear_ratio=30.0,
        )
    return builder.build()


class Pair:
    """One machine at one state, here and in Pinocchio."""

    def __init__(self):
        rng = np.random.default_rng(1)
        self.ours = branching_arm()
        bridge = pinocchio_bridge.from_model(self.ours)
        self.model, self.data = bridge.model, bridge.model.createData()
        self.q, self.q_pin = (q := self.ours.random(rng)), bridge.q_to_pin(q)
        self.v, self.acceleration = rng.normal(size=(2, self.ours.nv))
        self.tip = pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.3]))
        self.points = [pp.point("e", (0.1, 0.2, 0.3))]

    def value(self, expression, **options):
        return pp.as_matrix(self.ours, expression, self.q, self.v, **options)

    def vector(self, expression, **options):
        """A body vector, one row per body."""
        return self.value(expression, **options).reshape(-1, 6)

    def blocks(self, expression, rows, columns):
        """The diagonal blocks (k, k) between body (6) or joint spaces."""
        matrix = self.value(expression)
        slices = {
            "body": [slice(6 * k, 6 * k + 6) for k in range(len(self.ours.bodies))],
            "joint": [joint.rows for joint in self.ours.joints],
        }
        pairs = zip(slices[rows], slices[columns], strict=True)
        return [matrix[row, column] for row, column in pairs]

    def steps(self, expression):
        """Block (p(k), k) of every body with a parent."""
        matrix = self.value(expression)
        numbered = enumerate(self.ours.tree.parent)
        return [matrix[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] for k, p in numbered if p >= 0]

    @property
    def numbers(self):
        """Pinocchio's joint of each of our bodies, by name."""
        return [self.model.getJointId(joint.name) for joint in self.ours.joints]

    @property
    def inner(self):
        """The same, without the root."""
        return self.numbers[1:]


def joint_maps(x):
    pin.forwardKinematics(x.model, x.data, x.q_pin)
    theirs = [SWAP @ x.data.joints[i].S.reshape(6, -1) for i in x.numbers]
    return theirs, x.blocks(H.T, "body", "joint")


def steps_of_forces(x):
    pin.forwardKinematics(x.model, x.data, x.q_pin)
    theirs = [SWAP @ x.data.liMi[i].toDualActionMatrix() @ SWAP for i in x.inner]
    return theirs, x.steps(E_phi)


def steps_of_motions(x):
    pin.forwardKinematics(x.model, x.data, x.q_pin)
    theirs = [SWAP @ x.data.liMi[i].toActionMatrixInverse() @ SWAP for i in x.inner]
    return theirs, [block.T for block in x.steps(E_phi)]


def inertias(x):
    theirs = [SWAP @ x.model.inertias[i].matrix() @ SWAP for i in x.numbers]
    return theirs, x.blocks(M, "body", "body")


def armature(x):
    return [x.model.armature], [np.diag(x.value(Jm))]


def composite_inertias(x):
    pin.crba(x.model, x.data, x.q_pin)
    theirs = [SWAP @ x.data.Ycrb[i].matrix() @ SWAP for i in x.numbers]
    return theirs, x.blocks(R, "body", "body")


def mass_matrix(x):
    return [pin.crba(x.model, x.data, x.q_pin)], [x.value(Mass)]


def articulated_inertias(x):
    """P at the root, tau_bar P elsewhere."""
    pin.aba(x.model, x.data, x.q_pin, x.v, x.acceleration)
    theirs = [SWAP @ x.data.Yaba[i] @ SWAP for i in x.numbers]
    return theirs, [x.value(P)[:6, :6], *x.blocks(tau_bar @ P, "body", "body")[1:]]


def articulated_joints(x):
    """U, Dinv and UDinv are P H*, D^-1 and G."""
    pin.aba(x.model, x.data, x.q_pin, x.v, x.acceleration)
    data = [x.data.joints[i] for i in x.numbers]
    theirs = [SWAP @ one.U.reshape(6, -1) for one in data]
    theirs += [np.atleast_2d(one.Dinv) for one in data]
    theirs += [SWAP @ one.UDinv.reshape(6, -1) for one in data]
    ours = x.blocks(P @ H.T, "body", "joint") + x.blocks(D.inv, "joint", "joint")
    return theirs, ours + x.blocks(G, "body", "joint")


def inverse_mass_matrix(x):
    upper = pin.computeMinverse(x.model, x.data, x.q_pin)
    return [np.triu(upper)], [np.triu(x.value(Mass.inv))]


def jacobians(x):
    """LOCAL in link axes, LOCAL_WORLD_ALIGNED in world axes; of a body by getJointJacobian."""
    number = x.numbers[-1]
    tip = pin.Frame("tip", number, 0, x.tip, pin.FrameType.OP_FRAME)
    frame = x.model.addFrame(tip)
    data = x.model.createData()
    pin.computeJointJacobians(x.model, data, x.q_pin)
    pin.updateFramePlacements(x.model, data)
    theirs = [
        pin.getFrameJacobian(x.model, data, frame, pin.LOCAL),
        pin.getFrameJacobian(x.model, data, frame, pin.LOCAL_WORLD_ALIGNED),
        pin.getJointJacobian(x.model, data, number, pin.LOCAL),
    ]
    ours = [
        x.value(J, points=x.points),
        x.value(J, points=x.points, axes="world"),
        x.value(phi.T @ H.T)[-6:],
    ]
    theirs.append(theirs[1])
    ours.append(x.value(X @ J, points=x.points))
    return [SWAP @ jacobian for jacobian in theirs], ours


def bias_acceleration_of_points(x):
    tip = pin.Frame("tip", x.numbers[-1], 0, x.tip, pin.FrameType.OP_FRAME)
    frame = x.model.addFrame(tip)
    data = x.model.createData()
    pin.forwardKinematics(x.model, data, x.q_pin, x.v, np.zeros(x.model.nv))
    axes = pin.LOCAL_WORLD_ALIGNED
    theirs = SWAP @ pin.getFrameClassicalAcceleration(x.model, data, frame, axes).vector
    bias = X @ (B.T @ phi.T @ a + c)
    ours = [x.value(bias, points=x.points, axes=axes) for axes in ("link", "world")]
    return [theirs, theirs], ours


def poses(x):
    pin.forwardKinematics(x.model, x.data, x.q_pin)
    theirs = [x.data.oMi[i].homogeneous for i in x.numbers]
    return theirs, list(x.value(pose).reshape(-1, 4, 4))


def potential_energy(x):
    theirs = pin.computePotentialEnergy(x.model, x.data, x.q_pin)
    return [np.array(theirs)], [x.value(U)]


def delassus_matrix(x):
    contact = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, x.model, x.numbers[-1], x.tip, pin.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(contact)
    datas.append(contact.createData())
    pin.initConstraintDynamics(x.model, x.data, models, datas)
    theirs = pin.computeDelassusMatrix(x.model, x.data, x.q_pin, models, datas, 0.0)
    return [SWAP @ theirs @ SWAP], [x.value(B.T @ Omega @ B, points=x.points)]


def cross_products(x):
    motions = [pin.Motion(SWAP @ velocity) for velocity in x.vector(V)]
    theirs = [SWAP @ motion.action @ SWAP for motion in motions]
    theirs += [SWAP @ motion.dualAction @ SWAP for motion in motions]
    return theirs, x.blocks(cross[V], "body", "body") + x.blocks(S[V], "body", "body")


def newton_euler(x):
    """v, h, a_gf and f of rnea are V, M V, alpha and f; tau is Mass beta_dot + C."""
    data = x.data
    tau = pin.rnea(x.model, data, x.q_pin, x.v, x.acceleration)
    theirs = [SWAP @ part[i].vector for part in (data.v, data.h) for i in x.numbers]
    theirs += [SWAP @ part[i].vector for part in (data.a_gf, data.f) for i in x.numbers]
    given = {"beta_dot": x.acceleration}
    ours = [*x.vector(V), *x.vector(M @ V), *x.vector(alpha, **given), *x.vector(f, **given)]
    return [*theirs, tau], [*ours, x.value(Mass @ beta_dot + C, **given)]


def accelerations_without_gravity(x):
    """data.a in link axes, the classical acceleration in world axes."""
    pin.forwardKinematics(x.model, x.data, x.q_pin, x.v, x.acceleration)
    theirs = [SWAP @ x.data.a[i].vector for i in x.numbers]
    frame = pin.LOCAL_WORLD_ALIGNED
    theirs += [
        SWAP @ pin.getClassicalAcceleration(x.model, x.data, i, frame).vector for i in x.numbers
    ]
    rest = alpha - phi.T @ E @ gravity
    given = {"beta_dot": x.acceleration}
    return theirs, [*x.vector(rest, **given), *x.vector(rest, axes="world", **given)]


def biases_of_bodies(x):
    """c + v x v_J, c alone, and v x* h."""
    pin.rnea(x.model, x.data, x.q_pin, x.v, x.acceleration)
    theirs = []
    for i in x.numbers:
        joint = x.data.joints[i]
        own, bias = (pin.Motion(np.asarray(part)) for part in (joint.v, joint.c))
        theirs.append(SWAP @ (bias + x.data.v[i].cross(own)).vector)
    theirs += [SWAP @ np.asarray(x.data.joints[i].c) for i in x.numbers]
    theirs += [SWAP @ x.data.v[i].cross(x.data.h[i]).vector for i in x.numbers]
    return theirs, [*x.vector(a), *x.vector(H_dot.T @ beta), *x.vector(b)]


def biases_of_joints(x):
    theirs = [
        pin.nonLinearEffects(x.model, x.data, x.q_pin, x.v).copy(),
        pin.computeGeneralizedGravity(x.model, x.data, x.q_pin).copy(),
    ]
    weight = H @ phi @ M @ phi.T @ E @ gravity
    return theirs, [x.value(C), x.value(weight)]


def accelerations_by_articulated_bodies(x):
    theirs = pin.aba(x.model, x.data, x.q_pin, x.v, x.acceleration)
    return [theirs], [x.value(Mass.inv @ (T_ - C), T=x.acceleration)]


ROWS = [
    joint_maps,
    steps_of_forces,
    steps_of_motions,
    inertias,
    armature,
    composite_inertias,
    mass_matrix,
    articulated_inertias,
    articulated_joints,
    inverse_mass_matrix,
    jacobians,
    bias_acceleration_of_points,
    poses,
    potential_energy,
    delassus_matrix,
    cross_products,
    newton_euler,
    accelerations_without_gravity,
    biases_of_bodies,
    biases_of_joints,
    accelerations_by_articulated_bodies,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_pinocchio_calls_it_as_the_symbol_table_says(row):
    """On a tree with joints of one, two and three speeds, and rotors; 1e-12 relative."""
    theirs, ours = row(Pair())
    assert len(theirs) == len(ours)
    for left, right in zip(theirs, ours, strict=True):
        assert left.shape == right.shape
        assert np.abs(left - right).max() <= TOLERANCE * max(1.0, np.abs(right).max())


def test_pinocchio_cholesky_is_the_innovations_factorization_for_joints_of_one_speed():
    """M = U D U* there, (I + H phi K) D (I + H phi K)* here; both unit upper triangular."""
    machine = pp.chain(5)
    bridge = pinocchio_bridge.from_model(machine)
    data, q = bridge.model.createData(), machine.random(np.random.default_rng(2))
    pin.crba(bridge.model, data, bridge.q_to_pin(q))
    pin.cholesky.decompose(bridge.model, data)
    assert np.allclose(data.U, pp.as_matrix(machine, I + H @ phi @ K, q), rtol=0, atol=TOLERANCE)
    assert np.allclose(data.D, np.diag(pp.as_matrix(machine, D, q)), rtol=TOLERANCE)
