"""Trajectory: a motion as named data.

States at sample times, and what follows from them: poses, energies, momentum,
computed when they are asked for and kept.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi import dynamics
from phipsi.errors import InputError, name_choices
from phipsi.model.configuration import joint_coordinates, joint_speeds
from phipsi.model.model import Joint, Model
from phipsi.scalars import HUGE
from phipsi.simulate import dataset, files, plot
from phipsi.simulate.given import About, checked_about, frozen, real_numbers, states
from phipsi.simulate.interpolate import state_at
from phipsi.simulate.labels import DERIVED
from phipsi.simulate.springs import Springs

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, slots=True)
class JointMotion:
    """What one joint does; see `Trajectory.joint`.

    Args:
        joint: which one.
        times: s, (T,).
        q: its coordinates, (*batch, T, nq of the joint).
        v: its speeds, (*batch, T, nv of the joint).
        tau: the forces that the control applied to it, shaped as v; None if there are
            none, as for a joint that follows another.
    """

    joint: Joint
    times: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None

    def __repr__(self) -> str:
        kind, name = type(self.joint.kind).__name__, self.joint.name
        return f"<motion of {kind} joint {name!r}: {len(self.times)} samples>"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of a machine, or of a batch of them at the same times. Made by `pp.simulate`.

    Arrays are read-only. One that can be written to is copied, so that it may change
    without changing the motion. Numbers need not be finite: where a state is not,
    what follows from it is NaN.

    Args:
        model: the machine.
        times: s, (T,), increasing.
        q: configurations, (*batch, T, nq).
        v: speeds, (*batch, T, nv).
        tau: forces of the control in the machine's coordinates, (*batch, T, nv);
            None if there was none.
        complete: False if the run was interrupted before its end.
        about: how it was made, texts and numbers by name.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> Trajectory(arm, [0.0, 0.5], [[0.0, 0.0], [0.5, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    <Trajectory of 'planar arm of 2': 2 samples from 0 to 0.5 s>
    """

    model: Model
    times: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None = None
    complete: bool = True
    about: About = field(default_factory=dict)

    def __post_init__(self) -> None:
        model = self.model
        if not isinstance(model, Model):
            raise InputError(f"model: expected a Model, got {type(model).__name__}")
        times = real_numbers("times", self.times)
        if times.ndim != 1 or not len(times):
            raise InputError(f"times has shape {times.shape}; expected (T,), one time or more")
        if not np.all(np.isfinite(times)) or not np.all(np.diff(times) > 0.0):
            raise InputError("times: expected finite numbers, each greater than the one before")
        q = states("q", self.q, len(times), model.nq, f"nq of {model.name!r}")
        v = states("v", self.v, len(times), model.nv, f"nv of {model.name!r}")
        tau = self.tau
        if tau is not None:
            tau = states("tau", tau, len(times), model.nv, f"nv of {model.name!r}")
        for name, array in (("v", v), ("tau", tau)):
            if array is not None and array.shape[:-2] != q.shape[:-2]:
                raise InputError(
                    f"{name} has the batch {array.shape[:-2]}, q has {q.shape[:-2]}; "
                    "expected the same"
                )
        if not isinstance(self.complete, (bool, np.bool_)):
            raise InputError(f"complete is {self.complete!r}; expected True or False")
        checked = {
            **{"times": times, "q": q, "v": v, "tau": tau},
            **{"complete": bool(self.complete), "about": checked_about(self.about)},
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    # -- what it holds ---------------------------------------------------------------------

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch, () for one motion."""
        return self.q.shape[:-2]

    @property
    def quantities(self) -> tuple[str, ...]:
        """Every name that `traj[name]` and `plot` know: arrays first, then the joints."""
        joints = (joint.name for joint in self.model.joints)
        return tuple(dict.fromkeys((*self._arrays, *joints)))

    @property
    def _arrays(self) -> tuple[str, ...]:
        given = ("q", "v") if self.tau is None else ("q", "v", "tau")
        return (*given, *DERIVED)

    @property
    def final(self) -> tuple[np.ndarray, np.ndarray]:
        """The last state: q (*batch, nq) and v (*batch, nv)."""
        return self._state(-1)

    def joint(self, name: str) -> JointMotion:
        """What one joint does; one that follows another shows its own coordinates.

        >>> import phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> traj = Trajectory(arm, [0.0, 0.5], [[0.0, 0.3], [0.5, 0.3]], [[1.0, 0.0]] * 2)
        >>> traj.joint("joint1").q[:, 0]
        array([0. , 0.5])
        """
        joint = self.model.joint(name)
        q = np.stack(joint_coordinates(joint, self.q), axis=-1)
        v = np.stack(joint_speeds(joint, self.v), axis=-1)
        tau = self.tau if joint.mimic is None else None
        tau = None if tau is None else tau[..., joint.v]
        return JointMotion(joint, self.times, frozen(q), frozen(v), tau)

    def __getitem__(self, key: Any) -> Any:
        """An array or a joint by name, a state by number, a stretch of time by slice."""
        if isinstance(key, str):
            return self._quantity(key)
        if isinstance(key, slice):
            if not len(self.times[key]):
                raise InputError(f"the slice {_text(key)} of {len(self)} samples is empty")
            return self._part((..., key, slice(None)), key)
        try:
            index = operator.index(key)
        except TypeError:
            raise InputError(
                f"a trajectory is asked by name, sample or slice of samples, not by {key!r}"
            ) from None
        if not -len(self) <= index < len(self):
            raise InputError(f"there is no sample {index}; the trajectory has {len(self)} of them")
        return self._state(index)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The states one by one, as (q, v)."""
        return (self._state(k) for k in range(len(self)))

    def __len__(self) -> int:
        """How many samples."""
        return len(self.times)

    def __repr__(self) -> str:
        count, remarks = len(self), ""
        if self.batch:
            remarks += f", batch {self.batch}"
        if not self.complete:
            remarks += ", interrupted"
        return (
            f"<Trajectory of {self.model.name!r}: {count:,} sample{'s' * (count > 1)} "
            f"from {self.times[0]:g} to {self.times[-1]:g} s{remarks}>"
        )

    def __reduce__(self) -> tuple:
        """Pickled without what was computed from it."""
        state = self.model, self.times, self.q, self.v, self.tau, self.complete
        return type(self), (*state, dict(self.about))

    # -- parts of it -----------------------------------------------------------------------

    def member(self, *index: int) -> Trajectory:
        """One motion of the batch.

        Args:
            index: one number for each axis of the batch.

        >>> import numpy as np, phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> many = Trajectory(arm, [0.0], np.zeros((8, 1, 2)), np.zeros((8, 1, 2)))
        >>> many, many.member(3)
        (<Trajectory of 'planar arm of 2': 1 sample from 0 to 0 s, batch (8,)>,
         <Trajectory of 'planar arm of 2': 1 sample from 0 to 0 s>)
        """
        numbers = [n for n in index if isinstance(n, (int, np.integer)) and not isinstance(n, bool)]
        fits = [-size <= n < size for n, size in zip(numbers, self.batch, strict=False)]
        if not len(numbers) == len(index) == len(self.batch) or not all(fits):
            shown = ", ".join(map(repr, index))
            raise InputError(
                f"there is no member ({shown}) in the batch {self.batch}; "
                "expected a number for each axis"
            )
        return self._part(tuple(numbers), slice(None))

    def at(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The state at a time: q_k moved by the share s of the way to q_k+1.

        With s = (t - t_k) / (t_k+1 - t_k), q is `integrate(q_k, s difference(q_k, q_k+1))`,
        so unit quaternions stay unit; v is on the straight line. At a sample it is the
        sample, bit by bit.

        Args:
            t: s, one time or an array of them, none before the first or after the last.

        Returns:
            q (*batch, *shape of t, nq) and v (*batch, *shape of t, nv).

        >>> import phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> traj = Trajectory(arm, [0.0, 0.5], [[0.0, 0.3], [0.5, 0.3]], [[1.0, 0.0]] * 2)
        >>> traj.at(0.1)
        (array([0.1, 0.3]), array([1., 0.]))
        """
        return state_at(self, t)

    def _state(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        return self.q[..., k, :], self.v[..., k, :]

    def _part(self, index: Any, times: slice) -> Trajectory:
        """The same motion, less of it."""
        tau = None if self.tau is None else self.tau[index]
        return Trajectory(
            self.model,
            self.times[times],
            self.q[index],
            self.v[index],
            tau,
            self.complete,
            self.about,
        )

    # -- what follows from the states ------------------------------------------------------

    @cached_property
    def poses(self) -> np.ndarray:
        """The frames of the bodies in the world, (*batch, T, nbodies, 4, 4)."""
        return self._follow(dynamics.body_poses)

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """J, (*batch, T)."""
        return self._follow(dynamics.kinetic_energy, self.v)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """That of gravity, and of springs in joints, J, (*batch, T)."""
        return self._follow(_potential_energy)

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic and potential, J, (*batch, T)."""
        return frozen(self.kinetic_energy + self.potential_energy)

    @cached_property
    def momentum(self) -> np.ndarray:
        """[angular; linear] about the origin of the world, in world axes, (*batch, T, 6)."""
        return self._follow(dynamics.momentum, self.v)

    @cached_property
    def finite(self) -> np.ndarray:
        """Which states are finite, and below 1e60: what can be computed with, (*batch, T)."""
        with np.errstate(invalid="ignore"):
            q, v = np.abs(self.q) <= HUGE, np.abs(self.v) <= HUGE  # NaN is not
        return frozen(np.all(q, axis=-1) & np.all(v, axis=-1))

    def _follow(self, function: Callable[..., np.ndarray], *speeds: np.ndarray) -> np.ndarray:
        """A function of every state; NaN where the state is not finite."""
        if self.finite.all():
            return frozen(function(self.model, self.q, *speeds))
        finite = self.finite[..., None]
        q = np.where(finite, self.q, self.model.neutral())
        value = np.array(function(self.model, q, *(np.where(finite, v, 0.0) for v in speeds)))
        value[~self.finite] = np.nan
        return frozen(value)

    def _quantity(self, name: str) -> Any:
        if name in self._arrays:
            return getattr(self, name)
        if name in self.quantities:
            return self.joint(name)
        choices = name_choices(name, self.quantities)
        if name == "tau":
            choices = "it was made without a control, or without keeping its forces"
        raise InputError(
            f"the trajectory of {self.model.name!r} has no quantity {name!r}; {choices}"
        )

    # -- tables, files, pictures -----------------------------------------------------------

    def to_xarray(self, *, poses: bool = False) -> xarray.Dataset:
        """The motion as an xarray Dataset: named dimensions, units, how it was made.

        Dimensions are `time`, `coordinate`, `speed`, `component` (of the momentum) and
        `body`, in front of them `batch`, or `batch0`, `batch1` ... where it has several
        axes. What the entries of q and v are measured in stands in `coordinate_unit`,
        `speed_unit` and `force_unit`. Needs the extra `data`.

        Args:
            poses: put those in too, sixteen numbers for each body and time.

        >>> import phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> traj = Trajectory(arm, [0.0, 0.5], [[0.0, 0.3], [0.5, 0.3]], [[1.0, 0.0]] * 2)
        >>> traj.to_xarray().q.sel(coordinate="joint1").values
        array([0. , 0.5])
        """
        return dataset.to_dataset(self, poses)

    def save(self, path: str | os.PathLike[str], *, poses: bool = False) -> None:
        """Write the motion to a file, whole or not at all: an earlier one is kept until then.

        The suffix says how:

            .nc    NetCDF, what `to_xarray` gives; needs the extra `data`
            .npz   NumPy's arrays by name
            .csv   a table of times, coordinates, speeds, forces and energies; of one motion

        The same motion gives the same bytes of `.npz` and `.csv`, and the same arrays in
        `.nc`. `.csv` holds numbers alone, not what `about` and `complete` say.

        Args:
            path: of the file.
            poses: put those in too, in `.nc` and `.npz`.

        Raises:
            InputError: the file cannot be written; says why, and what to do.

        >>> import tempfile, phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> traj = Trajectory(arm, [0.0, 0.5], [[0.0, 0.3], [0.5, 0.3]], [[1.0, 0.0]] * 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     traj.save(f"{folder}/run.npz")
        ...     back = Trajectory.load(f"{folder}/run.npz", arm)
        >>> back
        <Trajectory of 'planar arm of 2': 2 samples from 0 to 0.5 s>
        """
        files.save(self, path, poses)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model) -> Trajectory:
        """The motion that `save` has written, every bit of it.

        Args:
            path: of the file, `.nc`, `.npz` or `.csv`.
            model: the machine that it is a motion of; names of joints must fit.

        Raises:
            InputError: the file cannot be read, or is the motion of another machine.

        >>> import tempfile, phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Trajectory(arm, [0.0], [[0.1, 0.2]], [[1.0, 0.0]]).save(f"{folder}/run.csv")
        ...     back = Trajectory.load(f"{folder}/run.csv", arm)
        >>> back.final
        (array([0.1, 0.2]), array([1., 0.]))
        """
        arguments = files.load(path, model)
        try:
            return cls(model, **arguments)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def plot(self, *quantities: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw quantities over time, in panels by unit. Needs the extra `plot`.

        A batch of a few motions is drawn as thin lines, one of many as a band from the
        least to the greatest with the median in it. No display is needed, and nothing
        of pyplot is touched.

        Args:
            quantities: names of `quantities`; "q" and "energy" if none is given. "energy"
                shows the kinetic and the potential one too, "poses" where the frames of
                the bodies are, a joint's name its coordinates and speeds.
            path: of a picture to write, `.png`, `.svg` or `.pdf`.

        Returns:
            The Figure of matplotlib, to be changed or saved.

        >>> import phipsi as pp
        >>> arm = pp.examples.planar_arm(2)
        >>> traj = Trajectory(arm, [0.0, 0.5], [[0.0, 0.3], [0.5, 0.3]], [[1.0, 0.0]] * 2)
        >>> [panel.get_ylabel() for panel in traj.plot("q", "v").axes]
        ['angle, rad', 'speed, rad/s']
        """
        return plot.draw(self, quantities, path)


def _potential_energy(model: Model, q: np.ndarray) -> np.ndarray:
    """That of gravity, and what is stored in springs."""
    return dynamics.potential_energy(model, q) + Springs(model).energy(q)[..., 0]


def _text(key: slice) -> str:
    ends = ["" if x is None else str(x) for x in (key.start, key.stop, key.step)]
    return "[" + ":".join(ends if key.step is not None else ends[:2]) + "]"
