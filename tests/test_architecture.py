"""The direction of imports, followed from module to module, and what loading a package
really loads."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, product
from pathlib import Path

import pytest

from tests.harness import beside_parts

ROOT = Path(__file__).resolve().parent.parent
# Which rooms (packages, and modules that stand alone) a room may import. A room may
# always import itself.
TEXTBOOK = {
    "model",
    "recurrent",
    "classifier",
    "autoencoder",
    "whole_sentence",
    "fast",
    "search",
    "translator",
    "tokenizer",
    "pieces",
    "results",
    "strings",
}
BELOW = {
    "app": {"commands"},
    "study": {"training", "serve", "explain", "device", "results", "strings"},
    # part.py of each
    "part": {
        "ui",
        "figures",
        "lessons",
        "explain",
        "serve",
        "pieces",
        "results",
        "strings",
    },
    # what else lies in a part, but for
    "drawing": {"figures", "explain", "serve", "pieces", "results", "strings"},
    "ask": TEXTBOOK | {"explain", "serve", "device"},  # ask.py
    "parts": set(),  # the table of tabs
    "ui": {
        "parts",
        "figures",
        "lessons",
        "explain",
        "serve",
        "pieces",
        "results",
        "strings",
    },
    "lessons": {"figures", "explain", "serve", "pieces", "results", "strings"},
    "figures": {"explain", "pieces", "results", "strings"},
    "serve": TEXTBOOK | {"explain", "hub", "device"},
    "hub": TEXTBOOK - {"search", "translator"} | {"device"},
    "explain": TEXTBOOK | {"device"},
    "translator": {"fast", "model", "recurrent", "search", "pieces", "results"},
    "classifier": {"model", "pieces", "results"},
    "autoencoder": {"model", "pieces"},
    "whole_sentence": set(),
    "recurrent": {"model", "pieces", "results"},
    "model": {"pieces"},
    "fast": {"model", "recurrent", "pieces"},
    "search": {"pieces", "results", "strings"},
    "tokenizer": {"pieces", "results", "strings"},
    "device": {"model", "fast", "results", "strings"},
    "results": {"pieces", "strings", "offline_page"},
    "offline_page": {"strings"},
    "viewing": {"results"},
    "strings": set(),
    "pieces": set(),
    "training": TEXTBOOK | {"explain", "figures", "hub", "serve", "device", "xformer"},
    "commands": TEXTBOOK
    | {
        "study",
        "training",
        "explain",
        "figures",
        "lessons",
        "ui",
        "hub",
        "serve",
        "device",
        "xformer",
    },
    "__main__": {"commands", "results", "strings"},
    "xformer": {"serve", "hub", "results", "viewing"},
}
# Modules of tests that no one module of the project answers for; every other is named
# after what it tests.
CROSS_CUTTING = {
    "benchmarks", "command_line", "copies", "dropdown", "ending", "evidence", "findings",
    "form", "fuzz", "gate", "habits", "hosting", "hub_address", "killed_copy",
    "left_out", "markup", "markup_in_fields", "model_menu", "notices", "odd_values", "packaging",
    "plain_gradio", "projector", "races", "readme", "removal", "reverse", "risk",
    "safety", "scripts", "strangers", "walk",
}  # fmt: skip
# Modules of tests that ask one part alone, but not for its own sake: what they test is
# the whole page, or what a part shows of it. All other tests of one part lie beside it.
THROUGH_A_PART = {
    "doubts": "translate",
    "explain_script": "attention",
    "head_grid_script": "attention",
    "lesson_script": "translate",
    "pool": "translate",
    "quality": "translate",
    "strings": "principles",
    "tabs": "translate",
}
# The modules that may import training: commands, and for training as a visitor watches,
# one module of serve.
TRAINERS = {"xformer.commands", "xformer.serve.study"}
ROOMS_OF_THEIR_OWN = {"xformer.serve.study": "study"}


def named_by(path):
    """The modules that a module of tests names in its imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class Imports:
    """The modules of a tree by name, and what each imports: `now`, when it is loaded,
    `later`, inside functions, and `never`, under `if TYPE_CHECKING`, for its types
    alone.
    """

    def __init__(self, root: Path):
        paths = [
            path
            for path in (*root.glob("*.py"), *root.glob("xformer/**/*.py"))
            if not re.match("test_|conftest", path.name)
        ]
        self.paths = {
            ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(
                ".__init__"
            ): path
            for path in paths
        }
        self.now = {}
        self.later = {}
        self.never = {}
        for name, path in self.paths.items():
            self.now[name] = set()
            self.later[name] = set()
            self.never[name] = set()
            self._read(name, ast.parse(path.read_text(encoding="utf-8")), self.now)

    def _read(self, name, node, found):
        for child in ast.iter_child_nodes(node):
            if (
                isinstance(child, ast.If)
                and ast.unparse(child.test).split(".")[-1] == "TYPE_CHECKING"
            ):
                self._read(name, ast.Module(child.body, []), self.never)
                self._read(name, ast.Module(child.orelse, []), found)
            elif isinstance(child, ast.Import):
                found[name] |= {alias.name for alias in child.names}
            elif isinstance(child, ast.ImportFrom):
                assert not child.level and child.module, (
                    f"{name} has a relative import; write xformer.…"
                )
                # `from package import name` imports a module of that name where there
                # is one.
                found[name] |= {
                    inner
                    if (inner := f"{child.module}.{alias.name}") in self.paths
                    else child.module
                    for alias in child.names
                }
            else:
                function = isinstance(
                    child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
                )
                self._read(
                    name,
                    child,
                    self.later if function and found is not self.never else found,
                )

    def direct(self, name):
        """The modules of this project that a module imports anywhere, but for its types
        alone."""
        return {one for one in self.now[name] | self.later[name] if one in self.paths}

    def known(self, name):
        """The modules of this project that a module names at all."""
        return self.direct(name) | {
            one for one in self.never[name] if one in self.paths
        }

    def loading(self, name):
        """Everything, also of other packages, that loading a module loads, each with
        the module that imports it."""
        loaded = {}
        waiting = [(name, "")]
        while waiting:
            one, by = waiting.pop()
            for module in _with_parents(one):
                if module not in loaded:
                    loaded[module] = by
                    waiting += [
                        (imported, module) for imported in self.now.get(module, ())
                    ]
        return loaded

    def path_to(self, name, *roots):
        """How loading a module comes to load one of the packages, as a chain of
        imports; "" where it does not."""
        loaded = self.loading(name)
        for end in loaded:
            if end.split(".")[0] in roots or end in roots:
                chain = [end]
                while chain[-1] != name and loaded[chain[-1]]:
                    chain.append(loaded[chain[-1]])
                return " ← ".join(chain)
        return ""

    def within(self, package):
        return [
            name
            for name in self.paths
            if name == package or name.startswith(package + ".")
        ]


def _with_parents(name):
    """A module, and the packages that Python loads before it."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def part(name):
    """The part of the page that a module belongs to, "" if none."""
    _, of, *rest = [*name.split("."), "", ""]
    return rest[0] if of == "parts" else ""


def room(name):
    """The package or the lone module that a module belongs to; of a part of the page,
    the kind of its module."""
    if part(name):
        return {"part": "part", "ask": "ask"}.get(name.split(".")[-1], "drawing")
    return ROOMS_OF_THEIR_OWN.get(name) or name.removeprefix("xformer.").split(".")[0]


PROJECT = Imports(ROOT)


def modules(*packages):
    """The modules of some packages, in order."""
    return sorted({name for package in packages for name in PROJECT.within(package)})


def loading(names, *roots):
    """How each of some modules comes to load one of the packages, where it does."""
    return [path for name in names if (path := PROJECT.path_to(name, *roots))]


def test_imports_run_down():
    up = {
        name: sorted(wrong)
        for name in PROJECT.paths
        if (
            wrong := {
                one
                for one in PROJECT.direct(name)
                if room(one) not in BELOW[room(name)] | {room(name)}
                and not part(name) == part(one) != ""
            }
        )
    }
    assert not up, "these imports run up; what a room may import is said in BELOW"


def test_no_part_knows_another_and_nobody_knows_a_part():
    """The table of tabs names them, and a service finds their ask.py: so each can be
    taken out."""
    known = {
        name: sorted(wrong)
        for name in PROJECT.paths
        if (
            wrong := {
                one
                for one in PROJECT.known(name)
                if part(one) and part(one) != part(name)
            }
        )
    }
    assert not known


def parts_of(path):
    """The parts of the page that a module of tests imports."""
    return {
        name.split(".")[2]
        for name in named_by(path)
        if name.startswith("xformer.parts.")
        and (ROOT / "xformer" / "parts" / name.split(".")[2]).is_dir()
    }


def test_tests_of_one_part_lie_beside_it_and_know_no_other():
    beside = {
        path.relative_to(ROOT).as_posix(): known
        for path in beside_parts()
        if not (known := parts_of(path)) <= {path.parent.name}
    }
    assert not beside
    alone = {
        path.stem.removeprefix("test_"): known.pop()
        for folder in ("tests", "tests/scripts")
        for path in (ROOT / folder).glob("test_*.py")
        if len(known := parts_of(path)) == 1
    }
    assert alone == THROUGH_A_PART


def test_the_rooms_stand_on_floors():
    [*TopologicalSorter(BELOW).static_order()]  # raises CycleError


def test_what_the_documentation_draws_of_the_imports_is_the_table():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    chains = re.search(
        r"^## Imports run one way\n\n`([^`]*)` and `([^`]*)`", text, re.M
    )
    for chain in chains.groups():
        _, *rooms = (re.findall(r"\w+", one) for one in chain.split("→"))
        rooms = [[one.replace("parts", "part") for one in each] for each in rooms]
        for above, below in pairwise(rooms):
            for one, other in product(above, below):
                assert other in BELOW[one] and one not in BELOW[other], (one, other)


def test_no_modules_know_each_other_in_a_circle_not_even_by_their_types():
    known = {name: PROJECT.known(name) - {name} for name in PROJECT.paths}
    try:
        TopologicalSorter(known).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_the_interface_loads_no_tensors_not_even_through_others():
    tensors = (
        "torch",
        "sentencepiece",
        "safetensors",
        "xformer.model",
        "xformer.training",
    )
    of_page = [
        name for name in modules("xformer.ui", "xformer.parts") if room(name) != "ask"
    ]
    assert not loading(of_page, *tensors)


def test_figures_load_neither_tensors_nor_the_interface():
    drawing = [name for name in modules("xformer.parts") if room(name) == "drawing"]
    others = ("torch", "gradio", "sentencepiece", "safetensors", "xformer.model")
    assert not loading([*modules("xformer.figures"), *drawing], *others)


def test_only_passes_of_a_model_need_tensors_to_explain():
    of_models = {
        f"xformer.explain.{module}"
        for module in (
            "attribution",
            "autoencoders",
            "complexity",
            "film",
            "gradients",
            "lenses",
            "meanings",
            "passes",
            "stream",
            "weighing",
            "whole_sentences",
        )
    }
    assert not loading(
        [name for name in modules("xformer.explain") if name not in of_models],
        "torch",
        "sentencepiece",
    )


def test_only_those_who_train_import_training():
    others = [
        name
        for name in PROJECT.paths
        if room(name) != "training"
        and not any(name.startswith(allowed) for allowed in TRAINERS)
    ]
    assert not {
        name: one
        for name in others
        for one in PROJECT.direct(name)
        if room(one) == "training"
    }


def test_nothing_under_the_page_loads_what_draws_it():
    below = (
        "model", "classifier", "search", "translator", "tokenizer", "results",
        "strings", "pieces", "viewing", "explain", "serve", "hub", "training",
    )  # fmt: skip
    assert not loading(
        modules(*(f"xformer.{name}" for name in below)), "gradio", "plotly"
    )


def importers(package):
    return sorted(
        name
        for name in PROJECT.paths
        for one in PROJECT.now[name] | PROJECT.later[name]
        if one.split(".")[0] == package
    )


def test_only_one_file_knows_sentencepiece():
    assert importers("sentencepiece") == ["xformer.tokenizer"]


def test_records_that_travel_need_numpy_only():
    others = {
        module.split(".")[0]
        for name in modules("xformer.results")
        for module in PROJECT.loading(name)
    } - sys.stdlib_module_names
    texts = {"babel", "typing_extensions"}  # of `strings`
    assert others <= {"numpy", "xformer"} | texts


def test_only_three_files_know_the_hub():
    assert sorted(set(importers("huggingface_hub"))) == [
        "xformer.hub.card",
        "xformer.hub.repository",
        "xformer.hub.transfer",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packages", "without"),
    [
        (["xformer"], ["torch", "gradio", "plotly"]),
        pytest.param(
            ["xformer.ui"], ["torch", "sentencepiece"], marks=pytest.mark.full
        ),
        (PROJECT.within("xformer.figures"), ["torch", "gradio", "sentencepiece"]),
    ],
    ids=["xformer", "ui", "figures"],
)
def test_python_itself_loads_no_more_than_that(packages, without):
    code = f"import sys, {', '.join(packages)}; print(*({set(without)!r} & sys.modules.keys()))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not ran.stdout.split()


def stems(folder):
    """The names of modules of tests in a folder, without "test_"."""
    return {
        path.stem.removeprefix("test_") for path in (ROOT / folder).glob("test_*.py")
    }


def test_tests_are_named_after_what_they_test():
    """By a module or a package; where several share a name, by module_package. Journeys
    are named by a tab or its part, tests on the bench by a part or a script."""
    names = {
        part
        for name in PROJECT.paths
        for part in (*name.split("."), "_".join(name.split(".")[:0:-1]))
    }
    names |= {"_".join(name.split(".")[2:]) for name in PROJECT.paths if part(name)}
    scripts = {
        path.stem
        for folder in ("assets", "xformer/parts/*")
        for path in ROOT.glob(f"{folder}/*.js")
    }
    journeys = {re.sub("_(tab|part)$", "", name) for name in stems("tests/browser")}
    benched = {name.removesuffix("_script") for name in stems("tests/scripts")}
    assert (stems("tests") | journeys | benched - scripts) - names == CROSS_CUTTING
    assert not [
        path.relative_to(ROOT).as_posix()
        for path in beside_parts()
        if re.sub("^test_|_script$", "", path.stem)
        not in {path.parent.name, *(one.stem for one in path.parent.glob("*.[jp]*"))}
    ], "a part, a module of it, or a script of it"


WAYS_TO_IMPORT = {
    "__init__": "",
    "a": "from xformer import b\nimport numpy.linalg",
    "b": """
from typing import TYPE_CHECKING
try:
    import xformer.c
except ImportError:
    pass
if TYPE_CHECKING:
    import torch
else:
    import json
class Within:
    import gradio
""",
    "c": "def later():\n    from xformer.d import name",
    "d": "import torch",
}


def test_imports_are_read_as_python_carries_them_out(tmp_path):
    (tmp_path / "xformer").mkdir()
    for name, text in WAYS_TO_IMPORT.items():
        (tmp_path / "xformer" / f"{name}.py").write_text(text)
    tree = Imports(tmp_path)
    assert set(tree.loading("xformer.a")) == {
        "xformer",
        "xformer.a",
        "xformer.b",
        "xformer.c",
        "numpy",
        "numpy.linalg",
        "typing",
        "json",
        "gradio",
    }
    assert (
        tree.direct("xformer.c") == tree.later["xformer.c"] == {"xformer.d"}
        and not tree.now["xformer.c"]
    )
    assert tree.never["xformer.b"] == {"torch"}
    assert tree.path_to("xformer.a", "gradio") == "gradio ← xformer.b ← xformer.a"
    assert (
        tree.path_to("xformer.a", "torch") == ""
        and tree.path_to("xformer.d", "torch") == "torch ← xformer.d"
    )
