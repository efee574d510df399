"""MJCF texts for tests, and a tetrahedron in a file."""

SEED = """<mujoco model="seed">
  <compiler angle="radian" meshdir="meshes" texturedir="nowhere"/>
  <option gravity="0 0 -3.7" timestep="0.01"/>
  <size memory="1M"/>
  <visual><global fovy="60"/></visual>
  <default>
    <joint damping="0.5" armature="0.01"/>
    <default class="soft"><joint stiffness="8" springref="0.25"/><geom rgba="1 0 0 1"/></default>
  </default>
  <asset>
    <texture name="wood" type="2d" file="missing.png"/>
    <material name="wood" texture="wood" rgba="0.5 0.3 0.1 1"/>
    <mesh name="hull" file="missing.stl" scale="2 2 2"/>
    <hfield name="hills" file="missing.bin" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="ground" type="hfield" hfield="hills"/>
    <body name="arm" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-1 2" actuatorfrcrange="-30 30"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.2 0.25"/>
      <geom name="shell" type="mesh" mesh="hull" pos="0 0 0.5" material="wood"/>
      <site name="tip" pos="0.3 0 0"/>
      <camera name="eye" pos="0 0 0.2"/>
      <body name="hand" pos="0.5 0 0" childclass="soft">
        <joint name="wrist" axis="0 0 1" pos="0.05 0 0" frictionloss="0.3"/>
        <geom name="palm" type="box" size="0.1 0.2 0.3" density="100"/>
      </body>
      <body name="finger" pos="0 0.5 0">
        <joint name="curl" axis="1 0 0"/>
        <geom type="sphere" size="0.1" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="arm" body2="hand"/></contact>
  <equality><joint name="together" joint1="curl" joint2="wrist" polycoef="0.1 2 0 0 0"/></equality>
  <tendon><fixed name="string"><joint joint="wrist" coef="1"/></fixed></tendon>
  <actuator><motor name="motor" joint="shoulder"/></actuator>
  <sensor><jointpos joint="shoulder"/></sensor>
  <keyframe><key name="home" qpos="0.5 0.2 0.5"/></keyframe>
</mujoco>
"""

TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def machine(body: str, before: str = "", after: str = "") -> str:
    """A file with this in its <worldbody>, and that around it."""
    return f"<mujoco>\n{before}\n<worldbody>\n{body}\n</worldbody>\n{after}\n</mujoco>"


def ball(inside: str = "<joint/>", name: str = "ball") -> str:
    """A body of one geom."""
    return f'<body name="{name}">{inside}<geom size="0.1"/></body>'
