"""Reports as they are shown: the path of the file once, and less of it in each line."""

import copy
import os
import pickle

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


def test_remarks_and_reports_survive_pickling_and_copying():
    remark = Remark("refused", "a loop", ("robot.sdf", 7), "<joint 'j'>")
    report = Report([remark, Remark("used", "a link")])
    for made in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert made == report and made.remarks == (remark,)
    for line in (pickle.loads(pickle.dumps(remark)), copy.deepcopy(remark)):
        assert (line, vars(line)) == (remark, vars(remark))
