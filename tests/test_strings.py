"""Both languages say everything, with the same values in it."""

import re
from pathlib import Path

import pytest

from xformer import strings

PLACES = re.compile(r"\{(\w+)\}")
SOURCES = [*Path("xformer").rglob("*.py"), Path("app.py")]


def test_both_languages_have_the_same_texts_with_the_same_values():
    english, spanish = strings.table("en"), strings.table("es")
    assert english.keys() == spanish.keys()
    for key in english:
        assert set(PLACES.findall(english[key])) == set(PLACES.findall(spanish[key])), key
        assert english[key].strip() and spanish[key].strip(), key


def test_every_text_is_used_somewhere():
    """A key stands in the code as a whole, or as a stem that a value is put behind: f"role_{name}"."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    whole = set(re.findall(r"""["'](\w+)["']""", code))
    stems = tuple(stem for stem in re.findall(r"""["'](\w+_)\{""", code)) + ("picture_title_rollout", "rule_rollout")
    assert not [key for key in strings.table("en") if key not in whole and not key.startswith(stems)]


def test_a_key_of_the_keyboard_has_one_name():
    assert not [key for key, said in strings.table("es").items() if re.search(r"\b(Entrar|Enter)\b", said)]


@pytest.mark.parametrize(("language", "shown"), [("en", "12,345"), ("es", "12\u202f345")])
def test_numbers_are_grouped_as_the_language_does(language, shown):
    assert shown in strings.text("warning_control", language, count=12345)
