"""Changes of tables with numbers, as Hive's notifications: a client learns which tables have changed.

The metastore has a version for each table, and no number for all. So the heads of all tables are read when a
client asks, and what differs from the last time is numbered. Numbers follow each other without a gap, as
clients want them. After a restart they begin at the time in milliseconds, which is beyond all of before. A
client then misses numbers, and reads everything anew.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError
from parquetry.metastore import Metastore

MAX_CHANGES = 10_000
"""Changes that are remembered."""
_CREATED, _CHANGED, _DROPPED = "CREATE_TABLE", "ALTER_TABLE", "DROP_TABLE"


@dataclass(frozen=True, slots=True)
class TableChange:
    """A change.

    Attributes:
        number: one more than the number of the change before.
        time: of the commit, in seconds since the epoch.
        kind: `CREATE_TABLE`, `ALTER_TABLE` or `DROP_TABLE`.
        database: the database.
        name: the table or view.
    """

    number: int
    time: int
    kind: str
    database: str
    name: str

    def message(self, table: str) -> str:
        """Return the change in JSON, as Hive's own messages have it.

        Args:
            table: the table's record in Thrift's JSON. A change has it as the record before and after.
        """
        about: dict[str, Any] = {
            "eventType": self.kind,
            "server": "",
            "servicePrincipal": "",
            "db": self.database,
            "table": self.name,
            "tableType": "EXTERNAL_TABLE",
            "timestamp": self.time,
        }
        if self.kind == _CHANGED:
            about |= {"tableObjBeforeJson": table, "tableObjAfterJson": table, "isTruncateOp": "false"}
        else:
            about |= {"tableObjJson": table, **({"files": []} if self.kind == _CREATED else {})}
        return msgspec.json.encode(about).decode()


class TableChanges:
    """The changes that were seen. Several threads may ask at once."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, str], tuple[bytes, int, str]] | None = None
        self._newest = time.time_ns() // 1_000_000
        self._seen: deque[TableChange] = deque(maxlen=MAX_CHANGES)
        self._lock = threading.Lock()
        self._numbers = itertools.count(self._newest + 1)

    def newest(self, metastore: Metastore) -> int:
        """Look for changes, and return the number of the newest."""
        with self._lock:
            heads = dict(_heads(metastore))
            if self._heads is not None:
                found = sorted(_differences(self._heads, heads), key=itemgetter(2))  # as they were committed
                for kind, (database, name), moment in found:
                    self._newest = next(self._numbers)
                    self._seen.append(TableChange(self._newest, moment, kind, database, name))
            self._heads = {key: head[:3] for key, head in heads.items()}
            return self._newest

    def after(self, number: int) -> list[TableChange]:
        """Return the remembered changes after one."""
        with self._lock:
            return [each for each in self._seen if each.number > number]


def _heads(metastore: Metastore) -> Iterator[tuple[tuple[str, str], tuple[bytes, int, str, int]]]:
    for database in metastore.databases():
        try:
            names = [*metastore.tables(database), *metastore.views(database)]
        except NamespaceNotFoundError:  # dropped meanwhile
            continue
        for name in names:
            try:
                snapshot = metastore.table(database, name, kind=None)
            except (NamespaceNotFoundError, TableNotFoundError):
                continue
            yield (database, name), (*snapshot.identity, snapshot.committed_at // 1_000)


def _differences(
    before: dict[tuple[str, str], tuple[bytes, int, str]],
    now: dict[tuple[str, str], tuple[bytes, int, str, int]],
) -> Iterator[tuple[str, tuple[str, str], int]]:
    for key in before.keys() - now.keys():
        yield _DROPPED, key, int(time.time())
    for key, head in now.items():
        former = before.get(key)
        if former is None:
            yield _CREATED, key, head[3]
        elif former[0] != head[0]:
            yield _DROPPED, key, head[3]
            yield _CREATED, key, head[3]
        elif former != head[:3]:
            yield _CHANGED, key, head[3]
