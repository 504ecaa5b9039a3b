"""Part of the Model tab: the energy of translations as a landscape, in the figure of an
energy-based model with a latent variable; attention between vectors of several widths.
"""

from typing import Any

import gradio as gr

from xformer.figures.notice import warnings
from xformer.parts.energy import draw as figures
from xformer.parts.energy import given_back as drawn_back
from xformer.parts.energy import widths
from xformer.parts.energy.draw import Measured
from xformer.pieces import EOS
from xformer.results import (
    BeamTree,
    Energies,
    Energy,
    EnergySource,
    GiveBack,
    GivenBack,
    GrowTree,
    MeasureEnergies,
    Translation,
)
from xformer.results.questions import Target
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import OneOf, Whole, Words
from xformer.ui.handlers import QUIET, SWIFT_LATEST, needs, number_of
from xformer.ui.layout import Layout
from xformer.ui.pictures import is_other
from xformer.ui.places import note
from xformer.ui.tabs import opened_by

ID = "energy"
OF_SENTENCE = True
FOLDS = (
    ("autoencoder", "fold_autoencoder"),
    ("widths", "fold_widths", "autoencoder"),
)
BEAM = Whole(5, 1, 8)
BOTTLENECKS = ("8", "32", "128")
EXAMPLES = {
    "bottleneck_text": "A wonderful film with great music.",
    "bottleneck_other": "I did not like the ending.",
}
# of the vectors that attention takes, and of its queries, keys and values
WIDTHS = {
    "width_query": Whole(6, 1, 12),
    "width_key": Whole(4, 1, 12),
    "width_value": Whole(9, 1, 12),
    "width_inner": Whole(3, 1, 12),
    "width_outer": Whole(8, 1, 12),
}
ITEM = Whole(0, 0, MeasureEnergies.MOST)  # from 1; 0 for the lowest of the beam


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.look("energy_look")
    pictures = part.pictures(ID)
    problem = part.status()
    pictures.follow(follow, "energy_item")
    pictures.fact("grown", grow)
    pictures.fact("targets", targets_of)
    pictures.fact("energies", measure, each="targets")
    pictures.fact("measured", gather)
    with gr.Row(elem_classes="controls"):
        yours = part.control(
            "energy_own",
            Words(),
            gr.Textbox,
            info="energy_own_info",
            lines=1,
            max_lines=3,
            scale=3,
            min_width=280,
        )
        part.control("energy_beam", BEAM, gr.Slider, min_width=260)
    pictures.add("remarks", gr.HTML(elem_classes="status"), remarks)
    drawn = pictures.add(
        "view",
        part.canvas(
            "energy.js", '<div class="drawing"></div>', "energy-view", frame="chart"
        ),
        draw,
    )
    part.hidden("energy_item", ITEM)
    gr.HTML(
        f'<details class="more"><summary>{part.html("more")}</summary>'
        f"{note(part.language, 'energy_text')}</details>"
    )
    pictures.listen(problem, part.opened.change, yours.submit)
    _autoencoder(part)
    drawn.choose(
        **pictures.listener(
            problem, choose, outputs={"energy_item": part["energy_item"]}
        ),
        **SWIFT_LATEST,
    )


def _autoencoder(outer: Layout) -> None:
    """Lay out, folded, a sentence that goes in and comes back out of a few numbers; and
    attention between vectors of several widths."""
    part = outer.inner(opened=outer.opened)
    pictures = part.pictures(f"{ID}.autoencoder")
    with part.folded("autoencoder", pictures) as fold:
        part.note("autoencoder_text")
        problem = part.status()
        pictures.fact("given_back", give_back)
        with gr.Row(elem_classes="controls"):
            texts = [
                part.control(key, Words(example), gr.Textbox, lines=1, max_lines=2)
                for key, example in EXAMPLES.items()
            ]
        with gr.Row(elem_classes="controls"):
            part.control(
                "bottleneck",
                OneOf(BOTTLENECKS, BOTTLENECKS[-1]),
                gr.Radio,
                choices=[*BOTTLENECKS],
            )
        pictures.add(
            "given_back_table",
            part.table("tables given-back-of"),
            draw_given_back,
            seen="autoencoder_open",
        )
        _widths(outer)
    pictures.listen(
        problem, part.opened.change, *(one.submit for one in texts), how=QUIET
    )
    part.views["autoencoder"] = opened_by(part.controls, fold)
    outer.include(part)


def draw_given_back(given_back: GivenBack, bottleneck: str, language: Language) -> str:
    return drawn_back.draw(given_back, int(bottleneck), language)


def give_back(
    service: TranslationService,
    bottleneck_text: str,
    bottleneck_other: str,
    bottleneck: str,
) -> GivenBack:
    """Put the visitor's sentence through the autoencoder."""
    return service.ask(GiveBack(bottleneck_text, bottleneck_other, int(bottleneck)))


def _widths(outer: Layout) -> None:
    """Lay out attention between vectors of several widths."""
    part = outer.inner(opened=outer.opened)
    pictures = part.pictures(f"{ID}.widths")
    with part.folded("widths", pictures) as fold:
        part.note("widths_text")
        problem = part.status()
        with gr.Row(elem_classes="controls"):
            for key, kind in WIDTHS.items():
                part.control(key, kind, gr.Slider, min_width=200)
        pictures.add(
            "matrices",
            part.canvas(
                "widths.js", '<div class="drawing"></div>', "widths-view", frame="map"
            ),
            draw_widths,
            seen="widths_open",
        )
    pictures.listen(problem, part.opened.change)
    part.views["widths"] = opened_by(part.controls, fold)
    outer.include(part)


def draw_widths(
    service: TranslationService,
    width_query: int,
    width_key: int,
    width_value: int,
    width_inner: int,
    width_outer: int,
    language: Language,
) -> dict[str, Any]:
    """Compute attention for these widths, and draw its matrices."""
    sizes = (width_query, width_key, width_value, width_inner, width_outer)
    found = widths.attention(*map(int, sizes))
    return widths.payload(found, service.info, language)


def follow(
    translation: Translation | None,
    energy_item: int,
    energy_own: str,
    energy_beam: int,
    before: dict[str, Any],
) -> dict[str, int] | None:
    """Look at the lowest of other translations, or at what was typed just now; None
    where there are none."""
    if translation is None:
        return None
    if not before:
        return {}
    if energy_own.strip() != before["energy_own"].strip():
        return {"energy_item": energy_beam + 1 if energy_own.strip() else 0}
    is_new = is_other(before, translation=translation, energy_beam=energy_beam)
    return {"energy_item": 0} if is_new and energy_item else {}


@needs(translation="no_trace")
def grow(
    service: TranslationService, translation: Translation, energy_beam: int
) -> BeamTree:
    """Search for translations of the sentence on the page with a beam of this width."""
    beam = int(energy_beam)
    return service.ask(GrowTree.wider(translation, beam, n_best=beam, temperature=0.0))


def targets_of(grown: BeamTree, energy_own: str) -> list[Target]:
    """What the beam found, what the visitor typed, and spoiled translations."""
    best = grown.translation.best
    own = energy_own.strip()
    kept = [i for i, token in enumerate(best.tokens) if token != EOS]
    spoiled = figures.spoil(
        [best.tokens[i] for i in kept], [best.pieces[i] for i in kept]
    )
    found = [tuple(one.tokens) for one in grown.translation.n_best]
    return [*found, *([own] if own else []), *spoiled]


def measure(
    service: TranslationService, translation: Translation, targets: list[Target]
) -> dict[Target, tuple[EnergySource, Energy]]:
    """Measure targets: by each, the source that all share, and what it costs."""
    found = service.ask(MeasureEnergies(translation, targets))
    return {
        target: (found.source, one)
        for target, one in zip(targets, found.targets, strict=True)
    }


def gather(
    grown: BeamTree,
    energy_own: str,
    targets: list[Target],
    energies: dict[Target, tuple[EnergySource, Energy]],
) -> Measured:
    """What was measured of the targets, in one record."""
    source, _ = energies[targets[0]]
    return Measured(
        Energies(source, tuple(energies[target][1] for target in targets)),
        len(grown.translation.n_best),
        bool(energy_own.strip()),
    )


def remarks(service: TranslationService, energy_own: str, language: Language) -> str:
    """Warn of what the model does not know in the visitor's own translation; HTML."""
    own = energy_own.strip()
    return warnings(service.typed(own)[1] if own else [], language)


def draw(
    service: TranslationService,
    grown: BeamTree,
    measured: Measured,
    energy_item: int,
    language: Language,
) -> dict[str, Any]:
    """Draw the figure, the landscape and the search."""
    return figures.payload(
        grown, measured, service.info, int(energy_item or 0) - 1, language
    )


def choose(
    service: TranslationService,
    language: Language,
    *,
    measured: Measured,
    event: gr.EventData,
) -> dict[str, Any] | None:
    """Choose the translation that was clicked."""
    item = number_of(event, "item")
    return (
        {"energy_item": item + 1}
        if 0 <= item < len(measured.energies.targets)
        else None
    )
