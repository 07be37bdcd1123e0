"""A sync records what field ids foreign files have."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from parquetry.compaction.compact import worth_rewriting
from parquetry.data_files import IdsInFile, RecordedFiles
from parquetry.layout import PLAIN
from parquetry.metastore import FileRecord, TableSnapshot, Transaction, commit
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns
from tests.support.readers.python_tables import PythonLake

ROWS = pa.table({"a": [1], "b": [2]})


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long", "b": "long"}, ["p"])
    return made


def states(table: TableSnapshot) -> list[int | None]:
    return [file.field_ids for partition in table.partitions() for file in partition.files]


def numbered(**ids: str) -> pa.Table:
    fields = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": number}) for name, number in ids.items()
    ]
    return pa.table({"a": [1], "b": [2]}, pa.schema(fields))


def test_ids_of_adopted_files_are_recorded(lake: PythonLake) -> None:
    """Each file has its own state, which a rename does not change; a second sync has nothing to do."""
    lake.write("t", "p=1/ours.parquet", [{"a": 1, "b": 2}])
    lake.put("t", "p=2/foreign.parquet", numbered(a="2", b="1"))
    lake.put("t", "p=3/plain.parquet", ROWS)
    lake.put("t", "p=4/swapped.parquet", ROWS.select(["b", "a"]))
    table = lake.sync("t")
    expected = [IdsInFile.OURS, IdsInFile.FOREIGN, IdsInFile.BY_POSITION, IdsInFile.ABSENT]
    assert states(table) == expected
    assert lake.sync("t").version == table.version


def test_files_that_an_earlier_version_adopted_are_read_again(lake: PythonLake) -> None:
    """Their records say nothing of ids. Own files of before had none, and are left alone."""
    lake.put("t", "p=2/foreign.parquet", numbered(a="2", b="1"))
    table = lake.sync("t")
    (partition,) = table.partitions()
    (file,) = partition.files
    transaction = Transaction(table, "append")
    own = FileRecord(f"pq-{table.id.hex()}-1.parquet", 1, 1)
    transaction.replace((2,), [msgspec.structs.replace(file, field_ids=None), own])
    assert states(commit(transaction)) == [None, None]
    (folder,) = (lake.folder / "default.db" / "t").iterdir()
    (folder / own.path).write_bytes(b"x")
    assert states(lake.sync("t")) == [IdsInFile.FOREIGN, None]


def test_long_lists_of_files_keep_what_is_known_of_ids() -> None:
    """Files of before have none, also beside files with one."""
    files = [FileRecord(f"f{n}", 1, 1, field_ids=state) for n, state in enumerate((1, None, 4))]
    chunk = ChunkColumns(encode_columns(RecordedFiles(files)), encode_columns(RecordedFiles(files[:1])))
    assert chunk.records() == [*files, files[0]]
    assert chunk.names == ()


def test_foreign_ids_alone_are_a_reason_to_compact() -> None:
    """A file of the right size is rewritten, too, and no other file with it."""
    files = [FileRecord(str(state), 128, 1, field_ids=state) for state in IdsInFile]
    assert [files[i].field_ids for i in worth_rewriting(files, PLAIN, {}, "/t", 128)] == [IdsInFile.FOREIGN]


def test_records_without_fields_of_structs_are_read_again(lake: PythonLake) -> None:
    """An earlier version recorded columns alone; a second sync, or one without fields, has nothing to do."""
    kind = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}
    for name, properties in (("kept", {}), ("none", {"field-statistics": "0"})):
        lake.create(name, {"s": kind}, properties=properties)
        table = lake.write(name, "f.parquet", [{"s": {"a": 1}}])
        (partition,) = table.partitions()
        (file,) = partition.files
        assert file.columns is not None
        old = {column: each for column, each in file.columns.items() if column == "s"}
        transaction = Transaction(table, "append")
        transaction.replace((), [msgspec.structs.replace(file, columns=old)])
        before = commit(transaction)
        now = lake.sync(name)
        assert (now.version > before.version) == (name == "kept")
        assert [each.columns for part in now.partitions() for each in part.files] == [file.columns]
        assert lake.sync(name).version == now.version
