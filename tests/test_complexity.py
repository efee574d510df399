"""What the algorithms cost: flops, sweeps and stored numbers grow linearly, and how fast.

Counted, never timed: a program runs once on numbers that count. `-s` prints the table.
"""

from collections import Counter

import machines
import numpy as np
import pytest
from expressions_of_papers import FD1, FD2, FD3, FD4, INVERSE_DYNAMICS

import phipsi as pp
from phipsi.compile import make_program
from phipsi.lowering.cost import cost_of
from phipsi.operators import B, C, M, Mass, Omega, P, V, X, Y, alpha, b, blockdiag, phi, psi

LINEAR = {
    "velocities": V,
    "accelerations": alpha,
    "bias": C,
    "inverse dynamics": INVERSE_DYNAMICS,
    "FD1": FD1,
    "FD2": FD2,
    "FD3": FD3,
    "FD4": FD4,
}
SWEEPS = {"velocities": 1, "accelerations": 1, "bias": 2, "inverse dynamics": 2}
SWEEPS |= dict.fromkeys(("FD1", "FD2", "FD3", "FD4"), 3)

# Multiplications and additions per body, for long chains of revolute joints.
PUBLISHED = {
    "Featherstone, Robot Dynamics Algorithms, 1987": (300, 279),
    "Brandl, Johanni and Otter, IFAC Theory of Robots, 1986": (250, 220),
    "McMillan and Orin, IEEE Trans. Robotics and Automation 11, 1995": (224, 205),
}


def grown(parents):
    """A machine of equal bodies, skew axes and a general inertia, on the given parents."""
    rng = np.random.default_rng(7)
    kind, mass = machines.revolute(rng), machines.random_inertia(rng)
    place = machines.random_placement(rng)
    builder = pp.ModelBuilder("equal bodies")
    for k, p in enumerate(parents):
        builder.add_body(f"body{k}", "world" if p < 0 else f"body{p}", kind, **place, **mass)
    return builder.build()


def revolute_chain(n):
    """n equal bodies in series; no special angle or length saves anything."""
    return grown(range(-1, n - 1))


def random_tree(n, seed=0):
    """n equal bodies, each on a body drawn from those before."""
    rng = np.random.default_rng(seed)
    return grown([-1, *(int(rng.integers(0, k)) for k in range(1, n))])


SMALL_TREES = [random_tree(n, seed) for seed, n in enumerate(range(20, 41))]
SMALL_TREES += [random_tree(40, seed) for seed in range(100, 125)]


def anatomy(model):
    """How many bodies there are of each situation: what equal bodies can differ in.

    A body is the root, the first child of its parent (whose frame is chosen for
    it) or a further one. Near the root and near the tips, velocities and
    inertias have zeros of the structure, so depth and height count there.
    """
    tree, height = model.tree, [0] * len(model.bodies)
    for k in tree.tip_to_base:
        if tree.parent[k] >= 0:
            height[tree.parent[k]] = max(height[tree.parent[k]], height[k] + 1)
    situations = Counter()
    for k, p in enumerate(tree.parent):
        order = "root" if p < 0 else "first" if tree.children[p][0] == k else "further"
        situations[order, min(tree.depth[k], 4), min(height[k], 2)] += 1
    return situations


def prices_of(expressions, models):
    """The cost of a body of each situation, from some machines; what does not fit is refused."""
    found = np.array([counts(expressions, model) for model in models])
    anatomies = [anatomy(model) for model in models]
    situations = sorted(set().union(*anatomies))
    shapes = np.array([[x[situation] for situation in situations] for x in anatomies])
    assert len(models) > np.linalg.matrix_rank(shapes)  # more machines than prices
    prices = np.linalg.lstsq(shapes, found, rcond=None)[0]
    assert np.allclose(shapes @ prices, found, rtol=0, atol=1e-6)
    return dict(zip(situations, prices, strict=True))


def total(prices, model):
    """The cost of a machine by the prices of its bodies."""
    return sum(number * prices[situation] for situation, number in anatomy(model).items())


def counts(expressions, model):
    """Flops, sines and stored numbers of some expressions in one program."""
    cost = cost_of(make_program(expressions), model)
    return np.array([cost.flops, cost.operations.sincos, cost.stored])


@pytest.mark.parametrize("name", LINEAR)
def test_chains_cost_exactly_the_same_for_every_further_body(name):
    """Flops, sines and stored numbers of 10 to 1,000 bodies: no term but n and 1."""
    sizes = [10, 20, 100, 1000]
    found = [counts([LINEAR[name]], revolute_chain(n)) for n in sizes]
    slope = (found[1] - found[0]) / 10
    for n, count in zip(sizes, found, strict=True):
        assert np.array_equal(count, found[0] + slope * (n - 10))
    assert slope[0] > 0


@pytest.mark.parametrize("name", LINEAR)
def test_random_trees_cost_exactly_the_sum_of_their_bodies(name):
    """A price per body, by its situation, makes up the cost of every tree, exactly.

    The prices come from trees of 20 to 40 bodies and hold for 1,000: the shape
    of a tree, its depth above all, does not matter.
    """
    prices = prices_of([LINEAR[name]], SMALL_TREES)
    large = random_tree(1000, seed=99)
    assert np.allclose(total(prices, large), counts([LINEAR[name]], large), rtol=0, atol=1e-3)


@pytest.mark.parametrize("family", [revolute_chain, random_tree], ids=lambda f: f.__name__)
def test_dynamics_stay_linear_to_ten_thousand_bodies(family):
    """In one program: what one of them costs beyond the sum over bodies, the program does too."""
    together = [LINEAR[name] for name in ("inverse dynamics", "FD1", "FD3", "FD4")]
    small = [revolute_chain(n) for n in range(10, 20)] if family is revolute_chain else SMALL_TREES
    large = family(10_000)
    expected = total(prices_of(together, small), large)
    assert np.allclose(expected, counts(together, large), rtol=0, atol=0.01)


@pytest.mark.parametrize("name", LINEAR)
def test_number_of_sweeps(name):
    assert make_program([LINEAR[name]]).sweeps == SWEEPS[name]


def test_mass_matrix_takes_one_sweep():
    assert make_program([Mass]).sweeps == 1


def test_forward_dynamics_costs_less_than_any_published_count(capsys):
    """FD4 on a chain of revolute joints, per body; a division counts as a multiplication."""
    program = make_program([FD4])
    one, other = (cost_of(program, revolute_chain(n)).operations for n in (20, 21))
    multiplications = other.multiply + other.divide - one.multiply - one.divide
    additions = other.add - one.add
    with capsys.disabled():
        print(f"\nFD4: {multiplications} multiplications + {additions} additions per body")
        for name, expression in LINEAR.items():
            flops = [counts([expression], revolute_chain(n))[0] for n in (20, 21)]
            print(f"     {name}: {flops[1] - flops[0]} flops per body")
        for source, (m, a) in PUBLISHED.items():
            print(f"     {m} + {a}: {source}")
    for m, a in PUBLISHED.values():
        assert multiplications < m and additions < a
    assert other.sincos - one.sincos == 2


def test_forward_dynamics_stores_few_numbers(capsys):
    """Between the sweeps of FD4, at most 24 per revolute body."""
    program = make_program([FD4])
    one, other = (cost_of(program, revolute_chain(n)).stored for n in (50, 51))
    with capsys.disabled():
        print(f"\nFD4: {other - one} numbers per body kept between sweeps")
    assert 0 < other - one <= 24
    assert cost_of(program, revolute_chain(50)).stored_per_body <= 24


def test_matrices_cost_a_constant_per_pair_of_related_bodies():
    """Mass and its inverse on a chain: the cost per body grows by the same number each time."""
    for expression in (Mass, Mass.inv):
        program = make_program([expression])
        flops = [cost_of(program, revolute_chain(n)).flops for n in (10, 11, 12, 13)]
        assert len(set(np.diff(flops, n=2))) == 1


def test_compliance_at_points_costs_the_bodies_and_the_paths():
    """X B* Omega B X*: two points near the base cost the same however long the chain."""
    points = pp.point("body1", (0.1, 0.2, 0.3)), pp.point("body3")
    program = make_program([X @ B.T @ Omega @ B @ X.T])
    flops = [cost_of(program, revolute_chain(n), {(): points}).flops for n in (20, 40, 80)]
    assert flops[2] - flops[1] == 2 * (flops[1] - flops[0])


def test_shared_parts_are_computed_once():
    """Several expressions together cost less than each alone; the same twice costs once."""
    model = revolute_chain(10)
    together = cost_of(make_program([FD4, C, P @ V, psi @ b]), model).flops
    alone = sum(cost_of(make_program([x]), model).flops for x in (FD4, C, P @ V, psi @ b))
    assert together < 0.8 * alone
    twice = cost_of(make_program([FD4, FD4]), model).flops
    assert twice == cost_of(make_program([FD4]), model).flops


def test_block_diagonal_operators_cost_linearly():
    """P, Y and blockdiag(phi M phi*), as matrices: no pair of bodies is visited."""
    for expression in (P, Y, blockdiag(phi @ M @ phi.T)):
        flops = [counts([expression], revolute_chain(n))[0] for n in (10, 20, 40)]
        assert flops[2] - flops[1] == 2 * (flops[1] - flops[0])
