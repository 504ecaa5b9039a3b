"""Tabs that are made of parts and show one part at a time."""

from collections.abc import Sequence
from typing import Protocol

import gradio as gr

from xformer.ui.components import script
from xformer.ui.controls import Controls, OneOf
from xformer.ui.handlers import QUIET
from xformer.ui.places import question
from xformer.ui.tabs import Page, Tab


class Part(Protocol):
    """A module of a part of a tab; its title's key is "part_" and its ID."""

    ID: str
    OF_SENTENCE: bool  # whether it shows something of the sentence on the page: a new sentence opens it again

    def build(self, page: Page, opened: gr.Textbox) -> Tab:
        """Lay the part out; called inside it. opened: a box whose text changes when the part comes into sight."""


def build(page: Page, tab_id: str, key: str, parts: Sequence[Part], first: str) -> Tab:
    """Lay a tab out; called inside it: a choice of parts, and the part that is chosen.

    key: of the choice, in the address. first: ID of the part that is shown where the address names none.
    """
    ids = [module.ID for module in parts]
    tab = Tab(Controls(page.service))
    with gr.Row(elem_classes="controls parts"):
        part = tab.controls.add(key, OneOf(tuple(ids), first), gr.Radio, label=page.language.say("part"),
                                container=False, choices=page.language.choices("part_{}", ids))
    columns, opened = [], []
    for name, module in zip(ids, parts, strict=True):
        with gr.Column(visible=name == first) as column:
            question(page.language, name)
            box = gr.Textbox("0", visible=False)
            made = module.build(page, box)
        columns.append(column)
        opened.append(box)
        tab.controls.include(made.controls)
        tab.views.update({f"{module.ID}.{name}": view for name, view in made.views.items()})
    part.change(None, part, columns, js=script("showPart", ids), **QUIET)
    gr.on([page.opened[tab_id].change, part.change], None, [page.tab, part, *opened], opened,
          js=script("countPartOpening", ids, tab_id), **QUIET)
    of_sentence = [module.ID if module.OF_SENTENCE else None for module in parts]
    page.translation.change(None, [page.tab, part, *opened], opened,
                            js=script("countPartOpening", of_sentence, tab_id), **QUIET)
    return tab
