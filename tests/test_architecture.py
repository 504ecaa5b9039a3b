"""The direction of imports: app, ui, figures, results on one way; service and the model on the other."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
           for path in (ROOT / "xformer").rglob("*.py")}


def imports(path):
    """Everything a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def within(folder):
    return [pytest.param(path, id=name) for name, path in MODULES.items() if name.startswith(f"xformer.{folder}")]


def forbidden(path, *roots):
    return [name for name in imports(path) for root in roots if name == root or name.startswith(root + ".")]


@pytest.mark.parametrize("path", within("ui"))
def test_the_interface_knows_no_tensors(path):
    assert not forbidden(path, "torch", "sentencepiece", "xformer.model", "xformer.tokenizer", "xformer.training")


@pytest.mark.parametrize("path", within("figures"))
def test_figures_are_made_of_numbers(path):
    assert not forbidden(path, "torch", "gradio", "sentencepiece", "xformer.serve", "xformer.ui", "xformer.model")


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in MODULES.items()
                                  if not name.startswith(("xformer.training", "xformer.__main__", "xformer.commands"))])
def test_nothing_but_the_command_line_needs_training(path):
    assert not forbidden(path, "xformer.training")


@pytest.mark.parametrize("name", ["model", "classifier", "search", "tokenizer", "results", "strings", "pieces",
                                  "hub.checkpoint", "hub.card", "hub.repository", "hub.pretrained", "hub.shipped"])
def test_the_foundation_rests_on_nothing_above_it(name):
    assert not forbidden(MODULES[f"xformer.{name}"], "gradio", "plotly", "xformer.serve", "xformer.ui",
                         "xformer.figures")


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in MODULES.items()
                                  if not name.startswith(("xformer.__main__", "xformer.commands"))])
def test_nothing_looks_up_at_the_command_line(path):
    assert not forbidden(path, "xformer.__main__", "xformer.commands")


def test_only_one_file_knows_sentencepiece():
    assert [name for name, path in MODULES.items() if forbidden(path, "sentencepiece")] == ["xformer.tokenizer"]


def test_only_two_files_know_the_hub():
    assert sorted(name for name, path in MODULES.items() if forbidden(path, "huggingface_hub")) == [
        "xformer.hub.card", "xformer.hub.repository"]


def test_importing_the_package_loads_no_torch():
    code = "import sys, xformer; sys.exit('torch' in sys.modules or 'gradio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_figures_and_explanations_load_no_torch_by_any_way():
    """But for the two modules of explain whose work is a pass of the model."""
    names = [name for name in MODULES if name.startswith(("xformer.figures.", "xformer.explain."))
             and name not in ("xformer.explain.attribution", "xformer.explain.passes")]
    code = f"""
import importlib, sys
for name in {names}:
    importlib.import_module(name)
    heavy = {{"torch", "gradio", "sentencepiece", "xformer.model"}} & {{*sys.modules}}
    assert not heavy, (name, heavy)
"""
    assert len(names) > 15
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_importing_the_page_loads_no_torch():
    """Not even through what it imports."""
    code = ("import sys, xformer.ui; print([name for name in ('torch', 'sentencepiece', 'xformer.model') "
            "if name in sys.modules])")
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
