"""What is said of a training run, from made-up histories of which it is known; and
recorded runs that are broken."""

import json
from dataclasses import replace

import pytest

from xformer.explain import recorded as courses
from xformer.results import RunSettings, TrainingCourse, UserError
from xformer.strings import ASSETS, ENGLISH

SETTINGS = RunSettings("reverse", "post", 6, "cosine", 0, 3e-3, 0.0, 1, 600)


def course(loss, norm=None, scores=(), **more):
    steps = tuple(range(10, 10 * len(loss) + 10, 10))
    return TrainingCourse(
        SETTINGS,
        steps,
        tuple(loss),
        (1e-3,) * len(loss),
        tuple(norm or (0.8,) * len(loss)),
        tuple(scores),
        **{"seconds": 18.2, "guess": 3.0, **more},
    )


SEEDS = [0, 1, 2]
FALLING = [3.5 - 0.1 * i for i in range(30)]


def test_a_rise_for_good_is_a_divergence_with_its_step_and_norms():
    found = courses.verdict(
        course(
            [*FALLING, 0.6, 2.9, 3.0, 3.0, 3.1, 3.0],
            [*[0.8] * 30, 2.0, 61.0, 30, 5, 5, 5],
        )
    )
    assert found.say() == (
        "Diverged at step 320: the gradient’s norm rose from 0.8 to 61, and the loss went from 0.60 "
        "up to 3.00."
    )


def test_one_odd_batch_is_no_divergence_nor_is_a_rise_that_is_made_good():
    odd = [*FALLING[:15], 3.4, *FALLING[15:]]
    back = [*FALLING[:15], 3.0, 3.0, 3.0, 3.0, *FALLING[15:]]
    for loss in (odd, back):
        assert (
            courses.verdict(course(loss, scores=[(300, 9.0, 0.4)])).key == "run_halfway"
        )


def test_numbers_that_are_none_are_a_divergence():
    assert (
        courses.verdict(course(FALLING, ended="diverged"))
        .say()
        .startswith("Diverged: after step 300")
    )
    assert courses.verdict(course([], ended="diverged")).key == "run_no_number"


def test_who_only_guesses_has_stalled():
    found = courses.verdict(course([3.6, 3.1, *[2.95] * 20], scores=[(220, 9.0, 0.0)]))
    assert found.say() == (
        "Stalled: after 220 steps the loss is 2.95. A guess that knows only how often each "
        "piece comes has 3.00; the loss is not 20 % below that."
    )


@pytest.mark.parametrize(
    ("last", "bleu", "key"), [(2.45, 1.5, "run_stalled"), (2.35, 0.5, "run_bleu")]
)
def test_whether_a_run_learned_is_told_by_its_loss_alone(last, bleu, key):
    found = course([3.6, 3.1, *[last] * 20], scores=[(220, 9.0, bleu)], measure="bleu")
    assert courses.verdict(found).key == key and courses.learned(found) == (
        key == "run_bleu"
    )


@pytest.fixture(scope="module")
def kept():
    """The recorded runs that ship."""
    return courses.read(ASSETS / "runs.json").courses


def test_every_question_has_all_its_runs_with_the_same_seeds(kept):
    apart = courses.read(ASSETS / "parts.json").courses
    for question, wanted in courses.QUESTIONS.items():
        found = courses.kinds(apart if question in courses.APART else kept, question)
        assert tuple(found) == wanted
        for runs in found.values():
            assert [one.settings.seed for one in runs] == SEEDS


def test_a_part_taken_away_was_recorded_at_all_lengths():
    """A loss without smoothing for all, on all of dev, and BLEU by length."""
    found = courses.read(ASSETS / "parts.json")
    assert (found.about["held_out"], found.about["dev"]) == ("unsmoothed", 2334)
    for one in found.courses:
        least = 800_000 if one.settings.pairs else 900_000  # few pairs: shorter batches
        assert len(one.by_length) == len(courses.LENGTHS) + 1 and one.seen > least


def test_neighbours_of_a_question_differ_in_one_setting():
    grids = {"order": ("norm", "warmup"), "dropout": ("without", "pairs")}
    for question, (first, *others) in courses.QUESTIONS.items():
        across, along = grids.get(question, ("norm", "norm"))
        pairs = (
            [(first, one) for one in others]
            if question not in grids
            else [
                (one, two)
                for one in (first, *others)
                for two in (first, *others)
                if (getattr(one, across) == getattr(two, across))
                != (getattr(one, along) == getattr(two, along))
            ]
        )
        for one, two in pairs:
            names = [
                name for name in vars(one) if getattr(one, name) != getattr(two, name)
            ]
            assert (
                len(names) == 1
                or names == ["smoothing", "without"]
                and two.without == "smoothing"
            )


def test_a_run_breaks_for_good_and_its_twins_do_not(kept):
    rising, lower, pre = courses.kinds(kept, "break").values()
    assert {courses.verdict(one).key for one in rising} == {"run_diverged"}
    assert not {"run_diverged", "run_no_number"} & {
        courses.verdict(one).key for one in (*lower, *pre)
    }


def test_too_small_a_rate_learns_little_and_too_few_pairs_are_learned_by_heart(kept):
    whole, slow = courses.kinds(kept, "rate").values()
    assert min(one.loss[-1] for one in slow) > max(one.loss[-1] for one in whole) + 0.5
    *_, few = courses.kinds(kept, "data").values()
    for one in few:
        assert (
            one.held_out[-1] > min(one.held_out) + 0.1
            and one.loss[-1] < min(one.held_out) - 1
        )


def test_dropout_pays_where_pairs_come_often_and_not_where_each_comes_once():
    found = courses.read(ASSETS / "parts.json").courses
    every, every_without, few, few_without = courses.kinds(found, "dropout").values()
    for better, worse in ((every_without, every), (few, few_without)):
        for one, other in zip(better, worse, strict=True):
            assert one.held_out[-1] < other.held_out[-1] - 0.1
            assert one.scores[-1][2] > other.scores[-1][2] + 1
    for one in (*few, *few_without):
        assert one.held_out[-1] > one.held_out[0], "they are learned by heart"


def test_right_answers_are_learning():
    found = courses.verdict(
        course(FALLING, scores=[(100, 6.0, 0.2), (200, 12.0, 0.92), (300, 18.0, 0.97)])
    )
    assert (
        found.say()
        == "Learned: 97 % of held-out answers right after 18 s; more than 90 % since step 200."
    )
    bleu = courses.verdict(course(FALLING, scores=[(300, 18.0, 12.34)], measure="bleu"))
    assert "BLEU is 12.3" in bleu.say()


def test_since_is_from_where_it_stays_above():
    scores = [
        (200, 12.0, 0.95),
        (220, 13.0, 0.91),
        (240, 14.0, 0.84),
        (260, 15.0, 0.97),
    ]
    assert (
        "more than 90 % since step 260"
        in courses.verdict(course(FALLING, scores=scores)).say()
    )


def test_losses_in_a_sentence_are_those_of_the_curve():
    loss = [5.69, 5.2, 5.08, *FALLING, 0.7, 0.9]
    said = courses.verdict(
        course(loss, scores=[(320, 18.0, 2.0)], measure="bleu")
    ).say()
    assert "the loss fell from 5.69 to 0.90" in said


def test_recorded_runs_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "runs.json"
    some = [
        course(FALLING, scores=[(300, 18.0, 0.97)]),
        course(FALLING[:9], ended="cut", measure="bleu"),
    ]
    path.write_text(courses.to_json({"machine": "ñ"}, some), encoding="utf-8")
    assert courses.read(path) == courses.Recorded({"machine": "ñ"}, tuple(some), 0)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run.update(loss=run["loss"][:-1]),
        lambda run: run.pop("norm"),
        lambda run: run.update(step=[]),
        lambda run: run.update(seconds="long"),
        lambda run: run["settings"].pop("norm"),
        lambda run: run.update(more=1),
        lambda run: run.update(scores=[[1, 2]]),
        lambda run: run["settings"].update(peak=None),
    ],
)
def test_a_broken_run_is_left_out_and_counted(tmp_path, spoil):
    path = tmp_path / "runs.json"
    stored = json.loads(
        courses.to_json({}, [course(FALLING), course(FALLING, ended="finished")])
    )
    spoil(stored["runs"][0])
    path.write_text(json.dumps(stored))
    found = courses.read(path)
    assert found.broken == 1 and [one.ended for one in found.courses] == ["finished"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"about": {}, "runs": 1}', "\x00", "[" * 100_000]
)
def test_a_file_that_is_none_is_one_sentence(tmp_path, content):
    path = tmp_path / "runs.json"
    path.write_text(content)
    with pytest.raises(
        UserError,
        match="The file runs.json of recorded runs is missing or broken; make it again",
    ):
        courses.read(path)
    with pytest.raises(UserError, match="missing or broken"):
        courses.read(tmp_path / "nowhere.json")


def test_a_value_is_smoothed_by_its_neighbours():
    assert courses.smoothed([1, 9, 1, 1, 1, 1]) == [1, 1, 1, 1, 1, 1]
    assert replace(course(FALLING), ended="x").ended == "x"


def test_what_is_said_of_the_recorded_gradients_is_what_they_were():
    """Their norm by layer, encoder then decoder, before the first step and at the
    end."""
    kept = [one for one in courses.read(ASSETS / "runs.json").courses if one.depths]
    whole = [one for one in kept if not one.settings.without]
    assert {one.settings.layers for one in whole} == {3} and {
        one.settings.norm for one in whole
    } == {"pre", "post"}
    assert max(first[-1] / first[0] for first, _ in (one.depths for one in whole)) < 2.2
    assert "as in the recorded runs, hardly" in ENGLISH.say("train_beginning_text")
    broken = [
        one
        for one in whole
        if one.settings.norm == "post" and one.settings.peak == 0.03
    ]
    assert len(broken) == 3 and all(
        last[0] < 1e-4 * first[0] for first, last in (one.depths for one in broken)
    )
    assert (
        "hardly any gradient reaches the first layers of the encoder"
        in ENGLISH.texts["recorded_look_break"]
    )


def test_a_loss_that_is_another_quantity_is_not_compared():
    """Its guess, too, is another: the smoothed target gives all pieces a share."""
    kept = courses.read(ASSETS / "parts.json").courses
    guesses = {one.settings: one.guess for one in kept}
    for plain in (one for one in kept if one.settings.without == "smoothing"):
        whole = replace(plain.settings, without="", smoothing=0.1)
        assert plain.settings.smoothing == 0
        assert abs(plain.guess - guesses[whole]) > 0.3
    assert "the last loss is another quantity" in ENGLISH.texts["recorded_look_parts"]
