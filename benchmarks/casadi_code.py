"""CasADi as a contender: the graph of our own program, as the C code that CasADi makes of it.

Pinocchio's algorithms as CasADi graphs need `pinocchio.casadi`, which the wheels of Pinocchio
do not have. So this is our algorithm in scalar C code, as the C compiler optimises it for this
processor: what is left between the two is what lanes and our code generation add.
"""

from dataclasses import dataclass
from functools import cached_property

import casadi
import numpy as np

from phipsi import scalars
from phipsi.scalars import Scalar

from .contender import CASADI, Trial, first
from .native import bind, load_c
from .ours import run_program
from .robots import Robot
from .tasks import Task

FLOPS = {"OP_ADD", "OP_SUB", "OP_MUL", "OP_DIV", "OP_SQ", "OP_TWICE", "OP_INV"}

scalars.sin.register(casadi.SX, casadi.sin)
scalars.cos.register(casadi.SX, casadi.cos)

LOOP = """
void batch(long count, const double** inputs, double* out) {
    static const long sizes[] = {%(sizes)s};
    const double* arguments[%(arguments)d];
    double* results[%(results)d];
    casadi_int integers[%(integers)d];
    double numbers[%(numbers)d];
    for (long s = 0; s < count; ++s) {
        for (long k = 0; k < %(inputs)d; ++k) arguments[k] = inputs[k] + s * sizes[k];
        results[0] = out + s * %(size)d;
        task(arguments, results, integers, numbers, 0);
    }
}
"""


def graph_of(robot: Robot, task: Task) -> casadi.Function:
    """The task as a CasADi function; a matrix column by column, which is row by row: symmetric."""
    model = robot.model
    inputs = {name: casadi.SX.sym(name, robot.states[name].shape[1]) for name in task.arguments}
    entries = {name: casadi.vertsplit(x) for name, x in inputs.items()}
    result = casadi.SX.zeros(model.nv, model.nv if task.is_matrix else 1)

    def add(i: int, j: int, value: Scalar) -> None:
        result[i, j] += value

    run_program(robot, task, entries, add)
    return casadi.Function("task", list(inputs.values()), [casadi.cse(casadi.densify(result))])


def flops_of(graph: casadi.Function) -> int:
    """Sums, products and quotients of a graph."""
    counted = {getattr(casadi, name) for name in FLOPS}
    return sum(graph.instruction_id(k) in counted for k in range(graph.n_instructions()))


@dataclass(frozen=True)
class Code:
    """The graph, as C code in a loop of C over the states."""

    robot: Robot
    task: Task
    name: str = CASADI

    @cached_property
    def graph(self) -> casadi.Function:
        return graph_of(self.robot, self.task)

    @cached_property
    def library(self):
        graph = self.graph
        generator = casadi.CodeGenerator("task.c")
        generator.add(graph)
        loop = LOOP % {
            "sizes": ", ".join(str(graph.numel_in(k)) for k in range(graph.n_in())),
            "arguments": graph.sz_arg(),
            "results": graph.sz_res(),
            "integers": graph.sz_iw() + 1,
            "numbers": graph.sz_w() + 1,
            "inputs": graph.n_in(),
            "size": graph.numel_out(0),
        }
        return load_c(generator.dump() + loop)

    def on(self, count: int, out: np.ndarray) -> Trial:
        inputs = first(self.robot.states, self.task.arguments, count)
        run = bind(self.library.batch, inputs, out)

        def answer() -> np.ndarray:
            run()
            return out

        return Trial(run, answer, count)
