"""Tools to hold an equation of a paper against its dense meaning.

    assert mismatch(model, (I - H @ psi @ K) @ H @ phi, H @ psi, q) < TOLERANCE
    assert mismatch(model, printed_form, H @ psi, q) > MARGIN

Import with `from equations import ...`; pytest puts this folder on the path.
"""

import machines
import numpy as np

import phipsi as pp
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.walk import walk
from phipsi.operators import E, E_phi, a, gravity

TOLERANCE = 1e-10  # relative: an equation holds
MARGIN = 1e-3  # relative: a printed equation fails by more than this
STEP = 1e-30  # of the complex step: its square is below roundoff, so no digit is lost

a_g = a + E @ gravity  # the bias acceleration, the base accelerating against gravity


def random_state(model, seed=0):
    """A random configuration and random speeds, the same for the same seed."""
    return machines.random_state(model, np.random.default_rng(seed))


def random_blocks(model, rng, rows="body", columns="body"):
    """One random block per body: the value of an `operator(name, columns, rows)`."""
    return [
        rng.normal(size=(_size(model, rows, k), _size(model, columns, k)))
        for k in range(len(model.bodies))
    ]


def value(model, side, q, v=None, axes="link", points=None, **values):
    """One side of an equation as a matrix: an expression, or an array as it is.

    Unlike `as_matrix` it leaves out the values that the expression does not ask for.
    """
    if not isinstance(side, Node):
        return np.asarray(side)
    free = {node.name for node in walk(side) if isinstance(node, Symbol) and node.free}
    values = {name: x for name, x in values.items() if name in free}
    return pp.as_matrix(model, side, q, v, axes=axes, points=points, **values)


def relative_difference(left, right, scale=0.0):
    """|left - right| / max(|left|, |right|, scale), in Frobenius norms.

    `scale` is the size below which a difference counts as roundoff; pass it
    where both sides may vanish. Lists of arrays count as one long array.
    """
    left, right = _flat(left), _flat(right)
    assert left.shape == right.shape, f"shapes differ: {left.shape}, {right.shape}"
    size = max(np.linalg.norm(left), np.linalg.norm(right), scale)
    return float(np.linalg.norm(left - right) / size) if size else 0.0


def mismatch(model, left, right, q, v=None, axes="link", points=None, scale=0.0, **values):
    """The relative difference of the two sides of an equation, each an expression or an array."""
    sides = [value(model, side, q, v, axes, points, **values) for side in (left, right)]
    return relative_difference(*sides, scale=scale)


def tangent(model, i, a=0):
    """The unit speed `a` of joint `i`, as an nv-vector."""
    unit = np.zeros(model.nv)
    unit[model.joints[i].v.start + a] = 1.0
    return unit


def directions(model):
    """Every (i, a): joint i and its speed a. Mimic joints have no speed of their own."""
    leaders = [(i, joint) for i, joint in enumerate(model.joints) if joint.mimic is None]
    return [(i, a) for i, joint in leaders for a in range(joint.kind.nv)]


def tangent_derivative(model, expression, q, i, a=0, v=None, axes="link", points=None, **values):
    """D_{ia} of an expression, exact to roundoff, by a complex step along speed a of joint i.

    The speeds v and all values are held.
    """
    moved = pp.integrate(model, q, 1j * STEP * tangent(model, i, a))
    return value(model, expression, moved, v, axes, points, **values).imag / STEP


def time_derivative(model, expression, q, v, axes="link", points=None, acceleration=None, **values):
    """d/dt of an expression along the motion v, exact to roundoff, by a complex step.

    `acceleration` is the rate of v, zero by default; all values are held.
    """
    moved = pp.integrate(model, q, 1j * STEP * np.asarray(v))
    speeds = v if acceleration is None else v + 1j * STEP * np.asarray(acceleration)
    return value(model, expression, moved, speeds, axes, points, **values).imag / STEP


def block(model, matrix, i, k, rows="body", columns="body"):
    """Block (i, k) of a matrix that maps `columns` space to `rows` space, "body" or "joint"."""
    return matrix[..., _place(model, rows, i), _place(model, columns, k)]


def assemble(model, block_of, rows="body", columns="body", dtype=float):
    """The matrix whose block (i, k) is `block_of(i, k)`, zero where that is None."""
    n = len(model.bodies)
    height, width = (_place(model, space, n - 1).stop for space in (rows, columns))
    matrix = np.zeros((height, width), dtype)
    for i in range(n):
        for k in range(n):
            x = block_of(i, k)
            if x is not None:
                matrix[_place(model, rows, i), _place(model, columns, k)] = x
    return matrix


def diagonal(model, blocks, rows="body", columns="body"):
    """diag[blocks]: one block per body, by a sequence or a function of k; None is zero."""
    block_of = blocks if callable(blocks) else blocks.__getitem__
    return assemble(model, lambda i, k: block_of(k) if i == k else None, rows, columns)


def by_joint(model, x):
    """A joint-space vector as one vector per joint."""
    return [x[joint.rows] for joint in model.joints]


def phi_by_products(model, q, axes="link"):
    """phi(i, k) = phi(i, ..) ... phi(p(k), k) by {(i, k): 6 x 6}, for i inboard of or at k.

    Made of the blocks phi(p(k), k) of E_phi alone, by multiplying along each path.
    """
    step = pp.as_matrix(model, E_phi, q, axes=axes)
    result = {}
    for k in range(len(model.bodies)):
        product, outer = np.eye(6, dtype=step.dtype), k
        result[k, k] = product
        for i in model.tree.path(model.tree.parent[k]):
            product = block(model, step, i, outer) @ product
            result[i, k], outer = product, i
    return result


def is_serial(model):
    """Whether every body has at most one child and there is one root."""
    return all(p == k - 1 for k, p in enumerate(model.tree.parent))


def _place(model, space, k):
    if space == "joint":
        return model.joints[k].rows
    assert space == "body", f"space {space!r} is neither 'body' nor 'joint'"
    start = sum(body.size for body in model.bodies[:k])
    return slice(start, start + model.bodies[k].size)


def _size(model, space, k):
    place = _place(model, space, k)
    return place.stop - place.start


def _flat(x):
    if isinstance(x, (list, tuple)):
        return np.concatenate([_flat(part) for part in x]) if x else np.zeros(0)
    return np.ravel(x)
