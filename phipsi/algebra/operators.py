"""The letters of the papers, as model-independent symbols.

    from phipsi.operators import H, phi, M
    Mass = H @ phi @ M @ phi.T @ H.T

Each letter is either primitive (its blocks come from the machine) or defined
by a formula in terms of others; `symbol.definition` shows it. Free letters
get their value at evaluation. All that is known of a letter is told here, in the
call that makes it, and by `lowering.letters` and `lowering.vocabulary`, which know arrays and
programs: `alphabet.Letter` says what each fact is. `docs/notation.md` has
the table with every author's letter. Where the papers clash, the choice is noted here:

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

from functools import partial

from phipsi.algebra.alphabet import FORCE, MOTION, PAPERS, Letter
from phipsi.algebra.node import Bracket, Diagonal, Identity, Node, Opener, Symbol
from phipsi.algebra.own import define, entered, given, primitive
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
from phipsi.errors import SpaceError

MEMORYLESS, CAUSAL, ANTICAUSAL, MIXED = (
    Causality.MEMORYLESS,
    Causality.CAUSAL,
    Causality.ANTICAUSAL,
    Causality.MIXED,
)
INWARD, OUTWARD = True, False  # the way of a recursion
STEP = 32  # flops of phi(p,k) x

_letter = partial(primitive, alphabet=PAPERS)
_define = partial(define, alphabet=PAPERS)
_given = partial(given, alphabet=PAPERS)


class _Shift(Symbol):
    """S, which also opens the bracket S[x]."""

    def __call__(self, *arguments: object) -> Node:
        raise SpaceError(in_brackets(self.name, arguments))

    def __getitem__(self, vector: Node) -> Node:
        return Bracket("S", vector)


# -- the machine -----------------------------------------------------------------------

I = Identity()
PAPERS.enter("I", I)

H = _letter(
    "H",  # joint map [001 (18)]
    BODY,
    JOINT,
    carries=(None, FORCE),
    flops=0,
    unit=(0, 0),
    acts={
        "": ("the part along the axes of joint k", "what is measured of the state"),
        "*": ("as a motion of body k", "what a measurement adds to the adjoint variable"),
    },
    mechanics="joint map: the axes along which joint k moves",
    estimation="measurement map: what joint k sees of the state",
    formula="H(k), a row for each speed of the joint",
)
H_dot = _letter(
    "H_dot",  # (sum_a Gamma_a beta_a)*: dH/dt in link axes
    BODY,
    JOINT,
    carries=(None, FORCE),
    of_speeds=True,
    follows="V",
    flops=1,
    unit=(0, -1),
    mechanics="rate of the joint map by the joint's own motion",
    estimation="rate of the measurement map",
    formula="sum_a Gamma_a(k)* beta_a(k)",
)
M = _letter(
    "M",  # spatial inertias [001 (2)]
    BODY,
    BODY,
    positive=True,
    carries=(FORCE, MOTION),
    flops=42,
    unit=(1, 0),
    acts={"": ("as a force of body k", "as noise that drives the state")},
    mechanics="spatial inertia of body k alone, at its frame",
    estimation="covariance of the noise that drives the state at body k",
    formula="M(k) = [[inertia, m p~], [-m p~, m I]], p the mass centre",
)
Jm = _letter(
    "Jm",  # rotor inertia, reflected
    JOINT,
    JOINT,
    positive=True,
    look="J_m",
    flops=1,
    unit=(1, 0),
    mechanics="rotor inertia of joint k, reflected through its gear",
    estimation="covariance of the measurement noise of joint k",
    formula="gear_ratio^2 rotor_inertia",
)
E_phi = _letter(
    "E_phi",  # phi(p(k),k) at (p(k),k) [002 (2.7)]
    BODY,
    BODY,
    causality=CAUSAL,
    strict=True,
    carries=(FORCE, FORCE),
    look="cal:E_phi",  # [000 (1.4)], [002 (2.3)]
    flops=STEP,
    unit=(0, 0),
    element="phi",
    mechanics="one step inward: force of body k as felt by its parent, joint locked",
    estimation="one step of the state's transition",
    formula="phi(p(k),k) at (p(k),k)",
    one_step=True,
)
S = entered(
    _Shift(
        "S",  # shift: a turn without a lever [000 sec. 2.1]
        BODY,
        BODY,
        CAUSAL,
        record=Letter(
            "S",
            PAPERS,
            strict=True,
            also=("bb:S", "cal:S"),  # the shift; S[z] [000 (2.7)]
            flops=18,
            unit=(0, 0),
            mechanics="shift: a turn into the parent's axes, without a lever",
            estimation="shift of the state by one step",
            formula="the turn in phi(p(k),k)",
            one_step=True,
        ),
    )
)
Delta_phi = _letter(
    "Delta_phi",  # E_phi = S Delta_phi [000 (3.28)]
    BODY,
    BODY,
    flops=12,
    unit=(0, 0),
    mechanics="the lever of phi(p,k), in the axes of k",
    estimation="the transition without the shift",
    formula="E_phi = S Delta_phi",
)
E = _letter(
    "E",  # the base's motion at the roots [004-I (3.8)]
    BASE,
    BODY,
    causality=ANTICAUSAL,
    carries=(MOTION, None),
    flops=1,
    unit=(0, 0),
    mechanics="motion of the base, felt by the bodies that hang on it",
    estimation="boundary value of the smoother at the base",
    formula="phi*(0,k) at each root k",
    where="at the roots",
)
B = _letter(
    "B",  # points [002 (2.13)]
    POINTS,
    BODY,
    of="points",
    carries=(FORCE, None),
    flops=12,
    unit=(0, 0),
    element="phi",
    mechanics="forces at points, carried to the frames of their bodies; B* motions of points",
    estimation="input of known signals at points; B* output at points",
    formula="phi(k,e) for point e on body k",
    where="at (k, e), e on k",
)
X = _letter(
    "X",  # diag(R_k, R_k): axes of the points' bodies to world axes
    POINTS,
    POINTS,
    of="points",
    orthogonal=True,
    flops=30,
    unit=(0, 0),
    mechanics="turn from the axes of a point's body into world axes",
    estimation="turn of axes at points",
    formula="diag(R_k, R_k)",
    where="at (e, e)",
)
S_q = _letter(
    "S_q",  # mimic joints: beta = S_q v
    COORDINATES,
    JOINT,
    causality=MIXED,
    unit=(0, 0),
    mechanics="joint speeds of independent ones: mimic joints follow",
    estimation="joint measurements of independent ones",
    formula="1, or the ratio of a mimic joint",
    where="at (k, i), joint k moves with coordinate i",
)

phi = _define(
    "phi",
    (I - E_phi).inv,  # [002 (2.9)]
    kept=True,
    carries=(FORCE, FORCE),
    flops=STEP + 6,
    acts={
        "": ("forces through locked joints", "transition of the state"),
        "*": ("motions through locked joints", "transition of the adjoint"),
    },
    mechanics="propagation of forces inward through locked joints; phi* of motions outward",
    estimation="transition of the state; phi* of its adjoint",
    source="[000 (1.3); 001 (17); 002 (2.4), (2.9); 003 sec. 2; 004-I (3.4)]",
    says="forces carried inward through locked joints, by every number of steps",
)
phi_tilde = _define(
    "phi_tilde",
    phi - I,  # [004-I (5.11)]
    strict=True,
    swept=phi @ E_phi,
    both_ways=True,
    flops=STEP + 6,
    mechanics="propagation through locked joints, strictly inward",
    estimation="transition of the state to bodies strictly inboard",
    where="at (i, k), i inboard of k",
    source="[001 (28); 003 appendix; 004-I (5.11), (a.3)]",
    says="the same, strictly inward",
)
J = _define(
    "J",
    B.T @ phi.T @ H.T,  # [001 (20)]
    of="points",
    shorthand=True,
    mechanics="Jacobian: motion of points by joint speeds; J* joint forces of forces at points",
    estimation="output at points of the smoother; J* measurements of known inputs",
    where="at (e, k), e on k or outboard of it",
    source="[001 (20); 002 (2.14); 003 (1), (5); 004-I (3.13)]",
    says="what the points do when the joints move",
)
Mass = _define(
    "Mass",
    H @ phi @ M @ phi.T @ H.T + Jm,  # [001 (22)]
    symmetric=True,
    shorthand=True,
    look="cal:M",  # [000], [001 (22)], [002 (2.5)], [003 (3)], [004-I (3.20)]
    mechanics="mass matrix",
    estimation="covariance of the measurements",
    where="at (i, k), one of them inboard of or at the other",
    source="[000 Identity 1.1; 001 (22); 002 (2.5), (2.11); 003 (3); 004-I (3.20)]",
    says="outward as motion, through the inertias, inward as force; and the rotors",
    printed="H phi M phi H*, in the text after (1.2) of 000",
)
R = _letter(
    "R",  # M = R - blockdiag(E_phi R E_phi*) [000 (5.44)]
    BODY,
    BODY,
    positive=True,
    carries=(FORCE, MOTION),
    flops=42,
    recursion=(60, INWARD),
    elsewhere=(
        "as a composite inertia, of other blocks",
        "covariance of the state, of other noise",
    ),
    mechanics="composite inertia: k and all outboard of it, joints locked",
    estimation="covariance of the state at k, nothing measured",
    formula="M = R - blockdiag(E_phi R E_phi*)",
)

# -- articulated bodies ----------------------------------------------------------------

P = _letter(
    "P",  # M = P - E_phi (tau_bar P) E_phi* [002 (3.1)]
    BODY,
    BODY,
    positive=True,
    articulated=True,
    carries=(FORCE, MOTION),
    flops=66,
    recursion=(220, INWARD),
    elsewhere=(
        "as an articulated inertia, of this operator instead of the mass operator",
        "covariance of the predicted state's error, of this operator's state",
    ),
    mechanics="articulated inertia: k with all outboard of it, joints free",
    estimation="covariance of the predicted state's error, before joint k is measured",
    formula="M = P - E_phi (tau_bar P) E_phi*",
)
D = _define(
    "D",
    H @ P @ H.T + Jm,  # [002 (3.2)]
    kept=True,
    symmetric=True,
    positive=True,
    articulated=True,
    follows="P",
    flops=1,
    acts={"^-1": ("divided by the inertia of the joint", "divided by its covariance")},
    elsewhere=(
        "what resists at joint k, of this operator instead of the mass operator",
        "covariance of the innovation at joint k",
    ),
    mechanics="articulated inertia about joint k, its rotor included",
    estimation="covariance of the innovation at joint k",
    source="[001 (36); 002 (3.2); 003 (8); 004-I (4.5), (a.1)]",
    says="what a joint feels of the articulated inertia outboard of it, and of its rotor",
)
G = _define(
    "G",
    P @ H.T @ D.inv,  # [002 (3.2)]
    kept=True,
    articulated=True,
    carries=(FORCE, None),
    follows="P",
    flops=6,
    acts={"": ("as felt at the body", "as it corrects the state")},
    elsewhere=(
        "share of what is given at joint k that is felt at body k",
        "Kalman gain: how much of the innovation corrects the state",
    ),
    mechanics="share of joint k's force that is felt at body k: P H* D^-1",
    estimation="Kalman gain: how much of the innovation corrects the state",
    source="[001 (37); 002 (3.2); 003 (8); 004-I (5.12), (a.2)]",
    says="the Kalman gain: the wrench that a unit of joint force leaves behind",
)
tau = _define(
    "tau",
    G @ H,  # [002 (3.2)]
    follows="P",
    flops=12,
    mechanics="part of a force that the free joint k yields to",
    estimation="part of the state that the measurement at k determines",
    source="[002 (3.2)]",
    says="the part of a wrench that a free joint yields to",
)
tau_bar = _define(
    "tau_bar",
    I - tau,  # [002 (3.2)]
    kept=True,
    articulated=True,
    carries=(FORCE, FORCE),
    follows="P",
    flops=12,
    unit=(0, 0),
    elsewhere=(
        "part of a vector at body k that is passed on where joint k gives way",
        "what the measurement at k leaves of the state's error",
    ),
    mechanics="part of a force that the free joint k passes on",
    estimation="what the measurement at k leaves of the state's error",
    source="[002 (3.2); 003 (9)]",
    says="the part of a wrench that a free joint passes on",
)
K = _define(
    "K",
    E_phi @ G,  # [002 (3.2)]
    articulated=True,
    follows="P",
    flops=STEP + 6,
    mechanics="G, carried to the parent",
    estimation="gain of the prediction, one step ahead",
    one_step=True,
    source="[002 (3.2); 003 sec. 4; 004-I (4.4)]",
    says="the gain, one step inward",
)
E_psi = _define(
    "E_psi",
    E_phi @ tau_bar,  # [002 (3.2)]
    strict=True,
    follows="P",
    look="cal:E_psi",  # [002 (3.2)], [003 (10)]
    flops=STEP + 12,
    mechanics="one step inward: force of body k as felt by its parent, joint free",
    estimation="one step of the filter: update, then prediction",
    one_step=True,
    source="[002 (3.2); 003 (10)]",
    says="one step inward through a free joint",
)
psi = _define(
    "psi",
    (I - E_psi).inv,  # [002 (3.3)]
    kept=True,
    articulated=True,
    carries=(FORCE, FORCE),
    follows="P",
    flops=STEP + 18,
    acts={
        "": ("forces through free joints", "transition of the Kalman filter"),
        "*": ("motions through free joints", "transition of the smoother"),
    },
    mechanics="propagation of forces inward through free joints; psi* of motions outward",
    estimation="transition of the Kalman filter; psi* of the smoother",
    source="[001 (38)-(40); 002 (3.3); 003 (10); 004-I (5.1)]",
    says="forces carried inward through free joints, by every number of steps",
)
psi_tilde = _define(
    "psi_tilde",
    psi - I,
    strict=True,
    swept=psi @ E_phi @ tau_bar,
    both_ways=True,
    follows="P",
    flops=STEP + 18,
    mechanics="propagation through free joints, strictly inward",
    estimation="transition of the Kalman filter to bodies strictly inboard",
    where="at (i, k), i inboard of k",
    source="[002 (A.4); 004-I (5.11), (a.4)]",
    says="the same, strictly inward",
)
Omega = _define(
    "Omega",
    psi.T @ H.T @ D.inv @ H @ psi,  # [002 (3.10)]
    symmetric=True,
    shorthand=True,
    mechanics="admittance: acceleration of body i by a force at body j, joints free",
    estimation="covariance of the smoother's adjoint variables",
    where="at (i, k), some body inboard of or at both",
    source="[002 (3.10)]",
    says="how bodies accelerate under forces on bodies",
)
Y = _letter(
    "Y",  # H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)
    BODY,
    BODY,
    positive=True,
    carries=(MOTION, FORCE),
    look="Upsilon",  # [002 (A.3)]
    follows="P",
    flops=66,
    recursion=(200, OUTWARD),
    elsewhere=("as an admittance of body k, of other blocks", "information on the state at k"),
    mechanics="admittance of body k itself: its acceleration by a force on it",
    estimation="information that joint k and those inboard give on the state at k",
    formula="H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)",
)

# -- sensitivities: of joint i, and of its speed a where it has several ----------------

HH = _letter(
    "HH",  # HH(i) at i and outboard of it [000 (2.13)]
    BODY,
    BODY,
    of="joint",
    look="bb:H",
    flops=18,
    mechanics="pick-off: how the motion of joint i turns what is at i and outboard",
    estimation="change of the transition with joint i, at i and outboard",
    formula="S[h], h = H*(i) e_a turned outward",
    where="at (k, k), k at i or outboard",
)
HH_s = _letter(
    "HH_s",  # HH(i) strictly outboard of i [000 (2.12)]
    BODY,
    BODY,
    of="joint",
    look="bb:H_s",
    flops=18,
    mechanics="pick-off, strictly outboard of joint i",
    estimation="change of the transition with joint i, strictly outboard",
    formula="HH - HH_delta",
    where="at (k, k), k outboard of i",
)
HH_delta = _letter(
    "HH_delta",  # HH(i) at i [000 (2.13)]
    BODY,
    BODY,
    of="joint",
    carries=(FORCE, FORCE),
    look="bb:H_delta",
    flops=18,
    mechanics="pick-off at joint i alone",
    estimation="change of the transition with joint i, at i",
    formula="S[H*(i) e_a]",
    where="at (i, i)",
)
Gamma_delta = _letter(
    "Gamma_delta",  # D_{ia} H* at i
    JOINT,
    BODY,
    of="joint",
    carries=(MOTION, None),
    flops=12,
    unit=(0, 0),
    mechanics="change of joint i's map along its own speed a",
    estimation="change of the measurement map of joint i",
    formula="D_{ia} H*(i)",
    where="at (i, i)",
)

# -- brackets --------------------------------------------------------------------------

Q = Opener(
    "Q",
    "Q[z] = [[x~, y~], [y~, 0]], block by block [000 (2.8)].",
    Letter(
        "Q",
        PAPERS,
        also=("cal:Q",),
        mechanics="adjoint of the force cross product",
        estimation="bilinear form of two states",
        formula="Q[x]",
    ),
)
cross = Opener(
    "cross",
    "z~ = [[x~, 0], [y~, x~]], block by block [000 (2.5)].",
    Letter(
        "cross",
        PAPERS,
        mechanics="motion cross product x~",
        estimation="rate of a moving frame",
        formula="cross[x]",
    ),
)
for bracket in (Q, cross):
    PAPERS.enter(bracket.name, bracket)


def blockdiag(expression: Node) -> Node:
    """The memoryless part of an operator: blocks off the diagonal dropped.

    >>> blockdiag(phi @ M @ phi.T)
    blockdiag(phi @ M @ phi.T)
    """
    if not isinstance(expression, Node):
        raise SpaceError(f"cannot take blockdiag({expression!r}); expected an expression")
    return Diagonal(expression)


# -- vectors ---------------------------------------------------------------------------

beta = _letter(
    "beta",  # joint speeds [002 sec. 2.1]
    SCALAR,
    JOINT,
    of_speeds=True,
    also=("theta_dot",),  # [000], [001], [003], [004]
    unit=(0, -1),
    causes="the joint speeds",
    mechanics="joint speeds",
    estimation="input of the smoother at the joints",
    formula="S_q v",
)
beta_dot = _given(
    "beta_dot",  # joint accelerations
    SCALAR,
    JOINT,
    also=("theta_ddot",),
    unit=(0, -2),
    causes="the joint accelerations",
    mechanics="joint accelerations",
    estimation="smoothed measurement residuals",
    formula="given",
)
T = _given(
    "T",  # joint forces
    SCALAR,
    JOINT,
    unit=(1, -2),
    mechanics="joint forces",
    estimation="measurements at the joints",
    formula="given",
)
f0 = _given(
    "f0",  # forces of the points ON the environment [001 (23)]
    SCALAR,
    POINTS,
    unit=(1, -2),
    causes="the forces at points",
    mechanics="force of each point on the environment",
    estimation="known input at points",
    formula="given",
)
gravity = _letter(
    "gravity",  # base acceleration that stands for gravity [004-I (3.21)]
    SCALAR,
    BASE,
    unit=(0, -2),
    causes="gravity",
    mechanics="acceleration of the base that is felt as gravity",
    estimation="boundary value of the smoother",
    formula="-[0; g]",
)
a = _letter(
    "a",  # Coriolis acceleration [001 (8)]
    SCALAR,
    BODY,
    carries=(MOTION, None),
    of_speeds=True,
    follows="V",
    flops=6,
    causes="Coriolis effects",
    mechanics="Coriolis acceleration of body k alone",
    estimation="known input of the smoother at body k",
    formula="V~ H* beta + H_dot* beta",
)
b = _letter(
    "b",  # gyroscopic force [001 (11)]
    SCALAR,
    BODY,
    carries=(FORCE, None),
    of_speeds=True,
    follows="V",
    flops=60,
    causes="gyroscopic forces",
    mechanics="gyroscopic force of body k alone",
    estimation="known input of the state at body k",
    formula="S[V] M V",
)
c = _letter(
    "c",  # [0; omega x v]: a point accelerates by X (B* alpha + c)
    SCALAR,
    POINTS,
    of="points",
    of_speeds=True,
    follows="V",
    flops=12,
    unit=(0, -2),
    mechanics="convective acceleration of a point",
    estimation="known input at points",
    formula="[0; omega x v]",
)
pose = _letter(
    "pose",  # [[R_k, x_k], [0, 1]] of body k in the world, row by row
    SCALAR,
    POSE,
    recursion=(50, OUTWARD),
    mechanics="axes and origin of body k in the world",
    estimation="coordinates of the state at k",
    formula="from q",
)
U = _letter(
    "U",  # potential energy of gravity, -sum m g . x
    SCALAR,
    SCALAR,
    mechanics="potential energy",
    estimation="potential of the known inputs",
    formula="-sum m g . x",
)

V = _define(
    "V",
    phi.T @ H.T @ beta,  # [001 (21)]
    recursion=(36, OUTWARD),
    mechanics="velocity of body k",
    estimation="adjoint variable at body k, driven by beta",
    source="[001 (21); 002 (2.5); 004-I (3.12), (5.13)]",
    says="each body moves as the joints inboard of it say",
    printed="B* phi* H* theta_dot, in 001 (66) and 004-I (5.13)",
)
alpha = _define(
    "alpha",
    phi.T @ (H.T @ beta_dot + a + E @ gravity),  # [001 (25)]
    shorthand=True,
    mechanics="acceleration of body k, gravity included",
    estimation="adjoint variable at body k, smoothed",
    source="[001 (25); 002 (2.5), (2.11); 004-I (3.15), (3.21)]",
    says="the same for accelerations, the base accelerating against gravity",
)
f = _define(
    "f",
    phi @ (M @ alpha + b),  # [002 (2.5)]
    shorthand=True,
    mechanics="force across joint k: of all that is outboard",
    estimation="state at body k: all that drives it",
    source="[001 (24); 002 (2.5), (2.11); 004-I (3.16)]",
    says="each joint carries the forces of all that is outboard of it",
)
C = _define(
    "C",
    H @ phi @ (M @ phi.T @ (a + E @ gravity) + b),  # [001 (23)]
    shorthand=True,
    also=("cal:C",),  # [000], [002 (2.5)], [003 (4)]
    mechanics="bias: Coriolis, gyroscopic and gravity forces of the joints",
    estimation="known part of the measurements",
    source="[001 (23); 002 (2.5), (2.11); 003 (4); 004-I (3.19), (3.21)]",
    says="the joint forces that are needed without any joint acceleration",
)

LETTERS = PAPERS.letters

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
    return given(name, start, end, MEMORYLESS if are_paired(start, end) else MIXED)


def vector(name: str, space: Space | str) -> Symbol:
    """A vector of the user's, its value given at evaluation.

    >>> phi @ vector("x", "body")
    phi @ x
    """
    return given(name, SCALAR, as_space(space))


def scalar(name: str) -> Symbol:
    """A number of the user's, its value given at evaluation.

    >>> scalar("k") * M
    k * M
    """
    return given(name, SCALAR, SCALAR)
