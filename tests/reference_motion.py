"""Motions by other means: SciPy's integrator of order 8, on all coordinates with quaternions among
them, as if they were a vector space; and how far two states are apart."""

import numpy as np
from scipy.integrate import solve_ivp

import phipsi as pp
from phipsi import joints

STEP = 1e-30


def coordinate_rates(model, q, v):
    """dq/dt at the speeds v, by a complex step along the tangent."""
    return pp.integrate(model, q, 1j * STEP * v).imag / STEP


def reference_motion(model, q, v, times, force=None, tolerance=1e-13):
    """States at times, (T, nq) and (T, nv), under joint forces of (t, q, v); none if not given."""
    n, nothing = model.nq, np.zeros(model.nv)

    def rate(t, y):
        q, v = normalized(model, y[:n]), y[n:]
        tau = nothing if force is None else force(t, q, v)
        vdot = pp.forward_dynamics(model, q, v, tau, backend="llvm")
        return np.concatenate([coordinate_rates(model, q, v), vdot])

    span, y = (0.0, times[-1]), np.concatenate([q, v])
    done = solve_ivp(rate, span, y, "DOP853", times, rtol=tolerance, atol=tolerance)
    assert done.success, done.message
    return normalized(model, done.y.T[:, :n]), done.y.T[:, n:]


def normalized(model, q):
    """q with quaternions of length one."""
    q = q.copy()
    for joint in model.leaders:
        if joint.kind.quaternion is not None:
            part = slice(joint.q.start, joint.q.start + 4)
            q[..., part] /= np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    return q


def apart(model, one, other):
    """The largest entry of what leads from one state to another."""
    (q0, v0), (q1, v1) = one, other
    return max(np.abs(pp.difference(model, q0, q1)).max(), np.abs(v1 - v0).max())


def spinning_body(kind, inertia, mass=1.0, com=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    """One body on one joint."""
    builder = pp.ModelBuilder("body", gravity=gravity)
    builder.add_body("body", joint=kind, mass=mass, com=com, inertia=inertia)
    return builder.build()


def wheel(inertia=0.5, **more):
    """A body that turns about its upright axis."""
    builder = pp.ModelBuilder("wheel")
    moments = (inertia, inertia, inertia)
    builder.add_body("wheel", joint=joints.Revolute(), mass=1.0, inertia=moments, **more)
    return builder.build()
