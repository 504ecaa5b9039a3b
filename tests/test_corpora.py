"""Reading pairs, roughening them by hand-worked cases, and packing them into
batches."""

import lzma
import math
import random
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from xformer.tokenizer import Tokenizer
from xformer.training.data import corpora
from xformer.training.data.corpora import (
    MOST_CAPITALS,
    Names,
    Roughening,
    TranslationBatches,
    data_file,
    dress,
    join,
    plain,
    read_pairs,
    roughen,
    slip,
    without,
)
from xformer.training.options import BatchOptions

CHECKPOINT = Path(__file__).resolve().parent.parent / "checkpoints" / "en-es"
NEVER = Roughening(0, 0, 0, 0, 0, 0, 0)


def only(**change):
    """A roughening that does one thing, always."""
    return Roughening(**{**vars(NEVER), **change})


class Scripted(random.Random):
    """Chance that is told what to do: `random` gives the floats in turn, `choice` picks
    by the indices in turn, which `randint` gives as they are."""

    def __new__(cls, *_, **__):  # Python 3.10 would take the lists for a seed
        return super().__new__(cls)

    def __init__(self, floats=(), indices=()):
        super().__init__(0)
        self.floats = list(floats)
        self.indices = list(indices)

    def random(self):
        return self.floats.pop(0)

    def choice(self, options):
        return options[self.indices.pop(0)]

    def randint(self, least, most):
        assert least <= self.indices[0] <= most
        return self.indices.pop(0)


class Letters:
    """A tokenizer whose pieces are letters, so that lengths can be seen; it counts the
    splits that are drawn."""

    def __init__(self):
        self.drawn = 0

    def encode(self, text, sampling=0.0):
        self.drawn += sampling > 0
        return [ord(c) for c in text]


def sentences(count, seed=0):
    """Pairs that all differ, of 4 to 40 letters."""
    rng = random.Random(seed)
    return [
        (f"{i:04}" + "a" * rng.randint(0, 36), f"{i:04}" + "b" * rng.randint(0, 36))
        for i in range(count)
    ]


def spelled(batches):
    return [
        [("".join(map(chr, s)), "".join(map(chr, t))) for s, t in batch]
        for batch in batches
    ]


def flat(batches):
    return [pair for batch in batches for pair in batch]


# Files


def test_a_tsv_is_read(tmp_path):
    (tmp_path / "train.tsv").write_text(
        "Hello.\tHola.\n\n It is me. \t Soy yo. \tan id\r\nYes\tSí", encoding="utf-8"
    )
    assert read_pairs(tmp_path / "train.tsv") == [
        ("Hello.", "Hola."),
        ("It is me.", "Soy yo."),
        ("Yes", "Sí"),
    ]


def test_a_packed_tsv_is_read(tmp_path):
    (tmp_path / "train.tsv.xz").write_bytes(lzma.compress("Hello.\t¡Hola!\n".encode()))
    assert read_pairs(tmp_path / "train.tsv.xz") == [("Hello.", "¡Hola!")]


def test_a_byte_order_mark_is_no_part_of_the_first_sentence(tmp_path):
    (tmp_path / "train.tsv").write_text("Hello.\tHola.\n", encoding="utf-8-sig")
    assert read_pairs(tmp_path / "train.tsv") == [("Hello.", "Hola.")]


def test_only_line_feeds_end_a_line(tmp_path):
    """Other characters that Python counts as line ends may stand inside a sentence."""
    (tmp_path / "train.tsv").write_text(
        "One\u2028two\u0085three\tUno\n", encoding="utf-8"
    )
    assert read_pairs(tmp_path / "train.tsv") == [("One\u2028two\u0085three", "Uno")]


@pytest.mark.parametrize(
    "line", ["no tab here", "\tonly Spanish", "only English\t", "only English\t  \tid"]
)
def test_a_line_that_is_no_pair_is_named(tmp_path, line):
    path = tmp_path / "dev.tsv"
    path.write_text(f"Hello.\tHola.\n\n{line}\nno tab here either\n", encoding="utf-8")
    with pytest.raises(ValueError) as error:
        read_pairs(path)
    shown = repr(line.rstrip("\r"))
    assert (
        str(error.value)
        == f"line 3 of {path} is not a pair; write English, a tab, Spanish: {shown}"
    )


def test_a_file_without_pairs_is_refused(tmp_path):
    (tmp_path / "dev.tsv").write_text("\n\n")
    with pytest.raises(
        ValueError,
        match=r"dev\.tsv holds no sentence pairs; write one a line: English, a tab",
    ):
        read_pairs(tmp_path / "dev.tsv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.tsv", b"caf\xe9\tcaf\xe9\n"),
        ("train.tsv.xz", b"Hello.\tHola.\n"),
        ("train.tsv.xz", lzma.compress(b"Hello.\tHola.\n" * 99)[:-20]),
    ],
    ids=["latin-1", "not packed", "truncated"],
)
def test_a_file_in_another_format_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        ValueError,
        match=rf"{name} is not readable as UTF-8 text \(.+\); fetch or write it again",
    ):
        read_pairs(tmp_path / name)


def test_pairs_are_left_out_by_either_sentence():
    """Case, punctuation and spaces aside."""
    pairs = [
        ("A cat.", "Un gato."),
        ("The cat!", "El gato."),
        ("Cats", "Gatos"),
        ("A dog.", "Un perro."),
    ]
    assert without(pairs, [("a cat", "Otra cosa"), ("Else", "EL GATO")]) == pairs[2:]
    assert without(pairs, []) == pairs


def test_files_are_found_plain_or_packed(tmp_path):
    assert data_file(tmp_path, "train") is None
    (tmp_path / "train.tsv.xz").touch()
    assert data_file(tmp_path, "train") == tmp_path / "train.tsv.xz"
    (tmp_path / "train.tsv").touch()
    assert data_file(tmp_path, "train") == tmp_path / "train.tsv"


# Roughening


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Where is María?", "where is maría"),
        ("Wait... ", "wait"),
        ("Well…", "well"),
        ("It's 5 p.m.", "it's 5 p.m"),
        ("No!?", "no"),
        ("A; b", "a; b"),
    ],
)
def test_plain_is_lower_case_without_a_stop(text, typed):
    assert plain(text) == typed


@pytest.mark.parametrize(
    ("how", "text", "typed"),
    [
        (NEVER, "I am not “HERE”.", "I am not “HERE”."),
        ({"lower": 1}, "I am María.", "i am maría."),
        ({"no_stop": 1}, "Is it? Yes!", "Is it? Yes"),
        ({"no_stop": 1}, "...", "..."),
        ({"no_apostrophe": 1}, "I don't, you’re", "I dont, youre"),
        ({"contraction": 1}, "I am sure you are not.", "I'm sure you're not."),
        ({"contraction": 1}, "It is what they do not do.", "It's what they don't do."),
        ({"contraction": 1}, "He cannot come.", "He can't come."),
        ({"contraction": 1}, "The cat iss not here.", "The cat iss not here."),
        ({"contraction": 1}, "I'm sure they don't.", "I am sure they do not."),
        ({"contraction": 1}, "Don't! You can't.", "Do not! You cannot."),
        ({"contraction": 1}, "The dog's bone.", "The dog's bone."),
        (
            {"lower": 1, "no_stop": 1, "no_apostrophe": 1, "contraction": 1},
            "We are not late.",
            "were not late",
        ),
    ],
)
def test_roughening_by_hand(how, text, typed):
    assert (
        roughen(
            text, how if isinstance(how, Roughening) else only(**how), random.Random(0)
        )
        == typed
    )


@pytest.mark.parametrize(
    ("how", "typed"),
    [
        ({"contraction": 1}, "Dónde está, señor?"),
        ({"no_apostrophe": 1}, "¿Donde esta, señor?"),
        ({"no_stop": 1}, "Dónde está, señor"),
        ({"lower": 1}, "¿dónde está, señor?"),
    ],
)
def test_spanish_is_roughened_as_it_is_typed(how, typed):
    assert (
        roughen("¿Dónde está, señor?", only(**how), random.Random(0), spanish=True)
        == typed
    )


def test_roughening_happens_as_often_as_asked():
    rng = random.Random(0)
    lowered = sum(roughen("ABC", only(lower=0.25), rng) == "abc" for _ in range(4000))
    assert lowered / 4000 == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / 4000) ** 0.5)


@pytest.mark.parametrize(
    ("indices", "typed"),
    [
        ((0, 0), "hosue"),
        ((0, 1), "hose"),
        ((0, 2), "houuse"),
        ((1, 0), "houes"),
        ((1, 1), "houe"),
        ((1, 2), "housse"),
    ],
)
def test_a_slip_swaps_loses_or_doubles_a_letter(indices, typed):
    """The first index chooses among the inner letters o, u, s; the second what happens
    to it."""
    place, kind = indices
    assert slip("house", Scripted(indices=(place + 1, kind))) == typed


@pytest.mark.parametrize("text", ["", "I", "at 10:45", "a b c", "3.14159"])
def test_a_text_without_long_words_cannot_slip(text):
    assert slip(text, random.Random(0)) == text


def test_a_slip_stays_inside_one_word():
    rng = random.Random(1)
    text = "The cat's 10 big-ish houses!"
    for _ in range(300):
        typed = slip(text, rng)
        assert abs(len(typed) - len(text)) <= 1
        assert [c for c in typed if not c.isalpha()] == [
            c for c in text if not c.isalpha()
        ]
        assert typed[0] == "T" and typed[-1] == "!"


# Joining


def test_pairs_join_by_hand():
    """The first joins one more, the second does not, the third joins two more."""
    pairs = [(c, c.upper()) for c in "abcdefg"]
    chance = Scripted(floats=[0.1, 0.9, 0.1, 0.9], indices=[0, 2])
    assert list(join(pairs, only(join=0.5), chance)) == [
        ("a b", "A B"),
        ("c", "C"),
        ("d e f", "D E F"),
        ("g", "G"),
    ]


def test_nothing_is_joined_to_the_last_pair():
    assert list(join([("a", "A")], only(join=1), random.Random(0))) == [("a", "A")]


def test_joining_keeps_every_pair_in_order_and_within_the_limit():
    pairs = sentences(500)
    joined = list(join(pairs, only(join=0.7), random.Random(0), longest=50))
    assert [word for english, _ in joined for word in english.split()] == [
        english for english, _ in pairs
    ]
    assert [word for _, spanish in joined for word in spanish.split()] == [
        spanish for _, spanish in pairs
    ]
    assert all(
        len(english.split()) == len(spanish.split()) for english, spanish in joined
    )
    assert set(Counter(len(english.split()) for english, _ in joined)) == {1, 2, 3}
    assert max(len(english) for english, _ in joined) <= 50


def test_a_joined_sentence_may_just_fill_the_limit():
    pairs = [("a" * 20, "x"), ("b" * 29, "y")]
    how = only(join=1)
    assert [s for _, s in join(pairs, how, random.Random(0), longest=50)] == ["x y"]
    assert [s for _, s in join(pairs, how, random.Random(0), longest=49)] == ["x", "y"]


# Batches


def batches(pairs, tokenizer=None, **more):
    packed = {
        one.name: more.pop(one.name) for one in fields(BatchOptions) if one.name in more
    }
    options = BatchOptions(
        **{"batch_tokens": 300, "names": 0.0, "sampled": 0.0, **packed}
    )
    return TranslationBatches(
        tokenizer or Letters(), pairs, options=options, **{"roughening": NEVER, **more}
    )


def test_an_epoch_holds_every_pair_once():
    pairs = sentences(300)
    for epoch in (0, 1):
        assert sorted(flat(spelled(batches(pairs).epoch(epoch)))) == sorted(pairs)


def test_short_pairs_are_written_in_capitals_on_both_sides_as_often_as_asked():
    pairs = [
        *sentences(300),
        ("Too long a sentence. " * 4, "Una frase demasiado larga."),
    ]
    made = flat(
        spelled(batches(pairs, roughening=only(capitals=1), batch_tokens=900).epoch(0))
    )
    assert sorted(made) == sorted(
        [
            *(
                (english.upper(), spanish.upper())
                if len(english) <= MOST_CAPITALS
                else (english, spanish)
                for english, spanish in pairs
            )
        ]
    )
    assert pairs[-1] in made


@pytest.mark.parametrize("budget", [100, 300, 2000])
def test_no_batch_is_larger_than_its_budget(budget):
    """Padding and special pieces included; and most of the budget is used."""
    made = list(batches(sentences(500), batch_tokens=budget).epoch(0))
    sizes = [
        len(b) * (max(len(s) for s, _ in b) + 1 + max(len(t) for _, t in b) + 1)
        for b in made
    ]
    assert max(sizes) <= budget
    assert sum(sizes) / len(sizes) > 0.6 * budget


def test_a_pair_above_the_budget_is_a_batch_of_its_own():
    pairs = [("a" * 50, "b" * 50), ("a", "b"), ("c", "d")]
    assert sorted(map(len, batches(pairs, batch_tokens=60).epoch(0))) == [1, 2]


def test_a_batch_holds_pairs_of_like_length():
    made = list(batches(sentences(2000)).epoch(0))
    spread = [max(len(t) for _, t in b) - min(len(t) for _, t in b) for b in made]
    assert sum(spread) / len(spread) < 1
    longest = [max(len(t) for _, t in b) for b in made]
    assert longest != sorted(longest)  # but the batches are shuffled


def test_pairs_that_are_too_long_or_empty_are_left_out():
    pairs = [
        ("a" * 9, "b"),
        ("a", "b" * 9),
        ("a" * 10, "b"),
        ("a", "b" * 10),
        ("", "b"),
    ]
    assert sorted(flat(spelled(batches(pairs, max_pieces=10).epoch(0)))) == sorted(
        pairs[:2]
    )


def test_the_same_seed_and_epoch_make_the_same_batches():
    def made(seed, epoch):
        return list(
            batches(sentences(300), roughening=Roughening(), seed=seed).epoch(epoch)
        )

    assert made(0, 0) == made(0, 0)
    assert made(0, 0) != made(1, 0)
    assert made(0, 0) != made(0, 1)
    assert made(0, 1) == made(0, 1)


@pytest.mark.parametrize("skip", [0, 1, 7, 30, 10_000])
def test_skipping_is_dropping_the_first(skip, monkeypatch):
    """Also across windows: 300 pairs in windows of 100."""
    monkeypatch.setattr(corpora, "WINDOW", 100)
    made = list(batches(sentences(300), roughening=Roughening()).epoch(2))
    assert len(made) > 31
    assert (
        list(batches(sentences(300), roughening=Roughening()).epoch(2, skip))
        == made[skip:]
    )


def test_windows_together_hold_every_pair_once(monkeypatch):
    monkeypatch.setattr(corpora, "WINDOW", 64)
    pairs = sentences(300)
    assert sorted(flat(spelled(batches(pairs).epoch(0)))) == sorted(pairs)


def test_each_seed_and_epoch_shares_the_pairs_out_anew(monkeypatch):
    """Of 300 pairs in windows of 100, those of the first window come first."""
    monkeypatch.setattr(corpora, "WINDOW", 100)
    first = [
        frozenset(flat(spelled(batches(sentences(300), seed=seed).epoch(epoch)))[:100])
        for seed, epoch in ((0, 0), (0, 1), (1, 0))
    ]
    assert len(set(first)) == 3


@pytest.mark.parametrize(("weight", "count"), [(0.0, 0), (0.5, 20), (1.0, 40)])
def test_a_share_of_the_extra_pairs_is_drawn_each_epoch(weight, count):
    pairs = sentences(50)
    extra = [(f"x{i:03}", f"y{i:03}") for i in range(40)]
    made = batches(pairs, extra=extra, extra_weight=weight)
    drawn = [
        {pair for pair in flat(spelled(made.epoch(epoch))) if pair in extra}
        for epoch in (0, 1)
    ]
    assert [len(d) for d in drawn] == [count, count]
    assert (drawn[0] != drawn[1]) == (0 < weight < 1)
    assert set(pairs) <= set(flat(spelled(made.epoch(0))))


@pytest.mark.parametrize(
    ("weights", "sentence", "phrase"),
    [
        ({}, 3, 10),
        ({"written_weight": 1}, 1, 10),
        ({"phrase_weight": 0}, 3, 0),
        ({"written_weight": 2.5}, 2.5, 10),
    ],
)
def test_written_pairs_come_as_often_as_asked_and_short_phrases_by_their_own_weight(
    weights, sentence, phrase
):
    """Of ten pairs of six English words and four of five."""
    pairs = sentences(20)
    written = [(f"w {i} a b c d", f"w{i}") for i in range(10)] + [
        (f"p {i} a b c", f"p{i}") for i in range(4)
    ]
    made = batches(pairs, written=written, **weights)
    for epoch in (0, 1):
        counts = Counter(flat(spelled(made.epoch(epoch))))
        assert all(counts[pair] == 1 for pair in pairs)
        assert sum(counts[pair] for pair in written[:10]) == 10 * sentence
        assert {counts[pair] for pair in written[:10]} <= {
            math.floor(sentence),
            math.ceil(sentence),
        }
        assert [counts[pair] for pair in written[10:]] == [phrase] * 4


def test_reversed_batches_read_spanish_and_write_english():
    pairs = sentences(40)
    extra = [("made up", "inventado")] * 20
    how = {
        "extra": extra,
        "entries": [("cat", "gato")],
        "to_copy": [("Room 3", "Sala 3")],
        "copied": 0.2,
    }
    there = spelled(batches(pairs, **how).epoch(1))
    back = spelled(batches(pairs, **how, reverse=True).epoch(1))
    assert sorted(flat(there)) == sorted(
        (english, spanish) for spanish, english in flat(back)
    )


def test_processes_make_the_batches_that_a_thread_makes(monkeypatch):
    tokenizer = Tokenizer.load(CHECKPOINT / "tokenizer.model")
    monkeypatch.setattr(corpora, "WINDOW", 100)
    made = batches(sentences(250), tokenizer, roughening=Roughening(), workers=2)
    assert [*made.epoch(0)] == [
        *batches(sentences(250), tokenizer, roughening=Roughening()).epoch(0)
    ]
    made.ahead.shutdown()


def test_without_written_pairs_epochs_are_what_they_were():
    """A run that was begun before there were such pairs goes on with the same
    batches."""
    pairs = sentences(60)
    extra = [(f"x{i:03}", f"y{i:03}") for i in range(40)]
    rng = random.Random("0 3")
    wanted = [*pairs, *rng.sample(extra, 20)]
    rng.shuffle(wanted)
    made = batches(pairs, extra=extra, extra_weight=0.5)
    seen = []
    made.pack = lambda window, finished, seed: seen.append((window, seed)) or []
    assert list(made.epoch(3)) == [] and seen == [(wanted, "0 3 0")]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (
            {"extra_weight": 1.5},
            "extra_weight is 1.5; it must be at least 0 and at most 1",
        ),
        (
            {"extra_weight": -1},
            "extra_weight is -1; it must be at least 0 and at most 1",
        ),
        (
            {"written_weight": -0.5},
            "written_weight is -0.5; it must be at least 0 and at most 1,000",
        ),
        (
            {"phrase_weight": math.nan},
            "phrase_weight is nan; it must be at least 0 and at most 1,000",
        ),
        ({"names": 1.5}, "names is 1.5; it must be at least 0 and at most 1"),
    ],
)
def test_wrong_weights_are_refused(weights, said):
    with pytest.raises(ValueError) as error:
        batches(sentences(4), **weights)
    assert str(error.value) == said


def test_only_the_english_is_roughened():
    pairs = [(f"ABC{i}D.", f"XYZ{i}.") for i in range(50)]
    made = flat(spelled(batches(pairs, roughening=only(lower=1, no_stop=1)).epoch(0)))
    assert sorted(made) == sorted((f"abc{i}d", f"XYZ{i}.") for i in range(50))


# Entries of a dictionary, and what is copied


@pytest.mark.parametrize(
    ("chance", "entry", "dressed"),
    [
        (0.15, ("cat", "gato"), ("CAT", "GATO")),
        (0.3, ("cat", "gato"), ("Cat", "Gato")),
        (0.5, ("cat", "gato"), ("Cat.", "Gato.")),
        (0.7, ("cat", "gato"), ("cat.", "gato.")),
        (0.9, ("cat", "gato"), ("cat", "gato")),
        (0.05, ("And you?", "¿Y tú?"), ("AND YOU?", "¿Y TÚ?")),
        (0.25, ("And you?", "¿Y tú?"), ("And you?", "¿Y tú?")),
        (
            0.25,
            ("Save Changes", "Guardar cambios"),
            ("save changes", "guardar cambios"),
        ),
        (0.25, ("Monday", "lunes"), ("monday", "lunes")),
        (0.25, ("Spain", "España"), ("spain", "España")),
        (0.9, ("Monday", "lunes"), ("Monday", "lunes")),
    ],
)
def test_an_entry_is_dressed_alike_on_both_sides(chance, entry, dressed):
    assert dress(entry, Scripted([chance])) == dressed


def test_entries_are_neither_roughened_nor_joined():
    entries = [(f"word{i}", f"palabra{i}") for i in range(50)]
    how = {
        "written": (),
        "entries": entries,
        "entry_weight": 2,
        "roughening": Roughening(1, 1, 1, 1, 1, 1, 1),
    }
    made = flat(spelled(batches([("A.", "B.")], **how).epoch(0)))
    assert len(made) == 101
    assert {
        (english.lower().rstrip("."), spanish.lower().rstrip("."))
        for english, spanish in made[:]
    } >= {*entries}


def test_of_pairs_to_copy_a_share_is_drawn_for_each_epoch():
    pairs = [(f"Sentence {i}.", f"Frase {i}.") for i in range(200)]
    to_copy = [(f"Room {i}", f"Sala {i}") for i in range(5_000)]
    made = batches(pairs, to_copy=to_copy, copied=0.5)
    first, again, other = (flat(spelled(made.epoch(number))) for number in (0, 0, 1))
    assert len(first) == 300 and first == again
    drawn = {*first} - {*pairs}
    assert drawn < {*to_copy} and len(drawn & {*other}) < 10


# Names


NAMED = [
    ("Tom saw Ana in Boston.", "Tom vio a Ana en Boston."),
    ("Tom's in London.", "Tom está en Londres."),
    ("Maria and Rosa like Kowalczyk.", "A Maria y a Rosa les gusta Kowalczyk."),
    ("A rosa is no Rosa.", "Rosa."),
]


def test_names_stand_on_both_sides_and_are_seldom_written_small():
    """London is translated, and a rosa may be a wine."""
    assert Names(NAMED).names == ["Ana", "Boston", "Kowalczyk", "Maria", "Tom"]
    assert Names([("An IBM in Sâo OK Tv", "An IBM in Sâo OK Tv")]).names == ["Sâo"]


@pytest.mark.parametrize(
    ("floats", "indices", "pair", "wanted"),
    [
        (
            [1, 1],
            [1, 4],
            ("Tom's sister Ana saw Tom.", "La hermana de Tom, Ana, vio a Tom."),
            ("Tom's sister Maria saw Tom.", "La hermana de Tom, Maria, vio a Tom."),
        ),
        (
            [0],
            [4, 4, 3, 2],
            ("Boston or London?", "¿Boston o Londres?"),
            ("Tomm or London?", "¿Tomm o Londres?"),
        ),
        (
            [0, 0],
            [1, 4, 3, 2, 4, 4, 3, 2],
            ("Ana and Tom.", "Ana y Tom."),
            ("Tomria and Tomm.", "Tomria y Tomm."),
        ),
        ([], [], ("Tomato and Boston.", "Tomate."), ("Tomato and Boston.", "Tomate.")),
    ],
)
def test_names_are_exchanged_alike_on_both_sides(floats, indices, pair, wanted):
    """For each name another is chosen, then, or not, one whose beginning of so many
    letters replaces as many of it."""
    chance = Scripted(floats, indices)
    assert Names(NAMED).exchange(pair, chance) == wanted
    assert chance.floats == chance.indices == []


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_names_is_exchanged_in_each_epoch(share):
    pairs = [("Tom goes to Boston.", "Tom va a Boston.")] * 1000 + [
        ("Kowalczyk.", "Kowalczyk.")
    ]
    made = flat(spelled(batches(pairs, names=share).epoch(0)))
    assert all(
        english.replace(" goes to ", " va a ") == spanish for english, spanish in made
    )
    assert made.count(pairs[0]) == (
        1000 if share == 0 else pytest.approx(1000 - share * 1000, abs=130)
    )
    assert len({*made}) == 2 if share == 0 else len({*made}) > 20
    assert made == flat(spelled(batches(pairs, names=share).epoch(0)))


@pytest.mark.parametrize(
    ("sampled", "least", "most"), [(0.0, 0, 0), (0.3, 80, 160), (1.0, 400, 400)]
)
def test_a_share_of_the_splits_is_drawn(sampled, least, most):
    letters = Letters()
    assert len(flat(batches(sentences(200), letters, sampled=sampled).epoch(0))) == 200
    assert least <= letters.drawn <= most


def test_an_epoch_may_be_left_early():
    epoch = batches(sentences(300)).epoch(0)
    assert next(epoch)
    epoch.close()
    assert list(epoch) == []


def test_no_pairs_make_no_batches():
    assert list(batches([]).epoch(0)) == []


def test_real_pieces_come_back_as_the_sentences(tokenizer, pairs):
    made = flat(batches(pairs, tokenizer, sampled=1.0).epoch(0))
    assert sorted(
        (tokenizer.decode(s), tokenizer.decode(t)) for s, t in made
    ) == sorted(pairs)
