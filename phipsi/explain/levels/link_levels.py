"""Levels 4 to 7: sweeps, transitions from link to link, what they do, and coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.node import Node, Symbol
from phipsi.explain.levels.cost import Price
from phipsi.explain.levels.formula import Atom
from phipsi.explain.levels.layout import paragraph, printed, table, wrapped_line
from phipsi.explain.levels.meanings import VIEWS
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.explain.levels.roles import GAINS, meaning_of, unit_text
from phipsi.explain.levels.rows import folded
from phipsi.explain.levels.sweeps import Sweep
from phipsi.lowering.origins import rewrite
from phipsi.lowering.program import Effect, Slot, Statement
from phipsi.lowering.schedule import nominal_size
from phipsi.lowering.structure import P_PLUS, is_one_step
from phipsi.model.model import Model

# -- level 4 -----------------------------------------------------------------------------------


def sweeps_level(
    notation: Notation,
    sweeps: Sequence[Sweep],
    forms: Mapping[str, Node],
    price: Price,
    view: str,
) -> str:
    """The recursions, loop by loop, and what every quantity in them is."""
    parts = []
    number = 0
    for sweep in sweeps:
        if sweep.head == "once:":
            parts.append(_block(sweep.head, sweep.lines))
            continue
        number += 1
        cost = f"    {price.by_loop[sweep.loop]} flops" if price.by_loop else ""
        parts.append(_block(f"sweep {number}, {sweep.head}{cost}", sweep.lines))
    if price.by_loop:
        parts.append(f"(flops on {price.where})")
    rows = []
    told = folded(notation.quantities, lambda x: f"{x.line}\n{_form_text(notation, x, forms)}")
    for x, text, count in told:
        line, _, form = text.partition("\n")
        name = x.name if count == 1 else line.partition("(" if "(" in x.place else " =")[0]
        unit = unit_text(x.unit, x.slot, x.kinds[0])
        rows.append([name, unit, meaning_of(notation, x, view, forms.get(x.name))])
        if form:
            rows.append(["", "", form])
    if rows:
        parts.append("what they are:\n" + table(rows))
    parts += _names_told_apart(notation, sweeps)
    return "\n".join(parts) or "zero: nothing runs"


def _names_told_apart(notation: Notation, sweeps: Sequence[Sweep]) -> list[str]:
    """Which letters of the papers are called otherwise here, since the user took their names."""
    letters = {x.name: x.letter for sweep in sweeps for x in sweep.atoms if x.letter is not None}
    yours = {x: notation.here.called(x) for x in notation.here.taken}
    found = [
        f"{new} is {name} of the papers, {name} yours"
        for name, new in yours.items()
        if new in letters
    ]
    return [f"({'; '.join(found)})"] if found else []


def _form_text(notation: Notation, x: Quantity, forms: Mapping[str, Node]) -> str:
    """A quantity as an operator expression, where that says more than its name."""
    form = forms.get(x.name)
    if form is None:
        return ""
    text = printed(_told_apart(notation, form))
    return "" if text == x.name else f"= {text}"


def _told_apart(notation: Notation, form: Node) -> Node:
    """An expression whose letters of the papers have a 0 where the user took their names."""

    def called(node: Node) -> Node | None:
        if not isinstance(node, Symbol) or node.record.alphabet is not PAPERS:
            return None
        name = notation.here.called(node.name)
        ends = node.source, node.target
        return None if name == node.name else Symbol(name, *ends, node.causality, node.arguments)

    return rewrite(form, called, {}) if notation.here.taken else form


def _block(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(wrapped_line(x, 4) for x in lines)])


# -- level 5 -----------------------------------------------------------------------------------

INWARD, OUTWARD = "from child c inward", "from parent p outward"
TRANSITIONS = {  # what a formula may hold between two bodies, and what it is
    (op.psi, "", "(k,c)"): f" = {{phi}}(k,c) {{tau_bar}}(c)   6 x 6, {INWARD}, joint c free",
    (op.psi, "*", "(p,k)"): f" = {{tau_bar}}*(k) {{phi}}*(p,k)   6 x 6, {OUTWARD}, joint k free",
    (op.psi, "", "(p,k)"): " = {phi}(p,k) {tau_bar}(k)   6 x 6, from k inward, joint k free",
    (op.E_phi, "", "(k,c)"): f"   6 x 6, {INWARD}, joint c locked",
    (op.E_phi, "*", "(p,k)"): f"   6 x 6, {OUTWARD}, joint k locked",
    (op.S, "", "(k,c)"): f"   6 x 6, the turn in {{phi}}(k,c), {INWARD}",
    (op.S, "*", "(p,k)"): f"   6 x 6, the turn in {{phi}}*(p,k), {OUTWARD}",
    (op.B, "", "(k,e)"): "   6 x 6, from a point e to the frame of its body k",
    (op.B, "*", "(k,e)"): "   6 x 6, from body k to a point e on it",
    (op.E, "", "(k)"): " = {phi}*(0,k)   6 x 6, from the base to a root k",
    (op.E, "*", "(k)"): " = {phi}(0,k)   6 x 6, from a root k to the base",
}


def transitions_level(
    notation: Notation, sweeps: Sequence[Sweep], forms: Mapping[str, Node]
) -> str:
    """What goes from link to link, and by which transition."""
    lines = [f"  {x}" for x in _transitions(notation, sweeps)]
    handed = list(_handed(notation))
    if handed:
        lines.append("handed from body to body:")
        lines.append(table(handed))
    if not lines:
        return "nothing goes from link to link: each block is made at its own body"
    lines += map(paragraph, _filters(notation, forms))
    return "\n".join(lines)


def _filters(notation: Notation, forms: Mapping[str, Node]) -> list[str]:
    """The recursions of psi that are written with phi(k,c) and G(c)."""
    return [
        f"{x.line}: {x.name} = {printed(forms[x.name])} passes free joints by psi(k,c), written so "
        "that no 6 x 6 matrix psi(k,c) is made"
        for x in notation.quantities
        if forms.get(x.name, op.I).factors[0] == op.psi and "psi(k,c)" not in x.line
    ]


def _transitions(notation: Notation, sweeps: Sequence[Sweep]) -> list[str]:
    """The letters of the sweeps that go from body to body, and what each is."""
    atoms = dict.fromkeys(x for sweep in sweeps for x in sweep.atoms)
    called = {x: notation.here.called(x) for x in ("phi", "tau_bar")}
    lines = []
    for (letter, mark, place), what in TRANSITIONS.items():
        found = [x for x in atoms if x.is_of(letter) and (x.marks, x.place) == (mark, place)]
        lines += [f"{x.text()}{what.format(**called)}" for x in found[:1]]
    others = [x for x in atoms if _is_other_step(x)]
    ways = {"": INWARD, "*": OUTWARD}
    return lines + list(dict.fromkeys(f"{x.text()}   6 x 6, {ways[x.marks]}" for x in others))


def _is_other_step(atom: Atom) -> bool:
    """Whether an atom is a letter of one step of another family."""
    is_known = atom.is_of(op.E_phi, op.S, op.psi) or atom.letter is None
    goes = (atom.marks, atom.place) in (("", "(k,c)"), ("*", "(p,k)"))
    return not is_known and goes and is_one_step(atom.letter or op.I)


def _handed(notation: Notation) -> list[list[str]]:
    rows = []
    for x in notation.program.statements():
        if x.effect is Effect.PUSH and x.target is not None:
            rows.append(["inward", notation.pushed(x).text(), _numbers(x)])
    for slot, at in notation.pulled().items():
        rows.append(["outward", notation.name(slot) + at, f"{nominal_size(slot.shape)} numbers"])
    return rows


def _numbers(x: Statement) -> str:
    assert x.target is not None
    count = f"{nominal_size(x.target.shape)} numbers"
    return f"{count} for each column" if x.domain.kind == "column" else count


# -- level 6 -----------------------------------------------------------------------------------


def joint_level(notation: Notation, sweeps: Sequence[Sweep], view: str) -> str:
    """Within the link, and across the joint."""
    atoms = [x for sweep in sweeps for x in sweep.atoms]
    lines = []
    if any(x.is_of(op.E_phi, op.psi, op.B) for x in atoms):
        phi = notation.here.called("phi")
        lines += [
            "within the link, from its joint to the next:",
            f"  {phi}(p,k) = [[R, l~ R], [0, R]]   a force keeps its size and gains the moment of "
            "its lever l",
        ]
    across = across_joints(notation, view)
    if across:
        lines += ["across the joint:", table(across)]
    elif any(x.is_of(op.H) for x in atoms):
        H, record = notation.here.called("H"), op.H.record
        rows = [
            [f"{H}{mark}(k) {x}(k)", record.act(mark, view)] for mark, x in (("", "x"), ("*", "y"))
        ]
        lines += ["across the joint, which is locked or moves as it is told:", table(rows)]
    if any(x.statement.step == "pose" for x in notation.quantities):
        lines += [
            "from the frame of the parent to that of the body, through its joint:",
            "  [R, l](p,k)   axes and origin of k as the frame of p has them",
        ]
    if not lines:
        return "neither a link nor a joint is crossed"
    return "\n".join(lines)


RELIEFS = ("relieve", "relieve_any")
NOTHING_LEFT = {  # H P+ = 0: of the mass operator, and of others
    True: (
        "without a rotor: a free joint transmits no force along its axes",
        "without measurement noise: what was measured is known",
    ),
    False: ("nothing of it is left where the joint gives way", "what was measured is known"),
}


def across_joints(notation: Notation, view: str) -> list[list[str]]:
    """Of each family of articulated letters its lines, and what they mean."""
    rows = []
    for x in notation.quantities:
        if x.statement.step in GAINS:
            rows += _family(notation, x, VIEWS.index(view))
    return rows


def _family(notation: Notation, G: Quantity, view: int) -> list[list[str]]:
    is_letter, here = notation.letters.get(G.slot) == op.G, notation.here
    by_slot = {x.slot: x for x in notation.quantities}
    L = notation.value(G.statement.arguments[1].slot).star()
    passed, tau_bar = f"{here.called('I')} - {G.name}(k) {L.inside(1)}", here.called("tau_bar")
    lines = {op.D: _pivot(notation, by_slot, G), op.G: G.line}
    lines[op.tau_bar] = f"{tau_bar}(k) = {passed}" if is_letter else passed
    rows = [[text, _meaning(letter, is_letter, view)] for letter, text in lines.items() if text]
    relieved = next((x for x in by_slot.values() if _relieves(x, G.slot)), None)
    if relieved is not None:
        P = notation.name(relieved.statement.arguments[0].slot)
        right = f"{tau_bar}(k) {P}(k)" if is_letter else f"[{passed}] {P}(k)"
        rows.append([f"{relieved.name}(k) = {right}", _meaning(P_PLUS, is_letter, view)])
        if is_letter or _is_noiseless(notation, G):
            rows.append([f"{L.inside(1)} {relieved.name}(k) = 0", NOTHING_LEFT[is_letter][view]])
    return rows


def _meaning(letter: Symbol, is_letter: bool, view: int) -> str:
    """What a letter means, of the mass operator or of another one."""
    return letter.record.by(VIEWS[view]) if is_letter else letter.record.elsewhere[view]


def _relieves(x: Quantity, G: Slot) -> bool:
    return x.statement.step in RELIEFS and any(read.slot == G for read in x.statement.arguments)


def _pivot(notation: Notation, by_slot: dict[Slot, Quantity], G: Quantity) -> str:
    """The line of D, which G divides by; empty where it has no name."""
    for read in G.statement.arguments:
        maker = notation.maker_of(read.slot)
        if maker.step in ("pivot_factor", "pivot_inverse") and maker.arguments:
            slot = maker.arguments[0].slot
            if slot in by_slot:
                return by_slot[slot].line
    return ""


def _is_noiseless(notation: Notation, G: Quantity) -> bool:
    """Whether D = L P L*, with nothing added."""
    arguments = G.statement.arguments
    return G.statement.step == "gain" and notation.maker_of(arguments[2].slot).step == "zeros"


# -- level 7 -----------------------------------------------------------------------------------

KINDS = {
    "Revolute": "R turns about the axis by q: one sine, one cosine; l is constant; H = [axis; 0]",
    "Continuous": "as revolute, without limits",
    "Prismatic": "R is constant; l slides along the axis by q; H = [0; axis]",
    "Helical": "R turns about the axis by q, l slides by pitch q; H = [axis; pitch axis]",
    "Cylindrical": "turns about and slides along one axis: two coordinates, one sine, one cosine",
    "Universal": "two turns: two sines, two cosines; H depends on q",
    "Planar": "slides in a plane and turns about its normal: one sine, one cosine",
    "Spherical": "R from a unit quaternion, products only; H = [I; 0]",
    "SphericalEuler": "three turns: three sines, three cosines; H depends on q",
    "Free": "R from a unit quaternion, l from the position, products only; H = I",
}


def coordinates_level(notation: Notation, model: Model | None, sweeps: Sequence[Sweep]) -> str:
    """R(q), l and the joints' kinds."""
    steps = {x.step for x in notation.program.statements()}
    if "transform" not in steps:
        return "no coordinate transform: nothing leaves its body's frame"
    lines = [
        "phi(p,k) = [[R, l~ R], [0, R]]   R(q) turns axes of k into axes of p, l = O_p -> O_k in p",
        paragraph(
            "Inside, private frames take the place of link frames: z along the joint axis, so that "
            "H is a unit vector and phi(p,k) two screws along axes. All that is shown is in link "
            "frames."
        ),
    ]
    if model is None:
        lines.append("by the kind of the joint:")
        chosen = ["Revolute", "Prismatic", "Spherical", "Free"]
        lines.append(table([[x, KINDS[x]] for x in chosen]))
        return "\n".join(lines)
    kinds = Counter(type(joint.kind).__name__ for joint in model.joints)
    lines.append(f"the joints of {model.name!r}:")
    own = "R(q), l(q) and H(q) as its own function says"
    lines.append(table([[f"{n} x {x}", KINDS.get(x, own)] for x, n in kinds.items()]))
    return "\n".join(lines)
