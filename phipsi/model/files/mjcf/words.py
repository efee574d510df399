"""The words of MJCF, and what becomes of them.

What motion needs goes to MuJoCo, which checks its attributes; what it does
not need is left out, and so is what no machine here can honour. A word that is
in none of these lists is an error, as it is for MuJoCo.
"""

from __future__ import annotations

_LOOKS = "it concerns looks alone"
_CONTACT = "contacts are not simulated"
_MOTOR = "forces of motors are given by whoever simulates"
_PLUGIN = "what a plugin computes is not known here"
_FLEX = "bodies that bend are not supported"

# In an element of that tag: the tags that go to MuJoCo; None for any.
PASSED: dict[str, tuple[str, ...] | None] = {
    "mujoco": (
        *("compiler", "option", "default", "asset", "worldbody"),
        *("equality", "tendon", "actuator", "keyframe"),
    ),
    "compiler": (),
    "option": ("flag",),
    "default": None,
    "asset": ("mesh", "material", "hfield", "model"),
    "worldbody": ("body", "frame", "replicate", "attach", "geom", "site", "camera"),
    "body": (
        *("inertial", "joint", "freejoint", "body", "frame", "replicate", "attach"),
        *("geom", "site", "camera"),
    ),
    "equality": ("connect", "weld", "joint"),
    "tendon": None,
    "actuator": None,
    "keyframe": ("key",),
}
PARTS_OF_BODIES = PASSED["body"] or ()
PASSED["frame"] = PASSED["replicate"] = PASSED["body"]

# What goes to MuJoCo, moves nothing, and is there to be used: what it becomes.
KEPT: dict[str, dict[str, str]] = {
    "asset": {"material": "for viewing"},
    "body": {"geom": "for viewing", "site": "a frame", "camera": "a frame"},
    "keyframe": {"key": "a state"},
}

# What bears coordinates, so that states of a file do not fit the machine without it.
MOVING = ("flexcomp", "composite")

# What motion does not need, and why.
IGNORED: dict[str, dict[str, str]] = {
    "mujoco": {
        "size": "room that MuJoCo reserves",
        "statistic": _LOOKS,
        "visual": _LOOKS,
        "custom": "data for other programs",
        "sensor": "it moves nothing",
        "contact": _CONTACT,
    },
    "compiler": {"lengthrange": _MOTOR},
    "default": {
        "texture": _LOOKS,
        "light": _LOOKS,
        "pair": _CONTACT,
    },
    "asset": {"texture": _LOOKS, "skin": _LOOKS},
    "material": {"layer": _LOOKS},
    "body": {"light": _LOOKS},
}

# What moves the machine and cannot be honoured, and why.
REFUSED: dict[str, dict[str, str]] = {
    "mujoco": {"extension": _PLUGIN, "deformable": _FLEX},
    "mesh": {"plugin": _PLUGIN},
    "geom": {"plugin": _PLUGIN},
    "body": {"plugin": _PLUGIN, "flexcomp": _FLEX, "composite": _FLEX},
    "equality": {
        "tendon": "tendons are not supported",
        "flex": _FLEX,
        "flexvert": _FLEX,
        "flexstrain": _FLEX,
    },
    "actuator": {"plugin": _PLUGIN},
}
for _words in (KEPT, IGNORED, REFUSED):
    for _tag in ("worldbody", "frame", "replicate"):
        _words[_tag] = _words["body"]

# Attributes that MuJoCo does not get: names of files, room for users, looks, ways to save.
DROPPED: dict[str, tuple[str, ...]] = {
    "compiler": (
        *("meshdir", "texturedir", "assetdir", "strippath", "passthrough", "usethread"),
        *("discardvisual", "fusestatic", "savecanonical", "savecompiled", "saveinertial"),
    ),
    "mesh": ("file", "content_type"),
    "model": ("file", "content_type"),
    "material": ("texture", "texrepeat", "texuniform"),
    "hfield": ("file", "content_type", "elevation", "nrow", "ncol"),
    "key": ("time", "mpos", "mquat", "act", "ctrl", "plastic"),
}
DROPPED_ANYWHERE = ("user",)

# Attributes that are words: their numbers, if they have any, are parts of names.
WORDS = frozenset(
    (
        *("name", "class", "childclass", "model", "prefix", "mesh", "hfield", "material"),
        *("texture", "target", "type", "body", "body1", "body2", "site", "site1", "site2"),
        *("joint", "joint1", "joint2", "jointinparent", "tendon", "tendon1", "tendon2", "geom"),
        *("geom1", "geom2", "sidesite", "cranksite", "slidersite", "refsite", "frame", "sep"),
        *("file", "content_type", "builtin", "group"),
    )
)

# Attributes that may be infinite: no limit.
LIMITS = frozenset(
    (
        *("range", "ctrlrange", "forcerange", "actrange", "actuatorfrcrange", "lengthrange"),
        *("velrange", "ffrange", "posrange", "springlength", "slewmax", "imax", "saturation"),
    )
)
