"""`save_urdf`: a machine as a URDF file, from which it can be read again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from xml.sax.saxutils import quoteattr

from phipsi.errors import InputError, ModelError
from phipsi.model.files.urdf import saved_elements as urdf
from phipsi.model.files.urdf.expressible import DRIVEN, lost_in_urdf, unwritable_in_urdf
from phipsi.model.files.urdf.mesh_names import MeshNames
from phipsi.model.geometry import Visual
from phipsi.model.inertia import MASSLESS, Inertia
from phipsi.model.joints import Free
from phipsi.model.model import Frame, Joint, Model
from phipsi.model.names import ROOT_JOINT, take
from phipsi.model.tree import WORLD, WORLD_NAME
from phipsi.whole_file import checked_path, replacing

DRAKE = "http://drake.mit.edu"

_Placed = TypeVar("_Placed", Frame, Visual)


def save_urdf(model: Model, path: str | os.PathLike[str], strict: bool = True) -> None:
    """Write a machine as a URDF file; `pp.load` reads the same machine from it.

    All numbers come back bit by bit: inertias are written in link axes, and the
    angles of a rotation are looked for until they give its matrix. A matrix that no
    angles give, as the product of two, is met as closely as it is a rotation, to about
    1e-15 in each entry, and bit by bit from then on.

    What welding has merged stays merged: a link that lives on as a frame is
    written as a link without mass on a fixed joint. Otherwise:

    - A machine that `load` can make with base="free" is written without its free joint,
      as is the custom of URDF: all of it hangs on one, which is called "root", lies at the
      world's origin and has neither losses nor limits, and nothing is on the world. Any
      other free joint is written, as a floating one. A comment on top of the file says
      which it is, for who adds a free joint to the latter has six coordinates too many.
    - Several roots hang on a link "world" without mass, which is the world again.
      Mass that is welded to the world is on the first frame that lies on the world's;
      if there is none, on a link "base" that is written for it.
    - A joint that turns without ends is continuous in URDF, and one with ends is
      revolute, whatever it was. Other limits that are infinite are written as the
      largest number there is, and are infinite again when phipsi reads them.
    - Frames come back in the order of the tree, after a root that is one.
    - Shapes stand on the body that carries them. A mesh has the name of the file that it
      was read from, as `package://robot/arm.stl`; a path from that file becomes one from
      the new file. Where the new file lies elsewhere, tell `load` by `packages=` where its
      meshes are.
    - Gears and the inertias of rotors are <transmission> elements; the springs of joints
      that turn or slide are in <gazebo> elements.

    What URDF does not know is refused before anything is written: joints of more
    kinds and their springs, closures, couplings, keyframes, a gravity of one's own.

    Args:
        model: the machine.
        path: of the file; one that is there is replaced, whole or not at all.
        strict: with False, what is beside the tree and its joints is left out, and a
            comment in the file tells of it.

    Raises:
        ModelError: the machine has what URDF cannot express; the message names all of it.
        InputError: the file cannot be written.

    >>> import os, tempfile
    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "arm.urdf")
    ...     save_urdf(arm, file)
    ...     again = pp.load(file)
    >>> again.bodies == arm.bodies, again.frames == arm.frames
    (True, True)
    """
    if not isinstance(model, Model):
        raise InputError(f"save_urdf: model is {model!r}; expected a Model")
    names = MeshNames(os.fspath(checked_path(path)))
    unwritable, lost = unwritable_in_urdf(model, names.of), lost_in_urdf(model)
    if unwritable or (lost and strict):
        raise ModelError(_refusal(model, unwritable, lost if strict else []))
    text = "".join(f"{line}\n" for line in _Writer(model, names).lines(lost))
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


def _refusal(model: Model, unwritable: Sequence[str], lost: Sequence[str]) -> str:
    """What URDF cannot express, and what to do: about what it needs, and what can go."""
    told = []
    if unwritable:
        told.append(
            f"{', '.join(unwritable)}; change {_it(unwritable)}, or keep the machine by "
            "pickle.dumps(model)"
        )
    if lost:
        told.append(
            f"{', '.join(lost)}; strict=False leaves {_it(lost)} out and says so in the file"
        )
    return f"save_urdf: {model.name!r} has what URDF cannot express: {'. Also '.join(told)}"


def _it(things: Sequence[str]) -> str:
    return "it" if len(things) == 1 else "them"


class _Writer:
    """Writes one machine."""

    def __init__(self, model: Model, mesh_names: MeshNames):
        self._model = model
        self._mesh_names = mesh_names
        names = {body.name for body in model.bodies} | {frame.name for frame in model.frames}
        self._names = names
        self._joint_names = {joint.name for joint in model.joints} | {ROOT_JOINT}
        self._floats = _is_floating(model)
        self._root = self._find_root()
        self._frames = _by_body(frame for frame in model.frames if frame.name != self._root)
        self._visuals, self._collisions = _by_body(model.visuals), _by_body(model.collisions)
        self._number_of = {frame.name: k for k, frame in enumerate(model.frames)}
        self._first = self._first_frames()

    def lines(self, lost: Sequence[str]) -> Iterator[str]:
        """The lines of the file."""
        model = self._model
        yield '<?xml version="1.0" encoding="utf-8"?>'
        if self._floats:
            yield '<!-- This machine floats: phipsi.load(..., base="free") -->'
        elif free := [joint.name for k, joint in enumerate(model.joints) if self._is_free(k)]:
            named = _comment(", ".join(map(repr, free)))
            yield f"<!-- This machine floats, on {named}: phipsi.load(...), without base= -->"
        if lost:
            left = _comment(", ".join(lost))
            yield f"<!-- Left out, for URDF cannot express {_it(lost)}: {left} -->"
        inside = [*self._tree()]
        for joint in model.joints:
            inside += urdf.transmission(joint)
            if type(joint.kind) in DRIVEN:
                inside += urdf.spring(joint)
        start = f'robot name={quoteattr(model.name)} xmlns:drake="{DRAKE}"'
        yield from urdf.element(start, inside)

    def _is_free(self, k: int) -> bool:
        """Whether a body floats in the world."""
        return self._model.tree.parent[k] == WORLD and isinstance(self._model.joints[k].kind, Free)

    def _find_root(self) -> str:
        """The name of the root link."""
        model = self._model
        if self._floats:
            return model.bodies[0].name
        for frame in model.frames:
            if frame.body == WORLD and urdf.is_here(frame.placement):
                return frame.name
        return WORLD_NAME if model.base_inertia.vanishes else take("base", self._names)

    # -- the tree

    def _tree(self) -> Iterator[str]:
        """Links and joints: bodies in their order, frames in theirs where that is possible."""
        model = self._model
        if not self._floats:
            yield from self._link(self._root, model.base_inertia, WORLD)
        stack: list[int | Frame] = list(reversed(self._carried(WORLD)))
        while stack:
            each = stack.pop()
            if isinstance(each, Frame):
                yield from urdf.element(f"link name={quoteattr(each.name)}", [])
                yield from self._weld(each)
                continue
            body = model.bodies[each]
            yield from self._link(body.name, body.inertia, each)
            if not (self._floats and body.parent == WORLD):
                yield from self._joint(each)
            stack += reversed(self._carried(each))

    def _carried(self, body: int) -> list[int | Frame]:
        """The frames and bodies on a body, in the order in which a reader numbers both."""
        tree, frames = self._model.tree, list(reversed(self._frames.get(body, ())))
        carried: list[int | Frame] = []
        for child in tree.roots if body == WORLD else tree.children[body]:
            while frames and self._number_of[frames[-1].name] < self._first.get(child, -1):
                carried.append(frames.pop())
            carried.append(child)
        return [*carried, *reversed(frames)]

    def _first_frames(self) -> dict[int, int]:
        """For each body: the number of the first frame on it, or outboard of it."""
        first = {k: self._number_of[frames[0].name] for k, frames in self._frames.items()}
        tree = self._model.tree
        for k in tree.tip_to_base:
            parent = tree.parent[k]
            if k in first and parent != WORLD:
                first[parent] = min(first[k], first.get(parent, first[k]))
        return first

    def _name_of(self, body: int) -> str:
        return self._root if body == WORLD else self._model.bodies[body].name

    # -- its parts

    def _link(self, name: str, inertia: Inertia, body: int) -> Iterator[str]:
        """A <link>: a body, or the world."""
        inside = [] if inertia == MASSLESS else [*urdf.inertial(inertia)]
        for tag, shapes in (("visual", self._visuals), ("collision", self._collisions)):
            for shape in shapes.get(body, ()):
                inside += urdf.visual(tag, shape, self._mesh_names.of)
        yield from urdf.element(f"link name={quoteattr(name)}", inside)

    def _weld(self, frame: Frame) -> Iterator[str]:
        """The fixed joint of a frame."""
        name = take(f"{frame.name}_joint", self._joint_names)
        ends = urdf.ends(self._name_of(frame.body), frame.name)
        inside = [*ends, *urdf.origin(frame.placement)]
        yield from urdf.element(f'joint name={quoteattr(name)} type="fixed"', inside)

    def _joint(self, k: int) -> Iterator[str]:
        """The joint of a body."""
        body, joint = self._model.bodies[k], self._model.joints[k]
        inside = [
            *urdf.ends(self._name_of(body.parent), body.name),
            *urdf.origin(joint.placement),
            *urdf.axis(joint.kind),
            *urdf.limit(joint),
            *urdf.dynamics(joint),
        ]
        if joint.mimic is not None:
            leader = self._model.joints[joint.mimic.source].name
            inside += urdf.mimic(leader, joint.mimic)
        start = f'joint name={quoteattr(joint.name)} type="{urdf.type_of(joint)}"'
        yield from urdf.element(start, inside)


def _is_floating(model: Model) -> bool:
    """Whether all of the machine hangs on a free joint as base="free" makes it."""
    if len(model.tree.roots) != 1 or not model.base_inertia.vanishes:
        return False
    root = model.joints[0]
    if any(shape.body == WORLD for shape in (*model.visuals, *model.collisions)):
        return False
    if any(frame.body == WORLD for frame in model.frames):
        return False
    plain = Joint(ROOT_JOINT, Free(), root.placement, root.q, root.v, root.rows)
    return root == plain and urdf.is_here(root.placement)


def _by_body(things: Iterable[_Placed]) -> dict[int, list[_Placed]]:
    """What is on each body, or on the world, in its order."""
    found: dict[int, list[_Placed]] = {}
    for each in things:
        found.setdefault(each.body, []).append(each)
    return found


def _comment(text: str) -> str:
    """Text that may stand in a comment."""
    return re.sub("-(?=-|$)", "- ", text)
