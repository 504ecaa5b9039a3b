"""What the tests share: a few sentences, a vocabulary of them, small random models, and
one that knows eight by heart.

Nothing here needs the network; every model is small enough for one thread.
"""

import json
import os
import shutil
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import settings

from tests import recorded_models
from tests.gate import file_of
from tests.harness import App
from tests.hub_server import Hub
from xformer.classifier import (
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    TransformerClassifier,
)
from xformer.hub import checkpoint
from xformer.hub.shipped import REVERSE, TRANSLATION
from xformer.lessons.scene import Scene
from xformer.model import NORMS, Config, Transformer
from xformer.pieces import BOS, EOS, PAD
from xformer.results import GENERATIONS
from xformer.serve.pool import Models
from xformer.serve.reviews import SentimentService, encode
from xformer.serve.study import Study
from xformer.serve.translation import Service
from xformer.serve.writer import Writer
from xformer.tokenizer import Tokenizer
from xformer.translator import pad

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.load_profile("steady")

PAIRS = [
    ("The cat sleeps.", "El gato duerme."),
    ("The dog eats the bread.", "El perro come el pan."),
    ("I don't have a house.", "No tengo una casa."),
    ("Where is the red car?", "¿Dónde está el coche rojo?"),
    ("She reads a book, and he sings.", "Ella lee un libro y él canta."),
    ("We want cold water.", "Queremos agua fría."),
    ("Good morning!", "¡Buenos días!"),
    ("My brother is twelve years old.", "Mi hermano tiene doce años."),
    ("They are not at home.", "No están en casa."),
    ("The girl's name is María.", "La niña se llama María."),
    ("It is raining today.", "Hoy llueve."),
    ("What time is it?", "¿Qué hora es?"),
    ("The cats drink milk.", "Los gatos beben leche."),
    ("The dogs are hungry.", "Los perros tienen hambre."),
    ("I am reading the letter.", "Estoy leyendo la carta."),
    ("He works in a big city.", "Trabaja en una ciudad grande."),
    ("Open the window, please.", "Abre la ventana, por favor."),
    ("The train leaves at 10:45.", "El tren sale a las 10:45."),
    ("You're my friend.", "Eres mi amigo."),
    ("Nobody knows the answer.", "Nadie sabe la respuesta."),
    ("The book is on the table.", "El libro está en la mesa."),
    ("My sister lives in Spain.", "Mi hermana vive en España."),
    ("We will eat at home tomorrow.", "Mañana comeremos en casa."),
    ("It cost 3,200 euros in 1987.", "Costó 3.200 euros en 1987."),
]


REVIEWS = [
    (1, "A wonderful film, funny and moving."),
    (0, "A dull film, long and boring."),
    (1, "I loved every minute of it!"),
    (0, "I hated every minute of it!"),
    (1, "The actors are great."),
    (0, "The actors are not great."),
    (1, "Not bad at all, go and see it."),
    (0, "Bad. Do not go and see it."),
    (1, "It's a clever story, beautifully told."),
    (0, "It's a stupid story, badly told."),
    (1, "The best film of the year."),
    (0, "The worst film of the year."),
]


# Fixtures by which a test starts the app, or commands in processes of their own.
MARKED = {
    "served": "server",
    "public": "server",
    "guarded": "server",
    "start": "server",
    "client": "slow",
    "installed": "full",
}


def longest_first(items, seconds):
    """Sort tests by the seconds of their files, as `python -m tests.gate --measure`
    notes them, so that processes end at about the same time. A file that nobody has
    measured counts as the mean."""
    files = {name: taken for name, taken in seconds.items() if name == file_of(name)}
    mean = sum(files.values()) / len(files)
    items.sort(key=lambda item: -files.get(file_of(item.nodeid), mean))


def leave_out_the_longest(config, items):
    """Leave out what `make full` and `make night` run, where no marks are named."""
    if not config.option.markexpr:
        longest = [
            item
            for item in items
            if item.get_closest_marker("full") or item.get_closest_marker("night")
        ]
        items[:] = [item for item in items if item not in longest]
        config.hook.pytest_deselected(items=longest)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.path.parent.name == "research":
            item.add_marker("full")
        for fixture in MARKED.keys() & {*item.fixturenames}:
            item.add_marker(MARKED[fixture])
    leave_out_the_longest(config, items)
    longest_first(
        items, json.loads((Path(__file__).parent / "seconds.json").read_text())
    )


def pytest_runtest_setup():
    """Small matrices are quicker on one thread, and sums come out the same every time:
    what a test computes with more threads leaves that number to this thread, and to all
    threads that are started after it."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def pairs():
    """English and Spanish sentences that between them hold every character of the small
    vocabulary."""
    return PAIRS


@pytest.fixture(scope="session")
def tokenizer():
    """A vocabulary of 150 pieces."""
    return Tokenizer.train(
        (sentence for pair in PAIRS for sentence in pair), vocab_size=150, threads=1
    )


def random_model(norm, tokenizer, **more):
    torch.manual_seed(0)
    shape = {
        "d_model": 32,
        "n_heads": 4,
        "n_layers": 2,
        "d_ff": 64,
        "dropout": 0.0,
        "max_length": 64,
        **more,
    }
    model = Transformer(Config(vocab_size=len(tokenizer), norm=norm, **shape))
    # biases and normalisations start at 0 and 1, which would hide mistakes with them
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


@pytest.fixture(params=NORMS)
def tiny_model(request, tokenizer):
    """A model of either norm with random weights, two layers of four heads, in
    evaluation mode."""
    return random_model(request.param, tokenizer)


def descend(model, loss_of, steps, rate=3e-3):
    """Plain gradient descent on a readable loss; returns the last one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    return float(loss.detach())


def learn_by_heart(model, pairs, steps, rate=3e-3):
    """Descent on one batch of pairs; returns the last loss a piece."""
    source = pad([[*english, EOS] for english, _ in pairs])
    target = pad([[BOS, *spanish] for _, spanish in pairs])
    wanted = pad([[*spanish, EOS] for _, spanish in pairs])
    return descend(
        model,
        lambda: torch.nn.functional.cross_entropy(
            model(source, target).flatten(0, 1), wanted.flatten(), ignore_index=PAD
        ),
        steps,
        rate,
    )


@pytest.fixture(scope="session")
def learn():
    """`learn(model, pairs of ids, steps)` trains a model until it knows the pairs;
    returns the last loss."""
    return learn_by_heart


@pytest.fixture(scope="session")
def learned_pairs():
    """The sentences that the model of `tiny_checkpoint` translates without a
    mistake."""
    return PAIRS[:8]


def tiny_shape(tokenizer):
    """The shape of the model that knows sentences by heart."""
    return Config(
        vocab_size=len(tokenizer),
        d_model=32,
        n_heads=4,
        n_layers=2,
        d_ff=64,
        dropout=0.0,
        max_length=128,
    )


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory, tokenizer, learned_pairs) -> Path:
    """Folder of a checkpoint: pre-norm, two layers of four heads, `learned_pairs` known
    by heart. Do not write to it; copy it with `shutil.copytree`."""
    torch.manual_seed(1)
    model = Transformer(tiny_shape(tokenizer))
    ids = [
        (tokenizer.encode(english), tokenizer.encode(spanish))
        for english, spanish in learned_pairs
    ]
    loss = learn_by_heart(model, ids, steps=120)
    assert loss < 0.05, (
        f"the eight sentences are not known by heart: a loss of {loss:.3f} a piece"
    )
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-en-es"
    checkpoint.save(folder, model, tokenizer, {"step": 120, "loss": round(loss, 4)})
    return folder


@pytest.fixture(scope="session")
def other_checkpoint(tmp_path_factory, tokenizer) -> Path:
    """Folder of a checkpoint of another shape that has learned nothing: post-norm,
    three and one layers of six heads. Do not write to it."""
    model = random_model(
        "post",
        tokenizer,
        d_model=48,
        n_heads=6,
        n_layers=3,
        n_decoder_layers=1,
        max_length=192,
    )
    folder = tmp_path_factory.mktemp("checkpoints") / "other-shape"
    checkpoint.save(folder, model, tokenizer, {})
    return folder


@pytest.fixture(scope="module")
def shipped():
    """The translation model that ships."""
    with closing(
        Service.open(
            Path(__file__).resolve().parent.parent / "checkpoints" / "en-es", "cpu"
        )
    ) as service:
        yield service


class Shipped:
    """The translation models that ship by name, opened when they are asked for."""

    def __init__(self, default):
        self.opened = {"en-es": default}
        self.default = default
        self.names = ["en-es", *GENERATIONS]

    def lease(self, name=""):
        if name not in self.opened:
            self.opened[name] = Service.open(TRANSLATION.path.parent / name, "cpu")
        return nullcontext(self.opened[name])


@pytest.fixture(scope="module")
def scene(shipped):
    """What a question may ask of: the shipped models and the recorded runs."""
    pool = Shipped(shipped)
    reviews = SentimentService.open(TRANSLATION.path.parent / "sentiment", "cpu")
    yield Scene(shipped, pool, Study(), reviews)
    for name in {*pool.opened} - {"en-es"}:
        pool.opened[name].close()


@pytest.fixture(scope="module")
def both_ways():
    """The models that ship: from English, and from Spanish as "es-en"."""
    running = Models(
        Service.open(TRANSLATION.path, "cpu"), {"es-en": REVERSE.path}, "cpu"
    )
    yield running
    running.close()


@pytest.fixture(scope="module")
def back(both_ways):
    """The model that ships from Spanish."""
    with both_ways.lease("es-en") as service:
        yield service


@pytest.fixture(scope="session")
def reviews():
    """Twelve short reviews with their labels, half of them positive."""
    return REVIEWS


@pytest.fixture(scope="session")
def review_tokenizer():
    """A vocabulary of 120 pieces, without capitals, of the reviews and the
    sentences."""
    return Tokenizer.train(
        [text for _, text in REVIEWS] + [english for english, _ in PAIRS],
        120,
        threads=1,
        fold_case=True,
    )


def learn_labels(model, tokenizer, rows, steps):
    """Descent on one batch of texts; returns the last loss a text."""
    tokens = pad(
        [encode(tokenizer, text, model.config.max_length)[0] for _, text in rows]
    )
    labels = torch.tensor([label for label, _ in rows])
    return descend(
        model,
        lambda: torch.nn.functional.cross_entropy(model(tokens).logits, labels),
        steps,
    )


@pytest.fixture(scope="session")
def learn_reviews():
    """`learn_reviews(model, tokenizer, rows, steps)` trains a classifier until it knows
    the rows; returns the loss."""
    return learn_labels


@pytest.fixture(scope="session")
def tiny_classifier(tmp_path_factory, review_tokenizer) -> Path:
    """Folder of a classifier, two layers of four heads, that knows the twelve reviews
    by heart and reads 24 pieces at most. Do not write to it; copy it with
    `shutil.copytree`."""
    torch.manual_seed(1)
    model = TransformerClassifier(
        ClassifierConfig(
            vocab_size=len(review_tokenizer),
            d_model=32,
            n_heads=4,
            n_layers=2,
            d_ff=64,
            dropout=0.0,
            max_length=24,
            temperature=2.0,
        )
    )
    loss = learn_labels(model, review_tokenizer, REVIEWS, steps=80)
    assert loss < 0.05, (
        f"the reviews are not known by heart: a loss of {loss:.3f} a text"
    )
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-sentiment"
    checkpoint.save(
        folder, model, review_tokenizer, {"step": 80, "loss": round(loss, 4)}
    )
    return folder


@pytest.fixture(scope="session")
def tiny_writer(tmp_path_factory, review_tokenizer) -> Path:
    """Folder of a language model of the shape of `tiny_classifier`, but with a causal
    mask as all of its kind, that knows the twelve reviews by heart. Do not write to it.
    """
    torch.manual_seed(2)
    model = LanguageModel(
        LanguageModelConfig(
            vocab_size=len(review_tokenizer),
            d_model=32,
            n_heads=4,
            n_layers=2,
            d_ff=64,
            dropout=0.0,
            max_length=48,
        )
    )
    rows = [[BOS, *review_tokenizer.encode(text), EOS] for _, text in REVIEWS]
    given = pad([row[:-1] for row in rows])
    wanted = pad([row[1:] for row in rows])
    loss = descend(
        model,
        lambda: torch.nn.functional.cross_entropy(
            model(given).flatten(0, 1), wanted.flatten(), ignore_index=PAD
        ),
        120,
    )
    assert loss < 0.5, (
        f"the reviews are not known by heart: a loss of {loss:.3f} a piece"
    )
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-lm"
    checkpoint.save(
        folder, model, review_tokenizer, {"step": 120, "loss": round(loss, 4)}
    )
    return folder


@pytest.fixture(scope="module")
def writer(tiny_writer):
    """The service on `tiny_writer`."""
    return Writer.open(tiny_writer, "cpu")


MEASURED = {
    "calibration": {
        "temperature": 2.0,
        "error": 0.031,
        "error_before": 0.1,
        "bins": [
            {"count": 20, "confidence": 0.6, "accuracy": 0.5},
            {"count": 80, "confidence": 0.9, "accuracy": 0.95},
        ],
    }
}


@pytest.fixture(scope="session")
def measured_classifier(tiny_classifier, tmp_path_factory) -> Path:
    """Folder of `tiny_classifier` with measurements to draw."""
    folder = shutil.copytree(
        tiny_classifier, tmp_path_factory.mktemp("classifier") / "measured"
    )
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps({**metrics, **MEASURED}))
    return folder


@pytest.fixture(scope="session")
def generation_checkpoints(tmp_path_factory, tokenizer):
    """Folders of tiny untrained models of the four generations by name, with all that a
    training leaves."""
    return recorded_models.make(tmp_path_factory.mktemp("generations"), tokenizer)


@pytest.fixture
def generations(tiny_checkpoint, generation_checkpoints):
    """The models of a page that compares the four generations."""
    with closing(
        Models(Service.open(tiny_checkpoint, "cpu"), generation_checkpoints, "cpu")
    ) as running:
        yield running


@pytest.fixture(scope="session")
def served(
    tiny_checkpoint,
    other_checkpoint,
    measured_classifier,
    tiny_writer,
    generation_checkpoints,
    tmp_path_factory,
):
    """The app as `python app.py` starts it, on small models; shared by all tests that
    change nothing in it. Where `make page` has started one, TEST_SERVER names it."""
    if address := os.environ.get("TEST_SERVER"):
        yield SimpleNamespace(address=address)
        return
    more = [
        argument
        for folder in generation_checkpoints.values()
        for argument in ("--checkpoint", folder)
    ]
    with App(
        tmp_path_factory.mktemp("served"),
        "--checkpoint",
        tiny_checkpoint,
        "--checkpoint",
        other_checkpoint,
        *more,
        "--sentiment",
        measured_classifier,
        "--language-model",
        tiny_writer,
    ) as app:
        yield app


@pytest.fixture(scope="session")
def address(served):
    return served.address


@pytest.fixture(scope="session")
def public(tiny_checkpoint, other_checkpoint, tiny_classifier, tmp_path_factory):
    """The address of a page whose visitors may choose among two models only, and which
    is an MCP server too."""
    with App(
        tmp_path_factory.mktemp("public"),
        "--checkpoint",
        tiny_checkpoint,
        "--checkpoint",
        other_checkpoint,
        "--sentiment",
        tiny_classifier,
        "--no-any-model",
        "--mcp",
    ) as app:
        yield app.address


@pytest.fixture(scope="session")
def guarded(tiny_checkpoint, tiny_classifier, tmp_path_factory):
    """The app behind a password (of the user ada: “a b:c”), asked for a public link
    that cannot be made."""
    nobody_listens = "http://127.0.0.1:9"
    with App(
        tmp_path_factory.mktemp("guarded"),
        "--checkpoint",
        tiny_checkpoint,
        "--sentiment",
        tiny_classifier,
        "--auth",
        "ada:a b:c",
        "--share",
        ready="No public link",
        HTTPS_PROXY=nobody_listens,
        https_proxy=nobody_listens,
    ) as app:
        yield app


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """`start(*flags, program=None, command=None, **environment)`: an App, which ends
    with the tests of its module."""
    with ExitStack() as started:
        yield lambda *flags, **more: started.enter_context(
            App(tmp_path_factory.mktemp("app"), *flags, **more)
        )


@pytest.fixture(scope="module")
def running(tiny_checkpoint):
    """The service on `tiny_checkpoint`."""
    service = Service.open(tiny_checkpoint, "cpu")
    yield service
    service.close()


@pytest.fixture(scope="module")
def reader(tiny_classifier):
    """The service on `tiny_classifier`."""
    return SentimentService.open(tiny_classifier, "cpu")


@pytest.fixture
def server():
    """A Hub on loopback."""
    hub = Hub()
    yield hub
    hub.stop()


def endless(stopped):
    """A search that does not end, in place of `service.translating`; `stopped` is set
    when it is given up."""

    def search(*_):
        try:
            while True:
                yield
        finally:
            stopped.set()

    return search
