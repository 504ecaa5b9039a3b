"""Models broken on purpose: both translations, and what gives the mistake away. All text is escaped."""

import random
from html import escape

from xformer.figures.ablation import changed_words
from xformer.figures.labels import shown
from xformer.figures.tables import savable
from xformer.results import BUGS, Examined
from xformer.strings import ENGLISH, Language

LETTERS = "ABCDEF"  # of the patients, one for each of BUGS
# The line that is wrong, and the right one, in PyTorch.
CODE = {
    "after": ("(q @ k.mT).softmax(dim=-1) / sqrt(d_k)", "(q @ k.mT / sqrt(d_k)).softmax(dim=-1)"),
    "queries": ("scores.softmax(dim=-2)", "scores.softmax(dim=-1)"),
    "future": ("mask = torch.ones(T, T).bool()", "mask = torch.ones(T, T).bool().tril()"),
    "zeroed": ("scores.masked_fill(~mask, 0)", "scores.masked_fill(~mask, -inf)"),
    "positions": ("x = embeddings * sqrt(d_model)", "x = embeddings * sqrt(d_model) + positions"),
    "unmixed": ("answer = concat(heads)", "answer = concat(heads) @ W_O.mT + b_O"),
}


def patients(seed: int) -> dict[str, str]:
    """Deal the mistakes: letter -> one of BUGS."""
    return dict(zip(LETTERS, random.Random(seed).sample(BUGS, len(BUGS)), strict=True))


def translations(healthy: Examined, ill: Examined, letter: str, text: str, language: Language = ENGLISH) -> str:
    """Show what the healthy model and the patient write for a text, side by side. HTML that can be saved."""
    names = (language.say("bugs_healthy"), language.say("bugs_ill", letter=letter))
    said = (escape(healthy.text), changed_words(healthy.text, ill.text))
    texts = "".join(f'<div><p class="sub">{escape(name)}</p><p class="large" {language.writes}>{one}</p></div>'
                    for name, one in zip(names, said, strict=True))
    same = f'<p>{language.html("bugs_same")}</p>' if healthy.text == ill.text else ""
    read = f'<p class="source" {language.reads}>{escape(text)}</p>'
    return savable(f'{read}<div class="both">{texts}</div>{same}', "weighed", f"{names[1]}: {text}",
                   [language.say("bugs_model"), language.say("weigh_translation")],
                   [*zip(names, (healthy.text, ill.text), strict=True)])


def reply(healthy: Examined, ill: Examined, bug: str, guess: str, language: Language = ENGLISH) -> str:
    """Say whether the patient's bug is what the reader says, by what its pass would have to show then; and, if it is,
    which line is wrong. HTML."""
    html, signs = language.html, {**{f"healthy_{name}": value for name, value in healthy.signs.items()},
                                  **ill.signs, "piece": shown(str(ill.signs["piece"]))}
    sign = html(f"bugs_sign_{guess}", **{name: f"{value:.3f}" if isinstance(value, float) else value
                                         for name, value in signs.items()})
    lines = "".join(f'<p><span class="sub">{html(f"bugs_line_{name}")}</span> <code>{escape(line)}</code></p>'
                    for name, line in zip(("wrong", "right"), CODE[bug], strict=True)) if guess == bug else ""
    verdict = html("lesson_right" if guess == bug else "lesson_wrong")
    return f'<div role="status"><p><b>{verdict}</b> {sign}</p>{lines}</div>'
