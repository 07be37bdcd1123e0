"""One table of HBase through Thrift2: cells with their timestamps, one request per call.

A row has a column with its value, and perhaps one for each of its fields. A delete names the timestamp of the
cell that it removes, never a later one. A delete marker hides every put up to its timestamp, and so also a
put made afterwards in the same millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from parquetry.errors import StoreError, WarehouseError
from parquetry.store.hbase.connection import Connections, RequestError, thrift
from parquetry.store.hbase.filters import FAMILY, VALUE, field_column, keys_only, values_only

CLOCK_TICK_SECONDS = 0.002
"""Seconds after which a server's clock, which counts milliseconds, has surely moved on."""


class Cell(NamedTuple):
    """The cell of a row's value.

    Attributes:
        stored: the bytes in the column.
        timestamp: time of the write in milliseconds, by the clock of the server that wrote it.
    """

    stored: bytes
    timestamp: int


class HBaseTable:
    """A table of HBase.

    Args:
        connections: connections to the Thrift2 server.
        name: name of the table, with or without ``namespace:``.
    """

    def __init__(self, connections: Connections, name: str) -> None:
        self.label = f"HBase table {name!r} at {connections.address}"
        self._connections = connections
        self._name = name.encode()
        namespace, _, qualifier = name.rpartition(":")
        self._full_name = thrift.TTableName(
            ns=(namespace or "default").encode(), qualifier=qualifier.encode()
        )
        self._columns = [thrift.TColumn(family=FAMILY, qualifier=VALUE)]

    def _call(self, method: str, *arguments: Any, repeat: bool = True) -> Any:
        return self._connections.call(method, self._name, *arguments, repeat=repeat)

    # -- the table itself

    def exists(self) -> bool:
        """Return whether the table exists.

        Raises:
            WarehouseError: it exists without the column family of this store.
        """
        if not self._connections.call("tableExists", self._full_name):
            return False
        families = self._connections.call("getTableDescriptor", self._full_name).columns or ()
        if FAMILY not in [family.name for family in families]:
            raise WarehouseError(
                f"The {self.label} has no column family {FAMILY.decode()!r}: it is not a metastore; "
                "name another table, or add the family."
            )
        return True

    def create(self, splits: Sequence[bytes]) -> None:
        """Create the table, unless another client is faster.

        Args:
            splits: first keys of all its regions but the first.
        """
        # Without this encoding every cell repeats the row's key; with it, cells store their difference only.
        encoding = thrift.TDataBlockEncoding.FAST_DIFF
        family = thrift.TColumnFamilyDescriptor(name=FAMILY, maxVersions=1, dataBlockEncoding=encoding)
        table = thrift.TTableDescriptor(tableName=self._full_name, columns=[family])
        try:
            self._connections.call("createTable", table, sorted(splits) or None)
        except RequestError as error:
            if "TableExistsException" not in error.message:
                raise

    # -- rows

    def get(self, keys: Sequence[bytes], *, values: bool = True) -> list[Cell | None]:
        """Return the cells of rows, in the order of the keys.

        Args:
            keys: keys of the rows.
            values: whether to return the stored bytes; if not, only their timestamps.
        """
        filter = None if values else keys_only()
        gets = [thrift.TGet(row=key, columns=self._columns, filterBytes=filter) for key in keys]
        cells = []
        for result in self._call("getMultiple", gets):
            columns = result.columnValues
            cells.append(Cell(columns[0].value, columns[0].timestamp) if columns else None)
        return cells

    def scan(
        self,
        start: bytes,
        stop: bytes | None,
        count: int,
        *,
        reverse: bool = False,
        filter: bytes | None = None,
    ) -> list[tuple[bytes, bytes]]:
        """Return the first `count` rows of a range with their stored bytes, or fewer if it has no more.

        The scanner lives for this one request. It need not be carried over to another connection, where its
        number may belong to a foreign scanner, and the caller need not close it.

        Args:
            start: first key, which belongs to the range; in reverse, the greatest key. b"" is no bound.
            stop: end of the range, which does not belong to it; None is no bound.
            count: number of rows.
            reverse: whether to scan from the greatest key down.
            filter: serialised filter, which must leave out the fields. None for a filter that does only this.
        """
        scan = thrift.TScan(
            startRow=start or None,
            stopRow=stop or None,
            # If a request names columns, HBase seeks each of them, which takes longer than passing over the
            # others. It also looks for them in the start row first, whether or not that row exists.
            columns=[thrift.TColumn(family=FAMILY)],
            caching=count,
            limit=count,
            reversed=reverse or None,
            filterBytes=values_only() if filter is None else filter,
        )
        return [
            (result.row, result.columnValues[0].value)
            for result in self._call("getScannerResults", scan, count)
        ]

    def put(self, rows: Iterable[tuple[bytes, bytes, Sequence[bytes]]]) -> bool:
        """Store into rows. Each row must come only once: the later of two values need not win.

        Args:
            rows: the key, the bytes to store and the fields of each row.

        Returns:
            whether an earlier try may still arrive, and then overwrite later values.
        """
        puts = [_put(key, stored, fields) for key, stored, fields in rows]
        return self._connections.call_noting("putMultiple", self._name, puts)[1]

    def delete(self, keys: Sequence[bytes]) -> None:
        """Remove the current cells of rows."""
        cells = self.get(keys, values=False)
        deletes = [
            thrift.TDelete(row=key, timestamp=cell.timestamp)
            for key, cell in zip(keys, cells, strict=True)
            if cell is not None
        ]
        if not deletes:
            return
        time.sleep(CLOCK_TICK_SECONDS)  # a put from now on gets a later timestamp than these cells
        failed = self._call("deleteMultiple", deletes)
        if failed:
            raise StoreError(
                f"{len(failed)} of {len(keys)} rows of the {self.label} were not removed; try again."
            )

    def swap(self, key: bytes, expected: Cell | None, stored: bytes) -> bool:
        """Store into a row if it has the expected cell, or if it is absent and None is expected.

        This client sends the request once. But the Thrift2 server may repeat it, and then it returns False
        although its first try stored the value.

        Returns:
            whether the value was stored.

        Raises:
            RequestError: no answer came; unless its `sent` is False, the row may have been written.
        """
        absent = b""
        old = absent if expected is None else expected.stored
        return self._mutate(key, old, thrift.TMutation(put=_put(key, stored)))

    def remove(self, key: bytes, expected: bytes) -> None:
        """Remove a row if it has the expected cell. No other write must ever store the same bytes."""
        cell = self.get([key])[0]
        if cell is not None and cell.stored == expected:
            time.sleep(CLOCK_TICK_SECONDS)
            delete = thrift.TDelete(row=key, timestamp=cell.timestamp)
            self._mutate(key, expected, thrift.TMutation(deleteSingle=delete))

    def _mutate(self, key: bytes, expected: bytes, mutation: Any) -> bool:
        mutations = thrift.TRowMutations(row=key, mutations=[mutation])
        equal = thrift.TCompareOp.EQUAL
        applied: bool = self._call(
            "checkAndMutate", key, FAMILY, VALUE, equal, expected, mutations, repeat=False
        )
        return applied


def _put(key: bytes, stored: bytes, fields: Sequence[bytes] = ()) -> Any:
    values = [
        thrift.TColumnValue(family=FAMILY, qualifier=field_column(position), value=field)
        for position, field in enumerate(fields)
    ]
    values.append(thrift.TColumnValue(family=FAMILY, qualifier=VALUE, value=stored))
    return thrift.TPut(row=key, columnValues=values)
