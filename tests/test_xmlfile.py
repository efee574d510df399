"""XML files as elements: their text, their lines, and what is too much of them."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phipsi as pp
from phipsi.model.files import xmlfile, xmlparser
from phipsi.model.files.xmlfile import parse_xml, read_xml


def parse(text: str) -> xmlfile.Element:
    return parse_xml("a.xml", text.encode())


def test_text_of_an_element_is_its_own_without_comments_and_children():
    root = parse("<sdf>\n<pose>1 2<!-- 3 --> 4</pose> 5 <b>6</b>&lt;<![CDATA[7]]></sdf>")
    assert root.need("pose").values(3) == (1.0, 2.0, 4.0)
    assert root.content.split() == ["5", "<7"]
    assert root.need("b").value() == 6.0


def test_text_of_a_robot_is_read_where_it_is_meant():
    """The rest of it is white space between elements."""
    text = (
        "<robot>x<transmission>y<type>a&amp;b</type>z<type>c<!-- -->d</type></transmission></robot>"
    )
    (transmission,) = parse(text).all("transmission")
    assert [each.content for each in transmission.all("type")] == ["a&b", "cd"]
    assert transmission.content == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<sdf><a> </a></sdf>", "<a> is empty; write <a>...</a>"),
        ("<sdf><a>1 2</a></sdf>", "<a>1 2</a>: expected one number"),
        ("<sdf><a>x</a></sdf>", "<a>x</a>: expected one number"),
        (
            "<sdf><a>${m}</a></sdf>",
            "<a>${m}</a>: expected one number; it is for xacro: expand the file first: xacro "
            "robot.xacro > robot.urdf",
        ),
        ("<sdf><a>١</a></sdf>", "<a>١</a>: expected one number"),
        ("<sdf><a>1e200</a></sdf>", "<a>1e200</a>: expected finite numbers of sensible size"),
    ],
)
def test_text_that_is_no_number_is_refused(text, said):
    with pytest.raises(pp.ModelError) as caught:
        parse(text).need("a").value()
    assert str(caught.value) == f"a.xml:1: {said}"


def test_one_number_may_be_as_large_as_the_reader_allows():
    assert parse("<sdf><a>inf</a></sdf>").need("a").value(finite=False) == float("inf")


def test_long_text_in_many_pieces_takes_no_longer_than_its_length():
    """Each piece is kept by itself, and all are joined once: nothing is copied again and again."""
    pieces = 20_000
    root = parse(f"<sdf>{'x<b/>' * pieces}</sdf>")
    assert root.content == "x" * pieces
    assert len(root._text) == pieces


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a device of Unix")
def test_devices_are_refused():
    with pytest.raises(pp.ModelError, match="/dev/zero: this is a device; give a file"):
        read_xml("/dev/zero")


def test_files_larger_than_any_machine_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "large.urdf"
    file.write_text("<robot/>" + " " * 2**20)
    monkeypatch.setattr(xmlfile, "MOST_BYTES", 2**20)
    with pytest.raises(pp.ModelError, match=r"large\.urdf: larger than 1 MiB, which no machine"):
        read_xml(file)
    monkeypatch.setattr(xmlfile, "MOST_BYTES", 2**21)
    assert read_xml(file).tag == "robot"


def test_parts_are_one_of_each_tag():
    root = parse("<robot><a/>\n<b/><c/><a/></robot>")
    assert list(root.parts(frozenset("bc"))) == ["b", "c"]
    with pytest.raises(pp.ModelError, match=r"a\.xml:2: a second <a> in <robot>, the first is in"):
        root.parts(frozenset("a"))


# -- what is made when somebody asks ---------------------------------------------------


def outline(element: xmlfile.Element) -> list:
    """Tags, attributes, lines, all the way down."""
    inside = [outline(child) for child in element.children]
    return [element.tag, element.attributes, element.line, inside]


PUT_OFF = {
    "several lines": "<visual\nname='a'>\n<geometry>\n<box size='1 1 1'/></geometry>\n</visual>",
    "empty": "<visual/><visual name='a>b'/><visual name='a>b'></visual>",
    "comment": "<visual><!-- <visual> --><a/></visual>",
    "data": "<visual><![CDATA[</visual>]]><a/></visual\n>",
    "empty in itself": "<gazebo><gazebo/></gazebo><gazebo><gazebo a='>'\t/></gazebo\n><d/>",
    "empty among others": "<visual><a><visual/></a><b/></visual><visual><visual></visual></visual>",
    "instruction": "<visual><?a <visual> </visual> ?><a/></visual>",
    "attribute": "<visual a='&lt;/visual>' b=\"/>\"><a b='>&lt;visual>'/></visual>",
    "nested": "<gazebo><gazebo>\n<a/></gazebo>\n<b/></gazebo>",
    "another that begins alike": "<visual><visuals><a/></visuals></visual>",
    "one in the other": "<gazebo><visual><a/></visual></gazebo>",
    "entity": "<collision name='&lt;&#65;'><a b='&amp;'/></collision>",
    "letters": "<collision><ä ö='ü'/></collision><gazebo><a/></gazebo>",
}


@pytest.mark.parametrize("case", PUT_OFF)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_children_that_are_put_off_are_those_that_stand_there(case, encoding):
    """Another root puts nothing off, and has the same elements in it."""
    name = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{name}'?>\n<robot>\n"
    text += f"<link>{PUT_OFF[case]}<c/></link></robot>"
    lazily = parse_xml("a.xml", text.encode(encoding))
    at_once = parse_xml("a.xml", text.replace("robot>", "sdf>").encode(encoding))
    assert outline(lazily)[1:] == outline(at_once)[1:]


BITS = st.sampled_from(
    [
        *("<visual>", "<visual/>", "<visual a='/>' />", "</visual>", "</visual\n>", "<visual\n>"),
        *("<gazebo a='1'\n b='2'>", "<gazebo/>", "<gazebo\t/>", "</gazebo >", "<visuals>"),
        *("<!-- <visual> -->", "<!-- </visual> -->", "<![CDATA[</visual>]]>", "<?p <gazebo> ?>"),
        *("<visual a='&lt;/visual>'/>", "</visuals>", "<a>", "</a>", "<a/>", "é", "\n", "]"),
    ]
)


@settings(max_examples=300)
@given(bits=st.lists(BITS, max_size=10), mark=st.booleans())
def test_any_document_is_the_same_put_off_or_not(bits, mark):
    """Broken ones are told alike, too."""
    text = ("\ufeff" if mark else "") + f"<robot>{''.join(bits)}\n<c/></robot>"

    def parsed(put_off) -> list | str:
        try:
            return outline(xmlparser._parse("a.xml", text.encode(), 0, put_off))
        except pp.ModelError as error:
            return str(error)
        except xmlparser._NestedError:
            return parsed({})

    assert parsed(xmlparser.PUT_OFF) == parsed({})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("nested", ["", "<gazebo/>"])
def test_text_within_what_is_put_off_is_read_whichever_way(encoding, nested):
    text = f"<robot><gazebo><a>1</a>{nested}</gazebo></robot>".encode(encoding)
    assert parse_xml("a.xml", text).need("gazebo").need("a").value() == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "<robot>\n<a/><a/>\n<a/></robot>",
        "<robot><visual>\n<a/>\n<a/></visual></robot>",
        "<sdf><a>\n<a>\n<a>",
    ],
)
def test_more_elements_than_any_machine_has_are_refused(text, monkeypatch):
    """Whether they are beside each other, in each other, or put off."""
    monkeypatch.setattr(xmlparser, "MOST_ELEMENTS", 3)
    with pytest.raises(pp.ModelError) as caught:
        parse(text)
    said = "a.xml:3: more than 3 elements, which no machine needs; check the path"
    assert str(caught.value) == said
    monkeypatch.setattr(xmlparser, "MOST_ELEMENTS", 4)
    if text.startswith("<robot>"):
        assert parse(text).tag == "robot"


def test_children_that_are_put_off_are_made_once_and_only_when_asked_for(monkeypatch):
    made = []
    own = xmlparser._parse
    monkeypatch.setattr(xmlparser, "_parse", lambda *x: made.append(x[1]) or own(*x))
    (link,) = parse("<robot><link><visual><a/></visual></link></robot>").children
    (visual,) = link.children
    assert len(made) == 1
    assert [child.tag for child in visual.children] == [child.tag for child in visual.children]
    assert made[1:] == [b"<visual><a/></visual>"]
    with pytest.raises(AttributeError, match="childern"):
        visual.childern  # noqa: B018


def test_what_is_put_off_is_checked_with_the_rest():
    with pytest.raises(pp.ModelError, match=r"a\.xml:2: broken XML: mismatched tag"):
        parse("<robot><gazebo>\n<a></b></gazebo></robot>")
