"""`layout` = `auto`: `maintain` lets the layout of a table follow the queries of its history, step by step.

A step first sets the properties of new files, and then sorts old ones anew (`adviser.next_step`). Each commit
has the reason in its summary, and `rollback` undoes it. What somebody has undone is not done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parquetry import adviser, compaction, metastore as ms, workload
from parquetry.config import LAYOUT
from parquetry.errors import CommitConflictError, ParquetryError, TableNotFoundError
from parquetry.identifiers import join_name
from parquetry.locations import join_location
from parquetry.operations.advising.advise import advice_inputs
from parquetry.operations.advising.setting import set_layout
from parquetry.operations.operation import Context
from parquetry.operations.rewrites import rewrite_partitions
from parquetry.operations.upkeep import DONE, FAILED, PLANNED, POSTPONED, Budget, Outcome, batches_within
from parquetry.progress import silent
from parquetry.texts import quantity

NEED = "layout"
"""The name of the need of such a table."""
RECENT_DAYS = 7
"""Days whose queries a step goes by: a week has all that recurs weekly."""
MAX_RECENT_QUERIES = 20_000
"""The most queries that a step goes by: the newest."""
_DAY_MS = 24 * 60 * 60 * 1000
_REASON, _LAYOUT = "reason", "layout"
"""Keys of the summaries of a step's commits."""


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """The outcome of one table, with the number and the bytes of the files that are sorted anew."""

    outcome: Outcome
    files: int = 0
    bytes: int = 0


def follows_queries(snapshot: ms.TableSnapshot) -> bool:
    """Return whether the layout of a table follows its queries."""
    return snapshot.metadata.properties.get(LAYOUT) == "auto"


def follow_queries(
    context: Context, snapshot: ms.TableSnapshot, budget: Budget, *, dry_run: bool
) -> FollowedTable:
    """Take the next step of a table's layout, if there is one.

    Args:
        context: the warehouse.
        snapshot: of the table.
        budget: what is left of the run's.
        dry_run: only say what the step would be.
    """
    if budget.is_over:
        return FollowedTable(Outcome(POSTPONED, "the time of this run is over"))
    try:
        return _follow(context, snapshot, budget, dry_run=dry_run)
    except TableNotFoundError:
        return FollowedTable(Outcome(DONE, "the table was dropped meanwhile"))
    except CommitConflictError as error:
        return FollowedTable(Outcome(POSTPONED, error.message))
    except ParquetryError as error:
        return FollowedTable(Outcome(FAILED, error.message))


def _follow(context: Context, snapshot: ms.TableSnapshot, budget: Budget, *, dry_run: bool) -> FollowedTable:
    past = PastSteps.read(snapshot)
    since = workload.now() - RECENT_DAYS * _DAY_MS
    records = list(
        workload.read_queries(context.metastore, snapshot.id, since=since, limit=MAX_RECENT_QUERIES)
    )
    new = sum(record.weight for record in records if (record.time or 0) > past.last)
    if not new:
        when = f"in the last {quantity(RECENT_DAYS, 'day')}" if not records else "since the last step"
        return FollowedTable(Outcome(POSTPONED, f"the history has no query of it {when}"))
    if not snapshot.totals.files:
        return FollowedTable(Outcome(POSTPONED, "it has no rows"))
    source, request = advice_inputs(
        context, join_name((snapshot.database, snapshot.name)), records, order_only=True
    )
    if source.layout.bucket_count:
        return FollowedTable(Outcome(POSTPONED, "it stays: joins rely on the order of a table in buckets"))
    step = adviser.next_step(adviser.TableStudy(source, request), new, budget.bytes, past.undone)
    if not step.is_due:
        return FollowedTable(Outcome(POSTPONED, f"it stays: {step.reason}"))
    files = () if step.resorting is None else step.resorting.files
    size = 0 if step.resorting is None else step.resorting.bytes
    outcome = Outcome(PLANNED, step.reason) if dry_run else _take(context, source, step, budget)
    return FollowedTable(outcome, len(files), size)


def _take(context: Context, source: adviser.TableSource, step: adviser.LayoutStep, budget: Budget) -> Outcome:
    """Take a step: first the properties, then the files."""
    snapshot, resorting = source.snapshot, step.resorting
    assert snapshot is not None
    layout = step.layout or source.layout
    summary = {_REASON: step.reason, _LAYOUT: layout.order_text}
    promise = {} if step.promise is None else step.promise.to_summary()
    context.metastore.require_owned()
    if step.layout is not None:
        of_new = {**summary, **promise} if resorting is None else summary
        snapshot = set_layout(context, snapshot, layout, "layout", summary=of_new)
    if resorting is None:
        return Outcome(DONE, step.reason)
    if not context.engine.can_rewrite:
        return Outcome(
            POSTPONED, f"{step.reason}; files are rewritten by Spark: type the statement in a session"
        )
    chosen = _rewrites(snapshot, {source.files[index].path for index in resorting.files})
    batches = list(batches_within(chosen, budget))
    for number, batch in enumerate(batches, 1):
        of_batch = {**summary, **promise} if number == len(batches) else summary
        rewrite_partitions(context, snapshot, batch, "compact", silent, of_batch)
        snapshot = snapshot.refresh()
    return Outcome(DONE, step.reason)


def _rewrites(snapshot: ms.TableSnapshot, paths: set[str]) -> list[compaction.Rewrite]:
    result = []
    for partition in snapshot.partitions():
        anew: list[ms.FileRecord] = []
        kept: list[ms.FileRecord] = []
        for file in partition.files:
            (anew if join_location(partition.location, file.path) in paths else kept).append(file)
        if anew:
            result.append(compaction.Rewrite(partition, tuple(anew), tuple(kept), partition.arrangement))
    return result


@dataclass(frozen=True, slots=True)
class PastSteps:
    """The steps that a table's history has.

    Attributes:
        last: when the last one was taken, in milliseconds since 1970, or 0.
        undone: the layouts of steps that a rollback has undone, in words.
    """

    last: int
    undone: frozenset[str]

    @classmethod
    def read(cls, snapshot: ms.TableSnapshot) -> PastSteps:
        """Return the steps of a table."""
        return cls.from_commits(list(ms.history(snapshot)))

    @classmethod
    def from_commits(cls, commits: Sequence[ms.CommitRecord]) -> PastSteps:
        """Return the steps among commits, which are in order, the newest first."""
        steps = [commit for commit in commits if {_REASON, _LAYOUT} <= commit.summary.keys()]
        undone = {
            step.summary[_LAYOUT]
            for commit in commits
            if commit.operation == "rollback"
            for step in steps
            if int(commit.summary["to_version"]) < step.version < commit.version
        }
        return cls(max((step.time for step in steps), default=0), frozenset(undone))
