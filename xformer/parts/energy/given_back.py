"""What comes back out of an autoencoder, as HTML that can be saved. All text is
escaped."""

from xformer.figures.changes import changed_words
from xformer.figures.templates import fill
from xformer.results import GivenBack
from xformer.strings import ENGLISH, Language


def draw(found: GivenBack, width: int, language: Language = ENGLISH) -> str:
    """Show what went in, its code, what came back at each width, and the line to
    another text at this width."""
    say = language.say
    rows = [
        *(
            [str(size), say("autoencoder_back"), text, round(right, 4)]
            for size, text, right in zip(
                found.widths, found.back, found.right, strict=True
            )
        ),
        *(
            [f"{100 * share:.0f} %", say("autoencoder_line", width=width), text, ""]
            for share, text in found.line
        ),
        *(
            [str(i), say("autoencoder_number"), "", round(value, 4)]
            for i, value in enumerate(found.code, 1)
        ),
    ]
    back = [changed_words(found.text, text) for text in found.back]
    return fill(
        "autoencoder.given_back",
        language,
        found=found,
        back=back,
        width=width,
        columns=[
            say("autoencoder_width"),
            say("autoencoder_row"),
            say("energy_column"),
            say("autoencoder_right"),
        ],
        rows=rows,
        said=told(found, width, language),
    )


def told(found: GivenBack, width: int, language: Language = ENGLISH) -> str:
    """Say how well it does on sentences that it has not seen, at this width."""
    return language.say(
        "autoencoder_told",
        count=int(found.metrics["held_out"]),
        width=width,
        exact=f"{100 * found.metrics[f'exact_{width}']:.1f}",
        pieces=f"{100 * found.metrics[f'pieces_{width}']:.1f}",
    )
