"""Part of the Model tab: a map of words by their states after each layer, and what
another order of them changes."""

from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.parts.meanings import draw as figures
from xformer.results import GREEDY, MapMeanings, MeaningMap, Reverse, Trace, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import script
from xformer.ui.controls import OneOf, Values, Whole, Words
from xformer.ui.handlers import LATEST, QUIET, needs
from xformer.ui.layout import Layout
from xformer.ui.pictures import is_other
from xformer.ui.tabs import ALL_EXAMPLES

ID = "meanings"
OF_SENTENCE = True
COUNTS = (220, 2_000)  # sentences that come with the page
MOST_BESIDE = 4  # beside the one on the page
WORD = Whole(0, 0, 99_999)  # from 1; 0 for one that two of the visitor's sentences have


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    pictures = part.pictures(ID, cleared={"map": {}})
    problem = part.status()
    pictures.follow(follow, "mean_word")
    pictures.fact("beside", beside)
    pictures.fact("asked", asked)
    pictures.fact("mapped", read)
    part.look("mean_look")
    field = part.control(
        "mean_beside",
        _beside_example,
        gr.Textbox,
        info="mean_beside_info",
        lines=1,
        max_lines=3,
    )
    drawn = pictures.add(
        "map",
        part.canvas(
            "meanings.js", '<div class="drawing"></div>', "meanings-map", frame="chart"
        ),
        draw,
    )
    chosen = [
        part.hidden("mean_at", state_of, gr.Textbox),
        part.hidden("mean_word", WORD),
        part.hidden("mean_count", Whole(COUNTS[0], *COUNTS, COUNTS[1] - COUNTS[0])),
    ]
    # as in `whole_pass`
    drawn.choose(
        None, None, chosen, js=script("shownMap"), trigger_mode="multiple", **QUIET
    )
    events = [
        part.opened.change,
        part["trace"].change,
        field.submit,
        *(one.change for one in chosen),
    ]
    gr.on(events, **pictures.listener(problem), **LATEST)


def _beside_example(service: TranslationService, _: Any) -> Words:
    return Words(" / ".join(ALL_EXAMPLES.get(f"meanings_{service.info.source}", ())))


def state_of(service: TranslationService, _: Values) -> OneOf:
    """The states that may be mapped, by stack and layer; at first those after the
    encoder's last."""
    stacks = {
        "encoder": service.info.n_layers,
        "decoder": service.info.n_decoder_layers,
    }
    return OneOf(
        tuple(
            f"{stack}.{layer}"
            for stack, layers in stacks.items()
            for layer in range(layers + 1)
        ),
        f"encoder.{service.info.n_layers}",
    )


def follow(
    trace: Trace | None, mean_word: int, mean_beside: str, before: dict[str, Any]
) -> dict[str, int] | None:
    """Choose another word in other sentences; None where there are none."""
    if trace is None:
        return None
    is_new = is_other(before, trace=trace, mean_beside=mean_beside)
    return {"mean_word": 0} if is_new and mean_word == before["mean_word"] else {}


def beside(service: TranslationService, mean_beside: str) -> list[Translation]:
    """Translate the sentences that are laid beside that on the page."""
    texts = [text for text in map(str.strip, mean_beside.split("/")) if text][
        :MOST_BESIDE
    ]
    return service.translate_many(texts, GREEDY) if texts else []


@needs(trace="no_trace")
def asked(
    trace: Trace,
    beside: list[Translation],
    mean_at: str,
    mean_count: int,
    mean_word: int,
) -> MapMeanings:
    """What is asked of the model."""
    stack, _, layer = mean_at.partition(".")
    return MapMeanings(
        [(trace.text, trace.tokens), *((one, one.best.tokens) for one in beside)],
        stack,
        int(layer),
        int(mean_count),
        int(mean_word or 0) - 1,
    )


def read(service: TranslationService, asked: MapMeanings, progress: Any) -> MeaningMap:
    """Have the model read the sentences of the map, where it has not, and show how far
    it is."""
    return service.ask(asked, lambda done, of: progress((done, of)))


def draw(
    service: TranslationService,
    asked: MapMeanings,
    mapped: MeaningMap,
    language: Language,
    before: dict[str, Any],
) -> dict[str, Any]:
    """Draw the map; where it is there already, say only what is chosen."""
    if before and replace(asked, word=0) == replace(before["asked"], word=0):
        return figures.chosen(mapped)
    order = service.ask(Reverse(asked.pairs[0][0]))
    states = state_of(service, {}).options
    return {
        **figures.payload(mapped, asked, order, states, COUNTS, language),
        **figures.chosen(mapped),
    }
