"""The named endpoints asked over plain HTTP, as anybody may."""

import json
import urllib.request

# Plain HTTP wants every value.
DEFAULTS = {
    "translate": ("", 5, 1),
    "explain": ("", "", "cross", 0, 0),
    "classify": ("",),
}


def ask(address, endpoint, *values, opener=None):
    """-> the answer; raises ValueError with what the server says. opener: of urllib,
    with the cookies of a login."""
    urlopen = opener.open if opener else urllib.request.urlopen
    data = {"data": [*values, *DEFAULTS[endpoint][len(values) :]]}
    post = urllib.request.Request(
        f"{address}/gradio_api/call/{endpoint}",
        json.dumps(data).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(post) as answer:
        event = json.load(answer)["event_id"]
    with urlopen(f"{address}/gradio_api/call/{endpoint}/{event}") as stream:
        said = dict(
            line.decode().rstrip("\n").split(": ", 1)
            for line in stream
            if b": " in line
        )
    if said["event"] == "error":
        raise ValueError(json.loads(said["data"])["error"])
    return json.loads(said["data"])[0]
