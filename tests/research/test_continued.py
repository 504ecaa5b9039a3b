"""Going on with a translator: what its teacher predicts is kept, and a head is taught to
link."""

import copy

import pytest
import torch

from research import continued
from research.continued import Keeping, Linked
from xformer.hub import checkpoint
from xformer.training.data.corpora import TranslationBatches
from xformer.training.options import BatchOptions

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def start(tiny_checkpoint):
    return checkpoint.load(tiny_checkpoint)


def patterns(tokenizer, tmp_path, *often):
    path = tmp_path / "patterns.tsv"
    path.write_text(
        "The cat drinks milk, and it sleeps.\tEl gato bebe leche y duerme.\tpattern it cat\n"
        "The dog eats bread.\tEl perro come pan.\tpattern\n",
        encoding="utf-8",
    )
    return continued.read_patterns(path, tokenizer, False, *often)


def task(start, found, **how):
    model = copy.deepcopy(start.model).requires_grad_(True)
    batches = TranslationBatches(
        start.tokenizer,
        [("The cat sleeps.", "El gato duerme.")],
        options=BatchOptions(),
    )
    how = {"every": 1, "keep": 0.6, "learn": 1.0, "link": 1.0, **how}
    return Keeping(model, start.tokenizer, batches, [], 0.1, patterns=found, **how)


def test_a_link_is_found_in_the_pieces_of_a_sentence(start, tmp_path):
    tokenizer = start.tokenizer
    found = patterns(tokenizer, tmp_path)
    assert len(found) == 4  # each as it stands, and as many people type it
    linked, typed, *without = found
    pieces = tokenizer.pieces(linked.source)
    assert "".join(pieces[i] for i in linked.seen) == "▁cat"
    assert "".join(pieces[linked.asks :]).startswith("▁it▁s")
    assert tokenizer.decode(typed.source) == "the cat drinks milk, and it sleeps"
    assert typed.seen and not any(one.seen for one in without)
    assert tokenizer.decode(linked.target) == "El gato bebe leche y duerme."


def test_patterns_that_an_expression_finds_are_drawn_oftener(start, tmp_path):
    found = patterns(start.tokenizer, tmp_path, "bread", 3)
    said = [start.tokenizer.decode(one.source) for one in found]
    assert said.count("The dog eats bread.") == said.count("the dog eats bread") == 3
    assert len(said) == 8  # and the other pair in both its forms


@pytest.mark.parametrize("link", ["it dog", "they cat", "cat it"])
def test_a_link_that_is_not_there_is_none(start, link):
    pieces = start.tokenizer.encode("The cat drinks milk, and it sleeps.")
    assert continued.places(start.tokenizer, pieces, link) is None


def test_what_the_teacher_predicts_is_kept(start):
    batch = [
        (start.tokenizer.encode("The cat sleeps."), start.tokenizer.encode("El perro."))
    ]
    sizes = {}
    for keep in (0.0, 1.0):
        running = task(start, [], keep=keep)
        running.model.train()
        running.loss(running.model, batch, CPU).backward()
        sizes[keep] = max(
            float(one.grad.abs().max()) for one in running.model.parameters()
        )
    # nothing is to be learned from one's own predictions
    assert sizes[1.0] < 1e-4 < sizes[0.0]


def test_a_head_learns_to_link(start, tmp_path):
    found = patterns(start.tokenizer, tmp_path)
    running = task(start, found, link=3.0, taught=[[9, 9]])
    before = running.head
    optimizer = torch.optim.Adam(running.model.parameters(), lr=3e-3)
    for _ in range(30):
        loss = running.loss(running.model.train(), found, CPU)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert running.linked[-1] > 0.9 > running.linked[0]
    assert running.best_head() == before
    running.save(tmp_path, {})
    assert checkpoint.read_metrics(tmp_path)["taught_heads"] == [[9, 9], [*before]]


def test_the_head_that_is_taught_can_be_one_of_a_layer(start, tmp_path):
    found = patterns(start.tokenizer, tmp_path)
    for layer in range(1, start.model.config.n_layers + 1):
        assert task(start, found, layer=layer).head[0] == layer
    assert task(start, [], layer=2).head == (2, 1)


def test_batches_of_patterns_come_between_the_others(start, tmp_path):
    found = patterns(start.tokenizer, tmp_path)
    running = task(start, found, every=1)
    kinds = [isinstance(batch[0], Linked) for batch in running.batches(0, 0)]
    assert kinds == [False, True]
    assert running.weight(found) == sum(len(one.target) + 1 for one in found)


def test_pairs_of_people_are_drawn_where_an_expression_is_found(start):
    pairs = [("She is old.", "Es vieja."), ("She is old.", "Ella es vieja.")]
    found = continued.also_drawn(pairs, start.tokenizer, "^She.*\tEs ", True)
    assert [start.tokenizer.decode(one.source) for one in found] == ["Es vieja."]
    assert start.tokenizer.decode(found[0].target) == "She is old."


def test_only_the_pieces_that_are_named_are_learned(start):
    tokenizer = start.tokenizer
    cat = tokenizer.encode("cat")[0]
    name = tokenizer.pieces([cat])[0]
    assert continued.pieces_of(tokenizer, name) == [cat]
    with pytest.raises(ValueError, match="No piece of the vocabulary"):
        continued.pieces_of(tokenizer, "no such piece")
    source = tokenizer.encode("The cat sleeps.")
    unlike = [Linked(source, tokenizer.encode("El perro."))]
    named = [Linked(source, [cat])]
    sizes = []
    for found in (unlike, named):
        running = task(start, found, learn=9.0, only=[cat])
        running.loss(running.model.train(), found, CPU).backward()
        sizes.append(
            max(float(one.grad.abs().max()) for one in running.model.parameters())
        )
    # what is not named is kept, so nothing is to be learned from it
    assert sizes[0] < 1e-4 < sizes[1]
