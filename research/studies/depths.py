"""How the gradient grows with depth before the first step, on real sentences: what a
warm-up is for (Xiong et al. 2020, figure 3), at the depth of the recorded runs and at
twice that."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

import torch

from research.options import StudyRuns
from research.studies.runs import short
from xformer.explain.recorded import WHOLE
from xformer.model import Config, Transformer
from xformer.training import parts
from xformer.training.data.corpora import NO_ROUGHENING, Pair, TranslationBatches
from xformer.training.options import BatchOptions
from xformer.training.tasks import TranslationTask, learn_vocabulary

LAYERS = (3, 6)
SEEDS = (0, 1, 2)
BATCHES = 4  # of pairs; their gradients' norms are averaged
ROWS = 64  # pairs of a batch


def record(study: StudyRuns, train: Sequence[Pair], out: Path) -> Iterator[str]:
    """Measure untrained models of both orders, of LAYERS and SEEDS, on the pairs and
    with the sizes of the recorded runs, and write the file `out` -> a line for each."""
    pairs = short(train, study.words, study.pairs)
    tokenizer = learn_vocabulary(pairs, study.vocabulary)
    device = torch.device("cpu")
    encoded = [
        (tokenizer.encode(english), tokenizer.encode(spanish))
        for english, spanish in pairs[: BATCHES * ROWS]
    ]
    runs = []
    for layers in LAYERS:
        for norm in ("post", "pre"):
            for seed in SEEDS:
                torch.manual_seed(seed)
                model = Transformer(
                    Config(
                        vocab_size=len(tokenizer),
                        d_model=study.d_model,
                        n_heads=4,
                        n_layers=layers,
                        d_ff=4 * study.d_model,
                        norm=norm,
                        dropout=0.1,
                    )
                )
                batches = TranslationBatches(
                    tokenizer,
                    pairs[:ROWS],
                    options=BatchOptions(
                        batch_tokens=study.batch_tokens,
                        max_pieces=64,
                        names=0.0,
                        sampled=0.0,
                    ),
                    roughening=NO_ROUGHENING,
                    seed=seed,
                )
                task = TranslationTask(model, tokenizer, batches, [], WHOLE.smoothing)
                each = [
                    parts.depths(task, encoded[at : at + ROWS], device)
                    for at in range(0, len(encoded), ROWS)
                ]
                norms = [round(mean(column), 4) for column in zip(*each, strict=True)]
                runs.append(
                    {"norm": norm, "layers": layers, "seed": seed, "norms": norms}
                )
                yield f"{norm}-norm {layers} + {layers}, seed {seed}: {norms}"
    about = {"pairs": len(encoded), "d_model": study.d_model, "words": study.words}
    lines = ",\n".join(json.dumps(run) for run in runs)
    text = f'{{"about": {json.dumps(about)},\n"runs": [\n{lines}\n]}}\n'
    out.write_text(text, encoding="utf-8")
