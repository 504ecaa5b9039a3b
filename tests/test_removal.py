"""The folder of a part can be removed, with its name in the table of tabs: the page is
laid out without it.

Pages are laid out from copies of the package, each without the folders of many parts at
once. For any two parts one copy has the one and not the other: neither needs what lies
in the other's folder.
"""

import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from itertools import combinations, permutations, product
from unittest.mock import patch

import gradio as gr
import pytest

from tests.harness import ROOT
from tests.pages import run
from xformer.parts import TABS
from xformer.strings import PACKAGE, of_parts
from xformer.ui.server.gradio_private import laid_out_once

FOLDERS = {path.parent.name for path in PACKAGE.glob("parts/*/part.py")}
COPIES = range(5)
# In which two of the copies a tab stands, or a part of a tab: no two are in the same.
STANDS = [*combinations(COPIES, 2)]


def held(tab):
    """The part that is the tab and holds the others, where there is one; the others."""
    return ((), tab.parts) if tab.choice else (tab.parts[:1], tab.parts[1:])


def some_tabs(copy):
    """The table of tabs with two tabs of five, whole."""
    return {
        name: tab if copy in stands else replace(tab, parts=())
        for stands, (name, tab) in zip(STANDS, TABS.items(), strict=False)
    }


def some_parts(copy):
    """The table of tabs with two parts of five in each tab."""

    def left(tab):
        first, others = held(tab)
        within = zip(STANDS, others, strict=False)
        return *first, *(one for stands, one in within if copy in stands)

    return {name: replace(tab, parts=left(tab)) for name, tab in TABS.items()}


TABLES = [table(copy) for table in (some_tabs, some_parts) for copy in COPIES]


def parts_of(table):
    return {part for tab in table.values() for part in tab.parts}


def link(folder, table):
    """Make a copy of the project, by links, with the folders of these parts only."""
    (folder / "xformer" / "parts").mkdir(parents=True)
    for inside in (ROOT, PACKAGE, PACKAGE / "parts"):
        for path in inside.iterdir():
            copy = folder / path.relative_to(ROOT)
            if not copy.exists() and path.name not in FOLDERS - parts_of(table):
                copy.symlink_to(path)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """`load(name)`: a module of the package, from the copy in `tmp_path`."""
    monkeypatch.syspath_prepend(tmp_path)
    with patch.dict(sys.modules):
        for name in [*sys.modules]:
            # what changes Gradio does so once
            if name.startswith("xformer") and not name.endswith(".gradio_private"):
                del sys.modules[name]
        yield lambda name: import_module(f"xformer.{name}")


def test_every_folder_of_a_part_stands_in_the_table_once():
    names = [name for tab in TABS.values() for name in tab.parts]
    assert sorted(names) == sorted(FOLDERS)


def test_any_part_is_gone_from_a_copy_where_another_is_left():
    seen = set()
    for table in TABLES:
        left = parts_of(table)
        seen |= {*product(left, FOLDERS - left)}
    held_in = {pair for tab in TABS.values() for pair in product(*reversed(held(tab)))}
    assert seen == {*permutations(FOLDERS, 2)} - held_in


@pytest.mark.parametrize("table", TABLES)
def test_the_page_is_laid_out_without_the_folders_of_parts(
    running, reader, writer, tmp_path, load, table
):
    link(tmp_path, table)
    load("parts").TABS = table
    page = load("ui.page")
    models = load("serve.pool").Models(running)
    study = load("serve.study").Study()
    language = load("strings").ENGLISH

    async def lay_out():
        with laid_out_once(), gr.Blocks(analytics_enabled=False) as demo:
            return demo, page.build(
                demo, models, study, reader, language, writer=writer
            )

    demo, made = run(lay_out())
    assert [*made.opened] == [name for name, tab in table.items() if tab.parts]
    for tab in table.values():
        if tab.choice and tab.parts:
            options = [*made.controls.kinds(running)[tab.choice].options]
            modules = tab.modules()
            within = load("ui.places").within
            assert options == [one.ID for one in modules if not within(one, modules)]
    headings = {one.id for one in demo.blocks.values() if isinstance(one, gr.Tab)}
    for name, tab in table.items():
        of_another = tab.of and table[tab.of].parts
        assert (name in headings) == bool(tab.parts and not of_another)


# by what is put in place of {}: a template that is filled or taken up, a script that is
# imported, a text that is said
NAMED = {
    "{}.html": r'fill\(\s*"(\w+)\.|from "(\w+)\.html"',
    "{}.js": r"from '[^']*?(\w+)\.js'",
    "{}": r'(?:say|html)\(\s*"(\w+)"',
}


def owners():
    """By template, script and text of a part: the part."""
    files = (*of_parts("*.html"), *of_parts("*.js"))
    found = {path.name: path.parent.name for path in files}
    for path in of_parts("en.json"):
        texts = json.loads(path.read_text(encoding="utf-8"))
        found |= dict.fromkeys(texts, path.parent.name)
    return found


def test_a_part_answers_with_no_text_template_or_script_of_another():
    """Answers come later than the page."""
    owner = owners()
    wrong = []
    for path in (
        path for kind in ("py", "html", "js") for path in of_parts(f"*.{kind}")
    ):
        text = path.read_text(encoding="utf-8")
        for form, pattern in NAMED.items():
            for found in re.findall(pattern, text):
                name = form.format("".join(found))
                part = path.parent.name
                if owner.get(name, part) != part:
                    wrong.append((part, name, owner[name]))
    assert not wrong
