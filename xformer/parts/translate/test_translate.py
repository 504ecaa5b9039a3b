"""The Translate tab: beam search by default, and two draws where somebody samples."""

import pytest

from tests.pages import laid_out
from xformer.parts.translate import part as tab
from xformer.results import Options
from xformer.serve.translation import MOST_RECENT
from xformer.strings import ENGLISH

BEAM = {"former": None, "beam": 4, "n_best": 2, "length_penalty": 1, "longest": 30}
DRAWN = {**BEAM, "temperature": 2.0, "top_k": 20, "top_p": 0.9, "draw_seed": 7}


def run(running, **values):
    *_, answer = tab.run(running, ENGLISH, sentence="The cat reads a book.", **values)
    return answer


def test_nothing_is_drawn_by_default(running):
    answer = run(running, **BEAM)
    assert (
        answer["translation"].options == Options(beam=4, n_best=2)
        and "Draw with" not in answer["shown"]
    )
    assert (
        run(running, **{**DRAWN, "temperature": 0})["translation"].n_best
        == answer["translation"].n_best
    )


def test_two_draws_have_consecutive_seeds_and_are_those_of_the_search(running):
    answer = run(running, **DRAWN)
    options = Options(beam=4, temperature=2.0, top_k=20, top_p=0.9, seed=7)
    assert answer["translation"].options == options and answer["others"] == ""
    first, second = (
        running.translate("The cat reads a book.", one, max_length=30).best.tokens
        for one in (
            options,
            Options(beam=4, temperature=2.0, top_k=20, top_p=0.9, seed=8),
        )
    )
    assert (
        answer["translation"].best.tokens
        == first
        == (*answer["trace"].tokens, *first[len(answer["trace"].tokens) :])
    )
    assert answer["shown"].index("Draw with seed 7") < answer["shown"].index(
        "Draw with seed 8"
    )
    assert "temperature 2 · seed 8" in answer["shown"] and second != first
    assert run(running, **DRAWN)["translation"].best.tokens == first, (
        "a seed draws the same again"
    )


def test_the_sentence_that_a_page_opens_with_is_computed_before_anybody_asks(
    running, monkeypatch
):
    """As a page asks for it that says nothing else."""
    tab.warm_up(running)
    page = laid_out(running, tabs=[tab])
    settings = {
        key: page.controls.defaults(running)[key]
        for key in (
            "beam",
            "n_best",
            "length_penalty",
            "longest",
            "temperature",
            "top_k",
            "top_p",
            "draw_seed",
        )
    }
    monkeypatch.setattr(type(running), "_translated", None)
    *_, answer = tab.run(
        running, ENGLISH, sentence=page.sentence.value, former=None, **settings
    )
    assert answer["translation"].source == page.sentence.value


def test_who_asks_for_the_same_again_waits_for_no_search_and_draws_anew(
    running, monkeypatch
):
    searched = []
    translated = type(running)._translated
    monkeypatch.setattr(
        type(running),
        "_translated",
        lambda *given, **how: searched.append(given[2]) or translated(*given, **how),
    )
    asked = [
        ("The cat sleeps.", Options(beam=3)),
        ("The cat sleeps.", Options(beam=2)),
        ("The cat sleeps.", Options(beam=3)),
        ("The cat sleeps.", Options(temperature=1.0, seed=3)),
        ("The cat sleeps.", Options(temperature=1.0, seed=3)),
    ]
    (first, trace), _, (again, same), *_ = (
        running.translate_and_trace(*one) for one in asked
    )
    assert len(searched) == 4 and again.best == first.best and same.cross is trace.cross
    assert same is not trace, "or a page would not draw it again"
    assert again.seconds < first.seconds, "it says how long this one took"


def test_only_the_last_few_translations_are_kept(running):
    for beam in range(1, MOST_RECENT + 3):
        running.translate_and_trace("The cat sleeps.", Options(beam=beam))
    kept = [options.beam for _, options, _ in running._recent]
    assert kept == [*range(3, MOST_RECENT + 3)]


@pytest.mark.parametrize(("temperature", "beam"), [(0, True), (0.5, False)])
def test_settings_that_do_not_count_are_dimmed(temperature, beam):
    dimmed = tab.dim(None, ENGLISH, temperature=temperature)
    assert {dimmed[key]["interactive"] for key in tab.OF_BEAM} == {beam}
    assert {dimmed[key]["interactive"] for key in (*tab.OF_SAMPLES, "again")} == {
        not beam
    }


def test_a_seed_that_is_not_typed_is_the_first(running):
    assert run(running, **{**DRAWN, "draw_seed": None})["translation"].options.seed == 0


def test_what_a_visitor_asks_for_is_translated_by_one_listener_in_turn(running):
    """Of two listeners, the answer to what was asked before may come last, and stay."""
    page = laid_out(running, tabs=[tab])
    begun = []
    for one in page.demo.fns.values():
        if page.translation in one.outputs:
            while one.trigger_after is not None:
                one = page.demo.fns[one.trigger_after]
            begun.append({event for _, event in one.targets})
    assert sorted(begun, key=len) == [{"load"}, {"click"}, {"click", "submit"}], (
        "an address, Back, and the visitor"
    )
