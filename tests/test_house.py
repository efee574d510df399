"""The page about the house names every file of its rooms, and none that is not there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([a-z_0-9/]+)`")
ROOMS = (
    *("model", "algebra", "lowering", "backends", "function", "explain", "simulate", "view", "cli"),
)


def rows(room: str) -> list[str]:
    """The lines of the table about a room."""
    part = PAGE.split(f"## The rooms of {room}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| .*\|$", part, re.M)


def first_cells(room: str) -> list[str]:
    return [row.split("|")[1] for row in rows(room)]


def told(room: str) -> set[str]:
    """What the table of a room names."""
    return {name.rstrip("/") for row in rows(room) for name in CODE.findall(row)}


def there(room: str) -> set[str]:
    """The modules and rooms within a room, however deep."""
    folder = ROOT / "phipsi" / room
    files = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    return files | {path.name for path in folder.rglob("*") if (path / "__init__.py").exists()}


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_has_its_place_on_the_page(room):
    assert there(room) - told(room) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_names_nothing_that_is_not_there(room):
    """In its first columns; a word of code in an explanation may be something else."""
    named = {name.rstrip("/") for cell in first_cells(room) for name in CODE.findall(cell)}
    assert named - there(room) == set()
