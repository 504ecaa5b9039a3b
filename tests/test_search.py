"""Search with toy languages instead of a model: small enough to be worked by hand, or
listed in full."""

import itertools
import math
import random
from itertools import product

import numpy as np
import pytest
import torch

from xformer.pieces import BOS, EOS, PAD
from xformer.results import STOPS, Options, UserError
from xformer.search import LOOKAHEAD, check_prefix, drawn_with, grow, search

A = 4
B = 5
C = 6
D = 7
VOCABULARY = 8


class Toy:
    """A `search.Scorer` over languages: functions from what has been said to the
    probability of each next token."""

    def __init__(self, *languages):
        self.sentences = list(languages)
        self.rows = None  # what each hypothesis has said so far

    def __call__(self, tokens):
        if self.rows is None:
            self.rows = [()] * len(tokens)
            assert tokens.tolist() == [[BOS]] * len(tokens)
        else:
            assert len(tokens) == len(self.rows)
            self.rows = [
                (*row, token)
                for row, (token,) in zip(self.rows, tokens.tolist(), strict=True)
            ]
        assert len(self.rows) % len(self.sentences) == 0
        width = len(self.rows) // len(self.sentences)
        logits = torch.full((len(self.rows), VOCABULARY), -math.inf)
        for n, row in enumerate(self.rows):
            for token, probability in self.sentences[n // width](row).items():
                logits[n, token] = math.log(probability) if probability else -math.inf
        return logits + 3.0  # logits are log-probabilities but for a constant

    def select(self, hypotheses, sentences):
        self.rows = [self.rows[i] for i in hypotheses.tolist()]
        if sentences is not None:
            self.sentences = [self.sentences[i] for i in sentences.tolist()]


class Counted(Toy):
    """A toy that counts the steps of a search."""

    steps = 0

    def __call__(self, tokens):
        self.steps += 1
        return super().__call__(tokens)


def told(table, otherwise):
    """A language written down: what may follow each beginning, and what follows all
    others."""
    return lambda said: table.get(said, otherwise)


def drawn(seed, tokens=(EOS, A, B, C, D), sharpness=1.5):
    """A language drawn at random in which every beginning matters."""

    def language(said):
        rng = random.Random(f"{seed} {said}")
        weights = [math.exp(sharpness * rng.gauss(0, 1)) for _ in tokens]
        return {
            token: weight / sum(weights)
            for token, weight in zip(tokens, weights, strict=True)
        }

    return language


def log_prob(language, tokens):
    return [
        math.log(language(tuple(tokens[:i]))[token]) for i, token in enumerate(tokens)
    ]


def every_sentence(language, limit, tokens=(EOS, A, B)):
    """All that can be said in at most `limit` tokens, with its log-probability."""
    for length in range(1, limit + 1):
        for said in itertools.product(tokens, repeat=length):
            if EOS not in said[:-1] and (said[-1] == EOS or length == limit):
                yield list(said), sum(log_prob(language, said))


def beam_by_hand(
    language, limit, beam, alpha, prefix=(), ends=lambda length, best, done: False
):
    """Beam search over one sentence in plain Python: the K best unfinished live on
    until it `ends`, asked after each step with its number, the best sum that lives on,
    and what is done; to the limit if it is not told."""
    live = [((), 0.0)]
    done = []
    for length in range(1, limit + 1):
        grown = [
            (said + (token,), total + math.log(p))
            for said, total in live
            for token, p in language(said).items()
            if length > len(prefix) or token == prefix[length - 1]
        ]
        live = []
        for rank, (said, total) in enumerate(
            sorted(grown, key=lambda g: -g[1])[: 2 * beam]
        ):
            if said[-1] != EOS and length < limit:
                live.append((said, total))
            elif rank < beam:
                done.append((list(said), total / length**alpha))
            if len(live) == beam:
                break
        if not live or ends(length, live[0][1], done):
            break
    return sorted(done, key=lambda d: -d[1])


def say(hypotheses):
    return [h.tokens for h in hypotheses]


# The trap that greedy search walks into: A is likelier than B, but all that follows A
# is unlikely.
TRAP = told(
    {
        (): {A: 0.6, B: 0.4},
        (A,): {C: 0.4, D: 0.35, EOS: 0.25},
        (B,): {EOS: 0.9, C: 0.1},
    },
    {EOS: 1.0},
)


# Worked by hand


def test_greedy_search_takes_the_likeliest_token_and_beam_search_the_likeliest_sentence():
    """Greedy: A C EOS, 0.6 * 0.4 * 1 = 0.24. The better one: B EOS, 0.4 * 0.9 =
    0.36."""
    (greedy,), (beam,) = (
        search(Toy(TRAP), [5], Options(beam=k, length_penalty=0))[0] for k in (1, 2)
    )
    assert (greedy.tokens, beam.tokens) == ([A, C, EOS], [B, EOS])
    assert greedy.score == pytest.approx(
        math.log(0.24)
    ) and beam.score == pytest.approx(math.log(0.36))
    assert greedy.log_probs == pytest.approx(
        [math.log(0.6), math.log(0.4), 0.0], abs=1e-6
    )
    assert greedy.finished and beam.finished


def test_the_n_best_come_in_order_and_differ():
    """B EOS 0.36, A C EOS 0.24, A D EOS 0.21, A EOS 0.15; B C EOS 0.04."""
    hypotheses = search(Toy(TRAP), [5], Options(beam=5, n_best=5, length_penalty=0))[0]
    assert say(hypotheses) == [
        [B, EOS],
        [A, C, EOS],
        [A, D, EOS],
        [A, EOS],
        [B, C, EOS],
    ]
    assert [math.exp(h.score) for h in hypotheses] == pytest.approx(
        [0.36, 0.24, 0.21, 0.15, 0.04]
    )


def test_a_length_penalty_favours_the_longer():
    """ln 0.36 / 2 = -0.51, ln 0.24 / 3 = -0.48: A C EOS is better by the token, B EOS
    as a whole."""
    best = {
        alpha: search(Toy(TRAP), [5], Options(beam=5, length_penalty=alpha))[0][0]
        for alpha in (0, 1)
    }
    assert (best[0].tokens, best[1].tokens) == ([B, EOS], [A, C, EOS])
    assert best[1].score == pytest.approx(math.log(0.24) / 3)


def test_a_finished_hypothesis_must_beat_what_would_live_in_its_place():
    """With a beam of 2, EOS (0.2) ranks third behind A and B; with a beam of 3 it is
    kept."""
    language = told({(): {A: 0.5, B: 0.3, EOS: 0.2}}, {EOS: 1.0})
    assert say(
        search(Toy(language), [5], Options(beam=2, n_best=2, length_penalty=0))[0]
    ) == [[A, EOS], [B, EOS]]
    assert [EOS] in say(search(Toy(language), [5], Options(beam=3, n_best=3))[0])


def test_alternatives_are_the_likeliest_tokens_of_each_step():
    (best,) = search(Toy(TRAP), [5], Options(beam=2, length_penalty=0, alternatives=2))[
        0
    ]
    assert [[token for token, _ in step] for step in best.alternatives] == [
        [A, B],
        [EOS, C],
    ]
    assert [
        math.exp(value) for step in best.alternatives for _, value in step
    ] == pytest.approx([0.6, 0.4, 0.9, 0.1])


def test_alternatives_may_be_left_out():
    assert search(Toy(TRAP), [5], Options(alternatives=0))[0][0].alternatives == [
        [],
        [],
        [],
    ]


def test_the_limit_cuts_a_sentence_off():
    endless = told({}, {A: 0.9, EOS: 0.1})
    for limit in (1, 3):
        (best,) = search(Toy(endless), [limit], Options(beam=1))[0]
        assert best.tokens == [A] * limit and not best.finished
        assert best.score == pytest.approx(math.log(0.9))  # a token, by length^1


def test_a_sentence_that_ends_at_the_limit_is_finished():
    (best,) = search(Toy(told({(A,): {EOS: 1.0}}, {A: 1.0})), [2], Options(beam=1))[0]
    assert best.tokens == [A, EOS] and best.finished


def test_padding_and_beginnings_are_never_said():
    """A model that wants to say PAD and BOS is held to the rest, whose
    log-probabilities stay its own."""
    language = told({}, {PAD: 0.5, BOS: 0.3, A: 0.15, EOS: 0.05})
    for options in (
        Options(beam=3, n_best=3, length_penalty=0),
        Options(temperature=1, n_best=20),
    ):
        for one in search(Toy(language), [3], options)[0]:
            assert not {PAD, BOS} & set(one.tokens)
            assert [math.exp(p) for p in one.log_probs] == pytest.approx(
                [{A: 0.15, EOS: 0.05}[token] for token in one.tokens]
            )


# Against other ways to search


def test_greedy_search_is_a_loop_over_argmax():
    for seed in range(20):
        language = drawn(seed)
        said = []
        while len(said) < 12 and said[-1:] != [EOS]:
            likely = language(tuple(said))
            said.append(max(likely, key=likely.get))
        (best,) = search(Toy(language), [12], Options(beam=1))[0]
        assert best.tokens == said
        assert best.log_probs == pytest.approx(log_prob(language, said), abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_a_beam_that_holds_everything_finds_the_best_of_all(alpha):
    """31 sentences of A, B and EOS have at most four tokens, and a beam of 32 drops
    none."""
    for seed in range(10):
        language = drawn(seed, tokens=(EOS, A, B))
        want = sorted(
            (
                (said, total / len(said) ** alpha)
                for said, total in every_sentence(language, 4)
            ),
            key=lambda pair: -pair[1],
        )
        hypotheses = search(
            Toy(language), [4], Options(beam=32, n_best=32, length_penalty=alpha)
        )[0]
        assert len(want) == 31 and say(hypotheses) == [said for said, _ in want]
        assert [h.score for h in hypotheses] == pytest.approx(
            [score for _, score in want], abs=1e-5
        )
        assert all(h.finished == (h.tokens[-1] == EOS) for h in hypotheses)


def requests(beam):
    """Fifteen toy languages, each with a limit and a prefix."""
    rng = random.Random(beam)
    for seed in range(15):
        limit = rng.randint(4, 9)
        yield (
            drawn(seed),
            limit,
            [rng.choice((A, B, C, D)) for _ in range(rng.randint(0, 3))],
        )


def same(hypotheses, want):
    assert say(hypotheses) == [said for said, _ in want]
    assert [h.score for h in hypotheses] == pytest.approx(
        [score for _, score in want], abs=1e-5
    )


@pytest.mark.parametrize("beam", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_search_equals_the_one_in_plain_python(beam, alpha):
    """CTranslate2's rule: it ends when K hypotheses have finished."""
    options = Options(beam=beam, n_best=beam, length_penalty=alpha, stop="k_finished")
    for language, limit, prefix in requests(beam):
        want = beam_by_hand(
            language,
            limit,
            beam,
            alpha,
            prefix,
            lambda _, best, done: len(done) >= beam,
        )[:beam]
        same(search(Toy(language), [limit], options, [prefix])[0], want)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("beam", "n_best"), [(2, 1), (2, 2), (3, 1), (5, 1), (5, 3), (5, 5), (8, 2)]
)
def test_a_beam_ends_as_if_it_had_gone_on_to_the_limit(beam, n_best, alpha):
    """The n best are those of a beam in plain Python that never ends early."""
    options = Options(beam=beam, n_best=n_best, length_penalty=alpha, stop="bound")
    for language, limit, prefix in requests(beam):
        same(
            search(Toy(language), [limit], options, [prefix])[0],
            beam_by_hand(language, limit, beam, alpha, prefix)[:n_best],
        )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("beam", "n_best"), [(2, 1), (3, 3), (5, 1), (5, 3)])
def test_a_beam_that_looks_ahead_equals_the_one_in_plain_python(beam, n_best, alpha):
    def ends(length, best, done):
        if len(done) < n_best:
            return False
        last = sorted((score for _, score in done), reverse=True)[n_best - 1]
        return best / min(limit, length + LOOKAHEAD) ** alpha <= last

    options = Options(beam=beam, n_best=n_best, length_penalty=alpha)
    for language, limit, prefix in requests(beam):
        limit += 9
        same(
            search(Toy(language), [limit], options, [prefix])[0],
            beam_by_hand(language, limit, beam, alpha, prefix, ends)[:n_best],
        )


def test_looking_ahead_misses_what_catches_up_later():
    """</s> has ln 0.6 = -0.51. A ... A </s> begins with ln 0.01 = -4.61, which is -0.77
    a token after five more, but
    -0.33 after thirteen."""
    language = told(
        {(): {EOS: 0.6, A: 0.01, PAD: 0.39}, (A,) * 13: {EOS: 1.0}}, {A: 1.0}
    )
    best = {
        stop: search(Toy(language), [20], Options(stop=stop))[0][0] for stop in STOPS
    }
    assert best["bound"].tokens == [A] * 13 + [EOS] and best[
        "bound"
    ].score == pytest.approx(math.log(0.01) / 14)
    assert best["lookahead"].tokens == [EOS] and best[
        "lookahead"
    ].score == pytest.approx(math.log(0.6))


@pytest.mark.parametrize("n_best", [1, 5])
@pytest.mark.slow
def test_a_beam_ends_before_the_limit_where_nothing_can_become_better(n_best):
    """Once it can only get worse, it takes no more steps; a limit of 1,000 would allow
    as many."""
    language = told(
        {(): {A: 0.9, B: 0.1}, (A,): {B: 0.8, EOS: 0.2}}, {EOS: 0.5, A: 0.3, C: 0.2}
    )
    for stop, alpha, most in (
        ("bound", 0.0, 10),
        ("bound", 0.5, 100),
        ("bound", 1.0, 990),
        ("lookahead", 1.0, 20),
    ):
        toy = Counted(language)
        best = search(
            toy, [1000], Options(n_best=n_best, length_penalty=alpha, stop=stop)
        )[0]
        assert toy.steps < most and len(best) == n_best


@pytest.mark.parametrize("stop", ["lookahead", "bound"])
@pytest.mark.parametrize("beam", [2, 3, 5, 8])
@pytest.mark.slow
def test_a_beam_is_worse_than_greedy_search_only_where_it_dropped_that_hypothesis(
    beam, stop
):
    """By its own score; it drops it in one of these 300 languages with a beam of 2,
    else in none."""
    languages = [drawn(f"greedy {seed}", sharpness=2.5) for seed in range(300)]
    greedy, best = (
        search(Toy(*languages), [20] * 300, Options(beam=k, stop=stop))
        for k in (1, beam)
    )
    worse = [i for i in range(300) if best[i][0].score < greedy[i][0].score - 1e-6]
    assert len(worse) == (beam == 2)
    for i in worse:
        assert greedy[i][0].tokens not in [
            said for said, _ in beam_by_hand(languages[i], 20, beam, 1.0)
        ]


def test_early_ends_do_not_end_a_beam_that_holds_something_better():
    """After any word but the last </s> has a probability of 0.1. With a beam of 2, <s>
    </s> (ln 0.1 = -2.3) and A </s> (ln 0.09 / 2 = -1.2) finish first; A A A A </s> has
    ln 0.9^5 / 5 = -0.1."""
    language = told({(A,) * 4: {EOS: 0.9, B: 0.1}}, {A: 0.9, EOS: 0.1})
    for options in (
        Options(beam=1),
        Options(beam=2),
        Options(beam=5),
        Options(beam=2, stop="bound"),
    ):
        (best,) = search(Toy(language), [10], options)[0]
        assert best.tokens == [A, A, A, A, EOS] and best.score == pytest.approx(
            math.log(0.9)
        )
    (early,) = search(Toy(language), [10], Options(beam=2, stop="k_finished"))[0]
    assert early.tokens == [A, EOS] and early.score == pytest.approx(math.log(0.09) / 2)


# What every hypothesis must be


SETTINGS = [
    Options(beam=1),
    Options(beam=4, n_best=4),
    Options(beam=4, n_best=4, length_penalty=0.3),
    Options(temperature=1.0, n_best=6),
    Options(temperature=2.0, n_best=6, top_k=3, top_p=0.9),
]
IDS = ["greedy", "beam", "alpha", "sampling", "nucleus"]


@pytest.mark.parametrize("options", SETTINGS, ids=IDS)
def test_numbers_are_the_languages_own(options):
    """Log-probabilities and alternatives of every hypothesis, whatever temperature,
    cut-offs and prefixes did to the choice; several sentences of unequal limits run
    together, and end at different times."""
    languages = [drawn(f"numbers {i}") for i in range(6)]
    limits = [3, 9, 1, 6, 9, 7]
    prefixes = [[], [B, C], [D], [A], [D, D, D, D], []]
    for language, limit, prefix, hypotheses in zip(
        languages,
        limits,
        prefixes,
        search(Toy(*languages), limits, options, prefixes),
        strict=True,
    ):
        assert len(hypotheses) == options.n_best or limit == len(prefix)
        assert [h.score for h in hypotheses] == sorted(
            (h.score for h in hypotheses), reverse=True
        )
        for h in hypotheses:
            assert h.tokens[: len(prefix)] == prefix and len(h.tokens) <= limit
            assert EOS not in h.tokens[:-1] and h.finished == (h.tokens[-1] == EOS)
            assert h.finished or len(h.tokens) == limit
            assert h.log_probs == pytest.approx(log_prob(language, h.tokens), abs=1e-5)
            assert h.score == pytest.approx(
                sum(h.log_probs) / len(h.tokens) ** options.length_penalty, abs=1e-5
            )
            for i, alternatives in enumerate(h.alternatives):
                likely = language(tuple(h.tokens[:i]))
                assert [token for token, _ in alternatives] == sorted(
                    likely, key=likely.get, reverse=True
                )
                assert [math.exp(p) for _, p in alternatives] == pytest.approx(
                    sorted(likely.values(), reverse=True)
                )
            assert len(h.alternatives) == len(h.log_probs) == len(h.tokens)


@pytest.mark.parametrize("beam", [1, 3, 6])
def test_a_batch_of_unequal_sentences_equals_each_alone(beam):
    languages = [drawn(f"batch {i}") for i in range(8)]
    limits = [4, 10, 1, 7, 10, 2, 6, 9]
    prefixes = [[], [A], [C], [B, B, B, B, B], [], [D], [], [C, A]]
    options = Options(beam=beam, n_best=beam)
    together = search(Toy(*languages), limits, options, prefixes)
    alone = [
        search(Toy(language), [limit], options, [prefix])[0]
        for language, limit, prefix in zip(languages, limits, prefixes, strict=True)
    ]
    assert together == alone


def test_beam_hypotheses_are_distinct():
    for seed in range(10):
        hypotheses = say(search(Toy(drawn(seed)), [8], Options(beam=8, n_best=8))[0])
        assert len({tuple(tokens) for tokens in hypotheses}) == len(hypotheses) == 8


def test_no_sentences_give_no_hypotheses():
    assert search(Toy(), []) == []


# Prefixes


def test_a_prefix_that_fills_the_limit_is_cut_off():
    (best,) = search(Toy(TRAP), [2], Options(beam=3), [[B, C]])[0]
    assert best.tokens == [B, C] and not best.finished
    assert best.score == pytest.approx(math.log(0.4 * 0.1) / 2)


def test_a_prefix_with_its_end_is_the_whole_sentence():
    hypotheses = search(Toy(TRAP), [5], Options(beam=3), [[A, EOS]])[0]
    assert say(hypotheses) == [[A, EOS]] and hypotheses[0].finished


def test_a_prefix_that_is_unlikely_is_still_kept():
    language = told({(): {A: 0.999, B: 0.001}, (B,): {C: 0.01, D: 0.99}}, {EOS: 1.0})
    (best,) = search(Toy(language), [5], Options(beam=2), [[B, C]])[0]
    assert best.tokens == [B, C, EOS]
    assert [math.exp(p) for p in best.log_probs] == pytest.approx(
        [0.001, 0.01, 1.0], rel=1e-4
    )


@pytest.mark.parametrize(
    ("limits", "prefixes", "text"),
    [
        ([3], [[A], [B]], "there are 2 prefixes for 1 sentences; give one to each"),
        (
            [2],
            [[A, B, C]],
            "a target of at most 2 pieces cannot begin with 3 given ones",
        ),
        ([0], None, "a target of at most 0 pieces cannot begin with 0 given ones"),
        (
            [5],
            [[A, EOS, B]],
            "the prefix [4, 3, 5] goes on after </s>, which ends a target; leave out what follows",
        ),
        (
            [5],
            [[A, -1]],
            "the prefix [4, -1] holds -1, which is no piece; pieces are 0 and above",
        ),
    ],
)
def test_wrong_prefixes_are_refused(limits, prefixes, text):
    with pytest.raises(ValueError) as error:
        search(Toy(*[TRAP] * len(limits)), limits, None, prefixes)
    assert str(error.value) == text


# Sampling


LIKELY = {EOS: 0.05, A: 0.4, B: 0.3, C: 0.2, D: 0.05}


def samples(language, limit, seeds, **options):
    """The samples of one sentence after the other, each drawn with a seed of its
    own."""
    return [
        search(
            Toy(language),
            [limit],
            Options(seed=seed, **{"temperature": 1.0, **options}),
        )[0]
        for seed in range(seeds)
    ]


def first_tokens(**options):
    """How often each token came first among 4,800 samples."""
    drawn_samples = samples(told({}, LIKELY), 1, 150, n_best=32, **options)
    tokens = [h.tokens[0] for hypotheses in drawn_samples for h in hypotheses]
    assert len(tokens) == 4800
    return np.bincount(tokens, minlength=VOCABULARY)


def test_the_same_seed_draws_the_same():
    def draw(seed):
        return search(
            Toy(drawn("seed")), [20], Options(temperature=1.5, n_best=10, seed=seed)
        )

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_samples_do_not_depend_on_what_shares_their_batch():
    """Sentences of unequal limits, prefixes and numbers of steps draw alone what they
    draw together."""
    languages = [
        drawn(f"alone {i}", sharpness=1 + i / 4) for i in (0, 1, 2, 3, 1, 4, 5)
    ]
    limits = [9, 30, 1, 30, 30, 12, 30]
    prefixes = [[], [A], [], [B, C], [A], [], [D]]
    options = Options(temperature=1.2, n_best=4, seed=7, top_p=0.95)
    together = search(Toy(*languages), limits, options, prefixes)
    alone = [
        search(Toy(language), [limit], options, [prefix])[0]
        for language, limit, prefix in zip(languages, limits, prefixes, strict=True)
    ]
    assert together == alone
    assert together[1] == together[4], "equal sentences draw the same"
    assert len({len(h.tokens) for h in together[3]}) > 1, "they end at different times"


def test_sampling_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    want = torch.rand(1)
    torch.manual_seed(0)
    search(Toy(TRAP), [5], Options(temperature=1.0, seed=9))
    assert torch.equal(torch.rand(1), want)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_are_as_frequent_as_likely(temperature):
    """Pearson's chi-square of 5 outcomes is above 23.5 once in 10,000 fair draws."""
    counts = first_tokens(temperature=temperature)
    weights = np.array(
        [LIKELY.get(token, 0.0) ** (1 / temperature) for token in range(VOCABULARY)]
    )
    want = 4800 * weights / weights.sum()
    possible = want > 0
    assert counts[~possible].sum() == 0
    assert ((counts - want)[possible] ** 2 / want[possible]).sum() < 23.5


def test_the_samples_of_a_sentence_are_drawn_independently():
    """Half of all pairs of neighbours agree where two tokens are equally likely."""
    pairs = samples(told({}, {A: 0.5, B: 0.5}), 12, 100, n_best=2)
    equal = [np.mean(np.equal(one.tokens, other.tokens)) for one, other in pairs]
    assert np.mean(equal) == pytest.approx(0.5, abs=4 * 0.5 / 1200**0.5)


def test_samples_go_on_after_others_have_ended():
    """The tokens after the first are as likely as the language says, however rows were
    moved about."""
    language = told(
        {(): {EOS: 0.5, A: 0.3, B: 0.2}, (A,): {C: 1.0}, (B,): {D: 1.0}}, {EOS: 1.0}
    )
    sentences = [
        h.tokens
        for hypotheses in samples(language, 5, 40, n_best=30)
        for h in hypotheses
    ]
    kinds = [[EOS], [A, C, EOS], [B, D, EOS]]
    counts = np.array([sentences.count(kind) for kind in kinds])
    assert counts.sum() == len(sentences) == 1200
    want = 1200 * np.array([0.5, 0.3, 0.2])
    # once in 10,000 for three outcomes
    assert ((counts - want) ** 2 / want).sum() < 18.4


def test_the_likeliest_alone_is_greedy_search():
    for seed in range(10):
        greedy = search(Toy(drawn(seed)), [12], Options(beam=1))[0]
        for options in (
            Options(temperature=1.3, top_k=1, seed=seed),
            Options(temperature=1.3, top_p=0.01, seed=seed),
        ):
            (best,) = search(Toy(drawn(seed)), [12], options)[0]
            assert best.tokens == greedy[0].tokens
            assert best.log_probs == pytest.approx(greedy[0].log_probs)


def test_without_top_k_and_top_p_nothing_is_left_out():
    scores = torch.linspace(0, -25, 8000)[None].log_softmax(dim=1)
    assert (drawn_with(scores, Options(temperature=0.5)) > 0).all()
    assert not (drawn_with(scores, Options(temperature=0.5, top_p=0.999)) > 0).all()


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"top_k": 2}, {A, B}),
        ({"top_k": 3}, {A, B, C}),
        ({"top_k": 100}, set(LIKELY)),
        ({"top_p": 0.39}, {A}),
        ({"top_p": 0.41}, {A, B}),
        ({"top_p": 0.69}, {A, B}),
        ({"top_p": 0.71}, {A, B, C}),
        ({"top_p": 1.0}, set(LIKELY)),
        ({"top_p": 0.71, "top_k": 2}, {A, B}),
    ],
)
@pytest.mark.slow
def test_cut_offs_leave_out_the_tail(options, allowed):
    counts = first_tokens(temperature=1.0, **options)
    assert set(np.flatnonzero(counts)) == allowed
    want = np.array([LIKELY[token] for token in sorted(allowed)])
    share = counts[sorted(allowed)] / 4800
    np.testing.assert_allclose(share, want / want.sum(), atol=4 * 0.5 / 4800**0.5)


def test_top_p_cuts_what_temperature_has_shaped():
    """At a temperature of 0.5 the four likeliest have 0.533, 0.3, 0.133 and 0.008 of
    the whole: 0.5 is one token's."""
    assert set(np.flatnonzero(first_tokens(temperature=0.5, top_p=0.5))) == {A}
    assert set(np.flatnonzero(first_tokens(temperature=1.0, top_p=0.5))) == {A, B}


# Options


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"beam": 0}, "beam is 0; it must be between 1 and 32"),
        ({"beam": 33}, "beam is 33; it must be between 1 and 32"),
        ({"n_best": 0}, "n_best is 0; it must be between 1 and 32"),
        (
            {"length_penalty": -0.1},
            "length_penalty is -0.1; it must be between 0 and 5",
        ),
        ({"temperature": -1}, "temperature is -1; it must be between 0 and 10"),
        (
            {"temperature": float("nan")},
            "temperature is nan; it must be between 0 and 10",
        ),
        ({"top_k": -1}, "top_k is -1; it must be between 0 and 100000"),
        ({"top_p": 1.1}, "top_p is 1.1; it must be between 0 and 1"),
        (
            {"stop": "soon"},
            "stop is 'soon'; choose one of lookahead, bound, k_finished",
        ),
        ({"top_p": 0}, "top_p is 0; it must be above 0 to leave a piece to choose"),
        ({"alternatives": 33}, "alternatives is 33; it must be between 0 and 32"),
        (
            {"beam": 2, "n_best": 3},
            "n_best is 3, but a beam of 2 ends with 2 hypotheses; raise beam or lower n_best",
        ),
    ],
)
def test_wrong_options_are_refused(change, text):
    with pytest.raises(ValueError) as error:
        Options(**change)
    assert str(error.value) == text


def test_samples_need_no_beam():
    assert Options(beam=1, n_best=8, temperature=1.0).sampling
    assert not Options().sampling


@pytest.mark.parametrize("special", [PAD, BOS])
def test_a_prefix_of_pieces_that_no_target_has_is_refused(special):
    with pytest.raises(
        ValueError, match=r"holds <pad> or <s>, which no target has; leave them out"
    ):
        search(None, [5], prefixes=[[special]])


def test_a_prefix_is_checked_against_the_vocabulary_where_it_is_known():
    check_prefix([A, VOCABULARY - 1, EOS], 5, VOCABULARY)
    check_prefix([A, VOCABULARY], 5)
    with pytest.raises(
        ValueError,
        match=r"the prefix \[4, 8\] holds 8, which is no piece; pieces are 0 to 7",
    ):
        check_prefix([A, VOCABULARY], 5, VOCABULARY)


def test_a_prefix_that_ends_the_sentence_takes_no_more_steps():
    toy = Counted(TRAP)
    assert say(search(toy, [50], Options(beam=3, n_best=3), [[A, EOS]])[0]) == [
        [A, EOS]
    ]
    assert toy.steps == 2


# A spoilt model


class Spoilt(Toy):
    """A toy whose logits are NaN from a step on."""

    def __init__(self, *languages, step):
        super().__init__(*languages)
        self.left = step

    def __call__(self, tokens):
        self.left -= 1
        logits = super().__call__(tokens)
        return logits if self.left > 0 else logits * math.nan


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(
    "options", [Options(beam=1), Options(beam=3), Options(temperature=1.0)]
)
def test_logits_that_are_no_numbers_are_refused_in_a_sentence(options, step):
    with pytest.raises(
        UserError,
        match=r"^The model's probabilities are not numbers .+: take another checkpoint\.$",
    ):
        search(Spoilt(drawn(1, (A, B)), step=step), [4], options)


def beginnings(branches):
    """What each branch of a tree says from the beginning on."""
    said = []
    for branch in branches:
        said.append(
            (*(() if branch.parent is None else said[branch.parent]), branch.token)
        )
    return said


@pytest.mark.parametrize(
    ("beam", "alpha", "prefix", "seed"),
    [
        *(
            (beam, alpha, (), seed)
            for beam, alpha, seed in product((1, 2, 3, 8), (0.0, 1.0), range(3))
        ),
        (3, 1.0, (B, A), 0),
    ],
)
def test_a_tree_holds_what_a_beam_in_plain_python_thinks_of(beam, alpha, prefix, seed):
    language = drawn(seed)
    limit = 6
    options = Options(beam=beam, n_best=beam, length_penalty=alpha, stop="bound")
    best, branches = grow(Toy(language), limit, options, prefix)
    assert say(best) == say(search(Toy(language), [limit], options, [list(prefix)])[0])
    said = beginnings(branches)
    live = {()}
    for step in range(max(branch.step for branch in branches) + 1):
        here = [i for i, branch in enumerate(branches) if branch.step == step]
        grown = sorted(
            (
                (sum(log_prob(language, (*start, token))), (*start, token))
                for start in live
                for token in language(start)
                if step >= len(prefix) or token == prefix[step]
            ),
            reverse=True,
        )
        assert [said[i] for i in here] == [tokens for _, tokens in grown[: 2 * beam]]
        for i in here:
            assert branches[i].total == pytest.approx(
                sum(log_prob(language, said[i])), abs=1e-5
            )
            assert branches[i].score == pytest.approx(
                branches[i].total / (step + 1) ** alpha
            )
            assert branches[i].log_prob == pytest.approx(
                log_prob(language, said[i])[-1], abs=1e-5
            )
        live = {said[i] for i in here if branches[i].fate == "kept"}
        unfinished = [said[i] for i in here if said[i][-1] != EOS]
        assert live == (set(unfinished[:beam]) if step + 1 < limit else set())
    ended = [said[i] for i, branch in enumerate(branches) if branch.fate == "ended"]
    assert {tuple(h.tokens) for h in best} <= set(ended)


def test_a_tree_tells_what_greedy_search_dropped_of_the_trap():
    best, branches = grow(Toy(TRAP), 5, Options(beam=1))
    assert [(b.token, b.fate) for b in branches if b.step == 0] == [
        (A, "kept"),
        (B, "dropped"),
    ]
    assert say(best) == [[A, C, EOS]]


def test_samples_make_no_tree():
    with pytest.raises(ValueError, match="set the temperature to 0"):
        grow(Toy(TRAP), 5, Options(temperature=1.0))


@pytest.mark.parametrize(
    "options", [Options(temperature=1e-300), Options(temperature=1.0, top_p=1e-300)]
)
def test_the_likeliest_is_certain_at_the_smallest_settings(options):
    scores = torch.tensor([[-0.7, -5.0, -torch.inf, -9.0]])
    assert drawn_with(scores, options).tolist() == [[1, 0, 0, 0]]
