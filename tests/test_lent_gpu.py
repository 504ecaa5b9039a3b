"""Calls on GPUs that a stand-in for the host lends."""

import os
import pickle
import subprocess
import sys
import types
from functools import partial

import pytest
import torch

from tests import endpoints
from tests.harness import ROOT
from tests.questions import one_of_each
from xformer import device
from xformer.results import Head, Options, UserError, WalkAdditive
from xformer.serve import lent_gpu
from xformer.serve.lent_gpu import computing, open_service
from xformer.serve.limits import Guard
from xformer.serve.loaded import ModelService
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import ANSWERS, Service
from xformer.serve.writer import Writer

LENDER = '''
"""As ZeroGPU does it: each call in a forked process, what goes there and comes back pickled."""

import functools, inspect, os, pickle, sys
from pathlib import Path

assert "torch" not in sys.modules, "spaces is to be imported before torch"
here = Path(__file__).parent

def note(text):
    with open(here / "log", "a") as file:
        file.write(text + "\\n")

def GPU(task=None, *, duration=60):
    if task is None:
        return functools.partial(GPU, duration=duration)
    assert not inspect.iscoroutinefunction(task)
    note(f"decorated {task.__name__} {duration}")

    def lent(*args, **kwargs):
        if (here / "refuse").exists():
            raise RuntimeError("You have exceeded your GPU quota.")
        sent = pickle.dumps((args, kwargs))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            args, kwargs = pickle.loads(sent)
            try:
                found = task(*args, **kwargs)
                note(f"computed {args[2]}")
                with open(write, "wb") as file:
                    pickle.dump(found, file)
            finally:
                os._exit(0)
        os.close(write)
        with open(read, "rb") as file:
            found = file.read()
        os.waitpid(child, 0)
        return pickle.loads(found)
    return lent
'''


@pytest.mark.full
def test_a_host_that_lends_gpus_computes_each_call(
    start, tiny_checkpoint, tiny_classifier, learned_pairs, reviews, tmp_path
):
    (tmp_path / "spaces.py").write_text(LENDER)
    # which has not loaded torch yet
    app = start(
        "--checkpoint",
        tiny_checkpoint,
        "--sentiment",
        tiny_classifier,
        PYTHONPATH=str(tmp_path),
        command=[sys.executable, str(ROOT / "app.py")],
    )
    ask = partial(endpoints.ask, app.address)
    english, spanish = learned_pairs[0]
    assert ask("translate", english, 5, 1)["text"] == spanish
    assert ask("explain", english, "", "cross", 0, 0)["queries"][0] == "<s>"
    assert ask("classify", reviews[0][1])["label"] == "positive"
    with pytest.raises(ValueError, match="There is nothing to translate"):
        ask("translate", " ", 5, 1)
    log = (tmp_path / "log").read_text().splitlines()
    assert log[0] == f"decorated _compute {lent_gpu.SECONDS}"
    # what the page opens with, and the pictures of its parts, as it starts
    assert {*log[1:-4]} == {"computed translate_and_trace", "computed ask"}
    assert log[-4:] == [
        "computed translate",
        "computed explain",
        "computed classify",
        "computed translate",
    ]
    (tmp_path / "refuse").touch()
    assert ask("translate", english, 5, 1)["text"] == spanish, (
        "where no GPU is to be had, the CPU is"
    )
    assert (tmp_path / "log").read_text().splitlines() == log


@pytest.mark.full
@pytest.mark.slow
def test_a_forked_call_does_not_wait_for_threads_that_stayed_behind(tmp_path):
    """The model that ships is large enough to be loaded and run by several threads."""
    (tmp_path / "spaces.py").write_text(LENDER)
    code = """
import spaces, torch
from xformer.serve.lent_gpu import open_service
from xformer.serve.translation import Service
lent = open_service(Service, "checkpoints/en-es", None)
assert torch.get_num_threads() == 2 and torch.ones(4_000_000).exp().sum() > 0
print(lent.translate_many(["Good night."] * 20)[0].best.text)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "2",
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        },
    )
    assert (ran.returncode, ran.stdout) == (0, "Buenas noches.\n"), ran.stderr
    assert (tmp_path / "log").read_text().endswith("computed translate_many\n")


@pytest.fixture
def lender(monkeypatch):
    """A host whose lent calls are told in the list that it returns."""
    told = []

    def gpu(duration):
        def decorate(task):
            def lent(*args):
                sent = pickle.loads(pickle.dumps(args))
                told.append(sent[2])
                return pickle.loads(pickle.dumps(task(*sent)))

            return lent

        return decorate

    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=gpu))
    monkeypatch.setattr(device, "THREADS", device.THREADS)
    lent_gpu._decorated.cache_clear()
    yield told
    lent_gpu._decorated.cache_clear()
    lent_gpu._opened.cache_clear()


@pytest.mark.slow
def test_all_that_computes_travels_there_and_back(
    lender, tiny_checkpoint, tiny_classifier, tiny_writer, learned_pairs, reviews
):
    plain = Service.open(tiny_checkpoint, "cpu")
    lent = open_service(Service, tiny_checkpoint, None)
    assert lent.info.device == "ZeroGPU" and plain.info.device == "cpu"
    english, spanish = learned_pairs[0]
    found = plain.translate(english)
    steps = []
    travelled = []
    questions = one_of_each(english, spanish, found.best.pieces[0])
    assert {*map(type, questions), WalkAdditive} == ANSWERS.keys()
    for name, args in (
        ("translate", (english, Options(beam=2))),
        ("translate_many", ([english, english],)),
        ("translate_and_trace", (english,)),
        ("choose", (english, found.best, 0, found.best.pieces[0])),
        ("trace", (english, spanish)),
        ("embed", ([english],)),
        ("explain", (english,)),
        ("compare", (english, learned_pairs[1][0])),
        *(
            ("ask", (question, lambda *done: steps.append(done)))
            for question in questions
        ),
    ):
        told = len(lender)
        answer = getattr(lent, name)(*args)
        wanted = getattr(plain, name)(*args)
        assert lender[told:] == [name] and type(answer) is type(wanted), name
        travelled.append(name)
    assert sorted({*travelled}) == computing(Service)
    assert (
        lent.best_head == plain.best_head and lent.translate(english).best == found.best
    )
    reader = open_service(SentimentService, tiny_classifier, None)
    here = SentimentService.open(tiny_classifier, "cpu")
    for text in (reviews[0][1], reviews[1][1]):
        assert reader.classify([text])[0].probability == pytest.approx(
            here.classify([text])[0].probability
        )
    assert (
        reader.attribute(reviews[0][1], lambda *done: None).words
        == here.attribute(reviews[0][1]).words
    )
    assert lender[-1] == "attribute"
    assert (
        reader.trace("A film").encoder_self == here.trace("A film").encoder_self
    ).all()
    assert {*computing(SentimentService)} <= {*lender}
    lent_writer = open_service(Writer, tiny_writer, None)
    own = Writer.open(tiny_writer, "cpu")
    text = own.read("A wonderful film")
    for name, args in (
        ("read", ("A wonderful film",)),
        ("write", (text, Options(temperature=1.0, seed=3))),
        ("choose", (text, 1, 20)),
    ):
        assert (
            getattr(lent_writer, name)(*args) == getattr(own, name)(*args)
            and lender[-1] == name
        )
    assert (
        lent_writer.trace("A film").encoder_self == own.trace("A film").encoder_self
    ).all()
    assert {*computing(Writer)} <= {*lender}
    for one in (plain, lent):
        one.close()


# What public methods of a service do that run no model; all others must be lent a GPU.
RUNS_NO_MODEL = {
    Service: {
        "typed": ("El gato.",),
        "alignment_errors": (Head("cross", 1, 1),),
        "blocks": (),
        "split": ("The cat.",),
        "lock": ("contexts",),
        "read": ("The cat sleeps.",),
        "pair": ("The cat sleeps.", "El gato duerme."),
        "close": (),
    },
    SentimentService: {"clean": ("A good film.",), "blocks": ()},
    Writer: {"blocks": ()},
}


@pytest.mark.parametrize(
    ("kind", "checkpoint"),
    [
        (Service, "tiny_checkpoint"),
        (SentimentService, "tiny_classifier"),
        (Writer, "tiny_writer"),
    ],
)
def test_every_public_method_that_runs_the_model_is_lent_a_gpu(
    request, monkeypatch, kind, checkpoint
):
    """A new method is lent one, or stands in `lent_gpu.INSTANT` and above, and is seen
    to run no model."""
    of_checkpoints = {
        name for name in vars(ModelService) if not name.startswith("_")
    } - {"blocks"}
    public = {name for name in dir(kind) if not name.startswith("_")} - of_checkpoints
    methods = {name for name in public if callable(getattr(kind, name))}
    assert (
        methods - {*computing(kind)} == RUNS_NO_MODEL[kind].keys()
        and {*computing(kind)} <= methods
    )

    service = kind.open(request.getfixturevalue(checkpoint), "cpu")

    def run(*_):
        raise AssertionError("the model was run")

    monkeypatch.setattr(torch.nn.Module, "__call__", run)
    with pytest.raises(AssertionError, match="the model was run"):
        service.model.encoder(torch.zeros(1, 1, 32), None)
    for name in public - methods:  # properties
        getattr(service, name)
    for name, args in RUNS_NO_MODEL[kind].items():
        getattr(service, name)(*args)


def test_what_is_computed_here_instead_has_the_same_limits(
    monkeypatch, tiny_classifier, reviews
):
    def gpu(duration):
        def none_free(*args):
            raise RuntimeError("no GPU is free")

        return lambda task: none_free

    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=gpu))
    lent_gpu._decorated.cache_clear()
    reader = open_service(SentimentService, tiny_classifier, None)
    assert reader.attribute(reviews[0][1]).words
    reader.guard = Guard(seconds=0)
    with pytest.raises(UserError, match="took longer"):
        reader.attribute(reviews[0][1])
    reader.guard = Guard(people=0)
    with pytest.raises(UserError, match="serves 0 people at once"):
        reader.attribute(reviews[0][1])
    lent_gpu._decorated.cache_clear()


def test_nothing_is_lent_where_nothing_is_changed(monkeypatch, tiny_classifier):
    """On hosts without lent GPUs, `spaces.GPU` gives the function back."""
    monkeypatch.setitem(
        sys.modules,
        "spaces",
        types.SimpleNamespace(GPU=lambda duration: lambda task: task),
    )
    lent_gpu._decorated.cache_clear()
    reader = open_service(SentimentService, tiny_classifier, None)
    assert (
        not lent_gpu.lends()
        and "classify" not in vars(reader)
        and reader.info.device != "ZeroGPU"
    )
    lent_gpu._decorated.cache_clear()
