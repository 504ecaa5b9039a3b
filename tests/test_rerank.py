"""A model of the other direction chooses among hypotheses: equal to what each model
says by itself."""

from contextlib import closing

import numpy as np
import pytest

from xformer.__main__ import main
from xformer.hub.shipped import REVERSE, TRANSLATION
from xformer.results import Force, Options, UserError
from xformer.serve.rerank import WEIGHT, Reranked
from xformer.serve.translation import Service

TEXTS = [
    "I was talking to my friend about his old car.",
    "She gave me back the keys yesterday.",
    "He plays hockey on Sundays.",
]
OPTIONS = Options(beam=5, n_best=5, alternatives=1)


@pytest.fixture(scope="module")
def both():
    with (
        closing(Service.open(TRANSLATION.path, "cpu")) as one,
        closing(Service.open(REVERSE.path, "cpu")) as other,
    ):
        yield one, other


def test_hypotheses_are_ranked_by_what_both_models_say(both):
    service, other = both
    usual, found = (
        one.translate_many(TEXTS, OPTIONS)
        for one in (service, Reranked(service, other))
    )
    moved = 0
    for before, after in zip(usual, found, strict=True):
        assert {one.text for one in before.n_best} == {one.text for one in after.n_best}
        tokens = tuple(other.typed(before.source)[0])
        scores = [
            one.score + WEIGHT * np.mean(other.ask(Force(one.text, tokens)).log_probs)
            for one in after.n_best
        ]
        assert scores == sorted(scores, reverse=True)
        moved += before.n_best != after.n_best
    assert moved, "or the other model has no say"
    one = Reranked(service, other).translate_many(TEXTS[:1], Options(beam=5))[0]
    assert (
        [one.best.text] == [found[0].best.text]
        and len(one.n_best) == 1
        and one.options == Options(beam=5)
    )


def test_a_model_of_the_same_direction_is_refused(both):
    with pytest.raises(
        UserError,
        match="translates en to es and cannot rank what en-es writes; name one that",
    ):
        Reranked(both[0], both[0])


def test_the_commands_rank_too(both, capsys, tmp_path):
    assert (
        main(["translate", "--rerank", "--n-best", "2", "--device", "cpu", TEXTS[0]])
        == 0
    )
    wanted = Reranked(*both).translate_many(TEXTS[:1], Options(n_best=2))[0]
    assert (
        capsys.readouterr().out == "\t".join(one.text for one in wanted.n_best) + "\n"
    )
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{TEXTS[0]}\t{wanted.best.text}\n")
    evaluate = [
        "evaluate",
        "translation",
        "--device",
        "cpu",
        "--pairs",
        str(pairs),
        "--rerank",
    ]
    assert main(evaluate) == 0 and "BLEU 100.0" in capsys.readouterr().out
    assert (
        main([*evaluate, "--save"]) == 2
        and "leave out --save, or --rerank" in capsys.readouterr().err
    )
