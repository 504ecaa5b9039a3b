"""Models broken on purpose: both translations, one head in both, and what gives the mistake away. Text is escaped."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import replace
from html import escape

from xformer.figures.ablation import changed_words
from xformer.figures.attention import Choice, Picture, picture
from xformer.figures.labels import place, shown
from xformer.figures.tables import savable
from xformer.results import BUGS, Examined, Head, ModelInfo, Trace
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


def translations(found: Examined, letter: str, text: str, language: Language = ENGLISH) -> str:
    """Show what the healthy model and the patient write for a text, side by side. HTML that can be saved."""
    say, html = language.say, language.html
    names = (say("bugs_healthy"), say("bugs_ill", letter=letter))
    said = (escape(found.healthy), changed_words(found.healthy, found.patient))
    texts = "".join(f'<div><p class="sub">{escape(name)}</p><p class="large" lang="es">{one}</p></div>'
                    for name, one in zip(names, said, strict=True))
    same = f'<p>{html("bugs_same")}</p>' if found.healthy == found.patient else ""
    return savable(f'<p class="source" lang="en">{escape(text)}</p><div class="both">{texts}</div>{same}',
                   "bugs-texts", f"{names[1]}: {text}", [say("bugs_model"), say("weigh_translation")],
                   [*zip(names, (found.healthy, found.patient), strict=True)])


def maps(trace: Trace, found: Examined, choice: Choice, letter: str, given: Collection[Head],
         language: Language = ENGLISH) -> tuple[Picture, Picture]:
    """Picture a head of the healthy model and of the patient. given: the heads that align the piece they were given."""
    old, new = (picture(one, choice, language, given=given) for one in (trace, found.trace))
    return (replace(old, title=f'{language.say("bugs_healthy")} · {old.title}'),
            replace(new, title=f'{language.say("bugs_ill", letter=letter)} · {new.title}'))


def reply(found: Examined, bug: str, guess: str, info: ModelInfo, language: Language = ENGLISH) -> str:
    """Say whether the patient's bug is what the reader says, by what its pass would have to show then; and, if it is,
    which line is wrong. HTML."""
    html, its, own = language.html, found.signs, found.healthy_signs
    width = info.d_model // info.n_heads
    numbers = {"least": its.rows[0], "most": its.rows[1], "columns": its.columns[0], "tallest": its.columns[1],
               "scale": 1 / math.sqrt(width), "later": its.later, "each": its.each[0], "largest": its.each[1],
               "cosine": its.backwards, "healthy_cosine": own.backwards, "share": its.own, "healthy_share": own.own}
    sign = html(f"bugs_sign_{guess}", head=place(its.head, language), piece=shown(its.piece), width=width,
                d_model=info.d_model, **{name: f"{value:.3f}" for name, value in numbers.items()})
    said = f'<p><b>{html("lesson_right" if guess == bug else "lesson_wrong")}</b> {sign}</p>'
    if guess == bug:
        said += "".join(f'<p><span class="sub">{html(f"bugs_line_{name}")}</span> <code>{escape(line)}</code></p>'
                        for name, line in zip(("wrong", "right"), CODE[bug], strict=True))
    return f'<div role="status" class="bugs-reply">{said}</div>'
