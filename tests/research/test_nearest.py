"""The translations that a model finds itself, nearest to the references: which they
are, and the command for them."""

import lzma

import pytest
import sacrebleu
import torch

from research.__main__ import main
from research.data.nearest import nearest, nearest_pairs, nearness
from xformer.__main__ import main as xformer
from xformer.hub import checkpoint
from xformer.results import Options
from xformer.translator import translate_ids

REFERENCES = ["El gato duerme.", "La gata está dormida."]


def beam_of(loaded, english, beam):
    (hypotheses,) = translate_ids(
        loaded.model,
        [loaded.tokenizer.encode(english)],
        Options(beam=beam, n_best=beam),
    )
    return [loaded.tokenizer.decode(h.tokens) for h in hypotheses if h.finished]


@pytest.fixture
def data(tmp_path, learned_pairs):
    """A folder with the sentences that `tiny_checkpoint` knows, two references of the
    first, and one it never saw."""
    rows = [
        *learned_pairs,
        (learned_pairs[0][0], "El minino duerme."),
        ("Snow falls.", "Cae la nieve."),
    ]
    (tmp_path / "train.tsv").write_text(
        "".join(f"{e}\t{s}\n" for e, s in rows), encoding="utf-8"
    )
    return tmp_path


def made(folder):
    return [
        tuple(line.split("\t"))
        for line in lzma.decompress((folder / "nearest.tsv.xz").read_bytes())
        .decode()
        .splitlines()
    ]


def command(folder, model, *more):
    return [
        "data",
        "nearest",
        "--data",
        str(folder),
        "--checkpoint",
        str(model),
        "--device",
        "cpu",
        *map(str, more),
    ]


def test_nearness_is_the_mean_of_bleu_and_chrf_over_the_references():
    assert nearness("El gato duerme.", REFERENCES[:1]) == pytest.approx(100)
    each = [
        (
            sacrebleu.sentence_bleu(
                "El gato está dormido.", [r], use_effective_order=True
            ).score
            + sacrebleu.sentence_chrf("El gato está dormido.", [r]).score
        )
        / 2
        for r in REFERENCES
    ]
    assert each[0] != each[1]
    assert nearness("El gato está dormido.", REFERENCES) == pytest.approx(sum(each) / 2)
    assert nearness("xyz", REFERENCES) < 5


@pytest.mark.parametrize("references", [REFERENCES[:1], REFERENCES])
def test_the_nearest_is_what_a_search_through_all_finds(references):
    hypotheses = [
        "Un perro.",
        "La gata duerme.",
        "El gato duerme.",
        "El gato está dormido.",
    ]
    best, near = nearest(hypotheses, references)
    assert near == pytest.approx(max(nearness(h, references) for h in hypotheses))
    assert best == max(hypotheses, key=lambda h: nearness(h, references))


def test_a_sentence_has_the_nearest_of_its_beam(tiny_checkpoint, learned_pairs):
    """Asked for what it did not learn, the model still answers with one of its own."""
    loaded = checkpoint.load(tiny_checkpoint)
    wanted = {
        english: [learned_pairs[(i + 1) % 8][1]]
        for i, (english, _) in enumerate(learned_pairs)
    }
    pairs = dict(nearest_pairs(loaded.model, loaded.tokenizer, wanted, 4, 0))
    assert pairs.keys() == wanted.keys()
    for english, spanish in pairs.items():
        assert spanish == max(
            beam_of(loaded, english, 4),
            key=lambda text: nearness(text, wanted[english]),
        )
    assert any(
        spanish != beam_of(loaded, english, 4)[0] for english, spanish in pairs.items()
    )


def test_what_is_too_long_or_too_far_is_left_out(tiny_checkpoint, learned_pairs):
    loaded = checkpoint.load(tiny_checkpoint)
    (english, spanish), (other, _) = learned_pairs[:2]
    wanted = {english: [spanish], other: ["¡Qué barbaridad!"], "so " * 400: ["tan"]}
    assert list(nearest_pairs(loaded.model, loaded.tokenizer, wanted, 4, 35)) == [
        (english, spanish)
    ]


def test_the_command_writes_what_training_reads(
    data, tiny_checkpoint, learned_pairs, capsys
):
    assert main(command(data, tiny_checkpoint, "--beam", 4, "--least", 60)) == 0
    rows = made(data)
    said = capsys.readouterr().out
    assert dict(rows[1:] + rows[:1]).keys() >= {english for english, _ in learned_pairs}
    loaded = checkpoint.load(tiny_checkpoint)
    references = {}
    for english, spanish in [
        *learned_pairs,
        (learned_pairs[0][0], "El minino duerme."),
    ]:
        references.setdefault(english, []).append(spanish)
    for english, spanish in rows:
        assert nearness(spanish, references[english]) >= 60 and spanish in beam_of(
            loaded, english, 4
        )
    new = sum(spanish not in references[english] for english, spanish in rows)
    assert (
        f"{len(rows)} pairs, {new} of them with a translation that is no reference; {9 - len(rows)} of 9"
        in said
    )
    (data / "dev.tsv").write_bytes((data / "train.tsv").read_bytes())
    train = [
        "train",
        "translation",
        "--data",
        str(data),
        "--out",
        str(data / "run"),
        "--from",
        str(tiny_checkpoint),
        "--steps",
        "1",
        "--dry-run",
        "--device",
        "cpu",
        "--threads",
        "1",
        "--precision",
        "float32",
    ]
    assert xformer(train) == 0
    assert f"10 pairs and 0 extra and {len(rows)} nearest" in capsys.readouterr().out


def test_a_run_learns_from_the_nearest_too(data, tiny_checkpoint):
    """One batch a step: its weight is the pieces of both files."""
    assert main(command(data, tiny_checkpoint, "--beam", 4)) == 0
    (data / "dev.tsv").write_bytes((data / "train.tsv").read_bytes())
    tokenizer = checkpoint.load(tiny_checkpoint).tokenizer
    train = [
        line.split("\t")[1]
        for line in (data / "train.tsv").read_text(encoding="utf-8").splitlines()
    ]
    both = sum(
        len(tokenizer.encode(spanish)) + 1
        for spanish in [*train, *(spanish for _, spanish in made(data))]
    )
    assert (
        xformer(
            [
                "train",
                "translation",
                "--data",
                str(data),
                "--out",
                str(data / "run"),
                "--from",
                str(tiny_checkpoint),
                "--steps",
                "1",
                "--sampled",
                "0",
                "--no-roughening",
                "--device",
                "cpu",
                "--threads",
                "1",
                "--precision",
                "float32",
            ]
        )
        == 0
    )
    assert torch.load(data / "run" / "state.pt", weights_only=True)["seen"] == both


def test_no_sentence_of_dev_or_a_test_is_learned(data, tiny_checkpoint, learned_pairs):
    """Neither its English, nor its Spanish, of which the model may think for another
    English sentence."""
    assert main(command(data, tiny_checkpoint, "--beam", 4)) == 0
    first, second, third, *_ = every = made(data)
    (data / "dev.tsv").write_text(f"{first[0]}\tOtra cosa.\n", encoding="utf-8")
    (data / "test.tsv").write_text(
        f"Another thing.\t{second[1].lower()}\n", encoding="utf-8"
    )
    assert (
        main(
            command(data, tiny_checkpoint, "--beam", 4, "--exclude", data / "test.tsv")
        )
        == 0
    )
    kept = made(data)
    assert third in kept
    assert {*every} - {*kept} == {
        pair for pair in every if pair[0] == first[0] or pair[1] == second[1]
    }


@pytest.mark.parametrize(
    ("spoil", "more", "text"),
    [
        (
            lambda folder: (folder / "train.tsv").unlink(),
            [],
            "There is no train.tsv or train.tsv.xz in",
        ),
        (
            lambda folder: (folder / "train.tsv").write_text("one\n"),
            [],
            "is not a pair",
        ),
        (
            lambda folder: (folder / "nearest.tsv").touch(),
            [],
            "is there already, and training would take it",
        ),
        (
            lambda folder: None,
            ["--exclude", "no.tsv"],
            "The test pairs no.tsv cannot be excluded",
        ),
        (
            lambda folder: None,
            ["--beam", 1],
            "--beam is 1; it must be a whole number, at least 2",
        ),
        (
            lambda folder: None,
            ["--least", 101],
            "--least is 101.0; it must be a number, at least 0 and at most 100",
        ),
        (
            lambda folder: (folder / "nearest.tsv.xz.new").mkdir(),
            [],
            "cannot be written",
        ),
    ],
    ids=[
        "no train",
        "a bad line",
        "an older file",
        "no test",
        "beam",
        "least",
        "not writable",
    ],
)
def test_what_cannot_be_made_is_said_in_one_sentence(
    data, tiny_checkpoint, capsys, spoil, more, text
):
    spoil(data)
    assert main(command(data, tiny_checkpoint, *more)) == 2
    *_, error = capsys.readouterr().err.strip().splitlines()
    assert text in error and error.endswith(".")
    assert not (data / "nearest.tsv.xz").exists()
