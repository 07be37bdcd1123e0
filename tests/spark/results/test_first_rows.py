"""LIMIT, and the first rows in an order: only the files that they need are read, and the rows are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import parquetry
from tests.support.spark import plans

FILES = 8
"""Files of the table, with ten rows each."""


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """Eight files of ten rows, by ascending `id` from 0 to 79; `few` is NULL where `id` is below 5.

    The column `f` has NaN in one row. The view `plain_rows` has the same rows.
    """
    spark.sql("CREATE NAMESPACE lake.first_rows")
    name = "lake.first_rows.t"
    spark.sql(
        f"CREATE TABLE {name} (id int, few int, s string, f double, c char(4), p int) PARTITIONED BY (p)"
    )
    for low in range(0, 10 * FILES, 10):
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), CAST(IF(id < 5, NULL, id DIV 20) AS INT),"
            " concat(repeat('x', 70), 100 + id), IF(id = 35, CAST('NaN' AS DOUBLE), id / 2), concat('c', id),"
            f" {low // 40} FROM range({low}, {low + 10}, 1, 1)"
        )
    rows = spark.table(name)
    spark.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("plain_rows")
    yield name
    spark.sql("DROP NAMESPACE lake.first_rows CASCADE")


def files(frame: DataFrame) -> list[int]:
    """Return for each scan the number of files that it reads."""
    scans = parquetry.explain(frame).to_dict()["scans"]
    return [step["kept"] for scan in scans for step in scan["steps"] if step["name"] == "files"]


def collected(spark: SparkSession, query: str, kept: list[int]) -> list[Row]:
    """Return a query's rows, which are of the same number with and without adaptive execution."""
    found = []
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        frame = spark.sql(query)
        assert files(frame) == kept, query
        found.append(frame.collect())
    spark.conf.unset("spark.sql.adaptive.enabled")
    assert len(found[0]) == len(found[1])
    return found[0]


@pytest.mark.parametrize(
    ("select", "limit", "kept"),
    [
        ("SELECT id FROM {}", "LIMIT 10", [1]),
        ("SELECT id FROM {}", "LIMIT 25", [3]),
        ("SELECT id + 1, upper(s) FROM {} WHERE id >= 35", "LIMIT 10", [1]),
        ("SELECT id FROM {} WHERE id >= 35 AND s > 'a' AND p = 1", "LIMIT 12 OFFSET 5", [2]),
        ("SELECT id FROM {} WHERE id BETWEEN 35 AND 44", "LIMIT 3", [2]),
        ("SELECT id FROM {} WHERE id % 2 = 0", "LIMIT 3", [8]),
        ("SELECT id FROM {} WHERE id >= 60 AND rand() < 0.9999", "LIMIT 3", [2]),
        ("SELECT id FROM {}", "LIMIT 1000", [8]),
        ("SELECT id FROM {} WHERE id < 0 OR p = 9", "LIMIT 3", [0]),
        ("SELECT id FROM (SELECT id, few AS g FROM {}) WHERE g >= 3", "LIMIT 3", [1]),
        ("SELECT id FROM {} WHERE c = 'c41'", "LIMIT 1", [2]),
        ("SELECT id FROM {} WHERE f > 33", "LIMIT 4", [1]),
        ("SELECT id FROM {0} WHERE id > 19 UNION ALL SELECT id FROM {0} WHERE id > 65", "LIMIT 3", [1, 1]),
        ("SELECT id FROM {} WHERE f < 16 AND p = 0", "LIMIT 40", [4]),
        ("SELECT id FROM {} WHERE id IN (SELECT max(id) FROM plain_rows)", "LIMIT 1", [8]),
    ],
)
def test_a_limit_reads_enough_files(
    spark: SparkSession, table: str, select: str, limit: str, kept: list[int]
) -> None:
    """Files whose rows all match suffice if they have enough rows; else every file that may match is read."""
    everything = spark.sql(select.format("plain_rows")).collect()
    found = collected(spark, f"{select.format(table)} {limit}", kept)
    wanted, offset = int(limit.split()[1]), int(limit.split()[-1]) if "OFFSET" in limit else 0
    assert len(found) == min(wanted, len(everything) - offset)
    assert not Counter(found) - Counter(everything)


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ("id FROM {} ORDER BY id LIMIT 7", [1]),
        ("id FROM {} ORDER BY id DESC LIMIT 12 OFFSET 3", [2]),
        ("id FROM {} WHERE id > 33 ORDER BY id LIMIT 7", [2]),
        ("id FROM {} WHERE id > 33 AND s > 'a' AND p = 1 ORDER BY id LIMIT 7", [1]),
        ("few, id FROM {} ORDER BY few, id LIMIT 7", [2]),
        ("few, id FROM {} ORDER BY few NULLS LAST, id LIMIT 7", [2]),
        ("few, id FROM {} ORDER BY few DESC NULLS FIRST, id DESC LIMIT 3", [1]),
        ("few FROM {} ORDER BY few DESC LIMIT 3", [1]),
        ("few FROM {} ORDER BY few DESC LIMIT 78", [8]),
        ("s FROM {} ORDER BY s DESC LIMIT 3", [8]),
        ("f FROM {} ORDER BY f DESC LIMIT 3", [2]),
        ("c FROM {} WHERE c > 'c3' ORDER BY c DESC LIMIT 3", [2]),
        ("p, id FROM {} ORDER BY p DESC, id LIMIT 3", [4]),
        ("p FROM {} ORDER BY p DESC LIMIT 3", [1]),
        ("id FROM (SELECT id AS x, id FROM {}) ORDER BY x LIMIT 3", [1]),
        ("id FROM {} WHERE id % 2 = 1 ORDER BY id LIMIT 3", [8]),
        ("id FROM {} ORDER BY id + 1 DESC LIMIT 3", [1]),
        ("id FROM {} ORDER BY -id LIMIT 3", [1]),
        ("id, few FROM {} WHERE id > 12 ORDER BY coalesce(few, 9), id LIMIT 4", [3]),
        ("id FROM {} ORDER BY date_add(DATE'2024-01-01', id) DESC, id LIMIT 3", [1]),
        ("id FROM {} ORDER BY hash(id) LIMIT 3", [8]),
        ("id FROM {} ORDER BY IF(id = 13, CAST('NaN' AS DOUBLE), id / 2) DESC LIMIT 3", [2]),
        ("id FROM {} ORDER BY CAST(id AS DOUBLE) LIMIT 3", [1]),
        ("id FROM (SELECT id, id + few AS x FROM {}) ORDER BY x NULLS LAST, id LIMIT 3", [2]),
        ("id FROM {} LEFT JOIN VALUES (3, 'a'), (3, 'b') AS d(k, n) ON id = k ORDER BY id, n LIMIT 7", [1]),
        ("id FROM VALUES (3, 'a') AS d(k, n) RIGHT JOIN {} ON id = k ORDER BY id DESC, n LIMIT 12", [2]),
        (
            "id FROM {} WHERE EXISTS (SELECT 1 FROM VALUES (3) AS d(k) WHERE k = id) OR id > 4 ORDER BY id LIMIT 3",
            [8],
        ),
        ("id FROM {} FULL JOIN VALUES (3), (900) AS d(k) ON id = k ORDER BY id DESC LIMIT 3", [8]),
        ("id FROM {} JOIN VALUES (3), (4) AS d(k) ON id % 20 = k ORDER BY id LIMIT 3", [8]),
        (
            "id FROM {} LEFT JOIN VALUES (3, 7) AS d(k, few) ON id = k WHERE d.few IS NULL ORDER BY id DESC LIMIT 3",
            [8],
        ),
        ("id, x FROM {} LATERAL VIEW OUTER explode(array(id, -id)) e AS x ORDER BY id DESC, x LIMIT 5", [1]),
        (
            "few FROM (SELECT x AS few FROM {} LATERAL VIEW OUTER explode(array(-id)) e AS x) ORDER BY few LIMIT 3",
            [8],
        ),
        ("few, count(*), max(id) FROM {} GROUP BY few ORDER BY few LIMIT 2", [2]),
        ("few, count(*), max(id) FROM {} GROUP BY few ORDER BY few DESC LIMIT 2", [4]),
        ("few + 1 AS g, count(*) FROM {} WHERE id > 12 GROUP BY few + 1 ORDER BY g DESC LIMIT 1", [2]),
        ("few, c, count(*) FROM {} GROUP BY few, c ORDER BY few DESC, c LIMIT 2", [4]),
        ("few, count(DISTINCT s) FROM {} GROUP BY few ORDER BY few DESC LIMIT 1", [2]),
        ("DISTINCT few FROM {} ORDER BY few DESC LIMIT 1", [2]),
        ("few, count(*) AS n FROM {} GROUP BY few HAVING count(*) > 15 ORDER BY few LIMIT 1", [8]),
        ("few, count(*) AS n FROM {} GROUP BY few ORDER BY n, few LIMIT 1", [8]),
        ("id FROM (SELECT * FROM {0} UNION ALL SELECT * FROM {0}) ORDER BY id LIMIT 3", [1, 1]),
        (
            "id, r FROM (SELECT id, rank() OVER (ORDER BY few DESC) AS r FROM {}) WHERE r <= 3 ORDER BY id",
            [2],
        ),
        (
            "id, r FROM (SELECT id, dense_rank() OVER (ORDER BY few DESC) AS r FROM {}) WHERE r <= 2 ORDER BY id",
            [4],
        ),
        (
            "id, r FROM (SELECT id, rank() OVER (PARTITION BY p ORDER BY id) AS r FROM {}) WHERE r <= 3 ORDER BY id",
            [8],
        ),
        (
            "id, r FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM {}) WHERE r <= 3 ORDER BY id",
            [1],
        ),
    ],
)
def test_the_first_rows_in_an_order_are_read_from_few_files(
    spark: SparkSession, table: str, order: str, kept: list[int]
) -> None:
    """Files that are wholly after the first rows are left out, and plain Spark has the same rows."""
    found = collected(spark, f"SELECT {order.format(table)}", kept)
    plain = spark.sql(f"SELECT {order.format('plain_rows')}").collect()
    assert list(map(repr, found)) == list(map(repr, plain))


@pytest.mark.parametrize(
    ("order", "opened"),
    [
        ("id FROM {} WHERE id % 5 = 3 ORDER BY id LIMIT 2", 1),
        ("id FROM {} WHERE id % 5 = 3 ORDER BY id DESC LIMIT 1 OFFSET 1", 1),
        ("id FROM {} WHERE id % 5 = 3 ORDER BY id LIMIT 3", 4),
        ("id FROM {} WHERE id % 5 = 3 ORDER BY id LIMIT 100", 8),
        ("few FROM {} WHERE id % 5 = 3 ORDER BY few LIMIT 2", 1),
        ("few, id FROM {} WHERE id % 5 = 3 ORDER BY few, id LIMIT 2", 2),
        ("few FROM {} WHERE id % 5 = 3 ORDER BY few DESC NULLS FIRST LIMIT 1", 1),
        ("max(id) FROM (SELECT id FROM {} WHERE id % 5 = 3 ORDER BY id LIMIT 2)", 1),
        ("s FROM {} WHERE id % 5 = 3 ORDER BY s DESC LIMIT 2", 8),
        ("f FROM {} WHERE id % 5 = 0 ORDER BY f DESC LIMIT 2", 4),
        ("max(id) FROM {} WHERE id % 5 = 3", 1),
        ("min(id) + 1 AS m FROM {} WHERE id % 5 = 3", 1),
        ("min(few) FROM {} WHERE id % 5 = 3", 1),
        ("max(id) FROM {} WHERE id % 5 = 3 AND p = 0 AND id > 12", 1),
        ("max(s) FROM {} WHERE id % 5 = 3", 8),
        ("max(f) FROM {} WHERE id % 5 = 0", 1),
        ("max(id), min(id) FROM {} WHERE id % 5 = 3", 8),
        ("max(id) FROM {} WHERE hash(id) = 12", 8),
        ("max_by(s, id) FROM {} WHERE id % 5 = 3", 1),
        ("min_by(s, id), min(id) FROM {} WHERE id % 5 = 3", 1),
        ("max_by(s, -id), max(-id), max_by(c, -id) FROM {} WHERE id % 5 = 3", 1),
        ("max_by(s, id), min_by(s, id) FROM {} WHERE id % 5 = 3", 8),
        ("max_by(s, few) FROM {} WHERE id = 47", 1),
        ("max(id + 1) FROM {} WHERE id % 5 = 3", 1),
        ("id FROM {} WHERE id % 5 = 3 ORDER BY id * 2 DESC LIMIT 2", 1),
        ("id FROM {} WHERE id % 5 = 3 ORDER BY f LIMIT 2", 4),
        ("id FROM {} WHERE id % 5 = 3 AND f < 30 ORDER BY f DESC LIMIT 1", 4),
        ("id FROM {} JOIN VALUES (3), (4) AS d(k) ON id % 20 = k ORDER BY id LIMIT 2", 4),
        (
            "id FROM {} LEFT JOIN VALUES (3, 7) AS d(k, few) ON id % 20 = k WHERE d.few = 7 ORDER BY id DESC LIMIT 1",
            4,
        ),
        ("id FROM {} WHERE id % 20 IN (SELECT * FROM VALUES (3), (4)) ORDER BY id LIMIT 2", 4),
        ("id FROM {} WHERE id % 20 NOT IN (SELECT * FROM VALUES (0), (1)) ORDER BY id LIMIT 2", 1),
    ],
)
def test_files_are_opened_in_order_until_no_other_has_a_first_row(
    spark: SparkSession, table: str, order: str, opened: int
) -> None:
    """Where statistics do not tell which rows match, the rows so far tell which files are not needed."""
    plain = spark.sql(f"SELECT {order.format('plain_rows')}").collect()
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        frame = spark.sql(f"SELECT {order.format(table)}")
        assert list(map(repr, frame.collect())) == list(map(repr, plain))
        steps = parquetry.report(frame).to_dict()["scans"][0]["steps"]
        assert next(step["kept"] for step in steps if step["name"] == "files") == opened
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    ("where", "action", "kept"),
    [
        ("id >= 35", lambda frame: frame.head(3), 1),
        ("id >= 35", lambda frame: frame.first(), 1),
        ("id >= 35", lambda frame: frame.take(12), 2),
        ("id >= 35", lambda frame: frame.show(3), 1),
        ("id >= 35", lambda frame: frame.limit(3).collect(), 1),
        ("id >= 35", lambda frame: frame.offset(9).limit(3).collect(), 2),
        ("id >= 35", lambda frame: frame.select("s").head(30), 3),
        ("id % 2 = 0 AND id > 33", lambda frame: frame.head(3), 1),
        ("id % 2 = 0 AND id < 42", lambda frame: frame.take(5), 1),
        ("id BETWEEN 39 AND 44", lambda frame: frame.head(4), 1),
    ],
)
@pytest.mark.parametrize("view", [False, True])
def test_actions_that_want_few_rows_open_few_files(
    spark: SparkSession, table: str, where: str, action: Callable[[DataFrame], object], kept: int, view: bool
) -> None:
    """`head`, `take`, `first`, `show` and a LIMIT open the files with most matching rows, also of a view."""
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW few_rows AS SELECT id, s FROM {table}")
    frame = spark.table("few_rows" if view else table).where(where)
    action(frame)
    assert opened_files(frame) == kept


def opened_files(frame: DataFrame) -> int:
    """Return how many files the run of a query opened."""
    steps = parquetry.report(frame).to_dict()["scans"][0]["steps"]
    return next(int(step["kept"]) for step in steps if step["name"] == "files")


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("k FROM {} ORDER BY k DESC LIMIT 5", 1000),
        ("k FROM {} ORDER BY k LIMIT 5", 1000),
        ("k, n FROM {} ORDER BY n DESC, k LIMIT 5", 1000),
        ("k FROM {} ORDER BY t DESC LIMIT 5", 1000),
        ("k FROM {} ORDER BY f DESC LIMIT 5", 1000),
        ("k FROM {} ORDER BY n NULLS FIRST LIMIT 5", 2000),
        ("k, r FROM (SELECT k, rank() OVER (ORDER BY k DESC) AS r FROM {}) WHERE r < 6 ORDER BY k", 1500),
        ("k, r FROM (SELECT k, rank() OVER (ORDER BY k) AS r FROM {}) WHERE r < 6 ORDER BY k", 1500),
        ("k, r FROM (SELECT k, rank() OVER (ORDER BY t DESC) AS r FROM {}) WHERE r < 6 ORDER BY k", 1500),
        (
            "k, r FROM (SELECT k, rank() OVER (ORDER BY n DESC NULLS FIRST) AS r FROM {}) WHERE r < 6 ORDER BY k",
            3000,
        ),
        ("k, r FROM (SELECT k, rank() OVER (ORDER BY f DESC) AS r FROM {}) WHERE r < 6 ORDER BY k", 2000),
    ],
)
def test_readers_skip_row_groups_after_the_first_rows(
    spark: SparkSession, row_groups: str, order: str, rows: int
) -> None:
    """A bound that planning proves is a condition for readers, but not where NULL is first.

    Of floats, it leaves out files alone.
    """
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    frame = spark.sql(f"SELECT {order.format(row_groups)}")
    assert frame.collect() == spark.sql(f"SELECT {order.format('plain_row_groups')}").collect()
    assert plans.rows_read(frame, row_groups) == rows
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("k FROM {} WHERE k % 20 = 3 ORDER BY k DESC LIMIT 40", 1300),
        ("k FROM {} WHERE k % 20 = 3 ORDER BY k LIMIT 40", 1300),
        ("k FROM {} WHERE k % 20 = 3 ORDER BY t DESC, k LIMIT 40", 1300),
        ("k, n FROM {} WHERE k % 20 = 3 ORDER BY n DESC LIMIT 40", 1300),
        ("k, n FROM {} WHERE k % 20 = 3 ORDER BY n NULLS FIRST LIMIT 40", 2000),
        ("k FROM {} WHERE k % 20 = 3 ORDER BY t + INTERVAL '1' DAY DESC LIMIT 40", 2000),
        ("k FROM {} WHERE k % 20 = 3 ORDER BY c DESC, k LIMIT 40", 2000),
        ("max(k) FROM {} WHERE k % 1000 = 203", 1300),
        ("min_by(n, t) FROM {} WHERE k % 1000 = 703", 1300),
    ],
)
def test_readers_skip_row_groups_after_the_rows_so_far(
    spark: SparkSession, row_groups: str, query: str, rows: int
) -> None:
    """The rows of the first files are a condition for readers of the next ones, in each run anew. Not where
    NULL may be first, and not by expressions or a `char`.
    """
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    plain = spark.sql(f"SELECT {query.format('plain_row_groups')}").collect()
    frame = spark.sql(f"SELECT {query.format(row_groups)}")
    assert frame.collect() == plain
    assert plans.rows_read(frame, row_groups) == rows
    assert frame.collect() == plain
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.fixture(scope="module")
def row_groups(spark: SparkSession) -> Iterator[str]:
    """Three files of 1,000 rows by ascending `k`, in row groups of 100; the second overlaps the others."""
    spark.sql("CREATE NAMESPACE lake.row_groups")
    name = "lake.row_groups.t"
    small = "'parquet.block.size' = '64', 'parquet.page.size' = '64', 'parquet.block.size.row.check.min' = '100', 'parquet.page.size.row.check.min' = '100'"
    spark.sql(
        f"CREATE TABLE {name} (k bigint, n decimal(12,2), t timestamp, f double, c char(6)) TBLPROPERTIES ({small})"
    )
    parts = [
        "SELECT id AS k, CAST(IF(id = 700, NULL, id) AS DECIMAL(12,2)) AS n, timestamp_seconds(id) AS t, id / 2 AS f, "
        "lpad(id, 4, '0') AS c "
        f"FROM range({low}, {low + 1000}, 1, 1)"
        for low in (0, 500, 1000)
    ]
    for part in parts:
        spark.sql(f"INSERT INTO {name} {part}")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW plain_row_groups AS {' UNION ALL '.join(parts)}")
    yield name
    spark.sql("DROP NAMESPACE lake.row_groups CASCADE")


NUMBERS = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)"]
THREE_VALUES = {
    **dict.fromkeys(NUMBERS, ("1", "3", "-4")),
    "boolean": ("true", "false", "true"),
    **dict.fromkeys(("string", "char(3)", "binary"), ("'b'", "'aé'", "''")),
    "date": ("'1900-01-01'", "'2024-02-29'", "'1969-12-31'"),
    "timestamp": ("'1900-01-01'", "'2024-02-29 01:02:03'", "'1969-12-31'"),
}


@pytest.mark.parametrize("known", ["true", "false"])
def test_files_without_statistics_of_a_key(spark: SparkSession, table: str, known: str) -> None:
    """A stand-in for a value that files do not tell is no bound of rows: in all files, or in all but one."""
    name = table.replace(".t", ".unknown")
    columns = [f"v{number} {kind}" for number, kind in enumerate(THREE_VALUES)]
    spark.sql(f"CREATE TABLE {name} ({', '.join(columns)})")
    for number in range(4):  # the last row is of NULLs
        told = known if number == 1 else "false"
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('parquet.column.statistics.enabled' = '{told}')")
        values = [f"CAST({[*three, 'NULL'][number]} AS {kind})" for kind, three in THREE_VALUES.items()]
        spark.sql(f"INSERT INTO {name} SELECT {', '.join(values)}")
    rows = spark.table(name)
    spark.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("known_rows")
    for query in (
        "SELECT max(v) FROM {}",
        "SELECT v FROM {} ORDER BY v DESC LIMIT 2",
        "SELECT v FROM {} WHERE v IS NOT NULL ORDER BY v LIMIT 2",
        "SELECT min(v), max(v) FROM {} WHERE v < (SELECT max(v) FROM {})",
    ):
        for column in rows.columns:
            of_column = query.replace("(v)", f"({column})").replace(" v ", f" {column} ")
            ours, plain = (
                spark.sql(of_column.replace("{}", each)).collect() for each in (name, "known_rows")
            )
            assert ours == plain, of_column
    spark.sql(f"DROP TABLE {name}")
