"""Articulated letters of other operators than the mass operator.

The papers' P, D, G, tau_bar, K and psi belong to H phi M phi* H* + Jm. An operator
L (I - E)^-1 W (I - E)^-* L* + N, with symmetric W and N, has such letters of its own:

    P = W + blockdiag(E tau_bar P E*)        D = L P L* + N        G = P L* D^-1
    tau_bar = I - G L        K = E G        psi = (I - E tau_bar)^-1

They are the same letters, with the family that they belong to as argument. Of bodies with
another inertia, or joints with another term than the rotors, they are typed in brackets:
`psi[M + M_a]`, `D[M, Jm + N]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.algebra import operators as op
from phipsi.algebra.node import Identity, Node, Symbol, add
from phipsi.algebra.spaces import BODY, JOINT, Causality


@dataclass(frozen=True, repr=False)
class Family:
    """The articulated letters of L (I - E)^-1 W (I - E)^-* L* + N.

    Those of the mass operator have L = H, E = E_phi, W = M, N = Jm, and are the letters
    themselves. Of all these, L, E, W and N are settled or tidy expressions.
    """

    L: Node
    E: Node
    W: Node
    N: Node | None

    def letter(self, symbol: Symbol) -> Symbol:
        """P, D, G or tau_bar of this family; also those that only a lowering knows."""
        if self == MASS:
            return symbol
        space = self.L.target
        assert space is not None
        swap = {JOINT: space}
        return Symbol(
            symbol.name,
            swap.get(symbol.source, symbol.source),
            swap.get(symbol.target, symbol.target),
            arguments=(self,),
            record=symbol.record,
        )

    @property
    def K(self) -> Symbol:
        """E G."""
        G = self.letter(op.G)
        what = "K", G.source, BODY, Causality.CAUSAL, (self,)
        return Symbol(*what, definition=self.E @ G, record=op.K.record)

    @property
    def psi(self) -> Symbol:
        """(I - E tau_bar)^-1."""
        step = self.E @ self.letter(op.tau_bar)
        definition = add(Identity(BODY), -step).inv
        what = "psi", BODY, BODY, Causality.CAUSAL, (self,)
        return Symbol(*what, definition=definition, record=op.psi.record)

    def formula(self, letter: Symbol) -> Node | None:
        """What D, G and tau_bar are made of; None for P, which is a recursion."""
        P, D, G = map(self.letter, (op.P, op.D, op.G))
        if letter.record is op.D.record:
            inner = self.L @ P @ self.L.T
            return inner if self.N is None else inner + self.N
        if letter.record is op.G.record:
            return P @ self.L.T @ D.inv
        if letter.record is op.tau_bar.record:
            return add(Identity(BODY), -(G @ self.L))
        return None

    @property
    def parts(self) -> tuple[Node, ...]:
        """What the family is made of."""
        return (self.L, self.E, self.W, *(() if self.N is None else (self.N,)))

    @property
    def in_brackets(self) -> tuple[Node | int, ...] | None:
        """What is typed in brackets behind a letter; None for what has to be told otherwise."""
        if self.L != op.H or op.E_phi != self.E:
            return None
        if self.N is None:
            return self.W, 0
        return (self.W,) if op.Jm == self.N else (self.W, self.N)

    def __repr__(self) -> str:
        return ", ".join(map(str, self.in_brackets or self.parts))


MASS = Family(op.H, op.E_phi, op.M, op.Jm)


def bare(letter: Symbol) -> Symbol:
    """P, D, G or tau_bar of the mass operator, of a letter of any family."""
    assert letter.record.alphabet is not None, "made by `Family.letter`"
    known = letter.record.alphabet.letters[letter.record.name]
    assert isinstance(known, Symbol)
    return known


def family_of(letter: Symbol) -> Family:
    """The family that P, D, G or tau_bar belongs to."""
    return letter.arguments[0] if letter.arguments else MASS
