"""The engine: the services over HTTP, without the page. One process has one engine.

`/translate`, `/explain` and `/classify` are for programs and are described at
/openapi.json; `/call` is for pages of the same version (`serve.remote`). Calls run in
threads, so that the services can batch simultaneous ones.
"""

import asyncio
import hmac
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import NotRequired, TypedDict

from xformer.pieces import EOS
from xformer.results import GREEDY, SIDES, STACKS, ModelInfo, Options, UserError, misfit
from xformer.results.questions import Question
from xformer.serve import wire
from xformer.serve.connections import patient
from xformer.serve.hosts import Hosts
from xformer.serve.limits import MOST_SECONDS, Guard, most_people
from xformer.serve.protocol import ReviewService, TranslationService, public
from xformer.serve.reviews import SentimentService
from xformer.serve.text import in_small_letters
from xformer.serve.translation import Service

MOST_BYTES = 12_000_000  # of a request
# of a call: with MOST_CHARACTERS, what one caller has computed and kept in memory at
# once
MOST_TEXTS = 3_000
MOST_CHARACTERS = 90_000  # of all texts of a call: of reviews, three of the longest
MOST_COUNT = 100  # neighbours, or ways to split a text
# bytes of an answer's arrays and texts: the maps of two passes over 256 pieces have 75
# MB
MOST_ANSWERED = 100_000_000
# in the maps of /explain: enough for 80 pieces; each is written with 20 characters
MOST_NUMBERS = 1_000_000
# the protocols' public names may be called
OPEN = {"translation": TranslationService, "reviews": ReviewService}
# seconds for which a health check is told again, as anybody may ask for one
FRESH = 5.0
# seconds in which a health check must translate a word, unless the caller gives another
# limit
PATIENCE = 20.0


def _misunderstood(_: Request, error: RequestValidationError) -> JSONResponse:
    return JSONResponse({"error": misfit(error, inside=1)}, 422)


REFUSALS: dict[Any, Any] = {  # what is answered to each kind of error
    UserError: lambda _, error: JSONResponse({"error": error.say()}, 422),
    RequestValidationError: _misunderstood,
    HTTPException: lambda _, error: PlainTextResponse(
        str(error.detail), error.status_code
    ),
    Exception: lambda *_: JSONResponse(
        {
            "error": "Something went wrong while this was computed; the engine's log says what."
        },
        500,
    ),
}
api = FastAPI(
    title="xformer",
    description="Translate English to Spanish, explain how, and classify film reviews.",
    exception_handlers=REFUSALS,
)
_services: dict[str, Any] = {}
# the last health check, and when it began
_checks: list[tuple[float, asyncio.Task[None]]] = []
# what a client must meet: see `protect`
_asked_for: dict[str, Any] = {"token": b"", "hosts": []}


def protect(token: str = "", hosts: Iterable[str] = ()) -> None:
    """Set who may call the engine, and give its services the limits of a page: people
    at once, seconds for each.

    token: what clients must send; "" for none. hosts: names under which the engine may
    be reached as well.
    """
    _asked_for.update(token=token.encode(), hosts=[*hosts])
    guard = Guard(most_people(), MOST_SECONDS)
    for service in _services.values():
        service.guard = guard


def door(app: ASGIApp) -> ASGIApp:
    """ASGI middleware that refuses unknown host names, clients without the token, and
    calls that are too large, and tells those that the end of the engine breaks off."""

    async def entered(scope: Scope, receive: Receive, send: Send) -> None:
        inside = within if scope["type"] == "http" else app
        await Hosts(inside, _asked_for["hosts"], what="engine")(scope, receive, send)

    async def within(scope: Scope, receive: Receive, send: Send) -> None:
        token = _asked_for["token"]
        received = 0
        given = (
            Headers(scope=scope)
            .get("authorization", "")
            .removeprefix("Bearer ")
            .encode()
        )
        if (
            token
            and scope["path"] != "/health"
            and not hmac.compare_digest(given, token)
        ):
            said = (
                "This engine asks for a token, and this is not it: send “Authorization: Bearer TOKEN”, or start "
                "the page with --engine-token TOKEN."
            )
            await PlainTextResponse(said, 401, {"WWW-Authenticate": "Bearer"})(
                scope, receive, send
            )
            return
        bring = patient(receive)

        async def take() -> Message:
            nonlocal received
            message = await bring()
            received += len(message.get("body", b""))
            if received > MOST_BYTES:
                raise HTTPException(
                    413,
                    f"A call may have {MOST_BYTES:,} bytes at most; send it in parts.",
                )
            return message

        try:
            await app(scope, take, send)
        except asyncio.CancelledError:  # the time in which the engine ends is over
            await PlainTextResponse("This engine ends; ask again in a minute.", 503)(
                scope, receive, send
            )

    return entered


api.add_middleware(door)


def use(translation: TranslationService, reviews: ReviewService | None = None) -> None:
    """Answer with these services from now on."""
    _checks.clear()
    _services.clear()
    _services.update(
        translation=translation, **({} if reviews is None else {"reviews": reviews})
    )


@dataclass(frozen=True)
class Setup:
    """What an engine is started with. sentiment: the classifier; None for none. token,
    hosts: see `protect`."""

    checkpoint: str
    sentiment: str | None
    device: str | None
    precision: str
    token: str
    hosts: Sequence[str]

    def start(self) -> None:
        """Load the models, and answer with them from now on."""
        use(
            Service.open(self.checkpoint, self.device, self.precision),
            SentimentService.open(self.sentiment, self.device)
            if self.sentiment
            else None,
        )
        protect(self.token, self.hosts)


def check(seconds: float = PATIENCE) -> None:
    """Translate a word. Raises UserError if that takes longer than `seconds`: the
    engine should be replaced."""
    _services["translation"].translate("Yes.", GREEDY, max_length=4, timeout=seconds)


def _service(name: str) -> Any:
    if name not in _services:
        raise UserError(
            f"This engine has no service “{name}”; start it with a checkpoint for that."
        )
    return _services[name]


class Asked(BaseModel, extra="forbid", strict=True):
    """A request to translate a text. quality: say which share (0 to 1) of translations
    like it say what was meant, in the hardest and the easiest kind of text that was
    measured; null where that is not known."""

    text: str
    beam: int = Field(5, ge=1, le=16)
    n_best: int = Field(1, ge=1, le=16)
    quality: bool = False


class Explained(BaseModel, extra="forbid", strict=True):
    """A request to explain a text. target: a translation to explain in place of the
    model's own."""

    text: str
    target: str | None = None


class Reviews(BaseModel, extra="forbid", strict=True):
    """A request to classify texts."""

    texts: list[str]


class Piece(TypedDict):
    """A piece that might have stood at a step."""

    piece: str
    log_prob: float


class Hypothesis(TypedDict):
    """One translation: its score is the sum of log_probs / length^alpha."""

    text: str
    score: float
    pieces: list[str]
    log_probs: list[float]


class Translated(Hypothesis):
    """The best translation, and the others; by step, the likeliest pieces."""

    alternatives: list[list[Piece]]
    n_best: list[Hypothesis]
    warnings: list[str]
    quality: NotRequired[tuple[float, float] | None]


Map = list[list[list[list[float]]]]  # by layer, head, query and key


class Explanation(TypedDict):
    """The pieces of both sides, and the attention of each stack."""

    source: list[str]
    target: list[str]
    predicted: list[str]
    log_probs: list[float]
    encoder_self: Map
    decoder_self: Map
    cross: Map


class Classified(TypedDict):
    """The label of a review, the weights of its pieces, and how many were cut out."""

    label: str
    probability: float
    probabilities: dict[str, float]
    pieces: list[str]
    weights: list[float]
    cut: int
    warnings: list[str]


def _told_again(began: float, checked: asyncio.Task[None]) -> bool:
    """Whether a health check is under way here, or began so lately that it is told
    again."""
    if checked.done():
        return time.monotonic() - began < FRESH
    return checked.get_loop() is asyncio.get_running_loop()


@api.get("/health", summary="Whether the engine answers")
async def health() -> dict[str, str]:
    if not any(_told_again(*last) for last in _checks):
        _checks[:] = [(time.monotonic(), asyncio.create_task(run_in_threadpool(check)))]
    await asyncio.shield(_checks[0][1])  # others wait for it too
    return {"status": "ok", "version": wire.VERSION}


@api.post(
    "/translate",
    summary="Translate an English text to Spanish",
    response_model=Translated,
)
def translate(asked: Asked) -> dict[str, Any]:
    if asked.n_best > asked.beam:
        raise UserError(
            f"n_best is {asked.n_best}; it must be at most the beam, which is {asked.beam}."
        )
    return (
        _service("translation")
        .translate(asked.text, Options(**asked.model_dump(exclude={"text"})))
        .to_json()
    )


def _check_maps(info: ModelInfo, source: int, target: int) -> None:
    """Raise UserError where the maps of a sentence have more than MOST_NUMBERS numbers.

    source, target: the pieces of both sides, without </s>.
    """
    sides = {"source": source + 1, "target": target + 1}
    numbers = sum(
        info.layers(stack) * info.n_heads * sides[rows] * sides[columns]
        for stack, (rows, columns) in SIDES.items()
    )
    if numbers > MOST_NUMBERS:
        raise UserError(
            f"The maps of this sentence have {numbers:,} numbers or more; at most {MOST_NUMBERS:,} are "
            f"sent: send a shorter one."
        )


@api.post(
    "/explain",
    summary="The attention maps of a translation, (layers, heads, queries, keys)",
    response_model=Explanation,
)
def explain(asked: Explained) -> dict[str, Any]:
    service = _service("translation")
    source = asked.text
    text = asked.text
    forms = (text, in_small_letters(text) or text)
    typed = [] if asked.target is None else service.typed(asked.target)[0]
    _check_maps(
        service.info,
        min(len(service.split(form)[0].pieces) for form in forms),
        len(typed),
    )
    if asked.target is None:
        source = service.translate(text)
        typed = [token for token in source.best.tokens if token != EOS]
        _check_maps(service.info, len(source.source_tokens), len(typed))
    trace = service.trace(source, typed)
    maps = {stack: np.asarray(getattr(trace, stack)) for stack in STACKS}
    return {
        "source": trace.source,
        "target": trace.target,
        "predicted": trace.predicted,
        "log_probs": trace.log_probs,
        **{stack: one.tolist() for stack, one in maps.items()},
    }


@api.post(
    "/classify",
    summary="Classify English film reviews",
    response_model=list[Classified],
)
def classify(asked: Reviews) -> list[dict[str, Any]]:
    _limit("classify", {"texts": asked.texts})
    return [one.to_json() for one in _service("reviews").classify(asked.texts)]


@api.get("/services", summary="What this engine has, for pages")
def services() -> dict[str, Any]:
    return {"version": wire.VERSION, "services": list(_services)}


@api.post("/call/{service}/{name}", include_in_schema=False)
async def call(
    request: Request, service: str, name: str, x_xformer_version: str = Header("")
) -> Response:
    try:
        if x_xformer_version != wire.VERSION:
            raise UserError(
                f"The engine is of version {wire.VERSION} and the page of "
                f"{x_xformer_version[:12] or 'none'}; use the same version of xformer for both."
            )
        if service not in OPEN or name not in public(OPEN[service]):
            raise UserError(f"There is no {service[:40]} {name[:40]} to call.")
        body = await request.body()
        return Response(
            await run_in_threadpool(_answer, service, name, body),
            media_type="application/json",
        )
    except UserError as error:
        return Response(
            wire.dumps({"error": error.message}), 422, media_type="application/json"
        )


def _answer(service: str, name: str, body: bytes) -> str:
    found = getattr(_service(service), name)
    if callable(found):
        arguments = wire.loads(body)
        wire.check(vars(OPEN[service])[name], arguments)
        _limit(name, arguments)
        found = found(**arguments)
    if (size := wire.weight(found)) > MOST_ANSWERED:
        raise UserError(
            f"The answer has {size:,} bytes; at most {MOST_ANSWERED:,} are sent: ask for less."
        )
    return wire.dumps({"answer": found})


def _limit(name: str, arguments: dict[str, Any]) -> None:
    """Raise UserError for a call that asks for more than a page would in one call."""
    for key, value in arguments.items():
        if isinstance(value, Question):
            _limit(type(value).__name__, vars(value))
        most: float = len(STACKS) if key == "stacks" else MOST_TEXTS
        if isinstance(value, (list, tuple, set, frozenset)):
            characters = sum(len(one) for one in value if isinstance(one, str))
            for count, bound, what in (
                (len(value), most, "entries"),
                (characters, MOST_CHARACTERS, "characters"),
            ):
                if count > bound:
                    raise UserError(
                        f"The argument {key} of {name} has {count:,} {what}; at most {bound:,} are taken "
                        f"in a call: send them in parts."
                    )
        limit = {"count": MOST_COUNT, "timeout": MOST_SECONDS}.get(key)
        if limit is not None and value is not None and not 0 < value <= limit:
            raise UserError(
                f"The argument {key} of {name} is {value:g}; it must be above 0 and at most {limit:g}."
            )
        if key == "stacks" and (strange := [one for one in value if one not in STACKS]):
            raise UserError(
                f"The argument stacks of {name} names {strange[0][:40]!r}; choose among "
                f"{', '.join(STACKS)}."
            )
