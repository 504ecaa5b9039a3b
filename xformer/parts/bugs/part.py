"""Part of the Model tab: six models with one mistake each; the reader looks at maps and
translations and says which."""

import random
from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.figures import head_payload
from xformer.figures.attention import Choice
from xformer.parts.bugs import draw as figures
from xformer.results import BUGS, Examine, Examined, Head, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import OneOf, Whole, one_head
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "bugs"
OF_SENTENCE = True
SEED = Whole(1, 0, 999_999)
GUESSES = ("none", *BUGS)  # none: the reader has said nothing yet


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    pictures = part.pictures(
        ID, cleared={"texts": "", "before": None, "after": None, "reply": ""}
    )
    pictures.follow(follow, "bug_guess")
    pictures.fact(
        "bug",
        bug_of,
    )
    pictures.fact("healthy", healthy)
    pictures.fact("ill", examined)
    pictures.fact("maps", both_maps)
    problem = part.status()
    gr.HTML(f"<p>{part.html('bugs_look')}</p>", elem_classes="summary")
    with gr.Row(elem_classes="controls"):
        part.control(
            "bug_patient",
            OneOf(tuple(figures.LETTERS), "A"),
            gr.Radio,
            "bugs_patient",
            choices=[*figures.LETTERS],
            min_width=280,
        )
        part.control(
            "bug_head", one_head(part.language), gr.Dropdown, "bugs_head", min_width=240
        )
        button = gr.Button(part.say("bugs_deal"), scale=0, min_width=170)
    seed = part.hidden("bug_seed", SEED)
    pictures.add(
        "texts",
        part.table("tables bugs-result"),
        lambda healthy, ill, bug_patient, trace, language: figures.translations(
            healthy, ill, bug_patient, trace.text, language
        ),
    )
    pictures.add_all(
        "maps",
        part.beside(
            part.map,
            {"before": "bug-before", "after": "bug-after"},
            "detail maps-of-all",
        ),
    )
    with gr.Row(elem_classes="controls"):
        part.choice("bug_guess", GUESSES, GUESSES[0], "bugs_guess_{}", "bugs_guess")
    reply = gr.HTML(elem_classes="summary bugs-reply", min_height=40)
    pictures.add(
        "reply",
        reply,
        reply_to,
    )
    pictures.listen(
        problem,
        part.opened.change,
        part["trace"].change,
        how=QUIET,
    )
    button.click(
        **pictures.listener(problem, deal, outputs={"bug_seed": seed}), **QUIET
    )


def bug_of(bug_patient: str, bug_seed: str) -> str:
    """Return the bug that a patient has."""
    return figures.patients(int(bug_seed))[bug_patient]


def reply_to(
    healthy: Any, ill: Any, bug: str, bug_guess: str, language: Language
) -> str:
    return (
        ""
        if bug_guess == GUESSES[0]
        else figures.reply(healthy, ill, bug, bug_guess, language)
    )


def follow(
    bug_patient: str, bug_seed: int, bug_guess: str, before: dict[str, Any]
) -> dict[str, str]:
    """Forget what was said of another patient."""
    is_other = before and (before["bug_patient"], before["bug_seed"]) != (
        bug_patient,
        bug_seed,
    )
    return (
        {"bug_guess": GUESSES[0]}
        if is_other and bug_guess == before["bug_guess"]
        else {}
    )


def deal(
    service: TranslationService, language: Language, *, bug_seed: int
) -> dict[str, int]:
    """Give the patients other letters."""
    return {"bug_seed": (int(bug_seed) + random.randrange(1, SEED.most)) % SEED.most}


@needs(trace="no_trace")
def healthy(service: TranslationService, trace: Trace) -> Examined:
    """Look into the healthy model, once for all patients."""
    return examined(service, trace, "")


@needs(trace="no_trace")
def examined(service: TranslationService, trace: Trace, bug: str) -> Examined:
    """Look into a patient, or into the healthy model for "", with the pair that the
    page looks into."""
    return service.ask(Examine(trace.text, trace.tokens, bug))


@needs(bug_head="no_maps_model")
def both_maps(
    service: TranslationService,
    trace: Trace,
    ill: Examined,
    bug_patient: str,
    bug_head: str,
    language: Language,
) -> dict[str, Any]:
    """Draw one head of the healthy model, "before", and of the patient, "after"."""
    names = (language.say("bugs_healthy"), language.say("bugs_ill", letter=bug_patient))
    return head_payload.before_and_after(
        (trace, ill.trace),
        names,
        Choice(*Head.parse(bug_head)),
        service.info,
        language,
        given_heads(service.info, service.alignment_errors),
    )
