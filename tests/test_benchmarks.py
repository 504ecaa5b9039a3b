"""`make bench` measures what can be measured on this machine."""

import sys

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import harness

# of which the soak is none: `make night` runs it
ALL = ["translation", "load", "opening", "finger", "shifts", "pictures"]


@pytest.mark.parametrize(
    ("missing", "left_out"),
    [
        ("chromium", ["pictures", "opening", "finger", "shifts"]),
        ("npm", ["pictures"]),
    ],
)
def test_only_what_needs_a_program_is_left_out_where_there_is_none(
    monkeypatch, capsys, missing, left_out
):
    monkeypatch.setattr(
        benchmarks.pictures,
        "CHROMIUM",
        None if missing == "chromium" else "/usr/bin/chromium",
    )
    monkeypatch.setattr(
        benchmarks.shutil,
        "which",
        lambda name: None if name == missing else f"/usr/bin/{name}",
    )
    assert benchmarks.chosen(None) == [name for name in ALL if name not in left_out]
    said = capsys.readouterr()
    assert (
        said.out == ""
        and [line.split()[1] for line in said.err.splitlines()] == left_out
    )
    assert benchmarks.chosen("soak") == ["soak"] and capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--only", left_out[0]])
    assert benchmarks.main() == 1


def test_the_machine_is_told_with_its_instructions(monkeypatch):
    said = "model name\t: Some CPU\nflags\t\t: fpu avx2 avx512_vnni\nmodel name\t: Some CPU\nflags\t\t: fpu avx2\n"
    monkeypatch.setattr(harness.Path, "is_file", lambda path: True)
    monkeypatch.setattr(harness.Path, "read_text", lambda path: said)
    assert harness.machine().startswith("Some CPU (avx2, avx512_vnni), ")


def test_all_are_chosen_where_everything_is_there(monkeypatch):
    monkeypatch.setattr(benchmarks.pictures, "CHROMIUM", "/usr/bin/chromium")
    monkeypatch.setattr(benchmarks.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert benchmarks.chosen(None) == ALL
