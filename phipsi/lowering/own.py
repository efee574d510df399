"""Letters of the user's whose blocks belong to the machine: asked for, and checked.

A user's function tells a block in the link frame; whatever runs a program turns it into
the private one, as it does with blocks that are passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from phipsi.algebra.own import MachineLetter
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, Space
from phipsi.errors import InputError
from phipsi.lowering.program import Program
from phipsi.masks import refuse_masked
from phipsi.model.configuration import joint_coordinates
from phipsi.model.model import Body, Joint, Model
from phipsi.scalars import Scalar

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine

Rows = list[list[Scalar]]
STEPS = ("own_block", "own_block_of_q", "own_vector", "own_vector_of_q")
ROUNDOFF = 1e-9  # of a block that is said to be symmetric or positive, beside its largest entry


def own_letters(program: Program) -> list[MachineLetter]:
    """The letters of a program whose blocks a user's function tells, in order."""
    return list(dict.fromkeys(x.options[0] for x in program.statements() if x.step in STEPS))


def own_block(
    letter: MachineLetter, model: Model, k: int, q: Sequence[Scalar] | None = None
) -> Rows:
    """The block of a body, or of its joint, in the link frame; of a vector one column.

    Args:
        letter: whose.
        model: the machine.
        k: which body.
        q: the coordinates of its joint, if blocks vary.
    """
    if not letter.varies:
        return constant_blocks(letter, model)[k].tolist()
    assert q is not None
    body, joint = model.bodies[k], model.joints[k]
    found = _asked(letter, body, joint, list(q))
    try:
        if letter.is_vector:
            rows = [[_number(x)] for x in found]
        else:
            rows = [[_number(x) for x in row] for row in found]
    except TypeError:
        rows = []
    shape = _shape(letter, body, joint)
    if (len(rows), {len(row) for row in rows}) != (shape[0], {shape[1]}):
        name, expected = _block_name(letter, body, joint), _text(letter, shape)
        raise InputError(f"{name} returned {found!r}; expected {expected}")
    return rows


_known: WeakKeyDictionary[Model, dict[MachineLetter, list[np.ndarray]]] = WeakKeyDictionary()


def constant_blocks(letter: MachineLetter, model: Model) -> list[np.ndarray]:
    """The blocks of a letter that does not vary, of all bodies, asked for once."""
    known = _known.setdefault(model, {})
    if letter not in known:
        pairs = zip(model.bodies, model.joints, strict=True)
        known[letter] = [_constant(letter, body, joint) for body, joint in pairs]
    return known[letter]


def own_matrix(m: DenseMachine, letter: MachineLetter) -> np.ndarray:
    """A letter as a matrix; in world axes each block turned."""
    blocks = []
    for k, joint in enumerate(m.model.joints):
        q = joint_coordinates(joint, m.q) if letter.varies else None
        block = m.array(own_block(letter, m.model, k, q))
        if m.axes == "world":
            X = m.kinematics.turn[k]
            block = X @ block if letter.target is BODY else block
            block = block @ X.mT if letter.source is BODY else block
        blocks.append(block)
    if letter.source is not SCALAR:
        return m.diagonal(letter.target, letter.source, blocks)
    return np.concatenate(blocks, axis=-2) if blocks else m.zeros(letter.target, SCALAR)


# -- one block -----------------------------------------------------------------------------


def _asked(letter: MachineLetter, *arguments: Any) -> Any:
    """What the user's function returns; InputError where it fails."""
    body, joint = arguments[:2]
    try:
        return letter.blocks(*arguments)
    except Exception as error:
        raise InputError(
            f"{_block_name(letter, body, joint)} failed: {type(error).__name__}: {error}"
        ) from error


def _constant(letter: MachineLetter, body: Body, joint: Joint) -> np.ndarray:
    """A block as an array, looked at."""
    found, (rows, columns) = _asked(letter, body, joint), _shape(letter, body, joint)
    name, expected = _block_name(letter, body, joint), _text(letter, (rows, columns))
    refuse_masked(name, found)
    try:
        block = np.array(found, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} returned {found!r}; expected {expected}") from None
    if block.ndim == 0 and letter.source is letter.target:
        block = block * np.eye(rows)
    if letter.is_vector and block.shape == (rows,):
        block = block[:, None]
    if block.shape != (rows, columns):
        raise InputError(f"{name} returned the shape {block.shape}; expected {expected}")
    if not np.all(np.isfinite(block)):
        raise InputError(f"{name} returned {found!r}; expected finite numbers")
    largest = np.abs(block).max(initial=0.0)
    if letter.symmetric:
        if np.abs(block - block.T).max(initial=0.0) > ROUNDOFF * largest:
            raise InputError(
                f"{name} returned a block that is not symmetric, as {letter} was said to be"
            )
        block = 0.5 * (block + block.T)
    if letter.positive and np.linalg.eigvalsh(block).min(initial=0.0) < -ROUNDOFF * largest:
        raise InputError(
            f"{name} returned a block with a negative eigenvalue; {letter} was said to be positive"
        )
    return block


def _shape(letter: MachineLetter, body: Body, joint: Joint) -> tuple[int, int]:
    def size(space: Space) -> int:
        return {BODY: body.size, JOINT: joint.kind.nv, SCALAR: 1}[space]

    return size(letter.target), size(letter.source)


def _text(letter: MachineLetter, shape: tuple[int, int]) -> str:
    """What a block must be, as a clause."""
    if letter.is_vector:
        return f"{shape[0]} numbers"
    number = " or a number" if letter.source is letter.target and not letter.varies else ""
    return f"{shape[0]} rows of {shape[1]} numbers{number}"


def _block_name(letter: MachineLetter, body: Body, joint: Joint) -> str:
    owner = f"joint {joint.name!r}" if letter.target is JOINT else f"body {body.name!r}"
    return f"the function of the letter {letter} at {owner}"


def _number(x: Scalar) -> Scalar:
    """A user's 0 or 1 is a number like any other, not one of the structure."""
    return float(x) if isinstance(x, (int, np.integer)) else x
