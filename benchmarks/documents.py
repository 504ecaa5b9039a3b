"""Write into the documents what metrics.json and config.json of the checkpoints say.

    python -m benchmarks.documents

Whoever commits other weights calls this: in README.md, docs/ and the model cards it
finds each sentence and row that holds a score, and puts the new number there. A test
holds the documents equal to what it writes.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from xformer.hub import checkpoint

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "checkpoints"
FIELD = re.compile(r"\{([^{}]*)\}")
# also the identity of a checkpoint, in hexadecimal digits
NUMBER = r"[-\d.,a-f]*[\da-f]"

# A document, a text that stands in it with fields in braces, and the values of the
# fields.
Said = tuple[str, str, dict[str, Any]]


def read(name: str, file: str = "metrics.json") -> dict[str, Any]:
    """Read a file of JSON of a checkpoint."""
    found: dict[str, Any] = json.loads(
        (CHECKPOINTS / name / file).read_text(encoding="utf-8")
    )
    return found


def written(text: str, template: str, values: dict[str, Any]) -> str:
    """Put values into a text, wherever the template stands in it, whatever the numbers
    there are now.

    Raises LookupError where it stands nowhere.
    """
    pieces = [
        re.escape(piece).replace(r"\ ", r"\s+") for piece in FIELD.split(template)[::2]
    ]
    pattern = re.compile(NUMBER.join(f"({piece})" for piece in pieces))
    fields = [("{" + field + "}").format(**values) for field in FIELD.findall(template)]

    def fill(match: re.Match[str]) -> str:
        return "".join(
            piece + field
            for piece, field in zip(match.groups(), [*fields, ""], strict=True)
        )

    text, count = pattern.subn(fill, text)
    if not count:
        raise LookupError(f"this stands nowhere: {template}")
    return text


def best_head(alignment: dict[str, Any]) -> dict[str, Any]:
    """Find the head of a model with the least alignment error rate."""
    heads = []
    for reading in alignment["alignment_error_rate"].values():
        for layer, rates in enumerate(reading, 1):
            heads += [(rate, layer, head) for head, rate in enumerate(rates, 1)]
    least, layer, head = min(heads)
    return {"least": least, "layer": layer, "head": head}


def of_translator() -> Iterator[Said]:
    """What is said of `en-es`."""
    found = read("en-es")
    summary = checkpoint.examine(CHECKPOINTS / "en-es")
    scores = {
        (one["set"], one["beam"], one["plain"], one["lowercase"]): one
        for one in found["scores"]
    }
    tatoeba, flores = (
        scores[name, 5, False, False]
        for name in ("tatoeba-test-v2020-07-28", "flores200-dev")
    )
    head = best_head(found["alignment"])
    guesses = found["guesses"]
    whole = {
        "parameters": summary.parameters,
        "millions": summary.parameters / 1e6,
        "identity": summary.identity,
        "megabytes": 20 * summary.parameters / 1e6,
        "vocabulary": read("en-es", "config.json")["vocab_size"],
    }
    card = "checkpoints/en-es/README.md"
    yield "README.md", "translation, {millions:.1f} M parameters | Tatoeba test", whole
    yield (
        "README.md",
        "Tatoeba test v2020-07-28, {sentences:,} pairs | **{bleu:.1f} BLEU**",
        tatoeba,
    )
    yield (
        "README.md",
        "FLORES-200 dev, {sentences:,} long sentences | {bleu:.1f} BLEU",
        flores,
    )
    yield "README.md", "40 sentences aligned by hand | {least:.3f} error rate", head
    yield "docs/TRAINING.md", "{megabytes:.0f} MB for {parameters:,} parameters", whole
    yield (
        "docs/RESULTS.md",
        "`checkpoints/en-es` ({parameters:,} parameters, {identity})",
        whole,
    )
    yield card, "sinusoidal positions; {parameters:,} parameters", whole
    yield card, "Checkpoint {identity}.", whole
    yield card, "{vocabulary:,} joint SentencePiece pieces", whole
    for name in ("docs/RESULTS.md", card):
        yield name, "layer {layer}, head {head}, alignment error rate {least:.3f}", head
        yield (
            name,
            (
                "marked as a guess below {bound} nats a piece: {marked} of {sentences:,} of dev, {caught} of the "
                "{wrong} whose chrF is below {least:g}"
            ),
            guesses,
        )
        for (dataset, beam, plain, lowercase), one in scores.items():
            flags = "".join(
                flag * on
                for flag, on in (
                    (" --beam 1", beam == 1),
                    (" --plain", plain),
                    (" --lowercase", lowercase),
                )
            )
            bleu = "**{bleu:g}**" if one is tatoeba else "{bleu:g}"
            yield (
                name,
                f"| `--pairs {dataset}.tsv{flags}` | {{sentences:,}} | {bleu} | {{chrf:g}} |",
                one,
            )
    *shorter, last = found["lengths"]["buckets"]
    for i, one in enumerate(shorter):
        yield (
            "docs/RESULTS.md",
            f"{{bleu:.1f}}{' BLEU' * (i == 0)} up to {one['last']}",
            one,
        )
    yield "docs/RESULTS.md", "and {bleu:.1f} above ({sentences} sentences)", last


def of_small_models() -> Iterator[Said]:
    """What is said of the small models of the generations."""
    for name in ("gru-attention", "post-norm", "pre-norm"):
        head = best_head(read(name)["alignment"])
        yield f"checkpoints/{name}/README.md", "{least:.3f} on 40", head
        row = next(
            line
            for line in (ROOT / "docs" / "TRAINING.md")
            .read_text(encoding="utf-8")
            .splitlines()
            if line.startswith(f"| `{name}`")
        )
        before = row.rpartition("|")[0].rpartition("|")[0]
        yield "docs/TRAINING.md", f"{before}| {{least:.3f}} |", head


def documents() -> dict[str, str]:
    """Fill in every document that has a score; -> their texts, by their paths."""
    texts: dict[str, str] = {}
    for name, template, values in (*of_translator(), *of_small_models()):
        before = texts.get(name) or (ROOT / name).read_text(encoding="utf-8")
        try:
            texts[name] = written(before, template, values)
        except LookupError as error:
            raise LookupError(f"{name}: {error}") from None
    return texts


def main() -> None:
    """Write them all."""
    for name, text in tqdm(documents().items(), unit=" documents"):
        changed = text != (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(text, encoding="utf-8")
        tqdm.write(f"{'written' if changed else 'as it was'}: {name}")


if __name__ == "__main__":
    main()
