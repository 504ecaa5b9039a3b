"""The named endpoints, asked by the real client, and what the server answers
besides."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial

import httpx
import numpy as np
import pytest

from benchmarks import soak
from tests import endpoints
from tests.harness import ROOT
from tests.pages import run
from xformer.ui.server.api import told
from xformer.ui.server.middleware import HEADERS


@pytest.fixture
def ask(address):
    """`ask(endpoint, *values)` as anybody may over HTTP: -> the answer; raises
    ValueError with what the server says."""
    return partial(endpoints.ask, address)


@pytest.fixture
def offered(address):
    with urllib.request.urlopen(f"{address}/gradio_api/info") as answer:
        return json.load(answer)


def test_translate(ask, running, learned_pairs):
    for english, spanish in learned_pairs[:3]:
        answer = ask("translate", english)
        assert answer["text"] == spanish
        assert sum(answer["log_probs"]) == pytest.approx(
            sum(running.translate(english).best.log_probs), abs=1e-4
        )
    assert len(ask("translate", learned_pairs[0][0], 4, 3)["n_best"]) == 3


def test_of_many_who_ask_at_once_each_gets_the_answer_to_their_own(
    address, learned_pairs
):
    alone = soak.Alone(
        {(english, 5): spanish for english, spanish in learned_pairs}, {}, {}
    )

    async def ask_at_once():
        async with httpx.AsyncClient(
            base_url=address, timeout=60, verify=False
        ) as client:
            return await soak.at_once(
                client, [english for english, _ in learned_pairs], alone
            )

    assert run(ask_at_once()) == {"translate": 4, "page": 4}


def test_explain_is_the_map_of_the_model(ask, running, learned_pairs):
    trace = running.explain(learned_pairs[0][0])
    _, layer, head = running.best_head
    answer = ask("explain", learned_pairs[0][0])
    assert (answer["layer"], answer["head"], answer["checkpoint"]["identity"]) == (
        layer,
        head,
        running.info.identity,
    )
    np.testing.assert_allclose(
        answer["probabilities"], trace.cross[layer - 1, head - 1], atol=1e-5
    )
    assert (
        tuple(answer["queries"]),
        tuple(answer["predicts"]),
        tuple(answer["keys"]),
    ) == (trace.target, trace.predicted, trace.source)
    answer = ask(
        "explain", learned_pairs[0][0], learned_pairs[1][1], "encoder_self", 1, 2
    )
    np.testing.assert_allclose(
        answer["probabilities"], trace.encoder_self[0, 1], atol=1e-5
    )
    assert (
        answer["keys"] == answer["queries"] == list(trace.source)
        and not answer["predicts"]
    )


def test_classify(ask, reviews):
    for label, text in reviews[:4]:
        answer = ask("classify", text)
        assert answer["label"] == ("negative", "positive")[label]
        assert answer["probability"] == answer["probabilities"][answer["label"]] > 0.5
        assert sum(answer["weights"]) == pytest.approx(1, abs=1e-4) and len(
            answer["weights"]
        ) == len(answer["pieces"])


@pytest.mark.parametrize(
    ("endpoint", "values", "sentence"),
    [
        ("classify", ("  ",), "There is nothing to judge"),
        ("classify", ("a" * 30_001,), "30,001 characters"),
        ("translate", ("",), "There is nothing to translate"),
        ("translate", ("word " * 10_000,), "10,000 words"),
        ("translate", (["a list"],), "text is \"['a list']\"; it must be a text"),
        ("translate", ("a", 99), "A beam of 99 is not possible; choose 1 to 16"),
        ("translate", ("a", "wide"), "beam is 'wide'; it must be a whole number"),
        ("translate", ("a", True), "beam is 'True'; it must be a whole number"),
        ("translate", ("a", 2, 5), "raise beam or lower n_best"),
        ("explain", ("a", "", "sideways"), "encoder_self, decoder_self, cross"),
        ("explain", ("a", "", "cross", 99), "99"),
        ("explain", ("a", "", "cross", 1, -1), "-1"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_one_sentence(
    ask, endpoint, values, sentence
):
    with pytest.raises(ValueError) as refused:
        ask(endpoint, *values)
    assert sentence in str(refused.value) and "Traceback" not in str(refused.value)


def test_what_breaks_inside_is_not_told_to_those_outside(caplog):
    def broken(text: "str"):
        raise RuntimeError("a secret of this machine")

    with pytest.raises(Exception, match="Something went wrong") as refused:
        told(broken)("a text")
    assert "secret" not in str(refused.value) and not refused.value.print_exception
    assert "secret" in caplog.text, "those who run the server must know"


def test_the_plumbing_of_the_page_is_private(offered):
    assert set(offered["named_endpoints"]) == {
        f"/{name}" for name in endpoints.DEFAULTS
    }
    assert not offered["unnamed_endpoints"]


def test_an_endpoint_says_what_it_is_for(address, offered):
    endpoint = offered["named_endpoints"]["/translate"]
    assert endpoint["description"].startswith(
        "Translate an English sentence into Spanish with a small transformer."
    )
    assert '. Returns the best translation as "text",' in endpoint["description"]
    assert [p["parameter_name"] for p in endpoint["parameters"]] == [
        "text",
        "beam",
        "n_best",
    ]
    for path, endpoint in offered["named_endpoints"].items():
        assert all(
            len(p["python_type"]["description"]) > 10 for p in endpoint["parameters"]
        ), path
    with urllib.request.urlopen(address) as page:  # what “Use via API” shows
        assert endpoint["description"][:40] in page.read().decode()


def test_the_example_in_the_docs_runs(address, running):
    readme = (ROOT / "docs" / "USING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(from gradio_client.*?)```", readme, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", example.replace("http://127.0.0.1:7860", address)],
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert running.translate("I was waiting for Tom.").best.text in ran.stdout
    _, layer, head = running.best_head
    assert f"{layer} {head} ['<s>'," in ran.stdout


def test_every_answer_carries_the_headers(address):
    for path in ("/", "/config", "/gradio_api/info"):
        with urllib.request.urlopen(address + path) as answer:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file=README.md",
        "/gradio_api/file=../../../../etc/passwd",
        "/gradio_api/file=checkpoints/en-es/config.json",
        "/gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
        "/static/../../../../../../etc/passwd",
        "/monitoring",
        "/monitoring/summary",
        "/gradio_api/runs",
        "/docs",
    ],
)
def test_nothing_else_is_served(address, path):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address + path)
    refused.value.close()
    assert refused.value.code in (403, 404, 405)
