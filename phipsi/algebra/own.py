"""The one door by which letters come in: those of the papers, of later layers, and of a user.

    M_a = letter("M_a", "body", "body", added_mass, positive=True)
    Mass_w = define("Mass_w", H @ phi @ (M + M_a) @ phi.T @ H.T + Jm)

A letter is one call, in the file that defines it. What is told of it there stands in its record,
`alphabet.Letter`. The letters of the papers, in `operators`, come in by the same calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import fields
from importlib import import_module
from inspect import getdoc
from keyword import iskeyword
from pickle import PicklingError
from typing import Any

from phipsi.algebra.alphabet import (
    FORCE,
    MOTION,
    PAPERS,
    UNKNOWN,
    Alphabet,
    Letter,
    Opened,
    Steps,
)
from phipsi.algebra.node import Bracket, Node, Opener, Symbol
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.show import in_brackets
from phipsi.algebra.spaces import (
    BODY,
    JOINT,
    SCALAR,
    Causality,
    Space,
    are_paired,
    as_causality,
    as_space,
    is_dense,
    own_space,
)
from phipsi.cleaning import quoted, visible
from phipsi.errors import InputError, SpaceError, name_choices

Blocks = Callable[..., Any]
STEPS = {field.name for field in fields(Steps)}
FACTS = {field.name for field in fields(Letter)} - {"name", "alphabet", "steps"} | STEPS
AT_A_BODY = ("block", "inverse")  # steps of letters that stay at their body
KINDS = (FORCE, MOTION, None)  # of body vectors

_STATE = ("q", "v", "axes", "points", "model", "expression", "out", "threads")
_TEXT = ("symbols", "notation", "alphabet")
ARGUMENTS = {  # of functions that take values of symbols by name
    "as_matrix and of compiled functions": _STATE,
    "explain and of drawings": ("view", "inspect", "factors", "rewrite"),
    "functions that read text": _TEXT,
}


def own_name(name: str) -> str:
    """A name for a symbol; InputError if it is none, or an argument of a function of ours.

    It may be that of a letter of the papers: in an expression, symbols are told apart by more
    than their names, and where text is read, the user's own come first.
    """
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise InputError(f"a symbol needs a name that is an identifier, got {name!r}")
    if visible(name) != name:
        raise InputError(f"a symbol needs a name all of which is seen, got {quoted(name)}")
    for functions, arguments in ARGUMENTS.items():
        if name in arguments:
            raise InputError(f"the name {name!r} is an argument of {functions}; choose another one")
    return name


# -- kinds of symbols --------------------------------------------------------------------


class CallableLetter(Symbol):
    """A letter that may carry arguments: `B(point)`, `HH_delta("elbow")`."""

    def __call__(self, *arguments: Hashable) -> Symbol:
        """The same letter with its arguments, its definition's letters likewise."""
        if not arguments:
            raise InputError(f"{self.name}(): expected at least one argument")
        for argument in arguments:
            if not isinstance(argument, Hashable):
                raise InputError(
                    f"{self.name}(...): expected names, numbers or points, got {argument!r}"
                )
        formula = self.definition
        definition = None if formula is None else _with_arguments(formula, arguments)
        spaces = self.source, self.target
        return Symbol(self.name, *spaces, self.causality, arguments, definition, record=self.record)


def _with_arguments(node: Node, arguments: tuple) -> Node:
    if isinstance(node, CallableLetter):
        return node(*arguments)
    if not node.children:
        return node
    return node.rebuild(tuple(_with_arguments(child, arguments) for child in node.children))


class ArticulatedLetter(Symbol):
    """A letter of articulated bodies, which may be that of another inertia: `psi[M + M_a]`."""

    def __getitem__(self, inertia: Node | tuple[Node, Node | int]) -> Symbol:
        """The same letter of H phi W phi* H* + N: `D[W]` with the rotors Jm for N, or `D[W, N]`."""
        from phipsi.algebra.rewriting.inertia import of_inertia

        return of_inertia(self, *(inertia if isinstance(inertia, tuple) else (inertia,)))


class OpeningLetter(Symbol):
    """An operator that also opens a bracket, as the shift S does: `S[x]`."""

    def __call__(self, *arguments: object) -> Node:
        raise SpaceError(in_brackets(self.name, arguments))

    def __getitem__(self, vector: Node) -> Node:
        return Bracket(self.name, vector)


class MachineLetter(Symbol):
    """A letter whose blocks a function tells, body by body. Made by `letter`.

    Attributes:
        blocks: of a body and its joint, and of the joint's coordinates where they vary.
        symmetric: whether each block is its own transpose.
        positive: whether each block is positive definite, or semidefinite.
        varies: whether blocks depend on the joint's own coordinates.
    """

    blocks: Blocks
    symmetric: bool
    positive: bool
    varies: bool

    def __init__(
        self,
        name: str,
        source: Space,
        target: Space,
        blocks: Blocks,
        symmetric: bool = False,
        positive: bool = False,
        varies: bool = False,
        record: Letter = UNKNOWN,
    ):
        told = (name, source, target, blocks, symmetric, positive, varies, record)
        self._settle(told, source, target, Causality.MEMORYLESS)
        self.__dict__.update(name=name, arguments=(), definition=None, free=False, record=record)
        self.__dict__.update(blocks=blocks, symmetric=symmetric, positive=positive, varies=varies)

    def __reduce__(self) -> Any:
        """By the name of the letter or of its function; a function without one stays here."""
        where, name = (getattr(self.blocks, x, "") for x in ("__module__", "__qualname__"))
        known = getattr(sys.modules.get(where), name, None)
        if known is self:  # the decorated function is the letter
            return _named, (where, name)
        if known is self.blocks:
            return MachineLetter, self._fields
        raise PicklingError(
            f"cannot pickle the letter {self.name}: {name or self.blocks!r} is no function of a "
            "module; define it by `def` at the top of one"
        )


def _named(module: str, name: str) -> Any:
    """What a module calls so."""
    return getattr(import_module(module), name)


# -- the door ------------------------------------------------------------------------------


def letter(
    name: str,
    source: Space | str,
    target: Space | str,
    blocks: Blocks | None = None,
    *,
    symmetric: bool = False,
    positive: bool = False,
    varies: bool = False,
    causality: Causality | str | None = None,
    alphabet: Alphabet | None = None,
    **facts: Any,
) -> Any:
    """A letter whose value belongs to the machine, as that of M does.

    `blocks(body, joint)` returns the block of a body, in its link frame, or of its joint: a
    matrix, or a number for that number times the identity; of a vector a list of numbers. It
    is asked once for each body of a machine. Where `varies`, `blocks(body, joint, q)` returns
    rows of scalars from the coordinates q of the joint, with the functions of `phipsi.scalars`
    where it needs sin or sqrt.

    Args:
        name: of the letter.
        source: "body" or "joint"; "scalar" for a vector.
        target: "body" or "joint".
        blocks: the function; without it, `letter` decorates one.
        symmetric: whether every block is its own transpose. Operators of the form
            `L phi W phi* L* + N` are inverted in O(N) where W and N are known to be.
        positive: whether blocks are symmetric and have no negative eigenvalue; then nothing
            has to be exchanged when they are factored.
        varies: whether blocks depend on q.
        causality: of a letter that is more than blocks: "memoryless", "causal" (inward),
            "anticausal" (outward) or "mixed", see `spaces.Causality`. Such a letter has no
            `blocks`, and its facts tell what it computes, `dense=`, `applied=` and the like; see
            `alphabet.Steps`. It may be left out where `one_step=True` or `block=` says it, and of
            vectors. `phipsi.check_letter` compares all of these.
        alphabet: where the letter is found by its name; a user's own is passed to `parse`.
        facts: whatever else is known of it, see `alphabet.Letter`: `mechanics="..."` says what
            it means, `look="cal:M"` how it is printed, `flops=42` what it costs.

    Returns:
        The letter.

    Raises:
        InputError: a name that is none, blocks that cannot be called, facts that are unknown,
            contradict each other or leave open where the letter goes.
        SpaceError: spaces that have no blocks opposite each other.

    >>> from phipsi.operators import Mass
    >>> D_j = letter("D_j", "joint", "joint", lambda body, joint: joint.damping, positive=True)
    >>> (Mass + 0.001 * D_j).inv
    (Mass + 0.001 * D_j).inv
    """
    start, end = as_space(source), as_space(target)
    told = None if causality is None else as_causality(causality)
    _check_facts(name, facts, ("causality", "varies"))
    symmetric = bool(symmetric or positive)
    if symmetric and start is not end:
        raise SpaceError(f"{name} cannot be symmetric: it maps {start} to {end}")
    how = {"symmetric": symmetric, "positive": bool(positive), "alphabet": alphabet, **facts}
    if blocks is None and STEPS & facts.keys():
        return _primitive(name, start, end, told, **how)
    if blocks is None:
        return lambda function: letter(
            name, source, target, function, varies=varies, causality=told, **how
        )
    if end not in (BODY, JOINT) or start not in (BODY, JOINT, SCALAR):
        raise SpaceError(
            f"cannot make the letter {name} from {start} to {end}: a body has no such block\n"
            "  blocks of the machine map between bodies and joints; a vector of these maps from "
            "scalar space; see also operator(...), whose value is passed"
        )
    if STEPS & facts.keys():
        step = min(STEPS & facts.keys())
        raise InputError(
            f"the letter {name} is told twice: by a function of blocks and by {step}=; pass one of "
            "them"
        )
    if facts.get("one_step") or told not in (None, Causality.MEMORYLESS):
        raise InputError(
            f"the letter {name} is told by blocks, which stay at their body; what goes from body "
            "to body tells dense= and applied=, or is a product with E_phi"
        )
    if not callable(blocks) or not isinstance(blocks, Hashable):
        raise InputError(
            f"the letter {name} needs a function of a body and its joint, got {blocks!r}"
        )
    if not facts.get("mechanics"):
        how["mechanics"] = (getdoc(blocks) or "").partition("\n")[0]
    record, flags = _record(name, **how), (symmetric, bool(positive), bool(varies))
    return _entered(MachineLetter(name, start, end, blocks, *flags, record))


def _primitive(
    name: str, source: Space, target: Space, causality: Causality | None, **facts: Any
) -> Symbol:
    """A letter that is more than blocks: its facts tell what it computes."""
    causality = _causality_of_steps(name, source, causality, facts)
    _check_ends(name, source, target, facts)
    record = _record(name, **facts)
    return _entered(_kind(record)(name, source, target, causality, record=record))


def _causality_of_steps(
    name: str, source: Space, causality: Causality | None, facts: dict[str, Any]
) -> Causality:
    """Of a letter that is more than blocks, as it is told, or as what it computes implies.

    Nothing is assumed: a letter that is taken to stay at its body, and does not, is lowered to
    wrong numbers.
    """
    one_step = bool(facts.get("one_step"))
    stays = next((x for x in AT_A_BODY if facts.get(x) is not None), "")
    if one_step and causality not in (None, Causality.CAUSAL):
        raise InputError(
            f"the letter {name} cannot be of one step and {causality.value}: a step goes from "
            "each body to its parent, which is causal"
        )
    if stays and (one_step or causality not in (None, Causality.MEMORYLESS)):
        raise InputError(
            f"the letter {name} goes from body to body, so it has no {stays}=, which is that of a "
            "letter that stays at its body; tell applied="
        )
    if causality is not None:
        return causality
    if one_step:
        return Causality.CAUSAL
    if stays or source is SCALAR:
        return Causality.MEMORYLESS
    raise InputError(
        f"the letter {name} does not tell where it goes. Add one_step=True if it goes from each "
        'body to its parent, else causality="memoryless" (it stays at its body), "causal" '
        '(inward), "anticausal" (outward) or "mixed"'
    )


def define(
    name: str,
    formula: Node | str,
    *,
    alphabet: Alphabet | None = None,
    symbols: Symbols = (),
    notation: str | None = None,
    **facts: Any,
) -> Symbol:
    """A letter that stands for a formula, as Mass stands for H phi M phi* H* + Jm.

    Args:
        name: of the letter.
        formula: of letters, or as text for `parse`; letters with values to be passed keep asking
            for them.
        alphabet: where the letter is found by its name, and whose letters a text may have; a
            user's own is passed to `parse`.
        symbols: your own letters in a text, as for `parse`.
        notation: of the paper in which a text is read, as for `parse`.
        facts: whatever else is known of it; see `alphabet.Letter`.

    Returns:
        The letter; `letter.definition` is the formula.

    >>> Lambda = define("Lambda", "(J Mass^-1 J')^-1")
    >>> Lambda.definition
    (J @ Mass.inv @ J.T).inv
    """
    spoken = None if alphabet is None else alphabet.name
    formula = as_expression(f"the letter {name}", formula, symbols, notation, alphabet=spoken)
    assert formula.source is not None and formula.target is not None, "checked"
    _check_facts(name, facts)
    _check_ends(name, formula.source, formula.target, facts)
    record = _record(name, alphabet=alphabet, **facts)
    what = name, formula.source, formula.target, formula.causality
    return _entered(_kind(record)(*what, definition=formula, record=record))


def given(
    name: str,
    source: Space,
    target: Space,
    causality: Causality = Causality.MEMORYLESS,
    *,
    alphabet: Alphabet | None = None,
    **facts: Any,
) -> Symbol:
    """A letter whose value is passed at evaluation; see `operator`, `vector` and `scalar`."""
    record = _record(name, alphabet=alphabet, **facts)
    return _entered(Symbol(name, source, target, causality, free=True, record=record))


def opener(name: str, says: str, alphabet: Alphabet, opens: Opened, **facts: Any) -> Opener:
    """A name that only opens a bracket: Q[x], cross[x].

    Args:
        name: of it.
        says: what the bracket is.
        alphabet: where it is found.
        opens: what it is in front of a bracket.
        facts: whatever else is known of it; see `alphabet.Letter`.
    """
    made = Opener(name, says, _record(name, alphabet=alphabet, opens=opens, **facts))
    alphabet.enter(name, made)
    return made


def _entered(symbol: Symbol) -> Any:
    """A letter that its alphabet knows from here on."""
    if symbol.record.alphabet is not None:
        symbol.record.alphabet.enter(symbol.name, symbol)
    return symbol


def _check_facts(name: str, facts: dict[str, Any], arguments: tuple[str, ...] = ()) -> None:
    """InputError for facts that no record has, and for values that `carries` cannot have.

    `arguments` are those that the door takes besides facts: they may have been meant as well.
    """
    for fact in sorted(facts.keys() - FACTS):
        choices = name_choices(fact, sorted({*FACTS, *arguments}))
        raise InputError(f"the letter {name} has no {fact}=; {choices}")
    carries = facts.get("carries")
    if carries is None:
        return
    is_pair = isinstance(carries, (tuple, list)) and len(carries) == 2
    if not is_pair or any(x not in KINDS for x in carries):
        raise InputError(
            f"the letter {name}: carries={carries!r} is no pair. Expected what its target and "
            f"its source are, each {FORCE!r}, {MOTION!r} or None"
        )
    facts["carries"] = tuple(carries)


def _check_ends(name: str, source: Space, target: Space, facts: dict[str, Any]) -> None:
    """InputError if `carries` leaves open what the bodies' vectors are: a guess may be wrong."""
    ends = zip((target, source), facts.get("carries") or (), strict=False)
    if any(space is BODY and kind is None for space, kind in ends):
        raise InputError(
            f"the letter {name}: carries={facts['carries']!r} has None for body space. Expected "
            f"{FORCE!r} or {MOTION!r} there; leave carries= out if it mixes them"
        )


def _record(name: str, **facts: Any) -> Letter:
    """The record of a letter; that of an unknown one where nothing is told of it."""
    own_name(name)
    if not any(facts.values()):
        return UNKNOWN
    if facts.get("opens") is not None and facts.get("alphabet") is not PAPERS:
        raise InputError(
            f"the letter {name} cannot open a bracket: S[x], Q[x] and cross[x] go by their names; "
            "name what you need with define(...)"
        )
    steps = Steps(**{step: facts.pop(step) for step in STEPS & facts.keys()})
    return Letter(name, steps=steps, **facts)


def _kind(record: Letter) -> type[Symbol]:
    if record.opens is not None:
        return OpeningLetter
    if record.articulated:
        return ArticulatedLetter
    return CallableLetter if record.of else Symbol


# -- letters whose values are passed -------------------------------------------------------


def space(name: str, size: int) -> Space:
    """A space of the user's: one block of `size` numbers for the whole machine.

    The same name and size are the same space. Operators between it and any other space are
    dense matrices, as the constraints of a closed chain [002 (3.13)].

    Args:
        name: for messages; an identifier that no other space has.
        size: how many numbers a vector has.

    >>> from phipsi.operators import J, Mass
    >>> loop = space("loop", 5)
    >>> A = operator("A", "point", loop)
    >>> (A @ J @ Mass.inv @ J.T @ A.T).inv @ vector("u", loop)
    (A @ J @ Mass.inv @ J.T @ A.T).inv @ u
    """
    return own_space(name, size)


def operator(name: str, source: Space | str, target: Space | str) -> Symbol:
    """An operator of the user's, its value given at evaluation.

    Between bodies and joints, and of a space to itself, it is block diagonal, and its value a
    list of blocks. From or to a space of the user's own (`space`) it is one matrix.

    >>> from phipsi.operators import Mass, phi
    >>> A = operator("A", "body", "body")
    >>> A @ phi
    A @ phi
    >>> operator("Q_a", "joint", space("loop", 5)) @ Mass.inv
    Q_a @ Mass.inv
    """
    start, end = as_space(source), as_space(target)
    if not are_paired(start, end) and not is_dense(start, end):
        raise SpaceError(
            f"cannot make {name} from {start} to {end}: it has no diagonal\n  a block-diagonal "
            "operator maps between bodies and joints, or a space to itself, a dense one from or to "
            "a space(...) of your own; see also vector(...)"
        )
    causality = Causality.MEMORYLESS if are_paired(start, end) else Causality.MIXED
    return given(name, start, end, causality)


def vector(name: str, space: Space | str) -> Symbol:
    """A vector of the user's, its value given at evaluation.

    >>> from phipsi.operators import phi
    >>> phi @ vector("x", "body")
    phi @ x
    """
    return given(name, SCALAR, as_space(space))


def scalar(name: str) -> Symbol:
    """A number of the user's, its value given at evaluation.

    >>> from phipsi.operators import M
    >>> scalar("k") * M
    k * M
    """
    return given(name, SCALAR, SCALAR)
