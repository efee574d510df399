"""How building, loading and moving a machine grow with its size, Pinocchio's reader beside ours.

    python benchmarks/growth.py [largest number of bodies]

Prints time per body, which is constant where work is linear, and memory per body. Times on a
shared machine are noisy: read the columns as ratios between rows and between us and the peer.
"""

import gc
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

import phipsi as pp

try:
    import pinocchio
except ModuleNotFoundError:
    pinocchio = None

PEER_LIMIT = 1_000  # bodies; its reader recurses, 10,000 in a row overflow the stack


def urdf_chain(n: int) -> str:
    """A URDF of n links with mass, each on a revolute joint of the one before."""
    link = (
        '<link name="l{0}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="j{1}" type="continuous"><parent link="l{0}"/><child link="l{1}"/>'
        '<origin xyz="1 0 0" rpy="0 0 0.1"/><axis xyz="0 1 0"/></joint>'
    )
    links = "\n".join(link.format(k) for k in range(n + 1))
    joints = "\n".join(joint.format(k, k + 1) for k in range(n))
    return f'<robot name="chain">\n{links}\n{joints}\n</robot>'


def seconds(work) -> float:
    """The shorter of two runs."""
    times = []
    for _ in range(2):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def kilobytes(make) -> float:
    """What the result keeps."""
    tracemalloc.start()
    result = make()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return kept / 1e3


def measure(n: int, file: Path) -> list[float]:
    """One row: microseconds and kilobytes per body, ours, then the peer's where it goes so far."""
    file.write_text(urdf_chain(n))
    model = pp.chain(n)
    q, dq = model.neutral(), np.ones(model.nv)
    load = seconds(lambda: pp.load(file))
    row = [
        seconds(lambda: pp.chain(n)) / n * 1e6,
        kilobytes(lambda: pp.chain(n)) / n,
        seconds(lambda: pp.integrate(model, q, dq)) / n * 1e6,
        load / n * 1e6,
    ]
    if pinocchio is not None and n <= PEER_LIMIT:
        theirs = seconds(lambda: pinocchio.buildModelFromUrdf(str(file)))
        row += [theirs / n * 1e6, load / theirs]
    return row


def main(largest: int) -> None:
    heads = ("bodies", "build us", "kB", "integrate us", "load us", "Pinocchio us", "ours/theirs")
    print("per body:", *(f"{head:>13}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        for n in (100, 1_000, 10_000, 100_000):
            if n <= largest:
                row = measure(n, Path(folder, "chain.urdf"))
                print(f"{'':9}{n:14d}", *(f"{x:14.2f}" for x in row), sep="", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
