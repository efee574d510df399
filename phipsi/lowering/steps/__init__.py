"""What one body does in one statement, over any scalar.

Each step takes the body's seat, its constants in private frames, and blocks:
vectors as flat lists, matrices as lists of rows, structural zeros and ones as
the ints 0 and 1 (see `blocks`). What depends on the kind of joint is in the
seat's `link`; a step is written once for all of them.
"""

from phipsi.lowering.seat import STEPS
from phipsi.lowering.steps import arithmetic, body, guard, joint, world

__all__ = ["STEPS", "arithmetic", "body", "guard", "joint", "world"]
