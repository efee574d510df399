"""Small machines of equal bars, for the tests of the builder."""

import phipsi as pp

BAR = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}


def build(*bodies, frames=(), **options):
    """A machine of (name, parent, joint) or (name, parent, joint, more) with equal bars."""
    builder = pp.ModelBuilder("machine", **options)
    for name, parent, kind, *more in bodies:
        builder.add_body(name, parent, kind, **{**BAR, **(more[0] if more else {})})
    for frame in frames:
        builder.add_frame(*frame)
    return builder.build()
