"""The language model on the page: the numbers of its pictures, and what its listeners
answer."""

import json
import math
import re
from html import unescape
from types import SimpleNamespace

import gradio as gr
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
NOTHING = {"problem": gr.skip()}


@pytest.fixture
def ask(writer):
    return Ask.always(writer, ENGLISH)


@pytest.fixture(scope="module")
def draw(running, writer):
    """A function that answers as a listener does: by default, to a setting."""
    pictures = laid_out(running, writer=writer).pictures[part.ID]
    ask = Ask.always(writer, ENGLISH)
    first = {"shown": None, "lm_text": TEXT, "lm_place": 0, "lm_window": 0, **SAMPLING}

    def draw(**values):
        return ask.answer(pictures.stream, **{"made": {}, **first, **values})

    return draw


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


def test_a_piece_is_predicted_from_the_last_k_alone(writer, draw):
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
    made = {}
    shown = draw(action=part.read, made=made)["shown"]
    again = draw(made=made, shown=shown, lm_window=1)["picture"]
    narrow = writer.read(TEXT, window=1)
    assert [one[2] for one in again["pieces"]] == pytest.approx(
        narrow.log_probs, abs=1e-6
    )


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


def test_a_text_is_read_written_on_and_taken_back(draw):
    read = draw(action=part.read, lm_text="A dull", lm_place=2)
    assert (read["lm_text"], read["lm_place"], read["warned"]) == ("A dull", 0, "")

    def act(shown, **what):
        return draw(action=part.act, shown=shown, event=event(**what))

    assert act(None, what="more") == NOTHING, "there is nothing yet"
    more = act(act(read["shown"], what="more")["shown"], what="more")
    first, long = read["shown"][0], more["shown"][0]
    assert (
        more["lm_text"].startswith("A dull f")
        and len(long.tokens) == len(first.tokens) + 2
    )
    back = act(more["shown"], what="back")
    text = back["shown"][0]
    assert text.tokens == long.tokens[:-1]
    rival = text.likeliest[1][2]
    taken = act(back["shown"], what="take", place=2, token=rival.token)
    assert taken["shown"][0].tokens == (text.tokens[0], rival.token)
    assert taken["picture"]["pieces"][1][2] == pytest.approx(rival.log_prob, abs=1e-5)


def test_the_piece_that_is_clicked_is_taken_whatever_is_listed_by_now(writer, draw):
    listed = writer.read(TEXT, window=1).likeliest
    shown = draw(action=part.read)["shown"]
    place, token = next(
        (place, one.token)
        for place, (before, now) in enumerate(
            zip(listed, shown[0].likeliest, strict=True), 1
        )
        for one, other in zip(before, now, strict=True)
        if one.token != other.token
    )
    take = event(what="take", place=place, token=token)
    taken = draw(action=part.act, shown=shown, event=take)
    assert taken["shown"][0].tokens[place - 1] == token


def test_other_settings_change_the_chances_alone(draw):
    made = {}
    read = draw(action=part.read, made=made)
    warm = {"made": made, "shown": read["shown"], "lm_place": 2, "lm_temperature": 2}
    warmer = draw(**warm)
    assert warmer.keys() == {"problem", "picture", "warned"}
    assert warmer["picture"]["pieces"] == read["picture"]["pieces"]
    assert warmer["picture"]["place"] == 2
    assert read["picture"]["chances"][0] == 1 and read["picture"]["choices"] == 1
    assert warmer["picture"]["chances"][0] < 1 and warmer["picture"]["choices"] > 1
    assert draw(**warm) == NOTHING, "it is there"
    again = draw(action=part.read, **warm)["picture"]
    assert again["chances"] == warmer["picture"]["chances"]


def test_a_text_has_the_chances_of_settings_that_changed_while_it_was_written(draw):
    more = {"action": part.act, "event": event(what="more")}
    made = {}
    read = draw(action=part.read, lm_text="A dull", made=made)
    written = draw(**more, shown=read["shown"], made=made)
    assert written["picture"]["choices"] == 1, "of the settings when it was asked for"
    now = draw(shown=written["shown"], lm_temperature=2, made=made)["picture"]
    assert now["text"] == written["lm_text"] and now["choices"] > 1


def test_what_was_refused_stays_said_when_its_listeners_look_again(draw):
    made = {}
    read = draw(action=part.read, made=made)
    refused = draw(action=part.read, lm_text="boring " * 60, made=made)
    assert refused["problem"] and refused["shown"] is None
    assert draw(shown=refused["shown"], made=made) == NOTHING
    assert draw(shown=read["shown"], made=made)["picture"], "what was cleared is drawn"


def test_the_text_of_an_address_is_read_at_its_place_and_only_once(draw):
    made = {}
    opened = draw(action=part.read_first, made=made, lm_place=3)
    assert opened["lm_place"] == opened["picture"]["place"] == 3
    there = {"action": part.read_first, "made": made, "shown": opened["shown"]}
    assert draw(**there, lm_place=3) == NOTHING
    assert draw(**there, lm_place=2)["picture"]["place"] == 2
    # set while another tab was open
    assert draw(**there, lm_temperature=2)["picture"]["choices"] > 1
    beyond = draw(action=part.read_first, lm_text="A", lm_place=90)
    assert beyond["lm_place"] == 0


def test_what_cannot_be_read_is_said(ask, draw):
    long = draw(action=part.read, lm_text="boring " * 60)
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
def test_settings_that_are_none_are_one_sentence(draw, change, said):
    made = {}
    read = draw(action=part.read, made=made)
    there = {"made": made, "shown": read["shown"]}
    for action in (None, part.read):
        answer = draw(action=action, **there, **change)
        assert said in unescape(answer["problem"]) and answer["picture"] is None
        back = draw(**there)
        assert back["picture"] == read["picture"] and back["warned"] == ""


def test_a_temperature_near_zero_takes_the_likeliest(draw):
    shown = draw(action=part.read, lm_place=math.nan, lm_temperature=1e-300)["shown"][0]
    assert shown.chances[0] == 1 and sum(shown.chances) == 1


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"what": None},
        {"what": {}},
        {"what": "take"},
        {"what": "take", "place": math.nan, "token": 9},
        {"what": "take", "place": {}, "token": 9},
        {"what": "take", "place": 1, "token": None},
        {"what": "take", "place": math.inf, "token": 9},
    ],
)
def test_events_that_no_script_sends_are_one_sentence(writer, draw, sent):
    shown = (writer.read(TEXT), {})
    answer = draw(action=part.act, shown=shown, event=event(**sent))
    assert "which is not valid; reload the page." in unescape(answer["problem"])
    for place in (None, {}, math.nan):
        with pytest.raises(UserError, match="reload the page"):
            part.look(None, ENGLISH, event=event(place=place))
