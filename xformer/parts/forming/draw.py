"""Show how a translator forms: a sentence's translations during training, and the
alignment error of its heads."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.figures.labels import place, shown_all
from xformer.figures.layout import BLUE, END, GREY, ORANGE, axis, layout, line
from xformer.figures.packed import packed
from xformer.figures.templates import fill
from xformer.parts.forming.errors import better_reading, error_course
from xformer.results import Course, Film, Head, Moment, Moments, decimal
from xformer.strings import ENGLISH, Language

# what film.js says: of its own, and of the buttons
OWN = (
    "when", "numbers", "nothing", "wanted", "of", "which", "frames", "loss", "loss_label",
    "steps", "all", "own", "column_step", "column_loss", "column_error", "column_text",
)  # fmt: skip
BUTTONS = ("play_start", "play_stop", "play_previous", "play_next")
# characters of a translation that are shown; early in training a model does not find an
# end
LONGEST = 160


def film(
    film: Film, pair: tuple[str, str], moment: int, language: Language = ENGLISH
) -> dict[str, Any]:
    """Give film.js all frames of a film at once, its maps as bytes: 255 is 1.

    pair: English and Spanish, one of them as it was typed, the other as the page's
    model translates it. moment: the frame at which it opens, from 1; the last plays it.
    """
    levels = np.rint(255 * np.clip(film.maps, 0, 1)).astype(np.uint8)
    frames = [
        {
            "step": moment.step,
            "done": moment.done,
            "text": text,
            "map": packed(level),
            "loss": round(loss, 4),
            "error": round(error, 4),
        }
        for moment, text, level, loss, error in zip(
            film.moments,
            film.translations,
            levels,
            film.losses,
            film.errors,
            strict=True,
        )
    ]
    return {
        "pair": pair,
        "moment": moment,
        "keys": shown_all(film.source),
        "queries": shown_all(film.target),
        "title": language.say("film_title", head=place(film.head, language)),
        "frames": frames,
        "course": film.course,
        "honest": language.say(
            "film_honest",
            parameters=f"{film.parameters / 1e6:.1f}",
            pieces=film.moments[-1].seen,
            minutes=round(film.moments[-1].seconds / 60),
        ),
        "texts": language.unfilled((*(f"film_{name}" for name in OWN), *BUTTONS)),
    }


def story(
    moments: Moments, course: Course, at: int, language: Language = ENGLISH
) -> str:
    """List the translations of a sentence at all moments, the chosen one marked;
    HTML."""
    texts = (
        text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        for text in course.translations
    )
    rows = zip((moment.step for moment in moments.moments), texts, strict=True)
    return fill("forming.story", language, course=course, rows=rows, at=at)


def summary(
    moments: Moments,
    at: int,
    head: Head | None,
    reading: str,
    best: bool,
    kept: Moment | None = None,
    language: Language = ENGLISH,
) -> str:
    """Say where in the training a moment is, and how well a head aligns then and at the
    end; HTML.

    best: whether the head is the one that aligns best at the end. kept: the moment
    whose weights the model has.
    """
    moment = moments.moments[at]
    said = [
        language.html(
            "form_where",
            step=moment.step,
            percent=decimal(100 * moment.done),
            pieces=moment.seen,
            minutes=f"{moment.seconds / 60:.1f}",
        )
    ]
    if head is not None and head.stack == "cross":
        errors = error_course(moments, head, reading)
        said.append(
            language.html(
                "form_error_best" if best else "form_error",
                where=place(head, language),
                now=f"{errors[at]:.2f}",
                end=f"{errors[-1]:.2f}",
            )
        )
    elif not moments.errors.size:
        said.append(language.html("no_maps_model"))
    if kept is not None and kept.step != moments.moments[-1].step:
        said.append(
            language.html("form_kept", last=moments.moments[-1].step, step=kept.step)
        )
    return f"<p>{' '.join(said)}</p>"


def errors(
    moments: Moments, head: Head, reading: str, at: int, language: Language = ENGLISH
) -> go.Figure:
    """Plot the alignment error of all cross-attention heads over the moments, with
    `head` highlighted and a mark at the chosen moment."""
    say = language.say
    places = list(range(len(moments.moments)))
    _, layers, heads = moments.errors.shape[1:]
    hover = f"%{{fullData.name}}: %{{y:.3f}}{END}"
    data = [
        line(
            places,
            error_course(moments, other, better_reading(moments, other)),
            place(other, language),
            GREY,
            hover,
            width=1,
            mode="lines",
            opacity=0.5,
            showlegend=False,
        )
        for other in Head.every("cross", layers, heads)
        if other != head
    ]
    own = error_course(moments, head, reading)
    data += [
        line(places, own, place(head, language), BLUE, hover),
        go.Scatter(
            x=[at],
            y=[own[at]],
            mode="markers",
            name=say("form_now"),
            marker={"color": ORANGE, "size": 14, "symbol": "diamond"},
            hovertemplate=f"%{{y:.3f}}{END}",
        ),
    ]
    ticks = {
        "tickvals": places,
        "ticktext": [language.number(moment.step) for moment in moments.moments],
    }
    return go.Figure(
        data,
        layout(
            say("form_plot_errors"),
            x=axis(say("form_axis_step"), **ticks),
            y=axis(say("form_axis_error"), range=[0, 1.02]),
        ),
    )
