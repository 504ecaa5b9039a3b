"""The frame of the page: the sentence on top, its tabs below, in English at / and in
Spanish at /es."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import gradio as gr
from starlette.middleware import Middleware

from xformer import parts
from xformer.figures.notice import notice
from xformer.figures.taught import marks
from xformer.figures.templates import fill
from xformer.results import Message, UserError
from xformer.serve.hosts import Hosts
from xformer.serve.protocol import (
    ModelPool,
    ReviewService,
    StudyService,
    TranslationService,
    WriterService,
)
from xformer.strings import ENGLISH, SPANISH, Language, leftwards
from xformer.ui import frames, lessons
from xformer.ui.components import ROUTES, STYLES, VERSION, WIRE, canvas, script
from xformer.ui.controls import (
    LONGEST,
    Controls,
    OneOf,
    Values,
    Words,
    in_steps,
    setting_order,
)
from xformer.ui.handlers import LATEST, QUIET, Ask, refused
from xformer.ui.parts import tabs as tabs_of
from xformer.ui.places import overview, title
from xformer.ui.server import api, gradio_private, sessions, sharing
from xformer.ui.server.delivery import Delivery
from xformer.ui.server.middleware import Doorkeeper, Gate, SecurityHeaders
from xformer.ui.tabs import (
    Listener,
    Page,
    Tab,
    TabModule,
    View,
    example,
    examples,
    seen,
)

TABS: Sequence[TabModule] = tabs_of()
FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "monospace"]
# Of Gradio's own controls, as assets/scale.css has it for all others.
SCALE = {
    **{
        f"button_{size}_{part}": value
        for size in ("large", "medium", "small")
        for part, value in (
            ("padding", ".15rem .6rem"),
            ("radius", "*radius_md"),
            ("text_size", "*text_md"),
            ("text_weight", "400"),
        )
    },
    "button_border_width": "1px",
    "button_secondary_background_fill": "*background_fill_primary",
    "button_secondary_background_fill_hover": "*background_fill_secondary",
    "button_secondary_border_color": "*border_color_primary",
    "button_secondary_border_color_hover": "*border_color_primary",
    "block_label_text_size": "*text_sm",
    "block_info_text_size": "*text_sm",
    "block_title_text_size": "*text_md",
    "prose_header_text_weight": "600",
}
# Gradio's own colours, but for those that are too pale to be read: every text has a
# contrast of at least 4.5 : 1.
THEME = gr.themes.Default(
    primary_hue="blue", neutral_hue="slate", font=FONT, font_mono=MONO
).set(
    body_text_color_subdued="*neutral_600",
    block_info_text_color="*neutral_600",
    block_label_text_color="*neutral_600",
    block_title_text_color="*neutral_700",
    input_placeholder_color="*neutral_500",
    input_placeholder_color_dark="*neutral_400",
    color_accent="*primary_600",
    button_primary_background_fill="*primary_600",
    button_primary_background_fill_hover="*primary_700",
    button_primary_background_fill_dark="*primary_600",
    button_primary_background_fill_hover_dark="*primary_700",
    **SCALE,
)
# the address of the part with two models
COMPARE = json.dumps(
    {"tab": "translate", parts.choice("translate"): "pairs", "pairs_part": "models"}
)
LEFT_OUT = "left_out"  # the view that says what the address leaves out
PATHS = {ENGLISH: "./", SPANISH: "es"}  # of the page in each language, from either


def create(
    models: ModelPool,
    study: StudyService,
    reviews: ReviewService | UserError | None = None,
    writer: WriterService | UserError | None = None,
    other_reviews: Mapping[str, ReviewService] | None = None,
) -> gr.Blocks:
    """Make the whole app on some models, and on a classifier and a language model of
    reviews where there are such: else the reason, if any. other_reviews: classifiers
    that may be chosen in its place, by name."""
    models.guard = study.guard = sessions.door()
    reader = None if isinstance(reviews, UserError) else reviews
    others = {} if reader is None else dict(other_reviews or {})
    for service in (reader, writer, *others.values()):
        if service is not None and not isinstance(service, UserError):
            service.guard = models.guard
    with gradio_private.laid_out_once():
        with gr.Blocks(
            title=ENGLISH.say("title"),
            analytics_enabled=False,
            delete_cache=sessions.UPLOADS,
        ) as demo:
            build(
                demo,
                models,
                study,
                reviews,
                ENGLISH,
                writer=writer,
                other_reviews=others,
            )
            api.publish(demo, models.default, reader)
        with demo.route(SPANISH.name, "/es", show_in_navbar=False) as spanish:
            build(
                spanish,
                models,
                study,
                reviews,
                SPANISH,
                writer=writer,
                other_reviews=others,
            )
    return demo.queue(
        default_concurrency_limit=sessions.at_once(),
        max_size=sessions.BACKSTOP,
        api_open=False,
    )


def warm_up(models: ModelPool) -> None:
    """Have parts compute what the first visitor would wait for. Raises UserError where
    a model cannot."""
    for tab in parts.TABS.values():
        for module in tab.modules():
            getattr(module, "warm_up", lambda service: None)(models.default)


def launch(
    demo: gr.Blocks,
    server_name: str | None = None,
    server_port: int | None = None,
    share: bool | None = None,
    auth: tuple[str, str] | None = None,
    mcp: bool | None = None,
    wait: bool = True,
    hosts: Sequence[str] = (),
    frames: Sequence[str] = (),
) -> str:
    """Serve the app, until interrupted if it is to `wait`; returns its address. None
    leaves Gradio's defaults.

    hosts: names under which it may be reached, besides those that `serve.hosts.Hosts`
    knows. frames: sites that may frame it, besides those of `sharing.FRAMES`.
    """
    if auth:
        gradio_private.hide_endpoints(demo)
    _, address, shared = demo.launch(
        server_name=server_name,
        server_port=server_port,
        share=share,
        auth=auth,
        mcp_server=mcp,
        theme=THEME,
        css_paths=STYLES,
        footer_links=["settings"] if auth else ["api", "settings"],
        quiet=not wait,
        prevent_thread_lock=True,
        enable_monitoring=False,
        run_history=False,
        state_session_capacity=sessions.MOST_SESSIONS,
        app_kwargs={
            "middleware": [
                Middleware(SecurityHeaders, frames=frames),
                Middleware(Hosts, allowed=hosts, served=gradio_private.served_at),
                Middleware(Doorkeeper),
                Middleware(Gate),
                Middleware(Delivery),
            ],
            "lifespan": sessions.sessions,
            "routes": [
                *ROUTES,
                *sharing.routes((*sharing.FRAMES, *frames)),
                *gradio_private.quick_page(f"../scripts/{VERSION}/assets"),
            ],
        },
        max_threads=sessions.at_once(),
        # what is not even received; our own limits are lower, and say more
        max_file_size="20mb",
        **gradio_private.UNASKED,
    )
    if share and not shared:
        print(
            f"No public link could be made; the page is at {address} only.", flush=True
        )
    if wait:
        gradio_private.stay(demo)
    return address


def build(
    demo: gr.Blocks,
    models: ModelPool,
    study: StudyService,
    reviews: ReviewService | UserError | None,
    language: Language,
    tabs: Sequence[TabModule] = TABS,
    writer: WriterService | UserError | None = None,
    other_reviews: Mapping[str, ReviewService] | None = None,
) -> Page:
    """Lay one page out; called inside its Blocks."""
    frame = _frame(models, language)
    controls = Controls(models.default)
    of_model = Controls(models.default)
    ids = [module.ID for module in tabs if not _of(module)]
    # No States: the browser writes these into the address.
    asked = controls.add(
        "text",
        example,
        gr.Textbox,
        always=True,
        **WIRE,
    )
    tab = controls.add("tab", OneOf((*ids,), ids[0]), gr.Textbox, always=True, **WIRE)
    sheet = gr.Textbox(ids[0], **WIRE)
    spanish = controls.add("spanish", Words(), gr.Textbox, **WIRE)
    model = of_model.add("model", Words(), gr.Textbox, **WIRE)
    page = Page(
        models=models,
        reviews=reviews,
        study=study,
        writer=writer,
        other_reviews=other_reviews or {},
        language=language,
        ask=Ask(models.lease, language, model, sheet),
        asked=asked,
        controls=controls,
        **{name: frame[name] for name in ("sentence", "status", "search")},
        spanish=spanish,
        tab=tab,
        sheet=sheet,
        model=model,
        translation=gr.State(),
        trace=gr.State(),
        tabs=gr.Tabs(overflow_behavior="wrap"),
        lock=gr.Textbox("", **WIRE),
    )
    lessons.build(page)
    _lay_out(page, tabs)
    controls.include(of_model)  # the last, so that it is set first
    _add_views(page, frame)
    _translate(page, frame)
    _open(page, demo, frame["problems"])
    _choose_model(page, frame)
    return page


def _frame(models: ModelPool, language: Language) -> dict[str, Any]:
    """Lay out the bar, and what is said below all; -> the components by name."""
    say = language.of(models.default.info).say
    first = examples(models.default)
    frame = dict[str, Any]()
    gr.Navbar(visible=False)
    with gr.Row(elem_classes="bar"):
        canvas(
            "bar.js",
            fill("page.brand", language, example=first[0], own=language.code),
            "brand",
        )
        with gr.Column(elem_classes="ask", min_width=0):
            with gr.Row(elem_classes="field"):
                frame["sentence"] = gr.Textbox(
                    first[0],
                    label=say("sentence"),
                    placeholder=say("sentence_placeholder"),
                    lines=1,
                    max_lines=6,
                    autofocus=True,
                    show_label=False,
                    scale=8,
                    min_width=0,
                    elem_id=f"sentence-{language.code}",
                )
                frame["codes"] = gr.Dropdown(
                    label=say("model_codes"),
                    show_label=False,
                    container=False,
                    scale=0,
                    min_width=110,
                    elem_classes="codes",
                    **_codes(models.default),
                )
                frame["button"] = gr.Button(
                    say("translate"), variant="primary", size="sm", scale=0, min_width=0
                )
            with gr.Column(elem_classes="examples", min_width=0):
                frame["sample"] = gr.Dataset(
                    components=[gr.Textbox(**WIRE)],
                    samples=[[example] for example in first],
                    label=say("examples"),
                    layout="gallery",
                    type="values",
                )
                frame["taught"] = gr.HTML(_taught(models.default, language))
        gr.HTML(
            fill("page.beginning", language, paths=PATHS, own=language.code),
            elem_classes="languages",
        )
        overview(language)
        with gr.Accordion(say("menu"), open=False, elem_classes="menu"):
            frame["models"] = gr.Dropdown(
                models.names,
                value=models.names[0],
                label=say("model_menu"),
                allow_custom_value=models.any_name,
                info=say("model_menu_info") if models.any_name else None,
                visible=models.any_name or len(models.names) > 1,
            )
            gr.HTML(
                f"<button type='button' data-address='{COMPARE}'>{language.html('models_open')}</button>",
                elem_classes="links",
                visible=models.any_name or len(models.names) > 1,
            )
            frame["search"] = gr.Column()  # how translations are searched for
            gr.HTML(
                fill("page.links", language, has_api=language is ENGLISH),
                elem_classes="links",
            )
    # in view at the end of the page
    frame["about"] = gr.HTML(_about(models.default, language), elem_classes="about")
    with gr.Column(elem_classes="notices", min_width=0):
        frame |= {
            name: gr.HTML(elem_classes="status")
            for name in ("loading", "problems", "status")
        }
    return frame


def _taught(service: TranslationService, language: Language) -> str:
    """Mark the examples that something was written for in training."""
    return marks(examples(service), service.info.name, language)


def _of(module: TabModule) -> str:
    """The tab of which a module is a sheet more; "" for a tab."""
    return getattr(module, "OF", "")


def _lay_out(page: Page, tabs: Sequence[TabModule]) -> None:
    """Lay the tabs out; then wire what one listens to in another."""
    page.opened.update({module.ID: gr.Textbox("0", **WIRE) for module in tabs})
    sheets = {
        tab.ID: [tab, *(module for module in tabs if _of(module) == tab.ID)]
        for tab in tabs
        if not _of(tab)
    }
    choices = {tab: _choice(page, tab, of_tab) for tab, of_tab in sheets.items()}
    chosen = {tab: choice for tab, choice in choices.items() if choice is not None}
    gr.on(
        [page.tab.change, *(choice.change for choice in chosen.values())],
        None,
        [page.tab, *chosen.values()],
        page.sheet,
        js=script("sheetOf", [*chosen]),
        **QUIET,
    )
    page.sheet.change(
        None,
        [page.sheet, *page.opened.values()],
        [*page.opened.values()],
        **QUIET,
        js=script("countOpening", [*page.opened]),
    )
    own_fields: list[str] = []
    with page.tabs:
        for tab, of_tab in sheets.items():
            text = title(tab, page.language)
            name = page.language.say(text)
            with gr.Tab(name, id=tab) as one:
                gr.HTML(
                    f'<h2 class="sr-only">{page.language.html(text)}</h2>',
                    elem_classes="tab-title",
                )
                if tab in chosen:
                    own, columns = _lay_out_sheets(page, tab, chosen[tab], of_tab)
                    own_fields += own
                else:
                    made = _lay_out_sheet(page, one, of_tab[0], name)
                    columns = made.columns
                    if made.own_field:
                        own_fields.append(tab)
                frames.lay(one, tab, page.language, name, columns)
            one.select(None, None, page.tab, js=f"() => {json.dumps(tab)}", **QUIET)
    for connect in page.connections:
        connect()
    tab_of = {one.ID: tab for tab, of_tab in sheets.items() for one in of_tab}
    # at the beginning too
    gr.on(None, None, page.sheet, js=script("tabOpened", own_fields, tab_of), **QUIET)


def _choice(page: Page, tab: str, sheets: Sequence[TabModule]) -> gr.Radio | None:
    """Declare by what the sheets of a tab are chosen, where it has several."""
    if len(sheets) == 1:
        return None
    ids = tuple(module.ID for module in sheets)
    return page.controls.add(
        parts.choice(tab),
        OneOf(ids, ids[0]),
        gr.Radio,
        choices=page.language.choices("sheet_{}", ids),
        label=page.language.say("part"),
        container=False,
        render=False,
    )


def _lay_out_sheets(
    page: Page, tab: str, choice: gr.Radio, sheets: Sequence[TabModule]
) -> tuple[list[str], dict[str, gr.Column]]:
    """Lay the sheets of a tab out, called inside it; -> the ids of those that have a
    field of their own, and by the query of an address the column of each. Those after
    the first are laid out when they are chosen."""
    with gr.Row(elem_classes="controls sheets"):
        choice.render()
    own_fields: list[str] = []
    columns = dict[str, gr.Column]()
    for module in sheets:
        is_first = module is sheets[0]
        name = page.language.say(f"sheet_{module.ID}")
        later = [] if is_first else [f"{frames.LATER}{module.ID}"]
        with gr.Column(visible=is_first, elem_classes=["sheet", *later]) as column:
            made = _lay_out_sheet(page, column, module, name)
            if not is_first:
                frames.lay(column, module.ID, page.language, name, made.columns)
        if made.own_field:
            own_fields.append(module.ID)
        key = parts.choice(tab)
        columns[urlencode({key: module.ID})] = column
        page.views[f"{tab}.{module.ID}_seen"] = seen(column, key, module.ID)
    ids = [module.ID for module in sheets]
    shown = [*columns.values()]
    choice.change(None, choice, shown, js=script("showSheet", ids), **QUIET)
    return own_fields, columns


def _lay_out_sheet(
    page: Page, within: gr.blocks.BlockContext, module: TabModule, name: str
) -> Tab:
    """Lay a sheet out, called inside of what holds it."""
    made = module.build(page)
    frames.give(within, name)
    page.include(module.ID, made)
    return made


def _add_views(page: Page, frame: Mapping[str, Any]) -> None:
    """Add what the frame shows of the model."""
    models = page.models
    controls = page.controls

    def models_menu(service: TranslationService, values: Values) -> Any:
        return gr.update(
            choices=[
                *dict.fromkeys((*models.names, values["model"] or models.names[0]))
            ],
            value=values["model"] or models.names[0],
        )

    page.views.update(
        {
            "about": View(
                frame["about"], lambda service, values: _about(service, page.language)
            ),
            "examples": View(
                frame["sample"],
                _samples,
            ),
            "taught": View(
                frame["taught"], lambda service, _: _taught(service, page.language)
            ),
            "codes": View(frame["codes"], _codes_menu),
            "models": View(
                frame["models"],
                models_menu,
            ),
            LEFT_OUT: View(
                gr.Textbox(controls.left_out(page.service), **WIRE),
                lambda service, values: controls.left_out(service),
            ),
        }
    )


def _samples(service: TranslationService, values: Values) -> Any:
    return gr.Dataset(samples=[[example] for example in examples(service)])


def _codes_menu(service: TranslationService, _: Any) -> Any:
    return gr.update(**_codes(service))


def _write(page: Page, *move: gr.Textbox) -> Listener:
    """Let the browser write into the address what the page shows; after a move, if its
    number is given."""
    return {
        "fn": None,
        "inputs": [
            *move,
            page.views[LEFT_OUT].component,
            *page.controls.named().values(),
        ],
        "js": script("write") if move else script("write", ""),
        **QUIET,
    }


def _translate(page: Page, frame: Mapping[str, Any]) -> None:
    """Translate what is typed or chosen, and do with it what the tabs do."""
    if page.on_sentence:
        first, *others = page.on_sentence
        asked = [frame["button"].click, page.sentence.submit]
        _then(gr.on(asked, **first, trigger_mode="always_last"), *others)
    # in its turn
    _then(
        frame["sample"].click(
            **page.ask(
                lambda service, language, *, sample: {"sentence": sample[0]},
                {"sample": frame["sample"]},
                {"sentence": page.sentence},
            ),
            **QUIET,
        ),
        {"fn": None, "js": script("pressTranslate"), **QUIET},
    )
    frame["codes"].input(
        None,
        [frame["codes"], page.sentence],
        page.sentence,
        js=script("writeIn"),
        **QUIET,
    )
    gr.on(
        [
            control.component.change
            for key, control in page.controls.items()
            if key != "model"
        ],
        **_write(page),
    )


def _open(page: Page, demo: gr.Blocks, problems: gr.HTML) -> None:
    """Set the page to an address, when it is opened, and when the browser goes back or
    forward."""

    # gradio finds the request by its annotation
    def arrive(request: gr.Request) -> Iterator[dict[Any, Any]]:
        query = dict(request.query_params)
        if not page.models.at_hand(query.get("model", "")):
            yield {problems: _loading(page.models, query["model"], page.language)}
        said, updates = open_at(page, query)
        usual = as_laid_out()
        if updates[page.tabs].selected == usual[page.tabs].selected:
            del updates[page.tabs]
        changed = {
            component: update
            for component, update in updates.items()
            if update != usual.get(component)
        }
        yield from in_steps({**changed, problems: said})

    @cache
    def as_laid_out() -> dict[Any, Any]:
        """What components are set to where an address says nothing: they are laid out
        so."""
        return open_at(page, {})[1]

    def go_back(search: str, number: str) -> Iterator[dict[Any, Any]]:
        said, updates = open_at(
            page, dict(parse_qsl(search.removeprefix("?"), keep_blank_values=True))
        )
        yield from in_steps({**updates, problems: said, move: number})

    # assets/bar.js presses this when it moves to an address.
    back = gr.Button("", elem_classes="go-back")
    search = gr.Textbox("", **WIRE)
    move = gr.Textbox("0", **WIRE)
    demo.load(None, js=script("removeBase"), **QUIET)
    demo.load(None, js=script("tellHub"), **QUIET)
    in_order = [
        *(view.component for view in page.views.values()),
        *setting_order(page.controls),
        page.sheet,
        page.sentence,
        page.tabs,
        problems,
    ]
    finish = _write(page, move)
    _then(demo.load(arrive, None, in_order, **QUIET), *page.on_opening, finish)
    moved = back.click(
        go_back,
        [search, move],
        [*in_order, move],
        js=script("addressOf"),
        **LATEST,
    )
    _then(moved, *page.on_opening, *page.on_return, finish)


def _choose_model(page: Page, frame: Mapping[str, Any]) -> None:
    """Load the model that is chosen in the menu, and then the page with it."""
    go = gr.Textbox("", **WIRE)
    inputs = {
        "chosen": frame["models"],
        "name": page.model,
        "sentence": page.sentence,
        "search": go,
    }
    frame["models"].input(
        **page.always(page.models)(
            choose, inputs, {"go": go}, frame["loading"], page=page
        ),
        api_visibility="private",
        show_progress="minimal",
        show_progress_on=[frame["loading"]],
        js=script("withAddress"),
    ).then(None, [go, frame["models"]], js=script("goTo"), **QUIET)


def open_at(page: Page, query: Mapping[str, str]) -> tuple[str, dict[Any, Any]]:
    """Open a page at an address: what is said, and what components are set to.

    Where its model cannot be had, the default is set as far as it has what the address
    asks for.
    """
    try:
        name = page.models.known_as(query.get("model", ""))
        with page.models.lease(name) as service:
            updates, problems = _set(page, service, {**query, "model": name})
        said = [problem.say(page.language) for problem in problems]
    except UserError as error:
        updates, _ = _set(page, page.models.default, {**query, "model": ""})
        said = [error.say(page.language)]
    return notice(said, "warning"), updates


def _set(
    page: Page, service: TranslationService, query: Mapping[str, str]
) -> tuple[dict[Any, Any], list[Message]]:
    """Set components for a model and an address; and what of the address is
    nonsense."""
    values, problems = page.controls.read(service, query)
    chosen = values.get(parts.choice(values["tab"]))  # of a tab with several sheets
    updates: dict[Any, Any] = {
        **page.controls.updates(service, values),
        **_views(page, service, values),
        page.tabs: gr.Tabs(selected=values["tab"]),
        page.sheet: chosen if chosen in page.opened else values["tab"],
    }
    # or nothing typed meanwhile is lost
    if "text" in query or service.info.source != page.service.info.source:
        say = page.language.of(service.info).say
        updates[page.sentence] = gr.update(
            value=values["text"],
            label=say("sentence"),
            placeholder=say("sentence_placeholder"),
            rtl=leftwards(service.info.source),
        )
    return updates, problems


def _views(page: Page, service: TranslationService, values: Values) -> dict[Any, Any]:
    """What each view is set to. Of a component that several set, such as a fold whose
    sections an address asks for, one that sets it counts."""
    updates = dict[Any, Any]()
    for view in page.views.values():
        update = view.update(service, values)
        if view.component not in updates or update != gr.skip():
            updates[view.component] = update
    return updates


@refused(go="")
def choose(
    models: ModelPool,
    language: Language,
    *,
    chosen: str | None,
    name: str,
    sentence: str | None,
    search: str,
    page: Page,
) -> Iterator[dict[str, str]]:
    """Load another model while the page goes on with its own: what is said, and then
    what `goTo` in page.js reads.

    The address goes with it, but for what the other model does not have.
    """
    chosen = (chosen or "").strip()
    sentence = sentence or ""
    wanted = models.known_as(chosen)
    if wanted == name:
        yield {"go": ""}
        return
    if len(sentence) > LONGEST:
        raise UserError(
            Message.of("model_long", characters=len(sentence), limit=LONGEST)
        )
    loading = _loading(models, chosen, language)
    yield {"problem": loading, "go": ""}
    query = {
        **dict(parse_qsl(search.removeprefix("?"), keep_blank_values=True)),
        "model": wanted,
        "text": sentence,
    }
    with models.lease(wanted) as service:
        _, problems = page.controls.read(service, query)
    lacking = {dict(problem.values)["key"] for problem in problems}
    kept = {key: value for key, value in query.items() if value and key not in lacking}
    yield {
        "problem": loading,
        "go": json.dumps({"name": chosen, "query": urlencode(kept)}),
    }


def _then(event: Any, *listeners: Mapping[str, Any]) -> None:
    """Run listeners one after the other, when an event has been listened to."""
    for listener in listeners:
        event = event.then(**listener)


def _loading(models: ModelPool, name: str, language: Language) -> str:
    needs = models.needs(name)
    said = (
        language.say("model_loading", name=name)
        if needs is None or needs < 0.1
        else language.say("model_loading_needs", name=name, needs=f"{needs:.1f}")
    )
    return notice([said], "warning")


def _codes(service: TranslationService) -> dict[str, Any]:
    """The languages to write among which one is chosen, of a model that writes
    several."""
    codes = service.info.codes or (">><<",)
    return {
        "choices": [(code[2:-2], code) for code in codes],
        "value": codes[0],
        "visible": len(codes) > 1,
    }


def _about(service: TranslationService, language: Language) -> str:
    """Say which model the page shows."""
    info = service.info
    key = (
        "model_line"
        if info.architecture == "transformer"
        else f"model_line_{info.architecture.replace('-', '_')}"
    )
    return fill("page.about", language, info=info, key=key)
