"""A training watched: the moments that it left, the head that is followed, and what is
said where nothing is kept."""

import base64
import json
import shutil
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.pages import laid_out
from tests.recorded_models import STEPS
from xformer.hub import recorded
from xformer.parts.forming import errors as formation
from xformer.parts.forming import part
from xformer.results import STACKS, Head
from xformer.serve.pool import Models
from xformer.serve.translation import Service
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask

VALUES = {
    "form_sentence": 1,
    "form_moment": 20,
    "moments_open": True,
    "form_stack": "cross",
    "form_layer": 0,
    "form_head": 0,
}


@pytest.fixture
def folders(generation_checkpoints):
    return generation_checkpoints


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures[part.ID]


@pytest.fixture
def drawn(pictures, generations):
    def drawn(name="pre-norm", pool=generations, made=None, **values):
        return Ask.always(pool, ENGLISH).answer(
            pictures.draw,
            made={} if made is None else made,
            **{"form_model": name, **VALUES, **values},
        )

    return drawn


def moments_of(folders, name="pre-norm"):
    return recorded.read_moments(folders[name])


def test_the_head_that_aligns_best_in_the_end_is_followed(folders):
    moments = moments_of(folders)
    moments.errors[:] = 0.9
    moments.errors[-1, 1, 0, 1] = 0.2
    assert formation.followed(moments) == (Head("cross", 1, 2), "given")
    assert formation.error_course(
        moments, Head("cross", 1, 2), "given"
    ) == pytest.approx([0.9, 0.9, 0.2])
    assert formation.better_reading(moments, Head("cross", 1, 2)) == "given"
    assert formation.followed(moments_of(folders, "gru")) is None


def test_the_maps_of_a_moment_are_those_of_a_pass(folders):
    course = moments_of(folders).courses[0]
    trace = formation.trace_at(course, 1)
    for stack in STACKS:
        rows = trace.of(stack).probabilities.sum(axis=-1)
        assert np.abs(rows - 1).max() < 0.05, "a byte a number"
    assert (trace.cross * 255).astype(np.uint8).tolist() == course.maps["cross"][
        1
    ].tolist()
    assert formation.trace_at(moments_of(folders, "gru").courses[0], 0).cross.size == 0


def test_a_moment_is_drawn_and_the_slider_knows_how_many_there_are(
    drawn,
):
    made = {}
    answer = drawn(made=made, form_moment=2)
    assert not answer["problem"]
    assert (
        f"Step {STEPS[1]}: 50 % of the training, 5,000 target pieces, 0.5 minutes"
        in answer["said"]
    )
    assert "The head that aligns best in the end" in answer["said"]
    assert answer["form_moment"] == {"maximum": 3, "value": 2, "__type__": "update"}
    assert (
        answer["story"].count("<tr") == len(STEPS) + 1
        and answer["story"].count("aria-current") == 1
    )
    assert (
        answer["picture"]["value"]["title"].endswith("step 5")
        and answer["grid"]["value"]["layers"] == 2
    )
    moved = drawn(made=made, form_moment=1)
    assert "Step" in moved["said"] and "form_moment" not in moved, (
        "nothing is set while it is moved"
    )
    mark = json.loads(answer["errors"]["figure"])["data"][-1]
    assert mark["x"] == [1]
    assert "Step 10" in drawn(made=made, form_moment=20)["said"]
    last = drawn()
    assert last["form_moment"]["value"] == 3, "beyond the last is the last"


def test_it_says_where_the_last_moment_is_not_of_the_kept_weights(drawn):
    said = drawn(form_moment=2)["said"]
    assert (
        "Step 10 is the end of the training" in said
        and "weights of step 8, the best" in said
    )
    assert "Elsewhere" not in drawn("post-norm")["said"]


def test_a_head_is_chosen_in_the_grid_and_another_stack_begins_with_its_first(
    drawn,
):
    event = SimpleNamespace(layer=1, head=2)
    answer = drawn("post-norm", action=part.choose, event=event)
    assert (answer["form_layer"], answer["form_head"]) == (
        1,
        2,
    ) and "layer 1 of 2 · head 2 of 2" in answer["picture"]["value"]["title"]
    answer = drawn(
        "post-norm",
        action=part.first_head,
        form_stack="encoder_self",
        form_layer=1,
        form_head=2,
    )
    assert (answer["form_layer"], answer["form_head"]) == (
        0,
        0,
    ) and "Encoder" in answer["picture"]["value"]["title"]
    assert drawn("post-norm", form_layer=9, form_head=1)["picture"]["visible"]


def test_a_model_without_maps_shows_its_translations_and_says_why_there_are_none(
    drawn,
):
    answer = drawn("gru")
    assert (
        answer["story"]
        and not answer["picture"]["visible"]
        and not answer["grid"]["visible"]
    )
    assert "This model has no attention" in answer["said"]
    answer = drawn("gru-attention", form_stack="decoder_self")
    assert "A recurrent model has no self-attention" in answer["problem"]
    assert answer["errors_part"]["visible"] and answer["story"]


def test_what_is_not_there_is_one_sentence(drawn, folders, tiny_checkpoint, tmp_path):
    copies = {
        name: shutil.copytree(folders[name], tmp_path / name)
        for name in ("gru", "post-norm")
    }
    (copies["gru"] / recorded.MOMENTS).unlink()
    path = copies["post-norm"] / recorded.MOMENTS
    path.write_bytes(path.read_bytes()[:-100])
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), copies, "cpu")) as some:
        for name, said in (
            ("pre-norm", "is not available here"),
            ("gru", "No moments were kept of the training of"),
            ("post-norm", "holds no moments of a training run"),
        ):
            answer = drawn(name, some)
            assert (
                said in answer["problem"]
                and not answer["picture"]["visible"]
                and answer["story"] == ""
            )


# The film


@pytest.fixture
def watched(models, learned_pairs):
    """`watched(**values)`: what the part answers of the first pair that was learned."""
    translation = models.default.translate(learned_pairs[0][0])
    pictures = laid_out(models).pictures["film"]

    def watched(service=models.default, made=None, **values):
        return Ask.always(service, ENGLISH).answer(
            pictures.draw,
            made={} if made is None else made,
            **{"translation": translation, "film_moment": 12, **values},
        )

    return watched


def test_all_frames_of_the_film_come_in_one_answer(watched, models, learned_pairs):
    answer = watched(film_moment=5)
    film = answer["film"]
    english, spanish = film["pair"]
    assert english == learned_pairs[0][0]
    assert spanish == models.default.translate(english).best.text
    assert (len(film["frames"]), film["moment"]) == (12, 5)
    assert [one["step"] for one in film["frames"]] == sorted(
        {one["step"] for one in film["frames"]}
    )
    shape = len(film["queries"]), len(film["keys"])
    for frame in film["frames"]:
        levels = np.frombuffer(base64.b64decode(frame["map"]), np.uint8).reshape(shape)
        assert np.abs(levels.sum(1, dtype=int) - 255).max() <= shape[1], "rounded"
    first, last = film["frames"][0], film["frames"][-1]
    assert (first["done"], last["done"]) == (0, 1)
    # it has learned: of a training that is fit to be shown
    assert last["loss"] < first["loss"] / 2 and last["error"] < 0.35 < first["error"]
    assert len(json.dumps(film)) < 60_000, "one payload, of bytes"


def test_the_film_is_played_once_a_translation(watched):
    """Whatever frame is shown when the part is opened again."""
    made = {}
    assert watched(made=made)["film"]
    assert watched(made=made) == watched(made=made, film_moment=3) == {"problem": ""}


def test_another_direction_is_played_the_other_way_round(watched, models):
    service = models.default
    turned = SimpleNamespace(
        ask=service.ask, info=replace(service.info, source="es", target="en")
    )
    there, back = watched()["film"]["pair"], watched(turned)["film"]["pair"]
    assert list(back) == list(reversed(there))


def test_a_model_of_other_languages_has_no_film(watched, models):
    info = replace(models.default.info, source="de", name="de-en")
    answer = watched(SimpleNamespace(ask=models.default.ask, info=info))
    assert "The film is of a model between English and Spanish" in answer["problem"]
    assert answer["film"] is None
