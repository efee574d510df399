"""Plugins of Gazebo in URDF files that let joints follow others.

Old versions of Gazebo did not honour <mimic>, so files tell a plugin the same: that <mimicJoint>
follows <joint>, by <multiplier> and <offset>. Where both agree, nothing is lost without it.
"""

from __future__ import annotations

from collections.abc import Mapping

from phipsi.model.files.xmlfile import Element

_NOT_RUN = "a plugin lets joints follow others, and none is run; "


def couples(plugin: Element) -> bool:
    """Whether a plugin makes joints follow others, as its names tell."""
    names = (plugin.attributes.get(name, "") for name in ("filename", "name"))
    return any("mimic" in name.lower() for name in names)


def loss_of(plugin: Element, joints: Mapping[str, Element]) -> str | None:
    """What a machine is without for want of such a plugin; None if each <mimic> tells the same."""
    followers = _told(plugin, "mimicJoint")
    if not followers:
        return f"{_NOT_RUN}give them a <mimic>"
    sources, multipliers, offsets = (
        _told(plugin, tag) for tag in ("joint", "multiplier", "offset")
    )
    for k, name in enumerate(followers):
        mimic = _mimic_of(joints.get(name))
        if mimic is None:
            return f"{_NOT_RUN}give {name!r} a <mimic>"
        own = mimic.attributes
        same = (
            _at(sources, k, own.get("joint", "")) == own.get("joint", "").strip()
            and _number(_at(multipliers, k, "1")) == _number(own.get("multiplier", "1"))
            and _number(_at(offsets, k, "0")) == _number(own.get("offset", "0"))
        )
        if not same:
            return f"{_NOT_RUN}{name!r} follows otherwise by its <mimic>, in line {mimic.line}"
    return None


def _mimic_of(joint: Element | None) -> Element | None:
    children = () if joint is None else joint.children
    return next((child for child in children if child.tag == "mimic"), None)


def _told(plugin: Element, tag: str) -> list[str]:
    """The texts of all children of that tag."""
    return [child.content.strip() for child in plugin.children if child.tag == tag]


def _at(texts: list[str], index: int, default: str) -> str:
    return texts[index] if index < len(texts) else default.strip()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
