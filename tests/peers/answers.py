"""What Pinocchio says of a machine at one state, in our order, coordinates and axes.

Angular parts first; points as frames of its own model. Its quirks, as met in 4.1:
    hg          about the mass centre, in world axes; moved to the world's origin here
    kinetic     with the armature of prismatic joints, not with that of others
    potential   without what is welded to the world
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pinocchio as pin
from peers.pinocchio_bridge import PinMachine

import phipsi as pp

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def angular_first(x: np.ndarray) -> np.ndarray:
    """[linear; angular] along the first axis, turned round."""
    return np.concatenate([x[3:], x[:3]])


class Answers:
    """Pinocchio at a state.

    Args:
        peer: the machine there. q, v: ours.
        points: on moving bodies.
    """

    def __init__(self, peer: PinMachine, q, v, points: Sequence[pp.Point] = ()):
        self.peer, self.machine = peer, peer.machine
        self.model = pin.Model(peer.model)
        self.points = [self._add(i, point) for i, point in enumerate(points)]
        self.bodies = [self._frame(body.name) for body in self.machine.bodies]
        self.q, self.v, self.S = peer.q_to_pin(q), peer.v_to_pin(v), peer.S
        self.data = self.model.createData()

    def _frame(self, name: str) -> int:
        known = self.model.existFrame(name, pin.FrameType.BODY)
        name = name if known else name.removesuffix("_link")  # a root called world, renamed by us
        number = self.model.getFrameId(name, pin.FrameType.BODY)
        assert number < len(self.model.frames), name
        return number

    def _add(self, i: int, point: pp.Point) -> int:
        k, place = self.machine.locate(point)
        on = self.model.frames[self._frame(self.machine.bodies[k].name)]
        seat = on.placement * pin.SE3(np.eye(3), np.array(place.position))
        frame = pin.Frame(f"point {i}", on.parentJoint, seat, pin.FrameType.OP_FRAME)
        return self.model.addFrame(frame)

    # -- kinematics --------------------------------------------------------------------

    def poses(self) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q)
        return np.array([self.data.oMf[i].homogeneous for i in self.bodies])

    def velocities(self) -> np.ndarray:
        pin.forwardKinematics(self.model, self.data, self.q, self.v)
        found = (pin.getFrameVelocity(self.model, self.data, i) for i in self.bodies)
        return np.array([angular_first(x.vector) for x in found])

    def accelerations(self, vdot) -> np.ndarray:
        """The componentwise rates of the velocities, in link axes."""
        pin.forwardKinematics(self.model, self.data, self.q, self.v, self.S @ vdot)
        found = (pin.getFrameAcceleration(self.model, self.data, i) for i in self.bodies)
        return np.array([angular_first(x.vector) for x in found])

    def jacobian(self) -> np.ndarray:
        pin.computeJointJacobians(self.model, self.data, self.q)
        pin.updateFramePlacements(self.model, self.data)
        blocks = (pin.getFrameJacobian(self.model, self.data, i, WORLD_AXES) for i in self.points)
        # with one speed Pinocchio gives a vector
        return np.concatenate([angular_first(J.reshape(6, -1)) @ self.S for J in blocks])

    def jacobian_dot_v(self) -> np.ndarray:
        pin.forwardKinematics(self.model, self.data, self.q, self.v, 0.0 * self.v)
        pin.updateFramePlacements(self.model, self.data)
        found = (
            pin.getFrameClassicalAcceleration(self.model, self.data, i, WORLD_AXES)
            for i in self.points
        )
        return np.concatenate([angular_first(x.vector) for x in found])

    # -- masses ------------------------------------------------------------------------

    def mass_matrix(self) -> np.ndarray:
        return self.S.T @ pin.crba(self.model, self.data, self.q) @ self.S

    def mass_matrix_inverse(self) -> np.ndarray:
        """By articulated bodies; where joints follow others, of the projected mass matrix."""
        if self.S.shape[0] != self.S.shape[1]:
            return np.linalg.inv(self.mass_matrix())
        found = pin.computeMinverse(self.model, self.data, self.q)
        found = np.triu(found) + np.triu(found, 1).T
        back = np.linalg.inv(self.S)
        return back @ found @ back.T

    def operational_compliance(self) -> np.ndarray:
        """By a solve: its own inverse mass matrix loses digits where joints nearly lock."""
        J = self.jacobian()
        return J @ np.linalg.solve(self.mass_matrix(), J.T)

    def kinetic_energy(self) -> float:
        rotors = np.dot(self.model.armature, self.v**2) / 2
        bare = pin.Model(self.model)
        bare.armature = 0.0 * bare.armature
        return pin.computeKineticEnergy(bare, bare.createData(), self.q, self.v) + rotors

    def potential_energy(self) -> float:
        welded = self.machine.base_inertia
        fixed = -welded.mass * np.dot(self.machine.gravity, welded.com)
        return pin.computePotentialEnergy(self.model, self.data, self.q) + fixed

    def momentum(self) -> np.ndarray:
        """About the origin of the world: h + c x p."""
        pin.computeCentroidalMomentum(self.model, self.data, self.q, self.v)
        linear, angular = self.data.hg.linear, self.data.hg.angular
        return np.concatenate([angular + np.cross(self.data.com[0], linear), linear])

    # -- forces ------------------------------------------------------------------------

    def bias(self) -> np.ndarray:
        return self.S.T @ pin.nonLinearEffects(self.model, self.data, self.q, self.v)

    def gravity(self) -> np.ndarray:
        return self.S.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q)

    def inverse_dynamics(self, vdot, wrenches: Mapping | None = None) -> np.ndarray:
        """Wrenches: by body or point in world axes, each at its origin or place."""
        forces = self._forces(wrenches or {})
        args = self.q, self.v, self.S @ vdot, forces
        return self.S.T @ pin.rnea(self.model, self.data, *args)

    def forward_dynamics(self, tau, wrenches: Mapping | None = None) -> np.ndarray:
        """By articulated bodies; where joints follow others, from the projected mass matrix."""
        forces = self._forces(wrenches or {})
        if self.S.shape[0] != self.S.shape[1]:
            bias = self.inverse_dynamics(np.zeros(self.machine.nv), wrenches)
            return np.linalg.solve(self.mass_matrix(), tau - bias)
        args = self.q, self.v, np.linalg.solve(self.S.T, tau), forces
        return np.linalg.solve(self.S, pin.aba(self.model, self.data, *args))

    def _forces(self, wrenches: Mapping[int, np.ndarray]) -> list[pin.Force]:
        """Of each joint, in its own frame; wrenches by number of Pinocchio's frames."""
        places = self._placements
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for i, wrench in wrenches.items():
            at = pin.SE3(np.eye(3), places.oMf[i].translation)  # world axes, there
            joint = self.model.frames[i].parentJoint
            world = at.act(pin.Force(wrench[3:], wrench[:3]))
            forces[joint] = forces[joint] + places.oMi[joint].actInv(world)
        return forces

    @cached_property
    def _placements(self) -> pin.Data:
        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, self.q)
        return data
