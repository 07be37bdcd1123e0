"""The calls of Hive's metastore, asked by a client that Thrift generated of Hive's own definitions."""

from __future__ import annotations

import decimal
import inspect
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from parquetry.data_files import PHYSICAL_NAME, TableColumn
from parquetry.hive.calls.registry import answered_calls
from parquetry.hive.wire.connection import Connection
from parquetry.hive.wire.decoding import Decoder
from parquetry.hive.wire.encoding import encode
from parquetry.hive.wire.idl import Field, Struct, definitions
from parquetry.metastore import Constraint, CountedColumn, Transaction, commit
from tests.support.clients.hive import client, connect, served
from tests.support.readers.python_tables import PythonLake

NAMES = [f"p={p}/s={s}" for p in range(3) for s in ("__HIVE_DEFAULT_PARTITION__", "a b", "x%2Fy")]
VALUES = [[str(p), s] for p in range(3) for s in ("__HIVE_DEFAULT_PARTITION__", "a b", "x/y")]
DB, T = "default", "t"
ONE = ("1", "a b")


@pytest.fixture
def hms(lake: PythonLake) -> Iterator[Any]:
    with served(lake.folder) as port, client(port) as connected:
        yield connected


def values(partitions: list[Any]) -> list[list[str]]:
    return sorted(each.values for each in partitions)


def specs(found: list[Any]) -> list[Any]:
    return [partition for spec in found for partition in spec.partitionList.partitions]


def expression(text: bytes, most: int = -1) -> Any:
    return ttypes.PartitionsByExprRequest(DB, T, text, None, most)


ALL: dict[str, Callable[[Any], list[Any]]] = {
    "get_partitions": lambda c: c.get_partitions(DB, T, -1),
    "get_partitions_with_auth": lambda c: c.get_partitions_with_auth(DB, T, -1, "me", []),
    "get_partitions_req": lambda c: (
        c.get_partitions_req(ttypes.PartitionsRequest(None, DB, T, -1)).partitions
    ),
    "get_partitions_by_filter": lambda c: c.get_partitions_by_filter(DB, T, "", -1),
    "get_partitions_pspec": lambda c: specs(c.get_partitions_pspec(DB, T, -1)),
    "get_part_specs_by_filter": lambda c: specs(c.get_part_specs_by_filter(DB, T, "", -1)),
    "get_partitions_with_specs": lambda c: specs(
        c.get_partitions_with_specs(ttypes.GetPartitionsRequest(None, DB, T)).partitionSpec
    ),
    "get_partitions_by_expr": lambda c: c.get_partitions_by_expr(expression(b"")).partitions,
    "get_partitions_spec_by_expr": lambda c: specs(
        c.get_partitions_spec_by_expr(expression(b"")).partitionsSpec
    ),
    "get_partitions_by_names": lambda c: c.get_partitions_by_names(DB, T, [*NAMES, "p=9/s=none"]),
    "get_partitions_by_names_req": lambda c: (
        c.get_partitions_by_names_req(ttypes.GetPartitionsByNamesRequest(DB, T, NAMES)).partitions
    ),
    "get_partitions_ps": lambda c: c.get_partitions_ps(DB, T, ["", ""], -1),
    "get_partitions_ps_with_auth": lambda c: c.get_partitions_ps_with_auth(DB, T, [], -1, "me", []),
    "get_partitions_ps_with_auth_req": lambda c: (
        c.get_partitions_ps_with_auth_req(
            ttypes.GetPartitionsPsWithAuthRequest(None, DB, T, [""], -1)
        ).partitions
    ),
    "get_partition": lambda c: [c.get_partition(DB, T, each) for each in VALUES],
    "get_partition_with_auth": lambda c: [
        c.get_partition_with_auth(DB, T, each, "me", []) for each in VALUES
    ],
    "get_partition_req": lambda c: [
        c.get_partition_req(ttypes.GetPartitionRequest(None, DB, T, each)).partition for each in VALUES
    ],
    "get_partition_by_name": lambda c: [c.get_partition_by_name(DB, T, each) for each in NAMES],
}
SOME: dict[str, Callable[[Any], list[Any]]] = {
    "get_partitions_by_filter": lambda c: c.get_partitions_by_filter(DB, T, "p = 1 and s = 'a b'", -1),
    "get_part_specs_by_filter": lambda c: specs(c.get_part_specs_by_filter(DB, T, "p = 1 and s = 'a b'", -1)),
    "get_partitions_with_specs": lambda c: specs(
        c.get_partitions_with_specs(
            ttypes.GetPartitionsRequest(
                None,
                DB,
                T,
                filterSpec=ttypes.GetPartitionsFilterSpec(filterMode=2, filters=["p = 1", "s = 'a b'"]),
            )
        ).partitionSpec
    ),
    "get_partitions_by_expr": lambda c: (
        c.get_partitions_by_expr(expression(b"p = 1 and s = 'a b'")).partitions
    ),
    "get_partitions_ps": lambda c: c.get_partitions_ps(DB, T, list(ONE), -1),
    "get_partitions_ps_with_auth_req": lambda c: (
        c.get_partitions_ps_with_auth_req(
            ttypes.GetPartitionsPsWithAuthRequest(None, DB, T, list(ONE), -1)
        ).partitions
    ),
    "get_partitions_by_names": lambda c: c.get_partitions_by_names(DB, T, ["p=1/s=a b"]),
}
LISTED: dict[str, Callable[[Any], list[str]]] = {
    "get_partition_names": lambda c: c.get_partition_names(DB, T, -1),
    "get_partition_names_ps": lambda c: c.get_partition_names_ps(DB, T, [""], -1),
    "get_partition_names_ps_req": lambda c: (
        c.get_partition_names_ps_req(ttypes.GetPartitionNamesPsRequest(None, DB, T, [], -1)).names
    ),
    "get_partition_names_req": lambda c: c.get_partition_names_req(expression(b"")),
}


@pytest.mark.parametrize("call", ALL)
def test_all_partitions(hms: Any, call: str) -> None:
    """Every form of asking for partitions gives all of them, each with a folder of its one file."""
    found = ALL[call](hms)
    assert values(found) == VALUES
    for each in found:
        assert [file.name for file in Path(each.sd.location.removeprefix("file:")).iterdir()] == ["f.parquet"]
        assert each.parameters["numRows"] == "1"
        assert [(column.name, column.type) for column in each.sd.cols] == [("a", "bigint")]


@pytest.mark.parametrize("call", SOME)
def test_one_partition(hms: Any, call: str) -> None:
    """Every form of selecting partitions gives the one that is meant."""
    assert values(SOME[call](hms)) == [list(ONE)]


@pytest.mark.parametrize("call", LISTED)
def test_names(hms: Any, call: str) -> None:
    """Names of partitions have Hive's escapes."""
    assert LISTED[call](hms) == NAMES


def test_limits(hms: Any) -> None:
    """`max_parts` limits every list; a negative one does not."""
    assert len(hms.get_partitions(DB, T, 2)) == len(hms.get_partition_names(DB, T, 2)) == 2
    assert len(hms.get_partitions_by_filter(DB, T, "p > 0", 5)) == 5
    assert (
        len(hms.get_partitions_ps(DB, T, ["1"], 2)) == len(hms.get_partition_names_ps(DB, T, ["1"], 2)) == 2
    )
    assert len(hms.get_partitions_by_expr(expression(b"", 4)).partitions) == 4
    assert len(hms.get_partition_names(DB, T, -1)) == 9
    assert hms.get_partitions(DB, T, 0) == []


def test_counts_and_values(hms: Any) -> None:
    """Counts follow filters, and a column's values come alone."""
    assert [
        hms.get_num_partitions_by_filter(DB, T, each) for each in ("", "p = 1", "s is null", "p = 7")
    ] == [9, 3, 3, 0]
    request = ttypes.PartitionValuesRequest(DB, T, [ttypes.FieldSchema("S", "string")], applyDistinct=True)
    rows = [row.row for row in hms.get_partition_values(request).partitionValues]
    assert rows == [["__HIVE_DEFAULT_PARTITION__"], ["a b"], ["x/y"]]
    assert hms.partition_name_to_vals(NAMES[2]) == VALUES[2]
    assert hms.partition_name_to_spec(NAMES[2]) == {"p": "0", "s": "x/y"}


def test_unread_expressions_give_all_partitions(hms: Any) -> None:
    """For an unknown expression, all partitions come, with a flag that the client must test them."""
    answer = hms.get_partitions_by_expr(expression(b"\x00\x01\x02org.apache.hadoop.hive.ql.plan"))
    assert (values(answer.partitions), answer.hasUnknownPartitions) == (VALUES, True)
    assert hms.get_partitions_by_expr(expression(b"p = 1")).hasUnknownPartitions is False


def test_names_of_tables(hms: Any, lake: PythonLake) -> None:
    """Databases and tables are found by patterns, with a catalog before the database or without."""
    lake.metastore.create_database("sales")
    lake.create("orders_2", {"a": "long"})
    assert hms.get_all_databases() == ["default", "sales"]
    assert hms.get_databases("sa*|x") == hms.get_databases("@hive#s.*") == ["sales"]
    assert hms.get_databases("@hive#") == hms.get_databases("*") == ["default", "sales"]
    assert hms.get_all_tables("@hive#default") == hms.get_tables(DB, "*") == ["e", "orders_2", "t"]
    assert hms.get_tables(DB, "Orders_*|E") == ["e", "orders_2"]
    assert hms.get_tables("nowhere", "*") == []
    assert hms.get_tables_by_type(DB, "*", "VIRTUAL_VIEW") == []
    assert [(each.dbName, each.tableName) for each in hms.get_table_meta("*", "t", [])] == [(DB, "t")]
    assert (
        hms.get_database("@hive#Default").name
        == hms.get_database_req(ttypes.GetDatabaseRequest(DB)).name
        == DB
    )
    for fails in (
        lambda: hms.get_database("x"),
        lambda: hms.get_table(DB, "x"),
        lambda: hms.get_table("@spark#default", T),
    ):
        with pytest.raises(ttypes.NoSuchObjectException):
            fails()


def test_a_list_leaves_out_what_is_refused(lake: PythonLake) -> None:
    """A table that readers would read wrong stays in lists of names, is refused alone, and fails no list."""
    lake.create("local_times", {"a": "timestamp_ntz"})
    with served(lake.folder) as port, client(port) as hms:
        assert hms.get_all_tables(DB) == ["e", "local_times", "t"]
        assert [
            each.tableName for each in hms.get_table_objects_by_name(DB, ["t", "local_times", "none", "e"])
        ] == ["t", "e"]
        request = ttypes.GetTablesRequest(DB, tablesPattern="*")
        assert [each.tableName for each in hms.get_table_objects_by_name_req(request).tables] == ["e", "t"]
        with pytest.raises(
            ttypes.MetaException, match="column a is or has timestamp_ntz, which Hive has not"
        ):
            hms.get_table(DB, "local_times")
    with served(lake.folder, spark_alone=True) as port, client(port) as hms:
        assert [each.name for each in hms.get_table(DB, "local_times").sd.cols] == ["col"]


def test_columns(hms: Any) -> None:
    """Columns come with partition columns and without."""
    assert [each.name for each in hms.get_fields(DB, T)] == ["a"]
    assert [(each.name, each.type) for each in hms.get_schema(DB, T)] == [
        ("a", "bigint"),
        ("p", "int"),
        ("s", "string"),
    ]
    table = hms.get_table_req(ttypes.GetTableRequest(DB, T)).table
    assert [each.name for each in table.partitionKeys] == ["p", "s"]
    assert table.tableType == "EXTERNAL_TABLE"


def test_a_commit_is_visible_to_the_next_call(hms: Any, lake: PythonLake) -> None:
    """The next call has a new partition and a new file in an old one, and older versions by their names."""
    before = lake.table(T).version
    first = hms.get_partition(DB, T, list(ONE))
    lake.write(T, "p=1/s=a b/g.parquet", [{"a": 1}])
    lake.write(T, "p=5/s=new/f.parquet", [{"a": 5}])
    assert hms.get_partition(DB, T, ["5", "new"]).parameters["numFiles"] == "1"
    second = hms.get_partition(DB, T, list(ONE))
    assert [each.parameters["numFiles"] for each in (first, second)] == ["1", "2"]
    assert first.sd.location != second.sd.location
    old = f"{T}@v{before}"
    assert hms.get_partition(DB, old, list(ONE)).sd.location == first.sd.location
    assert [len(hms.get_partitions(DB, name, -1)) for name in (T, old)] == [10, 9]
    assert hms.get_table(DB, old).tableName == old
    with pytest.raises(ttypes.NoSuchObjectException, match="has no version 99"):
        hms.get_table(DB, f"{T}@v99")


def test_notifications_have_tables(hms: Any, lake: PythonLake) -> None:
    """A change has the table's record, as clients read it: its columns, and no folder to write to."""
    first = hms.get_current_notificationEventId().eventId
    lake.alter("t", comment="changed")
    lake.create("new", {"a": "long"})
    lake.metastore.drop_table("default", "e")
    found = {}
    for event in hms.get_next_notification(ttypes.NotificationEventRequest(first)).events:
        message = json.loads(event.message)
        for field in ("tableObjJson", "tableObjBeforeJson", "tableObjAfterJson"):
            if field in message:
                table = ttypes.Table()
                table.read(TJSONProtocol(TMemoryBuffer(message[field].encode())))
                found[event.eventType, event.tableName, field] = table
    assert sorted(found) == [
        ("ALTER_TABLE", "t", "tableObjAfterJson"),
        ("ALTER_TABLE", "t", "tableObjBeforeJson"),
        ("CREATE_TABLE", "new", "tableObjJson"),
        ("DROP_TABLE", "e", "tableObjJson"),
    ]
    after = found["ALTER_TABLE", "t", "tableObjAfterJson"]
    assert [each.name for each in after.partitionKeys] == ["p", "s"]
    assert after.parameters["comment"] == "changed"
    assert after.sd.location.endswith("/read-the-partitions")
    assert found["DROP_TABLE", "e", "tableObjJson"].tableName == "e"


def test_notifications_follow_commits(hms: Any, lake: PythonLake) -> None:
    """The number grows by one with each change of a table, and the changes say what happened."""
    first = hms.get_current_notificationEventId().eventId
    assert hms.get_current_notificationEventId().eventId == first
    lake.write(T, "p=5/s=new/f.parquet", [{"a": 5}])
    lake.create("made", {"a": "long"})
    lake.metastore.drop_table(DB, "e")
    assert hms.get_current_notificationEventId().eventId == first + 3
    events = hms.get_next_notification(ttypes.NotificationEventRequest(first)).events
    assert [each.eventId for each in events] == [first + 1, first + 2, first + 3]
    assert {(each.eventType, each.tableName) for each in events} == {
        ("ALTER_TABLE", "t"),
        ("CREATE_TABLE", "made"),
        ("DROP_TABLE", "e"),
    }
    assert (
        hms.get_notification_events_count(ttypes.NotificationEventsCountRequest(first, DB)).eventsCount == 3
    )


def test_readers_get_locks_and_writers_none(hms: Any) -> None:
    """Hive's readers open transactions and lock what they read; a lock for writing is refused."""
    opened = hms.open_txns(ttypes.OpenTxnRequest(2, "me", "here")).txn_ids
    assert len(set(opened)) == 2

    def lock(kind: int, operation: int) -> Any:
        part = ttypes.LockComponent(kind, 2, DB, T, operationType=operation)
        return hms.lock(ttypes.LockRequest([part], opened[0], "me", "here"))

    granted = lock(1, 1)
    assert granted.state == hms.check_lock(ttypes.CheckLockRequest(granted.lockid)).state == 1
    hms.unlock(ttypes.UnlockRequest(granted.lockid))
    hms.commit_txn(ttypes.CommitTxnRequest(opened[0]))
    written = hms.get_valid_write_ids(ttypes.GetValidWriteIdsRequest([f"{DB}.{T}"])).tblValidWriteIds
    assert (written[0].writeIdHighWaterMark, written[0].invalidWriteIds) == (1, [])
    with pytest.raises(TException, match="cannot be locked for writing"):
        lock(3, 2)


def _refused() -> list[str]:
    names = [name for name in dir(ThriftHiveMetastore.Iface) if not name.startswith("_")]
    return sorted((set(names) & definitions().calls.keys()) - answered_calls().keys())


def test_every_call_that_writes_is_refused(lake: PythonLake) -> None:
    """Every other call of Hive's definitions changes nothing, and gets an error that says what to do."""
    before = [lake.table(name).identity for name in ("t", "e")]
    assert {"create_table", "drop_partition", "alter_table", "truncate_table", "add_partitions_req"} <= set(
        _refused()
    )
    with served(lake.folder) as port, client(port) as hms:
        for name in _refused():
            parameters = list(inspect.signature(getattr(hms, name)).parameters)
            with pytest.raises(TException) as caught:
                getattr(hms, name)(*[None] * len(parameters))
            said = getattr(caught.value, "message", None) or str(caught.value)
            assert "is a warehouse of Parquetry, for reading" in said, name
        assert hms.getStatus() == 2
    assert [lake.table(name).identity for name in ("t", "e")] == before


def test_calls_without_arguments_never_fail_within(hms: Any) -> None:
    """Every answered call with nothing in its arguments gets an answer, or an error in words."""
    for name in sorted(answered_calls().keys() & set(dir(ThriftHiveMetastore.Iface))):
        parameters = list(inspect.signature(getattr(hms, name)).parameters)
        said = ""
        try:
            getattr(hms, name)(*[None] * len(parameters))
        except TException as error:
            said = str(error)
        assert "has failed" not in said, name


def test_renamed_columns(lake: PythonLake) -> None:
    """A renamed column has its name in the files; the table is refused if another column took that name."""
    lake.create("r", {"a": "long", "b": "long"})
    columns = lake.table("r").metadata.columns

    def renamed(*names: str) -> None:
        lake.alter(
            "r",
            columns=tuple(
                each.__replace__(name=name, metadata={PHYSICAL_NAME: each.name})
                for each, name in zip(columns, names, strict=True)
            ),
        )

    with served(lake.folder) as port, client(port) as hms:
        renamed("x", "b")
        assert [each.name for each in hms.get_fields(DB, "r")] == ["a", "b"]
        renamed("b", "a")
        with pytest.raises(
            ttypes.MetaException, match="column b is called a in the files, as another column is now"
        ):
            hms.get_table(DB, "r")


def test_versions_that_overwrite(hms: Any, lake: PythonLake) -> None:
    """A partition that was overwritten has its new files alone, though the old ones are beside them."""
    table = lake.table(T)
    partition = table.partition((1, "a b"))
    assert partition is not None
    lake.put(T, "p=1/s=a b/new.parquet", pa.table({"a": [77]}))
    transaction = Transaction(table, "overwrite")
    transaction.replace((1, "a b"), [partition.files[0].__replace__(path="new.parquet")])
    commit(transaction)
    folder = Path(hms.get_partition(DB, T, list(ONE)).sd.location.removeprefix("file:"))
    assert [each.name for each in folder.iterdir()] == ["new.parquet"]


def test_defaults_of_columns_that_files_lack(lake: PythonLake) -> None:
    """Spark's clients fill in a default, from a parameter; for others, a table with such files is refused."""
    lake.create("d", {"p": "integer", "a": "long"}, ["p"])
    lake.write("d", "p=1/f.parquet", [{"a": 1}])
    columns = lake.table("d").metadata.columns
    more = TableColumn("d", "integer", metadata={"EXISTS_DEFAULT": "42", "CURRENT_DEFAULT": "42"})
    lake.alter("d", columns=(*columns, more))
    with (
        served(lake.folder) as port,
        client(port) as hms,
        pytest.raises(ttypes.MetaException, match="lacks column d"),
    ):
        hms.get_partitions(DB, "d", -1)
    with served(lake.folder, spark_alone=True) as port, client(port) as hms:
        assert len(hms.get_partitions(DB, "d", -1)) == 1
        assert '"EXISTS_DEFAULT":"42"' in hms.get_table(DB, "d").parameters["spark.sql.sources.schema"]


def test_times_as_partition_columns(lake: PythonLake) -> None:
    """Texts of times have no zone: a table partitioned by them is served if all clients are in UTC."""
    lake.create("times", {"at": "timestamp", "a": "long"}, ["at"])
    lake.write("times", "at=2026-01-02 03%3A04%3A05/f.parquet", [{"a": 1}])
    with served(lake.folder) as port, client(port) as hms, pytest.raises(ttypes.MetaException, match="--utc"):
        hms.get_partitions(DB, "times", -1)
    with served(lake.folder, utc=True) as port, client(port) as hms:
        assert [
            each.values for each in hms.get_partitions_by_filter(DB, "times", "at > '2026-01-01'", -1)
        ] == [["2026-01-02 03:04:05"]]


def test_the_log_has_plans(lake: PythonLake, caplog: pytest.LogCaptureFixture) -> None:
    """At the level of debugging, the log has the ranges of keys that a filter becomes."""
    with caplog.at_level("DEBUG", "parquetry.hive"), served(lake.folder) as port, client(port) as hms:
        hms.get_partitions_by_filter(DB, T, "p = 1 and s > 'a'", -1)
    assert "scan p = 1, s > 'a'" in caplog.text
    assert "default.t: p = 1 and s > 'a': 2 partitions, 2 keys examined" in caplog.text


def test_statistics_of_columns(lake: PythonLake) -> None:
    """Columns of tables have the statistics that ANALYZE counted, and others have none."""
    lake.alter("t", counted=(CountedColumn("a", 3, 8),))
    with served(lake.folder) as port, client(port) as hms:
        (found,) = hms.get_table_statistics_req(ttypes.TableStatsRequest(DB, T, ["A", "s"])).tableStats
        assert (found.colName, found.colType) == ("a", "bigint")
        assert (found.statsData.longStats.numDVs, found.statsData.longStats.numNulls) == (3, 1)
        assert hms.get_table_column_statistics(DB, T, "a").statsObj == [found]
        with pytest.raises(ttypes.NoSuchObjectException, match="has no statistics"):
            hms.get_table_column_statistics(DB, T, "s")


def test_statistics_of_partitions(tmp_path: Path) -> None:
    """Partitions have NULLs and values out of their files; a column that files do not know is left out."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"p": "integer", "a": "long", "s": "string", "n": "decimal(9,2)", "b": "boolean"}, ["p"])

    def rows(*values: int | None) -> pa.Table:
        price = pa.array([decimal.Decimal("-1.50")] * len(values), pa.decimal128(9, 2))
        return pa.table(
            {
                "a": pa.array(values, pa.int64()),
                "s": ["x"] * len(values),
                "n": price,
                "b": [True] * len(values),
            }
        )

    for name, written in {"p=1/f": rows(1, 5, None), "p=1/g": rows(7, 7), "p=2/f": rows(9)}.items():
        lake.put("t", f"{name}.parquet", written)
    lake.sync("t")
    names = ["p=1", "p=2", "p=3"]
    with served(lake.folder) as port, client(port) as hms:
        request = ttypes.PartitionsStatsRequest(DB, T, ["a", "s", "n", "b"], names)
        found = hms.get_partitions_statistics_req(request)
        assert sorted(found.partStats) == names[:2]
        whole, price, flag = found.partStats["p=1"]
        longs = whole.statsData.longStats
        assert (longs.lowValue, longs.highValue, longs.numNulls, longs.numDVs) == (1, 7, 1, 2)
        decimals = price.statsData.decimalStats
        assert (int.from_bytes(decimals.lowValue.unscaled, "big", signed=True), decimals.lowValue.scale) == (
            -150,
            2,
        )
        assert (decimals.numDVs, flag.statsData.booleanStats.numTrues) == (1, 5)
        together = hms.get_aggr_stats_for(request)
        longs = together.colStats[0].statsData.longStats
        assert (longs.lowValue, longs.highValue, longs.numNulls, together.partsFound) == (1, 9, 1, 2)
        one = hms.get_partition_column_statistics(DB, T, "p=2", "A")
        assert (one.statsDesc.partName, one.statsObj[0].statsData.longStats.highValue) == ("p=2", 9)
        assert [each.isStatsCompliant for each in (found, together, one)] == [False] * 3
        with pytest.raises(ttypes.NoSuchObjectException, match="has no partition p=3"):
            hms.get_partition_column_statistics(DB, T, "p=3", "a")


def test_names_are_those_of_the_newest_version(tmp_path: Path) -> None:
    """Remembered names are of their version, and a later version has its own."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"p": "integer", "a": "long"}, ["p"])
    lake.put("t", "p=1/f.parquet", pa.table({"a": [1]}))
    lake.sync("t")
    with served(lake.folder) as port, client(port) as hms:
        for _ in range(2):
            assert (
                hms.get_partition_names(DB, T, -1) == hms.get_partition_names_ps(DB, T, ["1"], -1) == ["p=1"]
            )
            assert hms.get_partition_names_ps(DB, T, ["2"], -1) == hms.get_partition_names(DB, T, 0) == []
        lake.put("t", "p=2/f.parquet", pa.table({"a": [1]}))
        lake.sync("t")
        assert hms.get_partition_names(DB, T, -1) == ["p=1", "p=2"]
        assert hms.get_partition_names_ps(DB, T, ["2"], -1) == ["p=2"]


def test_constraints(lake: PythonLake) -> None:
    """A primary key is reported with its columns, as one that is not enforced."""
    lake.alter("t", constraints=(Constraint("pk", "primary_key", columns=(("p",), ("a",)), rely=True),))
    with served(lake.folder) as port, client(port) as hms:
        keys = hms.get_primary_keys(ttypes.PrimaryKeysRequest(DB, T)).primaryKeys
        assert [(each.column_name, each.key_seq, each.enable_cstr, each.rely_cstr) for each in keys] == [
            ("p", 1, False, True),
            ("a", 2, False, True),
        ]
        found = hms.get_all_table_constraints(ttypes.AllTableConstraintsRequest(DB, T)).allTableConstraints
        assert [each.column_name for each in found.primaryKeys] == ["p", "a"]


def ask(port: int, name: str, arguments: dict[str, Any]) -> Any:
    """Ask by a call that the generated code does not have, and return the answer's fields."""
    call = definitions().calls[name]
    data = struct.pack(">Ii", 0x80010001, len(name)) + name.encode() + struct.pack(">i", 1)
    with connect(port) as connected:
        connected.sendall(data + encode(call.arguments, arguments))
        connection = Connection(connected)
        assert connection.wait()
        decoder = Decoder(connection)
        assert decoder.head() == (name, 2, 1)
        fields = {} if call.result is None else {0: Field(0, "success", call.result)}
        fields |= {each.number: each for each in call.errors.values()}
        return decoder.record(Struct("result", fields))


def test_calls_of_later_versions(lake: PythonLake) -> None:
    """Hive 4.1 asks for names, filters, databases and functions by records, and gets answers."""
    request = {"dbName": DB, "tblName": T, "maxParts": -1}
    with served(lake.folder) as port:
        assert ask(port, "fetch_partition_names_req", {"partitionReq": request})["success"] == NAMES
        found = ask(
            port, "get_partitions_by_filter_req", {"req": {**request, "filter": "p = 1 and s = 'a b'"}}
        )
        assert [each["values"] for each in found["success"]] == [list(ONE)]
        found = ask(port, "get_databases_req", {"request": {"pattern": "def*"}})["success"]
        assert [each["name"] for each in found["databases"]] == [DB]
        assert ask(port, "get_functions_req", {"request": {}})["success"]["functions"] == []
        for name in ("drop_table_req", "drop_partition_req", "append_partition_req", "create_database_req"):
            (error,) = filter(None, ask(port, name, {}).values())
            assert "is a warehouse of Parquetry, for reading" in error["message"], name


def test_filters_on_tables(hms: Any) -> None:
    """Hive 4.1 asks for a pattern of names by a filter; other filters are refused."""
    name, kind = "hive_filter_field_tableName__", "hive_filter_field_tableType__"
    assert hms.get_table_names_by_filter(DB, f'{name} like "(?i)T.*"', -1) == ["t"]
    assert hms.get_table_names_by_filter(DB, f'{name} like "(?i).*" and {kind} = "VIRTUAL_VIEW"', -1) == []
    assert hms.get_table_names_by_filter(DB, f'{kind} = "EXTERNAL_TABLE"', 1) == ["e"]
    assert hms.get_table_names_by_filter(DB, "", -1) == ["e", "t"]
    with pytest.raises(ttypes.MetaException, match="is not served"):
        hms.get_table_names_by_filter(DB, 'hive_filter_field_owner__ = "me"', -1)
