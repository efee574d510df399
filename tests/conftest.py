"""Settings that all tests share."""

import gc
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution

# Small matrices by the thousand: threads inside BLAS only wait for each other here.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Hundreds of machines are tried once each: not worth compiling. Tests of machine code say "llvm".
os.environ.setdefault("PHIPSI_BACKEND", "numpy")

# What is compiled in tests is compiled by the code under test. Tests of the cache name a directory.
os.environ["PHIPSI_CACHE"] = "off"

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

import phipsi as pp  # noqa: E402

# default: explore. ci: the same examples every time, and no check that depends on the clock.
settings.register_profile("default", deadline=None)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

PEERS = ("pin", "mujoco", "example-robot-data", "dm_control", "gymnasium-robotics")


def pytest_addoption(parser):
    text = "every expression on every machine: flops, minutes; every path of machine code, hours"
    parser.addoption("--whole-market", action="store_true", help=text)
    text = "the attacks of tests/hostile alone, for so many minutes"
    parser.addoption("--fuzz", type=float, default=0.0, metavar="MINUTES", help=text)
    text = "where the random numbers of attacks start"
    parser.addoption("--fuzz-seed", type=int, default=0, metavar="N", help=text)


def pytest_configure(config):
    """Say at once which peer is missing, where the comparisons with them are required."""
    if not os.environ.get("PHIPSI_REQUIRE_PEERS"):
        return
    for name in PEERS:
        try:
            distribution(name)
        except PackageNotFoundError:
            raise pytest.UsageError(
                f"PHIPSI_REQUIRE_PEERS is set, but {name} is not installed: pip install '.[peers]'"
            ) from None


def pytest_terminal_summary(terminalreporter, config):
    """What attacks have tried, where they were asked for."""
    if not config.getoption("--fuzz"):
        return
    reports = [x for several in terminalreporter.stats.values() for x in several]
    calls = [x for x in reports if getattr(x, "when", "") == "call"]
    properties = [x for report in calls for x in report.user_properties]
    tried = [value for name, value in properties if name == "tried"]
    terminalreporter.section(f"attacks, from seed {config.getoption('--fuzz-seed')}")
    for what, count in sorted(map(tuple, tried)):
        terminalreporter.write_line(f"{count:12,} {what}")


@pytest.fixture(scope="session", autouse=True)
def secret_of_tests(tmp_path_factory):
    """What tests keep on disk is sealed by a secret of their own, not by the user's."""
    os.environ["PHIPSI_CACHE_KEY"] = str(tmp_path_factory.mktemp("secret") / "cache.key")


@pytest.fixture(scope="module")
def as_for_users():
    """Functions are compiled by default, as they are where no test says otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["phipsi.function.checks"], "DEFAULT", "llvm")
        yield
    # A process has one default, and calls that leave the backend to it are quick by that: what
    # was found under this one is not for tests under the other.
    for x in gc.get_objects():
        if type(x) is pp.Model:
            x.functions.clear()


@pytest.fixture(scope="module")
def arm():
    """Two links in a plane: the machine that as_matrix is asked about."""
    return pp.examples.planar_arm(2)


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """What is printed in tests is as wide as in a pipe, wherever they run."""
    monkeypatch.delenv("COLUMNS", raising=False)


# A process in the background may ignore Ctrl-C, and what it starts does too: not here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):  # of threads that are not the first
        signal.signal(signal.SIGINT, signal.default_int_handler)
