"""Templates of HTML: what is put in is text, what is missing is told, and each part is
there and used."""

import re

import pytest
from jinja2 import UndefinedError

from tests.harness import modules
from xformer.figures import templates
from xformer.figures.templates import fill
from xformer.strings import ASSETS, ENGLISH, SPANISH, of_parts

FILES = sorted([*(ASSETS / "html").glob("*.html"), *of_parts("*.html")])
# with the first argument of a call beside its bracket, wherever the formatter has it
CODE = re.sub(
    r"\(\n +",
    "(",
    "\n".join(path.read_text(encoding="utf-8") for path in modules("xformer")),
)


@pytest.fixture
def written(monkeypatch, tmp_path):
    """`written(source)`: the template "test" is that."""
    monkeypatch.setattr(
        templates,
        "ENVIRONMENT",
        templates.ENVIRONMENT.overlay(loader=templates.Templates(tmp_path)),
    )
    templates._macros.cache_clear()
    yield (tmp_path / "test.html").write_text
    templates._macros.cache_clear()


@pytest.mark.parametrize(
    ("put", "wanted"),
    [
        ("{{ word }}", "&lt;b&gt;&#34;&amp;"),
        ('{{ say("warning_unknown", characters=word) }}', "&lt;b&gt;&#34;&amp;"),
        ("{{ word ~ word }}", "&lt;b&gt;&#34;&amp;&lt;b&gt;&#34;&amp;"),
        ("{{ word | safe }}", '<b>"&'),
        ('<p title="{{ json([word]) }}">', "[&quot;&lt;b&gt;\\&quot;&amp;&quot;]"),
    ],
)
def test_what_is_put_in_is_text_unless_it_is_marked_as_html(written, put, wanted):
    written(f"{{% macro part(word) %}}{put}{{% endmacro %}}")
    assert wanted in fill("test.part", ENGLISH, word='<b>"&')


def test_a_line_break_beside_a_tag_counts_for_nothing_and_any_other_is_a_space(written):
    written(
        '{% macro part(n) %}\n  <p class="a"\n    lang="en">\n  one\n  {{ n }}\n'
        "  {% if n %}\n    <b>two</b>\n  {% endif %}\n  </p>\n{% endmacro %}\n"
    )
    assert (
        fill("test.part", ENGLISH, n=1) == '<p class="a" lang="en">one 1<b>two</b></p>'
    )


def test_what_is_missing_is_told(written):
    written('{% macro part(n) %}{{ n.nothing }}{{ say("no_such_text") }}{% endmacro %}')
    with pytest.raises(UndefinedError, match="nothing"):
        fill("test.part", ENGLISH, n=1)
    with pytest.raises(TypeError, match="takes no keyword argument 'm'"):
        fill("test.part", ENGLISH, m=1)
    with pytest.raises(KeyError, match="no_such_text"):
        fill("test.part", ENGLISH, n={"nothing": ""})


def test_texts_are_in_the_language_of_the_page_and_the_models(written):
    written(
        '{% macro part() %}{{ say("translate") }}<b {{ reads }}></b><i {{ writes }}></i>{% endmacro %}'
    )
    language = SPANISH.of(type("Info", (), {"source": "ar", "target": "de"}))
    assert (
        fill("test.part", language)
        == 'Traducir<b lang="ar" dir="rtl"></b><i lang="de"></i>'
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_part_is_used_and_each_that_is_filled_is_there(path):
    source = path.read_text(encoding="utf-8")
    every = "".join(one.read_text(encoding="utf-8") for one in FILES)
    parts = {*re.findall(r"{% macro (\w+)\(", source)}
    assert {*re.findall(rf'fill\("{path.stem}\.(\w+)"', CODE)} <= parts
    for part in parts:
        assert (
            f'fill("{path.stem}.{part}"' in CODE
            or len(re.findall(rf"\b{part}\(", every)) > 1
        ), part


def test_every_template_that_is_filled_is_there():
    assert {*re.findall(r'fill\("(\w+)\.', CODE)} <= {path.stem for path in FILES}
