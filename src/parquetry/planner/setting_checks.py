"""Settings of a session and options of a read, checked where they are given or first used, before a table is looked into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.config import SESSION_PREFIX, refuse_foreign, settle
from parquetry.planner.protocol import answers, questions


def check(q: questions.CheckSettings) -> answers.Done:
    """Make sure that each setting is known and, where one is given, that its value can be used.

    Raises:
        ConfigurationError: a setting of the session is unknown, or its value cannot be used.
        PropertyError: an option cannot be given for a read, or says something elsewhere that no read does here.
    """
    settings = settle(q.options, q.settings)  # which looks at their names
    if q.use != "set":
        refuse_foreign(q.options, q.use)
        return answers.Done()
    for name in q.settings:
        _ = settings[name.removeprefix(SESSION_PREFIX)]  # an error if it cannot be used
    return answers.Done()


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {questions.CheckSettings: check}
