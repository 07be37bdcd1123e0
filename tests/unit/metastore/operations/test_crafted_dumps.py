"""Dumps that somebody made by hand, and killed dumps: both raise errors of ours and change nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from parquetry.errors import WarehouseError
from parquetry.metastore import Dropping, Manifest, dump, open_metastore, restore, vacuum
from parquetry.metastore.dumps.dump import remove_unfinished
from parquetry.metastore.dumps.format import MANIFEST, read_manifest, write_manifest
from parquetry.metastore.storage.keyspace import RESTORING
from parquetry.metastore.storage.owner import process_tag
from tests.support.tables.lakes import TableLake
from tests.unit.metastore.deletion.test_deleting_files import KEY

Lines = list[bytes]


@pytest.fixture
def dumped(tmp_path: Path) -> Path:
    """Return the dump of a table with one file."""
    lake = TableLake(tmp_path / "lake")
    lake.append(KEY, "live")
    dump(lake.metastore, tmp_path / "dump")
    return tmp_path / "dump"


def craft(
    folder: Path,
    lines: Callable[[Lines], Lines] = lambda lines: lines,
    manifest: Callable[[Manifest], Manifest] = lambda manifest: manifest,
) -> None:
    """Change a dump, with hashes that fit."""
    before = read_manifest((folder / MANIFEST).read_bytes(), str(folder))
    (table,) = before.tables
    content = lines((folder / table.file).read_bytes().splitlines(keepends=True))
    (folder / table.file).write_bytes(b"".join(content))
    table = msgspec.structs.replace(
        table, lines=len(content), sha256=hashlib.sha256(b"".join(content)).hexdigest()
    )
    after = manifest(msgspec.structs.replace(before, tables=[table]))
    (folder / MANIFEST).write_bytes(write_manifest(after)[1])


def with_table(**changes: object) -> Callable[[Manifest], Manifest]:
    return lambda manifest: msgspec.structs.replace(
        manifest, tables=[msgspec.structs.replace(manifest.tables[0], **changes)]
    )


@pytest.mark.parametrize(
    ("lines", "manifest"),
    [
        (lambda lines: [*lines, b"[1, 2]\n"], None),
        (lambda lines: [*lines, b'{"files": [1]}\n'], None),
        (lambda lines: [*lines, b"[" * 20_000 + b"]" * 20_000 + b"\n"], None),
        (lambda lines: [each.replace(b'"next_ticket":', b'"next_ticket":99999999999999999999,"x":') for each in lines], None),
        (lambda lines: [each.replace(b'"key":"', b'"key":"f') for each in lines], None),
        (lambda lines: lines[:1], None),
        (None, with_table(id="zz")),
        (None, with_table(id="ab")),
        (None, with_table(name="../../victim")),
        (None, with_table(name="T")),
        (None, with_table(file="../outside.jsonl")),
        (None, lambda manifest: msgspec.structs.replace(manifest, tables=manifest.tables * 2)),
    ],
)  # fmt: skip
def test_a_crafted_dump_is_refused_and_changes_nothing(
    dumped: Path,
    tmp_path: Path,
    lines: Callable[[Lines], Lines] | None,
    manifest: Callable[[Manifest], Manifest] | None,
) -> None:
    """The error names the file. The metastore is not marked as being restored, and takes another dump."""
    shutil.copytree(dumped, tmp_path / "whole")
    craft(dumped, lines or (lambda same: same), manifest or (lambda same: same))
    with open_metastore(str(tmp_path / "new"), create=True) as metastore:
        with pytest.raises(WarehouseError, match="make another dump"):
            restore(metastore, dumped, claims=True)
        assert metastore.store.get(RESTORING) is None
        restore(metastore, tmp_path / "whole", claims=True)
        assert metastore.tables("default") == ["t"]


def test_a_dump_without_identity_deletes_no_files_elsewhere(dumped: Path, tmp_path: Path) -> None:
    """Files outside of the warehouse may be another one's. No vacuum and no DROP deletes them."""
    craft(
        dumped,
        manifest=lambda manifest: msgspec.structs.replace(
            manifest, metastore="", store="", warehouse=f"file:{tmp_path}/elsewhere"
        ),
    )
    before = sorted((tmp_path / "lake").rglob("*"))
    with open_metastore(str(tmp_path / "new"), create=True) as metastore:
        restore(metastore, dumped, claims=True)
        vacuum(metastore.table("default", "t"), older_than=1 << 50, grace=-(1 << 50))
        dropping = Dropping(metastore)
        dropping.drop("default", "t")
        dropping.delete_files()
    assert sorted((tmp_path / "lake").rglob("*")) == before


def test_a_killed_dump_leaves_nothing_after_the_next(tmp_path: Path) -> None:
    """The next dump into the same folder deletes what a killed one left, and none that is at work."""
    lake = TableLake(tmp_path / "lake")
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "from parquetry.metastore.storage.owner import process_tag; print(process_tag())",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    names = {
        "dead": f".old.parquetry-dump-{ended}.abcd1234",
        "alive": f".old.parquetry-dump-{process_tag()}.abcd1234",
        "elsewhere": ".old.parquetry-dump-0123456789ab-7-12.abcd1234",
        "other": ".parquetry-dump-notes",
    }
    for name in names.values():
        (tmp_path / name / "tables").mkdir(parents=True)
    dump(lake.metastore, tmp_path / "dump")
    hidden = {name for name in os.listdir(tmp_path) if name.startswith(".")}
    assert hidden == {names["alive"], names["elsewhere"], names["other"]}
    os.utime(tmp_path / names["elsewhere"], (0, 0))
    remove_unfinished(tmp_path)
    assert not (tmp_path / names["elsewhere"]).exists()
