"""What quantities mean that are no letters: to a mechanic, and to someone who estimates states.

What letters mean stands in their records; see `algebra.alphabet`.

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
    """What a quantity means, as forces and motions, and as state, measurement and covariance."""

    mechanics: str
    estimation: str

    def by(self, view: str) -> str:
        """In one of the two views."""
        return self.mechanics if view == "mechanics" else self.estimation


# of quantities that are no letters, by the name that `notation` gives them
ROLES: dict[str, Meaning] = {
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
    "lambda of no motion": Meaning(
        "what is given at the joints, carried outward as motions are",
        "adjoint variable, smoothed",
    ),
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
