"""Which letter a name means, in whatever script it is written.

Names are looked up as `spelling` spells them. The user's own come first, then the
letters of the algebra, then what the papers call them; several letters written
without a blank are taken apart where there is only one way to do so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from phipsi.algebra.alphabet import PAPERS, alphabet_with, letters_in
from phipsi.algebra.elements import ELEMENTS
from phipsi.algebra.node import Bracket, Identity, Node, Opener, Symbol
from phipsi.algebra.own import ArticulatedLetter, CallableLetter
from phipsi.algebra.spaces import BODY
from phipsi.algebra.text.notations import MISSING, checked_notation, meanings
from phipsi.algebra.text.place import shortened
from phipsi.algebra.text.spelling import Spelled, spell, with_digits_below
from phipsi.errors import InputError, name_choices

LONGEST_RUN = 80  # signs of letters without a blank
FUNCTIONS = ("inv", "sqrt", "transpose", "blockdiag")

# Letters that mean different things in different papers, or that are written out here.
ADVICE = {
    "Lambda": "Λ is J Mass^-1 J' in 002 and 004-II, the inverse of that in 003: write it out, or "
    'pass notation="002"',
    "Phi": "Φ is phi - I in 001, phi S in 004-I and 004-II: write phi_tilde or phi S, or pass "
    'notation="001"',
    "Psi": 'Ψ is psi E_phi in 001, psi S in 004-I and 004-II: write it out, or pass notation="001"',
    "theta": "θ is the configuration q; joint speeds are beta, or theta_dot",
    "r": "the composite inertia, r in 001 and 004-I, is R",
    "L": 'L in 004-I is one step outward of the gain, S L = K: write K, or pass notation="004-I"',
    "cal:J": "the rotational inertia of the papers is no letter here; M has it",
    "Ups": "Upsilon is Y",
    "q": "the configuration is no letter; every operator depends on it",
    **dict.fromkeys(("q_dot", "qd", "dq", "v"), "joint speeds are beta"),
    **dict.fromkeys(("q_ddot", "qdd", "ddq", "v_dot"), "joint accelerations are beta_dot"),
    "J_dot": "J_dot beta, the bias acceleration of points, is X (B* phi* a + c)",
}


def takes_arguments(value: object) -> bool:
    """Whether a letter may have arguments: B, J, X, c of points; HH of joints."""
    return isinstance(value, CallableLetter)


def is_articulated(value: object) -> bool:
    """Whether a letter may be of another inertia: P, D, G, K, tau_bar and psi."""
    return isinstance(value, ArticulatedLetter)


def is_pick_off(value: object) -> bool:
    """Whether a letter is of a joint, which LaTeX has above it."""
    return isinstance(value, CallableLetter) and value.record.of == "joint"


class Found(NamedTuple):
    """A letter, or a word that opens a bracket or a parenthesis, and where it stands in a run."""

    name: str
    value: Node | Opener | str
    start: int
    end: int


class NotALetterError(Exception):
    """A run that is no name, or several; the text says why."""


class Names:
    """The names that an expression may be made of.

    Args:
        symbols: the user's own, by name or alone; they come before letters of the same name.
        alphabet: whose letters are known besides those of the papers, and before them.
        notation: of one paper, whose letters come before those; see `notations`.

    Attributes:
        own: the user's, by name.
        missing: what the paper of the notation means by names that have no letter here.
    """

    def __init__(
        self,
        symbols: Mapping[str, Node] | Iterable[Symbol] = (),
        alphabet: str | None = None,
        notation: str | None = None,
    ):
        self.notation = notation = checked_notation(notation)
        self.missing = MISSING.get(notation or "", {})
        own = dict(_named(symbols))
        letters = letters_in(ELEMENTS.name, *(() if alphabet is None else (alphabet,)))
        self.own, self._letters = own, letters
        self._known: dict[str, Node | Opener | str] = {name: name for name in FUNCTIONS}
        for letter in letters.values():
            assert isinstance(letter, (Symbol, Identity, Opener))
            looks = (letter.record.look, *letter.record.also)
            self._known |= {look: letter for look in looks if look}
        self._known |= letters
        if notation is not None:
            for name in self.missing:
                self._known.pop(name, None)
            self._known |= meanings(notation)
        for name in own:
            for blocks in ("(0)", "(k)"):  # of the paper's letter
                self._known.pop(f"{spell(name).text}{blocks}", None)
        self._known |= {look: x for x in own.values() if (look := _look(x))}
        self._known |= {spell(name).text: value for name, value in own.items()}
        self._known |= own
        self._longest = max(map(len, self._known))
        self._printed: dict[str, list[str]] = {}  # names by how they are read in LaTeX
        for name in self._known:
            if (printed := with_digits_below(name)) != name:
                self._printed.setdefault(printed, []).append(name)

    def find(self, written: str, spelled: Spelled | None = None) -> list[Found]:
        """The letters in a run, one after the other.

        Args:
            written: the run.
            spelled: its spelling, where it is not the plain one.

        Raises:
            NotALetterError: there are none, or there are two ways to read it.
        """
        if not written:
            raise NotALetterError("a name without letters")
        if spelled is None:
            if written in self.own:
                return [Found(written, self.own[written], 0, len(written))]
            spelled = spell(written)
        whole = spelled.text
        readings = [*_readings(whole), *self._printed.get(whole, ())]
        matches = dict.fromkeys(name for name in readings if name in self._known)
        if len(matches) > 1:
            raise NotALetterError(f"{written!r} could be {' or '.join(map(repr, matches))}")
        if matches:
            (name,) = matches
            return [Found(name, self._known[name], 0, len(written))]
        base = whole.removesuffix("_tilde")
        if (
            base != whole
            and whole not in self.missing
            and (value := self.with_tilde(base, self._known.get(base))) is not None
        ):
            return [Found(whole, value, 0, len(written))]
        return self._apart(written, spelled)

    def knows(self, written: str, spelled: Spelled | None = None) -> bool:
        """Whether a run is a name, or several."""
        try:
            return bool(self.find(written, spelled))
        except NotALetterError:
            return False

    def known(self, name: str) -> Node | Opener | str | None:
        """What a name means that is spelled out; None if nothing."""
        return self._known.get(name)

    def with_prime(self, name: str) -> Node | None:
        """What a letter with a prime is in this notation: T'; None where a prime is the adjoint."""
        if name in self.own:
            return None
        found = self._known.get(f"{name}'")
        return found if isinstance(found, Node) else None

    def with_tilde(self, name: str, value: object) -> Node | None:
        """What a letter or vector with a tilde is: phi_tilde of phi, cross[V] of V."""
        found = self._known.get(f"{name}_tilde")
        if isinstance(found, Node):
            return found
        if f"{name}_tilde" in self.missing:
            return None
        is_vector = isinstance(value, Node) and value.is_vector and value.target is BODY
        return Bracket("cross", value) if is_vector else None  # type: ignore[arg-type]

    def _apart(self, written: str, spelled: Spelled) -> list[Found]:
        """A run of several letters without blanks, where there is one way to read it."""
        text, places = spelled.text, spelled.places
        if len(text) > LONGEST_RUN:
            raise NotALetterError(self._no_letter(written, text))
        ways: dict[int, list[tuple[str, ...]]] = {len(text): [()]}  # two are enough to refuse
        for start in sorted(places, reverse=True):
            if start == len(text):
                continue
            found = []
            for end in range(start + 1, min(len(text), start + self._longest) + 1):
                if end in ways and text[start:end] in self._known:
                    found += [(text[start:end], *rest) for rest in ways[end]]
            if found:
                ways[start] = found[:2]
        readings = ways.get(0, [])
        if len(readings) > 1:
            both = " or ".join(f"`{' '.join(reading)}`" for reading in readings)
            raise NotALetterError(f"{written!r} could be {both}; put blanks between the letters")
        if not readings or any(name in FUNCTIONS for name in readings[0]):
            raise NotALetterError(self._no_letter(written, text))
        pieces, at = [], 0
        for name in readings[0]:
            begin, end = places[at], places[at + len(name)]
            pieces.append(Found(name, self._known[name], begin, end))
            at += len(name)
        return pieces

    def _no_letter(self, written: str, text: str) -> str:
        name = shortened(written)
        if text in self.missing:
            return f"no letter {name!r} here; {self.missing[text]}"
        if text in ADVICE:
            return f"no letter {name!r}; {ADVICE[text]}, or pass your own by symbols=[...]"
        if family := alphabet_with(written):
            return f'no letter {name!r} here; pass alphabet="{family}", which has one'
        valid = list(dict.fromkeys([*self.own, *self._letters, *FUNCTIONS]))
        return f"no letter {name!r}; {name_choices(text, valid)}. Pass your own by symbols=[...]"


def _look(value: Node) -> str:
    """How a letter of the user's is printed, where this is not its name."""
    is_own = isinstance(value, Symbol) and value.record.alphabet not in (PAPERS, ELEMENTS)
    return value.record.look if is_own else ""  # type: ignore[attr-defined]


def _named(symbols: Mapping[str, Node] | Iterable[Symbol]) -> Iterator[tuple[str, Node]]:
    """The user's symbols by their names; InputError for what is none."""
    is_mapping = isinstance(symbols, Mapping)
    if isinstance(symbols, (Node, str)) or not isinstance(symbols, Iterable):
        raise InputError(
            f"symbols: expected a list of symbols, or expressions by name, got {symbols!r}"
        )
    pairs = symbols.items() if isinstance(symbols, Mapping) else ((None, x) for x in symbols)
    seen: dict[str, Node] = {}
    for given, value in pairs:
        if not isinstance(value, Node) or not (is_mapping or isinstance(value, Symbol)):
            raise InputError(f"symbols: expected symbols of the algebra, got {value!r}")
        name = given if is_mapping else value.name  # type: ignore[attr-defined]
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(f"symbols: expected a name that is an identifier, got {name!r}")
        if name in FUNCTIONS:
            raise InputError(f"symbols: the name {name!r} has a meaning already; choose another")
        if seen.setdefault(name, value) != value:
            raise InputError(f"symbols: two different symbols are called {name!r}")
        yield name, value


def _readings(name: str) -> Iterator[str]:
    """A name, and what it is with its number not below the line: A_1 may be A1."""
    yield name
    if re.search(r"_\d", name):
        yield re.sub(r"_(\d)", r"\1", name)
