"""The overview of all parts and the search over it, and the invitation of the
Translate tab: assets/places.js, invitation.js."""

import json
import re

import pytest
from playwright.sync_api import expect

from xformer.lessons.files import glossary, lessons, said
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.places import places as all_places
from xformer.ui.places import sections

say = ENGLISH.say
CLICKED = "window.clicked = []; addEventListener('click', ({target}) => clicked.push(target.dataset.address))"
QUESTIONS = (
    "const list = document.createElement('div'); list.className = 'questions';"
    "list.innerHTML = '<li><button>A</button></li>'; document.body.append(list);"
)
FIELD = "const field = document.createElement('input'); document.body.append(field); field.focus();"


@pytest.fixture
def places(bench):
    """The overview, opened by its key from a button that has the focus."""
    mounted = bench.mount("places")
    mounted.block.get_by_role("button", name=say("places_open")).focus()
    bench.page.keyboard.press("/")
    expect(mounted.locator("dialog")).to_be_visible()
    return mounted


def found(places):
    return places.locator(".list li button").filter(visible=True)


def test_a_key_opens_the_overview_and_enter_opens_what_is_found_first(bench, places):
    expect(places.block.get_by_role("searchbox")).to_be_focused()
    bench.page.evaluate(CLICKED)
    bench.page.keyboard.type(say("part_recorded").lower())
    first = places.locator("li.first").filter(visible=True)
    expect(first).to_contain_text(say("part_recorded"))
    bench.page.keyboard.press("Enter")
    expect(places.locator("dialog")).to_be_hidden()
    # and Enter does not press the button that has the focus again
    (opened,) = bench.page.evaluate("clicked")
    assert json.loads(opened) == {"tab": "training", "part": "recorded"}


def test_the_overview_is_walked_by_arrows_and_left_by_escape(bench, places):
    field = places.block.get_by_role("searchbox")
    bench.page.keyboard.type("nothing has this")
    expect(places.block.get_by_text(say("places_none"))).to_be_visible()
    expect(found(places)).to_have_count(0)
    field.fill("LAYER")
    expect(places.block.get_by_text(say("places_none"))).to_be_hidden()
    bench.page.keyboard.press("ArrowDown")
    expect(found(places).first).to_be_focused()
    bench.page.keyboard.press("ArrowDown")
    expect(found(places).nth(1)).to_be_focused()
    bench.page.keyboard.press("ArrowUp")
    bench.page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    bench.page.keyboard.press("Escape")
    expect(places.locator("dialog")).to_be_hidden()


def test_accents_do_not_count_and_terms_are_listed_only_where_one_is_looked_for(bench):
    places = bench.mount("places", language="es")
    places.block.get_by_role("button", name=SPANISH.say("places_open")).click()
    expect(places.locator(".terms li").filter(visible=True)).to_have_count(0)
    bench.page.keyboard.type("ATENCION")
    expect(
        places.locator("section:not(.terms) li").filter(visible=True).first
    ).to_be_visible()
    expect(places.locator(".terms li").filter(visible=True).first).to_be_visible()
    places.block.get_by_role("searchbox").fill("")
    expect(places.locator(".terms li").filter(visible=True)).to_have_count(0)


def test_a_slash_that_is_typed_into_a_field_is_a_slash(bench):
    places = bench.mount("places")
    bench.page.evaluate(FIELD)
    bench.page.keyboard.type("/")
    expect(bench.page.locator("body > input")).to_have_value("/")
    expect(places.locator("dialog")).to_be_hidden()


# By what is a thing found? Each word with the key, the lesson or the term in question.
WORDS = {
    "pronoun": "it", "pronombre": "it", "gender": "bias", "género": "bias",
    "variance": "variance", "varianza": "variance", "opus": "models",
    "link": "word-link", "enlace": "word-link", "exercise": "class",
    "ejercicio": "class", "haz": "search", "beam": "steps", "softmax": "softmax",
    "learning rate": "learning rate|tasa", "pieza": "piece|pieza",
    "encoder": "encoder|codificador",
    "warm-up": '"recorded_question": "order"', "calentamiento": '"recorded_question": "order"',
}  # fmt: skip
SEARCH = """words => {
  const field = document.querySelector('dialog input');
  return words.map(word => {
    field.value = word;
    field.dispatchEvent(new Event('input'));
    return [...document.querySelectorAll('dialog li:not([hidden]) button')].map(one => [
      one.closest('li').classList.contains('first'),
      one.dataset.address ?? '', one.dataset.place ?? '', one.dataset.lesson ?? '', one.innerText]);
  });
}"""


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_plain_words_of_either_language_find_places_lessons_and_terms(bench, language):
    places = bench.mount("places", language=language.code)
    places.block.get_by_role("button", name=language.say("places_open")).click()
    for (word, wanted), found in zip(
        WORDS.items(), bench.page.evaluate(SEARCH, [*WORDS]), strict=True
    ):
        assert found, f"{word} finds nothing"
        assert re.search(
            wanted, "\n".join(text for each in found for text in each[1:])
        ), (
            word,
            wanted,
            found,
        )
        assert sum(each[0] for each in found) == 1, "one is marked"


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_each_place_lesson_and_term_is_what_its_own_name_opens(bench, language):
    places = bench.mount("places", language=language.code)
    places.block.get_by_role("button", name=language.say("places_open")).click()
    every = [
        (language.say(place.name), {"tab": tab, **place.address}, place)
        for tab, those in all_places().items()
        for place in those
    ]
    assert 30 <= len(every) <= 40
    for (name, address, place), found in zip(
        every, bench.page.evaluate(SEARCH, [name for name, *_ in every]), strict=True
    ):
        (first,) = [each for each in found if each[0]]
        assert json.loads(first[1]) == address, name
        assert first[2] == (place.key if place.folded else ""), name
    titles = {name: said(one.title, language) for name, one in lessons().items()}
    for name, found in zip(
        titles, bench.page.evaluate(SEARCH, [*titles.values()]), strict=True
    ):
        assert name in [each[3] for each in found]
    terms = [said(one.term, language) for one in glossary()]
    for term, found in zip(terms, bench.page.evaluate(SEARCH, terms), strict=True):
        assert term in [each[4].split("\n")[0].strip() for each in found]


# Folds as Gradio makes them, and what assets/bar.js does with a click on an address.
FOLDS = """keys => {
  for (const key of keys) {
    const fold = document.createElement('div'), button = document.createElement('button');
    fold.className = `block at-${key}`;
    button.className = 'label-wrap';
    button.append(key);
    button.addEventListener('click', () => button.classList.toggle('open'));
    fold.append(button);
    document.querySelector('#bench').append(fold);
  }
  addEventListener('click', ({target}) => {
    const named = target.closest('[data-place]');
    if (!named) return;
    location.hash = named.dataset.place;
    dispatchEvent(new Event('placechange'));
  });
}"""


OPEN = """name => {
  const field = document.querySelector('dialog input');
  document.querySelector('.places .open').click();
  field.value = name;
  field.dispatchEvent(new Event('input'));
}"""
IS_OPEN = """key => {
  const label = document.querySelector(`.at-${key} button`);
  return label.classList.contains('open') && label === document.activeElement;
}"""


def test_enter_opens_each_fold_and_does_not_shut_it_again(bench, places):
    folded = [
        place for those in all_places().values() for place in those if place.folded
    ]
    assert len(folded) >= 9
    bench.page.evaluate(FOLDS, [place.key for place in folded])
    for place in folded:
        bench.page.evaluate(OPEN, say(place.name))
        bench.page.keyboard.press("Enter")
        assert bench.page.evaluate(IS_OPEN, place.key), place.key


def test_a_part_that_is_laid_out_anew_is_opened_again_until_a_person_acts(bench):
    bench.mount("places")
    bench.page.evaluate(FOLDS, ["variance"])
    shut = "document.querySelector('.at-variance button').classList.remove('open')"
    bench.page.evaluate("location.hash = 'variance'; tell('placechange')")
    assert bench.page.evaluate(IS_OPEN, "variance")
    bench.page.evaluate(shut)
    bench.page.wait_for_function("document.querySelector('.at-variance .open')")
    bench.page.keyboard.press("Shift")
    bench.page.evaluate(shut)
    assert not bench.page.evaluate(f"({IS_OPEN})('variance')")


def test_a_section_opens_the_fold_that_holds_it(bench):
    bench.mount("places")
    bench.page.evaluate(FOLDS, ["variance"])
    assert sections()["initial"].within == "variance"
    bench.page.evaluate("location.hash = 'initial'; tell('placechange')")
    assert bench.page.evaluate(IS_OPEN, "variance")


def test_a_section_that_is_a_fold_of_its_own_is_opened_in_that_which_holds_it(bench):
    bench.mount("places")
    bench.page.evaluate(FOLDS, ["vectors", "rest"])
    assert sections()["rest"].within == "vectors"
    bench.page.evaluate("""() => {
      const [outer, inner] = ['vectors', 'rest'].map(key => document.querySelector(`.at-${key}`));
      inner.remove();
      outer.querySelector('button').addEventListener('click', () => outer.append(inner));
      location.hash = 'rest';
      tell('placechange');
    }""")
    bench.page.wait_for_function(f"({IS_OPEN})('rest')")
    assert bench.page.evaluate("document.querySelector('.at-vectors .open') !== null")


def test_a_section_of_a_part_that_is_always_open_is_brought_into_sight(bench):
    bench.mount("places")
    assert sections()["brevity"].within == "bleu"
    bench.page.evaluate("""() => {
      const section = document.createElement('div');
      section.className = 'section at-brevity';
      section.style.marginTop = '2000px';
      section.append('…');
      document.querySelector('#bench').append(section);
      location.hash = 'brevity';
      tell('placechange');
    }""")
    bench.page.wait_for_function(
        "document.querySelector('.at-brevity').getBoundingClientRect().top < innerHeight"
    )


def test_a_picture_that_the_fragment_names_is_brought_into_sight_in_its_fold(bench):
    bench.mount("places")
    bench.page.evaluate(FOLDS, ["variance"])
    bench.page.evaluate("""() => {
      const fold = document.querySelector('.at-variance'), picture = document.createElement('div');
      picture.className = 'block curves';
      picture.style.marginTop = '2000px';
      picture.append('…');
      fold.querySelector('button').addEventListener('click', () => fold.append(picture));
      location.hash = 'variance:curves';
      tell('placechange');
    }""")
    bench.page.wait_for_function(
        "document.querySelector('.block.curves')?.getBoundingClientRect().top < innerHeight"
    )
    assert bench.page.evaluate(IS_OPEN, "variance")


def test_a_part_that_a_person_folds_while_its_picture_does_not_come_stays_shut(bench):
    bench.mount("places")
    bench.page.evaluate(FOLDS, ["variance"])
    bench.page.evaluate("location.hash = 'variance:curves'; tell('placechange')")
    assert bench.page.evaluate("document.querySelector('.at-variance .open') !== null")
    opened = bench.page.evaluate("""async () => {
      const label = document.querySelector('.at-variance button');
      label.click();
      document.body.append(document.createElement('i'));
      await new Promise(requestAnimationFrame);  // after the observers
      return label.classList.contains('open');
    }""")
    assert not opened


def test_a_section_is_found_by_its_name_where_it_is_held(bench):
    places = bench.mount("places")
    places.block.get_by_role("button", name=say("places_open")).click()
    held = [*sections().values()]
    names = [say(one.name) for one in held]
    for one, found in zip(held, bench.page.evaluate(SEARCH, names), strict=True):
        keys = {place.key: place for those in all_places().values() for place in those}
        holder = keys[one.within]
        assert any(
            each[2] == holder.key
            if holder.folded
            else each[4].startswith(say(holder.name))
            for each in found
        ), one.key


def test_a_lesson_is_opened_from_there(bench, places):
    bench.page.evaluate(CLICKED.replace("address", "lesson"))
    bench.page.keyboard.type("pronombre")
    places.locator(".lessons li button").filter(visible=True).press("Enter")
    assert bench.page.evaluate("clicked")[-1] == "it"
    expect(places.locator("dialog")).to_be_hidden()


# The invitation to the first lesson


def test_the_invitation_is_put_away_for_good_and_the_focus_stays_there(bench):
    shown = bench.mount("invitation")
    bench.page.evaluate(QUESTIONS)
    expect(shown.locator("p")).to_be_visible()
    shown.block.get_by_role("button", name=say("doors_dismiss")).click()
    expect(shown.locator("p")).to_be_hidden()
    expect(bench.page.locator(".questions button")).to_be_focused()
    bench.open()
    expect(bench.mount("invitation").locator("p")).to_be_hidden()
