"""Kernel regression: against sums written out, PyTorch's gradient, the nearest
neighbour, and what the page shows."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from xformer.parts.kernel_regression import draw as figures
from xformer.parts.kernel_regression import kernels, part
from xformer.results import UserError
from xformer.serve.limits import Guard
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask

X = np.array([0.5, 1.0, 3.0, 4.5])
Y = np.array([1.0, 2.0, -0.5, 4.0])
MODELS = SimpleNamespace(guard=Guard())


@pytest.mark.parametrize("h", [0.1, 0.7, 3.0])
def test_the_curve_is_the_mean_of_the_points_weighted_by_a_gaussian_kernel(h):
    for q in (0.0, 1.1, 4.0):
        k = [math.exp(-((q - x) ** 2) / (2 * h * h)) for x in X]
        np.testing.assert_allclose(
            kernels.weights(np.array([q]), X, h)[0], np.array(k) / sum(k), rtol=1e-9
        )
        wanted = sum(a * y for a, y in zip(k, Y, strict=True)) / sum(k)
        assert float((kernels.weights(np.array([q]), X, h) @ Y)[0]) == pytest.approx(
            wanted
        )


def test_the_hard_limit_is_the_nearest_neighbour():
    q = np.array([0.0, 0.9, 2.2, 5.0])
    nearest = np.abs(q[:, None] - X).argmin(axis=1)
    np.testing.assert_array_equal(kernels.weights(q, X, 0.0), np.eye(4)[nearest])
    np.testing.assert_allclose(kernels.weights(q, X, 0.01) @ Y, Y[nearest], atol=1e-6)


@pytest.mark.parametrize("h", [0.3, 0.8, 2.0])
def test_the_error_and_its_slope_are_pytorchs_of_points_left_out(h):
    x = torch.tensor(X)
    y = torch.tensor(Y)
    log_h = torch.tensor(math.log(h), dtype=torch.float64, requires_grad=True)
    scores = -((x[:, None] - x) ** 2) / (2 * log_h.exp() ** 2)
    found = (
        scores.masked_fill(torch.eye(4, dtype=torch.bool), -math.inf).softmax(dim=1) @ y
    )
    loss = ((found - y) ** 2).mean()
    loss.backward()
    error, slope = kernels.left_out(X, Y, h)
    assert error == pytest.approx(float(loss.detach())) and slope == pytest.approx(
        float(log_h.grad)
    )


@pytest.mark.parametrize("begin", [0.1, 0.5, 3.5])
def test_the_descent_comes_down_to_a_valley(begin):
    x, y = kernels.first_points()
    found = kernels.descend(x, y, begin, (2.0**-5, 4.0))
    assert len(found.errors) == kernels.STEPS + 1 and found.bandwidths[0] == begin
    assert found.errors[-1] < found.errors[0]
    assert abs(kernels.left_out(x, y, found.bandwidths[-1])[1]) < 0.05 * y.var()


def test_points_are_written_and_read_and_what_is_none_is_named():
    x, y = kernels.read(kernels.written(X, Y))
    np.testing.assert_array_equal((x, y), (X, Y))
    np.testing.assert_array_equal(kernels.read(" "), kernels.first_points())
    for text, said in (
        ("1,2 x,3", "“x,3” is no point"),
        ("1,2 9,3", "“9,3” is no point; write x,y with x from 0 to 5"),
        ("1,2,3 4,5", "“1,2,3”"),
        ("1,nan 2,2", "“1,nan”"),
        ("1,2", "There are 1 points; 2 to 30"),
        ("1,2 " * 31, "There are 31"),
    ):
        with pytest.raises(UserError, match=said):
            kernels.read(text)


def test_the_figures_have_the_numbers():
    drawn = figures.payload(X, Y, 0.5)
    assert (
        drawn["points"] == np.column_stack([X, Y]).tolist()
        and drawn["title"] == "Kernel regression, h = 0.5"
    )
    assert drawn["curve"][40] == pytest.approx(
        (kernels.weights(np.array([1.0]), X, 0.5) @ Y)[0], abs=1e-4
    )
    shown = np.array(figures.weights(X[::-1], 0.5).data[0].z, dtype=float)
    np.testing.assert_allclose(shown[5], kernels.weights(np.array([1.0]), X, 0.5)[0])
    way = kernels.descend(X, Y, 0.5, (2.0**-5, 4.0))
    line, path = figures.errors(X, Y, way).data
    assert (
        line.y[-1] == pytest.approx(kernels.left_out(X, Y, 4.0)[0])
        and tuple(path.y) == way.errors
    )
    assert "mean squared error at a point" in figures.told(X, Y, 0.5, None)
    assert "jumps to" in figures.told(X, Y, 0.0, None)
    assert f"to h = {way.bandwidths[-1]:.3g}" in figures.told(X, Y, 0.5, way)


def test_the_page_fits_the_bandwidth_and_moves_a_point():
    ask = Ask.always(MODELS, ENGLISH)
    fitted = ask.answer(part.descend, kernel_points="", kernel_power=-4.0)
    x, y = kernels.first_points()
    assert (
        kernels.left_out(x, y, 2.0 ** fitted["kernel_power"])[0]
        < kernels.left_out(x, y, 2.0**-4)[0]
    )
    # begins at the least bandwidth
    hard = ask.answer(part.descend, kernel_points="", kernel_power=-5.0)
    assert -5 < hard["kernel_power"] <= 2 and not hard["problem"]
    moved = ask.answer(
        part.move,
        kernel_points="",
        kernel_power=0.0,
        event=SimpleNamespace(points="1,2 2,3"),
    )
    assert (
        moved["curve"]["points"] == [[1, 2], [2, 3]]
        and moved["kernel_points"] == "1,2 2,3"
    )
    said = ask.answer(part.draw, kernel_points="1,2 2,99", kernel_power=0.0)
    assert "“2,99” is no point" in said["problem"] and said["curve"] is None
