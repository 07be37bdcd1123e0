"""The developers' page of the benchmarks, docs/benchmark-targets.md: targets, every query, every time."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.measure import BenchmarkFinding
from benchmarks.tpcds.queries import CORE

_MB = 1e6
_INTRODUCTION = """\
# Benchmarks: targets

<!-- Written by `python -m benchmarks.tpcds.page` out of benchmarks/results/tpcds.json; change benchmarks/tpcds/targets_page.py instead. -->

You need this page when you work on Parquetry, or want every number behind [Benchmarks](benchmarks.md), which
explains the layouts (l1, l2, n) and the oracle. A cross is a target that is not met.
"""
_LIMITS = """\
## Limits

| what | how it is measured, or why not better |
| --- | --- |
| files | those that the scans' tasks got |
| row groups | those of these files that Parquet's own reader keeps by the conditions that it got (statistics, dictionaries, Bloom filters) |
| column bytes | what the footers say of the columns read in these row groups. Spark's `bytesRead` misses vectored reads and is not used |
| Iceberg's version | 1.12.0 on PySpark 4.1.4, the newest that it has a runtime for |
| Bloom filters on l1 | those of items make l1's small files 2 to 5 % larger. Every star pays for that; q32, q37, q82 and q92 gain by it. Filters of no size would bring their measure nearer to its target |
| q50 | tickets, looked up one by one in every file, would leave 205 of its 1,823 partitions of sales |
| q25, q29 | sets of single columns would leave 0.78 and 0.68 of the partitions that Spark reads; only pairs of customer and item, which are the join itself, would leave three (counted at scale 1) |
"""


_OF_TIMES = """\
Medians, in seconds. `spark` reads views whose files were listed before the clock starts, so it has nothing to
list. `Spark's tables` are the same files as tables of Spark's catalog in Hive's metastore (on Derby). Spark
looks up their partitions for each query, as its users have it.
"""


def page(result: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    details = result["details"]
    findings = [BenchmarkFinding(**each) for each in result["findings"]]
    parts = [
        _INTRODUCTION,
        "## Targets\n",
        _targets(findings),
        "\n## The 16 core stars\n",
        _core(details),
        f"\n## All queries on l1: {len(details['l1'])} of 99 counted\n",
        _wrong(details["wrong"]),
        _more(details["l1"]),
        "![File bytes of all queries](images/tpcds-all.svg)\n",
        _all(details["l1"]),
    ]
    if result["timings"]:
        parts += [
            "\n## Times\n",
            _OF_TIMES,
            "![Seconds](images/tpcds-times.svg)\n",
            _times(result["timings"]),
        ]
    parts.append(f"\n{_LIMITS.rstrip()}")
    return "\n".join(parts) + "\n"


def _targets(findings: Sequence[BenchmarkFinding]) -> str:
    rows = []
    for each in findings:
        bound = "" if each.target is None else f"{'≥' if each.at_least else '≤'} {each.target:.3g}"
        mark = "" if each.target is None else "✓" if each.met else "✗"
        rows.append([each.what, f"{number(each.value)} {each.unit}", bound, mark])
    return table(["measured", "value", "target", ""], rows)


def _core(details: Mapping[str, Any]) -> str:
    columns: list[tuple[str, str, str]] = [
        ("Spark, l1", "stars", "spark"),
        ("Parquetry, l1", "stars", "parquetry"),
        ("Spark, l2", "l2", "spark"),
        ("Parquetry, l2", "l2", "parquetry"),
        ("Iceberg", "iceberg", "iceberg"),
    ]
    rows = []
    for number in CORE:
        row = [f"q{number}"]
        for _, layout, engine in columns:
            read = details[layout].get(str(number), {}).get(engine)
            row.append("" if read is None else f"{read['files']:,} · {_mb(read['column_bytes'])}")
        for layout in ("l1", "l2"):
            read = details.get(f"oracle_{layout}", {}).get(str(number), {}).get("oracle")
            row.append("" if read is None else f"{read['files']:,}")
        rows.append(row)
    heads = ["files · MB of columns", *(name for name, _, _ in columns), "oracle, l1", "oracle, l2"]
    return table(heads, rows)


def _wrong(wrong: Sequence[str]) -> str:
    return (
        "".join(f"- {each}\n" for each in ["Fail, or answer otherwise than Spark:", *wrong]) if wrong else ""
    )


def _more(details: Mapping[str, Any]) -> str:
    told = []
    for name, what in (("files", "files"), ("bytes", "bytes of files"), ("column_bytes", "bytes of columns")):
        more = [f"q{n}" for n, both in details.items() if both["parquetry"][name] > both["spark"][name]]
        told.append(f"More {what} than Spark: {', '.join(more) or 'none'}.")
    return "\n".join(told) + "\n"


def _all(details: Mapping[str, Any]) -> str:
    rows = []
    for number, both in details.items():
        ours, sparks = both["parquetry"], both["spark"]
        rows.append(
            [f"q{number}"]
            + [
                f"{ours[name]:,} of {sparks[name]:,}"
                for name in ("listed", "partitions", "files", "row_groups")
            ]
            + [f"{_mb(ours[name])} of {_mb(sparks[name])}" for name in ("bytes", "column_bytes")]
        )
    heads = ["Parquetry, of Spark's", "partitions listed", "partitions read", "files", "row groups"]
    return table([*heads, "MB of files", "MB of columns"], rows)


def _times(timings: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for each in timings for name in each["seconds"]))
    rows = [
        [each["job"]]
        + [
            number(statistics.median(each["seconds"][name])) if name in each["seconds"] else ""
            for name in names
        ]
        for each in timings
    ]
    return table(["seconds", *names], rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown whose columns after the first are numbers."""
    aligned = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, aligned, *rows])


def _mb(size: int) -> str:
    return number(size / _MB)


def number(value: float) -> str:
    """Return a number with three digits, or whole."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
