"""LLVM IR that moves rows of numbers between a user's arrays and tiles: transposing, in registers.

A tile `[n][W]` holds n numbers of each of W states, number by number: entry e of
lane l at `s (e W + l)`, with s bytes of one number. An array holds them state by
state. A mover moves one row, n numbers of each of W states: `stride` bytes from state
to state, `step` bytes from number to number.

    number mover(ptr at, i64 stride, ptr tile, i64 columns, i64 step, i64 last, number sum,
                 ptr places)

`pack...` fills the tile and adds the squares of what it moves, while that is in
registers, to the sum of each lane; `unpack...` empties the tile and returns the
sum as it is; `spread...` does so where the tile has no number twice: `places` says where
each entry is found, in bytes from the first, or `ZEROS` where it and those after it, as many
as are moved at a time, are zero, which is the first. Movers touch exactly the bytes
that are asked for. At the end of a batch, where `last` is below W - 1, the lanes
without a state repeat the state `last`: they read it again, and write again what it
has written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template

from phipsi.backends.write import Width

SHORT = 9  # rows of up to so many columns have movers of their own
MANY = 8  # longer ones are moved so many columns at a time
ZEROS = -1  # instead of a place: nothing but zeros from here on, MANY of them

# Stores of half a cache line, or of a whole one as two halves, cost half as much again where a half
# crosses the border of a line (Zen 4: 59 instead of 90 GB/s into a cache). NumPy's arrays begin 16
# bytes behind such a border. So rows of many columns are stored in halves that begin at one: a few
# columns go first, one by one. That suits all lanes where rows are an even number of halves apart.
HALF = 32  # bytes
LEAST_ALIGNED = 256  # columns

# Stores to as many rows as there are lanes, by turns, wait for memory: no processor guesses where
# the next ones go. So where results of a whole batch leave the caches that a core has of its own,
# lines are asked for ahead of time (Zen 5, 20 kB a state: 39 instead of 24 GB/s into memory, no
# difference into a shared cache). In a core's own caches that is work for nothing.
LINE = 64  # bytes of a cache line
AHEAD = 20 * LINE
LARGE = 1 << 21  # bytes of a result

# Movers in the order of their table. If every lane has a state: of many columns, side by side; of
# 1, 2, ... columns, side by side; of states side by side. In any case: of many columns, side by
# side; of anything. Then, if every lane has a state: of many columns of large results.
LONG, BESIDE, LONG_PART, ANY, LONG_LARGE = 0, SHORT + 1, SHORT + 2, SHORT + 3, SHORT + 4

# So many columns at once. Packing takes half a register from each state, if that is two numbers or
# more: loads that join them save a stage of shuffles. Unpacking writes whole registers: two halves
# cross the border of a cache line as often as a whole, and take longer. Stores that bypass the
# caches are not used: they gained only where outputs exceed the largest cache and rows begin at
# such borders, which those of NumPy seldom do, and lost elsewhere.
#
# Floats are moved four columns at a time: each four lanes of a register take those of another
# state, and numbers are exchanged among these four only. When unpacked, the fours of eight columns
# are joined before they are stored.
_BLOCK = {
    "double": {"pack": {2: 2, 4: 2, 8: 4}, "unpack": {2: 2, 4: 4, 8: 8}},
    "float": {"pack": {2: 2, 4: 4, 8: 4, 16: 4}, "unpack": {2: 2, 4: 4, 8: 8, 16: 8}},
}
_FOUR = 4


def movers(lanes: int, real: str = "double") -> str:
    """Definitions of all movers for tiles of 2 or more lanes; tables of them."""
    width = Width(lanes, real)
    number = width.number
    texts = [f"declare {number} @llvm.fmuladd.{width.suffix}({number}, {number}, {number})\n"]
    texts.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n")
    for k in (4, 8) if real == "double" else ():
        kind = f"<{k} x double>"
        texts.append(f"declare void @llvm.masked.store.v{k}f64.p0({kind}, ptr, i32, <{k} x i1>)\n")
    pack = _plain("pack", width) | {"_long": _long("pack", width)}
    unpack = _plain("unpack", width) | {
        "_long": _long("unpack", width),
        "_ahead": _long("unpack", width, asks_ahead=True),
        "_aligned": _aligned("unpack", width, "_long"),
        "_large": _aligned("unpack", width, "_ahead"),
    }
    spread = {
        "_any": _spread_any(width),
        "_long": _spread_long(width, _even(lanes)),
        "_long_part": _spread_long(width, _clamped(lanes)),
        "_ahead": _spread_long(width, _even(lanes), asks_ahead=True),
        "_aligned": _aligned("spread", width, "_long"),
        "_large": _aligned("spread", width, "_ahead"),
    }
    texts.append("declare i64 @llvm.smax.i64(i64, i64)\n")
    for way, bodies in {"pack": pack, "unpack": unpack, "spread": spread}.items():
        is_packing = way == "pack"
        table = ["_any"] * (LONG_LARGE + 1)
        table[LONG] = "_long" if is_packing else "_aligned"
        table[LONG_LARGE] = "_long" if is_packing else "_large"
        table[LONG_PART] = "_long_part"
        if way != "spread":
            table[1 : SHORT + 1] = [f"_{columns}" for columns in range(1, SHORT + 1)]
            table[BESIDE] = "_beside"
        addresses = ", ".join(f"ptr @{way}{name}" for name in table)
        texts.append(
            f"\n@{way} = internal constant [{len(table)} x ptr] [ {addresses} ], align 8\n"
        )
        texts += [_MOVER.substitute(name=way + x, number=number, body=bodies[x]) for x in bodies]
    return "".join(texts)


def _plain(way: str, width: Width) -> dict[str, str]:
    """Bodies of the movers that do not depend on how many columns are moved at a time."""
    return {
        "_any": _any(way, width),
        "_long_part": _long_part(way, width),
        "_beside": _beside(way, width),
        **{f"_{columns}": _short(way, width, columns) for columns in range(1, SHORT + 1)},
    }


_MOVER = Template("""
define internal $number @$name(ptr %at, i64 %stride, ptr %tile, i64 %columns, i64 %step, i64 %last,
                               $number %sum, ptr %places) #0 {
$body
}
""")


# ---------------------------------------------------------------- bodies of movers


def _short(way: str, width: Width, columns: int) -> str:
    """A given number of columns, side by side: no loop."""
    moves = _Moves(width, ["%sum", "zeroinitializer"])
    moves.row(way, columns, "%at", "%tile")
    end = f"  ret {moves.number} {moves.sum()}"
    return "\n".join([_even(width.lanes), _listed(moves.lines), end])


def _long(way: str, width: Width, asks_ahead: bool = False) -> str:
    """Many columns, side by side; those left over are few."""
    return _by_blocks(way, width, _even(width.lanes), "%left.next", asks_ahead)


def _aligned(way: str, width: Width, mover: str) -> str:
    """Many columns, side by side, stored in halves of cache lines if they are very many."""
    return _ALIGNED.substitute(
        way=way,
        mover=mover,
        number=width.number,
        half=HALF - 1,
        size=width.real.bytes,
        least=LEAST_ALIGNED,
        entry=0 if way == "spread" else width.bytes,
    )


_ALIGNED = Template("""
entry:
  %address = ptrtoint ptr %at to i64
  %behind = sub i64 0, %address
  %bytes = and i64 %behind, $half
  %head = udiv i64 %bytes, $size
  %is_off = icmp ne i64 %head, 0
  %is_many = icmp uge i64 %columns, $least
  %goes_first = and i1 %is_off, %is_many
  br i1 %goes_first, label %few, label %long
few:
  %moved = call $number @${way}_any(ptr %at, i64 %stride, ptr %tile, i64 %head, i64 %step,
                                    i64 %last, $number %sum, ptr %places)
  %head.bytes = mul i64 %head, $size
  %at.few = getelementptr i8, ptr %at, i64 %head.bytes
  %tile.bytes = mul i64 %head, $entry
  %tile.few = getelementptr i8, ptr %tile, i64 %tile.bytes
  %places.bytes = mul i64 %head, 8
  %places.few = getelementptr i8, ptr %places, i64 %places.bytes
  %columns.few = sub i64 %columns, %head
  br label %long
long:
  %l.at = phi ptr [ %at, %entry ], [ %at.few, %few ]
  %l.tile = phi ptr [ %tile, %entry ], [ %tile.few, %few ]
  %l.places = phi ptr [ %places, %entry ], [ %places.few, %few ]
  %l.columns = phi i64 [ %columns, %entry ], [ %columns.few, %few ]
  %all = tail call $number @${way}${mover}(ptr %l.at, i64 %stride, ptr %l.tile, i64 %l.columns,
                                        i64 %step, i64 %last, $number %sum, ptr %l.places)
  ret $number %all""")


def _long_part(way: str, width: Width) -> str:
    """Many columns, side by side, if not all lanes have a state."""
    return _by_blocks(way, width, _clamped(width.lanes), str(ANY))


def _by_blocks(way: str, width: Width, offsets: str, mover: str, asks_ahead: bool = False) -> str:
    """Many columns; those left over go to the mover of that number in the table."""
    moves = _Moves(width, ["%sum0", "%sum1"])
    if asks_ahead:
        moves.ask_ahead(MANY, "%b.at")
    moves.row(way, MANY, "%b.at", "%b.tile")
    size = width.real.bytes
    rest = _REST.substitute(way=way, number=moves.number, mover=mover, size=size)
    return _loop(moves, offsets, MANY, str(size * MANY), rest)


def _any(way: str, width: Width) -> str:
    """Anything, column by column."""
    moves = _Moves(width, ["%sum0", "%sum1"])
    moves.row(way, 1, "%b.at", "%b.tile")
    return _by_columns(moves, _clamped(width.lanes))


def _beside(way: str, width: Width) -> str:
    """States side by side, column by column: no transposing."""
    moves = _Moves(width, ["%sum0", "%sum1"])
    array, tile = ("%b.at", 1), ("%b.tile", width.bytes)
    source, target = (array, tile) if way == "pack" else (tile, array)
    numbers = moves.load(width.lanes, *source)
    moves.store(width.lanes, numbers, *target)
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
        block=columns * moves.width.bytes,
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
                                    i64 %left.next, i64 $size, i64 %last, $number %total,
                                    ptr %places)
  ret $number %moved
done:
  ret $number %total""")


# ---------------------------------------------------------------- tiles without repetitions


def _spread_long(width: Width, offsets: str, asks_ahead: bool = False) -> str:
    """Many columns, side by side; zeros are not fetched."""
    ahead = _Moves(width, [], "%a")
    if asks_ahead:
        ahead.ask_ahead(MANY, "%b.at")
    moves = _Moves(width, ["%sum"])
    moves.row("spread", MANY, "%b.at", "%tile")
    zeros = _Moves(width, ["%sum"], "%z")
    zeros.zeros(MANY, "%b.at")
    return _SPREAD_LONG.substitute(
        number=moves.number,
        offsets=offsets,
        ahead=_listed(ahead.lines),
        body=_listed(moves.lines),
        zeros=_listed(zeros.lines),
        columns=MANY,
        step=MANY * width.real.bytes,
        list=MANY * 8,
        size=width.real.bytes,
    )


def _spread_any(width: Width) -> str:
    """Anything, column by column."""
    moves = _Moves(width, ["%sum"])
    moves.row("spread", 1, "%b.at", "%tile")
    return _SPREAD_ANY.substitute(
        number=moves.number, offsets=_clamped(width.lanes), body=_listed(moves.lines)
    )


_SPREAD_LONG = Template("""
entry:
$offsets
  br label %block
block:
  %left = phi i64 [ %columns, %entry ], [ %left.next, %moved ]
  %b.at = phi ptr [ %at, %entry ], [ %b.at.next, %moved ]
  %b.places = phi ptr [ %places, %entry ], [ %b.places.next, %moved ]
$ahead
  %begin = load i64, ptr %b.places, align 8
  %is_zero = icmp slt i64 %begin, 0
  br i1 %is_zero, label %zeros, label %some
some:
$body
  br label %moved
zeros:
$zeros
  br label %moved
moved:
  %left.next = sub i64 %left, $columns
  %b.at.next = getelementptr i8, ptr %b.at, i64 $step
  %b.places.next = getelementptr i8, ptr %b.places, i64 $list
  %more = icmp uge i64 %left.next, $columns
  br i1 %more, label %block, label %rest
rest:
  %over = icmp ne i64 %left.next, 0
  br i1 %over, label %few, label %done
few:
  %last.one = tail call $number @spread_any(ptr %b.at.next, i64 %stride, ptr %tile, i64 %left.next,
                                            i64 $size, i64 %last, $number %sum, ptr %b.places.next)
  ret $number %last.one
done:
  ret $number %sum
""")

_SPREAD_ANY = Template("""
entry:
$offsets
  br label %block
block:
  %left = phi i64 [ %columns, %entry ], [ %left.next, %block ]
  %b.at = phi ptr [ %at, %entry ], [ %b.at.next, %block ]
  %b.places = phi ptr [ %places, %entry ], [ %b.places.next, %block ]
$body
  %left.next = sub i64 %left, 1
  %b.at.next = getelementptr i8, ptr %b.at, i64 %step
  %b.places.next = getelementptr i8, ptr %b.places, i64 8
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %block, label %done
done:
  ret $number %sum
""")


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


def _blocks(way: str, width: Width, columns: int) -> list[tuple[int, int]]:
    """The blocks that make up a row: first column, and how many.

    The number is a power of two, except that registers of 8 doubles are stored in part: processors
    that have such registers are good at that. Of floats, a last block of fewer columns overlaps
    the one before it: three take longer than four.
    """
    largest = _BLOCK[width.real.name]["pack" if way == "pack" else "unpack"][width.lanes]
    sizes = [largest] * (columns // largest)
    rest = columns % largest
    if width.real.name == "float":
        last = 1 << (rest - 1).bit_length()  # so many would do
        last = last if last <= columns else last // 2
        evenly = [(largest * k, largest) for k in range(len(sizes))]
        lower = [(k, last) for k in range(columns - rest, columns - last, last)]
        return evenly + ([*lower, (columns - last, last)] if rest else [])
    if rest and largest == 8:
        sizes.append(rest)
    else:
        sizes += [1 << k for k in reversed(range(rest.bit_length())) if rest >> k & 1]
    return [(sum(sizes[:k]), size) for k, size in enumerate(sizes)]


def _listed(lines: Iterable[str]) -> str:
    return "\n".join("  " + line for line in lines)


# ---------------------------------------------------------------- blocks


class _Moves:
    """Writes the moves of blocks of W states and C columns.

    A block passes through registers that hold rows, a row being the numbers of one state, made up
    to R = 1, 2, 4 or 8. Neighbours among these R registers hold neighbouring states: rows 0, 2, ...
    and rows 1, 3, ... of 2 W / R states that follow each other.

    Args:
        width: of a register; its lanes are W.
        sums: values to which squares are added in turn.
        prefix: of the names of values.
    """

    def __init__(self, width: Width, sums: Sequence[str], prefix: str = "%x"):
        self.width, self.lanes, self.sums, self.prefix = width, width.lanes, list(sums), prefix
        self.number, self.real = width.number, width.real
        self.lines: list[str] = []

    def row(self, way: str, columns: int, at: str, tile: str) -> None:
        """Move any number of columns; `%lane1`, ... say where each lane begins."""
        done = 0
        for first, size in _blocks(way, self.width, columns):
            self._block(way, size, at, tile, first, done - first)
            done = first + size

    def _block(self, way: str, columns: int, at: str, tile: str, first: int, moved: int) -> None:
        """Move C columns, from number `first` on, of which so many have been moved before."""
        width, by_fours = 1 << (columns - 1).bit_length(), self._goes_by_fours(columns)
        at = self._offset(at, self.real.bytes * first)
        states = _lanes_of_fours if by_fours else _lanes_of_registers
        places = [
            [self._offset(at, f"%lane{lane}" if lane else 0) for lane in lanes]
            for lanes in states(self.lanes, width)
        ]
        size = self.width.bytes
        entry_of = self._found if way == "spread" else self._next
        entries = [entry_of(tile, first + j) for j in range(columns)]
        if way == "pack":
            rows = [[self.load(columns, place, 1) for place in some] for some in places]
            joined = [self._joined(some) for some in rows]
            packed = self._turned(joined) if by_fours else self._columns(joined)
            fresh = packed[moved:]
            for x, entry in zip(fresh, entries[moved:], strict=True):
                self.store(self.lanes, x, entry, size)
            self.watch(fresh)
        else:
            packed = [self.load(self.lanes, entry, size) for entry in entries]
            wanted = packed + ["poison"] * (width - columns)
            registers = self._rows_by_fours(wanted) if by_fours else self._rows(wanted)
            for x, some in zip(registers, places, strict=True):
                for k, place in enumerate(some):
                    row = self._shuffle(x, "poison", range(k * width, (k + 1) * width))
                    self.store(width, row, place, 1, columns)

    def zeros(self, columns: int, at: str) -> None:
        """Zeros into columns of all lanes."""
        for lane in range(self.lanes):
            place = self._offset(at, f"%lane{lane}" if lane else 0)
            for first in range(0, columns, self.lanes):
                width = min(self.lanes, columns - first)
                self.store(
                    width, "zeroinitializer", self._offset(place, self.real.bytes * first), 1
                )

    def ask_ahead(self, columns: int, at: str) -> None:
        """Ask for what so many columns of all lanes will be written to a little later."""
        for lane in range(self.lanes):
            place = self._offset(at, f"%lane{lane}" if lane else 0)
            for behind in range(0, self.real.bytes * columns, LINE):
                line = self._offset(place, AHEAD + behind)
                self.lines.append(f"call void @llvm.prefetch.p0(ptr {line}, i32 1, i32 3, i32 1)")

    def _next(self, tile: str, entry: int) -> str:
        """Where an entry stands in a tile that has all of them."""
        return self._offset(tile, self.width.bytes * entry)

    def _found(self, tile: str, entry: int) -> str:
        """Where an entry is found in a tile that has no number twice."""
        at = self._offset("%b.places", 8 * entry)
        listed = self._let(f"load i64, ptr {at}, align 8")
        return self._offset(tile, self._let(f"call i64 @llvm.smax.i64(i64 {listed}, i64 0)"))

    def watch(self, numbers: Iterable[str]) -> None:
        """Add squares to the sums, in turn."""
        for x in numbers:
            parts = ", ".join(f"{self.number} {y}" for y in (x, x, self.sums[0]))
            call = f"call {self.number} @llvm.fmuladd.{self.width.suffix}({parts})"
            self.sums = [*self.sums[1:], self._let(call)]

    def sum(self) -> str:
        """All sums together."""
        first, *others = [x for x in self.sums if x != "zeroinitializer"]
        for x in others:
            first = self._let(f"fadd {self.number} {first}, {x}")
        return first

    def load(self, width: int, place: str, align: int) -> str:
        """So many numbers side by side."""
        return self._let(f"load <{width} x {self.real.name}>, ptr {place}, align {align}")

    def store(self, width: int, value: str, place: str, align: int, some: int = 0) -> None:
        """So many numbers side by side; only some of them, if that is said."""
        kind = f"<{width} x {self.real.name}>"
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

    def _goes_by_fours(self, columns: int) -> bool:
        """Whether each four lanes are turned by themselves."""
        return self.real.name == "float" and columns >= _FOUR

    def _turned(self, rows: list[str]) -> list[str]:
        """4 x 4 matrices in four registers, four lanes each, transposed: rows or columns."""
        halves = [self._interleaved(a, b) for a, b in zip(rows[:2], rows[2:], strict=True)]
        return [x for pair in zip(*halves, strict=True) for x in self._interleaved(*pair)]

    def _rows_by_fours(self, columns: list[str]) -> list[str]:
        """Rows of 4 or 8 columns, in as many registers."""
        fours = [self._turned(columns[k : k + _FOUR]) for k in range(0, len(columns), _FOUR)]
        if len(fours) == 1:
            return fours[0]
        both = [
            range(x, x + _FOUR) for k in range(0, self.lanes, _FOUR) for x in (k, self.lanes + k)
        ]
        picks = [k for four in both for k in four]
        halves = picks[: self.lanes], picks[self.lanes :]
        return [self._shuffle(a, b, half) for a, b in zip(*fours, strict=True) for half in halves]

    def _interleaved(self, a: str, b: str) -> list[str]:
        """Numbers of two registers in turn: of each four the first two, and the last two."""
        starts = range(0, self.lanes, _FOUR)
        first = [k for i in starts for j in (i, i + 1) for k in (j, self.lanes + j)]
        return [self._shuffle(a, b, picks) for picks in (first, [k + 2 for k in first])]

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
        kind = f"<{width or self.lanes} x {self.real.name}>"
        mask = ", ".join(f"i32 {k}" for k in picks)
        return self._let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")

    def _offset(self, place: str, by: int | str) -> str:
        return self._let(f"getelementptr i8, ptr {place}, i64 {by}") if by else place

    def _let(self, value: str) -> str:
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {value}")
        return name


def _lanes_of_fours(lanes: int, width: int) -> list[list[int]]:
    """Which states, if each four lanes are turned by themselves: 0, 4, ..., then 1, 5, ..."""
    many = lanes * _FOUR // width
    starts = range(0, lanes, many)
    return [[*range(first + k, first + many, _FOUR)] for k in range(_FOUR) for first in starts]


def _lanes_of_registers(lanes: int, width: int) -> list[list[int]]:
    """Which states have their rows of this width in which register."""
    if width == 1:
        return [list(range(lanes))]
    many = 2 * lanes // width
    return [[*range(k + odd, k + many, 2)] for k in range(0, lanes, many) for odd in (0, 1)]
