"""One sentence through two models: what is said of both, their maps, the part of the
page, and the commands."""

import json
from contextlib import closing
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu
import torch
from sacrebleu.significance import PairedTest

from tests.fixtures import tiny_shape
from tests.pages import laid_out
from xformer.__main__ import main
from xformer.hub import checkpoint
from xformer.model import Transformer
from xformer.parts.two_models import draw as figures
from xformer.parts.two_models import part
from xformer.results import Head, Options, UserError
from xformer.serve.bleu import bleu
from xformer.serve.pool import Models
from xformer.serve.translation import Service
from xformer.serve.two_models import through_both
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def sibling_checkpoint(tmp_path_factory, tokenizer, learned_pairs, learn):
    """A folder of a model of the shape and vocabulary of the running one, which knows
    half of its sentences."""
    torch.manual_seed(3)
    model = Transformer(tiny_shape(tokenizer))
    learn(
        model,
        [
            (tokenizer.encode(one), tokenizer.encode(other))
            for one, other in learned_pairs[:4]
        ],
        steps=80,
    )
    folder = tmp_path_factory.mktemp("sibling") / "sibling"
    checkpoint.save(folder, model, tokenizer, {})
    return folder


@pytest.fixture(scope="module")
def sibling(sibling_checkpoint):
    with closing(Service.open(sibling_checkpoint, "cpu")) as service:
        yield service


@pytest.fixture(scope="module")
def pool(tiny_checkpoint, sibling_checkpoint, other_checkpoint, generation_checkpoints):
    folders = {
        "sibling": sibling_checkpoint,
        "other-shape": other_checkpoint,
        "gru": generation_checkpoints["gru"],
    }
    with closing(
        Models(Service.open(tiny_checkpoint, "cpu"), folders, "cpu")
    ) as models:
        yield models


@pytest.fixture(scope="module")
def found(running, sibling, learned_pairs):
    return through_both(
        running, sibling, learned_pairs[4][0], reference=learned_pairs[4][1]
    )


# What is found


def test_each_model_translates_for_itself(found, running, sibling, learned_pairs):
    english, spanish = learned_pairs[4]
    assert [info.name for info in found.infos] == ["tiny-en-es", "sibling"]
    for side, service in enumerate((running, sibling)):
        own = service.translate(english)
        assert found.translations[side].best.text == own.best.text
        assert found.log_probs[side] == pytest.approx(
            np.mean(own.best.log_probs), abs=1e-4
        )
        assert found.scores[side].score == bleu(own.best.text, spanish).score
    assert found.translations[0].best.text == spanish != found.translations[1].best.text


def test_models_of_one_shape_read_the_first_ones_translation_with_the_same_head(
    found, running, sibling, learned_pairs
):
    first, second = (
        service.trace(*learned_pairs[4]).cross[0, 2] for service in (running, sibling)
    )
    maps = figures.difference(found, Head("cross", 1, 3))
    drawn = maps.difference.data[0].z
    assert maps.first.data[0].z.shape == drawn.shape
    assert np.abs(drawn).max() > 0.01 and np.nansum(drawn, axis=1) == pytest.approx(
        0, abs=1e-4
    )
    np.testing.assert_allclose(found.forced[0].cross[0, 2], first, atol=1e-6)
    np.testing.assert_allclose(found.forced[1].cross[0, 2], second, atol=1e-6)


def test_models_of_other_shapes_have_no_difference(running, pool, learned_pairs):
    with pool.lease("other-shape") as other:
        found = through_both(running, other, learned_pairs[0][0])
    assert (
        found.forced is None and figures.difference(found, Head("cross", 1, 1)) is None
    )
    assert found.scores is None and found.heads(("cross.2.3", "cross.2.3")) == [
        Head("cross", 2, 3),
        Head("cross", 1, 1),
    ], "the other has one layer, so its best head is taken"


def test_a_model_and_itself_or_other_languages_are_refused(running, sibling):
    with pytest.raises(
        UserError, match="tiny-en-es and tiny-en-es are the same model: choose another"
    ):
        through_both(running, running, "The cat sleeps.")
    with pytest.raises(
        UserError,
        match="tiny-en-es translates en–es, and back translates es–en: choose two",
    ):
        through_both(
            running,
            SimpleNamespace(
                info=SimpleNamespace(
                    name="back", identity="0", source="es", target="en"
                )
            ),
            "The cat sleeps.",
        )


# What is shown


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_the_table_has_a_row_a_model_and_marks_the_words_that_differ(found, language):
    shown = figures.table(found, language)
    first, second = (one.best.text.split() for one in found.translations)
    assert (
        shown.count("<tr><th scope=row>") == 2
        and "B · sibling" in shown
        and ">100.0<" in shown
    )
    for words, others in ((first, second), (second, first)):
        alone = next(word for word in words if word not in others)
        assert f"<mark>{alone}</mark>" in shown


def test_names_and_texts_are_escaped(found):
    infos = [SimpleNamespace(**{**vars(info), "name": "<b>"}) for info in found.infos]
    shown = figures.table(
        SimpleNamespace(
            **{
                **vars(found),
                "infos": infos,
                "log_probs": found.log_probs,
                "heads": found.heads,
            }
        )
    )
    assert "<b>" not in shown and "&lt;b&gt;" in shown


def test_the_grids_and_maps_are_of_each_models_own_head(found):
    for side in range(2):
        packed = figures.grid(found, side, Head("cross", 2, 3))
        assert packed["lit"] == ["2.3"] and found.infos[side].name in packed["title"]
        drawn = figures.own_map(found, side, Head("cross", 2, 3))
        assert "layer 2, head 3" in drawn.layout.title.text
        np.testing.assert_allclose(drawn.data[0].z.sum(axis=1), 1, atol=1e-4)


# The part of the page


@pytest.fixture
def asked(pool, learned_pairs):
    """`asked(how=…, language=…, made=…, name=value, …)`: what is answered where both
    models are asked; made: what is there already; how: as `Pictures.stream` takes."""
    pictures = laid_out(pool).pictures[part.ID]

    def asked(language=ENGLISH, made=None, how=(), **named):
        given = {
            "part": "models",
            "models_text": learned_pairs[4][0],
            "models_other": "sibling",
            "models_reference": "",
            "models_first": "",
            "models_second": "",
            "beam": Options.beam,
            "length_penalty": Options.length_penalty,
            **named,
        }
        return [
            *Ask.always(pool.default, language).answers(
                pictures.stream, made={} if made is None else made, **dict(how), **given
            )
        ]

    return asked


def test_the_part_loads_the_other_model_and_shows_both(asked):
    kept = {}
    *loading, answer = asked(made=kept)
    assert all(
        "sibling is being loaded" in one["problem"]
        and {*one} == {"problem", *part.HEADS}
        for one in loading
    )
    assert answer["problem"] == "" and "B · sibling" in answer["table"]
    assert (
        answer["grid_0"]["visible"]
        and answer["map_1"]["figure"]
        and answer["difference"]["figure"]
    )
    heads = dict.fromkeys(part.HEADS, "")
    assert asked(made=kept) == [{"problem": "", **heads}], "it is on the page already"
    assert asked(part="bleu") == [{"problem": ""}]
    assert "BLEU" in asked(made=kept, models_reference="Ella lee.")[-1]["table"]


def test_the_head_of_an_address_is_shown_until_another_model_is_chosen(asked):
    kept = {}
    answer = asked(made=kept, models_second="cross.1.4")[-1]
    assert (
        answer["models_second"] == "cross.1.4"
        and "layer 1, head 4" in answer["map_1"]["figure"]
    )
    (clicked,) = asked(
        made=kept,
        how={"action": partial(part.choose, key="models_first")},
        models_text="What is typed is not asked yet.",
        models_second="cross.1.4",
        event=SimpleNamespace(layer=2, head=2),
    )
    assert (
        clicked["models_first"] == "cross.2.2"
        and "layer 2, head 2" in clicked["map_0"]["figure"]
    )
    assert "layer 1, head 4" in clicked["map_1"]["figure"] and "table" not in clicked
    answers = asked(made=kept, models_other="other-shape", models_second="cross.1.4")
    assert (
        answers[0]["models_second"] == ""
        and answers[-1]["difference"] is None
        and "no heads that correspond" in answers[-1]["apart"]
    )


def test_a_model_without_attention_has_a_row_and_a_sentence(asked):
    answer = asked(models_other="gru")[-1]
    assert "gru has no attention, so there are no maps of it." in answer["table"]
    assert (
        not answer["grid_1"]["visible"]
        and answer["map_1"] is None
        and answer["map_0"]["figure"]
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"models_other": "tiny-en-es"}, "are the same model"),
        ({"models_other": "no/such"}, "none of the models"),
        ({"models_other": ""}, "There is no second model yet"),
        ({"models_text": " "}, "The sentence is missing"),
    ],
)
def test_what_cannot_be_compared_is_said_and_nothing_old_stays(asked, named, said):
    kept = {}
    answer = asked(made=kept, **named)[-1]
    assert said in answer["problem"] and answer["table"] is None and not kept


def test_the_models_of_the_same_languages_are_offered_and_the_address_names_all(pool):
    page = laid_out(pool)
    assert part.offered(pool, pool.default).names == ("sibling", "other-shape", "gru")
    assert pool.translating("es", "en") == []
    query = {
        "pairs_part": "models",
        "models_text": "A.",
        "models_other": "gru",
        "models_reference": "B.",
        "models_first": "cross.1.2",
        "models_second": "cross.2.1",
    }
    values, problems = page.controls.read(pool.default, query)
    assert not problems and {key: values[key] for key in query} == query
    assert page.controls.defaults(pool.default)["models_other"] == "sibling"


# The commands


def test_the_command_prints_both(
    tiny_checkpoint, sibling_checkpoint, found, learned_pairs, capsys
):
    command = [
        "compare",
        "--models",
        str(tiny_checkpoint),
        str(sibling_checkpoint),
        learned_pairs[4][0],
    ]
    assert main([*command, "--reference", learned_pairs[4][1]]) == 0
    first, second, _, _, of_first, of_second = capsys.readouterr().out.splitlines()
    assert (
        first.startswith("A  ")
        and "[" in first
        and second.startswith("B  ")
        and "[" in second
    )
    assert of_first.split()[:4] == [
        "A",
        "tiny-en-es",
        f"{found.log_probs[0]:.3f}",
        "100.0",
    ]
    assert of_second.split()[1] == "sibling" and of_second.endswith(
        str(found.heads()[1])
    )
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["text"] for one in said["models"]] == [
        one.best.text for one in found.translations
    ]
    assert said["models"][0]["bleu"] is None


@pytest.mark.parametrize("more", [["One."], ["One.", "Two.", "--models", "a", "b"]])
def test_the_command_wants_two_texts_or_two_models(more, capsys):
    assert main(["compare", *more]) == 2
    assert (
        "Give two texts, A and B; or one text, and two checkpoints"
        in capsys.readouterr().err
    )


def test_the_evaluation_against_another_model_is_sacrebleus(
    tiny_checkpoint,
    sibling_checkpoint,
    running,
    sibling,
    learned_pairs,
    tmp_path,
    capsys,
):
    file = tmp_path / "pairs.tsv"
    file.write_text(
        "".join(f"{one}\t{other}\n" for one, other in learned_pairs), encoding="utf-8"
    )
    command = [
        "evaluate",
        "translation",
        "--pairs",
        str(file),
        "--checkpoint",
        str(tiny_checkpoint),
        "--against",
        str(sibling_checkpoint),
    ]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    sources = [one for one, _ in learned_pairs]
    references = [other for _, other in learned_pairs]
    texts = [
        [one.best.text for one in service.translate_many(sources)]
        for service in (running, sibling)
    ]
    _, wanted = PairedTest(
        [("A", texts[0]), ("B", texts[1])],
        {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF()},
        [references],
        "bs",
        1000,
    )()
    for name, column in (("BLEU", wanted["BLEU"]), ("chrF", wanted["chrF2"])):
        tested = said["against"]["tested"][name]
        assert tested["scores"] == pytest.approx([one.score for one in column])
        assert tested["means"] == pytest.approx([one.mean for one in column])
        assert tested["intervals"] == pytest.approx([one.ci for one in column])
        assert tested["p"] == column[1].p_value
    assert said["bleu"] == 100 and said["against"]["scores"]["checkpoint"] == "sibling"
    gaps = [abs(one["chrf"][0] - one["chrf"][1]) for one in said["against"]["apart"]]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] > 0
    assert {one["source"] for one in said["against"]["apart"]} <= {*sources[4:]}, (
        "it knows the first four"
    )
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert (
        "B  sibling     BLEU" in shown
        and "p = " in shown
        and said["against"]["apart"][0]["source"] in shown
    )
