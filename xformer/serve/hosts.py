"""Which host names a page or an engine answers to, and which sites may use it.

The owner of a domain name can make it lead to any address, so a page of another site
could talk to a server of this machine or network as if it were that site's own (DNS
rebinding). Numeric addresses cannot be abused so. The browser names the site of the
asking page in the Origin header.
"""

import os
import re
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from xformer.results import UserError

NAME = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*")
USUAL = {"http": 80, "https": 443}  # ports that an address need not name
# headers from which Gradio derives its own address
REACHED = ("host", "x-forwarded-host", "x-gradio-server")


def allowed_name(text: str) -> str:
    """Return a host name as browsers send it; *.example.org stands for all names below
    example.org. Raises UserError for a text that is no host name."""
    try:
        name = (
            text.lower().encode("idna").decode() if not text.isascii() else text.lower()
        )
    except UnicodeError:
        name = ""
    if not NAME.fullmatch(name):
        raise UserError(
            f"--allow-host is {text!r}, which is no host name; write one like page.example.org or "
            "*.example.org, without https:// and port."
        )
    return name


class Hosts:
    """ASGI middleware that refuses requests to names that are not allowed, and requests
    from pages of other sites.

    Allowed are numeric addresses, localhost, the machine's own name, the names under
    which the page is served, and the names in `allowed`. Programs, which send no Origin
    header, are served.
    """

    def __init__(
        self,
        app: ASGIApp,
        allowed: Iterable[str] = (),
        served: Callable[[Any], list[str]] = lambda app: [],
        what: str = "page",
    ) -> None:
        """served: returns the addresses at which an application is served. what: its
        name in error messages."""
        self.app = app
        self.served = served
        self.what = what
        # a Hugging Face Space: Hugging Face decides which names lead here
        self.public = "SPACE_ID" in os.environ
        own = socket.gethostname().lower()
        root = host_of(os.environ.get("GRADIO_ROOT_PATH", ""))
        self.allowed = {
            *allowed,
            *filter(None, [root, *os.environ.get("SPACE_HOST", "").lower().split(",")]),
        }
        self.own = {own, f"{own}.local"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        values = [value for name in REACHED for value in headers.getlist(name)]
        addresses = [one for value in values for one in value.split(",")]
        strange = [
            name
            for name in map(host_of, addresses)
            if not (self.public or self._known(name, scope))
        ]
        origin = headers.get("origin")
        asking = (
            None
            if origin is None or headers.get("sec-fetch-site") == "same-origin"
            else host_of(origin)
        )
        ports = {port_of(one) for one in addresses if host_of(one) == asking}
        if strange:
            said = (
                f"This {self.what} is not served under the name {strange[0][:100]!r}; its operator can allow "
                f"that with --allow-host {strange[0][:100]}."
            )
        elif asking is not None and not self._may_ask(
            asking, port_of(origin or ""), ports
        ):
            allowing = (
                f", or its operator can allow that with --allow-host {asking[:100]}"
                if ports <= {None}
                else ""
            )
            said = (
                f"Pages of {(origin or '')[:100]!r} may not use this {self.what}; open it in a tab of its "
                f"own{allowing}."
            )
        else:
            await self.app(scope, receive, send)
            return
        await PlainTextResponse(said, 403)(scope, receive, send)

    def _known(self, name: str, scope: Scope) -> bool:
        return (
            _in_digits(name)
            or name == "localhost"
            or name.endswith(".localhost")
            or name in self.own
            or self._allows(name)
            or name in map(host_of, self.served(scope["app"]))
        )

    def _may_ask(self, name: str, port: int | None, ports: set[int | None]) -> bool:
        """Whether a page of a host and port may ask; ports: those at which this host
        was reached, None where the request names none, as at the usual ports, and where
        a proxy leaves out another one."""
        return (
            port in ports
            or (None in ports and port in USUAL.values())
            or (ports <= {None} and self._allows(name))
        )

    def _allows(self, name: str) -> bool:
        _, _, parent = name.partition(".")
        return not {name, f"*.{parent}"}.isdisjoint(self.allowed)


def host_of(address: str) -> str:
    """Return the host of an address or of a Host header, without the port; "" if it has
    none."""
    address = address.strip()
    with suppress(ValueError):
        return (
            urlsplit(address if "://" in address else f"//{address}").hostname or ""
        ).rstrip(".")
    return ""


def port_of(address: str) -> int | None:
    """Return the port of an address or of a Host header, or the usual one of its
    scheme; None if it says neither."""
    address = address.strip()
    with suppress(ValueError):
        parts = urlsplit(address if "://" in address else f"//{address}")
        return parts.port or USUAL.get(parts.scheme)
    return None


def _in_digits(name: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(name))
    return False
