"""A pair at moments of the training of a small translator, whose weights ship."""

from functools import cache
from pathlib import Path
from typing import Any

from xformer.explain import film
from xformer.results import Film, WatchForm
from xformer.serve.answers import Answers
from xformer.serve.protocol import Progress

FILE = Path(__file__).with_name("film.npz")  # made by `checkpoint film`
reel = cache(film.read)


def watch(service: Any, asked: WatchForm, tell: Progress | None) -> Film:
    """Answer `results.WatchForm`. Raises UserError where the file is missing or
    broken, and for a pair that is too long."""
    with service.guard.work() as pause:
        return film.play(reel(FILE), asked.english, asked.spanish, pause)


ANSWERS: Answers = {WatchForm: watch}
