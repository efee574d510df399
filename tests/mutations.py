"""Files with something wrong in them: mutations of text and of bytes, drawn by hypothesis."""

import re

from hypothesis import strategies as st

NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")
TAG = re.compile(rb"<[^<>]*>")
OPENING = re.compile(rb"<([A-Za-z_][\w:.-]*)(?:\s[^<>]*[^<>/]|)>")
LINE = re.compile(rb"[^\n]*\n")

ODD_NUMBERS = [
    *(b"", b"nan", b"inf", b"-inf", b"1e308", b"-1e308", b"1e-320", b"0", b"-1", b"1e999999999"),
    *(b"1 2 3", b"0x10", b"1_0", b"one", b"9" * 400, b"0." + b"0" * 400 + b"1"),
    *("١".encode(), b"1,5", b"--1", b"1e", b"."),
]
ODD_WORDS = [
    *(b"", b"world", b"universe", b"__model__", b"..", b"../../../../etc/passwd", b"a" * 5000),
    *(b"name", b"joint", b"link", b"::", b"a::b", b"%00", "φ".encode(), b"true", b"free"),
]
ODD_BYTES = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"&", b"&amp;", b"&#0;", b"&lol;", b"<", b">", b"]]>"),
    *(b"<!--", b"-->", b"<![CDATA[", b"<?xml version='1.0' encoding='utf-16'?>", b"\xc3\x28"),
    b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>",
    b'<include file="../../../etc/passwd"/>',
    b"<include><uri>file:///etc/passwd</uri></include>",
]


@st.composite
def mutated(draw, seeds: list[bytes], most: int = 4) -> bytes:
    """One of the texts, with one to `most` things wrong in it."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, most))):
        text = draw(st.sampled_from(CHANGES))(draw, text)
    return text


def change_number(draw, text: bytes) -> bytes:
    return _replaced(draw, text, NUMBER, draw(st.sampled_from(ODD_NUMBERS)))


def change_word(draw, text: bytes) -> bytes:
    """To an odd one, or to another word of the file: names that clash, tags in the wrong place."""
    words = WORD.findall(text)
    word = draw(st.sampled_from(ODD_WORDS + words if words else ODD_WORDS))
    return _replaced(draw, text, WORD, word)


def drop_tag(draw, text: bytes) -> bytes:
    return _replaced(draw, text, TAG, b"")


def drop_line(draw, text: bytes) -> bytes:
    return _replaced(draw, text, LINE, b"")


def move_line(draw, text: bytes) -> bytes:
    """A line said again somewhere else."""
    lines = LINE.findall(text)
    if not lines:
        return text
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
    return b"".join(lines)


def cut(draw, text: bytes) -> bytes:
    return text[: draw(st.integers(0, len(text)))]


def insert_bytes(draw, text: bytes) -> bytes:
    where = draw(st.integers(0, len(text)))
    odd = draw(st.sampled_from(ODD_BYTES) | st.binary(min_size=1, max_size=8))
    return text[:where] + odd + text[where:]


def encode(draw, text: bytes) -> bytes:
    """In another encoding than the file says."""
    encoding = draw(st.sampled_from(["utf-16", "utf-16-le", "utf-32", "cp500"]))
    return text.decode("utf-8", "replace").encode(encoding, "replace")


def nest(draw, text: bytes) -> bytes:
    """A tag opened very often."""
    tag = draw(st.sampled_from([b"<body>", b"<model name='m'>", b"<link>", b"<a>", b"<default>"]))
    where = draw(st.integers(0, len(text)))
    return text[:where] + tag * draw(st.sampled_from([2, 50, 20_000])) + text[where:]


def nest_itself(draw, text: bytes) -> bytes:
    """An element in one of its own tag: empty in two ways, with children, or as a comment."""
    found = list(OPENING.finditer(text))
    if not found:
        return text
    opening = draw(st.sampled_from(found))
    insides = [b"<%s/>", b"<%s a='>'/>", b"<%s></%s >", b"<%s><x/></%s>", b"<!-- <%s> -->"]
    inside = draw(st.sampled_from(insides)).replace(b"%s", opening[1])
    return text[: opening.end()] + inside + text[opening.end() :]


CHANGES = [
    *(change_number, change_number, change_word, change_word, drop_tag, drop_line, move_line),
    *(cut, insert_bytes, encode, nest, nest_itself, nest_itself),
]


def _replaced(draw, text: bytes, pattern: re.Pattern, by: bytes) -> bytes:
    """With one of the places where the pattern is found changed."""
    found = [match.span() for match in pattern.finditer(text)]
    if not found:
        return text
    start, end = draw(st.sampled_from(found))
    return text[:start] + by + text[end:]
