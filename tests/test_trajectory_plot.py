"""Pictures of trajectories: what is drawn is the data, and the names can be read."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from machines import MARKET
from motions import gripper, waving
from numpy.testing import assert_array_equal

import phipsi as pp
from phipsi import whole_file
from phipsi.errors import BackendError, InputError
from phipsi.simulate import plot
from phipsi.simulate.trajectory import Trajectory

NAN = float("nan")


@pytest.fixture(scope="module")
def craft():
    return pp.examples.spacecraft()


def panels(figure):
    """Of each panel its title and its lines by the name in the legend."""
    found = []
    for axes in figure.axes:
        legend = axes.get_legend()
        names = [text.get_text() for text in legend.get_texts()]
        found.append((axes.get_ylabel(), dict(zip(names, axes.lines, strict=True))))
    return found


def drawn(figure):
    """Of each panel its title and the numbers over time by name."""
    return [
        (title, {k: line.get_ydata() for k, line in own.items()}) for title, own in panels(figure)
    ]


# -- what is drawn -------------------------------------------------------------------------


def test_joints_and_energy_are_drawn_by_default(craft):
    traj = waving(craft)
    (attitude, position, angle, energy) = drawn(traj.plot())
    assert attitude[0] == "quaternion"
    assert list(attitude[1]) == ["root.qx", "root.qy", "root.qz", "root.qw"]
    assert position[0] == "position, m"
    assert_array_equal(position[1]["root.y"], traj.q[:, 5])
    assert angle[0] == "angle, rad"
    assert list(angle[1]) == [joint.name for joint in craft.joints[1:]]
    for joint in craft.joints[1:]:
        assert_array_equal(angle[1][joint.name], traj[joint.name].q[:, 0])
    assert energy[0] == "energy, J"
    assert_array_equal(energy[1]["total"], traj.energy)
    assert_array_equal(energy[1]["kinetic"], traj.kinetic_energy)
    assert_array_equal(energy[1]["potential"], traj.potential_energy)


def test_every_quantity_can_be_drawn(craft):
    traj = waving(craft, tau=np.ones((7, 12)))
    figure = traj.plot("v", "tau", "momentum", "kinetic_energy", "poses")
    found = drawn(figure)
    assert [title for title, _ in found] == [
        *("angular velocity, rad/s", "velocity, m/s", "speed, rad/s"),
        *("moment, N m", "force, N", "moment, N m"),
        *("angular momentum, N m s", "momentum, N s", "energy, J"),
        *("x of bodies, m", "y of bodies, m", "z of bodies, m"),
    ]
    assert_array_equal(found[1][1]["root.vz"], traj.v[:, 5])
    assert_array_equal(found[4][1]["root.vz"], traj.tau[:, 5])
    assert_array_equal(found[6][1]["y"], traj.momentum[:, 1])
    assert_array_equal(found[7][1]["x"], traj.momentum[:, 3])
    assert list(found[8][1]) == ["kinetic"]
    assert_array_equal(found[11][1]["bus"], traj.q[:, 6])
    assert all(line.get_xdata() is not None for line in figure.axes[0].lines)
    assert_array_equal(figure.axes[0].lines[0].get_xdata(), traj.times)
    assert [axes.get_xlabel() for axes in figure.axes] == [""] * 11 + ["time, s"]


@pytest.mark.parametrize("name", MARKET)
def test_every_machine_can_be_drawn(name):
    traj = waving(MARKET[name](), 3)
    shown = sum(len(own) for _, own in panels(traj.plot("q", "v")))
    assert shown == traj.model.nq + traj.model.nv


def test_joints_asked_for_by_name_share_their_panels():
    traj = waving(gripper())
    found = drawn(traj.plot("left slide", "energy", "right slide"))
    assert [title for title, _ in found] == ["distance, m", "speed, m/s", "energy, J"]
    assert_array_equal(found[0][1]["left slide"], traj.q[:, 1])
    assert_array_equal(found[0][1]["right slide"], 0.05 - 2.0 * traj.q[:, 1])
    assert_array_equal(found[1][1]["right slide"], -2.0 * traj.v[:, 1])


def test_where_no_force_works_no_panel_is_spent(craft):
    """The free base has no motors."""
    tau = np.zeros((7, 12))
    tau[:, 6:] = 1.0
    ((title, own),) = drawn(waving(craft, tau=tau).plot("tau"))
    assert title == "moment, N m"
    assert list(own) == [joint.name for joint in craft.joints[1:]]
    assert len(waving(craft, tau=0.0 * tau).plot("tau").axes) == 3


def test_a_quantity_asked_for_twice_is_drawn_once(arm):
    assert len(waving(arm).plot("q", "q").axes) == 1


def test_a_small_batch_is_drawn_as_thin_lines(arm):
    traj = waving(arm, batch=(2, 3))
    (axes,) = traj.plot("q").axes
    assert len(axes.lines) == 12
    assert len({line.get_color() for line in axes.lines}) == 2
    for k, line in enumerate(axes.lines):
        assert_array_equal(line.get_ydata(), traj.q.reshape(6, 7, 2)[k % 6, :, k // 6])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["joint1", "joint2"]


def test_a_large_batch_is_drawn_as_a_band_about_its_median(arm):
    traj = waving(arm, batch=(4, 5))
    figure = traj.plot("q")
    (axes,) = figure.axes
    values = traj.q.reshape(20, 7, 2)
    for k, (line, band) in enumerate(zip(axes.lines, axes.collections, strict=True)):
        assert_array_equal(line.get_ydata(), np.median(values[..., k], axis=0))
        (path,) = band.get_paths()
        assert path.vertices[:, 1].min() == values[..., k].min()
        assert path.vertices[:, 1].max() == values[..., k].max()
    assert figure.get_suptitle() == "planar arm of 2, 20 motions (median and range)"


@pytest.mark.parametrize("count", [19, 20])
def test_the_band_leaves_out_what_is_not_finite(count):
    values = np.random.default_rng(0).normal(size=(count, 5))
    values[:3, 1], values[2:, 2], values[:, 3] = NAN, np.inf, NAN
    low, middle, high = plot._spread(values)
    sound = [column[np.isfinite(column)] for column in values.T]
    for k in (0, 1, 2, 4):
        assert (low[k], middle[k], high[k]) == (sound[k].min(), np.median(sound[k]), sound[k].max())
    assert np.isnan([low[3], middle[3], high[3]]).all()


@pytest.mark.parametrize("batch", [(), (3,), (20,)])
def test_numbers_that_are_not_finite_are_drawn_as_gaps(arm, batch, tmp_path):
    good = waving(arm, batch=batch)
    q = np.array(good.q)
    q[..., 3:, :] = NAN
    q[..., 2, 0] = np.inf
    traj = Trajectory(arm, good.times, q, good.v)
    figure = traj.plot("q", "energy", "momentum", path=tmp_path / "run.png")
    assert np.isnan(figure.axes[1].lines[0].get_ydata()[3:]).all()


def test_a_single_sample_is_a_mark(arm):
    (line, *_) = waving(arm, 1).plot("q").axes[0].lines
    assert line.get_marker() == "o"


def test_the_title_says_what_it_is(arm):
    about = {"integrator": "rk4"}
    assert waving(arm).plot().get_suptitle() == "planar arm of 2"
    figure = waving(arm, batch=(3,), about=about, complete=False).plot()
    assert figure.get_suptitle() == "planar arm of 2, 3 motions, rk4, interrupted"


# -- can it be read? -----------------------------------------------------------------------


def boxes(figure):
    """Where the panels and their legends are, in pixels, and the size of the figure."""
    figure.canvas.draw()
    legends = [axes.get_legend().get_window_extent() for axes in figure.axes]
    return [axes.get_window_extent() for axes in figure.axes], legends, figure.bbox


@pytest.mark.parametrize("joints", [1, 3, 9, 20, 40, 60, 200])
def test_names_stand_beside_the_panel_and_inside_the_figure(joints):
    figure = waving(pp.chain(joints), 3).plot()
    areas, legends, whole = boxes(figure)
    for area, legend in zip(areas, legends, strict=True):
        assert area.width > 0.6 * whole.width
        assert legend.x0 >= area.x1
        assert legend.x1 <= whole.x1
        assert legend.y0 >= area.y0 - 2.0
        assert legend.y1 <= area.y1 + 0.05 * area.height
    for above, below in pairwise(legends):
        assert below.y1 < above.y0


@pytest.mark.parametrize("joints", [3, 9, 40])
def test_lines_can_be_told_apart(joints):
    figure = waving(pp.chain(joints), 3).plot("q")
    looks = {
        (tuple(np.atleast_1d(line.get_color())), line.get_linestyle())
        for line in figure.axes[0].lines
    }
    assert len(looks) == joints


def test_a_joint_has_one_colour_in_all_panels(craft):
    found = panels(waving(craft).plot("q", "v"))
    angles, speeds = found[2][1], found[5][1]
    for name in angles:
        assert angles[name].get_color() == speeds[name].get_color()


def test_of_very_many_lines_those_that_move_most_are_named():
    chain = pp.chain(200)
    reach = np.random.default_rng(0).permutation(200) + 1.0
    q = np.linspace(0.0, 1.0, 5)[:, None] * reach
    (axes,) = Trajectory(chain, np.arange(5.0), q, q).plot("q").axes
    legend = axes.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    named = [reach[int(name[5:]) - 1] for name in names]
    assert len(axes.lines) == 200
    assert 30 < len(names) < 80
    assert sorted(named) == list(range(201 - len(names), 201))
    assert legend.get_title().get_text() == "those of 200 that move most"


def test_the_total_energy_lies_under_its_parts(arm):
    total, *parts = waving(arm).plot("energy").axes[0].lines
    assert all(total.get_linewidth() > part.get_linewidth() for part in parts)


def test_signs_in_names_are_drawn_as_they_are(tmp_path):
    builder = pp.ModelBuilder("_$\\frac$")
    for name in ("_a", "$\\frac{$", "c^$d$"):
        builder.add_body(name, joint_name=name, mass=1.0, com=(1, 0, 0))
    figure = waving(builder.build()).plot("q", path=tmp_path / "run.png")
    assert list(panels(figure)[0][1]) == ["_a", "$\\frac{$", "c^$d$"]


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")],
)
def test_pictures_are_written_and_the_same_motion_gives_the_same_bytes(
    arm, tmp_path, suffix, start
):
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "other")]
    for path in paths:
        waving(arm).plot(path=path)
    assert paths[0].read_bytes().startswith(start)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths


def test_pictures_carry_no_date(arm, tmp_path):
    for suffix in (".svg", ".pdf"):
        waving(arm).plot(path=tmp_path / f"run{suffix}")
        assert b"Date" not in (tmp_path / f"run{suffix}").read_bytes()


def test_pyplot_and_the_settings_of_the_user_stay_untouched(tmp_path):
    """No display, no figure of pyplot, no setting that is not as it was."""
    code = f"""
import sys
import numpy as np, phipsi as pp, matplotlib
from phipsi.simulate.trajectory import Trajectory
settings = lambda: {{k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}}
before = settings()  # asking for the backend would import pyplot
arm = pp.examples.planar_arm(2)
traj = Trajectory(arm, [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 2)))
for suffix in ("png", "svg", "pdf"):
    traj.plot(path="{tmp_path}/run." + suffix)
print("matplotlib.pyplot" in sys.modules, settings() == before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_write_that_fails_leaves_what_was_there(arm, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.png"
    path.write_bytes(b"earlier")
    monkeypatch.setattr(whole_file.os, "fsync", fail)
    with pytest.raises(InputError, match=r"run\.png: cannot be written: the disk is full"):
        waving(arm).plot(path=path)
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


# -- refusals --------------------------------------------------------------------------------


def welded():
    builder = pp.ModelBuilder("statue")
    builder.add_body("a", joint=pp.joints.Fixed(), mass=1.0)
    return Trajectory(builder.build(), [0.0, 1.0], np.zeros((2, 0)), np.zeros((2, 0)))


@pytest.mark.parametrize(
    ("quantities", "path", "message"),
    [
        (("joint3",), None, "has no quantity 'joint3'; did you mean 'joint2'? Valid names: 'q'"),
        (("enrgy",), None, "has no quantity 'enrgy'; did you mean 'energy'?"),
        (("tau",), None, "has no quantity 'tau'; it was made without a control"),
        ((["q", "v"],), None, "plot: ['q', 'v'] is no name of a quantity; see traj.quantities"),
        (("q",), "run.pngg", "unknown suffix '.pngg'; did you mean '.png'? Valid names: '.png'"),
        (("q",), "run", "run: no suffix says which format it has; valid names: '.png', '.svg'"),
        (("q",), "nowhere/run.png", "cannot be written: there is no directory"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arm, tmp_path, monkeypatch, quantities, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        waving(arm).plot(*quantities, path=path)
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw_is_refused(arm):
    with pytest.raises(
        InputError, match=r"plot: there is nothing to draw in <Trajectory of 'statue'"
    ):
        welded().plot("q", "poses")
    assert len(welded().plot().axes) == 1  # its energy
    with pytest.raises(InputError, match=r"there is nothing to draw in .* batch \(0,\)>"):
        waving(arm, batch=(0,)).plot()


def test_a_missing_extra_is_asked_for(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BackendError) as caught:
        waving(arm).plot()
    assert str(caught.value) == "a plot needs matplotlib: pip install 'phipsi[plot]'"
