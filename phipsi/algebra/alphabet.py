"""Letters: all that is known of each, in one record, and the alphabets that they belong to.

A symbol of an expression points at the record of its letter. `own.letter` and `own.define` make
both at once, in the file that defines the letter; whoever needs a fact, from the printer to the
lowering, reads it off the record. So a letter of the same name that is somebody else's is never
taken for it:

>>> from phipsi.operators import M, operator
>>> M.record.positive, operator("M", "body", "body").record.positive
(True, False)

Letters of the papers are in force everywhere. Those of other alphabets are spoken where they are
asked for, `parse(text, alphabet="closed")`; a user's letters belong to none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from phipsi.errors import InputError, name_choices

if TYPE_CHECKING:
    from phipsi.algebra.node import Node, Opener


@dataclass(frozen=True, eq=False, repr=False)
class Alphabet:
    """Letters by name, and the module, or package, that defines them all.

    One that phipsi itself reads or lowers with is `built_in`: it cannot be forgotten.
    """

    name: str
    module: str
    letters: dict[str, Node | Opener] = field(default_factory=dict)
    built_in: bool = False

    def __post_init__(self) -> None:
        first = ALPHABETS.get(self.name)
        if first is not None:
            raise InputError(
                f"there is an alphabet {self.name!r} already, of {first.module}; choose another "
                f"name, or call forget_alphabet({self.name!r}) first"
            )
        ALPHABETS[self.name] = self

    def enter(self, name: str, letter: Node | Opener) -> None:
        """Have the alphabet know a letter; InputError if it has one of this name."""
        if name in self.letters:
            raise InputError(
                f"there is a letter {name} in {self!r} already, of {self.module}; choose another "
                "name or alphabet, or none: your own letters, without one, may have any name"
            )
        self.letters[name] = letter

    def __reduce__(self) -> Any:
        return _alphabet, (self.name, self.module)

    def __repr__(self) -> str:
        return f"the alphabet {self.name!r}"


def _alphabet(name: str, module: str) -> Alphabet:
    import_module(module)
    return ALPHABETS[name]


def forget_alphabet(name: str) -> None:
    """Forget an alphabet, so that its module can be run once more; its letters stay what they are.

    >>> forget_alphabet("papers")
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: the alphabet 'papers' cannot be forgotten: it is always in force
    """
    if name not in ALPHABETS:
        raise InputError(f"no alphabet {name!r}; {name_choices(str(name), families())}")
    if ALPHABETS[name].built_in:
        raise InputError(f"the alphabet {name!r} cannot be forgotten: it is always in force")
    del ALPHABETS[name]


def families() -> list[str]:
    """The alphabets that text may be read with: those at hand, and modules of `FAMILIES`.

    That of the papers is none of them: it is always in force.
    """
    spec = find_spec(FAMILIES)
    folders = (spec.submodule_search_locations if spec else None) or ()
    known = [x.name for x in ALPHABETS.values() if not x.built_in]
    return sorted({*known, *(x.name for x in iter_modules(list(folders)))})


ALPHABETS: dict[str, Alphabet] = {}
PAPERS = Alphabet("papers", "phipsi.algebra.operators", built_in=True)
FORCE, MOTION = "force", "motion"
FAMILIES = "phipsi.operators"  # the package whose modules are families of letters


@dataclass(frozen=True)
class Steps:
    """What a letter computes: as a matrix, and as statements of a program.

    They are told in the call that makes the letter, as functions of the object that asks: so the
    algebra knows neither arrays nor programs. Matrices are made of the pieces and by the methods
    of a `lowering.state.MachineState`, or of other letters by `DenseMachine.matrix`; statements
    by those of a `lowering.matrices.MatrixLowering` and of what it is built on.

    Args:
        dense: of a `lowering.dense.DenseMachine` and the letter's arguments: its matrix in link
            axes, `(*batch, rows, columns)`.
        turned: whether world axes follow by turning it; else `dense` states both.
        vector: of a lowering and the letter: the slot of a vector.
        applied: of these, whether it is A*, and x: the slot of A @ x.
        block: of these: the slot of the block A(k) of a memoryless letter.
        inverse: of its inverse, where that is not simply computed from the block.
        solve: of these and x: the slot of A^-1 @ x.
        carry: of a letter of one step E, of the lowering and the slot of a block W: the slot of
            blockdiag(E W E*), where there is a quicker way than by the block of E.
        carry_back: the same of blockdiag(E* W E).
    """

    dense: Callable[..., Any] | None = None
    turned: bool = True
    vector: Callable[..., Any] | None = None
    applied: Callable[..., Any] | None = None
    block: Callable[..., Any] | None = None
    inverse: Callable[..., Any] | None = None
    solve: Callable[..., Any] | None = None
    carry: Callable[..., Any] | None = None
    carry_back: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Opened:
    """What a letter is in front of a bracket: an operator made of a body vector, block by block.

    Args:
        block: of the entries of the vector: the rows of the block.
        step: of a program, that applies it; `step_matrix` makes the block.
        star: the letter whose bracket is minus its star: S[x]* = -cross[x].
        carries: of the vector, the target and the source, whether they are forces or motions.
    """

    block: Callable[..., Any]
    step: str
    star: str
    carries: tuple[str, str, str]


@dataclass(frozen=True)
class Letter:
    """What is known of a letter, besides its spaces, its causality and its definition.

    Args:
        name: in ASCII, as it is typed.
        alphabet: where it is found by its name; None for a user's own.

    What it is:
        symmetric: whether it is its own star.
        star: of the letter with its arguments, its star, where that is no starred letter.
        positive: whether it is positive definite where it can be inverted at all.
        orthogonal: whether its star is its inverse.
        strict: whether its blocks on the diagonal are zero on every machine, so that it has no
            inverse: what it carries, it carries to other bodies.
        selects: whether it keeps the blocks of one body and drops all others.
        one_step: whether it goes from each body to its parent, and nowhere else: then
            (I - E)^-1 is a recursion, and so are products with E W E*.
        carries: of its target and its source, whether they are forces or motions, and None for
            other spaces than body space; left out where the letter mixes them, so that frames may
            not move.
        of_speeds: whether it is primitive and depends on v.
        of: what its arguments are: "points", or a "joint" and one of its speeds.
        articulated: whether it may be of another inertia: `psi[M + M_a]`.
        pivots: of an articulated letter, which joints' D must have an inverse for it to have a
            value: "all", or "inner", those of bodies that others carry.

    How it is written:
        look: in papers, spelled out, where this is not its name: "cal:M" is a script M.
        also: other names that no paper uses for anything else; what single papers call it
            stands in `text.notations`.

    What it means:
        mechanics: as forces and motions.
        estimation: as state, measurement and covariance [004-I sec. 4].
        formula: of a letter that has no definition in other letters.
        where: which blocks are not zero, where this does not follow from its causality.
        unit: powers of mass and time: (1, -2) of a force; None where it is not known.
        element: what its block is called at a body, where this is not its name: phi(p,k).
        acts: what it does to what it is applied to, as forces and motions, and as state and
            measurement; by "" for the letter, "*" for its star, "^-1" for its inverse.
        causes: of a vector, what it brings about motions and forces by.
        effect: of a motion or force that others bring about, what it is, whichever these are.
        elsewhere: what it means of another operator than the mass operator, in both views.
        cited: where the papers define it.
        says: what its definition says.
        printed: where a paper prints its definition wrongly.

    What a search and the lowering make of its definition:
        shorthand: whether it only stands for it, and is unfolded first by a search.
        both_ways: whether it is folded as well as unfolded.
        kept: whether it has steps of its own, so that no lowering unfolds it.
        swept: what it is unfolded to instead, where that makes a better sweep.
        stands_for: of a letter that only the lowering knows, what it is in other letters: of the
            letter and of what makes its arguments so.

    What it computes:
        steps: see `Steps`.
        opens: of a letter of the papers that opens a bracket, as S[x]: see `Opened`.

    What it costs:
        flops: of the letter times a vector, for a body behind a joint that turns.
        recursion: flops for each body of computing it once, and whether that runs inward.
        follows: the name of the letter whose recursion it needs.
    """

    name: str = ""
    alphabet: Alphabet | None = None

    symmetric: bool = False
    star: Callable[[Any], Node] | None = None
    positive: bool = False
    orthogonal: bool = False
    strict: bool = False
    selects: bool = False
    one_step: bool = False
    carries: tuple[str | None, str | None] | None = None
    of_speeds: bool = False
    of: str = ""
    articulated: bool = False
    pivots: str = ""

    look: str = ""
    also: tuple[str, ...] = ()

    mechanics: str = ""
    estimation: str = ""
    formula: str = ""
    where: str = ""
    unit: tuple[int, int] | None = None
    element: str = ""
    acts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    causes: str = ""
    effect: str = ""
    elsewhere: tuple[str, str] = ("", "")
    cited: str = ""
    says: str = ""
    printed: str = ""

    shorthand: bool = False
    both_ways: bool = False
    kept: bool = False
    swept: Node | None = None
    stands_for: Callable[[Any, Callable[[Any], Any]], Node] | None = None

    steps: Steps = field(default_factory=Steps)
    opens: Opened | None = None

    flops: int | None = None
    recursion: tuple[int, bool] | None = None
    follows: str = ""

    def by(self, view: str) -> str:
        """What it means, in one of the two views."""
        return self.mechanics if view == "mechanics" else self.estimation or self.mechanics

    def act(self, mark: str, view: str) -> str:
        """What it, its star or its inverse does to what stands behind it, in one of the views."""
        return self.acts.get(mark, ("", ""))[view != "mechanics"]

    def __reduce__(self) -> Any:
        """By its name in its alphabet; without one by its facts."""
        if self.alphabet is not None:
            return _record, (self.alphabet, self.name)
        return Letter, tuple(getattr(self, x.name) for x in fields(self))

    def __hash__(self) -> int:
        return hash((self.alphabet, self.name))


def opened(name: str) -> Opened:
    """What a letter of the papers is in front of a bracket: of "S", "Q" or "cross"."""
    facts = _record(PAPERS, name).opens
    assert facts is not None, f"{name} opens no bracket"
    return facts


UNKNOWN = Letter()  # of a symbol of which nothing is known but its spaces


def _record(alphabet: Alphabet, name: str) -> Letter:
    record: Letter = alphabet.letters[name].record  # type: ignore[union-attr]
    return record


def letters_in(*alphabets: str) -> dict[str, Node | Opener]:
    """The letters of the papers by name, and over them those of other alphabets.

    >>> letters_in()["phi"].definition
    (I - E_phi).inv
    """
    found = dict(PAPERS.letters)
    for name in alphabets:
        found |= alphabet_of(name).letters
    return found


def alphabet_of(name: str) -> Alphabet:
    """An alphabet by its name; that of a family in `phipsi.operators` is imported for it."""
    if not isinstance(name, str):
        raise InputError(f"alphabet: expected a name, got {name!r}")
    if name not in ALPHABETS and name.isidentifier():
        family = f"{FAMILIES}.{name}"
        if find_spec(family) is not None:
            try:
                import_module(family)
            except BaseException:  # nobody is to read with half of its letters
                ALPHABETS.pop(name, None)
                raise
    if name not in ALPHABETS:
        raise InputError(f"no alphabet {name!r}; {name_choices(str(name), families())}")
    return ALPHABETS[name]


def alphabet_with(letter: str) -> str:
    """The first alphabet at hand, besides our own, that has a letter of this name; "" if none."""
    own = (x for x in ALPHABETS.values() if not x.built_in)
    return next((x.name for x in own if letter in x.letters), "")
