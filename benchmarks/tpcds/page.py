"""Write docs/benchmarks.md, docs/benchmark-targets.md and their charts out of the results.

`python -m benchmarks.tpcds.page` does it, and so does `make docs`. This module has the page for readers;
`targets_page` has the developers' one.
"""

from __future__ import annotations

import json
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding
from benchmarks.tpcds import targets_page
from benchmarks.tpcds.charts import dots
from benchmarks.tpcds.findings import MAX_SLOWDOWN
from benchmarks.tpcds.queries import CORE
from benchmarks.tpcds.targets_page import number, table

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "tpcds.json"
_PAGE = _ROOT / "docs" / "benchmarks.md"
_TARGETS = _ROOT / "docs" / "benchmark-targets.md"
_IMAGES = _ROOT / "docs" / "images"
_MB = 1e6
_ORACLE = "l1, 16 core stars: file bytes, oracle / spark"
_INTRODUCTION = """\
# Benchmarks

<!-- Written by `python -m benchmarks.tpcds.page` out of benchmarks/results/tpcds.json; change benchmarks/tpcds/page.py instead. -->

You need this page when you want to know what Parquetry wins beside Spark alone, and where it wins nothing.
One figure for each of its four designs, all on two cores:

| what | Parquetry | beside it | measured in |
| --- | --- | --- | --- |
| find one partition among a million, by its key | 0.12 ms | – | [Stores](stores.md#what-they-cost) |
| {stars} of TPC-DS on sorted files without partitions: runtime filters | {stars_bytes} of the bytes, {stars_speed} as fast | Spark 4.3 on the same files | [below](#tpc-ds) |
| join 20 million rows with 10 million, both in 8 buckets | 2.8 s | 18.3 s, shuffled; 5.8 s by Spark's own buckets | [Buckets](buckets.md#what-it-saves) |
| sum the rows of a heavy value, of 20 million rows | 162 MB, 1.07 s | 833 MB, 2.88 s, without its directory | [List bucketing](list-bucketing.md#when-it-helps) |

{slower}

What the developers hold themselves to, with every query and every time, is in
[Targets](benchmark-targets.md). Rows that are read without Spark are measured in
[Python](python.md#what-it-costs).

## TPC-DS

It was measured at scale {scale:g}, on {cores} cores{times}.

{headlines}

![Column bytes of the core stars](images/tpcds-stars.svg)

Measure it yourself:

<!-- excerpt -->
```sh
make bench BENCH=tpcds                   # SF=10 for more data
make bench BENCH=tpcds BENCH_ROUNDS=0    # counts without times
```

**Side by side** stand Parquetry; Spark 4.3 alone on the same files, and on the layout that suits it best
(l1); Apache Iceberg 1.12.0 on PySpark 4.1.4; and an oracle. The oracle is Spark, given exactly the files with
rows that the query's joins and conditions keep. Each answer is compared with Spark's.

| layout | facts |
| --- | --- |
| l1 | partitioned by the date's key, one file each |
| l2 | no partitions; files of 20,000 rows sorted by date and item, row groups of 5,000, Bloom filters on item and customer |
| n | partitioned by year and sorted by item, row groups of 5,000 |
| Iceberg | partitioned by `truncate(30, date)` |

## What there is to win

{little}

There is something to win in these cases:

- The condition is on another date than the partitions' one.
- The query asks for rare items.
- Spark leaves a fact unpruned, because the values come by way of another table or an outer join.
- Facts narrow each other.
- Facts are not partitioned at all. Then minimum and maximum of sorted files do what partitions did, with a
  fraction of the files.

**Facts narrow each other** by columns whose files hold narrow ranges. The order numbers of catalog sales grow
with the days. So the statistics of the files for a query's days give the range of its returns' numbers, and
no file is read for that (q40, q49, q72, q75, q78, q80).

| seconds | with it | without it |
| --- | ---: | ---: |
| q72 | 3.5 | 5.2 |
| q78 | 6.9 | 7.9 |
| q40 | 0.83 | 1.2 |
| q75 | 8.9 | 9.7 |

(Medians of 3, in turns, one process.)

**Keys from all over** leave nothing out by minimum and maximum. Each file of l1 holds tickets, web orders,
items and customers of the whole range (98 % of the range of tickets, on average). A fact is not read again
for them (q25, q29, q50, the other returns of q80).
"""

_STARS = "16 stars, sorted files without partitions (l2)"
_HEADLINES: dict[str, tuple[str, str]] = {
    _STARS: (
        "l2, 16 core stars: file bytes, parquetry / spark",
        "l2, 16 core stars: time, spark / parquetry",
    ),
    "conditions on another date than the partitions' one (l1)": (
        "l1, other dates (16, 62, 94, 99): file bytes, parquetry / spark",
        "",
    ),
    "rare items, with Bloom filters (l1)": (
        "l1, rare items (32, 37, 82, 92): file bytes, parquetry / spark, with Bloom filters",
        "",
    ),
    "the two kinds above, q62, q99, q37 and q82 (l1)": (
        "",
        "l1, 62, 99, 37, 82: time, Spark's tables / parquetry",
    ),
    "scans that Spark leaves unpruned (l1)": (
        "l1, all of these scans that Spark leaves unpruned: file bytes, parquetry / spark",
        "",
    ),
    "16 stars, partitioned by date, which Spark prunes as well (l1)": (
        "l1, 16 core stars: file bytes, parquetry / spark",
        "l1, 16 core stars: time, Spark's tables / parquetry",
    ),
    "all 99 queries (l1)": ("l1, all queries: file bytes, parquetry / spark", ""),
}
"""Rows of the first table, with the findings of bytes and of times that they show."""


def main() -> None:
    """Write the page and its charts."""
    result = json.loads(_RESULTS.read_text(encoding="utf-8"))
    for name, chart in _charts(result).items():
        (_IMAGES / f"tpcds-{name}.svg").write_text(chart, encoding="utf-8")
    _PAGE.write_text(_page(result), encoding="utf-8")
    _TARGETS.write_text(targets_page.page(result), encoding="utf-8")


def _little_to_win(findings: Sequence[BenchmarkFinding], details: Mapping[str, Any]) -> str:
    """Say where Spark alone reads little more than it must, by what the oracle read if it was measured."""
    text = (
        "Where facts are partitioned by date, Spark's own pruning leaves a star query almost nothing to win in bytes. "
        "What Parquetry wins there is the listing of files."
    )
    for share in [number(each.value) for each in findings if each.what == _ORACLE]:
        text += (
            f" In {_same_bytes(details)} of the 16 core stars the oracle itself reads what Spark reads. In the geometric mean of all it reads "
            f"{share} of it, as it knows which few rows the joins of q13, q25 and q29 keep."
        )
    return textwrap.fill(text, 110)


def _page(result: Mapping[str, Any]) -> str:
    findings = [BenchmarkFinding(**each) for each in result["findings"]]
    values = {each.what: f"{number(each.value)} {each.unit}" for each in findings}
    sizes, times = _HEADLINES[_STARS]
    return _INTRODUCTION.format(
        scale=result["scale"],
        cores=2,
        times=", times as medians of rounds in turns" if result["timings"] else "; times were not measured",
        stars=f"{len(CORE)} stars",
        stars_bytes=values.get(sizes, "").removesuffix(" ×"),
        stars_speed=values.get(times, ""),
        headlines=_headlines(findings),
        slower=_slower(result["timings"]),
        little=_little_to_win(findings, result["details"]),
    )


def _headlines(findings: Sequence[BenchmarkFinding]) -> str:
    """Draw the first table: what Parquetry reads and takes, beside Spark."""
    values = {each.what: f"{number(each.value)} {each.unit}" for each in findings}
    rows = [
        [queries, values.get(size, ""), values.get(time, "")] for queries, (size, time) in _HEADLINES.items()
    ]
    return table(["queries", "bytes of files read, of Spark's", "speed, times Spark's"], rows)


def _slower(timings: Sequence[Mapping[str, Any]]) -> str:
    """Say in one sentence on which queries Parquetry is slower than Spark, and why."""
    medians = {
        each["job"].removeprefix("l1 "): {
            name: statistics.median(seconds) for name, seconds in each["seconds"].items()
        }
        for each in timings
        if each["job"].startswith("l1 ") and "spark" in each["seconds"]
    }
    slower = [job for job, row in medians.items() if row["parquetry"] > MAX_SLOWDOWN * row["spark"]]
    if not medians:
        return "Times were not measured."
    if not slower:
        return f"None of the {len(medians)} timed queries on l1 takes more than {MAX_SLOWDOWN:g} times as long as Spark."
    return textwrap.fill(
        f"**Where it is slower.** {len(slower)} of {len(medians)} timed queries on l1 take over {MAX_SLOWDOWN:g} times as long as Spark "
        "with a ready list of files, since only Parquetry looks for them. "
        f"They are {', '.join(slower[:-1])} and {slower[-1]}.",
        110,
    )


def _same_bytes(details: Mapping[str, Any]) -> int:
    """Return in how many of the core stars the oracle reads what Spark does."""
    exact, stars = details.get("oracle_l1", {}), details["stars"]
    known = [n for n in map(str, CORE) if n in exact and n in stars]
    return sum(exact[n]["oracle"]["bytes"] == stars[n]["spark"]["bytes"] for n in known)


def _charts(result: Mapping[str, Any]) -> dict[str, str]:
    details = result["details"]
    variants = {
        "Parquetry, l2": ("l2", "parquetry"),
        "Spark, l2": ("l2", "spark"),
        "Spark, l1": ("stars", "spark"),
        "Iceberg, truncate(30)": ("iceberg", "iceberg"),
    }
    stars = {
        f"q{number}": {
            name: details[layout][str(number)][engine]["column_bytes"] / _MB
            for name, (layout, engine) in variants.items()
            if str(number) in details[layout]
        }
        for number in CORE
    }
    everything = {
        f"q{number}": {
            "Parquetry": both["parquetry"]["bytes"] / _MB,
            "Spark": both["spark"]["bytes"] / _MB,
        }
        for number, both in details["l1"].items()
        if both["spark"]["bytes"]
    }
    charts = {
        "stars": dots("Core stars: what is read of the columns", "MB", stars, [*variants], 0.01),
        "all": dots(
            "All queries on l1: bytes of the files read", "MB", everything, ["Parquetry", "Spark"], 0.01
        ),
    }
    timed = {
        each["job"]: {name: statistics.median(seconds) for name, seconds in each["seconds"].items()}
        for each in result["timings"]
    }
    if timed:
        names = list(dict.fromkeys(name for row in timed.values() for name in row))
        charts["times"] = dots("Seconds of a query", "s", timed, names, 0.01)
    return charts


if __name__ == "__main__":
    main()
