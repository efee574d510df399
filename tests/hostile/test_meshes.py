"""Mesh files that are broken, or would become far larger than they are: left out by name."""

from __future__ import annotations

import io
import json
import random
import resource
import struct
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from commands import call
from PIL import Image
from test_view_drawing import COLLADA

import phipsi as pp
from phipsi.cli.checking.shapes import odd_shapes
from phipsi.model.geometry import Mesh, Visual
from phipsi.view import mesh_limits, view
from phipsi.view.mesh_limits import check_collada, check_gltf
from phipsi.view.meshes import FARTHEST, Kept, Surface, read_mesh
from phipsi.view.server import close_server, open_server
from phipsi.view.shapes import add_visual

TRIES = 300  # at least
LONGEST = 10.0  # s, for a small file
ROOM = 512  # MiB, for all of them

TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
PAINTED = b"""mtllib paint.mtl
o first
v 0 0 0 1 0 0
v 1 0 0 0 1 0
v 0 1 0 0 0 1
v 0 0 1
vt 0 0
vt 1 0
vt 0 1
vn 0 0 1
usemtl paint
f 1/1/1 2/2/1 3/3/1
usemtl plain
f 1//1 2//1 4//1
f 1 2 3 4
g second
f -1 -2 -3
"""
PAINT = b"newmtl paint\nKd 1 0 0\nmap_Kd paint.png\nnewmtl plain\nKd 0 1 0\n"
ODD = (
    *(b"-1", b"0", b"99999999999", b"nan", b"1e400", b"-5", b"1/1/9999", b"2147483648", b"x", b""),
    *(b"1//", b"4294967295", b"1e38", b"1e300", b"//1", b"1/", b"0x1", b"\xff", b"-0"),
)


def memory() -> float:
    """The most that this process had, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if DARWIN else 2**10)


DARWIN = sys.platform == "darwin"


def seeds(folder: Path) -> dict[str, bytes]:
    """Sound files of each kind, and what they name, in the folder."""
    Image.new("RGB", (4, 4), (9, 90, 200)).save(folder / "paint.png")
    (folder / "paint.mtl").write_bytes(PAINT)
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    painted, coloured = box.copy(), box.copy()
    uv, image = np.linspace(0, 1, 2 * len(box.vertices)).reshape(-1, 2), folder / "paint.png"
    painted.visual = trimesh.visual.TextureVisuals(uv=uv, image=Image.open(image))
    coloured.visual.vertex_colors = np.arange(4 * len(box.vertices)).reshape(-1, 4)
    made: dict[str, bytes] = {"hand.obj": PAINTED, "hand.dae": COLLADA.encode()}
    for kind in ("stl", "stl_ascii", "obj", "ply", "off", "glb", "dae"):
        for name, mesh in (("box", box), ("painted", painted), ("coloured", coloured)):
            data = mesh.export(file_type=kind)
            made[f"{name}.{kind.partition('_')[0]}"] = (
                data if isinstance(data, bytes) else data.encode()
            )
    return made


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A file with some things wrong in it."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0:
                data = data[:place] + rng.randbytes(1) + data[place + 1 :]
            case 1:
                data = data[:place]
            case 2:
                data = data[:place] + data[place + rng.randrange(60) :]
            case 3:
                lines = data.split(b"\n")
                rng.shuffle(lines) if rng.random() < 0.2 else lines.pop(rng.randrange(len(lines)))
                data = b"\n".join(lines)
            case 4:
                words = data.split(b" ")
                words[rng.randrange(len(words))] = rng.choice(ODD)
                data = b" ".join(words)
            case 5:
                lines = data.split(b"\n")
                where = rng.randrange(len(lines))
                lines[where:where] = [rng.choice(lines)] * rng.choice((1, 3))
                data = b"\n".join(lines)
            case _:
                number = rng.choice((2**32 - 1, 2**31 - 1, 0, 0x7FC00000, 2**24))
                data = data[:place] + struct.pack("<I", number) + data[place + 4 :]
    return data


def machine_with(*paths: Path) -> pp.Model:
    builder = pp.ModelBuilder("dressed")
    builder.add_body("arm", mass=1.0, inertia=(1, 1, 1), visuals=[Mesh(path) for path in paths])
    return builder.build()


def is_drawn_or_left_out(scene: object, path: Path) -> bool:
    """Whether a mesh is drawn, all of it; where it is not, the error names its file."""
    try:
        surfaces = read_mesh(str(path))
    except pp.ModelError as error:
        assert str(error).startswith(str(path))
        with pytest.raises(pp.ModelError):
            add_visual(scene, "/mesh", Visual.of(Mesh(path)))
        return False
    for surface in surfaces:
        assert np.all(abs(surface.vertices) <= FARTHEST)
        assert surface.faces.min() >= 0 and surface.faces.max() < len(surface.vertices)
    nodes, corners = add_visual(scene, "/mesh", Visual.of(Mesh(path)))
    assert len(nodes) == len(surfaces) and np.all(np.isfinite(corners))
    return True


def attack(seed: int, seconds: float, folder: Path) -> int:
    """Broken files of all kinds, drawn and checked: so many were tried."""
    rng, end, tried, drawn = random.Random(seed), time.monotonic() + seconds, 0, 0
    sound, before, server = seeds(folder), memory(), open_server("meshes")
    try:
        while tried < TRIES or time.monotonic() < end:
            name = rng.choice(sorted(sound))
            path = folder / f"{tried} {name}"
            path.write_bytes(mutated(rng, sound[name]))
            begin = time.monotonic()
            if is_drawn_or_left_out(server.scene, path):
                drawn += 1
            odd_shapes(machine_with(path))
            assert time.monotonic() - begin < LONGEST, path
            path.unlink()
            tried += 1
        assert memory() < before + ROOM
    finally:
        close_server(server)
    assert 0 < drawn < tried
    return tried


def test_attack(fuzz, tmp_path):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds, tmp_path), "broken mesh files")


# -- files that were drawn wrongly, or not left out ------------------------------------


BROKEN = {
    "no triangles.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n",
    "flat.obj": b"v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n",
    "far.obj": b"v 0 0 0\nv 1 0 0\nv 0 1e300 0\nf 1 2 3\n",
    "nan.obj": b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n",
    "corner.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9999999999999\n",
    "line.obj": b"mtllib paint.mtl\n" + TRIANGLE[:-7] + b"vt 1\nusemtl paint\nf 1/1 2/2 3/3\n",
    "one.obj": TRIANGLE.replace(b"vt 0 0", b"vt 0")
    .replace(b"vt 1 0", b"vt 0")
    .replace(b"vt 0 1", b"vt 0"),
    "lie.stl": b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50,
    "word.stl": b"solid a\nvertex a b c\nendsolid a\n",
    "no.dae": b"<COLLADA/>",
    "text.dae": b"text",
    "no.glb": b"glTF",
    "list.gltf": b"[]",
    "count.off": b"OFF\n4000000000 4000000000 0\n0 0 0\n",
    "count.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n"
    b"property float x\nproperty float y\nproperty float z\nend_header\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_mesh_is_left_out_with_a_line(name, tmp_path, capfd):
    """On a page, and by the command that checks a machine; nothing is printed of how it failed."""
    seeds(tmp_path)
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    model = machine_with(path)
    view(model, html=tmp_path / "page.html")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"view: 'arm' is not shown: {path}: ")
    found, unread = odd_shapes(model)
    assert (found, unread.partition(": ")[0]) == ([], "1 mesh was not looked at")


def test_command_that_checks_a_machine_survives_broken_meshes(capsys, tmp_path):
    seeds(tmp_path)
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = '<link name="base"/>'
    for name, data in BROKEN.items():
        (tmp_path / name).write_bytes(data)
        mesh = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        text += f'<link name="{name}"><inertial>{inertia}</inertial>{mesh}</link>'
        text += f'<joint name="{name}" type="continuous"><parent link="base"/>'
        text += f'<child link="{name}"/></joint>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="r">{text}</robot>')
    code, out, _ = call(capsys, "check", str(tmp_path / "arm.urdf"), "--states", 2)
    assert code == 0
    assert f"{len(BROKEN)} meshes were not looked at: {tmp_path}" in out


# -- files that would become far larger ------------------------------------------------


def glb(change: object) -> bytes:
    """A box, of whose description something is changed."""
    data = trimesh.creation.box().export(file_type="glb")
    length = int.from_bytes(data[12:16], "little")
    told = json.loads(data[20 : 20 + length])
    change(told)
    text = json.dumps(told).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A)
    return head + text + rest


def name_zeros(told: dict) -> None:
    for accessor in told["accessors"]:
        del accessor["bufferView"]
        accessor["count"] = 2 * 10**9


def double(told: dict) -> None:
    first = len(told["nodes"])
    told["nodes"] += [{"children": [first + i + 1] * 2} for i in range(30)] + [{"mesh": 0}]
    told["scenes"][0]["nodes"] = [first]


def repeat(told: dict) -> None:
    first = len(told["nodes"])
    told["nodes"] += [{"mesh": 0}] * (mesh_limits.MOST_PARTS + 1)
    told["scenes"][0]["nodes"] = list(range(first, len(told["nodes"])))


def collada(nodes: str, inside: str) -> bytes:
    """A triangle, that nodes of a library put into the scene."""
    library = f"<library_nodes>{nodes}</library_nodes><library_visual_scenes>"
    text = COLLADA.replace("<library_visual_scenes>", library)
    return text.replace('<visual_scene id="s">', f'<visual_scene id="s">{inside}').encode()


def archive() -> bytes:
    """Which pycollada would unpack, whatever it is called."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.dae", COLLADA)
    return stream.getvalue()


LAUGHS = "".join(
    '<!ENTITY a{} "{}">'.format(i, f"&a{i - 1};" * 10 if i else "ha") for i in range(10)
)
TWICE = "".join(
    '<node id="n{}">{}</node>'.format(i, f'<instance_node url="#n{i + 1}"/>' * 2)
    for i in reversed(range(40))
)
END = '<node id="n40"><instance_geometry url="#g"/></node>'
HERE = '<node><instance_node url="#n0"/></node>'
BOMBS = {
    "laughs.dae": (
        COLLADA.replace("<COLLADA", f"<!DOCTYPE a [{LAUGHS}]><COLLADA", 1)
        .replace("inch", "&a9;")
        .encode(),
        "it has a <!DOCTYPE>",
    ),
    "outside.dae": (
        COLLADA.replace("<COLLADA", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><COLLADA', 1).encode(),
        "it has a <!DOCTYPE>",
    ),
    "twice.dae": (collada(END + TWICE, HERE), "its scenes name more than 10,000 geometries"),
    "itself.dae": (collada(f'<node id="n0">{HERE}</node>', HERE), "a node is within itself"),
    "deep.dae": (collada("", "<node>" * 50_000 + "</node>" * 50_000), "more than 200 deep"),
    "packed.dae": (archive(), "this is no XML"),
    "zeros.glb": (glb(name_zeros), "more than 33,554,432 zeros"),
    "twice.glb": (glb(double), "nodes within two others"),
    "again.glb": (glb(repeat), "more than 10,000 parts"),
    "materials.obj": (
        TRIANGLE + b"".join(b"usemtl m%d\nf 1 2 3\n" % i for i in range(2001)),
        "more than 2,000 materials",
    ),
    "packed.3mf": (archive(), "expected a file that ends with .stl, .obj, .dae"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_file_that_would_become_far_larger_is_left_out(name, tmp_path):
    data, said = BOMBS[name]
    path, before, begin = tmp_path / name, memory(), time.monotonic()
    path.write_bytes(data)
    with pytest.raises(pp.ModelError, match=said):
        read_mesh(str(path))
    assert memory() < before + 128
    assert time.monotonic() - begin < LONGEST


def test_geometry_is_not_named_until_it_fills_the_memory(monkeypatch):
    """Each time it weighs what it has in the file."""
    node = '<node><instance_geometry url="#g"/></node>'
    geometry = COLLADA[COLLADA.index("<geometry") : COLLADA.index("</geometry>")].encode()
    check_collada(collada("", 8 * node), 9 * len(geometry))
    with pytest.raises(pp.ModelError, match="its scenes name more than"):
        check_collada(collada("", 9 * node), 9 * len(geometry))


def test_textures_that_become_too_large_are_left_out(tmp_path, monkeypatch):
    """A kilobyte of PNG can be a gigabyte of pixels: they are counted before they are made."""
    seeds(tmp_path)
    monkeypatch.setattr(mesh_limits, "MOST_PIXELS", 31)
    (tmp_path / "one.obj").write_bytes(PAINTED)
    assert any(surface.painted for surface in read_mesh(str(tmp_path / "one.obj")))
    again = PAINT.replace(b"plain\nKd 0 1 0", b"plain\nmap_Kd paint.png")
    (tmp_path / "paint.mtl").write_bytes(again)
    (tmp_path / "two.obj").write_bytes(PAINTED)
    with pytest.raises(pp.ModelError, match="its textures have more than 31 pixels"):
        read_mesh(str(tmp_path / "two.obj"))


def test_parts_of_a_scene_have_no_more_triangles_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_limits, "MOST_TRIANGLES", 23)
    two = trimesh.Scene([trimesh.creation.box(), trimesh.creation.box((2, 2, 2))])
    two.export(tmp_path / "two.glb")
    with pytest.raises(pp.ModelError, match="or 23 triangles"):
        read_mesh(str(tmp_path / "two.glb"))


@pytest.mark.parametrize("data", [b"", b"{", b'{"accessors": 1}', b'{"nodes": [1]}', b"[" * 99_999])
def test_what_is_no_gltf_is_refused(data):
    with pytest.raises(pp.ModelError, match="this is no glTF"):
        check_gltf(data)


# -- what is kept ----------------------------------------------------------------------


def surface(points: int) -> tuple[Surface, ...]:
    return (Surface(np.zeros((points, 3)), np.zeros((0, 3), dtype=np.int64)),)


def test_surfaces_are_kept_while_there_is_room():
    kept = Kept(room=24 * 10)
    keys = [(name, 0, 0) for name in "abc"]
    first = surface(4)
    kept.put(keys[0], first)
    kept.put(keys[1], surface(4))
    assert kept.get(keys[0]) is first  # asked for last
    kept.put(keys[2], surface(4))
    assert [kept.get(key) is not None for key in keys] == [True, False, True]
    kept.put(keys[1], surface(11))
    assert kept.size == 0


def test_painted_surface_weighs_what_is_sent(tmp_path):
    seeds(tmp_path)
    (tmp_path / "one.obj").write_bytes(PAINTED)
    for each in read_mesh(str(tmp_path / "one.obj")):
        assert each.size >= each.vertices.nbytes + len(each.painted or b"")
