"""The planner answers questions about a table while a statement replaces it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from parquetry.metastore import FileRecord, Metastore, Replacement, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake, Staged, table_ref
from parquetry.store import MemoryStore
from tests.support.stores.metastores import metadata


def test_queries_go_on_with_the_version_that_they_began_with(tmp_path: Path) -> None:
    """A query continues to see its own version, not the unfinished or finished replacement."""
    metastore = Metastore(MemoryStore(), str(tmp_path))
    table = metastore.create_table("default", "t", metadata(location=str(tmp_path / "t")))
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [FileRecord("a", 1, 1)])
    table = commit(transaction)
    lake = Lake("lake", metastore, NoEngine("UTC"))
    query = table_ref(table)
    replacement = Replacement(metastore.table("default", "t"), metadata(location=str(tmp_path / "t")))
    lake.staged[replacement.id.hex()] = Staged(replacement, "default", "t")
    writer = msgspec.structs.replace(query, id=replacement.id.hex())
    assert list(lake.snapshot(writer).partitions()) == []
    filled = Transaction(lake.snapshot(writer), "append")
    filled.append((2, "b"), [FileRecord("b", 1, 1)])
    lake.cache(commit(filled))
    assert [part.values for part in lake.snapshot(query).partitions()] == [(1, "a")]
    lake.cache(replacement.make_visible())
    assert [part.values for part in lake.snapshot(query).partitions()] == [(1, "a")]
    assert [part.values for part in lake.current(query).partitions()] == [(2, "b")]
