"""The <link> elements of an SDF file: masses, shapes, and what is out of the ordinary."""

from __future__ import annotations

from dataclasses import dataclass, field

from phipsi.errors import ModelError
from phipsi.model.files.account import Notes, message_of
from phipsi.model.files.packages import Packages
from phipsi.model.files.sdf.pose import read_flag, read_pose, to_flag
from phipsi.model.files.sdf.scope import Node, pose_of
from phipsi.model.files.sdf.shapes import read_collisions, read_visuals
from phipsi.model.files.xmlfile import Element
from phipsi.model.geometry import Mesh, Visual
from phipsi.model.inertia import MASSLESS, Inertia, Placement, Rows3
from phipsi.model.solids import solid
from phipsi.spatial import ZERO3

WATER = 1000.0  # kg/m^3, the density of what has none
_ONE: Rows3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_MOMENTS = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}

_FLUID = tuple(a + b for k, a in enumerate("xyzpqr") for b in "xyzpqr"[k:])  # xx, xy ... rr

_IRRELEVANT = {
    **dict.fromkeys(("sensor", "projector", "light", "particle_emitter"), "it moves nothing"),
    **dict.fromkeys(("audio_sink", "audio_source", "battery"), "it moves nothing"),
    "self_collide": "it concerns contact alone",
    "enable_wind": "there is no wind",
    "must_be_base_link": "a wish to one physics engine",
    "plugin": "code of a simulator",
    "frame": "it never had a meaning",  # of versions 1.5 and 1.6
}


@dataclass(slots=True)
class LinkPart:
    """A link as the file tells it.

    Args:
        node: its name and frame.
        pose: in the world.
        static: whether it stands still.
        inertia: in its own frame.
        visuals: what it looks like, in its own frame.
        collisions: what it touches with, likewise.
        weightless: the element that says so, if one does.
    """

    node: Node
    pose: Placement
    static: bool
    inertia: Inertia = MASSLESS
    visuals: list[Visual] = field(default_factory=list)
    collisions: list[Visual] = field(default_factory=list)
    weightless: Element | None = None


def read_link(node: Node, static: bool, packages: Packages, notes: Notes) -> LinkPart:
    """A link, its mass and its looks; what cannot be honoured is noted."""
    link = node.element
    link.ignore(_IRRELEVANT)
    part = LinkPart(node, pose_of(node), static)
    part.visuals = read_visuals(node, packages, notes)
    shapes = list(read_collisions(node, packages, notes))
    part.collisions = [shape for _, shape in shapes if shape is not None]
    part.inertia = _read_inertia(link, shapes, static, notes)
    gravity, kinematic, decay = (
        link.find(tag) for tag in ("gravity", "kinematic", "velocity_decay")
    )
    if not read_flag(gravity, True):
        part.weightless = gravity
    if kinematic is not None and read_flag(kinematic):
        notes.refuse(kinematic, f"{link.label} moves by forces here, like any other")
    if decay is not None and any(each.value() for each in decay.all("linear", "angular")):
        notes.refuse(decay, f"the velocity of {link.label} does not decay here")
    return part


def _read_inertia(
    link: Element, shapes: list[tuple[Element, Visual | None]], static: bool, notes: Notes
) -> Inertia:
    """The link's inertia in its own frame: `R I R*` at the mass centre.

    Where the file says nothing, the specification has 1 kg and 1 kg m^2 about each axis.
    """
    inertial = link.find("inertial")
    if inertial is None:
        if static:
            return MASSLESS
        notes.note(link, f"{link.label} has no <inertial>: 1 kg and 1 kg m^2, as SDF has it")
        return Inertia(1.0, ZERO3, _ONE)
    if to_flag(inertial, inertial.get("auto") or "false"):
        return _from_shapes(inertial, shapes, notes)
    inertial.ignore(dict.fromkeys(("density", "auto_inertia_params"), "auto is not true"))
    return _as_written(inertial, notes)


def _as_written(inertial: Element, notes: Notes) -> Inertia:
    """Mass, mass centre and moments as they stand."""
    mass, tensor = inertial.find("mass"), inertial.find("inertia")
    _refuse_fluid(inertial, notes)
    xx, xy, xz, yy, yz, zz = _MOMENTS.values()
    if tensor is not None:
        found = {name: tensor.find(name) for name in _MOMENTS}
        xx, xy, xz, yy, yz, zz = (
            _MOMENTS[name] if each is None else each.value() for name, each in found.items()
        )
    own = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    at = read_pose(inertial.find("pose"), notes)
    return Inertia(1.0 if mass is None else mass.value(), ZERO3, own).moved(at)


def _refuse_fluid(inertial: Element, notes: Notes) -> None:
    fluid = inertial.find("fluid_added_mass")
    if fluid is not None and any(each.value() for each in fluid.all(*_FLUID)):
        notes.refuse(fluid, "a body moves in no fluid here; its added mass is left out")


# -- inertia of shapes -----------------------------------------------------------------


def _from_shapes(
    inertial: Element, shapes: list[tuple[Element, Visual | None]], notes: Notes
) -> Inertia:
    """The inertia of what the link touches with, of even density; scaled to a <mass>."""
    inertial.ignore(dict.fromkeys(("inertia", "pose"), "auto is true"))
    inertial.ignore({"auto_inertia_params": "meant for the inertia of meshes"})
    _refuse_fluid(inertial, notes)
    density, mass = inertial.find("density"), inertial.find("mass")
    common = WATER if density is None else density.value()
    total = MASSLESS
    try:
        if not shapes:
            raise inertial.error("an automatic inertia needs a <collision>")
        for collision, shape in shapes:
            own = collision.find("density")
            if shape is None:
                raise collision.error(f"the inertia of {collision.label} is not computed")
            if isinstance(shape.shape, Mesh):
                raise collision.error(f"the inertia of {collision.label}, a mesh, is not computed")
            part = solid(shape.shape, common if own is None else own.value())
            total = total.plus(part.moved(shape.placement))
        if mass is None or total.mass == 0.0:
            return total
    except ModelError as error:
        text = f"{message_of(error, inertial)}; give <mass> and <inertia> without auto"
        notes.refuse(inertial, text)
        return MASSLESS
    return total.with_mass(mass.value())
