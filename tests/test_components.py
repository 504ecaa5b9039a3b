"""The functions of the page that run in the browser: each is found by its name, and
used."""

import re

import pytest

from xformer.strings import ASSETS
from xformer.ui.components import FUNCTIONS, VERSION, script

CODE = (ASSETS / "page.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", re.findall(r"^(?:export )?(?:async )?function (\w+)", CODE, re.MULTILINE)
)
def test_a_function_is_exported_and_used(name):
    assert name in FUNCTIONS
    assert script(name) == (
        "async (...values) => (await import(new URL("
        f"'./scripts/{VERSION}/assets/page.js', document.baseURI))).{name}(...values)"
    )
    house = ASSETS.parent / "xformer"
    used = [
        path.name
        for path in (*house.glob("ui/**/*.py"), *house.glob("parts/*/part.py"))
        if re.search(rf'script\(\s*"{name}"', path.read_text(encoding="utf-8"))
    ]
    assert used, f"nothing uses {name}"


def test_nothing_but_functions_and_imports_stands_in_the_file():
    rest = re.sub(
        r"^export (async )?function \w+\(.*?^}$",
        "",
        CODE,
        flags=re.MULTILINE | re.DOTALL,
    )
    assert all(
        not line or line.startswith(("//", "import ")) for line in rest.splitlines()
    )
    assert max(map(len, CODE.splitlines())) <= 120


def test_a_function_is_given_values_of_the_server_before_those_of_the_inputs():
    call = script("countPartOpening", ["one", None, "it's"], "tab")
    assert call.endswith(
        """))).countPartOpening(["one", null, "it's"], "tab", ...values)"""
    )


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(LookupError, match="page.js exports no function nothing"):
        script("nothing")


def test_the_state_of_the_page_is_kept_by_its_scripts_and_not_by_the_window():
    for path in ASSETS.glob("*.js"):
        assert not re.search(
            r"window\.\w+ (\?\?)?= ", path.read_text(encoding="utf-8")
        ), path.name
