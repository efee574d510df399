"""Type the papers' equations, look at what they mean: a spacecraft that swings two arms."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

import phipsi as pp
from phipsi.operators import C, D, E_phi, H, I, J, K, M, Mass, T, alpha, b, phi, psi

console = Console(highlight=False)
model = pp.examples.spacecraft()
rng = np.random.default_rng(7)
q, v = model.random(rng), rng.normal(size=model.nv)
tau = np.concatenate([np.zeros(6), [20.0, -15.0, 5.0, -20.0, 15.0, -5.0]])  # the arms' motors


def value(expression, **inputs):
    return pp.as_matrix(model, expression, q, v, **inputs)


console.rule(f"[bold]the machine[/]: {model.name}, {model.mass:g} kg, {model.nv} speeds")
table = Table("body", "hangs on", "joint", "coordinates", "kg", box=None)
for body, joint in zip(model.bodies, model.joints, strict=True):
    parent = "world" if body.parent < 0 else model.bodies[body.parent].name
    kind, where = type(joint.kind).__name__, f"q[{joint.q.start}:{joint.q.stop}]"
    table.add_row(body.name, parent, kind, where, f"{body.inertia.mass:g}")
console.print(table)

console.rule("[bold]the equations, as typed[/]")
newton_euler = H @ phi @ M @ phi.T @ H.T
innovations = (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T
inverse = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
for name, expression in (
    ("Newton-Euler factorization", newton_euler),
    ("innovations factorization ", innovations),
    ("its inverse               ", inverse),
):
    console.print(f"{name}  Mass{'^-1' if expression is inverse else ''} = {expression}")
for letter in (H, E_phi, phi, psi, K, D):
    console.print(
        f"  {letter!s:6} {letter.source.name:>5} -> {letter.target.name:5} "
        f"{letter.causality.value:11} {'= ' + str(letter.definition) if letter.definition else ''}"
    )
try:
    phi @ M @ H  # does not fit, on purpose
except pp.SpaceError as error:
    console.print(f"[red]SpaceError:[/] {error}", markup=True)

console.rule("[bold]do they hold here?[/]")
mass = value(newton_euler)
for claim, residual in (
    ("both factorizations agree        ", value(newton_euler - innovations)),
    ("Mass Mass^-1 = I                 ", mass @ value(inverse) - np.eye(model.nv)),
    ("(I - H psi K) H phi = H psi      ", value((I - H @ psi @ K) @ H @ phi - H @ psi)),
    (
        "det Mass = product of det D      ",
        np.linalg.slogdet(mass)[1] - np.linalg.slogdet(value(D))[1],
    ),
):
    console.print(f"{claim} up to {np.abs(residual).max():.1e}")

console.rule("[bold]what the motors do[/]")
acceleration = value(inverse @ (T - C), T=tau)
console.print(f"accelerations, typed {inverse @ (T - C)}")
console.print(acceleration.round(4))
tips = [pp.point("left tip"), pp.point("right tip")]
speeds = (value(J(*tips)) @ v).reshape(2, 6)
for tip, speed in zip(tips, speeds, strict=True):
    console.print(f"{tip.frame} moves at {np.linalg.norm(speed[3:]):.3f} m/s")
console.print(
    "nothing pushes from outside, so the force on the root is "
    f"{np.abs(value(H @ phi @ (M @ alpha + b), beta_dot=acceleration)[:6]).max():.1e} N"
)

pictures = (("phi", phi), ("psi", psi), ("Mass", Mass), ("Mass^-1", Mass.inv))
figure, axes = plt.subplots(1, 4, figsize=(14, 4), layout="constrained")
for axis, (name, expression) in zip(axes, pictures, strict=True):
    matrix = value(expression)
    size = np.log10(np.abs(matrix) + 1e-9)
    size[np.abs(matrix) < 1e-12] = np.nan
    axis.imshow(size, cmap="viridis")
    body = expression.source.name == "body"
    stops = np.cumsum([0, *(6 if body else joint.kind.nv for joint in model.joints)])
    for stop in stops[1:-1]:
        axis.axhline(stop - 0.5, color="0.8", lw=0.6)
        axis.axvline(stop - 0.5, color="0.8", lw=0.6)
    names = [x.name for x in model.bodies]
    axis.set_xticks((stops[:-1] + stops[1:]) / 2 - 0.5, names, rotation=90, fontsize=7)
    axis.set_yticks((stops[:-1] + stops[1:]) / 2 - 0.5, names if axis is axes[0] else [""] * 7)
    axis.tick_params(labelsize=7, length=0)
    axis.set_title(f"{name}, {expression.source.name} space")
title = "which body feels which: yellow large, blue small, empty where exactly zero"
figure.suptitle(title, fontsize=10)
path = Path("demo") / "operators.png"
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=130)
console.rule(f"[bold]picture[/]: {path}")
console.print(
    "Next: change the machine to pp.examples.puma560() or pp.load('your.urdf'), type an equation "
    "of your own,\nand read docs/first_expressions.md for what each letter means."
)
