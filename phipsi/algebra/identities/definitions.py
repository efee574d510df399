"""What the letters stand for, as equations: the definition of each letter that has one."""

from __future__ import annotations

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.node import Symbol
from phipsi.algebra.operators import LETTERS

SOURCES = {
    "phi": "[000 (1.3); 001 (17); 002 (2.4), (2.9); 003 sec. 2; 004-I (3.4)]",
    "phi_tilde": "[001 (28); 003 appendix; 004-I (5.11), (a.3)]",
    "J": "[001 (20); 002 (2.14); 003 (1), (5); 004-I (3.13)]",
    "Mass": "[000 Identity 1.1; 001 (22); 002 (2.5), (2.11); 003 (3); 004-I (3.20)]",
    "D": "[001 (36); 002 (3.2); 003 (8); 004-I (4.5), (a.1)]",
    "G": "[001 (37); 002 (3.2); 003 (8); 004-I (5.12), (a.2)]",
    "tau": "[002 (3.2)]",
    "tau_bar": "[002 (3.2); 003 (9)]",
    "K": "[002 (3.2); 003 sec. 4; 004-I (4.4)]",
    "E_psi": "[002 (3.2); 003 (10)]",
    "psi": "[001 (38)-(40); 002 (3.3); 003 (10); 004-I (5.1)]",
    "psi_tilde": "[002 (A.4); 004-I (5.11), (a.4)]",
    "Omega": "[002 (3.10)]",
    "V": "[001 (21); 002 (2.5); 004-I (3.12), (5.13)]",
    "alpha": "[001 (25); 002 (2.5), (2.11); 004-I (3.15), (3.21)]",
    "f": "[001 (24); 002 (2.5), (2.11); 004-I (3.16)]",
    "C": "[001 (23); 002 (2.5), (2.11); 003 (4); 004-I (3.19), (3.21)]",
}

MEANINGS = {
    "phi": "forces carried inward through locked joints, by every number of steps",
    "phi_tilde": "the same, strictly inward",
    "J": "what the points do when the joints move",
    "Mass": "outward as motion, through the inertias, inward as force; and the rotors",
    "D": "what a joint feels of the articulated inertia outboard of it, and of its rotor",
    "G": "the Kalman gain: the wrench that a unit of joint force leaves behind",
    "tau": "the part of a wrench that a free joint yields to",
    "tau_bar": "the part of a wrench that a free joint passes on",
    "K": "the gain, one step inward",
    "E_psi": "one step inward through a free joint",
    "psi": "forces carried inward through free joints, by every number of steps",
    "psi_tilde": "the same, strictly inward",
    "Omega": "how bodies accelerate under forces on bodies",
    "V": "each body moves as the joints inboard of it say",
    "alpha": "the same for accelerations, the base accelerating against gravity",
    "f": "each joint carries the forces of all that is outboard of it",
    "C": "the joint forces that are needed without any joint acceleration",
}

PRINTED = {
    "Mass": "H phi M phi H*, in the text after (1.2) of 000",
    "V": "B* phi* H* theta_dot, in 001 (66) and 004-I (5.13)",
}


def _definitions() -> list[Equation]:
    defined = (x for x in LETTERS.values() if isinstance(x, Symbol) and x.definition is not None)
    return [
        Equation(
            f"definition of {letter.name}",
            letter,
            letter.definition,
            SOURCES[letter.name],
            meaning=MEANINGS[letter.name],
            printed=PRINTED.get(letter.name, ""),
        )
        for letter in defined
        if letter.definition is not None
    ]


EQUATIONS = _definitions()
