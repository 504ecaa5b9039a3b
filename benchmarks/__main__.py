"""`python -m benchmarks [--checkpoint DIR] [--sentiment DIR] [--quick]` prints tables
of docs/SPEED.md.

The benchmarks compare in one run and in turns; on a machine that does other things too,
trust the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import finger, load, opening, pictures, soak, translation
from benchmarks.harness import machine
from xformer.hub import checkpoint
from xformer.results import UserError

RIVALS = {
    "translation": ("transformers", "ctranslate2"),
    "load": (),
    "opening": (),
    "finger": (),
    "shifts": (),
    "pictures": ("bertviz",),
    "soak": (),
}


def chosen(only: str | None) -> list[str]:
    """The benchmarks to run: the one asked for, or all but the soak, which is the
    night's; what is shown in a browser is left out where there is none."""
    names = [only] if only else [name for name in RIVALS if name != "soak"]
    lacking = {
        "pictures": "" if pictures.CHROMIUM and shutil.which("npm") else "chromium npm",
        "opening": "" if pictures.CHROMIUM else "chromium",
        "finger": "" if pictures.CHROMIUM else "chromium",
        "shifts": "" if pictures.CHROMIUM else "chromium",
    }
    for name, packages in lacking.items():
        if name in names and packages:
            print(
                f"The {name} are left out: run “apt-get install {packages}” to have them.",
                file=sys.stderr,
            )
            names.remove(name)
    return names


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--checkpoint",
        type=Path,
        default=Path("checkpoints/en-es"),
        metavar="DIR",
        help="a translation model (default: %(default)s)",
    )
    parser.add_argument(
        "--sentiment",
        type=Path,
        default=Path("checkpoints/sentiment"),
        metavar="DIR",
        help="a classifier of reviews, for the soak (default: %(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rounds, to see that everything runs"
    )
    parser.add_argument("--only", choices=tuple(RIVALS), help="one of the benchmarks")
    parser.add_argument(
        "--address",
        metavar="URL",
        help="only ask a page that runs already, for sentences",
    )
    parser.add_argument(
        "--people",
        type=int,
        default=100,
        metavar="N",
        help="users at once of --address (default: %(default)s)",
    )
    parser.add_argument(
        "--minutes",
        type=int,
        default=0,
        metavar="N",
        help="“soak” by people at their own pace for so long (default: 10,000 requests, at once)",
    )
    options = parser.parse_args()
    if options.address:
        print(
            load.run_against(
                options.address, options.people, 5.0 if options.quick else 30.0
            )
        )
        return 0
    names = chosen(options.only)
    if not names:
        return 1
    rivals = list(dict.fromkeys(rival for name in names for rival in RIVALS[name]))
    missing = [name for name in rivals if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"{' and '.join(missing)} must be there to compare with; run “pip install -r requirements-bench.txt”.",
            file=sys.stderr,
        )
        return 1
    try:
        loaded = checkpoint.load(options.checkpoint)
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    model = loaded.model
    config = model.config
    print(
        f"{', '.join([machine(), *(f'{name} {version(name)}' for name in rivals)])}.\n"
    )
    print(
        f"The model: {model.parameter_count() / 1e6:.1f} million parameters, d_model {config.d_model}, "
        f"{config.n_layers} + {config.decoder_layers} layers, {config.n_heads} heads, d_ff {config.d_ff}, "
        f"{config.vocab_size} pieces.\n"
    )
    if "translation" in names:
        rounds, sizes = (2, (1, 32)) if options.quick else (15, (1, 32, 64))
        print(translation.run(options.checkpoint, rounds, sizes), "\n", flush=True)
    if "load" in names:
        counts, seconds = (load.USERS[:2], 5.0) if options.quick else (load.USERS, 30.0)
        print(load.run(options.checkpoint, counts, seconds), "\n", flush=True)
    if "soak" in names:
        requests = 2 * soak.WARM if options.quick else soak.REQUESTS
        try:
            print(
                soak.run(
                    options.checkpoint,
                    options.sentiment,
                    requests,
                    options.minutes,
                    min(options.people, soak.PEOPLE),
                ),
                "\n",
                flush=True,
            )
        except soak.Grown as error:
            print(error, file=sys.stderr)
            return 1
    if "opening" in names:
        rounds, people = (2, 3) if options.quick else (5, opening.PEOPLE)
        print(opening.run(options.checkpoint, rounds, people), "\n", flush=True)
    if "finger" in names:
        rounds = 3 if options.quick else 10
        print(finger.run(options.checkpoint, rounds), "\n", flush=True)
    if "shifts" in names:
        widths = finger.WIDTHS[:1] if options.quick else finger.WIDTHS
        print(finger.run_shifts(options.checkpoint, widths), "\n", flush=True)
    if "pictures" in names:
        rounds, lengths = (
            (2, pictures.LENGTHS[:2]) if options.quick else (9, pictures.LENGTHS)
        )
        print(pictures.run(options.checkpoint, rounds, lengths), "\n", flush=True)
        print(pictures.run_offline(rounds), "\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
