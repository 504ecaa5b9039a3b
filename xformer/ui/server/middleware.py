"""Middleware before Gradio: security headers, limits of requests, and an end to those
that the page never makes."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xformer.serve.connections import patient
from xformer.ui.server import gradio_private
from xformer.ui.server.sessions import count_end, listening, make_room
from xformer.ui.server.sharing import FRAMES

# Gradio's page runs scripts that stand in it and makes functions of text; everything
# comes from the page's own server.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "media-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        " ".join(("frame-ancestors 'self'", *FRAMES)),
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# of a request, whatever it holds; all other limits are lower, and say more
MOST_BYTES = 32_000_000
MOST_JOINED = 12_000_000  # of what is to be computed
WRONG = 1.0  # seconds after which a wrong password is answered
MOST_TRIES = 10  # passwords that wait to be tried for one address
SMALL = 64_000  # bytes of a request that is taken in however many wait
# bytes of all larger requests that are received, wait or are computed
MOST_WAITING = 100_000_000
MOST_OF_ONE = 30_000_000  # of those of one address: two of the largest


class SecurityHeaders:
    """ASGI middleware that adds HEADERS to every answer; streams pass through it
    untouched."""

    def __init__(self, app: ASGIApp, frames: Sequence[str] = ()) -> None:
        """frames: sites that may frame the page, besides FRAMES."""
        self.app = app
        self.headers = {
            **HEADERS,
            "Content-Security-Policy": " ".join((POLICY, *frames)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, answer)


class Doorkeeper:
    """ASGI middleware that lets an address try one password at a time, and answers a
    wrong one after a while."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # of an address, and who is in it
        self._lines: dict[str, tuple[asyncio.Lock, list[object]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["path"].rstrip("/") != "/login"
            or scope["method"] != "POST"
        ):
            await self.app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                await asyncio.sleep(WRONG)
            await send(message)

        address = (scope["client"] or ("",))[0]
        mine = object()
        turn, line = self._lines.setdefault(address, (asyncio.Lock(), []))
        if len(line) >= MOST_TRIES:
            await PlainTextResponse(
                "Too many passwords are tried; wait a minute.", 429
            )(scope, receive, send)
            return
        line.append(mine)
        try:
            async with turn:
                await self.app(scope, receive, answer)
        finally:
            line.remove(mine)
            if not line:
                del self._lines[address]


class Gate:
    """ASGI middleware that refuses what is CLOSED or too large, and forgets a call of
    the API when it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # the address of each, and how much came so far
        self._receiving: dict[int, tuple[str, list[int]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        app = scope["app"]
        if gradio_private.CLOSED.match(path):
            await PlainTextResponse("There is nothing here.", 404)(scope, receive, send)
            return
        requested = HTTPConnection(scope)
        call = gradio_private.CALL.fullmatch(path) if scope["method"] == "GET" else None
        page = gradio_private.SESSION.fullmatch(path)
        names = [
            *([page[1]] if page else []),
            *requested.query_params.getlist("session_hash"),
        ]
        if len(names) > 1 or any(
            len(name) > gradio_private.LONGEST_NAME for name in names
        ):
            refusal = f"A request names one session at most, by {gradio_private.LONGEST_NAME} characters at most."
            await PlainTextResponse(refusal, 400)(scope, receive, send)
            return
        logged_in = gradio_private.logged_in(app, requested.cookies)
        if gradio_private.ENDING.fullmatch(path) and not logged_in:
            await PlainTextResponse("Log in first.", 401)(scope, receive, send)
            return
        if call and logged_in and not gradio_private.is_call(app, call[1]):
            await PlainTextResponse(
                "There is no such call, or its answer was fetched.", 404
            )(scope, receive, send)
            return
        if not logged_in:
            call = None  # Gradio refuses it
        listens = path.rstrip("/") == gradio_private.LISTEN
        if (
            listens
            and names
            and logged_in
            and (said := gradio_private.lost(app, names[0]))
        ):
            await PlainTextResponse(said, media_type="text/event-stream")(
                scope, receive, send
            )
            return
        joins = bool(gradio_private.JOIN.fullmatch(path)) and scope["method"] == "POST"
        most = MOST_JOINED if joins else MOST_BYTES
        received: list[int] = []
        scope[gradio_private.RECEIVED] = received
        address = (scope["client"] or ("",))[0]
        bring = patient(receive)

        async def take() -> Message:
            message = await bring()
            if size := len(message.get("body", b"")):
                received.append(size)
            if sum(received) > most:
                raise HTTPException(
                    413, f"A request may have {most:,} bytes at most; send it in parts."
                )
            if size and joins and sum(received) > SMALL:
                held = self._held(app)
                if held[address] > MOST_OF_ONE:
                    raise HTTPException(
                        503,
                        f"More than {MOST_OF_ONE:,} bytes of your address wait to be computed "
                        f"already; try again in a minute.",
                    )
                if held.total() > MOST_WAITING:
                    raise HTTPException(
                        503,
                        "Too much waits to be computed already; try again in a minute.",
                    )
            return message

        # which assets/gradio_stream.js reads
        async def answer(message: Message) -> None:
            if listens and message.get("body", b"").startswith(gradio_private.END):
                count_end(app, names[0])
            if (
                scope.get(gradio_private.REFUSED)
                and message["type"] == "http.response.start"
            ):
                message["status"] = 422  # Gradio says 500 of whatever it cannot answer
            if joins and message["type"] == "http.response.start":
                ended = app.state.ended[scope.get(gradio_private.JOINED)]
                MutableHeaders(scope=message)["X-Streams-Ended"] = (
                    f"{ended} {os.getpid()}"
                )
            await send(message)

        with ExitStack() as stack:
            if call:
                stack.callback(gradio_private.forget, app, call[1])
                stack.enter_context(listening(app, call[1]))
            if listens or page:  # which may be too busy to listen
                for session in names:
                    stack.enter_context(listening(app, session))
            if joins:
                self._receiving[id(received)] = address, received
                stack.callback(self._receiving.pop, id(received))
            await self.app(scope, take, answer)
        if scope["method"] == "POST":
            make_room(app)

    def _held(self, app: Any) -> Counter[str]:
        """Count, by address, the bytes of the requests that are received now, that
        wait, and that are computed."""
        held = Counter[str]()
        for address, received in self._receiving.values():
            held[address] += sum(received)
        for job in gradio_private.jobs(app):
            held[job.address] += job.size
        return held
