"""Four generations of translators beside each other: their answers, maps, curves and
costs, and what is not there."""

import json
import re
import shutil
from contextlib import closing
from dataclasses import replace
from html import unescape

import pytest
import torch

from tests.harness import ROOT
from tests.pages import laid_out, shown
from xformer.explain import complexity
from xformer.explain.complexity import LENGTHS, layer_times
from xformer.figures.generation import label, missing
from xformer.hub import checkpoint, recorded
from xformer.parts.generations import draw as figures
from xformer.parts.generations import part
from xformer.parts.generations.draw import CURVES
from xformer.results import GENERATIONS, LayerTimes, Moment, Options
from xformer.serve.pool import Models
from xformer.serve.study import Study
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture
def folders(generation_checkpoints):
    return generation_checkpoints


@pytest.fixture
def empty(tiny_checkpoint):
    """A page's models without any of the generations."""
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), {}, "cpu")) as running:
        yield running


def asked(pool, language=ENGLISH):
    return Ask.always(pool, language)


@pytest.fixture
def compared(made):
    """`compared(pool, text, beam=…)`: what is answered where the part is opened."""

    def compared(pool, text="The cat sleeps.", kept=None, translation=None, **options):
        return [
            *asked(pool).answers(
                made.pictures[part.ID].stream,
                made={} if kept is None else kept,
                translation=translation
                or pool.default.translate(text, Options(**options)),
            )
        ]

    return compared


@pytest.fixture
def drawn(made):
    """`drawn(pool, curve)`: what is drawn of what was measured of the generations."""
    return lambda pool, curve="bleu", kept=None: shown(
        made.pictures[f"{part.ID}.scores"], pool, made=kept, gen_curve=curve
    )


def test_the_sentence_goes_through_all_generations_one_after_the_other(
    generations, compared
):
    first, *answers = compared(generations, beam=2)
    assert len(answers) == len(GENERATIONS) and "n / k" in first["costs"]
    assert [answer["table"].count(">…</span>") for answer in (first, *answers)] == [
        4,
        3,
        2,
        1,
        0,
    ]
    maps = [name for answer in answers for name in answer if name in GENERATIONS]
    assert maps == ["gru-attention", "post-norm", "pre-norm"], (
        "the GRU without attention has no map"
    )
    assert "layer 2, head 1 · alignment error 0.250" in answers[-1]["pre-norm"]["title"]
    table = answers[-1]["table"]
    for name in GENERATIONS:
        with generations.lease(name) as service:
            assert (
                service.translate("The cat sleeps.", Options(beam=2)).best.text in table
            )
        assert label(name) in table


def test_without_a_translation_it_is_said_what_is_awaited(generations, made):
    pictures = made.pictures[part.ID]
    said = {"made": {}, "translation": None}
    (only,) = asked(generations).answers(pictures.stream, **said)
    assert {*only} == {"problem"} and ENGLISH.html("no_trace") in only["problem"]


def test_of_a_spanish_sentence_is_said_that_they_read_english(generations, compared):
    """As the page has one where its model translates from Spanish."""
    assert {answer["problem"] for answer in compared(generations)} == {""}
    spanish = compared(generations, "El gato que vi está en la casa.")
    assert all(
        "This looks like Spanish; these models read English" in answer["problem"]
        for answer in spanish
    )


def test_the_time_of_each_is_the_median_of_warm_translations(
    generations, monkeypatch, compared
):
    """The first translation, which may have had to load the model, is not timed."""
    took = iter((0.3, 0.1, 0.2) * len(GENERATIONS))
    translate = Service.translate
    monkeypatch.setattr(
        Service,
        "translate",
        lambda self, *given, **more: replace(
            translate(self, *given, **more), seconds=next(took)
        ),
    )
    translation = translate(generations.default, "The cat sleeps.")
    *_, last = compared(generations, translation=translation)
    assert (
        last["table"].count("200 ms") == len(GENERATIONS) and next(took, None) is None
    )
    assert f"median of {figures.WARM}" in last["table"]


def test_the_same_translation_is_not_compared_twice(generations, compared):
    translation = generations.default.translate("The cat sleeps.")
    kept = {}
    assert len(compared(generations, kept=kept, translation=translation)) == 5
    again = compared(generations, kept=kept, translation=translation)
    assert again == [{"problem": ""}]


def test_without_any_generation_the_costs_are_shown_still(empty, compared, drawn):
    (answer,) = compared(empty)
    assert answer["table"] == "" and "Self-attention" in answer["costs"]
    said = missing(empty.names)
    assert all(name in said for name in GENERATIONS) and "docs/TRAINING.md" in said
    scores = drawn(empty)
    assert scores["facts"] == "" and scores["lengths"] is scores["curves"] is None


def settings(said):
    """The table of settings: by the name of a row, what each column says."""
    rows = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        for row in unescape(said).split("<tr>")[1:]
    ]
    return {name: cells for name, *cells in rows}


def test_the_lectures_settings_stand_beside_those_in_the_files():
    """The lecture's are quoted from its slides; ours are those that the checkpoint's
    files say."""
    with closing(
        Models(
            Service.open(ROOT / "checkpoints" / "post-norm", "cpu"),
            {name: ROOT / "checkpoints" / name for name in GENERATIONS},
            "cpu",
        )
    ) as pool:
        said = settings(figures.trained(part.gather(pool, ENGLISH)))
    assert said["Setting"] == [
        "Lecture: TransformerFG",
        "Lecture: TransformerPreLN",
        *(label(name) for name in GENERATIONS),
    ]
    for name, first, second in (
        ("Batch", "50 pairs", "–"),
        ("Warm-up", "4,000 steps", "none"),
        ("Highest learning rate", "–", "–"),
        ("Layers, encoder + decoder", "4 + 4", "–"),
        ("Heads in a layer", "4", "–"),
        ("Numbers in a vector", "256", "–"),
        ("Parameters", "274,469,951", "–"),
        ("Pairs of sentences", "90,000", "90,000"),
        ("Epochs", "40", "–"),
        ("Training time", "16 h", "–"),
    ):
        assert said[name][:2] == [first, second], name
    for column, name in enumerate(GENERATIONS, 2):
        read = {
            file: json.loads((ROOT / "checkpoints" / name / f"{file}.json").read_text())
            for file in ("config", "metrics", "history")
        }
        config, metrics, history = read.values()
        card = (ROOT / "checkpoints" / name / "README.md").read_text(encoding="utf-8")
        (pairs,) = re.findall(r"([\d,]+) pairs of Tatoeba", card)
        warmup = metrics["options"]["warmup"]
        tried = [
            f"{one['rate']:g}: {one['dev_loss']:.3f}"
            for one in metrics.get("study", {}).get("rates", [])
        ]
        assert [said[row][column] for row in [*said][1:]] == [
            f"{metrics['seen'] // metrics['step']} pieces",
            f"{warmup} steps" if warmup else "none",
            f"{metrics['options']['peak']:g}",
            " · ".join(tried) or "–",
            str(metrics["options"]["seed"]),
            f"{config['n_layers']} + {config['n_layers']}",
            str(config["n_heads"]) if "norm" in name else "–",
            str(config["d_model"]),
            said["Parameters"][column],
            pairs,
            f"{metrics['epoch']} and part of the next",
            f"{metrics['minutes']:.1f} min",
        ], name
        best = min(metrics["study"]["rates"], key=lambda one: one["dev_loss"])["rate"]
        assert (
            best == metrics["options"]["peak"]
            or best > metrics["options"]["peak"]
            and "gru" in name
        )
    assert {said["Highest learning rate"][column] for column in range(2, 6)} == {
        "0.0024"
    }
    assert "best of those tried that a long run of each bore" in ENGLISH.say(
        "gen_look"
    ), "not the best of all tried"


def test_what_the_files_do_not_say_is_a_dash(generations):
    with generations.lease("post-norm") as service:
        one = part._measured(service, "post-norm", ENGLISH)
    for metrics in (
        {},
        {"options": 3, "learned_from": [], "epoch": "x"},
        {
            "options": {"warmup": "<b>", "peak": None},
            "learned_from": {"pairs": float("inf")},
        },
        {
            "study": {
                "rates": [{}, {"rate": 0.1}],
                "seeds": [{"bleu": None}, {"bleu": None}],
            }
        },
    ):
        said = settings(
            figures.trained([replace(one, metrics=metrics, kept=None, history=None)])
        )
        assert {name for name, cells in said.items() if cells[2] == "–"} == {
            "Batch",
            "Warm-up",
            "Highest learning rate",
            "Rates tried: loss on dev",
            "Seed of the weights",
            "Pairs of sentences",
            "Epochs",
            "Training time",
        }
        assert ENGLISH.say("gen_column_bleu") in figures.facts(
            [replace(one, metrics=metrics)]
        )
    unstepped = replace(one, kept=Moment(0, 1.0, 10, 0.0))
    assert settings(figures.trained([unstepped]))["Batch"][2] == "–"


def test_one_that_cannot_be_loaded_says_so_and_the_others_go_on(
    folders, tiny_checkpoint, tmp_path, compared
):
    broken = shutil.copytree(folders["post-norm"], tmp_path / "post-norm")
    (broken / "model.safetensors").write_bytes(b"x")
    with closing(
        Models(
            Service.open(tiny_checkpoint, "cpu"),
            {**folders, "post-norm": broken},
            "cpu",
        )
    ) as pool:
        *_, last = compared(pool)
        assert (
            "The model post-norm cannot be loaded" in last["table"]
            or "post-norm" in last["table"]
        )
        assert "colspan=3" in last["table"] and "pre-norm" in last
        assert [one.name for one in part.gather(pool, ENGLISH)] == [
            "gru",
            "gru-attention",
            "pre-norm",
        ]


def test_one_that_is_not_what_its_name_says_is_a_sentence(
    folders, tiny_checkpoint, compared
):
    wrong = {**folders, "gru": folders["gru-attention"]}
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), wrong, "cpu")) as pool:
        *_, last = compared(pool)
        assert "The model named gru is of another kind: gru-attention" in last["table"]
        found = part.gather(pool, ENGLISH)
        assert [one.name for one in found] == ["gru-attention", "post-norm", "pre-norm"]


def test_what_was_measured_is_gathered_once_and_every_curve_is_drawn(
    generations, drawn
):
    kept = {}
    first = drawn(generations, kept=kept)
    for text in (
        "0.01 M",
        "1.0 min",
        "21.5",
        "BLEU on far-away",
        "12.2",
        "0.250",
        "0.300",
    ):
        assert text in first["facts"], text
    (*_, last) = json.loads(first["lengths"]["figure"])["data"]
    assert last["y"] == [30.0, 20.0]
    for curve in CURVES[1:] + CURVES[:1]:
        answer = drawn(generations, curve, kept)
        assert set(answer) == {"curves"}
        lines = json.loads(answer["curves"]["figure"])["data"]
        assert [one["name"] for one in lines if one["mode"] != "markers"] == [
            *map(label, GENERATIONS)
        ]
    loss, held_out, *_ = json.loads(drawn(generations, "loss")["curves"]["figure"])[
        "data"
    ]
    assert (
        loss["y"][0] == 8.0
        and loss["x"][-1] == 0.01
        and loss["name"] == held_out["name"]
    )
    assert (held_out["mode"], held_out["x"], held_out["y"], held_out["showlegend"]) == (
        "markers",
        [0.01],
        [4.0],
        False,
    )


def test_the_rates_that_were_tried_and_the_scores_of_all_seeds_are_told(generations):
    found = part.gather(generations, ENGLISH)
    assert figures.facts(found).count("21.5 · 20.9 (each of 2 seeds)") == 1, (
        "of the one that has a study"
    )
    assert (
        re.sub(r"\s+", " ", figures.trained(found)).count(
            "0.0006: 3.500 · 0.0012: 3.250"
        )
        == 1
    )


def test_which_generations_lie_beyond_the_spread_of_their_seeds_is_told(generations):
    found = part.gather(generations, ENGLISH)
    shipped = [
        replace(one, metrics=checkpoint.read_metrics(ROOT / "checkpoints" / one.name))
        for one in found
    ]
    facts = figures.facts(shipped, ENGLISH)
    assert facts.count("larger than the spread of 2 seeds") == 1
    for seeds in zip(*map(figures.seeds_of, shipped), strict=True):
        assert list(seeds) == sorted(seeds), "each seed has the order of all"
    assert "Not larger than that spread" not in facts


def test_a_history_without_losses_on_dev_is_drawn_without_dots(generations):
    found = part.gather(generations, ENGLISH)
    old = [replace(one, history=replace(one.history, scores=())) for one in found]
    for these, title, traces in (
        (found, "dots of dev", 8),
        (old, "Loss while they learn", 4),
    ):
        drawn = figures.curves(these, "loss")
        assert drawn.layout.title.text.endswith(title) and len(drawn.data) == traces


def test_the_order_is_not_said_to_be_decided_where_longer_runs_were_level(generations):
    facts = figures.facts(part.gather(generations, ENGLISH))
    training = (ROOT / "docs" / "TRAINING.md").read_text(encoding="utf-8")
    [(longer, post, pre)] = re.findall(
        r"runs of (\d+) million pieces .*? ended at ([\d.]+) BLEU \(post-norm\) and ([\d.]+) \(pre-norm\)",
        training,
        re.S,
    )
    assert {"longer": int(longer), "post": post, "pre": pre} == figures.LONGER
    assert (
        f"post-norm ended at {post} BLEU while training and pre-norm at {pre}" in facts
    )
    assert "have not been made" in facts and "larger than the spread" not in facts
    lesson = (ROOT / "assets" / "lessons" / "generations.json").read_text(
        encoding="utf-8"
    )
    assert (
        f"both ended level, with {post} and {pre} BLEU" in lesson
        and "each in two runs" in lesson
    )


def test_the_pieces_and_minutes_are_those_of_the_kept_weights(generations):
    facts = figures.facts(part.gather(generations, ENGLISH))
    rows = re.findall(r"<tr><th scope=row>(.*?)</th>(.*?)</tr>", facts)
    assert [re.findall(r"<td.*?>(.*?)</td>", cells)[1:3] for _, cells in rows] == [
        *[["0.01 M", "1.0 min"]] * 3,
        ["0.01 M", "0.8 min"],
    ]
    assert facts.count(
        "the weights are those of step"
    ) == 1 and "equally many" not in ENGLISH.say("gen_look")
    assert (
        f"{label('pre-norm')}: the weights are those of step 8 of 10, which had the best BLEU"
        in facts
    )


def test_a_broken_history_is_a_sentence_and_a_missing_one_too(
    folders, tiny_checkpoint, tmp_path
):
    copies = {
        name: shutil.copytree(folder, tmp_path / name)
        for name, folder in folders.items()
    }
    (copies["gru"] / recorded.HISTORY).write_text("{")
    (copies["post-norm"] / recorded.HISTORY).unlink()
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), copies, "cpu")) as pool:
        found = part.gather(pool, ENGLISH)
        facts = figures.facts(found)
        assert "is no history of a training run" in facts
        assert "No history was kept of the training of: Transformer, post-norm" in facts
        names = [one.name for one in figures.curves(found, "bleu").data]
        assert names == [label(name) for name in ("gru-attention", "pre-norm")]


def test_the_table_of_the_paper_is_right_for_a_length():
    """Table 1: recurrence n steps and n d²; convolution n/k, dilated log_k n, and k n
    d²; self-attention n² d."""
    table = figures.complexity(27, 10)
    for value in (
        "<b>27</b>",
        "<b>9</b>",
        "log_k n = 3",
        "<b>2,700</b>",
        "<b>8,100</b>",
        "<b>7,290</b>",
    ):
        assert value in table, value
    attention = 4 * 27 * 10**2 + 2 * 27**2 * 10  # four matrices; scores and sums
    gru = 27 * sum(
        weight.numel()
        for weight in torch.nn.GRU(10, 10).parameters()
        if weight.ndim == 2
    )
    assert f"<b>{attention:,}</b>" in table and f"<b>{gru:,}</b>" in table, (
        "by hand, and of PyTorch's GRU"
    )
    assert "<b>1</b>" in figures.complexity(1, 10)
    assert "<b>2\u202f700</b>" in figures.complexity(27, 10, SPANISH)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (
            9,
            "takes fewer products here than a recurrent one, 5,220 against 5,400; above 10 pieces it takes more",
        ),
        (10, "takes as many products here as a recurrent one, 6,000 and 6,000"),
        (
            11,
            "takes more products here than a recurrent one, 6,820 against 6,600; below 10 pieces it takes fewer",
        ),
    ],
)
def test_attention_is_said_to_do_more_only_where_it_does(pieces, said):
    assert said in figures.complexity(pieces, 10) and "more" not in ENGLISH.say(
        "asks_costs"
    )


def test_the_times_are_measured_and_said(monkeypatch, made):
    state = torch.get_rng_state()
    times = layer_times()
    assert torch.equal(torch.get_rng_state(), state), "others draw from it too"
    assert [one.pieces for one in times] == [*LENGTHS]
    assert all(one.recurrence > 0 < one.attention and one.library > 0 for one in times)
    study = Study()
    monkeypatch.setattr(
        study, "layer_times", lambda: [LayerTimes(400, 0.05, 0.03, 0.01)]
    )
    kept = {}
    pictures = made.pictures[f"{part.ID}.times"]
    answer = shown(pictures, study, made=kept)
    assert f"one layer of {complexity.WIDTH} numbers" in answer["said"]
    assert (
        "takes 50.0 ms, PyTorch’s own GRU 30.0 ms, and self-attention 10.0 ms; PyTorch’s GRU takes 3.0 times"
        in unescape(answer["said"])
    )
    assert [
        curve["name"] for curve in json.loads(answer["picture"]["figure"])["data"]
    ] == ["GRU, a loop in Python", "GRU of PyTorch", "Self-attention, in one pass"]
    assert shown(pictures, study, made=kept) == {}


def test_the_part_is_the_first_of_its_tab(generations):
    page = laid_out(generations)
    values, problems = page.controls.read(
        generations.default, {"tab": "training", "gen_curve": "loss"}
    )
    assert not problems and values["part"] == part.ID and values["gen_curve"] == "loss"
    _, problems = page.controls.read(generations.default, {"gen_curve": "weather"})
    assert problems
