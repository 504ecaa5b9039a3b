"""The engine over HTTP, asked by programs, and by a page elsewhere as if its services were here."""

import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import httpx
import numpy as np
import pytest
import uvicorn

from tests import endpoints
from tests.harness import App, free_port
from tests.test_wire import same
from xformer.__main__ import main
from xformer.commands.serve import replicas
from xformer.results import Head, Options, UserError
from xformer.serve import engine, remote, wire
from xformer.serve.protocol import ReviewService, TranslationService
from xformer.serve.remote import Engine, RemoteReviews, RemoteTranslation


@contextmanager
def answering(port):
    """An engine at a port of this machine, in this process."""
    server = uvicorn.Server(uvicorn.Config(engine.api, host="127.0.0.1", port=port, log_level="error"))
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


def test_programs_translate_explain_and_classify(there, running, reader, learned_pairs, reviews):
    english, spanish = learned_pairs[0]
    with httpx.Client(base_url=there) as client:
        assert client.post("/translate", json={"text": english, "beam": 2}).json()["text"] == spanish
        explained = client.post("/explain", json={"text": english}).json()
        assert np.array_equal(np.array(explained["cross"], np.float32), running.explain(english).cross)
        (label,) = client.post("/classify", json={"texts": [reviews[0][1]]}).json()
        assert label["label"] == "positive"
        refused = client.post("/translate", json={"text": ""})
        assert refused.status_code == 422 and refused.json()["error"].endswith(".")
        assert client.post("/translate", json={"text": english, "beam": 99}).status_code == 422
        assert client.get("/health").json() == {"status": "ok", "version": wire.VERSION}
        described = client.get("/openapi.json").json()["paths"]
        assert {*described} == {"/health", "/translate", "/explain", "/classify", "/services"}


def test_a_service_elsewhere_answers_as_one_here(far, running, reader, learned_pairs, reviews):
    assert far.services() == ["translation", "reviews"]
    service, english = RemoteTranslation(far), learned_pairs[0][0]
    for name in ("info", "metrics", "max_pieces", "best_head", "length_scores", "history", "moments"):
        assert same(getattr(service, name), getattr(running, name)), name
    off = [Head("cross", 1, 2)]
    mine, theirs = (one.translate(english, Options(beam=3, n_best=2), off=iter(off)) for one in (running, service))
    assert mine.n_best == theirs.n_best
    for call in (lambda one: one.trace(theirs, theirs.best.tokens), lambda one: one.explain(english),
                 lambda one: one.occlude(english, "El gato."), lambda one: one.blocks(),
                 lambda one: one.walk(english, "El gato.", Head("cross", 1, 1)),
                 lambda one: one.embed([english]), lambda one: one.head_effects(english, "El gato.", progress=max)):
        assert same(call(running), call(service))
    mine, theirs = (replace(one.classify([reviews[0][1]])[0], seconds=0) for one in (reader, RemoteReviews(far)))
    assert same(mine, theirs)
    with pytest.raises(UserError) as refused:
        service.translate("word " * 2_000)
    with pytest.raises(UserError) as here:
        running.translate("word " * 2_000)
    assert refused.value.message == here.value.message  # in the reader's language


def test_all_that_the_page_asks_of_services_can_be_asked_elsewhere():
    for kind, wanted in ((RemoteTranslation, TranslationService), (RemoteReviews, ReviewService)):
        assert not [name for name in vars(wanted) if not name.startswith("_") and not hasattr(kind, name)]


@pytest.mark.server
def test_a_page_has_its_answers_from_an_engine(there, learned_pairs, reviews, tmp_path):
    english, spanish = learned_pairs[0]
    with App(tmp_path / "page", "--engine", there) as page:
        assert endpoints.ask(page.address, "translate", english)["text"] == spanish
        assert endpoints.ask(page.address, "classify", reviews[0][1])["label"] == "positive"
        assert len(endpoints.ask(page.address, "explain", english)["probabilities"])
        with pytest.raises(ValueError, match="A beam of 99 is not possible"):
            endpoints.ask(page.address, "translate", english, 99)


def test_a_page_without_its_engine_does_not_begin(capsys):
    assert main(["app", "--engine", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err == "The engine at http://127.0.0.1:9 does not answer; try again in a minute.\n"
    assert main(["app", "--engine", "http://127.0.0.1:9", "--any-model"]) == 2
    assert "An engine has its own models" in capsys.readouterr().err


def test_an_engine_that_is_away_is_one_sentence_and_comes_back(running, reader):
    port = free_port()
    engine.use(running, reader)
    with closing(RemoteTranslation(Engine(f"http://127.0.0.1:{port}"))) as service:
        with pytest.raises(UserError, match=f"The engine at http://127.0.0.1:{port} does not answer; try again in a m"):
            service.translate("Yes.")
        with answering(port):
            assert service.translate("Yes.").best.text
        with pytest.raises(UserError, match="does not answer"):
            service.translate("Yes.")


def test_another_version_and_private_names_are_refused(there, far, monkeypatch):
    for service, name in (("translation", "_decoder"), ("translation", "open"), ("translation", "guard"),
                          ("other", "translate")):
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
        return httpx.Response(500 if len(asked) == 1 else 200, text=wire.dumps({"answer": 7}))
    far = Engine("http://nowhere")
    far.close()
    far._client = httpx.Client(base_url="http://nowhere", transport=httpx.MockTransport(answer))
    assert far.call("translation", "max_pieces", {}) == 7 and len(asked) == 2
    asked.clear()
    dead = httpx.MockTransport(lambda request: asked.append(request) or httpx.Response(500))
    far._client = httpx.Client(base_url="http://nowhere", transport=dead)
    with pytest.raises(UserError, match="does not answer"):
        far.call("translation", "max_pieces", {})
    assert len(asked) == 2


@pytest.mark.parametrize(("text", "wanted"), [(None, (0, 0)), ("3", (3, 3)), ("1:8", (1, 8))])
def test_replicas_are_one_number_or_two(text, wanted):
    assert replicas(text) == wanted


@pytest.mark.parametrize("text", ["0", "8:1", "x", "1:", "-1", "1:2:3"])
def test_other_replicas_are_refused(capsys, text, tiny_checkpoint):
    assert main(["serve", f"--replicas={text}", "--checkpoint", str(tiny_checkpoint)]) == 2
    said = f"--replicas is {text!r}; write a number from 1, or two as 2:8, the smaller first.\n"
    assert capsys.readouterr().err == said
