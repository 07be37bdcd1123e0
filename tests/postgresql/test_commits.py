"""Commits on a PostgreSQL that is killed again and again: each acknowledged commit took effect once."""

from __future__ import annotations

import threading
import time

from parquetry.errors import CommitUnknownError, StoreError
from parquetry.metastore import Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.postgresql.launcher import PostgreSQLServer
from tests.support.stores.commits import table_of
from tests.support.stores.metastores import content, file, leftovers, new_table

_WRITERS, _KILLS = 4, 5


def test_commits_while_the_server_is_killed(own_server: PostgreSQLServer) -> None:
    """Each append that was acknowledged is in the table once; one of unknown outcome once or not at all."""
    url = own_server.url("commits", "&patience=60")
    store = PostgreSQLStore.open(url, create=True)
    new_table(store)
    over = threading.Event()
    done: list[str] = []
    unknown: list[str] = []
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        own = PostgreSQLStore.open(url)
        try:
            for number in range(10_000):
                if over.is_set():
                    break
                name = f"{writer}-{number}"
                transaction = Transaction(Metastore(own, "/lake").table("default", "t"), "append")
                transaction.append((1, "a"), [file(name)])
                try:
                    commit(transaction)
                except (CommitUnknownError, StoreError):
                    unknown.append(name)
                else:
                    done.append(name)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)
        finally:
            own.close()

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(_WRITERS)]
    for each in writers:
        each.start()
    for _ in range(_KILLS):
        time.sleep(0.6)
        own_server.kill()
        own_server.start()
    time.sleep(0.5)
    over.set()
    for each in writers:
        each.join()
    assert failures == []
    found = content(table_of(store))[1, "a"]
    assert len(found) == len(set(found))
    assert len(done) > _KILLS
    assert {"a", *done} <= set(found) <= {"a", *done, *unknown}
    transaction = Transaction(table_of(store), "next")
    transaction.append((9, "z"), [file("z")])
    commit(transaction)
    assert leftovers(store, table_of(store).id) == []
    store.close()
