"""The house keeps its order, and the check that says so can fail."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS = next(contract["layers"] for contract in HOUSE["contracts"] if contract["id"] == "layers")
ROOMS = [name.strip(" ()") for layer in LAYERS for name in layer.split("|")]


def lint_imports(folder):
    """Exit status and report of the linter, on the package `phipsi` found in `folder`."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-cache", "--no-logo"], cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def house(tmp_path):
    """A throw-away `phipsi` with all the rooms, all empty, under the contracts of the real one."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "phipsi"
    package.mkdir()
    for room in ["__init__", *ROOMS]:
        (package / f"{room}.py").touch()
    return tmp_path


def test_imports_of_phipsi_follow_the_layers():
    status, report = lint_imports(ROOT)
    assert status == 0, report


def test_empty_house_is_in_order(house):
    status, report = lint_imports(house)
    assert status == 0, report


@pytest.mark.parametrize(
    ("room", "imported"),
    [
        ("errors", "phipsi.scalars"),
        ("spatial", "phipsi.model"),
        ("model", "phipsi.algebra"),
        ("algebra", "phipsi.lowering"),
        ("lowering", "phipsi.cli"),
        ("closed", "phipsi.flexible"),  # siblings do not know each other
        ("algebra", "numpy"),
        ("dynamics", "phipsi.lowering"),  # although it stands above it
    ],
)
def test_forbidden_import_is_reported(house, room, imported):
    (house / "phipsi" / f"{room}.py").write_text(f"import {imported}\n")
    status, report = lint_imports(house)
    assert status == 1, report
    assert f"phipsi.{room} -> {imported}" in report


def test_room_without_a_place_is_reported(house):
    (house / "phipsi" / "cellar.py").touch()
    status, report = lint_imports(house)
    assert status == 1, report
    assert "cellar" in report
