"""One rule for all doors of a vacuum: the guard is on what time travel loses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from parquetry.catalog import Catalog
from parquetry.errors import UnsupportedError, VersionNotFoundError
from parquetry.metastore import Transaction, commit, old_versions
from parquetry.metastore.storage import clock
from parquetry.operations.vacuum import VacuumOptions, checked_vacuum, vacuum
from parquetry.planner import NoEngine
from tests.support.tables.lakes import TableLake, busy

DAY_MS = 24 * 60 * 60 * 1000


class Warehouse:
    """A warehouse as the operation takes it."""

    time_zone = "UTC"

    def __init__(self, lake: TableLake) -> None:
        self.metastore, self.engine, self.find = lake.metastore, NoEngine(), lambda _: lake.table()
        self.full_name = lambda table: f"lake.{table.label}"


def now() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def of_operation(lake: TableLake, older_than: int, **options: bool) -> object:
    return vacuum.run(Warehouse(lake), "t", older_than * 1000, **options)


def of_hours(lake: TableLake, older_than: int, **options: bool) -> object:
    return vacuum.run(Warehouse(lake), "t", retain_hours=(now() - older_than) // (60 * 60 * 1000), **options)


def of_catalog(lake: TableLake, older_than: int, **options: bool) -> object:
    return Catalog(lake.metastore).vacuum("t", datetime.fromtimestamp(older_than / 1000, UTC), **options)


DOORS = [of_operation, of_hours, of_catalog]


@pytest.mark.parametrize("door", DOORS)
def test_recent_versions_need_the_switch(tmp_path: Path, door: Callable[..., object]) -> None:
    """Each door refuses to take versions of the last week, names them, and takes them with the switch."""
    lake = busy(tmp_path)
    with pytest.raises(UnsupportedError, match=r"versions 0 to 5, .*allow_recent => true"):
        door(lake, now())
    assert lake.table(0).version == 0
    assert door(lake, now(), dry_run=True)
    assert lake.table(0).version == 0
    assert door(lake, now(), allow_recent=True)
    with pytest.raises(VersionNotFoundError, match="a vacuum took the versions before 6"):
        lake.table(0)


@pytest.mark.parametrize("door", DOORS)
def test_a_table_may_allow_it(tmp_path: Path, door: Callable[..., object]) -> None:
    """The table property vacuum-retention-check switches the guard off for every door."""
    lake = busy(tmp_path)
    change = Transaction(lake.table(), "alter")
    metadata = msgspec.structs.replace(lake.table().metadata, properties={"vacuum-retention-check": "false"})
    change.set_metadata(metadata)
    commit(change)
    assert door(lake, now())
    assert old_versions(lake.table()).count == 0


@pytest.mark.parametrize("door", [of_operation, of_catalog])
@pytest.mark.parametrize("switch", [False, True])
def test_the_future_is_refused(tmp_path: Path, door: Callable[..., object], switch: bool) -> None:
    """A time in the future is a slip, with the switch and in a dry run, too."""
    lake = busy(tmp_path)
    with pytest.raises(UnsupportedError, match="give a time that is past"):
        door(lake, now() + DAY_MS, allow_recent=switch, dry_run=switch)
    assert lake.table(0).version == 0


def test_what_takes_no_recent_version_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard asks for the effect: a recent time is fine if all that goes was replaced long ago."""
    monkeypatch.setattr(clock, "now_ms", lambda: now() - 30 * DAY_MS)
    lake = busy(tmp_path)
    monkeypatch.undo()
    checked_vacuum(lake.table(), "t", VacuumOptions(older_than=now() - DAY_MS))
    assert old_versions(lake.table()).count == 0
    lake.append((1, "a"), "five")
    with pytest.raises(UnsupportedError, match="version 6, "):
        checked_vacuum(lake.table(), "t", VacuumOptions(retain_hours=0))
    checked_vacuum(lake.table(), "t", VacuumOptions(retain_hours=1))  # version 6 is needed until now
    assert old_versions(lake.table()).count == 1


def test_an_empty_vacuum_says_what_is_kept(tmp_path: Path) -> None:
    """One row has the old versions, the bytes that only they hold, since when, and until when."""
    lake = busy(tmp_path)
    (kept,) = vacuum.run(Warehouse(lake), "t")
    assert (kept.kind, kept.count, kept.bytes) == ("kept versions", 6, len("one") + len("two"))
    assert kept.detail.startswith("versions 0 to 5, since ")
    until = datetime.now(UTC) + timedelta(days=7)
    assert f"a vacuum takes the first after {until:%Y-%m-%d}" in kept.detail
    sentence = vacuum.command.sentence(Warehouse(lake), [kept], {})
    assert "(6 old versions, 6 B)" in sentence
    vacuum.run(Warehouse(lake), "t", now() * 1000, allow_recent=True)
    (alone,) = vacuum.run(Warehouse(lake), "t")
    assert (alone.count, alone.bytes) == (0, 0)
    assert "there are no old versions" in alone.detail
    assert old_versions(lake.table()).vacuumed_at >= now() - DAY_MS


def test_bytes_that_only_old_versions_hold(tmp_path: Path) -> None:
    """A rollback takes files back, so that they are no longer held by old versions alone."""
    lake = TableLake(tmp_path)
    lake.append((1, "a"), "one")
    lake.replace((1, "a"), "three")
    assert old_versions(lake.table()).bytes == len("one")
    Catalog(lake.metastore).rollback("t", 1)
    assert old_versions(lake.table()).bytes == len("three")
