"""Each part of the page can be taken out by its name in the table of tabs: the page is
laid out without it."""

from dataclasses import replace

import gradio as gr
import pytest

from tests.pages import laid_out
from xformer.parts import TABS
from xformer.strings import PACKAGE
from xformer.ui.parts import tabs

PARTS = [(tab, name) for tab, made in TABS.items() for name in made.parts]


def without(tab, name):
    """The table without a part; where that is a tab which holds others, without these
    too."""
    parts = tuple(one for one in TABS[tab].parts if one != name)
    is_whole = not TABS[tab].choice and name == TABS[tab].parts[0]
    return {**TABS, tab: replace(TABS[tab], parts=() if is_whole else parts)}


def test_every_folder_of_a_part_stands_in_the_table_once():
    assert sorted(name for _, name in PARTS) == sorted(
        path.parent.name for path in PACKAGE.glob("parts/*/part.py")
    )


@pytest.mark.parametrize(
    ("tab", "name"),
    [
        pytest.param(
            *one, marks=() if one[1] in ("questions", "path") else pytest.mark.full
        )
        for one in PARTS
    ],
)
def test_the_page_is_laid_out_without_a_part(running, tab, name):
    table = without(tab, name)
    page = laid_out(running, tabs=tabs(table))
    assert [*page.opened] == [one for one, made in table.items() if made.parts]
    choice = TABS[tab].choice
    if choice and table[tab].parts:
        assert [*page.controls.kinds(running)[choice].options] == [
            module.ID for module in table[tab].modules()
        ]
    headings = {one.id for one in page.demo.blocks.values() if isinstance(one, gr.Tab)}
    is_tab = not (TABS[tab].of and table[TABS[tab].of].parts)
    assert (tab in headings) == (is_tab and bool(table[tab].parts))
