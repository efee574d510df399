"""The letters of the papers, as model-independent symbols.

    from phipsi.operators import H, phi, M
    Mass = H @ phi @ M @ phi.T @ H.T

Each letter is either primitive (its blocks come from the machine) or defined
by a formula in terms of others; `symbol.definition` shows it. Free letters
get their value at evaluation. `docs/notation.md` has the table with every
author's letter. Where the papers clash, the choice is noted here:

    R  composite inertia; r in [001], [004]
    J  the Jacobian; the papers' rotational inertia is never a symbol
    K  E_phi G; [004] has L = phi G and S L = K
    S  the shift; S[x] is the force cross product of [000 (2.7)]
    C  the whole bias, gravity included [001 (23) with 004-I (3.21)]
    Y  Upsilon of [002 (A.3)], corrected for trees
    U  potential energy; in Featherstone and Pinocchio P H*
    X  turns axes, without a lever; Featherstone's X is our phi
"""

from __future__ import annotations

from collections.abc import Hashable
from keyword import iskeyword

from phipsi.algebra.node import Bracket, Diagonal, Identity, Node, Opener, Symbol
from phipsi.algebra.show import in_brackets
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    POSE,
    SCALAR,
    Causality,
    Space,
    are_paired,
    as_space,
    is_dense,
    own_space,
)
from phipsi.errors import InputError, SpaceError

MEMORYLESS, CAUSAL, ANTICAUSAL, MIXED = (
    Causality.MEMORYLESS,
    Causality.CAUSAL,
    Causality.ANTICAUSAL,
    Causality.MIXED,
)


class _Callable(Symbol):
    """A letter that may carry arguments: `B(point)`, `HH_delta("elbow")`."""

    def __call__(self, *arguments: Hashable) -> Symbol:
        """The same letter with its arguments, its definition's letters likewise."""
        if not arguments:
            raise InputError(f"{self.name}(): expected at least one argument")
        for argument in arguments:
            if not isinstance(argument, Hashable):
                raise InputError(
                    f"{self.name}(...): expected names, numbers or points, got {argument!r}"
                )
        formula = self.definition
        definition = None if formula is None else _with_arguments(formula, arguments)
        return Symbol(self.name, self.source, self.target, self.causality, arguments, definition)


class _Articulated(Symbol):
    """A letter of articulated bodies, which may be that of another inertia: `psi[M + M_a]`."""

    def __getitem__(self, inertia: Node | tuple[Node, Node | int]) -> Symbol:
        """The same letter of H phi W phi* H* + N: `D[W]` with the rotors Jm for N, or `D[W, N]`."""
        from phipsi.algebra.rewriting.inertia import of_inertia

        return of_inertia(self, *(inertia if isinstance(inertia, tuple) else (inertia,)))


class _Shift(Symbol):
    """S, which also opens the bracket S[x]."""

    def __call__(self, *arguments: object) -> Node:
        raise SpaceError(in_brackets(self.name, arguments))

    def __getitem__(self, vector: Node) -> Node:
        return Bracket("S", vector)


def _with_arguments(node: Node, arguments: tuple) -> Node:
    if isinstance(node, _Callable):
        return node(*arguments)
    if not node.children:
        return node
    return node.rebuild(tuple(_with_arguments(child, arguments) for child in node.children))


def _define(name: str, definition: Node, kind: type[Symbol] = Symbol) -> Symbol:
    """A letter that stands for a formula, typed by it."""
    source, target = definition.source, definition.target
    assert source is not None and target is not None
    return kind(name, source, target, definition.causality, definition=definition)


def _vector(name: str, space: Space, free: bool = False) -> Symbol:
    return Symbol(name, SCALAR, space, free=free)


# -- the machine -----------------------------------------------------------------------

I = Identity()
H = Symbol("H", BODY, JOINT)  # joint map [001 (18)]
H_dot = Symbol("H_dot", BODY, JOINT)  # (sum_a Gamma_a beta_a)*: dH/dt in link axes
M = Symbol("M", BODY, BODY)  # spatial inertias [001 (2)]
Jm = Symbol("Jm", JOINT, JOINT)  # rotor inertia, reflected
E_phi = Symbol("E_phi", BODY, BODY, CAUSAL)  # phi(p(k),k) at (p(k),k) [002 (2.7)]
S = _Shift("S", BODY, BODY, CAUSAL)  # shift: a turn without a lever [000 sec. 2.1]
Delta_phi = Symbol("Delta_phi", BODY, BODY)  # E_phi = S Delta_phi [000 (3.28)]
E = Symbol("E", BASE, BODY, ANTICAUSAL)  # the base's motion at the roots [004-I (3.8)]
B = _Callable("B", POINTS, BODY)  # points [002 (2.13)]
X = _Callable("X", POINTS, POINTS)  # diag(R_k, R_k): axes of the points' bodies to world axes
S_q = Symbol("S_q", COORDINATES, JOINT, MIXED)  # mimic joints: beta = S_q v

phi = _define("phi", (I - E_phi).inv)  # [002 (2.9)]
phi_tilde = _define("phi_tilde", phi - I)  # [004-I (5.11)]
J = _Callable("J", JOINT, POINTS, ANTICAUSAL, definition=B.T @ phi.T @ H.T)  # [001 (20)]
Mass = _define("Mass", H @ phi @ M @ phi.T @ H.T + Jm)  # [001 (22)]
R = Symbol("R", BODY, BODY)  # M = R - blockdiag(E_phi R E_phi*) [000 (5.44)]

# -- articulated bodies ----------------------------------------------------------------

P = _Articulated("P", BODY, BODY)  # M = P - E_phi (tau_bar P) E_phi* [002 (3.1)]
D = _define("D", H @ P @ H.T + Jm, _Articulated)  # [002 (3.2)]
G = _define("G", P @ H.T @ D.inv, _Articulated)  # [002 (3.2)]
tau = _define("tau", G @ H)  # [002 (3.2)]
tau_bar = _define("tau_bar", I - tau, _Articulated)  # [002 (3.2)]
K = _define("K", E_phi @ G, _Articulated)  # [002 (3.2)]
E_psi = _define("E_psi", E_phi @ tau_bar)  # [002 (3.2)]
psi = _define("psi", (I - E_psi).inv, _Articulated)  # [002 (3.3)]
psi_tilde = _define("psi_tilde", psi - I)
Omega = _define("Omega", psi.T @ H.T @ D.inv @ H @ psi)  # [002 (3.10)]
Y = Symbol("Y", BODY, BODY)  # H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)

# -- sensitivities: of joint i, and of its speed a where it has several ----------------

HH = _Callable("HH", BODY, BODY)  # HH(i) at i and outboard of it [000 (2.13)]
HH_s = _Callable("HH_s", BODY, BODY)  # HH(i) strictly outboard of i [000 (2.12)]
HH_delta = _Callable("HH_delta", BODY, BODY)  # HH(i) at i [000 (2.13)]
Gamma_delta = _Callable("Gamma_delta", JOINT, BODY)  # D_{ia} H* at i

# -- brackets --------------------------------------------------------------------------

Q = Opener("Q", "Q[z] = [[x~, y~], [y~, 0]], block by block [000 (2.8)].")
cross = Opener("cross", "z~ = [[x~, 0], [y~, x~]], block by block [000 (2.5)].")


def blockdiag(expression: Node) -> Node:
    """The memoryless part of an operator: blocks off the diagonal dropped.

    >>> blockdiag(phi @ M @ phi.T)
    blockdiag(phi @ M @ phi.T)
    """
    if not isinstance(expression, Node):
        raise SpaceError(f"cannot take blockdiag({expression!r}); expected an expression")
    return Diagonal(expression)


# -- vectors ---------------------------------------------------------------------------

beta = _vector("beta", JOINT)  # joint speeds [002 sec. 2.1]
beta_dot = _vector("beta_dot", JOINT, free=True)  # joint accelerations
T = _vector("T", JOINT, free=True)  # joint forces
f0 = _vector("f0", POINTS, free=True)  # forces of the points ON the environment [001 (23)]
gravity = _vector("gravity", BASE)  # base acceleration that stands for gravity [004-I (3.21)]
a = _vector("a", BODY)  # Coriolis acceleration [001 (8)]
b = _vector("b", BODY)  # gyroscopic force [001 (11)]
c = _Callable("c", SCALAR, POINTS)  # [0; omega x v]: a point accelerates by X (B* alpha + c)
pose = _vector("pose", POSE)  # the rows of R_k, then the origin of body k, in the world
U = Symbol("U", SCALAR, SCALAR)  # potential energy of gravity, -sum m g . x

V = _define("V", phi.T @ H.T @ beta)  # [001 (21)]
alpha = _define("alpha", phi.T @ (H.T @ beta_dot + a + E @ gravity))  # [001 (25)]
f = _define("f", phi @ (M @ alpha + b))  # [002 (2.5)]
C = _define("C", H @ phi @ (M @ phi.T @ (a + E @ gravity) + b))  # [001 (23)]

# -- the user's own --------------------------------------------------------------------


def space(name: str, size: int) -> Space:
    """A space of the user's: one block of `size` numbers for the whole machine.

    The same name and size are the same space. Operators between it and any other space are
    dense matrices, as the constraints of a closed chain [002 (3.13)].

    Args:
        name: for messages; an identifier that no other space has.
        size: how many numbers a vector has.

    >>> loop = space("loop", 5)
    >>> A = operator("A", "point", loop)
    >>> (A @ J @ Mass.inv @ J.T @ A.T).inv @ vector("u", loop)
    (A @ J @ Mass.inv @ J.T @ A.T).inv @ u
    """
    return own_space(name, size)


def operator(name: str, source: Space | str, target: Space | str) -> Symbol:
    """An operator of the user's, its value given at evaluation.

    Between bodies and joints, and of a space to itself, it is block diagonal, and its value a
    list of blocks. From or to a space of the user's own (`space`) it is one matrix.

    >>> A = operator("A", "body", "body")
    >>> A @ phi
    A @ phi
    >>> operator("Q_a", "joint", space("loop", 5)) @ Mass.inv
    Q_a @ Mass.inv
    """
    start, end = as_space(source), as_space(target)
    if not are_paired(start, end) and not is_dense(start, end):
        raise SpaceError(
            f"cannot make {name} from {start} to {end}: it has no diagonal\n  a block-diagonal "
            "operator maps between bodies and joints, or a space to itself, a dense one from or to "
            "a space(...) of your own; see also vector(...)"
        )
    causality = MEMORYLESS if are_paired(start, end) else MIXED
    return Symbol(own_name(name), start, end, causality, free=True)


def vector(name: str, space: Space | str) -> Symbol:
    """A vector of the user's, its value given at evaluation.

    >>> phi @ vector("x", "body")
    phi @ x
    """
    return _vector(own_name(name), as_space(space), free=True)


def scalar(name: str) -> Symbol:
    """A number of the user's, its value given at evaluation.

    >>> scalar("k") * M
    k * M
    """
    return Symbol(own_name(name), SCALAR, SCALAR, free=True)


LETTERS: dict[str, Node | Opener] = {
    str(getattr(value, "name", name)): value
    for name, value in list(globals().items())
    if isinstance(value, (Node, Opener))
}


_STATE = ("q", "v", "axes", "points", "model", "expression", "out")
ARGUMENTS = {  # of functions that take values of symbols by name
    "as_matrix and of compiled functions": _STATE,
    "explain and of drawings": ("view", "inspect", "factors"),
}


def own_name(name: str) -> str:
    """A name for a symbol of the user's; InputError if it is none, or taken."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise InputError(f"a symbol needs a name that is an identifier, got {name!r}")
    if name in LETTERS:
        raise InputError(f"the name {name!r} is a letter of the algebra; choose another one")
    for functions, arguments in ARGUMENTS.items():
        if name in arguments:
            raise InputError(f"the name {name!r} is an argument of {functions}; choose another one")
    return name
