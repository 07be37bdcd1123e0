"""`explain`, `report`, EXPLAIN and the metrics describe a scan, and agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.prune import steps
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule


@pytest.fixture(
    params=["parquet", pytest.param("orc", marks=pytest.mark.exhaustive("a report of parquet has the same"))]
)
def table(request: pytest.FixtureRequest, spark: SparkSession, db: str) -> str:
    """A table of 10 partitions, one file each, with `v` from 0 to 99 and `p` its last digit."""
    name = f"{db}.t"
    spark.sql(f"CREATE TABLE {name} (v int, s string, p int) USING {request.param} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT), uuid(), CAST(id % 10 AS INT) FROM range(100)")
    return name


def scans(found: Any) -> list[dict[str, Any]]:
    return found.to_dict()["scans"]  # type: ignore[no-any-return]


def _chained(scan: dict[str, Any]) -> bool:
    """Return whether the `of` of a step is what the step before it kept, with files counted in the kept
    partitions.
    """
    return all(0 <= step["kept"] <= step["of"] for step in scan["steps"])


def test_a_report_has_this_shape(spark: SparkSession, table: str) -> None:
    """Table, and for each step what was kept of what, the conditions that did it, and why others did not."""
    query = f"SELECT v FROM {table} WHERE p IN (1, 2) AND hash(v) <> 3"
    (scan,) = scans(parquetry.explain(query))
    partitions, files, size = scan["steps"]
    assert scan["table"] == table
    assert partitions == {
        "name": "partitions", "kept": 2, "of": 10, "by": ["p IN (1, 2)"],
        "not_by": [{"condition": "NOT (hash(v) = 3)", "reason": "column v is not a partition column"}],
    }  # fmt: skip
    assert files == {
        "name": "files", "kept": 2, "of": 2, "by": [],
        "not_by": [{"condition": "NOT (hash(v) = 3)", "reason": "function on the column"}],
    }  # fmt: skip
    assert (size["name"], size["by"], size["not_by"]) == ("bytes", ["v"], [])
    assert 0 < size["kept"] < size["of"]
    warehouse = Path(spark.conf.get("spark.sql.catalog.lake.warehouse") or "")
    listed = parquetry.open(str(warehouse)).files(table.removeprefix("lake."), where="p IN (1, 2)")
    assert size["whole"] == sum(file.bytes for file in listed)
    everything = parquetry.open(str(warehouse)).files(table.removeprefix("lake."))
    assert size["of"] == sum(file.bytes for file in everything)


@pytest.mark.parametrize(
    ("where", "partitions_by", "files_by", "not_by"),
    [
        ("hash(v) = 3", [], [], {"hash(v) = 3"}),
        ("(v + p) % 2 = 1", [], [], {"(v + p) % 2 = 1"}),
        ("p = 3 AND v > 1000", ["p = 3"], ["v > 1000"], set()),
        ("v < 7 AND p > 4", ["p > 4"], ["v < 7"], set()),
        ("p >= 0", [], [], {"p >= 0"}),
        ("v >= 0", [], [], {"v >= 0"}),
        ("p = 1 OR v = 1", [], ["p = 1 OR v = 1"], set()),
        ("p + 1 = 4", ["(p + 1) = 4"], [], set()),
        ("s = v", [], [], {"CAST(s AS bigint) = CAST(v AS bigint)"}),
    ],
)
def test_each_condition_is_named_with_what_it_did(
    spark: SparkSession,
    table: str,
    where: str,
    partitions_by: list[str],
    files_by: list[str],
    not_by: set[str],
) -> None:
    """A condition is in `by` of the step it helped, or in `not_by` with a reason, in readable SQL."""
    (scan,) = scans(parquetry.explain(f"SELECT v FROM {table} WHERE {where}"))
    partitions, files, _ = scan["steps"]
    assert partitions["by"] == partitions_by
    assert files["by"] == files_by
    unused = {note["condition"] for step in (partitions, files) for note in step["not_by"]}
    assert all(note["reason"] for step in (partitions, files) for note in step["not_by"])
    helped = set(partitions["by"]) | set(files["by"])
    assert unused - helped == not_by
    assert _chained(scan)


def test_an_unpartitioned_table_has_no_step_of_partitions(spark: SparkSession, db: str) -> None:
    """Files and bytes are its steps, of all its files."""
    spark.sql(f"CREATE TABLE {db}.plain (v int)")
    for low in (0, 10, 20):
        spark.sql(f"INSERT INTO {db}.plain SELECT CAST(id AS INT) FROM range({low}, {low + 10}, 1, 1)")
    (scan,) = scans(parquetry.explain(f"SELECT * FROM {db}.plain WHERE v BETWEEN 5 AND 8"))
    first = scan["steps"][0]
    assert (first["name"], first["kept"], first["of"]) == ("files", 1, 3)
    assert scan["steps"][0]["by"] == ["v <= 8"]
    assert scan["steps"][0]["not_by"] == [{"condition": "v >= 5", "reason": "every file may hold a match"}]
    assert [step["name"] for step in scan["steps"]] == ["files", "bytes"]
    text = str(parquetry.explain(f"SELECT * FROM {db}.plain WHERE v BETWEEN 5 AND 8"))
    assert text.startswith(f"{db}.plain: files 1 of 3 (v <= 8)")


def test_every_scan_of_a_query_is_reported(spark: SparkSession, table: str) -> None:
    """Joins, self-joins, unions, subqueries and common table expressions have a report for each scan."""
    for query, partitions in (
        (f"SELECT * FROM {table} a JOIN {table} b ON a.v = b.v WHERE a.p = 1 AND b.p < 3", [1, 3]),
        (f"SELECT a.v FROM {table} a JOIN {table} b ON a.v = b.v", [10, 10]),
        (f"SELECT v FROM {table} WHERE p = 1 UNION ALL SELECT v FROM {table} WHERE p IN (1, 2)", [1, 2]),
        (f"SELECT v FROM {table} WHERE p = 1 AND v > (SELECT avg(v) FROM {table} WHERE p IN (3, 4))", [1, 2]),
        (
            f"SELECT v FROM {table} a WHERE p = 1 AND EXISTS (SELECT 1 FROM {table} b WHERE b.v = a.v AND b.p < 4)",
            [1, 4],
        ),
        (f"WITH x AS (SELECT v FROM {table} WHERE p = 7) SELECT * FROM x", [1]),
        ("SELECT 1", []),
    ):
        found = scans(parquetry.explain(query))
        assert sorted(scan["steps"][0]["kept"] for scan in found) == sorted(partitions), query
    assert str(parquetry.explain("SELECT 1")) == "no scans"


def test_explaining_sql_does_not_run_it(spark: SparkSession, table: str) -> None:
    """INSERT, DROP and the like are planned for the report and change nothing."""
    report = parquetry.explain(f"INSERT INTO {table} SELECT v, s, 77 FROM {table} WHERE p = 4")
    assert [scan["steps"][0]["kept"] for scan in scans(report)] == [1]
    parquetry.explain(f"DROP TABLE {table}")
    parquetry.explain(f"TRUNCATE TABLE {table}")
    assert spark.table(table).count() == 100
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        parquetry.explain("SELEC 1")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        parquetry.explain("SELECT * FROM lake.nowhere.t")


def test_an_insert_reports_what_its_query_read(spark: SparkSession, table: str) -> None:
    """The frame of an INSERT that has run gives the scans of its query."""
    done = spark.sql(f"INSERT INTO {table} SELECT v, s, 77 FROM {table} WHERE p = 4")
    (scan,) = scans(parquetry.report(done))
    assert (scan["table"], scan["steps"][0]["kept"], scan["steps"][0]["by"]) == (table, 1, ["p = 4"])
    create = f"CREATE TABLE {table}_copy AS SELECT * FROM {table} WHERE p IN (4, 77)"
    assert scans(parquetry.explain(create))[0]["steps"][0]["kept"] == 2
    assert scans(parquetry.report(spark.sql(create)))[0]["steps"][0]["kept"] == 2


def test_a_cached_frame_reports_the_scan_that_fills_the_cache(spark: SparkSession, table: str) -> None:
    """A cache stands between the query and the table; what fills it is reported."""
    frame = spark.sql(f"SELECT * FROM {table} WHERE p < 4").cache()
    try:
        query = frame.where("v = 3")
        assert "InMemoryRelation" in query._jdf.queryExecution().withCachedData().toString()
        (scan,) = scans(parquetry.report(query))
        assert scan["steps"][0]["kept"] == 4
    finally:
        frame.unpersist()


def test_explain_shows_table_filters_and_fractions_in_the_line_of_the_scan(
    spark: SparkSession, table: str
) -> None:
    """Spark's EXPLAIN and its formatted form name the table, what was pushed, and the fractions."""
    query = f"SELECT sum(v) FROM {table} WHERE p IN (1, 2) AND v > 3"
    for mode in ("", "EXTENDED", "FORMATTED"):
        text = spark.sql(f"EXPLAIN {mode} {query}").first()[0]  # type: ignore[index]
        lines = [line for line in text.split("\n") if "partitions 2 of 10 (p IN (1, 2))" in line]
        assert lines, mode
        assert table in lines[-1]
        assert "pushed filters: [p IN (1, 2), v > 3]" in lines[-1]
        assert "files 2 of 2" in lines[-1]


def _metrics(spark: SparkSession, frame: Any) -> dict[str, str]:
    """Run a frame and return the metrics that Spark's SQL UI shows of it, by their descriptions."""
    store = spark._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    frame.collect()
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    executions = store.executionsList(int(before), 1)
    execution = executions.head()
    values = store.executionMetrics(execution.executionId())
    metrics = execution.metrics()
    found = {}
    for n in range(metrics.size()):
        metric = metrics.apply(n)
        value = values.get(metric.accumulatorId())
        if value.isDefined():
            found[metric.name()] = value.get()
    return found


def test_the_metrics_of_a_scan_are_the_counts_of_its_report(spark: SparkSession, table: str) -> None:
    """Spark's UI shows partitions, files and bytes, kept and of all."""
    frame = spark.sql(f"SELECT v FROM {table} WHERE p IN (1, 2) AND v < 50")
    (scan,) = scans(parquetry.report(frame))
    counts = {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}
    metrics = _metrics(spark, frame)
    numbers = {
        name: int(value.replace(",", ""))
        for name, value in metrics.items()
        if value.replace(",", "").isdigit()
    }
    assert (numbers["partitions read"], numbers["partitions of the table"]) == counts["partitions"] == (2, 10)
    assert (numbers["files read"], numbers["files of the partitions read"]) == counts["files"] == (2, 2)
    assert (numbers["bytes of the columns read"], numbers["bytes of the table"]) == counts["bytes"]


class EvenPartitions(Rule):
    """Keeps the partitions of even values, for any condition."""

    name = "evens"
    kept_text = "even partitions read"
    of_text = "partitions to be even"

    def narrow(self, scan: PruningRequest, left: Remaining) -> tuple[Remaining, Step | None]:
        """Cut the odd ones."""
        even = [place for place, each in enumerate(left.partitions) if each.values[-1] in (0, 2, 4, 6, 8)]
        return left.only(even), Step(self.name, len(even), len(left.partitions), ("evenness",))


def _with_evens() -> tuple[Rule, ...]:
    first, *others = steps.STEPS
    return (first, EvenPartitions(), *others)


def test_a_step_added_to_the_list_is_seen_everywhere(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, reports, EXPLAIN and the metrics show a new step after one registers its rule and its position in
    the list.
    """
    monkeypatch.setattr(steps, "STEPS", _with_evens())
    query = f"SELECT v FROM {table} WHERE p IN (1, 2) AND hash(v) <> 3"
    frame = spark.sql(query)
    metrics = _metrics(spark, frame)
    assert {row.v % 10 for row in frame.collect()} == {2}
    assert (metrics["even partitions read"], metrics["partitions to be even"]) == ("1", "2")
    assert (metrics["files read"], metrics["files of the partitions read"]) == ("1", "1")
    for report in (parquetry.explain(query), parquetry.report(frame)):
        assert scans(report)[0]["steps"][1] == {
            "name": "evens", "kept": 1, "of": 2, "by": ["evenness"], "not_by": [],
        }  # fmt: skip
        assert "partitions 2 of 10 (p IN (1, 2)) · evens 1 of 2 (evenness) · files 1 of 1" in str(report)
        assert "evenness" in report._repr_html_()
    assert "evens 1 of 2 (evenness)" in spark.sql(f"EXPLAIN {query}").first()[0]  # type: ignore[index]
    counted = spark.sql(f"SELECT count(*) FROM {table} WHERE p IN (1, 2)")
    assert counted.collect() == [(10,)]
    assert "evens 1 of 2 (evenness) · files 0 of 1 (answered by the metastore)" in str(
        parquetry.report(counted)
    )


@pytest.mark.unaudited("a step is added between the plan and its audit")
def test_values_of_a_join_are_said_to_be_those(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report distinguishes a join's values from the query's conditions, and steps added after planning do
    no harm.
    """
    spark.sql(f"CREATE TABLE {table}_dim (d int, name string)")
    spark.sql(f"INSERT INTO {table}_dim SELECT CAST(id AS INT), concat('n', id % 4) FROM range(40)")
    frame = spark.sql(
        f"SELECT sum(v) FROM {table} f JOIN {table}_dim d ON f.p = d.d WHERE name = 'n2' AND p < 9"
    )
    assert "run-time values p" not in str(parquetry.report(frame))
    monkeypatch.setattr(steps, "STEPS", _with_evens())
    assert frame.collect() == [(sum(v for v in range(100) if v % 10 in (2, 6)),)]
    report = parquetry.report(frame)
    fact = next(scan for scan in scans(report) if scan["table"] == table)
    partitions, evens, *_ = fact["steps"]
    assert (partitions["kept"], partitions["of"], evens["kept"]) == (2, 10, 2)
    assert partitions["by"] == ["p < 9", "p IN (2, 6)"]
    assert partitions["origins"] == ["query", "join"]
    assert "partitions 2 of 10 (p < 9, run-time values p IN (2, 6)) · evens 2 of 2" in str(report)


def test_a_report_is_text_and_html(spark: SparkSession, db: str) -> None:
    """The text is a line for each scan; the HTML shows the same, with every name and literal escaped."""
    spark.sql(f"CREATE TABLE {db}.t (v int, p string) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, '<b>&'), (2, 'plain')")
    report = parquetry.explain(f"SELECT v FROM {db}.t WHERE p = '<b>&'")
    assert str(report).startswith(f"{db}.t: partitions 1 of 2 (p = '<b>&') · files 1 of 1 · ")
    html = report._repr_html_()
    assert "<b>&" not in html
    assert "p = &#x27;&lt;b&gt;&amp;&#x27;" in html
    assert f"<strong>{db}.t</strong>" in html


def test_a_frame_of_other_tables_has_no_scans_to_report(spark: SparkSession) -> None:
    """Tables that are not Parquetry's are passed over."""
    assert scans(parquetry.explain(spark.range(3).where("id > 1"))) == []


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("broadcast", ["-1", "10mb"])
def test_what_is_read_for_values_is_no_join_of_the_query(
    spark: SparkSession, db: str, adaptive: bool, broadcast: str
) -> None:
    """A build side with a join that runs again for its values is reported as one join, and its values once.

    Key ranges are reported once, too.
    """
    for name in ("b1", "b2"):
        spark.sql(f"CREATE TABLE {db}.{name} (id BIGINT, v BIGINT) CLUSTERED BY (id) INTO 4 BUCKETS")
        spark.sql(f"INSERT INTO {db}.{name} SELECT id, id % 8 FROM range(400)")
    spark.sql(f"CREATE TABLE {db}.r AS SELECT 1 AS z, 1L AS lo, 3L AS hi")
    spark.sql(
        f"CREATE TABLE {db}.t (v BIGINT, w STRING) TBLPROPERTIES ('sort-by' = 'v', 'target-file-size' = '64kb')"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT id DIV 1000, repeat(CAST(id AS STRING), 40) FROM range(40000)")
    by_value = f"{db}.b1 JOIN {db}.b2 ON b1.id = b2.id JOIN {db}.t ON t.v = b1.v WHERE b2.id < 30"
    by_range = f"{db}.r JOIN {db}.b1 ON r.z = b1.id JOIN {db}.t ON t.v BETWEEN r.lo AND r.hi"
    changed = {
        "spark.sql.autoBroadcastJoinThreshold": broadcast,
        "spark.sql.adaptive.enabled": str(adaptive).lower(),
    }
    for name, value in changed.items():
        spark.conf.set(name, value)
    for joined, names in ((by_value, {"b1", "b2"}), (by_range, {"r", "b1"})):
        frame = spark.sql(f"SELECT sum(length(t.w)) FROM {joined}")
        frame.collect()
        report = parquetry.report(frame)
        between = [
            (join.left, join.right) for join in report.joins if "t" not in (join.left[-1], join.right[-1])
        ]
        assert len(between) == 1
        assert {name.rpartition(".")[2] for name in between[0]} == names
        titles = [(each.column, each.build, each.key) for each in report.values if each.how != "refused"]
        assert len(set(titles)) == len(titles)
        assert any(each.table.endswith(".t") and each.how == "collected" for each in report.values)
