"""Plots have one look: their height, what is left around them, and marks on their axes
that a person reads."""

import math
import re

import numpy as np
import pytest

from xformer.explain import positions as explain
from xformer.explain import recorded
from xformer.explain.principles import Variance
from xformer.figures import training
from xformer.figures.heatmap import BAR, Axis, Scale, matrix
from xformer.figures.layout import GAP, PANEL, PLOT, logarithmic, panels, short
from xformer.parts.generations import draw as generations
from xformer.parts.kernel_regression import draw as kernel_regression
from xformer.parts.positions import draw as positions
from xformer.parts.principles import draw as principles
from xformer.results import (
    LayerTimes,
    LengthScore,
    RunSettings,
    SublayerGradient,
    TrainingCourse,
)
from xformer.strings import ENGLISH, SPANISH

ROWS = explain.table(64, 40, 10_000)
COURSE = TrainingCourse(
    RunSettings("reverse", "pre", 2, "noam", 100, 1e-3, 0.1, 0, 300),
    step=(1, 2, 300),
    loss=(4.0, 2.0, 0.1),
    rate=(1e-4, 1e-3, 1e-5),
    norm=(0.4, 21.0, 1.5),
    scores=((300, 0.5, 0.9),),
    seconds=2.0,
    guess=3.0,
    held_out=(0.2,),
    depths=((0.1, 2.0), (0.3, 40.0)),
)
GRADIENTS = {
    norm: [
        SublayerGradient("encoder", 1, "self_attention", 0.02),
        SublayerGradient("decoder", 1, "feed_forward", 0.5),
        SublayerGradient("decoder", 2, "feed_forward", 90.0),
    ]
    for norm in ("post", "pre")
}
NUMBERS = np.linspace(-1, 1, 8)


def plots(language):
    """Figures with axes, by name, and the number of plots that stand one above the
    other in each."""
    lengths = [
        LengthScore(1, 5, 300, 40.0, 60.0, 1_000),
        LengthScore(6, None, 200, 30.0, 50.0, 2_000),
    ]
    measured = np.array([0.1, 1.0, 12.0])
    variance = Variance(np.array([1, 8, 64]), *(measured for _ in range(6)))
    return {
        "curves": (positions.curves(ROWS, [0, 1], 10_000, language), 1),
        "waves": (positions.wavelengths(40, (100.0, 10_000.0), 64, language), 1),
        "distances": (positions.distances({100.0: ROWS}, language), 1),
        "confusion": (
            positions.confusion({100.0: measured}, measured, 64, 40, language),
            1,
        ),
        "lengths": (positions.lengths(lengths, language), 2),
        "times": (
            generations.times(
                [
                    LayerTimes(pieces, 0.001 * pieces, 0.0005, 0.0001)
                    for pieces in (8, 64, 512)
                ],
                language,
            ),
            1,
        ),
        "errors": (kernel_regression.errors(NUMBERS, NUMBERS**2, None, language), 1),
        "variance": (principles.variance(variance, 40, language), 2),
        "gradients": (training.gradients(GRADIENTS, language), 2),
        "progress": (training.progress([COURSE], language), 2),
        "pace": (training.pace([COURSE], [1e-4, 1e-3], language), 2),
        "breaks": (
            training.recorded({recorded.RISING: [COURSE]}, "break", None, language)[0],
            3,
        ),
        "parts": (
            training.recorded({recorded.WHOLE: [COURSE]}, "parts", None, language)[0],
            2,
        ),
        "depths": (training.depths([("one", "red", COURSE)], language), 1),
    }


@pytest.mark.parametrize(
    "language", [ENGLISH, SPANISH], ids=lambda language: language.code
)
@pytest.mark.parametrize("name", plots(ENGLISH))
def test_a_plot_is_as_high_as_others_with_little_around_it(name, language):
    figure, count = plots(language)[name]
    layout = figure.layout
    inside = layout.height - layout.margin.t - layout.margin.b
    assert inside == (PLOT if count == 1 else count * PANEL + (count - 1) * GAP)
    # a line for the name of the axis; numbers and a name
    assert layout.margin.t <= 26 and layout.margin.b <= 60
    assert layout.plot_bgcolor == layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert layout.title.text and "<br>" not in layout.title.text, (
        "the page breaks titles"
    )
    axes = [
        getattr(layout, key)
        for key in layout.to_plotly_json()
        if re.match(r"[xy]axis", key)
    ]
    assert all(one.title.text for one in axes) and len(axes) == count + 1
    for one in axes:
        if one.type == "log":
            assert one.tickvals is not None and len(one.tickvals) >= 3, (
                "plotly's own marks are 2 5 10 2 5"
            )
            assert len(set(one.ticktext)) == len(one.ticktext)


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1, 1_000_000], ["1", "10", "100", "1 k", "10 k", "100 k", "1 M"]),
        ([0.02, 90], ["0.1", "1", "10"]),
        ([3, 40], ["3", "10", "30"]),
        ([2, 25], ["2", "5", "10", "20"]),
        ([0.42, 0.97], ["0.5", "0.6", "0.7", "0.8", "0.9"]),
        ([5, 5], None),
        ([], None),
        ([None, math.nan, 0, 2], None),
    ],
)
def test_a_logarithmic_axis_has_marks_that_a_person_reads(values, marks):
    drawn = logarithmic("norm", values)
    assert all(
        a < b for a, b in zip(drawn["tickvals"], drawn["tickvals"][1:], strict=False)
    )
    known = [value for value in values if value and value == value]
    if marks is None:
        assert drawn["ticktext"]
        return
    seen = [
        text
        for value, text in zip(drawn["tickvals"], drawn["ticktext"], strict=True)
        if min(known) <= value <= max(known)
    ]
    assert seen == marks


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.05, "0.05"),
        (1, "1"),
        (200, "200"),
        (1_000, "1 k"),
        (15_000, "15 k"),
        (2e6, "2 M"),
        (3e9, "3 G"),
        (0, "0"),
    ],
)
def test_a_mark_is_short(value, written):
    assert short(value) == written


def test_plots_one_above_the_other_fill_their_figure():
    whole, domains = panels(3)
    assert domains[0][1] == 1 and domains[-1][0] == pytest.approx(0)
    assert [(top - low) * whole for low, top in domains] == pytest.approx([PANEL] * 3)
    assert [
        (above[0] - below[1]) * whole
        for above, below in zip(domains, domains[1:], strict=False)
    ] == pytest.approx([GAP] * 2)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("rows", [1, 12, 40])
def test_a_map_keeps_its_cells_and_its_colour_bar_reads_its_scale(rows, signed):
    values = np.ones((rows, 3))
    figure = matrix(
        values,
        Axis("asks", ["a"] * rows),
        Axis("seen", ["b"] * 3),
        "",
        title="<a>",
        scale=Scale("share", 0.37, signed),
        pair=["The cat.", "El gato."],
    )
    layout = figure.layout
    bar = figure.data[0].colorbar
    assert (
        layout.height - layout.margin.t - layout.margin.b == 26 * rows
        and layout.margin.r == BAR
    )
    assert layout.width - layout.margin.l - BAR == 26 * 3
    assert (
        bar.len + 8 <= layout.height - layout.margin.t
        and bar.tickvals[-1] == 0.37 == figure.data[0].zmax
    )
    assert bar.tickvals[0] == figure.data[0].zmin == (-0.37 if signed else 0)
    assert layout.title.text == "&lt;a&gt;" and layout.meta == {
        "map": True,
        "pair": ["The cat.", "El gato."],
    }
