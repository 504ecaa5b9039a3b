"""The Attention tab: all heads of a stack of the pass that made the translation, and one of them in detail."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import alignment, roles
from xformer.figures import grid_payload as grid
from xformer.figures import head_payload, locked_word
from xformer.figures.attention import ROWS, SHOW, VIEWS, Choice, Picture, all_maps, folded, picture
from xformer.figures.labels import percent, place, sentence
from xformer.figures.layout import PALETTES
from xformer.figures.locked_word import Lock
from xformer.figures.notice import notice
from xformer.results import STACKS, Head, Message, Trace, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.attention import ablation, attribution_methods, counterfactual, export, weighing, word_link
from xformer.ui.components import canvas, copy_link, projector_button, save_menu, script, small_maps
from xformer.ui.controls import Controls, Numbered, OneOf, Switch, Unlimited, Values, Whole, some_heads
from xformer.ui.handlers import QUIET, SWIFT, needs, number_of, text_of
from xformer.ui.pictures import Pictures, takes
from xformer.ui.places import in_drawer, note, question
from xformer.ui.tabs import Listener, Page, Tab, View

ID = "attention"
STACK = OneOf(STACKS, "cross")
# Of the View menu, what can be undone, each with the key of the text that names a value.
CHIPS = {"show": "show_{}", "view": "view_{}", "rows": "chip_rows", "words": "chip_words", "hide": "chip_hide",
         "weigh": "chip_weigh", "palette": "palette_{}"}


def layer_of(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of the stack that is chosen; 1 where it has none, of which `draw` says so."""
    layers = max(1, service.info.layers(so_far["stack"]))
    return Numbered(min(service.best_head.layer, layers), 1, layers)


def head_of(service: TranslationService, _: Values) -> Numbered:
    """The heads of a layer."""
    return Numbered(service.best_head.head, 1, service.info.n_heads)


@dataclass(frozen=True)
class Locks(Unlimited):
    """The locked words of `locked_word.Lock`, as text; empty for none."""

    default: str = ""

    def read(self, key: str, value: str) -> str:
        try:
            Lock.parse(value)
        except ValueError:
            raise UserError(Message.of("address_lock", key=key, value=value[:40])) from None
        return value


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it. All that is declared in `look` is redrawn from the trace alone."""
    say, look = page.language.say, Controls(page.service)  # its keys are the fields of figures.attention.Choice
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="attention"):
        shown = _columns(page, look)
    look.add("lock", Locks(), lambda value: page.lock)
    look.add("projector", Switch(), gr.Checkbox, visible=False)
    shown["file"] = canvas("download.js", "<span></span>", "download")
    shown["finder"] = gr.Dataset(components=[gr.Textbox(visible=False)] * 3, type="index", samples=[], render=False,
                                 headers=[say("finder_role"), say("finder_head"), say("finder_score")],
                                 show_label=False, elem_classes="finder")
    shown["clearest"] = gr.HTML(render=False, elem_classes="summary")
    pictures = _pictures(page, look, shown)
    open_drawer = gr.Textbox("", visible=False)  # the id of the part of the drawer that is looked at
    with gr.Tabs(elem_classes="drawer", overflow_behavior="wrap") as drawer:
        of_ablation, of_weighing = _drawer(page, look, shown, open_drawer)
    _choose(page, look, shown, pictures)
    _act(page, look, shown, problem)
    _inspect(page, shown, problem)
    look.include(of_ablation)
    look.include(of_weighing)

    def opened(selected: Any) -> Callable[[TranslationService, Values], Any]:
        """Open the part that weighs otherwise where the address asks something of it."""
        return lambda service, values: selected if of_weighing.asked(service, values) else gr.skip()

    return Tab(look, {"drawer": View(drawer, opened(gr.update(selected=weighing.TAB))),
                      "open_drawer": View(open_drawer, opened(weighing.TAB))})


def _columns(page: Page, look: Controls) -> dict[str, Any]:
    """Lay out the heads, one of them in detail, and the locked words; -> the components by name."""
    language, say = page.language, page.language.say
    with gr.Column(scale=0, min_width=280, elem_classes="attention-heads"):
        question(language, ID)
        with gr.Row(elem_classes="controls stacks"):
            look.add("stack", STACK, gr.Radio, always=True, label=say("stack"), container=False,
                     choices=language.choices("stack_{}", STACKS))
        # The small maps are the menu of layers and heads.
        look.add("layer", layer_of, gr.Number, visible=False, precision=0)
        look.add("head", head_of, gr.Number, visible=False, precision=0)
        grid = small_maps(language, f'<p class="sub">{language.html("grid_hint")}</p>')
        inspected = gr.Dropdown([], value=None, allow_custom_value=True, label=say("inspected"),
                                info=say("inspected_info"), elem_classes="inspected")
    with gr.Column(scale=1, min_width=300, elem_classes="attention-picture"):
        with gr.Accordion(say("view_menu"), open=False, elem_classes="view-menu"):
            _view_menu(look, language)
        picture = canvas("head_view.js", _toolbar(language), "view")
    with gr.Column(scale=0, min_width=260, elem_classes="attention-word"):
        word = canvas("locked_word.js", _word(language), "locked-word")
        about = gr.HTML(elem_classes="summary about-picture")
    below = gr.HTML(elem_classes="summary words-of-picture")  # under all columns: the tallest one keeps its height
    return {"grid": grid, "inspected": inspected, "picture": picture, "below": below, "word": word, "about": about}


def _drawer(page: Page, look: Controls, shown: Mapping[str, Any], opened: gr.Textbox) -> tuple[Controls, Controls]:
    """Lay out what the tab asks the model; -> the controls of two parts. opened: the id of the one that is looked at.
    """
    language = page.language
    with in_drawer(language, "finder") as of_finder:
        gr.HTML(f'<h3>{language.html("finder")}</h3>{note(language, "finder_text")}')
        shown["finder"].render()
        shown["clearest"].render()
    with in_drawer(language, "ablation") as of_heads:
        of_ablation = ablation.build(page, look)
    with in_drawer(language, weighing.TAB) as of_weights:
        of_weighing = weighing.build(page, look, opened)
    with in_drawer(language, "occlusion") as of_words:
        attribution_methods.build(page, look)
    with in_drawer(language, "rivals") as of_rivals:
        counterfactual.build(page)
    with in_drawer(language, word_link.TAB) as of_link:
        word_link.build(page)
    for part in (of_finder, of_heads, of_weights, of_words, of_rivals, of_link):
        part.select(None, None, opened, js=f"() => {json.dumps(part.id or '')}", **QUIET)
    return of_ablation, of_weighing


def _pictures(page: Page, look: Controls, shown: Mapping[str, Any]) -> Pictures:
    """Declare the pictures of a pass."""
    again = gr.Textbox("", visible=False)  # whose text changes when they are to be drawn once more
    pictures = Pictures(page, look, ID)
    pictures.input("again", again)
    pictures.follow(other_stack, **look.named("layer", "heads"))
    pictures.fact("choice", choice_of)
    pictures.fact("lacking", lambda service, trace, stack: "no_trace" if trace is None else no_maps(service, stack))
    pictures.fact("given", lambda service: alignment.given_heads(service.info, service.alignment_errors))
    pictures.fact("maps", lambda trace, stack, weigh, lacking: None if lacking else all_maps(trace, stack, weigh))
    pictures.fact("seen", lambda trace, choice, maps, given, language, again: (
        None if maps is None else picture(trace, choice, language, maps, given)))
    pictures.fact("best", best_heads)
    pictures.add_each(shown, {"grid": draw_grid, "picture": draw_picture, "below": draw_below, "about": draw_about,
                              "inspected": lambda stack: gr.update(interactive=stack != "encoder_self")})
    pictures.add_each(look.named(), {
        "heads": lambda show: gr.update(visible=show in ("mean", "max")),
        "threshold": lambda view: gr.update(interactive=view != "heatmap"),
        "rows": lambda stack: gr.update(interactive=stack != "encoder_self")})
    pictures.add_each(shown, {"word": draw_word, "finder": draw_finder, "clearest": say_clearest}, late=True)
    # Before the drawer, whose parts follow the lock too: gradio asks for one listener after the other.
    page.lock.change(None, page.lock, None, js=script("lockWords"), **QUIET)
    # One listener for all of them, so that an older answer can never come after a newer one and stay.
    pictures.listen(None, page.trace.change, again.change, late_events=[page.lock.change])
    return pictures


def _choose(page: Page, look: Controls, shown: Mapping[str, Any], pictures: Pictures) -> None:
    """Show another head, and take choices of the View menu back."""
    to_sight: Listener = {"fn": None, "js": script("showPicture"), **QUIET}
    # What is chosen and its picture come in one answer: a second one would double the time to the picture.
    chosen, again = look.named("layer", "head", "show", "heads"), pictures.inputs["again"]
    for menu in ("grid", "word"):
        shown[menu].choose(**pictures.listener(None, choose, outputs=chosen), trigger_mode="multiple", **SWIFT).then(
            **to_sight)
    shown["picture"].undo(**pictures.listener(None, undo, outputs=look.named(*CHIPS)), trigger_mode="multiple", **SWIFT)
    # A picture that answers what was asked before something else was chosen is asked for again.
    shown["grid"].change(None, [shown["grid"], again, *look.named("stack", "layer", "head").values()], again,
                         js=script("askAgain"), **QUIET)
    shown["finder"].click(**pictures.listener(None, open_best, inputs={"index": shown["finder"]}, outputs=chosen),
                          **QUIET).then(**to_sight)
    page.on_choice += [{**pictures.listener(), **SWIFT}, to_sight]


def _act(page: Page, look: Controls, shown: Mapping[str, Any], problem: gr.HTML) -> None:
    """Lock words, show the picture to a room, and save the numbers."""
    projector = look["projector"].component
    for locking in ("picture", "word"):
        shown[locking].lock(None, None, page.lock, js=script("lockedWords"), **QUIET)
    shown["picture"].project(None, projector, projector, js=script("not"), **QUIET)
    projector.change(None, projector, None, js=script("project"), **QUIET)
    shown["picture"].export(**page.ask(export.save, {"trace": page.trace, **look.named("stack", "layer", "head")},
                                       {"file": shown["file"]}, problem), api_visibility="private")


def _inspect(page: Page, shown: Mapping[str, Any], problem: gr.HTML) -> None:
    """Choose which translation is looked into."""
    inspected, looked_into = shown["inspected"], {"trace": page.trace, "spanish": page.spanish}
    inspected.input(**page.ask(inspect, {"translation": page.translation, "target": inspected}, looked_into, problem),
                    api_visibility="private")
    # Another tab may choose what is looked into.
    page.spanish.change(**page.ask(name_inspected, {"translation": page.translation, "spanish": page.spanish},
                                   {"inspected": inspected}), **QUIET)
    offered = {"inspected": inspected, **looked_into}
    page.on_sentence.append({**page.ask(offer, {"translation": page.translation}, offered, problem), **QUIET})
    page.on_opening.append({**page.ask(offer, {"translation": page.translation, "spanish": page.spanish}, offered,
                                       problem), **QUIET})


def _view_menu(look: Controls, language: Language) -> None:
    """Lay out how the picture is drawn, inside its menu."""
    say = language.say
    with gr.Row(elem_classes="controls"):
        look.add("show", OneOf(SHOW, Choice.show), gr.Radio, always=True, label=say("show"),
                 choices=language.choices("show_{}", SHOW))
    look.add("heads", some_heads(language, "stack"), gr.Dropdown, multiselect=True, visible=False,
             label=say("joined"), info=say("joined_info"), elem_classes="joined")
    with gr.Row(elem_classes="controls"):
        look.add("view", OneOf(VIEWS, Choice.view), gr.Radio, always=True, label=say("view"),
                 choices=language.choices("view_{}", VIEWS))
    look.add("threshold", Whole(Choice.threshold, 1, 50), gr.Slider, always=True, label=say("threshold"))
    with gr.Row(elem_classes="controls"):
        look.add("rows", OneOf(ROWS, Choice.rows), gr.Radio, label=say("rows"),
                 choices=language.choices("rows_{}", ROWS))
    look.add("words", Switch(), gr.Checkbox, always=True, label=say("words"), min_width=150)
    look.add("hide", Switch(), gr.Checkbox, always=True, label=say("hide_sinks"), min_width=150)
    look.add("weigh", Switch(), gr.Checkbox, always=True, label=say("weigh"), min_width=150)
    look.add("palette", OneOf(tuple(PALETTES), Choice.palette), gr.Dropdown, always=True, label=say("palette"),
             filterable=False, choices=language.choices("palette_{}", PALETTES))


def _toolbar(language: Language) -> str:
    """The picture's place and what stands above it, as a template of `canvas`."""
    html = language.html
    of_all = "".join(f'<button type="button" data-export="{kind}">{html(f"export_{kind}")}</button>'
                     for kind in export.KINDS)
    menu = save_menu(language, more=f'<p class="sub">{html("export")}</p>{of_all}')
    return (f'<div class="toolbar"><span class="chips"></span>{menu}'
            f'<button type="button" data-zoom="-1" title="{html("smaller")}" aria-label="{html("smaller")}">−</button>'
            f'<button type="button" data-zoom="1" title="{html("larger")}" aria-label="{html("larger")}">+</button>'
            f'{copy_link(language)}'
            f'{projector_button(language, "projector")}</div><div class="drawing"></div>')


def _word(language: Language) -> str:
    """The panel of the locked words, as a template of `canvas`."""
    html = language.html
    return (f'<div class="head"><h3>{html("lock_title")}</h3><button type="button" class="let-go" hidden>'
            f'{html("lock_let_go")}</button></div><div class="word"></div>'
            f'<button type="button" class="in-all" hidden>{html("link_open")}</button>')


def no_maps(service: TranslationService, stack: str) -> str:
    """Return the key of the sentence that says why a stack of a model has no maps; "" where it has some."""
    if service.info.layers(stack):
        return ""
    return "no_maps_stack" if service.info.layers("cross") else "no_maps_model"


@takes(*(one.name for one in fields(Choice)))
def choice_of(**look: Any) -> Choice:
    """The choice that the controls of this tab stand for."""
    return Choice(**{**look, "layer": int(look["layer"]), "head": int(look["head"]),
                     "heads": tuple(map(Head.parse, look.get("heads") or ()))})


def other_stack(service: TranslationService, language: Language, stack: str, layer: int, heads: list[str],
                before: dict[str, Any]) -> dict[str, Any]:
    """Follow another stack: the same layer where it has one, and its own heads to join."""
    if before.get("stack", stack) == stack:
        return {}
    layers, joined = layer_of(service, {"stack": stack}), some_heads(language, "stack")(service, {"stack": stack})
    kept = [name for name in heads or [] if Head.parse(name) in joined.options]
    return {"layer": min(layer, layers.most), "heads": gr.update(**joined.properties(), value=kept)}


def choose(service: TranslationService, language: Language, *, choice: Choice, trace: Trace | None,
           maps: np.ndarray | None, event: gr.EventData) -> dict[str, Any]:
    """Show a head of the grid; or, with Shift, join it with others or leave it out of them again."""
    clicked, show, heads = Head(choice.stack, number_of(event, "layer"), number_of(event, "head")), "head", choice.heads
    if event.add:
        others = tuple(head for head in heads if head != clicked)
        heads = others if len(others) < len(heads) else (*heads, clicked)
        show = choice.show if choice.show in ("mean", "max") else "mean"
    return another(replace(choice, layer=clicked.layer, head=clicked.head, show=show, heads=heads), trace, maps,
                   language)


def open_best(service: TranslationService, language: Language, *, index: int, best: list[roles.Role], choice: Choice,
              trace: Trace | None, maps: np.ndarray | None) -> dict[str, Any]:
    """Show the head of a row of the finder."""
    head = best[index].head
    return another(replace(choice, layer=head.layer, head=head.head, show="head"), trace, maps, language)


def another(choice: Choice, trace: Trace | None, maps: np.ndarray | None, language: Language) -> dict[str, Any]:
    """Choose other heads of the stack: only the frame in the grid changes, whose maps need not travel again."""
    answer = {"layer": choice.layer, "head": choice.head, "show": choice.show,
              "heads": gr.update(value=[str(head) for head in choice.heads], visible=choice.show in ("mean", "max"))}
    if trace is None or maps is None:
        return answer
    return {**answer, "grid": {**grid.chosen(maps, choice, language), "about": _pass(trace, choice)}}


def undo(service: TranslationService, language: Language, *, event: gr.EventData) -> dict[str, Any] | None:
    """Take one choice of the View menu back, whose chip was clicked."""
    key = text_of(event, "key")
    return {key: gr.update(value=getattr(Choice, key))} if key in CHIPS else None


def chips(choice: Choice, language: Language) -> dict[str, str]:
    """Name what was chosen in the View menu that is not the default."""
    say, names = language.say, {}
    for key, text in CHIPS.items():
        value = getattr(choice, key)
        if value != getattr(Choice, key):
            names[key] = say(text.format(value))
    return names


def open_layer(service: TranslationService, language: Language, stack: str, layer: int) -> dict[str, Any]:
    """Open this tab at a stack and layer, one head at a time: values of `Page.tabs`, `Page.tab` and controls here."""
    so_far = {"stack": stack}
    return {"tabs": gr.Tabs(selected=ID), "tab": ID, "stack": stack, "show": "head",
            "layer": min(layer, layer_of(service, so_far).most),
            "heads": gr.update(**some_heads(language, "stack")(service, so_far).properties(), value=[])}


def offer(service: TranslationService, language: Language, *, translation: Translation | None, spanish: str = ""
          ) -> Iterator[dict[str, Any]]:
    """Offer the translations of a new sentence; the best one is looked into, or another where the address says so."""
    if translation is None:
        yield {"spanish": ""}
        return
    best, choices = translation.best.text, [candidate.text for candidate in translation.n_best]
    if not spanish or spanish == best:
        yield {"inspected": gr.update(choices=choices, value=best), "spanish": ""}
        return
    yield {"inspected": gr.update(choices=choices, value=spanish)}
    yield inspect(service, language, translation=translation, target=spanish)


def name_inspected(service: TranslationService, language: Language, *, translation: Translation | None, spanish: str
                   ) -> dict[str, Any]:
    """Name the translation that is looked into."""
    return {} if translation is None else {"inspected": spanish or translation.best.text}


@needs(translation="no_trace")
def inspect(service: TranslationService, language: Language, *, translation: Translation, target: str | None
            ) -> dict[str, Any]:
    """Trace another translation of the sentence: a hypothesis, piece by piece as it was, or one that was typed."""
    known = [candidate.tokens for candidate in translation.n_best if candidate.text == target]
    tokens, warnings = (known[0], []) if known else service.typed(target or "")
    return {"problem": notice([warning.say(language) for warning in warnings], "warning"),
            "trace": service.trace(translation.source, tokens),
            "spanish": "" if target == translation.best.text else target}


def best_heads(trace: Trace | None, stack: str) -> list[roles.Role]:
    """The best head of the stack for every role, best first."""
    if trace is None or not trace.of(stack).probabilities.size:
        return []
    maps, best = trace.of(stack), dict[str, roles.Role]()
    for role in roles.rank(stack, maps.probabilities, maps.asks, maps.seen):
        best.setdefault(role.role, role)
    return [*best.values()]


def draw_finder(best: list[roles.Role], language: Language) -> Any:
    """List the best heads as rows to click."""
    return gr.update(samples=[_cells(role, language) for role in best])


def say_clearest(best: list[roles.Role], language: Language) -> str:
    """Say which head plays its role most clearly: the first row of the finder."""
    if not best:
        return ""
    role, where, score = _cells(best[0], language)
    return f"<p>{language.html('finder_found', where=where, role=role, percent=score)}</p>"


def _cells(role: roles.Role, language: Language) -> list[str]:
    """A row of the finder: what the head does, which one it is, and how much of it."""
    return [language.say(f"role_{role.role}"), place(role.head, language), percent(role.score)]


def draw_grid(trace: Trace, choice: Choice, maps: np.ndarray | None, given: Collection[Head], language: Language,
              again: str) -> Any:
    """Draw the small maps of all heads."""
    return None if maps is None else {**grid.payload(maps, choice, language, given), "about": _pass(trace, choice)}


def _pass(trace: Trace, choice: Choice) -> list[Any]:
    """What the grid is of, as `askAgain` in assets/page.js reads it."""
    return [trace.number, choice.stack, choice.layer, choice.head]


def draw_picture(service: TranslationService, trace: Trace, choice: Choice, seen: Picture | None, language: Language
                 ) -> Any:
    """Draw what is chosen."""
    if seen is None:
        return None
    pair = [sentence(pieces) for pieces in (trace.source, trace.predicted)]
    return head_payload.payload(seen, choice, f"{service.info.name} {service.info.identity}", language, pair,
                                chips(choice, language))


def draw_below(seen: Picture | None, lacking: str, language: Language) -> str:
    """Describe the picture in words, or say why there is none."""
    return f"<p>{language.html(lacking)}</p>" if seen is None else folded(seen, language)


def draw_word(trace: Trace, lock: str, choice: Choice, seen: Picture | None, maps: np.ndarray | None,
              given: Collection[Head], language: Language) -> Any:
    """Say what the locked words look at in the picture, and which heads of its stack link them."""
    if seen is None or maps is None:
        return None
    return locked_word.payload(trace, choice, locked_word.locked(lock), seen, maps, given, language)


def draw_about(service: TranslationService, trace: Trace, choice: Choice, seen: Picture | None, language: Language
               ) -> str:
    """What the head does, how its numbers were made, and what to notice; as HTML."""
    if seen is None:
        return ""
    said = [*seen.rules]
    if choice.show == "head":
        said += filter(None, [_alignment(service, choice, language), _roles(trace, choice, language)])
    rules = "".join(f"<p>{escape(rule)}</p>" for rule in said)
    meter = "" if seen.sinks is None else (f'<p><meter max="1" value="{seen.sinks:.3f}"></meter> '
                                           f'{language.html("sink_meter", percent=percent(seen.sinks))}</p>')
    empty = int((seen.values.sum(axis=1) == 0).sum())
    note = language.html("attention_note_empty", count=empty) if empty else language.html("attention_note")
    return (f'<h3>{language.html("head_about")}</h3><div class="rules" role="status">{rules}{meter}</div>'
            f'<p class="note">{note}</p>')


def _alignment(service: TranslationService, choice: Choice, language: Language) -> str:
    """How well a head of the cross-attention aligns words, where that is known, and on how many sentences."""
    errors = service.alignment_errors(choice.chosen)
    if errors is None or "sentences" not in service.metrics["alignment"]:
        return ""
    return language.say(f"aligns_{alignment.reading(errors)}",
                        predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}",
                        count=service.metrics["alignment"]["sentences"])


def _roles(trace: Trace, choice: Choice, language: Language) -> str:
    """What a head does most on this sentence, if any role says something of it."""
    maps = trace.of(choice.stack)
    own = roles.of_head(choice.chosen, maps.probabilities, maps.asks, maps.seen)
    named = ", ".join(f"{language.say(f'role_{role.role}')} ({percent(role.score)})" for role in own[:3])
    return language.say("head_roles", roles=named) if named else ""
