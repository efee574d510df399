"""Rollouts beside MuJoCo's: many states, many steps, every state kept.

`mujoco.rollout` steps a model with our parameters, without contacts, limits, friction and
damping (so its Euler method has nothing to treat implicitly), and with all that MuJoCo can leave
out left out. One `MjData` is one thread, the one that calls.

It writes into an array that is there; `pp.rollout` into a new one, of memory that has lain idle
while MuJoCo ran. Where the system has given it away meanwhile, as the guest of a host, getting it
back takes up to as long as the steps. So ours is timed once more, with the last states kept alone.

Of joints with an axis both methods are the same. Rotations of a free base both move by the
exponential map, RK4 with the corrections that keep its order (of MuJoCo 4.0 measured: half the
step divides the error of solo12's quaternion by 14 to 16). Its position MuJoCo moves along the
velocity in world axes, and we along the twist: so there the two differ, by what falls with the
step as the order of the method says.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import mujoco
import numpy as np
from mujoco import rollout

import phipsi as pp
from phipsi.cli.timing import interleave

from .contender import LAST, MUJOCO, OURS, TOLERANCE, DisagreementError, relative_error
from .mujoco_peer import model_of, state_to_ours, states_of
from .ours import compile_task
from .plan import ROLLING
from .results import Rollout
from .robots import Robot
from .tasks import FORWARD

STEP = 1e-3  # s
COMPARED = 16  # steps after which states are compared before anything is timed
FINER = 10  # times as many steps show of which order a difference is
ROUNDS = 3

# (MuJoCo's name, order)
METHODS = {
    "rk4": (mujoco.mjtIntegrator.mjINT_RK4, 4),
    "euler": (mujoco.mjtIntegrator.mjINT_EULER, 1),
}


@dataclass(frozen=True)
class Peer:
    """`mujoco.rollout` on all states of a robot.

    Args:
        robot: whose states.
        integrator: a key of `METHODS`.
        steps: how many.
        step: s, the length of one.
    """

    robot: Robot
    integrator: str
    steps: int
    step: float = STEP

    @cached_property
    def model(self) -> mujoco.MjModel:
        model = copy.copy(model_of(self.robot))
        model.opt.integrator, model.opt.timestep = METHODS[self.integrator][0], self.step
        return model

    @cached_property
    def data(self) -> mujoco.MjData:
        return mujoco.MjData(self.model)

    @cached_property
    def begin(self) -> np.ndarray:
        """Times, coordinates and speeds, a row per state."""
        states = states_of(self.robot)
        return np.hstack([np.zeros((self.robot.count, 1)), states["q"], states["v"]])

    @cached_property
    def kept(self) -> np.ndarray:
        """Room for all states."""
        return np.empty((self.robot.count, self.steps, self.begin.shape[1]))

    def run(self) -> None:
        """What is timed."""
        rollout.rollout(self.model, [self.data], self.begin, nstep=self.steps, state=self.kept)

    @property
    def end(self) -> np.ndarray:
        """The last states of a run, [q, v] in our coordinates."""
        last, nq = self.kept[:, -1, 1:], self.model.nq
        return np.hstack(state_to_ours(self.robot, last[:, :nq], last[:, nq:]))


def roll(
    robot: Robot, integrator: str, steps: int, step: float = STEP, every: int = 1
) -> pp.Trajectory:
    """We, on all states of a robot."""
    q, v = robot.states["q"], robot.states["v"]
    return pp.rollout(
        robot.model,
        q,
        v,
        None,
        step,
        steps,
        integrator=integrator,
        every=every,
        losses=False,
        limits=False,
        backend="llvm",
    )


def measure_rollouts(states: int, steps: int) -> Iterator[Rollout]:
    """All robots by all methods, one after the other."""
    for name in ROLLING:
        robot = Robot(name, states)
        for integrator in METHODS:
            yield measure_rollout(robot, integrator, steps)


def measure_rollout(robot: Robot, integrator: str, steps: int, rounds: int = ROUNDS) -> Rollout:
    """Both side by side, once they agree; forward dynamics of the same states beside them."""
    check_motion(robot, integrator)
    peer, forward = Peer(robot, integrator, steps), compile_task(robot, FORWARD).function
    runs: dict[str, Callable[[], object]] = {
        OURS: partial(roll, robot, integrator, steps),
        LAST: partial(roll, robot, integrator, steps, every=steps),
        MUJOCO: peer.run,
        FORWARD.name: partial(forward, *(robot.states[name] for name in FORWARD.arguments)),
    }
    rolled = (OURS, LAST, MUJOCO)
    work = {**dict.fromkeys(rolled, robot.count * steps), FORWARD.name: robot.count}
    times = interleave(runs, work, rounds=rounds)
    return Rollout(
        robot.name,
        integrator,
        robot.count,
        steps,
        {name: 1.0 / times.best(name) for name in rolled},
        times.ratio(MUJOCO, OURS),
        times.ratio(LAST, FORWARD.name),
        relative_error(peer.end, _end(roll(robot, integrator, steps))),
        times.busy,
    )


def check_motion(robot: Robot, integrator: str) -> None:
    """DisagreementError unless a few steps lead both to the same states."""

    def apart(finer: int) -> float:
        peer = Peer(robot, integrator, COMPARED * finer, STEP / finer)
        peer.run()
        return relative_error(peer.end, _end(roll(robot, integrator, peer.steps, peer.step)))

    check_order(f"{robot.title}, {integrator}", apart, METHODS[integrator][1])


def check_order(what: str, apart: Callable[[int], float], order: int) -> None:
    """DisagreementError unless two methods agree, or would with shorter steps.

    Args:
        what: is compared.
        apart: their difference, by so many times as many steps of the same time.
        order: of both, by which a difference must fall.
    """
    wide = apart(1)
    if wide < TOLERANCE:
        return
    narrow = apart(FINER)
    if not narrow < max(TOLERANCE, 2.0 * wide / FINER**order):  # nor is NaN
        raise DisagreementError(
            f"{what}: {MUJOCO} is off by {wide:.1e} from {OURS}, and by {narrow:.1e} with "
            f"{FINER} times as many steps"
        )


def _end(motion: pp.Trajectory) -> np.ndarray:
    return np.hstack([motion.q[:, -1], motion.v[:, -1]])
