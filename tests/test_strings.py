"""Both languages say everything, with the same values in it."""

import re
from pathlib import Path

import pytest

from xformer.results import Message, UserError
from xformer.strings import ENGLISH, SPANISH

PLACES = re.compile(r"\{(\w+)\}")
SOURCES = [*Path("xformer").rglob("*.py"), Path("app.py")]


def test_both_languages_have_the_same_texts_with_the_same_values():
    english, spanish = ENGLISH.texts, SPANISH.texts
    assert english.keys() == spanish.keys()
    for key in english:
        assert set(PLACES.findall(english[key])) == set(PLACES.findall(spanish[key])), key
        assert english[key].strip() and spanish[key].strip(), key


def test_every_text_is_used_somewhere():
    """A key stands in the code as a whole, or as a stem that a value is put behind: f"role_{name}"."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    whole = set(re.findall(r"""["'](\w+)["']""", code))
    stems = tuple(stem for stem in re.findall(r"""["'](\w+_)\{""", code)) + ("picture_title_rollout", "rule_rollout")
    assert not [key for key in ENGLISH.texts if key not in whole and not key.startswith(stems)]


def test_a_key_of_the_keyboard_has_one_name():
    assert not [key for key, said in SPANISH.texts.items() if re.search(r"\b(Entrar|Enter)\b", said)]


@pytest.mark.parametrize(("language", "shown"), [(ENGLISH, "12,345"), (SPANISH, "12\u202f345")])
def test_numbers_are_grouped_as_the_language_does(language, shown):
    assert shown in language.say("warning_control", count=12345)
    assert "True" in language.say("warning_control", count=True), "a truth is no number"


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_plain_text_is_as_it_is_and_html_is_escaped_with_its_values(language):
    evil = "<b title='&\">"
    assert evil in language.say("warning_unknown", characters=evil)
    escaped = language.html("warning_unknown", characters=evil)
    assert "&lt;b title=&#x27;&amp;&quot;&gt;" in escaped and not set("<>\"'") & set(escaped)


def test_a_message_is_said_in_the_language_of_its_reader():
    message = Message.of("warning_control", count=12345)
    assert message.say() == message.say(ENGLISH) == ENGLISH.say("warning_control", count=12345)
    assert UserError(message).say(SPANISH) == SPANISH.say("warning_control", count=12345) != message.say()
    assert str(UserError(message)) == message.say(), "in a log, English"
    assert UserError("One sentence.").say(SPANISH) == "One sentence."
