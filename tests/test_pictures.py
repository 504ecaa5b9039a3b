"""Pictures declared once: what is drawn again, what is asked of the service and how
often, and what is said."""

import logging
import threading
from inspect import isgeneratorfunction, signature
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest

from tests.pages import laid_out
from xformer.results import Message, UserError
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.controls import Controls, OneOf, Switch, Whole
from xformer.ui.handlers import QUIET, SWIFT, Ask, needs, refused
from xformer.ui.pictures import Pictures
from xformer.ui.tabs import Tab


class Asked:
    """A service that counts what it is asked."""

    info = "the first model"

    def __init__(self):
        self.times = []

    def square(self, number):
        self.times.append(number)
        if number > 8:
            raise UserError(Message.of("error_left"))
        return np.full(2, number * number)


def a_tab(declare, **more):
    """A tab with a number, a colour and a switch, and what else `declare` says of its
    pictures."""

    def build(page):
        controls = Controls(page.service)
        controls.add("number", Whole(3, 0, 9), gr.Slider)
        controls.add(
            "colour", OneOf(("red", "blue"), "red"), gr.Radio, choices=["red", "blue"]
        )
        controls.add("wanted", Switch(True), gr.Checkbox)
        pictures = Pictures(page, controls, "tried", tab="translate", **more)
        pictures.fact("square", lambda service, number: service.square(number))
        declare(pictures, controls)
        opened = page.opened["translate"].change
        pictures.listen(gr.HTML(), opened, how=QUIET if pictures.streams else SWIFT)
        page.on_sentence.append(page.ask(lambda service, language: {}))
        return Tab(controls)

    return SimpleNamespace(ID="translate", build=build)


@pytest.fixture
def declared(running):
    """Lay a page of one such tab out; -> its pictures, a function that draws, and the
    service that is asked."""

    def declared(declare, **more):
        made = {}
        asked = Asked()
        page = laid_out(running, tabs=[a_tab(declare, **more)])
        pictures = page.pictures["tried"]

        def answers(language=ENGLISH, service=asked, **values):
            return Ask.always(service, language).answers(
                pictures.stream,
                made=made,
                **{
                    "number": 3,
                    "colour": "red",
                    "wanted": True,
                    "trace": None,
                    **values,
                },
            )

        def draw(*given, **values):
            (only,) = answers(*given, **values)
            return only

        draw.answers = answers
        draw.each = lambda **values: [*answers(**values)]
        draw.page = page
        draw.made = made
        return pictures, draw, asked

    return declared


def two(pictures, controls):
    pictures.add("sum", gr.HTML(), lambda square: int(square.sum()))
    pictures.add(
        "painted",
        gr.HTML(),
        lambda square, colour, language: f"{colour} {square[0]} {language.code}",
    )


def test_only_what_depends_on_a_change_is_drawn_and_a_fact_is_asked_once(declared):
    _, draw, asked = declared(two)
    assert draw() == {
        "problem": "",
        "sum": 18,
        "painted": "red 9 en",
    } and asked.times == [3]
    assert draw() == {"problem": ""}
    assert draw(colour="blue") == {
        "problem": "",
        "painted": "blue 9 en",
    } and asked.times == [3]
    assert draw(number=2, colour="blue") == {
        "problem": "",
        "sum": 8,
        "painted": "blue 4 en",
    }
    assert asked.times == [3, 2]


def test_pictures_are_in_the_language_of_their_page(declared):
    _, draw, _ = declared(two)
    assert draw(SPANISH)["painted"] == "red 9 es"


def test_another_model_draws_all_that_it_is_asked_for_anew(declared):
    _, draw, _ = declared(two)
    draw()
    other = Asked()
    other.info = "another model"
    assert draw(service=other)["sum"] == 18 and other.times == [3]


def test_what_is_not_in_sight_is_not_drawn_nor_asked_for(declared):
    def declare(pictures, controls):
        pictures.add("sum", gr.HTML(), lambda square: int(square.sum()), seen="wanted")
        pictures.add(
            "painted", gr.HTML(), lambda colour: colour, seen=lambda number: number > 4
        )

    _, draw, asked = declared(declare)
    assert draw(wanted=False) == {"problem": ""} and not asked.times
    assert (
        draw(wanted=False, number=5) == {"problem": "", "painted": "red"}
        and not asked.times
    )
    assert draw(number=5) == {"problem": "", "sum": 50}
    assert draw(number=5, wanted=False) == draw(number=5) == {"problem": ""}, (
        "it stays while it is out of sight"
    )


def test_a_fold_of_several_sections_tells_once_that_it_opens(declared):
    def declare(pictures, controls):
        fold = gr.Accordion("Two sections", open=False)
        for name in ("first", "second"):
            pictures.opens(f"{name}_open", fold)
            pictures.add(name, gr.HTML(), lambda number: number, seen=f"{name}_open")

    pictures, draw, _ = declared(declare)
    (fold,) = pictures.opening
    told = [one.targets for one in draw.page.demo.fns.values() if fold._id in _ids(one)]
    assert [event for ((_, event),) in told] == ["expand", "collapse"]
    assert draw(first_open=True, second_open=True).keys() == {
        "problem",
        "first",
        "second",
    }


def _ids(listener):
    return [id for id, _ in listener.targets]


def test_a_fact_that_fails_is_asked_and_said_once_and_all_else_is_drawn(declared):
    def declare(pictures, controls):
        two(pictures, controls)
        pictures.add("plain", gr.HTML(), lambda number: number)

    _, draw, asked = declared(declare)
    draw()
    failed = draw(number=9)
    assert (
        failed["plain"] == 9
        and {*failed} == {"plain", "problem"}
        and asked.times == [3, 9]
    )
    assert (
        failed["problem"].count('role="alert"') == 1
        and ENGLISH.html("error_left") in failed["problem"]
    )
    assert draw() == {"problem": "", "plain": 3}, "the others are as they were"


def test_where_one_fails_all_are_cleared_if_so_declared_and_drawn_anew_after_it(
    declared,
):
    _, draw, _ = declared(two, cleared={"sum": None, "painted": ""})
    draw()
    failed = draw(number=9)
    assert (
        failed["sum"] is None
        and failed["painted"] == ""
        and ENGLISH.html("error_left") in failed["problem"]
    )
    assert draw()["sum"] == 18


def test_what_was_not_foreseen_is_logged_and_drawn_again_next_time(declared, caplog):
    def declare(pictures, controls):
        two(pictures, controls)
        pictures.add("broken", gr.HTML(), lambda number: 1 // (number - 3))

    _, draw, _ = declared(declare)
    with caplog.at_level(logging.ERROR):
        assert {*draw()} == {"problem"} and "ZeroDivisionError" in caplog.text
    assert draw(number=4)["sum"] == 32


def test_late_pictures_come_with_a_second_answer_and_share_the_facts(declared):
    def declare(pictures, controls):
        pictures.add("sum", gr.HTML(), lambda square: int(square.sum()))
        pictures.add("painted", gr.HTML(), lambda square, colour: colour, late=True)

    pictures, draw, asked = declared(declare)
    first = draw()
    second = draw(late=True)
    assert {*first} == {"problem", "sum", "tick"} and second == {
        "problem": gr.skip(),
        "painted": "red",
    }
    assert asked.times == [3] and draw() == {"problem": ""}
    events = {
        (source, name): [
            one.inputs
            for one in draw.page.demo.fns.values()
            if (source, name) in one.targets
        ]
        for source, name in (
            (pictures.tick._id, "change"),
            (pictures.controls["colour"].component._id, "input"),
            (pictures.controls["number"].component._id, "input"),
        )
    }
    assert [len(found) for found in events.values()] == [1, 1, 1], (
        "a slider is listened to by the first answer alone"
    )


def test_an_action_sets_inputs_and_what_depends_on_them_is_drawn_in_the_same_answer(
    declared,
):
    _, draw, _ = declared(two)

    def choose(service, language, *, colour, square):
        return {"colour": "blue", "sum": f"set for {colour} {square[0]}"}

    draw()
    assert draw(action=choose) == {
        "problem": "",
        "colour": "blue",
        "sum": "set for red 9",
        "painted": "blue 9 en",
    }
    assert draw(action=choose)["painted"] == "blue 9 en", "even if it seems to be there"
    assert (
        draw(colour="blue")
        == {"problem": ""}
        == draw(action=lambda service, language: None, colour="red")
    )


def test_an_action_that_fails_clears_what_it_says_and_needs_what_it_says(declared):
    @needs(colour="error_empty")
    @refused(sum=None, nobody=None)
    def choose(service, language, *, colour):
        return {}

    _, draw, _ = declared(two)
    draw()
    failed = draw(action=choose, colour="")
    assert (
        failed["sum"] is None
        and ENGLISH.html("error_empty") in failed["problem"]
        and "nobody" not in failed
    )
    assert draw()["sum"] == 18, "what was cleared is drawn again"


def test_of_a_list_only_what_is_new_is_asked_until_something_else_changes(declared):
    asked = []

    def squares(numbers, colour):
        asked.append(numbers)
        return {one: f"{one * one} {colour}" for one in numbers}

    def declare(pictures, controls):
        pictures.fact("numbers", lambda number: [number, number - 1, number])
        pictures.fact("squares", squares, each="numbers")
        pictures.add(
            "told",
            gr.HTML(),
            lambda numbers, squares: ", ".join(squares[one] for one in numbers),
        )

    _, draw, _ = declared(declare)
    assert draw()["told"] == "9 red, 4 red, 9 red" and asked.pop() == [3, 2]
    assert draw(number=4)["told"] == "16 red, 9 red, 16 red" and asked.pop() == [4]
    assert draw(number=5)["told"] == "25 red, 16 red, 25 red" and asked.pop() == [5]
    assert draw(number=4)["told"] == "16 red, 9 red, 16 red", "others are let go"
    assert asked.pop() == [3]
    assert draw(number=3, colour="blue")["told"].startswith("9 blue")
    assert asked == [[3, 2]]


def test_controls_follow_others_before_anything_is_drawn(declared):
    def follow(number, colour, before):
        if number == 0:
            return None
        return (
            {"colour": gr.update(value="blue")}
            if before and before["number"] != number
            else {}
        )

    def declare(pictures, controls):
        two(pictures, controls)
        pictures.follow(follow, "colour")

    _, draw, _ = declared(declare)
    assert draw(number=0) == {"problem": ""}
    assert draw()["painted"] == "red 9 en"
    moved = draw(number=2)
    assert moved["colour"]["value"] == "blue" and moved["painted"] == "blue 4 en"


def test_a_picture_and_a_fact_are_told_what_they_were_made_from(declared):
    def declare(pictures, controls):
        pictures.fact("total", lambda number, before: number + before.get("total", 0))
        pictures.add(
            "sum",
            gr.HTML(),
            lambda total, colour, before: (
                gr.skip() if before.get("total") == total else total
            ),
        )

    _, draw, _ = declared(declare)
    assert draw()["sum"] == 3 and draw(number=4)["sum"] == 7
    assert draw(number=4, colour="blue") == {"problem": ""}, "it is left as it is"


def test_a_fact_says_how_far_it_is_and_that_is_no_input(declared):
    told = []

    def declare(pictures, controls):
        pictures.fact("slow", lambda square, progress: progress((1, len(square))))
        pictures.add("bar", gr.HTML(), lambda slow: "drawn")

    pictures, draw, _ = declared(declare)
    assert draw(progress=told.append) == {"problem": "", "bar": "drawn"}
    assert draw(progress=print) == {"problem": ""} and told == [(1, 2)]
    assert "progress" in signature(pictures.listener()["fn"]).parameters
    assert "progress" not in signature(pictures.listener(late=True)["fn"]).parameters


def sums(number, wanted):
    """1, 3, 6 … up to the sum of the numbers from 1 to `number`."""
    if number == 9:
        raise UserError(Message.of("error_left"))
    if not wanted:
        yield None
    for last in range(1, number + 1):
        if last > 4:
            raise UserError(Message.of("error_left"))
        yield last * (last + 1) // 2


def streaming(pictures, controls):
    pictures.fact("sums", sums)
    pictures.fact("next", lambda sums: sums + 1)
    pictures.add("told", gr.HTML(), lambda sums, colour: f"{colour} {sums}")
    pictures.add("more", gr.HTML(), lambda next, sums: next)
    pictures.add("plain", gr.HTML(), lambda number: number)


def test_what_depends_on_a_fact_that_streams_is_drawn_with_each_of_its_values(declared):
    _, draw, _ = declared(streaming)
    assert draw.each() == [
        {"problem": "", "told": "red 1", "more": 2, "plain": 3},
        {"problem": "", "told": "red 3", "more": 4},
        {"problem": "", "told": "red 6", "more": 7},
    ]
    assert draw.each() == [{"problem": ""}], "it is there"
    assert draw.each(colour="blue") == [{"problem": "", "told": "blue 6"}]
    assert [one["told"] for one in draw.each(number=2)] == ["red 1", "red 3"]


def test_while_a_fact_that_streams_is_none_what_depends_on_it_stays(declared):
    _, draw, _ = declared(streaming)
    first, second = draw.each(number=1, wanted=False)
    assert first == {"problem": "", "plain": 1}
    assert second == {"problem": "", "told": "red 1", "more": 2}


def test_a_fact_that_was_broken_off_is_not_taken_for_whole(declared):
    _, draw, _ = declared(streaming)
    answers = draw.answers()
    assert [next(answers)["told"], next(answers)["told"]] == ["red 1", "red 3"]
    del answers
    assert [one["told"] for one in draw.each()] == ["red 1", "red 3", "red 6"]


def test_a_fact_that_fails_on_its_way_says_so_and_begins_again(declared):
    _, draw, _ = declared(streaming)
    for _ in range(2):
        *told, failed = draw.each(number=5)
        assert [one["told"][4:] for one in told] == ["1", "3", "6", "10"]
        assert ENGLISH.html("error_left") in failed["problem"]
        assert {*failed} == {"problem"}, "what was drawn stays"


def test_what_is_refused_before_its_first_value_is_not_what_was_there_before(declared):
    _, draw, _ = declared(streaming)
    draw.each(number=2)
    for _ in range(2):
        (refused,) = draw.each(number=9)
        assert ENGLISH.html("error_left") in refused["problem"]


def test_a_listener_that_ends_leaves_what_another_makes_meanwhile(declared):
    _, draw, _ = declared(streaming)
    first = draw.answers(number=1)
    second = draw.answers(number=3)
    assert [{*next(one)} >= {"told"} for one in (first, second, second)] == [
        True,
        False,  # as it is
        True,
    ]
    assert [*first] == [] and draw.each(number=1)[0]["told"] == "red 1"


def test_what_another_listener_draws_meanwhile_is_not_undone(declared):
    _, draw, _ = declared(streaming)
    answers = draw.answers()
    assert next(answers)["plain"] == 3
    assert draw(action=lambda service, language: {}, number=8)["plain"] == 8
    assert all("plain" not in one for one in answers)
    assert draw(action=lambda service, language: {}, number=8) == {"problem": ""}


@pytest.mark.parametrize("picky_is", ["picture", "fact"])
def test_a_refusal_of_the_first_values_is_not_said_of_the_whole(declared, picky_is):
    def picky(sums):
        if sums < 6:
            raise UserError(Message.of("error_left"))
        return sums

    def declare(pictures, controls):
        pictures.fact("sums", sums)
        if picky_is == "fact":
            pictures.fact("checked", picky)
            pictures.add("told", gr.HTML(), lambda checked: checked)
        else:
            pictures.add("told", gr.HTML(), picky)

    _, draw, _ = declared(declare)
    *refused, whole = draw.each()
    assert len(refused) == 2 and all(one["problem"] for one in refused)
    assert whole == {"problem": "", "told": 6}


def test_who_streams_must_be_queued(declared):
    pictures, _, _ = declared(streaming)
    with pytest.raises(ValueError, match="queued"):
        pictures.listen(gr.HTML())


def test_where_a_fact_fails_on_its_way_all_are_cleared_if_so_declared(declared):
    _, draw, _ = declared(streaming, cleared={"told": None})
    failed = draw.each(number=5)[-1]
    assert failed["told"] is None and ENGLISH.html("error_left") in failed["problem"]
    assert draw.each(number=1)[-1]["told"] == "red 1"


def test_only_who_streams_makes_what_does_and_late_pictures_come_with_each_value(
    declared,
):
    def declare(pictures, controls):
        pictures.fact("sums", sums)
        pictures.follow(
            lambda sums: {"colour": "blue" if sums == 6 else "red"}, "colour"
        )
        pictures.add("told", gr.HTML(), lambda sums, colour: sums, late=True)

    pictures, draw, _ = declared(declare)
    assert "told" not in draw(late=True), "there is nothing yet"
    answers = draw.answers()
    for value in (1, 3, 6):
        now = next(answers)
        assert {*now} == {"problem", "tick", "colour"}
        assert now["colour"] == ("blue" if value == 6 else "red")
        assert draw(late=True)["told"] == value
    assert [*answers] == [] and "told" not in draw(number=2, late=True), "as it is"
    assert isgeneratorfunction(pictures.listener()["fn"])
    for how in ({"late": True}, {"action": lambda service, language: {}}):
        assert not isgeneratorfunction(pictures.listener(**how)["fn"])


def test_nothing_is_kept_of_a_pass_that_is_no_more_on_the_page(
    declared, running, learned_pairs
):
    def declare(pictures, controls):
        pictures.fact("words", lambda trace, wanted: list(trace.source))
        pictures.add(
            "painted", gr.HTML(), lambda trace, words: len(words), seen="wanted"
        )
        pictures.add("sum", gr.HTML(), lambda number: number)

    _, draw, _ = declared(declare)
    first, second = (running.trace(*learned_pairs[i]) for i in range(2))
    draw(trace=first)
    assert draw.made["painted"].inputs["trace"] is first
    draw(trace=second, wanted=False)
    assert not any(first in one.inputs.values() for one in draw.made.values())
    assert draw(trace=second)["painted"] == len(second.source)


def test_threads_that_draw_at_once_note_each_what_it_drew(declared):
    def declare(pictures, controls):
        pictures.add("sum", gr.HTML(), lambda number: number)
        pictures.add("painted", gr.HTML(), slow, late=True)

    inside = threading.Event()
    leave = threading.Event()

    def slow(colour):
        inside.set()
        leave.wait()
        return colour

    _, draw, _ = declared(declare)
    other = threading.Thread(target=draw, kwargs={"late": True})
    other.start()
    inside.wait()
    assert draw()["sum"] == 3
    leave.set()
    other.join()
    assert draw() == {"problem": ""} and draw(late=True) == {"problem": gr.skip()}


def test_a_name_that_nobody_knows_or_that_two_have_is_an_error_when_the_page_is_laid_out(
    declared,
):
    with pytest.raises(
        TypeError,
        match="'volume', which a picture depends on, is no control, fact or input",
    ):
        declared(
            lambda pictures, controls: pictures.add(
                "sum", gr.HTML(), lambda volume: volume
            )
        )
    with pytest.raises(
        ValueError, match="two facts or pictures have the name 'square'"
    ):
        declared(
            lambda pictures, controls: pictures.add(
                "square", gr.HTML(), lambda number: number
            )
        )


def test_nothing_is_drawn_in_a_tab_that_is_not_open(declared):
    pictures, draw, _ = declared(two)
    listener = pictures.listener()
    assert draw.page.sheet in listener["inputs"]
    values = {draw.page.model: "", draw.page.sheet: "attention", pictures.made: {}}
    values |= {control.component: 3 for control in pictures.controls.values()}
    assert listener["fn"](*(values[one] for one in listener["inputs"])) == [
        gr.skip()
    ] * len(listener["outputs"])


def test_the_tabs_are_laid_out_in_any_order(running, reader, writer):
    from xformer.ui.page import TABS

    straight, turned = (
        laid_out(running, reader, writer=writer, tabs=tabs)
        for tabs in (TABS, TABS[::-1])
    )
    assert {*straight.controls} == {*turned.controls} and {*straight.pictures} == {
        *turned.pictures
    }
    listeners = [
        sorted(
            (one.name or "", len(one.inputs), len(one.outputs))
            for one in made.demo.fns.values()
            if one.name != "opened"
        )
        for made in (straight, turned)
    ]
    assert len(listeners[0]) == len(listeners[1])
    assert [name for name, *_ in listeners[0]] == [name for name, *_ in listeners[1]]
    first = [made.on_sentence[0]["fn"].__name__ for made in (straight, turned)]
    assert first == ["run", "run"], (
        "the sentence is translated before anything is made of it"
    )
