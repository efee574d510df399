"""Reports as they are shown: the path of the file once, and less of it in each line."""

import os

from phipsi.model.report import Remark, Report

FOLDER = os.path.join("/home", "me", "robots")


def remark(file: str, line: int, text: str) -> Remark:
    return Remark("refused", text, (os.path.join(FOLDER, file) if file else "", line))


def test_path_of_the_file_is_shown_once():
    lines = [remark("arm.urdf", 3, "one"), remark("arm.urdf", 5, "two")]
    assert str(Report(lines)).splitlines() == [
        f"{FOLDER}/arm.urdf: 2 refused",
        "arm.urdf:3: one",
        "arm.urdf:5: two",
    ]
    assert str(lines[0]) == f"{FOLDER}/arm.urdf:3: one"
    assert repr(Report(lines)) == "<Report: 2 refused; 2 to read in .remarks>"


def test_other_files_are_shown_from_the_first_or_with_their_whole_path():
    lines = [
        remark("arm.sdf", 1, "a"),
        remark("hand/model.sdf", 2, "b"),
        remark("../x.sdf", 3, "c"),
    ]
    lines += [Remark("refused", "d", ("/elsewhere/robots/y.sdf", 4)), Remark("refused", "e")]
    assert str(Report(lines)).splitlines()[1:] == [
        "arm.sdf:1: a",
        "hand/model.sdf:2: b",
        "../x.sdf:3: c",
        "/elsewhere/robots/y.sdf:4: d",
        "e",
    ]


def test_report_without_a_file_has_no_path():
    assert str(Report([Remark("implausible", "e")])) == "1 implausible\ne"
    assert str(Report()) == "nothing to report"
