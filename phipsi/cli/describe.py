"""A machine as one JSON object, for programs; docs/command_line.md says what each key means.

Bodies, joints and frames go by their names. There is no infinity in JSON: what has no limit is
null.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from phipsi.cli.joint_table import kind_name
from phipsi.model.closure import Anchor
from phipsi.model.geometry import Visual
from phipsi.model.inertia import Inertia, Placement
from phipsi.model.joints import JointKind
from phipsi.model.model import Joint, Model
from phipsi.model.report import Remark
from phipsi.model.tree import WORLD, WORLD_NAME


def describe(model: Model, mass_centre: Iterable[float] | None, file: str | None) -> dict[str, Any]:
    """Everything that a model is, in dictionaries, lists, texts, numbers and None.

    Args:
        model: the machine.
        mass_centre: at the neutral configuration; None without mass.
        file: that it was read from; None if there is none.

    >>> import phipsi as pp
    >>> told = describe(pp.examples.planar_arm(1), None, None)
    >>> told["joints"][0]["limits"]
    {'lower': None, 'upper': None, 'velocity': None, 'effort': None}
    """
    return {
        "name": model.name,
        "file": file,
        "nq": model.nq,
        "nv": model.nv,
        "gravity": list(model.gravity),
        "mass": model.mass,
        "moving_mass": model.moving_mass,
        "mass_centre": None if mass_centre is None else [float(x) for x in mass_centre],
        "base": _inertia(model.base_inertia),
        "bodies": [
            {
                "name": body.name,
                "parent": _carrier(model, body.parent),
                "joint": joint.name,
                **_inertia(body.inertia),
            }
            for body, joint in zip(model.bodies, model.joints, strict=True)
        ],
        "joints": [_joint(model, k) for k in range(len(model.joints))],
        "frames": [
            {"name": x.name, "body": _carrier(model, x.body), **_placement(x.placement)}
            for x in model.frames
        ],
        "closures": [
            {
                "name": x.name,
                **_kind(x.kind),
                "equations": x.equations,
                "first": _anchor(model, x.first),
                "second": _anchor(model, x.second),
            }
            for x in model.closures
        ],
        "couplings": [
            {
                "name": x.name,
                "joint": model.joints[x.joint].name,
                "leader": None if x.leader is None else model.joints[x.leader].name,
                "coefficients": list(x.coefficients),
                "centre": x.centre,
            }
            for x in model.couplings
        ],
        "keyframes": {
            name: {"q": list(x.q), "v": list(x.v)} for name, x in model.keyframes.items()
        },
        "visuals": _shapes(model.visuals),
        "collisions": _shapes(model.collisions),
        "report": {
            "counts": dict(model.report.counts),
            "entries": [entry(line) for line in model.report],
        },
    }


def entry(line: Remark) -> dict[str, Any]:
    """A line of a report.

    >>> entry(Remark("kept", "a camera", ("robot.urdf", 12), "<camera>"))
    {'status': 'kept', 'file': 'robot.urdf', 'line': 12, 'element': '<camera>',
     'message': 'robot.urdf:12: a camera', 'notable': False}
    """
    return {
        "status": line.status,
        "file": line.file or None,
        "line": line.line or None,
        "element": line.element or None,
        "message": str(line),
        "notable": line.notable,
    }


def finite(x: float) -> float | None:
    """A number that JSON has; None for the others."""
    return x if math.isfinite(x) else None


def _joint(model: Model, k: int) -> dict[str, Any]:
    joint, body = model.joints[k], model.bodies[k]
    limits = joint.limits
    return {
        "name": joint.name,
        **_kind(joint.kind),
        "parent": _carrier(model, body.parent),
        "child": body.name,
        **_placement(joint.placement),
        "q": [joint.q.start, joint.q.stop],
        "v": [joint.v.start, joint.v.stop],
        "limits": {
            "lower": finite(limits.lower),
            "upper": finite(limits.upper),
            "velocity": finite(limits.velocity),
            "effort": finite(limits.effort),
        },
        "damping": joint.damping,
        "friction": joint.friction,
        "stiffness": joint.stiffness,
        "rest": list(joint.rest),
        "rotor_inertia": joint.rotor_inertia,
        "gear_ratio": joint.gear_ratio,
        "mimic": _mimic(model, joint),
    }


def _mimic(model: Model, joint: Joint) -> dict[str, Any] | None:
    if joint.mimic is None:
        return None
    leader = model.joints[joint.mimic.source].name
    return {"joint": leader, "ratio": joint.mimic.ratio, "offset": joint.mimic.offset}


def _kind(kind: JointKind) -> dict[str, Any]:
    """The kind in a word, and its own numbers: axis, normal, first, second, pitch, sequence."""
    names: list[str] = [x.name for x in fields(kind)] if is_dataclass(kind) else []
    told: dict[str, Any] = {name: getattr(kind, name) for name in names}
    told = {
        name: [*map(float, x)] if isinstance(x, tuple) else x
        for name, x in told.items()
        if isinstance(x, str | int | float | tuple)
    }
    return {"kind": kind_name(kind), "axis": told.pop("axis", None), "parameters": told}


def _anchor(model: Model, anchor: Anchor) -> dict[str, Any]:
    body = _carrier(model, anchor.body)
    return {"link": anchor.link, "body": body, **_placement(anchor.placement)}


def _carrier(model: Model, body: int) -> str:
    return WORLD_NAME if body == WORLD else model.bodies[body].name


def _inertia(inertia: Inertia) -> dict[str, Any]:
    rows = [list(row) for row in inertia.rotational]
    return {"mass": inertia.mass, "com": list(inertia.com), "inertia": rows}


def _placement(placement: Placement) -> dict[str, Any]:
    rows = [list(row) for row in placement.rotation]
    return {"position": list(placement.position), "rotation": rows}


def _shapes(shapes: Iterable[Visual]) -> dict[str, int]:
    return dict(Counter(type(visual.shape).__name__.lower() for visual in shapes))
