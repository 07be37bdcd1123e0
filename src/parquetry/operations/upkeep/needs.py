"""Find the needs of tables in the metastore alone, without a look into data files.

Needs are compared by their **gain** in bytes. An old version's file gains its size. A file that disappears
gains 4 MB, which is what Spark counts for opening a file (`spark.sql.files.openCostInBytes`). Rows outside of
the table's buckets gain their size, as each join shuffles them.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parquetry import compaction, layout, metastore as ms
from parquetry.data_files import FileRecord
from parquetry.errors import ArrangementError, ParquetryError, TableNotFoundError, UnsupportedError
from parquetry.identifiers import join_name
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
                    except TableNotFoundError:
                        continue
        if self.pattern is not None and not some:
            raise UnsupportedError(
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
        except TableNotFoundError:  # dropped, or vacuumed by another process
            continue
        except ParquetryError as error:  # one damaged table does not keep the others from their upkeep
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
    except ArrangementError:  # it has no buckets
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
