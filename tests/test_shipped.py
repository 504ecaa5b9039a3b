"""The model that ships: it fits its limits, its card is true to its files, and it translates what people type."""

import json
from pathlib import Path

import pytest

from xformer.service import Service

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "checkpoints" / "en-es"


@pytest.fixture(scope="module")
def shipped():
    service = Service.open(FOLDER, "cpu")
    yield service
    service.close()


def test_it_is_small_enough_to_ship(shipped):
    assert shipped.info.parameters <= 20_000_000
    assert all(path.stat().st_size < 40_000_000 for path in FOLDER.iterdir())


def test_its_card_names_data_licence_command_and_scores(shipped):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{shipped.info.parameters:,} parameters" in card
    assert "CC-BY 2.0 FR" in card and "python -m xformer train translation" in card and "BLEU" in card
    assert json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))["bleu"] > 0


@pytest.mark.parametrize(("english", "wanted"), [
    ("I was waiting for Tom.", {"Tom", "esperando", "esperaba"}),
    ("i was waiting for tom", {"Tom", "esperando", "esperaba"}),
    ("Where do you live?", {"¿Dónde", "vives?", "vive?"}),
    ("where do you live", {"¿Dónde", "vives?", "vive?"}),
    ("She is my sister.", {"hermana."}),
    ("Good night.", {"noches."}),
    ("Thank you very much.", {"gracias."}),
    ("The cat is black.", {"gato", "negro."})])
def test_it_translates_what_people_type(shipped, english, wanted):
    found = shipped.translate(english)
    assert wanted & set(found.best.text.split()), found.best.text
    assert not found.warnings


def test_a_long_sentence_is_translated_to_its_end(shipped):
    found = shipped.translate(json.loads((ROOT / "assets" / "examples.json").read_text("utf-8"))["translation"][0])
    words = set(found.best.text.lower().replace(".", "").split())
    assert "amigo" in words and words & {"coche", "auto", "carro"} and len(words) >= 12, found.best.text
