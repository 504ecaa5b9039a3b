"""The path between two words: through the layers that are drawn, and what trained
encoders leave of a derivative."""

import json
import math
from collections import deque
from contextlib import closing
from itertools import product

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from research.studies import needed as study
from xformer.explain import alignment
from xformer.figures.generation import label
from xformer.hub import checkpoint
from xformer.model import Transformer, padding_mask
from xformer.parts.path import draw as figures
from xformer.parts.path import part
from xformer.parts.path.ask import reach
from xformer.pieces import BOS, EOS, PAD
from xformer.results import GENERATIONS, MeasureReach, Reach, UserError
from xformer.serve.pool import Models
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

TEXT = "The dog eats the bread."


def is_read(name, kernel, node, other):
    """Whether a node (layer, place) reads another: the connections of each kind, in
    words of one line each."""
    layer, place = node
    below, before = other
    if name == "recurrence":  # its input, or the state before it
        return layer == 1 and (other == (0, place) or other == (1, place - 1))
    if name == "self_attention":
        return (layer, below) == (1, 0)
    apart = kernel ** (layer - 1) if name == "dilated" else 1
    return (
        layer >= 1
        and below == layer - 1
        and place - before in [apart * i for i in range(kernel)]
    )


def steps_to_all(name, count, kernel, first):
    """The fewest steps from the input of a place to a state of each place, by a search
    through the whole graph."""
    nodes = [(layer, place) for layer in range(count + 1) for place in range(count)]
    read_by = {
        one: [node for node in nodes if is_read(name, kernel, node, one)]
        for one in nodes
    }
    steps = {(0, first): 0}
    waiting = deque([(0, first)])
    while waiting:
        one = waiting.popleft()
        for node in read_by[one]:
            if node not in steps:
                steps[node] = steps[one] + 1
                waiting.append(node)
    return {
        place: min(
            (far for (layer, at), far in steps.items() if at == place and layer),
            default=math.inf,
        )
        for place in range(count)
    }


@pytest.mark.parametrize("name", figures.NETWORKS)
@pytest.mark.parametrize(
    ("count", "kernel"),
    [(2, 3), (5, 2), (8, 2), (9, 3), (10, 3), (13, 5), (14, 3), (16, 4)],
)
def test_a_path_is_as_short_as_a_search_finds_and_only_follows_what_is_read(
    name, count, kernel
):
    longest = 0
    for first in range(count):
        found = steps_to_all(name, count, kernel, first)
        for last in range(first + 1, count):
            made = figures.network(name, count, kernel, first, last)
            route = [tuple(node) for node in made["route"]]
            assert route[0] == (0, first) and route[-1][1] == last and route[-1][0] > 0
            assert all(
                is_read(name, kernel, node, other)
                for other, node in zip(route, route[1:], strict=False)
            )
            assert len(route) - 1 == found[last], (first, last)
            longest = max(longest, found[last])
    # The exact formulas, of which table 1 of Vaswani et al. gives the orders n, n / k,
    # log_k n and 1.
    wanted = {
        "recurrence": count,
        "convolution": math.ceil((count - 1) / (kernel - 1)),
        "self_attention": 1,
        "dilated": next(layers for layers in range(9) if kernel**layers >= count),
    }[name]
    assert longest == wanted == (count if name == "recurrence" else len(made["feeds"]))
    read = {
        (layer, far) for layer, reads in enumerate(made["feeds"], 1) for far in reads
    }
    assert read == {
        (layer, place - before)
        for layer, place, before in product(
            range(1, len(made["feeds"]) + 1),
            range(count),
            range(-count * kernel, count),
        )
        if is_read(name, kernel, (layer, place), (layer - 1, before))
        and (name != "self_attention" or 0 <= before < count)
    }


@pytest.fixture(params=GENERATIONS)
def loaded(request, generation_checkpoints):
    return checkpoint.load_translator(generation_checkpoints[request.param])


def exact(model, tokens):
    """Norms of all blocks of the whole Jacobian, which PyTorch makes from one backward
    pass a number."""
    tokens = torch.tensor([tokens])
    if isinstance(model, Transformer):
        x, mask = model.embedding(tokens), padding_mask(tokens)
        whole = jacobian(lambda x: model.encoder(x, mask), x.detach())
    else:
        whole = jacobian(
            lambda x: model.encoder(x, tokens != PAD)[0], model.embed(tokens).detach()
        )
    return whole[0, :, :, 0].norm(dim=(1, 3)).numpy()  # [1, S, D, 1, S, D] -> [S, S]


def test_the_norms_are_those_of_the_whole_jacobian(loaded):
    model = loaded.model.eval()
    tokens = [*loaded.tokenizer.encode(TEXT), EOS]
    assert len(tokens) > 10 and model.config.d_model == 16
    wanted = exact(model, tokens)
    paused = []
    found = reach(model, loaded.tokenizer, tokens, lambda: paused.append(1))
    assert (
        found.norms == pytest.approx(wanted, rel=1e-3, abs=1e-7)
        and found.directions == 0
    )
    assert (
        found.pieces[-1] == "</s>"
        and len(paused) == len(tokens)
        and found.norms.dtype == np.float32
    )
    few = reach(model, loaded.tokenizer, tokens, directions=8)
    assert few.directions == 8 and few.norms != pytest.approx(wanted, rel=1e-3)
    assert (few.norms**2 / wanted**2).mean() == pytest.approx(1, abs=0.15), (
        "the squares are right on average"
    )
    assert not any(parameter.grad is not None for parameter in model.parameters())


def test_a_state_of_the_grus_knows_both_sides_by_half_of_its_numbers(
    generation_checkpoints,
):
    """What is on the left comes by the GRU that reads forwards alone, and what is on
    the right by the other."""
    loaded = checkpoint.load_translator(generation_checkpoints["gru"])
    model = loaded.model.eval()
    tokens = torch.tensor([[*loaded.tokenizer.encode(TEXT), EOS]])
    x = model.embed(tokens).detach().requires_grad_()
    state = model.encoder(x, tokens != PAD)[0][0, 4]
    for half, silent in ((state[:8], slice(5, None)), (state[8:], slice(0, 4))):
        (moved,) = torch.autograd.grad(half.sum(), x, retain_graph=True)
        assert moved[0, silent].abs().max() == 0 < moved.abs().max()


def test_what_is_too_long_is_refused_with_its_limit(running):
    with pytest.raises(
        UserError,
        match=r"This text has \d+ pieces; paths are drawn and measured for 1 to 48 pieces",
    ):
        running.ask(MeasureReach("The dog eats the bread. " * 9))


def made_up(pieces=("▁a", "▁b", "▁c", "▁d", "</s>"), directions=0):
    norms = (
        np.random.default_rng(0)
        .uniform(0.1, 2, (len(pieces), len(pieces)))
        .astype(np.float32)
    )
    return Reach((*pieces,), norms, directions)


def test_the_means_are_over_pairs_at_a_distance_without_the_end_of_the_sentence():
    found = made_up()
    left = figures.left(found)
    norms = found.norms
    own = np.mean([norms[i, i] for i in range(4)])
    for away in range(4):
        pairs = [norms[i, j] for i in range(4) for j in range(4) if abs(i - j) == away]
        assert left["means"][away] == pytest.approx(np.mean(pairs) / own, rel=1e-5)
    assert left["norms"][3][0] == pytest.approx(norms[3, 0] / own, rel=1e-5) and left[
        "means"
    ][0] == pytest.approx(1)


@pytest.mark.parametrize(
    "language", [ENGLISH, SPANISH], ids=lambda language: language.code
)
def test_a_curve_a_model_stands_on_a_logarithmic_axis_and_the_rest_is_left_out(
    language,
):
    found = {
        "gru": made_up(),
        "post-norm": "It is broken.",
        "pre-norm": None,
        "gru-attention": made_up(directions=8),
    }
    drawn = figures.curves(found, 2, language)
    assert [one.name for one in drawn.data] == [
        label(name, language) for name in ("gru", "gru-attention")
    ]
    assert [*drawn.data[0].x] == [0, 1, 2, 3] and [*drawn.data[0].y] == figures.left(
        found["gru"]
    )["means"]
    assert drawn.layout.yaxis.type == "log" and len(drawn.layout.yaxis.tickvals) >= 3
    assert drawn.layout.shapes[0].x0 == drawn.layout.shapes[0].x1 == 2
    assert (
        drawn.layout.xaxis.title.text
        and drawn.layout.yaxis.title.text
        and drawn.layout.title.text
    )
    assert figures.curves({"gru": None}, 2, language) is None
    models = figures.payload(["▁a", "b"], found, (1, 0), 3, language)["models"]
    assert [one.get("said") for one in models] == [None, "It is broken.", "…", None]
    assert [one.get("directions") for one in models] == [0, None, None, 8]


@pytest.fixture
def opened(made):
    """`opened(pool, text, made)`: what is answered where the part is opened, and `late`
    what is drawn of it; made: what is there already."""

    def answers(pool, text=TEXT, made=None, late=False, **values):
        pictures = opened.pictures
        return [
            *Ask.always(pool, ENGLISH).answers(
                pictures.stream,
                made={} if made is None else made,
                late=late,
                translation=pool.default.translate(text),
                **{**pictures.controls.defaults(pool.default), **values},
            )
        ]

    def opened(*given, **values):
        return answers(*given, **values)

    opened.pictures = made.pictures[part.ID]
    opened.late = lambda *given, **values: answers(*given, late=True, **values)[0]
    return opened


def test_models_are_measured_one_after_the_other_and_once_a_sentence(
    generations, opened
):
    kept = {}
    first, *others = opened(generations, made=kept)
    assert len(others) == 4 and "path_from" not in first, "the address stays"
    assert [one.found for one in part.measure(generations, "The cat sleeps.", ENGLISH)][
        0
    ] == dict.fromkeys(GENERATIONS)
    *_, last = values = [*part.measure(generations, TEXT, ENGLISH)]
    assert [
        sum(isinstance(one, Reach) for one in value.found.values()) for value in values
    ] == [0, 1, 2, 3, 4]
    assert opened(generations, made=kept) == [{"problem": ""}], "nothing again"
    answer = opened.late(generations, made=kept)
    chosen = answer["drawn"]["chosen"]
    with generations.lease("gru") as service:
        pieces = service.split(TEXT)[0].pieces
    assert pieces[chosen[1]].strip("▁.").isalnum() and chosen[0] == 0
    assert len(answer["drawn"]["pieces"]) == len(pieces)
    assert len(json.loads(answer["curves"]["figure"])["data"]) == 4
    assert [one.get("said") for one in answer["drawn"]["models"]] == [None] * 4
    again, *_ = opened(generations, "The cat sleeps.", kept, path_from=2, path_to=3)
    assert (again["path_from"], again["path_to"]) == (0, 0), (
        "words that are chosen are of their sentence"
    )


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        ((2, 4), (1, 3)),
        ((4, 2), (3, 1)),
        ((3, 3), None),
        ((0, 5), None),
        ((None, 2), None),
        ((1, 48), None),
    ],
)
def test_two_pieces_are_chosen_or_the_first_and_the_last(chosen, wanted):
    measured = part.Measured(TEXT, ("▁The", "▁dog", "▁e", "ats", "."), {})
    ends = part.ends_of(measured, *chosen)
    # the last whole word: “eats” is cut
    assert ends == (wanted or (0, 1))
    assert part.draw_curves(measured, ends, ENGLISH) is None
    drawn = part.draw(measured, ends, 3, ENGLISH)
    assert all(one["route"][0][1] == min(ends) for one in drawn["networks"])


def test_a_sentence_of_too_many_pieces_or_of_one_is_refused_in_a_sentence(
    generations, opened
):
    one = next(
        text
        for text in ("a", "e", "o", "s", "I", "The")
        if len(generations.default.split(text)[0].pieces) == 1
    )
    for text in ("The dog eats the bread. " * 5, one):
        kept = {}
        (answer,) = opened(generations, text, kept)
        assert (
            "paths are drawn and measured for 2 to 47 pieces" in answer["problem"]
            and answer["drawn"] is None
        )
        assert "drawn" not in opened.late(generations, text, kept)


def test_without_generations_the_paths_are_drawn_and_a_broken_one_says_why(
    tiny_checkpoint, generation_checkpoints, opened
):
    kept = {}
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), {}, "cpu")) as empty:
        opened(empty, made=kept)
        answer = opened.late(empty, made=kept)
        assert (
            answer["drawn"]["models"] == []
            and answer["curves"] is None
            and answer["drawn"]["networks"][0]["route"]
        )
    wrong = {**generation_checkpoints, "gru": generation_checkpoints["gru-attention"]}
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), wrong, "cpu")) as pool:
        *_, (_, _, found) = part.measure(pool, TEXT, ENGLISH)
        assert (
            found["gru"]
            == "The model named gru is of another kind: gru-attention; give its folder another name."
        )
        assert all(isinstance(found[name], Reach) for name in GENERATIONS[1:])


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_what_was_measured_of_need_is_drawn_and_said_by_its_numbers(language):
    drawn = figures.needed(part.NEEDED, language)
    assert [one.name for one in drawn.data] == [
        *(label(name, language) for name in GENERATIONS),
        language.say("path_needed_chance"),
    ]
    gru, _, _, pre, chance = ([*one.y] for one in drawn.data)
    # attention is where it is needed; a single state is not, and ever less
    assert min(pre) > 2 * max(gru) and gru[-1] < gru[0]
    assert [*drawn.data[0].x] == sorted(drawn.data[0].x) and chance[-1] < 3
    said = figures.needed_said(part.NEEDED, language)
    assert "60.3" in said and "66.6" in said


def test_the_gradient_of_need_is_that_of_each_word_by_each_input(loaded):
    """Beside differences: each number of an embedded piece moved a little, and the
    whole model asked again."""
    model = loaded.model.double().eval()
    source, target, places = study.joined(alignment.read_gold()[:2], loaded.tokenizer)
    assert max(places) < len(target) and max(map(max, places.values())) < len(source)
    source, target = [*source[:5], EOS], target[:3]
    found = study.gradients(model, source, target)
    assert found.shape == (3, 6)
    given = torch.tensor([[BOS, *target[:-1]]])
    # a recurrent model scales what its table gives
    scale = 1.0 if isinstance(model, Transformer) else model.config.d_model**0.5

    def log_prob(number, step):
        calls = []

        def moved(_, __, embedded):
            calls.append(1)
            if len(calls) > 1:  # of the target
                return embedded
            embedded = embedded.clone()
            embedded[0, 2, number] += step / scale
            return embedded

        handle = model.embedding.register_forward_hook(moved)
        with torch.no_grad():
            logits = model(torch.tensor([source]), given)[0]
        handle.remove()
        return float(logits.log_softmax(-1)[1, target[1]])

    step = 1e-4
    slopes = [
        (log_prob(i, step) - log_prob(i, -step)) / (2 * step)
        for i in range(model.config.d_model)
    ]
    assert float(found[1, 2]) == pytest.approx(math.hypot(*slopes), rel=1e-4)
