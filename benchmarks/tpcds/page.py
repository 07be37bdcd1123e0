"""Write docs/benchmarks.md and its charts out of the results: `python -m benchmarks.tpcds.page`, which `make docs` does, too."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding
from benchmarks.tpcds.charts import dots
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

`make bench BENCH=tpcds` measures this (`SF=10` for more data, `BENCH_ROUNDS=0` for counts without times). The numbers below are of scale {scale:g}, \
on {cores} cores{times}.

**Side by side**: Parquetry; Spark 4.3 alone on the same files, and on the layout that suits it best (l1); Apache Iceberg 1.12.0 on PySpark 4.1.4, the \
newest that it has a runtime for, with facts partitioned by `truncate(30, date)`; and an oracle, which is Spark given exactly the files that hold rows \
which the query's joins and conditions leave. Each answer is compared with Spark's.

**Layouts**: l1 has the facts partitioned by the date's key, one file each; l2 has no partitions, files of 20,000 rows sorted by date and item, \
row groups of 5,000, Bloom filters on item and customer; n is partitioned by year and sorted by item, row groups of 5,000.

**How it is counted**: files are those that the scans' tasks were given. Row groups are those of them that Parquet's own reader keeps by the conditions \
that the scan's readers were given (statistics, dictionaries, Bloom filters); column bytes are what the footers say of the columns read in these. \
Spark's `bytesRead` misses vectored reads and is not used.

## What there is to win, and what not

Where facts are partitioned by date, Spark's own pruning leaves a star query almost nothing to win in bytes{oracle}. What Parquetry wins there is the listing of files. There is something to win \
where the condition is on another date than that of the partitions, on rare items, on facts that Spark leaves unpruned because their values come by way \
of another table or an outer join, where facts narrow each other, and where facts are not partitioned at all: then least and greatest values of \
sorted files do what partitions did, with a fraction of the files.

Facts narrow each other by columns of which files hold narrow ranges: the order numbers of catalog sales grow with the days, so the files of the days \
that a query asks for tell between which numbers its returns lie, and nothing is read for that (q40, q49, q72, q75, q78, q80). With it, beside the same \
without it, q72 took 3.5 s instead of 5.2 s, q78 6.9 instead of 7.9, q40 0.83 instead of 1.2, q75 8.9 instead of 9.7 (medians of 3, in turns, one process). \
Of tickets, web orders, items and customers each file of l1 holds some from all over (98 % of the range of tickets, on average), so least and greatest values leave nothing out by \
them (q25, q29, q50, the other returns of q80), and a fact is not read again for them. Looked up one by one in every file, tickets would leave 205 of \
q50's 1,823 partitions of sales; sets of single columns would leave 0.78 of the partitions that Spark reads in q25, 0.68 in q29, and only pairs of \
customer and item, which are the join itself, three partitions (counted at scale 1).

Bloom filters of items make l1's small files 2 to 5 % larger, which every star pays for and q32, q37, q82 and q92 gain by: that is what parts \
their measure from what it would be with filters of no size.
"""


_OF_TIMES = """\
Medians, in seconds. `spark` reads views of which the files were listed before the clock starts, which leaves it nothing to list; `Spark's tables` are \
the same files as tables of Spark's catalog in Hive's metastore (on Derby), whose partitions it looks up for each query, as its users have them.
"""


def main() -> None:
    """Write the page and its charts."""
    result = json.loads(_RESULTS.read_text(encoding="utf-8"))
    for name, chart in _charts(result).items():
        (_IMAGES / f"tpcds-{name}.svg").write_text(chart, encoding="utf-8")
    _PAGE.write_text(_page(result), encoding="utf-8")


def _oracle_text(findings: Sequence[BenchmarkFinding], details: Mapping[str, Any]) -> str:
    """Say what the oracle read, if it was measured."""
    read = [_number(each.value) for each in findings if each.what == _ORACLE]
    return "".join(
        f": in {_same_bytes(details)} of the 16 core stars the oracle itself reads what Spark reads ({number} of it in the geometric mean "
        "of all, as it knows of q13, q25 and q29 which few rows their joins leave)"
        for number in read
    )


def _page(result: Mapping[str, Any]) -> str:
    details = result["details"]
    findings = [BenchmarkFinding(**each) for each in result["findings"]]
    timed = bool(result["timings"])
    parts = [
        _INTRODUCTION.format(
            scale=result["scale"],
            cores=2,
            times=", times as medians of rounds in turns" if timed else "; times were not measured",
            oracle=_oracle_text(findings, details),
        ),
        "## Targets\n",
        _targets(findings),
        "\n## The 16 core stars\n",
        "![Column bytes of the core stars](images/tpcds-stars.svg)\n",
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
    return "\n".join(parts) + "\n"


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
