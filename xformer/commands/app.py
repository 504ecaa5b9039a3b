"""Start the page: flags → services → page."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from xformer.commands.arguments import Within, add_device, add_token, finished, token_of
from xformer.hub.shipped import LECTURE, SENTIMENT, TRANSLATION, WRITER, Shipped
from xformer.results import ANSWERS_IN, UserError, refusing

# what loads gradio or torch is imported when the page starts, so that other commands
# need not wait
if TYPE_CHECKING:
    import gradio as gr

    from xformer.serve.pool import Models
    from xformer.serve.reviews import SentimentService

SHARE = (
    "--share asks gradio.live for a public link: it needs the internet, and Gradio fetches a program for it once. "
    "Whoever has the link can use this page, for up to a week; what they type passes through gradio.live."
)


@cache
def models(
    checkpoints: tuple[str, ...] = (),
    device: str | None = None,
    any_name: bool = False,
    precision: str = "auto",
    most_memory: float | None = None,
) -> Models:
    """Open the first model once, however often the page is made, and offer the others;
    raises UserError."""
    _prepare()
    from xformer.serve.lent_gpu import open_service
    from xformer.serve.pool import MOST_MEMORY, Models, offered
    from xformer.serve.translation import Service

    folder = TRANSLATION.find(checkpoints[0] if checkpoints else None)
    return Models(
        open_service(Service, folder, device, precision),
        offered(folder, checkpoints[1:], TRANSLATION.path.parent),
        device,
        any_name,
        precision,
        most_memory or MOST_MEMORY,
    )


def private(server_name: str | None, share: bool | None) -> bool:
    """Tell whether only this machine is served, by these flags and Gradio's environment
    variables."""
    name = server_name or os.environ.get("GRADIO_SERVER_NAME") or "localhost"
    return not (share or _set("GRADIO_SHARE")) and (
        name in ("localhost", "::1") or name.startswith("127.")
    )


def remote(address: str, token: str = "") -> tuple[Models, Any]:
    """Return the translation model and the classifier, or None, of an engine elsewhere.
    Raises UserError where it is away, of another version, or asks for another token."""
    _prepare()
    from xformer.serve.pool import Models
    from xformer.serve.remote import Engine, RemoteReviews, RemoteTranslation

    engine = Engine(address, token)
    try:
        found = engine.services()
    except UserError:
        engine.close()
        raise
    translation: Any = RemoteTranslation(engine)
    return Models(translation), RemoteReviews(engine) if "reviews" in found else None


def other_readers(named: str | None, device: str | None) -> dict[str, SentimentService]:
    """Open the classifiers that are offered beside the one that ships, by name: none
    where another was named."""
    service = None if SENTIMENT.named(named) else _usable(LECTURE, None, device)
    if isinstance(service, UserError):
        raise service
    return {service.info.name: service} if service else {}


def _usable(one: Shipped, given: str | None = None, device: str | None = None) -> Any:
    """Open what is named in place of a model of reviews that ships, or else that one;
    returns None where none ships, and the reason where the one that ships cannot be
    used. Raises UserError where one was named and cannot be used."""
    if not one.there(given):
        return None
    _prepare()
    from xformer.serve.lent_gpu import open_service
    from xformer.serve.reviews import SentimentService
    from xformer.serve.writer import Writer

    kind: Any = Writer if one is WRITER else SentimentService
    try:
        return open_service(kind, one.find(given), device)
    except UserError as error:
        if one.named(given):
            raise
        return error


reader = cache(partial(_usable, SENTIMENT))
writer = cache(partial(_usable, WRITER))


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = "Translate, and look inside the transformer."
    p.add_argument(
        "--checkpoint",
        metavar="NAME",
        action="append",
        default=[],
        help=f"{TRANSLATION.help}; may be repeated; the page's menu offers the others",
    )
    p.add_argument(
        "--any-model",
        action=argparse.BooleanOptionalAction,
        help="let visitors name other models: folders, and repositories on the Hub; if not given, they "
        "may only if the page serves this machine alone",
    )
    p.add_argument("--sentiment", metavar="NAME", help=SENTIMENT.help)
    p.add_argument("--language-model", metavar="NAME", help=WRITER.help)
    p.add_argument(
        "--engine",
        metavar="URL",
        help="have an engine elsewhere translate and classify, as started by "
        "“python -m xformer serve”; instead of --checkpoint and --sentiment",
    )
    add_token(p, "--engine-token")
    add_device(p)
    p.add_argument(
        "--precision",
        choices=ANSWERS_IN,
        default="auto",
        help="of translations; int8: 8-bit weights, faster on a CPU and a little less exact; auto: float16 "
        "on CUDA, else float32",
    )
    p.add_argument(
        "--most-memory",
        type=float,
        action=Within,
        above=0,
        most=1e6,
        metavar="GB",
        help="memory for other models than the first, of which those used longest ago are closed "
        "(default 2)",
    )
    p.add_argument(
        "--server-name",
        help="address to listen on; 0.0.0.0: every address of this machine",
    )
    p.add_argument("--server-port", type=_port)
    p.add_argument(
        "--share",
        action="store_true",
        default=None,
        help="make a public link through gradio.live, for up to a week; if that fails, the page "
        "starts without it",
    )
    p.add_argument(
        "--auth",
        metavar="USER:PASSWORD",
        help="ask visitors for this name and password",
    )
    p.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="serve the page under this name too, for example the name of a proxy, or *.example.org; "
        "may be repeated",
    )
    p.add_argument(
        "--allow-frame",
        metavar="SITE",
        action="append",
        default=[],
        help="let this site show the page in a frame, for example https://moodle.example.org; may be "
        "repeated",
    )
    p.add_argument(
        "--mcp",
        action="store_true",
        default=None,
        help="be an MCP server too, with the tools translate, explain and classify",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted. Flags that are not given leave Gradio's environment
    variables in force."""
    _check_port()
    _prepare()
    from xformer.serve.hosts import allowed_name
    from xformer.ui import launch, warm_up
    from xformer.ui.server.sharing import origin

    user, colon, password = (args.auth or "").partition(":")
    share = args.share or _set("GRADIO_SHARE")
    mcp = args.mcp or _set("GRADIO_MCP_SERVER")
    if args.auth and not (user and colon and password):
        raise UserError(f"--auth is {args.auth!r}; write USER:PASSWORD.")
    if mcp and args.auth:
        raise UserError(
            "An MCP server asks for no password: leave out --auth, or --mcp and GRADIO_MCP_SERVER."
        )
    if mcp and find_spec("mcp") is None:
        raise UserError(
            "An MCP server needs one package more: install it with pip install 'gradio[mcp]', or leave "
            "out --mcp and GRADIO_MCP_SERVER."
        )
    hosts = [allowed_name(name) for name in args.allow_host]
    frames = [origin(site) for site in args.allow_frame]
    any_name = (
        private(args.server_name, share) if args.any_model is None else args.any_model
    )
    if args.engine and (args.checkpoint or args.sentiment or args.any_model):
        raise UserError(
            "An engine has its own models: leave out --checkpoint, --sentiment and --any-model, or "
            "--engine."
        )
    translators, reviews = (
        remote(args.engine, token_of(args))
        if args.engine
        else (
            models(
                tuple(args.checkpoint),
                args.device,
                any_name,
                args.precision,
                args.most_memory,
            ),
            reader(args.sentiment, args.device),
        )
    )
    demo = compose(
        translators, reviews, args.sentiment, args.language_model, args.device
    )
    with suppress(UserError):  # which the page says too
        warm_up(translators)
    if share:
        print(SHARE)
    with refusing(OSError, lambda error: f"The page cannot be served: {error}"):
        launch(
            demo,
            args.server_name,
            args.server_port,
            share or None,
            (user, password) if args.auth else None,
            mcp,
            hosts=hosts,
            frames=frames,
        )
    return 0


def main() -> int:
    """Run `python app.py`, as `python -m xformer app`; a wrong port in the environment
    is said before anything else."""

    def parser() -> argparse.ArgumentParser:
        _check_port()
        p = argparse.ArgumentParser(prog="python app.py")
        p.set_defaults(run=run)
        add_arguments(p)
        return p

    return finished(parser)


def page() -> gr.Blocks:
    """Make the page of the default models, as `gradio app.py` and hosts that import
    that file have it."""
    return compose(models(), reader())


def compose(
    translators: Models,
    reviews: Any,
    sentiment: str | None = None,
    language_model: str | None = None,
    device: str | None = None,
) -> gr.Blocks:
    """Make the page of a translation model and a classifier, which may be in an engine,
    and of all else that is offered, whichever way the page is started. sentiment,
    language_model: what is named in place of those that ship. Raises UserError."""
    from xformer.serve.study import Study
    from xformer.ui import create

    return create(
        translators,
        Study(),
        reviews,
        writer(language_model, device),
        other_readers(sentiment, device),
    )


def _prepare() -> None:
    """Do what has to come before gradio and torch are imported."""
    from xformer.serve.memory import few_arenas, few_shapes

    few_arenas()
    few_shapes()
    # the page sends nothing to Gradio's makers
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    with suppress(ImportError):  # on hosts that lend GPUs; it has to come before torch
        import spaces  # noqa: F401


def _check_port() -> None:
    """Raise UserError where GRADIO_SERVER_PORT is none: Gradio reads it when it is
    imported, and would fail there."""
    port = os.environ.get("GRADIO_SERVER_PORT", "0")
    if not (port.isdecimal() and int(port) < 65_536):
        raise UserError(
            f"GRADIO_SERVER_PORT is {port!r}, which is no port; write a number from 0 to 65535."
        )


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 65_536:
        return int(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no port; write a number from 0 to 65535"
    )


def _set(variable: str) -> bool:
    """Tell whether Gradio takes a variable of the environment for a yes."""
    return os.environ.get(variable, "").lower() == "true"
