"""What a page that opens offline holds: its data, and the maps that stand in them."""

import base64
import json
import re

import numpy as np


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def maps_of(page, stack):
    """The maps (layers, heads, queries, keys) of a stack, float32, as the page's script
    decodes them."""
    packed = data_of(page)[stack]
    return np.frombuffer(base64.b64decode(packed["data"]), "<f4").reshape(
        packed["shape"]
    )


def asks_for_nothing(page):
    """Whether nothing in a page is fetched: the one address that it holds is the name
    of SVG's elements."""
    return not re.findall(
        r"""(?:src|href)\s*=|https?:|@import|url\(""",
        page.replace("http://www.w3.org/2000/svg", ""),
    )
