"""Figures of training: gradients before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from xformer.figures.layout import axis, layout
from xformer.figures.palettes import BLUE, ORANGE
from xformer.results import SublayerGradient
from xformer.strings import ENGLISH, Language

Gradients = Mapping[str, Sequence[SublayerGradient]]  # by the order of normalisation
COLOURS = {"post": ORANGE, "pre": BLUE}  # of the two orders of normalisation, wherever they are compared
SUBLAYERS = {"feed_forward": ("solid", "circle"), "self_attention": ("dot", "square"),
             "cross_attention": ("dash", "diamond")}  # dashes and marks


def gradients(found: Gradients, language: Language = ENGLISH) -> go.Figure:
    """Plot the norm of each sub-layer's gradient by depth, the encoder above the decoder (Xiong et al. 2020, figure 3).
    """
    say = language.say
    figure = make_subplots(2, 1, vertical_spacing=0.14)
    for row, stack in enumerate(("encoder", "decoder"), 1):
        for norm, every in found.items():
            for name, (dash, mark) in SUBLAYERS.items():
                some = [one for one in every if (one.stack, one.sublayer) == (stack, name)]
                if some:
                    figure.add_trace(go.Scatter(
                        x=[one.layer for one in some], y=[one.norm for one in some], mode="lines+markers",
                        name=f"{say(f'train_order_{norm}')}, {say(f'train_{name}')}", legendgroup=f"{norm} {name}",
                        showlegend=stack == "decoder", line={"color": COLOURS[norm], "dash": dash},
                        marker={"symbol": mark, "size": 7},
                        hovertemplate=say("train_hover_gradient", layer="%{x}", norm="%{y:.3g}")), row=row, col=1)
    depth = max(one.layer for every in found.values() for one in every)
    layers = {"dtick": 1 if depth <= 12 else 2, "range": [0.7, depth + 0.3]}
    figure.update_layout(layout(
        say("train_plot_gradients", layers=depth), 560, bottom=130, x=axis("", **layers),
        y=axis(say("train_norm_in", stack=say("train_encoder")), type="log")))
    return figure.update_layout(xaxis2=axis(say("train_layer"), **layers),
                                yaxis2=axis(say("train_norm_in", stack=say("train_decoder")), type="log"))


def growth(found: Gradients, language: Language = ENGLISH) -> str:
    """Say what to look for, and for each order by what the gradient grows from the decoder's first layer to its last;
    HTML."""
    said = [language.html("train_look_gradients")]
    for norm, every in found.items():
        through = [one.norm for one in every if (one.stack, one.sublayer) == ("decoder", "feed_forward")]
        key = "train_growth" if len(through) > 1 else "train_growth_one"
        said.append(language.html(key, order=language.say(f"train_order_{norm}"), first=f"{through[0]:.2g}",
                                  last=f"{through[-1]:.2g}", times=f"{through[-1] / through[0]:.2g}"))
    return "".join(f"<p>{one}</p>" for one in said)
