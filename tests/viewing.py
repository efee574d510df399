"""What the tests of the viewer share."""

import numpy as np

import phipsi as pp
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import Viewer, view

UP = np.array([0.0, 0.0, 1.0])


def lifting(arm: pp.Model) -> Trajectory:
    """Both joints of a planar arm lift by 1 rad/s for a second."""
    times = np.linspace(0.0, 1.0, 11)
    q = np.repeat(times[:, None], 2, axis=1)
    return Trajectory(arm, times, q, np.ones_like(q))


def shown(subject: pp.Model | Trajectory, **options) -> Viewer:
    """A viewer that opens no browser and does not wait."""
    return view(subject, open_browser=False, block=False, **options)
