"""An autoencoder: what goes through its bottleneck and what does not, and what noise
does to a text."""

import random

import numpy as np
import pytest
import torch

from research.studies.autoencoder import save, spoiled
from xformer.autoencoder import Autoencoder, AutoencoderConfig
from xformer.explain import autoencoders
from xformer.pieces import BOS, EOS, PAD
from xformer.results import UserError
from xformer.translator import pad

SHAPE = {
    "vocab_size": 24,
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "d_ff": 32,
    "dropout": 0.0,
    "max_length": 8,
    "code": 12,
    "widths": (3, 12),
}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Autoencoder(AutoencoderConfig(**SHAPE)).eval()


def marked(*texts):
    return pad([[BOS, *text, EOS] for text in texts])


def test_only_the_first_numbers_of_a_code_pass(model):
    narrow = model.encode(marked([5, 6]), 3)
    wide = model.encode(marked([5, 6]), 12)
    assert torch.equal(narrow[:, :3], wide[:, :3]) and not narrow[:, 3:].any()
    assert wide.abs().max() < 1 and wide.all()


def test_padding_changes_no_code(model):
    alone = model.encode(marked([5, 6]), 12)
    beside = model.encode(marked([5, 6], [7, 8, 9, 10]), 12)
    assert torch.allclose(alone[0], beside[0], atol=1e-6)


def test_what_is_written_hangs_on_the_code_alone(model):
    """Of two texts with one code the same comes back, whatever went in."""
    code = model.encode(marked([5, 6]), 3)
    assert model.write(code) == model.write(torch.cat((code, code)))[:1]
    logits = model.decode(code, torch.tensor([[BOS, 5, 6]]))
    other = model.decode(code, torch.tensor([[BOS, 5, 9]]))
    assert torch.allclose(logits[:, :2], other[:, :2], atol=1e-6), "no piece sees ahead"
    assert not torch.allclose(logits[:, 2], other[:, 2], atol=1e-3)


def test_two_texts_are_learned_by_heart_at_both_widths(model):
    texts = [[5, 6, 7, 8], [9, 10, 11]]
    tokens = marked(*texts)
    steps = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.train()
    for step in range(120):
        code = model.encode(tokens, (3, 12)[step % 2])
        loss = torch.nn.functional.cross_entropy(
            model.decode(code, tokens[:, :-1]).flatten(0, 1),
            tokens[:, 1:].flatten(),
            ignore_index=PAD,
        )
        loss.backward()
        steps.step()
        steps.zero_grad()
    model.eval()
    for width in (3, 12):
        assert model.write(model.encode(tokens, width)) == texts


def test_noise_drops_and_delays_pieces():
    text = [*range(5, 45)]
    assert spoiled(text, 0.0, 0.0, random.Random(0)) == text
    dropped = spoiled(text, 0.3, 0.0, random.Random(0))
    assert dropped == sorted(dropped) and 15 < len(dropped) < 40
    late = spoiled(text, 0.0, 0.3, random.Random(0))
    assert sorted(late) == text and late != text
    places = np.array([late.index(piece) - i for i, piece in enumerate(text)])
    assert set(places.tolist()) == {-1, 0, 1}, "each comes at most a step late"
    assert spoiled([5], 0.999, 0.5, random.Random(0)) == [5]


@pytest.mark.parametrize("widths", [(), (0,), (13,)])
def test_a_width_beyond_the_code_is_refused(widths):
    with pytest.raises(ValueError, match="from 1 to 12"):
        AutoencoderConfig(**{**SHAPE, "widths": widths})


def test_a_file_gives_back_model_vocabulary_and_scores(model, tokenizer, tmp_path):
    path = tmp_path / "one.npz"
    save(path, model, tokenizer, {"exact_3": 0.5})
    kept = autoencoders.load(path)
    assert kept.model.config == model.config and kept.metrics == {"exact_3": 0.5}
    assert kept.tokenizer.model == tokenizer.model
    code = model.encode(marked([5, 6]), 12)
    assert torch.allclose(kept.model.encode(marked([5, 6]), 12), code, atol=2e-3)
    assert [one.name for one in tmp_path.iterdir()] == ["one.npz"]


def test_a_broken_file_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "one.npz"
    path.write_bytes(b"PK")
    with pytest.raises(UserError, match="one.npz"):
        autoencoders.load(path)
