"""The doors of `own`, for letters of the papers, and words that their records share."""

from __future__ import annotations

from functools import partial

from phipsi.algebra import own
from phipsi.algebra.alphabet import PAPERS

letter = partial(own.letter, alphabet=PAPERS)
define = partial(own.define, alphabet=PAPERS)
given = partial(own.given, alphabet=PAPERS)
opener = partial(own.opener, alphabet=PAPERS)

INWARD, OUTWARD = True, False  # the way of a recursion
STEP = 32  # flops of phi(p,k) x
