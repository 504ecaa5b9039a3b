"""The language model on the page: the numbers of its pictures, and what its listeners
answer."""

import json
import math
import re
from html import unescape
from types import SimpleNamespace

import pytest

from tests.pages import laid_out
from xformer.parts.writing import draw as figures
from xformer.parts.writing import part
from xformer.results import UserError
from xformer.serve.writer import next_scores
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

TEXT = "A dull film, long and boring."
SAMPLING = {"lm_temperature": 0, "lm_top_k": 0, "lm_top_p": 1, "lm_seed": 1}


@pytest.fixture
def ask(writer):
    return Ask.always(writer, ENGLISH)


def event(**values):
    return SimpleNamespace(**values)


def test_a_picture_has_the_numbers_of_its_text(writer):
    text = writer.read(TEXT)
    drawn = figures.payload(text, 3)
    assert [one[2] for one in drawn["pieces"]] == pytest.approx(
        text.log_probs, abs=1e-6
    )
    assert drawn["place"] == 3 and figures.payload(text)["place"] == len(
        text.pieces
    ) + 1 == len(drawn["places"])
    for place, (rank, token) in enumerate(
        zip(drawn["ranks"], text.tokens, strict=True)
    ):
        listed = [one.token for one in text.likeliest[place]]
        assert rank == (listed.index(token) + 1 if token in listed else 0)
        assert drawn["places"][place]["unsure"] == pytest.approx(
            math.exp(text.entropies[place]), abs=0.01
        )
    assert drawn["perplexity"] == pytest.approx(
        math.exp(-text.total / len(text.tokens)), abs=1e-3
    )
    json.dumps(drawn)


def test_a_piece_is_predicted_from_the_last_k_alone(writer, ask):
    text = writer.read(TEXT)
    count = len(text.tokens)
    assert count > 4
    for window in (1, 3):
        found = writer.read(TEXT, window=window)
        for end in range(count):
            before = text.tokens[max(0, end - window) : end]
            alone = next_scores(writer.model, before)[-1, text.tokens[end]]
            assert found.log_probs[end] == pytest.approx(float(alone), abs=1e-4)
    assert writer.read(TEXT, window=count).log_probs == pytest.approx(text.log_probs)
    written = writer.write(text, window=2)
    alone = writer.write(writer.choose(text, count), window=count)
    assert written.tokens[:count] == alone.tokens[:count] == text.tokens
    # the slider draws the text again
    again = ask.answer(
        part.again, shown=text, lm_text=TEXT, lm_place=0, lm_window=1, **SAMPLING
    )
    assert again["shown"].log_probs == writer.read(TEXT, window=1).log_probs


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_two_texts_are_compared_by_their_log_probabilities(writer, language):
    texts = [
        writer.read(text, whole=True)
        for text in (TEXT, "A film dull, boring and long.")
    ]
    html = figures.likelier(texts, language)
    gain = texts[0].total - texts[1].total
    assert (
        gain > 1
        and language.html(
            "lm_likelier",
            name="A",
            times=figures.times(gain, language),
            nats=f"{gain:.2f}",
        )
        in html
    )
    table = json.loads(unescape(re.search(r'data-table="(.*?)"', html)[1]))
    values = {
        name: [row[2] for row in table["rows"] if row[0] == name] for name in "AB"
    }
    assert [sum(values[name]) for name in "AB"] == pytest.approx(
        [text.total for text in texts], abs=1e-4
    )
    for *_, log_prob, bits in table["rows"]:
        assert bits == pytest.approx(-log_prob / math.log(2), abs=1e-3)
    assert language.html("lm_same") in figures.likelier([texts[0], texts[0]], language)


def test_what_is_typed_is_never_markup(writer):
    html = figures.likelier([writer.read("<b>film"), writer.read("film")])
    assert "<b>" not in html


def test_a_text_is_read_written_on_and_taken_back(ask):
    read = ask.answer(part.read, shown=None, lm_text="A dull", lm_place=2, **SAMPLING)
    assert (read["lm_text"], read["lm_place"], read["problem"]) == ("A dull", 0, "")

    def act(shown, **what):
        return ask.answer(
            part.act,
            shown=shown,
            lm_text="",
            lm_place=0,
            event=event(**what),
            **SAMPLING,
        )

    more = act(act(read["shown"], what="more")["shown"], what="more")
    assert (
        more["lm_text"].startswith("A dull f")
        and len(more["shown"].tokens) == len(read["shown"].tokens) + 2
    )
    back = act(more["shown"], what="back")
    assert back["shown"].tokens == more["shown"].tokens[:-1]
    rival = back["shown"].likeliest[1][2]
    taken = act(back["shown"], what="take", place=2, rank=2)
    assert taken["shown"].tokens == (back["shown"].tokens[0], rival.token)
    assert taken["picture"]["pieces"][1][2] == pytest.approx(rival.log_prob, abs=1e-5)


def test_other_settings_change_the_chances_alone(ask):
    shown = ask.answer(part.read, shown=None, lm_text=TEXT, lm_place=0, **SAMPLING)[
        "shown"
    ]
    warmer = ask.answer(
        part.again,
        shown=shown,
        lm_text=TEXT,
        lm_place=2,
        **{**SAMPLING, "lm_temperature": 2},
    )
    assert (
        warmer["shown"].log_probs == pytest.approx(shown.log_probs)
        and warmer["picture"]["place"] == 2
    )
    assert shown.chances[0] == 1 and shown.choices == 1
    assert warmer["shown"].chances[0] < 1 and warmer["shown"].choices > 1


def test_the_text_of_an_address_is_read_at_its_place_and_only_once(ask):
    opened = ask.answer(
        part.read_first, shown=None, lm_text=TEXT, lm_place=3, **SAMPLING
    )
    assert opened["lm_place"] == opened["picture"]["place"] == 3
    assert ask.answer(
        part.read_first, shown=opened["shown"], lm_text=TEXT, lm_place=3, **SAMPLING
    ) == {"problem": ""}
    beyond = ask.answer(
        part.read_first, shown=None, lm_text="A", lm_place=90, **SAMPLING
    )
    assert beyond["lm_place"] == 0


def test_what_cannot_be_read_is_said(ask):
    long = ask.answer(
        part.read, shown=None, lm_text="boring " * 60, lm_place=0, **SAMPLING
    )
    assert (
        "this language model reads at most 47" in long["problem"]
        and long["picture"] is None
    )
    assert (
        "type or paste a text"
        in ask.answer(part.compare, lm_a="film", lm_b=" ")["problem"]
    )


def test_without_a_language_model_the_part_says_what_to_do(running):
    for writer, said in (
        (None, "train language-model"),
        (UserError("It is broken."), "It is broken."),
    ):
        page = laid_out(running, writer=writer)
        assert "lm_text" not in page.controls
        assert any(
            said in str(getattr(block, "value", ""))
            for block in page.demo.blocks.values()
        )


def test_the_controls_are_in_the_address(running, writer):
    page = laid_out(running, writer=writer)
    values, problems = page.controls.read(
        running,
        {
            "review_part": "writer",
            "lm_text": TEXT,
            "lm_place": "2",
            "lm_temperature": "1.3",
            "lm_top_k": "5",
            "lm_seed": "9",
        },
    )
    assert not problems
    assert [
        values[key]
        for key in (
            "review_part",
            "lm_text",
            "lm_place",
            "lm_temperature",
            "lm_top_k",
            "lm_seed",
        )
    ] == ["writer", TEXT, 2, 1.3, 5, 9]
    for example in part.TEXTS:
        assert len(example) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"lm_temperature": math.nan},
            "temperature is nan; choose a number from 0 to 2",
        ),
        ({"lm_temperature": {}}, "temperature is {}"),
        ({"lm_top_k": math.nan}, "top_k is nan"),
        ({"lm_top_p": 1e-300}, "top_p is 1e-300; choose a number from 0.05 to 1"),
        ({"lm_seed": {}}, "seed is {}"),
        ({"lm_seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_are_none_are_one_sentence(ask, change, said):
    answer = ask.answer(
        part.read, shown=None, lm_text="This film", lm_place=0, **SAMPLING | change
    )
    assert said in unescape(answer["problem"])


def test_a_temperature_near_zero_takes_the_likeliest(ask):
    values = SAMPLING | {"lm_temperature": 1e-300}
    shown = ask.answer(
        part.read, shown=None, lm_text="This film", lm_place=math.nan, **values
    )["shown"]
    assert shown.chances[0] == 1 and sum(shown.chances) == 1


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"what": None},
        {"what": {}},
        {"what": "take"},
        {"what": "take", "place": math.nan, "rank": 1},
        {"what": "take", "place": {}, "rank": 1},
        {"what": "take", "place": 1, "rank": None},
        {"what": "take", "place": math.inf, "rank": 1},
    ],
)
def test_events_that_no_script_sends_are_one_sentence(ask, sent):
    shown = ask.answer(
        part.read, shown=None, lm_text="This film", lm_place=0, **SAMPLING
    )["shown"]
    answer = ask.answer(
        part.act,
        shown=shown,
        lm_text="",
        lm_place=0,
        event=SimpleNamespace(**sent),
        **SAMPLING,
    )
    assert "which is not valid; reload the page." in unescape(answer["problem"])
    for place in (None, {}, math.nan):
        with pytest.raises(UserError, match="reload the page"):
            part.look(None, ENGLISH, event=event(place=place))
