"""A step of an integrator as machine code: glue, accelerations, glue, ... by turns.

The dialogue of an integrator is held once, with numbers of a graph. Between one
question and the next lies a graph of its own, which becomes a small kernel; what
answers is one kernel, called as often as it is asked. So code grows with the
machine, not with the stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from phipsi.backends.disk.identity import Parts, of_machine
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.llvm import compiling
from phipsi.backends.machine_code import Loaded
from phipsi.backends.partition import Task
from phipsi.backends.sequence import Call, Place, StepComputation, Steps
from phipsi.compile import run_stages
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


class StepJob(StepComputation):
    """Steps of a machine, as what is compiled.

    Args:
        model: the machine.
        method: the integrator.
        forces: what moves the joints.
    """

    largest = LARGEST

    def __init__(self, model: Model, method: Method, forces: Forces):
        self.model, self.method, self.forces = model, method, forces

    @property
    def state(self) -> Sizes:
        """Names and sizes of what is fed back."""
        return self.method.state

    @cached_property
    def given(self) -> Sizes:
        """Names and sizes of what is given: forces, numbers of the law, the length of a step."""
        forces, nv = self.forces, self.model.nv
        sizes = {"tau": nv, **{name: x.first.shape[-1] for name, x in forces.signals.items()}}
        if forces.rubs:
            sizes["slip"] = nv
        sizes |= dict.fromkeys(self.method.takes(forces.resist, forces.pull), nv)
        return {**sizes, **self.method.given}

    @property
    def rows(self) -> tuple[str, ...]:
        """What may be given step by step."""
        return ("tau", *self.forces.signals)

    @cached_property
    def key(self) -> Parts | None:
        """The machine, the integrator and all numbers of the forces that are in the code."""
        machine, forces = of_machine(self.model), self.forces.told
        if machine is None or forces is None:
            return None
        return machine, self.method.name, forces, list(self.given.items())

    def recorded(self, limit: int | None = None) -> Steps:
        """The dialogue of the integrator, held with numbers of a graph."""
        record, names = _Recorder(self, limit), list(self.given)
        return Steps(
            tuple(record.tasks),
            tuple(self.state.values()),
            tuple(self.given.values()),
            tuple(map(names.index, self.rows)),
            tuple(record.calls),
            record.room,
            record.iterated,
            record.change,
        )


class Stepper:
    """Machine code for steps of a machine.

    Args:
        job: the steps.
        code: as machine code in memory.
        threads: that share a large batch; None for the package's default.
    """

    def __init__(self, job: StepJob, code: Loaded, threads: int | str | None = None):
        self.job, self._code, self._threads = job, code, threads
        self._gufuncs: dict[tuple, tuple[np.ufunc, Plan]] = {}
        self._others: dict[int | str, Stepper] = {}

    def with_threads(self, threads: int | str | None) -> Stepper:
        """The same code for this many threads."""
        if threads is None:
            return self
        if threads not in self._others:
            self._others[threads] = Stepper(self.job, self._code, threads)
        return self._others[threads]

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
        gufunc(*state, *(given[name] for name in self.job.given), out=tuple(out))
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
        job, tables = self.job, self.job.table(kept, inner, varying)
        rows = {name: (kept * inner,) if name in varying else () for name in job.given}
        places = self._code.places
        plan = Plan(
            self._code.target,
            [*((n,) for n in job.state.values()), *((*rows[x], n) for x, n in job.given.items())],
            [(kept, n) for n in job.state.values()],
            few=ALONE,
            tables=tables.ctypes.data,
            operations=kept * inner * sum(self._code.operations.values()),
            threads=self._threads,
            **{**places, "keep": (tables, places["keep"])},
        )
        return make_gufunc(plan, "steps", f"Steps of {job.method.name}."), plan


def make_stepper(model: Model, method: Method, forces: Forces) -> Stepper:
    """Machine code for steps.

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        GraphTooLargeError: for large machines.
    """
    job = StepJob(model, method, forces)
    with compiling:
        return Stepper(job, run_stages(job))


class _Recorder:
    """Holds the dialogue of an integrator, and writes down who computes what.

    Attributes:
        tasks: of the kernels.
        calls: of them, in order.
        room: entries in use.
        iterated: of parts of the state, where they lie before and after.
        change: where the iteration says how much it has changed.
    """

    def __init__(self, job: StepJob, limit: int | None):
        self.model, self.forces, method, given = job.model, job.forces, job.method, job.given
        self.limit, self.graph = limit, Graph(limit)
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
        self._converse(method.dialogue(NodeFlow(self.model), **taken), method)

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
            graph = Graph(self.limit)
            self.tasks.append(answering(ask, self.model, self.forces, self._given, graph))
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


def answering(ask: Ask, model: Model, forces: Forces, given: Sizes, graph: Graph) -> Task:
    """The task that answers a question: its arguments come first among its inputs."""
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
