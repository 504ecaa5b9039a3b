"""Lectures told slide by slide: what is computed for each slide and asked of it, on the
models that ship and by hand."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.pages import fact, gone, laid_out
from xformer.explain import principles
from xformer.lessons import choosing, files, panel
from xformer.lessons.scene import CHECKS, Scene
from xformer.results import Block, Head, Trace, UserError
from xformer.strings import ENGLISH, PACKAGE, SPANISH
from xformer.ui import lessons as ui

LECTURES = files.lectures()
SLIDES = [
    pytest.param(name, number, id=f"{name}.{number}")
    for name, lecture in LECTURES.items()
    for number in range(1, len(lecture.slides) + 1)
]
# of which the page says nothing of its own
SILENT = {"Dropout"}
MOST_QUOTED = 30  # words


@pytest.fixture(scope="module")
def page(shipped):
    """The page of the model that ships."""
    return laid_out(shipped)


def said(check, scene, **given):
    """The value that a check of a number finds."""
    found = CHECKS[check](replace(scene, answer="0"), **given)
    return dict(found.message.values)["value"]


# Each slide, on the models that ship


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), SLIDES)
def test_what_a_slide_says_and_asks_has_an_answer_on_the_models_that_ship(
    name, number, scene
):
    slide = LECTURES[name].slides[number - 1]
    lesson = files.lectures_as_lessons()[name]
    there = choosing.standing(lesson, number, replace(scene, review="I loved it."))
    there = replace(there, review="I loved it.")
    if slide.fact:
        check, given = slide.fact
        message = CHECKS[check](replace(there, answer="0"), **given).message
        for language in (ENGLISH, SPANISH):
            assert "{" not in message.say(language)
    question = slide.question
    if question is None:
        return

    def asked(answer):
        return CHECKS[question.check](replace(there, answer=answer), **question.given)

    if question.kind == "number":
        none = asked(f"{question.least - 1:g}")
        value = float(dict(none.message.values)["value"])
        assert not none.right and question.least <= value <= question.most
        steps = round((value - question.least) / question.by)
        assert asked(f"{question.least + steps * question.by:g}").right
    else:
        right = [answer for answer, _ in question.options if asked(answer).right]
        assert len(right) == 1


def test_every_entry_is_a_slide_with_the_lectures_words_and_a_question():
    for name, lecture in LECTURES.items():
        added = files._additions(name)
        assert {*added} == {one.term for one in lecture.slides}, name
        for one in lecture.slides:
            assert one.question or one.term in SILENT, one.term
            assert one.fact or one.term in SILENT, one.term
            assert one.quote or one.term in SILENT, one.term
            assert len(one.quote.split()) <= MOST_QUOTED
    pages = [one.page for one in LECTURES["kak"].slides]
    assert all(pages) and pages == sorted(pages), "in the order of the lecture"


def test_what_a_slide_points_at_is_drawn_by_a_part():
    sources = " ".join(
        path.read_text(encoding="utf-8") for path in PACKAGE.glob("parts/*/part.py")
    )
    points = {one.point for lecture in LECTURES.values() for one in lecture.slides}
    for point in points - {""}:
        if not point.startswith(".at-"):
            name = point.removeprefix(".block.")
            assert re.search(rf'[" ]{name}[" ]', sources), point


# By hand


@pytest.mark.parametrize(
    ("check", "given", "value"),
    [
        ("brevity", {"said": 3, "wanted": 6}, "36.8"),
        ("brevity", {"said": 6, "wanted": 6}, "100"),
        ("product", {"of": [9, 167], "over": 60}, "25.1"),
        ("product", {"of": [4, 32]}, "128"),
        ("repeats", {"divisor": 100}, "628"),
        ("kernel", {"widths": 2}, "13.5"),
        ("factor", {"apart": 2}, "7.39"),
        ("softmax_share", {"scores": [3, 1]}, "88.1"),
        (
            "precision",
            {"text": "the " * 7, "reference": "the cat is on the mat", "n": 1},
            "28.6",
        ),
        (
            "precision",
            {
                "text": "fue un hermoso hermoso",
                "reference": "fue un hermoso casamiento",
                "n": 2,
            },
            "66.7",
        ),
    ],
)
def test_the_arithmetic_of_lectures_is_right(check, given, value):
    assert said(check, Scene(None, None, None), **given) == value


def small(**changed):
    """A scene of a model of these facts, which has no pass."""
    info = {
        "name": "small",
        "norm": "post",
        "n_layers": 2,
        "n_decoder_layers": 3,
        "n_heads": 4,
        "d_model": 64,
        "position_base": 100.0,
        "layers": lambda stack: 2 if stack == "encoder_self" else 3,
        **changed,
    }
    blocks = [
        Block("embedding", (("weight", (10, 3)),)),
        Block("encoder.layers.0.self_attention", (("weight", (5, 10)),)),
        Block("decoder.layers.0.self_residual", (("weight", (5,)),)),
        Block("decoder.layers.0.cross_residual", (("weight", (5,)),)),
        Block("decoder.layers.1.self_residual", (("weight", (10,)),)),
    ]
    service = SimpleNamespace(info=SimpleNamespace(**info), blocks=lambda: blocks)
    return Scene(service, None, None)


@pytest.mark.parametrize(
    ("check", "given", "value"),
    [
        ("head_size", {}, "16"),
        ("layers_of", {"side": "encoder"}, "2"),
        ("layers_of", {"side": "decoder"}, "3"),
        ("all_heads", {}, "32"),  # 4 · (2 + 3 + 3)
        ("share_of_weights", {"of": "embedding"}, "30"),
        ("share_of_weights", {"of": "attention"}, "50"),
        ("norms_in", {"side": "decoder"}, "2"),
        ("embedding_scale", {}, "8"),
        ("heads_on_batch_axis", {"sentences": 3}, "12"),
        ("longest_wave", {}, "544"),  # 2π · 100^(62/64)
        ("waves_near", {"steps": 6.3}, "3.12"),  # the first of 32
    ],
)
def test_the_sizes_of_a_model_are_those_of_its_facts(check, given, value):
    assert said(check, small(), **given) == value


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_order_of_normalisation_is_the_models_own(norm):
    there = small(norm=norm)
    right = [
        one
        for one in ("pre", "post")
        if CHECKS["norm_order"](replace(there, answer=one)).right
    ]
    assert right == [norm]


def traced(maps):
    """A scene of a pass whose heads of the encoder and the cross-attention have these
    maps, (layers, H, L, L)."""
    maps = np.array(maps, dtype=np.float32)
    names = tuple(f"▁{i}" for i in range(maps.shape[-1]))
    norms = np.zeros((*maps.shape[:2], len(names)))
    zero = (0.0,) * len(names)
    trace = Trace(
        names, names, names, zero, maps, maps, maps, norms, norms, norms, "0 1", ()
    )
    there = small()
    there.service.best_head = Head("cross", 1, 1)
    return replace(there, trace=trace)


def test_a_slide_says_of_mutuality_what_the_fold_it_opens_says():
    mirror = [[0.2, 0.8], [0.8, 0.2]]
    one_way = [[0.2, 0.8], [0.0, 1.0]]
    scene = traced([[mirror, one_way]])
    found = CHECKS["mutual"](replace(scene, answer="0")).message
    chance = float(principles.mutual_by_chance(scene.trace.encoder_self).mean())
    assert dict(found.values) == {
        "value": "0.5",
        "least": "0.00",
        "most": "1.00",
        "chance": f"{chance:.2f}",
    }


def test_columns_of_a_map_do_not_add_up_to_1():
    assert said("column_sum", traced([[[[0.2, 0.8], [0.3, 0.7]]]])) == "1.5"


def test_heads_that_link_two_words_are_counted_from_a_share_on():
    maps = [[[[0.9, 0.1], [0.5, 0.5]], [[0.95, 0.05], [0.5, 0.5]]]]
    found = said("heads_linking", traced(maps), word="0", target="1", least=0.1)
    assert found == "1"


def test_energy_is_the_sum_of_what_the_pieces_cost():
    scene = traced([[[[1.0, 0.0], [0.0, 1.0]]]])
    scene = replace(scene, trace=replace(scene.trace, log_probs=(-1.25, -0.5)))
    assert said("energy", scene) == "1.75"


def test_scores_of_a_stack_are_pieces_times_pieces():
    assert said("scores_in", traced([[[[1.0, 0.0], [0.0, 1.0]]]]), stack="cross") == "4"


def score(pooling, imdb, texts=2500, causal=False, pretrained=False):
    return SimpleNamespace(
        pooling=pooling, imdb=imdb, texts=texts, causal=causal, pretrained=pretrained
    )


@pytest.mark.parametrize(
    ("best", "true"), [(0.9, "max"), (0.805, "none")], ids=["ahead", "chance"]
)
def test_a_pooling_is_ahead_by_more_than_chance_or_none_is(best, true):
    scores = [
        score("mean", 0.8),
        score("attention", 0.8),
        score("max", best),
        score("attention", 0.99, causal=True, pretrained=True),
    ]
    reviews = SimpleNamespace(pooling_scores=scores)
    there = Scene(None, None, None, reviews, answer=true)
    assert CHECKS["better_pooling"](there).right


# The page


def test_a_slide_says_what_is_computed_from_the_page_in_either_language(page, shipped):
    number = 1 + [one.term for one in LECTURES["d2l"].slides].index(
        "Encoder, Decoder, init_state"
    )
    trace = shipped.explain("The cat sleeps.")
    at = f"d2l.{number}"
    english = fact(page, shipped, at, trace=trace)
    assert english["at"] == at
    assert f"{len(trace.source)} vectors" in english["fact"]
    spanish = fact(page, shipped, at, SPANISH, trace=trace)
    assert f"{len(trace.source)} vectores" in spanish["fact"]
    assert fact(page, shipped, at)["fact"] == "", "before there is a translation"


@pytest.mark.parametrize("at", ["it.1", "kak.27", "lectures", ""])
def test_only_a_slide_is_told(page, shipped, at):
    with pytest.raises(UserError):
        fact(page, shipped, at)


@pytest.mark.parametrize("at", ["kak.0", "kak.28", "kak.x", "kak.999"])
def test_a_slide_that_there_is_not_gets_one_sentence(page, shipped, at):
    values, problems = page.controls.read(shipped, {"lesson": at})
    assert values["lesson"] == ""
    [problem] = [one.say(ENGLISH) for one in problems]
    assert (
        f"“{at}” names no slide: the lecture “kak” has 26, kak.1 to kak.26." in problem
    )


@pytest.mark.parametrize("at", ["lecture.zak", "zak.1"])
def test_a_lecture_that_there_is_not_gets_one_sentence(page, shipped, at):
    values, problems = page.controls.read(shipped, {"lesson": at})
    assert values["lesson"] == ""
    [problem] = [one.say(ENGLISH) for one in problems]
    assert "lecture.kak" in problem and problem.count(". ") == 0


@pytest.mark.parametrize(("name", "number"), SLIDES)
def test_a_slide_moves_the_page_to_its_picture(name, number, page, shipped):
    slide = LECTURES[name].slides[number - 1]
    at = f"{name}.{number}"
    moved = gone(page, shipped, at)
    if slide.see:
        assert moved == {
            "panel": {
                "at": at,
                "address": {**slide.see, "lesson": at},
                "place": slide.at,
            }
        }
        assert not page.controls.read(shipped, moved["panel"]["address"])[1]
    else:
        assert moved["lesson"] == at and "data-alone" in moved["panel"]["html"]


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_panel_tells_a_slide_whole_and_links_to_its_neighbours(language):
    for name, lecture in LECTURES.items():
        listed = ui.value(f"lecture.{name}", language)["html"]
        assert f'data-lesson="{name}.1" data-project' in listed
        for number, slide in enumerate(lecture.slides, 1):
            shown = ui.value(f"{name}.{number}", language)["html"]
            assert html.escape(slide.term) in shown and f'"{name}.{number}"' in listed
            assert slide.quote in html.unescape(shown)
            assert panel.marked(slide.text[language.code]) in shown
            assert f'data-lesson="{name}.{number + 1}"' in shown
            assert (number == 1) is not (f'data-lesson="{name}.{number - 1}"' in shown)
    last = ui.value("kak.27", language)["html"]
    assert language.html("lesson_summary") in last and 'data-lesson="kak.26"' in last
