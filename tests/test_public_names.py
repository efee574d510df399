"""The public names are these and no others, and each says what it is."""

import doctest
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import phipsi as pp
from phipsi import dynamics, examples, joints, operators
from phipsi.simulate import control
from phipsi.simulate.control import Law

ERRORS = {
    "BackendError",
    "InputError",
    "LoweringError",
    "ModelError",
    "PhipsiError",
    "SolveError",
    "SpaceError",
}
PACKAGE = ERRORS | {
    # what a machine is
    "Body",
    "Closure",
    "Coupling",
    "Frame",
    "Joint",
    "Keyframe",
    "Limits",
    "Model",
    "ModelBuilder",
    "Point",
    "chain",
    "examples",
    "joints",
    "point",
    # where it comes from
    "Remark",
    "Report",
    "from_mujoco",
    "from_pinocchio",
    "load",
    "save_urdf",
    # what is done with it
    "Function",
    "as_matrix",
    "compile",
    "difference",
    "export",
    "integrate",
    *("get_threads", "set_threads"),
    # what an engineer asks of it
    *("accelerations", "forward_dynamics", "forward_dynamics_delayed", "inverse_dynamics"),
    *("bias_force", "gravity_force", "mass_matrix", "mass_matrix_inverse"),
    *("body_poses", "body_velocities", "jacobian", "jacobian_dot_v"),
    *("operational_compliance", "operational_inertia"),
    *("kinetic_energy", "momentum", "potential_energy"),
    "warmup",
    # motion over time
    *("Trajectory", "control", "rollout", "simulate"),
    # what it looks like
    *("geometry", "view"),
    # the algebra as a tool for thinking
    *(
        "Condition",
        "OnPath",
        "Equation",
        "add_identity",
        "forget_identity",
        "identities",
        "identity",
    ),
    *("Derivation", "derive", "parse"),
    *("Drawing", "Explanation", "draw_blocks", "draw_dataflow", "explain"),
    *("LetterCheck", "check_letter"),
    *("Diagnosis", "diagnose", "sample_force", "sample_velocity"),
}
LETTERS = {
    # the machine
    *("H", "H_dot", "M", "Jm", "E_phi", "S", "Delta_phi", "E", "B", "X", "S_q", "I"),
    *("phi", "phi_tilde", "J", "Mass", "R"),
    # articulated bodies
    *("P", "D", "G", "tau", "tau_bar", "K", "E_psi", "psi", "psi_tilde", "Omega", "Y"),
    # one body or joint
    *("at", "at_joint"),
    # sensitivities and brackets
    *("HH", "HH_s", "HH_delta", "Gamma_delta", "Q", "cross"),
    # vectors
    *("beta", "beta_dot", "T", "f0", "gravity", "a", "b", "c", "V", "alpha", "f", "C", "pose", "U"),
}
MAKERS = {"blockdiag", "define", "letter", "operator", "scalar", "space", "vector"}
LAWS = {"ComputedTorque", "GravityCompensation", "PD"}
MACHINES = {"branching_tree", "chain", "planar_arm", "puma560", "spacecraft"}
KINDS = {
    *("Fixed", "Revolute", "Continuous", "Prismatic", "Helical", "Cylindrical", "Universal"),
    *("Planar", "Spherical", "SphericalEuler", "Free", "Custom"),
}


def test_names_of_the_package():
    assert set(pp.__all__) == PACKAGE
    assert sorted(pp.__all__) == list(pp.__all__)
    assert all(hasattr(pp, name) for name in pp.__all__)


def test_names_of_the_operators():
    assert set(operators.__all__) == LETTERS | MAKERS
    assert len(operators.__all__) == len(set(operators.__all__))
    assert all(hasattr(operators, name) for name in operators.__all__)


def test_star_import_of_the_operators_brings_the_letters_and_nothing_else():
    names: dict = {}
    exec("from phipsi.operators import *", names)
    assert set(names) - {"__builtins__"} == LETTERS | MAKERS


def test_example_machines():
    own = {
        name
        for name, x in vars(examples).items()
        if inspect.isfunction(x) and x.__module__ == examples.__name__ and name[0] != "_"
    }
    assert own == MACHINES
    for name in MACHINES - {"chain"}:
        assert isinstance(getattr(examples, name)(), pp.Model)


def test_joint_kinds():
    kinds = {
        name
        for name, x in vars(joints).items()
        if inspect.isclass(x) and issubclass(x, joints.JointKind) and x is not joints.JointKind
    }
    assert kinds == KINDS
    assert set(joints.__all__) == KINDS | {"JointKind", "X", "Y", "Z"}


def test_control_laws():
    laws = {name for name, x in vars(control).items() if inspect.isclass(x) and issubclass(x, Law)}
    assert laws - {"Law"} == LAWS
    assert pp.control is control


def test_errors_form_one_tree():
    """As drawn in phipsi/errors.py."""
    for name in ERRORS - {"PhipsiError"}:
        assert getattr(pp, name).__bases__[0] is pp.PhipsiError
    assert issubclass(pp.InputError, ValueError)
    assert not issubclass(pp.SpaceError, ValueError)


FUNCTIONS = {
    **{name: getattr(pp, name) for name in PACKAGE if inspect.isfunction(getattr(pp, name))},
    **{name: getattr(operators, name) for name in MAKERS},
    **{f"examples.{name}": getattr(examples, name) for name in MACHINES},
}
CLASSES = {
    **{name: getattr(pp, name) for name in PACKAGE if inspect.isclass(getattr(pp, name))},
    **{f"joints.{name}": getattr(joints, name) for name in KINDS},
    **{f"control.{name}": getattr(control, name) for name in LAWS},
}


def test_functions_and_classes_are_all_looked_at():
    assert set(FUNCTIONS) >= {"as_matrix", "load", "point", "integrate", "difference", "chain"}
    assert set(FUNCTIONS) >= {"compile", "simulate", "rollout", *dynamics.__all__}
    assert set(CLASSES) >= {"Model", "ModelBuilder", "SpaceError", "Trajectory"}
    assert set(CLASSES) >= {"joints.Custom", "control.PD"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_has_a_docstring_with_a_runnable_example(name):
    function = FUNCTIONS[name]
    assert inspect.getdoc(function)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert test.examples
    assert any(example.want for example in test.examples), "an example that shows nothing"


# Functions of a machine that return no arrays, and the one that defines what arrays mean.
WITHOUT_OUT = {
    "compile": "returns a function, whose calls take both",
    "export": "returns a function of another package",
    "warmup": "returns nothing",
    "derive": "returns an expression, and the steps to it",
    "explain": "returns text for a person",
    "diagnose": "returns a report for a person",
    "check_letter": "returns a report for a person",
    "draw_blocks": "returns a drawing",
    "draw_dataflow": "returns a drawing",
    "view": "opens a window",
    "save_urdf": "writes a file",
    "from_mujoco": "returns a machine",
    "from_pinocchio": "returns a machine",
    "as_matrix": "the dense definition, slow on purpose, of numbers of any kind",
}


def test_every_function_of_numbers_takes_out_and_threads():
    """Both by name, and by default None: new arrays, and the threads of `pp.set_threads`."""
    found = set()
    for name in pp.__all__:
        function = getattr(pp, name)
        if not inspect.isfunction(function) or name in WITHOUT_OUT:
            continue
        parameters = inspect.signature(function).parameters
        if "model" in parameters:
            found.add(name)
            for option in ("out", "threads"):
                assert option in parameters, f"{name} takes no {option}="
                assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
                assert parameters[option].default is None
    assert found >= {"forward_dynamics", "integrate", "jacobian", "sample_force", "simulate"}
    assert all(inspect.isfunction(getattr(pp, name)) for name in WITHOUT_OUT)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_class_and_its_public_methods_have_docstrings(name):
    public = CLASSES[name]
    assert public.__doc__
    assert not public.__doc__.startswith(f"{public.__name__}("), "made by dataclass, not by us"
    for method, value in vars(public).items():
        if method[0] != "_" and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(getattr(public, method)), f"{name}.{method}"


@pytest.mark.parametrize("name", sorted(LETTERS - {"I", "Q", "cross"}))
def test_letter_knows_its_name(name):
    assert getattr(operators, name).name == name


def test_modules_have_docstrings():
    for module in (pp, operators, examples, joints, dynamics):
        assert module.__doc__


def test_import_is_lean():
    """Slow or optional libraries are imported on first use, not by `import phipsi`."""
    code = "import phipsi, sys; print([x for x in sys.argv[1:] if x in sys.modules])"
    slow = [
        *("scipy", "llvmlite", "rich", "cyclopts", "matplotlib", "xarray", "viser", "trimesh"),
        *("mujoco", "pinocchio", "casadi", "jax"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *slow], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_version_is_that_of_the_project():
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    assert pp.__version__ == tomllib.loads(pyproject.read_text())["project"]["version"]
