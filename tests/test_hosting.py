"""The page for others: behind a password, through a public link, as an MCP server, and
in a container."""

import json
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from http.cookiejar import CookieJar

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests import endpoints
from tests.harness import ROOT, free_port
from xformer.commands import app

# A public link


@pytest.mark.full
def test_what_a_public_link_needs_is_said_and_without_it_the_page_goes_on(guarded):
    said = guarded.log.splitlines()
    assert said[0].startswith(
        "--share asks gradio.live for a public link: it needs the internet"
    )
    assert (
        f"No public link could be made; the page is at {guarded.address}/ only." in said
    )
    assert "Traceback" not in guarded.log
    assert status(guarded.address, "/")[0] == 200


# A password


def status(address, path, opener=urllib.request):
    """-> HTTP status, and what was sent."""
    try:
        with (opener.urlopen if opener is urllib.request else opener.open)(
            address + path
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def login(address, user, password):
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar())
    )
    form = urllib.parse.urlencode({"username": user, "password": password}).encode()
    with opener.open(f"{address}/login", form):
        return opener


@pytest.mark.parametrize("path", ["/", "/es", "/?page=es"])
def test_who_has_not_logged_in_sees_a_form_and_nothing_of_the_page(guarded, path):
    code, text = status(guarded.address, path)
    assert code == 200 and '"auth_required":true' in text and '"components":[]' in text
    assert (
        "/translate" not in text
        and "translate an english" not in text.lower()
        and "en-es" not in text
    )


@pytest.mark.parametrize(
    "path",
    [
        "/config",
        "/gradio_api/info",
        "/gradio_api/file=app.py",
        "/gradio_api/queue/data",
        "/gradio_api/upload_progress",
        "/gradio_api/heartbeat",
        "/gradio_api/mcp/schema",
    ],
)
def test_nothing_of_the_api_or_the_files_is_served_before_a_login(guarded, path):
    code, text = status(guarded.address, path)
    assert code in (401, 404) and "translate" not in text.lower()


def test_nothing_is_computed_before_a_login(guarded):
    with pytest.raises(urllib.error.HTTPError) as refused:
        endpoints.ask(guarded.address, "translate", "Good morning!")
    refused.value.close()
    assert refused.value.code == 401


@pytest.mark.parametrize(
    ("user", "password"),
    [("ada", "a b"), ("ada", ""), ("", ""), ("eve", "a b:c"), ("ada", "A B:C")],
)
def test_a_wrong_password_is_refused(guarded, user, password):
    with pytest.raises(urllib.error.HTTPError) as refused:
        login(guarded.address, user, password)
    refused.value.close()
    assert refused.value.code in (400, 422)


def test_who_has_logged_in_has_the_page_and_the_api(guarded, learned_pairs):
    opener = login(guarded.address, "ada", "a b:c")
    for path in ("/", "/es"):
        assert 'auth_required":true' not in status(guarded.address, path, opener)[1]
    assert "/translate" in status(guarded.address, "/gradio_api/info", opener)[1]
    english, spanish = learned_pairs[0]
    assert (
        endpoints.ask(guarded.address, "translate", english, opener=opener)["text"]
        == spanish
    )


@pytest.fixture
def run_app(monkeypatch, capsys):
    """`run_app(*flags)`: what app.py ends with, and says on standard error, where it
    does not come to serving."""

    def run(*flags):
        monkeypatch.setattr(sys, "argv", ["app.py", *flags])
        return app.main(), capsys.readouterr().err

    return run


@pytest.mark.parametrize("given", ["ada", "ada:", ":secret", ":"])
def test_a_user_and_a_password_are_needed(run_app, given):
    assert run_app("--auth", given) == (
        2,
        f"--auth is {given!r}; write USER:PASSWORD.\n",
    )


@pytest.mark.parametrize("port", ["99999", "-1", "x", "٣"])
def test_a_port_is_a_number_that_there_is(run_app, port, capsys):
    with pytest.raises(SystemExit) as refused:
        run_app(f"--server-port={port}")
    assert (
        refused.value.code == 2
        and f"{port!r} is no port; write a number from 0 to 65535"
        in capsys.readouterr().err
    )


# MCP


def test_mcp_clients_find_three_tools_and_call_them(public, learned_pairs, reviews):
    english, spanish = learned_pairs[0]

    async def talk():
        async with (
            streamable_http_client(f"{public}/gradio_api/mcp/") as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            calls = [
                await session.call_tool(name, values)
                for name, values in (
                    ("translate", {"text": english}),
                    ("explain", {"text": english, "layer": 1, "head": 2}),
                    ("classify", {"text": reviews[0][1]}),
                    ("translate", {"text": english, "beam": 99}),
                )
            ]
            return tools, calls

    # of its own: the browser's tests leave a loop in this one
    with ThreadPoolExecutor(1) as thread:
        tools, (translated, explained, classified, refused) = thread.submit(
            anyio.run, talk
        ).result()
    assert {tool.name: list(tool.inputSchema["properties"]) for tool in tools} == {
        "translate": ["text", "beam", "n_best"],
        "explain": ["text", "target", "stack", "layer", "head"],
        "classify": ["text"],
    }
    for tool in tools:
        assert (
            tool.inputSchema["required"] == ["text"] and " Returns " in tool.description
        )
        assert all(
            len(given["description"]) > 10
            for given in tool.inputSchema["properties"].values()
        )
    assert (
        spanish in translated.content[0].text
        and "'probabilities'" in explained.content[0].text
    )
    assert "'label': 'positive'" in classified.content[0].text
    assert (
        refused.isError
        and refused.content[0].text == "A beam of 99 is not possible; choose 1 to 16."
    )


def test_mcp_without_its_package_or_with_a_password_is_one_sentence(
    run_app, monkeypatch
):
    sentence = "An MCP server asks for no password: leave out --auth, or --mcp and GRADIO_MCP_SERVER.\n"
    assert run_app("--mcp", "--auth", "ada:secret") == (2, sentence)
    monkeypatch.setattr(app, "find_spec", {"mcp": None}.get)
    said = run_app("--mcp")[1]
    assert said.startswith(
        "An MCP server needs one package more: install it with pip install 'gradio[mcp"
    )
    monkeypatch.setenv("GRADIO_MCP_SERVER", "True")
    assert run_app()[0] == 2


# A container


def lines(name):
    return [
        line
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]


STEPS = [line.split(maxsplit=1) for line in lines("Dockerfile")]
KEPT_OUT = lines(".dockerignore")


def kept_out(path):
    """As Docker reads .dockerignore: the last line that fits a path, or a folder it is
    in, decides."""
    parts = path.split("/")
    out = False
    for line in KEPT_OUT:
        pattern = line.removeprefix("!").removeprefix("**/")
        inside = ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]
        if any(
            fnmatch(one, pattern)
            or ("**/" in line and fnmatch(one.split("/")[-1], pattern))
            for one in inside
        ):
            out = not line.startswith("!")
    return out


def test_the_image_holds_what_it_is_told_to_and_nothing_else():
    copied = [rest.split()[:-1] for step, rest in STEPS if step == "COPY"]
    sources = [name for names in copied for name in names]
    assert sources and all(
        (ROOT / name).exists() and not kept_out(name) for name in sources
    )
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    others = [
        ".git/config",
        ".venv/bin/python",
        "runs/mine/model.safetensors",
        "xformer/__pycache__/a.pyc",
    ]
    for path in [*tracked, *others]:
        wanted = any(
            path == name or path.startswith(f"{name}/") for name in sources
        ) and not re.search(r"__pycache__|/test_\w+\.\w+$", path)
        assert kept_out(path) != wanted, path
    assert not any(name in (".", "tests", "docs", ".git") for name in sources)


def test_the_image_runs_the_page_as_somebody_on_a_port_that_is_published():
    steps = [step for step, _ in STEPS]
    said = {step: rest for step, rest in STEPS}
    assert said["USER"] not in ("root", "0") and f" {said['USER']}" in " ".join(
        r for s, r in STEPS if s == "RUN"
    )
    assert steps.index("USER") > max(
        i for i, step in enumerate(steps) if step in ("RUN", "COPY")
    )
    environment = dict(word.split("=") for word in shlex.split(said["ENV"]))
    assert environment["GRADIO_SERVER_NAME"] == "0.0.0.0"
    assert (
        environment["GRADIO_SERVER_PORT"] == said["EXPOSE"]
        and f":{said['EXPOSE']}/" in said["HEALTHCHECK"]
    )
    assert json.loads(said["ENTRYPOINT"]) == ["python", "app.py"]
    assert "whl/cpu" in " ".join(rest for step, rest in STEPS if step == "RUN")


def test_the_docs_say_how_to_build_and_run_it():
    guide = (ROOT / "docs" / "HOSTING.md").read_text(encoding="utf-8")
    comment = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert (
        "docker build -t xformer ." in guide
        and "docker run --init --rm -p 7860:7860 xformer" in guide
    )
    assert "docker run --init --rm -p 7860:7860 xformer" in comment


def test_the_health_check_sees_whether_the_page_is_served(address):
    command = json.loads(
        next(rest for step, rest in STEPS if step == "HEALTHCHECK").split("CMD ")[1]
    )
    for port, code in ((address.rsplit(":", 1)[1], 0), (str(free_port()), 1)):
        ran = subprocess.run(
            [sys.executable, *[word.replace("7860", port) for word in command[1:]]],
            timeout=120,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == code
