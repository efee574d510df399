"""Placements written out for speed are those of `spatial`, to the last bit."""

import math

from hypothesis import given
from hypothesis import strategies as st

from phipsi import spatial
from phipsi.model.files.urdf.origin import read_origin
from phipsi.model.files.xmlfile import parse_xml
from phipsi.model.inertia import HERE, Inertia, Placement, product3

ANGLES = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, 1.5707, 1e-9]),
    st.floats(-7.0, 7.0),
)
NUMBERS = st.floats(-10.0, 10.0)
ROWS = st.tuples(*[st.tuples(NUMBERS, NUMBERS, NUMBERS)] * 3)


def lists(rows):
    return [list(row) for row in rows]


@given(rpy=st.tuples(ANGLES, ANGLES, ANGLES), xyz=st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_origin_turns_as_roll_pitch_and_yaw_do(rpy, xyz):
    written = [" ".join(map(repr, each)) for each in (xyz, rpy)]
    text = '<origin xyz="{}" rpy="{}"/>'.format(*written)
    found = read_origin(parse_xml("a.urdf", text.encode()))
    assert lists(found.rotation) == spatial.rotation_from_rpy(rpy)
    assert found.position == xyz


def test_origin_that_moves_nothing_is_here():
    assert read_origin(None) is HERE
    assert read_origin(parse_xml("a.urdf", b'<origin rpy="0 0 -0"/>')) is HERE


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
