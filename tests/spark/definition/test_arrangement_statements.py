"""Spark's statements do not change the recorded arrangement of rows, and they read and write
arranged tables.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction

TABLES = ms.ArrangementSpec(buckets=ms.BucketSpec(("x",), 4))
OWN = ms.ArrangementSpec(ms.SkewMap(("x", "y"), ((1, "a"), (None, None))), sort=(ms.SortColumn("x", True),))


def test_statements_keep_it(
    spark: SparkSession, rows: Callable[..., list[tuple[Any, ...]]], db: str, warehouse: Path
) -> None:
    """After each statement, a partition has its own arrangement, its file its cell, and the rows are
    unchanged.
    """
    spark.sql(f"CREATE TABLE {db}.t (x int, y string, p int) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'b', 2)")
    name = db.split(".")[1]
    with ms.open_metastore(str(warehouse / "lake")) as metastore:

        def table() -> ms.TableSnapshot:
            return metastore.table(name, "t")

        transaction = Transaction(table(), "arrange")
        part = table().partition((1,))
        assert part is not None
        (file,) = part.files
        file = msgspec.structs.replace(file, cell=0, sorted=True)
        transaction.replace((1,), [file], arrangement=OWN)
        transaction.set_metadata(msgspec.structs.replace(table().metadata, arrangement=TABLES))
        arranged = commit(transaction).version
        key = 1
        for statement in (
            f"INSERT INTO {db}.t VALUES (1, 'more', 1), (3, 'new', 3)",
            f"ALTER TABLE {db}.t RENAME COLUMN x TO weight",
            f"ALTER TABLE {db}.t ADD COLUMN z int",
            f"ALTER TABLE {db}.t SET TBLPROPERTIES ('sort-by' = 'weight')",
            f"INSERT OVERWRITE {db}.t PARTITION (p = 2) SELECT 2, 'again', 7",
            f"ALTER TABLE {db}.t PARTITION (p = 1) RENAME TO PARTITION (p = 9)",
            f"MSCK REPAIR TABLE {db}.t",
            f"CALL lake.system.vacuum(table => '{name}.t', older_than => TIMESTAMP '2000-01-01')",
            f"CALL lake.system.fsck(table => '{name}.t', repair => true)",
            f"ALTER TABLE {db}.t RENAME TO {name}.u; ALTER TABLE {db}.u RENAME TO {name}.t",
            f"CALL lake.system.rollback(table => '{name}.t', version => {arranged})",
        ):
            for each in statement.split("; "):
                spark.sql(each).collect()
            key = 9 if "RENAME TO PARTITION" in statement else 1 if "rollback" in statement else key
            part = table().partition((key,))
            assert part is not None
            assert (part.arrangement, part.files[0].cell, part.files[0].sorted) == (OWN, 0, True), statement
            assert table().metadata.arrangement == TABLES
            if "MSCK" in statement:
                found = {each.values: each.arrangement for each in table().partitions()}
                assert found == {(2,): TABLES, (3,): TABLES, (9,): OWN}
                assert rows(f"SELECT weight, y, p FROM {db}.t ORDER BY p, y") == [
                    (2, "again", 2),
                    (3, "new", 3),
                    (1, "a", 9),
                    (1, "more", 9),
                ]
    assert rows(f"SELECT x, y, p FROM {db}.t ORDER BY p") == [(1, "a", 1), (2, "b", 2)]
    with pytest.raises(AnalysisException, match="Column x cannot be dropped, as rows of table"):
        spark.sql(f"ALTER TABLE {db}.t DROP COLUMN x")
