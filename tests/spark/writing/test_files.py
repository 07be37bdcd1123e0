"""How many files a write makes, what is in them, and what the metastore knows of them."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as sf

import parquetry
from tests.support.tables import filtered
from tests.support.tables.data_files import rows_of

Rows = Callable[[str], list[tuple[Any, ...]]]
FORMATS = ["parquet", "orc"]


def files_of(spark: SparkSession, name: str) -> list[Any]:
    """Return a table's files as the metastore lists them, in key order."""
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        return list(catalog.files(name.removeprefix("lake.")))


def per_partition(spark: SparkSession, name: str) -> dict[Any, int]:
    """Count a table's files by partition."""
    return Counter(next(iter(file.partition.values()), None) for file in files_of(spark, name))


def on_disk(folder: Path) -> list[Path]:
    """Return all files and directories below a folder, hidden ones as well."""
    return sorted(folder.rglob("*"))


@pytest.fixture(params=[True, False], ids=["adaptive", "not adaptive"])
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[bool]:
    """A session with adaptive execution, and one without."""
    spark.conf.set("spark.sql.adaptive.enabled", str(request.param).lower())
    yield request.param
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_partition_gets_one_file_and_not_one_per_task(
    spark: SparkSession, db: str, adaptive: bool, fmt: str
) -> None:
    """40 partitions, with rows in each of 9 tasks, make 40 files; a table without partitions makes one."""
    data = spark.range(0, 4000, 1, 9).selectExpr("id", "cast(id % 40 AS INT) AS p")
    spark.sql(f"CREATE TABLE {db}.parts (id BIGINT, p INT) USING {fmt} PARTITIONED BY (p)")
    data.writeTo(f"{db}.parts").append()
    assert per_partition(spark, f"{db}.parts") == dict.fromkeys(range(40), 1)
    assert [file.rows for file in files_of(spark, f"{db}.parts")] == [100] * 40
    data.writeTo(f"{db}.parts").append()
    assert per_partition(spark, f"{db}.parts") == dict.fromkeys(range(40), 2)
    spark.sql(f"CREATE TABLE {db}.plain (id BIGINT, p INT) USING {fmt}")
    data.writeTo(f"{db}.plain").append()
    assert [file.rows for file in files_of(spark, f"{db}.plain")] == [4000]


@pytest.mark.parametrize("fmt", FORMATS)
def test_large_partitions_get_a_file_for_each_target_size(
    spark: SparkSession, db: str, adaptive: bool, fmt: str
) -> None:
    """A table's very first write makes about size / target-file-size files for a large partition, one for a
    small one.
    """
    target = 128 * 1024
    data = spark.range(0, 60_000, 1, 6).selectExpr(
        "id",
        "rand(7) AS v",
        "sha1(cast(id AS STRING)) AS s",
        "if(id < 50000, 0, cast(1 + id % 5 AS INT)) AS p",
    )
    for name, partitioned in (("parts", "PARTITIONED BY (p)"), ("plain", "")):
        table = f"{db}.{name}"
        spark.sql(
            f"CREATE TABLE {table} (id BIGINT, v DOUBLE, s STRING, p INT) USING {fmt} {partitioned} "
            "TBLPROPERTIES ('target-file-size' = '128kb')"
        )
        data.writeTo(table).append()
        files = files_of(spark, table)
        if partitioned:
            assert all(per_partition(spark, table)[p] == 1 for p in range(1, 6))
            files = [file for file in files if file.partition["p"] == 0]
        wanted = sum(file.bytes for file in files) / target
        assert wanted > 8
        assert 0.6 * wanted <= len(files) <= 1.8 * wanted
        assert max(file.bytes for file in files) < 2.2 * target
        assert spark.table(table).agg(sf.count("*"), sf.sum("id")).collect()[0][:] == (
            60_000,
            60_000 * 59_999 // 2,
        )


def test_many_small_partitions_are_not_split_with_their_task(spark: SparkSession, db: str) -> None:
    """300 partitions, larger together than many target sizes but each below one, still get one file each."""
    spark.sql(
        f"CREATE TABLE {db}.many (id BIGINT, s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ('target-file-size' = '64kb')"
    )
    spark.range(0, 60_000, 1, 4).selectExpr(
        "id", "sha1(cast(id AS STRING))", "cast(id % 300 AS INT)"
    ).write.insertInto(f"{db}.many")
    files = files_of(spark, f"{db}.many")
    assert sum(file.bytes for file in files) > 20 * 64 * 1024
    assert per_partition(spark, f"{db}.many") == dict.fromkeys(range(300), 1)


@pytest.mark.exhaustive("test_many_small_partitions_are_not_split_with_their_task writes 300 in one insert")
def test_two_thousand_partitions_in_one_insert(spark: SparkSession, db: str, rows: Rows) -> None:
    """2,000 partitions are written in one insert and one version, one file each."""
    spark.sql(f"CREATE TABLE {db}.wide (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.wide SELECT id, cast(id % 2000 AS INT) FROM range(4000)")
    assert rows(f"SELECT count(*), sum(id), count(DISTINCT p) FROM {db}.wide") == [(4000, 7998000, 2000)]
    assert set(per_partition(spark, f"{db}.wide").values()) == {1}


def test_distribution_none_leaves_rows_where_they_are(spark: SparkSession, db: str) -> None:
    """With distribution = none each task writes its own file of each partition."""
    spark.sql(
        f"CREATE TABLE {db}.none (id BIGINT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('distribution' = 'none')"
    )
    spark.range(0, 60, 1, 3).selectExpr("id", "cast(id % 2 AS INT)").write.insertInto(f"{db}.none")
    assert per_partition(spark, f"{db}.none") == {0: 3, 1: 3}


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_sorted_query_stays_sorted(spark: SparkSession, db: str, fmt: str) -> None:
    """ORDER BY, also below casts and renames, and sortWithinPartitions decide the order of rows in a plain
    table.
    """
    spark.sql(f"CREATE TABLE {db}.s (a STRING, id INT) USING {fmt}")
    spark.sql(
        f"INSERT INTO {db}.s SELECT concat('x', id), cast(id AS INT) FROM range(0, 5000, 1, 4) ORDER BY id DESC"
    )
    bounds = sorted((f.statistics["id"].min, f.statistics["id"].max) for f in files_of(spark, f"{db}.s"))
    assert all(left[1] < right[0] for left, right in itertools.pairwise(bounds))
    for file in files_of(spark, f"{db}.s"):
        found = [row["id"] for row in rows_of(file.path)]
        assert found == sorted(found, reverse=True)
        assert found
    data = spark.range(0, 5000, 1, 3).selectExpr("concat('x', id) AS a", "cast(id AS INT)")
    data.sortWithinPartitions(sf.desc("id")).writeTo(f"{db}.s").overwrite(sf.lit(True))
    assert len(files_of(spark, f"{db}.s")) == 3
    for file in files_of(spark, f"{db}.s"):
        found = [row["id"] for row in rows_of(file.path)]
        assert found == sorted(found, reverse=True)
        assert found


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p)"])
def test_sort_by_separates_the_files(spark: SparkSession, db: str, fmt: str, partitioned: str) -> None:
    """With sort-by, rows are in order inside each file, and the files of a partition do not overlap."""
    table = f"{db}.sorted"
    spark.sql(
        f"CREATE TABLE {table} (k INT, s STRING, p INT) USING {fmt} {partitioned} "
        "TBLPROPERTIES ('target-file-size' = '64kb', 'sort-by' = 'k')"
    )
    spark.range(0, 20_000, 1, 5).selectExpr(
        "cast(hash(id) AS INT)", "sha1(cast(id AS STRING))", "if(id % 10 = 0, 1, 0)"
    ).write.insertInto(table)
    groups: dict[Any, list[Any]] = {}
    for file in files_of(spark, table):
        groups.setdefault(tuple(file.partition.values()), []).append(file)
    assert max(map(len, groups.values())) > 5
    for files in groups.values():
        bounds = sorted((f.statistics["k"].min, f.statistics["k"].max) for f in files)
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(bounds))
        for file in files:
            found = [row["k"] for row in rows_of(file.path, "k")]
            assert found == sorted(found)


def test_clustering_takes_one_exchange_and_one_sort(spark: SparkSession, db: str) -> None:
    """A partitioned write shuffles once and sorts once: Spark's writer finds the order that it needs."""
    spark.sql(f"CREATE TABLE {db}.plan (id BIGINT, p STRING) PARTITIONED BY (p)")
    store = spark._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    spark._jvm.System.setProperty("spark.testing", "true")  # Spark's writer then tells whether it had to sort
    try:
        spark.sql(f"INSERT INTO {db}.plan SELECT id, concat('p', id % 3) FROM range(0, 100, 1, 4)")
    finally:
        spark._jvm.System.clearProperty("spark.testing")
    new = store.executionsList(before, 10)
    plans = [new.apply(i).physicalPlanDescription() for i in range(new.size())]
    (write,) = [plan for plan in plans if "REBALANCE_PARTITIONS" in plan]
    tree = write.split("== Initial Plan ==")[0]
    assert (len(re.findall(r"\bExchange \(", tree)), len(re.findall(r"\bSort \(", tree))) == (1, 1)
    writer = getattr(spark._jvm.org.apache.spark.sql.execution.datasources, "FileFormatWriter$")
    assert getattr(writer, "MODULE$").outputOrderingMatched()


@pytest.mark.parametrize("fmt", FORMATS)
def test_names_are_new_with_every_commit_and_files_stay_as_written(
    spark: SparkSession, db: str, tmp_path: Path, fmt: str
) -> None:
    """Appends and overwrites make files with new names, change no existing file, and leave no other file."""
    spark.sql(
        f"CREATE TABLE {db}.n (id BIGINT, p INT) USING {fmt} PARTITIONED BY (p) LOCATION '{tmp_path}/n'"
    )
    seen: dict[Path, tuple[int, bytes]] = {}
    for statement in ("INTO", "INTO", "OVERWRITE", "OVERWRITE"):
        spark.sql(f"INSERT {statement} {db}.n SELECT id, 1 FROM range(10)")
        for path, (modified, content) in seen.items():
            assert (path.stat().st_mtime_ns, path.read_bytes()) == (modified, content)
        now = {path for path in on_disk(tmp_path / "n") if path.is_file() and not path.name.startswith(".")}
        assert len(now) == len(seen) + 1
        assert all(path.parent == tmp_path / "n" / "p=1" and path.suffix == f".{fmt}" for path in now)
        seen = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in now}
    (live,) = files_of(spark, f"{db}.n")
    assert Path(live.path.removeprefix("file:")) in seen


STATISTICS: dict[str, tuple[str, list[str], Any, Any]] = {
    "b": ("BOOLEAN", ["true", "false"], False, True),
    "i1": ("TINYINT", ["-128Y", "127Y"], -128, 127),
    "i2": ("SMALLINT", ["-5S", "300S"], -5, 300),
    "i4": ("INT", ["-7", "2147483647"], -7, 2147483647),
    "i8": ("BIGINT", ["-9223372036854775808L", "1L"], -(2**63), 1),
    "f4": ("FLOAT", ["-1.5F", "2.25F"], -1.5, 2.25),
    "f8": ("DOUBLE", ["-1.5D", "1e300D"], -1.5, 1e300),
    "d9": ("DECIMAL(9,2)", ["-1.50BD", "1234567.89BD"], Decimal("-1.50"), Decimal("1234567.89")),
    "d38": ("DECIMAL(38,10)", ["-1BD", "12345678901234567890.5BD"], Decimal("-1.0000000000"), Decimal("12345678901234567890.5000000000")),
    "s": ("STRING", ["'a'", "'é'"], "a", "é"),
    "v": ("VARCHAR(5)", ["'a'", "'zz'"], "a", "zz"),
    "dt": ("DATE", ["DATE'1970-01-01'", "DATE'2024-02-29'"], dt.date(1970, 1, 1), dt.date(2024, 2, 29)),
    "ts": (
        "TIMESTAMP",
        ["TIMESTAMP'1970-01-01 00:00:00 UTC'", "TIMESTAMP'2024-02-29 12:34:56.789 UTC'"],
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=dt.UTC),
    ),
    "tn": (
        "TIMESTAMP_NTZ",
        ["TIMESTAMP_NTZ'1970-01-01 00:00:00'", "TIMESTAMP_NTZ'2024-02-29 12:34:56.789'"],
        dt.datetime(1970, 1, 1),
        dt.datetime(2024, 2, 29, 12, 34, 56, 789000),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fmt", FORMATS)
def test_statistics_of_every_type(spark: SparkSession, db: str, fmt: str) -> None:
    """Rows, bytes, NULLs, minimum and maximum of each column of a file are recorded exactly."""
    table = f"{db}.stats"
    columns = ", ".join(f"{name} {type_}" for name, (type_, *_) in STATISTICS.items())
    spark.sql(f"CREATE TABLE {table} ({columns}) USING {fmt}")
    low, high = (", ".join(values[i] for _, values, *_ in STATISTICS.values()) for i in (0, 1))
    nulls = ", ".join("NULL" for _ in STATISTICS)
    spark.sql(f"INSERT INTO {table} VALUES ({high}), ({nulls}), ({low}), ({nulls}), ({nulls})")
    (file,) = files_of(spark, table)
    path = Path(file.path.removeprefix("file:"))
    assert (file.rows, file.bytes) == (5, path.stat().st_size)
    for name, (type_, _, least, greatest) in STATISTICS.items():
        found = file.statistics[name]
        assert found.nulls == 3, name
        if fmt == "orc" and type_ == "TIMESTAMP":  # ORC's bounds depend on the writer's zone
            assert found.min <= least < greatest <= found.max
            assert not found.min_exact
            continue
        assert (found.min, found.max) == (least, greatest), name
        assert (found.min_exact, found.max_exact) == (True, True), name


@pytest.mark.parametrize("fmt", FORMATS)
def test_long_texts_are_shortened_and_marked(spark: SparkSession, db: str, fmt: str) -> None:
    """A bound of a long text keeps its beginning, rounded up for the maximum, and is marked as inexact."""
    spark.sql(f"CREATE TABLE {db}.long (s STRING, t STRING) USING {fmt}")
    spark.sql(
        f"INSERT INTO {db}.long SELECT repeat('m', 1500), x FROM VALUES ('a'), (repeat('z', 1500)) AS v (x)"
    )
    (file,) = files_of(spark, f"{db}.long")
    s, t = file.statistics["s"], file.statistics["t"]
    assert s.min == "m" * len(s.min)
    assert len(s.min) < 1000
    assert not s.min_exact
    assert s.max > "m" * 1500
    assert len(s.max) < 1000
    assert not s.max_exact
    assert (t.min, t.min_exact, t.max_exact) == ("a", fmt == "parquet", False)
    assert t.max > "z" * 1500


@pytest.mark.parametrize("fmt", FORMATS)
def test_nan_and_negative_zero_do_not_spoil_bounds(spark: SparkSession, db: str, fmt: str) -> None:
    """Beside NaN, bounds are either right for the other values or missing; all conditions find their rows."""
    spark.sql(f"CREATE TABLE {db}.nan (f DOUBLE) USING {fmt}")
    spark.sql(f"INSERT INTO {db}.nan VALUES (double('NaN')), (1.0D), (-0.0D), (NULL)")
    (file,) = files_of(spark, f"{db}.nan")
    found = file.statistics["f"]
    assert found.nulls == 1
    assert (found.min, found.max) in [(None, None), (0.0, 1.0)]
    counts = {"f > 5": 1, "f = 0.0D": 1, "f = double('NaN')": 1, "f <= 1": 2, "f IS NULL": 1}
    answers = filtered.found(spark, f"{db}.nan", [*counts], "1")
    assert dict(zip(counts, map(len, answers), strict=True)) == counts


def test_timestamps_are_int64_with_statistics(spark: SparkSession, db: str) -> None:
    """Parquet's timestamps are INT64 in microseconds, for any setting of the session, since INT96 has no
    statistics.
    """
    spark.sql(f"CREATE TABLE {db}.ts (at TIMESTAMP, inner STRUCT<at: TIMESTAMP>)")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        spark.sql(
            f"INSERT INTO {db}.ts SELECT t, struct(t) FROM (SELECT TIMESTAMP'2024-02-29 12:34:56.123456 UTC' AS t)"
        )
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    (file,) = files_of(spark, f"{db}.ts")
    schema = pq.read_schema(file.path.removeprefix("file:"))
    assert str(schema.field("at").type) == "timestamp[us, tz=UTC]"
    assert file.statistics["at"].min == dt.datetime(2024, 2, 29, 12, 34, 56, 123456, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("fmt", "codec"), [("parquet", "gzip"), ("parquet", "none"), ("orc", "zstd"), ("orc", "none")]
)
def test_compression_is_the_table_s(spark: SparkSession, db: str, fmt: str, codec: str) -> None:
    """The property compression decides the codec of new files."""
    spark.sql(f"CREATE TABLE {db}.c (id BIGINT) USING {fmt} TBLPROPERTIES ('compression' = '{codec}')")
    spark.range(100).writeTo(f"{db}.c").append()
    (file,) = files_of(spark, f"{db}.c")
    if fmt == "parquet":
        chunk = pq.read_metadata(file.path.removeprefix("file:")).row_group(0).column(0)
        assert chunk.compression == {"gzip": "GZIP", "none": "UNCOMPRESSED"}[codec]
    else:
        assert file.path.endswith({"zstd": ".zstd.orc", "none": ".orc"}[codec])
        assert codec != "none" or not re.search(r"\.(snappy|zstd|zlib)\.orc$", file.path)


def test_a_codec_that_the_format_has_not(spark: SparkSession, db: str) -> None:
    """zlib on Parquet is refused by name, at the latest when rows are written, and leaves nothing."""

    def make_and_fill() -> None:
        spark.sql(f"CREATE TABLE {db}.c (id BIGINT) USING parquet TBLPROPERTIES ('compression' = 'zlib')")
        spark.range(10).writeTo(f"{db}.c").append()

    with pytest.raises(PySparkException, match="zlib"):
        make_and_fill()


def test_properties_of_the_formats_are_passed_on(spark: SparkSession, db: str) -> None:
    """parquet.* and orc.* table properties reach the writers: page sizes, dictionaries, bloom filters."""
    spark.sql(
        f"CREATE TABLE {db}.p (id BIGINT, s STRING) TBLPROPERTIES ('parquet.enable.dictionary' = 'false', "
        "'parquet.block.size' = '20000', 'parquet.block.size.row.check.min' = '100', 'parquet.bloom.filter.enabled#id' = 'true')"
    )
    spark.range(0, 20_000, 1, 1).selectExpr("id", "sha1(cast(id AS STRING))").write.insertInto(f"{db}.p")
    (file,) = files_of(spark, f"{db}.p")
    footer = pq.read_metadata(file.path.removeprefix("file:"))
    assert footer.num_row_groups > 1
    assert not footer.row_group(0).column(0).has_dictionary_page
    spark.sql(f"CREATE TABLE {db}.o (id BIGINT) USING orc TBLPROPERTIES ('orc.bloom.filter.columns' = 'id')")
    spark.range(100).writeTo(f"{db}.o").append()
    (with_bloom,) = files_of(spark, f"{db}.o")
    spark.sql(f"ALTER TABLE {db}.o UNSET TBLPROPERTIES ('orc.bloom.filter.columns')")
    spark.sql(f"INSERT OVERWRITE {db}.o SELECT id FROM range(100)")
    (without,) = files_of(spark, f"{db}.o")
    assert (
        b"BLOOM_FILTER" in Path(with_bloom.path.removeprefix("file:")).read_bytes()
        or with_bloom.bytes > without.bytes
    )


@pytest.mark.parametrize("fmt", FORMATS)
def test_nested_types(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """Structs, arrays and maps, empty and NULL at every level, are written and read as Spark
    reads its own.
    """
    name = f"{db}.nested"
    spark.sql(
        f"CREATE TABLE {name} (s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, ARRAY<INT>>, p INT) "
        f"USING {fmt} PARTITIONED BY (p)"
    )
    query = (
        "SELECT named_struct('a', 1, 'b', named_struct('c', 'x')) AS s, array(named_struct('x', 1), NULL) AS l, "
        "map('k', array(1, NULL), 'n', NULL) AS m, 1 AS p UNION ALL SELECT NULL, array(), map(), 1 "
        "UNION ALL SELECT named_struct('a', NULL, 'b', NULL), NULL, NULL, 2"
    )
    spark.sql(f"INSERT INTO {name} {query}")
    assert sorted(map(str, rows(f"SELECT * FROM {name}"))) == sorted(map(str, rows(query)))
    spark.sql(
        f"INSERT INTO {name} BY NAME SELECT NULL AS m, 3 AS p, NULL AS l, named_struct('b', named_struct('c', 'y'), 'a', 5) AS s"
    )
    assert rows(f"SELECT s.a, s.b.c, l FROM {name} WHERE p = 3") == [(5, "y", None)]


@pytest.mark.exhaustive("test_statistics_of_every_type writes many columns with their statistics")
@pytest.mark.parametrize("fmt", FORMATS)
def test_wide_tables(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """300 columns are written, each with its statistics."""
    columns = ", ".join(f"c{i} INT" for i in range(300))
    spark.sql(f"CREATE TABLE {db}.wide ({columns}) USING {fmt} PARTITIONED BY (c299)")
    spark.sql(
        f"INSERT INTO {db}.wide SELECT {', '.join(f'cast(id + {i} AS INT)' for i in range(299))}, 1 FROM range(10)"
    )
    (file,) = files_of(spark, f"{db}.wide")
    assert {(file.statistics[f"c{i}"].min - i, file.statistics[f"c{i}"].max - i) for i in range(299)} == {
        (0, 9)
    }
    assert rows(f"SELECT c7, c298, c299 FROM {db}.wide WHERE c150 = 152") == [(9, 300, 1)]


def test_a_partition_with_a_location_of_its_own(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Rows added to a partition with another location go there; foreign files there stay, after any statement
    on the table.
    """
    name = f"{db}.apart"
    spark.range(3).coalesce(1).write.parquet(f"{tmp_path}/elsewhere")
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p INT) PARTITIONED BY (p) LOCATION '{tmp_path}/table'")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION (p = 1) LOCATION '{tmp_path}/elsewhere'")
    spark.sql(f"INSERT INTO {name} VALUES (10, 1), (11, 2)")
    assert rows(f"SELECT id, p FROM {name} ORDER BY id") == [(0, 1), (1, 1), (2, 1), (10, 1), (11, 2)]
    paths = {Path(file.path.removeprefix("file:")).parent for file in files_of(spark, name)}
    assert paths == {tmp_path / "elsewhere", tmp_path / "table" / "p=2"}
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 1) SELECT 20L")
    assert rows(f"SELECT id FROM {name} ORDER BY id") == [(11,), (20,)]
    assert len(list((tmp_path / "elsewhere").glob("part-*.parquet"))) == 1


@pytest.mark.parametrize("fmt", FORMATS)
def test_plain_spark_reads_the_folder(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, fmt: str
) -> None:
    """Before anything is overwritten, spark.read of the table's folder gives the same rows."""
    name = f"{db}.open"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, s STRING, p INT, q STRING) USING {fmt} PARTITIONED BY (p, q) LOCATION '{tmp_path}/o'"
    )
    for start in (0, 100):
        spark.sql(
            f"INSERT INTO {name} SELECT id, if(id % 7 = 0, NULL, concat('s', id)), cast(id % 3 AS INT), "
            f"if(id % 5 = 0, NULL, concat('q/', id % 4)) FROM range({start}, {start + 60})"
        )
    plain = spark.read.format(fmt).load(f"{tmp_path}/o").select("id", "s", "p", "q")
    found = sorted(map(str, map(tuple, plain.collect())))
    assert found == sorted(map(str, rows(f"SELECT * FROM {name}")))
    assert len(found) == 120


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_failed_job_leaves_nothing(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, fmt: str
) -> None:
    """A task that fails half way, long after its neighbours ended, leaves table and folder unchanged, with
    Spark's error.
    """
    name = f"{db}.failed"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, s STRING, p INT) USING {fmt} PARTITIONED BY (p) LOCATION '{tmp_path}/f' "
        "TBLPROPERTIES ('target-file-size' = '16kb', 'distribution' = 'none')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'kept', 1)")
    before = on_disk(tmp_path / "f")
    # of seven tasks, two at a time, the last waits for the others to be done
    late = "concat('boom at 39999 ', java_method('java.lang.Thread', 'sleep', 1000L))"
    failing = sf.expr(f"if(id = 39999, raise_error({late}), sha1(cast(id AS STRING)))")
    for mode in ("INTO", "OVERWRITE"):
        spark.range(0, 40_000, 1, 7).select(
            "id", failing, sf.expr("cast(id % 3 AS INT)")
        ).createOrReplaceTempView("failing")
        with pytest.raises(PySparkException, match="boom at 39999") as error:
            spark.sql(f"INSERT {mode} {name} SELECT * FROM failing")
        assert "PARQUETRY" not in str(error.value)
        assert on_disk(tmp_path / "f") == before
    assert rows(f"SELECT * FROM {name}") == [(1, "kept", 1)]

    broken = sf.udf(lambda number: str(1 // (number - 5)), "string")
    with pytest.raises(PySparkException, match="ZeroDivisionError"):
        spark.range(0, 10, 1, 1).select("id", broken("id"), sf.lit(7)).write.insertInto(name)  # by one task
    assert on_disk(tmp_path / "f") == before
