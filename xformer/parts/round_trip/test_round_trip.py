"""A translation is translated back: what comes, and what is said of it."""

import math
from dataclasses import replace
from types import SimpleNamespace

from xformer.parts.round_trip import part as round_trip
from xformer.results import Force
from xformer.strings import ENGLISH, SPANISH


def test_a_translation_is_translated_back_and_the_sentence_judged_by_it(
    both_ways, back
):
    went = both_ways.default.translate("The bank is closed today.")
    *_, answer = round_trip.run(both_ways.default, ENGLISH, went=went, models=both_ways)
    again = back.translate(went.best.text, went.alone).best.text
    assert (
        again == "The bank is closed today."
        and "It comes back word for word." in answer["came_back"]
    )
    went = both_ways.default.translate("I was talking to my friend about his old car.")
    other = replace(
        went,
        n_best=(replace(went.best, text="Hablaba con mi amiga de su viejo coche."),),
    )
    *_, answer = round_trip.run(
        both_ways.default, ENGLISH, went=other, models=both_ways
    )
    assert "<del>" in answer["came_back"] and "<ins>" in answer["came_back"]
    tokens = back.typed(went.source)[0]
    likely, unlikely = (
        back.ask(Force(text, tuple(tokens)))
        for text in (went.best.text, other.best.text)
    )
    assert f"--unsure:{1 - math.exp(unlikely.log_probs[0]):.3f}" in answer["came_back"]
    assert sum(unlikely.log_probs) < sum(likely.log_probs)


def test_what_cannot_be_translated_back_is_said(back):
    nobody = SimpleNamespace(translating=lambda source, target: [])
    answer = next(
        round_trip.run(back, SPANISH, went=back.translate("gato"), models=nobody)
    )
    assert "(inglés → español)" in answer["problem"] and not answer["came_back"]
    assert round_trip.run.needs == {"went": "back_empty"}
