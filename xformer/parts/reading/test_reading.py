"""The maps of the classifier and the language model: whose they are, what is said of
them, and how far heads moved."""

import json
import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.pages import laid_out
from xformer.classifier import ClassifierConfig, LanguageModel, TransformerClassifier
from xformer.explain import maps
from xformer.hub import checkpoint
from xformer.parts.reading import draw as figures
from xformer.parts.reading import part
from xformer.results import Head, UserError
from xformer.serve.reviews import MOST_MAPPED, SentimentService
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask
from xformer.ui.reviews import EXAMPLES

TEXT = "A dull film, long and boring."
LOOK = {
    "tuned_open": True,
    "maps_of": "classifier",
    "maps_layer": 1,
    "maps_head": 1,
    "maps_show": "head",
    "maps_view": "heatmap",
    "maps_words": False,
    "maps_hide": False,
    "maps_weigh": False,
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, tiny_writer):
    """A classifier that began as `tiny_writer`, with the attention of its second layer
    changed."""
    loaded = checkpoint.load(tiny_writer, LanguageModel)
    model = TransformerClassifier(
        ClassifierConfig(**loaded.model.config.to_dict(), causal=True)
    )
    model.load_state_dict(loaded.model.state_dict(), strict=False)
    torch.manual_seed(3)
    with torch.no_grad():
        model.encoder.layers[1].self_attention.in_proj.weight += 0.3 * torch.randn(
            96, 32
        )
    folder = tmp_path_factory.mktemp("tuned") / "tuned"
    checkpoint.save(folder, model.eval(), loaded.tokenizer, {})
    return SentimentService.open(folder, "cpu")


def models(service, writer, **others):
    """What the part reads with, by whose it is."""
    return {
        "classifier": service,
        **({} if writer is None else {"writer": writer}),
        **others,
    }


@pytest.fixture(scope="module")
def pictures(running, reader, writer):
    """Those of a page with a language model, and of one without."""
    return {
        has: laid_out(running, reader, writer=writer if has else None).pictures[part.ID]
        for has in (True, False)
    }


@pytest.fixture
def asker(pictures):
    """Make the answers of a page that reads with some models, one after the other."""

    def asker(service, writer, others=None):
        made = {}
        ask = Ask.always(models(service, writer, **(others or {})), ENGLISH)
        return lambda action=part.run, **values: ask.answer(
            pictures[writer is not None].draw,
            made=made,
            action=action,
            **{"read": None, "review": "", "field": TEXT, **LOOK, **values},
        )

    return asker


@pytest.fixture
def answer(asker):
    return lambda service, writer, others=None, **look: asker(service, writer, others)(
        **look
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory, review_tokenizer):
    """A classifier of one layer of two heads that began as nothing, reads in both
    directions, and takes the maximum."""
    torch.manual_seed(5)
    model = TransformerClassifier(
        ClassifierConfig(
            vocab_size=len(review_tokenizer),
            d_model=32,
            n_heads=2,
            n_layers=1,
            d_ff=64,
            dropout=0.0,
            max_length=64,
            pooling="max",
            norm="post",
        )
    )
    folder = tmp_path_factory.mktemp("small") / "small"
    checkpoint.save(folder, model.eval(), review_tokenizer, {})
    return SentimentService.open(folder, "cpu")


def test_a_head_chosen_since_the_part_was_opened_stays(
    asker, tuned, writer, monkeypatch
):
    read = []
    trace = type(tuned).trace
    monkeypatch.setattr(
        type(tuned),
        "trace",
        lambda service, text: read.append(text) or trace(service, text),
    )
    ask = asker(tuned, writer)
    first = ask()
    assert first["read"] == TEXT
    assert ask(read=TEXT) == {"problem": ""}, "an opening that comes late"
    gone_back = ask(
        part.run_again, read=TEXT, review=TEXT, field="Another film.", maps_head=2
    )
    assert (
        gone_back["maps_head"] == 2
        and gone_back["picture"]["title"].endswith("head 2 of 4")
        and read == [TEXT]
    )


def test_the_review_of_the_tab_is_read(asker, tuned):
    ask = asker(tuned, None)
    assert ask(field=EXAMPLES[0], review="A dull film.")["read"] == "A dull film.", (
        "that of the address"
    )
    typed = ask(field="A fine film.", review="A dull film.")
    assert (
        typed["read"] == typed["review"] == "A fine film."
        and "dull" not in typed["picture"]["queries"]
    )
    assert ask(field=EXAMPLES[0])["review"] == ""


def test_a_review_is_read_when_the_part_is_opened_and_not_before(asker, tuned, writer):
    ask = asker(tuned, writer)
    ask()
    changed = ask(None, read=TEXT, field="Another film.", maps_words=True)
    assert (
        "dull" in changed["picture"]["queries"]
        and "Another" not in changed["picture"]["queries"]
    )


def test_a_pass_of_the_classifier_has_its_maps(reader):
    trace = reader.trace(TEXT)
    with torch.inference_mode():
        tokens = torch.tensor([[2, *reader.tokenizer.encode(TEXT), 3]])
        layer = reader.model.encoder.layers[0]
        x = layer.self_residual.norm(reader.model.embedding(tokens))
        weights = layer.self_attention
        wanted = torch.nn.functional.multi_head_attention_forward(
            x.transpose(0, 1),
            x.transpose(0, 1),
            x.transpose(0, 1),
            32,
            4,
            weights.in_proj.weight,
            weights.in_proj.bias,
            None,
            None,
            False,
            0.0,
            weights.out_proj.weight,
            weights.out_proj.bias,
            training=False,
            average_attn_weights=False,
        )[1]
    assert trace.encoder_self[0] == pytest.approx(wanted[0].numpy(), abs=1e-5)
    assert (
        trace.encoder_self.shape == (2, 4, *tokens.shape[1:] * 2)
        and not trace.decoder_self.size
    )
    with pytest.raises(UserError, match=f"maps are shown of at most {MOST_MAPPED}"):
        reader.trace("boring " * MOST_MAPPED)


def test_the_distance_of_two_maps_is_the_share_that_has_gone_elsewhere():
    first = np.array([[[1, 0, 0], [0.5, 0.5, 0]]])
    second = np.array([[[1, 0, 0], [0, 0.5, 0.5]]])
    assert maps.distance(first, second).tolist() == [0.25]
    assert maps.distance(first, first).tolist() == [0]
    drawn = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 4))
    other = np.random.default_rng(1).dirichlet(np.ones(5), (2, 3, 4))
    readable = [
        [
            sum(
                sum(max(0, p - q) for p, q in zip(a, b, strict=True))
                for a, b in zip(x, y, strict=True)
            )
            / 4
            for x, y in zip(one, two, strict=True)
        ]
        for one, two in zip(drawn, other, strict=True)
    ]
    assert maps.distance(drawn, other) == pytest.approx(np.array(readable))


def test_before_and_after_are_compared_head_by_head(answer, tuned, writer):
    found = answer(tuned, writer, maps_layer=2, maps_head=3)
    before = writer.trace(TEXT).encoder_self
    after = tuned.trace(TEXT).encoder_self
    wanted = 0.5 * np.abs(before - after).sum(-1).mean(-1)
    table = json.loads(
        unescape(re.search(r'data-table="(.*?)"', found["distances"])[1])
    )
    assert [row[2] for row in table["rows"]] == pytest.approx(
        wanted.ravel().tolist(), abs=1e-5
    )
    assert wanted[0] == pytest.approx(np.zeros(4), abs=1e-5), (
        "the first layer is as it was"
    )
    assert (
        wanted[1].min() > 0.01
        and f"layer 2, head 3: distance {wanted[1, 2]:.2f}" in found["distances"]
    )
    assert all(json.loads(found[name]["figure"])["data"] for name in part.PLOTS)


def test_the_difference_is_by_words_and_the_second_minus_the_first(tuned, writer):
    traces = writer.trace(TEXT), tuned.trace(TEXT)
    plots = figures.before_after(*traces, Head("encoder_self", 2, 1))
    one, other, apart = (np.array(plot.data[0].z) for plot in plots)
    assert one.sum(axis=1) == pytest.approx(1) and apart == pytest.approx(other - one)
    labels = plots[0].layout.xaxis.ticktext
    # <s>, six words, two marks, </s>
    assert len(labels) == len(one) == 10 and "dull" in labels


def test_models_that_differ_are_not_compared(answer, reader, writer, tmp_path):
    other = SimpleNamespace(
        info=writer.info,
        trace=lambda text: replace(
            writer.trace(text),
            encoder_self=np.ones((1, 1, 3, 3), np.float32),
            source=("<s>", "x", "</s>"),
        ),
    )
    found = answer(reader, other)
    assert (
        "different shapes or vocabularies" in found["distances"]
        and found["difference"] is None
    )
    assert (
        "distances" not in answer(reader, None)
        and answer(reader, None)["picture"]["queries"][0] == "<s>"
    )


def test_the_picture_names_its_model_and_its_mask(answer, reader, writer):
    full = answer(reader, writer)
    assert (
        full["picture"]["title"]
        == "Classifier, self-attention · layer 1 of 2 · head 1 of 4"
    )
    assert full["grid"]["sides"] == ["", ""] and "Full on both sides" in full["rules"]
    causal = answer(reader, writer, maps_of="writer", maps_head=2)
    assert (
        causal["picture"]["title"]
        == "Language model, self-attention · layer 1 of 2 · head 2 of 4"
    )
    assert (
        "Empty above the diagonal" in causal["rules"]
        and writer.info.identity in causal["picture"]["checkpoint"]
    )
    assert (
        reader.info.pooling == "attention"
        and not reader.info.causal
        and writer.info.causal
    )
    for info, said in (
        (reader.info, "reads in both directions"),
        (replace(reader.info, causal=True), "began as a language model"),
    ):
        assert said in figures.about(info, info)


def test_the_maps_of_the_other_classifier_are_shown_and_it_has_nothing_to_compare(
    asker, tuned, writer, small
):
    ask = asker(tuned, writer, {"small": small})
    found = ask(maps_of="small", maps_layer=2, maps_head=4)
    assert (
        found["picture"]["title"]
        == "Classifier, self-attention · layer 1 of 1 · head 2 of 2"
    )
    assert (found["maps_layer"], found["maps_head"]) == (
        1,
        2,
    ) and small.info.identity in found["picture"]["checkpoint"]
    assert (
        "reads in both directions" in found["about"]
        and f'data-identity="{small.info.identity}"' in found["about"]
    )
    assert (
        "small was trained from nothing" in found["distances"]
        and found["difference"] is None
    )
    back = ask(None, read=found["read"], maps_of="writer")
    assert (
        "data-table" in back["distances"]
        and f'data-identity="{writer.info.identity}"' in back["about"]
    )


def test_the_classifier_that_is_chosen_in_another_part_is_shown_when_this_one_is_opened(
    tuned, writer, small
):
    ask = Ask.always(models(tuned, writer, small=small), ENGLISH)
    for name, of in (("small", "small"), (tuned.info.name, "classifier")):
        assert ask.answer(part.take, name=name) == {
            "problem": "",
            "read": None,
            "maps_of": of,
        }


def test_a_head_of_the_grid_is_shown_and_a_head_that_is_not_there_is_not(
    asker, answer, reader
):
    chosen = asker(reader, None)(
        part.choose,
        read=TEXT,
        event=SimpleNamespace(layer=2, head=3, add=False),
        maps_show="mean",
    )
    assert (chosen["maps_layer"], chosen["maps_head"], chosen["maps_show"]) == (
        2,
        3,
        "head",
    )
    assert answer(reader, None, maps_layer=99, maps_head=99)["maps_layer"] == 2
    for show in ("mean", "max", "rollout"):
        assert (
            answer(
                reader,
                None,
                maps_show=show,
                maps_words=True,
                maps_hide=True,
                maps_weigh=True,
            )["problem"]
            == ""
        )


def test_what_cannot_be_read_is_said(answer, reader, writer):
    found = answer(reader, writer, field="boring " * 200)
    assert (
        f"maps are shown of at most {MOST_MAPPED}" in found["problem"]
        and found["picture"] is None
    )


def test_the_controls_are_in_the_address(running, reader, writer, small):
    page = laid_out(running, reader, writer=writer)
    wanted = {
        "review_part": "maps",
        "maps_of": "writer",
        "maps_layer": "2",
        "review": "A film.",
        "maps_words": "1",
    }
    values, problems = page.controls.read(running, wanted)
    assert (
        not problems
        and values["maps_of"] == "writer"
        and values["maps_layer"] == 2
        and values["maps_words"]
    )
    assert laid_out(running, reader).controls.read(running, {"maps_of": "writer"})[1], (
        "there is no language model"
    )
    made = laid_out(running, reader, writer=writer, other_reviews={"small": small})
    assert made.controls.read(running, {"maps_of": "small"}) == (
        {**made.controls.read(running, {})[0], "maps_of": "small"},
        [],
    )
    labels = [label for label, _ in made.controls["maps_of"].component.choices]
    assert labels == ["Classifier", "Language model", "Classifier: small"]
