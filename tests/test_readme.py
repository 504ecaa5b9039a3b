"""README and docs are true: their files are there, their commands are commands, and figures are those of the data."""

import json
import lzma
import re
import shlex
from pathlib import Path

import pytest

from xformer.__main__ import parser
from xformer.hub import checkpoint

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "checkpoints" / "en-es"
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
# The log tells of commands as they were on their day.
COMMANDS = sorted({command for path, text in TEXTS.items() if path.name != "LOG.md"
                   for command in re.findall(r"-m xformer ([^|#\n`…]+)", re.sub(r"\\\n\s*", "", text))})
LINKS = [pytest.param(path.parent / link, id=f"{path.name} {link}") for path, text in TEXTS.items()
         for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("link", LINKS)
def test_what_is_linked_is_there(link):
    assert link.exists()


def test_every_document_is_linked_from_the_readme():
    assert {path.name for path in DOCUMENTS[1:]} <= {Path(link).name for link in re.findall(r"\]\(([^)]+)\)", README)}


def test_the_readme_is_read_in_one_sitting():
    assert len(README.encode()) < 9_000


def metrics(name):
    return json.loads((ROOT / "checkpoints" / name / "metrics.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["gru-attention", "post-norm", "pre-norm"])
def test_alignment_errors_are_those_of_the_checkpoints(name):
    rates = metrics(name)["alignment"]["alignment_error_rate"]
    least = f"{min(rate for reading in rates.values() for layer in reading for rate in layer):.3f}"
    (row,) = (line for line in TEXTS[ROOT / "docs" / "TRAINING.md"].splitlines() if line.startswith(f"| `{name}`"))
    assert row.split("|")[-2].strip() == least
    assert f" {least} on 40" in (ROOT / "checkpoints" / name / "README.md").read_text(encoding="utf-8")


def scores_said():
    """A document, and a sentence or row that must stand there by the metrics.json and config.json of `en-es`."""
    found, config = metrics("en-es"), json.loads((SHIPPED / "config.json").read_text(encoding="utf-8"))
    of = {(one["set"], one["beam"], one["plain"], one["lowercase"]): one for one in found["scores"]}
    tatoeba, flores = (of[name, 5, False, False] for name in ("tatoeba-test-v2020-07-28", "flores200-dev"))
    rates = found["alignment"]["alignment_error_rate"]
    least, layer, head = min((rate, layer, head) for reading in rates.values() for layer, rates in enumerate(reading, 1)
                             for head, rate in enumerate(rates, 1))
    summary = checkpoint.examine(SHIPPED)
    yield "README.md", f"{summary.parameters / 1e6:.1f} M parameters | Tatoeba test"
    yield "README.md", f"Tatoeba test v2020-07-28, {tatoeba['sentences']:,} pairs | **{tatoeba['bleu']:.1f} BLEU**"
    yield "README.md", f"FLORES-200 dev, {flores['sentences']:,} long sentences | {flores['bleu']:.1f} BLEU"
    yield "README.md", f"40 sentences aligned by hand | {least:.3f} error rate"
    yield "docs/TRAINING.md", f"{20 * summary.parameters / 1e6:.0f} MB for {summary.parameters:,} parameters"
    guesses = found["guesses"]
    for name in ("docs/RESULTS.md", "checkpoints/en-es/README.md"):
        yield name, f"{summary.parameters:,} parameters"
        yield name, summary.identity
        yield name, f"layer {layer}, head {head}, alignment error rate {least:.3f}"
        yield name, (f"below {guesses['bound']} nats a piece: {guesses['marked']} of {guesses['sentences']:,} of dev, "
                     f"{guesses['caught']} of the {guesses['wrong']} whose chrF is below {guesses['least']:g}")
        for (dataset, beam, plain, lowercase), one in of.items():
            flags = "".join(flag * on for flag, on in ((" --beam 1", beam == 1), (" --plain", plain),
                                                       (" --lowercase", lowercase)))
            bleu = f"{one['bleu']:g}"
            yield name, (f"| `--pairs {dataset}.tsv{flags}` | {one['sentences']:,} | "
                         f"{f'**{bleu}**' if one is tatoeba else bleu} | {one['chrf']:g} |")
    yield "checkpoints/en-es/README.md", f"{config['vocab_size']:,} joint SentencePiece pieces"


def test_scores_in_the_documents_are_those_of_the_checkpoint():
    """Whoever commits other weights reads here what to change. All of metrics.json is of the weights that ship."""
    identity = checkpoint.examine(SHIPPED).identity
    assert {one["identity"] for one in (*metrics("en-es")["scores"], metrics("en-es")["guesses"])} == {identity}
    missing = [f"{name}: {text}" for name, text in scores_said()
               if text not in " ".join((ROOT / name).read_text(encoding="utf-8").split())]
    assert not missing, "these should stand there:\n" + "\n".join(missing)


def test_the_score_without_shared_pairs_is_the_same_wherever_it_stands():
    """The evaluation that leaves pairs out is not kept in metrics.json; the tables have it."""
    row = r"the same without the (\d+) pairs .*? \| [\d,]+ \| ([\d.]+) \|"
    found = {re.search(row, (ROOT / name).read_text(encoding="utf-8")).groups()
             for name in ("docs/RESULTS.md", "checkpoints/en-es/README.md")}
    (pairs, bleu), = found
    assert f"{pairs} pairs of the Tatoeba test share a sentence with pairs written for training; without them the " \
           f"score is {bleu}." in " ".join(README.split())


@pytest.mark.parametrize("name", ["gru", "gru-attention", "post-norm", "pre-norm"])
def test_a_small_model_is_made_with_the_vocabulary_that_it_has(name):
    card = (ROOT / "checkpoints" / name / "README.md").read_text(encoding="utf-8")
    for text, command in ((TEXTS[ROOT / "docs" / "TRAINING.md"], "study generations"), (card, f"--out {name}")):
        (recipe,) = {*re.findall(rf"{command} .*?--vocabulary (\S+)", text, re.DOTALL)}
        assert (ROOT / recipe / "tokenizer.model").read_bytes() == (
            ROOT / "checkpoints" / name / "tokenizer.model").read_bytes()
    pieces = json.loads((ROOT / "checkpoints" / name / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    assert f"; {pieces:,} joint SentencePiece pieces" in card


def test_scores_by_length_are_those_of_the_checkpoint():
    said = " ".join(TEXTS[ROOT / "docs" / "RESULTS.md"].split())
    *shorter, last = metrics("en-es")["lengths"]["buckets"]
    assert all(f"{one['bleu']:.1f}" + " BLEU" * (i == 0) + f" up to {one['last']}" in said
               for i, one in enumerate(shorter))
    assert f"and {last['bleu']:.1f} above ({last['sentences']} sentences)" in said


def test_pairs_that_come_with_the_program_are_counted():
    text = TEXTS[ROOT / "docs" / "TRAINING.md"]
    with lzma.open(ROOT / "xformer" / "training" / "data" / "written.tsv.xz", "rt", encoding="utf-8") as file:
        marks = [line.rstrip("\n").split("\t")[2] for line in file]
    found = re.search(r"program: ([\d,]+) pairs.*?([\d,]+) of them, marked.*?([\d,]+) sentences are for words.*?"
                      r"and ([\d,]+) words such as.*?"
                      r"Of the others ([\d,]+) are in.*?and\s+([\d,]+) are everyday", text, re.DOTALL)
    whole, entries, first, words, register, everyday = (int(number.replace(",", "")) for number in found.groups())
    assert whole == len(marks) == entries + first + words + register + everyday and entries == marks.count("entry")


def test_the_hours_of_training_are_the_sum_of_its_minutes():
    card = (ROOT / "checkpoints" / "en-es" / "README.md").read_text(encoding="utf-8")
    told = " ".join(card.split()).split("busy cores of an AMD EPYC machine: ")[1].split("Weights are exponential")[0]
    told = re.sub(r"\([^)]*\)|[\d,]+ (steps|full epochs)|on both its threads|on (one|two) cores?", "", told)
    minutes = sum(map(int, re.findall(r"\d+", told)))
    assert round(minutes / 60) == 24
    for text in (card, TEXTS[ROOT / "docs" / "RESULTS.md"]):
        assert "for about 24 hours" in " ".join(text.split())


@pytest.mark.parametrize("target", sorted({target for text in TEXTS.values()
                                           for target in re.findall(r"`make (\w+)`|^make (\w+) ", text, re.M)
                                           for target in target if target}))
def test_make_knows_its_targets(target):
    assert re.search(rf"^{target}:", MAKE, re.MULTILINE)


@pytest.mark.parametrize("command", [c for c in COMMANDS if len(c.split()) > 2])
def test_commands_are_understood(command):
    parser().parse_args([word.replace("FILE.tsv", "file.tsv") for word in shlex.split(command)])


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs" / "ARCHITECTURE.md"], ids=lambda path: path.name)
def test_the_map_names_every_module_and_room(path):
    for part in (ROOT / "xformer").iterdir():
        if (part.suffix == ".py" or (part / "__init__.py").is_file()) and not part.name.startswith("__"):
            assert f"{part.name}{'' if part.suffix else '/'}" in TEXTS[path], f"{part.name} is not on the map"


def drawn(text):
    """The paths that the drawing of the tree has in its first column; and what its remarks name, with where to look."""
    [drawing] = re.findall(r"^```\n(app\.py.*?)^```", text, re.MULTILINE | re.DOTALL)
    places, named, folders = set(), [], []
    for line in drawing.splitlines():
        column, _, remark = line.strip().partition("  ")
        folders = folders[:(len(line) - len(line.lstrip())) // 2]
        here = {"".join([*folders, name]) for name in column.split()}
        places |= here
        named += [(name, ["", "xformer/", *here]) for name in re.findall(r"[\w/]+(?:\.py\b|/(?=[ ,;:)]|$))", remark)]
        folders.append(column)
    return places, named


def test_the_drawing_of_the_architecture_is_the_tree():
    places, named = drawn(TEXTS[ROOT / "docs" / "ARCHITECTURE.md"])
    assert not [name for name in places if not (
        (ROOT / name).is_dir() if name.endswith("/") else (ROOT / name).is_file())]
    assert not [name for name, bases in named if not any((ROOT / base / name).exists() for base in bases)]


@pytest.mark.parametrize("folder", ["xformer/", "xformer/ui/"])
def test_the_drawing_has_every_module_and_folder(folder):
    places, _ = drawn(TEXTS[ROOT / "docs" / "ARCHITECTURE.md"])
    tree = {f"{folder}{part.name}{'' if part.suffix else '/'}" for part in (ROOT / folder).iterdir()
            if (part.suffix == ".py" or (part / "__init__.py").is_file()) and not part.name.startswith("__")}
    assert tree == {name for name in places if name.startswith(folder) and "/" not in name[len(folder):-1]
                    and name != folder}


def test_the_readme_says_what_the_rooms_of_the_page_are():
    [row] = [line for line in README.splitlines() if line.startswith("| `xformer/ui/` |")]
    assert {f"{name}.py" for name in re.findall(r"`(\w+)`", row)} <= {path.name for path in (
        ROOT / "xformer" / "ui").glob("*.py")} and "`server/`" in row
