"""Machines of MuJoCo, and its coordinates."""
