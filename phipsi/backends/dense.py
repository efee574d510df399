"""Dense systems as LLVM IR: rows of tables that solve, invert and multiply matrices of any size.

    dense_solve_positive    x = A^-1 b of a symmetric positive A, by A = L* D L
    dense_solve             x = A^-1 b of any A, by P A = L U
    dense_inverse           A^-1 of any A, by P A = L U
    dense_multiply          C + A B, in the place of C
    dense_multiply_right    A + C B*, in the place of A
    dense_multiply_left     B + A* C, in the place of B
    dense_residual          c - A b
    dense_sandwich          -A b A of two matrices
    dense_adjoint_solve     A*^-1 b =: y added to the result, and -y c* to a matrix d
    dense_adjoint_inverse   -A* b A* of two matrices, added to the result

Each has the signature of the code of a row (`rolled`); the row has the fields

    3 n     4 where A starts     5 where b starts     6 where the result starts
    7 where there is room for `scratch(n)` numbers     8, 9 where c and d start

and for products, of A with n rows and k columns and B with m columns,

    3 n     4 k     5 m     6, 8, 10 -1, and 7, 9, 11 where the operands start: A, B, C; C, B, A; or
    A, C, B. In place of -1 the number of the result that C is; of an argument where C is read

counted in numbers of one lane of the workspace; matrices are stored row by row. A
and b stay as they are. What comes back are the lanes in which a check of
`lowering.trace.Checks` fails.

Each lane is a system of its own, with pivots of its own. Nearly all work is done
by one loop: rows are added to a row, a block of columns of all lanes at a time, so
that nothing is stored in between. Rows with the weight zero in every lane are left
out: so the zeros of a mass matrix between unrelated branches cost nothing. What is
in columns behind the last, which fill its block, is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from phipsi.backends.write import Width, Writer, declarations
from phipsi.lowering.trace import LIMITS

# Of the operands of products, rows and columns: n x k times k x m.
SIDES = {
    "dense_multiply": ("nk", "km", "nm"),
    "dense_multiply_right": ("nm", "km", "nk"),
    "dense_multiply_left": ("nk", "nm", "km"),
}
ROW_CODE = "ptr %ins, ptr %outs, ptr %work, ptr %row"  # what the code of a row is given


def scratch(n: int) -> int:
    """How many numbers per lane must be there to work in, for a matrix of n rows."""
    return max((3 * n + 1) * row_length(n, block) + 5 * n for block in (4, 8))


def block_columns(width: Width) -> int:
    """Columns whose sums stay in registers together: 4 or 8."""
    return min(8, 256 // width.bytes)


def source(lanes: int, real: str = "double") -> str:
    """The module of these functions, for so many lanes of doubles or floats."""
    width = Width(lanes, real)
    helpers = (_weigh, _add, _exchange, _invert, _watch)
    systems = (_solve_positive, _solve, _inverse)
    products = (_multiply, _multiply_right, _multiply_left, _residual, _sandwich)
    adjoints = (_adjoint_solve, _adjoint_inverse)
    texts = [part(width) for part in (*helpers, *systems, *products, *adjoints)]
    block = Width(block_columns(width) * lanes, real)
    declared = [declarations(texts, x) for x in (width, block)]
    return "\n".join([*texts, *declared[0], *declared[1], width.attributes])


def operations(routine: str, n: int) -> dict[str, int]:
    """What a routine does to a matrix of n rows, about."""
    square, cube = n * n, n**3
    many = {
        "dense_solve_positive": cube // 6 + square,
        "dense_residual": square,
        "dense_sandwich": 2 * cube,
        "dense_adjoint_inverse": 2 * cube,
    }.get(routine, cube + square)
    divides = n if "solve" in routine or routine == "dense_inverse" else 0
    return {"mul": many, "add": many, "div": divides}


def row_length(n: int, block: int) -> int:
    """Of n + 1 columns in an odd number of blocks: rows that lie 2^k apart share cache lines."""
    return (n + block) // block * block | block


# -- writing loops ---------------------------------------------------------------------------


@dataclass
class _Loop:
    """A loop that is being written.

    Args:
        i: its index.
        values: what is carried from turn to turn; to be replaced by what the next turn begins with.
    """

    i: str
    values: list[str]


class _Function(Writer):
    """Instructions of one function, with loops.

    Args:
        width: of the numbers.
        head: linkage, type, name and parameters.
    """

    def __init__(self, width: Width, head: str):
        super().__init__(width)
        self.head = head
        self.zero, self.one = width.constant(0.0), width.constant(1.0)
        self.columns = block_columns(width)
        self.block = Width(self.columns * width.lanes, width.real.name)
        self.limits = LIMITS[width.real.name]
        self._label = "entry"  # of the instructions that are being written

    def text(self, result: str) -> str:
        """The whole function."""
        lines = "\n  ".join([*self.lines, f"ret {result}"])
        return f"define {self.head} #0 {{\nentry:\n  {lines}\n}}"

    @contextmanager
    def loop(self, first: str, last: str, *carried: tuple[str, str]) -> Iterator[_Loop]:
        """For i from `first` up to, not including, `last`.

        Args:
            first: where to begin.
            last: where to stop.
            carried: type and first value of what changes from turn to turn.
        """
        mark, before = len(self.lines), self._label
        types = ["i64", *(kind for kind, _ in carried)]
        names = [f"%x{mark}.{k}" for k in range(len(types))]
        loop = _Loop(names[0], names[1:])
        self._begin(f"head{mark}", f"br label %head{mark}")
        phis = len(self.lines)
        self.lines += [""] * len(types)  # until the next values are known
        more = self.let(f"icmp slt i64 {loop.i}, {last}")
        self._begin(f"body{mark}", f"br i1 {more}, label %body{mark}, label %end{mark}")
        yield loop
        starts = [first, *(value for _, value in carried)]
        following = [self.add(loop.i, "1"), *loop.values]
        for k, (kind, start, after) in enumerate(zip(types, starts, following, strict=True)):
            ways = f"[{start}, %{before}], [{after}, %{self._label}]"
            self.lines[phis + k] = f"{names[k]} = phi {kind} {ways}"
        self._begin(f"end{mark}", f"br label %head{mark}")
        loop.values = names[1:]

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done if a condition holds."""
        mark = len(self.lines)
        self._begin(f"then{mark}", f"br i1 {condition}, label %then{mark}, label %end{mark}")
        yield
        self._begin(f"end{mark}", f"br label %end{mark}")

    def _begin(self, label: str, jump: str) -> None:
        self.lines += [jump, f"{label}:"]
        self._label = label

    # -- integers and places -----------------------------------------------------------------

    def add(self, x: str, y: str) -> str:
        """x + y of integers."""
        return self.let(f"add i64 {x}, {y}")

    def mul(self, x: str, y: str) -> str:
        """x y of integers."""
        return self.let(f"mul i64 {x}, {y}")

    def mirrored(self, i: str, n: str) -> str:
        """n - 1 - i: a loop that runs down."""
        return self.add(self.let(f"sub i64 {n}, {i}"), "-1")

    def blocks(self, columns: str) -> str:
        """How many blocks hold so many columns."""
        return self.let(f"udiv i64 {self.add(columns, str(self.columns - 1))}, {self.columns}")

    def at(self, base: str, index: str, kind: str | None = None) -> str:
        """The place of an entry."""
        return self.let(f"getelementptr {kind or self.width.number}, ptr {base}, i64 {index}")

    # -- numbers -----------------------------------------------------------------------------

    def get(self, base: str, index: str) -> str:
        """An entry, of all lanes."""
        return self.load(self.at(base, index), 0)

    def put(self, value: str, base: str, index: str) -> None:
        """Into an entry, of all lanes."""
        self.store(value, self.at(base, index), 0)

    def number(self, operation: str, *operands: str) -> str:
        """Arithmetic, lane by lane."""
        return self.let(f"{operation} {self.width.number} {', '.join(operands)}")

    def size(self, x: str) -> str:
        """|x|."""
        T = self.width.number
        return self.let(f"call {T} @llvm.fabs.{self.width.suffix}({T} {x})")

    def fused(self, x: str, y: str, z: str, width: Width | None = None) -> str:
        """x y + z."""
        width = width or self.width
        listed = ", ".join(f"{width.number} {a}" for a in (x, y, z))
        return self.let(f"call {width.number} @llvm.fmuladd.{width.suffix}({listed})")

    def choose(self, condition: str, x: str, y: str) -> str:
        """x where the condition holds, else y."""
        T = self.width.number
        return self.let(f"select {self.width.truth} {condition}, {T} {x}, {T} {y}")

    def bits(self, truth: str) -> str:
        """One bit for each lane."""
        lanes = self.width.lanes
        if lanes > 1:
            truth = self.let(f"bitcast {self.width.truth} {truth} to i{lanes}")
        return self.let(f"zext i{lanes} {truth} to i64")

    def any(self, truth: str) -> str:
        """Whether something holds in any lane."""
        return self.let(f"icmp ne i64 {self.bits(truth)}, 0")

    def spread(self, x: str, columns: int, lanes: int) -> str:
        """One number of each lane, again and again."""
        real = self.width.real.name
        if lanes == 1:
            x = self.let(f"insertelement <1 x {real}> poison, {real} {x}, i64 0")
        kind = f"<{lanes} x {real}>"
        order = ", ".join(f"i32 {lane}" for _ in range(columns) for lane in range(lanes))
        mask = f"<{columns * lanes} x i32> <{order}>"
        return self.let(f"shufflevector {kind} {x}, {kind} poison, {mask}")

    def index(self, i: str) -> str:
        """An integer as a number, the same in all lanes."""
        number = self.let(f"sitofp i64 {i} to {self.width.real.name}")
        return number if self.width.lanes == 1 else self.spread(number, self.width.lanes, 1)


# -- adding and exchanging rows --------------------------------------------------------------


def _weigh(width: Width) -> str:
    """List the rows that are to be subtracted, c_m d_m of row m; those with weight zero left out.

    Returns how many there are.
    """
    f = _Function(
        width,
        "internal i64 @weigh(ptr %c, i64 %step, ptr %d, ptr %first, i64 %length, i64 %count,"
        " ptr %weights, ptr %rows)",
    )
    with f.loop("0", "%count", ("i64", "0")) as each:
        m, [kept] = each.i, each.values
        c = f.get("%c", f.mul(m, "%step"))
        weight = f.number("fneg", f.number("fmul", c, f.get("%d", m)))
        f.put(weight, "%weights", kept)
        row = f.at("%first", f.mul(m, "%length"))
        f.lines.append(f"store ptr {row}, ptr {f.at('%rows', kept, 'ptr')}, align 4")
        counts = f.any(f.number("fcmp une", weight, f.zero))
        each.values = [f.add(kept, f.let(f"zext i1 {counts} to i64"))]
    return f.text(f"i64 {each.values[0]}")


def _add(width: Width) -> str:
    """Add the rows that `weigh` has listed to a row, some blocks of columns."""
    f = _Function(
        width,
        "internal void @add(ptr %to, i64 %first, i64 %last, i64 %count, ptr %weights, ptr %rows)",
    )
    block, aligned = f.block.number, f"align {width.bytes}"
    with f.loop("%first", "%last") as columns:
        to = f.at("%to", columns.i, block)
        start = f.let(f"load {block}, ptr {to}, {aligned}")
        with f.loop("0", "%count", (block, start)) as each:
            row = f.let(f"load ptr, ptr {f.at('%rows', each.i, 'ptr')}, align 4")
            x = f.let(f"load {block}, ptr {f.at(row, columns.i, block)}, {aligned}")
            weight = f.spread(f.get("%weights", each.i), f.columns, width.lanes)
            each.values = [f.fused(weight, x, each.values[0], f.block)]
        f.lines.append(f"store {block} {each.values[0]}, ptr {to}, {aligned}")
    return f.text("void")


def _exchange(width: Width) -> str:
    """Exchange line k with the line of the pivot, in each lane; lines are rows or columns."""
    f = _Function(
        width,
        "internal void @exchange(ptr %pivot, i64 %k, i64 %n, ptr %base, i64 %across, i64 %along,"
        " i64 %count)",
    )
    pivot = f.get("%pivot", "0")
    ours = f.at("%base", f.mul("%k", "%across"))
    with f.loop(f.add("%k", "1"), "%n") as line:
        here = f.number("fcmp oeq", pivot, f.index(line.i))
        with f.when(f.any(here)):
            other = f.at("%base", f.mul(line.i, "%across"))
            with f.loop("0", "%count") as entry:
                place = f.mul(entry.i, "%along")
                x, y = f.get(ours, place), f.get(other, place)
                f.put(f.choose(here, y, x), ours, place)
                f.put(f.choose(here, x, y), other, place)
    return f.text("void")


class _Solver(_Function):
    """The code of a row: its fields, and the room to work in.

    Attributes:
        n: rows of A.
        length: of the rows of F, G and X, which fill most of the room.
        d: the inverses of pivots.
    """

    def __init__(self, width: Width, head: str):
        super().__init__(width, head)
        fields = [self.let(f"load i64, ptr {self.at('%row', str(k), 'i64')}") for k in range(3, 8)]
        self.n = fields[0]
        self.A, self.b, self.result, self.F = (self.at("%work", place) for place in fields[1:])
        whole = self.let(f"and i64 {self.add(self.n, str(self.columns))}, {-self.columns}")
        self.length = self.let(f"or i64 {whole}, {self.columns}")  # `row_length`
        size = self.mul(self.n, self.length)
        self.G = self.at(self.F, size)
        self.X = self.at(self.G, size)
        self.sum = self.at(self.X, size)
        self.d = self.at(self.sum, self.length)
        self.pivots = self.at(self.d, self.n)
        self._weights = self.at(self.pivots, self.n)
        self._rows = self.at(self._weights, self.n)

    def another(self, field: int) -> str:
        """Where an operand beside A, b and the result starts."""
        return self.at("%work", self.let(f"load i64, ptr {self.at('%row', str(field), 'i64')}"))

    def row(self, base: str, i: str) -> str:
        """Where a row of F, G or X starts."""
        return self.at(base, self.mul(i, self.length))

    def weigh(self, c: str, step: str, d: str, first: str, count: str) -> str:
        """List c_m d_m and row m, for m below count."""
        return self.let(
            f"call i64 @weigh(ptr {c}, i64 {step}, ptr {d}, ptr {first}, i64 {self.length},"
            f" i64 {count}, ptr {self._weights}, ptr {self._rows})"
        )

    def subtract(self, to: str, count: str, first: str, last: str) -> None:
        """Subtract the rows that are listed, of blocks of columns from first to last."""
        self.lines.append(
            f"call void @add(ptr {to}, i64 {first}, i64 {last}, i64 {count},"
            f" ptr {self._weights}, ptr {self._rows})"
        )

    def exchange(self, k: str, base: str, across: str, along: str, count: str) -> None:
        """Exchange row or column k with that of its pivot."""
        self.lines.append(
            f"call void @exchange(ptr {self.at(self.pivots, k)}, i64 {k}, i64 {self.n},"
            f" ptr {base}, i64 {across}, i64 {along}, i64 {count})"
        )

    def copy(self, start: str, to: str, count: str) -> None:
        """Numbers that follow each other."""
        with self.loop("0", count) as j:
            self.put(self.get(start, j.i), to, j.i)

    def fill(self, value: float, row: str, first: str, last: str) -> None:
        """The same number from first to last."""
        with self.loop(first, last) as j:
            self.put(self.width.constant(value), row, j.i)

    def watch(self, bad: str, how: str, x: str, y: str) -> str:
        """What marks the lanes in which a comparison has failed so far, 1 there and 0 elsewhere."""
        return self.choose(self.number(f"fcmp {how}", x, y), bad, self.one)

    def finish(self, bad: str) -> str:
        """The whole function, which returns those lanes."""
        return self.text(f"i64 {self.bits(self.number('fcmp une', bad, self.zero))}")


# -- symmetric positive matrices ---------------------------------------------------------------


def _solve_positive(width: Width) -> str:
    """x = A^-1 b by A = L* D L, from the last row on, as `steps.arithmetic.solve_symmetric`.

    Only the lower triangle of A is read. Row k of F has L*^-1 b, then D L, up to the diagonal:

        F_k = [b_k, A_k] - sum_m>k  (F_m,k / D_m) F_m          D_k = F_k,k
        x_k = (F_k,b - sum_j<k F_k,j x_j) / D_k
    """
    f = _Solver(width, f"i64 @dense_solve_positive({ROW_CODE})")
    n, length = f.n, f.length
    with f.loop("0", n, (width.number, f.zero)) as step:
        k = f.mirrored(step.i, n)
        row, below = f.row(f.F, k), f.add(k, "1")
        columns = f.add(k, "2")
        f.put(f.get(f.b, k), row, "0")
        A_k = f.at(f.A, f.mul(k, n))
        f.copy(A_k, f.at(row, "1"), below)
        later = f.row(f.F, below)
        count = f.weigh(f.at(later, below), length, f.at(f.d, below), later, step.i)
        f.subtract(row, count, "0", f.blocks(columns))
        d = f.number("fdiv", f.one, f.get(row, below))
        f.put(d, f.d, k)
        f.put(f.get(row, "0"), f.result, k)
        bad = f.watch(step.values[0], "ogt", d, f.zero)
        share = f.number(
            "fmul", f.width.constant(f.limits.dense), f.number("fmul", f.get(A_k, k), d)
        )
        step.values = [f.watch(bad, "olt", share, f.one)]
    with f.loop("0", n) as each:
        x = f.number("fmul", f.get(f.result, each.i), f.get(f.d, each.i))
        f.put(x, f.result, each.i)
        column = f.add(each.i, "1")
        minus_x = f.number("fneg", x)
        with f.loop(column, n) as later_row:
            F_kj = f.get(f.row(f.F, later_row.i), column)
            left = f.get(f.result, later_row.i)
            f.put(f.fused(minus_x, F_kj, left), f.result, later_row.i)
    return f.finish(step.values[0])


# -- any matrix ----------------------------------------------------------------------------------


def _solve(width: Width) -> str:
    """x = A^-1 b, the last column of X."""
    f = _Solver(width, f"i64 @dense_solve({ROW_CODE})")
    f.lines.append(f"call void @invert(ptr %work, ptr %row, i64 {f.add(f.n, '1')})")
    with f.loop("0", f.n) as each:
        f.put(f.get(f.row(f.X, each.i), f.n), f.result, each.i)
    return f.text(f"i64 {f.let('call i64 @watch(ptr %work, ptr %row)')}")


def _inverse(width: Width) -> str:
    """A^-1, the columns of X before that."""
    f = _Solver(width, f"i64 @dense_inverse({ROW_CODE})")
    f.lines.append(f"call void @invert(ptr %work, ptr %row, i64 {f.n})")
    with f.loop("0", f.n) as each:
        f.copy(f.row(f.X, each.i), f.at(f.result, f.mul(each.i, f.n)), f.n)
    return f.text(f"i64 {f.let('call i64 @watch(ptr %work, ptr %row)')}")


def _invert(width: Width) -> str:
    """X = [A^-1, A^-1 b], or X = A^-1 without the column of b: by P A = L U, the largest pivots.

    Rows of F are those of U, then L^-1 P b; rows of G the columns of L D, D the
    pivots; rows of X at first those of L^-1:

        G_k = (A*)_k - sum_m<k (F_m,k / D_m) G_m      D_k = G_k,k once rows are exchanged
        F_k = [A_k, b_k] - sum_m<k (G_m,k / D_m) F_m
        X_k = e_k - sum_m<k (G_m,k / D_m) X_m

    From the last on they become rows of D U^-1 [L^-1, L^-1 P b]:

        X_k = [X_k, F_k,b] - sum_m>k (F_k,m / D_m) X_m

    Divided by D they are U^-1 L^-1, of which columns remain to be exchanged, and x.
    """
    f = _Solver(width, "internal void @invert(ptr %work, ptr %row, i64 %columns)")
    n, length, blocks = f.n, f.length, f.blocks("%columns")
    _copy_twice(f)
    with f.loop("0", n) as step:
        k = step.i
        F_k, G_k, X_k = (f.row(base, k) for base in (f.F, f.G, f.X))
        own = f.let(f"udiv i64 {k}, {f.columns}")  # the block of the diagonal
        count = f.weigh(f.at(f.F, k), length, f.d, f.G, k)
        f.subtract(G_k, count, own, f.blocks(n))
        _find_pivot(f, G_k, k)
        f.exchange(k, f.at(f.F, k), length, "1", f.let(f"sub i64 %columns, {k}"))
        f.exchange(k, f.G, "1", length, n)
        f.put(f.number("fdiv", f.one, f.get(G_k, k)), f.d, k)
        count = f.weigh(f.at(f.G, k), length, f.d, f.F, k)
        f.subtract(F_k, count, own, blocks)
        f.fill(0.0, X_k, "0", n)
        f.put(f.one, X_k, k)
        count = f.weigh(f.at(f.G, k), length, f.d, f.X, k)
        f.subtract(X_k, count, "0", f.blocks(k))
    with f.loop("0", n) as step:
        k = f.mirrored(step.i, n)
        after = f.add(k, "1")
        F_k, X_k = f.row(f.F, k), f.row(f.X, k)
        with f.loop(n, "%columns") as j:
            f.put(f.get(F_k, j.i), X_k, j.i)
        count = f.weigh(f.at(F_k, after), "1", f.at(f.d, after), f.row(f.X, after), step.i)
        f.subtract(X_k, count, "0", blocks)
    with f.loop("0", n) as each:
        X_k, d = f.row(f.X, each.i), f.get(f.d, each.i)
        with f.loop("0", "%columns") as j:
            f.put(f.number("fmul", f.get(X_k, j.i), d), X_k, j.i)
    with f.loop("0", n) as step:
        f.exchange(f.mirrored(step.i, n), f.X, "1", length, n)
    return f.text("void")


def _copy_twice(f: _Solver) -> None:
    """[A, b] as rows of F, A* as rows of G."""
    with f.loop("0", f.n) as each:
        row, A_i = f.row(f.F, each.i), f.at(f.A, f.mul(each.i, f.n))
        with f.loop("0", f.n) as j:
            entry = f.get(A_i, j.i)
            f.put(entry, row, j.i)
            f.put(entry, f.row(f.G, j.i), each.i)
        with f.loop(f.n, "%columns") as j:
            f.put(f.get(f.b, each.i), row, j.i)


def _find_pivot(f: _Solver, G_k: str, k: str) -> None:
    """Of the largest entry from k on, its row; the first of equal ones."""
    T = f.width.number
    with f.loop(k, f.n, (T, f.width.constant(-1.0)), (T, f.index(k))) as each:
        largest, where = each.values
        size = f.size(f.get(G_k, each.i))
        larger = f.number("fcmp ogt", size, largest)
        each.values = [f.choose(larger, size, largest), f.choose(larger, f.index(each.i), where)]
    f.put(each.values[1], f.pivots, k)


def _watch(width: Width) -> str:
    """The lanes in which an entry of |A^-1| |A| is too large; A^-1 is in X, |A^-1| afterwards.

    No entry is larger than the sum of its row, |A^-1| |A| e, which costs little.
    """
    f = _Solver(width, "internal i64 @watch(ptr %work, ptr %row)")
    n, T = f.n, f.width.number
    with f.loop("0", n) as each:
        A_i = f.at(f.A, f.mul(each.i, n))
        with f.loop("0", n, (T, f.zero)) as j:
            size = f.size(f.get(A_i, j.i))
            j.values = [f.number("fadd", j.values[0], size)]
        f.put(j.values[0], f.sum, each.i)
    with f.loop("0", n, (T, f.zero)) as each:
        X_i = f.row(f.X, each.i)
        with f.loop("0", n, (T, f.zero)) as j:
            size = f.size(f.get(X_i, j.i))
            f.put(size, X_i, j.i)
            j.values = [f.fused(size, f.get(f.sum, j.i), j.values[0])]
        half = f.width.constant(0.5 * f.limits.singular)  # leaves room for rounding
        each.values = [f.watch(each.values[0], "olt", j.values[0], half)]
    f.put(each.values[0], f.sum, "0")
    with f.when(f.any(f.number("fcmp une", each.values[0], f.zero))):
        f.put(_watch_entries(f), f.sum, "0")
    return f.finish(f.get(f.sum, "0"))


def _watch_entries(f: _Solver) -> str:
    """Marks these lanes, entry by entry; |A^-1| is in X.

    An infinite entry of A must be looked for: |A^-1| may be zero there.
    """
    n, T = f.n, f.width.number
    f.fill(-1.0, f.d, "0", n)
    with f.loop("0", n, (T, f.zero)) as each:
        row, A_i = f.row(f.G, each.i), f.at(f.A, f.mul(each.i, n))
        with f.loop("0", n, (T, each.values[0])) as j:
            size = f.size(f.get(A_i, j.i))
            f.put(size, row, j.i)
            j.values = [f.watch(j.values[0], "olt", size, f.width.constant(float("inf")))]
        each.values = j.values
    with f.loop("0", n, (T, each.values[0])) as each:
        f.fill(0.0, f.sum, "0", n)
        count = f.weigh(f.row(f.X, each.i), "1", f.d, f.G, n)
        f.subtract(f.sum, count, "0", f.blocks(n))
        with f.loop("0", n, (T, each.values[0])) as j:
            entry = f.get(f.sum, j.i)
            j.values = [f.watch(j.values[0], "olt", entry, f.width.constant(f.limits.singular))]
        each.values = j.values
    return each.values[0]


# -- products --------------------------------------------------------------------------------------


class _Product(_Function):
    """The code of a product: sizes, and where the operands start.

    Args:
        width: of the numbers.
        routine: its name.
        area: what C is in, where it is not in the workspace: "%outs" or "%ins".
    """

    def __init__(self, width: Width, routine: str, area: str):
        super().__init__(width, f"i64 @{routine}({ROW_CODE})")
        self.n, self.k, self.m = (self._field(i) for i in range(3, 6))
        self.operands = [
            self._operand(6 + 2 * i, area if sides == "nm" else None)
            for i, sides in enumerate(SIDES[routine])
        ]

    def _field(self, i: int) -> str:
        return self.let(f"load i64, ptr {self.at('%row', str(i), 'i64')}")

    def _operand(self, field: int, area: str | None) -> str:
        """Where an operand starts."""
        place = self._field(field + 1)
        if area is None:
            return self.at("%work", place)
        number = self._field(field)
        is_work = self.let(f"icmp slt i64 {number}, 0")
        index = self.let(f"select i1 {is_work}, i64 0, i64 {number}")
        where = self.let(f"select i1 {is_work}, ptr %row, ptr {self.at(area, index, 'ptr')}")
        other = self.let(f"load ptr, ptr {where}")  # of a row for the workspace, unused
        return self.at(self.let(f"select i1 {is_work}, ptr %work, ptr {other}"), place)


def _multiply(width: Width) -> str:
    """C_i + sum_j A_ij B_j of rows, a block of columns at a time, then those that fill no block."""
    f = _Product(width, "dense_multiply", "%outs")
    n, k, m = f.n, f.k, f.m
    A, B, C = f.operands
    whole = f.let(f"udiv i64 {m}, {f.columns}")
    with f.loop("0", n) as row:
        A_i, C_i = f.at(A, f.mul(row.i, k)), f.at(C, f.mul(row.i, m))
        for kind, first, last in (
            (f.block, "0", whole),
            (width, f.mul(whole, str(f.columns)), m),
        ):
            columns = f.columns if kind is f.block else 1
            with f.loop(first, last) as part:
                column = f.mul(part.i, str(columns))
                to, start = f.at(C_i, column), f.at(B, column)
                so_far = f.let(f"load {kind.number}, ptr {to}, align {width.bytes}")
                with f.loop("0", k, (kind.number, so_far)) as each:
                    weight = f.get(A_i, each.i)
                    if kind is f.block:
                        weight = f.spread(weight, columns, width.lanes)
                    B_j = f.at(start, f.mul(each.i, m))
                    x = f.let(f"load {kind.number}, ptr {B_j}, align {width.bytes}")
                    each.values = [f.fused(weight, x, each.values[0], kind)]
                f.lines.append(
                    f"store {kind.number} {each.values[0]}, ptr {to}, align {width.bytes}"
                )
    return f.text("i64 0")


def _multiply_right(width: Width) -> str:
    """A_ij + sum_l C_il B_jl: the adjoint of the left factor of C + A B."""
    f = _Product(width, "dense_multiply_right", "%ins")
    C, B, A = f.operands
    with f.loop("0", f.n) as i:
        C_i, A_i = f.at(C, f.mul(i.i, f.m)), f.at(A, f.mul(i.i, f.k))
        with f.loop("0", f.k) as j:
            B_j = f.at(B, f.mul(j.i, f.m))
            with f.loop("0", f.m, (width.number, f.get(A_i, j.i))) as each:
                product = f.get(C_i, each.i), f.get(B_j, each.i)
                each.values = [f.fused(*product, each.values[0])]
            f.put(each.values[0], A_i, j.i)
    return f.text("i64 0")


def _multiply_left(width: Width) -> str:
    """B_j + sum_i A_ij C_i of rows: the adjoint of the right factor of C + A B."""
    f = _Product(width, "dense_multiply_left", "%ins")
    A, C, B = f.operands
    with f.loop("0", f.n) as i:
        A_i, C_i = f.at(A, f.mul(i.i, f.k)), f.at(C, f.mul(i.i, f.m))
        with f.loop("0", f.k) as j:
            weight, B_j = f.get(A_i, j.i), f.at(B, f.mul(j.i, f.m))
            with f.loop("0", f.m) as each:
                so_far = f.get(B_j, each.i)
                f.put(f.fused(weight, f.get(C_i, each.i), so_far), B_j, each.i)
    return f.text("i64 0")


def _residual(width: Width) -> str:
    """c - A b, row by row."""
    f = _Solver(width, f"i64 @dense_residual({ROW_CODE})")
    c = f.another(8)
    with f.loop("0", f.n) as each:
        A_i = f.at(f.A, f.mul(each.i, f.n))
        with f.loop("0", f.n, (width.number, f.get(c, each.i))) as j:
            minus = f.number("fneg", f.get(A_i, j.i))
            j.values = [f.fused(minus, f.get(f.b, j.i), j.values[0])]
        f.put(j.values[0], f.result, each.i)
    return f.text("i64 0")


def _sandwich(width: Width) -> str:
    """-A b A of matrices: F = b A, then -A F."""
    f = _Solver(width, f"i64 @dense_sandwich({ROW_CODE})")
    for left, right, length, to, to_length, sign in (
        (f.b, f.A, f.n, f.F, f.length, "fadd"),
        (f.A, f.F, f.length, f.result, f.n, "fsub"),
    ):
        with f.loop("0", f.n) as i:
            row, found = f.at(left, f.mul(i.i, f.n)), f.at(to, f.mul(i.i, to_length))
            with f.loop("0", f.n) as j:
                with f.loop("0", f.n, (width.number, f.zero)) as k:
                    entry = f.get(right, f.add(f.mul(k.i, length), j.i))
                    k.values = [f.fused(f.get(row, k.i), entry, k.values[0])]
                f.put(f.number(sign, f.zero, k.values[0]), found, j.i)
    return f.text("i64 0")


def _adjoint_solve(width: Width) -> str:
    """Of x = A^-1 b, with b here the adjoint of x: y = A*^-1 b, added, and -y x* of A."""
    f = _Solver(width, f"i64 @dense_adjoint_solve({ROW_CODE})")
    x, of_A = f.another(8), f.another(9)
    f.lines.append(f"call void @invert(ptr %work, ptr %row, i64 {f.n})")
    with f.loop("0", f.n) as j:
        with f.loop("0", f.n, (width.number, f.zero)) as i:
            entry = f.get(f.row(f.X, i.i), j.i)
            i.values = [f.fused(entry, f.get(f.b, i.i), i.values[0])]
        y = i.values[0]
        f.put(f.number("fadd", f.get(f.result, j.i), y), f.result, j.i)
        row, minus = f.at(of_A, f.mul(j.i, f.n)), f.number("fneg", y)
        with f.loop("0", f.n) as k:
            f.put(f.fused(minus, f.get(x, k.i), f.get(row, k.i)), row, k.i)
    return f.text("i64 0")


def _adjoint_inverse(width: Width) -> str:
    """Of A = Q^-1, with b here the adjoint of A: -A* b A*, added to that of Q."""
    f = _Solver(width, f"i64 @dense_adjoint_inverse({ROW_CODE})")
    n, T = f.n, width.number
    with f.loop("0", n) as i:  # F = b A*
        row, to = f.at(f.b, f.mul(i.i, n)), f.row(f.F, i.i)
        with f.loop("0", n) as j:
            A_j = f.at(f.A, f.mul(j.i, n))
            with f.loop("0", n, (T, f.zero)) as k:
                k.values = [f.fused(f.get(row, k.i), f.get(A_j, k.i), k.values[0])]
            f.put(k.values[0], to, j.i)
    with f.loop("0", n) as i:
        to = f.at(f.result, f.mul(i.i, n))
        with f.loop("0", n) as j:
            with f.loop("0", n, (T, f.get(to, j.i))) as k:
                minus = f.number("fneg", f.get(f.A, f.add(f.mul(k.i, n), i.i)))
                k.values = [f.fused(minus, f.get(f.row(f.F, k.i), j.i), k.values[0])]
            f.put(k.values[0], to, j.i)
    return f.text("i64 0")
