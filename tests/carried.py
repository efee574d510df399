"""A machine on a moved base, said otherwise: the same machine on a body with a free joint."""

from dataclasses import replace

import numpy as np

from phipsi import joints
from phipsi.model.inertia import HERE, MASSLESS
from phipsi.model.model import Body, Joint, Model


def carried(model: Model) -> Model:
    """The machine with what its roots hang on as a first body, free and without mass."""
    root = Joint("carrier_joint", joints.Free(), HERE, slice(0, 7), slice(0, 6), slice(0, 6))

    def moved(joint):
        later = {name: shifted(getattr(joint, name), by) for name, by in SHIFTS.items()}
        source = joint.mimic and replace(joint.mimic, source=joint.mimic.source + 1)
        return replace(joint, **later, mimic=source)

    bodies = (replace(body, parent=body.parent + 1) for body in model.bodies)
    frames = (replace(frame, body=frame.body + 1) for frame in model.frames)
    return Model(
        f"{model.name} on a carrier",
        (Body("carrier", -1, MASSLESS), *bodies),
        (root, *map(moved, model.joints)),
        tuple(frames),
        model.gravity,
    )


SHIFTS = {"q": 7, "v": 6, "rows": 6}


def shifted(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def random_base(rng):
    """Quaternion and position of a base, its velocity and acceleration [omega; v] in its axes."""
    quaternion = rng.normal(size=4)
    place = np.concatenate([quaternion / np.linalg.norm(quaternion), rng.normal(size=3)])
    return place, *rng.normal(size=(2, 6))


def seen_from_base(model: Model, place: np.ndarray) -> Model:
    """The machine with gravity in the axes of a base that stands so."""
    R = np.array(joints.Free().transform(list(place))[0])
    return replace(model, gravity=tuple(float(x) for x in R.T @ np.array(model.gravity)))
