"""What each letter of the algebra does to a vector, and its blocks, as statements.

The dense meaning of the same letters is in `letters.py`; tests hold the two
against each other. Both tell the letter's record by `algebra.alphabet.tells`; what each step
is stands in `Steps` there. Letters of other families tell theirs in the call that makes them.
"""

from __future__ import annotations

from functools import partial

from phipsi.algebra import elements
from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import tells
from phipsi.algebra.families import family_of
from phipsi.algebra.node import Bracket, Node, Symbol
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, SCALAR
from phipsi.errors import LoweringError
from phipsi.lowering import recursions
from phipsi.lowering.lower import (
    SQUARE,
    VECTOR_OF,
    Lowering,
)
from phipsi.lowering.program import (
    BODIES,
    WORLD,
    At,
    Columns,
    Domain,
    Effect,
    Read,
    Shape,
    Slot,
)
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import (
    AXIS,
    CARRIED,
    CARRIED_TO_BASE,
    COMPOSITE,
    LOADED,
    P_PLUS,
    UNIT_BLOCK,
    UNIT_ENTRY,
    UNIT_VECTOR,
    is_symmetric,
)
from phipsi.lowering.writer import NUMBER

ARROW = Shape(BODY, JOINT)  # of H*, G and the like


vector, applied, block = (partial(tells, step=x) for x in ("vector", "applied", "block"))
inverse, solved = partial(tells, step="inverse"), partial(tells, step="solve")
carried, carried_back = partial(tells, step="carry"), partial(tells, step="carry_back")


# -- the machine -----------------------------------------------------------------------


@applied(op.H)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """H x, H* y: a pick and a placement where the joint's axes are the frame's."""
    x, H_star = low.vector(rest), recursions.joint_map(low)
    if star:
        return low.emit("apply", (H_star, x), VECTOR_OF[BODY])
    return low.emit("apply_transposed", (H_star, x), VECTOR_OF[JOINT])


@block(op.H)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("transpose", (recursions.joint_map(low),), Shape(JOINT, BODY))


@applied(op.H_dot)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """dH/dt x, (dH/dt)* y."""
    x, rate = low.vector(rest), map_rate(low)
    if star:
        return low.emit("apply", (rate, x), VECTOR_OF[BODY])
    return low.emit("apply_transposed", (rate, x), VECTOR_OF[JOINT])


@block(op.H_dot)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("transpose", (map_rate(low),), Shape(JOINT, BODY))


def map_rate(low: Lowering) -> Slot:
    """dH*/dt = sum_a Gamma_a beta_a."""
    return low.emit(
        "map_rate", (recursions.coordinates(low), low.vector(op.beta)), ARROW, name="dH*"
    )


@applied(op.M)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """M x, by mass, mass centre and rotational inertia [001 (2)]."""
    return low.emit("momentum", (low.vector(rest),), VECTOR_OF[BODY])


@block(op.M)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("inertia", (), SQUARE, name="M")


@applied(op.Jm)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """Jm y: the reflected rotor inertia times each speed."""
    return low.emit("rotor", (low.vector(rest),), VECTOR_OF[JOINT])


@block(op.Jm)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("rotor_inertia", (), Shape(JOINT, JOINT, symmetric=True), name="Jm")


# -- from body to body -----------------------------------------------------------------


@applied(op.E_phi)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """phi(p,k) x(k) pushed to the parent; phi*(p,k) x(p) pulled from it."""
    return _move(low, star, rest, "inward", "outward")


@applied(op.S)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """The same without a lever: a turn between the axes of k and of its parent."""
    return _move(low, star, rest, "turn_inward", "turn_outward")


def _move(low: Lowering, star: bool, rest: Node, push: str, pull: str) -> Slot:
    x, X = low.vector(rest), recursions.transform(low)
    if star:
        return low.emit(pull, (X, Read(x, At.PARENT)), VECTOR_OF[BODY], domain=x.domain)
    return low.emit(push, (X, x), VECTOR_OF[BODY], effect=Effect.PUSH)


@carried(op.E_phi)
def _(low: Lowering, W: Slot) -> Slot:
    """phi(p,k) W phi*(p,k), by the two screws of phi(p,k)."""
    step, shape = (
        "carry" if W.shape.symmetric else "carry_any",
        Shape(BODY, BODY, W.shape.symmetric),
    )
    return low.emit(step, (recursions.transform(low), W), shape, effect=Effect.PUSH)


@carried_back(op.E_phi)
def _(low: Lowering, W: Slot) -> Slot:
    """phi*(p,k) W phi(p,k) of the parent's W."""
    step = "carry_back" if W.shape.symmetric else "carry_back_any"
    shape = Shape(BODY, BODY, W.shape.symmetric)
    return low.emit(step, (recursions.transform(low), Read(W, At.PARENT)), shape)


@carried(op.S)
def _(low: Lowering, W: Slot) -> Slot:
    """The turn of W into the axes of the parent."""
    shape = Shape(BODY, BODY, W.shape.symmetric)
    return low.emit("turn_carry_any", (recursions.transform(low), W), shape, effect=Effect.PUSH)


@applied(op.phi)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """z = x + E_phi z, or with E_phi*."""
    whole = (letter.T if star else letter) @ rest
    return low.recur(whole, rest, [-(op.E_phi.T if star else op.E_phi)])


@applied(op.psi)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """z = x + E_phi tau_bar z; outward z = x + tau_bar* E_phi* z."""
    step = op.tau_bar.T @ op.E_phi.T if star else op.E_phi @ op.tau_bar
    return low.recur((letter.T if star else letter) @ rest, rest, [-step])


@applied(op.Delta_phi)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """phi(p,k) in the axes of k: E_phi = S Delta_phi [000 (3.28)]."""
    step = "lever_outward" if star else "lever_inward"
    return low.emit(step, (recursions.transform(low), low.vector(rest)), VECTOR_OF[BODY])


@block(op.Delta_phi)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("lever_matrix", (recursions.transform(low),), Shape(BODY, BODY))


# -- the base --------------------------------------------------------------------------


@applied(op.E)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """phi*(world,k) x at the roots; what the roots push to the world."""
    x, X = low.vector(rest), recursions.transform(low)
    if star:
        return low.emit("to_base", (X, x), VECTOR_OF[BASE], effect=Effect.GATHER)
    return low.emit("from_base", (X, x), VECTOR_OF[BODY])


@vector(op.gravity)
def _(low: Lowering, letter: Symbol) -> Slot:
    """-[0; g], the base's acceleration that is felt as gravity [004-I (3.21)]."""
    return low.emit("gravity", (), VECTOR_OF[BASE], domain=WORLD, name="gravity")


# -- points ----------------------------------------------------------------------------


@applied(op.B)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """B f: the forces at the points of a body; B* x: the motion of each point."""
    x, there = low.vector(rest), Domain("point", points=letter.arguments)
    if star:
        return low.emit("to_point", (x,), VECTOR_OF[POINTS], domain=there)
    if x.domain.kind == "column":
        return low.emit("from_column", (x,), VECTOR_OF[BODY])
    read = Read(x, At.EACH_POINT)
    return low.emit("from_points", (read,), VECTOR_OF[BODY], (letter.arguments,))


@applied(op.X)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """From the axes of the point's body to the world's, and back."""
    x = low.vector(rest)
    there = x.domain if x.domain.kind == "column" else Domain("point", points=letter.arguments)
    step = "from_world_axes" if star else "to_world_axes"
    return low.emit(step, (recursions.link_pose(low), x), VECTOR_OF[POINTS], domain=there)


@block(op.B)
def _(low: Lowering, letter: Symbol) -> Slot:
    """None of its own: only of B A B*, with an A that acts on each point alone."""
    raise LoweringError(
        f"cannot take the blocks of a product with {letter} in O(N): its points do not stand "
        "alone; pp.as_matrix evaluates it densely"
    )


@block(op.X)
def _(low: Lowering, letter: Symbol) -> Slot:
    there, shape = Domain("point", points=letter.arguments), Shape(POINTS, POINTS)
    return low.emit("axes_matrix", (recursions.link_pose(low),), shape, domain=there)


@block(LOADED)
def _(low: Lowering, letter: Symbol) -> Slot:
    """B A B*: the sum over the points of a body."""
    B, A = letter.arguments
    read, shape = Read(low.block(A), At.EACH_POINT), Shape(BODY, BODY, is_symmetric(letter))
    return low.emit("load", (read,), shape, (B.arguments,))


@vector(op.c)
def _(low: Lowering, letter: Symbol) -> Slot:
    """[0; omega x v] of each point."""
    B = op.B(*letter.arguments) if letter.arguments else op.B
    V = low.vector(settle(B.T @ op.V))
    return low.emit("convective", (V,), VECTOR_OF[POINTS])


# -- coordinates -----------------------------------------------------------------------


@applied(op.S_q)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """Joint speeds of independent ones: the same where no joint follows another."""
    x = low.vector(rest)
    if low.plain or x.domain.kind == "column":
        return x
    if star:
        return low.emit("lead", (x,), VECTOR_OF[COORDINATES], effect=Effect.GATHER)
    return low.emit("follow", (x,), VECTOR_OF[JOINT], domain=BODIES)


# -- articulated bodies ----------------------------------------------------------------


@block(op.P)
def _(low: Lowering, letter: Symbol) -> Slot:
    """tip_to_base: P = M + sum_c phi (tau_bar P) phi* [001 (35)]."""
    return recursions.articulated(low, family_of(letter))


@block(P_PLUS)
def _(low: Lowering, letter: Symbol) -> Slot:
    """tau_bar P: the inertia felt through the free joint [001 (39)]."""
    return recursions.relieved(low, family_of(letter))


@block(op.D)
def _(low: Lowering, letter: Symbol) -> Slot:
    return recursions.pivot(low, family_of(letter))


@solved(op.D)
def _(low: Lowering, letter: Symbol, rest: Node) -> Slot:
    """D^-1 x, by LDL'."""
    return recursions.pivot_solve(low, family_of(letter), low.vector(rest))


@inverse(op.D)
def _(low: Lowering, letter: Symbol) -> Slot:
    """D^-1, watched."""
    return recursions.pivot_inverse(low, family_of(letter))


@block(op.G)
def _(low: Lowering, letter: Symbol) -> Slot:
    return recursions.gain(low, family_of(letter))


@applied(op.tau_bar)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """x - G (L x): what passes a free joint; x - L* (G* x) outward."""
    family, x = family_of(letter), low.vector(rest)
    L_star, N = recursions.hinge(low, family)
    step = "pass_motion" if star else "pass_force"
    return low.emit(step, (recursions.gain(low, family), L_star, N, x), VECTOR_OF[BODY])


@block(op.tau_bar)
def _(low: Lowering, letter: Symbol) -> Slot:
    family = family_of(letter)
    L_star, N = recursions.hinge(low, family)
    return low.emit("pass_matrix", (recursions.gain(low, family), L_star, N), Shape(BODY, BODY))


# -- recursions of blocks --------------------------------------------------------------


@block(op.R)
def _(low: Lowering, letter: Symbol) -> Slot:
    """tip_to_base: R = M + sum_c phi R phi* [000 (5.44)]."""
    return recursions.composite(low, op.E_phi, op.M, op.E_phi)


@block(op.Y)
def _(low: Lowering, letter: Symbol) -> Slot:
    """base_to_tip: Y = H* D^-1 H + psi* Y psi [002 (A.3)]."""
    E_psi = op.E_phi @ op.tau_bar
    return recursions.upsilon(low, E_psi, op.H.T @ op.D.inv @ op.H, E_psi)


@block(COMPOSITE)
def _(low: Lowering, letter: Symbol) -> Slot:
    """R = W + blockdiag(E R F*)."""
    return recursions.composite(low, *letter.arguments)


@block(CARRIED_TO_BASE)
def _(low: Lowering, letter: Symbol) -> Slot:
    """E* W E: of the roots, at the base."""
    W = low.block(letter.arguments[0])
    arguments = (recursions.transform(low), W)
    shape = Shape(BASE, BASE, W.shape.symmetric)
    return low.emit("block_to_base", arguments, shape, effect=Effect.GATHER)


@block(CARRIED)
def _(low: Lowering, letter: Symbol) -> Slot:
    """blockdiag(E W F*)."""
    E, W, F = letter.arguments
    return recursions.carry(low, E, low.block(W), F)


# -- sensitivities ---------------------------------------------------------------------


@vector(AXIS)
def _(low: Lowering, letter: Symbol) -> Slot:
    """H*(i) e_a at body i, zero elsewhere."""
    return low.emit("axis", (recursions.joint_map(low),), VECTOR_OF[BODY], letter.arguments)


def _pick_off(letter: Symbol) -> Node:
    """HH, HH_s, HH_delta as S[h], h the axis turned outward [000 (2.12), (2.13)]."""
    at_joint = AXIS(*letter.arguments)
    turned = (op.I - op.S.T).inv @ at_joint
    which = {op.HH_delta: at_joint, op.HH: turned, op.HH_s: turned - at_joint}
    (chosen,) = (x for one, x in which.items() if one.record is letter.record)
    return Bracket("S", settle(chosen))


@applied(op.HH, op.HH_s, op.HH_delta)
def _(low: Lowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    pick_off = _pick_off(letter)
    return low.vector((settle(pick_off.T) if star else pick_off) @ rest)


@block(op.HH, op.HH_s, op.HH_delta)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.block(_pick_off(letter))


@block(op.Gamma_delta)
def _(low: Lowering, letter: Symbol) -> Slot:
    """Gamma(i,a) = D_{ia} H*(i) at i."""
    return low.emit("map_derivative", (recursions.coordinates(low),), ARROW, letter.arguments)


@block(elements.at, elements.at_joint)
def _(low: Lowering, letter: Symbol) -> Slot:
    """I at body i or joint i, zero elsewhere."""
    shape = Shape(letter.target, letter.source, symmetric=True)
    return low.emit("selection", (), shape, (letter.target, *letter.arguments))


# -- vectors ---------------------------------------------------------------------------


@vector(op.beta)
def _(low: Lowering, letter: Symbol) -> Slot:
    return low.emit("speeds", (), VECTOR_OF[JOINT], name="beta")


@vector(op.a)
def _(low: Lowering, letter: Symbol) -> Slot:
    """a = V~ H* beta + (dH*/dt) beta [001 (8)]."""
    velocity(low)
    return low.vector(settle(op.cross[op.V] @ op.H.T @ op.beta + op.H_dot.T @ op.beta))


def velocity(low: Lowering) -> Slot:
    """V = phi* H* beta [001 (21)]."""
    V = low.vector(settle(op.V))
    low.note_letter(V, op.V)
    return V


@vector(op.b)
def _(low: Lowering, letter: Symbol) -> Slot:
    """b = S[V] M V [001 (11)]."""
    return low.emit("gyroscopic", (velocity(low),), VECTOR_OF[BODY], name="b")


@vector(op.pose)
def _(low: Lowering, letter: Symbol) -> Slot:
    """[[R_k, x_k], [0, 1]], row by row."""
    return low.emit("homogeneous", (recursions.link_pose(low),), VECTOR_OF[POSE])


@vector(op.U)
def _(low: Lowering, letter: Symbol) -> Slot:
    """-sum m g . x: of the moving bodies, and of what is welded to the world."""
    moving = low.emit("potential", (recursions.pose(low),), NUMBER, effect=Effect.GATHER)
    welded = low.emit("base_potential", (), NUMBER, domain=WORLD)
    return low.emit("add", (moving, welded), NUMBER)


@vector(UNIT_VECTOR)
def _(low: Lowering, letter: Symbol) -> Slot:
    """e_j of a space of the user's."""
    options = (letter.target, *letter.arguments)
    return low.emit(UNIT_VECTOR.name, (), Shape(letter.target), options, domain=WORLD)


@vector(UNIT_ENTRY)
def _(low: Lowering, letter: Symbol) -> Slot:
    """e_j at every body."""
    return low.emit(UNIT_ENTRY.name, (), VECTOR_OF[BODY], letter.arguments)


@vector(UNIT_BLOCK)
def _(low: Lowering, letter: Symbol) -> Slot:
    """The unit block of a column, where the column starts."""
    (columns,) = letter.arguments
    domain = Domain("column", columns)
    return low.emit("unit", (), VECTOR_OF[letter.target], (letter.target,), domain=domain)


def unit(columns: Columns) -> Symbol:
    """The vector that is the identity where each column starts, zero elsewhere."""
    what = UNIT_BLOCK.name, SCALAR, columns.space
    return Symbol(*what, arguments=(columns,), record=UNIT_BLOCK.record)
