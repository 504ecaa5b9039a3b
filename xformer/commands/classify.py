"""Tell the sentiment of a review, or of each line of standard input."""

import argparse

from xformer.commands.arguments import add_model, add_texts
from xformer.commands.lines import answer
from xformer.hub.shipped import SENTIMENT


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = "Tell whether TEXT, or each line of standard input, is positive or negative; one result a line."
    add_texts(p)
    add_model(p, SENTIMENT)
    p.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    from xformer.serve.reviews import SentimentService
    service = SentimentService.open(SENTIMENT.find(args.checkpoint), args.device)
    return answer(args.text, service.classify, lambda sentiment: f"{sentiment.label}\t{sentiment.probability:.3f}",
                  args.json)
