"""How long a robot takes from no code to the first result.

    python -m benchmarks.cold robot

prints the seconds that the processor spends: forward dynamics compiled, and called once.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import phipsi as pp

from .robots import Robot
from .tasks import FORWARD

ROOT = Path(__file__).parents[1]
TIMES = 3


def cold_seconds(name: str) -> float:
    """The shortest of a few processes, each of which finds an empty cache."""
    found = []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run(
                [sys.executable, "-m", "benchmarks.cold", name],
                cwd=ROOT,
                env={**os.environ, "XDG_CACHE_HOME": folder},
                check=True,
                capture_output=True,
                text=True,
            )
        found.append(float(said.stdout))
    return min(found)


def main(name: str) -> None:
    robot = Robot(name, count=1)
    state = [robot.states[x][0] for x in FORWARD.arguments]
    model = robot.model
    start = time.process_time()
    pp.compile(model, FORWARD.expression)(*state)
    print(time.process_time() - start)


if __name__ == "__main__":
    main(sys.argv[1])
