"""Tables that hold all that they held, and that nobody reaches, for no name leads to them any more.

No version since makes such tables; earlier ones did, where a renaming or a replacement came beside a vacuum or a DROP NAMESPACE.
Nothing of them is deleted; `fsck` of any table tells of them, and gives them their names back.
"""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.errors import NamespaceNotFoundError, TableExistsError
from parquetry.maintenance.results import Finding
from parquetry.metastore.namespace import Databases, TableNames
from parquetry.store import Store


def orphan_findings(store: Store, repair: bool) -> Iterator[Finding]:
    """Look for tables and views of a metastore to which no name leads.

    Args:
        store: of the metastore.
        repair: give them their names back, if these are free.
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
