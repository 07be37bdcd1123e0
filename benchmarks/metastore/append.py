"""A writer of `benchmarks.metastore.writers`: it opens its catalog, waits for a line, appends, and reports.

python -m benchmarks.metastore.append parquetry WAREHOUSE STORE WRITER TABLE APPENDS
python -m benchmarks.metastore.append ducklake ADDRESS FOLDER WRITER TABLE APPENDS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, cast

from benchmarks.metastore.ducklake import appender as ducklake_appender
from benchmarks.metastore.table import DATABASE, add
from parquetry.metastore import Metastore
from parquetry.store import Store, open_store


class _SwapCountingStore:
    """A store that counts the compare-and-sets that another writer won."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def compare_and_set(self, *arguments: Any) -> bool:
        """Compare and set, and count it if that fails."""
        done = self._store.compare_and_set(*arguments)
        self.lost += not done
        return done


def parquetry_appender(
    warehouse: str, url: str, writer: str, table: int
) -> tuple[Callable[[int], object], Callable[[], int]]:
    """Return two functions: one appends a partition of one file; one counts lost compare-and-sets."""
    store = _SwapCountingStore(open_store(url, warehouse))
    metastore = Metastore(cast(Store, store), warehouse)

    def append(number: int) -> None:
        add(metastore.table(DATABASE, f"t{table}"), [(writer, f"{number:04d}", "region")])

    return append, lambda: store.lost


def main() -> None:
    """Append, and print when the first began, when the last ended, how many were done, and what failed."""
    kind, one, two, writer, table, appends = sys.argv[1:]
    make = {"parquetry": parquetry_appender, "ducklake": ducklake_appender}[kind]
    append, lost = make(one, two, writer, int(table))
    print("ready", flush=True)
    sys.stdin.readline()
    began, errors = time.time(), []
    for number in range(int(appends)):
        try:
            append(number)
        except Exception as error:  # noqa: BLE001
            errors.append(str(error)[:300])
    outcome = {"began": began, "ended": time.time(), "done": int(appends) - len(errors), "lost": lost()}
    print(json.dumps({**outcome, "errors": errors[:3]}), flush=True)


if __name__ == "__main__":
    main()
