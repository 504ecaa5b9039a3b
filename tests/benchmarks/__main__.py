"""`python -m tests.benchmarks [--checkpoint DIR] [--quick]` prints the speed tables of the README.

The benchmarks compare in one run and in turns; on a machine that does other things too, trust the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import pictures, training, translation
from tests.benchmarks.harness import machine
from xformer import checkpoint
from xformer.results import UserError

RIVALS = {"translation": ("transformers", "ctranslate2"), "training": ("transformers",), "pictures": ("bertviz",)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-es"), metavar="DIR",
                        help="a translation model (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that everything runs")
    parser.add_argument("--only", choices=tuple(RIVALS), help="one of the benchmarks")
    options = parser.parse_args()
    chosen = [name for name in RIVALS if options.only in (None, name)]
    rivals = list(dict.fromkeys(rival for name in chosen for rival in RIVALS[name]))
    missing = [name for name in rivals if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)} must be there to compare with; run “pip install -r requirements-bench.txt”.",
              file=sys.stderr)
        return 1
    if "pictures" in chosen and not (pictures.CHROMIUM and shutil.which("npm")):
        print("The pictures are compared in Chromium, with packages from npm; run “apt-get install chromium npm”, or "
              "leave them out with --only.", file=sys.stderr)
        return 1
    try:
        model = checkpoint.load(options.checkpoint).model
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    config = model.config
    print(f"{machine()}, {', '.join(f'{name} {version(name)}' for name in rivals)}.\n")
    print(f"The model: {model.parameter_count() / 1e6:.1f} million parameters, d_model {config.d_model}, "
          f"{config.n_layers} + {config.decoder_layers} layers, {config.n_heads} heads, d_ff {config.d_ff}, "
          f"{config.vocab_size} pieces.\n")
    if "translation" in chosen:
        rounds, sizes = (2, (1, 32)) if options.quick else (15, (1, 32, 64))
        print(translation.run(options.checkpoint, rounds, sizes), "\n", flush=True)
    if "training" in chosen:
        rounds, steps = (2, 2) if options.quick else (9, 4)
        print(training.run(config, rounds, steps), "\n", flush=True)
    if "pictures" in chosen:
        rounds, lengths = (2, pictures.LENGTHS[:2]) if options.quick else (9, pictures.LENGTHS)
        print(pictures.run(options.checkpoint, rounds, lengths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
