"""Measures of a machine's numbers, each of which a person can understand.

bodies.py         the pieces of each body; P, D, G by the book, and as the program has them
verdicts.py       from numbers of bodies and joints to a finding
inertias.py       body by body: what it weighs, carries and feels
joints.py         joint by joint: what it moves, and how it hands forces on
laws.py           the whole machine: equations between sweeps, by random vectors
newton.py         accelerations, weights and forces beside rates of momentum
conditioning.py   how much easier one motion is than another
"""
