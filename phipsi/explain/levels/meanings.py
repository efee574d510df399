"""What every letter means: to a mechanic, and to someone who estimates states.

The same operators solve two problems. In mechanics, forces travel inward and motions outward; in
estimation, a state travels inward, driven by noise of covariance M and measured at each joint,
and the mass operator is the covariance of the measurements [004-I sec. 4]:

    z = phi w,   y = H z,   E(w w*) = M,   E(y y*) = H phi M phi* H* = Mass

so that the recursion of articulated inertias is the Riccati equation of a Kalman filter.
"""

from __future__ import annotations

from dataclasses import dataclass

VIEWS = ("mechanics", "estimation")


@dataclass(frozen=True)
class Meaning:
    """What a letter means.

    Args:
        mechanics: as forces and motions.
        estimation: as state, measurement and covariance [004-I sec. 4].
        formula: of a letter that has no definition in other letters.
        blocks: which blocks are not zero, where this does not follow from its direction.
    """

    mechanics: str
    estimation: str
    formula: str = ""
    blocks: str = ""

    def by(self, view: str) -> str:
        """In one of the two views."""
        return self.mechanics if view == "mechanics" else self.estimation


LETTERS: dict[str, Meaning] = {
    "I": Meaning("identity", "identity"),
    "H": Meaning(
        "joint map: the axes along which joint k moves",
        "measurement map: what joint k sees of the state",
        "H(k), a row for each speed of the joint",
    ),
    "H_dot": Meaning(
        "rate of the joint map by the joint's own motion",
        "rate of the measurement map",
        "sum_a Gamma_a(k)* beta_a(k)",
    ),
    "M": Meaning(
        "spatial inertia of body k alone, at its frame",
        "covariance of the noise that drives the state at body k",
        "M(k) = [[inertia, m p~], [-m p~, m I]], p the mass centre",
    ),
    "Jm": Meaning(
        "rotor inertia of joint k, reflected through its gear",
        "covariance of the measurement noise of joint k",
        "gear_ratio^2 rotor_inertia",
    ),
    "E_phi": Meaning(
        "one step inward: force of body k as felt by its parent, joint locked",
        "one step of the state's transition",
        "phi(p(k),k) at (p(k),k)",
        "at (p(k), k)",
    ),
    "phi": Meaning(
        "propagation of forces inward through locked joints; phi* of motions outward",
        "transition of the state; phi* of its adjoint",
    ),
    "phi_tilde": Meaning(
        "propagation through locked joints, strictly inward",
        "transition of the state to bodies strictly inboard",
        blocks="at (i, k), i inboard of k",
    ),
    "S": Meaning(
        "shift: a turn into the parent's axes, without a lever",
        "shift of the state by one step",
        "the turn in phi(p(k),k)",
        "at (p(k), k)",
    ),
    "Delta_phi": Meaning(
        "the lever of phi(p,k), in the axes of k",
        "the transition without the shift",
        "E_phi = S Delta_phi",
    ),
    "E": Meaning(
        "motion of the base, felt by the bodies that hang on it",
        "boundary value of the smoother at the base",
        "phi*(0,k) at each root k",
        "at the roots",
    ),
    "B": Meaning(
        "forces at points, carried to the frames of their bodies; B* motions of points",
        "input of known signals at points; B* output at points",
        "phi(k,e) for point e on body k",
        "at (k, e), e on k",
    ),
    "X": Meaning(
        "turn from the axes of a point's body into world axes",
        "turn of axes at points",
        "diag(R_k, R_k)",
        "at (e, e)",
    ),
    "J": Meaning(
        "Jacobian: motion of points by joint speeds; J* joint forces of forces at points",
        "output at points of the smoother; J* measurements of known inputs",
        blocks="at (e, k), e on k or outboard of it",
    ),
    "S_q": Meaning(
        "joint speeds of independent ones: mimic joints follow",
        "joint measurements of independent ones",
        "1, or the ratio of a mimic joint",
        "at (k, i), joint k moves with coordinate i",
    ),
    "Mass": Meaning(
        "mass matrix",
        "covariance of the measurements",
        blocks="at (i, k), one of them inboard of or at the other",
    ),
    "R": Meaning(
        "composite inertia: k and all outboard of it, joints locked",
        "covariance of the state at k, nothing measured",
        "M = R - blockdiag(E_phi R E_phi*)",
    ),
    "P": Meaning(
        "articulated inertia: k with all outboard of it, joints free",
        "covariance of the predicted state's error, before joint k is measured",
        "M = P - E_phi (tau_bar P) E_phi*",
    ),
    "D": Meaning(
        "articulated inertia about joint k, its rotor included",
        "covariance of the innovation at joint k",
    ),
    "G": Meaning(
        "share of joint k's force that is felt at body k: P H* D^-1",
        "Kalman gain: how much of the innovation corrects the state",
    ),
    "tau": Meaning(
        "part of a force that the free joint k yields to",
        "part of the state that the measurement at k determines",
    ),
    "tau_bar": Meaning(
        "part of a force that the free joint k passes on",
        "what the measurement at k leaves of the state's error",
    ),
    "K": Meaning("G, carried to the parent", "gain of the prediction, one step ahead"),
    "E_psi": Meaning(
        "one step inward: force of body k as felt by its parent, joint free",
        "one step of the filter: update, then prediction",
    ),
    "psi": Meaning(
        "propagation of forces inward through free joints; psi* of motions outward",
        "transition of the Kalman filter; psi* of the smoother",
    ),
    "psi_tilde": Meaning(
        "propagation through free joints, strictly inward",
        "transition of the Kalman filter to bodies strictly inboard",
        blocks="at (i, k), i inboard of k",
    ),
    "Omega": Meaning(
        "admittance: acceleration of body i by a force at body j, joints free",
        "covariance of the smoother's adjoint variables",
        blocks="at (i, k), some body inboard of or at both",
    ),
    "Y": Meaning(
        "admittance of body k itself: its acceleration by a force on it",
        "information that joint k and those inboard give on the state at k",
        "H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)",
    ),
    "HH": Meaning(
        "pick-off: how the motion of joint i turns what is at i and outboard",
        "change of the transition with joint i, at i and outboard",
        "S[h], h = H*(i) e_a turned outward",
        "at (k, k), k at i or outboard",
    ),
    "HH_s": Meaning(
        "pick-off, strictly outboard of joint i",
        "change of the transition with joint i, strictly outboard",
        "HH - HH_delta",
        "at (k, k), k outboard of i",
    ),
    "HH_delta": Meaning(
        "pick-off at joint i alone",
        "change of the transition with joint i, at i",
        "S[H*(i) e_a]",
        "at (i, i)",
    ),
    "Gamma_delta": Meaning(
        "change of joint i's map along its own speed a",
        "change of the measurement map of joint i",
        "D_{ia} H*(i)",
        "at (i, i)",
    ),
    "Q": Meaning("adjoint of the force cross product", "bilinear form of two states", "Q[x]"),
    "cross": Meaning("motion cross product x~", "rate of a moving frame", "cross[x]"),
    "beta": Meaning("joint speeds", "input of the smoother at the joints", "S_q v"),
    "beta_dot": Meaning("joint accelerations", "smoothed measurement residuals", "given"),
    "T": Meaning("joint forces", "measurements at the joints", "given"),
    "f0": Meaning("force of each point on the environment", "known input at points", "given"),
    "gravity": Meaning(
        "acceleration of the base that is felt as gravity",
        "boundary value of the smoother",
        "-[0; g]",
    ),
    "a": Meaning(
        "Coriolis acceleration of body k alone",
        "known input of the smoother at body k",
        "V~ H* beta + H_dot* beta",
    ),
    "b": Meaning(
        "gyroscopic force of body k alone", "known input of the state at body k", "S[V] M V"
    ),
    "c": Meaning("convective acceleration of a point", "known input at points", "[0; omega x v]"),
    "pose": Meaning(
        "axes and origin of body k in the world", "coordinates of the state at k", "from q"
    ),
    "U": Meaning("potential energy", "potential of the known inputs", "-sum m g . x"),
    "V": Meaning("velocity of body k", "adjoint variable at body k, driven by beta"),
    "alpha": Meaning(
        "acceleration of body k, gravity included", "adjoint variable at body k, smoothed"
    ),
    "f": Meaning(
        "force across joint k: of all that is outboard", "state at body k: all that drives it"
    ),
    "C": Meaning(
        "bias: Coriolis, gyroscopic and gravity forces of the joints",
        "known part of the measurements",
    ),
}

# of quantities that are no letters, by the name that `naming` gives them
ROLES: dict[str, Meaning] = {
    "P+": Meaning(
        "articulated inertia as felt through the free joint: tau_bar P",
        "covariance of the state's error, after joint k was measured",
    ),
    "z": Meaning(
        "force at body k that the free joints outboard let through",
        "state at body k, predicted from the measurements outboard",
    ),
    "z locked": Meaning(
        "force at body k, of all outboard, carried through joints that do not yield",
        "state at body k, nothing measured",
    ),
    "z given way": Meaning(
        "force at body k that is let through where joints outboard give way",
        "state at body k, predicted from the measurements outboard",
    ),
    "eps given way": Meaning(
        "what is given at joint k, less what z foresees of it",
        "innovation: measurement at joint k, less its prediction",
    ),
    "nu given way": Meaning(
        "eps, divided by what resists at joint k",
        "normalized innovation",
    ),
    "z other": Meaning(
        "force at body k, of all outboard, carried inward by a step of its own",
        "state at body k, by a transition of its own",
    ),
    "motion other": Meaning(
        "motion of body k, carried outward by a step of its own",
        "adjoint variable at body k, by a transition of its own",
    ),
    "eps": Meaning(
        "force that is left to move joint k",
        "innovation: measurement at joint k, less its prediction",
    ),
    "nu": Meaning(
        "acceleration of joint k, were its parent not to accelerate",
        "normalized innovation",
    ),
    "w": Meaning("force, or momentum, of body k alone", "input that drives the state at body k"),
    "h": Meaning("momentum of body k and all outboard of it", "state at body k"),
    "lambda": Meaning("motion of body k, built up from the base", "adjoint variable, smoothed"),
    "u": Meaning("velocity that body k adds", "input of the smoother at body k"),
    "p": Meaning("momentum along the axes of joint k", "measurement at joint k"),
    "y": Meaning("vector of the joints", "vector of the measurements"),
    "y smoothed": Meaning(
        "motion of joint k: nu, less what the motion of its parent takes of it",
        "smoothed measurement residual of joint k",
    ),
    "s": Meaning("number", "number"),
    "s coordinates": Meaning("vector of the coordinates", "vector of the coordinates"),
    "x_0": Meaning("vector of the base", "boundary value at the base"),
    "x_C": Meaning("vector of the points", "vector at the points"),
    "energy": Meaning("energy", "weighted sum of squares"),
    "power": Meaning("power", "inner product of state and adjoint"),
    "A": Meaning("block of body k", "block of body k"),
    "x": Meaning("vector of body k", "vector at body k"),
}

# of P, D, G of other operators L phi W phi* L* + N than the mass operator
OF_OTHERS: dict[str, Meaning] = {
    "P": Meaning(
        "as an articulated inertia, of this operator instead of the mass operator",
        "covariance of the predicted state's error, of this operator's state",
    ),
    "P+": Meaning(
        "the same, as felt through what gives way at joint k",
        "covariance of the state's error, after its measurement at k",
    ),
    "D": Meaning(
        "what resists at joint k, of this operator instead of the mass operator",
        "covariance of the innovation at joint k",
    ),
    "G": Meaning(
        "share of what is given at joint k that is felt at body k",
        "Kalman gain: how much of the innovation corrects the state",
    ),
    "tau_bar": Meaning(
        "part of a vector at body k that is passed on where joint k gives way",
        "what the measurement at k leaves of the state's error",
    ),
    "R": Meaning(
        "as a composite inertia, of other blocks", "covariance of the state, of other noise"
    ),
    "Y": Meaning("as an admittance of body k, of other blocks", "information on the state at k"),
}


def letter_meaning(name: str) -> Meaning | None:
    """What a letter of the algebra means; None for the user's own."""
    return LETTERS.get(name)
