"""Go on with a translator: learn pairs by pattern, keep what it predicts of all others,
and teach one head to link a pronoun with its noun.

    python -m research.continued --data DATA --from en-es --out OUT --minutes 80

Everything but the patterns is learned from a mean of its reference and of what a
teacher predicts, the starting weights if no other is named (Khayrallah et al. 2018,
"Regularized Training Objective for Continued Training"). In the pairs by pattern with a
link (`patterns.py`), the head of the encoder that links best to begin with is given the
cross-entropy of where its pronoun looks, as Garg et al. (2019), "Jointly Learning to
Align and Translate", do it for alignment. A head taught so shows what it was taught;
whoever shows it says so.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from research.data import copied
from xformer.device import choose_device
from xformer.hub import checkpoint, repository
from xformer.model import Heads, Trace, Transformer, scores
from xformer.parts.learned.ask import PATTERNS
from xformer.pieces import EOS, PAD
from xformer.tokenizer import Tokenizer
from xformer.training.data import corpora
from xformer.training.loop import Trainer
from xformer.training.options import TranslationRun
from xformer.training.tasks import SmoothedCrossEntropy, TranslationTask, forced
from xformer.translator import pad

PACKAGE = Path(__file__).parent.parent / "xformer" / "training" / "data"
BATCH = 32  # pairs by pattern in a batch
COPIES = 20_000  # pairs with what is to be copied, to draw from
SHOWN = 400  # linked pairs by which the head is chosen


class Linked(NamedTuple):
    """A pair by pattern in pieces, without BOS and EOS; the place of its pronoun in the
    source, and the places of the last word of its noun: none where it has no link."""

    source: list[int]
    target: list[int]
    asks: int = 0
    seen: tuple[int, ...] = ()


def places(tokenizer: Tokenizer, pieces: Sequence[int], link: str) -> Linked | None:
    """Find a link, "it car", in the pieces of a source: the noun's last occurrence, and
    the first of the pronoun after it; None where either is not there."""
    words: list[tuple[str, list[int]]] = []
    for place, text in enumerate(tokenizer.pieces(pieces)):
        if text.startswith("▁") or not words:
            words.append(("", []))
        name, where = words[-1]
        words[-1] = (name + text.strip("▁"), [*where, place])
    pronoun, noun = link.split(" ")
    bare = [name.strip(".,;:!?¿¡").lower() for name, _ in words]
    for n in range(len(bare) - 1, -1, -1):
        if bare[n] == noun and pronoun in bare[n + 1 :]:
            at = bare.index(pronoun, n + 1)
            return Linked([*pieces], [], words[at][1][0], tuple(words[n][1]))
    return None


def read_patterns(
    path: Path, tokenizer: Tokenizer, reverse: bool, often: str = "", times: int = 1
) -> list[Linked]:
    """Read pairs by pattern with their links, each as it stands and in small letters
    without its full stop. Links are of English sources. Those in which the expression
    `often` is found stand there `times` times."""
    found = []
    for line in corpora.read_lines(path):
        if not line:
            continue
        english, spanish, mark = line.split("\t")
        link = mark.partition(" ")[2]
        source, target = (spanish, english) if reverse else (english, spanish)
        for text in (source, corpora.plain(source)):
            pieces = tokenizer.encode(text)
            linked = places(tokenizer, pieces, link) if link and not reverse else None
            one = (linked or Linked(pieces, []))._replace(
                target=tokenizer.encode(target)
            )
            found += [one] * (times if often and re.search(often, line) else 1)
    return found


def also_drawn(
    pairs: Sequence[corpora.Pair], tokenizer: Tokenizer, expression: str, reverse: bool
) -> list[Linked]:
    """Choose pairs of people's own that are drawn as patterns are: those in which the
    expression is found, as "English<tab>Spanish"."""
    found = [pair for pair in pairs if re.search(expression, f"{pair[0]}\t{pair[1]}")]
    return [
        Linked(tokenizer.encode(source), tokenizer.encode(target))
        for source, target in (corpora.turned(found) if reverse else found)
    ]


def pieces_of(tokenizer: Tokenizer, expression: str) -> list[int]:
    """The ids of the pieces that are what an expression says, "▁(she|he)". Raises
    ValueError where no piece is."""
    found = [
        piece
        for piece, text in enumerate(tokenizer.pieces(range(len(tokenizer))))
        if re.fullmatch(expression, text)
    ]
    if not found:
        raise ValueError(
            f"No piece of the vocabulary is what “{expression}” says; a word begins with ▁."
        )
    return found


class Keeping(TranslationTask):
    """Translation with pairs by pattern between the batches of all others."""

    def __init__(
        self,
        *args: Any,
        patterns: Sequence[Linked],
        every: int,
        keep: float,
        learn: float,
        link: float,
        layer: int | None = None,
        teacher: nn.Module | None = None,
        taught: Sequence[Sequence[int]] = (),
        only: Sequence[int] = (),
    ) -> None:
        """every: a batch of patterns after so many others. keep: the share of what the
        teacher predicts, the model as it begins where there is no other. learn: the
        weight of the reference of a pattern. link: that of a link, in target pieces.
        layer: of the encoder, from 1, whose head is taught; None: whichever links best.
        taught: heads of the encoder, [layer, head] from 1, that were taught before.
        only: pieces of a pattern's target whose reference is learned; for all others
        what the teacher predicts is kept. None given: all are learned.
        """
        super().__init__(*args)
        self.model: Transformer
        self.patterns = patterns
        self.every = every
        self.keep = keep
        self.learn = learn
        self.link = link
        teacher = teacher or copy.deepcopy(self.model)
        self.teacher = teacher.eval().requires_grad_(False)
        self.only = torch.tensor(only) if only else None
        self.head = self.best_head(layer)
        self.taught = [list(one) for one in taught]
        if any(one.seen for one in patterns) and [*self.head] not in self.taught:
            self.taught.append([*self.head])
        self.linked: list[float] = []  # the mean share of late batches, to be told

    def batches(self, epoch: int, skip: int) -> Iterator[list[Any]]:
        rng = random.Random(epoch)
        order: list[Linked] = []
        for number, batch in enumerate(self.data.epoch(epoch, skip), 1):
            yield batch
            if number % self.every == 0:
                if len(order) < BATCH:
                    order = rng.sample(self.patterns, len(self.patterns))
                # of similar length
                drawn = sorted(order[: 4 * BATCH], key=lambda one: len(one.target))
                first = rng.randrange(0, max(1, len(drawn) - BATCH), BATCH)
                chosen = drawn[first : first + BATCH]
                del order[:BATCH]
                yield chosen

    def loss(
        self, model: nn.Module, batch: Sequence[Any], device: torch.device
    ) -> Tensor:
        if isinstance(batch[0], Linked):
            return self.pattern_loss(model, batch, device)
        sources, targets = ([one[side] for one in batch] for side in (0, 1))
        logits, wanted = forced(model, sources, targets, device)
        loss = SmoothedCrossEntropy.apply(
            logits.flatten(0, 1), wanted.flatten(), self.smoothing
        )
        if not model.training:
            return loss
        kept = self.kept(logits, sources, targets, device)
        return (1 - self.keep) * loss + self.keep * kept[wanted != PAD].sum()

    def kept(
        self,
        logits: Tensor,
        sources: Sequence[list[int]],
        targets: Sequence[list[int]],
        device: torch.device,
    ) -> Tensor:
        """Cross-entropy with what the teacher predicts, [B, T], nats."""
        with torch.no_grad():
            predicted = forced(self.teacher, sources, targets, device)[0]
            predicted = predicted.float().softmax(-1)
        return -(predicted * logits.float().log_softmax(-1)).sum(-1)

    def pattern_loss(
        self, model: nn.Module, batch: Sequence[Linked], device: torch.device
    ) -> Tensor:
        layer, head = self.head
        kept: list[Tensor] = []

        def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
            # [B, H, Q, K], in float32
            kept.append(scores(q.float(), k.float(), mask).softmax(-1))
            return kept[-1].to(q.dtype)

        heads = replace(
            Heads.without(self.model.config, [], device),
            weigh={("encoder_self", layer): weigh},
        )
        sources = [one.source for one in batch]
        targets = [one.target for one in batch]
        logits, wanted = forced(partial(model, heads=heads), sources, targets, device)
        learned = wanted
        if self.only is not None:
            chosen = torch.isin(wanted, self.only)
            learned = wanted.where(chosen, PAD)
        loss = self.learn * SmoothedCrossEntropy.apply(
            logits.flatten(0, 1), learned.flatten(), self.smoothing
        )
        if self.only is not None:
            rest = self.kept(logits, sources, targets, device)
            loss = loss + rest[(wanted != PAD) & ~chosen].sum()
        shares = [
            kept[0][row, head - 1, one.asks, [*one.seen]].sum()
            for row, one in enumerate(batch)
            if one.seen
        ]
        if shares:
            found = torch.stack(shares)
            self.linked.append(float(found.detach().mean()))
            loss = loss - self.link * found.clamp(min=1e-6).log().sum()
        return loss

    @torch.inference_mode()
    def best_head(self, among: int | None = None) -> tuple[int, int]:
        """Layer and head of the encoder, from 1, that link best before training, of one
        layer or of all."""
        linked = [one for one in self.patterns if one.seen]
        linked = random.Random(0).sample(linked, min(SHOWN, len(linked)))
        if not linked:
            return among or 1, 1
        config = self.model.config
        shares = torch.zeros(config.n_layers, config.n_heads)
        self.model.eval()
        for first in range(0, len(linked), BATCH):
            part = linked[first : first + BATCH]
            trace = Trace()
            self.model.encode(pad([[*one.source, EOS] for one in part]), trace)
            # [layers, B, H, Q, K]
            looks = torch.stack(trace.encoder_self.probabilities)
            for row, one in enumerate(part):
                shares += looks[:, row, :, one.asks, [*one.seen]].sum(-1)
        shares /= len(linked)
        if among:
            shares[: among - 1] = 0
            shares[among:] = 0
        best = int(shares.argmax())
        layer, head = divmod(best, config.n_heads)
        print(
            f"head {head + 1} of layer {layer + 1} links best: {shares.max():.3f} on average"
        )
        return layer + 1, head + 1

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        taught = {checkpoint.TAUGHT: self.taught} if self.taught else {}
        super().save(folder, {**metrics, **taught})

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        late = self.linked[-50:]
        return {
            **super().evaluate(precision),
            "linked": round(sum(late) / max(1, len(late)), 4),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="as `xformer train`")
    parser.add_argument("--from", dest="start", default="en-es")
    parser.add_argument("--teacher", help="as --from, which it is if not given")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reverse", action="store_true", help="from Spanish")
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--peak", type=float, default=1e-4)
    parser.add_argument("--keep", type=float, default=1.0)
    parser.add_argument("--learn", type=float, default=0.5)
    parser.add_argument("--link", type=float, default=1.0)
    parser.add_argument("--layer", type=int, help="whose head is taught (default any)")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument(
        "--every", type=int, default=4, help="others to one of patterns"
    )
    parser.add_argument(
        "--often", default="", help="an expression: such patterns are drawn oftener"
    )
    parser.add_argument("--times", type=int, default=4, help="as often")
    parser.add_argument(
        "--also", default="", help="pairs of others to draw as patterns, an expression"
    )
    parser.add_argument(
        "--only", default="", help="pieces of a pattern that are learned (default all)"
    )
    parser.add_argument("--average", type=float, default=0.998)
    parser.add_argument(
        "--evaluate", type=float, default=20, help="minutes between two scores on dev"
    )
    parser.add_argument("--train", type=int, default=70_000, help="pairs of train")
    parser.add_argument("--extra", type=int, default=24_000)
    parser.add_argument("--batch-tokens", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rng = random.Random(args.seed)

    def read(name: str) -> list[corpora.Pair]:
        path = corpora.data_file(args.data, name)
        return corpora.read_pairs(path) if path else []

    train = read("train")
    extra = [*read("extra"), *read("extra2")]
    marked = [
        row
        for name in ("written", "words", "prose", "texts")
        for row in corpora.read_marked_pairs(PACKAGE / f"{name}.tsv.xz")
    ]
    written = corpora.unmarked(row for row in marked if row[2] != corpora.ENTRY)
    entries = corpora.unmarked(row for row in marked if row[2] == corpora.ENTRY)
    dev = read("dev")
    run = TranslationRun(
        data=args.data,
        out=args.out,
        start=args.start,
        reverse=args.reverse,
        minutes=args.minutes,
        peak=args.peak,
        warmup=40,
        average=args.average,
        seed=args.seed,
        precision=args.precision,
        evaluate_minutes=args.evaluate,
        extra_weight=1,
        written_weight=1,
        phrase_weight=1,
        entry_weight=1,
        batch_tokens=args.batch_tokens,
        copied=0.08,
        names=0.1,
        sampled=0.05,
    )
    start: checkpoint.Checkpoint[Transformer] = checkpoint.load(
        repository.find(args.start)
    )
    model = type(start.model)(
        type(start.model.config)(
            **{**start.model.config.to_dict(), "dropout": args.dropout}
        )
    )
    model.load_state_dict(start.model.state_dict())
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint.save_config(args.out, model, start.tokenizer)
    batches = corpora.TranslationBatches(
        start.tokenizer,
        rng.sample(train, min(args.train, len(train))),
        rng.sample(extra, min(args.extra, len(extra))),
        rng.sample(written, min(50_000, len(written))),
        rng.sample(entries, min(6_000, len(entries))),
        to_copy=[copied.draw(rng) for _ in range(COPIES)],
        options=run,
        seed=args.seed,
    )
    try:
        only = pieces_of(start.tokenizer, args.only) if args.only else ()
        re.compile(args.also)
        re.compile(args.often)
    except (ValueError, re.error) as error:
        parser.error(str(error))
    patterns = read_patterns(
        PATTERNS, start.tokenizer, args.reverse, args.often, args.times
    )
    if args.also:
        patterns += also_drawn(
            [*train, *extra], start.tokenizer, args.also, args.reverse
        )
    task = Keeping(
        model,
        start.tokenizer,
        batches,
        (corpora.turned(dev) if args.reverse else dev)[:600],
        0.1,
        patterns=patterns,
        every=args.every,
        keep=args.keep,
        learn=args.learn,
        link=args.link,
        layer=args.layer,
        teacher=checkpoint.load(repository.find(args.teacher)).model
        if args.teacher
        else None,
        taught=start.metrics.get(checkpoint.TAUGHT, ()),
        only=only,
    )
    print(
        f"{len(task.patterns):,} patterns, {sum(bool(one.seen) for one in task.patterns):,} with a link",
        flush=True,
    )
    print(
        json.dumps(
            Trainer(
                task, args.out, run.training_options(), choose_device("cpu")
            ).train()
        )
    )


if __name__ == "__main__":
    main()
