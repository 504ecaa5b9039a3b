"""The questions made from a sentence: each number of each answer against the pass and
the search, and each address against the page.

xformer/parts/questions/test_asked.tsv holds forty sentences, twenty of them of Tatoeba (CC-BY 2.0 FR) that no
model here has learned from.
"""

import json
import math
import re
from dataclasses import replace
from functools import partial
from html import unescape
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.pages import laid_out
from xformer.figures.labels import percent
from xformer.parts.questions import draw, find, part
from xformer.parts.questions.find import BOUND, Side, questions
from xformer.pieces import EOS, SPECIAL, words
from xformer.results import Head, Options, Trace, UserError
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.tabs import examples

ROWS = [
    line.split("\t")
    for line in Path(__file__)
    .with_name("test_asked.tsv")
    .read_text(encoding="utf-8")
    .splitlines()
]
CODES = {"en": ("en", "es"), "es": ("es", "en")}
OPTIONS = Options(beam=3, n_best=3)
LOCK = re.compile(r"(?:es(\d+)|en(\d+))(?:-en(\d+))?")


# By hand


def made_trace(source, target, links=(), layers=1, heads=1, cross=()):
    """A pass over two sentences of whole words. links: (layer, head, word, seen, share)
    of the encoder; cross: (word, seen, share) of its only head; the rest lies on
    </s>."""
    source = (*(f"▁{word}" for word in source.split()), "</s>")
    predicted = (*(f"▁{word}" for word in target.split()), "</s>")
    given = ("<s>", *predicted[:-1])
    own = np.zeros((layers, heads, len(source), len(source)), np.float32)
    own[..., -1] = 1
    for layer, head, word, seen, share in links:
        at = (layer, head, source.index(f"▁{word}"))
        own[(*at, source.index(f"▁{seen}"))] = share
        own[(*at, -1)] -= share
    other = np.zeros((1, 1, len(given), len(source)), np.float32)
    other[..., -1] = 1
    for word, seen, share in cross:
        at = (0, 0, predicted.index(f"▁{word}"))
        other[(*at, source.index(f"▁{seen}"))] = share
        other[(*at, -1)] -= share
    none = np.zeros((0, 0, 0, 0), np.float32)
    return Trace(
        source=source,
        target=given,
        predicted=predicted,
        log_probs=(0.0,) * len(given),
        encoder_self=own,
        decoder_self=none,
        cross=other,
        encoder_self_norms=none,
        decoder_self_norms=none,
        cross_norms=none,
        text="",
        tokens=(),
    )


def asked(trace, translation=None, codes=("en", "es"), kind=None):
    """The questions of a made pass, or those of a kind."""
    found = [
        one
        for ask in (find.refers, find.links, find.became, find.made)
        for one in ask(
            find.Pair(
                translation,
                trace,
                Side.of(trace.source, codes[0]),
                Side.of(trace.predicted, codes[1]),
                Head("cross", 1, 1),
                False,
            )
        )
        if kind in (None, one.asks)
    ]
    return [
        (draw.asks(one), draw.said(one), one.address.get("lock"), one) for one in found
    ]


CAR = ("I sold the car to my friend because it was slow", "Vendí el coche a mi amigo")


def test_a_pronoun_looks_at_a_noun_before_it_in_the_head_that_gives_it_most():
    links = [
        (0, 0, "it", "car", 0.3),
        (1, 2, "it", "car", 0.62),
        (1, 2, "it", "friend", 0.11),
        (0, 1, "it", "was", 0.9),  # a neighbour
        (1, 0, "it", "to", 0.8),  # a word that only joins others
    ]
    ((asks, said, lock, one),) = asked(
        made_trace(*CAR, links, layers=2, heads=3), kind="refer"
    )
    assert asks == "What does “it” look at?"
    assert said == "“car”: 0.62, in layer 2, head 3; next “friend” 0.11"
    assert lock == "en8-en3" and one.address["layer"] == 2 and one.address["head"] == 3


def test_a_head_in_which_most_words_look_there_says_so():
    others = ["I", "sold", "the", "to", "my", "friend"]
    links = [(0, 0, word, "car", 0.7) for word in ("it", *others)]
    ((_, said, lock, _),) = asked(made_trace(*CAR, links), kind="refer")
    assert said == ("“car”: 0.70, in layer 1, head 1; but most words look at it there")
    assert lock == "en8-en3"
    ((_, said, *_),) = asked(made_trace(*CAR, links[:4]), kind="refer")
    assert "most words" not in said


def test_where_no_head_says_it_that_is_said():
    weak = made_trace(*CAR, [(0, 0, "it", "car", BOUND - 0.05)])
    ((_, said, _, _),) = asked(weak, kind="refer")
    assert said == "No head says it: “car” gets at most 0.20, in layer 1, head 1"
    led = made_trace(*CAR, [(0, 0, "it", "car", 0.3), (0, 0, "it", "slow", 0.6)])
    ((_, said, _, _),) = asked(led, kind="refer")
    assert said == (
        "No head says it: “car” gets 0.30 in layer 1, head 1, but “slow” 0.60"
    )


def test_what_no_pronoun_can_look_back_at_is_not_asked_of_it():
    """A verb, a name for a thing, an article for a pronoun, and a word beside it."""
    for source, target in (
        ("We argued because it rained", "Discutimos porque llovía"),
        ("Tom said nothing about it", "Tom no dijo nada"),
        ("The car it hit was red", "El coche era rojo"),
    ):
        assert not asked(made_trace(source, target), kind="refer"), source
    spanish = made_trace("El gato come lo que quiere", "The cat eats what it wants")
    assert not asked(spanish, codes=("es", "en"), kind="refer")
    assert asked(
        made_trace("Tom said that he slept", "Tom dijo que dormía"), kind="refer"
    )


def test_a_link_that_crosses_others_comes_before_one_that_does_not():
    trace = made_trace(
        "red cars run",
        "coches rojos corren",
        cross=[("coches", "cars", 0.9), ("rojos", "red", 0.8), ("corren", "run", 0.7)],
    )
    found = asked(trace, kind="made")
    assert found[0][:3] == (
        "Which word made “coches”?",
        "“cars”: 0.90, in layer 1, head 1; its link crosses one other",
        "es1-en1",
    )
    assert found[2][1] == "“run”: 0.70, in layer 1, head 1"


def test_a_word_that_no_word_made_comes_first():
    trace = made_trace(
        "red cars",
        "coches rojos",
        cross=[("coches", "cars", 0.9), ("rojos", "red", 0.1)],
    )
    assert asked(trace, kind="made")[0][:2] == (
        "Which word made “rojos”?",
        "None alone: at most 0.10, “red”, in layer 1, head 1",
    )


def test_what_became_of_a_word_that_says_no():
    trace = made_trace("She never sleeps", "Ella nunca duerme")
    ((asks, said, _, _),) = asked(trace, kind="became")
    assert asks == "What became of “never”?" and "No word is clearly its own" in said
    trace = made_trace(
        "She never sleeps", "Ella nunca duerme", cross=[("nunca", "never", 0.9)]
    )
    ((_, said, lock, _),) = asked(trace, kind="became")
    assert said.startswith("“nunca”, which gives it 0.90") and lock == "es2-en1"


def test_a_long_link_is_the_longest_with_half_of_a_head():
    trace = made_trace(
        "Cats that sleep under big tables purr",
        "Los gatos ronronean",
        [(0, 0, "purr", "sleep", 0.9), (0, 0, "tables", "Cats", 0.6)],
    )
    ((asks, _, lock, _),) = asked(trace, kind="link")
    assert asks == "What links “tables” and “Cats”, 5 words apart?"
    assert lock == "en5-en0"


def choice(pieces, step, *others):
    """What is said of a step of a translation, one piece and its rivals with their
    probabilities."""
    side = Side.of(pieces, "es")
    word = next(i for i, group in enumerate(side.groups) if step in group)
    return next(filter(None, (find._other(side, word, piece) for piece in others)), "")


def test_a_rival_is_another_word_that_a_reader_knows():
    pieces = ("▁averiguar", "▁si", "▁cansad", "a", "</s>")
    # of a word: its beginning, another case, a mark, a letter, a beginning, a word
    rivals = ("▁averigua", "▁Averiguar", "▁,", "▁s", "▁preocup", "▁saber")
    assert choice(pieces, 0, *rivals) == "saber"
    assert choice(pieces, 1, "▁sí") == "sí"
    assert choice(pieces, 3, "▁o", "o") == "cansado", "another end of the same word"
    assert choice(pieces, 3, "</s>", ".") == ""


def test_genders_are_known_by_their_endings():
    english, spanish = (Side.of(("</s>",), code) for code in ("en", "es"))
    for one, other in (
        ("cansada", "cansado"), ("profesora", "profesor"), ("rojas", "rojos"), ("la", "el")
    ):  # fmt: skip
        assert find._are_genders(spanish, one, other)
        assert find._are_genders(spanish, other, one)
    assert find._are_genders(english, "his", "her")
    for one, other in (("cansada", "cansados"), ("tom", "toma"), ("para", "pare")):
        assert not find._are_genders(spanish, one, other)


# Of models


@pytest.fixture(scope="module", params=["tiny_checkpoint", "other_checkpoint"])
def service(request):
    """A model that knows eight sentences, and one of another shape that knows none."""
    found = Service.open(request.getfixturevalue(request.param), "cpu")
    yield found
    found.close()


def share_of(values, rows, columns):
    """How much the pieces of a row look at those of a column, by sums."""
    return sum(float(values[q][k]) for q in rows for k in columns) / len(rows)


def group_of(pieces, at):
    (group,) = [group for group in words(pieces) if at in group]
    return group


def all_words(pieces):
    return [
        group
        for group in words(pieces)
        if pieces[group[0]] not in SPECIAL.values()
        and any(c.isalnum() for i in group for c in pieces[i])
    ]


def check_attention(one, trace, given):
    """The share of a question is that of the words that its address locks, in the head
    that it opens."""
    address, values = one.address, one.values
    assert (values["head"].stack, values["head"].layer, values["head"].head) == (
        address["stack"],
        address["layer"],
        address["head"],
    )
    maps = getattr(trace, address["stack"])[address["layer"] - 1, address["head"] - 1]
    asks_target, asks_source, seen = LOCK.fullmatch(address["lock"]).groups()
    columns = group_of(trace.source, int(seen))
    if asks_source is not None:
        rows = group_of(trace.source, int(asks_source))
        assert address["stack"] == "encoder_self" and abs(rows[0] - columns[0]) > 1
    else:
        own = group_of(trace.predicted, int(asks_target) - 1)
        rows = [i + given for i in own if i + given < len(trace.target)]
    assert values["share"] == pytest.approx(share_of(maps, rows, columns), abs=1e-5)
    assert address["words"] == (
        1 if len(columns) > 1 or len(rows) > 1 or one.asks in ("made", "became") and len(own) > 1 else None
    )  # fmt: skip
    assert f"{values['share']:.2f}" in draw.said(one)
    return maps, rows, columns


def check_refer(one, translation, trace, given):
    maps, rows, columns = check_attention(one, trace, given)
    if one.said in ("refer", "refer_alone"):
        assert one.values["share"] >= BOUND and columns[0] < rows[0] - 1
    if "other" in one.values:
        others = [
            share_of(maps, rows, group)
            for group in all_words(trace.source)
            if group not in (rows, columns)
        ]
        assert any(one.values["other"] == pytest.approx(x, abs=1e-5) for x in others)
        is_led = one.values["other"] > one.values["share"]
        assert is_led <= (one.said == "refer_led")
    if one.said not in ("refer_none", "refer_led"):
        asking = [
            group for group in all_words(trace.source) if group not in (rows, columns)
        ]
        too = [
            max(words(trace.source), key=partial(share_of, maps, group)) == columns
            for group in asking
        ]
        assert (sum(too) > len(too) / 2) == (one.said == "refer_common")


def check_link(one, translation, trace, given):
    _, rows, columns = check_attention(one, trace, given)
    groups = words(trace.source)
    assert one.values["apart"] == abs(groups.index(rows) - groups.index(columns)) >= 4
    assert one.values["share"] == pytest.approx(
        max(
            share_of(trace.encoder_self[layer, head], rows, columns)
            for layer, head in product(*map(range, trace.encoder_self.shape[:2]))
        ),
        abs=1e-5,
    )


def links_of(trace, head, given, content):
    """For each word of the translation that says something, the word of the sentence
    that it looks at most, with its share, by sums."""
    maps = trace.cross[head.at]
    sources = all_words(trace.source)
    everything = words(trace.predicted)
    found = {}
    for i in content:
        rows = [k + given for k in everything[i] if k + given < len(trace.target)]
        shares = [share_of(maps, rows, group) for group in sources]
        best = int(np.argmax(shares))
        found[i] = (sources[best][0], shares[best])
    return found


def check_made(one, translation, trace, given, target):
    maps, _, columns = check_attention(one, trace, given)
    content = target.content or [
        i for i, is_word in enumerate(target.are_words) if is_word
    ]
    found = links_of(trace, one.values["head"], given, content)
    at = words(trace.predicted).index(
        group_of(trace.predicted, int(one.address["lock"][2:].split("-")[0]) - 1)
    )
    assert found[at][0] == columns[0], "it is what the word looks at most"
    is_linked = {i: share >= BOUND - 1e-6 for i, (_, share) in found.items()}
    crosses = sum(
        is_linked[j] and (at - j) * (found[at][0] - found[j][0]) < 0 for j in found
    )
    assert (one.said == "made_none") == (not is_linked[at])
    if is_linked[at]:
        assert one.values["count"] == crosses
        assert (one.said == "made") == (crosses == 0)
        assert (one.said == "made_crosses_one") == (crosses == 1)


def check_became(one, translation, trace, given):
    maps, rows, columns = check_attention(one, trace, given)
    others = [
        share_of(maps, [i + given for i in group if i + given < len(maps)], columns)
        for group in all_words(trace.predicted)
        if group[0] + given < len(maps)
    ]
    assert one.values["share"] == pytest.approx(max(others), abs=1e-5)
    assert (one.said == "became") == (one.values["share"] >= BOUND)


def check_step(one, translation, *_):
    """The probabilities are those of the step that the address opens."""
    best = translation.best
    step = one.address["step"] - 1
    assert one.address["lock"] == f"es{step + 1}"
    assert one.values["p"] == pytest.approx(math.exp(best.log_probs[step]))
    rivals = dict(best.alternatives[step])
    rivals.pop(best.pieces[step], None)
    named = [
        piece
        for piece, value in rivals.items()
        if math.exp(value) == pytest.approx(one.values["other"])
    ]
    assert named and percent(one.values["other"]) in draw.said(one)
    assert percent(one.values["p"]) in draw.said(one)
    if one.asks == "rival":
        assert one.address["rival"] in named
        likelier = one.values["other"] > one.values["p"]
        assert (one.said == "rival") != likelier
    if one.asks == "end":
        assert best.tokens[step] == EOS


def check_second(one, translation, *_):
    first, second = translation.n_best[:2]
    assert one.values["p"] == pytest.approx(math.exp(math.fsum(first.log_probs)))
    assert one.values["other"] == pytest.approx(math.exp(math.fsum(second.log_probs)))


def check_read(one, translation, trace, given):
    at = int(one.address["lock"][2:])
    pieces = [trace.source[i] for i in group_of(trace.source, at)]
    shown = [piece for piece in pieces if piece != "▁"]
    assert (
        one.values["count"] == len(shown) > 1 and one.address["vocab_piece"] == at + 1
    )
    assert "".join(one.values["pieces"]) == "".join(shown).replace("▁", "")


CHECKS = {
    "refer": check_refer,
    "link": check_link,
    "made": check_made,
    "became": check_became,
    "rival": check_step,
    "end": check_step,
    "begin": check_step,
    "second": check_second,
    "read": check_read,
}


@pytest.mark.parametrize("given", [False, True])
def test_each_number_of_forty_sentences_is_that_of_the_pass(service, given):
    seen = set()
    count = 0
    for code, _, text in ROWS:
        translation, trace = service.translate_and_trace(text, OPTIONS, 24)
        target = Side.of(trace.predicted, CODES[code][1])
        head = service.best_head
        for one in questions(translation, trace, CODES[code], head, given):
            more = [target] if one.asks == "made" else []
            CHECKS[one.asks](one, translation, trace, int(given), *more)
            seen.add(one.asks)
            count += 1
    assert len(ROWS) == 40 and count >= 100
    assert {"rival", "made", "became", "read"} <= seen


def test_every_kind_of_question_is_asked_with_its_texts():
    for language in (ENGLISH, SPANISH):
        texts = language.texts
        for key in CHECKS:
            assert texts[f"ask_{key}"].endswith("?")
            assert any(name.startswith(f"said_{key}") for name in texts)


def test_each_address_is_one_that_the_page_reads(running):
    page = laid_out(running)
    for code, _, text in ROWS[::4]:
        translation, trace = running.translate_and_trace(text, OPTIONS, 24)
        for one in questions(translation, trace, CODES[code], running.best_head, True):
            query = {
                key: str(value)
                for key, value in one.address.items()
                if value is not None
            }
            values, problems = page.controls.read(running, query)
            assert not problems and {*one.address} <= {*page.controls}
            assert {key: str(values[key]) for key in query if key != "words"} == {
                key: value for key, value in query.items() if key != "words"
            }


# On the page


def shown(service, text, language=ENGLISH):
    """What stands under the translation of a text."""
    return part.of_pair(service, language, *service.translate_and_trace(text, OPTIONS))


def test_the_questions_come_with_the_translation_and_ask_the_model_nothing(
    running, monkeypatch
):
    translation, trace = running.translate_and_trace(examples(running)[0], OPTIONS)
    for name in ("_translated", "ask", "trace", "translate", "translate_many"):
        monkeypatch.setattr(type(running), name, None)
    html = part.of_pair(running, ENGLISH, translation, trace)
    assert html.count("<li>") == 3 == html.count("data-address")


def test_their_words_are_escaped_and_their_addresses_can_be_read(running):
    html = shown(running, 'The <b>cat</b> & "it" sleeps.')
    assert "<b>" not in html
    for address in re.findall(r'data-address="([^"]*)"', html):
        named = json.loads(unescape(address))
        assert named["tab"] in ("attention", "model") or named["translate_part"]


def test_a_head_that_was_taught_where_to_look_is_named_where_it_answers():
    links = [(1, 2, "it", "car", 0.62)]
    ((*_, one),) = asked(made_trace(*CAR, links, layers=2, heads=3), kind="refer")
    answering, other = (Head("encoder_self", layer, 3) for layer in (2, 1))
    html = draw.questions([one], ENGLISH, [answering])
    assert "In training, layer 2, head 3 was taught to link pronouns" in html
    assert "was taught" not in draw.questions([one], ENGLISH, [other])


def test_how_often_the_noun_is_meant_is_said_where_one_is_named():
    measured = {"pronouns": 87, "said": 72, "right": 49}
    named, none = (
        asked(made_trace(*CAR, links, layers=2, heads=3), kind="refer")[-1][-1]
        for links in ([(1, 2, "it", "car", 0.62)], [])
    )
    html = draw.questions([named], ENGLISH, measured=measured)
    assert "for 49 of 72 pronouns" in html and ". In new sentences" in html
    for one, known in ((named, None), (none, measured)):
        assert "new sentences" not in draw.questions([one], ENGLISH, measured=known)


def test_they_are_in_the_language_of_the_page(running):
    html = shown(running, "She reads a book, and he sings.", SPANISH)
    assert SPANISH.html("ask_title") in html and "¿" in html and "What" not in html


@pytest.mark.parametrize("text", ["cat", "the " * 120, "Hello.", "7", "…"])
def test_a_word_and_a_long_text_have_questions_too(service, text):
    try:
        translation, trace = service.translate_and_trace(text, OPTIONS)
    except UserError:
        return  # the model cannot read it
    found = part.ask(service, translation, trace)
    assert len(found) <= find.MOST
    assert len({(one.asks, str(one.address)) for one in found}) == len(found)


def test_a_model_without_attention_is_asked_of_its_choices(running):
    translation, trace = running.translate_and_trace(ROWS[0][2], OPTIONS)
    none = np.zeros((0, 0, 0, 0), np.float32)
    bare = replace(trace, encoder_self=none, cross=none, decoder_self=none)
    found = questions(translation, bare, ("en", "es"), Head("cross", 1, 1), False)
    assert found and {one.asks for one in found} <= {
        "rival", "read", "end", "begin", "second"
    }  # fmt: skip
    own = replace(trace, encoder_self=none)  # a recurrent one with cross-attention
    found = questions(translation, own, ("en", "es"), running.best_head, False)
    assert "made" in {one.asks for one in found}


def test_a_language_without_lists_has_questions(running):
    translation, trace = running.translate_and_trace(ROWS[0][2], OPTIONS)
    found = questions(translation, trace, ("fi", "sv"), running.best_head, False)
    assert found and not {"refer", "became"} & {one.asks for one in found}


def test_where_pieces_are_drawn_a_likelier_rival_is_no_fault(running):
    drawn = Options(temperature=2.0, seed=3)
    for _, _, text in ROWS[:12]:
        translation, trace = running.translate_and_trace(text, drawn)
        said = {one.said for one in part.ask(running, translation, trace)}
        assert "rival_likelier" not in said
