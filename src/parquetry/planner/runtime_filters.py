"""Which values that joins find at run time the scans of a query are to wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.config import RUNTIME_PRUNING, RUNTIME_PRUNING_MAX_BUILD_SIZE
from parquetry.planner import answers, questions
from parquetry.planner.lake import Lake
from parquetry.precedence import settle
from parquetry.prune.runtime_rules import judge


def judge_runtime_filters(lake: Lake, q: questions.JudgeRuntimeFilters) -> answers.RuntimeVerdicts:
    """Return a verdict for each candidate, by the settings of its scan's table.

    Raises:
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: a table property or an option of the read cannot be used.
    """
    limits = [_limit(lake, each, q.settings) for each in q.candidates]
    return answers.RuntimeVerdicts(judge([each.facts for each in q.candidates], limits))


def _limit(lake: Lake, asked: questions.RuntimeCandidate, session: dict[str, str]) -> int | None:
    """Return how many bytes a side may have that runs only for its values; None: there are to be none."""
    properties = lake.snapshot(asked.table).metadata.properties
    settings = settle(asked.read_options, session, properties, names_checked=False)
    limit: int = settings[RUNTIME_PRUNING_MAX_BUILD_SIZE]
    return limit if settings[RUNTIME_PRUNING] else None


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.JudgeRuntimeFilters: judge_runtime_filters
}
