"""Machines in files: what people have, read with nothing lost in silence."""
