"""Derive and explain: an equation as text, the algorithm behind it, and why it is right.

python examples/07_derive_and_explain.py
"""

import numpy as np

import phipsi as pp

# How a hand gives way to a push: the inverse of the mass matrix between two Jacobians.
typed = pp.parse("J inv(H phi M phi' H' + Jm) J'")
derivation = pp.derive(typed)
print(derivation)

# Every step, on machines that are drawn at random.
checked = derivation.check()
print(f"\nevery step holds on random machines: {checked.ok}, to {checked.worst.value:.0e}\n")

# What it does, body by body, and how it looks.
robot = pp.examples.branching_tree()
result = derivation.result
print(pp.explain(result, robot).level(4))
pp.draw_dataflow(result, robot).save("derive_and_explain.svg")
print("\nsee derive_and_explain.svg: its sweeps along the tree")

# Typed, derived, and as the line reads: one meaning.
q = robot.random(np.random.default_rng(0))
hands = [pp.point("left hand"), pp.point("right hand")]
dense = pp.as_matrix(robot, typed, q, points=hands)
fast = pp.compile(robot, result)(q, points=hands)
apart = np.abs(fast - dense).max() / np.abs(dense).max()
print(f"compiled, it is what was typed, to {apart:.0e}")

# An identity of the papers, and what is wrong with one of them as it was printed.
lemma = pp.identity("Lemma 4")
print(f"\n{lemma.name}: {lemma.unicode()}  {lemma.source}")
printed = pp.parse("Y + psi_tilde' Y + Y psi_tilde")
right = pp.parse("psi' H' D^-1 H psi")
for machine in (pp.chain(4), robot):
    x = machine.random(np.random.default_rng(0))
    a, b = (pp.as_matrix(machine, side, x) for side in (printed, right))
    error = np.abs(a - b).max() / np.abs(b).max()
    print(f"Omega as 002 (A.4) prints it, on {machine.name}: off by {error:.0e}")
