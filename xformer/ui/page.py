"""The frame of the page: the sentence on top, its tabs below, in English at / and in Spanish at /es."""

from __future__ import annotations

import json
from functools import partial
from html import escape
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from xformer.figures.translation import notice
from xformer.results import UserError
from xformer.sentiment import SentimentService
from xformer.service import Service
from xformer.strings import ASSETS, LANGUAGES, speaker, text
from xformer.ui import address, api, architecture, attention, positions, principles, sentiment, translate, visitors
from xformer.ui.headers import Gate, SecurityHeaders

FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "monospace"]
PATHS = {"en": "./", "es": "es"}  # of the page in each language, from either
# Plotly names the gradient of a colour bar by the page's whole address where there is a <base>, and loses it as soon as
# the address changes. Gradio's <base> says what is so without it.
NO_BASE = """() => {
  const base = document.querySelector('base');
  if (base && base.href === new URL('./', location.href).href) base.remove();
}"""
EXAMPLES: list[str] = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))["translation"]


def create(service: Service, reader: SentimentService | UserError | None = None) -> gr.Blocks:
    """The whole app on a service; and on a classifier of reviews, where there is one: else the reason, if any."""
    service.guard = visitors.door()
    if isinstance(reader, SentimentService):
        reader.guard = service.guard
    with gr.Blocks(title=text("title"), analytics_enabled=False, delete_cache=visitors.UPLOADS) as demo:
        _page(demo, service, reader, "en")
    with demo.route(LANGUAGES["es"], "/es", show_in_navbar=False) as spanish:
        _page(spanish, service, reader, "es")
    with demo:
        api.publish(service, reader if isinstance(reader, SentimentService) else None)
    return demo.queue(default_concurrency_limit=visitors.at_once(), max_size=visitors.BACKSTOP, api_open=False)


def launch(demo: gr.Blocks, server_name: str | None = None, server_port: int | None = None, share: bool | None = None,
           auth: tuple[str, str] | None = None, wait: bool = True) -> str:
    """Serve the app, until interrupted if it is to `wait`; returns its address. None leaves Gradio's defaults."""
    _, address, _ = demo.launch(
        server_name=server_name, server_port=server_port, share=share, auth=auth, prevent_thread_lock=not wait,
        theme=gr.themes.Default(primary_hue="blue", neutral_hue="slate", font=FONT, font_mono=MONO),
        css_paths=[ASSETS / "style.css"], footer_links=["api", "settings"], quiet=not wait,
        enable_monitoring=False, run_history=False, state_session_capacity=visitors.SESSIONS,
        app_kwargs={"middleware": [Middleware(SecurityHeaders), Middleware(Gate)], "lifespan": visitors.sessions},
        max_threads=visitors.at_once(),
        max_file_size="20mb")  # what is not even received; our own limits are lower, and say more
    return address


def _page(demo: gr.Blocks, service: Service, reader: SentimentService | UserError | None, language: str) -> None:
    say = speaker(language)
    gr.Navbar(visible=False)
    gr.HTML(_header(service, language), elem_classes="header")
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
    reviewed = gr.Textbox("", visible=False)
    with gr.Tabs() as tabs:
        with gr.Tab(say("tab_translate"), id="translate") as translate_tab:
            outputs = translate.build(service, language, translation)
        with gr.Tab(say("tab_attention"), id="attention") as attention_tab:
            seen = attention.build(service, language, translation, trace, typed)
        with gr.Tab(say("tab_sentiment"), id="sentiment") as sentiment_tab:
            sentiment.build(reader, language, reviewed, sentiment_tab)
        with gr.Tab(say("tab_positions"), id="positions") as positions_tab:
            of_positions = positions.build(service, language, translation, tab)
        with gr.Tab(say("tab_principles"), id="principles") as principles_tab:
            of_principles, store = principles.build(service, language, trace, tab)
        with gr.Tab(say("tab_model"), id="model") as model_tab:
            architecture.build(service, language, trace, tabs, tab, seen)

    handler = partial(translate.run, service, language)
    inputs = [sentence, *outputs.settings]
    results = [status, translation, trace, *outputs.shown]
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    more = [*of_positions.values(), *of_principles.values()]
    place = [sentence, tab, typed, *seen.choice, reviewed, *more]
    defaults = {name: kind.default for name, kind in (*positions.kinds(service).items(),
                                                      *principles.kinds(service).items())}
    write = {"fn": None, "inputs": place, "js": address.write(defaults), **quiet}
    again: dict[str, Any] = {"show_progress_on": [outputs.shown[0]], "api_visibility": "private"}
    offered = {"outputs": [seen.inspected, seen.problem, trace, typed], **quiet}
    offer = partial(attention.offer, service, language)
    fresh = {"fn": partial(offer, typed=""), "inputs": translation, **offered}  # a new sentence, its own translation
    gr.on([button.click, sentence.submit], handler, inputs, results, trigger_mode="always_last", **again).then(
        **fresh).then(**write)
    examples.click(_first, examples, sentence, **quiet).then(handler, inputs, results, **again).then(**fresh).then(
        **write)

    def arrive(request: gr.Request) -> list[Any]:  # gradio finds the request by its annotation, not through a partial
        return _arrive(service, language, dict(request.query_params))

    demo.load(None, js=NO_BASE, **quiet)
    demo.load(arrive, None, [problems, tabs, *place, store], **quiet).then(
        handler, inputs, results, **again).then(offer, [translation, typed], **offered)
    for name, chosen in (("translate", translate_tab), ("attention", attention_tab), ("sentiment", sentiment_tab),
                         ("positions", positions_tab), ("principles", principles_tab), ("model", model_tab)):
        chosen.select(None, None, tab, js=f"() => '{name}'", **quiet)
    gr.on([control.change for control in (tab, typed, *seen.choice, reviewed, *more)], **write)


def _arrive(service: Service, language: str, query: dict[str, str]) -> list[Any]:
    """Set the page as its address says: problems, tabs, sentence, tab, and what the Attention tab shows."""
    layer, head = service.best_head
    place = address.read(query, service.info, EXAMPLES[0], layer, head)
    problems = [*place.problems]
    take = address.reader(query, problems)
    more = [*positions.arrive(service, take), *principles.arrive(service, take)]
    said = notice([problem.say(language) for problem in problems], "warning")
    sentence = place.text if "text" in query else gr.skip()  # nothing typed meanwhile is lost
    return [said, gr.Tabs(selected=place.tab), sentence, place.tab, place.spanish,
            *attention.arrive(service, language, place.choice), place.review, *more]


def _first(sample: list[str]) -> str:
    return sample[0]


def _header(service: Service, language: str) -> str:
    info = service.info
    model = text("model_line", language, name=info.name, norm=info.norm, encoder=info.n_layers,
                 decoder=info.n_decoder_layers, heads=info.n_heads, millions=f"{info.parameters / 1e6:.1f}",
                 device=info.device, precision=info.precision)
    links = " ".join(f'<b lang="{code}">{code.upper()}</b>' if code == language else
                     f'<a lang="{code}" hreflang="{code}" href="{path}" onclick="this.search = location.search" '
                     f'aria-label="{LANGUAGES[code]}">{code.upper()}</a>' for code, path in PATHS.items())
    return (f'<header><h1>{escape(text("title", language))}</h1><p class="tagline">{escape(text("tagline", language))}'
            f'</p><p class="model">{escape(model)}</p><nav class="languages">{links}</nav></header>')
