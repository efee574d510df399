"""The layout of a peer's model that ours was not made from."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from phipsi.errors import InputError, name_choices
from phipsi.model.model import Model
from phipsi.model.peers.layout import Layout

PACKAGES = {"pinocchio": "pinocchio.Model", "mujoco": "mujoco.MjModel"}


def match_layout(model: Model, package: str, peer: Any, *, axes: bool = False) -> Layout:
    """Which numbers of a peer's model are which of ours, the joints matched by name.

    Args:
        model: ours.
        package: "pinocchio" or "mujoco".
        peer: its model.
        axes: refuse joints that move along other axes there, or count from elsewhere;
            without, numbers are matched that may not mean the same, to find out.
    """
    if not isinstance(package, str) or package not in PACKAGES:
        raise InputError(f"unknown package {package!r}; {name_choices(str(package), PACKAGES)}")
    if peer is None:
        raise InputError(
            f"{model.name!r} was not made by pp.from_{package}; "
            f"give the {PACKAGES[package]} of the same joints, peer=..."
        )
    module = import_module(f"phipsi.model.peers.{package}.machine")
    found: Layout = getattr(module, f"layout_of_{package}")(model, peer, axes=axes)
    return found
