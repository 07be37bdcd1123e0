"""Ask a question of Parquetry and of plain Spark, measure both, and compare the answers."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame, SparkSession

import parquetry
from demo.answers import difference
from demo.lake import DATABASE, Lake
from demo.outcome import Outcome, Read, Scene, Side, counted_text, excesses, limited_scans
from demo.plain import PlainSpark, shuffles
from demo.scenes import MERGE, YESTERDAY
from demo.tpcds import Raw
from parquetry.prune.report.report import Report
from parquetry.prune.rules.bytes import BytesRule
from parquetry.prune.rules.files import FileRule

_CHANGED = "SELECT * FROM {} WHERE customer IN (SELECT customer FROM corrections)"
_DIGEST = "SELECT count(*), sum(paid), sum(CAST(xxhash64(customer, ticket, item, quantity, paid) AS DECIMAL(38, 0))) FROM {}"
"""One row that differs, as good as certainly, if any row of the table does."""
REPEATED_SECONDS = 4
"""Queries that take less on both sides together run twice, and the better time of each side counts: the first
of a kind is slow by the code that it warms up."""
_SHUFFLE = "shuffle"
_NOT_COUNTED = "no scan of plain Spark was found, so its files are not counted"


class Demo:
    """Both sides, and the rows that they have.

    Args:
        lake: where the tables are.
        raw: the rows.
        spark: the session with the catalog, in the tables' database.
        plain: the session without.
    """

    def __init__(self, lake: Lake, raw: Raw, spark: SparkSession, plain: PlainSpark) -> None:
        self._lake = lake
        self._raw = raw
        self._spark = spark
        self._plain = plain

    def ask(self, scene: Scene, ours: str = "", beside: str = "") -> Outcome:
        """Run a query on both sides, and compare. Parquetry comes first, so plain Spark has the warmer code.

        Args:
            scene: the question; a `{version}` in its SQL stands for what follows.
            ours: what Parquetry's side has there.
            beside: what plain Spark's side has there.
        """
        query, other_query = (scene.sql.replace("{version}", version) for version in (ours, beside))
        frame, answer, seconds = _timed(self._spark, query)
        report = parquetry.report(frame)
        faults = excesses(report, {limit: self._raw.count(limit.count) for limit in scene.limits})
        other, expected, other_seconds = _timed(self._plain.session, other_query)
        if seconds + other_seconds < REPEATED_SECONDS:
            seconds = min(seconds, _timed(self._spark, query)[2])
            other_seconds = min(other_seconds, _timed(self._plain.session, other_query)[2])
        differs = difference(answer, expected)
        if differs is not None:
            faults.insert(0, f"the answer is not plain Spark's: {differs}")
        read, other_read = _read(report, scene), self._plain.read_of(other, scene.tables)
        if not other_read.files:
            faults.append(_NOT_COUNTED)
        if scene.shuffles is None:
            mine = Side(read.files, "file", read.bytes, seconds)
            theirs = Side(other_read.files, "file", other_read.bytes, other_seconds)
        else:
            mine = Side(shuffles(frame), _SHUFFLE, read.bytes, seconds, counted_text(read.files, "file"))
            opened = counted_text(other_read.files, "file")
            theirs = Side(shuffles(other), _SHUFFLE, other_read.bytes, other_seconds, opened)
            if mine.counted > scene.shuffles:
                faults.append(f"rows were shuffled {mine.counted} times where {scene.shuffles} are enough")
        return Outcome(scene, mine, theirs, len(answer), tuple(faults), report)

    def own_shuffles(self, scene: Scene) -> int:
        """Return how often Spark shuffles a scene's query over bucketed tables of its own."""
        return self._plain.own_shuffles(self._raw, scene.sql, sorted(scene.tables))

    def correct(self) -> tuple[Outcome, Outcome]:
        """Change rows on both sides, then ask for the old rows: the outcomes of `MERGE` and `YESTERDAY`."""
        for session in (self._spark, self._plain.session):
            session.read.parquet(str(self._raw.file("corrections"))).createOrReplaceTempView("corrections")
        before, version = self._files()
        started = time.perf_counter()
        self._spark.sql(MERGE.sql)
        seconds = time.perf_counter() - started
        after, _ = self._files()
        replaced = [size for path, size in before.items() if path not in after]
        mine = Side(len(replaced), "file rewritten", sum(replaced), seconds)

        copy, read, other_seconds = self._rewrite()
        theirs = Side(read.files, "file rewritten", read.bytes, other_seconds)
        self._plain.session.read.parquet(copy).createOrReplaceTempView("corrected")
        faults = self._differences()
        if not read.files:
            faults.append(_NOT_COUNTED)
        most = self._raw.count("SELECT count(DISTINCT customer) FROM corrections")
        if len(replaced) > most:
            faults.append(f"{len(replaced)} files were rewritten where {most} are enough")
        rows = self._raw.rows["corrections"]
        merged = Outcome(MERGE, mine, theirs, rows, tuple(faults))
        return merged, self.ask(YESTERDAY, ours=f"VERSION AS OF {version}")

    def _files(self) -> tuple[dict[str, int], int]:
        """Return the file sizes of the corrected table, by path, and the table's version."""
        with self._lake.catalog() as catalog:
            name = f"{DATABASE}.purchases"
            return {file.path: file.bytes for file in catalog.files(name)}, catalog.table(name).version

    def _rewrite(self) -> tuple[str, Read, float]:
        """Write the corrected table anew with plain Spark; return its folder, files read, and seconds."""
        folder = f"{self._lake.plain}/purchases"
        self._plain.delete(folder)
        session, table = self._plain.session, "spark_catalog.default.corrected"
        columns = session.table("purchases").schema
        listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
        session.sql(f"CREATE TABLE {table} ({listed}) USING parquet LOCATION '{folder}'")
        started = time.perf_counter()
        frame = session.sql(f"""INSERT OVERWRITE {table}
SELECT p.customer, p.ticket, p.item, p.quantity, coalesce(c.paid, p.paid) AS paid
FROM purchases p LEFT JOIN corrections c ON p.customer = c.customer AND p.ticket = c.ticket AND p.item = c.item""")
        seconds = time.perf_counter() - started
        return folder, self._plain.read_of(frame, frozenset({"purchases"})), seconds

    def _differences(self) -> list[str]:
        """Return in what the corrected tables differ, as sentences."""
        faults = []
        for query in (_CHANGED, _DIGEST):
            ours = self._spark.sql(query.format("purchases")).collect()
            theirs = self._plain.session.sql(query.format("corrected")).collect()
            differs = difference(ours, theirs)
            if differs is not None:
                faults.append(f"the corrected table is not plain Spark's: {differs}")
        return faults


def _timed(session: SparkSession, sql: str) -> tuple[DataFrame, list[tuple[object, ...]], float]:
    """Run a query, and return its frame, its rows and the seconds, planning included."""
    started = time.perf_counter()
    frame = session.sql(sql)
    rows = [tuple(row) for row in frame.collect()]
    return frame, rows, time.perf_counter() - started


def _read(report: Report, scene: Scene) -> Read:
    """Return the files that were opened of a scene's tables, and their bytes."""
    scans = limited_scans(scene, report)
    files = [step.kept for scan in scans if (step := scan.step(FileRule.name)) is not None]
    steps = [step for scan in scans if (step := scan.step(BytesRule.name)) is not None]
    sizes = [step.kept if step.whole is None else step.whole for step in steps]
    return Read(sum(files), sum(sizes))
