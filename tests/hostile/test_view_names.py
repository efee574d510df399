"""Names that mean no good are text wherever they are shown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec
import pytest
from viewing import shown

import phipsi as pp
from phipsi.cleaning import brief
from phipsi.view import Viewer

SPITEFUL = (
    *("<img src=x onerror=document.title='owned'>", "{document.title='owned'}", "\x1b]0;owned\x07"),
    *("![](secret.png)", "![](/etc/passwd)", "![](http://127.0.0.1:1/x.png)", "</script><script>"),
    *("a\u202eb", "\u3164", "x" * 100_000, "line\nline", "&lt;", "`code`", "\x1b" * 500, "[0m"),
)

PRE = '<pre style="white-space: pre-wrap; overflow-wrap: anywhere">'


def spiteful_machine(name: str, folder: object = "") -> pp.Model:
    """Everything in it that can have a name has this one."""
    builder = pp.ModelBuilder(name)
    lost = pp.geometry.Visual.of(pp.geometry.Mesh(f"{folder}/{name}.stl"))
    two = pp.joints.Universal()
    builder.add_body(name, joint_name=name, mass=1.0, com=(1, 0, 0), visuals=[lost])
    builder.add_body(f"{name}2", name, two, joint_name=f"{name}2", mass=1.0, com=(1, 0, 0))
    builder.add_collisions(name, [lost])
    return builder.build()


def everything_sent(viewer: Viewer) -> list[dict]:
    """What a page that connects is sent; in it, pictures are bytes."""
    buffer = viewer._server._websock_server._broadcast_buffer
    return [message.as_serializable_dict([]) for message in buffer.message_from_id.values()]


@pytest.mark.parametrize("name", SPITEFUL)
def test_names_are_text_wherever_they_are_sent(name, monkeypatch, capfd):
    """No Markdown, of which viser reads pictures; no HTML that is not escaped; nothing long."""
    import imageio.v3

    monkeypatch.setattr(imageio.v3, "imread", lambda *_, **__: pytest.fail("a file was read"))
    with shown(spiteful_machine(name), collisions=True) as viewer:
        viewer.set([0.1, 0.2, 0.3])
        sent = everything_sent(viewer)
    msgspec.msgpack.encode(sent)  # as the server does
    assert not [x for x in sent if x["type"] == "GuiMarkdownMessage"]
    (listed,) = (x["props"]["content"] for x in sent if x["type"] == "GuiHtmlMessage")
    assert re.findall("<[^>]*>", listed) == [PRE, "</pre>"]
    assert max(len(text) for text in texts(sent)) < 4 * len(brief("x" * 100_000))
    assert all(text.replace("\n", "").isprintable() for text in texts(sent))
    assert capfd.readouterr().err.replace("\n", "").isprintable()


def texts(told: object) -> Iterator[str]:
    """Every text in a message."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, dict):
        for part in told.values():
            yield from texts(part)
    elif isinstance(told, list | tuple):
        for part in told:
            yield from texts(part)


@pytest.mark.parametrize("name", SPITEFUL)
def test_names_are_text_on_pages_that_play_a_motion(name, tmp_path):
    """Pages of two machines differ in their titles and in data that is spelled in letters."""
    page = pp.view(spiteful_machine(name), html=tmp_path / "page.html").read_text()
    plain = pp.view(spiteful_machine("plain"), html=tmp_path / "plain.html").read_text()
    parts = re.compile(r"<title>([^<]*)</title>|__VISER_EMBED_DATA__=\"[A-Za-z0-9+/=]*\"")
    assert parts.sub("", page) == parts.sub("", plain)
    (title,) = filter(None, (found[1] for found in parts.finditer(page)))
    assert html.unescape(title) == brief(name)


def test_local_picture_is_not_read_for_a_name(tmp_path):
    """A link named as a Markdown picture: the picture was read, and sent to the page."""
    from PIL import Image

    Image.new("RGB", (2, 2), (255, 0, 0)).save(tmp_path / "secret.png")
    with shown(spiteful_machine(f"![]({tmp_path}/secret.png)")) as viewer:
        assert not any("data:image" in text for text in texts(everything_sent(viewer)))
