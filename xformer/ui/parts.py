"""Tabs made of parts, as `xformer.parts.TABS` says: one that shows a part at a time, or
one part that holds others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from xformer import parts
from xformer.ui import frames
from xformer.ui.components import WIRE, script
from xformer.ui.handlers import QUIET
from xformer.ui.layout import Layout
from xformer.ui.places import question, within
from xformer.ui.tabs import Page, Tab, TabModule, seen

# The module of a part, part.py in its folder, has an ID and `build(part: Layout)`,
# called inside it; and, where they apply, OF_SENTENCE: whether it shows something of
# the sentence of the page, so that a new one opens it again; FOLDS: what it lays out
# folded, each a key and the key of the text that names it; NAME: the key of its own
# name, where a tab holds it folded; WITHIN: the key of the fold, or of the part of the
# drawer, in which it stands as a section; of_pair(service, language, translation, trace):
# what the component of its ID shows of a new pair; is_here(page): whether a page that names no part
# may begin with it; warm_up(service): computes what the first visitor would wait for,
# when the app starts.


def tabs() -> list[TabModule]:
    """Make the tabs of the table, and their sheets."""
    made: list[TabModule] = []
    for own, sheets in parts.sheets().items():
        for name in sheets:
            tab = parts.TABS[name]
            of = "" if name == own else own
            if tab.choice:
                made.append(Parts(name, tab, tab.modules(), of))
            else:
                made.append(Whole(name, tab.modules(), of))
    return made


@dataclass(eq=False)
class Whole:
    """A tab that is one part, which holds the others, as `tabs.TabModule`."""

    ID: str
    parts: Sequence[Any]
    OF: str = ""

    def build(self, page: Page) -> Tab:
        """Lay the tab out; called inside it."""
        first, *inside = self.parts
        made: Tab = first.build(page, inside) if inside else first.build(page)
        return made


@dataclass(eq=False)
class Parts:
    """A tab that shows one of its parts, as `tabs.TabModule`: a choice, and the part
    that is chosen."""

    ID: str
    tab: parts.Tab
    parts: Sequence[Any]
    OF: str = ""

    def build(self, page: Page) -> Tab:
        """Lay the tab out; called inside it."""
        chosen = [one for one in self.parts if not within(one, self.parts)]
        ids = [module.ID for module in chosen]
        tab = Layout(page, self.ID)
        here = [
            module.ID
            for module in chosen
            if not hasattr(module, "is_here") or module.is_here(page)
        ]
        first = (here or ids)[0]
        with gr.Row(elem_classes="controls parts"):
            part = tab.choice(
                self.tab.choice, ids, first, self.tab.name, "part", container=False
            )
        columns = dict[str, gr.Column]()
        opened = []
        for module in chosen:
            with gr.Column(visible=first == module.ID) as column:
                question(page.language, module.ID)
                inside = tab.inner(opened=gr.Textbox("0", **WIRE))
                inside["part"] = part
                inside.within = self._within
                module.build(inside)
            frames.give(column, page.language.say(self.tab.name.format(module.ID)))
            columns[urlencode({self.tab.choice: module.ID})] = column
            opened.append(inside.opened)
            tab.include(inside, module.ID)
            tab.views[f"{module.ID}_seen"] = seen(column, self.tab.choice, module.ID)
        shown = [*columns.values()]
        part.change(None, part, shown, js=script("showPart", ids), **QUIET)
        gr.on(
            [page.opened[self.ID].change, part.change],
            None,
            [page.sheet, part, *opened],
            opened,
            js=script("countPartOpening", ids, self.ID),
            **QUIET,
        )
        of_sentence = [
            module.ID if getattr(module, "OF_SENTENCE", False) else None
            for module in chosen
        ]
        page.translation.change(
            None,
            [page.sheet, part, *opened],
            opened,
            js=script("countPartOpening", of_sentence, self.ID),
            **QUIET,
        )
        return Tab(tab.controls, tab.views, self.tab.own_field, columns)

    @property
    def _within(self) -> dict[str, list[Any]]:
        """By the key of a fold, the parts that stand in it as sections."""
        held = dict[str, list[Any]]()
        for module in self.parts:
            if key := within(module, self.parts):
                held.setdefault(key, []).append(module)
        return held
