"""The calls about transactions and locks, which readers of Hive 3 and later make, too.

A call reads one version of a table, also while others write. So readers need no locks, and get them at once.
Locks for writing are refused.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import HiveFailure
from parquetry.hive.warehouse import HiveWarehouse

_SHARED_READ = 1
_SELECT = 1
_ACQUIRED = 1
_MAX_TRANSACTIONS = 1_000
_numbers = itertools.count(time.time_ns() // 1_000)
"""Numbers of transactions and locks. They only have to differ, also after a restart."""


@answers("open_txns")
def open_transactions(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return numbers for transactions. They only read."""
    count = (arguments["rqst"] or {}).get("num_txns") or 1
    if not 0 < count <= _MAX_TRANSACTIONS:
        raise HiveFailure(f"{count} transactions cannot be opened at once: up to {_MAX_TRANSACTIONS} can.")
    return {"txn_ids": [next(_numbers) for _ in range(count)]}


@answers("commit_txn", "abort_txn", "abort_txns", "unlock", "heartbeat")
def end(warehouse: HiveWarehouse, arguments: Arguments) -> None:
    """Do nothing: the transaction only read."""


@answers("heartbeat_txn_range")
def heartbeat_range(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that no transaction was aborted."""
    return {"aborted": [], "nosuch": []}


@answers("get_open_txns", "get_open_txns_req")
def open_ones(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that no transaction is open."""
    return {"txn_high_water_mark": next(_numbers), "open_txns": [], "abortedBits": b""}


@answers("get_open_txns_info")
def open_ones_info(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that no transaction is open."""
    return {"txn_high_water_mark": next(_numbers), "open_txns": []}


@answers("get_valid_write_ids")
def valid_write_ids(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that all that a table has may be read. The number is its version."""
    tables = []
    for full_name in (arguments["rqst"] or {}).get("fullTableNames") or ():
        database, _, name = full_name.rpartition(".")
        tables.append(
            {
                "fullTableName": full_name,
                "writeIdHighWaterMark": warehouse.snapshot(database, name)[0].version,
                "invalidWriteIds": [],
                "abortedBits": b"",
            }
        )
    return {"tblValidWriteIds": tables}


@answers("get_max_allocated_table_write_id")
def max_write_id(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the number of a table's version."""
    request = arguments["rqst"] or {}
    return {"maxWriteId": warehouse.snapshot(request.get("dbName"), request.get("tableName"))[0].version}


@answers("get_latest_txnid_in_conflict")
def latest_conflict(warehouse: HiveWarehouse, arguments: Arguments) -> int:
    """Return no transaction: none is in conflict with another."""
    return 0


@answers("lock")
def lock(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Grant a lock for reading."""
    for each in (arguments["rqst"] or {}).get("component") or ():
        if each.get("type") not in (_SHARED_READ, None) and each.get("operationType") != _SELECT:
            table = ".".join(filter(None, (each.get("dbname"), each.get("tablename"))))
            raise HiveFailure(
                f"{table} cannot be locked for writing: this metastore is for reading. Write with Spark and Parquetry."
            )
    return {"lockid": next(_numbers), "state": _ACQUIRED}


@answers("check_lock")
def check_lock(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that a lock is granted still."""
    return {"lockid": (arguments["rqst"] or {}).get("lockid") or 0, "state": _ACQUIRED}


@answers("show_locks")
def show_locks(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return that there are no locks."""
    return {"locks": []}
