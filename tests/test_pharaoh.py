"""Links for other programs: what they count, two directions joined, and the command
that writes them."""

import io
import json
import shutil
from types import SimpleNamespace

import pytest

from xformer.__main__ import main
from xformer.explain import passes
from xformer.explain.alignment import (
    alignment,
    alignment_error_rate,
    read_gold,
    reading,
    split,
)
from xformer.explain.pharaoh import joined, parts
from xformer.hub import checkpoint
from xformer.hub.shipped import ROOT
from xformer.results import Head, UserError
from xformer.serve.translation import Service

HEAD = Head("cross", 2, 3)


def align(service, pairs, head=None, given=None):
    """Link pairs as the command does, by default by the head that aligns best."""
    head = head or service.best_head
    given = (
        reading(service.alignment_errors(head)) == "given" if given is None else given
    )
    return passes.align(service.model, service.tokenizer, pairs, head, given)


@pytest.mark.parametrize(
    ("text", "pieces", "wanted"),
    [
        ("", [], []),
        ("gatos", ["▁gat", "o", "s"], [[0, 1, 2]]),
        ("Yes ...", ["▁Yes", "▁", "..."], [[0], [1, 2], [], []]),
        ("I don't.", ["▁I", "▁don", "'", "t", "."], [[0], [1, 2, 3], [4]]),
        (
            "😀cat…",
            ["▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "cat", "..."],
            [[0, 1, 2, 3, 4], [5], [6]],
        ),
        ("ﬁne!", ["▁fin", "e", "!"], [[0, 1], [2]]),
        ("a ▁ b", ["▁a", "▁b"], [[0], [], [1]]),
    ],
)
def test_words_are_counted_in_the_text_whatever_the_pieces(text, pieces, wanted):
    found = parts(text, pieces)
    assert len(found) == len(split(text)) and found == wanted


def test_an_accent_written_apart_is_no_word():
    assert parts("El nin\u0303o", ["▁El", "▁ni", "<0xC3>", "<0xB1>", "o"]) == [
        [0],
        [1, 2, 3, 4],
    ]


def test_tokens_are_what_stands_between_spaces_and_pieces_are_pieces():
    pieces = ["▁U", ".", "S", ".", "▁", "1", "2", "▁%"]
    assert parts("U.S. 12 %", pieces, "tokens") == [[0, 1, 2, 3], [4, 5, 6], [7]]
    assert parts("U.S. 12 %", pieces, "pieces") == [[i] for i in range(8)]


@pytest.mark.parametrize(
    ("there", "back", "wanted", "why"),
    [
        ("", "", "", "nothing"),
        ("0-0 1-1", "0-0 1-1", "0-0 1-1", "what both have"),
        (
            "0-0 1-1 1-2",
            "0-0 1-1 2-2",
            "0-0 1-1 1-2 2-2",
            "neighbours whose word is free, one beside, one across",
        ),
        (
            "0-0 1-1",
            "0-0 1-1 0-1",
            "0-0 1-1",
            "a neighbour both of whose words are taken",
        ),
        ("0-0 0-1 0-2", "0-0", "0-0 0-1 0-2", "a neighbour of a neighbour"),
        (
            "0-0 3-3",
            "0-0",
            "0-0 3-3",
            "far away, but both of its words are free: final-and",
        ),
        ("0-0 0-3", "0-0", "0-0", "far away, and one of its words is taken"),
        (
            "3-3",
            "3-4",
            "3-3",
            "both apart: the first direction comes first, and takes the word",
        ),
        (
            "2-0 0-2",
            "2-0 1-1",
            "2-0 1-1 0-2",
            "across, from 2-0 to 1-1, and from there to 0-2",
        ),
    ],
)
def test_two_directions_are_joined_as_worked_by_hand(there, back, wanted, why):
    def read(text):
        return {tuple(map(int, link.split("-"))) for link in text.split()}

    assert joined(read(there), read(back)) == read(wanted), why


@pytest.mark.parametrize("first", [0, 1])
def test_a_batch_links_as_the_trace_of_each_pair_does(
    running, learned_pairs, monkeypatch, first
):
    monkeypatch.setattr(passes, "ALIGNED", 3)
    pairs = [*learned_pairs[:4], ("", ""), ("A cat.", " "), *learned_pairs[4:]]
    found = list(align(running, pairs, HEAD, bool(first)))
    assert found[4:6] == [frozenset()] * 2
    for links, (english, spanish) in zip(found, pairs, strict=True):
        if english.strip() and spanish.strip():
            trace = running.trace(english, spanish)
            assert links == alignment(
                trace.cross[HEAD.layer - 1, HEAD.head - 1, first:],
                trace.source,
                trace.predicted[: len(trace.predicted) - first],
            )


def test_a_recurrent_model_with_attention_links_too_and_one_without_is_refused(
    tmp_path, capsys
):
    service = Service.open(ROOT / "checkpoints" / "gru-attention", "cpu")
    trace = service.trace("The cat sleeps.", "El gato duerme.")
    (links,) = align(service, [("The cat sleeps.", "El gato duerme.")])
    assert links == alignment(trace.cross[0, 0], trace.source, trace.predicted)
    service.close()
    (tmp_path / "a").write_text("Yes.\n")
    assert (
        main(
            [
                "align",
                str(tmp_path / "a"),
                str(tmp_path / "a"),
                "--checkpoint",
                str(ROOT / "checkpoints" / "gru"),
            ]
        )
        == 2
    )
    assert "has no attention, so there is nothing to align" in capsys.readouterr().err


def test_the_error_rate_on_the_gold_pairs_is_the_one_that_is_reported(shipped):
    gold = read_gold()
    found = align(shipped, [(pair.english, pair.spanish) for pair in gold])
    made, sure, possible = (
        {(n, *link) for n, links in enumerate(all_links) for link in links}
        for all_links in (
            found,
            [pair.sure for pair in gold],
            [pair.possible for pair in gold],
        )
    )
    best = shipped.metrics["alignment"]["best"]
    rates = shipped.metrics["alignment"]["alignment_error_rate"][best["of"]]
    assert (
        round(alignment_error_rate(made, sure, possible), 4)
        == rates[best["layer"] - 1][best["head"] - 1]
    )


def test_the_command_writes_these_links_with_the_model_that_ships(
    shipped, capsys, files
):
    gold = read_gold()[:3]
    source, target = files(
        source="\n".join(pair.english for pair in gold),
        target="\n".join(pair.spanish for pair in gold),
    )
    wanted = align(shipped, [(pair.english, pair.spanish) for pair in gold])
    assert run(capsys, source, target)[:2] == (
        0,
        "".join(
            " ".join(f"{i}-{j}" for i, j in sorted(links, key=lambda link: link[1]))
            + "\n"
            for links in wanted
        ),
    )


def test_three_hundred_words_and_one(shipped):
    english = "The cat sleeps and the dog eats. " * 40
    spanish = "El gato duerme y el perro come. " * 40
    long, one, _ = align(shipped, [(english, spanish), ("Yes.", "Sí."), ("", "")])
    assert len(split(english)) == 320 and sorted(j for _, j in long) == list(range(320))
    assert one == {(0, 0), (1, 1)}
    with pytest.raises(
        UserError, match="Line 2 has 721 pieces, of 512 that can be aligned; split it."
    ):
        next(align(shipped, [("Yes.", "Sí."), ("Yes.", spanish * 2)]))


@pytest.fixture
def files(tmp_path):
    """Write texts to files and return their names."""

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return [str(tmp_path / name) for name in texts]

    return write


@pytest.fixture(scope="session")
def both_ways(tmp_path_factory, tiny_checkpoint):
    """The tiny model with a head that aligns best, and a copy that says it reads
    Spanish."""
    folders = [tmp_path_factory.mktemp("ways") / name for name in ("en-es", "es-en")]
    for folder, languages in zip(folders, (("en", "es"), ("es", "en")), strict=True):
        shutil.copytree(tiny_checkpoint, folder)
        config = json.loads((folder / "config.json").read_text())
        config.update(zip(("source", "target"), languages, strict=True))
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "metrics.json").write_text(
            json.dumps({"alignment": {"best": {"layer": 2, "head": 3}}})
        )
    return folders


def run(capsys, *argv):
    status = main(["align", *map(str, argv), "--device", "cpu"])
    out, err = capsys.readouterr()
    return status, out, err


def test_files_pairs_and_standard_input_give_the_same_lines(
    capsys, both_ways, learned_pairs, files, monkeypatch
):
    english, spanish = (
        "\n".join([*side[:2], "", *side[2:4], ""])
        for side in zip(*learned_pairs, strict=True)
    )
    tsv = "\n".join(
        "\t".join(pair) if pair[0] else ""
        for pair in zip(english.split("\n"), spanish.split("\n"), strict=True)
    )
    source, target, pairs = files(source=english, target=spanish, pairs=tsv)
    status, out, _ = run(capsys, source, target, "--checkpoint", both_ways[0])
    assert status == 0 and out.count("\n") == 5 and out.split("\n")[2] == ""
    for line, (_, translation) in zip(out.split("\n")[:2], learned_pairs, strict=False):
        assert [int(link.split("-")[1]) for link in line.split()] == list(
            range(len(split(translation)))
        )
    assert run(capsys, "--pairs", pairs, "--checkpoint", both_ways[0])[:2] == (0, out)
    for given, argv in (
        (tsv, ("--pairs", "-")),
        (spanish, (source, "-")),
        (english, ("-", target)),
    ):
        monkeypatch.setattr(
            "sys.stdin", SimpleNamespace(buffer=io.BytesIO(given.encode()))
        )
        assert run(capsys, *argv, "--checkpoint", both_ways[0])[:2] == (0, out)
    status, out, _ = run(
        capsys, source, target, "--pieces", "--checkpoint", both_ways[0]
    )
    tokens = checkpoint.load(both_ways[0]).tokenizer.encode(learned_pairs[0][1])
    assert status == 0 and len(out.split("\n")[0].split()) == len(tokens)


def test_a_model_of_the_other_direction_joins_its_links(
    capsys, both_ways, learned_pairs, files
):
    source, target = files(source=learned_pairs[0][0], target=learned_pairs[0][1])
    one, other = (Service.open(folder, "cpu") for folder in both_ways)
    wanted = joined(
        *align(one, [learned_pairs[0]]),
        {(i, j) for links in align(other, [learned_pairs[0][::-1]]) for j, i in links},
    )
    assert run(
        capsys,
        source,
        target,
        "--checkpoint",
        both_ways[0],
        "--reverse-checkpoint",
        both_ways[1],
    )[:2] == (
        0,
        " ".join(f"{i}-{j}" for i, j in sorted(wanted, key=lambda link: link[::-1]))
        + "\n",
    )
    status, out, err = run(
        capsys,
        source,
        target,
        "--checkpoint",
        both_ways[0],
        "--reverse-checkpoint",
        both_ways[0],
    )
    assert (status, out) == (
        2,
        "",
    ) and "translates en to es; name one that translates es to en." in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "Name two files"),
        (["two"], "Name two files"),
        (["-", "-"], "Name two files"),
        (["two", "two", "--pairs", "two"], "Name two files"),
        (["two", "three"], "two has 2 lines and "),
        (["two", "none"], "There is no file "),
        (["empty", "empty"], "empty holds no text; there is nothing to align."),
        (["--pairs", "two"], "Line 1 is no pair: 'Yes.'; write source, a tab, target."),
        (["long", "two"], "Line 2 has "),
        (["two", "long"], ", of 128 that can be aligned; split it."),
    ],
)
def test_bad_input_gets_one_sentence_and_no_links(capsys, both_ways, files, argv, said):
    names = files(
        two="Yes.\nNo.\n",
        three="Sí.\nNo.\nNo.\n",
        empty=" \n\n",
        long="Yes.\n" + "cat " * 130,
    )
    place = names[0].removesuffix("two")
    status, out, err = run(
        capsys,
        *(place + one if one.isalpha() else one for one in argv),
        "--checkpoint",
        both_ways[0],
    )
    assert (
        (status, out) == (2, "")
        and said in err
        and err.count("\n") == 1
        and err.endswith(".\n")
    )
