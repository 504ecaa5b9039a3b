"""What a connection may take before its request is there, a time for the head and a
least speed for the body; and how a server ends."""

import asyncio
import signal
import time
from typing import Any

import anyio
import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.auto import AutoHTTPProtocol

# seconds for the lines before a body, of the first request of a connection and of each
# that follows
HEAD = 15.0
# seconds, and the bytes that a body must bring in them unless it ends: 3 kB a second
WINDOW = 20.0
PIECE = 64_000
GRACE = 10  # seconds in which what is under way is answered when a server is to end
SIGNALS = signal.SIGINT, signal.SIGTERM


def handle_exit(server: uvicorn.Server, number: int, frame: Any) -> None:
    """Have a signal end a server when what is under way is answered, and another signal
    the process at once."""
    uvicorn.Server.handle_exit(server, number, frame)
    for one in SIGNALS:
        signal.signal(one, signal.SIG_DFL)


class Server(uvicorn.Server):
    """uvicorn's server, which ends as `handle_exit` says."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        handle_exit(self, sig, frame)


class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol, which closes a connection that has brought no whole head in
    `HEAD` seconds."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _busy(self) -> bool:
        """Whether a request is here that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        """Begin to wait for a head, unless it was begun before, or a request is
        here."""
        if self._busy():
            self._stop_waiting()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD, self._close)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        # else it is a WebSocket by now
        if not self._busy() and self.transport.get_protocol() is self:
            self.transport.close()


def patient(receive: Receive) -> Receive:
    """Receive the body of a request as long as it brings `PIECE` bytes in each `WINDOW`
    seconds; then raise HTTPException. What is received after a body, that its client
    has gone, may take any time."""
    until = 0.0
    since = 0
    whole = False

    async def take() -> Message:
        nonlocal until, since, whole
        if whole:
            return await receive()
        now = time.monotonic()
        until = until or now + WINDOW
        with anyio.move_on_after(until - now) as waited:
            message = await receive()
        if waited.cancelled_caught:
            raise HTTPException(
                408,
                f"A request must bring {PIECE:,} bytes in {WINDOW:g} seconds, or its end; send it "
                f"again.",
            )
        whole = not message.get("more_body", False)
        since += len(message.get("body", b""))
        if since >= PIECE:
            until = time.monotonic() + WINDOW
            since = 0
        return message

    return take
