"""README and docs are true: their files are there, and their commands are commands."""

import re
import shlex
from pathlib import Path

import pytest

from xformer.__main__ import parser

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
# The log tells of commands as they were on their day.
COMMANDS = sorted({command for path, text in TEXTS.items() if path.name != "LOG.md"
                   for command in re.findall(r"-m xformer ([^|#\n`…]+)", re.sub(r"\\\n\s*", "", text))})
LINKS = [pytest.param(path.parent / link, id=f"{path.name} {link}") for path, text in TEXTS.items()
         for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("link", LINKS)
def test_what_is_linked_is_there(link):
    assert link.exists()


def test_every_document_is_linked_from_the_readme():
    assert {path.name for path in DOCUMENTS[1:]} <= {Path(link).name for link in re.findall(r"\]\(([^)]+)\)", README)}


def test_the_readme_is_read_in_one_sitting():
    assert len(README.encode()) < 9_000


@pytest.mark.parametrize("target", sorted({target for text in TEXTS.values()
                                           for target in re.findall(r"`make (\w+)`|^make (\w+) ", text, re.M)
                                           for target in target if target}))
def test_make_knows_its_targets(target):
    assert re.search(rf"^{target}:", MAKE, re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if len(c.split()) > 2])
def test_commands_are_understood(command):
    parser().parse_args([word.replace("FILE.tsv", "file.tsv") for word in shlex.split(command)])


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs" / "ARCHITECTURE.md"], ids=lambda path: path.name)
def test_the_map_names_every_module_and_room(path):
    for part in (ROOT / "xformer").iterdir():
        if (part.suffix == ".py" or (part / "__init__.py").is_file()) and not part.name.startswith("__"):
            assert f"{part.name}{'' if part.suffix else '/'}" in TEXTS[path], f"{part.name} is not on the map"
