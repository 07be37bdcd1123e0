"""Check a session's settings and a read's options before any table is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.config import SESSION_PREFIX, refuse_foreign, settle
from parquetry.planner.protocol import answers, questions


def check(q: questions.CheckSettings) -> answers.Done:
    """Make sure that each setting is known and that its value, if it has one, can be used.

    Raises:
        ConfigurationError: a setting of the session is unknown, or its value cannot be used.
        PropertyError: an option does not apply to reads, or has a meaning in other formats that no read has
            here.
    """
    settings = settle(q.options, q.settings)  # checks their names
    if q.use != "set":
        refuse_foreign(q.options, q.use)
        return answers.Done()
    for name in q.settings:
        _ = settings[name.removeprefix(SESSION_PREFIX)]  # raises if the value cannot be used
    return answers.Done()


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {questions.CheckSettings: check}
