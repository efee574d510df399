"""MJCF files of packages that can be installed, found without importing those packages."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_SUITE = "dm_control/suite"
_WALKERS = "dm_control/locomotion/walkers/assets"
_GYM = "gymnasium/envs/mujoco/assets"
_ROBOTICS = "gymnasium_robotics/envs/assets"

# By name: the distribution, and the file in it.
FILES = {
    "acrobot": ("dm-control", f"{_SUITE}/acrobot.xml"),
    "ball_in_cup": ("dm-control", f"{_SUITE}/ball_in_cup.xml"),
    "cartpole": ("dm-control", f"{_SUITE}/cartpole.xml"),
    "cheetah": ("dm-control", f"{_SUITE}/cheetah.xml"),
    "dog": ("dm-control", f"{_SUITE}/dog.xml"),
    "finger": ("dm-control", f"{_SUITE}/finger.xml"),
    "fish": ("dm-control", f"{_SUITE}/fish.xml"),
    "hopper": ("dm-control", f"{_SUITE}/hopper.xml"),
    "humanoid": ("dm-control", f"{_SUITE}/humanoid.xml"),
    "humanoid_CMU": ("dm-control", f"{_SUITE}/humanoid_CMU.xml"),
    "manipulator": ("dm-control", f"{_SUITE}/manipulator.xml"),
    "quadruped": ("dm-control", f"{_SUITE}/quadruped.xml"),
    "stacker": ("dm-control", f"{_SUITE}/stacker.xml"),
    "swimmer": ("dm-control", f"{_SUITE}/swimmer.xml"),
    "walker": ("dm-control", f"{_SUITE}/walker.xml"),
    "rodent": ("dm-control", f"{_WALKERS}/rodent.xml"),
    "fruitfly": ("dm-control", f"{_WALKERS}/fruitfly_v2/fruitfly.xml"),
    "jaco_arm": ("dm-control", "dm_control/third_party/kinova/jaco_arm.xml"),
    "ball_joints": (
        "dm-control",
        "dm_control/mujoco/testing/assets/model_with_ball_joints.xml",
    ),
    "ant": ("gymnasium", f"{_GYM}/ant.xml"),
    "half_cheetah": ("gymnasium", f"{_GYM}/half_cheetah.xml"),
    "pusher": ("gymnasium", f"{_GYM}/pusher_v5.xml"),
    "reacher": ("gymnasium", f"{_GYM}/reacher.xml"),
    "walker2d": ("gymnasium", f"{_GYM}/walker2d_v5.xml"),
    "adroit_hammer": ("gymnasium-robotics", f"{_ROBOTICS}/adroit_hand/adroit_hammer.xml"),
    "fetch": ("gymnasium-robotics", f"{_ROBOTICS}/fetch/pick_and_place.xml"),
    "hand": ("gymnasium-robotics", f"{_ROBOTICS}/hand/manipulate_egg.xml"),
    "kitchen": (
        "gymnasium-robotics",
        f"{_ROBOTICS}/kitchen_franka/kitchen_assets/kitchen_env_model.xml",
    ),
    "mujoco_testdata": ("mujoco", "mujoco/testdata/model.xml"),
}


def path_of(name: str) -> Path | None:
    """The file of a machine; None if its package is not installed."""
    package, inside = FILES[name]
    try:
        path = Path(str(distribution(package).locate_file(inside)))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


INSTALLED = tuple(name for name in FILES if path_of(name) is not None)
