"""The training pairs: the index against a plain count of words, the pairs that ship,
and the part that shows them."""

import json
import lzma
import math
import re
from collections import Counter
from contextlib import closing
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from tests.harness import ROOT
from tests.pages import laid_out
from xformer.figures.taught import LARGE, MADE, OTHER
from xformer.figures.templates import fill
from xformer.parts.learned import ask as learned
from xformer.parts.learned import draw as figures
from xformer.parts.learned import part
from xformer.parts.learned.ask import FILES, Index, plain, shipped
from xformer.results import (
    Force,
    Learned,
    MemoryScore,
    NearestPairs,
    NearPair,
    UserError,
)
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.training.data.corpora import read_marked_pairs
from xformer.ui.handlers import Ask

PAIRS = [
    ("The cat sleeps.", "El gato duerme.", "direct"),
    ("the cat", "el gato", "entry"),
    (
        "I don’t know the cat, the big cat.",
        "No conozco al gato, al gato grande.",
        "written",
    ),
    ("The cat sleeps.", "Duerme el gato.", "pivot"),
    ("…", "…", "direct"),
    ("Sleeps the cat?", "¿El gato duerme?", ""),
    ("It's 17:45.", "Son las 17:45.", "in-test"),
    ("Ärger im Büro", "Problemas", "pivot"),
]
SCORES = (
    MemoryScore(False, 2000, -0.606, -0.215, 535),
    MemoryScore(True, 1900, -0.482, -0.2, 611),
)


def index(pairs=PAIRS, side=0, **told):
    return Index(
        "".join("\t".join(pair) + "\n" for pair in pairs).encode(), side, **told
    )


def words_of(text):
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("’", "'"))


def cosines(text, pairs, side):
    """By the definition: of each pair, the cosine of two dictionaries of tf · idf."""
    known = [Counter(words_of(pair[side])) for pair in pairs]
    met = Counter(word for one in known for word in one)

    def vector(counts):
        return {
            word: tf * math.log((len(pairs) + 1) / (met[word] + 1))
            for word, tf in counts.items()
        }

    def cosine(one, other):
        lengths = math.hypot(*one.values()) * math.hypot(*other.values())
        return (
            sum(weight * other.get(word, 0) for word, weight in one.items()) / lengths
            if lengths
            else 0.0
        )

    one = vector(Counter(words_of(text)))
    return [cosine(one, vector(other)) for other in known]


@pytest.fixture(scope="module")
def few():
    """Four hundred of the pairs that ship, of both files."""
    lines = shipped().decode().splitlines()
    return [
        tuple(lines[i].split("\t"))
        for i in np.random.default_rng(0).choice(len(lines), 400, replace=False)
    ]


@pytest.mark.parametrize("side", [0, 1])
def test_the_nearest_are_those_of_a_search_through_all_pairs(few, side):
    made = index(few, side)
    for text in [
        few[3][side],
        f"{few[7][side]} {few[8][side]}",
        "the old man and the sea",
        "la casa de Tom",
        "xyzzy of",
    ]:
        found = made.nearest(text)
        near = found.near
        best = {}
        # one for each source
        for pair, value in zip(few, cosines(text, few, side), strict=True):
            source = plain(pair[side])
            best[source] = max(best.get(source, 0), value)
        wanted = sorted(
            (value for value in best.values() if value >= learned.LEAST), reverse=True
        )[:10]
        assert [one.similarity for one in near] == pytest.approx(wanted, abs=2e-5)
        assert [best[plain(one.source)] for one in near] == pytest.approx(
            wanted, abs=2e-5
        )
        assert found.words == tuple(
            (word, sum(plain(word) in words_of(pair[side]) for pair in few))
            for word in dict.fromkeys(learned.WORD.findall(text))
        )


def test_blocks_make_no_difference_and_progress_is_told(few, monkeypatch):
    whole = index(few).nearest("the old man")
    told = []
    monkeypatch.setattr(learned, "BLOCK", 90)
    parts = index(few, tell=lambda *now: told.append(now))
    assert parts.nearest("the old man") == whole
    assert told == [(90, 400), (180, 400), (270, 400), (360, 400), (400, 400)]


def test_a_pair_by_pattern_was_written_whatever_it_links():
    pairs = [
        ("The cat sleeps.", "El gato duerme.", "pattern it cat"),
        ("The dog sleeps.", "El perro duerme.", "pattern"),
        ("The cow eats.", "La vaca come.", "direct"),
    ]
    found = index(pairs).nearest("the dog sleeps and the cow eats, as the cat sleeps")
    assert {one.source: one.origin for one in found.near} == {
        "The cat sleeps.": "written",
        "The dog sleeps.": "written",
        "The cow eats.": "tatoeba",
    }


def test_pairs_of_one_source_count_as_one_and_the_same_order_comes_first():
    made = index()
    found = made.nearest("the CAT sleeps")
    assert found.same and found.near[0] == NearPair(
        "The cat sleeps.", "El gato duerme.", "tatoeba", 1.0, 1
    )
    assert found.near[1] == NearPair(
        "Sleeps the cat?", "¿El gato duerme?", "tatoeba", 1.0, 0
    )
    assert not made.nearest("cat the sleeps").same, (
        "the words alone do not make a sentence"
    )
    assert {one.origin for one in made.nearest("the cat know it's 17 büro").near} == {
        "tatoeba",
        "entry",
        "written",
        "pivot",
    }
    assert len(made.nearest("the cat", 2).near) == 2


def test_what_has_no_known_word_is_near_to_nothing():
    made = index()
    for text, words in (("", ()), ("¿? … _", ()), ("Zyzzy zyzzy", (("Zyzzy", 0),))):
        assert made.nearest(text) == Learned(words, (), False, len(PAIRS))
    assert made.nearest("I don't KNOW").words == (
        ("I", 1),
        ("don't", 1),
        ("KNOW", 1),
    ), "either apostrophe"
    assert (
        made.nearest("Dr. cat").near[0].similarity
        < made.nearest("cat").near[0].similarity
    ), "a word that was never met makes all pairs less near"


@pytest.mark.full
def test_what_ships_is_what_was_learned_from_and_is_small():
    sizes = [path.stat().st_size for path in FILES]
    assert sizes[0] < 6_000_000 and {path.parent.name for path in FILES} == {
        "learned",
        "data",
    }
    pairs = read_marked_pairs(FILES[0])
    assert len(pairs) == 132_390 and {mark for *_, mark in pairs} == {
        "direct",
        "doozan",
        "pivot",
    }
    assert all(
        len(line.split("\t")) == 3 for line in shipped().decode().split("\n")[:-1]
    )
    assert learned.known(0) == shipped()
    others = b"".join(lzma.decompress(path.read_bytes()) for path in FILES[-1:])
    assert shipped() == bytes(learned.known(1)) + others, "es-en lacks the last"
    assert FILES[-1].name == "patterns.tsv.xz"
    assert lzma.decompress(FILES[-1].read_bytes()).count(b"\n") == MADE["patterns"]
    note = FILES[0].with_name("learned.txt").read_text(encoding="utf-8")
    card = (ROOT / "checkpoints" / "en-es" / "README.md").read_text(encoding="utf-8")
    for text in (note, card):
        assert (
            "132,390" in text and "atoeba" in text and re.search("CC.BY 2.0 FR", text)
        )
        assert "manythings.org" in text.lower()
    others = re.findall(r"^\| (103,059|167,812)", card, re.M)
    assert sum(int(number.replace(",", "")) for number in others) == OTHER


@pytest.mark.parametrize("name", LARGE)
def test_what_was_learned_from_and_is_not_shown_is_counted_as_the_card_has_it(name):
    """Rows of the card's table whose second column says that a side is a translation by
    a model."""
    card = (ROOT / "checkpoints" / name / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d[^|]*)\| ([^|]*with (?:a translation|English) by (?:`e|the model)[^|]*)\|",
        card,
        re.M,
    )
    nearest, others = [], []
    for count, what in rows:
        # of the rows of "nearest" those since the last run, before "every pair"
        last = count.split(", every")[0] if "nearest" in what else count.split(", ")[0]
        number = int(re.findall(r"[\d,]*\d", last)[-1].replace(",", ""))
        (nearest if "nearest" in what else others).append(number)
    assert nearest == [MADE["nearest"]]
    assert sum(others) == MADE[name.replace("-", "_")]
    ranked = re.findall(
        r"^\| ([\d,]+), [^|]*\| [^|]*four translations by the model itself", card, re.M
    )
    of_sentences = MADE["ranked" if name == "en-es" else "ranked_es"]
    assert [int(one.replace(",", "")) for one in ranked] == [of_sentences]
    for language in (ENGLISH, SPANISH):
        said = fill("learned.note", language, other=OTHER, made=MADE)
        for number in (*nearest, sum(others)):
            assert language.say("first_number", n=number) in said


def test_words_that_both_have_are_marked_whatever_their_case_and_nothing_is_lost():
    parts = figures.shared("“I don’t,” said TOM.", ["don't", "tom"])
    assert "".join(text for text, _ in parts) == "“I don’t,” said TOM."
    assert [text for text, both in parts if both] == ["don’t", "TOM"]


def drawn(service, text, found=None, scored=(-0.5, -0.25), language=ENGLISH, **info):
    translation = service.translate(text)
    found = found or index().nearest(text)
    return figures.table(
        found, translation, replace(service.info, **info), scored, language
    )


def numbers(table):
    """The rows of the likelihoods: name, and what its two cells say."""
    return [
        [
            re.sub("<.*?>", "", cell).strip().replace("\u00a0", " ")
            for cell in re.findall("<t[hd].*?>(.*?)</t[hd]>", row)
        ]
        for row in re.findall("<tr>.*?</tr>", table[table.index('class="scores"') :])[
            1:
        ]
    ]


def test_the_table_says_what_is_near_and_how_likely(running):
    table = drawn(
        running,
        "The cat runs, sleeps.",
        replace(index().nearest("The cat runs, sleeps."), scores=SCORES),
    )
    assert (
        "This sentence is not among the 8 training pairs" in table
        and "<mark>cat</mark>" in table
    )
    assert (
        '<span class="never">runs<small>never met</small></span>' in table
        and "<small>and 1 more</small>" in table
    )
    assert numbers(table) == [
        ["Nearest pair, seen", "60.7 % −0.50", "77.9 % −0.25"],
        ["Your sentence", "–", numbers(table)[1][2]],
        ["1,900 seen pairs, median", "61.8 % −0.48", "81.9 % −0.20"],
        ["2,000 unseen pairs, median", "54.6 % −0.61", "80.7 % −0.21"],
    ]
    assert "Of 1,900 sentences it was trained on, 611 get exactly" in table
    assert "of 2,000 it never saw, 535 do" in table
    saved = json.loads(unescape(table.split('data-table="')[1].split('"')[0]))
    assert saved["rows"][0][1:] == ["The cat sleeps.", "El gato duerme.", "Tatoeba"]
    assert len(saved["columns"]) == 4
    waiting = drawn(running, "The cat runs.", scored=None)
    assert (
        numbers(waiting)[0] == ["Nearest pair, seen", "–", "–"] and "611" not in waiting
    )
    assert numbers(drawn(running, "The cat sleeps."))[1][1] == "60.7 % −0.50", (
        "the sentence is the pair"
    )
    assert "palabra por palabra" in drawn(running, "The cat sleeps.", language=SPANISH)


def test_nothing_of_a_pair_or_of_a_sentence_becomes_html(running):
    bad = '<img src=x onerror="1">'
    table = drawn(
        running,
        f"cat {bad}",
        index([(f"cat {bad}", bad, "direct"), PAIRS[0]]).nearest(bad),
    )
    assert "<img" not in table and "&lt;" in table and "<mark>img</mark>" in table


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("en-es", "learned from all 8"),
        ("gru", "learned from those of Tatoeba alone"),
        ("mine", "is not known here"),
    ],
)
def test_it_says_which_of_the_pairs_a_model_learned_from(running, name, said):
    assert said in drawn(running, "The cat sleeps.", name=name)


def test_each_generation_learned_from_the_pairs_of_tatoeba_alone():
    pairs = len(lzma.decompress(FILES[0].read_bytes()).splitlines())
    for name in figures.GENERATIONS:
        folder = ROOT / "checkpoints" / name
        assert json.loads((folder / "metrics.json").read_text())["learned_from"] == {
            "pairs": pairs
        }
        assert f"{pairs:,} pairs of Tatoeba" in (folder / "README.md").read_text(
            encoding="utf-8"
        )


@pytest.fixture
def small(monkeypatch):
    """An index of few pairs in place of the one that ships."""
    monkeypatch.setattr(learned, "KEPT", {0: index(), 1: index(side=1)})


def answers(service, text="The cat sleeps.", language=ENGLISH, **given):
    """The first answer of the part and the late one, by name what each says."""
    pictures = laid_out(service, language=language).pictures[part.ID]
    values = {
        "made": {},
        "translation": service.translate(text),
        "progress": print,
        **given,
    }
    return [
        Ask.always(service, language).answer(pictures.draw, late=late, **values)
        for late in (False, True)
    ]


def test_the_part_shows_pairs_then_numbers_and_does_nothing_twice(running, small):
    made = {}
    translation = running.translate("The cat sleeps.")
    first, last = answers(running, translation=translation, made=made)
    assert "word for word" in first["found"] and "found_scored" not in first
    assert numbers(first["found"])[0] == ["Nearest pair, seen", "–", "–"]
    forced = running.ask(Force("The cat sleeps.", "El gato duerme.")).log_probs
    assert (
        f"{sum(forced) / len(forced):.2f}".replace("-", "−")
        in numbers(last["found_scored"])[0][1]
    )
    said = answers(running, translation=translation, made=made)
    assert not any({"found", "found_scored"} & {*one} for one in said)
    none, _ = answers(running, translation=None)
    assert "Waiting for a translation" in none["problem"] and none["found"] == ""
    assert (
        "None of the 8 training pairs" in answers(running, "zyzzy")[-1]["found_scored"]
    )


def test_a_pair_that_is_too_long_for_the_model_is_shown_without_its_likelihood(
    running, monkeypatch
):
    long = ("cat " * 200, "gato " * 200, "written")
    monkeypatch.setattr(learned, "KEPT", {0: index([long, PAIRS[4]])})
    last = answers(running, "The cat")[-1]
    assert numbers(last["found_scored"])[0] == ["Nearest pair, seen", "–", "–"]


def test_without_the_files_it_says_so_in_one_sentence(running, monkeypatch, tmp_path):
    learned._read.cache_clear()
    monkeypatch.setattr(learned, "KEPT", {})
    for file in (tmp_path / "none.tsv.xz", tmp_path / "broken.tsv.xz"):
        (tmp_path / "broken.tsv.xz").write_bytes(lzma.compress(b"a\tb\tdirect\n")[:-9])
        monkeypatch.setattr(learned, "FILES", (file,))
        said, _ = answers(running)
        assert (
            f"The training pairs ({file.name}) are missing or broken" in said["problem"]
            and said["found"] == ""
        )
    monkeypatch.undo()
    learned._read.cache_clear()


def test_the_index_is_made_once_for_all_and_by_the_side_that_a_model_reads(
    running, tiny_checkpoint, monkeypatch
):
    made = []
    monkeypatch.setattr(learned, "KEPT", {})
    monkeypatch.setattr(
        learned,
        "Index",
        lambda pairs, side, *told: made.append(side) or index(side=side),
    )
    with closing(Service.open(tiny_checkpoint, "cpu")) as other:
        for service in (running, other):
            assert service.ask(NearestPairs("the cat")).near[0].target == "el gato"
        other.info = replace(other.info, source="es", target="en")
        assert other.ask(NearestPairs("el gato")).near[
            0
        ].target == "the cat" and made == [0, 1]
        other.info = replace(other.info, source="en", target="de")
        with pytest.raises(
            UserError,
            match="The training pairs are English and Spanish, and the model tiny-en-es",
        ):
            other.ask(NearestPairs("the cat"))


def test_measured_scores_come_with_the_pairs_and_others_are_left_out(
    running, small, monkeypatch
):
    row = {"seen": True, "pairs": 9, "reference": -0.5, "own": -0.1, "same": 3}
    for memory, wanted in (
        ({"scores": [row]}, (MemoryScore(**row),)),
        ({"scores": [{"seen": 1}]}, ()),
        ([], ()),
    ):
        monkeypatch.setattr(running, "metrics", {"memory": memory})
        assert running.ask(NearestPairs("the cat")).scores == wanted


@pytest.mark.parametrize("name", ["en-es", "es-en"])
def test_what_ships_says_what_its_models_remember(name):
    metrics = json.loads(
        (ROOT / "checkpoints" / name / "metrics.json").read_text(encoding="utf-8")
    )
    kept = [MemoryScore(**one) for one in metrics["memory"]["scores"]]
    assert [one.seen for one in kept] == [False, True] and min(
        one.pairs for one in kept
    ) >= 200
    assert all(one.reference < one.own < 0 for one in kept)
