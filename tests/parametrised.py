"""Machines some of whose numbers are arguments: values to try, and the same machines rebuilt.

`rebuilt` puts values into a model by plain matrices, `evaluated` runs expressions with them
as arguments, by the interpreter or as a graph.
"""

from dataclasses import replace

import machines
import numpy as np

from phipsi.backends.job import Job
from phipsi.compile import make_code, make_program
from phipsi.graph.graph import Graph
from phipsi.lowering.evaluate import evaluate
from phipsi.lowering.inputs import Inputs
from phipsi.lowering.machine import Machine
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.trace import trace
from phipsi.model.inertia import Inertia, Placement

UPPER = np.triu_indices(3)
OF_A_BODY = [
    *(["mass"], ["first_moment"], ["inertia"], ["moments"], ["mass", "first_moment"]),
    *(["mass", "inertia"], ["first_moment", "inertia"], ["mass", "first_moment", "inertia"]),
]


def random_names(model, rng, share=0.5):
    """Parameters of about this share of the bodies and joints, in every combination."""
    names = ["gravity"] if rng.random() < share else []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        if rng.random() < share:
            chosen = OF_A_BODY[rng.integers(len(OF_A_BODY))]
            if chosen == ["first_moment"] and body.inertia.mass == 0.0:
                chosen = ["moments"]
            names += [f"{body.name}.{quantity}" for quantity in chosen]
        if rng.random() < share:
            owner = joint.name if rng.random() < 0.5 else body.name
            names.append(f"{owner}.{'position' if rng.random() < 0.5 else 'placement'}")
        if rng.random() < share:
            names.append(f"{joint.name}.rotor_inertia")
    return [names[i] for i in rng.permutation(len(names))]


def tilde(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def ten(mass, com, inertia):
    """Mass, first moment, and inertia about the origin."""
    J = np.asarray(inertia) - mass * tilde(com) @ tilde(com)
    return np.array([mass, *(mass * np.asarray(com)), *J[UPPER]])


def random_values(model, names, rng):
    """Of each parameter a value that is physical, and far from that of the model."""
    bodies = {}
    values = {}
    for name in names:
        owner, _, quantity = name.rpartition(".")
        if name == "gravity":
            values[name] = rng.uniform(-10.0, 10.0, 3)
        elif name == "moments":
            values[name] = np.array([ten(**machines.random_inertia(rng)) for _ in model.bodies])
        elif quantity in ("position", "placement"):
            place = machines.random_placement(rng)
            matrix = np.eye(4)
            matrix[:3, :3], matrix[:3, 3] = place["rotation"], place["position"]
            values[name] = matrix if quantity == "placement" else matrix[:3, 3]
        elif quantity == "rotor_inertia":
            values[name] = rng.uniform(0.01, 0.1)
        elif owner not in bodies:
            bodies[owner] = random_body(model.body(owner).inertia, names, owner, rng)
            values |= bodies[owner]
    return values


def random_body(nominal, names, owner, rng):
    """Physical values of those numbers of a body that are named, the others being as they are."""
    mass, com, inertia = machines.random_inertia(rng).values()
    mass = mass if {f"{owner}.mass", f"{owner}.moments"} & set(names) else nominal.mass
    com = com if {f"{owner}.first_moment", f"{owner}.moments"} & set(names) else nominal.com
    numbers = ten(mass, com, inertia)
    parts = {"mass": 0, "first_moment": slice(1, 4), "inertia": slice(4, 10), "moments": slice(10)}
    every = {f"{owner}.{quantity}": numbers[part] for quantity, part in parts.items()}
    return {name: x for name, x in every.items() if name in names}


def rebuilt(model, values):
    """The model with these numbers, one value of each parameter, by the definitions."""
    bodies, joints = list(model.bodies), list(model.joints)
    given = {}
    for name, value in values.items():
        owner, _, quantity = name.rpartition(".")
        if name == "gravity":
            model = replace(model, gravity=tuple(map(float, value)))
        elif name == "moments":
            given |= {k: {"moments": value[k]} for k in range(len(bodies))}
        elif quantity in ("mass", "first_moment", "inertia", "moments"):
            k = next(i for i, body in enumerate(bodies) if body.name == owner)
            given.setdefault(k, {})[quantity] = value
        else:
            k = model.index(owner)
            joints[k] = changed_joint(joints[k], quantity, value)
    for k, numbers in given.items():
        bodies[k] = replace(bodies[k], inertia=changed_inertia(bodies[k].inertia, numbers))
    return replace(model, bodies=tuple(bodies), joints=tuple(joints))


def changed_joint(joint, quantity, value):
    if quantity == "rotor_inertia":
        return replace(joint, rotor_inertia=float(value))
    if quantity == "position":
        return replace(joint, placement=Placement.of(joint.placement.rotation, value))
    return replace(joint, placement=Placement.of(value[:3, :3], value[:3, 3]))


def changed_inertia(inertia, numbers):
    """A body by mass, mass centre and inertia about it, whichever numbers are given."""
    mass, com, rotational = inertia.mass, np.array(inertia.com), np.array(inertia.rotational)
    if "moments" in numbers:
        whole = numbers["moments"]
        numbers = {"mass": whole[0], "first_moment": whole[1:4], "inertia": whole[4:]}
    mass = float(numbers.get("mass", mass))
    if "first_moment" in numbers:
        com = numbers["first_moment"] / mass
    if "inertia" in numbers:
        J = np.zeros((3, 3))
        J[UPPER] = numbers["inertia"]
        J = J + np.triu(J, 1).T
        rotational = J + mass * tilde(com) @ tilde(com)
    return Inertia.of(mass, com, (rotational + rotational.T) / 2)


# -- with the numbers as arguments ---------------------------------------------------------


def program_of(model, expressions):
    return make_program(tuple(expressions), plain=not model.has_mimics)


def evaluated(model, expressions, values, q, v, points=None, **given):
    """The expressions, by the interpreter."""
    program = program_of(model, expressions)
    machine = Machine(model, program.shifted, Parameters(model, list(values)))
    return evaluate(program, machine, Inputs(model, expressions, q, v, points, given, values))


def traced(model, expressions, names, shapes, points=None):
    """The expressions as a graph; `points` are the bodies that points are on."""
    program = program_of(model, expressions)
    machine = Machine(model, program.shifted, Parameters(model, names))
    return trace(program, machine, points or {}, shapes, Graph())


def keyed(**arrays):
    """Of arguments (*batch, *shape) the entries by the keys of a graph, batches of one axis."""
    found = {}
    for name, (array, batched) in arrays.items():
        array = np.asarray(array, float)
        flat = array.reshape(len(array), -1).T if batched else array.reshape(-1)
        found |= {(name, i): x for i, x in enumerate(flat)}
    return found


def compiled(model, expressions, names, outputs, unroll=None):
    """Machine code of the expressions: a function of q, v, T and the parameters, and its alarm.

    The expressions have speeds and the free vector T, of joint space.
    """
    program = program_of(model, expressions)
    parameters = Parameters(model, names)
    rows = sum(joint.kind.nv for joint in model.joints)
    inputs = {"q": (model.nq,), "v": (model.nv,), "T": (rows,)} | parameters.shapes
    machine = Machine(model, program.shifted, parameters)
    job = Job(program, machine, {}, inputs, outputs, "parametrised", "")
    way = make_code(job, unroll).way()
    return way.gufunc, way.counter
