"""Middleware before Gradio: security headers, limits of requests, and an end to those that the page never makes."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xformer.ui.gradio_private import CALL, CLOSED, forget

# Gradio's page runs scripts that stand in it and makes functions of text; everything comes from the page's own server.
POLICY = "; ".join((
    "default-src 'self'", "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:", "font-src 'self' data:", "connect-src 'self' data: blob:",
    "media-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'", "base-uri 'self'",
    "form-action 'self'", "frame-ancestors 'self' https://huggingface.co https://*.hf.space"))
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
MOST_BYTES = 32_000_000  # of a request, whatever it holds; all other limits are lower, and say more


class SecurityHeaders:
    """ASGI middleware that adds HEADERS to every answer; streams pass through it untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, answer)


class Gate:
    """ASGI middleware that refuses what is CLOSED or too large, and forgets a call of the API when it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, taken = scope["path"], 0
        if CLOSED.match(path):
            await PlainTextResponse("There is nothing here.", 404)(scope, receive, send)
            return

        async def take() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MOST_BYTES:
                raise HTTPException(413, f"A request may have {MOST_BYTES:,} bytes at most; send it in parts.")
            return message

        try:
            await self.app(scope, take, send)
        finally:
            if call := CALL.fullmatch(path):
                forget(scope["app"], call[1])
