"""What `make test` runs: the tests once, and a second time the few journeys through the
page that failed.

    python -m tests.gate [--beside COMMAND] [--journeys FOLDER] [--measure] [arguments
    of pytest]

How a journey ends may depend on how busy the machine is. Where nothing failed but
journeys, and few of them, each is run again alone, with a page and a server of its own.
What passes then is no failure; it is told last, and written to
test-results/second-try.md, since a journey that is found there again and again hides a
fault.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent

import pytest

# what each file of tests took in a whole run, and each test above SLOW
SECONDS = Path("tests", "seconds.json")
SLOW = 2  # seconds that a test may take that is no journey; CONTRIBUTING.md
# the variable that names the folder of what failed tests leave
RESULTS = "TEST_RESULTS"
MOST = 5  # journeys that are tried again; more do not fail because the machine is busy


def folder_of(test, root):
    """The folder of what a failed test leaves."""
    name = re.sub(r"[^\w.-]+", "-", test.removeprefix("tests/")).strip("-")
    return Path(root, os.environ.get(RESULTS, "test-results"), name[:200])


def file_of(test):
    """The file of a test, or of itself."""
    return test.partition("::")[0]


def load():
    """How many processes wanted a processor in the last minute, on average."""
    return round(os.getloadavg()[0], 1)


@dataclass
class Failure:
    """A test that failed. `again`: what is to be run again, the test or its file."""

    test: str
    again: str
    load: float
    texts: list = field(default_factory=list)
    passed: bool = False
    load_then: float = 0.0

    def told(self):
        """How the second try went, in a line."""
        return (
            f"{'Passed' if self.passed else 'Failed'} when tried again: {self.test} "
            f"(load average {self.load} when it failed, {self.load_then} then)"
        )

    def written(self, root):
        """The same with all that is known of the failure, in Markdown."""
        parts = [f"## {self.test}", self.told()]
        for path in sorted(folder_of(self.test, root).glob("*")):
            parts.append(
                f"{path.stem} waited for: `{path.read_text(encoding='utf-8')}`"
                if path.suffix == ".json"
                else str(path.relative_to(root))
            )
        return "\n\n".join([*parts, indent("\n".join(self.texts), " " * 4)])


class Record:
    """A plugin that notes what failed, whether the run came to its end, and the seconds
    of each file."""

    def __init__(self):
        self.root = Path.cwd()
        self.failures = {}
        self.seconds = Counter()
        self.whole = True  # whether each test was found and run

    def pytest_configure(self, config):
        self.root = config.rootpath
        self.marks = config.option.markexpr

    def pytest_collectreport(self, report):
        self.whole = self.whole and not report.failed

    def pytest_runtest_logreport(self, report):
        file = file_of(report.nodeid)
        self.seconds[file] += report.duration
        if report.when == "call" and report.duration > SLOW:
            self.seconds[report.nodeid] = report.duration
        if report.failed:
            failure = self.failures.setdefault(
                report.nodeid, Failure(report.nodeid, report.nodeid, load())
            )
            failure.texts.append(report.longreprtext)
            # what is shared by tests complains at the end of the last of them
            if report.when == "teardown":
                failure.again = file

    def pytest_sessionfinish(self, session):
        self.whole = self.whole and not session.shouldfail and not session.shouldstop

    def journeys(self, folder):
        """The failures that deserve a second try; none where anything else is wrong."""
        found = [*self.failures.values()]
        fair = (
            self.whole
            and len(found) <= MOST
            and all(one.test.startswith(f"{folder}/") for one in found)
        )
        return found if fair else []


def try_again(failure, record):
    """Run a test alone, in a process of its own."""
    marks = ["-m", record.marks] if record.marks else []
    failure.load_then = load()
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", *marks, failure.again],
        cwd=record.root,
        env={**os.environ, RESULTS: "test-results/second-try"},
        check=False,
    )
    failure.passed = ran.returncode == 0


def measure(record):
    """Note the seconds of the files that were run and of their slow tests, and forget
    those of files that are gone."""
    path = record.root / SECONDS
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known = {
        name: seconds
        for name, seconds in known.items()
        if file_of(name) not in record.seconds
    }
    known |= {name: round(seconds, 1) for name, seconds in record.seconds.items()}
    here = {
        name: known[name]
        for name in sorted(known)
        if (record.root / file_of(name)).is_file()
    }
    path.write_text(json.dumps(here, indent=1) + "\n", encoding="utf-8")


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python -m tests.gate",
        allow_abbrev=False,
        description="Run pytest, and a second time the few journeys that failed.",
    )
    parser.add_argument(
        "--beside",
        metavar="COMMAND",
        help="run this at the same time; it has to succeed too",
    )
    parser.add_argument(
        "--journeys",
        metavar="FOLDER",
        default="tests/browser",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help=f"note the seconds of each file in {SECONDS}",
    )
    return parser.parse_known_args(argv)


def main(argv=None):
    """Run everything; returns the exit code of pytest, or that of the command beside
    it."""
    given, others = arguments(argv)
    record = Record()
    shutil.rmtree("test-results", ignore_errors=True)
    # what one of many processes has compiled, others need not
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    beside = given.beside and subprocess.Popen(
        shlex.split(given.beside),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    status = int(pytest.main(others, plugins=[record]))
    if given.measure:
        measure(record)
    again = (
        record.journeys(given.journeys)
        if status == pytest.ExitCode.TESTS_FAILED
        else []
    )
    for failure in again:
        try_again(failure, record)
    if again and all(one.passed for one in again):
        status = 0
    if beside:
        print(f"\n{given.beside}:\n{beside.communicate()[0]}", end="")
        status = status or beside.returncode
    if again:
        path = record.root / "test-results" / "second-try.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            "\n\n".join(["# Tried again", *(one.written(record.root) for one in again)])
            + "\n",
            encoding="utf-8",
        )
        print(
            *(one.told() for one in again),
            f"Why they failed: {path.relative_to(record.root)}",
            sep="\n",
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
