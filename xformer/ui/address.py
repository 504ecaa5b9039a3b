"""What is on the page stands in its address, so that a copied link opens the same picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xformer.figures.palettes import PALETTES
from xformer.figures.picture import SHOW, VIEWS, Choice, Head
from xformer.results import STACKS, Message, ModelInfo

TABS = ("translate", "attention", "positions", "principles", "model")
LONGEST = 2_000  # characters of a sentence that an address carries
MOST_THRESHOLD = 50  # percent
KEYS = ("text", "tab", "spanish", "stack", "layer", "head", "show", "heads", "view", "threshold", "words", "hide",
        "weigh", "palette")

# Runs in the browser after each change: the address says what is on the page, without a request or a jump.
WRITE = """(...values) => {
  const keys = KEYS, query = new URLSearchParams();
  keys.forEach((key, i) => query.set(key, typeof values[i] === 'boolean' ? Number(values[i]) : values[i] ?? ''));
  for (const [key, value] of [...query]) if (value === '' || value.length > LONGEST) query.delete(key);
  history.replaceState(null, '', location.pathname + '?' + query + location.hash);
}""".replace("KEYS", str(list(KEYS))).replace("LONGEST", str(LONGEST))


@dataclass(frozen=True)
class Place:
    """What an address asks for; what it does not say, or says wrong, is as the page begins."""

    text: str
    tab: str
    spanish: str  # to look into instead of the model's translation; "" for that
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

    def written(key: str, default: str) -> str:
        value = query.get(key, default)
        if len(value) <= LONGEST:
            return value
        problems.append(Message.of("address_long", characters=len(value), limit=LONGEST))
        return default

    def switched(key: str) -> bool:
        return chosen(key, ("0", "1"), "0") == "1"

    stack = chosen("stack", STACKS, "cross")
    layers = info.n_layers if stack == "encoder_self" else info.n_decoder_layers
    heads = read_heads(query.get("heads", "").split(","), layers, info.n_heads)
    if heads is None:
        problems.append(Message.of("address_heads", value=query["heads"][:40]))
    choice = Choice(stack, numbered("layer", layers, layer), numbered("head", info.n_heads, head),
                    chosen("show", SHOW, "head"), heads or (), chosen("view", VIEWS, "heatmap"),
                    numbered("threshold", MOST_THRESHOLD, Choice.threshold), switched("words"), switched("hide"),
                    switched("weigh"), chosen("palette", tuple(PALETTES), Choice.palette))
    return Place(written("text", text), chosen("tab", TABS, "translate"), written("spanish", ""), choice,
                 tuple(problems))


def read_heads(names: Iterable[str], layers: int, heads: int) -> tuple[Head, ...] | None:
    """Names such as "2.5" (layer 2, head 5) as pairs, empty names passed over; None where a head is not there."""
    known = {f"{layer}.{head}": (layer, head) for layer in range(1, layers + 1) for head in range(1, heads + 1)}
    wanted = [name for name in names if name]
    return tuple(known[name] for name in wanted) if all(name in known for name in wanted) else None


def read_choice(stack: str, layer: int, head: int, show: str, joined: Sequence[str] | None, *more: Any) -> Choice:
    """A choice from the values of the page's controls."""
    heads = tuple(tuple(map(int, name.split("."))) for name in joined or ())
    return Choice(stack, int(layer), int(head), show, heads, *more)  # type: ignore[arg-type]
