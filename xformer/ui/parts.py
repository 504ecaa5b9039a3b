"""Tabs that are made of parts and show one part at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import gradio as gr

from xformer.ui.components import script
from xformer.ui.handlers import QUIET
from xformer.ui.layout import Layout
from xformer.ui.places import question
from xformer.ui.tabs import Page, Tab


class Part(Protocol):
    """A module of a part of a tab; its title's key is "part_" and its ID. Where it shows something of the sentence on
    the page, so that a new sentence opens it again, its OF_SENTENCE is true."""

    ID: str

    def build(self, part: Layout) -> None:
        """Lay the part out; called inside it."""


@dataclass(eq=False)
class Parts:
    """A tab, as `tabs.TabModule`: a choice of parts, and the part that is chosen.

    key: of the choice, in the address. first: finds the ID of the part that is shown where the address names none, if
    that is not the first.
    """

    ID: str
    key: str
    parts: Sequence[Part]
    first: Callable[[Page], str] | None = None
    own_field: bool = False
    each: str = "part_{}"  # the key of the text that names a part

    def build(self, page: Page) -> Tab:
        """Lay the tab out; called inside it."""
        ids, tab = [module.ID for module in self.parts], Layout(page, self.ID)
        first = self.first(page) if self.first else ids[0]
        with gr.Row(elem_classes="controls parts"):
            part = tab.choice(self.key, ids, first, self.each, "part", container=False)
        columns, opened = [], []
        for module in self.parts:
            with gr.Column(visible=first == module.ID) as column:
                question(page.language, module.ID)
                inside = tab.inner(opened=gr.Textbox("0", visible=False))
                inside["part"] = part
                module.build(inside)
            columns.append(column)
            opened.append(inside.opened)
            tab.include(inside, module.ID)
        part.change(None, part, columns, js=script("showPart", ids), **QUIET)
        gr.on([page.opened[self.ID].change, part.change], None, [page.tab, part, *opened], opened,
              js=script("countPartOpening", ids, self.ID), **QUIET)
        of_sentence = [module.ID if getattr(module, "OF_SENTENCE", False) else None for module in self.parts]
        page.translation.change(None, [page.tab, part, *opened], opened,
                                js=script("countPartOpening", of_sentence, self.ID), **QUIET)
        return Tab(tab.controls, tab.views, self.own_field)
