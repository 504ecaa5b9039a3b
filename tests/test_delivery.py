"""A page as it is sent: divided into what is told at once and what a tab brings, made
once, compressed."""

import gzip
import json
import re

import gradio as gr
import httpx
import pytest
from gradio.brotli_middleware import BrotliResponder

from tests.harness import free_port
from tests.pages import laid_out, run
from xformer.parts import TABS
from xformer.ui.components import WIRE
from xformer.ui.frames import LATER, LAYING
from xformer.ui.server import delivery, gradio_private
from xformer.ui.server.delivery import CONFIG, Delivery, split

FIRST = "window.gradio_config = "
SCRIPT = f"/assets/{next(gradio_private.SCRIPTS.glob('core-*.js')).name}"


def joined(*values):
    return "".join(map(str, values))


@pytest.fixture(scope="module")
def small():
    """A page with a frame and three tabs, and listeners within and between them, as
    Gradio tells of it."""

    async def make():
        with gr.Blocks(analytics_enabled=False) as demo:
            return demo, lay_out()

    demo, components = run(make())
    return demo.config, {name: component._id for name, component in components.items()}


def lay_out():
    frame = gr.Textbox("frame")
    with gr.Tabs():
        with gr.Tab("One", id="one"):
            first = gr.Textbox("first")
        with gr.Tab("Two", id="two"), gr.Accordion(open=False):
            slider = gr.Slider(0, 9, 4)
            free = gr.Textbox()
            shown = gr.HTML("shown")
        with gr.Tab("Three", id="three"):
            third = gr.Textbox("third")
            laying = gr.HTML("frames", elem_classes=LAYING)
    first.change(joined, first, frame)
    slider.change(joined, slider, shown).then(joined, slider, third)
    frame.change(joined, [frame, slider], shown)
    gr.on(
        [frame.submit, slider.release, third.submit], joined, [frame, third], frame
    ).then(joined, frame, frame)
    return {
        "frame": frame,
        "first": first,
        "slider": slider,
        "free": free,
        "shown": shown,
        "third": third,
        "laying": laying,
    }


def test_all_components_and_listeners_are_told_once(small):
    config, _ = small
    start, rests = split(config)
    assert list(rests) == ["two", "three"]
    inside = [
        {one["id"] for one in rest["components"]} - {rest["layout"]["id"]}
        for rest in rests.values()
    ]
    told = {one["id"] for one in start["components"]}
    assert not inside[0] & inside[1] and not told & (inside[0] | inside[1])
    assert told | inside[0] | inside[1] == {one["id"] for one in config["components"]}
    dependencies = [
        *start["dependencies"],
        *(one for rest in rests.values() for one in rest["dependencies"]),
    ]
    assert {one["id"] for one in dependencies} == {
        one["id"] for one in config["dependencies"]
    }
    assert start["page"][""] == {
        "layout": start["layout"],
        "components": [one["id"] for one in start["components"]],
        "dependencies": [one["id"] for one in start["dependencies"]],
    }


def test_a_chain_comes_with_the_tab_that_begins_it_and_with_the_page_where_others_do(
    small,
):
    """The tab brings a copy of a listener that its components begin too, with those
    that come after it."""
    config, ids = small
    start, rests = split(config)
    assert [one["id"] for one in start["dependencies"]] == [0, 3, 4, 5]
    assert [one["id"] for one in rests["two"]["dependencies"]] == [1, 2, 4, 5]
    assert [one["id"] for one in rests["three"]["dependencies"]] == [4, 5]
    copy = rests["two"]["dependencies"][2]
    assert copy["targets"] == [(ids["slider"], "release")]
    assert (
        copy["inputs"]
        == start["dependencies"][2]["inputs"]
        == [ids["frame"], ids["third"]]
    )
    assert rests["two"]["dependencies"][3]["trigger_after"] == 4


def test_the_page_knows_what_listeners_ask_of_a_tab_that_has_not_come(small):
    config, ids = small
    held = split(config)[0]["absent"]
    found = {one[0]: one[1:] for tab in held.values() for one in tab}
    assert found[ids["slider"]] == ["slider", 4, None] and found[ids["third"]] == [
        "textbox",
        "third",
        None,
    ]
    # nobody asks for it at the beginning
    assert found[ids["shown"]] == ["html", None, None]
    assert [is_open for kind, _, is_open in found.values() if kind == "accordion"] == [
        False
    ]
    assert ids["first"] not in found and ids["frame"] not in found


def test_whether_a_component_can_be_changed_is_found_by_all_listeners(small):
    """As Gradio's page finds it: what a listener reads, or what none sets and holds
    nothing."""
    config, ids = small
    rests = split(config)[1]
    found = {
        one["id"]: one["props"].get("interactive") for one in rests["two"]["components"]
    }
    assert found[ids["slider"]] is True and found[ids["free"]] is True
    assert found[ids["shown"]] is False


def test_a_tab_holds_what_stands_for_it_until_it_comes(small):
    config, ids = small
    start, rests = split(config)
    (tabs,) = [
        node
        for node in start["layout"]["children"]
        if len(node.get("children", [])) == 3
    ]
    _, *others = tabs["children"]
    assert [[child["id"] for child in node["children"]] for node in others] == [
        [],
        [ids["laying"]],
    ]
    assert ids["laying"] not in {one["id"] for one in rests["three"]["components"]}
    assert ids["laying"] not in [
        child["id"] for child in rests["three"]["layout"]["children"]
    ]
    assert [rest["layout"]["id"] for rest in rests.values()] == [
        node["id"] for node in tabs["children"][1:]
    ]


def test_what_is_never_seen_is_told_as_what_stands_for_it():
    """Wires, which listeners alone ask for, and what the API takes; and what held nothing
    else is left out."""

    async def make():
        with gr.Blocks(analytics_enabled=False) as demo:
            with gr.Tabs(), gr.Tab("One", id="one"):
                seen = gr.Textbox("seen")
                menu = gr.Textbox("menu", visible=False)
            wire = gr.Textbox("told", **WIRE)
            count = gr.Number(3, **WIRE)
            wire.change(joined, [wire, count], seen)
            with gr.Row():
                shown = gr.HTML("shown")
            gr.api(joined_of_api, api_name="joined")
        return demo, [seen, wire, count, menu, shown]

    demo, components = run(make())
    seen, wire, count, menu, shown = (one._id for one in components)
    start, _ = split(demo.config)
    told = {one["id"]: one["type"] for one in start["components"]}
    assert {seen, menu, shown} <= {*told} and not {wire, count} & {*told}
    assert "api" not in told.values() and start["page"][""]["components"] == [*told]
    _, *laid_out = delivery._listed(start["layout"])
    assert {*laid_out} == {*told}
    values = {one[0]: one[1:3] for one in start["unseen"]}
    assert values[wire] == ["textbox", "told"] and values[count] == ["number", 3]
    forms = [one for one in demo.config["components"] if one["type"] == "form"]
    assert len(forms) == 2 and [*told.values()].count("form") == 1


def joined_of_api(text: str) -> str:
    """Join one text.

    Args:
        text: it

    Returns:
        The same.
    """
    return text


@pytest.fixture(scope="module")
def nested():
    """A page with sheets that come later: one in its first tab, one in its second."""

    async def make():
        with gr.Blocks(analytics_enabled=False) as demo, gr.Tabs():
            with gr.Tab("One", id="one"):
                first = gr.Textbox("first")
                with gr.Column(visible=False, elem_classes=f"{LATER}more"):
                    more = gr.Textbox("more")
            with gr.Tab("Two", id="two"):
                second = gr.Textbox("second")
                with gr.Column(visible=False, elem_classes=f"{LATER}deep") as column:
                    deep = gr.Textbox("deep")
                    laying = gr.HTML("frames", elem_classes=LAYING)
            second.change(joined, [second, deep], first)
            deep.change(joined, deep, more)
        return demo, [first, more, second, column, deep, laying]

    demo, components = run(make())
    return demo.config, [component._id for component in components]


def test_a_sheet_comes_by_itself_and_after_the_tab_that_it_stands_in(nested):
    config, ids = nested
    first, more, second, column, deep, laying = ids
    start, rests = split(config)
    assert list(rests) == ["more", "two", "deep"]
    assert start["within"] == {"deep": "two"}
    held = {
        name: {one["id"] for one in rest["components"][1:]} & {*ids}
        for name, rest in rests.items()
    }
    assert held == {"more": {more}, "two": {second, column, laying}, "deep": {deep}}
    assert first in {one["id"] for one in start["components"]}
    # the sheet stands empty in its tab, but for what stands there until it comes
    *_, empty = rests["two"]["layout"]["children"]
    assert empty["id"] == column == rests["deep"]["layout"]["id"]
    assert [one["id"] for one in empty["children"]] == [laying]
    assert laying not in [one["id"] for one in rests["deep"]["layout"]["children"]]


def test_a_sheet_comes_into_sight_by_the_page_and_tells_its_values_before(nested):
    config, (_, _, second, column, deep, _) = nested
    start, rests = split(config)
    taken_up = rests["deep"]["components"][0]
    assert taken_up["id"] == column and "visible" not in taken_up["props"]
    found = {one[0]: one[2] for one in start["absent"]["deep"]}
    assert found[deep] == "deep", "a listener of its tab asks for it"
    assert [one["targets"] for one in rests["deep"]["dependencies"]] == [
        [(deep, "change")]
    ]
    assert [one["targets"] for one in rests["two"]["dependencies"]] == [
        [(second, "change")]
    ]


def test_the_page_holds_few_of_its_components_and_listeners_before_a_tab_is_opened(
    running,
):
    page = laid_out(running).demo.get_config_file()
    start, rests = split(page)
    assert list(rests) == list(TABS)[1:]
    assert len(start["components"]) < len(page["components"]) / 7
    assert len(start["dependencies"]) < len(page["dependencies"]) * 2 / 5


@pytest.fixture(scope="module")
def tabbed():
    """A page of two tabs that is served."""

    # where no event loop is running, Gradio makes some that it never closes
    async def launch():
        with gr.Blocks(analytics_enabled=False) as demo, gr.Tabs():
            with gr.Tab("One", id="one"):
                gr.Textbox("</script><b>first</b>\u2028")
            with gr.Tab("Two", id="two"):
                gr.Textbox("second")
        demo.launch(
            prevent_thread_lock=True,
            quiet=True,
            server_port=free_port(),
            **gradio_private.UNASKED,
        )
        return demo

    demo = run(launch())
    yield demo.app
    demo.close()


def served(app, ask):
    """What `ask` gets of an app behind a middleware that has sent nothing yet, by a
    client."""

    async def go():
        middleware = Delivery(app)
        transport = httpx.ASGITransport(
            lambda scope, *rest: middleware({**scope, "app": app}, *rest)
        )
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost"
        ) as client:
            return await ask(client)

    return run(go())


def test_a_page_is_made_once_and_a_browser_that_has_it_is_sent_nothing(
    tabbed, monkeypatch
):
    made = []
    of = delivery.Split.of
    monkeypatch.setattr(
        delivery.Split, "of", lambda *given: made.append(given) or of(*given)
    )

    async def ask(client):
        first = await client.get("/")
        return first, await client.get(
            "/", headers={"If-None-Match": first.headers["etag"]}
        )

    first, second = served(tabbed, ask)
    assert (
        len(made) == 1
        and first.status_code == 200
        and second.status_code == 304
        and not second.content
    )
    config = json.loads(CONFIG.search(first.text)[1])
    assert [
        one["props"]["value"]
        for one in config["components"]
        if one["type"] == "textbox"
    ] == ["</script><b>first</b>\u2028"]
    assert first.text.count("</script><b>") == 0


def test_a_tab_is_sent_under_an_address_that_changes_with_it(tabbed):
    async def ask(client):
        config = json.loads(CONFIG.search((await client.get("/")).text)[1])
        address = config["tabs"]["two"].removeprefix(".")
        other = re.sub(r"-\w{12}", "-" + 12 * "0", address)
        return (
            await client.get(address),
            await client.get(other),
            await client.get(address.replace("two", "one")),
        )

    found, *others = served(tabbed, ask)
    assert "immutable" in found.headers["cache-control"]
    assert [
        one["props"]["value"]
        for one in found.json()["components"]
        if one["type"] == "textbox"
    ] == ["second"]
    assert found.json()["files"] == []  # it has nothing that the page does not fetch
    assert [one.status_code for one in others] == [404, 404]


def test_a_tab_names_the_files_that_it_needs_besides_those_of_the_page():
    text, both = [{"type": "textbox"}], [{"type": "textbox"}, {"type": "slider"}]
    more = [one for one in delivery._files(both) if one not in delivery._files(text)]
    assert any(one.endswith(".js") for one in more)


def test_a_page_fetches_its_style_at_once_and_gradios_styles_no_more(tabbed):
    """With links by which Gradio's page knows of them; and its scripts before it asks
    for them."""

    async def ask(client):
        page = (await client.get("/")).text
        (address,) = re.findall(r'<link rel="stylesheet" href="\.([^"]+)">', page)
        return page, await client.get(address)

    page, style = served(tabbed, ask)
    known = re.findall(
        r'<link rel="stylesheet" disabled href="\./assets/([^"]+)">', page
    )
    ahead = re.findall(r'<link rel="modulepreload" href="\./assets/([^"]+)">', page)
    assert len(known) > 10 and len(ahead) > 10 and "crossorigin href" not in page
    for name in known:
        assert (gradio_private.SCRIPTS / name).read_text("utf-8") in style.text
    assert "immutable" in style.headers["cache-control"]
    assert json.loads(CONFIG.search(page)[1])["css"] is None
    # what is seen until Gradio has laid the page out
    body = page.partition("<body")[2]
    assert body.index('<div class="opening"') < body.index("<gradio-app")


@pytest.mark.parametrize(("coding", "sent"), [("gzip, br", "gzip"), ("identity", None)])
def test_a_page_is_compressed_for_those_who_can_read_it(tabbed, coding, sent):
    async def ask(client):
        return await client.get("/", headers={"Accept-Encoding": coding})

    page = served(tabbed, ask)
    assert page.headers.get("content-encoding") == sent and FIRST in page.text


@pytest.fixture
def asked(monkeypatch):
    """The paths that the app itself was asked for."""
    paths = []
    ask = Delivery._ask

    async def noting(self, scope, *how):
        paths.append(scope["path"])
        return await ask(self, scope, *how)

    monkeypatch.setattr(Delivery, "_ask", noting)
    return paths


@pytest.fixture
def compressed(monkeypatch):
    """The lengths of what was compressed by brotli."""
    lengths = []
    process = BrotliResponder._process

    def noting(self, body):
        lengths.append(len(body))
        return process(self, body)

    monkeypatch.setattr(BrotliResponder, "_process", noting)
    return lengths


def test_files_are_read_and_compressed_once(tabbed, asked, compressed):
    async def ask(client):
        answers = [
            await client.get(SCRIPT, headers={"Accept-Encoding": coding})
            for coding in ("gzip, br", "gzip, br", "identity")
        ]
        none = [await client.get("/assets/none.js") for _ in range(2)]
        return [*answers, *none]

    first, second, plain, *none = served(tabbed, ask)
    assert first.text == second.text == plain.text and first.headers == second.headers
    assert first.headers["content-encoding"] == "br" and len(compressed) == 1
    assert "content-encoding" not in plain.headers
    assert asked == [SCRIPT, SCRIPT, "/assets/none.js", "/assets/none.js"]
    assert [one.status_code for one in none] == [404, 404]


@pytest.mark.parametrize(("limit", "most"), [("MOST_KEPT", 10), ("MOST_FILES", 0)])
def test_no_more_files_are_kept_than_there_is_room_for(
    tabbed, asked, monkeypatch, limit, most
):
    monkeypatch.setattr(delivery, limit, most)

    async def ask(client):
        return [(await client.get(SCRIPT)).status_code for _ in range(2)]

    assert served(tabbed, ask) == [200, 200] and asked == [SCRIPT, SCRIPT]


def test_nobody_is_sent_a_tab_of_a_page_that_asks_for_a_password(tabbed, monkeypatch):
    async def ask(client):
        config = json.loads(CONFIG.search((await client.get("/")).text)[1])
        monkeypatch.setattr(tabbed, "auth", {"a": "b"})
        return await client.get("/"), await client.get(
            config["tabs"]["two"].removeprefix(".")
        )

    page, tab = served(tabbed, ask)
    assert (
        "second" not in page.text
        and tab.status_code == 404
        and "second" not in tab.text
    )


def test_pages_stay_whole_where_gradios_scripts_are_not_as_they_were_tried(
    tabbed, monkeypatch
):
    monkeypatch.setattr(gradio_private, "quick_scripts_fit", lambda: False)

    async def ask(client):
        return (await client.get("/")).text

    assert "second" in served(tabbed, ask)


def test_what_is_compressed_is_the_same_each_time():
    """So that copies of the app name a tab alike."""
    one = delivery.Ready.of("text", "text/plain")
    assert (
        one == delivery.Ready.of("text", "text/plain")
        and gzip.decompress(one.content) == b"text"
    )
