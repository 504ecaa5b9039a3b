"""Start the page; python app.py --help says with what."""

from __future__ import annotations

import argparse
import os
import sys
from functools import cache

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # the page calls nobody

import gradio as gr

from xformer.__main__ import CHECKPOINT_HELP, ROOT, SENTIMENT_HELP, checkpoint_folder, sentiment_folder
from xformer.models import Models, offered
from xformer.results import UserError
from xformer.sentiment import SentimentService
from xformer.service import Service
from xformer.ui import create, launch


@cache
def models(checkpoints: tuple[str, ...] = (), device: str | None = None, any_name: bool = False) -> Models:
    """The models, the first of them loaded once however often the page is made anew; raises UserError."""
    folder = checkpoint_folder(checkpoints[0] if checkpoints else None)
    return Models(Service.open(folder, device), offered(folder, checkpoints[1:], ROOT / "checkpoints"), device,
                  any_name)


def private(server_name: str | None, share: bool | None) -> bool:
    """Whether only this machine is served, by these flags and Gradio's environment variables."""
    name = server_name or os.environ.get("GRADIO_SERVER_NAME") or "localhost"
    shared = os.environ.get("GRADIO_SHARE", "").lower() == "true" if share is None else share
    return not shared and (name in ("localhost", "::1") or name.startswith("127."))


@cache
def reader(checkpoint: str | None = None, device: str | None = None) -> SentimentService | UserError | None:
    """The classifier of reviews; None where none ships, and why where the one that ships cannot be used. One that was
    named must be good, or UserError is raised."""
    named, folder = checkpoint or os.environ.get("XFORMER_SENTIMENT"), sentiment_folder(checkpoint)
    if not named and not folder.exists():
        return None
    try:
        return SentimentService.open(folder, device)
    except UserError as error:
        if named:
            raise
        return error


def main() -> int:
    """Serve until interrupted. Flags that are not given leave Gradio's environment variables in force."""
    p = argparse.ArgumentParser(prog="python app.py", description="Translate, and look inside the transformer.")
    p.add_argument("--checkpoint", metavar="NAME", action="append", default=[],
                   help=f"{CHECKPOINT_HELP}; more of them are offered in the page's menu")
    p.add_argument("--any-model", action=argparse.BooleanOptionalAction,
                   help="visitors may name models too, folders and repositories on the Hub; if not given, they may "
                        "where only this machine is served")
    p.add_argument("--sentiment", metavar="NAME", help=SENTIMENT_HELP)
    p.add_argument("--device", help="cuda, mps or cpu; the best there is if not given")
    p.add_argument("--server-name", help="address to listen on; 0.0.0.0: every one of this machine")
    p.add_argument("--server-port", type=int)
    p.add_argument("--share", action="store_true", default=None, help="a public link through gradio.live")
    p.add_argument("--auth", metavar="USER:PASSWORD", help="ask visitors for these")
    args = p.parse_args()
    user, colon, password = (args.auth or "").partition(":")
    try:
        if args.auth and not (user and colon and password):
            raise UserError(f"--auth is {args.auth!r}; write USER:PASSWORD.")
        any_name = private(args.server_name, args.share) if args.any_model is None else args.any_model
        demo = create(models(tuple(args.checkpoint), args.device, any_name), reader(args.sentiment, args.device))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        launch(demo, args.server_name, args.server_port, args.share, (user, password) if args.auth else None)
    except OSError as error:
        print(f"The page cannot be served: {error}", file=sys.stderr)
        return 2
    return 0


def __getattr__(name: str) -> gr.Blocks:
    """`demo`, for `gradio app.py` and for hosts that import this file; made when it is asked for."""
    if name == "demo":
        return create(models(), reader())
    raise AttributeError(name)


if __name__ == "__main__":
    sys.exit(main())
