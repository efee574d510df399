"""Type the papers' equations and look at what they mean.

python examples/00_ground.py              a spacecraft that swings two arms
python examples/00_ground.py robot.urdf   a robot of yours
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

import phipsi as pp
from phipsi.operators import C, D, E_phi, H, I, J, Jm, K, M, P, S_q, T, beta, phi, psi

NEWTON_EULER = H @ phi @ M @ phi.T @ H.T + Jm
INNOVATIONS = (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T
INVERSE = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)

console = Console(highlight=False)


def show_machine(model: pp.Model) -> None:
    console.rule(f"[bold]the machine[/]: {model.name}, {model.mass:g} kg, {model.nv} speeds")
    table = Table("body", "hangs on", "joint", "coordinates", "kg", box=None)
    for body, joint in zip(model.bodies, model.joints, strict=True):
        parent = "world" if body.parent < 0 else model.bodies[body.parent].name
        kind, where = type(joint.kind).__name__, f"q[{joint.q.start}:{joint.q.stop}]"
        table.add_row(body.name, parent, kind, where, f"{body.inertia.mass:.4g}")
    console.print(table)
    if model.report:
        console.print(f"{len(model.report)} remarks on the file in model.report")


def show_equations() -> None:
    console.rule("[bold]the equations, as typed[/]")
    for name, expression in (
        ("Newton-Euler factorization of the mass matrix", NEWTON_EULER),
        ("its innovations factorization", INNOVATIONS),
        ("the inverse of that", INVERSE),
    ):
        console.print(f"{name}\n    {expression}")
    console.print("every letter knows the spaces it maps between, and its direction")
    for letter in (H, E_phi, phi, psi, K, P, D):
        meaning = "" if letter.definition is None else f"= {letter.definition}"
        maps = f"{letter.source.name:>5} -> {letter.target.name:5}"
        console.print(f"    {letter!s:6} {maps}  {letter.causality.value:11} {meaning}")
    console.print("and what does not fit is refused")
    try:
        phi @ M @ H
    except pp.SpaceError as error:
        console.print("    [red]SpaceError:[/]", str(error).replace("\n", "\n    "))


def check_identities(model: pp.Model, q: np.ndarray) -> None:
    console.rule("[bold]do they hold here?[/]")
    mass, inverse = pp.as_matrix(model, NEWTON_EULER, q), pp.as_matrix(model, INVERSE, q)
    pivots = np.linalg.slogdet(pp.as_matrix(model, D, q))[1]
    for claim, left, right in (
        ("both factorizations agree", mass, pp.as_matrix(model, INNOVATIONS, q)),
        ("Mass Mass^-1 = I", mass @ inverse, np.eye(len(mass))),
        (
            "(I - H psi K) H phi = H psi",
            pp.as_matrix(model, (I - H @ psi @ K) @ H @ phi, q),
            pp.as_matrix(model, H @ psi, q),
        ),
        ("log det Mass = sum of log det D", np.linalg.slogdet(mass)[1], pivots),
    ):
        error = np.max(np.abs(left - right)) / np.max(np.abs(right))
        console.print(f"    {claim:32} to {error:.0e}, relative")


def show_motion(model: pp.Model, q: np.ndarray, v: np.ndarray) -> None:
    """Accelerations where every motor but those of a free base pushes with 1 N m or 1 N."""
    console.rule("[bold]what the motors do[/]")
    rows = sum(joint.kind.nv for joint in model.joints)
    push = np.ones(rows)
    for joint in model.joints:
        if joint.kind.nv == 6:
            push[joint.rows] = 0.0
    projected = (S_q.T @ NEWTON_EULER @ S_q).inv @ S_q.T @ (T - C)
    console.print(f"accelerations\n    {projected}")
    vdot = pp.as_matrix(model, projected, q, v, T=push)
    table = Table("joint", "speeds", "rad/s2 or m/s2", box=None)
    for joint in model.leaders:
        values = " ".join(f"{x:6.2f}" for x in vdot[joint.v])
        table.add_row(joint.name, f"v[{joint.v.start}:{joint.v.stop}]", values)
    console.print(table)
    show_algorithm(pp.compile(model, projected), q, v, push, vdot)
    tip = pp.point(model.frames[-1].name if model.frames else model.bodies[-1].name)
    speed = np.linalg.norm(pp.as_matrix(model, J(tip) @ beta, q, v, axes="world")[3:])
    console.print(f"{tip.frame!r} moves at {speed:.3f} m/s")


def show_algorithm(function: pp.Function, q, v, push: np.ndarray, dense: np.ndarray) -> None:
    """The loops over the bodies that the equation became, and that they give the same."""
    cost, found = function.info(), function(q, v, push)
    error = np.max(np.abs(found - dense)) / np.max(np.abs(dense))
    console.print(
        f"as an algorithm: {cost.sweeps} sweeps, {cost.flops} flops, "
        f"the same to {error:.0e}; its last sweep"
    )
    lines = str(function).splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("for "))
    for line in lines[start:]:
        console.print(f"    {line}", markup=False)


def draw_operators(model: pp.Model, q: np.ndarray, path: Path) -> None:
    """Which body feels which: phi, psi, Mass and its inverse by the size of their entries."""
    pictures = (("phi", phi), ("psi", psi), ("Mass", NEWTON_EULER), ("Mass$^{-1}$", INVERSE))
    figure, axes = plt.subplots(2, 2, figsize=(11, 10), layout="constrained")
    for axis, (name, expression) in zip(axes.flat, pictures, strict=True):
        matrix = np.abs(pp.as_matrix(model, expression, q))
        size = np.log10(np.where(matrix > 1e-12 * matrix.max(), matrix, np.nan))
        image = axis.imshow(size, cmap="viridis")
        figure.colorbar(image, ax=axis, shrink=0.8, label="log10 of the entry")
        of_bodies = expression.source.name == "body"
        sizes = [body.size if of_bodies else joint.kind.nv for body, joint in pairs(model)]
        stops = np.cumsum([0, *sizes])
        for stop in stops[1:-1]:
            axis.axhline(stop - 0.5, color="0.8", lw=0.6)
            axis.axvline(stop - 0.5, color="0.8", lw=0.6)
        names = [body.name for body in model.bodies]
        middles = (stops[:-1] + stops[1:]) / 2 - 0.5
        axis.set_xticks(middles, names, rotation=90)
        axis.set_yticks(middles, names)
        axis.tick_params(labelsize=8 if len(names) < 15 else 5, length=0)
        axis.set_title(f"{name}, {expression.source.name} space")
    figure.suptitle(
        "which body feels which, empty where zero: branches do not meet in phi and psi, "
        "in the inverse mass matrix they do"
    )
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    console.rule(f"[bold]picture[/]: {path}")


def pairs(model: pp.Model):
    return zip(model.bodies, model.joints, strict=True)


def main(arguments: list[str]) -> None:
    model = pp.load(arguments[0]) if arguments else pp.examples.spacecraft()
    rng = np.random.default_rng(7)
    q, v = model.random(rng), rng.normal(size=model.nv)
    show_machine(model)
    show_equations()
    check_identities(model, q)
    show_motion(model, q, v)
    draw_operators(model, q, Path("demo") / "operators.png")
    console.print(
        "Next, a robot of yours:  .venv/bin/python examples/00_ground.py robot.urdf\n"
        "docs/first_expressions.md to type your own, docs/notation.md for every letter"
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pp.PhipsiError as error:
        sys.exit(f"{type(error).__name__}: {error}")
