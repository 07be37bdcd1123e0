"""A table with `layout` = `auto` follows the queries of its history, and steps can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry import metastore as ms
from parquetry.catalog.upkeep import UpkeepContext
from parquetry.cli.main import main
from parquetry.compaction import Rewrite
from parquetry.data_files import ArrowFooters, FileRecord, TableColumn
from parquetry.identifiers import parse_paths
from parquetry.locations import join_location
from parquetry.operations.maintenance import Maintained, maintain
from parquetry.planner import NoEngine
from tests.support.readers.written_tables import WrittenTable

COLUMNS = (
    TableColumn("id", "long"),
    TableColumn("k", "long"),
    TableColumn("load", "binary"),
    TableColumn("day", "int"),
)
ROWS, FILES = 10_000, 20
"""Rows and files of each day."""
LOAD_BYTES = 400
"""Bytes of a row that no query reads, and that a rewrite has to write anew."""


class SortingEngine(NoEngine):
    """Writes files anew, sorted by the table's `sort-by`, as many as there were."""

    can_rewrite = True

    def compact(
        self,
        _table: str,
        snapshot: ms.TableSnapshot,
        rewrites: Sequence[Rewrite],
        operation: str,
        _progress: Any,
        summary: Mapping[str, str] | None = None,
        /,
    ) -> ms.TableSnapshot:
        """Rewrite with PyArrow."""
        transaction = ms.Transaction(snapshot, operation)
        order = [(path[0], "ascending") for path in parse_paths(snapshot.metadata.properties["sort-by"])]
        for each in rewrites:
            location = each.partition.location
            tables = [pq.ParquetFile(join_location(location, file.path)).read() for file in each.files]
            rows = pa.concat_tables(tables).sort_by(order)
            size = -(-rows.num_rows // len(each.files))
            names = []
            for start in range(0, rows.num_rows, size):
                names.append(
                    f"{snapshot.metadata.location}/v{snapshot.version}-{each.partition.values[0]}-{start}.parquet"
                )
                pq.write_table(rows.slice(start, size), names[-1])
            records = ArrowFooters().data_files("parquet", "/", [name.lstrip("/") for name in names])
            new = [
                FileRecord(f"/{record.path}", record.bytes, record.rows, record.modified, record.columns)
                for record in records
            ]
            transaction.replace(each.partition.values, (*each.kept, *new), None, each.arrangement)
        return ms.commit(transaction, summary)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WrittenTable:
    """Two days of rows in no order, in a warehouse with a history."""
    monkeypatch.setenv("PARQUETRY_PRUNING_HISTORY", "values")
    properties = {"layout": "auto", "target-file-size": "256kb"}
    table = WrittenTable(tmp_path, COLUMNS, ("day",), properties=properties)
    for day in (0, 1):
        rng = np.random.default_rng(day)
        ids = np.arange(day * ROWS, (day + 1) * ROWS)
        load = [rng.bytes(LOAD_BYTES) for _ in range(ROWS)]
        rows = pa.table({"id": ids, "k": rng.permutation(ROWS), "load": load})
        table.add((day,), *(rows.slice(start, ROWS // FILES) for start in range(0, ROWS, ROWS // FILES)))
    return table


def ask(table: WrittenTable, count: int, column: str = "k") -> list[int]:
    """Run queries of the second day, and return the ids that they find."""
    found = []
    with parquetry.open(str(table.warehouse)) as lake:
        for number in range(count):
            first = number * 997 % ROWS + (ROWS if column == "id" else 0)
            rows = lake.scan(
                "shop.t", f"day = 1 AND {column} BETWEEN {first} AND {first + 50}", columns=["id"]
            )
            found += [row["id"] for row in rows.to_arrow().to_pylist()]
    return sorted(found)


def upkeep(table: WrittenTable, engine: Any = None, **arguments: Any) -> tuple[Maintained, ms.TableSnapshot]:
    """Maintain the table; return what became of its layout, and its newest version."""
    with ms.open_metastore(str(table.warehouse)) as metastore:
        context = UpkeepContext(metastore, engine or SortingEngine())
        done = [row for row in maintain.run(context, "shop.t", **arguments) if row.need == "layout"]
        assert len(done) == 1
        return done[0], metastore.table("shop", "t")


def test_a_table_follows_its_queries_and_a_rollback_is_respected(
    table: WrittenTable, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of the queried day are sorted, with reasons and promises; undone stays undone."""
    idle, before = upkeep(table)
    assert (idle.outcome, idle.detail) == ("left", "the history has no query of it in the last 7 days")
    answers = ask(table, 40)
    planned, still = upkeep(table, dry_run=True)
    assert (planned.outcome, still.version) == ("planned", before.version)
    done, after = upkeep(table)
    assert (done.outcome, done.count) == ("done", FILES), done
    assert done.detail.startswith("40 queries read ")
    assert after.metadata.properties["sort-by"] == "k"
    (kept,) = [each for each in after.partitions() if each.values == (0,)]
    assert all("/v" not in file.path for file in kept.files)
    assert (after.totals.rows, after.totals.files) == (2 * ROWS, 2 * FILES)
    steps = [commit for commit in ms.history(after) if "reason" in commit.summary]
    assert [commit.operation for commit in steps] == ["compact", "layout"]
    assert all(commit.summary["reason"] == done.detail for commit in steps)

    assert ask(table, 40) == answers
    with parquetry.open(str(table.warehouse)) as lake:
        (promise,) = lake.promises("shop.t")
    assert (promise.queries, promise.given.promise.layout) == (40, "partitions by day, sorted by k")
    assert promise.bytes is not None
    assert 0.8 < promise.bytes / promise.given.promise.bytes < 1.2, str(promise)
    with pytest.raises(SystemExit):
        main(["queries", "shop.t", "--limit", "1", "-w", str(table.warehouse)])
    assert capsys.readouterr().out.endswith(f"Promise of {promise}.\n")
    assert str(promise).endswith(" in 40 queries since")
    again, same = upkeep(table)
    assert (again.outcome, same.version) == ("left", after.version), again

    with parquetry.open(str(table.warehouse)) as lake:
        lake.rollback("shop.t", before.version)
    assert ask(table, 40) == answers
    refused, rolled_back = upkeep(table)
    assert refused.detail == (
        "it stays: the layout 'partitions by day, sorted by k' was undone by a rollback, so it is not taken again"
    )
    assert "sort-by" not in rolled_back.metadata.properties


def test_steps_are_paid_by_queries(table: WrittenTable) -> None:
    """Two queries pay no rewrite; a budget leaves files; without Spark, only new files follow."""
    ask(table, 2)
    few, before = upkeep(table)
    assert few.detail == "it stays: the layout 'partitions by day, sorted by k' does not pay within 2 queries"
    ask(table, 60)
    size = sum(file.bytes for part in before.partitions() for file in part.files) // (2 * FILES)
    some, _ = upkeep(table, max_bytes=size * 10 + size // 2)
    assert (some.outcome, some.count) == ("done", 10)
    assert some.bytes <= size * 10 + size // 2
    unpaid, _ = upkeep(table)
    assert unpaid.detail == "the history has no query of it since the last step"
    ask(table, 40)
    more, _ = upkeep(table)
    assert (more.outcome, more.count) == ("done", 10), more


def test_without_spark_new_files_follow(table: WrittenTable) -> None:
    """The command sets the properties; files are left, with the statement for Spark."""
    ask(table, 40)
    with ms.open_metastore(str(table.warehouse)) as metastore:
        (left,) = [row for row in maintain.run(UpkeepContext(metastore), "shop.t") if row.need == "layout"]
        properties = metastore.table("shop", "t").metadata.properties
    assert left.outcome == "left"
    assert left.statement == "CALL lake.system.maintain('shop.t')"
    assert properties["sort-by"] == "k"
