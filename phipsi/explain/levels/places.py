"""Letters at a place: phi(p,k), H*(k), M(k), and where a formula stands."""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.algebra import operators as op
from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import Space
from phipsi.explain.levels.formula import Atom, Formula, plus, times

FORCE, MOTION = "force", "motion"


@dataclass(frozen=True)
class Place:
    """Where a formula stands: at body `own`, whose parent is `parent`."""

    own: str = "k"
    parent: str = "p"

    @property
    def here(self) -> str:
        """(k)."""
        return f"({self.own})"

    @property
    def step(self) -> str:
        """(p,k): from k to its parent."""
        return f"({self.parent},{self.own})"


HERE, CHILD = Place(), Place("c", "k")


# -- of the machine --------------------------------------------------------------------------


def phi(at: Place) -> Atom:
    """phi(p,k)."""
    return Atom("phi", at.step, op.E_phi, (0, 0), (FORCE, FORCE), moves="in")


def turn(at: Place) -> Atom:
    """S(p,k): the turn of axes in phi(p,k), without its lever."""
    return Atom("S", at.step, op.S, (0, 0), moves="in")


def lever(at: Place) -> Atom:
    """Delta_phi(k): the lever of phi(p,k), in the axes of k."""
    return Atom("Delta_phi", at.here, op.Delta_phi, (0, 0), (FORCE, FORCE))


def inertia(at: Place) -> Atom:
    """M(k)."""
    return Atom("M", at.here, op.M, (1, 0), (FORCE, MOTION), symmetric=True)


def rotor_inertia(at: Place) -> Atom:
    """Jm(k)."""
    return Atom("Jm", at.here, op.Jm, (1, 0), symmetric=True)


def joint_map(at: Place) -> Formula:
    """H*(k)."""
    return Atom("H", at.here, op.H, (0, 0), (None, FORCE)).star()


def map_rate(at: Place) -> Formula:
    """H_dot*(k)."""
    return Atom("H_dot", at.here, op.H_dot, (0, -1), (None, FORCE)).star()


def base(at: Place) -> Atom:
    """E(k) = phi*(0,k) at a root k."""
    return Atom("E", at.here, op.E, (0, 0), (MOTION, None))


def selection(at: Place) -> Atom:
    """S_q(k)."""
    return Atom("S_q", at.here, op.S_q, (0, 0))


def across(G: Formula, L_star: Formula, at: Place) -> Formula:
    """tau_bar(k) = I - G(k) H(k), by its letter where G is that of the machine's own joints."""
    if isinstance(G, Atom) and G.node == op.G and isinstance(L_star, Atom) and L_star.name == "H":
        return Atom("tau_bar", at.here, op.tau_bar, (0, 0), (FORCE, FORCE))
    return plus((1, identity(op.H.source)), (-1, times(G, L_star.star())))


# -- of points -------------------------------------------------------------------------------


def point_lever(points: tuple | None, place: str) -> Atom:
    """phi(k,e): from a point e to the frame of its body."""
    return Atom("phi", place, op.B(*points) if points else op.B, (0, 0), (FORCE, None))


def point_axes(points: tuple | None, place: str = "(e)") -> Atom:
    """X(e)."""
    return Atom("X", place, op.X(*points) if points else op.X, (0, 0))


# -- of no place -----------------------------------------------------------------------------


def identity(space: Space) -> Atom:
    """I."""
    return Atom("I", "", op.I.at(space), (0, 0), symmetric=True)


def entry(number: int) -> Atom:
    """e_1, e_2, ...: the unit vectors of a space of the user's."""
    return Atom(f"e_{number + 1}", "", None, (0, 0))


def unit(space: Space) -> Symbol:
    """What a column starts from, as a vector: taken off again, it leaves an operator."""
    return Symbol("unit", op.beta.source, space)
