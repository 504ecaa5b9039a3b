"""What a teacher passes on: one picture of the page as a link, a QR code and the code of
a frame; and a plan of ninety minutes, to print. Pages of their own, made when asked
for."""

import re
from collections.abc import Sequence
from functools import lru_cache, partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from xformer.figures.templates import fill
from xformer.lessons.files import lessons, plan, said
from xformer.results import UserError
from xformer.strings import ENGLISH, SPANISH, Language

LONGEST = 2_000  # characters of a link; a QR code holds 2,953
LINK = re.compile(r"https?://[^\s<>\"]+")
LANGUAGES = {one.code: one for one in (ENGLISH, SPANISH)}
# that may frame the page besides itself
FRAMES = ("https://huggingface.co", "https://*.hf.space")
ORIGIN = re.compile(r"https?://(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?")


def origin(text: str) -> str:
    """Return the address of a site that may frame the page. Raises UserError for a text
    that is none."""
    if not ORIGIN.fullmatch(text.lower()):
        raise UserError(
            f"--allow-frame is {text[:80]!r}, which is no site; write one like https://moodle.example.org."
        )
    return text.lower()


@lru_cache(64)
def code(link: str) -> str:
    """Draw the QR code of a link, black on white; SVG."""
    import segno  # only a teacher needs it

    drawn: str = segno.make(link, micro=False).svg_inline(
        border=4, light="#fff", omitsize=True
    )
    return drawn


def language_of(request: Request) -> Language:
    """The language of the page that asks, English where it says none of ours."""
    return LANGUAGES.get(request.query_params.get("language", ""), ENGLISH)


def share(request: Request, sites: Sequence[str] = ()) -> Response:
    """What assets/share.js shows of the link `address`, as HTML; 400, in a sentence,
    for what is no link. sites: that may frame the page."""
    language = language_of(request)
    link = request.query_params.get("address", "")
    if len(link) > LONGEST or not LINK.fullmatch(link):
        return PlainTextResponse(language.say("share_no_link", most=LONGEST), 400)
    return HTMLResponse(
        fill("share.sheet", language, link=link, code=code(link), sites=sites)
    )


def print_plan(request: Request) -> Response:
    """The plan of ninety minutes as a page of its own, its links to the page here."""
    language = language_of(request)
    home = re.sub(r"plan$", "", str(request.url.replace(query="")))
    home += "" if language is ENGLISH else language.code
    return HTMLResponse(
        fill(
            "share.plan",
            language,
            code=language.code,
            parts=plan(),
            lessons=lessons(),
            said=partial(said, language=language),
            home=home,
            qr=code,
        )
    )


def routes(sites: Sequence[str]) -> list[Route]:
    """Where these pages are served. sites: that may frame the page."""
    return [
        Route("/share", partial(share, sites=sites)),
        Route("/plan", print_plan),
    ]
