"""The map of meanings: made once for a stack and a number of sentences, and kept while
the model is loaded."""

from typing import Any

from xformer.explain.meanings import SENTENCES, Meanings, shipped
from xformer.results import MapMeanings, UserError
from xformer.results.inside import MeaningMap
from xformer.serve.answers import Answers
from xformer.serve.protocol import Progress


def map_meanings(service: Any, asked: MapMeanings, tell: Progress | None) -> MeaningMap:
    """Answer `results.MapMeanings`. Raises UserError for a map that is not offered."""
    model = service.transformer
    stack = asked.stack
    key = ("meanings", asked.stack, asked.sentences)
    layers = {
        "encoder": service.info.n_layers,
        "decoder": service.info.n_decoder_layers,
    }.get(stack, -1)
    if not (
        asked.pairs and 0 <= asked.layer <= layers and asked.sentences in SENTENCES
    ):
        raise UserError(
            f"There is no map of {asked.sentences} sentences and {len(asked.pairs)} own ones after "
            f"layer {asked.layer} of the stack {stack[:20]!r}."
        )
    pairs = [service.pair(*pair) for pair in asked.pairs]
    # in this order: who waits for a map has no turn yet
    with service.lock("meanings"), service.guard.work() as pause:
        if key not in service.kept:
            service.kept[key] = Meanings(
                model,
                service.tokenizer,
                shipped(model, service.tokenizer, *key[1:]),
                stack,
                pause,
                tell,
            )
        return service.kept[key].map(
            Meanings(model, service.tokenizer, pairs, stack), asked.layer, asked.word
        )


ANSWERS: Answers = {MapMeanings: map_meanings}
