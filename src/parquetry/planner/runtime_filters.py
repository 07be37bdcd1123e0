"""Which values that joins find at run time the scans of a query are to wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from parquetry.config import RUNTIME_PRUNING, RUNTIME_PRUNING_MAX_BUILD_SIZE
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner import answers, questions
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.precedence import settle
from parquetry.prune.by_totals import MANY, is_not_null
from parquetry.prune.nearly_all import nearly_all
from parquetry.prune.runtime import Candidate
from parquetry.prune.runtime_rules import judge
from parquetry.prune.runtime_tuples import placing
from parquetry.prune.select import Selection, select_files
from parquetry.prune.selected_rows import KeyFiles, Spread, key_files, selected_rows, spread

_LOOKED_THROUGH = 100_000
"""Files of a table that are looked through, once for each version, for how a key lies in them."""


def judge_runtime_filters(lake: Lake, q: questions.JudgeRuntimeFilters) -> answers.RuntimeVerdicts:
    """Return a verdict for each candidate, by the settings of its scan's table.

    Raises:
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: a table property or an option of the read cannot be used.
    """
    limits = [_limit(lake, each, q.settings) for each in q.candidates]
    candidates = [_with_rows(lake, each) for each in q.candidates]
    return answers.RuntimeVerdicts(
        judge(
            candidates,
            limits,
            lambda place: _spread(lake, q.candidates[place]),
            lambda place: _nearly_all(lake, q.candidates[place]),
            lambda place: _key_files(lake, q.candidates[place]),
            lambda place: placing(lake.snapshot(q.candidates[place].table).metadata),
        )
    )


def _limit(lake: Lake, asked: questions.RuntimeCandidate, session: dict[str, str]) -> int | None:
    """Return how many bytes a side may have that runs only for its values; None: there are to be none."""
    properties = lake.snapshot(asked.table).metadata.properties
    settings = settle(asked.read_options, session, properties, names_checked=False)
    limit: int = settings[RUNTIME_PRUNING_MAX_BUILD_SIZE]
    return limit if settings[RUNTIME_PRUNING] else None


def _with_rows(lake: Lake, asked: questions.RuntimeCandidate) -> Candidate:
    """Return a candidate with an estimate of how many values it will bring, where it tells how much of a fact will be left."""
    facts, of = asked.facts, asked.values_of
    held = facts.held if facts.held is not None else _held(lake, asked)
    if of is None or (held is None and not _by_files(lake, asked)):
        return facts
    rows = lake.estimates.of(("rows", *_asked(lake, of)), lambda: _rows(lake, of))
    return replace(facts, held=held, build=replace(facts.build, rows=rows))


def _rows(lake: Lake, of: questions.AskedTable) -> int | None:
    """Return how many rows of a table are likely to satisfy the conditions; None: it is not known."""
    snapshot = lake.snapshot(of.table)
    wanted = conditions(snapshot, of.predicates)
    selection = _selected(lake, of, {name for each in wanted for name in each.about})
    return selected_rows(snapshot.metadata, selection, [each.predicate for each in wanted])


def _asked(lake: Lake, of: questions.AskedTable) -> tuple[bytes, int, bytes]:
    """Return what tells a version of a table and what is asked of it from others."""
    snapshot = lake.snapshot(of.table)
    return snapshot.id, snapshot.version, msgspec.json.encode(of.predicates)


def _by_files(lake: Lake, asked: questions.RuntimeCandidate) -> bool:
    """Return whether values leave out files by what these say of a column, and both tables are listed while the query is planned."""
    tables = [lake.snapshot(each.table) for each in (asked, asked.values_of) if each is not None]
    columns = {column.lower() for column in asked.columns}
    return all(table.totals.partitions < MANY for table in tables) and not any(
        column.lower() in columns for column in tables[0].metadata.partition_by
    )


def _held(lake: Lake, asked: questions.RuntimeCandidate) -> int | None:
    """Return how many values of the column a scan's partitions have, if it is their one: of partitions yet to be listed all that is known."""
    by = lake.snapshot(asked.table).metadata.partition_by
    one = asked.facts.form == "column" and len(by) == 1 and tuple(asked.columns) == tuple(by)
    return asked.facts.partitions_left if one else None


def _spread(lake: Lake, asked: questions.RuntimeCandidate) -> Spread | None:
    """Return how far the values of a candidate's column lie apart; None: it is not known."""
    if len(asked.columns) != 1:
        return None
    of = questions.AskedTable(asked.table, asked.predicates)
    (column,) = asked.columns
    return lake.estimates.of(
        ("spread", *_asked(lake, of), column),
        lambda: spread(lake.snapshot(of.table).metadata, _selected(lake, of, {column}), column),
    )


def _nearly_all(lake: Lake, asked: questions.RuntimeCandidate) -> int | None:
    """Return how many values a candidate's small table has, if they are many and nearly every file of the large one has some."""
    if asked.values_of is None or len(asked.columns) != 1:
        return None
    small, large = lake.snapshot(asked.values_of.table), lake.snapshot(asked.table)
    key, column = asked.facts.build.key, large.metadata.column(asked.columns[0]).name
    if not _has(small, key):
        return None
    if not all(is_not_null(each) for each in conditions(small, asked.values_of.predicates)):
        return None
    return lake.estimates.of(
        ("nearly all", small.id, small.version, key, large.id, large.version, column),
        lambda: nearly_all(small, key, large, column),
    )


def _key_files(lake: Lake, asked: questions.RuntimeCandidate) -> KeyFiles | None:
    """Return how the values of a candidate's key lie in the files that they come from; None: that is not known, or dear to know."""
    of, key = asked.values_of, asked.facts.build.key
    if of is None:
        return None
    table = lake.snapshot(of.table)
    if not _has(table, key) or table.totals.files > _LOOKED_THROUGH:
        return None
    return lake.estimates.of(
        ("key files", *_asked(lake, of), key),
        lambda: key_files(table.metadata, _selected(lake, of, {key}), key, table.totals.files),
    )


def _has(table: TableSnapshot, name: str) -> bool:
    return any(column.name == name for column in table.metadata.columns)


def _selected(lake: Lake, of: questions.AskedTable, about: set[str]) -> Selection:
    snapshot = lake.snapshot(of.table)
    wanted = conditions(snapshot, of.predicates)
    return select_files(snapshot, wanted, (), about=about, recent=lake.recent)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.JudgeRuntimeFilters: judge_runtime_filters
}
