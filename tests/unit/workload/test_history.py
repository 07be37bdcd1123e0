"""The history of queries: what plain scans leave in it, how it stays small, and who finds what in it."""

from __future__ import annotations

import datetime as dt
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest

import parquetry
from parquetry import metastore as ms
from parquetry.catalog import Catalog
from parquetry.data_files import TableColumn
from parquetry.errors import ConfigurationError, StoreError
from parquetry.workload import (
    HistorySettings,
    HistoryWriter,
    QueryCondition,
    QueryRecord,
    ReadCount,
    StoredQuery,
    TableRead,
    forget_values,
    now,
    read_queries,
)
from parquetry.workload.history import write_queries
from tests.support.readers.written_tables import WrittenTable

COLUMNS = (TableColumn("id", "long"), TableColumn("name", "string"), TableColumn("day", "date"))
DAY_MS = 24 * 60 * 60 * 1000
SETTINGS = HistorySettings("on", 30 * DAY_MS, 100_000)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A table with the days 0 and 1, two files of ten rows each."""
    table = WrittenTable(tmp_path, COLUMNS, ("day",))
    for day in (0, 1):
        rows = [list(range(first, first + 10)) for first in (100 * day, 100 * day + 10)]
        table.add((day,), *(pa.table({"id": ids, "name": [f"n{id}" for id in ids]}) for ids in rows))
    return str(table.warehouse)


def set_property(warehouse: str, value: str) -> None:
    """Set the table's property for the history."""
    with ms.open_metastore(warehouse) as metastore:
        snapshot = metastore.table("shop", "t")
        transaction = ms.Transaction(snapshot, "alter")
        properties = {**snapshot.metadata.properties, "pruning-history": value}
        transaction.set_metadata(ms_replace(snapshot.metadata, properties=properties))
        ms.commit(transaction)


def ms_replace(metadata: ms.TableMetadata, **changes: object) -> ms.TableMetadata:
    """Return metadata with some fields changed."""
    import msgspec

    return msgspec.structs.replace(metadata, **changes)


def stored(metastore: ms.Metastore, time: int, **fields: object) -> StoredQuery:
    """Return a query of the table at a time."""
    record = QueryRecord((TableRead("shop.t"),), time, **fields)  # type: ignore[arg-type]
    return StoredQuery(record, (metastore.table("shop", "t").id,))


def test_a_scan_without_history(warehouse: str) -> None:
    """By default there is no history."""
    with parquetry.open(warehouse) as lake:
        assert lake.scan("shop.t", "id = 3").count() == 1
        assert lake.queries() == []


def test_what_a_scan_records(warehouse: str) -> None:
    """A record has what was read of how much, what left out the rest, and no values."""
    set_property(warehouse, "on")
    with parquetry.open(warehouse) as lake:
        assert lake.scan("shop.t", "day = DATE '1970-01-02' AND id < 105", ["name"]).to_arrow().num_rows == 5
        (record,) = lake.queries("shop.t")
    (read,) = record.reads
    assert (record.door, record.user, record.statement) == ("scan", ms.user_name(), None)
    assert abs(now() - (record.time or 0)) < DAY_MS
    assert record.seconds is not None
    assert read.table == "shop.t"
    assert read.version == 3
    assert read.conditions == (
        QueryCondition("day = ?", ("day",), has_values=False, share=0.5),
        QueryCondition("id < ?", ("id",), has_values=False),
    )
    assert read.columns == ("name", "day", "id")
    assert (read.partitions, read.files) == (ReadCount(1, 2), ReadCount(1, 4))
    assert read.bytes is not None
    assert 0 < read.bytes.read < read.bytes.of
    assert (read.rows, read.left_out) == (5, (("partitions", 2), ("files", 1)))


def test_values_are_kept_if_wanted(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `values`, conditions are whole; a table's property goes before the warehouse's setting."""
    monkeypatch.setenv("PARQUETRY_PRUNING_HISTORY", "values")
    with parquetry.open(warehouse) as lake:
        assert len(lake.scan("shop.t", "name = 'n7' AND id > 3").files()) == 1
        assert [each.text for each in lake.queries()[0].reads[0].conditions] == ["name = 'n7'", "id > 3"]
        set_property(warehouse, "off")
        lake.scan("shop.t").count()
        assert len(lake.queries()) == 1


def test_settings_in_a_file(warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`parquetry.toml` gives the warehouse's settings. `open` refuses one that cannot be used."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "parquetry.toml"
    file.write_text(f'warehouse = "{warehouse}"\npruning-history = "on"\npruning-history-rows = "2"\n')
    with parquetry.open() as lake:
        for _ in range(5):
            lake.scan("shop.t", "id = 1").count()
            lake.queries()
        assert len(lake.queries()) == 2
    file.write_text(f'warehouse = "{warehouse}"\npruning-history = "sometimes"\n')
    with pytest.raises(
        ConfigurationError, match="'pruning-history' as 'sometimes': not one of off, on, values"
    ):
        parquetry.open()


def test_old_queries_go(warehouse: str) -> None:
    """A write removes what is too old, and the oldest of too many."""
    with ms.open_metastore(warehouse) as metastore:
        for days in (40, 31, 3, 2, 1):
            write_queries(
                metastore, [stored(metastore, now() - days * DAY_MS, seconds=float(days))], SETTINGS
            )
        assert [each.seconds for each in read_queries(metastore)] == [1.0, 2.0, 3.0]
        few = HistorySettings("on", 30 * DAY_MS, 2)
        write_queries(metastore, [stored(metastore, now(), seconds=0.0)], few)
        assert [each.seconds for each in read_queries(metastore)] == [0.0, 1.0]
        since = now() - DAY_MS // 2
        assert [each.seconds for each in read_queries(metastore, since=since)] == [0.0]
        assert [each.seconds for each in read_queries(metastore, limit=1)] == [0.0]


def test_tables_are_renamed_and_dropped(warehouse: str) -> None:
    """A renamed table keeps its queries under the new name, and a new table of the old name has none."""
    with ms.open_metastore(warehouse) as metastore:
        write_queries(metastore, [stored(metastore, now())], SETTINGS)
        metadata = metastore.table("shop", "t").metadata
        metastore.rename_table("shop", "t", "shop", "u")
        new = metastore.create_table("shop", "t", metadata)
        renamed = metastore.table("shop", "u")
        assert [each.reads[0].table for each in read_queries(metastore, renamed.id)] == ["shop.u"]
        assert list(read_queries(metastore, new.id)) == []
        metastore.drop_table("shop", "u")
        assert list(read_queries(metastore)) == []
        write_queries(metastore, [], HistorySettings("on", DAY_MS, 10))
        assert list(ms.query_rows(metastore.store)) == []


def test_erase_reaches_values(warehouse: str) -> None:
    """Values and statements leave all queries that read the table, other tables' conditions included."""
    with ms.open_metastore(warehouse) as metastore:
        id = metastore.table("shop", "t").id
        reads = tuple(
            TableRead(
                name, conditions=(QueryCondition("id = 7", ("id",)),), not_more=("id = 7: no statistics",)
            )
            for name in ("shop.t", "shop.v")
        )
        query = StoredQuery(QueryRecord(reads, now(), statement="SELECT 7"), (id, b""))
        write_queries(metastore, [query, StoredQuery(QueryRecord(reads[1:], now()), (b"",))], SETTINGS)
        assert (forget_values(metastore, id, dry_run=True), forget_values(metastore, id)) == (1, 1)
        assert forget_values(metastore, id) == 0
        (record,) = read_queries(metastore, id)
        assert record.statement is None
        assert [each.conditions[0].text for each in record.reads] == ["id = ?", "id = ?"]
        assert not [row for row in ms.query_rows(metastore.store) if b"SELECT 7" in row.value]


def test_dumps_leave_the_history_out(warehouse: str, tmp_path: Path) -> None:
    """A restored warehouse begins with an empty history."""
    dump = tmp_path / "dump"
    with ms.open_metastore(warehouse) as metastore:
        write_queries(metastore, [stored(metastore, now())], SETTINGS)
        ms.dump(metastore, str(dump))
    with ms.open_metastore(warehouse, "sqlite:///" + str(tmp_path / "other"), create=True) as restored:
        ms.restore(restored, str(dump))
        assert restored.tables("shop") == ["t"]
        assert list(ms.query_rows(restored.store)) == []


class _DownError(StoreError):
    """A store that is down."""


def test_a_store_that_is_down_fails_no_query(
    warehouse: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each scan gives its rows, and the log has one warning."""
    set_property(warehouse, "on")

    def refuse(*_: object) -> None:
        raise _DownError("The store is down.")

    with parquetry.open(warehouse) as lake, caplog.at_level(logging.WARNING, "parquetry"):
        monkeypatch.setattr(lake._metastore.store, "put_many", refuse)
        for _ in range(3):
            assert lake.scan("shop.t", "id = 3").count() == 1
            lake.queries()
        monkeypatch.undo()
        assert lake.queries() == []
    (warning,) = [each.getMessage() for each in caplog.records]
    assert warning == f"Queries are missing in the history of the warehouse {warehouse}: The store is down."


def test_a_damaged_row_is_left_out(warehouse: str) -> None:
    """A row that cannot be read hides no other one."""
    with ms.open_metastore(warehouse) as metastore:
        write_queries(metastore, [stored(metastore, now())], SETTINGS)
        ms.put_query_rows(metastore.store, [(ms.query_key(now()), b"\x93nonsense")])
        metastore.store.rows.put_many([(ms.query_key(now()), b"\xc0broken")])
        assert len(list(read_queries(metastore))) == 1


def test_queries_are_written_at_the_end_of_a_process(warehouse: str) -> None:
    """Others find the queries of a program that closes nothing."""
    program = """
        import parquetry
        lake = parquetry.open()
        for number in range(3):
            lake.scan("shop.t", f"id = {number}").count()
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        check=True,
        env={**os.environ, "PARQUETRY_WAREHOUSE": warehouse, "PARQUETRY_PRUNING_HISTORY": "on"},
    )
    with parquetry.open(warehouse) as lake:
        assert len(lake.queries("shop.t")) == 3


def test_a_writer_writes_by_itself(warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is in the store soon, without a flush."""
    monkeypatch.setattr("parquetry.workload.writer.SECONDS_BETWEEN_WRITES", 0.01)
    with ms.open_metastore(warehouse) as metastore:
        writer = HistoryWriter(metastore, SETTINGS)
        writer.add(lambda: stored(metastore, now()))
        thread = writer._thread
        assert thread is not None
        thread.join(30)
        assert len(list(read_queries(metastore))) == 1


def test_times_have_zones(warehouse: str) -> None:
    """A time without a zone is refused, and so is a negative limit."""
    with Catalog.open(warehouse) as lake:
        with pytest.raises(ValueError, match="has no time zone"):
            lake.queries(since=dt.datetime(2026, 1, 1))
        with pytest.raises(ValueError, match="Limit -1 is negative"):
            lake.queries(limit=-1)
        assert lake.queries(since=dt.datetime.now(dt.UTC)) == []
