"""A letter held against itself: what it is lowered to, and what is said of it, against its matrix.

    print(pp.check_letter(E_w))

A letter tells one thing more than once: `dense=` is its matrix, `applied=` and `block=` are its
statements, and facts such as `carries=`, `one_step=` or `symmetric=` follow from it too. The
algebra and the lowering believe each of these. Where two contradict each other, results are wrong,
and no error shows it: it is found here, by numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import BODY, JOINT, POINTS, Causality
from phipsi.compile import compile
from phipsi.errors import InputError, LoweringError
from phipsi.explain.deriving.trials import Trial, random_machine
from phipsi.lowering.dense import DenseMachine
from phipsi.lowering.inputs import Inputs
from phipsi.model.model import Model
from phipsi.operators import H, I, M, blockdiag, phi, vector

TRIALS = 3  # machines, or states of the one that is given
TOLERANCE = 1e-9  # of a difference, beside the largest number that it is one of
COMPILED = "compare applied=, block=, vector= and carries= with dense="
AXES = "turned=False belongs to a dense= that is in the axes asked for already, and only to that"
MOST_SHOWN = 4  # contradictions in one error


class Finding(NamedTuple):
    """One comparison: what was compared, how far it is apart, and what to look at if it is."""

    what: str
    gap: float
    advice: str


@dataclass(frozen=True)
class LetterCheck:
    """What was compared, and agrees. Made by `check_letter`.

    Attributes:
        letter: that was checked.
        machines: their names, one for each trial.
        gaps: by what was compared, the largest difference, relative to the numbers compared.
        not_compiled: by expression, why it has no algorithm: it was not compared.
    """

    letter: Symbol
    machines: tuple[str, ...]
    gaps: dict[str, float]
    not_compiled: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.letter} agrees with its matrix on {', '.join(self.machines)}"]
        lines += [f"  {what}: within {gap:.0e}" for what, gap in self.gaps.items()]
        lines += [f"  {what}: not compiled. {why}" for what, why in self.not_compiled.items()]
        return "\n".join(lines)


def check_letter(letter: Symbol, model: Model | None = None) -> LetterCheck:
    """Compare what a letter is compiled to, and the facts that it tells, with its matrix.

    Compiled are the letter, its star, both times vectors, and block diagonals and recursions that
    it may be part of; so `applied=`, `block=` and `carries=` are held against `dense=`. The
    matrix itself is held against the axes of links and of the world, the causality, and every
    fact such as `symmetric=` and `one_step=`.

    Args:
        letter: made by `letter` or `define`; with arguments, if it takes some.
        model: the machine to try it on, at random states, where blocks are told for its bodies
            alone; one in a plane may not show a wrong `carries=`. None for random machines: trees
            with joints of several degrees of freedom.

    Returns:
        What was compared. `print` shows it, with what has no algorithm and was left out.

    Raises:
        InputError: two of these contradict each other; says which, and by how much.
        LoweringError: the letter has no matrix to be compared with.

    >>> from phipsi.operators import M
    >>> import phipsi as pp
    >>> print("\\n".join(str(check_letter(M, pp.chain(3))).splitlines()[:3]))
    M agrees with its matrix on chain of 3
      memoryless: within 0e+00
      symmetric: within 0e+00
    """
    if not isinstance(letter, Symbol) or letter.free:
        raise InputError(
            f"check_letter: {letter} tells nothing to be checked; pass what letter(...) or "
            "define(...) returns"
        )
    if model is not None and not isinstance(model, Model):
        raise InputError(f"check_letter: expected a Model, got {type(model).__name__}")
    gaps: dict[str, float] = {}
    not_compiled: dict[str, str] = {}
    machines = []
    for seed in range(TRIALS):
        machine = random_machine((letter,), (), seed) if model is None else model
        machines.append(machine.name)
        found = [
            *_matrix_findings(letter, machine, seed),
            *_compiled_findings(letter, machine, seed, not_compiled),
        ]
        _refuse_gaps(letter, machine, found)
        for what, gap, _ in found:
            gaps[what] = max(gap, gaps.get(what, 0.0))
    return LetterCheck(letter, tuple(dict.fromkeys(machines)), gaps, not_compiled)


def _refuse_gaps(letter: Symbol, machine: Model, found: list[Finding]) -> None:
    """InputError that names what is apart, and by how much."""
    apart = [x for x in found if not x.gap <= TOLERANCE]  # NaN is apart too
    if not apart:
        return
    lines = [f"  {x.what}: off by {x.gap:.2g}" for x in apart[:MOST_SHOWN]]
    if len(apart) > MOST_SHOWN:
        lines.append(f"  and {len(apart) - MOST_SHOWN} more")
    advice = "; ".join(dict.fromkeys(x.advice for x in apart))
    raise InputError(
        f"the letter {letter} contradicts its matrix, on {machine.name}:\n"
        + "\n".join(lines)
        + f"\n  {advice}"
    )


# -- the matrix ----------------------------------------------------------------------------


def _matrix_findings(letter: Symbol, machine: Model, seed: int) -> Iterator[Finding]:
    """Blocks of the matrix, its facts, and the axes of the world; InputError for its shape."""
    trial = Trial(machine, (letter,), seed)
    q, v = trial.state
    points = trial.points if POINTS in (letter.source, letter.target) else None

    def dense(axes: str, v: np.ndarray) -> DenseMachine:
        return DenseMachine(Inputs(machine, letter, q, v, points, trial.values), axes)

    m = dense("link", v)
    A = np.asarray(m.matrix(letter))
    shape = tuple(sum(m.sizes(x)) for x in (letter.target, letter.source))
    if A.shape[-2:] != shape:
        raise InputError(
            f"the letter {letter}: the shape of dense= is {A.shape} on {machine.name}, expected "
            f"{shape}; a vector has one column"
        )
    yield from _block_findings(letter, machine, m, A)
    yield from _fact_findings(letter, m, A)
    if letter.definition is not None:
        return
    if not letter.record.of_speeds:
        other = dense("link", v + 1.0).matrix(letter)
        yield Finding("the same at other speeds", _gap(other, A), "tell of_speeds=True")
    turns_points = letter.source is letter.target is POINTS  # as X does
    has_rates = letter.is_vector and letter.record.of_speeds  # others in axes that turn, as in a
    if not turns_points and not has_rates:
        left, right = (m.turn(x, letter.arguments) for x in (letter.target, letter.source))
        world = dense("world", v).matrix(letter)
        yield Finding("world axes", _gap(world, left @ A @ right.mT), AXES)


def _block_findings(
    letter: Symbol, machine: Model, m: DenseMachine, A: np.ndarray
) -> Iterator[Finding]:
    """What stands where the letter is said to have no block."""
    if not {letter.source, letter.target} <= {BODY, JOINT}:
        return
    tree, slices = machine.tree, (m.slices(letter.target), m.slices(letter.source))

    def outside(has_block: Any) -> float:
        """The largest number in blocks that are not there."""
        rest = A.copy()
        for i, row in enumerate(slices[0]):
            for k, column in enumerate(slices[1]):
                if has_block(i, k):
                    rest[..., row, column] = 0.0
        return _gap(rest, 0.0, A)

    allowed = {
        Causality.MEMORYLESS: lambda i, k: i == k,
        Causality.CAUSAL: tree.is_inboard,
        Causality.ANTICAUSAL: lambda i, k: tree.is_inboard(k, i),
    }.get(letter.causality)
    if allowed is not None:
        name = letter.causality.value
        yield Finding(name, outside(allowed), f"its matrix is not {name}: see causality=")
    if letter.record.one_step:
        gap = outside(lambda i, k: tree.parent[k] == i)
        yield Finding("one step", gap, "one_step=True is from each body to its parent, no further")
    if letter.record.strict:
        gap = outside(lambda i, k: i != k)
        yield Finding("strict", gap, "strict=True says that no block is on the diagonal")


def _fact_findings(letter: Symbol, m: DenseMachine, A: np.ndarray) -> Iterator[Finding]:
    """Symmetric, positive, orthogonal and the star, as far as they are told."""
    record, star = letter.record, A.mT
    if record.symmetric:
        yield Finding("symmetric", _gap(A, star), "symmetric= and positive= are promises")
    if record.positive:
        lowest = np.linalg.eigvalsh((A + star) / 2).min(initial=0.0)
        yield Finding("positive", _gap(lowest, 0.0, A), "positive= allows no negative eigenvalue")
    if record.orthogonal:
        gap = _gap(star @ A, np.eye(A.shape[-1]))
        yield Finding("orthogonal", gap, "orthogonal=True says that its star is its inverse")
    if record.star is not None:
        gap = _gap(m.matrix(record.star(letter)), star)
        yield Finding("star", gap, "star= returns an expression for its transpose")


# -- what it is compiled to ----------------------------------------------------------------


def _expressions(letter: Symbol) -> Iterator[Node]:
    """The letter, and what it may be part of, between spaces that are those of the machine."""
    yield letter
    source, target, steps = letter.source, letter.target, letter.record.steps
    if letter.is_vector or letter.is_scalar:
        if target is BODY:
            yield H @ phi @ letter
        return
    x, y = vector("x_any", source), vector("y_any", target)
    yield from (letter.T, letter @ x, letter.T @ y)
    if source is BODY:
        yield blockdiag(letter @ M @ letter.T)
    if target is BODY:
        yield blockdiag(letter.T @ M @ letter)
    if source is target is BODY:
        yield H @ phi @ letter @ phi.T @ H.T
    if letter.record.one_step and source is target:
        yield from ((I - letter).inv @ x, (I - letter).inv.T @ x)
    if steps.inverse is not None or steps.solve is not None:
        yield from (letter.inv @ x, letter.inv)


def _compiled_findings(
    letter: Symbol, machine: Model, seed: int, not_compiled: dict[str, str]
) -> Iterator[Finding]:
    """Each expression, compiled, beside its dense meaning; those with no algorithm are noted."""
    for expression in _expressions(letter):
        what = f"`{expression}` compiled"
        try:
            function = compile(machine, expression, backend="numpy", rewrite=False)
        except LoweringError as error:
            not_compiled[f"`{expression}`"] = str(error).splitlines()[0]
            continue
        trial = Trial(machine, (expression,), seed)
        q, v = trial.state
        known = trial.values | {"points": trial.points}
        given = {name: known[name] for name in function.inputs if name in known}
        yield Finding(what, _gap(function(q, v, **given), trial.value(expression)), COMPILED)


def _gap(found: Any, expected: Any, beside: Any = None) -> float:
    """The largest difference, relative to the largest number that is expected."""
    size = np.abs(expected if beside is None else beside).max(initial=0.0)
    gap = np.abs(np.asarray(found) - expected).max(initial=0.0)
    return float(gap / size if size else gap)
