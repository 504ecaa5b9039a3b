"""The frame of the page: the sentence on top, its tabs below, in English at / and in Spanish at /es."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

import gradio as gr
from starlette.middleware import Middleware

from xformer.figures.notice import notice
from xformer.results import Message, UserError
from xformer.serve.pool import Models
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import Service
from xformer.strings import ASSETS, ENGLISH, LANGUAGES, SPANISH, Language, speaker, text
from xformer.ui import (
    address,
    api,
    architecture,
    attention,
    positions,
    sentiment,
    sessions,
    walkthrough,
)
from xformer.ui import (
    components as canvas,
)
from xformer.ui import (
    translation as translate,
)
from xformer.ui.ablation import every_head, heads_off
from xformer.ui.handlers import QUIET, Ask, refusal
from xformer.ui.middleware import Gate, SecurityHeaders

FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "monospace"]
PATHS = {"en": "./", "es": "es"}  # of the page in each language, from either
# Plotly names the gradient of a colour bar by the page's whole address where there is a <base>, and loses it as soon as
# the address changes. Gradio's <base> says what is so without it.
NO_BASE = """() => {
  const base = document.querySelector('base');
  if (base && base.href === new URL('./', location.href).href) base.remove();
}"""
# Another model is another page at the same address; what was chosen meanwhile is loaded next.
GO = """(go, chosen) => {
  const {name, query} = JSON.parse(go || '{}');
  if (query !== undefined && name === (chosen ?? '').trim()) location.search = query;
}"""
EXAMPLES: list[str] = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))["translation"]


def create(models: Models, reader: SentimentService | UserError | None = None) -> gr.Blocks:
    """The whole app on some models; and on a classifier of reviews, where there is one: else the reason, if any."""
    models.guard = sessions.door()
    if isinstance(reader, SentimentService):
        reader.guard = models.guard
    with gr.Blocks(title=text("title"), analytics_enabled=False, delete_cache=sessions.UPLOADS) as demo:
        _page(demo, models, reader, ENGLISH)
        api.publish(demo, models.default, reader if isinstance(reader, SentimentService) else None)
    with demo.route(LANGUAGES["es"], "/es", show_in_navbar=False) as spanish:
        _page(spanish, models, reader, SPANISH)
    return demo.queue(default_concurrency_limit=sessions.at_once(), max_size=sessions.BACKSTOP, api_open=False)


def launch(demo: gr.Blocks, server_name: str | None = None, server_port: int | None = None, share: bool | None = None,
           auth: tuple[str, str] | None = None, mcp: bool | None = None, wait: bool = True) -> str:
    """Serve the app, until interrupted if it is to `wait`; returns its address. None leaves Gradio's defaults."""
    if auth:  # Gradio would describe the endpoints in the page that asks for the password
        describe = demo.get_api_info
        demo.get_api_info = (  # type: ignore[method-assign]
            lambda all_endpoints=False, page=None: describe(all_endpoints, None if page is None else "none"))
    _, address, shared = demo.launch(
        server_name=server_name, server_port=server_port, share=share, auth=auth, mcp_server=mcp,
        theme=gr.themes.Default(primary_hue="blue", neutral_hue="slate", font=FONT, font_mono=MONO),
        css_paths=[ASSETS / "style.css"], footer_links=["settings"] if auth else ["api", "settings"],
        quiet=not wait, prevent_thread_lock=True, enable_monitoring=False, run_history=False,
        state_session_capacity=sessions.SESSIONS,
        app_kwargs={"middleware": [Middleware(SecurityHeaders), Middleware(Gate)], "lifespan": sessions.sessions,
                    "routes": canvas.ROUTES},
        max_threads=sessions.at_once(),
        max_file_size="20mb")  # what is not even received; our own limits are lower, and say more
    if share and not shared:
        print(f"No public link could be made; the page is at {address} only.", flush=True)
    if wait:
        demo.block_thread()
    return address


def _page(demo: gr.Blocks, models: Models, reader: SentimentService | UserError | None, language: Language) -> None:
    say = speaker(language)
    gr.Navbar(visible=False)
    header = gr.HTML(_header(models.default, language), elem_classes="header")
    menu = gr.Dropdown(models.names, value=models.names[0], label=say("model_menu"), allow_custom_value=models.any_name,
                       info=say("model_menu_info") if models.any_name else None, elem_classes="menu",
                       visible=models.any_name or len(models.names) > 1)
    loading = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="ask"):
        sentence = gr.Textbox(EXAMPLES[0], label=say("sentence"), placeholder=say("sentence_placeholder"), lines=1,
                              max_lines=6, autofocus=True, scale=8, elem_id=f"sentence-{language}")
        button = gr.Button(say("translate"), variant="primary", scale=1, min_width=120)
    examples = gr.Dataset(components=[gr.Textbox(visible=False)], samples=[[example] for example in EXAMPLES],
                          label=say("examples"), layout="gallery", type="values", elem_classes="examples")
    problems, status = gr.HTML(elem_classes="status"), gr.HTML(elem_classes="status")
    translation, trace = gr.State(), gr.State()
    # No States: the browser writes these into the address.
    tab, typed = gr.Textbox(address.TABS[0], visible=False), gr.Textbox("", visible=False)
    reviewed, name = gr.Textbox("", visible=False), gr.Textbox("", visible=False)
    ask = Ask(models, name, language)
    with gr.Tabs() as tabs:
        with gr.Tab(say("tab_translate"), id="translate") as translate_tab:
            outputs = translate.build(ask, translation)
        with gr.Tab(say("tab_attention"), id="attention") as attention_tab:
            seen = attention.build(ask, translation, trace, typed)
        with gr.Tab(say("tab_sentiment"), id="sentiment") as sentiment_tab:
            sentiment.build(reader, language, reviewed, sentiment_tab)
        with gr.Tab(say("tab_positions"), id="positions") as positions_tab:
            of_positions, lengths = positions.build(ask, translation, tab)
        with gr.Tab(say("tab_principles"), id="principles") as principles_tab:
            of_principles, store = walkthrough.build(ask, trace, tab)
        with gr.Tab(say("tab_model"), id="model") as model_tab:
            architectures = architecture.build(ask, trace, tabs, tab, seen)

    handler = ask(translate.run, [sentence, *outputs.settings.values()])
    results = [status, translation, trace, *outputs.shown]
    further = {**outputs.settings, "off": seen.off, **of_positions, **of_principles}
    more = list(further.values())
    place = [sentence, tab, typed, *seen.choice, reviewed, *more, name]
    defaults = gr.Textbox(_defaults(models.default), visible=False)
    write = {"fn": None, "inputs": [defaults, *place], "js": address.write([*further, "model"]), **QUIET}
    again: dict[str, Any] = {"outputs": results, "show_progress_on": [outputs.shown[0]], "api_visibility": "private"}
    offered = {"outputs": [seen.inspected, seen.problem, trace, typed], **QUIET}
    fresh = {**ask(attention.offer, [translation], typed=""), **offered}  # a new sentence, its own translation
    gr.on([button.click, sentence.submit], **handler, trigger_mode="always_last", **again).then(**fresh).then(**write)
    examples.click(_first, examples, sentence, **QUIET).then(**handler, **again).then(**fresh).then(**write)
    arrived = [problems, tabs, *place, store, header, menu, defaults, *lengths, *architectures]

    def arrive(request: gr.Request) -> Iterator[list[Any]]:  # gradio finds the request by its annotation
        query = dict(request.query_params)
        if not models.at_hand(query.get("model", "")):
            yield [*[gr.skip()] * (len(arrived) - 1), _loading(query["model"], language)]
        yield from _in_steps(_arrive(models, language, query)[::-1])

    demo.load(None, js=NO_BASE, **QUIET)
    # Backwards: of what is not in sight, gradio tells each change before it makes the next, and what listens to it, as
    # to the tab, needs what comes after it: the width of a table its dimensions, and all of them the model.
    demo.load(arrive, None, arrived[::-1], **QUIET).then(**handler, **again).then(
        **ask(attention.offer, [translation, typed]), **offered)
    go = gr.Textbox("", visible=False)
    menu.input(partial(_choose, models, language), [menu, name, sentence, go], [loading, go], api_visibility="private",
               show_progress="minimal", show_progress_on=[loading],
               js="(chosen, name, sentence) => [chosen, name, sentence, location.search]").then(
        None, [go, menu], js=GO, **QUIET)
    for key, chosen in (("translate", translate_tab), ("attention", attention_tab), ("sentiment", sentiment_tab),
                        ("positions", positions_tab), ("principles", principles_tab), ("model", model_tab)):
        chosen.select(None, None, tab, js=f"() => '{key}'", **QUIET)
    gr.on([control.change for control in (tab, typed, *seen.choice, reviewed, *more)], **write)


def _arrive(models: Models, language: Language, query: dict[str, str]) -> list[Any]:
    """Set the page as its address says; where its model cannot be had, as far as the default has what it asks for."""
    try:
        name = models.known_as(query.get("model", ""))
        with models.lease(name) as service:
            answer, problems = _set(models, service, name, language, query)
        said = [problem.say(language) for problem in problems]
    except UserError as error:
        answer, _ = _set(models, models.default, "", language, query)
        said = [error.say(language)]
    return [notice(said, "warning"), *answer]


def _set(models: Models, service: Service, name: str, language: Language, query: dict[str, str]
         ) -> tuple[list[Any], list[Message]]:
    """What is on the page for an address and a model: tabs, sentence, tab, what the Attention tab shows, and so on;
    and what of the address is nonsense."""
    layer, head = service.best_head
    place = address.read(query, service.info, EXAMPLES[0], layer, head)
    problems = [*place.problems]
    take = address.reader(query, problems)
    off = gr.update(choices=every_head(service, language), value=list(take("off", heads_off(service))))
    further = [*translate.arrive(service, take), off, *positions.arrive(service, language, take)]
    *of_principles, store = walkthrough.arrive(service, take)
    sentence = place.text if "text" in query else gr.skip()  # nothing typed meanwhile is lost
    measured = bool(service.length_scores)
    shown = name or models.names[0]
    return [gr.Tabs(selected=place.tab), sentence, place.tab, place.spanish,
            *attention.arrive(service, language, place.choice), place.review, *further, *of_principles, name,
            store, _header(service, language),
            gr.update(choices=[*models.names, *({shown} - {*models.names})], value=shown), _defaults(service),
            gr.update(visible=measured), gr.update(visible=not measured),
            *architecture.arrive(service, language)], problems


def _in_steps(answer: list[Any]) -> Iterator[list[Any]]:
    """What there is to choose from, then what is chosen: gradio refuses a choice that is not there, and would tell of
    some values before it sets others, if their choices came with these."""
    updates = [part if isinstance(part, dict) else {"value": part} for part in answer]
    yield [{**gr.skip(), **{key: value for key, value in update.items() if key != "value"}} for update in updates]
    yield [update.get("value", gr.skip()) for update in updates]


def _defaults(service: Service) -> str:
    """What an address leaves out because it is what the page begins with."""
    layer, head = service.best_head
    kinds = {**translate.kinds(service), "off": heads_off(service), **positions.kinds(service),
             **walkthrough.kinds(service)}
    return address.defaults({"layer": layer, "head": head, **{name: kind.default for name, kind in kinds.items()}})


def _choose(models: Models, language: Language, chosen: str | None, name: str, sentence: str | None,
            search: str) -> Iterator[tuple[str, str]]:
    """Load another model while the page goes on with its own: what is said, and then what GO reads.

    The address goes with it, but for what the other model does not have.
    """
    chosen, sentence = (chosen or "").strip(), sentence or ""
    try:
        wanted = models.known_as(chosen)
        if wanted == name:
            yield "", ""
            return
        if len(sentence) > address.LONGEST:
            raise UserError(Message.of("model_long", characters=len(sentence), limit=address.LONGEST))
        yield _loading(chosen, language), ""
        query = {**dict(parse_qsl(search.removeprefix("?"), keep_blank_values=True)), "model": wanted, "text": sentence}
        with models.lease(wanted) as service:
            _, problems = _set(models, service, wanted, language, query)
    except UserError as error:
        yield refusal(error, language), ""
        return
    lacking = {dict(problem.values).get("key", "heads") for problem in problems}
    kept = {key: value for key, value in query.items() if value and key not in lacking}
    yield _loading(chosen, language), json.dumps({"name": chosen, "query": urlencode(kept)})


def _loading(name: str, language: Language) -> str:
    return notice([text("model_loading", language, name=name)], "warning")


def _first(sample: list[str]) -> str:
    return sample[0]


def _header(service: Service, language: Language) -> str:
    info = service.info
    model = text("model_line", language, name=info.name, norm=info.norm, encoder=info.n_layers,
                 decoder=info.n_decoder_layers, heads=info.n_heads, millions=f"{info.parameters / 1e6:.1f}",
                 device=info.device, precision=info.precision)
    links = " ".join(f'<b lang="{code}">{code.upper()}</b>' if code == language else
                     f'<a lang="{code}" hreflang="{code}" href="{path}" onclick="this.search = location.search" '
                     f'aria-label="{LANGUAGES[code]}">{code.upper()}</a>' for code, path in PATHS.items())
    return (f'<header><h1>{escape(text("title", language))}</h1><p class="tagline">{escape(text("tagline", language))}'
            f'</p><p class="model" data-name="{escape(info.name)}" data-identity="{info.identity}">{escape(model)}</p>'
            f'<nav class="languages">{links}</nav></header>')
