"""Whether answers are right: by the laws of mechanics, and beside whoever reads the same file.

comparison.py   two answers, how far they are apart, and where
laws.py         what must hold of our answers, whoever else is there
gaps.py         how far the loops of a machine are from closed
shapes.py       whether masses fit the shapes of bodies
beside.py       a peer's answers beside ours, in our coordinates
pinocchio.py    Pinocchio's answers
mujoco.py       MuJoCo's answers
bare_urdf.py    a URDF file without what MuJoCo may stumble over
opinions.py     which peers there are, and what each says about a file
findings.py     all that was found, in words and as JSON
"""
