"""The tree of a machine, drawn with letters; a large one is folded."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from phipsi.cleaning import visible
from phipsi.cli.screen import number, plural
from phipsi.model.model import Model
from phipsi.model.tree import WORLD

MOST_ROWS = 80
DEEPEST = 16  # levels; each takes four columns


def draw_tree(model: Model, most: int = MOST_ROWS) -> Tree:
    """Bodies below the bodies that carry them, each with its joint and its mass.

    Args:
        model: the machine.
        most: rows, about. As many levels are shown as fit, of a wide one the first bodies;
            what hangs below is counted.

    >>> import phipsi as pp
    >>> from phipsi.cli.screen import Screen
    >>> Screen().print(draw_tree(pp.examples.planar_arm(2)))
    world
    └── link1   joint1   1 kg
        └── link2   joint2   1 kg
    """
    children: dict[int, list[int]] = {WORLD: []}
    for k, body in enumerate(model.bodies):
        children[k] = []
        children[body.parent].append(k)
    below = _counts(model)
    drawn = Tree(Text("world", style="dim"), guide_style="dim")
    level, rows = [(WORLD, drawn)], 1
    for depth in range(1, DEEPEST + 2):
        wanted = sum(len(children[parent]) for parent, _ in level)
        is_last = depth > DEEPEST or (depth > 1 and rows + wanted > most)
        following: list[tuple[int, Tree]] = []
        for parent, branch in level:
            shown = [] if is_last else children[parent][: max(1, most - rows)]
            for k in shown:
                following.append((k, branch.add(_label(model, k))))
                rows += 1
            hidden = sum(1 + below[k] for k in children[parent][len(shown) :])
            if hidden:
                branch.add(Text(f"... {plural(hidden, 'more body', 'more bodies')}", style="dim"))
        level = following
    return drawn


def _counts(model: Model) -> list[int]:
    """How many bodies each body carries, near and far."""
    counts = [0] * len(model.bodies)
    for k in reversed(range(len(model.bodies))):
        parent = model.bodies[k].parent
        if parent != WORLD:
            counts[parent] += 1 + counts[k]
    return counts


def _label(model: Model, k: int) -> Text:
    body, joint = model.bodies[k], model.joints[k]
    name = visible(joint.name) + ("" if joint.mimic is None else " (follows)")
    return Text.assemble(
        visible(body.name), (f"   {name}", "cyan"), (f"   {number(body.inertia.mass)} kg", "dim")
    )
