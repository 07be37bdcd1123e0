"""With the table property `purge-on-overwrite`, INSERT OVERWRITE deletes the replaced files at once, and no
others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def _by_path(spark: SparkSession, root: Path) -> list[tuple[Any, ...]]:
    """Return what somebody reads who knows the folder alone."""
    spark.catalog.refreshByPath(str(root))
    return sorted(tuple(row) for row in spark.read.parquet(str(root)).select("id", "p").collect())


@pytest.mark.parametrize("external", [True, False])
def test_what_is_replaced_is_deleted(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, external: bool
) -> None:
    """After static, dynamic and whole overwrites, the folder has exactly the table's live files,
    also adopted ones; appends and DELETE delete no file.
    """
    table = f"{db}.t"
    root = tmp_path / "t"
    place = f"LOCATION '{root}'" if external else ""
    if external:
        spark.range(6).selectExpr("CAST(id AS INT) AS id", "CAST(id % 3 AS INT) AS p").coalesce(
            1
        ).write.partitionBy("p").parquet(str(root))
    spark.sql(
        f"CREATE TABLE {table} (id INT, p INT) USING parquet PARTITIONED BY (p) {place} "
        "TBLPROPERTIES ('purge-on-overwrite' = 'true')"
    )
    if external:
        spark.sql(f"MSCK REPAIR TABLE {table}")
    else:
        spark.sql(f"INSERT INTO {table} SELECT id, id % 3 FROM range(6)")
        ((location,),) = rows(f"SELECT DISTINCT regexp_extract(_file, '(file:)?(.*)/p=', 2) FROM {table}")
        root = Path(location)
    (root / "p=0" / "notes.txt").write_text("nobody's")
    (root / "p=0" / "notes.txt").rename(root / "p=0" / "_notes.txt")
    kept = {path for path in root.rglob("*.parquet") if "p=2" in str(path)}

    def same() -> bool:
        return _by_path(spark, root) == sorted(rows(f"SELECT id, p FROM {table}"))

    assert same()
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 0) VALUES (100)")
    assert same()
    spark.sql(f"INSERT INTO {table} VALUES (101, 0)")
    assert same()
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {table} VALUES (200, 1), (300, 3)")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert same()
    assert kept <= set(root.rglob("*.parquet"))
    assert rows(f"CALL lake.system.sync(table => '{table}')") == []
    spark.sql(f"INSERT OVERWRITE {table} SELECT id + 1, p FROM {table} WHERE p <> 3")
    assert same()
    assert not kept & set(root.rglob("*.parquet"))
    assert (root / "p=0" / "_notes.txt").exists()
    assert rows(f"CALL lake.system.fsck(table => '{table}')") == []
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('purge-on-overwrite')")
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 0) VALUES (1)")
    assert not same()


def test_files_that_others_list_stay(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """A file that another table or another partition lists is not deleted, and neither is a
    file elsewhere.
    """
    for folder in ("t/p=1", "away"):
        spark.range(2).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(str(tmp_path / folder))
    for name in ("t", "u"):
        spark.sql(
            f"CREATE TABLE {db}.{name} (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t' "
            "TBLPROPERTIES ('purge-on-overwrite' = 'true')"
        )
        spark.sql(f"MSCK REPAIR TABLE {db}.{name}")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 7) LOCATION '{tmp_path}/away'")
    before = set(tmp_path.rglob("*.parquet"))
    spark.sql(f"INSERT OVERWRITE {db}.t VALUES (9, 1), (9, 7)")
    assert before <= set(tmp_path.rglob("*.parquet"))
    assert sorted(rows(f"SELECT id FROM {db}.u")) == [(0,), (1,)]
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(9, 1), (9, 7)]
    with pytest.raises(Exception, match="'purge-on-overwrite' is 'perhaps': not true or false"):
        spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('purge-on-overwrite' = 'perhaps')")
