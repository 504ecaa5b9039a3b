"""The table of sizes: what it counts is what PyTorch's own models have and compute."""

import json
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.pages import laid_out
from xformer.model import Config, EncoderStack, Transformer
from xformer.parts.architecture import part, sizes
from xformer.parts.architecture.sizes import BASE, Sizes
from xformer.results import UserError
from xformer.serve.protocol import NORMS
from xformer.strings import ASSETS, ENGLISH, SPANISH
from xformer.ui.page import open_at

PIECES = 12
# Vaswani et al. (2017), their "big"; "The Annotated Transformer" (three matrices,
# pre-norm); Canziani's classifier; Kak's TransformerFG, with sentences of 10 words. Its
# vocabulary here is the Spanish one; its English one has a table of its own, of 11,258
# words, but `Sizes` has one number for both.
PRESETS = {
    "base": BASE,
    "big": Sizes(6, 6, 1024, 16, 4096, 37_000, "post"),
    "annotated": Sizes(6, 6, 512, 8, 2048, 37_000, "pre", shared=False),
    "classifier": Sizes(1, 0, 32, 2, 128, 50_002, "post"),
    "first_generation": Sizes(4, 4, 256, 4, 512, 21_823, "post", shared=False),
}
SMALL = [
    Sizes(layers, decoder, width, heads, hidden, 90, norm)
    for norm in NORMS
    for layers, decoder, width, heads, hidden in ((2, 3, 32, 4, 64), (3, 1, 48, 2, 96))
]
each = pytest.mark.parametrize("small", SMALL, ids=str)


@pytest.fixture(scope="module")
def page(running):
    return laid_out(running)


def values_at(page, address):
    """What the controls hold where a page is opened, without a word."""
    said, updates = open_at(page, address)
    assert said == ""
    return {
        key: updates[control.component]["value"]
        for key, control in page.controls.items()
        if control.component in updates
        and isinstance(updates[control.component], dict)
        and "value" in updates[control.component]
    }


def built(small):
    return Transformer(
        Config(
            small.vocabulary,
            small.d_model,
            small.n_heads,
            small.encoder_layers,
            small.decoder_layers,
            small.d_ff,
            small.norm,
            dropout=0.0,
        )
    ).train()


def run(model, small):
    source, target = torch.randint(4, small.vocabulary, (2, 1, PIECES))
    return model(source, target), target


@each
def test_parameters_are_those_of_the_model(small):
    model = built(small)
    assert (
        sum(part.parameters for part in sizes.parts(small, PIECES))
        == model.parameter_count()
    )
    for tower in ("encoder", "decoder"):
        counted = sum(
            part.parameters
            for part in sizes.parts(small, PIECES)
            if part.stack == tower
        )
        assert counted == sum(
            parameter.numel() for parameter in getattr(model, tower).parameters()
        )


def test_an_encoder_alone_has_no_decoder():
    small = Sizes(2, 0, 32, 4, 64, 90, "pre")
    assert (
        sum(part.parameters for part in sizes.parts(small, PIECES))
        == EncoderStack(Config(90, 32, 4, 2, 0, 64)).parameter_count()
    )


def test_matrices_of_their_own_are_those_of_pytorch():
    d = 32
    v = 90
    own = Sizes(2, 2, 32, 4, 64, 90, "post", shared=False)
    layers = torch.nn.Transformer(d, 4, 2, 2, 64, batch_first=True)
    of_layers = sum(
        one.numel()
        for name, one in layers.named_parameters()
        if name
        not in (
            "encoder.norm.weight",
            "encoder.norm.bias",
            "decoder.norm.weight",
            "decoder.norm.bias",
        )
    )
    counted = sum(part.parameters for part in sizes.parts(own, PIECES))
    assert counted == of_layers + 2 * v * d + torch.nn.Linear(d, v).weight.numel() + v


@each
def test_products_are_half_of_the_operations_that_pytorch_counts(small):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run(built(small), small)
    assert counter.get_total_flops() == 2 * sum(
        part.products for part in sizes.parts(small, PIECES)
    )


def test_known_models_have_their_known_counts():
    base, big = (
        sum(part.parameters for part in sizes.parts(PRESETS[name], 20))
        for name in ("base", "big")
    )
    # the paper's table 3 says 65 and 213 million
    assert (round(base / 1e6), round(big / 1e6)) == (63, 214)
    first = PRESETS["first_generation"]
    assert sizes.mixing_all_positions(first, 10) == (124_583_936, 149_886_015)


def test_mixing_positions_is_compared_like_with_like():
    """Both without embeddings, both with the output matrix: of layers and output that
    PyTorch itself counts."""
    first = PRESETS["first_generation"]
    classifier = PRESETS["classifier"]
    layers = torch.nn.Transformer(256, 4, 4, 4, 512, batch_first=True)
    last = torch.nn.Linear(256, first.vocabulary)
    # two norms at the end
    own = (
        sum(one.numel() for module in (layers, last) for one in module.parameters())
        - 4 * 256
    )
    assert sizes.times_as_many(first, 10) == pytest.approx(
        (124_583_936 + 149_886_015) / own
    )
    assert (
        round(sizes.times_as_many(first, 10), 1) == 25.2
        and round(sizes.times_as_many(classifier, 20)) == 307
    )
    shared = sizes.times_as_many(replace(first, shared=True), 10)
    assert shared == sizes.times_as_many(first, 10), (
        "embeddings, shared or not, are in neither"
    )


def test_feed_forward_grows_with_the_width_once_and_attention_with_its_square():
    base = PRESETS["base"]
    narrow, wide = (
        {
            part.name: part.parameters
            for part in sizes.parts(replace(base, d_model=width), 20)
            if part.stack == "encoder"
        }
        for width in (512, 1024)
    )
    assert wide["self_attention"] / narrow["self_attention"] == pytest.approx(
        4, rel=1e-2
    )
    assert wide["feed_forward"] / narrow["feed_forward"] == pytest.approx(2, rel=1e-2)
    assert "d_model times d_ff" in ENGLISH.say(
        "sizes_look"
    ) and "d_model por d_ff" in SPANISH.say("sizes_look")


def test_a_head_that_mixes_positions_has_the_weights_of_the_lectures_code():
    words = 3
    small = Sizes(1, 1, 8, 2, 16, 11, "post")
    head = [torch.nn.Linear(words * 4, words * 4) for _ in range(3)]
    feed = (
        torch.nn.Linear(words * 8, words * 16),
        torch.nn.Linear(words * 16, words * 8),
    )

    def count(modules):
        return sum(one.numel() for module in modules for one in module.parameters())

    norm = 2 * 8
    attention = 2 * count(head)
    assert sizes.mixing_all_positions(small, words) == (
        attention + count(feed) + 2 * norm,
        2 * attention + count(feed) + 3 * norm + count([torch.nn.Linear(8, 11)]),
    )


def given(known, pieces=20):
    """What the controls hold of sizes."""
    return {
        **{key: getattr(known, field) for key, (field, _, _) in part.NUMBERS.items()},
        "size_norm": known.norm,
        "size_shared": known.shared,
        "size_pieces": pieces,
    }


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"size_width": 33}, "an even number"),
        ({"size_heads": 7}, "which 7 heads cannot share equally"),
        (
            {"size_encoder": 0},
            "“Layers of the encoder” is 0; choose a whole number from 1 to 200.",
        ),
        ({"size_pieces": 0}, "“Pieces of the sentence, and of its translation” is 0;"),
        ({"size_vocabulary": None}, "“Pieces in the vocabulary” is ;"),
    ],
)
def test_sizes_that_no_model_has_are_refused_in_a_sentence(running, changed, said):
    with pytest.raises(UserError) as refused:
        part.count(running, ENGLISH, **{**given(BASE), **changed})
    assert said in str(refused.value)


def test_the_table_is_of_the_loaded_model_until_a_size_changes(running):
    own = sizes.of_model(running.info, running.blocks())
    assert (
        f"{running.info.parameters:,}"
        in part.count(running, ENGLISH, **given(own))["table"]
    )
    assert (
        f"{running.info.parameters:,}"
        not in part.count(running, ENGLISH, **given(replace(own, d_ff=7)))["table"]
    )


@pytest.mark.parametrize("known", [*PRESETS])
def test_the_sizes_of_lectures_are_counted(running, known):
    drawn = part.count(running, ENGLISH, **given(PRESETS[known], 10))
    if known == "first_generation":
        assert (
            "124,583,936" in drawn["said"]
            and "149,886,015" in drawn["said"]
            and "25.2 times" in drawn["said"]
        )
    assert ("11,258 words" in drawn["said"]) == (
        known in ("annotated", "first_generation")
    )


def test_a_lecture_opens_the_table_with_the_sizes_that_it_names(page):
    """Kak's and The Annotated Transformer's, by the address; an old one too, from when
    the table had its own part."""
    slides = [
        slide
        for lecture in json.loads(
            (ASSETS / "lectures.json").read_text(encoding="utf-8")
        )["lectures"]
        for slide in lecture["slides"]
        if slide.get("at") == "blocks" and "size_width" in slide["see"]
    ]
    opened = [values_at(page, slide["see"]) for slide in slides]
    assert [{key: one[key] for key in given(BASE)} for one in opened] == [
        given(PRESETS["first_generation"], 10),
        given(PRESETS["annotated"]),
    ]
    old = values_at(
        page,
        {"tab": "model", "model_part": "sizes", "size_width": "64", "size_batch": "32"},
    )
    assert (old["model_part"], old["size_width"]) == ("architecture", 64)


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_two_recurrent_models_stand_side_by_side_and_their_difference_is_said(
    generations, language
):
    drawn = part.draw_both(generations, language)["seq2seq"]
    assert drawn.count("<figure") == 2 and "data-stack" not in drawn
    marked = [drawn.count(f'data-box="{one}"') for one in ("states_last", "additive")]
    assert marked == [1, 1] and drawn.count('data-box="states_each"') == 1
    with generations.lease("gru-attention") as service:
        cost = sum(b.parameters for b in service.blocks() if b.name == "attention")
    assert language.say("first_number", n=cost) in drawn
