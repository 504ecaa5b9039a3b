"""Spaces through the real client and a Hub on loopback, and calls on GPUs that a stand-in for the host lends."""

import os
import pickle
import shutil
import subprocess
import sys
import types
from functools import partial

import pytest
from huggingface_hub import ModelCard
from packaging.requirements import Requirement

from tests import endpoints
from tests.conftest import ROOT
from tests.hub_client import Client
from xformer import device
from xformer.hub import card, checkpoint, space
from xformer.results import Positions, UserError
from xformer.search import Options
from xformer.serve.limits import Guard
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import Service

NAME = "me/page"


@pytest.fixture
def client(server, tmp_path):
    return Client(tmp_path / "home", server.url, server.token)


@pytest.fixture
def copy(tmp_path):
    """What a Space needs of this repository, to be spoilt."""
    for name in (*space.FILES, *space.FOLDERS, *space.CHECKPOINTS.values()):
        kind = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        kind(ROOT / name, tmp_path / name)
    return tmp_path


def latest(server, name=NAME):
    repository = server.repositories[f"spaces/{name}"]
    return repository.commits[repository.branches["main"]]


# Upload


def test_the_repository_is_pushed_as_it_stands_and_what_was_pushed_runs(server, client, tmp_path):
    pushed = client("space", "push", NAME, "--private")
    assert (pushed.status, pushed.out, pushed.err) == (0, f"{server.url}/spaces/{NAME}\n", "")
    found = server.repositories[f"spaces/{NAME}"]
    assert found.private and found.variables == {} and len(found.commits) == 2  # that of its making, and ours
    files = latest(server)
    assert {path.split("/")[0] for path in files} == {
        ".gitattributes", "README.md", "LICENSE", "app.py", "requirements.txt", "xformer", "assets", "checkpoints"}
    assert all(content == (ROOT / path).read_bytes() for path, content in files.items() if path != ".gitattributes")
    assert not [path for path in files if "__pycache__" in path or "reviews-lm" in path]
    assert sum(line.startswith("PUT /large/") for line in server.requests()) >= 2  # weights go as large files

    folder = tmp_path / "space"
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    code = "import app; app.demo; print(app.models().default.translate('Good night.').best.text)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (0, "Buenas noches.\n"), ran.stderr


def test_a_checkpoint_of_the_hub_is_fetched_when_the_space_is_built(server, client, tiny_checkpoint, tiny_classifier,
                                                                      tmp_path):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "tiny")
    card.draft(folder, checkpoint.examine(folder), "cc-by-4.0", None)
    commit = server.add("me/en-es", {path.name: path.read_bytes() for path in folder.iterdir()})
    assert client("space", "push", NAME, "--checkpoint", "me/en-es", "--mcp").status == 0
    files, found = latest(server), server.repositories[f"spaces/{NAME}"]
    assert found.variables == {"XFORMER_CHECKPOINT": f"me/en-es@{commit}", "GRADIO_MCP_SERVER": "True"}
    data = ModelCard(files["README.md"].decode()).data
    assert data["models"] == ["me/en-es"] and data["sdk"] == "gradio"
    assert data["preload_from_hub"] == [
        f"me/en-es README.md,metrics.json,config.json,tokenizer.model,model.safetensors {commit}"]
    assert not any(path.startswith("checkpoints/en-es/") for path in files)
    assert "checkpoints/sentiment/model.safetensors" in files

    # Another upload is the repository as it stands: what the last one left, and what is not in it any more, goes.
    server.add(f"spaces/{NAME}", {"assets/old.js": b"", "mine.txt": b"kept"})
    assert client("space", "push", NAME, "--message", "Again").status == 0
    files = latest(server)
    assert found.variables == {} and "preload_from_hub" not in ModelCard(files["README.md"].decode()).data
    assert "checkpoints/en-es/model.safetensors" in files and "mine.txt" in files and "assets/old.js" not in files

    # Both from the Hub: none of the repository's stays.
    server.add("me/reviews", {path.name: path.read_bytes() for path in tiny_classifier.iterdir()})
    assert client("space", "push", NAME, "--checkpoint", "me/en-es", "--sentiment", "me/reviews").status == 0
    assert not any(path.startswith("checkpoints/") for path in latest(server)) and "mine.txt" in latest(server)


@pytest.mark.parametrize(("argv", "said"), [
    (["me"], "'me' is no repository to upload to: write owner/name."),
    (["me/page@v1"], "'me/page@v1' is no repository to upload to: write owner/name."),
    ([NAME, "--checkpoint", "checkpoints/en-es/"], "'checkpoints/en-es/' is no name on the Hub: write owner/name or"),
    ([NAME, "--checkpoint", "me/nothing"], "no repository me/nothing at"),
    ([NAME, "--sentiment", "me/en-es"], "holds a translation model, but a text classifier is needed"),
])
def test_what_cannot_be_pushed_is_one_sentence(server, client, tiny_checkpoint, argv, said):
    server.add("me/en-es", {path.name: path.read_bytes() for path in tiny_checkpoint.iterdir()})
    refused = client("space", "push", *argv)
    assert refused.status == 2 and said in refused.said
    assert not any(name.startswith("spaces/") for name in server.repositories)


def test_a_token_is_needed(server, client):
    client.token = ""
    assert client("space", "push", NAME).said.startswith(f"Uploading to {NAME} needs a token that may write: set HF_T")
    client.token = "hf_wrong"
    assert "refuses me/page to this token (HTTP 401)" in client("space", "push", NAME).said


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda root: (root / "app.py").unlink(), "There is no app.py in"),
    (lambda root: shutil.rmtree(root / "assets"), "There is no assets in"),
    (lambda root: (root / "README.md").write_text("# xformer\n"), "does not say “sdk: gradio” between two lines"),
    (lambda root: shutil.rmtree(root / "checkpoints" / "sentiment"), "There is no checkpoint folder at")])
def test_what_is_missing_is_told(copy, spoil, said):
    spoil(copy)
    with pytest.raises(UserError, match=said):
        space.push(copy, NAME)


def test_the_front_matter_is_what_hosts_offer():
    data = ModelCard((ROOT / "README.md").read_text(encoding="utf-8")).data
    assert (data["sdk"], data["app_file"], data["license"]) == ("gradio", "app.py", "mit")
    assert len(data["short_description"]) <= 60
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = {r.name: r.specifier for r in (Requirement(line.split("#")[0]) for line in lines if line[0].isalpha())}
    assert data["sdk_version"] in wanted["gradio"]
    # Those of hosts that lend GPUs:
    assert "2.8.0" in wanted["torch"] and "2.11.0" in wanted["torch"]
    assert data["python_version"] in ("3.10.13", "3.12.12")


# Lent GPUs


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


def test_a_host_that_lends_gpus_computes_each_call(serve, tiny_checkpoint, tiny_classifier, learned_pairs, reviews,
                                                  tmp_path):
    (tmp_path / "spaces.py").write_text(LENDER)
    ask = partial(endpoints.ask, serve(tiny_checkpoint, "--sentiment", tiny_classifier, PYTHONPATH=str(tmp_path)))
    english, spanish = learned_pairs[0]
    assert ask("translate", english, 5, 1)["text"] == spanish
    assert ask("explain", english, "", "cross", 0, 0)["queries"][0] == "<s>"
    assert ask("classify", reviews[0][1])["label"] == "positive"
    with pytest.raises(ValueError, match="There is nothing to translate"):
        ask("translate", " ", 5, 1)
    log = (tmp_path / "log").read_text().splitlines()
    assert log == [f"decorated _compute {space.SECONDS}", "computed translate", "computed translate", "computed trace",
                   "computed classify", "computed translate"]
    (tmp_path / "refuse").touch()
    assert ask("translate", english, 5, 1)["text"] == spanish, "where no GPU is to be had, the CPU is"
    assert (tmp_path / "log").read_text().splitlines() == log


def test_a_forked_call_does_not_wait_for_threads_that_stayed_behind(tmp_path):
    """The model that ships is large enough to be loaded and run by several threads."""
    (tmp_path / "spaces.py").write_text(LENDER)
    code = """
import spaces, torch
from xformer.hub import space
from xformer.serve.translation import Service
lent = space.open_service(Service, "checkpoints/en-es", None)
assert torch.get_num_threads() == 2 and torch.ones(4_000_000).exp().sum() > 0
print(lent.translate_many(["Good night."] * 20)[0].best.text)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300,
                         env={**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
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
    space._decorated.cache_clear()
    yield told
    space._decorated.cache_clear()
    space._opened.cache_clear()


def test_all_that_computes_travels_there_and_back(lender, tiny_checkpoint, tiny_classifier, learned_pairs, reviews):
    plain, lent = Service.open(tiny_checkpoint, "cpu"), space.open_service(Service, tiny_checkpoint, None)
    assert lent.info.device == "ZeroGPU" and plain.info.device == "cpu"
    english, spanish = learned_pairs[0]
    found, steps = plain.translate(english), []
    for name, args in (("translate", (english, Options(beam=2))), ("translate_many", ([english, english],)),
                       ("choose", (english, found.best, 0, found.best.pieces[0])), ("trace", (english, spanish)),
                       ("walk", (english, spanish, "cross", 1, 1)), ("embed", ([english],)), ("explain", (english,)),
                       ("with_positions", (english, spanish, Positions("none"))), ("embedded", (english,)),
                       ("occlude", (english, spanish)),
                       ("head_effects", (english, spanish, ["cross"], lambda *done: steps.append(done)))):
        told = len(lender)
        answer, wanted = getattr(lent, name)(*args), getattr(plain, name)(*args)
        assert lender[told:] == [name] and type(answer) is type(wanted), name
    assert lent.best_head == plain.best_head and lent.translate(english).best == found.best
    reader, here = (space.open_service(SentimentService, tiny_classifier, None),
                    SentimentService.open(tiny_classifier, "cpu"))
    for text in (reviews[0][1], reviews[1][1]):
        assert reader.classify([text])[0].probability == pytest.approx(here.classify([text])[0].probability)
    assert reader.attribute(reviews[0][1], lambda *done: None).words == here.attribute(reviews[0][1]).words
    assert lender[-1] == "attribute"
    for one in (plain, lent):
        one.close()


def test_what_is_computed_here_instead_has_the_same_limits(monkeypatch, tiny_classifier, reviews):
    def gpu(duration):
        def none_free(*args):
            raise RuntimeError("no GPU is free")
        return lambda task: none_free

    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=gpu))
    space._decorated.cache_clear()
    reader = space.open_service(SentimentService, tiny_classifier, None)
    assert reader.attribute(reviews[0][1]).words
    reader.guard = Guard(seconds=0)
    with pytest.raises(UserError, match="took longer"):
        reader.attribute(reviews[0][1])
    reader.guard = Guard(people=0)
    with pytest.raises(UserError, match="0 people are being served"):
        reader.attribute(reviews[0][1])
    space._decorated.cache_clear()


def test_nothing_is_lent_where_nothing_is_changed(monkeypatch, tiny_classifier):
    """On hosts without lent GPUs, `spaces.GPU` gives the function back."""
    monkeypatch.setitem(sys.modules, "spaces", types.SimpleNamespace(GPU=lambda duration: lambda task: task))
    space._decorated.cache_clear()
    reader = space.open_service(SentimentService, tiny_classifier, None)
    assert not space.lends() and "classify" not in vars(reader) and reader.info.device != "ZeroGPU"
    space._decorated.cache_clear()
