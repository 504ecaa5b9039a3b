"""Records that the parts of the program hand each other; str, numbers and numpy only.

Axes, here and in the comments of the fields: B batch, S source pieces, T target pieces,
Q queries, K keys, H heads, D d_model, d = D / H, V vocabulary, W words, L pieces of
whatever text it is. Each record is of one text, so that B and V stand in no shape;
`layers` and `moments` are numbers of those.

| array | shape | unit |
| --- | --- | --- |
| Maps.probabilities | (layers, H, Q, K) | probability, rows sum to 1 |
| Maps.norms | (layers, H, K) | length of a vector of D numbers |
| Trace.encoder_self | (layers, H, S, S) | probability, rows sum to 1 |
| Trace.decoder_self | (layers, H, T, T) | probability, rows sum to 1 |
| Trace.cross | (layers, H, T, S) | probability, rows sum to 1 |
| Trace.encoder_self_norms | (layers, H, S) | length of a vector of D numbers |
| Trace.decoder_self_norms | (layers, H, T) | length of a vector of D numbers |
| Trace.cross_norms | (layers, H, S) | length of a vector of D numbers |
| Occlusion.effect | (T, W) | nats |
| DecoderReadings.likeliest, probabilities | (layers + 1, T) | probability |
| DecoderReadings.ranks | (layers + 1, T) | whole number, from 1 |
| Why.adds | (layers, 2 * H + 1) | nats |
| Why.by_source | (2, S) | nats |
| Why.by_given | (2, step + 1) | nats |
| Walk.q, answers | (Q, d) | a number of the model |
| Walk.k, v | (K, d) | a number of the model |
| Walk.mask | (Q, K) | bool, True where a query may look |
| Walk.scores, scaled, masked | (Q, K) | score, before the softmax |
| Walk.probabilities | (Q, K) | probability, rows sum to 1 |
| Walk.shares, output, x, every_q | (Q, D) | a number of the model |
| Walk.y | (K, D) | a number of the model |
| Walk.w_q | (D, d) | a number of the model |
| Walk.b_q | (d,) | a number of the model |
| AdditiveWalk.q | (T, D) | a number of the model |
| AdditiveWalk.k | (S, D) | a number of the model |
| AdditiveWalk.w | (D,) | a number of the model |
| AdditiveWalk.scores | (T, S) | score, before the softmax |
| AdditiveWalk.probabilities | (T, S) | probability, rows sum to 1 |
| Sublayer.state, added, normed, after | (L, D) | a number of the model |
| Sublayer.gamma, beta | (D,) | a number of the model |
| Sublayer.hidden | (L, d_ff) | a number of the model, or None |
| Stream.output | (L, D) | a number of the model |
| Embedded.embeddings, positions | (S, D) | a number of the model |
| Reach.norms | (S, S) | length of a state's move by that of an input's |
| MeaningMap.places | (W, 2) | whole number, from 0 |
| MeaningMap.plane | (W, 2) | a number of the model |
| MeaningMap.alike | (layers + 1, own, own) | cosine |
| WholePass.reliance | (N - 1, N) | nats |
| WholePass.looks | (N - 1, N) | probability, rows sum to 1 |
| Sentiment.weights | (L,) | probability, they sum to 1 |
| Maximum.values | (W + 2, D) | a number of the model |
| Maximum.weights | (D,) | nats of a unit of the number |
| Attribution.effect | (W,) | nats |
| Attribution.pooling | (W,) | probability |
| Attribution.heads | (layers, H, W) | probability |
| Course.maps | (moments, layers, H, Q, K) | 255ths of a probability, uint8, by stack |
| Moments.errors | (moments, 2, layers, H) | alignment error rate, 0 to 1 |
| Film.maps | (moments, Q, K) | probability, rows sum to 1 |
| LiveFrame.probabilities | (Q, K) | probability, rows sum to 1 |

Of what is no array: `log_prob` and `log_probs` are natural logarithms, and `effect`,
`entropies` and losses are nats; `probability`, `accuracy` and `share` go from 0 to 1,
and BLEU and chrF from 0 to 100; `seconds` are seconds; layers and heads are counted
from 1, positions and steps of a search from 0.
"""

# ruff: noqa: F403 - each module says in its __all__ which names are the package's
from xformer.results.attention import *
from xformer.results.changes import *
from xformer.results.files import *
from xformer.results.inside import *
from xformer.results.messages import *
from xformer.results.models import *
from xformer.results.options import *
from xformer.results.questions import *
from xformer.results.reviews import *
from xformer.results.training import *
from xformer.results.translation import *
from xformer.results.writing import *

__all__ = [name for name in dir() if not name.startswith("_")]
