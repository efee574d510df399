"""The viewer in a real browser: boxes are where optics puts them, sliders move them, films play.

A machine of two boxes, one fixed on a floor and one on a turning arm, is looked
at through a pinhole of which only the place and the angle are known.
"""

import math

import numpy as np
import pytest
import trimesh
import viser
from browser import Browser, find_chromium, until

import phipsi as pp
from phipsi.model.geometry import Box, Mesh, Visual
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import view

CENTER = (0.0, 0.0, 0.1)  # of the green box, fixed in the world
REACH, HEIGHT = 1.0, 0.3  # of the magenta box, on the arm
SIZE = 0.12  # of both
CLOSE = 4.0  # pixels
MAGENTA, GREEN = (1, 0, 1), (0, 1, 0)

CANVAS = """(() => {
  const box = document.querySelector('canvas')?.getBoundingClientRect();
  return box ? [box.x, box.y, box.width, box.height] : null;
})()"""
SLIDER = "document.querySelector('[role=slider]')"
DISMISS = "document.querySelectorAll('.mantine-Notification-closeButton').forEach(x => x.click())"


def painted(place: tuple[float, float, float], color: tuple[float, float, float]) -> Visual:
    """A box of a colour."""
    return Visual.of(Box((SIZE, SIZE, SIZE)), position=place, color=color)


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> pp.Model:
    """The magenta box is a mesh in millimetres, the green one a shape."""
    file = tmp_path_factory.mktemp("meshes") / "box.stl"
    trimesh.creation.box((1000 * SIZE, 1000 * SIZE, 1000 * SIZE)).export(file)
    mesh = Mesh(file, (0.001, 0.001, 0.001))
    builder = pp.ModelBuilder("two boxes")
    hand = Visual.of(mesh, position=(REACH, 0, HEIGHT), color=MAGENTA)
    builder.add_body("arm", joint_name="turn", mass=1.0, com=(1, 0, 0), visuals=[hand])
    floor = Visual.of(Box((2.4, 2.4, 0.01)), color=(0.8, 0.8, 0.8))
    builder.add_visuals("world", [painted(CENTER, GREEN), floor])
    return builder.build()


@pytest.fixture(scope="module")
def browser():
    with Browser(700, 420) as page:
        yield page


@pytest.fixture
def offline(browser):
    """The browser, cut off from every network."""
    browser.set_network(False)
    yield browser
    browser.set_network(True)


def hand(angle: float) -> np.ndarray:
    """Where the magenta box is, the arm turned by an angle about z."""
    return np.array([REACH * math.cos(angle), REACH * math.sin(angle), HEIGHT])


def on_screen(page: Browser, point: np.ndarray, eye: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The pixel of a point in the world, seen from an eye that looks at a target, z up, 50 degrees.

    By similar triangles: the screen is as far away as makes its height fill the angle.
    """
    left, top, width, height = page.evaluate(CANVAS)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up, ray = np.cross(right, forward), point - eye
    distance = 0.5 * height / math.tan(math.radians(25.0))
    x, y = (distance * (ray @ axis) / (ray @ forward) for axis in (right, up))
    return np.array([left + 0.5 * width + x, top + 0.5 * height - y])


def is_magenta(picture: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(picture, -1, 0)
    return (red > 1.6 * green) & (blue > 1.6 * green) & (red > 90)


def is_green(picture: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(picture, -1, 0)
    return (green > 1.6 * red) & (green > 1.6 * blue) & (green > 60)


def middle(mask: np.ndarray) -> np.ndarray | None:
    """The mean pixel of a colour; None if there is hardly any."""
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean(), rows.mean()]) if len(rows) > 30 else None


def boxes(page: Browser) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Where the magenta and the green box are seen; the panel beside the scene is left out."""
    _, _, width, height = page.evaluate(CANVAS) or (0, 0, 0, 0)
    picture = page.picture()[: round(height), : round(width)]
    return middle(is_magenta(picture)), middle(is_green(picture))


def are_at(page: Browser, magenta: np.ndarray, green: np.ndarray) -> bool:
    seen = boxes(page)
    return all(
        found is not None and np.linalg.norm(found - expected) < CLOSE
        for found, expected in zip(seen, (magenta, green), strict=True)
    )


def open_page(page: Browser, url: str) -> None:
    page.open(url)
    until(lambda: all(box is not None for box in boxes(page)), "the boxes to appear")
    page.evaluate(DISMISS)


def eye_of(viewer) -> tuple[np.ndarray, np.ndarray]:
    """Where viser's client says that its camera stands, and what it looks at."""
    clients = until(viewer._server.get_clients, "the page to connect")
    (client,) = clients.values()
    return client.camera.position, client.camera.look_at


def test_missing_browser_fails_where_all_peers_are_required(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setenv("PHIPSI_REQUIRE_PEERS", "1")
    with pytest.raises(pytest.fail.Exception, match="no browser: none of chromium"):
        find_chromium()
    monkeypatch.delenv("PHIPSI_REQUIRE_PEERS")
    with pytest.raises(pytest.skip.Exception, match="no browser"):
        find_chromium()


def test_machine_is_seen_where_optics_puts_it_and_a_slider_moves_it(browser, machine):
    with view(machine, q=[1.0], open_browser=False, block=False) as viewer:
        open_page(browser, viewer.url)
        eye = eye_of(viewer)
        green = on_screen(browser, np.array(CENTER), *eye)
        first = on_screen(browser, hand(1.0), *eye)
        until(lambda: are_at(browser, first, green), "the arm at 1 rad")

        viewer.set([-0.7])
        second = on_screen(browser, hand(-0.7), *eye)
        assert np.linalg.norm(second - first) > 10 * CLOSE
        until(lambda: are_at(browser, second, green), "the arm at -0.7 rad")

        until(lambda: browser.evaluate(SLIDER + ".ariaValueNow") == "-0.7", "the slider at -0.7")
        browser.evaluate(SLIDER + ".focus()")
        browser.press("Home")  # to its least value
        third = on_screen(browser, hand(-math.pi), *eye)
        until(lambda: are_at(browser, third, green), "the arm half a turn back")


def test_recording_plays_without_a_server_and_without_a_network(offline, machine, tmp_path):
    """The arm turns once in two seconds: it is seen on both sides of the post, and between."""
    times = np.linspace(0.0, 2.0, 201)
    angles = math.pi * times[:, None]
    path = view(
        Trajectory(machine, times, angles, 0 * angles + math.pi), html=tmp_path / "run.html"
    )
    offline.requested.clear()
    open_page(offline, path.as_uri())
    assert offline.evaluate("document.title") == "two boxes"
    seen = []

    def has_gone_around() -> bool:
        magenta, green = boxes(offline)
        if magenta is not None and green is not None:
            seen.append((magenta - green).tolist())
        aside = [x for x, _ in seen]
        return len(seen) >= 5 and min(aside, default=0.0) < -40 and max(aside, default=0.0) > 40

    until(has_gone_around, "the arm to turn")
    assert len({tuple(np.round(place)) for place in seen}) >= 4
    assert offline.requested
    assert all(url.startswith(("file:", "data:", "blob:")) for url in offline.requested)


def test_recording_of_a_machine_that_goes_far_keeps_it_in_the_picture(offline, tmp_path):
    """A box sinks by ten times its size: it stays where it is seen, the post behind it goes by."""
    builder = pp.ModelBuilder("sinking box")
    builder.add_body("box", joint=pp.joints.Free(), mass=1.0, visuals=[painted((0, 0, 0), MAGENTA)])
    builder.add_visuals("world", [painted((-0.3, 0, -0.2), GREEN)])
    box, times = builder.build(), np.linspace(0.0, 4.0, 41)
    q = np.tile(box.neutral(), (41, 1))
    q[:, 6] = -10 * SIZE * times / 4.0
    path = view(Trajectory(box, times, q, np.zeros((41, 6))), html=tmp_path / "sinking.html")
    offline.open(path.as_uri())
    until(lambda: boxes(offline)[0] is not None, "the box to appear")
    offline.evaluate(DISMISS)
    boxes_seen, posts_seen = [], []

    def has_passed_the_post() -> bool:
        magenta, green = boxes(offline)
        boxes_seen.append(magenta)
        posts_seen.append(green is not None)
        return set(posts_seen) == {True, False}

    until(has_passed_the_post, "the post to come and go")
    assert all(place is not None for place in boxes_seen)
    assert np.ptp(boxes_seen, axis=0).max() < 10 * CLOSE  # bodies may be caught between two frames


def is_orange(picture: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(picture, -1, 0)
    return (red > 1.3 * blue) & (green < 0.95 * red) & (green > 0.9 * blue) & (red > 120)


def test_recording_has_collision_shapes_and_shows_how_far_a_loop_is_open(offline, tmp_path):
    """A slide leaves the pin that held it: the marks part, and a line between them grows."""
    builder = pp.ModelBuilder("slide")
    slide = {"mass": 1.0, "visuals": [painted((0, 0.5, 0), GREEN)]}
    builder.add_body("slide", joint=pp.joints.Prismatic((0, 0, 1)), **slide)
    builder.add_collisions("slide", [Visual.of(Box((0.3, 0.3, 0.3)), (0, -0.5, 0))])
    builder.add_closure("pin", "world", "slide", pp.joints.Spherical())
    times = np.linspace(0.0, 2.0, 61)
    heights = 0.5 * (1.0 - np.cos(math.pi * times[:, None]))
    motion = Trajectory(builder.build(), times, heights, 0.0 * heights)
    path = view(motion, html=tmp_path / "slide.html", collisions=True)
    offline.open(path.as_uri())
    until(lambda: boxes(offline)[1] is not None, "the slide to appear")
    offline.evaluate(DISMISS)
    first = offline.picture()
    assert is_orange(first).sum() > 500
    assert not is_orange(first[:, : first.shape[1] // 8]).any()  # where there is nothing
    tall = []

    def has_parted() -> bool:
        """The line is upright: pixels of its colour, one above the other."""
        rows, columns = np.nonzero(is_magenta(offline.picture()))
        if len(rows):
            tall.append(np.bincount(columns).max())
        return bool(tall) and min(tall) < 25 and max(tall) > 60

    until(has_parted, "the marks to part and to meet")


def test_names_are_shown_as_text(browser):
    """In a browser that would run what they say."""
    name = "<img src=x onerror=document.title='owned'>![](x.png){document.title='owned'}"
    builder = pp.ModelBuilder(name)
    lost = [Mesh(f"/{name}.stl")]
    builder.add_body(name, joint_name=name, mass=1.0, com=(1, 0, 0), visuals=lost)
    with view(builder.build(), open_browser=False, block=False) as viewer:
        browser.open(viewer.url)
        said = "document.body.textContent.includes('onerror=document.title')"
        until(lambda: browser.evaluate(said), "the name to be shown")
        folder = "[...document.querySelectorAll('*')].filter(x => x.textContent == 'Not shown')"
        browser.evaluate(f"{folder}.forEach(x => x.click())")
        until(lambda: browser.evaluate("document.querySelector('pre') !== null"), "the list")
        assert browser.evaluate("document.querySelector('pre').textContent") == viewer.problems[0]
        assert browser.evaluate("document.querySelector('pre').children.length") == 0
        assert browser.evaluate("document.querySelectorAll('img[src^=x]').length") == 0
        assert browser.evaluate("document.title") != "owned"


def test_page_of_another_site_cannot_look(browser, machine, tmp_path):
    """It comes from a file, so its origin is another, and asks in every way that pages can."""
    with view(machine, open_browser=False, block=False) as viewer:
        address, language = viewer.url.removeprefix("http"), f"viser-v{viser.__version__}"
        page = tmp_path / "page.html"
        page.write_text(f"""<script>
            window.told = [];
            const socket = new WebSocket('ws{address}', '{language}');
            socket.onopen = () => told.push('open');
            socket.onerror = () => told.push('refused');
            fetch('{viewer.url}').then(() => told.push('read'), () => told.push('unread'));
        </script><iframe src="{viewer.url}"></iframe>""")
        browser.open(page.as_uri())
        until(lambda: browser.evaluate("told.length") == 2, "both to be answered")
        assert sorted(browser.evaluate("told.join(' ')").split()) == ["refused", "unread"]
        assert viewer._server._door.clients == 0
