"""What tests may not do: sleep, and look for wordings; how long functions and
signatures may be; and that a statement does one thing."""

import ast
import re
import sys
from functools import cache

import pytest

from tests import harness
from tests.harness import ROOT, App, beside_parts, modules, patience, wait_until
from xformer.strings import ENGLISH, SPANISH

MOST_LINES = 140  # of a function, as the formatter lays it out
MOST_PARAMETERS = 10  # besides self and cls
WAITS = {"harness.py"}  # `wait_until`


def called(call):
    """The name of what is called."""
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else getattr(call.func, "id", "")
    )


def names(node):
    """The names of what is called anywhere inside of a piece of a program."""
    return {called(one) for one in ast.walk(node) if isinstance(one, ast.Call)}


@cache
def nodes(path):
    """Every node of a module, which several rules look through."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def idle_lines(path):
    """List the lines of a module of tests that let time pass: those that sleep, and
    loops that only turn."""
    for one in nodes(path):
        sleeps = isinstance(one, ast.Call) and called(one) in {
            "sleep",
            "wait_for_timeout",
        }
        turns = isinstance(one, ast.While) and all(
            isinstance(inner, ast.Pass) for inner in one.body
        )
        if sleeps or (turns and not any("wait" in name for name in names(one.test))):
            yield f"{path.relative_to(ROOT)}:{one.lineno}"


def test_no_test_sleeps_or_turns_in_a_loop_that_does_nothing():
    idle = [
        line
        for path in [*sorted((ROOT / "tests").rglob("*.py")), *beside_parts()]
        if path.name not in WAITS
        for line in idle_lines(path)
    ]
    assert not idle


# how a test looks for what is written on the page
LOOKS = {
    "get_by_role",
    "get_by_text",
    "get_by_label",
    "get_by_placeholder",
    "filter",
    "to_have_text",
    "to_contain_text",
}


def written_out(path):
    """List the lines of a module of tests that look for a text of the page, of two
    words at least, by its words."""
    texts = {
        text
        for language in (ENGLISH, SPANISH)
        for text in language.texts.values()
        if " " in text
    }
    for one in nodes(path):
        if isinstance(one, ast.Call) and called(one) in LOOKS:
            given = [*one.args, *(word.value for word in one.keywords)]
            yield from (
                f"{path.relative_to(ROOT)}:{part.lineno} {part.value}"
                for part in given
                if isinstance(part, ast.Constant) and part.value in texts
            )


def test_texts_of_the_page_are_looked_for_by_their_keys():
    """So that a better wording breaks nothing."""
    paths = [
        path
        for folder in ("browser", "scripts")
        for path in sorted((ROOT / "tests" / folder).glob("*.py"))
    ]
    paths += beside_parts()
    assert not [line for path in paths for line in written_out(path)]


def functions():
    """Every function of the package, with its module."""
    for path in modules("xformer"):
        for node in nodes(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def test_no_function_is_longer_than_a_screen_or_two():
    lengths = {where: node.end_lineno - node.lineno + 1 for where, node in functions()}
    assert {
        where: lines for where, lines in lengths.items() if lines > MOST_LINES
    } == {}


def test_no_signature_has_more_parameters_than_one_can_keep_in_mind():
    counts = {}
    for where, node in functions():
        given = node.args
        every = [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            *filter(None, (given.vararg, given.kwarg)),
        ]
        counts[where] = sum(one.arg not in ("self", "cls") for one in every)
    assert {
        where: count for where, count in counts.items() if count > MOST_PARAMETERS
    } == {}


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parallel(node):
    """Whether several names are each given a value of their own in one statement."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def over_one(node):
    """Whether a loop, or a clause of a comprehension, is over a single element."""
    return (
        isinstance(node, (ast.For, ast.comprehension))
        and isinstance(node.iter, (ast.Tuple, ast.List))
        and len(node.iter.elts) == 1
        and not isinstance(node.iter.elts[0], ast.Starred)
    )


def nested(node):
    """Whether a comprehension has more than two clauses."""
    return isinstance(node, COMPREHENSIONS) and len(node.generators) > 2


OPERATIONS = (
    *COMPREHENSIONS,
    ast.BinOp,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.IfExp,
    ast.Lambda,
)


def crammed(node):
    """Whether an argument is a function without a name that does more than one
    thing."""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    return any(
        sum(isinstance(part, OPERATIONS) for part in ast.walk(one.body)) > 1
        for one in given
        if isinstance(one, ast.Lambda)
    )


@pytest.mark.parametrize("folder", ["xformer", "research", "benchmarks"])
def test_a_function_that_does_more_than_one_thing_has_a_name(folder):
    assert not [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)[:60]}"
        for path in modules(folder)
        for node in nodes(path)
        if crammed(node)
    ]


@pytest.mark.parametrize("folder", ["xformer", "tests", "research", "benchmarks"])
def test_a_statement_does_one_thing(folder):
    """A loop over one element is an assignment, and three loops in one are read slowly.

    Swaps set several names, and so does what a later value could tell apart: under one
    assignment of a hundred.
    """
    found = {habit: [] for habit in (parallel, over_one, nested)}
    assignments = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in nodes(path):
            assignments += isinstance(node, ast.Assign)
            for habit, where in found.items():
                if habit(node):
                    where.append(f"{path.relative_to(ROOT)}: {ast.unparse(node)}")
    assert not found[over_one] and not found[nested]
    assert 100 * len(found[parallel]) < assignments, found[parallel]


@pytest.mark.parametrize(
    ("habit", "code", "other"),
    [
        (parallel, "a, b = 1, 2", "a, b = pair"),
        (over_one, "for a in [b]: pass", "for a in [*b]: pass"),
        (over_one, "[a for b in c for a in (b,)]", "[a for b in c for a in (b, 0)]"),
        (nested, "{a for b in c for d in b for a in d}", "{a for b in c for a in b}"),
        (crammed, "a(key=lambda b: len(b[0]) + 1)", "a(key=lambda b: -len(b[0]))"),
        (crammed, "a(lambda b: c(d(b)))", "a(lambda b: (b.c, f'{b} {c}'))"),
    ],
)
def test_each_habit_is_told_from_what_is_like_it(habit, code, other):
    assert [any(map(habit, ast.walk(ast.parse(text)))) for text in (code, other)] == [
        True,
        False,
    ]


def test_waiting_ends_with_the_first_true_answer_or_in_time():
    answers = iter([None, 0, "there"])
    assert wait_until(lambda: next(answers), pause=lambda seconds: None) == "there"
    with pytest.raises(AssertionError, match="it has not happened in 0 s"):
        wait_until(lambda: False, 0, pause=lambda seconds: None)


@pytest.mark.parametrize(
    ("starts", "seconds", "of_a_page"),
    [([], 120, 60), ([10], 120, 60), ([10, 40, 12], 320, 160), ([200], 600, 600)],
)
def test_patience_grows_with_the_slowest_start(monkeypatch, starts, seconds, of_a_page):
    monkeypatch.setattr(harness, "starts", [0.0, *starts])
    assert (patience(), patience(60, 4)) == (seconds, of_a_page)


def test_an_app_that_has_started_tells_how_long_that_took(monkeypatch, tmp_path):
    monkeypatch.setattr(harness, "starts", [0.0])
    with App(
        tmp_path,
        command=[sys.executable, "-c", "print('It is served')"],
        ready="It is served",
    ):
        assert 0 < harness.starts[-1] < harness.LONGEST_START


def test_the_tests_that_were_tried_on_faults_are_there():
    named = re.findall(
        r"`((?:tests|xformer/parts)/[\w/]+\.py)` `(\w+)`",
        (ROOT / "tests" / "FAULTS.md").read_text(encoding="utf-8"),
    )
    assert len(named) >= 40
    assert not [
        f"{file} {test}"
        for file, test in named
        if (ROOT / file).parent.is_dir()  # else the part has been taken out
        and f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
