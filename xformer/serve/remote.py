"""Services whose models are in an engine elsewhere (`serve.engine`), with the methods
of local services."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from xformer.results import Message, UserError
from xformer.serve import wire
from xformer.serve.limits import TURNS, Guard
from xformer.serve.protocol import ReviewService, TranslationService, public

PATIENCE = 120.0  # seconds for an answer
# a call changes nothing in an engine, so it can be repeated if a replica died with it
TRIES = 2


class Engine:
    """A connection to an engine. token: what the engine asks of its clients; "" for
    none."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address = address.rstrip("/")
        self._client = httpx.Client(
            base_url=self.address,
            timeout=httpx.Timeout(PATIENCE, connect=5.0),
            headers={
                "X-Xformer-Version": wire.VERSION,
                **({"Authorization": f"Bearer {token}"} if token else {}),
            },
            limits=httpx.Limits(max_connections=256),
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def services(self) -> list[str]:
        """Return the names of its services. Raises UserError if it does not answer or
        is of another version."""
        found = self._post("GET", "/services", "").json()
        if found["version"] != wire.VERSION:
            raise UserError(
                Message.of(
                    "engine_version",
                    address=self.address,
                    theirs=found["version"],
                    mine=wire.VERSION,
                )
            )
        return found["services"]

    def call(self, service: str, name: str, arguments: dict[str, Any]) -> Any:
        """Call a method or read a property. Raises the UserError that was raised in the
        engine."""
        answer = wire.loads(
            self._post("POST", f"/call/{service}/{name}", wire.dumps(arguments)).content
        )
        if "error" in answer:
            raise UserError(answer["error"])
        return answer["answer"]

    def _post(self, method: str, path: str, body: str) -> httpx.Response:
        for _ in range(TRIES):
            try:
                with TURNS.given_up():
                    answer = self._client.request(method, path, content=body)
            except httpx.HTTPError:
                continue
            if answer.status_code in (200, 422):  # 422: with a sentence
                return answer
            if answer.status_code in (401, 403, 413):
                raise UserError(answer.text[:1_000])
        raise UserError(Message.of("engine_away", address=self.address))


class _Remote:
    """A service in an engine. It reads each property once and keeps the value."""

    service: str

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.guard = Guard()

    def close(self) -> None:
        """Close the connections to the engine."""
        self.engine.close()


def _method(service: str, name: str, wanted: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(wanted)

    @functools.wraps(wanted)
    def method(self: _Remote, *args: Any, **more: Any) -> Any:
        given = dict(list(signature.bind(self, *args, **more).arguments.items())[1:])
        given.pop("progress", None)  # a function cannot be sent
        given = {
            key: list(value) if not isinstance(value, _KNOWN) else value
            for key, value in given.items()
        }
        with self.guard.enter(given.get("timeout")):
            return self.engine.call(service, name, given)

    return method


_KNOWN: tuple[type, ...] = (
    str,
    int,
    float,
    type(None),
    tuple,
    list,
    set,
    frozenset,
    dict,
    *wire.RECORDS.values(),
)


def _make(title: str, service: str, wanted: type) -> type[_Remote]:
    """Make the class of a service in an engine, with all methods and properties of a
    protocol."""

    def read(name: str) -> functools.cached_property[Any]:
        return functools.cached_property(
            lambda self: self.engine.call(service, name, {})
        )

    members = {
        name: _method(service, name, one) if inspect.isfunction(one) else read(name)
        for name, one in public(wanted).items()
    }
    return type(
        title,
        (_Remote,),
        {
            **members,
            "service": service,
            "__doc__": f"A `{wanted.__name__}` in an engine.",
        },
    )


RemoteTranslation = _make("RemoteTranslation", "translation", TranslationService)
RemoteReviews = _make("RemoteReviews", "reviews", ReviewService)
