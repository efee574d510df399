"""The algorithm of an expression, drawn as sweeps along the tree."""

from __future__ import annotations

from phipsi.algebra.node import Node
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.cleaning import visible
from phipsi.compile import make_readable
from phipsi.errors import InputError
from phipsi.explain.drawings.blocks import LARGEST
from phipsi.explain.drawings.drawing import Drawing
from phipsi.explain.drawings.flow import flow_of
from phipsi.explain.drawings.labels import Labels
from phipsi.explain.drawings.panels import Page
from phipsi.explain.drawings.skeleton import Skeleton
from phipsi.explain.drawings.words import plural, written
from phipsi.explain.levels.sweeps import sweeps_of
from phipsi.function.checks import check_model
from phipsi.lowering.program import Program
from phipsi.model.model import Model


def draw_dataflow(
    expression: Node | str,
    model: Model | None = None,
    *,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Drawing:
    """The algorithm of an expression as sweeps along the tree.

    Each sweep has a panel: the tree and the direction; what a body k hands to its neighbours on
    the edges; what enters, q, v and what is given, from above; the result, below; and the
    recursion in the papers' letters. Green is what is kept from one sweep for a later one: the
    memory that the algorithm needs beside that of one body.

    Args:
        expression: of the letters of `phipsi.operators`, or its text.
        model: the machine, of at most 200 bodies; None for a chain of any length.
        symbols: your own letters in a text, as for `pp.parse`.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.

    Returns:
        The drawing: `.svg`, `.save(path)`; a notebook shows it.

    Raises:
        InputError: no expression or one of open space, no machine or one that is too large.
        LoweringError: if the expression has no O(N) algorithm; says why.

    >>> from phipsi.operators import C, Mass, T
    >>> draw_dataflow(Mass.inv @ (T - C)).title
    'ℳ⁻¹ (T − C): 3 sweeps over the bodies'
    """
    node = as_expression("draw_dataflow", expression, symbols, notation, alphabet=alphabet)
    if model is not None:
        check_model(model)
        count = len(model.bodies)
        if count > LARGEST:
            raise InputError(
                f"draw_dataflow: {model.name!r} has {count} bodies, and a drawing at most "
                f"{LARGEST}; without a machine, a chain of any length is drawn"
            )
        if not count:
            raise InputError(f"draw_dataflow: {model.name!r} has no moving bodies to sweep over")
    program = make_readable([node], plain=model is None or not model.has_mimics)
    labels = Labels(program)
    names = [] if model is None else [visible(x.name) for x in model.bodies]
    skeleton = Skeleton(None if model is None else model.tree, names)
    title = f"{written(node)}: {plural(program.sweeps, 'sweep')} over the bodies"
    where = f"on {'any machine' if model is None else visible(model.name)}"
    formulas = _formulas(program, labels, node)
    return Page(flow_of(program), labels, skeleton, formulas, written(node), where).drawing(title)


def _formulas(program: Program, labels: Labels, expression: Node) -> list[list[str]]:
    """Of each loop that is drawn, its lines in the papers' notation."""
    lines: dict[int, list[str]] = {}
    for sweep in sweeps_of(labels.notation, [expression]):
        lines.setdefault(sweep.loop, []).extend([sweep.head, *(f"  {x}" for x in sweep.lines)])
    return [lines.get(at, []) for at, x in enumerate(program.loops) if x.statements or x.before]
