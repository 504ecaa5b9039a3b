"""What each part of the page weighs: `make weight`.

Nodes of syntax count what there is to understand; bytes are those of scripts, styles
and templates, before they are compressed; texts are in each language; seconds are those
of the tests beside the part and of the journeys named after it, as tests/seconds.json
has them.
"""

import ast
import json
import re
from collections import Counter
from pathlib import Path

from benchmarks.harness import table
from xformer.parts import TABS

ROOT = Path(__file__).resolve().parent.parent


def nodes(folder: Path) -> int:
    """Count the nodes of syntax of all modules in a folder, but for tests."""
    return sum(
        1
        for path in folder.rglob("*.py")
        if not path.name.startswith("test_")
        for _ in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def seconds() -> Counter[str]:
    """Return the seconds of files of tests by the part that they lie beside, or else
    by what they are named after."""
    found: Counter[str] = Counter()
    for file, taken in json.loads(
        (ROOT / "tests" / "seconds.json").read_text(encoding="utf-8")
    ).items():
        if "::" not in file:
            of_part = re.match(r"xformer/parts/(\w+)/", file)
            named = re.sub(r"^test_|_(part|tab|script)$", "", Path(file).stem)
            found[of_part[1] if of_part else named] += taken
    return found


def main() -> None:
    """Print a row a part, the heaviest first, and the sum of the package."""
    of_tests = seconds()
    rows = []
    for tab, made in TABS.items():
        for name in made.parts:
            folder = ROOT / "xformer" / "parts" / name
            sent = sum(
                path.stat().st_size
                for kind in ("js", "css", "html")
                for path in folder.glob(f"*.{kind}")
            )
            texts = folder / "en.json"
            count = (
                len(json.loads(texts.read_text(encoding="utf-8")))
                if texts.is_file()
                else 0
            )
            rows.append((name, tab, nodes(folder), sent, count, of_tests[name]))
    rows.sort(key=lambda row: -row[2])
    print(
        table(
            ["part", "tab", "nodes", "bytes", "texts", "seconds of tests"],
            [
                [name, tab, f"{weight:,}", f"{sent:,}", str(count), f"{taken:.1f}"]
                for name, tab, weight, sent, count, taken in rows
            ],
        )
    )
    print(
        f"\nxformer/ has {nodes(ROOT / 'xformer'):,} nodes, {sum(row[2] for row in rows):,} of them in parts."
    )


if __name__ == "__main__":
    main()
