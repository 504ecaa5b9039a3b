"""The functions of the page that run in the browser: each is found by its name, and
used."""

import re

import pytest

from xformer.strings import ASSETS
from xformer.ui.components import (
    BUNDLE,
    FUNCTIONS,
    SCRIPTS,
    VERSION,
    bundled,
    script,
    sent,
)

CODE = (ASSETS / "page.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", re.findall(r"^(?:export )?(?:async )?function (\w+)", CODE, re.MULTILINE)
)
def test_a_function_is_exported_and_used(name):
    assert name in FUNCTIONS
    assert script(name) == (
        "async (...values) => (await import(new URL("
        f"'./scripts/{VERSION}/assets/first.js', document.baseURI))"
        f".then(all => all.$page)).{name}(...values)"
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
        """)).countPartOpening(["one", null, "it's"], "tab", ...values)"""
    )


def test_the_first_scripts_are_sent_as_one_which_has_each_after_those_that_it_imports():
    text = sent(BUNDLE)
    found = re.findall(r"^export const \$(\w+) = \(\(\) => \{$", text, re.MULTILINE)
    assert [f"{name}.js" for name in found] == list(bundled())
    rest = re.sub(r"^export const \$\w+ = ", "", text, flags=re.MULTILINE)
    assert not re.search(r"^(import|export)\b", rest, re.MULTILINE)
    for place, name in enumerate(found):
        assert f" = ${name};" not in text[: text.index(f"export const ${name} =")], (
            place
        )


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_brings_a_second_copy_of_one_that_is_sent_with_the_first(name):
    code = SCRIPTS[name].read_text(encoding="utf-8")
    imported = re.findall(r"^import .*?'[^']*?(\w+\.js)';", sent(name), re.MULTILINE)
    assert not {*imported} & {*bundled()}
    exported = re.findall(
        r"^export (?:async )?(?:function|const) (\w+)", code, re.MULTILINE
    )
    handed = re.search(r"^export const \{(.*)\} = \$", sent(name), re.MULTILINE)
    if name in bundled():
        assert handed is not None and handed[1] == ", ".join(exported)


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(LookupError, match="page.js exports no function nothing"):
        script("nothing")


def test_the_state_of_the_page_is_kept_by_its_scripts_and_not_by_the_window():
    for path in ASSETS.glob("*.js"):
        assert not re.search(
            r"window\.\w+ (\?\?)?= ", path.read_text(encoding="utf-8")
        ), path.name
