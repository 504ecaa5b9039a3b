"""The Step by step tab: how the decoder comes to its translation, and what it makes of
yours.

Its parts, one at a time: the decoding step by step with the beam as a tree; a
translation given to the model piece by piece (teacher forcing); readings after each
layer; and those of the table of tabs. All are of the pair that the page looks into.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.figures.changes import changed_words
from xformer.figures.labels import paragraph, sentence
from xformer.figures.notice import warnings
from xformer.parts.steps import beam_tree, lenses, step_player, teacher_forcing
from xformer.pieces import EOS
from xformer.results import (
    BeamTree,
    Forced,
    Trace,
    Translation,
    fixed,
    questions,
)
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui import frames
from xformer.ui.components import TRANSPORT
from xformer.ui.controls import Real, Whole, Words
from xformer.ui.handlers import QUIET, SWIFT_LATEST, needs, number_of
from xformer.ui.layout import Layout
from xformer.ui.pictures import Pictures, is_other
from xformer.ui.places import Place, question
from xformer.ui.tabs import Page, Tab, View

ID = "decoding"
PLACES = tuple(
    Place(part, f"decode_{part}", {"decode": part})
    for part in ("steps", "yours", "layers")
)
WIDTH = Whole(5, 1, 8)
SMOOTHING = Real(0.1, 0, 0.9, step=0.01)
# a step; a longer translation has fewer, and is then shown from its last
FIRST = Whole(1, 1, 999)
NODE = Whole(0, 0, 99_999)  # of the tree, from 1; 0 for the winner
# a piece, "" for the likeliest other one; a sentence, "" for none
ASKED = ("rival", "twin")
NO_TREE: dict[str, Any] = {
    "tree": None,
    "why": "",
    "went": "",
    "go": gr.update(visible=False),
}


def build(page: Page, inside: Sequence[Any] = ()) -> Tab:
    """Lay the tab out; called inside it. inside: the modules of further parts."""
    language = page.language
    part = Layout(page, ID)
    pictures = part.pictures(ID)
    pictures.follow(first_step, "step", *ASKED)
    pictures.fact("is_own", is_own)
    pictures.fact("given", given)
    pictures.fact("free_text", free_text)
    parts = {**PARTS, **{module.ID: module.build for module in inside}}
    tables = list[gr.HTML]()
    with gr.Column(elem_classes="decoding"):
        with gr.Row(elem_classes="controls parts"):
            part.choice(
                "decode", [*parts], "steps", "decode_{}", "decode_part", container=False
            )
        problem = part.status()
        with gr.Row(elem_classes="looked-into", visible=False) as other:
            other_text = gr.HTML()
            part["back"] = gr.Button(
                language.say("decode_back"), size="sm", scale=0, min_width=200
            )
        pictures.add("other", other, lambda is_own: gr.update(visible=not is_own))
        pictures.add(
            "other_text",
            other_text,
            draw_other,
        )
        for name, lay_out in parts.items():
            with gr.Column(elem_classes=f"part of-{name}") as column:
                question(language, name)
                tables.append(lay_out(part, pictures))
            frames.give(column, language.say(f"decode_{name}"))
    part.hidden("step", FIRST)
    for name in ASKED:
        part.hidden(name, Words(), gr.Textbox)
    node = part.hidden("tree_node", NODE)
    pictures.listen(problem, page.opened[ID].change, page.trace.change)
    player, *others = tables
    player.choose(**part.listener(step_to, "step", "rival"), **SWIFT_LATEST)
    for table in others:
        table.choose(**pictures.listener(problem, step_to), **SWIFT_LATEST)
    tree = page.pictures[f"{ID}.tree"]
    its_problem = part["tree_problem"]
    tree.add(
        "tree_node",
        node,
        draw_node,
        seen=in_part("steps"),
    )
    tree.listen(its_problem, page.opened[ID].change, page.trace.change)
    part["tree"].choose(**tree.listener(its_problem, choose_node), **SWIFT_LATEST)
    part["go"].click(
        **tree.listener(
            its_problem, go_on, outputs={"trace": page.trace, "spanish": page.spanish}
        ),
        **QUIET,
    )
    looked_into = ("trace", "spanish", "remarks")
    gr.on(
        [part["give"].click, part["target"].submit],
        **part.listener(look_into, *looked_into, problem="problem"),
        **QUIET,
    )
    part["back"].click(
        **part.listener(look_into, *looked_into, problem="problem", target=""), **QUIET
    )
    return Tab(
        part.controls,
        {
            "lens": View(
                part["lens_note"], lambda service, values: lens_note(service, language)
            )
        },
    )


def given(service: TranslationService, trace: Trace, smoothing: str) -> Any:
    return service.ask(questions.Force(trace.text, trace.tokens, float(smoothing)))


def draw_node(node: int, tree_node: int) -> int:
    return node + 1 if node + 1 == tree_node else 0


def draw_other(is_own: bool, trace: Trace, language: Language) -> str:
    return (
        ""
        if is_own
        else f"<p>{language.html('decode_other', text=sentence(trace.predicted))}</p>"
    )


def _steps(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay out the decoding step by step, and its beam as a tree, in which one goes on
    from a hypothesis; -> the player."""
    say = part.say
    tree = part.pictures(f"{ID}.tree", cleared=NO_TREE)
    tree.follow(first_node, "tree_node")
    tree.fact("grown", grow)
    tree.fact("node", node_chosen)
    player = part.canvas("step_player.js", TRANSPORT, "step-player", frame="rows")
    with gr.Row(elem_classes="tree-head"):
        part.note("tree_text", "tree_heading")
        part.control("tree_width", WIDTH, gr.Slider, min_width=260, scale=0)
    part["tree_problem"] = gr.HTML(elem_classes="status")
    part["tree"] = part.canvas(
        "beam_tree.js", '<div class="drawing"></div>', "beam-tree", frame="rows"
    )
    with gr.Row(elem_classes="of-node"):
        part["why"] = gr.HTML(elem_classes="tables why-node")
        with gr.Column(min_width=260):
            part["go"] = gr.Button(say("rivals_run"), variant="primary", size="sm")
            part["went"] = gr.HTML(elem_classes="went")
    pictures.add("player", player, draw_player, seen=in_part("steps"))
    tree.add_each(
        part,
        {
            # The tree marks itself what is clicked in it.
            "tree": lambda grown, node, language, before: (
                gr.skip()
                if before.get("grown") is grown
                else beam_tree.payload(grown, node, language)
            ),
            "why": lambda grown, node, language: beam_tree.why(grown, node, language),
            "went": lambda grown, node: "",
            "go": lambda grown: gr.update(visible=True),
        },
        seen=in_part("steps"),
    )
    return player


def node_chosen(grown: BeamTree, tree_node: int | None) -> int:
    """The node that is chosen, from 0, where the tree has it; else the winner."""
    node = int(tree_node or 0) - 1
    return node if 0 <= node < len(grown.branches) else beam_tree.winner(grown)


def _yours(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay out the translation that is given to the model piece by piece; -> the table
    of its steps."""
    gr.HTML(paragraph(part.language, "force_text", "note"))
    with gr.Row(elem_classes="ask"):
        part["target"] = gr.Textbox(
            label=part.say("force_field"),
            lines=1,
            max_lines=4,
            scale=8,
            placeholder=part.say("force_placeholder"),
        )
        part["give"] = gr.Button(part.say("force_run"), scale=1, min_width=220)
    part["remarks"] = gr.HTML(elem_classes="status")
    part["forced"] = part.canvas(
        "readings.js", "${value}", "readings forced", frame="rows"
    )
    part["free"] = gr.HTML(elem_classes="free frame-text")
    part.control(
        "smoothing", SMOOTHING, gr.Slider, "force_smoothing", "force_smoothing_info"
    )
    part["shares"] = part.canvas(
        "readings.js", "${value}", "readings distribution", frame="rows"
    )
    pictures.add("typed", part["target"], lambda trace: sentence(trace.predicted))
    pictures.add_each(
        part,
        {
            "forced": lambda given, trace, step, language: teacher_forcing.steps(
                given, trace.source, step, language
            ),
            "shares": lambda given, trace, step, language: teacher_forcing.distribution(
                given, trace.source, step, language
            ),
            "free": lambda free_text: free_text,
        },
        seen=in_part("yours"),
    )
    return part["forced"]


def _layers(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay out the readings after each layer; -> those of the decoder, by step."""
    gr.HTML(paragraph(part.language, "layers_text", "note"))
    part["by_layer"] = part.canvas(
        "readings.js", "${value}", "readings by-layer", frame="rows"
    )
    gr.HTML(paragraph(part.language, "layers_caution", "note"))
    part["lens_note"] = gr.HTML(lens_note(part.page.service, part.language))
    part["lens"] = part.canvas(
        "readings.js",
        '${value}<p class="said" role="status"></p>',
        "readings of-lens",
        frame="rows",
    )
    pictures.add_each(
        part,
        {
            "by_layer": draw_by_layer,
            "lens": lambda service, trace, step, language: lenses.lens(
                service.ask(questions.ReadDecoder(trace.text, trace.tokens)),
                trace.source,
                step,
                language,
            ),
        },
        seen=in_part("layers"),
    )
    return part["lens"]


PARTS = {"steps": _steps, "yours": _yours, "layers": _layers}


def lens_note(service: TranslationService, language: Language) -> str:
    """Introduce the logit lens, in models of this order of normalisation; HTML."""
    return paragraph(
        language,
        "lens_text_post" if service.info.norm == "post" else "lens_text",
        "note",
    )


def in_part(part: str) -> Callable[..., bool]:
    """Make the test whether a part is the one that is open."""
    return lambda decode: decode == part


def first_step(
    trace: Trace | None,
    translation: Translation | None,
    step: int | None,
    before: dict[str, Any],
) -> dict[str, Any] | None:
    """Begin a new sentence at its first step, with nothing asked of it, and keep the
    step inside the pair; None where there is no pair yet."""
    # it comes in a moment; or what is above the tabs says why not
    if trace is None or translation is None:
        return None
    is_new = before and trace.text != before["trace"].text
    at = 1 if is_new else min(max(1, int(step or 1)), len(trace.target))
    return {
        **({} if at == step else {"step": at}),
        **(dict.fromkeys(ASKED, "") if is_new else {}),
    }


def is_own(trace: Trace, translation: Translation) -> bool:
    """Whether the pair that is looked into is the model's own."""
    return [*trace.tokens] == [
        token for token in translation.best.tokens if token != EOS
    ]


def draw_player(
    service: TranslationService,
    given: Forced,
    trace: Trace,
    translation: Translation,
    is_own: bool,
    step: int,
    language: Language,
) -> dict[str, Any]:
    """Draw a step of the decoding."""
    masked = service.info.architecture == "transformer"
    by = "typed" if not is_own else "draw" if translation.options.sampling else "beam"
    return step_player.payload(trace.source, given, step, language, masked, by)


def free_text(
    given: Forced, trace: Trace, translation: Translation, language: Language
) -> str:
    """Compare what was given with what the model says when nothing is given; whatever
    the smoothing."""
    best = translation.best
    tokens = [*trace.tokens, EOS] if best.finished else list(trace.tokens)
    return teacher_forcing.free(given, tokens, best, language)


def draw_by_layer(
    service: TranslationService, translation: Translation, language: Language
) -> str:
    """Translate from each layer of the encoder."""
    asked = translation.options
    options = replace(asked, temperature=0.0, n_best=min(asked.n_best, asked.beam))
    found = service.ask(
        questions.TranslateByLayer(translation, options, translation.max_length)
    )
    return lenses.by_layer(translation.source, found, language)


def step_to(
    service: TranslationService, language: Language, *, event: gr.EventData
) -> dict[str, Any]:
    """Keep the step that the player shows, or that was chosen in a table, for the
    address and for the other parts."""
    return {"step": number_of(event, "step"), "rival": ""}


def first_node(
    translation: Translation | None,
    tree_width: float,
    tree_node: int | None,
    before: dict[str, Any],
) -> dict[str, Any] | None:
    """Choose the winner in another tree; in the first one what the address says."""
    if translation is None:
        return None
    is_new = is_other(before, translation=translation, tree_width=tree_width)
    return {"tree_node": 0} if is_new and tree_node else {}


@needs(translation="no_trace")
def grow(
    service: TranslationService, translation: Translation, tree_width: float
) -> BeamTree:
    """Grow the tree of the sentence on the page."""
    beam = int(tree_width)
    n_best = min(translation.options.n_best, beam)
    return service.ask(questions.GrowTree.wider(translation, beam, n_best=n_best))


def choose_node(
    service: TranslationService,
    language: Language,
    *,
    grown: BeamTree,
    event: gr.EventData,
) -> dict[str, Any] | None:
    """Choose the hypothesis that was clicked."""
    node = number_of(event, "node")
    return {"tree_node": node + 1} if 0 <= node < len(grown.branches) else None


def go_on(
    service: TranslationService,
    language: Language,
    *,
    grown: BeamTree,
    node: int,
    translation: Translation,
    tree_width: float,
) -> dict[str, Any]:
    """Translate on from the hypothesis that is chosen in the tree; the page then looks
    into what results."""
    prefix = beam_tree.tokens(grown, node)
    again = service.translate(
        translation.source,
        replace(translation.alone, beam=int(tree_width)),
        prefix,
        len(prefix) if prefix[-1] == EOS else translation.max_length,
    )
    own = translation.best
    new = again.best
    warned = [one for one in again.warnings if one not in translation.warnings]
    total = language.html(
        "tree_went_total",
        new=fixed(sum(new.log_probs), ".2f"),
        old=fixed(sum(own.log_probs), ".2f"),
    )
    text = (
        changed_words(own.text, new.text) if new.text else language.html("rivals_empty")
    )
    same = language.html("tree_went_same" if new.text == own.text else "tree_went_into")
    return {
        "went": f'{warnings(warned, language)}<div role="status"><p class="sub">{language.html("tree_went")}</p>'
        f'<p class="large" {language.writes}>{text}</p><p>{total} {same}</p></div>',
        "trace": service.trace(translation, new.tokens),
        "spanish": "" if new.text == own.text else new.text,
    }


@needs(translation="no_trace")
def look_into(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    target: str | None,
) -> dict[str, Any]:
    """Look into a typed translation of the sentence, piece by piece; into the model's
    own where nothing is typed."""
    best = translation.best
    text = (target or "").strip()
    if not text or text == best.text:
        return {
            "trace": service.trace(translation, best.tokens),
            "spanish": "",
            "remarks": "",
        }
    tokens, warned = service.typed(text)
    return {
        "trace": service.trace(translation, tokens),
        "spanish": text,
        "remarks": warnings(warned, language),
    }
