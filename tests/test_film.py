"""A film of a training: its weights come back, and it plays what passes would."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from xformer.explain import film, passes
from xformer.model import Config, Transformer
from xformer.results import Moment, Options, UserError
from xformer.translator import translate_ids

PAIR = ("The dog eats the bread.", "El perro come el pan.")


@pytest.fixture(scope="module")
def models(tokenizer):
    """A model at three moments, of which the second has moved little."""
    config = Config(
        len(tokenizer), d_model=16, n_heads=2, n_layers=2, d_ff=16, dropout=0.0
    )
    made = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        made.append(Transformer(config).eval())
    with torch.no_grad():
        for weight in made[1].parameters():
            weight += 0.01 * torch.randn_like(weight)
    return made


@pytest.fixture(scope="module")
def reel(models, tokenizer):
    errors = np.full((3, 2, 2, 2), 0.9, np.float32)
    errors[-1, 1, 0, 1] = 0.2
    weights = [
        {name: one.numpy() for name, one in model.state_dict().items()}
        for model in models
    ]
    return film.Reel(
        models[0].config,
        tokenizer,
        tuple(Moment(step, 60.0 * step, step, step / 4) for step in (0, 2, 4)),
        ((1, 8.0), (4, 6.5)),
        errors,
        **film.kept(weights),
    )


@pytest.fixture
def file(reel, tmp_path):
    path = tmp_path / "film.npz"
    film.write(path, reel)
    return path


def test_weights_come_back_within_half_a_level(models, reel, file):
    back = film.read(file)
    assert (back.config, back.moments, back.course) == (
        reel.config,
        reel.moments,
        reel.course,
    )
    assert back.tokenizer.model == reel.tokenizer.model
    assert (back.head, back.reading) == (reel.head, "given")
    largest = {
        name: max(model.state_dict()[name].abs().max().item() for model in models)
        for name in reel.weights
    }
    for moment, model in enumerate(models):
        found = back.at(moment)
        for name, weight in model.state_dict().items():
            assert found[name].dtype == torch.float32
            off = (found[name] - weight).abs().max().item()
            assert off <= 0.51 * largest[name] / film.LEVELS, (moment, name)


def test_it_plays_what_a_pass_and_a_search_with_these_weights_give(reel):
    played = film.play(reel, *PAIR)
    tokenizer = reel.tokenizer
    source, target = map(tokenizer.encode, PAIR)
    pair = passes.Pair.of(source, target)
    assert played.source == tuple(tokenizer.pieces(pair.source))
    assert played.target == tuple(tokenizer.pieces(target))
    assert (played.head.layer, played.head.head) == (1, 2)
    assert played.errors == pytest.approx((0.9, 0.9, 0.2))
    model = Transformer(reel.config).eval()
    for moment in range(3):
        model.load_state_dict(reel.at(moment))
        trace = passes.trace(model, tokenizer, pair, PAIR[0])
        # each row of the pieces given, after <s>
        np.testing.assert_allclose(
            played.maps[moment], trace.cross[0, 1, 1:], atol=1e-6
        )
        assert played.losses[moment] == pytest.approx(-np.mean(trace.log_probs))
        ((best, *_),) = translate_ids(
            model,
            [source],
            Options(beam=1, alternatives=0),
            max_lengths=[len(target) + film.BEYOND],
        )
        assert played.translations[moment] == tokenizer.decode(best.tokens)
    assert played.parameters == model.parameter_count()


def test_rows_of_what_is_predicted_begin_before_it(reel):
    errors = reel.errors.copy()
    errors[-1, 0, 1, 0] = 0.1
    other = replace(reel, errors=errors)
    assert other.reading == "predicted"
    played = film.play(other, *PAIR)
    model = Transformer(reel.config).eval()
    model.load_state_dict(reel.at(0))
    pair = passes.Pair.of(*map(reel.tokenizer.encode, PAIR))
    trace = passes.trace(model, reel.tokenizer, pair, PAIR[0])
    np.testing.assert_allclose(played.maps[0], trace.cross[1, 0, :-1], atol=1e-6)


def test_what_cannot_be_played_is_one_sentence(reel, file):
    for pair in (("", "El perro."), (PAIR[0], " ".join(["El perro come."] * 30))):
        with pytest.raises(UserError, match="from 1 to 60 pieces"):
            film.play(reel, *pair)
    file.write_bytes(file.read_bytes()[:-200])
    for path in (file, file.with_name("none.npz")):
        with pytest.raises(UserError, match="is missing or broken"):
            film.read(path)
