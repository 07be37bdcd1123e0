"""The methods of `Catalog`, and the commands that mirror them, maintain a warehouse without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import parquetry
from parquetry.catalog import Catalog
from parquetry.cli.main import app, main
from parquetry.errors import IndexNotFoundError, TableNotFoundError, UnsupportedError
from parquetry.metastore import TableColumn, TableMetadata, open_metastore
from parquetry.operations import OPERATIONS
from parquetry.warehouse import VARIABLE


def soon() -> datetime:
    """Return a time that all commits precede and that no vacuum takes for the future."""
    return datetime.now(UTC) + timedelta(minutes=1)


ORDERS = (TableColumn("id", "long"), TableColumn("day", "date"), TableColumn("shop", "string"))


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three tables: a Hive tree of Parquet files before adoption, one of ORC, and one with timestamps."""
    path = tmp_path / "lake"
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.chdir(tmp_path)
    with open_metastore(str(path), create=True) as metastore:
        for name, columns, format in (
            ("orders", ORDERS, "parquet"),
            ("old", ORDERS[:2], "orc"),
            ("timed", (ORDERS[0], TableColumn("at", "timestamp")), "parquet"),
        ):
            by = tuple(column.name for column in columns[1:])
            metadata = TableMetadata(columns, by, format, f"{path}/{name}")
            metastore.create_table("default", name, metadata)
    for day, shop, rows in (("2026-03-01", "eu", 3), ("2026-03-01", "us", 4), ("2026-03-02", "eu", 5)):
        put(path / "orders" / f"day={day}" / f"shop={shop}" / "part-0.parquet", rows)
    put(path / "timed" / "at=2026-03-01 00%3A00%3A00" / "part-0.parquet", 1)
    (path / "old" / "day=2026-03-01").mkdir(parents=True)
    (path / "old" / "day=2026-03-01" / "a.orc").write_bytes(b"ORC")
    return path


def put(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(rows))}), path)


@pytest.fixture
def catalog(warehouse: Path) -> Any:
    with parquetry.open(warehouse) as catalog:
        yield catalog


def adopted(catalog: Catalog) -> list[tuple[str, str | None, int | None]]:
    return [(each.action, each.partition, each.rows) for each in catalog.sync("orders")]


def test_sync_takes_in_what_others_wrote(catalog: Catalog) -> None:
    """Partitions, row counts and statistics come from the tree; what is in already is left alone."""
    assert adopted(catalog) == [
        ("added", "day=2026-03-01/shop=eu", 3),
        ("added", "day=2026-03-01/shop=us", 4),
        ("added", "day=2026-03-02/shop=eu", 5),
    ]
    assert catalog.table("orders").rows == 12
    assert [file.statistics["id"].max for file in catalog.files("orders", "shop = 'us'")] == [3]
    assert adopted(catalog) == []


def test_sync_of_some_partitions_and_without_doing_it(catalog: Catalog, warehouse: Path) -> None:
    """A sync with `where` and `dry_run` works as CALL system.sync does, and reports its progress."""
    told: list[tuple[str, int, int | None]] = []
    found = catalog.sync("orders", "shop = 'us'", dry_run=True, progress=lambda *args: told.append(args))
    assert [each.partition for each in found] == ["day=2026-03-01/shop=us"]
    assert ("Reading new partitions", 1, 1) in told
    assert catalog.table("orders").partitions == 0
    catalog.sync("orders", "shop = 'us'")
    assert catalog.table("orders").partitions == 1


def test_sync_of_what_only_an_engine_reads_changes_nothing(catalog: Catalog) -> None:
    """A sync that needs an engine raises an error that says what to do, and changes nothing.

    It needs one for ORC footers, and for directories of timestamps without a time zone.
    """
    with pytest.raises(UnsupportedError, match=r"CALL system\.sync"):
        catalog.sync("old")
    with pytest.raises(UnsupportedError, match="give time_zone"):
        catalog.sync("timed")
    assert (catalog.table("old").version, catalog.table("timed").version) == (0, 0)
    where = "at = '2026-03-01 00:00:00'"  # in that zone, too
    assert catalog.sync("timed", where.replace("03-01", "02-28"), time_zone="Asia/Tokyo") == []
    catalog.sync("timed", where, time_zone="Asia/Tokyo")
    (part,) = catalog.partitions("timed")
    assert part.values["at"] == datetime(2026, 2, 28, 15, tzinfo=UTC)


def test_rollback_and_vacuum(catalog: Catalog, warehouse: Path) -> None:
    """A rollback publishes an old version as a new one.

    Vacuum then deletes the rows that only old versions need.
    """
    catalog.sync("orders")
    shutil.rmtree(warehouse / "orders" / "day=2026-03-02")
    catalog.sync("orders")
    put(warehouse / "orders" / "day=2026-03-02" / "shop=eu" / "part-0.parquet", 5)
    assert catalog.table("orders").partitions == 2
    assert catalog.rollback("orders", 1).partitions == 3
    assert next(catalog.history("orders")).operation == "rollback"
    would = catalog.vacuum("orders", soon(), dry_run=True)
    assert {each.kind for each in would} >= {"commits", "partition versions"}
    assert len(list(catalog.history("orders"))) == 4
    assert catalog.vacuum("orders", soon(), allow_recent=True) == would
    assert [commit.version for commit in catalog.history("orders")] == [3]
    with pytest.raises(TableNotFoundError):
        catalog.rollback("orders", 1)


def test_vacuum_wants_a_time_zone(catalog: Catalog) -> None:
    """A time without one would mean another moment on another machine."""
    with pytest.raises(ValueError, match="has no time zone"):
        catalog.vacuum("orders", datetime(2026, 3, 1))


def test_fsck_tells_of_files_that_the_columns_cannot_be_read_from(
    catalog: Catalog, warehouse: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """fsck reports files whose columns cannot be read, and files that are broken.

    The report has the file, the column, both types and the remedy. Without footers fsck reports none of them.
    """
    folder = warehouse / "orders" / "day=2026-03-01" / "shop=eu"
    pq.write_table(pa.table({"ID": ["a"]}), folder / "text.parquet")
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "more": [1.5]}), folder / "fits.parquet")
    catalog.sync("orders")
    told = "column id is bigint in the table, and BYTE_ARRAY STRING in the file, which cannot be read as that: queries of the column"
    (found,) = catalog.fsck("orders", repair=True)
    assert (found.kind, found.partition, found.path, found.repaired) == (
        "unfit column",
        "day=2026-03-01/shop=eu",
        str(folder / "text.parquet"),
        False,
    )
    assert found.detail == f"{told} fail. Have the file written with the table's type, or take it out."
    (folder / "part-0.parquet").write_bytes(b"PAR1, and no more")
    kinds = [(each.kind, Path(each.path or "").name) for each in catalog.fsck("orders")]
    assert kinds == [
        ("file size", "part-0.parquet"),
        ("broken file", "part-0.parquet"),
        ("unfit column", "text.parquet"),
    ]
    assert [each.kind for each in catalog.fsck("orders", footers=False)] == ["file size"]
    code, out, _ = run("fsck", "orders", "--json")
    assert (code, [each["kind"] for each in json.loads(out)]) == (1, [kind for kind, _ in kinds])
    assert [each["kind"] for each in json.loads(run("fsck", "orders", "--no-footers", "--json")[1])] == [
        "file size"
    ]
    (folder / "text.parquet").unlink()
    assert [each.kind for each in catalog.fsck("orders")] == ["file size", "missing file", "broken file"]


def test_fsck_finds_and_repairs(catalog: Catalog, warehouse: Path) -> None:
    """fsck finds a missing file, and with `repair=True` removes it from the table."""
    catalog.sync("orders")
    assert catalog.fsck("orders") == []
    (warehouse / "orders" / "day=2026-03-02" / "shop=eu" / "part-0.parquet").unlink()
    assert [(each.kind, each.partition, each.repaired) for each in catalog.fsck("orders")] == [
        ("missing file", "day=2026-03-02/shop=eu", False)
    ]
    assert [each.repaired for each in catalog.fsck("orders", repair=True)] == [True]
    assert catalog.table("orders").rows == 7


def test_indexes(catalog: Catalog) -> None:
    """Made, used by plans, built anew, dropped, by name or by columns."""
    catalog.sync("orders")
    assert catalog.create_partition_index("orders", ["shop"]).indexes == {"shop": ("shop",)}
    assert catalog.plan("orders", "shop = 'us'").index == "shop"
    assert catalog.rebuild_partition_index("orders", ["shop"]).indexes == {"shop": ("shop",)}
    assert catalog.drop_partition_index("orders", "shop").indexes == {}
    with pytest.raises(IndexNotFoundError):
        catalog.drop_partition_index("orders", "shop")
    with pytest.raises(TypeError, match="give a list"):
        catalog.create_partition_index("orders", "shop")


# -- the command line


@pytest.fixture
def run(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command; gives exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run


def test_every_procedure_has_a_method_and_a_command() -> None:
    """CALL, Python and the command line mirror each other; what takes an engine is no method."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    by_engine = {name for name, operation in OPERATIONS.items() if operation.by_engine}
    assert by_engine == {
        *("publish", "compact", "rebucket", "suggest_skew", "erase"),
        *("explain", "explain_json", "last_reports"),
    }
    for name in OPERATIONS.keys() - by_engine:
        assert callable(getattr(Catalog, name))
        assert name.replace("_", "-") in commands


def test_commands(run: Callable[..., tuple[int, str, str]], warehouse: Path) -> None:
    """Each does what its method does, and says so in JSON or as a table."""
    code, out, _ = run("sync", "orders", "--json")
    assert code == 0
    assert [(each["action"], each["rows"]) for each in json.loads(out)] == [("added", n) for n in (3, 4, 5)]
    assert "agree" in run("sync", "orders")[1]
    assert json.loads(run("create-partition-index", "orders", "shop", "--json")[1]) == [
        {"name": "shop", "columns": ["shop"]}
    ]
    assert "shop" in run("rebuild-partition-index", "orders", "--columns", "shop")[1]
    assert "has no indexes" in run("drop-partition-index", "orders", "shop")[1]
    assert "nothing to do" in run("compact-metadata", "orders")[1]
    assert run("fsck", "orders")[:2] == (0, "All is as it should be.\n")
    (warehouse / "orders" / "day=2026-03-02" / "shop=eu" / "part-0.parquet").unlink()
    code, out, _ = run("fsck", "orders", "--json")
    assert (code, json.loads(out)[0]["kind"]) == (1, "missing file")
    assert run("fsck", "orders", "--repair")[0] == 0
    code, out, _ = run("rollback", "orders", "0")
    assert (code, out) == (0, "default.orders is again what it was in version 0, as version 8.\n")
    code, out, _ = run(
        "vacuum", "orders", "--older-than", soon().strftime("%Y-%m-%dT%H:%M:%S%z"), "--dry-run"
    )
    assert code == 0
    assert "commits" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("drop-partition-index", "orders"), "Say which index"),
        (("vacuum", "orders", "--older-than", "yesterday"), "--older-than"),
        (("rollback", "orders", "77"), "77"),
        (("sync", "old"), "CALL system.sync"),
        (("sync", "nothing"), "nothing"),
    ],
)
def test_commands_that_cannot_be_run_say_why(
    run: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...], said: str
) -> None:
    """The exit code tells, and the sentence names what is wrong."""
    code, _, err = run(*arguments)
    assert code in (1, 2)
    assert said in err
