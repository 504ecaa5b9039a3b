"""How far a translation can be trusted: what it is reckoned from, how it is fitted, and
where it is said."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.harness import ROOT
from xformer.explain.doubts import looks_foreign
from xformer.explain.quality import estimate, features, fit
from xformer.parts.translate import part as tab
from xformer.results import Candidate, Options
from xformer.serve import engine
from xformer.strings import ENGLISH, SPANISH

ASKED = Options(quality=True)


def candidate(text, *log_probs):
    return Candidate(text, 0.0, (), (), log_probs, (), True)


def test_features_are_what_they_are_called():
    best = candidate("el gato duerme", -0.1, -0.5, -0.3)
    assert features(7, best) == pytest.approx((1, -0.3, -0.5, 14 / 3, np.log(7), 0, 0))
    assert features(18, best)[4:] == pytest.approx((np.log(18), np.log(1.5), 0)), (
        "beyond one bend"
    )
    assert features(36, best)[4:] == pytest.approx((np.log(36), np.log(3), np.log(1.5)))
    assert features(0, candidate("", -1.0))[3:] == (0, 0, 0, 0)


def test_a_fit_finds_the_weights_that_labels_were_drawn_with():
    draw = np.random.default_rng(0)
    x = np.column_stack([np.ones(20_000), draw.normal(size=(20_000, 2))])
    wanted = np.array([0.5, 2.0, -1.0])
    good = draw.random(len(x)) < estimate(wanted, x)
    assert fit(x, good) == pytest.approx(wanted, abs=0.06)
    assert np.isfinite(fit(x[:4], x[:4, 1] > 0)).all(), "labels that x tells apart"


@pytest.mark.parametrize(
    ("text", "language", "foreign"),
    [
        ("", "en", False),
        ("Hello!", "en", False),
        ("Tom ate too much.", "en", False),
        ("¿Dónde está el libro?", "en", True),
        ("Ich weiß nicht, warum sie heute gekommen sind.", "en", True),
        ("I'll be sitting while he's singing.", "en", False),
        ("Je ne sais pas où elle habite maintenant.", "en", True),
        ("¿Dónde está el libro?", "es", False),
        ("Where is the book?", "es", True),
    ],
)
def test_a_foreign_text_is_found_by_its_short_words(text, language, foreign):
    assert looks_foreign(text, language) == foreign


WEIGHTS = [3.0, 2.0, 0.1, 0.05, -0.5, -0.1, 0.2]


@pytest.fixture
def fitted(running, monkeypatch):
    """The tiny model, as if its quality had been fitted."""
    monkeypatch.setitem(
        running.metrics,
        "quality",
        {"weights": WEIGHTS, "search": [5, 1.0], "identity": running.info.identity},
    )
    return running


def test_it_is_said_where_it_is_asked_for(fitted, learned_pairs):
    found = fitted.translate(learned_pairs[0][0], ASKED)
    several = fitted.translate(learned_pairs[0][0], replace(ASKED, n_best=5))
    assert (
        0 < found.quality < 1
        and found.to_json()["quality"] == found.quality == several.quality
    )
    assert len(found.n_best) == 1 and not found.alone.quality
    assert found.best.text == fitted.translate(learned_pairs[0][0]).best.text
    wanted = features(len(several.source_tokens), several.best)
    assert found.quality == round(float(estimate(WEIGHTS, wanted)), 3)
    plain = fitted.translate(learned_pairs[0][0])
    assert plain.quality is None and "quality" not in plain.to_json()


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("¿Dónde está el coche rojo?", {}),
        ("The 猫 sleeps.", {}),
        ("The cat sleeps.", {"beam": 4}),
        ("The cat sleeps.", {"length_penalty": 0.5}),
        ("The cat sleeps.", {"temperature": 1.0}),
    ],
)
def test_what_is_not_known_is_null_and_not_0(fitted, text, more):
    found = fitted.translate(text, replace(ASKED, **more))
    assert found.quality is None and found.to_json()["quality"] is None


def test_a_translation_cut_off_or_forced_has_no_figure(fitted):
    assert fitted.translate("The cat sleeps.", ASKED, max_length=2).quality is None
    assert (
        fitted.translate("The cat sleeps.", ASKED, fitted.typed("El")[0]).quality
        is None
    )


@pytest.mark.parametrize(
    "kept", [None, 3, {}, {"weights": [1], "search": [5, 1.0]}, {"weights": "no"}]
)
def test_metrics_without_a_fit_to_these_weights_give_no_figure(
    running, monkeypatch, kept
):
    if isinstance(kept, dict):
        kept = {"identity": running.info.identity, **kept}
    monkeypatch.setitem(running.metrics, "quality", kept)
    assert running.translate("The cat sleeps.", ASKED).quality is None
    monkeypatch.setitem(
        running.metrics,
        "quality",
        {"weights": WEIGHTS, "search": [5, 1.0], "identity": "old"},
    )
    assert running.translate("The cat sleeps.", ASKED).quality is None


def test_the_api_says_it_on_request(fitted, learned_pairs):
    engine.use(fitted)
    with TestClient(engine.api, base_url="http://localhost") as client:
        plain, asked, foreign, empty = (
            client.post("/translate", json=body)
            for body in (
                {"text": learned_pairs[0][0]},
                {"text": learned_pairs[0][0], "quality": True},
                {"text": "¿Dónde está el libro?", "quality": True},
                {"text": " ", "quality": True},
            )
        )
    assert "quality" not in plain.json() and 0 < asked.json()["quality"] < 1
    assert foreign.json()["quality"] is None
    assert empty.status_code == 422 and "error" in empty.json()


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_page_says_it_in_one_line_and_what_it_cannot_know(fitted, language):
    settings = {"beam": 5, "n_best": 1, "length_penalty": 1, "longest": 20}

    def shown(**more):
        *_, answer = tab.run(
            fitted, language, sentence="The cat sleeps.", former=None, **settings | more
        )
        return answer["shown"]

    share = fitted.translate("The cat sleeps.", ASKED).quality
    count = str(min(95, max(5, 5 * round(20 * share))))
    assert f'<p class="sub">{language.html("quality", count=count)}</p>' in shown()
    assert language.html("quality_unknown") in shown(beam=3)
    assert language.html("quality_unknown") not in shown(temperature=1.0)
    del fitted.metrics["quality"]
    assert (
        language.html("quality_unknown") not in shown()
        and language.say("quality", count=count) not in shown()
    )


@pytest.mark.parametrize("name", ["en-es", "es-en"])
def test_what_is_said_holds_for_each_source_and_length(name):
    metrics = json.loads(
        (ROOT / "checkpoints" / name / "metrics.json").read_text(encoding="utf-8")
    )
    kept = metrics["quality"]["tested"]
    assert min(kept[one]["sentences"] for one in ("dev", "flores200-dev")) > 900
    off = {
        group: found
        for group, found in kept.items()
        if found["error"] > max(0.05, found["by chance"])
    }
    assert not off, "chance alone does not explain how far this is from what was said"


def test_the_figure_that_ships_is_of_these_weights_and_calibrated(shipped):
    kept = shipped.metrics["quality"]
    assert kept["identity"] == shipped.info.identity, (
        "give `research evaluate quality --save` for these weights"
    )
    hard = "The velleity of quiddity obnubilated them all, so they eschewed it."
    texts = "Good night.", hard, "blorp frindle"
    easy, strange, nonsense = (shipped.translate(text, ASKED).quality for text in texts)
    assert easy > 0.8 > 0.5 > strange and nonsense < 0.1
    sure = shipped.translate(
        "The university published international information.", ASKED
    )
    assert (
        sure.quality
        == 0.99
        < estimate(kept["weights"], features(len(sure.source_tokens), sure.best))
    )
