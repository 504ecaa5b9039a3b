"""README and docs are true: their files are there, their commands are commands, and
figures are those of the data."""

import json
import lzma
import re
import shlex
from pathlib import Path

import pytest

from benchmarks import documents
from xformer.__main__ import parser
from xformer.hub import checkpoint

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "checkpoints" / "en-es"
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
# The log tells of commands as they were on their day.
COMMANDS = sorted(
    {
        command
        for path, text in TEXTS.items()
        if path.name != "LOG.md"
        for command in re.findall(
            r"-m xformer ([^|#\n`…]+)", re.sub(r"\\\n\s*", "", text)
        )
    }
)
LINKS = [
    path.parent / link
    for path, text in TEXTS.items()
    for link in re.findall(r"\]\(([^)#]+)", text)
    if "://" not in link
]
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_what_is_linked_is_there():
    assert not [link for link in LINKS if not link.exists()]


def test_every_document_is_linked_from_the_readme():
    assert {path.name for path in DOCUMENTS[1:]} <= {
        Path(link).name for link in re.findall(r"\]\(([^)]+)\)", README)
    }


def test_the_readme_is_read_in_one_sitting():
    assert len(README.encode()) < 9_000


def test_scores_in_the_documents_are_those_of_the_checkpoints():
    """Where they are not, `python -m benchmarks.documents` writes them. All of
    metrics.json is of the weights that ship."""
    identity = checkpoint.examine(SHIPPED).identity
    found = documents.read("en-es")
    assert {one["identity"] for one in (*found["scores"], found["guesses"])} == {
        identity
    }
    other = [
        name
        for name, text in documents.documents().items()
        if text != (ROOT / name).read_text(encoding="utf-8")
    ]
    assert not other, "call python -m benchmarks.documents"


@pytest.mark.parametrize(
    ("template", "values", "text", "filled"),
    [
        (
            "{bleu:.1f} BLEU on {pairs:,} pairs",
            {"bleu": 50.35, "pairs": 10000},
            "It has 9.9 BLEU on\n9,999 pairs.",
            "It has 50.4 BLEU on\n10,000 pairs.",
        ),
        (
            "parameters, {identity})",
            {"identity": "0badc0ffee00"},
            "(5 parameters, aaf76f63f7c2)",
            "(5 parameters, 0badc0ffee00)",
        ),
    ],
)
def test_a_score_is_written_where_another_stands(template, values, text, filled):
    assert (
        documents.written(text, template, values)
        == documents.written(filled, template, values)
        == filled
    )
    with pytest.raises(LookupError, match="this stands nowhere"):
        documents.written("nothing of the kind", template, values)


def test_the_score_without_shared_pairs_is_the_same_wherever_it_stands():
    """The evaluation that leaves pairs out is not kept in metrics.json; the tables have
    it."""
    row = r"the same without the (\d+) pairs .*? \| [\d,]+ \| ([\d.]+) \|"
    found = {
        re.search(row, (ROOT / name).read_text(encoding="utf-8")).groups()
        for name in ("docs/RESULTS.md", "checkpoints/en-es/README.md")
    }
    ((pairs, bleu),) = found
    assert (
        f"{pairs} pairs of the Tatoeba test share a sentence with pairs written for training; without them the "
        f"score is {bleu}." in " ".join(README.split())
    )


@pytest.mark.parametrize(
    ("engine", "row"),
    [
        ("this engine, than CTranslate2 float32", "CTranslate2, float32"),
        ("this engine int8, than CTranslate2 int8", "both in 8 bits"),
    ],
)
def test_the_speed_is_told_as_the_range_over_the_processors_that_were_measured(
    engine, row
):
    section = (
        TEXTS[ROOT / "docs" / "SPEED.md"]
        .split("### The engine that ships")[1]
        .split("\n### ")[0]
    )
    measured = [
        line.split(" | ")[1:]
        for line in section.splitlines()
        if line.startswith(f"| {engine} |")
    ]
    assert len(measured) == 2, "with AVX-512 and without"
    said = []
    for column in (1, 3):  # beam 5: of one sentence, and of 32
        lowest, highest = sorted(cells[column].strip(" |") for cells in measured)
        said.append(lowest if lowest == highest else f"{lowest} to {highest}")
    assert f"| {row} | {said[0]} | {said[1]} |" in README
    results = " ".join(TEXTS[ROOT / "docs" / "RESULTS.md"].split())
    assert all(number.strip(" |") in results for cells in measured for number in cells)


@pytest.mark.parametrize("name", ["gru", "gru-attention", "post-norm", "pre-norm"])
def test_a_small_model_is_made_with_the_vocabulary_that_it_has(name):
    card = (ROOT / "checkpoints" / name / "README.md").read_text(encoding="utf-8")
    for text, command in (
        (TEXTS[ROOT / "docs" / "TRAINING.md"], "study generations"),
        (card, f"--out {name}"),
    ):
        (recipe,) = {*re.findall(rf"{command} .*?--vocabulary (\S+)", text, re.DOTALL)}
        assert (ROOT / recipe / "tokenizer.model").read_bytes() == (
            ROOT / "checkpoints" / name / "tokenizer.model"
        ).read_bytes()
    pieces = json.loads(
        (ROOT / "checkpoints" / name / "config.json").read_text(encoding="utf-8")
    )["vocab_size"]
    assert f"; {pieces:,} joint SentencePiece pieces" in card


def test_pairs_that_come_with_the_program_are_counted():
    text = TEXTS[ROOT / "docs" / "TRAINING.md"]
    with lzma.open(
        ROOT / "xformer" / "training" / "data" / "written.tsv.xz",
        "rt",
        encoding="utf-8",
    ) as file:
        marks = [line.rstrip("\n").split("\t")[2] for line in file]
    found = re.search(
        r"program: ([\d,]+) pairs.*?([\d,]+) of them, marked.*?([\d,]+) sentences are for words.*?"
        r"and ([\d,]+) words such as.*?"
        r"Of the others ([\d,]+) are in.*?and\s+([\d,]+) are everyday",
        text,
        re.DOTALL,
    )
    whole, entries, first, words, register, everyday = (
        int(number.replace(",", "")) for number in found.groups()
    )
    assert whole == len(
        marks
    ) == entries + first + words + register + everyday and entries == marks.count(
        "entry"
    )


def test_the_hours_of_training_are_the_sum_of_its_minutes():
    card = (ROOT / "checkpoints" / "en-es" / "README.md").read_text(encoding="utf-8")
    told = (
        " ".join(card.split())
        .split("busy cores of an AMD EPYC machine: ")[1]
        .split("Weights are exponential")[0]
    )
    told = re.sub(
        r"\([^)]*\)|[\d,]+ (steps|full epochs)|on both its threads|on (one|two) cores?",
        "",
        told,
    )
    minutes = sum(map(int, re.findall(r"\d+", told)))
    assert round(minutes / 60) == 24
    for text in (card, TEXTS[ROOT / "docs" / "RESULTS.md"]):
        assert "for about 24 hours" in " ".join(text.split())


def test_make_knows_its_targets():
    named = {
        found[1] or found[2]
        for text in TEXTS.values()
        for found in re.finditer(r"`make (\w+)`|^make (\w+) ", text, re.M)
    }
    assert named and not [
        target for target in named if not re.search(rf"^{target}:", MAKE, re.MULTILINE)
    ]


def test_commands_are_understood():
    for command in COMMANDS:
        if len(command.split()) > 2:
            parser().parse_args(
                [word.replace("FILE.tsv", "file.tsv") for word in shlex.split(command)]
            )


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "docs" / "ARCHITECTURE.md"],
    ids=lambda path: path.name,
)
def test_the_map_names_every_module_and_room(path):
    for part in (ROOT / "xformer").iterdir():
        if (
            part.suffix == ".py" or (part / "__init__.py").is_file()
        ) and not part.name.startswith("__"):
            assert f"{part.name}{'' if part.suffix else '/'}" in TEXTS[path], (
                f"{part.name} is not on the map"
            )


def drawn(text):
    """The paths that the drawing of the tree has in its first column; and what its
    remarks name, with where to look."""
    [drawing] = re.findall(r"^```\n(app\.py.*?)^```", text, re.MULTILINE | re.DOTALL)
    places = set()
    named = []
    folders = []
    for line in drawing.splitlines():
        column, _, remark = line.strip().partition("  ")
        folders = folders[: (len(line) - len(line.lstrip())) // 2]
        here = {"".join([*folders, name]) for name in column.split()}
        places |= here
        named += [
            (name, ["", "xformer/", *here])
            for name in re.findall(r"[\w/]+(?:\.py\b|/(?=[ ,;:)]|$))", remark)
        ]
        folders.append(column)
    return places, named


def test_the_drawing_of_the_architecture_is_the_tree():
    places, named = drawn(TEXTS[ROOT / "docs" / "ARCHITECTURE.md"])
    assert not [
        name
        for name in places
        if not (
            (ROOT / name).is_dir() if name.endswith("/") else (ROOT / name).is_file()
        )
    ]
    assert not [
        name
        for name, bases in named
        if not any((ROOT / base / name).exists() for base in bases)
    ]


@pytest.mark.parametrize("folder", ["xformer/", "xformer/ui/"])
def test_the_drawing_has_every_module_and_folder(folder):
    places, _ = drawn(TEXTS[ROOT / "docs" / "ARCHITECTURE.md"])
    tree = {
        f"{folder}{part.name}{'' if part.suffix else '/'}"
        for part in (ROOT / folder).iterdir()
        if (part.suffix == ".py" or (part / "__init__.py").is_file())
        and not part.name.startswith("__")
    }
    assert tree == {
        name
        for name in places
        if name.startswith(folder)
        and "/" not in name[len(folder) : -1]
        and name != folder
    }


def test_the_readme_says_what_the_rooms_of_the_page_are():
    [row] = [
        line for line in README.splitlines() if line.startswith("| `xformer/ui/` |")
    ]
    assert {f"{name}.py" for name in re.findall(r"`(\w+)`", row)} <= {
        path.name for path in (ROOT / "xformer" / "ui").glob("*.py")
    } and "`server/`" in row
