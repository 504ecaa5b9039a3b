"""The study of translators without masks and with them: what it learns from, and that it
goes on where it was stopped."""

import pytest

from research.options import UnmaskedRuns
from research.studies import unmasked as study
from xformer.explain import whole_sentences
from xformer.results import UserError

COLOURS = ("red", "blue", "green", "grey", "pink")
THINGS = ("cat", "dog", "car", "hat", "cup", "box")
PAIRS = [
    (f"The {thing} is very {colour}.", f"¡El {thing} es muy {colour}!")
    for thing in THINGS
    for colour in COLOURS
]
LONG = ("one two three four five six seven eight nine", "uno")


def options(out, **how):
    return UnmaskedRuns(
        **{
            "out": out,
            "pairs": 20,
            "steps": 2,
            "rows": 8,
            "d_model": 4,
            "seeds": 1,
            **how,
        }
    )


def test_pairs_are_short_words_without_capitals_each_sentence_once():
    found = study.short([*PAIRS, LONG, PAIRS[0]], 8)
    assert len(found) == len(PAIRS)
    assert (
        ("the", "cat", "is", "very", "red"),
        ("el", "cat", "es", "muy", "red"),
    ) in found


def test_each_run_is_made_once_and_all_stand_in_one_file(tmp_path):
    said = [*study.record(options(tmp_path), PAIRS, tmp_path)]
    assert said[0] == "20 pairs to learn from, 10 new ones"
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*-0.npz")}
    kept = whole_sentences.load(tmp_path / "unmasked.npz")
    assert {*kept.models} == {*study.KINDS} and len(kept.about["runs"]) == 2
    assert kept.models["masked"].config.masked
    (tmp_path / "masked-0.npz").unlink()
    [*study.record(options(tmp_path), PAIRS, tmp_path)]
    assert (tmp_path / "masked-0.npz").is_file()
    assert (tmp_path / "unmasked-0.npz").stat().st_mtime_ns == times["unmasked-0.npz"]


def test_scores_count_words_in_their_places():
    pairs = study.short(PAIRS, 8)
    vocabulary = study.vocabulary_of(pairs)
    source, target = study.tensors(pairs, vocabulary, 10)

    class Right:
        """Copies what it is given, and writes the first word alone."""

        config = study.Config(2, 2, False)

        def __call__(self, source, target):
            return study.F.one_hot(target[:, 1:], len(vocabulary.target)).float()

        def write_in_turn(self, source):
            written = target.clone()
            written[:, 2:] = study.EOS
            return written

        write_at_once = write_in_turn

    found = study.scores(Right(), pairs, vocabulary)
    assert found["given"] == 1
    assert found["turn"] == pytest.approx(2 / 6, abs=1e-3), "one of five, and EOS"
    assert found["exact_turn"] == 0 == found["bleu_once"]


def test_without_pairs_to_score_with_it_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match="No pair is left to score with"):
        next(study.record(options(tmp_path, pairs=len(PAIRS)), PAIRS, tmp_path))
