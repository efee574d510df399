"""A step of an integrator as machine code: glue, accelerations, glue, ... by turns.

The dialogue of an integrator is held once, with numbers of a graph. Between one
question and the next lies a graph of its own, which becomes a small kernel; what
answers is one kernel, called as often as it is asked. So code grows with the
machine, not with the stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.kernel import write_kernel
from phipsi.backends.llvm import Target, compile_module, compiling, current_target
from phipsi.backends.partition import Task
from phipsi.backends.sequence import Call, Place, Steps, write_steps
from phipsi.graph.graph import Graph, Node
from phipsi.model.model import Model
from phipsi.simulate.flows import NodeFlow
from phipsi.simulate.forces import Forces
from phipsi.simulate.integrators import Ask, Dialogue
from phipsi.simulate.machines import NodeMechanism
from phipsi.simulate.methods import Method
from phipsi.simulate.vectors import Numbers

LARGEST = 100_000  # nodes of the graph of accelerations; larger machines are stepped by arrays
ALONE = 1  # so many states left over are stepped one by one
FUNCTIONS = 16  # for so many numbers of steps

Sizes = dict[str, int]


class Stepper:
    """Machine code for steps of a machine.

    Args:
        model: the machine.
        method: the integrator.
        forces: what moves the joints.

    Raises:
        GraphTooLargeError: for large machines.
    """

    def __init__(self, model: Model, method: Method, forces: Forces):
        self.method = method
        self.parameters = {name: x.shape[-1] for name, x in forces.parameters().items()}
        if forces.rubs:
            self.parameters["slip"] = model.nv
        taken = method.takes(forces.resist, forces.pull)
        self.parameters |= dict.fromkeys(taken, model.nv)
        self.given = {"tau": model.nv, **self.parameters, **method.given}
        self._target = current_target()
        self._recorder = _Recorder(model, method, forces, self.given)
        with compiling:
            self._kernels = [_Kernel(task, self._target) for task in self._recorder.tasks]
        self._codes: dict[frozenset[str], tuple] = {}
        self._gufuncs: dict[tuple, tuple[np.ufunc, Plan]] = {}

    def run(
        self,
        state: Sequence[np.ndarray],
        given: Mapping[str, np.ndarray],
        out: Sequence[np.ndarray],
        inner: int = 1,
        varying: frozenset[str] = frozenset(),
        start: float = 0.0,
    ) -> bool:
        """Step on; whether something was noticed that needs looking at.

        Args:
            state: (*batch, n) of each part.
            given: (*batch, n) of what is given; (*batch, steps, n) of what varies.
            out: (*batch, kept, n) of each part: the states after every `inner` steps.
            inner: steps from one kept state to the next.
            varying: what is given step by step.
            start: the time of the state, for those who name it.
        """
        kept = out[0].shape[-2]
        gufunc, plan = self._function(kept, inner, varying)
        before = plan.counter[0]
        gufunc(*state, *(given[name] for name in self.given), out=tuple(out))
        return plan.counter[0] != before

    def _function(self, kept: int, inner: int, varying: frozenset[str]) -> tuple[np.ufunc, Plan]:
        key = kept, inner, varying
        found = self._gufuncs.get(key)
        if found is None:
            with compiling:
                found = self._make(*key)
                while len(self._gufuncs) >= FUNCTIONS:
                    del self._gufuncs[next(iter(self._gufuncs))]
                self._gufuncs[key] = found
        return found

    def _make(self, kept: int, inner: int, varying: frozenset[str]) -> tuple[np.ufunc, Plan]:
        code, single, work = self._code(varying)
        sizes = list(self.method.state.values())
        rows = {name: (kept * inner,) if name in varying else () for name in self.given}
        tables = np.array([kept, inner], np.int64)
        tasks, calls = self._recorder.tasks, self._recorder.calls
        operations = kept * inner * sum(len(tasks[x.kernel].live()) for x in calls)
        plan = Plan(
            self._target,
            [*((n,) for n in sizes), *((*rows[name], n) for name, n in self.given.items())],
            [(kept, n) for n in sizes],
            lanes=code.address("kernel"),
            single=single.address("kernel"),
            few=ALONE,
            work=8 * self._target.lanes * work,
            tables=tables.ctypes.data,
            keep=(code, single, tables, self._kernels),
            operations=operations,
        )
        return make_gufunc(plan, "steps", f"Steps of {self.method.name}."), plan

    def _code(self, varying: frozenset[str]) -> tuple[Any, Any, int]:
        """Code of many lanes and of one, and the entries that it works in."""
        if varying not in self._codes:
            names = list(self.given)
            steps = Steps(
                tuple(self.method.state.values()),
                tuple(self.given.values()),
                frozenset(names.index(x) for x in varying),
                tuple(self._recorder.calls),
                self._recorder.room,
                self._recorder.iterated,
                self._recorder.change,
            )
            own = max(x.work for x in self._kernels)
            codes = []
            for lanes in (self._target.lanes, 1):
                addresses = [x.codes[lanes].address("kernel") for x in self._kernels]
                text = write_steps(steps, addresses, lanes, own)
                chosen = replace(self._target, lanes=lanes)
                codes.append(compile_module(text, chosen, kept=False))  # addresses are in it
            self._codes[varying] = (*codes, own + steps.work)
        return self._codes[varying]


class _Kernel:
    """A task as code of many lanes and of one."""

    def __init__(self, task: Task, target: Target):
        self.codes, self.work = {}, 0
        for lanes in {target.lanes, 1}:
            kernel = write_kernel(task, lanes)
            self.codes[lanes] = compile_module(kernel.text, replace(target, lanes=lanes))
            self.work = kernel.work


class _Recorder:
    """Holds the dialogue of an integrator, and writes down who computes what.

    Attributes:
        tasks: of the kernels.
        calls: of them, in order.
        room: entries in use.
        iterated: of parts of the state, where they lie before and after.
        change: where the iteration says how much it has changed.
    """

    def __init__(self, model: Model, method: Method, forces: Forces, given: Sizes):
        self.model, self.forces = model, forces
        self.graph = Graph(LARGEST)
        self.tasks: list[Task] = []
        self.calls: list[Call] = []
        self.room = 0
        self._known: dict[str, Place] = {}
        self._vectors: dict[tuple, Place] = {}  # of what lies somewhere as it is
        self._answering: dict[str, int] = {}
        self._given = given
        self.iterated: dict[int, tuple[int, int]] = {}
        self.change: int | None = None
        state = self._inputs(method, given)
        taken = {
            name: x for name, x in state.items() if name in method.state or name in method.given
        }
        self._converse(method.dialogue(NodeFlow(model), **taken), method)

    def _inputs(self, method: Method, given: Sizes) -> dict[str, Numbers]:
        found = {}
        for i, (name, n) in enumerate(method.state.items()):
            place: Place = ("state", i)
            if name in method.iterated:
                self.iterated[i] = (self._reserve(n), self._reserve(n))
                place = ("room", self.iterated[i][0])
            found[name] = self._input(name, n, place)
        for k, (name, n) in enumerate(given.items()):
            found[name] = self._input(name, n, ("given", k))
        return found

    def _input(self, name: str, n: int, place: Place) -> Numbers:
        self._known[name] = place
        numbers = Numbers(self.graph.input((name, i)) for i in range(n))
        self._vectors[tuple(numbers)] = place
        return numbers

    def _reserve(self, entries: int) -> int:
        self.room += entries
        return self.room - entries

    def _converse(self, dialogue: Dialogue, method: Method) -> None:
        answer: Any = None
        try:
            while True:
                answer = self._answer(dialogue.send(answer))
        except StopIteration as end:
            self._finish(method, end.value)

    def _answer(self, ask: Ask) -> Any:
        """Where the arguments lie, and who answers; the answer as new inputs."""
        places = self._placed(ask.arguments)
        if ask.what not in self._answering:
            self._answering[ask.what] = len(self.tasks)
            self.tasks.append(answering(ask, self.model, self.forces, self._given))
        which = self._answering[ask.what]
        task = self.tasks[which]
        others = [self._known[name] for name in task.inputs[len(ask.arguments) :]]
        answers, outputs = [], []
        for output in task.outputs:
            n = len(output)
            outputs.append(("room", self._reserve(n)))
            answers.append(self._input(f"answer{outputs[-1][1]}", n, outputs[-1]))
        self.calls.append(Call(which, (*places, *others), tuple(outputs)))
        return answers[0] if len(answers) == 1 else tuple(answers)

    def _placed(self, vectors: Sequence[Numbers]) -> list[Place]:
        """Vectors as arguments of a kernel: where they lie already, or computed by one more."""
        missing = [x for x in vectors if tuple(x) not in self._vectors]
        if missing:
            outputs = [("room", self._reserve(len(x))) for x in missing]
            self._glue(missing, outputs)
            for x, place in zip(missing, outputs, strict=True):
                self._vectors[tuple(x)] = place
        return [self._vectors[tuple(x)] for x in vectors]

    def _glue(self, vectors: Sequence[Numbers], outputs: Sequence[Place]) -> None:
        entries = [tuple(self.graph.node(x) for x in vector) for vector in vectors]
        live = self.graph.live([x for several in entries for x in several])
        read = {x.data[0] for x in live if x.op == "input"}
        names = tuple(name for name in self._known if name in read) or ("h",)
        self.calls.append(
            Call(len(self.tasks), tuple(self._known[x] for x in names), tuple(outputs))
        )
        self.tasks.append(Task(self.graph, names, tuple(entries)))

    def _finish(self, method: Method, result: Sequence[Numbers]) -> None:
        places: list[Place] = []
        for i, _ in enumerate(method.state):
            places.append(("room", self.iterated[i][1]) if i in self.iterated else ("next", i))
        values = list(result)
        if method.iterated:
            self.change = self._reserve(1)
            places.append(("room", self.change))
        else:
            rest = [x for several in values[len(places) - 1 :] for x in several]
            values = [*values[: len(places) - 1], Numbers(rest)]
        self._glue(values, places)


def answering(ask: Ask, model: Model, forces: Forces, given: Sizes) -> Task:
    """The task that answers a question: its arguments come first among its inputs."""
    graph = Graph(LARGEST)
    machine = NodeMechanism(model, graph)

    def numbers(name: str, n: int) -> Numbers:
        return Numbers(graph.input((name, i)) for i in range(n))

    q, v = numbers("at", model.nq), numbers("speed", model.nv)
    if ask.what == "energies":
        outputs = list(forces.energies(machine, q, v))
        return Task(graph, ("at", "speed"), _entries(graph, outputs), tuple(machine.checks))
    parameters = {name: numbers(name, n) for name, n in given.items()}
    before = numbers("before", model.nv)
    a, force = forces.drive(machine, q, v, parameters, before, ask.ahead)
    entries = _entries(graph, [a, force] if ask.what == "driven" else [a])
    live = graph.live([x for several in entries for x in several])
    read = {x.data[0] for x in live if x.op == "input"}
    own = ("at", "speed", "before")[: len(ask.arguments)]
    names = (*own, *(name for name in given if name in read))
    return Task(graph, names, entries, tuple(machine.checks))


def _entries(graph: Graph, outputs: Sequence[Numbers]) -> tuple[tuple[Node, ...], ...]:
    return tuple(tuple(graph.node(x) for x in output) for output in outputs)
