"""The dense meaning of what lowering makes of an expression, letters of its own included.

Settled expressions and words hold letters that nobody types: composite inertias
of other operators than M, articulated quantities of other mass operators. Here
they are given blocks by their defining equations, and `as_matrix` does the rest.
"""

from itertools import pairwise

import expressions
import machines
import numpy as np
from symbols import free_names

import phipsi as pp
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import BASE, BODY, JOINT
from phipsi.lowering.settle import Family
from phipsi.operators import B, E, P, operator, tau_bar


class Meaning:
    """A machine at a state, where every expression of the lowering has a matrix."""

    def __init__(self, model, seed=3):
        rng = np.random.default_rng(seed)
        self.model, self.points = model, expressions.points_on(model)
        self.q, self.v = machines.random_state(model, rng)
        self.values = expressions.values_for(model, rng)
        self._own = {}
        sizes = {BODY: [6] * len(model.bodies), JOINT: [x.kind.nv for x in model.joints]}
        self._stops = {space: np.cumsum([0, *x]).tolist() for space, x in sizes.items()}
        self._stops[BASE] = [0, 6]

    def __call__(self, node):
        """The matrix of an expression, vectors as columns of their own."""
        node = self._typed(node)
        values = {name: self.values[name] for name in free_names(node)}
        state = {"q": self.q, "v": self.v, "points": self.points}
        return pp.as_matrix(self.model, node, **state, **values)

    def of_words(self, words, space):
        """The sum of some words: number times scalars times atoms."""
        total = 0.0
        for word in words:
            matrix = np.eye(*self(space).shape) if not word.factors else None
            for atom in word.factors:
                own = self(atom)
                own = own[:, None] if atom.source.name == "scalar" else own
                matrix = own if matrix is None else matrix @ own
            for scalar in word.scalars:
                matrix = self(scalar) * matrix
            total = total + word.number * matrix
        return total

    def _typed(self, node: Node) -> Node:
        """The expression in letters that as_matrix knows."""
        if isinstance(node, Symbol):
            return self._letter(node)
        if not node.children:
            return node
        return node.rebuild(tuple(map(self._typed, node.children)))

    def _letter(self, letter):
        if letter.free or letter.definition is not None:
            return letter
        if letter not in self._own:
            matrix = self._matrix(letter)
            if matrix is None:
                self._own[letter] = letter
            else:
                name = f"own_{len(self._own)}"
                self.values[name] = self._blocks(matrix, letter.target, letter.source)
                self._own[letter] = operator(name, letter.source, letter.target)
        return self._own[letter]

    def _matrix(self, letter):
        """The matrix of a letter of the lowering; None for those of the papers."""
        match letter.name, letter.arguments:
            case "composite", (left, W, right):
                left, W, right = map(self, (left, W, right))
                return self._fixed(lambda R: W + self._diagonal(left @ R @ right.T), W)
            case "carried", (left, W, right):
                return self._diagonal(self(left) @ self(W) @ self(right).T)
            case "carried_to_base", (W,):
                return self(E).T @ self(W) @ self(E)
            case "loaded", (at, A):
                assert at.name == B.name
                return self(at) @ self(A) @ self(at).T
            case "P_plus", ():
                return self(tau_bar @ P)
            case name, (Family() as family,):
                return self._articulated(family)[name]
        return None

    def _articulated(self, family):
        """P, D, G, tau_bar and tau_bar P of a family, by the Riccati equation [002 (3.1)]."""
        L, step, W = self(family.L), self(family.E), self(family.W)
        N = 0.0 if family.N is None else self(family.N)

        def quantities(P):
            D = L @ P @ L.T + N
            G = P @ L.T @ np.linalg.inv(D)
            tau_bar = np.eye(len(P)) - G @ L
            return {"P": P, "D": D, "G": G, "tau_bar": tau_bar, "P_plus": tau_bar @ P}

        def carried(P):
            return W + self._diagonal(step @ quantities(P)["P_plus"] @ step.T)

        return quantities(self._fixed(carried, W))

    def _fixed(self, function, start):
        """The fixed point of a recursion along the tree: reached after its depth."""
        for _ in self.model.bodies:
            start = function(start)
        return start

    def _diagonal(self, matrix):
        result = np.zeros_like(matrix)
        for own in self._slices(BODY):
            result[own, own] = matrix[own, own]
        return result

    def _slices(self, space):
        return [slice(i, j) for i, j in pairwise(self._stops[space])]

    def _blocks(self, matrix, target, source):
        places = zip(self._slices(target), self._slices(source), strict=True)
        return [matrix[row, column] for row, column in places]
