"""Properties of the sinusoidal positions of Vaswani et al. (2017), section 3.5. Numpy
in, numpy out.

Tables are (length, d_model), equal to those of the model itself (`model.sinusoids`).
Pair i is the dimensions 2i and 2i + 1, a sine and a cosine that turn together.
"""

import random
import re

import numpy as np

from xformer.results import Message, UserError


def table(length: int, d_model: int, base: float, first: int = 0) -> np.ndarray:
    """Compute the sinusoidal positions (length, d_model) from position `first` on,
    float32; d_model is even."""
    places = np.arange(first, first + length, dtype=np.float64)[:, None]
    # (length, d_model / 2)
    angle = places * base ** (-np.arange(0, d_model, 2, dtype=np.float64) / d_model)
    return (
        np.stack((np.sin(angle), np.cos(angle)), axis=-1)
        .reshape(length, d_model)
        .astype(np.float32)
    )


def wavelengths(d_model: int, base: float) -> np.ndarray:
    """Wavelengths (d_model / 2,) of the pairs of dimensions, in positions: 2 pi
    base^(2i / d_model)."""
    return 2 * np.pi * base ** (np.arange(0, d_model, 2) / d_model)


def dot_products(rows: np.ndarray) -> np.ndarray:
    """Dot products (length,) of the first row with every row; entry n is that of any
    two positions n apart.

    They depend on the distance alone, since sin a sin b + cos a cos b = cos(a - b), and
    are d_model / 2 at distance 0.
    """
    return rows @ rows[0]


def rotation(steps: float, pair: int, d_model: int, base: float) -> np.ndarray:
    """The rotation matrix (2, 2) that takes a pair of dimensions (sine, cosine) from
    any position p to p + steps.

    It depends on the steps and not on p, so a layer can learn to look a fixed number of
    positions ahead or back.
    """
    angle = 2 * np.pi * steps / wavelengths(d_model, base)[pair]
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def rotation_error(rows: np.ndarray, steps: int, pair: int, base: float) -> float:
    """The largest error over all positions p of a table when row p + steps is computed
    by rotating row p.

    Raises ValueError if the table is not longer than `steps`.
    """
    if not 0 <= steps < len(rows):
        raise ValueError(
            f"{steps} steps do not fit in {len(rows)} positions; take fewer"
        )
    points = rows[:, 2 * pair : 2 * pair + 2].astype(np.float64)
    turned = points[: len(rows) - steps] @ rotation(steps, pair, rows.shape[1], base).T
    return float(np.abs(turned - points[steps:]).max())


def confusion(
    rows: np.ndarray, noise: np.ndarray, draws: int = 4, seed: int = 0
) -> np.ndarray:
    """Measure the share (0 to 1) of positions that are mistaken for others under
    Gaussian noise, for each of `noise`.

    A position is mistaken if its row, with noise added, is nearest to another row.
    noise: standard deviations in each dimension. All of them scale the same draws, so
    the curve is smooth.
    """
    # All rows are equally long, so the nearest is the one with the largest dot product.
    drawn = np.random.default_rng(seed).standard_normal(
        (draws, *rows.shape), dtype=np.float32
    )
    # (length, length), (draws, length, length)
    own = rows @ rows.T
    # in one product, which takes 8 ms of a busy machine where four take 65
    added = (drawn.reshape(-1, rows.shape[1]) @ rows.T).reshape(draws, *own.shape)
    places = np.arange(len(rows))
    return np.array(
        [
            ((own + deviation * added).argmax(axis=-1) != places).mean()
            for deviation in noise
        ]
    )


def second_peak(rows: np.ndarray) -> tuple[int, float] | None:
    """Find the distance, beyond the first minimum of similarity, at which two positions
    are most alike again.

    -> that distance and the cosine similarity there; None if similarity only falls with
    distance.
    """
    alike = dot_products(rows) / (rows.shape[1] / 2)
    rises = np.flatnonzero(np.diff(alike) > 0)
    if not len(rises):
        return None
    best = int(rises[0]) + int(alike[rises[0] :].argmax())
    return best, float(alike[best])


KEPT = 0.95  # of the variation of positions


def apart(words: np.ndarray, places: np.ndarray) -> tuple[int, float]:
    """How well a sum words + places, each (S, D), could be taken apart again.

    -> the fewest directions that hold KEPT of the variation of the places, and the
    share of the words' variation that lies in the same; by chance it would be these
    directions over D. A constant vector tells nothing, so both are less their means.
    """
    _, sizes, directions = np.linalg.svd(places - places.mean(0), full_matrices=False)
    held = np.cumsum(sizes**2) / max(1e-12, float((sizes**2).sum()))
    count = int(np.searchsorted(held, KEPT)) + 1
    varied = words - words.mean(0)
    inside = ((varied @ directions[:count].T) ** 2).sum()
    return count, float(inside / max(1e-12, float((varied**2).sum())))


def shuffle(text: str, seed: int) -> str:
    """Shuffle the words of a text; its final punctuation stays at the end.

    Raises UserError if there are no two different words.
    """
    body, end = re.fullmatch(r"(.*?)([.!?…]*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    words = body.split()
    if len(set(words)) < 2:
        raise UserError(Message.of("pos_error_words", text=text))
    drawn = random.Random(seed)
    shuffled = words
    while shuffled == words:
        shuffled = drawn.sample(words, len(words))
    return " ".join(shuffled) + end
