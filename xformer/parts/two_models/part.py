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
from xformer.ui.components import small_maps
from xformer.ui.controls import Words
from xformer.ui.handlers import LATEST, needs, number_of
from xformer.ui.layout import Layout
from xformer.ui.pictures import is_other
from xformer.ui.tabs import example

ID = "models"
FOLDS = (("same-head", "models_apart", "models"),)
# the controls that name the head of each; "" for the best one
HEADS = ("models_first", "models_second")
APART = ("same_first", "same_second", "difference")
SIDES = range(2)
HIDDEN = gr.update(value=None, visible=False)
NOTHING: dict[str, Any] = {
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
    pictures = part.pictures(ID, cleared=NOTHING)
    pictures.input("part", part["part"])
    pictures.fact("models", lambda: page.models)
    pictures.fact("found", compare)
    pictures.fact("maps", draw_maps)
    pictures.follow(forget, *HEADS)
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
    problem = pictures.add("problem", part.status(), said_of, seen=is_here)
    table = part.table("two-models-table tables")
    pictures.add("table", table, figures.table, seen=is_here)
    part.look("models_look")
    grids = part.beside(
        lambda _: small_maps(part.language),
        {f"grid_{side}": "" for side in SIDES},
        "detail two-grids",
        280,
    )
    with part.folded("same-head", closed=True):
        maps = part.beside(
            part.plot,
            {f"map_{side}": "model-map" for side in SIDES},
            "detail three-maps",
            280,
        )
        maps["apart"] = gr.HTML(elem_classes="summary over-maps")
        maps |= part.beside(
            part.plot,
            {name: name.replace("_", "-") for name in APART},
            "detail three-maps",
            280,
        )
    pictures.add_all("maps", {**grids, **maps}, seen=is_here)

    def connect() -> None:
        """Translate by the search that is set in another tab."""
        for key in ("beam", "length_penalty"):
            if key in page.controls:
                pictures.input(key, page.controls[key].component)
        listener = {**pictures.listener(problem), **LATEST}
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
        for grid, key in zip(grids.values(), HEADS, strict=True):
            chosen = pictures.listener(
                action=partial(choose, key=key), outputs=part.controls.named(key)
            )
            grid.choose(**chosen, **LATEST)

    page.connections.append(connect)


def is_here(part: str) -> bool:
    return part == ID


def forget(
    service: TranslationService,
    part: str,
    models_other: str,
    models_first: str,
    models_second: str,
    before: dict[str, Any],
) -> dict[str, str] | None:
    """A head that was chosen is of its models. One that is clicked while a sentence is
    compared gives way to what is drawn in the end."""
    if not is_here(part):
        return None
    is_new = is_other(before, service=service.info, models_other=models_other)
    heads = ("", "") if is_new else (models_first, models_second)
    return dict(zip(HEADS, heads, strict=True))


@needs(models_text="models_empty", models_other="models_none")
def compare(
    service: TranslationService,
    models: ModelPool,
    models_text: str,
    models_other: str,
    models_reference: str | None,
    beam: float = Options.beam,
    length_penalty: float = Options.length_penalty,
) -> Iterator[TwoModels | None]:
    """Put the sentence through both models, the other of which may have to be
    loaded."""
    name = models_other.strip()
    options = Options(
        beam=int(beam), length_penalty=float(length_penalty), alternatives=1
    )
    if not models.at_hand(name):
        yield None
    with models.lease(name) as second:
        found = through_both(
            service, second, models_text, options, models_reference or ""
        )
    yield found


def said_of(found: TwoModels | None, models_other: str, language: Language) -> str:
    """Say what is awaited, or what is to say about the sentence."""
    said = (
        [language.say("models_loading", name=models_other.strip())]
        if found is None
        else [
            f"{info.name}: {one.say(language)}"
            for info, translation in zip(found.infos, found.translations, strict=True)
            for one in translation.warnings
        ]
    )
    return notice(said, "warning")


def choose(
    service: TranslationService, language: Language, *, event: gr.EventData, key: str
) -> dict[str, str]:
    """Show the head of a grid that was clicked."""
    return {key: f"cross.{number_of(event, 'layer')}.{number_of(event, 'head')}"}


def draw_maps(
    found: TwoModels, models_first: str, models_second: str, language: Language
) -> dict[str, Any]:
    """Draw the maps of both models, the heads of these names alone, and the first one's
    head in both."""
    heads = found.heads([models_first, models_second])
    answer = dict[str, Any]()
    for side, head in enumerate(heads):
        if head is None:
            answer[f"grid_{side}"] = HIDDEN
            continue
        grid = figures.grid(found, side, head, language)
        answer[f"grid_{side}"] = gr.update(value=grid, visible=True)
        answer[f"map_{side}"] = figures.own_map(found, side, head, language)
    maps = figures.difference(found, heads[0], language) if heads[0] else None
    if maps is None:
        return {**answer, "apart": f"<p>{language.html('models_shapes')}</p>"}
    return {
        **answer,
        "apart": paragraphs(maps.summary),
        **dict(zip(APART, maps[:3], strict=True)),
    }
