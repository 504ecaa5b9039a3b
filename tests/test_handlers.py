"""Handlers by name: what reaches them, what of their answers reaches the page, and what
is said where there is none."""

import logging
from contextlib import contextmanager
from inspect import signature
from typing import get_type_hints

import gradio as gr
import pytest

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


def as_told(service, language, *, one):
    yield from one


def test_an_answer_that_comes_after_a_later_one_changes_nothing(parts, monkeypatch):
    """As of a page that asks again when it has come to an address, while a person asks
    for something else."""
    listener = Ask.always(None, ENGLISH)(
        as_told, {"one": parts["one"]}, {"two": parts["two"]}
    )

    def ask(moment, *values, session="a page"):
        monkeypatch.setattr(gradio_private, "asked", lambda: (session, moment))
        told = listener["fn"]([{"two": value} if value else {} for value in values])
        return [next(told)], told

    first, more_of_first = ask(1.0, "begun", "late", "later")
    idle, _ = ask(2.0, None)
    assert (first, idle, next(more_of_first)) == (["begun"], [gr.skip()], "late"), (
        "what says nothing outdates nothing"
    )
    newer, _ = ask(3.0, "newer")
    other, _ = ask(1.5, "other", session="another page")
    assert (newer, other, [*more_of_first]) == (["newer"], ["other"], [gr.skip()])
