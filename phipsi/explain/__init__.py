"""Derivations, explanations, checks, drawings: the algebra as a tool for thinking."""
