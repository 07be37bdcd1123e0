"""Do what tables need, in the order of gain, within a budget of time and bytes.

Each piece of work is a commit, or a vacuum, of its own. So a run that is killed loses one piece, and the next
run finds what is left. Writers go on meanwhile: a piece that conflicts with them is tried once more, and then
left for the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from parquetry import compaction, metastore as ms
from parquetry.errors import CommitConflictError, ParquetryError, TableNotFoundError
from parquetry.operations.operation import Context
from parquetry.operations.rewrites import RewrittenPartition, compaction_rewrites, rewrite_partitions
from parquetry.operations.upkeep.needs import COMPACT, COMPACT_METADATA, REBUCKET, VACUUM, UpkeepNeed
from parquetry.operations.vacuum import VacuumOptions, checked_vacuum
from parquetry.progress import silent
from parquetry.texts import quantity, size_text

BYTES_PER_COMMIT = 8 << 30
"""Bytes of files that one commit rewrites: what a killed run loses, and writers may conflict with."""
ATTEMPTS = 2

DONE, PLANNED, POSTPONED, FAILED = "done", "planned", "left", "failed"


@dataclass(slots=True)
class Budget:
    """The time and the bytes that a run may take.

    Attributes:
        seconds: after which no piece of work begins, or None.
        bytes: of files that may be rewritten, or None.
    """

    seconds: float | None = None
    bytes: int | None = None
    _began: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Return whether the time is over."""
        return self.seconds is not None and time.monotonic() - self._began >= self.seconds

    def take(self, size: int) -> bool:
        """Take bytes from the budget, and return whether they were there."""
        if self.bytes is None:
            return True
        if size > self.bytes:
            return False
        self.bytes -= size
        return True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the work for one need.

    Attributes:
        outcome: ``done``, ``planned`` (a dry run), ``left`` for the next run, or ``failed``.
        detail: what was done, or why not.
    """

    outcome: str
    detail: str


def meet(context: Context, need: UpkeepNeed, budget: Budget) -> Outcome:
    """Do what a table needs, as far as the budget goes.

    Args:
        context: the warehouse.
        need: the need.
        budget: what is left of the run's.
    """
    work = _WORK.get(need.procedure)
    if work is None:
        return Outcome(FAILED, need.detail)
    if need.procedure in (COMPACT, REBUCKET) and not context.engine.can_rewrite:
        return Outcome(POSTPONED, "files are rewritten by Spark: type the statement in a session")
    if budget.is_over:
        return Outcome(POSTPONED, "the time of this run is over")
    for attempt in range(ATTEMPTS):
        try:
            return work(context, need.snapshot.refresh(), budget)
        except TableNotFoundError:
            return Outcome(DONE, "the table was dropped meanwhile")
        except CommitConflictError as error:
            if attempt + 1 == ATTEMPTS:
                return Outcome(POSTPONED, error.message)
        except ParquetryError as error:
            return Outcome(FAILED, error.message)
    raise AssertionError("each attempt returns or ends the loop")


def _vacuum(context: Context, snapshot: ms.TableSnapshot, _budget: Budget) -> Outcome:
    removed = checked_vacuum(snapshot, context.full_name(snapshot), VacuumOptions())
    files = [each for each in removed if each.path is not None]
    size = sum(each.bytes or 0 for each in files)
    return Outcome(DONE, f"{quantity(len(files), 'file')} deleted, {size_text(size)}")


def _compact_metadata(_context: Context, snapshot: ms.TableSnapshot, _budget: Budget) -> Outcome:
    done = ms.compact_metadata(snapshot)
    return Outcome(DONE, f"the lists of {quantity(done.partitions, 'partition')} rewritten")


def _compact(context: Context, snapshot: ms.TableSnapshot, budget: Budget) -> Outcome:
    return _rewrite(context, snapshot, compaction_rewrites(context, snapshot), "compact", budget)


def _rebucket(context: Context, snapshot: ms.TableSnapshot, budget: Budget) -> Outcome:
    return _rewrite(context, snapshot, compaction.rebucketing(snapshot), "rebucket", budget)


def _rewrite(
    context: Context,
    snapshot: ms.TableSnapshot,
    chosen: Sequence[compaction.Rewrite],
    operation: str,
    budget: Budget,
) -> Outcome:
    """Rewrite partitions, those first that lose the most files for a byte, in several commits."""
    ordered = sorted(chosen, key=lambda each: each.bytes / max(1, len(each.files)))
    done: list[RewrittenPartition] = []
    for batch in _batches(ordered, budget):
        done += rewrite_partitions(context, snapshot, batch, operation, silent)
        snapshot = snapshot.refresh()
        if budget.is_over:
            break
    before, after = sum(each.files_before for each in done), sum(each.files_after for each in done)
    detail = f"{quantity(len(done), 'partition')} rewritten, {before:,} files before, {after:,} after"
    if len(done) < len(chosen):
        left = quantity(len(chosen) - len(done), "partition")
        return Outcome(POSTPONED, f"{detail}; {left} left, as the budget is used up")
    return Outcome(DONE, detail)


def _batches(ordered: Sequence[compaction.Rewrite], budget: Budget) -> Iterator[list[compaction.Rewrite]]:
    """Yield rewrites that are committed together, as many as the budget has bytes for."""
    batch: list[compaction.Rewrite] = []
    size = 0
    for each in ordered:
        if not budget.take(each.bytes):
            continue
        if batch and size + each.bytes > BYTES_PER_COMMIT:
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.bytes
    if batch:
        yield batch


_WORK: dict[str, Callable[[Context, ms.TableSnapshot, Budget], Outcome]] = {
    VACUUM: _vacuum,
    COMPACT: _compact,
    REBUCKET: _rebucket,
    COMPACT_METADATA: _compact_metadata,
}
