"""Plain records that travel between the rooms of the house; str and numpy only."""

from __future__ import annotations


class UserError(ValueError):
    """Something a person asked for that cannot be done: one sentence with the value, the limit and what to do.

    Its text is shown as it is, on the page and on the command line.
    """
