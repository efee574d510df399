"""The viewer without a browser: what moves in it, whom it serves, what it prints."""

import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser

import numpy as np
import pytest
from viewing import UP, lifting, shown

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Box, Cylinder, Mesh, Sphere
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import Viewer, recording, server, view, viewer
from phipsi.view.browser import open_page


@pytest.fixture
def motion(arm):
    return lifting(arm)


# -- the viewer ------------------------------------------------------------------------


def places(viewer: Viewer) -> np.ndarray:
    """Where the frames of the bodies are in the scene."""
    return np.array([frame.position for frame in viewer._scene._frames])


def test_set_moves_the_bodies(arm):
    """The second joint is at the end of the first rod: (cos, 0, sin)."""
    with shown(arm, q=[0.3, 0.0]) as viewer:
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.3), 0, np.sin(0.3)), atol=1e-7)
        viewer.set([1.1, 0.2])
        np.testing.assert_allclose(places(viewer)[1], (np.cos(1.1), 0, np.sin(1.1)), atol=1e-7)
        w, x, y, z = viewer._scene._frames[1].wxyz  # a turn by 1.3 about -y
        np.testing.assert_allclose((w, x, y, z), (np.cos(0.65), 0, -np.sin(0.65), 0), atol=1e-7)
        assert [sliders[0].value for sliders in viewer._panel._sliders.values()] == [1.1, 0.2]
        with pytest.raises(pp.InputError, match="q has shape"):
            viewer.set([1.0])


def test_sliders_and_buttons_move_the_bodies(arm):
    with shown(arm, q=[0.3, 0.1]) as viewer:
        (first,), _ = viewer._panel._sliders.values()
        first.value = 0.8  # as when the user slides it
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.8), 0, np.sin(0.8)), atol=1e-7)
        viewer._panel._press("Random")
        assert not np.allclose(places(viewer)[1], (np.cos(0.8), 0, np.sin(0.8)))
        viewer._panel._press("Reset")
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.3), 0, np.sin(0.3)), atol=1e-7)


def test_slider_grows_to_a_value_that_is_set(arm):
    with shown(arm) as viewer:
        viewer.set([9.0, 0.0])
        (first,), _ = viewer._panel._sliders.values()
        assert (first.value, first.max) == (9.0, 9.0)


def test_motion_plays_and_is_moved_by_hand(motion):
    with shown(motion) as viewer:
        player = viewer._player
        end = threading.Event()
        while player.playback.time == 0.0:  # the thread plays
            assert not end.wait(0.02)
        player._press()
        assert not player.playback.playing
        player._line.value = 0.5
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.5), 0, np.sin(0.5)), atol=1e-7)
        player._speed.value, player._loop.value = "5x", False
        assert (player.playback.speed, player.playback.loop) == (5.0, False)
        player._press()
        viewer.set([0.2, 0.0])
        assert not player.playback.playing
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.2), 0, np.sin(0.2)), atol=1e-7)
    assert not player._thread.is_alive()


def test_single_state_stands_still(arm):
    with shown(Trajectory(arm, [2.0], [[0.3, 0.0]], [[0.0, 0.0]])) as viewer:
        player = viewer._player
        assert (player._button.label, player.playback.playing) == ("Play", False)
        player._press()
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.3), 0, np.sin(0.3)), atol=1e-7)


def test_member_of_a_batch_is_picked(arm):
    q = np.zeros((2, 3, 2))
    q[1, :, 0] = 0.6
    q[1, 2] = np.nan  # it breaks off
    with shown(Trajectory(arm, [0.0, 1.0, 2.0], q, 0 * q)) as viewer:
        viewer._player.pause()
        viewer._player._line.value = 2.0
        np.testing.assert_allclose(places(viewer)[1], (1, 0, 0), atol=1e-7)
        viewer._player._member.value = 1
        np.testing.assert_allclose(places(viewer)[1], (np.cos(0.6), 0, np.sin(0.6)), atol=1e-7)
        assert viewer._player.playback.time == 1.0


def visible(viewer: Viewer, group: str) -> list[bool]:
    return [node.visible for _, node in viewer._scene._nodes[group]]


def test_choices_show_and_hide(arm):
    builder = pp.ModelBuilder("half dressed")
    builder.add_body("a", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1), visuals=[Box((1, 1, 1))])
    builder.add_body("b", "a", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    builder.add_visuals("world", [Sphere(0.1), Cylinder(0.1, 0.2)])
    with shown(builder.build()) as viewer:
        scene = viewer._scene
        assert visible(viewer, "shapes") == [True] * 3
        assert visible(viewer, "inertias") == [False, True]
        for where, expected in (("all", [True, True]), ("none", [False, False])):
            scene.show("inertias", where)
            assert visible(viewer, "inertias") == expected
        scene.show("inertias", "without shapes")
        assert visible(viewer, "inertias") == [False, True]
        scene.show_frames(True)
        assert all(frame.show_axes for frame in scene._frames)


def test_bodies_whose_meshes_are_missing_show_their_inertia(tmp_path, capsys):
    builder = pp.ModelBuilder("lost")
    lost = [Mesh("package://robot/arm.stl"), Mesh(tmp_path / "no.stl")]
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1), visuals=lost)
    with shown(builder.build()) as viewer:
        assert visible(viewer, "inertias") == [True]
        assert viewer.problems == (
            "'arm' is not shown: package://robot/arm.stl: no file was found; "
            "packages= says where to look",
            f"'arm' is not shown: {tmp_path}/no.stl: No such file or directory",
        )
    assert capsys.readouterr().err.splitlines() == [f"view: {line}" for line in viewer.problems]


def test_many_problems_are_told_in_few_lines(tmp_path, capsys):
    builder = pp.ModelBuilder("lost")
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), visuals=[Mesh("a.stl")] * 20)
    view(builder.build(), html=tmp_path / "lost.html")
    *_, last = lines = capsys.readouterr().err.splitlines()
    assert (len(lines), last) == (9, "view: ... and 12 more")


def test_paths_in_problems_do_not_act_on_the_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recording, "LARGE", 1.0)
    page = tmp_path / "\x1b[2J\nFORGED\u202e.html"
    view(pp.chain(1), html=page)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("view: ") and line.isprintable()


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, -9.81, 0), (0, 0, 9.81)])
def test_up_is_against_gravity(gravity):
    builder = pp.ModelBuilder("elsewhere", gravity)
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    with shown(builder.build()) as viewer:
        up = viewer._server.initial_camera.up
    g = np.array(gravity)
    np.testing.assert_allclose(up, -g / 9.81 if g.any() else UP)


def test_machine_that_cannot_move_is_shown_too(tmp_path):
    builder = pp.ModelBuilder("rock")
    builder.add_body("rock", joint=joints.Fixed(), mass=1.0, visuals=[Sphere(1.0)])
    with shown(builder.build()) as viewer:
        viewer.set([])
    empty = pp.ModelBuilder("nothing").build()
    assert view(empty, html=tmp_path / "nothing.html").exists()


def test_viewer_is_closed_once_and_for_all(arm):
    viewer = shown(arm)
    assert repr(viewer) == f"<Viewer of 'planar arm of 2': {viewer.url}>"
    viewer.close()
    viewer.close()
    assert repr(viewer) == "<Viewer of 'planar arm of 2': closed>"
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(viewer.url, timeout=5)
    with pytest.raises(pp.InputError, match="the viewer of 'planar arm of 2' is closed"):
        viewer.set([0, 0])


def test_nothing_is_left_open_if_the_scene_fails(arm, monkeypatch):
    opened = []

    def open_server(*arguments):
        opened.append(server.open_server(*arguments))
        return opened[-1]

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(viewer, "open_server", open_server)
    monkeypatch.setattr(viewer, "set_stage", fail)
    with pytest.raises(KeyboardInterrupt):
        shown(arm)
    (only,) = opened
    assert not only._websock_server._server_thread.is_alive()


# -- the server ------------------------------------------------------------------------


def other_addresses() -> list[str]:
    """Addresses of this machine that other machines could call."""
    names = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    found = {str(entry[4][0]) for entry in names}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks for the way
            found.add(probe.getsockname()[0])
        except OSError:
            pass
    return [
        *sorted(address for address in found if not address.startswith("127.0.0.1")),
        "127.0.0.2",
    ]


def test_page_can_be_reached_from_this_machine_alone(arm):
    with shown(arm) as viewer:
        with urllib.request.urlopen(viewer.url, timeout=10) as answer:
            assert b"<html" in answer.read()
        port = int(viewer.url.rpartition(":")[2])
        for address in other_addresses():
            with socket.socket() as caller:
                caller.settimeout(5)
                assert caller.connect_ex((address, port)) != 0, address
        with socket.socket(socket.AF_INET6) as caller:
            assert caller.connect_ex(("::1", port)) != 0


def test_page_is_never_made_public(arm):
    """viser can open a tunnel to the world when a page asks for it."""
    with shown(arm) as viewer:
        assert viewer._server.request_share_url() is None
        assert viewer._server._share_tunnel is None


def test_next_port_is_taken_if_one_is_not_free(arm):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with shown(arm, port=port) as viewer:
            assert port < int(viewer.url.rpartition(":")[2]) < port + server.PORTS_TRIED


def test_no_free_port_is_told(monkeypatch):
    monkeypatch.setattr(server, "PORTS_TRIED", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(pp.BackendError, match=f"no port from {port} to {port} is free"):
            server.free_port(port)


@pytest.mark.parametrize("port", [0, -1, 65536, 80.5, "http", True])
def test_what_is_no_port_is_refused(arm, port):
    with pytest.raises(pp.InputError, match=r"view: port is .*; expected a number from 1 to 65535"):
        shown(arm, port=port)


@pytest.mark.parametrize("missing", ["viser", "rich"])
def test_missing_package_is_asked_for(arm, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        pp.BackendError, match=r"the viewer needs \w+: pip install 'phipsi\[view\]'"
    ):
        shown(arm)


def test_viser_is_silent(arm, motion, tmp_path, capfd):
    with shown(arm):
        pass
    view(motion, html=tmp_path / "run.html")
    assert capfd.readouterr() == ("", "")


# -- the browser -----------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """What the browser was asked to open, on a machine with a display."""
    pages: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda url: pages.append(url) or True)
    return pages


def test_browser_is_opened_where_there_is_one(arm, asked, capsys):
    with view(arm, block=False) as viewer:
        assert asked == [viewer.url]
    assert capsys.readouterr().out == ""


def test_address_is_printed_where_no_browser_opens(arm, monkeypatch, asked, capsys):
    for variable in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with view(arm, block=False) as viewer:
        pass
    assert asked == []
    assert (
        capsys.readouterr().out == f"no browser opens here; open this page in one: {viewer.url}\n"
    )


def test_browser_that_fails_is_none(monkeypatch, asked):
    def fail(url):
        raise webbrowser.Error("could not locate runnable browser")

    assert open_page("x")
    monkeypatch.setattr(webbrowser, "open", fail)
    assert not open_page("x")


def test_interrupt_ends_it_cleanly():
    code = "import phipsi as pp; from phipsi.view import view;"
    code += "view(pp.examples.planar_arm(2), open_browser=False); print('on')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        name, _, rest = line.partition(": ")
        assert (name, rest.endswith(" (Ctrl-C ends it)\n")) == ("planar arm of 2", True)
        with urllib.request.urlopen(rest.split()[0], timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "on\n", "")
