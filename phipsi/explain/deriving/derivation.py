"""Derivations: an expression, the steps to a cheaper one, and the identity of each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phipsi.algebra.identities.equation import Equation, Requirement
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.rewriting.price import Price
from phipsi.algebra.rewriting.share import with_names
from phipsi.cleaning import for_latex, visible

if TYPE_CHECKING:
    from phipsi.explain.deriving.check import Check
    from phipsi.model.model import Model


COMPLETE = "every identity was tried wherever it applies"


@dataclass(frozen=True)
class Step:
    """before = after, by an identity or by the axioms of the algebra.

    Args:
        before: the expression.
        after: what it becomes.
        name: of the identity, or what was done by the axioms alone.
        identity: None for a step by the axioms.
    """

    before: Node
    after: Node
    name: str
    identity: Equation | None = None

    @property
    def source(self) -> str:
        """Where the identity is printed."""
        return self.identity.source if self.identity else ""

    @property
    def conditions(self) -> tuple[Requirement, ...]:
        """Where the step holds; nowhere else where there are some."""
        return self.identity.conditions if self.identity else ()

    @property
    def reason(self) -> str:
        """Name and source, as written behind a line."""
        return "  ".join(part for part in (self.name, self.source) if part)


@dataclass(frozen=True)
class Derivation:
    """What `pp.derive` found.

    Args:
        expression: what was asked.
        result: the cheapest expression that was found; the same one where there is none.
        steps: from the one to the other.
        before: what the expression costs as it reads.
        after: what the result costs as it reads.
        looked_at: how many expressions were rewritten on the way.
        exhausted: whether the search came to an end of its own; else it ended at its bound,
            and a larger bound may find more.
        goal: what it was to be shown equal to; None if nothing.
        missing: what was asked for and not reached; empty if nothing.
        left_out: what was not looked at, though the bound would have allowed it.
    """

    expression: Node
    result: Node
    steps: tuple[Step, ...]
    before: Price
    after: Price
    looked_at: int
    exhausted: bool
    goal: Node | None = None
    missing: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[Requirement, ...]:
        """Where the result equals the expression; everywhere if there are none."""
        return tuple(dict.fromkeys(x for step in self.steps for x in step.conditions))

    @property
    def identities(self) -> tuple[Equation, ...]:
        """The identities that were used, in order, each once."""
        used = (step.identity for step in self.steps if step.identity is not None)
        return tuple(dict.fromkeys(used))

    @property
    def named(self) -> tuple[Node, dict[Symbol, Node]]:
        """The result with a name for each part that occurs more than once, and these parts.

        >>> import phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> short, parts = pp.derive(Mass.inv @ (T - C)).named
        >>> short
        x1 - K.T @ psi.T @ (a + E @ gravity + H.T @ x1)
        """
        return with_names(self.result)

    @property
    def verdict(self) -> str:
        """How the search ended, in a sentence."""
        number = f"{self.looked_at} expression{'s' * (self.looked_at != 1)}"
        if self.goal is not None and not self.missing:
            return f"shown by {len(self.steps)} steps; {number} looked at"
        if self.missing:
            end = f"{self.missing} was not reached"
        elif self.steps:
            end = f"from {self.before} to {self.after}"
        else:
            end = "nothing cheaper was found"
        left_out = f"left out: {', '.join(self.left_out)}" if self.left_out else COMPLETE
        if self.exhausted:
            return f"{end}; {number} looked at; {left_out}"
        ended = f"{end}; the search ended at its bound, {number}: a larger bound may find more"
        return f"{ended}; {left_out}" if self.missing and self.left_out else ended

    def check(self, model: Model | None = None, *, machines: int = 4, seed: int = 0) -> Check:
        """Every step, held against its dense meaning.

        Args:
            model: the machine; several random ones, which meet the conditions, if None.
            machines: how many random ones.
            seed: of the random machines, states and values.

        Returns:
            The residual of each step on each machine; `.ok` is whether all are roundoff, and
            what was asked for, by `to` or `using`, was reached.

        Raises:
            InputError: if the machine does not meet the conditions of the derivation.

        >>> import phipsi as pp
        >>> from phipsi.operators import J, Mass, f0
        >>> pp.derive(Mass.inv @ J.T @ f0).check().ok
        True
        """
        from phipsi.explain.deriving.check import check

        return check(self, model, machines, seed)

    def latex(self) -> str:
        """The derivation as an `align*` environment, the reason of each step beside it."""
        lines = [rf"    & {self.expression.latex()}"]
        for step in self.steps:
            lines.append(rf"  ={{}} & {step.after.latex()} && \text{{{for_latex(step.reason)}}}")
        body = " \\\\\n".join(lines)
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        lines = [f"  {self.expression}"]
        for step in self.steps:
            lines.append(f"= {step.after}")
            lines.append(f"      {step.reason}")
        short, parts = self.named
        if self.steps and parts:
            lines.append(f"= {short}")
            lines += [f"      with {name} = {part}" for name, part in parts.items()]
        if self.conditions:
            lines.append(f"for {', '.join(map(str, self.conditions))}")
        return "\n".join(map(visible, (*lines, self.verdict)))

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex().replace('align*', 'aligned')}\n$$"
