"""Spatial vectors and rotations over any kind of scalar.

A vector is a list of scalars, a matrix a list of rows; a scalar is whatever
`phipsi.scalars` knows. Angular part first everywhere: `V = [omega; v]`,
`f = [N; F]`. The letters are those of [001 sec. II] and [000 sec. 2].
"""

from collections.abc import Callable, Sequence

from phipsi.scalars import Scalar, arctan, cos, less, sin, sqrt, where

Vector = Sequence[Scalar]
Matrix = Sequence[Sequence[Scalar]]

ZERO3 = (0.0, 0.0, 0.0)
IDENTITY3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ZERO33 = (ZERO3, ZERO3, ZERO3)


# -- vectors and matrices --------------------------------------------------------------


def add(x: Vector, y: Vector) -> list[Scalar]:
    """x + y."""
    return [a + b for a, b in zip(x, y, strict=True)]


def subtract(x: Vector, y: Vector) -> list[Scalar]:
    """x - y."""
    return [a - b for a, b in zip(x, y, strict=True)]


def scale(factor: Scalar, x: Vector) -> list[Scalar]:
    """factor * x."""
    return [factor * a for a in x]


def dot(x: Vector, y: Vector) -> Scalar:
    """Inner product x* y (no complex conjugate)."""
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = total + a * b
    return total


def cross(x: Vector, y: Vector) -> list[Scalar]:
    """Cross product x~ y of 3-vectors."""
    return [
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    ]


def transpose(A: Matrix) -> list[list[Scalar]]:
    """A*."""
    return [list(column) for column in zip(*A, strict=True)]


def apply(A: Matrix, x: Vector) -> list[Scalar]:
    """The matrix-vector product A x."""
    return [dot(row, x) for row in A]


def compose(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """The matrix product A B."""
    columns = transpose(B)
    return [[dot(row, column) for column in columns] for row in A]


def tilde(x: Vector) -> list[list[Scalar]]:
    """The matrix x~ of the cross product with a 3-vector."""
    return [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]]


def blocks(A: Matrix, B: Matrix, C: Matrix, D: Matrix) -> list[list[Scalar]]:
    """[[A, B], [C, D]]."""
    top = [[*a, *b] for a, b in zip(A, B, strict=True)]
    return top + [[*c, *d] for c, d in zip(C, D, strict=True)]


# -- spatial operators of one body -----------------------------------------------------


def phi(R: Matrix, l: Vector) -> list[list[Scalar]]:
    """Rigid transformation of forces, `phi(p,k) = [[R, l~ R], [0, R]]`.

    R turns k-coordinates into p-coordinates, l is O_p -> O_k in p. Forces
    travel inward by phi, motions outward by its transpose. Source: [001 (3)],
    where all frames share the inertial axes, so R = I.
    """
    return blocks(R, compose(tilde(l), R), ZERO33, R)


def spatial_inertia(mass: Scalar, com: Vector, rotational: Matrix) -> list[list[Scalar]]:
    """Spatial inertia `M = [[J, m p~], [-m p~, m I]]` at the body frame.

    Source: [001 (2)]. `rotational` is the inertia about the centre of mass p;
    J = rotational - m p~ p~ is the one about the frame's origin.
    """
    p = tilde(com)
    shift = compose(p, p)
    J = [[rotational[i][j] - mass * shift[i][j] for j in range(3)] for i in range(3)]
    mp = [[mass * x for x in row] for row in p]
    diagonal = [[mass, 0.0, 0.0], [0.0, mass, 0.0], [0.0, 0.0, mass]]
    return blocks(J, mp, transpose(mp), diagonal)


def cross_motion(z: Vector) -> list[list[Scalar]]:
    """`z~ = [[x~, 0], [y~, x~]]` for z = [x; y]: the motion cross product [000 (2.5)]."""
    x, y = tilde(z[:3]), tilde(z[3:])
    return blocks(x, ZERO33, y, x)


def cross_force(z: Vector) -> list[list[Scalar]]:
    """`S[z] = [[x~, y~], [0, x~]] = -(z~)*`: the force cross product [000 (2.7)]."""
    x, y = tilde(z[:3]), tilde(z[3:])
    return blocks(x, y, ZERO33, x)


def cross_adjoint(z: Vector) -> list[list[Scalar]]:
    """`Q[z] = [[x~, y~], [y~, 0]]`, skew, with `S[A] B = -Q[B] A` [000 (2.8), (2.9)]."""
    x, y = tilde(z[:3]), tilde(z[3:])
    return blocks(x, y, y, ZERO33)


# -- rotations -------------------------------------------------------------------------


def rotation(axis: Vector, angle: Scalar) -> list[list[Scalar]]:
    """Rotation by an angle about a unit axis (Rodrigues): `R = I + sin a~ + (1 - cos) a~ a~`."""
    s, c = sin(angle), cos(angle)
    x, y, z = axis
    d = 1.0 - c
    return [
        [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
        [x * y * d + z * s, c + y * y * d, y * z * d - x * s],
        [x * z * d - y * s, y * z * d + x * s, c + z * z * d],
    ]


def is_rotation(R: Matrix, tolerance: float) -> bool:
    """Whether a matrix of floats turns: `R R* = I` in each entry, and det R > 0."""
    product = compose(R, transpose(R))
    errors = [abs(product[i][j] - IDENTITY3[i][j]) for i in range(3) for j in range(3)]
    return all(x <= tolerance for x in errors) and dot(cross(R[0], R[1]), R[2]) > 0.0


def rotation_from_rpy(rpy: Vector) -> list[list[Scalar]]:
    """Roll, pitch, yaw about fixed axes, as URDF writes them: `R = Rz(yaw) Ry(pitch) Rx(roll)`."""
    roll, pitch, yaw = rpy
    tilt = compose(rotation((0.0, 1.0, 0.0), pitch), rotation((1.0, 0.0, 0.0), roll))
    return compose(rotation((0.0, 0.0, 1.0), yaw), tilt)


def rotation_from_quaternion(q: Vector) -> list[list[Scalar]]:
    """Rotation matrix of a unit quaternion x, y, z, w."""
    x, y, z, w = q
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]


def quaternion_product(p: Vector, q: Vector) -> list[Scalar]:
    """The quaternion of R(p) R(q), scalar part last."""
    vector = add(cross(p[:3], q[:3]), add(scale(p[3], q[:3]), scale(q[3], p[:3])))
    return [*vector, p[3] * q[3] - dot(p[:3], q[:3])]


def quaternion_conjugate(q: Vector) -> list[Scalar]:
    """The quaternion of the inverse rotation."""
    return [-q[0], -q[1], -q[2], q[3]]


def normalize(x: Vector) -> list[Scalar]:
    """x / |x|."""
    return scale(1.0 / sqrt(dot(x, x)), x)


def quaternion_exp(w: Vector) -> list[Scalar]:
    """Unit quaternion of the rotation vector w: `[sin(t/2) w/t, cos(t/2)]`, t = |w|."""
    quarter = 0.25 * dot(w, w)
    return [*scale(0.5 * sinc(quarter), w), cosine(quarter)]


def quaternion_log(q: Vector) -> list[Scalar]:
    """Rotation vector of a unit quaternion, of length at most pi.

    With w >= 0 (q and -q turn alike) and `x = |v| / (1 + w) = tan(t/4) <= 1`,
    the angle is `t = 4 arctan x`: no division by a number that can vanish.
    """
    sign = where(less(q[3], 0.0), -1.0, 1.0)
    v, w = scale(sign, q[:3]), sign * q[3]
    x_squared = dot(v, v) / ((1.0 + w) * (1.0 + w))
    return scale(4.0 * arctanc(x_squared) / (1.0 + w), v)


def translation_exp(w: Vector, u: Vector) -> list[Scalar]:
    """Translation of exp([w; u]) on SE(3): `(I + b w~ + c w~ w~) u`.

    b = (1 - cos t)/t^2 and c = (t - sin t)/t^3 with t = |w|.
    """
    squared = dot(w, w)
    half = sinc(0.25 * squared)
    turned = cross(w, u)
    twice = cross(w, turned)
    return add(u, add(scale(0.5 * half * half, turned), scale(sinc_defect(squared), twice)))


def translation_log(w: Vector, p: Vector) -> list[Scalar]:
    """The inverse of `translation_exp` for |w| < 2 pi: `(I - w~/2 + d w~ w~) p`.

    d = (1 - (t/2) cot(t/2)) / t^2.
    """
    turned = cross(w, p)
    twice = cross(w, turned)
    return add(p, add(scale(-0.5, turned), scale(cotangent_defect(dot(w, w)), twice)))


# -- entire functions of the squared angle ---------------------------------------------
# Each takes x = t^2, so that nothing is singular or non-smooth at t = 0: a series
# below `_SMALL`, the closed form above. The first term left out is below 1e-17.

_SMALL = 1e-2


def _near_zero(
    x: Scalar, coefficients: Sequence[float], closed_form: Callable[[Scalar], Scalar]
) -> Scalar:
    """The power series where x is small, `closed_form(x)` elsewhere."""
    small = less(x, _SMALL)
    near, far = where(small, x, 0.0 * x), where(small, 1.0 + 0.0 * x, x)  # both are evaluated
    series = coefficients[-1] + 0.0 * near
    for coefficient in reversed(coefficients[:-1]):
        series = coefficient + near * series
    return where(small, series, closed_form(far))


def cosine(x: Scalar) -> Scalar:
    """cos t of x = t^2."""
    return _near_zero(x, (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800), _cosine)


def sinc(x: Scalar) -> Scalar:
    """sin(t)/t of x = t^2."""
    return _near_zero(x, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800), _sinc)


def sinc_defect(x: Scalar) -> Scalar:
    """(t - sin t)/t^3 of x = t^2."""
    coefficients = (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800)
    return _near_zero(x, coefficients, lambda y: (1.0 - _sinc(y)) / y)


def cotangent_defect(x: Scalar) -> Scalar:
    """(1 - (t/2) cot(t/2))/t^2 of x = t^2 < 4 pi^2."""
    coefficients = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000)
    return _near_zero(x, coefficients, lambda y: (1.0 - _cosine(0.25 * y) / _sinc(0.25 * y)) / y)


def arctanc(x: Scalar) -> Scalar:
    """arctan(t)/t of x = t^2."""
    coefficients = (1.0, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13, -1 / 15)
    return _near_zero(x, coefficients, _arctanc)


def _cosine(x: Scalar) -> Scalar:
    return cos(sqrt(x))


def _sinc(x: Scalar) -> Scalar:
    t = sqrt(x)
    return sin(t) / t


def _arctanc(x: Scalar) -> Scalar:
    t = sqrt(x)
    return arctan(t) / t
