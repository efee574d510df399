"""Every identity of the papers that is an equation between operator expressions."""

from phipsi.algebra.identities import (
    brackets,
    closed,
    definitions,
    filters,
    forward_dynamics,
    inertias,
    innovations,
    newton_euler,
    operational_space,
    pick_offs,
    propagators,
    rotors,
)
from phipsi.algebra.identities.equation import (
    IDENTITIES,
    Condition,
    Equation,
    Equations,
    OnPath,
    Requirement,
    Requirements,
    forget_identity,
    identities,
    identity,
    papers_of,
    read_requirements,
    register,
)

TOPICS = {
    "what the letters stand for": definitions,
    "the innovations factorization": innovations,
    "propagators, steps and shifts": propagators,
    "phi and psi": filters,
    "composite and articulated inertias": inertias,
    "rotor inertia": rotors,
    "motion and force": newton_euler,
    "forward dynamics": forward_dynamics,
    "operational space": operational_space,
    "cross products": brackets,
    "pick-off operators": pick_offs,
    "closed chains": closed,
}

for _topic in TOPICS.values():
    register(_topic.EQUATIONS)

__all__ = [
    "IDENTITIES",
    "TOPICS",
    "Condition",
    "Equation",
    "Equations",
    "OnPath",
    "Requirement",
    "Requirements",
    "forget_identity",
    "identities",
    "identity",
    "papers_of",
    "read_requirements",
]
