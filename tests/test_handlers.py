"""Handlers by name: what reaches them, what of their answers reaches the page, and what
is said where there is none."""

import asyncio
import logging
from contextlib import contextmanager
from inspect import signature
from types import SimpleNamespace
from typing import get_type_hints

import gradio as gr
import pytest
from gradio import route_utils, routes
from gradio.context import LocalContext
from gradio.data_classes import PredictBodyInternal

from tests.pages import run
from xformer.results import Message, UserError
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask, needs, refused
from xformer.ui.server import gradio_private


@pytest.fixture
def parts():
    """A few components by name."""
    return {name: gr.Textbox() for name in ("one", "two", "three")}


def both(service, language, *, one, two="nothing"):
    return {"three": f"{service} {language.code} {one} {two}"}


def test_inputs_and_outputs_go_by_name_and_what_is_not_named_is_left_alone(parts):
    listener = Ask.always("service", SPANISH)(
        both,
        {"two": parts["two"], "one": parts["one"]},
        {"one": parts["one"], "three": parts["three"]},
    )
    assert listener["inputs"] == [parts["two"], parts["one"]] and listener[
        "outputs"
    ] == [parts["one"], parts["three"]]
    assert listener["fn"]("second", "first") == [gr.skip(), "service es first second"]


def test_an_answer_that_names_no_output_is_an_error_of_the_code(parts):
    listener = Ask.always(None, ENGLISH)(
        both, {"one": parts["one"]}, {"two": parts["two"]}
    )
    with pytest.raises(KeyError, match="three"):
        listener["fn"]("first")


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, r"lacks the inputs \['one'\]"),
        ({"one": 1, "four": 2}, r"gives it \['four'\] that it does not take"),
    ],
)
def test_a_listener_with_other_inputs_than_its_handler_is_refused_at_once(
    parts, inputs, said
):
    with pytest.raises(TypeError, match=f"the listener of both .*{said}"):
        Ask.always(None, ENGLISH)(both, inputs, {})


def fails(service, language, *, error):
    raise error


def foreseen(service, language, *, one):
    raise UserError(Message.of("error_left"))


def test_a_refusal_is_said_in_the_problem_and_leaves_the_rest(parts, caplog):
    problem = gr.HTML()
    listener = Ask.always(None, SPANISH)(
        foreseen, {"one": parts["one"]}, {"two": parts["two"]}, problem
    )
    assert listener["outputs"] == [parts["two"], problem]
    rest, said = listener["fn"]("x")
    assert (
        rest == gr.skip()
        and 'role="alert"' in said
        and SPANISH.html("error_left") in said
    )
    assert not caplog.records, "what a person did wrong is not for the log"


def test_what_was_not_foreseen_is_logged_and_said_without_its_details(caplog):
    problem = gr.HTML()
    listener = Ask.always(None, ENGLISH)(fails, {"error": gr.State()}, {}, problem)
    with caplog.at_level(logging.ERROR):
        said = listener["fn"](RuntimeError("a secret"))
    assert ENGLISH.html("error_unexpected") in said and "secret" not in said
    assert "a secret" in caplog.text


def test_without_a_problem_a_refusal_is_a_notice_that_goes_away(parts):
    listener = Ask.always(None, ENGLISH)(
        fails, {"error": parts["one"]}, {"two": parts["two"]}
    )
    with pytest.warns(UserWarning, match="&lt;b&gt; is wrong"):
        assert listener["fn"](UserError("<b> is wrong")) == gr.skip()


def test_a_success_empties_the_problem_unless_the_handler_has_something_to_say(parts):
    problem = gr.HTML()
    inputs = {"one": parts["one"]}
    assert (
        Ask.always(None, ENGLISH)(both, inputs, {"three": parts["three"]}, problem)[
            "fn"
        ]("a")[1]
        == ""
    )

    def warns(service, language, *, one):
        return {"problem": "look out"}

    assert (
        Ask.always(None, ENGLISH)(warns, inputs, {}, problem)["fn"]("a") == "look out"
    )
    shown = Ask.always(None, ENGLISH)(both, inputs, {"three": problem}, problem)
    assert shown["outputs"] == [problem] and shown["fn"]("a").endswith("a nothing"), (
        "a result may stand there too"
    )


@needs(one="no_trace")
@refused(two="emptied")
def needing(service, language, *, one):
    return {"two": one}


@pytest.mark.parametrize("missing", [None, [], "", " \n"])
def test_what_is_needed_and_missing_is_said_and_the_handler_not_called(parts, missing):
    problem = gr.HTML()
    fn = Ask.always(None, ENGLISH)(
        needing, {"one": parts["one"]}, {"two": parts["two"]}, problem
    )["fn"]
    emptied, said = fn(missing)
    assert emptied == "emptied" and ENGLISH.html("no_trace") in said
    assert fn(0) == [0, ""] and fn(False) == [False, ""], "a zero is there"
    assert Ask.always(None, ENGLISH).answer(needing, one=missing) == {
        "two": "emptied",
        "problem": said,
    }


def test_a_part_that_waits_for_the_first_translation_raises_no_alarm(parts):
    """It is opened by a link while that is under way. Any other refusal is an error."""
    fn = Ask.always(None, ENGLISH)(
        needing, {"one": parts["one"]}, {"two": parts["two"]}, gr.HTML()
    )["fn"]
    waits = fn(None)[1]
    assert (
        'class="notice waiting" role="status"' in waits
        and "error" not in waits
        and "alert" not in waits
    )

    @needs(one="link_no_other")
    def other(service, language, *, one):
        return {}

    assert (
        'class="notice error" role="alert"'
        in Ask.always(None, ENGLISH).answer(other, one=None)["problem"]
    )


def steps(service, language, *, one):
    yield {"two": 1}
    try:
        yield {"two": 2, "problem": "half"}
        raise UserError("broken")
    except UserError:
        yield {"three": "kept"}
        raise


def test_a_generator_tells_each_step_and_what_went_wrong_last(parts):
    problem = gr.HTML()
    listener = Ask.always(None, ENGLISH)(
        steps,
        {"one": parts["one"]},
        {"two": parts["two"], "three": parts["three"]},
        problem,
    )
    *told, last = listener["fn"]("x")
    assert told == [[1, gr.skip(), ""], [2, gr.skip(), "half"], [gr.skip(), "kept", ""]]
    assert last[:2] == [gr.skip()] * 2 and "broken" in last[2]


def test_a_generator_that_has_nothing_to_tell_leaves_all_as_it_is(parts):
    def silent(service, language, *, one):
        yield from one

    outputs = {"two": parts["two"], "three": parts["three"]}
    listener = Ask.always(None, ENGLISH)(
        silent, {"one": parts["one"]}, outputs, gr.HTML()
    )
    assert [*listener["fn"]([])] == [[gr.skip()] * 3], (
        "not no value at all, for which Gradio empties all three"
    )
    assert [*listener["fn"]([{"two": 1}, {"three": 2}])] == [
        [1, gr.skip(), ""],
        [gr.skip(), 2, ""],
    ]


def test_a_service_is_given_back_when_nobody_listens_any_more(parts):
    leased = []

    @contextmanager
    def lease(name):
        leased.append(name)
        try:
            yield name
        finally:
            leased.remove(name)

    running = Ask(lease, ENGLISH, gr.Textbox())(
        steps, {"one": parts["one"]}, {"two": parts["two"]}
    )["fn"]("model", "x")
    assert next(running) == 1 and leased == ["model"]
    running.close()
    assert not leased


def test_the_model_and_the_open_tab_of_the_page_travel_along(parts):
    asked = []

    @contextmanager
    def lease(name):
        asked.append(name)
        yield name

    model = gr.Textbox()
    tab = gr.Textbox()
    listener = Ask(lease, ENGLISH, model, tab)(
        both, {"one": parts["one"]}, {"three": parts["three"]}, only_in="positions"
    )
    assert listener["inputs"] == [model, tab, parts["one"]]
    assert listener["fn"]("other", "positions", "x") == "other en x nothing"
    assert listener["fn"]("other", "attention", "x") == gr.skip() and asked == [
        "other"
    ], "nothing is done unseen"


def special(
    service, language, *, one, event: gr.EventData, request: gr.Request, progress
):
    return {}


def test_events_requests_and_progress_reach_handlers_that_name_them(parts):
    fn = Ask.always(None, ENGLISH, None)(special, {"one": parts["one"]}, {})["fn"]
    assert list(signature(fn).parameters) == ["one", "event", "request", "progress"]
    assert isinstance(signature(fn).parameters["progress"].default, gr.Progress)
    assert get_type_hints(fn) == {"event": gr.EventData, "request": gr.Request}


# Answers in order: what Gradio's queue sends, which is asked step by step here


def word_by_word(service, language, *, one):
    for word in one.split():
        if word == "nothing":
            yield {}
        elif word.startswith("three:"):
            yield {"three": word}
        else:
            yield {"two": word, "three": word}


class Queue:
    """Gradio's queue, of which tests say when what was asked for and what is answered
    next."""

    def __init__(self):
        with gr.Blocks(analytics_enabled=False) as self.page:
            one = gr.Textbox()
            self.two = gr.Textbox()
            self.three = gr.State()
            listener = Ask.always(None, ENGLISH)(
                word_by_word, {"one": one}, {"two": self.two, "three": self.three}
            )
            gr.Button().click(**listener, api_visibility="private")
        self.app, (self.listener,) = (
            routes.App.create_app(self.page),
            self.page.fns.values(),
        )

    def ask(self, moment, words, session="a page", came=None):
        """Note a request of a moment, which came in another if it is given; -> what
        gives a step of its answer, as it is sent."""
        name = f"{session} {moment}"
        request = SimpleNamespace(
            headers={} if came is None else {gradio_private.ASKED: str(moment)}
        )
        self.page._queue.event_ids_to_events[name] = SimpleNamespace(
            session_hash=session,
            enqueue_time=moment if came is None else came,
            request=request,
        )
        body = PredictBodyInternal(session_hash=session, event_id=name, data=[words])

        async def step():
            sent = await route_utils.call_process_api(
                self.app, body, None, self.listener, ""
            )
            return sent["data"][0]

        return step

    def kept(self, session="a page"):
        """What the State of the page holds."""
        return self.app.state_holder[session][self.three._id]


def test_an_answer_that_comes_after_a_later_one_changes_nothing():
    """As of a page that asks again when it has come to an address, while a person asks
    for something else."""

    async def ask():
        queue = Queue()
        first = queue.ask(1, "begun late later")
        idle = queue.ask(2, "nothing")
        newer = queue.ask(3, "newer")
        other = queue.ask(1, "other", "another page")
        sent = [await one() for one in (first, idle, idle, first, newer, other, first)]
        return sent, queue.kept(), queue.kept("another page")

    (begun, nothing, end, late, newer, other, later), *kept = run(ask())
    assert (begun, nothing, end) == ("begun", gr.skip(), gr.skip())
    assert late == [["replace", [], "late"]], "what says nothing outdates nothing"
    assert (newer, other, later) == (
        "newer",
        "other",
        [["replace", [], gr.skip()]],
    ) and kept == ["newer", "other"]


def test_an_answer_that_ends_after_a_later_one_changes_nothing():
    """Gradio sends the last step of each answer a second time when it ends."""

    async def ask():
        queue = Queue()
        first = queue.ask(1, "former")
        newer = queue.ask(2, "newer")
        return [await one() for one in (first, newer, newer, first)]

    assert run(ask()) == ["former", "newer", gr.skip(), gr.skip()]


def test_an_answer_to_a_request_that_came_after_a_later_one_changes_nothing():
    async def ask():
        queue = Queue()
        newer = queue.ask(2, "newer", came=1)
        first = queue.ask(1, "former", came=2)
        return [await one() for one in (newer, first)], queue.kept()

    assert run(ask()) == (["newer", gr.skip()], "newer")


def test_what_a_later_answer_leaves_alone_an_earlier_one_still_shows():
    """A picture that the handler of the earlier one has noted as drawn is not drawn
    again for the later one."""

    async def ask():
        queue = Queue()
        first = queue.ask(1, "picture")
        later = queue.ask(2, "three:later")
        return [await one() for one in (later, first)], queue.kept()

    assert run(ask()) == ([gr.skip(), "picture"], "three:later")


def test_an_answer_is_taken_up_before_a_later_one_that_is_sooner_ready(monkeypatch):
    """Gradio takes a thread for each output, and more time for a large one."""

    async def ask():
        queue = Queue()
        taken = []
        ready = asyncio.Event()

        async def take_up(page, listener, values, state):
            taken.append(values[0])
            if values[0] == "large":
                await ready.wait()
            taken.append(f"{values[0]} is there")

        async def answer(moment, word):
            queue.ask(moment, word)
            LocalContext.blocks.set(queue.page)
            LocalContext.event_id.set(f"a page {moment}")
            await queue.page.postprocess_data(
                queue.listener, [word, word], queue.app.state_holder["a page"]
            )

        monkeypatch.setattr(gradio_private, "_take_up", take_up)
        answers = [
            asyncio.create_task(answer(*one)) for one in ((1, "large"), (2, "small"))
        ]
        await asyncio.wait(answers, timeout=0)  # each as far as it comes
        ready.set()
        await asyncio.gather(*answers)
        return taken

    assert run(ask()) == ["large", "large is there", "small", "small is there"]
