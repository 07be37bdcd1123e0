"""Write docs/benchmarks.md and its charts from the results: `python -m benchmarks.tpcds.page`.

`make docs` runs it, too.
"""

from __future__ import annotations

import json
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding
from benchmarks.tpcds.charts import dots
from benchmarks.tpcds.findings import MAX_SLOWDOWN
from benchmarks.tpcds.queries import CORE

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "tpcds.json"
_PAGE = _ROOT / "docs" / "benchmarks.md"
_IMAGES = _ROOT / "docs" / "images"
_MB = 1e6
_ORACLE = "l1, 16 core stars: file bytes, oracle / spark"
_INTRODUCTION = """\
# Benchmarks: TPC-DS

<!-- Written by `python -m benchmarks.tpcds.page` out of benchmarks/results/tpcds.json; change benchmarks/tpcds/page.py instead. -->

You need this page when you want to know what Parquetry wins beside Spark alone, and where it wins nothing. It
was measured at scale {scale:g}, on {cores} cores{times}.

## Results

{headlines}

{slower}

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

_HEADLINES: dict[str, tuple[str, str]] = {
    "16 stars, sorted files without partitions (l2)": (
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


def _little_to_win(findings: Sequence[BenchmarkFinding], details: Mapping[str, Any]) -> str:
    """Say where Spark alone reads little more than it must, by what the oracle read if it was measured."""
    text = (
        "Where facts are partitioned by date, Spark's own pruning leaves a star query almost nothing to win in bytes. "
        "What Parquetry wins there is the listing of files."
    )
    for share in [_number(each.value) for each in findings if each.what == _ORACLE]:
        text += (
            f" In {_same_bytes(details)} of the 16 core stars the oracle itself reads what Spark reads. In the geometric mean of all it reads "
            f"{share} of it, as it knows which few rows the joins of q13, q25 and q29 keep."
        )
    return textwrap.fill(text, 110)


def _page(result: Mapping[str, Any]) -> str:
    details = result["details"]
    findings = [BenchmarkFinding(**each) for each in result["findings"]]
    timed = bool(result["timings"])
    parts = [
        _INTRODUCTION.format(
            scale=result["scale"],
            cores=2,
            times=", times as medians of rounds in turns" if timed else "; times were not measured",
            headlines=_headlines(findings),
            slower=_slower(result["timings"]),
            little=_little_to_win(findings, details),
        ),
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
    if timed:
        parts += [
            "\n## Times\n",
            _OF_TIMES,
            "![Seconds](images/tpcds-times.svg)\n",
            _times(result["timings"]),
        ]
    parts.append(f"\n{_LIMITS.rstrip()}")
    return "\n".join(parts) + "\n"


def _headlines(findings: Sequence[BenchmarkFinding]) -> str:
    """Draw the first table: what Parquetry reads and takes, beside Spark."""
    values = {each.what: f"{_number(each.value)} {each.unit}" for each in findings}
    rows = [
        [queries, values.get(size, ""), values.get(time, "")] for queries, (size, time) in _HEADLINES.items()
    ]
    return _table(["queries", "bytes of files read, of Spark's", "speed, times Spark's"], rows)


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


def _targets(findings: Sequence[BenchmarkFinding]) -> str:
    rows = []
    for each in findings:
        bound = "" if each.target is None else f"{'≥' if each.at_least else '≤'} {each.target:.3g}"
        mark = "" if each.target is None else "✓" if each.met else "✗"
        rows.append([each.what, f"{_number(each.value)} {each.unit}", bound, mark])
    return _table(["measured", "value", "target", ""], rows)


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
    return _table(heads, rows)


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
    return _table([*heads, "MB of files", "MB of columns"], rows)


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


def _times(timings: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for each in timings for name in each["seconds"]))
    rows = [
        [each["job"]]
        + [
            _number(statistics.median(each["seconds"][name])) if name in each["seconds"] else ""
            for name in names
        ]
        for each in timings
    ]
    return _table(["seconds", *names], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    aligned = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, aligned, *rows])


def _mb(size: int) -> str:
    return _number(size / _MB)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
