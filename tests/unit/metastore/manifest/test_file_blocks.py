"""The files of many partitions are read in blocks, with the requested columns."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.file_blocks import FileBlock, file_blocks
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.predicate.nodes import Compare, In
from parquetry.prune.condition import Condition
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter

COLUMNS = (TableColumn("id", "long"), TableColumn("name", "string"), TableColumn("p", "integer"))
LONG = 1500
"""Files of a partition that lists them in chunks, of a thousand each."""


class CountingStore(MemoryStore):
    """Counts the rows that a caller reads, by the first byte of their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[bytes] = []

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.asked += [key[:1] for key in keys]
        return super().get_many(keys)


def file(number: int, spelled: str = "id") -> FileRecord:
    """Return a file with one id for each of ten rows, spelled in some way."""
    known = {
        spelled: ColumnStatistics(40, 0, number * 10, number * 10 + 9),
        "name": ColumnStatistics(None, 1, f"n{number}", f"n{number}x"),
    }
    return FileRecord(f"f{number}", 100 + number, 10, number or None, known)


def table(partitions: dict[int, list[FileRecord]]) -> TableSnapshot:
    """Return a table with these partitions."""
    metastore = Metastore(CountingStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p, files in partitions.items():
        transaction.append((p,), files)
    return commit(transaction)


def everything(snapshot: TableSnapshot, names: Sequence[str] | None, held: Sequence[str] | None) -> list[str]:
    """Return what the blocks say of all files, joined after each was held."""
    partitions = list(snapshot.partitions())
    blocks = file_blocks(snapshot.store, snapshot.id, partitions, names)
    found = FileBlock.concatenate([block.project(None, held) for block in blocks], held)
    parts = [partitions[part].values for part in found.parts.tolist()]
    return [repr(each) for each in zip(parts, found.files.records(), strict=True)]


@pytest.mark.parametrize("names", [None, [], ["id"], ["name"], ["id", "name"], ['"'], ["none"]])
def test_blocks_hold_the_files_that_the_partitions_list(names: list[str] | None) -> None:
    """Blocks have the files that the partitions list, in order, inline or in chunks.

    They decode some columns or all, and the others on demand.
    """
    files = {p: [file(p)] for p in range(600)}
    files |= {600: [file(n) for n in range(LONG)], 601: [], 602: [file(7, "ID"), FileRecord("bare", 9)]}
    files |= {700: [file(n) for n in range(LONG, LONG + 3)]}
    snapshot = table(files)
    listed = [
        repr((partition.values, each)) for partition in snapshot.partitions() for each in partition.files
    ]
    assert len(listed) == 600 + LONG + 2 + 3
    assert everything(snapshot, names, None) == listed


@pytest.mark.parametrize("odd", [None, file(0, "ID"), FileRecord("f0", 100, 10)])
def test_of_held_files_some_columns_are_there(odd: FileRecord | None) -> None:
    """A projected file has the named columns in any spelling, and no others."""
    files = [odd or file(0), *(file(n) for n in range(1, 600))]
    snapshot = table({n: [each] for n, each in enumerate(files)})
    expected = [
        msgspec.structs.replace(
            each, columns=each.columns and {k: v for k, v in each.columns.items() if k.lower() == "id"}
        )
        for each in files
    ]
    for names in ([], ["id"], ["name"]):
        found = everything(snapshot, names, ["id"])
        assert found == [repr(((n,), each)) for n, each in enumerate(expected)]


def test_damaged_lists_are_told_of() -> None:
    """The error equals the error of the damaged list alone, even if many lists are decoded together."""
    snapshot = table({n: [file(n)] for n in range(600)})
    partitions = list(snapshot.partitions())
    partitions[7]._value = partitions[7]._value[:-30]
    with pytest.raises(MetastoreDamagedError, match="cannot be read as PartitionEntry"):
        list(file_blocks(snapshot.store, snapshot.id, partitions, ["id"]))


def test_chunks_that_their_summaries_rule_out_are_not_read() -> None:
    """Chunks that their summaries rule out are not read, but their files count in the report.

    The condition that ruled them out counts as effective.
    """
    snapshot = table({p: [file(n) for n in range(p * LONG, (p + 1) * LONG)] for p in range(3)})
    chunks = [len(partition.entry.chunks) for partition in snapshot.partitions()]
    assert isinstance(snapshot.store, WarehouseStore)
    store = snapshot.store.rows
    assert isinstance(store, CountingStore)
    store.asked.clear()
    asked = [
        Compare("=", "id", 10 * (LONG + 3) + 5, parse_type("bigint")),
        In("p", (0, 1, 2), parse_type("int")),
    ]
    selection = select_files(snapshot, [Condition.from_filter(make_filter(node)) for node in asked], about=())
    assert [each.file.path for each in selection.files] == [f"f{LONG + 3}"]
    step = selection.report.step("files")
    assert step is not None
    assert (step.kept, step.of, step.by) == (1, 3 * LONG, (str(asked[0]),))
    assert store.asked.count(b"\x0a") == sum(chunks)
    assert store.asked.count(b"\x08") == 1
    nothing = select_files(snapshot, [make_filter(Compare("<", "id", 0, parse_type("bigint")))])
    assert (nothing.files, store.asked.count(b"\x08")) == ((), 1)
    step = nothing.report.step("files")
    assert step is not None
    assert (step.kept, step.of, step.not_by) == (0, 3 * LONG, ())


def test_taking_files_of_a_block_keeps_their_partitions() -> None:
    """Numbers of partitions and files are taken together."""
    snapshot = table({n: [file(n), file(1000 + n)] for n in range(300)})
    (block,) = file_blocks(snapshot.store, snapshot.id, list(snapshot.partitions()), ["id"])
    taken = block.take(np.array([599, 0, 3], np.intp))
    assert (taken.parts.tolist(), taken.files.paths) == ([299, 0, 1], ["f1299", "f0", "f1001"])
    for names in (None, ["name"]):
        held = block.project(np.array([599, 0, 3], np.intp), names)
        assert [each.path for each in held.files.records()] == ["f1299", "f0", "f1001"]
        (name,) = {tuple(sorted(each.columns or ())) for each in held.files.records()}
        assert name == (("id", "name") if names is None else ("name",))


def test_listed_partitions_are_not_collected() -> None:
    """The garbage collector does not track partitions, as there may be a hundred thousand.

    Each partition still equals only itself.
    """
    one, other = table({1: [file(1)], 2: [file(2)]}).partitions()
    assert one.entry.file_count == len(one.values) == 1
    assert not gc.is_tracked(one)
    assert one != other
    assert {one: 1}[one] == 1
