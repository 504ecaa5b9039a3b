"""Attention from first principles: the walk against the model's own numbers, and each
claim on hand-worked cases."""

import html
import json
import math
import re
from functools import partial

import numpy as np
import pytest
import torch

from tests.made import rows_below
from tests.pages import laid_out, shown
from xformer import results
from xformer.explain import passes
from xformer.explain import principles as walkthrough
from xformer.model import Record, Trace, Transformer
from xformer.parts.principles import draw as figures
from xformer.parts.principles import part as tab
from xformer.pieces import BOS, EOS
from xformer.results import Begin, Head, UserError, Walk, WalkHead, fixed
from xformer.strings import ENGLISH, SPANISH
from xformer.translator import pad

LOG2 = math.log(2)


def number_in(pattern, said):
    """The number that a text has in a place, such as 1.2 · 10⁻⁷."""
    plain = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    return float(re.search(pattern, said)[1].replace(" · 10", "e").translate(plain))


@pytest.fixture(params=results.STACKS)
def walk(request, running, learned_pairs):
    return running.ask(WalkHead(*learned_pairs[1], Head(request.param, 2, 3)))


def hand_walk(stack="cross"):
    """Two queries and three keys, the last of them padding, of two dimensions, whose
    numbers one can do in one's head."""
    q = np.array([[1, 0], [0, 2]])
    k = np.array([[2, 0], [0, 1], [5, 5]])
    v = np.array([[1, 1], [3, 0], [9, 9]])
    mask = np.array([[True, True, False]] * 2)
    scaled = q @ k.T / math.sqrt(2)
    probabilities = walkthrough.softmax(scaled, 1, mask)
    return Walk(
        Head(stack, 1, 1),
        ("<s>", "▁a<b>"),
        ("▁a<b>", "</s>"),
        ("▁x&y", "</s>", "<pad>"),
        q,
        k,
        v,
        mask,
        q @ k.T,
        scaled,
        np.where(mask, scaled, -np.inf),
        probabilities,
        probabilities @ v,
        np.ones((2, 4)),
        np.zeros((2, 4)),
        np.array([[1, 2, 0, 0], [0, 0, 3, 4]]),
        np.eye(4)[:3],
        np.ones((4, 2)),
        np.zeros(2),
        np.array([[1, 0, 7, 8], [0, 2, 9, 6]]),
    )


# The walk


@pytest.mark.parametrize(("layer", "head"), [(1, 1), (2, 4)])
@pytest.mark.parametrize("stack", results.STACKS)
def test_a_walk_ends_where_the_model_does(running, learned_pairs, stack, layer, head):
    trace = running.trace(*learned_pairs[0])
    walk = running.ask(WalkHead(*learned_pairs[0], Head(stack, layer, head)))
    np.testing.assert_allclose(
        walk.probabilities, getattr(trace, stack)[layer - 1, head - 1], atol=1e-5
    )
    others = [
        running.ask(WalkHead(*learned_pairs[0], Head(stack, layer, h))).shares
        for h in range(1, running.info.n_heads + 1)
    ]
    module = (
        running.model.encoder.layers
        if stack == "encoder_self"
        else running.model.decoder.layers
    )
    attention = getattr(
        module[layer - 1], "cross_attention" if stack == "cross" else "self_attention"
    )
    np.testing.assert_allclose(
        sum(others) + attention.out_proj.bias.numpy(), walk.output, atol=1e-5
    )


def test_every_step_of_a_walk_follows_from_the_one_before(walk):
    np.testing.assert_allclose(walk.scores, walk.q @ walk.k.T, atol=1e-4)
    np.testing.assert_allclose(
        walk.scaled, walk.scores / math.sqrt(walk.q.shape[1]), atol=1e-5
    )
    np.testing.assert_allclose(
        walk.masked[walk.mask], walk.scaled[walk.mask], atol=1e-6
    )
    assert (walk.masked[~walk.mask] == -np.inf).all() and (
        walk.probabilities[~walk.mask] == 0
    ).all()
    np.testing.assert_allclose(
        walk.probabilities, walkthrough.softmax(walk.masked.clip(-1e9), 1), atol=1e-6
    )
    np.testing.assert_allclose(walk.answers, walk.probabilities @ walk.v, atol=1e-5)


def test_padding_changes_nothing_but_the_mask(running, learned_pairs):
    plain, padded = (
        running.ask(WalkHead(*learned_pairs[0], Head("encoder_self", 1, 1), n))
        for n in (0, 3)
    )
    assert (
        padded.keys == (*plain.keys, "<pad>", "<pad>", "<pad>")
        and padded.queries == plain.queries
    )
    assert not padded.mask[:, -3:].any() and plain.mask.all()
    np.testing.assert_allclose(padded.output, plain.output, atol=1e-5)


def test_a_decoder_walk_has_the_future_mask(running, learned_pairs):
    walk = running.ask(WalkHead(*learned_pairs[0], Head("decoder_self", 1, 1)))
    assert (walk.mask == np.tril(np.ones_like(walk.mask))).all()
    assert walk.queries[0] == "<s>" and walk.predicted[-1] == "</s>"


def test_calls_are_kept_only_where_they_are_asked_for(
    running, tokenizer, learned_pairs
):
    source = pad([[*tokenizer.encode(learned_pairs[0][0]), EOS]])
    seen = Trace()
    asked = Trace(cross=Record(calls=[]))
    with torch.inference_mode():
        for trace in (seen, asked):
            running.model(source, torch.tensor([[BOS]]), trace)
    assert seen.cross.calls is None and asked.encoder_self.calls is None
    assert [call.q.shape for call in asked.cross.calls] == [(1, 4, 1, 8)] * 2


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (
            ("encoder_self", 3, 1, 0),
            "no head 1 in layer 3 of encoder_self; the stacks are encoder_self, decoder_self",
        ),
        (("cross", 1, 5, 0), "layers 1 to 2 with heads 1 to 4"),
        (("cross", 0, 1, 0), "no head 1 in layer 0"),
        (("sideways", 1, 1, 0), "of sideways"),
        (("cross", 1, 1, 500), "500 pieces of padding"),
        (("cross", 1, 1, -1), "at least 0"),
    ],
)
def test_a_walk_that_cannot_be_taken_says_why(running, learned_pairs, choice, said):
    with pytest.raises(UserError, match=said):
        running.ask(WalkHead(*learned_pairs[0], Head(*choice[:3]), choice[3]))


# One thing changed


def test_temperature_goes_from_uniform_through_the_softmax_to_one_hot():
    scores = np.array([[0.0, LOG2, 2 * LOG2]])
    np.testing.assert_allclose(walkthrough.softmax(scores, 0), [[1 / 3] * 3])
    np.testing.assert_allclose(walkthrough.softmax(scores, 1), [[1 / 7, 2 / 7, 4 / 7]])
    np.testing.assert_allclose(
        walkthrough.softmax(scores, 2), [[1 / 21, 4 / 21, 16 / 21]]
    )
    np.testing.assert_array_equal(
        walkthrough.softmax(scores, walkthrough.HARD), [[0, 0, 1]]
    )
    np.testing.assert_allclose(walkthrough.softmax(scores, 1e6), [[0, 0, 1]])
    np.testing.assert_array_equal(
        walkthrough.softmax(np.array([[3.0, 3, 1]]), walkthrough.HARD), [[0.5, 0.5, 0]]
    )


def test_the_ends_of_the_slider_are_uniform_and_hard():
    assert [walkthrough.at_power(0.25, p) for p in (-6, -1, 0, 2, 6)] == [
        0,
        0.125,
        0.25,
        1,
        math.inf,
    ]


def test_what_is_masked_gets_nothing_at_any_temperature():
    scores = np.array([[9.0, 1, 1], [1, 2, 3]])
    mask = np.array([[False, True, True], [False] * 3])
    for beta in (0, 0.5, walkthrough.HARD):
        np.testing.assert_allclose(
            walkthrough.softmax(scores, beta, mask), [[0, 0.5, 0.5], [0, 0, 0]]
        )


def test_scoring_functions_on_vectors_by_hand():
    q = np.array([[1.0, 2]])
    k = np.array([[3.0, 4], [1, 2]])
    np.testing.assert_allclose(walkthrough.score("scaled", q, k), [[11, 5]])
    np.testing.assert_allclose(walkthrough.score("unscaled", q, k), [[11, 5]])
    np.testing.assert_allclose(walkthrough.score("gaussian", q, k), [[-4, 0]])
    # X X^T
    np.testing.assert_allclose(walkthrough.score("identity", k, k), [[25, 11], [11, 5]])
    assert [walkthrough.own_beta(rule, 4) for rule in walkthrough.RULES] == [
        0.5,
        1,
        1,
        0.5,
        0.5,
    ]
    additive = walkthrough.score("additive", q, k)
    # the same weights every time
    np.testing.assert_array_equal(additive, walkthrough.score("additive", q, k))
    assert additive.shape == (1, 2) and additive[0, 0] != additive[0, 1]
    with pytest.raises(
        ValueError,
        match="the rule is 'cosine'; choose one of scaled, unscaled, additive",
    ):
        walkthrough.score("cosine", q, k)


def test_attention_without_parameters_is_pytorchs_of_what_enters_the_layer(walk):
    """h = X a with a = softmax(X X^T / sqrt(D)); in cross-attention the keys and values
    are the encoder's output."""
    mask = "future" if walk.head.stack == "decoder_self" else "padding"
    weights, beta = figures.changed(walk, "identity", 0, mask)
    x = torch.tensor(walk.x)[None]
    y = torch.tensor(walk.y)[None]
    wanted = torch.nn.functional.scaled_dot_product_attention(
        x, y, y, attn_mask=torch.tensor(walk.mask)
    )[0]
    np.testing.assert_allclose(weights @ walk.y, wanted, atol=1e-4)
    assert beta == pytest.approx(32**-0.5)
    hard, _ = figures.changed(walk, "identity", 6, mask)
    np.testing.assert_array_equal(
        hard.argmax(axis=1),
        np.where(walk.mask, walk.x @ walk.y.T, -np.inf).argmax(axis=1),
    )
    answer = (weights @ walk.y)[1]
    cosine = answer @ walk.x[1] / np.linalg.norm(answer) / np.linalg.norm(walk.x[1])
    assert f"with x is {cosine:.2f}." in figures.summary(walk, 1, "identity", 0, mask)
    assert "No parameters: q = k = v = x · β = 0.177 = 1/√D" in figures.scores(
        walk, 1, "identity", 0, mask
    )


@pytest.mark.parametrize("beta", [0.1, 1, 3])
def test_gaussian_kernel_regression_is_attention_with_keys_of_their_lengths(beta):
    """Nadaraya–Watson: weights exp(-β|q-k|²/2) over their sum, and the softmax of β
    (q·k - |k|²/2)."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((3, 5))
    k = rng.standard_normal((4, 5))
    found = walkthrough.softmax(walkthrough.score("gaussian", q, k), beta)
    kernel = np.exp([[-beta * sum((a - b) ** 2) / 2 for b in k] for a in q])
    np.testing.assert_allclose(found, kernel / kernel.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(
        found, walkthrough.softmax(q @ k.T - (k**2).sum(axis=1) / 2, beta)
    )


def test_the_unscaled_rule_is_the_scaled_one_at_another_temperature(walk):
    weights, beta = figures.changed(
        walk, "scaled", 0, "future" if walk.head.stack == "decoder_self" else "padding"
    )
    np.testing.assert_allclose(weights, walk.probabilities, atol=1e-5)
    assert beta == pytest.approx(walk.q.shape[1] ** -0.5)
    unscaled, _ = figures.changed(walk, "unscaled", 0, "none")
    scaled, _ = figures.changed(
        walk, "scaled", math.log2(math.sqrt(walk.q.shape[1])), "none"
    )
    np.testing.assert_allclose(unscaled, scaled, atol=1e-6)


def test_masks_by_hand():
    keys = ("▁a", "▁b", "<pad>")
    assert walkthrough.mask("none", 2, keys).all()
    assert walkthrough.mask("padding", 2, keys).tolist() == [[True, True, False]] * 2
    assert walkthrough.mask("future", 3, keys).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, False],
    ]
    with pytest.raises(
        ValueError, match="the mask is 'past'; choose one of padding, future, none"
    ):
        walkthrough.mask("past", 2, keys)


def test_entropy_is_in_bits():
    np.testing.assert_allclose(
        walkthrough.entropy(np.array([[0.25] * 4, [1, 0, 0, 0], [0.5, 0.5, 0, 0]])),
        [2, 0, 1],
    )


def test_the_variance_of_dot_products_grows_like_d_and_is_one_when_scaled():
    found = walkthrough.variance((4, 16, 64, 256), samples=1000)
    np.testing.assert_allclose(found.plain / found.d, 1, atol=0.08)
    np.testing.assert_allclose(found.scaled, 1, atol=0.08)
    assert (np.diff(found.largest_plain) > 0).all() and found.largest_plain[-1] > 0.9
    assert np.ptp(found.largest_scaled) < 0.05  # the softmax stays as soft as it was
    assert (np.diff(found.slope_plain) < 0).all() and found.slope_plain[-1] < 0.15
    assert np.ptp(found.slope_scaled) < 0.05 and found.slope_scaled[0] > 0.5
    p = torch.tensor([1.0, 2, 4]).softmax(dim=0)
    jacobian = torch.autograd.functional.jacobian(
        lambda s: s.softmax(dim=0), torch.tensor([1.0, 2, 4])
    )
    assert float(jacobian.trace()) == pytest.approx(
        float((p * (1 - p)).sum()), abs=1e-6
    )


def test_splitting_gives_more_distributions_for_the_same_parameters_and_products():
    found = [walkthrough.split(32, heads) for heads in (1, 2, 4, 8)]
    assert [one.weights.shape for one in found] == [(1, 8), (2, 8), (4, 8), (8, 8)]
    assert {one.parameters for one in found} == {4 * 32 * 32} and {
        one.products for one in found
    } == {2 * 8 * 8 * 32}
    for one in found:
        np.testing.assert_allclose(one.weights.sum(axis=1), 1)
        # each of its own
        assert len(np.unique(one.weights.round(6), axis=0)) == one.heads
    with pytest.raises(
        ValueError, match="d_model is 32, which 5 heads cannot share equally"
    ):
        walkthrough.split(32, 5)


# A slice of x, or all of it


@pytest.mark.parametrize("query", [0, 2])
def test_q_is_the_sum_over_slices_of_x_and_one_large_product_cut_is_the_same(
    walk, query
):
    figure = figures.slices(walk, query)
    d = walk.q.shape[1]
    rows = np.array(figure.data[0].z)
    # of head 3
    assert figure.layout.yaxis.ticktext == (
        "x 1–8",
        "x 9–16",
        "▶ x 17–24",
        "x 25–32",
        "b_Q",
        "q",
    )
    np.testing.assert_allclose(
        rows[2], walk.x[query, 16:24] @ walk.w_q[16:24], atol=1e-5
    )
    np.testing.assert_allclose(rows[:-1].sum(axis=0), walk.q[query], atol=1e-5)
    np.testing.assert_array_equal(rows[-1], walk.every_q[query, 2 * d : 3 * d])
    said = figures.sliced(walk, query)
    assert number_in(r"the largest difference is (.+?)\.( |<)", said) < 1e-5
    alone = rows[2] + walk.b_q
    weights = walkthrough.softmax(alone @ walk.k.T / math.sqrt(d), 1, walk.mask[query])
    best = figures.shown(walk.keys[int(weights.argmax())])
    assert (
        f"look most at {html.escape(best)} ({figures.percent(float(weights.max()))})"
        in said
    )
    assert "needs 64 weights in place of 256," in said
    cosine = (
        alone @ walk.q[query] / np.linalg.norm(alone) / np.linalg.norm(walk.q[query])
    )
    assert f"has the cosine {cosine:.2f} with" in said and cosine < 0.999


# Before training


def test_saturation_is_told_by_the_largest_weight_and_the_slope():
    scores = np.array([[0.0, LOG2, 50], [0, 0, 50]])
    mask = np.array([[True, True, False]] * 2)
    spread, largest, slope = walkthrough.saturation(scores, mask, 1)
    assert (spread, largest) == (
        pytest.approx(np.std([0, LOG2, 0, 0])),
        pytest.approx((2 / 3 + 1 / 2) / 2),
    )
    assert slope == pytest.approx((2 * 2 / 9 + 2 * 1 / 4) / 2)
    assert walkthrough.saturation(scores, mask, 2)[0] == pytest.approx(2 * spread)


@pytest.mark.parametrize("stack", results.STACKS)
def test_the_beginning_of_a_head_is_that_of_a_model_just_drawn(
    running, learned_pairs, stack
):
    pair = learned_pairs[1]
    head = Head(stack, 2, 3)
    config = running.model.config
    drawn, spread = running.ask(Begin(*pair, head))
    torch.manual_seed(0)
    fresh = Transformer(config).eval()
    tokens = (
        [*running.tokenizer.encode(pair[0]), EOS],
        [BOS, *running.tokenizer.encode(pair[1])],
    )
    trace = Trace()
    with torch.no_grad():
        fresh(*(torch.tensor([one]) for one in tokens), trace)
    np.testing.assert_allclose(
        drawn.probabilities, getattr(trace, stack).probabilities[1][0, 2], atol=1e-5
    )
    layer = (
        running.model.encoder if stack == "encoder_self" else running.model.decoder
    ).layers[1]
    assert len(spread) == (4 if stack == "encoder_self" else 6)
    for name, (then, now) in spread.items():
        matrix = layer.get_parameter(name)
        assert now == pytest.approx(float(matrix.std()))
        assert then == pytest.approx(math.sqrt(2 / sum(matrix.shape)), rel=0.05), (
            "Xavier's rule"
        )
    now = running.ask(WalkHead(*pair, head))
    assert not np.allclose(now.probabilities, drawn.probabilities, atol=0.01)
    table = figures.initial(now, (drawn, spread))
    number = f"{drawn.scores[drawn.mask].std():.3g}"
    assert (
        f'σ q·k</th><td class="number">{number}</td>' in table
        and table.count("<tr>") == len(spread) + 7
    )


def test_a_model_too_large_to_be_made_again_is_said_to_be(
    running, learned_pairs, monkeypatch
):
    monkeypatch.setattr(passes, "MOST_BEGUN", 1000)
    with pytest.raises(
        UserError,
        match=r"is not made a second time here.*; choose one of at most 1,000",
    ):
        running.ask(Begin(*learned_pairs[1], Head("cross", 1, 1)))


# What the tab draws

FOLDED = {
    "vectors": {"inputs", "checked", "vectors", "values", "output"},
    "reshape": {"reshape"},
    "map": {"map", "mutual", "one_way"},
    "rest": {"strips", "sums", "units", "firing", "course"},
    "variance": {"variance"},
    "split": {"costs", "splits"},
    "slice": {"slices", "sliced"},
    "initial": {"initial"},
}


@pytest.fixture(scope="module")
def page(running):
    return laid_out(running)


@pytest.fixture
def drawn(page, running, learned_pairs):
    """`drawn(**values)`: what the tab draws of the first pair where its controls and
    folds have these values."""
    pictures = page.pictures["principles"]
    trace = running.trace(*learned_pairs[0])
    closed = dict.fromkeys(pictures.flags, False)
    return lambda **values: shown(
        pictures, running, trace=trace, **{**closed, **values}
    )


def title(picture):
    """The title of a figure as it is sent."""
    return html.unescape(json.loads(picture["figure"])["layout"]["title"]["text"])


@pytest.mark.parametrize(("fold", "names"), FOLDED.items(), ids=FOLDED)
def test_what_is_folded_is_drawn_where_somebody_opens_it(drawn, fold, names):
    at_first = {"scores", "summary", "query"}
    assert {*drawn()} & {*at_first, *names} == at_first
    assert {*drawn(**{f"{fold}_open": True})} >= names


def test_all_pictures_are_those_of_the_piece_that_asks(drawn):
    pictures = drawn(query=1, vectors_open=True, slice_open=True, rest_open=True)
    asks = "after <s> → predicts El"
    assert asks in html.unescape(pictures["scores"])
    assert title(pictures["vectors"]).startswith(f"{asks}: q (1 × 8) and K (")
    assert title(pictures["values"]).endswith("and the weighted sum a (1 × 8)")
    assert title(pictures["output"]).startswith("a W_O (1 × 32)")
    assert (
        title(pictures["slices"]) == f"{asks}: what each slice of x gives to q (1 × 8)"
    )
    assert title(pictures["strips"]).startswith("<s>, layer 2: the state (1 × 32)")
    assert "Multiplied out with all 32 numbers, and b_Q added" in pictures["checked"]
    assert "All slices and b_Q add up to" in pictures["sliced"]


def test_what_follows_the_head_is_told_of_the_piece_that_asks(drawn):
    pictures = drawn(rest_open=True, reshape_open=True, initial_open=True)
    assert title(pictures["strips"]).startswith("El, layer 2: the state (1 × 32)")
    assert "units that fire most on El" in title(pictures["units"])
    assert re.search(r">Of 64 units, \d+ fire on El", pictures["firing"])
    assert len(json.loads(pictures["course"]["figure"])["data"]) == 10
    assert re.fullmatch(
        r"Queries \d × 32, cut into 4 × \d × 8", title(pictures["reshape"])
    )
    assert pictures["initial"].partition("<tbody>")[2].count("<tr") == 12


def test_another_stack_has_its_own_mask_which_may_be_lifted(
    page, running, learned_pairs
):
    pictures = page.pictures["principles"]
    trace = running.trace(*learned_pairs[0])
    made = {}
    draw = partial(
        shown,
        pictures,
        running,
        made=made,
        trace=trace,
        **{**dict.fromkeys(pictures.flags, False), "map_open": True},
    )
    draw()
    other = draw(first_stack="decoder_self")
    assert other["mask"]["value"] == "future" and "Padding and future" in title(
        other["map"]
    )
    lifted = draw(first_stack="decoder_self", mask="none")
    assert re.search(
        r"Without the future mask, .+\s% of the look goes to pieces", lifted["summary"]
    )
    assert "None · β = 0.354" in title(lifted["map"])


def test_a_map_that_is_its_own_transpose_is_mutual_and_one_way_it_is_not():
    mirror = np.array([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    ring = np.array([[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]])
    half = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]])
    found = walkthrough.mutual(np.stack([mirror, ring, half]))
    assert found == pytest.approx([1, 0, 2 / 3])
    # a map that says nothing is as mutual by chance as it is
    even = np.full((1, 4, 4), 0.25)
    assert walkthrough.mutual_by_chance(even) == pytest.approx([1])
    assert 0 < walkthrough.mutual_by_chance(mirror) < 1


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_each_head_of_the_encoder_has_its_mutuality(running, learned_pairs, language):
    trace = running.trace(*learned_pairs[0])
    head = Head("encoder_self", 2, 3)
    said = figures.mutual(trace, head, language)
    own = fixed(float(walkthrough.mutual(trace.encoder_self[1, 2])), ".2f")
    assert said.count("<td style") == 2 * 4 and said.count("aria-current") == 1
    assert language.html("first_mutual_encoder_self", own=own) in said
    drawn = figures.one_way(trace, head, language)
    assert np.abs(drawn.data[0].z + drawn.data[0].z.T).max() < 1e-6
    assert f"{own})" in drawn.layout.title.text
    assert figures.one_way(trace, Head("cross", 1, 1), language) is None
    other = figures.mutual(trace, Head("cross", 1, 1), language)
    assert "aria-current" not in other
    assert language.html("first_mutual_cross") in other


# The pictures


def test_the_vectors_are_drawn_with_the_query_on_top_and_their_largest_products_outlined():
    figure = figures.vectors(hand_walk(), 1)
    assert np.array(figure.data[0].z).tolist() == [[0, 2], [2, 0], [0, 1], [5, 5]]
    assert (
        figure.layout.title.text
        == "after a&lt;b&gt; → predicts &lt;/s&gt;: q (1 × 2) and K (3 × 2)"
    )
    assert figure.layout.yaxis.ticktext == (
        "q",
        "k · x&amp;y",
        "k · &lt;/s&gt;",
        "k · &lt;pad&gt;",
    )
    assert (
        figure.layout.xaxis.title.text == "dimension"
        and figure.layout.yaxis.title.text == "vector"
    )
    assert (
        figure.data[0].hovertemplate == "%{y}, dimension %{x}: %{z:+.4f}<extra></extra>"
    )
    assert tuple(figure.data[0].x) == (1, 2) == figure.layout.xaxis.tickvals
    assert figure.layout.xaxis.ticktext == ("1", "2") and tuple(
        figure.layout.xaxis.range
    ) == (0.5, 2.5)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-5, 5)
    # q is (0, 2): the second number of the second key counts, and no padding
    outlined = figure.data[1]
    assert (outlined.x[0], outlined.y[0], outlined.text[0]) == (
        2,
        2,
        "dimension 2: product +2.000",
    )


def test_no_more_products_are_outlined_than_are_told(walk):
    for figure, products in (
        (figures.vectors(walk, 1), walk.q[1] * walk.k * walk.mask[1][:, None]),
        (figures.values(walk, 1), walk.probabilities[1][:, None] * walk.v),
    ):
        outlined = figure.data[1]
        assert len(outlined.x) == figures.MARKED
        first = 1 if figure.layout.yaxis.ticktext[0] == "q" else 0
        found = [
            abs(products[y - first, x - 1])
            for x, y in zip(outlined.x, outlined.y, strict=True)
        ]
        np.testing.assert_allclose(
            found,
            np.sort(np.abs(products), axis=None)[::-1][: figures.MARKED],
            rtol=1e-5,
        )


def test_the_scores_are_told_step_by_step_with_their_numbers():
    walk = hand_walk()
    html = figures.scores(walk, 0, "scaled", 0, "padding")
    first, second = (f"{share:.2f}" for share in walk.probabilities[0][:2])
    assert rows_below(html) == [
        ["x&amp;y", "2.0", "1.4", "1.4", first, first],
        ["&lt;/s&gt;", "0.0", "0.0", "0.0", second, second],
        ["&lt;pad&gt;", "5.0", "3.5", "−∞", "0.00", "0.00"],
    ]
    assert re.findall(r'scope="col">(.*?)<', html) == [
        "is looked at (key)",
        "q·k",
        "q·k / √dₖ",
        "after the mask",
        "softmax",
        "Scaled dot product · β = 0.707 = 1/√dₖ",
    ]
    assert (
        "after &lt;s&gt; → predicts a&lt;b&gt; · q Kᵀ step by step (1 × 3), d_k = 2"
        in html
    )
    assert f'title="softmax, &lt;/s&gt;: {walk.probabilities[0, 1]:+.4f}"' in html
    assert (
        "−∞ (masked)" in html
        and '<tr class=chosen><th scope="row">x&amp;y' in html
        and "x&y" not in html
    )


def test_the_last_column_shows_what_the_switches_do_beside_what_the_model_does():
    walk = hand_walk()
    html = figures.scores(walk, 0, "scaled", 6, "padding")
    assert "Scaled dot product · β → ∞" in html and [
        row[5] for row in rows_below(html)
    ] == [
        "1.00",
        "0.00",
        "0.00",
    ]
    assert [row[4] for row in rows_below(html)] == [
        f"{share:.2f}" for share in walk.probabilities[0]
    ]
    assert f"--share:1.0000; --model:{walk.probabilities[0, 0]:.4f}" in html
    assert "with your switches" in html and "in the model" in html
    assert "Unscaled · β = 1<" in figures.scores(walk, 0, "unscaled", 0, "padding")
    assert "Gaussian kernel · β = 0<" in figures.scores(walk, 0, "gaussian", -6, "none")


def test_the_values_end_with_their_weighted_sum_and_the_output_with_all_heads():
    walk = hand_walk()
    figure = figures.values(walk, 0)
    np.testing.assert_allclose(figure.data[0].z[-1], walk.answers[0])
    assert (
        figure.layout.yaxis.ticktext[0].endswith("% · x&amp;y")
        and figure.layout.yaxis.ticktext[-1] == "a = Σ p v"
    )
    figure = figures.output(walk, 0)
    assert np.array(figure.data[0].z).tolist() == [[1] * 4, [0] * 4]
    assert figure.layout.yaxis.ticktext == ("this head: a W_O", "all heads + bias")


def test_the_future_mask_is_drawn_as_the_triangle_it_is(running, learned_pairs):
    walk = running.ask(WalkHead(*learned_pairs[0], Head("decoder_self", 1, 1)))
    weights, hidden = figures.all_queries(walk, "scaled", 0, "future").data
    above = np.triu(np.ones(walk.mask.shape, dtype=bool), k=1)
    np.testing.assert_array_equal(np.isnan(np.array(weights.z, dtype=float)), above)
    np.testing.assert_array_equal(np.array(hidden.z, dtype=float) == 1, above)
    said = figures.summary(walk, 0, "scaled", 0, "none")
    share = figures.changed(walk, "scaled", 0, "none")[0][0, 1:].sum()
    assert (
        f"Without the future mask, {figures.percent(float(share))} of the look goes to pieces"
        in said
    )
    assert "Without" not in figures.summary(walk, 0, "scaled", 0, "future")


def test_no_future_is_masked_where_positions_have_no_common_order(running):
    kinds = {
        stack: tab.mask_of(running, {"first_stack": stack}) for stack in results.STACKS
    }
    assert "future" not in kinds["cross"].options
    assert {stack: kind.default for stack, kind in kinds.items()} == {
        "encoder_self": "padding",
        "decoder_self": "future",
        "cross": "padding",
    }


@pytest.mark.parametrize("mask", ["future", "none"])
def test_the_most_bits_are_those_of_the_mask_that_is_chosen(
    running, learned_pairs, mask
):
    walk = running.ask(WalkHead(*learned_pairs[0], Head("decoder_self", 1, 1)))
    most = np.log2(1 if mask == "future" else len(walk.keys))
    assert f"of {most:.2f} possible" in figures.summary(walk, 0, "scaled", -6, mask)


def test_the_summary_says_where_the_look_goes_and_what_becomes_of_the_answer():
    said = figures.summary(hand_walk(), 0, "scaled", 6, "padding")
    assert (
        f"goes to x&amp;y ({figures.percent(1)}); it is spread over 0.00 bits of 1.00 possible"
        in said
    )
    assert "is 1.00" in figures.summary(hand_walk(), 0, "scaled", 0, "padding")
    assert "Without the mask, " in figures.summary(hand_walk(), 0, "scaled", 0, "none")


def test_variance_and_splitting_are_drawn_with_their_axes():
    figure = figures.variance(walkthrough.variance((1, 4), samples=200), 4)
    assert [trace.name for trace in figure.data] == [
        "q·k",
        "q·k / √dₖ",
        "Σ p (1 − p), q·k",
        "Σ p (1 − p), q·k / √dₖ",
    ]
    assert [trace.yaxis for trace in figure.data] == [None, None, "y2", "y2"]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.title.text) == (
        "log",
        "variance",
    )
    assert figure.layout.annotations[0].text == "this model: 4"
    found = [walkthrough.split(8, heads) for heads in (1, 2)]
    figure = figures.splits(found)
    assert figure.layout.yaxis.ticktext == ("1 of 1", "1 of 2", "2 of 2")
    np.testing.assert_allclose(
        figure.data[0].z, np.vstack([one.weights for one in found])
    )
    assert figures.split_costs(found).count('<td class="number">256</td>') == 2


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_every_step_has_its_formula_and_its_text(language):
    for name in figures.FORMULAS:
        assert "<i>" in figures.heading(
            name, language
        ) and 'class="note"' in figures.heading(name, language)


@pytest.mark.parametrize(
    ("lock", "head", "query"),
    [
        ("", "cross.1.1", None),
        ("es3", "cross.1.1", 3),
        ("es3", "cross.1.2", 4),
        ("es0", "cross.1.1", None),
        ("es3-en1", "encoder_self.1.1", None),
        ("en1", "encoder_self.1.1", 2),
        ("es3", "decoder_self.1.1", 4),
    ],
)
def test_the_locked_word_asks_as_the_attention_tab_reads_each_head(
    running, monkeypatch, lock, head, query
):
    """Spanish word 3 is predicted in the third row; a head that aligns what it was
    given has it in the fourth."""
    measured = {
        "predicted": [[0.2, 0.8, 0.2, 0.2]] * 2,
        "given": [[0.8, 0.1, 0.8, 0.8]] * 2,
    }
    monkeypatch.setitem(
        running.metrics, "alignment", {"alignment_error_rate": measured}
    )
    assert tab.locked_query(running, lock, Head.parse(head)) == query


def test_what_is_multiplied_is_drawn_with_its_numbers(running, learned_pairs):
    walk = running.ask(WalkHead(*learned_pairs[0], Head("cross", 1, 2)))
    weights, x = (
        np.array(drawn.z, dtype=float) for drawn in figures.inputs(walk, 1).data
    )
    np.testing.assert_allclose(weights[1:] @ x[0], walk.q[1], atol=1e-4)
    assert weights.shape == (9, 33) and x[0, -1] == 1 and np.isnan(weights[0]).all()
    said = figures.checked_inputs(walk, 1)
    assert f"the first number of q is {fixed(walk.q[1, 0], '+.4f')}" in said
    assert number_in(r"own q is (.+?)\.( |<)", said) < 1e-4
    most, least = (
        np.sqrt(np.linalg.eigvalsh(walk.w_q.T @ walk.w_q))[i] for i in (-1, 0)
    )
    assert f"some directions {most:.2f} times and others {least:.2f} times" in said


def test_the_reshape_cuts_the_columns_of_each_head_into_a_block(running, learned_pairs):
    walk = running.ask(WalkHead(*learned_pairs[0], Head("cross", 1, 2)))
    figure = figures.reshape(walk)
    above, *blocks = (np.array(drawn.z, dtype=float) for drawn in figure.data)
    length = len(walk.queries)
    assert (
        above.shape == (length, 32)
        and [block.shape for block in blocks] == [(length, 8)] * 4
    )
    np.testing.assert_allclose(blocks[1], walk.q)
    assert (
        tuple(figure.data[2].y) == tuple(range(length, 2 * length))
        and figure.data[2].name == "Head 2"
    )
    np.testing.assert_allclose(above[:, 8:16], walk.q)
    low, high = figure.layout.yaxis.domain
    margin = figure.layout.margin
    row = (high - low) * (figure.layout.height - margin.t - margin.b) / length
    assert row >= 15.9, "the labels of the rows above stand one on another"
    box, cut = figure.layout.shapes[-2:]
    assert (box.x0, box.x1, cut.y0, cut.y1) == (
        8.5,
        16.5,
        length - 0.5,
        2 * length - 0.5,
    )
