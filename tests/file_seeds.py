"""Small files, one in each format, that have some of everything."""

URDF = b"""<?xml version="1.0"?>
<robot name="seed" xmlns:drake="http://drake.mit.edu">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual name="box"><geometry><box size="0.2 0.2 0.2"/></geometry><material name="red"/></visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial>
      <mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0.01" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><mesh filename="package://seed/arm.stl" scale="1 1 1"/></geometry></visual>
  </link>
  <link name="hand">
    <inertial>
      <mass value="0.5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 1" rpy="0 0.5 0"/>
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="wrist" type="prismatic">
    <parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1"/><mimic joint="shoulder" multiplier="0.1" offset="0.05"/>
  </joint>
  <joint name="mount" type="fixed"><parent link="hand"/><child link="tool"/></joint>
  <transmission name="gear">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="shoulder"/>
    <actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator>
  </transmission>
  <gazebo reference="arm"><mu1>0.5</mu1></gazebo>
</robot>
"""

SDF = b"""<?xml version="1.0"?>
<sdf version="1.9">
  <model name="seed" canonical_link="base">
    <pose>0 0 1 0 0 0.5</pose>
    <frame name="mount" attached_to="base"><pose>0.1 0 0 0 0 0</pose></frame>
    <link name="base">
      <inertial>
        <mass>2</mass><pose>0 0 0.1 0 0 0</pose>
        <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz><ixy>0</ixy></inertia>
      </inertial>
      <visual name="v"><geometry><box><size>0.2 0.2 0.2</size></box></geometry></visual>
      <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>
    </link>
    <link name="arm"><pose relative_to="mount">0 0 1 0 0.5 0</pose></link>
    <link name="rod"><pose relative_to="arm">1 0 0 0 0 0</pose></link>
    <joint name="shoulder" type="revolute">
      <parent>base</parent><child>arm</child>
      <axis>
        <xyz expressed_in="__model__">0 1 0</xyz>
        <limit><lower>-1</lower><upper>1</upper><effort>10</effort></limit>
        <dynamics><damping>0.1</damping><spring_stiffness>5</spring_stiffness></dynamics>
      </axis>
    </joint>
    <joint name="ball" type="ball"><parent>arm</parent><child>rod</child></joint>
    <joint name="loop" type="universal">
      <pose>0.1 0 0 0 0 0</pose>
      <parent>base</parent><child>rod</child>
      <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>
    </joint>
    <model name="inner">
      <link name="tip"/>
      <joint name="screw" type="screw">
        <parent>tip</parent><child>nut</child>
        <axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.01</screw_thread_pitch>
      </joint>
      <link name="nut"/>
    </model>
    <joint name="hold" type="fixed"><parent>rod</parent><child>inner::tip</child></joint>
    <plugin name="p" filename="libp.so"><a>1</a></plugin>
  </model>
</sdf>
"""

MJCF = b"""<mujoco model="seed">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.8" timestep="0.002"/>
  <default>
    <joint damping="0.1"/><geom density="500"/>
    <default class="heavy"><geom density="2000"/></default>
  </default>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 0.1"/>
    <body name="torso" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="capsule" size="0.1" fromto="0 0 0 0 0 0.3"/>
      <site name="imu" pos="0 0 0.1"/>
      <body name="leg" pos="0 0.1 0" quat="1 0 0 0.1">
        <joint name="hip_x" axis="1 0 0" pos="0 0 0.05" range="-1 1" limited="true"/>
        <joint name="hip_y" axis="0 1 0" armature="0.01" stiffness="2" springref="0.1"/>
        <geom class="heavy" type="box" size="0.05 0.05 0.1"/>
        <body name="foot" pos="0 0 -0.2">
          <joint name="ankle" type="ball"/>
          <inertial pos="0 0 0" mass="0.3" diaginertia="0.01 0.01 0.01"/>
        </body>
      </body>
      <body name="slider"><joint name="slide" type="slide" axis="0 0 1"/><geom size="0.05"/></body>
    </body>
  </worldbody>
  <equality>
    <connect body1="foot" body2="slider" anchor="0 0 0"/>
    <weld body1="torso" body2="slider" active="false"/>
    <joint joint1="hip_x" joint2="hip_y" polycoef="0 0.5 0 0 0"/>
  </equality>
  <actuator><motor joint="hip_y" gear="10"/></actuator>
  <keyframe><key name="home" qpos="0 0 1 1 0 0 0 0 0 1 0 0 0 0"/></keyframe>
</mujoco>
"""

SEEDS = {".urdf": [URDF], ".sdf": [SDF], ".xml": [MJCF]}
