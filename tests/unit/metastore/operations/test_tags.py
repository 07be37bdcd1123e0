"""Tags: versions by name, which no vacuum takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from parquetry.catalog import Catalog
from parquetry.cli.main import app
from parquetry.errors import ParquetryError, UnsupportedError, VersionNotFoundError
from parquetry.metastore import (
    Draft,
    Metastore,
    drop_tag,
    dump,
    old_versions,
    restore,
    rollback,
    set_tag,
    tags_of,
    vacuum,
)
from parquetry.metastore.cleanup import retention
from parquetry.metastore.operations import tags
from parquetry.metastore.storage.format import TAGGED, version_in
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import FORMAT
from parquetry.store import MemoryStore, open_store
from tests.support.stores.metastores import content
from tests.support.tables.lakes import NOW, TableLake, busy


def test_a_tag_names_and_keeps_a_version(tmp_path: Path) -> None:
    """A vacuum takes the versions before the first tag alone, until the tag is dropped."""
    lake = busy(tmp_path)
    then = lake.listed(2)
    set_tag(lake.table(), "end-of-year", 2)
    set_tag(lake.table(), "Later", 4)
    assert [(tag.name, tag.version) for tag in tags_of(lake.table())] == [("Later", 4), ("end-of-year", 2)]
    vacuum(lake.table(), older_than=NOW, grace=0)
    head = read_head(lake.metastore.store, lake.table().id)
    assert head is not None
    assert head.oldest == 2
    named = lake.metastore.table("default", "t", version="end-of-year")
    assert named.version == 2
    assert lake.listed(2) == then
    assert then <= lake.on_disk()
    drop_tag(lake.table(), "end-of-year")
    vacuum(lake.table(), older_than=NOW, grace=0)
    assert read_head(lake.metastore.store, lake.table().id).oldest == 4  # type: ignore[union-attr]
    drop_tag(lake.table(), "Later")
    vacuum(lake.table(), older_than=NOW, grace=0)
    head = read_head(lake.metastore.store, lake.table().id)
    assert head is not None
    assert head.oldest == lake.table().version
    assert lake.on_disk() == lake.listed()


def test_what_a_vacuum_would_take_heeds_tags(tmp_path: Path) -> None:
    """The numbers of versions that a vacuum would take leave out tagged ones."""
    lake = busy(tmp_path)
    set_tag(lake.table(), "first", 0)
    held = old_versions(lake.table())
    assert (held.count, held.expired, held.until, held.tag) == (6, 0, None, "first")
    drop_tag(lake.table(), "first")
    assert old_versions(lake.table()).until is not None


def test_tags_follow_the_table(tmp_path: Path) -> None:
    """A tag stays through commits, a rollback past it, a rename, and a dump; a dropped table has none."""
    lake = busy(tmp_path)
    set_tag(lake.table(), "t2", 2)
    then = content(lake.table(2))
    rollback(lake.table(), lake.table(1))
    renamed = lake.metastore.rename_table("default", "t", "default", "u")
    assert content(lake.metastore.table("default", "u", version="t2")) == then
    dump(lake.metastore, str(tmp_path / "dump"))
    other = Metastore(MemoryStore(), lake.metastore.warehouse)
    restore(other, str(tmp_path / "dump"))
    assert tags_of(other.table("default", "u")) == tags_of(renamed)
    assert content(other.table("default", "u", version="t2")) == then
    assert version_in(other.store.rows.get(FORMAT) or b"") == TAGGED
    back = rollback(renamed, lake.metastore.table("default", "u", version="t2"))
    assert content(back) == then
    lake.metastore.drop_table("default", "u")
    with pytest.raises(ParquetryError, match="dropped"):
        tags_of(renamed)


def test_catalog(tmp_path: Path) -> None:
    """Python's catalog makes, lists and drops tags, and goes back to one."""
    lake = busy(tmp_path)
    catalog = Catalog(lake.metastore)
    assert catalog.tag("t", "now").version == 6
    assert catalog.tag("t", "then", 1).version == 1
    assert catalog.tag("t", "then", 1) == catalog.tags("t")[1]  # nothing to do
    assert catalog.tag("t", "then", 2, replace=True).version == 2
    catalog.rollback("t", "then")
    assert content(lake.table()) == content(lake.table(2))
    assert catalog.drop_tag("t", "now").version == 6
    assert [tag.name for tag in catalog.tags("t")] == ["then"]
    with pytest.raises(ValueError, match="version and timestamp"):
        catalog.tag("t", "x", 1, timestamp=datetime.now(UTC))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (
            lambda lake: set_tag(lake.table(), "17", 1),
            "'17' cannot be a tag of table default.t: a number names",
        ),
        (lambda lake: set_tag(lake.table(), " x", 1), "begins and ends with none that is blank"),
        (lambda lake: set_tag(lake.table(), "", 1), "'' cannot be a tag"),
        (lambda lake: set_tag(lake.table(), "Main", 1), "the newest version for readers of Iceberg"),
        (lambda lake: set_tag(lake.table(), "x" * 256, 1), "255 characters at most"),
        (lambda lake: set_tag(lake.table(), "x", 7), "no version 7 that tag 'x' could be given to"),
        (
            lambda lake: set_tag(lake.table(), "kept", 2),
            "Tag 'kept' of table default.t is at version 1: choose",
        ),
        (lambda lake: set_tag(lake.table(), "more", 2), "has 1 tags already"),
        (lambda lake: drop_tag(lake.table(), "gone"), "no version of tag 'gone'; its tags are 'kept'"),
        (lambda lake: lake.metastore.table("default", "t", version="gone"), "no version of tag 'gone'"),
        (
            lambda lake: set_tag(Draft(lake.metastore).metastore.table("default", "t"), "x", 1),
            "A tag of table default.t cannot be part of a transaction",
        ),
    ],
)
def test_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: Callable[[TableLake], object], words: str
) -> None:
    """Bad tags are refused in words, and change nothing."""
    lake = busy(tmp_path)
    monkeypatch.setattr(tags, "MAX_TAGS", 1)
    set_tag(lake.table(), "kept", 1)
    head = read_head(lake.metastore.store, lake.table().id)
    with pytest.raises((UnsupportedError, VersionNotFoundError), match=re.escape(words)):
        attempt(lake)
    assert read_head(lake.metastore.store, lake.table().id) == head


def test_commands(tmp_path: Path) -> None:
    """The commands make, list and drop tags; a vacuum without work names the tag that keeps versions."""
    lake = busy(tmp_path, open_store(None, str(tmp_path), create=True))

    def run(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*words, "--warehouse", str(tmp_path)])
        assert result.exit_code == code, result.output
        return result.output

    assert "end-of-year is now a tag of version 0." in run("tag", "t", "end-of-year", "0")
    assert "today is now a tag of version 6." in run("tag", "t", "today")
    assert json.loads(run("tags", "t", "--json"))[0]["name"] == "end-of-year"
    assert "tag 'end-of-year' keeps them" in run("vacuum", "t", "--older-than", "now", "--allow-recent")
    assert "is again what it was then, as version 7." in run("rollback", "t", "--tag", "end-of-year")
    assert "Version 0 has the tag end-of-year no longer." in run("drop-tag", "t", "end-of-year")
    assert lake.table().totals.files == 0


def test_a_tag_beside_a_vacuum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a version gets a tag after a vacuum has chosen it, the vacuum keeps it."""
    lake = busy(tmp_path)
    chosen = retention.commit_as_of

    def choose(*arguments: object) -> object:
        found = chosen(*arguments)  # type: ignore[arg-type]
        if not tags_of(lake.table()):
            set_tag(lake.table(), "just-in-time", 3)
        return found

    monkeypatch.setattr(retention, "commit_as_of", choose)
    then = lake.listed(3)
    vacuum(lake.table(), older_than=NOW, grace=0)
    assert tags_of(lake.table())[0].version == 3
    assert lake.listed(3) == then
    assert then <= lake.on_disk()


def test_no_head_returns(tmp_path: Path) -> None:
    """After a tag was made and dropped, the head is another one than before."""
    lake = busy(tmp_path)
    before = read_head(lake.metastore.store, lake.table().id)
    set_tag(lake.table(), "x", 1)
    drop_tag(lake.table(), "x")
    after = read_head(lake.metastore.store, lake.table().id)
    assert before is not None
    assert after is not None
    assert after.next_ticket == before.next_ticket + 2
    assert after.tags == {}
