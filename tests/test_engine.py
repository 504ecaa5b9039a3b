"""The engine over HTTP, asked by programs, and by a page elsewhere as if its services
were here."""

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
import uvicorn

from tests import endpoints
from tests.harness import App, free_port
from tests.pages import run
from tests.questions import one_of_each
from tests.test_wire import same
from xformer.__main__ import main
from xformer.commands.serve import replicas
from xformer.results import (
    Head,
    Occlude,
    Options,
    RankHeads,
    UserError,
    WalkAdditive,
    WalkHead,
)
from xformer.serve import engine, limits, remote, wire
from xformer.serve.protocol import ReviewService, TranslationService, public
from xformer.serve.remote import Engine, RemoteReviews, RemoteTranslation
from xformer.serve.translation import ANSWERS


@contextmanager
def answering(port):
    """An engine at a port of this machine, in this process."""
    server = uvicorn.Server(
        uvicorn.Config(engine.api, host="127.0.0.1", port=port, log_level="error")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            continue
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def there(running, reader):
    """The address of an engine on the services of these tests."""
    engine.use(running, reader)
    with answering(free_port()) as address:
        yield address


@pytest.fixture
def far(there):
    """That engine, as a page elsewhere has it."""
    with closing(Engine(there)) as connected:
        yield connected


def test_programs_translate_explain_and_classify(
    there, running, reader, learned_pairs, reviews
):
    english, spanish = learned_pairs[0]
    with httpx.Client(base_url=there) as client:
        assert (
            client.post("/translate", json={"text": english, "beam": 2}).json()["text"]
            == spanish
        )
        explained = client.post("/explain", json={"text": english}).json()
        assert np.array_equal(
            np.array(explained["cross"], np.float32), running.explain(english).cross
        )
        (label,) = client.post("/classify", json={"texts": [reviews[0][1]]}).json()
        assert label["label"] == "positive"
        refused = client.post("/translate", json={"text": ""})
        assert refused.status_code == 422 and refused.json()["error"].endswith(".")
        assert (
            client.post("/translate", json={"text": english, "beam": 99}).status_code
            == 422
        )
        assert client.get("/health").json() == {"status": "ok", "version": wire.VERSION}
        described = client.get("/openapi.json").json()["paths"]
        answers = {
            path: described[path]["post"]["responses"]["200"]["content"]
            for path in ("/translate", "/explain", "/classify")
        }
        assert answers["/translate"]["application/json"]["schema"] == {
            "$ref": "#/components/schemas/Translated"
        }
        assert "Explanation" in str(answers["/explain"])
        assert "Classified" in str(answers["/classify"])
        assert {*described} == {
            "/health",
            "/translate",
            "/explain",
            "/classify",
            "/services",
        }


def test_a_service_elsewhere_answers_as_one_here(
    far, running, reader, learned_pairs, reviews
):
    assert far.services() == ["translation", "reviews"]
    service = RemoteTranslation(far)
    english = learned_pairs[0][0]
    for name in (
        "info",
        "metrics",
        "max_pieces",
        "best_head",
        "length_scores",
        "history",
        "moments",
    ):
        assert same(getattr(service, name), getattr(running, name)), name
    off = [Head("cross", 1, 2)]
    mine, theirs = (
        one.translate(english, Options(beam=3, n_best=2), off=iter(off))
        for one in (running, service)
    )
    assert mine.n_best == theirs.n_best
    for call in (
        lambda one: one.trace(theirs, theirs.best.tokens),
        lambda one: one.explain(english),
        lambda one: one.ask(Occlude(english, "El gato.")),
        lambda one: one.blocks(),
        lambda one: one.ask(WalkHead(english, "El gato.", Head("cross", 1, 1))),
        lambda one: one.embed([english]),
        lambda one: one.ask(RankHeads(english, "El gato."), progress=max),
    ):
        assert same(call(running), call(service))
    mine, theirs = (
        replace(one.classify([reviews[0][1]])[0], seconds=0)
        for one in (reader, RemoteReviews(far))
    )
    assert same(mine, theirs)
    with pytest.raises(UserError) as refused:
        service.translate("word " * 2_000)
    with pytest.raises(UserError) as here:
        running.translate("word " * 2_000)
    assert refused.value.message == here.value.message  # in the reader's language


def test_an_engine_answers_every_question_as_a_service_here(
    far, running, learned_pairs
):
    service = RemoteTranslation(far)
    translation = running.translate(learned_pairs[0][0])
    for source in (translation.source, translation):
        questions = one_of_each(
            source, translation.best.tokens, translation.best.pieces[0]
        )
        assert {*map(type, questions), WalkAdditive} == ANSWERS.keys()
        for question in questions:
            here, there = (
                re.sub(r'"seconds":[^,}]+', "", wire.dumps(one.ask(question)))
                for one in (running, service)
            )
            assert here == there, type(question)


def test_all_that_the_page_asks_of_services_can_be_asked_elsewhere():
    for kind, wanted in (
        (RemoteTranslation, TranslationService),
        (RemoteReviews, ReviewService),
    ):
        assert not [name for name in public(wanted) if not hasattr(kind, name)]


@pytest.mark.full
@pytest.mark.server
def test_a_page_has_its_answers_from_an_engine(there, learned_pairs, reviews, tmp_path):
    english, spanish = learned_pairs[0]
    with App(tmp_path / "page", "--engine", there) as page:
        assert endpoints.ask(page.address, "translate", english)["text"] == spanish
        assert (
            endpoints.ask(page.address, "classify", reviews[0][1])["label"]
            == "positive"
        )
        assert len(endpoints.ask(page.address, "explain", english)["probabilities"])
        with pytest.raises(ValueError, match="A beam of 99 is not possible"):
            endpoints.ask(page.address, "translate", english, 99)


def test_a_page_without_its_engine_does_not_begin(capsys):
    assert main(["app", "--engine", "http://127.0.0.1:9"]) == 2
    assert (
        capsys.readouterr().err
        == "The engine at http://127.0.0.1:9 does not answer; try again in a minute.\n"
    )
    assert main(["app", "--engine", "http://127.0.0.1:9", "--any-model"]) == 2
    assert "An engine has its own models" in capsys.readouterr().err


def test_an_engine_that_is_away_is_one_sentence_and_comes_back(running, reader):
    port = free_port()
    engine.use(running, reader)
    with closing(RemoteTranslation(Engine(f"http://127.0.0.1:{port}"))) as service:
        with pytest.raises(
            UserError,
            match=f"The engine at http://127.0.0.1:{port} does not answer; try again in a m",
        ):
            service.translate("Yes.")
        with answering(port):
            assert service.translate("Yes.").best.text
        with pytest.raises(UserError, match="does not answer"):
            service.translate("Yes.")


def test_anybody_may_ask_for_its_health_and_it_is_checked_once(monkeypatch):
    now = [0.0]
    checks = []
    go = threading.Event()

    def check():
        checks.append(len(checks))
        go.wait()
        if len(checks) > 2:
            raise UserError("It hangs.")

    async def ask(count):
        asked = [asyncio.create_task(engine.health()) for _ in range(count)]
        await asyncio.to_thread(go.set)
        return await asyncio.gather(*asked, return_exceptions=True)

    async def asks():
        for seconds, count in (
            (0, 150),
            (engine.FRESH - 1, 1),
            (engine.FRESH, 1),
            (2 * engine.FRESH, 3),
        ):
            now[0] = seconds
            yield await ask(count), len(checks)

    async def listed():
        return [one async for one in asks()]

    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(engine, "check", check)
    monkeypatch.setattr(engine, "_checks", [])
    *well, (failed, count) = run(listed())
    assert [count for _, count in well] == [1, 1, 2]
    assert all(answer["status"] == "ok" for answers, _ in well for answer in answers)
    assert [str(error) for error in failed] == ["It hangs."] * 3 and count == 3


def test_another_version_and_private_names_are_refused(there, far, monkeypatch):
    for service, name in (
        ("translation", "_decoder"),
        ("translation", "open"),
        ("translation", "guard"),
        ("other", "translate"),
    ):
        with pytest.raises(UserError, match="There is no .* to call"):
            far.call(service, name, {})
    monkeypatch.setattr(remote.wire, "VERSION", "0123456789ab")
    with pytest.raises(UserError, match="of version 0123456789ab and the page of"):
        far.call("translation", "info", {})
    monkeypatch.undo()
    with httpx.Client(base_url=there) as client:
        said = wire.loads(client.post("/call/translation/info", content="{}").content)
    assert "the page of none; use the same version" in said["error"]


def test_a_call_is_made_again_once_where_a_replica_died_with_it(monkeypatch):
    asked = []

    def answer(request):
        asked.append(request)
        return httpx.Response(
            500 if len(asked) == 1 else 200, text=wire.dumps({"answer": 7})
        )

    far = Engine("http://nowhere")
    far.close()
    far._client = httpx.Client(
        base_url="http://nowhere", transport=httpx.MockTransport(answer)
    )
    assert far.call("translation", "max_pieces", {}) == 7 and len(asked) == 2
    asked.clear()
    dead = httpx.MockTransport(
        lambda request: asked.append(request) or httpx.Response(500)
    )
    far._client = httpx.Client(base_url="http://nowhere", transport=dead)
    with pytest.raises(UserError, match="does not answer"):
        far.call("translation", "max_pieces", {})
    assert len(asked) == 2


def raw(there, name, arguments, service="translation"):
    """-> status and what is said of a call with these arguments as they are."""
    answer = httpx.post(
        f"{there}/call/{service}/{name}",
        content=json.dumps(arguments),
        headers={"X-Xformer-Version": wire.VERSION},
    )
    return answer.status_code, answer.text


def record(kind, /, **values):
    return {"": kind, "fields": values}


def named(**arguments):
    return {"": "dict", "items": [[name, value] for name, value in arguments.items()]}


def asked(kind, /, **values):
    return named(question=record(kind, **values))


def translation_of(service, text, **changes):
    """A translation as it travels, with some of its fields changed."""
    written = json.loads(wire.dumps(service.translate(text, Options(beam=1))))
    written["fields"].update(changes)
    return written


BEAM = record("Options", beam=2.5)
TEXT = "The cat sleeps."


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "translate",
            named(text=TEXT, options=BEAM),
            "beam of Options is 2.5: Input should be a valid integer.",
        ),
        (
            "translate",
            named(text=TEXT, options=record("Options", seed=1e30)),
            "seed of Options is 1e+30: Input should be a valid integer.",
        ),
        (
            "translate",
            named(text=TEXT, options=record("Options", beam=99)),
            "beam is 99; it must be between 1 and 32.",
        ),
        (
            "translate",
            named(text=TEXT, options=record("Options", wide=1)),
            "wide of Options is 1: Extra inputs are not permitted.",
        ),
        (
            "translate",
            named(text=TEXT, prefix="gato"),
            "prefix of translate is 'gato': ",
        ),
        (
            "translate",
            named(text=TEXT, max_length="x"),
            "max_length of translate is 'x': Input should be a valid integer.",
        ),
        (
            "translate",
            named(text=7),
            "text of translate is 7: Input should be a valid string.",
        ),
        (
            "translate",
            named(text=TEXT, timeout=1e9),
            "timeout of translate is 1e+09; it must be above 0 and at most 60.",
        ),
        (
            "translate",
            named(txt=TEXT),
            "text of translate is {'txt': ",
        ),
        (
            "translate",
            named(text=TEXT, progress=1),
            "progress of translate is 1: Extra",
        ),
        (
            "translate",
            named(options=None),
            "text of translate is {'options': None}: Field required.",
        ),
        (
            "translate",
            [TEXT],
            "What is sent of translate is ['The cat sleeps.']: Input should be ",
        ),
        (
            "translate",
            named(text=TEXT, off=["cross"]),
            "of translate is 'cross': ",
        ),
        (
            "translate",
            named(
                text=TEXT,
                positions=record("Positions", kind="base", value=float("nan")),
            ),
            "The message is not in the format of this version",
        ),
        (
            "trace",
            named(source=TEXT, target=[-5]),
            "A translation cannot begin like this",
        ),
        (
            "ask",
            asked("RankHeads", source=TEXT, target="El gato.", stacks=["cross"] * 4),
            "at most 3 are taken in a call",
        ),
        (
            "ask",
            asked("RankHeads", source=TEXT, target="El gato.", stacks=["up"]),
            "names 'up'; choose among encoder_self",
        ),
        (
            "ask",
            asked("WalkHead", source=TEXT, target="El gato.", head="cross"),
            "head of WalkHead is 'cross': ",
        ),
        (
            "ask",
            asked("NearestPieces", piece="▁The", count=10**9),
            "The argument count of NearestPieces is 1e+09; it must be above 0 and at most 100.",
        ),
        (
            "ask",
            asked("Occlude", source=TEXT),
            "target of Occlude is {'source': 'The cat sleeps.'}: Field required.",
        ),
        (
            "ask",
            asked("OfPair", source=TEXT, target="El gato."),
            "The message is not in the format of this version",
        ),
        (
            "ask",
            asked("Head", stack="cross", layer=1, head=1),
            "question of ask is Head(stack='cross', layer=1, head=1): Input should be an "
            "instance of Question.",
        ),
        (
            "ask",
            named(question="What?"),
            "question of ask is 'What?': ",
        ),
        ("ask", named(), "question of ask is {}: Field required."),
        (
            "split",
            named(text=TEXT, count=10**9),
            "The argument count of split is 1e+09; it must be above 0 and at most",
        ),
        (
            "embed",
            named(texts=["a"] * 20_000),
            "has 20,000 entries; at most 3,000 are taken in a call: send them",
        ),
        (
            "embed",
            named(texts=["a" * 5_000] * 20),
            "has 100,000 characters; at most 90,000 are taken",
        ),
        ("translate_many", named(texts=["a"] * 20_000), "has 20,000 entries"),
    ],
)
def test_what_is_no_argument_is_one_sentence_and_no_failure(
    there, name, arguments, said
):
    status, text = raw(there, name, arguments)
    assert status == 422 and said in text, text


def test_records_that_no_model_wrote_are_one_sentence(there, running, learned_pairs):
    english = learned_pairs[0][0]
    for changes, said in (
        ({"source_tokens": {"": "tuple", "items": [5] * 600}}, "error_pieces"),
        (
            {"source_tokens": {"": "tuple", "items": [-1]}},
            "not in this model's vocabulary",
        ),
        ({"source_tokens": {"": "tuple", "items": []}}, "error_empty"),
        (
            {"source_tokens": {"": "tuple", "items": [10**6]}},
            "not in this model's vocabulary",
        ),
        (
            {"n_best": {"": "tuple", "items": []}},
            "n_best is empty; a translation has one",
        ),
        (
            {"options": None},
            "options of Translation is None: Input should be an instance of Options.",
        ),
    ):
        status, text = raw(
            there,
            "ask",
            asked(
                "Occlude",
                source=translation_of(running, english, **changes),
                target="El gato.",
            ),
        )
        assert status == 422 and said in text, text


def test_programs_are_told_what_is_wrong_in_a_sentence(there):
    with httpx.Client(base_url=there) as client:
        for path, body, said in (
            ("/translate", {"text": TEXT, "beam": 2.5}, "beam is 2.5: "),
            (
                "/translate",
                {"text": TEXT, "beam": 2, "n_best": 3},
                "n_best is 3; it must be at most the beam",
            ),
            ("/translate", {"text": TEXT, "wide": 1}, "wide is 1: "),
            ("/translate", {}, "text is "),
            ("/classify", {"texts": "Good."}, "texts is 'Good.': "),
            (
                "/classify",
                {"texts": ["a"] * 100_000},
                "has 100,000 entries; at most 3,000",
            ),
            ("/explain", {"text": TEXT, "target": 3}, "target is 3: "),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 422 and said in answer.json()["error"], (
                answer.text
            )
        assert client.post("/translate", content=b"{").status_code == 422
        large = client.post("/translate", json={"text": "a" * engine.MOST_BYTES})
        assert large.status_code == 413 and "12,000,000 bytes at most" in large.text


def test_large_answers_are_refused(there, monkeypatch, learned_pairs):
    english = learned_pairs[0][0]
    monkeypatch.setattr(engine, "MOST_NUMBERS", 10)
    monkeypatch.setattr(engine, "MOST_ANSWERED", 1_000)
    said = httpx.post(f"{there}/explain", json={"text": english})
    assert (
        said.status_code == 422
        and "numbers or more; at most 10 are sent" in said.json()["error"]
    )
    status, text = raw(there, "explain", named(source=english))
    assert status == 422 and "bytes; at most 1,000 are sent" in text


@pytest.mark.parametrize(("target", "translates"), [(True, False), (False, True)])
def test_maps_are_counted_before_they_are_computed(
    there, running, monkeypatch, learned_pairs, target, translates
):
    """The limit is one number less than the maps have; those of the source alone are
    within it."""
    english, spanish = learned_pairs[0]
    trace = running.explain(english, spanish)
    translated = []
    translate = running.translate
    numbers = sum(
        getattr(trace, stack).size
        for stack in ("encoder_self", "decoder_self", "cross")
    )
    asked = {"text": english, **({"target": spanish} if target else {})}
    monkeypatch.setattr(engine, "MOST_NUMBERS", numbers)
    assert httpx.post(f"{there}/explain", json=asked).status_code == 200
    monkeypatch.setattr(engine, "MOST_NUMBERS", numbers - 1)
    monkeypatch.setattr(running, "trace", None)
    monkeypatch.setattr(
        running, "translate", lambda text: translated.append(text) or translate(text)
    )
    said = httpx.post(f"{there}/explain", json=asked)
    assert (
        said.status_code == 422
        and f"have {numbers:,} numbers or more; at most" in said.json()["error"]
    )
    assert bool(translated) == translates
    monkeypatch.setattr(engine, "MOST_NUMBERS", trace.encoder_self.size - 1)
    monkeypatch.setattr(running, "translate", None)
    assert httpx.post(f"{there}/explain", json=asked).status_code == 422


@pytest.fixture
def guarded(there, running, reader, monkeypatch):
    """That engine, which asks for a token."""
    for service in (running, reader):
        monkeypatch.setattr(service, "guard", service.guard)
    engine.protect("sesame", ["engine.example.org"])
    yield there
    engine.protect()


def test_who_has_no_token_gets_nothing_but_health(guarded, learned_pairs):
    english = learned_pairs[0][0]
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "sesam"}):
        for method, path in (
            ("POST", "/translate"),
            ("GET", "/services"),
            ("GET", "/openapi.json"),
            ("GET", "/docs"),
            ("POST", "/call/translation/info"),
        ):
            answer = httpx.request(
                method, guarded + path, headers=headers, json={"text": english}
            )
            assert (
                answer.status_code == 401
                and answer.text.count(".") == 1
                and "asks for a token" in answer.text
            )
    assert httpx.get(f"{guarded}/health").status_code == 200
    assert httpx.post(
        f"{guarded}/translate",
        json={"text": english},
        headers={"Authorization": "Bearer sesame"},
    ).json()["text"]
    with closing(Engine(guarded, "sesame")) as far:
        assert far.services() == ["translation", "reviews"]
        assert RemoteTranslation(far).translate(english).best.text
    with (
        closing(Engine(guarded, "other")) as far,
        pytest.raises(UserError, match="asks for a token, and this is not"),
    ):
        far.services()


def test_only_known_names_lead_to_the_engine(guarded):
    for host, code in (
        ("engine.example.org", 200),
        ("127.0.0.1:8000", 200),
        ("evil.example", 403),
    ):
        answer = httpx.get(f"{guarded}/health", headers={"Host": host})
        assert answer.status_code == code, host
    assert "This engine is not served under the name 'evil.example'" in answer.text
    answer = httpx.get(f"{guarded}/health", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403 and "may not use this engine" in answer.text


def test_an_engine_serves_as_many_and_for_as_long_as_a_page(guarded, running, reader):
    assert running.guard is reader.guard
    assert (running.guard.people, running.guard.seconds) == (
        limits.MOST_PEOPLE,
        limits.MOST_SECONDS,
    )


@pytest.mark.parametrize("token", ["", "two words", "ñ", "a\nb"])
def test_a_token_that_no_header_takes_is_refused(capsys, monkeypatch, token):
    wanted = "The engine's token must be one word of printable ASCII characters, without spaces.\n"
    page = ["app", "--engine", "http://127.0.0.1:9", f"--engine-token={token}"]
    for command in (["serve", f"--token={token}"], page):
        assert main(command) == 2 and capsys.readouterr().err == wanted
    if token:
        monkeypatch.setenv("XFORMER_ENGINE_TOKEN", token)
        assert main(["serve"]) == 2 and capsys.readouterr().err == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [(None, (0, 0)), ("3", (3, 3)), ("1:8", (1, 8))]
)
def test_replicas_are_one_number_or_two(text, wanted):
    assert replicas(text) == wanted


@pytest.mark.parametrize("text", ["0", "8:1", "x", "1:", "-1", "1:2:3"])
def test_other_replicas_are_refused(capsys, text, tiny_checkpoint):
    assert (
        main(["serve", f"--replicas={text}", "--checkpoint", str(tiny_checkpoint)]) == 2
    )
    said = f"--replicas is {text!r}; write a number from 1, or two as 2:8, the smaller first.\n"
    assert capsys.readouterr().err == said
