"""How long attacks go on: a moment in the usual run, and for their share of --fuzz MINUTES."""

from dataclasses import dataclass

import pytest


@dataclass
class Fuzz:
    """What an attack is told.

    Attributes:
        seed: where its random numbers start.
        seconds: how long it goes on; 0.0 for a few tries, the same every time.
        node: the test that attacks.
    """

    seed: int
    seconds: float
    node: pytest.Item

    def tried(self, count: int, what: str) -> None:
        """Note what was tried, for the summary; an attack that tried nothing has failed."""
        assert count > 0, f"no {what} were tried"
        self.node.user_properties.append(("tried", (what, count)))


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """What an attack is told."""
    config, attacks = request.config, request.session.items
    share = 60.0 * config.getoption("--fuzz") / len(attacks) if config.getoption("--fuzz") else 0.0
    return Fuzz(config.getoption("--fuzz-seed"), share, request.node)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --fuzz, attacks alone."""
    if config.getoption("--fuzz"):
        others = [x for x in items if "fuzz" not in getattr(x, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [x for x in items if x not in others]
