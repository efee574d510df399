"""Names that would act where they are shown: on terminals, in pages, formulas, tables, files.

What is shown is read by parsers that know nothing of phipsi: of HTML, XML, Markdown, CSV, and the
categories of Unicode. Nothing of a name may be more than text to them.
"""

import csv
import io
import json
import math
import random
import re
import sys
import time
import unicodedata
import warnings
import xml.etree.ElementTree as ET
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from markdown_it import MarkdownIt

import phipsi as pp
from phipsi import cleaning, joints
from phipsi.algebra.identities import IDENTITIES
from phipsi.cli import main
from phipsi.cli.screen import Screen, facts, heading, table, working
from phipsi.errors import SlowPathWarning, warn_caller
from phipsi.explain.tables import identities_table
from phipsi.model.report import Remark
from phipsi.operators import E_phi, H, J, M, Mass, T, f0, letter, operator, phi

FORGED = "FORGED"  # a line that begins so, a tag, a command or an attribute of that name: it acted
ALARM = f"<script>{FORGED}()</script>"
PIECES = (
    *("\x1b[2J", "\x1b]0;x\x07", "\x9b31m", "\x85", "\x07", "\x08\x08", "\x7f", "\r", "\n", "\r\n"),
    *(f"\n{FORGED}: ", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\t"),
    *("\u202e", "\u202d", "\u2066", "\u2069", "\u200e", "\u061c", "\u200b", "\u200d", "\ufeff"),
    *("\u034f", "\ufe0f", "\u3164", "\u2060", "\U000e0041", "\U000e0100", "\xad", "\ufffe"),
    *(ALARM, f"<img src=x onerror={FORGED}>", "</pre>", "</text>", "]]>", "-->", "&lt;", "&#10;"),
    *(
        f'" onload="{FORGED}',
        f"' onload='{FORGED}",
        f"![x](x){FORGED}",
        f"[{FORGED}](javascript:x)",
    ),
    *("`", "```", "````\n", "\n```\n", "|", "**", "_", "~~~", "# ", "<!--", "<javascript:x>"),
    *(
        "$",
        "$$",
        r"\end{align*}",
        rf"\{FORGED}{{x}}",
        r"\href{javascript:x}{y}",
        "^^5c",
        "%",
        "{",
        "}",
    ),
    *(
        "=1+1",
        "@SUM(1)",
        "+1",
        "-1",
        "\t=1",
        "\uff1d1",
        '"',
        "'",
        ",",
        ";",
        "\\",
        "#",
        "&",
        "~",
        "^",
    ),
    *(
        "[bold red]",
        "[/]",
        ":smile:",
        "{{7*7}}",
        "%s",
        "{0}",
        "\\n",
        "arm",
        "φ",
        "é",
        "n\u0303",
        "日本",
    ),
)
IN_XML = [x for x in PIECES if not re.search("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe]", x)]


def hostile(rng, pieces=PIECES):
    return "".join(rng.choices(pieces, k=rng.randint(1, 4))) + str(rng.randrange(1000))


# -- independent readers -----------------------------------------------------------------------

ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def acting(text, allowed="\n"):
    """The signs of a text that are not only seen."""
    return {x for x in text if unicodedata.category(x) in ACTING and x not in allowed}


def assert_plain(text, allowed="\n"):
    assert not acting(text, allowed), (acting(text, allowed), text)
    assert not any(line.strip().startswith(FORGED) for line in text.splitlines()), text


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.others = set(), set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_comment(self, data):
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def assert_harmless_page(page, tags):
    found = Tags(page)
    assert found.tags <= tags, found.tags - tags
    assert found.attributes <= {"style", "open", "class"}, found.attributes
    assert not found.others
    assert_plain(page)


def assert_harmless_markdown(text, tags):
    """As a renderer shows it that lets all tags of HTML through, and makes links of addresses."""
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert_harmless_page(page, tags)


DRAWN = {"svg", "g", "rect", "line", "path", "polygon", "text", "tspan", "title", "desc", "circle"}


def assert_harmless_svg(text):
    for element in ET.fromstring(text).iter():
        tag = element.tag.rpartition("}")[2]
        assert tag in DRAWN, tag
        assert not any(name.startswith("on") or "href" in name for name in element.attrib)
    assert_plain(text)


def assert_harmless_latex(text):
    r"""Braces in pairs, no comment, no end of the formula within, and no command of a name."""
    inside = text.removeprefix("$$\n").removesuffix("\n$$")
    inside = inside.removeprefix("$\\displaystyle ").removesuffix("$") if inside == text else inside
    tokens = re.findall(r"\\[A-Za-z]+\*?|\\.|.", inside, re.DOTALL)
    assert "%" not in tokens and "$" not in tokens and "~" not in tokens and "#" not in tokens, (
        inside
    )
    assert f"\\{FORGED}" not in tokens and "\\href" not in tokens and "\\input" not in tokens
    depth = 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        assert depth >= 0, inside
    assert depth == 0, inside
    assert inside.count("\\begin{") == inside.count("\\end{") <= 1
    assert "<" not in inside and ">" not in inside
    assert_plain(inside)


# -- the machine, and all that shows it --------------------------------------------------------


def machine(name):
    """A machine all of whose names come from `name()`."""
    builder = pp.ModelBuilder(name(), strict=False)
    bodies = []
    for k in range(3):
        bodies.append(name() + str(k))
        place = {"position": (0, 0, 1), "joint_name": name() + str(k)}
        rest = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1, 1, 3)}  # breaks the inequality
        looks = [pp.geometry.Visual.of(pp.geometry.Sphere(0.1), name=name())]
        parent = bodies[-2] if k else "world"
        kind = joints.Revolute((0, 1, k % 2))
        builder.add_body(bodies[-1], parent, kind, **place, **rest, visuals=looks)
    builder.add_frame(name() + "f", bodies[-1], position=(1, 0, 0))
    builder.add_keyframe(name(), {})
    builder.add_closure(name(), bodies[0], bodies[0], joints.Spherical())
    return builder.build()


def show_explanation(model, name):
    here = letter(
        f"W{abs(hash(name())) % 10**6}", "body", "body", mechanics=name(), estimation=name()
    )
    node = H @ phi @ here(lambda body, joint: 1.0) @ phi.T @ H.T
    forces = {"T": np.zeros(3)}
    for expression in (Mass.inv @ T, node, J(model.frames[-1].name)):
        told = pp.explain(expression, model, **(forces if expression == Mass.inv @ T else {}))
        assert_plain(str(told))
        assert_plain(repr(told))
        assert_harmless_page(told._repr_html_(), {"details", "summary", "b", "pre"})
        assert_harmless_markdown(told._repr_markdown_(), {"p", "strong", "pre", "code"})
        for level in told.levels:
            assert_plain(str(level))


def show_expression(model, name):
    node = J(model.frames[-1].name) @ Mass.inv
    for text in (str(node), repr(node), node.unicode()):
        assert_plain(text)
    assert_harmless_latex(node._repr_latex_())


def show_derivation(model, name):
    own = name()
    A = operator("A_own", "body", "body")
    pp.add_identity(
        own,
        "phi E_phi A_own",
        "E_phi phi A_own",
        name(),
        meaning=name(),
        variables=[A],
        check=False,
    )
    try:
        found = pp.derive(Mass.inv @ J(model.frames[-1].name).T @ f0)
        told = pp.derive(phi @ E_phi @ M, to=E_phi @ phi @ M, using=own, bound=50)
        for each in (found, told):
            assert_plain(str(each))
            assert_harmless_latex(each._repr_latex_())
        assert_plain(str(IDENTITIES[own]))
        assert_harmless_latex(IDENTITIES[own]._repr_latex_())
        tags = {*["p", "table", "thead", "tbody", "tr", "th", "td", "code", "strong", "em"]}
        assert_harmless_markdown(identities_table([IDENTITIES[own]]), tags)
    finally:
        pp.forget_identity(own)


def show_diagnosis(model, name):
    found = pp.diagnose(model)
    assert_plain(str(found))
    assert_plain(found.summary)
    tags = {*["p", "b", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"]}
    assert_harmless_page(found._repr_html_(), tags)


def show_report(model, name):
    assert model.report.remarks
    assert_plain(str(model.report))
    remark = Remark("kept", name(), (name(), 12), name())
    assert_plain(remark)
    assert_plain(repr(model))


def show_drawings(model, name):
    for drawing in (
        pp.draw_blocks(phi, model),
        pp.draw_blocks(J(model.frames[-1].name), model),
        pp.draw_dataflow(Mass.inv @ T, model),
    ):
        assert_harmless_svg(drawing.svg)
        assert_plain(repr(drawing))
        assert_plain(drawing.title)


def show_screen(model, name):
    for _ in range(3):
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            screen = Screen()
            rows = table("a", "b")
            rows.add_row(name(), name())
            screen.print(rows)
            screen.print(facts({name(): "x"}))
            screen.print(heading(name()))
            with working(name()):
                pass
        assert_plain(out.getvalue())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show_on_terminal(model, name):
    """Colours are ours; nothing else moves the cursor."""
    out = Terminal()
    with redirect_stdout(out):
        screen = Screen()
        rows = table("a", "b")
        rows.add_row(name(), name())
        screen.print(rows)
        screen.print(name())
    assert not acting(re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()))


def show_warning(model, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_caller(f"about {name()}", SlowPathWarning)
    assert not acting(str(caught[0].message))


# Of the NetCDF User's Guide; its own names are none of these.
NETCDF_NAME = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]([^\0-\x1f/\x7f]*[^\0-\x20/\x7f])?")


def show_cells(model, name):
    for _ in range(10):
        given = name()
        text = io.StringIO()
        csv.writer(text).writerow([cleaning.for_csv(given), "second"])
        ((cell, second),) = csv.reader(io.StringIO(text.getvalue()))
        assert second == "second"
        assert_plain(cell)
        opened = unicodedata.normalize("NFKC", cell).lstrip()
        assert opened[:1] not in set("=+-@\t\r") or is_number(cell), cell
        stored = cleaning.for_netcdf(given)
        assert stored and "/" not in stored and stored == stored.strip()
        assert NETCDF_NAME.fullmatch(stored), stored
        assert_plain(stored)


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


SHOWN = (
    show_expression,
    show_explanation,
    show_derivation,
    show_diagnosis,
    show_report,
    show_drawings,
    show_screen,
    show_on_terminal,
    show_warning,
    show_cells,
)


@pytest.mark.parametrize("show", SHOWN)
def test_names_do_not_act_where_they_are_shown(show):
    rng = random.Random(show.__name__)
    for _ in range(2):
        show(machine(lambda: hostile(rng)), lambda: hostile(rng))


def test_nothing_but_what_is_seen_is_visible():
    """Every sign of Unicode that is of such a category, and some that are not."""
    every = map(chr, range(sys.maxunicode + 1))
    for sign in (
        *filter(acting, every),
        *map(chr, range(0x3100)),
        *map(chr, range(0xFE00, 0x10000)),
    ):
        shown = cleaning.visible(sign)
        if shown != sign:
            assert shown.isascii() and shown.isprintable() and shown.startswith("\\")
        assert not acting(shown, "")
    assert cleaning.visible(greek := "φ̃ ⁻¹ Λ_c ℳ été 日本 − · ½") == greek


@pytest.mark.parametrize("sign", ["a", "\n", "\u202e", "\U000e0041", "\ud800", "日"])
@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 10_000_000])
def test_brief_is_one_line_that_is_never_longer(sign, count):
    text = sign * count
    shown = cleaning.brief(text, 50)
    assert len(shown) <= 50
    assert not acting(shown, "")
    whole = cleaning.visible(text[:100])
    assert shown == whole or (shown.endswith(" ...") and whole.startswith(shown[:-4]))
    assert (shown == whole) == (len(whole) <= 50)


# -- the command ---------------------------------------------------------------------------------


def urdf(rng):
    """A file all of whose names are hostile, as far as XML holds them."""
    names = [quoteattr(hostile(rng, IN_XML) + str(k)) for k in range(12)]
    names = [x.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;") for x in names]
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/>'
    )
    links = "".join(
        f"<link name={x}>{inertial}<origin xyz='0.5 0 0'/></inertial><odd name={names[9]}/></link>"
        for x in names[:4]
    )
    hinges = "".join(
        f'<joint name={names[5 + k]} type="revolute"><parent link={names[k]}/>'
        f'<child link={names[k + 1]}/><origin xyz="0 0 1"/><axis xyz="0 1 {k}"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for k in range(3)
    )
    return f"<robot name={names[11]}>{links}{hinges}</robot>"


def printed(*words):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main([str(word) for word in words])
    return code, out.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("info", "--report"),
        ("info", "--strict"),
        ("check", "--states", "2"),
        ("simulate", "--duration", "0.002", "--control", "pd"),
        ("explain",),
    ],
    ids=" ".join,
)
def test_commands_print_names_and_nothing_else(words, tmp_path):
    rng = random.Random(" ".join(words))
    for k in range(1):
        file = tmp_path / f"{k}\x1b[2J\u202e\nFORGED.urdf"
        file.write_text(urdf(rng), encoding="utf-8")
        command = ("explain", "inv(Mass) T", "--model", file) if words == ("explain",) else None
        code, told = printed(*(command or (words[0], file, *words[1:])))
        assert code in (0, 1), told
        assert told
        assert_plain(told)
        assert "this is a bug" not in told


def test_errors_are_printed_clean_and_hold_the_raw_name(tmp_path):
    raw = "\x1b[2J\u202e\nFORGED"
    code, told = printed("info", tmp_path / f"{raw}.urdf")
    assert code == 1
    assert_plain(told)
    code, told = printed("info", tmp_path / "b\udcff.urdf", "--debug")
    assert code == 1
    assert_plain(told)
    with pytest.raises(pp.PhipsiError) as caught:
        pp.load(tmp_path / f"{raw}.urdf")
    assert raw in str(caught.value)


def test_json_of_commands_is_ascii(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(urdf(random.Random(0)), encoding="utf-8")
    _, told = printed("info", file, "--json")
    assert told.isascii() and told.count("\n") == 1
    model = pp.load(file)
    assert [body["name"] for body in json.loads(told)["bodies"]] == [x.name for x in model.bodies]


# -- where names come in ---------------------------------------------------------------------------

UNWRITABLE = ["\0", "arm\0", "\ud800", "a\udfffb", "\udc80"]
PLATE = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (1, 1, 1)}


def enter_joint(name):
    pp.ModelBuilder().add_body("box", joint_name=name, **PLATE)


def in_builder(method, *rest):
    def enter(name):
        builder = pp.ModelBuilder()
        builder.add_body("box", **PLATE)
        getattr(builder, method)(name, *rest)

    return enter


def enter_prefix(name):
    builder = pp.ModelBuilder()
    builder.add_model(pp.chain(2), prefix=name)
    builder.build()


ENTRIES = {
    "machine": lambda name: pp.ModelBuilder(name),
    "body": lambda name: pp.ModelBuilder().add_body(name, **PLATE),
    "joint": enter_joint,
    "frame": in_builder("add_frame", "box"),
    "closure": in_builder("add_closure", "box", "world"),
    "coupling": in_builder("add_coupling", "box_joint", None, [1.0]),
    "keyframe": in_builder("add_keyframe", {}),
    "prefix": enter_prefix,
    "visual": lambda name: pp.geometry.Visual.of(pp.geometry.Sphere(1.0), name=name),
    "letter": lambda name: operator(name, "body", "body"),
    "space": lambda name: pp.operators.vector("x", pp.operators.space(name, 3)),
    "identity": lambda name: pp.add_identity(name, "phi M", "phi M I", check=False),
    "point": lambda name: pp.jacobian(pp.chain(2), [0, 0], [pp.point(name)]),
    "parameter": lambda name: pp.compile(pp.chain(2), "Mass", parameters=[f"{name}.mass"]),
    "frame of another machine": lambda name: pp.chain(2).frame(name),
}


@pytest.mark.parametrize("name", UNWRITABLE, ids=ascii)
@pytest.mark.parametrize("entry", ENTRIES)
def test_names_that_no_file_holds_are_refused(entry, name):
    with pytest.raises(pp.PhipsiError) as caught:
        ENTRIES[entry](name)
    assert_plain(str(caught.value))
    str(caught.value).encode()


def test_names_of_letters_are_seen():
    for sign in ("\u034f", "\ufe0f", "\u3164"):
        with pytest.raises(pp.InputError, match="seen"):
            operator(f"x{sign}", "body", "body")


# -- many of them ----------------------------------------------------------------------------------


def attack(seed, seconds=0.0, least=10):
    """Hostile names in a machine, and one of the outputs that show it; returns how many."""
    end, rng = time.monotonic() + seconds, random.Random(seed)
    count = 0
    while count < least or time.monotonic() < end:
        show = SHOWN[count % len(SHOWN)]
        show(machine(lambda: hostile(rng)), lambda: hostile(rng))
        count += 1
    return count


def test_attack(fuzz):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds), "hostile names")
