"""MuJoCo's part in reading MJCF: defaults, frames, replicas, and masses of geoms.

MuJoCo gets texts and files in memory, and none of its own choosing.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np

from phipsi.errors import InputError
from phipsi.model.files.mjcf.meshes import Meshes
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Vector3
from phipsi.model.names import ROOT_JOINT
from phipsi.model.report import Status
from phipsi.model.tree import WORLD_NAME

_T = TypeVar("_T")
_CONTACT = "contacts are not simulated"
_FRONT = re.compile(r"^((XML )?Error: |could not parse model file with error: |ParseXML: )+")
_KEY = re.compile(r"keyframe '(.*?)'")
_LINE = re.compile(r"line (\d+)")


class Workshop:
    """Makes a `mujoco.MjModel` of texts, and knows which element each part is of.

    Args:
        mujoco: the module.
        elements: of the lines of the texts, from 1.
        meshes: the mesh files.
    """

    def __init__(self, mujoco: Any, elements: list[Element | None], meshes: Meshes):
        self._mujoco, self._elements, self._meshes = mujoco, elements, meshes
        self._root = next(x for x in elements if x is not None)
        self.warnings: list[str] = []

    def parse(self, text: str, models: Mapping[str, bytes]) -> Any:
        """The `mujoco.MjSpec` of a text and the models that it attaches.

        Raises:
            ModelError: for what MuJoCo does not take, with file and line.
        """
        return self._try(lambda: self._mujoco.MjSpec.from_string(text, include=dict(models)))

    def compile(self, spec: Any) -> Any:
        """The `mujoco.MjModel` of a spec.

        Raises:
            ModelError: for what MuJoCo does not take, with file and line.
        """
        self._leave_fields(spec)
        spec.compiler.LRopt.mode = self._mujoco.mjtLRMode.mjLRMODE_NONE  # it simulates muscles
        needed, touching = set(), []
        for geom in list(spec.geoms):
            makes_mass = self._makes_mass(geom, spec)
            if makes_mass:
                self.mark(geom, "used", "the mass of its body is computed of it")
            if geom.meshname:
                touching.append((geom, geom.contype, geom.conaffinity))
                geom.contype = geom.conaffinity = 0  # else it gets a hull, which may take hours
                if makes_mass or geom.type != self._mujoco.mjtGeom.mjGEOM_MESH:
                    needed.add(geom.meshname)  # its mass, or the shape around it, is computed
        spec.assets = self._meshes.hand_over(
            spec.meshes, needed, lambda mesh: self.element_of(mesh) or self._root
        )
        with _muted() if self._meshes.hulls else nullcontext():
            mj = self._try(spec.compile)
        for geom, contype, conaffinity in touching:
            mj.geom_contype[geom.id], mj.geom_conaffinity[geom.id] = contype, conaffinity
        return mj

    def element_of(self, part: Any) -> Element | None:
        """The element that a part of a spec was read from, if it was."""
        return self._element(part.info)

    def mark(self, part: Any, status: Status, reason: str) -> None:
        """Tell what became of the element of a part."""
        element = self.element_of(part)
        if element is not None:
            element.mark(status, reason)

    def _leave_fields(self, spec: Any) -> None:
        """Leave out the fields of heights that nothing depends on: ground.

        Others have the mass of a box, whatever their heights are.
        """
        needed = set()
        for geom in list(spec.geoms):
            if geom.type == self._mujoco.mjtGeom.mjGEOM_HFIELD:
                if self._makes_mass(geom, spec):
                    needed.add(geom.hfieldname)
                else:
                    self.mark(geom, "ignored", _CONTACT)
                    spec.delete(geom)
        for field in spec.hfields:
            if field.name not in needed:
                self.mark(field, "ignored", _CONTACT)

    def _makes_mass(self, geom: Any, spec: Any) -> bool:
        """Whether the mass of its body is computed of a geom."""
        compiler = getattr(geom, "compiler", spec.compiler)
        ways = self._mujoco.mjtInertiaFromGeom
        if compiler.inertiafromgeom == ways.mjINERTIAFROMGEOM_FALSE or _is_world(geom.parent):
            return False
        if compiler.inertiafromgeom == ways.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
            return False
        lowest, highest = compiler.inertiagrouprange
        weight = geom.density if np.isnan(geom.mass) else geom.mass
        return bool(weight != 0.0 and lowest <= geom.group <= highest)

    def _try(self, work: Callable[[], _T]) -> _T:
        with _heard(self._mujoco, self.warnings):
            try:
                return work()
            except (ValueError, TypeError, RuntimeError, self._mujoco.FatalError) as error:
                text = str(error)
            except MemoryError:
                text = "it needs more memory than there is"
        message = _FRONT.sub("", " ".join(text.split("\nElement", 1)[0].split()))
        element = self._element(text) or self._key(message) or self._root
        raise element.error(f"{element.label}: {self._meshes.real_names(message)}")

    def _key(self, message: str) -> Element | None:
        """The keyframe that a message is about: MuJoCo has no lines of them."""
        found = _KEY.match(message)
        named = found[1] if found else None
        keys = (x for x in self._elements if x is not None and x.tag == "key")
        return next((x for x in keys if x.attributes.get("name", "") == named), None)

    def _element(self, text: str) -> Element | None:
        found = _LINE.search(text)
        line = int(found.group(1)) if found else 0
        return self._elements[line] if line < len(self._elements) else None


@contextmanager
def _heard(mujoco: Any, lines: list[str]) -> Iterator[None]:
    """Warnings of MuJoCo as lines: not on the screen, and not in a file of its own."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lines.append)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield
        lines += (str(each.message) for each in found)
    finally:
        mujoco.set_mju_user_warning(before)


@contextmanager
def _muted() -> Iterator[None]:
    """Nothing on the standard error: what Qhull, in MuJoCo, has to say of a flat hull is long."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


# -- what the user asks for in place of the file ---------------------------------------


def set_base(spec: Any, base: str | None, root: Element, mujoco: Any, workshop: Workshop) -> bool:
    """Weld what is free in the world, or free what is welded to it; whether anything changed.

    Motors of joints that are taken away go with them, and are marked so.

    Raises:
        InputError: for "free", if every body is on joints that are not.
    """
    if base is None:
        return False
    free = mujoco.mjtJoint.mjJNT_FREE
    tops = [x for x in spec.bodies if not _is_world(x) and _is_world(x.parent)]
    if base == "fixed":
        joints = [joint for body in tops for joint in body.joints if joint.type == free]
        _delete_motors(spec, {joint.name for joint in joints} - {""}, mujoco, workshop)
        for joint in joints:
            spec.delete(joint)
        return bool(joints)
    welded = [body for body in tops if not body.joints and not body.mocap]
    if not welded and not any(joint.type == free for body in tops for joint in body.joints):
        raise InputError(
            f"load: base='free': no body of {root.file} is welded to the world, all are on joints; "
            "leave base out"
        )
    for body in welded:
        name = ROOT_JOINT if len(welded) == 1 else f"{ROOT_JOINT}_{body.name or body.id}"
        body.add_freejoint(name=name)
    return bool(welded)


def _delete_motors(spec: Any, joints: set[str], mujoco: Any, workshop: Workshop) -> None:
    """Delete the actuators of these joints."""
    ways = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for actuator in list(spec.actuators):
        if actuator.trntype in ways and actuator.target in joints:
            workshop.mark(actuator, "ignored", f"joint {actuator.target!r} is taken away")
            spec.delete(actuator)


def _is_world(body: Any) -> bool:
    """Whether a body of a spec is the world, whose name no other can have."""
    return body.name == WORLD_NAME


def set_gravity(spec: Any, gravity: Vector3 | None, mujoco: Any) -> None:
    """Replace the file's gravity, and the flag that may switch it off."""
    if gravity is not None:
        spec.option.gravity = gravity
        spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
