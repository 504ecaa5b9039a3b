"""The contract of a tab: what its module is given, what it returns.

A tab is a module with an `ID`, its key in the address and the end of its title's key
("tab_…"), and `build(page: Page) -> Tab`, called inside the tab. `page.TABS` lists the
modules; the page knows no more of them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import gradio as gr

from xformer.results import UserError
from xformer.serve.protocol import (
    ModelPool,
    ReviewService,
    StudyService,
    TranslationService,
    WriterService,
)
from xformer.strings import ASSETS, Language
from xformer.ui.controls import Controls, Values, Words
from xformer.ui.handlers import Ask

# By what they are for: "translation" in English, "translation_es" and so on,
# "translation_other", "reviews".
ALL_EXAMPLES: dict[str, Any] = json.loads(
    (ASSETS / "examples.json").read_text(encoding="utf-8")
)
EXAMPLES: list[str] = ALL_EXAMPLES["translation"]
# keyword arguments of an event of Gradio, as `Ask` makes them
Listener = dict[str, Any]


def examples(service: TranslationService) -> list[str]:
    """The sentences to begin with, in the language that a model reads; of names and
    numbers where there are none."""
    source = service.info.source
    return (
        EXAMPLES
        if source == "en"
        else ALL_EXAMPLES.get(
            f"translation_{source}", ALL_EXAMPLES["translation_other"]
        )
    )


@dataclass(frozen=True, eq=False)
class View:
    """A component that shows something of the model, and what it is set to when a page
    is opened."""

    component: gr.blocks.Block
    # of the model and what all controls of the page hold
    update: Callable[[TranslationService, Values], Any]


def opened_by(controls: Controls, part: gr.Accordion) -> View:
    """A part that is open where the address asks something of its controls."""

    # As a component, which is set together with the values of the controls: it tells at
    # once that it is open.
    def opened(service: TranslationService, values: Values) -> Any:
        return gr.Accordion(open=True) if controls.asked(service, values) else gr.skip()

    return View(
        part,
        opened,
    )


def seen(column: gr.Column, choice: str, part: str) -> View:
    """A part, or a sheet, that is in sight where the address chooses it: before its tab
    is laid out, so that no other is seen meanwhile. choice: the key of the control."""

    def visible(service: TranslationService, values: Values) -> Any:
        return gr.update(visible=values[choice] == part)

    return View(column, visible)


def example(service: TranslationService, _: Any) -> Words:
    """What a field of a sentence holds at first."""
    return Words(examples(service)[0])


@dataclass(eq=False)
class Tab:
    """What the page must know of a tab: controls by their keys, and views by names of
    the tab's own."""

    controls: Controls
    views: dict[str, View] = field(default_factory=dict)
    # whether it has a field of its own, to which the sentence in the bar gives way
    own_field: bool = False
    # by the query of the address that opens it, the column of each of its parts
    columns: dict[str, gr.Column] = field(default_factory=dict)


@dataclass(eq=False)
class Page:
    """One page while it is laid out: what all tabs share, to read and to write."""

    models: ModelPool
    # the classifier of reviews; or why there is none
    reviews: ReviewService | UserError | None
    study: StudyService
    language: Language
    ask: Ask  # makes listeners on the page's model
    sentence: gr.Textbox  # what is typed
    asked: gr.Textbox  # the sentence whose translation is on the page
    status: gr.HTML  # what is to say about the sentence
    translation: gr.State  # results.Translation of the sentence
    trace: gr.State  # results.Trace of the pair that is looked into
    spanish: gr.Textbox  # the translation that is looked into; "" for the model's own
    tabs: gr.Tabs
    tab: gr.Textbox  # the id of the open tab
    # the id of its open sheet: its own, or another that is chosen in it
    sheet: gr.Textbox
    # the words that are locked, as `figures.locked_word.Lock` reads them
    lock: gr.Textbox
    model: gr.Textbox  # the name of the page's model; "" for the default
    search: gr.Column  # of the menu: how translations are searched for
    controls: Controls  # those of all tabs that are laid out already
    views: dict[str, View] = field(default_factory=dict)
    # the language model of reviews; or why there is none
    writer: WriterService | UserError | None = None
    # that may be chosen too, by name
    other_reviews: Mapping[str, ReviewService] = field(default_factory=dict)
    # the field of the review that is judged, where there is one
    review: gr.Textbox | None = None
    # the name of the classifier that is chosen, where there is one
    reviewer: gr.Radio | None = None
    # the `Pictures` of tabs and their parts, by name
    pictures: dict[str, Any] = field(default_factory=dict)
    # Called when all tabs are laid out, in whatever order: what one listens to, or
    # sets, in another is wired then.
    connections: list[Callable[[], None]] = field(default_factory=list)
    # Listeners that run one after the other:
    # for a new sentence
    on_sentence: list[Listener] = field(default_factory=list)
    # when the page is opened
    on_opening: list[Listener] = field(default_factory=list)
    # when the browser goes back to what the page showed before; a tab that is opened
    # with the page has an event of its own
    on_return: list[Listener] = field(default_factory=list)
    # when something else than its own controls has set what the Attention tab shows
    on_choice: list[Listener] = field(default_factory=list)
    # By the id of a sheet, a box whose text changes when that is opened, and only then.
    # (Gradio asks the server for one listener after the other: if all sheets listened
    # to `sheet`, the open one would wait for those of all others.)
    opened: dict[str, gr.Textbox] = field(default_factory=dict)

    @property
    def service(self) -> TranslationService:
        """The model that components are laid out for; what another needs otherwise is
        set when the page is opened."""
        return self.models.default

    def always(self, service: Any) -> Ask:
        """Make listeners that all use one service, whatever the page's model."""
        return Ask.always(service, self.language, self.sheet)

    def include(self, name: str, tab: Tab) -> None:
        """Take up what a tab has returned."""
        self.controls.include(tab.controls)
        self.views.update({f"{name}.{view}": made for view, made in tab.views.items()})


class TabModule(Protocol):
    """A module of a tab; or, where it has an OF, of a sheet more of the tab of that
    id."""

    ID: str

    def build(self, page: Page) -> Tab:
        """Lay the tab out; called inside it."""
