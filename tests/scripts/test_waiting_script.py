"""How the page waits: the frame of what comes, what is computed in words, how far it
is; the old picture greyed."""

import pytest

from xformer.ui.components import address
from xformer.ui.frames import KINDS

# One component of each form, by its class.
OF_FORM = {
    "chart": "gen-times",
    "map": "view",
    "rows": "first-scores",
    "text": "about-picture",
}
NAME = "Some part"


class Waiting:
    """A component on the bench for which the page waits or does not. waiting.js is
    told as Gradio's page tells it."""

    def __init__(self, bench, component):
        self.page = bench.page
        self.id = component._id
        self.mounted = bench.mount(component)
        self.block = self.mounted.block
        self.page.evaluate("""() => Object.assign(document.querySelector('h1').dataset,
            {computing: 'Computing: {name}', far: '{done} of {of}'})""")
        self.page.evaluate(
            "() => document.querySelector('.bar').innerHTML = '<p class=waits role=status></p>'"
        )
        self.tell("follow", {"components": [{"id": self.id, "props": {"label": NAME}}]})

    def tell(self, function, *given):
        """Call what waiting.js exports; a test that waits itself need not be steady."""
        self.page.evaluate(
            "([path, name, given]) => import(path).then(script => script[name](...given))",
            [address("waiting.js"), function, [*given]],
        )

    def ask(self, number=1):
        self.tell("begin", number, "asked", [self.id])

    def answer(self, value, number=1):
        self.tell("drawn", number, [self.id], [value])

    def end(self, number=1):
        self.tell("end", number)

    @property
    def waits(self):
        return self.block.get_attribute("data-waits")

    def until(self, script):
        self.page.wait_for_function(f"block => {script}", arg=self.handle)

    @property
    def handle(self):
        return self.block.element_handle()

    @property
    def frame(self):
        """What is drawn in its place: "none" for nothing."""
        return self.block.evaluate(
            "block => getComputedStyle(block, '::before').backgroundImage"
        )


@pytest.fixture
def waiting(bench, components):
    bench.open()
    return lambda form: Waiting(bench, components["en"][OF_FORM[form]])


@pytest.mark.parametrize("form", KINDS)
def test_a_frame_stands_as_soon_as_a_picture_is_asked_for(waiting, form):
    one = waiting(form)
    assert one.frame == "none"
    one.ask()
    assert one.waits == "frame" and "gradient" in one.frame
    one.answer("drawn")
    assert one.waits is None and one.frame == "none"
    one.end()


def test_what_is_computed_is_said_after_half_a_second_and_how_far_after_two(waiting):
    one = waiting("rows")
    one.ask()
    assert one.block.get_attribute("data-said") is None
    one.until(f"block.dataset.said === 'Computing: {NAME}'")
    assert one.page.locator(".bar .waits").text_content() == f"Computing: {NAME}"
    one.tell("progress", 1, [{"index": 3, "length": 6}])
    one.until(f"block.dataset.said === 'Computing: {NAME} 3 of 6'")
    one.end()
    assert one.block.get_attribute("data-said") is None
    assert one.page.locator(".bar .waits").text_content() == ""


def test_an_old_picture_stays_and_is_greyed(waiting):
    one = waiting("map")
    one.ask()
    one.answer("first")
    one.end()
    one.ask(2)
    assert one.waits is None and one.frame == "none"
    one.until("block.dataset.waits === 'old'")
    assert one.frame == "none"
    assert one.block.evaluate(
        "block => getComputedStyle(block.children[0]).filter"
    ) != ("none")
    one.end(2)
    assert one.waits is None


def test_what_a_script_has_drawn_before_the_answer_is_not_greyed(waiting):
    one, other = waiting("map"), waiting("chart")
    both = [one.id, other.id]
    one.tell("begin", 1, "asked", both)
    one.tell("drawn", 1, both, ["first", "first"])
    one.tell("end", 1)
    one.page.evaluate(
        "([path, element]) => import(path).then(script => script.drawnHere(element))",
        [address("waiting.js"), one.mounted.element.element_handle()],
    )
    one.tell("begin", 2, "asked", both)
    other.until("block.dataset.waits === 'old'")
    assert one.waits is None
    one.tell("drawn", 2, both, ["second", "second"])
    one.tell("begin", 3, "asked", both)
    one.until("block.dataset.waits === 'old'")
    for number in (2, 3):
        one.tell("end", number)


def test_a_step_of_an_answer_that_leaves_a_picture_alone_ends_no_wait(waiting):
    one = waiting("rows")
    one.ask()
    one.answer({"__type__": "update"})
    assert one.waits == "frame"
    one.answer({"__type__": "update", "value": "drawn"})
    assert one.waits is None
    one.end()


def test_what_is_emptied_has_a_frame_again_but_for_a_line_that_has_nothing_to_say(
    waiting,
):
    for form, waits in (("rows", "frame"), ("text", None)):
        one = waiting(form)
        one.ask()
        one.answer("")
        one.end()
        one.ask(2)
        assert one.waits == waits
        one.end(2)


def test_while_the_page_opens_all_that_is_not_drawn_yet_is_waited_for(waiting):
    """A part waits for the first translation, which nobody has asked for by then."""
    one = waiting("rows")
    notice = "<div class='notice waiting'>Waiting</div>"
    one.page.evaluate(
        "html => document.querySelector('#bench').innerHTML += html", notice
    )
    one.page.evaluate("() => { pageState.settled = false; }")
    one.ask(5)
    one.end(5)
    assert one.waits == "frame"
    assert not one.page.locator(".notice.waiting").is_visible()
    one.page.evaluate("() => { pageState.settled = true; tell('settled'); }")
    one.until("!block.dataset.waits")
    assert one.page.locator(".notice.waiting").is_visible()


def test_the_tests_wait_for_what_the_page_waits_for(waiting):
    one = waiting("rows")
    one.ask()
    assert one.page.evaluate("[...pageState.waiting.requests.values()]") == ["asked"]
    one.end()
    assert one.page.evaluate("pageState.waiting.requests.size") == 0


# Listeners of a page: one that sets a state, 50, and one that draws when it is set.
SETS = {"id": 8, "targets": [[40, "expand"]], "outputs": [50], "trigger_after": None}
DRAWS = {"id": 7, "targets": [[50, "change"]], "trigger_after": None}


def knowing(one):
    """Tell waiting.js of a page with these listeners."""
    dependencies = [SETS, {**DRAWS, "outputs": [one.id]}]
    own = {"id": one.id, "type": "html", "props": {"label": NAME}}
    listeners = [{**listener, "backend_fn": True} for listener in dependencies]
    one.tell("follow", {"components": [own], "dependencies": listeners})


def test_what_comes_by_itself_has_its_frame_before_it_is_asked_for(waiting):
    one = waiting("rows")
    knowing(one)
    assert one.waits == "frame" and "gradient" in one.frame
    one.ask()
    one.end()  # nothing is to be shown
    assert one.waits is None and one.frame == "none"


def test_the_frame_of_what_nobody_asks_for_goes_away(waiting):
    one = waiting("rows")
    knowing(one)
    assert one.waits == "frame"
    one.until("!block.dataset.waits")


def greyed(waiting):
    """A picture that is greyed by request 2, which is to lead to another."""
    one = waiting("map")
    knowing(one)
    one.ask()
    one.answer("first")
    one.end()
    one.tell("begin", 2, "sets", [50], 8)
    one.until("block.dataset.waits === 'old'")
    return one


def test_a_picture_is_greyed_from_the_first_request_that_leads_to_it(waiting):
    one = greyed(waiting)
    waits = one.page.evaluate(
        """async ([path, block, id]) => {
            const {begin, end} = await import(path), seen = [];
            end(2);
            seen.push(block.dataset.waits);
            await new Promise(requestAnimationFrame);
            begin(3, 'draws', [id], 7);
            seen.push(block.dataset.waits);
            return seen;
        }""",
        [address("waiting.js"), one.handle, one.id],
    )
    assert waits == ["old", "old"]
    one.answer("second", 3)
    one.end(3)
    assert one.waits is None


def test_a_picture_is_not_greyed_for_long_by_a_request_that_led_to_nothing(waiting):
    one = greyed(waiting)
    one.end(2)
    one.until("!block.dataset.waits")


def test_pictures_of_all_parts_are_greyed_from_enter_and_framed_from_a_click_on(
    bench, made
):
    """All that depends on the sentence, and on a fold that opens."""
    bench.open()
    config = made.demo.get_config_file()
    keys = ("id", "targets", "outputs", "trigger_after", "backend_fn")
    known = {
        "components": [
            {
                **{key: one[key] for key in ("id", "type")},
                "props": {"visible": one["props"].get("visible", True)},
            }
            for one in config["components"]
        ],
        "dependencies": [
            {key: one[key] for key in keys} for one in config["dependencies"]
        ],
    }
    leads = bench.page.evaluate(
        """async ([path, known]) => {
            const {follow, leadsTo} = await import(path);
            follow(known);
            return known.dependencies.map(({id, targets}) => [targets, [...leadsTo(id)]]);
        }""",
        [address("waiting.js"), known],
    )

    def led(component, event):
        """What is drawn after an event."""
        target = [component._id, event]
        return {id for targets, ids in leads if target in targets for id in ids}

    entered = led(made.sentence, "submit")
    asked = 0
    lacking = []
    for pictures in made.pictures.values():
        folds = {flag: fold for fold, flag in pictures.opening.items()}
        for name, one in pictures.pictures.items():
            if "framed" not in (one.component.elem_classes or []):
                continue
            wants = pictures._base([one.draw, one.seen])
            asked += 1
            if {"trace", "translation"} & {*wants} and one.component._id not in entered:
                lacking.append((name, "Enter"))
            lacking += [
                (name, wanted)
                for wanted in wants
                if wanted in pictures.flags
                and one.component._id
                not in led(folds[pictures.flags[wanted]], "expand")
            ]
    assert asked > 50 and not lacking
