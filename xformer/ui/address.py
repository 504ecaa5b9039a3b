"""What is on the page stands in its address, so that a copied link opens the same picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xformer.figures.picture import SHOW, Choice
from xformer.results import STACKS, Message, ModelInfo

TABS = ("translate", "attention")
LONGEST = 2_000  # characters of a sentence that an address carries
KEYS = ("text", "tab", "stack", "layer", "head", "show", "words", "hide")

# Runs in the browser after each change: the address says what is on the page, without a request or a jump.
WRITE = """(...values) => {
  const keys = KEYS, query = new URLSearchParams();
  keys.forEach((key, i) => query.set(key, typeof values[i] === 'boolean' ? Number(values[i]) : values[i]));
  if ((query.get('text') || '').length > LONGEST) query.delete('text');
  history.replaceState(null, '', location.pathname + '?' + query + location.hash);
}""".replace("KEYS", str(list(KEYS))).replace("LONGEST", str(LONGEST))


@dataclass(frozen=True)
class Place:
    """What an address asks for; what it does not say, or says wrong, is as the page begins."""

    text: str
    tab: str
    choice: Choice
    problems: tuple[Message, ...]


def read(query: Mapping[str, str], info: ModelInfo, text: str, layer: int, head: int) -> Place:
    """Read an address made by this page or by hand. text, layer and head: what the page begins with.

    Nonsense is named in `problems`, and passed over.
    """
    problems = []

    def chosen(key: str, options: tuple[str, ...], default: str) -> str:
        value = query.get(key, default)
        if value in options:
            return value
        problems.append(Message.of("address_choice", key=key, value=value[:40], options=", ".join(options)))
        return default

    def numbered(key: str, most: int, default: int) -> int:
        value = query.get(key, str(default))
        if value.isascii() and value.isdigit() and 1 <= int(value[:6]) <= most:
            return int(value)
        problems.append(Message.of("address_number", key=key, value=value[:40], most=most))
        return min(default, most)

    sentence = query.get("text", text)
    if len(sentence) > LONGEST:
        problems.append(Message.of("address_long", characters=len(sentence), limit=LONGEST))
        sentence = text
    stack = chosen("stack", STACKS, "cross")
    layers = info.n_layers if stack == "encoder_self" else info.n_decoder_layers
    choice = Choice(stack, numbered("layer", layers, layer), numbered("head", info.n_heads, head),
                    chosen("show", SHOW, "head"), chosen("words", ("0", "1"), "0") == "1",
                    chosen("hide", ("0", "1"), "0") == "1")
    return Place(sentence, chosen("tab", TABS, "translate"), choice, tuple(problems))
