"""What holds a machine together beside its tree: closures and couplings, in words."""

from __future__ import annotations

from rich.table import Table

from phipsi.cli.joint_table import kind_name
from phipsi.cli.screen import number, table
from phipsi.model.closure import Coupling
from phipsi.model.model import Model


def closure_table(model: Model) -> Table:
    """A row for each closure: what it allows, between which links, how much it holds.

    >>> from phipsi import ModelBuilder, joints
    >>> from phipsi.cli.screen import Screen
    >>> builder = ModelBuilder("door")
    >>> builder.add_body("leaf", mass=1.0, com=(0.5, 0, 0))
    >>> builder.add_closure("latch", "leaf", "world", joints.Spherical(), position=(1, 0, 0))
    >>> Screen().print(closure_table(builder.build()))
    closure   kind        between          equations
    latch     spherical   leaf and world           3
    """
    made = table("closure", "kind", "between", "equations", left=3)
    for closure in model.closures:
        between = f"{closure.first.link} and {closure.second.link}"
        made.add_row(closure.name, kind_name(closure.kind), between, str(closure.equations))
    return made


def coupling_table(model: Model) -> Table:
    """A row for each coupling: its name, and which joint depends how on which."""
    made = table("coupling", "equation", left=2)
    for coupling in model.couplings:
        made.add_row(coupling.name, equation_of(model, coupling))
    return made


def equation_of(model: Model, coupling: Coupling) -> str:
    """The polynomial of a coupling.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> equation_of(arm, Coupling("bend", 1, 0, (0.5, 0.0, -2.0)))
    'joint2 = 0.5 - 2 joint1^2'
    >>> equation_of(arm, Coupling("bend", 1, 0, (0.0, 1.0), centre=0.3))
    'joint2 = 1 (joint1 - 0.3)'
    >>> equation_of(arm, Coupling("held", 1, None, (0.5,)))
    'joint2 = 0.5'
    """
    follower = model.joints[coupling.joint].name
    leader = "" if coupling.leader is None else model.joints[coupling.leader].name
    if coupling.centre and leader:
        sign = "-" if coupling.centre > 0 else "+"
        leader = f"({leader} {sign} {number(abs(coupling.centre))})"
    text = ""
    for power, coefficient in enumerate(coupling.coefficients):
        if not coefficient:
            continue
        sign = ("-" if coefficient < 0 else "") if not text else f" {'-+'[coefficient > 0]} "
        name = ("", f" {leader}")[power > 0] + (f"^{power}" if power > 1 else "")
        text += f"{sign}{number(abs(coefficient))}{name}"
    return f"{follower} = {text or '0'}"
