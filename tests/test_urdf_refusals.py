"""URDF files that are broken, hostile or huge: each is refused with its line, or loads."""

import os
import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urdf_text import FINGERS, arm, joint, link, read_text

import phipsi as pp
from phipsi.model.files.load import load


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body."""
    return partial(read_text, tmp_path)


# -- refusals --------------------------------------------------------------------------

TIP = '<link name="base"/>\n<link name="tip"/>\n'
ENDS = '<parent link="base"/>\n<child link="tip"/>\n'
HINGE = f'{TIP}<joint name="j" type="revolute">\n{ENDS}'  # parent in line 5, child in 6
MASS = '<link name="a"><inertial>\n'
ZEROS = 'ixy="0" ixz="0" iyz="0"'

REFUSALS = {
    "no links": ("", 1, "<robot> has no <link>"),
    "nameless link": ("<link/>", 2, 'needs a name="..."'),
    "blank name": ('<link name=" "/>', 2, 'needs a name="..."'),
    "two links of one name": (TIP + '<link name="tip"/>', 4, "a second link called 'tip'"),
    "two joints of one name": (
        f'{HINGE}</joint>\n<joint name="j" type="fixed">{ENDS}</joint>',
        8,
        "a second joint called 'j', the first is in line 4",
    ),
    "nameless joint": (f'{TIP}<joint type="fixed">{ENDS}</joint>', 4, 'needs a name="..."'),
    "no type": (f'{TIP}<joint name="j">{ENDS}</joint>', 4, 'needs a type="..."'),
    "unknown type": (
        f'{TIP}<joint name="j" type="revolut">{ENDS}</joint>',
        4,
        "the unknown type 'revolut'; did you mean 'revolute'?",
    ),
    "no parent": (
        f'{TIP}<joint name="j" type="fixed"><child link="tip"/></joint>',
        4,
        "<joint> has no <parent>",
    ),
    "no child": (
        f'{TIP}<joint name="j" type="fixed"><parent link="base"/></joint>',
        4,
        "<joint> has no <child>",
    ),
    "parent without link": (HINGE.replace(' link="base"', "") + "</joint>", 5, 'a link="..."'),
    "unknown parent": (
        HINGE.replace('link="base"', 'link="bse"') + "</joint>",
        5,
        "unknown parent link 'bse'; did you mean 'base'? Valid names: 'base', 'tip'",
    ),
    "unknown child": (
        HINGE.replace('child link="tip"', 'child link="hand"') + "</joint>",
        6,
        "unknown child link 'hand'; valid names: 'base', 'tip'",
    ),
    "two parents": (
        f'{HINGE}</joint>\n<joint name="k" type="fixed">\n{ENDS}</joint>',
        10,
        "link 'tip' has two parents: joint 'k' carries it, and so does joint 'j' of line 4; "
        "URDF itself has no loops: write one of the two as a <joint> of SDF in a <gazebo>, or the "
        "machine as SDF; or leave one out and close the loop by ModelBuilder.add_model and "
        "add_closure",
    ),
    "two roots": (TIP, 3, "2 links have no parent: 'base', 'tip'"),
    "circle": (
        f'{HINGE}</joint><joint name="k" type="fixed"><parent link="tip"/><child link="base"/>'
        "</joint>",
        4,
        "body 'tip': the bodies 'tip' <- 'base' <- 'tip' carry each other in a circle",
    ),
    "circle beside a tree": (
        f'{HINGE}</joint><link name="c"/><joint name="k" type="fixed">'
        '<parent link="c"/><child link="c"/></joint>',
        7,
        "body 'c': the bodies 'c' <- 'c' carry each other in a circle",
    ),
    "axis of length zero": (
        f'{HINGE}<axis xyz="0 0 0"/></joint>',
        7,
        "body 'tip': the axis of a Revolute joint has length zero",
    ),
    "axis of two numbers": (f'{HINGE}<axis xyz="0 1"/></joint>', 7, "expected 3 numbers"),
    "axis without numbers": (f"{HINGE}<axis/></joint>", 7, 'needs a xyz="..."'),
    "two axes": (f"{HINGE}<axis/>\n<axis/></joint>", 8, "a second <axis> in <joint>"),
    "word for a number": (
        f'{HINGE}<origin xyz="0 one 0"/></joint>',
        7,
        '<origin xyz="0 one 0">: expected 3 numbers',
    ),
    "four numbers": (f'{HINGE}<origin rpy="0 0 0 0"/></joint>', 7, "expected 3 numbers"),
    "no numbers": (f'{HINGE}<origin rpy=""/></joint>', 7, 'needs a rpy="..."'),
    "not a number": (f'{HINGE}<origin xyz="0 nan 0"/></joint>', 7, "expected finite numbers"),
    "infinite": (f'{HINGE}<origin xyz="0 -inf 0"/></joint>', 7, "expected finite numbers"),
    "absurd": (f'{HINGE}<origin xyz="0 1e300 0"/></joint>', 7, "of sensible size"),
    "python's numbers": (f'{HINGE}<origin xyz="0 1_0 0"/></joint>', 7, "expected 3 numbers"),
    "lower above upper": (
        f'{HINGE}<limit lower="1" upper="-1"/></joint>',
        7,
        "body 'tip': the limits of the joint are [1.0, -1.0]; lower must not exceed upper",
    ),
    "limit that is no number": (f'{HINGE}<limit effort="nan"/></joint>', 7, "finite numbers"),
    "damping that is no number": (f'{HINGE}<dynamics damping="a"/></joint>', 7, "one number"),
    "negative mass": (
        f'{MASS}<mass value="-2"/><inertia ixx="0" iyy="0" izz="0" {ZEROS}/></inertial></link>',
        2,
        "body 'a': mass is -2 kg; it must not be negative",
    ),
    "no mass": (f"{MASS}</inertial></link>", 2, "<inertial> has no <mass>"),
    "no inertia": (f'{MASS}<mass value="1"/></inertial></link>', 2, "<inertial> has no <inertia>"),
    "half an inertia": (
        f'{MASS}<mass value="1"/>\n<inertia ixx="1" {ZEROS}/></inertial></link>',
        4,
        'needs a iyy="..."',
    ),
    "mimic of nobody": (
        f'{HINGE}<mimic joint="k"/></joint>',
        7,
        "joint 'j' mimics the unknown joint 'k'",
    ),
    "mimic of itself": (
        f'{HINGE}<mimic joint="j"/></joint>',
        7,
        "the joints 'j' <- 'j' mimic each other in a circle",
    ),
    "mimic of a fixed joint": (
        f'{HINGE}<mimic joint="k"/></joint><link name="c"/>\n<joint name="k" type="fixed">'
        '<parent link="tip"/><child link="c"/></joint>',
        7,
        "body 'tip': joint 'j' mimics 'k', which is Fixed; only a joint with one coordinate",
    ),
    "mimic without a joint": (f"{HINGE}<mimic/></joint>", 7, 'needs a joint="..."'),
    "mimic on a floating joint": (
        HINGE.replace("revolute", "floating") + '<mimic joint="j"/></joint>',
        7,
        "body 'tip': joint 'j' is Free; only a joint with one coordinate can follow another",
    ),
    "macro": ('<xacro:include filename="x"/>', 2, "is a xacro macro; expand the file first"),
    "broken tag": ("<link name='a'>\n</lnk>", 3, "broken XML: mismatched tag"),
    "unclosed": ("<link name='a'>", 3, "broken XML: mismatched tag"),
    "attribute twice": ("<link name='a' name='b'/>", 2, "broken XML: duplicate attribute"),
    "undeclared entity": ("<link name='&a;'/>", 2, "broken XML: undefined entity"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_broken_files_are_refused_with_their_line(read, case):
    body, line, message = REFUSALS[case]
    with pytest.raises(pp.ModelError) as caught:
        read(body)
    assert f"trial.urdf:{line}: " in str(caught.value)
    assert message in str(caught.value)


BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n<robot name="&b;"/>'

CONTENTS = {
    "empty": (b"", "trial.urdf:1: the file is empty"),
    "blank": (b" \n ", "trial.urdf:1: the file is empty"),
    "no XML": (b"solid mesh", "trial.urdf:1: this is no XML; expected a URDF, SDF or MJCF file"),
    "YAML": (b"joints:\n  - a\n", "trial.urdf:1: this is no XML; expected a URDF, SDF or MJCF"),
    "JSON": (b' {"robot": "<robot/>"}', "trial.urdf:1: this is JSON, no XML; expected a URDF"),
    "binary": (b"\x7fELF\0\1<robot/>", "trial.urdf:1: this is binary, no XML; expected a URDF"),
    "cut": (b"<robot>\n<link name='a'>", "trial.urdf:2: the file ends before </robot> is closed;"),
    "cut in a tag": (b"<robot>\n<link na", "trial.urdf:2: the file ends before </robot> is closed"),
    "cut in a letter": (b"<robot>\n\xc3", "trial.urdf:2: the file ends before </robot> is closed"),
    "cut at first": (b"<robot na", "trial.urdf:1: the file ends before its first element is comp"),
    "a comment alone": (b"<!-- a -->", "the file ends before its first element is complete; is it"),
    "another root": (
        b"<html/>",
        "trial.urdf:1: the root element is <html>; expected <robot> of URDF, <sdf> of SDF or ",
    ),
    "entities": (BOMB.encode(), "trial.urdf:1: a document type declaration (<!DOCTYPE>) is"),
    "doctype alone": (b"<?xml version='1.0'?>\n<!DOCTYPE robot>\n<robot/>", "trial.urdf:2: a doc"),
    "not UTF-8": (b"<robot>\n<link name='\xe9'/></robot>", "line 2 is not UTF-8"),
    "unknown encoding": (b"<?xml version='1.0' encoding='klingon'?><robot/>", "trial.urdf:1: "),
    "wide encoding": (b"<?xml version='1.0' encoding='shift_jis'?><robot/>", "trial.urdf:1: "),
    "cut UTF-16": ("<robot>".encode("utf-16"), "trial.urdf:1: the file ends before </robot> is cl"),
    "zeros": (b"\0" * 100, "trial.urdf:1: this is binary, no XML; expected a URDF"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_files_that_are_no_urdf_are_refused(tmp_path, case):
    content, message = CONTENTS[case]
    file = tmp_path / "trial.urdf"
    file.write_bytes(content)
    with pytest.raises(pp.ModelError) as caught:
        load(file)
    assert message in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_declared_encodings_are_read(tmp_path, encoding):
    file = tmp_path / "trial.urdf"
    known = "latin-1" if encoding == "latin-1" else encoding[:6].rstrip("-")
    text = f"<?xml version='1.0' encoding='{known}'?><robot name='é'><link name='ü'/></robot>"
    file.write_bytes(text.encode(encoding))
    assert load(file).name == "é"
    assert load(file, base="free").bodies[0].name == "ü"


def test_paths_that_lead_to_no_file_are_refused(tmp_path):
    with pytest.raises(pp.ModelError, match=r"nobody\.urdf: no such file"):
        load(tmp_path / "nobody.urdf")
    with pytest.raises(pp.ModelError, match="this is a directory"):
        load(tmp_path)
    (tmp_path / "file").write_text("<robot/>")
    with pytest.raises(pp.ModelError, match="cannot be read: Not a directory"):
        load(os.fspath(tmp_path / "file" / "trial.urdf"))


@pytest.mark.parametrize("path", [None, 3, ["a.urdf"], "<robot/>", "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(pp.InputError, match="expected the path of a file"):
        load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "floating"}, r"base is 'floating'; did you mean 'free'\? Valid names: 'fixed'"),
        ({"base": 3}, "base is 3; valid names: 'fixed', 'free'"),
        ({"mimic": "enforced"}, "mimic is 'enforced'; did you mean 'enforce'?"),
    ],
)
def test_wrong_options_are_refused_before_the_file_is_read(options, message):
    with pytest.raises(pp.InputError, match=message):
        load("nobody.urdf", **options)


# -- size and hostility ----------------------------------------------------------------


def chain(n: int) -> str:
    """n links in one line, tips first in the file, so that no order helps the reader."""
    body = "".join(link(f"l{k}") for k in reversed(range(n)))
    return body + "".join(joint(f"j{k}", f"l{k - 1}", f"l{k}") for k in reversed(range(1, n)))


def test_long_chains_load_without_recursion(read):
    n = 2 * sys.getrecursionlimit()
    model = read(chain(n))
    assert model.tree.depth[-1] == n - 1


def test_work_grows_in_proportion_to_the_file(read):
    """Counted in function calls, which no other process disturbs."""

    def calls(n: int) -> int:
        count = 0

        def tick(*_):
            nonlocal count
            count += 1

        body = chain(n)
        sys.setprofile(tick)
        try:
            read(body)
        finally:
            sys.setprofile(None)
        return count

    small, large = calls(50), calls(400)
    assert large < 8.5 * small


def test_deeply_nested_elements_load(read):
    depth = 50_000
    model = read(arm() + "<gazebo>" + "<a>" * depth + "</a>" * depth + "</gazebo>")
    assert len(model.bodies) == 1


SAMPLE = f'<robot name="trial">\n{FINGERS}</robot>'.encode()


@given(
    start=st.integers(0, len(SAMPLE)),
    length=st.integers(0, 30),
    patch=st.one_of(
        st.binary(max_size=4),
        st.sampled_from([b'"', b">", b"-1", b"1e999", b"<link name='x'/>", b"joint", b"fixed"]),
    ),
)
def test_damaged_files_give_a_model_or_a_model_error(tmp_path_factory, start, length, patch):
    file = tmp_path_factory.getbasetemp() / "damaged.urdf"
    file.write_bytes(SAMPLE[:start] + patch + SAMPLE[start + length :])
    try:
        assert isinstance(load(file), pp.Model)
    except pp.ModelError as error:
        assert "damaged.urdf:" in str(error)
