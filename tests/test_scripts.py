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

from xformer.ui import components

ROOT = Path(__file__).resolve().parent.parent
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
