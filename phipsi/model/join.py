"""A whole machine among the parts of another: several robots in one world."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from phipsi.errors import ModelError
from phipsi.model.closure import Anchor
from phipsi.model.geometry import Visual
from phipsi.model.inertia import Placement
from phipsi.model.link import Dependence, Link, check_carrier
from phipsi.model.model import Joint, Model
from phipsi.model.parts import End, Loop, Parts
from phipsi.model.tree import WORLD, WORLD_NAME

SHOWN = 6  # names in a message


def join(
    parts: Parts,
    model: Model,
    prefix: str,
    parent: str,
    position: ArrayLike,
    rotation: ArrayLike | None,
) -> None:
    """Add a machine to the parts, all or nothing; see `ModelBuilder.add_model`."""
    if not isinstance(model, Model):
        raise ModelError(f"add_model: model is {model!r}; expected a Model, as pp.load returns it")
    try:
        if not isinstance(prefix, str):
            raise ModelError(f"prefix is {prefix!r}; expected a text, as 'left_'")
        guest = _Guest(model, prefix, check_carrier("parent", parent), rotation, position)
        guest.check(parts)
    except ModelError as error:
        raise ModelError(f"add_model: {model.name!r}: {error}") from None
    guest.enter(parts)


class _Guest:
    """A machine that stands on a part of another, its names with a prefix."""

    def __init__(
        self,
        model: Model,
        prefix: str,
        parent: str,
        rotation: ArrayLike | None,
        position: ArrayLike,
    ):
        self._model = model
        self._prefix = prefix
        self._parent = parent
        self._floor = Placement.of(rotation, position)

    def check(self, parts: Parts) -> None:
        """ModelError if a name is taken, or if the parts must be plausible and these are not."""
        model = self._model
        things = [*(x.name for x in model.bodies), *(x.name for x in model.frames)]
        joints = [joint.name for joint in model.joints]
        loops, ties = [x.name for x in model.closures], [x.name for x in model.couplings]
        for what, names, taken in (
            ("bodies or frames", things, {WORLD_NAME, *parts.links, *parts.frames}),
            ("joints", joints, parts.joints),
            ("closures", loops, parts.closures),
            ("couplings", ties, parts.couplings),
            ("keyframes", list(model.keyframes), parts.keyframes),
        ):
            clashes = [name for name in map(self._named, names) if name in taken]
            if clashes:
                shown = ", ".join(map(repr, clashes[:SHOWN])) + (", ..." * (len(clashes) > SHOWN))
                raise ModelError(
                    f"the names {shown} of its {what} are taken in {parts.name!r}; give it "
                    f"{'another' if self._prefix else 'a'} prefix, as prefix={_example(model)!r}"
                )
        faults = model.report.implausible if parts.strict else ()
        if faults:
            raise ModelError(
                f"its report has {len(faults)} implausible "
                f"{'line' if len(faults) == 1 else 'lines'}: {faults[0]}; mend the machine, "
                "or keep it as it is in a ModelBuilder(..., strict=False)"
            )

    def enter(self, parts: Parts) -> None:
        """Add everything."""
        model = self._model
        for body, joint in zip(model.bodies, model.joints, strict=True):
            name, joint_name = self._named(body.name), self._named(joint.name)
            on, placement = self._seat(body.parent, joint.placement)
            parts.links[name] = Link(
                name,
                on,
                joint_name,
                joint.kind,
                placement,
                body.inertia,
                joint.limits,
                joint.damping,
                joint.friction,
                joint.rotor_inertia,
                joint.gear_ratio,
                self._mimic(joint),
                joint.stiffness,
                joint.rest,
            )
            parts.joints[joint_name] = name
            parts.told.add(name)
        for frame in model.frames:
            parts.frames[self._named(frame.name)] = self._seat(frame.body, frame.placement)
        if not model.base_inertia.vanishes:
            parts.ballast.append((self._parent, model.base_inertia.moved(self._floor)))
        parts.visuals += self._shapes(model.visuals)
        parts.collisions += self._shapes(model.collisions)
        for loop in model.closures:
            ends = self._end(loop.first), self._end(loop.second)
            parts.closures[self._named(loop.name)] = Loop(loop.kind, *ends)
        self._enter_ties_and_states(parts)
        parts.reports.append(model.report)

    def _enter_ties_and_states(self, parts: Parts) -> None:
        """What ties joints by their numbers: couplings, and the coordinates of keyframes."""
        model = self._model
        names = [self._named(joint.name) for joint in model.joints]
        for tied in model.couplings:
            leader = None if tied.leader is None else names[tied.leader]
            parts.couplings[self._named(tied.name)] = Dependence(
                names[tied.joint], leader, tied.coefficients, tied.centre
            )
        for name, state in model.keyframes.items():
            leading = [(self._named(joint.name), joint) for joint in model.leaders]
            q = {joint_name: state.q[joint.q] for joint_name, joint in leading}
            v = {joint_name: state.v[joint.v] for joint_name, joint in leading}
            parts.keyframes[self._named(name)] = q, v

    def _named(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _seat(self, body: int, placement: Placement) -> tuple[str, Placement]:
        """What carries something of the machine, and where: its world is on the parent."""
        if body == WORLD:
            return self._parent, self._floor.then(placement)
        return self._named(self._model.bodies[body].name), placement

    def _mimic(self, joint: Joint) -> tuple[str, float, float] | None:
        if joint.mimic is None:
            return None
        leader = self._model.joints[joint.mimic.source].name
        return self._named(leader), joint.mimic.ratio, joint.mimic.offset

    def _shapes(self, shapes: Iterable[Visual]) -> list[tuple[str, Visual]]:
        found = []
        for shape in shapes:
            on, placement = self._seat(shape.body, shape.placement)
            name = self._named(shape.name)
            found.append((on, Visual(shape.shape, placement, shape.color, name)))
        return found

    def _end(self, anchor: Anchor) -> End:
        link = self._parent if anchor.link == WORLD_NAME else self._named(anchor.link)
        return End(link, *self._seat(anchor.body, anchor.placement))


def _example(model: Model) -> str:
    """A prefix that one might give."""
    return f"{model.name}_" if model.name.isidentifier() else "left_"
