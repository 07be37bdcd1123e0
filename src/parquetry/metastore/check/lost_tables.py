"""Orphaned tables: tables that are complete, but that no name leads to any more.

This version of Parquetry makes no orphans. Earlier versions did, if a table was renamed or replaced during a
vacuum or a DROP NAMESPACE. Nothing of an orphan is deleted. `fsck` of any table reports them, and can give
them their names back.
"""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.errors import NamespaceNotFoundError, TableExistsError
from parquetry.metastore.namespace.databases import Databases
from parquetry.metastore.namespace.names import TableNames
from parquetry.metastore.results import Finding
from parquetry.store import Store


def orphan_findings(store: Store, repair: bool) -> Iterator[Finding]:
    """Yield the tables and views of a metastore that no name leads to.

    Args:
        store: the metastore's store.
        repair: give them their names back, if the names are free.
    """
    databases = Databases(store)
    names = TableNames(store, databases)
    for id, head in names.orphans():
        repaired = False
        if not databases.exists(head.database):
            advice = f"say CREATE NAMESPACE {head.database}, then run this again with repair => true"
        elif not repair:
            advice = "with repair => true it gets its name back"
        else:
            try:
                names.take(head.database, head.name, id, head.token)
                repaired, advice = True, "it has its name back"
            except (NamespaceNotFoundError, TableExistsError) as error:
                advice = f"{error.message} Rename that, or make it, and run this again"
        about = f"the {head.kind} {head.database}.{head.name}, of id {id.hex()}, is there, but no name leads to it"
        yield Finding(f"lost {head.kind}", None, None, f"{about}: {advice}", repaired)
