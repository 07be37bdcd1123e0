"""Compare a table's records in the metastore with each other and with its files, and repair what can be.

Findings differ by what a repair could lose:

- Nothing can be lost: totals, and rows that no version needs. A repair puts them right.
- A file is missing: a repair removes it from the table, in a commit.
- A decision is needed, as for a file with another size or an unreadable row: only reported, with what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, ParquetryError, TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.check.file_check import LookedAt, foreign_files, look_at_files, unfit_files
from parquetry.metastore.check.index_check import check_indexes, check_newest
from parquetry.metastore.check.lost_tables import orphan_findings
from parquetry.metastore.check.manifest_check import ColumnTypesByTicket, check_chunks, check_ranges
from parquetry.metastore.cleanup import retention, upkeep_record
from parquetry.metastore.cleanup.retention import Need, retire, stored_rows, unneeded_chunks
from parquetry.metastore.cleanup.upkeep_record import read_record, write_record
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import decode_removed, files_removed
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.manifest.chunks import chunk_position
from parquetry.metastore.manifest.entries import TOMBSTONE, decode_entry, inline_files, row_sum
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.results import Finding
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, edit_head, live_head
from parquetry.metastore.storage.model import CommitRecord, FileChunk, TableMetadata, Totals
from parquetry.metastore.storage.wire import decode_arrangement, decoder
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.texts import quantity

_CHUNKS_AT_ONCE = 1000


def fsck(
    table: TableSnapshot, *, repair: bool = False, footers: bool = True, full: bool = False
) -> list[Finding]:
    """Check the newest version of a table, and the rows of all versions.

    Of a large table, partitions that an earlier fsck has looked at without a finding, and that have not
    changed since, are not looked at again: neither their rows nor their files.

    Args:
        table: any version of the table.
        repair: repair what can be; one commit removes missing files from the table.
        footers: read the footers of Parquet files that other writers wrote.
        full: look at everything.

    Returns:
        The findings.

    Raises:
        TableNotFoundError: the table was dropped.
        WarehouseError: the table's files cannot be accessed.
        CommitConflictError: others changed meanwhile what was to be repaired.
        ForeignWarehouseError: it is to repair, and the warehouse belongs to another metastore.
    """
    if (refusal := ownership_of(table.store).refusal()) is not None:
        if repair:
            raise refusal
        return [Finding("foreign warehouse", None, None, refusal.message)]
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    record = read_record(table.store, table.id)
    is_large = head.commit.totals.partitions >= upkeep_record.MIN_PARTITIONS
    known = record.checked if is_large and not (full or repair) else 0
    begin = min([head.next_ticket, *head.pending])  # a commit under way may show rows of its ticket later
    findings = _find(
        table, repair, footers, known, known > 0 and record.checked_version == head.commit.version
    )
    if is_large and footers and not findings:
        checked = msgspec.structs.replace(record, checked=begin, checked_version=head.commit.version)
        write_record(table.store, table.id, checked)
    return findings


def _find(table: TableSnapshot, repair: bool, footers: bool, known: int, unchanged: bool) -> list[Finding]:
    """Return the findings.

    Args:
        table: any version of the table.
        repair: as for `fsck`.
        footers: as for `fsck`.
        known: rows of earlier tickets were checked; 0 to check all.
        unchanged: whether the newest version was checked.
    """
    check = _Check(table, known)
    findings = [*orphan_findings(table.store, repair), *check.versions()]
    if any(finding.kind == "unreadable version" for finding in findings):
        return findings  # without its commit, the rows that a version needs are not known
    if unchanged:
        return [*findings, *check.leftovers(repair)]
    findings += [*check_newest(table, repair), *check.rows(repair), *check.records(repair)]
    findings += check.leftovers(repair)
    if any(
        finding.kind in ("unreadable row", "missing file list", "missing metadata") for finding in findings
    ):
        return findings  # a partition that cannot be read has neither files to look for nor rows to count
    findings += [
        *check_indexes(table, repair),
        *check_ranges(table, repair),
        *check.content(repair),
        *check.totals(repair),
    ]
    return [*findings, *unfit_files(table.refresh())] if footers else findings


class _Check:
    """The checks of a table.

    Args:
        table: any version of the table.
        known: rows of earlier tickets were checked; 0 to check all.
    """

    def __init__(self, table: TableSnapshot, known: int) -> None:
        self._store = table.store
        self._id = table.id
        self._label = table.label
        self._known = known
        self._chunks_needed: tuple[Head, set[tuple[int, int]]] | None = None
        self._sums: tuple[str, Totals] | None = None

    def _head(self) -> Head:
        """Return the newest head, without its list of newest rows: the checks read the rows themselves."""
        head = live_head(self._store, self._id, f"Table {self._label} was dropped or replaced meanwhile.")
        return msgspec.structs.replace(head, newest=b"")

    # -- the metastore with itself

    def versions(self) -> Iterator[Finding]:
        """Yield missing and unreadable commits and metadata of versions that should be readable."""
        head = self._head()
        wanted: set[int] = set()
        for version in range(head.oldest, head.commit.version + 1):
            try:
                commit = load_commit(self._store, self._id, head, version)
            except MetastoreDamagedError as error:
                yield Finding(
                    "unreadable version", None, None, f"the commit of version {version}: {error.message}"
                )
                continue
            if commit is None:
                yield Finding(
                    "missing commit",
                    None,
                    None,
                    f"version {version} cannot be read: its commit's row is gone",
                )
            else:
                wanted.add(commit.metadata)
        for ticket in sorted(wanted):
            value = self._store.get(keyspace.metadata_key(self._id, ticket))
            if value is None:
                yield Finding(
                    "missing metadata", None, None, f"the metadata that ticket {ticket} wrote are gone"
                )
                continue
            try:
                decoder(TableMetadata).decode(value)
            except MetastoreDamagedError as error:
                yield Finding(
                    "unreadable version",
                    None,
                    None,
                    f"the metadata that ticket {ticket} wrote: {error.message}",
                )

    def _oldest(self, head: Head) -> CommitRecord:
        """Return the oldest version that can be read; the commits of versions before it may be missing."""
        for version in range(head.oldest, head.commit.version):
            commit = load_commit(self._store, self._id, head, version)
            if commit is not None:
                return commit
        return head.commit

    def rows(self, repair: bool) -> Iterator[Finding]:
        """Yield unreadable rows of partitions, and findings about the manifests of the others."""
        head = self._head()
        table = self._table(head)
        wanted: dict[FileChunk, str] = {}
        referenced: set[tuple[int, int]] | None = None if self._known else set()
        for row in stored_rows(self._store, self._id, head, self._oldest(head)):
            if is_tombstone(row.value) or row.ticket < self._known:
                continue
            try:
                entry = decode_entry(row.value)
                if row.need is Need.LIVE:
                    if table is not None and table.key_schema.fits(row.key):
                        table.key_schema.decode(row.key)
                    inline_files(entry)
                    decode_arrangement(entry.arrangement)
            except (ValueError, IndexError, ParquetryError) as error:
                referenced = None  # the chunks that it refers to are not known
                if row.need is Need.LIVE:
                    advice = "roll back to a version before it, or drop the partition"
                    text = f"written by ticket {row.ticket}: {error}; {advice}"
                    yield Finding("unreadable row", _describe(table, row.key), None, text)
                continue
            if not entry.chunks:
                continue
            if referenced is not None:
                referenced.update((chunk.ticket, chunk.number) for chunk in entry.chunks)
            if row.need is Need.LIVE:
                wanted.update(dict.fromkeys(entry.chunks, _describe(table, row.key)))
            if len(wanted) >= _CHUNKS_AT_ONCE:
                yield from self._chunks(wanted, repair)
                wanted = {}
        yield from self._chunks(wanted, repair)
        self._chunks_needed = None if referenced is None else (head, referenced)

    def _chunks(self, wanted: dict[FileChunk, str], repair: bool) -> Iterator[Finding]:
        if not wanted:
            return
        try:
            known = ColumnTypesByTicket.read(self._store, self._id)
        except MetastoreDamagedError:
            known = ColumnTypesByTicket()  # `versions` reports it
        yield from check_chunks(self._store, self._id, wanted, known, repair)

    def records(self, repair: bool) -> Iterator[Finding]:
        """Yield unreadable records of removed files. Without its record, a sync takes the file in again."""
        head, prefix = self._head(), keyspace.removed_files_prefix(self._id)
        for row in stored_rows(self._store, self._id, head, self._oldest(head), prefix):
            if is_tombstone(row.value) or row.need is not Need.LIVE:
                continue
            try:
                row.key.decode()
                decode_removed(row.value)
            except (UnicodeDecodeError, MetastoreDamagedError) as error:
                path = row.key.decode(errors="replace")
                text = (
                    f"was taken out, and what it was, which ticket {row.ticket} wrote, cannot be read: {error}; "
                    "with repair => true it is forgotten: CALL system.sync then takes the file in again"
                )
                if repair:
                    self._store.put_many([(row.row_key, TOMBSTONE)])
                yield Finding("unreadable record", None, path, text, repair)

    def _table(self, head: Head) -> TableSnapshot | None:
        try:
            return load(self._store, self._id, head)
        except (TableNotFoundError, MetastoreDamagedError):
            return None

    def leftovers(self, repair: bool) -> Iterator[Finding]:
        """Yield what dead processes left, and chunks that no row refers to."""
        head = self._head()
        now = store_now_ms(self._store)
        for owner in head.pending.values():
            if owner.is_dead(now):
                host = owner.host.split(" ")[0]
                text = f"process {owner.pid} on {host} died during a commit; nothing of it shows"
                yield Finding("dead commit", None, None, text, repair)
        if repair:
            head = retire(self._store, self._id, head.oldest)
        scanned = self._store.scan(*keyspace.prefix_range(keyspace.JOURNAL + self._id))
        ended = {keyspace.journal_ticket(key) for key, _ in scanned}
        for ticket in sorted(t for t in ended if t < head.next_ticket and t not in head.pending):
            text = f"of ticket {ticket}, whose commit has ended"
            yield Finding("journal", None, None, text, repair)
        if repair:
            retention.sweep(self._store, {self._id: head})
        if self._chunks_needed is None:
            return  # not all rows were read
        # By the head before the pass over the rows: rows that came later refer to later chunks, or to these.
        before, referenced = self._chunks_needed
        aborted = msgspec.structs.replace(
            before, pending={t: o for t, o in before.pending.items() if t in head.pending}
        )
        unneeded = list(unneeded_chunks(self._store, self._id, aborted, referenced))
        if repair:
            keyspace.delete_in_batches(self._store, (key for key, _ in unneeded))
        for ticket, _ in dict.fromkeys(chunk_position(key) for key, _ in unneeded):
            yield Finding(
                "unneeded file list", None, None, f"written by ticket {ticket}; no row refers to it", repair
            )

    # -- the metastore with the files

    def content(self, repair: bool) -> list[Finding]:
        """Check the files of the newest version, and the sums that each partition records of its files."""
        table = load(self._store, self._id, self._head())
        all_findings: list[Finding] = []
        mend: dict[bytes, tuple[PartitionSnapshot, list[FileRecord]]] = {}
        for partition, files, findings in self._partitions(table):
            all_findings += findings
            if any(finding.kind in ("missing file", "partition sums") for finding in findings):
                mend[partition.key] = partition, files
        if not repair or not mend:
            return all_findings
        transaction = Transaction(table, "fsck")
        transaction.leave_records()
        for partition, files in mend.values():
            transaction.replace(partition.values, files, partition.entry.location)
        commit(transaction, {"repaired": str(len(mend))})
        return [replace(f, repaired=f.kind in ("missing file", "partition sums")) for f in all_findings]

    def _partitions(
        self, table: TableSnapshot
    ) -> Iterator[tuple[PartitionSnapshot, list[FileRecord], list[Finding]]]:
        """Yield each partition with its existing files, and with what is wrong."""
        system = FileAccess()
        sums_of_all: list[Totals | None] = [Totals()]

        def wanted_partitions() -> Iterator[PartitionSnapshot]:
            for partition in table.partitions():
                if sums_of_all[0] is not None:
                    sums_of_all[0] = sums_of_all[0].plus(partition.entry)
                if partition.ticket >= self._known:
                    yield partition

        for looked_at in look_at_files(wanted_partitions(), system):
            partition, listed, infos = looked_at
            kept: list[FileRecord] = []
            findings: list[Finding] = []
            for file, (stored, info) in zip(listed, infos, strict=True):
                if info is None:
                    text = (
                        "is listed but missing: another program has deleted it; put it back, or remove it from the table with "
                        "repair => true"
                    )
                    name = table.describe(partition.key)
                    findings.append(Finding("missing file", name, system.name(stored), text))
                    continue
                kept.append(file)
                if info.bytes != file.bytes:
                    text = f"has {info.bytes} bytes, {file.bytes} are listed; CALL system.sync reads it anew"
                    name = table.describe(partition.key)
                    findings.append(Finding("file size", name, system.name(stored), text))
            if len(kept) < len(listed):
                findings += _foreign(table, looked_at, system)
            if findings and not self._is_unchanged(table, partition):
                sums_of_all[0] = None
                continue
            sums = len(listed), sum(file.bytes for file in listed), row_sum(listed)
            told = partition.file_count, partition.bytes, partition.rows
            if sums != told:
                text = f"files, bytes and rows are {_sums(sums)}, and {_sums(told)} is kept"
                findings.append(Finding("partition sums", table.describe(partition.key), None, text))
            yield partition, kept, findings
        if sums_of_all[0] is not None:
            self._sums = table.commit.id, sums_of_all[0]

    def _is_unchanged(self, table: TableSnapshot, partition: PartitionSnapshot) -> bool:
        """Return whether a partition is unchanged; if not, a newer version may lack the missing file."""
        now = table.refresh().partition(partition.values)
        return now is not None and now.ticket == partition.ticket

    def totals(self, repair: bool) -> Iterator[Finding]:
        """Compare the table's totals with the sums over its partitions."""
        while True:
            head = self._head()
            table = load(self._store, self._id, head)
            if self._sums is not None and self._sums[0] == head.commit.id:
                sums = self._sums[1]
            else:
                sums = sum((Totals().plus(partition.entry) for partition in table.partitions()), Totals())
            recorded = head.commit.totals
            if sums == recorded:
                return
            finding = Finding("table totals", None, None, _totals_text(recorded, sums))
            if not repair:
                yield finding
                return
            if self._set_totals(head.commit, sums):
                yield replace(finding, repaired=True)
                return

    def _set_totals(self, commit: CommitRecord, totals: Totals) -> bool:
        """Put totals into the newest version. Return False if it is no longer the newest."""

        def change(head: Head) -> Head:
            if head.commit != commit:
                return head
            return msgspec.structs.replace(head, commit=msgspec.structs.replace(commit, totals=totals))

        after = edit_head(self._store, self._id, change, lambda head: head.commit.totals == totals)
        return after.commit.id == commit.id and after.commit.totals == totals


def _foreign(table: TableSnapshot, looked_at: LookedAt, system: FileAccess) -> Iterator[Finding]:
    """Yield what another program has put in the place of missing files, as Hive's INSERT OVERWRITE does."""
    location = table.metadata.location
    removed = {system.storage_path(join_location(location, file.path)) for file in files_removed(table)}
    names = foreign_files(looked_at, table.id, system, removed)
    if names:
        text = (
            f"another program has written {quantity(len(names), 'file')} in the place of missing ones, such as {names[0]}: CALL system.sync "
            "takes in what is right, or delete it. Tables in a Hive metastore are safe from that with publish, read_only => true"
        )
        name = table.describe(looked_at.partition.key)
        yield Finding("foreign file", name, looked_at.partition.location, text)


def _describe(table: TableSnapshot | None, key: bytes) -> str:
    """Return a partition's key for people, or its bytes if it cannot be decoded."""
    try:
        if table is not None and table.key_schema.fits(key):
            return table.describe(key)
    except (ValueError, IndexError, ParquetryError):
        return f"key {key.hex()}"
    return f"key {key.hex()}"


def _totals_text(recorded: Totals, sums: Totals) -> str:
    if msgspec.structs.replace(recorded, arrangements=sums.arrangements) == sums:
        return (
            "are of other layouts than the partitions have, as after a move of a warehouse with directories of heavy values in places of "
            "their own: answers are right, and some plans look at each partition's layout until this is repaired"
        )
    return f"are {recorded!r}, the partitions add up to {sums!r}"


def _sums(sums: tuple[int, int, int | None]) -> str:
    return " / ".join("unknown" if each is None else str(each) for each in sums)
