"""The attention maps of a model that reads reviews, and one head before and after
fine-tuning."""

from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.explain import maps
from xformer.figures.attention import Choice, units
from xformer.figures.heatmap import Axis
from xformer.figures.labels import of_model, paragraphs, place
from xformer.figures.pairs import plot_head
from xformer.figures.templates import fill
from xformer.results import Head, ModelInfo, Trace
from xformer.strings import ENGLISH, Language

# whose maps: of the shipped classifier or the language model, or another's by its name
OF = ("classifier", "writer")


@dataclass(frozen=True)
class ReaderChoice(Choice):
    """The picture of a model without a decoder."""

    stack: str = "encoder_self"
    of: str = "classifier"

    @property
    def name(self) -> str:
        return f"maps_name_{self.of if self.of in OF else OF[0]}"


def about(shown: ModelInfo, classifier: ModelInfo, language: Language = ENGLISH) -> str:
    """Name the model whose maps are shown; say how the classifier reads, and what that
    means for its maps; HTML."""
    model = language.say(
        "maps_model", name=shown.name, layers=shown.n_layers, heads=shown.n_heads
    )
    return fill(
        "reading.about",
        language,
        masked=language.say("maps_causal" if classifier.causal else "maps_full"),
        began=classifier.causal and classifier.pooling,
        name=of_model(shown, model),
    )


def distances(
    before: Trace, after: Trace, chosen: Head, language: Language = ENGLISH
) -> str:
    """Tabulate how far each head has moved, the chosen one marked; HTML."""
    far = maps.distance(before.encoder_self, after.encoder_self)
    most = Head.highest("encoder_self", far)
    said = language.say(
        "maps_moved",
        where=place(chosen, language),
        most=place(most, language),
        value=f"{far[chosen.at]:.2f}",
        largest=f"{far.max():.2f}",
    )
    rows = [
        [layer + 1, head + 1, round(float(value), 6)]
        for (layer, head), value in np.ndenumerate(far)
    ]
    return fill(
        "reading.distances",
        language,
        far=far.tolist(),
        chosen=tuple(chosen[1:]),
        said=said,
        text=after.text,
        rows=rows,
    )


def before_after(
    before: Trace, after: Trace, head: Head, language: Language = ENGLISH
) -> tuple[go.Figure, go.Figure, go.Figure]:
    """Plot where a head looks before and after fine-tuning, and the difference, by
    words."""
    say = language.say
    choice = ReaderChoice(*head, words=True)
    sides = [
        units(
            trace.encoder_self[head.at],
            trace.of("encoder_self"),
            choice,
            False,
        )
        for trace in (before, after)
    ]
    difference = sides[1].values - sides[0].values
    reach = max(0.1, float(np.abs(difference).max()))
    rows = Axis(say("axis_asks_source_word"), sides[0].line)
    columns = Axis(say("axis_seen_source_word"), sides[0].keys)

    def plot(name: str, values: np.ndarray, reach: float | None = None) -> go.Figure:
        title = f"{say(f'maps_{name}')} · {place(head, language)}"
        return plot_head(values, rows, columns, title, [after.text], language, reach)

    return (
        plot("before", sides[0].values),
        plot("after", sides[1].values),
        plot("difference", difference, reach),
    )


def rules(drawn: tuple[str, ...], note: str) -> str:
    """Write how a picture's numbers were made, and what to notice; HTML."""
    return f'{paragraphs(drawn)}<p class="note">{escape(note)}</p>'
