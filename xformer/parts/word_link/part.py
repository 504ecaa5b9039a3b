"""Part of the Attention tab about two words: how much one looks at the other in every
head, and if one is replaced."""

from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.figures import pairs as compared_figures
from xformer.figures import word_link as figures
from xformer.figures.locked_word import LETTERS, locked
from xformer.results import Message, Options, Trace, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "word-link"  # which xformer/parts/attention/locked_word.js opens
NAME = "drawer_link"


def build(part: Layout, look: Layout) -> None:
    """Lay the part out; called inside it. The words that are locked are those it is
    about."""
    say = part.say
    part.note("link_text", "link_title")
    with gr.Row(elem_classes="ask two-sentences"):
        part["asks"] = gr.Dropdown([], label=say("link_asks"), scale=2, min_width=170)
        part["seen"] = gr.Dropdown([], label=say("link_seen"), scale=2, min_width=170)
        part["other"] = gr.Textbox(
            label=say("link_other"),
            placeholder=say("link_other_hint"),
            lines=1,
            max_lines=1,
            scale=2,
            min_width=170,
        )
        replace_button = gr.Button(say("link_replace"), scale=1, min_width=130)
        leave_button = gr.Button(say("link_leave"), scale=1, min_width=130)
    part.status()
    pictures = part.pictures("word-link", tab=None)
    pictures.input("asks", part["asks"])
    pictures.input("seen", part["seen"])
    pictures.follow(offer, "asks", "seen")
    pictures.add("shares", part.table("tables word-links"), shares)
    pictures.add("result", part.table("compared"), nothing)
    pictures.listen(part["problem"], part["trace"].change, part["lock"].change)
    gr.on(
        [part["asks"].input, part["seen"].input],
        **part.listener(choose, "lock"),
        **QUIET,
    )
    for events, handler in (
        ([replace_button.click, part["other"].submit], replace),
        ([leave_button.click], leave_out),
    ):
        gr.on(
            events,
            **pictures.listener(
                part["problem"], handler, inputs={"other": part["other"]}
            ),
            **QUIET,
        )


def offer(trace: Trace | None, lock: str) -> dict[str, Any]:
    """Offer the words of a pair, those that are locked chosen."""
    if trace is None:
        return {}
    words = locked(lock)
    choices = figures.choices(trace)
    known = {name for _, name in choices}
    return {
        name: gr.update(
            choices=choices,
            value=value if (value := _first(trace, word)) in known else None,
        )
        for name, word in (("asks", words.asks), ("seen", words.seen))
    }


def shares(
    service: TranslationService, language: Language, trace: Trace | None, lock: str
) -> str | None:
    """Show the share of two locked words in all heads, or ask for them."""
    if trace is None:
        return None
    words = locked(lock)
    given = given_heads(service.info, service.alignment_errors)
    hint = language.html("link_none" if words.asks and words.seen else "link_hint")
    return figures.grids(trace, words, given, language) or f"<p>{hint}</p>"


def nothing(trace: Trace | None, lock: str) -> None:
    """What another word changes, before one is put in the place of a locked one."""


def _first(trace: Trace, word: figures.Word | None) -> str | None:
    """Write the first piece of the word in which a locked piece stands as `choices`
    does."""
    group = figures.group_of(trace, word) if word else []
    return f"{LETTERS[word[0]]}{group[0]}" if word and group else None


def choose(
    _: TranslationService, language: Language, *, asks: str | None, seen: str | None
) -> dict[str, str]:
    """Lock the words that are chosen, for all that the page shows."""
    return {"lock": (asks or "") + (f"-{seen}" if seen else "")}


@needs(trace="no_trace", other="link_no_other")
def replace(
    service: TranslationService,
    language: Language,
    *,
    trace: Trace,
    lock: str,
    other: str,
    translation: Translation | None,
) -> dict[str, Any]:
    """Put another word in the place of one, translate again, and show the same share
    there."""
    compared = service.compare(
        _whole(trace, translation),
        _changed(trace, lock, other.strip()),
        _options(translation),
    )
    given = given_heads(service.info, service.alignment_errors)
    return {
        "shares": figures.grids(
            trace, locked(lock), given, language, compared.traces[1]
        ),
        "result": compared_figures.translations(compared, language),
    }


@needs(trace="no_trace")
def leave_out(
    service: TranslationService,
    language: Language,
    *,
    trace: Trace,
    lock: str,
    translation: Translation | None,
) -> dict[str, Any]:
    """Leave the word out, and show what that does to the translation."""
    compared = service.compare(
        _whole(trace, translation), _changed(trace, lock), _options(translation)
    )
    return {"result": compared_figures.translations(compared, language)}


def _whole(trace: Trace, translation: Translation | None) -> str | Translation:
    """The sentence, with its translation where that is on the page."""
    return (
        translation
        if translation is not None and translation.source == trace.text
        else trace.text
    )


def _options(translation: Translation | None) -> Options:
    return Options(alternatives=1) if translation is None else translation.alone


def _changed(trace: Trace, lock: str, instead: str = "") -> str:
    """The source without the English word of a lock, that which is looked at if both
    are; raises UserError."""
    words = locked(lock)
    english = [
        word for word in (words.seen, words.asks) if word and word[0] == "source"
    ]
    if not english:
        raise UserError(Message.of("link_no_english"))
    text = figures.without(trace, english[0], instead)
    if text is None:
        raise UserError(
            Message.of("link_not_found", word=figures.text_of(trace, english[0]))
        )
    return text
