"""Uploading a Space, through the real client and a Hub on loopback."""

import re
import shutil
import subprocess
import sys

import pytest
from huggingface_hub import ModelCard
from packaging.requirements import Requirement

from tests.harness import ROOT
from tests.hub_client import Client
from xformer.hub import card, checkpoint, repository, space
from xformer.hub.shipped import SENTIMENT, SHIPPED, TRANSLATION
from xformer.results import UserError

NAME = "me/page"


@pytest.fixture
def client(server, tmp_path):
    return Client(tmp_path / "home", server.url, server.token)


@pytest.fixture
def copy(tmp_path):
    """What a Space needs of this repository, to be spoilt."""
    for name in (*space.FILES, *space.FOLDERS, TRANSLATION.folder, SENTIMENT.folder):
        kind = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        kind(ROOT / name, tmp_path / name)
    return tmp_path


def latest(server, name=NAME):
    repository = server.repositories[f"spaces/{name}"]
    return repository.commits[repository.branches["main"]]


@pytest.mark.full
@pytest.mark.slow
def test_the_repository_is_pushed_as_it_stands_and_what_was_pushed_runs(
    server, client, tmp_path
):
    pushed = client("space", "push", NAME, "--private")
    assert (pushed.status, pushed.out, pushed.err) == (
        0,
        f"{server.url}/spaces/{NAME}\n",
        "",
    )
    found = server.repositories[f"spaces/{NAME}"]
    # that of its making, and ours
    assert found.private and found.variables == {} and len(found.commits) == 2
    files = latest(server)
    assert {path.split("/")[0] for path in files} == {
        ".gitattributes",
        "README.md",
        "LICENSE",
        "app.py",
        "requirements.txt",
        "xformer",
        "assets",
        "checkpoints",
    }
    assert {
        path.rpartition("/")[0] for path in files if path.startswith("checkpoints/")
    } == {one.folder for one in SHIPPED}
    assert {
        path
        for path, content in files.items()
        if path == ".gitattributes" or content != (ROOT / path).read_bytes()
    } == {".gitattributes", "requirements.txt"}
    assert not [path for path in files if "__pycache__" in path]
    # weights go as large files
    assert sum(line.startswith("PUT /large/") for line in server.requests()) >= 2

    folder = tmp_path / "space"
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    code = "import app; app.demo; print(app.models().default.translate('Good night.').best.text)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stdout) == (0, "Buenas noches.\n"), ran.stderr


@pytest.mark.full
def test_a_checkpoint_of_the_hub_is_fetched_when_the_space_is_built(
    server, client, tiny_checkpoint, tiny_classifier, tmp_path
):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "tiny")
    card.draft(folder, checkpoint.examine(folder), "cc-by-4.0", None)
    commit = server.add(
        "me/en-es", {path.name: path.read_bytes() for path in folder.iterdir()}
    )
    assert (
        client("space", "push", NAME, "--checkpoint", "me/en-es", "--mcp").status == 0
    )
    files = latest(server)
    found = server.repositories[f"spaces/{NAME}"]
    assert found.variables == {
        "XFORMER_CHECKPOINT": f"me/en-es@{commit}",
        "GRADIO_MCP_SERVER": "True",
    }
    data = ModelCard(files["README.md"].decode()).data
    assert data["models"] == ["me/en-es"] and data["sdk"] == "gradio"
    assert data["preload_from_hub"] == [
        f"me/en-es README.md,metrics.json,config.json,tokenizer.model,model.safetensors {commit}"
    ]
    assert not any(path.startswith("checkpoints/en-es/") for path in files)
    assert {
        "checkpoints/sentiment/model.safetensors",
        "checkpoints/reviews-lm/model.safetensors",
    } <= {*files}

    # Another upload is the repository as it stands: what the last one left, and what is
    # not in it any more, goes.
    server.add(f"spaces/{NAME}", {"assets/old.js": b"", "mine.txt": b"kept"})
    assert client("space", "push", NAME, "--message", "Again").status == 0
    files = latest(server)
    assert (
        found.variables == {}
        and "preload_from_hub" not in ModelCard(files["README.md"].decode()).data
    )
    assert (
        "checkpoints/en-es/model.safetensors" in files
        and "mine.txt" in files
        and "assets/old.js" not in files
    )

    # Both from the Hub: none of the repository's stays.
    server.add(
        "me/reviews",
        {path.name: path.read_bytes() for path in tiny_classifier.iterdir()},
    )
    assert (
        client(
            "space",
            "push",
            NAME,
            "--checkpoint",
            "me/en-es",
            "--sentiment",
            "me/reviews",
        ).status
        == 0
    )
    assert not any(
        path.startswith("checkpoints/") for path in latest(server)
    ) and "mine.txt" in latest(server)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["me"], "'me' is no repository to upload to: write owner/name."),
        (
            ["me/page@v1"],
            "'me/page@v1' is no repository to upload to: write owner/name.",
        ),
        (
            [NAME, "--checkpoint", "checkpoints/en-es/"],
            "'checkpoints/en-es/' is no name on the Hub: write owner/name or",
        ),
        ([NAME, "--checkpoint", "me/nothing"], "no repository me/nothing at"),
        (
            [NAME, "--sentiment", "me/en-es"],
            "holds a translation model, but a text classifier is needed",
        ),
    ],
)
def test_what_cannot_be_pushed_is_one_sentence(
    server, client, tiny_checkpoint, argv, said
):
    server.add(
        "me/en-es", {path.name: path.read_bytes() for path in tiny_checkpoint.iterdir()}
    )
    refused = client("space", "push", *argv)
    assert refused.status == 2 and said in refused.said
    assert not any(name.startswith("spaces/") for name in server.repositories)


def test_a_model_that_ships_is_named_as_everywhere(monkeypatch):
    pushed = []

    def push(name, content, folders, variables, **_):
        files = [path for path in content.rglob("*") if path.is_file()]
        names = {path.relative_to(content).as_posix() for path in files}
        pushed.append((names, variables))

    monkeypatch.setattr(repository, "push_space", push)
    space.push(ROOT, NAME, translation="es-en", sentiment="lecture")
    [(files, variables)] = pushed
    assert variables == {
        "XFORMER_CHECKPOINT": "es-en",
        "XFORMER_SENTIMENT": "lecture",
        "GRADIO_MCP_SERVER": None,
    }
    assert {
        f"checkpoints/{name}/model.safetensors"
        for name in ("en-es", "es-en", "sentiment", "lecture")
    } <= files
    assert not [name for name in files if "/test_" in name], "nor what tests it"
    with pytest.raises(
        UserError, match="holds a text classifier, but a translation model is needed"
    ):
        space.push(ROOT, NAME, translation="lecture")


def test_a_token_is_needed(server, client):
    client.token = ""
    assert client("space", "push", NAME).said.startswith(
        f"Uploading to {NAME} needs a token that may write: set HF_T"
    )
    client.token = "hf_wrong"
    assert "answered HTTP 401" in client("space", "push", NAME).said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda root: (root / "app.py").unlink(), "There is no app.py in"),
        (lambda root: shutil.rmtree(root / "assets"), "There is no assets in"),
        (
            lambda root: (root / "README.md").write_text("# xformer\n"),
            "does not say “sdk: gradio” between two lines",
        ),
        (
            lambda root: shutil.rmtree(root / "checkpoints" / "sentiment"),
            "There is no checkpoint folder at",
        ),
    ],
)
def test_what_is_missing_is_told(copy, spoil, said):
    spoil(copy)
    with pytest.raises(UserError, match=said):
        space.push(copy, NAME)


def test_the_front_matter_is_what_hosts_offer():
    data = ModelCard((ROOT / "README.md").read_text(encoding="utf-8")).data
    assert (data["sdk"], data["app_file"]) == ("gradio", "app.py")
    assert len(data["short_description"]) <= 60
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = {
        r.name: r.specifier
        for r in (
            Requirement(line.split("#")[0]) for line in lines if line[0].isalpha()
        )
    }
    assert data["sdk_version"] in wanted["gradio"]
    assert space.NEWEST_TORCH in wanted["torch"]
    assert data["python_version"] in ("3.10.13", "3.12.12")  # of hosts that lend GPUs
    cards = [
        ModelCard.load(ROOT / folder / "README.md").data
        for folder in (TRANSLATION.folder, SENTIMENT.folder)
    ]
    assert data["datasets"] == [name for one in cards for name in one["datasets"]]


def test_the_licence_of_a_space_and_the_table_are_what_the_cards_of_the_weights_say():
    """A Space carries all that ships, so the strictest of their licences is its own."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    cards = {
        one.name: ModelCard.load(ROOT / one.folder / "README.md").data.to_dict()
        for one in SHIPPED
    }
    said = {}
    for line in text.splitlines():
        if line.startswith("| `") and line.count("|") == 3:
            names, licence = line.strip("|").split("|")
            said.update(dict.fromkeys(re.findall(r"`([\w-]+)`", names), licence))
    words = {"cc-by-sa-4.0": "CC-BY-SA 4.0", "research-use": "research use"}
    licences = {
        name: card.get("license_name") or card["license"]
        for name, card in cards.items()
    }
    assert {
        name: said[name].strip().startswith(words[licence])
        for name, licence in licences.items()
    } == dict.fromkeys(licences, True)
    own = ModelCard(text).data.to_dict()
    strictest = cards[SENTIMENT.name]
    assert {*licences.values()} == {*words} and licences[
        SENTIMENT.name
    ] == "research-use"
    keys = ("license", "license_name", "license_link")
    assert [own[key] for key in keys] == [strictest[key] for key in keys]


def required(text):
    """The packages that a file of requirements names, with their versions."""
    found = [
        Requirement(line.partition("#")[0])
        for line in text.splitlines()
        if line[0].isalpha()
    ]
    return {one.name: str(one.specifier) for one in found}


def test_a_space_is_asked_for_nothing_that_its_host_brings(
    server, client, tiny_checkpoint, tiny_classifier
):
    """gradio, huggingface_hub and spaces are the host's, and of torch it has versions
    to lend GPUs for."""
    for name, folder in (
        ("me/en-es", tiny_checkpoint),
        ("me/reviews", tiny_classifier),
    ):
        server.add(name, {path.name: path.read_bytes() for path in folder.iterdir()})
    assert (
        client(
            "space",
            "push",
            NAME,
            "--checkpoint",
            "me/en-es",
            "--sentiment",
            "me/reviews",
        ).status
        == 0
    )
    kept = required(latest(server)["requirements.txt"].decode())
    own = required((ROOT / "requirements.txt").read_text())
    assert kept.pop("torch") == f"<={space.NEWEST_TORCH}" and own.pop("torch")
    assert own.keys() - kept.keys() == {"gradio", "huggingface-hub"}
    assert all(own[name] == limits for name, limits in kept.items())


def test_the_generations_go_with_the_model_that_ships(
    server, client, generation_checkpoints, tiny_checkpoint, tmp_path
):
    root = tmp_path / "root"
    (root / "checkpoints").mkdir(parents=True)
    for name in ("gru", "pre-norm"):
        shutil.copytree(generation_checkpoints[name], root / "checkpoints" / name)
    shutil.copytree(tiny_checkpoint, root / TRANSLATION.folder)
    staged = tmp_path / "staged"
    space._stage(root, TRANSLATION, staged)
    assert {
        path.relative_to(staged).as_posix()
        for path in staged.rglob("*.*")
        if path.parent.name != TRANSLATION.name
    } == {
        f"checkpoints/{name}/{file}"
        for name in ("gru", "pre-norm")
        for file in (
            "config.json",
            "history.json",
            "metrics.json",
            "model.safetensors",
            "moments.safetensors",
            "tokenizer.model",
        )
    }
    server.add(
        "me/old",
        {
            path.name: path.read_bytes()
            for path in generation_checkpoints["gru-attention"].iterdir()
        },
    )
    assert client("space", "push", NAME, "--checkpoint", "me/old").status == 0, (
        "a recurrent model translates too"
    )
