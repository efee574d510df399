"""Computations in other languages and packages."""
