"""The scripts of figures are served, the linter finds the mistakes that it is there to
find, and styles are cheap."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.harness import ROOT, modules
from xformer.strings import ASSETS, of_parts
from xformer.ui import components

STYLE = ASSETS / "style.css"
# what else makes HTML
FIGURES = [*components.SCRIPTS.values(), *(ASSETS / "html").glob("*.html")]
OXLINT = Path(sys.executable).with_name("oxlint")


def lint(folder, script):
    """The complaints about a script that stands among those of assets/."""
    shutil.copytree(
        ROOT / "assets",
        folder / "assets",
        ignore=lambda _, names: [n for n in names if n[-3:] != ".js"],
    )
    shutil.copy(ROOT / ".oxlintrc.json", folder)
    (folder / "assets" / "new.js").write_text(script, encoding="utf-8")
    return subprocess.run(
        [OXLINT, "-f", "unix", "assets"], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "export default function start({element}) {\n  element.append(mispelt);\n}\n",
            "'mispelt' is not defined",
        ),
        (
            "export default function start() {\n  const size = 1;\n}\n",
            "'size' is declared but never used",
        ),
        (
            "import {colour} from './shared.js';\n",
            "'colour' is imported but never used",
        ),
        (
            "import {missing} from './shared.js';\nmissing();\n",
            'named import "missing" not found',
        ),
        (
            "export const escape = text => text.trim();\n",
            "'escape' is already a global variable",
        ),
        (
            "export function start(location) {\n  return location;\n}\n",
            "'location' is already a global variable",
        ),
        (
            "export const isEmpty = text => text == '';\n",
            "Expected === and instead saw ==",
        ),
    ],
)
def test_a_mistake_is_found(tmp_path, script, said):
    found = lint(tmp_path, script)
    assert found.returncode == 1
    complaints = [
        line for line in found.stdout.splitlines() if line.startswith("assets/new.js:")
    ]
    assert [complaint for complaint in complaints if said in complaint], found.stdout


def test_a_script_without_mistakes_passes(tmp_path):
    found = lint(
        tmp_path,
        "import {colour} from './shared.js';\n\n"
        "export default function start({element, props, watch}) {\n"
        "  watch('value', () => { element.style.color = colour(props.value.palette, .5); });\n}\n",
    )
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("assets/plot.js", 200),
        ("assets/shared.js", 200),
        ("xformer/parts/path/path.js", 200),
        ("assets/path.js", 404),
        ("plot.js", 404),
        ("assets/style.css", 404),
        ("assets/strings", 404),
        ("assets/%2e%2e%2fapp.py", 404),
        ("", 404),
    ],
)
def test_scripts_are_served_and_nothing_else_beside_them(name, status):
    answer = TestClient(Starlette(routes=components.ROUTES)).get(
        f"/scripts/{components.VERSION}/{name}"
    )
    assert answer.status_code == status
    if status == 200:
        assert (
            answer.headers["Content-Type"].startswith("text/javascript")
            and "export" in answer.text
        )


def test_no_rule_asks_what_a_whole_tab_holds():
    """Each change within what such a rule asks styles the whole page anew, for some
    milliseconds."""
    styles = "".join(path.read_text("utf-8") for path in components.STYLES)
    asked = re.findall(r"([\w.-]+)(?:\[[^]]*\])*(?::not\()?:has\(", styles)
    assert len(asked) > 30
    assert not {
        "body",
        "html",
        ".main",
        ".contain",
        ".tabs",
        ".tabitem",
        ".translate",
    } & {*asked}


def named(text, name):
    """Whether a text has a name of a class, whole."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)


def test_what_one_part_alone_names_is_styled_beside_it():
    """Within :is(…), which stands for several, more than one part is meant; frames are
    named by `ui/frames.py` too."""
    parts = {}
    others = ""
    for path in [*modules("xformer"), *FIGURES, *of_parts("*.html")]:
        text = path.read_text(encoding="utf-8")
        if path.parent.parent.name == "parts":
            parts[path.parent.name] = parts.get(path.parent.name, "") + text
        else:
            others += text
    style = re.sub(r"/\*.*?\*/", "", STYLE.read_text(encoding="utf-8"), flags=re.S)
    rules = re.findall(r"[^{}]+(?={)", re.sub(r":(?:is|not|has)\([^{}]*\)", "", style))
    classes = {one for rule in rules for one in re.findall(r"\.([a-z][\w-]*)", rule)}
    classes -= {"prose"}  # Gradio's
    assert len(classes) > 100
    alone = {
        name: owners[0]
        for name in sorted(classes)
        if not named(others, name.removeprefix("frame-"))
        and len(owners := [one for one, text in parts.items() if named(text, name)])
        == 1
    }
    assert not alone
