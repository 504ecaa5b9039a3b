"""The engine over HTTP: services on their models, without the page. One process has one engine.

`/translate`, `/explain` and `/classify` are for programs, described at /openapi.json; `/call` is for pages of the same
version (`serve.remote`). Calls run in threads, so that the services batch what comes at the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import Body, FastAPI, Header, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from xformer.results import GREEDY, STACKS, Options, UserError
from xformer.serve import wire
from xformer.serve.protocol import ReviewService, TranslationService

MOST_BYTES = 12_000_000  # of a request
OPEN = {"translation": TranslationService, "reviews": ReviewService}  # whose public names may be called
PATIENCE = 20.0  # seconds for the one word that tells whether an engine is well, where nothing else is asked for

api = FastAPI(title="xformer", description="Translate English to Spanish, explain how, and classify film reviews.")
_services: dict[str, Any] = {}


def use(translation: TranslationService, reviews: ReviewService | None = None) -> None:
    """Answer by these services from now on."""
    _services.clear()
    _services["translation"] = translation
    if reviews is not None:
        _services["reviews"] = reviews


def check(seconds: float = PATIENCE) -> None:
    """Translate a word; raises UserError where the engine does not come to it in time, and is to be replaced."""
    _services["translation"].translate("Yes.", GREEDY, max_length=4, timeout=seconds)


def _service(name: str) -> Any:
    if name not in _services:
        raise UserError(f"This engine has no {name}; start it with a checkpoint for that.")
    return _services[name]


@api.exception_handler(UserError)
def _refused(_: Request, error: UserError) -> JSONResponse:
    return JSONResponse({"error": error.say()}, 422)


@api.get("/health", summary="Whether the engine answers")
def health() -> dict[str, str]:
    check()
    return {"status": "ok", "version": wire.VERSION}


@api.post("/translate", summary="Translate an English text to Spanish")
def translate(text: str = Body(embed=True), beam: int = Body(5, ge=1, le=16, embed=True),
              n_best: int = Body(1, ge=1, le=16, embed=True)) -> dict[str, Any]:
    return _service("translation").translate(text, Options(beam=beam, n_best=n_best)).to_json()


@api.post("/explain", summary="The attention maps of a translation, (layers, heads, queries, keys)")
def explain(text: str = Body(embed=True), target: str | None = Body(None, embed=True)) -> dict[str, Any]:
    trace = _service("translation").explain(text, target)
    return {"source": trace.source, "target": trace.target, "predicted": trace.predicted, "log_probs": trace.log_probs,
            **{stack: np.asarray(getattr(trace, stack)).tolist() for stack in STACKS}}


TEXTS = Body(embed=True)


@api.post("/classify", summary="Classify English film reviews")
def classify(texts: list[str] = TEXTS) -> list[dict[str, Any]]:
    return [one.to_json() for one in _service("reviews").classify(texts)]


@api.get("/services", summary="What this engine has, for pages")
def services() -> dict[str, Any]:
    return {"version": wire.VERSION, "services": list(_services)}


@api.post("/call/{service}/{name}", include_in_schema=False)
async def call(request: Request, service: str, name: str, x_xformer_version: str = Header("")) -> Response:
    try:
        if x_xformer_version != wire.VERSION:
            raise UserError(f"The engine is of version {wire.VERSION} and the page of "
                            f"{x_xformer_version[:12] or 'none'}; use the same version of xformer for both.")
        if service not in OPEN or name.startswith("_") or name not in vars(OPEN[service]):
            raise UserError(f"There is no {service[:40]} {name[:40]} to call.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise UserError(f"A call may have {MOST_BYTES:,} bytes at most; send it in parts.")
        answer = await run_in_threadpool(_answer, service, name, body)
    except UserError as error:
        answer = wire.dumps({"error": error.message})
    return Response(answer, media_type="application/json")


def _answer(service: str, name: str, body: bytes) -> str:
    found = getattr(_service(service), name)
    if not callable(found):
        return wire.dumps({"answer": found})
    arguments = wire.loads(body)
    return wire.dumps({"answer": found(**arguments)})
