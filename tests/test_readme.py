"""The README is true: its files are there, and its commands are commands."""

import re
import shlex
from pathlib import Path

import pytest

from xformer.__main__ import parser

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"-m xformer ([^|#\n`…]+)", README)
LINKS = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]


@pytest.mark.parametrize("link", LINKS)
def test_what_is_linked_is_there(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w+)", README)) & {"demo", "test", "bench"}))
def test_make_knows_its_targets(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if len(c.split()) > 2])
def test_commands_are_understood(command):
    parser().parse_args([word.replace("FILE.tsv", "file.tsv") for word in shlex.split(command)])


def test_the_map_names_every_module():
    for path in (ROOT / "xformer").iterdir():
        if path.suffix == ".py" and not path.name.startswith("__"):
            assert path.name in README, f"{path.name} is not on the map"
