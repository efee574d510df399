"""`load`: a machine from a file, whatever it is written in."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

from numpy.typing import ArrayLike

from phipsi.model.files.packages import Directories, check_directories
from phipsi.model.files.reading import Reading
from phipsi.model.files.xmlfile import Element, read_xml
from phipsi.model.inertia import vector3
from phipsi.model.model import Model
from phipsi.model.plausibility import with_plausibility

# By the root element of a file: the module whose `read` knows it.
READERS = {"robot": "urdf.read", "sdf": "sdf.read", "mujoco": "mjcf.read"}


def load(
    path: str | os.PathLike[str],
    base: str | None = None,
    mimic: str = "enforce",
    strict: bool = False,
    gravity: ArrayLike | None = None,
    packages: Directories = (),
) -> Model:
    """Read a machine from a URDF, SDF or MJCF file.

    Every link is a body; links on fixed joints are merged into the body they
    are welded to and live on as `model.frames`. Coordinates follow the joints
    depth-first in file order. A joint that closes a loop is an entry of
    `model.closures`: in SDF one whose child already has a parent, in URDF one of
    SDF in a <gazebo>, in MJCF an equality. `model.report` tells of every element
    of the file what became of it.

    What the links look like is kept in `model.visuals` and `model.collisions`.
    A mesh is named `package://robot/arm.stl`, `file:///...` or by a path from
    the file; its file is only read when the machine is looked at, and only from
    the directories of `packages` and of ROS, and from the package or checkout
    that holds the file, or else the directory above it. Unless strict, no file
    is refused for its looks: what cannot be drawn is left out, and reported.

    Args:
        path: of the file. What it is written in, its root element tells.
        base: "fixed" welds the root link to the world; its mass still counts in
            `model.mass`. "free" hangs it on a free joint called "root". By default
            it is as the file says: in SDF free unless it is fixed to the world, in MJCF
            as its joints are, and in URDF, which says nothing, fixed.
        mimic: "enforce" makes mimic joints follow,
            `q = multiplier q_source + offset`, without coordinates of their own;
            "independent" frees them.
        strict: refuse what no machine can have and what cannot be honoured. By
            default the file's numbers are kept and `model.report` lists them.
        gravity: the acceleration that every free mass has, m/s^2; by default the
            file's, or (0, 0, -9.81) where it tells none.
        packages: directories that hold the packages of `package://` names, or are
            those packages. ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the directories
            above the file are searched after them.

    Returns:
        The model.

    Raises:
        ModelError: the file cannot be read or describes no machine; the message
            begins with file and line.
        InputError: a wrong argument.

    >>> import pathlib, tempfile
    >>> text = '''
    ... <robot name="pendulum">
    ...   <link name="stand"/>
    ...   <link name="rod">
    ...     <inertial>
    ...       <origin xyz="0 0 -0.5"/> <mass value="2"/>
    ...       <inertia ixx="0.2" iyy="0.2" izz="0" ixy="0" ixz="0" iyz="0"/>
    ...     </inertial>
    ...   </link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="stand"/> <child link="rod"/> <axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pendulum.urdf")
    ...     _ = file.write_text(text)
    ...     load(file), load(file, base="free")
    (<Model 'pendulum': 1 body, nq = 1, nv = 1, 2 kg>,
     <Model 'pendulum': 2 bodies, nq = 8, nv = 7, 2 kg, 1 remark in .report>)
    """
    how = Reading(
        base,
        mimic,
        strict,
        None if gravity is None else vector3("load: gravity", gravity),
        check_directories(packages),
    )
    root = read_xml(path)
    return with_plausibility(_reader(root)(root, how), strict)


def _reader(root: Element) -> Callable[[Element, Reading], Model]:
    """The function that knows the root element of a file."""
    if root.tag == "mujocoinclude":
        raise root.error("<mujocoinclude> is a part for <include>; load the file that includes it")
    if root.tag not in READERS:
        raise root.error(
            f"the root element is <{root.tag}>; expected <robot> of URDF, <sdf> of SDF or "
            "<mujoco> of MJCF"
        )
    root.status = "used"
    return import_module(f"phipsi.model.files.{READERS[root.tag]}").read
