"""`phipsi check` in tests: what it tells, and a machine of MJCF."""

import json

from commands import call

QUANTITIES = [
    *("inertias of bodies", "poses of links", "mass matrix"),
    *("bias force", "inverse dynamics", "forward dynamics"),
]

PENDULUM = """
<mujoco model="pendulum">
  <compiler angle="radian"/>
  <option gravity="0 0 -3"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="sphere" size="0.1"/>
    </body>
    <body name="upper" pos="0 0 2">
      <joint name="swing" type="hinge" axis="0 1 0" damping="3" stiffness="5" armature="0.2"/>
      <joint name="sway" type="hinge" axis="1 0 0" pos="0 0 0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -1"/>
      <body name="lower" pos="0 0 -1" euler="0.3 0 0.2">
        <joint name="ball joint" type="ball"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 -0.3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def checked(capsys, *words):
    """The exit code, and what the command tells as JSON."""
    code, out, err = call(capsys, "check", *words, "--json")
    assert err == ""
    return code, json.loads(out)


def peer_of(told, name):
    return next(peer for peer in told["peers"] if peer["name"] == name)


def verdicts(peer):
    return {found["quantity"]: found["verdict"] for found in peer["comparisons"]}
