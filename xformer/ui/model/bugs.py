"""Part of the Model tab: six models with one mistake each; the reader looks at maps and translations and says which."""

from __future__ import annotations

import random
from typing import Any

import gradio as gr

from xformer.explain.alignment import given_heads
from xformer.figures import bugs as figures
from xformer.figures import head_payload
from xformer.figures.attention import Choice
from xformer.results import BUGS, Examine, Examined, Head, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas, one_map
from xformer.ui.controls import Controls, OneOf, Whole, one_head
from xformer.ui.handlers import QUIET, needs
from xformer.ui.pictures import Pictures
from xformer.ui.tabs import Page, Tab

ID = "bugs"
TAB = "model"
OF_SENTENCE = True
NONE = "none"  # the guess of a reader who has not said anything yet
SEED = Whole(1, 0, 999_999)


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    gr.HTML(f'<p>{language.html("bugs_look")}</p>', elem_classes="summary")
    with gr.Row(elem_classes="controls"):
        controls.add("bug_patient", OneOf(tuple(figures.LETTERS), "A"), gr.Radio, label=say("bugs_patient"), scale=3,
                     choices=[*figures.LETTERS], min_width=280)
        controls.add("bug_head", one_head(language), gr.Dropdown, label=say("bugs_head"), scale=3, min_width=240)
        deal_again = gr.Button(say("bugs_deal"), scale=1, min_width=140)
    controls.add("bug_seed", SEED, gr.Number, visible=False, precision=0)
    problem = gr.HTML(elem_classes="status")
    texts = canvas("part.js", "${value}", "tables ablation", save=language)
    views = {}
    with gr.Row(elem_classes="detail"):
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views[name] = one_map(f"bug-{name}", language)
    with gr.Row(elem_classes="controls"):
        controls.add("bug_guess", OneOf((NONE, *BUGS), NONE), gr.Radio, label=say("bugs_guess"),
                     choices=language.choices("bugs_guess_{}", (NONE, *BUGS)))
    reply = gr.HTML(elem_classes="summary", min_height=90)
    pictures = Pictures(page, controls, ID, tab=TAB, cleared={"texts": "", "before": None, "after": None, "reply": ""})
    pictures.follow(follow, **controls.named("bug_guess"))
    pictures.fact("bug", lambda bug_patient, bug_seed: figures.patients(int(bug_seed))[bug_patient])
    pictures.fact("found", examined)
    pictures.fact("maps", both_maps)
    pictures.add("texts", texts, lambda found, bug_patient, trace, language: figures.translations(
        found, bug_patient, trace.text, language))
    pictures.add_all("maps", views)
    pictures.add("reply", reply, answer)
    pictures.listen(problem, opened.change, page.trace.change, how={**QUIET, "show_progress_on": [texts]})
    deal_again.click(**pictures.listener(problem, deal, outputs=controls.named("bug_seed")), **QUIET)
    return Tab(controls)


def follow(bug_patient: str, bug_seed: int, bug_guess: str, before: dict[str, Any]) -> dict[str, str]:
    """Forget what was said of another patient."""
    is_other = before and (before["bug_patient"], before["bug_seed"]) != (bug_patient, bug_seed)
    return {"bug_guess": NONE} if is_other and bug_guess == before["bug_guess"] else {}


def deal(service: TranslationService, language: Language, *, bug_seed: int) -> dict[str, int]:
    """Give the patients other letters."""
    return {"bug_seed": (int(bug_seed) + random.randrange(1, SEED.most)) % SEED.most}


@needs(trace="no_trace")
def examined(service: TranslationService, trace: Trace, bug: str) -> Examined:
    """Look into a patient with the pair that the page looks into."""
    return service.ask(Examine(trace.text, trace.tokens, bug))


@needs(bug_head="no_maps_model")
def both_maps(service: TranslationService, trace: Trace, found: Examined, bug_patient: str, bug_head: str,
              language: Language) -> dict[str, Any]:
    """Draw one head of the healthy model, "before", and of the patient, "after"."""
    choice = Choice(*Head.parse(bug_head))
    given = given_heads(service.info, service.alignment_errors)
    return head_payload.before_and_after(*figures.maps(trace, found, choice, bug_patient, given, language), choice,
                                         service.info, language)


def answer(service: TranslationService, found: Examined, bug: str, bug_guess: str, language: Language) -> str:
    """Answer what the reader says; nothing before."""
    return "" if bug_guess == NONE else figures.reply(found, bug, bug_guess, service.info, language)
