"""The Attention tab: all heads of a stack of the pass that made the translation, and
one of them in detail."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import alignment
from xformer.explain.export import encode
from xformer.figures import grid_payload as grid
from xformer.figures import head_payload, heads_payload, locked_word
from xformer.figures.attention import (
    ROWS,
    SHOW,
    VIEWS,
    Choice,
    Picture,
    all_maps,
    folded,
    picture,
)
from xformer.figures.labels import percent, place, sentence
from xformer.figures.layout import PALETTES
from xformer.figures.locked_word import Lock
from xformer.figures.notice import warnings
from xformer.figures.templates import fill
from xformer.parts.attention import roles
from xformer.results import STACKS, Head, Message, Trace, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui import frames
from xformer.ui.components import FILES, WIRE, canvas, download, script, small_maps
from xformer.ui.controls import Kind, Switch, Values, Whole, some_heads
from xformer.ui.handlers import QUIET, SWIFT, SWIFT_LATEST, needs, number_of, text_of
from xformer.ui.heads import STACK, TAB, head_of, layer_of, no_maps
from xformer.ui.layout import Layout
from xformer.ui.pictures import Pictures, takes
from xformer.ui.places import names, question, within
from xformer.ui.tabs import Listener, Page, Tab, View

ID = TAB
NAME = "sheet_attention"
FOLDS = (("finder", "drawer_finder"),)
EXPORTS = ("json", "npz", "html")  # the numbers of every head
# Of the View menu, what can be undone, each with the key of the text that names a
# value.
CHIPS = {
    "show": "show_{}",
    "view": "view_{}",
    "rows": "chip_rows",
    "words": "chip_words",
    "hide": "chip_hide",
    "weigh": "chip_weigh",
    "palette": "palette_{}",
}


@dataclass(frozen=True)
class Locks(Kind):
    """The locked words of `locked_word.Lock`, as text; empty for none."""

    default: str = ""

    def read(self, key: str, value: str) -> str:
        try:
            Lock.parse(value)
        except ValueError:
            raise UserError(
                Message.of("address_lock", key=key, value=value[:40])
            ) from None
        return value


def build(page: Page, inside: Sequence[Any] = ()) -> Tab:
    """Lay the tab out; called inside it. All its controls are redrawn from the trace
    alone; their keys are the fields of figures.attention.Choice. inside: the modules of
    the parts of its drawer."""
    say = page.language.say
    look = Layout(page, ID)
    look.status()
    with gr.Row(elem_classes="attention"):
        _columns(look)
    look.controls.add("lock", Locks(), lambda value: page.lock)
    look["projector"] = look.controls.add(
        "projector", Switch(), gr.Checkbox, visible=False
    )
    look["file"] = canvas("download.js", "<span></span>", "download")
    look["others"] = canvas("heads.js", "<span></span>", "all-heads")
    look["finder"] = gr.Dataset(
        components=[gr.Textbox(**WIRE)] * 3,
        type="index",
        samples=[],
        render=False,
        headers=[say("finder_role"), say("finder_head"), say("finder_score")],
        show_label=False,
        elem_classes="finder",
    )
    look["clearest"] = gr.HTML(render=False, elem_classes="summary")
    pictures = _pictures(look)
    # the id of the part of the drawer that is looked at
    open_drawer = gr.Textbox("", **WIRE)
    parts = dict[str, Layout]()
    # by its ID, the part of the drawer in which a module stands: its own, or another's
    holders = {module.ID: within(module, inside) or module.ID for module in inside}
    builds = {"finder": _finder, **{module.ID: module.build for module in inside}}

    def lay(key: str) -> None:
        parts[key] = look.inner(opened=open_drawer)
        builds[key](parts[key], look)

    with gr.Tabs(elem_classes="drawer", overflow_behavior="wrap") as drawer:
        for key in builds:
            if holders.get(key, key) != key:
                continue
            below = [name for name, holder in holders.items() if holder == key != name]
            with gr.Tab(
                say(names()[key]),
                id=key,
                elem_classes=[f"with-{name}" for name in below],
            ) as one:
                with gr.Column():
                    question(look.language, key)
                    lay(key)
                for name in below:
                    with look.folded(name):
                        lay(name)
            frames.give(one, say(names()[key]))
            one.select(None, None, open_drawer, js=f"() => {json.dumps(key)}", **QUIET)
    _choose(look, pictures)
    _act(look)
    for part in parts.values():
        look.include(part)

    asked_for = [
        module.ID for module in inside if getattr(module, "OPENED_BY_ADDRESS", False)
    ]

    def opened(
        show: Callable[[str], Any],
    ) -> Callable[[TranslationService, Values], Any]:
        """Open the part of which the address asks something."""

        def of_address(service: TranslationService, values: Values) -> Any:
            return next(
                (
                    show(holders[key])
                    for key in asked_for
                    if parts[key].controls.asked(service, values)
                ),
                gr.skip(),
            )

        return of_address

    return Tab(
        look.controls,
        {
            "drawer": View(drawer, opened(lambda key: gr.update(selected=key))),
            "open_drawer": View(open_drawer, opened(lambda key: key)),
        },
    )


def _columns(look: Layout) -> None:
    """Lay out the heads, one of them in detail, and the locked words."""
    language = look.language
    say = look.say
    with gr.Column(elem_classes="attention-heads"):
        question(language, ID)
        with gr.Row(elem_classes="controls stacks"):
            look.choice(
                "stack", STACKS, STACK.default, "stack_{}", always=True, container=False
            )
        # The small maps are the menu of layers and heads.
        look.hidden("layer", layer_of)
        look.hidden("head", head_of)
        look["grid"] = small_maps(
            language, f'<p class="sub">{language.html("grid_hint")}</p>'
        )
        look["inspected"] = gr.Dropdown(
            [],
            value=None,
            allow_custom_value=True,
            label=say("inspected"),
            info=say("inspected_info"),
            elem_classes="inspected",
        )
    with gr.Column(elem_classes="attention-picture"):
        with gr.Accordion(say("view_menu"), open=False, elem_classes="view-menu"):
            _view_menu(look)
        toolbar = fill("attention.picture", language, files=FILES, exports=EXPORTS)
        look["picture"] = canvas("head_view.js", toolbar, "view")
    with gr.Column(elem_classes="attention-word"):
        look["word"] = canvas(
            "locked_word.js",
            fill("attention.word", language),
            "locked-word",
            frame="text",
        )
        look["about"] = gr.HTML(elem_classes="summary about-picture")
    # Under all columns: the tallest one keeps its height.
    look["below"] = gr.HTML(elem_classes="summary words-of-picture")


def _finder(part: Layout, look: Layout) -> None:
    """Lay out which heads play which role."""
    part.note("finder_text", "finder")
    look["finder"].render()
    look["clearest"].render()


def _pictures(look: Layout) -> Pictures:
    """Declare the pictures of a pass."""
    page = look.page
    pictures = look.pictures(ID, tab=None)
    # changes when they are to be drawn once more
    again = pictures.input("again", gr.Textbox("", **WIRE))
    pictures.follow(other_stack, "layer", "heads")
    pictures.fact("choice", choice_of)
    pictures.fact(
        "lacking",
        lacking,
    )
    pictures.fact(
        "given",
        lambda service: alignment.given_heads(service.info, service.alignment_errors),
    )
    pictures.fact(
        "maps",
        maps_of,
    )
    pictures.fact(
        "seen",
        seen_of,
    )
    pictures.fact("best", best_heads)
    pictures.add_each(
        look,
        {
            "grid": draw_grid,
            "picture": draw_picture,
            "about": draw_about,
            "below": lambda seen, lacking, language: (
                f"<p>{language.html(lacking)}</p>"
                if seen is None
                else folded(seen, language)
            ),
            "inspected": lambda stack: gr.update(interactive=stack != "encoder_self"),
            "heads": lambda show: gr.update(visible=show in ("mean", "max")),
            "threshold": lambda view: gr.update(interactive=view != "heatmap"),
            "rows": lambda stack: gr.update(interactive=stack != "encoder_self"),
        },
    )
    pictures.add_each(
        look,
        {
            "others": draw_others,
            "word": draw_word,
            "clearest": say_clearest,
            "finder": lambda best, language: gr.update(
                samples=[_cells(role, language) for role in best]
            ),
        },
        late=True,
    )
    # Before the drawer, whose parts follow the lock too: gradio asks for one listener
    # after the other.
    page.lock.change(None, page.lock, None, js=script("lockWords"), **QUIET)
    # One listener for all of them, so that an older answer can never come after a newer
    # one and stay.
    pictures.listen(
        None, page.trace.change, again.change, late_events=[page.lock.change]
    )
    return pictures


def lacking(service: TranslationService, trace: Trace | None, stack: str) -> str:
    """Say by its key why there are no maps of a stack; "" where there are."""
    return "no_trace" if trace is None else no_maps(service, stack)


def maps_of(trace: Trace, stack: str, weigh: bool, lacking: str) -> Any:
    return None if lacking else all_maps(trace, stack, weigh)


def seen_of(
    trace: Trace, choice: Any, maps: Any, given: Any, language: Language, again: str
) -> Any:
    return None if maps is None else picture(trace, choice, language, maps, given)


def _choose(look: Layout, pictures: Pictures) -> None:
    """Show another head, and take choices of the View menu back."""
    to_sight: Listener = {"fn": None, "js": script("showPicture"), **QUIET}
    named = look.controls.named
    again = pictures.inputs["again"]
    chosen = named("layer", "head", "show", "heads")
    # What the browser shows at once, from what `draw_others` has sent, and what the
    # answer says of it: an answer to a choice before takes none of it back.
    at_once = [
        *named("layer", "head", "show").values(),
        *(look[name] for name in ("picture", "grid", "about", "below")),
    ]
    # What is chosen and its picture come in one answer: a second one would double the
    # time to the picture where the browser has none.
    for menu in ("grid", "word"):
        look[menu].choose(None, None, at_once, js=script("chosenHead"), **QUIET)
        look[menu].choose(
            **pictures.listener(None, choose, outputs=chosen),
            **SWIFT_LATEST,
        )
    look["picture"].undo(
        **pictures.listener(None, undo, outputs=named(*CHIPS)),
        trigger_mode="multiple",
        **SWIFT,
    )
    # A picture that answers what was asked before something else was chosen is asked
    # for again.
    look["grid"].change(
        None,
        [look["grid"], again, *named("stack", "layer", "head").values()],
        again,
        js=script("askAgain"),
        **QUIET,
    )
    look["finder"].click(
        **pictures.listener(
            None, open_best, inputs={"index": look["finder"]}, outputs=chosen
        ),
        **QUIET,
    ).then(**to_sight)
    look.page.on_choice += [{**pictures.listener(), **SWIFT}, to_sight]


def _act(look: Layout) -> None:
    """Lock words, show the picture to a room, save the numbers, and choose which
    translation is looked into."""
    page = look.page
    projector = look["projector"]
    look["target"] = look["inspected"]
    for locking in ("picture", "word"):
        look[locking].lock(None, None, page.lock, js=script("lockedWords"), **QUIET)
    look["picture"].project(None, projector, projector, js=script("not"), **QUIET)
    projector.change(None, projector, None, js=script("project"), **QUIET)
    look["picture"].export(
        **look.listener(save, "file", problem="problem"), api_visibility="private"
    )
    look["inspected"].input(
        **look.listener(inspect, "trace", "spanish", problem="problem"),
        api_visibility="private",
    )
    # Another tab may choose what is looked into.
    page.spanish.change(**look.listener(name_inspected, "inspected"), **QUIET)
    offered = ("inspected", "trace", "spanish")
    page.on_sentence.append(
        {**look.listener(offer, *offered, problem="problem", spanish=""), **QUIET}
    )
    page.on_opening.append(
        {**look.listener(offer, *offered, problem="problem"), **QUIET}
    )


def _view_menu(look: Layout) -> None:
    """Lay out how the picture is drawn, inside its menu."""
    with gr.Row(elem_classes="controls"):
        look.choice("show", SHOW, Choice.show, "show_{}", always=True)
    look.control(
        "heads",
        some_heads(look.language, "stack"),
        gr.Dropdown,
        "joined",
        "joined_info",
        multiselect=True,
        visible=False,
        elem_classes="joined",
    )
    with gr.Row(elem_classes="controls"):
        look.choice("view", VIEWS, Choice.view, "view_{}", always=True)
    look.control("threshold", Whole(Choice.threshold, 1, 50), gr.Slider, always=True)
    with gr.Row(elem_classes="controls"):
        look.choice("rows", ROWS, Choice.rows, "rows_{}")
    for key, text in (("words", "words"), ("hide", "hide_sinks"), ("weigh", "weigh")):
        look.control(key, Switch(), gr.Checkbox, text, always=True, min_width=150)
    look.choice(
        "palette",
        PALETTES,
        Choice.palette,
        "palette_{}",
        make=gr.Dropdown,
        always=True,
        filterable=False,
    )


@takes(*(one.name for one in fields(Choice)))
def choice_of(**look: Any) -> Choice:
    """The choice that the controls of this tab stand for."""
    return Choice(
        **{
            **look,
            "layer": int(look["layer"]),
            "head": int(look["head"]),
            "heads": tuple(map(Head.parse, look.get("heads") or ())),
        }
    )


def other_stack(
    service: TranslationService,
    language: Language,
    stack: str,
    layer: int,
    heads: list[str],
    before: dict[str, Any],
) -> dict[str, Any]:
    """Follow another stack: the same layer where it has one, and its own heads to
    join."""
    if before.get("stack", stack) == stack:
        return {}
    layers = layer_of(service, {"stack": stack})
    joined = some_heads(language, "stack")(service, {"stack": stack})
    kept = [name for name in heads or [] if Head.parse(name) in joined.options]
    return {
        "layer": min(layer, layers.most),
        "heads": gr.update(**joined.properties(), value=kept),
    }


def choose(
    service: TranslationService,
    language: Language,
    *,
    choice: Choice,
    trace: Trace | None,
    maps: np.ndarray | None,
    event: gr.EventData,
) -> dict[str, Any]:
    """Show a head of the grid; or, with Shift, join it with others or leave it out of
    them again."""
    clicked = Head(choice.stack, number_of(event, "layer"), number_of(event, "head"))
    show = "head"
    heads = choice.heads
    if getattr(event, "add", False):
        others = tuple(head for head in heads if head != clicked)
        heads = others if len(others) < len(heads) else (*heads, clicked)
        show = choice.show if choice.show in ("mean", "max") else "mean"
    return another(
        replace(choice, layer=clicked.layer, head=clicked.head, show=show, heads=heads),
        trace,
        maps,
        language,
    )


def open_best(
    service: TranslationService,
    language: Language,
    *,
    index: int,
    best: list[roles.Role],
    choice: Choice,
    trace: Trace | None,
    maps: np.ndarray | None,
) -> dict[str, Any]:
    """Show the head of a row of the finder."""
    if not 0 <= index < len(best):
        raise UserError(Message.of("error_event", name="index", value=index))
    head = best[index].head
    return another(
        replace(choice, layer=head.layer, head=head.head, show="head"),
        trace,
        maps,
        language,
    )


def another(
    choice: Choice, trace: Trace | None, maps: np.ndarray | None, language: Language
) -> dict[str, Any]:
    """Choose other heads of the stack: only the frame in the grid changes, whose maps
    need not travel again."""
    answer = {
        "layer": choice.layer,
        "head": choice.head,
        "show": choice.show,
        "heads": gr.update(
            value=[str(head) for head in choice.heads],
            visible=choice.show in ("mean", "max"),
        ),
    }
    if trace is None or maps is None:
        return answer
    marked = grid.chosen(maps, choice, language)
    return {**answer, "grid": {**marked, **_pass(trace, choice)}}


def undo(
    service: TranslationService, language: Language, *, event: gr.EventData
) -> dict[str, Any] | None:
    """Take one choice of the View menu back, whose chip was clicked."""
    key = text_of(event, "key")
    return {key: gr.update(value=getattr(Choice, key))} if key in CHIPS else None


def chips(choice: Choice, language: Language) -> dict[str, str]:
    """Name what was chosen in the View menu that is not the default."""
    return {
        key: language.say(text.format(value))
        for key, text in CHIPS.items()
        if (value := getattr(choice, key)) != getattr(Choice, key)
    }


def offer(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation | None,
    spanish: str = "",
) -> Iterator[dict[str, Any]]:
    """Offer the translations of a new sentence; the best one is looked into, or another
    where the address says so."""
    if translation is None:
        yield {"spanish": ""}
        return
    best = translation.best.text
    choices = [candidate.text for candidate in translation.n_best]
    if not spanish or spanish == best:
        yield {"inspected": gr.update(choices=choices, value=best), "spanish": ""}
        return
    yield {"inspected": gr.update(choices=choices, value=spanish)}
    yield inspect(service, language, translation=translation, target=spanish)


def name_inspected(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation | None,
    spanish: str,
) -> dict[str, Any]:
    """Name the translation that is looked into."""
    return (
        {} if translation is None else {"inspected": spanish or translation.best.text}
    )


@needs(translation="no_trace")
def inspect(
    service: TranslationService,
    language: Language,
    *,
    translation: Translation,
    target: str | None,
) -> dict[str, Any]:
    """Trace another translation of the sentence: a hypothesis, piece by piece as it
    was, or one that was typed."""
    known = [
        candidate.tokens for candidate in translation.n_best if candidate.text == target
    ]
    tokens, warned = (known[0], []) if known else service.typed(target or "")
    return {
        "problem": warnings(warned, language),
        "trace": service.trace(translation.source, tokens),
        "spanish": "" if target == translation.best.text else target,
    }


@needs(trace="no_trace")
def save(
    service: TranslationService,
    language: Language,
    *,
    trace: Trace,
    stack: str,
    layer: int,
    head: int,
    event: gr.EventData,
) -> dict[str, Any]:
    """Save the whole pass as a file, which travels in the answer and is made by the
    browser, in assets/download.js: no sentence is left on the server's disk."""
    info = service.info
    kind = text_of(event, "kind")
    given = alignment.given_heads(info, service.alignment_errors)
    content = encode(trace, info, f".{kind}", Head(stack, layer, head), language, given)
    return {
        "file": download(f"{info.name.replace('/', '-')}-attention.{kind}", content)
    }


def best_heads(trace: Trace | None, stack: str) -> list[roles.Role]:
    """The best head of the stack for every role, best first."""
    if trace is None or not trace.of(stack).probabilities.size:
        return []
    maps = trace.of(stack)
    best = dict[str, roles.Role]()
    for role in roles.rank(stack, maps.probabilities, maps.asks, maps.seen):
        best.setdefault(role.role, role)
    return [*best.values()]


def say_clearest(best: list[roles.Role], language: Language) -> str:
    """Say which head plays its role most clearly: the first row of the finder."""
    if not best:
        return ""
    role, where, score = _cells(best[0], language)
    return (
        f"<p>{language.html('finder_found', where=where, role=role, percent=score)}</p>"
    )


def _cells(role: roles.Role, language: Language) -> list[str]:
    """A row of the finder: what the head does, which one it is, and how much of it."""
    return [
        language.say(f"role_{role.role}"),
        place(role.head, language),
        percent(role.score),
    ]


def draw_grid(
    trace: Trace,
    choice: Choice,
    maps: np.ndarray | None,
    given: Collection[Head],
    language: Language,
    again: str,
) -> Any:
    """Draw the small maps of all heads."""
    return (
        None
        if maps is None
        else {
            **grid.payload(maps, choice, language, given),
            **_pass(trace, choice),
        }
    )


def _pass(trace: Trace, choice: Choice) -> dict[str, Any]:
    """What the grid is of, as `askAgain` in assets/page.js reads it."""
    return {
        "about": [trace.number, choice.stack, choice.layer, choice.head],
        "of": heads_payload.name(trace, choice),
    }


def draw_picture(
    service: TranslationService,
    trace: Trace,
    choice: Choice,
    seen: Picture | None,
    language: Language,
) -> Any:
    """Draw what is chosen."""
    if seen is None:
        return None
    pair = [sentence(pieces) for pieces in (trace.source, trace.predicted)]
    packed = head_payload.payload(
        seen,
        choice,
        service.info.versioned,
        language,
        pair,
        chips(choice, language),
    )
    return {**packed, "of": heads_payload.name(trace, choice)}


def draw_others(
    trace: Trace,
    maps: np.ndarray | None,
    given: Collection[Head],
    stack: str,
    rows: str,
    words: bool,
    hide: bool,
    weigh: bool,
    language: Language,
) -> Any:
    """Hand the browser the maps of all heads, to draw another one at once; again only
    where they change."""
    if maps is None:
        return None
    look = Choice(stack, rows=rows, words=words, hide=hide, weigh=weigh)
    return heads_payload.payload(maps, trace, look, language, given)


def draw_word(
    trace: Trace,
    lock: str,
    choice: Choice,
    seen: Picture | None,
    maps: np.ndarray | None,
    given: Collection[Head],
    language: Language,
) -> Any:
    """Say what the locked words look at in the picture, and which heads of its stack
    link them."""
    if seen is None or maps is None:
        return None
    return locked_word.payload(
        trace, choice, locked_word.locked(lock), seen, maps, given, language
    )


def draw_about(
    service: TranslationService,
    trace: Trace,
    choice: Choice,
    seen: Picture | None,
    language: Language,
) -> str:
    """What the head does, how its numbers were made, and what to notice; as HTML."""
    if seen is None:
        return ""
    said = [*seen.rules]
    if choice.show == "head":
        said += filter(
            None,
            [_alignment(service, choice, language), _roles(trace, choice, language)],
        )
    return fill(
        "attention.about",
        language,
        rules=said,
        sinks=seen.sinks,
        empty=int((seen.values.sum(axis=1) == 0).sum()),
    )


def _alignment(service: TranslationService, choice: Choice, language: Language) -> str:
    """How well a head of the cross-attention aligns words, where that is known, and on
    how many sentences."""
    errors = service.alignment_errors(choice.chosen)
    info = service.info
    if (
        errors is None
        and info.origin
        and info.norm == "post"
        and choice.chosen == service.best_head
    ):
        return language.say("aligns_trained")
    if errors is None or "sentences" not in service.metrics["alignment"]:
        return ""
    return language.say(
        f"aligns_{alignment.reading(errors)}",
        predicted=f"{errors[0]:.2f}",
        given=f"{errors[1]:.2f}",
        count=service.metrics["alignment"]["sentences"],
    )


def _roles(trace: Trace, choice: Choice, language: Language) -> str:
    """What a head does most on this sentence, if any role says something of it."""
    maps = trace.of(choice.stack)
    own = roles.of_head(choice.chosen, maps.probabilities, maps.asks, maps.seen)
    named = ", ".join(
        f"{language.say(f'role_{role.role}')} ({percent(role.score)})"
        for role in own[:3]
    )
    return language.say("head_roles", roles=named) if named else ""
