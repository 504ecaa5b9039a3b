"""Checkpoints through the real client of the Hub and a Hub on loopback: upload,
download, and all that goes wrong."""

import json
import re
import shlex
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard, get_session
from safetensors.torch import load_file, save_file

from tests.hub_client import (
    Client,
    as_people_know_it,
    impatient,
    store,
    storing,
    watched,
    with_a_token,
)
from xformer.__main__ import main
from xformer.hub import card, checkpoint
from xformer.hub import repository as hub
from xformer.hub.folders import folder_of
from xformer.hub.recorded import HISTORY, MOMENTS
from xformer.hub.shipped import SHIPPED, TRANSLATION
from xformer.results import UserError
from xformer.serve.translation import Service

ROOT = Path(__file__).resolve().parent.parent
NAME = "me/en-es"


@pytest.fixture
def client(server, tmp_path):
    return Client(tmp_path / "home", server.url)


@pytest.fixture(scope="session")
def carded(tiny_checkpoint, tmp_path_factory):
    """The taught checkpoint with a model card."""
    folder = shutil.copytree(
        tiny_checkpoint, tmp_path_factory.mktemp("carded") / "tiny-en-es"
    )
    card.draft(folder, checkpoint.examine(folder), "cc-by-4.0", None)
    return folder


@pytest.fixture
def copy(carded, tmp_path):
    """A copy of it, to be spoilt."""
    return shutil.copytree(carded, tmp_path / "copy")


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def weights_of(home, name=NAME):
    return sorted(
        home.glob(
            f"hub/models--{name.replace('/', '--')}/snapshots/*/model.safetensors"
        )
    )


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    return status, *capsys.readouterr()


# There and back


def test_what_is_pushed_is_pulled_then_cached_then_there_without_a_network(
    server, client, carded, tmp_path
):
    client.token = server.token
    pushed = client("checkpoint", "push", carded, NAME)
    (commit,) = [
        name
        for name, tree in server.repositories[NAME].commits.items()
        if "config.json" in tree
    ]
    assert (pushed.status, pushed.out) == (0, f"{server.url}/{NAME}/commit/{commit}\n")
    # weights went as LFS
    assert any(line.startswith("PUT /large/") for line in server.requests())
    assert server.repositories[NAME].commits[commit] == {
        ".gitattributes": b"",
        **files(carded),
    }

    client.token = ""
    folder = Path(client("checkpoint", "pull", NAME).out.strip())
    assert files(folder) == files(carded)
    assert folder.name == commit and folder.is_relative_to(client.home)
    assert server.requests()[0] == f"GET /api/models/{NAME}/revision/main"

    for name in (NAME, f"{NAME}@main", f"{NAME}@{commit}"):
        info = json.loads(client("checkpoint", "info", name, "--json").out)
        assert (info["name"], info["folder"]) == (f"{NAME}@{commit[:7]}", str(folder))
        assert client("checkpoint", "verify", name, HF_HUB_OFFLINE="1").status == 0
    pinned = client("checkpoint", "pull", f"{NAME}@{commit}", tmp_path / "mine")
    assert (pinned.status, pinned.out) == (0, f"{tmp_path / 'mine'}\n") and files(
        tmp_path / "mine"
    ) == files(carded)
    offline = client("checkpoint", "pull", NAME, HF_HUB_OFFLINE="1")
    assert Path(offline.out.strip()) == folder
    assert server.log == []

    # asks what is new, and fetches nothing
    assert client("checkpoint", "pull", NAME).status == 0
    assert server.requests() == [f"GET /api/models/{NAME}/revision/main"]


@pytest.mark.slow
def test_the_environment_may_name_a_repository(server, client, carded, learned_pairs):
    server.add(NAME, files(carded))
    english, spanish = learned_pairs[0]
    done = client("translate", english, XFORMER_CHECKPOINT=NAME)
    assert (done.status, done.out, done.err) == (0, spanish + "\n", "")


def test_the_model_that_ships_goes_there_and_back(server, client):
    client.token = server.token
    folder = ROOT / "checkpoints" / "en-es"
    assert client("checkpoint", "push", folder, NAME).status == 0
    assert files(client("checkpoint", "pull", NAME).out.strip()) == files(folder)


def test_a_progress_bar_is_shown_where_someone_watches(server, client, carded):
    server.add(NAME, files(carded))
    assert (
        "model.safetensors: 100%"
        in client(
            "checkpoint", "pull", NAME, HF_HUB_DISABLE_PROGRESS_BARS="0", work=watched
        ).err
    )


def test_a_newer_commit_is_pulled_and_the_older_one_keeps_its_address(
    server, client, carded, copy
):
    first = server.add(NAME, files(carded))
    assert client("checkpoint", "pull", NAME).status == 0
    (copy / "metrics.json").write_text('{"step": 2}\n')
    second = server.add(NAME, files(copy))
    server.requests()
    assert json.loads(client("checkpoint", "info", NAME, "--json").out)[
        "folder"
    ].endswith(first)
    assert server.log == []
    assert client("checkpoint", "pull", NAME).out.strip().endswith(second)
    assert not [
        line
        for line in server.requests()
        if line.startswith("GET") and "model.safetensors" in line
    ]
    assert json.loads(client("checkpoint", "info", NAME, "--json").out)[
        "folder"
    ].endswith(second)
    assert json.loads(client("checkpoint", "info", f"{NAME}@{first}", "--json").out)[
        "folder"
    ].endswith(first)


def test_a_branch_and_a_tag_are_revisions(server, client, carded):
    commit = server.add(NAME, files(carded))
    server.repositories[NAME].branches |= {"v1.0": commit, "refs/pr/1": commit}
    for revision in ("v1.0", "refs/pr/1"):
        assert (
            client("checkpoint", "pull", f"{NAME}@{revision}")
            .out.strip()
            .endswith(commit)
        )
        server.requests()
        assert client("checkpoint", "info", f"{NAME}@{revision}").status == 0
        assert server.log == []


def test_a_push_goes_to_a_branch_or_is_only_proposed(server, client, carded):
    client.token = server.token
    for flags in (["--branch", "tried"], ["--pull-request"]):
        assert client("checkpoint", "push", carded, NAME, *flags).status == 0
    found = server.repositories[NAME]
    for branch in ("tried", "refs/pr/1"):
        assert found.commits[found.branches[branch]].items() >= files(carded).items()
    assert not found.commits[found.branches["main"]].keys() & files(carded).keys()
    assert (
        "is no name for a branch"
        in client("checkpoint", "push", carded, NAME, "--branch", "a b").said
    )


def test_a_pull_keeps_to_its_cache_or_makes_no_request_or_fetches_all_again(
    server, client, carded, tmp_path
):
    server.add(NAME, files(carded))
    refused = client(
        "checkpoint",
        "pull",
        NAME,
        "--local-files-only",
        "--cache-dir",
        tmp_path / "own",
    )
    assert (
        f"{NAME} is not in the cache at {tmp_path / 'own'}, and asking the Hub is switched off"
        in refused.said
    )
    assert server.requests() == []
    assert (
        client("checkpoint", "pull", NAME, "--cache-dir", tmp_path / "own").status == 0
    )
    assert not weights_of(tmp_path / "home") and server.requests()
    again = client(
        "checkpoint",
        "pull",
        NAME,
        "--local-files-only",
        "--cache-dir",
        tmp_path / "own",
    )
    assert (again.status, server.requests()) == (0, [])
    assert Path(again.out.strip()).is_relative_to(tmp_path / "own")
    for flags, fetched in ((["--force-download"], True), ([], False)):
        client("checkpoint", "pull", NAME, "--cache-dir", tmp_path / "own", *flags)
        assert (
            any(
                line.startswith("GET") and "model.safetensors" in line
                for line in server.requests()
            )
            == fetched
        )


def test_python_may_give_a_token(server, client, carded, tmp_path):
    server.add(NAME, files(carded), private=True)
    refused = client(NAME, tmp_path / "own", "hf_wrong", work=with_a_token)
    assert refused.status and "that can be seen" in refused.err
    assert client(NAME, tmp_path / "own", server.token, work=with_a_token).err == ""
    assert list((tmp_path / "own").glob("*/snapshots/*/model.safetensors"))


def test_python_has_it_as_people_know_it(
    server, client, carded, learned_pairs, tmp_path
):
    server.add(NAME, files(carded))
    client.token = server.token
    done = client(NAME, tmp_path / "saved", *learned_pairs[0], work=as_people_know_it)
    assert (done.status, done.err) == (0, "")
    assert files(tmp_path / "saved") == files(carded)
    assert server.repositories["me/again"].private
    assert (
        server.repositories["me/again"]
        .commits[done.out.strip().rsplit("/", 1)[1]]
        .items()
        >= files(carded).items()
    )


def test_a_classifier_is_a_repository_of_its_own(
    server, client, tiny_classifier, tmp_path, reviews
):
    folder = shutil.copytree(tiny_classifier, tmp_path / "sentiment")
    client.token = server.token
    pushed = client(
        "checkpoint",
        "push",
        folder,
        "me/sentiment",
        "--license",
        "other",
        "--base-model",
        "me/lm",
    )
    assert pushed.status == 0
    data = ModelCard.load(folder / "README.md").data
    assert (
        data["pipeline_tag"],
        data["base_model"],
        data["license"],
        data["language"],
    ) == ("text-classification", "me/lm", "other", ["en"])
    done = client(
        "classify", "--checkpoint", "me/sentiment", "--device", "cpu", reviews[0][1]
    )
    assert done.out.startswith("positive")
    refused = client("translate", "--checkpoint", "me/sentiment", "Hello.")
    assert "holds a text classifier, but a translation model is needed" in refused.said


# What a name means


def test_a_folder_wins_over_a_repository_of_its_name(carded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(carded, tmp_path / "me" / "en-es")
    monkeypatch.setattr(hub, "cached", None)  # is not even asked
    assert hub.find(NAME) == Path(NAME)


@pytest.mark.parametrize("name", [one.name for one in SHIPPED])
def test_what_ships_is_known_by_its_name_in_any_folder(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert (
        hub.find(name)
        == TRANSLATION.find(name)
        == folder_of(name)
        == ROOT / "checkpoints" / name
    )
    (tmp_path / name).mkdir()
    assert hub.find(name) == folder_of(name) == Path(name), (
        "one's own folder of this name comes first"
    )
    assert [hub.find(other) for other in ("en-xx", "", ".", "..")] == [
        *map(Path, ("en-xx", "", ".", ".."))
    ]


def test_two_models_that_ship_are_compared_by_their_names_as_the_documents_say(
    tmp_path, monkeypatch, capsys
):
    def stop(folder, device, precision):
        opened.append(folder)
        if len(opened) == 2:
            raise UserError("Both are found.")

    opened = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Service, "open", stop)
    (command,) = re.findall(
        r"-m xformer (compare .* --models .+?) +#",
        (ROOT / "docs" / "USING.md").read_text("utf-8"),
    )
    assert run(capsys, *shlex.split(command)) == (2, "", "Both are found.\n")
    assert opened == [ROOT / "checkpoints" / name for name in shlex.split(command)[-2:]]


def test_commands_that_take_folders_take_what_ships_by_its_name(
    tmp_path, monkeypatch, capsys
):
    def stop(folder):
        found.append(folder)
        raise UserError("It is found.")

    found = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "push", lambda folder, *_, **more: found.append(folder))
    monkeypatch.setattr(
        checkpoint,
        "average",
        lambda parts, out: found.extend(folder for folder, _ in parts),
    )
    monkeypatch.setattr(checkpoint, "extend", lambda folder, out: found.append(folder))
    monkeypatch.setattr(checkpoint, "examine", stop)
    for command in (
        "checkpoint push gru me/gru",
        "checkpoint average en-es pre-norm --out new",
        "checkpoint extend post-norm --out new",
    ):
        run(capsys, *command.split())
    assert found == [
        ROOT / "checkpoints" / name
        for name in ("gru", "en-es", "pre-norm", "post-norm")
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("me/en-es", ("me/en-es", "main")),
        ("me/en-es@v1.0", ("me/en-es", "v1.0")),
        ("me/en-es@refs/pr/1", ("me/en-es", "refs/pr/1")),
        ("a/b@" + "0" * 40, ("a/b", "0" * 40)),
        ("en-es", None),
        ("./me/en-es", None),
        ("../en-es", None),
        ("/me/en-es", None),
        ("~/en-es", None),
        ("runs/a/b", None),
        ("me/", None),
        ("", None),
        ("@", None),
    ],
)
def test_what_is_a_name(text, wanted):
    assert hub.parse_name(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "me/..",
        "me/a b",
        "me/a--b",
        "me/a..b",
        "me/.hidden",
        "me/x.git",
        "mé/x\n",
        "-me/x",
        "me/" + "x" * 100,
        "me\\x/y",
        "me/<b>",
    ],
)
def test_a_name_that_cannot_be_is_refused(text):
    with pytest.raises(
        UserError,
        match="is no folder here, and no name on the Hub either: write owner/name or owner",
    ):
        hub.find(text)


@pytest.mark.parametrize(
    "revision",
    ["", "..", "../../x", "/etc/passwd", "a//b", "a/../b", "a b", "-x", "a\n", "v1/"],
)
def test_a_revision_that_cannot_be_is_refused(revision):
    with pytest.raises(UserError, match="names no revision that the Hub could have"):
        hub.find(f"me/en-es@{revision}")


def test_only_names_are_pulled(capsys, carded):
    status, _, err = run(capsys, "checkpoint", "pull", carded)
    assert status == 2 and err.endswith(
        "is no name on the Hub: write owner/name or owner/name@revision.\n"
    )
    status, _, err = run(capsys, "checkpoint", "push", carded, "me/en-es@v1")
    assert (status, err) == (
        2,
        "'me/en-es@v1' is no repository to upload to: write owner/name.\n",
    )


def test_the_name_of_a_cached_checkpoint_is_its_own(tmp_path):
    folder = tmp_path / "models--me--en-es" / "snapshots" / ("0123456789" * 4)
    folder.mkdir(parents=True)
    assert (
        checkpoint.name_of(folder) == "me/en-es@0123456"
        and checkpoint.name_of(tmp_path) == tmp_path.name
    )


# What is refused


def test_who_may_see_what(server, client, carded):
    server.add(NAME, files(carded), private=True)
    nobody = client("checkpoint", "pull", NAME)
    assert nobody.status == 2 and nobody.said == (
        f"There is no folder {NAME} here, and no repository {NAME} at {server.url} that can be seen; "
        f"check the name, or set HF_TOKEN to a token that may see it."
    )
    client.token = "hf_wrong"
    assert "no repository me/en-es" in client("checkpoint", "pull", NAME).said
    client.token = server.token
    assert client("checkpoint", "pull", NAME).status == 0
    assert "that can be seen" in client("checkpoint", "info", "me/nothing").said
    assert client("checkpoint", "info", f"{NAME}@v9").said == (
        f"The repository {NAME} has no revision v9; name a branch, a tag, or a commit of those at "
        f"{server.url}/{NAME}/commits/main."
    )
    assert client("checkpoint", "info", f"{NAME}@{'0' * 40}").said.startswith(
        f"The repository {NAME} has no revision"
    )


def answering(status, code=None, body=None):
    def fault(handler, path):
        if body is None:
            handler.refuse(status, code)
        else:
            handler.answer(body, status)
        return True

    return fault


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            answering(403, "GatedRepo"),
            "The repository me/en-es is open only to those who ask for access",
        ),
        (answering(403), "answered HTTP 403"),
        (
            answering(500),
            "answered HTTP 500 when it was asked for me/en-es; try again later",
        ),
        (answering(503), "answered HTTP 503"),
        (answering(429), "answered HTTP 429"),
        (
            answering(200, body=b"<html>a captive portal</html>"),
            "failed to do what was asked for me/en-es",
        ),
        (
            answering(200, body=b'{"none": 1}'),
            "failed to do what was asked for me/en-es",
        ),
    ],
)
def test_a_hub_that_refuses_is_asked_once(server, client, carded, fault, said):
    server.add(NAME, files(carded))
    server.faults.append(fault)
    found = client("checkpoint", "pull", NAME)
    assert found.status == 2 and said in found.said and len(server.requests()) == 1


def test_no_network_is_one_sentence(server, client, carded, tmp_path):
    server.stop()
    found = client("translate", "Hello.", "--checkpoint", NAME)
    assert found.status == 2 and found.said.startswith(
        f"The Hub at {server.url} cannot be reached, or broke off ("
    )
    assert found.said.endswith(
        f"and {NAME} is not whole in the cache: check the network and HF_ENDPOINT and try "
        f"again, or name a folder."
    )
    assert client("checkpoint", "pull", NAME, HF_HUB_OFFLINE="1").said == (
        f"{NAME} is not in the cache at {client.home / 'hub'}, and asking the Hub is switched off; allow it, or name "
        f"a folder."
    )
    client.token = server.token
    assert "cannot be reached" in client("checkpoint", "push", carded, NAME).said


@pytest.mark.parametrize(("own", "patience"), [(None, hub.PATIENCE), (7, 7)])
def test_a_client_without_a_patience_of_its_own_is_given_one(
    monkeypatch, own, patience
):
    with type(get_session())(timeout=own) as session, monkeypatch.context() as patch:
        patch.setattr(hub, "get_session", lambda: session)
        with hub._plainly(hub.parse_name(NAME)):
            assert session.timeout.read == patience
    with hub._plainly(hub.parse_name(NAME)):
        assert get_session().timeout.read == hub.PATIENCE


@pytest.mark.full
def test_a_hub_that_says_nothing_is_not_waited_for(server, client):
    closed = threading.Event()
    server.faults.append(lambda handler, path: closed.wait(60))
    found = client("checkpoint", "pull", NAME, HF_HUB_ETAG_TIMEOUT="1")
    closed.set()
    assert (
        found.status == 2
        and "cannot be reached, or broke off (timed out)" in found.said
    )


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "old/model.pt", "state.ckpt", "weights.pkl"]
)
def test_a_repository_with_a_pickle_is_refused_before_anything_is_fetched(
    server, client, carded, name
):
    server.add(NAME, {**files(carded), name: b"\x80\x04."})
    assert client("checkpoint", "pull", NAME).said == (
        f"The repository {NAME} offers {name}, which can run code when it is read; only repositories of safetensors "
        f"and JSON are used: ask its owner to convert or remove it."
    )
    assert server.requests() == [f"GET /api/models/{NAME}/revision/main"]


def test_nothing_but_the_files_of_a_checkpoint_is_fetched(server, client, carded):
    server.add(
        NAME,
        {
            **files(carded),
            HISTORY: b"{}",
            MOMENTS: b"x",
            "run.py": b"print()",
            "data/big.zip": bytes(100),
        },
    )
    folder = Path(client("checkpoint", "pull", NAME).out.strip())
    assert (
        {path.name for path in folder.iterdir()}
        == {*files(carded), HISTORY, MOMENTS}
        <= {*checkpoint.ALL_FILES}
    )


def test_a_repository_of_something_else_is_refused(server, client):
    server.add("me/bert", {"config.json": b"{}", "model.safetensors": b"x"})
    assert client("checkpoint", "pull", "me/bert").said == (
        "The repository me/bert lacks tokenizer.model; it holds no checkpoint of this program."
    )


def test_a_checkpoint_that_is_broken_at_its_source_is_not_copied(
    server, client, copy, tmp_path
):
    (copy / "model.safetensors").write_bytes(
        (copy / "model.safetensors").read_bytes()[:-100]
    )
    server.add(NAME, files(copy))
    found = client("checkpoint", "pull", NAME, tmp_path / "mine")
    assert (
        "is truncated or not in safetensors format" in found.said
        and not (tmp_path / "mine").exists()
    )


def test_a_folder_that_holds_something_is_left_alone(server, client, copy):
    before = files(copy)
    assert client("checkpoint", "pull", NAME, copy).said == (
        f"The folder {copy} is not empty, or it is a file; name a folder that is empty or does not exist yet."
    )
    assert files(copy) == before and server.log == []


# What breaks off


def cut(times, after, then=None):
    """Break the body of the weights off, after so many bytes, so many times."""
    seen = []

    def fault(handler, path):
        if (
            handler.command != "GET"
            or not path.endswith("model.safetensors")
            or len(seen) >= times
        ):
            return False
        seen.append(handler.headers.get("Range"))
        content = handler.server.repositories[NAME].commits[path.split("/")[4]][
            "model.safetensors"
        ]
        first = int(
            (handler.headers.get("Range") or "bytes=0-")
            .removeprefix("bytes=")
            .rstrip("-")
        )
        handler.send_response(206 if first else 200)
        handler.send_header("Content-Length", str(len(content) - first))
        handler.end_headers()
        handler.wfile.write(content[first : first + after])
        handler.wfile.flush()
        handler.close_connection = True
        if then is not None:
            handler.server.faults.insert(0, then)
        return True

    fault.seen = seen
    return fault


def dead(handler, path):
    """As a process that was killed: the connection is closed without a word."""
    handler.close_connection = True
    return True


@pytest.mark.full
def test_a_download_that_breaks_off_goes_on_where_it_was(server, client):
    folder = ROOT / "checkpoints" / "en-es"
    server.add(NAME, files(folder))
    fault = cut(times=2, after=11 << 20)
    server.faults.append(fault)
    done = client("checkpoint", "pull", NAME)
    assert (done.status, done.err) == (0, "") and files(done.out.strip()) == files(
        folder
    )
    assert fault.seen == [None, f"bytes={11 << 20}-"]


def stalls(handler, content, closed):
    handler.wfile.write(content[: len(content) // 2])
    closed.wait(60)


def drips(handler, content, closed):
    for byte in content:
        if closed.wait(0.05):
            return
        handler.wfile.write(bytes([byte]))


def breaks_off(handler, content, closed):
    handler.wfile.write(content[: len(content) // 2])


@pytest.mark.full
@pytest.mark.parametrize("fault", [stalls, drips, breaks_off])
@pytest.mark.parametrize("asked", ["/revision/main", "model.safetensors"])
def test_a_hub_that_does_not_come_forward_is_given_up(
    server, client, carded, fault, asked
):
    server.add(NAME, files(carded))
    closed = threading.Event()

    def misbehave(handler, path):
        """Answer with the head too, whatever part of the file was asked for."""
        if handler.command != "GET" or not path.endswith(asked):
            return False
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        with suppress(OSError):
            fault(handler, head + bytes(100_000), closed)
        handler.close_connection = True
        return True

    server.faults.append(misbehave)
    found = client("checkpoint", "pull", NAME, work=impatient)
    closed.set()
    assert found.status == 2
    if (fault, asked) == (breaks_off, "/revision/main"):  # which is asked for once
        assert "cannot be reached, or broke off" in found.said
        return
    sent = re.fullmatch(
        rf"In 1 seconds the Hub at {server.url} sent ([\d,]+) new bytes of {NAME}, fewer than 20,000, "
        "so the fetch was given up; try again later, or name a folder.",
        found.said,
    )
    assert sent and int(sent[1].replace(",", "")) < 20_000
    server.faults.clear()
    assert client("checkpoint", "pull", NAME).status == 0


def test_files_come_by_the_newer_storage_and_are_counted(
    server, client, carded, tmp_path
):
    """From Xet's own stand-in for its servers, a folder; by HTTP the weights are not
    fetched at all."""
    server.add(NAME, files(carded))
    folder = f"local://{tmp_path / 'stored'}"
    weights = (carded / "model.safetensors").stat().st_size
    name = client(carded / "model.safetensors", folder, work=store).out.strip()

    def xet(handler, path):
        if path == "/token":
            handler.answer(
                {},
                headers={
                    "X-Xet-Cas-Url": folder,
                    "X-Xet-Access-Token": "token",
                    "X-Xet-Token-Expiration": "9999999999",
                },
            )
        elif path.endswith("model.safetensors"):
            send = handler.send_header
            handler.send_header = lambda key, value: (
                send(key, value),
                key == "ETag"
                and (
                    send("X-Xet-Hash", name),
                    send("X-Xet-Refresh-Route", f"{server.url}/token"),
                ),
            )
        return path == "/token"

    server.faults.append(xet)
    done = client("checkpoint", "pull", NAME, work=storing, HF_HUB_DISABLE_XET="0")
    assert done.status == 0, done.err
    pulled, brought = done.out.split()
    assert files(pulled) == files(carded) and int(brought) == weights
    assert not [
        line
        for line in server.requests()
        if line.startswith("GET") and line.endswith("model.safetensors")
    ]


@pytest.mark.full
def test_a_hub_that_dies_half_way_leaves_the_whole_checkpoint_before(
    server, client, carded, copy
):
    first = server.add(NAME, files(carded))
    assert client("checkpoint", "pull", NAME).status == 0
    weights = load_file(copy / "model.safetensors")
    save_file(
        {name: -tensor for name, tensor in weights.items()},
        copy / "model.safetensors",
        {"format": "pt"},
    )
    second = server.add(NAME, files(copy))

    server.faults.append(cut(times=1, after=10_000, then=dead))
    died = client("checkpoint", "pull", NAME)
    assert died.status == 2 and "cannot be reached, or broke off" in died.said
    assert [path.parent.name for path in weights_of(client.home)] == [first]
    assert not list(client.home.rglob("*.incomplete"))
    for name, there in ((NAME, True), (f"{NAME}@{second}", False)):
        found = client("checkpoint", "info", name, HF_HUB_OFFLINE="1")
        assert found.status == (0 if there else 2) and (
            there or "not in the cache" in found.said
        )

    server.faults.clear()
    server.requests()
    again = client("checkpoint", "pull", NAME)
    assert files(again.out.strip()) == files(copy)
    # what had come whole is kept
    assert [line for line in server.requests() if line.startswith("GET /me")] == [
        f"GET /{NAME}/resolve/{second}/model.safetensors"
    ]


def test_a_file_that_is_not_what_was_announced_is_thrown_away(server, client, carded):
    server.add(NAME, files(carded))

    def flip(handler, path):
        if handler.command != "GET" or not path.endswith("model.safetensors"):
            return False
        commit = path.split("/")[4]
        content = handler.server.repositories[NAME].commits[commit]["model.safetensors"]
        handler.answer(content[:-1] + bytes([content[-1] ^ 1]))
        return True

    server.faults.append(flip)
    assert client("checkpoint", "pull", NAME).said == (
        f"The file model.safetensors of {NAME} arrived damaged and was thrown away; fetch it again with “python -m "
        f"xformer checkpoint pull {NAME}”."
    )
    assert weights_of(client.home) == []
    server.faults.clear()
    assert client("checkpoint", "pull", NAME).status == 0


def test_a_file_shorter_than_announced_is_thrown_away(server, client, carded):
    server.add(NAME, files(carded))

    def short(handler, path):
        if handler.command != "GET" or not path.endswith("model.safetensors"):
            return False
        handler.answer(b"short")
        return True

    server.faults.append(short)
    found = client("checkpoint", "pull", NAME).said
    assert f"failed to do what was asked for {NAME} (Consistency check failed" in found
    assert weights_of(client.home) == []


def test_verify_sees_what_changed_in_the_cache(server, client, carded):
    server.add(NAME, files(carded))
    folder = Path(client("checkpoint", "pull", NAME).out.strip())
    assert client("checkpoint", "verify", NAME).out.startswith(
        "files       config.json, model.safetensors, tokenizer"
    )
    path = (folder / "model.safetensors").resolve()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert (
        "is not what the Hub sent; delete it and fetch it again"
        in client("checkpoint", "verify", NAME).said
    )


def test_results_are_not_kept_in_the_cache(
    server, client, carded, learned_pairs, tmp_path
):
    server.add(NAME, files(carded))
    file = tmp_path / "pairs.tsv"
    file.write_text("\t".join(learned_pairs[0]) + "\n", encoding="utf-8")
    found = client(
        "evaluate", "translation", "--pairs", file, "--checkpoint", NAME, "--save"
    )
    assert found.status == 2 and found.said.startswith(
        "--save writes into the checkpoint, but the Hub's cache is kept"
    )


# Upload


def test_uploading_needs_a_token_and_the_right_to(server, client, carded):
    assert client("checkpoint", "push", carded, NAME).said == (
        f"Uploading to {NAME} needs a token that may write: set HF_TOKEN to one made at {server.url}/settings/tokens, "
        f"or log in with “hf auth login”."
    )
    client.token = "hf_reads_only"
    assert "answered HTTP 401" in client("checkpoint", "push", carded, NAME).said
    assert server.repositories == {}


def test_an_upload_that_breaks_off_is_no_commit(server, client, carded):
    client.token = server.token
    server.faults.append(
        lambda handler, path: handler.command == "PUT" and not handler.refuse(400)
    )
    found = client("checkpoint", "push", carded, NAME)
    assert found.status == 2 and "answered HTTP 400" in found.said
    assert list(server.repositories[NAME].commits.values()) == [{".gitattributes": b""}]
    server.faults.clear()
    assert client("checkpoint", "push", carded, NAME).status == 0


# The card


def test_a_drafted_card_is_true_and_complete(carded):
    data = card.check(carded).data
    assert (
        data["language"],
        data["license"],
        data["pipeline_tag"],
        data["library_name"],
    ) == (["en", "es"], "cc-by-4.0", "translation", "xformer")
    assert (
        'service = Service.from_pretrained("owner/tiny-en-es")'
        in card.read(carded / "README.md").text
    )


def test_scores_on_sets_of_the_hub_name_them_as_the_hub_does(copy):
    scores = [
        {"set": name, "bleu": 40.0, "beam": 5} for name in ("mine", "flores200-dev")
    ]
    first, second = card.results(checkpoint.examine(copy).kind, {"scores": scores})
    assert (first.dataset_type, first.dataset_split, first.dataset_name) == (
        "facebook/flores",
        "dev",
        "flores200-dev",
    )
    assert (second.dataset_type, second.dataset_split) == ("mine", None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("license: cc-by-4.0\n", "", "lacks license"),
        (
            "pipeline_tag: translation",
            "pipeline_tag: fill-mask",
            "says “pipeline_tag: fill-mask”, but a translation "
            "model needs “pipeline_tag: translation”; change it",
        ),
        ("---\n", "---\n- ", "cannot be read"),
        ("license: cc-by-4.0", "license: [", "cannot be read"),
        ("Checkpoint ", "Checkpoint 0", None),
        ("Checkpoint ", "", None),
    ],
)
def test_a_card_that_is_wrong_is_refused(copy, old, new, said):
    path = copy / "README.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8"
    )
    if said is None:  # the identity still stands in it
        card.check(copy)
        return
    with pytest.raises(UserError) as error:
        card.check(copy)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_card_of_other_weights_is_refused(copy):
    weights = load_file(copy / "model.safetensors")
    save_file(
        {name: -tensor for name, tensor in weights.items()},
        copy / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(
        UserError,
        match="does not name these weights, .*, so it was written for other weights",
    ):
        card.check(copy)


def test_a_checkpoint_without_a_card_is_not_uploaded(capsys, tiny_checkpoint):
    status, _, err = run(capsys, "checkpoint", "push", tiny_checkpoint, NAME)
    assert status == 2 and "lacks README.md, its model card; write one, or have" in err
    assert not (tiny_checkpoint / "README.md").exists()


def test_scores_are_kept_in_metrics_and_card(capsys, copy, learned_pairs, tmp_path):
    file = tmp_path / "eight.tsv"
    file.write_text(
        "".join(f"{english}\t{spanish}\n" for english, spanish in learned_pairs),
        encoding="utf-8",
    )
    for flags in ([], ["--beam", 1], []):  # the third replaces the first
        assert (
            run(
                capsys,
                "evaluate",
                "translation",
                "--pairs",
                file,
                "--checkpoint",
                copy,
                "--save",
                *flags,
            )[0]
            == 0
        )
    scores = json.loads((copy / "metrics.json").read_text())["scores"]
    identity = checkpoint.examine(copy).identity
    assert [
        (score["set"], score["beam"], score["bleu"], score["identity"])
        for score in scores
    ] == [("eight", 1, 100.0, identity), ("eight", 5, 100.0, identity)]
    (model,) = ModelCard.load(copy / "README.md").data.to_dict()["model-index"]
    (result,) = model["results"]
    assert (
        result["dataset"]["name"] == "eight" and result["task"]["type"] == "translation"
    )
    assert [
        (metric["type"], metric["name"], metric["value"])
        for metric in result["metrics"]
    ] == [
        ("bleu", "BLEU, beam 1", 100.0),
        ("chrf", "chrF, beam 1", 100.0),
        ("bleu", "BLEU, beam 5", 100.0),
        ("chrf", "chrF, beam 5", 100.0),
    ]
    status, out, _ = run(capsys, "checkpoint", "verify", copy)
    assert status == 0 and "cc-by-4.0, translation, 4 scores of these weights" in out
    assert (
        "score       eight: BLEU, beam 5 100.0"
        in run(capsys, "checkpoint", "info", copy)[1]
    )

    path = copy / "README.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace("value: 100.0", "value: 100.1", 1),
        encoding="utf-8",
    )
    with pytest.raises(
        UserError, match="The scores in .* were not measured on these weights"
    ):
        card.check(copy)


def test_accuracy_is_kept_too(capsys, tiny_classifier, tmp_path, reviews):
    folder = shutil.copytree(tiny_classifier, tmp_path / "sentiment")
    card.draft(folder, checkpoint.examine(folder), "other", None)
    rows = tmp_path / "rows.tsv"
    rows.write_text(
        "".join(f"{label}\t{text}\n" for label, text in reviews), encoding="utf-8"
    )
    assert (
        run(
            capsys,
            "evaluate",
            "sentiment",
            "--rows",
            rows,
            "--checkpoint",
            folder,
            "--save",
        )[0]
        == 0
    )
    (score,) = card.check(folder).data["eval_results"]
    assert (
        score.task_type,
        score.dataset_name,
        score.metric_type,
        score.metric_value,
    ) == ("text-classification", "rows", "accuracy", 1.0)


def test_info_says_what_a_checkpoint_is(capsys, copy):
    status, out, _ = run(capsys, "checkpoint", "info", copy)
    found = dict(line.split(maxsplit=1) for line in out.splitlines())
    model = checkpoint.load(copy).model
    assert status == 0 and found["parameters"] == f"{model.parameter_count():,}"
    assert (found["kind"], found["licence"], found["vocabulary"]) == (
        "translation model",
        "cc-by-4.0",
        "150 pieces",
    )
    assert (
        found["shape"]
        == "d_model 32, 4 heads, 2 + 2 layers, d_ff 64, pre-norm, at most 128 pieces"
    )


def test_weights_that_are_no_numbers_are_seen(capsys, copy):
    weights = load_file(copy / "model.safetensors")
    weights["decoder.norm.bias"][3] = torch.nan
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    status, _, err = run(capsys, "checkpoint", "verify", copy)
    assert (
        status == 2
        and "are not numbers: decoder.norm.bias holds NaN or infinity" in err
    )


@pytest.mark.slow
def test_the_card_of_the_model_that_ships_is_true():
    data = card.check(ROOT / "checkpoints" / "en-es").data
    scores = {
        (score.dataset_name, score.metric_name): score.metric_value
        for score in data["eval_results"]
    }
    assert data["license"] and data["datasets"] and data["metrics"] == ["bleu", "chrf"]
    assert scores["tatoeba-test-v2020-07-28", "BLEU, beam 5"] > 40
