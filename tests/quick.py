"""What `make quick` runs: the tests that concern what has changed since the last
commit, but for the slow ones.

    python -m tests.quick [arguments of pytest]

A changed module concerns the tests that import it, a changed script or text those that
name it, what changes in a part the tests beside it, and a test itself. What holds for
all code is asked each time.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import ROOT, beside_parts

ALWAYS = [
    "test_architecture",
    "test_habits",
    "test_strings",
    "test_templates",
    "test_readme",
]
NOT_SLOW = "not server and not slow and not full and not night"


def changed():
    """List the files that differ from the last commit, and those that git does not know
    yet."""
    asked = (
        ["diff", "--name-only", "HEAD"],
        ["ls-files", "--others", "--exclude-standard"],
    )
    return [
        Path(line)
        for what in asked
        for line in subprocess.run(
            ["git", *what], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]


def imported(path):
    """Name the modules that a module of tests imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                node.module,
                *(f"{node.module}.{alias.name}" for alias in node.names),
            )


def concerned(files, tests):
    """Those of some modules of tests that concern changed files, paths from the
    project's root."""
    modules = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files
    }
    others = {path.name for path in files if path.suffix != ".py"}
    parts = {path.parent for path in files if path.parts[:2] == ("xformer", "parts")}
    for path in tests:
        text = path.read_text(encoding="utf-8")
        if (
            path.relative_to(ROOT) in files
            or path.relative_to(ROOT).parent in parts
            or path.stem in ALWAYS
            or modules & {*imported(path)}
            or any(
                name in text or path.stem == f"test_{Path(name).stem}_script"
                for name in others
            )
        ):
            yield path


def main(arguments):
    """Run them; -> the exit status of pytest."""
    folders = [ROOT / "tests", ROOT / "tests" / "research", ROOT / "tests" / "scripts"]
    tests = [path for folder in folders for path in sorted(folder.glob("test_*.py"))]
    tests += beside_parts()
    chosen = [*concerned(changed(), tests)]
    print(f"{len(chosen)} of {len(tests)} files of tests", flush=True)
    return pytest.main(["-m", NOT_SLOW, *map(str, chosen), *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
