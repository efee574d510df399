"""LLVM IR that moves rows of numbers between a user's arrays and tiles: transposing, in registers.

A tile `[n][W]` holds n numbers of each of W states, number by number: entry e of
lane l at `8 (e W + l)`. An array holds them state by state. A mover moves one
row, n numbers of each of W states: `stride` bytes from state to state, `step`
bytes from number to number.

    number mover(ptr at, i64 stride, ptr tile, i64 columns, i64 step, i64 last, number sum)

`pack...` fills the tile and adds the squares of what it moves, while that is in
registers, to the sum of each lane; `unpack...` empties the tile and returns the
sum as it is. Movers touch exactly the bytes that are asked for. At the end of a
batch, where `last` is below W - 1, the lanes without a state repeat the state
`last`: they read it again, and write again what it has written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template

SHORT = 9  # rows of up to so many columns have movers of their own
_MANY = 8  # longer ones are moved so many columns at a time

# Movers in the order of their table. If every lane has a state: of many columns, side by side; of
# 1, 2, ... columns, side by side; of states side by side. In any case: of many columns, side by
# side; of anything.
LONG, BESIDE, LONG_PART, ANY = 0, SHORT + 1, SHORT + 2, SHORT + 3

# So many columns at once. Packing takes half a register from each state, if that is two numbers or
# more: loads that join them save a stage of shuffles. Unpacking writes whole registers: two halves
# cross the border of a cache line as often as a whole, and take longer. Stores that bypass the
# caches are not used: they gained only where outputs exceed the largest cache and rows begin at
# such borders, which those of NumPy seldom do, and lost elsewhere.
_BLOCK = {"pack": {2: 2, 4: 2, 8: 4}, "unpack": {2: 2, 4: 4, 8: 8}}


def movers(lanes: int) -> str:
    """Definitions of all movers for tiles of 2 or more lanes; tables of them: `pack`, `unpack`."""
    number = f"<{lanes} x double>"
    texts = [f"declare {number} @llvm.fmuladd.v{lanes}f64({number}, {number}, {number})\n"]
    for k in (4, 8):
        kind = f"<{k} x double>"
        texts.append(f"declare void @llvm.masked.store.v{k}f64.p0({kind}, ptr, i32, <{k} x i1>)\n")
    for way in ("pack", "unpack"):
        table = {
            "_long": _long(way, lanes),
            **{str(columns): _short(way, lanes, columns) for columns in range(1, SHORT + 1)},
            "_beside": _beside(way, lanes),
            "_long_part": _long_part(way, lanes),
            "_any": _any(way, lanes),
        }
        addresses = ", ".join(f"ptr @{way}{name}" for name in table)
        texts.append(
            f"\n@{way} = internal constant [{len(table)} x ptr] [ {addresses} ], align 8\n"
        )
        texts += [_MOVER.substitute(name=way + x, number=number, body=table[x]) for x in table]
    return "".join(texts)


_MOVER = Template("""
define internal $number @$name(ptr %at, i64 %stride, ptr %tile, i64 %columns, i64 %step, i64 %last,
                               $number %sum) #0 {
$body
}
""")


# ---------------------------------------------------------------- bodies of movers


def _short(way: str, lanes: int, columns: int) -> str:
    """A given number of columns, side by side: no loop."""
    moves = _Moves(lanes, ["%sum", "zeroinitializer"])
    moves.row(way, columns, "%at", "%tile")
    end = f"  ret {moves.number} {moves.sum()}"
    return "\n".join([_even(lanes), _listed(moves.lines), end])


def _long(way: str, lanes: int) -> str:
    """Many columns, side by side; those left over are few."""
    return _by_blocks(way, lanes, _even(lanes), "%left.next")


def _long_part(way: str, lanes: int) -> str:
    """Many columns, side by side, if not all lanes have a state."""
    return _by_blocks(way, lanes, _clamped(lanes), str(ANY))


def _by_blocks(way: str, lanes: int, offsets: str, mover: str) -> str:
    """Many columns; those left over go to the mover of that number in the table."""
    moves = _Moves(lanes, ["%sum0", "%sum1"])
    moves.row(way, _MANY, "%b.at", "%b.tile")
    rest = _REST.substitute(way=way, number=moves.number, mover=mover)
    return _loop(moves, offsets, _MANY, str(8 * _MANY), rest)


def _any(way: str, lanes: int) -> str:
    """Anything, column by column."""
    moves = _Moves(lanes, ["%sum0", "%sum1"])
    moves.row(way, 1, "%b.at", "%b.tile")
    return _by_columns(moves, _clamped(lanes))


def _beside(way: str, lanes: int) -> str:
    """States side by side, column by column: no transposing."""
    moves = _Moves(lanes, ["%sum0", "%sum1"])
    array, tile = ("%b.at", 1), ("%b.tile", 8 * lanes)
    source, target = (array, tile) if way == "pack" else (tile, array)
    numbers = moves.load(lanes, *source)
    moves.store(lanes, numbers, *target)
    if way == "pack":
        moves.watch([numbers])
    return _by_columns(moves, "")


def _by_columns(moves: _Moves, offsets: str) -> str:
    return _loop(moves, offsets, 1, "%step", f"  ret {moves.number} %total")


def _loop(moves: _Moves, offsets: str, columns: int, step: str, rest: str) -> str:
    """What moves so many columns, as often as there are that many."""
    return _LOOP.substitute(
        number=moves.number,
        offsets=offsets,
        body=_listed(moves.lines),
        columns=columns,
        step=step,
        block=8 * columns * moves.lanes,
        sum0=moves.sums[0],
        sum1=moves.sums[1],
        rest=rest,
    )


_LOOP = Template("""
entry:
$offsets
  br label %block
block:
  %left = phi i64 [ %columns, %entry ], [ %left.next, %block ]
  %b.at = phi ptr [ %at, %entry ], [ %b.at.next, %block ]
  %b.tile = phi ptr [ %tile, %entry ], [ %b.tile.next, %block ]
  %sum0 = phi $number [ %sum, %entry ], [ $sum0, %block ]
  %sum1 = phi $number [ zeroinitializer, %entry ], [ $sum1, %block ]
$body
  %left.next = sub i64 %left, $columns
  %b.at.next = getelementptr i8, ptr %b.at, i64 $step
  %b.tile.next = getelementptr i8, ptr %b.tile, i64 $block
  %more = icmp uge i64 %left.next, $columns
  br i1 %more, label %block, label %rest
rest:
  %total = fadd $number $sum0, $sum1
$rest
""")

_REST = Template("""
  %some = icmp ne i64 %left.next, 0
  br i1 %some, label %few, label %done
few:
  %mover.at = getelementptr ptr, ptr @$way, i64 $mover
  %mover = load ptr, ptr %mover.at, align 8
  %moved = tail call $number %mover(ptr %b.at.next, i64 %stride, ptr %b.tile.next,
                                    i64 %left.next, i64 8, i64 %last, $number %total)
  ret $number %moved
done:
  ret $number %total""")


def _even(lanes: int) -> str:
    """Where each lane but the first begins: one state after the other."""
    return _listed(f"%lane{k} = mul i64 %stride, {k}" for k in range(1, lanes))


def _clamped(lanes: int) -> str:
    """Where each lane but the first begins, if there is no state after the last."""
    return _listed(
        line
        for k in range(1, lanes)
        for line in (
            f"%state{k} = call i64 @llvm.umin.i64(i64 {k}, i64 %last)",
            f"%lane{k} = mul i64 %stride, %state{k}",
        )
    )


def _blocks(way: str, lanes: int, columns: int) -> list[int]:
    """Columns of the blocks that make up a row.

    Those of a block are a power of two, except that registers of 8 are stored in part: processors
    that have such registers are good at that.
    """
    largest = _BLOCK[way][lanes]
    sizes = [largest] * (columns // largest)
    rest = columns % largest
    if rest and largest == 8:
        return [*sizes, rest]
    return sizes + [1 << k for k in reversed(range(rest.bit_length())) if rest >> k & 1]


def _listed(lines: Iterable[str]) -> str:
    return "\n".join("  " + line for line in lines)


# ---------------------------------------------------------------- blocks


class _Moves:
    """Writes the moves of blocks of W states and C columns.

    A block passes through registers that hold rows, a row being the numbers of one state, made up
    to R = 1, 2, 4 or 8. Neighbours among these R registers hold neighbouring states: rows 0, 2, ...
    and rows 1, 3, ... of 2 W / R states that follow each other.

    Args:
        lanes: W.
        sums: values to which squares are added in turn.
    """

    def __init__(self, lanes: int, sums: Sequence[str]):
        self.lanes, self.sums = lanes, list(sums)
        self.number = f"<{lanes} x double>"
        self.lines: list[str] = []

    def row(self, way: str, columns: int, at: str, tile: str) -> None:
        """Move any number of columns; `%lane1`, ... say where each lane begins."""
        first = 0
        for size in _blocks(way, self.lanes, columns):
            self._block(way, size, at, tile, first)
            first += size

    def _block(self, way: str, columns: int, at: str, tile: str, first: int) -> None:
        """Move C columns, from number `first` on."""
        width = 1 << (columns - 1).bit_length()
        at = self._offset(at, 8 * first)
        places = [
            [self._offset(at, f"%lane{lane}" if lane else 0) for lane in lanes]
            for lanes in _lanes_of_registers(self.lanes, width)
        ]
        entries = [self._offset(tile, 8 * self.lanes * (first + j)) for j in range(columns)]
        if way == "pack":
            rows = [[self.load(columns, place, 1) for place in some] for some in places]
            packed = self._columns([self._joined(some) for some in rows])
            for x, entry in zip(packed, entries, strict=True):
                self.store(self.lanes, x, entry, 8 * self.lanes)
            self.watch(packed)
        else:
            packed = [self.load(self.lanes, entry, 8 * self.lanes) for entry in entries]
            registers = self._rows(packed + ["poison"] * (width - columns))
            for x, some in zip(registers, places, strict=True):
                for k, place in enumerate(some):
                    row = self._shuffle(x, "poison", range(k * width, (k + 1) * width))
                    self.store(width, row, place, 1, columns)

    def watch(self, numbers: Iterable[str]) -> None:
        """Add squares to the sums, in turn."""
        for x in numbers:
            parts = ", ".join(f"{self.number} {y}" for y in (x, x, self.sums[0]))
            call = f"call {self.number} @llvm.fmuladd.v{self.lanes}f64({parts})"
            self.sums = [*self.sums[1:], self._let(call)]

    def sum(self) -> str:
        """All sums together."""
        first, *others = [x for x in self.sums if x != "zeroinitializer"]
        for x in others:
            first = self._let(f"fadd {self.number} {first}, {x}")
        return first

    def load(self, width: int, place: str, align: int) -> str:
        """So many numbers side by side."""
        return self._let(f"load <{width} x double>, ptr {place}, align {align}")

    def store(self, width: int, value: str, place: str, align: int, some: int = 0) -> None:
        """So many numbers side by side; only some of them, if that is said."""
        kind = f"<{width} x double>"
        if some in (0, width):
            self.lines.append(f"store {kind} {value}, ptr {place}, align {align}")
            return
        mask = ", ".join(f"i1 {k < some}".lower() for k in range(width))
        call = f"call void @llvm.masked.store.v{width}f64.p0"
        self.lines.append(
            f"{call}({kind} {value}, ptr {place}, i32 {align}, <{width} x i1> <{mask}>)"
        )

    def _joined(self, rows: list[str]) -> str:
        """Rows of one register, one after the other."""
        while len(rows) > 1:
            width = self.lanes // len(rows)
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [self._shuffle(a, b, range(2 * width), width) for a, b in pairs]
        return rows[0]

    def _columns(self, rows: list[str]) -> list[str]:
        """Columns of the rows in 1, 2 or 4 registers."""
        if len(rows) == 1:
            return rows
        pairs = self._mixed(*rows[:2])
        if len(rows) == 2:
            return pairs
        sorted_pairs = [self._sorted(*x) for x in zip(pairs, self._mixed(*rows[2:]), strict=True)]
        return [x for columns in zip(*sorted_pairs, strict=True) for x in columns]

    def _rows(self, columns: list[str]) -> list[str]:
        """Rows of 1, 2, 4 or 8 columns, in as many registers."""
        if len(columns) == 1:
            return columns
        mixed = [self._mixed(a, b) for a, b in zip(columns[::2], columns[1::2], strict=True)]
        rows = [self._woven(list(pairs)) for pairs in zip(*mixed, strict=True)]
        return [x for neighbours in zip(*rows, strict=True) for x in neighbours]

    def _woven(self, pairs: list[str]) -> list[str]:
        """Registers of one pair of columns each, as rows."""
        if len(pairs) == 1:
            return pairs
        half = self.lanes // 2
        if len(pairs) == 2:
            turns = [k for i in range(half) for k in (i, half + i)]
            return [self._pairs(pairs[0], pairs[1], x) for x in (turns[:half], turns[half:])]
        upper, lower = (self._sorted(*pairs[k : k + 2]) for k in (0, 2))
        evens, odds = (self._sorted(*x) for x in zip(upper, lower, strict=True))
        return [evens[0], odds[0], evens[1], odds[1]]

    def _mixed(self, a: str, b: str) -> list[str]:
        """Even numbers of two registers in turn, and odd ones: 2 x 2 matrices transposed."""
        evens = [k for i in range(0, self.lanes, 2) for k in (i, self.lanes + i)]
        return [self._shuffle(a, b, picks) for picks in (evens, [k + 1 for k in evens])]

    def _sorted(self, a: str, b: str) -> list[str]:
        """Even pairs of numbers of two registers, first of one, then of the other; and odd ones."""
        return [self._pairs(a, b, range(k, self.lanes, 2)) for k in (0, 1)]

    def _pairs(self, a: str, b: str, picks: Sequence[int]) -> str:
        """Pairs of numbers of two registers."""
        return self._shuffle(a, b, [k for i in picks for k in (2 * i, 2 * i + 1)])

    def _shuffle(self, a: str, b: str, picks: Sequence[int], width: int = 0) -> str:
        """Numbers of two registers."""
        if a == b == "poison":
            return a
        kind, mask = f"<{width or self.lanes} x double>", ", ".join(f"i32 {k}" for k in picks)
        return self._let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")

    def _offset(self, place: str, by: int | str) -> str:
        return self._let(f"getelementptr i8, ptr {place}, i64 {by}") if by else place

    def _let(self, value: str) -> str:
        name = f"%x{len(self.lines)}"
        self.lines.append(f"{name} = {value}")
        return name


def _lanes_of_registers(lanes: int, width: int) -> list[list[int]]:
    """Which states have their rows of this width in which register."""
    if width == 1:
        return [list(range(lanes))]
    many = 2 * lanes // width
    return [[*range(k + odd, k + many, 2)] for k in range(0, lanes, many) for odd in (0, 1)]
