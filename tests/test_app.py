"""What the page is started with: the services of each way to start it, which are the
same."""

import shutil
import sys
from types import SimpleNamespace

import pytest

import app as hosted
from xformer.__main__ import parser
from xformer.commands import app
from xformer.hub.shipped import LECTURE, SENTIMENT, SHIPPED, TRANSLATION, WRITER
from xformer.results import UserError
from xformer.serve import engine


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A copy of the program without checkpoints."""
    monkeypatch.setattr("xformer.hub.shipped.ROOT", tmp_path)
    for one in (TRANSLATION, SENTIMENT, WRITER):
        monkeypatch.delenv(one.variable, raising=False)
    for opened in (app.models, app.reader, app.writer):
        opened.cache_clear()
    yield tmp_path
    for opened in (app.models, app.reader, app.writer):
        opened.cache_clear()


@pytest.fixture
def whole(root, tiny_checkpoint, generation_checkpoints, tiny_classifier, tiny_writer):
    """A copy of the program with a small model in place of each that ships."""
    for one in SHIPPED:
        small = {"language-model": tiny_writer, "sentiment": tiny_classifier}.get(
            one.kind
        ) or generation_checkpoints.get(one.name, tiny_checkpoint)
        shutil.copytree(small, root / one.folder)
    return root


def offered(translators, study, reviews, writer, other_reviews):
    """The names of what a page offers."""
    return {*translators.names, reviews.info.name, writer.info.name, *other_reviews}


def test_each_way_to_start_the_page_offers_all_that_ships(whole, monkeypatch):
    pages = []
    monkeypatch.setattr(
        "xformer.ui.create", lambda *services: pages.append(offered(*services))
    )
    monkeypatch.setattr("xformer.ui.launch", lambda *_, **__: None)
    line = parser().parse_args(["app", "--device", "cpu"])
    assert line.run(line) == 0
    assert hosted.demo is None  # what hosts import
    assert pages == [{one.name for one in SHIPPED}] * 2


def test_an_engine_offers_the_models_that_a_page_begins_with(whole, monkeypatch):
    used = []
    monkeypatch.setattr("xformer.serve.connections.Server.run", lambda server: None)
    monkeypatch.setattr(
        engine, "use", lambda *services: used.extend(one.info.name for one in services)
    )
    line = parser().parse_args(["serve", "--device", "cpu"])
    assert line.run(line) == 0 and used == [TRANSLATION.name, SENTIMENT.name]


def test_a_page_of_an_engine_offers_what_is_small_too(whole, monkeypatch, reader):
    pages = []
    monkeypatch.setattr(
        "xformer.ui.create", lambda *services: pages.append(offered(*services))
    )
    monkeypatch.setattr("xformer.ui.launch", lambda *_, **__: None)
    monkeypatch.setattr("xformer.ui.warm_up", lambda models: None)
    monkeypatch.setattr(
        app,
        "remote",
        lambda address, token: (SimpleNamespace(names=["elsewhere"]), reader),
    )
    line = parser().parse_args(
        ["app", "--engine", "http://localhost:1", "--device", "cpu"]
    )
    assert line.run(line) == 0
    assert pages == [{"elsewhere", reader.info.name, WRITER.name, LECTURE.name}]


def test_the_classifier_is_the_one_named_or_the_one_that_ships(
    tiny_classifier, tiny_checkpoint, root, monkeypatch, capsys
):
    assert app.reader(None, "cpu") is None
    assert app.reader(str(tiny_classifier), "cpu").info.name == "tiny-sentiment"
    (root / "checkpoints" / "sentiment").mkdir(parents=True)
    app.reader.cache_clear()
    assert isinstance(app.reader(None, "cpu"), UserError)
    monkeypatch.setenv("XFORMER_SENTIMENT", str(root / "nowhere"))
    app.reader.cache_clear()
    with pytest.raises(UserError, match="There is no checkpoint folder"):
        app.reader(None, "cpu")
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "app.py",
            "--checkpoint",
            str(tiny_checkpoint),
            "--device",
            "cpu",
            "--sentiment",
            str(root / "nowhere"),
        ],
    )
    assert app.main() == 2
    assert "There is no checkpoint folder" in capsys.readouterr().err


def test_the_classifier_that_is_offered_too_is_the_lectures(tiny_classifier, root):
    assert app.other_readers(None, "cpu") == {}
    shutil.copytree(tiny_classifier, root / "checkpoints" / "lecture")
    assert list(app.other_readers(None, "cpu")) == ["lecture"]
    assert app.other_readers("another", "cpu") == {}
