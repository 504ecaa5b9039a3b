"""Models broken on purpose: both translations, and what gives the mistake away. All
text is escaped."""

import random

from xformer.explain.recorded import divided_after
from xformer.figures.changes import changed_words
from xformer.figures.labels import shown
from xformer.figures.templates import fill
from xformer.results import BUGS, Examined
from xformer.strings import ENGLISH, Language

LETTERS = "ABCDEF"  # of the patients, one for each of BUGS
# The line that is wrong, and the right one, in PyTorch.
CODE = {
    "after": (
        "(q @ k.mT).softmax(dim=-1) / sqrt(d_k)",
        "(q @ k.mT / sqrt(d_k)).softmax(dim=-1)",
    ),
    "queries": ("scores.softmax(dim=-2)", "scores.softmax(dim=-1)"),
    "future": (
        "mask = torch.ones(T, T).bool()",
        "mask = torch.ones(T, T).bool().tril()",
    ),
    "zeroed": ("scores.masked_fill(~mask, 0)", "scores.masked_fill(~mask, -inf)"),
    "positions": (
        "x = embeddings * sqrt(d_model)",
        "x = embeddings * sqrt(d_model) + positions",
    ),
    "unmixed": ("answer = concat(heads)", "answer = concat(heads) @ W_O.mT + b_O"),
}


def patients(seed: int) -> dict[str, str]:
    """Deal the mistakes: letter -> one of BUGS."""
    return dict(zip(LETTERS, random.Random(seed).sample(BUGS, len(BUGS)), strict=True))


def translations(
    healthy: Examined,
    ill: Examined,
    letter: str,
    text: str,
    language: Language = ENGLISH,
) -> str:
    """Show what the healthy model and the patient write for a text, side by side. HTML
    that can be saved."""
    names = (language.say("bugs_healthy"), language.say("bugs_ill", letter=letter))
    return fill(
        "bugs.translations",
        language,
        names=names,
        text=text,
        healthy=healthy.text,
        ill=ill.text,
        changes=changed_words(healthy.text, ill.text),
    )


def reply(
    healthy: Examined, ill: Examined, bug: str, guess: str, language: Language = ENGLISH
) -> str:
    """Say whether the patient's bug is what the reader says, by what its pass would
    have to show then; and, if it is, which line is wrong. HTML."""
    signs = {
        **{f"healthy_{name}": value for name, value in healthy.signs.items()},
        **ill.signs,
        "piece": shown(str(ill.signs["piece"])),
    }
    sign = language.say(
        f"bugs_sign_{guess}",
        **{
            name: f"{value:.3f}" if isinstance(value, float) else value
            for name, value in signs.items()
        },
    )
    if bug == guess == "after" and (trained := divided_after()):
        sign += f" {language.say('bugs_other_weights')} {trained.say(language)}"
    return fill("bugs.reply", language, right=guess == bug, sign=sign, lines=CODE[bug])
