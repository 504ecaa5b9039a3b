"""Host the page on the Hugging Face Hub."""

import argparse

from xformer.commands.arguments import add_part
from xformer.hub.folders import ROOT
from xformer.hub.shipped import LECTURE, REVERSE, SENTIMENT, TRANSLATION


def add_arguments(p: argparse.ArgumentParser) -> None:
    q = add_part(
        p.add_subparsers(dest="what", required=True), push, "upload the page as a Space"
    )
    q.add_argument("repository", metavar="owner/name")
    for kind, shipped, usual in (
        ("checkpoint", REVERSE.name, TRANSLATION.name),
        ("sentiment", LECTURE.name, SENTIMENT.name),
    ):
        q.add_argument(
            f"--{kind}",
            metavar="NAME",
            help="public owner/name[@revision] on the Hub, which the Space "
            "fetches when it is built, or the name of one that ships, as "
            f"{shipped}; if not given, {usual}",
        )
    q.add_argument(
        "--mcp", action="store_true", help="let the Space be an MCP server too"
    )
    q.add_argument(
        "--private",
        action="store_true",
        default=None,
        help="make the Space private, if it is new",
    )
    q.add_argument("--message", default="Upload the page", help="message of the commit")


def push(args: argparse.Namespace) -> None:
    """Upload what the page needs, checkpoints included, as one commit to a Space of the
    Hugging Face Hub, made if it is not there. Needs HF_TOKEN, or a login by “hf auth
    login”."""
    from xformer.hub import space

    print(
        space.push(
            ROOT,
            args.repository,
            translation=args.checkpoint,
            sentiment=args.sentiment,
            mcp=args.mcp,
            private=args.private,
            message=args.message,
        )
    )
