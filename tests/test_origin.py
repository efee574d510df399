"""Placements written out for speed are those of `spatial`, to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phipsi import spatial
from phipsi.errors import ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.urdf.origin import Origins
from phipsi.model.files.xmlfile import parse_xml
from phipsi.model.inertia import HERE, Inertia, Placement, product3

ANGLES = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, 1.5707, 1e-9]),
    st.floats(-7.0, 7.0),
)
NUMBERS = st.floats(-10.0, 10.0)
ROWS = st.tuples(*[st.tuples(NUMBERS, NUMBERS, NUMBERS)] * 3)


def origin(text: str, version: str | None = None) -> Placement:
    """Of an <origin> in a file of that version."""
    robot = "<robot/>" if version is None else f'<robot version="{version}"/>'
    origins = Origins(parse_xml("a.urdf", robot.encode()), Notes())
    return origins.read(parse_xml("a.urdf", text.encode()))


def lists(rows):
    return [list(row) for row in rows]


@given(rpy=st.tuples(ANGLES, ANGLES, ANGLES), xyz=st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_origin_turns_as_roll_pitch_and_yaw_do(rpy, xyz):
    written = [" ".join(map(repr, each)) for each in (xyz, rpy)]
    text = '<origin xyz="{}" rpy="{}"/>'.format(*written)
    found = origin(text)
    assert lists(found.rotation) == spatial.rotation_from_rpy(rpy)
    assert found.position == xyz


def test_origin_that_moves_nothing_is_here():
    assert Origins(parse_xml("a.urdf", b"<robot/>"), Notes()).read(None) is HERE
    assert origin('<origin rpy="0 0 -0"/>') is HERE


QUATERNION = '<origin xyz="1 2 3" quat_xyzw="0 0 2 2"/>'  # a quarter turn about z


@pytest.mark.parametrize("version", ["1.1", "1.2", " 1.1 ", "1.3", "2.0", "x"])
def test_quaternions_count_from_version_1_1_on(version):
    found = origin(QUATERNION, version)
    assert found.position == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(found.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize("version", [None, "1", "1.0"])
def test_quaternions_mean_nothing_before(version):
    assert origin(QUATERNION, version) == Placement(position=(1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "<origin> has both rpy and quat_xyzw; remove one of"),
        ('quat_xyzw="0 0 0 0"', "the quat_xyzw of <origin> has length zero; give x y z w"),
        ('quat_xyzw="0 0 1"', '<origin quat_xyzw="0 0 1">: expected 4 numbers'),
    ],
)
def test_quaternion_that_is_none_is_refused_with_its_line(text, said):
    with pytest.raises(ModelError) as caught:
        origin(f"<origin {text}/>", "1.1")
    assert str(caught.value).startswith(f"a.urdf:1: {said}")


def test_version_that_nobody_knows_is_told():
    told = {}
    for version in ("1", "1.0", "1.1", "1.2", "1.9", "one"):
        notes = Notes()
        Origins(parse_xml("a.urdf", f'<robot version="{version}"/>'.encode()), notes)
        told[version] = [str(line) for line in notes.lines]
    said = "a.urdf:1: the version {!r} of URDF is unknown; the file is read like 1.2"
    assert told == {
        version: [said.format(version)] if version in ("1.9", "one") else [] for version in told
    }


@given(A=ROWS, B=ROWS)
def test_product_is_that_of_spatial(A, B):
    assert lists(product3(A, B)) == spatial.compose(A, B)


@given(rpy=st.tuples(ANGLES, ANGLES, ANGLES), l=ROWS, I=ROWS)
def test_moved_inertia_is_turned_and_carried(rpy, l, I):
    """`R I R*`, its symmetric part, and the mass centre `R c + l`."""
    first, second, third = (tuple(row) for row in spatial.rotation_from_rpy(rpy))
    R, position = (first, second, third), l[0]
    moved = Inertia(2.0, l[1], I).moved(Placement(R, position))
    turned = spatial.compose(spatial.compose(R, I), spatial.transpose(R))
    expected = [[0.5 * (turned[i][j] + turned[j][i]) for j in range(3)] for i in range(3)]
    for i in range(3):
        expected[i][i] = turned[i][i]
    assert lists(moved.rotational) == expected
    assert list(moved.com) == spatial.add(position, spatial.apply(R, l[1]))
