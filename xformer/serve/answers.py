"""Answers to questions about the inside of a model: what a service makes of a question,
by the question's type."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from xformer.results.questions import OfPair, Question
from xformer.serve.protocol import Progress

# of a `serve.translation.Service` and a question
Answering = Callable[[Any, Any, Progress | None], Any]
Answers = dict[type[Question[Any]], Answering]


def of_pair(answer: Callable[..., Any], any_model: bool = False) -> Answering:
    """Answer a `questions.OfPair` by passes over its source and target. any_model: by a
    recurrent model too.

    The parameters of `answer` say what it is given: the model, its tokenizer, the pair,
    what to call between passes and with the progress, and fields of the question.
    """
    wanted = signature(answer).parameters

    def answered(service: Any, asked: OfPair[Any], progress: Progress | None) -> Any:
        pair = service.pair(asked.source, asked.target)
        with service.guard.work() as pause:
            given = {
                **vars(asked),
                "model": service.model if any_model else service.transformer,
                "pair": pair,
                "tokenizer": service.tokenizer,
                "pause": pause,
                "progress": progress,
            }
            return answer(**{name: given[name] for name in wanted})

    return answered
