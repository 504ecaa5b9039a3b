"""Part of the Model tab: the sentence's pieces, what is near them in the vocabulary, and in other sentences."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from xformer.figures import vocabulary as figures
from xformer.pieces import WORD_START, words
from xformer.results import NearestContexts, NearestPieces, Pieced, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas
from xformer.ui.controls import Controls, Kind, Values, Whole
from xformer.ui.handlers import needs, refused
from xformer.ui.places import folded, note
from xformer.ui.tabs import Page, Tab

ID = "vocabulary"
TAB = "model"
OF_SENTENCE = True
MOST_PIECES = 256
WAYS, SHOWN_WAYS = 256, 8  # splits of a word that are weighed, and shown


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    problem = gr.HTML(elem_classes="status")
    gr.HTML(note(language, "vocab_look", ""), elem_classes="summary")
    splits = canvas("part.js", "${value}", "tables splits", save=language)
    with gr.Row(elem_classes="controls"):
        # 0: the longest piece of the sentence
        controls.add("vocab_piece", Whole(0, 0, MOST_PIECES), gr.Dropdown, label=say("vocab_piece"),
                     properties=lambda values: {"choices": [(str(values["vocab_piece"]), values["vocab_piece"])]})
        controls.add("vocab_layer", _layers, gr.Slider, label=say("vocab_layer"))
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=280):
            contexts = canvas("part.js", "${value}", "tables contexts", save=language)
        with gr.Column(min_width=280):
            nearest = canvas("part.js", "${value}", "tables nearest", save=language)
            found = gr.HTML(elem_classes="summary")
            with folded(language, "ways"):
                others = canvas("part.js", "${value}", "tables", save=language)
    outputs = {"found": found, "splits": splits, "others": others, "nearest": nearest, "contexts": contexts,
               **controls.named("vocab_piece")}
    gr.on([opened.change, *(control.component.input for control in controls.values())],
          **page.ask(draw, {"translation": page.translation, **controls.named()}, outputs, problem, only_in=TAB),
          trigger_mode="always_last", api_visibility="private", show_progress_on=[splits, contexts, nearest])
    return Tab(controls)


def _layers(service: TranslationService, so_far: Values) -> Kind:
    layers = service.info.layers("encoder_self")
    return Whole(layers, 0, max(1, layers))


def slip(word: str) -> str:
    """Swap two letters in the middle of a word, as a finger does that is too quick."""
    middle = len(word) // 2
    return word[:middle - 1] + word[middle] + word[middle - 1] + word[middle + 1:] if len(word) > 2 else word


@needs(translation="no_trace")
@refused(found="", splits="", others="", nearest="", contexts="")
def draw(service: TranslationService, language: Language, *, translation: Translation, vocab_piece: int | None,
         vocab_layer: int) -> dict[str, Any]:
    """Take the sentence on the page apart, and find what is near one of its pieces."""
    text = translation.source
    [own] = service.split(text)
    chosen = min(int(vocab_piece or 0), len(own.pieces))
    at = chosen - 1 if chosen else max(range(len(own.pieces)), key=lambda i: len(own.pieces[i]))
    word = _word(own, at)
    piece = own.pieces[at]
    choices = [(figures.readable(one), number) for number, one in enumerate(own.pieces, 1)]
    near = service.ask(NearestPieces(piece))
    return {"found": figures.found(own, piece, near, language),
            "splits": figures.splits(_ways(service, own, language), language),
            "others": figures.others(word, service.split(word, WAYS), SHOWN_WAYS, language),
            "nearest": figures.nearest(piece, near, language),
            "contexts": figures.contexts(piece, int(vocab_layer),
                                         service.ask(NearestContexts(text, at, int(vocab_layer))), language),
            "vocab_piece": gr.update(choices=choices, value=at + 1)}


def _ways(service: TranslationService, own: Pieced, language: Language) -> list[tuple[str, Pieced]]:
    """The sentence as it is typed, in lower case, and with a slip of the finger in its longest word."""
    longest = max((_word(own, group[0]) for group in words(own.pieces)), key=len)
    found = [(language.say("vocab_as_typed"), own)]
    slipped = own.text.replace(longest, slip(longest), 1)
    for key, changed in (("vocab_lower", own.text.lower()), ("vocab_slip", slipped)):
        if changed != own.text:
            found.append((language.say(key), service.split(changed)[0]))
    return found


def _word(own: Pieced, at: int) -> str:
    """The word that a piece belongs to."""
    group: Sequence[int] = next(group for group in words(own.pieces) if at in group)
    return "".join(own.pieces[i] for i in group).replace(WORD_START, "")
