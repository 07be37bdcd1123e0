"""A process whose children are killed in the middle of what they write; `test_metastore_crashes` talks to it.

Each line of its input is `operation<TAB>row<TAB>metastore<TAB>warehouse<TAB>dump`. A child is forked that
does the operation, and is killed when it writes that row. The answer is how the child has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from parquetry.metastore import Metastore
from parquetry.store import SQLiteStore
from tests.support.stores.crash_world import OPERATIONS, CrashWorld, hurried
from tests.support.stores.failing_client import Client


def run(name: str, row: int, path: str, folder: str, dumped: str) -> None:
    """Do an operation on a metastore, up to a row."""
    world = CrashWorld(Path(folder), {}, {}, Path(dumped))
    with hurried():
        client = Client(SQLiteStore(path, create=False), row, "kill")
        OPERATIONS[name].run(Metastore(client, folder, create=False), world)


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        name, row, path, folder, dumped = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run(name, int(row), path, folder, dumped)
                status = 0
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
