"""Small SDF files in text for the tests that read them, and what they mean, worked out with NumPy.

`Truth` reads the same XML with the standard library and composes the poses of links and joints by
the rules of the specification, each from its own `relative_to`; it shares no code with the reader.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

import phipsi as pp
from phipsi import joints
from phipsi.model.files.load import load
from phipsi.model.tree import WORLD

SOLID = """<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>
  </inertia></inertial>"""


def write(folder: Path, body: str, version: str = "1.11", name: str = "trial.sdf") -> Path:
    """An <sdf> of that version; its body begins in line 2."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'<sdf version="{version}">\n{body}\n</sdf>\n')
    return file


def read_text(folder: Path, body: str, version: str = "1.11", **options) -> pp.Model:
    """Load the model called trial with that body, which begins in line 3 of trial.sdf."""
    text = f'<model name="trial">\n{body}\n</model>'
    return load(write(folder, text, version), **options)


def link(name: str, inside: str = SOLID, pose: str = "") -> str:
    """A <link>, by default of 2 kg."""
    return f'<link name="{name}">{pose_of(pose)}{inside}</link>\n'


def joint(name: str, parent: str, child: str, inside: str = "", type: str = "revolute") -> str:
    """A <joint> between two links, about z if nothing else is said."""
    if "<axis>" not in inside and type not in ("ball", "fixed"):
        inside += "<axis><xyz>0 0 1</xyz></axis>"
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{type}">{ends}{inside}</joint>\n'


def pose_of(text: str) -> str:
    """A <pose>, of six numbers and perhaps `@frame`."""
    if not text:
        return ""
    numbers, _, relative = text.partition("@")
    attribute = f' relative_to="{relative.strip()}"' if relative else ""
    return f"<pose{attribute}>{numbers}</pose>"


def arm(inside: str = "", type: str = "revolute") -> str:
    """A base that stands, and one link on a joint under test."""
    base = link("base") + joint("stand", "world", "base", type="fixed")
    return base + link("tip") + joint("j", "base", "tip", inside, type)


# -- what a machine does, by its own parts ---------------------------------------------


def world_poses(model: pp.Model, q=None) -> dict[str, np.ndarray]:
    """Where every body and frame is, 4 x 4 in the world: joint after joint."""
    q = model.neutral() if q is None else np.asarray(q)
    bodies: list[np.ndarray] = []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        own = q[joint.q]
        if joint.mimic is not None:
            own = joint.mimic.ratio * own + joint.mimic.offset
        move = homogeneous(*joint.kind.transform([float(x) for x in own]))
        base = np.eye(4) if body.parent == WORLD else bodies[body.parent]
        bodies.append(base @ joint.placement.matrix @ move)
    found = {body.name: pose for body, pose in zip(model.bodies, bodies, strict=True)}
    found["world"] = np.eye(4)
    for frame in model.frames:
        base = np.eye(4) if frame.body == WORLD else bodies[frame.body]
        found[frame.name] = base @ frame.placement.matrix
    return found


def anchors(model: pp.Model, q=None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Where both frames of every closure are."""
    poses = world_poses(model, q)
    names = [body.name for body in model.bodies]

    def place(anchor):
        base = np.eye(4) if anchor.body == WORLD else poses[names[anchor.body]]
        return base @ anchor.placement.matrix

    return {each.name: (place(each.first), place(each.second)) for each in model.closures}


def homogeneous(R, l) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = R, l
    return matrix


def spatial_inertia(inertia, pose: np.ndarray) -> np.ndarray:
    """The 6 x 6 inertia of a body at the world's origin, in world axes."""
    R, l = pose[:3, :3], pose[:3, 3]
    return at_origin(inertia.mass, R @ inertia.com + l, R @ np.array(inertia.rotational) @ R.T)


def at_origin(mass: float, com: np.ndarray, moments: np.ndarray) -> np.ndarray:
    arm = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    return np.block([[moments - mass * arm @ arm, mass * arm], [-mass * arm, mass * np.eye(3)]])


# -- what a file means -----------------------------------------------------------------


def turn(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (a, b, c), (x, y, z) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    about_x = np.array([[1, 0, 0], [0, a, -x], [0, x, a]])
    about_y = np.array([[b, 0, y], [0, 1, 0], [-y, 0, b]])
    about_z = np.array([[c, -z, 0], [z, c, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' rotation."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


class Truth:
    """One <model> without inner models: where its links and joints are, and what they weigh."""

    def __init__(self, file: Path):
        root = ElementTree.parse(file).getroot()
        self.version = tuple(int(part) for part in root.get("version").split("."))
        self.model = root.find("model")
        self.links = {each.get("name"): each for each in self.model.findall("link")}
        self.joints = {each.get("name"): each for each in self.model.findall("joint")}
        self.frames = {each.get("name"): each for each in self.model.findall("frame")}

    def raw(self, element) -> tuple[np.ndarray, str]:
        pose = element.find("pose")
        if pose is None or not (pose.text or "").strip():
            return np.eye(4), "" if pose is None else pose.get("relative_to", "")
        x = [float(part) for part in pose.text.split()]
        return homogeneous(turn(*x[3:]), x[:3]), pose.get("relative_to", "")

    def pose(self, name: str) -> np.ndarray:
        """Of a link, frame, joint, the model or the world, in the world."""
        if name == "world":
            return np.eye(4)
        if name == "__model__":
            return self.raw(self.model)[0]
        if name in self.links:
            element, default = self.links[name], "__model__"
        elif name in self.frames:
            element = self.frames[name]
            default = element.get("attached_to", "__model__")
        else:
            element = self.joints[name]
            default = element.find("child").text.strip()
        own, relative = self.raw(element)
        return self.pose(relative or default) @ own

    def body(self, name: str) -> str:
        """The link that a frame is on."""
        while name in self.frames:
            name = self.frames[name].get("attached_to", next(iter(self.links)))
        return name

    def ends(self, joint: str) -> tuple[str, str]:
        element = self.joints[joint]
        return tuple(self.body(element.find(tag).text.strip()) for tag in ("parent", "child"))

    def axis(self, joint: str, tag: str = "axis") -> np.ndarray:
        """In world axes, as the joint stands."""
        axis = self.joints[joint].find(tag)
        xyz = axis.find("xyz")
        vector = np.array([float(part) for part in xyz.text.split()])
        frame = xyz.get("expressed_in", "") or joint
        flag = axis.find("use_parent_model_frame")
        if self.version < (1, 5) or (flag is not None and flag.text.strip() in ("1", "true")):
            frame = "__model__"
        return self.pose(frame)[:3, :3] @ vector

    def inertia(self, link: str) -> np.ndarray:
        """At the world's origin, in world axes."""
        inertial = self.links[link].find("inertial")
        if inertial is None:
            return at_origin(1.0, self.pose(link)[:3, 3], np.eye(3))
        own = self.pose(link) @ self.raw(inertial)[0]
        xx, xy, xz, yy, yz, zz = (
            float(inertial.findtext(f"inertia/{tag}", default))
            for tag, default in zip(
                ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "100101", strict=True
            )
        )
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R = own[:3, :3]
        return at_origin(float(inertial.find("mass").text), own[:3, 3], R @ I @ R.T)

    def moved(self, joint: str, q) -> np.ndarray:
        """The frame that a joint carries, in the joint frame."""
        R = self.pose(joint)[:3, :3]
        axes = [R.T @ self.axis(joint, tag) for tag in ("axis", "axis2") if self._has(joint, tag)]
        match self.joints[joint].get("type"):
            case "revolute" | "continuous":
                return homogeneous(about(axes[0], q[0]), np.zeros(3))
            case "prismatic":
                return homogeneous(np.eye(3), q[0] * axes[0] / np.linalg.norm(axes[0]))
            case "universal" | "revolute2":
                return homogeneous(about(axes[0], q[0]) @ about(axes[1], q[1]), np.zeros(3))
            case "fixed":
                return np.eye(4)
            case "ball":
                return homogeneous(joints.Spherical().transform(list(q))[0], np.zeros(3))
        raise AssertionError(self.joints[joint].get("type"))

    def _has(self, joint: str, tag: str) -> bool:
        return self.joints[joint].find(tag) is not None


def assert_is_the_file(model: pp.Model, file: Path, seed: int = 3) -> None:
    """Masses, poses, every joint's motion and every closure are those of the file."""
    truth = Truth(file)
    neutral = world_poses(model)
    for name in truth.links:
        np.testing.assert_allclose(neutral[name], truth.pose(name), atol=1e-12)
    total = sum(spatial_inertia(each.inertia, neutral[each.name]) for each in model.bodies)
    total = total + spatial_inertia(model.base_inertia, np.eye(4))
    expected = sum(truth.inertia(name) for name in truth.links)
    np.testing.assert_allclose(total, expected, atol=1e-12 * np.abs(expected).max())

    q = model.random(np.random.default_rng(seed))
    poses = world_poses(model, q)
    closing = {each.name: each for each in model.closures}
    own = {each.name: each for each in model.joints}
    for name, element in truth.joints.items():
        at = truth.pose(name)
        parent, child = truth.ends(name)
        if name in closing:
            kind = closing[name].kind
            np.testing.assert_allclose(anchors(model)[name][0], at, atol=1e-12)
            np.testing.assert_allclose(anchors(model)[name][1], at, atol=1e-12)
            assert (closing[name].first.link, closing[name].second.link) == (parent, child)
            assert closing[name].equations == {"ball": 3, "fixed": 6}.get(element.get("type"), 5)
            assert kind.nv == 6 - closing[name].equations
            continue
        if element.get("type") == "gearbox":
            continue
        first = poses[parent] @ np.linalg.inv(truth.pose(parent)) @ at
        second = poses[child] @ np.linalg.inv(truth.pose(child)) @ at
        coordinates = np.zeros(0)
        if name in own:
            coordinates = q[own[name].q]
            if own[name].mimic is not None:
                coordinates = own[name].mimic.ratio * coordinates + own[name].mimic.offset
        moved = np.linalg.inv(first) @ second
        np.testing.assert_allclose(moved, truth.moved(name, coordinates), atol=1e-12)
