"""`python -m benchmarks [--checkpoint DIR] [--sentiment DIR] [--quick]` prints the speed tables of the README.

The benchmarks compare in one run and in turns; on a machine that does other things too, trust the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    copies,
    layout,
    load,
    marian,
    page,
    pictures,
    recurrent,
    sentiment,
    setups,
    sliders,
    soak,
    training,
    translation,
)
from benchmarks.harness import machine
from tests.harness import PROXY, ROOT
from xformer.hub import checkpoint
from xformer.results import UserError

RIVALS = {"translation": ("transformers", "ctranslate2"), "training": ("transformers",),
          "marian": ("transformers", "ctranslate2"), "recurrent": (),
          "sentiment": ("transformers",), "load": (), "copies": (),
          "soak": (), "setups": (), "page": (), "pictures": ("bertviz",), "sliders": (),
          "layout": ()}


def chosen(only: str | None) -> list[str]:
    """The benchmarks to run: the one asked for, or all; what is shown in a browser is left out where there is none."""
    names = [name for name in RIVALS if only in (None, name)]
    lacking = {"pictures": "" if pictures.CHROMIUM and shutil.which("npm") else "chromium npm",
               **dict.fromkeys(("copies", "setups"), "" if PROXY else "haproxy"),
               **dict.fromkeys(("page", "sliders", "layout"), "" if pictures.CHROMIUM else "chromium")}
    for name, packages in lacking.items():
        if name in names and packages:
            print(f"The {name} are left out: run “apt-get install {packages}” to have them.",
                  file=sys.stderr)
            names.remove(name)
    return names


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-es"), metavar="DIR",
                        help="a translation model (default: %(default)s)")
    parser.add_argument("--sentiment", type=Path, default=Path("checkpoints/sentiment"), metavar="DIR",
                        help="a classifier (default: %(default)s; where it is not there, random weights)")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that everything runs")
    parser.add_argument("--only", choices=tuple(RIVALS), help="one of the benchmarks")
    parser.add_argument("--checkout", type=Path, default=ROOT, metavar="DIR",
                        help="a checkout of this project whose page the layout is measured of (default: this one)")
    parser.add_argument("--address", metavar="URL",
                        help="only ask a page that runs already, as “copies” does its own")
    parser.add_argument("--people", type=int, default=copies.PEOPLE, metavar="N",
                        help="users at once of “copies” and of --address (default: %(default)s), and at most 20 of "
                             "“setups” and of “soak” for minutes")
    parser.add_argument("--minutes", type=int, default=0, metavar="N",
                        help="“soak” by people at their own pace for so long (default: 10,000 requests, at once)")
    options = parser.parse_args()
    if options.address:
        print(copies.run_against(options.address, options.people, 5.0 if options.quick else 30.0))
        return 0
    names = chosen(options.only)
    if not names:
        return 1
    rivals = list(dict.fromkeys(rival for name in names for rival in RIVALS[name]))
    missing = [name for name in rivals if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)} must be there to compare with; run “pip install -r requirements-bench.txt”.",
              file=sys.stderr)
        return 1
    try:
        loaded = checkpoint.load(options.checkpoint)
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    model = loaded.model
    config = model.config
    print(f"{', '.join([machine(), *(f'{name} {version(name)}' for name in rivals)])}.\n")
    print(f"The model: {model.parameter_count() / 1e6:.1f} million parameters, d_model {config.d_model}, "
          f"{config.n_layers} + {config.decoder_layers} layers, {config.n_heads} heads, d_ff {config.d_ff}, "
          f"{config.vocab_size} pieces.\n")
    if "translation" in names:
        rounds, sizes = (2, (1, 32)) if options.quick else (15, (1, 32, 64))
        print(translation.run(options.checkpoint, rounds, sizes), "\n", flush=True)
    if "marian" in names:
        rounds = 2 if options.quick else 7
        print(marian.run(options.checkpoint, rounds, (1, 32)), "\n", flush=True)
    if "training" in names:
        rounds, steps = (2, 2) if options.quick else (9, 4)
        print(training.run(config, rounds, steps), "\n", flush=True)
        print(training.run_live(rounds), "\n", flush=True)
    if "recurrent" in names:
        rounds, steps = (2, 2) if options.quick else (9, 4)
        print(recurrent.run(rounds, steps), "\n", flush=True)
    if "sentiment" in names:
        rounds, lengths = (2, sentiment.LENGTHS[:2]) if options.quick else (9, sentiment.LENGTHS)
        text = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
        review = " ".join(text.split()[:sentiment.WORDS])
        print(sentiment.run(options.sentiment, loaded.tokenizer, rounds, lengths, review), "\n", flush=True)
    if "load" in names:
        counts, seconds = (load.USERS[:2], 5.0) if options.quick else (load.USERS, 30.0)
        print(load.run(options.checkpoint, counts, seconds), "\n", flush=True)
    if "copies" in names:
        counts, seconds = (copies.COPIES[:2], 5.0) if options.quick else (copies.COPIES, 30.0)
        print(copies.run(options.checkpoint, counts, options.people, seconds), "\n", flush=True)
        print(copies.run_killed(options.checkpoint, min(options.people, copies.FEW), 2 * seconds), "\n", flush=True)
    if "soak" in names:
        requests = 2 * soak.WARM if options.quick else soak.REQUESTS
        try:
            print(soak.run(options.checkpoint, options.sentiment, requests, options.minutes,
                           min(options.people, soak.PEOPLE)), "\n", flush=True)
        except soak.Grown as error:
            print(error, file=sys.stderr)
            return 1
    if "setups" in names:
        seconds = 10.0 if options.quick else 240.0
        print(setups.run(options.checkpoint, options.sentiment, min(options.people, setups.PEOPLE), seconds), "\n",
              flush=True)
    if "page" in names:
        print(page.run(options.checkpoint, 3 if options.quick else 15), "\n", flush=True)
    if "pictures" in names:
        rounds, lengths = (2, pictures.LENGTHS[:2]) if options.quick else (9, pictures.LENGTHS)
        print(pictures.run(options.checkpoint, rounds, lengths), "\n", flush=True)
        print(pictures.run_offline(rounds), "\n", flush=True)
    if "sliders" in names:
        print(sliders.run(options.checkpoint, 3 if options.quick else 15), "\n", flush=True)
    if "layout" in names:
        print(layout.run(options.checkpoint, 2 if options.quick else 5, options.checkout), "\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
