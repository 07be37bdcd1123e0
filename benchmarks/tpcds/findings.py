"""Findings from the counts of TPC-DS: ratios, each with its target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.measure import BenchmarkFinding, Timing, geometric_mean
from benchmarks.tpcds.counting import FactScan, ReadCounts, total
from benchmarks.tpcds.queries import (
    ACROSS_FACTS,
    CORE,
    NOTHING_PRUNED,
    OTHER_DATES,
    RARE_ITEMS,
    STARS,
    UNPRUNED,
)

Count = Callable[[ReadCounts], int]
MAX_SLOWDOWN = 1.05
TABLES = "Spark's tables"
"""The variant whose facts of l1 are tables of Spark's own catalog, in Hive's metastore."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Reads of a query's scans through Parquetry, and through Spark alone."""

    ours: list[FactScan]
    sparks: list[FactScan]

    @property
    def our_read(self) -> ReadCounts:
        """Return the sum of Parquetry's scans."""
        return total([ReadCounts(), *(scan.read for scan in self.ours)])

    @property
    def spark_read(self) -> ReadCounts:
        """Return the sum of Spark's scans."""
        return total([ReadCounts(), *(scan.read for scan in self.sparks)])


@dataclass(slots=True)
class Counts:
    """All that was counted.

    Attributes:
        wrong: messages about queries that failed, or whose answers differ.
        l1: all queries on l1.
        stars: the stars on l1.
        bloom: what Parquetry reads of the stars on l1 with Bloom filters.
        l2: the core stars on l2.
        few: queries for few items: Parquetry on n, Spark on l1.
        exact: files and bytes of the oracle, by layout.
        iceberg: what Iceberg reads of the core stars; empty: it could not be had.
    """

    wrong: list[str] = field(default_factory=list)
    l1: dict[int, Pair] = field(default_factory=dict)
    stars: dict[int, Pair] = field(default_factory=dict)
    bloom: dict[int, ReadCounts] = field(default_factory=dict)
    l2: dict[int, Pair] = field(default_factory=dict)
    few: dict[str, Pair] = field(default_factory=dict)
    exact: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    iceberg: dict[int, ReadCounts] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it: of a layout, of a query, of who read it the counts."""
        pairs: dict[str, Mapping[Any, Pair]] = {
            "l1": self.l1,
            "stars": self.stars,
            "l2": self.l2,
            "few": self.few,
        }
        counts: dict[str, Any] = {
            name: {
                str(key): {"parquetry": asdict(pair.our_read), "spark": asdict(pair.spark_read)}
                for key, pair in some.items()
            }
            for name, some in pairs.items()
        }
        counts["bloom"] = {str(key): {"parquetry": asdict(read)} for key, read in self.bloom.items()}
        counts["iceberg"] = {str(key): {"iceberg": asdict(read)} for key, read in self.iceberg.items()}
        for layout, some in self.exact.items():
            counts[f"oracle_{layout}"] = {
                str(key): {"oracle": {"files": files, "bytes": size}} for key, (files, size) in some.items()
            }
        return counts | {"wrong": self.wrong}


def count_findings(counts: Counts) -> list[BenchmarkFinding]:
    """Return all findings except times."""
    found = [
        BenchmarkFinding("queries that fail or answer otherwise than Spark", len(counts.wrong), 0, "queries")
    ]
    found += [
        *_all_query_findings(counts),
        *_star_findings(counts),
        *_unpruned_findings(counts),
        *_l2_findings(counts),
    ]
    bounds = {"5 items in a year": 1 / 15, "39 items in a year": 1 / 4, "39 items": 1 / 3}
    for name, pair in counts.few.items():
        value = _ratio(pair.our_read.column_bytes, pair.spark_read.column_bytes)
        found.append(
            BenchmarkFinding(f"n, {name}: column bytes, parquetry / spark on l1", value, bounds[name])
        )
    return found


def time_findings(timings: Iterable[Timing]) -> list[BenchmarkFinding]:
    """Return the findings of time, of those queries that were timed."""
    by_job = {timing.job: timing for timing in timings}
    l1, l2, others = (
        [by_job[f"{layout} q{n}"] for n in numbers if f"{layout} q{n}" in by_job]
        for layout, numbers in (("l1", CORE), ("l2", CORE), ("l1", NOTHING_PRUNED))
    )
    whole = [timing for job, timing in by_job.items() if job.startswith("l1 q")]
    slower = sum(timing.ratio("parquetry", "spark") > MAX_SLOWDOWN for timing in whole)
    return [
        BenchmarkFinding(
            f"l1, {len(whole)} queries: slower than Spark by more than {MAX_SLOWDOWN:g}",
            slower,
            0,
            "queries",
        ),
        *_faster(f"l1, {len(l1)} core stars: time, Spark's tables / parquetry", l1, TABLES, 1.3),
        *_faster(
            f"l1, {len(l1)} core stars: time, spark with files listed before / parquetry", l1, "spark", None
        ),
        *_processor_findings(l1),
        *_faster(f"l2, {len(l2)} core stars: time, spark / parquetry", l2, "spark", 2),
        *_faster("l1, 62, 99, 37, 82: time, Spark's tables / parquetry", others, TABLES, 2),
        *_faster(
            "l1, 62, 99, 37, 82: time, spark with files listed before / parquetry", others, "spark", None
        ),
        *_mean_finding(
            f"l1, {len(l1)} core stars: time, parquetry / oracle",
            [t.ratio("parquetry", "oracle") for t in l1],
            1.25,
        ),
        *_mean_finding(
            f"l2, {len(l2)} core stars: time, parquetry / oracle",
            [t.ratio("parquetry", "oracle") for t in l2],
            1.25,
        ),
    ]


def _processor_findings(stars: Sequence[Timing]) -> list[BenchmarkFinding]:
    """Return the processor's time of the core stars on l1, beside Spark with files listed before."""
    ratios = [timing.processor_ratio("parquetry", "spark") for timing in stars if timing.processor]
    if not ratios:
        return []
    what = f"l1, {len(ratios)} core stars: processor's time, parquetry / spark with files listed before"
    return [*_mean_finding(what, ratios, 1), BenchmarkFinding(f"{what}, of the worst", max(ratios), 1.1)]


def _faster(what: str, timings: Sequence[Timing], of: str, target: float | None) -> list[BenchmarkFinding]:
    """Return by how many times Parquetry is faster than a variant; none if nothing was timed."""
    ratios = [timing.ratio(of, "parquetry") for timing in timings]
    return [BenchmarkFinding(what, geometric_mean(ratios), target, "×", True)] if ratios else []


def _ratio(ours: int, theirs: int) -> float:
    """Return a ratio that has a logarithm, also where nothing was read."""
    return max(ours, 1) / max(theirs, 1)


def _all_query_findings(counts: Counts) -> list[BenchmarkFinding]:
    both = [(pair.our_read, pair.spark_read) for pair in counts.l1.values()]
    found = []
    fields: dict[str, Count] = {
        "files": lambda read: read.files,
        "file bytes": lambda read: read.bytes,
        "column bytes": lambda read: read.column_bytes,
    }
    for what, count in fields.items():
        more = sum(count(ours) > count(theirs) for ours, theirs in both)
        found.append(
            BenchmarkFinding(f"l1, all queries: that read more {what} than Spark", more, 0, "queries")
        )
    ratios = [_ratio(ours.bytes, theirs.bytes) for ours, theirs in both if theirs.bytes]
    listed = sum(ours.listed for ours, _ in both), sum(ours.partitions for ours, _ in both)
    return [
        *found,
        *_mean_finding("l1, all queries: file bytes, parquetry / spark", ratios),
        BenchmarkFinding("l1, all queries: partitions listed / partitions read", _ratio(*listed), 1),
        BenchmarkFinding(
            "l1, all queries: partitions that Spark lists", sum(s.listed for _, s in both), unit="partitions"
        ),
        BenchmarkFinding("l1, all queries: partitions that Parquetry lists", listed[0], unit="partitions"),
    ]


def _mean_finding(what: str, ratios: Iterable[float], target: float | None = None) -> list[BenchmarkFinding]:
    """Return the geometric mean as a finding; none if no query was counted."""
    counted = list(ratios)
    return [BenchmarkFinding(what, geometric_mean(counted), target)] if counted else []


def _star_findings(counts: Counts) -> list[BenchmarkFinding]:
    read = {number: (pair.our_read.bytes, pair.spark_read.bytes) for number, pair in counts.stars.items()}
    bloom = {
        number: (some.needed_bytes, read[number][1])
        for number, some in counts.bloom.items()
        if number in read
    }
    exact = {
        number: (size, read[number][1])
        for number, (_, size) in counts.exact.get("l1", {}).items()
        if number in read
    }

    def ratios(counted: Mapping[int, tuple[int, int]], numbers: Iterable[int]) -> list[float]:
        return [_ratio(*counted[number]) for number in numbers if number in counted]

    sparks = "file bytes, parquetry / spark"
    found = [
        *_mean_finding(f"l1, {len(read)} stars: {sparks}, by least and greatest", ratios(read, STARS), 0.85),
        *_mean_finding(f"l1, {len(bloom)} stars: {sparks}, with Bloom filters", ratios(bloom, STARS), 0.72),
        *_mean_finding(f"l1, {len(ratios(read, CORE))} core stars: {sparks}", ratios(read, CORE)),
        *_mean_finding("l1, 16 core stars: file bytes, oracle / spark", ratios(exact, CORE)),
        *_mean_finding(f"l1, other dates (16, 62, 94, 99): {sparks}", ratios(read, OTHER_DATES), 1 / 5),
        *_mean_finding(
            f"l1, rare items (32, 37, 82, 92): {sparks}, with Bloom filters", ratios(bloom, RARE_ITEMS), 1 / 3
        ),
    ]
    for number in ACROSS_FACTS:
        found += _mean_finding(f"l1, q{number}: {sparks}", ratios(read, [number]), 1 / 20)
    return found


def unpruned(pair: Pair) -> tuple[int, int]:
    """Return the bytes that both sides read in those scans of a query that Spark leaves unpruned.

    Scans of both are brought together by table and columns; where several are alike, all of them count.
    """
    theirs: dict[tuple[str, tuple[str, ...]], list[FactScan]] = defaultdict(list)
    for scan in pair.sparks:
        theirs[scan.table, scan.columns].append(scan)
    whole = {key: some for key, some in theirs.items() if not all(scan.pruned for scan in some)}
    of_spark = sum(scan.read.bytes for some in whole.values() for scan in some)
    return sum(scan.read.bytes for scan in pair.ours if (scan.table, scan.columns) in whole), of_spark


def _unpruned_findings(counts: Counts) -> list[BenchmarkFinding]:
    ratios = {number: _ratio(*unpruned(counts.l1[number])) for number in UNPRUNED if number in counts.l1}
    what = "scans that Spark leaves unpruned: file bytes, parquetry / spark"
    found = [BenchmarkFinding(f"l1, q{number}, {what}", ratio, 1 / 2) for number, ratio in ratios.items()]
    return [*found, *_mean_finding(f"l1, all of these {what}", ratios.values(), 1 / 4)]


def _l2_findings(counts: Counts) -> list[BenchmarkFinding]:
    numbers = [number for number in CORE if number in counts.l2]
    ours = {number: counts.l2[number].our_read for number in numbers}
    same = {number: counts.l2[number].spark_read for number in numbers}
    exact = {number: size for number, (_, size) in counts.exact.get("l2", {}).items() if number in same}
    on_l1 = {number: counts.stars[number].spark_read for number in numbers if number in counts.stars}
    core = f"l2, {len(numbers)} core stars:"
    return [
        *_mean_finding(
            f"{core} column bytes, parquetry / spark",
            [_ratio(ours[n].column_bytes, same[n].column_bytes) for n in numbers],
            1 / 10,
        ),
        *_mean_finding(
            f"{core} file bytes, parquetry / spark",
            [_ratio(ours[n].bytes, same[n].bytes) for n in numbers],
            1 / 8,
        ),
        *_mean_finding(
            f"{core} file bytes, oracle / spark", [_ratio(size, same[n].bytes) for n, size in exact.items()]
        ),
        *_mean_finding(
            f"{core} files, parquetry / spark on l1",
            [_ratio(ours[n].files, read.files) for n, read in on_l1.items()],
            1 / 7,
        ),
        *_mean_finding(
            f"{core} column bytes, parquetry / Iceberg",
            [
                _ratio(ours[n].column_bytes, read.column_bytes)
                for n, read in counts.iceberg.items()
                if n in ours
            ],
            0.7,
        ),
    ]
