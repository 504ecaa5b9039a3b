"""The table of the key–value store."""

import numpy as np

from xformer.explain.principles import HARD, softmax
from xformer.figures.labels import beta_label
from xformer.figures.templates import fill
from xformer.parts.store.records import Records
from xformer.strings import ENGLISH, Language


def store(
    records: Records, cosines: np.ndarray, beta: float, language: Language = ENGLISH
) -> str:
    """Tabulate the records of the key–value store with their weights as bars, the
    largest first: soft retrieval. HTML.

    Above it stands hard retrieval, the one record that the argmax takes.

    cosines: (K,) of the query with each record's key.
    """
    weights = softmax(cosines[None], beta)[0]
    # also the order of the weights, even if these are all equal
    order = np.argsort(-cosines, kind="stable")
    return fill(
        "store.store",
        language,
        beta=beta_label(beta),
        said="store_hard"
        if beta == HARD
        else "store_even"
        if beta == 0
        else "store_soft",
        rows=[(*records[i], float(cosines[i]), float(weights[i])) for i in order],
    )
