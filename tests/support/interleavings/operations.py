"""Actions of an interleaving's actors: each is an operation as a statement runs it, with its data files.

Each takes a `Site` and returns its answer to the user, if the answer is more than that it was done.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from parquetry.errors import (
    CommitConflictError,
    CommitUnknownError,
    ParquetryError,
    TableExistsError,
    TableNotFoundError,
)
from parquetry.metastore import (
    Draft,
    FileRecord,
    Metastore,
    Replacement,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    create_branch,
    drop_branch,
    publish_branch,
)
from parquetry.metastore.cleanup.in_flight import WriteInFlight
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.together import TablePart, commit_together
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.namespace.staging import StagedTable
from parquetry.metastore.operations.drop import Dropping, delete_replacement, staged_deletion
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.storage.keyspace import IDENTITY, IN_FLIGHT
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.vacuuming.clocks import check_of_new_files
from parquetry.metastore.vacuuming.vacuum import remove_orphans, vacuum
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import questions
from parquetry.planner.protocol.codec import PROTOCOL
from parquetry.planner.tables import views
from parquetry.progress import Progress
from parquetry.publishing.hive import publish
from parquetry.publishing.hive_record import HivePartition, HiveTable
from tests.support.interleavings.world import LAKE, NOW, OLD_MS, Surroundings

_FUTURE = 1 << 50
DONE = "done"
_ENGINE = NoEngine("UTC")
_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")
"""The folder of temporary folders: in memory, if there is enough."""


@dataclass(frozen=True)
class Site:
    """Where an operation is run.

    Attributes:
        metastore: opened for it.
        around: where its files are.
        written: the paths of the files that it wrote.
    """

    metastore: Metastore
    around: Surroundings
    written: list[str] = field(default_factory=list)

    @property
    def lake(self) -> Lake:
        return Lake("lake", self.metastore, _ENGINE)

    def folder(self, table: TableSnapshot, d: int) -> str:
        """Return where new files of a partition are: one that was renamed stays where it was."""
        partition = table.partition((d,))
        return table.placement.default_location((d,)) if partition is None else partition.location

    def file(self, table: TableSnapshot, tag: str, d: int) -> FileRecord:
        """Write a file of a partition of a table."""
        name = f"pq-{table.owner.hex()}-{tag}.parquet"
        path = f"{self.folder(table, d)}/{name}"
        self.around.write(path)
        self.written.append(path)
        return FileRecord(name, 1, 1, NOW // 1_000_000)

    def commit(self, transaction: Transaction) -> None:
        """Commit with the files that were written."""
        transaction.requirements.keep(check_of_new_files(transaction.base, self.written))
        commit(transaction)

    def delete_written(self) -> None:
        """Delete the files of a write that is known to have failed."""
        for path in self.written:
            FileAccess().delete(FileAccess().storage_path(path))


Operation = Callable[[Site], str | None]


@dataclass(frozen=True)
class NamedOperation:
    """An operation, and what it is called.

    Attributes:
        name: for messages.
        run: does it.
        changes: whether it is to change anything that can be seen.
    """

    name: str
    run: Operation
    changes: bool = True


def _metadata(tag: str) -> TableMetadata:
    columns = TableColumn("v", "long"), TableColumn("d", "integer")
    return TableMetadata(columns, ("d",), "parquet", f"{LAKE}/{tag}", comment=tag)


# -- tables


def create(name: str, tag: str) -> NamedOperation:
    """CREATE TABLE."""

    def run(site: Site) -> None:
        site.metastore.create_table(*name.split("."), _metadata(tag))

    return NamedOperation(f"create {name} {tag}", run)


def _publish(site: Site, staged: StagedTable, tag: str, rows: bool) -> None:
    if rows:
        transaction = Transaction(staged.snapshot, "append")
        transaction.append((1,), [site.file(transaction.base, tag, 1)])
        commit(transaction)
    try:
        staged.make_visible()
    except ParquetryError:
        delete_files = staged_deletion(staged)
        staged.discard()
        delete_files()
        raise


def create_as_select(name: str, tag: str) -> NamedOperation:
    """CREATE TABLE … AS SELECT."""

    def run(site: Site) -> None:
        _publish(site, site.metastore.stage_table(*name.split("."), _metadata(tag)), tag, rows=True)

    return NamedOperation(f"create {name} {tag} with rows", run)


def replace(name: str, tag: str, *, rows: bool = False) -> NamedOperation:
    """CREATE OR REPLACE TABLE, with a row or without."""

    def run(site: Site) -> None:
        try:
            base = site.metastore.table(*name.split("."))
        except TableNotFoundError:
            try:
                _publish(site, site.metastore.stage_table(*name.split("."), _metadata(tag)), tag, rows)
            except TableExistsError as error:
                raise CommitConflictError(error.message) from None
            return
        replacement = Replacement(base, _metadata(tag))
        if rows:
            transaction = Transaction(replacement.snapshot, "append")
            transaction.append((1,), [site.file(replacement.snapshot, tag, 1)])
            site.commit(transaction)
        try:
            replacement.make_visible()
        except ParquetryError as error:
            if not replacement.may_be_visible:
                delete_replacement(replacement)
            if isinstance(error, TableNotFoundError):
                raise CommitConflictError(error.message) from None
            raise

    return NamedOperation(f"replace {name} {tag}{' with rows' if rows else ''}", run)


def drop(name: str, kind: str = "table") -> NamedOperation:
    """DROP TABLE or DROP VIEW."""

    def run(site: Site) -> None:
        dropping = Dropping(site.lake.metastore)
        dropping.drop(*name.split("."), kind="view" if kind == "view" else "table")
        dropping.delete_files()

    return NamedOperation(f"drop {kind} {name}", run)


def rename(name: str, new: str) -> NamedOperation:
    """ALTER TABLE … RENAME TO."""

    def run(site: Site) -> None:
        site.metastore.rename_table(*name.split("."), *new.split("."))

    return NamedOperation(f"rename {name} to {new}", run)


# -- branches


def branch(name: str, new: str = "try") -> NamedOperation:
    """CALL branch."""

    def run(site: Site) -> None:
        create_branch(site.metastore.table(*name.split(".")), new)

    return NamedOperation(f"branch {new} of {name}", run)


def publish_branch_of(name: str, branch: str = "try") -> NamedOperation:
    """CALL publish_branch."""

    def run(site: Site) -> None:
        publish_branch(site.metastore.table(*name.split(".")), branch)

    return NamedOperation(f"publish {branch} of {name}", run)


def drop_branch_of(name: str, branch: str = "try") -> NamedOperation:
    """CALL drop_branch."""

    def run(site: Site) -> None:
        drop_branch(site.metastore.table(*name.split(".")), branch)

    return NamedOperation(f"drop {branch} of {name}", run)


# -- views and databases


def create_view(name: str, tag: str, *, replacing: bool = False) -> NamedOperation:
    """CREATE VIEW, or CREATE OR REPLACE VIEW."""
    database, view = name.split(".")
    question = questions.PutView(
        protocol=PROTOCOL,
        catalog="lake",
        options={},
        namespace=[database],
        name=view,
        view=questions.View(
            schema={"type": "struct", "fields": []}, text="SELECT 1 AS v", properties={"comment": tag}
        ),
        mode="create_or_replace" if replacing else "create",
    )

    def run(site: Site) -> None:
        views.ANSWERS[questions.PutView](site.lake, question)

    return NamedOperation(f"{'replace' if replacing else 'create'} view {name} {tag}", run)


def create_database(name: str) -> NamedOperation:
    """CREATE NAMESPACE."""

    def run(site: Site) -> None:
        site.metastore.create_database(name)

    return NamedOperation(f"create database {name}", run)


def drop_database(name: str, *, cascade: bool = False) -> NamedOperation:
    """DROP NAMESPACE."""

    def run(site: Site) -> None:
        dropping = Dropping(site.lake.metastore)
        try:
            site.metastore.drop_database(
                name, cascade, lambda database, table: dropping.drop(database, table, kind=None)
            )
        finally:
            dropping.delete_files()

    return NamedOperation(f"drop database {name}{' cascade' if cascade else ''}", run)


# -- rows


def _write(name: str, operation: str, change: Callable[[Site, Transaction], None]) -> Operation:
    def run(site: Site) -> None:
        transaction = Transaction(site.metastore.table(*name.split(".")), operation)
        try:
            change(site, transaction)
            site.commit(transaction)
        except BaseException:
            if not transaction.may_be_visible:
                site.delete_written()
            raise

    return run


def append(name: str, tag: str, d: int = 1) -> NamedOperation:
    """INSERT INTO."""

    def change(site: Site, transaction: Transaction) -> None:
        transaction.append((d,), [site.file(transaction.base, tag, d)])

    return NamedOperation(f"append {tag} to {name}", _write(name, "append", change))


def append_slowly(name: str, tag: str, d: int = 1) -> NamedOperation:
    """INSERT INTO that lasts long: a row of the metastore says that it is under way."""
    append_now = append(name, tag, d).run

    def run(site: Site) -> str | None:
        store = site.metastore.store
        key = IN_FLIGHT + site.metastore.table(*name.split(".")).owner + os.urandom(8)
        now = NOW // 1_000_000
        store.put_many([(key, encode(WriteInFlight(now - OLD_MS, now)))])
        try:
            return append_now(site)
        finally:
            store.delete_many([key])

    return NamedOperation(f"append {tag} to {name} slowly", run)


def overwrite(name: str, tag: str, d: int = 1) -> NamedOperation:
    """INSERT OVERWRITE of one partition."""

    def change(site: Site, transaction: Transaction) -> None:
        transaction.replace((d,), [site.file(transaction.base, tag, d)])

    return NamedOperation(f"overwrite {name} with {tag}", _write(name, "overwrite", change))


def count_up(name: str) -> NamedOperation:
    """Read how many files there are, and put one more in their place: a lost update shows."""

    def change(site: Site, transaction: Transaction) -> None:
        base = transaction.base
        number = 1 + sum(len(part.files) for part in base.partitions())
        files = [site.file(base, f"n{i}-{site.around.actor}", 1) for i in range(number)]
        transaction.replace((1,), files)

    return NamedOperation(f"count up {name}", _write(name, "update", change))


def drop_partition(name: str, d: int = 1) -> NamedOperation:
    """ALTER TABLE … DROP PARTITION."""

    def change(_: Site, transaction: Transaction) -> None:
        transaction.drop((d,))

    return NamedOperation(f"drop partition {d} of {name}", _write(name, "drop", change))


def rename_partition(name: str, d: int, new: int) -> NamedOperation:
    """ALTER TABLE … PARTITION … RENAME TO PARTITION."""

    def run(site: Site) -> None:
        transaction = Transaction(site.metastore.table(*name.split(".")), "rename partition")
        transaction.rename((d,), (new,))
        commit(transaction)

    return NamedOperation(f"rename partition {d} of {name} to {new}", run)


def comment(name: str, tag: str) -> NamedOperation:
    """ALTER TABLE … SET TBLPROPERTIES."""

    def change(_: Site, transaction: Transaction) -> None:
        transaction.set_metadata(msgspec.structs.replace(transaction.base.metadata, comment=tag))

    return NamedOperation(f"comment {name} {tag}", _write(name, "alter", change))


# -- several tables


def write_both(one: str, other: str, tag: str, *, replacing: bool = False) -> NamedOperation:
    """A transaction that appends to two tables, or replaces a partition of each."""

    def run(site: Site) -> None:
        bases = site.metastore.tables_at_once([(*one.split("."),), (*other.split("."),)])  # type: ignore[list-item]
        parts = [TablePart(Transaction(base, "overwrite" if replacing else "append"), {}) for base in bases]
        try:
            for transaction, _ in parts:
                files = [site.file(transaction.base, tag, 1)]
                transaction.replace((1,), files) if replacing else transaction.append((1,), files)
                transaction.requirements.keep(check_of_new_files(transaction.base, site.written))
            commit_together(parts)
        except BaseException:
            if not any(transaction.may_be_visible for transaction, _ in parts):
                site.delete_written()
            raise

    return NamedOperation(f"{'replace' if replacing else 'append'} {tag} in {one} and {other}", run)


def read_both(one: str, other: str) -> NamedOperation:
    """A SELECT of two tables."""

    def run(site: Site) -> str:
        tables = site.metastore.tables_at_once([(*one.split("."),), (*other.split("."),)])  # type: ignore[list-item]
        return f"reads {[sorted(_tags(table)) for table in tables]}"

    return NamedOperation(f"read {one} and {other}", run, changes=False)


def roll_back(name: str, version: int) -> NamedOperation:
    """CALL system.rollback."""

    def run(site: Site) -> None:
        database, table = name.split(".")
        rollback(
            site.metastore.table(database, table), site.metastore.table(database, table, version=version)
        )

    return NamedOperation(f"roll {name} back to {version}", run)


def within(*operations: NamedOperation) -> NamedOperation:
    """Operations in one transaction of several tables."""

    def run(site: Site) -> str | None:
        draft = Draft(site.metastore)
        inside = Site(draft.metastore, site.around, site.written)
        try:
            answers = [operation.run(inside) for operation in operations]
        except BaseException:
            inside.delete_written()
            draft.rollback()
            raise
        try:
            draft.commit()
        except CommitUnknownError:
            raise
        except ParquetryError:
            inside.delete_written()  # a vacuum of the tables would do it
            raise
        return "; ".join(filter(None, answers)) or None

    return NamedOperation(f"({', '.join(each.name for each in operations)})", run)


# -- what changes nothing that can be seen


def clear(name: str) -> NamedOperation:
    """CALL system.vacuum of a table: it removes all versions but the newest, and orphans of any table."""

    def run(site: Site) -> None:
        vacuum(site.metastore.table(*name.split(".")), older_than=_FUTURE)

    return NamedOperation(f"vacuum {name}", run, changes=False)


# -- two metastores of a warehouse


def mark() -> NamedOperation:
    """Earlier operations ran in a warehouse with a mark."""

    def run(site: Site) -> None:
        site.around.world.marks = {}
        site.around.metastore(site.metastore.store).require_owned(now=True)

    return NamedOperation("mark", run)


def copy_metastore() -> NamedOperation:
    """Copy the metastore's rows to the other store, as a backup of the server does."""

    def run(site: Site) -> None:
        rows = [row for row in site.around.world.store.scan(b"", None) if row[0] != IDENTITY]
        site.around.world.other.put_many(rows)

    return NamedOperation("copy the metastore", run)


def claim() -> NamedOperation:
    """CALL system.claim by the metastore in the other store."""

    def run(site: Site) -> None:
        site.around.other().claim()

    return NamedOperation("claim", run)


def claim_and_append(name: str, tag: str) -> NamedOperation:
    """The same, and an INSERT through it."""

    def run(site: Site) -> str | None:
        claim().run(site)
        return append(name, tag).run(Site(site.around.other(), site.around))

    return NamedOperation(f"claim and append {tag} to {name}", run)


def dump_and_restore() -> tuple[NamedOperation, NamedOperation]:
    """`parquetry dump`, and `parquetry restore` of the dump into the other store."""
    folder = tempfile.TemporaryDirectory(dir=_TEMPORARY)

    def write(site: Site) -> None:
        shutil.rmtree(f"{folder.name}/dump", ignore_errors=True)
        dump(site.metastore, f"{folder.name}/dump")

    def read(site: Site) -> None:
        restore(site.around.other(), f"{folder.name}/dump")

    return NamedOperation("dump", write), NamedOperation("restore", read)


def clear_orphans() -> NamedOperation:
    """The part of a vacuum of any table that removes orphans of others."""

    def run(site: Site) -> None:
        remove_orphans(site.metastore.store, FileAccess())

    return NamedOperation("vacuum of another table", run, changes=False)


def list_tables(database: str) -> NamedOperation:
    """SHOW TABLES."""

    def run(site: Site) -> str:
        return f"lists {' '.join(site.metastore.tables(database))}"

    return NamedOperation(f"list {database}", run, changes=False)


def read(name: str) -> NamedOperation:
    """SELECT."""

    def run(site: Site) -> str:
        table = site.metastore.table(*name.split("."))
        return f"reads {table.metadata.comment} {sorted(_tags(table))}"

    return NamedOperation(f"read {name}", run, changes=False)


def _tags(table: TableSnapshot) -> list[str]:
    return [file.path.rpartition("-")[2] for part in table.partitions() for file in part.files]


def back_up() -> NamedOperation:
    """`parquetry dump`."""

    def run(site: Site) -> str:
        folder = Path(tempfile.mkdtemp(dir=_TEMPORARY))
        try:
            tables = dump(site.metastore, folder / "dump").tables
        finally:
            shutil.rmtree(folder)
        return f"dumps {' '.join(sorted(f'{table.database}.{table.name}' for table in tables))}"

    return NamedOperation("dump", run, changes=False)


class _HiveOfOne:
    """A metastore of Hive's that keeps what was reported to it about a table."""

    def __init__(self) -> None:
        self.partitions: list[str] = []

    def put_table(self, table: HiveTable) -> bool:
        return True

    def put_partitions(
        self, table: HiveTable, partitions: Iterable[HivePartition], progress: Progress
    ) -> tuple[int, int, int]:
        self.partitions = [
            f"d={each.values[0]} with {each.parameters['numFiles']} files" for each in partitions
        ]
        return len(self.partitions), 0, 0


def publish_to_hive(name: str) -> NamedOperation:
    """CALL system.publish."""

    def run(site: Site) -> str:
        table = site.metastore.table(*name.split("."))
        hive = _HiveOfOne()
        publish(table, hive)
        return f"publishes {table.metadata.comment} {hive.partitions}"

    return NamedOperation(f"publish {name}", run, changes=False)
