"""Trajectories in files: every bit comes back, and what does not fit is refused."""

import csv
import os
import sys
import zipfile

import h5netcdf.attrs
import numpy as np
import pytest
import xarray as xr
from machines import MARKET
from motions import gripper, refusal, waving
from numpy.testing import assert_array_equal

import phipsi as pp
from phipsi import joints
from phipsi.cleaning import NETCDFS_OWN
from phipsi.errors import BackendError
from phipsi.simulate.trajectory import Trajectory

FORMATS = (".nc", ".npz", ".csv")


@pytest.fixture(scope="module")
def craft():
    return pp.examples.spacecraft()


def same_bits(one, other):
    """Whether two arrays are the same, NaN, infinities and the sign of zero included."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


# -- there and back ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", ["tree_of_every_kind", "mimics", "spacecraft"])
def test_every_bit_comes_back(tmp_path, name, suffix):
    model = MARKET[name]()
    traj = waving(model, 5, tau=np.random.default_rng(1).normal(size=(5, model.nv)) * 1e-300)
    v = np.array(traj.v)
    v[1:, 0] = np.nan, -0.0, 5e-324, -np.inf
    traj = Trajectory(model, traj.times / 3.0, traj.q, v, traj.tau)
    traj.save(tmp_path / f"run{suffix}")
    back = Trajectory.load(tmp_path / f"run{suffix}", model)
    for array in ("times", "q", "v", "tau"):
        assert same_bits(getattr(back, array), getattr(traj, array))
    assert back.model is model


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
@pytest.mark.parametrize("batch", [(3,), (2, 1, 2)])
def test_batches_and_what_is_said_about_them_come_back(tmp_path, craft, suffix, batch):
    about = {"integrator": "rk4", "dt": 1e-3, "seed": 2**62, "note": "", "stiff": True, "ü": "µ"}
    traj = waving(craft, 4, batch, complete=False, about=about)
    traj.save(tmp_path / f"run{suffix}")
    back = Trajectory.load(tmp_path / f"run{suffix}", craft)
    assert same_bits(back.q, traj.q)
    assert same_bits(back.v, traj.v)
    assert back.tau is None
    assert back.complete is False
    assert back.about == about


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_machine_without_coordinates_comes_back(tmp_path, suffix):
    builder = pp.ModelBuilder("statue")
    builder.add_body("a", joint=joints.Fixed(), mass=1.0)
    statue = builder.build()
    path = tmp_path / f"run{suffix}"
    Trajectory(statue, [0.0, 1.0], np.zeros((2, 0)), np.zeros((2, 0))).save(path)
    assert Trajectory.load(path, statue).q.shape == (2, 0)


# The last two differ, and look the same.
SPITEFUL = ("=1+1", "@x", "\x1b[2J", "a\u202eb", "\u3164", "a/b", " ", "two\r", "two\\r")


@pytest.mark.parametrize("suffix", FORMATS)
def test_names_with_signs_in_them_come_back(tmp_path, suffix):
    builder = pp.ModelBuilder('a "quoted", name\n')
    for name in (*("a,b", 'say "x"', "two\nlines", "größe", "'", "$\\frac"), *SPITEFUL):
        builder.add_body(name, joint_name=name, mass=1.0, com=(1, 0, 0))
    odd = builder.build()
    traj = waving(odd)
    traj.save(tmp_path / f"run{suffix}")
    assert same_bits(Trajectory.load(tmp_path / f"run{suffix}", odd).q, traj.q)


def test_titles_of_tables_are_seen_and_none_is_there_twice(tmp_path):
    builder = pp.ModelBuilder("odd")
    for name in SPITEFUL:
        builder.add_body(name, joint_name=name, mass=1.0, com=(1, 0, 0))
    traj = waving(builder.build())
    traj.save(tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_bytes().decode().split("\n")
    assert len(lines) == 1 + len(traj) + 1
    assert lines[0].isprintable() and "\u3164" not in lines[0]
    (titles,) = csv.reader(lines[:1])
    assert len(set(titles)) == len(titles) == 1 + 2 * len(SPITEFUL) + 3
    assert [title for title in titles if "two" in title] == [
        *("q.two\\r", "q.two\\r'", "v.two\\r", "v.two\\r'"),
    ]


def test_a_table_with_raw_titles_is_read(tmp_path):
    builder = pp.ModelBuilder("odd")
    builder.add_body("a", joint_name="two\nlines", mass=1.0, com=(1, 0, 0))
    (tmp_path / "run.csv").write_text('time,"q.two\nlines","v.two\nlines"\n0,1,2\n')
    back = Trajectory.load(tmp_path / "run.csv", builder.build())
    assert (back.q.item(), back.v.item()) == (1.0, 2.0)


# What is said about a motion, and what NetCDF calls it.
ABOUT = {
    **{"plain": "plain", "2nd": "2nd", "_own": "_own", "größe": "größe", "a b": "a b"},
    **{"a/b": "a_b", "a_b": "a_b'", "\x1b[2J": "_\\x1b[2J", "a\nb": "a\\nb", "-x": "_-x"},
    **{" model": "model'", "CLASS": "_CLASS", "NAME": "_NAME", "_NCProperties": "__NCProperties"},
    **{"DIMENSION_LIST": "_DIMENSION_LIST", "REFERENCE_LIST": "_REFERENCE_LIST"},
    **{name: f"_{name}" for name in ("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict")},
}


def test_what_is_said_about_a_motion_has_names_that_netcdf_allows(tmp_path, craft):
    about = dict(zip(ABOUT, range(len(ABOUT)), strict=True))
    traj = waving(craft, about=about)
    for suffix in (".nc", ".npz"):
        traj.save(tmp_path / f"run{suffix}")
    assert Trajectory.load(tmp_path / "run.npz", craft).about == about
    renamed = {ABOUT[name]: value for name, value in about.items()}
    assert Trajectory.load(tmp_path / "run.nc", craft).about == renamed
    with xr.open_dataset(tmp_path / "run.nc") as found:
        assert found.attrs == {"model": craft.name, "complete": 1} | renamed


def test_names_that_are_netcdfs_own_are_those_of_its_writer():
    assert h5netcdf.attrs._HIDDEN_ATTRS == NETCDFS_OWN


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_the_same_motion_gives_the_same_bytes(tmp_path, craft, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "other")]
    for path in paths:
        waving(craft, about={"dt": 0.1}).save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_no_time_of_writing_is_in_a_file_of_arrays(tmp_path, craft):
    waving(craft).save(tmp_path / "run.npz")
    with zipfile.ZipFile(tmp_path / "run.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_same_motion_gives_the_same_arrays_of_netcdf(tmp_path, craft):
    for name in ("one.nc", "other.nc"):
        waving(craft, about={"dt": 0.1}).save(tmp_path / name)
    with xr.open_dataset(tmp_path / "one.nc") as one, xr.open_dataset(tmp_path / "other.nc") as two:
        xr.testing.assert_identical(one, two)


# -- what others find in them ----------------------------------------------------------------


def test_a_dataset_has_named_dimensions_and_units(craft):
    traj = waving(craft, 4, (3,), tau=np.ones((3, 4, 12)), about={"integrator": "rk4"})
    found = traj.to_xarray(poses=True)
    sizes = {"batch": 3, "time": 4, "coordinate": 13, "speed": 12, "component": 6}
    assert dict(found.sizes) == {**sizes, "body": 7, "row": 4, "column": 4}
    leading = ("batch", "time")
    assert {name: array.dims for name, array in found.data_vars.items()} == {
        "q": (*leading, "coordinate"),
        "v": (*leading, "speed"),
        "tau": (*leading, "speed"),
        "kinetic_energy": leading,
        "potential_energy": leading,
        "energy": leading,
        "momentum": (*leading, "component"),
        "poses": (*leading, "body", "row", "column"),
    }
    for name, array in found.data_vars.items():
        assert_array_equal(array.values, traj[name])
    assert found.attrs == {"model": "two-arm spacecraft", "complete": 1, "integrator": "rk4"}
    assert found.time.attrs["units"] == "s"
    assert found.energy.attrs["units"] == "J"
    forearm = found.sel(coordinate="left forearm_joint", speed="left forearm_joint")
    assert_array_equal(forearm.q, traj["left forearm_joint"].q[..., 0])
    assert (forearm.coordinate_unit, forearm.speed_unit, forearm.force_unit) == (
        *("rad", "rad/s", "N m"),
    )
    height = found.q.sel(coordinate="root.z")
    assert (height.coordinate_joint, height.coordinate_unit) == ("root", "m")
    assert_array_equal(height, traj.q[..., 6])
    assert_array_equal(found.momentum.sel(component="linear_x"), traj.momentum[..., 3])
    assert found.sel(component="angular_y").component_unit == "N m s"
    tip = found.poses.sel(body="right forearm")
    assert_array_equal(tip, traj.poses[..., 6, :, :])


def test_several_axes_of_a_batch_are_numbered_and_one_motion_has_none(craft):
    assert waving(craft, 2, (2, 3)).to_xarray().energy.dims == ("batch0", "batch1", "time")
    plain = waving(craft, 2).to_xarray()
    assert plain.energy.dims == ("time",)
    assert "poses" not in plain
    assert "tau" not in plain


def test_a_netcdf_file_is_the_dataset(tmp_path, craft):
    traj = waving(craft, 4, (3,), about={"dt": 0.1})
    for poses in (False, True):
        traj.save(tmp_path / "run.nc", poses=poses)
        with xr.open_dataset(tmp_path / "run.nc") as found:
            xr.testing.assert_identical(found.load(), traj.to_xarray(poses=poses))


def test_a_file_of_arrays_has_them_by_name(tmp_path, craft):
    traj = waving(craft, 4, (3,), tau=np.ones((3, 4, 12)))
    traj.save(tmp_path / "run.npz", poses=True)
    with np.load(tmp_path / "run.npz") as found:
        assert_array_equal(found["time"], traj.times)
        for name in ("q", "v", "tau", "kinetic_energy", "energy", "momentum", "poses"):
            assert_array_equal(found[name], traj[name])
        assert found["coordinate"][7] == "left shoulder_joint"
        assert found["speed"][0] == "root.omega_x"
        assert found["body"][0] == "bus"
        assert str(found["model"]) == "two-arm spacecraft"


def test_a_table_has_a_column_for_every_number(tmp_path):
    traj = waving(gripper(), 1203, (1,), tau=np.arange(2406.0).reshape(1, 1203, 2))
    traj.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == [
        *("time", "q.wrist", "q.left slide", "v.wrist", "v.left slide"),
        *("tau.wrist", "tau.left slide", "kinetic_energy", "potential_energy", "energy"),
    ]
    assert len(rows) == 1203
    for title, array in (
        ("time", traj.times),
        ("q.left slide", traj.q[0, :, 1]),
        ("v.wrist", traj.v[0, :, 0]),
        ("tau.left slide", traj.tau[0, :, 1]),
        ("energy", traj.energy[0]),
    ):
        assert_array_equal([float(row[title]) for row in rows], array)


def test_columns_of_a_table_may_come_in_any_order_beside_others(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text(
        "mood,v.wrist,v.left slide,q.left slide,q.wrist,time\n7,1,2,3,4,0\n7,1,2,3,4,1\n"
    )
    back = Trajectory.load(path, gripper())
    assert_array_equal(back.times, [0.0, 1.0])
    assert_array_equal(back.q, [[4.0, 3.0], [4.0, 3.0]])
    assert_array_equal(back.v, [[1.0, 2.0], [1.0, 2.0]])
    assert back.tau is None


# -- what does not fit -------------------------------------------------------------------------


def test_a_table_holds_one_motion(tmp_path, craft):
    message = refusal(waving(craft, batch=(2, 3)).save, tmp_path / "run.csv")
    assert message == (
        f"{tmp_path}/run.csv: a table holds one motion, and this is a batch of 6; write one of "
        "them, traj.member(0, 0).save(...), or all to .nc or .npz"
    )
    message = refusal(waving(craft).save, tmp_path / "run.csv", poses=True)
    assert message.endswith("a table has no room for poses; write them to .nc or .npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_the_motion_of_another_machine_is_refused(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    waving(pp.chain(3)).save(path)
    message = refusal(Trajectory.load, path, pp.chain(2))
    assert message == (
        f"{path}: a motion of 'chain of 3' with 3 coordinates does not fit 'chain of 2' with 2: "
        "its coordinate 'joint3' is not there; give the machine that moved, loaded with the same "
        "base= and mimic="
    )
    assert "it has no coordinate 'joint4'" in refusal(Trajectory.load, path, pp.chain(4))
    builder = pp.ModelBuilder("turned")
    for name in ("joint2", "joint1", "joint3"):
        builder.add_body(f"of {name}", joint_name=name, mass=1.0, com=(1, 0, 0))
    message = refusal(Trajectory.load, path, builder.build())
    assert "its coordinates are in another order" in message


def test_names_of_speeds_must_fit_too(tmp_path, arm):
    path = tmp_path / "run.npz"
    waving(arm).save(path)
    with np.load(path) as found:
        arrays = dict(found)
    np.savez(path, **{**arrays, "speed": np.array(["joint1", "jointX"])})
    message = refusal(Trajectory.load, path, arm)
    assert (
        "with 2 speeds does not fit 'planar arm of 2' with 2: its speed 'jointX' is not" in message
    )
    path = tmp_path / "run.nc"
    waving(arm).to_xarray().assign_coords(speed=["joint1", "jointX"]).to_netcdf(
        path, engine="h5netcdf"
    )
    assert "its speed 'jointX' is not there" in refusal(Trajectory.load, path, arm)


def test_a_table_of_another_machine_is_refused(tmp_path):
    path = tmp_path / "run.csv"
    waving(pp.chain(2)).save(path)
    message = refusal(Trajectory.load, path, pp.chain(3))
    assert message == (
        f"{path}: no column 'q.joint3', which a motion of 'chain of 3' has; its columns: did you "
        "mean 'q.joint2'? Valid names: 'time', 'q.joint1', 'q.joint2', 'v.joint1', 'v.joint2', "
        "'kinetic_energy', 'potential_energy', 'energy'"
    )


TABLE = "time,q.hinge,v.hinge\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'time', which a motion of 'chain of 1' has"),
        (TABLE + "0,1,2\n1,oops,2\n", ":3: expected numbers alone"),
        (TABLE + "0,1,2\n1,2\n", ":3: 2 numbers under 3 titles"),
        ("time,q.hinge,v.hinge,q.hinge\n0,1,2,3\n", "2 columns are called 'q.joint1'; keep one"),
        ('"' + "x" * 200_000, "holds no whole trajectory (Error: field larger than"),
        (TABLE, "times has shape (0,); expected (T,), one time or more"),
        (TABLE + "1,1,1\n0,1,1\n", "times: expected finite numbers, each greater than the one"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "run.csv"
    path.write_text(text.replace("hinge", "joint1"))
    assert message in refusal(Trajectory.load, path, pp.chain(1))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("damage", ["half", "noise", "empty"])
def test_a_damaged_file_is_refused(tmp_path, craft, suffix, damage):
    path = tmp_path / f"run{suffix}"
    waving(craft).save(path)
    data = path.read_bytes()
    noise = b"\xff\x00\x9d" + bytes(range(256))
    path.write_bytes({"half": data[: len(data) // 2], "noise": noise, "empty": b""}[damage])
    if (suffix, damage) == (".csv", "half"):  # the last line is cut
        path.write_bytes(data[:-9].rpartition(b",")[0])
    message = refusal(Trajectory.load, path, craft)
    assert message.startswith(f"{path}")


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_a_file_of_something_else_is_refused(tmp_path, craft, suffix):
    path = tmp_path / f"run{suffix}"
    if suffix == ".npz":
        np.savez(path, a=np.zeros(3))
    else:
        xr.Dataset({"a": ("x", np.zeros(3))}).to_netcdf(path, engine="h5netcdf")
    message = refusal(Trajectory.load, path, craft)
    assert message.startswith(f"{path}: holds no whole trajectory (KeyError: ")
    assert message.endswith("expected a file that Trajectory.save has written")


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_cannot_be_read_is_told(tmp_path, craft, suffix):
    path = tmp_path / f"run{suffix}"
    message = refusal(Trajectory.load, path, craft)
    assert message == f"{path}: no such file (looked from {os.getcwd()!r}); check the path"
    path.mkdir()
    assert refusal(Trajectory.load, path, craft).endswith("a directory; give the file in it")


def test_a_machine_is_needed_to_load(tmp_path):
    message = refusal(Trajectory.load, tmp_path / "run.npz", "craft")
    assert message == "model: expected the Model that moved, got 'craft'"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("run.np", "run.np: unknown suffix '.np'; did you mean '.npz'? Valid names: '.nc', '.npz'"),
        ("run.mat", "run.mat: unknown suffix '.mat'; valid names: '.nc', '.npz', '.csv'"),
        ("run", "run: no suffix says which format it has; valid names: '.nc', '.npz', '.csv'"),
        ("", "path is ''; expected the path of a file"),
        ("a\0.nc", "path is 'a\\x00.nc'; expected the path of a file"),
        (7, "path is 7; expected the path of a file"),
    ],
)
def test_a_path_that_says_no_format_is_refused(craft, path, message):
    assert message in refusal(waving(craft).save, path)
    assert message in refusal(Trajectory.load, path, craft)


def test_suffixes_in_capitals_are_known(tmp_path, craft):
    waving(craft).save(tmp_path / "RUN.CSV")
    assert len(Trajectory.load(tmp_path / "RUN.CSV", craft)) == 7


@pytest.mark.parametrize("module", ["xarray", "h5netcdf", "h5py"])
def test_a_missing_extra_is_asked_for(tmp_path, craft, monkeypatch, module):
    traj = waving(craft)
    monkeypatch.setitem(sys.modules, module, None)
    wanted = f"needs {module}: pip install 'phipsi[data]'"
    assert wanted in refusal(traj.save, tmp_path / "run.nc", error=BackendError)
    assert wanted in refusal(Trajectory.load, tmp_path / "run.nc", craft, error=BackendError)
    assert not list(tmp_path.iterdir())
    traj.save(tmp_path / "run.npz")  # NumPy alone
    if module == "xarray":
        assert wanted in refusal(traj.to_xarray, error=BackendError)
