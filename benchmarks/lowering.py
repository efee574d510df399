"""How the lowered dynamics grow with the machine: flops, kept numbers, time, memory.

    python benchmarks/lowering.py [largest number of bodies]

The loops run in the interpreter, in Python, statement by statement: it is the reference for
faster backends, not a rival of compiled code, and the last columns say by how much. Times on
a shared machine are noisy: read them as ratios between rows and between us and the peer.
"""

import gc
import sys
import time
import tracemalloc

import numpy as np

import phipsi as pp
from phipsi.compile import make_program
from phipsi.dynamics.forward import FD4
from phipsi.dynamics.terms import surround
from phipsi.lowering.cost import cost_of

try:
    import pinocchio
except ModuleNotFoundError:
    pinocchio = None

BATCH = 256
COUNTED = 10_000  # bodies; beyond, counting takes longer than it teaches
PEER = 300  # bodies; its data holds tensors of nv^3 numbers, 24 GB for 1,000 bodies


def seconds(work) -> float:
    """The shorter of two runs."""
    times = []
    for _ in range(2):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peer(model: pp.Model):
    """The same chain for Pinocchio: every other axis y, every other z, as `pp.chain` has them."""
    machine = pinocchio.Model()
    parent = 0
    for body, joint in zip(model.bodies, model.joints, strict=True):
        axis = pinocchio.JointModelRevoluteUnaligned(np.array(joint.kind.axis))
        parent = machine.addJoint(parent, axis, pinocchio.SE3(joint.placement.matrix), joint.name)
        mass = body.inertia
        inertia = pinocchio.Inertia(mass.mass, np.array(mass.com), np.array(mass.rotational))
        machine.appendBodyToJoint(parent, inertia, pinocchio.SE3.Identity())
    return machine


def measure(n: int) -> list[float]:
    """One row, per body: flops, kept numbers, microseconds alone and in a batch, kilobytes."""
    model = pp.chain(n)
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, n))
    row = [np.nan, np.nan]
    if n <= COUNTED:
        terms, _ = surround(model, None, None, None)
        cost = cost_of(make_program((FD4(terms.a_g, terms.b),)), model)
        row = [cost.flops / n, cost.stored_per_body]
    alone = seconds(lambda: pp.forward_dynamics(model, q, v, tau))
    row.append(alone / n * 1e6)
    if n <= COUNTED:
        states = rng.uniform(-1.0, 1.0, (3, BATCH, n))
        row.append(seconds(lambda: pp.forward_dynamics(model, *states)) / n / BATCH * 1e6)
    else:
        row.append(np.nan)
    tracemalloc.start()
    pp.forward_dynamics(model, q, v, tau)
    row.append(tracemalloc.get_traced_memory()[1] / n / 1e3)
    tracemalloc.stop()
    if pinocchio is not None and n <= PEER:
        machine = peer(model)
        data = machine.createData()
        theirs = seconds(lambda: pinocchio.aba(machine, data, q, v, tau))
        error = np.abs(pp.forward_dynamics(model, q, v, tau) - data.ddq).max()
        row += [alone / theirs, error / np.abs(data.ddq).max()]
    return row


def main(largest: int) -> None:
    heads = (
        "bodies",
        "flops",
        "kept",
        "us alone",
        f"us in {BATCH}",
        "peak kB",
        "ours/aba",
        "differ",
    )
    print("per body:", *(f"{head:>11}" for head in heads))
    for n in (10, 100, 300, 1_000, 10_000, 100_000):
        if n <= largest:
            row = measure(n)
            print(f"{'':10}{n:11d}", *(f"{x:11.4g}" for x in row), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
