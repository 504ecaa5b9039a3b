"""Part of the Model tab: the sentence's pieces, what is near them in the vocabulary,
and in other sentences."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from xformer.parts.vocabulary import draw as figures
from xformer.pieces import WORD_START, words
from xformer.results import NearestContexts, NearestPieces, Pieced, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Whole, only_own
from xformer.ui.handlers import LATEST, needs, refused
from xformer.ui.layout import Layout

ID = "vocabulary"
OF_SENTENCE = True
FOLDS = (("ways", "vocab_ways", "vocabulary"),)
MOST_PIECES = 256
# splits of a word that are weighed, and shown
WAYS = 256
SHOWN_WAYS = 3


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.status()
    part.look("vocab_look")
    part["splits"] = part.table("tables splits")
    with gr.Row(elem_classes="controls"):
        # 0: the longest piece of the sentence
        part.control(
            "vocab_piece",
            Whole(0, 0, MOST_PIECES),
            gr.Dropdown,
            properties=only_own("vocab_piece"),
        )
        part.control(
            "vocab_layer",
            _layer,
            gr.Slider,
        )
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=280):
            part["contexts"] = part.table("tables contexts")
            with part.folded("ways"):
                part["others"] = part.table("tables")
        with gr.Column(min_width=280):
            part["nearest"] = part.table("tables nearest")
            part["found"] = gr.HTML(elem_classes="summary")
    gr.on(
        [part.opened.change, part["vocab_piece"].input, part["vocab_layer"].input],
        **LATEST,
        **part.listener(
            draw,
            "found",
            "splits",
            "others",
            "nearest",
            "contexts",
            "vocab_piece",
            problem="problem",
            only_here=True,
        ),
    )


def _layer(service: TranslationService, _: Any) -> Whole:
    layers = service.info.layers("encoder_self")
    return Whole(layers, 0, max(1, layers))


def slip(word: str) -> str:
    """Swap two letters in the middle of a word, as a finger does that is too quick."""
    middle = len(word) // 2
    return (
        word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
        if len(word) > 2
        else word
    )


@needs(translation="no_trace")
@refused(found="", splits="", others="", nearest="", contexts="")
def draw(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    vocab_piece: int | None,
    vocab_layer: int,
) -> dict[str, Any]:
    """Take the sentence on the page apart, and find what is near one of its pieces."""
    text = translation.source
    [own] = service.split(text)
    chosen = min(int(vocab_piece or 0), len(own.pieces))
    at = (
        chosen - 1
        if chosen
        else max(range(len(own.pieces)), key=lambda i: len(own.pieces[i]))
    )
    word = _word(own, at)
    piece = own.pieces[at]
    choices = [
        (figures.readable(one), number) for number, one in enumerate(own.pieces, 1)
    ]
    near = service.ask(NearestPieces(piece))
    return {
        "found": figures.found(own, piece, near, language),
        "splits": figures.splits(_ways(service, own, language), language),
        "others": figures.others(word, service.split(word, WAYS), SHOWN_WAYS, language),
        "nearest": figures.nearest(piece, near, language),
        "contexts": figures.contexts(
            piece,
            int(vocab_layer),
            service.ask(NearestContexts(text, at, int(vocab_layer))),
            language,
        ),
        "vocab_piece": gr.update(choices=choices, value=at + 1),
    }


def _ways(
    service: TranslationService, own: Pieced, language: Language
) -> list[tuple[str, Pieced]]:
    """The sentence as the model reads it, in lower case, and with a slip of the finger
    in its longest word."""
    longest = max((_word(own, group[0]) for group in words(own.pieces)), key=len)
    texts = {
        "vocab_lower": own.text.lower(),
        "vocab_slip": own.text.replace(longest, slip(longest), 1),
    }
    return [
        (language.say("vocab_as_read"), own),
        *(
            (language.say(key), service.split(text)[0])
            for key, text in texts.items()
            if text != own.text
        ),
    ]


def _word(own: Pieced, at: int) -> str:
    """The word that a piece belongs to."""
    group: Sequence[int] = next(group for group in words(own.pieces) if at in group)
    return "".join(own.pieces[i] for i in group).replace(WORD_START, "")
