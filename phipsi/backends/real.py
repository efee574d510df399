"""What numbers machine code computes with: doubles, or floats, of which a register holds twice
as many."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from phipsi.errors import BackendError
from phipsi.scalars import HUGE

LONGEST_TUPLE = 16  # numbers of a vector that is not an array, but a tuple of floats


@dataclass(frozen=True)
class Real:
    """A kind of number.

    Args:
        name: as LLVM calls it.
        dtype: as NumPy does.
        bytes: of one number.
        digits: bits of a number, the first included.
        huge: inputs of which the sum of squares reaches the square of this are left to the
            interpreter. Products of four such numbers stay finite, and so do sums of squares.
    """

    name: str
    dtype: np.dtype
    bytes: int
    digits: int
    huge: float

    @property
    def suffix(self) -> str:
        """In names of intrinsics."""
        return f"f{8 * self.bytes}"

    @property
    def integer(self) -> str:
        """Integers of as many bits."""
        return f"i{8 * self.bytes}"

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (8 * self.bytes - 1)

    @property
    def half_range(self) -> int:
        """1 more than the bias of exponents: 2 to this power is the first that is too large."""
        return 1 << (8 * self.bytes - self.digits - 1)

    def literal(self, value: float) -> str:
        """A number as IR writes it, of either kind by the bits of a double.

        Raises:
            BackendError: if it is too large for this kind.
        """
        if self.bytes == 4:
            value = float(self.rounded(value))
        return f"0x{struct.pack('>d', value).hex().upper()}"

    def rounded(self, values: Any) -> np.ndarray:
        """Doubles as numbers of this kind, the nearest. What is too small becomes zero.

        Raises:
            BackendError: if one is too large.
        """
        given = np.asarray(values, float)
        with np.errstate(over="ignore", under="ignore"):
            found = given.astype(self.dtype)
        lost = np.isinf(found) & np.isfinite(given)
        if np.any(lost):
            raise BackendError(
                f"{given[lost].flat[0]:g}, which follows from numbers of the machine, is too large "
                "for single precision: compile with dtype=float"
            )
        return found


REALS = {
    x.name: x
    for x in (
        Real("double", np.dtype(np.float64), 8, 53, HUGE),
        Real("float", np.dtype(np.float32), 4, 24, 1e9),
    )
}
