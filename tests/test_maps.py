"""Maps put together, on cases worked by hand."""

import numpy as np
import pytest

from xformer.explain import maps

MAP = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]], dtype=np.float32)


def test_words_sum_columns_and_average_rows():
    found = maps.by_words(MAP, [[0, 1], [2]], [[0], [1, 2]])
    np.testing.assert_allclose(found, [[0.3, 0.7], [0.0, 1.0]], atol=1e-6)


def test_words_of_one_piece_change_nothing_and_leading_axes_stay():
    each = [[0], [1], [2]]
    np.testing.assert_array_equal(
        maps.by_words(np.stack([MAP, MAP.T]), each, each), np.stack([MAP, MAP.T])
    )


def test_rows_sum_to_one_whatever_the_words():
    rng = np.random.default_rng(0)
    raw = rng.random((2, 4, 6, 6))
    raw /= raw.sum(axis=-1, keepdims=True)
    found = maps.by_words(raw, [[0], [1, 2, 3], [4, 5]], [[0, 1], [2], [3, 4, 5]])
    np.testing.assert_allclose(found.sum(axis=-1), 1)


def test_mean_and_maximum_over_heads():
    heads = np.array([[[1.0, 0.0]], [[0.4, 0.6]]])
    np.testing.assert_allclose(maps.combine(heads, "mean"), [[0.7, 0.3]])
    np.testing.assert_allclose(maps.combine(heads, "max"), [[1 / 1.6, 0.6 / 1.6]])
    with pytest.raises(ValueError, match="the rule is 'sum'; choose one of mean, max"):
        maps.combine(heads, "sum")
    with pytest.raises(ValueError, match="choose at least one"):
        maps.combine(heads[:0], "mean")


def test_rollout_of_two_layers_by_hand():
    """Both heads look at the other position: half stays, half crosses, in each
    layer."""
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    one = np.stack([swap, swap])
    np.testing.assert_allclose(maps.rollout(np.stack([one])), [[0.5, 0.5], [0.5, 0.5]])
    first = np.array([[1.0, 0.0], [1.0, 0.0]])
    # layer 1 looks at the first position, layer 2 swaps
    two = np.stack([np.stack([first, first]), one])
    # Layer 1: [[1, 0], [.5, .5]]; layer 2 halves and swaps: row 0 = .5 [1, 0] + .5 [.5,
    # .5]
    np.testing.assert_allclose(maps.rollout(two), [[0.75, 0.25], [0.75, 0.25]])


def test_rollout_through_the_encoder_reaches_the_inputs():
    cross = np.array([[[0.0, 1.0]]])
    encoder = np.array([[[[0.0, 1.0], [1.0, 0.0]]]])
    np.testing.assert_allclose(maps.cross_rollout(cross, encoder), [[0.5, 0.5]])


def test_sinks_are_measured_hidden_and_the_rest_renormalised():
    keys = maps.sinks(["▁a", ".", "</s>"])
    assert keys == [1, 2]
    assert maps.mass(MAP, keys) == pytest.approx((0.5 + 0.9 + 1.0) / 3)
    np.testing.assert_allclose(maps.hide(MAP, keys), [[1, 0, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(maps.hide(MAP, [2]).sum(axis=1), 1)
    assert MAP[0, 1] == np.float32(0.3), "hiding must not change what was handed in"
    assert maps.mass(MAP, []) == 0


def test_weighed_attention_follows_the_norms_it_is_given():
    """Half and half, but the second key hands over three times as much: a quarter and
    three quarters."""
    np.testing.assert_allclose(
        maps.weigh(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1.0, 3.0])),
        [[0.25, 0.75], [1.0, 0.0]],
    )
