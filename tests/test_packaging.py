"""The package: what its wheel holds, that it runs where nothing of this clone is, and
what the project's files say."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from setuptools import Distribution

from tests.harness import ROOT, App

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
# not as a program: nothing is built
SETUP = SimpleNamespace(**runpy.run_path(str(ROOT / "setup.py")))
WORKFLOW = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "night.yml").read_text(encoding="utf-8")
)
# the marks of what is tried on every system and Python
WITHOUT_BROWSER = WORKFLOW["env"]["WITHOUT_BROWSER"]


def requirements(name):
    """The lines of a file of requirements without their comments."""
    lines = (
        line.split("#")[0].strip()
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line and not line.startswith("-r")]


@pytest.mark.parametrize("extra", ["dev", "bench"])
def test_an_extra_is_what_the_file_of_requirements_says(extra):
    assert PROJECT["project"]["optional-dependencies"][extra] == requirements(
        f"requirements-{extra}.txt"
    )


def test_gradio_is_the_same_wherever_it_is_asked_for():
    """One with MCP that is older or newer than the page's would be another page's."""
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [
        line
        for line in (
            *requirements("requirements.txt"),
            *requirements("requirements-dev.txt"),
            *extras["mcp"],
            *extras["dev"],
        )
        if line.startswith("gradio")
    ]
    assert (
        len(asked) == 4
        and len({str(Requirement(line).specifier) for line in asked}) == 1
    )


def test_the_client_of_the_hub_is_one_that_notebooks_have():
    """transformers 5.0 to 5.17 refuse to be imported beside a client of 2.0 or newer,
    5.18 and newer take both; 1.16.0 needs a package that it does not bring."""
    asked = {
        one.name: one.specifier
        for one in map(Requirement, requirements("requirements.txt"))
    }
    client = asked["huggingface-hub"]
    assert [
        version in client
        for version in ("1.16.0", "1.16.1", "1.33.0", "2.4.0", "3.0.0")
    ] == [False, True, True, True, False]
    assert "0.2.1" not in asked["sentencepiece"], (
        "it ends the tests of the vocabulary with a segmentation fault"
    )
    assert "0.2.2" in asked["sentencepiece"]


def test_every_python_that_is_promised_is_tried():
    lead = "Programming Language :: Python :: "
    promised = {
        line.removeprefix(lead)
        for line in PROJECT["project"]["classifiers"]
        if line.startswith(lead)
    }
    assert promised == {f"3.{minor}" for minor in range(10, 15)}
    assert PROJECT["project"]["requires-python"] == ">=3.10"
    matrix = WORKFLOW["jobs"]["quick"]["strategy"]["matrix"]
    steps = WORKFLOW["jobs"]["night"]["steps"]
    assert promised == {
        *matrix["python"],
        *(one["python"] for one in matrix["include"]),
        *(
            step["with"]["python-version"]
            for step in steps
            if "python" in step.get("uses", "")
        ),
    }
    script = (ROOT / "tests" / "pythons.sh").read_text(encoding="utf-8")
    assert promised == {*re.search(r"for version in ([\d. ]+);", script)[1].split()}
    assert "Python 3.10 to 3.14" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="make and bash are not of Windows")
def test_every_python_here_is_tried_and_one_that_fails_is_said(tmp_path):
    """Of three stand-ins for Python: one where all passes, one whose types are wrong,
    one without venv."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "pythons.sh", tmp_path / "tests")
    step = tmp_path / "step"
    step.write_text(r"""#!/bin/bash
echo "$(basename "$0") $*" >> asked
case "$0 $*" in
    *-c\ import*) [[ $0 != *3.12 ]] ;;
    *-m\ venv*) mkdir -p "$3/bin" && for name in python ruff mypy; do cp "$0" "$3/bin/$name"; done ;;
    *3.13/bin/mypy*) exit 1 ;;
esac
""")
    step.chmod(0o755)
    for place in (
        "bin/python3.11",
        "bin/python3.12",
        ".pyenv/versions/3.13.0/bin/python",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(step, tmp_path / place)
    for tool in ("bash", "basename", "cp", "dirname", "mkdir"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    ran = subprocess.run(
        [tmp_path / "tests" / "pythons.sh"],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")},
    )
    absent = "not on this machine, or without venv"
    assert ran.returncode == 1 and ran.stdout.splitlines()[-5:] == [
        f"3.10: {absent}",
        "3.11: all passed",
        f"3.12: {absent}",
        "3.13: failed: .venv-3.13/bin/mypy --python-version 3.13",
        f"3.14: {absent}",
    ]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sum(line.startswith("python -m pip install ") for line in asked) == 2
    assert (
        asked.count("python -m pytest -n 2 --dist loadfile -m " + WITHOUT_BROWSER) == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_types_are_the_same_with_and_without_an_extra(there, tmp_path):
    (tmp_path / "uses.py").write_text(
        "import ray\nfrom ray import serve\n\nray.init(1)\nserve.run(2)\n"
    )
    if there:
        (tmp_path / "ray").mkdir()
        for name, text in (
            ("py.typed", ""),
            ("__init__.py", "def init() -> None: ...\n"),
            ("serve.py", "def run() -> None: ...\n"),
        ):
            (tmp_path / "ray" / name).write_text(text)
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            ROOT / "pyproject.toml",
            "uses.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout


def test_every_folder_of_code_is_a_package():
    """Only those are found, and so in the wheel."""
    folders = {path.parent for path in (ROOT / "xformer").rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_every_file_of_a_package_is_in_the_wheel():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    for path in (ROOT / "xformer").rglob("*.*"):
        if not re.match(r"test_|.*\.pyc?$", path.name) and path.name != "py.typed":
            package = ".".join(path.parent.relative_to(ROOT).parts)
            whole = "xformer.parts" if package.startswith("xformer.parts.") else package
            assert any(path.match(pattern) for pattern in patterns.get(whole, ())), path


def test_the_tests_of_parts_are_not_in_the_wheel():
    parts = [path for path in (ROOT / "xformer" / "parts").iterdir() if path.is_dir()]
    build = SETUP.WithoutTests(Distribution({"script_name": "setup.py"}))
    for folder in parts:
        found = build.find_package_modules(f"xformer.parts.{folder.name}", str(folder))
        modules = {Path(path).name for _, _, path in found}
        assert modules == {
            path.name
            for path in folder.glob("*.py")
            if not path.name.startswith("test_")
        }
    assert any([*folder.glob("test_*.py")] for folder in parts)


def test_the_workflow_tries_the_lowest_versions_on_three_systems():
    matrix = WORKFLOW["jobs"]["quick"]["strategy"]["matrix"]
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}
    (lowest,) = (
        one["versions"]
        for one in matrix["include"]
        if one["python"] == matrix["python"][0]
    )
    wanted = [
        Requirement(line)
        for line in requirements("requirements.txt")
        if line.startswith(("torch", "gradio", "huggingface-hub", "sentencepiece"))
    ]
    assert len(wanted) == 4
    for one in wanted:
        least = next(limit.version for limit in one.specifier if limit.operator == ">=")
        assert f"{one.name}=={least}." in lowest


def test_the_citation_and_the_changes_are_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = PROJECT["project"]["version"]
    assert (
        citation["version"] == version
        and citation["license"] == PROJECT["project"]["license"]
    )
    released = re.search(
        rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE
    )
    assert released[1] == str(citation["date-released"])
    assert __import__("xformer").__version__ == version


def test_the_changes_have_the_headings_and_dates_of_keep_a_changelog():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *versions = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    assert first == "[Unreleased]"
    dates = [
        re.fullmatch(r"\[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d)", version)[1]
        for version in versions
    ]
    assert dates == sorted(dates, reverse=True)
    assert {*re.findall(r"^### (.+)$", changes, re.MULTILINE)} <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }


# The page of the package index


@pytest.mark.parametrize(
    "address", ["", "https://example.org/me/xformer", "https://example.org/me/xformer/"]
)
def test_the_page_of_the_index_has_no_metadata_and_no_dead_link(address):
    page = SETUP.page(README, address)
    assert page.startswith("# xformer\n") and "sdk_version" not in page
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert all("://" in link for link in links)
    own = [
        link.removeprefix("https://example.org/me/xformer/")
        for link in links
        if "example.org" in link
    ]
    within = [
        link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link
    ]
    assert len(own) == (len(within) if address else 0)
    for link in own:
        kind, head, path = link.split("/", 2)
        assert (ROOT / path.partition("#")[0]).exists() and head == "HEAD"
        assert kind == ("raw" if path.endswith(".png") else "blob")
    assert "![" in page if address else "![" not in page


def test_the_index_links_what_is_published_and_nothing_else():
    assert SETUP.addresses("") == {}
    found = SETUP.addresses("https://example.org/me/xformer")
    assert {*found} == {"Source", "Documentation", "Changelog", "Issues"}
    here = [one.split("/HEAD/")[1] for one in found.values() if "/HEAD/" in one]
    assert len(here) == 2 and all((ROOT / path).is_file() for path in here)
    assert {*PROJECT["project"]["dynamic"]} == {"dependencies", "readme", "urls"}


def test_type_checkers_of_users_read_the_types():
    assert (ROOT / "xformer" / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["xformer"]


# An installed package


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of programs of an environment that holds the wheel of this clone, and
    nothing else of it.

    What the package needs is taken from the environment of the tests: it has gigabytes.
    """
    folder = tmp_path_factory.mktemp("installed")
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in tracked:
        if (ROOT / name).is_file() and not name.startswith(
            ("tests/", "benchmarks/", "docs/")
        ):
            (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "clone" / name)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "empty"], check=True
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    subprocess.run(
        [
            *pip,
            "wheel",
            "--quiet",
            "--no-build-isolation",
            "--no-deps",
            "-w",
            folder,
            folder / "clone",
        ],
        check=True,
    )
    (wheel,) = folder.glob("xformer_inside-*.whl")
    assert wheel.stat().st_size < 100_000_000  # what the package index takes
    with ZipFile(wheel) as packed:
        (metadata,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        assert "xformer/py.typed" in packed.namelist()
        assert not [name for name in packed.namelist() if "/test_" in name]
        assert "\n\n# xformer\n" in packed.read(
            metadata
        ).decode() and b"sdk_version" not in packed.read(metadata)
    programs = folder / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run(
        [
            *pip,
            "--python",
            programs / "python",
            "install",
            "--quiet",
            "--no-deps",
            wheel,
        ],
        check=True,
    )
    (packages,) = (folder / "empty").rglob("site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib"))
    shutil.rmtree(folder / "clone")
    return programs


def ask(installed, folder, *argv):
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    return subprocess.run(
        [installed / argv[0], *argv[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
def test_an_installed_package_translates_reads_and_says_where_its_files_are(
    installed, tmp_path
):
    done = ask(installed, tmp_path, "xformer", "translate", "Good night.")
    assert (done.returncode, done.stdout) == (0, "Buenas noches.\n"), done.stderr
    assert ask(installed, tmp_path, "xformer", "--help").stdout.startswith(
        "usage: xformer [-h]"
    )
    code = "from xformer.strings import ASSETS; from xformer.hub.shipped import ROOT; print(ASSETS, ROOT, sep='\\n')"
    places = ask(installed, tmp_path, "python", "-c", code).stdout.split("\n")[:2]
    assert all(Path(place).is_relative_to(installed.parent) for place in places)


@pytest.mark.slow
def test_an_installed_package_has_what_it_trains_on(installed, tmp_path):
    (package,) = installed.parent.rglob("site-packages/xformer")
    data = ROOT / "xformer" / "training" / "data"
    for name in (
        "lists.json",
        "written.tsv.xz",
        "words.tsv.xz",
        "prose.tsv.xz",
        "texts.tsv.xz",
    ):
        assert (package / "training" / "data" / name).read_bytes() == (
            data / name
        ).read_bytes()
    code = (
        "from xformer.parts.learned import ask as learned; "
        "from xformer.training import run; "
        "print(all(file.is_file() for file in learned.FILES))"
    )
    assert ask(installed, tmp_path, "python", "-c", code).stdout == "True\n"


@pytest.mark.slow
def test_an_installed_package_opens_the_page(installed, tmp_path):
    with App(
        tmp_path / "app", "app", command=[installed / "xformer"], PYTHONPATH=""
    ) as app:
        with urlopen(app.address) as page:
            assert page.status == 200 and 'content="xformer"' in page.read().decode()
        with urlopen(f"{app.address}/config") as config:
            text = config.read().decode()
        assert "en-es" in text and "No classifier of reviews is loaded" not in text


@pytest.mark.slow
def test_without_a_checkpoint_one_sentence_says_how_to_get_one(installed, tmp_path):
    (checkpoints,) = installed.parent.rglob("site-packages/xformer/checkpoints")
    checkpoints.rename(checkpoints.with_name("away"))
    try:
        for command in (["translate", "Good night."], ["app"]):
            done = ask(installed, tmp_path, "xformer", *command)
            assert (done.returncode, done.stdout) == (2, "") and done.stderr.count(
                "\n"
            ) == 1
            assert done.stderr.startswith(
                "No checkpoint is named, and there is none at "
            )
            assert "with --checkpoint or in XFORMER_CHECKPOINT" in done.stderr
    finally:
        checkpoints.with_name("away").rename(checkpoints)
