"""MJCF files, read into a Model with MuJoCo's help.

Source: the XML reference of MuJoCo, https://mujoco.readthedocs.io/en/stable/XMLreference.html.
The files are read by our own XML parser and checked; what motion needs is
handed to MuJoCo's MjSpec, which knows defaults, frames and the masses of
geoms; and what it compiles is taken over by `from_mujoco`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from phipsi.extras import need
from phipsi.model.files.account import Notes, account
from phipsi.model.files.mjcf.files import Files
from phipsi.model.files.mjcf.meshes import Meshes
from phipsi.model.files.mjcf.spec import Workshop, set_base, set_gravity
from phipsi.model.files.mjcf.tree import assemble, check_growth, children
from phipsi.model.files.mjcf.write import Writer
from phipsi.model.files.reading import Reading
from phipsi.model.files.xmlfile import Element
from phipsi.model.model import Model
from phipsi.model.peers.mujoco.machine import convert
from phipsi.model.peers.mujoco.names import Names
from phipsi.model.report import Place, Remark

# Parts of a spec that go by their own names, or by their numbers: tag and list.
_PARTS = {
    "geom": "geoms",
    "tendon": "tendons",
    "actuator": "actuators",
    "equality": "equalities",
    "key": "keys",
}
# What is used, though something that it says is not.
_HOLDERS = ("mujoco", "option", "body", "joint", "freejoint")
_LEFT_OUT = ("refused", "ignored")
_EACH = ("<tendon>", "<actuator>", "<equality>")  # lines of all together: each has one of its own


def read(root: Element, how: Reading) -> Model:
    """The machine of a <mujoco>.

    Bodies, joints, defaults, frames, replicas and attached models are as
    MuJoCo has them, and so are inertias, where it computes them of geoms; how
    its model becomes one of ours is told at `pp.from_mujoco`.

    Files that are included or attached are read from the file's folder and
    the one around it, and from the directories of `packages`; so are meshes,
    if masses are computed of them. Other meshes are not opened, nor missed.

    With base="fixed", free joints of bodies that the world carries are taken
    away; with base="free" those that are welded to it get one, called "root".
    Keyframes of the file are for its own base, and are left out then.
    """
    notes = Notes(how.strict)
    spec, mj, workshop, meshes = _build(root, how, notes)
    if mj.nbody == 1:  # the world
        raise root.error(
            "<mujoco> has no <body>; expected at least one. Is it a part for <include>? Load the "
            "file that includes it"
        )
    index = _Index(spec, mj, workshop, root)
    name = root.get("model") or os.path.splitext(os.path.basename(root.file))[0]
    model = convert(mj, name, how.mimic, how.strict, index.place_of)
    for line in dict.fromkeys(workshop.warnings):
        notes.note(root, f"MuJoCo warns: {meshes.real_names(' '.join(line.split()))}")
    notes.lines += [*index.told(model.report), *index.named()]
    return replace(
        model,
        visuals=tuple(meshes.restored(model.visuals, notes)),
        collisions=tuple(meshes.restored(model.collisions, notes)),
        report=account(root, notes.lines),
    )


def compiled(root: Element, how: Reading) -> Any:
    """The `mujoco.MjModel` that `read` takes a machine over from.

    Geoms, defaults, frames and numbers are as MuJoCo reads them; what motion does not need,
    as textures and heights of the ground, it does not get, and no file but those that `read`
    opens.

    Raises:
        ModelError: for what MuJoCo does not take, with file and line.
    """
    return _build(root, how, Notes(how.strict)).mj


class _Built(NamedTuple):
    """A `mujoco.MjSpec`, the `mujoco.MjModel` that was compiled of it, and who knows the file."""

    spec: Any
    mj: Any
    workshop: Workshop
    meshes: Meshes


def _build(root: Element, how: Reading, notes: Notes) -> _Built:
    """What MuJoCo makes of a <mujoco>, with the base and the gravity that are asked for."""
    mujoco = need("mujoco", "mjcf", "reading MJCF files")
    files = Files(root.file, how.packages)
    documents = assemble(root, files)
    check_growth(documents)

    meshes = Meshes(documents, files)
    added = dict(meshes.attributes())
    names = {other.root: f"model{k}.xml" for k, other in enumerate(documents)}
    for document in documents:
        for element, other in document.models.items():
            own = {"name": element.get("name") or other.root.get("model") or ""}
            added[element] = {**own, "file": names[other.root]}
        for asset in children(document.root, "asset"):
            added.update((field, _field(field)) for field in children(asset, "hfield"))
    writer = Writer(notes)
    text, *others = (writer.write(document.root, added) for document in documents)
    models = {f"model{k}.xml": other.encode() for k, other in enumerate(others, 1)}

    workshop = Workshop(mujoco, writer.elements, meshes)
    spec = workshop.parse(text, models)
    set_gravity(spec, how.gravity, mujoco)
    other_base = set_base(spec, how.base, root, mujoco, workshop)
    if other_base or writer.lost:
        for key in list(spec.keys):
            spec.delete(key)
        for document in documents:
            for section in children(document.root, "keyframe"):
                if writer.lost:
                    text = f"its states are of a machine with {writer.lost[0].label}"
                    notes.refuse(section, text)
                else:
                    section.mark("ignored", "states of the file's own base")
    return _Built(spec, workshop.compile(spec), workshop, meshes)


def _field(element: Element) -> dict[str, str]:
    """The attributes of an <hfield> as MuJoCo gets it: flat, for its mass is that of a box."""
    own = os.path.splitext(os.path.basename(element.attributes.get("file", "")))[0]
    return {"name": element.attributes.get("name", own), "nrow": "2", "ncol": "2"}


class _Index:
    """Which element a part of MuJoCo's model is of.

    Args:
        spec: the `mujoco.MjSpec`.
        mj: the `mujoco.MjModel` that was compiled of it.
        workshop: knows the lines.
        root: the file's root element.
    """

    def __init__(self, spec: Any, mj: Any, workshop: Workshop, root: Element):
        self._found: dict[tuple[str, str], Element] = {}
        names = Names(mj)
        for tag, parts, called in (
            ("body", spec.bodies, names.bodies),
            ("joint", spec.joints, names.joints),
            ("site", spec.sites, names.sites),
            ("camera", spec.cameras, names.cameras),
        ):
            for part in parts:
                element = workshop.element_of(part)
                self._add(tag, part.name, element)
                self._add(tag, called[part.id], element)
        for tag, plural in _PARTS.items():
            for part in getattr(spec, plural):
                self._add(tag, part.name or f"{tag}{part.id}", workshop.element_of(part))
        for option in children(root, "option"):
            if {"density", "viscosity"} & set(option.attributes):
                self._found["option", ""] = option

    def _add(self, tag: str, name: str, element: Element | None) -> None:
        if name and element is not None:
            self._found[tag, name] = element

    def place_of(self, tag: str, name: str) -> Place | None:
        """Where the file has what is called so."""
        element = self._found.get((tag, name))
        return element.place if element else None

    def told(self, report: Iterable[Remark]) -> Iterator[Remark]:
        """What the report of the machine says beside what becomes of its elements."""
        by_label = {_label(*key): (key, element) for key, element in self._found.items()}
        for line in report:
            (tag, name), element = by_label.get(line.element, (("", ""), None))
            if element is not None and line.status in _LEFT_OUT and _is_free(element):
                text = line.removeprefix(f"{line.file}:{line.line}: ")
                text = text.removeprefix(f"{tag} {name!r}: ").removeprefix(f"{line.status}, ")
                element.mark(line.status, text)
            elif line.notable and (line.status != "refused" or line.element not in _EACH):
                yield line

    def named(self) -> Iterator[Remark]:
        """The bodies that are called otherwise than the file's elements."""
        for (tag, name), element in self._found.items():
            if tag == "body" and element.attributes.get("name") != name:
                text = f"{element.label}: used, as body {name!r}"
                yield Remark("used", text, element.place, _label(tag, name))


def _is_free(element: Element) -> bool:
    """Whether an element is of no use but for what may be left out of it."""
    return element.tag not in _HOLDERS and not (element.status == "used" and element.reason)


def _label(tag: str, name: str) -> str:
    return f"<{tag} {name!r}>" if name else f"<{tag}>"
