"""`python -m tests.benchmarks [--checkpoint DIR] [--quick]` prints the speed tables of the README.

Both benchmarks compare in one run and in turns; on a machine that does other things too, trust the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import training, translation
from tests.benchmarks.harness import machine
from xformer import checkpoint
from xformer.results import UserError

RIVALS = ("transformers", "ctranslate2")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-es"), metavar="DIR",
                        help="a translation model (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that everything runs")
    parser.add_argument("--only", choices=("translation", "training"), help="one of the two benchmarks")
    options = parser.parse_args()
    missing = [name for name in RIVALS if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)} must be there to compare with; run “pip install -r requirements-bench.txt”.",
              file=sys.stderr)
        return 1
    try:
        model = checkpoint.load(options.checkpoint).model
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    config = model.config
    print(f"{machine()}, {', '.join(f'{name} {version(name)}' for name in RIVALS)}.\n")
    print(f"The model: {model.parameter_count() / 1e6:.1f} million parameters, d_model {config.d_model}, "
          f"{config.n_layers} + {config.decoder_layers} layers, {config.n_heads} heads, d_ff {config.d_ff}, "
          f"{config.vocab_size} pieces.\n")
    if options.only != "training":
        rounds, sizes = (2, (1, 32)) if options.quick else (15, (1, 32, 64))
        print(translation.run(options.checkpoint, rounds, sizes), flush=True)
    if options.only != "translation":
        rounds, steps = (2, 2) if options.quick else (9, 4)
        print(f"\n{training.run(config, rounds, steps)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
