"""The architecture view: every parameter stands in one box, the order of the boxes is
the model's, and text is text."""

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from xformer.classifier import POOLINGS, ClassifierConfig, TransformerClassifier
from xformer.explain import passes
from xformer.figures.labels import percent
from xformer.model import NORMS
from xformer.parts.architecture import draw as architecture
from xformer.parts.architecture import source
from xformer.parts.architecture.part import heading_of
from xformer.results import Block, ModelInfo
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, PACKAGE, SPANISH

PARAMETERS = re.compile(r"([\d,]+) parameters(?! of| and|\.)")


class Boxes(HTMLParser):
    """Kinds of boxes in the order in which they are computed, and what the buttons
    open."""

    def __init__(self, html):
        super().__init__()
        self.kinds = []
        self.opens = []
        self.images = 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.images += tag == "img"
        for kind in ("norm", "attention", "feed", "plus"):
            if kind in (values.get("class") or "").split():
                self.kinds.append(kind)
        if "data-stack" in values:
            self.opens.append((values["data-stack"], int(values["data-layer"])))


def blocks_of(model):
    """As the service reports them, without a service around a random model."""
    service = object.__new__(Service)
    service.model = model
    return service.blocks()


def info_of(model, name="tiny"):
    config = model.config
    return ModelInfo(
        name,
        "0",
        model.parameter_count(),
        config.norm,
        config.n_layers,
        config.decoder_layers,
        config.n_heads,
        config.d_model,
        "cpu",
        "float32",
    )


def test_every_parameter_is_in_one_block(tiny_model):
    blocks = blocks_of(tiny_model)
    assert sum(block.parameters for block in blocks) == tiny_model.parameter_count()
    assert len({block.name for block in blocks}) == len(blocks)
    named = dict(tiny_model.named_parameters())
    for block in blocks:
        for weight, shape in block.weights:
            assert tuple(named.pop(f"{block.name}.{weight}").shape) == shape
    assert not named


def test_the_boxes_add_up_to_the_models_own_count(tiny_model):
    drawn = architecture.architecture(info_of(tiny_model), blocks_of(tiny_model), 7, 5)
    boxes = drawn.split('<div class="towers">')[1]
    shown = sum(int(number.replace(",", "")) for number in PARAMETERS.findall(boxes))
    assert shown == tiny_model.parameter_count()
    assert f"The boxes add up to {tiny_model.parameter_count():,} parameters." in drawn


def test_attention_blocks_open_their_stack_and_layer(tiny_model):
    found = Boxes(architecture.architecture(info_of(tiny_model), blocks_of(tiny_model)))
    assert found.opens == [
        ("encoder_self", 1),
        ("encoder_self", 2),
        ("decoder_self", 1),
        ("cross", 1),
        ("decoder_self", 2),
        ("cross", 2),
    ]


def test_boxes_stand_in_the_order_of_the_models_norm(tiny_model):
    kinds = Boxes(
        architecture.architecture(info_of(tiny_model), blocks_of(tiny_model))
    ).kinds
    if tiny_model.config.norm == "pre":
        assert kinds[:6] == ["norm", "attention", "plus", "norm", "feed", "plus"]
        # and one at the end of each tower
        assert kinds.count("norm") == 2 * 2 + 2 * 3 + 2
    else:
        assert kinds[:6] == ["attention", "plus", "norm", "feed", "plus", "norm"]
        assert kinds.count("norm") == 2 * 2 + 2 * 3


def test_one_layer_is_drawn_and_the_others_open_on_demand(tiny_model):
    drawn = architecture.architecture(info_of(tiny_model), blocks_of(tiny_model))
    shown = re.sub("<details.*?</details>", "", drawn, flags=re.DOTALL)
    assert [shown.count(f">Layer {number}</span>") for number in (1, 2)] == [2, 0]
    assert (
        shown.count("× 2</b>") == 2 and drawn.count("<summary>1 more of the same,") == 2
    )
    assert drawn.count(">Layer 2</span></h4>") == 2


def test_shapes_are_those_of_the_sentence(tiny_model):
    info = info_of(tiny_model)
    blocks = blocks_of(tiny_model)
    drawn = architecture.architecture(info, blocks, 7, 5)
    for shape in (
        "7 × 32",
        "5 × 32",
        "5 × 150",
        "maps 4 × 7 × 7",
        "maps 4 × 5 × 5",
        "maps 4 × 5 × 7",
        "in_proj.weight 96 × 32",
        "64 inside",
    ):
        assert shape in drawn
    for shape in ("S × 32", "T × 32", "maps 4 × T × S"):
        assert shape in architecture.architecture(info, blocks)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            ENGLISH,
            "Attention holds {} of the parameters, and the feed-forward networks {}; the encoder hands 7 × 32",
        ),
        (
            SPANISH,
            "La atención tiene el {} de los parámetros, y las redes prealimentadas el {}; el codificador pasa 7 × 32",
        ),
    ],
)
def test_what_holds_the_parameters_and_what_passes_is_one_sentence(
    tiny_model, language, said
):
    counts = {
        name: sum(
            weight.numel()
            for key, weight in tiny_model.named_parameters()
            if name in key
        )
        for name in ("attention", "feed_forward")
    }
    shares = [
        percent(count / tiny_model.parameter_count()) for count in counts.values()
    ]
    assert all(counts.values())
    drawn = architecture.architecture(
        info_of(tiny_model), blocks_of(tiny_model), 7, 5, language
    )
    assert said.format(*shares) in drawn


def test_every_block_that_computes_shows_its_lines(tiny_model):
    drawn = architecture.architecture(info_of(tiny_model), blocks_of(tiny_model))
    asked = set(re.findall('data-code="(.*?)"', drawn))
    assert asked == {
        "embedding",
        "positions",
        "norm",
        "attention",
        "feed_forward",
        "linear",
    }
    assert set(re.findall('data-of="(.*?)"', drawn)) == asked
    shown = unescape(drawn)
    for line in (
        "return self.outer(self.activation(self.inner(x)))",
        "scores(q, k, mask).softmax(dim=-1)",
    ):
        assert line in shown


@pytest.mark.parametrize("name", source.CODE)
def test_the_lines_of_a_block_are_those_of_the_file(name):
    for found in source.of_block(name):
        lines = (PACKAGE / found.file).read_text().splitlines()[found.first - 1 :]
        assert found.text.splitlines() == lines[: found.text.count("\n") + 1]
        assert lines[0].lstrip().startswith(("def ", "class "))


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
@pytest.mark.parametrize("own", NORMS)
def test_both_orders_stand_side_by_side_and_the_models_is_marked(own, language):
    drawn = architecture.orders(own, language)
    assert Boxes(drawn).kinds == [
        "attention",
        "plus",
        "norm",
        "norm",
        "attention",
        "plus",
    ]
    marked = drawn.index('class="own"')
    assert (marked < drawn.index("Pre-norm")) == (own == "post")


def test_what_comes_from_a_model_is_escaped(tiny_model):
    blocks = [
        Block(block.name, tuple((f"{name}", shape) for name, shape in block.weights))
        for block in blocks_of(tiny_model)
    ]
    odd = next(
        i for i, block in enumerate(blocks) if block.name.endswith("self_attention")
    )
    blocks[odd] = Block(blocks[odd].name, (('"><img src=x>', (2, 2)),))
    drawn = architecture.architecture(info_of(tiny_model), blocks)
    assert Boxes(drawn).images == 0 and "&lt;img src=x&gt;" in drawn


def rows():
    """What the table of teachers' words says, by what is here."""
    return {
        row["ours"] if isinstance(row["ours"], str) else row["ours"]["en"]: row
        for row in architecture.TEACHING["rows"]
    }


def test_teachers_words_keep_apart_what_is_apart():
    """A shift is what the decoder is given, a mask what it sees; a predictor has no
    feed-forward network."""
    shift, mask, layer = (
        rows()[name]
        for name in (
            "Pair.given: <s>, y₁, y₂, …",
            "future_mask, padding_mask",
            "DecoderLayer",
        )
    )
    assert "unit delay" in shift["canziani"]["en"] and "mask" not in " ".join(
        str(shift.get(name)) for name in architecture.TEACHERS
    )
    assert (
        "canziani" not in mask
        and mask["annotated"].startswith("subsequent_mask")
        and "mask" in mask["kak"]["en"]
    )
    assert "It is not the mask" in shift["apart"]["canziani"]["en"]
    assert layer["canziani"]["en"] == "predictor module, then decoder module"
    assert "A predictor is no DecoderLayer" in layer["apart"]["canziani"]["en"]
    assert rows()["self_attention, cross_attention"]["canziani"] == "predictor"
    norm = next(row for row in rows().values() if row.get("boxes") == ["norm"])
    assert norm["canziani"] == "Norm", (
        "nothing is added in a box of LayerNorm's weights"
    )
    frames = {
        frame["name"]: frame["of"]
        for frame in architecture.TEACHING["teachers"]["canziani"]["frames"]
        if frame.get("within")
    }
    assert frames == {
        "Predictor": ["decoder_self", "cross"],
        "Decoder": ["feed_forward"],
    }


def test_what_teachers_say_is_in_both_languages_and_of_boxes_and_code_that_are_there(
    tiny_model,
):
    def texts(value):
        if isinstance(value, dict) and {"en", "es"} & value.keys():
            assert value.keys() == {"en", "es"} and all(value.values())
        elif isinstance(value, (dict, list)):
            for one in value.values() if isinstance(value, dict) else value:
                texts(one)

    texts(architecture.TEACHING)
    drawn = architecture.architecture(info_of(tiny_model), blocks_of(tiny_model), 7, 5)
    boxes = set(re.findall('data-box="(.*?)"', drawn))
    if info_of(tiny_model).norm == "post":
        boxes.add("last_norm")  # which pre-norm alone has
    known = {"what", "ours", "code", "boxes", "apart", *architecture.TEACHERS}
    for row in architecture.TEACHING["rows"]:
        assert row.keys() <= known and {*row.get("apart", ())} <= {
            *architecture.TEACHERS
        }
        assert {*row.get("boxes", ())} <= boxes
        if "code" in row:  # the code that is shown beside it has what is named
            name = re.split(
                r"\W",
                row["ours"]["en"].replace("cross-", "cross_")
                if isinstance(row["ours"], dict)
                else row["ours"].split(".")[-1 if "Pair" not in row["ours"] else 0],
            )[0]
            assert name in "".join(
                lines.text for lines in source.of_block(row["code"])
            ), row["ours"]
    named = {
        box for row in architecture.TEACHING["rows"] for box in row.get("boxes", ())
    }
    assert boxes - named == {"pieces_encoder"}, "what all teachers are asked for"
    for teacher in architecture.TEACHING["teachers"].values():
        for frame in teacher["frames"]:
            assert {*frame["of"]} <= boxes | {"layers"} and frame[
                "side"
            ] in architecture.SUBLAYERS


@pytest.mark.parametrize("teacher", architecture.TEACHERS)
@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_teachers_words_and_all_code_come_with_the_figure(
    tiny_model, teacher, language
):
    drawn = architecture.architecture(
        info_of(tiny_model), blocks_of(tiny_model), 7, 5, language, teacher
    )
    [taught] = re.findall('<div class="towers" data-taught="(.*?)">', drawn)
    taught = json.loads(unescape(taught))
    assert [*taught["names"]] == [teacher, "own"] and taught[
        "language"
    ] == language.code
    assert taught["teacher"] == architecture.TEACHING["teachers"][teacher]
    assert {row["code"] for row in taught["rows"] if "code" in row} <= set(
        re.findall('data-of="(.*?)"', drawn)
    )
    everyone = json.loads(
        unescape(re.findall('data-taught="(.*?)"', architecture.taught(language))[0])
    )
    assert [*everyone["names"]] == [*architecture.TEACHERS, "own"] and everyone[
        "teacher"
    ] is None


def test_the_figure_of_the_paper_is_that_of_a_transformer():
    info = ModelInfo("m", "1", 9, "pre", 2, 2, 4, 32, "cpu", "float32")
    paper, recurrent = (
        architecture.heading(one) for one in (info, replace(info, architecture="gru"))
    )
    assert (
        "The figure of “Attention Is All You Need” for" in paper
        and "The recurrent translator" in recurrent
    )
    assert all("Click a block of attention" in said for said in (paper, recurrent))


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("causal", [True, False])
def test_a_classifier_is_an_encoder_with_a_top_of_its_own(pooling, causal):
    model = TransformerClassifier(
        ClassifierConfig(
            vocab_size=90,
            d_model=32,
            n_heads=4,
            n_layers=2,
            d_ff=64,
            pooling=pooling,
            causal=causal,
        )
    )
    info = replace(info_of(model), n_decoder_layers=0, causal=causal, pooling=pooling)
    blocks = passes.blocks(model)
    drawn = architecture.classifier(info, blocks, 7)
    shown = sum(
        int(number.replace(",", ""))
        for number in PARAMETERS.findall(drawn.split('<div class="towers"')[1])
    )
    assert (
        shown == model.parameter_count()
        and f"{model.parameter_count():,} parameters in all" in drawn
    )
    assert not Boxes(drawn).opens, "its heads are not in the Attention tab"
    assert (
        "only itself and those before it" in drawn
    ) == causal and "maps 4 × 7 × 7" in drawn
    assert {"attention": "learned query", "mean": "Mean", "max": "Maximum"}[
        pooling
    ] in drawn


def test_the_heading_says_what_the_mark_of_a_guess_catches(running, monkeypatch):
    measured = {"marked": 40, "sentences": 2003, "wrong": 66, "caught": 7}
    for guesses in (None, 3, {**measured, "caught": "no"}):
        monkeypatch.setattr(running, "metrics", {"guesses": guesses})
        assert heading_of(running, ENGLISH) == architecture.heading(running.info)
    monkeypatch.setattr(running, "metrics", {"guesses": measured})
    assert (
        "on 40 of 2,003 sentences of dev, held out from training, and on 7 of the 66"
        in heading_of(running, ENGLISH)
    )
    assert "7 de las 66 mal traducidas" in heading_of(running, SPANISH)
