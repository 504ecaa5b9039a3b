"""Part of the Compare tab that puts one sentence through the page's model and another
one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from xformer.figures.labels import paragraphs
from xformer.figures.notice import notice
from xformer.parts.two_models import draw as figures
from xformer.results import Options, TwoModels
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.serve.two_models import through_both
from xformer.strings import Language
from xformer.ui.components import figure, small_maps
from xformer.ui.controls import Words
from xformer.ui.handlers import LATEST, needs, number_of, refused
from xformer.ui.layout import Layout
from xformer.ui.tabs import example

ID = "models"
FOLDS = (("same-head", "models_apart", "models"),)
# the controls that name the head of each; "" for the best one
HEADS = ("models_first", "models_second")
APART = ("same_first", "same_second", "difference")
SIDES = range(2)
HIDDEN = gr.update(value=None, visible=False)
NOTHING: dict[str, Any] = {
    "asked": None,
    "found": None,
    "table": None,
    "apart": "",
    **{f"grid_{side}": HIDDEN for side in SIDES},
    **{f"map_{side}": None for side in SIDES},
    **dict.fromkeys(APART),
}


@dataclass(frozen=True)
class Other(Words):
    """The name of a model; names: those that are offered, though others may be
    typed."""

    names: tuple[str, ...] = ()

    def properties(self) -> dict[str, Any]:
        return {"choices": [*self.names]}


def offered(models: ModelPool, service: TranslationService, _: Any = None) -> Other:
    """The models that may be compared with one: those of its languages, the first of
    them by default."""
    info = service.info
    names = tuple(
        name
        for name in models.translating(info.source, info.target)
        if name != info.name
    )
    return Other(next(iter(names), ""), names=names)


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    with gr.Row(elem_classes="ask two-models"):
        text = part.control(
            "models_text",
            example,
            gr.Textbox,
            lines=1,
            max_lines=4,
            scale=4,
            min_width=240,
        )
        other = part.control(
            "models_other",
            partial(offered, page.models),
            gr.Dropdown,
            allow_custom_value=True,
            scale=2,
            min_width=200,
        )
        reference = part.control(
            "models_reference",
            Words(),
            gr.Textbox,
            lines=1,
            max_lines=4,
            scale=4,
            min_width=240,
        )
        button = gr.Button(
            part.say("pairs_run"), variant="primary", scale=1, min_width=120
        )
        for key in HEADS:
            part.hidden(key, Words(longest=40), gr.Textbox)
    part.status()
    part.update(
        asked=gr.State(), found=gr.State(), table=part.table("two-models-table tables")
    )
    part.look("models_look")
    part.beside(
        lambda _: small_maps(part.language),
        {f"grid_{side}": "" for side in SIDES},
        "detail two-grids",
        280,
    )
    with part.folded("same-head", closed=True):
        part.beside(
            part.plot,
            {f"map_{side}": "model-map" for side in SIDES},
            "detail three-maps",
            280,
        )
        part["apart"] = gr.HTML(elem_classes="summary")
        part.beside(
            part.plot,
            {name: name.replace("_", "-") for name in APART},
            "detail three-maps",
            280,
        )
    drawn_names = [name for name in NOTHING if name not in ("asked", "found", "table")]

    def connect() -> None:
        """Translate by the search that is set in another tab."""
        part.update(
            {
                key: page.controls[key].component
                for key in ("beam", "length_penalty")
                if key in page.controls
            }
        )
        listener = {
            **part.listener(
                run,
                *NOTHING,
                *HEADS,
                problem="problem",
                only_here=True,
                models=page.models,
            ),
            **LATEST,
        }
        gr.on(
            [
                part.opened.change,
                button.click,
                other.input,
                text.submit,
                reference.submit,
            ],
            **listener,
        )
        page.on_return.append(listener)

    for side in SIDES:
        part[f"grid_{side}"].choose(
            **part.listener(choose, *drawn_names, *HEADS, only_here=True, side=side),
            **LATEST,
        )
    page.connections.append(connect)


@needs(models_text="models_empty", models_other="models_none")
@refused(**NOTHING)
def run(
    service: TranslationService,
    language: Language,
    *,
    asked: tuple[Any, ...] | None,
    part: str,
    models_text: str,
    models_other: str,
    models: ModelPool,
    beam: float = Options.beam,
    length_penalty: float = Options.length_penalty,
    **more: Any,
) -> Iterator[dict[str, Any]]:
    """Put the sentence through both models, which may have to be loaded; nothing where
    that is on the page already, or another part is. more: the other controls of the
    part."""
    name = models_other.strip()
    reference = more["models_reference"] or ""
    options = Options(
        beam=int(beam), length_penalty=float(length_penalty), alternatives=1
    )
    wanted = (service.info.identity, name, models_text, reference, options)
    if part != ID or asked == wanted:
        yield {}
        return
    if not models.at_hand(name):
        yield {
            "problem": notice([language.say("models_loading", name=name)], "warning")
        }
    with models.lease(name) as second:
        found = through_both(service, second, models_text, options, reference)
    warned = [
        f"{info.name}: {one.say(language)}"
        for info, translation in zip(found.infos, found.translations, strict=True)
        for one in translation.warnings
    ]
    heads = (
        [more[key] for key in HEADS]
        if asked is None or asked[:2] == wanted[:2]
        else ["", ""]
    )
    yield {
        "asked": wanted,
        "found": found,
        "problem": notice(warned, "warning"),
        "table": figures.table(found, language),
        **dict(zip(HEADS, heads, strict=True)),
        **drawn(found, heads, language),
    }


@needs(found="models_empty")
def choose(
    service: TranslationService,
    language: Language,
    *,
    found: TwoModels,
    models_first: str,
    models_second: str,
    event: gr.EventData,
    side: int,
) -> dict[str, Any]:
    """Show the head of a grid that was clicked."""
    heads = [models_first, models_second]
    heads[side] = f"cross.{number_of(event, 'layer')}.{number_of(event, 'head')}"
    return {HEADS[side]: heads[side], **drawn(found, heads, language)}


def drawn(found: TwoModels, names: list[str], language: Language) -> dict[str, Any]:
    """Draw the maps of both models, the heads of these names alone, and the first one's
    head in both."""
    heads = found.heads(names)
    answer = dict[str, Any]()
    for side, head in enumerate(heads):
        answer[f"grid_{side}"] = (
            HIDDEN
            if head is None
            else gr.update(
                value=figures.grid(found, side, head, language), visible=True
            )
        )
        answer[f"map_{side}"] = (
            None
            if head is None
            else figure(figures.own_map(found, side, head, language))
        )
    maps = figures.difference(found, heads[0], language) if heads[0] else None
    if maps is None:
        return {
            **answer,
            "apart": f"<p>{language.html('models_shapes')}</p>",
            **dict.fromkeys(APART),
        }
    return {
        **answer,
        "apart": paragraphs(maps.summary),
        **dict(zip(APART, map(figure, maps[:3]), strict=True)),
    }
