"""What tests themselves may not do: sleep, and be tried again without a reason."""

import ast
from types import SimpleNamespace

import pytest

from tests.conftest import check_reruns
from tests.harness import ROOT, wait_until

WAITS = {"harness.py", "test_killed_copy.py"}  # `wait_until`, and where Playwright has to wait in its place


def names(node):
    """The names of what is called anywhere inside of a piece of a program."""
    return {one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            for one in ast.walk(node) if isinstance(one, ast.Call)}


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.stem)
def test_no_test_sleeps_or_turns_in_a_loop_that_does_nothing(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not names(tree) & {"sleep", "wait_for_timeout"} or path.name in WAITS
    for loop in ast.walk(tree):
        if isinstance(loop, ast.While) and all(isinstance(one, ast.Pass) for one in loop.body):
            assert "wait" in names(loop.test), f"line {loop.lineno}"


def test_waiting_ends_with_the_first_true_answer_or_in_time():
    answers = iter([None, 0, "there"])
    assert wait_until(lambda: next(answers), pause=lambda seconds: None) == "there"
    with pytest.raises(AssertionError, match="it has not happened in 0 s"):
        wait_until(lambda: False, 0, pause=lambda seconds: None)


@pytest.mark.parametrize(("mark", "refused"), [
    (pytest.mark.flaky, True), (pytest.mark.flaky(reruns=1), True), (pytest.mark.flaky(reruns=1, reason=" "), True),
    (pytest.mark.flaky(reruns=1, reason="its clock is that of the machine"), False)])
def test_a_test_is_tried_again_only_where_its_mark_says_why(mark, refused):
    item = SimpleNamespace(nodeid="tests/test_one.py::test_one", iter_markers=lambda name: [mark.mark])
    if refused:
        with pytest.raises(pytest.UsageError, match="test_one is tried again after a failure; say why"):
            check_reruns([item])
    else:
        check_reruns([item])
