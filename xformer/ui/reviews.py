"""The review of the page: its examples, what of it stands in the address, and what is
said without a classifier."""

from xformer.figures.notice import notice
from xformer.results import UserError
from xformer.strings import Language
from xformer.ui.tabs import ALL_EXAMPLES

EXAMPLES: list[str] = ALL_EXAMPLES["reviews"]


def missing(reason: UserError | None, language: Language) -> str:
    """Say what to do where there is no classifier."""
    return notice(
        [language.say("review_missing") if reason is None else reason.say(language)],
        "error",
    )


def chosen(review: str, text: str) -> str:
    """The review of the address, unless somebody has typed; else what is in the
    field."""
    return review if review and text == EXAMPLES[0] else text


def kept(text: str | None) -> str:
    """What the address keeps of a review: nothing of the first example."""
    return "" if text == EXAMPLES[0] else text or ""
