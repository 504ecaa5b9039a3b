"""Pictures say what they show: axes, labels and values read back from the figures."""

import base64
import math
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made import cells, trace_of_cats
from xformer.explain import maps
from xformer.figures import (
    changes,
    grid_payload,
    head_payload,
    heads_payload,
    labels,
    translation,
)
from xformer.figures.attention import SHOW, Choice, all_maps, picture, summary
from xformer.figures.layout import PALETTES
from xformer.figures.notice import notice
from xformer.results import STACKS, Bleu, Candidate, Head, Trace
from xformer.strings import ENGLISH, SPANISH


@pytest.fixture
def trace():
    return trace_of_cats()


def drawn(trace, choice, language=ENGLISH):
    """What the browser is sent, with the numbers read back from its bytes."""
    shown = picture(trace, choice, language)
    sent = head_payload.payload(shown, choice, "en-es 0123", language)
    values = np.frombuffer(base64.b64decode(sent["data"]), dtype="<f4").reshape(
        len(sent["queries"]), len(sent["keys"])
    )
    return sent, values


@pytest.mark.parametrize("stack", ["encoder_self", "decoder_self", "cross"])
@pytest.mark.parametrize(("layer", "head"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_a_picture_shows_the_numbers_of_its_head(trace, stack, layer, head):
    sent, values = drawn(trace, Choice(stack, layer, head))
    np.testing.assert_array_equal(values, getattr(trace, stack)[layer - 1, head - 1])
    assert (
        f"layer {layer} of 2 · head {head} of 2" in sent["title"]
        and sent["rules"] == ()
    )


@pytest.mark.parametrize(
    ("show", "stack", "made"),
    [
        ("head", "cross", 0),
        ("mean", "encoder_self", 0),
        ("rollout", "decoder_self", 0),
        ("rollout", "cross", 1),
    ],
)
def test_maps_at_hand_are_not_made_again(trace, monkeypatch, show, stack, made):
    """Only a rollout of the cross-attention needs other maps too: the encoder's."""
    choice = Choice(stack, 2, 1, show, weigh=True)
    at_hand = all_maps(trace, stack, weighed=True)
    weigh = maps.weigh
    calls = []
    monkeypatch.setattr(
        maps, "weigh", lambda *arrays: calls.append(arrays) or weigh(*arrays)
    )
    shown = picture(trace, choice, ENGLISH, at_hand)
    assert len(calls) == made
    np.testing.assert_array_equal(shown.values, picture(trace, choice).values)


def test_rows_say_what_was_given_and_what_is_predicted(trace):
    sent, _ = drawn(trace, Choice("cross"))
    assert sent["row_words"] == ((1,), (2,), (3,)), (
        "of <s> el gato </s>, counted from 0"
    )
    assert sent["queries"] == (
        "after <s> → predicts el",
        "after el → predicts gato",
        "after gato → predicts </s>",
    )
    assert (sent["asks"], sent["seen"]) == (
        "asks (decoder position)",
        "is looked at (English piece)",
    )
    assert sent["line"] == ("el", "gato", "</s>") and not sent["same"]


def test_a_head_that_aligns_the_piece_it_was_given_has_its_rows_named_by_it(trace):
    """As the shipped model's best head does; so have those of the decoder's
    self-attention, as their columns have."""
    given = {Head("cross", 1, 2)}
    own = picture(trace, Choice("cross", 1, 2), given=given)
    assert (
        own.queries == own.line == ("<s>", "el", "gato")
        and own.asks == "asks (Spanish piece given)"
    )
    assert own.row_words == ((0,), (1,), (2,))
    other = picture(trace, Choice("cross", 1, 1), given=given)
    assert (
        other.queries[1] == "after el → predicts gato"
        and other.asks == "asks (decoder position)"
    )
    np.testing.assert_array_equal(own.values, trace.cross[0, 1])
    predicted = picture(trace, Choice("cross", 1, 2, rows="predicted"), given=given)
    assert predicted.queries == other.queries
    both = Choice("cross", 1, 1, "mean", (Head("cross", 1, 1), Head("cross", 1, 2)))
    assert picture(trace, both, given=given).queries == other.queries, (
        "no more than half of them align what they got"
    )
    assert (
        picture(trace, both, given={*given, Head("cross", 1, 1)}).queries == own.queries
    )
    assert picture(trace, Choice("decoder_self")).queries == ("<s>", "el", "gato")
    assert (
        picture(trace, Choice("decoder_self", rows="predicted")).queries
        == other.queries
    )


def test_axes_say_whether_they_are_of_pieces_or_of_words(trace):
    shown = picture(trace, Choice("encoder_self", words=True), SPANISH)
    assert (shown.asks, shown.seen) == (
        "pregunta (palabra en inglés)",
        "es mirada (palabra en inglés)",
    )
    assert picture(trace, Choice("encoder_self")).seen == "is looked at (English piece)"


def test_equal_words_keep_their_own_columns(trace):
    sent, values = drawn(trace, Choice("encoder_self"))
    assert sent["keys"] == sent["line"] == ("the", "ca", "…t", "the", "</s>")
    assert values.shape == (5, 5) and sent["same"]


def test_every_text_of_the_drawing_is_in_both_languages(trace):
    for language in (ENGLISH, SPANISH):
        sent, _ = drawn(trace, Choice("decoder_self", 2, 1), language)
        assert set(sent["texts"]) == set(head_payload.TEXTS) and all(
            sent["texts"].values()
        )
    assert (
        sent["queries"][1] == "el"
        and "{query} mira a {list}" in sent["texts"]["looks_at"]
    )


def test_chosen_heads_are_joined_by_their_rule_and_named(trace):
    choice = Choice("cross", 1, 1, "mean", (Head("cross", 1, 2), Head("cross", 2, 1)))
    sent, values = drawn(trace, choice)
    np.testing.assert_allclose(
        values, (trace.cross[0, 1] + trace.cross[1, 0]) / 2, atol=1e-7
    )
    assert sent["rules"] == ("Mean over layer 1, head 2, layer 2, head 1.",)
    assert "mean of 2 chosen heads" in sent["title"]
    _, largest = drawn(trace, replace(choice, show="max"))
    either = np.maximum(trace.cross[0, 1], trace.cross[1, 0])
    np.testing.assert_allclose(
        largest, either / either.sum(axis=1, keepdims=True), rtol=1e-5
    )


def test_weighed_attention_is_attention_times_norms_and_says_so(trace):
    sent, values = drawn(trace, Choice("decoder_self", 2, 1, weigh=True))
    weighed = trace.decoder_self[1, 0] * trace.decoder_self_norms[1, 0]
    np.testing.assert_allclose(
        values, weighed / weighed.sum(axis=1, keepdims=True), rtol=1e-5
    )
    assert "Kobayashi" in sent["rules"][0]


@pytest.mark.parametrize("name", list(PALETTES))
def test_palettes_go_from_one_end_to_another_in_even_steps_of_lightness(trace, name):
    """What is larger is never drawn lighter in one place and darker in another, on
    paper that is white."""
    light = [
        1 - a + a * (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255
        for r, g, b, a in PALETTES[name]
    ]
    steps = np.diff(light)
    assert (steps > 0).all() or (steps < 0).all()
    assert drawn(trace, Choice(palette=name))[0]["palette"] == PALETTES[name]


def test_words_join_their_pieces_and_say_by_which_rule(trace):
    shown = picture(trace, Choice("encoder_self", 1, 1, words=True))
    assert shown.queries == shown.keys == ("the", "cat", "the", "</s>")
    whole = trace.encoder_self[0, 0]
    assert shown.values[1, 1] == pytest.approx(
        (whole[1, 1] + whole[1, 2] + whole[2, 1] + whole[2, 2]) / 2
    )
    np.testing.assert_allclose(shown.values.sum(axis=1), 1, atol=1e-6)
    assert shown.rules[-1].startswith(
        "Words: the columns of a word’s pieces are summed"
    )


def test_hidden_sinks_have_no_row_and_no_column_and_the_rest_is_renormalised(trace):
    whole = trace.cross[1, 0]
    shown = picture(trace, Choice("cross", 2, 1, hide=True))
    assert shown.keys == ("the", "ca", "…t", "the") and shown.line == ("el", "gato")
    np.testing.assert_allclose(
        shown.values,
        whole[:2, :4] / whole[:2, :4].sum(axis=1, keepdims=True),
        rtol=1e-5,
    )
    assert shown.sinks is None and "renormalised" in shown.rules[-1]
    assert shown.row_words == ((1,), (2,)) and shown.column_words == (
        (0,),
        (1,),
        (2,),
        (3,),
    )
    assert picture(trace, Choice("cross", 2, 1)).sinks == pytest.approx(
        float(whole[:, -1].mean())
    )
    nothing = replace(
        trace, source=("</s>",), encoder_self=np.ones((2, 2, 1, 1), np.float32)
    )
    assert picture(nothing, Choice("encoder_self", hide=True)).values.tolist() == [
        [0]
    ], "there is nothing else to show"


def random_trace(draw):
    """A trace of words of several pieces and sinks among them, whose maps hold zeros
    too, as after a mask."""
    word = st.lists(
        st.sampled_from(["▁ga", "to", "s", ".", "▁.", ",", "▁"]), max_size=6
    )
    source = (*draw(word), "</s>")
    given = ("<s>", *(target := draw(word)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def random_maps(queries, keys, mask):
        raw = rng.random((2, 2, queries, keys)) * (
            rng.random((2, 2, queries, keys)) < 0.6
        )
        raw[..., 0] += raw.sum(axis=-1) == 0
        raw *= mask
        raw[..., 0] += raw.sum(axis=-1) == 0
        return (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float32)

    s = len(source)
    t = len(given)
    return Trace(
        source,
        given,
        (*target, "</s>"),
        (-0.1,) * t,
        random_maps(s, s, 1),
        random_maps(t, t, np.tri(t)),
        random_maps(t, s, 1),
        *(0.1 + rng.random((2, 2, n)).astype(np.float32) for n in (s, t, s)),
        "",
        (),
    )


@settings(max_examples=200, deadline=None)
@given(
    st.composite(random_trace)(),
    st.sampled_from(STACKS),
    st.sampled_from(SHOW),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@pytest.mark.slow
def test_rows_sum_to_one_or_are_empty_as_the_rules_say(
    trace, stack, show, words, hide, weigh
):
    shown = picture(
        trace, Choice(stack, 2, 1, show, words=words, hide=hide, weigh=weigh)
    )
    sums = shown.values.sum(axis=1)
    empty = (shown.values == 0).all(axis=1)
    np.testing.assert_allclose(sums[~empty], 1, atol=1e-5)
    if not hide:
        assert not empty.any()
        return
    plain = picture(trace, Choice(stack, 2, 1, show, words=words, weigh=weigh))
    marks = ("<s>", "</s>", ".", "….", "▁.")
    kept = [i for i, key in enumerate(plain.keys) if key not in marks]
    rows = [i for i, word in enumerate(plain.line) if word not in marks] or [
        *range(len(plain.line))
    ]
    assert shown.queries == tuple(plain.queries[i] for i in rows)
    assert shown.keys == (tuple(plain.keys[i] for i in kept) or plain.keys)
    np.testing.assert_array_equal(empty, plain.values[rows][:, kept].sum(axis=1) < 1e-6)
    assert shown.rules[-1].endswith("a row with nothing left is empty.")
    said = summary(shown)
    for query, nothing in zip(shown.queries, empty, strict=True):
        assert (f"{query} looks at nothing that is shown." in said) >= nothing


def test_a_word_whose_first_piece_sees_sinks_only_is_whole(trace):
    """As of every decoder picture whose first word has several pieces: the first row
    can see <s> and nothing else."""
    given = ("<s>", "▁ga", "to")
    predicted = ("▁ga", "to", "</s>")
    own = np.broadcast_to(
        np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]], np.float32), (2, 2, 3, 3)
    )
    choice = Choice("decoder_self", 1, 1, words=True, hide=True, rows="predicted")
    shown = picture(
        replace(trace, target=given, predicted=predicted, decoder_self=own), choice
    )
    assert shown.queries == ("after <s> → predicts gato",) and shown.keys == ("gato",)
    np.testing.assert_allclose(shown.values, [[1]])
    pieces = picture(
        replace(trace, target=given, predicted=predicted, decoder_self=own),
        replace(choice, words=False),
        SPANISH,
    )
    assert (
        pieces.values[0] == 0
    ).all() and "tras <s> → predice ga no mira nada" in summary(pieces, SPANISH)
    assert pieces.rules[-1].endswith("una fila sin nada más queda vacía.")


def test_a_layer_is_its_mean_or_maximum_and_says_which(trace):
    mean = picture(trace, Choice("cross", 2, 1, show="mean"))
    np.testing.assert_allclose(mean.values, trace.cross[1].mean(axis=0), atol=1e-7)
    assert (
        mean.rules == ("Mean over the 2 heads of layer 2.",)
        and "mean of 2 heads" in mean.title
    )
    largest = trace.cross[1].max(axis=0)
    np.testing.assert_allclose(
        picture(trace, Choice("cross", 2, 1, show="max")).values,
        largest / largest.sum(axis=1, keepdims=True),
        rtol=1e-5,
    )


def test_rollout_names_its_source(trace):
    shown = picture(trace, Choice("encoder_self", 1, 1, show="rollout"))
    np.testing.assert_allclose(
        shown.values, maps.rollout(trace.encoder_self), atol=1e-6
    )
    assert "Abnar" in shown.rules[0] and "rollout through 2 layers" in shown.title


def test_the_summary_names_where_each_row_looks_most(trace):
    best = trace.cross[0, 1].argmax(axis=1)
    said = summary(picture(trace, Choice("cross", 1, 2)))
    columns = ["the", "ca", "…t", "the", "</s>"]
    for row, query in enumerate(
        ["after <s> → predicts el", "after el → predicts gato"]
    ):
        p = trace.cross[0, 1, row, best[row]]
        assert (
            f"{query} looks most at {columns[best[row]]} ({labels.percent(p)})" in said
        )


def test_text_that_looks_like_markup_stays_text_in_figures(trace):
    evil = replace(
        trace,
        source=("▁<b>", "</s>"),
        encoder_self=trace.encoder_self[..., :2, :2],
        cross=trace.cross[..., :2],
        cross_norms=trace.cross_norms[..., :2],
    )
    assert drawn(evil, Choice("cross"))[0]["keys"][0] == "<b>", (
        "text, which the browser escapes"
    )


def test_the_grid_holds_every_cell_of_every_head_as_a_byte(trace):
    sent = grid_payload.payload(trace.cross, Choice("cross", 2, 1))
    cells = np.frombuffer(base64.b64decode(sent["data"]), dtype=np.uint8).reshape(
        2, 2, 3, 5
    )
    np.testing.assert_array_equal(cells, np.round(trace.cross * 255))
    assert (sent["layers"], sent["heads"], sent["rows"], sent["columns"]) == (
        2,
        2,
        3,
        5,
    )
    assert "Shown: layer 2, head 1." in sent["description"] and sent["lit"] == ["2.1"]
    assert (sent["layer_label"], sent["head_label"]) == ("L", "H")
    spanish = grid_payload.payload(trace.cross, Choice("cross", 2, 1), SPANISH)
    assert (
        f"{spanish['layer_label']}: capa, {spanish['head_label']}: cabeza"
        in SPANISH.say("grid_hint")
    )
    assert (sent["sides"], sent["moved"]) == (
        ["es", "en"],
        ["1.1", "1.2", "2.1", "2.2"],
    )
    given = grid_payload.payload(
        trace.cross, Choice("cross", 2, 1), given={Head("cross", 1, 2)}
    )
    assert given["moved"] == ["1.1", "2.1", "2.2"], (
        "the others have a word one row higher than where it is given"
    )


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(
    "look", [{}, {"words": True}, {"hide": True, "words": True}, {"rows": "predicted"}]
)
def test_the_heads_to_choose_from_are_their_pictures(trace, stack, look):
    """Each under the labels of its own reading, two bytes a cell."""
    given = {Head("cross", 1, 2)}
    choice = Choice(stack, **look)
    sent = heads_payload.payload(
        all_maps(trace, stack, False), trace, choice, given=given
    )
    found = {}
    for reading in sent["readings"]:
        packed = np.frombuffer(base64.b64decode(reading["data"]), dtype="<u2")
        shape = len(reading["heads"]), len(reading["queries"]), len(reading["keys"])
        for name, levels in zip(reading["heads"], packed.reshape(shape), strict=True):
            found[name] = reading, levels / heads_payload.MOST
    assert len(found) == 4
    for head in Head.every(stack, 2, 2):
        own = replace(choice, layer=head.layer, head=head.head)
        wanted = picture(trace, own, given=given)
        packed = head_payload.payload(wanted, own, "")
        reading, values = found[f"{head.layer}.{head.head}"]
        np.testing.assert_allclose(values, wanted.values, atol=1 / heads_payload.MOST)
        assert {**packed, **reading, "data": packed["data"]} == packed | {
            "heads": reading["heads"]
        }
        title = sent["title"].format(layer=head.layer, head=head.head)
        assert (title, sent["rules"]) == (wanted.title, wanted.rules)


@pytest.mark.parametrize(
    ("stack", "show", "heads", "lit"),
    [
        ("cross", "head", (), ["2.1"]),
        ("cross", "mean", (), ["2.1", "2.2"]),
        ("cross", "max", ("1.2",), ["1.2"]),
        ("cross", "rollout", (), ["2.1", "2.2"]),
        ("encoder_self", "rollout", (), []),
    ],
)
def test_the_grid_marks_the_heads_of_the_picture_and_no_others(
    trace, stack, show, heads, lit
):
    choice = Choice(
        stack, 2, 1, show, tuple(Head.parse(f"{stack}.{name}") for name in heads)
    )
    sent = grid_payload.chosen(all_maps(trace, stack, False), choice)
    assert sent["lit"] == lit
    assert ("all of them" in sent["description"]) == (not lit)


def candidate(*pieces):
    steps = tuple(((piece, -0.5), ("▁rival", -1.5)) for piece in pieces)
    return Candidate(
        "text",
        -0.5,
        tuple(range(4, 4 + len(pieces))),
        pieces,
        (-0.5,) * len(pieces),
        steps,
        True,
    )


def test_every_piece_shows_its_probability_and_rivals():
    html = translation.translation(candidate("▁El", "▁ga", "to", "</s>"))
    assert html.count('class="piece') == 4
    assert f"--unsure:{1 - math.exp(-0.5):.3f}" in html
    assert f"<b>rival</b> {labels.percent(math.exp(-1.5))}" in html
    assert f"<b>…to</b> {labels.percent(math.exp(-0.5))}" in html
    assert "<li class=chosen><b>El</b>" in html


def test_pieces_of_a_word_stand_together_and_words_apart():
    html = translation.translation(candidate("▁El", "▁ga", "to"))
    assert html.count('</span> <span class="piece') == 1, "one space, before ga"


def test_bytes_stand_as_the_character_that_they_spell():
    html = translation.translation(candidate("▁Hola", "▁", "<0xC3>", "<0xB1>", "</s>"))
    assert html.count('class="piece') == 4 and "0x" not in html
    assert f"--unsure:{1 - math.exp(-1):.3f}" in html, (
        "as sure as of all bytes together"
    )
    assert (
        f'<span class="asked">…ñ {labels.percent(math.exp(-1))}' in html
        and f"<li class=chosen><b>byte C3</b> {labels.percent(math.exp(-0.5))}" in html
    )


def test_text_from_a_model_or_person_is_never_html():
    html = translation.translation(candidate("▁<script>", "▁&"))
    assert "<script>" not in html and "&lt;script&gt;" in html
    table = translation.n_best(
        [Candidate("<img src=x>", -1.0, (5,), ("▁x",), (-1.0,), ((),), True)]
    )
    assert "<img" not in table
    assert "<b>" not in notice(["<b>bold</b>"], "error")


def test_bleu_table_shows_matches_totals_and_brevity():
    html = translation.bleu(Bleu(0.0, 12.3, (2, 1, 0, 0), (3, 2, 1, 0), 0.717, 3, 4))
    assert "66.7 %" in html and "50.0 %" in html and "0.0 %" in html
    assert "Brevity penalty: 0.717" in html and "would be 12.3" in html
    short = translation.bleu(
        Bleu(100.0, 100.0, (3, 2, 1, 0), (3, 2, 1, 0), 1.0, 3, 3, orders=3)
    )
    assert "too few tokens for n-grams of 4; the mean is over n = 1 to 3" in short
    assert "too few" not in html, "of which nobody said that it lacks some"


@pytest.mark.parametrize(
    ("p", "shown"),
    [(1.0, "100 %"), (0.9999, "> 99.9 %"), (0.5, "50.0 %"), (0.0001, "< 0.1 %")],
)
def test_percentages_never_claim_certainty_and_no_line_ends_within_them(p, shown):
    assert labels.percent(p) == shown.replace(" ", "\u00a0")


@pytest.mark.parametrize(
    ("gain", "shown"),
    [(0, "1"), (1, "2.7"), (-1, "0.37"), (10, "22,000"), (30, "10¹³")],
)
def test_how_many_times_likelier_is_said_to_two_digits(gain, shown):
    assert labels.times(gain) == shown
    assert labels.times(gain, SPANISH) == shown.replace(",", SPANISH.thousands)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("▁gat", "gat"),
        ("o", "…o"),
        (".", "."),
        ("▁", "␣"),
        ("</s>", "</s>"),
        ("▁¿", "¿"),
        ("<0xD0>", "byte D0"),
        ("▁<0xD0><0xBA><0xD0><0xBE>", "ко"),
        ("<0xC3><0xB1>u", "…ñu"),
        ("▁<0xD0>", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_labels_tell_a_words_start_from_its_continuation(piece, shown):
    assert labels.shown(piece) == shown


def test_a_sentence_has_the_characters_that_its_bytes_spell():
    pieces = (
        "▁I",
        "▁like",
        "▁",
        "<0xD0>",
        "<0xBA>",
        "<0xD0>",
        "<0xBE>",
        "<0xD1>",
        "<0x82>",
        ".",
        "</s>",
    )
    assert labels.sentence(pieces) == "I like кот."
    assert labels.shown_all(pieces)[3] == "byte D0"


def test_changed_words_are_marked_and_escaped():
    html = changes.changed_words("El gato <b> negro", "El perro <b> negro hoy")
    assert html == "El <del>gato</del> <ins>perro</ins> &lt;b&gt; negro <ins>hoy</ins>"


def test_small_probabilities_of_pieces_are_told_apart():
    html = changes.piece_table(
        ["piece", "before", "after", "change"], ["▁gat", "ito"], [-8, -9], [-16, -32]
    )
    least = escape(labels.percent(0))
    assert [row[1:] for row in cells(html)[1:]] == [
        [f"−8.00 ({least})", f"−16.00 ({least})", "−8.00"],
        [f"−9.00 ({least})", f"−32.00 ({least})", "−23.00"],
    ]
