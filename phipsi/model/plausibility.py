"""Whether masses and inertias fit the shapes that bodies have, and the joints they hang on.

No body within a box of the lengths a, b, c has a moment of inertia about x
above `m (b^2 + c^2) / 4`, all of its mass in the edges; one that fills the box has
a third of that. There is no least moment, but a body that is much smaller than
what it looks like is rare: a motor in a wide cover may have a tenth of its
length. So moments are called implausible that are more than ten times too
large, or in sum a hundred times too small, for what would fill the box. Point
masses, with no moments at all, are plain idealisations.

Shapes may show a part of a body only, or be a mere mark. Where the mass would be
denser in the box than any material, it is not there, and nothing is said of it.
All this makes remarks, and nothing is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from phipsi.errors import ModelError
from phipsi.model.geometry import Mesh, Sphere, Visual
from phipsi.model.inertia import Inertia, Vector3
from phipsi.model.model import Model
from phipsi.model.report import Place, Remark, Report, label_of
from phipsi.model.solids import bounds

TOO_LARGE = 10.0  # a moment of inertia, as a multiple of that of the filled box
TOO_SMALL = 0.01  # the sum of the three, likewise
TOO_FAR = 1.0  # a mass centre from the box, in lengths of its diagonal
DENSEST = 25e3  # kg/m^3, beyond all materials: what is denser than that is not in its shapes
THINNEST = 1e-3  # m: what a sheet has for a thickness where it has none
POINT = 1e-9  # the sum of the moments of a point mass, but for roundoff
TINY = 1e-300  # instead of zero, to divide by
NOTHING = 1e-12  # what is left of an inertia that vanishes

CARRIERS = ("link", "body")  # the elements that have an inertia
_LABELS = ("<link", "<body", "<joint")

Corners = tuple[Vector3, Vector3]  # the lowest and the highest of a box
Extents = Callable[[str], Corners | None]  # of a mesh file, by its path
Box = tuple[np.ndarray, np.ndarray]  # its lowest and its highest corner


def shape_remarks(model: Model) -> list[Remark]:
    """What is odd about the inertias of bodies, seen beside their shapes.

    Bodies with a mesh are left out, for no mesh is read; `mesh_remarks` has those.

    Args:
        model: the machine.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("crate")
    >>> crate = pp.geometry.Box((1, 1, 1))
    >>> builder.add_body("crate", mass=2.0, inertia=(40, 40, 40), visuals=[crate])
    >>> shape_remarks(builder.build())
    ["body 'crate': its moments of inertia are up to 120 times those of 2 kg that fill its shapes"]
    """
    return _remarks(
        model,
        (
            (k, fault)
            for k, shapes in _shapes(model).items()
            if not any(isinstance(each.shape, Mesh) for each in shapes)
            for fault in _faults(model.bodies[k].inertia, _box(shapes, _unread))
        ),
    )


def mesh_remarks(model: Model, extents: Extents) -> list[Remark]:
    """The same of the bodies that have meshes.

    Args:
        model: the machine.
        extents: of a path, the lowest and the highest corner of the box around that mesh,
            in the lengths of its file; None where it cannot be read. Bodies with such a
            mesh are left out.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("crate")
    >>> crate = pp.geometry.Mesh("crate.stl", scale=(0.001, 0.001, 0.001))
    >>> builder.add_body("crate", mass=2.0, inertia=(1, 1, 1), visuals=[crate])
    >>> mesh_remarks(builder.build(), lambda path: ((-100, -100, 0), (100, 100, 300)))
    ["body 'crate': its moments of inertia are up to 75 times those of 2 kg that fill its shapes"]
    """
    return _remarks(
        model,
        (
            (k, fault)
            for k, shapes in _shapes(model).items()
            if any(isinstance(each.shape, Mesh) for each in shapes)
            for fault in _faults(model.bodies[k].inertia, _box(shapes, extents))
        ),
    )


def joint_remarks(model: Model) -> list[Remark]:
    """Joints at the tips that move mass, and feel none of it.

    A point mass on the axis of a joint has no inertia about it: D vanishes there, as it does
    where a joint moves no mass at all, of which the builder tells.

    Args:
        model: the machine.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("top")
    >>> builder.add_body("top", mass=1.0, com=(0, 0, 0.1))  # turns about z
    >>> joint_remarks(builder.build())
    ["body 'top': its mass has no inertia that joint 'top_joint' feels, so ... is singular"]
    """
    feels = [not body.inertia.vanishes for body in model.bodies]  # or something outboard of it
    leads = {joint.mimic.source for joint in model.joints if joint.mimic is not None}
    found = []
    for k in model.tree.tip_to_base:
        body, joint = model.bodies[k], model.joints[k]
        if body.parent >= 0:
            feels[body.parent] |= feels[k]
        alone = not any(feels[child] for child in model.tree.children[k])
        if alone and not body.inertia.vanishes and joint.mimic is None and k not in leads:
            H = np.array(joint.kind.motion_map(joint.kind.neutral()), dtype=float)
            M = body.inertia.matrix
            D = H.T @ M @ H + joint.reflected_inertia * np.eye(joint.kind.nv)
            if np.linalg.eigvalsh(D)[0] <= NOTHING * np.trace(H.T @ H) * np.trace(M[:3, :3]):
                text = f"its mass has no inertia that joint {joint.name!r} feels, "
                found.append((k, text + "so forward dynamics is singular"))
    return _remarks(model, found[::-1])


def with_plausibility(model: Model, strict: bool) -> Model:
    """The machine whose report tells of all this, once somebody looks at it.

    Args:
        model: the machine.
        strict: look now, and raise the first remark.

    Raises:
        ModelError: strict, and something is odd.
    """
    if strict:
        for remark in (*joint_remarks(model), *shape_remarks(model)):
            raise ModelError(f"{remark}; mend the file, or keep it as it is with strict=False")
        return model
    told = model.report
    report = Report(lambda: (*told, *joint_remarks(model), *shape_remarks(model)))
    return replace(model, report=report)


# -- shapes ----------------------------------------------------------------------------


def _shapes(model: Model) -> dict[int, list[Visual]]:
    """The shapes of each body that has mass; the world has none that counts."""
    found: dict[int, list[Visual]] = {}
    for shape in (*model.visuals, *model.collisions):
        if shape.body >= 0 and model.bodies[shape.body].inertia.mass > 0.0:
            found.setdefault(shape.body, []).append(shape)
    return dict(sorted(found.items()))


def _unread(path: str) -> Corners | None:
    return None


def _box(shapes: Sequence[Visual], extents: Extents) -> Box | None:
    """The box around shapes, along the axes of the body; None if one of them is unknown."""
    lowest, highest = np.full(3, np.inf), np.full(3, -np.inf)
    for each in shapes:
        mesh = each.shape if isinstance(each.shape, Mesh) else None
        corners = bounds(each.shape) if mesh is None else extents(mesh.path)
        if corners is None:
            return None
        scale = (1.0, 1.0, 1.0) if mesh is None else mesh.scale
        ends = np.array(corners, dtype=float) * scale  # a negative scale swaps them
        R: np.ndarray = np.array(each.placement.rotation)
        if isinstance(each.shape, Sphere):
            R = np.eye(3)  # the box around a ball does not turn
        centre = np.array(each.placement.position) + R @ ends.mean(axis=0)
        reach = np.abs(R) @ np.abs(ends[1] - ends[0]) / 2.0
        lowest, highest = np.minimum(lowest, centre - reach), np.maximum(highest, centre + reach)
    return lowest, highest


def _faults(inertia: Inertia, box: Box | None) -> Iterator[str]:
    """What is odd about an inertia, beside the box around what the body looks like."""
    if box is None:
        return
    lowest, highest = box
    squares = (highest - lowest) ** 2
    diagonal = float(np.sqrt(squares.sum()))
    volume = float(np.prod(np.maximum(highest - lowest, THINNEST)))
    if not 0.0 < inertia.mass <= DENSEST * volume:  # more is a mark, as people draw for motors
        return
    filled = inertia.mass / 12.0 * (squares.sum() - squares)
    moments = np.diag(np.array(inertia.rotational))
    with np.errstate(over="ignore"):  # infinitely many times is many
        most = float(np.max(moments / np.maximum(filled, TINY)))
        least = float(moments.sum() / max(filled.sum(), TINY))
    full = f"those of {inertia.mass:.4g} kg that fill its shapes"
    if most > TOO_LARGE:
        yield f"its moments of inertia are up to {most:.3g} times {full}"
    elif POINT < least < TOO_SMALL:
        yield f"its moments of inertia are {1.0 / least:.3g} times smaller than {full}"
    outside = np.maximum(0.0, np.maximum(lowest - inertia.com, np.array(inertia.com) - highest))
    far = float(np.linalg.norm(outside))
    if far > TOO_FAR * diagonal:
        yield (
            f"its mass centre is {far:.3g} m outside of its shapes, which are {diagonal:.3g} m "
            "across"
        )


# -- where it stands -------------------------------------------------------------------


def _remarks(model: Model, faults: Iterable[tuple[int, str]]) -> list[Remark]:
    """A line for each fault of a body, by its number."""
    found, places = [], None
    for k, fault in faults:
        places = _places(model.report) if places is None else places
        name = model.bodies[k].name
        link = name.partition("@")[0]  # of LINK@JOINT, as bodies are called at joints elsewhere
        labels = [label_of(tag, each) for each in (name, link, _own(link)) for tag in CARRIERS]
        place = next((places[label] for label in labels if label in places), None)
        found.append(Remark("implausible", f"body {name!r}: {fault}", place))
    return found


def _own(name: str) -> str:
    """What a link is called in its own model: of `outer::inner::link` the last."""
    return name.rpartition("::")[2]


def _places(report: Iterable[Remark]) -> dict[str, Place | None]:
    """Where a file tells inertias, by the link's label: at its <inertial>, or at the link.

    None where several are called so: models in models may repeat names.
    """
    found: dict[str, Place | None] = {}
    heads: dict[str, Place] = {}  # where the links themselves stand
    link = ""
    for line in report:
        place = line.file, line.line
        if line.element == "<inertial>" and link:
            found[link], link = place, ""
        elif line.element.startswith(_LABELS):
            link = ""
            if line.element.startswith("<joint"):
                continue
            if line.element not in heads:
                link, found[line.element], heads[line.element] = line.element, place, place
            elif heads[line.element] != place:
                found[line.element] = None
    return found
