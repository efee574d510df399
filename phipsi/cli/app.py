"""The commands, and how each begins and ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter

from phipsi import __version__
from phipsi.cli.bench import bench
from phipsi.cli.cache import cache
from phipsi.cli.check import check
from phipsi.cli.demo import demo
from phipsi.cli.derive import derive
from phipsi.cli.explain import explain
from phipsi.cli.failures import FINE, report
from phipsi.cli.info import file_first, info
from phipsi.cli.look import view
from phipsi.cli.screen import Piped, open_closed_streams, take_every_letter
from phipsi.cli.simulate import simulate

HELP = "Multibody dynamics on the Spatial Operator Algebra: write the equation, get the algorithm."

# Each command, and how it is used; the first line of its docstring is its summary.
COMMANDS: dict[Callable[..., Any], tuple[str, ...]] = {
    info: (
        "phipsi info robot.urdf",
        "phipsi info robot.urdf --base free",
        "phipsi info robot.urdf --report refused ignored",
        "phipsi info puma560 --json",
    ),
    check: (
        "phipsi check robot.urdf",
        "phipsi check robot.urdf --base free --states 100",
        "phipsi check robot.xml --json",
    ),
    simulate: (
        "phipsi simulate robot.urdf",
        "phipsi simulate robot.urdf --control pd --seed 1 --plot run.png",
        "phipsi simulate robot.sdf --open",
        "phipsi simulate robot.urdf --base free --gravity 0 0 0 --html run.html",
        "phipsi simulate robot.urdf --duration 60 --integrator midpoint --out run.nc",
    ),
    view: (
        "phipsi view robot.urdf",
        "phipsi view robot.urdf --motion run.nc",
        "phipsi view robot.urdf --html robot.html",
    ),
    bench: (
        "phipsi bench robot.urdf",
        "phipsi bench robot.urdf --base free",
        "phipsi bench chain:50",
    ),
    derive: (
        "phipsi derive \"inv(H phi M phi' H' + Jm)\"",
        'phipsi derive "J inv(Mass) J\'" --check',
        'phipsi derive "inv(Mass) (T - C)" --latex forward.tex',
        'phipsi derive "inv(Mass)" --check --model robot.urdf',
    ),
    explain: (
        'phipsi explain "inv(Mass) (T - C)"',
        'phipsi explain "inv(Mass) (T - C)" --model robot.urdf --seed 1 --level 4',
        'phipsi explain "inv(Mass) T" --view estimation',
        "phipsi explain phi --model spacecraft --svg phi.svg --draw blocks",
    ),
    cache: ("phipsi cache", "phipsi cache --clear"),
    demo: ("phipsi demo", "phipsi demo --out /tmp/demo"),
}


def make_app() -> App:
    """The command line, as cyclopts knows it."""
    app = App(
        "phipsi",
        HELP,
        version=__version__,
        help_format="plaintext",
        help_epilogue=_examples([uses[0] for uses in COMMANDS.values()]),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        console=Piped(),
    )
    for place, (command, uses) in enumerate(COMMANDS.items()):
        app.command(command, help_epilogue=_examples(uses), sort_key=place)
    app.meta.group_parameters = Group("Always", sort_key=99)

    @app.meta.default
    def launch(
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        debug: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    ) -> int:
        """Run a command.

        Args:
            debug: show the traceback of an error.
        """
        try:
            return app(file_first(tokens)) or FINE
        except (Exception, KeyboardInterrupt) as error:
            return report(error, debug)

    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `phipsi`.

    Args:
        arguments: of the command line; those of this process if there are none.

    Returns:
        the exit code; `phipsi.cli.failures` lists them.

    >>> main(["--version"])
    0.1.0
    0
    """
    open_closed_streams()
    take_every_letter()
    try:
        code = make_app().meta(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
        return code or FINE
    except (CycloptsError, OSError) as error:
        return report(error)


def _examples(uses: Sequence[str]) -> str:
    """What is printed below the help of a command."""
    return "\n  ".join(("Examples:", *uses))
