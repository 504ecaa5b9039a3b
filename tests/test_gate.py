"""The test command, on folders of a few tests: what is tried again, what is not, and
what is told of it."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.fixtures import longest_first
from tests.gate import Failure, Record, file_of, folder_of, measure
from tests.harness import ROOT

# Tests that take more than two seconds beside others and are no journeys, and why they
# may.
MAY_TAKE_LONG = {
    "tests/scripts/test_markup_script.py::test_no_element_comes_of_it":
        "every component, one after the other",
    "xformer/parts/positions/test_positions_script.py::test_the_table_is_drawn_with_its_colours_and_named_by_its_size":
        "a table of two thousand cells, twice",
    "tests/test_attribution.py::test_two_thousand_words_are_explained_and_progress_is_told":
        "the longest text",
    "tests/test_command_line.py::test_a_reader_that_goes_away_is_no_stack_trace":
        "commands in processes that are not forked",
    "tests/test_command_line.py::test_other_bytes_than_utf_8_are_refused_in_the_c_locale":
        "commands in processes that are not forked",
    "tests/test_engine.py::test_an_engine_answers_every_question_as_a_service_here":
        "every question, twice",
    "tests/test_hub.py::test_what_is_pushed_is_pulled_then_cached_then_there_without_a_network":
        "several commands, each of which loads the Hub's client",
    "tests/test_hub.py::test_who_may_see_what":
        "several commands, each of which loads the Hub's client",
    "tests/test_imported.py::test_a_model_that_writes_several_languages_has_a_menu_of_them":
        "the page laid out several times",
    "tests/test_imported.py::test_faults_of_repositories_are_sentences":
        "several commands, each of which loads the Hub's client",
    "tests/test_imported.py::test_the_proposal_of_safe_weights_is_found_and_pinned":
        "several commands, each of which loads the Hub's client",
    "tests/test_lessons.py::test_every_question_has_a_right_and_a_wrong_answer_on_the_models_that_ship":
        "the models that ship",
    "xformer/parts/live/test_live.py::test_a_seed_gives_the_same_run_beside_others":
        "several runs at the same time",
    "xformer/parts/live/test_live.py::test_one_visitor_behind_ten_who_listen_slowly_has_a_frame_at_the_next_turn":
        "several runs at the same time",
    "tests/test_odd_values.py::test_every_listener_answers_an_odd_value_in_a_sentence":
        "every listener of the page",
    "tests/test_pictures.py::test_the_tabs_are_laid_out_in_any_order":
        "the page laid out several times",
    "tests/test_pool.py::test_ten_switches_under_load_lose_no_request":
        "many requests under load",
    "xformer/parts/reading/test_reading.py::test_the_controls_are_in_the_address":
        "the page laid out several times",
    "tests/test_recurrent.py::test_the_pool_offers_recurrent_models_and_the_page_opens_with_them":
        "the page laid out several times",
    "tests/test_rerank.py::test_the_commands_rank_too":
        "several commands",
    "tests/test_safety.py::test_markup_that_is_typed_stays_text_and_is_neither_logged_nor_kept":
        "every handler of the page",
    "tests/test_safety.py::test_no_file_of_the_project_is_served":
        "every file of the project, twice",
    "tests/test_safety.py::test_what_fails_inside_is_told_to_nobody_outside":
        "every handler of the page",
    "tests/test_shipped.py::test_what_is_typed_with_capitals_or_a_full_stop_is_the_same_word":
        "the models that ship",
    "tests/test_shipped.py::test_words_and_phrases_come_out_as_a_dictionary_has_them":
        "the models that ship",
    "tests/test_space.py::test_a_token_is_needed":
        "several commands, each of which loads the Hub's client",
    "tests/test_space.py::test_the_generations_go_with_the_model_that_ships":
        "the models that ship",
    "tests/test_transfer.py::test_a_slow_fetch_that_comes_forward_is_waited_for":
        "a server that sends slowly",
    "tests/test_translation.py::test_any_text_gets_a_translation_or_one_sentence":
        "a hundred texts that are made up"}  # fmt: skip

PASSES = "def test_one():\n    pass\n"
FAILS = "def test_one():\n    assert 1 == 2\n"
UNFOUND = "import no_such_module\n"

# A test that fails as long as it has been run less often than so many times.
FAILS_TIMES = """
from pathlib import Path

def test_one():
    runs = Path(__file__).with_suffix(".runs")
    with runs.open("a") as file:
        file.write("x")
    assert len(runs.read_text()) > {}
"""

# A fixture that complains at the end of the last test of its file, and only where that
# test is not alone.
COMPLAINS = """
import pytest

@pytest.fixture(scope="module")
def seen():
    found = []
    yield found
    assert len(found) < 2

def test_one(seen):
    seen.append(1)

def test_two(seen):
    seen.append(2)
"""


# Plugins that these tests do not need take longer to load than they take to run.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "xdist.plugin",
}
IN_TWO = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]


@pytest.fixture
def gate(tmp_path):
    """`gate(files, *arguments)` runs the tests of some files; a journey is one in
    journeys/."""

    def run(files, *arguments):
        for name, text in {"pytest.ini": "[pytest]\n", **files}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "tests.gate", "--journeys", "journeys", *arguments],
            cwd=tmp_path,
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def written(tmp_path):
    path = tmp_path / "test-results" / "second-try.md"
    return path.read_text() if path.is_file() else None


def runs(tmp_path):
    """How often each test that counts has been run."""
    return {path.stem: len(path.read_text()) for path in tmp_path.rglob("*.runs")}


@pytest.mark.slow
def test_a_journey_that_passes_when_tried_again_is_no_failure_but_is_told(
    gate, tmp_path
):
    ran = gate(
        {"journeys/test_a.py": FAILS_TIMES.format(1), "test_b.py": PASSES}, *IN_TWO
    )
    assert ran.returncode == 0, ran.stdout
    told, where = ran.stdout.splitlines()[-2:]
    assert told.startswith(
        "Passed when tried again: journeys/test_a.py::test_one (load average "
    )
    assert where == "Why they failed: test-results/second-try.md"
    text = written(tmp_path)
    assert told in text and "    E       AssertionError: assert 1 > 1" in text
    assert runs(tmp_path) == {"test_a": 2}


@pytest.mark.slow
def test_a_journey_that_fails_twice_is_a_failure(gate, tmp_path):
    ran = gate(
        {
            "journeys/test_a.py": FAILS_TIMES.format(2),
            "journeys/test_b.py": FAILS_TIMES.format(1),
        }
    )
    assert ran.returncode == 1
    assert runs(tmp_path) == {"test_a": 2, "test_b": 2}
    text = written(tmp_path)
    assert "Failed when tried again: journeys/test_a.py" in text
    assert "Passed when tried again: journeys/test_b.py" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("others", "arguments", "status"),
    [
        ({"test_b.py": FAILS}, IN_TWO, 1),
        ({"journeys/test_b.py": UNFOUND}, IN_TWO, 1),
        ({"journeys/test_b.py": UNFOUND}, ["--continue-on-collection-errors"], 1),
        ({"journeys/test_b.py": UNFOUND}, [], 2),
        ({f"journeys/test_{number}.py": FAILS for number in range(5)}, [], 1),
        ({"test_b.py": PASSES}, ["-x"], 1),
    ],
    ids=[
        "no journey",
        "one not read, in two",
        "one not read, gone on",
        "one not read",
        "six",
        "stopped",
    ],
)
def test_nothing_is_tried_again_where_more_is_wrong(
    gate, tmp_path, others, arguments, status
):
    ran = gate({"journeys/test_a.py": FAILS_TIMES.format(1), **others}, *arguments)
    assert ran.returncode == status, ran.stdout
    assert set(runs(tmp_path).values()) <= {1} and written(tmp_path) is None
    assert "tried again" not in ran.stdout


@pytest.mark.slow
def test_what_complains_at_the_end_of_a_file_is_tried_again_with_all_of_it(
    gate, tmp_path
):
    ran = gate({"journeys/test_a.py": COMPLAINS})
    assert ran.returncode == 1
    assert "Failed when tried again: journeys/test_a.py::test_two" in written(tmp_path)


@pytest.mark.slow
def test_what_is_wrong_with_the_arguments_is_told_as_pytest_does(gate):
    assert gate({"test_a.py": PASSES}, "--no-such-option").returncode == 4
    assert gate({}, "-k", "none").returncode == 5


@pytest.mark.slow
@pytest.mark.parametrize("status", [0, 3])
def test_the_command_beside_the_tests_is_told_and_has_to_succeed(gate, status):
    beside = f"{sys.executable} -c 'print(\"of types\"); raise SystemExit({status})'"
    ran = gate({"test_a.py": PASSES}, "--beside", beside)
    assert ran.returncode == status and ran.stdout.endswith("of types\n")


def report(test, when="call", failed=False, seconds=1.0):
    return SimpleNamespace(
        nodeid=test, when=when, failed=failed, duration=seconds, longreprtext="why"
    )


def test_the_seconds_of_files_are_noted_beside_those_that_are_known(tmp_path):
    (tmp_path / "tests").mkdir()
    for name in ("test_new.py", "test_known.py"):
        (tmp_path / "tests" / name).touch()
    seconds = tmp_path / "tests" / "seconds.json"
    seconds.write_text(
        json.dumps(
            {
                "tests/test_known.py": 3.0,
                "tests/test_known.py::test_one": 2.1,
                "tests/test_gone.py": 4.0,
                "tests/test_new.py::test_one": 2.2,
            }
        )
    )
    record = Record()
    record.root = tmp_path
    for when in ("setup", "call", "teardown"):
        record.pytest_runtest_logreport(
            report("tests/test_new.py::test_one", when, seconds=0.51)
        )
    record.pytest_runtest_logreport(report("tests/test_new.py::test_two", seconds=2.51))
    measure(record)
    assert json.loads(seconds.read_text()) == {
        "tests/test_known.py": 3.0,
        "tests/test_known.py::test_one": 2.1,
        "tests/test_new.py": 4.0,
        "tests/test_new.py::test_two": 2.5,
    }


def test_the_files_that_take_longest_come_first_and_their_tests_stay_in_order():
    names = [
        "a.py::test_2",
        "a.py::test_1",
        "b.py::test_1",
        "unknown.py::test_1",
        "c.py::test_1",
    ]
    items = [SimpleNamespace(nodeid=name) for name in names]
    longest_first(items, {"a.py": 10, "b.py": 90, "c.py": 20})
    assert [item.nodeid for item in items] == [names[2], names[3], names[4], *names[:2]]


def test_the_seconds_are_of_files_that_are_there():
    """Or were, beside a part that has been taken out."""
    known = json.loads((ROOT / "tests" / "seconds.json").read_text())
    files = [ROOT / file_of(name) for name in known]
    assert files and all(file.is_file() for file in files if file.parent.is_dir())


def test_no_test_takes_long_but_for_journeys_and_what_is_said_why():
    """As they were measured last."""
    known = json.loads((ROOT / "tests" / "seconds.json").read_text())
    slow = {
        name.partition("[")[0]
        for name in known
        if name != file_of(name) and not name.startswith("tests/browser/")
    }
    assert slow <= {*MAY_TAKE_LONG}


def test_what_a_journey_left_is_named_where_its_failure_is_written(tmp_path):
    test = "tests/browser/test_a.py::test_one[wide]"
    left = folder_of(test, tmp_path)
    left.mkdir(parents=True)
    (left / "page-1.png").touch()
    (left / "page-1.json").write_text('{"requests": ["translate"]}')
    text = Failure(test, test, 2.5, ["one\n\ntwo"], load_then=1.5).written(tmp_path)
    assert (
        'page-1 waited for: `{"requests": ["translate"]}`' in text
        and "    one\n\n    two" in text
    )
    assert "\n\ntest-results/browser-test_a.py-test_one-wide/page-1.png\n\n" in text
