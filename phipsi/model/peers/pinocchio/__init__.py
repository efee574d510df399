"""Machines of Pinocchio, and its coordinates."""
