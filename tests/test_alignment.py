"""The alignment error rate, on cases worked by hand; the aligned pairs that ship; and
the command."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.pages import laid_out, shown
from xformer.__main__ import main
from xformer.explain import alignment
from xformer.explain.alignment import Gold, alignment_error_rate, head_scores, read_gold
from xformer.hub import checkpoint
from xformer.pieces import WORD_START
from xformer.results import Trace
from xformer.strings import ENGLISH, SPANISH

SOURCE = ("▁the", "▁c", "ats", ".", "</s>")
PREDICTED = ("▁los", "▁g", "at", "os", ".", "</s>")
LEARNED = (
    "The cat sleeps.\tEl gato duerme.\t0-0 1-1 2-2 3-3\n"
    "Where is the red car?\t¿Dónde está el coche rojo?\t0-1 1-2 2-3 3-5 4-4 5-6 5?0\n"
    "We want cold water.\tQueremos agua fría.\t0?0 1-0 2-2 3-1 4-3\n"
)


def trace(source, predicted, cross):
    """A trace with these maps (layers, heads, T, S) and no others."""
    nothing = np.zeros((1, 1, 0, 0), dtype=np.float32)
    return Trace(
        tuple(source),
        ("<s>", *predicted[:-1]),
        tuple(predicted),
        (0.0,) * len(predicted),
        nothing,
        nothing,
        np.asarray(cross, dtype=np.float32),
        nothing,
        nothing,
        nothing,
        "",
        (),
    )


def spelled(words):
    """A piece for every letter, and </s>."""
    return [
        *(c if i else WORD_START + c for word in words for i, c in enumerate(word)),
        "</s>",
    ]


@pytest.mark.parametrize(
    ("links", "sure", "possible", "rate"),
    [
        ({(0, 0), (1, 1)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}, 0),
        ({(0, 1), (1, 0)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}, 1),
        # one of two sure links found, and a wrong one: 1 - (1 + 1) / (2 + 2)
        ({(0, 0), (1, 0)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}, 1 / 2),
        # a link that is possible costs nothing: 1 - (1 + 2) / (2 + 1) ...
        ({(0, 0), (1, 0)}, {(0, 0)}, {(0, 0), (1, 0)}, 0),
        # ... and nothing is lost without it: 1 - (1 + 1) / (1 + 1); the same link among
        # the sure ones is missed:
        ({(0, 0)}, {(0, 0)}, {(0, 0), (1, 0)}, 0),
        ({(0, 0)}, {(0, 0), (1, 0)}, {(0, 0), (1, 0)}, 1 / 3),
        # A of 4, S of 3, 2 of A sure and 3 possible: 1 - (2 + 3) / (4 + 3)
        (
            {(0, 0), (1, 1), (2, 3), (3, 3)},
            {(0, 0), (1, 1), (2, 2)},
            {(0, 0), (1, 1), (2, 2), (2, 3)},
            2 / 7,
        ),
    ],
)
def test_error_rates_by_hand(links, sure, possible, rate):
    assert alignment_error_rate(links, sure, possible) == pytest.approx(rate)


def test_error_rates_of_nonsense():
    with pytest.raises(
        ValueError, match="1 sure links are not among the possible ones"
    ):
        alignment_error_rate({(0, 0)}, {(0, 0)}, set())
    with pytest.raises(ValueError, match="neither links nor sure links"):
        alignment_error_rate(set(), set(), {(0, 0)})


def test_columns_of_a_word_are_summed_and_its_rows_averaged():
    # los: "the" is the largest piece, "c" + "ats" more
    # predicts </s>: not a word
    attention = np.array(
        [
            [0.40, 0.30, 0.30, 0.00, 0.00],
            # g alone would look at "the",
            [0.60, 0.20, 0.20, 0.00, 0.00],
            # the three of "gatos" together
            [0.00, 0.50, 0.40, 0.10, 0.00],
            # at "cats": 1.55 / 3 to 1.15 / 3
            [0.55, 0.25, 0.20, 0.00, 0.00],
            # </s> has no part: "." is the largest of the rest
            [0.00, 0.05, 0.00, 0.15, 0.80],
            [1.00, 0.00, 0.00, 0.00, 0.00],
        ]
    )
    assert alignment.alignment(attention, SOURCE, PREDICTED) == {(1, 0), (1, 1), (2, 2)}


def test_a_row_is_counted_for_the_piece_it_predicts():
    """Row 0 is given <s> and predicts x: the rows go with `predicted`, one ahead of
    what the decoder is given."""
    found = trace(
        ("▁a", "▁b", "</s>"),
        ("▁x", "▁y", "</s>"),
        [[[[0.9, 0.1, 0], [0.1, 0.9, 0], [0.9, 0.1, 0]]]],
    )
    assert found.target == ("<s>", "▁x", "▁y")
    gold = [
        Gold("a b", "x y", frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))
    ]
    assert head_scores([found], gold).tolist() == [[0]]
    crossed = [
        Gold("a b", "x y", frozenset({(1, 0), (0, 1)}), frozenset({(1, 0), (0, 1)}))
    ]
    assert head_scores([found], crossed).tolist() == [[1]]


def test_words_of_pieces_and_of_texts_are_the_same():
    assert alignment.split("¿Dónde está el gato, María?") == (
        "¿",
        "Dónde",
        "está",
        "el",
        "gato",
        ",",
        "María",
        "?",
    )
    assert alignment.grouped(["▁", "¿", "D", "ónde", "▁", "e", "stá", "?", "</s>"]) == [
        ("¿", [0, 1]),
        ("Dónde", [2, 3]),
        ("está", [4, 5, 6]),
        ("?", [7]),
    ]


def test_links_are_counted_over_all_pairs_together():
    """A perfect pair of two words and a wrong one of one: 1 - 4 / 6, not the mean 1 / 2
    of 0 and 1."""
    first = trace(("▁a", "▁b", "</s>"), ("▁x", "▁y", "</s>"), [[np.eye(3)]])
    second = trace(("▁a", "▁b", "</s>"), ("▁x", "</s>"), [[np.eye(2, 3)]])
    gold = [
        Gold("a b", "x y", frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)})),
        Gold("a b", "x", frozenset({(1, 0)}), frozenset({(1, 0)})),
    ]
    assert head_scores([first, second], gold)[0, 0] == pytest.approx(1 / 3)


def test_heads_and_layers_keep_their_places():
    right = np.eye(3)
    wrong = np.eye(3)[[1, 0, 2]]
    found = trace(
        ("▁a", "▁b", "</s>"),
        ("▁x", "▁y", "</s>"),
        [[wrong, wrong], [wrong, right], [wrong, wrong]],
    )
    gold = [
        Gold("a b", "x y", frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))
    ]
    assert head_scores([found], gold).tolist() == [[1, 1], [1, 0], [1, 1]]


def test_other_words_than_the_gold_ones_are_refused():
    found = trace(("▁a", "<unk>", "</s>"), ("▁x", "</s>"), [[np.eye(2, 3)]])
    gold = [Gold("a β", "x", frozenset({(0, 0)}), frozenset({(0, 0)}))]
    with pytest.raises(
        ValueError,
        match="pair 1 has the words 'a β', but the model's vocabulary makes 'a <unk>' of",
    ):
        head_scores([found], gold)
    with pytest.raises(ValueError, match="1 traces for 2 aligned pairs"):
        head_scores([found], gold * 2)


def test_reading(tmp_path):
    file = tmp_path / "gold.tsv"
    file.write_text("\ufeffI sleep.\tDuermo.\t0?0 1-0 2-1\r\n\n", encoding="utf-8")
    (pair,) = read_gold(file)
    assert pair == Gold(
        "I sleep.",
        "Duermo.",
        frozenset({(1, 0), (2, 1)}),
        frozenset({(0, 0), (1, 0), (2, 1)}),
    )
    assert (pair.source, pair.target) == (("I", "sleep", "."), ("Duermo", "."))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "I sleep.\tDuermo.",
            "is no aligned pair; write English, a tab, Spanish, a tab, links: 'I sleep",
        ),
        ("I sleep.\t\t0-0", "is no aligned pair"),
        (
            "I sleep.\tDuermo.\t1-0 2:1",
            "has '2:1' for a link; write i-j (sure) or i?j (possible)",
        ),
        (
            "I sleep.\tDuermo.\t1-0 3-1",
            "has the link 3-1, but its last words are 2 and 1; count from 0",
        ),
        (
            "I sleep.\tDuermo.\t1-0 2?2",
            "has the link 2?2, but its last words are 2 and 1",
        ),
        ("I sleep.\tDuermo.\t1-0 1?0", "has the link 1?0 twice"),
        ("I sleep.\tDuermo.\t1?0 2?1", "has no sure link; write at least one i-j"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, said):
    file = tmp_path / "gold.tsv"
    file.write_text(f"We sleep.\tDormimos.\t0?0 1-0 2-1\n\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        read_gold(file)
    assert str(raised.value).startswith(f"line 3 of {file} {said}")


def test_files_without_pairs(tmp_path):
    file = tmp_path / "gold.tsv"
    file.write_text("\n")
    with pytest.raises(ValueError, match="holds no aligned pairs"):
        read_gold(file)
    file.write_bytes("¿Qué?".encode("latin-1"))
    with pytest.raises(ValueError, match="is not readable as UTF-8 text"):
        read_gold(file)


def test_the_pairs_that_ship():
    gold = read_gold()
    assert 30 <= len(gold) <= 50
    assert (
        len({pair.english for pair in gold})
        == len({pair.spanish for pair in gold})
        == len(gold)
    )
    for pair in gold:
        assert 4 <= len(pair.source) <= 14 and 4 <= len(pair.target) <= 14, pair.english
        assert not set("'’") & {*pair.source, *pair.target}, "apostrophes split words"
        assert {i for i, _ in pair.possible} == set(range(len(pair.source))), (
            f"an English word alone: {pair.english}"
        )
        assert {j for _, j in pair.possible} == set(range(len(pair.target))), (
            f"a Spanish word alone: {pair.spanish}"
        )
        assert len({j for _, j in pair.sure}) == len(pair.sure), (
            f"two sure links of a word: {pair.spanish}"
        )
        assert (len(pair.source) - 1, len(pair.target) - 1) in pair.sure
        assert pair.source[-1] == pair.target[-1] in set(".?!")


def test_a_head_that_knows_the_pairs_makes_no_error_and_one_that_looks_at_the_first_word_many():
    gold = read_gold()
    traces = []
    for pair in gold:
        source = spelled(pair.source)
        predicted = spelled(pair.target)
        rows = [
            word
            for word, (_, group) in enumerate(alignment.grouped(predicted))
            for _ in group
        ]
        columns = [
            word
            for word, (_, group) in enumerate(alignment.grouped(source))
            for _ in group
        ]
        wanted = {j: i for i, j in sorted(pair.possible) if (i, j) not in pair.sure} | {
            j: i for i, j in pair.sure
        }
        knows, first = np.zeros((2, len(predicted), len(source)))
        for row, word in enumerate(rows):
            for column, other in enumerate(columns):
                knows[row, column] = wanted[word] == other
        first[:, 0] = 1
        traces.append(trace(source, predicted, [[knows, first]]))
    knows, first = head_scores(traces, gold)[0]
    assert knows == 0
    assert first > 0.7


def test_a_head_that_looks_one_piece_late_is_found_by_the_other_reading():
    """Rows are moved down by one: the row that was given "el" looks at "the", and
    predicts "gato"."""
    gold = [
        Gold(
            "the cat",
            "el gato",
            frozenset({(0, 0), (1, 1)}),
            frozenset({(0, 0), (1, 1)}),
        )
    ]
    late = [[[[0, 0, 1], [1, 0, 0], [0, 1, 0]]]]
    found = trace(["▁the", "▁cat", "</s>"], ["▁el", "▁gato", "</s>"], late)
    assert head_scores([found], gold, "given").tolist() == [[0]]
    assert head_scores([found], gold).item() > 0.4


@pytest.fixture
def gold_file(tmp_path):
    file = tmp_path / "gold.tsv"
    file.write_text(LEARNED, encoding="utf-8")
    return file


def run(capsys, *argv):
    status = main(["evaluate", "alignment", *map(str, argv)])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command_prints_every_head_and_the_best(capsys, tiny_checkpoint, gold_file):
    before = (tiny_checkpoint / "metrics.json").read_bytes()
    status, out, _ = run(
        capsys,
        "--checkpoint",
        tiny_checkpoint,
        "--gold",
        gold_file,
        "--device",
        "cpu",
        "--json",
    )
    found = json.loads(out)
    rates = np.array(
        [found["alignment_error_rate"][reading] for reading in alignment.READINGS]
    )
    layer = found["best"]["layer"]
    head = found["best"]["head"]
    of = found["best"]["of"]
    assert (
        status == 0
        and rates.shape == (2, 2, 4)
        and (rates >= 0).all()
        and (rates <= 1).all()
    )
    assert rates[alignment.READINGS.index(of), layer - 1, head - 1] == rates.min()
    assert (found["sentences"], found["checkpoint"]) == (3, "tiny-en-es")

    status, out, _ = run(
        capsys, "--checkpoint", tiny_checkpoint, "--gold", gold_file, "--device", "cpu"
    )
    lines = out.splitlines()
    assert status == 0
    for table, reading, wanted in (
        (lines[:4], "predicted", rates[0]),
        (lines[4:8], "given", rates[1]),
    ):
        assert table[0].endswith(f"for the piece {reading}")
        assert table[1].split() == ["head", "1", "head", "2", "head", "3", "head", "4"]
        assert [line.split()[:2] for line in table[2:]] == [
            ["layer", "1"],
            ["layer", "2"],
        ]
        shown = [[float(n) for n in line.split()[2:]] for line in table[2:]]
        np.testing.assert_allclose(shown, wanted, atol=6e-4)
    assert lines[8].startswith(
        f"best: layer {layer}, head {head}, AER {rates.min():.3f} of the piece {of}; 3 "
    )
    assert (tiny_checkpoint / "metrics.json").read_bytes() == before, (
        "without --save nothing is written"
    )


def test_save_keeps_the_other_keys(capsys, tiny_checkpoint, gold_file, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(tiny_checkpoint, folder)
    before = json.loads((folder / "metrics.json").read_text())
    status, out, _ = run(
        capsys,
        "--checkpoint",
        folder,
        "--gold",
        gold_file,
        "--device",
        "cpu",
        "--json",
        "--save",
    )
    found = json.loads(out)
    wanted = {
        "alignment_error_rate": found["alignment_error_rate"],
        "best": found["best"],
        "sentences": 3,
        "sides": found["sides"],
    }
    assert status == 0 and checkpoint.load(folder).metrics == {
        **before,
        "alignment": wanted,
    }
    assert not (folder / "metrics.json.new").exists()
    (folder / "metrics.json.new").mkdir()  # stands in the way of writing
    status, _, err = run(
        capsys, "--checkpoint", folder, "--gold", gold_file, "--device", "cpu", "--save"
    )
    assert (
        status == 2
        and f"The file {folder / 'metrics.json'} cannot be written (Is a directory)"
        in err
    )


def test_the_page_says_on_how_many_sentences_a_head_was_measured(running, monkeypatch):
    measured = {
        "alignment_error_rate": {
            reading: [[0.25] * 4] * 2 for reading in alignment.READINGS
        }
    }
    found = running.explain("The cat sleeps.")
    pictures = laid_out(running).pictures["attention"]

    def said(language):
        return shown(
            pictures, running, language, trace=found, stack="cross", layer=1, head=2
        )["about"]

    monkeypatch.setitem(running.metrics, "alignment", {**measured, "sentences": 3})
    assert "on 3 hand-aligned sentences" in said(
        ENGLISH
    ) and "en 3 frases alineadas a mano" in said(SPANISH)
    monkeypatch.setitem(running.metrics, "alignment", measured)
    assert "hand-aligned" not in said(ENGLISH), (
        "saved by an older version, which did not say on how many"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("The cat sleeps.\tEl gato duerme.\t0-9\n", "line 1 of"),
        (
            "The β sleeps.\tEl gato duerme.\t0-0\n",
            "pair 1 has the words 'The β sleeps .', but the model's",
        ),
    ],
)
def test_bad_pairs_get_one_sentence_and_status_2(
    capsys, tiny_checkpoint, tmp_path, content, said
):
    file = tmp_path / "other.tsv"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    status, out, err = run(
        capsys, "--checkpoint", tiny_checkpoint, "--gold", file, "--device", "cpu"
    )
    assert (status, out) == (2, "") and said in err and err.strip().endswith(".")


@pytest.mark.slow
def test_scores_and_help_need_no_torch():
    code = (
        "import sys\nimport xformer.explain.alignment\nfrom xformer.__main__ import main\ntry:\n"
        "    main(['evaluate', 'alignment', '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=False
        ).returncode
        == 0
    )
