"""How often the noun that "What does he look at?" names is the one that is meant.

Nobody has marked what pronouns of held-out sentences mean, but Tatoeba's are full of
Tom and Mary: where one of them stands, *he* after it means Tom, *she* Mary. So these
pronouns are asked about as the page asks (`xformer.parts.questions.find.refers`), and
counted are those for which a head says something, and says that name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xformer.parts.questions.draw import NAMES_A_NOUN
from xformer.parts.questions.find import Pair, Question, Side, refers
from xformer.results import Head
from xformer.serve.translation import Service

# By language, the pronouns that mean a man and those that mean a woman; others may mean
# either, and are asked about where one name stands alone.
MEN: Mapping[str, str] = {"en": "he him his himself", "es": "él"}
WOMEN: Mapping[str, str] = {"en": "she her hers herself", "es": "ella"}
TOM = frozenset({"Tom", "Tom's", "Tom’s"})
MARY = frozenset({"Mary", "Mary's", "Mary’s", "María"})


@dataclass(frozen=True)
class Referred:
    """How many pronouns were asked about, for how many a head names a noun, and for how
    many of these the one that is meant."""

    pronouns: int
    said: int
    right: int


def meant(words: Iterable[str], pronoun: str, code: str) -> frozenset[str]:
    """Return the names that a pronoun means among the words of a sentence; none where
    that is not sure."""
    stand = [names for names in (TOM, MARY) if names & {*words}]
    for names, pronouns in ((TOM, MEN), (MARY, WOMEN)):
        if pronoun.lower() in pronouns[code].split():
            return names if names in stand else frozenset()
    return stand[0] if code == "es" and len(stand) == 1 else frozenset()


def asked(service: Service, source: str, target: str) -> Iterator[tuple[Question, str]]:
    """Ask what each pronoun of a person in a sentence looks at; -> the questions, with
    the name that is meant."""
    code = service.info.source
    trace = service.trace(source, target)
    side = Side.of(trace.source, code)
    if not (TOM | MARY) & {*side.texts}:
        return
    other = Side.of(trace.predicted, service.info.target)
    none: Any = None  # what is asked of the sentence alone needs no search
    pair = Pair(none, trace, side, other, Head("cross", 1, 1), given=False)
    for one in refers(pair):
        word = one.values["word"]
        if word.lower() not in side.known("people"):
            continue
        before = side.texts[: side.texts.index(word)]
        if names := meant(before, word, code):
            yield one, " ".join(names)


def measure(service: Service, pairs: Iterable[tuple[str, str]]) -> Referred:
    """Count over held-out pairs, English and Spanish."""
    found = list[tuple[Question, str]]()
    for pair in pairs:
        source, target = pair if service.info.source == "en" else pair[::-1]
        if any(name in source for name in ("Tom", "Mary", "María")):
            found += asked(service, source, target)
    said = [one for one in found if one[0].said in NAMES_A_NOUN]
    right = [one for one, names in said if one.values["seen"] in names.split()]
    return Referred(len(found), len(said), len(right))
