"""A statement that is interrupted behind the step that makes its rows visible leaves their files alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.store.sqlite import SQLiteStore

Rows = Callable[[str], list[tuple[Any, ...]]]

STATEMENTS = {
    "INSERT INTO {t} VALUES (9, 1)": [(1, 1), (2, 2), (9, 1)],
    "INSERT OVERWRITE {t} VALUES (9, 1)": [(9, 1)],
    "UPDATE {t} SET x = 9 WHERE x = 1": [(2, 2), (9, 1)],
    "CALL lake.system.compact('{d}')": [(1, 1), (2, 2)],
    "CREATE OR REPLACE TABLE {t} USING parquet AS SELECT 9 AS x, 1 AS p": [(9, 1)],
}


@contextlib.contextmanager
def failing_after_the_head() -> Iterator[list[bool]]:
    """Raise an error right after the second compare-and-set, which is the one that counts, took place."""
    done, calls, raised = SQLiteStore.compare_and_set, [0], [False]

    def swap(store: SQLiteStore, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        answer = done(store, key, expected, value)
        calls[0] += 1
        if calls[0] == 2:
            raised[0] = True
            raise MemoryError("as the test asked")
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SQLiteStore, "compare_and_set", swap)
        yield raised


@pytest.mark.parametrize("statement", STATEMENTS)
def test_files_of_what_was_committed_stay(spark: SparkSession, db: str, rows: Rows, statement: str) -> None:
    """Any exception after the compare-and-set leaves the statement committed, with its rows and
    their files.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (x INT, p INT) USING parquet")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    spark.sql(f"INSERT INTO {table} VALUES (2, 2)")
    with failing_after_the_head() as raised:
        spark.sql(statement.format(t=table, d=table.removeprefix("lake."))).collect()
    assert raised[0]
    assert rows(f"SELECT x, p FROM {table} ORDER BY x") == STATEMENTS[statement]
    assert rows(f"CALL lake.system.fsck('{table.removeprefix('lake.')}')") == []
