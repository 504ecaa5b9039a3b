"""The functions of the page that run in the browser: each is found by its name, and used."""

import re

import pytest

from xformer.strings import ASSETS
from xformer.ui.components import script

CODE = (ASSETS / "page.js").read_text(encoding="utf-8")
NAMES = re.findall(r"^(?:async )?function (\w+)", CODE, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_cut_out_whole_and_used(name):
    function = script(name)
    assert function.startswith(f"function {name}(") and function.endswith("\n}")
    assert function.count("\nfunction ") == 0 and function.count("{") == function.count("}")
    used = [path.name for path in (ASSETS.parent / "xformer" / "ui").glob("*.py")
            if f'script("{name}")' in path.read_text(encoding="utf-8")]
    assert used, f"nothing uses {name}"


def test_nothing_else_stands_in_the_file():
    rest = CODE
    for name in NAMES:
        rest = rest.replace(script(name), "")
    assert all(not line or line.startswith("//") for line in rest.splitlines())
    assert max(map(len, CODE.splitlines())) <= 120


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(LookupError, match="page.js has no function nothing"):
        script("nothing")
