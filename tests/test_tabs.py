"""The tab that docs/ARCHITECTURE.md shows, as it stands there; and that an addition
takes the edits that it says."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import gradio as gr
import pytest

from tests.pages import laid_out, shown
from xformer.commands.arguments import add_options, record
from xformer.parts import TABS
from xformer.parts.translate import part as translate
from xformer.results import UserError
from xformer.results.questions import OfPair
from xformer.serve import wire
from xformer.serve.answers import of_pair
from xformer.serve.translation import ANSWERS
from xformer.strings import ENGLISH, SPANISH
from xformer.training.options import TranslationRun, option
from xformer.ui.page import open_at

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "ARCHITECTURE.md").read_text(
    encoding="utf-8"
)
[EXAMPLE] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
[SAID] = [
    json.loads(block)
    for block in re.findall(r"^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
]
EDITS = {
    name: int(count)
    for name, count in re.findall(
        r"^- \*\*An? ([\w ]+): (\d) edits\.\*\*", TEXT, re.MULTILINE
    )
}


def module(*edits):
    """The module of the example, after edits, each of a piece of its text that occurs
    once."""
    text = EXAMPLE
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    made = ModuleType("splits")
    exec(compile(text, "docs/ARCHITECTURE.md", "exec"), made.__dict__)
    return made


@pytest.fixture
def lay_out(running, monkeypatch):
    """Lay a page out with the tab of the example, after edits; -> its module, the page,
    and its pictures."""

    def lay_out(*edits):
        for language in (ENGLISH, SPANISH):
            for key, text in SAID.items():
                monkeypatch.setitem(language.texts, key, text)
        tab = module(*edits)
        page = laid_out(running, tabs=[translate, tab])
        return tab, page, page.pictures[tab.ID]

    return lay_out


@pytest.fixture(scope="module")
def translation(running, learned_pairs):
    return running.translate(learned_pairs[0][0])


def listened_to(page, component, event):
    return [
        one for one in page.demo.fns.values() if (component._id, event) in one.targets
    ]


def test_the_example_fits_on_a_screen():
    lines = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(lines) <= 40 and max(map(len, lines)) <= 120


def test_the_example_draws_what_the_model_answers_and_again_only_after_a_change(
    lay_out, running, translation
):
    _, _, pictures = lay_out()
    made = {}
    drawn = shown(pictures, running, made=made, trace=None, translation=translation)
    assert drawn["rows"].count("<li>") == 3
    first = running.split(translation.source)[0]
    assert f"<li>{' · '.join(first.pieces)}</li>" in drawn["rows"]
    assert (
        shown(pictures, running, made=made, trace=None, translation=translation) == {}
    )
    more = shown(
        pictures, running, made=made, trace=None, translation=translation, ways=5
    )
    assert more["rows"].count("<li>") == 5


def test_the_action_of_the_example_sets_the_control_and_draws_in_one_answer(
    lay_out, running, translation
):
    tab, page, pictures = lay_out()
    answer = shown(
        pictures, running, action=tab.one_more, trace=None, translation=translation
    )
    assert answer["ways"] == 4 and answer["rows"].count("<li>") == 4
    [button] = [
        one
        for one in page.demo.blocks.values()
        if getattr(one, "value", "") == SAID["splits_more"]
    ]
    [click] = listened_to(page, button, "click")
    values = {
        page.model: "",
        page.sheet: tab.ID,
        page.translation: translation,
        pictures.made: {},
        page.controls["ways"].component: 8,
    }
    answer = dict(
        zip(
            click.outputs, click.fn(*(values[one] for one in click.inputs)), strict=True
        )
    )
    assert answer[page.controls["ways"].component] == 8, (
        "no more than the control holds"
    )
    assert answer[pictures.pictures["rows"].component].count("<li>") == 8


def test_the_example_says_in_its_problem_line_what_is_missing(lay_out, running):
    tab, page, pictures = lay_out()
    [listener] = listened_to(page, page.opened[tab.ID], "change")
    values = {
        page.model: "",
        page.sheet: tab.ID,
        page.translation: None,
        pictures.made: {},
        page.controls["ways"].component: 3,
    }
    answers = listener.fn(*(values[one] for one in listener.inputs))
    assert any(ENGLISH.html("no_trace") in str(answer) for answer in answers)


def test_an_address_opens_the_example(lay_out):
    tab, page, _ = lay_out()
    said, updates = open_at(page, {"tab": tab.ID, "ways": "5"})
    assert said == "" and updates[page.controls["ways"].component]["value"] == 5
    assert "from 1 to 8" in open_at(page, {"ways": "9"})[0]


def test_a_new_control_takes_two_edits(lay_out, running, translation):
    edits = [
        (
            "    more, problem =",
            '    controls.add("upper", Switch(), gr.Checkbox, label=say("splits_more"))\n'
            "    more, problem =",
        ),
        (
            "def draw(splits: list[Pieced], language: Language) -> str:\n",
            "def draw(splits: list[Pieced], language: Language, upper: bool) -> str:\n"
            "    if upper:\n        return splits[0].text.upper()\n",
        ),
    ]
    assert len(edits) == EDITS["control"]
    imported = ("import Controls, Whole", "import Controls, Switch, Whole")
    tab, page, pictures = lay_out(imported, *edits)
    made = {}
    assert (
        "<ol"
        in shown(pictures, running, made=made, trace=None, translation=translation)[
            "rows"
        ]
    )
    assert shown(
        pictures, running, made=made, trace=None, translation=translation, upper=True
    ) == {"rows": translation.source.upper()}
    component = page.controls["upper"].component
    assert listened_to(page, component, "input"), "a click draws"
    assert listened_to(page, component, "change"), "and is written into the address"
    assert open_at(page, {"tab": tab.ID, "upper": "1"})[1][component]["value"] is True


def test_a_new_picture_takes_two_edits(lay_out, running, translation):
    edits = [
        (
            "    pictures.listen(",
            '    pictures.add("count", gr.HTML(), count)\n    pictures.listen(',
        ),
        (
            "\n\ndef one_more(",
            "\n\ndef count(splits: list[Pieced]) -> str:\n    return str(len(splits))\n\n\n"
            "def one_more(",
        ),
    ]
    assert len(edits) == EDITS["picture"]
    _, page, pictures = lay_out(*edits)
    made = {}
    assert (
        shown(pictures, running, made=made, trace=None, translation=translation)[
            "count"
        ]
        == "3"
    )
    assert (
        shown(
            pictures, running, made=made, trace=None, translation=translation, ways=2
        )["count"]
        == "2"
    )
    [listener] = listened_to(page, page.controls["ways"].component, "input")
    assert pictures.pictures["count"].component in listener.outputs


def test_a_new_tab_takes_two_edits(running, lay_out):
    """Its module, which the page is given here in place of a line in `parts.TABS`; and
    that."""
    sources = [
        path.read_text(encoding="utf-8") for path in Path("xformer").glob("ui/**/*.py")
    ]
    assert not [
        text for text in sources if re.search(r"xformer\.parts\.[a-z]", text)
    ], "the table alone names parts"
    table = Path("xformer", "parts", "__init__.py").read_text(encoding="utf-8")
    assert {
        1 + len(re.findall(rf'^ +"{name}": Tab\(', table, re.MULTILINE))
        for name in TABS
    } == {EDITS["tab"]}
    tab, page, _ = lay_out()
    assert tab.ID in page.opened and "ways" in page.controls
    assert SAID["tab_splits"] in [
        one.label for one in page.demo.blocks.values() if isinstance(one, gr.Tab)
    ]


@dataclass(frozen=True)
class Longer(TranslationRun):
    """A training run with one option more, declared as docs/ARCHITECTURE.md says."""

    patience: int = option(
        7,
        "evaluations without gain before the end",
        "the rest",
        least=1,
        most=99,
        metavar="N",
    )


def test_a_new_training_option_takes_two_edits(capsys):
    """The field above, and the place that reads it: its flag, its help, its limits and
    its value are derived."""
    assert EDITS["training option"] == 2
    parser = argparse.ArgumentParser(
        formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add_options(parser, Longer)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "--patience N evaluations without gain before the end (default: 7)" in told
    needed = ["--data", "here", "--out", "there"]
    assert record(Longer, parser.parse_args(needed)).patience == 7
    assert record(Longer, parser.parse_args([*needed, "--patience", "3"])).patience == 3
    with pytest.raises(Exception, match="99"):
        parser.parse_args([*needed, "--patience", "100"])


class CountPieces(OfPair[int]):
    """The number of pieces of both sentences: a question more, declared as
    docs/ARCHITECTURE.md says."""


def test_a_new_question_takes_four_edits(running, translation, monkeypatch):
    """The record above; its name among the results, by which an engine elsewhere knows
    it; what computes its answer; and its line in the table."""
    assert EDITS["question to the model"] == 4
    asked = CountPieces(translation, translation.best.tokens)
    with pytest.raises(UserError, match="is not asked CountPieces"):
        running.ask(asked)
    monkeypatch.setitem(wire.RECORDS, "CountPieces", CountPieces)
    monkeypatch.setitem(
        ANSWERS,
        CountPieces,
        of_pair(lambda pair: len(pair.source) + len(pair.predicted)),
    )
    # with the end of each
    pieces = len(translation.source_tokens) + 1 + len(translation.best.tokens)
    assert running.ask(asked) == running.ask(wire.loads(wire.dumps(asked))) == pieces


def test_the_document_says_what_each_addition_takes():
    assert {*EDITS} == {
        "control",
        "picture",
        "question to the model",
        "training option",
        "tab",
    }
