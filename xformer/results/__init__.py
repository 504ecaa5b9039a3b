"""Records that the parts of the program hand each other; str, numbers and numpy only.

Axes, here and in the comments of the fields: B batch, S source pieces, T target pieces, Q queries, K keys, H heads,
D d_model, d = D / H, V vocabulary, W words, L pieces of whatever text it is. Each record is of one text, so that B and
V stand in no shape; `layers` and `moments` are numbers of those.

The shape and the unit of each array stand in shapes.md beside this file, and below.

Of what is no array: `log_prob` and `log_probs` are natural logarithms, and `effect`, `entropies` and losses are nats;
`probability`, `accuracy` and `share` go from 0 to 1, and BLEU and chrF from 0 to 100; `seconds` are seconds; layers and
heads are counted from 1, positions and steps of a search from 0.
"""

from pathlib import Path as _Path

# ruff: noqa: F403 - each module says in its __all__ which names are the package's
from xformer.results.attention import *
from xformer.results.changes import *
from xformer.results.inside import *
from xformer.results.messages import *
from xformer.results.models import *
from xformer.results.options import *
from xformer.results.questions import *
from xformer.results.reviews import *
from xformer.results.training import *
from xformer.results.translation import *
from xformer.results.writing import *

__doc__ = f"{__doc__}\n{_Path(__file__).with_name('shapes.md').read_text(encoding='utf-8')}"
__all__ = [name for name in dir() if not name.startswith("_")]
