"""SDF files whose joints close loops, and the tree that is made of them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sdf_text import anchors, assert_is_the_file, joint, link, read_text, world_poses

import phipsi as pp
from phipsi import joints
from phipsi.model.files.sdf.tree import Carrier, Edge, span


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model called trial with that body."""
    return partial(read_text, tmp_path)


# -- which joints carry ----------------------------------------------------------------


def links_of(*names: str) -> str:
    return "".join(link(name, pose=f"{k} 0.5 0 0.1 0 {k}") for k, name in enumerate(names))


SQUARE = links_of("a", "b", "c", "d") + joint("ab", "a", "b") + joint("bc", "b", "c")


def carried(model: pp.Model) -> dict[str, str]:
    """By joint, the body that it carries."""
    names = (body.name for body in model.bodies)
    return {joint.name: name for joint, name in zip(model.joints, names, strict=True)}


def test_a_joint_whose_child_has_a_parent_closes_a_loop(read, tmp_path):
    model = read(SQUARE + joint("ad", "a", "d") + joint("dc", "d", "c", type="ball"))
    assert carried(model) == {"root": "a", "ab": "b", "bc": "c", "ad": "d"}
    (loop,) = model.closures
    assert (loop.name, loop.kind, loop.equations) == ("dc", joints.Spherical(), 3)
    assert (loop.first.link, loop.second.link) == ("d", "c")
    assert_is_the_file(model, tmp_path / "trial.sdf")


def test_the_later_joint_of_a_circle_closes_it(read, tmp_path):
    model = read(SQUARE + joint("cd", "c", "d") + joint("da", "d", "a", type="fixed"))
    assert carried(model) == {"root": "a", "ab": "b", "bc": "c", "cd": "d"}
    assert [(loop.name, loop.equations) for loop in model.closures] == [("da", 6)]
    assert_is_the_file(model, tmp_path / "trial.sdf")


def test_a_joint_may_carry_what_is_only_attached_later(read, tmp_path):
    """The rod holds the tip before anything holds the rod: not that joint is cut."""
    body = links_of("base", "tip", "rod", "end")
    body += joint("rod-end", "rod", "end") + joint("base-tip", "base", "tip")
    body += joint("tip-rod", "tip", "rod") + joint("base-end", "base", "end")
    model = read(body)
    assert carried(model) == {"root": "base", "base-tip": "tip", "tip-rod": "rod", "rod-end": "end"}
    assert [loop.name for loop in model.closures] == ["base-end"]
    assert_is_the_file(model, tmp_path / "trial.sdf")


def test_a_machine_without_loops_has_no_closures_whichever_way_its_joints_point(read, tmp_path):
    """b is held by a and by c, and c by nothing: joint cb carries c on b, the other way round."""
    model = read(
        links_of("a", "b", "c", "d")
        + joint("ab", "a", "b")
        + joint("cb", "c", "b")
        + joint("cd", "c", "d", type="prismatic")
    )
    assert carried(model) == {"root": "a", "ab": "b", "cb": "c@cb", "cd": "d"}
    assert model.closures == ()
    assert_is_the_file(model, tmp_path / "trial.sdf")
    (remark,) = model.report.remarks
    assert "joint 'cb' carries 'c', its parent, on 'b'" in remark


@pytest.mark.parametrize("type", ["revolute", "prismatic", "universal", "fixed", "ball"])
def test_a_joint_taken_backwards_means_the_same(read, tmp_path, type):
    """All but the ball's quaternion, which turns the other way, and the order of two angles."""
    second = "<axis2><xyz>0 1 0</xyz></axis2>" if type == "universal" else ""
    axis = "<axis><xyz>1 0.2 0.3</xyz></axis>" if type not in ("fixed", "ball") else ""
    body = links_of("a", "b", "c") + joint("ab", "a", "b")
    model = read(body + joint("cb", "c", "b", axis + second, type))
    q = model.random(np.random.default_rng(1))
    own = q[model.joint("cb").q] if type != "fixed" else None
    if type == "ball":
        own = own * (-1, -1, -1, 1)
    if type == "universal":
        own = own[::-1]
    straight = read(body + joint("cb", "b", "c", type="fixed"))
    poses, still = world_poses(model, q), world_poses(straight)
    local = np.linalg.inv(still["c"]) @ still["b"]  # of b in c, where the joint frame is b's
    turned = np.eye(4)
    if type != "fixed":
        kind = {
            "revolute": joints.Revolute((1, 0.2, 0.3)),
            "prismatic": joints.Prismatic((1, 0.2, 0.3)),
            "universal": joints.Universal((1, 0.2, 0.3), (0, 1, 0)),
            "ball": joints.Spherical(),
        }[type]
        R, l = kind.transform(list(own))
        turned[:3, :3], turned[:3, 3] = R, l
    np.testing.assert_allclose(np.linalg.inv(poses["c"]) @ poses["b"], local @ turned, atol=1e-12)
    assert [text for text in model.report.remarks if "its parent" in text] or type == "fixed"


def test_what_is_held_twice_from_apart_is_turned_round_as_a_whole(read, tmp_path):
    """e carries f and g; g is held by a: the tree of e hangs on a by g, f and e turned round."""
    body = links_of("a", "e", "f", "g") + joint("ef", "e", "f") + joint("fg", "f", "g")
    model = read(body + joint("ga", "g", "a", type="prismatic"))
    assert carried(model) == {"root": "e", "ef": "f", "fg": "g", "ga": "a"}
    model = read(body + joint("ag", "a", "g", type="prismatic"))
    parents = [model.bodies[body.parent].name for body in model.bodies[1:]]
    assert [body.name.partition("@")[0] for body in model.bodies] == ["a", "g", "f", "e"]
    assert [name.partition("@")[0] for name in parents] == ["a", "g", "f"]
    assert_is_the_file(model, tmp_path / "trial.sdf")


def test_an_engine_may_be_told_where_to_cut(read, tmp_path):
    cut = "<physics><simbody><must_be_loop_joint>1</must_be_loop_joint></simbody></physics>"
    body = links_of("a", "b", "c") + joint("ab", "a", "b", cut) + joint("bc", "b", "c")
    model = read(body + joint("ac", "a", "c"))
    assert [loop.name for loop in model.closures] == ["ab"]
    assert_is_the_file(model, tmp_path / "trial.sdf")
    assert read(body).closures == ()  # no loop, nothing to cut


def test_the_world_is_held_by_nothing(read):
    model = read(
        links_of("a", "b") + joint("ab", "a", "b") + joint("bw", "b", "world", type="ball")
    )
    assert carried(model) == {"bw": "b@bw", "ab": "a@ab"}
    assert model.closures == ()
    model = read(links_of("a") + joint("wa", "world", "a") + joint("aw", "a", "world"))
    assert [loop.name for loop in model.closures] == ["aw"]
    first, second = anchors(model)["aw"]
    np.testing.assert_allclose(first, np.eye(4), atol=1e-15)
    np.testing.assert_allclose(second, first, atol=1e-12)


def test_what_acts_in_a_closure_is_refused_and_its_limits_are_not_kept(read):
    inside = """<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit>
        <dynamics><damping>0.5</damping></dynamics></axis>"""
    text = SQUARE + joint("ad", "a", "d") + joint("dc", "d", "c", inside)
    report = read(text).report
    assert [line.element for line in report.refused] == ["<damping>"]
    told = " ".join(report.remarks)
    assert "closes a loop, and so is without its damping" in told
    assert "closes a loop, and so is without its lower, upper" in told
    assert {"<lower>", "<upper>"} == {line.element for line in report.ignored}
    with pytest.raises(pp.errors.ModelError, match=r"without its damping.*strict=False leaves it"):
        read(text, strict=True)


FOUR_BAR = """
<link name="ground"/><link name="crank"><pose>0 0 0 0 0.6 0</pose></link>
<link name="coupler"><pose relative_to="b">0 0 0 0 -0.2 0</pose></link>
<link name="rocker"><pose relative_to="d">0 0 0 0 0 0</pose></link>
<frame name="d"><pose>2 0 0 0 0.9 0</pose></frame>
<frame name="b" attached_to="crank"><pose>0 0 1 0 0 0</pose></frame>
<joint name="stand" type="fixed"><parent>world</parent><child>ground</child></joint>
<joint name="one" type="revolute"><parent>ground</parent><child>crank</child>{axis}</joint>
<joint name="two" type="revolute"><parent>crank</parent><child>coupler</child>{axis}</joint>
<joint name="four" type="revolute"><parent>ground</parent><child>rocker</child>{axis}</joint>
<joint name="three" type="revolute"><parent>coupler</parent><child>rocker</child>
  <pose>0 0 1.5 0 0 0</pose>{axis}</joint>
""".replace("{axis}", "<axis><xyz>0 1 0</xyz></axis>")


def closure_jacobian(model: pp.Model, name: str, q: np.ndarray) -> np.ndarray:
    """How the two frames of a closure part, three lengths and three turns, by differences."""
    h = 1e-6
    columns = []
    for k in range(model.nv):
        apart = []
        for step in (h, -h):
            move = np.zeros(model.nv)
            move[k] = step
            first, second = anchors(model, pp.integrate(model.opened(), q, move))[name]
            gap = np.linalg.inv(first) @ second
            apart.append([*gap[:3, 3], gap[2, 1], gap[0, 2], gap[1, 0]])
        columns.append((np.array(apart[0]) - apart[1]) / (2 * h))
    return np.array(columns).T


def test_a_four_bar_linkage_keeps_one_freedom(read, tmp_path):
    """Three joints less the two equations that are not idle in the plane; the pin may turn."""
    model = read(FOUR_BAR)
    (loop,) = model.closures
    assert (loop.name, loop.equations, model.nv) == ("three", 5, 3)
    J = closure_jacobian(model, "three", model.neutral())
    held = J[[0, 1, 2, 3, 5]]  # all but the turn about y
    assert np.linalg.matrix_rank(held, tol=1e-6) == 2
    free = np.linalg.svd(held)[2][2]
    moved = pp.integrate(model.opened(), model.neutral(), 1e-4 * free)
    first, second = anchors(model, moved)["three"]
    assert np.abs(first[:3, 3] - second[:3, 3]).max() < 1e-7
    moved = pp.integrate(model.opened(), model.neutral(), np.array([1e-4, 0, 0]))
    first, second = anchors(model, moved)["three"]
    assert np.abs(first[:3, 3] - second[:3, 3]).max() > 1e-5
    assert_is_the_file(model, tmp_path / "trial.sdf")


# -- the spanning forest ---------------------------------------------------------------

NAMES = [f"l{k}" for k in range(7)]
EDGES = st.lists(
    st.builds(Edge, *(st.sampled_from([*NAMES, "world"]),) * 2, st.booleans()).filter(
        lambda edge: edge.parent != edge.child
    ),
    max_size=14,
)


@given(EDGES, st.sets(st.sampled_from(NAMES), max_size=2))
def test_carriers_span_and_closures_are_the_rest(edges, still):
    carriers, closures = span(NAMES, edges, sorted(still))
    assert sorted([carrier.edge for carrier in carriers.values()] + closures) == list(
        range(len(edges))
    )
    for link_name, carrier in carriers.items():
        edge = edges[carrier.edge]
        ends = (edge.parent, edge.child)
        assert (carrier.parent, link_name) == (ends[::-1] if carrier.backwards else ends)
        assert link_name not in still and link_name != "world"
    for name in NAMES:  # every chain ends at a link that nothing carries, or at the world
        seen = set()
        while name in carriers:
            assert name not in seen
            seen.add(name)
            name = carriers[name].parent
    # As many trees as the machine has parts that nothing connects.
    groups = [{name} for name in NAMES if name not in still] + [{"world", *still}]
    for edge in edges:
        one = next(group for group in groups if edge.parent in group)
        two = next(group for group in groups if edge.child in group)
        if one is not two:
            groups.remove(two)
            one |= two
    roots = [name for name in NAMES if name not in carriers and name not in still]
    assert len(roots) == len(groups) - 1


@given(EDGES)
def test_a_joint_that_can_carry_its_child_does_before_later_ones(edges):
    """In a file whose joints form a tree, all point outwards and none is turned."""
    carriers, closures = span(NAMES, edges)
    for number in closures:
        edge = edges[number]
        if edge.late or edge.child == "world" or edge.child not in carriers:
            continue
        other = carriers[edge.child]
        turned = any(carrier.backwards for carrier in carriers.values())
        late = edges[other.edge].late
        assert other.edge < number or turned or late or closes_circle(edges, carriers, number)


def closes_circle(edges, carriers, number) -> bool:
    """Whether the parent of a joint hangs on its child."""
    name = edges[number].parent
    while name in carriers and name != edges[number].child:
        name = carriers[name].parent
    return name == edges[number].child


def span_slowly(links, edges, still):
    """What `span` answers, by its definition: a tree is turned round whenever one hangs by it."""
    parents = {}  # by link: the number of the joint, what carries it, whether that is its child

    def root(name):
        while name in parents:
            name = parents[name][1]
        return "world" if name in still else name

    def turn_round(name, carrier):
        before = parents.get(name)
        parents[name] = carrier
        if before is not None:
            turn_round(before[1], (before[0], name, not before[2]))

    left = []
    for late in (False, True):
        for number, edge in enumerate(edges):
            if edge.late != late:
                continue
            free = edge.child not in parents and edge.child not in {"world", *still}
            if free and not late and root(edge.parent) != edge.child:
                parents[edge.child] = (number, edge.parent, False)
            else:
                left.append(number)
    closures = []
    order = ["world", *links]
    for number in left:
        parent, child = edges[number].parent, edges[number].child
        one, two = root(parent), root(child)
        if one == two:
            closures.append(number)
        elif order.index(one) < order.index(two):
            turn_round(child, (number, parent, False))
        else:
            turn_round(parent, (number, child, True))
    return parents, sorted(closures)


@given(EDGES, st.sets(st.sampled_from(NAMES), max_size=2))
def test_trees_are_as_if_each_were_turned_round_when_it_is_hung_up(edges, still):
    carriers, closures = span(NAMES, edges, sorted(still))
    parents, expected = span_slowly(NAMES, edges, still)
    assert closures == expected
    found = {name: (each.edge, each.parent, each.backwards) for name, each in carriers.items()}
    assert found == parents
    assert list(found) == [name for name in NAMES if name in found]


def test_a_long_chain_is_hung_up_link_by_link():
    """Each joint holds the chain so far by its end: all are turned, one after the other."""
    count = 20_000
    names = [f"l{k}" for k in range(count)]
    edges = [Edge(names[k + 1], names[k]) for k in range(count - 1)]
    carriers, closures = span(names, [*edges, Edge("world", names[0])])
    assert closures == []
    assert carriers["l0"] == Carrier(count - 1, "world", False)
    assert carriers[names[-1]] == Carrier(count - 2, names[-2], True)
    assert all(carriers[names[k + 1]] == Carrier(k, names[k], True) for k in range(count - 1))
