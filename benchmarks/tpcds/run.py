"""TPC-DS: all 99 queries beside Spark on the same files, and its stars on the layouts that suit them.

The stars are also run beside Iceberg and an oracle.

| module | |
|---|---|
| `layouts` | how the facts lie |
| `queries` | which queries, and what is asked besides |
| `counting` | how files, row groups and bytes are counted |
| `oracle` | Spark, given exactly the files that hold matching rows |
| `iceberg` | Apache Iceberg, in an environment of its own |
| `findings` | ratios and targets |
| `page`, `targets_page`, `charts` | docs/benchmarks.md and docs/benchmark-targets.md, out of the results |

Every answer is compared with Spark's. Times are taken in turns; `BENCH_ROUNDS=0` counts only, which takes
minutes instead of hours.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from benchmarks.lake import drain, processor_seconds, settings, start
from benchmarks.measure import Result, take_turns
from benchmarks.tpcds import findings, iceberg
from benchmarks.tpcds.counting import jar, scans, total
from benchmarks.tpcds.findings import TABLES, Counts, Pair
from benchmarks.tpcds.layouts import BenchmarkLake
from benchmarks.tpcds.oracle import Oracle, size
from benchmarks.tpcds.queries import (
    CORE,
    NOTHING_PRUNED,
    OTHER_DATES,
    RARE_ITEMS,
    STARS,
    UNPRUNED,
    few_keys,
    stars,
)
from demo.answers import difference
from demo.tpcds import query_texts

ROUNDS = 3


def run(folder: Path, scale: float) -> Result:
    """Count and time everything."""
    rounds = int(os.environ.get("BENCH_ROUNDS", ROUNDS))
    spark = start(folder, jar(folder.parent), hive=folder / "hive-metastore")
    measuring = _Measuring(BenchmarkLake(spark, folder, scale), rounds, partial(processor_seconds, spark))
    measuring.all_on_l1()
    measuring.core_on("l2")
    measuring.few_keys()
    measuring.stars_on_bloom()
    measuring.core_on("l1")
    spark.stop()
    measuring.iceberg(folder)
    result = measuring.result
    result.findings += findings.count_findings(measuring.counts)
    result.details = measuring.counts.plain()
    if rounds:
        result.findings += findings.time_findings(result.timings)
    return result


class _Measuring:
    """The queries, step by step, and what has been found so far."""

    def __init__(self, lake: BenchmarkLake, rounds: int, processor: Callable[[], float]) -> None:
        self._lake = lake
        self._rounds = rounds
        self._processor = processor
        self._texts = query_texts()
        self._stars = stars(self._texts)
        self._answers: dict[int, list[Row]] = {}
        self.counts = Counts()
        self.result = Result("tpcds")

    def stars_on_bloom(self) -> None:
        """Count the stars through Parquetry where files have Bloom filters."""
        session = self._lake.ours("l1_bloom")
        for number in STARS:
            name = f"l1 with Bloom filters, star {number}"
            frame = self._compared(name, session, self._stars[number], self._answers[number])
            if frame is not None:
                read = self.counts.bloom[number] = total(scan.read for scan in scans(frame))
                print(f"{name}: {read.needed_files:,} of {read.files:,} files", flush=True)

    def core_on(self, layout: str) -> None:
        """Count and time the core stars on a layout, beside Spark and the oracle."""
        sparks = self._lake.spark_alone(layout)
        oracle = Oracle(self._lake, layout)
        ours = self._lake.ours(layout)
        for number in CORE:
            text = self._stars[number]
            if layout == "l2":
                pair = self._pair(f"l2, star {number}", (ours, sparks), text, 0)
                if pair is not None:
                    self.counts.l2[number] = pair
            files = oracle.files(text)
            self.counts.exact.setdefault(layout, {})[number] = size(files)
            if self._rounds:
                sessions = {"parquetry": ours, "spark": sparks, "oracle": oracle.session_of_files(files)}
                if layout == "l1":
                    sessions[TABLES] = self._lake.tables()
                self._time(f"{layout} q{number}", text, sessions)

    def few_keys(self) -> None:
        """Count queries for few items, through Parquetry on n and through Spark on l1."""
        ours, sparks = self._lake.ours("n"), self._lake.spark_alone("l1")
        for name, text in few_keys(self._lake.raw.file("item")).items():
            pair = self._pair(f"n, {name}", (ours, sparks), text, 0)
            if pair is not None:
                self.counts.few[name] = pair

    def all_on_l1(self) -> None:
        """Count all queries through Parquetry and through Spark; time them unless that is done.

        The answers to the stars are kept.
        """
        ours, sparks = self._lake.ours("l1"), self._lake.spark_alone("l1")
        asked = (*CORE, *OTHER_DATES, *RARE_ITEMS, *UNPRUNED, *STARS, *sorted(self._texts))
        for number in dict.fromkeys(asked):  # first the queries with targets of their own
            text = self._texts[number]
            pair = self._pair(f"q{number}", (ours, sparks), text, number)
            if pair is None:
                continue
            self.counts.l1[number] = pair
            if number in STARS:
                star = self._stars[number]
                alone = pair if star == text else self._pair(f"star {number}", (ours, sparks), star, number)
                if alone is not None:
                    self.counts.stars[number] = alone
            if self._rounds and number not in CORE:
                sessions = {"parquetry": ours, "spark": sparks}
                if number in NOTHING_PRUNED:
                    sessions[TABLES] = self._lake.tables()
                self._time(f"l1 q{number}", text, sessions)

    def _pair(
        self, name: str, sessions: tuple[SparkSession, SparkSession], text: str, star: int
    ) -> Pair | None:
        """Return what a query reads through Parquetry and through Spark, whose answer is kept for a star."""
        ours, sparks = sessions
        theirs = sparks.sql(text)
        expected = theirs.collect()
        if text == self._stars.get(star):
            self._answers[star] = expected
        frame = self._compared(name, ours, text, expected)
        if frame is None:
            return None
        pair = Pair(scans(frame), scans(theirs))
        _tell(name, pair)
        return pair

    def iceberg(self, folder: Path) -> None:
        """Have Iceberg answer the core stars, if it can be had."""
        texts = {number: self._stars[number] for number in CORE}
        found = iceberg.ask(folder, self._lake.raw, texts, settings(folder), self._rounds)
        for number, answer in (found or {}).items():
            self.counts.iceberg[number] = answer.read
            if answer.rows != iceberg.texts(self._answers[number]):
                self.counts.wrong.append(f"Iceberg, star {number}: another answer")
            for timing in self.result.timings:
                if timing.job == f"l2 q{number}":
                    timing.seconds["iceberg, not in turns"] = answer.seconds

    def _compared(self, name: str, session: SparkSession, text: str, expected: list[Row]) -> DataFrame | None:
        """Return a query of Parquetry's tables that ran, or None if it failed; note any difference."""
        frame = session.sql(text)
        started = time.perf_counter()
        try:
            differs = difference(frame.collect(), expected)
        except PySparkException as error:
            self._wrong(f"{name}: {str(error).splitlines()[0]}")
            return None
        if differs is not None:
            self._wrong(f"{name}: {differs}")
        print(f"{name}: {time.perf_counter() - started:.1f} s", end=", ", flush=True)
        return frame

    def _wrong(self, what: str) -> None:
        self.counts.wrong.append(what)
        print(f"WRONG {what}", flush=True)

    def _time(self, job: str, text: str, sessions: Mapping[str, SparkSession]) -> None:
        variants = {name: partial(_ask, session, text) for name, session in sessions.items()}
        self.result.timings.append(take_turns(job, variants, self._rounds, processor=self._processor))


def _ask(session: SparkSession, text: str) -> None:
    drain(session.sql(text))


def _tell(name: str, pair: Pair) -> None:
    ours, theirs = pair.our_read, pair.spark_read
    print(
        f"{name}: files {ours.files:,} of Spark's {theirs.files:,}, {ours.needed_files:,} of {theirs.needed_files:,} needed, "
        f"column bytes {ours.column_bytes:,} of {theirs.column_bytes:,}",
        flush=True,
    )
