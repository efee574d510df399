"""Pinocchio models beside ours, and how the coordinates of one become those of the other.

`from_urdf` takes the model Pinocchio reads from the same file, joints matched by
name; `from_model` builds one from our parameters. Both give a `PinMachine`, whose
results are in our coordinates: with `v_pin = S v`, `Mass = S* Mass_pin S`.

What differs, as met in Pinocchio 4.1:
    free        q = [position, quaternion], v = [linear; angular]; ours the other way round
    planar      q = [x, y, cos, sin], v = [vx, vy, omega]; always across z: the axis of a URDF
                file is ignored
    continuous  q = [cos, sin]
    motors      only `armature` enters crba, rnea and aba; rotorInertia and rotorGearRatio do not
    mimic       independent joints unless buildModelFromUrdf(..., mimic=True); here S couples them.
                mimic=True refuses files whose leader comes after its follower (Talos, Romeo)
    crba        wrong unless joints were added depth-first; we add them so
    mass        computeTotalMass leaves out the links welded to the world
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

import numpy as np
import pinocchio as pin

from phipsi import joints
from phipsi.model.configuration import joint_coordinates
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD

Convert = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Match:
    """One of our joints in Pinocchio: its number there, q by a function, v by a matrix."""

    joint: Joint
    number: int
    q: Convert
    v: np.ndarray


@dataclass(frozen=True)
class PinMachine:
    """A Pinocchio model that answers in our coordinates, one state at a time."""

    machine: Model
    model: pin.Model
    matches: tuple[
        Match, ...
    ]  # one per joint of ours; without mimics if Pinocchio couples them itself

    @property
    def S(self) -> np.ndarray:
        """v_pin = S v: the joints' blocks, a mimic's times its ratio."""
        S = np.zeros((self.model.nv, self.machine.nv))
        for match in self.matches:
            ratio = 1.0 if match.joint.mimic is None else match.joint.mimic.ratio
            start = self.model.idx_vs[match.number]
            S[start : start + len(match.v), match.joint.v] = ratio * match.v
        return S

    def q_to_pin(self, q: np.ndarray) -> np.ndarray:
        """Our configuration as Pinocchio's."""
        result = pin.neutral(self.model)
        for match in self.matches:
            own = match.q(np.array(joint_coordinates(match.joint, np.asarray(q))))
            start = self.model.idx_qs[match.number]
            result[start : start + len(own)] = own
        return result

    def v_to_pin(self, v: np.ndarray) -> np.ndarray:
        """Our speeds, or their rates, as Pinocchio's."""
        return self.S @ v

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.S.T @ pin.crba(self.model, self._data, self.q_to_pin(q)) @ self.S

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        args = self.q_to_pin(q), self.v_to_pin(v)
        return self.S.T @ pin.nonLinearEffects(self.model, self._data, *args)

    def gravity(self, q: np.ndarray) -> np.ndarray:
        return self.S.T @ pin.computeGeneralizedGravity(self.model, self._data, self.q_to_pin(q))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        args = self.q_to_pin(q), self.v_to_pin(v), self.v_to_pin(vdot)
        return self.S.T @ pin.rnea(self.model, self._data, *args)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """By the articulated bodies; with mimic joints from the projected mass matrix."""
        S = self.S
        if S.shape[0] != S.shape[1]:
            return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))
        args = self.q_to_pin(q), self.v_to_pin(v), np.linalg.solve(S.T, tau)
        return np.linalg.solve(S, pin.aba(self.model, self._data, *args))

    def frame_poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Every body frame of Pinocchio's model by name, 4 x 4 in the world."""
        data = self._data
        pin.framesForwardKinematics(self.model, data, self.q_to_pin(q))
        frames = zip(self.model.frames, data.oMf, strict=True)
        return {f.name: M.homogeneous.copy() for f, M in frames if f.type == pin.FrameType.BODY}

    @property
    def _data(self) -> pin.Data:
        return self.model.createData()


# -- from a file -----------------------------------------------------------------------


def from_urdf(
    machine: Model, path: str | Path, base: str = "fixed", mimic: bool = False
) -> PinMachine:
    """The model Pinocchio reads from a file, matched with ours by the joints' names.

    With mimic=True Pinocchio couples the mimic joints itself; it has no forward
    dynamics then, and refuses a mimic whose leader comes later in its tree.
    """
    root = [pin.JointModelFreeFlyer(), "root"] if base == "free" else []
    model = pin.buildModelFromUrdf(str(path), *root, mimic=mimic)
    assert {joint.name for joint in machine.joints} == set(model.names) - {"universe"}
    matches = []
    for joint in machine.joints:
        if mimic and joint.mimic is not None:
            continue
        number = model.getJointId(joint.name)
        q, v = convert(joint.kind)
        if isinstance(joint.kind, joints.Revolute) and model.joints[number].nq == 2:
            q = cos_sin
        matches.append(Match(joint, number, q, v))
    return PinMachine(machine, model, tuple(matches))


def cos_sin(q: np.ndarray) -> np.ndarray:
    """An angle as Pinocchio's unbounded joints take it."""
    return np.array([np.cos(q[0]), np.sin(q[0])])


# -- from parameters -------------------------------------------------------------------


def from_model(machine: Model, custom: Mapping[str, pin.JointModel] | None = None) -> PinMachine:
    """A Pinocchio model with the parameters of ours.

    Args:
        machine: any machine; its order is depth-first.
        custom: for each `joints.Custom` joint, by name, a Pinocchio joint that
            moves alike in the same coordinates.
    """
    model = pin.Model()
    model.name = machine.name
    model.gravity = pin.Motion(np.array(machine.gravity), np.zeros(3))
    numbers, seats, matches = [], [], []
    for body, joint in zip(machine.bodies, machine.joints, strict=True):
        if isinstance(joint.kind, joints.Custom):
            kind = (custom or {})[joint.name]
        else:
            kind = pin_joint(joint.kind)
        tilt = pin.SE3(pin_axes(joint.kind), np.zeros(3))  # Pinocchio's child frame in ours
        parent = 0 if body.parent == WORLD else numbers[body.parent]
        carrier = pin.SE3.Identity() if body.parent == WORLD else seats[body.parent]
        placement = carrier * pin.SE3(joint.placement.matrix) * tilt
        number = model.addJoint(parent, kind, placement, joint.name)
        seat = tilt.inverse()
        model.appendBodyToJoint(number, pin_inertia(body.inertia), seat)
        model.addBodyFrame(body.name, number, seat, 0)
        numbers.append(number)
        seats.append(seat)
        matches.append(Match(joint, number, *convert(joint.kind)))
    model.armature = armature(machine, model, numbers)
    return PinMachine(machine, model, tuple(matches))


def pin_inertia(inertia) -> pin.Inertia:
    """Mass, mass centre, rotational inertia: the same three."""
    return pin.Inertia(inertia.mass, np.array(inertia.com), np.array(inertia.rotational))


def armature(machine: Model, model: pin.Model, numbers: list[int]) -> np.ndarray:
    """Jm per speed."""
    result = np.zeros(model.nv)
    for joint, number in zip(machine.joints, numbers, strict=True):
        start = model.idx_vs[number]
        result[start : start + model.nvs[number]] = joint.reflected_inertia
    return result


@singledispatch
def pin_joint(kind: joints.JointKind) -> pin.JointModel:
    """The Pinocchio joint that moves like ours, apart from `pin_axes`."""
    raise TypeError(f"no Pinocchio joint for {type(kind).__name__}")


@pin_joint.register
def _(kind: joints.Revolute) -> pin.JointModel:
    return pin.JointModelRevoluteUnaligned(np.array(kind.axis))


@pin_joint.register
def _(kind: joints.Prismatic) -> pin.JointModel:
    return pin.JointModelPrismaticUnaligned(np.array(kind.axis))


@pin_joint.register
def _(kind: joints.Helical) -> pin.JointModel:
    return pin.JointModelHelicalUnaligned(np.array(kind.axis), kind.pitch)


@pin_joint.register
def _(kind: joints.Cylindrical) -> pin.JointModel:
    axis = np.array(kind.axis)
    return composite(pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis))


@pin_joint.register
def _(kind: joints.Universal) -> pin.JointModel:
    return pin.JointModelUniversal(np.array(kind.first), np.array(kind.second))


@pin_joint.register
def _(kind: joints.SphericalEuler) -> pin.JointModel:
    if kind.sequence == "zyx":
        return pin.JointModelSphericalZYX()
    turns = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
    return composite(*(turns[letter]() for letter in kind.sequence))


@pin_joint.register
def _(kind: joints.Planar) -> pin.JointModel:
    return pin.JointModelPlanar()


@pin_joint.register
def _(kind: joints.Spherical) -> pin.JointModel:
    return pin.JointModelSpherical()


@pin_joint.register
def _(kind: joints.Free) -> pin.JointModel:
    return pin.JointModelFreeFlyer()


def composite(*parts: pin.JointModel) -> pin.JointModel:
    """One joint after the other, as one joint."""
    result = pin.JointModelComposite()
    for part in parts:
        result.addJoint(part)
    return result


def pin_axes(kind: joints.JointKind) -> np.ndarray:
    """The axes Pinocchio's joint frame needs in ours: a planar joint's z is its normal."""
    if not isinstance(kind, joints.Planar):
        return np.eye(3)
    H = np.array(kind.motion_map(kind.neutral()))
    return np.column_stack([H[3:, 1], H[3:, 2], H[:3, 0]])


def convert(kind: joints.JointKind) -> tuple[Convert, np.ndarray]:
    """(q as Pinocchio's, the matrix of v as Pinocchio's)."""
    if isinstance(kind, joints.Free):
        return lambda q: np.array([*q[4:], *q[:4]]), np.eye(6)[[3, 4, 5, 0, 1, 2]]
    if isinstance(kind, joints.Planar):
        return lambda q: np.array([q[1], q[2], *cos_sin(q)]), np.eye(3)[[1, 2, 0]]
    return lambda q: q, np.eye(kind.nv)
