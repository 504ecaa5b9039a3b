"""What a teacher passes on: a link with its code and its frame, and the plan to print."""

import html
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from starlette.requests import Request

from tests import qr
from tests.pages import laid_out
from xformer.lessons.files import lessons, plan
from xformer.results import UserError
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.server import middleware, sharing

LINK = "https://page.example.org/?tab=attention&text=%3Cb%3E+%26+it"


def ask(path, **query):
    """A request for one of these pages."""
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": "https",
            "path": f"/class/{path}",
            "root_path": "",
            "server": ("page.example.org", 443),
            "headers": [(b"host", b"page.example.org")],
            "query_string": urlencode(query).encode(),
        }
    )


def shared(link, language="en", sites=sharing.FRAMES):
    return sharing.share(ask("share", address=link, language=language), sites)


def test_a_link_comes_with_its_code_and_the_code_of_a_frame():
    text = shared(LINK).body.decode()
    link, frame = re.findall("<textarea[^>]*>(.*?)</textarea>", text)
    assert html.unescape(link) == LINK
    frame = html.unescape(frame)
    assert frame.startswith("<iframe ") and frame.endswith("></iframe>")
    (source,) = re.findall('src="([^"]*)"', frame)
    assert html.unescape(source) == LINK
    assert "<svg" in text and "https://*.hf.space" in text
    assert (
        "only on this site" in text and "solo se ve" in shared(LINK, "es").body.decode()
    )
    assert not hasattr(sharing, "segno"), "loaded when the first code is drawn"


def test_the_code_is_that_of_the_link_alone():
    other = LINK.replace("attention", "positions")
    assert sharing.code(LINK) == sharing.code(LINK) != sharing.code(other)
    longest = "https://" + "a" * (sharing.LONGEST - 8)
    assert shared(longest).status_code == 200


@pytest.mark.parametrize(
    ("link", "modules"),
    [
        ("https://page.example.org/", 25),
        (LINK, 33),
        (f"{LINK}{'+old+car' * 32}", 61),
    ],
    ids=["short", "usual", "long"],
)
def test_the_code_says_the_link_to_a_reader_that_shares_nothing_with_it(link, modules):
    svg = sharing.code(link)
    assert len(qr.modules(svg)) == modules
    assert qr.read(svg) == link
    spoilt = svg.replace("h7m", "h6m", 1)
    with pytest.raises(AssertionError):
        qr.read(spoilt)


@pytest.mark.parametrize(
    "link",
    ["", "javascript:alert(1)", "https://a/<b>", "https://" + "a" * sharing.LONGEST],
)
def test_what_is_no_link_is_refused_in_a_sentence(link):
    answer = shared(link)
    assert answer.status_code == 400
    assert answer.body.decode() == ENGLISH.say("share_no_link", most=2000)


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_the_plan_takes_ninety_minutes_and_each_of_its_links_opens(running, language):
    page = laid_out(running)
    assert sum(one.minutes for one in plan()) == 90
    text = sharing.print_plan(ask("plan", language=language.code)).body.decode()
    links = [html.unescape(one) for one in re.findall('href="([^"]*)"', text)]
    assert len(links) == len(plan()) == text.count("<svg")
    for one, link in zip(plan(), links, strict=True):
        at = urlsplit(link)
        path = "/class/" if language is ENGLISH else "/class/es"
        assert (at.netloc, at.path, at.fragment) == ("page.example.org", path, one.at)
        query = dict(parse_qsl(at.query))
        assert query == dict(one.see)
        values, problems = page.controls.read(running, query)
        assert not problems and {key: values[key] for key in query} == query
        assert html.escape(one.title[language.code]) in text or "“" in text
        assert one.text or lessons()[query["lesson"]].minutes == one.minutes
    assert f'<html lang="{language.code}">' in text and "@media print" in text
    assert "85–90 min" in text


def test_a_host_may_let_further_sites_frame_the_page():
    own = middleware.SecurityHeaders(None).headers["Content-Security-Policy"]
    site = sharing.origin("https://Moodle.example.org")
    more = middleware.SecurityHeaders(None, [site]).headers["Content-Security-Policy"]
    assert own == middleware.POLICY and "hf.space" in own.split("frame-ancestors")[1]
    assert more == f"{own} https://moodle.example.org"
    for wrong in ("moodle.example.org", "*", "https://a b", "https://a;script-src *"):
        with pytest.raises(UserError, match="which is no site"):
            sharing.origin(wrong)
