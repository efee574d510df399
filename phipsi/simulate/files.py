"""Trajectories in files: NetCDF, NumPy's arrays, tables of text.

A reader returns the names that the file has for the entries of q and v, and the
arguments of `Trajectory`; the names must be those of the user's machine.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from phipsi.cleaning import for_csv
from phipsi.errors import LONGEST_NAME, InputError, PhipsiError, name_choices
from phipsi.model.model import Model
from phipsi.simulate import dataset
from phipsi.simulate.labels import coordinate_labels, distinct, speed_labels, speed_names
from phipsi.simulate.untrusted import UnreadableError, open_ordinary, read_npz
from phipsi.whole_file import checked_path, checked_suffix, replacing

if TYPE_CHECKING:
    from phipsi.simulate.trajectory import Trajectory

Arguments = dict[str, Any]  # of Trajectory, without the model

FORMATS = (".nc", ".npz", ".csv")
ENERGIES = ("kinetic_energy", "potential_energy", "energy")
ROWS = 1000  # of a table, made into text at once


def save(traj: Trajectory, path: str | os.PathLike[str], poses: bool) -> None:
    """Write a trajectory to a file in the format that its suffix names."""
    suffix = checked_suffix(path, FORMATS)
    if suffix == ".csv":
        _check_fits_table(traj, path, poses)
    if suffix == ".nc":
        dataset.need_netcdf()
    with replacing(path) as stream:
        _WRITERS[suffix](traj, stream, poses)


def load(path: str | os.PathLike[str], model: Model) -> Arguments:
    """What `Trajectory` takes beside the model, from a file in the format that its suffix names."""
    suffix, file = checked_suffix(path, FORMATS), checked_path(path)
    if not isinstance(model, Model):
        raise InputError(f"model: expected the Model that moved, got {model!r}")
    if suffix == ".nc":
        dataset.need_netcdf()
    try:
        return _READERS[suffix](file, model)
    except PhipsiError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file (looked from {os.getcwd()!r}); check the path"
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory; give the file in it") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; check its rights") from None
    except Exception as error:  # libraries say in many ways that they cannot read a file
        is_told = isinstance(error, UnreadableError)
        why = _first_line(error) if is_told else f"{type(error).__name__}: {_first_line(error)}"
        raise InputError(
            f"{path}: holds no whole trajectory ({why}); "
            "expected a file that Trajectory.save has written"
        ) from error


# -- NumPy ---------------------------------------------------------------------------------


def _write_npz(traj: Trajectory, stream: BinaryIO, poses: bool) -> None:
    names = {
        "coordinate": [label.name for label in coordinate_labels(traj.model)],
        "speed": speed_names(traj.model),
        "body": [body.name for body in traj.model.bodies],
    }
    arrays: dict[str, Any] = {
        "time": traj.times,
        **{name: traj[name] for name in dataset.variables(traj, poses)},
        **{name: np.array(texts, dtype=str) for name, texts in names.items()},
        "model": np.array(traj.model.name),
        "complete": np.array(traj.complete),
        "about": np.array(json.dumps(dict(traj.about))),
    }
    np.savez(stream, **arrays)


def _read_npz(path: Path, model: Model) -> Arguments:
    texts = ("coordinate", "speed", "model", "about")
    found = read_npz(path, (*texts, "time", "q", "v", "complete"), ("tau",))
    if any(found[name].dtype.kind != "U" for name in texts):
        raise UnreadableError("names are no texts")
    for name in ("coordinate", "speed"):
        _check_names(path, model, name, found[name].tolist(), str(found["model"]))
    return {
        **{"times": found["time"], "q": found["q"], "v": found["v"]},
        "tau": found.get("tau"),
        "complete": bool(found["complete"]),
        "about": json.loads(str(found["about"])),
    }


# -- NetCDF --------------------------------------------------------------------------------


def _write_netcdf(traj: Trajectory, stream: BinaryIO, poses: bool) -> None:
    stream.write(dataset.to_netcdf(traj, poses))


def _read_netcdf(path: Path, model: Model) -> Arguments:
    names, made_of, arguments = dataset.from_netcdf(path)
    for name, found in names.items():
        _check_names(path, model, name, found, made_of)
    return arguments


def _check_names(path: Path, model: Model, what: str, found: list[str], made_of: str) -> None:
    """InputError unless a file's names of coordinates or speeds are those of the machine."""
    labels = coordinate_labels(model) if what == "coordinate" else speed_labels(model)
    expected = [label.name for label in labels]
    if found == expected:
        return
    known, there = set(expected), set(found)
    strange = [name for name in found if name not in known]
    missing = [name for name in expected if name not in there]
    if strange:
        why = f"its {what} {strange[0][:LONGEST_NAME]!r} is not there"
    elif missing:
        why = f"it has no {what} {missing[0]!r}"
    else:
        why = f"its {what}s are in another order"
    raise InputError(
        f"{path}: a motion of {made_of[:LONGEST_NAME]!r} with {len(found)} {what}s does not fit "
        f"{model.name!r} with {len(expected)}: {why}; give the machine that moved, loaded with the "
        "same base= and mimic="
    )


# -- tables --------------------------------------------------------------------------------


def _check_fits_table(traj: Trajectory, path: str | os.PathLike[str], poses: bool) -> None:
    size = int(np.prod(traj.batch))
    if size != 1:
        index = ", ".join("0" * len(traj.batch))
        raise InputError(
            f"{path}: a table holds one motion, and this is a batch of {size}; write one of them, "
            f"traj.member({index}).save(...), or all to .nc or .npz"
        )
    if poses:
        raise InputError(f"{path}: a table has no room for poses; write them to .nc or .npz")


def _columns(model: Model) -> dict[str, list[str]]:
    """The titles of the columns of q, v and tau, none twice."""
    speeds = speed_names(model)
    names = {"q": [label.name for label in coordinate_labels(model)], "v": speeds, "tau": speeds}
    return {
        prefix: list(distinct(for_csv(f"{prefix}.{name}") for name in names[prefix]))
        for prefix in names
    }


def _write_csv(traj: Trajectory, stream: BinaryIO, poses: bool) -> None:
    titles, columns = ["time"], [traj.times[:, None]]
    for name, own in _columns(traj.model).items():
        if name in dataset.variables(traj, poses):
            titles += own
            columns.append(traj[name].reshape(len(traj), len(own)))
    for name in ENERGIES:
        titles.append(name)
        columns.append(traj[name].reshape(len(traj), 1))
    table = np.concatenate(columns, axis=1)
    stream.write(_csv_text([titles]))
    for start in range(0, len(table), ROWS):
        stream.write(_csv_text(table[start : start + ROWS].tolist()))


def _csv_text(rows: list[list[Any]]) -> bytes:
    """Rows as text; numbers with the digits that give every bit back."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _read_csv(path: Path, model: Model) -> Arguments:
    with (
        open_ordinary(path) as stream,
        io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text,
    ):
        lines = csv.reader(text)
        titles, rows = [for_csv(title) for title in next(lines, [])], []
        for line in lines:
            try:
                rows.append([float(x) for x in line])
            except ValueError:
                raise InputError(f"{path}:{lines.line_num}: expected numbers alone") from None
            if len(line) != len(titles):
                raise InputError(
                    f"{path}:{lines.line_num}: {len(line)} numbers under {len(titles)} titles"
                )
    table = np.array(rows).reshape(len(rows), len(titles))
    place = {title: k for k, title in enumerate(titles)}
    wanted = _columns(model)
    for title in ("time", *wanted["q"], *wanted["v"]):
        if title not in place:
            raise InputError(
                f"{path}: no column {title!r}, which a motion of {model.name!r} has; its columns: "
                f"{name_choices(title, titles)}"
            )
        if titles.count(title) > 1:
            raise InputError(
                f"{path}: {titles.count(title)} columns are called {title!r}; keep one"
            )
    parts: Arguments = {"times": table[:, place["time"]]}
    for name, own in wanted.items():
        known = all(title in place for title in own)
        parts[name] = table[:, [place[title] for title in own]] if known else None
    return parts


_WRITERS: dict[str, Callable[[Trajectory, BinaryIO, bool], None]] = {
    ".nc": _write_netcdf,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
_READERS: dict[str, Callable[[Path, Model], Arguments]] = {
    ".nc": _read_netcdf,
    ".npz": _read_npz,
    ".csv": _read_csv,
}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:LONGEST_NAME]
