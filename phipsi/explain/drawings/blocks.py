"""Operators of a machine as pictures: which blocks are there, and which way they carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.walk import letters_of
from phipsi.cleaning import visible
from phipsi.errors import InputError
from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.cells import Cell
from phipsi.explain.drawings.drawing import Drawing
from phipsi.explain.drawings.factors import draw_row
from phipsi.explain.drawings.legend import draw_legend, item_width, legend_height, legend_items
from phipsi.explain.drawings.picture import Blocks, Picture, find_blocks
from phipsi.explain.drawings.states import make_states
from phipsi.explain.drawings.structure import Structure
from phipsi.explain.drawings.words import plural, spaces_of, wrapped, written
from phipsi.function.checks import check_model
from phipsi.lowering.inputs import PLACE, SPATIAL, checked_points
from phipsi.model.model import Model, Point

LARGEST = 200  # bodies, beyond which blocks are smaller than what can be seen
ROWS = PLACE * LARGEST  # of any space: those of as many bodies, the poses of which have most
STATES = 3  # that are compared, to tell rounding from numbers
SIDE = 460.0  # pixels, of the longer side
THICKEST = 36.0  # pixels, of one row of numbers
MARGIN = 18.0
LABEL = 10.0  # size of names
LONGEST = 150.0  # pixels of a name
BETWEEN = 12.0  # pixels between the middles of two names


def draw_blocks(
    expression: Node | str,
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    points: Sequence[Point] | None = None,
    factors: bool = False,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
    **values: Any,
) -> Drawing:
    """The blocks of an operator on a machine: a matrix, coloured by where its blocks carry.

    A row and a column belong to a body, a joint or a point. Block (i, k) is memoryless if i is k,
    causal (blue) if body i is inboard of k, anticausal (vermillion) if outboard, and across
    branches (purple) if the way from k to i turns round. What is zero is blank. On small machines
    every number has a shade, by its decade. Parents come first, so causal blocks stand above the
    diagonal; the papers, which number from the tip, have them below.

    Which blocks vanish is found twice: by the tree and the algebra of zeros and ones, and by the
    numbers of `as_matrix` at the state drawn. A block that the tree allows and that is zero all
    the same, to rounding, is pale yellow.

    Args:
        expression: of the letters of `phipsi.operators`, or its text; a vector is a column.
        model: the machine, of at most 200 bodies.
        q: (nq,); None for a random configuration, the same each time.
        v: (nv,), where speeds appear; None for random ones.
        points: what the bare letters B, J, X and c stand for.
        factors: whether to draw what the expression is made of beside it: the factors of a
            product, the terms of a sum, the definition of a letter.
        symbols: your own letters in a text, as for `pp.parse`.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.
        values: of the free symbols by name; those that are not given are random.

    Returns:
        The drawing: `.svg`, `.save(path)`; a notebook shows it.

    Raises:
        InputError: no expression or one of open space, no machine or one that is too large,
            a space that is; points that are missing, arrays of wrong shape.
        SolveError: an inverse that does not exist at this configuration.

    >>> import phipsi as pp
    >>> from phipsi.operators import phi
    >>> draw_blocks(phi, pp.examples.planar_arm(3)).title
    'φ of planar arm of 3: 6 of 9 blocks are nonzero'
    """
    node = as_expression("draw_blocks", expression, symbols, notation, alphabet=alphabet)
    check_model(model)
    if not model.bodies:
        raise InputError(f"draw_blocks: {model.name!r} has no moving bodies, and so no blocks")
    if len(model.bodies) > LARGEST:
        raise InputError(
            f"draw_blocks: {model.name!r} has {len(model.bodies)} bodies, and a drawing at most "
            f"{LARGEST}; draw a smaller machine of the same kind, or use pp.as_matrix"
        )
    _check_rows(node, points)
    inputs = make_states(model, node, q, v, points, values, STATES)
    structure = Structure(inputs)
    blocks = find_blocks(node, structure, inputs)
    count = blocks.nonzero.size
    verb = "is" if count == 1 else "are"
    said = f"{int(blocks.nonzero.sum())} of {plural(count, 'block')} {verb} nonzero"
    title = f"{written(node)} of {visible(model.name)}: {said}"
    if not factors:
        return _one(node, model, blocks, title, said)
    heading = f"{visible(model.name)}: {said}"
    return draw_row(node, lambda x: find_blocks(x, structure, inputs), title, heading)


def _check_rows(node: Node, points: Sequence[Point] | None) -> None:
    """InputError for spaces that are too large; those of bodies are not, if these are few."""
    letters = letters_of([node])
    lists = [x.arguments for x in letters if POINTS in (x.source, x.target)]
    lists += [] if points is None else [checked_points(points)]
    rows = {POINTS.name: SPATIAL * max(map(len, lists), default=0)}
    for letter in letters:
        for space in (letter.source, letter.target):
            if space is not None and space.is_own:
                rows[space.name] = space.size or 0
    for name, count in rows.items():
        if count > ROWS:
            raise InputError(
                f"draw_blocks: the space {name!r} has {count} rows, and a drawing at most {ROWS}; "
                "draw a smaller one of the same kind, or use pp.as_matrix"
            )


def _one(node: Node, model: Model, blocks: Blocks, title: str, said: str) -> Drawing:
    """A single picture with the names of its rows and columns."""
    longest = max(sum(x.size for x in cells) for cells in (blocks.rows, blocks.columns))
    picture = Picture(blocks, min(SIDE / longest, THICKEST))
    items = legend_items([blocks], counts=True, entries=picture.shows_entries)
    left = MARGIN + _room(blocks.rows)
    width = max(left + picture.width, 400.0, *(MARGIN + item_width(x) for x in items)) + MARGIN
    heading = wrapped(written(node), width - 2 * MARGIN, 16.0)
    facts = [f"{spaces_of(node)} · {visible(model.name)}", said]
    below = [x for fact in facts for x in wrapped(fact, width - 2 * MARGIN, 11.0)]
    top = MARGIN + 22.0 * len(heading) + 16.0 * len(below) + 12.0 + _room(blocks.columns)
    end = top + picture.height + 14.0
    height = end + legend_height(items, width - 2 * MARGIN) + MARGIN - 6.0
    parts = [
        *(
            svg.formula(
                MARGIN, MARGIN + 22.0 * k + 10.0, line, 16.0, colours.INK, font_weight="bold"
            )
            for k, line in enumerate(heading)
        ),
        *(
            svg.text(
                MARGIN, MARGIN + 22.0 * len(heading) + 16.0 * k + 8.0, line, 11.0, colours.FAINT
            )
            for k, line in enumerate(below)
        ),
        svg.element(
            "g",
            *picture.parts(),
            *_names(blocks.rows, picture.ys, upright=True),
            *_names(blocks.columns, picture.xs, upright=False),
            transform=f"translate({svg.number(left)} {svg.number(top)})",
        ),
        *draw_legend(items, MARGIN, end, width - 2 * MARGIN),
    ]
    described = "; ".join(text for _, text in items)
    return Drawing(
        svg.document(width, height, title, f"{'; '.join(facts)}. {described}.", parts), title
    )


def _room(cells: Sequence[Cell]) -> float:
    """Pixels for the names beside a picture."""
    longest = max(svg.text_width(x.name, LABEL) for x in cells)
    return min(longest, LONGEST) + 6.0 if longest else 0.0


def _names(cells: Sequence[Cell], edges: Sequence[float], upright: bool) -> Iterator[str]:
    """As many names as there is room for, the first always."""
    last = -BETWEEN
    for k, cell in enumerate(cells):
        middle = (edges[k] + edges[k + 1]) / 2
        if middle - last < BETWEEN or not cell.name:
            continue
        last = middle
        name = svg.shorten(cell.name, LONGEST, LABEL)
        if upright:
            yield svg.text(-6.0, middle, name, LABEL, colours.INK, text_anchor="end")
        else:
            turn = f"translate({svg.number(middle)} -6) rotate(-90)"
            yield svg.element("g", svg.text(0.0, 0.0, name, LABEL, colours.INK), transform=turn)
