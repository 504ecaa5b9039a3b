"""Arrays as scripts of the page are given them."""

import base64

import numpy as np


def packed(numbers: np.ndarray) -> str:
    """The bytes of an array, row by row, in base64."""
    return base64.b64encode(numbers.tobytes()).decode("ascii")
