"""The algebra of one body's small blocks, over any kind of scalar.

A vector is a flat list of scalars, a matrix a list of rows. Zeros and ones that
the structure of a machine fixes (of `H*`, of `phi`, of an inertia) are the
Python *ints* 0 and 1; every operation skips them, and what they alone determine
is again such an int. So `H*` of a revolute joint about z, the rows
`[[0], [0], [1], [0], [0], [0]]`, costs nothing. The floats 0.0 and 1.0 are
ordinary numbers: no operation asks for a value, since a batch or a graph node
has no single one.

A symmetric matrix is written out in full; its entries (i,j) and (j,i) are one
object, computed once. What reads a symmetric matrix reads its upper triangle.

A pivot that is a structural zero raises ZeroDivisionError, as a float does.
"""

from collections.abc import Callable

from phipsi import scalars, spatial
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

# -- scalars ---------------------------------------------------------------------------


def is_zero(x: Scalar) -> bool:
    """Whether x is zero by structure: the int 0, not the number 0.0."""
    return type(x) is int and x == 0


def is_one(x: Scalar) -> bool:
    """Whether x is one by structure: the int 1, not the number 1.0."""
    return type(x) is int and x == 1


def plus(x: Scalar, y: Scalar) -> Scalar:
    """x + y; 1 + 1 is the number 2.0."""
    if type(x) is int or type(y) is int:
        if is_zero(x):
            return y
        if is_zero(y):
            return x
        x = _number(x)
    return x + y


def minus(x: Scalar, y: Scalar) -> Scalar:
    """x - y; 1 - 1 is the zero of the structure."""
    if type(x) is int or type(y) is int:
        if is_zero(y):
            return x
        if is_zero(x):
            return negative(y)
        if is_one(x) and is_one(y):
            return 0
        x = _number(x)
    return x - y


def negative(x: Scalar) -> Scalar:
    """-x; -1 is the number -1.0."""
    return 0 if is_zero(x) else -_number(x)


def times(x: Scalar, y: Scalar) -> Scalar:
    """x y; a zero of the structure times anything is that zero."""
    if type(x) is int or type(y) is int:
        if is_zero(x) or is_zero(y):
            return 0
        if is_one(x):
            return y
        if is_one(y):
            return x
        x = _number(x)
    return x * y


def over(x: Scalar, y: Scalar) -> Scalar:
    """x / y."""
    if type(x) is int or type(y) is int:
        if is_zero(y):
            raise ZeroDivisionError("division by a zero of the structure")
        if is_zero(x) or is_one(y):
            return x
        x = _number(x)
    return x / y


def magnitude(x: Scalar) -> Scalar:
    """|x|; a zero or one of the structure stays what it is."""
    return x if type(x) is int else scalars.absolute(x)


def _number(x: Scalar) -> Scalar:
    """x as a number: of a zero or one of the structure the float."""
    return float(x) if type(x) is int else x


# -- vectors ---------------------------------------------------------------------------


def zeros(n: int) -> list[Scalar]:
    """The structural zero vector."""
    return [0] * n


def add(x: Vector, y: Vector) -> list[Scalar]:
    """x + y."""
    return [plus(a, b) for a, b in zip(x, y, strict=True)]


def subtract(x: Vector, y: Vector) -> list[Scalar]:
    """x - y."""
    return [minus(a, b) for a, b in zip(x, y, strict=True)]


def negate(x: Vector) -> list[Scalar]:
    """-x."""
    return [negative(a) for a in x]


def scale(factor: Scalar, x: Vector) -> list[Scalar]:
    """factor x."""
    return [times(factor, a) for a in x]


def dot(x: Vector, y: Vector) -> Scalar:
    """x* y, without complex conjugate."""
    total: Scalar = 0
    for a, b in zip(x, y, strict=True):
        # In line, without calls: a congruence of 6 x 6 floats takes a third less time so.
        if (type(a) is int and a == 0) or (type(b) is int and b == 0):
            continue
        total = plus(total, times(a, b))
    return total


def cross(x: Vector, y: Vector) -> list[Scalar]:
    """x~ y of 3-vectors."""
    return [
        minus(times(x[1], y[2]), times(x[2], y[1])),
        minus(times(x[2], y[0]), times(x[0], y[2])),
        minus(times(x[0], y[1]), times(x[1], y[0])),
    ]


# -- matrices --------------------------------------------------------------------------


def zero_matrix(n: int, m: int) -> list[list[Scalar]]:
    """The structural zero matrix, n x m."""
    return [[0] * m for _ in range(n)]


def identity(n: int) -> list[list[Scalar]]:
    """The structural identity."""
    return [[int(i == j) for j in range(n)] for i in range(n)]


def transpose(A: Matrix) -> list[list[Scalar]]:
    """A*."""
    return [list(column) for column in zip(*A, strict=True)]


def mirrored(n: int, entry: Callable[[int, int], Scalar]) -> list[list[Scalar]]:
    """The symmetric matrix with entry(i, j) at (i,j) and (j,i), asked for i <= j only."""
    W = zero_matrix(n, n)
    for i in range(n):
        for j in range(i, n):
            W[i][j] = W[j][i] = entry(i, j)
    return W


def add_matrices(A: Matrix, B: Matrix, symmetric: bool = False) -> list[list[Scalar]]:
    """A + B; with `symmetric`, of symmetric matrices."""
    if symmetric:
        return mirrored(len(A), lambda i, j: plus(A[i][j], B[i][j]))
    return [add(a, b) for a, b in zip(A, B, strict=True)]


def subtract_matrices(A: Matrix, B: Matrix, symmetric: bool = False) -> list[list[Scalar]]:
    """A - B; with `symmetric`, of symmetric matrices."""
    if symmetric:
        return mirrored(len(A), lambda i, j: minus(A[i][j], B[i][j]))
    return [subtract(a, b) for a, b in zip(A, B, strict=True)]


def negate_matrix(A: Matrix, symmetric: bool = False) -> list[list[Scalar]]:
    """-A; with `symmetric`, of a symmetric matrix."""
    if symmetric:
        return mirrored(len(A), lambda i, j: negative(A[i][j]))
    return [negate(row) for row in A]


def scale_matrix(factor: Scalar, A: Matrix, symmetric: bool = False) -> list[list[Scalar]]:
    """factor A; with `symmetric`, of a symmetric matrix."""
    if symmetric:
        return mirrored(len(A), lambda i, j: times(factor, A[i][j]))
    return [scale(factor, row) for row in A]


def apply(A: Matrix, x: Vector) -> list[Scalar]:
    """A x."""
    return [dot(row, x) for row in A]


def apply_transposed(A: Matrix, x: Vector) -> list[Scalar]:
    """A* x."""
    return [dot(column, x) for column in zip(*A, strict=True)]


def compose(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A B."""
    return compose_transposed(A, transpose(B))


def compose_transposed(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A B*."""
    return [[dot(a, b) for b in B] for a in A]


def transposed_compose(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A* B."""
    return compose_transposed(transpose(A), transpose(B))


def congruence(A: Matrix, W: Matrix) -> list[list[Scalar]]:
    """A W A* of a symmetric W, symmetric."""
    AW = compose_transposed(A, W)
    return mirrored(len(A), lambda i, j: dot(AW[i], A[j]))


def congruence_transposed(A: Matrix, W: Matrix) -> list[list[Scalar]]:
    """A* W A of a symmetric W, symmetric."""
    return congruence(transpose(A), W)


# -- factors and inverses --------------------------------------------------------------


def cholesky(W: Matrix) -> list[list[Scalar]]:
    """The lower triangular L with W = L L*, of a symmetric positive definite W.

    A diagonal W costs n square roots.
    """
    n = len(W)
    L = zero_matrix(n, n)
    for j in range(n):
        L[j][j] = _root(minus(W[j][j], dot(L[j], L[j])))
        below = [minus(W[j][i], dot(L[i], L[j])) for i in range(j + 1, n)]
        if not all(map(is_zero, below)):
            below = scale(over(1, L[j][j]), below)
        for i, x in enumerate(below, j + 1):
            L[i][j] = x
    return L


def _root(pivot: Scalar) -> Scalar:
    """The square root of a pivot, which is positive."""
    if is_zero(pivot):
        raise ZeroDivisionError("a pivot is a zero of the structure: not positive definite")
    if isinstance(pivot, float) and pivot < 0.0:  # math.sqrt would raise an error of its own
        raise ZeroDivisionError("a pivot is negative: not positive definite")
    return 1 if is_one(pivot) else scalars.sqrt(pivot)


def symmetric_inverse(W: Matrix) -> list[list[Scalar]]:
    """W^-1 of a symmetric positive definite W, symmetric.

    From W = L D L*, L unit lower triangular: `W^-1 = X* D^-1 X` with X = L^-1.
    A full W costs n^3 flops, n of them divisions; a diagonal one n divisions.
    """
    n = len(W)
    L, X_star = identity(n), identity(n)
    LD, D_inverse = zero_matrix(n, n), zeros(n)
    # Whole rows are multiplied: entries still to come are zeros, which cost nothing.
    for j in range(n):
        D_inverse[j] = over(1, minus(W[j][j], dot(LD[j], L[j])))
        for i in range(j + 1, n):
            LD[i][j] = minus(W[j][i], dot(LD[i], L[j]))
            L[i][j] = times(LD[i][j], D_inverse[j])
        for i in range(j):
            X_star[i][j] = negative(dot(X_star[i], L[j]))
    XD = [[times(x, d) for x, d in zip(row, D_inverse, strict=True)] for row in X_star]
    return mirrored(n, lambda i, j: dot(XD[i], X_star[j]))


def factored(W: Matrix) -> list[list[Scalar]]:
    """W = L D L* of a symmetric positive definite W, as one matrix.

    L, unit lower triangular, stands below the diagonal, 1/D on it.
    """
    n = len(W)
    F, LD = zero_matrix(n, n), zero_matrix(n, n)
    for j in range(n):
        F[j][j] = over(1, minus(W[j][j], dot(F[j][:j], LD[j][:j])))
        for i in range(j + 1, n):
            LD[i][j] = minus(W[j][i], dot(LD[i][:j], F[j][:j]))
            F[i][j] = times(LD[i][j], F[j][j])
    return F


def forward_solved(F: Matrix, b: Vector) -> list[Scalar]:
    """L^-1 b, of `factored`."""
    x: list[Scalar] = []
    for i, row in enumerate(F):
        x.append(minus(b[i], dot(row[:i], x)))
    return x


def solved(F: Matrix, b: Vector) -> list[Scalar]:
    """W^-1 b, of `factored`: keeps more digits than W^-1 times b."""
    n = len(F)
    x = [times(F[i][i], y) for i, y in enumerate(forward_solved(F, b))]
    for i in range(n - 2, -1, -1):
        x[i] = minus(x[i], dot([F[k][i] for k in range(i + 1, n)], x[i + 1 :]))
    return x


def general_inverse(A: Matrix) -> list[list[Scalar]]:
    """A^-1 of any invertible A, by Gauss-Jordan elimination with partial pivoting.

    Rows are exchanged by `where`, entry by entry: each member of a batch has
    pivots of its own. Complex pivots compare by their real parts.
    """
    n = len(A)
    rows = [[*a, *e] for a, e in zip(A, identity(n), strict=True)]
    for k in range(n):
        _raise_pivot(rows, k)
        column = [row.pop(0) for row in rows]  # a column of the identity once we are done with it
        rows[k] = scale(over(1, column[k]), rows[k])
        for i in range(n):
            if i != k:
                rows[i] = subtract(rows[i], scale(column[i], rows[k]))
    return rows


def _raise_pivot(rows: list[list[Scalar]], k: int) -> None:
    """Exchange the rows from k on until the largest entry of the first column is in row k."""
    candidates = [i for i in range(k, len(rows)) if not is_zero(rows[i][0])]
    if not candidates:
        raise ZeroDivisionError("a matrix that is singular by its structure has no inverse")
    first, *others = candidates
    rows[k], rows[first] = rows[first], rows[k]
    for i in others:
        # Of the difference: a comparison needs the variable on its left, and either may be one.
        below = scalars.less(minus(_size(rows[k][0]), _size(rows[i][0])), 0.0)
        pairs = list(zip(rows[k], rows[i], strict=True))
        rows[k] = [_choose(below, y, x) for x, y in pairs]
        rows[i] = [_choose(below, x, y) for x, y in pairs]


def _choose(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """`where`; a zero or one of the structure stays one only if both sides agree on it."""
    if type(x) is int and type(y) is int and x == y:
        return x
    return scalars.where(condition, _number(x), _number(y))


def _size(x: Scalar) -> Scalar:
    """|x|, of a complex number by its real part."""
    x = _number(x)
    return scalars.where(scalars.less(x, 0.0), -x, x)


# -- spatial cross products ------------------------------------------------------------


def cross_motion(z: Vector, x: Vector) -> list[Scalar]:
    """z~ x, the motion cross product [000 (2.5)]: `[a~ p; b~ p + a~ q]` of [a; b] and [p; q]."""
    a, b, p, q = z[:3], z[3:], x[:3], x[3:]
    return [*cross(a, p), *add(cross(b, p), cross(a, q))]


def cross_force(z: Vector, f: Vector) -> list[Scalar]:
    """S[z] f, the force cross product [000 (2.7)]: `[a~ p + b~ q; a~ q]` of [a; b] and [p; q]."""
    a, b, p, q = z[:3], z[3:], f[:3], f[3:]
    return [*add(cross(a, p), cross(b, q)), *cross(a, q)]


def cross_adjoint(z: Vector, x: Vector) -> list[Scalar]:
    """Q[z] x, with `S[x] z = -Q[z] x` [000 (2.8)]: `[a~ p + b~ q; b~ p]` of [a; b] and [p; q]."""
    a, b, p, q = z[:3], z[3:], x[:3], x[3:]
    return [*add(cross(a, p), cross(b, q)), *cross(b, p)]


def cross_motion_matrix(z: Vector) -> list[list[Scalar]]:
    """`z~ = [[a~, 0], [b~, a~]]` of z = [a; b] [000 (2.5)]."""
    a, b = tilde(z[:3]), tilde(z[3:])
    return spatial.blocks(a, zero_matrix(3, 3), b, a)


def cross_force_matrix(z: Vector) -> list[list[Scalar]]:
    """`S[z] = [[a~, b~], [0, a~]]` of z = [a; b] [000 (2.7)]."""
    a, b = tilde(z[:3]), tilde(z[3:])
    return spatial.blocks(a, b, zero_matrix(3, 3), a)


def cross_adjoint_matrix(z: Vector) -> list[list[Scalar]]:
    """`Q[z] = [[a~, b~], [b~, 0]]` of z = [a; b] [000 (2.8)]."""
    a, b = tilde(z[:3]), tilde(z[3:])
    return spatial.blocks(a, b, b, zero_matrix(3, 3))


def tilde(x: Vector) -> list[list[Scalar]]:
    """x~, the matrix of the cross product with a 3-vector."""
    return [[0, negative(x[2]), x[1]], [x[2], 0, negative(x[0])], [negative(x[1]), x[0], 0]]
