"""Control laws: operator expressions that are evaluated inside the steps of a simulation.

    Law                   tau = an expression of the state, and of letters with values
    PD                    tau = u, + the forces of gravity if asked for
    GravityCompensation   tau = H phi M phi* E gravity, the forces of gravity
    ComputedTorque        tau = H f + Jm u, f = phi (M phi* (H* u + a) + b): inverse dynamics

u is a `Feedback`: accelerations + kp (target - q) + kd (speeds - v), where target - q is
`pp.difference(model, q, target)`. A free root joint has no motor: no law acts there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.parse import Symbols, as_expression, parse
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR, Space
from phipsi.algebra.text.names import Names
from phipsi.algebra.walk import letters_of
from phipsi.backends.disk.identity import Parts
from phipsi.compile import compile
from phipsi.dynamics.inverse import GRAVITY, newton_euler
from phipsi.dynamics.terms import terms_of
from phipsi.errors import InputError, SpaceError, name_choices
from phipsi.lowering.inputs import Inputs, describe_letter
from phipsi.model.configuration import check_array, check_configuration
from phipsi.model.joints import Free
from phipsi.model.model import Model
from phipsi.operators import S_q, vector
from phipsi.simulate.machines import Mechanism
from phipsi.simulate.signals import EachStep as EachStep
from phipsi.simulate.signals import Signal

CORRECTION = vector("correction", "coordinate")
OF_LAW = "law."  # begins the names of its numbers, among all that steps are given
SPACES = (JOINT, COORDINATES, BODY, POINTS, BASE, SCALAR)  # of a letter, the likely ones first
MOST_READINGS = 1000  # of a text, by the spaces of its letters
Given = ArrayLike | EachStep | Any  # numbers, one row for each step, or a function of t


def actuated(model: Model) -> np.ndarray:
    """1 for speeds that have a motor, 0 for those of free joints, (nv,)."""
    with_motor = np.ones(model.nv)
    for joint in model.leaders:
        if isinstance(joint.kind, Free):
            with_motor[joint.v] = 0.0
    return with_motor


@dataclass(frozen=True, eq=False)
class Feedback:
    """The value of a vector in a law: accelerations + kp (target - q) + kd (speeds - v).

    Every number may be given once for all steps, for each step (`EachStep`), or as a function of
    t, which is asked at the beginning of each step.

    Args:
        kp: one number or (*batch, nv).
        kd: one number or (*batch, nv).
        target: (*batch, nq); None for `model.neutral()`.
        speeds: wanted, one number or (*batch, nv).
        accelerations: what is added, one number or (*batch, nv).
    """

    kp: Given = 1.0
    kd: Given = 0.0
    target: Given = None
    speeds: Given = 0.0
    accelerations: Given = 0.0

    def signals(self, model: Model) -> dict[str, Signal]:
        """The numbers in it; gains are zero where there is no motor."""
        motors = actuated(model)

        def speeds(name: str, value: Any) -> np.ndarray:
            return _speeds(model, name, value)

        def gains(name: str, value: Any) -> np.ndarray:
            return _speeds(model, name, value) * motors

        def configuration(name: str, value: Any) -> np.ndarray:
            return in_doubles(name, check_configuration(model, name, value))

        target = model.neutral() if self.target is None else self.target
        return {
            "kp": Signal("kp", self.kp, gains),
            "kd": Signal("kd", self.kd, gains),
            "target": Signal("target", target, configuration),
            "speeds": Signal("speeds", self.speeds, speeds),
            "accelerations": Signal("accelerations", self.accelerations, speeds),
        }

    def value(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """u at a state, in coordinate space."""
        moved = given["kp"] * machine.difference(q, given["target"])
        return given["accelerations"] + moved + given["kd"] * (given["speeds"] - v)


class Law:
    """Joint forces as an operator expression, evaluated inside every step, at every stage.

    Args:
        expression: of the letters of `phipsi.operators`, or as text for `pp.parse`: a vector of
            joint space, or of coordinate space. Points are written into it, as J(pp.point(...)).
        symbols: your own letters in a text, as for `pp.parse`. Those that have values need not be
            in it: they are vectors of the space that fits, of joint space before coordinate
            space, or numbers.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.
        values: of its free letters, by name: numbers as `pp.compile` takes them, with a batch as
            all numbers of a simulation may have; `EachStep` of them, one for each step; a
            function of t, asked at the beginning of each step, by "dopri" at every stage; of a
            vector of joint or coordinate space also a `Feedback`.

    Raises:
        SpaceError: the expression is no vector of joint or coordinate space.
        InputError: a free letter without a value, or a value without a letter; a letter of a text
            that may be a vector or a number.

    >>> import phipsi as pp
    >>> law = pp.control.Law("Mass u + C", u=pp.control.Feedback(100.0, 20.0, [1.0, -1.0]))
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.simulate(arm, arm.neutral(), duration=2.0, control=law, dt=0.02).q[-1].round(4)
    array([ 1., -1.])
    """

    def __init__(
        self,
        expression: Node | str,
        /,
        *,
        symbols: Symbols = (),
        notation: str | None = None,
        alphabet: str | None = None,
        **values: Any,
    ):
        try:
            node = _read(expression, values, symbols, notation, alphabet)
        except (InputError, SpaceError) as error:
            raise type(error)(f"control: {error}") from None
        self.expression, self.values = _checked(node, values), values

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: tau = {self.expression}>"

    @cached_property
    def in_coordinates(self) -> Node:
        """The expression as a vector of coordinate space: one entry for each speed."""
        is_joint = self.expression.target is JOINT
        return S_q.T @ self.expression if is_joint else self.expression

    @property
    def key(self) -> tuple:
        """What laws of the same formula have in common: they share machine code, so every number
        that is no parameter must be in it."""
        kinds = [(name, isinstance(x, Feedback)) for name, x in self.values.items()]
        return (type(self), self.expression, *sorted(kinds))

    def told(self, model: Model) -> Parts | None:
        """The same for records on disk; None for what nobody can tell, such as laws of others.

        It names the program that is compiled: steps are made of the rewritten law (`Mechanism`).
        """
        function = compile(model, self.in_coordinates)
        job = function.job()
        if type(self).__module__ != Law.__module__ or job is None or job.key is None:
            return None
        _, _, *kinds = self.key
        return job.key, function.positions.tolist(), kinds

    def signals(self, model: Model) -> dict[str, Signal]:
        """The numbers in it by name, checked, or InputError."""
        found: dict[str, Signal] = {}
        inputs = self._inputs(model)
        for name, letter in self._letters.items():
            value = self.values[name]
            if isinstance(value, Feedback):
                own = value.signals(model)
                found |= {f"{OF_LAW}{name}.{part}": x for part, x in own.items()}
            else:
                found[OF_LAW + name] = Signal(name, value, partial(_entries, inputs, letter))
        return found

    def force(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """tau at a state, with numbers in place of the parameters."""
        values = {}
        for name, letter in self._letters.items():
            value = self.values[name]
            if isinstance(value, Feedback):
                own = {x.removeprefix(f"{OF_LAW}{name}."): y for x, y in given.items()}
                moved = value.value(machine, q, v, own)
                values[name] = machine.spread(moved) if letter.target is JOINT else moved
            else:
                values[name] = given[OF_LAW + name]
        tau = machine.value(self.in_coordinates, q, v, values)
        return tau * actuated(machine.model)

    @cached_property
    def _letters(self) -> dict[str, Symbol]:
        return {x.name: x for x in letters_of([self.expression]) if x.free}

    def _inputs(self, model: Model) -> Inputs:
        """What checks the values of letters on a machine."""
        return Inputs(model, self.in_coordinates, model.neutral(), np.zeros(model.nv), None, None)


class PD(Law):
    """tau = kp (target - q) + kd (speeds - v).

    Args:
        kp: N m/rad or N/m, one number or (*batch, nv).
        kd: N m s/rad or N s/m, one number or (*batch, nv).
        target: (*batch, nq); None for `model.neutral()`.
        speeds: wanted, one number or (*batch, nv).
        gravity: whether the forces of gravity are added.

    All of them as in a `Feedback`: `EachStep` and functions of t will do.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(1)
    >>> hold = pp.control.PD(kp=20.0, kd=5.0, target=[0.5], gravity=True)
    >>> pp.simulate(arm, arm.neutral(), duration=2.0, control=hold, dt=0.02).q[-1].round(3)
    array([0.5])
    """

    def __init__(
        self, kp: Given, kd: Given, target: Given = None, speeds: Given = 0.0, gravity: bool = False
    ):
        self.kp, self.kd, self.target, self.speeds = kp, kd, target, speeds
        self.gravity = gravity
        expression = CORRECTION + GRAVITY if gravity else CORRECTION
        super().__init__(expression, correction=Feedback(kp, kd, target, speeds))


class GravityCompensation(Law):
    """tau = the forces of gravity: the machine floats.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> floating = pp.control.GravityCompensation()
    >>> pp.simulate(arm, [0.3, 0.4], duration=1.0, control=floating, dt=0.05).q[-1].round(9)
    array([0.3, 0.4])
    """

    def __init__(self) -> None:
        super().__init__(GRAVITY)


class ComputedTorque(Law):
    """tau = ID(q, v, accelerations + kp (target - q) + kd (speeds - v)): the error falls off as
    if every joint were a mass of 1 on a spring.

    Args:
        kp: 1/s^2, one number or (*batch, nv).
        kd: 1/s, one number or (*batch, nv).
        target: (*batch, nq); None for `model.neutral()`.
        speeds: wanted, one number or (*batch, nv).
        accelerations: wanted, one number or (*batch, nv).

    All of them as in a `Feedback`: `EachStep` and functions of t will do.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> law = pp.control.ComputedTorque(kp=100.0, kd=20.0, target=[1.0, -1.0])
    >>> pp.simulate(arm, arm.neutral(), duration=2.0, control=law, dt=0.02).q[-1].round(4)
    array([ 1., -1.])
    """

    def __init__(
        self,
        kp: Given,
        kd: Given,
        target: Given = None,
        speeds: Given = 0.0,
        accelerations: Given = 0.0,
    ):
        self.kp, self.kd, self.target, self.speeds = kp, kd, target, speeds
        self.accelerations, terms = accelerations, terms_of()
        wanted = Feedback(kp, kd, target, speeds, accelerations)
        super().__init__(newton_euler(terms.a_g, terms.b), vdot=wanted)


# -- checks --------------------------------------------------------------------------------


def _read(
    given: Node | str,
    values: Mapping[str, Any],
    symbols: Symbols,
    notation: str | None,
    alphabet: str | None,
) -> Node:
    """The expression of a law; of a text, letters that only have values by what fits.

    Raises:
        InputError: a letter that may be a vector or a number.
        SpaceError: no spaces of these letters fit.
    """
    if not isinstance(given, str):
        return as_expression("expression", given)
    names = Names(symbols, alphabet, notation)
    own = [x for x in values if not getattr(names.known(x), "free", False)]
    choices = [[vector(x, space) for space in _likely_spaces(values[x])] for x in own]
    if prod(map(len, choices)) > MOST_READINGS:
        raise InputError(f"too many letters of unknown space; pass {own[0]} by symbols=[...]")
    fitting, refusal = [], None
    for letters in product(*choices):
        try:
            own_and_given = names.own | {x.name: x for x in letters}
            node = parse(given, own_and_given, notation, alphabet=alphabet)
            fitting.append((node, letters))
        except SpaceError as error:
            refusal = refusal or error
    if not fitting:
        hint = f"\n  No space of {' and '.join(own)} fits; pass symbols=[...]" if own else ""
        raise SpaceError(f"{refusal}{hint}")
    laws = [x for x in fitting if _is_law(x[0])] or fitting
    node, chosen = laws[0]  # the first of the likely ones
    used = letters_of([node])
    for letter, *others in zip(chosen, *(x for _, x in laws), strict=True):
        is_number = {x.is_scalar for x in others}
        if letter in used and len(is_number) > 1:
            raise InputError(
                f"in `{given}`, {letter} may be a vector or a number; pass symbols="
                f'[vector("{letter}", "joint")] or [scalar("{letter}")]'
            )
        if letter.is_scalar and _is_matrix(values[letter.name]):
            raise InputError(
                f"{letter} is read as a number in `{given}`, and its value is a matrix; pass "
                f'symbols=[operator("{letter}", "joint", "joint")]'
            )
    return node


def _is_law(node: Node) -> bool:
    return node.source is SCALAR and node.target in (JOINT, COORDINATES)


def _is_matrix(value: Any) -> bool:
    try:
        return np.ndim(value) > 1
    except ValueError:  # blocks of several sizes
        return True


def _likely_spaces(value: Any) -> Sequence[Space]:
    """The spaces that a letter with such a value may be of."""
    if isinstance(value, Feedback):
        return (JOINT, COORDINATES)
    return (SCALAR,) if isinstance(value, (int, float, np.number)) else SPACES


def _checked(expression: Node, values: Mapping[str, Any]) -> Node:
    """The expression of a law, or an error that says why it is none."""
    if not _is_law(expression):
        ends = f"maps {expression.source} to {expression.target}"
        if expression.source is SCALAR:
            ends = f"is a vector of {expression.target}"
        raise SpaceError(
            f"control: `{expression}` {ends}\n"
            "  Joint forces are a vector of joint space or of coordinate space."
        )
    letters = letters_of([expression])
    free = {x.name: x for x in letters if x.free}
    for name, letter in free.items():
        if name not in values:
            raise InputError(
                f"control: `{expression}` needs a value for {name}, {describe_letter(letter)}: "
                f"write pp.control.Law(expression, {name}=...)"
            )
    for name, value in values.items():
        if name not in free:
            choices = name_choices(name, free)
            raise InputError(f"control: `{expression}` has no free letter {name!r}; {choices}")
        is_speeds = free[name].is_vector and free[name].target in (JOINT, COORDINATES)
        if isinstance(value, Feedback) and not is_speeds:
            raise InputError(
                f"control: a Feedback is a vector of joint or coordinate space; {name} is "
                f"{describe_letter(free[name])}"
            )
    for letter in letters:
        if POINTS in (letter.source, letter.target) and not letter.free and not letter.arguments:
            raise InputError(
                f"control: `{expression}` takes points; write them into it, as "
                f"{letter}(pp.point(...))"
            )
    return expression


def _entries(inputs: Inputs, letter: Symbol, name: str, value: Any) -> np.ndarray:
    """The value of a letter as its entries one after the other, (*batch, n)."""
    blocks = [in_doubles(name, x) for x in inputs.checked_value(letter, value)]
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    rows = [np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(*batch, -1) for x in blocks]
    return np.concatenate(rows, axis=-1)


def _speeds(model: Model, name: str, value: ArrayLike) -> np.ndarray:
    """One number for all speeds, or (*batch, nv)."""
    array = in_doubles(name, check_array(name, value, (), "a number"))
    if array.ndim == 0:
        return np.full(model.nv, array)
    return check_array(name, array, (model.nv,), f"the {model.nv} speeds of {model.name!r}")


def in_doubles(name: str, array: np.ndarray) -> np.ndarray:
    """An array of real numbers in double precision; InputError for complex ones."""
    if np.iscomplexobj(array):
        raise InputError(f"{name}: expected real numbers, got complex ones")
    return array.astype(float, copy=False)


def check_law(control: Any) -> Law:
    """A control law, or an expression as one; InputError for what is neither."""
    if isinstance(control, type) and issubclass(control, Law):
        raise InputError(
            f"control: got the class {control.__name__}; write {control.__name__}(...)"
        )
    if isinstance(control, (Node, str)):
        return Law(control)
    if not isinstance(control, Law):
        raise InputError(
            "control: expected None, an array, a function of (t, q, v), an expression, or a law "
            f"of pp.control, got {type(control).__name__}"
        )
    return control
