"""The needs of tables, found in the metastore, and the work on them, by gain and within a budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.catalog import Catalog
from parquetry.cli.main import main
from parquetry.compaction import Rewrite
from parquetry.data_files import ColumnStatistics
from parquetry.errors import CommitConflictError, UnsupportedError
from parquetry.layout import ArrangementSpec, BucketSpec
from parquetry.metastore import (
    FileRecord,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    commit,
    open_metastore,
)
from parquetry.metastore.manifest import entries
from parquetry.metastore.storage import clock
from parquetry.operations import upkeep
from parquetry.operations.maintenance import maintain, status
from parquetry.planner import NoEngine
from tests.support.tables.lakes import NOW

MB = 1 << 20
DAY_MS = 24 * 60 * 60 * 1000


class Writer(NoEngine):
    """An engine that replaces the files of a rewrite by one, in the records alone."""

    can_rewrite = True

    def __init__(self, disturb: Callable[[TableSnapshot], object] = lambda _: None) -> None:
        self.batches: list[list[int]] = []
        self._disturb = disturb

    def compact(
        self, _table: str, snapshot: TableSnapshot, rewrites: Sequence[Rewrite], operation: str, *_: Any
    ) -> TableSnapshot:
        self._disturb(snapshot)
        self.batches.append([len(each.files) for each in rewrites])
        transaction = Transaction(snapshot, operation)
        for number, each in enumerate(rewrites):
            rows = sum(file.rows or 0 for file in each.files)
            one = FileRecord(
                f"new-{snapshot.version}-{number}",
                each.bytes,
                rows,
                bucket=0 if each.arrangement.buckets else None,
            )
            transaction.replace(each.partition.values, (*each.kept, one), None, each.arrangement)
        return commit(transaction)


class Lake:
    """A warehouse in memory as operations take it, with a session's catalog."""

    name, time_zone = "lake", "UTC"

    def __init__(self, engine: Any = None) -> None:
        self.metastore = open_metastore("/lake", "memory")
        self.engine = engine or Writer()

    def find(self, name: str) -> TableSnapshot:
        return self.metastore.table(*name.split("."))

    def full_name(self, table: TableSnapshot) -> str:
        return f"lake.{table.label}"

    def cache(self, table: TableSnapshot) -> TableSnapshot:
        return table

    def fill(self, name: str, files: int, size: int = MB, parts: int = 2) -> TableSnapshot:
        """Make a table of partitions with as many files each."""
        columns = (TableColumn("x", "int"), TableColumn("d", "int"))
        table = self.metastore.create_table(
            "default", name, TableMetadata(columns, ("d",), "parquet", f"/lake/{name}")
        )
        transaction = Transaction(table, "append")
        for part in range(parts):
            transaction.append((part,), [FileRecord(f"{part}-{i}", size, 1) for i in range(files)])
        return commit(transaction)


def needs(lake: Lake, pattern: str | None = None) -> list[tuple[str, str]]:
    return [(each.table, each.need) for each in status.run(lake, pattern)]


def test_small_files_are_found_and_merged() -> None:
    """Tables come in the order of their gain, one without small files not at all; work ends the need."""
    lake = Lake()
    lake.fill("few", 30)
    lake.fill("many", 200)
    lake.fill("good", 1)
    first, second = status.run(lake)
    assert (first.table, first.need, first.count, first.bytes) == (
        "lake.default.many",
        "small files",
        400,
        400 * MB,
    )
    assert second.table == "lake.default.few"
    assert first.statement == "CALL lake.system.compact('default.many')"
    planned = list(maintain.run(lake, dry_run=True))
    assert [(each.table, each.outcome) for each in planned] == [
        ("lake.default.many", "planned"),
        ("lake.default.few", "planned"),
    ]
    assert lake.engine.batches == []
    done = list(maintain.run(lake))
    assert [each.outcome for each in done] == ["done", "done"]
    assert "2 partitions rewritten, 400 files before, 2 after" in done[0].detail
    assert needs(lake) == []


def test_a_pattern_chooses_tables() -> None:
    """Only tables whose name fits are looked at, and a pattern that fits none is an error."""
    lake = Lake()
    lake.fill("few", 30)
    lake.fill("many", 30)
    assert needs(lake, "default.M*") == [("lake.default.many", "small files")]
    with pytest.raises(UnsupportedError, match="No table fits 'defualt"):
        needs(lake, "defualt.*")


def test_a_budget_of_bytes_leaves_the_rest() -> None:
    """Partitions are rewritten while bytes last, and the next run goes on where this one ended."""
    lake = Lake()
    lake.fill("t", 30, parts=4)
    (first,) = maintain.run(lake, max_bytes=65 * MB)
    assert first.outcome == "left"
    assert "2 partitions rewritten" in first.detail
    assert "2 partitions left" in first.detail
    (second,) = maintain.run(lake, max_bytes=65 * MB)
    assert (second.outcome, second.count) == ("done", 60)
    with pytest.raises(UnsupportedError, match="max_minutes of maintain is 0"):
        list(maintain.run(lake, max_minutes=0))


def test_the_time_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time no piece begins; pieces that were committed stay, also if the run is killed."""
    monkeypatch.setattr(upkeep, "BYTES_PER_COMMIT", 30 * MB)
    lake = Lake()
    lake.fill("t", 30, parts=4)
    budget = upkeep.Budget(seconds=0)
    assert budget.is_over
    killed = Lake(Writer(lambda table: kill(table) if table.version == 3 else None))
    killed.metastore = lake.metastore
    with pytest.raises(KeyboardInterrupt):
        list(maintain.run(killed))
    (rest,) = status.run(lake)
    assert rest.count == 60  # two of four partitions are done
    (done,) = maintain.run(lake)
    assert done.outcome == "done"


def kill(_table: TableSnapshot) -> None:
    raise KeyboardInterrupt


def test_beside_a_writer_it_tries_again_and_then_leaves_it() -> None:
    """A conflict is tried once more; if it lasts, the table is left for the next run, and others are done."""
    calls: list[int] = []

    def disturb(table: TableSnapshot, always: bool) -> None:
        calls.append(1)
        if table.name == "t" and (always or len(calls) == 1):
            raise CommitConflictError("others commit")

    once = Lake(Writer(lambda table: disturb(table, False)))
    once.fill("t", 30)
    assert [each.outcome for each in maintain.run(once)] == ["done"]
    calls.clear()
    always = Lake(Writer(lambda table: disturb(table, True)))
    always.fill("t", 40)
    always.fill("u", 30)
    assert [(each.table, each.outcome) for each in maintain.run(always)] == [
        ("lake.default.t", "left"),
        ("lake.default.u", "done"),
    ]


def test_old_versions_and_forgotten_vacuums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of more than a week ago, and a month without a vacuum, are needs that a vacuum meets."""
    true_now = clock.now_ms
    monkeypatch.setattr(clock, "now_ms", lambda: true_now() - 40 * DAY_MS)
    lake = Lake()
    table = lake.fill("t", 1)
    replace = Transaction(table, "overwrite")
    replace.replace((0,), [FileRecord("new", 5 * MB, 1)])
    commit(replace)
    monkeypatch.undo()
    (need,) = status.run(lake)
    assert (need.need, need.count, need.bytes) == ("old versions", 2, MB)
    (done,) = maintain.run(lake)
    assert done.outcome == "done"
    assert needs(lake) == []
    monkeypatch.setattr(clock, "now_ms", lambda: true_now() + 31 * DAY_MS)
    (late,) = status.run(lake)
    assert (late.need, late.count) == ("no vacuum", 31)


def test_half_bucketed_tables_and_old_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions without the table's buckets, and lists of files in an older form, are needs."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    monkeypatch.setattr(entries, "MIN_INLINE_FILES", 1)
    monkeypatch.setattr(entries, "MAX_CHUNK_FILES", 4)
    lake = Lake()
    table = lake.fill("t", 1, parts=3)
    sort = Transaction(table, "alter")
    sort.set_metadata(msgspec.structs.replace(table.metadata, properties={"sort-by": "x"}))
    table = commit(sort)
    for number in range(6):
        append = Transaction(table.refresh(), "append")
        bounds = {"x": ColumnStatistics(1, 0, 100 - number, 100 - number)}
        append.append((0,), [FileRecord(f"late{number}", 100 * MB, 1, 1, bounds)])
        commit(append)
    assert needs(lake) == [("lake.default.t", "old records")]
    buckets = ArrangementSpec(buckets=BucketSpec(("x",), 1))
    change = Transaction(table.refresh(), "alter")
    change.set_metadata(msgspec.structs.replace(table.metadata, arrangement=buckets))
    commit(change)
    assert needs(lake) == [("lake.default.t", "other buckets"), ("lake.default.t", "old records")]
    first, second = maintain.run(lake)
    assert (first.count, first.outcome, second.outcome) == (3, "done", "done")
    assert first.statement == "CALL lake.system.rebucket('default.t')"
    assert ("lake.default.t", "other buckets") not in needs(lake)


def test_without_an_engine_files_stay_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands say what Spark has to do, do the rest, and have exit codes for alerts."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = Lake()
        lake.metastore = metastore
        lake.fill("t", 30)

    def run(*arguments: str) -> tuple[int, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "-w", str(tmp_path), "--json"])
        return int(ended.value.code or 0), json.loads(capsys.readouterr().out)

    code, (need,) = run("status")
    assert (code, need["need"], need["table"]) == (1, "small files", "default.t")
    code, (row,) = run("maintain", "default.*", "--max-minutes", "5")
    assert (code, row["outcome"]) == (0, "left")
    assert row["statement"] == "CALL lake.system.compact('default.t')"
    with Catalog.open(str(tmp_path)) as catalog:
        assert [each.need for each in catalog.status("default.*")] == ["small files"]
        assert [each.outcome for each in catalog.maintain(dry_run=True)] == ["planned"]
        with open_metastore(str(tmp_path)) as metastore:
            drop = Transaction(metastore.table("default", "t"), "delete")
            drop.replace_where(None)
            commit(drop)
        assert catalog.status() == []
    assert run("status") == (0, [])
    assert NOW > 0


def test_a_damaged_table_does_not_stop_the_others() -> None:
    """A table that cannot be read is named, fails in `maintain`, and the others are done."""
    lake = Lake()
    lake.fill("good", 30)
    bad = lake.fill("bad", 30)
    broken = Writer()
    size = broken.target_file_size
    broken.target_file_size = lambda metadata: (  # type: ignore[method-assign]
        size(metadata) if metadata.location != bad.metadata.location else refuse()
    )
    lake.engine = broken
    assert needs(lake) == [("lake.default.bad", "unreadable"), ("lake.default.good", "small files")]
    assert [each.outcome for each in maintain.run(lake)] == ["failed", "done"]


def refuse() -> int:
    raise UnsupportedError("Table bad cannot be read.")
