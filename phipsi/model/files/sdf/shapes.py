"""What the links of an SDF file look like, and touch with.

A machine moves the same whatever it looks like, so nothing here refuses a
file: what cannot be drawn is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from phipsi.errors import ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.packages import Packages
from phipsi.model.files.sdf.pose import between, read_pose
from phipsi.model.files.sdf.scope import Node, pose_of
from phipsi.model.files.xmlfile import Element
from phipsi.model.geometry import (
    Box,
    Capsule,
    Color,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
    Visual,
    check_color,
)
from phipsi.model.inertia import Placement, vector3

_READ: dict[str, Callable[[Element], Shape]] = {
    "box": lambda each: Box(vector3("size", each.need("size").values(3))),
    "capsule": lambda each: Capsule(each.need("radius").value(), each.need("length").value()),
    "cylinder": lambda each: Cylinder(each.need("radius").value(), each.need("length").value()),
    "ellipsoid": lambda each: Ellipsoid(vector3("radii", each.need("radii").values(3))),
    "sphere": lambda each: Sphere(each.need("radius").value()),
}
_UNDRAWN = ("cone", "heightmap", "image", "plane", "polyline")

_LOOKS = "it concerns looks alone"
_CONTACT = "it concerns contact alone"
_OF_VISUAL = {
    **dict.fromkeys(("cast_shadows", "meta", "visibility_flags"), _LOOKS),
    "laser_retro": "it concerns sensors alone",
    "plugin": "code of a simulator",
}
_OF_COLLISION = {
    **dict.fromkeys(("max_contacts", "surface"), _CONTACT),
    "laser_retro": "it concerns sensors alone",
    "auto_inertia_params": "meant for the inertia of meshes",
    "material_density": "no inertia is made of it",
}
_OF_MATERIAL = dict.fromkeys(
    (
        *("double_sided", "emissive", "lighting", "pbr", "render_order"),
        *("script", "shader", "shininess", "specular"),
    ),
    _LOOKS,
)
_OF_MESH = dict.fromkeys(("convex_decomposition",), _CONTACT)


def read_visuals(link: Node, packages: Packages, notes: Notes) -> list[Visual]:
    """What a link looks like, in its own frame."""
    found = []
    for visual in link.element.all("visual"):
        visual.mark("kept", "for viewing")
        visual.ignore(_OF_VISUAL)
        shape = _read(visual, link, packages, notes)
        if shape is not None:
            found.append(Visual(*shape, _read_color(visual, notes), visual.get("name") or ""))
    return found


def read_collisions(
    link: Node, packages: Packages, notes: Notes
) -> Iterator[tuple[Element, Visual | None]]:
    """What a link touches with, in its own frame; None for a shape that is not known here."""
    for collision in link.element.all("collision"):
        collision.mark("kept", "for contact, to be looked at")
        collision.ignore(_OF_COLLISION)
        collision.find("density")  # of an automatic inertia
        shape = _read(collision, link, packages, notes)
        name = collision.get("name") or ""
        yield collision, None if shape is None else Visual(*shape, None, name)


def _read(
    part: Element, link: Node, packages: Packages, notes: Notes
) -> tuple[Shape, Placement] | None:
    """The shape of a <visual> or <collision>, and where it is on the link."""
    try:
        placement = _place(part, link, notes)
        geometry = part.need("geometry")
        for child in geometry.children:
            if child.tag in _READ:
                child.status = "used"
                return _READ[child.tag](child), placement
            if child.tag == "mesh":
                child.status = "used"
                return _read_mesh(child, packages, notes), placement
            if child.tag == "empty":
                child.status = "used"
                return None
            if child.tag in _UNDRAWN:
                child.mark("ignored", "a shape that is not kept")
                notes.note(child, f"a <{child.tag}> is not kept: {part.label}", "ignored")
                return None
        raise geometry.error(f"<geometry> of {part.label} has no shape, as <box> or <mesh>")
    except ModelError as error:
        notes.refuse_error(part, error)
        return None


def _place(part: Element, link: Node, notes: Notes) -> Placement:
    """Where a part is on its link."""
    pose = part.find("pose")
    raw = read_pose(pose, notes)
    relative = "" if pose is None else pose.get("relative_to") or ""
    if not relative:
        return raw
    assert pose is not None and link.scope is not None
    frame = link.scope.need(relative, pose, f"the <pose> of {part.label} is relative to")
    return between(pose_of(link), pose_of(frame)).then(raw)


def _read_mesh(mesh: Element, packages: Packages, notes: Notes) -> Mesh:
    mesh.ignore(_OF_MESH)
    uri, scale = mesh.need("uri"), mesh.find("scale")
    if mesh.find("submesh") is not None:
        raise mesh.error("a <submesh> is not read; put it into a file of its own")
    size = (1.0, 1.0, 1.0) if scale is None else scale.values(3)
    name = uri.word()
    return Mesh(packages.path_of(uri, name, notes), vector3("scale", size), name)


def _read_color(visual: Element, notes: Notes) -> Color | None:
    """The colour of a visual: what is diffuse, else ambient; transparency fades it."""
    material, transparency = visual.find("material"), visual.find("transparency")
    if material is None:
        return None
    material.ignore(_OF_MATERIAL)
    try:
        diffuse, ambient = material.find("diffuse"), material.find("ambient")
        color = diffuse if diffuse is not None else ambient
        if color is None:
            return None
        count = 3 if len(color.word().split()) == 3 else 4
        found = check_color(color.values(count))
        if found is None or transparency is None:
            return found
        red, green, blue, opacity = found
        return check_color((red, green, blue, opacity * (1.0 - transparency.value())))
    except ModelError as error:
        notes.refuse_error(material, error)
        return None
