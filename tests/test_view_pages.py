"""Pages that stand alone: what is written, and what happens where it cannot be."""

import os
import threading

import numpy as np
import pytest
from viewing import lifting

import phipsi as pp
from phipsi.view import recording, view
from phipsi.view.subject import subject_of


@pytest.fixture
def motion(arm):
    return lifting(arm)


# -- pages of their own ----------------------------------------------------------------


def test_page_is_written_whole_and_the_same_each_time(motion, tmp_path):
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    assert view(motion, html=first) == first
    view(motion, html=str(second))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 1.5e6
    assert "<title>planar arm of 2</title>" in first.read_text()[:4000]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_name_of_the_machine_is_text_on_the_page(tmp_path):
    builder = pp.ModelBuilder("<script>alert(1)</script>")
    builder.add_body("a/b", mass=1.0, com=(1, 0, 0))
    text = view(builder.build(), html=tmp_path / "page.html").read_text()
    assert "<script>alert" not in text
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in text


@pytest.mark.parametrize("fps", [0, -1, np.nan, "30", True, 1000])
def test_what_is_no_frame_rate_is_refused(motion, tmp_path, fps):
    with pytest.raises(pp.InputError, match=r"view: fps is .*; expected frames a second"):
        view(motion, html=tmp_path / "run.html", fps=fps)
    assert list(tmp_path.iterdir()) == []


def test_more_frames_make_a_longer_page(motion, tmp_path):
    sizes = [view(motion, html=tmp_path / "run.html", fps=fps).stat().st_size for fps in (5, 60)]
    assert sizes[0] < sizes[1]


def test_film_has_the_frames_of_the_motion(motion):
    subject = subject_of(motion)
    np.testing.assert_allclose(subject.frames(4.0), [0.0, 0.25, 0.5, 0.75, 1.0])
    poses = subject.poses(subject.frames(4.0))
    angles = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(poses[:, 1, 0, 3], np.cos(angles), atol=1e-12)


def test_page_that_cannot_be_written_is_refused_and_leaves_nothing(motion, tmp_path):
    with pytest.raises(pp.InputError, match=r"there is no directory .*; make it first"):
        view(motion, html=tmp_path / "missing" / "run.html")
    with pytest.raises(pp.InputError, match="is a directory; give the name of a file in it"):
        view(motion, html=tmp_path)
    with pytest.raises(pp.InputError, match="expected the path of a file"):
        view(motion, html=3)
    assert list(tmp_path.iterdir()) == []


def test_interrupted_page_leaves_the_earlier_one(motion, tmp_path, monkeypatch):
    path = tmp_path / "run.html"
    path.write_text("earlier")

    def interrupt(*_):
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(recording, "set_stage", interrupt)
    with pytest.raises(KeyboardInterrupt):
        view(motion, html=path)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("earlier", [path])
    assert threading.active_count() <= before


def test_full_disk_is_told_and_leaves_nothing(motion, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(pp.InputError, match=r"run.html: cannot be written: the disk is full"):
        view(motion, html=tmp_path / "run.html")
    assert list(tmp_path.iterdir()) == []


def test_large_page_is_told(motion, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recording, "LARGE", 1e5)
    view(motion, html=tmp_path / "run.html")
    assert "MB, which browsers load slowly; a lower fps" in capsys.readouterr().err
