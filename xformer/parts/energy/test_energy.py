"""The energy of translations: −ln P recomputed by a plain forward pass, the landscape,
the search, what an autoencoder gives back, and attention between vectors of several
widths."""

import html
import json
import math
import re

import numpy as np
import pytest
import torch

from tests.pages import shown
from xformer.explain import autoencoders
from xformer.parts.energy import ask, part, widths
from xformer.parts.energy import draw as figures
from xformer.parts.energy import given_back as draw_back
from xformer.parts.energy.draw import Measured
from xformer.pieces import BOS, EOS
from xformer.results import (
    BeamTree,
    Branch,
    Energies,
    Energy,
    EnergySource,
    GiveBack,
    GrowTree,
    MeasureEnergies,
    Options,
    UserError,
)
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import REFUSAL

SENTENCE = "The cat sleeps."
OWN = "El gato come."


@pytest.fixture(scope="module")
def grown(running):
    return running.ask(GrowTree(SENTENCE, Options(beam=3, n_best=3)))


def measure(service, grown, own):
    targets = part.targets_of(grown, own)
    energies = part.measure(service, grown.translation, targets)
    return part.gather(grown, own, targets, energies)


@pytest.fixture(scope="module")
def measured(running, grown):
    return measure(running, grown, OWN)


def by_hand(service, source, tokens):
    """−ln P of each piece, by one plain pass for this target alone, float64."""
    model = service.model
    with torch.inference_mode():
        logits = model(
            torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *tokens]])
        ).double()[0]
    shares = torch.exp(logits) / torch.exp(logits).sum(dim=1, keepdim=True)
    return [
        -math.log(shares[i, piece].item()) for i, piece in enumerate([*tokens, EOS])
    ]


def without_end(tokens):
    return [token for token in tokens if token != EOS]


@pytest.mark.parametrize("name", ["tiny-en-es", "gru", "gru-attention"])
def test_the_energy_is_what_a_plain_pass_gives_for_each_target_alone(models, name):
    """All are measured in one batch, the shorter ones filled up."""
    with models.lease(name) as service:
        found = service.translate(SENTENCE, Options(beam=3, n_best=3))
        own, _ = service.typed(OWN)
        targets = [*(one.tokens for one in found.n_best), OWN, []]
        measured = service.ask(MeasureEnergies(found, targets))
        tokens = [*(without_end(one.tokens) for one in found.n_best), own, []]
        assert len({len(one.parts) for one in measured.targets}) > 1
        for one, wanted in zip(measured.targets, tokens, strict=True):
            parts = by_hand(service, found.source_tokens, wanted)
            assert one.parts == pytest.approx(parts, abs=1e-4)
            assert one.total == pytest.approx(sum(parts), abs=1e-4)
            assert one.mean == pytest.approx(sum(parts) / len(parts), abs=1e-4)


def test_a_hypothesis_costs_what_the_search_says(running, grown, measured):
    for one, energy in zip(
        grown.translation.n_best, measured.energies.targets, strict=False
    ):
        if one.finished:
            assert energy.total == pytest.approx(-sum(one.log_probs), abs=1e-4)
            assert energy.text == one.text


def test_a_target_that_is_asked_for_later_is_measured_as_among_all(
    running, grown, measured
):
    targets = part.targets_of(grown, OWN)
    few = [OWN, targets[-1]]
    energies = part.measure(running, grown.translation, few)
    assert [*energies] == few
    for target, of_all in ((OWN, measured.beam), (targets[-1], -1)):
        _, one = energies[target]
        assert one.total == pytest.approx(measured.energies.targets[of_all].total)


def test_the_states_of_the_figure_are_those_of_a_trace(running, grown, measured):
    """Their mean length, from the layers of the model one by one."""
    model = running.model
    source = torch.tensor([[*grown.translation.source_tokens, EOS]])
    tokens = without_end(grown.translation.best.tokens)
    with torch.inference_mode():
        memory, mask = model.encode(source)
        states = model.decoder(
            model.embedding(torch.tensor([[BOS, *tokens]])),
            torch.ones(len(tokens) + 1, len(tokens) + 1).tril().bool(),
            model.decoder.memories(memory, mask),
        )
    for found, wanted in (
        (measured.energies.source.state, memory),
        (measured.energies.targets[0].state, states),
    ):
        assert found == pytest.approx(float(wanted[0].norm(dim=1).mean()), rel=1e-4)


def test_too_many_targets_are_refused_in_one_sentence(running):
    with pytest.raises(UserError) as refused:
        running.ask(MeasureEnergies(SENTENCE, ["El gato."] * 65))
    assert str(refused.value) == ENGLISH.say("energy_error_count", count=65, most=64)


def test_a_translation_that_is_too_long_is_refused_and_leaves_the_picture(
    running, made
):
    translation, trace = running.translate_and_trace(SENTENCE, Options(beam=2))
    pictures = made.pictures[part.ID]
    values = {"translation": translation, "trace": trace}
    answer = shown(pictures, running, **values, energy_own="gato " * 500)
    assert "pieces" in answer[REFUSAL] and answer[REFUSAL].count(".") == 1
    assert "view" not in answer


# The landscape


def test_each_word_is_left_out_and_neighbours_change_places():
    pieces = ["▁a", "b", "▁c", "."]
    assert figures.spoil([1, 2, 3, 4], pieces) == [
        (3, 4),
        (1, 2, 4),
        (1, 2, 3),
        (3, 1, 2, 4),
        (1, 2, 4, 3),
    ]
    assert figures.spoil([1], ["▁a"]) == []


def test_of_long_translations_few_are_spoiled():
    tokens = [*range(4, 404)]
    found = figures.spoil(tokens, ["▁a"] * 400)
    assert 0 < sum(len(one) + 1 for one in found) <= figures.PIECES
    many = figures.spoil(tokens[:40], ["▁a"] * 40)
    assert len(many) == figures.SPOILED
    assert many[0] == (*tokens[1:40],)


def test_the_landscape_has_beam_own_and_spoiled_at_their_distance(
    running, grown, measured
):
    shown_ = figures.payload(grown, measured, running.info, -1)
    kinds = [item["kind"] for item in shown_["items"]]
    assert kinds[:4] == ["beam"] * 3 + ["yours"] and set(kinds[4:]) == {"spoiled"}
    assert [item["z"] for item in shown_["items"][:4]] == [1, 2, 3, 0]
    least = shown_["items"][shown_["least"]]
    assert least["distance"] == 0 and shown_["chosen"] == shown_["least"]
    assert least["total"] == min(item["total"] for item in shown_["items"][:3])
    for item in shown_["items"]:
        assert sum(item["parts"]) == pytest.approx(item["total"], abs=1e-4)
        assert item["distance"] or item["text"] == least["text"]


def test_each_box_has_the_numbers_of_the_chosen_translation(running, grown, measured):
    shown_ = figures.payload(grown, measured, running.info, 3)
    own = measured.energies.targets[3]
    boxes = {**shown_["boxes"], **shown_["items"][3]["boxes"]}
    assert boxes["x"][1] == ENGLISH.say(
        "energy_pieces", count=len(measured.energies.source.pieces)
    )
    assert boxes["energy"][:2] == ["E(x, y)", f"{own.total:.2f} nats"]
    assert boxes["decoder"][2].startswith(f"{math.exp(-own.mean):.3f}")
    assert f"{len(own.pieces)} × {running.info.d_model}" in boxes["predictor"][1]
    assert boxes["z"][1] == ENGLISH.say("energy_z_yours")
    assert boxes["delay"][2] == f"<s> + {len(own.pieces) - 1}"


def test_a_recurrent_decoder_has_no_states_in_the_figure(models):
    with models.lease("gru") as service:
        grown = service.ask(GrowTree(SENTENCE, Options(beam=2, n_best=2)))
        found = measure(service, grown, "")
        shown_ = figures.payload(grown, found, service.info, -1)
    assert len(shown_["items"][0]["boxes"]["predictor"]) == 2
    assert {item["kind"] for item in shown_["items"]} == {"beam", "spoiled"}


# The search


def branch(step, total, fate):
    return Branch(None, step, 5, total, total, total, fate)


def test_the_search_finds_lower_energies_as_it_goes_on(grown):
    tree = BeamTree(
        grown.translation,
        (
            branch(0, -1.0, "kept"),
            branch(0, -2.0, "kept"),
            branch(0, -0.5, "dropped"),
            branch(1, -6.0, "ended"),
            branch(1, -2.5, "kept"),
            branch(2, -3.0, "ended"),
            branch(3, -4.0, "ended"),
        ),
        ("a",) * 7,
    )
    assert figures.falling(tree) == {
        "alive": [1.0, 2.5, None, None],
        "ended": [None, 6.0, 3.0, 3.0],
    }


def test_what_ends_lowest_in_a_search_is_the_lowest_of_the_beam(grown, measured):
    """The tree has what it thought of; the measure is one of whole translations."""
    ended = figures.falling(grown)["ended"][-1]
    least = measured.energies.targets[measured.least]
    assert ended == pytest.approx(least.total, abs=1e-4)


# What is said


def energies(*totals):
    return Energies(
        EnergySource(("▁a", "</s>"), 9, 1.0),
        tuple(
            Energy("b", ("▁b", "</s>"), (total - 0.25, 0.25), 1.0) for total in totals
        ),
    )


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
@pytest.mark.parametrize(
    ("totals", "key", "values"),
    [
        ((1.0, 2.0, 3.0), "energy_told_yours", {"apart": "2.00", "times": "7.39"}),
        ((1.0, 2.0, 0.5), "energy_told_lower", {"apart": "0.50", "times": "1.65"}),
        ((1.0, 2.0, 1.0), "energy_told_same", {}),
    ],
)
def test_the_visitors_own_is_compared_with_the_lowest(
    grown, language, totals, key, values
):
    own = totals[-1]
    said = figures.told(grown, Measured(energies(*totals), 2, True), language)
    more = {"value": f"{own:.2f}", "piece": "b", "worst": f"{own - 0.25:.2f}"}
    values = {
        name: value.replace("7.39", "7.4").replace("1.65", "1.6")
        for name, value in values.items()
    }
    assert said.startswith(language.say("energy_told", z=1, value="1.00"))
    assert said.endswith(language.say(key, **{**more, **values}))


def test_it_is_said_where_the_search_chose_another(grown):
    said = figures.told(grown, Measured(energies(2.0, 1.0), 2, False))
    assert ENGLISH.say("energy_told", z=2, value="1.00") in said
    assert ENGLISH.say("energy_told_other", alpha="1") in said


# The part


@pytest.fixture
def values(running):
    translation, trace = running.translate_and_trace(SENTENCE, Options(beam=2))
    return {"translation": translation, "trace": trace}


def test_the_part_draws_what_is_typed_and_looks_at_it(
    running, made, values, monkeypatch
):
    """Of the beam and what is typed it measures only what it has not measured."""
    asked = []
    answer = running.ask

    def ask_and_count(question, *args, **named):
        if isinstance(question, MeasureEnergies):
            asked.append(len(question.targets))
        return answer(question, *args, **named)

    monkeypatch.setattr(running, "ask", ask_and_count)
    pictures = made.pictures[part.ID]
    drawn = {}
    first = shown(pictures, running, made=drawn, **values)
    assert first["view"]["chosen"] == first["view"]["least"]
    assert all(item["kind"] != "yours" for item in first["view"]["items"])
    of_beam = asked.pop()
    second = shown(pictures, running, made=drawn, **values, energy_own=OWN)
    assert second["energy_item"] == part.BEAM.default + 1
    assert asked.pop() < of_beam
    assert second["view"]["items"][second["view"]["chosen"]]["kind"] == "yours"
    third = shown(pictures, running, made=drawn, **values, energy_own="", energy_item=6)
    assert third["energy_item"] == 0
    assert not asked


def test_pieces_that_the_model_does_not_know_are_said(running, made, values):
    drawn = shown(made.pictures[part.ID], running, **values, energy_own="El gato 漢.")
    assert "漢" in drawn["remarks"] and drawn["view"]["items"]


def test_a_sample_has_a_landscape_too(running, made):
    translation, trace = running.translate_and_trace(
        SENTENCE, Options(beam=1, temperature=1.0)
    )
    drawn = shown(made.pictures[part.ID], running, translation=translation, trace=trace)
    assert drawn["view"]["items"]


# Attention between vectors of several widths


def test_attention_is_what_its_definition_gives_number_by_number():
    found = widths.attention(5, 3, 7, 2, 4).matrices
    x_q, x_k, x_v = (found[name].tolist() for name in ("X_q", "X_k", "X_v"))

    def times(row, matrix):
        return [
            sum(one * matrix[i][j] for i, one in enumerate(row))
            for j in range(len(matrix[0]))
        ]

    for i, asks in enumerate(x_q):
        q = times(asks, found["W_q"].tolist())
        scores = [
            sum(
                a * b for a, b in zip(q, times(key, found["W_k"].tolist()), strict=True)
            )
            / math.sqrt(2)
            for key in x_k
        ]
        whole = sum(map(math.exp, scores))
        weights = [math.exp(score) / whole for score in scores]
        taken = [times(value, found["W_v"].tolist()) for value in x_v]
        answer = [
            sum(weight * value[j] for weight, value in zip(weights, taken, strict=True))
            for j in range(4)
        ]
        assert found["A"][i].tolist() == pytest.approx(weights)
        assert found["Y"][i].tolist() == pytest.approx(answer)


def test_each_width_changes_the_matrices_that_have_it_and_no_others():
    before = widths.attention(6, 4, 9, 3, 8).matrices
    for changed, names in (
        ((6, 4, 9, 3, 5), {"W_v", "V", "Y"}),
        ((6, 4, 9, 7, 8), {"W_q", "W_k", "Q", "K"}),
        ((6, 4, 2, 3, 8), {"X_v", "W_v"}),
    ):
        after = widths.attention(*changed).matrices
        assert {
            name for name in before if after[name].shape != before[name].shape
        } == names
        assert after["A"].shape == (widths.QUERIES, widths.KEYS)
    after = widths.attention(6, 4, 9, 3, 5).matrices
    assert np.array_equal(after["A"], before["A"]), "d″ changes no weight"


def test_the_sentence_on_widths_counts_what_is_learned(running):
    shown_ = widths.payload(widths.attention(6, 4, 9, 3, 8), running.info)
    assert 6 * 3 + 4 * 3 + 9 * 8 == 102 and "102 numbers" in shown_["told"]
    own = running.info.d_model // running.info.n_heads
    assert f"d′ = d″ = {own}" in shown_["told"]


# The autoencoder


def give_back(service, text="A wonderful film with great music.", **how):
    asked = {"other": "", "width": 128, **how}
    return service.ask(GiveBack(text, **asked))


@pytest.fixture(scope="module")
def given_back(running):
    return give_back(running, other="I did not like the ending.")


def test_what_comes_back_is_written_from_the_code_piece_by_piece(given_back):
    """By a plain pass over all positions, without marks of padding to care for."""
    kept = autoencoders.load(ask.FILE)
    model = kept.model
    pieces = kept.tokenizer.encode(given_back.text)
    with torch.inference_mode():
        tokens = torch.tensor([[BOS, *pieces, EOS]])
        states = model.encoder(model.embedding(tokens), None)[0]
        filled = torch.zeros(model.config.max_length, model.config.d_model)
        filled[: len(states)] = states
        code = torch.tanh(model.to_code.weight @ filled.flatten() + model.to_code.bias)
        assert given_back.code == pytest.approx(code.tolist(), abs=1e-4)
        for width, text in zip(given_back.widths, given_back.back, strict=True):
            narrow = code * (torch.arange(len(code)) < width)
            places = (model.from_code.weight @ narrow + model.from_code.bias).view(
                -1, model.config.d_model
            )
            written = [BOS]
            while written[-1] != EOS and len(written) < model.config.max_length:
                x = model.embedding(torch.tensor([written])) + places[: len(written)]
                mask = torch.ones(len(written), len(written)).tril().bool()
                logits = model.decoder(x, mask)[0, -1] @ model.embedding.weight.T
                written.append(int(logits.argmax()))
            assert kept.tokenizer.decode(written[1:]) == text


def test_the_sentence_of_the_page_comes_back_whole_out_of_128_numbers(given_back):
    assert given_back.widths == (8, 32, 128)
    assert given_back.back[-1] == given_back.text
    assert given_back.right[-1] == 1 > given_back.right[0]


def test_the_line_leads_from_one_text_to_the_other(running, given_back):
    other = give_back(running, "I did not like the ending.")
    shares = [share for share, _ in given_back.line]
    assert shares == pytest.approx([i / 6 for i in range(7)], abs=1e-4)
    assert given_back.line[0][1] == given_back.back[-1]
    assert given_back.line[-1][1] == other.back[-1] and not other.line


@pytest.mark.parametrize(
    ("how", "key", "values"),
    [
        ({"text": " "}, "autoencoder_error_empty", {}),
        (
            {"text": "good " * 40},
            "autoencoder_error_long",
            {"pieces": 40, "most": 14},
        ),
        ({"other": "bad " * 40}, "autoencoder_error_long", {"pieces": 40, "most": 14}),
        ({"text": "good 漢"}, "autoencoder_error_unknown", {"pieces": "漢"}),
        (
            {"width": 9},
            "autoencoder_error_width",
            {"width": 9, "widths": "8, 32, 128"},
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(running, how, key, values):
    with pytest.raises(UserError) as refused:
        give_back(running, **how)
    assert str(refused.value) == ENGLISH.say(key, **values)


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_what_came_back_is_drawn_with_its_measured_scores(given_back, language):
    drawn = draw_back.draw(given_back, 32, language)
    assert drawn.count('class="kept"') == 32 and drawn.count('class="cut"') == 96
    for name in ("exact_32", "pieces_32"):
        assert f"{100 * given_back.metrics[name]:.1f} %" in drawn
    table = json.loads(html.unescape(re.search('data-table="([^"]*)"', drawn)[1]))
    assert len(table["rows"]) == 3 + 7 + 128
    styled = [float(one) for one in re.findall(r'--value:([^"]+)"', drawn)]
    assert styled == pytest.approx(given_back.code, abs=1e-3), "a style has a hyphen"
    line = re.findall(r'<th scope="row">(\d+) %</th>', drawn)
    assert line == ["0", "17", "33", "50", "67", "83", "100"]


def test_a_wider_bottleneck_lets_more_through(given_back):
    found = given_back.metrics
    assert found["pieces_128"] > found["pieces_32"] > found["pieces_8"]
    assert found["exact_128"] > 0.7, "what the page calls to come back"


def test_the_part_puts_the_sentence_of_the_visitor_through(running, made):
    pictures = made.pictures[f"{part.ID}.autoencoder"]
    drawn = shown(pictures, running, autoencoder_open=True, bottleneck_text="Bad film!")
    assert '<p class="large" lang="en">bad film!</p>' in drawn["given_back_table"]
    refused = shown(
        pictures, running, autoencoder_open=True, bottleneck_text="good " * 40
    )
    assert refused == {
        REFUSAL: ENGLISH.say("autoencoder_error_long", pieces=40, most=14)
    }
