"""A metastore with Hive's own wire that keeps what it is given in memory, for tests without a JVM."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from hive_metastore import ThriftHiveMetastore, ttypes  # type: ignore[import-untyped]
from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory  # type: ignore[import-untyped]
from thrift.server.TServer import TThreadedServer  # type: ignore[import-untyped]
from thrift.transport.TSocket import TServerSocket  # type: ignore[import-untyped]
from thrift.transport.TTransport import TBufferedTransportFactory  # type: ignore[import-untyped]

from parquetry.locations import partition_paths
from parquetry.types import parse_type


class KeptMetastore:
    """Answers the calls that keep tables, and refuses what Hive refuses: names that are taken or missing, and
    columns whose type changes."""

    def __init__(self) -> None:
        self._databases: set[str] = set()
        self._tables: dict[tuple[str, str], Any] = {}
        self._partitions: dict[tuple[str, str], dict[str, Any]] = {}

    def get_database(self, name: str) -> Any:
        if name not in self._databases:
            raise ttypes.NoSuchObjectException(name)
        return ttypes.Database(name)

    def create_database(self, database: Any) -> None:
        self._databases.add(database.name)

    def get_table(self, database: str, name: str) -> Any:
        if (database, name) not in self._tables:
            raise ttypes.NoSuchObjectException(f"{database}.{name}")
        return self._tables[database, name]

    def create_table(self, table: Any) -> None:
        key = table.dbName, table.tableName
        if key in self._tables:
            raise ttypes.AlreadyExistsException(table.tableName)
        self.get_database(table.dbName)
        self._tables[key], self._partitions[key] = table, {}

    def alter_table_with_environment_context(
        self, database: str, name: str, table: Any, context: Any
    ) -> None:
        before = [each.type for each in self.get_table(database, name).sd.cols]
        if any(old != new.type for old, new in zip(before, table.sd.cols, strict=False)):
            raise ttypes.InvalidOperationException("incompatible types")
        assert context.properties == {"DO_NOT_UPDATE_STATS": "true"}
        self._tables[database, name] = table

    def drop_table(self, database: str, name: str, _files: bool) -> None:
        self.get_table(database, name)
        del self._tables[database, name], self._partitions[database, name]

    def _of(self, database: str, name: str) -> dict[str, Any]:
        self.get_table(database, name)
        return self._partitions[database, name]

    def _name(self, partition: Any) -> str:
        keys = [each.name for each in self.get_table(partition.dbName, partition.tableName).partitionKeys]
        texts = [None if "DEFAULT_PARTITION" in each else each for each in partition.values]
        return str(partition_paths(keys, [parse_type("string")] * len(keys), [texts])[0])

    def get_partition_names(self, database: str, name: str, _most: int) -> list[str]:
        return list(self._of(database, name))

    def get_partitions_by_names(self, database: str, name: str, names: list[str]) -> list[Any]:
        kept = self._of(database, name)
        return [kept[each] for each in names if each in kept]

    def get_partition_by_name(self, database: str, name: str, partition: str) -> Any:
        return self._of(database, name)[partition]

    def get_partitions(self, database: str, name: str, _most: int) -> list[Any]:
        return list(self._of(database, name).values())

    def add_partition(self, partition: Any) -> Any:
        self.add_partitions([partition])
        return partition

    def add_partitions(self, partitions: list[Any]) -> int:
        for each in partitions:
            kept = self._of(each.dbName, each.tableName)
            if self._name(each) in kept:
                raise ttypes.AlreadyExistsException(self._name(each))
            kept[self._name(each)] = each
        return len(partitions)

    def alter_partition(self, database: str, name: str, partition: Any) -> None:
        self.alter_partitions_with_environment_context(database, name, [partition], None)

    def alter_partitions_with_environment_context(
        self, database: str, name: str, partitions: list[Any], _context: Any
    ) -> None:
        kept = self._of(database, name)
        for each in partitions:
            if self._name(each) not in kept:
                raise ttypes.InvalidOperationException("no such partition")
            kept[self._name(each)] = each

    def drop_partition(self, database: str, name: str, values: list[str], _files: bool) -> bool:
        kept = self._of(database, name)
        del kept[next(key for key, each in kept.items() if each.values == values)]
        return True

    def drop_partition_by_name(self, database: str, name: str, partition: str, files: bool) -> bool:
        assert not files
        del self._of(database, name)[partition]
        return True


@contextlib.contextmanager
def kept_metastore() -> Iterator[int]:
    """Serve one within a block; yield its port."""
    listening = TServerSocket("127.0.0.1", 0)
    listening.listen()
    server = TThreadedServer(
        ThriftHiveMetastore.Processor(KeptMetastore()),
        listening,
        TBufferedTransportFactory(),
        TBinaryProtocolFactory(),
        daemon=True,
    )
    listening.listen = lambda: None
    threading.Thread(target=server.serve, daemon=True).start()
    yield listening.handle.getsockname()[1]
    listening.close()
