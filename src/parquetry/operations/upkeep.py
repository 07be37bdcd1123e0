"""Upkeep of all tables of a warehouse: find what each needs in the metastore alone, and do it.

Needs are compared by their **gain** in bytes. An old version's file gains its size. A file that disappears
gains 4 MB, which is what Spark counts for opening a file (`spark.sql.files.openCostInBytes`). Rows outside of
the table's buckets gain their size, as each join shuffles them.

Work is done in the order of gain, within a budget of time and bytes.

Each piece of work is a commit, or a vacuum, of its own. So a run that is killed loses one piece, and the next
run finds what is left. Writers go on meanwhile: a piece that conflicts with them is tried once more, and then
left for the next run.
"""

from __future__ import annotations

import fnmatch
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from parquetry import compaction, errors, layout, metastore as ms
from parquetry.data_files import FileRecord
from parquetry.identifiers import join_name
from parquetry.operations.operation import Context
from parquetry.operations.rewrites import RewrittenPartition, compaction_rewrites, rewrite_partitions
from parquetry.operations.vacuum import VacuumOptions, checked_vacuum
from parquetry.progress import silent
from parquetry.texts import quantity, size_text

OPEN_COST_BYTES = 4 << 20
"""Bytes that a file less is worth: Spark's own estimate of what it takes to open one."""
MIN_SMALL_FILES = 10
"""Files that a compaction has to save: fewer are not worth a run of their own."""
MAX_DAYS_WITHOUT_VACUUM = 30
"""Days after which a vacuum is due although no old version is: files of killed writes may be left."""
_DAY_MS = 24 * 60 * 60 * 1000

VACUUM = "vacuum"
COMPACT = "compact"
REBUCKET = "rebucket"
COMPACT_METADATA = "compact_metadata"


@dataclass(frozen=True, slots=True)
class UpkeepNeed:
    """One thing that a table needs.

    Attributes:
        snapshot: the table.
        need: the kind: ``old versions``, ``no vacuum``, ``small files``, ``heavy values``, ``other buckets``,
            ``old records`` or ``unreadable``.
        procedure: the procedure that helps, or an empty text if only a look at the table does.
        count: number of versions, days, files or partitions.
        bytes: size of the files that the work deletes or reads.
        gain: what the work is worth, in bytes.
        detail: the need in words.
    """

    snapshot: ms.TableSnapshot
    need: str
    procedure: str
    count: int
    bytes: int
    gain: int
    detail: str


@dataclass(frozen=True, slots=True)
class TableChoice:
    """The tables to look at.

    Attributes:
        pattern: such as ``sales.*``, with ``*`` and ``?``; or None for all tables.
    """

    pattern: str | None = None

    def snapshots(self, metastore: ms.Metastore) -> Iterator[ms.TableSnapshot]:
        """Yield the tables, newest version each. A table that is dropped meanwhile is left out.

        Raises:
            UnsupportedError: the pattern fits no table.
        """
        some = False
        for database in metastore.databases():
            for name in metastore.tables(database):
                if self.pattern is None or fnmatch.fnmatchcase(f"{database}.{name}", self.pattern.lower()):
                    some = True
                    try:
                        yield metastore.table(database, name)
                    except errors.TableNotFoundError:
                        continue
        if self.pattern is not None and not some:
            raise errors.UnsupportedError(
                f"No table fits {self.pattern!r}: say database.table, with * for any text, such as sales.*."
            )


def find_needs(
    metastore: ms.Metastore,
    choice: TableChoice,
    target_file_size: Callable[[ms.TableMetadata], int],
) -> list[UpkeepNeed]:
    """Return what tables need, the greatest gain first.

    Args:
        metastore: of the warehouse.
        choice: the tables.
        target_file_size: returns the bytes that a file of a table should have.
    """
    needs: list[UpkeepNeed] = []
    for snapshot in choice.snapshots(metastore):
        try:
            needs += table_needs(snapshot, target_file_size(snapshot.metadata))
        except errors.TableNotFoundError:  # dropped, or vacuumed by another process
            continue
        except errors.ParquetryError as error:  # one damaged table does not keep the others from their upkeep
            needs.append(UpkeepNeed(snapshot, "unreadable", "", 0, 0, 0, error.message))
    return sorted(needs, key=lambda need: (bool(need.procedure), -need.gain, need.snapshot.label))


def table_needs(snapshot: ms.TableSnapshot, target: int) -> list[UpkeepNeed]:
    """Return what one table needs.

    Args:
        snapshot: the table's newest version.
        target: the bytes that a file should have.
    """
    return [*_old_versions(snapshot), *_files(snapshot, target), *_buckets(snapshot), *_records(snapshot)]


def _old_versions(snapshot: ms.TableSnapshot) -> Iterator[UpkeepNeed]:
    old = ms.old_versions(snapshot)
    if old.expired:
        least = "" if old.is_exact else "at least "
        detail = f"{quantity(old.expired, 'version')} of more than seven days ago, {least}{size_text(old.expired_bytes)}"
        gain = old.expired_bytes + old.expired
        yield UpkeepNeed(snapshot, "old versions", VACUUM, old.expired, old.expired_bytes, gain, detail)
        return
    begun = old.vacuumed_at or snapshot.metadata.created_at
    days = (ms.store_time(snapshot) - begun) // _DAY_MS
    if begun and old.newest and days >= MAX_DAYS_WITHOUT_VACUUM:
        detail = f"no vacuum for {quantity(days, 'day')}: files of interrupted writes may be left"
        yield UpkeepNeed(snapshot, "no vacuum", VACUUM, days, 0, days, detail)


def _files(snapshot: ms.TableSnapshot, target: int) -> Iterator[UpkeepNeed]:
    """Yield the needs that `compact` meets."""
    grown: list[tuple[ms.PartitionSnapshot, Sequence[FileRecord]]] = []

    def look(
        wanted: Sequence[tuple[ms.PartitionSnapshot, Sequence[FileRecord]]],
    ) -> dict[bytes, layout.Counted]:
        grown.extend(wanted)
        return {}

    chosen = compaction.rewrites(snapshot, target, look=look)
    files, size = sum(len(each.files) for each in chosen), sum(each.bytes for each in chosen)
    saved = files - sum(max(1, -(-each.bytes // target)) for each in chosen)
    if saved >= MIN_SMALL_FILES:
        detail = (
            f"{quantity(files, 'small or misplaced file')} in {quantity(len(chosen), 'partition')}, {size_text(size)}: "
            f"some {saved:,} fewer after a compaction"
        )
        yield UpkeepNeed(snapshot, "small files", COMPACT, files, size, saved * OPEN_COST_BYTES, detail)
    if grown:
        rest = sum(file.bytes for _, files in grown for file in files)
        detail = f"{quantity(len(grown), 'partition')} may have new heavy values, in {size_text(rest)} of light rows"
        yield UpkeepNeed(snapshot, "heavy values", COMPACT, len(grown), rest, rest, detail)


def _buckets(snapshot: ms.TableSnapshot) -> Iterator[UpkeepNeed]:
    if snapshot.totals.all_arranged(snapshot.metadata.arrangement):
        return
    try:
        chosen = compaction.rebucketing(snapshot)
    except errors.ArrangementError:  # it has no buckets
        return
    wrong = [each for each in chosen if each.arrangement != each.partition.arrangement]
    if wrong:
        size = sum(each.bytes for each in wrong)
        detail = (
            f"{len(wrong):,} of {quantity(snapshot.totals.partitions, 'partition')} not in the table's buckets, "
            f"{size_text(size)} that joins shuffle"
        )
        yield UpkeepNeed(snapshot, "other buckets", REBUCKET, len(wrong), size, size, detail)


def _records(snapshot: ms.TableSnapshot) -> Iterator[UpkeepNeed]:
    outdated = ms.count_outdated_lists(snapshot)
    if outdated:
        detail = (
            f"lists of files of {quantity(outdated, 'partition')} in an older form, which plans read slower"
        )
        yield UpkeepNeed(snapshot, "old records", COMPACT_METADATA, outdated, 0, outdated << 10, detail)


def statement(need: UpkeepNeed, catalog: str | None) -> str:
    """Return what to type for a need.

    Args:
        need: the need.
        catalog: name of the catalog in the session, or None outside of Spark. There it is a command, unless
            files are to be rewritten.
    """
    table = join_name((need.snapshot.database, need.snapshot.name))
    procedure = need.procedure or "fsck"
    if catalog is None:
        if procedure not in (COMPACT, REBUCKET):
            return shlex.join(("parquetry", procedure.replace("_", "-"), table))
        catalog = "lake"
    return f"CALL {join_name((catalog,))}.system.{procedure}('{table}')"


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
        except errors.TableNotFoundError:
            return Outcome(DONE, "the table was dropped meanwhile")
        except errors.CommitConflictError as error:
            if attempt + 1 == ATTEMPTS:
                return Outcome(POSTPONED, error.message)
        except errors.ParquetryError as error:
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
    for batch in batches_within(ordered, budget):
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


def batches_within(
    ordered: Sequence[compaction.Rewrite], budget: Budget
) -> Iterator[list[compaction.Rewrite]]:
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
