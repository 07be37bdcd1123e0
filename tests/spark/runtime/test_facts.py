"""Runtime values with facts that narrow other facts, with dates by way of weeks, and with parts of a query
that Spark computes once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

DATABASE = "lake.run_time_facts"
DAYS = 200
TABLES = {
    # numbers grow with the days; codes fall, and then grow
    "sales": (
        "number int, code int, item int, amount int, day int",
        "day",
        f"SELECT id, abs(id - {DAYS * 5 // 2}), id % 17, id, id DIV 5 FROM range({DAYS * 5})",
    ),
    # each day returns sales of the three days before, of every second number
    "returns": (
        "number int, code int, item int, back int, why int, day int",
        "day",
        f"SELECT id * 2, abs(id * 2 - {DAYS * 5 // 2}), (id * 2) % 17, id, id % 3, least((id * 2) DIV 5 + id % 3, {DAYS - 1}) "
        f"FROM range({DAYS * 5 // 2})",
    ),
    "days": (
        "day int, week int, month int, year int",
        "",
        f"SELECT id, id DIV 7, id DIV 20, id DIV 100 FROM range(0, {DAYS}, 1, 1)",
    ),
    "reasons": ("why int, text string", "", "SELECT id, concat('why ', id) FROM range(0, 3, 1, 1)"),
}  # fmt: skip


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Sales and returns with a partition for each day, the days, and the reasons of returns; and plain views
    of their rows.
    """
    spare_classes(spark)
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    found = {}
    for name, (columns, by, rows) in TABLES.items():
        partitioned = f"PARTITIONED BY ({by})" if by else ""
        spark.sql(f"CREATE TABLE {DATABASE}.{name} ({columns}) USING parquet {partitioned}")
        spark.sql(f"INSERT INTO {DATABASE}.{name} {rows}")
        found[name] = f"plain_{name}_of_facts"
        local_view(spark.table(f"{DATABASE}.{name}"), found[name])
    yield found
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def answered(spark: SparkSession, views: dict[str, str], query: str) -> DataFrame:
    """Return a query of our tables that has run, and gave the answer of plain Spark."""
    frame = spark.sql(query.format(**{name: f"{DATABASE}.{name}" for name in TABLES}))
    found = plans.comparable(frame.collect())
    assert found == plainly(spark, query.format(**views))
    assert found, "a query without an answer shows nothing"
    return frame


def files(frame: DataFrame, table: str) -> list[int]:
    """Return how many files each scan of a table in the plan has read."""
    steps = [
        scan.step("files") for scan in parquetry.report(frame).scans if scan.table == f"{DATABASE}.{table}"
    ]
    return [step.kept for step in steps if step is not None]


def scans(frame: DataFrame, table: str) -> int:
    """Return how many scans of a table have run."""
    return sum(f"BatchScan {DATABASE}.{table}[" in line for line in plans.lines(frame))


JOINS = pytest.mark.parametrize(
    ("join", "returned"),
    [
        ("{sales} s LEFT JOIN {returns} r ON s.KEY = r.KEY AND s.item = r.item", "coalesce(r.back, 0)"),
        ("{returns} r RIGHT JOIN {sales} s ON s.KEY = r.KEY AND s.item = r.item", "coalesce(r.back, 0)"),
        ("{sales} s JOIN {returns} r ON s.KEY = r.KEY AND s.item = r.item", "r.back"),
        ("{sales} s LEFT ANTI JOIN {returns} r ON s.KEY = r.KEY", "1"),
    ],
)
FEW_DAYS = "d.month = 4 AND d.year = 0 AND d.week < 13"


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
@JOINS
def test_a_fact_narrowed_by_another(
    spark: SparkSession, views: dict[str, str], join: str, returned: str, adaptive: bool
) -> None:
    """The codes of few days' sales prune the returns; these are in the files of the same days
    and the next.
    """
    join = join.replace("KEY", "code")
    with settings(
        spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.autoBroadcastJoinThreshold": "10kb"}
    ):
        frame = answered(
            spark,
            views,
            f"SELECT sum(s.amount), sum({returned}) FROM {join} JOIN {{days}} d ON s.day = d.day WHERE {FEW_DAYS}",
        )
    (returns,) = files(frame, "returns")
    assert returns < DAYS // 5, str(parquetry.report(frame))
    read = [
        line.split("BatchScan ")[1] for line in plans.lines(frame) if f"BatchScan {DATABASE}.sales[" in line
    ]
    assert any("amount#" not in scan and "code#" in scan for scan in read), "codes are read alone"
    assert files(frame, "sales")[0] <= 20


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
@JOINS
def test_a_fact_narrowed_by_what_files_tell_of_another(
    spark: SparkSession, views: dict[str, str], join: str, returned: str, adaptive: bool
) -> None:
    """If numbers grow with the days, the files' bounds give the range of few days' sales.

    No sale is read for it, and the days are read once.
    """
    join = join.replace("KEY", "number")
    with settings(
        spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.autoBroadcastJoinThreshold": "10kb"}
    ):
        frame = answered(
            spark,
            views,
            f"SELECT sum(s.amount), sum({returned}) FROM {join} JOIN {{days}} d ON s.day = d.day WHERE {FEW_DAYS}",
        )
    report = parquetry.report(frame)
    (returns,) = files(frame, "returns")
    assert 11 <= returns <= 14, str(
        report
    )  # eleven days, and the two days after, as items of these days came back
    assert files(frame, "sales") == [11]
    read = [line.split("BatchScan ")[1] for line in plans.lines(frame) if "BatchScan " in line]
    assert sum(f"{DATABASE}.sales[" in scan and "least#" not in scan for scan in read) == 1
    assert scans(frame, "days") == 1
    (told,) = [each for each in report.values if each.how == "ends"]
    assert told.title == f"{DATABASE}.returns.number"
    assert told.outcome.startswith(
        f"least and greatest of the run-time values of {DATABASE}.sales.number where month = 4"
    )
    assert "run time: number >= 400, number <= 454: files 200" in str(report)
    assert "scalarsubquery" not in str(report)


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_what_is_computed_of_some_rows_is_computed_of_no_others(
    spark: SparkSession, views: dict[str, str], adaptive: bool
) -> None:
    """A condition on rows prevents a division by zero: if the files' bounds are used, no row is read, and no
    division runs.
    """
    values = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.autoBroadcastJoinThreshold": "10kb",
        "spark.sql.codegen.wholeStage": False,  # so that all is computed, whether or not it is used
    }
    with settings(spark, values):
        frame = answered(
            spark,
            views,
            "SELECT sum(s.part), sum(r.back) FROM (SELECT *, 600 DIV (day - 82) AS part FROM {sales} WHERE int(string(amount)) % 600 > 420) s "
            f"JOIN {{returns}} r ON s.number = r.number JOIN {{days}} d ON s.day = d.day WHERE {FEW_DAYS}",
        )
    assert [each.how for each in parquetry.report(frame).values].count("ends") == 1
    assert files(frame, "returns")[0] < DAYS


def test_no_sales_of_which_files_could_tell(spark: SparkSession, views: dict[str, str]) -> None:
    """Where no day is left, there is no least number, and no return is read."""
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": "10kb"}):
        frame = answered(
            spark,
            views,
            "SELECT count(*), sum(r.back) FROM {sales} s JOIN {returns} r ON s.number = r.number JOIN {days} d ON s.day = d.day "
            "WHERE d.month = 4 AND d.year = 0 AND d.week % 40 = 39",
        )
    assert files(frame, "returns") in ([0], [DAYS]), "AQE may have found that nothing is left"
    assert files(frame, "sales") == [0]


def test_a_fact_of_which_much_is_left_is_not_read_for_another(
    spark: SparkSession, views: dict[str, str]
) -> None:
    """Half of the sales are too many for a second read, and numbers of items are in all files."""
    for where, key in (("d.year = 0", "code"), ("d.month = 4", "item")):
        with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": "1kb"}):
            frame = answered(
                spark,
                views,
                f"SELECT sum(s.amount), sum(r.back) FROM {{sales}} s LEFT JOIN {{returns}} r ON s.{key} = r.{key} "
                f"JOIN {{days}} d ON s.day = d.day WHERE {where}",
            )
        assert files(frame, "returns") == [DAYS]
        assert scans(frame, "sales") == 1


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_weeks_of_an_aggregate(spark: SparkSession, views: dict[str, str], adaptive: bool) -> None:
    """A condition on the relation that an aggregate is joined with prunes days below the aggregate, by the
    weeks in its groups.
    """
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = answered(
            spark,
            views,
            "SELECT w.week, w.amount FROM (SELECT d.week, sum(amount) amount FROM {sales} s JOIN {days} d ON s.day = d.day "
            "GROUP BY d.week) w JOIN {days} x ON w.week = x.week WHERE x.month = 3 AND x.day % 7 = 0",
        )
    assert files(frame, "sales") == [21]


@pytest.mark.since("4.1", "Spark 4.0 reads each place by itself")
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_values_of_all_places(spark: SparkSession, views: dict[str, str], adaptive: bool) -> None:
    """A subquery that Spark reads once for two uses is read for the weeks of both, and still once."""
    query = (
        "WITH w AS (SELECT d.week, sum(amount) amount FROM {sales} s JOIN {days} d ON s.day = d.day GROUP BY d.week) "
        "SELECT a.week, a.amount + b.amount FROM (SELECT w.* FROM w JOIN {days} x ON w.week = x.week WHERE x.day = 30) a, "
        "(SELECT w.* FROM w JOIN {days} x ON w.week = x.week WHERE x.day = 100) b WHERE a.week = b.week - 10"
    )
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = answered(spark, views, query)
        assert plans.nodes(frame)["ReusedExchange"] >= 1
    assert min(files(frame, "sales")) == 14  # of the place that was read
    assert scans(frame, "sales") == 1


def test_near_tables_where_far_ones_are_dear(spark: SparkSession, views: dict[str, str]) -> None:
    """If the rows with matches in far tables are expensive to find, the rows with matches in the next table
    are used.
    """
    frame = answered(
        spark,
        views,
        "SELECT count(*), sum(r.back) FROM {sales} s JOIN {days} d ON s.day = d.day JOIN {days} e ON d.week = e.week "
        "JOIN {returns} r ON r.day = e.day WHERE d.year = 0 AND d.month = 4 AND s.item > 3",
    )
    assert max(files(frame, "returns")) <= 28


@pytest.mark.parametrize(
    "condition",
    [
        "",
        pytest.param(
            "AND q.text LIKE 'why%'", marks=pytest.mark.exhaustive("the case without a condition shows it")
        ),
    ],
)
def test_a_broadcast_is_made_once(spark: SparkSession, views: dict[str, str], condition: str) -> None:
    """A broadcast that gets values from a join outside of it is made once: it is the same broadcast where its
    own values are used.
    """
    frame = answered(
        spark,
        views,
        "SELECT count(*), sum(s.amount) FROM {sales} s JOIN (SELECT /*+ BROADCAST */ * FROM {returns}) r ON s.number = r.number "
        f"JOIN {{reasons}} q ON r.why = q.why WHERE s.amount > 3 {condition}",
    )
    assert scans(frame, "returns") == 1, frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.since("4.1", "Spark 4.0 gives the scan below a scalar subquery values of its own")
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
@pytest.mark.parametrize("hint", ["", "/*+ BROADCAST(r) */"], ids=["shuffled", "broadcast"])
def test_what_a_scalar_subquery_reads_whole_is_read_once(
    spark: SparkSession, views: dict[str, str], hint: str, adaptive: bool
) -> None:
    """No filter on a data column, Spark's own or ours, reads a table again beside the subquery that reads all
    of it.
    """
    sums = (
        f"SELECT {hint} s.item, sum(r.back) AS back FROM {{returns}} r JOIN {{sales}} s ON s.number = r.number "
        "JOIN {reasons} q ON r.why = q.why"
    )
    query = (
        f"{sums} WHERE q.text = 'why 1' GROUP BY s.item "
        f"HAVING sum(r.back) > (SELECT avg(back) / 4 FROM ({sums} GROUP BY s.item))"
    )
    with settings(
        spark,
        {"spark.sql.adaptive.enabled": adaptive, "spark.sql.autoBroadcastJoinThreshold": "1kb"},
    ):
        frame = answered(spark, views, query)
        assert scans(frame, "returns") == 1, frame._jdf.queryExecution().executedPlan().toString()
        assert plans.nodes(frame)["ReusedExchange"] >= 1
        values = [each for each in parquetry.report(frame).values if each.title.endswith("returns.why")]
        assert values, "a report says of each join what became of it"
        assert {each.reason for each in values} == {
            f"what is read of {DATABASE}.returns serves several places of the query"
        }
